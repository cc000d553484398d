"""The script of a stack's hard end against moto's server, by the real boto3: `python end_script_check.py < script`.

Two stacks stand in one account; one of them ends, twice. What is left is JSON on standard output. Run in .venv-train.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

ROLE = "arn:aws:iam::123456789012:role/machines"


def pairs(stack: str) -> list[dict[str, str]]:
    own = {"managed-by": "sizewell", "sizewell-project": "petsnap", "sizewell-stack": stack}
    return [{"Key": key, "Value": value} for key, value in own.items()]


def build(stack: str) -> dict[str, Any]:
    """What is billed and the script knows, tagged as a stack's; no fleet, whose target moto fails to change."""
    ec2, scaling, eks, sagemaker = (boto3.client(name) for name in ("ec2", "autoscaling", "eks", "sagemaker"))
    image = ec2.describe_images()["Images"][0]["ImageId"]
    subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]

    def tagged(*kinds: str) -> list[dict[str, Any]]:
        return [{"ResourceType": kind, "Tags": pairs(stack)} for kind in kinds]

    name = f"{stack}-template"
    ec2.create_launch_template(
        LaunchTemplateName=name, LaunchTemplateData={"ImageId": image, "InstanceType": "g6.xlarge"}
    )
    for group, least, size in ((f"{stack}-group", 1, 2), (f"{stack}-emptied", 0, 0)):  # the second by an idle guard
        scaling.create_auto_scaling_group(
            AutoScalingGroupName=group,
            LaunchTemplate={"LaunchTemplateName": name},
            MinSize=least,
            DesiredCapacity=size,
            MaxSize=4,
            VPCZoneIdentifier=subnet,
            Tags=[
                {**tag, "PropagateAtLaunch": True, "ResourceId": group, "ResourceType": "auto-scaling-group"}
                for tag in pairs(stack)
            ],
        )
    alone = ec2.run_instances(
        ImageId=image, InstanceType="g6.xlarge", MinCount=1, MaxCount=1, TagSpecifications=tagged("instance", "volume")
    )["Instances"][0]["InstanceId"]
    volume = ec2.create_volume(AvailabilityZone="us-east-1a", Size=500, TagSpecifications=tagged("volume"))["VolumeId"]
    eks.create_cluster(name=f"{stack}-eks", roleArn=ROLE, resourcesVpcConfig={"subnetIds": [subnet]})
    eks.create_nodegroup(
        clusterName=f"{stack}-eks",
        nodegroupName="gpu",
        scalingConfig={"minSize": 1, "maxSize": 4, "desiredSize": 2},
        subnets=[subnet],
        nodeRole=ROLE,
        tags={tag["Key"]: tag["Value"] for tag in pairs(stack)},
    )
    sagemaker.create_model(ModelName=f"{stack}-model", ExecutionRoleArn=ROLE, PrimaryContainer={"Image": "vllm:1"})
    variant = {"VariantName": "a", "ModelName": f"{stack}-model", "InstanceType": "ml.p3.2xlarge"}
    sagemaker.create_endpoint_config(
        EndpointConfigName=f"{stack}-config", ProductionVariants=[{**variant, "InitialInstanceCount": 1}]
    )
    sagemaker.create_endpoint(EndpointName=f"{stack}-endpoint", EndpointConfigName=f"{stack}-config", Tags=pairs(stack))
    sagemaker.create_notebook_instance(
        NotebookInstanceName=f"{stack}-notebook", InstanceType="ml.p3.2xlarge", RoleArn=ROLE, Tags=pairs(stack)
    )
    bucket = f"{stack}-checkpoints"
    boto3.client("s3").create_bucket(Bucket=bucket)
    boto3.client("s3").put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": pairs(stack)})
    nodes = eks.describe_nodegroup(clusterName=f"{stack}-eks", nodegroupName="gpu")["nodegroup"]["nodegroupArn"]
    return {"instance": alone, "volume": volume, "bucket": bucket, "unlisted": [nodes]}


class Listing:
    """boto3, with what moto's tagging service does not list although the cloud's does: node groups."""

    def __init__(self, made: dict[str, Any]) -> None:
        self.made = made

    def client(self, service: str) -> Any:
        return self if service == "resourcegroupstaggingapi" else boto3.client(service)

    def get_paginator(self, operation: str) -> Any:
        self.pages = boto3.client("resourcegroupstaggingapi").get_paginator(operation)
        return self

    def paginate(self, **inputs: Any) -> Any:
        yield from self.pages.paginate(**inputs)
        (stack,) = inputs["TagFilters"][-1]["Values"]
        yield {"ResourceTagMappingList": [{"ResourceARN": arn} for arn in self.made[stack]["unlisted"]]}


def emptied(name: str) -> list[str]:
    """What does not start in a group that was empty before the end, so that no autoscaler fills it again."""
    groups = boto3.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    return [one["ProcessName"] for one in groups["AutoScalingGroups"][0]["SuspendedProcesses"]]


def stands(stack: str, made: dict[str, Any]) -> dict[str, Any]:
    """What bills of a stack, by kind."""
    ec2, scaling, eks, sagemaker = (boto3.client(name) for name in ("ec2", "autoscaling", "eks", "sagemaker"))
    group = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[f"{stack}-group"])["AutoScalingGroups"][0]
    nodes = eks.describe_nodegroup(clusterName=f"{stack}-eks", nodegroupName="gpu")["nodegroup"]["scalingConfig"]
    notebook = sagemaker.describe_notebook_instance(NotebookInstanceName=f"{stack}-notebook")
    return {
        "held": [one["ProcessName"] for one in group["SuspendedProcesses"]],
        "emptied": emptied(f"{stack}-emptied"),
        "group": [group["MinSize"], group["DesiredCapacity"], group["MaxSize"]],
        "nodes": [nodes["minSize"], nodes["desiredSize"], nodes["maxSize"]],
        "instance": ec2.describe_instances(InstanceIds=[made["instance"]])["Reservations"][0]["Instances"][0]["State"][
            "Name"
        ],
        "endpoints": len(sagemaker.list_endpoints(NameContains=f"{stack}-")["Endpoints"]),
        "notebook": notebook["NotebookInstanceStatus"],
        "volume": ec2.describe_volumes(VolumeIds=[made["volume"]])["Volumes"][0]["State"],
        "bucket": made["bucket"] in [one["Name"] for one in boto3.client("s3").list_buckets()["Buckets"]],
    }


def main() -> None:
    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "stand-in",
        "AWS_SECRET_ACCESS_KEY": "stand-in",
    }
    space: dict[str, Any] = {}
    exec(compile(sys.stdin.read(), "end", "exec"), space)  # noqa: S102 - our own text
    made = {stack: build(stack) for stack in ("dev-aws", "prod-aws")}
    space["boto3"] = Listing(made)
    runs = []
    for _ in range(2):
        try:
            runs.append(space["end"]({"Project": "petsnap", "Stack": "dev-aws", "Firm": True}, None))
        except RuntimeError as error:
            runs.append({"failed": str(error)})
    print(json.dumps({"runs": runs, "stands": {stack: stands(stack, one) for stack, one in made.items()}}))
    server.stop()


if __name__ == "__main__":
    main()
