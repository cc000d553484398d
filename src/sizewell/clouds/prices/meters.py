"""Under which names the sellers list what the catalog calls a fee: meters_<cloud>.csv, one row for each.

AWS: service code, product family, the usage type without its region. Azure: service, product and meter of the retail
prices, with the unit. Google Cloud: a service, by its id or by its name, and the SKU description without its region.
Where the names were seen is in sources.csv. A name that a seller changes ends in a fee that is not listed; the known
one stays.

Of MySQL's larger machines public notes differ: a meter by the core, or one for each size; both are read. Database
editions that carry a licence (Oracle, SQL Server) and Cloud SQL's Enterprise Plus are not read: they stay a "?".

A fee without a row is kept by hand; kept_by_hand.csv says of which fees of the catalog that is so, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sizewell import csvtables
from sizewell.clouds.prices.fee_meter import Meter

COMPUTE_ENGINE: Final = "6F81-5844-456A"
CLOUD_STORAGE: Final = "95FF-2EF5-5EA1"
NETWORKING: Final = "E505-1604-58F8"
VERTEX: Final = "C7E2-9256-1C43"
# By display name: their ids are asked for. The SKUs of Managed Lustre were seen, the name of its service was not.
NAMED: Final = ("Kubernetes Engine", "Cloud Filestore", "Managed Lustre")

_DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptByHand:
    """A row of kept_by_hand.csv: a fee of the catalog that no reader asks for; a refresh names it with the reason."""

    cloud: str
    fee: str
    reason: str
    source: str


def _by_hand() -> Mapping[str, Mapping[str, str]]:
    fees: dict[str, dict[str, str]] = {}
    for row in csvtables.read(KeptByHand, _DATA / "kept_by_hand.csv"):
        fees.setdefault(row.cloud, {})[row.fee] = row.reason
    return fees


AWS: Final = csvtables.read(Meter, _DATA / "meters_aws.csv")
AZURE: Final = csvtables.read(Meter, _DATA / "meters_azure.csv")
GCP: Final = csvtables.read(Meter, _DATA / "meters_gcp.csv")
BY_HAND: Final = _by_hand()  # cloud -> fee -> reason
