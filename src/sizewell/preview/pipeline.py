"""From the words of a command to a `Preview`: find the stacks, get both sides of each, price, compare.

The rooms above are not known here: policies come back from a function that the caller passes in, as plain records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sizewell.preview import records
from sizewell.preview.assemble import assemble, failed_stack
from sizewell.preview.base import Worktree, worktree
from sizewell.preview.base_prices import BasePrices
from sizewell.preview.changes import changed
from sizewell.preview.describe import tags_of
from sizewell.preview.diff import Side, budget_of, compare
from sizewell.preview.guardrails import NO_LIMITS, Limits
from sizewell.preview.ignored import as_it_stands, with_imported, with_kept, with_retained
from sizewell.preview.launched import with_launched
from sizewell.preview.needs import left_behind
from sizewell.preview.ownership import ownership_of
from sizewell.preview.reasons import ages_of, capacity_of, choices_of, ends_of, evidence_of, guarded_of
from sizewell.preview.undecided import with_undecided
from sizewell.recording.plans import Engine, Planned
from sizewell.resources.recorded import Hidden, Plan
from sizewell.sizing.catalog.rates import Discounts, SharedOut
from sizewell.sizing.choose.worth import worth
from sizewell.sizing.errors import DecisionError, ServiceError, SizewellError, UsageError
from sizewell.sizing.money import LATER_PRICE, Priced, Unpriced
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision

if TYPE_CHECKING:
    from sizewell.resources.priced import Pricing
    from sizewell.resources.usage import Usage
    from sizewell.sizing.catalog.catalog import Catalog
    from sizewell.sizing.money import LineItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to preview. `plan_files` are outputs of `pulumi preview --json`, used instead of a program.

    `policies` gets each head's plan, the stack's decision and what changes (URN -> create, update, replace, delete;
    empty where nothing is compared) and returns what they say of it, or None.
    """

    root: Path
    on: date
    stacks: tuple[str, ...] = ()  # none named: every stack of the project
    base: str | None = None
    base_state: Path | None = None
    state: Path | None = None  # what stands, for what an evaluated program does not show; `base_state` where given
    plan_files: tuple[Path, ...] = ()
    engine: Engine = "auto"
    limits: Limits = NO_LIMITS
    unblocked: str = ""
    max_age_s: float | None = None  # of the newest price and of those used; None: any age is only said
    usage: Path | None = None
    discounts: Path | None = None
    policies: Callable[[Plan, Decision | None, Mapping[str, str], Plan | None], records.PolicyReport | None] | None = (
        None
    )
    new_only: bool = False  # findings that the base has as well do not count
    judge: tuple[str, ...] = ()  # what this change says of limits and policies and what therefore did not judge it
    base_prices: BasePrices | None = None  # where the change changes prices: its limits hold at these as well
    progress: Callable[[str], None] = field(default=lambda _: None)


def run_preview(request: Request) -> records.Preview:
    """Preview every stack; one that fails is in the result with its reason, the others keep their figures.

    Raises UsageError for what is wrong with the request itself, ConfigError for usage, discount and catalog files.
    """
    _check(request)
    return _previewed(request, _heads(request))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """The same stacks at the prices and commitments of several days, and the resources that a bill may name."""

    previews: Mapping[date, records.Preview]
    resources: Mapping[str, tuple[str, str]]  # the tag `sizewell-id`, or a cluster's name -> stack and URN
    counting: Callable[[Usage], frozenset[tuple[str, str]]]  # the statements of use by which something is billed


