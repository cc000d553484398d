"""What the types and tags of AWS are to teardown."""

from __future__ import annotations

import re
from typing import Final

from sizewell.recording.sources.state import StateResource
from sizewell.teardown.types import Types


def _store_uri(resource: StateResource) -> str:
    if not re.fullmatch(r"aws:s3/bucket\w*:Bucket(V2)?", resource.type):
        return ""
    return f"s3://{resource.outputs.get('bucket') or resource.outputs.get('name') or resource.id}"


TYPES: Final = Types(
    sized={
        "autoscaling-group": "aws:autoscaling/group:Group",
        "eks-node-group": "aws:eks/nodeGroup:NodeGroup",
        "ec2-fleet": "aws:ec2/fleet:Fleet",
    },
    scheduled=("eks-node-group",),
    serving=(
        "aws:sagemaker/endpoint:Endpoint",
        "aws:cloudcontrol/resource:Resource",
    ),  # the second: inference components
    managed={
        "notebook": ("aws:sagemaker/notebookInstance:NotebookInstance",),
        "cluster": ("aws:cloudcontrol/resource:Resource",),  # HyperPod
    },
    stateful={
        "aws:ebs/volume:Volume": "disk",
        "aws:ebs/snapshot:Snapshot": "snapshot",
        "aws:efs/fileSystem:FileSystem": "file system",
        "aws:fsx/": "file system",
        "aws:s3/bucket": "bucket",
        "aws:rds/": "database",
        "aws:dynamodb/table:Table": "table",
        "aws:sagemaker/notebookInstance:NotebookInstance": "notebook with its disk",
        "aws:sagemaker/domain:Domain": "notebooks with their file system",
        "aws:sagemaker/space:Space": "notebook with its disk",
    },
    clusters={"aws:eks/cluster:Cluster": "name"},
    store_uri=_store_uri,
    made_by={
        "aws:autoscaling:groupName": "aws:autoscaling/group:Group",
        "aws:ec2:fleet-id": "aws:ec2/fleet:Fleet",
        "eks:nodegroup-name": "aws:eks/nodeGroup:NodeGroup",
        "aws:eks:cluster-name": "aws:eks/cluster:Cluster",
    },
    imported_by_tag=("aws:autoscaling/group:Group", "aws:ec2/fleet:Fleet"),
    parts=("ec2 instance", "ec2 volume", "ec2 network-interface", "ec2 spot-instances-request"),
)
