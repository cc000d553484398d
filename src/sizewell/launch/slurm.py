"""Slurm in Kubernetes' place: a script for sbatch; `slurm_boot` makes the machines a cluster. Pure.

The contract is the same: the entry scripts of `launch/scripts`, their variables, their exit codes. The script carries
them along, unpacks them on every machine and removes them. It runs them in the image by Pyxis or Docker, whichever
works on every machine of the job, or as they are with `SIZEWELL_CONTAINER=none sbatch ...`.
"""

from __future__ import annotations

import base64
import io
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from sizewell.launch import burn_in as trial
from sizewell.launch import files, training
from sizewell.launch.jobs import OVER, PORT, TOLD_TO_END, WRONG_INPUT
from sizewell.launch.launch import Launch
from sizewell.launch.pods import network_env
from sizewell.launch.slurm_boot import PARTITIONS, SCHEDULED
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.providers import clouds_where

SCRIPTS: Final = "/tmp/sizewell"  # noqa: S108  (of the job: its number follows)
IN_POD: Final = "/opt/sizewell"
KINDS: Final = ("training", "fine-tuning")
FROM_SLURM: Final = ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES", "SLURM_NODEID", "SCRIPTS")
NOTICE: Final = "/tmp/sizewell-notice"  # noqa: S108  (the restart's number follows: a machine may get the job again)
WATCHED: Final = 'python3 "$0" --cloud {} --file "$SIZEWELL_NOTICE_FILE" & exec "$@"'
DEVICES: Final = {"cuda": "--gpus all", "rocm": "--device /dev/kfd --device /dev/dri", "neuron": "--privileged"}


def script(launch: Launch) -> str:
    """The run of one workload. ConfigError where Slurm is the wrong place for it."""
    if launch.plan.kind not in KINDS:
        fault = Fault(
            path=launch.plan.name,
            message=f"is {launch.plan.kind}: Slurm runs jobs, not services",
            fix="use --format kubernetes",
        )
        raise ConfigError([fault], subject="slurm")
    _scheduled(launch)
    training.possible(launch)
    line = list(launch.run.command) or ["python3", *training.command(launch)[1:]]
    variables = training.variables(launch)
    heard = clouds_where(lambda cloud: cloud.capacity.announced_on_machines)  # under Slurm nothing else tells the job
    if launch.plan.spot and launch.machine.cloud in heard and not launch.run.command:
        line = ["bash", "-c", WATCHED.format(launch.machine.cloud), f"{IN_POD}/notice.py", *line]
        variables["SIZEWELL_NOTICE_FILE"] = NOTICE
    return _sbatch(launch, line, files.training(), variables, seconds=training.deadline_s(launch))


def burn_in(launch: Launch) -> str:
    """An all-reduce over the machines of a workload; it fails where one is slow."""
    _scheduled(launch)
    objects = trial.all_reduce(launch)  # refuses what has no test
    least = f"{trial.threshold(launch):.4g}"
    line = ["python3", "/opt/sizewell/spawn.py", "--processes", str(training.processes(launch))]
    line += ["/opt/sizewell/all_reduce.py", "--bytes", str(trial.BYTES), "--least", least]
    mine = next(manifest["data"] for manifest in objects if manifest["kind"] == "ConfigMap")
    return _sbatch(launch.named(f"{launch.name}-burn-in"), line, mine, {}, seconds=1800, again=False)


def _scheduled(launch: Launch) -> None:
    """ConfigError for machines that are in no Slurm cluster of ours: TPUs, and those without devices."""
    if launch.machine.runtime not in DEVICES:
        what = f"on {launch.plan.instance_type}, which has no devices that Slurm can give to a job"
        fault = Fault(path=launch.plan.name, message=f"is {what}", fix="use --format kubernetes")
        raise ConfigError([fault], subject="slurm")


def packed(scripts: Mapping[str, str]) -> str:
    """The scripts as one text: base64 of a gzipped tar, the same bytes for the same scripts."""
    import gzip
    import tarfile  # 9 ms that every other use of this module would pay

    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name in sorted(scripts):
            data = scripts[name].encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o555
            archive.addfile(entry, io.BytesIO(data))
    text = base64.b64encode(gzip.compress(raw.getvalue(), mtime=0)).decode()
    return "\n".join(text[start : start + 100] for start in range(0, len(text), 100))


