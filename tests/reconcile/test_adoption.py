"""Which resource an orphan is, and its identity: by the examples that the providers give under "Import"."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sizewell.components.tags import sizewell_id
from sizewell.reconcile.adoption import (
    Match,
    Wanted,
    id_from_inputs,
    identity_forms,
    import_id,
    sort_out,
    why_kept,
)
from sizewell.reconcile.reconciler import import_file, is_absence, wanted_of
from sizewell.recording.sources.state import State, StateResource
from sizewell.teardown.things import Thing

ROWS = identity_forms()
FROM_INPUTS = {kind: row.of_inputs for kind, row in ROWS.items() if row.of_inputs}
ACCOUNT = "arn:aws:%s:us-east-1:123456789012:%s"


@cache
def documented(kind: str) -> list[str]:
    """The identities in the provider's own examples of `pulumi import` for a type."""
    package, module, name = re.fullmatch(r"([a-z-]+):([^:]*):(\w+)", kind).groups()  # type: ignore[union-attr]
    module, _, leaf = module.partition("/")
    sdk = importlib.import_module(f"pulumi_{package.replace('-', '_')}.{module.replace('lambda', 'lambda_')}")
    text = Path(inspect.getfile(getattr(sdk, name))).read_text(encoding="utf-8")
    assert leaf or package == "azure-native"
    examples = re.findall(rf"pulumi import {re.escape(kind)} \S+ (.+)", text)
    examples += re.findall(r'terraform import google_\w+_member\.\S+ "([^"]+)"', text)  # where Pulumi's text lost it
    return [example.strip().strip('"') for example in examples]


def tidy(form: str) -> str:
    """Placeholders of a form as one word each."""
    return re.sub(r"\{[^}]+\}", "x", form)


# The SDK's text has no example of these: the forms are those of the Google provider's own pages, from memory. ARM ids
# are what Azure itself calls a resource.
UNJUDGED = {
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
    "gcp:projects/iAMCustomRole:IAMCustomRole",
    "gcp:projects/iAMMember:IAMMember",
    "gcp:serviceaccount/account:Account",
    "gcp:serviceaccount/iAMMember:IAMMember",
    "gcp:storage/bucketIAMMember:BucketIAMMember",
}
FORMS = sorted({kind for kind in FROM_INPUTS if kind.startswith(("aws:", "gcp:"))} - UNJUDGED)
LONGER = [kind for kind in FORMS if kind.startswith(("gcp:compute/", "aws:s3/", "aws:ec2/"))]  # to import


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.soak if kind in LONGER else ()) for kind in FORMS]
)
def test_identities_without_tags_have_a_documented_form(kind: str) -> None:
    examples = documented(kind)
    assert examples, kind
    form = FROM_INPUTS[kind]
    if kind == "aws:kms/alias:Alias":  # the slash is in its name
        assert all(example.startswith("alias/") for example in examples)
        return
    if kind == "aws:ssm/parameter:Parameter":  # slashes are in its name
        assert form == "{name}"
        assert all(example.startswith("/") for example in examples)
        return
    if kind == "aws:autoscaling/tag:Tag":  # slashes are in its key
        assert all(example.count(",") == tidy(form).count(",") == 1 for example in examples)
        return
    if kind == "aws:sqs/queuePolicy:QueuePolicy":  # the queue's address
        assert all(example.startswith("https://queue.") for example in examples)
        return
    if kind.endswith("Member"):  # the resource, the role, the member
        assert any(len(example.split(" ")) == len(form.split(" ")) == 3 for example in examples)
        return
    fitting = [example for example in examples if tidy(form).count("/") == example.count("/") or "arn:" in example]
    assert fitting, (form, examples)
    literal = [word for word in re.sub(r"\{[^}]+\}", "", form).split("/") if word.isalpha()]
    assert any(all(word in example for word in literal) for example in fitting), (literal, examples)
    for separator in ":_":
        assert (separator in tidy(form)) <= any(separator in example for example in fitting), (form, fitting)


@pytest.mark.parametrize("kind", [kind for kind, row in ROWS.items() if row.of_arn == "{arn}"])
def test_what_is_imported_by_its_arn(kind: str) -> None:
    assert all(example.startswith("arn:") for example in documented(kind)), documented(kind)


