"""What a stack bills beside its machines and data: network, cluster, keys, alarms, scheduled jobs.

Each cloud's parts follow from what its components build for a decision (`components/<cloud>`); a test holds every
stack's decision against the price of its preview, to the cent. Not here, because no decision knows it: what a stack's
configuration changes (an adopted network, other zones) and what bills by a use that nobody stated (logs, traffic).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.billing import costing
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.records.decision import Decision

# Services that machines without a way out reach over an interface endpoint, each billed by the hour and zone.
MACHINE_ENDPOINTS: Final = ("ssm", "ssmmessages", "monitoring", "sts", "ec2", "ecr.api", "ecr.dkr")
KUBERNETES_ENDPOINTS: Final = ("eks", "eks-auth", "autoscaling", "elasticloadbalancing", "logs")
SAGEMAKER_ENDPOINTS: Final = ("sagemaker.api", "sagemaker.runtime", "logs")
HYPERPOD_ENDPOINTS: Final = (*KUBERNETES_ENDPOINTS, "sagemaker.api")
ON_EKS: Final = ("kubernetes", "hyperpod")  # targets whose machines an EKS cluster schedules
WITH_CLUSTER: Final = ("kubernetes", "ray")  # schedulers that run in a cluster of our own
AML_PRIVATE_ZONES: Final = 4  # of an Azure ML workspace: files, registry, workspace, notebooks
AML_PRIVATE_ENDPOINTS: Final = 4  # blob and files, registry, workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Footing:
    """What of a workload decides which standing parts its stack has."""

    name: str = ""  # of the workload, where its lines are shown
    kind: str
    cloud: str
    region: str
    environment: str
    target: str  # machines | fleet | kubernetes | sagemaker | hyperpod | vertex | cloud-run | azureml
    zones: tuple[str, ...] = ()  # (): the component takes the region's first
    two_zones: bool = False  # spot machines that work alone stand in two zones
    windows: int = 0  # of working hours
    guarded: bool = True
    stops: bool = True  # the guard takes the machines to zero; else it only tells
    checkpoints: bool = False
    files: bool = False  # data in a file system of its own
    waits: bool = False  # requests wait in a queue
    from_zero: bool = False  # there may be no machine at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One line of it: so much of a fee, or of a machine type on demand."""

    component: str
    what: str
    unit: str
    quantity: Interval
    key: str = ""  # of a fee
    machine: str = ""  # instance type, where it is one
    how: str = ""


def target_of(managed: str, scheduler: str, *, cloud: str, fleet: bool) -> str:
    """Who runs the machines, as the components tell them apart."""
    if managed != "raw":
        return managed
    if scheduler in WITH_CLUSTER or cloud == "gcp":
        return "kubernetes"
    return "fleet" if fleet else "machines"


def pulls_from_a_mirror(decision: Decision) -> bool:
    """Whether machines of a decision run containers in a network of ours that has no way out: EKS clusters on AWS."""
    pools = [(workload, pool) for workload in decision.workloads for pool in workload.pools]
    targets = [
        target_of(pool.managed, workload.scheduler, cloud=pool.cloud, fleet=pool.provision == "fleet")
        for workload, pool in pools
        if pool.cloud == "aws"
    ]
    return not {*ON_EKS}.isdisjoint(targets)


def parts(footings: Sequence[Footing], *, ends: bool = False) -> tuple[Part, ...]:
    """Every standing part of the footings of one region; `ends`: a hard end stands in a stack of its own."""
    if not footings:
        return ()
    make = {"aws": _aws, "gcp": _gcp, "azure": _azure}.get(footings[0].cloud)
    return make(footings, ends=ends) if make else ()


def lines(found: Sequence[Part], catalog: Catalog, *, cloud: str, region: str, on: date) -> tuple[LineItem, ...]:
    """The parts as lines of a bill."""
    return tuple(
        costing.machine_hours(
            catalog,
            component=part.component,
            cloud=cloud,
            instance_type=part.machine,
            region=region,
            market="on-demand",
            on=on,
            hours=part.quantity,
        )
        if part.machine
        else costing.fee(
            catalog,
            component=part.component,
            what=part.what,
            cloud=cloud,
            key=part.key,
            region=region,
            on=on,
            unit=part.unit,
            quantity=part.quantity,
            how=part.how,
        )
        for part in found
    )


