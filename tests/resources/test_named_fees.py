"""The key of a fee that a reason names is the way out of a `?`: a rate of that key is taken, by every reader of rates.

The rows of the tables are walked, each with inputs that make it bill, in regions where the catalog has few prices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import sizewell.resources
from sizewell import csvtables
from sizewell.resources import Plan, RecordedResource, price
from sizewell.resources.pricing import Pricing
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.tables import PRICERS, disks, gaps, meters
from sizewell.resources.usage import parse_usage
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.overlay import check_rates, read_own_rates
from sizewell.sizing.catalog.rates import Discounts, parse_discounts
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.money import Unpriced
from tests.resources.test_meters import ON, make

ROOM = Path(sizewell.resources.__file__).parent
REGIONS = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}
FEW_PRICES = {"aws:region": "af-south-1", "gcp:region": "africa-south1", "azure-native:location": "uaecentral"}
NAMED = re.compile(r"\b(aws|gcp|azure) ([a-z0-9_.+-]+): no price")
SAMPLES = {
    "instanceClass": "db.m5.large", "sku.name": "Standard_D2s_v3", "publicIPPrefixSize": 28, "shardCount": 2,
    "size": 100, "machineType": "n2-standard-4", "deploymentType": "SINGLE_AZ_2", "cacheClusterSize": "0.5",
}  # fmt: skip
BILLED = csvtables.read(gaps.Billed, ROOM / "tables/data/billed.csv")


def put(inputs: dict[str, Any], path: str, value: object) -> None:
    """Set the value at a path; "*" is a list of one, "0" its first item."""
    step, _, rest = path.partition(".")
    into = inputs.setdefault(step, [{}] if rest.partition(".")[0] in ("*", "0") else {})
    if not rest:
        inputs[step] = value
    elif isinstance(into, list):
        inner = rest.partition(".")[2]
        if inner:
            put(into[0], inner, value)
        else:
            into[0] = value
    elif isinstance(into, dict):
        put(into, rest, value)


def sample(path: str) -> object:
    return next((value for end, value in SAMPLES.items() if path.endswith(end)), 3)


def slots(template: str) -> Iterator[str]:
    return (slot for slot in re.findall(r"\{([\w.]+)[^}]*\}", template) if slot != "value")


def billing(meter: meters.Meter) -> dict[str, Any]:
    """Inputs for which a meter bills."""
    inputs: dict[str, Any] = {}
    word = meter.when[0] if meter.when else "7"
    negated = word.removeprefix("not ").removeprefix("begins ").removeprefix("ends ")
    value: object = f"un{negated}" if word.startswith("not ") else negated
    if word.startswith("above "):
        value = int(word.removeprefix("above ")) + 5
    for path in [*slots(meter.fee), *(each.rpartition(" ")[2].partition("=")[0] for each in meter.times)]:
        put(inputs, path, sample(path))
    put(inputs, meter.path, value)
    return inputs


def stated(row: gaps.Billed) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    for path in [*slots(row.fee), *row.inputs]:
        if not path.endswith(("#", "+1")) and not path.isdigit():
            put(inputs, path, sample(path))
        elif path.endswith("#"):
            put(inputs, path.removesuffix(".#"), [{}])
    if row.when:
        path, _, word = row.when.partition("=")
        if not path.endswith("!"):
            put(inputs, path, word or True)
    return inputs


MASTER = {"machineType": "n2-standard-4", "numInstances": 1}
RICH: list[tuple[str, dict[str, Any]]] = [
    ("aws:emr/cluster:Cluster", {"releaseLabel": "emr-7.5.0", "ebsRootVolumeSize": 20, "masterInstanceGroup": {
        "instanceType": "m5.xlarge", "ebsConfigs": [{"size": 100, "type": "gp3", "iops": 4000}]}}),
    ("gcp:dataproc/cluster:Cluster", {"clusterConfig": {"masterConfig": MASTER, "workerConfig": MASTER}}),
    ("azure-native:hdinsight:Cluster", {"properties": {"computeProfile": {"roles": [
        {"hardwareProfile": {"vmSize": "Standard_D4s_v3"}}]}}}),
    ("azure-native:network:PublicIPPrefix", {"prefixLength": 28}),
    ("azure-native:network:ApplicationGateway", {"sku": {"name": "WAF_v2", "capacity": 2}}),
    ("azure-native:network:ApplicationGateway", {"sku": {"name": "Standard_Medium", "capacity": 2}}),
    ("azure-native:network:ExpressRouteCircuit", {"sku": {"tier": "Standard", "family": "MeteredData"},
                                                  "serviceProviderProperties": {"bandwidthInMbps": 1000}}),
    ("aws:rds/instance:Instance", {"engine": "mysql", "engineVersion": "5.7.44", "instanceClass": "db.m5.large",
                                   "allocatedStorage": 100}),
    ("aws:elasticache/cluster:Cluster", {"engine": "redis", "nodeType": "cache.m5.large", "engineVersion": "5.0.6"}),
    ("aws:transfer/server:Server", {}),
]  # fmt: skip
# Pricers whose keys go by several inputs: every combination of those.
SQL = [
    ("gcp:sql/databaseInstance:DatabaseInstance",
     {"databaseVersion": version, "settings": {"tier": tier, "availabilityType": place, "diskType": disk}})
    for version in ("MYSQL_8_0", "POSTGRES_16") for place in ("ZONAL", "REGIONAL") for disk in ("PD_SSD", "PD_HDD")
    for tier in ("db-custom-4-15360", "db-g1-small")
]  # fmt: skip
RDS = [
    ("aws:rds/instance:Instance", {"engine": engine, "engineVersion": "99", "instanceClass": "db.m5.large",
     "multiAz": several, "storageType": volume, "allocatedStorage": 500, "iops": 20_000, "storageThroughput": 900})
    for engine in ("mysql", "postgres", "mariadb") for several in (False, True)
    for volume in ("standard", "gp2", "gp3", "io1", "io2")
]  # fmt: skip
AURORA = [
    ("aws:rds/clusterInstance:ClusterInstance", {"engine": engine, "instanceClass": size})
    for engine in ("aurora-mysql", "aurora-postgresql") for size in ("db.r6g.large", "db.x2g.large")
]  # fmt: skip
DISKS = [
    ("gcp:compute/disk:Disk", {"type": kind, "size": 100, "provisionedIops": 50_000, "provisionedThroughput": 2000})
    for kind in (*{row.disk.replace(".", "-", 1) for row in disks.ROWS}, "pd-standard", "pd-balanced", "pd-ssd")
] + [
    ("aws:ebs/volume:Volume", {"type": kind, "size": 100, "iops": 50_000, "throughput": 2000})
    for kind in ("standard", "gp2", "gp3", "io1", "io2", "st1", "sc1")
] + [
    ("azure-native:compute:Disk", {"sku": {"name": sku}, "diskSizeGB": size, "diskIOPSReadWrite": 9000,
                                   "diskMBpsReadWrite": 900})
    for sku in ("Standard_LRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Premium_LRS", "Premium_ZRS", "PremiumV2_LRS",
                "UltraSSD_LRS") for size in (4, 32, 200, 4096, 32767, 60_000)
]  # fmt: skip
AZURE_SQL = [
    ("azure-native:sql:Database", {"sku": {"name": name}, "zoneRedundant": zones})
    for name in ("GP_Gen5_4", "BC_Gen5_4", "HS_Gen5_4", "GP_S_Gen5_4", "HS_S_Gen5_4", "S3", "P2", "Basic", "BC_M_128")
    for zones in (False, True)
] + [
    (f"azure-native:{server}:Server", {"sku": {"name": size, "tier": "x"}, "storage": {"storageSizeGB": 64, "type": disk}})
    for server in ("dbforpostgresql", "dbformysql") for disk in ("Premium_LRS", "PremiumV2_LRS")
    for size in ("Standard_D4s_v3", "Standard_E4ds_v5", "Standard_B2s")
]  # fmt: skip
CACHES = [
    ("aws:elasticache/replicationGroup:ReplicationGroup", {"engine": engine, "nodeType": "cache.r6g.large"})
    for engine in ("redis", "valkey", "memcached")
] + [
    ("gcp:redis/instance:Instance", {"tier": tier, "memorySizeGb": size})
    for tier in ("BASIC", "STANDARD_HA") for size in (1, 8, 20, 50, 200)
] + [
    ("azure-native:redis:Redis", {"sku": {"name": name, "family": family, "capacity": size}})
    for name, family in (("Basic", "C"), ("Standard", "C"), ("Premium", "P")) for size in (1, 3)
]  # fmt: skip
FILES = [
    ("aws:fsx/lustreFileSystem:LustreFileSystem", {"deploymentType": kind, "perUnitStorageThroughput": rate,
                                                   "storageCapacity": 1200})
    for kind, rate in (("SCRATCH_1", None), ("SCRATCH_2", None), ("PERSISTENT_1", 12), ("PERSISTENT_2", 1000))
] + [
    ("gcp:filestore/instance:Instance", {"tier": tier, "fileShares": {"capacityGb": 1024}})
    for tier in ("BASIC_HDD", "BASIC_SSD", "ZONAL", "REGIONAL", "ENTERPRISE", "HIGH_SCALE_SSD")
] + [("aws:ec2/vpcEndpoint:VpcEndpoint", {"vpcEndpointType": kind, "subnetIds": ["a"]})
     for kind in ("Interface", "GatewayLoadBalancer", "Resource", "ServiceNetwork")]  # fmt: skip
TABLES = [(kind, {"tableClass": name, "readCapacity": 5, "writeCapacity": 5}) for kind in ("aws:dynamodb/table:Table",)
          for name in ("STANDARD", "STANDARD_INFREQUENT_ACCESS")]  # fmt: skip
COMBINED = [*SQL, *RDS, *AURORA, *DISKS, *AZURE_SQL, *CACHES, *FILES, *TABLES]
METERED = [(kind, billing(meter)) for meter in meters.ROWS for kind in meter.types if meter.unit != "use"]
ALL = [*METERED, *((row.type, stated(row)) for row in BILLED), *((kind, {}) for kind in PRICERS), *RICH, *COMBINED]


@cache
def resources() -> tuple[RecordedResource, ...]:
    return tuple(make(kind, inputs, f"r{n}") for n, (kind, inputs) in enumerate(ALL))


def priced(places: Mapping[str, str], own: Discounts | None = None) -> Pricing:
    plan = Plan(project="t", stack="dev", resources=resources(), config=dict(places))
    return price(plan, load(), on=ON, discounts=own)


def reasons(pricing: Pricing) -> list[str]:
    return [line.price.reason for line in pricing.items if isinstance(line.price, Unpriced)]


def keys(pricing: Pricing) -> set[tuple[str, str]]:
    return {(cloud, key) for reason in reasons(pricing) for cloud, key in NAMED.findall(reason)}


@pytest.mark.parametrize("places", [REGIONS, FEW_PRICES], ids=["many prices", "few prices"])
def test_a_rate_of_every_key_that_a_reason_names_is_taken(places: Mapping[str, str], tmp_path: Path) -> None:
    named = keys(priced(places))
    assert len(named) > 100
    file = tmp_path / "own.yaml"
    file.write_text("rates:\n" + "".join(f"  - {{cloud: {c}, fee: {key}, usd: 1}}\n" for c, key in sorted(named)))
    own = read_own_rates(file, load())
    assert not keys(priced(places, own)) & named


def test_a_reason_names_a_key_in_one_way() -> None:
    """A key in brackets, as a fee that no reader asks for, would be an advice that fails."""
    assert not [reason for reason in reasons(priced(REGIONS)) if "(fee" in reason]
    assert not [meter for meter in meters.ROWS if meter.unit in ("unpriced", "use") and meter.fee]


def test_a_file_that_is_named_and_the_project_s_own_are_checked_alike(tmp_path: Path) -> None:
    catalog = load()
    fees = [(fee.cloud, fee.key) for fee in catalog.fees]
    text = "rates: [{cloud: aws, fee: nat.huor, usd: 1}]"
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"own\.yaml:1:27: rates\[0\]\.fee: no fee 'nat\.huor'"):
        read_own_rates(tmp_path / "own.yaml", catalog)
    wrong = parse_discounts({"rates": [{"cloud": "aws", "fee": "nat.huor", "usd": 1}]})
    assert check_rates(wrong, shapes=catalog.shapes_by_type, regions=catalog.region_facts, fees=fees)


def monthly(kind: str, inputs: dict[str, Any], rates: Mapping[str, str], **refers: RecordedResource) -> str:
    """The month of one resource at rates of one's own; "+ ?" where something else has no price."""
    own = parse_discounts({"rates": [{"fee": key, "usd": usd} for key, usd in rates.items()]})
    others = tuple(refers.values())
    plan = Plan(project="t", stack="dev", resources=(*others, make(kind, inputs, **refers)), config=REGIONS)
    items = [line for line in price(plan, load(), on=ON, discounts=own).items if "::it" in line.resource]
    costs = [line.cost() for line in items]
    known = [cost.expected for cost in costs if not isinstance(cost, Unpriced)]
    return f"{sum(known):.2f}" + (" + ?" if len(known) < len(costs) else "")


