"""The short way for programs: a spec file in, a decision out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.decide import NothingFits
    from sizewell.sizing.records.decision import Decision


def load_catalog(folder: Path | None = None) -> Catalog:
    """The catalog of machines, prices and models: the installed one with the project's `catalog/`, or `folder` alone.

    Raises CatalogError with file, row and column for a table that is wrong.
    """
    from sizewell.sizing.catalog import load

    return load() if folder is None else load(folder)


def size(
    specs: Path | str | Sequence[Path | str], *, on: date, stack: str = "", catalog: Catalog | None = None
) -> Decision | NothingFits:
    """The decision for one spec file, or for several that make up a stack, at the prices of the day `on`.

    Nothing is written. Raises SpecError with every fault of a spec: path, value and what is allowed.

    >>> from datetime import date
    >>> import sizewell
    >>> decision = sizewell.size("examples/chat.yaml", on=date(2026, 9, 20))
    >>> decision.workloads[0].pools[0].cloud in ("aws", "gcp", "azure")
    True
    """
    from sizewell.sizing.choose.decide import decide
    from sizewell.sizing.workload.read import read_spec

    paths = [specs] if isinstance(specs, str | Path) else list(specs)
    known = load_catalog() if catalog is None else catalog
    return decide([read_spec(Path(path), known) for path in paths], known, stack=stack, on=on)
