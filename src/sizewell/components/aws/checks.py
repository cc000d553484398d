"""What AWS components refuse, each with its sentence; all faults of one component are raised together."""

import ipaddress
import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from sizewell.components.access import is_private
from sizewell.components.aws import instances
from sizewell.components.aws.args import CheckpointStoreArgs, GpuNodeGroupArgs, MachineGroupArgs, NetworkArgs
from sizewell.components.aws.places import places_of, zone_ids_of, zones_with
from sizewell.components.aws.storage.mounts import check_block_window
from sizewell.components.faults import (
    Faults,
    check_lasting,
    check_machines,
    check_market,
    check_no_other_way,
    check_versions,
)
from sizewell.components.lustre import check_mounts
from sizewell.components.machines import find_family, find_shape, undriven_plain
from sizewell.components.places import Reference, check_known, check_references, check_zone, regions
from sizewell.sizing.billing import standing
from sizewell.sizing.catalog.compatibility import cuda_for
from sizewell.sizing.catalog.images import DRIVERS, foreign, image_kind
from sizewell.sizing.catalog.lifetimes import load
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.catalog.systems import system_of, title

CAPACITY_MODES = ("on-demand", "spot", "reservation", "capacity-block")
_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx|cn|us-gov)-[a-z]+-\d")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_ANY_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_RESERVATION = re.compile(r"cr-[0-9a-f]{8,17}|arn:aws[\w-]*:resource-groups:[\w-]+:\d{12}:group/.+")
REFERENCES = {
    "kms_key_arn": Reference(
        pattern=r"arn:aws[\w-]*:kms:(?P<region>[\w-]+):\d{12}:key/[\w-]+",
        allowed="the ARN of a KMS key, as arn:aws:kms:us-east-1:123456789012:key/ID",
    ),
    "vpc_id": Reference(pattern=r"vpc-\w[\w-]*", allowed="the id of a VPC, as vpc-0a1b2c3d4e5f60718"),
    "subnet_ids": Reference(pattern=r"subnet-\w[\w-]*", allowed="the id of a subnet, as subnet-0a1b2c3d4e5f60718"),
    "subnet_id": Reference(pattern=r"subnet-\w[\w-]*", allowed="the id of a subnet, as subnet-0a1b2c3d4e5f60718"),
    "cluster_security_group_id": Reference(
        pattern=r"sg-\w[\w-]*", allowed="the id of a security group, as sg-0a1b2c3d4e5f60718"
    ),
    "s3_prefix_list_id": Reference(pattern=r"pl-\w[\w-]*", allowed="the id of a prefix list, as pl-63a5400a"),
    "eks_cluster_arn": Reference(
        pattern=r"arn:aws[\w-]*:eks:(?P<region>[\w-]+):\d{12}:cluster/[\w-]+", allowed="the ARN of an EKS cluster"
    ),
    "reservation": Reference(
        pattern=r"arn:aws[\w-]*:resource-groups:(?P<region>[\w-]+):\d{12}:group/.+|(?!arn:).*",
        allowed="a capacity reservation (cr-0123456789abcdef0) or resource group ARN",
    ),
    "training_plan_arn": Reference(
        pattern=r"arn:aws[\w-]*:sagemaker:(?P<region>[\w-]+):\d{12}:training-plan/[\w-]+",
        allowed="the ARN of a training plan",
    ),
}
SUCH_A_DRIVER = "take an image with such a driver, or another instance type"
OWN_IMAGE = "set image to one with that driver (sizewell:images in a sized stack), or choose another type"
SECRET = re.compile(  # a value that is read from a variable is none
    r"AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|(?i:password|secret_access_key|token)\s*=\s*[\"']?[^\s\"'$-]"
)
_ENDPOINTS = sorted(
    {
        *standing.MACHINE_ENDPOINTS,
        *standing.KUBERNETES_ENDPOINTS,
        *standing.SAGEMAKER_ENDPOINTS,
        "kms",
        "secretsmanager",
    }
)
_RESERVED = re.compile(r"(xn--|sthree-|amzn-s3-demo-).*|.*(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)")
"""Names of buckets that S3 keeps for itself (docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html)."""
SCRIPT_BYTES = 60_000  # of a document's 64 KB (docs.aws.amazon.com/systems-manager/latest/userguide/documents.html)


