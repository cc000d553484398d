"""Inputs that a cloud cannot change in place: another value is another resource.

The providers' schemas say it of every input, but their Python packages leave it out. So this holds what decides it
everywhere (place, project, resource group, the resource's own name) and, by type, what is common and what holds data.
Sources: for AWS CloudFormation's schemas (`createOnlyProperties`), to which tests/judges/test_fixed_inputs.py holds it
and names what they do not say; for Google Cloud `ForceNew` of the Terraform provider's source, in replaced.json by
tools/replaced_inputs.py; for Azure pulumi-azure-native's provider/pkg/gen/replacement.go, and the parts of a resource's
id; for Kubernetes pulumi-kubernetes' provider/pkg/provider/diff.go (both of 2026-08). An engine's plan says it of all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
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
    # blocks of Google Cloud, of which each part says for itself; single inputs stand in replaced.json
    "gcp:compute/instance:Instance": ("bootDisk", "scratchDisks"),
    "gcp:container/nodePool:NodePool": ("placementPolicy",),
    "gcp:tpu/v2Vm:V2Vm": ("acceleratorConfig",),
    "azure-native:authorization:RoleAssignment": ("principalId", "scope"),
    "azure-native:automation:JobSchedule": ("parameters",),
    "azure-native:compute:VirtualMachineScaleSet": ("vmScaleSetName",),
    "azure-native:compute:VirtualMachine": ("vmName",),
    "azure-native:storage:StorageAccount": ("accountName", "isHnsEnabled"),
    "azure-native:storage:BlobContainer": ("accountName", "containerName"),
    "azure-native:compute:Disk": ("diskName", "zones"),  # zones: from memory
    "azure-native:containerservice:ManagedCluster": (
        "resourceName", "diskEncryptionSetID", "dnsPrefix", "fqdnSubdomain", "linuxProfile", "nodeResourceGroup",
        "windowsProfile", "networkProfile.serviceCidr", "networkProfile.serviceCidrs", "networkProfile.podCidrs",
        "networkProfile.dnsServiceIP", "networkProfile.networkMode", "networkProfile.networkPlugin",
        "networkProfile.networkPluginMode", "networkProfile.podCidr", "networkProfile.networkDataplane",
        "networkProfile.networkPolicy", "networkProfile.outboundType", "networkProfile.ipFamilies",
    ),
    "azure-native:containerservice:AgentPool": ("resourceName", "agentPoolName", "gpuInstanceProfile", "vmSize"),
    "azure-native:keyvault:Vault": ("vaultName",),
    "azure-native:network:PrivateEndpoint": ("subnet",),
    "azure-native:network:PublicIPAddress": ("publicIPAddressVersion", "publicIPPrefix", "sku"),
    "azure-native:servicebus:Queue": ("requiresDuplicateDetection", "requiresSession", "enablePartitioning"),
    "azure-native:servicebus:Topic": ("requiresDuplicateDetection", "requiresSession", "enablePartitioning"),
    "kubernetes:core/v1:ConfigMap": ("binaryData", "data"),
    "kubernetes:core/v1:Secret": ("type", "stringData", "data"),
    "kubernetes:core/v1:PersistentVolumeClaim": ("spec",),
    "kubernetes:core/v1:Pod": (
        "spec.affinity", "spec.hostNetwork", "spec.nodeName", "spec.nodeSelector", "spec.priorityClassName",
        "spec.restartPolicy", "spec.runtimeClassName", "spec.schedulerName", "spec.securityContext",
        "spec.serviceAccountName", "spec.volumes", "spec.containers", "spec.initContainers",
    ),
    "kubernetes:core/v1:ResourceQuota": ("spec.scopes",),
    "kubernetes:core/v1:Service": ("spec.clusterIP",),
    "kubernetes:batch/v1:Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    "kubernetes:apps/v1:Deployment": ("spec.selector",),
    "kubernetes:apps/v1:StatefulSet": (
        "spec.podManagementPolicy", "spec.revisionHistoryLimit", "spec.selector", "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding": ("roleRef",),
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": ("roleRef",),
    "kubernetes:storage.k8s.io/v1:StorageClass": ("parameters", "provisioner"),
}  # fmt: skip
_KUBERNETES: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")


@cache
def replaced() -> Mapping[str, frozenset[str]]:
    """Inputs of Google Cloud's types that another value replaces, as the Terraform provider declares them."""
    said = json.loads(Path(__file__).with_name("replaced.json").read_text(encoding="utf-8"))
    return {kind: frozenset(inputs) for kind, inputs in said["types"].items()}


def is_fixed(resource: RecordedResource, path: tuple[str, ...]) -> bool:
    """Whether another value of this input is another resource."""
    kind, joined = canonical(resource.type), ".".join(path)
    if kind.startswith("pulumi:") or path[0] in resource.ignore_changes:
        return False
    stated = FIXED.get(kind, ())
    of_google = replaced().get(kind) if kind.startswith("gcp:") else None
    if any(joined == fixed or joined.startswith(f"{fixed}.") for fixed in stated):
        return True
    if kind.startswith("kubernetes:"):
        return joined in _KUBERNETES
    if of_google is not None:
        return path[0] in of_google
    if len(path) > 1:
        return False
    if path[0] == "name":
        return kind.startswith(NAMED) and not kind.startswith(RENAMED_IN_PLACE)
    return path[0] in EVERYWHERE
