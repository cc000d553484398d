"""Before and after, priced with the same catalog, become one `Stack`: rows per component, totals, what to decide.

The rows' expected changes add up to the headline to the cent, because each line is rounded once, in `LineItem.cost`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Protocol

from sizewell import logs
from sizewell.preview import records
from sizewell.preview.changes import Change, asks, changed
from sizewell.preview.describe import Described, describe, how_priced, label_of, registration_of, sizes_of, tags_of
from sizewell.preview.ignored import kept_urns
from sizewell.preview.missing import Lines, failing_of
from sizewell.preview.needs import needs_of, stays
from sizewell.resources.graph import Graph
from sizewell.resources.hidden import renders
from sizewell.resources.recorded import Hidden, Plan, RecordedResource
from sizewell.resources.sizes import UNSIZED
from sizewell.resources.values import contains_unknown
from sizewell.sizing.billing import charges
from sizewell.sizing.billing.tariff import weakness
from sizewell.sizing.money import CENT, HOURS_PER_MONTH, ZERO, Interval, LineItem, Priced, Unpriced, total
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.providers.cloud import Account
from sizewell.sizing.records.budget import MONTHLY, of_stack
from sizewell.sizing.records.decision import Decision

ASSUMED = "assumed usage"
IDLE_UNITS = (*charges.RUNNING, "?")  # of machines that run; of what nobody knows, which may be some
UNSURE = (
    "evaluated without the Pulumi engine: replacements are detected for common inputs only; --engine pulumi "
    "or --plan detects all"
)


class CoverageLike(Protocol):
    """Counts of `resources.Coverage`."""

    @property
    def detected(self) -> int: ...
    @property
    def estimated(self) -> int: ...
    @property
    def free(self) -> int: ...
    @property
    def unpriced(self) -> int: ...
    @property
    def unknown(self) -> int: ...
    @property
    def not_judged(self) -> int: ...
    @property
    def by_use(self) -> int: ...


class PricingLike(Protocol):
    """What a preview needs of `resources.Pricing`."""

    @property
    def items(self) -> tuple[LineItem, ...]: ...
    @property
    def free(self) -> tuple[tuple[str, str, str], ...]: ...
    @property
    def outside(self) -> tuple[str, ...]: ...
    @property
    def coverage(self) -> CoverageLike: ...
    @property
    def hidden(self) -> tuple[Hidden, ...]: ...
    @property
    def by_use(self) -> tuple[tuple[str, str, str], ...]: ...
    @property
    def elsewhere(self) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A stack at one revision: its resources and what they cost."""

    plan: Plan
    pricing: PricingLike


Costed = tuple[LineItem, Interval | Unpriced]  # a line and what it costs, worked out once


@dataclass(slots=True)
class _Group:
    """The lines of one component on one side."""

    monthly: Interval = ZERO
    once: Interval = ZERO
    lines: list[Costed] = field(default_factory=list)
    unpriced: list[str] = field(default_factory=list)
    changes: list[tuple[Change, RecordedResource]] = field(default_factory=list)
    asks: str = ""  # accelerators that pods want of machines that somebody else pays for
    uses: Counter[str] = field(default_factory=Counter)  # types that are billed by a use that nobody stated

    def add(self, line: LineItem) -> None:
        cost = line.cost()
        self.lines.append((line, cost))
        if isinstance(cost, Unpriced):
            self.unpriced.append(f"{line.what}: {cost.reason}")
        elif line.cadence == "once":
            self.once += cost
        else:
            self.monthly += cost
            if line.confidence == ASSUMED and cost.expected == 0 < cost.ceiling:
                self.uses[f"{line.what} {line.resource}"] += 1


