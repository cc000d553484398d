"""What something outside of a resource sizes: autoscale settings of Azure, targets of AWS's Application Auto Scaling.

A resource states one size; what aims at it moves that between two others. It is priced at all three: the floor at the
least, the ceiling at the most. Machines whose own readers know their bounds (scale sets, endpoints, services) are in
no row of scaled.csv.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.resources import azure_nodes
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Count, canonical, count, get
from sizewell.sizing.money import Interval, LineItem, Unpriced


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A row of scaled.csv: the input of a type that is sized from outside, and by what."""

    type: str
    path: str
    by: str  # a dimension of Application Auto Scaling, or SETTING
    source: str


SETTING: Final = "autoscale-setting"
TARGET: Final = "aws:appautoscaling/target:Target"
_ROWS: Final = csvtables.read(Scaled, Path(__file__).parent / "data/scaled.csv")
_TYPES: Final = frozenset(row.type for row in _ROWS)
# Readers that a policy adds to a database's cluster run on the machine type of the others.
_READERS: Final = {
    "aws:rds/clusterInstance:ClusterInstance": ("aws:rds/cluster:Cluster", "rds:cluster:ReadReplicaCount"),
    "aws:neptune/clusterInstance:ClusterInstance": ("aws:neptune/cluster:Cluster", "neptune:cluster:ReadReplicaCount"),
}


def priced(pricer: Pricer, resource: RecordedResource, context: Context) -> Outcome:
    """What `pricer` says of a resource, between the sizes that something outside gives it."""
    kind = canonical(resource.type)
    if kind in _READERS:
        return _with_readers(pricer(resource, context), resource, context)
    if kind not in _TYPES:
        return pricer(resource, context)
    least, wanted, most = resource, resource, resource
    for row in _ROWS:
        bounds = _bounds(row, resource, context) if row.type == kind else None
        if bounds is None:
            continue
        path = row.path.split(".")
        stated = count(get(resource.inputs, *path))
        now = bounds[0] if stated is None else stated
        if isinstance(now, int) and isinstance(bounds[0], int):
            now = max(now, bounds[0])
        sized = (bounds[0], now, bounds[1])
        least, wanted, most = (
            replace(each, inputs=_put(each.inputs, path, value))
            for each, value in zip((least, wanted, most), sized, strict=True)
        )
    if least is resource:
        return pricer(resource, context)
    outcomes = [
        pricer(each, replace(context, outside=[], allowances=dict(context.allowances))) for each in (least, most)
    ]
    return _between(pricer(wanted, context), *outcomes)


def _bounds(row: Scaled, resource: RecordedResource, context: Context) -> tuple[Count, Count] | None:
    if row.by == SETTING:
        size = azure_nodes.autoscaled(context.graph, resource, None)
        return None if size is None else (size.least, size.most)
    return _target(row.by, resource, context)


def _target(dimension: str, resource: RecordedResource, context: Context) -> tuple[Count, Count] | None:
    """The capacities between which Application Auto Scaling moves one dimension of a resource."""
    targets = context.graph.referring(resource, TARGET, "resourceId")
    if isinstance(targets, Unknown):
        targets = tuple(each for each in context.graph.of(TARGET) if each.inputs.get("resourceId") is UNKNOWN)
    for each in targets:
        if each.inputs.get("scalableDimension") == dimension:
            return count(each.inputs.get("minCapacity")), count(each.inputs.get("maxCapacity"))
    return None


def _put(inputs: Mapping[str, Any], path: list[str], value: Count) -> dict[str, Any]:
    """Inputs with another value at a path.

    >>> _put({"sku": {"name": "P1v3", "capacity": 2}}, ["sku", "capacity"], 5)
    {'sku': {'name': 'P1v3', 'capacity': 5}}
    """
    key, *rest = path
    inner = inputs.get(key)
    if rest:
        return {**inputs, key: _put(inner if isinstance(inner, Mapping) else {}, rest, value)}
    return {**inputs, key: value}


def _between(now: Outcome, least: Outcome, most: Outcome) -> Outcome:
    """The lines of the size as it stands, from the quantities of the least to those of the most."""
    if isinstance(now, Free) and isinstance(most, Free):
        return now
    listed = [() if isinstance(each, Free) else each for each in (least, now, most)]
    if len({len(each) for each in listed}) == 1:
        return tuple(_line(*lines) for lines in zip(*listed, strict=True))
    low, at, high = (_by_fee(each) for each in (least, now, most))
    return tuple(_line(low.get(key), at.get(key), high.get(key)) for key in dict.fromkeys((*at, *high)))


def _by_fee(outcome: Outcome) -> dict[tuple[str, str, int], LineItem]:
    """Lines by what they are for, and the how manieth of it each is."""
    lines: dict[tuple[str, str, int], LineItem] = {}
    for line in () if isinstance(outcome, Free) else outcome:
        same = sum(key[:2] == (line.what, line.unit) for key in lines)
        lines[line.what, line.unit, same] = line
    return lines


def _line(low: LineItem | None, at: LineItem | None, high: LineItem | None) -> LineItem:
    known = [line for line in (at, high, low) if line is not None]
    missing = [line for line in known if isinstance(line.price, Unpriced)]
    if missing:
        return replace(missing[0], what=known[0].what)
    nothing = Decimal(0)
    quantities = (
        nothing if low is None else low.quantity.floor,
        nothing if at is None else at.quantity.expected,
        nothing if high is None else high.quantity.ceiling,
    )
    return replace(known[0], quantity=Interval(*sorted(quantities)))


def _with_readers(outcome: Outcome, resource: RecordedResource, context: Context) -> Outcome:
    """The machines of a database's first member, and at the most those of the readers that a policy adds."""
    graph, (cluster_type, dimension) = context.graph, _READERS[canonical(resource.type)]
    clusters = graph.referenced(resource, "clusterIdentifier", cluster_type)
    if isinstance(outcome, Free) or not isinstance(clusters, tuple) or not clusters:
        return outcome
    bounds = _target(dimension, clusters[0], context)
    members = graph.referring(clusters[0], resource.type, "clusterIdentifier")
    if bounds is None or not isinstance(members, tuple) or members[0].urn != resource.urn:
        return outcome
    least, most = bounds
    if not isinstance(least, int) or not isinstance(most, int):
        why = "how many readers a policy adds is known only after deployment"
        return (*outcome, context.unpriced(resource, "readers that a policy adds", why))
    standing = len(members) - 1
    fewest, more = max(least - standing, 0), max(most - standing, 0)
    return tuple(
        line
        if isinstance(line.price, Unpriced) or line.quantity.expected == 0
        else replace(
            line,
            quantity=Interval(
                line.quantity.floor * (1 + fewest),
                line.quantity.expected * (1 + fewest),
                line.quantity.ceiling * (1 + more),
            ),
            how=f"{line.how}; with the {fewest} to {more} readers that a policy adds".removeprefix("; "),
        )
        for line in outcome
    )