def check_network(name: str, args: NetworkArgs) -> None:
    faults = Faults.of(name, args, NetworkArgs)
    check_place(faults, args)
    cidr = args.get("cidr", "10.40.0.0/16")
    try:
        network = ipaddress.IPv4Network(cidr)
        faults.must(
            is_private(network) and 16 <= network.prefixlen <= 20,
            "cidr",
            f"must be a private range from /16 to /20, got {cidr}",
        )
    except ValueError:
        faults.add("cidr", f"must be an IPv4 range such as 10.40.0.0/16, got {cidr!r}")
    for number, service in enumerate(args.get("endpoint_services") or []):
        # AWS has hundreds, and new ones each month: refused is what is nearly one of those that machines here need.
        near = get_close_matches(str(service), _ENDPOINTS, n=1, cutoff=0.85)
        named = re.fullmatch(r"(?!com\.)[a-z0-9]+([.-][a-z0-9]+)*", str(service)) is not None
        faults.must(
            named and (service in _ENDPOINTS or not near or str(service).endswith("-fips")),
            f"endpoint_services[{number}]",
            f"is no service that has an endpoint, as far as is known: {service!r}",
            fix=f"did you mean {near[0]}?" if near else "as ssm or ecr.dkr, without the region",
        )
    faults.must(
        len(args.get("zones") or []) <= 4, "zones", "are more than 4; a VPC made by Sizewell has up to 4 subnets"
    )
    faults.done()


