"""The folds of the comment, in order of weight: the last is the first to go when the comment is too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sizewell.preview import records
from sizewell.preview.render import text
from sizewell.preview.render.escape import code, html, words
from sizewell.sizing.units import plural

_MOST_CHOICES = 8
SERVICES: Final = {"sagemaker": "SageMaker", "vertex": "Vertex AI", "azureml": "Azure ML", "cloud-run": "Cloud Run"}
EACH_ALONE: Final = (
    "Each option is priced separately, including the network and keys, which the stack's options share above."
)


def provenance_alone(preview: records.Preview) -> str:
    """Where the prices come from, for a comment that tells of no stack."""
    return _fold("<b>Provenance</b>", [provenance_in_words(preview.provenance)])


def folds_of(preview: records.Preview, stack: records.Stack, *, many: bool, last: bool = True) -> list[str]:
    """Every fold of one stack that has something in it; the last stack's says where the prices come from."""
    if stack.failed:
        return []
    prefix = f"<code>{html(stack.stack)}</code> · " if many else ""
    folds = [
        _fold(f"{prefix}<b>Policies</b> · {_policies_in_short(stack)}", list(_policies(stack))),
        _fold(f"{prefix}<b>Why this hardware</b>{_why_in_short(stack)}", list(_why(stack))),
        _fold(f"{prefix}<b>Idle guard</b> · {_guard_in_short(stack)}", list(_guard(stack))),
        _fold(f"{prefix}<b>Capacity</b>", [f"- {code(note.component)} {words(note.text)}" for note in stack.capacity]),
        _fold(f"{prefix}<b>What ages, what does not fit</b>{_ages_in_short(stack)}", list(_ages(stack))),
        _fold(f"{prefix}<b>Not priced, provenance</b>", list(_provenance(preview, stack, last=last))),
    ]
    return [fold for fold in folds if fold]


