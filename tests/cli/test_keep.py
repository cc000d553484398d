"""`keep`, `wake` and `teardown plan` on a backend of the real engine: a folder, with states that are imported."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from sizewell.sizing.records.decision import Decision
from tests.teardown import world

from .conftest import ROOT, Sizewell

pytestmark = pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH")
ROLE = world.resource("dev-aws", "aws:iam/role:Role", "role", "role-1")
TODAY = date(2026, 11, 20)


class Project:
    """A project in a folder, whose stacks have imported states."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "backend").mkdir()
        (folder / "stacks/config").mkdir(parents=True)
        (folder / "Pulumi.yaml").write_text("name: sizewell\nruntime: yaml\nstackConfigDir: stacks/config\n")
        self.configure(journal=f"file://{folder}/journal")

    def configure(self, **settings: Any) -> None:
        path = self.folder / "stacks/config/teardown.yaml"
        path.write_text(json.dumps({"schema": "sizewell.teardown/1", **settings}))

    def pulumi(self, *arguments: str) -> str:
        command = ["pulumi", *arguments, "--non-interactive"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def stack(self, name: str, *resources: dict[str, Any]) -> None:
        self.pulumi("stack", "init", name)
        held = json.loads(self.pulumi("stack", "export", "--stack", name))
        root = world.resource(name, "pulumi:pulumi:Stack", f"sizewell-{name}", "")
        held["deployment"]["resources"] = [{**root, "custom": False, "id": None}, *resources]
        path = self.folder / "state.json"
        path.write_text(json.dumps(held))
        self.pulumi("stack", "import", "--stack", name, "--file", str(path))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{tmp_path}/backend")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "correct")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sizewell.cli.keep.clock", lambda: datetime.combine(TODAY, time(), UTC))
    return made


def test_a_lease_is_a_record_of_the_journal(project: Project, sizewell: Sizewell) -> None:
    project.stack("dev-aws", world.component("dev-aws", "train", expires="2027-01-31"), ROLE)
    keep = ("keep", "dev-aws", "--until", "2026-11-27")
    done = sizewell(*keep, "--reason", "a demo, on  Friday")
    assert done.code == 0, done.err
    assert "kept until 2026-11-28 12:00 UTC: a demo, on Friday" in done.out  # over in every time zone
    look = ("teardown", "plan", "--at", "2026-11-20T12:00:00Z", "--format", "json")
    row = json.loads(sizewell(*look).out)["stacks"][0]["row"]
    assert (row["clause"], "a demo, on Friday" in row["why"]) == ("leased", True)
    assert "the lease is ended" in sizewell("keep", "dev-aws", "--end").out
    assert "it has no lease" in sizewell("keep", "dev-aws", "--end").out
    assert json.loads(sizewell(*look).out)["stacks"][0]["row"]["clause"] != "leased"


def test_beyond_its_end_the_decision_moves_and_nothing_else_of_it(project: Project, sizewell: Sizewell) -> None:
    source = Decision.from_json(ROOT / "stacks/decisions/dev-aws.json")
    path = project.folder / "stacks/decisions/dev-aws.json"
    path.parent.mkdir()
    ends = TODAY + timedelta(days=3)
    source.model_copy(update={"expires_at": ends}).write(path)
    fleet = world.component("dev-aws", "spot", expires=str(ends), sizedBy="ec2-fleet")
    project.stack("dev-aws", fleet, ROLE)
    project.stack("ttl-dev-aws")
    keep = ("keep", "dev-aws", "--until", "2026-11-27", "--reason", "a demo")
    assert sizewell(*keep).code == 0
    assert Decision.from_json(path).expires_at == ends  # `ttl-dev-aws` only notifies
    firm = {"dev": {"expiry": "firm"}}
    project.configure(journal=f"file://{project.folder}/journal", environments=firm)
    done = sizewell(*keep)
    assert done.code == 0, done.err
    moved = Decision.from_json(path)
    assert moved.expires_at == date(2026, 11, 29)
    look = sizewell("teardown", "plan", "--at", "2026-11-24T12:00:00Z", "--format", "json")
    row = json.loads(look.out)["stacks"][0]["row"]  # its state still ends on 23 November; the lease holds all the same
    assert (row["clause"], row["action"]) == ("leased", "keep")
    assert not moved.edited
    assert (
        moved.model_copy(update={"expires_at": ends}).digest()
        == source.model_copy(update={"expires_at": ends}).digest()
    )
    steps = [line for line in done.out.splitlines() if line.strip()[:2] in ("1.", "2.", "3.")]
    assert ["ttl-dev-aws" in line for line in steps] == [False, True, False]
    assert "valid_until" in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--until", "2026-11-27"), "fix: sizewell keep dev-aws --until 2026-11-27 --reason TEXT"),
        (("--until", "2026-11-01", "--reason", "x"), "--until: 2026-11-01 is past"),
        (("--until", "2026-11-27T18:00", "--reason", "x"), "has no time zone"),
        (("--until", "2026-11-27T18:00", "--zone", "London", "--reason", "x"), "is not an IANA time zone"),
        (("4h", "--until", "2026-11-27", "--reason", "x"), "are two times"),
        (("--until", "2027-11-01", "--reason", "x"), "at most 90 days, through 2027-02-18"),
        (("--until", "friday", "--reason", "x"), "is neither a duration nor a day nor a time"),
        (("--until", "2026-11-27", "--reason", " "), "--reason"),
    ],
)
def test_what_is_no_lease_is_refused(
    project: Project, sizewell: Sizewell, arguments: tuple[str, ...], says: str
) -> None:
    project.stack("dev-aws")
    done = sizewell("keep", "dev-aws", *arguments)
    assert (done.code, says in done.err) == (64, True), done.err


