"""What a stack is billed beside its machines and data: network, cluster, keys, alarms, scheduled jobs.

Each cloud's parts follow from what its components build for a decision (`components/<cloud>`); a test holds what every
stack's decision bills against what its resources do. Not here, because no decision knows it: what a stack's
configuration changes (an adopted network, other zones) and what is billed by a use that nobody stated (logs, traffic).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Protocol

from sizewell.sizing.billing import charges, costing
from sizewell.sizing.billing.charges import Charge, around_the_clock, monthly
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.providers.cloud import PerCloud

if TYPE_CHECKING:
    from sizewell.sizing.records.decision import Decision

# Services that machines without internet access reach over an interface endpoint, each billed by the hour and zone.
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


def target_of(managed: str, scheduler: str, *, cloud: str, fleet: bool) -> str:
    """Who runs the machines, as the components tell them apart."""
    if managed != "raw":
        return managed
    if scheduler in WITH_CLUSTER or (cloud in CLOUDS and CLOUDS[cloud].cluster.always):
        return "kubernetes"
    return "fleet" if fleet else "machines"


def pulls_from_a_mirror(decision: Decision) -> bool:
    """Whether machines of a decision run containers in a network of ours that has no internet access: EKS clusters on
    AWS.
    """
    pools = [(workload, pool) for workload in decision.workloads for pool in workload.pools]
    targets = [
        target_of(pool.managed, workload.scheduler, cloud=pool.cloud, fleet=pool.provision == "fleet")
        for workload, pool in pools
        if pool.cloud in CLOUDS and CLOUDS[pool.cloud].cluster.pulls_from_a_mirror
    ]
    return not {*ON_EKS}.isdisjoint(targets)


def parts(footings: Sequence[Footing], *, ends: bool = False) -> tuple[Charge, ...]:
    """Every standing part of the footings of one region; `ends`: a hard end stands in a stack of its own."""
    if not footings:
        return ()
    make = PARTS.get(footings[0].cloud)
    return make(footings, ends=ends) if make else ()


def _cluster(cloud: str, region: str, environment: str) -> list[Charge]:
    """Control plane, system machines and their disks."""
    component, fees = f"cluster-{region}", CLOUDS[cloud].fees
    cluster = [charges.control_plane(component, fees.control_plane)]
    pool = costing.system_pool(cloud, environment)
    if pool is None:
        return cluster
    hours = costing.node_hours(nodes_min=pool.nodes_min, nodes_initial=pool.nodes_min, nodes_max=pool.nodes_max)
    cluster.append(charges.machines(component, pool.instance_type, hours))
    gigabytes = Decimal(pool.gigabytes_each)
    disks = charges.disks(component, gigabytes, fees.system_disk, hours, what=fees.system_disk_noun)
    return [*cluster, disks._replace(how="")]  # decisions that stand have no words here


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
    named: list[str] = []
    for footing in footings:
        letters = "ab" if footing.two_zones else "a"
        named += footing.zones or tuple(f"{region}{letter}" for letter in letters)
    zones = list(dict.fromkeys(named))
    spread = {footing.target for footing in footings} & {*ON_EKS, "sagemaker"}
    if spread:  # neither a control plane nor SageMaker stands in a Local Zone
        regular = sum(not is_local_zone(zone) for zone in zones)
        spare = [f"{region}{letter}" for letter in "abc" if f"{region}{letter}" not in zones]
        zones += spare[: max(0, 2 - regular)]
    return tuple(zones)


def _aws(footings: Sequence[Footing], *, ends: bool) -> tuple[Charge, ...]:
    first, targets = footings[0], [footing.target for footing in footings]
    network = f"network-{first.region}"
    reached = max(1, sum(not is_local_zone(zone) for zone in aws_zones(footings)))
    places = reached if first.environment == "prod" else 1
    services = len(endpoint_services(targets))
    bill = [
        monthly(network, "encryption key", "kms.key"),
        around_the_clock(network, f"{services} interface endpoints", "vpc_endpoint.hour", services * places),
    ]
    if not {*ON_EKS}.isdisjoint(targets):
        bill += _cluster(first.cloud, first.region, first.environment)
    for footing in footings:
        alarms = (2 if footing.stops else 1) if footing.guarded else 0
        if alarms > 1 and footing.target in ("machines", "fleet", "kubernetes"):
            alarms += 1  # of stops that could not be started: an automation does what alarms alone cannot
        if footing.target in ("machines", "fleet", *ON_EKS) and alarms:
            bill.append(
                monthly(footing.name, f"{alarms} alarms" if alarms > 1 else "alarm", "cloudwatch.alarm", alarms)
            )
        if footing.target == "sagemaker" and footing.kind == "inference" and footing.from_zero:
            bill.append(monthly(footing.name, "alarm", "cloudwatch.alarm"))
        if footing.target == "fleet" or (footing.target in ON_EKS and footing.guarded) or footing.waits:
            bill.append(monthly(footing.name, "encryption key of notices", "kms.key"))
        if footing.checkpoints:
            bill.append(monthly(footing.name, "encryption key of checkpoints", "kms.key"))
    if ends:
        bill.append(monthly(f"end-{first.region}", "encryption key", "kms.key"))
        bill.append(monthly(f"end-{first.region}", "alarm", "cloudwatch.alarm"))
    return tuple(bill)


# Google Cloud ------------------------------------------------------------------------------------------------------


def _gcp(footings: Sequence[Footing], *, ends: bool) -> tuple[Charge, ...]:
    first = footings[0]
    bill: list[Charge] = []
    if any(footing.target == "kubernetes" for footing in footings):
        bill.append(monthly(f"cluster-{first.region}", "encryption key", "kms.key"))
        bill += _cluster(first.cloud, first.region, first.environment)
    for footing in footings:
        if footing.target in ("cloud-run", "vertex") and not (
            footing.target == "vertex" and footing.kind == "inference"
        ):
            bill.append(monthly(footing.name, "encryption key", "kms.key"))
        jobs = 2 * footing.windows + (footing.guarded and footing.stops)  # two edges of each window, a look at idleness
        if footing.target == "kubernetes" and jobs:
            what = f"{jobs} scheduled jobs" if jobs > 1 else "scheduled job"
            bill.append(monthly(footing.name, what, "scheduler.job", jobs))
        if footing.files:
            bill.append(monthly(footing.name, "encryption key of files", "kms.key"))
        if footing.checkpoints:
            bill.append(monthly(footing.name, "encryption key of checkpoints", "kms.key"))
    if ends:
        bill.append(monthly(f"end-{first.region}", "scheduled job", "scheduler.job"))
    return tuple(bill)


# Azure -------------------------------------------------------------------------------------------------------------


def _azure(footings: Sequence[Footing], *, ends: bool) -> tuple[Charge, ...]:
    del ends
    first, targets = footings[0], {footing.target for footing in footings}
    network, workspace = f"network-{first.region}", f"ml-{first.region}"
    zones = 1 + (AML_PRIVATE_ZONES if "azureml" in targets else 0)
    bill = [
        around_the_clock(network, "public IPv4 address", "ipv4.hour"),
        monthly(network, f"{zones} private DNS zones" if zones > 1 else "private DNS zone", "private_dns.zone", zones),
        around_the_clock(network, "NAT gateway", "nat.hour"),
    ]
    if "kubernetes" in targets:
        bill += _cluster(first.cloud, first.region, first.environment)
    if "azureml" in targets:
        bill.append(around_the_clock(workspace, "container registry, Premium", "acr.premium"))
        what = f"{AML_PRIVATE_ENDPOINTS} private endpoints"
        bill.append(around_the_clock(workspace, what, "private_endpoint.hour", AML_PRIVATE_ENDPOINTS))
    bill += [
        around_the_clock(footing.name, "private endpoint of checkpoints", "private_endpoint.hour")
        for footing in footings
        if footing.checkpoints
    ]
    return tuple(bill)


class Standing(Protocol):
    """What stands in a region of a cloud for some workloads."""

    def __call__(self, footings: Sequence[Footing], *, ends: bool) -> tuple[Charge, ...]: ...


PARTS: Final = PerCloud[Standing](aws=_aws, gcp=_gcp, azure=_azure)
