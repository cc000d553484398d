"""Which inputs of AWS force a replacement, held to CloudFormation's schemas: `createOnlyProperties` of the same resource."""

from __future__ import annotations

import json
from pathlib import Path

import cloudformation
import pytest

import sizewell.preview.fixed as fixed_inputs
from sizewell.preview.fixed import ROWS, is_fixed, replaced
from sizewell.resources.recorded import RecordedResource

AWS = {row.type: row.inputs for row in ROWS if row.source == "aws"}
TYPES = {  # whose CloudFormation name is another one
    "aws:rds/instance:Instance": "AWS::RDS::DBInstance",
    "aws:rds/cluster:Cluster": "AWS::RDS::DBCluster",
    "aws:opensearch/domain:Domain": "AWS::OpenSearchService::Domain",
    "aws:sagemaker/endpointConfiguration:EndpointConfiguration": "AWS::SageMaker::EndpointConfig",
}
NAMES = {  # inputs that CloudFormation calls otherwise
    "ami": "ImageId", "bucket": "BucketName", "clusterIdentifier": "DBClusterIdentifier", "publicKey": "PublicKeyMaterial",
    "username": "MasterUsername", "nodeRoleArn": "NodeRole", "kmsKeyArn": "KmsKeyId", "description": "GroupDescription",
}  # fmt: skip
NAMES_OF_TYPE = {
    ("aws:ec2/instance:Instance", "privateIp"): "PrivateIpAddress",
    ("aws:ec2/launchTemplate:LaunchTemplate", "name"): "LaunchTemplateName",
    ("aws:ec2/securityGroup:SecurityGroup", "name"): "GroupName",
    ("aws:eks/nodeGroup:NodeGroup", "subnetIds"): "Subnets",
    ("aws:redshift/cluster:Cluster", "clusterIdentifier"): "ClusterIdentifier",
    ("aws:dynamodb/table:Table", "hashKey"): "KeySchema",
    ("aws:dynamodb/table:Table", "rangeKey"): "KeySchema",
}
UNSAID = {  # what CloudFormation's schema does not say, and who does: the Terraform provider's documentation, from memory
    "aws:ebs/volume:Volume": {"encrypted", "kmsKeyId", "snapshotId"},
    "aws:s3/bucket:Bucket": {"objectLockEnabled"},
    "aws:fsx/lustreFileSystem:LustreFileSystem": {"deploymentType", "storageType", "importPath"},
    "aws:dynamodb/table:Table": {"localSecondaryIndexes"},
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": {"capacityBlockOfferingId", "instancePlatform"},
}


def create_only(kind: str) -> set[str]:
    resource = RecordedResource(urn=f"urn:pulumi:s::p::{kind}::r", type=kind, name="r", inputs={})
    name = TYPES.get(kind) or cloudformation.type_of(resource)
    if not name or name not in cloudformation.schemas():
        return set()
    stated = cloudformation.schema(name)
    paths = [*stated.get("createOnlyProperties", ()), *stated.get("conditionalCreateOnlyProperties", ())]
    return {path.removeprefix("/properties/").partition("/")[0].lower() for path in paths}


@pytest.mark.scan
@pytest.mark.parametrize("kind", AWS)
def test_what_forces_a_replacement_is_what_cloudformation_only_creates(kind: str) -> None:
    said = create_only(kind)
    names = {given: NAMES_OF_TYPE.get((kind, given), NAMES.get(given, given)).lower() for given in AWS[kind]}
    assert {given for given, name in names.items() if name not in said} == UNSAID.get(kind, set())


def test_nearly_all_of_it_has_a_source() -> None:
    assert sum(map(len, UNSAID.values())) <= 0.2 * sum(map(len, AWS.values()))


GOOGLE = {  # type -> what its page of the Terraform provider's documentation says "forces new resource" of, and what not
    "gcp:compute/disk:Disk": ({"type", "image", "snapshot", "zone", "name"}, {"size", "labels"}),
    "gcp:compute/instance:Instance": ({"zone", "name"}, {"machineType", "metadata", "deletionProtection"}),
    "gcp:storage/bucket:Bucket": ({"location", "name"}, {"storageClass", "versioning"}),
    "gcp:container/nodePool:NodePool": ({"cluster", "initialNodeCount", "location"}, {"nodeCount", "nodeLocations"}),
    "gcp:tpu/v2Vm:V2Vm": ({"acceleratorType", "runtimeVersion"}, {"labels", "description"}),
    "gcp:sql/databaseInstance:DatabaseInstance": ({"region", "name"}, {"databaseVersion", "settings"}),
}


