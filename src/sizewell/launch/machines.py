"""What runs on machines without a scheduler: a systemd unit that first boot installs and starts. Pure.

The contract is that of Kubernetes and Slurm: the entry scripts of `launch/scripts`, their variables, their exit codes.
Each machine runs the image in Docker; a second unit asks the cloud's metadata whether the machine goes, and stops the
first, which gives the processes their grace. A machine that replaces one that went does all of this again and goes on
from the newest checkpoint.

Machines of one job agree on their numbers, and on the one that coordinates, through the checkpoint store, where a name
is put once and never replaced: each puts its address as the next member of the newest generation. When a machine
starts its work again, or a new one finds all names taken, it opens the next generation, and the others follow it
(`scripts/rendezvous.sh`). Pieces of a batch are taken in an order of each machine's own; a piece that two took at once
is written once.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Final

from sizewell.launch import batch, files, notebook, serving, shell, training
from sizewell.launch.jobs import OVER, PORT, TOLD_TO_END, WRONG_INPUT
from sizewell.launch.launch import Launch
from sizewell.launch.pods import CACHE, HOME, HOUSE, SCRIPTS, USER, network_env
from sizewell.launch.registries import LOGINS
from sizewell.launch.run import Run
from sizewell.launch.slurm import packed
from sizewell.launch.slurm_boot import DEVICES
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.providers import CLOUDS

UNIT: Final = "sizewell-run"
WATCH: Final = "sizewell-notice"
NOTICE: Final = "/run/sizewell/notice"
LIBRARY: Final = "/usr/local/lib/sizewell"
FAILED_TOO_OFTEN: Final = 78
ENDS: Final = (WRONG_INPUT, OVER, FAILED_TOO_OFTEN)  # exit codes after which nothing starts it again
KUBERNETES_ONLY: Final = ("secrets", "callers", "wake", "claims", "priority", "namespace", "form", "metrics")
ELSEWHERE: Final = {"tpu": "TPU", "cpu": "machines without accelerators"}  # what decisions place in clusters alone
OTHER_ENTRIES: Final = ("train_fsdp.py", "train_jax.py", "train_neuron.py")


def first_boot(launch: Launch, *, region: str, folders: Sequence[str] = ()) -> str:
    """The shell commands that install the units and start them; ConfigError where the run cannot be on machines alone.

    `region` is the cloud's, where its registry and its store are asked. `folders` of the machine, as file systems
    that it mounts, are the container's too.
    """
    _possible(launch)
    scripts = {**_scripts(launch), "notice.py": files.script("notice.py")}
    slots = slots_of(launch)
    numbers = " ".join(f"{UNIT}@{number}" for number in range(slots))
    lines = [
        f"# {launch.plan.stack} {launch.plan.name}: the workload as a systemd unit",
        f"mkdir -p {LIBRARY} /etc/sizewell /var/lib/sizewell",
        f"base64 -d <<'PAYLOAD' | tar -xz -C {LIBRARY}",
        packed(scripts),
        "PAYLOAD",
        *_file("/etc/sizewell/run.env", environment(launch), mode="600"),
        *_file(f"/usr/local/sbin/{UNIT}", program(launch, region=region, folders=folders), mode="755"),
        *_file(f"/etc/systemd/system/{UNIT}@.service", unit(launch), mode="644"),
        *_watched(launch.machine.cloud),
    ]
    if launch.run.suspend:
        return "\n".join([*lines, f"echo 'suspended: systemctl enable --now {numbers}'", ""])
    return "\n".join([*lines, f"systemctl enable --now --no-block {numbers}", ""])


def slots_of(launch: Launch) -> int:
    """Containers of one machine: one for each replica that fits, else one for the whole machine.

    An engine with ports of its own beside the one it answers at (Triton) gets the whole machine, all devices of it.
    """
    replicas = launch.plan.replicas
    if launch.plan.kind not in ("inference", "batch-inference") or replicas is None or launch.run.command:
        return 1
    if launch.plan.kind == "inference":
        engine = serving.engine_of(launch)
        if serving.metrics_port(engine) != serving.PORT:
            return 1
        fitting = min(launch.machine.devices // replicas.devices_per_replica, -(-replicas.max // launch.nodes))
        return max(1, fitting)
    return max(
        1, min(launch.machine.devices // max(1, replicas.devices_per_replica), -(-replicas.initial // launch.nodes))
    )


def gang(launch: Launch) -> bool:
    """Whether the machines work on one thing together."""
    return launch.plan.kind in ("training", "fine-tuning") and launch.nodes > 1


def unit(launch: Launch) -> list[str]:
    """The service of one container; its number is the instance's name.

    RDMA registers the memory of a job, far beyond systemd's default limit of 8 MiB. A reclaimed machine does not start
    it again: the file that says so lies in /run, and is gone after a reboot.
    """
    again = "always" if launch.plan.kind == "inference" else "on-failure"
    return [
        "[Unit]",
        f"Description={launch.plan.name} of {launch.plan.stack}, made by Sizewell",
        "After=network-online.target remote-fs.target docker.service",
        "Wants=network-online.target docker.service",
        f"ConditionPathExists=!{NOTICE}",
        "StartLimitIntervalSec=0",
        "[Service]",
        f"ExecStart=/usr/local/sbin/{UNIT} %i",
        f"ExecStopPost=-/usr/bin/env docker rm -f {UNIT}-%i",
        f"Restart={again}",
        "RestartSec=20",
        f"RestartPreventExitStatus={' '.join(map(str, ENDS))}",
        f"RestartForceExitStatus={TOLD_TO_END}",
        f"SuccessExitStatus={TOLD_TO_END} SIGTERM 143",
        "KillMode=mixed",
        f"TimeoutStopSec={launch.grace + 15}",
        "LimitMEMLOCK=infinity",
        "LimitNOFILE=1048576",
        "TasksMax=infinity",
        "[Install]",
        "WantedBy=multi-user.target",
    ]


def environment(launch: Launch) -> list[str]:
    """Variables of the container, as Docker's --env-file reads them: a line each, nothing quoted."""
    told = {**HOUSE, "TMPDIR": "/tmp", **network_env(launch.machine, launch.target, several=gang(launch))}  # noqa: S108
    told = {key: value for key, value in told.items() if not key.endswith("_SOCKET_IFNAME")}  # a pod's, not a machine's
    if launch.plan.kind in ("training", "fine-tuning"):
        told |= training.variables(launch)
    if launch.plan.kind == "batch-inference":
        told |= {"SIZEWELL_PIECES": str(batch.pieces(launch)), "VLLM_CACHE_ROOT": f"{CACHE}/vllm"}
    if launch.plan.kind == "inference":
        told |= {key: value.format(cache=CACHE) for key, value in serving.engine_of(launch).env.items()}
    told |= dict(launch.run.env)
    dropped = ("SIZEWELL_COORDINATOR", "SIZEWELL_NODES") if gang(launch) else ()
    return [f"{key}={value}" for key, value in sorted(told.items()) if key not in dropped]


