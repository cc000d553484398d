"""The page of `sizewell explain --html`: one that is forwarded, with what was chosen, what it costs and why.

Its look, its charts and its tables are those of a preview's page; it holds no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Final

from sizewell.cli.answers import is_decision
from sizewell.cli.card import figure, open_ended, sums
from sizewell.preview.render import charts
from sizewell.preview.render.html import card, fold, framed, table
from sizewell.preview.render.text import dollars, usd
from sizewell.sizing.choose.decide import NothingFits
from sizewell.sizing.choose.elsewhere import BY_THE_API
from sizewell.sizing.money import Unpriced
from sizewell.sizing.records.budget import MONTHLY, PER_RUN, to_spare
from sizewell.sizing.units import gib, short_duration
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.sizing.choose.decide import Answer
    from sizewell.sizing.choose.elsewhere import ByTheToken
    from sizewell.sizing.choose.explain import Explanation
    from sizewell.sizing.records.decision import Alternative, Decision, Workload

RUNNER_UPS: Final = 12  # rows; the JSON form has all


def page(
    decided: Sequence[Answer],
    explained: Sequence[Explanation | NothingFits],
    tokens: Sequence[tuple[ByTheToken, ...]],
) -> str:
    """The page as text: a section for each workload, in the order of the specs."""
    decisions = {w.spec.name: (w, answer) for answer in decided if is_decision(answer) for w in answer.workloads}
    parts: list[str] = []
    for explanation, offers in zip(explained, tokens, strict=True):
        if isinstance(explanation, NothingFits):
            parts += _nothing(explanation)
        elif explanation.workload in decisions:
            parts += _workload(*decisions[explanation.workload], explanation, offers)
        else:  # the other specs of its stack do not fit
            parts.append(f"<h2>{escape(explanation.workload)}</h2><p>{escape(explanation.machines)}</p>")
    names = ", ".join(explanation.workload for explanation in explained)
    return framed(f"Sizing report: {names}", parts, schema=schema_of("explanation"))


def _nothing(answer: NothingFits) -> Iterator[str]:
    yield f"<section><h2>{escape(answer.workload)}</h2>"
    lines = ["Nothing fits", *(f"impossible: {wish}" for wish in answer.impossible)]
    yield f'<div class="alert" role="note"><ul>{_items(lines)}</ul></div>'
    rows = [[f"{near.cloud} {near.instance_type}", near.reason] for near in answer.nearest]
    if rows:
        yield "<h3>What comes nearest</h3>"
        yield table("", ["Machine type", "Why not"], rows, right=0, narrow=True, label="What comes nearest")
    if answer.relax:
        yield f"<h3>What would help</h3><ul>{_items(answer.relax)}</ul>"
    yield "</section>"


def _workload(
    workload: Workload, decision: Decision, explanation: Explanation, offers: Sequence[ByTheToken]
) -> Iterator[str]:
    name = workload.spec.name
    yield f"<section><h2>{escape(name)} <small>{escape(workload.kind)}</small></h2>"
    day = f"decided on {decision.decided_on}, at prices as of {decision.catalog.as_of}"
    whose = f"owner {decision.owner}, cost center {decision.cost_center}"
    yield f'<p class="soft">{escape(day)}; {escape(whose)}</p>'
    yield f"<p>{escape(explanation.machines)}</p>"
    yield from _alerts(workload)
    yield from _cards(workload)
    yield "<h3>The choice</h3>"
    rows = [
        [
            pool.instance_type,
            f"{pool.accelerators_per_node} x {pool.accelerator}" if pool.accelerator else "none",
            f"{pool.cloud} {pool.region}",
            pool.market if pool.managed in (None, "raw") else f"{pool.managed}, {pool.market}",
            f"{pool.nodes_min} to {pool.nodes_max}",
        ]
        for pool in workload.pools
    ]
    heads = ["Machine type", "Accelerators", "Where", "Bought as", "Machines"]
    yield table("", heads, rows, right=1, narrow=True, label=f"Machines of {name}")
    bound = f", limited by {explanation.bottleneck}" if explanation.bottleneck not in ("", "none") else ""
    predicted = f"{figure(workload.performance)}{bound}; grade {workload.performance.grade}"
    yield f"<p>Predicted: {escape(predicted)}</p>"
    yield from _cost(workload)
    yield from _pictures(explanation)
    yield from _runner_ups(name, explanation.alternatives, runs=explanation.layout is not None)
    yield from _changes(name, explanation)
    yield f"<h3>Assumptions</h3><ul>{_items(workload.assumptions) or '<li>none</li>'}</ul>"
    yield from _folds(name, workload, offers)
    yield "</section>"


def _alerts(workload: Workload) -> Iterator[str]:
    cost = workload.cost
    spare = to_spare(workload.budget, run_rate=workload.bill().run_rate, usd_per_run=cost.per_run_usd)
    names = {MONTHLY: "a month", PER_RUN: "a run"}
    lines = [
        f"Over the budget of {usd(workload.budget[key])} USD {names[key]} by {usd(-amount)} USD"
        for key, amount in spare.items()
        if amount is not None and amount < 0
    ]
    lines += [
        f"Whether the budget of {usd(workload.budget[key])} USD {names[key]} is kept is unknown: a price is missing"
        for key, amount in spare.items()
        if amount is None
    ]
    lines += [f"No price: {what}" for what in cost.unpriced]
    if lines:
        yield f'<div class="alert" role="note"><ul>{_items(lines)}</ul></div>'


def _cards(workload: Workload) -> Iterator[str]:
    cost, bill = workload.cost, workload.bill()
    rate, once = bill.run_rate.usd_per_month, bill.one_off.usd
    more = " + ?" if bill.run_rate.unpriced else ""
    yield '<dl class="cards">'
    yield card("Expected per month", f"{dollars(rate.expected)}{more}", "")
    yield card("Floor to ceiling", f"{dollars(rate.floor)} to {dollars(rate.ceiling)}{more}", "scaled to zero to 24x7")
    if once.ceiling > 0 or bill.one_off.unpriced:
        yield card("Paid once", open_ended(dollars(once.expected), bill.one_off.unpriced), "not refundable")
    for what, amount in (
        ("A run", cost.per_run_usd),
        ("1M tokens", cost.per_million_tokens_usd),
        ("1,000 samples", cost.per_thousand_samples_usd),
        ("An hour of audio", cost.per_audio_hour_usd),
    ):
        if amount is not None:
            yield card(what, f"${amount:,.2f}" if amount >= 1 else f"${Decimal(f'{amount:.3g}'):f}", "")
    yield "</dl>"


def _cost(workload: Workload) -> Iterator[str]:
    rows = []
    for record in workload.line_items:
        line = record.item()
        total = line.cost()
        unit = "a month" if line.cadence == "monthly" else "once"
        name = f"{line.what}, {unit}" + (f" ({line.confidence})" if line.confidence else "")
        bounds = ("?",) * 3 if isinstance(total, Unpriced) else (total.floor, total.expected, total.ceiling)
        rows.append([name, *(bound if isinstance(bound, str) else usd(bound) for bound in bounds)])
    rows += [[f"Together, {unit}", *bounds] for unit, bounds in sums(workload)]
    yield "<h3>Cost</h3>"
    heads = ["US dollars", "Floor", "Expected", "Ceiling"]
    yield table("", heads, rows, right=3, narrow=True, label=f"Cost of {workload.spec.name}")


def _pictures(explanation: Explanation) -> Iterator[str]:
    """Memory of one device, and where the time of a step goes."""
    drawn = []
    if explanation.memory:
        used, high, usable = (
            gib(size) for size in (explanation.used_bytes, explanation.high_bytes, explanation.usable_bytes)
        )
        parts = [
            (part.name, gib(round(part.value)), f"{gib(round(part.value)):.1f} GiB") for part in explanation.memory
        ]
        note = (
            f"{used:.1f} of {usable:.1f} GiB usable (outline); the line goes to {high:.1f}, the upper edge of the band"
        )
        drawn.append(
            ("Memory of one device", note, charts.shares("Memory of one device", note, parts, whole=usable, high=high))
        )
    if explanation.waterfall:
        whole = sum(part.value for part in explanation.waterfall)
        parts = [(part.name, part.value, short_duration(part.value)) for part in explanation.waterfall]
        note = f"{short_duration(whole)} a step"
        drawn.append(("Time of one step", note, charts.shares("Time of one step", note, parts, whole=whole, high=0)))
    shown = [
        f"<figure><figcaption>{escape(title)}<small>{escape(note)}</small></figcaption><div>{chart}</div></figure>"
        for title, note, chart in drawn
        if chart
    ]
    if shown:
        yield f'<div class="charts">{"".join(shown)}</div>'


def _runner_ups(name: str, options: Sequence[Alternative], *, runs: bool) -> Iterator[str]:
    options = [option for option in options if option.market != BY_THE_API]
    if not options:
        return
    per_run = runs and all(option.usd_per_run is not None for option in options)
    rows = []
    for option in options[:RUNNER_UPS]:
        amount = option.usd_per_run if per_run else option.usd_per_month
        machines = f"{option.nodes} x {option.instance_type}"
        machines += f" ({option.accelerator})" if option.accelerator else ""
        machines += f", {option.managed}" if option.managed else ""
        where = " ".join(part for part in (option.cloud, option.region, option.market) if part)
        rows.append([machines, where, option.why_not, "?" if amount is None else usd(amount)])
    yield "<h3>Runner-ups</h3>"
    heads = ["Machines", "Where", "Why not", f"USD per {'run' if per_run else 'month'}"]
    yield table("", heads, rows, right=1, narrow=True, label=f"Runner-ups of {name}")
    if len(options) > RUNNER_UPS:
        yield f'<p class="soft">and {len(options) - RUNNER_UPS} more: `sizewell explain --json`</p>'


def _changes(name: str, explanation: Explanation) -> Iterator[str]:
    rows = [
        [
            effect.what,
            effect.machines or "nothing fits",
            "" if not effect.machines else "?" if effect.usd is None else f"{effect.usd:,.2f}",
            "" if effect.change_percent is None else f"{effect.change_percent:+.1f} %",
        ]
        for effect in explanation.sensitivity
    ]
    lines = []
    if explanation.scaling is not None:
        devices, reached = explanation.scaling.devices, explanation.scaling.efficiency
        said = (
            explanation.scaling.warning
            if reached is None
            else f"{2 * reached:.3g} x the speed ({reached:.0%} of twice)"
        )
        lines.append(f"On {2 * devices} devices instead of {devices}: {said}")
    half = [
        f"{'enough' if change.enough else 'not enough'}: {change.what}: {change.outcome}" for change in explanation.half
    ]
    if not rows and not lines and not half:
        return
    yield "<h3>What would change it</h3>"
    if rows:
        heads = ["If there were", "Then", "USD", "Change"]
        yield table("", heads, rows, right=2, narrow=True, label=f"What would change the choice of {name}")
    if lines:
        yield f"<ul>{_items(lines)}</ul>"
    if half:
        yield f"<p>To fit on half the devices ({explanation.half_devices}):</p><ul>{_items(half)}</ul>"


def _folds(name: str, workload: Workload, offers: Sequence[ByTheToken]) -> Iterator[str]:
    if offers:
        rows = [
            [
                offer.seller.name,
                offer.price.listed_as,
                f"{offer.price.input_usd:f}",
                f"{offer.price.output_usd:f}",
                "?" if offer.usd_per_month is None else usd(offer.usd_per_month),
            ]
            for offer in offers
        ]
        heads = ["Seller", "As", "USD per 1M in", "USD per 1M out", "USD per month"]
        by_token = table("", heads, rows, right=3, narrow=True, label=f"The tokens of {name} by an API")
        yield fold(
            "The same tokens from an API",
            [by_token, "<p>Sizewell does not provision APIs; data leaves the account.</p>"],
        )
    if workload.rejections:
        groups = sorted(workload.rejections, key=lambda group: -group.count)
        rows = [[group.cause, group.example, f"{group.count:,}"] for group in groups]
        heads = ["Cause", "For example", "Machine types"]
        yield fold("Rejected", [table("", heads, rows, right=1, narrow=True, label=f"Rejected for {name}")])


def _items(lines: Sequence[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)
