"""IAM's evaluation of a role's policies, as far as ours go, and the calls that they are asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from aws_reference import UnjudgedError, kinds, knows, shared_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a call is about: its ARN, and what a policy may ask about it (tags among it)."""

    arn: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of an API: the action that authorises it, what it names, and who says that it is made."""

    action: str
    resources: tuple[Resource, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)  # of the call itself, as cloudwatch:namespace
    also: Mapping[str, tuple[Resource, ...]] = field(default_factory=dict)  # resources of dependent actions
    spared: tuple[str, ...] = ()  # dependent actions that calls of this form do not need
    source: str = ""

    def __str__(self) -> str:
        names = ", ".join(resource.arn for resource in self.resources) or "*"
        return f"{self.action} on {names} ({self.source})"


Policy = Mapping[str, Any]


def denied(policies: Sequence[Policy], call: Call) -> list[str]:
    """What of a call these policies do not allow: each action with the resource; empty where all is allowed.

    A call that does not name what AWS authorises it on is unjudged, and so is one that names something else.
    """
    known = kinds(call.action)
    if not known:
        return _refused(policies, call.action, "*", call.facts, shared_keys(call.action))
    refused = []
    matched = set()
    for resource in call.resources:
        match = next((kind for kind in known if re.match(kind.pattern, resource.arn)), None)
        if match is None:
            raise UnjudgedError(f"{call.action} is not authorised on {resource.arn}")
        matched.add(match.name)
        facts = {**call.facts, **resource.facts}
        refused += _refused(policies, call.action, resource.arn, facts, match.keys)
        for action in match.dependent:
            if action not in call.spared:
                refused += denied(policies, Call(action=action, resources=call.also.get(action, ()), facts=call.facts))
    missing = sorted(kind.name for kind in known if kind.required and kind.name not in matched)
    if missing or (not matched and not call.resources):
        raise UnjudgedError(f"{call} names no {', '.join(missing) or 'resource'}")
    return refused


def _refused(
    policies: Sequence[Policy], action: str, arn: str, facts: Mapping[str, str], keys: frozenset[str]
) -> list[str]:
    given = {key: value for key, value in facts.items() if knows(keys, key)}
    return [] if allows(policies, action, arn, given) else [f"{action} on {arn}"]


def allows(policies: Sequence[Policy], action: str, arn: str, facts: Mapping[str, str]) -> bool:
    """Whether some statement allows, and none denies."""
    verdict = False
    for policy in policies:
        for statement in policy["Statement"]:
            if _matches(statement, action, arn, facts):
                if statement["Effect"] == "Deny":
                    return False
                verdict = True
    return verdict


def _matches(statement: Mapping[str, Any], action: str, arn: str, facts: Mapping[str, str]) -> bool:
    return (
        any(fnmatchcase(action.lower(), pattern.lower()) for pattern in _list(statement["Action"]))
        and _names(statement, arn)
        and all(_holds(test, asked, facts) for test, asked in statement.get("Condition", {}).items())
    )


def _names(statement: Mapping[str, Any], arn: str) -> bool:
    if "NotResource" in statement:
        return not any(fnmatchcase(arn, pattern) for pattern in _list(statement["NotResource"]))
    return any(fnmatchcase(arn, pattern) for pattern in _list(statement["Resource"]))


def _holds(test: str, asked: Mapping[str, Any], facts: Mapping[str, str]) -> bool:
    optional = test.endswith("IfExists")
    test = test.removesuffix("IfExists").removeprefix("ForAnyValue:")
    compare = {
        "StringEquals": lambda value, pattern: value == pattern,
        "ArnEquals": fnmatchcase,
        "ArnLike": fnmatchcase,
        "StringLike": fnmatchcase,
        "Bool": lambda value, pattern: value == pattern,
    }[test]
    for key, patterns in asked.items():
        if key not in facts:
            if optional:
                continue
            return False
        if not any(compare(facts[key], pattern) for pattern in _list(patterns)):
            return False
    return True


def rights(policies: Sequence[Policy]) -> Iterator[tuple[str, list[Policy]]]:
    """Each right of the policies by its text (action on resource), and the policies without it."""
    for number, policy in enumerate(policies):
        for place, statement in enumerate(policy["Statement"]):
            if statement["Effect"] != "Allow":
                continue
            pairs = [
                (action, resource) for action in _list(statement["Action"]) for resource in _list(statement["Resource"])
            ]
            for gone in pairs:
                left = [
                    {**statement, "Action": action, "Resource": resource}
                    for action, resource in pairs
                    if (action, resource) != gone
                ]
                statements = [*policy["Statement"][:place], *left, *policy["Statement"][place + 1 :]]
                without = {**policy, "Statement": statements}
                name = statement.get("Sid", "")
                yield (
                    f"{gone[0]} on {gone[1]}{f' [{name}]' if name else ''}",
                    [*policies[:number], without, *policies[number + 1 :]],
                )


def unneeded(policies: Sequence[Policy], calls: Sequence[Call]) -> tuple[int, list[str]]:
    """How many rights the policies give, and those without which every call still works."""
    count, idle = 0, []
    for right, without in rights(policies):
        count += 1
        action = right.partition(" ")[0].lower()
        asked = [call for call in calls if any(fnmatchcase(one.lower(), action) for one in (call.action, *call.also))]
        if not any(denied(without, call) for call in asked):
            idle.append(right)
    return count, idle


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