def compare(
    stack: str,
    before: Side | None,
    after: Side,
    *,
    base: str = "",
    base_failed: str = "",
    base_at_own_prices: PricingLike | None = None,
    replaced: frozenset[str] | None = None,
    changes: Mapping[str, Change] | None = None,
    policies: records.PolicyReport | None = None,
    decision: Decision | None = None,
    budget: Decimal | None = None,
) -> records.Stack:
    """The preview of one stack; `before` and `after` are priced with the same catalog, the head's.

    `base_at_own_prices` is the base priced with the base's own catalog: the difference is what prices moved. `changes`
    is what `changed` says of the two, where the caller has asked already.
    """
    by_urn = after.plan.by_urn()
    if changes is None:
        changes = changed(before.plan if before else None, after.plan, replaced)
    # What Pulumi forgets and the cloud keeps counts as after: "destroyed, so free" would be a saving on no bill.
    billed = (*after.pricing.items, *_still_billed(before, after.plan))
    changes = _with_brought(changes, by_urn, billed)
    now = _grouped(billed)
    renamed = _renames(before, after.plan, now) if before else {}
    was = _grouped(before.pricing.items if before else (), renamed)
    _put_changes(changes, (before, after), renamed, (was, now))
    for side, groups in ((before, was), (after, now)):
        _put_uses(side, groups, renamed if side is before else {}, alone=before is None)
    described = describe(after.plan)
    described_before = describe(before.plan) if before else {}
    names = [*now, *(name for name in was if name not in now)]
    compared = [
        _row(name, was.get(name), now.get(name), (described_before.get(name), described.get(name)), by_urn)
        for name in names
    ]
    moves = any(row.change or row.ceiling_change for row in compared)
    unsettled = _unsettled(before.pricing.hidden if before else (), after.pricing.hidden, moves=moves)
    rows, unchanged = [], Interval(Decimal(0), Decimal(0), Decimal(0))
    same: list[records.Row] = []
    for row in compared:
        if row.sign == "=" and row.component not in unsettled:
            same.append(row)
            unchanged += row.after
        else:
            rows.append(replace(row, sign="~") if row.sign == "=" else row)
    rows.sort(key=_weight_of_row)
    totals_before = _totals(before.plan.by_urn(), before.pricing.items) if before else None
    totals_after = _totals({**(before.plan.by_urn() if before else {}), **by_urn}, billed)
    if totals_before is not None and any(_may_run(row) for row in rows):
        totals_after = _no_less_idle(totals_after, totals_before)
    change = totals_after.usd_per_month.expected
    change -= totals_before.usd_per_month.expected if totals_before else Decimal(0)
    bought = sum((row.once for row in rows), ZERO)
    updated = any(change.kind == "update" for change in changes.values())
    unsure = (UNSURE,) if updated and replaced is None else ()
    moved = None
    if base_at_own_prices is not None and totals_before is not None:
        own = total(base_at_own_prices.items).run_rate.usd_per_month.expected
        moved = totals_before.usd_per_month.expected - own
    return records.Stack(
        stack=stack,
        project=after.plan.project,
        regions=_regions(after.plan, described),
        accounts=_accounts(after.plan),
        base=base,
        base_failed=base_failed,
        before=totals_before,
        after=totals_after,
        change_usd_per_month=change,
        bought=bought,
        prices_moved_usd_per_month=moved,
        rows=tuple(rows),
        unchanged=records.Unchanged(
            components=len(same),
            usd_per_month=unchanged,
            unpriced=sum(bool(row.unpriced) for row in same),
            rows=tuple(same),
        ),
        needs=needs_of(before.plan if before else None, after.plan, rows, changes=changes, decision=decision),
        unpriced=_unpriced(billed),
        unpriced_before=_unpriced(before.pricing.items if before else (), renamed),
        failing=failing_of(_lines(before, renamed), replace(_lines(after), items=billed), rows, changes, policies),
        outside=after.pricing.outside,
        free=_counts(kind for urn, kind, _ in after.pricing.free if _is_cloud(by_urn.get(urn))),
        coverage=_coverage(after.pricing.coverage),
        budget=_budget(budget, totals_after),
        policies=policies,
        notes=tuple(
            dict.fromkeys((*after.plan.notes, *(before.plan.notes if before else ()), *unsure, *_estimated(billed)))
        ),
    )