def lines_of(launch: Launch) -> list[list[str]]:
    """The command line of each container of a machine."""
    run, kind = launch.run, launch.plan.kind
    if kind == "notebook":
        return [[*(run.command or notebook.jupyter_command(launch)), *run.args]]
    if run.command:
        return [[*run.command, *run.args]]
    if kind in ("training", "fine-tuning"):
        return [[*training.command(launch), *run.args]]
    if kind == "batch-inference":
        return [[*batch.command(launch), *run.args]] * slots_of(launch)
    engine = serving.engine_of(launch)
    words = serving.command(launch, engine)
    return [
        [*_replaced(words, engine.words("port", serving.PORT), engine.words("port", serving.PORT + number)), *run.args]
        for number in range(slots_of(launch))
    ]


def program(launch: Launch, *, region: str, folders: Sequence[str] = ()) -> list[str]:
    """What the unit starts: the image pulled, the devices there, the container run, its exit code answered."""
    return [
        "#!/bin/bash",
        "# Made by Sizewell: one container of this machine's workload; $1 is its number, from 0.",
        "set -uo pipefail",
        "ROOT=${ROOT:-}; PAUSE=${PAUSE:-10}; PATIENCE=${PATIENCE:-600}",  # other values are those of tests
        "slot=${1:-0}",
        f"state=$ROOT/var/lib/sizewell; image={shlex.quote(launch.run.image)}",
        'say() { echo "sizewell-run: $1" >&2; }',
        'die() { say "$1"; exit "$2"; }',
        'full() { die "the disk of $1 is full: $(df -hP "$1" | tail -n 1): enlarge it, or remove something" 1; }',
        'mkdir -p "$state/home/work" "$state/cache" "$state/tmp-$slot" "$state/docker" || full "$ROOT/var/lib"',
        'if ! head -c 1048576 /dev/zero > "$state/room-$slot"; then rm -f "$state/room-$slot"; full "$state"; fi',
        'rm -f "$state/room-$slot"',
        f'chown {USER}:{USER} "$state/home" "$state/home/work" "$state/cache" "$state/tmp-$slot" 2>/dev/null',
        "export HOME=$state DOCKER_CONFIG=$state/docker",
        "command -v docker >/dev/null ||",
        f'  die "this machine has no Docker: name an image of machines that has it in sizewell:images" {WRONG_INPUT}',
        "",
        *_devices(launch),
        "",
        *_pull(launch),
        "",
        *_arguments(launch, folders),
        "",
        "told=; early=; child=",
        'stop() { told=yes; if [ -n "$child" ]; then kill -TERM "$child" 2>/dev/null; else early=yes; fi; }',
        "trap stop TERM INT",
        "run() {  # runs the container and waits for it, however often a signal comes in between",
        f'  docker rm -f "{UNIT}-$slot" >/dev/null 2>&1',
        f'  [ -z "$told" ] || {{ code={TOLD_TO_END}; return "$code"; }}  # else nobody tells it to',
        '  docker "${args[@]}" "$image" "$@" & child=$!',
        '  [ -z "$early" ] || kill -TERM "$child" 2>/dev/null  # the signal came before its process was known',
        '  wait "$child"; code=$?',
        '  while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done',
        '  wait "$child" 2>/dev/null; late=$?; [ "$late" -eq 127 ] || code=$late  # ended while told to',
        '  child=; return "$code"',
        "}",
        *(_rendezvous(launch, region) if gang(launch) else []),
        *_lines(launch),
        *(["part"] if gang(launch) else []),
        *_end(launch),
    ]


