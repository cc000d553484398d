"""The first boot and the script of a Slurm cluster, judged by Slurm's own daemons on machines that are namespaces.

Each machine has its own network, host name, processes, /etc/slurm, /etc/munge, /var/spool, /tmp and /dev; they share a
folder that stands for the checkpoint store. What is reduced: cgroups (this host's are its own), systemd, pauses, and
two device files in place of GPUs. It takes root, Linux, and Debian's slurmctld, slurmd and munge.
"""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import launch_cases as cases
import pytest

from sizewell.launch import slurm, slurm_boot

NEEDED = ("slurmd", "slurmctld", "munged", "sbatch", "ip", "unshare")
ABSENT = [name for name in NEEDED if shutil.which(name) is None]
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="Slurm's daemons need root on Linux"),
    pytest.mark.skipif(bool(ABSENT), reason=f"Slurm's own daemons judge nothing: {', '.join(ABSENT)} are absent"),
]
BRIDGE = f"szb{os.getpid()}"  # a name of an interface has 15 characters
GRACE_S = 20
RECORD = Path(__file__).parent / "control_plane/slurm.json"
AWS = """#!/bin/bash
verb=$2; shift 2
while [ $# -gt 0 ]; do case "$1" in
  --key) key=$2; shift 2 ;; --body) body=$2; shift 2 ;; --bucket|--if-none-match) shift 2 ;; *) out=$1; shift ;; esac; done
at="/mnt/store/$key"; mkdir -p "${at%/*}"
if [ "$verb" = put-object ]; then cp "$body" "$at.$IP" && ln "$at.$IP" "$at" 2>/dev/null; code=$?; rm "$at.$IP"; exit $code; fi
[ -e "$at" ] && cp "$at" "$out"
"""
SYSTEMCTL = """#!/bin/bash
[ "$*" = "restart munge" ] || exit 0
pkill -x munged; sleep 0.2
exec setpriv --reuid munge --regid munge --clear-groups munged
"""
MACHINE = """#!/bin/bash
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount --bind "$FOLDER" /mnt
mount -t tmpfs tmpfs /tmp
for path in /etc/munge /etc/slurm /var/spool /var/lib /var/log /run; do mount -t tmpfs tmpfs $path; done
mkdir -p /run/munge /var/lib/munge /var/log/munge; chown munge: /run/munge /etc/munge /var/lib/munge /var/log/munge
mkdir /tmp/dev; mount -t tmpfs tmpfs /tmp/dev
for path in null zero full random urandom tty; do cp -a /dev/$path /tmp/dev/; done
ln -s /proc/self/fd /tmp/dev/fd; mkdir /tmp/dev/shm /tmp/dev/pts
for ((device = 0; device < DEVICES; device++)); do mknod /tmp/dev/nvidia$device c 1 3; done
mount --move /tmp/dev /dev
hostname "machine-$NUMBER"
ip link set lo up
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip addr add "$IP/24" dev eth0; ip link set eth0 up
export PATH="/mnt/bin:$PATH"
exec bash /mnt/boot.sh
"""


def boot(nodes, devices):
    """The generated program, without what takes a host of its own."""
    machine = dataclasses.replace(cases.eks_spot().machine, devices=devices)
    text = slurm_boot.first_boot(
        machine, group="tune", store="s3://bucket/main", nodes=nodes, region="us-east-1", grace_s=GRACE_S
    )
    program = re.search(r"<<'SLURM'\n(.*?)\nSLURM\n", text, re.DOTALL)[1]
    for line, reduced in (
        ("ProctrackType=proctrack/cgroup", "ProctrackType=proctrack/linuxproc"),
        ("TaskPlugin=task/affinity,task/cgroup", "TaskPlugin=task/none"),
        ("SlurmdTimeout=120", "SlurmdTimeout=10\nAuthInfo=cred_expire=5"),  # a requeued job waits that long
    ):
        assert line in program
        program = program.replace(line, reduced)
    return program


class Machine:
    def __init__(self, folder, number):
        self.number, self.process, self.link = number, None, f"sz{os.getpid()}-{number}"
        self.log = (folder / f"machine-{number}.log").open("w")

    def start(self, folder, devices):
        number = self.number
        env = {**os.environ, "FOLDER": str(folder), "IP": f"10.77.0.{number}", "NUMBER": str(number)}
        env |= {"DEVICES": str(devices), "PAUSE": "1", "PATIENCE": "4"}
        self.process = subprocess.Popen(
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                "-n",
                "-m",
                "-u",
                "-p",
                "-f",
                "--kill-child",
                "bash",
                str(folder / "machine.sh"),
            ],
            env=env,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.inside = until(lambda: children(self.process.pid))[0]
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.inside)
        ip("link", "set", self.link, "master", BRIDGE, "up")

    def run(self, *command, check=True):
        """What a command says on this machine."""
        inside = ["nsenter", "-t", self.inside, "-n", "-m", "-u", "-p", "--wd=/mnt"]
        made = subprocess.run([*inside, *command], check=False, capture_output=True, text=True, timeout=60)
        assert not check or made.returncode == 0, made.stderr + made.stdout
        return made.stdout

    def gone(self):
        if self.process is not None:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        subprocess.run(["ip", "link", "del", self.link], check=False, capture_output=True)  # else it lingers
        self.log.close()


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def until(holds, seconds=90, why=lambda: ""):
    end = time.monotonic() + seconds
    while not (answer := holds()):
        assert time.monotonic() < end, why()
        time.sleep(0.2)
    return answer


