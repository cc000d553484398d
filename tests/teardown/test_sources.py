"""Each fact that keeps something, by its real source: with the fact it is kept, and without its source it is stopped."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act, enginelocks, gather, processes
from sizewell.teardown.backend import LEASE_TAG
from sizewell.teardown.enginelocks import EngineLock, broken_state, locks, update_of
from sizewell.teardown.journal import HeldError, Journal
from sizewell.teardown.planning import must_be_own, to_json
from sizewell.teardown.telemetry import cloudwatch
from tests.teardown import world
from tests.teardown.test_run import IDLE, REGION, backdated, client, described, expired, measured, stack

GROUP = "sizewell-dev-aws-train"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def beside(evening: Any, machine: str, metric: str, level: Any, minutes: int = 55) -> None:
    """Samples of another metric of each accelerator of a machine."""
    data = world.samples(machine, GROUP, evening.now, dict.fromkeys(range(4), level), minutes)
    cloud = client("cloudwatch", REGION)
    cloud.put_metric_data(Namespace="Sizewell", MetricData=[{**each, "MetricName": metric} for each in data])


def power(evening: Any, machine: str) -> None:
    evening.settings = {"idle_power_w": {"g6.12xlarge": 16.0}}
    beside(evening, machine, "nvidia_smi_power_draw", 70.0)


def memory(evening: Any, machine: str) -> None:
    beside(evening, machine, "nvidia_smi_memory_total", 23_034.0)
    beside(evening, machine, "nvidia_smi_memory_used", lambda minute: 18_000.0 if minute < 5 else 400.0)


def seventh(evening: Any, machine: str) -> None:
    measured(machine, GROUP, evening.now, {6: 95.0})


def stray(evening: Any, _: str) -> None:
    measured("i-00000000000000000", GROUP, evening.now, {0: 95.0})


def successor(evening: Any, _: str) -> None:
    """A machine that is gone worked until seventeen minutes ago, before the window and within the grace."""
    measured("i-00000000000000000", GROUP, evening.now, {0: lambda minute: 93.0 if minute >= 17 else None})


def lock(evening: Any, _: str) -> None:
    at = evening.now - timedelta(minutes=4)
    held = EngineLock(project="sizewell", stack="dev-aws", user="ana", host="laptop", pid=42, at=at)
    evening.shelf.locks.append(held)


def woken(evening: Any, _: str) -> None:
    at = evening.now - timedelta(minutes=5)
    evening.journal.write("begin", at, stack="dev-aws", subject="train", owner="", action="wake", why="a person")


def lease(evening: Any, _: str) -> None:
    until = evening.now + timedelta(hours=2)
    evening.journal.write("lease", evening.now, stack="dev-aws", until=until.isoformat(), reason="demo")


def tagged(evening: Any, _: str) -> None:
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: f"{evening.now + timedelta(hours=2):%Y-%m-%dT%H:%MZ} demo"}


FACTS = {  # fact -> verdict and clause, and what takes its source away
    "power": (power, ("unknown", "powered"), (cloudwatch, "POWER", {})),
    "memory": (memory, ("keep", "memory_fills"), (cloudwatch, "MEMORY", {})),
    "an accelerator beyond the registered": (seventh, ("keep", "unregistered"), None),
    "a machine outside of the group": (stray, ("keep", "unregistered"), None),
    "a machine that left": (successor, ("warn", "told"), None),
    "the engine's lock": (lock, ("keep", "updating"), (world.ShelfBackend, "locks", lambda _: ())),
    "a wake": (woken, ("keep", "woken"), (Journal, "wakes_s", lambda *_: ())),
    "a lease in the journal": (lease, ("keep", "leased"), (Journal, "leases", lambda *_: ())),
    "a lease in a tag": (tagged, ("keep", "leased"), (gather, "lease_of", lambda *_: None)),
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_keeps_a_pool_by_its_source_alone(evening, monkeypatch, fact):
    make, verdict, source = FACTS[fact]
    (machine,) = stack(evening)
    evening.told()
    assert evening.pool().action == "empty"
    make(evening, machine)
    row = evening.pool()
    assert (row.action, row.clause) == verdict, row.why
    if source is not None:
        monkeypatch.setattr(*source)
        assert evening.pool().action == "empty"


def test_what_nothing_is_read_of_is_said(evening):
    (machine,) = stack(evening)
    row = evening.pool()
    assert row.unwatched == ("power", "processes", "memory", "SM activity", "requests", "jobs")
    power(evening, machine)
    assert "power" not in evening.pool().unwatched


def test_a_stack_that_another_one_refers_to_is_kept(evening):
    expired(evening)
    apps = world.resource("apps", "kubernetes:core/v1:Namespace", "apps", "apps")
    reference = world.resource("apps", "pulumi:pulumi:StackReference", "base", "organization/sizewell/dev-aws")
    evening.shelf.put("apps", apps, {**reference, "inputs": {"name": "organization/sizewell/dev-aws"}})
    row = next(each.row for each in evening.plan().stacks if each.stack == "dev-aws")
    assert (row.action, row.clause) == ("warn", "depended_on")
    assert row.why.endswith("other stacks refer to it: apps")
    evening.shelf.put("apps", {**reference, "inputs": {"name": "organization/sizewell/dev-aws"}})
    assert next(each.row for each in evening.plan().stacks if each.stack == "dev-aws").action == "destroy"


# Notices and times of idleness ----------------------------------------------------------------------------------------


def test_a_notice_counts_for_as_long_as_runs_saw_no_use(evening, monkeypatch):
    """Older than samples are asked for: what earlier runs kept says that the pool was idle all the while."""
    backdated(monkeypatch, evening.now - timedelta(hours=70))
    stack(evening)
    evening.told(minutes=40 * 60)
    assert evening.pool().action == "warn"
    idle = [
        {
            "stack": "dev-aws",
            "pool": "train",
            "since": (evening.now - timedelta(hours=60)).isoformat(),
            "until": (evening.now - timedelta(minutes=15)).isoformat(),
        }
    ]
    document = {"schema": "sizewell.pool-usage/1", "pools": [], "empty": [], "idle": idle}
    at = evening.now - timedelta(minutes=15)
    evening.journal.keep(f"usage/{at:%Y%m%dT%H%M%SZ}.json", json.dumps(document).encode())
    assert evening.pool().action == "empty"
    monkeypatch.setattr(gather, "idle_episodes", lambda _: {})
    assert evening.pool().action == "warn"


def test_a_run_keeps_since_when_a_pool_has_been_idle_and_names_it_in_its_notice(evening):
    stack(evening)
    assert evening.outcomes() == [("dev-aws", "notice", "told")]
    (kept,) = (evening.folder / "journal" / "kept" / "usage").glob("*.json")
    (idle,) = json.loads(kept.read_text())["idle"]
    (notice,) = evening.journal.records
    assert notice["episode"] == idle["id"] == f"idle since {datetime.fromisoformat(idle['since']):%Y-%m-%dT%H:%M:%SZ}"


def test_without_a_receiver_nothing_follows_and_that_is_said(evening):
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {}
    (result,) = evening.run()
    assert (result.action, result.outcome) == ("notice", "unheard")
    assert "sizewell:notify names no receiver, so nothing follows" in result.detail
    assert evening.run() == []  # once a day
    assert "nobody was notified" in evening.pool().why
    assert [(record["kind"], record["heard"]) for record in evening.journal.records] == [
        ("notice", []),
        ("message", []),  # of what is held back, to nobody either
    ]


def test_a_journal_without_records_is_said_until_it_has_one(evening):
    stack(evening)
    (said,) = evening.plan().remarks
    assert said.endswith("the journal has no records: leases, pauses and notices of an earlier one do not count")
    evening.told()
    assert evening.plan().remarks == ()


def test_a_stack_without_receivers_has_the_command_that_names_one(evening):
    stack(evening)
    evening.shelf.configurations["dev-aws"] = {}
    command = "`pulumi config set --path 'sizewell:notify.emails[0]' ADDRESS --stack dev-aws`"
    (result,) = evening.run()
    assert command in result.detail
    assert command in evening.pool().advice


def test_the_word_that_a_pool_stays_as_nobody_can_tell_ends_its_notice(evening):
    stack(evening)
    evening.told(minutes=30)
    assert evening.pool().action == "empty"
    row = replace(evening.pool(), action="unknown", clause="unseen", why="an accelerator was seen for 88 %", about="")
    plan = evening.plan()
    told = replace(plan, stacks=(replace(plan.stacks[0], pools=(row,)),))
    texts: list[str] = []
    evening.runner(statuses=evening.statuses, send=lambda url, body: texts.append(body["text"])).run(told)
    assert "nobody can tell, so it is kept" in texts[0]
    evening.now += timedelta(minutes=1)
    again = evening.pool()
    assert (again.action, again.tell) == ("warn", True)


def test_a_second_idleness_within_a_day_is_told_anew(evening):
    stack(evening, values={**IDLE, 1: lambda minute: 80 if 30 <= minute <= 35 else 0})
    evening.told(minutes=50)
    assert evening.outcomes() == [("dev-aws", "notice", "told")]


# Plans and turns ------------------------------------------------------------------------------------------------------


def test_a_plan_of_an_older_state_is_not_acted_on(evening):
    stack(evening)
    evening.told()
    document = json.loads(json.dumps(to_json(evening.plan())))
    chosen = must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    evening.shelf.put("dev-aws", *evening.shelf.states["dev-aws"][1:])  # somebody updates it
    (result,) = evening.run(chosen, yes=False)
    assert (result.outcome, "written after the plan" in result.detail) == ("held back", True)
    (result,) = evening.run(chosen)
    assert (result.outcome, result.detail) == ("held back", "its state was written after the plan was made: plan again")
    assert described(GROUP)["DesiredCapacity"] == 1
    assert [result.outcome for result in evening.run()] == ["done"]


def test_an_act_of_a_plan_that_is_due_no_more_is_held_back(evening):
    stack(evening)
    evening.told()
    document = json.loads(json.dumps(to_json(evening.plan())))
    chosen = must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    lock = EngineLock(project="sizewell", stack="dev-aws", user="ana", host="ci", pid=7, at=evening.now)
    evening.shelf.locks.append(lock)
    (result,) = [each for each in evening.run(chosen) if each.action == "empty"]
    assert (result.outcome, result.detail.partition(":")[0]) == ("held back", "by now it is keep")
    (record,) = [each for each in evening.journal.records if each["kind"] == "held"]  # `report` has it
    assert (record["detail"], record["asked"]) == (result.detail, True)


def test_a_state_that_was_changed_without_a_new_time_is_not_acted_on(evening):
    """`pulumi state protect` and an import leave the time of a state as it was."""
    stack(evening)
    evening.told()
    document = json.loads(json.dumps(to_json(evening.plan())))
    chosen = must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    evening.shelf.states["dev-aws"][-1]["protect"] = True
    (result,) = evening.run(chosen)
    assert (result.outcome, result.detail) == ("held back", "its state was written after the plan was made: plan again")


def test_a_state_in_which_an_output_was_changed_by_an_import_is_not_acted_on(evening):
    stack(evening)
    evening.told()
    document = json.loads(json.dumps(to_json(evening.plan())))
    chosen = must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    evening.shelf.states["dev-aws"][-1]["outputs"]["desiredCapacity"] = 2
    (result,) = evening.run(chosen)
    assert (result.outcome, result.detail) == ("held back", "its state was written after the plan was made: plan again")


def test_a_named_stack_that_something_holds_is_in_the_report_and_its_owner_hears_nothing(evening):
    stack(evening)
    evening.told()
    lease(evening, "dev-aws")
    texts: list[str] = []
    results = evening.run(only=("dev-aws",), send=lambda url, body: texts.append(body["text"]))
    assert ("train", "held back") in [(each.pool, each.outcome) for each in results]
    held = [each for each in evening.journal.records if each["kind"] == "held"]
    assert [(each["detail"], each["asked"]) for each in held] == [(each.detail, True) for each in results]
    assert texts == []


def test_a_given_plan_notifies_no_owner_of_another_stack(evening):
    for name in ("dev-aws", "dev-b"):
        stack(evening, name)
    evening.told()
    document = json.loads(json.dumps(to_json(evening.plan())))
    chosen = must_be_own(document, project="sizewell", at=evening.now, hours_max=4)
    assert [(each.stack, each.action, each.outcome) for each in evening.run(chosen)] == [("dev-aws", "empty", "done")]
    assert ("dev-b", "notice", "told") in evening.outcomes()  # a run without one does


def test_the_grace_of_a_notice_runs_from_when_it_is_sent(evening):
    stack(evening)
    look = evening.now
    (result,) = evening.run(now=lambda: look + timedelta(minutes=10))
    due = look + timedelta(minutes=10, seconds=world.GUARD["grace_s"])
    assert f"is emptied from {due:%Y-%m-%d %H:%M} UTC" in result.detail


def test_another_run_that_does_it_is_no_news_for_the_owner(evening):
    stack(evening)
    evening.told()
    evening.journal.lock("dev-aws", evening.now)
    assert evening.outcomes() == [("dev-aws", "empty", "held back")]
    assert [record["kind"] for record in evening.journal.records] == ["notice"]


def test_a_message_for_which_nobody_is_named_is_printed(evening):
    stack(evening, values={0: 0.0})  # of three accelerators nothing is known
    evening.shelf.configurations["dev-aws"] = {}
    (result,) = evening.run()
    assert (result.action, result.outcome) == ("message", "unheard")
    assert "names a receiver; nobody heard: " in result.detail
    assert evening.run() == []  # once a day


def test_a_destroy_goes_on_from_where_it_failed(evening, monkeypatch):
    """The group went before it failed: what is not there has no machines, as nobody but the destroy took it."""
    expired(evening)

    def fails(*_: Any, **__: Any) -> None:
        client("autoscaling", REGION).delete_auto_scaling_group(AutoScalingGroupName=GROUP, ForceDelete=True)
        raise ServiceError("kms: AccessDenied\n  fix: grant kms:ScheduleKeyDeletion")

    with monkeypatch.context() as patched:
        patched.setattr(act, "destroy", fails)
        assert evening.outcomes() == [("dev-aws", "destroy", "failed")]
    evening.now += timedelta(hours=1)
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]


def test_a_group_that_is_missing_without_a_destroy_is_unknown(evening):
    expired(evening)
    client("autoscaling", REGION).delete_auto_scaling_group(AutoScalingGroupName=GROUP, ForceDelete=True)
    assert evening.pool().action == "unknown"
    assert ("dev-aws", "destroy", "done") not in evening.outcomes()


def test_what_fails_does_not_starve_the_others(evening, monkeypatch):
    """The dearest is tried first, fails, uses nothing of the number, and goes last in the next run."""
    evening.settings = {"at_most_stacks": 1, "at_most_percent": 100}
    expired(evening, name="dev-dear", size=2)
    expired(evening, name="dev-b")
    real = world.ShelfBackend.destroy

    def destroy(self: Any, name: str, **more: Any) -> str:
        if name == "dev-dear":
            self.shelf.locked = "dev-dear: another update holds the engine's lock"
        try:
            return real(self, name, **more)
        finally:
            self.shelf.locked = ""

    monkeypatch.setattr(world.ShelfBackend, "destroy", destroy)
    first = [(result.stack, result.outcome) for result in evening.run() if result.action == "destroy"]
    assert first == [("dev-dear", "failed"), ("dev-b", "held back")]
    second = [(result.stack, result.outcome) for result in evening.run() if result.action == "destroy"]
    assert second[0] == ("dev-b", "done")


# Locks of the engine --------------------------------------------------------------------------------------------------


def put_lock(folder: Path, name: str = "dev-aws", **more: Any) -> None:
    place = folder / ".pulumi" / "locks" / "organization" / "sizewell" / name
    place.mkdir(parents=True, exist_ok=True)
    held = {"pid": 7, "username": "ana", "hostname": "laptop", "timestamp": "2026-11-20T11:00:00.123456789Z", **more}
    (place / f"{len(list(place.iterdir()))}.json").write_text(json.dumps(held))


def test_locks_are_read_where_the_backend_is_a_store(tmp_path):
    assert locks(f"file://{tmp_path}") == ()
    put_lock(tmp_path)
    (held,) = locks(f"file://{tmp_path}")
    assert (held.project, held.stack, held.by) == ("sizewell", "dev-aws", "ana@laptop, process 7")
    assert f"{held.at:%H:%M %Z}" == "11:00 UTC"
    assert locks("https://api.pulumi.com") == ()


@pytest.mark.parametrize("text", ["", '{"pid": 7, "user', "[]", '{"pid": 7}'])
def test_a_lock_that_cannot_be_read_holds_its_own_stack_alone(tmp_path, text):
    """An engine that was killed while it wrote it; it is nobody's that is known to be over."""
    put_lock(tmp_path)
    (place,) = (tmp_path / ".pulumi/locks").glob("**/dev-aws")
    broken = place.with_name("dev-b") / "1.json"
    broken.parent.mkdir()
    broken.write_text(text)
    held = {lock.stack: lock for lock in locks(f"file://{tmp_path}")}
    assert sorted(held) == ["dev-aws", "dev-b"]
    assert held["dev-b"].by == "its lock cannot be read"
    update = update_of([held["dev-b"]], [begin(process=dead()[1])], datetime.now(UTC) + timedelta(days=1))
    assert update is not None
    assert update.over == ""