def at_dates(request: Request, days: Iterable[date]) -> Dated:
    """A preview for each day; the programs are evaluated once.

    What had no known price on a day before the request's is at that of the request's, before commitments are shared
    out: they pay for it on that day as for the rest.
    """
    heads = _heads(request)
    resources = {}
    for stack, head in heads.items():
        for resource in head.after.resources if head.after else ():
            is_cluster = resource.type.endswith(("Cluster", "ManagedCluster"))
            names = (resource.inputs.get(key) for key in ("name", "resourceName") if is_cluster)
            for name in (tags_of(resource).get("sizewell-id"), *names):
                if isinstance(name, str) and name:
                    resources[name] = (stack, resource.urn)

    def counting(stated: Usage) -> frozenset[tuple[str, str]]:
        from sizewell.sizing.catalog import load

        pricing = _Pricing(catalog=load(), on=request.on, usage=stated, discounts=None)
        for head in heads.values():
            if head.after is not None:
                pricing.side(head.after)
        return frozenset((name, key) for name, uses in stated.entries.items() for key in uses) - (
            pricing.unused or set()
        )

    previews = {day: _previewed(replace(request, on=day), heads, max(day, request.on)) for day in days}
    return Dated(previews=previews, resources=resources, counting=counting)


def _previewed(request: Request, heads: dict[str, _Head], later: date | None = None) -> records.Preview:
    from sizewell.resources.usage import NO_USAGE, read_usage
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.overlay import read_own_rates
    from sizewell.sizing.catalog.rates import NO_DISCOUNTS

    catalog = load()
    pricing = _Pricing(
        catalog=catalog,
        on=request.on,
        usage=read_usage(request.usage) if request.usage else NO_USAGE,
        discounts=read_own_rates(request.discounts, catalog) if request.discounts else NO_DISCOUNTS,
        later=later,
    )
    with _base(request) as base:
        names = list(heads)
        if base is not None and base.tree is not None and request.stacks and not request.plan_files:
            known = {*stacks_of(request.root), *stacks_of(base.tree.root)}
            for name in request.stacks:
                if known and name not in known:
                    close = get_close_matches(name, sorted(known), n=1)
                    fix = f"did you mean {close[0]}?" if close else f"name one of {', '.join(sorted(known))}"
                    raise UsageError(f"no stack '{name}', neither here nor at {base.label}\n  fix: {fix}")
        if base is not None and base.tree is not None and not request.stacks:
            names += [name for name in stacks_of(base.tree.root) if name not in heads]
        sides = [_sides_of(request, name, heads.get(name), base, pricing) for name in names]
        sides += [
            _sides_of(request, name, None, base, pricing, shown=f"{_owner(base.tree.root)[0]}/{name}")
            for name in names
            if base is not None and base.tree is not None and name in heads and _elsewhere(request, base, name)
        ]
        stacks = _compared(sides, request, pricing)
    preview = assemble(
        stacks,
        at_prices=_at_prices(sides, request),
        codes={name: head.exit_code for name, head in heads.items() if head.failed},
        on=request.on,
        provenance=records.Provenance(
            catalog_digest=catalog.digest,
            catalog_as_of=catalog.as_of,
            age_days=_age(catalog.as_of, request.on),
            discounts=request.discounts.name if request.discounts else "catalog/rates.yaml" if catalog.rates else "",
            usage=_usage_in_words(request, pricing.unused),
            engine="pulumi" if request.engine == "pulumi" or request.plan_files else "offline",
        ),
        limits=request.limits,
        unblocked=request.unblocked,
    )
    if request.judge:
        preview = preview.model_copy(update={"judge": request.judge, "silent": False})
    used = preview.provenance.used_from
    ages = (preview.provenance.age_days, _age(used, request.on))
    # Both: a refresh writes no new row for a price that stands, so one that is used may be old in a fresh catalog.
    old = [age for age in ages if age is not None and age * 86_400 > (request.max_age_s or 0)]
    if preview.exit_code == 0 and request.max_age_s is not None and len(old) == len(ages):
        limit = f"{request.max_age_s / 86_400:g} days"
        newest = f"the newest accelerator price is {ages[0]} days old, older than --max-age of {limit}"
        reason = f"{newest}, and a price used here is of {used}"
        return preview.model_copy(update={"exit_code": 4, "exit_reason": reason})
    return preview