@pytest.mark.parametrize("kind", GOOGLE)
def test_inputs_of_google_cloud_are_those_of_the_terraform_provider(kind: str) -> None:
    fixed, free = GOOGLE[kind]
    resource = RecordedResource(urn=f"urn:pulumi:s::p::{kind}::r", type=kind, name="r", inputs={})
    assert {each for each in fixed | free if is_fixed(resource, (each,))} == fixed


BLOCKS = [  # type, path, before, after, whether the resource's page of the Terraform provider says "forces new resource"
    ("gcp:container/nodePool:NodePool", "nodeConfig.spot", False, True, True),
    ("gcp:container/nodePool:NodePool", "nodeConfig.preemptible", False, True, True),
    ("gcp:container/nodePool:NodePool", "nodeConfig.guestAccelerators.0.type", "nvidia-tesla-t4", "nvidia-tesla-v100", True),
    ("gcp:container/nodePool:NodePool", "nodeConfig.machineType", "g2-standard-8", "g2-standard-16", False),
    ("gcp:container/nodePool:NodePool", "nodeConfig.labels.team", "ads", "search", False),
    ("gcp:container/nodePool:NodePool", "nodeConfig.taints", None, [{"key": "a", "value": "b", "effect": "NO_SCHEDULE"}], False),
    ("gcp:container/nodePool:NodePool", "management.autoRepair", True, False, False),
    ("gcp:container/nodePool:NodePool", "placementPolicy", None, {"type": "COMPACT"}, True),
    ("gcp:compute/instance:Instance", "guestAccelerators.0.type", "nvidia-tesla-t4", "nvidia-tesla-v100", True),
    ("gcp:compute/instance:Instance", "guestAccelerators", [{"type": "nvidia-l4"}], [{"type": "nvidia-l4"}] * 2, True),
    ("gcp:compute/instance:Instance", "scheduling.preemptible", False, True, True),
    ("gcp:compute/instance:Instance", "scheduling.provisioningModel", "STANDARD", "SPOT", True),
    ("gcp:compute/instance:Instance", "scheduling", None, {"provisioningModel": "SPOT", "preemptible": True}, True),
    ("gcp:compute/instance:Instance", "scheduling", None, {"automaticRestart": False, "preemptible": False}, False),
    ("gcp:compute/instance:Instance", "scheduling", {"preemptible": True}, None, False),
    ("gcp:compute/instance:Instance", "scheduling.onHostMaintenance", "MIGRATE", "TERMINATE", False),
    ("gcp:compute/instance:Instance", "bootDisk.initializeParams.image", "debian-11", "debian-12", True),
    ("gcp:compute/instance:Instance", "bootDisk.autoDelete", True, False, False),
    ("gcp:compute/instance:Instance", "scratchDisks", None, [{"interface": "NVME"}], True),
    ("aws:ec2/instance:Instance", "tenancy", "default", "dedicated", True),
    ("aws:ec2/instance:Instance", "rootBlockDevice.encrypted", False, True, True),
    ("aws:ec2/instance:Instance", "rootBlockDevice", None, {"encrypted": True, "volumeSize": 50}, True),
    ("aws:ec2/instance:Instance", "rootBlockDevice", None, {"volumeSize": 50}, False),
    ("aws:ec2/instance:Instance", "rootBlockDevice.volumeSize", 50, 60, False),
    ("aws:ec2/instance:Instance", "ebsBlockDevices.1.snapshotId", "snap-1", "snap-2", True),
    ("aws:ec2/instance:Instance", "instanceType", "g5.xlarge", "g5.2xlarge", False),
    ("aws:sagemaker/notebookInstance:NotebookInstance", "subnetId", "subnet-1", "subnet-2", True),
    ("aws:sagemaker/notebookInstance:NotebookInstance", "instanceType", "ml.t3.medium", "ml.g5.xlarge", False),
    ("aws:elasticache/cluster:Cluster", "engine", "redis", "memcached", True),
    ("aws:elasticache/cluster:Cluster", "numCacheNodes", 1, 2, False),
    ("aws:elasticache/replicationGroup:ReplicationGroup", "atRestEncryptionEnabled", False, True, True),
    ("aws:elasticache/replicationGroup:ReplicationGroup", "engine", "redis", "valkey", False),
    ("aws:docdb/cluster:Cluster", "storageEncrypted", False, True, True),
    ("aws:rds/cluster:Cluster", "engineMode", "serverless", "provisioned", True),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "earlier", "later", "fixed"), BLOCKS)
