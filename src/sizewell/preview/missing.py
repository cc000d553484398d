"""Which missing prices make a preview fail: an accelerator's, and that of whatever the change adds, unless waived."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def failing_of(
    before: Plan | None,
    after: Plan,
    items: Iterable[LineItem],
    changes: Mapping[str, Change],
    policies: records.PolicyReport | None,
) -> tuple[str, ...]:
    """Lines without a price that nobody accepted: all of them where nothing is compared, since nothing stood before."""
    by_urn = after.by_urn()
    waived = {each.resource for each in (policies.findings if policies else ()) if each.policy in RULES and each.waived}
    return tuple(
        dict.fromkeys(
            f"{line.component}: {line.what}: {line.price.reason}"
            for line in items
            if isinstance(line.price, Unpriced)
            and line.resource not in waived
            and (before is None or _is_new(line.resource, changes) or _accelerates(by_urn.get(line.resource), by_urn))
        )
    )


def _is_new(urn: str, changes: Mapping[str, Change]) -> bool:
    return urn == "" or (urn in changes and changes[urn].kind == "create")


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