def _usage_in_words(request: Request, unused: frozenset[tuple[str, str]] | None) -> str:
    """The name of the usage file, and what in it no resource is billed by: a name misspelt would be a figure too
    low.
    """
    if request.usage is None:
        return ""
    left = [f"{name}.{measure}" for name, measure in sorted(unused or ())]
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return f"{request.usage.name} (nothing is billed by {', '.join(left[:5])}{more})" if left else request.usage.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A stack as the policies judge it, with what happens to its resources; None where nothing is compared."""

    plan: Plan
    before: Plan | None = None
    changes: Mapping[str, str] | None = None


@contextmanager
def against_base(request: Request) -> Iterator[Callable[[str, Planned], Judged]]:
    """What a preview would give the policies, for whoever asks them alone: with what a change ignores and keeps."""
    with _base(request) as base:

        def judged(name: str, read: Planned) -> Judged:
            before, label, failed = _before(request, name, _Head(before=read.before, label=read.label), base)
            if before is not None and before.stack not in ("", name):
                before = None  # the state of another stack
            after = as_it_stands(before, read.judged)
            if failed:
                after = replace(after, hidden=(*after.hidden, _unseen(label, failed)))
            if before is None:
                return Judged(plan=after)
            before, after, replaced, _ = with_retained(before, after, read.replaced)
            before, after, _ = with_launched(before, after, replaced)
            assert before is not None  # noqa: S101  (it is, where it was)
            changes = _kinds(changed(before, after, replaced))
            return Judged(plan=with_kept(before, after), before=before, changes=changes)

        yield judged


def _unseen(base: str, why: str) -> Hidden:
    return Hidden(
        name=base,
        what="what stands",
        may_hide="machines that the change leaves as they are",
        why=why,
        fix="correct the base, or give what stands with --state FILE of `pulumi stack export`",
    )


def _kinds(changes: Mapping[str, Any]) -> dict[str, str]:
    return {urn: change.kind for urn, change in changes.items()}


def stacks_of(root: Path) -> tuple[str, ...]:
    """The stacks that a project knows: those with a configuration file or a decision."""
    names = {
        path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        for folder in (root, root / "stacks/config")
        for path in folder.glob("Pulumi.*.yaml")
    }
    names |= {path.stem for path in (root / "stacks/decisions").glob("*.json")}
    return tuple(sorted(names))


def _knows(root: Path, stack: str) -> bool:
    return stack in stacks_of(root)


@dataclass(slots=True, kw_only=True)
class _Head:
    """One stack as it will be; `before` where the source says that as well."""

    after: Plan | None = None
    before: Plan | None = None
    replaced: frozenset[str] | None = None  # None: no engine said
    label: str = ""
    failed: str = ""
    exit_code: int = 0  # of what failed
    cause: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Base:
    """Where stacks before the change come from."""

    tree: Worktree | None = None
    state: Plan | None = None
    label: str = ""
    failed: str = ""  # the revision cannot be had at all
    catalog: Catalog | None = None  # the base's own prices, where they differ


@dataclass(slots=True, kw_only=True)
class _Pricing:
    catalog: Catalog
    on: date
    usage: Usage | None
    discounts: Discounts | None
    later: date | None = None  # of whose prices is what has none on `on`
    unused: frozenset[tuple[str, str]] | None = None  # statements of use that no stack has asked for so far

    def side(self, plan: Plan) -> Side:
        """A plan and what it costs before commitments, which `_share` deals out over all stacks."""
        pricing = self.price(plan, self.catalog)
        self.unused = pricing.unused if self.unused is None else self.unused & pricing.unused
        lacking = any(isinstance(item.price, Unpriced) for item in pricing.items)
        if lacking and self.later is not None and self.later > self.on:
            later = replace(self, on=self.later).price(plan, self.catalog).items
            known = {(each.resource, each.component, each.what): replace(each, confidence=LATER_PRICE)
                     for each in later if isinstance(each.price, Priced)}  # fmt: skip
            items = (
                known.get((item.resource, item.component, item.what), item)
                if isinstance(item.price, Unpriced)
                else item
                for item in pricing.items
            )
            pricing = replace(pricing, items=tuple(items))
        return Side(plan=plan, pricing=pricing)

    def price(self, plan: Plan, catalog: Catalog) -> Pricing:
        from sizewell.resources.pricing import price

        return price(plan, catalog, on=self.on, usage=self.usage, discounts=self.discounts, committed=False)

    @property
    def rates(self) -> Discounts:
        return self.discounts or self.catalog.rates


def _check(request: Request) -> None:
    if request.base and request.base_state:
        raise UsageError("--base and --base-state cannot be used together\n  fix: give one of them")
    if request.base_state and len(request.stacks) != 1 and len(request.plan_files) != 1:
        raise UsageError("--base-state is the state of one stack\n  fix: name the stack")
    if request.engine == "pulumi" and not request.plan_files:
        from sizewell.recording.sources.engine import available

        if not available():
            raise ServiceError("--engine pulumi: pulumi is not on PATH\n  fix: install it, or use --engine offline")


def _heads(request: Request) -> dict[str, _Head]:
    if request.plan_files:
        heads = {}
        for path in request.plan_files:
            stack, head = _from_file(path, request)
            if request.stacks and stack not in request.stacks:
                raise UsageError(
                    f"--plan {path}: it is for the stack {stack}, not of {', '.join(request.stacks)}\n"
                    f"  fix: write it with `pulumi preview -s {request.stacks[0]} --json --show-sames`, or name {stack}"
                )
            if stack in heads:
                raise UsageError(f"--plan {path}: another file is for the stack {stack} as well\n  fix: give one")
            heads[stack] = head
        return heads
    names = request.stacks or stacks_of(request.root)
    if not names:
        raise UsageError(f"{request.root}: no stacks found\n  fix: name one, or add stacks/config/Pulumi.STACK.yaml")
    heads = {}
    for name in names:
        request.progress(f"evaluating {name}")
        heads[name] = _head(request, name)
    return heads


def _from_file(path: Path, request: Request) -> tuple[str, _Head]:
    from sizewell.recording.plans import from_file

    read = from_file(path, request.root, _stands(request))
    head = _Head(after=read.judged, before=read.stood, replaced=read.replaced, label=read.label)
    return read.after.stack or path.stem, head


def _head(request: Request, stack: str) -> _Head:
    from sizewell.recording.plans import planned

    try:
        read = planned(request.root, stack, engine=request.engine, state=_stands(request))
    except UsageError:
        raise
    except SizewellError as error:
        return _Head(failed=str(error), cause=error.cause, exit_code=error.exit_code)
    return _Head(after=read.after, before=read.before, replaced=read.replaced, label=read.label)


def _stands(request: Request) -> Plan | None:
    """What stands now, where a file says it."""
    from sizewell.recording.plans import state_of

    path = request.state or request.base_state
    return None if path is None else state_of(path)


@contextmanager
def _base(request: Request) -> Iterator[_Base | None]:
    if request.base_state is not None:
        from sizewell.recording.sources import read_state

        yield _Base(state=read_state(request.base_state), label=request.base_state.name)
        return
    if request.base is None:
        yield None
        return
    with ExitStack() as cleanup:
        try:
            tree = cleanup.enter_context(worktree(request.root, request.base))
        except ServiceError as error:
            yield _Base(failed=str(error), label=request.base)
            return
        from sizewell.recording.evaluate.isolation import forget

        cleanup.callback(forget, tree.root)
        yield _Base(tree=tree, label=tree.label, catalog=_own_catalog(tree.root))


def _own_catalog(root: Path) -> Catalog | None:
    """The catalog of a revision, None where it is the head's, missing or cannot be read by the head."""
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.loading import DATA
    from sizewell.sizing.catalog.overlay import folder_of

    places = (root / "src/sizewell/sizing/catalog/data", root / "sizing/catalog/data")  # the latter before 0.1
    directory = next((place for place in places if place.is_dir()), DATA)
    try:
        catalog = load(directory, overlay=folder_of(root))
    except SizewellError:
        return None
    return None if catalog.digest == load().digest else catalog


