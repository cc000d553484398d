"""The words and cells of `sizewell forecast`, alike in a terminal and in Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from sizewell.cli import output
from sizewell.cli.economics_text import ROUNDING, markdown_table
from sizewell.preview.render.escape import words
from sizewell.preview.render.text import small
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.economics.actual import Actual, Compared
    from sizewell.economics.ahead import Ahead, Row

SHOWN = 15  # lines, those that differ most; JSON has all
SERVICES = 5
SHORT = 4  # months that are listed one by one
Units = Mapping[str, tuple[str, Decimal]]


class Part(NamedTuple):
    """A title with lines, or with a table; of its columns the first `texts` and the last, where it is one, are text."""

    title: str
    lines: Sequence[str] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    texts: Sequence[str] = ()


def parts(forecast: Ahead, actual: Actual | None, saved: Mapping[str, Decimal], units: Units) -> Iterator[Part]:
    """What is said, in order: the bill first, where there is one."""
    if actual is not None:
        yield from _actual(actual, saved, units)
    yield from _ahead(forecast)


def _usd(usd: Decimal) -> str:
    return f"{usd:,.2f}"


def _signed(usd: Decimal) -> str:
    return f"{usd:+,.2f}"


def _off(estimated: Decimal, billed: Decimal) -> str:
    return f"{100 * (billed - estimated) / estimated:+.1f} %" if estimated else "not estimated" if billed else ""


def _actual(actual: Actual, saved: Mapping[str, Decimal], units: Units) -> Iterator[Part]:
    if not actual.months:
        why = "no month of the bill is closed" if actual.open else "no row of the bill is in US dollars"
        yield Part(f"{why}: nothing is compared", list(_rest(actual)))
        return
    months = ", ".join(actual.months) if len(actual.months) < SHORT else f"{actual.months[0]} to {actual.months[-1]}"
    estimated, billed = actual.estimated_usd, actual.ours_usd
    share = _off(estimated, billed)
    title = f"{months}: estimated {_usd(estimated)} USD, billed {_usd(billed)} USD" + (f" ({share})" if share else "")
    reasons = [f"{cause}: {_signed(usd)}" for cause, usd in actual.causes().items()]
    yield Part(title, [f"what explains the difference: {'; '.join(reasons)}"] if reasons else [])
    off = set(actual.off())
    yield Part(
        "stacks",
        heads=("stack", "estimated", "billed", "difference", "off by", "mostly"),
        rows=[
            [stack, _usd(mine), _usd(theirs), _signed(theirs - mine), _off(mine, theirs), _mostly(actual, stack)]
            for stack, (mine, theirs) in actual.stacks().items()
        ],
        texts=("stack", "mostly"),
    )
    if off:
        yield Part("more than 20 % off", [f"{stack}: {_why(actual, stack)}" for stack in sorted(off)])
    lines = _differing(actual.lines)
    more = [f"and {plural(len(lines) - SHOWN, 'line')} that differ less: --json has them"] if len(lines) > SHOWN else []
    rows = [
        [line.stack, f"{line.service}: {line.what}" if line.service else line.what, _usd(line.estimated_usd),
         _usd(line.billed_usd), _because(line)]
        for line in lines[:SHOWN]
    ]  # fmt: skip
    if rows:
        heads = ("stack", "what", "estimated", "billed", "because")
        yield Part("lines that differ most", more, heads=heads, rows=rows, texts=("stack", "what", "because"))
    yield Part("where the rest of the bill is", list(_rest(actual)))
    if waste := list(_waste(actual, saved)):
        yield Part("idle and saved", waste)
    if per := list(_per(actual, units)):
        yield Part("per unit of work, at the traffic of the specs", per)
    if proved := list(_proved(actual)):
        yield Part("what the bill proves; --write FOLDER has it as files", proved)


def _mostly(actual: Actual, stack: str) -> str:
    causes = actual.causes(stack)
    return max(causes, key=lambda cause: abs(causes[cause])) if causes else ""


def _why(actual: Actual, stack: str) -> str:
    lines = _differing(each for each in actual.lines if each.stack == stack)
    return "; ".join(
        f"{each.service}: {each.what} {_signed(each.difference_usd)}, {_because(each)}" for each in lines[:3]
    )


def _differing(lines: Iterable[Compared]) -> list[Compared]:
    """Those that differ, each over all months, by how much."""
    merged: dict[tuple[str, str, str], Compared] = {}
    for line in lines:
        key = (line.stack, line.service, line.what)
        seen = merged.get(key)
        merged[key] = line if seen is None else replace(
            seen,
            estimated_usd=seen.estimated_usd + line.estimated_usd,
            billed_usd=seen.billed_usd + line.billed_usd,
            estimated_quantity=_sum(seen.estimated_quantity, line.estimated_quantity),
            billed_quantity=_sum(seen.billed_quantity, line.billed_quantity),
            causes={cause: seen.causes.get(cause, Decimal(0)) + line.causes.get(cause, Decimal(0))
                    for cause in [*seen.causes, *(each for each in line.causes if each not in seen.causes)]},
        )  # fmt: skip
    return sorted((line for line in merged.values() if line.causes), key=lambda line: -abs(line.difference_usd))


def _sum(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one + other


def _because(line: Compared) -> str:
    from sizewell.economics.actual import OTHER_MARKET, PRICE

    said = []
    prices = [cause for cause in line.causes if cause in (PRICE, *OTHER_MARKET.values())]
    for cause, usd in line.causes.items():
        amounts = ""
        if line.estimated_quantity is not None and line.billed_quantity is not None:
            wanted, used = line.estimated_quantity, line.billed_quantity
            if cause in ("hours", "quantity"):
                amounts = f" {wanted:,.1f} -> {used:,.1f}"
            elif prices == [cause] and wanted and used:
                amounts = f" {_price(line.estimated_usd / wanted)} -> {_price(line.billed_usd / used)}"
        said.append(f"{cause}{amounts}" + (f" ({_signed(usd)})" if len(line.causes) > 1 else ""))
    return ", ".join([*said, *([line.note] if line.note else [])])


def _price(usd: Decimal) -> str:
    """A price of a unit, four places at least.

    >>> _price(Decimal("0.526")), _price(Decimal("0.0000002"))
    ('0.5260', '0.0000002')
    """
    return (
        f"{usd:.4f}" if usd >= Decimal("0.01") else f"{usd:.3g}" if usd >= Decimal("0.0001") else f"{usd.normalize():f}"
    )


def _rest(actual: Actual) -> Iterator[str]:
    others: dict[str, Decimal] = {}
    for (_, service), usd in actual.not_ours.items():
        others[service] = others.get(service, Decimal(0)) + usd
    yield (f"the whole bill: {_usd(actual.usd)} USD in {plural(actual.rows, 'row')}, commitments spread over hours;"
           f" {_usd(actual.billed_usd)} USD as invoiced")  # fmt: skip
    if others:
        largest = sorted(others.items(), key=lambda pair: -abs(pair[1]))
        named = ", ".join(f"{service} {_usd(usd)}" for service, usd in largest[:SERVICES])
        more = f" and {plural(len(largest) - SERVICES, 'other service')}" if len(largest) > SERVICES else ""
        yield f"of none of these stacks, by its tags: {_usd(sum(others.values(), Decimal(0)))} USD: {named}{more}"
    if actual.absent:
        named = ", ".join(f"{stack} ({_usd(usd)} USD estimated)" for stack, usd in actual.absent.items())
        yield (f"not compared, as no row has the tags of {named}: it did not stand, is on another bill, or the tag"
               " sizewell-stack is not activated for billing (AWS: cost allocation tags)")  # fmt: skip
    for currency, count in actual.in_usd.items():
        yield f"{plural(count, 'row')} in {currency}, read at the US dollars that the bill states beside"
    for currency in sorted({currency for _, currency in actual.foreign}):
        amounts = {stack: amount for (stack, each), amount in actual.foreign.items() if each == currency}
        named = ", ".join(f"{stack or 'none of these stacks'} {_usd(amount)}" for stack, amount in amounts.items())
        total = _usd(sum(amounts.values(), Decimal(0)))
        yield f"in no figure, as no US dollars are stated beside it: {total} {currency}: {named}"
    for each in actual.open:
        rows = plural(each.rows, "row")
        yield f"{each.month} is not closed until {each.closes}: {_usd(each.usd)} USD in {rows} are left out"
    if actual.twice_rows:
        yield (f"rows that equal another in every column are counted once: {_usd(actual.twice_usd)} USD of"
               f" {plural(actual.twice_rows, 'row')} are not counted")  # fmt: skip
    for month, moment in actual.partial.items():
        yield f"the newest row of {month} ends {moment}: the bill of that month may not be whole"


def _waste(actual: Actual, saved: Mapping[str, Decimal]) -> Iterator[str]:
    for line in actual.lines:
        if line.idle_usd:
            yield (f"{line.stack}: {line.what} ran {line.idle_hours:,.0f} machine-hours more than its work was"
                   f" estimated to need: {_usd(line.idle_usd)} USD")  # fmt: skip
    if actual.unused_usd:
        yield f"commitments and reservations that nothing used: {_usd(actual.unused_usd)} USD"
    for stack, usd in saved.items():
        yield f"{stack}: teardown saved {_usd(usd)} USD, by its journal"


def _per(actual: Actual, units: Units) -> Iterator[str]:
    for stack, (estimated, billed) in actual.stacks().items():
        if stack in units and actual.months:
            name, made = units[stack][0], units[stack][1] * len(actual.months)
            yield f"{stack}: {small(estimated / made)} USD per {name} estimated, {small(billed / made)} billed"


def _proved(actual: Actual) -> Iterator[str]:
    for rate in actual.rates.rates:
        yield f"{rate.cloud} {rate.instance_type} {rate.region}: {_price(rate.usd or Decimal(0))} USD an hour on demand"
    for urn, uses in actual.usage.items():
        yield f"{urn.rpartition('::')[2]}: {', '.join(f'{key} {value:,.2f}' for key, value in uses.items())}"


def usage_file(actual: Actual) -> str:
    """What the bill says of use, as `preview --usage` reads it; "" where that is nothing."""
    if not actual.usage:
        return ""
    lines = [f"# billed in {', '.join(actual.months)}, by {', '.join(actual.files)}: a month's mean", "usage:"]
    for urn, uses in actual.usage.items():
        pairs = ", ".join(f"{key}: {value.normalize():f}" for key, value in uses.items())
        lines.append(f"  - {{resource: {json.dumps(urn)}, {pairs}}}")
    return "\n".join([f"schema: {schema_of('usage')}", *lines]) + "\n"


def _ahead(forecast: Ahead) -> Iterator[Part]:
    first, last, count = forecast.months[0], forecast.months[-1], len(forecast.months)
    total = sum(forecast.usd, Decimal(0))
    span = f"{first:%Y-%m}" if count == 1 else f"{first:%Y-%m} to {last:%Y-%m}"
    yield Part(
        f"{span}: {_usd(total)} USD{missing(forecast.rows)} forecast",
        [_by_month(forecast)],
    )
    months = [f"{first:%Y-%m}"] if count == 1 else [f"{first:%Y-%m}", f"{last:%Y-%m}", plural(count, "month")]
    yield Part(
        "stacks ahead",
        heads=("stack", "owner", *months, "budget"),
        rows=[_row(row) for row in forecast.rows],
        texts=("stack", "owner", "budget"),
    )
    for key, name in (("owner", "owner"), ("cost_center", "cost center"), ("environment", "environment")):
        marks = {each: missing(row for row in forecast.rows if getattr(row.about, key) == each)
                 for each in forecast.by(key)}  # fmt: skip
        sums = {each: usd for each, usd in forecast.by(key).items() if usd or marks[each]}
        if len(sums) > 1:
            yield Part(
                f"by {name}", [f"{each or 'none stated'}: {_usd(usd)} USD{marks[each]}" for each, usd in sums.items()]
            )
    over = [
        f"{row.about.stack}: over its budget of {_usd(row.about.budget_usd or Decimal(0))} USD a month in "
        f"{plural(len(row.over()), 'month')}, from {forecast.months[row.over()[0]]:%Y-%m} on"
        for row in forecast.rows
        if row.over()
    ]
    unpriced = [f"{row.about.stack}: in no figure: {each}" for row in forecast.rows for each in row.unpriced]
    outside = [f"{row.about.stack}: outside the totals: {each}" for row in forecast.rows for each in row.about.outside]
    if notes := [*over, *forecast.notes, *unpriced, *outside]:
        yield Part("notes", notes)


def _by_month(forecast: Ahead) -> str:
    """The total of each month, those in a row that cost the same together."""
    runs: list[tuple[date, date, Decimal]] = []
    for month, usd in zip(forecast.months, forecast.usd, strict=True):
        first = runs.pop()[0] if runs and abs(runs[-1][2] - usd) <= ROUNDING else month
        runs.append((first, month, usd))
    return "; ".join(
        f"{first:%Y-%m}: {_usd(usd)} USD"
        if first == last
        else f"{first:%Y-%m} to {last:%Y-%m}: {_usd(usd)} USD a month"
        for first, last, usd in runs
    )


def _row(row: Row) -> list[str]:
    about, usd = row.about, row.usd
    figures = usd if len(usd) == 1 else (usd[0], usd[-1], sum(usd, Decimal(0)))
    if about.failed:
        return [about.stack, about.owner, *["?" for _ in figures], ""]
    budget = "" if about.budget_usd is None else f"{about.budget_usd:,.0f}" + (", over" if row.over() else "")
    return [about.stack, about.owner, *(_usd(each) + missing([row]) for each in figures), budget]


def missing(rows: Iterable[Row]) -> str:
    """What stands behind a total that something is missing from."""
    return " + ?" if any(row.unpriced or row.about.outside or row.about.failed for row in rows) else ""


def show(forecast: Ahead, actual: Actual | None, saved: Mapping[str, Decimal], units: Units) -> None:
    """Print it in a terminal."""
    show_parts(parts(forecast, actual, saved, units))


def show_parts(said: Iterable[Part]) -> None:
    """Print titles with their lines and tables."""
    console = output.console()
    for number, part in enumerate(said):
        if number:
            console.print()
        console.print(part.title, style="bold")
        if part.heads:
            made = output.table(*part.heads, right=tuple(head for head in part.heads if head not in part.texts))
            made.columns[0].no_wrap = True  # a name that is to be typed
            for row in part.rows:
                made.add_row(*row)
            console.print(made)
        for line in part.lines:
            console.print(f"  {line}")


def markdown(forecast: Ahead, actual: Actual | None, saved: Mapping[str, Decimal], units: Units) -> str:
    """The same as Markdown."""
    return markdown_parts(parts(forecast, actual, saved, units))


def markdown_parts(said: Iterable[Part]) -> str:
    """Titles with their lines and tables as Markdown."""
    blocks = []
    for part in said:
        blocks.append(f"### {words(part.title[:1].upper() + part.title[1:])}")
        if part.heads:
            blocks.append(markdown_table(part.heads, part.rows, left=part.texts))
        if part.lines:
            blocks.append("\n".join(f"- {words(line)}" for line in part.lines))
    return "\n\n".join(blocks) + "\n"