class Cluster:
    """Machines that found their controller; jobs are sent from the first of them."""

    def __init__(self, folder, nodes=2, devices=2):
        self.folder, self.devices, self.machines = folder, devices, []
        for name in ("store", "bin", "out"):
            (folder / name).mkdir()
        (folder / "out").chmod(0o777)
        for name, text in (("bin/aws", AWS), ("bin/systemctl", SYSTEMCTL), ("machine.sh", MACHINE)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "boot.sh").write_text(boot(nodes, devices))

    def start(self, number, devices=None):
        machine = Machine(self.folder, number)
        self.machines.append(machine)  # so that it ends with the test, whatever happens from here on
        machine.start(self.folder, self.devices if devices is None else devices)
        return machine

    def logs(self):
        return "\n".join(path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log")))

    def nodes(self, state="idle"):
        def there():
            said = self.machines[0].run("sinfo", "-hN", "-p", "main", "-t", state, "-o", "%N %T %f", check=False)
            return [line.split()[0] for line in said.splitlines()]

        return there

    def ready(self, count, state="idle"):
        return until(lambda: len(self.nodes(state)()) == count and self.nodes(state)(), why=self.logs)

    def submit(self, of, **changes):
        (self.folder / "job.sh").write_text(slurm.script(of))
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in changes.items()]
        said = self.machines[0].run(
            "env", "SIZEWELL_CONTAINER=none", "sbatch", "--parsable", "--chdir=/mnt/out", *flags, "/mnt/job.sh"
        )
        return said.strip()

    def show(self, job, key):
        said = self.machines[0].run("scontrol", "show", "job", "-o", job, check=False)
        match = re.search(rf"\b{key}=(\S+)", said)
        return match[1] if match else ""

    def ended(self, job, seconds=90):
        ends = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED")
        return until(lambda: self.show(job, "JobState") in ends and self.show(job, "JobState"), seconds, self.logs)

    def out(self, job):
        path = next((self.folder / "out").glob(f"*-{job}.log"), None)
        return path.read_text() if path else ""

    def gone(self):
        for machine in self.machines:
            machine.gone()


@pytest.fixture(scope="module")
def judged():
    """What Slurm's daemons did, which SIZEWELL_REFRESH writes down for docs/reference/judged.md."""
    rows = []
    yield rows
    if os.environ.get("SIZEWELL_REFRESH") and rows:
        said = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, check=True).stdout
        before = json.loads(RECORD.read_text())["rows"] if RECORD.exists() else []
        mine = {row["case"] for row in rows}
        rows = sorted([*(row for row in before if row["case"] not in mine), *rows], key=lambda row: row["case"])
        RECORD.write_text(json.dumps({"slurm": said.split()[-1], "rows": rows}, indent=1) + "\n")


@pytest.fixture
def cluster(tmp_path):
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "up")
    made = Cluster(tmp_path)
    try:
        yield made
    finally:
        made.gone()
        ip("link", "del", BRIDGE)


# It counts its starts and steps in a file that stands for the checkpoint, and saves when it is told to end.
COUNTS = """
echo "start $SLURM_NODEID of $SIZEWELL_NODES by $SLURM_RESTART_COUNT"
step=$(cat /mnt/out/step 2>/dev/null || echo 0)
trap 'echo "$step" > /mnt/out/step; echo "saved $step"; exit 75' TERM
while [ "$step" -lt LAST ]; do sleep 0.5; step=$((step + 1)); done
echo "done $step"
"""


def job(nodes=1, devices=2, last=10_000, body=COUNTS, **changes):
    of = cases.eks_training() if nodes > 1 else cases.eks_spot()
    run = cases.run(command=("bash", "-c", body.replace("LAST", str(last))), **changes)
    task = of.task.model_copy(update={"deadline_s": 3600.0})
    machine = dataclasses.replace(of.machine, devices=devices)
    return dataclasses.replace(cases.planned(of, nodes=nodes, nodes_max=nodes, task=task), run=run, machine=machine)


def test_machines_register_as_measured_with_the_devices_that_are_there(cluster, judged):
    first, second = cluster.start(2), cluster.start(3)
    names = cluster.ready(2)
    assert sorted(names) == ["tune-1", "tune-2"]
    said = first.run("scontrol", "show", "node", "-o", "tune-1")
    measured = dict(pair.split("=") for pair in second.run("slurmd", "-C").split() if pair.count("=") == 1)
    for shown, key in (("CPUTot", "CPUs"), ("Sockets", "SocketsPerBoard"), ("CoresPerSocket", "CoresPerSocket")):
        assert re.search(rf"\b{shown}={measured[key]}\b", said)
    assert "Gres=gpu:2" in said
    judged.append(
        {"case": "machines register", "seen": "as `slurmd -C` measures them, with the devices that are there"}
    )