@dataclass(slots=True, kw_only=True)
class _Sides:
    """One stack before and after the change, each priced."""

    name: str
    failed_as: str = ""  # why there is no `after`
    cause: tuple[str, ...] = ()
    before: Side | None = None
    after: Side | None = None
    base_at_own_prices: Pricing | None = None
    label: str = ""
    failed: str = ""
    gone: bool = False
    moved: bool = False  # it is of the project as it was called before, or of its backend
    replaced: frozenset[str] | None = None
    notes: tuple[str, ...] = ()  # on own rates and commitments


def _sides_of(
    request: Request, name: str, head: _Head | None, base: _Base | None, pricing: _Pricing, *, shown: str = ""
) -> _Sides:
    """`shown`: what a stack is called that stays behind under the project's old name."""
    if head is not None and head.after is None:
        return _Sides(name=name, failed_as=head.failed, cause=head.cause)
    before, label, failed = _before(request, name, head, base)
    if head is not None and head.after is not None:
        gone, after = False, as_it_stands(before, head.after)
    else:
        why = "is of the project or backend before the change" if shown else "has lost its files"
        note = f"the stack {why}; its resources remain and are billed until `pulumi destroy -s {shown or name}`"
        gone, after = True, replace(before or Plan(project="", stack=name, resources=()), notes=(note,))
    before, after, replaced, retained = with_retained(before, after, head.replaced if head is not None else None)
    notes = tuple(
        f"{each}: replaced and retained (retain on delete): the old one stays and is billed beside the new"
        for each in retained
    )
    before, imported = with_imported(before, after)
    notes += tuple(f"{each}: imported: it runs and is billed already, so it is no change" for each in imported)
    before, after, launched = with_launched(before, after, replaced)
    notes += launched
    own = None
    if before is not None and base is not None and base.catalog is not None:
        own = pricing.price(before, base.catalog)
    return _Sides(
        name=shown or name,
        before=pricing.side(before) if before is not None else None,
        after=pricing.side(after),
        base_at_own_prices=own,
        label=label,
        failed=failed,
        gone=gone,
        moved=bool(shown),
        replaced=replaced,
        notes=notes,
    )