def test_a_state_that_was_cut_off_is_named(tmp_path):
    """The engine lists nothing beside it, and does not say which it is."""
    folder = tmp_path / ".pulumi/stacks/fleet"
    folder.mkdir(parents=True)
    for name in ("a.json", "a.json.attrs", "b.json", "b.json.bak"):
        (folder / name).write_text("{}")
    assert broken_state(f"file://{tmp_path}") == ""
    (folder / "b.json.bak").write_text("")  # of a write that was killed: the engine does not read it
    assert broken_state(f"file://{tmp_path}") == ""
    (folder / "a.json.attrs").write_text("")
    assert broken_state(f"file://{tmp_path}") == f"file://{folder}/a.json.attrs"
    assert broken_state("https://api.pulumi.com") == ""


def begin(**more: Any) -> dict[str, Any]:
    at = (NOW - timedelta(minutes=30)).isoformat()
    return {"kind": "begin", "action": "destroy", "stack": "dev-aws", "at": at, "host": socket.gethostname(), **more}


def engine_lock(pid: int, *, host: str = "", minutes: float = 29) -> EngineLock:
    at = NOW - timedelta(minutes=minutes)
    return EngineLock(
        project="sizewell", stack="dev-aws", user="ana", host=host or socket.gethostname(), pid=pid, at=at
    )