@pytest.mark.parametrize(
    ("kind", "service", "rest", "identity"),
    [
        ("aws:ec2/vpc:Vpc", "ec2", "vpc/vpc-1", "vpc-1"),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", "ec2", "vpc-endpoint/vpce-1", "vpce-1"),
        ("aws:ec2/launchTemplate:LaunchTemplate", "ec2", "launch-template/lt-1", "lt-1"),
        ("aws:eks/cluster:Cluster", "eks", "cluster/train", "train"),
        ("aws:eks/nodeGroup:NodeGroup", "eks", "nodegroup/train/gpus/6e0a-1", "train:gpus"),
        ("aws:eks/addon:Addon", "eks", "addon/train/vpc-cni/6e0a-1", "train:vpc-cni"),
        ("aws:iam/role:Role", "iam", "role/sizewell/nodes", "nodes"),
        ("aws:iam/instanceProfile:InstanceProfile", "iam", "instance-profile/nodes", "nodes"),
        ("aws:kms/key:Key", "kms", "key/1234-5678", "1234-5678"),
        ("aws:cloudwatch/logGroup:LogGroup", "logs", "log-group:/aws/vpc/flow", "/aws/vpc/flow"),
        ("aws:cloudwatch/metricAlarm:MetricAlarm", "cloudwatch", "alarm:train-idle", "train-idle"),
        ("aws:s3/bucket:Bucket", "s3", "petsnap-data", "petsnap-data"),
        ("aws:sns/topic:Topic", "sns", "notices", ACCOUNT % ("sns", "notices")),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", "fsx", "file-system/fs-1", "fs-1"),
        ("aws:autoscaling/group:Group", "autoscaling", "autoScalingGroup:7f3c:autoScalingGroupName/nodes", "nodes"),
        ("aws:budgets/budget:Budget", "budgets", "budget/gpus", "123456789012:gpus"),
        ("aws:cloudwatch/eventRule:EventRule", "events", "rule/bus/stop", "bus/stop"),
        ("aws:ecr/repository:Repository", "ecr", "repository/sizewell/chat", "sizewell/chat"),
        ("aws:ecs/service:Service", "ecs", "service/cluster/chat", "cluster/chat"),
        (
            "aws:eks/accessEntry:AccessEntry",
            "eks",
            "access-entry/train/role/123456789012/nodes/6e0a",
            "train:arn:aws:iam::123456789012:role/nodes",
        ),
        (
            "aws:eks/podIdentityAssociation:PodIdentityAssociation",
            "eks",
            "podidentityassociation/train/a-1",
            "train,a-1",
        ),
        ("aws:s3/accessPoint:AccessPoint", "s3", "accesspoint/data", "123456789012:data"),
        ("aws:sqs/queue:Queue", "sqs", "lost", "https://sqs.us-east-1.amazonaws.com/123456789012/lost"),
    ],
)
def test_an_arn_gives_the_identity_that_is_imported(kind: str, service: str, rest: str, identity: str) -> None:
    assert import_id(kind, ACCOUNT % (service, rest)) == identity
    assert any(example.startswith("arn:") == identity.startswith("arn:") for example in documented(kind))
    assert any(example.count(":") == identity.count(":") for example in documented(kind))


TYPES = re.compile(r"aws:[a-zA-Z0-9]+/[a-zA-Z0-9]+:[A-Z][A-Za-z0-9]+")


def test_each_tagged_type_is_imported_as_its_provider_documents() -> None:
    """Every type of AWS that the package names: one whose examples are whole ARNs, or made of several parts, is listed.
    An example of one word is what ends an ARN.
    """
    source = Path(__file__).parents[2] / "src/sizewell"
    files = [*source.rglob("*.py"), source / "reconcile/data/identities.csv"]
    kinds = {kind for path in files for kind in TYPES.findall(path.read_text(encoding="utf-8"))}
    checked, wrong = 0, []
    for kind in sorted(kinds):
        package, name = re.fullmatch(r"aws:(\w+)/\w+:(\w+)", kind).groups()  # type: ignore[union-attr]
        made = getattr(importlib.import_module(f"pulumi_aws.{package}".replace(".lambda", ".lambda_")), name)
        if "tags" not in inspect.signature(made._internal_init).parameters:
            continue
        examples = [example for example in documented(kind) if "outpost" not in example]
        checked += bool(examples)
        if examples and all(example.startswith("arn:") for example in examples):
            wrong += [(kind, examples)] if kind not in ROWS or ROWS[kind].of_arn != "{arn}" else []
        elif any(mark in example for mark in (":", ",", "/") for example in examples):
            row = ROWS.get(kind)
            wrong += [] if row and (row.of_arn not in ("", "{arn}") or row.of_inputs) else [(kind, examples)]
    assert wrong == []
    assert checked > 60