def _at_prices(stacks: list[_Sides], request: Request) -> tuple[str, list[records.Stack]]:
    """The stacks at the prices before the change, and what those are called; none where it changes none."""
    base = request.base_prices
    if base is None:
        return "", []
    # Beside the figures at the new prices, not in their place: who can lower a price in the same change could otherwise
    # pass every limit. Policies are not asked again: the caller has them judge at these prices already.
    pricing = _Pricing(catalog=base.catalog, on=request.on, usage=base.usage, discounts=base.discounts)

    def priced(side: Side | None) -> Side | None:
        return None if side is None else pricing.side(side.plan)

    again = [
        replace(each, before=priced(each.before), after=priced(each.after), base_at_own_prices=None) for each in stacks
    ]
    return base.label, _compared(again, replace(request, policies=None), pricing)


def _compared(stacks: list[_Sides], request: Request, pricing: _Pricing) -> list[records.Stack]:
    shown = [each for each in stacks if each.after is not None]
    if len(shown) > 1:
        _pay_blocks_once(shown)
    if pricing.rates.commitments:
        _share(shown, request, pricing)
    for plan in pricing.rates.shared_out(request.on) if shown else ():
        _spend(plan, shown, request, pricing.catalog)
    if shown and pricing.rates:
        from sizewell.preview.own_rates import remarks

        after: list[Any] = [each.after.pricing for each in shown if each.after is not None]
        shown[0].notes += tuple(remarks(pricing.catalog, pricing.rates, after, request.on))
    return [
        _stack(request, each, each.after, pricing)
        if each.after is not None
        else failed_stack(each.name, _project(request.root), each.failed_as, each.cause)
        for each in stacks
    ]


