"""What Azure components refuse, each with its sentence; all faults of one component are raised together."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from sizewell.components.access import is_private
from sizewell.components.azure.args import CheckpointStoreArgs, GpuScaleSetArgs, NetworkArgs
from sizewell.components.azure.scale_sets import POD_CIDR, PRIVATE_ZONES, SERVICE_CIDR, WINDOWS_ZONES
from sizewell.components.faults import (
    Faults,
    check_lasting,
    check_machines,
    check_market,
    check_no_other_way,
    check_offered,
    check_versions,
)
from sizewell.components.limits import check_emails
from sizewell.components.lustre import check_mounts
from sizewell.components.machines import offered_elsewhere, undriven_plain
from sizewell.components.places import Reference, check_known, check_references, check_zone
from sizewell.sizing.catalog import buildable
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.providers import CLOUDS

CAPACITY_MODES = ("on-demand", "spot", "reservation")
SECRET = re.compile(  # a value that is read from a variable is none
    r"-----BEGIN [A-Z ]*PRIVATE KEY|AccountKey=|(?i:password|client_secret|token)\s*=\s*[\"']?[^\s\"'$-]"
)
SCRIPT_BYTES = 60_000  # of the 65,535 of custom data (learn.microsoft.com/azure/virtual-machines/custom-data)
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RESERVATION = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+",
    re.IGNORECASE,
)
_IMAGE = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/(galleries/[^/]+/)?images/[^/]+"
    r"(/versions/[^/]+)?",
    re.IGNORECASE,
)


def _id(kind: str, what: str) -> Reference:
    """An id of Azure's, which says the group and not the region."""
    words = kind.split("/")
    path = "/".join((words[0], *(rf"{word}/[^/]+" for word in words[1:])))
    shown = "/".join((words[0], *(f"{word}/NAME" for word in words[1:])))
    return Reference(
        pattern=rf"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/{path}",
        allowed=f"the id of {what}, as /subscriptions/ID/resourceGroups/GROUP/providers/{shown}",
    )


_SUBNET = _id("Microsoft.Network/virtualNetworks/subnets", "a subnet")
REFERENCES = {
    "subnet_id": _SUBNET,
    "api_subnet_id": _SUBNET,
    "security_group_id": _id("Microsoft.Network/networkSecurityGroups", "a network security group"),
    "disk_encryption_set_id": _id("Microsoft.Compute/diskEncryptionSets", "a disk encryption set"),
    "private_dns_zone_id": _id("Microsoft.Network/privateDnsZones", "a private DNS zone"),
    "registries": _id("Microsoft.ContainerRegistry/registries", "a container registry"),
}
KEY = {
    "key_url": Reference(
        pattern=r"https://[\w-]+\.(vault|managedhsm)\.[\w.-]+/keys/[\w-]+/\w+",
        allowed="a key's URL with its version, as https://VAULT.vault.azure.net/keys/KEY/VERSION",
    ),
    "vault_id": _id("Microsoft.KeyVault/vaults", "a key vault"),
}
_AN_IMAGE = "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/galleries/GALLERY/images/NAME"
ONE_PLACEMENT_GROUP = CLOUDS.azure.machines.group_max or buildable.NODES_MAX  # most machines in it


def is_guid(value: object) -> bool:
    return bool(_GUID.fullmatch(str(value)))


def check_network(name: str, args: NetworkArgs) -> None:
    faults = Faults.of(name, args, NetworkArgs)
    check_region(faults, args)
    cidr = args.get("cidr", "10.120.0.0/16")
    try:
        network = ipaddress.IPv4Network(cidr)
        faults.must(
            is_private(network) and 8 <= network.prefixlen <= 20, "cidr", f"must be a private range to /20, got {cidr}"
        )
    except ValueError:
        faults.add("cidr", f"must be an IPv4 range such as 10.120.0.0/16, got {cidr!r}")
    else:
        for taken in (POD_CIDR, SERVICE_CIDR) if args.get("kubernetes") else ():
            message = f"overlaps {taken}, which AKS clusters give to pods and services: {cidr}"
            faults.must(not network.overlaps(ipaddress.IPv4Network(taken)), "cidr", message)
    for number, service in enumerate(args.get("private_services") or []):
        faults.must(
            service in PRIVATE_ZONES,
            f"private_services[{number}]",
            f"must be one of {', '.join(PRIVATE_ZONES)}, got {service!r}",
        )
    faults.done()


