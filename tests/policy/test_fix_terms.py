"""A way out is in the terms of the cloud whose resource it is about, and of the provider that a program declares it by."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.policy.rules.scaling import capacity_wait
from sizewell.policy.terms import in_own_terms
from sizewell.resources.facts import facts
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.resources.spellings import CLOUDFORMATION, SPELLINGS
from sizewell.sizing.catalog import load

TERMS = {  # words of one cloud that are no words of the others
    "aws": r"scaling target|managed instance scaling|lifecycle configuration|security groups?\b(?<!application security "
    r"groups)|Session Manager|CloudWatch|object lock|\bIAM role|launch template|instance profile|\bEKS\b|\bS3\b",
    "gcp": r"source tags|\bIAP\b|Ops Agent|object retention|idle-timeout-seconds|nodeLocations|Cloud NAT|\bGKE\b",
    "azure": r"application security group|Bastion|AutoscaleSetting|availabilityZones|PT30M|managed identity|\bAKS\b",
}
CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
]


def cloud_of(case: dict[str, Any]) -> str:
    """The one cloud that all resources of a case are of; "" for several."""
    packages = {each["type"].partition(":")[0].partition("-")[0] for each in case["bad"]} - {"sizewell", "kubernetes"}
    return packages.pop() if len(packages) == 1 else ""


@pytest.mark.parametrize("cloud", TERMS)
def test_no_fix_speaks_of_another_cloud(cloud: str) -> None:
    others = re.compile("|".join(terms for other, terms in TERMS.items() if other != cloud))
    foreign = {
        (case["rule"], match[0])
        for case in CASES
        if cloud_of(case) == cloud and (match := others.search(case.get("fix", ""))) is not None
    }
    assert foreign == set()


ML = "azure:machinelearning"
COMPUTE = "azure-native:machinelearningservices:Compute"
NATIVE_GROUP = "aws-native:autoscaling:AutoScalingGroup"
NAMES = json.loads((Path(__file__).parent / "spelled_names.json").read_text(encoding="utf-8"))["types"]
TERM = re.compile(
    r"\b[a-z]+[A-Z]\w*\b|\b[a-z]+(?:\.[a-zA-Z]+)+\b|(?<=set )[a-z]\w+(?= to)|(?<=add )[a-z]\w+(?= to ignore_)"
)
# what a fix names beside inputs of the type itself: parameters of rules, hosts of labels, inputs and values of others
ELSEWHERE = re.compile(r"parameters\.[\w.-]*|[\w.-]+\.com[\w/-]*|minCapacity|availabilityZones|onStart")
TEMPLATE = "aws-native:ec2:LaunchTemplate"


def token_of(spelled: str) -> str:
    """The type that the rules read for one of another provider."""
    if spelled in SPELLINGS:
        return SPELLINGS[spelled].token
    _, service, name = spelled.split(":")
    return next(
        row.token for kind, row in CLOUDFORMATION.items()
        if kind.lower() == f"aws::{service}::{name}".lower()
    )  # fmt: skip


@cache
def spellings_of(token: str) -> tuple[str, ...]:
    return tuple(spelled for spelled in NAMES if token_of(spelled) == token)


FIXES = sorted({
    (each["type"], case["fix"])
    for case in CASES for each in case["bad"]
    if "fix" in case and each["name"] in (case.get("says") or {}) and spellings_of(each["type"])
})  # fmt: skip


@pytest.mark.parametrize(("token", "fix"), FIXES)
def test_a_fix_names_inputs_that_the_declared_type_has(token: str, fix: str) -> None:
    """Each spelling of a type has what the fix names, by the same or its own name, or the fix says what to do instead."""
    for spelled in spellings_of(token):
        said = in_own_terms(fix, declared(token, spelled))
        if said.startswith(f"declare it as {token}"):
            continue
        words = {word for term in TERM.findall(ELSEWHERE.sub("", said)) for word in term.split(".")}
        names = set(NAMES[spelled])
        names |= set(NAMES[TEMPLATE]) if any(each.startswith("launchTemplate") for each in names) else set()
        assert words <= names, f"{spelled}: {said}: state its own terms in policy/data/own_terms.csv"


def declared(token: str, spelled: str, **inputs: Any) -> RecordedResource:
    return RecordedResource(urn=f"urn:pulumi:dev::p::{spelled}::r", type=token, name="r", inputs=inputs)


@pytest.mark.parametrize(
    ("token", "spelled", "fix", "says"),
    [
        (
            COMPUTE,
            f"{ML}/computeInstance:ComputeInstance",
            "set enableNodePublicIp to false",
            "set nodePublicIpEnabled",
        ),
        (COMPUTE, f"{ML}/computeInstance:ComputeInstance", "set idleTimeBeforeShutdown to PT30M", "has no such input"),
        (COMPUTE, COMPUTE, "set idleTimeBeforeShutdown to PT30M", "set idleTimeBeforeShutdown to PT30M"),
    ],
)
def test_a_fix_is_in_the_terms_of_its_provider(token: str, spelled: str, fix: str, says: str) -> None:
    assert says in in_own_terms(fix, declared(token, spelled))


@pytest.mark.parametrize(("spelled", "waits"), [("aws:autoscaling/group:Group", True), (NATIVE_GROUP, False)])
def test_only_the_provider_that_waits_is_told_not_to(spelled: str, *, waits: bool) -> None:
    made = RecordedResource(
        urn=f"urn:pulumi:dev::p::{spelled}::g", type=spelled, name="g",
        inputs={"minSize": "1", "maxSize": "2", "desiredCapacity": "1"},
    )  # fmt: skip
    (thing,) = facts(Plan(project="p", stack="dev", resources=(made,)), load()).things
    assert (capacity_wait(thing, {}) is not None) == waits
