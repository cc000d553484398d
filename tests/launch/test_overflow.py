"""A run that goes to a second cluster when the queue of the first has no room: the printed script, with a stand-in for
kubectl that knows what Kueue does; Kueue itself judges it in test_control_plane.py.
"""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import launch_cases as cases
import pytest

from sizewell.launch import overflow
from sizewell.sizing.errors import ConfigError

KUBECTL = """#!{python}
import datetime, json, os, signal, sys
from pathlib import Path

at, words = Path(os.environ["STATE"]), sys.argv[1:]
state = json.loads(at.read_text())
state["calls"] += 1
where, verb = words[1], words[2]
cluster = state[where]
said = code = None
if verb == "apply":
    sys.stdin.read()
    if where == "second":
        first = state["first"]
        assert first["job"] is None or (first["active"] is False and first["suspended"] and not first["pods"]), first
    if cluster["job"] is None:
        created = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=state["age"])
        cluster.update(job=created.strftime("%Y-%m-%dT%H:%M:%SZ"), suspended=not cluster["room"], active=True)
        cluster["pods"] = 2 if cluster["room"] else 0
elif verb == "patch":
    assert json.loads(words[-1]) == {{"spec": {{"active": False}}}}, words
    cluster["active"] = False
    if state.pop("raced", False):  # admitted a moment before
        cluster.update(suspended=False, pods=2)
elif words[3].startswith("jobsets") and "jsonpath" in words[-1]:
    said = cluster["job"] and "|".join([cluster["job"], json.dumps(cluster["suspended"]), cluster["ended"]])
    if cluster["active"] is False:  # Kueue takes it down, which is seen next
        cluster["suspended"] = True
elif words[3].startswith("jobsets"):
    said = cluster["job"] and "jobset/pretrain"
elif words[3].startswith("workloads"):
    said = cluster["job"] and "jobset-pretrain-1|" + json.dumps(cluster["active"])
elif words[3] == "pods":
    said = "\\n".join(["pod/a"] * cluster["pods"])
    if cluster["suspended"]:  # they end one after the other
        cluster["pods"] = max(0, cluster["pods"] - 1)
else:
    code = 1
at.write_text(json.dumps(state))
if state["calls"] == state["dies"]:
    os.killpg(os.getpgrp(), signal.SIGKILL)
print(said or "", end="")
sys.exit(code or (1 if where in state["down"] else 0))
"""
EMPTY = {"job": None, "suspended": False, "active": None, "pods": 0, "ended": "", "room": True}


def both(**changes):
    first, second = cases.coreweave(), cases.eks_training()
    second = dataclasses.replace(second, target=dataclasses.replace(second.target, store="s3://b/p"))
    return first, dataclasses.replace(second, **changes)