def _lines(launch: Launch) -> list[str]:
    lines = lines_of(launch)
    quoted = [shlex.join(line) for line in lines]
    if launch.plan.kind == "batch-inference" and not launch.run.command:
        pieces = batch.pieces(launch)
        alone = len(lines) == 1 and launch.nodes == 1
        order = f"seq 0 {pieces - 1}" if alone else f"shuf -i 0-{pieces - 1}"
        return [
            "code=0",
            f"for piece in $({order}); do",
            f'  [ -z "$told" ] || {{ code={TOLD_TO_END}; break; }}',
            f'  run {quoted[0]} --piece "$piece" || break',
            "done",
            '(exit "$code")',
        ]
    if len(lines) == 1:
        return [f"run {quoted[0]}"]
    choice = [f"  {number}) line=({words}) ;;" for number, words in enumerate(quoted)]
    return ['case "$slot" in', *choice, "esac", 'run "${line[@]}"']


def _devices(launch: Launch) -> list[str]:
    machine = launch.machine
    wakes = {"cuda": "nvidia-smi -L >/dev/null 2>&1", "rocm": "true", "neuron": "true"}[machine.runtime]
    return [
        f"devices() {{ {wakes}; compgen -G \"$ROOT\"'{DEVICES[machine.runtime]}' | sort -V; }}",
        "waited=0  # a driver may still be loading",
        f'while [ "$(devices | wc -l)" -lt {machine.devices} ]; do',
        '  [ "$waited" -lt "$PATIENCE" ] ||',
        f'    die "$(devices | wc -l) of {machine.devices} devices are there: the driver did not load" 1',
        '  sleep "$PAUSE"; waited=$((waited + PAUSE))',
        "done",
    ]


def _pull(launch: Launch) -> list[str]:
    """The image, with the machine's own identity where its registry is the cloud's; tried until it is there."""
    login = LOGINS.get(launch.machine.cloud, ())
    said = (
        "$image cannot be pulled: its registry must be reachable from this network and let this machine's identity pull"
    )
    return [
        *login,
        "waited=0",
        'until docker image inspect "$image" >/dev/null 2>&1; do',
        f'  pulled=$({"login && " if login else ""}docker pull --quiet "$image" 2>&1) && break',
        '  say "$pulled"; case "$pulled" in *"no space left"*) full /var/lib/docker ;; esac',
        f'  [ "$waited" -lt "$PATIENCE" ] || die "{said}" 69',
        '  sleep "$PAUSE"; waited=$((waited + PAUSE))',
        "done",
    ]