GATEWAY = "azure-native:network:ApplicationGateway"
HEALTH = "aws:route53/healthCheck:HealthCheck"
STREAM = "aws:kinesis/stream:Stream"


@pytest.mark.parametrize(
    ("kind", "inputs", "rates", "usd"),
    [
        # 16 addresses at 0.006 an hour
        ("azure-native:network:PublicIPPrefix", {"prefixLength": 28}, {"ipv4.prefix.address_hour": "0.006"}, "70.08"),
        # 0.443 and 20 capacity units at 0.0144 by the hour; another SKU has another key
        (GATEWAY, {"sku": {"name": "WAF_v2", "tier": "WAF_v2", "capacity": 2}},
         {"appgw.waf_v2.hour": "0.443", "appgw.waf_v2.capacity_unit_hour": "0.0144"}, "533.63"),
        (GATEWAY, {"sku": {"name": "Standard_v2", "capacity": 2}},
         {"appgw.waf_v2.hour": "0.443", "appgw.waf_v2.capacity_unit_hour": "0.0144"}, "0.00 + ?"),
        (GATEWAY, {"sku": {"name": "Standard_v2"}, "autoscaleConfiguration": {"minCapacity": 0}},
         {"appgw.standard_v2.hour": "0.246"}, "179.58"),
        (GATEWAY, {"sku": {"name": "Standard_Medium", "capacity": 2}}, {"appgw.standard_medium.hour": "0.07"}, "102.20"),
        ("azure-native:network:ExpressRouteCircuit", {"sku": {"tier": "Standard", "family": "MeteredData"},
                                                      "serviceProviderProperties": {"bandwidthInMbps": 1000}},
         {"expressroute.standard.metereddata.1000.month": "436"}, "436.00"),
        ("azure-native:network:ExpressRouteCircuit", {"sku": {"tier": "Standard", "family": "MeteredData"},
                                                      "serviceProviderProperties": {"bandwidthInMbps": 2000}},
         {"expressroute.standard.metereddata.1000.month": "436"}, "0.00 + ?"),
        # scale units above two
        ("azure-native:network:BastionHost", {"scaleUnits": 4},
         {"bastion.standard.hour": "0.29", "bastion.unit.hour": "0.14"}, "416.10"),
        ("azure-native:network:BastionHost", {"sku": {"name": "Basic"}}, {"bastion.standard.hour": "0.29"}, "0.00 + ?"),
        # 2 vCPUs at 0.0405 and 4 GB at 0.00445 by the hour
        ("azure-native:containerinstance:ContainerGroup", {"containers": [
            {"name": "a", "resources": {"requests": {"cpu": 2, "memoryInGB": 4}}}]},
         {"container_instances.vcpu_hour": "0.0405", "container_instances.memory_gb_hour": "0.00445"}, "72.12"),
        ("aws:ec2/dedicatedHost:DedicatedHost", {"instanceType": "m5.large"}, {"dedicated_host.m5.large.hour": "5"},
         "3650.00"),
        ("aws:ec2/dedicatedHost:DedicatedHost", {"instanceFamily": "c5"}, {"dedicated_host.m5.hour": "5"}, "0.00 + ?"),
        ("aws:fsx/windowsFileSystem:WindowsFileSystem", {"storageCapacity": 1000, "storageType": "HDD",
                                                         "deploymentType": "MULTI_AZ_1", "throughputCapacity": 8},
         {"fsx.windows.multi_az_1.hdd.gb_month": "0.025", "fsx.windows.multi_az_1.mbps_month": "4.5"}, "61.00"),
        # 8 vCPUs and 32 GB, at 0.02 and 0.003 by the hour
        ("gcp:compute/regionCommitment:RegionCommitment", {"plan": "TWELVE_MONTH", "type": "GENERAL_PURPOSE_N2",
         "resources": [{"type": "VCPU", "amount": "8"}, {"type": "MEMORY", "amount": "32768"}]},
         {"commitment.general_purpose_n2.twelve_month.vcpu.hour": "0.02",
          "commitment.general_purpose_n2.twelve_month.memory.hour": "0.003"}, "186.88"),
        # 4 shards at 0.015 and 0.02 by the hour
        (STREAM, {"shardCount": 4, "retentionPeriod": 168},
         {"kinesis.shard.hour": "0.015", "kinesis.extended_retention.shard_hour": "0.02"}, "102.20"),
        (STREAM, {"shardCount": 4, "retentionPeriod": 24}, {"kinesis.shard.hour": "0.015"}, "43.80"),
        (HEALTH, {"type": "HTTPS", "requestInterval": 10, "measureLatency": True},
         {"route53.health_check": "0.75", "route53.health_check.option": "2"}, "6.75"),
        (HEALTH, {"type": "HTTP", "requestInterval": 30}, {"route53.health_check": "0.75"}, "0.75"),
        # a server without protocols has one
        ("aws:transfer/server:Server", {}, {"transfer.protocol.hour": "0.30"}, "219.00"),
        ("aws:transfer/server:Server", {"protocols": ["SFTP", "FTPS"]}, {"transfer.protocol.hour": "0.30"}, "438.00"),
        # 2 vCPUs at 5.88 a month
        ("aws:rds/instance:Instance", {"engine": "mysql", "engineVersion": "8.4", "instanceClass": "db.m5.large",
                                       "allocatedStorage": 0, "performanceInsightsRetentionPeriod": 731},
         {"rds.mysql.single_az.db.m5.large": "0", "rds.performance_insights.731_days.vcpu_month": "5.88",
          "rds.gp2.gb_month": "0"}, "11.76"),
        ("azure-native:operationalinsights:Workspace", {"sku": {"capacityReservationLevel": 100}},
         {"logs.commitment.100.day": "196"}, "5961.67"),
    ],
)  # fmt: skip
def test_a_key_is_as_fine_as_what_it_prices(kind: str, inputs: dict[str, Any], rates: dict[str, str], usd: str) -> None:
    assert monthly(kind, inputs, rates) == usd


