"""Microsoft Azure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sizewell.sizing.providers.cloud import (
    Account,
    Capacity,
    Cloud,
    Cluster,
    Fees,
    Files,
    FileTier,
    Machines,
    NotProvisioned,
    Provider,
    Regions,
    SystemPool,
)

LUSTRE_TIERS: Final = {125: (16, 16), 250: (8, 8), 500: (4, 4)}  # MB/s for each TiB: smallest size and step in TiB
_EU: Final = ("france", "germany", "italy", "poland", "spain", "sweden", "austria", "belgium", "denmark")
_US: Final = ("eastus", "westus", "centralus", "northcentralus", "southcentralus", "westcentralus", "usgov")
_INDIA: Final = ("centralindia", "southindia", "westindia", "jioindia")


def region_of(place: str) -> str:
    """The region of a region or its display name.

    >>> region_of("East US 2")
    'eastus2'
    """
    return place.replace(" ", "").lower()


def lustre_gib(tier: int) -> Callable[[int], int]:
    """The smallest Managed Lustre of a tier that holds so many GiB.

    >>> lustre_gib(125)(1000), lustre_gib(500)(1000)
    (16384, 4096)
    """
    smallest, step = LUSTRE_TIERS[tier]

    def gib(needed_gib: int) -> int:
        needed_tib = -(-needed_gib // 1024)
        return max(smallest, -(-needed_tib // step) * step) * 1024

    return gib


AZURE: Final = Cloud(
    name="azure",
    seller="Microsoft",
    bills_as=("microsoft", "microsoft azure"),
    data_schemes=("az://", "abfss://"),
    services=("azureml",),
    clock="https://management.azure.com",
    client="azure",
    account=Account(
        noun="Azure subscription id",
        described="Azure subscription ids",
        pattern=r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        example="00000000-0000-0000-0000-000000000000",
        config_key="azure-native:subscriptionId",
        provider_input="subscriptionId",
        allowed_config_key="",
        billed_as="Subscription",
        budget_emails_only=False,
        billing_setting="",
    ),
    provider=Provider(
        package="azure-native",
        others=("azure", "azuread"),
        modules=("pulumi_azure_native", "azure"),
        distribution="pulumi-azure-native",
        tag_inputs=("tags",),
        tag_arguments=("tags",),
        names_itself=False,
        outputs_differ=("identity",),
    ),
    regions=Regions(
        usual="eastus",
        config_key="azure-native:location",
        zone_config_key="",
        inputs=("location",),
        group=("resourceGroupName", "azure-native:resources:ResourceGroup"),
        of=region_of,
        zone_form=lambda _: "[123]",
        zone_usual=lambda _: "1",
        zone_prefix=lambda region: region,
        offer_zone_prefixes=lambda _: ("",),
        areas=(
            ("uk", "uk"),
            ("switzerland", "ch"),
            ("norway", ""),
            ("westeurope", "eu"),
            ("northeurope", "eu"),
            *((country, "eu") for country in _EU),
            *((part, "us") for part in _US),
            ("canada", "ca"),
            *((part, "in") for part in _INDIA),
            ("japan", "jp"),
            ("australia", "au"),
        ),
        asked_apart=False,
    ),
    cluster=Cluster(
        name="AKS",
        always=False,
        addressed=True,
        pulls_from_a_mirror=False,
        queues_ray=True,
        queue_name_max=None,
        annotates_identities=True,
        # learn.microsoft.com/azure/aks/flex-nodes-for-aks-overview, read 2026-11-23: "aren't meant for production use"
        owners_machines="an AKS cluster has machines of your own in a preview alone (flex nodes), not for production",
        system_pool=SystemPool(instance_type="Standard_D4s_v5", gigabytes_each=128, nodes_min=2, nodes_max=4),
        system_pool_dev=None,
    ),
    fees=Fees(
        boot_disk="",
        system_disk="disk.premium_lrs",
        system_disk_noun="OS disks",
        premium_disks=True,
        object_storage="blob.hot_lrs",
        object_storage_prod="blob.hot_zrs",
        control_plane="aks.control_plane",
        control_plane_extended="aks.control_plane.premium",
        extended_at_once=True,
    ),
    machines=Machines(
        not_provisioned=(
            NotProvisioned(trait="rack", reason="NVLink racks cannot be provisioned (driver, network cards, Arm)"),
            NotProvisioned(trait="confidential", reason="confidential virtual machines cannot be provisioned"),
            # The A10 sizes are virtual GPUs: their driver is NVIDIA's GRID, which AKS and Azure ML install, and no
            # public image has (learn.microsoft.com/azure/virtual-machines/linux/n-series-driver-setup).
            NotProvisioned(
                trait="virtual-gpu",
                reason="a virtual GPU needs the GRID driver, which AKS and Azure ML install: use scheduler: kubernetes",
                schedulers=("kubernetes", "ray"),
                services=("azureml",),
            ),
        ),
        together_only_by="infiniband",
        # a placement group, which is an InfiniBand partition (learn.microsoft.com, "Virtual Machine Scale Sets and
        # placement groups")
        group_max=100,
        fabric_max=None,
        boot_disk_gib_max=2048,
        pods_on_local_disks=False,
        boot_disk_by_type=False,
        accelerator_named=False,
        tpus=False,
        costs_at_least=(),
        list_proves_region=False,
        service_prefix="",
        quota_codes=False,
        fleets=False,
    ),
    files=Files(
        kind="managed-lustre",
        tiers=tuple(
            FileTier(mb_per_s_per_tib=tier, reads_mb_per_s_per_tib=tier, fee=f"lustre.{tier}", gib=lustre_gib(tier))
            for tier in sorted(LUSTRE_TIERS)
        ),
        sized_by_speed=False,
        largest_gib=None,
    ),
    capacity=Capacity(
        forms=(),
        block_days_ahead=56,  # learn.microsoft.com (scheduleProfile.start of capacity reservations), 2026-11-27
        block_nodes_max=64,  # learn.microsoft.com/javascript/api/@azure/arm-compute/capacityreservation, 2026-11-27
        ends="",
        stays="an on-demand capacity reservation",
        spot_notice_s=30,
        announced_on_machines=True,
        ends_when_acknowledged=True,
    ),
)