def _estimated(lines: Sequence[LineItem]) -> tuple[str, ...]:
    """How much of the expected month rests on prices that nobody lists: estimates, and medians of quotes."""
    costs = [(line, line.cost()) for line in lines if line.cadence == "monthly"]
    known = [(line, cost.expected) for line, cost in costs if not isinstance(cost, Unpriced)]
    whole = sum((usd for _, usd in known), Decimal(0))
    weak = sum((usd for line, usd in known if weakness(line.price)), Decimal(0))
    if not weak or not whole:
        return ()
    share = max(1, int((100 * weak / whole).to_integral_value()))
    return (f"{share} % of the expected month, {weak:,.2f} USD, rests on estimated prices, marked ~",)


def _lines(side: Side | None, names: Mapping[str, str] = MappingProxyType({})) -> Lines:
    if side is None:
        return Lines(plan=None)
    return Lines(plan=side.plan, items=side.pricing.items, elsewhere=side.pricing.elsewhere, names=names)


def _unsettled(before: Iterable[Hidden], after: Iterable[Hidden], *, moves: bool) -> frozenset[str]:
    """Places on both sides that make something which nobody sees, and of which the change is not known.

    Those in files that this change edits; and, where the figures move, those that what is shown may follow from: what
    the deployment sets there may be the same on both sides, and then nothing moves.
    """
    was = {(each.name, each.digest) for each in before}
    places = [each for each in after if not each.urn]
    return frozenset(each.name for each in places if (each.name, each.digest) not in was or (moves and each.shown_too))


def _grouped(items: Iterable[LineItem], renamed: Mapping[str, str] = MappingProxyType({})) -> dict[str, _Group]:
    groups: dict[str, _Group] = {}
    for item in items:
        groups.setdefault(renamed.get(item.component, item.component), _Group()).add(item)
    return groups


def _still_billed(before: Side | None, now: Plan) -> tuple[LineItem, ...]:
    """Lines of what leaves the program and stays in the cloud."""
    if before is None:
        return ()
    kept = kept_urns(before.plan, now)
    return tuple(item for item in before.pricing.items if item.resource in kept and item.cadence == "monthly")


def _unpriced(items: Iterable[LineItem], renamed: Mapping[str, str] = MappingProxyType({})) -> tuple[str, ...]:
    """Lines without a price in words, each once."""
    return tuple(
        dict.fromkeys(
            f"{renamed.get(line.component, line.component)}: {line.what}: {line.price.reason}"
            for line in items
            if isinstance(line.price, Unpriced)
        )
    )


def _with_brought(
    changes: Mapping[str, Change], by_urn: Mapping[str, RecordedResource], items: Iterable[LineItem]
) -> Mapping[str, Change]:
    """With what has no price and comes of a template or chart that changes: what is not known of it may change as well.

    What is known of it in full is compared by itself, with the other changes.
    """
    brought: dict[str, Change] = {}
    for line in items:
        resource = by_urn.get(line.resource)
        owner = by_urn.get(resource.parent or "") if resource else None
        if resource is None or owner is None or line.resource in changes or not renders(owner):
            continue
        if not isinstance(line.price, Unpriced) or not contains_unknown(resource.inputs):
            continue
        if (change := changes.get(owner.urn)) is not None:
            said = tuple(f"{each}, of {owner.name}" for each in change.differences)
            brought[line.resource] = Change(urn=line.resource, kind="update", differences=said)
    return {**changes, **brought}