def test_provisioned_concurrency_bills_the_memory_of_its_function() -> None:
    kind = "aws:lambda/provisionedConcurrencyConfig:ProvisionedConcurrencyConfig"
    stated = {"functionName": "f", "qualifier": "1", "provisionedConcurrentExecutions": 5}
    rates = {"lambda.provisioned.arm.gb_hour": "0.0120"}
    function = make("aws:lambda/function:Function", {"memorySize": 2048, "architectures": ["arm64"]}, "f")
    assert monthly(kind, stated, rates, functionName=function) == "87.60"
    other = replace(function, inputs={"memorySize": 2048})
    assert monthly(kind, stated, rates, functionName=other) == "0.00 + ?"
    assert monthly(kind, stated, rates) == "0.00 + ?"


def test_a_serverless_endpoint_that_stays_ready_bills_around_the_clock() -> None:
    serverless = {"memorySizeInMb": 4096, "maxConcurrency": 5, "provisionedConcurrency": 2}
    variants = {"productionVariants": [{"variantName": "v", "serverlessConfig": serverless}]}
    configuration = make("aws:sagemaker/endpointConfiguration:EndpointConfiguration", variants, "c")
    rates = {"sagemaker.serverless.provisioned.4096mb.hour": "0.05"}
    endpoint = ("aws:sagemaker/endpoint:Endpoint", {"endpointConfigName": "c"})
    assert monthly(*endpoint, rates, endpointConfigName=configuration) == "73.00"
    assert monthly(*endpoint, {}, endpointConfigName=configuration) == "0.00 + ?"


