"""What figures rest on at the base of a change, beside the programs: own rows and rates, and statements of use."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sizewell import logs
from sizewell.preview.base import write_files_at

if TYPE_CHECKING:
    from sizewell.resources.usage import Usage
    from sizewell.sizing.catalog.catalog import Catalog
    from sizewell.sizing.catalog.rates import Discounts


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePrices:
    """Everything that a figure rests on beside the plan; `label` is how a reader calls where it is from."""

    catalog: Catalog
    usage: Usage
    discounts: Discounts
    label: str


def prices_at(project: Path, ref: str, *, folder: str, usage: str, discounts: str, label: str) -> BasePrices:
    """The prices of a revision: its overlay in `folder`, its statements of use and rates, all paths of the project.

    A path of "" is of no file. What the revision does not have, it does not state. Raises ConfigError or CatalogError
    for what cannot be read.
    """
    from sizewell.resources.usage import NO_USAGE, read_usage
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.rates import NO_DISCOUNTS, read_discounts

    with tempfile.TemporaryDirectory(prefix="sizewell-prices-") as into:
        place = Path(into)

        def there(name: str, kind: str) -> Path | None:
            if not name:
                return None
            write_files_at(project, ref, name, place / kind)
            found = place / kind / Path(name).name
            return found if found.exists() else None

        own, stated, rates = (
            there(name, kind) for name, kind in ((folder, "catalog"), (usage, "usage"), (discounts, "rates"))
        )
        files = ", ".join(name for name, part in ((folder, own), (usage, stated), (discounts, rates)) if part)
        logs.log(__name__, "prices of %s: the catalog with %s", label, files or "nothing of the project's")
        # An empty folder, not None, where the revision has no tables of its own: without an overlay `load` reads the
        # working directory's, and the base would be priced with what the change adds.
        nothing = place / "nothing"
        nothing.mkdir()
        return BasePrices(
            catalog=load(overlay=own or nothing),
            usage=read_usage(stated) if stated else NO_USAGE,
            discounts=read_discounts(rates) if rates else NO_DISCOUNTS,
            label=label,
        )