def _put_changes(
    changes: Mapping[str, Change],
    sides: tuple[Side | None, Side],
    renamed: Mapping[str, str],
    groups_of: tuple[dict[str, _Group], dict[str, _Group]],
) -> None:
    """Each change to the group of its component; what is free has a group of its own, without a line."""
    before, after = sides
    was, now = groups_of
    old = before.plan.by_urn() if before else {}
    new = after.plan.by_urn()
    graphs = (Graph(before.plan if before else after.plan), Graph(after.plan))
    standing = [
        {label_of(resource, resources) for resource in resources.values() if resource.custom}
        for resources in (old, new)
    ]
    for urn, change in changes.items():
        resource = old[urn] if change.kind == "delete" else new[urn]
        label = label_of(resource, old if change.kind == "delete" else new)
        label = renamed.get(label, label) if change.kind == "delete" else label
        if change.kind == "create" and not resource.type.startswith("pulumi:"):
            now.setdefault(label, _Group())
        for groups, stands in zip((was, now), standing, strict=True):
            if label in stands:
                groups.setdefault(label, _Group())
        group = now.get(label) or was.get(label)
        if group is not None:
            group.changes.append((change, resource))
            group.asks = group.asks or asks(resource, graphs[0] if change.kind == "delete" else graphs[1])


def _put_uses(side: Side | None, groups: dict[str, _Group], renamed: Mapping[str, str], *, alone: bool) -> None:
    """What is billed by use, to the groups that there are: it has no line, and what does not change has no group.

    Of a side that stands `alone` nothing changes: each has a group.
    """
    resources = side.plan.by_urn() if side else {}
    for urn, kind, _ in side.pricing.by_use if side else ():
        label = label_of(resources[urn], resources)
        if alone:
            groups.setdefault(label, _Group())
        group = groups.get(renamed.get(label, label))
        if group is not None:
            group.uses[kind] += 1


def _weight_of_row(row: records.Row) -> tuple[object, ...]:
    """The dearest first; then what has no price, what moves the ceiling alone, and what costs nothing."""
    ceiling = abs(row.after.ceiling - row.before.ceiling)
    return -abs(row.change) - row.once.expected, not row.unpriced, -ceiling, not row.lines, row.component


def _row(
    name: str,
    was: _Group | None,
    now: _Group | None,
    words: tuple[Described | None, Described | None],
    by_urn: Mapping[str, RecordedResource],
) -> records.Row:
    earlier, later = words
    described = (later or earlier) if now is not None else earlier
    shown = now or was or _Group()
    bought = Counter(_print(pair) for pair in was.lines if pair[0].cadence == "once") if was else Counter()
    once = ZERO
    for pair in now.lines if now else ():
        line, cost = pair
        if line.cadence != "once" or isinstance(cost, Unpriced):
            continue
        # The same purchase on both sides is bought already; a different one is a new purchase, whole.
        if bought[_print(pair)] > 0:
            bought[_print(pair)] -= 1
        else:
            once += cost
    monthly_before = was.monthly if was else ZERO
    monthly_after = now.monthly if now else ZERO
    unpriced = tuple(dict.fromkeys(now.unpriced if now else was.unpriced if was else ()))
    if was is None:
        sign = "+"
    elif now is None:
        sign = "-"
    # Equal sums are not enough to be left out: two lines may trade places, and a change that costs nothing (a security
    # group, an image) is what a reviewer reads for. Only this sign hides a row, so what is unsure must be "~".
    elif monthly_before == monthly_after and once == ZERO and _same(was, now) and not shown.changes:
        sign = "="
    else:
        sign = "~"
    what = _words(described, shown)
    was_what = _words(earlier, was) if was is not None and was.lines else ""
    return records.Row(
        sign=sign,  # type: ignore[arg-type]
        component=name,
        kind=described.kind if described else "",
        what=what,
        was=was_what if sign == "~" and was_what != what else "",
        how=how_priced(shown.lines),
        region=described.region if described else "",
        before=monthly_before,
        after=monthly_after,
        once=once,
        between=_between(was, now) if sign != "=" else None,
        between_before=_bounds(was),
        between_after=_bounds(now),
        unpriced=unpriced,
        unpriced_before=tuple(dict.fromkeys(was.unpriced)) if was else (),
        confidence=tuple(dict.fromkeys(line.confidence for line, _ in shown.lines if line.confidence)),
        use_added=(now.uses - (was.uses if was else Counter())).total() if now else 0,
        use_gone=(was.uses - (now.uses if now else Counter())).total() if was else 0,
        resources=len({line.resource for line, _ in shown.lines if line.resource}),
        changes=_changes_in_words(name, shown.changes, whole=sign in "+-"),
        lines=tuple(_line(line, cost, by_urn) for line, cost in shown.lines),
    )


