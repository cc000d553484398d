"""A project's own `catalog/`: what it adds and corrects, what own rates do to a choice, and how it says what is
wrong."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sizewell.resources.pricing import price as price_of
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.sizing import catalog
from sizewell.sizing.billing.tariff import Tariff
from sizewell.sizing.catalog import table
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.choose.candidates import NEARLY
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.errors import CatalogError
from sizewell.sizing.money import Priced
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec

ON = date(2026, 11, 20)
OFFERS = "cloud,instance_type,region,zone,market,usd_per_hour,effective_from,effective_to,basis,source,confidence,interruption\n"
CHAT = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
slo: {ttft: 2s, tpot: 100ms, percentile: p95}
"""


@pytest.fixture(scope="module")
def facts():
    return catalog.load()


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes files of a project's overlay; the project is the working directory."""
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / "catalog" / name.replace("__", "/").replace("_yaml", ".yaml").replace("_csv", ".csv")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip())
        return tmp_path / "catalog"

    return write


def row(usd, *, kind="p5.48xlarge", region="eu-north-1", market="on-demand", since="2026-11-01", cloud="aws"):
    return f"{cloud},{kind},{region},,{market},{usd},{since},,list,our account,high,\n"


def test_without_an_overlay_the_shipped_catalog_counts(own, facts):
    assert catalog.load() is facts
    own(notes_txt="not a table")
    assert catalog.load() is facts


def test_a_newer_row_of_ones_own_is_the_price_and_the_shipped_one_stays_for_older_days(own, facts):
    own(offers__aws_csv=OFFERS + row("50.5"))
    merged = catalog.load()
    assert merged.price("aws", "p5.48xlarge", "eu-north-1", "on-demand", ON).amount == Decimal("50.5")
    before = date(2026, 10, 1)
    assert merged.price("aws", "p5.48xlarge", "eu-north-1", "on-demand", before) == facts.price(
        "aws", "p5.48xlarge", "eu-north-1", "on-demand", before
    )
    assert merged.digest != facts.digest
    assert merged.as_of == "2026-11-01"


def test_the_overlay_is_read_again_when_its_files_change(own):
    own(offers__aws_csv=OFFERS + row("50.5"))
    first = catalog.load()
    assert catalog.load() is first
    own(offers__aws_csv=OFFERS + row("51.25"))
    assert catalog.load().price("aws", "p5.48xlarge", "eu-north-1", "on-demand", ON).amount == Decimal("51.25")


def test_a_machine_of_ones_own_is_sized_like_any_other(own, facts):
    template = facts.shape("aws", "g6.xlarge")
    header = ",".join(table.columns_of(Shape))
    cells = table.cells_of(replace(template, instance_type="g6.own", source="our rack", traits_source="our rack"))
    own(shapes_csv=f"{header}\n{','.join(cells)}\n", offers_csv=OFFERS + row("0.01", kind="g6.own", region="us-east-1"))
    decision = decide([parse_spec(CHAT)], catalog.load(), stack="", on=ON)
    assert isinstance(decision, Decision)
    assert decision.workloads[0].pools[0].instance_type == "g6.own"


def test_a_price_of_ones_own_may_be_of_a_machine_that_has_a_list_price_and_no_shape(own):
    own(offers_csv=OFFERS + row("0.07", kind="m5.large", region="us-east-1"))
    assert catalog.load().price("aws", "m5.large", "us-east-1", "on-demand", ON).amount == Decimal("0.07")


def test_a_percentage_that_names_no_machine_is_off_fees_too_and_off_no_percentage_twice(facts):
    def fee(key, region="us-east-1", cloud="aws", **rate):
        mine = replace(facts, rates=Discounts((Rate(percent=Decimal(10), **rate),)))
        return mine.fee(cloud, key, region, ON).amount / facts.fee(cloud, key, region, ON).amount

    assert fee("nat.hour") == fee("nat.hour", fee="nat.*") == Decimal("0.9")
    assert fee("nat.hour", market="on-demand") == fee("nat.hour", instance_type="m5.large") == 1
    assert fee("nat.hour", region="us-east-1") == Decimal("0.9")
    for terms in ({}, {"fee": "nat.*"}):
        assert replace(facts, rates=Discounts((Rate(percent=Decimal(10), region="eu-west-1", **terms),))).fee(
            "aws", "nat.hour", "us-east-1", ON
        ) == facts.fee("aws", "nat.hour", "us-east-1", ON)
    premium = next(each for each in facts.fees if each.unit == "percent" and each.usd)
    assert fee(premium.key, premium.region, premium.cloud) == 1, "the machine's price has the discount already"


