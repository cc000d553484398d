"""A case as a user asks it: without the software that ran, and all else that the source says is said.

What a figure counts (the whole device, or what the framework's allocator reports) and how the cache is stored belong to
the question, though a source says them by its software's name alone: they are kept as fields before the name goes.
"""

from __future__ import annotations

from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import counted
from sizewell.accuracy.predict import SERVING
from sizewell.accuracy.serving_predictions import cache_format


def as_asked(case: Case) -> Case:
    """The case without its software's name, with what the name said of the question itself."""
    kept = {"counted": counted(case)}
    if case.kind in SERVING:
        kept["kv_precision"] = cache_format(case)
    asked = case.without_engine()
    return Case(raw={**asked.raw, "workload": {**asked.workload, **kept}})
