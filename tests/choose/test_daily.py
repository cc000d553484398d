"""A load that moves over the day: the fleet holds its busiest hour and is paid for by the hours."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.choose.requirements import STABILIZATION_S
from sizewell.sizing.choose.simulated import busiest_day, deployed, over_the_day
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.performance.serving import serving
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.records.jobs import ServingEstimate
from sizewell.sizing.records.launching import TARGET_LOAD
from sizewell.sizing.workload.read import WorkloadSpec, parse_spec

DAY = date(2026, 11, 22)
CATALOG = load()
LUNCH = [2, 1, 1, 1, 1, 2, 3, 5, 7, 8, 8, 9, 12, 11, 8, 8, 8, 7, 6, 5, 4, 3, 3, 2]
OFFICE = [1, 1, 1, 1, 1, 1, 2, 4, 8, 9, 10, 10, 10, 10, 10, 10, 9, 8, 6, 5, 4, 3, 2, 1]


def _spec(daily: object = None, *, load_: str = "rps: 24", more: str = "", beside: str = "") -> WorkloadSpec:
    hours = "" if daily is None else f", daily: {daily}"
    text = f"""name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {{{load_}, input_tokens: 1500, output_tokens: 300{hours}{more}}}
slo: {{ttft: 500ms, tpot: 50ms}}
resources: {{accelerators: [l40s, h100, l4]}}
{beside}"""
    return parse_spec(text, "chat.yaml", catalog=CATALOG)


def _chosen(daily: object = None, **how: str) -> Option:
    spec = _spec(daily, **how)
    option = size_one(spec, CATALOG, stack="prod", on=DAY, environment="prod").best()
    assert option is not None
    return option


def test_an_even_day_is_no_day() -> None:
    plain, even = _chosen(), _chosen([3] * 24)
    assert even.counts == plain.counts
    assert even.hours == plain.hours
    assert even.usd_per_month == plain.usd_per_month


def test_the_fleet_holds_the_busiest_hour_and_each_hour_its_own() -> None:
    option = _chosen(OFFICE)
    peak = 24 * max(OFFICE) * 24 / sum(OFFICE)
    assert option.fleet.nodes == _chosen(load_=f"rps: {peak}").fleet.nodes
    for hour in (0, 7, 21):
        rate = f"rps: {peak * OFFICE[hour] / 10}"
        alone = _chosen(load_=rate, beside=f"infra: [{option.cloud}/{option.deal.region}]")
        if alone.instance_type == option.instance_type:
            # The autoscaler keeps what the highest count of some minutes asked for.
            most = max(option.counts.minimum, alone.fleet.nodes * 1.5 + 1)
            assert alone.fleet.nodes <= option.fleet.by_hour[hour] <= most
        assert option.fleet.by_hour[hour] == option.fleet.by_hour[hour + 24]
    large = _chosen(OFFICE, load_="rps: 240").fleet
    assert min(large.by_hour) < large.nodes / 6


def test_the_simulated_day_takes_the_machine_hours_that_are_counted() -> None:
    option = _chosen(OFFICE, load_="rps: 0.8")  # production, where the autoscaler may add to what is sized
    assert option.counts.maximum > option.fleet.nodes
    of = deployed(option)
    assert of is not None
    day = over_the_day(of, busiest_day(of, rate=of.arrivals.load))
    assert day.machine_hours == pytest.approx(float(option.hours.expected) * 24 / 730, rel=0.1)
    assert day.judged.holds
    assert of.level.ttft_s is not None
    assert max(day.at_s) <= of.level.ttft_s


def test_machines_that_no_minimum_keeps_up_are_not_counted() -> None:
    """In development fewer stay up than load outgrows while one starts."""
    cliff = [1] * 8 + [9, 10, 9, 8, 7, 6, 5, 4, 3, 3, 3, 1, 1, 1, 1, 1]
    spec = _spec(cliff, load_="rps: 1.2", beside="infra: [aws/us-east-1]")
    option = size_one(spec, CATALOG, stack="", on=DAY).best()
    assert option is not None
    assert option.counts.minimum < option.fleet.warm
    of = deployed(option)
    assert of is not None
    day = over_the_day(of, busiest_day(of, rate=of.arrivals.load))
    assert day.machine_hours == pytest.approx(float(option.hours.expected) * 24 / 730, rel=0.1)


def test_the_autoscaler_orders_earlier_where_load_grows_faster_than_a_machine_starts() -> None:
    """A machine that is ordered when the others are full comes too late in the steepest hour."""
    rise = [2, 2, 2, 2, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 2]
    cliff = [2] * 8 + [9, 10, 9, 8, 7, 6, 5, 4, 3, 3, 3, 2, 2, 2, 2, 2]
    slow, fast = (_chosen(day, load_="rps: 24") for day in (rise, cliff))
    assert slow.instance_type == fast.instance_type
    assert slow.fleet.in_flight_target is not None
    assert fast.fleet.in_flight_target is not None
    assert fast.fleet.in_flight_target < slow.fleet.in_flight_target


def test_no_replica_is_taken_away_that_the_others_miss() -> None:
    """Two that are half full have fewer in flight than one that is full: by that alone one of them would go."""
    option = _chosen(OFFICE, load_="rps: 24")
    of = deployed(option)
    assert of is not None
    assert option.fleet.in_flight_target is not None
    count = max(2, option.counts.minimum + 1)
    full = option.fleet.replica_rate * TARGET_LOAD * (count - 1) / count
    each = serving(of.job, of.cluster, tensor=of.tensor, rps=full, percentile=0.95, pool=count)
    assert isinstance(each, ServingEstimate)
    in_flight = count * (each.batch + full * each.ttft_s)
    assert math.ceil(in_flight * 1.02 / option.fleet.in_flight_target) >= count


@pytest.mark.soak
@pytest.mark.parametrize(
    ("daily", "load", "slo"),
    [
        (OFFICE, "rps: 2, input_tokens: 1500, output_tokens: 300", "ttft: 500ms, tpot: 50ms"),
        ([0] * 8 + [10] * 16, "rps: 2, input_tokens: 1500, output_tokens: 300", "ttft: 500ms, tpot: 50ms"),
        (LUNCH, "rps: 4, input_tokens: 3000, output_tokens: 150", "ttft: 1s, tpot: 60ms"),
        (OFFICE, "rps: 1, redundancy: n+1, input_tokens: 4000, output_tokens: 600", "ttft: 1s, tpot: 50ms"),
    ],
)
def test_the_service_level_holds_in_every_hour(daily: object, load: str, slo: str) -> None:
    text = f"""name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {{{load}, daily: {daily}}}