@pytest.mark.parametrize("kind", [kind for kind, row in ROWS.items() if not row.imported])
def test_what_its_provider_says_it_does_not_import(kind: str) -> None:
    package, name = re.fullmatch(r"gcp:(\w+)/\w+:(\w+)", kind).groups()  # type: ignore[union-attr]
    sdk = importlib.import_module(f"pulumi_gcp.{package}")
    assert "does not support import" in Path(inspect.getfile(getattr(sdk, name))).read_text(encoding="utf-8")


def test_what_cannot_be_imported_is_said_and_not_adopted() -> None:
    kind = "gcp:workflows/workflow:Workflow"
    state = State(project="sizewell", stack="dev-aws", resources=(), pending_operations=())
    identity = "workflows.googleapis.com/projects/p/locations/l/workflows/end"
    flow = Thing(identity=identity, kind="workflows.googleapis.com/Workflow", tags={"sizewell-id": tag(kind, "end")})
    found = sort_out([flow], state, [wanted(kind, "end")], tag)
    assert (found.matches, found.unmatched, found.pending) == ((), (), ())
    assert found.refused == ((flow, "its provider does not import a Workflow"),)


def test_asset_names_and_arm_ids() -> None:
    node_pool = "container.googleapis.com/projects/p/locations/l/clusters/c/nodePools/n"
    assert import_id("gcp:container/nodePool:NodePool", node_pool) == "p/l/c/n"
    assert import_id("gcp:pubsub/topic:Topic", "pubsub.googleapis.com/projects/p/topics/t") == "projects/p/topics/t"
    arm = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d"
    assert import_id("azure-native:compute:Disk", arm) == arm


# Who is who -----------------------------------------------------------------------------------------------------------


def tag(kind: str, name: str) -> str:
    return sizewell_id(project="sizewell", stack="dev-aws", type_token=kind, name=name)


def thing(identity: str, kind: str = "", name: str = "") -> Thing:
    return Thing(identity=identity, kind="ec2 vpc", tags={"sizewell-id": tag(kind, name)} if kind else {})


def wanted(kind: str, called: str, **inputs: Any) -> Wanted:
    return Wanted(urn=f"urn:pulumi:dev-aws::sizewell::{kind}::{called}", type=kind, name=called, inputs=inputs)


VPC, ALIAS = "aws:ec2/vpc:Vpc", "aws:kms/alias:Alias"


def test_an_orphan_is_met_by_its_tag_and_what_is_there_twice_is_not_touched() -> None:
    known = StateResource(urn="u", type=VPC, name="standing", id="vpc-0")
    state = State(project="sizewell", stack="dev-aws", resources=(known,))
    orphans = [
        thing("vpc-1", VPC, "net"),
        thing("vpc-2", VPC, "standing"),  # a second one of what is known
        thing("vpc-3", VPC, "double"),
        thing("vpc-4", VPC, "double"),
        thing("vpc-5", VPC, "of-an-older-release"),
        thing("vpc-6"),
    ]
    begun = [wanted(VPC, "net"), wanted(VPC, "double"), wanted(ALIAS, "key", name="alias/x"), wanted(VPC, "never")]
    found = sort_out(orphans, state, begun, tag)
    assert [(match.wanted.name, match.identity, match.thing is None) for match in found.matches] == [
        ("net", "vpc-1", False),
        ("key", "alias/x", True),
    ]
    assert sorted(each.identity for each in found.duplicates) == ["vpc-2", "vpc-3", "vpc-4"]
    assert [each.identity for each in found.unmatched] == ["vpc-5", "vpc-6"]
    assert found.pending == (wanted(VPC, "never").urn,)