def dead() -> tuple[int, dict[str, str]]:
    """A process that is over, as it described itself."""
    code = "import json; from sizewell.teardown import processes; print(json.dumps(processes.this()))"
    said = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    return int(said["pid"]), said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says which process a number was")
def test_a_lock_is_over_where_the_teardown_and_its_engine_are_gone():
    pid, process = dead()
    assert processes.gone(process)
    assert not processes.gone(processes.this())
    assert not processes.gone({**process, "boot": "another"})  # another machine: nobody knows
    assert "its engine is gone" in enginelocks.over(engine_lock(pid), [begin(process=process)], NOW)
    alive = processes.this()
    assert enginelocks.over(engine_lock(int(alive["pid"])), [begin(process=process)], NOW) == ""  # the engine runs on
    assert enginelocks.over(engine_lock(pid), [begin(process=alive)], NOW) == ""  # the teardown works
    assert enginelocks.over(engine_lock(pid), [], NOW) == ""  # somebody else's, which a person cancels
    assert enginelocks.over(engine_lock(pid, host="laptop"), [begin(process=process)], NOW) == ""
    assert enginelocks.over(engine_lock(pid, minutes=90), [begin(process=process)], NOW) == ""  # it was there before


def test_a_lock_of_a_teardown_elsewhere_is_over_when_its_time_is():
    later = NOW + timedelta(hours=3)
    elsewhere = begin(host="pod-1", process={"boot": "b", "namespace": "n", "pid": "1", "started": "1"})
    held = engine_lock(7, host="pod-1")
    assert enginelocks.over(held, [elsewhere], NOW) == ""
    assert "ends its engine after 3 hours" in enginelocks.over(held, [elsewhere], later)