def check_pool(name: str, args: GpuScaleSetArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the size, None where the catalog does not know it."""
    faults = Faults.of(name, args, GpuScaleSetArgs)
    check_place(faults, args)
    counted = check_machines(
        faults, args, disk_gib=(64, 4095), disk="the OS disk holds the driver and the container image"
    )
    check_windows_zone(faults, args)
    if shape is None:
        faults.not_in_catalog("vm_size", args.get("vm_size"))
    else:
        elsewhere = offered_elsewhere("azure", shape.instance_type, args.get("region"))
        check_offered(faults, args, shape.instance_type, elsewhere)
        check_rack(faults, args, shape)
        undriven = "" if "image" in args or "rack" in shape.traits else undriven_plain(shape)
        faults.must(
            not undriven,
            "vm_size",
            f"is {shape.instance_type}: {undriven}",
            fix="set image (sizewell:images) to one of your own with that driver, or take an AksGpuPool",
        )
        check_capacity(faults, args, shape)
        if args.get("gang") and counted and args["nodes_max"] > 1:
            check_gang(faults, args, shape)
            faults.must(
                args.get("capacity_mode") != "reservation",
                "capacity_mode",
                "must not be reservation for machines of one job: Azure takes reserved machines only into scale sets "
                "without a single placement group, which is their InfiniBand partition "
                "(learn.microsoft.com/azure/virtual-machines/capacity-reservation-associate-virtual-machine-scale-set)",
                fix="use AKS (AksGpuPool takes the reservation), or another capacity_mode",
            )
    check_emails(faults, args, "notify")
    check_mounts(faults, args.get("mounts") or [], needs=("address",))
    image = args.get("image", _AN_IMAGE)
    faults.must(
        bool(_IMAGE.fullmatch(str(image))),
        "image",
        f"must be the id of an image, or of a version of one in a gallery, got {image!r}",
        fix=f"as {_AN_IMAGE}",
    )
    key = args.get("ssh_public_key", "ssh-ed25519 AAAA")
    faults.must(
        key.startswith(("ssh-ed25519 ", "ssh-rsa ")) and "PRIVATE" not in key,
        "ssh_public_key",
        "must be a public key in OpenSSH's form (ssh-ed25519 ... or ssh-rsa ...)",
    )
    faults.must(
        not SECRET.search(args.get("start_script", "")),
        "start_script",
        "contains what looks like a secret; custom data is readable by everyone on the machine",
        fix="read it from Key Vault with the machine's identity",
    )
    size = len(args.get("start_script", ""))
    faults.must(size <= SCRIPT_BYTES, "start_script", f"is {size:,} bytes; custom data allows {SCRIPT_BYTES:,}")
    faults.done()


def check_checkpoint_store(name: str, args: CheckpointStoreArgs) -> None:
    faults = Faults.of(name, args, CheckpointStoreArgs)
    check_lasting(faults, args)
    check_region(faults, args)
    faults.must(bool(_GUID.fullmatch(args.get("role", ""))), "role", f"must be a GUID, got {args.get('role')!r}")
    check_versions(faults, args, "immutable_days", because="an immutable version cannot expire")
    faults.done()


def check_place(faults: Faults, args: Mapping[str, object]) -> None:
    """The region, and that every zone is one of its three."""
    region = check_region(faults, args)
    zones = args.get("zones")
    if not isinstance(zones, list):
        faults.add("zones", "must be a list; empty for a regional scale set")
        return
    faults.must(len(set(zones)) == len(zones), "zones", f"names a zone twice: {', '.join(map(str, zones))}")
    for number, zone in enumerate(zones):
        at = f"zones[{number}]"
        if faults.must(zone in ("1", "2", "3"), at, f'must be "1", "2" or "3", got {zone!r}') and region:
            check_zone(faults, "azure", region, str(zone), at, short=str(zone))


def check_region(faults: Faults, args: Mapping[str, object]) -> str:
    """The region, "" where it is none of Azure's; and that what stands already is named as Azure names it."""
    region = str(args.get("region", ""))
    right = faults.must(
        bool(re.fullmatch(r"[a-z]+[a-z0-9]*", region)), "region", f"must be an Azure region as eastus, got {region!r}"
    ) and check_known(faults, "azure", region, "Azure")
    check_references(faults, args, REFERENCES, region)
    writer = args.get("writer")
    account = writer.get("account") if isinstance(writer, Mapping) else None
    faults.must(
        not isinstance(account, str) or re.fullmatch("[a-z0-9]{3,24}", account) is not None,
        "writer.account",
        f"must be the name of a storage account (3 to 24 of a-z and 0-9), got {account!r}",
    )
    for name in ("secrets_key", "key"):
        key = args.get(name)
        if isinstance(key, Mapping):
            check_references(faults, key, KEY, region, at=f"{name}.")
    return region if right else ""


def check_windows_zone(faults: Faults, args: Mapping[str, Any]) -> None:
    """Azure's schedules want Windows' names of time zones."""
    zone = (args.get("schedule") or {}).get("time_zone")
    if zone is not None:
        faults.must(
            zone in WINDOWS_ZONES,
            "schedule.time_zone",
            f"has no Windows time-zone name in Sizewell, which Azure requires: {zone!r}",
            fix="use a city in the same time zone, or add the pair to components/azure/scale_sets.py",
        )


def check_rack(faults: Faults, args: Mapping[str, object], shape: Shape) -> None:
    """Machines with GB200 or GB300 are Arm machines of one NVLink rack, which nothing here brings up."""
    faults.must(
        "rack" not in shape.traits,
        "vm_size",
        f"{args.get('vm_size')} is an Arm machine of an NVLink rack: it needs an image for Arm, NVIDIA's driver for "
        "dynamic resource allocation, and the feature AKSInfinibandSupport off",
        fix="choose an ND size with A100, H100, H200 or MI300X",
    )


def check_capacity(faults: Faults, args: Mapping[str, object], shape: Shape) -> None:
    """Exactly one way to get machines, with what that way needs and nothing of the others."""
    if not faults.one_of(args, "capacity_mode", CAPACITY_MODES):
        return
    mode, reservation = args["capacity_mode"], args.get("reservation")
    if mode == "reservation":
        check_reservation(faults, reservation, "reservation")
    else:
        check_no_other_way(faults, args, "reservation")
    check_market(faults, args, "vm_size", shape)


def check_reservation(faults: Faults, reservation: object, at: str) -> None:
    faults.must(
        bool(_RESERVATION.fullmatch(str(reservation or ""))),
        at,
        f"must be the id of a capacity reservation group, got {reservation!r}",
        fix="as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/capacityReservationGroups/NAME",
    )


def check_gang(faults: Faults, args: Mapping[str, Any], shape: Shape) -> None:
    """The machines of one job: one placement group is one InfiniBand partition."""
    faults.must(
        len(args.get("zones") or []) <= 1,
        "zones",
        f"must be one at most for machines of one job, got {len(args.get('zones') or [])}: "
        "InfiniBand does not cross zones",
    )
    faults.must(
        args["nodes_max"] <= ONE_PLACEMENT_GROUP,
        "nodes_max",
        f"must be at most {ONE_PLACEMENT_GROUP} for machines of one job, got {args['nodes_max']}: "
        "a placement group holds no more",
    )
    faults.must(
        shape.fabric == "infiniband",
        "vm_size",
        f"{args['vm_size']} has no InfiniBand; machines of one job need a size with r in its name",
        fix="choose an ND...r size, or one machine",
    )