def test_inputs_that_say_too_little_give_no_identity() -> None:
    provider = StateResource(urn="p", type="pulumi:providers:gcp", name="r", id="1", inputs={"project": "petsnap"})
    state = State(project="sizewell", stack="dev-gcp", resources=(provider,))
    network = Wanted(urn="u", type="gcp:compute/network:Network", name="n", inputs={"name": "net"}, provider="p::1")
    assert id_from_inputs(network, state) == "projects/petsnap/global/networks/net"
    ring = Wanted(urn="u", type="gcp:kms/keyRing:KeyRing", name="n", inputs={"location": "us"}, provider="p::1")
    assert id_from_inputs(ring, state) == ""


ROLE_POLICY, SERVICE = "aws:iam/rolePolicy:RolePolicy", "gcp:projects/serviceIdentity:ServiceIdentity"


def named(kind: str, called: str, *needs: str, **inputs: Any) -> Wanted:
    """What only the program names."""
    urn = f"urn:pulumi:dev-aws::sizewell::{kind}::{called}"
    return Wanted(urn=urn, type=kind, name=called, inputs=inputs, listed=called, needs=needs)


def test_what_carries_no_tag_is_met_by_name_where_an_update_can_have_begun_it() -> None:
    state = State(project="sizewell", stack="dev-aws", resources=(StateResource(urn="u", type=VPC, name="v", id="1"),))
    begun = [
        named(ROLE_POLICY, "there", "u", role="nodes", name="read"),
        named(ROLE_POLICY, "not-yet", "not-in-the-state", role="nodes", name="write"),
        named(VPC, "a-list-would-show-it", "u", tags={"sizewell-id": "x"}),
        named(ALIAS, "name-not-known", "u", name="alias/04da6b54-80e4-46f7-96ec-b56ff0331ba9"),
        named(SERVICE, "identity", project="p"),
        named("aws:autoscaling/tag:Tag", "label", "u", autoscalingGroupName="g", tag={"key": "k/v", "value": "1"}),
    ]
    found = sort_out([], state, begun, tag)
    assert [(match.wanted.name, match.identity) for match in found.matches] == [
        ("there", "nodes:read"),
        ("label", "g,k/v"),
    ]
    assert [match.by_name_alone for match in found.matches] == [False, False]
    (network,) = sort_out([], state, [named("gcp:compute/network:Network", "n", name="net", project="p")], tag).matches
    assert network.by_name_alone  # nothing of the state says that it is ours: not to be deleted
    assert [urn.rpartition("::")[2] for urn in found.unseen] == ["name-not-known", "identity"]
    assert found.pending == ()


@pytest.mark.parametrize(
    ("said", "absent"),
    [
        ("Preview failed: resource 'alias/x' does not exist", True),
        ("Cannot import non-existent remote object", True),
        ("googleapi: Error 404: Not found", True),
        ("AccessDenied: User is not authorized to perform iam:GetRolePolicy", False),
        ("dial tcp: i/o timeout", False),
        ("AccessDenied: arn:aws:iam::140412345678:role/x is not authorized: no policy was not found", False),
        ("InternalError: request 9404a1 failed", False),
        ("failed to get shared config profile, prod: not found", False),
        ("StatusCode: 503: upstream not found", False),
        ("aws:iam/instanceProfile:InstanceProfile resource 'web' does not exist", True),
    ],
)
def test_only_a_clear_answer_says_that_nothing_is_there(said: str, absent: bool) -> None:
    assert is_absence(said) is absent


