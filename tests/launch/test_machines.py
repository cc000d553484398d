"""What machines without a scheduler start: the units by systemd's own check, the program by bash, with stand-ins for
Docker and the cloud."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import launch_cases as cases
import pytest
import small_disk
from decisions import decision, pool, workload
from launch_cases import training

from sizewell.launch import files, machines
from sizewell.launch.launch import launch_of
from sizewell.launch.target import aks_target, eks_target, gke_target
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Parallelism, Storage

DOCKER = """#!/bin/bash
echo "docker $*" >> "$ROOT/calls"
[ "$1" = "$TELLS" ] && kill -TERM "$PPID"
case "$1" in
  image) [ -e "$ROOT/image" ] ;;
  login) cat >/dev/null ;;
  pull) [ -n "$NO_PULL" ] && echo "failed to register layer: $NO_PULL" >&2 || touch "$ROOT/image"; [ -z "$NO_PULL" ] ;;
  run)
    line=("$@")
    while [ $# -gt 0 ]; do [ "$1" = --env ] && export "${2?}"; shift; done
    [ -n "$LONG" ] && { sleep 60 >/dev/null 2>&1 & trap "kill $!; exit 75" TERM; }
    echo "ran $SIZEWELL_NODE of $SIZEWELL_NODES at $SIZEWELL_COORDINATOR" >> "$ROOT/ran"
    [ -n "$LONG" ] && wait
    [ -n "$RUNS" ] && {
      while [ "${line[0]}" != python3 ]; do line=("${line[@]:1}"); done; line=("${line[@]:1}")
      exec "$PYTHON" "${line[@]/#\\/opt\\/sizewell/$SCRIPTS}"; }
    code=$(head -n 1 "$ROOT/codes" 2>/dev/null); sed -i 1d "$ROOT/codes" 2>/dev/null; exit "${code:-0}" ;;
esac
"""
AWS = """#!/bin/bash
[ "$1" = ecr ] && { echo "ecr $*" >> "$ROOT/calls"; echo secret; exit; }
verb=$2; shift 2
while [ $# -gt 0 ]; do case "$1" in
  --key) key=$2; shift 2 ;; --body) body=$2; shift 2 ;; --bucket|--if-none-match) shift 2 ;; *) out=$1; shift ;; esac; done
