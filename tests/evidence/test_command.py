"""`sizewell evidence` in a project, with an engine and clouds that are given: what it prints, refuses, writes and files."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sizewell.cli import evidence
from sizewell.cli.main import main
from sizewell.evidence import journal
from sizewell.evidence.run import Run

from .pretend import Fault, Pretend, no_capacity, throttled
from .test_record import trust

ROOT = Path(__file__).resolve().parents[2]
Line = Callable[..., tuple[int, str, str]]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """A project with a small stack, and a pretended account for it."""
    import shutil

    for name in ("decisions", "config", "specs"):
        shutil.copytree(ROOT / "stacks" / name, tmp_path / "stacks" / name)
    shutil.copy(ROOT / "stacks/__main__.py", tmp_path / "stacks/__main__.py")
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path / "Pulumi.yaml")
    monkeypatch.chdir(tmp_path)
    pretend = Pretend()

    def opened(_: Path, notes: Any, kept: journal.Journal) -> Run:
        return Run(journal=kept, world=pretend, clock=pretend.clock, say=lambda _: None)

    monkeypatch.setattr(evidence, "_opened", opened)
    monkeypatch.setattr(evidence, "_must_be_empty", lambda _: None)
    monkeypatch.setattr(evidence, "_engine", lambda: "v3.210.0")
    pretend.clock.at_s = time.time()
    monkeypatch.setattr("sizewell.evidence.journal.Clock", lambda: pretend.clock)
    return pretend


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str]) -> Line:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["evidence", *words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Its decision, which is made once."""
    return {"text": ""}


@pytest.fixture
def small(world: Pretend, decided: dict[str, str]) -> str:
    """A stack of one notebook that ends in two days, decided today."""
    settings = Path("stacks/config/teardown.yaml")
    settings.write_text(settings.read_text().replace("dev: {empty_days: 14}", "dev: {empty_days: 14, expiry: firm}"))
    specs = Path("stacks/specs/trial")
    specs.mkdir()
    spec = Path("stacks/specs/dev-aws/notebook.yaml").read_text(encoding="utf-8")
    (specs / "notebook.yaml").write_text(spec.replace("ttl: 30d", "ttl: 2d"), encoding="utf-8")
    for before in ("", "ttl-"):
        text = Path(f"stacks/config/Pulumi.{before}dev-aws.yaml").read_text(encoding="utf-8")
        Path(f"stacks/config/Pulumi.{before}trial.yaml").write_text(text.partition("  sizewell:run")[0])
    decision = Path("stacks/decisions/trial.json")
    if decided["text"]:
        decision.write_text(decided["text"])
    else:
        assert main(["-q", "size", "--stack", "trial"]) in (0, 3)
        decided["text"] = decision.read_text()
    return "trial"


def test_from_the_plan_to_the_page(world: Pretend, small: str, line: Line, tmp_path: Path) -> None:
    code, out, _ = line("run", small, "--max-usd", "4")
    assert code == 0, out
    assert "nothing was built; to do it: sizewell evidence run trial --max-usd 4 --yes" in out
    assert "if this machine fails: ttl-trial stops its machines on" in out
    assert world.calls == []
    code, out, _ = line("run", small, "--json")
    plan = json.loads(out)
    assert [each["stage"] for each in plan["stages"]] == ["rights", "up", "reachable", "destroyed", "inventory"]
    assert 0 < sum(each["usd_max"] for each in plan["stages"]) < 5

    code, out, err = line("run", small, "--yes")
    assert code == 0, out + err
    assert "nothing is left; the record: sizewell evidence write trial" in out
    assert not world.cloud

    code, out, err = line("write", small)
    assert (code, list(Path(".sizewell/evidence").glob("records/*"))) == (0, [])
    assert "123456789012" not in out
    assert "petsnap" not in out
    assert line("write", small, "--yes")[0] == 64
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    code, shown, err = line("write", small, "--yes", "--key", str(key))
    assert code == 0, err
    assert shown == out
    (file,) = Path(".sizewell/evidence/records").glob("*.json")
    assert file.read_text() == shown

    code, _, err = line("add", str(file))
    assert (code, "evidence/allowed_signers: is missing" in err) == (64, True)
    Path("evidence").mkdir()
    trust(key, Path("evidence"))
    code, out, err = line("add", str(file))
    assert code == 0, err
    assert "evidence/README.md has 1 of them" in out
    assert "| **up**" in Path("evidence/README.md").read_text()
    assert line("add", str(file))[0] == 0
    (filed,) = Path("evidence").glob("*.json")
    filed.write_text(filed.read_text().replace("g6.", "g5."))
    code, _, err = line("add", str(file))
    assert (code, "was changed after it was signed" in err) == (64, True)


