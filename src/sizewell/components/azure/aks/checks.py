"""What the AKS components refuse, each with its sentence; all faults of one component are raised together."""

import ipaddress
import re
from collections.abc import Mapping
from datetime import date

from sizewell.components.azure.aks.args import (
    AksClusterArgs,
    AksGpuPoolArgs,
    AksOperatorsArgs,
    LustreVolumeArgs,
)
from sizewell.components.azure.aks.charts import amd_driver_tag
from sizewell.components.azure.aks.node_config import driver_of, runtime_of
from sizewell.components.azure.checks import (
    check_capacity,
    check_gang,
    check_place,
    check_rack,
    check_reservation,
    check_windows_zone,
    is_guid,
)
from sizewell.components.azure.scale_sets import is_virtual
from sizewell.components.faults import (
    Faults,
    check_guardable,
    check_label,
    check_labels,
    check_machines,
    check_offered,
)
from sizewell.components.kubernetes_versions import check_version, default_version, following
from sizewell.components.limits import check_emails
from sizewell.components.machines import check_system_machine, offered_elsewhere, undriven_by
from sizewell.sizing.catalog.lifetimes import load, minor
from sizewell.sizing.catalog.records import Shape

DRIVERS = ("operator", "aks")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SYSTEM = r"Standard_[A-Z]+\d+(-\d+)?[a-z]*(_v\d+)?"
_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9.-]*\.[a-z]{2,}(/[a-z0-9._-]+)*")


def check_aks_cluster(name: str, args: AksClusterArgs) -> None:
    faults = Faults.of(name, args, AksClusterArgs)
    check_place(faults, args)
    check_version(faults, args, "aks", builds=True)
    if "system_size" in args:
        fix = "use an AksGpuPool for accelerators"
        check_system_machine(faults, "system_size", "azure", args["system_size"], spelled=_SYSTEM, fix=fix)
    for number, reserved in enumerate(args.get("reservations") or []):
        check_reservation(faults, reserved, f"reservations[{number}]")
    for number, group in enumerate(args.get("admin_groups") or []):
        faults.must(
            is_guid(group), f"admin_groups[{number}]", f"must be the object id of an Entra group, got {group!r}"
        )
    for number, value in enumerate(args.get("authorized_ranges") or []):
        _check_range(faults, value, f"authorized_ranges[{number}]")
    if args.get("authorized_ranges"):
        faults.must(
            "api_subnet_id" in args,
            "authorized_ranges",
            "is given without api_subnet_id: the machines would connect through a NAT gateway that is not in the list",
            fix="give the API server a subnet (Network with kubernetes: true makes one)",
        )
    machines, servers = args.get("subnet_id"), args.get("api_subnet_id")
    faults.must(
        not isinstance(servers, str) or servers != machines,
        "api_subnet_id",
        "must be a subnet of its own, got that of the machines: Azure delegates it to the API server",
        fix="give the API server a subnet (Network with kubernetes: true makes one)",
    )
    day = args.get("maintenance_day", "Sunday")
    faults.must(day in DAYS, "maintenance_day", f"must be one of {', '.join(DAYS)}, got {day!r}")
    _check_held(faults, args)
    if "secrets_key" in args:
        faults.must(
            "api_subnet_id" in args,
            "secrets_key",
            "is given without api_subnet_id: only an API server in the network can reach a private vault",
            fix="give the API server a subnet (Network with kubernetes: true makes one)",
        )
    faults.done()


def _check_held(faults: Faults, args: AksClusterArgs) -> None:
    held = args.get("upgrades_held")
    if held is None:
        return
    try:
        first, last = (date.fromisoformat(str(held.get(key))) for key in ("start", "end"))
    except ValueError:
        faults.add("upgrades_held", f"must be two dates start and end as 2026-11-26, got {held!r}")
        return
    faults.must(first <= last, "upgrades_held", f"must end after it starts, got {first} to {last}")
    faults.must(not load().passed(last), "upgrades_held.end", f"has passed: {last}", fix="name days ahead, or none")
    version = str(args.get("version", default_version("aks").version))
    row = load().versions("aks").get(minor(version))
    supported = row.supported_until if row is not None else ""
    faults.must(
        not supported or last.isoformat() <= supported,
        "upgrades_held.end",
        f"must be by {supported}, when Azure's support of Kubernetes {version} ends and it upgrades by itself, "
        f"got {last}",
    )


def _check_range(faults: Faults, value: object, at: str) -> None:
    try:
        network = ipaddress.ip_network(str(value))
    except ValueError:
        faults.add(at, f"must be an IPv4 range as 203.0.113.0/28, got {value!r}")
        return
    faults.must(
        network.version == 4 and network.prefixlen >= 16,
        at,
        f"must be an IPv4 range of /16 or narrower, got {value}: a wider one is close to the whole internet",
    )


