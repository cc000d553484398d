"""What makes the machines of a group a Slurm cluster at first boot: commands that components put into user data. Pure.

What a machine does then is in `scripts/slurm_node.sh`, below variables that are written here.

There is no machine for the controller alone. The machines agree on one of themselves, and on munge's key, through the
checkpoint store, where a name is put once and never replaced: the first to put `slurm/GROUP/controller-1` is it. A
controller that has not answered for five minutes is given up, and the next number is put. The queue goes with it; what
was running is started again by `sbatch` and resumes from its checkpoint.

Each machine takes one of the decision's node names when it registers (`slurmd -F`, Slurm 20.11 and later), so that one
that was replaced is no other node. Slurm gives a name only to a machine whose sockets, cores and threads are exactly
those of slurm.conf, so these are measured (`slurmd -C`) and not taken from a catalog, which knows CPUs alone. The
controller frees the name of a machine that no longer answers, else its replacement would find none.
"""

from __future__ import annotations

from typing import Final

from sizewell.launch import shell
from sizewell.launch.target import Machine
from sizewell.sizing.errors import ConfigError, Fault

DEVICES: Final = {"cuda": "/dev/nvidia[0-9]*", "rocm": "/dev/dri/renderD*", "neuron": "/dev/neuron[0-9]*"}
SCHEDULED: Final = ("cuda", "rocm")  # whose devices are a generic resource (GRES); Neuron cores go by whole machines
UNIT: Final = "sizewell-slurm"
# By Sizewell's names of priorities. A job of a higher tier takes the machines of a lower one, which is told, waits for
# its checkpoint (GraceTime) and goes back into the queue.
PARTITIONS: Final = {
    "sizewell-low": ("low", 1),
    "": ("main", 2),
    "sizewell-medium": ("medium", 3),
    "sizewell-high": ("high", 4),
}


def first_boot(machine: Machine, *, group: str, store: str, nodes: int, region: str, grace_s: int) -> str:
    """The commands; ConfigError where the machines have no store to agree through.

    `group` names the cluster, `nodes` are the most machines, `grace_s` is what a job gets from SIGTERM to SIGKILL.
    """
    if store.partition("://")[0] not in shell.STORES:
        fault = Fault(
            path="checkpoint",
            message="is missing: machines under Slurm use the checkpoint store to choose a controller",
            fix="add checkpoint: to the spec, and decide again",
        )
        raise ConfigError([fault], subject="slurm")
    scheduled = machine.runtime in SCHEDULED
    program = [
        "#!/bin/bash",
        "# Made by Sizewell: this machine is a node of a Slurm cluster, one of the nodes is its controller.",
        *shell.variables(
            GROUP=group,
            NODES=nodes,
            DEVICES=machine.devices,
            PATTERN=DEVICES[machine.runtime],
            GRES=f"Gres=gpu:{machine.devices}" if scheduled else "",
            SETTINGS="\n".join(settings(machine, group=group, nodes=nodes, grace_s=grace_s)),
        ),
        *shell.store(store, f"slurm/{group}", region=region),
        shell.program("slurm_node.sh"),
    ]
    return "\n".join(
        [
            "# Slurm",
            f"cat > /usr/local/sbin/{UNIT} <<'SLURM'",
            *program,
            "SLURM",
            f"chmod 755 /usr/local/sbin/{UNIT}",
            f"cat > /etc/systemd/system/{UNIT}.service <<'UNIT'",
            *unit(),
            "UNIT",
            f"systemctl daemon-reload && systemctl enable --now {UNIT}",
            "",
        ]
    )


def unit() -> list[str]:
    """The service that keeps the daemons running, after a reboot too.

    RDMA registers the memory of a job, far beyond systemd's default limit of 8 MiB; jobs inherit the limit of slurmd.
    """
    return [
        "[Unit]",
        "Description=Node of a Slurm cluster, made by Sizewell",
        "After=network-online.target",
        "Wants=network-online.target",
        "[Service]",
        f"ExecStart=/usr/local/sbin/{UNIT}",
        "Restart=always",
        "RestartSec=30",
        "KillMode=process",
        "Delegate=yes",
        "LimitMEMLOCK=infinity",
        "LimitNOFILE=1048576",
        "LimitSTACK=infinity",
        "TasksMax=infinity",
        "[Install]",
        "WantedBy=multi-user.target",
    ]


def settings(machine: Machine, *, group: str, nodes: int, grace_s: int) -> list[str]:
    """slurm.conf but for the controller's line and the nodes', which the machine writes."""
    names = f"{group}-[1-{nodes}]"
    return [
        f"ClusterName={group}",
        "AuthType=auth/munge",
        "ProctrackType=proctrack/cgroup",
        "TaskPlugin=task/affinity,task/cgroup",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        *(["GresTypes=gpu"] if machine.runtime in SCHEDULED else []),
        "TreeWidth=65533",
        f"KillWait={grace_s}",
        "ReturnToService=2",
        "SlurmdTimeout=120",
        "JobRequeue=1",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "PropagateResourceLimitsExcept=MEMLOCK,NOFILE",
        "StateSaveLocation=/var/spool/slurmctld",
        "SlurmdSpoolDir=/var/spool/slurmd",
        *[
            f"PartitionName={name} Nodes={names} PriorityTier={tier} GraceTime={grace_s} MaxTime=INFINITE "
            f"OverSubscribe=EXCLUSIVE State=UP{' Default=YES' if name == 'main' else ''}"
            for name, tier in PARTITIONS.values()
        ],
    ]
