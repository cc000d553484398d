"""Pre-flight on AWS: each planted fault is the one that is told, and its healthy twin tells nothing.

Answers have the shapes of botocore's models, against which each is validated; IAM, KMS, STS and SNS are also asked of
moto.
"""

from __future__ import annotations

import copy
import time
from datetime import UTC, datetime
from typing import Any

import boto3
import botocore.client
import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from moto import mock_aws

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import Deadline
from sizewell.clouds.preflight import aws as preflight_aws
from sizewell.clouds.preflight import rights
from sizewell.clouds.preflight.run import preflight
from tests.clouds.preflight_needs import Declared, by_state, machines, needs

ACCOUNT, REGION = "123456789012", "us-east-1"
IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-al2023/latest/ami-id"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0a1b2c3d-0000-4000-8000-000000000000"
MIRROR = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/images/nvidia/k8s-device-plugin:v0.17.4"
RESOURCES = (
    Declared("sizewell-aws:index:EksCluster", "cluster", {"zones": ["us-east-1a", "us-east-1b"]}),
    Declared("aws:ec2/vpc:Vpc", "net", {}),
    Declared("aws:iam/role:Role", "nodes", {}),
    Declared("aws:ec2/fleet:Fleet", "spot", {}),
    Declared("aws:eks/nodeGroup:NodeGroup", "nodes", {}),
    Declared("aws:ec2/launchTemplate:LaunchTemplate", "nodes", {"imageId": f"resolve:ssm:{IMAGE}"}),
    Declared("aws:sns/topic:Topic", "notices", {"name": "notices"}),
    Declared(
        "aws:sns/topicSubscription:TopicSubscription",
        "notices-0",
        {"protocol": "email", "endpoint": "ml@petsnap.example"},
    ),
    Declared("aws:budgets/budget:Budget", "b", {"costFilters": [{"values": ["user:sizewell-stack$dev"]}]}),
    Declared("kubernetes:helm.sh/v3:Release", "plugins", {"values": {"image": MIRROR}}),
)
TOPIC = f"arn:aws:sns:{REGION}:{ACCOUNT}:notices"
CONFIG = {"network": {"kms_key_arn": KEY}, "images": {"chat": "ami-0123456789abcdef0"}}


def zone(
    name: str, zone_id: str, kind: str = "availability-zone", opt_in: str = "opt-in-not-required"
) -> dict[str, Any]:
    group = name.rstrip("abc") if kind == "availability-zone" else name.rstrip("a")
    return {"ZoneName": name, "ZoneId": zone_id, "ZoneType": kind, "OptInStatus": opt_in, "GroupName": group}


