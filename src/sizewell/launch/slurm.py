"""Slurm in Kubernetes' place: a script for sbatch; `slurm_boot` makes the machines a cluster. Pure.

The contract is the same: the entry scripts of `launch/scripts`, their variables, their exit codes. The script carries
them along and unpacks them on every machine. It runs them in the image by Pyxis or Docker, whichever the machines have,
or as they are with `SIZEWELL_CONTAINER=none sbatch ...`.
"""

from __future__ import annotations

import base64
import gzip
import io
import shlex
import tarfile
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from sizewell.launch import burn_in as trial
from sizewell.launch import files, training
from sizewell.launch.jobs import PORT, TOLD_TO_END, WRONG_INPUT
from sizewell.launch.pods import network_env
from sizewell.launch.setting import Setting
from sizewell.sizing.errors import ConfigError, Fault

SCRIPTS: Final = "/tmp/sizewell"  # noqa: S108  (of the job: its number follows)
IN_POD: Final = "/opt/sizewell"
KINDS: Final = ("training", "fine-tuning")
FROM_SLURM: Final = ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES", "SLURM_NODEID", "SCRIPTS")
NOTICED: Final = ("aws", "azure")  # clouds whose machines say that they go; under Slurm nothing else tells the job
NOTICE: Final = "/tmp/sizewell-notice"  # noqa: S108  (the restart's number follows: a machine may get the job again)
WATCHED: Final = 'python3 "$0" --cloud {} --file "$SIZEWELL_NOTICE_FILE" & exec "$@"'
DEVICES: Final = {"cuda": "--gpus all", "rocm": "--device /dev/kfd --device /dev/dri", "neuron": "--privileged"}


def script(of: Setting) -> str:
    """The run of one workload. ConfigError where Slurm is the wrong place for it."""
    if of.workload.kind not in KINDS:
        fault = Fault(
            path=of.workload.spec.name,
            message=f"is {of.workload.kind}: Slurm runs jobs that end, not services",
            fix="use --format kubernetes",
        )
        raise ConfigError([fault], subject="slurm")
    training.possible(of)
    line = list(of.run.command) or ["python3", *training.command(of)[1:]]
    variables = training.variables(of)
    if of.pool.market == "spot" and of.machine.cloud in NOTICED and not of.run.command:
        line = ["bash", "-c", WATCHED.format(of.machine.cloud), f"{IN_POD}/notice.py", *line]
        variables["SIZEWELL_NOTICE_FILE"] = NOTICE
    return _sbatch(of, line, files.training(), variables, seconds=training.deadline_s(of))


def burn_in(of: Setting) -> str:
    """An all-reduce over the machines of a workload; it fails where one is slow."""
    found = trial.all_reduce(of)  # refuses what has no test
    least = f"{trial.threshold(of):.4g}"
    line = ["python3", "/opt/sizewell/spawn.py", "--processes", str(training.processes(of))]
    line += ["/opt/sizewell/all_reduce.py", "--bytes", str(trial.BYTES), "--least", least]
    mine = next(one["data"] for one in found if one["kind"] == "ConfigMap")
    return _sbatch(of.named(f"{of.name}-burn-in"), line, mine, {}, seconds=1800, again=False)