def test_sole_tenant_nodes_bill_the_type_of_their_template() -> None:
    template = make("gcp:compute/nodeTemplate:NodeTemplate", {"nodeType": "n2-node-80-640"}, "t")
    group = ("gcp:compute/nodeGroup:NodeGroup", {"initialSize": 2, "zone": "us-central1-a"})
    rates = {"sole_tenant.n2-node-80-640.hour": "4"}
    assert monthly(*group, rates, nodeTemplate=template) == "5840.00"
    assert monthly(*group, rates) == "0.00 + ?"


SSD = {"bootDiskSizeGb": 1000, "bootDiskType": "pd-ssd"}
N2 = {"numInstances": 1, "machineType": "n2-standard-4"}
VOLUMES = [{"size": 500, "type": "gp3", "volumesPerInstance": 2}]


@pytest.mark.parametrize(
    ("kind", "inputs", "rates", "usd"),
    [
        # 12 vCPUs at 0.01; a master with 500 GB of pd-standard at 0.04, two workers with 1,000 GB of pd-ssd at 0.17
        # and a local SSD of 375 GB at 0.08 each; machines less 20 % for sustained use
        ("gcp:dataproc/cluster:Cluster", {"clusterConfig": {
            "masterConfig": {**N2, "diskConfig": {"bootDiskSizeGb": 500}},
            "workerConfig": {**N2, "numInstances": 2, "diskConfig": {**SSD, "numLocalSsds": 1}}}},
         {"dataproc.vcpu_hour": "0.01", "local_ssd": "0.08"}, "847.90"),
        # m5.xlarge at 0.192 and 0.048 by the hour: a master with 100 GB, two nodes with 1,000 GB each at 0.08
        ("aws:emr/cluster:Cluster", {
            "keepJobFlowAliveWhenNoSteps": True, "releaseLabel": "emr-7.5.0",
            "masterInstanceGroup": {"instanceType": "m5.xlarge", "ebsConfigs": [{"size": 100, "type": "gp3"}]},
            "coreInstanceGroup": {"instanceType": "m5.xlarge", "instanceCount": 2, "ebsConfigs": VOLUMES}},
         {"emr.m5.xlarge.hour": "0.048"}, "693.60"),
        ("aws:emr/cluster:Cluster", {
            "keepJobFlowAliveWhenNoSteps": True, "releaseLabel": "emr-6.1.0", "ebsRootVolumeSize": 100,
            "masterInstanceGroup": {"instanceType": "m5.xlarge"}}, {"emr.m5.xlarge.hour": "0.048"}, "185.20"),
    ],
)  # fmt: skip
def test_machines_of_a_cluster_for_data_have_disks_and_a_surcharge_each(
    kind: str, inputs: dict[str, Any], rates: dict[str, str], usd: str
) -> None:
    assert monthly(kind, inputs, rates) == usd