def test_a_job_runs_on_both_is_tidied_and_a_cancelled_one_stays_cancelled(cluster, judged):
    cluster.start(2), cluster.start(3)
    cluster.ready(2)
    short = cluster.submit(job(nodes=2, last=1))
    assert cluster.ended(short) == "COMPLETED", cluster.out(short)
    assert {"start 0 of 2 by", "start 1 of 2 by"} <= {line.rstrip() for line in cluster.out(short).splitlines()}
    long = cluster.submit(job(nodes=2))
    until(lambda: cluster.out(long).count("start ") == 2, why=cluster.logs)
    cluster.machines[0].run("scancel", long)
    assert cluster.ended(long) == "CANCELLED"
    cluster.ready(2)
    assert "saved" in cluster.out(long)
    assert "back into the queue" not in cluster.out(long)
    assert cluster.show(long, "JobState") == "CANCELLED"
    for machine in cluster.machines:
        assert "sizewell-" not in machine.run("ls", "/tmp")  # noqa: S108  (of the machine's own)
    judged.append({"case": "a job of two machines", "seen": "runs on both, and leaves no unpacked file"})
    judged.append({"case": "a cancelled job", "seen": "saves, and stays cancelled"})


def test_preempted_it_saves_waits_and_resumes(cluster, judged):
    cluster.start(2), cluster.start(3)
    cluster.ready(2)
    low = cluster.submit(job(nodes=2, last=12, priority="sizewell-low"))
    until(lambda: cluster.out(low).count("start ") == 2, why=cluster.logs)
    time.sleep(2)
    high = cluster.submit(job(nodes=2, body="echo first; sleep 2", priority="sizewell-high"))
    assert cluster.ended(high) == "COMPLETED", cluster.out(high)
    assert cluster.show(low, "JobState") in ("PENDING", "RUNNING", "COMPLETED"), cluster.out(low)
    assert cluster.ended(low, 240) == "COMPLETED", cluster.out(low)
    assert "saved" in cluster.out(low)
    assert "done 12" in cluster.out(low)
    assert re.search(r"start 0 of 2 by 1", cluster.out(low)), cluster.out(low)
    judged.append({"case": "a preempted job", "seen": "saves, waits, resumes and ends"})


def test_the_time_limit_ends_it_and_a_failure_is_tried_again(cluster, judged):
    cluster.start(2)
    cluster.ready(1)
    timed = cluster.submit(job(), time="0-00:01:00")  # sooner than the signal before it: told at once
    assert cluster.ended(timed, 200) == "FAILED", cluster.out(timed)
    assert "the time limit is reached" in cluster.out(timed)
    assert "saved" in cluster.out(timed)
    assert cluster.show(timed, "Restarts") == "0"
    failing = cluster.submit(job(body="echo try; exit 3", restarts=1))
    assert cluster.ended(failing, 240) == "FAILED", cluster.out(failing)
    assert cluster.out(failing).count("try\n") == 2
    wrong = cluster.submit(job(body="echo try; exit 64", restarts=5))
    assert cluster.ended(wrong) == "FAILED"
    assert cluster.out(wrong).count("try\n") == 1
    judged.append({"case": "a job at its deadline", "seen": "saves, ends, and is not started again"})
    judged.append(
        {"case": "a job that fails", "seen": "is tried again so often as its run says, after wrong input never"}
    )


def test_a_lost_machine_is_replaced_and_its_job_resumes(cluster, judged):
    controller = cluster.start(2)
    cluster.ready(1)
    cluster.start(3)
    cluster.ready(2)
    long = cluster.submit(job(nodes=2, last=20))
    until(lambda: cluster.out(long).count("start ") == 2, why=cluster.logs)
    cluster.machines.pop().gone()
    cluster.start(4)
    assert cluster.ended(long, 240) == "COMPLETED", cluster.out(long) + cluster.logs()
    assert re.search(r"start 0 of 2 by [1-9]", cluster.out(long)), cluster.out(long)
    assert sorted(cluster.ready(2)) == ["tune-1", "tune-2"]
    assert controller is cluster.machines[0]
    judged.append({"case": "a lost machine", "seen": "is replaced under its name, and its job resumes"})


def test_a_machine_that_lost_a_device_gets_no_job(cluster, judged):
    cluster.start(2), cluster.start(3, devices=1)
    assert len(cluster.ready(1)) == 1
    said = until(lambda: cluster.machines[0].run("sinfo", "-R", "-h", "-o", "%E"), why=cluster.logs)
    assert "gres/gpu count reported lower than configured (1 < 2)" in said
    judged.append({"case": "a machine that lost a device", "seen": "registers as invalid and gets no job"})
