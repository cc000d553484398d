"""Budgets and the hard end of a stack: arguments, refusals, documents. Pure."""

import json
from collections.abc import Sequence
from typing import NotRequired

from sizewell.components import limits
from sizewell.components.aws import policies
from sizewell.components.aws.args import AccountArgs
from sizewell.components.aws.checks import check_region
from sizewell.components.faults import Faults
from sizewell.components.forms import BudgetArgs, EndArgs
from sizewell.components.tags import legal

STACK_TAG, PROJECT_TAG = "sizewell-stack", "sizewell-project"


class BudgetAlarmsArgs(BudgetArgs, AccountArgs):
    """What a stack may cost in a month, and who hears of it."""

    anomaly_usd: NotRequired[float]
    """Smallest unexpected cost in US dollars that is notified; default a tenth of the monthly budget."""
    activate_tag: NotRequired[bool]
    """Activate the tag for cost allocation; only in the payer account, once."""


class TtlGuardArgs(EndArgs, AccountArgs):
    """The hard end of another stack."""


def check_budget(name: str, args: BudgetAlarmsArgs) -> None:
    faults = Faults.of(name, args, BudgetAlarmsArgs)
    check_region(faults, args)
    limits.check_budget(faults, args, emails_max=10, takes="AWS Budgets allows 10")
    limits.check_usd(faults, args, "anomaly_usd")
    faults.done()


def check_ttl(name: str, args: TtlGuardArgs, *, own_stack: str) -> None:
    """`own_stack` is the stack that the guard itself stands in."""
    faults = Faults.of(name, args, TtlGuardArgs)
    check_region(faults, args)
    limits.check_end(faults, args, own_stack=own_stack)
    faults.done()


def notifications(topic: object, emails: Sequence[str]) -> list[dict[str, object]]:
    """Half, most and all of the budget spent, and all of it foreseen."""
    told = [("ACTUAL", share) for share in limits.SHARES] + [("FORECASTED", 100)]
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