def test_a_name_with_its_organisation_is_answered_with_the_name(project: Project, sizewell: Sizewell) -> None:
    done = sizewell("keep", "acme/petsnap/dev-aws", "4h", "--reason", "x")
    assert (done.code, "fix: name it as dev-aws" in done.err) == (64, True), done


def test_names_are_checked_where_the_projects_own_journal_is_named(project: Project, sizewell: Sizewell) -> None:
    project.stack("dev-aws", world.component("dev-aws", "train"), ROLE)
    own = json.loads((project.folder / "stacks/config/teardown.yaml").read_text())["journal"]
    done = sizewell("keep", "dev-asw", "4h", "--reason", "x", "--journal", own)
    assert (done.code, "dev-aws" in done.err) == (64, True), done
    assert sizewell("keep", "dev-aws", "4h", "--reason", "x", "--journal", own).code == 0
    assert sizewell("keep", "dev-asw", "4h", "--reason", "x", "--journal", f"{own}-of-others").code == 0


def test_stacks_that_are_not_there_are_refused(project: Project, sizewell: Sizewell) -> None:
    done = sizewell("wake", "dev-aws")
    assert (done.code, "there are none yet: make it with `pulumi stack init dev-aws`" in done.err) == (64, True), done
    project.stack("dev-aws")
    for command in (("keep", "dev-awz", "--until", "2026-11-27", "--reason", "x"), ("wake", "dev-awz")):
        done = sizewell(*command)
        assert (done.code, "did you mean dev-aws?" in done.err) == (64, True), done.err
    done = sizewell("wake", "dev-aws")
    assert (done.code, "no pool that can be scaled up" in done.err) == (64, True), done.err
    assert done.err.splitlines()[-1].endswith("pulumi up --stack dev-aws")


def test_reconcile_refuses_what_it_cannot_compare(project: Project, sizewell: Sizewell) -> None:
    project.stack("dev-aws", world.component("dev-aws", "train"), ROLE)
    done = sizewell("reconcile", "dev-awz")
    assert (done.code, "did you mean dev-aws?" in done.err) == (64, True), done.err
    done = sizewell("reconcile", "dev-aws")
    assert (done.code, "sizewell:accounts is not set" in done.err) == (64, True), done.err


def test_an_ended_stack_does_not_wake(project: Project, sizewell: Sizewell) -> None:
    project.stack("dev-aws", world.component("dev-aws", "train", expires="2026-01-31"))
    done = sizewell("wake", "dev-aws", "train")
    assert (done.code, "sizewell keep dev-aws" in done.err) == (64, True), done.err
    assert sizewell("keep", "dev-aws", "4h", "--reason", "a demo").code == 0
    done = sizewell("wake", "dev-aws", "train")  # the fix that it named helps; here the state has no group any more
    assert (done.code, "it expired" in done.err) == (64, False)
    assert "taken the machines' group of train\n  fix: build it again: pulumi up --stack dev-aws" in done.err


