"""What makes machines a Slurm cluster, run by bash on two machines at once, with stand-ins for the cloud and for
Slurm."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import launch_cases as cases
import pytest

from sizewell.launch import slurm, slurm_boot
from sizewell.launch.target import machine_of
from sizewell.sizing.errors import ConfigError

STANDINS = {
    "aws": """#!/bin/bash
[ "$1" = s3api ] || exit 2
verb=$2; shift 2
while [ $# -gt 0 ]; do case "$1" in
  --key) key=$2; shift 2 ;; --body) body=$2; shift 2 ;; --bucket) shift 2 ;;
  --if-none-match) [ "$2" = '*' ] && once=1; shift 2 ;; *) out=$1; shift ;; esac; done
trap '[[ -n "$DIES" && "$verb $key" == $DIES ]] && kill -KILL 0' EXIT  # the machine is lost when that is done
at="$STORE/$key"; mkdir -p "${at%/*}"
[ "$verb" = put-object ] && [ -z "$once" ] && exec cp "$body" "$at"
if [ "$verb" = put-object ]; then cp "$body" "$at.$$" && ln "$at.$$" "$at" 2>/dev/null; code=$?; rm "$at.$$"; exit $code; fi
[ -e "$at" ] && cp "$at" "$out"
""",
    "curl": """#!/bin/bash
