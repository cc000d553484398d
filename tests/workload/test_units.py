"""Quantities go to base units and back without loss, and nothing that is not a quantity gets through."""

from __future__ import annotations

import doctest
import math
import zoneinfo
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizewell.sizing import units
from sizewell.sizing.catalog import residency
from sizewell.sizing.units import Range, UnitError
from sizewell.sizing.workload import schedule as spec_schedule

PARSERS = (
    units.duration_s,
    units.size_bytes,
    units.count,
    units.money_usd,
    units.share,
    units.rate_per_s,
    units.count_range,
    units.size_range,
    spec_schedule.parse_schedule,
)


@pytest.mark.parametrize("module", [units, residency, spec_schedule])
def test_doctests(module: object) -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


@given(st.integers(0, 10**12))
def test_duration_round_trip(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert units.duration_s(units.show_duration(seconds)) == pytest.approx(seconds, abs=1e-9, rel=1e-12)


@given(st.integers(0, 10**18))
def test_size_round_trip(size: int) -> None:
    assert units.size_bytes(units.show_size(size)) == size


@given(st.integers(0, 10**15))
def test_count_round_trip(number: int) -> None:
    assert units.count(units.show_count(number)) == number


@given(st.decimals(0, 10**9, places=2, allow_nan=False))
def test_money_round_trip(amount: Decimal) -> None:
    assert units.money_usd(units.show_money(amount)) == amount


@given(st.integers(0, 10_000))
def test_share_round_trip(hundredths: int) -> None:
    value = hundredths / 10_000
    assert units.share(units.show_share(value)) == pytest.approx(value, abs=1e-12)


@given(st.integers(1, 10**6), st.integers(0, 10**6) | st.none())
def test_range_round_trip(low: int, more: int | None) -> None:
    high = None if more is None else low + more
    assert units.count_range(units.show_range(low, high)) == Range(low, high)
    assert units.size_range(units.show_range(low, high, sizes=True)) == Range(low, high)


@given(st.text(max_size=40) | st.floats() | st.integers() | st.booleans() | st.none() | st.lists(st.text(max_size=3)))
def test_anything_is_a_finite_quantity_or_a_refusal(value: object) -> None:
    for parse in PARSERS:
        try:
            found = parse(value)
        except UnitError as error:
            assert error.allowed  # noqa: PT017 - the refusal says what is allowed
            continue
        if isinstance(found, int | float | Decimal):
            assert math.isfinite(found)
            assert found >= 0


@given(st.sampled_from(sorted(units.SIZES)), st.integers(1, 9999), st.integers(1, 9999))
def test_larger_figures_are_larger_sizes(unit: str, one: int, other: int) -> None:
    assert (one < other) == (units.size_bytes(f"{one}{unit}") < units.size_bytes(f"{other}{unit}"))


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (units.duration_s, "2w", 1_209_600),
        (units.duration_s, "1d 12h", 129_600),
        (units.duration_s, "0.5h", 1800),
        (units.size_bytes, "1KB", 1000),
        (units.size_bytes, "80GiB", 85_899_345_920),
        (units.count, "1.1k", 1100),
        (units.count, "2.5b", 2_500_000_000),
        (units.rate_per_s, "10k per hour", 10_000 / 3600),
        (units.rate_per_s, "86400/day", 1),
    ],
)
def test_forms_people_write(parse: object, text: str, expected: float) -> None:
    assert callable(parse)
    assert parse(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Mon-Fri 07:00-21:00 Europe/London", 70),
        ("daily 00:00-24:00 UTC", 168),
        ("Sat,Sun 22:00-06:00 Asia/Tokyo", 16),
        ("Mon-Fri 07:00-12:00, Mon-Fri 11:00-21:00 UTC", 70),
        ("Fri-Mon 08:00-10:00 America/New_York", 8),
        ("Monday-Wednesday 08:00-10:00, Sun 01:00-02:30 UTC", 7.5),
    ],
)
def test_schedule_hours(text: str, hours: float) -> None:
    assert spec_schedule.parse_schedule(text).hours_per_week == Decimal(str(hours))


def test_residency_agrees_with_the_catalog() -> None:
    """Areas are told from names, so that reading a spec needs no catalog; the catalog's countries are the judge."""
    from sizewell.sizing.catalog import load

    areas = {"GB": "uk", "CH": "ch", "US": "us", "CA": "ca", "IN": "in", "JP": "jp", "AU": "au"}
    facts = load().region_facts.values()
    assert len(facts) > 100
    wrong = {
        (fact.cloud, fact.region): (found, wanted)
        for fact in facts
        if (found := residency.of(fact.cloud, fact.region))
        != (wanted := "eu" if fact.area == "eu" else areas.get(fact.country, ""))
    }
    assert not wrong


AMOUNTS = {
    "50 thousand": 50_000, "2.5 million": 2_500_000, "1,5 Mio": 1_500_000, "3 lakh": 300_000, "2 crore": 20_000_000,
    "half a million": 500_000, "4 bn": 4_000_000_000, "120G": 120_000_000_000, "2 hundred thousand": 200_000,
    "50 000": 50_000, "1'250": 1250, "3 trillion": 3_000_000_000_000,
}  # fmt: skip


@pytest.mark.parametrize("written", AMOUNTS)
def test_a_number_in_words_is_written_as_the_same_number(written: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.count(written)
    assert units.count(refused.value.fix.removeprefix("write ")) == AMOUNTS[written]


@pytest.mark.parametrize("written", ["5 hours", "80 GB", "many", "4x A10G", "32 sequences", "2.5"])
def test_a_number_of_something_else_is_not_taken_for_one(written: str) -> None:
    with pytest.raises(UnitError) as refused:
        units.count(written)
    assert not refused.value.fix.startswith("write 5")
    assert not any(map(str.isdigit, refused.value.fix.replace("10^", "")))


def test_abbreviations_of_time_zones_are_those_of_their_places() -> None:
    names = zoneinfo.available_timezones()
    not_in_tzdata = {"BRT", "CT", "ET", "GST", "ICT", "MESZ", "MEZ", "MT", "PT", "SGT"}
    for short, places in spec_schedule._ABBREVIATED.items():
        assert short not in names, f"{short} is read as it is written"
        for place in places:
            zone = zoneinfo.ZoneInfo(place)
            called = {datetime(2026, month, 15, tzinfo=zone).tzname() for month in (1, 7)}
            assert short in called or short in not_in_tzdata, place
