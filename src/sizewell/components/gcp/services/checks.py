"""What the components of managed services refuse, each with its sentence; all faults are raised together."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from sizewell.components import limits
from sizewell.components.faults import Faults, check_labels
from sizewell.components.gcp.checks import check_region
from sizewell.components.gcp.services import documents as service_documents
from sizewell.components.gcp.services.args import (
    BudgetAlarmsArgs,
    CloudRunGpuArgs,
    FilesVolumeArgs,
    SharedStorageArgs,
    VertexEndpointArgs,
    VertexTrainingArgs,
)
from sizewell.sizing.catalog.records import Shape

_SECRET = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|\"private_key\"|AIza[\w-]{30,}|hf_[A-Za-z0-9]{30,}")
_SECRET_NAME = re.compile(r"(?i)(password|secret|token|api_?key)$")


def check_run(name: str, args: CloudRunGpuArgs) -> None:
    faults = Faults.of(name, args, CloudRunGpuArgs)
    region = check_region(faults, args)
    faults.must(
        not region or region in service_documents.RUN_REGIONS,
        "region",
        f"has no Cloud Run GPUs: {region}; those that have are {', '.join(service_documents.RUN_REGIONS)}",
    )
    low, high = args.get("instances_min", 0), args.get("instances_max")
    if faults.holds("instances_max"):
        faults.must(
            isinstance(low, int) and 0 <= low <= high,
            "instances_min",
            f"must be 0 to instances_max, got {low!r}; above 0 a GPU is billed around the clock",
        )
    if "cpus" in args:
        faults.must(args["cpus"] in (4, 8), "cpus", f"must be 4 or 8 with an L4, got {args['cpus']!r}")
    for number, member in enumerate(args.get("invokers", [])):
        at = f"invokers[{number}]"
        faults.must(
            member not in ("allUsers", "allAuthenticatedUsers"),
            at,
            f"must not be {member}: anyone could use the models at your cost",
        )
        faults.must(":" in member or member.startswith("all"), at, f"must be an IAM member, got {member!r}")
    _check_variables(faults, args)
    faults.done()


def check_endpoint(name: str, args: VertexEndpointArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, VertexEndpointArgs)
    check_region(faults, args)
    _check_machine(faults, args, shape, "on-demand" if not args.get("spot") else "spot")
    low, high = args.get("replicas_min"), args.get("replicas_max")
    faults.must(
        low != 0,
        "replicas_min",
        "must not be 0: Vertex AI keeps at least one machine of an endpoint",
        fix="use CloudRunGpu if there are often no requests, or take the endpoint down outside of working hours",
    )
    if low != 0 and faults.whole_number(args, "replicas_min", 1, 100):
        faults.whole_number(args, "replicas_max", 1, 100)
        faults.must(
            not isinstance(high, int) or high >= low,
            "replicas_max",
            f"must be at least replicas_min, got {high} and {low}",
        )
    faults.done()


def check_training(name: str, args: VertexTrainingArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, VertexTrainingArgs)
    check_region(faults, args)
    if faults.holds("capacity_mode"):
        _check_machine(faults, args, shape, args["capacity_mode"])
    _check_variables(faults, args)
    faults.done()


def check_storage(name: str, args: SharedStorageArgs) -> None:
    faults = Faults.of(name, args, SharedStorageArgs)
    region, zone = check_region(faults, args), str(args.get("zone", ""))
    faults.must(
        bool(re.fullmatch(r"[a-z]+-[a-z]+\d{1,2}-[a-z]", zone)) and (not region or zone[:-2] == region),
        "zone",
        f"must be one zone of {region or 'the region'}, as us-central1-a, got {zone!r}",
        fix="take the machines' zone",
    )
    if faults.holds("bytes_needed"):
        size = service_documents.capacity_gib(args["bytes_needed"])
        faults.must(
            size <= service_documents.LARGEST_GIB,
            "bytes_needed",
            f"needs {size} GiB; zonal Filestore ends at {service_documents.LARGEST_GIB} GiB",
            fix="keep the data in a bucket and read it through Cloud Storage FUSE",
        )
    machines = _check_range(faults, args.get("cidr"), "cidr")
    for number, value in enumerate(args.get("admins") or []):
        at = f"admins[{number}]"
        admin = _check_range(faults, value, at)
        if machines and admin:
            apart = not admin.overlaps(machines)
            faults.must(apart, at, f"overlaps cidr: {value} and {machines}; Filestore accepts each address once")
    faults.done()


def _check_range(faults: Faults, value: object, at: str) -> ipaddress.IPv4Network | None:
    try:
        network = ipaddress.IPv4Network(str(value))
    except ValueError:
        faults.add(at, f"must be an IPv4 range, got {value!r}")
        return None
    faults.must(network.is_private, at, f"must be a private range, got {value}: it limits who may mount")
    return network


def check_volume(name: str, args: FilesVolumeArgs) -> None:
    faults = Faults.of(name, args, FilesVolumeArgs)
    largest = service_documents.LARGEST_GIB
    faults.whole_number(args, "capacity_gib", 1024, largest, fix="the size of the file system, in GiB")
    check_labels(faults, args, "namespace", "claim")
    faults.done()


def check_budget(name: str, args: BudgetAlarmsArgs) -> None:
    faults = Faults.of(name, args, BudgetAlarmsArgs)
    check_region(faults, args)
    limits.check_budget(faults, args, emails_max=5, takes="a budget allows 5 notification channels", least_usd=1)
    faults.done()


def _check_machine(faults: Faults, args: Mapping[str, Any], shape: Shape | None, market: str) -> None:
    machine_type = args.get("machine_type")
    if shape is None:
        faults.add("machine_type", f"is not in the catalog: {machine_type!r}")
    elif service_documents.vertex_accelerator(shape.instance_type) is None:
        faults.add("machine_type", f"has no GPU that Vertex AI offers: {machine_type}")
    elif shape.markets:
        faults.must(
            market in shape.markets,
            "machine_type",
            f"{machine_type} is not sold as {market}; it is sold as {', '.join(sorted(shape.markets))}",
        )


def _check_variables(faults: Faults, args: Mapping[str, Any]) -> None:
    for key, value in (args.get("environment_variables") or {}).items():
        faults.must(
            not _SECRET.search(str(value)) and not _SECRET_NAME.search(key),
            f"environment_variables.{key}",
            "looks like a secret; anyone who can describe the service can read it",
            fix="keep it in Secret Manager and read it at start",
        )
