"""What the names of database machines say: cores and memory on Cloud SQL, series and cores on Azure."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple


class AzureSize(NamedTuple):
    """A size of a flexible server, as `Standard_D4ds_v4` says it."""

    series: str  # D
    cores: int
    features: str  # ds
    version: str  # v4, or ""


def cloud_sql_shape(tier: str) -> tuple[Decimal, Decimal] | None:
    """Cores and GiB of a tier that is billed by them (infracost's sql_database_instance.go has the same ratios).

    >>> cloud_sql_shape("db-custom-4-15360"), cloud_sql_shape("db-n1-highmem-2")
    ((Decimal('4'), Decimal('15')), (Decimal('2'), Decimal('13.0')))
    """
    if custom := re.fullmatch(r"db-custom-(\d+)-(\d+)", tier):
        return Decimal(custom[1]), Decimal(custom[2]) / 1024
    if named := re.fullmatch(r"db-n1-(standard|highmem)-(\d+)", tier):
        cores = Decimal(named[2])
        return cores, cores * (Decimal("3.75") if named[1] == "standard" else Decimal("6.5"))
    return None


def azure_size(name: str) -> AzureSize | None:
    """What a size of Azure's flexible servers says; None where it has another form.

    >>> azure_size("Standard_D4ds_v4")
    AzureSize(series='D', cores=4, features='ds', version='v4')
    """
    parts = re.fullmatch(r"Standard_([A-Z]+)(\d+)([a-z]*)(?:_(v\d+))?", name)
    return AzureSize(parts[1], int(parts[2]), parts[3], parts[4] or "") if parts else None
