"""Own hardware as a way to pay: a file that states its figures, and what is paid for it month by month."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from sizewell.economics.demand import Demand
from sizewell.economics.payments import Payment, once
from sizewell.sizing.billing.owning import OF_A_SERVER, USUAL, Figure, Figures, lost_share
from sizewell.sizing.catalog.rates import unknown_key
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem, Priced
from sizewell.sizing.places import locating, read_yaml
from sizewell.sizing.versions import content

OWN: Final = "own hardware"
_KEYS: Final = {**OF_A_SERVER, **USUAL}
_WHOLE: Final = ("accelerators", "lifetime_months")
_WAY: Final = "a number, or {value: 150000, source: a quote of 2026-10-02}"


def read_figures(path: Path) -> dict[str, Figure]:
    """What a file states: `key: number` or `key: {value: number, source: text}`.

    Raises ConfigError with every fault, each with its line and column.
    """
    document = read_yaml(path)
    with locating(document.places):
        return _figures(document.data, str(path))


def _figures(data: object, origin: str) -> dict[str, Figure]:
    data = content("own-hardware", data, origin)
    if not isinstance(data, Mapping):
        allowed = f"a mapping with {', '.join(_KEYS)}"
        message = "says nothing" if data is None else ""
        fix = "machine_usd: 290000, accelerators: 8 and power_w: 10200 on lines of their own, or leave the file out"
        raise ConfigError([Fault(path="", found=data, allowed=allowed, message=message, fix=fix)], subject=origin)
    faults, stated = [], {}
    for key, entry in data.items():
        if key not in _KEYS:
            faults.append(unknown_key("", str(key), tuple(_KEYS)))
            continue
        value, source = entry, origin
        if isinstance(entry, Mapping):
            faults += [
                unknown_key(key, str(name), ("value", "source")) for name in entry if name not in ("value", "source")
            ]
            value, source = entry.get("value"), str(entry.get("source") or origin)
        number = _number(value)
        usual = _KEYS[key]
        if number is None:
            faults.append(
                Fault(path=key, found=value, allowed=_WAY, fix=f"write it in {usual.unit or 'plain numbers'}")
            )
        elif not usual.low <= number <= usual.high or (key in _WHOLE and number % 1):
            faults.append(
                Fault(
                    path=key,
                    found=value,
                    allowed=f"{'a whole number ' if key in _WHOLE else ''}from {usual.low:f} to {usual.high:f}",
                    fix=f"write it within these bounds{f', in {usual.unit}' if usual.unit else ''}",
                )
            )
        else:
            stated[key] = usual._replace(value=number, source=source, is_estimate=False)
    resale = {key: stated.get(key, USUAL[key]) for key in ("resale_new_percent", "resale_percent")}
    new, old = resale.values()
    if not faults and new.value < old.value:
        key = next(each for each in resale if each in stated)
        other = next(each for each in resale if each != key)
        bound = "least" if other == "resale_new_percent" else "most"
        message = f"a server is worth {new.value:f} % new and {old.value:f} % at the end of its lifetime, which is more"
        fix = f"state {other} too, at {bound} {stated[key].value:f}"
        faults.append(Fault(path=key, message=message, fix=fix))
    if faults:
        raise ConfigError(faults, subject=origin)
    return stated


def _number(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def owned(name: str, figures: Figures, servers: int, months: int, demand: Demand) -> tuple[Payment, ...]:
    """What servers cost over some months: bought, run, replaced at the end of their lifetime, and sold at the end.

    Power is paid for the hours in which they work, all else whether they work or not.
    """

    def line(what: str, unit: str, quantity: Decimal, key: str, usd: Decimal | None = None) -> LineItem:
        figure = figures[key]
        price = Priced(figure.value if usd is None else usd, figure.source, "")
        return LineItem(component=name, what=what, unit=unit, quantity=Interval.exactly(quantity), price=price)

    def percent(key: str) -> Decimal:
        return figures[key].value / 100

    count, usd = Decimal(servers), figures["machine_usd"].value
    kilowatts = count * figures["power_w"].value / 1000
    kwh = kilowatts * figures["pue"].value * demand.utilization * HOURS_PER_MONTH
    each_month = [
        line("power and cooling", "kWh", kwh, "usd_per_kwh"),
        line("space", "kW-month", kilowatts, "space_usd_per_kw_month"),
        line("staff", "server-month", count, "staff_usd_per_server_month"),
        line("support, insurance and the like", "server-year", count / 12, "running_usd_per_server_year"),
        line("spares", "of the price", count * percent("spares_percent_per_year") / 12, "machine_usd"),
    ]
    payments = [Payment(item, 1, months) for item in each_month]
    payments.append(once(line("rack and network", "server", count, "network_usd")))
    lifetime = int(figures["lifetime_months"].value)
    bought = line("servers", "server", count, "machine_usd")
    for start in range(0, months, lifetime):
        kept = min(lifetime, months - start)
        payments += _financed(bought, percent("interest_percent_per_year") / 12, lifetime, start, kept)
        fetched = -usd * (1 - lost_share(Decimal(kept), figures))
        payments.append(once(line("resale", "server", count, "resale_percent", fetched), start + kept))
    return tuple(payments)


def _financed(bought: LineItem, rate: Decimal, lifetime: int, start: int, kept: int) -> list[Payment]:
    """Paid at once where money costs nothing; else in equal rates over the lifetime, the rest when it is sold."""
    if not rate:
        return [once(bought, start)]
    assert isinstance(bought.price, Priced)  # noqa: S101 - own hardware without a price is no way to pay
    usd = bought.price.amount
    instalment = usd * rate / (1 - (1 + rate) ** -lifetime)
    owed = instalment * (1 - (1 + rate) ** (kept - lifetime)) / rate
    rates = _priced(bought, "servers, financed", instalment)
    rest = [once(_priced(bought, "rest of the loan", owed), start + kept)] if kept < lifetime else []
    return [Payment(rates, start + 1, start + kept), *rest]


def _priced(item: LineItem, what: str, usd: Decimal) -> LineItem:
    source = item.price.source if isinstance(item.price, Priced) else ""
    return LineItem(
        component=item.component, what=what, unit=item.unit, quantity=item.quantity, price=Priced(usd, source, "")
    )