def _arguments(launch: Launch, folders: Sequence[str]) -> list[str]:
    """How the container runs: no root unless the run says so, no capabilities, the machine's network and memory."""
    rdma = bool(launch.target.rdma[0])
    several = slots_of(launch) > 1
    each = launch.machine.devices // slots_of(launch)
    lines = [
        f'args=(run --rm --init --name "{UNIT}-$slot" --network host --ipc host --stop-timeout {launch.grace}',
        "  --ulimit memlock=-1 --ulimit stack=67108864 --read-only --cap-drop ALL --security-opt no-new-privileges",
        *([] if launch.run.root else [f"  --user {USER}:{USER}"]),
        '  --env-file "$ROOT/etc/sizewell/run.env"',
        f'  -v {LIBRARY}:{SCRIPTS}:ro -v "$state/home:{HOME}" -v "$state/cache:{CACHE}" -v "$state/tmp-$slot:/tmp"',
        f"  --workdir {notebook.FOLDER if launch.plan.kind == 'notebook' else HOME})",
    ]
    first = f"$((slot * {each}))"
    if launch.machine.runtime == "cuda":
        if several:
            numbers = f"$(seq -s, {first} $((slot * {each} + {each - 1})))"
            lines.append(f'args+=(--gpus "\\"device={numbers}\\"")')
        else:
            lines.append("args+=(--gpus all)")
    elif launch.machine.runtime == "rocm":
        lines += [
            "args+=(--device /dev/kfd --device /dev/dri)",
            'for group in $(stat -c %g /dev/kfd /dev/dri/renderD* | sort -u); do args+=(--group-add "$group"); done',
        ]
        if several:
            lines.append(f'args+=(--env "HIP_VISIBLE_DEVICES=$(seq -s, {first} $((slot * {each} + {each - 1})))")')
    else:
        lines.append(
            f'for device in $(devices | tail -n "+$((slot * {each} + 1))" | head -n {each}); do '
            'args+=(--device "$device"); done'
        )
    if rdma and gang(launch):
        lines.append('for device in "$ROOT"/dev/infiniband/*; do [ -e "$device" ] && args+=(--device "$device"); done')
    data = launch.plan.data or ""
    inside = any(data == folder or data.startswith(f"{folder}/") for folder in folders)
    for folder in [*folders, *([data] if data.startswith("/") and not inside else [])]:
        lines.append(f"args+=(-v {shlex.quote(folder)}:{shlex.quote(folder)})")
    return lines


def _rendezvous(launch: Launch, region: str) -> list[str]:
    """A number for this machine, and the machine that coordinates, in the newest generation of the job's machines."""
    return [
        "",
        *shell.variables(
            NODES=launch.nodes,
            ENDS=" ".join(map(str, ENDS)),
            OVER=OVER,
            TOLD_TO_END=TOLD_TO_END,
            COORDINATOR_PORT=PORT,
        ),
        *shell.store(
            launch.target.store, f"machines/{launch.run.prefix}/{launch.name}-{_digest(launch)}", region=region
        ),
        shell.program("rendezvous.sh"),
        "",
        "meet",
    ]


def _end(launch: Launch) -> list[str]:
    """Exit codes as on Kubernetes: told to end and reclaimed do not count, failures do, up to the run's restarts."""
    served = launch.plan.kind == "inference"
    counted = [
        'failures=$(($(cat "$state/failures-$slot" 2>/dev/null || echo 0) + 1))',
        'echo "$failures" > "$state/failures-$slot"',
        f'if [ "$failures" -gt {launch.run.restarts} ]; then',
        f'  die "failed $failures times, the last time with $code: journalctl -u {UNIT}@$slot" {FAILED_TOO_OFTEN}',
        "fi",
    ]
    ends = "|".join(map(str, (0, TOLD_TO_END, 69, *ENDS)))
    return [
        "code=$?",
        'if [ -n "$told" ]; then say "told to end: ended with $code"; exit "$code"; fi',
        f'case "$code" in {ends}) exit "$code" ;; esac',
        *([] if served else counted),
        'say "failed with $code"; exit "$code"',
    ]


def _watched(cloud: str) -> list[str]:
    """The second unit, where a cloud tells its machines that they go: one's own machines are asked by nobody."""
    if cloud not in CLOUDS:
        return ["systemctl daemon-reload"]
    return [
        *_file(f"/usr/local/sbin/{WATCH}", _watch(cloud), mode="755"),
        *_file(f"/etc/systemd/system/{WATCH}.service", _watch_unit(), mode="644"),
        "systemctl daemon-reload",
        f"systemctl enable --now --no-block {WATCH}",
    ]


def _watch(cloud: str) -> list[str]:
    lines = [
        "#!/bin/bash",
        "# Made by Sizewell: waits for notice that this machine will stop, then ends its workload gracefully.",
        "set -uo pipefail",
        f"python3 {LIBRARY}/notice.py --cloud {cloud} --file {NOTICE} || exit 1",
        f"systemctl stop '{UNIT}@*.service'",
    ]
    if CLOUDS[cloud].capacity.ends_when_acknowledged:
        lines.append(f"python3 {LIBRARY}/notice.py --cloud {cloud} --file {NOTICE} --done")
    return lines