trap '[[ -n "$DIES" && "$verb $key" == $DIES ]] && kill -KILL 0' EXIT  # the machine is lost when that is done
at="$STORE/$key"; mkdir -p "${at%/*}"
if [ "$verb" = put-object ]; then cp "$body" "$at.$$" && ln "$at.$$" "$at" 2>/dev/null; code=$?; rm "$at.$$"; exit $code; fi
[ -e "$at" ] && cp "$at" "$out"
"""
PYTHON = {"PYTHON": sys.executable, "SCRIPTS": str(files.FOLDER)}
OTHERS = {
    "hostname": '#!/bin/bash\necho "$IP 10.9.9.9"\n',
    **dict.fromkeys(("nvidia-smi", "chown"), "#!/bin/bash\n"),
}


def on(cloud, one, machine, **changes):
    """A workload on machines of its own."""
    name = one.spec.name
    target = {
        "aws": lambda: eks_target(one, machine, name=name, store="s3://sizewell-checkpoints"),
        "azure": lambda: aks_target(one, machine, name=name, store="az://account/checkpoints"),
        "gcp": lambda: gke_target(machine, name=name, label=name, store="gs://sizewell-checkpoints"),
    }[cloud]()
    return launch_of(decision(f"dev-{cloud}", one), one, machine, cases.run(**changes), target)


def trained(nodes=1, cloud="aws", **changes):
    kinds = {"aws": "p5.48xlarge", "azure": "Standard_ND96isr_H100_v5", "gcp": "a3-highgpu-8g"}
    machine = pool(cloud, kinds[cloud], "h100-sxm", 8, nodes=(0, nodes, nodes))
    one = training("pretrain", machine, task=cases.BIG, scheduler="none")
    one = one.model_copy(update={"parallelism": Parallelism(data=8 * nodes, zero_stage=3, micro_batch=2)})
    return on(cloud, one, machine, **changes)


def served(**changes):
    machine = pool("aws", "g6e.12xlarge", "l40s", 4, nodes=(0, 1, 1))
    one = workload("chat", "inference", machine, task=cases.CHAT, replicas=cases.replicas(2, 2, 2, 2), scheduler="none")
    return on("aws", one, machine, **{"image": cases.VLLM, "model": "s3://petsnap/chat-fp8", **changes})


def batched(**changes):
    machine = pool("aws", "g6e.12xlarge", "l40s", 4, nodes=(0, 2, 2))
    store = Storage(kind="object", bytes=10**9, location="s3://petsnap/prompts")
    one = workload("answers", "batch-inference", machine, task=cases.CHAT, scheduler="none", storage=store)
    one = one.model_copy(update={"replicas": cases.replicas(0, 8, 8, 1), "performance": cases.BATCHED})
    return on("aws", one, machine, **{"image": cases.VLLM, "model": "s3://petsnap/chat-fp8", **changes})


def notebook(**changes):
    machine = pool("aws", "g6.xlarge", "l4", 1, nodes=(0, 1, 1))
    return on("aws", workload("notebook", "notebook", machine, scheduler="none"), machine, **changes)


CASES = {
    "training": trained,
    "several machines": lambda: trained(4),
    "azure": lambda: trained(4, "azure"),
    "google": lambda: trained(4, "gcp"),
    "server": served,
    "batch": batched,
    "notebook": notebook,
}


def files_of(text):
    """The files that first boot writes, by path."""
    return dict(re.findall(r"cat > (\S+) <<'SIZEWELL'\n(.*?\n)SIZEWELL\n", text, re.DOTALL))


@pytest.mark.parametrize("case", CASES)
def test_systemd_takes_the_units(case, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not here: nobody but us has looked at the units")
    found = files_of(machines.first_boot(CASES[case](), region="us-east-1"))
    for path, body in found.items():
        name = path.rsplit("/", 1)[1]
        if path.startswith("/usr/local/sbin/"):
            (tmp_path / name).write_text(body)
            (tmp_path / name).chmod(0o755)
        if path.startswith("/etc/systemd/"):
            (tmp_path / name.replace("@.", "@0.")).write_text(body.replace("/usr/local/sbin", str(tmp_path)))
    units = sorted(map(str, tmp_path.glob("*.service")))
    assert len(units) == 2
    done = subprocess.run(
        ["systemd-analyze", "--man=no", "verify", *units], capture_output=True, text=True, check=False
    )
    assert [line for line in done.stderr.splitlines() if str(tmp_path) in line or "sizewell" in line] == []


@pytest.mark.parametrize("case", CASES)
def test_bash_and_shellcheck_take_what_first_boot_runs(case):
    text = machines.first_boot(CASES[case](), region="us-east-1")
    programs = [text, *[body for path, body in files_of(text).items() if path.startswith("/usr/local/sbin/")]]
    assert len(programs) == 3
    for program in programs:
        assert subprocess.run(["bash", "-n"], input=program, text=True, check=False).returncode == 0
        # SC2317, SC2329: what a trap calls
        words = [Path(sys.executable).parent / "shellcheck", "-s", "bash", "-e", "SC2317,SC2329", "-"]
        done = subprocess.run(words, input=program, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


class Machine:
    def __init__(self, folder, of, number=1, **env):
        self.root = folder / f"machine-{number}"
        tools = folder / f"tools-{number}"
        for path in (self.root / "dev", self.root / "etc/sizewell", tools):
            path.mkdir(parents=True)
        for device in range(8):
            (self.root / f"dev/nvidia{device}").touch()
        for name, text in {"docker": DOCKER, "aws": AWS, **OTHERS}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        (self.root / "program").write_text("\n".join(machines.program(of, region="us-east-1")) + "\n")
        own = {"ROOT": str(self.root), "IP": f"10.0.0.{number}", "STORE": str(folder / "store")}
        self.before = []
        self.env = {**own, "PAUSE": "0.1", "PATIENCE": "0", **PYTHON, "PATH": f"{tools}:{os.environ['PATH']}", **env}

    def start(self, slot="0"):
        command = [*self.before, "bash", str(self.root / "program"), slot]
        return subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, slot="0", codes=()):
        (self.root / "codes").write_text("".join(f"{code}\n" for code in codes))
        process = self.start(slot)
        said = process.communicate(timeout=30)[1]
        return process.returncode, said

    def calls(self, verb):
        path = self.root / "calls"
        return (
            [line for line in path.read_text().splitlines() if line.startswith(f"docker {verb}")]
            if path.exists()
            else []
        )

    def ran(self):
        path = self.root / "ran"
        return path.read_text().splitlines() if path.exists() else []


def test_the_container_has_its_devices_its_variables_and_no_more_rights(tmp_path):
    machine = Machine(tmp_path, trained())
    assert machine.run()[0] == 0
    line = machine.calls("run --rm")[0]
    for words in ("--gpus all", "--cap-drop ALL", "--read-only", "--user 10001:10001", "--network host", "memlock=-1"):
        assert words in line
    assert line.endswith(f"{cases.IMAGE} python3 /opt/sizewell/spawn.py --processes 8 /opt/sizewell/train_fsdp.py")
    env = files_of(machines.first_boot(trained(), region="us-east-1"))["/etc/sizewell/run.env"].splitlines()
    assert "SIZEWELL_CHECKPOINT_URI=s3://sizewell-checkpoints/main" in env
    assert f"SIZEWELL_GRACE_S={trained().grace}" in env


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (75, 75), (64, 64), (76, 76), (69, 69), (1, 1), (137, 137)])
def test_the_exit_code_is_the_entry_scripts_own(tmp_path, code, expected):
    assert Machine(tmp_path, trained()).run(codes=[code])[0] == expected


def test_failures_count_and_reclaims_do_not(tmp_path):
    machine = Machine(tmp_path, trained(restarts=2))
    codes = [machine.run(codes=[code])[0] for code in (1, 75, 75, 75, 1, 69, 1)]
    assert codes == [1, 75, 75, 75, 1, 69, machines.FAILED_TOO_OFTEN]
    unit = "\n".join(machines.unit(trained()))
    assert "RestartPreventExitStatus=64 76 78" in unit
    assert "RestartForceExitStatus=75" in unit


def test_sigterm_reaches_the_container_and_its_answer_is_the_end(tmp_path):
    machine = Machine(tmp_path, trained(), LONG="1")
    process = machine.start()
    until(machine.ran)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 75
    assert "told to end: ended with 75" in process.stderr.read()


@pytest.mark.parametrize(("step", "starts"), [("rm", 0), ("run", 1)])
@pytest.mark.parametrize("work", [trained, batched])
def test_sigterm_before_the_container_runs_is_not_forgotten(tmp_path, work, step, starts):
    """Else a machine that is reclaimed, or whose job goes on in a newer generation, starts a container for good."""
    machine = Machine(tmp_path, work(), TELLS=step, LONG="1")
    code, said = machine.run()
    assert len(machine.calls("run --rm")) == starts
    assert code == 75 or (starts and code == 143)  # before the stand-in for Docker handles the signal, it ends by it
    assert f"told to end: ended with {code}" in said


def test_a_container_that_ends_while_the_signal_is_handled_keeps_its_exit_code():
    lines = machines.program(trained(), region="us-east-1")
    begin = next(number for number, line in enumerate(lines) if line.startswith("run() {"))
    run = "\n".join(lines[begin : lines.index("}", begin) + 1])
    script = f"""