FAST = {"type": "pd-extreme", "provisionedIops": 20_000}
POOLED = {"initializeParams": {"size": 100, "type": "hyperdisk-balanced", "storagePool": "p"}}
HA = {"type": "hyperdisk-balanced-high-availability", "size": 1000, "region": "us-central1"}
EXTREME = {"pd.extreme": "0.125", "pd.extreme.iops_month": "0.065"}
HA_RATES = {f"hyperdisk.balanced-high-availability{key}": usd for key, usd in (
    ("", "0.16"), (".iops_month", "0.01"), (".mbps_month", "0.08"))}  # fmt: skip
BOOT_100 = {"size": 100, **FAST}
POOL = "gcp:container/nodePool:NodePool"
TEMPLATED = [
    {"boot": True, "diskSizeGb": 100, "diskType": "pd-standard"},
    {"diskSizeGb": 100, "diskType": "pd-extreme", "provisionedIops": 20_000},
]
STARTED = {"targetSize": 2, "zone": "us-central1-a", "versions": [{"instanceTemplate": "t"}]}
GROUP = "gcp:compute/instanceGroupManager:InstanceGroupManager"
TEMPLATE_OF_GCP = "gcp:compute/instanceTemplate:InstanceTemplate"


@pytest.mark.parametrize(
    ("kind", "inputs", "usd"),
    [
        # 1,000 GB at 0.125 and 20,000 IOPS at 0.065; none of its IOPS is included
        ("gcp:compute/disk:Disk", {**FAST, "size": 1000, "zone": "us-central1-a"}, "1425.00"),
        ("gcp:compute/disk:Disk", {"type": "pd-extreme", "size": 1000, "zone": "us-central1-a"}, "125.00 + ?"),
        # 12.50 and 1,300 for each machine; the machines themselves have a price in the catalog
        ("gcp:compute/instance:Instance", {"machineType": "n2-standard-8", "zone": "us-central1-a", "bootDisk": {
            "initializeParams": BOOT_100}, "desiredStatus": "TERMINATED"}, "1312.50"),
        # 1,000 GB at 0.16 for both zones, 4,000 IOPS at 0.01 above 3,000 and 60 MB/s at 0.08 above 140
        ("gcp:compute/regionDisk:RegionDisk", {**HA, "provisionedIops": 7000, "provisionedThroughput": 200}, "204.80"),
        ("gcp:compute/regionDisk:RegionDisk", {**HA, "type": f"zones/a/diskTypes/{HA['type']}"}, "160.00"),
        # a kind that no table has
        ("gcp:compute/disk:Disk", {"type": "hyperdisk-newer", "size": 10, "provisionedIops": 9000,
                                   "zone": "us-central1-a"}, "10.00 + ?"),
        # its pool is billed
        ("gcp:compute/instance:Instance", {"machineType": "n2-standard-8", "zone": "us-central1-a",
                                           "bootDisk": POOLED, "desiredStatus": "TERMINATED"}, "0.00"),
    ],
)  # fmt: skip
def test_what_a_disk_of_google_provisions_is_a_line_of_its_own(kind: str, inputs: dict[str, Any], usd: str) -> None:
    assert monthly(kind, inputs, {**EXTREME, **HA_RATES, "hyperdisk.newer": "1"}) == usd


def lines_of(
    pattern: str, kind: str, inputs: dict[str, Any], rates: Mapping[str, str], **refers: RecordedResource
) -> str:
    """The month of the lines of a resource whose words fit."""
    own = parse_discounts({"rates": [{"fee": key, "usd": usd} for key, usd in rates.items()]})
    plan = Plan(project="t", stack="dev", resources=(*refers.values(), make(kind, inputs, **refers)), config=REGIONS)
    items = [line for line in price(plan, load(), on=ON, discounts=own).items if re.search(pattern, line.what)]
    assert items
    costs = [line.cost() for line in items if "::it" in line.resource]
    return f"{sum(cost.expected for cost in costs if not isinstance(cost, Unpriced)):.2f}"


