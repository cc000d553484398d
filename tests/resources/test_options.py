"""What an option of a resource bills: in the total where its price is known, else a "?" that names the meter.

Worked by hand, one row for each input; `outside` is what only a use decides and nobody stated.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from sizewell.resources import UNKNOWN, RecordedResource, price
from sizewell.resources.recorded import Plan
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.rates import parse_discounts
from tests.resources.test_meters import (
    ASG,
    EKS,
    GCE,
    LT,
    ON,
    SUBNET,
    VM,
    boot,
    gce,
    group,
    instance,
    make,
    monthly,
    priced,
)
from tests.resources.test_meters import CONFIG as SETTINGS

G6, G2 = Decimal("0.8048") * 730, Decimal("0.706832") * 730
N2 = Decimal("0.194236") * 730 * Decimal("0.8")  # less 20 % for sustained use
D4 = Decimal("0.192") * 730
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
AKS = "azure-native:containerservice:ManagedCluster"
GKE, POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
RDS, PG, SQL = (
    "aws:rds/instance:Instance",
    "azure-native:dbforpostgresql:Server",
    "gcp:sql/databaseInstance:DatabaseInstance",
)
DISK, ADDRESS = "gcp:compute/disk:Disk", "gcp:compute/address:Address"
RULE = "gcp:compute/globalForwardingRule:GlobalForwardingRule"
LB, KEY = "azure-native:network:LoadBalancer", "azure-native:keyvault:Key"
PREMIUM = {"diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}


def usd(amount: Decimal | float | str, *, more: bool = False) -> str:
    return f"{Decimal(str(amount)):.2f}" + (" + ?" if more else "")


def n2(**inputs: Any) -> RecordedResource:
    return gce(machineType="n2-standard-4", **inputs)


def reserved(count: int, kind: str = "g6.xlarge") -> RecordedResource:
    return make(RESERVATION, {"instanceType": kind, "instanceCount": count, "instancePlatform": "Linux/UNIX"}, "r")


def stands(in_: RecordedResource, **inputs: Any) -> RecordedResource:
    root = {"volumeSize": 8, "volumeType": "gp3"}
    spec = {"capacityReservationTarget": {"capacityReservationId": UNKNOWN}}
    stated = {"instanceType": "g6.xlarge", "rootBlockDevice": root, "associatePublicIpAddress": False}
    return make(
        "aws:ec2/instance:Instance",
        {**stated, "capacityReservationSpecification": spec, **inputs},
        capacityReservationSpecification=in_,
    )


def aks(**inputs: Any) -> RecordedResource:
    pool = {"count": 1, "vmSize": "Standard_D4s_v5", "osDiskType": "Ephemeral"}
    return make(AKS, {"sku": {"tier": "Free"}, "agentPoolProfiles": [pool], **inputs})


def d4(name: str = "it", **inputs: Any) -> RecordedResource:
    profile = {"hardwareProfile": {"vmSize": "Standard_D4s_v5"}, "storageProfile": {"osDisk": PREMIUM}}
    return make(VM, {**profile, **inputs}, name)


def rds(**inputs: Any) -> RecordedResource:
    stated = {"engine": "postgres", "engineVersion": "16.4", "instanceClass": "db.t3.large", "allocatedStorage": 100}
    return make(RDS, {**stated, **inputs})


def pg(**inputs: Any) -> RecordedResource:
    stated = {
        "location": "westus",
        "sku": {"name": "Standard_D4s_v3"},
        "storage": {"storageSizeGB": 128},
        "version": "16",
    }
    return make(PG, {**stated, **inputs})


def ml(kind: str) -> RecordedResource:
    stated = {"computeType": kind, "properties": {"vmSize": "Standard_D4s_v5", "scaleSettings": {"maxNodeCount": 1}}}
    return make("azure-native:machinelearningservices:Compute", {"properties": stated, "location": "eastus"})


def address(kind: str = ADDRESS, **inputs: Any) -> RecordedResource:
    return make(kind, {"region": "us-central1", **inputs}, "a")


def rules(count: int, *, outbound: int = 0) -> dict[str, Any]:
    listed = {"loadBalancingRules": [{"name": str(each)} for each in range(count)]}
    return {"sku": {"name": "Standard"}, **listed, "outboundRules": [{"name": str(each)} for each in range(outbound)]}


VPC = make("aws:ec2/vpc:Vpc", {"instanceTenancy": "dedicated"}, "v")
DEDICATED = make(SUBNET, {"vpcId": UNKNOWN}, "s", vpcId=VPC)
TAKEN = address()
USED = make(GCE, {"machineType": "g2-standard-4", "zone": "us-central1-a", "bootDisk": boot("debian-cloud/debian-12"),
                  "networkInterfaces": [{"accessConfigs": [{"natIp": UNKNOWN}]}]}, networkInterfaces=TAKEN)  # fmt: skip
GLOBAL = address("gcp:compute/globalAddress:GlobalAddress")
OWN_DISK = make(
    DISK, {"zone": "us-central1-a", "size": 50, "type": "pd-ssd", "image": "windows-cloud/windows-2022"}, "d"
)
STORAGE_POOL = make("gcp:compute/storagePool:StoragePool", {"zone": "us-central1-a"}, "p")
GCE_RESERVED = make("gcp:compute/reservation:Reservation", {"zone": "us-central1-a", "specificReservation": {
    "count": 2, "instanceProperties": {"machineType": "n2-standard-4"}}}, "r")  # fmt: skip
AZURE_GROUP = make("azure-native:compute:CapacityReservationGroup", {}, "g")
AZURE_RESERVED = make("azure-native:compute:CapacityReservation", {"sku": {"name": "Standard_D4s_v5", "capacity": 5}},
                      "r", capacityReservationGroupName=AZURE_GROUP)  # fmt: skip
MIXED = {"launchTemplate": {"launchTemplateSpecification": {}, "overrides": [
    {"instanceType": "g6.xlarge", "weightedCapacity": "4"}]}}  # fmt: skip
NEEDS = {"instanceRequirements": {"vcpuCount": {"min": 2}, "memoryMib": {"min": 4096}}}
TYPED = {"instanceType": "g6.xlarge"}


def sized(units: str, entry: dict[str, Any]) -> tuple[RecordedResource, ...]:
    template = make(LT, {"instanceType": "g6.xlarge"}, "lt")
    mixed = {"launchTemplate": {"launchTemplateSpecification": {}, "overrides": [entry]}}
    group = {"minSize": 8, "desiredCapacity": 8, "maxSize": 8, "desiredCapacityType": units}
    return template, make(ASG, {**group, "mixedInstancesPolicy": mixed}, mixedInstancesPolicy=template)


M5_LARGE, M5_XLARGE = Decimal("0.096") * 730, Decimal("0.192") * 730


def weighted(types: list[tuple[str, int]], units: int, **distribution: Any) -> tuple[RecordedResource, ...]:
    """A group whose size is in units, of which each type counts its weight."""
    template = make(LT, {"instanceType": "m5.large"}, "lt")
    overrides = [{"instanceType": kind, "weightedCapacity": str(weight)} for kind, weight in types]
    mixed = {"launchTemplate": {"launchTemplateSpecification": {}, "overrides": overrides},
             "instancesDistribution": distribution}  # fmt: skip
    size = {"minSize": units, "desiredCapacity": units, "maxSize": units, "mixedInstancesPolicy": mixed}
    return template, make(ASG, size, mixedInstancesPolicy=template)


def batch(*kinds: str) -> RecordedResource:
    sized = {"type": "EC2", "minVcpus": 8, "maxVcpus": 8, "instanceTypes": list(kinds)}
    return make("aws:batch/computeEnvironment:ComputeEnvironment", {"computeResources": sized})


CHEAPEST = {"onDemandAllocationStrategy": "lowest-price"}
CONFIG = make("aws:sagemaker/endpointConfiguration:EndpointConfiguration", {
    key: [{"instanceType": "ml.g5.xlarge", "initialInstanceCount": 1}]
    for key in ("productionVariants", "shadowProductionVariants")}, "c")  # fmt: skip
WINDOWS_GROUP = {"amiType": "WINDOWS_CORE_2022_x86_64", "instanceTypes": ["m5.large"],
                 "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 1}}  # fmt: skip
TASK = make("aws:ecs/taskDefinition:TaskDefinition", {"cpu": "1024", "memory": "2048", "requiresCompatibilities": ["FARGATE"],
            "runtimePlatform": {"operatingSystemFamily": "WINDOWS_SERVER_2022_CORE"}}, "t")  # fmt: skip
SPELLED = make("aws:ecs/taskDefinition:TaskDefinition", {"cpu": "1 vCPU", "memory": "2 GB",
               "requiresCompatibilities": ["FARGATE"], "runtimePlatform": {"operatingSystemFamily": "LINUX"}})  # fmt: skip
LINUX = make("aws:ecs/taskDefinition:TaskDefinition", {"cpu": "1024", "memory": "2048",
                                                       "requiresCompatibilities": ["FARGATE"]}, "t")  # fmt: skip
ENDPOINT = make("aws:ec2/vpcEndpoint:VpcEndpoint", {"vpcEndpointType": "Interface", "subnetIds": ["a"]}, "e")
LUSTRE = {"deploymentType": "PERSISTENT_2", "perUnitStorageThroughput": 250, "storageCapacity": 1200}
NODES = {"machineType": "g2-standard-4", "diskSizeGb": 50, "diskType": "pd-ssd"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        # -- AWS: 7 metrics at 0.30 for each machine, on by itself in a launch configuration
        ((instance(monitoring=True),), usd(G6 + 8 + Decimal("2.10"))),
        (group({"monitoring": {"enabled": True}}), usd(2 * (G6 + Decimal("2.10")))),
        # a public address of a managed service is 0.005 an hour, as a machine's
        ((rds(publiclyAccessible=True),), usd(Decimal("0.145") * 730 + Decimal("11.50") + Decimal("3.65"))),
        ((make("aws:dms/replicationInstance:ReplicationInstance", {"publiclyAccessible": True}),), "3.65 + ?"),
        # a stopped machine bills its disks, one on a dedicated host likewise
        ((vm := instance(), make("aws:ec2transitgateway/instanceState:InstanceState",
                                 {"instanceId": UNKNOWN, "state": "stopped"}, "s", instanceId=vm)), "8.00"),
        ((instance(tenancy="host", hostId=UNKNOWN),), "8.00"),
        ((VPC, DEDICATED, make("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "subnetId": UNKNOWN,
          "associatePublicIpAddress": False, "rootBlockDevice": {"volumeSize": 100, "volumeType": "gp3"}},
          subnetId=DEDICATED)), usd(G6 + 8, more=True)),
        # a reservation of two is billed whole, a machine in it is not; a third machine is
        ((held := reserved(2), stands(held)), usd(2 * G6 + Decimal("0.64"))),
        ((lt := make(LT, {"instanceType": "g6.xlarge", "capacityReservationSpecification": {
              "capacityReservationTarget": {"capacityReservationId": UNKNOWN}}}, "lt",
              capacityReservationSpecification=held),
          make(ASG, {"minSize": 3, "desiredCapacity": 3, "maxSize": 3, "launchTemplate": {"id": UNKNOWN}},
               launchTemplate=lt), held), usd(3 * G6)),
        # an open reservation takes a machine of its type in its zone by itself
        ((make(RESERVATION, {"instanceType": "g6.xlarge", "instanceCount": 1, "instancePlatform": "Linux/UNIX",
                             "availabilityZone": "us-east-1a"}, "r"), instance(availabilityZone="us-east-1a")), usd(G6 + 8)),
        ((make(RESERVATION, {"instanceType": "g6.xlarge", "instanceCount": 1, "instancePlatform": "Linux/UNIX",
                             "availabilityZone": "us-east-1b"}, "r"), instance(availabilityZone="us-east-1a")),
         "1183.00"),  # 2 x 587.50, and 8
        ((GCE_RESERVED, n2()), usd(2 * N2 + Decimal("8.5"))),
        # eight units of a group, of which each machine counts four
        ((template := make(LT, {"instanceType": "g6.xlarge"}, "lt"), make(ASG, {"minSize": 8, "desiredCapacity": 8,
          "maxSize": 8, "mixedInstancesPolicy": MIXED}, mixedInstancesPolicy=template)), usd(2 * G6)),
        # units that are vCPUs or MiB, and types that AWS chooses by what they have
        *((sized(units, entry), "0.00 + ?") for units in ("vcpu", "memory-mib", "units") for entry in (NEEDS, TYPED)
          if units != "units" or entry == NEEDS),
        ((template, make("aws:ec2/fleet:Fleet", {"launchTemplateConfigs": [{"overrides": [NEEDS]}],
          "targetCapacitySpecification": {"totalTargetCapacity": 8}}, launchTemplateConfigs=template)), "0.00 + ?"),
        ((template, make("aws:ec2/fleet:Fleet", {"launchTemplateConfigs": [{}], "targetCapacitySpecification": {
          "totalTargetCapacity": 8, "targetCapacityUnitType": "vcpu"}}, launchTemplateConfigs=template)), "0.00 + ?"),
        # 4 units are two machines of the first type, 16 are two of a weight of eight; three are two of a weight of two
        (weighted([("m5.xlarge", 2), ("m5.large", 1)], 4), usd(2 * M5_XLARGE)),
        (weighted([("m5.2xlarge", 8), ("m5.xlarge", 4), ("m5.large", 2)], 16), usd(4 * M5_XLARGE)),
        (weighted([("m5.xlarge", 2), ("m5.large", 1)], 3), usd(2 * M5_XLARGE)),
        # a base of four on demand and nothing of what is above is all of them; of 8 units 4 are on spot, at no price
        (weighted([("m5.xlarge", 2), ("m5.large", 1)], 4, onDemandBaseCapacity=4,
                  onDemandPercentageAboveBaseCapacity=0), usd(2 * M5_XLARGE)),
        (weighted([("m5.xlarge", 2), ("m5.large", 1)], 8, onDemandBaseCapacity=4,
                  onDemandPercentageAboveBaseCapacity=0), usd(2 * M5_XLARGE, more=True)),
        # what costs least for each unit, where the group asks for it
        (weighted([("m5.xlarge", 1), ("m5.large", 1)], 2), usd(2 * M5_XLARGE)),
        (weighted([("m5.xlarge", 1), ("m5.large", 1)], 2, **CHEAPEST), usd(2 * M5_LARGE)),
        (weighted([("m5.large", 1), ("m5.xlarge", 4)], 8, **CHEAPEST), usd(2 * M5_XLARGE)),
        # Batch counts vCPUs: of a type without a shape by its name, of a family by its smallest
        ((batch("m5.xlarge"),), usd(2 * M5_XLARGE)),
        ((batch("m5"),), usd(4 * M5_LARGE)),
        ((batch("optimal"),), "0.00 + ?"),
        ((make("aws:ec2/spotFleetRequest:SpotFleetRequest", {"targetCapacity": 8, "onDemandTargetCapacity": 8,
          "launchSpecifications": [{"instanceType": "g6.xlarge", "weightedCapacity": "4"}]}),), usd(2 * G6)),
        ((chosen := make(LT, {"instanceRequirements": {}}, "any"), make("aws:eks/nodeGroup:NodeGroup", {
          "scalingConfig": {"minSize": 1, "maxSize": 1}, "launchTemplate": {"id": UNKNOWN}}, launchTemplate=chosen)),
         "0.00 + ?"),
        # 2 vCPUs at 0.046, and 50 GB of gp3 where Linux has 20
        ((make("aws:eks/nodeGroup:NodeGroup", WINDOWS_GROUP),), usd(Decimal("0.096") * 730 + Decimal("0.092") * 730 + 4)),
        ((make(EKS, {"version": "1.36", "computeConfig": {"enabled": False},
                     "controlPlaneScalingConfig": {"tier": "tier-xl"}}),), "73.00 + ?"),
        ((make("aws:ec2/eip:Eip", {"publicIpv4Pool": "ipv4pool-ec2-012345"}),), "0.00"),
        ((make("aws:cloudwatch/metricAlarm:MetricAlarm", {"period": 10, "metricName": "m"}),), "0.00 + ?"),
        ((make("aws:secretsmanager/secret:Secret", {"replicas": [{"region": "us-west-2"}, {"region": "eu-west-1"}]}),),
         "1.20"),
        ((make("aws:lb/loadBalancer:LoadBalancer", {"subnets": ["a"], "internal": True,
                                                    "minimumLoadBalancerCapacity": {"capacityUnits": 500}}),), "16.42 + ?"),
        ((make("aws:fsx/lustreFileSystem:LustreFileSystem", {**LUSTRE, "metadataConfiguration": {
            "mode": "USER_PROVISIONED", "iops": 12000}}),), "252.00 + ?"),
        ((make("aws:ec2/natGateway:NatGateway", {"availabilityMode": "regional"}),), "32.85 + ?"),
        ((CONFIG, make("aws:sagemaker/endpoint:Endpoint", {"endpointConfigName": UNKNOWN}, endpointConfigName=CONFIG)),
         usd(2 * Decimal("1.4084") * 730)),
        ((make("aws:sagemaker/notebookInstance:NotebookInstance", {"instanceType": "ml.g5.xlarge", "volumeSize": 200}),),
         usd(Decimal("1.4084") * 730 + 28)),  # 200 GB at 0.14
        ((TASK, make("aws:ecs/service:Service", {"launchType": "FARGATE", "desiredCount": 1, "taskDefinition": UNKNOWN},
                     taskDefinition=TASK)), "0.00 + ?"),
        # a subnet is an endpoint of its own, also where an association adds it
        ((ENDPOINT, make("aws:ec2/vpcEndpointSubnetAssociation:VpcEndpointSubnetAssociation", {"vpcEndpointId": UNKNOWN,
          "subnetId": "b"}, "s", vpcEndpointId=ENDPOINT)), "14.60"),
        ((make("azure-native:machinelearningservices:ManagedNetworkSettingsRule", {"properties": {"type": "PrivateEndpoint"}}),),
         "7.30"),
        ((make("gcp:compute/resizeRequest:ResizeRequest", {"resizeBy": 4, "zone": "us-central1-a"}),), "0.00 + ?"),
        # a service on Fargate by a capacity provider: 1 vCPU at 0.04048 and 2 GB at 0.004445
        ((LINUX, make("aws:ecs/service:Service", {"desiredCount": 1, "taskDefinition": UNKNOWN, "capacityProviderStrategies": [
            {"capacityProvider": "FARGATE", "weight": 1}]}, taskDefinition=LINUX)), "36.04"),
        ((SPELLED, make("aws:ecs/service:Service", {"desiredCount": 1, "taskDefinition": UNKNOWN, "launchType": "FARGATE"},
                        taskDefinition=SPELLED)), "36.04"),
        # 105.85 + 11.50; extended support is 0.10 for each of 2 vCPUs in its first two years
        ((rds(),), "117.35"),
        ((rds(engineVersion="12.22"),), "263.35"),
        ((rds(engineVersion="10.21"),), "117.35 + ?"),  # upgraded by AWS to one in extended support
        ((rds(engineVersion="9.6.24"),), "117.35 + ?"),
        ((rds(engineVersion="19.1"),), "117.35"),
        ((rds(engine="mysql", instanceClass="db.t3.large", engineVersion="5.6.51"),), "110.78 + ?"),
        ((rds(engine="mysql", instanceClass="db.t3.large", engineVersion="9.1"),), "110.78"),
        ((rds(engine="mysql", instanceClass="db.t3.large", engineVersion="8"),), "110.78"),
        ((rds(engine="mariadb", instanceClass="db.t3.large", engineVersion="10.5.29"),), "110.78"),  # none is sold
        ((rds(engine="mariadb", instanceClass="db.t3.large", engineVersion="10.2.1"),), "110.78"),
        ((rds(engineVersion="10.21", engineLifecycleSupport="open-source-rds-extended-support-disabled"),), "117.35"),
        ((rds(engineVersion="12.22", engineLifecycleSupport="open-source-rds-extended-support-disabled"),), "117.35"),
        ((rds(performanceInsightsRetentionPeriod=731),), "117.35 + ?"),
        ((rds(performanceInsightsRetentionPeriod=7),), "117.35"),
        ((rds(dedicatedLogVolume=True),), "117.35 + ?"),
        # -- Google Cloud
        ((n2(networkPerformanceConfig={"totalEgressBandwidthTier": "TIER_1"}),), usd(N2 + Decimal("8.5"), more=True)),
        ((n2(confidentialInstanceConfig={"enableConfidentialCompute": True}),), usd(N2 + Decimal("8.5"), more=True)),
        ((n2(desiredStatus="SUSPENDED"),), "8.50 + ?"),
        ((n2(scheduling={"nodeAffinities": [{"key": "k", "operator": "IN", "values": ["g"]}]}),), "8.50"),
        # a schedule from 8 to 18 on weekdays stops the machine: its disk and its other hours stay
        ((hours := make("gcp:compute/resourcePolicy:ResourcePolicy", {"instanceSchedulePolicy": {"timeZone": "UTC",
              "vmStartSchedule": {"schedule": "0 8 * * 1-5"}, "vmStopSchedule": {"schedule": "0 18 * * 1-5"}}}, "h"),
          make(GCE, {"machineType": "n2-standard-4", "zone": "us-central1-a", "resourcePolicies": UNKNOWN,
                     "bootDisk": boot("debian-cloud/debian-12")}, resourcePolicies=hours)),
         usd(Decimal("0.194236") * 650 / 3 + Decimal("8.5"))),
        ((n2(networkInterfaces=[{"accessConfigs": [{}]}] * 2),), usd(N2 + Decimal("8.5") + Decimal("7.30"))),
        # spot has a price of its own for local SSDs; the price of the machine is an estimate of the catalog
        ((make(GCE, {"machineType": "n2-standard-4", "zone": "us-central1-a", "scratchDisks": [{}],
                     "desiredStatus": "TERMINATED", "bootDisk": boot("debian-cloud/debian-12")}),), "8.50"),
        # an address that nothing uses is 0.01 an hour, in use by a machine 0.005, by a rule nothing
        ((address(),), "7.30"),
        ((TAKEN, USED), usd(G2 + Decimal("8.5") + Decimal("3.65"))),
        ((GLOBAL, make(RULE, {"ipAddress": UNKNOWN, "target": "t"}, ipAddress=GLOBAL)), "18.25"),
        ((make(RULE, {"target": "all-apis"}),), "0.00 + ?"),
        # a machine that boots from a disk of Windows pays its licence: 4 vCPUs at 0.046
        ((OWN_DISK, make(GCE, {"machineType": "g2-standard-4", "zone": "us-central1-a", "bootDisk": {"source": UNKNOWN}},
                         bootDisk=OWN_DISK)), usd(G2 + 4 * Decimal("0.046") * 730 + Decimal("8.5"))),
        ((STORAGE_POOL, make(DISK, {"size": 500, "type": "hyperdisk-balanced", "storagePool": UNKNOWN,
                                    "zone": "us-central1-a"}, storagePool=STORAGE_POOL)), "0.00 + ?"),
        ((make(DISK, {"size": 500, "type": "pd-ssd", "zone": "us-central1-a", "asyncPrimaryDisk": {"disk": "d"}}),),
         "85.00 + ?"),
        ((GCE_RESERVED, make(GCE, {"machineType": "n2-standard-4", "zone": "us-central1-a", "reservationAffinity": {
            "type": "SPECIFIC_RESERVATION", "specificReservation": {"values": [UNKNOWN]}},
            "bootDisk": boot("debian-cloud/debian-12")}, reservationAffinity=GCE_RESERVED)),
         usd(2 * N2 + Decimal("8.5"))),
        # a zonal cluster's own zone is beside the two that it adds, for its default pool too
        ((make(GKE, {"location": "us-central1-a", "nodeLocations": ["us-central1-b", "us-central1-c"],
                     "nodeConfig": NODES, "privateClusterConfig": {"enablePrivateNodes": True}}),),
         usd(73 + 3 * (G2 + Decimal("8.5")))),
        ((make(GKE, {"location": "us-central1-a", "removeDefaultNodePool": True,
                     "releaseChannel": {"channel": "EXTENDED"}}),), "73.00 + ?"),
        ((make(GKE, {"location": "us-central1-a", "removeDefaultNodePool": True,
                     "clusterAutoscaling": {"enabled": True}}),), "73.00 + ?"),
        ((make("gcp:kms/cryptoKey:CryptoKey", {"keyRing": "projects/p/locations/us-central1/keyRings/r",
               "versionTemplate": {"protectionLevel": "HSM"}}),), "0.00 + ?"),
        ((make("gcp:filestore/instance:Instance", {"tier": "ZONAL", "location": "us-central1-a", "fileShares": {
            "capacityGb": 1024}, "performanceConfig": {"fixedIops": {"maxIops": 17000}}}),), "307.20 + ?"),
        # a notebook: machine, accelerator, both disks and its address; stopped, its disks
        ((make("gcp:workbench/instance:Instance", {"location": "us-central1-a", "gceSetup": {
            "machineType": "n1-standard-8", "acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4", "coreCount": "1"}],
            "bootDisk": {"diskSizeGb": "150", "diskType": "PD_SSD"}}}),),
         usd((Decimal("0.379998") * 730 + Decimal("255.5")) * Decimal("0.7") + Decimal("25.5") + 10 + Decimal("3.65"))),
        ((make("gcp:workbench/instance:Instance", {"location": "us-central1-a", "desiredState": "STOPPED", "gceSetup": {
            "machineType": "n1-standard-8"}}),), "25.00"),
        ((make(SQL, {"databaseVersion": "MYSQL_5_7", "region": "us-central1", "settings": {"tier": "db-g1-small"}}),),
         "27.25 + ?"),
        # -- Azure: the way out of a cluster is a balancer of 0.025 and an address of 0.005 an hour, or a gateway of 0.045
        ((aks(),), usd(D4 + Decimal("21.90"))),
        ((aks(networkProfile={"outboundType": "userDefinedRouting"}),), usd(D4)),
        ((aks(networkProfile={"loadBalancerProfile": {"managedOutboundIPs": {"count": 4}}}),),
         usd(D4 + Decimal("18.25") + Decimal("14.60"))),
        ((aks(networkProfile={"loadBalancerProfile": {"outboundIPs": {"publicIPs": [{"id": "i"}]}}}),),
         usd(D4 + Decimal("18.25"))),
        ((aks(networkProfile={"outboundType": "managedNATGateway", "natGatewayProfile": {
            "managedOutboundIPProfile": {"count": 2}}}),), usd(D4 + Decimal("32.85") + Decimal("7.30"))),
        ((aks(sku={"name": "Automatic", "tier": "Standard"}),), "21.90 + ?"),
        ((make("azure-native:containerservice:AgentPool", {"count": 2, "vmSize": "Standard_D4s_v5", "osDiskType": "Ephemeral",
               "powerState": {"code": "Stopped"}}),), "0.00"),
        # five rules together, each further one 0.01 an hour
        ((make(LB, rules(8)),), usd(Decimal("18.25") + Decimal("21.90"))),
        ((make(LB, rules(1, outbound=6)),), usd(Decimal("18.25") + Decimal("14.60"))),
        ((make(LB, rules(0)),), "0.00"),
        ((make(LB, {"sku": {"name": "Gateway"}}),), "0.00 + ?"),
        ((make("azure-native:network:PublicIPAddress", {"publicIPAddressVersion": "IPv6"}),), "0.00"),
        ((make("azure-native:network:PublicIPAddress", {"sku": {"name": "Standard", "tier": "Global"}}),), "7.30"),
        ((make("azure-native:network:PublicIPAddress", {"publicIPPrefix": {"id": UNKNOWN}}),), "0.00"),
        ((make("azure-native:network:PublicIPAddress", {"ddosSettings": {"protectionMode": "Enabled"}}),), "3.65 + ?"),
        ((make(KEY, {"properties": {"kty": "EC-HSM"}}),), "0.00 + ?"),
        ((make(KEY, {"properties": {"kty": "RSA"}}),), "0.00"),
        ((make("azure-native:compute:Disk", {"sku": {"name": "Premium_LRS"}, "diskSizeGB": 1024, "tier": "P50"}),),
         "495.57"),
        ((make("azure-native:compute:Disk", {"sku": {"name": "Premium_LRS"}, "diskSizeGB": 1024, "maxShares": 2}),),
         "135.17 + ?"),
        ((make("azure-native:storage:StorageAccount", {"isSftpEnabled": True}),), "0.00 + ?"),
        ((d4(hostGroup={"id": UNKNOWN}),), "19.71"),
        ((d4(additionalCapabilities={"ultraSSDEnabled": True}),), usd(D4 + Decimal("19.71"), more=True)),
        ((d4(storageProfile={"osDisk": PREMIUM, "imageReference": {"publisher": "canonical", "sku": "ubuntu-pro"}}),),
         usd(D4 + Decimal("19.71"), more=True)),
        ((AZURE_GROUP, AZURE_RESERVED, make(VM, {"hardwareProfile": {"vmSize": "Standard_D4s_v5"}, "storageProfile": {
            "osDisk": PREMIUM}, "capacityReservation": {"capacityReservationGroup": {"id": UNKNOWN}}},
            capacityReservation=AZURE_GROUP)), usd(5 * D4 + Decimal("19.71"))),
        # what a program states is no use: addresses of a service, two at 0.005, one for each of three brokers
        ((make("aws:globalaccelerator/accelerator:Accelerator", {"name": "front"}),), "7.30 + ?"),
        ((make("aws:globalaccelerator/accelerator:Accelerator", {"ipAddresses": ["192.0.2.1"]}),), "0.00 + ?"),
        ((make("aws:ec2/vpnConnection:VpnConnection", {"type": "ipsec.1"}),), "7.30 + ?"),
        ((make("aws:ec2/vpnConnection:VpnConnection", {"outsideIpAddressType": "PrivateIpv4"}),), "0.00 + ?"),
        ((make("aws:msk/cluster:Cluster", {"numberOfBrokerNodes": 3, "brokerNodeGroupInfo": {
            "connectivityInfo": {"publicAccess": {"type": "SERVICE_PROVIDED_EIPS"}}}}),), "10.95 + ?"),
        # 284.70 + 128 GB at 0.138, four nodes of them
        ((pg(),), "302.36"),
        ((pg(cluster={"clusterSize": 4}),), "1209.46"),
        ((pg(version="11"),), "302.36 + ?"),
        ((pg(storage={"storageSizeGB": 128, "tier": "P50"}),), "302.36 + ?"),
        ((pg(storage={"storageSizeGB": 128, "type": "PremiumV2_LRS", "iops": 20000}),), "284.70 + ?"),
        ((make("azure-native:app:ManagedEnvironment", {"workloadProfiles": [{"minimumCount": 3}]}),), "0.00 + ?"),
        ((make("azure-native:operationalinsights:Workspace", {"sku": {"capacityReservationLevel": 100}}),), "0.00 + ?"),
    ],
)  # fmt: skip
def test_what_an_option_bills_is_in_the_total_or_said(resources: tuple[RecordedResource, ...], expected: str) -> None:
    assert monthly(*resources) == expected


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (instance(ami=UNKNOWN), "licence"),
        (instance(tenancy="host", hostId="h-1"), "on a dedicated host"),
        (d4(hostGroup={"id": UNKNOWN}), "on a dedicated host"),
        (make("gcp:compute/resourcePolicy:ResourcePolicy", {"snapshotSchedulePolicy": {"schedule": {}}}), "snapshots"),
        (
            make("aws:efs/replicationConfiguration:ReplicationConfiguration", {"destination": {"region": "r"}}),
            "replica",
        ),
        (make("gcp:logging/projectBucketConfig:ProjectBucketConfig", {"retentionDays": 3650}), "logs kept"),
        (make("aws:kms/key:Key", {"enableKeyRotation": True}), "versions that a rotation adds"),
        (
            make("aws:cloudwatch/logMetricFilter:LogMetricFilter", {"metricTransformation": {"name": "errors"}}),
            "custom metric",
        ),
        (ml("ComputeInstance"), "disks, load balancer and public addresses"),
        (ml("AmlCompute"), "disks, load balancer and public addresses"),
    ],
)
def test_what_a_use_bills_is_named_beside_the_totals(resource: RecordedResource, said: str) -> None:
    assert any(said in line for line in priced(resource).outside)


def test_a_meter_has_the_price_of_a_teams_own_rate() -> None:
    cluster = make(EKS, {"version": "1.36", "controlPlaneScalingConfig": {"tier": "tier-xl"}})
    rates = parse_discounts({"rates": [{"fee": "eks.control_plane.tier-xl", "usd": 1.65}]})
    found = price(Plan(project="t", stack="dev", resources=(cluster,), config=SETTINGS), load(), on=ON, discounts=rates)
    assert found.cost().run_rate.usd_per_month.expected == 73 + Decimal("1.65") * 730


@pytest.mark.parametrize("gateway", ["tgw-1", UNKNOWN])
def test_a_vpn_at_a_transit_gateway_bills_its_attachment_as_a_network_does(gateway: object) -> None:
    rates = parse_discounts({"rates": [{"cloud": "aws", "fee": "tgw.attachment", "usd": "0.05"},
                                       {"cloud": "aws", "fee": "vpn.connection.hour", "usd": "0.05"}]})  # fmt: skip
    vpn = make("aws:ec2/vpnConnection:VpnConnection", {"type": "ipsec.1", "transitGatewayId": gateway})
    found = price(Plan(project="t", stack="dev", resources=(vpn,), config=SETTINGS), load(), on=ON, discounts=rates)
    assert found.cost().run_rate.usd_per_month.expected == 73 + Decimal("7.30")


@pytest.mark.parametrize(("tebibytes", "usd"), [(1, "299.01"), (4, "1196.03")])
def test_a_rate_of_a_netapp_pool_is_of_its_level_whatever_its_size(tebibytes: int, usd: str) -> None:
    own = parse_discounts({"rates": [{"cloud": "azure", "fee": "netapp.pool.premium.gib_hour", "usd": "0.0004"}]})
    pool = make("azure-native:netapp:CapacityPool", {"location": "eastus", "serviceLevel": "Premium",
                "size": tebibytes * 1024**4})  # fmt: skip
    found = price(Plan(project="t", stack="dev", resources=(pool,), config=SETTINGS), load(), on=ON, discounts=own)
    assert found.cost().run_rate.usd_per_month.expected == Decimal(usd)


def test_provisioned_capacity_of_indexes_and_replicas_is_in_the_total_or_a_gap_of_it() -> None:
    """An index has its own capacity, 50 of either; replicas have the table's, each at the price of its region."""
    rates = parse_discounts({"rates": [{"fee": "dynamodb.read_unit.hour", "usd": "0.00013"},
                                       {"fee": "dynamodb.write_unit.hour", "usd": "0.00065"}]})  # fmt: skip
    index = {"globalSecondaryIndexes": [{"name": "i", "readCapacity": 50, "writeCapacity": 50}]}
    for more, unpriced in ({}, 0), ({"replicas": [{"regionName": "eu-west-1"}]}, 1):
        table = make("aws:dynamodb/table:Table", {"readCapacity": 10, "writeCapacity": 10, **index, **more})
        cost = price(Plan(project="t", stack="dev", resources=(table,), config=SETTINGS), load(), on=ON,
                     discounts=rates).cost()  # fmt: skip
        assert cost.run_rate.usd_per_month.expected == Decimal("34.15")  # 0.95 + 4.74 + 4.74 + 23.72
        assert len(cost.unpriced) == unpriced