def _between(was: _Group | None, now: _Group | None) -> tuple[Decimal, Decimal] | None:
    """The least and the most that a row may change the run-rate by, where it rests on a number nobody knows."""
    sides = (_bounds(was), _bounds(now))
    if sides == (None, None):
        return None
    (least_was, most_was), (least_now, most_now) = (
        bounds or ((group.monthly.expected,) * 2 if group else (Decimal(0),) * 2)
        for bounds, group in zip(sides, (was, now), strict=True)
    )
    return least_now - most_was, most_now - least_was


def _bounds(group: _Group | None) -> tuple[Decimal, Decimal] | None:
    """The least and the most that a side of a row may cost a month, where it rests on a number nobody knows."""
    if group is None:
        return None
    low = high = group.monthly.expected
    for line, cost in group.lines:
        if line.confidence == UNSIZED and line.cadence == "monthly" and not isinstance(cost, Unpriced):
            low, high = low - (cost.expected - cost.floor), high + (cost.ceiling - cost.expected)
    return None if low == high else (low, high)


def _words(described: Described | None, group: _Group) -> str:
    """A purchase as its line says it, a component of ours as it registers itself, else the dearest lines."""
    bought = [line.what for line, _ in group.lines if line.cadence == "once"]
    description = bought[0] if bought else (described.what if described else "") or _what(group.lines)
    sizes = [size for size in sizes_of(resource.inputs for _, resource in group.changes) if size not in description]
    description = ", ".join(part for part in (description, *sizes) if part)
    return description or group.asks or ("billed by use" if group.uses else "no charge")


def _changes_in_words(
    component: str, changes: Sequence[tuple[Change, RecordedResource]], *, whole: bool
) -> tuple[str, ...]:
    """Which resources of a component change, and how; of a resource alone what its row does not say already."""
    kinds = {change.kind for change, _ in changes}
    if (
        whole
        and len(kinds) == 1
        and kinds <= {"create", "delete"}
        and not any(change.kind == "delete" and stays(resource) for change, resource in changes)
    ):
        return (f"{len(changes)} resources",) if len(changes) > 1 else ()
    lines: list[str] = []
    for change, resource in sorted(changes, key=lambda pair: _ORDER.index(pair[0].kind)):
        alone = len(changes) == 1 and resource.name == component
        who = "" if alone else f"{resource.name}: "
        if change.kind in ("create", "delete"):
            if change.kind == "delete" and stays(resource):
                lines.append(f"{who}is removed from the program but is still billed")
            elif not alone:
                lines.append(f"{who}{change.kind}d")
            continue
        new = (
            f"built anew ({', '.join(change.why) or change.along or 'according to the engine'}); "
            if change.kind == "replace"
            else ""
        )
        lines.append(f"{who}{new}{', '.join(change.differences)}".removesuffix("; "))
    return tuple(lines)


_ORDER = ("replace", "update", "create", "delete")


def _print(pair: Costed) -> tuple[str, str, str, Decimal | str]:
    """What tells one line from another: what is billed and what it costs."""
    line, cost = pair
    if isinstance(cost, Unpriced):
        return line.what, line.unit, line.cadence, cost.reason
    return line.what, line.unit, f"{line.cadence} {cost.floor} {cost.ceiling}", cost.expected


