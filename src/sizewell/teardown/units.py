"""What a state says of its pools, its stores and what holds data: pure, and enough where a program no longer runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from sizewell.recording.sources.state import State, StateResource
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.providers.cloud import PerCloud
from sizewell.sizing.records.registration import REGISTRATION_KEY
from sizewell.sizing.records.stackname import environment_of
from sizewell.teardown.aws import types as aws
from sizewell.teardown.azure import types as azure
from sizewell.teardown.gcp import types as gcp
from sizewell.teardown.records import Capacity, GuardLimits
from sizewell.teardown.types import Types

_CAPACITY: Final[Mapping[str, Capacity]] = {
    "on-demand": "on-demand",
    "spot": "spot",
    "flex-start": "queued",
    "queued": "queued",
    "reservation": "reservation",
    "capacity-block": "block",
}
TYPES: Final = PerCloud[Types](aws=aws.TYPES, gcp=gcp.TYPES, azure=azure.TYPES)
# What holds data on any cluster. Volumes of claims are no resources of a state; the claims themselves are.
_STATEFUL: Final = {
    "kubernetes:core/v1:PersistentVolumeClaim": "claim with its volume",
    "kubernetes:core/v1:PersistentVolume": "volume",
    "kubernetes:apps/v1:StatefulSet": "claims of a stateful set",
}
STATEFUL: Final = {start: what for types in TYPES.values() for start, what in types.stateful.items()} | _STATEFUL
_CLOUDS: Final = tuple((f"{cloud.provider.package}:", name) for name, cloud in CLOUDS.items())
_CLUSTERS: Final = {type_: name for types in TYPES.values() for type_, name in types.clusters.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A pool as its component registered it, and the names by which its cloud knows it."""

    name: str
    urn: str
    cloud: str
    region: str
    kind: str = "pool"  # "endpoint", "notebook", "cluster": reported, and stopped by their own limits alone
    instance_type: str = ""
    market: str = "on-demand"
    accelerators_per_machine: int = 1
    nodes_min: int = 0
    nodes_initial: int = 0
    nodes_max: int = 0
    capacity: Capacity = "on-demand"
    guard: GuardLimits | None = None
    measured: Mapping[str, str] = field(default_factory=dict)
    sized_by: str = ""
    resources: tuple[StateResource, ...] = ()  # whose size is moved
    serving: tuple[StateResource, ...] = ()  # of an endpoint: what its cloud counts requests of
    managed: tuple[StateResource, ...] = ()  # of a notebook, HyperPod or Azure ML: whose service counts the machines
    arguments: Mapping[str, Any] = field(default_factory=dict)  # of the component

    @property
    def scheduled(self) -> bool:
        """Whether a scheduler brings work to it, so that jobs may wait for machines."""
        return any(self.sized_by in types.scheduled for types in TYPES.values()) or self.kind == "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackParts:
    """What a state says of one stack."""

    name: str
    project: str
    environment: str
    owner: str
    created_s: float | None  # None: the engine has written no times, or nothing stands
    expires_at: date | None
    units: tuple[Unit, ...]
    stateful: tuple[tuple[str, StateResource], ...]  # what would go with a destroy and holds data, and what it is
    protected: tuple[StateResource, ...]
    pending: tuple[str, ...]  # URNs of what an update began to create: it may stand and be in no state
    clouds: tuple[str, ...]  # that its resources stand on
    regions: tuple[str, ...]  # that its components name
    going: int  # resources that a destroy would take
    digest: str = ""  # of what stands: `pulumi state protect` and an import leave the time of a state as it was
    clusters: tuple[str, ...] = ()  # names of Kubernetes clusters that a destroy would take


