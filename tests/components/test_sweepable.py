"""After a killed or half-way update everything is found by its tags, and a second one is refused by its name.

The engine forgets what the cloud has made when it is killed: the sweep goes by tags, and a retry must not build twice.
Looked at is every resource of every component in every form that its tests write down, on all clouds.
"""

import json
import sys
from pathlib import Path

import sdk_types

from sizewell.resources.recorded import UNKNOWN

sys.path.insert(0, str(Path(__file__).parents[1] / "scanner"))

import judged_plans

IDENTITY = {"managed-by", "sizewell-stack", "sizewell-id"}
TAGS = {  # the input that a sweep reads, by package; Google Cloud's own `tags` are for policies
    "aws": ("tags",),
    "gcp": ("userLabels", "resourceLabels", "labels"),
    "azure-native": ("tags",),
}
NAMES = ("name", "bucket", "accountName", "resourceGroupName", "clusterName", "vmScaleSetName", "workspaceName")
UNNAMED = {  # whose name is left to the provider, and why nothing is built twice all the same
    "gcp:kms/keyRing:KeyRing": "a key ring cannot be deleted, so the next stack of the name needs another; it is free",
    "azure-native:monitor:AutoscaleSetting": "the name in the path is stated",
    "azure-native:network:PrivateDnsZoneGroup": "the name in the path is stated",
    "azure-native:network:Subnet": "the name in the path is stated",
}


def looked_at():
    for plan in judged_plans.forms().values():
        for one in plan.resources:
            if one.custom and not one.type.startswith("pulumi:"):
                yield one


def properties(one):
    args = sdk_types.args_class(one.type)
    return {} if args is None else sdk_types._properties(args)


def tags_of(one):
    """What a sweep reads on a resource; None where its type has nothing to read."""
    if one.type.startswith("kubernetes:"):
        metadata = one.inputs.get("metadata")
        return None if metadata is None else dict(metadata.get("labels") or {})
    known = properties(one)
    key = next((key for key in TAGS.get(one.type.partition(":")[0], ()) if key in known), None)
    if key is None:
        return None
    tags = one.inputs.get(key) or {}
    return {tag["key"]: tag["value"] for tag in tags} if isinstance(tags, (list, tuple)) else dict(tags)


def test_everything_that_can_carry_tags_says_whose_it_is():
    found = [(one, tags) for one in looked_at() if (tags := tags_of(one)) is not None]
    lacking = {(one.type, one.name) for one, tags in found if clouded(one) and IDENTITY - tags.keys()}
    assert lacking == set()
    assert len({one.type for one, _ in found}) > 80


def clouded(one):
    """Objects in a cluster end with it: they need no sweep."""
    return not one.type.startswith("kubernetes:")


def test_machines_and_disks_that_a_template_makes_say_whose_they_are():
    templates = [one for one in looked_at() if one.type == "aws:ec2/launchTemplate:LaunchTemplate"]
    assert len(templates) > 8
    for one in templates:
        made = {spec["resourceType"]: spec["tags"] for spec in one.inputs["tagSpecifications"]}
        assert {"instance", "volume", "network-interface"} <= made.keys(), one.name
        assert all(tags.keys() >= IDENTITY for tags in made.values()), one.name
    for one in looked_at():
        if one.type == "aws:autoscaling/group:Group":
            assert all(tag["propagateAtLaunch"] for tag in one.inputs["tags"]), one.name
        if one.type == "gcp:container/nodePool:NodePool":
            assert one.inputs["nodeConfig"]["resourceLabels"].keys() >= IDENTITY, one.name


def test_what_cloud_control_makes_says_whose_it_is_where_its_text_is_known():
    texts = [one.inputs.get("desiredState") for one in looked_at() if one.type == "aws:cloudcontrol/resource:Resource"]
    known = [json.loads(text) for text in texts if text is not UNKNOWN]
    assert known
    for state in known:
        assert {tag["Key"] for tag in state["Tags"]} >= IDENTITY


def test_every_name_is_stated_so_that_a_second_one_is_refused():
    """A name that the provider makes up is another one at the next try."""
    made_up = {
        (one.type, key, one.name)
        for one in looked_at()
        if one.type not in UNNAMED and clouded(one)
        for key in NAMES
        if key in properties(one) and one.inputs.get(key) is None
    }
    assert made_up == set()