def test_a_failure_is_exit_code_6_and_something_left_69(world: Pretend, small: str, line: Line) -> None:
    world.faults = [Fault("up", no_capacity, half=True)]
    code, out, _ = line("run", small, "--yes")
    assert code == 6
    assert "failed: capacity" in out
    assert not world.cloud
    world.faults = [Fault("left", throttled, times=99)]
    code, out, _ = line("run", small, "--yes")
    assert code == 69
    assert "something may be left; to take it down: sizewell evidence clean trial" in out
    code, _, err = line("run", small, "--yes")
    assert (code, "fix: sizewell evidence resume trial" in err) == (64, True)
    world.faults = []
    code, out, _ = line("--clean")
    assert code == 0, out
    assert json.loads(line("clean", small, "--json")[1])["schema"] == "sizewell.evidence/1"


def test_a_run_that_was_cut_off_has_no_record(world: Pretend, small: str, line: Line) -> None:
    assert line("run", small, "--yes")[0] == 0
    path = Path(".sizewell/evidence/trial.json")
    notes = json.loads(path.read_text())
    for name in ("up", "destroyed", "inventory"):
        notes["steps"][name]["state"] = "begun"
    path.write_text(json.dumps({**notes, "ended_s": None}))
    code, _, err = line("write", small)
    assert (code, "was cut off" in err) == (64, True)
    code, _, err = line("--resume")  # which ends with nothing left, and with a journal that contradicts itself
    assert (code, "reachable passed, and up, which it needs, failed" in " ".join(err.split())) == (64, True)
    assert not world.cloud
    for name in ("up", "destroyed", "inventory"):
        notes["steps"][name]["state"] = "begun"
    notes["steps"]["reachable"] = {}
    path.write_text(json.dumps({**notes, "ended_s": None}))
    assert line("--resume")[0] == 6


def test_what_is_measured_and_billed(world: Pretend, small: str, line: Line) -> None:
    assert line("run", small, "--yes")[0] == 0
    record = json.loads(line("write", small)[1])
    kind = record["machines"][0]["instance_type"]
    text = f"schema: sizewell.observed/1\nworkload: notebook\nrunning: {{on: aws/us-east-1, instance_type: {kind}}}\n"
    Path("seen.yaml").write_text(f"{text}utilization: 40%\nmemory: 9GB\n")
    code, out, err = line("write", small, "--observed", "seen.yaml")
    assert code == 0, err
    measured = next(each for each in json.loads(out)["stages"] if each["stage"] == "measured")
    assert measured["outcome"] == "passed"
    assert measured["figures"]["memory_bytes_measured"] == 9e9
    assert "sizewell size SPEC --observed seen.yaml" in err
    Path("seen.yaml").write_text(text.replace("notebook", "chat") + "utilization: 40%\n")
    code, _, err = line("write", small, "--observed", "seen.yaml")
    assert (code, "is of chat on" in err) == (64, True)


Row = dict[str, str]
Bill = Callable[..., Path]