def stack_parts(state: State, stack: str) -> StackParts:
    """The parts of a state; an empty one has none. ValueError where the registered end is no date."""
    registered = [
        (resource, record)
        for resource in state.resources
        if isinstance(record := resource.inputs.get(REGISTRATION_KEY), Mapping) and not resource.delete
    ]
    ends = {str(record["expires"])[:10] for _, record in registered if record.get("expires")}
    owners = [str(record["owner"]) for _, record in registered if record.get("owner")]
    stated = next((str(record["environment"]) for _, record in registered if record.get("environment")), "")
    times = [resource.created.timestamp() for resource in state.resources if resource.created and resource.custom]
    children: dict[str, list[StateResource]] = {}
    for resource in state.resources:
        if resource.parent and not resource.delete:
            children.setdefault(resource.parent, []).append(resource)
    return StackParts(
        name=stack,
        project=state.project,
        environment=environment_of(stack, stated),
        owner=owners[0] if owners else "",
        created_s=min(times, default=None),
        expires_at=min((date.fromisoformat(end) for end in ends), default=None),
        units=tuple(
            _unit(resource, record, children.get(resource.urn, []))
            for resource, record in registered
            if _billing_machines(resource, record)
        ),
        stateful=tuple(_stateful(state)),
        protected=tuple(resource for resource in state.resources if resource.protect and resource.custom),
        # What was being updated or deleted is in the state: only what was being created may stand and be in none.
        pending=tuple(each.resource.urn for each in state.pending_operations if each.type in ("creating", "importing")),
        clouds=tuple(
            sorted(
                {cloud for resource in state.resources for prefix, cloud in _CLOUDS if resource.type.startswith(prefix)}
            )
        ),
        regions=tuple(sorted({str(record["region"]) for _, record in registered if record.get("region")})),
        going=sum(
            resource.custom and not resource.protect and not resource.type.startswith("pulumi:")
            for resource in state.resources
        ),
        digest=_digest(state),
        clusters=clusters_of(state),
    )


def _digest(state: State) -> str:
    """A few letters that differ where anything of a resource does: an id, a size, what becomes of it at a destroy."""
    stands = [
        [each.urn, each.id, each.protect, each.retain_on_delete, each.delete, each.inputs, each.outputs]
        for each in state.resources
    ]
    return hashlib.sha256(json.dumps(stands, sort_keys=True, default=str).encode()).hexdigest()[:12]


def clusters_of(state: State) -> tuple[str, ...]:
    """Names of the Kubernetes clusters of a state, as their clouds know them."""
    return tuple(
        str(resource.inputs.get(_CLUSTERS[resource.type]) or resource.id.rpartition("/")[2])
        for resource in state.resources
        if resource.type in _CLUSTERS and not resource.delete
    )


def remaining(resources: Sequence[StateResource]) -> str:
    """What a destroy leaves in a state, by name."""
    if not resources:
        return "nothing stands"
    names = [f"{resource.name} ({resource.type})" for resource in resources[:5]]
    more = f" and {len(resources) - 5} more" if len(resources) > 5 else ""
    what = "1 protected resource remains" if len(resources) == 1 else f"{len(resources)} protected resources remain"
    return f"{what}: {', '.join(names)}{more}"


def backup_of(resource: StateResource) -> str:
    """What a destroy leaves of something that holds data, in words: FSx alone keeps a backup on request."""
    kept = resource.type.startswith("aws:fsx/") and resource.inputs.get("skipFinalBackup") is False
    return "a final backup is kept" if kept else "no backup is kept"


def keys_of_backups(state: State) -> tuple[StateResource, ...]:
    """Keys of a state under which a file system's backups are written: without their key, backups that outlive the
    file system can be read by nobody. What is protected or retained anyway is left out.
    """
    named = {
        str(resource.inputs.get("kmsKeyId") or "")
        for resource in state.resources
        if resource.type.startswith("aws:fsx/")
        and (
            resource.inputs.get("skipFinalBackup") is False
            or int(resource.inputs.get("automaticBackupRetentionDays") or 0) > 0
        )
    } - {""}
    return tuple(
        resource
        for resource in state.resources
        if resource.type == "aws:kms/key:Key"
        and not (resource.protect or resource.retain_on_delete or resource.delete)
        and named & {resource.id, str(resource.outputs.get("arn") or ""), str(resource.outputs.get("keyId") or "")}
    )