slo: {{{slo}}}
resources: {{accelerators: [l40s, l4]}}"""
    spec = parse_spec(text, "chat.yaml", catalog=CATALOG)
    option = size_one(spec, CATALOG, stack="prod", on=DAY, environment="prod").best()
    assert option is not None
    of = deployed(option)
    assert of is not None
    day = over_the_day(of, busiest_day(of, rate=of.arrivals.load))
    assert day.machine_hours == pytest.approx(float(option.hours.expected) * 24 / 730, rel=0.15)
    assert of.level.ttft_s is not None
    assert max(value for value in day.at_s if not math.isnan(value)) <= of.level.ttft_s


def test_the_month_costs_the_sum_of_its_hours() -> None:
    option = _chosen(OFFICE)
    kept = (STABILIZATION_S + 45 * 60) / 3600  # the guard's window
    hours = [max(nodes, option.counts.minimum) for nodes in option.fleet.by_hour[:24]]
    lingering = sum(max(0, hours[hour - 1] - hours[hour]) for hour in range(24)) * kept
    assert float(option.hours.expected) == pytest.approx((sum(hours) + lingering) * 730 / 24, rel=1e-6)
    assert option.hours.floor <= option.hours.expected < option.counts.initial * 730


def test_a_token_costs_the_month_over_the_tokens_that_come() -> None:
    answer = decide([_spec(OFFICE)], CATALOG, stack="prod", on=DAY, environment="prod")
    assert isinstance(answer, Decision)
    cost = answer.workloads[0].cost
    month = answer.workloads[0].bill().run_rate.usd_per_month.expected
    assert cost.per_million_tokens_usd is not None
    tokens = Decimal(24) * 3600 * 730 * 300
    assert float(cost.per_million_tokens_usd) == pytest.approx(float(month / tokens * 1_000_000), rel=0.01)
    says = " ".join(answer.workloads[0].assumptions)
    assert "1.89 times the mean of 24 requests/s" in says
    assert "in every hour would be" in says


def test_a_higher_peak_never_needs_fewer_machines() -> None:
    fleets = [_chosen(peak).fleet for peak in (1, 1.5, 2.5, 4)]
    counts = [fleet.nodes * fleet.devices_per_replica * fleet.replica_rate for fleet in fleets]
    assert counts == sorted(counts)


def test_machines_stay_up_where_load_grows_faster_than_one_starts() -> None:
    steep = [0] * 8 + [10] * 16
    sudden, gentle = _chosen(steep, load_="rps: 240"), _chosen(OFFICE, load_="rps: 240")
    assert gentle.counts.minimum < sudden.counts.minimum / 4
    assert 1 < sudden.counts.minimum == sudden.fleet.warm
    # An eighth of the peak comes in the 7 min of a start. Machines for a load take a quarter more: those of half the peak
    # outlast that, those of less do not.
    assert sudden.counts.minimum >= sudden.fleet.nodes / 2 - 1


def test_one_to_spare_in_every_hour() -> None:
    plain, spare = _chosen(OFFICE), _chosen(OFFICE, more=", redundancy: n+1")
    if plain.instance_type == spare.instance_type:
        assert spare.fleet.by_hour == tuple(nodes + 1 for nodes in plain.fleet.by_hour)
    assert spare.counts.minimum == plain.counts.minimum + 1


def test_a_fleet_for_bursts_stands() -> None:
    option = _chosen(OFFICE, load_="rps: 4", more=", burstiness: 4")
    assert not option.fleet.by_hour
    assert option.counts.minimum == option.counts.initial


def test_the_mean_is_of_the_hours_of_the_schedule() -> None:
    """Eight equal hours a day are busy with what is stated, not with three times as much."""
    hours = [5] * 8 + [0] * 16
    scheduled = _chosen(hours, beside='schedule: {on: "daily 00:00-08:00 UTC"}')
    plain = _chosen(beside='schedule: {on: "daily 00:00-08:00 UTC"}')
    assert scheduled.counts == plain.counts
    assert scheduled.hours.expected == plain.hours.expected


@pytest.mark.parametrize(
    ("daily", "says"),
    [
        ([1] * 23, "24 numbers"),
        ([0] * 24, "24 numbers"),
        ([1] * 23 + [-1], "24 numbers"),
        (13, "24 numbers"),
        (0.5, "24 numbers"),
        ("busy", "24 numbers"),
    ],
)
def test_a_day_that_is_none_is_refused(daily: object, says: str) -> None:
    with pytest.raises(SpecError, match=rf"traffic\.daily.*{says}"):
        _spec(daily)


def test_a_day_without_load_in_its_schedule_is_refused() -> None:
    with pytest.raises(SpecError, match=r"traffic\.daily: has no load in the hours of the schedule"):
        _spec([0] * 12 + [1] * 12, beside='schedule: {on: "daily 00:00-08:00 UTC"}')
    with pytest.raises(SpecError, match=r"traffic\.daily: no such peak"):
        _spec(9, beside='schedule: {on: "daily 14:00-16:00 UTC"}')