def test_so_are_those_of_machines_that_a_template_or_a_pool_starts() -> None:
    # 1,300 for each of two
    template = make(TEMPLATE_OF_GCP, {"machineType": "n2-standard-8", "disks": TEMPLATED}, "t")
    assert lines_of("IOPS", GROUP, STARTED, EXTREME, instanceTemplate=template, versions=template) == "2600.00"
    disk = {"diskType": "hyperdisk-balanced", "sizeGb": 100, "provisionedIops": 5000, "provisionedThroughput": 240}
    pool = {"nodeCount": 2, "location": "us-central1-a", "cluster": "c", "nodeConfig": {
        "machineType": "n2-standard-8", "bootDisk": disk}}  # fmt: skip
    rates = {"hyperdisk.balanced.iops_month": "0.005", "hyperdisk.balanced.mbps_month": "0.04"}
    assert lines_of("IOPS|MB/s", POOL, pool, rates) == "28.00"  # 2,000 IOPS and 100 MB/s for each
    worker = {**MASTER, "diskConfig": {"bootDiskSizeGb": 100, "bootDiskType": "hyperdisk-balanced",
                                       "bootDiskProvisionedIops": 5000, "bootDiskProvisionedThroughput": 240}}  # fmt: skip
    cluster = {"clusterConfig": {"masterConfig": worker, "workerConfig": {**MASTER, "numInstances": 2}}}
    assert lines_of("IOPS|MB/s", "gcp:dataproc/cluster:Cluster", cluster, rates) == "14.00"


COSMOS = "azure-native:cosmosdb"
EAST, WEST = ({"locationName": name, "failoverPriority": n} for n, name in enumerate(("East US", "westus")))
OF_COSMOS = {"cosmosdb.ru_hour": "0.00008", "cosmosdb.autoscale.ru_hour": "0.00012",
             "cosmosdb.multi_write.ru_hour": "0.00016", "cosmosdb.autoscale.multi_write.ru_hour": "0.00016"}  # fmt: skip
AUTOSCALE = {"autoscaleSettings": {"maxThroughput": 1000}}


@pytest.mark.parametrize(
    ("name", "account", "options", "usd"),
    [
        # 1,000 RU/s at 0.00008 an hour in each region
        ("SqlResourceSqlDatabase", {"locations": [EAST]}, {}, "58.40"),
        ("SqlResourceSqlDatabase", {"locations": [EAST, WEST]}, {}, "116.80"),
        ("MongoDBResourceMongoDBCollection", {"locations": [EAST, WEST]}, {}, "116.80"),
        ("CassandraResourceCassandraTable", {"locations": [EAST, WEST]}, {}, "116.80"),
        ("GremlinResourceGremlinGraph", {"locations": [EAST, WEST]}, {}, "116.80"),
        ("TableResourceTable", {"locations": [EAST, WEST]}, {}, "116.80"),
        # written in both, at 0.00016
        ("SqlResourceSqlDatabase", {"locations": [EAST, WEST], "enableMultipleWriteLocations": True}, {}, "233.60"),
        ("SqlResourceSqlDatabase", {"locations": [EAST], "enableMultipleWriteLocations": True}, {}, "58.40"),
        # a quarter more where it is spread over zones, in that region
        ("SqlResourceSqlDatabase", {"locations": [{**EAST, "isZoneRedundant": True}, WEST]}, {}, "131.40"),
        ("SqlResourceSqlDatabase", {"locations": [{**EAST, "isZoneRedundant": True}, WEST],
                                    "enableMultipleWriteLocations": True}, {}, "233.60"),
        # the most of it at 0.00012
        ("SqlResourceSqlContainer", {"locations": [EAST, WEST]}, AUTOSCALE, "175.20"),
        ("SqlResourceSqlContainer", {"locations": [EAST, {**WEST, "isZoneRedundant": True}]}, AUTOSCALE, "175.20"),
        ("SqlResourceSqlContainer", {"locations": [EAST, WEST], "enableMultipleWriteLocations": True}, AUTOSCALE, "233.60"),
        # the first 1,000 of an account of the free tier
        ("SqlResourceSqlDatabase", {"locations": [EAST, WEST], "enableFreeTier": True}, {}, "58.40"),
        ("SqlResourceSqlDatabase", {"locations": UNKNOWN}, {}, "0.00 + ?"),
    ],
)  # fmt: skip
def test_throughput_of_cosmos_db_bills_in_each_region_of_its_account(
    name: str, account: dict[str, Any], options: dict[str, Any], usd: str
) -> None:
    holder = make(f"{COSMOS}:DatabaseAccount", {"accountName": "acme", **account}, "account")
    stated = {"accountName": "acme", "options": options or {"throughput": 1000}}
    assert monthly(f"{COSMOS}:{name}", stated, OF_COSMOS, accountName=holder) == usd


