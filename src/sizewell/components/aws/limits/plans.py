"""Budgets and the hard end of a stack: arguments, refusals, documents. Pure."""

import json
from collections.abc import Sequence
from typing import Any, NotRequired

from sizewell.components.aws import plans
from sizewell.components.aws.checks import check_region
from sizewell.components.faults import Faults, check_owned
from sizewell.components.limits import check_date, check_emails, check_ended, check_usd
from sizewell.components.owned import OwnedArgs
from sizewell.components.tags import legal

STACK_TAG = "sizewell-stack"
SHARES = (50, 80, 100)  # percent of the budget at which somebody hears of it


class BudgetAlarmsArgs(OwnedArgs):
    """What a stack may cost in a month, and who hears of it."""

    region: str
    """AWS region of the topic."""
    account: NotRequired[str]
    """AWS account id, where it is known beforehand: policies can then be read, and judged, before anything is built."""
    stack: str
    """Name of the stack whose costs count, found by its tag."""
    monthly_usd: float
    """US dollars in a month."""
    emails: NotRequired[list[str]]
    """Who gets the notices, beside the topic; each confirms once."""
    anomaly_usd: NotRequired[float]
    """Smallest unexpected cost in US dollars that is told at once; a tenth of the month's unless told."""
    activate_tag: NotRequired[bool]
    """Make the tag visible to cost tools; once per payer account, and only there."""


class TtlGuardArgs(OwnedArgs):
    """The hard end of another stack."""

    region: str
    """AWS region of the stack."""
    account: NotRequired[str]
    """AWS account id, where it is known beforehand: policies can then be read, and judged, before anything is built."""
    stack: str
    """Name of the stack that it ends."""
    ends: str
    """ISO date at whose start (UTC) the stack ends."""


def check_budget(name: str, args: BudgetAlarmsArgs) -> None:
    faults = Faults(f"BudgetAlarms {name}")
    faults.unknown_keys(args, BudgetAlarmsArgs)
    check_owned(faults, args)
    check_region(faults, args)
    faults.must(bool(args.get("stack")), "stack", "is empty; name the stack whose costs count")
    for key in ("monthly_usd", "anomaly_usd"):
        if key in args:
            check_usd(faults, args, key)
    emails = args.get("emails") or []
    faults.must(len(emails) <= 10, "emails", f"are {len(emails)}; AWS Budgets takes 10")
    check_emails(faults, args)
    faults.done()


def check_ttl(name: str, args: TtlGuardArgs, *, own_stack: str) -> None:
    """`own_stack` is the stack that the guard itself stands in."""
    faults = Faults(f"TtlGuard {name}")
    faults.unknown_keys(args, TtlGuardArgs)
    check_owned(faults, args)
    check_region(faults, args)
    check_ended(faults, args, own_stack=own_stack)
    check_date(faults, args, "ends")
    faults.done()


def notifications(topic: Any, emails: Sequence[str]) -> list[dict[str, Any]]:
    """Half, most and all of the budget spent, and all of it foreseen."""
    told = [("ACTUAL", share) for share in SHARES] + [("FORECASTED", 100)]
    return [
        {
            "notification_type": kind,
            "comparison_operator": "GREATER_THAN",
            "threshold": float(share),
            "threshold_type": "PERCENTAGE",
            "subscriber_sns_topic_arns": [topic],
            "subscriber_email_addresses": list(emails),
        }
        for kind, share in told
    ]


def monitor_specification(stack: str) -> str:
    """Costs that carry the stack's tag."""
    return json.dumps({"Tags": {"Key": f"user:{STACK_TAG}", "Values": [legal(stack)], "MatchOptions": ["EQUALS"]}})


def topic_policy(*, topic: str, account: str) -> str:
    """AWS Budgets and Cost Anomaly Detection of this account may publish."""
    return plans.policy(
        [
            {
                "Effect": "Allow",
                "Principal": {"Service": ["budgets.amazonaws.com", "costalerts.amazonaws.com"]},
                "Action": "sns:Publish",
                "Resource": topic,
                "Condition": {"StringEquals": {"aws:SourceAccount": account}},
            }
        ]
    )


def end_policy(*, region: str, stack: str) -> str:
    """Take the size of this stack's machines to zero, by tag; never data, keys or identities."""
    own = {"StringEquals": {f"aws:ResourceTag/{STACK_TAG}": legal(stack)}}
    return plans.policy(
        [
            {
                "Sid": "Look",
                "Effect": "Allow",
                "Action": [
                    "tag:GetResources",
                    "autoscaling:DescribeAutoScalingGroups",
                    "ec2:DescribeInstances",
                    "eks:DescribeNodegroup",
                    "sagemaker:DescribeCluster",
                    "sagemaker:DescribeNotebookInstance",
                    "sagemaker:DescribeTrainingJob",
                ],
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:RequestedRegion": region}},
            },
            {
                "Sid": "ToZero",
                "Effect": "Allow",
                "Action": [
                    "autoscaling:SuspendProcesses",
                    "autoscaling:UpdateAutoScalingGroup",
                    "ec2:ModifyFleet",
                    "ec2:TerminateInstances",
                    "eks:UpdateNodegroupConfig",
                    "sagemaker:DeleteCluster",
                    "sagemaker:DeleteEndpoint",
                    "sagemaker:StopNotebookInstance",
                    "sagemaker:StopTrainingJob",
                ],
                "Resource": "*",
                "Condition": own,
            },
            {
                "Sid": "NeverData",
                "Effect": "Deny",
                "Action": [
                    "s3:DeleteObject*",
                    "s3:DeleteBucket*",
                    "s3:PutLifecycleConfiguration",
                    "s3:BypassGovernanceRetention",
                    "s3:PutBucketVersioning",
                    "kms:ScheduleKeyDeletion",
                    "kms:DisableKey",
                    "ec2:DeleteSnapshot",
                    "fsx:Delete*",
                    "backup:Delete*",
                    "iam:*",
                ],
                "Resource": "*",
            },
        ]
    )