def limit(seconds: int) -> str:
    """A time limit as sbatch writes it.

    >>> limit(259200), limit(5400)
    ('3-00:00:00', '0-01:30:00')
    """
    minutes = -(-seconds // 60)
    return f"{minutes // 1440}-{minutes % 1440 // 60:02}:{minutes % 60:02}:00"


def _sbatch(
    launch: Launch,
    line: Sequence[str],
    scripts: Mapping[str, str],
    variables: Mapping[str, str],
    *,
    seconds: int,
    again: bool = True,
) -> str:
    where = f"{SCRIPTS}-$SLURM_JOB_ID"
    told = {**network_env(launch.machine, launch.target, several=launch.nodes > 1), **variables, **dict(launch.run.env)}
    told = {key: value for key, value in told.items() if key not in ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES")}
    told = {key: value for key, value in told.items() if not key.endswith("_SOCKET_IFNAME")}  # a pod's, not a machine's
    gres = [f"#SBATCH --gres=gpu:{launch.machine.devices}"] if launch.machine.runtime in SCHEDULED else []
    times = [f"#SBATCH --time={limit(seconds)}"] if seconds else []
    names = textwrap.wrap(" ".join(sorted({*told, *FROM_SLURM})), 96)
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={launch.name}",
        *_partition(launch),
        f"#SBATCH --nodes={launch.nodes}",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --exclusive",
        *gres,
        *times,
        f"#SBATCH --signal=B:USR1@{max(60, launch.grace)}",
        "#SBATCH --requeue" if again else "#SBATCH --no-requeue",
        "#SBATCH --open-mode=append",
        f"#SBATCH --output={launch.name}-%j.log",
        f"# {launch.plan.stack} {launch.plan.name}: printed by `sizewell launch`; sbatch takes it as it is.",
        "set -uo pipefail",
        "",
        f"SCRIPTS={where}",
        f"IMAGE={shlex.quote(launch.run.image)}",
        *[f"export {key}={shlex.quote(value)}" for key, value in sorted(told.items())],
        "export SIZEWELL_NODES=$SLURM_JOB_NUM_NODES",
        *(['SIZEWELL_NOTICE_FILE+="-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}"'] if NOTICE in told.values() else []),
        'first="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"',
        'getent hosts "$first" >/dev/null || first="$(hostname -I | cut -d" " -f1)"  # where this script runs',
        f'SIZEWELL_COORDINATOR="$first:{PORT}"',
        "export SIZEWELL_COORDINATOR SCRIPTS IMAGE",
        "",
        *_container(launch),
        "",
        "# The entry scripts, onto every machine of the job.",
        "# shellcheck disable=SC2016",
        'unpack=\'mkdir -p "$SCRIPTS" && base64 -d | tar -xz -C "$SCRIPTS"\'',
        "srun --ntasks-per-node=1 bash -c \"$unpack\" <<'PAYLOAD' || exit 1",
        packed(scripts),
        "PAYLOAD",
        "",
        "names=(",
        *[f"  {row}" for row in names],
        ")",
        "# shellcheck disable=SC2016",  # words that the step's own shell expands
        f"line=({' '.join(_quoted(word) for word in [*line, *launch.run.args])})",
        "# Each machine's own shell outlives SIGTERM and removes what was unpacked; Slurm signals the line itself too.",
        "# shellcheck disable=SC2016",
        'tidy=\'trap : TERM; "$@"; code=$?; rm -rf "$SCRIPTS" 2>/dev/null; exit "$code"\'',
        "start=(srun --kill-on-bad-exit=1)",
        'case "$how" in',
        '  pyxis) start+=(--container-image="$IMAGE" --container-mounts="$mounts" bash -c "$tidy" -) ;;',
        "  docker)",
        "    variables=()",
        '    for name in "${names[@]}"; do variables+=(--env "$name"); done',
        '    start+=(bash -c "$tidy" - docker run --rm --init --name "sizewell-$SLURM_JOB_ID"',
        f'      --network host --ipc host {DEVICES[launch.machine.runtime]} "${{rdma[@]}}" --ulimit memlock=-1',
        '      --stop-timeout 600 -v "$SCRIPTS:$SCRIPTS:ro" "${variables[@]}" "$IMAGE") ;;',
        '  *) start+=(bash -c "$tidy" -) ;;',
        "esac",
        "",
        "# SIGUSR1 comes before the time limit, SIGTERM where Slurm takes the machines: the processes save and end.",
        *(["told="] if again else []),
        *[
            f"trap '{f'told={why}; ' if again else ''}scancel --signal=TERM \"$SLURM_JOB_ID\" 2>/dev/null' {name}"
            for why, name in (("limit", "USR1"), ("slurm", "TERM"))
        ],  # the step's processes; srun itself, told, would kill them
        '"${start[@]}" "${line[@]}" &',
        "step=$!",
        'wait "$step"',
        "code=$?",
        'while kill -0 "$step" 2>/dev/null; do',
        '  wait "$step"',
        "  code=$?",
        "done",
        'rm -rf "$SCRIPTS"',
    ]
    return "\n".join([*lines, *(_again(launch) if again else []), 'exit "$code"', ""])


def _partition(launch: Launch) -> list[str]:
    """A priority of Sizewell's is a partition of our clusters; ConfigError for any other, which Slurm does not have."""
    if not launch.run.priority:
        return []
    if launch.run.priority not in PARTITIONS:
        allowed = ", ".join(name for name in PARTITIONS if name)
        fault = Fault(path=f"run.{launch.plan.name}.priority", found=launch.run.priority, allowed=f"one of {allowed}")
        raise ConfigError([fault], subject="slurm")
    return [f"#SBATCH --partition={PARTITIONS[launch.run.priority][0]}"]


def _container(launch: Launch) -> list[str]:
    """Which runtime starts the image: one that works on every machine of the job, else the job ends and says so."""
    works = "docker info >/dev/null 2>&1"
    wants = "a daemon that answers this user"
    if launch.machine.runtime == "cuda":  # --gpus is its hook, or a device description (CDI) that it made
        works += (
            " && { command -v nvidia-container-runtime-hook >/dev/null || docker info 2>/dev/null | grep -qw nvidia; }"
        )
        wants += " and NVIDIA's container toolkit"
    return [
        "# The runtime that works on every machine; RDMA devices go into the container where a machine has them.",
        'how="${SIZEWELL_CONTAINER:-auto}"',
        'if [ "$how" = auto ]; then',
        "  if srun --help 2>/dev/null | grep -q -- --container-image && srun bash -c 'command -v enroot >/dev/null'",
        "  then how=pyxis",
        f"  elif srun bash -c '{works}'; then how=docker",
        "  else",
        f'    echo "{launch.name}: no container runtime works on every machine: Pyxis needs enroot, Docker {wants};"',
        '    echo "install one, or run without the image: SIZEWELL_CONTAINER=none sbatch ..."',
        f"    exit {WRONG_INPUT}",
        "  fi",
        "fi",
        'rdma=(); mounts="$SCRIPTS:$SCRIPTS"',
        "if [ -d /dev/infiniband ]; then",
        '  mounts+=",/dev/infiniband:/dev/infiniband"',
        '  for device in /dev/infiniband/*; do rdma+=(--device "$device"); done',
        "fi",
    ]


def _again(launch: Launch) -> list[str]:
    """Back into the queue only where the machines were taken, or after a failure that another try may mend.

    A job that Slurm ends by itself (cancelled, requeued by preemption or a lost node) is no longer RUNNING.
    """
    return [
        'show() { scontrol show job -o "$SLURM_JOB_ID" 2>/dev/null | grep -o " $1=[^ ]*" | cut -d= -f2; }',
        'requeue() { echo "$1: back into the queue"; scontrol requeue "$SLURM_JOB_ID"; }',
        'state="$(show JobState)"; taken="$(show PreemptTime)"',
        'if [ "$code" -eq 0 ]; then exit 0; fi',
        'if [ "$state" != RUNNING ]; then echo "ended by Slurm (${state:-no answer}), with $code"; exit "$code"; fi',
        'case "$told,$code" in',
        '  limit,*) echo "the time limit is reached: saved if time allowed; run sbatch again to continue" ;;',
        f"  *,{WRONG_INPUT} | *,{OVER}) ;;",
        '  slurm,*) if [ "${taken:-None}" != None ]; then requeue "preempted"; fi ;;',
        f'  ,{TOLD_TO_END}) requeue "a machine is being reclaimed" ;;',
        f'  *) if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {launch.run.restarts} ]; then requeue "failed with $code"; fi ;;',
        "esac",
    ]


def _quoted(word: str) -> str:
    """A word as the shell reads it back, with the scripts where the job has unpacked them.

    >>> print(_quoted("/opt/sizewell/spawn.py"), _quoted("$HOME"))
    "$SCRIPTS"/spawn.py '$HOME'
    """
    return '"$SCRIPTS"'.join(shlex.quote(part) if part else "" for part in word.split(IN_POD)) or "''"
