"""Which missing prices make a preview fail: an accelerator's, and those that its difference lacks, unless waived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sizewell.preview import records
from sizewell.preview.changes import Change
from sizewell.preview.describe import registration_of
from sizewell.resources.readers.common import is_accelerated_name
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.resources.values import cloud_of
from sizewell.sizing.money import LineItem, Unpriced

RULES: Final = ("unpriced-resource", "not-judged")  # whose waivers count
_SERVICES: Final = (  # that run accelerators, whether or not an input names a machine
    "aws:sagemaker/", "aws:bedrock/", "aws:ec2/capacityBlockReservation:",
    "gcp:vertex/", "gcp:tpu/", "gcp:notebooks/", "gcp:workbench/",
    "azure-native:machinelearningservices:",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What has no price on one side of a change; `plan` is None where there is no such side."""

    plan: Plan | None
    items: tuple[LineItem, ...] = ()
    elsewhere: frozenset[str] = frozenset()  # URNs: billed where the machines of their cluster are made
    names: Mapping[str, str] = field(default_factory=dict)  # of components that are called otherwise now

    def words(self) -> dict[str, LineItem]:
        """Each line in words, once."""
        return {
            f"{self.names.get(line.component, line.component)}: {line.what}: {line.price.reason}": line
            for line in self.items
            if isinstance(line.price, Unpriced)
        }


def failing_of(
    before: Lines,
    after: Lines,
    rows: Sequence[records.Row],
    changes: Mapping[str, Change],
    policies: records.PolicyReport | None,
) -> tuple[str, ...]:
    """Lines without a price that nobody accepted: all of them where nothing is compared, since nothing stood before.

    Where something is: those of accelerators, of what changes, and those that had a price or another reason before.
    What had none before is missing from the difference just as well, unless the change only takes away.
    """
    by_urn = after.plan.by_urn() if after.plan else {}
    waived = {each.resource for each in (policies.findings if policies else ()) if each.policy in RULES and each.waived}
    was, now = before.words(), after.words()
    cheaper = any(row.change < 0 or row.ceiling_change < 0 for row in rows)
    failing = []
    for words, line in now.items():
        if line.resource in waived or (line.resource and line.resource not in by_urn):  # the latter is still billed
            continue
        moves = words not in was or _matters(changes.get(line.resource))
        if line.resource in after.elsewhere:  # a bill of its own, unless what it replaces would be called a saving
            fails = before.plan is not None and cheaper and moves
        else:
            fails = before.plan is None or moves or _accelerates(by_urn.get(line.resource), by_urn)
        if fails:
            failing.append(words)
    if not all(row.sign == "-" for row in rows):
        gone = before.words().keys() - now.keys()
        failing += [
            f"before the change: {words}"
            for words, line in was.items()
            if words in gone and line.resource not in waived and line.resource not in before.elsewhere
        ]
    if before.plan is not None:  # a change between two bounds has no price either
        failing += [
            f"{row.component}: {row.what}: by a number that is not known yet"
            for row in rows
            if row.between is not None and not {line.resource for line in row.lines} & waived
        ]
    return tuple(failing)


def _matters(change: Change | None) -> bool:
    """Whether something changes that may move the bill of a resource: not how it is labelled, nor what it runs.

    >>> _matters(Change(urn="u", kind="update", differences=("tags.team: a -> b",)))
    False
    >>> _matters(Change(urn="u", kind="update", differences=("size: 8 -> 9",)))
    True
    """
    if change is None or change.kind == "delete":
        return False
    paths = (each.partition(": ")[0].split(".") for each in change.differences)
    return change.kind != "update" or not all(_INERT.intersection(path) for path in paths)


_INERT: Final = frozenset(
    (
        "tags",
        "labels",
        "annotations",
        "description",
        "image",
        "env",
        "command",
        "args",
        "readinessProbe",
        "livenessProbe",
    )
)


def _accelerates(resource: RecordedResource | None, by_urn: Mapping[str, RecordedResource]) -> bool:
    """Whether a resource has accelerators, or a service that may: by its type, what it registers, its machine types."""
    if resource is None or resource.type.startswith(_SERVICES):
        return True
    registered = registration_of(resource.urn, by_urn)
    if registered is not None and registered.get("accelerator"):
        return True
    cloud = cloud_of(resource.type)
    return any(is_accelerated_name(cloud, text) for text in _texts(resource.inputs))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if len(value) < 64 else []
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _texts(part)]
    return [text for part in value for text in _texts(part)] if isinstance(value, list | tuple) else []
