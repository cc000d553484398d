"""Under which names the sellers list what the catalog calls a fee: one row for each, by cloud.

AWS: service code, product family, the usage type without its region. Azure: service, product and meter of the retail
prices, with the unit. Google Cloud: a service, by its id or by its name, and the SKU description without its region.

Where the names were seen. AWS: excerpts of the price lists of us-west-2 of September 2026 (sirerun/serenity,
docs/launch), a GetProducts answer of AmazonEKS of 2022 in a public note, the queries of infracost/infracost
(internal/resources), public price notes of 2026 for FSx (Storage.SSD.125 to 1000), Fargate, traffic. Azure: a dump of
disks and blobs (andy-diericks/azure-pricing-radar), infracost's queries, public notes that quote answers for Log
Analytics, DNS, bandwidth and AKS. Google: build/mapping.csv of Cyclenerd/google-cloud-pricing-cost-calculator,
infracost's queries, public notes of 2026 that quote load balancers of Mumbai (91F1-423B-CF42, 1211-928B-AF92),
Hyperdisk (519B-E9DD-3AF5), 015F-5732-FFF0, 32E2-4EFC-EF9F, E09C-32B3-9AC7 and B561-BFBD-1264. Seen
of application load balancers only and taken for network ones too: the unit "LCU-Hrs"; of Hyperdisk Balanced and taken
for Extreme and ML: the unit "mo". A rule of a load balancer is the sixth and any further one; the first five of a
project share one higher price. Traffic between regions: a recorded product of the list with its price
(USE2-SAE1-AWS-Out-Bytes, tests of lyft/awspricing), and toRegionCode as clients of 2026 ask by it. SCRATCH_2 and
PERSISTENT_1 of FSx: the list of us-west-2 of July 2026 in a public note (USW2-Storage, USW2-Storage.SSD.50 to 200).
Regional load balancers: SKUs of Mumbai in a public note of 2026 (1A70-4FE8-9FBA, 7087-03B4-CF6F), of Belgium and Taiwan
in two others. SageMaker: usage types of Tokyo and Virginia of August and September 2026 in public notes
(APN1-Train:ml.g6.xlarge, USE1-Train:ml.g5.2xlarge). Vertex AI: SKUs of Iowa of August 2025 in zenn.dev (5853-505F-A5C4,
3F95-001E-B747). A name that a seller changes ends in a fee that is not listed; the known one stays.

A fee without a row here is kept by hand; `BY_HAND` says of which fees of the catalog that is so, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.clouds.prices import database_meters
from sizewell.clouds.prices.fee_meter import Meter
from sizewell.sizing.catalog.catalog import SAGEMAKER_PREMIUM, TO_ANOTHER_REGION

AWS: Final = (
    Meter(key="ebs.gp2.gb_month", service="AmazonEC2", family="Storage", name=r"EBS:VolumeUsage\.gp2", unit="GB-Mo"),
    Meter(key="ebs.gp3.gb_month", service="AmazonEC2", family="Storage", name=r"EBS:VolumeUsage\.gp3", unit="GB-Mo"),
    Meter(
        key="ebs.gp3.iops_month", service="AmazonEC2", family="System Operation", name=r"EBS:VolumeP-IOPS\.gp3",
        unit="IOPS-Mo", free_below=3000,
    ),
    Meter(
        key="ebs.gp3.mbps_month", service="AmazonEC2", family="Provisioned Throughput",
        name=r"EBS:VolumeP-Throughput\.gp3", unit="GiBps-mo", per="0.0009765625", free_below=125,
    ),
    Meter(key="ebs.snapshot", service="AmazonEC2", family="Storage Snapshot", name="EBS:SnapshotUsage", unit="GB-Mo"),
    Meter(key="nat.hour", service="AmazonEC2", family="NAT Gateway", name="NatGateway-Hours", unit="Hrs"),
    Meter(key="nat.gb", service="AmazonEC2", family="NAT Gateway", name="NatGateway-Bytes", unit="GB"),
    Meter(
        key="lb.alb.hour", service="AWSELB", family="Load Balancer-Application", name="LoadBalancerUsage", unit="Hrs"
    ),
    Meter(key="lb.alb.lcu_hour", service="AWSELB", family="Load Balancer-Application", name="LCUUsage", unit="LCU-Hrs"),
    Meter(key="lb.nlb.hour", service="AWSELB", family="Load Balancer-Network", name="LoadBalancerUsage", unit="Hrs"),
    Meter(key="lb.nlb.lcu_hour", service="AWSELB", family="Load Balancer-Network", name="LCUUsage", unit="LCU-Hrs"),
    Meter(key="ipv4.hour", service="AmazonVPC", name="PublicIPv4:InUseAddress", unit="Hrs"),
    Meter(key="vpc_endpoint.hour", service="AmazonVPC", family="VpcEndpoint", name="VpcEndpoint-Hours", unit="Hrs"),
    Meter(
        key="eks.control_plane", service="AmazonEKS", family="Compute", name="AmazonEKS-Hours:perCluster", unit="Hours"
    ),
    Meter(
        key="eks.control_plane.extended", service="AmazonEKS", family="Compute",
        name="AmazonEKS-Hours:extendedSupport", unit="Hours",
    ),
    Meter(key="kms.key", service="awskms", family="Encryption Key", name="KMS-Keys", unit="Keys"),
    Meter(
        key="secrets.secret", service="AWSSecretsManager", family="Secret", name="AWSSecretsManager-Secrets",
        unit="Secrets",
    ),
    Meter(
        key="cloudwatch.alarm", service="AmazonCloudWatch", family="Alarm", name="CW:AlarmMonitorUsage", unit="Alarms"
    ),
    Meter(
        key="logs.ingested", service="AmazonCloudWatch", family="Data Payload", name="DataProcessing-Bytes", unit="GB"
    ),
    Meter(key="s3.standard", service="AmazonS3", family="Storage", name="TimedStorage-ByteHrs", unit="GB-Mo"),
    Meter(key="efs.standard", service="AmazonEFS", family="Storage", name="TimedStorage-ByteHrs", unit="GB-Mo"),
    Meter(key="efs.one_zone", service="AmazonEFS", family="Storage", name="TimedStorage-Z-ByteHrs", unit="GB-Mo"),
    *(
        Meter(
            key=f"fsx.lustre.persistent2.{speed}", service="AmazonFSx", family="Storage", unit="GB-Mo",
            name=rf"Storage\.SSD\.{speed}", attributes=(("fileSystemType", "Lustre"),),
        )
        for speed in (125, 250, 500, 1000)
    ),
    Meter(
        key="fsx.lustre.scratch2", service="AmazonFSx", family="Storage", unit="GB-Mo", name="Storage",
        attributes=(("fileSystemType", "Lustre"),),
    ),
    *(
        Meter(
            key=f"fsx.lustre.persistent1.{speed}", service="AmazonFSx", family="Storage", unit="GB-Mo",
            name=rf"Storage\.SSD\.{speed}", attributes=(("fileSystemType", "Lustre"),),
            title=f"FSx for Lustre PERSISTENT_1 SSD, {speed} MB/s/TiB", catalog_unit="GB-month",
        )
        for speed in (50, 100, 200)
    ),
    Meter(
        key=f"{TO_ANOTHER_REGION}.{{toRegionCode}}", service="AWSDataTransfer", family="Data Transfer", unit="GB",
        name=r"(?:[A-Z]{2,4}\d*-)?[A-Z]{2,4}\d*-AWS-Out-Bytes", place="fromRegionCode",
        attributes=(("transferType", "InterRegion Outbound"), ("toLocationType", "AWS Region")),
        title="Traffic to {toRegionCode}", catalog_unit="GB",
    ),
    Meter(
        key=f"{SAGEMAKER_PREMIUM}{{type}}", service="AmazonSageMaker", family="ML Instance", unit="Hrs",
        name=r"Train:ml\.(?P<type>.+)", machine="{type}", title="SageMaker's premium on {type}", catalog_unit="percent",
    ),
    Meter(
        key="egress.internet", service="AWSDataTransfer", family="Data Transfer", name="DataTransfer-Out-Bytes",
        unit="GB", place="fromRegionCode", attributes=(("transferType", "AWS Outbound"),), free_below=100,
    ),
    Meter(
        key="egress.cross_zone", service="AWSDataTransfer", family="Data Transfer", name="DataTransfer-Regional-Bytes",
        unit="GB", place="fromRegionCode", attributes=(("transferType", "IntraRegion"),),
    ),
    Meter(
        key="efs.provisioned_mbps_month", service="AmazonEFS", family="Provisioned Throughput",
        name="ProvisionedTP-MiBpsHrs", unit="MiBps-Mo",
    ),
    Meter(
        key="ecr.gb_month", service="AmazonECR", family="EC2 Container Registry", name="TimedStorage-ByteHrs",
        unit="GB-Mo", title="Container registry storage", catalog_unit="GB-month",
    ),
    Meter(
        key="sns.request", service="AmazonSNS", family="API Request", name="Requests-Tier1", unit="Requests",
        title="Notice published (the first million of an account a month are free)", catalog_unit="request",
        free_allowance=1_000_000,
    ),
    Meter(
        key="fargate.vcpu_hour", service="AmazonECS", family="Compute", name="Fargate-vCPU-Hours:perCPU", unit="hours"
    ),
    Meter(key="fargate.memory_gb_hour", service="AmazonECS", family="Compute", name="Fargate-GB-Hours", unit="hours"),
    *database_meters.AWS,
)  # fmt: skip
_DISKS: Final = ("P4", "P6", "P10", "P15", "P20", "P30", "P40", "P50")
AZURE: Final = (
    *(
        Meter(
            key=f"disk.premium_lrs.{tier.lower()}", service="Storage", family="Premium SSD Managed Disks",
            name=f"{tier} LRS Disk", unit="1/Month",
        )
        for tier in _DISKS
    ),
    Meter(
        key="blob.hot_lrs", service="Storage", family="General Block Blob v2", name="Hot LRS Data Stored",
        unit="1 GB/Month",
    ),
    Meter(
        key="blob.hot_zrs", service="Storage", family="General Block Blob v2", name="Hot ZRS Data Stored",
        unit="1 GB/Month",
    ),
    Meter(
        key="ipv4.hour", service="Virtual Network", family="IP Addresses", name="Standard IPv4 Static Public IP",
        unit="1 Hour",
    ),
    Meter(
        key="private_endpoint.hour", service="Virtual Network", family="Virtual Network Private Link",
        name="Standard Private Endpoint", unit="1 Hour",
    ),
    Meter(key="nat.hour", service="NAT Gateway", family="NAT Gateway", name="Standard Gateway", unit="1 Hour"),
    Meter(key="nat.gb", service="NAT Gateway", family="NAT Gateway", name="Standard Data Processed", unit="1 GB"),
    Meter(
        key="lb.standard.hour", service="Load Balancer", family="Load Balancer",
        name="Standard Included LB Rules and Outbound Rules", unit="1 Hour",
    ),
    Meter(
        key="lb.standard.gb", service="Load Balancer", family="Load Balancer", name="Standard Data Processed",
        unit="1 GB",
    ),
    Meter(
        key="aks.control_plane", service="Azure Kubernetes Service", family="Azure Kubernetes Service",
        name="Standard Uptime SLA", unit="1 Hour",
    ),
    Meter(
        key="aks.control_plane.premium", service="Azure Kubernetes Service", family="Azure Kubernetes Service",
        name="Standard Long Term Support", unit="1 Hour",
    ),
    *(
        Meter(
            key=f"acr.{tier.lower()}", service="Container Registry", family="Container Registry",
            name=f"{tier} Registry Unit", unit="1/Day", per="0.041666666666666667",
            title=f"Container registry, {tier} tier", catalog_unit="hour",
        )
        for tier in ("Basic", "Standard", "Premium")
    ),
    Meter(
        key="log_analytics.gb", service="Log Analytics", family="Log Analytics", name="Analytics Logs Data Ingestion",
        unit="1 GB", title="Log Analytics, ingested (the first 5 GB of an account a month are free)",
        catalog_unit="GB", free_allowance=5,
    ),
    Meter(key="private_dns.zone", service="Azure DNS", family="Azure DNS", name="Private Zone", unit="1"),
    Meter(
        key="egress.internet", service="Bandwidth", family="Rtn Preference: MGN", name="Standard Data Transfer Out",
        unit="1 GB",
    ),
    *database_meters.AZURE,
)  # fmt: skip
COMPUTE_ENGINE: Final = "6F81-5844-456A"
CLOUD_STORAGE: Final = "95FF-2EF5-5EA1"
NETWORKING: Final = "E505-1604-58F8"
CLOUD_KMS: Final = "EE2F-D110-890C"
CLOUD_RUN: Final = "152E-C115-5142"
KUBERNETES: Final = "Kubernetes Engine"
FILESTORE: Final = "Cloud Filestore"
LUSTRE: Final = "Managed Lustre"  # the SKUs were seen, the name of their service was not
VERTEX: Final = "C7E2-9256-1C43"
NAMED: Final = (KUBERNETES, FILESTORE, LUSTRE)  # by display name: their ids are asked for
_PLACE: Final = r"(?: in .+)?"
GCP: Final = (
    Meter(
        key="pd.standard", service=COMPUTE_ENGINE, name=rf"Storage PD Capacity{_PLACE}", unit="GiBy.mo",
        free_allowance=30,
    ),
    Meter(key="pd.balanced", service=COMPUTE_ENGINE, name=rf"Balanced PD Capacity{_PLACE}", unit="GiBy.mo"),
    Meter(key="pd.ssd", service=COMPUTE_ENGINE, name=rf"SSD backed PD Capacity{_PLACE}", unit="GiBy.mo"),
    Meter(
        key="hyperdisk.balanced", service=COMPUTE_ENGINE, name=rf"Hyperdisk Balanced Capacity{_PLACE}", unit="GiBy.mo"
    ),
    Meter(key="hyperdisk.extreme", service=COMPUTE_ENGINE, name=rf"Hyperdisk Extreme Capacity{_PLACE}", unit="GiBy.mo"),
    Meter(key="local_ssd", service=COMPUTE_ENGINE, name=rf"SSD backed Local Storage{_PLACE}", unit="GiBy.mo"),
    Meter(key="ipv4.hour", service=COMPUTE_ENGINE, name="External IP Charge on a Standard VM", unit="h"),
    Meter(key="ipv4.spot_hour", service=COMPUTE_ENGINE, name="External IP Charge on a Spot Preemptible VM", unit="h"),
    Meter(key="ipv4.idle_hour", service=COMPUTE_ENGINE, name=rf"Static Ip Charge{_PLACE}", unit="h"),
    *(
        Meter(
            key=f"n1.gpu.{gpu.lower()}.hour", service=COMPUTE_ENGINE, unit="h",
            name=rf"Nvidia Tesla {gpu} GPU running in .+",
        )
        for gpu in ("T4", "P4", "P100", "V100")
    ),
    Meter(
        key="n1.gpu.v100.spot_hour", service=COMPUTE_ENGINE, unit="h",
        name=r"Nvidia Tesla V100 GPU attached to Spot Preemptible VMs running in .+",
    ),
    Meter(
        key="gcs.standard", service=CLOUD_STORAGE, unit="GiBy.mo", free_allowance=5,
        name=r"Standard Storage (?!.*(?:Dual-region|Multi-region|Early Delete)).+",
    ),
    Meter(key="nat.gb", service=NETWORKING, name="Networking Cloud Nat Data Processing", unit="GiBy"),
    Meter(
        key="hyperdisk.extreme.iops_month", service=COMPUTE_ENGINE, name=rf"Hyperdisk Extreme IOPS{_PLACE}", unit="mo"
    ),
    Meter(key="hyperdisk.ml.mbps_month", service=COMPUTE_ENGINE, name=rf"Hyperdisk ML Throughput{_PLACE}", unit="mo"),
    Meter(
        key="lb.forwarding_rule.hour", service=NETWORKING, unit="h",
        name="Cloud Load Balancer Forwarding Rule Additional Global",
    ),
    Meter(
        key="lb.gb", service=NETWORKING, unit="GiBy",
        name="Global External Application Load Balancer Inbound Data Processing for .+",
    ),
    Meter(
        key="lb.regional.forwarding_rule.hour", service=NETWORKING, unit="h",
        name="Regional External Application Load Balancer Forwarding Rule Additional for .+",
        title="Forwarding rule of a regional load balancer, beyond the first 5", catalog_unit="hour",
    ),
    Meter(
        key="lb.regional.gb", service=NETWORKING, unit="GiBy",
        name="Regional External Application Load Balancer Inbound Data Processing for .+",
        title="Regional load balancer data", catalog_unit="GB",
    ),
    Meter(key="hyperdisk.ml", service=COMPUTE_ENGINE, name=rf"Hyperdisk ML Capacity{_PLACE}", unit="GiBy.mo"),
    Meter(key="kms.key", service=CLOUD_KMS, name="Active software symmetric key versions", unit="active key versions"),
    Meter(key="gke.control_plane", service=KUBERNETES, name="Regional Kubernetes Clusters", unit="h"),
    Meter(
        key="cloudrun.cpu.second", service=CLOUD_RUN, unit="s",
        name=r"Services CPU \(Instance-based billing\) in .+",
    ),
    Meter(
        key="cloudrun.memory.gib_second", service=CLOUD_RUN, unit="GiBy.s",
        name=r"Services Memory \(Instance-based billing\) in .+",
    ),
    Meter(
        key="filestore.zonal", service=FILESTORE, unit="GiBy.mo", name=r"Filestore Capacity Zonal and High Scale .+"
    ),
    *(
        Meter(
            key=f"lustre.{speed}", service=LUSTRE, unit="GiBy.mo", name=rf"Managed Lustre Capacity {speed}-Perf .+"
        )
        for speed in (125, 250, 500, 1000)
    ),
    Meter(key="nat.vm_hour", service=NETWORKING, name="Networking Cloud Nat Gateway Uptime", unit="h"),
    *database_meters.GCP,
)  # fmt: skip
NO_LUSTRE: Final = "no recorded answer of the retail prices has Managed Lustre: its meters have no known names"
BY_HAND: Final[Mapping[str, Mapping[str, str]]] = {
    "aws": {
        "sagemaker.serverless.gb_second": "a price by memory size, of which no recorded answer of the list is known",
    },
    "azure": {
        "aks.control_plane.free": "free of charge: a tier without a meter",
        "azureml": "free of charge: Azure ML adds nothing to its machines",
        "container_apps.gpu.a100.hour": "no recorded answer of the retail prices has serverless GPUs",
        "ipv4.global_hour": "no recorded answer of the retail prices has global addresses",
        "lustre.125": NO_LUSTRE,
        "lustre.250": NO_LUSTRE,
        "lustre.500": NO_LUSTRE,
    },
    "gcp": {
        "cloudrun.gpu.l4.second": "no recorded answer of the catalog has Cloud Run's GPUs",
        "cloudrun.gpu.l4.zonal_second": "no recorded answer of the catalog has Cloud Run's GPUs",
        "egress.internet": "a SKU for each pair of places, where the catalog has one price",
        "gcs.standard.multi_region_us": "several regions at once, and a refresh reads region by region",
        "gke.free_tier_credit": "a credit, which no list of prices has",
        "nat.hour_cap": "the most that 32 VMs cost: the list has the price of one",
        "scheduler.job": 'bills name the SKU ("Jobs"), but no recorded answer of the catalog has its unit',
    },
}
"""Fees of the catalog that no reader asks for, with the reason; a refresh names them."""
