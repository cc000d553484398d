"""How the resources of a plan belong together: parents, references, the component that registered them, their region.

A reference is found by the engine's property dependencies (the value itself is unknown at preview) or, where the value
is known, by the id or name that it states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from sizewell.resources.expiry import Expiries
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource, Unknown
from sizewell.resources.values import Flag, Text, canonical, cloud_of, get, place_in
from sizewell.sizing.errors import UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.registration import REGISTRATION_KEY
from sizewell.sizing.versions import refusal

_NAMES: Final = (
    "id",
    "arn",
    "name",
    "bucket",
    "selfLink",
    "email",
    "accountName",
    "resourceName",
    "endpointName",
    "family",
)
_REVISION: Final = re.compile(r":\d+$")  # of what a family has several of: "task-definition/model:3"


class _Undisclosed(Mapping[str, object]):
    """A statement that exists and is not known yet: every key of it is UNKNOWN."""

    def __getitem__(self, key: str) -> object:
        return UNKNOWN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, key: object) -> bool:
        return True


UNDISCLOSED: Final = _Undisclosed()


class Graph:
    """One plan, indexed; nothing in it changes."""

    def __init__(self, plan: Plan, environment: str = "", expiries: Expiries | None = None) -> None:
        self.plan = plan
        self.expiries = expiries or Expiries()
        self.environment = environment  # of the stack: dev | staging | prod, "" where not stated
        self.by_urn: dict[str, RecordedResource] = plan.by_urn()
        self._regions: dict[str, Text] = {}
        self._registrations: dict[str, Mapping[str, object] | None] = {}
        self._reverse: dict[tuple[str, str], tuple[dict[str, list[RecordedResource]], bool, bool]] = {}

    @cached_property
    def by_type(self) -> dict[str, list[RecordedResource]]:
        index: dict[str, list[RecordedResource]] = {}
        for resource in self.plan.resources:
            index.setdefault(canonical(resource.type), []).append(resource)
        return index

    @cached_property
    def _by_name(self) -> dict[str, list[RecordedResource]]:
        index: dict[str, list[RecordedResource]] = {}
        for resource in self.plan.resources:
            names = {
                value
                for source in (resource.outputs, resource.inputs)
                for key in _NAMES
                if isinstance(value := source.get(key), str) and value
            }
            for name in names:
                index.setdefault(name, []).append(resource)
        return index

    @cached_property
    def children(self) -> dict[str, list[RecordedResource]]:
        index: dict[str, list[RecordedResource]] = {}
        for resource in self.plan.resources:
            if resource.parent:
                index.setdefault(resource.parent, []).append(resource)
        return index

    def of(self, *types: str) -> tuple[RecordedResource, ...]:
        """Every resource of these canonical types."""
        return tuple(resource for kind in types for resource in self.by_type.get(kind, ()))

    def referenced(self, resource: RecordedResource, prop: str, *types: str) -> tuple[RecordedResource, ...] | Unknown:
        """What the input `prop` refers to, among `types`; () where it refers to nothing in this plan."""
        # Both ways, always: an engine's dependencies say which outputs went into a value that is not known yet, and a
        # state or an older engine has only the id or name itself. `types` tells apart what has the same name.
        targets = {
            urn: self.by_urn[urn]
            for urn in resource.property_dependencies.get(prop, ())
            if urn in self.by_urn and canonical(self.by_urn[urn].type) in types
        }
        value = resource.inputs.get(prop)
        strings: list[str] = []
        pending = _collect(value, strings)
        for string in strings:
            last = string.rsplit("/", 1)[-1]
            for other in (
                each for name in {string, last, _REVISION.sub("", last)} for each in self._by_name.get(name, ())
            ):
                if canonical(other.type) in types and other.urn != resource.urn:
                    targets[other.urn] = other
        if not targets and pending:
            return UNKNOWN
        return tuple(targets.values())

    def stated(self, resource: RecordedResource, prop: str, value: Any) -> Flag:
        """Whether a value (somewhere inside the input `prop`) is given: an unknown one is, where the engine says that
        it comes from another resource of this plan; any other unknown may turn out to be nothing.
        """
        if isinstance(value, Unknown):
            return True if resource.property_dependencies.get(prop) else UNKNOWN
        return bool(value)

    def referring(self, target: RecordedResource, kind: str, prop: str) -> tuple[RecordedResource, ...] | Unknown:
        """Resources of type `kind` whose `prop` refers to `target`; UNKNOWN where one may and none surely does."""
        key = (kind, prop)
        if key not in self._reverse:
            index: dict[str, list[RecordedResource]] = {}
            open_ends = dangling = False
            for resource in self.by_type.get(kind, ()):
                targets = self.referenced(resource, prop, *self.by_type)
                if isinstance(targets, Unknown):
                    open_ends = True
                    continue
                dangling |= not targets and resource.inputs.get(prop) is not None
                for other in targets:
                    index.setdefault(other.urn, []).append(resource)
            self._reverse[key] = (index, open_ends, dangling)
        index, open_ends, dangling = self._reverse[key]
        resources = index.get(target.urn)
        if resources:
            return tuple(resources)
        nameless = dangling and any(target.inputs.get(name) is UNKNOWN for name in _NAMES)
        return UNKNOWN if open_ends or nameless else ()

    def ancestors(self, resource: RecordedResource) -> tuple[RecordedResource, ...]:
        """Parent, grandparent and so on; a loop (a broken recording) ends the walk."""
        chain: list[RecordedResource] = []
        seen = {resource.urn}
        parent = resource.parent
        while parent and parent not in seen and parent in self.by_urn:
            seen.add(parent)
            chain.append(self.by_urn[parent])
            parent = chain[-1].parent
        return tuple(chain)

    def owner(self, resource: RecordedResource) -> RecordedResource | None:
        """The nearest component of ours that registers something about itself, the resource itself included."""
        for each in (resource, *self.ancestors(resource)):
            if isinstance(each.inputs.get(REGISTRATION_KEY), Mapping | Unknown):
                return each
        return None

    def beside(self, resource: RecordedResource, *types: str) -> tuple[RecordedResource, ...]:
        """Resources of these canonical types that the same component makes, itself among them."""
        return tuple(other for other in self.of(*types) if other.parent == resource.parent)

    def registration(self, resource: RecordedResource) -> Mapping[str, object] | None:
        """What the nearest component of ours states about itself, the resource itself included."""
        if resource.urn not in self._registrations:
            owner = self.owner(resource)
            stated = None if owner is None else owner.inputs[REGISTRATION_KEY]
            if owner is not None and isinstance(stated, Mapping):
                _must_be_read(owner.urn, stated.get("schema"))
            self._registrations[resource.urn] = UNDISCLOSED if isinstance(stated, Unknown) else stated
        return self._registrations[resource.urn]

    def component(self, resource: RecordedResource) -> str:
        """The name under which a reader knows what this resource belongs to."""
        registration = self.registration(resource)
        if registration is not None and isinstance(name := registration.get("name"), str) and name:
            return name
        components = [
            other for other in self.ancestors(resource) if not other.custom and other.type != "pulumi:pulumi:Stack"
        ]
        return components[-1].name if components else resource.name

    def provider(self, resource: RecordedResource) -> RecordedResource | None:
        """The explicit provider of a resource, None for the default one or one outside the plan."""
        if not resource.provider:
            return None
        urn = resource.provider.rsplit("::", 1)[0]
        return self.by_urn.get(urn) or self.by_urn.get(resource.provider)

    def region(self, resource: RecordedResource) -> Text:
        """The region of a resource in its cloud's spelling, "" where nothing says it."""
        if resource.urn not in self._regions:
            self._regions[resource.urn] = self._find_region(resource)
        return self._regions[resource.urn]

    def _find_region(self, resource: RecordedResource) -> Text:
        cloud = cloud_of(resource.type)
        # From the nearest statement to the farthest. An unknown region ends the search like a known one: a later source
        # may name another region, and a wrong price is worse than a missing one.
        own = _stated_region(cloud, resource.inputs)
        if own != "":
            return own
        # What is a part of another stands where that stands, wherever the provider would put something new.
        if (stated := self._of_whole(resource)) != "":
            return stated
        provider = self.provider(resource)
        if provider is not None and (stated := _stated_region(cloud, provider.inputs)) != "":
            return stated
        registration = self.registration(resource)
        if registration is not None and (stated := get(registration, "region")) is not None:
            return stated if stated is UNKNOWN else normal_region(cloud, str(stated))
        if cloud not in CLOUDS:
            return ""
        places = CLOUDS[cloud].regions
        if places.group is not None:
            groups = self.referenced(resource, *places.group)
            if isinstance(groups, tuple) and groups and (stated := _stated_region(cloud, groups[0].inputs)) != "":
                return stated
        for key in (places.config_key, places.zone_config_key):
            if value := self.plan.config.get(key):
                return places.of(value)
        return ""

    def _of_whole(self, resource: RecordedResource) -> Text:
        """The region of what a resource is a part of: in this plan, else as the path that names it says."""
        if (whole := _WITHIN.get(canonical(resource.type))) is None:
            return ""
        prop, kind = whole
        within = self.referenced(resource, prop, kind)
        if isinstance(within, tuple) and within:
            return self.region(within[0])
        place = place_in(resource.inputs.get(prop))
        return normal_region(cloud_of(resource.type), place) if place else ""