@pytest.mark.parametrize(
    ("kind", "key", "version", "extended"),
    [
        *(("opensearch/domain:Domain", "engineVersion", version, True) for version in (
            "Elasticsearch_1.5", "Elasticsearch_5.6", "Elasticsearch_6.7", "Elasticsearch_7.8", "OpenSearch_1.2",
            "OpenSearch_2.9")),
        *(("opensearch/domain:Domain", "engineVersion", version, False) for version in (
            None, "Elasticsearch_6.8", "Elasticsearch_7.10", "OpenSearch_1.3", "OpenSearch_2.11", "OpenSearch_2.19")),
        *(("elasticsearch/domain:Domain", "elasticsearchVersion", version, True) for version in (
            None, "1.5", "2.3", "5.6", "6.7", "7.1")),
        *(("elasticsearch/domain:Domain", "elasticsearchVersion", version, False) for version in ("6.8", "7.10")),
        ("docdb/cluster:Cluster", "engineVersion", "3.6.0", True),
        ("docdb/cluster:Cluster", "engineVersion", "5.0.0", False),
    ],
)  # fmt: skip
def test_a_version_out_of_standard_support_is_billed_more(
    kind: str, key: str, version: str | None, *, extended: bool
) -> None:
    lines = priced(make(f"aws:{kind}", {key: version} if version else {})).items
    assert any(line.what.startswith("extended support") for line in lines) == extended


