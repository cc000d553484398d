"""What the clouds have with a stack's tag, and what of that no state knows. Reads only.

The tag is on everything that can carry one. A machine that a group, fleet or pool of the state made is known by its
maker, though no state names it; so is what is attached to such a machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sizewell.clouds.clients import Client
from sizewell.recording.sources.state import State, StateResource
from sizewell.teardown.clients import READS
from sizewell.teardown.things import ID_TAG, PROJECT_TAG, Owner, Thing
from sizewell.teardown.units import TYPES

TAG_INPUTS: Final = ("tags", "labels", "userLabels", "resourceLabels")
_MADE_BY: Final = {tag: type_ for types in TYPES.values() for tag, type_ in types.made_by.items()}
_IMPORTED_BY_TAG: Final = frozenset(type_ for types in TYPES.values() for type_ in types.imported_by_tag)
PARTS: Final = frozenset(kind for types in TYPES.values() for kind in types.parts)


def in_cloud(client: Client, accounts: Iterable[str], regions: Iterable[str], owner: Owner) -> list[Thing]:
    """Everything with a stack's tag in its accounts, of Amazon's in some regions; what carries the tag of another
    project is left out. CloudError where one is refused.
    """
    things = READS[client.cloud].tagged(client, tuple(accounts), tuple(regions), owner.stack)
    return [thing for thing in things if (thing.tags or {}).get(PROJECT_TAG, owner.project) == owner.project]


def unknown_to(things: Sequence[Thing], state: State) -> list[Thing]:
    """Of what a cloud has, what the state neither names nor made through something that it names.

    A group of machines, its role and its rule may all have one name: what carries the tag of a resource is compared
    with the names of that resource alone, and what was made for another with those of its type.
    """
    known = set[str]()
    of_tag: dict[str, set[str]] = {}
    of_type: dict[str, set[str]] = {}
    for resource in state.resources:
        names = {name.lower() for name in _names(resource) if name}  # a component has no identity
        known |= names
        of_tag.setdefault(own_tag(resource.inputs), set()).update(names)
        of_type.setdefault(resource.type, set()).update(names)

    def is_known(thing: Thing) -> bool:
        tag, identity = (thing.tags or {}).get(ID_TAG, ""), thing.identity.lower()
        if not tag:
            return _is_known(identity, known)
        return _is_known(identity, of_tag[tag]) if tag in of_tag else identity in known

    # AKS puts a cluster's tags on all that it makes in a resource group of its own: balancers, addresses, that group.
    groups = {str(resource.outputs.get("nodeResourceGroup") or "").lower() for resource in state.resources} - {""}

    def is_made(thing: Thing) -> bool:
        tags = thing.tags or {}
        if groups & set(thing.identity.lower().partition("/resourcegroups/")[2].split("/")[:1]):
            return True
        made = ((tags.get(tag, "").lower(), of_type.get(kind, ())) for tag, kind in _MADE_BY.items())
        return any(maker in names for maker, names in made)

    return [thing for thing in things if not is_known(thing) and not is_made(thing)]


def is_of(kind: str, type_: str) -> bool:
    """Whether a cloud's kind and a provider's type name the same sort of thing; a part of it carries its tags too.

    >>> is_of("autoscaling autoScalingGroup", "aws:autoscaling/group:Group")
    True
    >>> is_of("ec2 instance", "aws:autoscaling/group:Group")
    False
    >>> is_of("Microsoft.ContainerService/managedClusters", "azure-native:containerservice:ManagedCluster")
    True
    """
    if not re.search(r"[ /]", kind):  # a service whose ARNs name no sort, such as sns
        return True
    a, b = (
        "".join(letter for letter in name.lower() if letter.isalnum())
        for name in (re.split(r"[ /]", kind)[-1], type_.rpartition(":")[2])
    )
    a = a.removesuffix("es") if a.endswith("sses") else a.removesuffix("s")
    return bool(a) and (a.endswith(b) or b.endswith(a))


def maker_of(thing: Thing, type_: str) -> str:
    """The identity of the group or fleet of this type that made a machine, as the cloud's own tag on it says; "" for
    none.
    """
    if type_ not in _IMPORTED_BY_TAG:
        return ""
    found = ((thing.tags or {}).get(tag, "") for tag, kind in _MADE_BY.items() if kind == type_)
    return next(filter(None, found), "")


def own_tag(inputs: Mapping[str, Any]) -> str:
    """The tag by which a cloud lists a resource, out of its inputs; "" where it carries none.

    >>> own_tag({"tags": {"sizewell-id": "a1"}}), own_tag({"tags": [{"key": "sizewell-id", "value": "b2"}]})
    ('a1', 'b2')
    """
    for held in (inputs.get(key) for key in TAG_INPUTS):
        if isinstance(held, Mapping):
            pairs = list(held.items())
        else:
            entries = [each for each in held or () if isinstance(each, Mapping)] if isinstance(held, list) else []
            pairs = [(each.get("key"), each.get("value")) for each in entries]
        found = next((str(value) for key, value in pairs if key == ID_TAG), "")
        if found:
            return found
    return ""


def _is_known(identity: str, known: set[str]) -> bool:
    """Whether the whole identity or its own name, without the path before it, is one of a resource."""
    last = identity.rpartition("/")[2].rpartition(":")[2]
    tail = identity.rpartition(":")[2]
    parts = identity.split("/")
    below = {"/".join(parts[number:]) for number in range(len(parts))}
    return bool({identity, last, tail, *below} & known)


def _names(resource: StateResource) -> Iterable[str]:
    """By which names a cloud may know a resource."""
    yield resource.id
    for key in ("arn", "name", "id", "selfLink", "nodeGroupName", "fleetId"):
        value = resource.outputs.get(key)
        if isinstance(value, str) and value:
            yield value.removeprefix("https://www.googleapis.com/compute/v1/")
    if ":" in resource.id and not resource.id.startswith("arn:"):  # cluster:nodegroup
        yield resource.id.rpartition(":")[2]