def test_of_two_locks_the_one_that_may_be_alive_counts():
    update = update_of([engine_lock(1, minutes=300), engine_lock(2, minutes=5)], [begin(process=dead()[1])], NOW)
    assert update is not None
    assert update.over == ""


def test_an_engine_that_a_killed_teardown_left_running_is_its_own():
    """It holds the stack until it is gone, and its work is not somebody's use of the stack."""

    def own(lock: EngineLock, *records: dict[str, Any]) -> bool:
        update = update_of([lock], records, NOW)
        assert update is not None
        return update.own

    alive = begin(process=processes.this())
    failed = alive | {"kind": "failed", "at": (NOW - timedelta(minutes=20)).isoformat()}
    assert own(engine_lock(1), alive)
    assert own(engine_lock(1), alive, failed)  # that came after the lock
    assert not own(engine_lock(1, minutes=10), alive, failed)  # an update after an act that had ended
    assert not own(engine_lock(1, minutes=90), alive)
    assert not own(engine_lock(1, host="laptop"), alive)
    assert not own(engine_lock(1))


def killed(evening: Any, **more: str) -> tuple[dict[str, str], datetime, dict[str, str]]:
    """A destroy that was killed with its engine: its record's row, when it began, and its process."""
    pid, process = dead()
    began = evening.now - timedelta(minutes=20)
    row = {"stack": "dev-aws", "subject": "", "owner": "", "action": "destroy", "why": "x"}
    evening.journal.write("begin", began, **row, host=socket.gethostname(), process=process, **more)
    held = EngineLock(project="sizewell", stack="dev-aws", user="x", host=socket.gethostname(), pid=pid, at=began)
    evening.shelf.locks.append(held)
    return row, began, process


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says which process a number was")
def test_a_killed_teardown_s_locks_hold_nothing_up(evening):
    """The journal's and the engine's: the next run takes both over, and destroys."""
    expired(evening)
    # what stood when it began; most of that is gone
    row, began, process = killed(evening, saves_usd_per_month="388.10")
    lock_ = {"holder": "a runner", "at": began.isoformat(), "until": (began + timedelta(hours=3)).isoformat()}
    name = "locks/dev-aws/000000000001.json"
    evening.journal._put(name, json.dumps({"schema": "sizewell.teardown-lock/1", **lock_, "process": process}).encode())
    assert evening.outcomes() == [("dev-aws", "destroy", "done")]
    assert evening.shelf.cancelled == ["dev-aws"]
    assert "cancelled" in [record["kind"] for record in evening.journal.records]
    (done,) = [record for record in evening.journal.records if record["kind"] == "done"]
    assert done["saves_usd_per_month"] == "388.10"
    later = evening.now + timedelta(hours=1)
    evening.journal.write("begin", later, **row, saves_usd_per_month="5")
    assert evening.journal.begun_saving("dev-aws", 0.0) == "5"  # the attempt before is done
    assert evening.journal.begun_saving("dev-aws", later.timestamp() + 1) == ""  # it was updated since: others stand


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says which process a number was")
def test_a_killed_teardown_s_lock_is_cancelled_on_a_stack_that_somebody_keeps(evening):
    """Else nobody could bring it back: `pulumi up` would find it locked."""
    expired(evening)
    killed(evening)
    evening.shelf.tags["dev-aws"] = {LEASE_TAG: f"{evening.now.date()} demo tonight"}
    assert evening.outcomes(yes=False) == []
    assert evening.outcomes() == [("dev-aws", "cancel", "done")]
    assert (evening.shelf.cancelled, evening.shelf.destroyed) == (["dev-aws"], [])