def healthy() -> dict[tuple[str, str], Any]:
    return {
        ("sts", "GetCallerIdentity"): {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/deployer"},
        ("ec2", "DescribeRegions"): {"Regions": [{"RegionName": REGION, "OptInStatus": "opt-in-not-required"}]},
        ("ec2", "DescribeAvailabilityZones"): {
            "AvailabilityZones": [
                zone("us-east-1a", "use1-az1"),
                zone("us-east-1b", "use1-az2"),
                zone("us-east-1-atl-2a", "use1-atl2-az1", "local-zone", "not-opted-in"),
            ]
        },
        ("ec2", "DescribeInstanceTypeOfferings"): lambda asked: {
            "InstanceTypeOfferings": [
                {"InstanceType": "p5.48xlarge", "LocationType": asked["LocationType"], "Location": place}
                for place in (["us-east-1a"] if asked["LocationType"] == "availability-zone" else ["use1-az1"])
            ]
        },
        ("service-quotas", "GetServiceQuota"): {
            "Quota": {"QuotaName": "Running On-Demand P instances", "Value": 384.0}
        },
        ("ec2", "DescribeInstances"): running(
            {"Tags": [{"Key": "sizewell-stack", "Value": "dev"}]},  # the stack's own, which it counts itself
            {"InstanceLifecycle": "capacity-block"},
            {"InstanceLifecycle": "spot"},
            {"InstanceType": "t3.micro"},
        ),
        ("ssm", "GetParameters"): {"Parameters": [{"Name": IMAGE, "Value": "ami-1"}]},
        ("ec2", "DescribeImages"): {"Images": [{"ImageId": "ami-0123456789abcdef0", "State": "available"}]},
        ("sns", "ListSubscriptions"): subscribed(f"{TOPIC}:1"),
        ("sns", "ListTopics"): {"Topics": [{"TopicArn": TOPIC}]},
        ("sns", "GetSubscriptionAttributes"): {"Attributes": {"Protocol": "email", "PendingConfirmation": "false"}},
        ("kms", "DescribeKey"): {"KeyMetadata": {"KeyId": KEY, "KeyState": "Enabled"}},
        ("ecr", "DescribeImages"): {"imageDetails": [{"imageTags": ["v0.17.4"]}]},
        ("iam", "GetRole"): lambda asked: {
            "Role": {
                "Path": "/",
                "RoleName": asked["RoleName"],
                "RoleId": "AROA0123456789ABCDEF",
                "Arn": f"arn:aws:iam::{ACCOUNT}:role/{asked['RoleName']}",
                "CreateDate": datetime(2026, 1, 1, tzinfo=UTC),
            }
        },
        ("iam", "SimulatePrincipalPolicy"): lambda asked: {
            "EvaluationResults": [
                {"EvalActionName": action, "EvalDecision": "allowed"} for action in asked["ActionNames"]
            ]
        },
        ("ce", "ListCostAllocationTags"): {
            "CostAllocationTags": [{"TagKey": "sizewell-stack", "Type": "UserDefined", "Status": "Active"}]
        },
        ("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [reservation()]},
    }


def subscribed(arn: str, endpoint: str = "ml@petsnap.example", topic: str = "notices") -> dict[str, Any]:
    row = {"SubscriptionArn": arn, "Endpoint": endpoint, "TopicArn": TOPIC.replace("notices", topic)}
    return {"Subscriptions": [row]}


def running(*machines: dict[str, Any]) -> dict[str, Any]:
    rows = [{"InstanceId": f"i-{number}", "InstanceType": "p5.48xlarge", **one} for number, one in enumerate(machines)]
    return {"Reservations": [{"Instances": [row]} for row in rows]}


def reservation(**changes: Any) -> dict[str, Any]:
    return {
        "CapacityReservationId": "cr-0123456789abcdef0",
        "State": "active",
        "InstanceType": "p5.48xlarge",
        "AvailabilityZone": "us-east-1a",
        "TotalInstanceCount": 2,
        **changes,
    }


def refused(code: str) -> Any:
    def answer(_: Any) -> Any:
        raise ClientError({"Error": {"Code": code, "Message": "documented"}}, "Operation")

    return answer


SESSION = botocore.session.get_session()  # keeps the models that it has read


@pytest.fixture
def answered(monkeypatch):
    """Plays answers back: a mapping from (service, operation) to an answer, or to a function of what was asked."""

    def play(answers: dict[tuple[str, str], Any], delay_s: float = 0.0) -> list[tuple[str, str]]:
        asked: list[tuple[str, str]] = []

        def call(client: Any, operation: str, parameters: dict[str, Any]) -> Any:
            key = (client.meta.service_model.service_name, operation)
            asked.append(key)
            time.sleep(delay_s)
            model = client.meta.service_model.operation_model(operation)
            faults = ParamValidator().validate(parameters, model.input_shape).generate_report()
            assert not faults, f"{key}: {faults}"
            answer = answers[key]
            answer = copy.deepcopy(answer(parameters) if callable(answer) else answer)
            report = ParamValidator().validate(answer, model.output_shape).generate_report()
            assert not report, f"{key} answers what the API does not: {report}"
            return answer

        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
        return asked

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    whole = boto3.Session
    monkeypatch.setattr(boto3, "Session", lambda **_: whole(botocore_session=SESSION))
    return play


def stack(**changes: Any) -> Any:
    return needs("aws", ACCOUNT, (machines(**changes),), *RESOURCES, **CONFIG)


def test_nothing_is_found_in_a_healthy_account(answered):
    asked = answered(healthy())
    found = by_state(preflight(stack(reservation="cr-0123456789abcdef0")))
    assert found["wrong"] == []
    assert found["note"] == []
    quotas = {("service-quotas", "GetServiceQuota"), ("ec2", "DescribeInstances")}
    # reserved machines need no quota, and where every subscription is listed no topic is looked for
    assert set(asked) == set(healthy()) - quotas - {("sns", "ListTopics")}
    asked = answered(healthy())
    assert by_state(preflight(stack()))["wrong"] == []
    assert quotas <= set(asked)


OFFERED_ELSEWHERE = {
    ("ec2", "DescribeInstanceTypeOfferings"): lambda asked: {
        "InstanceTypeOfferings": [
            {"Location": "us-east-1b" if asked["LocationType"] == "availability-zone" else "use1-az2"}
        ]
    }
}
RESERVED = {"reservation": "cr-0123456789abcdef0"}
PLANTED = [
    # what is answered otherwise, what the stack asks otherwise, about what is found, what it says, what mends it
    (
        {("sts", "GetCallerIdentity"): {"Account": "999999999999", "Arn": "arn:aws:iam::999999999999:user/x"}},
        {},
        "account",
        "the stack is limited to 123456789012",
        "log in",
    ),
    ({("sts", "GetCallerIdentity"): refused("ExpiredToken")}, {}, "account", "not logged in", "log in"),
    (
        {("ec2", "DescribeRegions"): {"Regions": [{"RegionName": REGION, "OptInStatus": "not-opted-in"}]}},
        {},
        "zones of us-east-1",
        "not opted in to this region",
        "aws account enable-region --region-name us-east-1",
    ),
    (
        OFFERED_ELSEWHERE,
        {},
        "zones of us-east-1",
        "p5.48xlarge (train-workers) is not offered in us-east-1a",
        "us-east-1b",
    ),
    (
        {("ec2", "DescribeInstanceTypeOfferings"): {"InstanceTypeOfferings": []}},
        {},
        "zones of us-east-1",
        "is offered in no zone of the region",
        "size again",
    ),
    (
        {},
        {"zones": ("us-east-1z",)},
        "zones of us-east-1",
        "us-east-1z (train-workers) is not a zone",
        "correct sizewell:zones",
    ),
    (
        {},
        {"zones": ("use1-atl2-az1",)},
        "zones of us-east-1",
        "use1-atl2-az1 (train-workers) is not switched on",
        "aws ec2 modify-availability-zone-group --group-name us-east-1-atl-2 --opt-in-status opted-in",
    ),
    (
        {
            ("service-quotas", "GetServiceQuota"): {
                "Quota": {"QuotaName": "Running On-Demand P instances", "Value": 383.0}
            }
        },
        {},
        "quota L-417A185B in us-east-1",
        "383 vCPU, the stack may grow to 384",
        "--quota-code L-417A185B --desired-value 384 --region us-east-1",
    ),
    (
        {("ec2", "DescribeInstances"): running({"Tags": [{"Key": "sizewell-stack", "Value": "prod"}]})},
        {},
        "quota L-417A185B in us-east-1",
        "384 vCPU, machines outside of it have 192, the stack may grow to 384",
        "--quota-code L-417A185B --desired-value 576 --region us-east-1",
    ),
    (
        {("sns", "ListSubscriptions"): subscribed("Deleted")},
        {},
        "receivers in us-east-1",
        "unsubscribed themselves: ml@petsnap.example",
        "pulumi refresh -s",
    ),
    (
        {("ssm", "GetParameters"): {"Parameters": [], "InvalidParameters": [IMAGE]}},
        {},
        "images of us-east-1",
        f"no parameter {IMAGE}",
        "sizewell:images",
    ),
    (
        {("ec2", "DescribeImages"): {"Images": [{"ImageId": "ami-0123456789abcdef0", "State": "failed"}]}},
        {},
        "images of us-east-1",
        "ami-0123456789abcdef0 is not available",
        "sizewell:images",
    ),
    (
        {("ec2", "DescribeImages"): refused("InvalidAMIID.NotFound")},
        {},
        "images of us-east-1",
        "ami-0123456789abcdef0 is not available",
        "sizewell:images",
    ),
    (
        {("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [reservation(State="expired")]}},
        RESERVED,
        "reservation cr-0123456789abcdef0",
        "is expired",
        "another reservation",
    ),
    (
        {("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [reservation(InstanceType="p4d.24xlarge")]}},
        RESERVED,
        "reservation cr-0123456789abcdef0",
        "is for p4d.24xlarge, the pool needs p5.48xlarge",
        "another reservation",
    ),
    (
        {
            ("ec2", "DescribeCapacityReservations"): {
                "CapacityReservations": [reservation(AvailabilityZone="us-east-1b")]
            }
        },
        RESERVED,
        "reservation cr-0123456789abcdef0",
        "is in us-east-1b, the pool in us-east-1a",
        "us-east-1b",
    ),
    (
        {("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [reservation(TotalInstanceCount=1)]}},
        RESERVED,
        "reservation cr-0123456789abcdef0",
        "has 1 machines, the pool may grow to 2",
        "another reservation",
    ),
    (
        {
            ("ec2", "DescribeCapacityReservations"): {
                "CapacityReservations": [reservation(EndDate=datetime(2020, 1, 1, tzinfo=UTC))]
            }
        },
        RESERVED,
        "reservation cr-0123456789abcdef0",
        "ended on 2020-01-01",
        "another reservation",
    ),
    (
        {("ec2", "DescribeCapacityReservations"): refused("InvalidCapacityReservationId.NotFound")},
        RESERVED,
        "reservation cr-0123456789abcdef0",
        "does not exist in us-east-1",
        "in the spec",
    ),
    (
        {("sns", "ListSubscriptions"): subscribed("PendingConfirmation")},
        {},
        "receivers in us-east-1",
        "not confirmed: ml@petsnap.example",
        "confirm",
    ),
    (
        {("sns", "ListSubscriptions"): {"Subscriptions": []}},
        {},
        "receivers in us-east-1",
        "no longer among the topic's subscriptions: ml@petsnap.example of notices",
        "pulumi refresh -s",
    ),
    (
        # the same address hears of another topic
        {("sns", "ListSubscriptions"): subscribed(f"{TOPIC}:1", topic="others")},
        {},
        "receivers in us-east-1",
        "no longer among the topic's subscriptions: ml@petsnap.example of notices",
        "pulumi refresh -s",
    ),
    (
        {("sns", "GetSubscriptionAttributes"): {"Attributes": {"FilterPolicy": '{"severity": ["page"]}'}}},
        {},
        "receivers in us-east-1",
        "a filter policy drops notices to: ml@petsnap.example of notices",
        "pulumi refresh -s",
    ),
    (
        {("kms", "DescribeKey"): {"KeyMetadata": {"KeyId": KEY, "KeyState": "PendingDeletion"}}},
        {},
        "key in us-east-1",
        "is PendingDeletion",
        "aws kms enable-key",
    ),
    ({("kms", "DescribeKey"): refused("NotFoundException")}, {}, "key in us-east-1", "does not exist", "kms_key_arn"),
    (
        {("ecr", "DescribeImages"): refused("ImageNotFoundException")},
        {},
        "mirror in us-east-1",
        f"{MIRROR} does not exist",
        "crane copy",
    ),
    (
        {("ecr", "DescribeImages"): refused("RepositoryNotFoundException")},
        {},
        "mirror in us-east-1",
        f"{MIRROR} does not exist",
        "crane copy",
    ),
    (
        {
            ("iam", "SimulatePrincipalPolicy"): lambda asked: {
                "EvaluationResults": [
                    {
                        "EvalActionName": action,
                        "EvalDecision": "implicitDeny" if action == "iam:PassRole" else "allowed",
                    }
                    for action in asked["ActionNames"]
                ]
            }
        },
        {},
        "rights",
        "denied iam:PassRole",
        "an administrator has to allow",
    ),
    (
        {("iam", "GetRole"): refused("NoSuchEntity")},
        {},
        "service-linked roles",
        "AWSServiceRoleForEC2Fleet is missing",
        "aws iam create-service-linked-role --aws-service-name ec2fleet.amazonaws.com",
    ),
    (
        {
            ("iam", "GetRole"): lambda asked: (
                refused("NoSuchEntity")(asked)
                if "Nodegroup" in asked["RoleName"]
                else healthy()["iam", "GetRole"](asked)
            ),
            ("iam", "SimulatePrincipalPolicy"): lambda asked: {
                "EvaluationResults": [
                    {
                        "EvalActionName": action,
                        "EvalDecision": "implicitDeny"
                        if asked.get("ContextEntries", [{}])[0].get("ContextKeyValues")
                        == ["eks-nodegroup.amazonaws.com"]
                        else "allowed",
                    }
                    for action in asked["ActionNames"]
                ]
            },
        },
        {},
        "service-linked roles",
        "may not create it: aws:eks/nodeGroup:NodeGroup would be refused",
        "iam:CreateServiceLinkedRole for eks-nodegroup.amazonaws.com",
    ),
    (
        {("sts", "GetCallerIdentity"): {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:root"}},
        {},
        "rights",
        "root user",
        "role",
    ),
    (
        {
            ("ce", "ListCostAllocationTags"): {
                "CostAllocationTags": [{"TagKey": "sizewell-stack", "Type": "UserDefined", "Status": "Inactive"}]
            }
        },
        {},
        "budget tags",
        "not activated for cost allocation",
        "aws ce update-cost-allocation-tags-status",
    ),
]


@pytest.mark.parametrize(("answers", "asked", "about", "says", "mends"), PLANTED)
def test_a_planted_fault_is_the_one_that_is_told(  # noqa: PLR0917
    answered, answers, asked, about, says, mends
):
    answered({**healthy(), **answers})
    (told,) = by_state(preflight(stack(**asked)))["wrong"]
    assert (told.about, told.code) == (about, 64)
    assert says in told.detail
    assert mends in told.fix


def test_each_thing_that_is_asked_has_a_planted_fault_and_a_healthy_twin(answered, capsys):
    answered(healthy())
    found = preflight(stack()) + preflight(stack(**RESERVED))
    asked = {finding.about for finding in found if finding.state == "ok"}
    planted = {case[2] for case in PLANTED}
    with capsys.disabled():
        print(f"\nAWS: asked {len(asked)}, planted {len(planted)}; faults {len(PLANTED)}")
    assert planted == asked


def test_a_control_plane_in_a_local_zone_is_told(answered):
    answered(healthy())
    cluster = Declared("sizewell-aws:index:EksCluster", "c", {"zones": ["us-east-1a", "use1-atl2-az1"]})
    (told,) = by_state(preflight(needs("aws", ACCOUNT, (machines(),), cluster)))["wrong"]
    assert "control plane's subnet would be in use1-atl2-az1, a local-zone" in told.detail


def test_topics_without_subscriptions_reach_nobody(answered):
    answered(healthy())
    topic = Declared("aws:sns/topic:Topic", "notices", {"name": "notices"})
    (told,) = by_state(preflight(needs("aws", ACCOUNT, (machines(),), topic)))["wrong"]
    assert "notices are not delivered" in told.detail


def test_a_topic_that_is_not_there_yet_lacks_no_subscription(answered):
    answered({**healthy(), ("sns", "ListSubscriptions"): {"Subscriptions": []}, ("sns", "ListTopics"): {"Topics": []}})
    assert by_state(preflight(stack()))["wrong"] == []


def test_addresses_of_hooks_are_not_printed(answered):
    """They open a door: whoever has one writes into the channel behind it."""
    address = "https://events.pagerduty.com/integration/0123456789abcdef/enqueue"
    hook = Declared("aws:sns/topicSubscription:TopicSubscription", "notices-hook", {"endpoint": address})
    rest = [resource for resource in RESOURCES if "Subscription" not in resource.type]
    for listed in (subscribed("PendingConfirmation", address), subscribed("Deleted", address), {"Subscriptions": []}):
        answered({**healthy(), ("sns", "ListSubscriptions"): listed})
        (told,) = by_state(preflight(needs("aws", ACCOUNT, (machines(),), *rest, hook, **CONFIG)))["wrong"]
        assert "events.pagerduty.com" in told.detail
        assert "0123456789abcdef" not in told.detail


SEEN_ON_DEMAND = {("sns", "ListTopics"): {("sns", "ListSubscriptions"): {"Subscriptions": []}}}


@pytest.mark.parametrize("key", [key for key in healthy() if key[0] != "sts"])
def test_silence_is_no_answer_and_a_denied_question_is_said(answered, key):
    reserved = stack(**RESERVED) if key[1] == "DescribeCapacityReservations" else stack()
    answers = {**healthy(), **SEEN_ON_DEMAND.get(key, {})}
    answered({**answers, key: refused("RequestLimitExceeded")})
    (told,) = by_state(preflight(reserved))["wrong"]
    assert (told.code, "no response" in told.detail) == (69, True)
    answered({**answers, key: refused("AccessDeniedException")})
    found = by_state(preflight(reserved))
    assert found["wrong"] == []
    assert "not known" in found["note"][0].detail


def test_every_creating_call_is_one_of_the_service():
    session = botocore.session.get_session()
    names = {"cloudwatch": "cloudwatch", "logs": "logs", "budgets": "budgets"}
    budget_calls = {"ModifyBudget", "PassRole"}  # rights without an operation of the same name
    rows = [row for row in rights.RIGHTS.values() if row.type.startswith("aws:")]
    for action in {*(row.right for row in rows), *(row.also for row in rows if row.also)}:
        service, _, operation = action.partition(":")
        model = session.get_service_model(names.get(service, service))
        assert operation in model.operation_names or operation in budget_calls, action


def test_the_same_questions_are_answered_by_moto(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        key = boto3.client("kms", REGION).create_key()["KeyMetadata"]["Arn"]
        topic = boto3.client("sns", REGION).create_topic(Name="notices")["TopicArn"]
        boto3.client("sns", REGION).subscribe(TopicArn=topic, Protocol="email", Endpoint="ml@petsnap.example")
        resources = [resource for resource in RESOURCES if resource.type.startswith(("aws:sns", "sizewell"))]
        asked = needs("aws", ACCOUNT, (machines(instance_type="m5.large"),), *resources, network={"kms_key_arn": key})
        asking = Aws(Deadline(30))

        def found(name: str) -> Any:
            (finding,) = preflight_aws.questions(asked, asking)[name]()
            return finding

        (account,) = preflight_aws.account(asked, asking)
        assert account.detail.startswith(ACCOUNT)
        assert [found(name).state for name in ("key in us-east-1", "zones of us-east-1")] == ["ok", "ok"]
        assert found("receivers in us-east-1").state == "ok"
        boto3.client("kms", REGION).disable_key(KeyId=key.rpartition("/")[2])
        assert "is Disabled" in found("key in us-east-1").detail


def test_a_stack_is_asked_about_in_under_15_seconds_at_100_ms_a_call(answered):
    asked = answered(healthy(), delay_s=0.1)
    began = time.monotonic()
    preflight(stack(**RESERVED))
    assert time.monotonic() - began < 15
    assert len(asked) >= 12