def nat(*machines: RecordedResource) -> tuple[Decimal, Decimal]:
    """Expected and ceiling of a month of a NAT gateway beside these machines."""
    gateway = make("gcp:compute/routerNat:RouterNat", {"region": "us-central1"}, "nat")
    named = [replace(machine, urn=f"{machine.urn}{number}") for number, machine in enumerate(machines)]
    (line,) = (item for item in priced(gateway, *named).items if item.what == "NAT gateway")
    return line.quantity.expected, line.quantity.ceiling


def test_a_nat_gateway_is_expected_to_serve_the_machines_without_an_address_and_bounded_by_its_cap() -> None:
    private = {"networkInterfaces": [{"network": "default"}]}
    public = {"networkInterfaces": [{"network": "default", "accessConfigs": [{}]}]}
    zone = {"zone": "europe-west4-a"}
    assert nat(gce(**private)) == (730, 32 * 730)
    assert nat(gce(**private), gce(**public), gce(**private, **zone)) == (730, 32 * 730)
    pool = {"nodeCount": 3, "nodeConfig": NODES, "location": "us-central1-a"}
    assert nat(make(POOL, pool | {"networkConfig": {"enablePrivateNodes": True}}))[0] == 3 * 730
    assert nat(gce(**public)) == (32 * 730, 32 * 730), "what is behind it is not known: as for all that it bills"
