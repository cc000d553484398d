"""A decision as a person reads it: what was chosen, the memory bar, speed, cost, what was rejected and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from sizewell.cli.output import dollars, table
from sizewell.sizing.choose.elsewhere import BY_THE_API
from sizewell.sizing.money import Unpriced
from sizewell.sizing.records.budget import MONTHLY, PER_RUN, exceeded, to_spare, unpriced_of
from sizewell.sizing.records.decision import Alternative, Decision, Performance, Pool, Workload
from sizewell.sizing.units import gib, short_duration, short_number

if TYPE_CHECKING:
    from rich.console import Console

    from sizewell.sizing.choose.decide import NothingFits
    from sizewell.sizing.choose.elsewhere import ByTheToken

BAR = 36  # columns of the longest memory bar
MANY = 5  # rows of alternatives and rejections


def summary(console: Console, rows: Iterable[tuple[Workload | None, str]]) -> None:
    """Two lines a workload: (workload, its name) or (None, "name: why there is none"); beneath, why one needs care."""
    made = table("workload", "machines", "where", "GiB", "speed", "USD/month", right=("GiB", "USD/month"))
    made.padding = (0, 1, 0, 0)
    remarks: dict[str, str] = {}  # text -> style; workloads that share a network share its unpriced lines
    for workload, text in rows:
        if workload is None:
            name, _, why = text.partition(": ")
            made.add_row(name, why, "", "", "", "?")
            continue
        memory = workload.memory
        speed = figure(workload.performance).removesuffix(" within slo").replace("requests", "req")
        rate, run = workload.bill().run_rate, workload.run()
        over = exceeded(workload.budget, run_rate=rate, run=run)
        month = open_ended(_short(rate.usd_per_month.expected), rate.unpriced)
        hour = hourly(workload)
        apart = f"\n{_small(hour)}/h" if hour is not None else ""
        made.add_row(
            workload.spec.name,
            "\n".join(f"{pool.instance_type}\n{_devices(pool)}" for pool in workload.pools),
            "\n".join(f"{pool.cloud} {pool.region}\n{pool.market}" for pool in workload.pools),
            f"{gib(memory.per_device_bytes):.1f}\nof {gib(memory.usable_bytes):.1f}" if memory.breakdown else "",
            f"{speed}\n{workload.performance.grade}" if memory.breakdown else "",
            month + (apart if run is None else f"\n{open_ended(_short(run.usd.expected), run.unpriced)} a run"),
            style="red" if over else "",
        )
        remarks |= {f"{workload.spec.name}: {text}": "bold red" for text, over in budgets(workload) if over}
        remarks |= {f"? {line}": "yellow" for line in workload.cost.unpriced}
    console.print(made)
    for remark, style in remarks.items():
        console.print(f"  {remark}", style=style)


def workload_block(console: Console, workload: Workload, decision: Decision) -> None:
    """Everything about one workload."""
    head(
        console,
        f"{workload.spec.name}  {workload.kind}",
        f"decided on {decision.decided_on}, prices as of {decision.catalog.as_of}",
    )
    item(console, _price(workload))
    for pool in workload.pools:
        for line in _pool(pool):
            item(console, line)
    for line in _shape_of_work(workload):
        item(console, line)
    _memory(console, workload)
    if workload.memory.breakdown:
        _performance(console, workload.performance)
    _cost(console, workload)
    alternatives(console, workload.alternatives, runs=workload.kind in ("training", "fine-tuning"))
    _compared_at(console, workload)
    _rejections(console, workload)
    if workload.assumptions:
        console.print("\nassumed", style="bold")
        for assumption in workload.assumptions:
            item(console, assumption)


def hourly(workload: Workload) -> Decimal | None:
    """US dollars an hour with every machine on; None where a price is missing or nothing is billed by the hour."""
    total = Decimal(0)
    for pool in workload.pools:
        lines = [record.item() for record in workload.line_items if record.unit == "machine-hour"]
        what = f"{pool.instance_type}, {pool.market}, {pool.region}"
        line = next((line for line in lines if line.what.startswith(what)), None)
        if line is None or isinstance(line.price, Unpriced):
            return None
        total += line.price.amount * pool.nodes_max
    return total


def _price(workload: Workload) -> str:
    """The price of an hour, a day and a month, as the first thing that is read."""
    rate, run, hour = workload.bill().run_rate, workload.run(), hourly(workload)
    count = sum(pool.nodes_max for pool in workload.pools)
    month = open_ended(dollars(rate.usd_per_month.expected), rate.unpriced)
    text = f"{month} USD a month expected"
    if run is not None:
        text = f"{open_ended(dollars(run.usd.expected), run.unpriced)} USD a run, {month} a month expected"
    if hour is None or not count:
        return text
    on = f"all {count:,}" if count > 1 else "the machine"
    return f"{text}; {_small(hour)} an hour and {dollars(hour * 24)} a day with {on} on"


def nothing_fits(console: Console, answer: NothingFits) -> None:
    """What came nearest, why it does not serve, and what to relax."""
    console.print(f"{answer.workload}: nothing fits", style="bold")
    for wish in answer.impossible:
        item(console, f"impossible: {wish}")
    if answer.nearest:
        made = table("nearest", "why not")
        for rejection in answer.nearest:
            made.add_row(f"{rejection.cloud} {rejection.instance_type}", rejection.reason)
        console.print(made)
    if answer.relax:
        console.print("\nwhat would help", style="bold")
        for way in answer.relax:
            item(console, way)
    if answer.rejections:
        counts = ", ".join(f"{group.count} {group.cause}" for group in answer.rejections)
        console.print(f"\nall rejected: {counts}", style="dim")


def figure(performance: Performance) -> str:
    """The figure that the choice rests on, with its unit."""
    return quantity(performance.metric, performance.value)


def quantity(metric: str, value: float) -> str:
    """A figure with the unit that its name ends in.

    >>> quantity("run_time_s", 5400), quantity("requests_per_s_within_slo", 4.27), quantity("mfu", 0.412)
    ('1.5 h', '4.27 requests/s within slo', '41.2%')
    """
    what, per_s, more = metric.partition("_per_s")
    if per_s and (not more or more.startswith("_")):
        return f"{short_number(value)} {what.replace('_', ' ')}/s{more.replace('_', ' ')}"
    if metric.endswith("_s"):
        return short_duration(value)
    if metric in ("mfu", "goodput", "utilization") or metric.endswith("_share"):
        return f"{value * 100:.3g}%"
    if "bytes" in metric.split("_"):
        return f"{gib(value):.1f} GiB"
    if metric.endswith("_usd"):
        return f"{value:,.2f} USD"
    return short_number(value)


def _count(pool: Pool) -> str:
    return f"{pool.nodes_max}" if pool.nodes_min == pool.nodes_max else f"{pool.nodes_min}..{pool.nodes_max}"


def _devices(pool: Pool) -> str:
    """Number of machines and what each has: `0..3 x 8 b200`, or `0..1 machines` without accelerators."""
    if not pool.accelerator:
        return f"{_count(pool)} machines"
    return f"{_count(pool)} x {pool.accelerators_per_node} {pool.accelerator}"


def _machines(pool: Pool) -> str:
    each = f"{pool.accelerators_per_node} {pool.accelerator} each" if pool.accelerator else "no accelerators"
    return f"{_count(pool)} x {pool.instance_type}, {each}"


def _pool(pool: Pool) -> list[str]:
    place = "/".join(part for part in (pool.cloud, pool.region) if part)
    zones = f" ({', '.join(pool.zones)})" if pool.zones else ""
    capacity = "" if pool.capacity.mode == pool.market else f", {pool.capacity.mode}"
    topology = f", topology {pool.tpu_topology}" if pool.tpu_topology else ""
    managed = "" if pool.managed == "raw" else f", {pool.managed}"
    hours = f"{float(pool.node_hours_per_month.expected):,.0f} machine-hours a month expected"
    return [
        f"{pool.role}: {_machines(pool)}{topology}, {pool.market}{capacity}{managed}, {place}{zones}",
        f"nodes {pool.nodes_min} to {pool.nodes_max}, {pool.nodes_initial} at first; {hours}",
        *(f"fallback: {f.instance_type}, {f.market}, {pool.cloud}/{f.region}" for f in pool.fallbacks[:2]),
    ]


def _shape_of_work(workload: Workload) -> list[str]:
    lines = []
    split = workload.parallelism
    if split is not None:
        ways = [
            f"{name.replace('_', ' ')} {size}"
            for name, size in (
                *(("tensor", split.tensor), ("pipeline", split.pipeline), ("context", split.context)),
                *(("expert", split.expert), ("data", split.data)),
            )
            if size > 1
        ]
        zero = {0: "", 1: "optimizer state sharded", 2: "state and gradients sharded", 3: "all state sharded"}
        more = [zero.get(split.zero_stage, ""), f"micro-batch {split.micro_batch}"]
        more += [f"{split.gradient_accumulation} accumulation steps"] if split.gradient_accumulation > 1 else []
        more += [f"{split.checkpointing} activation checkpointing"] if split.checkpointing != "none" else []
        lines.append("split: " + ", ".join([*ways, *(part for part in more if part)]))
    copies = workload.replicas
    if copies is not None:
        each = "device" if copies.devices_per_replica == 1 else "devices"
        lines.append(f"replicas: {copies.min} to {copies.max}, each on {copies.devices_per_replica} {each}")
    if workload.schedule is not None:
        lines.append(f"runs {workload.schedule.text}: {workload.schedule.hours_per_week:f} of 168 hours a week")
    if workload.checkpoint is not None:
        kept = workload.checkpoint
        each = f"{gib(kept.bytes_each):.1f} GiB"
        lines.append(f"checkpoint every {short_duration(kept.interval_s)}, {kept.keep} kept, {each} each: {kept.store}")
    if workload.guard is not None:
        guard = workload.guard
        lines.append(
            f"idle guard: below {guard.min_utilization_percent:g}% for {short_duration(guard.window_s)}, then"
            f" {guard.action} after another {short_duration(guard.grace_s)}"
        )
    return lines


def _memory(console: Console, workload: Workload) -> None:
    memory = workload.memory
    low, high = gib(memory.low_bytes), gib(memory.high_bytes)
    console.print()
    if not memory.breakdown:  # a notebook: nobody knows yet what will run in it
        head(console, "memory of one device", f"{gib(memory.usable_bytes):.1f} GiB usable")
        return
    head(
        console,
        "memory of one device",
        f"{gib(memory.per_device_bytes):.1f} of {gib(memory.usable_bytes):.1f} GiB usable, "
        f"80 % band {low:.1f} to {high:.1f}, {memory.grade}",
    )
    for line in bars(memory.breakdown, memory.usable_bytes):
        console.print(f"  {line}")


def bars(breakdown: dict[str, int], usable_bytes: int) -> list[str]:
    """One bar an item, to the scale of what is usable; the last line is what stays free."""
    items = [(name, size) for name, size in breakdown.items() if size > 0]
    width = max([len(_words(name)) for name, _ in items] + [4])
    lines = [
        f"{_words(name):<{width}} {gib(size):8.2f} GiB  {'█' * max(1, round(BAR * size / usable_bytes))}"
        for name, size in sorted(items, key=lambda item: -item[1])
    ]
    free = usable_bytes - sum(size for _, size in items)
    return [
        *lines,
        f"{'free':<{width}} {gib(free):8.2f} GiB  {'░' * max(0, round(BAR * free / usable_bytes))}".rstrip(),
    ]


def waterfall(parts: dict[str, float]) -> list[str]:
    """One bar a part of a step's time, each starting where the one before it ends."""
    whole = sum(parts.values()) or 1.0
    width = max([len(_words(name)) for name in parts] + [4])
    lines, before = [], 0.0
    for name, seconds in parts.items():
        start, end = round(BAR * before / whole), round(BAR * (before + seconds) / whole)
        bar = " " * start + "█" * max(end - start, 1 if seconds > 0 else 0)
        lines.append(
            f"{_words(name):<{width}} {short_duration(seconds):>9} {seconds / whole * 100:5.1f}%  {bar}".rstrip()
        )
        before += seconds
    return lines