def _pay_blocks_once(stacks: list[_Sides]) -> None:
    """A purchased block in which pools of several stacks stand is in the figures once."""
    from sizewell.preview.commitments import blocks_of, once

    plans = [(each.before.plan if each.before else None, each.after.plan if each.after else None) for each in stacks]
    blocks = [[blocks_of(plan) if plan is not None else {} for plan in pair] for pair in plans]
    if not any(named for pair in blocks for named in pair):
        return
    was = [(named, _items(each.before)) for (named, _), each in zip(blocks, stacks, strict=True)]
    now = [(named, _items(each.after)) for (_, named), each in zip(blocks, stacks, strict=True)]
    before, paid = once(was, {})
    after, _ = once(now, paid)
    for number, each in enumerate(stacks):
        if each.before is not None:
            each.before = _with(each.before, before[number])
        if each.after is not None:
            each.after = _with(each.after, after[number])


def _share(stacks: list[_Sides], request: Request, pricing: _Pricing) -> None:
    """Own commitments over all stacks: each is used once, before the change and after it."""
    from sizewell.preview.commitments import elsewhere, granted, in_use, needed, unused

    rates, on = pricing.rates, request.on
    items = {"before": [_items(each.before) for each in stacks], "after": [_items(each.after) for each in stacks]}
    # Over all stacks and with `kept`, not stack by stack: hours that a stack uses already stay its own, so that a
    # new stack which comes before it does not take them and show as a cost of one that nobody changed.
    held = granted(rates, [needed(each) for each in items["before"]], on)
    needs = [needed(each) for each in items["after"]]
    given = granted(rates, needs, on, kept=held)
    before = [tuple(rates.with_commitments(each, on, hours)) for each, hours in zip(items["before"], held, strict=True)]
    after = [tuple(rates.with_commitments(each, on, hours)) for each, hours in zip(items["after"], given, strict=True)]
    idle = unused(rates, before, after, on)
    names = {each.name for each in stacks}
    used = in_use(rates, needs, [(*now, *left) for now, left in zip(after, idle, strict=True)], on)
    note = elsewhere(rates, given, [name for name in stacks_of(request.root) if name not in names], on)
    for number, each in enumerate(stacks):
        if each.before is not None:
            each.before = _with(each.before, before[number])
        if each.after is not None:
            each.after = _with(each.after, (*after[number], *idle[number]))
        if each.base_at_own_prices is not None:
            own = tuple(rates.with_commitments(each.base_at_own_prices.items, on, held[number]))
            each.base_at_own_prices = replace(each.base_at_own_prices, items=own)
        own_use = [said for asked, said in used.items() if given[number].get(asked)]
        if any(given[number].values()):
            each.notes += (*own_use, *([note] if note else ()))


def _spend(plan: SharedOut, stacks: list[_Sides], request: Request, catalog: Catalog) -> None:
    """What covers several types over all stacks, after the commitments: used once, before the change and after it."""
    from sizewell.preview.commitments import planned
    from sizewell.resources.savings import spent, with_plan

    lines = [[_items(each.before) for each in stacks], [_items(each.after) for each in stacks]]
    names = {each.name for each in stacks}
    others = [name for name in stacks_of(request.root) if name not in names]
    before, after, held, said = planned(plan, lines[0], lines[1], others, catalog)
    for number, each in enumerate(stacks):
        if each.before is not None:
            each.before = _with(each.before, before[number])
        if each.after is not None:
            each.after = _with(each.after, after[number])
        if each.base_at_own_prices is not None:
            own, _ = with_plan(plan, each.base_at_own_prices.items, held[number], catalog)
            each.base_at_own_prices = replace(each.base_at_own_prices, items=tuple(own))
    uses = [each for each, items in zip(stacks, after, strict=True) if spent(plan, items)] or stacks[:1]
    for each in uses:
        each.notes += (said,)