class Clusters:
    """Two clusters, as far as the script asks them."""

    def __init__(self, folder: Path, *, room=False, age=7200, raced=False, down=()):
        self.at = folder / "state"
        (folder / "kubectl").write_text(KUBECTL.format(python=sys.executable))
        (folder / "kubectl").chmod(0o755)
        (folder / "script").write_text(overflow.script(*both(), after_s=3600))
        state = {"calls": 0, "dies": -1, "down": list(down), "age": age, "first": {**EMPTY, "room": room}}
        self.at.write_text(json.dumps({**state, "second": EMPTY, **({"raced": True} if raced else {})}))
        self.folder = folder

    @property
    def state(self):
        return json.loads(self.at.read_text())

    def change(self, **changes):
        self.at.write_text(json.dumps({**self.state, **changes}))

    def run(self, seconds=300):
        env = {**os.environ, "STATE": str(self.at), "PAUSE": "0.01"}
        env["PATH"] = f"{self.folder}:{env['PATH']}"
        with (self.folder / "script").open() as script:  # as through a pipe
            process = subprocess.Popen(
                ["bash", "-s", "--", "first", "second"],
                stdin=script,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            try:
                said = process.communicate(timeout=seconds)[0]
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, said


def test_it_runs_on_the_first_where_that_has_room(tmp_path):
    clusters = Clusters(tmp_path, room=True)
    assert clusters.run() == (0, "pretrain runs on first\n")
    assert clusters.state["second"]["job"] is None


def test_it_waits_its_time_before_it_moves(tmp_path):
    clusters = Clusters(tmp_path, age=60)
    with pytest.raises(subprocess.TimeoutExpired):
        clusters.run(2)
    assert clusters.state["first"]["active"] is True
    assert clusters.state["second"]["job"] is None


@pytest.mark.parametrize("raced", [False, True], ids=["it waits", "it was admitted a moment before"])
def test_it_moves_when_there_is_no_room_and_a_second_start_changes_nothing(tmp_path, raced):
    clusters = Clusters(tmp_path, raced=raced)
    assert clusters.run() == (0, "pretrain is submitted to second\n")
    assert clusters.state["first"]["active"] is False
    before = clusters.state["second"]
    assert clusters.run() == (0, "pretrain is on second\n")
    assert clusters.state["second"] == before


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.soak)])
def test_killed_at_any_call_it_goes_on_and_is_never_in_two_places(tmp_path, step):
    """The stand-in itself refuses a job for the second while the first could run it."""
    calls = 0
    for number in range(1, 40, step):
        folder = tmp_path / str(number)
        folder.mkdir()
        clusters = Clusters(folder, raced=True)
        clusters.change(dies=number)
        first, _ = clusters.run()
        if first != -9:
            break
        calls = number
        assert clusters.run()[0] == 0
        state = clusters.state
        assert (state["first"]["active"], state["first"]["pods"]) == (False, 0)
        assert state["second"]["job"]
    assert calls >= 9


def test_a_job_that_the_second_has_is_not_submitted_again(tmp_path):
    """Also when somebody has removed what was left of it in the first."""
    clusters = Clusters(tmp_path)
    assert clusters.run()[0] == 0
    clusters.change(first={**EMPTY, "room": True})
    assert clusters.run() == (0, "pretrain is on second\n")
    assert clusters.state["first"]["job"] is None
    clusters.change(first={**EMPTY, "job": "2026-11-23T00:00:00Z", "suspended": True, "active": True})
    code, said = clusters.run()
    assert code == 1
    assert "is on first and on second: delete one of the two" in said


@pytest.mark.parametrize(("down", "said"), [("first", "first did not do that"), ("second", "second did not respond")])
def test_a_cluster_that_does_not_respond_changes_nothing(tmp_path, down, said):
    clusters = Clusters(tmp_path, down=[down])
    code, text = clusters.run()
    assert code == 69
    assert said in text
    assert clusters.state["first"]["job"] is clusters.state["second"]["job"] is None


@pytest.mark.parametrize(("ended", "code"), [("Completed", 0), ("Failed", 1)])
def test_what_ended_on_the_first_is_said(tmp_path, ended, code):
    clusters = Clusters(tmp_path)
    job = {"job": "2026-11-23T00:00:00Z", "suspended": False, "active": True, "ended": ended}
    clusters.change(first={**EMPTY, **job})
    assert clusters.run() == (code, f"pretrain ended on first: {ended}\n")
    assert clusters.state["second"]["job"] is None


def test_shellcheck_finds_nothing(tmp_path):
    (tmp_path / "script").write_text(overflow.script(*both(), after_s=3600))
    checker = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run([checker, tmp_path / "script"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_two_runs_that_are_not_one_are_refused():
    first, second = both()
    target, run = first.target, first.run
    elsewhere = dataclasses.replace(second, target=dataclasses.replace(second.target, store="s3://c"))
    unqueued = dataclasses.replace(first, target=dataclasses.replace(target, queue=""))
    suspended = dataclasses.replace(first, run=dataclasses.replace(run, suspend=True))
    for pair, said in (
        ((first, elsewhere), "saves to s3://c/main, and prod-azure to s3://b/p/main"),
        ((unqueued, second), "has no queue, which would say whether there is room"),
        ((suspended, second), "keeps the run from its queue"),
        ((first, cases.serve_hours()), "only training and fine-tuning as a JobSet move"),
        ((first, cases.ray()), "only training and fine-tuning as a JobSet move"),
    ):
        with pytest.raises(ConfigError, match=said):
            overflow.script(*pair, after_s=1)