CLASSES = {f"disk.{key}": usd for key, usd in {
    "standardssd_lrs.e10": "9.60", "standardssd_lrs.e15": "19.20", "standardssd_zrs.e15": "28.80",
    "standard_lrs.s4": "1.54", "standard_lrs.s15": "11.33", "premium_zrs.p15": "57.66", "premium_zrs.p30": "202.75",
    "ultrassd_lrs": "0.12", "ultrassd_lrs.iops_month": "0.05", "ultrassd_lrs.mbps_month": "0.35"}.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("sku", "inputs", "usd"),
    [
        # the price of the class that holds 200 GB, whole
        ("StandardSSD_LRS", {"diskSizeGB": 200}, "19.20"),
        ("StandardSSD_LRS", {"diskSizeGB": 128}, "9.60"),
        ("StandardSSD_ZRS", {"diskSizeGB": 200}, "28.80"),
        ("Standard_LRS", {"diskSizeGB": 200}, "11.33"),
        ("Standard_LRS", {"diskSizeGB": 4}, "1.54"),
        ("Premium_ZRS", {"diskSizeGB": 200}, "57.66"),
        ("Premium_ZRS", {"diskSizeGB": 200, "tier": "P30"}, "202.75"),
        # 256 GB at 0.12, 1,000 IOPS at 0.05, 100 MB/s at 0.35
        ("UltraSSD_LRS", {"diskSizeGB": 200, "diskIOPSReadWrite": 1000, "diskMBpsReadWrite": 100}, "115.72"),
    ],
)
def test_an_azure_disk_bills_the_class_of_its_size(sku: str, inputs: dict[str, Any], usd: str) -> None:
    assert monthly("azure-native:compute:Disk", {"sku": {"name": sku}, **inputs}, CLASSES) == usd


def test_so_do_those_of_a_machine() -> None:
    profile = {"osDisk": {"diskSizeGB": 128, "managedDisk": {"storageAccountType": "StandardSSD_LRS"}},
               "dataDisks": [{"diskSizeGB": 200, "managedDisk": {"storageAccountType": "StandardSSD_LRS"}}]}  # fmt: skip
    machine = {"hardwareProfile": {"vmSize": "Standard_D4s_v5"}, "storageProfile": profile}
    assert lines_of("disks", "azure-native:compute:VirtualMachine", machine, CLASSES) == "28.80"


DYNAMO = "aws:dynamodb/table:Table"
IA = {"tableClass": "STANDARD_INFREQUENT_ACCESS"}
UNITS_OF_TABLE = {"readCapacity": 100, "writeCapacity": 50}
POOL_OF_DISKS = {"storagePoolType": "projects/p/zones/z/storagePoolTypes/hyperdisk-balanced", "zone": "us-central1-a",
                 "poolProvisionedCapacityGb": "10240", "poolProvisionedThroughput": "0"}  # fmt: skip
HYPERDISK_POOL = "hyperdisk.pool.hyperdisk-balanced"


@pytest.mark.parametrize(
    ("kind", "inputs", "rates", "others", "usd"),
    [
        # 100 and 50 units by the hour; the rates of the other class are not its
        (DYNAMO, {**UNITS_OF_TABLE, **IA},
         {"dynamodb.standard_ia.read_unit.hour": "0.00016", "dynamodb.standard_ia.write_unit.hour": "0.00081"},
         {"dynamodb.read_unit.hour": "0.00013", "dynamodb.write_unit.hour": "0.00065"}, "41.24"),
        (DYNAMO, UNITS_OF_TABLE, {"dynamodb.read_unit.hour": "0.00013", "dynamodb.write_unit.hour": "0.00065"},
         {"dynamodb.standard_ia.read_unit.hour": "0.00016", "dynamodb.standard_ia.write_unit.hour": "0.00081"}, "33.21"),
        # its indexes as well
        (DYNAMO, {"readCapacity": 0, "writeCapacity": 0, **IA, "globalSecondaryIndexes": [
            {"readCapacity": 100, "writeCapacity": 50}]},
         {"dynamodb.standard_ia.read_unit.hour": "0.00016", "dynamodb.standard_ia.write_unit.hour": "0.00081"},
         {"dynamodb.read_unit.hour": "0.00013", "dynamodb.write_unit.hour": "0.00065"}, "41.24"),
        ("gcp:compute/storagePool:StoragePool", {**POOL_OF_DISKS, "capacityProvisioningType": "ADVANCED"},
         {f"{HYPERDISK_POOL}.advanced.gb_month": "0.18"}, {f"{HYPERDISK_POOL}.standard.gb_month": "0.08"}, "1843.20"),
        ("gcp:compute/storagePool:StoragePool", POOL_OF_DISKS,
         {f"{HYPERDISK_POOL}.standard.gb_month": "0.08"}, {"hyperdisk.pool.hyperdisk-throughput.standard.gb_month": "0.01"},
         "819.20"),
        ("gcp:dataproc/cluster:Cluster", {"clusterConfig": {
            "clusterTier": "CLUSTER_TIER_PREMIUM",
            "masterConfig": {"numInstances": 1, "machineType": "n2-standard-4", "diskConfig": {"bootDiskSizeGb": 100}},
            "workerConfig": {"numInstances": 2, "machineType": "n2-standard-4", "diskConfig": {"bootDiskSizeGb": 100}}}},
         {"dataproc.premium.vcpu_hour": "0.02"}, {"dataproc.vcpu_hour": "0.01"}, "527.50"),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", {"vpcEndpointType": "Resource", "subnetIds": ["a"]},
         {"vpc_endpoint.resource.hour": "0.02"}, {"vpc_endpoint.hour": "0.01"}, "14.60"),
    ],
)  # fmt: skip
def test_what_has_prices_of_its_own_has_a_key_of_its_own(
    kind: str, inputs: dict[str, Any], rates: dict[str, str], others: dict[str, str], usd: str
) -> None:
    assert monthly(kind, inputs, {**rates, **others}) == usd
    assert monthly(kind, inputs, others).endswith(" + ?")