def _hours(component: str, what: str, key: str, count: int = 1) -> Part:
    quantity = Interval.exactly(costing.amount(count * HOURS_PER_MONTH))
    how = "around the clock, also at zero machines"
    return Part(component=component, what=what, unit="hour", key=key, quantity=quantity, how=how)


def _monthly(component: str, what: str, key: str, count: int = 1) -> Part:
    return Part(component=component, what=what, unit="month", key=key, quantity=Interval.exactly(Decimal(count)))


def _cluster(cloud: str, region: str, environment: str) -> list[Part]:
    """Control plane, system machines and their disks."""
    component = f"cluster-{region}"
    key = costing.CONTROL_PLANE[cloud]
    found = [_hours(component, f"cluster control plane, {key}", key)]
    pool = costing.system_pool(cloud, environment)
    if pool is None:
        return found
    hours = costing.node_hours(nodes_min=pool.nodes_min, nodes_initial=pool.nodes_min, nodes_max=pool.nodes_max)
    found.append(
        Part(
            component=component,
            what=f"{pool.instance_type}, on-demand, {region}",
            unit="machine-hour",
            machine=pool.instance_type,
            quantity=hours,
        )
    )
    disk = costing.BOOT_DISK.get(cloud, "")
    if cloud == "azure":
        tier = costing.premium_disk(Decimal(pool.gigabytes_each))
        what = f"OS disks of {pool.gigabytes_each} GB, premium SSD {tier.rpartition('.')[2].upper()}"
        months = costing.gigabyte_months(Decimal(1), hours)
        found.append(Part(component=component, what=what, unit="disk-month", key=tier, quantity=months))
    elif disk:
        gigabytes = costing.gigabyte_months(Decimal(pool.gigabytes_each), hours)
        what = f"boot disks of {pool.gigabytes_each} GB, {disk}"
        found.append(Part(component=component, what=what, unit="GB-month", key=disk, quantity=gigabytes))
    return found


# AWS ---------------------------------------------------------------------------------------------------------------


def endpoint_services(targets: Sequence[str]) -> tuple[str, ...]:
    """Interface endpoints that pools need: those of all machines, and those of who runs them."""
    wanted = [*MACHINE_ENDPOINTS]
    wanted += KUBERNETES_ENDPOINTS if "kubernetes" in targets else ()
    wanted += HYPERPOD_ENDPOINTS if "hyperpod" in targets else ()
    wanted += SAGEMAKER_ENDPOINTS if "sagemaker" in targets else ()
    return tuple(dict.fromkeys(wanted))


def is_local_zone(zone: str) -> bool:
    """Whether an AWS zone, by name or id, is a Local Zone: machines go there, interface endpoints cannot.

    >>> is_local_zone("use1-atl2-az1"), is_local_zone("us-east-1-atl-2a"), is_local_zone("us-east-1a")
    (True, True, False)
    """
    return zone.count("-") == (2 if "-az" in zone else 4)


def aws_zones(footings: Sequence[Footing]) -> tuple[str, ...]:
    """The zones of a region's network, as its program takes them; two where Kubernetes or SageMaker wants two."""
    region = footings[0].region
    found: list[str] = []
    for footing in footings:
        letters = "ab" if footing.two_zones else "a"
        found += footing.zones or tuple(f"{region}{letter}" for letter in letters)
    zones = list(dict.fromkeys(found))
    spread = {footing.target for footing in footings} & {*ON_EKS, "sagemaker"}
    if spread:  # neither a control plane nor SageMaker stands in a Local Zone
        regular = sum(not is_local_zone(zone) for zone in zones)
        spare = [f"{region}{letter}" for letter in "abc" if f"{region}{letter}" not in zones]
        zones += spare[: max(0, 2 - regular)]
    return tuple(zones)


