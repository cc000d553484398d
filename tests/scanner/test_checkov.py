"""Checkov judges every stack and component; what fails is fixed or stands in skips.yaml with its reason."""

import importlib
import pkgutil
from pathlib import Path

import pytest
from checkov_run import SKIPS, judge, skip_of
from judged_plans import forms, slug, stacks
from to_arm import arm
from to_terraform import NAMES, UntranslatedError, terraform

from sizewell.policy import rules
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.values import canonical

pytestmark = pytest.mark.scan
ROOT = Path(__file__).parent.parent.parent


def plan(*resources):
    return Plan(project="p", stack="s", resources=resources)


def one(kind, name, inputs, **more):
    return RecordedResource(urn=f"urn:pulumi:s::p::{kind}::{name}", type=kind, name=name, inputs=inputs, **more)


def test_nothing_fails_but_the_documented_skips(tmp_path):
    every = {one.stack: one for one in stacks()} | {slug(name): one for name, one in forms().items()}
    report = judge(every, tmp_path)
    assert report.unread == ()
    unexpected = [str(failed) for failed in report.failed if skip_of(failed) is None]
    assert not unexpected, "\n".join(["fix the component, or say why not in tests/scanner/skips.yaml:", *unexpected])
    used = {skip_of(failed) for failed in report.failed}
    unused = [f"{skip['check']} {skip['scope']}" for place, skip in enumerate(SKIPS) if place not in used]
    assert not unused, f"skips that nothing needs: {unused}"
    assert report.passed > 1500
    made = {canonical(one.type) for plan in every.values() for one in plan.resources if one.custom}
    types = {NAMES["terraform"].get(kind) or NAMES["arm"].get(kind, [None])[0] for kind in made} - {None}
    assert sorted(types - report.judged) == sorted(types & set(NAMES["unjudged"]))


def test_every_component_is_among_them():
    registered = {
        f"sizewell-{cloud}:index:{name}"
        for cloud in ("aws", "gcp", "azure")
        for package in [importlib.import_module(f"sizewell.components.{cloud}")]
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for name, made in vars(importlib.import_module(module.name)).items()
        if isinstance(made, type)
        and made.__module__ == module.name
        and any(base.__name__ == "Owned" for base in made.__mro__[1:])
    }
    judged = {one.type for plan in (*stacks(), *forms().values()) for one in plan.resources if not one.custom}
    assert registered
    assert sorted(registered - judged) == []


def test_each_skip_has_a_reason_and_a_rule_that_exists():
    known = {rule.id for rule in rules.RULES}
    for skip in SKIPS:
        held_by = {"test"} if "test" in skip else {"rule", "weakness"}
        assert set(skip) - {"plans"} == {"check", "scope", "reason", *held_by}
        assert len(skip["reason"].split()) >= 5
        assert (ROOT / skip["test"]).is_file() if "test" in skip else skip["rule"] in known, skip


def test_a_bucket_and_what_protects_it_are_tied_together():
    bucket = one("aws:s3/bucket:Bucket", "store", {"bucket": "store-1", "forceDestroy": False}, protect=True)
    block = one(
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
        "store",
        {"bucket": UNKNOWN, "blockPublicAcls": True},
        property_dependencies={"bucket": [bucket.urn]},
    )
    text = terraform(plan(bucket, block))
    assert "bucket = aws_s3_bucket.store.id" in text
    assert "block_public_acls = true" in text
    assert "prevent_destroy = true" in text


def test_objects_become_blocks_maps_stay_maps_and_nothing_is_made_up():
    template = one(
        "aws:ec2/launchTemplate:LaunchTemplate",
        "nodes",
        {
            "tags": {"owner": "me", "odd.key": "${x}"},
            "metadataOptions": {"httpTokens": "required"},
            "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "kmsKeyId": UNKNOWN}}],
            "userData": UNKNOWN,
            "keyName": None,
        },
    )
    text = terraform(plan(template))
    assert 'tags = { "owner" = "me", "odd.key" = "$${x}" }' in text
    assert "  metadata_options {\n    http_tokens = " in text
    assert "  block_device_mappings {\n" in text
    assert "kms_key_id = var.known_after_apply" in text
    assert "user_data = var.known_after_apply" in text
    assert "key_name" not in text


def test_what_cannot_be_named_says_so():
    with pytest.raises(UntranslatedError, match=r"aws:x/y:Y.*types.yaml"):
        terraform(plan(one("aws:x/y:Y", "y", {})))
    with pytest.raises(UntranslatedError, match=r"azure-native:x:Y.*types.yaml"):
        arm(plan(one("azure-native:x:Y", "y", {})))


def test_azure_children_are_named_below_their_parent():
    account = one("azure-native:storage:StorageAccount", "store", {"accountName": "petsnap", "sku": {"name": "x"}})
    container = one(
        "azure-native:storage:BlobContainer",
        "box",
        {"accountName": UNKNOWN, "containerName": "c", "publicAccess": "None"},
        property_dependencies={"accountName": [account.urn]},
    )
    text = arm(plan(account, container))
    assert '"name": "petsnap/default/c"' in text
    assert '"publicAccess": "None"' in text