@pytest.mark.parametrize(
    ("kind", "inputs", "measure", "key", "other"),
    [
        (DYNAMO, {"billingMode": "PAY_PER_REQUEST", **IA}, "requests", "dynamodb.standard_ia.request", "dynamodb.request"),
        ("aws:ebs/snapshot:Snapshot", {"storageTier": "archive"}, "stored_gigabytes", "ebs.snapshot.archive",
         "ebs.snapshot"),
        ("aws:ebs/snapshotCopy:SnapshotCopy", {"storageTier": "archive"}, "stored_gigabytes", "ebs.snapshot.archive",
         "ebs.snapshot"),
        ("gcp:compute/snapshot:Snapshot", {"snapshotType": "ARCHIVE"}, "stored_gigabytes", "snapshot.archive.gb_month",
         "snapshot.gb_month"),
        ("azure-native:compute:Snapshot", {"sku": {"name": "Premium_LRS"}}, "stored_gigabytes", "disk.snapshot.premium",
         "disk.snapshot"),
        ("aws:cloudwatch/logGroup:LogGroup", {"logGroupClass": "INFREQUENT_ACCESS"}, "ingested_gigabytes",
         "logs.infrequent_access.ingested", "logs.ingested"),
        ("aws:lambda/function:Function", {"architectures": ["arm64"]}, "gigabyte_seconds", "lambda.arm.gb_second",
         "lambda.gb_second"),
        ("aws:docdb/cluster:Cluster", {"storageType": "iopt1"}, "stored_gigabytes", "docdb.iopt1.gb_month",
         "docdb.gb_month"),
        ("aws:neptune/cluster:Cluster", {"storageType": "iopt1"}, "stored_gigabytes", "neptune.iopt1.gb_month",
         "neptune.gb_month"),
        ("aws:sqs/queue:Queue", {"fifoQueue": True}, "requests", "sqs.fifo.request", "sqs.request"),
        ("aws:sns/topic:Topic", {"fifoTopic": True}, "requests", "sns.fifo.request", "sns.request"),
        ("aws:apigateway/restApi:RestApi", {}, "requests", "apigateway.rest.request", "apigateway.request"),
        ("aws:apigatewayv2/api:Api", {"protocolType": "WEBSOCKET"}, "requests", "apigateway.websocket.request",
         "apigateway.request"),
        ("aws:sfn/stateMachine:StateMachine", {"type": "EXPRESS"}, "requests", "sfn.express.request", "sfn.transition"),
        ("aws:glue/job:Job", {"executionClass": "FLEX"}, "capacity_unit_hours", "glue.flex.dpu_hour", "glue.dpu_hour"),
        ("azure-native:storage:FileShare", {"accessTier": "Cool"}, "stored_gigabytes", "files.cool.gb_month",
         "files.gb_month"),
        ("azure-native:databricks:Workspace", {"sku": {"name": "premium"}}, "vcpu_hours", "databricks.premium.dbu",
         "databricks.standard.dbu"),
        ("gcp:storage/bucket:Bucket", {"location": "US"}, "stored_gigabytes", "gcs.standard.multi_region_us",
         "gcs.standard"),
        ("gcp:storage/bucket:Bucket", {"location": "NAM4"}, "stored_gigabytes", "gcs.standard.dual_region_nam4",
         "gcs.standard"),
        ("azure-native:sql:Database", {"sku": {"name": "HS_S_Gen5_2"}}, "vcpu_hours", "sql.hs.serverless.vcore_hour",
         "sql.gp.serverless.vcore_hour"),
    ],
)  # fmt: skip
def test_so_has_what_is_billed_by_use(kind: str, inputs: dict[str, Any], measure: str, key: str, other: str) -> None:
    plan = Plan(project="t", stack="dev", resources=(make(kind, inputs),), config=REGIONS)
    usage = parse_usage({"usage": [{"resource": "it", measure: 1000}]})
    own = parse_discounts({"rates": [{"fee": key, "usd": 1}, {"fee": other, "usd": 7}]})
    lines = price(plan, load(), on=ON, discounts=own, usage=usage).items
    assert [line.asked.fee for line in lines if line.asked is not None and not line.asked.fee.endswith(".hs.gb_month")][
        :1
    ] == [key]
    assert f"{sum(cost.expected for line in lines if not isinstance(cost := line.cost(), Unpriced)):.2f}" == "1000.00"


def test_a_serverless_database_bills_its_storage_as_any_other() -> None:
    # 32 GB and 30 % for the log at 0.115
    stated = {"sku": {"name": "GP_S_Gen5_2"}, "maxSizeBytes": 32 * 2**30}
    assert monthly("azure-native:sql:Database", stated, {"sql.gp.gb_month": "0.115"}) == "4.78 + ?"


def test_a_version_of_a_key_has_the_price_of_its_key() -> None:
    hardware = make(
        "gcp:kms/cryptoKey:CryptoKey", {"versionTemplate": {"protectionLevel": "HSM", "algorithm": ""}}, "key"
    )
    version = ("gcp:kms/cryptoKeyVersion:CryptoKeyVersion", {"cryptoKey": UNKNOWN})
    assert monthly(*version, {"kms.key.hsm": "1.00", "kms.key": "0.06"}, cryptoKey=hardware) == "1.00"
    assert monthly(*version, {"kms.key.hsm": "1.00", "kms.key": "0.06"}) == "0.00 + ?"


def test_a_reason_says_by_which_unit_a_rate_is() -> None:
    named = [reason for reason in reasons(priced(REGIONS)) if NAMED.search(reason)]
    assert not [reason for reason in named if not re.search(r"\(USD per [^)]+\)$", reason)]
    assert any("gcp pd.extreme: no price in the catalog (USD per GB-month)" in reason for reason in named)
    assert any(
        "azure disk.standardssd_lrs.e15: no price in the catalog (USD per disk-month)" in reason for reason in named
    )
