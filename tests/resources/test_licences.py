"""What a machine's operating system and disks cost, however a program spells the machine: worked out by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sizewell.resources.recorded import UNKNOWN, RecordedResource
from tests.resources.test_meters import boot, gce, make, monthly, pool_of_template, vm

P10, P30 = Decimal("19.71"), Decimal("135.17")  # disks of 128 and 1024 GB
HOURS = 730
D4 = Decimal("0.192") * HOURS + P10
WINDOWS = 4 * Decimal("0.046") * HOURS  # of 4 vCPUs
MICROSOFT = {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022", "version": "latest"}
RED_HAT = {"publisher": "RedHat", "offer": "RHEL", "sku": "9-lvm-gen2", "version": "latest"}
OS_DISK = {"caching": "ReadWrite", "storageAccountType": "Premium_LRS", "diskSizeGb": 128}
PLACE = {"resourceGroupName": "rg", "location": "eastus"}
LINUX_VM, WINDOWS_VM, OLD_VM, LINUX_SET, WINDOWS_SET, MIXED_SET = (
    f"azure:compute/{name[0].lower()}{name[1:]}:{name}"
    for name in (
        "LinuxVirtualMachine",
        "WindowsVirtualMachine",
        "VirtualMachine",
        "LinuxVirtualMachineScaleSet",
        "WindowsVirtualMachineScaleSet",
        "OrchestratedVirtualMachineScaleSet",
    )
)
CLUSTER = "azure:containerservice/kubernetesCluster:KubernetesCluster"
AGENTS = "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool"


def machine(kind: str, **inputs: Any) -> RecordedResource:
    return make(kind, {**PLACE, "size": "Standard_D4s_v5", "osDisk": OS_DISK, **inputs})


def scale_set(kind: str, **inputs: Any) -> RecordedResource:
    stated = {**PLACE, "sku": "Standard_D4s_v5", "skuName": "Standard_D4s_v5", "instances": 3, "osDisk": OS_DISK}
    return make(kind, {**stated, **inputs})


def old(**inputs: Any) -> RecordedResource:
    disk = {"name": "o", "createOption": "FromImage", "managedDiskType": "Premium_LRS", "diskSizeGb": 128}
    return make(OLD_VM, {**PLACE, "vmSize": "Standard_D4s_v5", "storageOsDisk": disk, **inputs})


def cluster(**inputs: Any) -> RecordedResource:
    pool = {"name": "np", "nodeCount": 1, "vmSize": "Standard_D4s_v5", "osDiskSizeGb": 128}
    return make(CLUSTER, {**PLACE, "dnsPrefix": "x", "defaultNodePool": pool, **inputs}, "c")


OUTBOUND = Decimal("0.025") * HOURS + Decimal("0.005") * HOURS  # balancer and its address
ADDRESS = [{"ipConfigurations": [{"name": "i", "publicIpAddresses": [{"name": "p"}]}]}]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ((machine(LINUX_VM),), f"{D4:.2f}"),
        ((machine(WINDOWS_VM, sourceImageReference=MICROSOFT),), f"{D4 + WINDOWS:.2f}"),
        ((machine(WINDOWS_VM, sourceImageId="/images/ours"),), f"{D4 + WINDOWS:.2f}"),
        ((machine(WINDOWS_VM, licenseType="Windows_Server"),), f"{D4:.2f}"),
        ((machine(LINUX_VM, sourceImageReference=RED_HAT),), f"{D4:.2f} + ?"),
        ((machine(LINUX_VM, sourceImageReference=RED_HAT, licenseType="RHEL_BYOS"),), f"{D4:.2f}"),
        ((machine(LINUX_VM, licenseType="RHEL_BASE"),), f"{D4:.2f} + ?"),
        ((machine(LINUX_VM, plan={"name": "n", "product": "p", "publisher": "x"}),), f"{D4:.2f} + ?"),
        ((machine(LINUX_VM, osDisk={**OS_DISK, "diffDiskSettings": {"option": "Local"}}),), f"{D4 - P10:.2f}"),
        ((machine(LINUX_VM, dedicatedHostId="/hosts/h"),), f"{P10:.2f}"),
        ((machine(LINUX_VM, osDisk={**OS_DISK, "securityEncryptionType": "VMGuestStateOnly"}),), f"{D4:.2f} + ?"),
        ((old(storageImageReference=MICROSOFT),), f"{D4 + WINDOWS:.2f}"),
        ((old(osProfileWindowsConfig={"provisionVmAgent": True}),), f"{D4 + WINDOWS:.2f}"),
        ((old(storageDataDisks=[{"lun": 0, "createOption": "Empty", "managedDiskType": "Premium_LRS",
                                 "diskSizeGb": 1024}]),), f"{D4 + P30:.2f}"),
        # a disk of its own, billed as itself
        ((old(storageDataDisks=[{"lun": 0, "createOption": "Attach", "managedDiskId": "/d", "diskSizeGb": 1024}]),),
         f"{D4:.2f}"),
        ((scale_set(WINDOWS_SET, sourceImageReference=MICROSOFT),), f"{3 * (D4 + WINDOWS):.2f}"),
        ((scale_set(WINDOWS_SET, licenseType="Windows_Server"),), f"{3 * D4:.2f}"),
        ((scale_set(LINUX_SET, sourceImageReference=RED_HAT),), f"{3 * D4:.2f} + ?"),
        ((scale_set(LINUX_SET, plan={"name": "n"}),), f"{3 * D4:.2f} + ?"),
        ((scale_set(LINUX_SET, dataDisks=[{"lun": 0, "diskSizeGb": 1024, "storageAccountType": "Premium_LRS"}]),),
         f"{3 * (D4 + P30):.2f}"),
        ((scale_set(LINUX_SET, dataDisks=UNKNOWN),), f"{3 * D4:.2f} + ?"),
        ((scale_set(LINUX_SET, networkInterfaces=ADDRESS),), f"{3 * (D4 + Decimal('3.65')):.2f}"),
        ((scale_set(MIXED_SET, osProfile={"windowsConfiguration": {}}),), f"{3 * (D4 + WINDOWS):.2f}"),
        # one regular machine of three; the others have no spot price
        ((scale_set(MIXED_SET, priority="Spot", priorityMix={"baseRegularCount": 1}),), None),
        ((cluster(),), f"{D4 + OUTBOUND:.2f}"),
        ((cluster(skuTier="Standard"),), f"{D4 + OUTBOUND + 73:.2f}"),
        ((cluster(skuTier="Premium", supportPlan="AKSLongTermSupport"),), f"{D4 + OUTBOUND + 438:.2f}"),
        ((cluster(networkProfile={"networkPlugin": "azure", "loadBalancerProfile": {"managedOutboundIpCount": 3}}),),
         f"{D4 + OUTBOUND + Decimal('7.30'):.2f}"),
        ((cluster(microsoftDefender={"logAnalyticsWorkspaceId": "w"}),), f"{D4 + OUTBOUND:.2f} + ?"),
    ],
)  # fmt: skip
def test_the_classic_provider_of_azure_is_billed_as_the_other(
    resources: tuple[RecordedResource, ...], expected: str | None
) -> None:
    if expected is None:
        expected = f"{3 * P10 + Decimal('0.192') * HOURS:.2f} + ?"
    assert monthly(*resources) == expected


def agents(**inputs: Any) -> RecordedResource:
    return make(
        "azure-native:containerservice:AgentPool",
        {"vmSize": "Standard_D4s_v5", "count": 1, "osType": "Windows", "osDiskSizeGB": 128, **inputs},
        "w",
    )


def test_windows_nodes_take_the_licence_that_their_cluster_states() -> None:
    for kind, key, pool in (
        ("azure-native:containerservice:ManagedCluster", "licenseType", agents),
        (CLUSTER, "license", None),
    ):
        for licence, fee in (("None", WINDOWS), ("Windows_Server", Decimal(0))):
            owner = make(kind, {**PLACE, "windowsProfile": {"adminUsername": "u", key: licence}}, "c")
            nodes = pool() if pool else make(AGENTS, {"vmSize": "Standard_D4s_v5", "nodeCount": 1, "osType": "Windows",
                                                      "osDiskSizeGb": 128}, "w")  # fmt: skip
            prop = "resourceName" if pool else "kubernetesClusterId"
            nodes = make(nodes.type, {**nodes.inputs, prop: UNKNOWN}, "w", **{prop: owner})
            alone = Decimal(monthly(owner))
            assert Decimal(monthly(owner, nodes)) == alone + (D4 + fee).quantize(Decimal("0.01"))
    inside = {"name": "w", "vmSize": "Standard_D4s_v5", "count": 1, "osType": "Windows", "osDiskSizeGB": 128}
    stated = {**PLACE, "agentPoolProfiles": [inside], "windowsProfile": {"licenseType": "Windows_Server"}}
    assert monthly(make("azure-native:containerservice:ManagedCluster", stated)) == f"{D4 + OUTBOUND:.2f}"


def windows(size: str, **inputs: Any) -> RecordedResource:
    return vm(hardwareProfile={"vmSize": size}, osProfile={"windowsConfiguration": {}}, **PLACE, **inputs)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("Standard_E2_v3", f"{Decimal('0.126') * HOURS + P10 + WINDOWS / 2:.2f}"),
        # the number of these names counts no vCPUs, and the rate is another one
        *((size, "?") for size in ("Standard_D12_v2", "Standard_DS13_v2", "Standard_DS3_v2", "Standard_D1_v2")),
        *((size, "?") for size in ("Standard_A1_v2", "Standard_A4m_v2", "Standard_B2ms", "Standard_B4as_v2")),
        *((size, "?") for size in ("Standard_F8s_v2", "Standard_DC2s", "Standard_M128ms", "Standard_NC6s_v2")),
    ],
)
def test_windows_is_priced_by_vcpu_only_where_its_rate_holds(size: str, expected: str) -> None:
    found = monthly(windows(size))
    assert found.endswith("+ ?") if expected == "?" else found == expected


def test_windows_on_spot_has_a_price_of_its_own_for_machine_and_licence() -> None:
    spot = windows("Standard_NC4as_T4_v3", priority="Spot")
    assert monthly(spot).endswith("+ ?")
    own = windows("Standard_NC4as_T4_v3", priority="Spot", licenseType="Windows_Server")
    assert f"{monthly(own)} + ?" == monthly(spot)
    mixed = scale_set(
        MIXED_SET, priority="Spot", priorityMix={"baseRegularCount": 1}, osProfile={"windowsConfiguration": {}}
    )
    assert monthly(mixed) == f"{3 * P10 + Decimal('0.192') * HOURS + WINDOWS:.2f} + ?"


@pytest.mark.parametrize("market", ["targetDedicatedNodes", "targetLowPriorityNodes"])
def test_machines_of_batch_and_of_fleets_pay_for_windows(market: str) -> None:
    scale = {"fixedScale": {market: 1}}
    images = {
        "virtualMachineConfiguration": {"imageReference": MICROSOFT, "nodeAgentSkuId": "batch.node.windows amd64"}
    }
    made = {"vmSize": "Standard_D4s_v5", "scaleSettings": scale, "location": "eastus"}
    plain, pool = (
        monthly(make("azure-native:batch:Pool", {**made, **more})) for more in ({}, {"deploymentConfiguration": images})
    )
    profile = {"baseVirtualMachineProfile": {"osProfile": {"windowsConfiguration": {}}}}
    capacity = "regularPriorityProfile" if market == "targetDedicatedNodes" else "spotPriorityProfile"
    sizes = {"vmSizesProfile": [{"name": "Standard_D4s_v5"}], capacity: {"capacity": 1}, "location": "eastus"}
    fleet = monthly(make("azure-native:azurefleet:Fleet", {**sizes, "computeProfile": profile}))
    if market == "targetDedicatedNodes":
        assert pool == fleet == f"{Decimal(plain) + WINDOWS:.2f}"
    else:
        assert pool == fleet == f"{plain.removesuffix(' + ?')} + ?"


G2 = Decimal("0.706832") * HOURS + Decimal("8.5")  # g2-standard-4 with 50 GB of pd-ssd


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        *((name, f"{G2 + WINDOWS:.2f}") for name in (
            "windows-2022", "windows-2022-core", "family/windows-2022", "global/images/family/windows-2022",
            "windows-server-2022-dc-v20240415")),
        *((name, f"{G2:.2f} + ?") for name in ("rhel-9", "sles-15", "sql-std-2022-win-2022", "ubuntu-pro-2204-lts")),
        *((name, f"{G2:.2f}") for name in ("debian-12", "windows-golden", "our-team/windows-2022", "ubuntu-2204-lts")),
    ],
)  # fmt: skip
def test_an_image_of_google_says_its_licence_by_its_family_alone(image: str, expected: str) -> None:
    assert monthly(gce(bootDisk=boot(image))) == expected
    root = {"boot": True, "diskSizeGb": 50, "diskType": "pd-ssd", "sourceImage": image}
    assert monthly(*pool_of_template(disks=[root])) == expected


def test_a_template_boots_from_the_disk_that_says_so() -> None:
    data = {"diskSizeGb": 50, "diskType": "pd-ssd", "boot": False, "sourceImage": "debian-12"}
    root = {"boot": True, "diskSizeGb": 50, "diskType": "pd-ssd", "sourceImage": "windows-2022"}
    assert monthly(*pool_of_template(disks=[data, root])) == f"{G2 + Decimal('8.5') + WINDOWS:.2f}"


M5 = Decimal("0.096") * HOURS
BLOCKS = {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100, "volumeType": "gp3",
                                                                       "iops": 6000}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ((make("aws-native:ec2:Instance", {"instanceType": "m5.large", "subnetId": "s", **BLOCKS}),),
         f"{M5 + 8 + 15:.2f}"),
        ((c := make("aws-native:autoscaling:LaunchConfiguration", {"instanceType": "m5.large", **BLOCKS,
                                                                   "instanceMonitoring": False}, "c"),
          make("aws-native:autoscaling:AutoScalingGroup", {"minSize": "2", "maxSize": "2", "desiredCapacity": "2",
               "launchConfigurationName": UNKNOWN}, launchConfigurationName=c)), f"{2 * (M5 + 8 + 15):.2f}"),
        ((make("aws-native:elasticloadbalancingv2:LoadBalancer", {"type": "application", "scheme": "internal",
               "subnets": ["a", "b"]}),), "16.42"),
        ((make("aws-native:elasticloadbalancingv2:LoadBalancer", {"type": "application", "subnets": ["a", "b"],
               "scheme": "internet-facing"}),), "23.72"),
        # another file system than Lustre is not billed as that
        ((make("aws-native:fsx:FileSystem", {"fileSystemType": "WINDOWS", "storageCapacity": 1200}),), "0.00 + ?"),
        ((make("aws-native:fsx:FileSystem", {"fileSystemType": "LUSTRE", "storageCapacity": 1200,
               "lustreConfiguration": {"deploymentType": "SCRATCH_2"}}),), "168.00"),
        ((make("google-native:compute/v1:Instance", {"zone": "us-central1-a", "machineType": "n2-standard-4", "disks": [
            {"boot": True, "initializeParams": {"sourceImage": "projects/windows-cloud/global/images/family/windows-2022",
             "diskSizeGb": "50", "diskType": "zones/us-central1-a/diskTypes/pd-balanced"}}]}),),
         f"{Decimal('0.194236') * HOURS * Decimal('0.8') + WINDOWS + 5:.2f}"),
    ],
)  # fmt: skip
def test_the_native_providers_are_billed_as_the_others(resources: tuple[RecordedResource, ...], expected: str) -> None:
    assert monthly(*resources) == expected


def service(**inputs: Any) -> tuple[RecordedResource, ...]:
    size = {"cpu": "1024", "memory": "2048", "requiresCompatibilities": ["FARGATE"]}
    task = make("aws:ecs/taskDefinition:TaskDefinition", size, "t")
    stated = {"taskDefinition": UNKNOWN, "desiredCount": 4, **inputs}
    return task, make("aws:ecs/service:Service", stated, taskDefinition=task)


TASK = (Decimal("0.04048") + 2 * Decimal("0.004445")) * HOURS
SPOT, FIRM = {"capacityProvider": "FARGATE_SPOT"}, {"capacityProvider": "FARGATE"}


@pytest.mark.parametrize(
    ("strategy", "firm"),
    [
        ([{**FIRM, "weight": 1}], 4),
        ([{**FIRM, "base": 1, "weight": 0}, {**SPOT, "weight": 1}], 1),
        ([{**FIRM, "base": 2, "weight": 1}, {**SPOT, "weight": 1}], 3),
        ([{**SPOT, "base": 1, "weight": 0}, {**FIRM, "weight": 1}], 3),
        ([{**SPOT, "weight": 1}], 0),
    ],
)
def test_tasks_of_a_strategy_are_billed_by_the_share_of_each_provider(
    strategy: list[dict[str, Any]], firm: int
) -> None:
    expected = f"{firm * TASK:.2f}" + (" + ?" if firm < 4 else "")
    assert monthly(*service(capacityProviderStrategies=strategy)) == expected


def test_a_strategy_that_is_not_known_has_no_price() -> None:
    unknown = [{"capacityProvider": "FARGATE", "weight": UNKNOWN}, {**SPOT, "weight": 1}]
    assert monthly(*service(capacityProviderStrategies=unknown)) == "0.00 + ?"


def test_on_demand_machines_of_a_group_count_though_its_spot_price_is_not_known() -> None:
    template = make("aws:ec2/launchTemplate:LaunchTemplate", {"instanceType": "m5.large"}, "lt")
    shares = {"onDemandBaseCapacity": 2, "onDemandPercentageAboveBaseCapacity": 0}
    policy = {"launchTemplate": {"launchTemplateSpecification": {}}, "instancesDistribution": shares}
    sized = {"minSize": 4, "desiredCapacity": 4, "maxSize": 4, "mixedInstancesPolicy": policy}
    group = make("aws:autoscaling/group:Group", sized, mixedInstancesPolicy=template)
    assert monthly(template, group) == f"{2 * M5:.2f} + ?"


@pytest.mark.parametrize(
    "kind",
    [
        "aws:ec2/customerGateway:CustomerGateway",
        "aws:ec2/vpnGateway:VpnGateway",
        "gcp:compute/haVpnGateway:HaVpnGateway",
    ],
)
def test_gateways_of_a_vpn_are_free_and_its_connections_billed(kind: str) -> None:
    assert monthly(make(kind, {})) == "0.00"