while [ $# -gt 0 ]; do case "$1" in
  -H) case "$2" in
    "Authorization: Bearer "?*) signed=1 ;; "If-None-Match: *"|"x-goog-if-generation-match: 0") once=1 ;;
    Metadata:true|Metadata-Flavor:Google) asks=1 ;; esac; shift 2 ;;
  -X|--noproxy) shift 2 ;;
  --data-binary) body=${2#@}; shift 2 ;; -o) out=$2; shift 2 ;; -sf) shift ;; *) url=$1; shift ;; esac; done
case "$url" in http://169.254.169.254/*) [ -n "$asks" ] && echo '{"access_token":"t0","x":1}'; exit 0 ;; esac
[ -n "$signed" ] || exit 22
at="$STORE/${url#https://}"; mkdir -p "${at%/*}"
[ -n "$body" ] && [ -z "$once" ] && exec cp "$body" "$at"
if [ -n "$body" ]; then cp "$body" "$at.$$" && ln "$at.$$" "$at" 2>/dev/null; code=$?; rm "$at.$$"; exit $code; fi
[ -e "$at" ] && cp "$at" "$out"
""",
    "hostname": '#!/bin/bash\n[ "$1" = -I ] && echo "$IP 10.9.9.9" || echo "$NAME"\n',
    "slurmd": """#!/bin/bash
[ "$1" = -V ] && { echo "slurm ${SLURM:-23.11.4}"; exit; }
[ "$1" = -C ] && { echo "NodeName=x CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1000"; exit; }
echo "slurmd $*" >> "$ROOT/calls"
""",
    "slurmctld": """#!/bin/bash
echo "slurmctld $*" >> "$ROOT/calls"
python3 -c 'import os, socket, sys, time
end = socket.create_server((os.environ["IP"], int(os.environ["PORT"])))
time.sleep(60)' >/dev/null 2>&1 &
""",
    "pgrep": '#!/bin/bash\nexec grep -q "^$2 -" "$ROOT/calls"\n',
    "sinfo": "#!/bin/bash\n",
    **{name: f'#!/bin/bash\necho "{name} $*" >> "$ROOT/calls"\n' for name in ("pkill", "systemctl", "chown", "die")},
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    for name, text in STANDINS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def text_of(store, of=None, *, group="pretrain", nodes=4):
    of = of or cases.eks_training()
    return slurm_boot.first_boot(of.machine, group=group, store=store, nodes=nodes, region="us-east-1", grace_s=120)


def program_of(text):
    return re.search(r"<<'SLURM'\n(.*?)\nSLURM\n", text, re.DOTALL)[1]


EIGHT = tuple(f"nvidia{number}" for number in range(8))


class Machine:
    """One machine: its own root, address and processes, one store with the others."""

    def __init__(self, tools, folder, number, program, port, *, devices=EIGHT, **env):
        self.root = folder / f"machine-{number}"
        self.root.mkdir()
        script = self.root / "boot.sh"
        script.write_text(program)
        own = {
            "ROOT": str(self.root),
            "IP": f"127.0.0.{number}",
            "NAME": f"ip-{number}",
            "STORE": str(folder / "store"),
        }
        (self.root / "dev").mkdir()
        for device in devices:
            (self.root / "dev" / device).touch()
        own |= {"PORT": str(port), "PAUSE": "1", "PATIENCE": "2", "PATH": f"{tools}:{os.environ['PATH']}", **env}
        self.process = subprocess.Popen(
            ["bash", str(script)], env=own, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def gone(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def calls(self):
        path = self.root / "calls"
        return path.read_text() if path.exists() else ""

    def conf(self):
        """slurm.conf of the machine, whose daemon then is ended."""
        try:
            until(lambda: "slurmd -F" in self.calls())
        finally:
            self.gone()
        return (self.root / "etc/slurm/slurm.conf").read_text()

    def controller(self):
        path = self.root / "etc/slurm/slurm.conf"
        found = re.search(r"SlurmctldHost=(\S+)", path.read_text()) if path.exists() else None
        return found[1] if found else ""


def until(holds):
    end = time.monotonic() + 60
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("store", ["s3://sizewell-prod-aws-pretrain", "az://account/checkpoints", "gs://petsnap-state"])
def test_machines_agree_on_a_controller_and_on_another_when_it_is_gone(tools, tmp_path, free_port, store):
    program = program_of(text_of(store))
    machines = [Machine(tools, tmp_path, number, program, free_port) for number in (2, 3)]
    try:
        until(lambda: all("slurmd -F" in one.calls() for one in machines))
        first = {one.controller() for one in machines}
        assert len(first) == 1
        leader = next(one for one in machines if "slurmctld" in re.sub("pkill.*", "", one.calls()))
        other = next(one for one in machines if one is not leader)
        assert first == {f"ip-{machines.index(leader) + 2}(127.0.0.{machines.index(leader) + 2})"}
        assert "slurmctld -f" not in other.calls()
        keys = {(one.root / "etc/munge/munge.key").read_bytes() for one in machines}
        assert len(keys) == 1
        assert len(keys.pop()) == 1024
        assert all("systemctl restart munge" in one.calls() for one in machines)
        leader.gone()
        until(lambda: "slurmctld -f" in other.calls())
        assert other.controller() == f"ip-{machines.index(other) + 2}(127.0.0.{machines.index(other) + 2})"
        again = Machine(tools, tmp_path, 4, program, free_port)  # in the place of the one that went
        machines.append(again)
        until(lambda: "slurmd -F" in again.calls())
        assert again.controller() == other.controller()
    finally:
        for one in machines:
            if one.process.poll() is None:
                one.gone()


@pytest.mark.parametrize("step", ["get-object *munge.key", "put-object *munge.key", "put-object *controller-1"])
def test_a_machine_that_is_lost_at_any_step_holds_up_no_other(tools, tmp_path, free_port, step):
    """With the key not put, put, or the lead taken and no controller started: the next one leads."""
    program = program_of(text_of("s3://b"))
    lost = Machine(tools, tmp_path, 2, program, free_port, DIES=step)
    assert lost.process.wait(30) == -signal.SIGKILL
    assert "slurm" not in lost.calls()
    others = [Machine(tools, tmp_path, number, program, free_port) for number in (3, 4)]
    try:
        leads = [{"ip-3(127.0.0.3)"}, {"ip-4(127.0.0.4)"}]  # for a while both may follow the one that is lost
        until(lambda: {one.controller() for one in others} in leads)
        until(lambda: all("slurmd -F" in one.calls() for one in others))
        until(lambda: "slurmctld -f" in "".join(one.calls() for one in others))
        assert ["slurmctld -f" in one.calls() for one in others].count(True) == 1
        keys = {(one.root / "etc/munge/munge.key").read_bytes() for one in others}
        assert keys == {(tmp_path / "store/slurm/pretrain/munge.key").read_bytes()}
    finally:
        for one in others:
            one.gone()


def test_a_controller_that_was_cut_off_follows_its_successor(tools, tmp_path, free_port):
    one = Machine(tools, tmp_path, 2, program_of(text_of("s3://b")), free_port)
    try:
        until(lambda: "slurmctld -f" in one.calls())
        (tmp_path / "store/slurm/pretrain/controller-2").write_text("ip-9 127.0.0.9\n")
        until(lambda: one.controller() == "ip-9(127.0.0.9)")
        assert "pkill -x slurmctld" in one.calls()
    finally:
        one.gone()


def test_a_new_controller_has_time_to_start_however_long_the_last_was_silent(tools, tmp_path, free_port):
    """Another machine puts controller-2 a moment before this one would have."""
    store, own = tmp_path / "store/slurm/pretrain", tmp_path / "own"
    store.mkdir(parents=True)
    own.mkdir()
    (store / "controller-1").write_text("ip-8 127.0.0.8\n")
    (own / "aws").write_text(f"""#!/bin/bash
echo "$*" >> "$ROOT/asked"
if [ "$(grep -c 'get-object.*controller-2' "$ROOT/asked")" = 3 ]; then echo "ip-9 127.0.0.9" > {store}/controller-2; fi
exec {tools}/aws "$@"
""")
    (own / "aws").chmod(0o755)
    path = f"{own}:{tools}:{os.environ['PATH']}"
    one = Machine(tools, tmp_path, 2, program_of(text_of("s3://b")), free_port, PATH=path)
    try:
        until((store / "controller-3").exists)
    finally:
        one.gone()
    asked = (one.root / "asked").read_text().partition("put-object --bucket b --key slurm/pretrain/controller-3")[0]
    assert "put-object --bucket b --key slurm/pretrain/controller-2" not in asked
    assert asked.count("controller-3") == 3  # seconds: PATIENCE, and one


def test_an_old_slurm_is_refused_in_words(tools, tmp_path, free_port):
    one = Machine(tools, tmp_path, 2, program_of(text_of("s3://b")), free_port, SLURM="19.05.5")
    assert one.process.wait(30) == 1
    assert "slurm 19.05.5 is too old: nodes take their names from Slurm 20.11 on" in one.process.stderr.read()


def test_the_cluster_is_as_measured(tools, tmp_path, free_port):
    """What `slurmd -C` says and the device files that are there, not what a catalog knows."""
    one = Machine(tools, tmp_path, 2, program_of(text_of("s3://b")), free_port)
    conf = one.conf()
    sizes = "CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=950"
    assert f"NodeName=pretrain-[1-4] {sizes} Gres=gpu:8 State=FUTURE\n" in conf
    assert "KillWait=120\n" in conf
    assert "PartitionName=main Nodes=pretrain-[1-4] " in conf
    gres = (one.root / "etc/slurm/gres.conf").read_text().splitlines()
    assert gres == [f"Name=gpu File={one.root}/dev/nvidia{number}" for number in range(8)]


def test_memory_of_jobs_is_not_limited_and_reboots_are_survived():
    text = text_of("s3://b")
    assert "LimitMEMLOCK=infinity" in text
    assert "PropagateResourceLimitsExcept=MEMLOCK,NOFILE" in text
    assert "systemctl enable --now sizewell-slurm" in text


@pytest.mark.parametrize("store", ["s3://b", "az://account/c", "gs://b"])
def test_user_data_has_room_for_it(store):
    assert len(text_of(store)) < 8000, "user data has room for 16 KiB, of which others need some"


def test_cores_of_neuron_are_no_resource_of_slurm_s(tools, tmp_path, free_port):
    """A machine is one job's; one that lost a device is none."""
    program = program_of(text_of("s3://b", cases.eks_neuron()))
    devices = [f"neuron{number}" for number in range(16)]
    lost = Machine(tools, tmp_path, 2, program, free_port, devices=devices[1:])
    whole = Machine(tools, tmp_path, 3, program, free_port, devices=devices)
    conf = whole.conf()
    assert "Gres" not in conf
    assert " RealMemory=950 State=FUTURE\n" in conf
    assert (whole.root / "etc/slurm/gres.conf").read_text() == ""
    assert lost.process.wait(30) == 1
    assert "15 of 16 devices are there" in lost.process.stderr.read()
    assert "slurm" not in lost.calls()


def test_without_a_store_there_is_nothing_to_agree_through():
    with pytest.raises(ConfigError, match="use the checkpoint store to choose a controller"):
        text_of("")


SHELL = [
    *[program_of(text_of(store)) for store in ("s3://b", "az://account/c", "gs://b")],
    slurm.script(cases.eks_training()),
    slurm.script(cases.eks_spot()),
    slurm.burn_in(cases.coreweave()),
]


@pytest.mark.parametrize("number", range(len(SHELL)))
def test_a_checker_of_shell_scripts_finds_nothing(tmp_path, number):
    path = tmp_path / "script.sh"
    path.write_text(SHELL[number])
    checker = Path(sys.executable).parent / "shellcheck"
    found = subprocess.run([checker, path], check=False, capture_output=True, text=True)
    assert found.stdout == ""
    assert found.returncode == 0


@pytest.mark.parametrize("made", [slurm.script, slurm.burn_in])
def test_machines_without_devices_of_slurm_are_refused(made):
    with pytest.raises(ConfigError, match="no devices that Slurm can give") as found:
        made(cases.gke_slice())
    assert found.value.faults[0].fix == "use --format kubernetes"


def test_machines_of_a_decision_know_how_many_they_are(tools, tmp_path, free_port):
    of = cases.eks_spot()
    decided = dataclasses.replace(of, machine=machine_of(of.plan))
    text = text_of("s3://b", decided, group="tune", nodes=1)
    conf = Machine(tools, tmp_path, 2, program_of(text), free_port).conf()
    assert "NodeName=tune-[1-1] " in conf
    assert " Gres=gpu:1 " in conf