def _watch_unit() -> list[str]:
    return [
        "[Unit]",
        "Description=Ends the workload when this machine is about to be stopped, made by Sizewell",
        "After=network-online.target",
        "Wants=network-online.target",
        f"ConditionPathExists=!{NOTICE}",
        "[Service]",
        f"ExecStart=/usr/local/sbin/{WATCH}",
        "Restart=on-failure",
        "RestartSec=10",
        "TimeoutStopSec=5",
        "[Install]",
        "WantedBy=multi-user.target",
    ]


def _scripts(launch: Launch) -> Mapping[str, str]:
    """The scripts of the run's kind, without those of other frameworks: user data is short."""
    if launch.run.command:
        return {}
    if launch.plan.kind in ("training", "fine-tuning"):
        needed = training.entry(launch)
        return {
            name: text
            for name, text in files.training().items()
            if name not in OTHER_ENTRIES or name == needed or (name == "train_fsdp.py" and needed == "train_neuron.py")
        }
    if launch.plan.kind == "batch-inference":
        return {name: files.script(name) for name in ("batch_infer.py", "store.py")}
    return {}


def _file(path: str, lines: Sequence[str], *, mode: str) -> list[str]:
    return [f"cat > {path} <<'SIZEWELL'", *lines, "SIZEWELL", f"chmod {mode} {path}"]


def _replaced(words: Sequence[str], what: Sequence[str], by: Sequence[str]) -> list[str]:
    """The words with one run of them replaced.

    >>> _replaced(["a", "--port", "8000", "b"], ["--port", "8000"], ["--port", "8001"])
    ['a', '--port', '8001', 'b']
    """
    for start in range(len(words) - len(what) + 1):
        if what and list(words[start : start + len(what)]) == list(what):
            return [*words[:start], *by, *words[start + len(what) :]]
    return list(words)


def _digest(launch: Launch) -> str:
    """What runs, in eight letters: machines that run another thing are another job's, even below the same prefix."""
    text = "\0".join([launch.run.image, *map(str, lines_of(launch)), *environment(launch)])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _possible(launch: Launch) -> None:
    """ConfigError with everything that machines without a scheduler do not have."""
    name, run, kind = launch.plan.name, launch.run, launch.plan.kind
    wrong: list[Fault] = []
    plain = {field.name: field.default for field in fields(Run)}
    for key in KUBERNETES_ONLY:
        if getattr(run, key) != plain[key]:
            fix = "leave it out, or write scheduler: kubernetes into the spec and decide again"
            message = "is for Kubernetes, which these machines do not have"
            wrong.append(Fault(path=f"run.{name}.{key}", message=message, fix=fix))
    for key, value in run.env:
        if "\n" in value:
            fix = "put it into a file of the image"
            wrong.append(Fault(path=f"run.{name}.env.{key}", message="has more than one line", fix=fix))
    if launch.machine.runtime in ELSEWHERE:
        message = f"is on {ELSEWHERE[launch.machine.runtime]}, which requires a cluster"
        wrong.append(Fault(path=name, message=message, fix="use --format kubernetes"))
    if gang(launch) and not launch.target.store:
        message = f"is a job of {launch.nodes} machines, which need the checkpoint store to find each other"
        fix = "write checkpoint: or scheduler: kubernetes into the spec and decide again"
        wrong.append(Fault(path=name, message=message, fix=fix))
    elif gang(launch) and launch.target.store.partition("://")[0] not in shell.STORES:
        message = f"is a job of {launch.nodes} machines, which cannot find each other through {launch.target.store}"
        fix = f"use a store at {', '.join(f'{scheme}://' for scheme in shell.STORES)}, or --format kubernetes"
        wrong.append(Fault(path=name, message=message, fix=fix))
    if wrong:
        raise ConfigError(wrong, subject=f"run {name}")
    if kind in ("training", "fine-tuning"):
        training.possible(launch)
    elif kind == "inference":
        serving.possible(launch)
        if serving.nodes_per_replica(launch) > 1:
            message = f"one replica needs {serving.nodes_per_replica(launch)} machines, which requires Kubernetes"
            fix = "write scheduler: kubernetes into the spec and decide again"
            raise ConfigError([Fault(path=name, message=message, fix=fix)], subject=f"run {name}")
    elif kind == "batch-inference":
        batch.possible(launch)
