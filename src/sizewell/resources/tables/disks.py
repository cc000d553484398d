"""What a disk's provisioned IOPS and throughput cost, beside its gigabytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from sizewell import csvtables
from sizewell.resources.context import Context
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import number
from sizewell.sizing.billing.charges import Charge
from sizewell.sizing.billing.costing import gigabyte_months
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

Measure = Literal["IOPS", "MB/s"]
ALWAYS: Final = (Interval.exactly(HOURS_PER_MONTH), "")  # hours of a disk that stands by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPerformance:
    """A row of disk_performance.csv: what a kind of disk bills of what is provisioned above `included`."""

    disk: str  # as its fee by the gigabyte begins
    measure: Measure
    included: int
    fee: str
    unit: str
    source: str


ROWS: Final = csvtables.read(DiskPerformance, Path(__file__).parent / "data/disk_performance.csv")


def performance(
    resource: RecordedResource,
    context: Context,
    *,
    disk: str,
    iops: Any,
    throughput: Any,
    hours: tuple[Interval, str] | None = ALWAYS,
    what: str = "disk",
) -> list[LineItem]:
    """A line for each measure of which more is provisioned than the gigabytes pay for.

    `hours` are those of the machines that the disks live with; None where their number is unlimited. Nothing is
    stated: what the service then provisions is within what is included, except where nothing is.
    """
    lines: list[LineItem] = []
    for row in (row for row in ROWS if row.disk == disk):
        stated = number(iops if row.measure == "IOPS" else throughput)
        words = f"{what} {row.measure}" + (f" over {row.included}" if row.included else "")
        if isinstance(stated, Unknown):
            lines.append(context.unpriced(resource, words, "known only after deployment"))
        elif stated is None:
            if not row.included:
                lines.append(context.unpriced(resource, words, f"no {row.measure} are stated; all of them are billed"))
        elif hours is None:
            lines.append(context.unpriced(resource, words, "the number of machines is unlimited"))
        elif stated > row.included:
            charge = Charge(
                component=context.graph.component(resource),
                what=words,
                fee=row.fee,
                beyond=row.included,
                unit=row.unit,
                quantity=gigabyte_months(stated - row.included, hours[0]),
                confidence=hours[1],
            )
            lines.append(context.line(resource, charge))
    return lines
