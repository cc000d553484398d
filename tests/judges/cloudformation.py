"""AWS resources against the CloudFormation schemas that cfn-lint bundles.

Pulumi's AWS types are Terraform's: many of their properties have CloudFormation's names in another case. What has one is
judged by that property's enumeration, pattern and bounds; what has none is counted and not judged.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sizewell.resources.recorded import UNKNOWN, RecordedResource

SITE = Path(__file__).parents[2] / ".venv-checkov/lib"
REGION = "us-east-1"
# Types whose CloudFormation name is not Pulumi's in another case.
OTHER = {
    "aws:cloudwatch/metricAlarm:MetricAlarm": "AWS::CloudWatch::Alarm",
    "aws:cloudwatch/eventRule:EventRule": "AWS::Events::Rule",
    "aws:cloudwatch/logGroup:LogGroup": "AWS::Logs::LogGroup",
    "aws:autoscaling/group:Group": "AWS::AutoScaling::AutoScalingGroup",
    "aws:autoscaling/policy:Policy": "AWS::AutoScaling::ScalingPolicy",
    "aws:autoscaling/schedule:Schedule": "AWS::AutoScaling::ScheduledAction",
    "aws:ec2/fleet:Fleet": "AWS::EC2::EC2Fleet",
    "aws:eks/nodeGroup:NodeGroup": "AWS::EKS::Nodegroup",
    "aws:fsx/lustreFileSystem:LustreFileSystem": "AWS::FSx::FileSystem",
    "aws:sns/topicSubscription:TopicSubscription": "AWS::SNS::Subscription",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": "AWS::EC2::SecurityGroupEgress",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": "AWS::EC2::SecurityGroupIngress",
}
SCALARS = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


@functools.cache
def schemas() -> Mapping[str, Path]:
    """CloudFormation type -> file of its schema; empty where cfn-lint is not there."""
    (place,) = SITE.glob("python*/site-packages/cfnlint/data/schemas") if SITE.exists() else (None,)
    if place is None:
        return {}
    listed: Mapping[str, str] = json.loads((place / "providers" / f"{REGION}.json").read_text(encoding="utf-8"))
    return {kind: place / "resources" / f"{name}.json" for kind, name in listed.items()}


@functools.cache
def schema(kind: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(schemas()[kind].read_text(encoding="utf-8"))
    return loaded


def type_of(resource: RecordedResource) -> str:
    """The CloudFormation type of a resource; "" where there is none."""
    if resource.type in OTHER:
        return OTHER[resource.type]
    if resource.type == "aws:cloudcontrol/resource:Resource":
        return str(resource.inputs.get("typeName", ""))
    provider, module, name = resource.type.split(":")
    folded = f"aws::{module.partition('/')[0]}::{name}".lower()
    return next((kind for kind in schemas() if provider == "aws" and kind.lower() == folded), "")


def judge(resource: RecordedResource) -> tuple[int, int, list[str]]:
    """How many values were judged and how many were not, and what is wrong with the first."""
    kind = type_of(resource)
    if not kind or kind not in schemas():
        return 0, sum(1 for _ in _leaves(resource.inputs)), []
    inputs: Any = resource.inputs
    exact = resource.type == "aws:cloudcontrol/resource:Resource"
    if exact:
        state = resource.inputs.get("desiredState")
        if not isinstance(state, str):
            return 0, 1, []
        inputs = json.loads(state)
    whole = schema(kind)
    verdicts = list(_compare(inputs, whole, whole, kind, exact=exact))
    faults = [fault for _, fault in verdicts if fault]
    return sum(1 for judged, _ in verdicts if judged), sum(1 for judged, _ in verdicts if not judged), faults


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _compare(value: Any, rule: Any, whole: dict[str, Any], path: str, *, exact: bool) -> Iterator[tuple[bool, str]]:
    """(judged, fault or "") of each value; with `exact` names are CloudFormation's own, and unknown ones are faults."""
    rule = _resolved(rule, whole)
    if value is None or value is UNKNOWN:
        return
    if isinstance(value, Mapping):
        known = rule.get("properties") or {}
        if exact:
            yield from ((True, f"{path}: {key} is missing") for key in rule.get("required", ()) if key not in value)
        for key, item in value.items():
            name = key if exact else key[:1].upper() + key[1:]
            if name in known and (exact or name != "Tags"):  # Terraform writes tags as a mapping
                yield from _compare(item, known[name], whole, f"{path}.{name}", exact=exact)
            elif exact and known and rule.get("additionalProperties") is False:
                yield True, f"{path}: {key} is no property"
            else:
                yield from ((False, "") for _ in _leaves(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _compare(item, rule.get("items") or {}, whole, f"{path}[]", exact=exact)
    else:
        yield _scalar(value, rule, path)


def _resolved(rule: Any, whole: dict[str, Any]) -> dict[str, Any]:
    rule = rule if isinstance(rule, dict) else {}
    while reference := rule.get("$ref"):
        target: Any = whole
        for part in str(reference).removeprefix("#/").split("/"):
            target = target.get(part, {}) if isinstance(target, dict) else {}
        rule = target if isinstance(target, dict) else {}
    return rule


def _scalar(value: Any, rule: dict[str, Any], path: str) -> tuple[bool, str]:
    kinds = rule.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(kind in SCALARS and isinstance(value, SCALARS[kind]) for kind in kinds):
        return False, ""  # Terraform writes some numbers as text
    if "enum" in rule and value not in rule["enum"]:
        return True, f"{path}: {value!r} is none of {', '.join(map(str, rule['enum'][:8]))}"
    if isinstance(value, str):
        low, high = rule.get("minLength", 0), rule.get("maxLength", len(value))
        if not low <= len(value) <= high:
            return True, f"{path}: {len(value)} characters, {low} to {high} are allowed"
        if "pattern" in rule and not _matches(rule["pattern"], value):
            return True, f"{path}: {value!r} does not match {rule['pattern']}"
    elif not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        return True, f"{path}: {value} is out of bounds"
    bounded = {"enum", "pattern", "minimum", "maximum", "minLength", "maxLength"} & rule.keys()
    return bool(bounded), ""


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:  # a pattern in a dialect that Python has not
        return True
