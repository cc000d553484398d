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
    assert "is the name right?" in done.err  # no run has seen such a stack
    assert "ttl-dev-aws reads no lease and no pause: with `expiry: firm` it scales the stack to zero" in done.out
    assert words(journal, "dev-aws") == ["a demo"]
    assert words(journal, "dev-aws", datetime.now(UTC) + timedelta(hours=5)) == []
    assert words(journal, "dev-b") == []
    assert "the lease is ended" in sizewell("keep", "dev-aws", "--end", "--journal", journal).out
    assert words(journal, "dev-aws") == []


def test_without_an_engine_names_are_checked_by_the_files_of_a_project_whose_journal_is_named(
    journal: str, sizewell: Sizewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "stacks/config").mkdir(parents=True)
    (project / "Pulumi.yaml").write_text("name: sizewell\nruntime: yaml\nstackConfigDir: stacks/config\n")
    (project / "stacks/config/Pulumi.dev-aws.yaml").write_text("config: {}\n")
    (project / "stacks/config/teardown.yaml").write_text(f"schema: sizewell.teardown/1\njournal: {journal}\n")
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(project)
    for named in ([], ["--journal", journal], ["--journal", f"{journal}/"]):
        done = sizewell("keep", "dev-awz", "4h", "--reason", "x", *named)
        assert (done.code, "did you mean dev-aws?" in done.err) == (64, True), done
        assert sizewell("keep", "dev-aws", "4h", "--reason", "x", *named).code == 0
    monkeypatch.chdir(tmp_path)  # the way out that the refusal names
    assert sizewell("keep", "dev-awz", "4h", "--reason", "x", "--journal", journal).code == 0


