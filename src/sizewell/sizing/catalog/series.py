"""Machine series: vCPUs and memory that a name of Google Cloud states, and units of size that a name of AWS states.

Reservations and commitments are to these, and a series has prices for types that the catalog has no shape of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from sizewell import csvtables

_LARGEST: Final = 512  # vCPUs of a machine; a longer number is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A row of series.csv: a kind of machines of Google Cloud, whose memory goes with the vCPUs."""

    begins: str  # how a machine type does, the number of vCPUs after it
    gib_per_vcpu: Decimal  # 0 where the vCPUs do not say it
    commitment: str  # the type of a resource-based commitment to it
    source: str


class Resources(NamedTuple):
    """What a machine has that is sold by itself."""

    vcpus: Decimal
    memory_gb: Decimal


@cache
def series() -> Mapping[str, Series]:
    """Every row, by how its machine types begin."""
    return {row.begins: row for row in csvtables.read(Series, Path(__file__).parent / "data/series.csv")}


def resources(machine_type: str) -> Resources | None:
    """The vCPUs and memory of a machine type of Google Cloud by its name; None for series that are not known.

    >>> resources("n2-highmem-4"), resources("e2-medium")
    (Resources(vcpus=Decimal('4'), memory_gb=Decimal('32')), None)
    >>> resources("n2-custom-4-10240").memory_gb
    Decimal('10')
    """
    begins, _, many = machine_type.rpartition("-")
    row = series().get(begins)
    if row is not None and row.gib_per_vcpu and many.isdigit() and int(many) <= _LARGEST:
        return Resources(Decimal(many), int(many) * row.gib_per_vcpu)
    custom = re.fullmatch(r"(?:([a-z]\w*)-)?custom-(\d+)-(\d+)(?:-ext)?", machine_type)
    if custom is not None and commitment_type(f"{custom[1] or 'n1'}-standard-{custom[2]}"):
        return Resources(Decimal(custom[2]), Decimal(custom[3]) / 1024)
    return None


def commitment_type(machine_type: str) -> str:
    """The type of a resource-based commitment that covers a machine type; "" for none that is known.

    >>> commitment_type("n1-standard-8"), commitment_type("c2d-highcpu-4"), commitment_type("m3-megamem-64")
    ('GENERAL_PURPOSE', 'COMPUTE_OPTIMIZED_C2D', '')
    """
    row = series().get(machine_type.rpartition("-")[0])
    return "" if row is None else row.commitment


def committed_machines(commitment: str) -> tuple[str, ...]:
    """Patterns of the machine types that a type of commitment is to; () for one that is not known.

    >>> committed_machines("GENERAL_PURPOSE_N2")
    ('n2-*',)
    >>> committed_machines("GENERAL_PURPOSE")
    ('n1-*', 'custom-*')
    """
    names = dict.fromkeys(row.begins.partition("-")[0] for row in series().values() if row.commitment == commitment)
    return tuple(
        pattern for name in names for pattern in ((f"{name}-*", "custom-*") if name == "n1" else (f"{name}-*",))
    )


# Source: docs.aws.amazon.com/whitepapers/latest/cost-optimization-reservation-models/
# maximizing-utilization-with-size-flexibility-in-regional-reserved-instances.html, read 2026-11-27.
_UNITS: Final = {
    "nano": Decimal("0.25"), "micro": Decimal("0.5"), "small": Decimal(1), "medium": Decimal(2), "large": Decimal(4),
    "xlarge": Decimal(8),
}  # fmt: skip


def size_units(instance_type: str) -> Decimal | None:
    """Units of size of a machine type of AWS, by which reservations of a region cover other sizes; None for no size.

    >>> [size_units(name) for name in ("t3.nano", "m5.large", "c7g.4xlarge", "m5.metal", "n2-standard-4")]
    [Decimal('0.25'), Decimal('4'), Decimal('32'), None, None]
    """
    size = instance_type.partition(".")[2]
    many = size.removesuffix("xlarge")
    return _UNITS.get(size) or (8 * Decimal(many) if many != size and many.isdigit() else None)