def _fold(summary: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return "\n".join([f"<details><summary>{summary}</summary>", "", *lines, "</details>"])


def _ages_in_short(stack: records.Stack) -> str:
    """How many versions ended or end soon, for the fold's line."""
    counts = {when: sum(age.when == when for age in stack.ages) for when in ("ended", "in 30 days", "in 90 days")}
    told = []
    for when, count in counts.items():
        end = "" if when == "ended" else "ends " if count == 1 else "end "
        told += [f"{count} {end}{when}"] if count else []
    return f" · {', '.join(told)}" if told else ""


def _ages(stack: records.Stack) -> Iterator[str]:
    for age in stack.ages:
        yield f"- {words(age.detail)}; {words(age.fix)}"


def _why_in_short(stack: records.Stack) -> str:
    return "".join(f" · {html(_evidence_in_short(each), 90)}" for each in stack.evidence[:2])


def _evidence_in_short(each: records.Evidence) -> str:
    return f"{each.workload}: {predicted(each)}"


def unit_of(metric: str, most: float) -> tuple[float, str]:
    """How many of a metric's base units are one shown unit, and its words, for figures up to `most`.

    >>> unit_of("run_time_s", 208800.0), unit_of("ttft_s", 0.41), unit_of("requests_per_s", 4.1)
    ((3600.0, 'h'), (0.001, 'ms ttft'), (1.0, 'requests/s'))
    """
    if "_per_s" in metric:
        return 1.0, metric.replace("_per_s", "/s").replace("_", " ")
    if "bytes" in metric:
        return 1e9, f"GB {' '.join(word for word in metric.split('_') if word != 'bytes')}"
    name = metric.removesuffix("_s").replace("_", " ")
    if not metric.endswith("_s"):
        return 1.0, name
    if most >= 7200:
        return 3600.0, "h"
    if most >= 120:
        return 60.0, "min"
    return (0.001, f"ms {name}") if most < 1 else (1.0, f"s {name}")


def figure(metric: str, value: float) -> str:
    """A prediction in the unit that its metric names.

    >>> figure("run_time_s", 208800.0), figure("requests_per_s_within_slo", 1696.2), figure("ttft_s", 0.41)
    ('58 h', '1,696 requests/s within slo', '410 ms ttft')
    """
    divisor, unit = unit_of(metric, value)
    size = value / divisor
    return f"{size:,.0f} {unit}" if size >= 100 else f"{size:,.3g} {unit}"


def predicted(each: records.Evidence) -> str:
    return with_band(each.metric, each.value, each.low, each.high)


def with_band(metric: str, value: float, low: float, high: float) -> str:
    """A prediction and its band, the unit said once: "58 h (46 to 70)"; what is no prediction has no band.

    >>> with_band("run_time_s", 208800.0, 165600.0, 252000.0), with_band("ttft_s", 0.41, 0.41, 0.41)
    ('58 h (46 to 70)', '410 ms ttft')
    """
    divisor, _ = unit_of(metric, value)
    edges = (f"{edge / divisor:,.0f}" if edge / divisor >= 100 else f"{edge / divisor:,.3g}" for edge in (low, high))
    return f"{figure(metric, value)} ({' to '.join(edges)})" if low != high else figure(metric, value)


def bound_by(each: records.Evidence) -> str:
    return f"; bound by {words(each.bottleneck)}" if each.bottleneck not in ("", "none") else ""


def choice_label(choice: records.Choice) -> str:
    """How many of what, on which terms, and which service runs it."""
    if not choice.nodes:  # an API, whose machines nobody sees
        return f"{choice.label}, {choice.market}"
    by = f", {SERVICES.get(choice.managed, choice.managed)}" if choice.managed else ""
    return f"{choice.nodes} x {choice.label}, {choice.market}{by}"


def _why(stack: records.Stack) -> Iterator[str]:
    if stack.choices:
        yield "| Choice | Where | $/month | $ for the run | Why not |"
        yield "|--------|-------|--------:|--------------:|---------|"
        for workload in dict.fromkeys(choice.workload for choice in stack.choices):
            ours = [choice for choice in stack.choices if choice.workload == workload]
            for choice in ours[:_MOST_CHOICES]:
                label = choice_label(choice)
                monthly = "**unpriced**" if choice.usd_per_month is None and choice.usd_per_run is None else ""
                yield (
                    f"| {'**' if choice.chosen else ''}{words(label, 60)}{'**' if choice.chosen else ''} "
                    f"| {words(choice.cloud)}/{words(choice.region)} "
                    f"| {text.usd(choice.usd_per_month) if choice.usd_per_month is not None else monthly} "
                    f"| {text.usd(choice.usd_per_run) if choice.usd_per_run is not None else ''} "
                    f"| {words(choice.why_not, 120)} |"
                )
        yield ""
        if any(not choice.chosen for choice in stack.choices):
            yield f"{EACH_ALONE}  "
    for each in stack.evidence:
        yield (f"{code(each.workload)}: {words(predicted(each))}; evidence: {words(each.grade)}{bound_by(each)}.  ")
        if each.memory_breakdown:
            parts = " + ".join(f"{words(name)} {size / 1e9:,.1f}" for name, size in each.memory_breakdown.items())
            yield (
                f"Memory per device: {parts} = {each.memory_per_device_bytes / 1e9:,.1f} GB of "
                f"{each.memory_usable_bytes / 1e9:,.1f} usable.  "
            )
        prices = [
            f"{text.small(amount)} USD {word}"
            for amount, word in (
                (each.usd_per_run, "per run"),
                (each.usd_per_million_tokens, "per 1M tokens"),
                (each.usd_per_thousand_samples, "per 1,000 samples"),
            )
            if amount is not None
        ]
        if prices:
            yield f"{', '.join(prices)}.  "
        if each.assumptions:
            yield f"Assumed: {'; '.join(words(assumption) for assumption in each.assumptions)}.  "


def _guard_in_short(stack: records.Stack) -> str:
    watched = sum(each.signal != "none" for each in stack.guarded)
    return f"{watched} of {plural(len(stack.guarded), 'component')} covered"


def _guard(stack: records.Stack) -> Iterator[str]:
    if not stack.guarded:
        return
    yield "| Component | Signal | Idle when | Then | Saves if idle |"
    yield "|-----------|--------|-----------|------|--------------:|"
    for each in stack.guarded:
        saves = f"${text.usd(each.saves_usd_per_hour)}/h" if each.saves_usd_per_hour is not None else ""
        cells = " | ".join(words(part) for part in (each.signal, each.idle_when, each.then))
        yield f"| {code(each.component)} | {cells} | {saves} |"
    if stack.ends:
        yield ""
    for end in stack.ends:
        yield f"- {f'{code(end.component)} ' if end.component else ''}{words(end.text)}"


def _policies_in_short(stack: records.Stack) -> str:
    if stack.policies is None:
        return ""
    advisory = sum(finding.level == "advisory" and not finding.waived for finding in stack.policies.findings)
    waived = sum(bool(finding.waived) for finding in stack.policies.findings)
    more = f", {waived} waived" if waived else ""
    return f"{len(stack.policies.failed)} mandatory failed, {advisory} advisory{more}"


def _policies(stack: records.Stack) -> Iterator[str]:
    if stack.policies is None:
        return
    in_base = 0
    for finding in text.grouped(text.findings(stack.policies)):
        if finding.stood:
            in_base += 1
            continue
        where = f" {code(finding.component)}" if finding.component else ""
        fix = f" Fix: {words(finding.fix)}" if finding.fix else ""
        waived = f" Waived: {words(finding.waived)}" if finding.waived else ""
        yield f"- {finding.level} {code(finding.policy)}{where}: {words(finding.message)}.{fix}{waived}".replace(
            "..", "."
        )
    if in_base:
        yield f"- {plural(in_base, 'finding')} that the base has as well"
    if stack.policies.summary:
        yield ""
        yield f"{words(stack.policies.summary)}."
    elif not stack.policies.findings:
        yield "All policies passed."


def _provenance(preview: records.Preview, stack: records.Stack, *, last: bool) -> Iterator[str]:
    new, in_base = text.missing_prices(stack)
    listed = [f"- **unpriced** {words(line)}" for line in new]
    listed += [f"- {text.unpriced_in_base(in_base)}"] if in_base else []
    listed += [f"- outside the totals: {words(line)}" for line in stack.outside]
    weak = dict.fromkeys(
        f"{line.component}: {line.what} ({line.confidence})"
        for row in stack.rows
        for line in row.lines
        if line.confidence and row.sign != "-"
    )
    listed += [f"- low confidence: {words(line)}" for line in weak]
    listed += [f"- {words(note)}" for note in stack.notes]
    yield from listed
    if listed:
        yield ""
    yield f"{text.covered(stack.coverage)}.  "
    if stack.free:
        kinds = ", ".join(f"{count} x {kind}" for kind, count in list(stack.free.items())[:12])
        yield f"Free: {words(kinds)}.  "
    if last:
        yield provenance_in_words(preview.provenance)


def provenance_in_words(source: records.Provenance) -> str:
    """Which prices: list prices of the catalog of a date, own rates, who evaluated the program."""
    parts = [f"Prices: list, catalog {words(source.catalog_digest[:12])}{_days_of(source)}"]
    parts.append(f"own rates from {words(source.discounts)}" if source.discounts else "no own rates loaded")
    if source.usage:
        parts.append(f"usage from {words(source.usage)}")
    parts.append("before and after use the same catalog")
    parts.append(f"engine {words(source.engine)}")
    parts.append("a month has 730 hours, 52/12 weeks")
    return f"{'; '.join(parts)}."


def _days_of(source: records.Provenance) -> str:
    """Of which days the prices are that are in the bills: the catalog's newest alone where nothing has a price."""
    if not source.used_from:
        return f" as of {words(source.catalog_as_of)}"
    first, last = source.used_from, source.used_until
    return f", those used here of {words(first)}" + (f" to {words(last)}" if last != first else "")
