"""The clouds' own refusals: one by one, and that nothing the components make meets one of them.

tests/engine/refusals.py holds the figures of the clouds a second time, apart from the catalog that the components go by.
"""

import sys
from pathlib import Path

import pytest
import refusals
import sdk_types

from sizewell.resources.recorded import UNKNOWN

sys.path.insert(0, str(Path(__file__).parents[1] / "scanner"))

import judged_plans

TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
POOL, AGENTS = "gcp:container/nodePool:NodePool", "azure-native:containerservice:AgentPool"
AKS, RUN = "azure-native:containerservice:ManagedCluster", "gcp:cloudrunv2/service:Service"
LUSTRE, VMSS = "aws:fsx/lustreFileSystem:LustreFileSystem", "azure-native:compute:VirtualMachineScaleSet"
VARIANTS = "aws:sagemaker/endpointConfiguration:EndpointConfiguration"


def cards(count):
    return [
        {"interfaceType": "efa", "networkCardIndex": card, "deviceIndex": 0 if card == 0 else 1}
        for card in range(count)
    ]


def slice_of(kind, topology, nodes):
    return {
        "nodeConfig": {"machineType": kind},
        "placementPolicy": {"type": "COMPACT", "tpuTopology": topology},
        "nodeCount": nodes,
    }


def gpu_container(**limits):
    found = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1", **limits}
    return {
        "template": {"containers": [{"resources": {"limits": found}}], "nodeSelector": {"accelerator": "nvidia-l4"}}
    }


