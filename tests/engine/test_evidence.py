"""`sizewell evidence` on the real engine: built, killed at random points, taken down; nothing stands, no lock is held."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import harness
import pytest
from evidence_run import account
from test_interrupted import standing

from sizewell.evidence.run import record_of
from sizewell.sizing.records.decision import Decision

SMALL = ("ttl-dev-gcp",)
WHOLE = ("ttl-dev-azure", "dev-azure")
# Google deletes neither; they bill nothing.
FOR_EVER = ("gcp:projects/serviceIdentity:ServiceIdentity", "gcp:kms/keyRing:KeyRing")


def command(engine, what, stacks):
    script = harness.HERE / "evidence_run.py"
    return [sys.executable, script, engine.project, engine.clouds, what, *stacks]


def left(engine):
    return [one["urn"] for one in standing(engine).values() if one["type"] not in FOR_EVER]


def ends_with_nothing(engine, stacks):
    done = subprocess.run(
        command(engine, "down", stacks),
        env=engine.environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert left(engine) == []
    held = list((engine.project.parent / "backend/.pulumi/locks").rglob("*.json"))
    assert held == []
    with pytest.MonkeyPatch.context() as patched:
        for key, value in engine.environment.items():
            patched.setenv(key, value)
        run = account(engine.project, engine.clouds, list(stacks), resumed=True)
    record = record_of(run, {})
    assert record.limits.kept
    assert record.stage("inventory").outcome == "passed" or not run.journal.built
    return record


def inited(engine, stacks):
    for stack in stacks:
        engine.run("stack", "init", stack)


@pytest.mark.parametrize("stacks", [SMALL, pytest.param(WHOLE, marks=pytest.mark.soak)], ids="+".join)
def test_from_up_to_the_inventory(engine, stacks):
    inited(engine, stacks)
    done = subprocess.run(
        command(engine, "go", stacks), env=engine.environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record = ends_with_nothing(engine, stacks)
    assert record.stage("up").outcome == "passed", done.stdout
    assert record.stage("up").figures["resources"] > 3
    assert record.stage("reachable").figures["resources_listed"] > 0
    assert record.failed == ()


@pytest.mark.parametrize("then", ["fail", "lose"])
def test_a_creation_that_fails_or_whose_answer_is_lost(engine, then):
    inited(engine, SMALL)
    engine.order({"call": "create", "then": then, "after": 3, "message": "InsufficientInstanceCapacity"})
    done = subprocess.run(
        command(engine, "go", SMALL), env=engine.environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert left(engine) == [], done.stdout
    record = ends_with_nothing(engine, SMALL)
    assert record.stage("up").outcome == "failed"
    assert record.stage("up").cause == ("capacity" if then == "fail" else "engine")


def killed(engine, stacks, what, seconds):
    """Kill a process of it, and only that: its engine runs on."""
    process = subprocess.Popen(
        command(engine, what, stacks), env=engine.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 23))])
def test_killed_at_random_points(engine, seed):
    chance = random.Random(seed)  # noqa: S311
    inited(engine, SMALL)
    for number in range(1 + seed % 3):
        killed(engine, SMALL, "go" if not number else chance.choice(["go", "down"]), chance.uniform(0, 9))
    ends_with_nothing(engine, SMALL)


def test_an_engine_that_hangs_is_interrupted(engine):
    inited(engine, SMALL)
    engine.order({"call": "create", "then": "hang", "after": 2})
    killed(engine, SMALL, "go", 12)
    ends_with_nothing(engine, SMALL)
    notes = json.loads((engine.project / ".sizewell/evidence" / f"{SMALL[-1]}.json").read_text())
    assert notes["engine"] == {}


def line(engine, *words):
    return [sys.executable, harness.HERE / "evidence_command.py", engine.clouds, *words]


def typed(engine, *words):
    return subprocess.run(
        line(engine, *words), cwd=engine.project, env=engine.environment, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


def ready(engine):
    """A stack that a run takes; the words that do it."""
    decision = engine.project / "stacks/decisions/dev-gcp.json"
    document = json.loads(decision.read_text())
    document["expires_at"] = f"{datetime.now(UTC).date() + timedelta(days=2)}"
    Decision.model_validate(document).write(decision)
    settings = engine.project / "stacks/config/teardown.yaml"
    settings.write_text(settings.read_text().replace("dev: {empty_days: 14}", "dev: {empty_days: 14, expiry: firm}"))
    return ("run", "dev-gcp", "--stage", "up", "--stage", "reachable", "--max-usd", "100", "--yes")


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_told_to_end_while_it_builds(engine, sign, code):
    """Its engine ends in order and builds no more; `resume` takes down what stands."""
    process = subprocess.Popen(
        line(engine, *ready(engine)), cwd=engine.project, env=engine.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until_s = time.monotonic() + 300
    while len(left(engine)) < 3 and process.poll() is None:
        assert time.monotonic() < until_s
        time.sleep(0.05)
    os.killpg(process.pid, sign)
    _, said = process.communicate(timeout=300)
    assert process.returncode == code, said
    assert "something may stand: sizewell evidence resume dev-gcp" in said
    stood = left(engine)
    assert stood
    assert list((engine.project.parent / "backend/.pulumi/locks").rglob("*.json")) == []  # it has let go of its stack
    time.sleep(3)
    assert left(engine) == stood
    done = typed(engine, "resume", "dev-gcp")
    assert done.returncode == 6, done.stdout + done.stderr
    assert left(engine) == []
    record = json.loads(typed(engine, "write", "dev-gcp").stdout)
    assert {each["stage"]: each["cause"] for each in record["stages"]}["up"] == "interrupted"


def test_as_it_is_typed(engine):
    """A stack of which something stands is refused; then it is built, destroyed and shown."""
    words = ready(engine)
    engine.run("stack", "init", "ttl-dev-gcp")
    engine.up("ttl-dev-gcp")
    refused = typed(engine, *words)
    assert refused.returncode == 64
    assert "ttl-dev-gcp stands: it has" in refused.stderr
    assert left(engine)
    engine.destroy("ttl-dev-gcp")
    done = typed(engine, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert left(engine) == []
    shown = typed(engine, "write", "dev-gcp")
    record = json.loads(shown.stdout)
    outcomes = {each["stage"]: each["outcome"] for each in record["stages"]}
    assert [outcomes[name] for name in ("rights", "up", "reachable", "destroyed", "inventory")] == [
        *("not tried", "passed", "passed", "passed", "passed")
    ]