def store_uris(state: State) -> tuple[str, ...]:
    """Where a state of checkpoint stores keeps them, as `store.connect` names places."""
    uris = []
    names = {resource.name for resource in state.resources}
    for resource in state.resources:
        uri = next(filter(None, (types.store_uri(resource) for types in TYPES.values())), "")
        of_logs = resource.name.endswith("-logs") and resource.name.removesuffix("-logs") in names
        if uri and not resource.delete and not of_logs:
            uris.append(uri)
    return tuple(uris)


def _unit(resource: StateResource, record: Mapping[str, Any], children: list[StateResource]) -> Unit:
    sized_by, kind = str(record.get("sizedBy") or ""), str(record["kind"])
    sized = {types.sized.get(sized_by) for types in TYPES.values()}
    serving = {type_ for types in TYPES.values() for type_ in types.serving}
    managed = {type_ for types in TYPES.values() for type_ in types.managed.get(kind, ())}
    guard = record.get("guard")
    return Unit(
        name=str(record.get("name") or resource.name),
        urn=resource.urn,
        cloud=str(record.get("cloud") or ""),
        region=str(record.get("region") or ""),
        kind=kind,
        instance_type=str(record.get("instanceType") or ""),
        market=str(record.get("market") or "on-demand"),
        accelerators_per_machine=int(record.get("acceleratorsPerNode") or 1),
        nodes_min=int(record.get("nodesMin") or 0),
        nodes_initial=int(record.get("nodesInitial") or 0),
        nodes_max=int(record.get("nodesMax") or 0),
        capacity=_CAPACITY.get(str(record.get("capacityMode") or "on-demand"), "prepaid"),
        guard=_guard(guard) if isinstance(guard, Mapping) else None,
        measured={str(key): str(value) for key, value in (record.get("measured") or {}).items()},
        sized_by=sized_by,
        resources=tuple(child for child in children if child.id and child.type in sized),
        serving=tuple(child for child in children if child.id and kind == "endpoint" and child.type in serving),
        managed=tuple(child for child in children if child.id and child.type in managed),
        arguments=resource.inputs,
    )


UNIT_KINDS: Final = ("pool", "endpoint", "notebook")
CLUSTERS_WITH_MACHINES: Final = ("HyperPodCluster",)  # other clusters have their machines in pools of their own


def _billing_machines(resource: StateResource, record: Mapping[str, Any]) -> bool:
    """Whether a component bills accelerators of its own, measured or not."""
    return record.get("kind") in UNIT_KINDS or resource.type.rpartition(":")[2] in CLUSTERS_WITH_MACHINES


def _guard(stated: Mapping[str, Any]) -> GuardLimits:
    """A guard as it is registered: its keys are those of Python, or of a plan."""

    def of(snake: str, camel: str, default: float) -> float:
        return float(stated.get(snake, stated.get(camel, default)))

    return GuardLimits(
        signal="requests" if stated.get("signal") == "requests" else "accelerator_utilization",
        min_utilization_percent=of("min_utilization_percent", "minUtilizationPercent", 5.0),
        window_s=of("window_s", "windowS", 2700.0),
        grace_s=of("grace_s", "graceS", 3600.0),
        action="scale-to-zero" if stated.get("action") == "scale-to-zero" else "notify",
    )


def _stateful(state: State) -> Iterator[tuple[str, StateResource]]:
    """What a destroy would take and holds data: not what is protected, retained or somebody else's."""
    for resource in state.resources:
        if resource.protect or resource.retain_on_delete or resource.external:
            continue
        what = data_of(resource.type, resource.inputs)
        if what:
            yield what, resource


def data_of(kind: str, inputs: Mapping[str, Any]) -> str:
    """What a resource of this type holds that a destroy takes with it; "" for none.

    >>> data_of("aws:s3/bucket:Bucket", {}), data_of("aws:s3/bucketPolicy:BucketPolicy", {})
    ('bucket', '')
    """
    what = next((what for start, what in STATEFUL.items() if kind.startswith(start)), "")
    settings = kind.startswith("aws:s3/bucket") and not kind.endswith((":Bucket", ":BucketV2"))
    compute = inputs.get("properties") or {}
    cluster = isinstance(compute, Mapping) and compute.get("computeType") not in (None, "ComputeInstance")
    return "" if settings or cluster else what