def _words(name: str) -> str:
    return name.removesuffix("_bytes").removesuffix("_s").replace("_", " ")


def _performance(console: Console, performance: Performance) -> None:
    low, high = (quantity(performance.metric, value) for value in (performance.low, performance.high))
    name = "run time " if performance.metric == "run_time_s" else ""
    if low.partition(" ")[2] == high.partition(" ")[2]:
        low = low.partition(" ")[0]  # the unit stands once, after the upper edge
    band = f", 80 % band {low} to {high.removesuffix(' within slo')}, {performance.grade}" if low != high else ""
    limit = f"; limited by {performance.bottleneck}" if performance.bottleneck not in ("", "none") else ""
    console.print()
    head(console, "speed", f"{name}{figure(performance)}{band}{limit}")
    if performance.figures:
        shown = [
            quantity(key, value) if "_per_s" in key else f"{_words(key)} {quantity(key, value)}"
            for key, value in performance.figures.items()
        ]
        item(console, ", ".join(shown))
    for line in waterfall(performance.waterfall) if performance.waterfall else []:
        console.print(f"  {line}")


def _cost(console: Console, workload: Workload) -> None:
    cost = workload.cost
    made = table("cost", "floor", "expected", "ceiling", right=("floor", "expected", "ceiling"))
    for record in workload.line_items:
        line = record.item()
        total = line.cost()
        unit = "a month" if line.cadence == "monthly" else "once"
        name = f"{line.what}, {unit}" + (f" ({line.confidence})" if line.confidence else "")
        if isinstance(total, Unpriced):
            made.add_row(name, "?", "?", "?")
        else:
            made.add_row(name, dollars(total.floor), dollars(total.expected), dollars(total.ceiling))
    made.add_section()
    for unit, bounds in sums(workload):
        made.add_row(f"USD {unit}", *bounds, style="bold")
    console.print()
    console.print(made)
    run = workload.run()
    if run is not None:
        console.print(f"  {open_ended(_small(run.usd.expected), run.unpriced)} USD a run")
    for text, amount in (
        ("per 1M tokens", cost.per_million_tokens_usd),
        (f"per 1,000 {_samples(workload)}", cost.per_thousand_samples_usd),
        ("per hour of audio", cost.per_audio_hour_usd),
    ):
        if amount is not None:
            console.print(f"  {_small(amount)} USD {text}")
    if cost.assumed_level:
        item(console, cost.assumed_level)
    for text, over in budgets(workload):
        console.print(f"  {text}", style="bold red" if over else "")
    for unpriced in cost.unpriced:
        console.print(f"  ? {unpriced}", style="yellow")


