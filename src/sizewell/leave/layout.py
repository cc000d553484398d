"""Which resource stands in which file, in which order, under which name."""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

_SUBJECTS: Final = {  # words of a type's token: what a file of such resources is about
    "access": "iam serviceaccount projects authorization managedidentity kms keyvault",
    "monitoring": "cloudwatch sns sqs ssm monitoring insights pubsub logging logic workflows cloudscheduler scheduler",
    "network": "vpc subnet subnetwork network securityGroup vpcEndpoint routeTable flowLog dns privatedns router",
    "storage": "s3 storage efs fsx storagecache filestore backup",
    "kubernetes": "kubernetes",
}
_TAKEN: Final = frozenset(
    {*keyword.kwlist, *dir(builtins), "pulumi", "config", "files", "settings", "value", "known", "number"}
)
NOTES: Final = {
    "access": "identities, roles, keys",
    "monitoring": "alarms, schedules, who hears of them",
    "network": "network",
    "storage": "storage",
    "kubernetes": "what runs in the cluster",
    "resources": "machines and services",
}


def subject(token: str) -> str:
    """What a resource is about, by its type.

    >>> subject("aws:iam/rolePolicy:RolePolicy"), subject("aws:ec2/vpc:Vpc"), subject("aws:eks/cluster:Cluster")
    ('access', 'network', 'resources')
    """
    parts = set(re.split(r"[:/]", token)[:-1])
    return next((name for name, words in _SUBJECTS.items() if not parts.isdisjoint(words.split())), "resources")


def snake(name: str) -> str:
    """A name as a variable has it.

    >>> snake("vlm-int4.Nodes"), snake("2-zones"), snake("class"), snake("RolePolicy")
    ('vlm_int4_nodes', 'n2_zones', 'class_', 'role_policy')
    """
    made = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    made = re.sub(r"\W+", "_", made, flags=re.ASCII).strip("_").lower() or "resource"
    made = f"n{made}" if made[0].isdigit() else made
    return f"{made}_" if made in _TAKEN else made


def variables(named: Sequence[tuple[str, str, str]], taken: Collection[str] = ()) -> dict[str, str]:
    """A variable for each (key, name, type): the name alone where it is the only one, else with what it is.

    >>> variables([("1", "nodes", "Role"), ("2", "nodes", "Group"), ("3", "web", "Vpc"), ("4", "aws", "Vpc")], ["aws"])
    {'1': 'nodes_role', '2': 'nodes_group', '3': 'web', '4': 'aws_vpc'}
    """
    count = Counter(snake(name) for _, name, _ in named)
    made: dict[str, str] = {}
    for key, name, kind in named:
        plain = snake(name)
        wanted = (
            plain
            if count[plain] == 1 and plain not in taken and kind != "Provider"
            else f"{plain.rstrip('_')}_{snake(kind)}"
        )
        number = 1
        while wanted in made.values() or wanted in taken:
            number += 1
            wanted = f"{plain.rstrip('_')}_{snake(kind)}_{number}"
        made[key] = wanted
    return made


def ordered(
    keys: Sequence[str], needs: Mapping[str, frozenset[str]], place: Callable[[str], tuple[str, str]]
) -> list[str]:
    """Each after what it needs, and beside others of its place where that can be.

    >>> ordered("abc", {"c": frozenset("a")}, lambda key: ("x" if key in "ac" else "y", ""))
    ['a', 'c', 'b']
    """
    left, done, made = list(keys), set[str](), list[str]()
    here = ("", "")
    while left:
        ready = [key for key in left if needs.get(key, frozenset()) <= done]
        if not ready:
            raise ValueError(f"{left[0]} needs itself")
        best = min(ready, key=lambda key: (place(key) != here, place(key)[0] != here[0], left.index(key)))
        here = place(best)
        made.append(best)
        done.add(best)
        left.remove(best)
    return made


def cut(
    keys: Sequence[str], lengths: Mapping[str, int], place: Callable[[str], tuple[str, str]], most: int
) -> list[tuple[str, list[str]]]:
    """Files, each with its name: a component each, and more of one that is long."""
    groups: list[tuple[str, list[str]]] = []
    length = 0
    for key in keys:
        component, about = place(key)
        same = groups and groups[-1][0] == component
        turns = same and place(groups[-1][1][-1])[1] != about
        if not same or length + lengths[key] > most or (turns and length > most * 0.7):
            groups.append((component, []))
            length = 0
        groups[-1][1].append(key)
        length += lengths[key]
    parts = Counter(component for component, _ in groups)
    made: list[tuple[str, list[str]]] = []
    for component, entries in groups:
        about = Counter(place(key)[1] for key in entries).most_common(1)[0][0]
        name = snake(component) if component else "stack"
        name = f"{name.rstrip('_')}_{about}" if parts[component] > 1 else name
        number, wanted = 1, name
        while wanted in {earlier for earlier, _ in made} or wanted in _TAKEN:
            number += 1
            wanted = f"{name}_{number}"
        made.append((wanted, entries))
    return made
