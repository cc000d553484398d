"""What makes the machines of a group a Slurm cluster at first boot: commands that components put into user data. Pure.

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

import shlex
from typing import Final

from sizewell.launch.target import Machine
from sizewell.sizing.errors import ConfigError, Fault

PATIENCE_S: Final = 300  # that a controller may be silent
DEVICES: Final = {"cuda": "/dev/nvidia[0-9]*", "rocm": "/dev/dri/renderD*", "neuron": "/dev/neuron[0-9]*"}
SCHEDULED: Final = ("cuda", "rocm")  # whose devices are a generic resource (GRES); Neuron cores go by whole machines
MEMORY_PERCENT: Final = 95  # of what `slurmd -C` measures, that jobs may have (estimate); a node with less is drained
UNIT: Final = "sizewell-slurm"
# By Sizewell's names of priorities. A job of a higher tier takes the machines of a lower one, which is told, waits for
# its checkpoint (GraceTime) and goes back into the queue.
PARTITIONS: Final = {
    "sizewell-low": ("low", 1),
    "": ("main", 2),
    "sizewell-medium": ("medium", 3),
    "sizewell-high": ("high", 4),
}
STORES: Final = {
    "s3": (
        """put() { aws s3api put-object --bucket {first} --key "{path}$1" --body "$2" --if-none-match '*'; }""",
        'get() { aws s3api get-object --bucket {first} --key "{path}$1" "$2"; }',
    ),
    "az": (
        "token() {",
        "  curl -sf -H Metadata:true --noproxy '*' \\",
        "    'http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource={audience}' |",
        "    jq -r .access_token",
        "}",
        "blob() {",
        '  curl -sf -H "Authorization: Bearer $(token)" -H "x-ms-version: 2023-11-03" "${@:2}" \\',
        '    "https://{first}.blob.core.windows.net/{path}$1"',
        "}",
        'put() { blob "$1" -X PUT -H "x-ms-blob-type: BlockBlob" -H "If-None-Match: *" --data-binary "@$2"; }',
        'get() { blob "$1" -o "$2"; }',
    ),
    # generation 0: only where no object is (docs.cloud.google.com/storage/docs/xml-api/reference-headers)
    "gs": (
        "token() {",
        "  curl -sf -H Metadata-Flavor:Google --noproxy '*' \\",
        "    'http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token' |",
        "    jq -r .access_token",
        "}",
        "blob() {",
        '  curl -sf -H "Authorization: Bearer $(token)" "${@:2}" "https://storage.googleapis.com/{first}/{path}$1"',
        "}",
        'put() { blob "$1" -X PUT -H "x-goog-if-generation-match: 0" --data-binary "@$2"; }',
        'get() { blob "$1" -o "$2"; }',
    ),
}
AUDIENCE: Final = "https://storage.azure.com/"


def first_boot(machine: Machine, *, group: str, store: str, nodes: int, region: str, grace_s: int) -> str:
    """The commands; ConfigError where the machines have no store to agree through.

    `group` names the cluster, `nodes` are the most machines, `grace_s` is what a job gets from SIGTERM to SIGKILL.
    """
    if store.partition("://")[0] not in STORES:
        fault = Fault(
            path="checkpoint",
            message="is missing: machines under Slurm use the checkpoint store to choose a controller",
            fix="add checkpoint: to the spec, and decide again",
        )
        raise ConfigError([fault], subject="slurm")
    program = [
        "#!/bin/bash",
        "# Made by Sizewell: this machine is a node of a Slurm cluster, one of the nodes is its controller.",
        "set -uo pipefail",
        "ROOT=${ROOT:-}",  # of tests
        f"PATIENCE=${{PATIENCE:-{PATIENCE_S}}}",
        "PAUSE=${PAUSE:-30}",
        *store_commands(store, f"slurm/{group}", region=region),
        *_common(machine, group=group, nodes=nodes, grace_s=grace_s),
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


def store_commands(store: str, folder: str, *, region: str) -> list[str]:
    """Shell functions over a folder of the checkpoint store: `put NAME FILE`, once and never again; `get NAME FILE`."""
    scheme, _, place = store.partition("://")
    first, _, rest = place.partition("/")
    words = {"{first}": first, "{path}": f"{rest}/{folder}/".lstrip("/"), "{audience}": AUDIENCE}
    lines = "\n".join(STORES[scheme])
    for key, value in words.items():
        lines = lines.replace(key, value)
    return [*([f"export AWS_DEFAULT_REGION={shlex.quote(region)}"] if scheme == "s3" else []), lines]


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


def conf(machine: Machine, *, group: str, nodes: int, grace_s: int) -> list[str]:
    """slurm.conf but for the controller's line and the nodes', which are measured."""
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


def _common(machine: Machine, *, group: str, nodes: int, grace_s: int) -> list[str]:
    """From an image with Slurm, or with packages of it, to daemons that run and are looked after."""
    gres = f" Gres=gpu:{machine.devices}" if machine.runtime in SCHEDULED else ""
    memory = f"$((memory * {MEMORY_PERCENT} / 100))"
    return [
        'die() { echo "sizewell-slurm: $1" >&2; sleep "$PAUSE"; exit 1; }',
        "export PATH=$PATH:/opt/slurm/sbin:/opt/slurm/bin",  # where AWS ParallelCluster's images have it
        "if ! command -v slurmd >/dev/null; then",
        "  if command -v apt-get >/dev/null; then",
        "    export DEBIAN_FRONTEND=noninteractive",
        "    apt-get update -q && apt-get install -yq slurmd slurmctld slurm-client munge",
        "    systemctl disable --now slurmd slurmctld 2>/dev/null  # the packages start them, without a configuration",
        "  fi",
        "fi",
        'command -v slurmd >/dev/null || die "the image has no Slurm and no package of it; name one that has"',
        "version=$(slurmd -V | tr -dc '0-9.' | cut -d. -f1,2 | tr -d .)",
        '[ "${version:-0}" -ge 2011 ] || die "$(slurmd -V) is too old: nodes take their names from Slurm 20.11 on"',
        "work=$ROOT/var/lib/sizewell-slurm; conf=$ROOT/etc/slurm; key=$ROOT/etc/munge/munge.key",
        'mkdir -p "$work" "$conf" "${key%/*}" "$ROOT/var/spool/slurmctld" "$ROOT/var/spool/slurmd"',
        'chmod 700 "$work"',
        'ip=$(hostname -I | cut -d" " -f1)',
        "user=$(id -un slurm 2>/dev/null || echo root)",
        "",
        "# What this machine is: Slurm gives a name only to one that is exactly as its configuration says.",
        "measured=$(slurmd -C | tr ' ' '\\n')",
        "sizes=$(grep -E '^(CPUs|Boards|[SCT][a-z]+Per[A-Z][a-z]+)=' <<< \"$measured\" | paste -sd' ')",
        "memory=$(sed -n 's/^RealMemory=//p' <<< \"$measured\")",
        "export SLURM_CONF=$conf/slurm.conf",
        'if [ -d /opt/slurm/etc ]; then ln -sf "$SLURM_CONF" /opt/slurm/etc/slurm.conf; fi  # where its commands look',
        '[ -n "$sizes" ] && [ -n "$memory" ] || die "slurmd -C does not say what this machine is: $measured"',
        f"devices() {{ compgen -G \"$ROOT\"'{DEVICES[machine.runtime]}' | sort -V; }}",
        "waited=0  # a driver may still be loading",
        f'while [ "$(devices | wc -l)" -lt {machine.devices} ] && [ "$waited" -lt "$PATIENCE" ]; do',
        '  sleep "$PAUSE"; waited=$((waited + PAUSE))',
        "done",
        *(
            []
            if gres  # Slurm itself drains a node that has fewer than its configuration says
            else [
                "there=$(devices | wc -l)",
                f'[ "$there" -ge {machine.devices} ] || die "$there of {machine.devices} devices are there"',
            ]
        ),
        "",
        "# One key for all: whoever is first puts it.",
        'until get munge.key "$key" >/dev/null 2>&1 && [ -s "$key" ]; do',
        '  head -c 1024 /dev/urandom > "$work/key"',
        '  put munge.key "$work/key" >/dev/null 2>&1 || sleep 1',
        "done",
        'rm -f "$work/key"; chmod 400 "$key"; chown munge: "$key" 2>/dev/null',
        "systemctl restart munge",
        "",
        "# What a killed job leaves behind: its unpacked scripts, and a container, which is no child of it.",
        "cat > \"$conf/epilog\" <<'EPILOG'",
        "#!/bin/bash",
        'rm -rf "/tmp/sizewell-$SLURM_JOB_ID" /tmp/sizewell-notice-"$SLURM_JOB_ID"-*',
        'if command -v docker >/dev/null; then docker rm -f "sizewell-$SLURM_JOB_ID" >/dev/null 2>&1; fi',
        "exit 0",
        "EPILOG",
        'chmod 755 "$conf/epilog"',
        "",
        'answers() { timeout 5 bash -c "exec 3<>/dev/tcp/$1/${PORT:-6817}" 2>/dev/null; }',
        "newest() {  # the controller that the machines agree on; number is the next one's",
        "  host=; held=; number=1",
        '  while get "controller-$number" "$work/controller" >/dev/null 2>&1; do',
        '    read -r host held < "$work/controller"; number=$((number + 1))',
        "  done",
        "}",
        "free() {  # names of machines that are gone: Slurm keeps them, and has none left for their replacements",
        "  for node in $(sinfo -hN -p main -t down -o %N 2>/dev/null | sort -u); do",
        '    scontrol update nodename="$node" state=FUTURE',
        "  done",
        "}",
        'stop() { for daemon in "$@"; do pkill -x "$daemon"; done; }',
        'before=$(cat "$work/before" 2>/dev/null); silent=0  # started again beside daemons that run: they go on',
        "while true; do",
        "  newest",
        '  if [ -n "$held" ] && { [ "$held" = "$ip" ] || answers "$held"; }; then silent=0',
        "  else silent=$((silent + PAUSE)); fi",
        '  if [ -z "$held" ] || [ "$silent" -gt "$PATIENCE" ]; then',
        '    echo "$(hostname -s) $ip" > "$work/mine"',
        '    put "controller-$number" "$work/mine" >/dev/null 2>&1; silent=0  # taken meanwhile: then it is the other',
        "    continue",
        "  fi",
        '  if [ "$held" != "$before" ]; then',
        "    stop slurmd slurmstepd slurmctld  # jobs of a controller that is gone have nobody to answer to",
        '    { echo "SlurmctldHost=$host($held)"; echo "SlurmUser=$user"; echo "Epilog=$conf/epilog"',
        f'      echo "NodeName={group}-[1-{nodes}] $sizes RealMemory={memory}{gres} State=FUTURE"',
        "      cat <<'CONF'; } > \"$conf/slurm.conf\"",
        *conf(machine, group=group, nodes=nodes, grace_s=grace_s),
        "CONF",
        "    devices | sed 's/^/Name=gpu File=/' > \"$conf/gres.conf\"" if gres else '    : > "$conf/gres.conf"',
        "    printf 'ConstrainDevices=yes\\nConstrainRAMSpace=yes\\n' > \"$conf/cgroup.conf\"",
        '    before=$held; echo "$held" > "$work/before"',
        "  fi",
        '  if [ "$held" = "$ip" ]; then',
        "    if ! pgrep -x slurmctld >/dev/null; then",
        '      chown "$user" "$ROOT/var/spool/slurmctld"',
        '      slurmctld -f "$conf/slurm.conf" || die "slurmctld did not start"',
        "    fi",
        "    free",
        "  fi",
        '  pgrep -x slurmd >/dev/null || slurmd -F -f "$conf/slurm.conf"',
        '  sleep "$PAUSE"',
        "done",
    ]