def budgets(workload: Workload) -> Iterator[tuple[str, bool]]:
    """A line for each limit, and whether the workload is above it."""
    spare = to_spare(workload.budget, run_rate=workload.bill().run_rate, run=workload.run())
    for key, usd in spare.items():
        name = {MONTHLY: "monthly", PER_RUN: "per run"}[key]
        limit, over = dollars(workload.budget[key]), usd is not None and usd < 0
        word = "unknown, a price is missing" if usd is None else f"{dollars(usd)} USD to spare"
        word = f"over by {at_least(workload, key)}{dollars(-usd)} USD" if usd is not None and over else word
        yield f"budget {name} {limit} USD: {word}", over


def at_least(workload: Workload, key: str) -> str:
    """What stands before an excess that lines without a price would add to."""
    unpriced = unpriced_of(key, run_rate=workload.bill().run_rate, run=workload.run())
    return "at least " if unpriced else ""


def sums(workload: Workload) -> list[tuple[str, tuple[str, ...]]]:
    """Floor, expected and ceiling in all, a month and where anything is bought also once."""
    bill = workload.bill()
    rows = [("a month", bill.run_rate.usd_per_month, bill.run_rate.unpriced)]
    if bill.one_off.usd.ceiling or bill.one_off.unpriced:
        rows.append(("once", bill.one_off.usd, bill.one_off.unpriced))
    return [
        (unit, tuple(open_ended(dollars(bound), unpriced) for bound in (usd.floor, usd.expected, usd.ceiling)))
        for unit, usd, unpriced in rows
    ]