_WITHIN: Final = {  # type without a place of its own -> the input that names what it is a part of, and its type
    "gcp:container/nodePool:NodePool": ("cluster", "gcp:container/cluster:Cluster"),
    "azure-native:containerservice:AgentPool": ("resourceName", "azure-native:containerservice:ManagedCluster"),
    "azure-native:sql:Database": ("serverId", "azure:mssql/server:Server"),
}


def _must_be_read(urn: str, schema: object) -> None:
    """UsageError for a registration of a version that this release does not know."""
    wrong, fix = ("", "") if isinstance(schema, Unknown) else refusal("registration", schema)
    if wrong:
        raise UsageError(f"{urn}: the schema of its registration {wrong}\n  fix: {fix}")


def _stated_region(cloud: str, inputs: Mapping[str, object]) -> Text:
    for key in CLOUDS[cloud].regions.inputs if cloud in CLOUDS else ():
        value = inputs.get(key)
        if isinstance(value, Unknown):
            return UNKNOWN
        if isinstance(value, str) and value:
            return normal_region(cloud, value)
    return ""


def normal_region(cloud: str, place: str) -> str:
    """A region from a region, a zone or a display name.

    >>> normal_region("gcp", "us-central1-a"), normal_region("azure", "East US 2"), normal_region("aws", "us-east-1a")
    ('us-central1', 'eastus2', 'us-east-1')
    """
    return CLOUDS[cloud].regions.of(place) if cloud in CLOUDS else place.rsplit("/", 1)[-1].lower()


def _collect(value: object, strings: list[str]) -> bool:
    """Put every string inside `value` into `strings`; True when something in it is unknown."""
    if isinstance(value, Unknown):
        return True
    if isinstance(value, str):
        strings.append(value)
        return False
    pending = False
    if isinstance(value, Mapping):
        for part in value.values():
            pending |= _collect(part, strings)
    elif isinstance(value, (list, tuple)):
        for part in value:
            pending |= _collect(part, strings)
    return pending