def _with(side: Side, items: tuple[LineItem, ...]) -> Side:
    pricing: Any = side.pricing
    return Side(plan=side.plan, pricing=replace(pricing, items=items))


def _items(side: Side | None) -> tuple[LineItem, ...]:
    return () if side is None else tuple(side.pricing.items)


def _stack(request: Request, sides: _Sides, head: Side, pricing: _Pricing) -> records.Stack:
    name, gone, after = sides.name, sides.gone, head.plan
    before = sides.before.plan if sides.before is not None else None
    decision, note = _decision(request.root, name)
    judged, changes = None, changed(before, after, sides.replaced)
    if request.policies is not None and not gone:
        judged = request.policies(with_kept(before, after), decision, _kinds(changes), before)
        if judged is not None and request.new_only and before is not None:
            earlier = request.policies(before, decision, {}, None)
            judged = _only_new(judged, earlier) if earlier is not None else judged
    changes = with_undecided(changes, before, after, head.pricing.items)
    result = compare(
        name,
        sides.before,
        head,
        base=sides.label,
        base_failed=sides.failed,
        base_at_own_prices=sides.base_at_own_prices,
        replaced=sides.replaced,
        changes=changes,
        policies=judged,
        decision=decision,
        budget=request.limits.budgets.get(name, budget_of(decision)),
    )
    if gone and after.resources:
        by = "another name or backend of its project" if sides.moved else "deleting its files"
        result = result.model_copy(update={"needs": (*result.needs, left_behind(result, by=by))})
    notes = ((note,) if note else ()) + sides.notes
    if decision is not None and not gone:
        notes += _worth(decision, pricing.catalog)
    reasons: dict[str, object] = {"notes": (*result.notes, *notes)} if notes else {}
    if accounts := billing_accounts(after.config, pricing.rates):
        reasons["billing_accounts"] = accounts
    if not gone:
        told = {each.message for each in judged.findings} if judged is not None else set()
        ages = ages_of(after, pricing.catalog, request.on, sized=decision is not None)
        reasons["ages"] = tuple(age for age in ages if age.detail.removeprefix(f"{age.component}: ") not in told)
    if decision is not None and not gone:
        reasons |= {
            "choices": choices_of(decision),
            "evidence": evidence_of(decision),
            "guarded": guarded_of(decision),
            "capacity": capacity_of(decision),
            "ends": ends_of(decision),
            "ownership": ownership_of(decision, pricing.catalog, request.on),
        }
    return result.model_copy(update=reasons)


def _worth(decision: Decision, catalog: Catalog) -> tuple[str, ...]:
    """What a commitment to its machines would save, in the line that `size` prints."""
    lines = (
        (workload.spec.name, worth(catalog, pool, decision))
        for workload in decision.workloads
        for pool in workload.pools
    )
    return tuple(f"{name}: {line}" for name, line in lines if line)


def billing_accounts(config: Mapping[str, str], rates: Discounts) -> dict[str, records.BillingAccount]:
    """By the package of the provider: what the rates name; on Google Cloud `sizewell:billingAccount` goes first."""
    named = {
        CLOUDS[account.cloud].provider.package: records.BillingAccount(id=account.id, name=account.name)
        for account in rates.billing_accounts
    }
    for cloud in CLOUDS.values():
        package, own = cloud.provider.package, config.get(cloud.account.billing_setting, "")
        if own and (package not in named or named[package].id != own):
            named[package] = records.BillingAccount(id=own)
    return named