REFUSED = [
    (TEMPLATE, {"instanceType": "p5.48xlarge", "networkInterfaces": cards(33)}, "33 EFA interfaces"),
    (TEMPLATE, {"instanceType": "g6.xlarge", "networkInterfaces": cards(1)}, "takes 0"),
    (TEMPLATE, {"networkInterfaces": [*cards(1), *cards(1)]}, "one network card"),
    (TEMPLATE, {"networkInterfaces": [{"associatePublicIpAddress": "true"}, *cards(2)[1:]]}, "a public address"),
    (TEMPLATE, {"networkInterfaces": cards(1), "vpcSecurityGroupIds": ["sg-1"]}, "belong to the network interfaces"),
    (
        TEMPLATE,
        {"instanceMarketOptions": {"marketType": "capacity-block"}, "placement": {"groupName": "near"}},
        "placement group",
    ),
    (TEMPLATE, {"instanceMarketOptions": {"marketType": "capacity-block"}}, "named as the target"),
    (
        TEMPLATE,
        {
            "instanceMarketOptions": {"marketType": "spot"},
            "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-1"}},
        },
        "spot machines",
    ),
    (
        TEMPLATE,
        {"blockDeviceMappings": [{"ebs": {"volumeType": "gp3", "volumeSize": 70000}}]},
        "outside of 1 to 65536",
    ),
    (
        TEMPLATE,
        {"blockDeviceMappings": [{"ebs": {"volumeType": "gp3", "iops": 3000, "throughput": 1000}}]},
        "for each of its operations",
    ),
    (GROUP, {"minSize": 3, "maxSize": 2}, "above maxSize"),
    (GROUP, {"minSize": 0, "desiredCapacity": 5, "maxSize": 2}, "desiredCapacity 5 is above"),
    (GROUP, {"launchTemplate": {"id": "lt"}, "mixedInstancesPolicy": {}, "minSize": 0, "maxSize": 1}, None),
    (GROUP, {"launchTemplate": {"id": "lt"}, "mixedInstancesPolicy": {"x": 1}}, "has its own"),
    ("aws:autoscaling/schedule:Schedule", {"recurrence": "0 7 * * *", "timeZone": "Mars/Phobos"}, "no time zone"),
    ("aws:autoscaling/schedule:Schedule", {"recurrence": "rate(1 day)"}, "five fields"),
    ("aws:scheduler/schedule:Schedule", {"name": "end", "scheduleExpression": "tomorrow"}, "neither at()"),
    ("aws:cloudwatch/logGroup:LogGroup", {"retentionInDays": 31}, "none of the periods"),
    ("aws:kms/key:Key", {"deletionWindowInDays": 5}, "outside of 7 to 30"),
    ("aws:kms/alias:Alias", {"name": "checkpoints"}, "not a name"),
    ("aws:iam/role:Role", {"name": "r" * 65}, "not a name"),
    ("aws:iam/rolePolicy:RolePolicy", {"policy": "{'Version': 1}"}, "MalformedPolicyDocument"),
    ("aws:s3/bucket:Bucket", {"bucket": "Sizewell_checkpoints"}, "not a name"),
    ("aws:s3/bucket:Bucket", {"tags": {"aws:owner": "me"}}, "reserved"),
    ("aws:ec2/subnet:Subnet", {"cidrBlock": "10.0.0.0/29"}, "InvalidSubnet.Range"),
    ("aws:ec2/subnet:Subnet", {"cidrBlock": "10.0.0.1/24"}, "host bits"),
    ("aws:eks/nodeGroup:NodeGroup", {"scalingConfig": {"minSize": 0, "desiredSize": 0, "maxSize": 0}}, "at least 1"),
    ("aws:eks/nodeGroup:NodeGroup", {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, "no effect"),
    (LUSTRE, {"storageCapacity": 1800, "deploymentType": "SCRATCH_2"}, "neither 1200"),
    (
        LUSTRE,
        {"storageCapacity": 2400, "deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": 200},
        "PERSISTENT_2 has",
    ),
    (LUSTRE, {"storageCapacity": 1200, "subnetIds": ["a", "b"], "deploymentType": "SCRATCH_2"}, "in one zone"),
    (VARIANTS, {"productionVariants": [{"instanceType": "g5.xlarge"}]}, "no type of SageMaker"),
    (
        VARIANTS,
        {"productionVariants": [{"serverlessConfig": {"memorySizeInMb": 8192, "maxConcurrency": 1}}]},
        "none of the sizes",
    ),
    (VARIANTS, {"name": "chat_7b"}, "not a name"),
    (POOL, slice_of("ct5lp-hightpu-4t", "4x4", 2), "is 4 machines, not 2"),
    (POOL, slice_of("ct5lp-hightpu-4t", "2x2x4", 4), "has 2 sides"),
    (POOL, slice_of("ct5p-hightpu-4t", "4x4", 4), "has 3 sides"),
    (POOL, slice_of("ct6e-standard-4t", "3x4", 3), "there is no 3x4"),
    (POOL, slice_of("a2-highgpu-8g", "4x4", 4), "has no TPUs"),
    (
        POOL,
        {"nodeConfig": {"machineType": "a3-highgpu-8g", "guestAccelerators": [{"type": "h100", "count": 4}]}},
        "4 GPUs, a3-highgpu-8g has 8",
    ),
    (
        POOL,
        {"nodeConfig": {"spot": True, "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}}},
        "one way, not by spot and reservation",
    ),
    (POOL, {"nodeConfig": {"flexStart": True}, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 4}}, "minimum is 0"),
    (POOL, {"autoscaling": {"minNodeCount": 4, "maxNodeCount": 1}}, "above maxNodeCount"),
    (POOL, {"autoscaling": {"minNodeCount": 0, "totalMaxNodeCount": 4}}, "beside counts of a zone"),
    (POOL, {"name": "Pool_1"}, "not a name"),
    (RUN, gpu_container(cpu="2"), "at least 4 CPUs"),
    (RUN, gpu_container(memory="8Gi"), "at least 16Gi"),
    (RUN, gpu_container(**{"nvidia.com/gpu": "2"}), "one GPU"),
    ("gcp:serviceaccount/account:Account", {"accountId": "run"}, "not a name"),
    ("gcp:storage/bucket:Bucket", {"labels": {"owner": "ML Platform"}}, "not a label"),
    ("gcp:kms/cryptoKey:CryptoKey", {"rotationPeriod": "3600s"}, "at least one day"),
    (
        "gcp:compute/subnetwork:Subnetwork",
        {"ipCidrRange": "10.0.0.0/16", "secondaryIpRanges": [{"ipCidrRange": "10.0.4.0/22"}]},
        "overlap",
    ),
    ("gcp:filestore/instance:Instance", {"tier": "BASIC_SSD", "fileShares": {"capacityGb": 1024}}, "begins at 2560"),
    ("azure-native:storage:StorageAccount", {"accountName": "sizewell-dev"}, "not a name"),
    ("azure-native:keyvault:Vault", {"vaultName": "sizewell-dev-azure-keys-too-long"}, "not a name"),
    ("azure-native:resources:ResourceGroup", {"resourceGroupName": "r" * 91}, "not a name"),
    (AGENTS, {"agentPoolName": "gpupool-a100"}, "not a name"),
    (AGENTS, {"mode": "System", "scaleSetPriority": "Spot"}, "cannot be spot"),
    (AGENTS, {"scaleSetEvictionPolicy": "Delete"}, "belongs to spot machines"),
    (AGENTS, {"minCount": 0, "maxCount": 4}, "limits stand without scaling"),
    (AGENTS, {"maxPods": 8}, "outside of 10 to 250"),
    (AKS, {"agentPoolProfiles": [{"name": "gpu", "mode": "User"}]}, "no pool for the system"),
    (VMSS, {"virtualMachineProfile": {"evictionPolicy": "Delete"}}, "belongs to spot machines"),
    (VMSS, {"virtualMachineProfile": {"osProfile": {"computerNamePrefix": "-cbb92f8a"}}}, "how a host name begins"),
    (VMSS, {"singlePlacementGroup": True, "sku": {"capacity": 101}}, "takes 100 machines"),
    (
        "azure-native:monitor:AutoscaleSetting",
        {"profiles": [{"capacity": {"minimum": "2", "default": "1", "maximum": "4"}}]},
        "minimum 2 is above default 1",
    ),
    (
        "azure-native:monitor:AutoscaleSetting",
        {"profiles": [{"recurrence": {"schedule": {"timeZone": "Europe/London"}}}]},
        "the name that Windows has",
    ),
    (
        "azure-native:storagecache:AmlFilesystem",
        {"sku": {"name": "AMLFS-Durable-Premium-250"}, "storageCapacityTiB": 12, "zones": ["1"]},
        "steps of 8 TiB",
    ),
    ("azure-native:consumption:Budget", {"timePeriod": {"startDate": "2026-11-21"}}, "first of a month"),
    ("azure-native:resources:ResourceGroup", {"tags": {"cost/center": "1"}}, "not a tag of Azure"),
]


@pytest.mark.parametrize(("token", "inputs", "says"), REFUSED, ids=range(len(REFUSED)))
def test_what_the_clouds_refuse(token, inputs, says):
    found = [reason for _, reason in refusals.refusals(token, inputs)]
    assert any(says in reason for reason in found) if says else found == [], found


def wired(value):
    """A recorded input as it comes over the wire."""
    if value is UNKNOWN:
        return refusals.UNKNOWN
    if hasattr(value, "items"):
        return {key: wired(item) for key, item in value.items() if item is not None}
    return [wired(item) for item in value] if isinstance(value, (list, tuple)) else value


def made():
    for name, plan in [*judged_plans.forms().items(), *(("a stack", plan) for plan in judged_plans.stacks())]:
        for one in plan.resources:
            if one.custom and not one.type.startswith("pulumi:"):
                yield name, one, wired(one.inputs)


def test_nothing_that_the_components_make_is_refused():
    """In every form that their tests write down, and in every stack: neither by the SDK's types nor by the clouds."""
    found = {
        (one.type, where, reason): name
        for name, one, inputs in made()
        for where, reason in (*sdk_types.faults(one.type, inputs), *refusals.refusals(one.type, inputs))
    }
    assert found == {}


def test_no_stack_wants_one_name_twice():
    named = 0
    for plan in judged_plans.stacks():
        own = [
            identity
            for one in plan.resources
            if one.custom and (identity := refusals.identity(one.type, wired(one.inputs)))
            if refusals.known(identity) and one.type != "gcp:projects/serviceIdentity:ServiceIdentity"  # the project's
        ]
        assert len(own) == len(set(own))
        named += len(own)
    assert named > 100