def test_a_state_that_was_edited_is_read_anew_though_nobody_updated_its_stack(evening, tmp_path):
    """`pulumi state protect` leaves the time that the engine lists."""
    stack(evening)
    listed = {each.name: each for each in evening.reader().backend.stacks()}["dev-aws"]

    def protected() -> list[bool]:
        reader = replace(evening.reader(), cache=tmp_path / "states")
        return [each.protect for each in reader.state(listed).resources if each.custom]

    evening.shelf.written = {"dev-aws": "1"}
    before = protected()
    assert not all(before)
    for resource in evening.shelf.states["dev-aws"]:
        resource["protect"] = True
    assert protected() == before  # as it is kept
    evening.shelf.written = {"dev-aws": "2"}
    assert all(protected())


def test_when_states_were_written_is_listed_of_a_backend_of_files(tmp_path):
    folder = tmp_path / ".pulumi/stacks/sizewell"
    folder.mkdir(parents=True)
    for name in ("dev.json", "dev.json.bak", "dev.json.attrs", "prod.json.gz"):
        (folder / name).write_text("{}")
    (tmp_path / ".pulumi/history").mkdir()
    (tmp_path / ".pulumi/history/old.json").write_text("{}")
    before = enginelocks.states_written(f"file://{tmp_path}")
    assert set(before) == {"dev", "prod"}
    os.utime(folder / "dev.json", (1, 1))
    after = enginelocks.states_written(f"file://{tmp_path}")
    assert (after["dev"] != before["dev"], after["prod"] == before["prod"]) == (True, True)
    assert enginelocks.states_written("https://api.pulumi.com") == {}