args=(run); image=; slot=0
docker() {{ [ "$1" = rm ] || {{ trap 'exit 75' TERM; sleep 5 >/dev/null 2>&1 & wait; }}; }}
trap 'kill -TERM "$child"; sleep 0.3' TERM
{run}
(sleep 0.3; kill -TERM $$) &
run x; echo "ended with $?"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert "ended with 75" in done.stdout


@pytest.mark.parametrize(
    ("case", "env", "code", "said"),
    [
        ("docker", {}, 64, "this machine has no Docker"),
        ("devices", {}, 1, "of 8 devices are there"),
        ("image", {"NO_PULL": "i/o timeout"}, 69, "cannot be pulled"),
        ("image", {"NO_PULL": "write /layer.tar: no space left on device"}, 1, "the disk of /var/lib/docker is full"),
        ("disk", {}, 1, "/var/lib/sizewell is full"),
    ],
)
def test_what_is_missing_is_said_in_words(tmp_path, case, env, code, said):
    machine = Machine(tmp_path, trained(), **env)
    if case == "docker":
        (tmp_path / "tools-1/docker").unlink()
        without = [f for f in machine.env["PATH"].split(":") if not Path(f, "docker").exists()]
        machine.env["PATH"] = ":".join(without)
    if case == "devices":
        (machine.root / "dev/nvidia3").unlink()
    if case == "disk":
        if small_disk.not_allowed():
            pytest.skip(small_disk.not_allowed())
        (machine.root / "var").mkdir()
        machine.before = small_disk.line(machine.root / "var", 512)
    found, text = machine.run()
    assert found == code
    assert said in text