def test_a_pause_holds_one_stack_or_all(journal: str, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIZEWELL_JOURNAL", journal)
    done = sizewell("teardown", "pause", "dev-aws", "--until", "2h", "--reason", "an incident")
    assert done.code == 0, done.err
    assert "idle guards stay on" in done.out
    assert "ttl-dev-aws reads no lease and no pause" in done.out
    assert words(journal, "dev-aws") == ["teardown is paused: an incident"]
    assert words(journal, "dev-b") == []
    assert sizewell("teardown", "pause", "--all", "--reason", "holidays").code == 0
    assert words(journal, "dev-b") == ["teardown is paused: holidays"]
    assert words(journal, "dev-b", datetime.now(UTC) + timedelta(days=6.9)) == ["teardown is paused: holidays"]
    assert words(journal, "dev-b", datetime.now(UTC) + timedelta(days=7.1)) == []
    assert sizewell("teardown", "resume", "--all").code == 0
    assert words(journal, "dev-aws") == ["teardown is paused: an incident"]
    assert words(journal, "dev-b") == []


@pytest.mark.parametrize(
    "line",
    [
        ("keep", "dev-aws", "4h", "--reason", "x"),
        ("teardown", "pause", "--all", "--reason", "x"),
        ("teardown", "resume", "--all"),
        ("teardown", "accept-gap", "--reason", "x"),
        ("teardown", "fetch", "here"),
    ],
    ids=lambda line: " ".join(line[:2]),
)
def test_outside_of_a_project_the_way_is_named(line: tuple[str, ...], journal: str, sizewell: Sizewell) -> None:
    done = sizewell(*line)
    assert (done.code, "is not in a Pulumi project" in done.err, "--journal URI" in done.err) == (64, True, True)


def test_a_negative_duration_is_no_riddle(journal: str, sizewell: Sizewell) -> None:
    done = sizewell("keep", "dev-aws", "-4h", "--reason", "x", "--journal", journal)
    assert (done.code, "a value with a minus sign is read as an option" in done.err) == (64, True), done.err


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
        ("2026-12-06T00:30", "Atlantic/Azores", "2026-12-06T01:30:00+00:00"),
        ("90d", "", "2027-02-25T09:00:00+00:00"),
        ("2027-02-25", "", "2027-02-26T12:00:00+00:00"),  # through the 90th day
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
        ("2062-11-27", "at most 90 days, through 2027-02-25"),
        ("2027-02-26", "at most 90 days"),
        ("90d1s", "at most 90 days"),
        ("91d", "at most 90 days"),
        ("tomorrow", "is neither a duration"),
        ("4", "is neither a duration"),
        ("9999999999d", "is too far away"),
        ("9999-12-31", "is too far away"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        moment(text, NOW)


@pytest.mark.parametrize(
    ("text", "zone", "at"),
    [
        ("2026-10-25T01:30", "Europe/London", "2026-10-25T01:30:00+00:00"),  # comes twice: the second
        ("2026-11-01T01:30", "America/New_York", "2026-11-01T06:30:00+00:00"),
        ("2026-10-25T02:00", "Europe/London", "2026-10-25T02:00:00+00:00"),
        ("2026-04-23", "Africa/Cairo", "2026-04-23T22:00:00+00:00"),  # the next day begins at 01:00, without midnight
    ],
)
def test_an_hour_that_comes_twice_is_kept_through_both(text: str, zone: str, at: str) -> None:
    before = datetime.fromisoformat(at) - timedelta(days=2)
    assert moment(text, before, zone=zone).isoformat() == at


def test_an_hour_that_clocks_leave_out_is_no_time() -> None:
    with pytest.raises(UsageError, match=r"does not exist in Europe/London.*\n  fix: 2026-03-29T02:30"):
        moment("2026-03-29T01:30", datetime(2026, 3, 28, tzinfo=UTC), zone="Europe/London")


# A project on a machine without the engine ----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one stack, and nothing on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("SIZEWELL_JOURNAL", raising=False)
    (tmp_path / "stacks/config").mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").write_text("name: sizewell\nruntime: python\n")
    (tmp_path / "stacks/config/Pulumi.dev-aws.yaml").write_text("config: {}\n")
    settings = f"schema: sizewell.teardown/1\njournal: file://{tmp_path}/journal\n"
    (tmp_path / "stacks/config/teardown.yaml").write_text(settings)
    return tmp_path


def test_a_brake_needs_no_engine(project: Path, sizewell: Sizewell) -> None:
    uri = f"file://{project}/journal"
    assert "no pause of all stacks holds" in sizewell("teardown", "resume", "--all").out
    done = sizewell("teardown", "pause", "--all", "--reason", "an incident")
    assert done.code == 0
    assert done.err == f"sizewell: {uri}: nothing has written to this journal yet: is it the one that runs read?\n"
    assert done.out.endswith(f"\njournal: {uri}\n")
    assert words(uri, "dev-aws") == ["teardown is paused: an incident"]
    assert "the pause is ended" in sizewell("teardown", "resume", "--all").out
    done = sizewell("keep", "dev-aws", "4h", "--reason", "a demo")
    assert (done.code, "pulumi is not on PATH" in done.err) == (0, True), done.err
    assert words(uri, "dev-aws") == ["a demo"]
    assert "the lease is ended" in sizewell("keep", "dev-aws", "--end").out
    assert words(uri, "dev-aws") == []


@pytest.mark.parametrize("command", [("keep", "dev-aws", "4h"), ("teardown", "pause", "--all")])
def test_another_journal_than_the_project_s_is_told(
    project: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    other = f"file://{project}/other"
    monkeypatch.setenv("SIZEWELL_JOURNAL", other)
    done = sizewell(*command, "--reason", "an incident")
    assert done.code == 0, done.err
    assert f"teardown.yaml names another journal, file://{project}/journal, which has nothing of this" in done.err
    assert f"journal: {other}" in done.out
    monkeypatch.setenv("SIZEWELL_JOURNAL", f"file://{project}/journal/")
    assert "another journal" not in sizewell(*command, "--reason", "an incident").err


def test_without_the_engine_names_are_those_of_the_project_s_files(project: Path, sizewell: Sizewell) -> None:
    done = sizewell("keep", "dev-asw", "4h", "--reason", "a demo")
    assert (done.code, "did you mean dev-aws?" in done.err, "--journal" in done.err) == (64, True, True), done.err
    assert not (project / "journal").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "neither a duration nor --until"),
        (("4h", "--until", "2026-11-27"), "'4h' and --until 2026-11-27 are two times"),
        (("4h",), "--reason is missing"),
    ],
)
def test_a_lease_has_one_time_and_a_reason(
    project: Path, sizewell: Sizewell, arguments: tuple[str, ...], says: str
) -> None:
    done = sizewell("keep", "dev-aws", *arguments)
    assert (done.code, says in done.err) == (64, True), done.err
    assert not (project / "journal").exists()


def test_a_published_protection_that_ends_in_decades_is_said(project: Path, sizewell: Sizewell) -> None:
    path = project / "stacks/config/teardown.yaml"
    path.write_text(path.read_text() + "protected: {dev-aws: {until: 2062-12-31, reason: audit}}\n")
    assert "2062-12-31 is 36 years away: check the year" in sizewell("teardown", "publish").err
    # The settings lie beside the journal, so it is the one that runs read.
    assert "nothing has written to this journal" not in sizewell("teardown", "pause", "--all", "--reason", "x").err