def _same(was: _Group, now: _Group) -> bool:
    return len(was.lines) == len(now.lines) and Counter(map(_print, was.lines)) == Counter(map(_print, now.lines))


def _what(lines: Sequence[Costed]) -> str:
    """The dearest lines in words."""
    # Parts of one machine's hours (by a plan, on demand) are one machine; two disks of one resource are two.
    machines = {(line.what, line.resource): line.what for line, _ in lines if line.unit == "machine-hour"}
    counts = Counter([*machines.values(), *(line.what for line, _ in lines if line.unit != "machine-hour")])
    words = [
        f"{counts[what]} x {what}" if counts[what] > 1 else what
        for what in dict.fromkeys(line.what for line, _ in sorted(lines, key=_weight, reverse=True))
    ]
    more = f" and {len(words) - 2} more" if len(words) > 2 else ""
    return ", ".join(words[:2]) + more


def _weight(pair: Costed) -> Decimal:
    return Decimal("Infinity") if isinstance(pair[1], Unpriced) else pair[1].ceiling


def _line(line: LineItem, cost: Interval | Unpriced, by_urn: Mapping[str, RecordedResource]) -> records.Line:
    price = line.price if isinstance(line.price, Priced) else None
    return records.Line(
        component=line.component,
        what=line.what,
        unit=line.unit,
        cadence=line.cadence,
        quantity=line.quantity,
        usd_per_unit=None if price is None else price.amount,
        usd=None if isinstance(cost, Unpriced) else cost,
        unpriced=line.price.reason if isinstance(line.price, Unpriced) else "",
        how=line.how,
        confidence=line.confidence,
        source="" if price is None else price.source,
        date="" if price is None else price.date,
        terms="list" if price is None else price.terms,
        list_usd_per_unit=None if price is None else price.listed,
        resource=line.resource,
        tags=tags_of(by_urn.get(line.resource)),
    )


def _totals(by_urn: Mapping[str, RecordedResource], items: Sequence[LineItem]) -> records.Totals:
    cost = total(items)
    return records.Totals(
        usd_per_month=cost.run_rate.usd_per_month,
        usd_once=cost.one_off.usd,
        idle_usd_per_hour=idle_exposure(by_urn, items),
    )


def _may_run(row: records.Row) -> bool:
    """Whether a row that changes has machines after it, or may have some, of which nobody knows the price."""
    return row.sign != "-" and any(
        line.usd is None and line.cadence == "monthly" and line.unit in IDLE_UNITS for line in row.lines
    )


def _no_less_idle(after: records.Totals, before: records.Totals) -> records.Totals:
    """What is not known is no saving: the exposure stays what it was, as far as anybody knows."""
    pairs = [
        (getattr(after.idle_usd_per_hour, bound), getattr(before.idle_usd_per_hour, bound))
        for bound in ("floor", "expected", "ceiling")
    ]
    kept = Interval(*(max(pair) for pair in pairs))
    return after.model_copy(update={"idle_usd_per_hour": kept, "idle_kept": kept != after.idle_usd_per_hour})


def idle_exposure(by_urn: Mapping[str, RecordedResource], items: Iterable[LineItem]) -> Interval:
    """US dollars per hour of machines that run: at the minimum, the initial and the maximum size of each pool.

    Where a component states its sizes, they count; else the hours of the month in which its machines run on average.
    Purchased capacity is paid already and is not in it.
    """
    lines = [line for line in items if line.unit in charges.RUNNING and line.cadence == "monthly"]
    hours: dict[str, Decimal] = {}
    for line in lines:
        if line.unit != charges.MACHINE_HOUR:
            continue  # a share of them above one is how many each machine has
        hours[line.component] = hours.get(line.component, Decimal(0)) + line.quantity.ceiling
    exposure = Interval(Decimal(0), Decimal(0), Decimal(0))
    for line in lines:
        if isinstance(line.price, Unpriced):
            continue
        machines = line.quantity.times(1 / HOURS_PER_MONTH)
        stated = registration_of(line.resource, by_urn)
        sizes = [stated.get(key) for key in ("nodesMin", "nodesInitial", "nodesMax")] if stated else []
        known = [Decimal(size) for size in sizes if isinstance(size, int)]
        if len(known) == 3 and known == sorted(known) and hours.get(line.component):
            machines = Interval(*known).times(line.quantity.ceiling / hours[line.component])
        exposure += machines.times(line.price.amount)
    return exposure.cents()


