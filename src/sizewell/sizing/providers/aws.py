"""Amazon Web Services."""

from __future__ import annotations

import re
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

LUSTRE_SPEEDS: Final = (125, 250, 500, 1000)  # MB/s for each TiB that FSx for Lustre sells
WITHOUT_CONTROL_PLANE: Final = ("use1-az3", "usw1-az2", "cac1-az3")
"""Zones by id whose subnets EKS refuses for a cluster (docs.aws.amazon.com/eks/latest/userguide/network-reqs.html); by
name each account has other ones.
"""


def region_of(place: str) -> str:
    """The region of a region or a zone.

    >>> region_of("us-east-1a"), region_of("us-east-1")
    ('us-east-1', 'us-east-1')
    """
    place = place.rsplit("/", 1)[-1].lower()
    return place[:-1] if place[-1:].isalpha() and place[-2:-1].isdigit() else place


def zone_id_prefix(region: str) -> str:
    """How zone ids of a region begin.

    >>> zone_id_prefix("ap-southeast-3")
    'apse3'
    """
    area, direction, number = ([*region.split("-"), "", ""])[:3]
    words = re.findall("north|south|east|west|central", direction)
    return area + "".join(word[0] for word in words) + number


def lustre_gib(needed_gib: int) -> int:
    """The smallest size that FSx for Lustre sells: 1.2 TiB, or multiples of 2.4 TiB.

    >>> lustre_gib(1000), lustre_gib(2000), lustre_gib(12_500)
    (1200, 2400, 14400)
    """
    return 1200 if needed_gib <= 1200 else -(-needed_gib // 2400) * 2400


AWS: Final = Cloud(
    name="aws",
    seller="AWS",
    bills_as=("amazon web services",),
    data_schemes=("s3://",),
    services=("sagemaker", "hyperpod"),
    clock="https://sts.amazonaws.com",
    client="aws",
    account=Account(
        noun="AWS account id",
        described="AWS account ids of twelve digits",
        pattern=r"\d{12}",
        example="123456789012",
        config_key="",
        provider_input="",
        allowed_config_key="aws:allowedAccountIds",
        billed_as="Account",
        budget_emails_only=False,
        billing_setting="",
    ),
    provider=Provider(
        package="aws",
        others=("aws-native", "awsx", "eks"),
        modules=("pulumi_aws", "boto3", "botocore"),
        distribution="pulumi-aws",
        tag_inputs=("tags",),
        tag_arguments=("tags",),
        names_itself=True,
        outputs_differ=(),
    ),
    regions=Regions(
        usual="us-east-1",
        config_key="aws:region",
        zone_config_key="",
        inputs=("region", "availabilityZone"),
        group=None,
        of=region_of,
        # letters differ by account and skip one here and there; Local Zones; ids
        zone_form=lambda region: rf"{region}[a-f]|{region}-[a-z]+-\d[a-z]|[a-z0-9]+-az\d+",
        zone_usual=lambda region: f"{region}a",
        # zones.csv names zones by id: their names are another place in another account
        zone_prefix=lambda region: f"{zone_id_prefix(region)}-az",
        offer_zone_prefixes=lambda region: (f"{zone_id_prefix(region)}-", region),
        areas=(
            ("eu-west-2", "uk"),
            ("eu-central-2", "ch"),
            ("eu-", "eu"),
            ("us-", "us"),
            ("ca-", "ca"),
            ("ap-south-", "in"),
            ("ap-northeast-1", "jp"),
            ("ap-northeast-3", "jp"),
            ("ap-southeast-2", "au"),
            ("ap-southeast-4", "au"),
        ),
        asked_apart=True,
    ),
    cluster=Cluster(
        name="EKS",
        always=False,
        addressed=True,
        pulls_from_a_mirror=True,
        queues_ray=False,
        queue_name_max=None,
        annotates_identities=False,
        owners_machines="",
        system_pool=SystemPool(instance_type="m7i.large", gigabytes_each=80, nodes_min=2, nodes_max=4),
        system_pool_dev=None,
    ),
    fees=Fees(
        boot_disk="ebs.gp3.gb_month",
        system_disk="ebs.gp3.gb_month",
        system_disk_noun="boot disks",
        premium_disks=False,
        object_storage="s3.standard",
        object_storage_prod="s3.standard",
        control_plane="eks.control_plane",
        control_plane_extended="eks.control_plane.extended",
        extended_at_once=False,
    ),
    machines=Machines(
        not_provisioned=(
            NotProvisioned(trait="rack", reason="NVLink racks cannot be provisioned (driver, network cards, Arm)"),
            # Parts of an L4 (g6f, gr6f) want NVIDIA's GRID driver, and none of the images that our components start
            # has it; SageMaker brings its own. docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html
            NotProvisioned(
                trait="virtual-gpu",
                reason="a fractional GPU needs the GRID driver, which is not in the images used on AWS",
                services=("sagemaker",),
            ),
        ),
        together_only_by="",
        group_max=None,
        fabric_max=None,
        boot_disk_gib_max=16384,
        pods_on_local_disks=True,
        boot_disk_by_type=False,
        accelerator_named=False,
        tpus=False,
        costs_at_least=(),
        list_proves_region=True,
        service_prefix="ml.",
        quota_codes=True,
        fleets=True,
    ),
    files=Files(
        kind="fsx-lustre",
        tiers=tuple(
            FileTier(
                mb_per_s_per_tib=speed,
                reads_mb_per_s_per_tib=speed,
                fee=f"fsx.lustre.persistent2.{speed}",
                gib=lustre_gib,
            )
            for speed in LUSTRE_SPEEDS
        ),
        sized_by_speed=False,
        largest_gib=None,
    ),
    capacity=Capacity(
        forms=("block",),
        block_days_ahead=56,  # docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html, read on 2026-11-27
        block_nodes_max=64,  # capacity-blocks-purchase.html of the same guide, read on 2026-11-27
        ends="a capacity block (capacity: {{block: {{duration: {duration}}}}})",
        stays="an on-demand capacity reservation",
        spot_notice_s=120,
        announced_on_machines=True,
        ends_when_acknowledged=False,
    ),
)