def test_an_own_rate_steers_the_choice_and_the_bill_alike(own, facts):
    before = decide([parse_spec(CHAT)], facts, stack="", on=ON)
    own(rates_yaml="rates: [{cloud: aws, instance_type: p5.4xlarge, market: on-demand, usd: 0.05}]")
    merged = catalog.load()
    after = decide([parse_spec(CHAT)], merged, stack="", on=ON)
    assert isinstance(before, Decision)
    assert isinstance(after, Decision)
    assert before.workloads[0].pools[0].instance_type != "p5.4xlarge"
    assert after.workloads[0].pools[0].instance_type == "p5.4xlarge"
    line = after.workloads[0].line_items[0]
    assert (line.usd_per_unit, line.source) == (Decimal("0.05"), "own rate")


def test_a_rate_for_a_region_without_a_price_makes_the_type_an_offer_there(own, facts):
    lab = parse_spec("name: lab\nkind: notebook\nresources: {instance_type: g6e.xlarge}\ninfra: aws/eu-west-1\n")
    assert not isinstance(decide([lab], facts, stack="", on=ON), Decision)
    own(rates_yaml="rates: [{cloud: aws, instance_type: g6e.xlarge, region: eu-west-1, market: on-demand, usd: 2.1}]")
    decision = decide([lab], catalog.load(), stack="", on=ON)
    assert isinstance(decision, Decision)
    assert decision.workloads[0].line_items[0].usd_per_unit == Decimal("2.1")


def test_rates_reach_fees_and_spot_and_keep_the_list_price_for_whoever_asks(own, facts):
    own(
        rates_yaml="""
        rates:
          - {cloud: aws, fee: ebs.gp3.gb_month, usd: 0.01}
          - {cloud: aws, market: spot, percent: 50}
        """
    )
    merged = catalog.load()
    listed = facts.fee("aws", "ebs.gp3.gb_month", "us-east-1", ON)
    own_price = merged.fee("aws", "ebs.gp3.gb_month", "us-east-1", ON)
    assert own_price == Priced(Decimal("0.01"), "own rate", listed.date, terms="own rate", listed=listed.amount)
    half = merged.price("aws", "p5.48xlarge", "us-east-1", "spot", ON)
    assert half.amount * 2 == facts.price("aws", "p5.48xlarge", "us-east-1", "spot", ON).amount
    assert "own discount 50 %" in half.source
    assert merged.offers("aws", "p5.48xlarge") == facts.offers("aws", "p5.48xlarge")


def test_a_rate_may_be_of_what_the_catalog_does_not_know(own):
    """Fees by how they begin, machines without a shape, types of resources that no rule prices."""
    own(
        rates_yaml="""
        rates:
          - {fee: rds.postgresql.single_az.db.m5.large, usd: 0.2}
          - {cloud: aws, fee: "rds.*", percent: 50}
          - {cloud: aws, instance_type: m5.large, percent: 50}
          - {cloud: aws, instance_type: m99.large, region: us-east-1, usd: 0.5}
          - {fee: "aws:workspaces/workspace:Workspace", usd: 57}
        """
    )
    merged = catalog.load()
    assert merged.fee("aws", "rds.single_az.gp2.gb_month", "us-east-1", ON).amount * 2 == Decimal("0.115")
    assert merged.fee("aws", "rds.postgresql.single_az.db.m5.large", "us-east-1", ON).amount == Decimal("0.2")
    assert merged.price("aws", "m5.large", "us-east-1", on=ON).amount * 2 == Decimal("0.096")
    assert merged.price("aws", "m99.large", "us-east-1", on=ON).amount == Decimal("0.5")
    table = RecordedResource(urn="u", type="aws:workspaces/workspace:Workspace", name="t", inputs={})
    found = price_of(
        Plan(project="p", stack="s", resources=(table,), config={"aws:region": "us-east-1"}), merged, on=ON
    )
    assert found.cost().run_rate.usd_per_month.expected == 57
    assert found.unknown == ()