def test_a_part_of_a_block_says_for_itself(kind, path, earlier, later, fixed) -> None:
    resource = RecordedResource(urn=f"urn:pulumi:s::p::{kind}::r", type=kind, name="r", inputs={})
    assert is_fixed(resource, tuple(path.split(".")), earlier, later) is fixed


def test_most_of_google_clouds_types_are_known() -> None:
    assert sum(kind.startswith("gcp:") for kind in replaced()) > 500


OTHERS = {  # type -> what Microsoft Learn and Kubernetes' API reference call fixed once made, and what they let change
    "azure-native:containerservice:AgentPool": (
        {("vmSize",), ("agentPoolName",), ("resourceGroupName",)}, {("count",), ("nodeTaints", "0"), ("maxCount",)}),
    "azure-native:containerservice:ManagedCluster": (
        {("dnsPrefix",), ("networkProfile", "networkPlugin"), ("networkProfile", "serviceCidr"), ("location",)},
        {("kubernetesVersion",), ("networkProfile", "loadBalancerProfile"), ("agentPoolProfiles", "0", "count")}),
    "azure-native:storage:StorageAccount": ({("isHnsEnabled",), ("accountName",)}, {("minimumTlsVersion",), ("sku", "name")}),
    "azure-native:storagecache:AmlFilesystem": ({("storageCapacityTiB",), ("zones", "0")}, {("maintenanceWindow",)}),
    "azure-native:network:Subnet": ({("virtualNetworkName",), ("subnetName",)}, {("addressPrefix",), ("natGateway", "id")}),
    "azure-native:dbforpostgresql:Server": ({("serverName",), ("administratorLogin",)}, {("sku", "name"), ("version",)}),
    "kubernetes:core/v1:PersistentVolumeClaim": (
        {("spec", "storageClassName"), ("spec", "accessModes", "0")}, {("spec", "resources", "requests", "storage")}),
    "kubernetes:apps/v1:DaemonSet": (
        {("spec", "selector", "matchLabels", "app"), ("metadata", "name")}, {("spec", "template", "spec", "containers", "0", "image")}),
    "kubernetes:apps/v1:Deployment": ({("spec", "selector", "matchLabels", "app"), ("metadata", "namespace")}, {("spec", "replicas")}),
    "kubernetes:batch/v1:Job": ({("spec", "template", "spec", "containers", "0", "image")}, {("spec", "activeDeadlineSeconds")}),
    "kubernetes:core/v1:Pod": ({("spec", "containers", "0", "image"), ("spec", "nodeSelector", "a")}, {("metadata", "labels", "a")}),
    "kubernetes:core/v1:PersistentVolume": ({("spec", "nfs", "server"), ("spec", "csi", "driver")}, {("spec", "capacity", "storage")}),
}  # fmt: skip


@pytest.mark.parametrize("kind", OTHERS)
def test_inputs_of_azure_and_kubernetes_are_those_that_their_providers_replace(kind: str) -> None:
    fixed, free = OTHERS[kind]
    resource = RecordedResource(urn=f"urn:pulumi:s::p::{kind}::r", type=kind, name="r", inputs={})
    assert {each for each in fixed | free if is_fixed(resource, each)} == fixed


def test_the_lists_name_their_sources() -> None:
    said = json.loads(Path(fixed_inputs.__file__).with_name("replaced.json").read_text(encoding="utf-8"))
    assert {*said["sources"]} == {"google", "azure", "kubernetes"}
    assert sum(kind.startswith("azure-native:") for kind in said["types"]) > 200
    assert sum(kind.startswith("kubernetes:") for kind in said["types"]) > 20