def test_a_lock_of_a_live_process_holds(evening):
    evening.journal.lock("dev-aws", evening.now)
    with pytest.raises(HeldError, match="has been working on it"):
        evening.journal.lock("dev-aws", evening.now)


def test_somebody_else_s_old_lock_is_said_with_the_command_and_not_cancelled(evening):
    expired(evening)
    at = evening.now - timedelta(hours=9)
    evening.shelf.locks.append(EngineLock(project="sizewell", stack="dev-aws", user="ana", host="ci", pid=7, at=at))
    row = evening.plan().stacks[0].row
    assert (row.action, row.clause) == ("unknown", "updating")
    assert "pulumi cancel --stack dev-aws" in row.why
    assert [each.outcome for each in evening.run()] == ["held back"]
    assert (evening.shelf.cancelled, evening.shelf.destroyed) == ([], [])


def test_an_update_that_wrote_no_state_ends_the_notice_before_it(evening):
    """A cancelled update leaves nothing but what a run saw of its lock."""
    expired(evening)
    assert evening.plan().stacks[0].row.action == "destroy"
    lock = EngineLock(project="sizewell", stack="dev-aws", user="ana", host="ci", pid=7, at=evening.now)
    evening.shelf.locks.append(lock)
    (said,) = evening.run()
    assert (said.outcome, "an update of it has been running" in said.detail) == ("held back", True)
    evening.shelf.locks.clear()
    row = evening.plan().stacks[0].row
    assert (row.action, row.next_step) == ("warn", "destroy")