def end_document() -> str:
    """The automation that ends a stack."""
    text = {"type": "String"}
    return json.dumps(
        {
            "schemaVersion": "0.3",
            "description": "Takes the machines of an expired stack to zero; keeps its data, and says what it kept",
            "assumeRole": "{{ Role }}",
            "parameters": {"Role": {"type": "AWS::IAM::Role::Arn"}, "Stack": text},
            "mainSteps": [
                {
                    "name": "End",
                    "action": "aws:executeScript",
                    "isEnd": True,
                    "timeoutSeconds": 600,
                    "inputs": {
                        "Runtime": "python3.11",
                        "Handler": "end",
                        "InputPayload": {"Stack": "{{ Stack }}"},
                        "Script": END_SCRIPT,
                    },
                    "outputs": [{"Name": "Report", "Selector": "$.Payload", "Type": "StringMap"}],
                }
            ],
        },
        indent=1,
    )


END_SCRIPT = """\
import boto3


def end(events, context):
    stack = events["Stack"]
    report = {"ended": [], "kept": [], "failed": []}

    def attempt(arn, call, **inputs):
        try:
            call(**inputs)
            report["ended"].append(arn)
        except Exception as error:
            report["failed"].append(arn + ": " + str(error))

    scaling = boto3.client("autoscaling")

    def empty(**sizes):
        scaling.update_auto_scaling_group(**sizes)
        stay = {"AutoScalingGroupName": sizes["AutoScalingGroupName"], "ScalingProcesses": ["Launch"]}
        scaling.suspend_processes(**stay)  # no morning and no autoscaler brings them back

    filters = [{"Name": "tag:sizewell-stack", "Values": [stack]}]
    for page in scaling.get_paginator("describe_auto_scaling_groups").paginate(Filters=filters):
        for group in page["AutoScalingGroups"]:
            held = any(one["ProcessName"] == "Launch" for one in group.get("SuspendedProcesses", []))
            if group["MinSize"] or group["DesiredCapacity"] or not held:
                name = group["AutoScalingGroupName"]
                attempt(
                    group["AutoScalingGroupARN"],
                    empty,
                    AutoScalingGroupName=name,
                    MinSize=0,
                    DesiredCapacity=0,
                )
    tags = [{"Key": "sizewell-stack", "Values": [stack]}]
    arns = []
    for page in boto3.client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=tags):
        arns += [one["ResourceARN"] for one in page["ResourceTagMappingList"]]
    ec2, eks, sagemaker = boto3.client("ec2"), boto3.client("eks"), boto3.client("sagemaker")

    def end_one(arn):
        service, path = arn.split(":", 5)[2], arn.split(":", 5)[5]
        kind, _, name = path.partition("/")
        if (service, kind) == ("ec2", "fleet"):
            capacity = {"TotalTargetCapacity": 0}
            inputs = {"FleetId": name, "TargetCapacitySpecification": capacity}
            attempt(arn, ec2.modify_fleet, ExcessCapacityTerminationPolicy="termination", **inputs)
        elif (service, kind) == ("eks", "nodegroup"):
            cluster, group = name.split("/")[:2]
            held = eks.describe_nodegroup(clusterName=cluster, nodegroupName=group)["nodegroup"]["scalingConfig"]
            if held["minSize"] or held["desiredSize"]:
                zero = {"minSize": 0, "desiredSize": 0, "maxSize": held["maxSize"]}
                attempt(
                    arn, eks.update_nodegroup_config, clusterName=cluster, nodegroupName=group, scalingConfig=zero
                )
        elif (service, kind) == ("sagemaker", "endpoint"):
            attempt(arn, sagemaker.delete_endpoint, EndpointName=name)
        elif (service, kind) == ("sagemaker", "cluster"):
            if sagemaker.describe_cluster(ClusterName=arn)["ClusterStatus"] != "Deleting":
                attempt(arn, sagemaker.delete_cluster, ClusterName=arn)
        elif (service, kind) == ("sagemaker", "notebook-instance"):
            status = sagemaker.describe_notebook_instance(NotebookInstanceName=name)["NotebookInstanceStatus"]
            if status == "InService":
                attempt(arn, sagemaker.stop_notebook_instance, NotebookInstanceName=name)
        elif (service, kind) == ("sagemaker", "training-job"):
            status = sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobStatus"]
            if status == "InProgress":
                attempt(arn, sagemaker.stop_training_job, TrainingJobName=name)
        elif (service, kind) == ("ec2", "instance"):
            found = ec2.describe_instances(InstanceIds=[name])["Reservations"]
            states = [one["State"]["Name"] for held in found for one in held["Instances"]]
            if "running" in states or "pending" in states:
                attempt(arn, ec2.terminate_instances, InstanceIds=[name])
        elif service in ("s3", "fsx", "elasticfilesystem") or kind in ("volume", "snapshot"):
            report["kept"].append(arn)

    for arn in arns:
        try:
            end_one(arn)
        except Exception as error:  # tags outlive what they were on by some days
            if not any(word in str(error) for word in ("NotFound", "not exist", "ould not find")):
                report["failed"].append(arn + ": " + str(error))
    if report["failed"]:
        raise RuntimeError("; ".join(report["failed"]))
    return report
"""