def test_a_named_rates_file_goes_before_the_projects_own(own, facts):
    """A preview with --discounts applies that file alone: no discount on a discount."""
    own(rates_yaml="rates: [{cloud: aws, percent: 50}]")
    merged = catalog.load()
    plan = Plan(project="p", stack="s", resources=())
    assert price_of(plan, merged, on=ON, discounts=Discounts((Rate(cloud="aws", percent=Decimal(10)),))).items == ()
    ten = replace(merged, rates=Discounts((Rate(cloud="aws", percent=Decimal(10)),)))
    usd = Tariff(ten, "aws", "us-east-1", ON).machine("g6.xlarge").amount
    assert usd == facts.price("aws", "g6.xlarge", "us-east-1", "on-demand", ON).amount * Decimal("0.9")


SMALL = {("aws", "g4dn.xlarge"), ("aws", "g5.xlarge"), ("aws", "g6.xlarge"), ("aws", "p5.4xlarge"),
         ("gcp", "g2-standard-4"), ("azure", "Standard_NC4as_T4_v3")}  # fmt: skip
RATES = st.builds(
    lambda machine, market, usd: Rate(cloud=machine[0], instance_type=machine[1], market=market, usd=usd),
    st.sampled_from(sorted(SMALL)),
    st.sampled_from(["", "on-demand", "spot"]),
    st.decimals("0.01", "9", places=2),
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(rate=RATES, factor=st.decimals("0.05", "1", places=2), fee=st.booleans())
def test_a_lower_rate_of_ones_own_never_raises_a_decisions_cost(facts, rate, factor, fee):
    small = replace(facts, shapes=tuple(s for s in facts.shapes if (s.cloud, s.instance_type) in SMALL))
    key = Rate(cloud="aws", fee="ebs.gp3.gb_month", usd=rate.usd)
    dear = replace(small, rates=Discounts((key if fee else rate,)))
    less = replace(key if fee else rate, usd=(rate.usd or Decimal(1)) * factor)
    cheap = replace(small, rates=Discounts((less,)))
    before, after = (size_one(parse_spec(CHAT), known, stack="", on=ON) for known in (dear, cheap))
    least, lower = (
        min(o.rank_usd for o in each.options if o.candidate.buildable and not o.candidate.own_program)
        for each in (before, after)
    )
    assert lower <= least * (1 + 1e-12)
    chosen = after.best()
    assert chosen is not None
    assert chosen.rank_usd <= NEARLY * lower  # the plainest of those that cost nearly as little


# --- what is wrong


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"offers__aws_csv": OFFERS + row("50", kind="p5.48xlrge")},
            ("catalog/offers/aws.csv " "row 2: " "instance_type: no " "machine type " "'p5.48xlrge' of " "aws\n  fix: " "did you " "mean p5.48xlarge?"),
        ),
        (
            {"offers__aws_csv": OFFERS + row("50", market="flex-start")},
            ("catalog/offers/aws.csv " "row 2: " "market: " "must be " "one of " "capacity-block, " "on-demand, " "reserved-1y, " "reserved-3y, spot, " "got 'flex-start'"),
        ),
        ({"offers__aws_csv": OFFERS + row("0")}, "row 2: usd_per_hour: must be more than 0, got '0'"),
        ({"offers__aws_csv": OFFERS + row("n/a")}, "catalog/offers/aws.csv row 2: usd_per_hour: not a number: 'n/a'"),
        ({"offers__aws_csv": OFFERS + row("1", region="eu-north-9")}, ("row 2: region: must be a " "region " "of aws, " "got 'eu-north-9'")),
        ({"offers__aws_csv": OFFERS + row("50")[:-20]}, "catalog/offers/aws.csv row 2: has 9 cells, must have 12"),
        ({"offers__aws_csv": "<html><body>503</body></html>\n"}, ("catalog/offers/aws.csv row " "1: the " "columns must " "be cloud,")),
        ({"ofers_csv": OFFERS, "fees_csv": ""}, ("catalog/ofers.csv: is not " "a table " "of the " "catalog\n  fix: " "one of " "accelerators,")),
        (
            {"offers__a_csv": OFFERS + row("50"), "offers__b_csv": OFFERS + row("51")},
            ("catalog/offers/b.csv " "row 2: " "contradicts " "catalog/offers/a.csv " "row 2: " "two rows " "for aws " "p5.48xlarge " "eu-north-1 on-demand " "2026-11-01"),
        ),
        (
            {"rates_yaml": "rates:\n  - {cloud: aws, instance_type: p5.48xlrge, usd: 3}\n"},
            "catalog/rates.yaml:2:33: rates[0].instance_type: no machine type 'p5.48xlrge' of aws",
        ),
        ({"rates_yaml": "rates: [{cloud: aws, instance_type: m99.large, percent: 3}]"}, "no machine type 'm99.large' of aws"),
        (
            {"rates_yaml": "rates:\n  - {cloud: aws, percent: 3}\n  - cloud: aws\n    percent: 5\n"},
            "catalog/rates.yaml:3:5: rates[1]: contradicts rates[0] on line 2",
        ),
        ({"rates_yaml": ("rates:\n  - " "{cloud: aws, fee: s3.standrd, usd: 1}\n")}, ("rates.yaml:2:23: " "rates[0].fee: no fee " "'s3.standrd'\n  fix: " "did you mean s3.standard?")),
        ({"rates_yaml": ("rates:\n  - " "{cloud: aws, usd: 1 EUR}\n")}, ("catalog/rates.yaml:2:23: " "rates[0].usd: " "must be a number from 0")),
        ({"rates_yaml": ("billing_accounts:\n  - " "{cloud: aws, id: 123456789012}\n")}, ("rates.yaml:2:22: " "billing_accounts[0].id: must be a text; put digits in quotes")),
        ({"rates_yaml": ("billing_accounts: " "[{cloud: on-premises, id: a}]")}, ("billing_accounts[0].cloud: must " "be one of aws, gcp, azure")),
        ({"rates_yaml": "billing_accounts: [{cloud: aws}]"}, "billing_accounts[0].id: is missing"),
        ({"rates_yaml": ("billing_accounts: [{cloud: aws, id: a}, " "{cloud: aws, id: b}]")}, "billing_accounts[1]: names another account of aws than billing_accounts[0]"),
        (
            {"rates_yaml": "billing_accounts: [{cloud: aws, id: a}]", "rates__b_yaml": "billing_accounts: [{cloud: aws, id: b}]"},
            "catalog/rates/b.yaml: names another billing account of aws than catalog/rates.yaml",
        ),
        ({"rates_yaml": "rates: [{cloud: aws"}, "catalog/rates.yaml:1:20: is not valid YAML"),
        ({"rates_yaml": "[1, 2]"}, "catalog/rates.yaml: must be a mapping with rates, commitments, billing_accounts, savings_plans, resource_commitments, got [1, 2]"),
        ({"rates_yaml": "rates: [[1]]"}, "catalog/rates.yaml:1:9: rates[0]: must be a mapping, got [1]"),
        ({"rates_yaml": "rates: [{market: sopt, usd: 1}]"}, "rates.yaml:1:18: rates[0].market: must be one of on-demand, spot,"),
        ({"rates_yaml": "rates: [{cloud: aws, fee: nat.huor, usd: 1}]"}, "no fee 'nat.huor'\n  fix: did you mean nat.hour?"),
        ({"rates_yaml": "commitments: [{until: 2026-99-30}]"}, "catalog/rates.yaml:1:23: commitments[0].until: 2026-99-30 cannot be read: month must be in 1..12"),
        ({"rates_yaml": "rates: [{cloud: awz, usd: 1}]"}, "rates.yaml:1:17: rates[0].cloud: must be one of aws,"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_line(own, files, said):
    own(**files)
    with pytest.raises(CatalogError) as wrong:
        catalog.load()
    assert said in str(wrong.value)


@pytest.mark.parametrize("fee", ["fsx.lustre.persistent1.50", "disk.premium_lrs.p60"])
def test_another_size_of_a_fee_that_the_catalog_has_is_no_misspelling(own, fee):
    cloud = "azure" if "disk" in fee else "aws"
    own(rates_yaml=f"rates: [{{cloud: {cloud}, fee: {fee}, usd: 1}}]")
    assert catalog.load().fee(cloud, fee, "eastus" if cloud == "azure" else "us-east-1").amount == 1


def test_a_folder_that_the_environment_names_must_exist(monkeypatch, tmp_path):
    monkeypatch.setenv("SIZEWELL_CATALOG", str(tmp_path / "nowhere"))
    with pytest.raises(CatalogError, match="no such folder"):
        catalog.load()
    monkeypatch.setenv("SIZEWELL_CATALOG", "")
    assert catalog.load().rates == Discounts()


@pytest.mark.parametrize("name", ["rates.yml", "rates/own.yml"])
def test_rates_whose_name_ends_in_yml_count(tmp_path, name):
    """A file of rates that is not read would leave every price at the list without a word."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("rates: [{cloud: aws, instance_type: g6.xlarge, region: us-east-1, usd: 0.5}]")
    price = catalog.load(overlay=tmp_path).price("aws", "g6.xlarge", "us-east-1", "on-demand")
    assert price.amount == Decimal("0.5")
