"""Prices of AWS storage and network: buckets, disks, file systems, gateways, addresses, load balancers, logs, keys."""

from __future__ import annotations

from typing import Final

from sizewell.resources import pools
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stores import stored
from sizewell.resources.tables import disks, gaps
from sizewell.resources.values import flag, get, items, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import Interval, LineItem

_SUBNET_OF_ENDPOINT: Final = "aws:ec2/vpcEndpointSubnetAssociation:VpcEndpointSubnetAssociation"
_OWN_POOLS: Final = ("ipv4pool-ec2-", "ipv4pool-coip-")  # of addresses that a customer brought; Amazon's is "amazon"
_SHORT_PERIODS: Final = (10, 20, 30)  # seconds, of an alarm of high resolution
_ZONES_OF_A_BALANCER: Final = 2  # an application load balancer stands in two zones at least


def _bucket(resource: RecordedResource, context: Context) -> Outcome:
    return stored(resource, context, key="s3.standard", what="object storage, s3.standard")


def _directory_bucket(resource: RecordedResource, context: Context) -> Outcome:
    return stored(resource, context, key="s3.express_one_zone", what="object storage, s3.express_one_zone")


def _volume(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(resource.inputs.get("type"), "gp2")
    if isinstance(kind, Unknown):
        return (context.unpriced(resource, "disk", "the disk type is known only after deployment"),)
    inputs = resource.inputs
    return (
        pools.standing_disk(resource, context, gigabytes=inputs.get("size"), key=f"ebs.{kind}.gb_month", what="disk"),
        *disks.performance(
            resource, context, disk=f"ebs.{kind}", iops=inputs.get("iops"), throughput=inputs.get("throughput")
        ),
    )


def _lustre(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(resource.inputs.get("deploymentType"), "SCRATCH_1")
    throughput = text(resource.inputs.get("perUnitStorageThroughput"), "")
    if isinstance(kind, Unknown) or isinstance(throughput, Unknown):
        return (context.unpriced(resource, "FSx for Lustre", "the tier is known only after deployment"),)
    tier = kind.lower().replace("_", "") + (
        f".{throughput.split('.')[0]}" if throughput and kind.startswith("PERSISTENT") else ""
    )
    return (
        pools.standing_disk(
            resource,
            context,
            gigabytes=resource.inputs.get("storageCapacity"),
            key=f"fsx.lustre.{tier}",
            what="file system",
        ),
    )


def _efs(resource: RecordedResource, context: Context) -> Outcome:
    zone = resource.inputs.get("availabilityZoneName")
    key = (
        "efs.standard" if isinstance(zone, Unknown) or not zone else "efs.one_zone"
    )  # not known: the more expensive one
    lines = list(stored(resource, context, key=key, what=f"file system, {key}"))
    provisioned = number(resource.inputs.get("provisionedThroughputInMibps"))
    if provisioned is not None:
        quantity = UNKNOWN if isinstance(provisioned, Unknown) else Interval.exactly(amount(provisioned))
        lines.append(
            context.fee(
                resource,
                what="provisioned throughput",
                key="efs.provisioned_mbps_month",
                unit="MB/s-month",
                quantity=quantity,
            )
        )
    return tuple(lines)


def _nat(resource: RecordedResource, context: Context) -> Outcome:
    return (
        context.standing(resource, what="NAT gateway", key="nat.hour"),
        *context.by_use(resource, measure="processed_gigabytes", what="NAT gateway data", key="nat.gb", unit="GB"),
    )


def _address(resource: RecordedResource, context: Context) -> Outcome:
    own = [text(resource.inputs.get(key)) for key in ("publicIpv4Pool", "customerOwnedIpv4Pool", "address")]
    if any(isinstance(pool, str) and pool.startswith(_OWN_POOLS) for pool in own):
        return Free("an address of a range of one's own")
    return (context.standing(resource, what="public IPv4 address", key="ipv4.hour"),)


# Kinds of endpoints with one price by the hour. Source, from memory: aws.amazon.com/privatelink/pricing.
_AT_ONE_PRICE: Final = ("interface", "gatewayloadbalancer")


def _endpoint(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(resource.inputs.get("vpcEndpointType"), "Gateway")
    if isinstance(kind, Unknown):
        return (context.unpriced(resource, "VPC endpoint", "the type is known only after deployment"),)
    if kind.lower() == "gateway":
        return Free("gateway endpoints are free")
    listed = [items(resource.inputs.get(key)) for key in ("subnetIds", "subnetConfigurations")]
    added = context.graph.referring(resource, _SUBNET_OF_ENDPOINT, "vpcEndpointId")
    if isinstance(added, Unknown) or any(isinstance(each, Unknown) for each in listed):
        return (context.unpriced(resource, "interface endpoint", "the number of subnets is not known yet"),)
    subnets = max(len(each) for each in listed if isinstance(each, tuple)) + len(added)
    key = "vpc_endpoint.hour" if kind.lower() in _AT_ONE_PRICE else f"vpc_endpoint.{kind.lower()}.hour"
    return (context.standing(resource, what="interface endpoint", key=key, count=max(1, subnets)),)


def _balancer(resource: RecordedResource, context: Context) -> Outcome:
    kind = text(resource.inputs.get("loadBalancerType"), "application")
    if isinstance(kind, Unknown) or kind == "gateway":
        return (context.unpriced(resource, "load balancer", "gateway load balancers have no price in the catalog"),)
    balancer = "nlb" if kind == "network" else "alb"
    return (
        context.standing(resource, what="load balancer", key=f"lb.{balancer}.hour"),
        *_addresses(resource, context),
        *context.by_use(
            resource,
            measure="capacity_unit_hours",
            what="load balancer capacity units",
            key=f"lb.{balancer}.lcu_hour",
            unit="LCU-hour",
        ),
    )


def _addresses(balancer: RecordedResource, context: Context) -> tuple[LineItem, ...]:
    """The public addresses of a balancer: one in each subnet, but for those that it is given (billed as themselves)."""
    family = text(balancer.inputs.get("ipAddressType"))
    if flag(balancer.inputs.get("internal")) is True or family == "dualstack-without-public-ipv4":
        return ()
    subnets, mappings = (items(balancer.inputs.get(key)) for key in ("subnets", "subnetMappings"))
    what, least = "public IPv4 addresses", _ZONES_OF_A_BALANCER
    if isinstance(subnets, Unknown) or isinstance(mappings, Unknown):
        return (context.standing(resource=balancer, what=f"{what}, {least} at least", key="ipv4.hour", count=least),)
    own = [each for each in mappings if get(each, "allocationId") is None]
    count = len(subnets) + len(own)
    return (context.standing(balancer, what=what, key="ipv4.hour", count=count),) if count else ()


def _log_group(resource: RecordedResource, context: Context) -> Outcome:
    # Groups for logs that are seldom read, and those that are only delivered, have prices of their own.
    kind = text(resource.inputs.get("logGroupClass"))
    special = isinstance(kind, str) and kind.upper() not in ("", "STANDARD")
    key = f"logs.{str(kind).lower()}.ingested" if special else "logs.ingested"
    lines = context.by_use(resource, measure="ingested_gigabytes", what="log ingestion", key=key, unit="GB")
    return lines or Free("billed by what is written, which is not stated")


def _key(resource: RecordedResource, context: Context) -> Outcome:
    return (context.monthly(resource, what="encryption key", key="kms.key"),)


def _secret(resource: RecordedResource, context: Context) -> Outcome:
    return (context.monthly(resource, what="secret", key="secrets.secret"),)


def _alarm(resource: RecordedResource, context: Context) -> Outcome:
    queries = items(resource.inputs.get("metricQueries"))
    metrics = 1
    listed = queries if isinstance(queries, tuple) else ()
    if listed:
        metrics = sum(1 for query in listed if get(query, "metric") is not None) or 1
    if resource.inputs.get("thresholdMetricId") is not None:  # a band: the metric, and its bounds above and below
        metrics *= 3
    periods = [resource.inputs.get("period"), *(get(query, "metric", "period") for query in listed)]
    short = any(number(each) in _SHORT_PERIODS for each in periods)
    key = "cloudwatch.alarm.high_resolution" if short else "cloudwatch.alarm"
    return (context.monthly(resource, what="alarm", key=key, count=metrics),)


def _snapshot(resource: RecordedResource, context: Context) -> Outcome:
    key = "ebs.snapshot.archive" if resource.inputs.get("storageTier") == "archive" else "ebs.snapshot"
    return stored(resource, context, key=key, what=f"disk snapshot, {key}")


def _lambda(resource: RecordedResource, context: Context) -> Outcome:
    """By invocation where the usage file states them; else a guard's few, which a free tier covers."""
    processor = "arm." if get(resource.inputs, "architectures", 0) == "arm64" else ""
    key = f"lambda.{processor}gb_second"
    lines = (
        *context.by_use(resource, measure="requests", what="invocations", key="lambda.request", unit="request"),
        *context.by_use(resource, measure="gigabyte_seconds", what="invocations", key=key, unit="GB-second"),
    )
    return lines or Free("billed by invocation; the stated use is within the free tier")


def _transit(resource: RecordedResource, context: Context) -> Outcome:
    return (context.standing(resource, what="network attachment", key="tgw.attachment"),)


TABLE: Final[dict[str, Pricer]] = {
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/directoryBucket:DirectoryBucket": _directory_bucket,
    "aws:ebs/volume:Volume": _volume,
    "aws:ebs/snapshot:Snapshot": _snapshot,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _lustre,
    "aws:efs/fileSystem:FileSystem": _efs,
    "aws:ec2/natGateway:NatGateway": _nat,
    "aws:ec2/eip:Eip": _address,
    "aws:ec2/vpcEndpoint:VpcEndpoint": _endpoint,
    "aws:lb/loadBalancer:LoadBalancer": _balancer,
    "aws:alb/loadBalancer:LoadBalancer": _balancer,
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
    "aws:cloudwatch/metricAlarm:MetricAlarm": _alarm,
    "aws:kms/key:Key": _key,
    "aws:secretsmanager/secret:Secret": _secret,
    "aws:lambda/function:Function": _lambda,
    "aws:ec2/flowLog:FlowLog": gaps.by_use("flow logs", ingested_gigabytes="logs.vended"),
    "aws:ec2transitgateway/vpcAttachment:VpcAttachment": _transit,
}
