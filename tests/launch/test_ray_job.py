"""Ray's own daemons run our entry point: what a job's exit status becomes, which is all that KubeRay goes by.

KubeRay 1.4 repeats a job whose status is FAILED, up to its backoff limit, and neither one that SUCCEEDED nor one that
was STOPPED (ray-operator, controllers/ray/rayjob_controller.go: the retry follows JobDeploymentStatus Failed, which a
stopped job never gets).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from control_plane import build, plane

SCRIPT = Path(__file__).parents[2] / "src/sizewell/launch/scripts/ray_start.py"
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(sys.platform != "linux" or shutil.which("setpriv") is None, reason="Ray's daemons need Linux"),
]


class Cluster:
    """A head without CPUs for work and some workers, as a RayCluster has them, each a process group of its own."""

    def __init__(self, folder):
        self.folder, self.groups = folder, []
        self.ray = build.python_with("ray[default]==2.50.0").with_name("ray")
        self.port, self.dashboard = plane.free_port(), plane.free_port()
        head = ["--head", "--num-cpus=0", f"--port={self.port}", f"--dashboard-port={self.dashboard}"]
        self.start([*head, "--dashboard-host=127.0.0.1", "--dashboard-agent-listen-port=0"])

    def start(self, words):
        line = [self.ray, "start", "--block", "--disable-usage-stats", f"--temp-dir={self.folder}", *words]
        if "--head" not in words:
            line.remove(f"--temp-dir={self.folder}")
        with (self.folder / f"log-{len(self.groups)}").open("wb") as log:
            self.groups.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "KILL", *map(str, line)], stdout=log, stderr=log, start_new_session=True
                )
            )
        return self.groups[-1]

    def worker(self):
        """A machine with a CPU; a second one of this host has ports of its own."""
        return self.start([f"--address=127.0.0.1:{self.port}", "--num-cpus=1", "--dashboard-agent-listen-port=0"])

    def end(self):
        for group in self.groups:
            kill(group)

    def submit(self, name, line):
        words = [sys.executable, str(SCRIPT), "--nodes", "1", "--wait", "60", "--pause", "1"]
        words[0] = str(self.ray.with_name("python"))
        env = {"env_vars": {"SIZEWELL_LINE": json.dumps(line)}}
        self.say("submit", "--no-wait", "--submission-id", name, "--runtime-env-json", json.dumps(env), "--", *words)

    def say(self, *words):
        address = f"http://127.0.0.1:{self.dashboard}"
        line = [str(self.ray), "job", words[0], "--address", address, *words[1:]]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
        return done.stdout + done.stderr

    def status(self, name):
        said = self.say("status", name).upper()
        return next((each for each in ("SUCCEEDED", "STOPPED", "FAILED") if each in said), "")


def kill(group):
    """A process group with all that it started, as a machine that goes takes them along."""
    children = subprocess.run(["ps", "-o", "pid=", "-s", str(group.pid)], capture_output=True, text=True, check=False)
    for pid in [group.pid, *map(int, children.stdout.split())]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    group.wait(20)


@pytest.fixture
def cluster():
    folder = Path(tempfile.mkdtemp(prefix="r"))  # a socket's path has at most 107 bytes, pytest's own folders are long
    started = Cluster(folder)
    try:
        plane.until(lambda: "No jobs" in started.say("list") or "[]" in started.say("list"), "Ray's dashboard", 120)
        yield started
    finally:
        started.end()
        shutil.rmtree(folder, ignore_errors=True)


def test_what_a_line_s_end_becomes(cluster):
    cluster.worker()
    wanted = {"fine": (0, "SUCCEEDED"), "wrong": (64, "STOPPED"), "over": (76, "STOPPED"), "broken": (3, "FAILED")}
    for name, (code, status) in wanted.items():
        cluster.submit(name, ["sh", "-c", f"echo ran; exit {code}"])
        assert plane.until(lambda name=name: cluster.status(name), name, 120) == status, cluster.say("logs", name)


def test_a_line_that_was_told_to_end_starts_again_here(cluster, tmp_path):
    cluster.worker()
    line = f"echo x >> {tmp_path}/starts; [ $(wc -l < {tmp_path}/starts) -ge 3 ] && exit 0; exit 75"
    cluster.submit("again", ["sh", "-c", line])
    assert plane.until(lambda: cluster.status("again"), "again", 120) == "SUCCEEDED", cluster.say("logs", "again")
    assert (tmp_path / "starts").read_text().count("x") == 3


def test_a_lost_machine_is_waited_for(cluster, tmp_path):
    first = cluster.worker()
    line = f"echo x >> {tmp_path}/starts; [ $(wc -l < {tmp_path}/starts) -ge 2 ] && exit 0; sleep 300"
    cluster.submit("lost", ["sh", "-c", line])
    plane.until((tmp_path / "starts").exists, "the first start", 90, lambda: cluster.say("logs", "lost"))
    kill(first)
    cluster.worker()
    assert (
        plane.until(lambda: cluster.status("lost"), "lost", 300, lambda: cluster.say("logs", "lost")) == "SUCCEEDED"
    ), cluster.say("logs", "lost")
