"""The price tables: type token -> pure function, one table per cloud, and the types that are free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.resources import commitments
from sizewell.resources.context import Pricer
from sizewell.resources.kinds import OF_KUBERNETES
from sizewell.resources.tables import (
    adopted,
    aws_compute,
    aws_managed,
    aws_storage,
    azure_compute,
    azure_managed,
    azure_other,
    caches,
    cosmos,
    data_clusters,
    databases,
    gaps,
    gcp_compute,
    gcp_managed,
    gcp_other,
    sized,
)
from sizewell.resources.tables.free import FREE, NOT_CLOUD, free_reason
from sizewell.resources.tables.kubernetes import behind
from sizewell.sizing.providers.cloud import PerCloud

Tables = tuple[Mapping[str, Pricer], ...]
TABLES: Final = PerCloud[Tables](
    aws=(
        aws_compute.TABLE,
        aws_storage.TABLE,
        aws_managed.TABLE,
        databases.AWS,
        caches.AWS,
        data_clusters.AWS,
        sized.AWS,
        commitments.AWS,
    ),
    gcp=(
        gcp_compute.TABLE,
        gcp_other.TABLE,
        gcp_managed.TABLE,
        databases.GCP,
        caches.GCP,
        data_clusters.GCP,
        sized.GCP,
    ),
    azure=(
        azure_compute.TABLE,
        azure_managed.TABLE,
        azure_other.TABLE,
        databases.AZURE,
        caches.AZURE,
        cosmos.TABLE,
        data_clusters.AZURE,
        sized.AZURE,
        commitments.AZURE,
    ),
)
PRICERS: Final[Mapping[str, Pricer]] = {
    **gaps.TABLE,
    **adopted.TABLE,
    **{kind: pricer for tables in TABLES.values() for table in tables for kind, pricer in table.items()},
}


def pricer_of(kind: str) -> Pricer | None:
    """What prices resources of a canonical type, None where no table does."""
    return PRICERS.get(kind) or (behind if kind.startswith(OF_KUBERNETES) else None)


__all__ = ["FREE", "NOT_CLOUD", "PRICERS", "free_reason", "pricer_of"]