def open_ended(priced: str, unpriced: Sequence[str]) -> str:
    """A sum as previews print it: `74.91 + ?` where lines without a price are missing from it."""
    return f"{priced} + ?" if unpriced else priced


def _samples(workload: Workload) -> str:
    family = workload.task.family if workload.task else None
    return "images" if family in ("vision", "diffusion") else "samples"


def _short(amount: Decimal) -> str:
    return dollars(amount, cents=amount < 100)


def _small(amount: Decimal) -> str:
    return f"{amount:,.2f}" if amount >= 1 else f"{Decimal(f'{amount:.3g}'):f}"


def alternatives(console: Console, options: Sequence[Alternative], *, runs: bool) -> None:
    """What was not chosen, and why; by the price of a run where the workload is one, else by the month.

    Tokens have a table of their own.
    """
    options = [option for option in options if option.market != BY_THE_API]
    if not options:
        return
    per_run = runs and all(item.usd_per_run is not None for item in options)
    money = "USD/run" if per_run else "USD/month"
    made = table("alternative", "where", money, "why not", right=(money,))
    narrower = [option for option in options if option.weights]
    shown = [*[option for option in options if not option.weights][: MANY - len(narrower)], *narrower]
    for option in shown:
        amount = option.usd_per_run if per_run else option.usd_per_month
        where = f"{option.cloud} {option.region} {option.market}"
        machines = f"{option.nodes} x {option.instance_type}" + (
            f" ({option.accelerator})" if option.accelerator else ""
        )
        machines += f", {option.managed}" if option.managed else ""
        made.add_row(machines, where, dollars(amount), option.why_not)
    console.print()
    console.print(made)
    if len(options) > len(shown):
        console.print(f"  and {len(options) - len(shown)} more in the JSON form", style="dim")


