"""`sizewell forecast`: months ahead, an estimate beside the bill, and files that the other commands take."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from sizewell.teardown.journal import Journal, connect
from tests.economics.bills import other, row, write

from .conftest import Sizewell

PROGRAM = """import pulumi_aws as aws

aws.ec2.Instance(
    "worker",
    ami="ami-0123456789abcdef0",
    instance_type="g6.xlarge",
    tags={"sizewell-stack": "dev", "sizewell-id": "1", "sizewell-owner": "speech"%s},
)
aws.lambda_.Function("reply", role="arn:aws:iam::123456789012:role/r", handler="a.b", runtime="python3.12",
                     tags={"sizewell-stack": "dev", "sizewell-id": "2"})
"""
NOVEMBER = {"BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z"}
ON = ("--on", "2026-11-22")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: transcriber\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {aws:region: us-east-1}\n")
    (tmp_path / "__main__.py").write_text(PROGRAM % "")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_months_ahead_are_those_of_the_preview(program: Path, sizewell: Sizewell) -> None:
    done = sizewell("forecast", "--months", "2", "--json", *ON)
    assert done.code == 0, done.err
    said = json.loads(done.out)
    rate = json.loads(sizewell("preview", "--json", *ON).out)["after"]["usd_per_month"]["expected"]
    assert said["schema"] == "sizewell.forecast/1"
    assert (said["months"], said["usd_by_month"]) == (["2026-12", "2027-01"], [rate, rate])
    assert said["by_owner"] == {"speech": said["usd"]}
    assert "actual" not in said
    one = next(
        line for line in sizewell("forecast", "--months", "1", *ON).out.splitlines() if line.startswith("stack ")
    )
    assert one.split() == ["stack", "owner", "2026-12", "budget"]


def test_what_is_in_no_total_is_named_as_in_the_preview_and_marks_the_totals(program: Path, sizewell: Sizewell) -> None:
    added = (
        'aws.s3.Bucket("data", tags={"sizewell-stack": "dev"})\n',
        'aws.ec2.Instance("big", ami="ami-1", instance_type="p0.unheard", tags={"sizewell-stack": "dev"})\n',
    )
    (program / "Pulumi.prod.yaml").write_text("config: {aws:region: us-east-1}\n")
    (program / "__main__.py").write_text("import pulumi\n" + PROGRAM % "" + "".join(added))
    (preview,) = json.loads(sizewell("preview", "dev", "--json", *ON).out)["stacks"]
    said = json.loads(sizewell("forecast", "dev", "--months", "2", "--json", *ON).out)
    (dev,) = said["stacks"]
    assert preview["outside"]
    assert dev["outside"] == preview["outside"]
    assert len(dev["unpriced"]) == len(preview["unpriced"]) == 1
    for form in ((), ("--markdown",), ("--html", "-")):
        text = " ".join(sizewell("forecast", "--months", "2", *form, *ON).out.replace("&#39;", "'").split())
        for line in preview["outside"]:
            assert f"dev: outside the totals: {line}" in text.replace("\\", "")
        assert "+ ? forecast" in text
    table = sizewell("forecast", "dev", "--months", "1", *ON).out.splitlines()
    assert "+ ?" in next(each for each in table if each.startswith("dev "))
    (program / "__main__.py").write_text(PROGRAM % "" + added[0])
    assert "USD + ? forecast" in " ".join(sizewell("forecast", "dev", *ON).out.split())
    whole = ', root_block_device={"volume_size": 8, "volume_type": "gp3"})\n'
    (program / "__main__.py").write_text((PROGRAM % "").partition("\n)\naws.lambda_")[0].rstrip(",") + whole)
    assert "+" not in sizewell("forecast", "dev", *ON).out


def test_ends_commitments_and_budgets(program: Path, sizewell: Sizewell) -> None:
    (program / "__main__.py").write_text(PROGRAM % ', "sizewell-expires": "2027-01-11"')
    (program / "catalog").mkdir()
    held = "{cloud: aws, instance_type: g6.xlarge, region: us-east-1, count: 2, usd_per_hour: 0.50, until: 2026-12-31}"
    (program / "catalog/rates.yaml").write_text(f"commitments:\n  - {held}\n")
    (program / "stacks/config").mkdir(parents=True)
    (program / "stacks/config/guardrails.yaml").write_text("budgets: {dev: 400}\n")
    said = json.loads(sizewell("forecast", "--months", "3", "--json", *ON).out)
    dev, unused = said["stacks"]
    machine = next(each for each in dev["lines"] if each["what"].startswith("g6.xlarge"))
    assert machine["usd_by_month"] == ["365.00", "189.52", "0.00"]  # 730 x 0.50; 10 of 31 days at 0.8048
    assert unused["usd_by_month"] == ["365.00", "0.00", "0.00"]
    assert dev["over_budget_in"] == []
    shown = sizewell("forecast", "--months", "3", *ON).out
    assert "its last day is 2026-12-31" in shown
    assert "dev ends on 2027-01-11" in shown
    first, second, third = (
        f"{sum(Decimal(each['usd_by_month'][month]) for each in said['stacks']):,.2f}" for month in range(3)
    )
    assert f"2026-12: {first} USD; 2027-01: {second} USD; 2027-02: {third} USD" in shown


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("2027-01-11T08:00:00Z", "dev ends on 2027-01-11"),
        ("never", "dev: the end of its tags, 'never', is not a date: none is counted"),
    ],
)
def test_an_end_is_read_of_a_date_a_time_and_a_word(program: Path, sizewell: Sizewell, tag: str, said: str) -> None:
    (program / "__main__.py").write_text(PROGRAM % f', "sizewell-expires": "{tag}"')
    assert said in sizewell("forecast", "--months", "3", *ON).out


def test_what_the_bill_proves_is_taken_by_the_real_commands(program: Path, sizewell: Sizewell) -> None:
    tags = {"sizewell-stack": "dev"}
    bill = write(
        program / "october.csv",
        row("521.568", tags={**tags, "user:sizewell-id": "1"}, PricingQuantity="720", ContractedUnitPrice="0.7244"),
        other(
            "0.4",
            tags={**tags, "user:sizewell-id": "2"},
            ServiceName="AWS Lambda",
            PricingUnit="Requests",
            PricingQuantity="2000000",
        ),
        other("77.125", tags={}),
    )
    (program / "taken").write_text("")
    refused = sizewell("forecast", "--actual", str(bill), "--write", "taken", *ON)
    assert (refused.code, "taken" in refused.err, "fix: " in refused.err) == (64, True, True), refused.err
    done = sizewell("forecast", "--actual", str(bill), "--write", "proved", "--json", *ON)
    assert done.code == 0, done.err
    actual = json.loads(done.out)["actual"]
    machine = next(each for each in actual["lines"] if each["what"] == "g6.xlarge, on-demand")
    assert (machine["estimated_usd"], machine["billed_usd"]) == ("587.50", "521.57")
    assert machine["causes"] == {"hours": "-8.05", "price": "-57.88"}
    assert [each["usd"] for each in actual["not_ours"]] == ["77.12"]
    assert Decimal(actual["billed_usd"]) + Decimal("77.12") == Decimal(actual["usd"])
    assert sizewell("prices", "import", "proved/rates.yaml").code == 0
    assert "usd: 0.7244" in (program / "catalog/rates/rates.yaml").read_text()
    preview = json.loads(sizewell("preview", "--usage", "proved/usage.yaml", "--json", *ON).out)
    assert preview["provenance"]["usage"] == "usage.yaml"  # and not "nothing is billed by ..."
    lines = [line for each in preview["stacks"][0]["rows"] for line in each["lines"]]
    assert {line["usd"]["expected"] for line in lines if line["what"].startswith("g6.xlarge")} == {
        "521.57"
    }  # as billed: 720 hours at 0.7244
    assert {line["quantity"]["expected"] for line in lines if "request" in line["unit"]} & {"2", "2000000"}


def test_markdown_and_the_terminal_say_the_same(program: Path, sizewell: Sizewell) -> None:
    write(program / "b.csv", row("600"), row("600"), row("5", **NOVEMBER))
    for form in ((), ("--markdown",)):
        done = sizewell("forecast", "--actual", "b.csv", *form, *ON)
        text = " ".join(done.out.split())
        assert done.code == 0, done.err
        for said in (
            "billed 600.00 USD",
            "counted once: 600.00 USD of 1 row are not counted",
            "is not closed until 2026-12-01: 5.00 USD",
        ):
            assert said in text


def test_the_page_has_the_sums_and_a_line_for_estimate_and_bill(program: Path, sizewell: Sizewell) -> None:
    write(program / "b.csv", row("600"))
    done = sizewell("forecast", "--actual", "b.csv", "--html", "-", *ON)
    assert done.code == 0, done.err
    for said in ("7,093.80 USD", "600.00 USD", 'data-line="estimated"', 'data-line="billed"', "sizewell.forecast/1"):
        assert said in done.out
    assert "<script" not in done.out


def test_what_teardown_saved_is_that_of_the_journal_in_those_months(program: Path, sizewell: Sizewell) -> None:
    (program / "stacks/config").mkdir(parents=True)
    uri = f"file://{program}/journal"
    (program / "stacks/config/teardown.yaml").write_text(f"schema: sizewell.teardown/1\njournal: {uri}\n")
    journal = Journal(connect(uri)).read()
    stop = {"stack": "dev", "subject": "w", "action": "empty", "owner": "speech", "saves_usd_per_month": "730"}
    journal.write("done", datetime(2026, 10, 30, tzinfo=UTC), why="idle", **stop)
    journal.write("done", datetime(2026, 10, 31, tzinfo=UTC), **stop)
    write(program / "b.csv", row("600"))
    done = sizewell("forecast", "--actual", "b.csv", "--teardown", "--json", *ON)
    assert done.code == 0, done.err
    (dev,) = json.loads(done.out)["actual"]["stacks"]
    assert dev["saved_by_teardown_usd"] == "48.00"  # two days of October at a dollar an hour
    assert "what teardown saved lacks what cannot be read: journal/000000000002.json" in done.err


def test_a_tag_that_two_stacks_carry_is_of_the_stack_of_that_name(program: Path, sizewell: Sizewell) -> None:
    (program / "Pulumi.zeta.yaml").write_text("config: {aws:region: us-east-1}\n")
    write(program / "b.csv", row("600"))
    actual = json.loads(sizewell("forecast", "--actual", "b.csv", "--json", *ON).out)["actual"]
    assert [each["stack"] for each in actual["stacks"]] == ["dev"]
    assert [each["stack"] for each in actual["without_rows"]] == ["zeta"]


def test_a_row_of_another_projects_stack_of_that_name_is_none_of_a_program_without_tags(
    program: Path, sizewell: Sizewell
) -> None:
    theirs = row("99", tags={"user:sizewell-stack": "dev", "user:sizewell-project": "shop"})
    mine = row("5", tags={"user:sizewell-stack": "dev", "user:sizewell-project": "transcriber"})
    write(program / "b.csv", row(), theirs, mine)
    actual = json.loads(sizewell("forecast", "--actual", "b.csv", "--json", *ON).out)["actual"]
    assert (actual["billed_usd"], [each["usd"] for each in actual["not_ours"]]) == ("592.50", ["99.00"])


def test_other_currencies_are_said_and_a_bill_without_dollars_too(program: Path, sizewell: Sizewell) -> None:
    euros = row("12", BillingCurrency="EUR")
    write(program / "both.csv", row(), {**euros, "Tags": ""})
    said = " ".join(sizewell("forecast", "--actual", "both.csv", *ON).out.split())
    assert "in no figure, as no US dollars are stated beside it: 12.00 EUR: none of these stacks 12.00" in said
    write(program / "stated.csv", {**euros, "x_EffectiveCostInUsd": "13"})
    said = " ".join(sizewell("forecast", "--actual", "stated.csv", *ON).out.split())
    assert "billed 13.00 USD" in said
    assert "1 row in EUR, read at the US dollars that the bill states beside" in said
    write(program / "euros.csv", euros)
    said = " ".join(sizewell("forecast", "--actual", "euros.csv", *ON).out.split())
    assert "no row of the bill is in US dollars: nothing is compared" in said
    assert "12.00 EUR: dev 12.00" in said


def test_a_month_before_the_first_known_price_is_estimated_at_todays(program: Path, sizewell: Sizewell) -> None:
    old = {"BillingPeriodStart": "2025-10-01T00:00:00Z", "BillingPeriodEnd": "2025-11-01T00:00:00Z"}
    write(program / "b.csv", row("600", **old))
    (line,) = json.loads(sizewell("forecast", "--actual", "b.csv", "--json", *ON).out)["actual"]["lines"][:1]
    assert line["estimated_usd"] == "587.50"
    assert line["note"] == "estimated at today's price, as none of that month is known"


@pytest.mark.parametrize(
    ("own", "estimated"),
    [
        ("commitments:\n  - {%s, count: 1, usd_per_hour: 0.50, from: 2025-10-16, until: 2026-10-15}\n", "479.84"),
        ("commitments:\n  - {%s, count: 1, usd_per_hour: 0.50, from: 2026-10-16, until: 2027-10-15}\n", "472.67"),
        ("savings_plans:\n  - {cloud: aws, usd_per_hour: 0.80, percent: {'*': 50}, until: 2026-10-15}\n", "445.37"),
        ("commitments:\n  - {%s, count: 1, usd_per_hour: 0.50, from: 2025-10-01, until: 2026-10-31}\n", "365.00"),
    ],
)
def test_a_commitment_that_begins_or_ends_in_a_billed_month_counts_by_its_days(
    program: Path, sizewell: Sizewell, own: str, estimated: str
) -> None:
    held = "cloud: aws, instance_type: g6.xlarge, region: us-east-1"
    (program / "own.yaml").write_text(own.replace("%s", held))
    write(program / "b.csv", row("600"))
    asked = ("--actual", "b.csv", "--discounts", "own.yaml", "--months", "1", "--json", *ON)
    lines = json.loads(sizewell("forecast", *asked).out)["actual"]["lines"]
    sums = [Decimal(each["estimated_usd"]) for each in lines if "g6.xlarge" in each["what"]]
    assert sum(sums) == Decimal(estimated)  # 365.00 or 293.75 with it, 587.50 without, each by its 15 or 16 of 31 days


TWO = """import pulumi, pulumi_aws as aws
kind, count = {"dev": ("m5.large", 2), "prod": ("g4dn.xlarge", 1)}[pulumi.get_stack()]
for number in range(count):
    aws.ec2.Instance(f"vm-{number}", ami="ami-0123456789abcdef0", instance_type=kind,
                     tags={"sizewell-stack": pulumi.get_stack()})