@pytest.mark.parametrize(
    "line",
    [("keep", "{}", "4h", "--reason", "x"), ("teardown", "pause", "{}", "--reason", "x"), ("teardown", "resume", "{}")],
)
@pytest.mark.parametrize("name", ["", "dev aws", "../../etc", "org/project/dev-aws", "ttl-dev-aws"])
def test_what_no_stack_is_called_is_no_word_for_all(line: tuple, name: str, journal: str, sizewell: Sizewell) -> None:
    sizewell("teardown", "pause", "--all", "--reason", "an incident", "--journal", journal)
    done = sizewell(*(part.format(name) for part in line), "--journal", journal)
    assert done.code == 64
    assert ("name dev-aws" if name.startswith("ttl") else "is no name of a stack") in done.err
    assert words(journal, "dev-b") == ["teardown is paused: an incident"]


def test_nobody_shortens_what_somebody_else_asked_for(journal: str, sizewell: Sizewell) -> None:
    sizewell("keep", "dev-aws", "30d", "--reason", "thesis", "--journal", journal)
    done = sizewell("keep", "dev-aws", "30m", "--reason", "debugging", "--journal", journal)
    assert "holds on until" in done.out
    assert f"thesis; `sizewell keep dev-aws --end --journal {journal}` ends them all" in done.out
    later = datetime.now(UTC) + timedelta(days=2)
    assert words(journal, "dev-aws", later) == ["thesis"]
    sizewell("teardown", "pause", "--all", "--until", "14d", "--reason", "freeze", "--journal", journal)
    assert (
        f"`sizewell teardown resume --all --journal {journal}` ends them all"
        in sizewell("teardown", "pause", "--all", "--until", "1h", "--reason", "now", "--journal", journal).out
    )
    assert words(journal, "dev-b", later) == ["teardown is paused: freeze"]
    ended = sizewell("keep", "dev-aws", "--end", "--journal", journal).out
    assert "the lease is ended" in ended
    assert "a pause of every stack holds until" in ended
    assert words(journal, "dev-aws", later) == ["teardown is paused: freeze"]
    assert "it has no lease" in sizewell("keep", "dev-aws", "--end", "--journal", journal).out
    assert (
        f"`sizewell teardown resume --all --journal {journal}` ends it"
        in sizewell("teardown", "resume", "dev-aws", "--journal", journal).out
    )
    sizewell("teardown", "resume", "--all", "--journal", journal)
    assert words(journal, "dev-aws") == []


def test_a_record_that_does_not_open_blocks_no_command(journal: str, sizewell: Sizewell, tmp_path: Path) -> None:
    for stack in ("dev-a", "dev-b"):
        sizewell("keep", stack, "4h", "--reason", "x", "--journal", journal)
    record = tmp_path / "journal/journal/000000000001.json"
    assert record.stat().st_mode & 0o444 == 0o444, "who shares the folder may read it, as the umask says"
    record.unlink()
    record.mkdir()
    done = sizewell("keep", "dev-c", "4h", "--reason", "x", "--journal", journal)
    assert done.code == 0, done.err
    assert "cannot be opened: Is a directory" in done.err
    assert f"or: sizewell teardown accept-gap --reason TEXT --journal {journal}\n" in done.err
    assert "accepted" in sizewell("teardown", "accept-gap", "--reason", "lost", "--journal", journal).out
    assert "file:" in sizewell("keep", "dev-c", "4h", "--reason", "x", "--journal", "file:journal").err


def test_an_end_takes_no_time_and_reasons_are_plain(journal: str, sizewell: Sizewell) -> None:
    sizewell("keep", "dev-aws", "10d", "--reason", "demo", "--journal", journal)
    for more in (("4h",), ("--until", "2027-01-05")):
        done = sizewell("keep", "dev-aws", *more, "--end", "--reason", "x", "--journal", journal)
        assert done.code == 64
        assert "--end ends the lease now" in done.err
    assert words(journal, "dev-aws") == ["demo"]
    assert sizewell("keep", "dev-aws", "4h", "--reason", "a\x1b[31mred", "--journal", journal).code == 64


def test_what_holds_after_a_resume_is_said(journal: str, sizewell: Sizewell) -> None:
    done = sizewell("teardown", "resume", "--journal", journal)
    assert f"sizewell teardown resume STACK --journal {journal}, or" in done.err
    sizewell("teardown", "pause", "dev-b", "--reason", "a", "--journal", journal)
    assert "pauses of single stacks hold on: dev-b" in sizewell("teardown", "resume", "--all", "--journal", journal).out
    sizewell("keep", "dev-b", "4h", "--reason", "b", "--journal", journal)
    assert f"`sizewell keep dev-b --end --journal {journal}` ends it" in (
        sizewell("teardown", "resume", "dev-b", "--journal", journal).out
    )
