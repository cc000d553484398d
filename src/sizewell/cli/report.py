"""The page of `sizewell explain --html`: one that is forwarded, with what was chosen, what it costs and why.

Its look, its charts and its tables are those of a preview's page; it holds no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from sizewell.cli.answers import is_decision
from sizewell.cli.decision_text import at_least, figure, open_ended, sums
from sizewell.preview.render import charts, pages
from sizewell.preview.render.pages import Card, Figure, Table
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
    from sizewell.sizing.choose.explain import Explanation, Scaling
    from sizewell.sizing.records.decision import Alternative, Decision, Workload

RUNNER_UPS: Final = 12  # rows; the JSON form has all


def page(
    decided: Sequence[Answer],
    explained: Sequence[Explanation | NothingFits],
    tokens: Sequence[tuple[ByTheToken, ...]],
) -> str:
    """The page as text: a section for each workload, in the order of the specs."""
    decisions = {w.spec.name: (w, answer) for answer in decided if is_decision(answer) for w in answer.workloads}
    sections: list[dict[str, Any]] = []
    for explanation, offers in zip(explained, tokens, strict=True):
        name = explanation.workload
        if isinstance(explanation, NothingFits):
            sections.append(_nothing(explanation))
        elif name in decisions:
            sections.append(_workload(*decisions[name], explanation, offers))
        else:
            outcome = "another spec of the stack does not fit"
            sections.append({"outcome": outcome, "name": name, "machines": explanation.machines})
    names = ", ".join(explanation.workload for explanation in explained)
    heading, schema = f"Sizing report: {names}", schema_of("explanation")
    return pages.render("report.html", heading=heading, schema=schema, sections=sections)


def _nothing(answer: NothingFits) -> dict[str, Any]:
    rows = [[f"{near.cloud} {near.instance_type}", near.reason] for near in answer.nearest]
    return {
        "outcome": "nothing fits",
        "name": answer.workload,
        "alerts": ["Nothing fits", *(f"impossible: {wish}" for wish in answer.impossible)],
        "nearest": Table(["Machine type", "Why not"], rows, label="What comes nearest"),
        "relax": answer.relax,
    }


def _workload(
    workload: Workload, decision: Decision, explanation: Explanation, offers: Sequence[ByTheToken]
) -> dict[str, Any]:
    """What the page says of one workload, by the names that the template has for it."""
    name = workload.spec.name
    bound = f", limited by {explanation.bottleneck}" if explanation.bottleneck not in ("", "none") else ""
    return {
        "outcome": "fits",
        "name": name,
        "kind": workload.kind,
        "decided": f"decided on {decision.decided_on}, at prices as of {decision.catalog.as_of}",
        "whose": f"owner {decision.owner}, cost center {decision.cost_center}",
        "machines": explanation.machines,
        "alerts": _alerts(workload),
        "cards": list(_cards(workload)),
        "pools": _pools(workload),
        "predicted": f"{figure(workload.performance)}{bound}; grade {workload.performance.grade}",
        "cost": _cost(workload),
        "figures": list(_figures(explanation)),
        **_runner_ups(name, explanation.alternatives, runs=explanation.layout is not None),
        **_changes(name, explanation),
        "assumptions": workload.assumptions,
        "by_token": _by_token(name, offers),
        "rejected": _rejected(workload),
    }


def _pools(workload: Workload) -> Table:
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
    return Table(heads, rows, right=1, label=f"Machines of {workload.spec.name}")


def _alerts(workload: Workload) -> list[str]:
    cost = workload.cost
    spare = to_spare(workload.budget, run_rate=workload.bill().run_rate, run=workload.run())
    names = {MONTHLY: "a month", PER_RUN: "a run"}
    lines = [
        f"Over the budget of {usd(workload.budget[key])} USD {names[key]} "
        f"by {at_least(workload, key)}{usd(-amount)} USD"
        for key, amount in spare.items()
        if amount is not None and amount < 0
    ]
    lines += [
        f"Whether the budget of {usd(workload.budget[key])} USD {names[key]} is kept is unknown: a price is missing"
        for key, amount in spare.items()
        if amount is None
    ]
    return lines + [f"No price: {what}" for what in cost.unpriced]


def _cards(workload: Workload) -> Iterator[Card]:
    cost, bill = workload.cost, workload.bill()
    rate, once = bill.run_rate.usd_per_month, bill.one_off.usd
    floor, expected, ceiling = (
        open_ended(dollars(bound), bill.run_rate.unpriced) for bound in (rate.floor, rate.expected, rate.ceiling)
    )
    yield Card("Expected per month", expected)
    yield Card("Floor to ceiling", f"{floor} to {ceiling}", "scaled to zero to 24x7")
    if once.ceiling > 0 or bill.one_off.unpriced:
        yield Card("Paid once", open_ended(dollars(once.expected), bill.one_off.unpriced), "not refundable")
    run = workload.run()
    if run is not None:
        yield Card("A run", open_ended(_small(run.usd.expected), run.unpriced))
    for what, amount in (
        ("1M tokens", cost.per_million_tokens_usd),
        ("1,000 samples", cost.per_thousand_samples_usd),
        ("An hour of audio", cost.per_audio_hour_usd),
    ):
        if amount is not None:
            yield Card(what, _small(amount))


def _small(amount: Decimal) -> str:
    return f"${amount:,.2f}" if amount >= 1 else f"${Decimal(f'{amount:.3g}'):f}"


def _cost(workload: Workload) -> Table:
    rows = []
    for record in workload.line_items:
        line = record.item()
        total = line.cost()
        unit = "a month" if line.cadence == "monthly" else "once"
        name = f"{line.what}, {unit}" + (f" ({line.confidence})" if line.confidence else "")
        bounds = ("?",) * 3 if isinstance(total, Unpriced) else (total.floor, total.expected, total.ceiling)
        rows.append([name, *(bound if isinstance(bound, str) else usd(bound) for bound in bounds)])
    rows += [[f"Together, {unit}", *bounds] for unit, bounds in sums(workload)]
    heads = ["US dollars", "Floor", "Expected", "Ceiling"]
    return Table(heads, rows, right=3, label=f"Cost of {workload.spec.name}")


def _figures(explanation: Explanation) -> Iterator[Figure]:
    """What machine types cost and how fast they are, memory of one device, and where the time of a step goes."""
    if explanation.compared:
        yield from _compared(explanation)
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
        yield _figure("Memory of one device", note, parts, whole=usable, high=high)
    if explanation.waterfall:
        whole = sum(part.value for part in explanation.waterfall)
        parts = [(part.name, part.value, short_duration(part.value)) for part in explanation.waterfall]
        note = f"{short_duration(whole)} a step"
        yield _figure("Time of one step", note, parts, whole=whole, high=0)


def _compared(explanation: Explanation) -> Iterator[Figure]:
    metric = explanation.compared[0].metric
    runs = "_per_s" not in metric
    asked = "the deadline" if runs else "the load within the service level"
    first = explanation.compared[0]
    ways = []
    for each in explanation.compared:
        notes = [f"limited by {each.bottleneck}"] if each.chosen or each.bottleneck != first.bottleneck else []
        notes += [each.why_not] if each.usd < first.usd else []  # else it costs more, as can be seen
        note = "".join(f"; {part}" for part in notes)
        ways.append(charts.Way(each.machines, each.place, each.chosen, each.usd, each.value, each.low, each.high, note))
    chart = charts.speed_against_cost(explanation.workload, metric, ways, asked=explanation.asked, asked_name=asked)
    if chart:
        note = f"US dollars a {'run' if runs else 'month'}; filled: chosen; lines: 80 % bands"
        note += f"; dashed: {asked}" if explanation.asked is not None else ""
        yield Figure(f"{charts.speed_word(metric)} against cost", note, Markup(chart))  # noqa: S704 - escaped there


def _figure(title: str, note: str, parts: Sequence[tuple[str, float, str]], *, whole: float, high: float) -> Figure:
    chart = charts.shares(title, note, parts, whole=whole, high=high)
    return Figure(title, note, Markup(chart))  # noqa: S704 - made here


def _runner_ups(name: str, options: Sequence[Alternative], *, runs: bool) -> dict[str, Any]:
    options = [option for option in options if option.market != BY_THE_API]
    per_run = runs and all(option.usd_per_run is not None for option in options)
    rows = []
    for option in options[:RUNNER_UPS]:
        amount = option.usd_per_run if per_run else option.usd_per_month
        machines = f"{option.nodes} x {option.instance_type}"
        machines += f" ({option.accelerator})" if option.accelerator else ""
        machines += f", {option.managed}" if option.managed else ""
        where = " ".join(part for part in (option.cloud, option.region, option.market) if part)
        rows.append([machines, where, option.why_not, "?" if amount is None else usd(amount)])
    heads = ["Machines", "Where", "Why not", f"USD per {'run' if per_run else 'month'}"]
    return {
        "runner_ups": Table(heads, rows, right=1, label=f"Runner-ups of {name}"),
        "more_runner_ups": len(options) - RUNNER_UPS,
    }


def _changes(name: str, explanation: Explanation) -> dict[str, Any]:
    rows = [
        [
            effect.what,
            effect.machines or "nothing fits",
            "" if not effect.machines else "?" if effect.usd is None else f"{effect.usd:,.2f}",
            "" if effect.change_percent is None else f"{effect.change_percent:+.1f} %",
        ]
        for effect in explanation.sensitivity
    ]
    heads = ["If there were", "Then", "USD", "Change"]
    return {
        "effects": Table(heads, rows, right=2, label=f"What would change the choice of {name}"),
        "scaling": _scaling(explanation.scaling),
        "half_devices": explanation.half_devices,
        "half": [
            f"{'enough' if change.enough else 'not enough'}: {change.what}: {change.outcome}"
            for change in explanation.half
        ],
    }


def _scaling(scaling: Scaling | None) -> str:
    if scaling is None:
        return ""
    reached = scaling.efficiency
    speed = scaling.warning if reached is None else f"{2 * reached:.3g} x the speed ({reached:.0%} of twice)"
    return f"On {2 * scaling.devices} devices instead of {scaling.devices}: {speed}"


def _by_token(name: str, offers: Sequence[ByTheToken]) -> Table:
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
    return Table(heads, rows, right=3, label=f"The tokens of {name} by an API")


def _rejected(workload: Workload) -> Table:
    groups = sorted(workload.rejections, key=lambda group: -group.count)
    rows = [[group.cause, group.example, f"{group.count:,}"] for group in groups]
    return Table(["Cause", "For example", "Machine types"], rows, right=1, label=f"Rejected for {workload.spec.name}")
