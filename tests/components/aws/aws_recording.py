"""Record what an AWS component makes, check it against the SDK's types, and print it as a person reads it."""

import base64
import json
from pathlib import Path

import golden_files
import pulumi
import pytest
import sdk_types

from sizewell.recording.evaluate import evaluate
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.errors import ArgsError

ROOT = Path(__file__).parents[3]
GOLDENS = Path(__file__).parent / "goldens"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/components/aws"
UNTAGGED = (  # types that AWS cannot tag, or that have no tags of their own
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:kms/alias:Alias",
    "aws:kms/grant:Grant",
    "aws:sqs/queuePolicy:QueuePolicy",
    "aws:sns/topicPolicy:TopicPolicy",
    "aws:sns/topicSubscription:TopicSubscription",
    "aws:cloudwatch/eventTarget:EventTarget",
    "aws:autoscaling/schedule:Schedule",
    "aws:autoscaling/tag:Tag",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketPolicy:BucketPolicy",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration",
    "aws:s3/bucketLogging:BucketLogging",
    "aws:s3/bucketNotification:BucketNotification",
    "aws:appautoscaling/policy:Policy",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    "aws:cloudcontrol/resource:Resource",
    "aws:scheduler/schedule:Schedule",  # its group is tagged
    "aws:costexplorer/costAllocationTag:CostAllocationTag",
)
PLACE = {
    "region": "us-east-1",
    "zones": ["us-east-1a", "us-east-1b"],
    "vpc_id": "vpc-1",
    "vpc_cidr": "10.40.0.0/16",
    "subnet_ids": ["subnet-1", "subnet-2"],
    "s3_prefix_list_id": "pl-1",
}
OWNED = {"environment": "dev", "owner": "ml-platform", "cost_center": "ml-1234", "expires": "2026-09-22"}
PROD = {"environment": "prod", "owner": "ml-platform", "cost_center": "ml-1234", "account": "123456789012"}
GUARD = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}


def record(program, stack="dev-aws", config=None):
    """All resources that `program()` registers."""
    return evaluate(ROOT, stack, program=program, config=config).resources


def children(resources):
    return [one for one in resources if one.custom and not one.type.startswith("pulumi:")]


def component(resources, token):
    return next(one for one in resources if one.type == token)


def only(resources, token, name=None):
    """The one resource of a type (and name)."""
    found = [one for one in resources if one.type == token and name in (None, one.name)]
    assert len(found) == 1, f"{token} {name}: {[one.name for one in found]}"
    return found[0]


def check_right(resources):
    """What holds for every component: keys and types are the SDK's, all is parented, tagged, deterministic in name."""
    for one in children(resources):
        if one.type.startswith("aws:"):
            inputs = {key: value for key, value in plain(one.inputs).items() if value is not None}
            assert sdk_types.faults(one.type, inputs) == [], f"{one.type} {one.name}"
        assert one.parent is not None, one.name
        assert "pulumi:pulumi:Stack" not in one.parent.rsplit("::", 2)[1].rsplit("$", 1)[-1], (
            f"{one.name} has no parent"
        )
        if one.type.startswith("aws:") and one.type not in UNTAGGED:
            tags = tags_of(one)
            assert tags.get("managed-by") == "sizewell", f"{one.type} {one.name} is not tagged"
            assert len(tags.get("sizewell-id", "")) == 16, f"{one.type} {one.name} has no id"
    ids = [tags["sizewell-id"] for one in children(resources) if (tags := tags_of(one))]
    assert len(set(ids)) == len(ids)
    for one in children(resources):
        if one.type.endswith("SecurityGroupIngressRule"):
            assert one.inputs.get("cidrIpv4") not in ("0.0.0.0/0", "::/0")


def tags_of(one):
    """Tags as a map; a group's are a list."""
    tags = one.inputs.get("tags") or {}
    return {tag["key"]: tag["value"] for tag in tags} if isinstance(tags, (list, tuple)) else tags


def plain(value):
    """Recorded values as on the wire: the unknown sentinel in place of UNKNOWN."""
    if value is UNKNOWN:
        return sdk_types.UNKNOWN
    if isinstance(value, dict) or hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def listing(resources):
    """Resources as text: type, name, options, inputs; policies and documents unfolded, tags left out."""
    lines = []
    ours = [one for one in resources if not one.type.startswith("pulumi:")]
    for one in sorted(ours, key=lambda one: (one.custom, one.type, one.name)):
        marks = [
            mark
            for mark, holds in (
                ("protected", one.protect),
                ("retained", one.retain_on_delete),
                (f"ignores {', '.join(one.ignore_changes)}", bool(one.ignore_changes)),
            )
            if holds
        ]
        lines += ["", f"{one.type}  {one.name}" + (f"  [{'; '.join(marks)}]" if marks else "")]
        for key, value in sorted(one.inputs.items()):
            if key not in ("tags", "tagSpecifications") and value is not None:
                lines += _lines(key, value, "  ")
    return "\n".join(lines).lstrip() + "\n"


def _lines(key, value, indent):
    if value is UNKNOWN:
        return [f"{indent}{key}: ?"]
    if isinstance(value, str) and value.startswith(('{"', "{\n", "[{", '["')):
        value = json.loads(value)
    if key in ("userData", "onStart", "onCreate") and isinstance(value, str):
        text = base64.b64decode(value).decode()
        return [f"{indent}{key}:", *(f"{indent}  | {line}".rstrip() for line in text.splitlines())]
    if hasattr(value, "items"):
        out = [f"{indent}{key}:"]
        for inner, item in sorted(value.items()):
            out += _lines(inner, item, indent + "  ") if item is not None else []
        return out
    if isinstance(value, (list, tuple)):
        if all(item is UNKNOWN or not (hasattr(item, "items") or isinstance(item, (list, tuple))) for item in value):
            return [f"{indent}{key}: [{', '.join('?' if item is UNKNOWN else str(item) for item in value)}]"]
        out = [f"{indent}{key}:"]
        for item in value:
            out += _lines("-", item, indent + "  ")
        return out
    if isinstance(value, str) and "\n" in value:
        return [f"{indent}{key}:", *(f"{indent}  | {line}".rstrip() for line in value.splitlines())]
    return [f"{indent}{key}: {value}"]


def golden(name, resources):
    golden_files.check(GOLDENS / f"{name}.txt", listing(resources), REFRESH)


def refusals(cls, args):
    """(path, sentence) of every fault that a component finds in `args`; it registers nothing."""
    with pytest.raises(ArgsError) as caught:
        cls("x", args, pulumi.ResourceOptions())
    return {(fault.path, str(fault)) for fault in caught.value.faults}
