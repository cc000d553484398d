"""Google Cloud."""

from __future__ import annotations

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

FILESTORE_LARGEST_GIB: Final = 102_400  # of zonal Filestore


def region_of(place: str) -> str:
    """The region of a region, a zone or the path of either.

    >>> region_of("us-central1-a"), region_of("projects/p/regions/us-central1")
    ('us-central1', 'us-central1')
    """
    place = place.rsplit("/", 1)[-1].lower()
    return place.rsplit("-", 1)[0] if place.count("-") == 2 else place


def filestore_gib(needed_gib: int) -> int:
    """The smallest zonal Filestore: 1 TiB, steps of 256 GiB, from 10 TiB on of 2.5 TiB.

    >>> filestore_gib(100), filestore_gib(2_070), filestore_gib(12_500)
    (1024, 2304, 12800)
    """
    small = max(1024, -(-needed_gib // 256) * 256)
    return small if small < 10_240 else -(-needed_gib // 2560) * 2560


GCP: Final = Cloud(
    name="gcp",
    seller="Google Cloud",
    bills_as=("google cloud",),
    data_schemes=("gs://",),
    services=("vertex", "cloud-run"),
    clock="https://compute.googleapis.com",
    client="google",
    account=Account(
        noun="Google Cloud project id",
        described="Google Cloud project ids",
        pattern=r"[a-z][a-z0-9-]{4,28}[a-z0-9]",
        example="shop-dev-123456",
        config_key="gcp:project",
        provider_input="project",
        allowed_config_key="",
        billed_as="Project",
        budget_emails_only=True,
        billing_setting="sizewell:billingAccount",
    ),
    provider=Provider(
        package="gcp",
        others=("google-native",),
        modules=("pulumi_gcp", "google.auth"),
        distribution="pulumi-gcp",
        tag_inputs=("labels", "resourceLabels", "userLabels"),
        tag_arguments=("user_labels", "resource_labels", "labels"),
        names_itself=True,
        outputs_differ=(),
    ),
    regions=Regions(
        usual="us-central1",
        config_key="gcp:region",
        zone_config_key="gcp:zone",
        inputs=("region", "zone", "location"),
        group=None,
        of=region_of,
        zone_form=lambda region: f"{region}-[a-f]",
        zone_usual=lambda region: f"{region}-a",
        zone_prefix=lambda region: region,
        offer_zone_prefixes=lambda _: ("",),
        areas=(
            ("europe-west2", "uk"),
            ("europe-west6", "ch"),
            ("europe-", "eu"),
            ("us-", "us"),
            ("northamerica-northeast3", ""),
            ("northamerica-northeast", "ca"),
            ("asia-south1", "in"),
            ("asia-south2", "in"),
            ("asia-northeast1", "jp"),
            ("asia-northeast2", "jp"),
            ("australia-", "au"),
        ),
        asked_apart=False,
    ),
    cluster=Cluster(
        name="GKE",
        always=True,
        addressed=False,
        pulls_from_a_mirror=False,
        queues_ray=False,
        queue_name_max=40,
        annotates_identities=True,
        # docs.cloud.google.com/kubernetes-engine/docs/concepts/machine-support, read 2026-11-23
        owners_machines="a GKE cluster has machines of Compute Engine alone",
        system_pool=SystemPool(instance_type="e2-standard-4", gigabytes_each=100, nodes_min=1, nodes_max=3),
        system_pool_dev=SystemPool(instance_type="e2-standard-2", gigabytes_each=100, nodes_min=1, nodes_max=3),
    ),
    fees=Fees(
        boot_disk="pd.balanced",
        system_disk="pd.balanced",
        system_disk_noun="boot disks",
        premium_disks=False,
        object_storage="gcs.standard",
        object_storage_prod="gcs.standard",
        control_plane="gke.control_plane",
        control_plane_extended="",
        extended_at_once=False,
    ),
    machines=Machines(
        not_provisioned=(
            # Parts of an RTX PRO 6000 (g4-standard-6, -12, -24) are virtual GPUs, on which the data centre driver
            # finds no device (source: the catalog's traits); GKE installs the driver of its nodes itself.
            NotProvisioned(
                trait="virtual-gpu",
                reason="a fractional GPU needs the GRID driver, which GKE installs: use scheduler: kubernetes",
                schedulers=("kubernetes", "ray"),
            ),
        ),
        together_only_by="",
        group_max=1000,  # nodes in a pool of one zone (cloud.google.com/kubernetes-engine/quotas, from memory)
        # addresses in the subnetwork that each accelerator interface has (components/gcp/network.py)
        fabric_max=("gpudirect", 252),
        boot_disk_gib_max=65536,
        pods_on_local_disks=False,
        boot_disk_by_type=True,
        accelerator_named=True,
        tpus=True,
        costs_at_least=(("a3-megagpu-8g", "a3-highgpu-8g"),),
        list_proves_region=True,
        service_prefix="",
        quota_codes=False,
        fleets=False,
    ),
    files=Files(
        kind="filestore",
        tiers=(
            FileTier(
                mb_per_s_per_tib=0,
                reads_mb_per_s_per_tib=260,  # MiB/s (docs.cloud.google.com/filestore/docs/service-tiers-zonal)
                fee="filestore.zonal",
                gib=filestore_gib,
            ),
        ),
        sized_by_speed=True,
        largest_gib=FILESTORE_LARGEST_GIB,
    ),
    capacity=Capacity(
        forms=("flex_start",),
        block_days_ahead=None,
        block_nodes_max=None,
        ends="flex-start (capacity: {{flex_start: true}})",
        stays="a reservation",
        spot_notice_s=30,
        announced_on_machines=False,
        ends_when_acknowledged=False,
    ),
)