def packed(scripts: Mapping[str, str]) -> str:
    """The scripts as one text: base64 of a gzipped tar, the same bytes for the same scripts."""
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
    of: Setting,
    line: Sequence[str],
    scripts: Mapping[str, str],
    variables: Mapping[str, str],
    *,
    seconds: int,
    again: bool = True,
) -> str:
    where = f"{SCRIPTS}-$SLURM_JOB_ID"
    told = {**network_env(of.machine, of.target, several=of.nodes > 1), **variables, **dict(of.run.env)}
    told = {key: value for key, value in told.items() if key not in ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES")}
    told = {key: value for key, value in told.items() if not key.endswith("_SOCKET_IFNAME")}  # a pod's, not a machine's
    gres = [f"#SBATCH --gres=gpu:{of.machine.devices}"] if of.machine.runtime in ("cuda", "rocm") else []
    times = [f"#SBATCH --time={limit(seconds)}"] if seconds else []
    names = textwrap.wrap(" ".join(sorted({*told, *FROM_SLURM})), 96)
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={of.name}",
        f"#SBATCH --nodes={of.nodes}",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --exclusive",
        *gres,
        *times,
        f"#SBATCH --signal=B:TERM@{max(60, of.grace)}",
        "#SBATCH --requeue" if again else "#SBATCH --no-requeue",
        "#SBATCH --open-mode=append",
        f"#SBATCH --output={of.name}-%j.log",
        f"# {of.decision.stack} {of.workload.spec.name}: printed by `sizewell launch`; sbatch takes it as it is.",
        "set -uo pipefail",
        "",
        f"SCRIPTS={where}",
        f"IMAGE={shlex.quote(of.run.image)}",
        *[f"export {key}={shlex.quote(value)}" for key, value in sorted(told.items())],
        "export SIZEWELL_NODES=$SLURM_JOB_NUM_NODES",
        *(['SIZEWELL_NOTICE_FILE+="-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}"'] if NOTICE in told.values() else []),
        'first="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"',
        'getent hosts "$first" >/dev/null || first="$(hostname -I | cut -d" " -f1)"  # where this script runs',
        f'SIZEWELL_COORDINATOR="$first:{PORT}"',
        "export SIZEWELL_COORDINATOR SCRIPTS IMAGE",
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
        'how="${SIZEWELL_CONTAINER:-auto}"',
        'if [ "$how" = auto ]; then',
        "  if srun --help 2>/dev/null | grep -q -- --container-image; then how=pyxis",
        "  elif command -v docker >/dev/null; then how=docker",
        "  else how=none; fi",
        "fi",
        "# shellcheck disable=SC2016",  # words that the step's own shell expands
        f"line=({' '.join(_quoted(word) for word in [*line, *of.run.args])})",
        'case "$how" in',
        '  pyxis) start=(srun --kill-on-bad-exit=1 --container-image="$IMAGE" --container-mounts="$SCRIPTS:$SCRIPTS"',
        '    "${line[@]}") ;;',
        "  docker)",
        "    told=()",
        '    for name in "${names[@]}"; do told+=(--env "$name"); done',
        "    start=(srun --kill-on-bad-exit=1 docker run --rm --init --network host --ipc host",
        f'      {DEVICES[of.machine.runtime]} --ulimit memlock=-1 --stop-timeout 600 -v "$SCRIPTS:$SCRIPTS:ro"',
        '      "${told[@]}" "$IMAGE" "${line[@]}") ;;',
        '  *) start=(srun --kill-on-bad-exit=1 "${line[@]}") ;;',
        "esac",
        "",
        "# Told to end (time is nearly over, or a machine goes): the processes save, the job goes back into the queue.",
        "trap 'scancel --signal=TERM \"$SLURM_JOB_ID\"' TERM",  # the step's processes; srun itself would kill them
        '"${start[@]}" &',
        "step=$!",
        'wait "$step"',
        "code=$?",
        'while kill -0 "$step" 2>/dev/null; do',
        '  wait "$step"',
        "  code=$?",
        "done",
    ]
    if again:
        lines += [
            f'if [ "$code" -eq {WRONG_INPUT} ] || [ "$code" -eq 0 ]; then exit "$code"; fi',
            f'if [ "$code" -eq {TOLD_TO_END} ] || [ "${{SLURM_RESTART_COUNT:-0}}" -lt {of.run.restarts} ]; then',
            '  scontrol requeue "$SLURM_JOB_ID"',
            "fi",
        ]
    return "\n".join([*lines, 'exit "$code"', ""])


def _quoted(word: str) -> str:
    """A word as the shell reads it back, with the scripts where the job has unpacked them.

    >>> print(_quoted("/opt/sizewell/spawn.py"), _quoted("$HOME"))
    "$SCRIPTS"/spawn.py '$HOME'
    """
    return '"$SCRIPTS"'.join(shlex.quote(part) if part else "" for part in word.split(IN_POD)) or "''"
