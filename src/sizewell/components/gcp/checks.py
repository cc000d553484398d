"""What Google Cloud components refuse, each with its sentence; all faults of one component are raised together."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from sizewell.components.faults import (
    Faults,
    check_guardable,
    check_label,
    check_lasting,
    check_machines,
    check_market,
    check_no_other_way,
    check_offered,
)
from sizewell.components.gcp import node_pools
from sizewell.components.gcp.args import (
    FABRIC_NETWORKS,
    AcceleratorPoolArgs,
    CheckpointStoreArgs,
    GkeClusterArgs,
    GpuDirectArgs,
    NetworkArgs,
)
from sizewell.components.machines import offered_elsewhere, zones_with
from sizewell.components.places import Reference, check_known, check_references, check_zone
from sizewell.sizing.catalog.lifetimes import load
from sizewell.sizing.catalog.records import Shape, Slice

CAPACITY_MODES = ("on-demand", "reservation", "spot", "flex-start", "queued")
_REGION = re.compile(r"[a-z]+-[a-z]+\d{1,2}")
_RESERVATION = re.compile(r"(projects/[\w-]+/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_URL = r"(https://[\w.]+/compute/\w+/)?"
_NAME = r"[a-z]([-a-z0-9]*[a-z0-9])?"
REFERENCES = {
    "kms_key_name": Reference(  # a multi-region, as us or global, has no number
        pattern=r"projects/[^/]+/locations/((?P<region>[a-z]+-[a-z]+\d+)|[a-z0-9]+)/keyRings/[^/]+/cryptoKeys/[^/]+",
        allowed="a key's name, as projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY",
    ),
    "network": Reference(
        pattern=rf"{_URL}projects/[^/]+/global/networks/[^/]+|{_NAME}",
        allowed="a network's name, id or self link, as projects/PROJECT/global/networks/NAME",
    ),
    "subnetwork": Reference(
        pattern=rf"{_URL}projects/[^/]+/regions/(?P<region>[^/]+)/subnetworks/[^/]+|{_NAME}",
        allowed="a subnetwork's name, id or self link, as projects/PROJECT/regions/REGION/subnetworks/NAME",
    ),
}


def check_network(name: str, args: NetworkArgs) -> None:
    faults = Faults.of(name, args, NetworkArgs)
    check_region(faults, args)
    ranges = {"cidr": "10.80.0.0/16", "pods_cidr": "10.96.0.0/12", "services_cidr": "10.112.0.0/20"}
    networks = {}
    for key, default in ranges.items():
        value: Any = args.get(key, default)
        try:
            networks[key] = ipaddress.IPv4Network(value)
        except ValueError:
            faults.add(key, f"must be an IPv4 range such as {default}, got {value!r}")
    pairs = [("cidr", "pods_cidr"), ("cidr", "services_cidr"), ("pods_cidr", "services_cidr")]
    for first, second in pairs:
        if first in networks and second in networks:
            faults.must(
                not networks[first].overlaps(networks[second]),
                second,
                f"overlaps {first}: {networks[second]} and {networks[first]}",
            )
    if args.get("fabric") == "gpudirect-rdma":
        zone = str(args.get("fabric_zone", ""))
        faults.must(
            zone.startswith(f"{args.get('region')}-"),
            "fabric_zone",
            f"must be a zone of {args.get('region')} for an RDMA network, got {zone!r}",
        )
        if faults.holds("region", "fabric_zone"):
            check_zone(faults, "gcp", str(args["region"]), zone, "fabric_zone", short=zone[-1])
    faults.done()


def check_gpudirect(name: str, args: GpuDirectArgs) -> None:
    faults = Faults.of(name, args, GpuDirectArgs)
    if faults.holds("fabric"):
        count = sum(FABRIC_NETWORKS[args["fabric"]])
        for key, names in (("networks", args.get("networks")), ("subnetworks", args.get("subnetworks"))):
            if names is not None and not isinstance(names, list):
                continue  # an output: how many there are is known when they are
            given = len(names or ())
            faults.must(
                given == count,
                key,
                f"must be {count} for {args['fabric']}, one for each extra interface, got {given}",
            )
    faults.done()


def check_cluster(name: str, args: GkeClusterArgs) -> None:
    faults = Faults.of(name, args, GkeClusterArgs)
    check_place(faults, args)
    for number, cidr in enumerate(args.get("authorized_cidrs", [])):
        try:
            faults.must(
                ipaddress.IPv4Network(cidr).prefixlen >= 8,
                f"authorized_cidrs[{number}]",
                f"opens the control plane to the internet: {cidr}",
            )
        except ValueError:
            faults.add(f"authorized_cidrs[{number}]", f"must be an IPv4 range, got {cidr!r}")
    _check_exclusion(faults, args)
    faults.done()


def _check_exclusion(faults: Faults, args: GkeClusterArgs) -> None:
    """The day from which upgrades wait, which they do until the end of support of the version that runs then."""
    stated = args.get("maintenance_from")
    if stated is None:
        return
    try:
        day = date.fromisoformat(str(stated))
    except ValueError:
        faults.add("maintenance_from", f"must be an ISO date, as 2026-11-26, got {stated!r}")
        return
    last = max(row.supported_until for row in load().versions("gke").values())
    faults.must(
        day.isoformat() < last,
        "maintenance_from",
        f"must be before {last}, when support of the newest known version of GKE ends, got {stated}",
        fix="name the day on which the jobs begin; or run `sizewell ages refresh` where GKE has a newer version",
    )


def check_pool(name: str, args: AcceleratorPoolArgs, shape: Shape | None, slices: Sequence[Slice]) -> None:
    """`shape` is the catalog's record of the machine type, `slices` its legal TPU slices on that type."""
    faults = Faults.of(name, args, AcceleratorPoolArgs)
    check_label(faults, name)
    check_place(faults, args)
    counted = check_machines(
        faults, args, disk_gib=(50, 65536), disk="the boot disk holds the driver and the container image"
    )
    machine_type = str(args.get("machine_type"))
    if shape is None and not slices:
        faults.not_in_catalog("machine_type", machine_type)
    elif shape is not None and "rack" in shape.traits:
        faults.add(
            "machine_type",
            (
                f"{machine_type} is an Arm machine of an NVLink rack: it needs a workload policy of the whole rack, "
                "images for Arm and NVIDIA's driver for dynamic resource allocation, which this component does "
                "not provide"
            ),
            fix="choose a4-highgpu-8g or a3-ultragpu-8g",
        )
    elif counted:
        check_offered(faults, args, machine_type, offered_elsewhere("gcp", machine_type, args.get("region")))
        _check_capacity(faults, args, shape)
        _check_zones(faults, args)
        if node_pools.is_tpu(machine_type):
            _check_slice(faults, args, slices)
        else:
            _check_gpus(faults, args, shape)
    faults.done()


