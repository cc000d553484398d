"""What makes the machines of a group a Slurm cluster at first boot: commands that components put into user data. Pure.

There is no machine for the controller alone. The machines agree on one of themselves, and on munge's key, through the
checkpoint store, where a name is put once and never replaced: the first to put `slurm/GROUP/controller-1` is it. A
controller that has not answered for five minutes is given up, and the next number is put. The queue goes with it; what
was running is started again by `sbatch` and resumes from its checkpoint. Each machine takes one of the decision's node
names when it registers (`slurmd -F`, Slurm 20.11 and later), so that one that was replaced is no other node.
"""

from __future__ import annotations

import shlex
from typing import Final

from sizewell.launch.target import Machine
from sizewell.sizing.errors import ConfigError, Fault

PATIENCE_S: Final = 300  # that a controller may be silent
DEVICES: Final = {"cuda": "/dev/nvidia", "rocm": "/dev/dri/renderD", "neuron": "/dev/neuron"}
MEMORY_SHARE: Final = 0.95  # of a machine's, that jobs may have (estimate)
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
}
AUDIENCE: Final = "https://storage.azure.com/"


def first_boot(machine: Machine, *, group: str, store: str, nodes: int, region: str, grace_s: int) -> str:
    """The commands; ConfigError where the machines have no store to agree through.

    `group` names the cluster, `nodes` are the most machines, `grace_s` is what a job gets from SIGTERM to SIGKILL.
    """
    scheme, _, place = store.partition("://")
    if scheme not in STORES:
        fault = Fault(
            path="checkpoint",
            message="is missing: machines under Slurm agree on a controller through the checkpoint store",
            fix="add checkpoint: to the spec, and decide anew",
        )
        raise ConfigError([fault], subject="slurm")
    first, _, rest = place.partition("/")
    words = {"{first}": first, "{path}": f"{rest}/slurm/{group}/".lstrip("/"), "{audience}": AUDIENCE}
    ways = "\n".join(STORES[scheme])
    for key, value in words.items():
        ways = ways.replace(key, value)
    program = [
        "#!/bin/bash",
        "# Made by Sizewell: this machine is a node of a Slurm cluster, one of the nodes is its controller.",
        "set -uo pipefail",
        *([f"export AWS_DEFAULT_REGION={shlex.quote(region)}"] if scheme == "s3" else []),
        "ROOT=${ROOT:-}",  # of tests
        f"PATIENCE=${{PATIENCE:-{PATIENCE_S}}}",
        "PAUSE=${PAUSE:-30}",
        ways,
        *_common(machine, group=group, nodes=nodes, grace_s=grace_s),
    ]
    return "\n".join(
        [
            "# Slurm",
            "cat > /usr/local/sbin/sizewell-slurm <<'SLURM'",
            *program,
            "SLURM",
            "chmod 755 /usr/local/sbin/sizewell-slurm",
            "systemd-run --unit=sizewell-slurm --property=Restart=always --property=RestartSec=30 \\",
            "  --property=KillMode=process /usr/local/sbin/sizewell-slurm",
            "",
        ]
    )


def conf(machine: Machine, *, group: str, nodes: int, grace_s: int) -> list[str]:
    """slurm.conf but for the controller's line; nodes wait as FUTURE until a machine takes them."""
    gpu = f" Gres=gpu:{machine.devices}" if machine.runtime in ("cuda", "rocm") else ""
    memory = int(machine.memory_bytes * MEMORY_SHARE / 2**20) if machine.memory_bytes else 0
    sizes = (f" CPUs={machine.cpus}" if machine.cpus else "") + (f" RealMemory={memory}" if memory else "")
    return [
        f"ClusterName={group}",
        "AuthType=auth/munge",
        "ProctrackType=proctrack/cgroup",
        "TaskPlugin=task/affinity,task/cgroup",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        *(["GresTypes=gpu"] if gpu else []),
        "TreeWidth=65533",
        f"KillWait={grace_s}",
        "ReturnToService=2",
        "SlurmdTimeout=120",
        "JobRequeue=1",
        "StateSaveLocation=/var/spool/slurmctld",
        "SlurmdSpoolDir=/var/spool/slurmd",
        f"NodeName={group}-[1-{nodes}]{sizes}{gpu} State=FUTURE",
        f"PartitionName=main Nodes={group}-[1-{nodes}] Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE State=UP",
    ]


def _common(machine: Machine, *, group: str, nodes: int, grace_s: int) -> list[str]:
    """From an image with Slurm, or with packages of it, to daemons that run and are looked after."""
    last = machine.devices - 1
    first = 128 if machine.runtime == "rocm" else 0
    files = f"{DEVICES.get(machine.runtime, '/dev/nvidia')}[{first}-{first + last}]"
    gres = [f"Name=gpu File={files if last else files.split('[', maxsplit=1)[0] + str(first)}"]
    gres = gres if machine.runtime in ("cuda", "rocm") else []
    return [
        'die() { echo "sizewell-slurm: $1" >&2; sleep "$PAUSE"; exit 1; }',
        "export PATH=$PATH:/opt/slurm/sbin:/opt/slurm/bin",
        "if ! command -v slurmd >/dev/null; then",
        "  if command -v apt-get >/dev/null; then",
        "    export DEBIAN_FRONTEND=noninteractive",
        "    apt-get update -q && apt-get install -yq slurmd slurmctld slurm-client munge",
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
        "# One key for all: whoever is first puts it.",
        'until get munge.key "$key" >/dev/null 2>&1 && [ -s "$key" ]; do',
        '  head -c 1024 /dev/urandom > "$work/key"',
        '  put munge.key "$work/key" >/dev/null 2>&1 || sleep 1',
        "done",
        'rm -f "$work/key"; chmod 400 "$key"; chown munge: "$key" 2>/dev/null',
        "systemctl restart munge",
        "",
        'answers() { timeout 5 bash -c "exec 3<>/dev/tcp/$1/${PORT:-6817}" 2>/dev/null; }',
        "newest() {  # the controller that the machines agree on; number is the next one's",
        "  host=; held=; number=1",
        '  while get "controller-$number" "$work/controller" >/dev/null 2>&1; do',
        '    read -r host held < "$work/controller"; number=$((number + 1))',
        "  done",
        "}",
        'stop() { for one in "$@"; do pkill -x "$one"; done; }',
        "before=; silent=0",
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
        '    { echo "SlurmctldHost=$host($held)"; echo "SlurmUser=$user"; cat <<\'CONF\'; } > "$conf/slurm.conf"',
        *conf(machine, group=group, nodes=nodes, grace_s=grace_s),
        "CONF",
        "    cat > \"$conf/gres.conf\" <<'CONF'",
        *gres,
        "CONF",
        "    printf 'ConstrainDevices=yes\\nConstrainRAMSpace=yes\\n' > \"$conf/cgroup.conf\"",
        '    if [ "$held" = "$ip" ]; then',
        '      chown "$user" "$ROOT/var/spool/slurmctld"',
        '      slurmctld -f "$conf/slurm.conf" || die "slurmctld did not start"',
        "    fi",
        '    slurmd -F -f "$conf/slurm.conf" && before=$held',
        "  fi",
        "  pgrep -x slurmd >/dev/null || before=",
        '  sleep "$PAUSE"',
        "done",
    ]