def check_aks_pool(name: str, args: AksGpuPoolArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the size, None where the catalog does not know it."""
    faults = Faults.of(name, args, AksGpuPoolArgs)
    check_label(faults, name)
    check_place(faults, args)
    counted = check_machines(
        faults, args, disk_gib=(64, 2048), disk="the OS disk holds the driver and the container images"
    )
    check_windows_zone(faults, args)
    driver = args.get("driver", driver_of(shape, gang=args.get("gang", False)) if shape else "operator")
    faults.must(
        driver in DRIVERS,
        "driver",
        f"must be operator or aks, got {driver!r}: the driver is installed by exactly one of them",
    )
    if shape is None:
        faults.not_in_catalog("vm_size", args.get("vm_size"))
    else:
        check_guardable(faults, args, accelerated=bool(runtime_of(shape)))
        elsewhere = offered_elsewhere("azure", shape.instance_type, args.get("region"))
        check_offered(faults, args, shape.instance_type, elsewhere)
        check_rack(faults, args, shape)
        check_capacity(faults, args, shape)
        if args.get("gang") and counted and args["nodes_max"] > 1:
            check_gang(faults, args, shape)
            faults.must(
                driver == "operator",
                "driver",
                (
                    "must be operator for machines of one job: the driver that AKS installs lacks nvidia-peermem, so "
                    "GPUs would reach InfiniBand through the CPU"
                ),
                fix="leave driver out",
            )
        faults.must(
            driver == "operator" or runtime_of(shape) in ("cuda", ""),
            "driver",
            f"must be operator for {shape.instance_type}: AKS installs no driver for AMD GPUs",
        )
        faults.must(
            driver == "aks" or not is_virtual(shape),
            "driver",
            f"must be aks for {shape.instance_type}: a virtual GPU needs the GRID driver that AKS installs",
            fix="leave driver out",
        )
        undriven = undriven_by("aks", shape)
        faults.must(not undriven, "vm_size", f"is {shape.instance_type}: {undriven}", fix="take a GpuScaleSet")
    _check_spot(faults, args)
    _check_pods(faults, args)
    faults.done()


def _check_spot(faults: Faults, args: Mapping[str, object]) -> None:
    mode, eviction, price = args.get("capacity_mode"), args.get("eviction"), args.get("max_price")
    if mode != "spot":
        for key in ("eviction", "max_price"):
            faults.must(key not in args, key, f"is given, but capacity_mode is {mode}: only spot machines are evicted")
        return
    faults.must(
        eviction in (None, "Delete"),
        "eviction",
        f"must be Delete, got {eviction!r}: a deallocated machine keeps its disk and its quota",
    )
    faults.must(
        price in (None, -1, -1.0),
        "max_price",
        (
            f"must be -1, got {price!r}: a limit evicts machines when the spot price rises; the on-demand price is the "
            "upper limit anyway"
        ),
    )


def _check_pods(faults: Faults, args: Mapping[str, object]) -> None:
    """What the workload's pods need: a service account, an issuer for the writer, metrics for the guard."""
    check_labels(faults, args, "namespace", "service_account")
    faults.must(
        "writer" not in args or "oidc_issuer_url" in args,
        "oidc_issuer_url",
        "is missing: pods need the issuer of the cluster's tokens to become the writer",
        fix="take AksCluster.oidc_issuer_url",
    )
    faults.must(
        args.get("guard") is None or "metrics" in args,
        "metrics",
        "is missing: the guard reads the GPU exporter's metrics and would have no data",
        fix="take AksCluster.metrics_workspace_id and metrics_query_url, or drop the guard",
    )
    check_emails(faults, args, "notify")


def check_operators(name: str, args: AksOperatorsArgs) -> None:
    faults = Faults.of(name, args, AksOperatorsArgs)
    check_version(faults, args, "aks")
    runtimes = args.get("runtimes") or []
    faults.must(bool(runtimes) or args.get("lustre") is True, "runtimes", "is empty; name cuda, rocm or both")
    for number, runtime in enumerate(runtimes):
        faults.must(runtime in ("cuda", "rocm"), f"runtimes[{number}]", f"must be cuda or rocm, got {runtime!r}")
    driver = args.get("driver", "operator")
    faults.must(
        driver in DRIVERS,
        "driver",
        f"must be operator or aks, got {driver!r}: the driver is installed by exactly one of them",
    )
    faults.must(
        driver != "aks" or not args.get("infiniband"),
        "driver",
        "must be operator with infiniband: the driver that AKS installs lacks nvidia-peermem",
    )
    if "rocm" in runtimes:
        image, version = args.get("amd_driver_image"), args.get("version")
        known = isinstance(version, str) and faults.holds("version")
        ubuntu = (following("aks", str(version)) if known else default_version("aks")).ubuntu
        faults.must(
            bool(_REPOSITORY.fullmatch(str(image))),
            "amd_driver_image",
            f"must be a repository that the cluster may push to, got {image!r}: AMD's operator builds its driver there",
            fix="name one (sizewell:amdDriverImage) and push the driver there before, since a closed network reaches "
            f"none of AMD's packages: {amd_driver_tag('myregistry.azurecr.io/amdgpu-driver', ubuntu=ubuntu)}; "
            "or use a scale set",
        )
    registry = args.get("registry", "nvcr.io")
    faults.must(
        bool(_REPOSITORY.fullmatch(str(registry))),
        "registry",
        f"must be a registry, with a path or without, got {registry!r}",
    )
    faults.done()


def check_volume(name: str, args: LustreVolumeArgs) -> None:
    faults = Faults.of(name, args, LustreVolumeArgs)
    faults.whole_number(args, "capacity_gib", 4096, 2**20, fix="the size of the file system, in GiB")
    check_labels(faults, args, "namespace", "claim")
    faults.done()
