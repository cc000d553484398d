"""What is billed beside a machine's hours and a disk's gigabytes: each worked out by hand from the fees of the region."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from sizewell.resources import UNKNOWN, Plan, RecordedResource, price
from sizewell.resources.pricing import Pricing
from sizewell.sizing.catalog import load

ON = date(2026, 11, 26)
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
LT, ASG = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
SUBNET, EKS = "aws:ec2/subnet:Subnet", "aws:eks/cluster:Cluster"
GCE, DISK = "gcp:compute/instance:Instance", "gcp:compute/disk:Disk"
RULE = "gcp:compute/globalForwardingRule:GlobalForwardingRule"
VM, VMSS = "azure-native:compute:VirtualMachine", "azure-native:compute:VirtualMachineScaleSet"


def make(kind: str, inputs: dict[str, Any], name: str = "it", **refers: RecordedResource) -> RecordedResource:
    urn = f"urn:pulumi:dev::t::{kind}::{name}"
    dependencies = {prop: (other.urn,) for prop, other in refers.items()}
    return RecordedResource(urn=urn, type=kind, name=name, inputs=inputs, property_dependencies=dependencies)


def priced(*resources: RecordedResource, on: date = ON) -> Pricing:
    return price(Plan(project="t", stack="dev", resources=resources, config=CONFIG), load(), on=on)


def monthly(*resources: RecordedResource, on: date = ON) -> str:
    """The expected month; with "+ ?" where something that is billed has no price."""
    cost = priced(*resources, on=on).cost()
    return f"{cost.run_rate.usd_per_month.expected}" + (" + ?" if cost.unpriced else "")


def instance(**inputs: Any) -> RecordedResource:
    root = {"volumeSize": 100, "volumeType": "gp3", **inputs.pop("root", {})}
    stated = {"instanceType": "g6.xlarge", "rootBlockDevice": root, "associatePublicIpAddress": False, **inputs}
    return make("aws:ec2/instance:Instance", stated)


def hyperdisk(kind: str, **inputs: Any) -> RecordedResource:
    return make(DISK, {"type": kind, "size": 1000, "zone": "us-central1-a", **inputs})


def gce(**inputs: Any) -> RecordedResource:
    boot = {"initializeParams": {"size": 50, "type": "pd-ssd"}}
    return make(GCE, {"machineType": "g2-standard-4", "zone": "us-central1-a", "bootDisk": boot, **inputs})


def group(template: dict[str, Any], **inputs: Any) -> tuple[RecordedResource, ...]:
    lt = make(LT, {"instanceType": "g6.xlarge", **template}, "lt")
    size = {"minSize": 2, "desiredCapacity": 2, "maxSize": 2, "launchTemplate": {"id": UNKNOWN}}
    return lt, make(ASG, {**size, **inputs}, launchTemplate=lt)


def vm(**inputs: Any) -> RecordedResource:
    disk = {"osDisk": {"diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}}
    profile = {"hardwareProfile": {"vmSize": "Standard_NC24ads_A100_v4"}, "storageProfile": disk}
    return make(VM, {**profile, **inputs})


def boot(image: str) -> dict[str, Any]:
    return {"initializeParams": {"size": 50, "type": "pd-ssd", "image": image}}


ROOT = {"boot": True, "diskSizeGb": 50, "diskType": "pd-ssd"}
STORAGE = {"osDisk": {"diskSizeGB": 128, "managedDisk": {"storageAccountType": "Premium_LRS"}}}
TEMPLATE, MANAGER = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
)


def pool_of_template(disks: list[dict[str, Any]], **inputs: Any) -> tuple[RecordedResource, ...]:
    template = make(TEMPLATE, {"machineType": "g2-standard-4", "disks": disks}, "t")
    sized = {"targetSize": 1, "zone": "us-central1-a", "versions": [{"instanceTemplate": UNKNOWN}], **inputs}
    return template, make(MANAGER, sized, versions=template)


def of_template(**inputs: Any) -> tuple[RecordedResource, ...]:
    """A machine of a template with a root disk and one for data, of 500 GB."""
    sizes = {"/dev/xvda": 100, "/dev/sdb": 500}
    mappings = [{"deviceName": name, "ebs": {"volumeSize": size, "volumeType": "gp3"}} for name, size in sizes.items()]
    template = make(LT, {"instanceType": "g6.xlarge", "blockDeviceMappings": mappings}, "lt")
    stated = {"launchTemplate": {"id": UNKNOWN}, "associatePublicIpAddress": False, **inputs}
    return template, make("aws:ec2/instance:Instance", stated, launchTemplate=template)


WINDOWS = {"osProfile": {"windowsConfiguration": {}}}
N1_8 = Decimal("0.379998") * 730 * Decimal("0.7")  # less 30 % for sustained use, as is what is attached to it
NC24 = Decimal("3.673") * 730 + Decimal("19.71")
G6, G2 = Decimal("0.8048") * 730 + 8, Decimal("0.706832") * 730 + Decimal("8.5")  # with 100 GB of gp3, 50 GB of pd-ssd


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        # 125 + 100,000 x 0.032
        ((hyperdisk("hyperdisk-extreme", provisionedIops=100_000),), "3325.00"),
        ((hyperdisk("hyperdisk-extreme"),), "125.00 + ?"),
        # 80, and what is above 3,000 IOPS and 140 MB/s has no price in the catalog
        ((hyperdisk("hyperdisk-balanced", provisionedIops=50_000, provisionedThroughput=1200),), "80.00 + ?"),
        ((hyperdisk("hyperdisk-balanced", provisionedIops=3000, provisionedThroughput=140),), "80.00"),
        ((hyperdisk("hyperdisk-balanced"),), "80.00"),
        # 80 + 2,400 x 0.12
        ((hyperdisk("hyperdisk-ml", provisionedThroughput=2400),), "368.00"),
        ((hyperdisk("hyperdisk-ml", provisionedThroughput=UNKNOWN),), "80.00 + ?"),
        # 500 GB at 0.17 in two zones
        ((make("gcp:compute/regionDisk:RegionDisk", {"type": "pd-ssd", "size": 500, "region": "us-central1"}),), "170.00"),
        # 13,000 IOPS above 3,000 at 0.005 and 875 MB/s above 125 at 0.04
        ((instance(root={"iops": 16_000, "throughput": 1000}),), f"{G6 + 65 + 35:.2f}"),
        ((instance(ebsBlockDevices=[{"volumeSize": 100, "volumeType": "gp3", "iops": 4000}]),), f"{G6 + 8 + 5:.2f}"),
        ((instance(ebsBlockDevices=[{"volumeSize": 100, "volumeType": "io2", "iops": 4000}]),),
         f"{G6 + Decimal('12.50'):.2f} + ?"),
        ((*group({"blockDeviceMappings": [{"ebs": {"volumeSize": 100, "volumeType": "gp3", "iops": 4000}}]}),),
         f"{2 * (G6 + 5):.2f}"),
        ((make("azure-native:compute:Disk", {"sku": {"name": "PremiumV2_LRS"}, "diskSizeGB": 100,
                                             "diskIOPSReadWrite": 9000}),), "0.00 + ?"),
        # an address is 0.005 an hour
        ((instance(associatePublicIpAddress=True),), f"{G6 + Decimal('3.65'):.2f}"),
        ((make("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "rootBlockDevice": {"volumeSize": 100,
                                             "volumeType": "gp3"}}),), f"{G6 + Decimal('3.65'):.2f}"),
        ((gce(networkInterfaces=[{"network": "default", "accessConfigs": [{}]}]),), f"{G2 + Decimal('3.65'):.2f}"),
        ((gce(networkInterfaces=[{"network": "default", "accessConfigs": [{"natIp": "34.1.2.3"}]}]),), f"{G2:.2f}"),
        ((gce(networkInterfaces=[{"network": "default"}]),), f"{G2:.2f}"),
        # two local SSDs of 375 GB at 0.08
        ((gce(scratchDisks=[{"interface": "NVME"}] * 2),), f"{G2 + 60:.2f}"),
        ((make("gcp:container/nodePool:NodePool", {"location": "us-central1-a", "nodeCount": 1, "nodeConfig": {
            "machineType": "g2-standard-4", "diskSizeGb": 50, "diskType": "pd-ssd", "localSsdCount": 2},
            "networkConfig": {"enablePrivateNodes": True}}),), f"{G2 + 60:.2f}"),
        # stopped: its disk alone
        ((gce(desiredStatus="TERMINATED"),), "8.50"),
        # standard support of 1.32 ended in March 2026: 0.60 an hour
        ((make(EKS, {"version": "1.32", "computeConfig": {"enabled": False}}),), "438.00"),
        ((make(EKS, {"version": "1.36", "computeConfig": {"enabled": False}}),), "73.00"),
        # past extended support AWS upgrades to the oldest version in it, which is the cheapest by no means
        *(((make(EKS, {"version": version, "computeConfig": {"enabled": False}}),), "438.00")
          for version in ("1.9", "1.29", "1.30.4", "1.31")),
        ((make(EKS, {"version": "1.29", "computeConfig": {"enabled": False},
                     "upgradePolicy": {"supportType": "STANDARD"}}),), "73.00"),
        ((make(EKS, {"version": "1.99", "computeConfig": {"enabled": False}}),), "73.00"),
        ((make(EKS, {"computeConfig": {"enabled": False}}),), "73.00"),
        ((make(EKS, {"version": "1.32", "computeConfig": {"enabled": False},
                     "upgradePolicy": {"supportType": "STANDARD"}}),), "73.00"),
        # one to five rules are 0.025 an hour together, each further one 0.01
        ((make(RULE, {}),), "18.25"),
        (tuple(make(RULE, {}, f"r{number}") for number in range(7)), "32.85"),
        # 24 vCPUs at 0.046
        ((vm(**WINDOWS),), f"{Decimal('3.673') * 730 + Decimal('19.71') + 24 * Decimal('0.046') * 730:.2f}"),
        ((vm(**WINDOWS, licenseType="Windows_Server"),), f"{Decimal('3.673') * 730 + Decimal('19.71'):.2f}"),
        ((make("aws:ec2/capacityReservation:CapacityReservation", {"instanceType": "g6.xlarge", "instanceCount": 1,
               "instancePlatform": "Windows"}),), f"{G6 - 8 + 4 * Decimal('0.046') * 730:.2f}"),
        ((make("aws:ec2/capacityReservation:CapacityReservation", {"instanceType": "g6.xlarge", "instanceCount": 1,
               "instancePlatform": "Windows with SQL Server Web"}),), f"{G6 - 8:.2f} + ?"),
        # GKE and Compute Engine by the project of the image: 4 vCPUs at 0.046, others have no rate
        ((gce(bootDisk=boot("windows-cloud/windows-2022")),), f"{G2 + 4 * Decimal('0.046') * 730:.2f}"),
        ((gce(bootDisk=boot("windows-sql-cloud/sql-std-2022")),), f"{G2:.2f} + ?"),
        ((gce(bootDisk=boot("projects/rhel-cloud/global/images/family/rhel-9")),), f"{G2:.2f} + ?"),
        ((gce(bootDisk=boot("debian-cloud/debian-12")),), f"{G2:.2f}"),
        ((gce(bootDisk=boot("windows-team/debian-golden")),), f"{G2:.2f}"),
        (pool_of_template(disks=[ROOT, {"diskType": "pd-ssd", "diskSizeGb": 1000}]), f"{G2 + 170:.2f}"),
        (pool_of_template(disks=[ROOT, {"type": "SCRATCH", "diskType": "local-ssd", "diskSizeGb": 375}]), f"{G2 + 30:.2f}"),
        (pool_of_template(disks=[ROOT, {"source": "own-disk"}]), f"{G2:.2f}"),
        (pool_of_template(disks=[ROOT], targetStoppedSize=4), f"{G2:.2f} + ?"),
        # reserved with a T4 at 0.35 and two local SSDs of 375 GB at 0.08, unused
        ((make("gcp:compute/reservation:Reservation", {"zone": "us-central1-a", "specificReservation": {"count": 1,
               "instanceProperties": {"machineType": "n1-standard-8", "localSsds": [{}, {}], "guestAccelerators": [
               {"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]}}}),), f"{N1_8 + Decimal('178.85') + 60:.2f}"),
        # the zone of a zonal cluster is beside those that it adds
        ((gke := make("gcp:container/cluster:Cluster", {"location": "us-central1-a", "removeDefaultNodePool": True,
               "nodeLocations": ["us-central1-b", "us-central1-c"]}, "k"),
          make("gcp:container/nodePool:NodePool", {"cluster": UNKNOWN, "nodeCount": 1, "nodeConfig": {
               "machineType": "g2-standard-4", "diskSizeGb": 50, "diskType": "pd-ssd"},
               "networkConfig": {"enablePrivateNodes": True}}, cluster=gke)), f"{73 + 3 * G2:.2f}"),
        # an image of Azure's marketplace says whose software it is
        ((vm(storageProfile=STORAGE | {"imageReference": {"publisher": "RedHat", "offer": "RHEL"}}),), f"{NC24:.2f} + ?"),
        ((vm(storageProfile=STORAGE | {"imageReference": {"publisher": "MicrosoftSQLServer"}}),), f"{NC24:.2f} + ?"),
        ((vm(plan={"name": "ai", "publisher": "nvidia"}),), f"{NC24:.2f} + ?"),
        ((vm(storageProfile=STORAGE | {"imageReference": {"publisher": "canonical", "offer": "ubuntu-24_04-lts"}}),),
         f"{NC24:.2f}"),
        # on demand the types of a node group are tried in their order
        ((make("aws:eks/nodeGroup:NodeGroup", {"instanceTypes": ["g6.xlarge", "g6.12xlarge"], "diskSize": 100,
               "scalingConfig": {"minSize": 1, "desiredSize": 1, "maxSize": 1}}),), f"{G6:.2f}"),
        # disks of a launch template: all, but for the root disk that the instance states itself
        (of_template(rootBlockDevice={"volumeSize": 100, "volumeType": "gp3"}), f"{G6 + 40:.2f}"),
        (of_template(), f"{G6 + 40:.2f}"),
        ((*group({}, warmPool={"poolState": "Stopped"}),), f"{2 * (G6 - 8):.2f} + ?"),
        ((instance(tenancy="dedicated"),), f"{G6:.2f} + ?"),
        # a balancer towards the internet has an address in each of its subnets
        ((make("aws:lb/loadBalancer:LoadBalancer", {"subnets": ["a", "b", "c"]}),), "27.37"),
        ((make("aws:lb/loadBalancer:LoadBalancer", {"subnets": ["a", "b", "c"], "internal": True}),), "16.42"),
    ],
)  # fmt: skip
def test_what_is_provisioned_beside_a_machine_or_a_disk_is_in_its_price(
    resources: tuple[RecordedResource, ...], expected: str
) -> None:
    assert monthly(*resources) == expected


def test_what_is_provisioned_or_held_is_no_use_that_nobody_stated() -> None:
    """A certificate on addresses of its own is a fixed fee; premium file shares are billed by their quota."""
    kind = "aws:cloudfront/distribution:Distribution"
    vip, sni = (
        {"viewerCertificate": {"acmCertificateArn": "a", "sslSupportMethod": how}} for how in ("vip", "sni-only")
    )
    assert (monthly(make(kind, vip)), monthly(make(kind, sni))) == ("0.00 + ?", "0.00")
    account = {"kind": "FileStorage", "sku": {"name": "Premium_LRS"}}
    share = make("azure-native:storage:FileShare", {"shareQuota": 1024, "accessTier": "Premium"})
    (size,) = priced(make("azure-native:storage:StorageAccount", account)).items  # no blobs
    assert (size.what, str(size.price)[:8]) == ("size that its file shares provision", "Unpriced")
    assert monthly(share).endswith("+ ?")
    assert not monthly(make("azure-native:storage:FileShare", {"shareQuota": 1024, "accessTier": "Hot"})).endswith("?")