def test_the_registry_of_the_cloud_is_asked_with_the_machines_own_identity(tmp_path):
    image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:2.8"
    machine = Machine(tmp_path, trained(image=image))
    assert machine.run()[0] == 0
    assert machine.calls("login") == [
        "docker login --username AWS --password-stdin 123456789012.dkr.ecr.eu-west-1.amazonaws.com"
    ]
    assert "ecr get-login-password --region eu-west-1" in (machine.root / "calls").read_text()
    assert Machine(tmp_path, trained(), 2).run()[0] == 0


def test_artifact_registry_is_asked_with_the_machines_own_identity(tmp_path):
    machine = Machine(tmp_path, trained(cloud="gcp", image="europe-west4-docker.pkg.dev/petsnap/images/train:2.8"))
    asked = """#!/bin/bash
[ "$*" = "-sf -H Metadata-Flavor:Google --noproxy * http://169.254.169.254/computeMetadata/v1/instance/\
service-accounts/default/token" ] && echo '{"access_token": "secret"}'
"""
    (tmp_path / "tools-1/curl").write_text(asked)
    (tmp_path / "tools-1/curl").chmod(0o755)
    assert machine.run()[0] == 0
    line = "docker login --username oauth2accesstoken --password-stdin https://europe-west4-docker.pkg.dev"
    assert machine.calls("login") == [line]


def test_machines_of_ones_own_are_asked_for_no_notice_of_a_cloud():
    of = trained()
    own = replace(of, machine=replace(of.machine, cloud="on-premises"))
    assert machines.WATCH in machines.first_boot(of, region="us-east-1")
    assert machines.WATCH not in machines.first_boot(own, region="")


def test_two_replicas_of_a_machine_have_devices_and_ports_of_their_own(tmp_path):
    assert machines.slots_of(served()) == 2
    machine = Machine(tmp_path, served())
    for slot in "01":
        assert machine.run(slot)[0] == 0
    first, second = machine.calls("run --rm")
    assert '--gpus "device=0,1"' in first
    assert '--gpus "device=2,3"' in second
    assert "--port 8000" in first
    assert "--port 8001" in second
    assert "Restart=always" in "\n".join(machines.unit(served()))


def test_a_batch_does_every_piece_and_stops_when_told(tmp_path):
    of = batched()
    count = machines.batch.pieces(of)
    machine = Machine(tmp_path, of)
    assert machine.run()[0] == 0
    pieces = [int(line.rsplit(" ", 1)[1]) for line in machine.calls("run --rm")]
    assert sorted(pieces) == list(range(count))
    assert pieces != sorted(pieces)  # two machines that walk in step would do all work twice
    again = Machine(tmp_path, of, 2)
    assert again.run(codes=[0, 1])[0] == 1
    assert len(again.calls("run --rm")) == 2


def test_machines_of_a_job_find_each_other_and_do_so_again_when_one_is_replaced(tmp_path):
    of = trained(2)
    first, second = (Machine(tmp_path, of, number, LONG="1") for number in (1, 2))
    processes = [first.start(), second.start()]
    until(lambda: first.ran() and second.ran())
    lines = sorted([*first.ran(), *second.ran()])
    assert [line.partition(" at")[0] for line in lines] == ["ran 0 of 2", "ran 1 of 2"]
    assert len({line.partition(" at ")[2] for line in lines}) == 1
    os.killpg(processes[1].pid, signal.SIGKILL)  # the machine is gone
    processes[1].wait()
    third = Machine(tmp_path, of, 3, LONG="1")
    replaced = third.start()
    assert processes[0].wait(15) == 75  # told by the newer generation; systemd starts it again
    back = first.start()
    until(lambda: third.ran() and len(first.ran()) == 2)
    assert {line.partition(" at")[0] for line in (third.ran()[0], first.ran()[1])} == {"ran 0 of 2", "ran 1 of 2"}
    for process in (back, replaced):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("step", ["put-object */1-0", "get-object */1-1", "get-object */1-0"])