def _aws(footings: Sequence[Footing], *, ends: bool) -> tuple[Part, ...]:
    first, targets = footings[0], [footing.target for footing in footings]
    network = f"network-{first.region}"
    reached = max(1, sum(not is_local_zone(zone) for zone in aws_zones(footings)))
    places = reached if first.environment == "prod" else 1
    services = len(endpoint_services(targets))
    found = [
        _monthly(network, "encryption key", "kms.key"),
        _hours(network, f"{services} interface endpoints", "vpc_endpoint.hour", services * places),
    ]
    if not {*ON_EKS}.isdisjoint(targets):
        found += _cluster("aws", first.region, first.environment)
    for footing in footings:
        alarms = (2 if footing.stops else 1) if footing.guarded else 0
        if alarms > 1 and (footing.target == "fleet" or (footing.target == "kubernetes" and footing.from_zero)):
            alarms += 1  # of stops that could not be started: an automation does what alarms alone cannot
        if footing.target in ("machines", "fleet", *ON_EKS) and alarms:
            found.append(
                _monthly(footing.name, f"{alarms} alarms" if alarms > 1 else "alarm", "cloudwatch.alarm", alarms)
            )
        if footing.target == "sagemaker" and footing.kind == "inference" and footing.from_zero:
            found.append(_monthly(footing.name, "alarm", "cloudwatch.alarm"))
        if footing.target in ("fleet", *ON_EKS) or footing.waits:
            found.append(_monthly(footing.name, "encryption key of notices", "kms.key"))
        if footing.checkpoints:
            found.append(_monthly(footing.name, "encryption key of checkpoints", "kms.key"))
    if ends:
        found.append(_monthly(f"end-{first.region}", "encryption key", "kms.key"))
        found.append(_monthly(f"end-{first.region}", "alarm", "cloudwatch.alarm"))
    return tuple(found)


# Google Cloud ------------------------------------------------------------------------------------------------------


def _gcp(footings: Sequence[Footing], *, ends: bool) -> tuple[Part, ...]:
    first = footings[0]
    found: list[Part] = []
    if any(footing.target == "kubernetes" for footing in footings):
        found.append(_monthly(f"cluster-{first.region}", "encryption key", "kms.key"))
        found += _cluster("gcp", first.region, first.environment)
    for footing in footings:
        if footing.target in ("cloud-run", "vertex") and not (
            footing.target == "vertex" and footing.kind == "inference"
        ):
            found.append(_monthly(footing.name, "encryption key", "kms.key"))
        jobs = 2 * footing.windows + (footing.guarded and footing.stops)  # two edges of each window, a look at idleness
        if footing.target == "kubernetes" and jobs:
            what = f"{jobs} scheduled jobs" if jobs > 1 else "scheduled job"
            found.append(_monthly(footing.name, what, "scheduler.job", jobs))
        if footing.files:
            found.append(_monthly(footing.name, "encryption key of files", "kms.key"))
        if footing.checkpoints:
            found.append(_monthly(footing.name, "encryption key of checkpoints", "kms.key"))
    if ends:
        found.append(_monthly(f"end-{first.region}", "scheduled job", "scheduler.job"))
    return tuple(found)


# Azure -------------------------------------------------------------------------------------------------------------


def _azure(footings: Sequence[Footing], *, ends: bool) -> tuple[Part, ...]:
    del ends
    first, targets = footings[0], {footing.target for footing in footings}
    network, workspace = f"network-{first.region}", f"ml-{first.region}"
    zones = 1 + (AML_PRIVATE_ZONES if "azureml" in targets else 0)
    found = [
        _hours(network, "public IPv4 address", "ipv4.hour"),
        _monthly(network, f"{zones} private DNS zones" if zones > 1 else "private DNS zone", "private_dns.zone", zones),
        _hours(network, "NAT gateway", "nat.hour"),
    ]
    if "kubernetes" in targets:
        found += _cluster("azure", first.region, first.environment)
    if "azureml" in targets:
        found.append(_hours(workspace, "container registry, Premium", "acr.premium"))
        what = f"{AML_PRIVATE_ENDPOINTS} private endpoints"
        found.append(_hours(workspace, what, "private_endpoint.hour", AML_PRIVATE_ENDPOINTS))
    found += [
        _hours(footing.name, "private endpoint of checkpoints", "private_endpoint.hour")
        for footing in footings
        if footing.checkpoints
    ]
    return tuple(found)
