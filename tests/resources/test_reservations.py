"""A reservation covers the machines that its cloud would put into it, and no other: worked by hand, each beside one
that differs in a single point that the cloud compares.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sizewell.resources import UNKNOWN, RecordedResource
from sizewell.sizing.money import Interval
from tests.resources.test_meters import ASG, GCE, LT, SUBNET, VM, make, monthly, priced

M5 = Decimal("0.096") * 730  # m5.large, Linux, us-east-1
N2 = round(Decimal("0.194236") * 730 * Decimal("0.8"), 2)  # n2-standard-4, us-central1, less 20 % for sustained use
D4 = Decimal("0.192") * 730  # Standard_D4s_v5, eastus
AWS = "aws:ec2/capacityReservation:CapacityReservation"
GCP = "gcp:compute/reservation:Reservation"
AZURE = "azure-native:compute:CapacityReservation"
MIG = "gcp:compute/instanceGroupManager:InstanceGroupManager"
REGIONAL = "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager"
POOL = "gcp:container/nodePool:NodePool"
A, ZONE = {"availabilityZone": "us-east-1a"}, {"zone": "us-central1-a"}
ROOT = {"rootBlockDevice": {"volumeSize": 10, "volumeType": "gp3"}, "associatePublicIpAddress": False}
ON_PG = "arn:aws:ec2:us-east-1:123456789012:placement-group/pg"
NVME, T4 = {"interface": "NVME", "diskSizeGb": 375}, {"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}


def held(count: int = 1, platform: str = "Linux/UNIX", **inputs: Any) -> RecordedResource:
    stated = {"instanceType": "m5.large", "instanceCount": count, "instancePlatform": platform, **A}
    return make(AWS, {**stated, **inputs}, "held")


def ec2(**inputs: Any) -> RecordedResource:
    return make("aws:ec2/instance:Instance", {"instanceType": "m5.large", "ami": "ami-1", **ROOT, **A, **inputs}, "m")


def asg(count: int, *, template: dict[str, Any] | None = None, **inputs: Any) -> tuple[RecordedResource, ...]:
    lt = make(LT, {"instanceType": "m5.large", **(template or {})}, "lt")
    sizes = {"minSize": count, "desiredCapacity": count, "maxSize": count, "launchTemplate": {"id": UNKNOWN}}
    return lt, make(ASG, {**sizes, **inputs}, "g", launchTemplate=lt)


def google(count: int = 1, **properties: Any) -> RecordedResource:
    specific = {"count": count, "instanceProperties": {"machineType": "n2-standard-4", **properties}}
    return make(GCP, {"specificReservation": specific, **ZONE}, "held")


def vm(**inputs: Any) -> RecordedResource:
    disk = {"bootDisk": {"initializeParams": {"image": "debian-cloud/debian-12", "size": 50, "type": "pd-standard"}}}
    return make(GCE, {"machineType": "n2-standard-4", **disk, **ZONE, **inputs}, "m")


def mig(kind: str, count: int, **inputs: Any) -> tuple[RecordedResource, ...]:
    disks = [{"boot": True, "sourceImage": "debian-cloud/debian-12", "diskSizeGb": 50, "diskType": "pd-standard"}]
    it = make("gcp:compute/instanceTemplate:InstanceTemplate", {"machineType": "n2-standard-4", "disks": disks}, "it")
    return it, make(
        kind, {"targetSize": count, "versions": [{"instanceTemplate": UNKNOWN}], **inputs}, "g", versions=it
    )


GROUP = make("azure-native:compute:CapacityReservationGroup", {"location": "eastus"}, "group")
OF_GROUP = {"capacityReservation": {"capacityReservationGroup": {"id": UNKNOWN}}}
DISKLESS = {"storageProfile": {"osDisk": {"diffDiskSettings": {"option": "Local"}}}}


def azure(count: int = 1, **inputs: Any) -> tuple[RecordedResource, ...]:
    stated = {"sku": {"name": "Standard_D4s_v5", "capacity": count}, "location": "eastus", **inputs}
    return GROUP, make(AZURE, stated, "held", capacityReservationGroupName=GROUP)


def azure_vm(**inputs: Any) -> RecordedResource:
    stated = {"hardwareProfile": {"vmSize": "Standard_D4s_v5"}, "location": "eastus", **DISKLESS, **OF_GROUP, **inputs}
    return make(VM, stated, "m", capacityReservation=GROUP)


def scale_set(count: int, **inputs: Any) -> RecordedResource:
    stated = {"sku": {"name": "Standard_D4s_v5", "capacity": count}, "location": "eastus",
              "virtualMachineProfile": {**DISKLESS, **OF_GROUP}, **inputs}  # fmt: skip
    return make("azure-native:compute:VirtualMachineScaleSet", stated, "m", virtualMachineProfile=GROUP)


SUBNET_B = make(SUBNET, {"availabilityZone": "us-east-1b"}, "b")


@pytest.mark.parametrize(
    ("resources", "each", "machines"),  # so many machines are billed, those of the reservation included
    [
        ((held(), ec2()), M5, 1),
        ((held(), ec2(availabilityZone="us-east-1b")), M5, 2),
        ((held(), ec2(capacityReservationSpecification={"capacityReservationPreference": "open"})), M5, 1),
        ((held(), ec2(capacityReservationSpecification={"capacityReservationPreference": "none"})), M5, 2),
        ((held(instanceMatchCriteria="targeted"), ec2()), M5, 2),
        ((held(placementGroupArn=ON_PG), ec2()), M5, 2),
        ((held(placementGroupArn=ON_PG), ec2(placementGroup="other")), M5, 2),
        ((held(placementGroupArn=ON_PG), ec2(placementGroup="pg")), M5, 1),
        ((held(), make("aws:ec2/instance:Instance", {"launchTemplate": {"id": UNKNOWN}, **ROOT, **A}, "m",
                       launchTemplate=(lt := asg(1)[0])), lt), M5, 1),
        # groups: in one zone, by their subnet elsewhere, spread evenly over three, more than are held, and none
        ((held(3), *asg(3, availabilityZones=["us-east-1a"])), M5, 3),
        ((held(3), SUBNET_B, make(ASG, dict(asg(3)[1].inputs) | {"vpcZoneIdentifiers": [UNKNOWN]}, "g", launchTemplate=lt,
                                  vpcZoneIdentifiers=SUBNET_B), lt), M5, 6),
        ((held(3), *asg(3, availabilityZones=["us-east-1a", "us-east-1b", "us-east-1c"])), M5, 5),
        ((held(1), *asg(3, availabilityZones=["us-east-1a"])), M5, 3),
        ((held(3), *asg(3, availabilityZones=["us-east-1a"], template={"capacityReservationSpecification": {
            "capacityReservationPreference": "none"}})), M5, 6),
        ((google(), vm()), N2, 1),
        ((google(minCpuPlatform="Intel Ice Lake"), vm()), N2, 2),
        ((google(minCpuPlatform="Intel Ice Lake"), vm(minCpuPlatform="Intel Ice Lake")), N2, 1),
        ((google(), vm(minCpuPlatform="Automatic")), N2, 1),
        ((google(), vm(reservationAffinity={"type": "NO_RESERVATION"})), N2, 2),
        ((google(3), *mig(MIG, 3, **ZONE)), N2, 3),
        ((google(3), *mig(MIG, 3, zone="us-central1-b")), N2, 6),
        ((google(3), *mig(REGIONAL, 3, region="us-central1",
                          distributionPolicyZones=["us-central1-a", "us-central1-b", "us-central1-c"])), N2, 5),
        ((google(3), *mig(REGIONAL, 3, region="us-east1")), N2, 6),
        ((make(GCP, {"specificReservation": {"count": 2, "sourceInstanceTemplate": UNKNOWN}, **ZONE}, "held",
               specificReservation=(it := mig(MIG, 1)[0])), it, vm()), N2, 2),
        # nodes of GKE take a reservation only where they ask for it
        ((google(), make(POOL, {"nodeCount": 1, "location": "us-central1-a", "nodeConfig": {
            "machineType": "n2-standard-4"}}, "p")), N2, 2),
        ((google(), make(POOL, {"nodeCount": 1, "location": "us-central1-a", "nodeConfig": {
            "machineType": "n2-standard-4", "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION"}}},
            "p")), N2, 1),
        ((*azure(zones=["1"]), azure_vm(zones=["1"])), D4, 1),
        ((*azure(zones=["1"]), azure_vm(zones=["2"])), D4, 2),
        ((*azure(zones=["1"]), azure_vm()), D4, 2),
        ((*azure(), azure_vm()), D4, 1),
        ((*azure(), azure_vm(hardwareProfile={"vmSize": "Standard_D2s_v5"})), D4, Decimal("1.5")),
        ((*azure(2, zones=["1"]), scale_set(2, zones=["1", "2"])), D4, 3),
    ],
)  # fmt: skip
def test_a_reservation_covers_the_machines_that_agree_with_it(
    resources: tuple[RecordedResource, ...], each: Decimal, machines: Decimal | int
) -> None:
    rows = [line for line in priced(*resources).items if line.unit == "machine-hour"]
    total = sum((cost.expected for line in rows if isinstance(cost := line.cost(), Interval)), Decimal(0))
    assert abs(total - each * machines) < Decimal("0.03")


def test_the_row_of_a_machine_says_in_which_reservation_it_stands() -> None:
    covered = next(line for line in priced(held(), ec2()).items if line.resource.endswith("::m"))
    assert covered.what == "m5.large, on-demand, us-east-1, in reservation held"
    beyond = next(line for line in priced(held(1), *asg(3, availabilityZones=["us-east-1a"])).items
                  if line.resource.endswith("::g"))  # fmt: skip
    assert beyond.how.endswith("; beyond those in reservation held")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        # a machine of its own tenancy, platform, disks or accelerators beside a reservation without them, and back
        ((held(), ec2(tenancy="dedicated")), f"{2 * M5 + Decimal('0.80'):.2f} + ?"),
        ((held(tenancy="dedicated"), ec2()), f"{2 * M5 + Decimal('0.80'):.2f} + ?"),
        ((held(platform="Red Hat Enterprise Linux"), ec2()), f"{2 * M5 + Decimal('0.80'):.2f} + ?"),
        ((held(platform="Linux with SQL Server Web"), ec2()), f"{2 * M5 + Decimal('0.80'):.2f} + ?"),
        ((google(localSsds=[NVME]), vm()), f"{2 * N2 + 375 * Decimal('0.08') + 2:.2f}"),
        ((google(), vm(scratchDisks=[{"interface": "NVME"}])), f"{2 * N2 + 375 * Decimal('0.08') + 2:.2f}"),
        ((google(localSsds=[{"interface": "SCSI"}]), vm(scratchDisks=[{"interface": "NVME"}])),
         f"{2 * (N2 + 375 * Decimal('0.08')) + 2:.2f}"),
        # what a reservation holds beside the machine is billed with it, once
        ((google(localSsds=[NVME]), vm(scratchDisks=[{"interface": "NVME"}])), f"{N2 + 375 * Decimal('0.08') + 2:.2f}"),
        ((google(machineType="n1-standard-4", guestAccelerators=[T4]),
          vm(machineType="n1-standard-4", guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 1}])),
         f"{(Decimal('138.70') + Decimal('255.50')) * Decimal('0.7') + 2:.2f}"),
        ((google(machineType="n1-standard-4", guestAccelerators=[T4]), vm(machineType="n1-standard-4")),
         f"{(2 * Decimal('138.70') + Decimal('255.50')) * Decimal('0.7') + 2:.2f}"),
        ((held(platform="Windows"), ec2(getPasswordData=True)), f"{M5 + Decimal('0.092') * 730 + Decimal('0.80'):.2f}"),
        # SQL Server and Ubuntu Pro are never plain Linux
        *(((held(platform=name),), f"{M5:.2f} + ?") for name in (
            "Linux with SQL Server Standard", "Linux with SQL Server Web", "Linux with SQL Server Enterprise",
            "Ubuntu Pro Linux", "SUSE Linux", "RHEL with HA", "Windows with SQL Server Web")),
    ],
)  # fmt: skip
def test_what_a_machine_has_beside_its_type_decides_too(resources: tuple[RecordedResource, ...], expected: str) -> None:
    assert monthly(*resources) == expected


@pytest.mark.parametrize(
    ("resources", "by"),
    [
        ((held(), ec2(availabilityZone=None, subnetId="subnet-1")), "zone"),
        ((held(placementGroupArn=UNKNOWN), ec2(placementGroup="pg")), "placement group"),
        ((held(platform="Windows"), ec2(ami=UNKNOWN)), "platform"),
        (
            (
                group := make("aws:resourcegroups/group:Group", {"name": "all"}, "all"),
                held(instanceMatchCriteria="targeted"),
                make(
                    "aws:ec2/instance:Instance",
                    {
                        "instanceType": "m5.large",
                        "ami": "ami-1",
                        **ROOT,
                        **A,
                        "capacityReservationSpecification": {
                            "capacityReservationTarget": {"capacityReservationResourceGroupArn": UNKNOWN}
                        },
                    },
                    "m",
                    capacityReservationSpecification=group,
                ),
            ),
            "resource group",
        ),
        ((google(), vm(minCpuPlatform=UNKNOWN)), "CPU platform"),
        ((google(3), *mig(REGIONAL, 3, region="us-central1")), "zone"),
    ],
)
def test_a_machine_that_may_stand_in_a_reservation_has_no_price(
    resources: tuple[RecordedResource, ...], by: str
) -> None:
    reasons = [why for _, _, why in priced(*resources).unpriced]
    asked = f"not known whether its machines stand in reservation held: by their {by}"
    assert any(asked in why for why in reasons)