def test_an_engine_that_outlives_its_teardown_ends_no_notice(evening):
    """A run that still sees it waits, and the next one, without it, goes on."""
    expired(evening)
    assert evening.plan().stacks[0].row.action == "destroy"
    row = {"stack": "dev-aws", "subject": "", "owner": "", "action": "destroy", "why": "x"}
    evening.journal.write("begin", evening.now, **row, host="ci", process={})
    lock = EngineLock(project="sizewell", stack="dev-aws", user="ana", host="ci", pid=7, at=evening.now)
    evening.shelf.locks.append(lock)
    (said,) = evening.run()  # which read as "nothing is due"
    assert (said.outcome, "a teardown has been destroying it since" in said.detail) == ("held back", True)
    assert not [each for each in evening.journal.read().records if each["kind"] == "held"]
    evening.shelf.locks.clear()
    assert evening.plan().stacks[0].row.action == "destroy"


def test_an_engine_that_a_run_starts_beside_this_one_ends_no_notice(evening, monkeypatch):
    """Its record comes after this run has read the journal, and before its engine has the lock."""
    expired(evening)
    row = {"stack": "dev-aws", "subject": "", "owner": "", "action": "destroy", "why": "x"}
    lock = EngineLock(project="sizewell", stack="dev-aws", user="ana", host="ci", pid=7, at=evening.now)

    def begun(_: object) -> list[EngineLock]:
        if not any(record["kind"] == "begin" for record in evening.journal.records):
            evening.journal.write("begin", evening.now, **row, host="ci", process={})
        return [lock]

    with monkeypatch.context() as beside:
        beside.setattr(world.ShelfBackend, "locks", begun)
        assert [result.outcome for result in evening.run() if result.action == "destroy"] == []
    assert evening.plan().stacks[0].row.action == "destroy"


def test_a_state_that_such_an_engine_saves_is_nobodys_update(evening, monkeypatch):
    expired(evening)
    row = {"stack": "dev-aws", "subject": "", "owner": "", "action": "destroy", "why": "x"}
    exported = world.ShelfBackend.export

    def saved(backend: world.ShelfBackend, name: str, path: Path) -> None:
        if not any(record["kind"] == "begin" for record in evening.journal.records):
            evening.journal.write("begin", evening.now, **row, host="ci", process={})
        exported(backend, name, path)
        document = json.loads(path.read_text())
        document["deployment"]["manifest"]["time"] = evening.now.isoformat()
        path.write_text(json.dumps(document))

    evening.shelf.versions["dev-aws"] += 1
    monkeypatch.setattr(world.ShelfBackend, "export", saved)
    assert evening.plan().stacks[0].row.action == "destroy"