def _project(root: Path) -> str:
    """The project's name as Pulumi.yaml says it, else the folder's."""
    import yaml

    try:
        stated = yaml.safe_load((root / "Pulumi.yaml").read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return root.name
    return str(stated.get("name") or root.name) if isinstance(stated, Mapping) else root.name


def _before(request: Request, name: str, head: _Head | None, base: _Base | None) -> tuple[Plan | None, str, str]:
    """The plan before the change, what it is called, and why there is none where there should be one."""
    if base is None:
        return (head.before, head.label, "") if head is not None and head.before is not None else (None, "", "")
    if base.failed:
        return None, base.label, base.failed
    if base.state is not None:
        return base.state, base.label, ""
    if base.tree is None:
        return None, "", ""
    new = not (base.tree.root / "Pulumi.yaml").exists() or not _knows(base.tree.root, name)
    if new or (head is not None and _elsewhere(request, base, name)):
        return Plan(project="", stack=name, resources=(), origin=base.label), base.label, ""  # a new stack
    request.progress(f"evaluating {name} at {base.label}")
    from sizewell.recording.plans import before_change

    try:
        plan = before_change(base.tree.root, name, replaces=request.root.resolve(), state=_stands(request))
    except SizewellError as error:
        return None, base.label, f"the base {base.label} does not build: {error}"
    return replace(plan, origin=f"base {base.label}"), base.label, ""


def _elsewhere(request: Request, base: _Base, name: str) -> bool:
    """Whether the change gives a stack to another project or backend: the engine then begins with an empty one, and
    what stood stands on.
    """
    if base.tree is None or not (base.tree.root / "Pulumi.yaml").exists() or not _knows(base.tree.root, name):
        return False
    return _owner(base.tree.root) != _owner(request.root)


def _owner(root: Path) -> tuple[str, str]:
    """The project's name and backend, as Pulumi.yaml states them."""
    import yaml

    try:
        stated = yaml.safe_load((root / "Pulumi.yaml").read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return "", ""
    if not isinstance(stated, Mapping):
        return "", ""
    backend = stated.get("backend")
    return str(stated.get("name") or ""), str(backend.get("url") or "") if isinstance(backend, Mapping) else ""


def _only_new(now: records.PolicyReport, earlier: records.PolicyReport) -> records.PolicyReport:
    """Findings that the base has as well, marked as such: the same rule on the same resource, in any words, unless a
    number in them grew or there are more of them.
    """
    before: dict[tuple[str, str], list[str]] = {}
    after: dict[tuple[str, str], list[str]] = {}
    for findings, messages in ((earlier.findings, before), (now.findings, after)):
        for each in findings:
            if messages is after or not each.waived:
                messages.setdefault((each.policy, each.resource), []).append(each.message)

    def stands(each: records.PolicyFinding) -> bool:
        was, becomes = (sorted(messages.get((each.policy, each.resource), ())) for messages in (before, after))
        if each.message in was:
            return True
        return len(was) == len(becomes) and not any(map(_worse, was, becomes))

    return now.model_copy(update={"findings": tuple(replace(each, stood=stands(each)) for each in now.findings)})


_NUMBER: Final = re.compile(r"\d[\d,]*\.?\d*")


def _worse(was: str, becomes: str) -> bool:
    """Whether a number in a finding is larger than it was, or one more.

    >>> _worse("billed for at least 1 machine", "billed for at least 8 machines"), _worse("2 GiB, p5", "2 GiB of p5")
    (True, False)
    """
    old, new = ([float(each.replace(",", "")) for each in _NUMBER.findall(text)] for text in (was, becomes))
    return len(new) > len(old) or any(b > a for a, b in zip(old, new, strict=False))


def _decision(root: Path, stack: str) -> tuple[Decision | None, str]:
    path = root / "stacks/decisions" / f"{stack}.json"
    if not path.exists():
        return None, ""
    try:
        return Decision.from_json(path), ""
    except DecisionError as error:
        return None, f"the decision cannot be read, so the reasons are missing: {error}"


def _age(as_of: str, on: date) -> int | None:
    try:
        return (on - date.fromisoformat(as_of)).days
    except ValueError:
        return None