def check_checkpoint_store(name: str, args: CheckpointStoreArgs) -> None:
    faults = Faults.of(name, args, CheckpointStoreArgs)
    check_lasting(faults, args)
    check_region(faults, args)
    faults.done()


def check_place(faults: Faults, args: Mapping[str, object]) -> None:
    """The region's form, and that every zone lies in it."""
    region = check_region(faults, args)
    zones = args.get("zones")
    if not isinstance(zones, list) or not zones:
        faults.add("zones", "is empty; name at least one, as us-central1-a")
        return
    faults.must(len(set(zones)) == len(zones), "zones", f"names a zone twice: {', '.join(map(str, zones))}")
    for number, zone in enumerate(zones):
        if not re.fullmatch(r"[a-z]+-[a-z]+\d{1,2}-[a-z]", str(zone)):
            faults.add(f"zones[{number}]", f"must be a zone as us-central1-a, got {zone!r}")
        elif region:
            at = f"zones[{number}]"
            if faults.must(str(zone)[:-2] == region, at, f"is in a region other than {region}: {zone!r}"):
                check_zone(faults, "gcp", region, str(zone), at, short=str(zone)[-1])


def check_region(faults: Faults, args: Mapping[str, object]) -> str:
    region = str(args.get("region", ""))
    right = faults.must(
        bool(_REGION.fullmatch(region)), "region", f"must be a Google Cloud region such as us-central1, got {region!r}"
    ) and check_known(faults, "gcp", region, "Google Cloud")
    check_references(faults, args, REFERENCES, region if right else "")
    _check_bucket(faults, args.get("bucket"), "bucket")
    writer = args.get("writer")
    if isinstance(writer, Mapping):
        _check_bucket(faults, writer.get("bucket"), "writer.bucket")
    return region if right else ""


def _check_bucket(faults: Faults, bucket: object, at: str) -> None:
    """What Cloud Storage allows in the name of a bucket (cloud.google.com/storage/docs/buckets#naming); an output is
    known when it is there.
    """
    if not isinstance(bucket, str) or not faults.holds(at):
        return
    faults.must(
        re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", bucket) is not None,
        at,
        f"must be the name of a bucket (3 to 63 of a-z, 0-9, - and _; more with dots), got {bucket!r}",
    ) and faults.must(
        not bucket.startswith("goog") and re.search("g[o0]{2}g[l1]e", bucket) is None,
        at,
        f"must neither begin with goog nor contain google, or what is close to it, got {bucket!r}: Google refuses it",
    )


