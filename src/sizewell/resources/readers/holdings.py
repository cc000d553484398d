"""What is bought or stands by itself: capacity purchases, disks, file systems."""

from __future__ import annotations

from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers.services import Reader, read
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Disk, Purchase
from sizewell.resources.values import Flag, either, flag, get, items, text


def purchases(graph: Graph) -> tuple[Purchase, ...]:
    return read(
        graph,
        {
            "aws:ec2/capacityBlockReservation:CapacityBlockReservation": _capacity_block,
            "aws:ec2/capacityReservation:CapacityReservation": _reservation,
            "gcp:compute/reservation:Reservation": _reservation,
            "gcp:compute/futureReservation:FutureReservation": _reservation,
            "azure-native:compute:CapacityReservation": _reservation,
            "azure-native:cognitiveservices:Deployment": _throughput,
        },
        Purchase,
    )


def disks(graph: Graph) -> tuple[Disk, ...]:
    return read(graph, _DISKS, Disk)


def _capacity_block(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    """Confirmed by the component that buys it, or by tags where there is none."""
    tags = resource.inputs.get("tags")
    owners = [resource, *graph.ancestors(resource)]
    block = next((b for o in owners if (b := o.inputs.get("capacityBlock")) is not None), None)
    said = get(block, "purchase", default=get(tags, "sizewell-purchase"))
    price = get(block, "maxPriceUsd", default=get(tags, "sizewell-max-price-usd"))
    start = get(block, "start", default=get(tags, "sizewell-start", default=resource.inputs.get("startDate")))
    return {
        "refundable": False,
        "confirmed": UNKNOWN if said is UNKNOWN else str(said).lower() == "confirmed",
        "price_stated": UNKNOWN if price is UNKNOWN else price is not None,
        "date_stated": UNKNOWN if start is UNKNOWN else start is not None,
    }


def _reservation(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    """Bills from its creation until it is deleted: refundable, but not free of a decision."""
    details = _capacity_block(graph, resource)
    end = next(
        (resource.inputs[key] for key in ("endDate", "deleteAtTime", "deleteAfterDuration") if key in resource.inputs),
        None,
    )
    limited: Flag = UNKNOWN if end is UNKNOWN else end is not None
    return {**(details or {}), "refundable": True, "date_stated": either((details or {})["date_stated"], limited)}


def _throughput(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    """Provisioned throughput of a model bills by the hour, used or not; other deployments bill by token."""
    kind = text(get(resource.inputs, "sku", "name"))
    if isinstance(kind, Unknown):
        return {"confirmed": UNKNOWN, "price_stated": UNKNOWN, "date_stated": UNKNOWN}
    if "provisioned" not in kind.lower():
        return None
    details = {**(_capacity_block(graph, resource) or {}), "refundable": True}  # deleted, it is billed no more
    owners = [items(owner.inputs.get("deployments")) for owner in graph.ancestors(resource)]
    name = resource.inputs.get("deploymentName")
    for entry in (entry for listed in owners if isinstance(listed, tuple) for entry in listed):
        if name is not UNKNOWN and get(entry, "name") == name:
            said, price, end = (get(entry, key) for key in ("purchase", "maxPriceUsd", "ends"))
            details["confirmed"] = UNKNOWN if said is UNKNOWN else str(said).lower() == "confirmed"
            details["price_stated"] = UNKNOWN if price is UNKNOWN else price is not None
            details["date_stated"] = UNKNOWN if end is UNKNOWN else end is not None
    return details


def _volume(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    inputs = resource.inputs
    attachments = graph.referring(resource, "aws:ec2/volumeAttachment:VolumeAttachment", "volumeId")
    return {
        "encrypted": flag(inputs.get("encrypted")),
        "own_key": inputs.get("kmsKeyId") is not None,
        "attached": UNKNOWN if isinstance(attachments, Unknown) else bool(attachments),
        "zone": text(inputs.get("availabilityZone")),
    }


def _gcp_disk(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    attached = either(
        *(
            UNKNOWN if isinstance(users, Unknown) else bool(users)
            for users in (
                graph.referring(resource, "gcp:compute/attachedDisk:AttachedDisk", "disk"),
                graph.referring(resource, "gcp:compute/instance:Instance", "attachedDisks"),
                graph.referring(resource, "gcp:compute/instance:Instance", "bootDisk"),
            )
        )
    )
    key = resource.inputs.get("diskEncryptionKey")
    return {
        "encrypted": True,
        "own_key": key is not None,
        "attached": attached,
        "zone": text(resource.inputs.get("zone")),
    }


def _azure_disk(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    machines = graph.referring(resource, "azure-native:compute:VirtualMachine", "storageProfile")
    key = get(resource.inputs, "encryption", "diskEncryptionSetId")
    return {
        "encrypted": True,
        "own_key": key is not None,
        "attached": UNKNOWN if isinstance(machines, Unknown) else bool(machines),
    }


def _file_system(key: str, *, by_default: bool) -> Reader:
    def read(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
        stated = get(resource.inputs, *key.split("."))
        own = stated is not None
        encrypted = by_default or own or flag(resource.inputs.get("encrypted"))
        zone = text(resource.inputs.get("zone", resource.inputs.get("location")))
        del graph
        return {"kind": "file-system", "encrypted": encrypted, "own_key": own, "attached": True, "zone": zone}

    return read


_DISKS: Final[dict[str, Reader]] = {
    "aws:ebs/volume:Volume": _volume,
    "gcp:compute/disk:Disk": _gcp_disk,
    "azure-native:compute:Disk": _azure_disk,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _file_system("kmsKeyId", by_default=True),
    "aws:efs/fileSystem:FileSystem": _file_system("kmsKeyId", by_default=False),
    "gcp:filestore/instance:Instance": _file_system("kmsKeyName", by_default=True),
    "gcp:lustre/instance:Instance": _file_system("kmsKey", by_default=True),
    "azure-native:storagecache:AmlFilesystem": _file_system("encryptionSettings.keyEncryptionKey", by_default=True),
}
