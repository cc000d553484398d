"""What is bought or stands by itself: capacity purchases, disks, file systems."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from sizewell.resources.expiry import Expiry
from sizewell.resources.graph import Graph
from sizewell.resources.readers.cloud import Reader
from sizewell.resources.readers.common import tags_of
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Flag, count, either, flag, get, items, text


def capacity_block(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
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


def reservation(graph: Graph, resource: RecordedResource) -> dict[str, Any] | None:
    """Bills from its creation until it is deleted: refundable, but not free of a decision."""
    details = capacity_block(graph, resource)
    inputs, expiries = resource.inputs, graph.expiries.of_reserved()
    end = next((inputs[key] for key in ("endDate", "deleteAtTime") if key in inputs), None)
    if end is None and (length := get(inputs, "deleteAfterDuration")) is not None:
        end = _after(get(length, "seconds"), expiries.on)
    limited: Flag = UNKNOWN if end is UNKNOWN else end is not None
    return {
        **(details or {}),
        "refundable": True,
        "date_stated": either((details or {})["date_stated"], limited),
        "ends": expiries.of(graph.registration(resource), tags_of(resource)) if end is None else expiries.judged(end),
    }


def _after(seconds: object, on: date | None) -> object:
    """The day on which something ends that lives for so long."""
    length = count(seconds)
    if not isinstance(length, int) or on is None:
        return UNKNOWN
    return (on + timedelta(days=1 + length // 86_400)).isoformat()


def throughput(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    """Provisioned throughput of a model bills by the hour, used or not; other deployments bill by token."""
    kind = text(get(resource.inputs, "sku", "name"))
    if isinstance(kind, Unknown):
        ends = Expiry(stated=UNKNOWN, counts=UNKNOWN)
        return dict.fromkeys(("confirmed", "price_stated", "date_stated"), UNKNOWN) | {"refundable": True, "ends": ends}
    if "provisioned" not in kind.lower():
        return None
    details = {**(capacity_block(graph, resource) or {}), "refundable": True}  # deleted, it is billed no more
    expiries = graph.expiries.of_reserved()
    details["ends"] = expiries.of(graph.registration(resource), tags_of(resource))
    owners = [items(owner.inputs.get("deployments")) for owner in graph.ancestors(resource)]
    name = resource.inputs.get("deploymentName")
    for entry in (entry for listed in owners if isinstance(listed, tuple) for entry in listed):
        if name is not UNKNOWN and get(entry, "name") == name:
            said, price, end = (get(entry, key) for key in ("purchase", "maxPriceUsd", "ends"))
            details["confirmed"] = UNKNOWN if said is UNKNOWN else str(said).lower() == "confirmed"
            details["price_stated"] = UNKNOWN if price is UNKNOWN else price is not None
            details["date_stated"] = UNKNOWN if end is UNKNOWN else end is not None
            if end is not None:  # the day until which it was bought: from then on the rules fail
                details["ends"] = expiries.judged(end)
    return details


def volume(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    inputs = resource.inputs
    attachments = graph.referring(resource, "aws:ec2/volumeAttachment:VolumeAttachment", "volumeId")
    return {
        "encrypted": flag(inputs.get("encrypted")),
        "own_key": inputs.get("kmsKeyId") is not None,
        "attached": UNKNOWN if isinstance(attachments, Unknown) else bool(attachments),
        "zone": text(inputs.get("availabilityZone")),
    }


def gcp_disk(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
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


def azure_disk(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
    machines = graph.referring(resource, "azure-native:compute:VirtualMachine", "storageProfile")
    key = get(resource.inputs, "encryption", "diskEncryptionSetId")
    return {
        "encrypted": True,
        "own_key": key is not None,
        "attached": UNKNOWN if isinstance(machines, Unknown) else bool(machines),
    }


def file_system(key: str, *, by_default: bool) -> Reader:
    def read(graph: Graph, resource: RecordedResource) -> dict[str, object] | None:
        stated = get(resource.inputs, *key.split("."))
        own = stated is not None
        encrypted = by_default or own or flag(resource.inputs.get("encrypted"))
        zone = text(resource.inputs.get("zone", resource.inputs.get("location")))
        del graph
        return {"kind": "file-system", "encrypted": encrypted, "own_key": own, "attached": True, "zone": zone}

    return read