def test_what_only_the_program_names_is_imported_as_the_engine_lists_it() -> None:
    creations = {
        "nameTable": {"there": "urn:pulumi:dev-aws::sizewell::a:b:C::there"},
        "resources": [
            {"type": "x:y:Group", "name": "above", "component": True, "id": "<PLACEHOLDER>"},
            {"type": "x:y:Other", "name": "beside", "component": True, "id": "<PLACEHOLDER>"},
            {"type": VPC, "name": "netVpc", "logicalName": "net", "parent": "above", "id": "<PLACEHOLDER>"},
            {"type": VPC, "name": "old", "parent": "there", "id": "<PLACEHOLDER>"},
        ],
    }
    found = {each.listed: each for each in wanted_of(creations, "sizewell", "dev-aws")}
    assert found["netVpc"].urn == f"urn:pulumi:dev-aws::sizewell::x:y:Group${VPC}::net"
    assert found["old"].urn == f"urn:pulumi:dev-aws::sizewell::a:b:C${VPC}::old"
    file = import_file(creations, [Match(wanted=found["netVpc"], identity="vpc-1")])
    assert [(each["name"], each["id"]) for each in file["resources"]] == [
        ("above", "<PLACEHOLDER>"),
        ("netVpc", "vpc-1"),
    ]


def entry(name: str, kind: str, **more: Any) -> StateResource:
    return StateResource(urn=f"urn:pulumi:dev-aws::sizewell::{kind}::{name}", type=kind, name=name, id=name, **more)


NET = entry("net", VPC)
WITHIN = {
    "nothing else": ((), "", ""),
    "protected itself": ((entry("net", VPC, protect=True),), "it is protected", "it is protected"),
    "a protected dependent": (
        (NET, entry("sub", "aws:ec2/subnet:Subnet", dependencies=(NET.urn,), protect=True)),
        *2 * ("sub depends on it and is protected",),
    ),
    "data two steps away": (
        (
            NET,
            entry("sub", "aws:ec2/subnet:Subnet", dependencies=(NET.urn,)),
            entry(
                "fs",
                "aws:fsx/lustreFileSystem:LustreFileSystem",
                parent="urn:pulumi:dev-aws::sizewell::aws:ec2/subnet:Subnet::sub",
            ),
        ),
        "fs depends on it and holds data (file system)",
        "",
    ),
    "data that a destroy retains": (
        (NET, entry("fs", "aws:efs/fileSystem:FileSystem", dependencies=(NET.urn,), retain_on_delete=True)),
        *("", ""),
    ),
    "data beside it": ((NET, entry("fs", "aws:efs/fileSystem:FileSystem")), "", ""),
    "a bucket's settings": (
        (NET, entry("policy", "aws:s3/bucketPolicy:BucketPolicy", dependencies=(NET.urn,))),
        *("", ""),
    ),
}


@pytest.mark.parametrize("case", WITHIN)
def test_what_goes_with_a_resource_is_looked_at_before_it_is_destroyed(case: str) -> None:
    resources, without, with_data = WITHIN[case]
    state = State(project="sizewell", stack="dev-aws", resources=resources, pending_operations=())
    assert why_kept(NET.urn, state, data=False) == without
    assert why_kept(NET.urn, state, data=True) == with_data


def lost(name: str, kind: str, **more: Any) -> Wanted:
    return Wanted(urn=f"urn:pulumi:dev-aws::sizewell::{kind}::{name}", type=kind, name=name, listed=name, **more)


def test_of_a_lost_state_what_depends_on_something_unseen_is_listed_too() -> None:
    """After an update that was killed it is not: nothing is begun before what it depends on is in the state."""
    hidden = lost("hidden", "aws:x/hidden:Hidden", inputs={})
    below = lost("below", "aws:x/below:Below", inputs={}, needs=(hidden.urn,))
    group = lost("group", VPC, inputs={}, parent="urn:pulumi:dev-aws::sizewell::a:b:C::component")
    net = lost("net", VPC, inputs={}, needs=("urn:pulumi:dev-aws::sizewell::aws:x/hidden:Hidden::hidden",))
    thing = Thing(identity="vpc-1", kind="ec2 vpc", tags={"sizewell-id": "tag-of-net"})
    state = State(project="sizewell", stack="dev-aws", resources=(), pending_operations=())

    def sort(*things: Thing, wanted: Any = (hidden, below, group, net), **more: Any) -> tuple[bool, set[str]]:
        found = sort_out(things, state, wanted, lambda _, name: f"tag-of-{name}", **more)
        return found.behind, set(found.unseen)

    assert sort() == (False, {hidden.urn})  # `net` carries no tag here, as nothing with it was found
    assert sort(thing) == (True, {hidden.urn, below.urn, group.urn})
    assert sort(wanted=[below], doubtful=[hidden.urn]) == (False, {below.urn})