@pytest.fixture
def bill(world: Pretend, small: str, line: Line) -> Bill:
    """A run that is over, and files of what it cost: a row each, `hours` after its beginning."""
    assert line("run", small, "--yes")[0] == 0
    begun = datetime.fromtimestamp(json.loads(Path(".sizewell/evidence/trial.json").read_text())["started_s"], UTC)
    month = begun.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    columns = {
        "BillingPeriodStart": f"{month:%Y-%m-%dT00:00:00Z}",
        "BillingPeriodEnd": f"{month + timedelta(days=32):%Y-%m-01T00:00:00Z}",
        "BillingCurrency": "USD", "ChargeCategory": "Usage", "ProviderName": "AWS", "ServiceName": "Amazon EC2",
        "PricingCategory": "Standard", "PricingUnit": "Hours", "PricingQuantity": "1", "BilledCost": "0.25",
        "EffectiveCost": "0.25", "Tags": '"{""sizewell:stack"": ""trial""}"', "x_EffectiveCostInUsd": "", "ChargeClass": "",
    }  # fmt: skip

    def written(*rows: Row, hours: int = 0) -> Path:
        start = begun.replace(minute=0, second=0, microsecond=0) + timedelta(hours=hours)
        times = {"ChargePeriodStart": f"{start:%Y-%m-%dT%H:00:00Z}",
                 "ChargePeriodEnd": f"{start + timedelta(hours=1):%Y-%m-%dT%H:00:00Z}"}  # fmt: skip
        lines = [",".join([*columns, *times]), *(",".join((columns | times | row).values()) for row in rows)]
        path = Path("bill.csv")
        path.write_text("\n".join(lines) + "\n")
        return path

    return written


def billed(out: str) -> dict[str, Any]:
    stage = next(each for each in json.loads(out)["stages"] if each["stage"] == "billed")
    return {"outcome": stage["outcome"], **stage["figures"]}


def test_a_bill_of_another_time_is_none_of_the_run(bill: Bill, small: str, line: Line) -> None:
    code, out, err = line("write", small, "--bill", str(bill({})))
    assert (code, billed(out)["usd_billed"]) == (0, 0.25)
    assert "sizewell evidence write trial --bill bill.csv --key FILE --yes" in " ".join(err.split())
    code, _, err = line("write", small, "--bill", str(bill({}, hours=-48)))
    assert (code, "and the run was from" in err) == (64, True)


def cost(usd: str, **more: str) -> Row:
    return {"BilledCost": usd, "EffectiveCost": usd, **more}


def test_credits_and_taxes_stand_apart_from_what_was_used(bill: Bill, small: str, line: Line) -> None:
    rows = ({}, cost("-0.25", ChargeCategory="Credit"), cost("0.02", ChargeCategory="Tax"))
    code, out, err = line("write", small, "--bill", str(bill(*rows)))
    assert code == 0, err
    found = billed(out)
    assert (found["usd_billed"], found["usd_credits"], found["usd_taxes"]) == (0.25, 0.25, 0.02)
    rows = (cost("900"), cost("-900", ChargeCategory="Credit"))
    code, out, err = line("write", small, "--bill", str(bill(*rows)))
    assert (billed(out)["outcome"], billed(out)["usd_billed"]) == ("failed", 900)
    rows = ({}, cost("-0.05", ChargeClass="Correction"), cost("-0.03", ChargeCategory="Adjustment"))
    assert billed(line("write", small, "--bill", str(bill(*rows)))[1])["usd_billed"] == 0.17


def test_a_bill_without_usage_or_of_another_cloud_is_none(bill: Bill, small: str, line: Line) -> None:
    for category in ("Credit", "Tax"):
        code, _, err = line("write", small, "--bill", str(bill(cost("-0.25", ChargeCategory=category))))
        assert (code, "has no usage of ttl-trial or trial" in " ".join(err.split())) == (64, True), err
    code, _, err = line("write", small, "--bill", str(bill({}, {"ProviderName": "Google Cloud"})))
    assert (code, "ProviderName: is of gcp, and trial ran on aws" in " ".join(err.split())) == (64, True), err
    project = '"{""sizewell:stack"": ""trial"", ""sizewell:project"": ""another""}"'
    code, out, _ = line("write", small, "--bill", str(bill({}, cost("900", Tags=project))))
    assert (code, billed(out)["usd_billed"]) == (0, 0.25)
    other = {"ProviderName": "Google Cloud", "Tags": '"{""sizewell:stack"": ""prod""}"'}
    assert line("write", small, "--bill", str(bill({}, other)))[0] == 0


def test_equal_rows_are_said_and_stand_in_the_record(bill: Bill, small: str, line: Line) -> None:
    code, out, err = line("write", small, "--bill", str(bill({}, {}, {"ServiceName": "Amazon VPC"})))
    assert code == 0, err
    assert (billed(out)["usd_billed"], billed(out)["rows_counted_once"]) == (0.5, 1)
    assert "1 row of trial equal another in every column" in " ".join(err.split())


