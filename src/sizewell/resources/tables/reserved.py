"""Machines that stand in a capacity reservation of the same program: the reservation is billed whole, they are not.

A machine takes a reservation by itself where everything agrees that the cloud compares. One that does not agree is
billed beside the reservation; where it is not known whether it agrees, neither is what the machine costs.

Sources, read 2026-11-27: docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-using.html,
cloud.google.com/compute/docs/instances/reservations-consume,
cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations,
learn.microsoft.com/azure/virtual-machines/capacity-reservation-associate-vm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources import aws_nodes, azure_nodes, gcp_nodes
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Text, cloud_of, contains_unknown, count, flag, get, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, ZERO, Interval, LineItem, Unpriced

if TYPE_CHECKING:
    from sizewell.resources.context import Context

AWS: Final = "aws:ec2/capacityReservation:CapacityReservation"
GCP: Final = "gcp:compute/reservation:Reservation"
AZURE: Final = "azure-native:compute:CapacityReservation"
STANDS: Final = "capacityReservationSpecification"  # the input of AWS that says in which reservation machines stand
Zones = tuple[str, ...] | Unknown
_DEFAULT: Final = ""  # a zone that nothing states: the provider's

_COUNTS: Final = (  # where a reservation says how many machines it holds
    ("instanceCount",),
    ("specificReservation", "count"),
    ("sku", "capacity"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What AWS compares of a machine: `inputs` are those of template and pool together, `sources` these two."""

    kind: Text
    image: object
    inputs: object
    sources: tuple[RecordedResource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A reservation that machines may stand in, and what of them is not known: surely, where nothing is."""

    reservation: RecordedResource
    unknown: tuple[str, ...] = ()
    zone: str = ""
    zones: int = 1  # that the machines are spread over, evenly


def beyond(line: LineItem, context: Context, matches: Iterable[Match]) -> LineItem:
    """The machine-hours of a line that no reservation covers: none where all are, and a line that says in which.

    What one pool takes of a reservation is not there for the next.
    """
    whole, names, here = line.quantity, [], dict[str, Decimal]()
    for match in sorted(matches, key=lambda each: bool(each.unknown)):
        reservation = match.reservation
        taken = context.reserved.get(reservation.urn, Decimal(0))
        left = min(_hours(reservation) - taken, whole.ceiling / match.zones - here.get(match.zone, Decimal(0)))
        if left <= 0 or not line.quantity.ceiling or isinstance(line.price, Unpriced):
            continue
        if match.unknown:
            lacks = f"not known whether its machines stand in reservation {reservation.name}"
            return replace(line, price=Unpriced(f"{lacks}: by their {' and '.join(match.unknown)}"))
        covered = min(line.quantity.ceiling, left)
        context.reserved[reservation.urn] = taken + covered
        here[match.zone] = here.get(match.zone, Decimal(0)) + covered
        names.append(reservation.name)
        bounds = (line.quantity.floor, line.quantity.expected, line.quantity.ceiling)
        rest = [amount(max(bound - left, Decimal(0))) for bound in bounds]
        line = replace(line, quantity=Interval(*rest) if any(rest) else ZERO)
    if not names:
        return line
    stand = f"in reservation {' and '.join(names)}"
    if line.quantity.ceiling:
        return replace(line, how=f"{line.how}; beyond those {stand}")
    return replace(line, what=f"{line.what}, {stand}", how=stand, confidence="")


def likewise(lines: Sequence[LineItem], whole: LineItem, rest: LineItem) -> list[LineItem]:
    """What a reservation bills with its machines, as far as these stand beyond it: as `rest` is of `whole`."""
    if isinstance(rest.price, Unpriced) or rest.quantity == whole.quantity:
        return list(lines)
    if not rest.quantity.ceiling:
        return []
    (floor, expected, ceiling), (low, middle, high) = (
        (each.quantity.floor, each.quantity.expected, each.quantity.ceiling) for each in (rest, whole)
    )
    shares = [part / of if of else Decimal(0) for part, of in ((floor, low), (expected, middle), (ceiling, high))]
    return [
        replace(line, quantity=Interval(*(amount(each * share) for each, share in zip(bounds, shares, strict=True))))
        for line in lines
        for bounds in [(line.quantity.floor, line.quantity.expected, line.quantity.ceiling)]
    ]


def _hours(reservation: RecordedResource) -> Decimal:
    machines = next((many for path in _COUNTS if (many := count(get(reservation.inputs, *path))) is not None), 1)
    return machines * HOURS_PER_MONTH if isinstance(machines, int) else Decimal(0)


def _match(
    pool: RecordedResource,
    context: Context,
    reservation: RecordedResource,
    zone: Text,
    zones: Zones,
    *,
    named: bool,
    aspects: Iterable[tuple[str, object, object]] = (),
) -> list[Match]:
    """The reservation, where machines agree with it in every aspect; those that name it agree in what is not known."""
    unknown: list[str] = []
    regions = [context.region(each) for each in (pool, reservation)]
    if UNKNOWN not in regions and regions[0] != regions[1]:
        return []
    if isinstance(zone, Unknown) or isinstance(zones, Unknown) or (_DEFAULT in (zone, *zones) and zones != (zone,)):
        unknown.append("zone")
    elif zone not in zones:
        return []
    for what, held, asked in aspects:
        if contains_unknown(held) or contains_unknown(asked):
            unknown.append(what)
        elif held != asked:
            return []
    spread = len(zones) if isinstance(zones, tuple) else 1
    where = "" if isinstance(zone, Unknown) else zone
    return [Match(reservation=reservation, unknown=() if named else tuple(unknown), zone=where, zones=spread)]


def aws(
    pool: RecordedResource,
    context: Context,
    *,
    holder: RecordedResource,
    machine: Machine,
    zones: Zones,
    tenancy: Text,
) -> list[Match]:
    """Those that a template, machine or group (`holder`) names, else those that are open to whoever agrees."""
    graph, stands = context.graph, holder.inputs.get(STANDS)
    found = graph.referenced(holder, STANDS, AWS)
    named = isinstance(found, tuple) and bool(found)
    groups = graph.referenced(holder, STANDS, "aws:resourcegroups/group:Group")
    grouped = isinstance(groups, tuple) and bool(groups)
    if get(stands, "capacityReservationTarget") is not None and not named and not grouped:
        return []
    if not named and text(get(stands, "capacityReservationPreference")) == "none":
        return []
    system = aws_nodes.licence(machine.image, machine.inputs)
    matches: list[Match] = []
    for each in found if isinstance(found, tuple) and found else graph.of(AWS):
        held = each.inputs
        if not named and not grouped and text(held.get("instanceMatchCriteria"), "open") == "targeted":
            continue
        platform = aws_nodes.licence(held.get("instancePlatform"))
        looked_up = aws_nodes.looked_up(machine.image) and platform != ""
        aspects: list[tuple[str, object, object]] = [
            ("machine type", text(held.get("instanceType")), machine.kind),
            ("platform", platform, UNKNOWN if looked_up else system),
            ("tenancy", text(held.get("tenancy"), "default"), tenancy),
        ]
        if held.get("placementGroupArn") is not None:
            group = _placed(context, each, "placementGroupArn", held.get("placementGroupArn"))
            aspects.append(("placement group", group, _own_group(context, machine.sources)))
        if grouped:  # which reservations are in it is not read
            aspects.append(("resource group", UNKNOWN, ""))
        if held.get("outpostArn") is not None:
            aspects.append(("Outpost", held.get("outpostArn"), UNKNOWN))
        matches += _match(
            pool, context, each, text(held.get("availabilityZone"), _DEFAULT), zones, named=named, aspects=aspects
        )
    return matches


def _own_group(context: Context, sources: Iterable[RecordedResource]) -> Text:
    """The placement group of machines, as the first of their sources states it."""
    for each in sources:
        for prop, *path in (("placementGroup",), ("placementGroupId",), ("placement", "groupName"),
                            ("placement", "groupId")):  # fmt: skip
            if (stated := get(each.inputs, prop, *path)) is not None:
                return _placed(context, each, prop, stated)
    return ""


def _placed(context: Context, resource: RecordedResource, prop: str, stated: object) -> Text:
    """A placement group of this program by its URN, any other by the name that ends its ARN."""
    groups = context.graph.referenced(resource, prop, "aws:ec2/placementGroup:PlacementGroup")
    if isinstance(groups, tuple) and groups:
        return groups[0].urn
    return UNKNOWN if isinstance(stated, Unknown) else str(stated).rpartition("/")[2]


def gcp(pool: RecordedResource, context: Context, *, machine: gcp_nodes.Machine, zones: Zones) -> list[Match]:
    """Those that machines or their template name, else those that are open to whoever agrees."""
    graph = context.graph
    template = gcp_nodes.template_of(graph, pool)
    sources = [each for each in (pool, template) if isinstance(each, RecordedResource)]
    found = [
        each
        for source in sources
        for prop, *path in (("reservationAffinity",), ("nodeConfig", "reservationAffinity"))
        if get(source.inputs, prop, *path) is not None
        for named in [graph.referenced(source, prop, GCP)]
        for each in (named if isinstance(named, tuple) else ())
    ]
    if not found and machine.affinity not in ("ANY_RESERVATION", UNKNOWN):
        return []
    placed = any(
        get(each.inputs, key) not in (None, []) for each in sources for key in ("resourcePolicies", "placementPolicy")
    )
    matches: list[Match] = []
    for each in found or graph.of(GCP):
        only_named = flag(each.inputs.get("specificReservationRequired"))
        policies = get(each.inputs, "resourcePolicies") not in (None, [], {})
        if not found and (only_named is True or (policies and not placed)):
            continue
        held = gcp_nodes.reserved_machine(graph, each)
        aspects: list[tuple[str, object, object]] = [
            ("machine type", held.kind, machine.kind),
            ("CPU platform", held.platform, machine.platform),
        ]
        if isinstance(machine.kind, str):
            shape = context.catalog.shapes_by_type.get((cloud_of(GCP), machine.kind))
            if context.catalog.says(cloud_of(GCP), machine.kind, "attachable"):
                aspects.append(("accelerators", _accelerators(held), _accelerators(machine)))
            if shape is None or not shape.local_nvme_bytes:
                aspects.append(("local SSDs", held.interfaces, machine.interfaces))
        doubts = {"reservation": only_named, "reservation affinity": machine.affinity, "placement policy":
                  UNKNOWN if policies else ""}  # fmt: skip
        aspects += [(what, UNKNOWN, "") for what, value in doubts.items() if isinstance(value, Unknown)]
        matches += _match(pool, context, each, gcp_nodes.zone(graph, each), zones, named=bool(found), aspects=aspects)
    return matches


def _accelerators(machine: gcp_nodes.Machine) -> object:
    if isinstance(machine.attached, Unknown) or contains_unknown(machine.attached):
        return UNKNOWN
    return sorted(
        (str(gcp_nodes.last_part(text(get(each, "type")))), str(get(each, "count", default=1)))
        for each in machine.attached
    )


def azure(pool: RecordedResource, context: Context, *, machine: azure_nodes.Machine) -> list[Match]:
    """Those of the group that machines name, of their size and zone: Azure gives none that is not named."""
    matches: list[Match] = []
    for prop in ("capacityReservation", "virtualMachineProfile", "capacityReservationGroupID", "agentPoolProfiles"):
        if prop == "virtualMachineProfile" and get(pool.inputs, prop, "capacityReservation") is None:
            continue
        groups = context.graph.referenced(pool, prop, "azure-native:compute:CapacityReservationGroup")
        for group in groups if isinstance(groups, tuple) else ():
            held = context.graph.referring(group, AZURE, "capacityReservationGroupName")
            for each in held if isinstance(held, tuple) else ():
                zones = azure_nodes.zones(each.inputs.get("zones"))
                size = ("size", text(get(each.inputs, "sku", "name")), machine.kind)
                zone = zones if isinstance(zones, Unknown) else zones[0]
                matches += _match(pool, context, each, zone, machine.zones, named=True, aspects=[size])
    return matches