"""


def test_a_savings_plan_is_spent_once_in_a_month_that_lacks_some_prices(program: Path, sizewell: Sizewell) -> None:
    (program / "__main__.py").write_text(TWO)
    (program / "Pulumi.prod.yaml").write_text("config: {aws:region: us-east-1}\n")
    plan = '{cloud: aws, usd_per_hour: 0.10, percent: {"*": 28}, from: 2026-01-01, until: 2027-06-30}'
    (program / "own.yaml").write_text(f"savings_plans:\n  - {plan}\n")
    write(program / "b.csv", row("1"), row("1", tags={"sizewell-stack": "prod"}))
    asked = ("--actual", "b.csv", "--discounts", "own.yaml", "--months", "1", "--json", *ON)
    said = json.loads(sizewell("forecast", *asked).out)
    noted = {each["stack"] for each in said["actual"]["lines"] if "at today's price" in each["note"]}
    assert noted == {"dev"}  # of m5.large no price of October is known, of g4dn.xlarge one is
    then = {each["stack"]: each["estimated_usd"] for each in said["actual"]["stacks"]}
    assert then == {each["stack"]: each["usd_by_month"][0] for each in said["stacks"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--write", "x"), "--write: rests on a bill"),
        (("--teardown",), "--teardown: rests on a bill"),
        (("--json", "--markdown"), "--json and --markdown are forms of one answer"),
        (("--actual", "none.csv"), "none.csv"),
        (("--actual", "Pulumi.yaml"), "is no bill in the columns of FOCUS"),
        (("other",), "other"),
        (("--months", "0"), "--months"),
    ],
)
def test_what_is_wrong_is_said(program: Path, sizewell: Sizewell, arguments: tuple[str, ...], said: str) -> None:
    done = sizewell("forecast", *arguments, *ON)
    assert (done.code, said in done.err) == (64, True), done.err


def test_a_stack_whose_program_fails_leaves_the_others_their_figures(program: Path, sizewell: Sizewell) -> None:
    (program / "Pulumi.broken.yaml").write_text("config: {}\n")
    (program / "__main__.py").write_text(
        "import pulumi\nif pulumi.get_stack() == 'broken':\n    raise RuntimeError('no')\n" + PROGRAM % ""
    )
    done = sizewell("forecast", *ON)
    assert done.code == 69
    assert "broken is in no figure" in done.out
    assert "speech" in done.out


def test_prices_import_takes_a_bill_in_parquet_and_from_microsoft(program: Path, sizewell: Sizewell) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    azure = {"SkuPriceDetails": "", "ProviderName": "Microsoft", "RegionId": "eastus", "ContractedUnitPrice": "3.4"}
    details = '{"ServiceType": "Standard_NC24ads_A100_v4"}'
    linux = row(x_SkuDetails=details, x_SkuMeterSubcategory="NCads A100 v4 Series", **azure)
    windows = row(x_SkuDetails=details, x_SkuMeterSubcategory="NCads A100 v4 Series Windows", **azure)
    rows = [{**row(ContractedUnitPrice="0.75"), "x_SkuDetails": "", "x_SkuMeterSubcategory": ""}, linux, windows]
    parquet.write_table(pa.Table.from_pylist(rows), program / "bill.parquet")
    write(program / "bill.csv", *rows)
    for name in ("bill.parquet", "bill.csv"):
        done = sizewell("prices", "import", name, "--dry-run")
        assert done.code == 0, done.err
        assert "g6.xlarge, region: us-east-1, market: on-demand, usd: 0.75" in done.out
        assert "Standard_NC24ads_A100_v4, region: eastus, market: on-demand, usd: 3.4" in done.out
        assert "1 rows left out: an operating system other than Linux" in done.err
    parquet.write_table(pa.Table.from_pylist([{"Tags": "x"}]), program / "none.parquet")
    done = sizewell("prices", "import", "none.parquet")
    assert (done.code, "is no bill in the columns of FOCUS: lacks ContractedUnitPrice" in done.err) == (64, True)