def _check_capacity(faults: Faults, args: AcceleratorPoolArgs, shape: Shape | None) -> None:
    """Exactly one way to get machines, with what that way needs and nothing of the others."""
    if not faults.one_of(args, "capacity_mode", CAPACITY_MODES):
        return
    mode, reservation = args["capacity_mode"], args.get("reservation")
    if mode == "reservation":
        faults.must(
            bool(_RESERVATION.fullmatch(str(reservation or ""))),
            "reservation",
            f"must be exactly one reservation's name, got {reservation!r}",
        )
        faults.must(
            len(args.get("zones") or []) == 1,
            "zones",
            f"must be exactly one with a reservation, got {len(args.get('zones') or [])}: a reservation is in one zone",
        )
    else:
        check_no_other_way(faults, args, "reservation")
    if mode in ("flex-start", "queued"):
        faults.must(
            args["nodes_min"] == 0,
            "nodes_min",
            f"must be 0 with {mode}, got {args['nodes_min']}: machines start when the queue admits them",
        )
        hours = args.get("max_run_hours", 168)
        faults.must(
            isinstance(hours, int) and 1 <= hours <= 168,
            "max_run_hours",
            f"must be 1 to 168 with {mode}, got {hours!r}: such machines run for at most 7 days",
        )
    else:
        faults.must(
            "max_run_hours" not in args, "max_run_hours", f"is only for flex-start and queued, capacity_mode is {mode}"
        )
    if mode == "queued":
        faults.must(
            args["nodes_initial"] == 0,
            "nodes_initial",
            f"must be 0 with queued, got {args['nodes_initial']}: the queue admits the machines, not the pool",
        )
    check_market(faults, args, "machine_type", shape)


def _check_zones(faults: Faults, args: AcceleratorPoolArgs) -> None:
    """Google Cloud counts machines per zone: what does not divide would be rounded to another number."""
    zones = len(args.get("zones") or []) or 1
    fixed = args["nodes_min"] == args["nodes_max"]
    for key in ("nodes_initial", "nodes_max") if fixed else ("nodes_initial",):
        value = args[key]
        faults.must(value % zones == 0, key, f"must divide by the {zones} zones, got {value}: zones get equal numbers")
    if args.get("reservation") is not None:  # Google puts what is reserved where it was agreed
        return
    machine, region = args["machine_type"], args.get("region")
    offering = zones_with("gcp", machine, region)
    for number, zone in enumerate(args.get("zones") or []):
        faults.must(
            not offering or zone in offering or not str(zone).startswith(f"{region}-"),
            f"zones[{number}]",
            f"does not offer {machine}, as far as is known: {zone}",
            fix=f"choose {' or '.join(offering)}, or state in catalog/zones.csv that {zone} has it",
        )


def _check_slice(faults: Faults, args: AcceleratorPoolArgs, slices: Sequence[Slice]) -> None:
    """A TPU topology that exists on the machine type, with exactly the machines it takes."""
    machine_type, topology = args["machine_type"], args.get("tpu_topology")
    by_topology = {piece.topology: piece for piece in slices}
    if not topology:
        single = [piece for piece in slices if not piece.multi_host]
        faults.must(
            bool(single),
            "tpu_topology",
            f"is missing: {machine_type} has no slice of one machine; "
            f"allowed are {', '.join(sorted(by_topology, key=_chips))}",
        )
        return
    chosen = by_topology.get(topology)
    if chosen is None:
        faults.add(
            "tpu_topology",
            f"does not exist on {machine_type}: {topology}; "
            f"allowed are {', '.join(sorted(by_topology, key=_chips)[:12])}",
        )
        return
    if not chosen.multi_host:
        return
    faults.must(len(args.get("zones") or []) == 1, "zones", f"must be exactly one for a slice of {chosen.vms} machines")
    for key in ("nodes_min", "nodes_initial", "nodes_max"):
        value = args[key]
        faults.must(
            value % chosen.vms == 0 and (value > 0 or key != "nodes_max"),
            key,
            f"must be a multiple of {chosen.vms} for {topology}: a slice has all of its machines or none, got {value}",
        )


def _check_gpus(faults: Faults, args: AcceleratorPoolArgs, shape: Shape | None) -> None:
    machine_type = args["machine_type"]
    faults.must(
        "tpu_topology" not in args, "tpu_topology", f"is only for TPU machines, {machine_type} has GPUs", fix="drop it"
    )
    check_guardable(faults, args, accelerated=shape is None or bool(shape.accelerators))
    if shape is not None and shape.accelerators:
        faults.must(
            node_pools.gpu_type(machine_type) is not None,
            "machine_type",
            f"has accelerators that are not supported in GKE pools: {machine_type}",
        )
    if args.get("gang"):
        faults.must(
            len(args.get("zones") or []) == 1,
            "zones",
            f"must be exactly one for machines of one job, got {len(args.get('zones') or [])}: "
            "compact placement does not cross zones",
        )
    networks, subnetworks = args.get("fabric_networks", []), args.get("fabric_subnetworks", [])
    if not isinstance(networks, list) or not isinstance(subnetworks, list):
        return  # outputs: how many there are is known when they are
    faults.must(
        len(networks) == len(subnetworks),
        "fabric_subnetworks",
        f"must be as many as fabric_networks, got {len(subnetworks)} and {len(networks)}",
    )
    if networks and shape is not None:
        plain, rdma = FABRIC_NETWORKS.get(shape.fabric, (0, 0))
        faults.must(
            len(networks) == plain + rdma,
            "fabric_networks",
            f"must be {plain + rdma} for {machine_type} ({shape.fabric or 'no GPUDirect'}), got {len(networks)}",
        )


def _chips(topology: str) -> tuple[int, str]:
    product = 1
    for side in topology.split("x"):
        product *= int(side)
    return product, topology
