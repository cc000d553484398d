"""From a plan to the facts that policies judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sizewell import csvtables
from sizewell.resources.controlled import CLOUD_CONTROL, ENDPOINT_CONFIGURATION, HYPERPOD
from sizewell.resources.expiry import Expiries
from sizewell.resources.graph import Graph
from sizewell.resources.kinds import kind_of
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.readers import aws, azure, gcp, network, operators, pods, pools, stores
from sizewell.resources.readers.cloud import Types
from sizewell.resources.readers.common import base, plan_environment
from sizewell.resources.readers.services import read
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource, Unknown
from sizewell.resources.spellings import respelled
from sizewell.resources.stackfacts import (
    Cluster,
    Disk,
    Endpoint,
    Grant,
    Job,
    Notebook,
    Opening,
    Purchase,
    Refused,
    StackFacts,
    Thing,
)
from sizewell.resources.unfit import refused
from sizewell.resources.values import Flag, canonical, cloud_of, get
from sizewell.sizing.catalog import load
from sizewell.sizing.providers.cloud import PerCloud

if TYPE_CHECKING:
    from sizewell.resources.priced import Pricing
    from sizewell.sizing.catalog import Catalog

T = TypeVar("T")
TYPES: Final = PerCloud[Types](aws=aws.TYPES, gcp=gcp.TYPES, azure=azure.TYPES)
_BILL_ELSEWHERE: Final = {
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:ec2/flowLog:FlowLog",
    "aws:sagemaker/endpointConfiguration:EndpointConfiguration",
    "aws:cloudcontrol/resource:Resource",  # its tags stand in the text of what it makes
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
    "gcp:vertex/aiEndpoint:AiEndpoint",
}


def facts(
    plan: Plan,
    catalog: Catalog | None,
    *,
    environment: str = "",
    pricing: Pricing | None = None,
    decision: Mapping[str, object] | None = None,
    changes: Mapping[str, str] | None = None,
    before: Plan | None = None,
    on: date | None = None,
    expiries: Expiries | None = None,
    retention_visible: bool = True,
) -> StackFacts:
    """Everything that rules may ask about one stack.

    Args:
        plan: The recorded resources.
        catalog: Names what machine types carry; None judges by the types' names alone.
        environment: Overrides what the stack's configuration, its name and its committed decision say, in this order.
        pricing: For budgets; None leaves those rules undetermined.
        decision: The committed decision as JSON with "sealed" (bool) beside its fields; None where there is none.
        changes: URN -> create | update | replace | delete against what stands; empty where nothing is compared.
        before: What stands, for what goes; None where nothing is compared.
        on: The day of judging.
        expiries: Which expiries count; None where nothing is known of what acts on them.
        retention_visible: False where the recorder cannot see retain-on-delete.

    """
    stated, plan = Graph(plan), respelled(plan)  # names and sizes are judged in the program's own words
    named = environment or plan_environment(plan) or str((decision or {}).get("environment") or "")
    graph = Graph(plan, named, replace(expiries or Expiries(), on=on))
    all_stores = stores.stores(graph, _all(lambda types: types.stores))
    return StackFacts(
        graph=graph,
        project=plan.project,
        stack=plan.stack,
        environment=graph.environment,
        things=_things(graph),
        pools=pools.pools(
            graph,
            catalog,
            _all(lambda types: types.pools),
            checkpoints_in_stack=_any(store.checkpoints for store in all_stores),
        ),
        stores=all_stores,
        stores_before=()
        if before is None
        else stores.stores(Graph(respelled(before), graph.environment), _all(lambda types: types.stores)),
        disks=read(graph, _all(lambda types: types.disks), Disk),
        openings=_openings(graph),
        grants=_grants(graph),
        endpoints=read(graph, _all(lambda types: types.endpoints), Endpoint),
        notebooks=read(graph, _all(lambda types: types.notebooks), Notebook),
        clusters=read(graph, _all(lambda types: types.clusters), Cluster),
        jobs=read(graph, _all(lambda types: types.jobs), Job) + pods.jobs(graph),
        pods=pods.pods(graph),
        purchases=read(graph, _all(lambda types: types.purchases), Purchase),
        hidden=hidden_of(plan),
        refused=tuple(
            Refused(urn=resource.urn, what=what, fix=fix) for resource, what, fix in refused(stated, catalog or load())
        ),
        pricing=pricing,
        decision=decision,
        changes=changes or {},
        on=on,
        retention_visible=retention_visible,
    )


def _all(part: Callable[[Types], Mapping[str, T]]) -> dict[str, T]:
    """The readers of all clouds."""
    return {kind: reader for types in TYPES.values() for kind, reader in part(types).items()}


def _openings(graph: Graph) -> tuple[Opening, ...]:
    """One for each direction of each firewall rule, whatever the cloud calls it."""
    openings: list[Opening] = []
    for resource in graph.plan.resources:
        types = TYPES.get(cloud_of(resource.type))
        if types is None:
            openings += network.elsewhere(graph, resource)
        else:
            openings += types.openings(graph, resource, canonical(resource.type))
    return tuple(openings)


def _grants(graph: Graph) -> tuple[Grant, ...]:
    """Who may do what."""
    return tuple(
        grant
        for resource in graph.plan.resources
        if (types := TYPES.get(cloud_of(resource.type))) is not None
        for grant in types.grants(graph, resource, canonical(resource.type))
    )


def _any(flags: Any) -> Flag:
    values = list(flags)
    if True in values:
        return True
    return UNKNOWN if UNKNOWN in values else False


def _things(graph: Graph) -> tuple[Thing, ...]:
    from sizewell.resources.tables import PRICERS

    decided = any(get(each.inputs, "sizewell", "decisionDigest") is not None for each in graph.plan.resources)
    return tuple(
        Thing(
            **base(graph, resource),
            decided=decided,
            bills=_bills(canonical(resource.type), resource.inputs, PRICERS),
            runs=(runs := _runs(graph, resource)),
            stated=(machines := operators.stated(resource, graph.plan.resources)),
            unread=machines is not None or (runs and not _ends(canonical(resource.type))),
            whole=_whole(graph, resource),
            expiries=graph.expiries,
        )
        for resource in graph.plan.resources
        if resource.custom and not resource.type.startswith("pulumi:")
    )


_DESCRIBES: Final = (  # how the names of types end that describe something and run nothing
    "Template", "Definition", "Policy", "Configuration", "Config", "Profile", "Quota", "Budget", "Dashboard", "Alarm",
    "Rule", "Image", "Recipe", "Model", "Version", "Permission", "Permissions", "Assignment", "Parameter", "Record",
    "Secret", "Snapshot", "Association", "Member", "Binding", "Role", "Domain", "Space", "Schema", "Table", "Class",
)  # fmt: skip
_ENVIRONMENT: Final = "azure-native:app:ManagedEnvironment"
_STARTS: Final = (  # free or a description, and says on what machines runs what is started from it
    _ENVIRONMENT,
    "gcp:workstations/workstationConfig:WorkstationConfig",
    "gcp:colab/runtimeTemplate:RuntimeTemplate",
    "gcp:dataproc/workflowTemplate:WorkflowTemplate",
    "gcp:container/cluster:Cluster",  # its own pools are read; it may add others by itself
    "aws:sagemaker/space:Space",
    "aws:ecs/taskDefinition:TaskDefinition",
    "aws:imagebuilder/infrastructureConfiguration:InfrastructureConfiguration",
)
_WORKS: Final = ("Job", "Run", "Execution", "Build", "Task")  # how those end that end with their work


@dataclass(frozen=True, slots=True, kw_only=True)
class Unkept:
    """A row of unkept.csv: a type that names machines and keeps none: they end with each run, or it runs none."""

    type: str
    runs: bool
    why: str
    source: str


UNKEPT: Final = {row.type: row for row in csvtables.read(Unkept, Path(__file__).parent / "data/unkept.csv")}
_PARTS: Final = {  # type -> the inputs that name what it is a part of, and that one's type
    "aws:emr/instanceGroup:InstanceGroup": (("clusterId",), "aws:emr/cluster:Cluster"),
    "aws:emr/instanceFleet:InstanceFleet": (("clusterId",), "aws:emr/cluster:Cluster"),
    "azure-native:app:ContainerApp": (("environmentId", "managedEnvironmentId"), _ENVIRONMENT),
    "azure-native:app:Job": (("environmentId",), _ENVIRONMENT),
}


def _ends(kind: str) -> bool:
    return kind.endswith(_WORKS) or kind in UNKEPT or kind in _STARTS or kind.startswith("kubernetes:")


def _whole(graph: Graph, resource: RecordedResource) -> Mapping[str, Any] | Unknown | None:
    props, kind = _PARTS.get(canonical(resource.type), ((), ""))
    if not props:
        return None
    named = [graph.referenced(resource, prop, kind) for prop in props]
    return next((found[0].inputs for found in named if isinstance(found, tuple) and found), UNKNOWN)


def _runs(graph: Graph, resource: RecordedResource) -> bool:
    """Whether nobody reads what resources of this type run, and they may run something."""
    from sizewell.resources.tables import FREE, databases, free_reason

    kind = canonical(resource.type)
    if kind.startswith("kubernetes:"):
        row = kind_of(kind)
        if row is not None and row.brings == "machines":
            return True
        return operators.stated(resource, graph.plan.resources) is not None
    known = (
        (kind in UNKEPT and not UNKEPT[kind].runs)
        or (kind in _READ and kind not in _STARTS and kind != CLOUD_CONTROL)
        or resource.inputs.get("typeName") in (HYPERPOD, ENDPOINT_CONFIGURATION)
        or (kind in FREE and kind not in _STARTS)
        or any(kind in each for each in (databases.AWS, databases.GCP, databases.AZURE))
    )
    if known or (free_reason(kind) and kind not in _STARTS):
        return False
    return (kind in _STARTS or not kind.endswith(_DESCRIBES)) and graph.registration(resource) is None


_READ: Final = frozenset(
    token
    for types in TYPES.values()
    for part in (types.pools, types.endpoints, types.notebooks, types.purchases, types.jobs)
    for token in part
)


def _bills(kind: str, inputs: Mapping[str, object], pricers: Mapping[str, object]) -> bool:
    if kind == "aws:ec2/vpcEndpoint:VpcEndpoint":
        return bool(get(inputs, "vpcEndpointType", default="Gateway") != "Gateway")
    if kind == "azure-native:cognitiveservices:Deployment":
        # Tokens are on the account's bill; the deployment itself is billed only where throughput is bought for it.
        name = get(inputs, "sku", "name")
        return name is UNKNOWN or "provisioned" in str(name).lower()
    return kind in pricers and kind not in _BILL_ELSEWHERE
