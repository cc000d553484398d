"""The types of Nimbus that facts are read of."""

from __future__ import annotations

from typing import Any, Final

from sizewell.resources.graph import Graph
from sizewell.resources.readers.cloud import Types
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import count, get, text


def _group(graph: Graph, resource: RecordedResource) -> list[dict[str, Any]]:
    del graph
    kind, sizes = text(resource.inputs.get("machineType")), resource.inputs.get("sizes")
    return [
        {
            "kinds": kind if isinstance(kind, Unknown) else (kind,),
            "market": text(resource.inputs.get("market")),
            "nodes_min": count(get(sizes, "least")),
            "nodes_wanted": count(get(sizes, "wanted")),
            "nodes_max": count(get(sizes, "most")),
            "metrics": True,
        }
    ]


def _bucket(graph: Graph, resource: RecordedResource) -> dict[str, Any]:
    del graph
    return {"versioned": bool(resource.inputs.get("versions")), "private": True, "uniform": True}


TYPES: Final = Types(
    pools={"nimbus:compute/group:Group": _group},
    stores={"nimbus:storage/bucket:Bucket": _bucket},
    disks={},
    purchases={},
    endpoints={},
    notebooks={},
    clusters={},
    jobs={},
    openings=lambda _, __, ___: [],
    grants=lambda _, __, ___: [],
)