def check_pool(name: str, args: GpuNodeGroupArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the instance type, None where the catalog does not know it."""
    faults = Faults.of(name, args, GpuNodeGroupArgs)
    check_place(faults, args)
    counted = check_machines(
        faults, args, disk_gib=(30, 16384), disk="the root disk has to hold the driver and the container image"
    )
    if shape is None:
        faults.not_in_catalog("instance_type", args.get("instance_type"))
    else:
        check_type(faults, args, shape, counted=counted)
        if "image" not in args:
            for at, each in pool_types(args, shape).items():
                check_driver(faults, at, each, undriven_plain(each), fix=OWN_IMAGE)
    check_mounts(faults, args.get("mounts") or [], needs=("dns_name", "mount_name"))
    check_script(faults, args)
    check_image(faults, args, shape)
    faults.done()


def check_type(faults: Faults, args: MachineGroupArgs, shape: Shape, *, counted: bool) -> None:
    """That machines of a type can be had as asked for; `counted`: their numbers are right."""
    check_rack(faults, shape)
    check_capacity(faults, args, shape)
    check_sold(faults, args, shape.instance_type, mode=str(args.get("capacity_mode")))
    if args.get("gang") and counted and args["nodes_max"] > 1:
        zones = len(args.get("zones") or [])
        message = f"must be exactly one for machines of one job, got {zones}: EFA does not cross zones"
        faults.must(zones == 1, "zones", message)


def pool_types(args: Mapping[str, Any], shape: Shape) -> dict[str, Shape]:
    """The types that a pool may have, by the argument that names them; those that the catalog knows."""
    fallbacks = {f"fallback_types[{n}]": find_shape("aws", t) for n, t in enumerate(args.get("fallback_types") or [])}
    return {"instance_type": shape, **{at: each for at, each in fallbacks.items() if each is not None}}


def check_driver(faults: Faults, at: str, shape: Shape, undriven: str, *, fix: str) -> None:
    """`undriven`: why the image has no driver for the type."""
    if undriven and "rack" not in shape.traits:  # which is refused for more than its driver
        faults.add(at, f"is {shape.instance_type}: {undriven}", fix=fix)


def _check_fallbacks(faults: Faults, args: MachineGroupArgs, shape: Shape) -> None:
    """All machines of a pool start from one image: a fallback has the same kind of processor and accelerator."""
    fallbacks = args.get("fallback_types") or []
    every = [shape.instance_type, *fallbacks]
    for number, kind in enumerate(fallbacks):
        at = f"fallback_types[{number}]"
        other = find_shape("aws", kind)
        if other is None:
            faults.not_in_catalog(at, kind)
            continue
        faults.must(every.index(kind) == number + 1, at, f"names a type twice: {kind}")
        alike = (other.runtime, other.architecture) == (shape.runtime, shape.architecture)
        if not faults.must(
            alike,
            at,
            f"{kind} has {_described(other)}, and {shape.instance_type} has {_described(shape)}: all machines of a "
            "pool start from one image",
            fix="make a pool for each kind",
        ):
            continue
        faults.must("rack" not in other.traits, at, f"{kind} is a machine of an NVLink rack, sold as a whole rack")
        if other.markets:
            sold = ", ".join(sorted(other.markets))
            faults.must("spot" in other.markets, at, f"{kind} is not sold as spot; it is sold as {sold}")
        check_sold(faults, args, kind, mode="spot")


def _described(shape: Shape) -> str:
    """As a sentence says what an image has to be for."""
    processor = "Arm processors" if shape.architecture == "arm64" else "x86 processors"
    return f"{processor} and {shape.accelerator}" if shape.accelerators else f"{processor} and no accelerator"


def check_checkpoint_store(name: str, args: CheckpointStoreArgs) -> None:
    faults = Faults.of(name, args, CheckpointStoreArgs)
    check_lasting(faults, args)
    check_region(faults, args)
    bucket = args.get("bucket", "")
    faults.must(
        bool(_BUCKET.fullmatch(bucket)),
        "bucket",
        f"must be 3 to 63 of a-z, 0-9 and -, got {bucket!r}; dots break TLS to the bucket",
    ) and faults.must(
        not _RESERVED.fullmatch(bucket), "bucket", f"has a beginning or end that S3 keeps for itself, got {bucket!r}"
    )
    check_versions(faults, args, "retention_days", because="a locked version cannot expire")
    faults.done()


def check_place(faults: Faults, args: Mapping[str, object]) -> None:
    """That the region is one of AWS's, and that every zone lies in it."""
    region = check_region(faults, args)
    zones = args.get("zones")
    if not isinstance(zones, list) or not zones:
        faults.add("zones", "is empty; name at least one, as us-east-1a or use1-az4")
        return
    faults.must(len(set(zones)) == len(zones), "zones", f"names a zone twice: {', '.join(map(str, zones))}")
    for number, zone in enumerate(zones):
        name = re.fullmatch(r"([a-z]+(?:-[a-z]+)+-\d)(?:-[a-z]{3}-\d+)?[a-z]", str(zone))
        by_id = re.fullmatch(r"([a-z]+\d)(-[a-z]{3}\d+)?-az\d", str(zone))
        if not name and not by_id:
            faults.add(f"zones[{number}]", f"must be a zone as us-east-1a or use1-az4, got {zone!r}")
        elif region:
            within = name[1] == region if name else by_id is not None and by_id[1] == zone_ids_of(region)
            if faults.must(within, f"zones[{number}]", f"is in a region other than {region}: {zone!r}"):
                check_zone_of(faults, region, str(zone), f"zones[{number}]")
    subnets = args.get("subnet_ids")
    check_once(faults, "subnet_ids", subnets, because="zones have a subnet each")
    faults.must(
        not isinstance(subnets, list) or len(subnets) >= len(zones),
        "subnet_ids",
        f"must be one for each zone, in the order of zones, got {len(subnets) if isinstance(subnets, list) else 0} for "
        f"{len(zones)} zones",
    )


def check_zone_of(faults: Faults, region: str, zone: str, at: str) -> None:
    """That a region has a zone, by name or id; of Local Zones nothing is recorded."""
    named = re.fullmatch(rf"{region}([a-z])", zone) or re.fullmatch(rf"{zone_ids_of(region)}-(az\d)", zone)
    if named:
        check_zone(faults, "aws", region, zone, at, short=named[1])


def check_region(faults: Faults, args: Mapping[str, object]) -> str:
    """The region, "" where it is none of AWS's; and that the range of an existing network is one of IPv4."""
    if "vpc_cidr" in args:
        try:
            ipaddress.IPv4Network(args["vpc_cidr"])
        except ValueError:
            faults.add("vpc_cidr", f"must be the VPC's IPv4 range, as 10.40.0.0/16, got {args['vpc_cidr']!r}")
    region = str(args.get("region", ""))
    right = faults.must(
        bool(_REGION.fullmatch(region)), "region", f"must be an AWS region such as us-east-1, got {region!r}"
    )
    right = right and check_known(faults, "aws", region, "AWS")
    check_references(faults, args, REFERENCES, region if right else "")
    for at in ("writer", "results"):
        store = args.get(at)
        if isinstance(store, Mapping):
            _check_store(faults, store, at)
    return region if right else ""


def _check_store(faults: Faults, store: Mapping[str, object], at: str) -> None:
    """The names of a store that stands already, where they are plain text; dots are allowed, others may have made it.

    Source: docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
    """
    bucket, alias = store.get("bucket"), store.get("key_alias")
    faults.must(
        not isinstance(bucket, str) or bool(_ANY_BUCKET.fullmatch(bucket) and ".." not in bucket),
        f"{at}.bucket",
        f"must be the name of a bucket (3 to 63 of a-z, 0-9, - and .), got {bucket!r}",
    )
    faults.must(
        not isinstance(alias, str) or bool(re.fullmatch(r"alias/[\w/-]+", alias)),
        f"{at}.key_alias",
        f"must be alias/NAME, got {alias!r}",
    )


def check_sold(faults: Faults, args: Mapping[str, Any], instance_type: str, *, mode: str = "") -> None:
    """That the region sells a machine type, and in the market `mode` ("": any) in each zone, as far as is known.

    The catalog knows all places of types that are sold as capacity blocks, which AWS lists region by region, and the
    zones that offer them, by id. What is reserved or bought already stands where it stands.
    """
    region, places = str(args.get("region")), places_of(instance_type)
    if (
        not places
        or region not in regions("aws")
        or mode == "reservation"
        or (args.get("capacity_block") or {}).get("id")
    ):
        return
    if region not in places:
        faults.add(
            "region",
            f"does not sell {instance_type}: {region}; those that do are {', '.join(sorted(places))}",
            fix="choose one of them, or another machine",
        )
        return
    markets_there, elsewhere = places[region], sorted(place for place, markets in places.items() if mode in markets)
    if (
        mode and mode not in markets_there and elsewhere
    ):  # where no region has it in this market, the type's own check says so
        faults.add(
            "capacity_mode",
            f"{instance_type} is not sold as {mode} in {region}, there as {', '.join(sorted(markets_there))}",
            fix=f"as {mode} it is in {', '.join(elsewhere)}",
        )
    known, offering = markets_there.get(mode), zones_with(instance_type, region)
    for number, zone in enumerate(args.get("zones") or []):
        if known and "-az" in str(zone) and zone not in known:
            fix = f"choose {' or '.join(sorted(known))}"
            faults.add(f"zones[{number}]", f"has no {instance_type} as {mode}: {zone}", fix=fix)
        elif offering and str(zone).startswith(f"{zone_ids_of(region)}-az") and zone not in offering:
            faults.add(  # a name is another zone in another account, and of Local Zones nothing is recorded
                f"zones[{number}]",
                f"does not offer {instance_type}, as far as is known: {zone}",
                fix=f"choose {' or '.join(offering)}, or state in catalog/zones.csv that {zone} has it",
            )


def check_capacity(faults: Faults, args: MachineGroupArgs, shape: Shape) -> None:
    """Exactly one way to get machines, with what that way needs and nothing of the others."""
    if not faults.one_of(args, "capacity_mode", CAPACITY_MODES):
        return
    mode = args["capacity_mode"]
    reservation, block, fallbacks = args.get("reservation"), args.get("capacity_block"), args.get("fallback_types")
    if mode == "reservation":
        faults.must(
            bool(_RESERVATION.fullmatch(str(reservation or ""))),
            "reservation",
            f"must be a capacity reservation (cr-0123456789abcdef0) or resource group ARN, got {reservation!r}",
        )
    else:
        check_no_other_way(faults, args, "reservation")
    if mode == "capacity-block":
        _check_block(faults, args, block or {})
    else:
        check_no_other_way(faults, args, "capacity_block")
    faults.must(
        not fallbacks or mode == "spot",
        "fallback_types",
        f"are only for spot pools, capacity_mode is {mode}",
        fix="remove them; all machines of a job are of one type",
    )
    if mode == "spot":
        _check_fallbacks(faults, args, shape)
    check_market(faults, args, "instance_type", shape)
    if mode == "spot" and fallbacks and args.get("gang") and shape.fabric == "efa":
        faults.add(
            "fallback_types",
            "cannot mix machine types in one job with EFA: network cards differ by type",
            fix="drop fallback_types, or split the job",
        )


def check_rack(faults: Faults, shape: Shape) -> None:
    """Machines of an NVLink rack are sold as a whole rack, and their network cards are of two kinds."""
    faults.must(
        "rack" not in shape.traits,
        "instance_type",
        (
            f"{shape.instance_type} is a machine of an NVLink rack (UltraServer): its 17 network cards are of two "
            "kinds, and it needs NVIDIA's driver for dynamic resource allocation, which this component does not install"
        ),
        fix="choose p6-b200.48xlarge or p6-b300.48xlarge",
    )
    faults.must(
        shape.runtime in instances.IMAGES,
        "instance_type",
        f"{shape.instance_type} needs a driver that is in no image of this component ({shape.runtime})",
        fix="choose a type with NVIDIA's GPUs, Trainium or Inferentia",
    )


def check_once(faults: Faults, at: str, listed: object, *, because: str) -> None:
    """That no plain string stands twice in a list; outputs are known when they are there."""
    known = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    twice = sorted({each for each in known if known.count(each) > 1})
    faults.must(not twice, at, f"names one twice: {', '.join(twice)}; {because}")


def _check_block(faults: Faults, args: MachineGroupArgs, block: Mapping[str, object]) -> None:
    check_block_window(faults, block)
    faults.must(
        args.get("nodes_min") == 0,
        "nodes_min",
        f"must be 0 with a capacity block, got {args.get('nodes_min')!r}: machines cannot start outside its window",
    )
    if block.get("id"):
        faults.must(
            bool(re.fullmatch(r"cr-[0-9a-f]{8,17}", str(block["id"]))),
            "capacity_block.id",
            f"must be a capacity reservation id (cr-0123456789abcdef0), got {block['id']!r}",
        )
        return
    faults.must(
        block.get("purchase") == "confirmed",
        "capacity_block.purchase",
        f"must be confirmed, got {block.get('purchase', 'nothing')!r}: a block is paid upfront and not refundable",
        fix="adopt a bought block by id, or set purchase: confirmed with max_price in the spec",
    )
    price = block.get("max_price_usd")
    faults.must(
        isinstance(price, int | float) and price > 0,
        "capacity_block.max_price_usd",
        f"must be over 0, got {price!r}: a purchase needs a price limit",
    )
    hours = block.get("duration_hours")
    faults.must(
        isinstance(hours, int)
        and not isinstance(hours, bool)
        and 24 <= hours <= 4368
        and hours % 24 == 0
        and (hours <= 336 or hours % 168 == 0),
        "capacity_block.duration_hours",
        f"must be whole days up to 14 (24 to 336), or whole weeks up to 26, got {hours!r}",
    )


def check_image(faults: Faults, args: Mapping[str, Any], shape: Shape | None = None) -> None:
    image = args.get("image")
    if image is None:
        return
    faults.must(
        bool(re.fullmatch(r"ami-[0-9a-f]{8,17}|resolve:ssm:/?[\w./-]+(:\d+)?", image)),
        "image",
        f"must be an AMI id or resolve:ssm:PARAMETER, got {image!r}",
    )
    row = system_of(str(image), load())
    if row is not None and row.gone:
        image_of = instances.image_for(shape) if shape is not None and shape.runtime in DRIVERS else ""
        fix = f"take {image_of or 'an image of Amazon Linux 2023 or Ubuntu 24.04'}"
        faults.add("image", f"is {title(row)}, whose support ended on {row.supported_until}: {image}", fix=fix)
    if shape is None:
        return
    kind = image_kind("aws", str(image))
    if kind is not None and kind.lacks(shape.runtime) and not args.get("start_script"):
        message = f"has no driver for the {shape.accelerator} of {shape.instance_type}: {image}"
        own = instances.image_for(shape)
        faults.add("image", message, fix=f"take {own}, or install the driver by start_script")
    if kind is not None and shape.runtime == "cuda" and not args.get("start_script"):
        why = foreign(kind, shape.accelerator, find_family(shape), load())
        faults.must(not why, "image", f"does not drive {shape.instance_type}: {why}: {image}", fix=SUCH_A_DRIVER)
    processors = {"arm64": "arm64|aarch64", "x86_64": "x86_64|amd64"}
    other = next(words for kind, words in processors.items() if kind != shape.architecture)
    found = re.search(other, str(image))
    faults.must(
        not str(image).startswith("resolve:ssm:") or found is None,
        "image",
        f"is for other processors ({found[0] if found else ''}) than {shape.instance_type} has ({shape.architecture})",
    )
    framework = re.search(r"pytorch-(\d+\.\d+)", str(image))
    row = load().release("system", "dlami/pytorch", framework[1]) if framework else None
    if row is not None and shape.runtime == "cuda":
        needed = load().driver_range(shape.accelerator, find_family(shape))
        verdict = cuda_for(needed, None, row.cuda, shape.accelerator)
        faults.must(verdict.state != "bad", "image", f"{verdict.reason}: {image}", fix="take a newer image")


def check_script(faults: Faults, args: Mapping[str, Any]) -> None:
    """First-boot commands: short enough for a document, and no secrets, which everyone on the machine could read."""
    script = args.get("start_script", "")
    faults.must(
        not SECRET.search(script),
        "start_script",
        "contains what looks like a secret; user data is readable by everyone on the machine",
        fix="read it from Secrets Manager with the machine's role",
    )
    size = len(json.dumps(script))
    faults.must(
        size <= SCRIPT_BYTES, "start_script", f"is {size:,} bytes as JSON; a document holds up to {SCRIPT_BYTES:,}"
    )
    faults.must(
        "{{" not in script,
        "start_script",
        "contains {{, which is a parameter in a Systems Manager document",
        fix="put it into a file of the image",
    )
