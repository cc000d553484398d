"""An estimate beside the bill: the causes make up the difference to the cent, and the parts make up the bill."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizewell.economics.actual import Actual, Project, compare
from sizewell.economics.ahead import About
from sizewell.economics.bill import Charge, estimated, read_bill

from .bills import other, row, write

ON = date(2026, 11, 28)
OCTOBER = date(2026, 10, 1)
EC2 = "Amazon Elastic Compute Cloud"


def line(quantity: str = "730", price: str = "0.8048", **cells: str) -> dict[str, str]:
    """A row of an estimate, as `preview --format focus` writes it."""
    usd = str((Decimal(quantity) * Decimal(price)).quantize(Decimal("0.01"))) if price else ""
    return {
        "BillingPeriodStart": "2026-10-01T00:00:00Z", "BillingPeriodEnd": "2026-11-01T00:00:00Z", "BillingCurrency": "USD",
        "ChargeCategory": "Usage", "ProviderName": "Amazon Web Services", "ServiceName": EC2, "RegionId": "us-east-1",
        "PricingCategory": "Standard", "PricingUnit": "Hours", "PricingQuantity": quantity, "ContractedUnitPrice": price,
        "BilledCost": usd, "EffectiveCost": usd, "x_InstanceType": "g6.xlarge", "x_Stack": "dev", "x_Component": "chat",
        "x_Urn": "urn:pulumi:dev::p::t::chat", "ChargeDescription": "g6.xlarge, on-demand, us-east-1",
        "Tags": '{"sizewell-stack": "dev", "sizewell-project": "p", "sizewell-id": "1"}', **cells,
    }  # fmt: skip


def project(**about: object) -> Project:
    return Project(
        stacks={"dev": About(stack="dev", **about), "prod": About(stack="prod")},  # type: ignore[arg-type]
        tags={"dev": "dev", "prod": "prod"},
        resources={"1": ("dev", "urn:pulumi:dev::p::t::chat"), "my-cluster": ("prod", "urn:prod")},
        names=("p",),
        accelerated=lambda _cloud, machine: machine.startswith("g6"),
    )


def beside(
    tmp_path: Path, estimate: Sequence[dict[str, str]], bill: Sequence[dict[str, str]], on: date = ON, **about: object
) -> Actual:
    read = read_bill([write(tmp_path / "bill.csv", *bill)])
    charges: dict[date, list[Charge]] = {OCTOBER: estimated(estimate)}
    return compare(read, charges, project(**about), on)


def test_hours_and_price_explain_a_machine_to_the_cent(tmp_path: Path) -> None:
    used = row(PricingQuantity="1000", ContractedUnitPrice="0.70", BilledCost="700", EffectiveCost="700")
    actual = beside(tmp_path, [line()], [used])
    (only,) = actual.lines
    assert (only.estimated_usd, only.billed_usd) == (Decimal("587.50"), 700)
    assert only.causes == {"hours": Decimal("217.29"), "price": Decimal("-104.79")}
    assert sum(only.causes.values()) == only.difference_usd
    assert (only.idle_hours, only.idle_usd) == (256, Decimal("179.20"))  # beyond 744, those of October
    assert [(rate.instance_type, rate.region, rate.usd) for rate in actual.rates.rates] == [
        ("g6.xlarge", "us-east-1", Decimal("0.70"))
    ]


def test_what_is_on_one_side_alone_and_what_has_no_price(tmp_path: Path) -> None:
    disks = line("100", "0.08", PricingUnit="GB-Months", x_InstanceType="", ChargeDescription="disks")
    egress = other("9", ServiceName="AWS Data Transfer", PricingQuantity="100")
    unpriced = line("5", "", ServiceName="Amazon Q", x_InstanceType="", PricingUnit="Months", x_Unpriced="no price")
    billed = other("44", ServiceName="Amazon Q", PricingUnit="Months", PricingQuantity="5")
    actual = beside(tmp_path, [line(), disks, unpriced], [row(), egress, billed])
    assert actual.causes() == {"not estimated": 53, "not billed": -8}
    assert {each.what for each in actual.lines} == {"g6.xlarge, on-demand", "disks", "GB", "months"}
    assert [each.note for each in actual.lines if each.note] == ["no price: no price"]


def test_other_machines_than_were_estimated_are_one_line(tmp_path: Path) -> None:
    larger = row("900", SkuPriceDetails='{"InstanceType": "g6.2xlarge"}')
    actual = beside(tmp_path, [line(), line("50", "1", x_InstanceType="", PricingUnit="GB-Months")], [larger])
    assert [(each.what, each.causes) for each in actual.lines] == [
        ("g6.2xlarge in the place of g6.xlarge", {"other machines": Decimal("312.50")}),
        ("g6.xlarge, on-demand, us-east-1", {"not billed": -50}),
    ]


def test_a_stack_of_which_there_is_no_row_is_named(tmp_path: Path) -> None:
    actual = beside(tmp_path, [line()], [row(tags={})])
    assert (actual.absent, actual.lines, actual.off()) == ({"dev": Decimal("587.50")}, (), ())


def test_a_commitment_that_nobody_stated_is_the_cause_of_its_price(tmp_path: Path) -> None:
    covered = row("365", PricingCategory="Committed", CommitmentDiscountStatus="Used", ContractedUnitPrice="0.8048")
    actual = beside(tmp_path, [line()], [covered])
    assert actual.causes() == {"commitment": Decimal("-222.50")}
    assert [each.what for each in actual.lines] == ["g6.xlarge, committed in the place of on-demand"]
    assert not actual.rates.rates


@pytest.mark.parametrize(
    ("mine", "cells", "cause"),
    [
        ("Standard", {"PricingCategory": "Dynamic"}, "spot"),
        ("Standard", {"PricingCategory": "Committed"}, "commitment"),
        ("Standard", {"CommitmentDiscountStatus": "Used"}, "commitment"),
        ("Standard", {"PricingCategory": "Commitment-Based"}, "commitment"),
        ("Dynamic", {}, "on-demand"),
        ("Dynamic", {"PricingCategory": "Committed"}, "commitment"),
        ("Committed", {}, "on-demand"),
        ("Dynamic", {"PricingCategory": "Dynamic"}, "price"),
    ],
)
def test_another_market_than_estimated_is_the_cause_of_another_price(
    tmp_path: Path, mine: str, cells: dict[str, str], cause: str
) -> None:
    billed = row("223.2", PricingQuantity="744", ContractedUnitPrice="0.3", **cells)
    actual = beside(tmp_path, [line(PricingCategory=mine)], [billed])
    assert actual.causes() == {cause: Decimal("-375.57"), "hours": Decimal("11.27")}
    (only,) = actual.lines
    assert ("in the place of" in only.what) == (cause != "price")


def test_two_other_markets_explain_their_part_of_the_price_each(tmp_path: Path) -> None:
    billed = (
        row("100", PricingQuantity="300", PricingCategory="Dynamic"),
        row("200", PricingQuantity="430", PricingCategory="Committed"),
    )
    actual = beside(tmp_path, [line()], billed)
    assert actual.causes() == {"spot": Decimal("-141.44"), "commitment": Decimal("-146.06")}
    (only,) = actual.lines
    assert only.what == "g6.xlarge, committed and spot in the place of on-demand"


def test_google_bills_the_parts_of_a_machine_which_are_not_compared_by_quantity(tmp_path: Path) -> None:
    machine = line(ProviderName="Google Cloud", ServiceName="Compute Engine", x_InstanceType="n2-standard-4")
    address = line("730", "0.005", ProviderName="Google Cloud", ServiceName="Compute Engine", x_InstanceType="")
    core, memory = (
        other(usd, ProviderName="Google Cloud", ServiceName="Compute Engine", PricingUnit=unit, PricingQuantity="2920")
        for usd, unit in (("92", "hour"), ("49", "gibibyte hour"))
    )
    actual = beside(tmp_path, [machine, address], [core, memory])
    assert actual.causes() == {"price and quantity": Decimal("-450.15")}
    assert len(actual.lines) == 1


def test_what_google_bills_beside_machines_has_its_own_line(tmp_path: Path) -> None:
    google = {"ProviderName": "Google Cloud", "ServiceName": "Compute Engine"}
    machine = line(**google, x_InstanceType="n2-standard-4")
    disk = line("100", "0.1", **google, x_InstanceType="", PricingUnit="GB-Months", ChargeDescription="disks")
    rows = [
        other("92", **google, PricingUnit="hour", PricingQuantity="2920"),
        other("12", **google, PricingUnit="gibibyte month", PricingQuantity="120"),
        other("3.60", **google, PricingUnit="gibibyte", PricingQuantity="30"),
    ]
    actual = beside(tmp_path, [machine, disk], rows)
    assert {each.what: each.causes for each in actual.lines} == {
        "GB-months": {"quantity": 2},
        "all else": {"price and quantity": Decimal("-495.50")},
        "GB": {"not estimated": Decimal("3.60")},
    }


def test_a_cent_of_rounding_is_no_price(tmp_path: Path) -> None:
    disk = {"x_InstanceType": "", "PricingUnit": "GB-Months"}
    billed = other("8.053", ServiceName=EC2, PricingUnit="GB-Mo", PricingQuantity="100.6")
    assert beside(tmp_path, [line("100.6", "0.08", **disk)], [billed]).causes() == {}
    billed = other("8.043", ServiceName=EC2, PricingUnit="GB-Mo", PricingQuantity="100.6")
    assert beside(tmp_path, [line("100.6", "0.08", **disk)], [billed]).causes() == {"rounding": Decimal("-0.01")}


def test_a_stack_billed_in_another_currency_is_in_no_figure_and_named(tmp_path: Path) -> None:
    prod = row("20", BillingCurrency="EUR", tags={"sizewell-stack": "prod"})
    actual = beside(tmp_path, [line(), line(x_Stack="prod")], [row(), prod, {**prod, "Tags": ""}])
    assert actual.foreign == {("", "EUR"): 20, ("prod", "EUR"): 20}
    assert (actual.usd, actual.ours_usd, actual.absent) == (Decimal("587.50"), Decimal("587.50"), {})
    only = beside(tmp_path, [line()], [prod])
    assert (only.months, only.usd, only.foreign) == ((), 0, {("prod", "EUR"): 20})


def test_credits_tax_and_corrections_stand_apart_and_lower_no_line(tmp_path: Path) -> None:
    rows = [
        row(),
        row("-100", ChargeCategory="Credit"),
        row("20", ChargeCategory="Tax"),
        row("-3", ChargeClass="Correction"),
    ]
    actual = beside(tmp_path, [line()], rows)
    assert actual.causes() == {"credits, corrections and tax": -83}
    assert (actual.estimated_usd, actual.ours_usd) == (Decimal("587.50"), Decimal("504.50"))


def test_whose_a_row_is(tmp_path: Path) -> None:
    rows = [
        row("1"),
        row("2", tags={"sizewell-id": "1"}),
        row("4", tags={"aws:eks:cluster-name": "my-cluster"}),
        row("8", tags={"sizewell-stack": "dev", "sizewell-project": "another"}),
        row("16", tags={}),
        row("32", tags={"sizewell-stack": "theirs"}),
    ]
    actual = beside(tmp_path, [], rows)
    assert {stack: billed for stack, (_, billed) in actual.stacks().items()} == {"dev": 3, "prod": 4}
    assert actual.not_ours == {("2026-10", EC2): 56}


def test_a_month_that_is_not_closed_is_left_out_with_its_amount(tmp_path: Path) -> None:
    later = {"BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z"}
    actual = beside(tmp_path, [line()], [row(), row("99.5", **later), row("0.5", **later, ResourceId="i-2")])
    assert actual.months == ("2026-10",)
    assert [(each.month, each.closes, each.rows, each.usd) for each in actual.open] == [
        ("2026-11", "2026-12-01", 2, 100)
    ]
    nothing = beside(tmp_path, [line()], [row()], on=date(2026, 10, 31))
    assert (nothing.months, nothing.lines) == ((), ())


def test_a_bill_that_ends_within_its_month_is_said_to(tmp_path: Path) -> None:
    assert beside(tmp_path, [], [row(ChargePeriodEnd="2026-10-14T00:00:00Z")]).partial == {
        "2026-10": "2026-10-14T00:00:00Z"
    }
    assert not beside(tmp_path, [], [row(ChargePeriodEnd="2026-10-31T23:00:00Z")]).partial


def test_a_stack_that_was_to_end_and_is_billed_on(tmp_path: Path) -> None:
    (only,) = beside(tmp_path, [line()], [row()], ends=date(2026, 9, 30)).lines
    assert (only.estimated_usd, only.causes, only.note) == (
        0,
        {"hours": Decimal("587.50")},
        "the stack was to end on 2026-09-30",
    )
    (half,) = beside(tmp_path, [line("310", "1")], [row("155", PricingQuantity="155")], ends=date(2026, 10, 16)).lines
    assert (half.estimated_usd, half.billed_usd) == (150, 155)  # 15 of 31 days


def test_a_stack_is_off_from_a_fifth_of_its_estimate_on(tmp_path: Path) -> None:
    assert beside(tmp_path, [line("100", "1")], [row("120")]).off() == ()
    assert beside(tmp_path, [line("100", "1")], [row("120.01")]).off() == ("dev",)
    assert beside(tmp_path, [line("100", "1")], [row("79.99")]).off() == ("dev",)
    assert beside(tmp_path, [], [row("0.01")]).off() == ("dev",)


def test_use_that_the_bill_proves_is_a_months_mean_where_it_is_another(tmp_path: Path) -> None:
    tags = {"sizewell-stack": "dev", "sizewell-id": "1"}
    september = {"BillingPeriodStart": "2026-09-01T00:00:00Z", "BillingPeriodEnd": "2026-10-01T00:00:00Z"}
    rows = [row(tags=tags, PricingQuantity="700"), row(tags=tags, PricingQuantity="500", **september)]
    assert beside(tmp_path, [line()], rows).usage == {"urn:pulumi:dev::p::t::chat": {"machine_hours": 600}}
    assert beside(tmp_path, [line()], [row(tags=tags)]).usage == {}


AMOUNTS = st.decimals(min_value=-500, max_value=5000, places=6)


@settings(max_examples=60, deadline=None)
@given(
    bill=st.lists(
        st.tuples(AMOUNTS, st.integers(0, 5), st.sampled_from(["dev", "prod", "", "theirs"]), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    estimate=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 5)), max_size=6),
)
def test_causes_make_up_every_difference_and_parts_the_bill(tmp_path_factory, bill, estimate) -> None:
    kinds = [
        {}, {"SkuPriceDetails": "", "PricingUnit": "GB"}, {"ChargeCategory": "Credit"}, {"ServiceName": "Amazon S3"},
        {"PricingCategory": "Dynamic"}, {"CommitmentDiscountStatus": "Unused", "PricingCategory": "Committed"},
    ]  # fmt: skip
    mine = [{}, {"x_InstanceType": "", "PricingUnit": "GB"}, {"x_Unpriced": "?"}, {"ServiceName": "Amazon S3"},
            {"PricingCategory": "Dynamic"}, {"x_InstanceType": "m5.large"}]  # fmt: skip
    later = {"BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z"}
    rows = [
        row(
            str(usd),
            tags={"sizewell-stack": stack} if stack else {},
            ResourceId=str(number),
            **kinds[kind],
            **(later if opened else {}),
        )
        for number, (usd, kind, stack, opened) in enumerate(bill)
    ]
    lines = [line(str(quantity), **mine[kind]) for quantity, kind in estimate]
    actual = beside(tmp_path_factory.mktemp("bill"), lines, rows)
    for each in actual.lines:
        assert each.estimated_usd + sum(each.causes.values()) == each.billed_usd
        assert each.idle_usd >= 0
    parts = actual.ours_usd + sum(actual.not_ours.values()) + sum(each.usd for each in actual.open)
    assert parts == actual.usd == sum(usd for usd, *_ in bill).quantize(Decimal("0.01"))
    assert actual.estimated_usd + sum(actual.causes().values()) == actual.ours_usd
    if actual.months:
        assert actual.estimated_usd + sum(actual.absent.values()) == sum(
            Decimal(each["EffectiveCost"]) for each in lines if "x_Unpriced" not in each
        )