def test_a_decision_that_its_spec_no_longer_leads_to(world: Pretend, small: str, line: Line) -> None:
    spec = Path("stacks/specs/trial/notebook.yaml")
    before = spec.read_text()
    spec.write_text(before.replace("ttl: 2d", "ttl: 3d"))
    code, out, err = line("run", small)
    assert (code, "nothing was built" in out) == (0, True)
    assert "decision out of date: trial: notebook edited since it was decided" in " ".join(err.split())
    for text in (before.replace("name: notebook", "name: other"), "kind: ["):
        spec.write_text(text)
        code, out, err = line("run", small, "--yes")
        assert (code, out) == (4, "")
        assert "decision out of date: trial: " in " ".join(err.split())
    assert world.calls == []


def test_a_run_of_which_nothing_is_built_is_not_taken_up_with_another_decision(
    world: Pretend, small: str, line: Line
) -> None:
    """Its limits were held against the price of the one that it began with."""
    assert line("run", small, "--yes")[0] == 0
    path = Path(".sizewell/evidence/trial.json")
    notes = json.loads(path.read_text())
    steps = {name: {} for name in notes["steps"]} | {"rights": {"state": "begun"}}
    path.write_text(json.dumps({**notes, "steps": steps, "ended_s": None, "decision": "0" * 64}))
    calls = len(world.calls)
    code, _, err = line("resume", small)
    assert (code, "fix: begin anew: sizewell evidence run trial" in " ".join(err.split())) == (64, True), err
    assert len(world.calls) == calls


def test_a_measurement_is_not_held_against_another_decision(world: Pretend, small: str, line: Line) -> None:
    assert line("run", small, "--yes")[0] == 0
    kind = json.loads(line("write", small)[1])["machines"][0]["instance_type"]
    Path("seen.yaml").write_text(
        f"schema: sizewell.observed/1\nworkload: notebook\nrunning: {{on: aws/us-east-1, instance_type: {kind}}}\n"
        "utilization: 40%\n"
    )
    assert line("write", small, "--observed", "seen.yaml")[0] == 0
    journal_file = Path(".sizewell/evidence/trial.json")
    notes = json.loads(journal_file.read_text())
    journal_file.write_text(json.dumps({**notes, "decision": "0" * 64}))
    code, _, err = line("write", small, "--observed", "seen.yaml")
    assert (code, "was sized again since it ran" in err) == (64, True)


def test_another_currency_counts_at_the_dollars_that_it_states_and_is_refused_without(
    bill: Bill, small: str, line: Line
) -> None:
    euro = cost("0.20", BillingCurrency="EUR")
    code, out, err = line("write", small, "--bill", str(bill(euro | {"x_EffectiveCostInUsd": "0.23"})))
    assert (code, billed(out)["usd_billed"]) == (0, 0.23), err
    for rows in ((euro,), ({}, euro)):
        code, _, err = line("write", small, "--bill", str(bill(*rows)))
        assert code == 64
        assert "BillingCurrency: has charges of trial in EUR, which state no US dollars" in " ".join(err.split())
    other = euro | {"Tags": '"{""sizewell:stack"": ""prod""}"'}
    assert line("write", small, "--bill", str(bill({}, other)))[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "nothing"), "nothing has no decision"),
        (("run", "../x"), "must be of a-z, 0-9 and -"),
        (("run", "trial", "--max-usd", "0"), "--max-usd: must be above 0"),
        (("run", "trial", "--max-usd", "nan"), "--max-usd: must be above 0"),
        (("run", "trial", "--max-usd", "-1"), "--max-usd: must be above 0"),
        (("run", "trial", "--max-time", "0h"), "--max-time"),
        (("run", "trial", "--max-time", "25h"), "--max-time: must be above 0 and at most 24h"),
        (("run", "trial", "--max-usd", "0.2"), "fix: --max-usd"),
        (("run", "trial", "--max-time", "10m"), "fix: --max-time 90m or more"),
        (("run", "trial", "--max-time", "soon"), "--max-time"),
        (("run", "trial", "--stage", "billing"), "must be one of rights, up, reachable, guard"),
        (("run", "dev-aws"), "keeps checkpoints, which no run destroys"),
        (("resume",), "there is none in this project"),
        (("clean", "trial"), "fix: sizewell evidence run trial"),
        (("write", "../../etc"), "must be of a-z, 0-9 and -"),
        (("add", "nothing.json"), "cannot be read"),
        (("add", "Pulumi.yaml"), "is not signed"),
        ((), "ACTION is missing"),
    ],
)
def test_bad_input(words: tuple[str, ...], said: str, world: Pretend, small: str, line: Line) -> None:
    code, _, err = line(*words)
    assert code == 64
    assert said in err
    assert world.calls == []
    assert not list(Path().glob(".sizewell/evidence/*.json"))