def test_a_plan_of_every_form(project: Project, sizewell: Sizewell) -> None:
    project.stack("dev-aws", world.component("dev-aws", "train", expires="2026-11-21"), ROLE)
    project.stack("ttl-dev-aws")
    at = ("teardown", "plan", "--at", "2026-11-20T12:00:00Z")
    table = sizewell(*at)
    assert table.code == 0, table.err
    assert "it expires on 2026-11-21 at 00:00 UTC" in " ".join(table.out.split())
    assert max(map(len, table.out.splitlines())) <= 100
    markdown = sizewell(*at, "--format", "markdown").out
    assert "| dev-aws |  | warn |" in markdown
    page = sizewell(*at, "--format", "html").out
    assert page.startswith("<!DOCTYPE html>")
    assert "the stack: warn" in page
    plan = json.loads(sizewell(*at, "--format", "json").out)
    (stack,) = plan["stacks"]
    assert "ttl-dev-aws: destroyed last, once nothing is billed" in stack["kept"]
    assert any("sizewell:accounts is not set" in note for note in stack["notes"])
    assert stack["pools"][0]["action"] == "unknown"


def test_a_stack_that_a_run_may_take_whole_is_one(project: Project, sizewell: Sizewell) -> None:
    for name in ("dev-aws", "dev-b"):
        project.stack(name)
    for option in ("--data", "--images"):
        done = sizewell("teardown", "run", option, "dev-awz")
        assert (done.code, "did you mean dev-aws?" in done.err) == (64, True), done.err
        done = sizewell("teardown", "run", "dev-b", option, "dev-aws")
        assert (done.code, "dev-aws: not one of the stacks that are named" in done.err) == (64, True), done.err


def test_a_report_without_a_run_says_so(project: Project, sizewell: Sizewell) -> None:
    done = sizewell("teardown", "report")
    assert (done.code, done.out.startswith("no run has recorded an act")) == (0, True), done
    assert json.loads(sizewell("teardown", "report", "--json").out) == {"months": [], "observed": []}


def test_an_unsure_run_halts_and_changes_nothing(project: Project, sizewell: Sizewell) -> None:
    for name in ("dev-aws", "dev-b", "dev-c"):
        role = world.resource(name, "aws:iam/role:Role", "role", "role-1")
        project.stack(name, world.component(name, "train", expires="2026-01-31"), role)
    done = sizewell("teardown", "run")
    assert (done.code, "halted" in done.err) == (69, True), done.err
    assert "dev-aws/train, dev-b/train, dev-c/train" in done.err
    assert not list((project.folder / "journal").glob("**/*.json"))


@pytest.mark.parametrize(
    ("break_it", "code", "says"),
    [
        ("no settings", 64, "stacks/config/teardown.yaml: is missing"),
        ("unknown key", 64, "at_most_stakcs"),
        ("zone", 64, "is not an IANA time zone"),
        ("backend", 69, "the backend"),
        ("journal", 64, "URI"),
        ("plan", 64, "no such file"),
        ("at and yes", 64, "always uses the current time"),
        ("no zone", 64, "has no time zone"),
    ],
)
def test_bad_input_is_refused_with_one_message(
    project: Project, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch, *, break_it: str, code: int, says: str
) -> None:
    journal = f"file://{project.folder}/journal"
    more: tuple[str, ...] = ()
    if break_it == "no settings":
        (project.folder / "stacks/config/teardown.yaml").unlink()
    elif break_it == "unknown key":
        project.configure(journal=journal, at_most_stakcs=3)
    elif break_it == "zone":
        window = {"days": ["mon"], "start": "07:00", "end": "21:00", "time_zone": "Mars/Phobos"}
        project.configure(journal=journal, environments={"dev": {"windows": [window]}})
    elif break_it == "backend":
        monkeypatch.setenv("PULUMI_BACKEND_URL", f"file://{project.folder}/nowhere/at/all")
    elif break_it == "journal":
        project.configure(journal="s3://UPPER_CASE/x")
    elif break_it == "plan":
        more = ("--plan", "nowhere.json")
    elif break_it == "at and yes":
        more = ("--at", "2026-11-20T12:00:00Z", "--yes")
    else:
        more = ("--at", "2026-11-20T12:00:00")
    done = sizewell("teardown", "run", *more)
    assert (done.code, says in done.err) == (code, True), done.err
    assert "Traceback" not in done.err


def test_a_corrupt_state_is_said(project: Project, sizewell: Sizewell) -> None:
    project.stack("dev-b")
    (path,) = (project.folder / "backend/.pulumi/stacks").glob("**/dev-b.json")
    path.write_text(path.read_text()[:200])
    for command in (("teardown", "plan"), ("teardown", "run", "--yes"), ("wake", "dev-b")):
        done = sizewell(*command)
        assert (done.code, f"{path} cannot be read" in done.err) == (69, True), done
        assert "Traceback" not in done.err
