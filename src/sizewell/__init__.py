"""Sizewell: from an AI workload spec to right-sized, priced, policy-checked clusters, with Pulumi.

The names below, those of `sizewell.stacks`, `sizewell.preview` and `sizewell.components.<cloud>`, and the `sizewell`
command are the public interface. Every other module may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell import lazy

if TYPE_CHECKING:
    from sizewell.api import load_catalog, size
    from sizewell.recording.evaluate import evaluate
    from sizewell.resources.recorded import Plan
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.decide import NothingFits, decide
    from sizewell.sizing.errors import SizewellError, SpecError
    from sizewell.sizing.records.decision import Decision
    from sizewell.sizing.workload.read import WorkloadSpec, read_spec

__all__ = [
    "Catalog",
    "Decision",
    "NothingFits",
    "Plan",
    "SizewellError",
    "SpecError",
    "WorkloadSpec",
    "decide",
    "evaluate",
    "load_catalog",
    "read_spec",
    "size",
]

if not TYPE_CHECKING:  # an editor would take every name for an existing one
    __getattr__ = lazy.names(
        __name__,
        {
            "Catalog": "sizewell.sizing.catalog",
            "Decision": "sizewell.sizing.records.decision",
            "NothingFits": "sizewell.sizing.choose.decide",
            "Plan": "sizewell.resources.recorded",
            "SizewellError": "sizewell.sizing.errors",
            "SpecError": "sizewell.sizing.errors",
            "WorkloadSpec": "sizewell.sizing.workload.read",
            "decide": "sizewell.sizing.choose.decide",
            "evaluate": "sizewell.recording.evaluate",
            "load_catalog": "sizewell.api",
            "read_spec": "sizewell.sizing.workload.read",
            "size": "sizewell.api",
        },
    )