def test_ctrl_c_says_how_to_go_on(world: Pretend, small: str, line: Line) -> None:
    def interrupted() -> Any:
        raise KeyboardInterrupt

    world.faults = [Fault("reachable", interrupted)]
    code, _, err = line("run", small, "--yes")
    assert code == 130
    assert "something may stand: sizewell evidence resume trial, or clean in place of resume" in err
    assert world.cloud
    assert line("clean")[0] == 6
    assert not world.cloud


def test_without_up_nothing_is_built(world: Pretend, small: str, line: Line) -> None:
    code, out, _ = line("run", small, "--stage", "rights", "--yes")
    assert (code, world.calls) == (0, ["rights"])
    assert "not tried: nothing built" in out


def test_a_plan_says_all_that_it_may_cost_and_the_line_that_does_it(world: Pretend, small: str, line: Line) -> None:
    code, out, _ = line("run", "trial", "--stage", "rights", "--max-time", "2h")
    assert code == 0
    assert "it builds nothing and costs nothing" in out
    assert "if this machine fails" not in out
    assert out.rstrip().endswith("sizewell evidence run trial --stage rights --max-usd 5 --max-time 2h --yes")
    _, said, _ = line("run", "trial", "--max-usd", "4", "--json")
    plan = json.loads(said)
    built = sum(each["usd_max"] for each in plan["stages"] if each["stage"] in ("up", "destroyed", "inventory"))
    assert plan["usd_max"] == pytest.approx(built + plan["usd_per_hour_max"], abs=0.01)
    assert plan["usd_until_it_expires_max"] > 0
    _, out, _ = line("run", "trial", "--max-usd", "4")
    assert f"in all, at most {plan['usd_max']:.2f} USD until it is down" in " ".join(out.split())
    code, _, said = line("run", "trial", "--max-usd", f"{plan['usd_max'] - 0.01:.2f}")
    assert code == 64
    assert f"may cost {plan['usd_max']:.2f} USD" in said
    named = said.partition("fix: --max-usd ")[2].partition(" ")[0]
    assert float(named) - plan["usd_max"] < 0.0101  # which is rounded
    assert line("run", "trial", "--max-usd", named)[0] == 0


@pytest.mark.parametrize("name", [".sizewell", ".sizewell/evidence"])
def test_a_file_where_the_journal_goes(name: str, world: Pretend, small: str, line: Line) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("x")
    code, _, err = line("run", small, "--yes")
    assert code == 64
    assert f"{name} is no folder" in err
    assert "fix: move it away" in err


def test_a_damaged_journal_of_another_stack_is_no_hindrance(world: Pretend, small: str, line: Line) -> None:
    assert line("run", small, "--yes")[0] == 0
    Path(".sizewell/evidence/other.json").write_text("{")
    code, out, err = line("run", small)
    assert (code, "nothing was built" in out) == (0, True), err
    code, _, err = line("clean")
    assert (code, "other.json: the journal is damaged" in err) == (64, True)


def test_a_folder_that_cannot_be_written(
    world: Pretend, small: str, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is built of which no line could be written before."""

    def denied(path: Path, _: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(journal, "write_whole", denied)
    code, _, err = line("run", small, "--yes")
    assert code == 64, err
    assert ".sizewell/evidence/trial.json: permission denied" in err
    assert world.calls == []


def test_two_at_once(world: Pretend, small: str, line: Line) -> None:
    with journal.held(journal.path_of(Path.cwd(), small)):
        code, _, err = line("run", small, "--yes")
    assert (code, "another `sizewell evidence` works on it" in err) == (64, True)