def _compared_at(console: Console, workload: Workload) -> None:
    """What the choice costs in that comparison, where its total has what it shares or what ends the stack."""
    alone, whole = workload.cost.alone_usd_per_month, workload.bill().run_rate.usd_per_month.expected
    if workload.alternatives and alone is not None and alone != whole:
        remark = f"compared with {dollars(alone)} USD a month: alone in a stack that does not expire, as each of them"
        console.print(f"  {remark}", style="dim")


def by_the_token(console: Console, offers: Sequence[ByTheToken]) -> None:
    """What the same tokens cost where nothing is built."""
    if not offers:
        return
    made = table("priced per token", "as", "USD/1M in", "out", "USD/month", right=("USD/1M in", "out", "USD/month"))
    for offer in offers[:MANY]:
        price = offer.price
        usd = (f"{price.input_usd:f}", f"{price.output_usd:f}", dollars(offer.usd_per_month))
        made.add_row(offer.seller.name, price.listed_as, *usd)
    console.print()
    console.print(made)
    tokens = offers[0].input_tokens + offers[0].output_tokens
    remark = (
        f"{short_number(float(tokens))} tokens a month; Sizewell does not provision APIs, and data leaves the account"
    )
    console.print(f"  {remark}: `sizewell prices show {offers[0].seller.seller}`", style="dim")


def _rejections(console: Console, workload: Workload) -> None:
    if not workload.rejections:
        return
    made = table("rejected", "shapes", "for example", right=("shapes",))
    for group in sorted(workload.rejections, key=lambda group: -group.count):
        made.add_row(group.cause, str(group.count), group.example)
    console.print()
    console.print(made)


def head(console: Console, name: str, text: str) -> None:
    """A heading and what stands beside it."""
    from rich.text import Text

    console.print(Text.assemble((name, "bold"), f"   {text}"))


def item(console: Console, text: str) -> None:
    """A line under a heading, set in where it wraps."""
    from rich.padding import Padding

    console.print(Padding(text, (0, 0, 0, 2)))