ASG, AKS = "aws:autoscaling/group:Group", "azure-native:containerservice:ManagedCluster"
GROUP_ARN = ACCOUNT % ("autoscaling", "autoScalingGroup:7f3c:autoScalingGroupName/train-nodes")
RG = "/subscriptions/s/resourceGroups"


def of_group(kind: str, identity: str, maker: str = "train-nodes") -> Thing:
    tags = {"sizewell-id": "tag-of-train", **({"aws:autoscaling:groupName": maker} if maker else {})}
    return Thing(identity=identity, kind=kind, region="us-east-1", tags=tags)


MACHINES = [of_group("ec2 instance", ACCOUNT % ("ec2", f"instance/i-{number}")) for number in range(2)]
DISK = of_group("ec2 volume", ACCOUNT % ("ec2", "volume/vol-1"), maker="")
GROUP = of_group("autoscaling autoScalingGroup", GROUP_ARN, maker="")
CLUSTER = [
    Thing(identity=f"{RG}/{group}/providers/{kind}/{name}", kind=kind, tags={"sizewell-id": "tag-of-train"})
    for group, kind, name in (
        ("dev", "Microsoft.ContainerService/managedClusters", "train"),
        ("MC_dev_train", "Microsoft.Network/loadBalancers", "kubernetes"),
        ("MC_dev_train", "Microsoft.Network/publicIPAddresses", "7c"),
    )
]


@pytest.mark.parametrize(
    ("type_", "things", "identities", "twice", "left"),
    [
        pytest.param(ASG, [GROUP], ["train-nodes"], 0, 0, id="a group"),
        pytest.param(ASG, [*MACHINES, GROUP, DISK], ["train-nodes"], 0, 0, id="and what it made"),
        pytest.param(ASG, MACHINES, ["train-nodes"], 0, 0, id="its machines alone"),
        pytest.param(ASG, [MACHINES[0]], ["train-nodes"], 0, 0, id="one machine alone"),
        pytest.param(ASG, [DISK], [], 0, 1, id="a disk alone is no group"),
        pytest.param(ASG, [GROUP, GROUP], [], 2, 0, id="two groups"),
        pytest.param(AKS, CLUSTER, [CLUSTER[0].identity], 0, 0, id="a cluster with what AKS makes"),
    ],
)
def test_machines_that_carry_a_group_s_tag_are_not_the_group(
    type_: str, things: list[Thing], identities: list[str], twice: int, left: int
) -> None:
    state = State(project="sizewell", stack="dev-aws", resources=(), pending_operations=())
    wanted = lost("train", type_, inputs={"tags": {"sizewell-id": "tag-of-train"}})
    found = sort_out(things, state, [wanted], lambda _, name: f"tag-of-{name}")
    assert [match.identity for match in found.matches] == identities
    assert (len(found.duplicates), len(found.unmatched)) == (twice, left)


def test_a_role_is_asked_about_although_no_state_has_its_component() -> None:
    """A kill can cut the state off before it; what has no identity is not listed then, as nobody could tell it is there."""
    state = State(project="sizewell", stack="dev-aws", resources=(), pending_operations=())
    above = "urn:pulumi:dev-aws::sizewell::sizewell-aws:index:GpuNodeGroup::train"
    tags = {"sizewell-id": "tag-of-start"}
    role = lost("start", "aws:iam/role:Role", inputs={"name": "train-start", "tags": tags}, parent=above)
    beside = lost("sub", "aws:sns/topicSubscription:TopicSubscription", inputs={}, parent=above)
    found = sort_out([], state, [role, beside], lambda _, name: f"tag-of-{name}")
    assert [match.identity for match in found.matches] == ["train-start"]
    assert found.unseen == ()


def test_of_a_known_group_a_disk_that_was_left_is_no_duplicate() -> None:
    group = StateResource(urn="u", type=ASG, name="train", id="train-nodes", outputs={"name": "train-nodes"})
    state = State(project="sizewell", stack="dev-aws", resources=(group,), pending_operations=())
    found = sort_out([DISK, GROUP], state, [], lambda _, name: f"tag-of-{name}")
    assert (found.duplicates, found.unmatched) == ((GROUP,), (DISK,))
