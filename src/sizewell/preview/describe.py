"""Components in words: what a reader calls them, what they are, how their figure was got."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.sizing.billing.tariff import weakness
from sizewell.sizing.money import Interval, LineItem, Unpriced
from sizewell.sizing.records.registration import REGISTRATION_KEY

_STACK = "pulumi:pulumi:Stack"
_SHORT_UNITS = {"machine-hour": "h", "hour": "h", "GB-month": "GB-mo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A component as a reader knows it."""

    kind: str
    what: str
    region: str


def registration_of(urn: str, by_urn: Mapping[str, RecordedResource]) -> Mapping[str, Any] | None:
    """What the nearest component of ours around a resource states about itself."""
    seen = set()
    resource = by_urn.get(urn)
    while resource is not None and resource.urn not in seen:
        seen.add(resource.urn)
        stated = resource.inputs.get(REGISTRATION_KEY)
        if isinstance(stated, Mapping):
            return stated
        resource = by_urn.get(resource.parent or "")
    return None


def label_of(resource: RecordedResource, by_urn: Mapping[str, RecordedResource]) -> str:
    """The name of the component that a resource belongs to, as line items have it."""
    stated = registration_of(resource.urn, by_urn)
    if stated is not None and isinstance(stated.get("name"), str) and stated["name"]:
        return str(stated["name"])
    outermost = resource if not resource.custom and resource.type != _STACK else None
    parent, seen = by_urn.get(resource.parent or ""), {resource.urn}
    while parent is not None and parent.urn not in seen:
        seen.add(parent.urn)
        if not parent.custom and parent.type != _STACK:
            outermost = parent
        parent = by_urn.get(parent.parent or "")
    return outermost.name if outermost is not None else resource.name


def describe(plan: Plan) -> dict[str, Described]:
    """Each component of a plan by its label. A pool or a store of ours is described by what it registers."""
    by_urn = plan.by_urn()
    described: dict[str, Described] = {}
    rank: dict[str, int] = {}
    for resource in plan.resources:
        if resource.type == _STACK or resource.type.startswith("pulumi:providers:"):
            continue
        label = label_of(resource, by_urn)
        stated = resource.inputs.get(REGISTRATION_KEY)
        importance = 3 if isinstance(stated, Mapping) else 2 if not resource.custom else 1
        if isinstance(stated, Mapping) and stated.get("kind") == "pool":
            importance = 4
        if importance <= rank.get(label, 0):
            continue
        rank[label] = importance
        described[label] = Described(
            kind=_kind(resource),
            what=_registered(stated) if isinstance(stated, Mapping) else "",
            region=_text(stated.get("region")) if isinstance(stated, Mapping) else "",
        )
    return described


def _kind(resource: RecordedResource) -> str:
    return resource.type if resource.custom else resource.type.rsplit(":", 1)[-1]


def _registered(stated: Mapping[str, object]) -> str:
    machine = _text(stated.get("instanceType"))
    if not machine:
        return ""
    low, most = stated.get("nodesMin"), stated.get("nodesMax")
    count = f"{most}" if low == most else f"{low}-{most}"
    parts = [f"{count} x {machine}" if isinstance(low, int) and isinstance(most, int) else f"? x {machine}"]
    each, accelerator = stated.get("acceleratorsPerNode"), _text(stated.get("accelerator"))
    if isinstance(each, int) and each > 0 and accelerator:
        parts[0] += f" ({each} x {accelerator})"
    parts += [text for key in ("market", "region", "schedule") if (text := _text(stated.get(key)))]
    if not _text(stated.get("schedule")) and _text(stated.get("market")) != "capacity-block":
        parts.append("24x7" if low == most else "no schedule")
    return ", ".join(parts)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# What says how large a resource is, where no price rule reads it.
_SIZES = ("instanceClass", "instanceType", "nodeType", "machineType", "vmSize", "tier", "skuName", "size")


def sizes_of(inputs: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The size of a resource as its inputs name it, where there is one resource.

    >>> sizes_of([{"instanceClass": "db.t3.medium", "allocatedStorage": 100}])
    ('db.t3.medium',)
    """
    each = list(inputs)
    if len(each) != 1:
        return ()
    places = (each[0], each[0].get("settings"), each[0].get("sku"), each[0].get("properties"))
    named = (*_SIZES, "name")
    sizes = [
        place[key]
        for index, place in enumerate(places)
        if isinstance(place, Mapping)
        for key in (named if index == 2 else _SIZES)
        if isinstance(place.get(key), str)
    ]
    return tuple(dict.fromkeys(sizes[:1]))


def how_priced(lines: Sequence[tuple[LineItem, Interval | Unpriced]]) -> str:
    """The arithmetic of the expected figure: the dearest prices or two, and how many more there are.

    Lines of one price are one product: ten endpoints are `0.01/h x 7,300`.

    >>> from dataclasses import replace
    >>> from sizewell.sizing.money import ESTIMATE, Interval, Priced
    >>> line = LineItem(component="c", what="w", unit="machine-hour", quantity=Interval.exactly(Decimal("303.3333")),
    ...                 price=Priced(Decimal("10.49264"), "list", "2026-07-20"))
    >>> how_priced([(line, line.cost())])
    '10.49264/h x 303.33'
    >>> about = replace(line, price=Priced(Decimal("10.49264"), "less the usual discount", "2026-07-20", ESTIMATE))
    >>> how_priced([(about, about.cost())])
    '~10.49264/h x 303.33'
    """
    quantities: dict[tuple[Decimal, str, bool], Decimal] = {}
    missing = 0
    for line, _ in lines:
        if isinstance(line.price, Unpriced):
            missing += 1
            continue
        key = line.price.amount, line.unit, bool(weakness(line.price))
        quantities[key] = quantities.get(key, Decimal(0)) + line.quantity.expected
    ranked = sorted(quantities.items(), key=lambda item: item[0][0] * item[1], reverse=True)
    shown = [item for item in ranked[:2] if item[0][0] * item[1] > 0] or ranked[:1]
    parts = [
        f"{'~' if about else ''}{plain(usd)}/{_SHORT_UNITS.get(unit, unit)} x {plain(quantity, places=2)}"
        for (usd, unit, about), quantity in shown
    ]  # fmt: skip
    if len(ranked) > len(shown):
        parts.append(f"{len(ranked) - len(shown)} more")
    if missing:
        parts.append(f"{missing} unpriced")
    return " + ".join(parts)


def plain(value: Decimal, *, places: int = 6) -> str:
    """A decimal without trailing zeros, thousands separated, at most `places` places.

    >>> plain(Decimal("2920.0000")), plain(Decimal("0.023")), plain(Decimal("30.13118"))
    ('2,920', '0.023', '30.13118')
    """
    rounded = value.quantize(Decimal(1).scaleb(-places))
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def tags_of(resource: RecordedResource | None) -> dict[str, str]:
    """Sizewell's own tags or labels of a resource, as a mapping or a list of pairs states them."""
    if resource is None:
        return {}
    tags: dict[str, str] = {}
    for key in ("tags", "labels", "resourceLabels"):
        stated = resource.inputs.get(key)
        if isinstance(stated, Mapping):
            pairs = list(stated.items())
        elif isinstance(stated, list):
            pairs = [(each.get("key"), each.get("value")) for each in stated if isinstance(each, Mapping)]
        else:
            continue
        tags |= {
            name: value
            for name, value in pairs
            if isinstance(name, str) and isinstance(value, str) and name.startswith(("sizewell-", "managed-by"))
        }
    return dict(sorted(tags.items()))