def _renames(before: Side, after: Plan, now: Iterable[str]) -> dict[str, str]:
    """Components that have another name now, found by the aliases of their resources."""
    old, new = before.plan.by_urn(), after.by_urn()
    was = {item.component for item in before.pricing.items}
    candidates: dict[str, set[str]] = {}
    for resource in after.resources:
        for alias in resource.aliases:
            # Several names may go over to one that is new. Where the old name is still there, or the new one was, or
            # one became two, to move its lines would hide one row's cost in another's.
            if alias in old and alias not in new:
                earlier, later = label_of(old[alias], old), label_of(resource, new)
                if earlier != later and earlier in was and earlier not in now and later not in was:
                    candidates.setdefault(earlier, set()).add(later)
    renames = {earlier: later for earlier, (later, *others) in candidates.items() if not others}
    for earlier, later in renames.items():
        logs.detail(__name__, "%s is compared with what was %s, by an alias", later, earlier)
    return renames


def _accounts(plan: Plan) -> dict[str, str]:
    """Which account, project or subscription the stack's configuration names, by the package of its provider."""
    stated = {cloud.provider.package: _account(plan, cloud.account) for cloud in CLOUDS.values()}
    return {package: account for package, account in stated.items() if account}


def _account(plan: Plan, account: Account) -> str:
    """The one that the configuration names, or the only one that it allows; "" where that leaves a choice."""
    if account.config_key:
        return plan.config.get(account.config_key, "")
    allowed = re.findall(account.pattern, plan.config.get(account.allowed_config_key, ""))
    return allowed[0] if len(allowed) == 1 else ""


def _regions(plan: Plan, described: Mapping[str, Described]) -> tuple[str, ...]:
    stated = [each.region for each in described.values() if each.region]
    keys = [cloud.regions.config_key for cloud in CLOUDS.values()]
    configured = [plan.config[key] for key in keys if key in plan.config]
    return tuple(sorted(dict.fromkeys(stated or configured)))


def _coverage(counts: Any) -> records.Coverage:
    return records.Coverage(
        detected=counts.detected,
        estimated=counts.estimated,
        free=counts.free,
        unpriced=counts.unpriced,
        unknown=counts.unknown,
        by_use=counts.by_use,
        not_judged=counts.not_judged,
    )


def _counts(kinds: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    return dict(sorted(counts.items()))


def _is_cloud(resource: RecordedResource | None) -> bool:
    return resource is not None and resource.custom and not resource.type.startswith("pulumi:")


def _budget(usd_per_month: Decimal | None, totals: records.Totals) -> records.Budget | None:
    if usd_per_month is None or usd_per_month <= 0:
        return None
    spend = totals.usd_per_month
    over = "expected" if spend.expected > usd_per_month else "ceiling" if spend.ceiling > usd_per_month else ""
    return records.Budget(
        usd_per_month=usd_per_month,
        expected_percent=(spend.expected / usd_per_month * 100).quantize(CENT),
        ceiling_percent=(spend.ceiling / usd_per_month * 100).quantize(CENT),
        over=over,  # type: ignore[arg-type]
    )


def budget_of(decision: Decision | None) -> Decimal | None:
    """The monthly budget of a stack: the sum over its workloads, where each of them has one."""
    return None if decision is None else of_stack(workload.budget.get(MONTHLY) for workload in decision.workloads)
