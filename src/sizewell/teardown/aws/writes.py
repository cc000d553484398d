"""How the size of a pool on AWS is moved. `teardown/act.py` alone calls it."""

from __future__ import annotations

from sizewell.clouds.aws import Aws
from sizewell.sizing.errors import ServiceError
from sizewell.teardown import writing
from sizewell.teardown.notices import Topic
from sizewell.teardown.telemetry import cloudwatch
from sizewell.teardown.units import Unit
from sizewell.teardown.writing import Boto


def empty(aws: Aws, unit: Unit) -> str:
    """See `act.empty`."""
    return _empty(writing.Boto(aws), unit)


def wake(aws: Aws, unit: Unit) -> str:
    """See `act.wake`."""
    return _wake(writing.Boto(aws), unit)


def publish(aws: Aws, topic: Topic, subject: str, message: str) -> Topic:
    """See `act.publish`. SNS takes a message for an address that has not confirmed its subscription."""
    listed = aws.pages(
        *("sns", topic.region, "list_subscriptions_by_topic", "Subscriptions"),
        TopicArn=topic.arn,
    )
    confirmed = [each for each in listed if each["SubscriptionArn"].startswith("arn:")]
    if not confirmed:
        raise ServiceError("no subscription of it is confirmed\n  fix: follow the link that SNS sent to each address")
    writing.Boto(aws).call(
        *("sns", topic.region, "publish"),
        TopicArn=topic.arn,
        Subject=subject,
        Message=message,
        MessageStructure="json",
    )
    emails = frozenset(each["Endpoint"] for each in confirmed if each["Protocol"] == "email")
    return Topic(arn=topic.arn, emails=emails, hooks=sum(each["Protocol"] != "email" for each in confirmed))


def _empty(boto: Boto, unit: Unit) -> str:
    if unit.sized_by == "ec2-fleet":
        fleet = unit.resources[0].id
        boto.call(
            *("ec2", unit.region, "modify_fleet"),
            FleetId=fleet,
            ExcessCapacityTerminationPolicy="termination",
            TargetCapacitySpecification={"TotalTargetCapacity": 0},
        )
        return f"ec2 ModifyFleet {fleet}: target capacity 0"
    group = cloudwatch.group_of(unit)
    if unit.sized_by == "eks-node-group" and not unit.nodes_min:  # else pods that wait bring machines back
        boto.call(
            *("autoscaling", unit.region, "update_auto_scaling_group"),
            AutoScalingGroupName=group,
            MinSize=0,
            MaxSize=0,
            DesiredCapacity=0,
        )
        return f"autoscaling UpdateAutoScalingGroup {group}: desired and maximum 0"
    boto.call(
        *("autoscaling", unit.region, "set_desired_capacity"),
        AutoScalingGroupName=group,
        DesiredCapacity=unit.nodes_min,
        HonorCooldown=False,
    )
    return f"autoscaling SetDesiredCapacity {group}: {unit.nodes_min}"


def _wake(boto: Boto, unit: Unit) -> str:
    if unit.sized_by == "ec2-fleet":
        fleet = unit.resources[0].id
        runs = len(boto.call("ec2", unit.region, "describe_fleet_instances", FleetId=fleet)["ActiveInstances"])
        size = max(unit.nodes_initial, runs)  # a wake takes no machine away
        target = {"TotalTargetCapacity": size}
        boto.call("ec2", unit.region, "modify_fleet", FleetId=fleet, TargetCapacitySpecification=target)
        return f"ec2 ModifyFleet {fleet}: target capacity {size}"
    group = cloudwatch.group_of(unit)
    names = {"AutoScalingGroupNames": [group]}
    groups = boto.call("autoscaling", unit.region, "describe_auto_scaling_groups", **names)["AutoScalingGroups"]
    size = max([unit.nodes_initial, *(min(int(each["DesiredCapacity"]), unit.nodes_max) for each in groups)])
    if unit.sized_by == "eks-node-group":  # EKS keeps sizes of its own, which an expiry has changed
        cluster, _, name = unit.resources[0].id.partition(":")
        scaling = {"minSize": unit.nodes_min, "maxSize": unit.nodes_max, "desiredSize": size}
        boto.call(
            *("eks", unit.region, "update_nodegroup_config"),
            clusterName=cluster,
            nodegroupName=name,
            scalingConfig=scaling,
        )
    boto.call(
        *("autoscaling", unit.region, "resume_processes"),
        AutoScalingGroupName=group,
        ScalingProcesses=["Launch"],
    )
    boto.call(
        *("autoscaling", unit.region, "update_auto_scaling_group"),
        AutoScalingGroupName=group,
        MinSize=unit.nodes_min,
        MaxSize=unit.nodes_max,
        DesiredCapacity=size,
    )
    return f"autoscaling {group}: launches resumed, desired {size}, {unit.nodes_min} to {unit.nodes_max}"