def end_policy(*, region: str, project: str, stack: str, firm: bool = True) -> str:
    """Take the size of this stack's machines to zero, by its tags; never data, keys or identities. An end that is not
    firm only looks.

    Two projects may have a stack of one name in one account: the project's tag tells them apart.
    """
    tags = {PROJECT_TAG: legal(project), STACK_TAG: legal(stack)}
    own = {"StringEquals": {f"aws:ResourceTag/{key}": value for key, value in tags.items()}}
    cluster = policies.cluster_name(stack, region)
    statements: list[dict[str, object]] = [
        {
            "Sid": "Look",
            "Effect": "Allow",
            "Action": [
                "tag:GetResources",
                "application-autoscaling:DescribeScalableTargets",
                "autoscaling:DescribeAutoScalingGroups",
                "ec2:DescribeFleets",
                "ec2:DescribeInstances",
                "eks:DescribeNodegroup",
                "sagemaker:DescribeCluster",
                "sagemaker:DescribeInferenceComponent",
                "sagemaker:DescribeNotebookInstance",
                "sagemaker:DescribeTrainingJob",
                "sagemaker:ListApps",
            ],
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:RequestedRegion": region}},
        },
        {
            "Sid": "ToZero",
            "Effect": "Allow",
            "Action": [
                "application-autoscaling:DeregisterScalableTarget",
                "autoscaling:SuspendProcesses",
                "autoscaling:UpdateAutoScalingGroup",
                "ec2:ModifyFleet",
                "ec2:TerminateInstances",
                "eks:UpdateNodegroupConfig",
                "sagemaker:DeleteApp",
                "sagemaker:DeleteCluster",
                "sagemaker:DeleteEndpoint",
                "sagemaker:DeleteInferenceComponent",
                "sagemaker:StopNotebookInstance",
                "sagemaker:StopTrainingJob",
            ],
            "Resource": "*",
            "Condition": own,
        },
        {
            # sagemaker:DeleteCluster asks for it; SageMaker made the entry of its machines in the cluster that the
            # stack builds, and put no tag on it
            "Sid": "HyperPodEntry",
            "Effect": "Allow",
            "Action": "eks:DeleteAccessEntry",
            "Resource": f"arn:{policies.partition(region)}:eks:{region}:*:access-entry/{cluster}/role/*",
        },
        {
            # Nothing above allows any of this. The denial stands because a policy that somebody attaches to the
            # role later can widen an allowance, but no denial; an action that is added above must not reach data.
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
    return policies.policy([each for each in statements if firm or each["Sid"] in ("Look", "NeverData")])


def end_document(*, firm: bool = True) -> str:
    """The automation that ends a stack; one that is not firm fails while anything of it runs, and stops nothing."""
    text = {"type": "String"}
    return json.dumps(
        {
            "schemaVersion": "0.3",
            "description": "Scales the machines of an expired stack to zero; keeps its data and lists it"
            if firm
            else "Fails, and so notifies, while machines of an expired stack run; stops nothing",
            "assumeRole": "{{ Role }}",
            "parameters": {"Role": {"type": "AWS::IAM::Role::Arn"}, "Project": text, "Stack": text},
            "mainSteps": [
                {
                    "name": "End",
                    "action": "aws:executeScript",
                    "isEnd": True,
                    "timeoutSeconds": 600,
                    "inputs": {
                        "Runtime": "python3.11",
                        "Handler": "end",
                        "InputPayload": {"Project": "{{ Project }}", "Stack": "{{ Stack }}", "Firm": firm},
                        "Script": END_SCRIPT,
                    },
                    "outputs": [{"Name": "Report", "Selector": "$.Payload", "Type": "StringMap"}],
                }
            ],
        },
        indent=1,
    )


END_SCRIPT = """\
import time

import boto3

GONE = ("NotFound", "not exist", "ould not find")  # tags outlive what they were on by some days
WAIT_S = 300  # for inference components, before their endpoint


def end(events, context):
    own = {"sizewell-project": events["Project"], "sizewell-stack": events["Stack"]}
    report = {"ended": [], "kept": [], "failed": [], "wake": [], "runs": []}
    firm = events["Firm"]

    def attempt(arn, call, **inputs):
        if not firm:  # looks alone
            report["runs"].append(arn)
            return False
        try:
            call(**inputs)
            report["ended"].append(arn)
            return True
        except Exception as error:
            if not any(word in str(error) for word in GONE):
                report["failed"].append(arn + ": " + str(error))
            return False

    scaling = boto3.client("autoscaling")

    def empty(**sizes):
        scaling.update_auto_scaling_group(**sizes)
        name = sizes["AutoScalingGroupName"]
        scaling.suspend_processes(AutoScalingGroupName=name, ScalingProcesses=["Launch"])  # else schedules refill it
        wake = "aws autoscaling resume-processes --scaling-processes Launch --auto-scaling-group-name "
        report["wake"].append(wake + name)

    filters = [{"Name": "tag:" + key, "Values": [value]} for key, value in own.items()]
    for page in scaling.get_paginator("describe_auto_scaling_groups").paginate(Filters=filters):
        for group in page["AutoScalingGroups"]:
            held = any(process["ProcessName"] == "Launch" for process in group.get("SuspendedProcesses", []))
            if group["MinSize"] or group["DesiredCapacity"] or (firm and not held):
                name = group["AutoScalingGroupName"]
                attempt(
                    group["AutoScalingGroupARN"],
                    empty,
                    AutoScalingGroupName=name,
                    MinSize=0,
                    DesiredCapacity=0,
                )
    tags = [{"Key": key, "Values": [value]} for key, value in own.items()]
    arns = []
    for page in boto3.client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=tags):
        arns += [resource["ResourceARN"] for resource in page["ResourceTagMappingList"]]
    ec2, eks, sagemaker = boto3.client("ec2"), boto3.client("eks"), boto3.client("sagemaker")
    targets = boto3.client("application-autoscaling")

    def kind_of(arn):
        service, path = arn.split(":", 5)[2], arn.split(":", 5)[5]
        kind, _, name = path.partition("/")
        return service, kind, name

    def unscaled(kinds):
        # what scales by itself would be scaled back, and SageMaker deletes no endpoint that is scaled
        own = {kind + "/" + name for service, kind, name in map(kind_of, arns) if kind in kinds}
        for page in targets.get_paginator("describe_scalable_targets").paginate(ServiceNamespace="sagemaker"):
            for target in page["ScalableTargets"]:
                if "/".join(target["ResourceId"].split("/")[:2]) in own:
                    inputs = {"ResourceId": target["ResourceId"], "ScalableDimension": target["ScalableDimension"]}
                    deregister = targets.deregister_scalable_target
                    attempt(target["ResourceId"], deregister, ServiceNamespace="sagemaker", **inputs)

    def components_gone():
        # an endpoint cannot go before its inference components, and those take minutes
        waiting = []
        for arn in arns:
            if kind_of(arn)[:2] == ("sagemaker", "inference-component"):
                guarded(arn, component_goes, arn, waiting)
        deadline = time.time() + WAIT_S
        while waiting and time.time() < deadline:
            time.sleep(10)
            waiting = [(arn, name) for arn, name in waiting if status_of(name)]
        report["failed"] += [arn + ": is still being deleted; its endpoint goes in the next hour" for arn, _ in waiting]

    def component_goes(arn, waiting):
        name = kind_of(arn)[2]
        status, delete = status_of(name), sagemaker.delete_inference_component
        if status == "Deleting" or (status and attempt(arn, delete, InferenceComponentName=name)):
            waiting.append((arn, name))

    def status_of(name):
        # None for a component that is gone
        try:
            found = sagemaker.describe_inference_component(InferenceComponentName=name)
            return found["InferenceComponentStatus"]
        except Exception as error:
            if any(word in str(error) for word in GONE):
                return None
            raise

    def end_one(arn):
        service, kind, name = kind_of(arn)
        if (service, kind) == ("ec2", "fleet"):
            for fleet in ec2.describe_fleets(FleetIds=[name])["Fleets"]:
                held = fleet["TargetCapacitySpecification"]["TotalTargetCapacity"]
                if held and not fleet["FleetState"].startswith("deleted"):
                    inputs = {"FleetId": name, "TargetCapacitySpecification": {"TotalTargetCapacity": 0}}
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
        elif (service, kind) == ("sagemaker", "domain"):
            for page in sagemaker.get_paginator("list_apps").paginate(DomainIdEquals=name):
                for app in page["Apps"]:
                    if app["Status"] in ("InService", "Pending"):
                        wanted = ("DomainId", "UserProfileName", "SpaceName", "AppType", "AppName")
                        inputs = {key: app[key] for key in wanted if app.get(key)}
                        attempt(arn + "/" + app["AppName"], sagemaker.delete_app, **inputs)
        elif (service, kind) == ("sagemaker", "training-job"):
            status = sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobStatus"]
            if status == "InProgress":
                attempt(arn, sagemaker.stop_training_job, TrainingJobName=name)
        elif (service, kind) == ("ec2", "instance"):
            found = ec2.describe_instances(InstanceIds=[name])["Reservations"]
            states = [instance["State"]["Name"] for held in found for instance in held["Instances"]]
            if "running" in states or "pending" in states:
                attempt(arn, ec2.terminate_instances, InstanceIds=[name])
        elif service in ("s3", "fsx", "elasticfilesystem") or kind in ("volume", "snapshot"):
            report["kept"].append(arn)

    def guarded(what, call, *inputs):
        try:
            call(*inputs)
        except Exception as error:
            if not any(word in str(error) for word in GONE):
                report["failed"].append(what + ": " + str(error))

    if firm:
        guarded("scalable targets", unscaled, ("endpoint", "inference-component"))
    last = [arn for arn in arns if kind_of(arn)[:2] == ("sagemaker", "endpoint")]
    for arn in arns:
        if arn not in last:
            guarded(arn, end_one, arn)
    guarded("inference components", components_gone)
    for arn in last:
        guarded(arn, end_one, arn)
    if report["failed"]:
        raise RuntimeError("; ".join(report["failed"]))
    if report["runs"]:
        more = " and %d more" % (len(report["runs"]) - 5) if len(report["runs"]) > 5 else ""
        runs = ", ".join(report["runs"][:5]) + more
        raise RuntimeError("%s is past its end and still runs, nothing was stopped: %s" % (events["Stack"], runs))
    return report
"""