def test_a_machine_that_is_lost_at_any_step_is_replaced_or_comes_back(tmp_path, step, number):
    """Lost with a number taken, while it waits, and before it is a member; with its own state or in another's place."""
    of = trained(2)
    lost, second = Machine(tmp_path, of, 1, LONG="1", DIES=step), Machine(tmp_path, of, 2, LONG="1")
    assert lost.start().wait(20) == -signal.SIGKILL
    del lost.env["DIES"]
    pair = [lost if number == 1 else Machine(tmp_path, of, number, LONG="1"), second]
    processes = [one.start() for one in pair]

    def together():
        """Different members of one generation; who ended starts again, as systemd does."""
        for place, one in enumerate(pair):
            if processes[place].poll() is not None:
                processes[place] = one.start()
        last = [one.ran()[-1].partition(" at ") for one in pair if one.ran()]
        members, coordinators = {found[0] for found in last}, {found[2] for found in last}
        return members == {"ran 0 of 2", "ran 1 of 2"} and len(coordinators) == 1

    try:
        until(together)
        assert all(process.poll() is None for process in processes)
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_job_that_is_done_is_not_begun_again_by_a_machine_that_comes_later(tmp_path):
    of = trained(2)
    pair = [Machine(tmp_path, of, number) for number in (1, 2)]
    assert [process.wait(20) for process in [one.start() for one in pair]] == [0, 0]
    late = Machine(tmp_path, of, 3)
    code, said = late.run()
    assert (code, late.ran()) == (0, [])
    assert "the job is over, with 0" in said


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (lambda: trained(secrets=("hub",)), "run.pretrain.secrets: is for Kubernetes"),
        (lambda: served(form="kserve"), "run.chat.form: is for Kubernetes"),
        (lambda: trained(image="rocm/vllm:v0.11.0"), "is built for rocm"),
        (lambda: trained(env=(("A", "b\nc"),)), "run.pretrain.env.A: has more than one line"),
    ],
)
def test_what_needs_a_cluster_is_refused(case, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        machines.first_boot(case(), region="us-east-1")


def test_a_job_of_several_machines_without_a_store_is_refused():
    of = trained(2)
    lost = replace(of, target=replace(of.target, store=""))
    with pytest.raises(ConfigError, match="need the checkpoint store to find each other"):
        machines.first_boot(lost, region="us-east-1")
    shared = replace(of, target=replace(of.target, store="file:///mnt/checkpoints"))
    with pytest.raises(ConfigError, match="cannot find each other through file:///mnt/checkpoints"):
        machines.first_boot(shared, region="us-east-1")


def until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_two_machines_answer_every_record_of_a_batch_once(tmp_path):
    """The entry script itself, started by the units' program on two machines at once; one is told to end in between."""
    pytest.importorskip("numpy")
    source, answers = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    records = [json.dumps({"id": number, "prompt": f"p{number}"}) for number in range(40)]
    (source / "a.jsonl").write_text("\n".join(records))
    of = batched(model="stand-in", output=f"file://{answers}")
    of = replace(
        of, plan=replace(of.plan, data=f"file://{source}", run_time_s=900.0, replicas=cases.replicas(0, 2, 2, 4))
    )
    found = [Machine(tmp_path, of, number, RUNS="1") for number in (1, 2)]
    first, second = (one.start() for one in found)
    until(found[0].ran)
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) in (0, 75, 143)
    assert (second.wait(60), found[0].start().wait(60)) == (0, 0)
    pieces = sorted(answers.iterdir())
    assert len(pieces) == machines.batch.pieces(of)
    said = [json.loads(line)["id"] for piece in pieces for line in piece.read_text().splitlines()]
    assert sorted(said) == list(range(40))
