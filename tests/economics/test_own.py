"""Figures of own hardware: read from a file, and what is paid for servers over their lifetime."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sizewell.economics.demand import Demand, Step
from sizewell.economics.own import owned, read_figures
from sizewell.economics.payments import cash_flow
from sizewell.sizing.billing.owning import OF_A_SERVER, USUAL, Figure, server_for
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ConfigError

HALF = Demand((Step(1, Decimal(365)),))
NOTHING = {key: figure._replace(value=Decimal(0)) for key, figure in USUAL.items()}
BARE = {
    **NOTHING,
    "machine_usd": Figure(Decimal(120_000), "USD/server", "machine", "a quote"),
    "accelerators": Figure(Decimal(8), "", "", "a quote"),
    "power_w": Figure(Decimal(10_000), "W/server", "", "a quote"),
    "lifetime_months": USUAL["lifetime_months"],
}


def paid(months: int = 36, **values: str):
    figures = {**BARE, **{key: BARE[key]._replace(value=Decimal(value)) for key, value in values.items()}}
    return cash_flow(owned("x", figures, 2, months, HALF), months)


def test_the_servers_are_paid_before_the_first_month():
    assert paid() == (Decimal(240_000), *[Decimal(0)] * 36)


@pytest.mark.parametrize(
    ("values", "monthly"),
    [
        # 2 x 10 kW x 1.5 x 365 h x 0.10 USD
        ({"pue": "1.5", "usd_per_kwh": "0.10"}, "1095.00"),
        ({"space_usd_per_kw_month": "60"}, "1200.00"),
        ({"staff_usd_per_server_month": "400"}, "800.00"),
        ({"running_usd_per_server_year": "6000"}, "1000.00"),
        # 5 % of 240,000 a year
        ({"spares_percent_per_year": "5"}, "1000.00"),
    ],
)
def test_what_each_figure_comes_to_in_a_month(values, monthly):
    assert set(paid(**values)[1:]) == {Decimal(monthly)}


def test_resale_falls_in_a_straight_line_from_new_to_the_end_of_the_lifetime():
    """By hand: 70 % when it is new and 25 % after 36 months are 40 % after 24; 240,000 x 0.4 = 96,000."""
    values = {"resale_new_percent": "70", "resale_percent": "25"}
    assert paid(36, **values)[-1] == Decimal("-60000.00")
    assert paid(24, **values)[-1] == Decimal("-96000.00")


def test_servers_are_bought_again_at_the_end_of_their_lifetime():
    months = paid(60, resale_new_percent="70", resale_percent="25")
    assert months[36] == Decimal(240_000) - Decimal(60_000)
    assert months[60] == -Decimal("96000.00")


def test_financing_is_an_annuity_and_the_rest_is_due_when_it_is_sold():
    """By hand: 240,000 at 1 % a month over 36 months is 240,000 x 0.01 / (1 - 1.01^-36) = 7,971.43 a month."""
    months = paid(36, interest_percent_per_year="12")
    assert months[0] == 0
    assert [float(each) for each in months[1:]] == pytest.approx([7971.434] * 36, abs=0.006)
    early = paid(12, interest_percent_per_year="12")
    owed = 7971.434352 * (1 - 1.01**-24) / 0.01
    assert float(early[12]) == pytest.approx(7971.43 + owed, abs=0.02)


def test_network_is_paid_for_each_server():
    assert paid(network_usd="5000")[0] == Decimal(250_000)


def test_a_file_states_figures_with_their_source(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("schema: sizewell.own-hardware/1\nmachine_usd: {value: 150000, source: a quote}\npue: 1.2\n")
    stated = read_figures(path)
    assert stated["machine_usd"][:1] == (Decimal(150_000),)
    assert stated["machine_usd"].source == "a quote"
    assert stated["pue"].value == Decimal("1.2")
    assert stated["pue"].source == str(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "says nothing\n  fix: machine_usd: 290000, accelerators: 8 and power_w: 10200"),
        ("usd_per_kwh: -0.1\n", ":1:14: usd_per_kwh: must be from 0 to 5, got -0.1"),
        ("power_w: 6.5\n", ":1:10: power_w: must be from 50 to 100000000, got 6.5"),
        ("usd_per_kwh: 12\n", ":1:14: usd_per_kwh: must be from 0 to 5, got 12"),
        ("pue: 0.5\n", "pue: must be from 1 to 10, got 0.5"),
        ("resale_percent: 120\n", "resale_percent: must be from 0 to 100, got 120"),
        ("resale_new_percent: 20\n", "resale_new_percent: a server is worth 20 % new and 25 % at the end"),
        ("resale_percent: 80\n", "fix: state resale_new_percent too, at least 80"),
        ("accelerators: 2.5\n", "accelerators: must be a whole number from 1 to 1024, got 2.5"),
        ("lifetime_months: 35.5\n", "lifetime_months: must be a whole number from 1 to 240, got 35.5"),
        ("machine_usd: yes\n", "machine_usd: must be a number, or {value: 150000"),
        ("machine_usd: .nan\n", "machine_usd: must be a number"),
        ("machine_usd: {price: 3}\n", "machine_usd.price: unknown key\n  fix: one of value, source"),
        ("machine_eur: 150000\n", "machine_eur: unknown key\n  fix: did you mean machine_usd?"),
        ("- 3\n", "must be a mapping with machine_usd"),
        ("pue: 1.2\npue: 1.3\n", "the key 'pue' is stated twice"),
        ("schema: sizewell.own-hardware/9\n", "this release reads sizewell.own-hardware/1"),
    ],
)
def test_faults_of_a_file_have_path_value_and_way_out(tmp_path, text, says):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_figures(path)
    assert says in str(caught.value)


def test_every_figure_has_a_source_and_a_range_that_it_is_in():
    for key, figure in {**OF_A_SERVER, **USUAL}.items():
        assert figure.source, key
        assert figure.low <= figure.value <= figure.high or key in OF_A_SERVER, key


def test_the_server_that_costs_least_for_so_many_accelerators():
    assert server_for(load(), "h100-sxm", 9)[1] == 2
    assert server_for(load(), "h100-sxm", 8)[0].instance_type == "hgx-h100-8x"
    assert server_for(load(), "l4", 1) is None
    assert server_for(load(), "", 1) is None
