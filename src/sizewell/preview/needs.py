"""What a person has to decide before a change is applied: data destroyed first, then the rest, then purchases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from sizewell.preview import records
from sizewell.preview.describe import label_of, registration_of
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.sizing.records.decision import CapacityBlock, Decision

# Types that hold data: the word for one, and the input that states its size in GiB.
DATA: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "aws:ebs/volume:Volume": ("volume", ("size",)),
    "aws:s3/bucket:Bucket": ("bucket", ()),
    "aws:s3/bucketV2:BucketV2": ("bucket", ()),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("file system", ("storageCapacity",)),
    "aws:fsx/openZfsFileSystem:OpenZfsFileSystem": ("file system", ("storageCapacity",)),
    "aws:fsx/ontapFileSystem:OntapFileSystem": ("file system", ("storageCapacity",)),
    "aws:efs/fileSystem:FileSystem": ("file system", ()),
    "aws:dynamodb/table:Table": ("table", ()),
    "aws:rds/instance:Instance": ("database", ("allocatedStorage",)),
    "aws:ecr/repository:Repository": ("image repository", ()),
    "gcp:storage/bucket:Bucket": ("bucket", ()),
    "gcp:compute/disk:Disk": ("disk", ("size",)),
    "gcp:compute/regionDisk:RegionDisk": ("disk", ("size",)),
    "gcp:filestore/instance:Instance": ("file system", ("fileShares.capacityGb",)),
    "gcp:lustre/instance:Instance": ("file system", ("capacityGib",)),
    "gcp:parallelstore/instance:Instance": ("file system", ("capacityGib",)),
    "azure-native:storage:StorageAccount": ("storage account", ()),
    "azure-native:storage:BlobContainer": ("blob container", ()),
    "azure-native:storage:FileShare": ("file share", ("shareQuota",)),
    "azure-native:compute:Disk": ("disk", ("diskSizeGB",)),
    "azure-native:storagecache:AmlFilesystem": ("file system", ()),
    "azure-native:netapp:CapacityPoolVolume": ("file system", ()),
    "kubernetes:core/v1:PersistentVolumeClaim": ("volume claim", ()),
}

# Inputs that the cloud cannot change in place, for where no engine says what it will replace. The providers' schemas
# say it of every input, but their Python packages leave it out, so this holds what is common and what holds data.
FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    "aws:ebs/volume:Volume": ("availabilityZone", "encrypted", "kmsKeyId", "snapshotId"),
    "aws:s3/bucket:Bucket": ("bucket", "objectLockEnabled"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": ("deploymentType", "storageType", "subnetIds", "importPath"),
    "aws:efs/fileSystem:FileSystem": ("availabilityZoneName", "encrypted", "performanceMode"),
    "aws:autoscaling/group:Group": ("name",),
    "aws:ec2/fleet:Fleet": ("type", "validFrom", "validUntil", "spotOptions", "onDemandOptions"),
    "aws:eks/cluster:Cluster": ("name", "roleArn"),
    "aws:eks/nodeGroup:NodeGroup": (
        "nodeGroupName",
        "clusterName",
        "nodeRoleArn",
        "subnetIds",
        "instanceTypes",
        "amiType",
        "capacityType",
        "diskSize",
    ),
    "aws:ec2/instance:Instance": ("ami", "availabilityZone", "subnetId"),
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": ("capacityBlockOfferingId", "instancePlatform"),
    "gcp:storage/bucket:Bucket": ("name", "location", "project"),
    "gcp:compute/disk:Disk": ("name", "zone", "type"),
    "gcp:compute/instance:Instance": ("name", "zone", "bootDisk"),
    "gcp:filestore/instance:Instance": ("name", "location", "zone", "tier"),
    "gcp:lustre/instance:Instance": ("instanceId", "location", "filesystem"),
    "gcp:container/cluster:Cluster": ("name", "location", "enableAutopilot"),
    "gcp:container/nodePool:NodePool": ("name", "cluster", "location", "placementPolicy"),
    "gcp:tpu/v2Vm:V2Vm": ("name", "zone", "acceleratorType", "runtimeVersion"),
    "azure-native:compute:VirtualMachineScaleSet": ("vmScaleSetName", "location", "resourceGroupName"),
    "azure-native:storage:StorageAccount": ("accountName", "location", "resourceGroupName"),
    "azure-native:compute:Disk": ("diskName", "location", "zones"),
    "azure-native:containerservice:ManagedCluster": ("resourceName", "location", "dnsPrefix"),
}

_STACK: Final = "pulumi:pulumi:Stack"


def needs_of(
    before: Plan | None,
    after: Plan,
    rows: Sequence[records.Row],
    *,
    replaced: frozenset[str] | None = None,
    decision: Decision | None = None,
) -> tuple[records.Need, ...]:
    """Destroyed, replaced, kept, purchased: one entry per component and kind.

    `replaced` is what the engine will replace; None where no engine was asked, and "may" is all that can be said.
    """
    needs: list[records.Need] = []
    if before is not None:
        needs += _gone(before, after, billed={row.component for row in rows})
        needs += _replaced(before, after, replaced)
    needs += _purchases(rows, decision)
    order = ("destroys", "replaces", "keeps", "purchases")
    return tuple(sorted(needs, key=lambda need: (not need.data, order.index(need.kind), need.component)))


def _gone(before: Plan, after: Plan, billed: set[str]) -> Iterable[records.Need]:
    """What leaves the stack. A resource that is free, holds nothing and stands alone is no decision."""
    old, new = before.by_urn(), after.by_urn()
    still = set(new).union(*(resource.aliases for resource in after.resources))
    removed: dict[str, list[RecordedResource]] = {}
    for resource in before.resources:
        if resource.urn not in still and resource.custom and not resource.type.startswith("pulumi:"):
            removed.setdefault(label_of(resource, old), []).append(resource)
    labels = {label_of(resource, new) for resource in after.resources if resource.type != _STACK}
    for label, resources in removed.items():
        kept = [each for each in resources if each.protect or each.retain_on_delete]
        gone = [each for each in resources if not (each.protect or each.retain_on_delete)]
        ours = any(registration_of(each.urn, old) for each in gone)
        if gone and (ours or label in billed or any(each.type in DATA for each in gone)):
            machines = _machines(gone, old) if label not in labels else ""
            subject = "is destroyed" if label not in labels else f"loses {_count(len(gone), 'resource')}"
            data = _data_in_words(gone)
            parts = [text for text in (machines, data) if text]
            if label not in labels:
                parts.append(f"{_count(len(gone), 'resource')} in all")
            yield records.Need(
                kind="destroys",
                component=label,
                text=f"{subject}: {', '.join(parts)}" if parts else subject,
                brief=f"deletes {data or machines or _count(len(gone), 'resource')}",
                resources=tuple(each.urn for each in gone),
                data=any(each.type in DATA for each in gone),
            )
        for resource in kept:
            word = DATA.get(resource.type, ("resource", ()))[0]
            why = (
                "is kept (retain on delete): it leaves the stack, stays in the cloud and keeps billing"
                if resource.retain_on_delete
                else "is kept (protect): pulumi up stops until it is unprotected or put back"
            )
            yield records.Need(
                kind="keeps",
                component=label,
                text=f"{word} {resource.name} {why}",
                brief=f"keeps a {word}",
                resources=(resource.urn,),
            )


def _replaced(before: Plan, after: Plan, replaced: frozenset[str] | None) -> Iterable[records.Need]:
    old, new = before.by_urn(), after.by_urn()
    verb, gone = ("may replace", "would be deleted") if replaced is None else ("replaces", "is deleted")
    grouped: dict[str, list[tuple[RecordedResource, str]]] = {}
    for urn, resource in new.items():
        earlier = old.get(urn)
        if earlier is None or not resource.custom:
            continue
        changed = _fixed_that_differ(earlier, resource) if replaced is None else []
        if changed or (replaced is not None and urn in replaced):
            grouped.setdefault(label_of(resource, new), []).append((earlier, ", ".join(changed)))
    for label, pairs in grouped.items():
        resources = [resource for resource, _ in pairs]
        words = [f"{resource.name} ({why} changed)" if why else resource.name for resource, why in pairs[:3]]
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        data = _data_in_words(resources)
        yield records.Need(
            kind="replaces",
            component=label,
            text=f"{verb} {', '.join(words)}{more}" + (f": {data} with what is in it {gone}" if data else ""),
            brief=f"{verb} {data or _count(len(pairs), 'resource')}",
            resources=tuple(resource.urn for resource in resources),
            data=bool(data),
        )


def changes_of(before: Plan | None, after: Plan, replaced: frozenset[str] | None = None) -> dict[str, str]:
    """URN -> create, update, replace or delete, of each resource that does not stay as it is; {} without a before.

    `replaced` are those of which the engine says so; None: no engine was asked, and inputs that a cloud cannot change
    in place tell.
    """
    if before is None:
        return {}
    old, new = before.by_urn(), after.by_urn()
    renamed = {alias: urn for urn, resource in new.items() for alias in resource.aliases if alias not in new}
    changes = {urn: "delete" for urn in old if urn not in new and urn not in renamed}
    earlier = {**old, **{renamed[urn]: resource for urn, resource in old.items() if urn in renamed}}
    for urn, resource in new.items():
        was = earlier.get(urn)
        known = None if replaced is None else urn in replaced
        if known or (known is None and was is not None and _fixed_that_differ(was, resource)):
            changes[urn] = "replace"
        elif was is None:
            changes[urn] = "create"
        elif was.inputs != resource.inputs:
            changes[urn] = "update"
    return changes


def _fixed_that_differ(earlier: RecordedResource, later: RecordedResource) -> list[str]:
    """Inputs that the cloud cannot change in place and that have another value now."""
    return [
        key for key in FIXED.get(later.type, ())
        if key in earlier.inputs and key in later.inputs and key not in later.ignore_changes
        and _differs(earlier.inputs[key], later.inputs[key])
    ]  # fmt: skip


def _differs(earlier: Any, later: Any) -> bool:
    """Whether two known values differ; an unknown one is no evidence."""
    known = (str, int, float, bool, list, dict)
    return isinstance(earlier, known) and isinstance(later, known) and repr(earlier) != repr(later) and earlier != later


def _purchases(rows: Sequence[records.Row], decision: Decision | None) -> Iterable[records.Need]:
    for row in rows:
        if row.once.ceiling <= 0:
            continue
        block = _block(decision, row.component)
        confirmed = ""
        if block is not None and block.purchase == "confirmed":
            confirmed = "confirmed in the spec"
            if block.max_price_usd is not None:
                confirmed += f", at most {block.max_price_usd:,} USD"
        what = next((line.what for line in row.lines if line.cadence == "once"), row.what)
        yield records.Need(
            kind="purchases",
            component=row.component,
            text=f"purchases {what}",
            brief="buys capacity",
            resources=tuple(line.resource for line in row.lines if line.cadence == "once" and line.resource),
            usd_once=row.once,
            confirmed=confirmed,
        )


def _block(decision: Decision | None, component: str) -> CapacityBlock | None:
    for workload in decision.workloads if decision else ():
        if workload.spec.name == component:
            for pool in workload.pools:
                if pool.capacity.block is not None:
                    return pool.capacity.block
    return None


def _machines(resources: Sequence[RecordedResource], by_urn: Mapping[str, RecordedResource]) -> str:
    for resource in resources:
        stated = registration_of(resource.urn, by_urn) or {}
        if stated.get("kind") == "pool" and isinstance(stated.get("nodesMax"), int):
            return f"up to {_count(stated['nodesMax'], 'machine')} ({stated.get('instanceType', '?')})"
    return ""


def _data_in_words(resources: Sequence[RecordedResource]) -> str:
    counts: dict[str, int] = {}
    gib = Decimal(0)
    for resource in resources:
        if resource.type not in DATA:
            continue
        word, keys = DATA[resource.type]
        counts[word] = counts.get(word, 0) + 1
        for key in keys:
            size = _at(resource.inputs, key)
            if isinstance(size, int | float):
                gib += Decimal(str(size))
    words = ", ".join(_count(count, word) for word, count in counts.items())
    return f"{words} ({gib:,f} GiB)" if words and gib else words


def _at(inputs: Mapping[str, Any], path: str) -> Any:
    value: Any = inputs
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, list) and value:
            value = value[0]
    return value


def _count(number: int, word: str) -> str:
    return (
        f"{number} {word}"
        if number == 1
        else f"{number} {word.removesuffix('y') + 'ies' if word.endswith('y') else word + 's'}"
    )
