"""Inputs that a cloud cannot change in place: another value is another resource.

The providers' schemas say it of every input, but their Python packages leave it out. So this holds what decides it
everywhere (place, project, resource group, the resource's own name) and, by type, what is common and what holds data.
Sources: for AWS CloudFormation's schemas (`createOnlyProperties`), to which tests/judges/test_fixed_inputs.py holds it
and names what they do not say; for Google Cloud, Azure and Kubernetes the providers' documentation ("forces new
resource"), from memory. An engine's plan says it of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.resources.recorded import RecordedResource
from sizewell.resources.values import canonical

EVERYWHERE: Final = {"availabilityZone", "zone", "location", "region", "resourceGroupName", "project"}

# A name that the cloud changes without building anew.
RENAMED_IN_PLACE: Final = (
    "aws:apigateway", "aws:appsync/", "aws:athena/", "aws:ec2/", "aws:guardduty/", "aws:imagebuilder/",
    "aws:organizations/", "aws:servicecatalog/", "aws:sagemaker/image", "aws:cognito/userPoolClient",
    "gcp:organizations/", "gcp:monitoring/", "gcp:cloudbuild/",
)  # fmt: skip
NAMED: Final = ("aws:", "gcp:")  # clouds whose `name` is the resource's own

FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    "aws:ebs/volume:Volume": ("encrypted", "kmsKeyId", "snapshotId"),
    "aws:s3/bucket:Bucket": ("bucket", "objectLockEnabled"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": (
        "deploymentType", "storageType", "subnetIds", "importPath", "kmsKeyId", "securityGroupIds", "backupId",
    ),
    "aws:efs/fileSystem:FileSystem": ("availabilityZoneName", "encrypted", "kmsKeyId", "performanceMode"),
    "aws:ec2/fleet:Fleet": ("type", "validFrom", "validUntil", "spotOptions", "onDemandOptions"),
    "aws:ec2/instance:Instance": ("ami", "subnetId", "keyName", "enclaveOptions"),
    "aws:ec2/keyPair:KeyPair": ("keyName", "publicKey"),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name",),
    "aws:ec2/securityGroup:SecurityGroup": ("name", "description", "vpcId"),
    "aws:ec2/subnet:Subnet": ("vpcId", "cidrBlock"),
    "aws:ec2/vpc:Vpc": ("cidrBlock",),
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": ("capacityBlockOfferingId", "instancePlatform"),
    "aws:ec2/capacityReservation:CapacityReservation": (
        "instanceType", "instancePlatform", "tenancy", "ebsOptimized", "ephemeralStorage",
        "placementGroupArn",
    ),
    "aws:eks/cluster:Cluster": ("roleArn",),
    "aws:eks/nodeGroup:NodeGroup": (
        "nodeGroupName", "clusterName", "nodeRoleArn", "subnetIds", "instanceTypes", "amiType", "capacityType",
        "diskSize", "remoteAccess",
    ),
    "aws:rds/instance:Instance": ("engine", "username", "dbName", "storageEncrypted", "kmsKeyId"),
    "aws:rds/cluster:Cluster": ("clusterIdentifier", "engine", "masterUsername", "databaseName", "storageEncrypted"),
    "aws:dynamodb/table:Table": ("hashKey", "rangeKey", "localSecondaryIndexes"),
    "aws:opensearch/domain:Domain": ("domainName",),
    "aws:redshift/cluster:Cluster": ("clusterIdentifier", "masterUsername"),
    "aws:sqs/queue:Queue": ("fifoQueue",),
    "aws:sagemaker/endpointConfiguration:EndpointConfiguration": (
        "productionVariants", "shadowProductionVariants", "kmsKeyArn", "asyncInferenceConfig", "dataCaptureConfig",
        "executionRoleArn",
    ),
    "aws:batch/computeEnvironment:ComputeEnvironment": ("type",),
    "gcp:compute/disk:Disk": ("type",),
    "gcp:compute/instance:Instance": ("bootDisk",),
    "gcp:compute/reservation:Reservation": ("specificReservationRequired",),
    "gcp:filestore/instance:Instance": ("tier",),
    "gcp:lustre/instance:Instance": ("instanceId", "filesystem"),
    "gcp:container/cluster:Cluster": ("enableAutopilot",),
    "gcp:container/nodePool:NodePool": ("cluster", "placementPolicy"),
    "gcp:tpu/v2Vm:V2Vm": ("acceleratorType", "runtimeVersion"),
    "gcp:bigquery/dataset:Dataset": ("datasetId",),
    "gcp:bigquery/table:Table": ("datasetId", "tableId"),
    "azure-native:compute:VirtualMachineScaleSet": ("vmScaleSetName",),
    "azure-native:compute:VirtualMachine": ("vmName",),
    "azure-native:storage:StorageAccount": ("accountName",),
    "azure-native:storage:BlobContainer": ("accountName", "containerName"),
    "azure-native:compute:Disk": ("diskName", "zones"),
    "azure-native:containerservice:ManagedCluster": ("resourceName", "dnsPrefix"),
    "azure-native:containerservice:AgentPool": (
        "resourceName", "agentPoolName", "vmSize", "osDiskType", "osDiskSizeGB",
    ),
    "azure-native:keyvault:Vault": ("vaultName",),
    "kubernetes:core/v1:PersistentVolumeClaim": ("spec.storageClassName", "spec.accessModes"),
    "kubernetes:batch/v1:Job": ("spec.template", "spec.selector", "spec.completionMode"),
    "kubernetes:apps/v1:Deployment": ("spec.selector",),
    "kubernetes:apps/v1:StatefulSet": ("spec.selector", "spec.serviceName", "spec.volumeClaimTemplates"),
}  # fmt: skip
_KUBERNETES: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")


def is_fixed(resource: RecordedResource, path: tuple[str, ...]) -> bool:
    """Whether another value of this input is another resource."""
    kind, joined = canonical(resource.type), ".".join(path)
    if kind.startswith("pulumi:") or path[0] in resource.ignore_changes:
        return False
    stated = FIXED.get(kind, ())
    if any(joined == fixed or joined.startswith(f"{fixed}.") for fixed in stated):
        return True
    if kind.startswith("kubernetes:"):
        return joined in _KUBERNETES
    if len(path) > 1:
        return False
    if path[0] == "name":
        return kind.startswith(NAMED) and not kind.startswith(RENAMED_IN_PLACE)
    return path[0] in EVERYWHERE
