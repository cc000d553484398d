"""`sizewell prices`: show, diff and import, and what `size` says of old prices."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal

import pytest

from sizewell.cli.main import main
from sizewell.sizing import catalog
from sizewell.sizing.catalog.imports import as_yaml, read_rates
from sizewell.sizing.catalog.rates import read_discounts

FOCUS = (
    "ServiceProviderName,ChargeCategory,ChargePeriodStart,PricingCategory,PricingUnit,ContractedUnitPrice,"
    "ListUnitPrice,BillingCurrency,RegionId,SkuMeter,SkuPriceDetails\n"
)
LINUX = '"{""InstanceType"": ""g6.xlarge"", ""OperatingSystem"": ""Linux""}"'


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys, *words):
    code = main(["prices", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_show_says_price_source_date_age_and_what_is_not_used(capsys, project):
    code, out, _ = said(
        capsys, "show", "p5.48xlarge", "--region", "us-west-2", "--market", "spot", "--on", "2026-11-20"
    )
    assert code == 0
    assert "17.84685   2026-01-01   323 d old" in out
    assert "median of 4 quotes, 9.3722 to 19.3455" in out
    assert "far below the usual price, no zone to choose: 9.3722 in usw2-az4" in out


def test_show_has_the_earlier_prices_as_json(capsys, project):
    code, out, _ = said(
        capsys, "show", "p5en.48xlarge", "--region", "us-east-1", "--market", "capacity-block", "--on", "2026-11-20", "--json"
    )  # fmt: skip
    (quote,) = json.loads(out)
    assert code == 0
    assert quote["stale"] is True
    days = [row["date"] for row in quote["earlier"]]
    assert days == sorted(days, reverse=True)
    assert len(days) >= 2
    assert quote["date"] > days[0]


def test_an_unknown_price_is_a_question_mark_with_the_estimate_and_exit_code_3(capsys, project):
    code, out, _ = said(capsys, "show", "g5.2xlarge", "--region", "us-west-1", "--on", "2026-11-20")
    assert code == 3
    assert "aws us-west-1 on-demand          ?" in out
    assert "about 1.4545 USD an hour, 1.4074 to 1.5866 by 19 sister regions" in " ".join(out.split())


def test_show_of_a_fee_and_of_nothing_known(capsys, project):
    code, out, _ = said(capsys, "show", "ebs.gp3.gb_month", "--region", "us-east-1", "--on", "2026-11-20")
    assert (code, "0.08" in out) == (0, True)
    code, out, _ = said(capsys, "show", "rds.postgresql.single_az.db.r6g.large", "--region", "eu-west-1")
    assert (code, "0.25" in out) == (0, True)  # of a list by class, which no table has
    code, _, err = said(capsys, "show", "p5.48xlrge")
    assert code == 64
    assert "did you mean p5.48xlarge" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("p5.48xlarge", "--cloud", "gpc"), "--cloud: the catalog has no cloud 'gpc'\n  fix: did you mean gcp?"),
        (
            ("p5.48xlarge", "--cloud", "aws", "--region", "us-east1"),
            "--region: the catalog has no region 'us-east1' of aws",
        ),
        (("p5.48xlarge", "--market", "spto"), "--market: the catalog has no market 'spto'\n  fix: did you mean spot?"),
        (("nat.gb", "--region", "mars"), "--region: the catalog has no region 'mars'"),
        (("m5.larg",), "fix: did you mean m5.large"),  # of a list that is read when it is asked
        (("P5.48XLARGE",), "fix: did you mean p5.48xlarge"),
    ],
)
def test_a_slip_in_a_name_is_said_and_is_no_unknown_price(capsys, project, words, message):
    code, out, err = said(capsys, "show", *words)
    assert (code, out) == (64, "")
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("p5.48xlarge", "--cloud", "aws", "--region", "me-south-1"), ("no price of p5.48xlarge " "is known " "for aws " "me-south-1; known in ")),
        (("lb.alb.hour", "--region", "westeurope"), "no price of lb.alb.hour is known for westeurope; known in "),
    ],
)  # fmt: skip
def test_a_price_that_is_not_known_somewhere_is_said_with_where_it_is(capsys, project, words, message):
    code, _, err = said(capsys, "show", *words)
    assert code == 3
    assert message in err


def test_an_own_rate_is_shown_as_one_and_is_never_old(capsys, project):
    (project / "catalog").mkdir()
    (project / "catalog/rates.yaml").write_text(
        "rates: [{cloud: aws, instance_type: p5.48xlarge, market: spot, usd: 9.5}]\n"
    )
    _, out, _ = said(
        capsys, "show", "p5.48xlarge", "--region", "us-west-2", "--market", "spot", "--on", "2026-11-20", "--json"
    )
    (quote,) = json.loads(out)
    assert (quote["usd_per_hour"], quote["source"], quote["stale"]) == ("9.5", "own rate", False)


@pytest.mark.parametrize(
    ("rate", "fee", "paid"),
    [
        ("{cloud: aws, percent: 10}", "ebs.gp3.gb_month", ("0.072", "own discount 10 %")),
        ("{fee: ebs.gp3.gb_month, usd: 0.07}", "ebs.gp3.gb_month", ("0.07", "own rate")),
        (
            "{cloud: aws, fee: dynamodb.read_unit.hour, usd: 0.00013}",
            "dynamodb.read_unit.hour",
            ("0.00013", "own rate"),
        ),
    ],
)
def test_an_own_rate_of_a_fee_is_shown_as_one(capsys, project, rate, fee, paid):
    usd, said = paid
    (project / "catalog").mkdir(exist_ok=True)
    (project / "catalog/rates.yaml").write_text(f"rates:\n  - {rate}\n")
    assert main(["prices", "show", fee, "--region", "us-east-1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["usd"] == usd
    assert said in row["source"]
    assert main(["prices", "show", fee, "--region", "us-east-1"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_diff_of_a_recorded_month(capsys, project):
    """From mid-July to mid-October 2026: capacity blocks of p5en rose by 15 %, spot of A3 Mega fell."""
    code, out, _ = said(capsys, "diff", "--since", "2026-07-15", "--on", "2026-10-15", "--json")
    moved = {(m["instance_type"], m["region"], m["market"]): m for m in json.loads(out)}
    assert code == 0
    assert moved["p5en.48xlarge", "us-east-1", "capacity-block"]["percent"] == 15.0
    assert moved["a3-megagpu-8g", "us-west4", "spot"]["percent"] == -23.31
    assert all(m["before"] != m["after"] for m in moved.values())
    code, out, _ = said(capsys, "diff", "--since", "2026-11-18", "--on", "2026-11-20")
    assert out == "no price changed between 2026-11-18 and 2026-11-20\n"
    assert said(capsys, "diff", "--since", "2026-11-20", "--on", "2026-11-20")[0] == 64


def test_a_table_of_rates_becomes_a_file_of_rates_that_counts(capsys, project):
    (project / "deal.csv").write_text(  # with the mark that spreadsheets write in front
        "\ufeffcloud,instance_type,region,market,usd\naws,g6.xlarge,us-east-1,on-demand,0.61\naws,g6.2xlarge,,on-demand,0.7\n"
    )
    code, out, _ = said(capsys, "import", "deal.csv")
    assert (code, out) == (0, "wrote catalog/rates/deal.yaml: 2 rates; review and commit it\n")
    assert str(catalog.load().price("aws", "g6.xlarge", "us-east-1").amount) == "0.61"
    assert said(capsys, "import", "deal.csv")[0] == 0  # again: the same file


def test_a_dry_run_refuses_what_the_import_refuses(capsys, project):
    (project / "own.csv").write_text("cloud,instance_type,region,market,usd\naws,g6.xlarge,us-esat-1,on-demand,0.6\n")
    answers = [said(capsys, "import", "own.csv", *dry) for dry in (["--dry-run"], [])]
    assert answers[0] == answers[1]
    assert (answers[0][0], "us-esat-1" in answers[0][2]) == (64, True)
    assert not (project / "catalog").exists()


def test_a_focus_export_gives_the_contracted_rates_and_counts_the_rest(capsys, project):
    rows = [
        f"AWS,Usage,2026-10-01T00:00:00Z,Standard,Hours,0.61,0.8048,USD,us-east-1,BoxUsage:g6.xlarge,{LINUX}",
        f"AWS,Usage,2026-11-01T00:00:00Z,Standard,Hours,0.59,0.8048,USD,us-east-1,BoxUsage:g6.xlarge,{LINUX}",
        "AWS,Usage,2026-11-01T00:00:00Z,Standard,Hours,0.7,0.9776,USD,us-east-1,USE1-BoxUsage:g6.2xlarge,",
        "AWS,Usage,2026-11-01T00:00:00Z,Standard,GB-Months,0.08,0.08,USD,us-east-1,EBS:gp3,",
        "AWS,Tax,2026-11-01T00:00:00Z,,Hours,0.08,0.08,USD,us-east-1,,",
        "AWS,Usage,2026-11-01T00:00:00Z,Dynamic,Hours,0.2,0.2,USD,us-east-1,SpotUsage:g6.xlarge,",
        (
            "Microsoft,Usage,2026-11-01T00:00:00Z,Standard,1 "
            'Hour,3.1,3.673,USD,eastus,,"{""InstanceType"": ""Standard_NC24ads_A100_v4""}"'
        ),
    ]
    (project / "bill.csv").write_text(FOCUS + "\n".join(rows) + "\n")
    code, out, err = said(capsys, "import", "bill.csv", "--dry-run")
    assert code == 0
    assert out.splitlines()[2:] == [
        "  - {cloud: aws, instance_type: g6.2xlarge, region: us-east-1, market: on-demand, usd: 0.7}",
        "  - {cloud: aws, instance_type: g6.xlarge, region: us-east-1, market: on-demand, usd: 0.59}",
        "  - {cloud: azure, instance_type: Standard_NC24ads_A100_v4, region: eastus, market: on-demand, usd: 3.1}",
    ]
    assert "1 rows left out: not billed by the hour" in err
    assert "1 rows left out: spot, whose price changes" in err
    assert not (project / "catalog").exists()
    assert said(capsys, "import", "bill.csv")[0] == 0
    assert str(catalog.load().price("aws", "g6.xlarge", "us-east-1").amount) == "0.59"


@pytest.mark.parametrize(
    ("operation", "description"),
    [("RunInstances:0002", ""), ("RunInstances:000g", ""), ("", "$0.33 per On Demand Windows g6.xlarge Instance Hour")],
)
def test_an_hour_of_another_system_is_no_rate_of_linux(capsys, project, operation, description):
    columns = FOCUS.strip() + ",x_Operation,ChargeDescription\n"
    row = "AWS,Usage,2026-11-01T00:00:00Z,Standard,Hours,0.6,0.8,USD,us-east-1,BoxUsage:g6.{},,{},{}\n"
    linux = row.format("2xlarge", "RunInstances", "$0.9 per On Demand Linux g6.2xlarge Instance Hour")
    (project / "bill.csv").write_text(columns + linux + row.format("xlarge", operation, description))
    code, out, err = said(capsys, "import", "bill.csv", "--dry-run")
    assert (code, "g6.2xlarge" in out, "g6.xlarge" in out) == (0, True, False)
    assert "1 rows left out: an operating system other than Linux" in err


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.csv", FOCUS + f"AWS,Usage,2026,Standard,Hours,0.61,1,EUR,us-east-1,x,{LINUX}\n", "a.csv:2:38: BillingCurrency: must be USD, got 'EUR'"),
        ("b.csv", FOCUS + f"AWS,Usage,2026,Standard,Hours,-1,1,USD,us-east-1,x,{LINUX}\n", "b.csv:2:31: ContractedUnitPrice: must be more than 0, got '-1'"),
        ("c.csv", FOCUS + f"AWS,Usage,2026,Standard,Hours,0.61,1,USD,us-east-1,x,{LINUX}\nAWS,Usage,2026,Sta", "c.csv:3: has fewer or more cells than columns: is the file complete?"),
        ("d.csv", FOCUS + "".join(f"AWS,Usage,2026,Standard,Hours,{usd},1,USD,us-east-1,x,{LINUX}\n" for usd in ("0.5", "0.6")), "d.csv:3:31: ContractedUnitPrice: contradicts line 2"),
        ("e.csv", "<html>error</html>\n", "is not a rates table, bill or price sheet: <html>error</html>"),
        ("f.csv", "cloud,instance_type,usd\naws,p5.48xlrge,3\n", ("catalog/rates/f.yaml:3:33: " "rates[0].instance_type: no machine type 'p5.48xlrge' of aws")),
        ("g.csv", "cloud,instance_type,usd\naws,p5.48xlarge,three\n", "g.csv:2:17: rates[0].usd: must be a number"),
        ("h.yaml", "rates: []\n", "has no rates"),
        ("i.csv", "cloud;instance_type;usd\naws;m5.large;0,08\n", "its columns are separated by a semicolon, must be by a comma"),
        ("j.csv", FOCUS + f"AWS,Usage,2026,Standard,Hours,0.61,1,EUR,us-east-1,x,{LINUX}\n", "export it in US dollars, or delete the rows"),
    ],
)  # fmt: skip
def test_bad_input_is_one_message_and_writes_nothing(capsys, project, name, text, fault):
    (project / name).write_text(text)
    code, _, err = said(capsys, "import", name)
    assert code == 64
    assert fault in err
    assert not list(project.rglob("catalog/**/*.yaml"))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (
            gzip.compress(b"cloud,usd\n", mtime=0),
            "deal.csv: is compressed with gzip\n  fix: unpack it first: gunzip deal.csv",
        ),
        (b"PK\x03\x04....", "deal.csv: is a zip archive or a spreadsheet\n  fix: unpack it, or save the sheet as CSV"),
        (b"PAR1....", "deal.csv: cannot be read: Parquet magic bytes not found in footer"),
    ],
)
def test_a_file_that_is_packed_is_said_to_be(capsys, project, start, message):
    (project / "deal.csv").write_bytes(start)
    code, _, err = said(capsys, "import", "deal.csv")
    assert code == 64
    assert message in err


def test_a_region_that_is_misspelt_is_not_asked_for(capsys, project):
    code, _, err = said(capsys, "refresh", "--cloud", "aws", "--region", "us-east1")
    assert code == 64
    assert "--region: aws has no us-east1\n  fix: did you mean us-east-1" in err
    assert not (project / ".sizewell-refresh").exists()


def test_two_files_of_rates_that_contradict_are_named_and_the_second_is_not_kept(capsys, project):
    (project / "a.csv").write_text("cloud,usd,instance_type\naws,3,g6.xlarge\n")
    (project / "b.csv").write_text("cloud,usd,instance_type\naws,4,g6.xlarge\n")
    assert said(capsys, "import", "a.csv")[0] == 0
    code, _, err = said(capsys, "import", "b.csv")
    assert code == 64
    assert "catalog/rates/b.yaml:3:5: rates[0]: contradicts catalog/rates/a.yaml:3" in err
    assert [path.name for path in (project / "catalog/rates").iterdir()] == ["a.yaml"]


def test_rates_survive_being_written_and_read(tmp_path):
    text = (
        "rates:\n  - {cloud: aws, fee: '*', percent: 12.5}\n  - {usd: 3, instance_type: g6.xlarge}\n"
        "commitments:\n  - "
        "{cloud: aws, instance_type: g6.xlarge, region: us-east-1, count: 2, usd_per_hour: 0.52, until: 2027-06-30}\n"
        "billing_accounts:\n  - {cloud: aws, id: '012345678901', name: 'Example: Ltd'}\n  - "
        "{cloud: gcp, id: 01ABCD-234567-89EF01}\n"
    )
    path = tmp_path / "r.yaml"
    path.write_text(text)
    rates = read_rates(path).rates
    assert [account.id for account in rates.billing_accounts] == ["012345678901", "01ABCD-234567-89EF01"]
    path.write_text(as_yaml(rates, "r.yaml"))
    assert read_discounts(path) == rates


def test_size_names_the_old_prices_that_an_answer_rests_on_by_their_kind(capsys, project):
    (project / "w.yaml").write_text(
        "name: w\nkind: notebook\nresources: {instance_type: p4d.24xlarge}\ninfra: aws/us-east-1\nspot_policy: "
        "on-demand\n"
    )
    (project / "spot.yaml").write_text((project / "w.yaml").read_text().replace("policy: on-demand", "policy: spot"))
    main(["size", "w.yaml", "--on", "2026-11-20"])
    assert "price of p4d.24xlarge" not in capsys.readouterr().err  # 123 days: fresh for an on-demand price
    main(["size", "w.yaml", "--on", "2027-11-20"])
    assert (
        "the on-demand price of p4d.24xlarge in us-east-1 is from 2026-07-20, 488 days old (limit 180"
        in capsys.readouterr().err
    )
    main(["size", "spot.yaml", "--on", "2026-02-20"])
    assert (
        "the spot price of p4d.24xlarge in us-east-1 is from 2026-01-01, 50 days old (limit 30"
        in capsys.readouterr().err
    )


SHEET = (
    "MeterCategory,MeterSubCategory,MeterName,MeterRegion,Product,MarketPrice,UnitPrice,UnitOfMeasure,PriceType,Currency\n"
    "Virtual Machines,NCADSA100v4 Series,NC24ads A100 v4,EU West,NC24ads A100 v4 - EU West,4.775,4.2975,1 "
    "Hour,Consumption,USD\n"
    "Virtual Machines,NCADSA100v4 Series,NC24ads A100 v4,US East,NC24ads A100 v4 - US East,3.673,3.3057,1 "
    "Hour,Consumption,USD\n"
    "Virtual Machines,NCADSA100v4 Series,NC48ads A100 v4,EU West,NC48ads,9.55,8.595,1 Hour,Consumption,USD\n"
    "Virtual Machines,NCADSA100v4 Series,NC48ads A100 v4,US East,NC48ads,7.346,7.346,1 Hour,Consumption,USD\n"
    "Virtual Machines,NCADSA100v4 Series Windows,NC24ads A100 v4,EU West,Windows,9,1,1 Hour,Consumption,USD\n"
    "Virtual Machines,NCADSA100v4 Series,NC24ads A100 v4 Spot,EU West,NC24ads,2,1,1 Hour,Consumption,USD\n"
    "Virtual Machines,X Series,X99 v9,EU West,X,2,1,1 Hour,Consumption,USD\n"
    "Virtual Machines,NCADSA100v4 Series,NC24ads A100 v4,EU West,NC24ads,9000,8000,1 Hour,ReservedInstance,USD\n"
    "Storage,Premium SSD,P10 LRS Disk,EU West,P10,21.68,19.5,1/Month,Consumption,USD\n"
)


def test_azures_price_sheet_gives_percents_off_the_list(capsys, project):
    (project / "sheet.csv").write_text(SHEET)
    code, _, err = said(capsys, "import", "sheet.csv")
    assert code == 0, err
    rates = (project / "catalog/rates/sheet.yaml").read_text()
    assert "{cloud: azure, instance_type: Standard_NC24ads_A100_v4, market: on-demand, percent: 10}" in rates
    assert "NC48ads" not in rates
    for reason in (
        "differs by region",
        "that the catalog does not have",
        "not a virtual machine",
        "no pay-as-you-go",
        "spot",
    ):
        assert reason in err
    own = catalog.load().price("azure", "Standard_NC24ads_A100_v4", "westeurope", "on-demand").amount
    listed = (
        catalog.load(catalog.loading.DATA).price("azure", "Standard_NC24ads_A100_v4", "westeurope", "on-demand").amount
    )
    assert own == listed * Decimal("0.9")


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("4.2975", "5.2975", ":2:93: UnitPrice"),
        ("4.2975", "free", ":2:93: UnitPrice"),
        ("Consumption,USD", "Consumption,EUR", ":2:119: Currency"),
        (",3.3057,1 Hour,Consumption,USD", ",3.3057", "sheet.csv:3: has fewer or more cells"),
    ],
)
def test_a_price_sheet_that_is_wrong_is_named_by_line_and_column_and_writes_nothing(
    capsys, project, before, after, fault
):
    (project / "sheet.csv").write_text(SHEET.replace(before, after, 1))
    code, _, err = said(capsys, "import", "sheet.csv")
    assert (code, fault in err) == (64, True), err
    assert not (project / "catalog").exists()


# --- AWS: the Cost and Usage Report, by the columns of docs.aws.amazon.com/cur (data dictionary, versions 1 and 2)

REPORT = (
    "identity_line_item_id,line_item_usage_start_date,line_item_line_item_type,line_item_usage_type,line_item_operation,"
    "line_item_currency_code,line_item_unblended_rate,line_item_net_unblended_rate,pricing_unit,"
    "pricing_public_on_demand_rate,product_region_code,product_instance_type\n"
    "a,2026-10-01T00:00:00Z,Usage,USE1-BoxUsage:g6.xlarge,RunInstances,USD,0.8048,0.7,Hrs,0.8048,us-east-1,g6.xlarge\n"
    "b,2026-11-01T00:00:00Z,Usage,BoxUsage:g6.xlarge,RunInstances,USD,0.8048,0.61,Hrs,0.8048,us-east-1,g6.xlarge\n"
    "c,2026-11-01T00:00:00Z,Usage,EUC1-BoxUsage:g6.xlarge,RunInstances,USD,0.9,,Hrs,1.0062,eu-central-1,g6.xlarge\n"
    "d,2026-11-01T00:00:00Z,Usage,BoxUsage:g6.2xlarge,RunInstances:0002,USD,1.4,1.2,Hrs,1.4,us-east-1,g6.2xlarge\n"
    "e,2026-11-01T00:00:00Z,Usage,SpotUsage:g6.xlarge,RunInstances:SV001,USD,0.3,0.3,Hrs,0.8048,us-east-1,g6.xlarge\n"
    "f,2026-11-01T00:00:00Z,SavingsPlanCoveredUsage,BoxUsage:g6.xlarge,RunInstances,USD,0.5,0.5,Hrs,0.8,us-east-1,g6.xlarge\n"
    "g,2026-11-01T00:00:00Z,Usage,EBS:VolumeUsage.gp3,CreateVolume-Gp3,USD,0.08,0.07,GB-Mo,0.08,us-east-1,\n"
    "h,2026-11-01T00:00:00Z,Usage,BoxUsage:t3.micro,RunInstances,USD,0.0000000000,,Hrs,0.0104,us-east-1,t3.micro\n"
    "i,2026-11-01T00:00:00Z,Tax,,,USD,,,,,us-east-1,\n"
)
FIRST = {  # the same columns in a report of version 1
    "identity_line_item_id": "identity/LineItemId", "line_item_usage_start_date": "lineItem/UsageStartDate",
    "line_item_line_item_type": "lineItem/LineItemType", "line_item_usage_type": "lineItem/UsageType",
    "line_item_operation": "lineItem/Operation", "line_item_currency_code": "lineItem/CurrencyCode",
    "line_item_unblended_rate": "lineItem/UnblendedRate", "line_item_net_unblended_rate": "lineItem/NetUnblendedRate",
    "pricing_unit": "pricing/unit", "pricing_public_on_demand_rate": "pricing/publicOnDemandRate",
    "product_region_code": "product/regionCode", "product_instance_type": "product/instanceType",
}  # fmt: skip


@pytest.mark.parametrize(
    "bill",
    [
        FOCUS + "".join(f"AWS,Usage,2026,Standard,Hours,{usd},1,USD,us-east-1,x,{LINUX}\n" for usd in ("0.00", "0.61")),
        "\n".join(SHEET.splitlines()[:3]).replace("4.2975", "0") + "\n",
    ],
    ids=["focus", "azure"],
)
def test_a_line_that_was_free_refuses_no_other(capsys, project, bill):
    """Of a free tier, or paid by a credit."""
    (project / "bill.csv").write_text(bill)
    code, out, err = said(capsys, "import", "bill.csv", "--dry-run")
    assert (code, "1 rows left out: free of charge" in err, out.count("instance_type")) == (0, True, 1), err


@pytest.mark.parametrize("version", [1, 2])
def test_the_report_of_aws_gives_the_rates_after_discounts_and_counts_the_rest(capsys, project, version):
    head, _, rows = REPORT.partition("\n")
    names = [FIRST[name] for name in head.split(",")] if version == 1 else head.split(",")
    (project / "report.csv").write_text(",".join(names) + "\n" + rows)
    code, out, err = said(capsys, "import", "report.csv", "--dry-run")
    assert code == 0, err
    assert out.splitlines()[2:] == [
        "  - {cloud: aws, instance_type: g6.xlarge, region: eu-central-1, market: on-demand, usd: 0.9}",
        "  - {cloud: aws, instance_type: g6.xlarge, region: us-east-1, market: on-demand, usd: 0.61}",
    ]
    for reason in (
        "2 rows left out: no on-demand usage",
        "1 rows left out: no machine type named",
        "1 rows left out: an operating system other than Linux",
        "1 rows left out: free of charge",
        "1 rows left out: spot, whose price changes",
    ):
        assert reason in err
    assert said(capsys, "import", "report.csv")[0] == 0
    assert str(catalog.load().price("aws", "g6.xlarge", "us-east-1").amount) == "0.61"


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("USD,0.8048,0.61", "EUR,0.8048,0.61", "report.csv:3:62: line_item_currency_code: must be USD, got 'EUR'"),
        (
            "USD,0.8048,0.61",
            "USD,0.8048,-1",
            "report.csv:3:73: line_item_net_unblended_rate: must be more than 0, got '-1'",
        ),
        ("USD,0.8048,0.61", "USD,0.8048,n/a", "report.csv:3:73: line_item_net_unblended_rate"),
        (
            "a,2026-10-01",
            "a,2026-11-01",
            "report.csv:3:73: line_item_net_unblended_rate: contradicts line 2: two prices for aws g6.xlarge us-east-1 on-demand",
        ),
        (",Hrs,1.0062,eu-central-1,g6.xlarge", ",Hrs", "report.csv:4: has fewer or more cells than columns"),
    ],
)
def test_a_report_of_aws_that_is_wrong_is_named_by_line_and_column_and_writes_nothing(
    capsys, project, before, after, fault
):
    (project / "report.csv").write_text(REPORT.replace(before, after, 1))
    code, _, err = said(capsys, "import", "report.csv")
    assert (code, fault in err) == (64, True), err
    assert not (project / "catalog").exists()


# --- Google: the pricing export, by the fields of
# docs.cloud.google.com/billing/…/export-data-bigquery-tables/pricing-data


def sku(description, unit, listed, own=None, *, regions=("us-central1",), day="2026-11-20"):
    def price(usd):
        tier = {
            "pricing_unit_quantity": "1",
            "start_usage_amount": "0",
            "usd_amount": usd,
            "account_currency_amount": "9",
        }
        return {"aggregation_info": {"aggregation_level": "ACCOUNT"}, "tiered_rates": [tier]}

    return {
        "pricing_as_of_time": f"{day} 08:00:00 UTC", "billing_account_id": "012345-678901-ABCDEF",
        "service": {"id": "6F81-5844-456A", "description": "Compute Engine"},
        "sku": {"id": "2E27-4F75-95CD", "description": description}, "pricing_unit": unit,
        "geo_taxonomy": {"type": "REGIONAL", "regions": list(regions)}, "account_currency_code": "EUR",
        "list_price": price(listed), "billing_account_price": None if own is None else price(own),
    }  # fmt: skip


G2 = [
    sku("G2 Instance Core running in Americas", "h", "0.024988", "0.020"),
    sku("G2 Instance Ram running in Americas", "GiBy.h", "0.002927", "0.002"),
    sku("Nvidia L4 GPU running in Americas", "h", "0.560040", "0.500"),
    sku("N2 Instance Core running in Americas", "h", "0.031611"),
    sku("N2 Instance Ram running in Americas", "GiBy.h", "0.004237"),
    sku("Storage PD Capacity", "GiBy.mo", "0.04", "0.03"),
    sku("Nvidia L4 GPU running in Americas", "h", "0.560040", "0.100", day="2026-11-19"),
]


@pytest.mark.parametrize("form", ["sheet.jsonl", "sheet.json"])
def test_the_price_sheet_of_google_gives_the_sum_of_the_parts_of_a_contract(capsys, project, form):
    text = json.dumps(G2) if form == "sheet.json" else "".join(json.dumps(row) + "\n" for row in G2)
    (project / form).write_text(text)
    code, _, err = said(capsys, "import", form)
    assert code == 0, err
    assert "1 rows left out: not a part of a machine" in err
    assert "1 rows left out: of an earlier day" in err
    known = catalog.load()
    own = known.price("gcp", "g2-standard-8", "us-central1", "on-demand").amount  # 8 cores, 32 GiB, one L4
    assert own == 8 * Decimal("0.020") + 32 * Decimal("0.002") + Decimal("0.5")
    rates = (project / "catalog/rates/sheet.yaml").read_text()
    assert "instance_type: n2-" not in rates  # its parts cost what the list says


def test_the_price_sheet_of_google_prices_machines_of_which_the_catalog_has_only_a_list_price(capsys, project):
    """Cores are in the name, and memory is what the list price has beside them; what does not fit is said."""
    rows = [
        sku("N2 Instance Core running in Americas", "h", "0.031611", "0.0268"),
        sku("N2 Instance Ram running in Americas", "GiBy.h", "0.004237", "0.0036"),
        sku("C3 Instance Core running in Americas", "h", "0.05", "0.04"),
        sku("C3 Instance Ram running in Americas", "GiBy.h", "0.001", "0.0009"),
    ]
    (project / "sheet.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = said(capsys, "import", "sheet.jsonl")
    assert code == 0, err
    assert "rows left out: machine types whose memory does not follow from the list: they keep the list price" in err
    known = catalog.load()
    for name, vcpus, memory in (("n2-standard-32", 32, 128), ("n2-highmem-64", 64, 512), ("n2-highcpu-8", 8, 8)):
        own = known.price("gcp", name, "us-central1", "on-demand").amount
        assert own == vcpus * Decimal("0.0268") + memory * Decimal("0.0036"), name
    assert "instance_type: c3-" not in (project / "catalog/rates/sheet.yaml").read_text()


def test_bills_and_sheets_know_the_machines_that_have_a_list_price_alone(capsys, project):
    usage = "AWS,Usage,2026,Standard,Hours,{usd},1,USD,us-east-1,x,{details}\n"
    details = [LINUX.replace("g6.xlarge", name) for name in ("m5.large", "r7g.2xlarge", "x99.large")]
    bill = FOCUS + "".join(usage.format(usd="0.07", details=each) for each in details)
    (project / "bill.csv").write_text(bill)
    code, _, err = said(capsys, "import", "bill.csv")
    assert code == 0, err
    assert "1 rows left out: machine types that the catalog does not have" in err
    head = "MeterCategory,MeterName,MarketPrice,UnitPrice,UnitOfMeasure,PriceType,Currency,Product\n"
    rows = "".join(f"Virtual Machines,{name},1,0.85,1 Hour,Consumption,USD,x\n" for name in ("E16as v5", "F8s v2"))
    (project / "sheet.csv").write_text(head + rows)
    code, _, err = said(capsys, "import", "sheet.csv")
    assert code == 0, err
    assert "left out" not in err
    known = catalog.load()
    for name in ("m5.large", "r7g.2xlarge"):
        assert known.price("aws", name, "us-east-1", "on-demand").amount == Decimal("0.07")
    assert known.price("azure", "Standard_F8s_v2", "eastus", "on-demand").amount == Decimal("0.338") * Decimal("0.85")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (json.dumps(G2[0])[:-9] + "\n", "sheet.jsonl line 1: is not JSON, or truncated"),
        ("", "sheet.jsonl: has no prices"),
        ('{"a": 1}\n', "sheet.jsonl line 1: has not sku, pricing_unit, list_price"),
        (json.dumps(G2[3]) + "\n", "has no billing_account_price: the account pays list prices"),
        (
            json.dumps(G2[0]).replace('"0.020"', '"-1"') + "\n",
            "line 1: usd_amount: must be 0 or more US dollars, got '-1'",
        ),
        (json.dumps(G2[0]).replace('"0.020"', '"n/a"') + "\n", "line 1: usd_amount"),
    ],
)
def test_a_price_sheet_of_google_that_is_wrong_is_named_by_line_and_writes_nothing(capsys, project, text, fault):
    (project / "sheet.jsonl").write_text(text)
    code, _, err = said(capsys, "import", "sheet.jsonl")
    assert (code, fault in err) == (64, True), err
    assert not (project / "catalog").exists()
