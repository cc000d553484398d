"""A journal with a gap: records that are missing, cut or of something else hold every stack, and that is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import settings
from sizewell.teardown.journal import HeldError, Journal, connect, in_lines
from tests.cli.conftest import Sizewell, sizewell
from tests.teardown.test_run import stack

__all__ = ["sizewell"]

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def journal(folder: Path) -> Journal:
    return Journal(connect(f"file://{folder}/journal")).read()


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A lease between two notices."""
    made = journal(tmp_path)
    made.write("notice", AT, stack="dev-aws", subject="train", about="idle", heard=["webhook 0"])
    made.write("lease", AT, stack="dev-aws", subject="", until=(AT + timedelta(days=5)).isoformat(), reason="a demo")
    made.write("notice", AT, stack="dev-b", subject="train", about="idle", heard=["webhook 0"])
    return tmp_path


def record(folder: Path, number: int = 2) -> Path:
    return folder / f"journal/journal/{number:012d}.json"


def rewritten(**change: Any) -> Callable[[Path], object]:
    def rewrite(path: Path) -> object:
        return path.write_text(json.dumps({**json.loads(path.read_text()), **change}))

    return rewrite


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:40]), "is not JSON"),
    "empty": (lambda path: path.write_bytes(b""), "is not JSON"),
    "nested beyond what is read": (lambda path: path.write_text("[" * 100_000), "is not JSON"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is not JSON"),
    "deleted": (Path.unlink, "is missing"),
    "an end of null": (rewritten(until=None), "has an `until` that is no text: null"),
    "without a schema": (lambda path: path.write_text("{}"), "names no schema"),
    "a list": (lambda path: path.write_text("[]"), "is no JSON object"),
    "of a later release": (rewritten(schema="sizewell.teardown-record/9"), "upgrade Sizewell"),
    "of something else": (rewritten(schema="sizewell.spec/1"), "this release reads"),
    "without its end": (
        lambda path: path.write_text('{"schema": "sizewell.teardown-record/1", "kind": "lease"}'),
        "has no at, stack, until, reason",
    ),
    "a message without keys": (rewritten(kind="message", keys=None), "no list in 'keys'"),
    "an end that is none": (rewritten(until="soon"), "has an `until` that cannot be read"),
    "an end before it was given": (rewritten(until="2020-01-01"), "ends before it was given"),
    "a time that is none": (rewritten(at="yesterday"), "has no time in 'at'"),
    "a time without a zone": (rewritten(at="2026-11-20T12:00:00"), "has no time zone in 'at'"),
    "a copy of another": (
        lambda path: path.write_bytes((path.parent / f"{3:012d}.json").read_bytes()),
        "is a copy of journal/000000000003.json",
    ),
    "of a kind that is none": (rewritten(kind="leash"), "of a kind that this release does not know, 'leash'"),
    "a lease of no stack": (rewritten(stack=""), "is a lease of no stack"),
    "a pause of something else": (rewritten(kind="pause", stack=None), "is a pause of no stack"),
    "without a reason": (lambda path: path.write_text(path.read_text().replace('"reason"', '"treason"')), "no reason"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_cannot_be_read_holds_every_stack_until_somebody_goes_on_without_it(three: Path, how: str) -> None:
    break_it, why = BROKEN[how]
    break_it(record(three))
    read = journal(three)
    assert len(read.records) == 2
    assert list(read.gaps()) == ["journal/000000000002.json"]
    assert why in read.gap()
    for each in ("dev-aws", "dev-b", "prod"):
        assert [lease.until.year for lease in read.leases(each)] == [9999]
    assert (
        read.write("done", AT, stack="dev-b", subject="train", action="wake") == 4
    )  # it goes on, and overwrites nothing
    later = AT + timedelta(hours=1)
    assert list(read.accept(later, reason="it is lost", by="ana")) == ["journal/000000000002.json"]
    again = journal(three)
    assert (again.gap(), again.accept(later, reason="x", by="ana")) == ("", {})
    # Its end is the end of a lease: what was told before counts no more.
    assert [lease.until for lease in again.leases("dev-aws")] == [later]


def test_a_record_that_was_put_back_is_read(three: Path) -> None:
    path = record(three)
    whole = path.read_bytes()
    path.write_bytes(whole[:30])
    assert journal(three).gap()
    path.write_bytes(whole)
    read = journal(three)
    assert (read.gap(), [lease.reason for lease in read.leases("dev-aws")]) == ("", ["a demo"])


def test_many_that_are_missing_are_one_line_and_none_once_accepted(three: Path, sizewell: Sizewell) -> None:
    record(three, 300).write_bytes(record(three).read_bytes())  # a copy of the second, far beyond the third
    read = journal(three)
    assert in_lines(read.gaps()) == [
        "journal/000000000004.json to 000000000299.json is missing (296 records)",
        "journal/000000000300.json is a copy of journal/000000000002.json",
    ]
    assert "is missing (296 records) (and 1 more): it may have held a lease" in read.gap()
    done = sizewell("teardown", "accept-gap", "--reason", "a stray", "--journal", read.store.uri)
    assert (done.code, len(done.out.splitlines())) == (0, 3), done.out
    done = sizewell("keep", "dev-aws", "1d", "--reason", "a demo", "--journal", read.store.uri)
    assert (done.code, "missing" in done.err) == (0, False), done.err


@pytest.mark.parametrize("name", ["notes.json", "999999999999.json", "4.json"])
def test_a_name_that_is_no_record_s_shifts_no_number(three: Path, name: str) -> None:
    record(three).with_name(name).write_text("{}")
    read = journal(three)
    assert list(read.gaps()) == [f"journal/{name}"]
    assert read.write("done", AT, stack="dev-b", subject="train", action="wake") == 4


def test_a_lock_that_cannot_be_read_holds_its_stack(three: Path) -> None:
    journal(three).lock("dev-aws", AT)
    (three / "journal/locks/dev-aws/000000000001.json").write_text('{"holder": "run')
    with pytest.raises(HeldError, match="who works on the stack is not known\n  fix: sizewell teardown accept-gap"):
        journal(three).lock("dev-aws", AT + timedelta(days=2))
    journal(three).lock("dev-b", AT)  # of another stack nothing is in doubt
    read = journal(three)
    read.look_for_gaps(since=AT)
    assert list(read.accept(AT, reason="no run is under way", by="ana")) == ["locks/dev-aws/000000000001.json"]
    journal(three).lock("dev-aws", AT + timedelta(days=2))


@pytest.mark.parametrize("text", ['{"schema": "sizewell.poo', '{"schema": "sizewell.pool-usage/1"}', '{"pools": []}'])
def test_samples_that_cannot_be_read_hold_too(evening, text: str) -> None:
    stack(evening)
    evening.run()
    (kept,) = (evening.folder / "journal/kept/usage").glob("*.json")
    kept.write_text(text)
    plan = evening.plan()
    assert "kept/usage/" in plan.halted
    assert {row.clause for each in plan.stacks for row in each.rows} == {"leased"}


def test_a_run_halts_says_so_and_goes_on_once_it_was_accepted(evening, monkeypatch) -> None:
    heard: list[str] = []
    monkeypatch.setenv("OPERATORS_HOOK", "https://hooks.example.com/operators")
    evening.settings = {"operators": {"webhooks_env": ["OPERATORS_HOOK"]}}
    stack(evening)
    evening.told(minutes=20)
    evening.told(minutes=15)
    assert evening.pool().action == "empty"
    record(evening.folder, 1).write_text("{")
    plan = evening.plan()
    assert plan.stacks[0].row.clause == "leased"
    assert "accept-gap" in plan.stacks[0].row.why
    with pytest.raises(ServiceError, match=r"000000000001.json is not JSON(.|\n)*fix: .*accept-gap"):
        evening.run(send=lambda _, body: heard.append(str(body["text"])))
    (text,) = heard
    assert "is not JSON" in text
    assert "accept-gap" in text
    evening.journal.accept(evening.now, reason="a full disk", by="ana")
    pool = evening.pool()
    assert (pool.action, pool.tell) == ("warn", True)  # its owner is told anew, and has the whole grace


def test_settings_that_cannot_be_read_are_replaced_by_the_next_that_are_published(tmp_path: Path) -> None:
    made = journal(tmp_path)
    files = {"Pulumi.yaml": "name: x\n", "stacks/config/teardown.yaml": "{}\n"}
    settings.publish(made, files, AT, "ana")
    (tmp_path / "journal/settings/000000000001.json").write_text("{")
    version, new = settings.publish(made, files, AT, "ana")
    assert (version.number, new) == (2, True)


# The commands -----------------------------------------------------------------------------------------------------------


def test_every_command_works_beside_a_gap_and_says_it(
    three: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(three)
    (three / "stacks/config").mkdir(parents=True)
    (three / "Pulumi.yaml").write_text("name: sizewell\nruntime: python\n")
    text = f"schema: sizewell.teardown/1\njournal: file://{three}/journal\n"
    (three / "stacks/config/teardown.yaml").write_text(text)
    (three / "stacks/config/Pulumi.dev-aws.yaml").write_text("config: {}\n")
    record(three).write_text("{")
    for line in (
        ("teardown", "pause", "--all", "--reason", "an incident"),
        ("teardown", "resume", "--all"),
        ("keep", "dev-aws", "4h", "--reason", "x", "--journal", f"file://{three}/journal"),
        ("keep", "dev-aws", "--end", "--journal", f"file://{three}/journal"),
        ("teardown", "report"),
    ):
        done = sizewell(*line)
        assert done.code == 0, (line, done)
        assert "000000000002.json is not JSON" in done.err, line
        assert "sizewell teardown accept-gap" in done.err, line
    assert json.loads(sizewell("teardown", "report", "--json").out)["unread"]
    done = sizewell("teardown", "accept-gap", "--reason", "a full disk")
    assert (done.code, "000000000002.json is not JSON: accepted" in done.out) == (0, True), done
    assert (
        "nothing to accept; accepted before: journal/000000000002.json"
        in sizewell("teardown", "accept-gap", "--reason", "again").out
    )
    done = sizewell("teardown", "report")
    assert "accept-gap" not in done.err
    assert "the sums lack what cannot be read: journal/000000000002.json" in done.err
