"""`keep` and `teardown pause` from anywhere: with the address of the journal, and no project."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sizewell.sizing.errors import UsageError
from sizewell.teardown.journal import Journal, connect
from sizewell.teardown.until import moment

from .conftest import Sizewell

NOW = datetime(2026, 11, 27, 9, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"file://{tmp_path}/journal"


def words(uri: str, stack: str, at: datetime | None = None) -> list[str]:
    """What keeps a stack now."""
    now = at or datetime.now(UTC)
    return [lease.reason for lease in Journal(connect(uri)).read().leases(stack) if lease.until > now]


def test_a_lease_of_hours_is_written_without_a_project(journal: str, sizewell: Sizewell) -> None:
    done = sizewell("keep", "dev-aws", "4h", "--reason", "a demo", "--journal", journal)
    assert done.code == 0, done.err
    assert "check the name" in done.err  # no run has seen such a stack
    assert "ttl-dev-aws reads no lease: with `expiry: firm` it scales the stack to zero" in done.out
    assert words(journal, "dev-aws") == ["a demo"]
    assert words(journal, "dev-aws", datetime.now(UTC) + timedelta(hours=5)) == []
    assert words(journal, "dev-b") == []
    assert "the lease is ended" in sizewell("keep", "dev-aws", "--end", "--journal", journal).out
    assert words(journal, "dev-aws") == []


def test_a_pause_holds_one_stack_or_all(journal: str, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZEWELL_JOURNAL", journal)
    done = sizewell("teardown", "pause", "dev-aws", "--until", "2h", "--reason", "an incident")
    assert done.code == 0, done.err
    assert words(journal, "dev-aws") == ["teardown is paused: an incident"]
    assert words(journal, "dev-b") == []
    assert sizewell("teardown", "pause", "--all", "--reason", "holidays").code == 0
    assert words(journal, "dev-b") == ["teardown is paused: holidays"]
    assert words(journal, "dev-b", datetime.now(UTC) + timedelta(days=6.9)) == ["teardown is paused: holidays"]
    assert words(journal, "dev-b", datetime.now(UTC) + timedelta(days=7.1)) == []
    assert sizewell("teardown", "resume", "--all").code == 0
    assert words(journal, "dev-aws") == ["teardown is paused: an incident"]
    assert words(journal, "dev-b") == []


@pytest.mark.parametrize("named", [(), ("dev-aws", "--all")])
def test_a_pause_says_what_it_holds(journal: str, sizewell: Sizewell, named: tuple[str, ...]) -> None:
    done = sizewell("teardown", "pause", *named, "--reason", "x", "--journal", journal)
    assert (done.code, "name stacks, or --all" in done.err) == (64, True), done.err


@pytest.mark.parametrize(
    ("text", "zone", "at"),
    [
        ("4h", "", "2026-11-27T13:00:00+00:00"),
        ("2026-11-27", "", "2026-11-28T12:00:00+00:00"),  # over in every time zone
        ("2026-11-27", "America/New_York", "2026-11-28T05:00:00+00:00"),
        ("2026-11-27T18:00+01:00", "", "2026-11-27T17:00:00+00:00"),
        ("2026-11-27T18:00", "Europe/Paris", "2026-11-27T17:00:00+00:00"),
        ("2026-11-27T18:00+01:00", "America/New_York", "2026-11-27T17:00:00+00:00"),  # its own zone stands
    ],
)
def test_what_a_person_means(text: str, zone: str, at: str) -> None:
    assert moment(text, NOW, zone=zone).isoformat() == at


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-11-27T18:00", "has no time zone"),
        ("2026-11-25", "is past"),
        ("2026-11-27T08:00Z", "is past"),
        ("0h", "is past"),
        ("2062-11-27", "must be 2026-11-27 to 2027-02-25"),
        ("93d", "must be"),
        ("tomorrow", "is neither a duration"),
        ("4", "is neither a duration"),
        ("9999999999d", "is too far away"),
        ("9999-12-31", "is too far away"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        moment(text, NOW)
