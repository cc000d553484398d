"""What a person has to decide before a change is applied: data destroyed first, then the rest, then purchases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.preview import records
from sizewell.preview.changes import Change
from sizewell.preview.describe import label_of, registration_of
from sizewell.resources import commitments
from sizewell.resources.ages import cluster_version
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.resources.values import canonical
from sizewell.sizing.records.decision import CapacityBlock, Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldsData:
    """A row of holds_data.csv: a type that holds data."""

    type: str
    word: str  # for one of it
    size: str = ""  # path of the input that states its size in GiB
    source: str


DATA: Final[Mapping[str, HoldsData]] = {
    row.type: row for row in csvtables.read(HoldsData, Path(__file__).parent / "data/holds_data.csv")
}

_STACK: Final = "pulumi:pulumi:Stack"


def needs_of(
    before: Plan | None,
    after: Plan,
    rows: Sequence[records.Row],
    *,
    changes: Mapping[str, Change],
    decision: Decision | None = None,
) -> tuple[records.Need, ...]:
    """Destroyed, replaced, upgraded, kept, purchased: one entry per component and kind."""
    needs: list[records.Need] = []
    if before is not None:
        needs += _gone(before, after, rows)
        needs += _replaced(before, after, changes)
        needs += _unprotected(before, after)
        needs += _upgraded(before, after)
    needs += _purchases(rows, decision)
    needs += _committed(before, after, rows)
    order = ("destroys", "replaces", "unprotects", "upgrades", "keeps", "purchases")
    return tuple(sorted(needs, key=lambda need: (not need.data, order.index(need.kind), need.component)))


def left_behind(stack: records.Stack, *, by: str = "deleting its files") -> records.Need:
    """What remains of a stack that leaves the repository: everything, since nothing destroys it."""
    spend = stack.after.usd_per_month.expected if stack.after else Decimal(0)
    return records.Need(
        kind="keeps",
        component=stack.stack,
        text=(
            f"is not destroyed by {by}: {_count(stack.coverage.detected, 'resource')} remain and "
            f"cost {spend:,.2f} USD a month until `pulumi destroy -s {stack.stack}` is run, with the program of "
            "the base"
        ),
        brief=f"leaves {_count(stack.coverage.detected, 'resource')} running",
    )


def _upgraded(before: Plan, after: Plan) -> Iterator[records.Need]:
    """Clusters whose Kubernetes version changes: no cloud takes one back, and none goes up by two at a time."""
    old, new = before.by_urn(), after.by_urn()
    for urn, resource in new.items():
        earlier = old.get(urn)
        was, asked = (cluster_version(each) if each is not None else None for each in (earlier, resource))
        if was is None or asked is None or was == asked:
            continue
        change = f"goes from Kubernetes {'.'.join(map(str, was))} to {'.'.join(map(str, asked))}"
        if asked < was:
            text = f"{change}: no cloud takes a control plane back, so the update fails; state what runs"
            brief = "downgrades a cluster"
        elif asked > (was[0], was[1] + 1):
            text = (
                f"{change}: a control plane goes up by one minor version at a time, so the update fails; state "
                f"{was[0]}.{was[1] + 1} first, update, then the next one"
            )
            brief = "skips a version of Kubernetes"
        else:
            text = f"{change}: the control plane is upgraded in place and does not come back down, and nodes follow it"
            brief = "upgrades a cluster"
        yield records.Need(kind="upgrades", component=label_of(resource, new), text=text, brief=brief, resources=(urn,))


def stays(resource: RecordedResource) -> str:
    """Why a resource stands and bills although the program no longer has it; "" where it goes."""
    if canonical(resource.type) in (commitments.BLOCK, *commitments.WHOLE):
        return "is a commitment: it is billed until the end of its term, whether or not it is in the program"
    if resource.retain_on_delete:
        return "is kept (retain on delete): it is removed from the stack, stays in the cloud and is still billed"
    if resource.protect:
        return "is kept (protect) and is still billed: pulumi up fails until it is unprotected or restored"
    if own := _own_protection(resource):
        return f"is kept and is still billed: with {own} its cloud refuses to delete it, and pulumi up fails"
    return ""


def _own_protection(resource: RecordedResource) -> str:
    """The input by which its cloud refuses to delete a resource; "" where it would not. `forceDestroy` takes the
    protection of an EC2 instance away first (pulumi_aws, ec2.Instance).
    """
    if resource.inputs.get("forceDestroy") is True:
        return ""
    return next((key for key in _PROTECTIONS if resource.inputs.get(key) is True), "")


_PROTECTIONS: Final = (
    "deletionProtection",
    "deletionProtectionEnabled",
    "disableApiTermination",
    "enableDeletionProtection",
)
"""What clouds call their own protection against a deletion."""


def _gone(before: Plan, after: Plan, rows: Sequence[records.Row]) -> Iterable[records.Need]:
    """What leaves the stack and needs a decision: not a free resource that holds no data and belongs to nothing."""
    billed = {row.component for row in rows if row.lines or row.unpriced}
    lines: dict[str, list[records.Line]] = {}
    for line in (line for row in rows for line in row.lines if line.cadence == "monthly"):
        lines.setdefault(line.resource, []).append(line)
    old, new = before.by_urn(), after.by_urn()
    still = set(new).union(*(resource.aliases for resource in after.resources))
    removed: dict[str, list[RecordedResource]] = {}
    for resource in before.resources:
        if resource.urn not in still and resource.custom and not resource.type.startswith("pulumi:"):
            removed.setdefault(label_of(resource, old), []).append(resource)
    labels = {label_of(resource, new) for resource in after.resources if resource.type != _STACK}
    for label, resources in removed.items():
        kept = [each for each in resources if stays(each)]
        gone = [each for each in resources if not stays(each)]
        ours = any(registration_of(each.urn, old) for each in gone)
        if gone and (ours or label in billed or any(canonical(each.type) in DATA for each in gone)):
            machines = _machines(gone, old) if label not in labels else ""
            subject = "is destroyed" if label not in labels else f"loses {_count(len(gone), 'resource')}"
            data = _data_in_words(gone)
            parts = [text for text in (machines, data) if text]
            if label not in labels:
                parts.append(f"{_count(len(gone), 'resource')}{' in all' if len(gone) > 1 else ''}")
            yield records.Need(
                kind="destroys",
                component=label,
                text=f"{subject}: {', '.join(parts)}" if parts else subject,
                brief=f"deletes {data or machines or _count(len(gone), 'resource')}",
                resources=tuple(each.urn for each in gone),
                data=any(canonical(each.type) in DATA for each in gone),
            )
        for resource in kept:
            holder = DATA.get(canonical(resource.type))
            costs = lines.get(resource.urn, [])
            runs = any(line.unit == "machine-hour" for line in costs)
            word = "machine" if runs else holder.word if holder else "resource"
            yield records.Need(
                kind="keeps",
                component=label,
                text=f"{word} {resource.name} {stays(resource).replace('still billed', f'still billed{_cost(costs)}')}",
                brief=f"keeps a {word}",
                resources=(resource.urn,),
            )


def _cost(lines: Sequence[records.Line]) -> str:
    """What goes on being billed, as far as it has a price."""
    usd = sum((line.usd.expected for line in lines if line.usd is not None), Decimal(0))
    more = " + ?" if any(line.usd is None for line in lines) else ""
    return f" (${usd:,.2f}{more}/month)" if usd else ""


def _replaced(before: Plan, after: Plan, changes: Mapping[str, Change]) -> Iterable[records.Need]:
    """What is deleted and built anew, by component, with what was in it: its size before the change."""
    new, old = after.by_urn(), before.by_urn()
    names = {alias: urn for urn, resource in new.items() for alias in resource.aliases}
    was = {names.get(urn, urn): resource for urn, resource in old.items()}
    grouped: dict[str, list[tuple[RecordedResource, str]]] = {}
    for urn, change in changes.items():
        if change.kind == "replace" and not new[urn].type.startswith("pulumi:"):
            why = f"{', '.join(change.why)} changed" if change.why else change.along
            grouped.setdefault(label_of(new[urn], new), []).append((new[urn], why))
    for label, pairs in grouped.items():
        resources = [resource for resource, _ in pairs]
        words = [f"{resource.name} ({why})" if why else resource.name for resource, why in pairs[:3]]
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        data = _data_in_words([was.get(each.urn, each) for each in resources])
        earlier = [was.get(each.urn, each) for each in resources]
        held = [each.name for each in earlier if each.protect or _own_protection(each)]
        refused = f"; {held[0]} is protected: pulumi up fails before it replaces it" if held else ""
        yield records.Need(
            kind="replaces",
            component=label,
            text=f"replaces {', '.join(words)}{more}"
            + (f": {data} is deleted with its contents" if data else "")
            + refused,
            brief=f"replaces {data or _count(len(pairs), 'resource')}",
            resources=tuple(resource.urn for resource in resources),
            data=bool(data),
        )


def _unprotected(before: Plan, after: Plan) -> Iterable[records.Need]:
    """What loses its protection: the next change may delete it, and this one looks harmless."""
    old, new = before.by_urn(), after.by_urn()
    for resource in after.resources:
        names = (resource.urn, *resource.aliases)
        was = next((old[urn] for urn in names if urn in old), None)
        if was is None or not resource.custom or resource.type.startswith("pulumi:"):
            continue
        lost = [
            word
            for word, then, now in (
                ("protect", was.protect, resource.protect),
                ("retain on delete", was.retain_on_delete, resource.retain_on_delete),
            )
            if then and not now
        ]
        if lost:
            holder = DATA.get(canonical(resource.type))
            what = holder.word if holder else "resource"
            yield records.Need(
                kind="unprotects",
                component=label_of(resource, new),
                text=f"takes {' and '.join(lost)} from {what} {resource.name}: the next change can delete it",
                brief=f"unprotects a {what}",
                resources=(resource.urn,),
                data=holder is not None,
            )


def _purchases(rows: Sequence[records.Row], decision: Decision | None) -> Iterable[records.Need]:
    for row in rows:
        if row.once.ceiling <= 0 and not row.purchases_without_price:
            continue
        block = _block(decision, row.component)
        if block is not None and block.id is not None:
            continue  # bought already
        confirmed = ""
        if block is not None and block.purchase == "confirmed":
            confirmed = "confirmed in the spec"
            if block.max_price_usd is not None:
                confirmed += f", at most {block.max_price_usd:,} USD"
        elif any(commitments.BLOCK in line.resource for line in row.lines if line.cadence == "once" and line.resource):
            confirmed = "the program registers it: bought at the next update"
        what = next((line.what for line in row.lines if line.cadence == "once"), row.what)
        yield records.Need(
            kind="purchases",
            component=row.component,
            text=f"purchases {what}" + (" at an unknown price" if row.once.ceiling <= 0 else ""),
            brief="buys capacity",
            resources=tuple(line.resource for line in row.lines if line.cadence == "once" and line.resource),
            usd_once=row.once if row.once.ceiling > 0 else None,
            confirmed=confirmed,
        )


def _committed(before: Plan | None, after: Plan, rows: Sequence[records.Row]) -> Iterable[records.Need]:
    """What binds the account for a term, and is new."""
    old, new = before.by_urn() if before else {}, after.by_urn()
    for urn, resource in new.items():
        if urn in old or commitments.binds(canonical(resource.type), resource.inputs) is not True:
            continue
        lines = [line for row in rows for line in row.lines if line.resource == urn]
        usd = sum((line.usd.expected for line in lines if line.usd), Decimal(0))
        open_ended = any(line.usd is None for line in lines)
        price = f"{usd:,.2f} USD a month{' and more' if open_ended else ''}" if usd else "an unknown price"
        what = ", ".join(line.what for line in lines) or "a commitment"
        yield records.Need(
            kind="purchases",
            component=label_of(resource, new),
            text=f"buys {what} for its whole term at {price}, used or not",
            brief="buys a commitment for a term",
            resources=(urn,),
            confirmed="the program registers it: bought at the next update",
        )


def _block(decision: Decision | None, component: str) -> CapacityBlock | None:
    for workload in decision.workloads if decision else ():
        if workload.spec.name == component:
            for pool in workload.pools:
                if pool.capacity.block is not None:
                    return pool.capacity.block
    return None


def _machines(resources: Sequence[RecordedResource], by_urn: Mapping[str, RecordedResource]) -> str:
    for resource in resources:
        stated = registration_of(resource.urn, by_urn) or {}
        if stated.get("kind") == "pool" and isinstance(stated.get("nodesMax"), int):
            return f"up to {_count(stated['nodesMax'], 'machine')} ({stated.get('instanceType', '?')})"
    return ""


def _data_in_words(resources: Sequence[RecordedResource]) -> str:
    counts: dict[str, int] = {}
    gib = Decimal(0)
    for resource in resources:
        holder = DATA.get(canonical(resource.type))
        if holder is None:
            continue
        counts[holder.word] = counts.get(holder.word, 0) + 1
        size = _at(resource.inputs, holder.size) if holder.size else None
        if isinstance(size, int | float):
            gib += Decimal(str(size))
    words = ", ".join(_count(count, word) for word, count in counts.items())
    return f"{words} ({gib:,f} GiB)" if words and gib else words


def _at(inputs: Mapping[str, object], path: str) -> object:
    value: object = inputs
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, list) and value:
            value = value[0]
    return value


def _count(number: int, word: str) -> str:
    return (
        f"{number} {word}"
        if number == 1
        else f"{number} {word.removesuffix('y') + 'ies' if word.endswith('y') else word + 's'}"
    )
