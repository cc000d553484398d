"""What the types of Nimbus are to teardown."""

from __future__ import annotations

from typing import Final

from sizewell.recording.sources.state import StateResource
from sizewell.teardown.types import Types


def _store_uri(resource: StateResource) -> str:
    return f"file://{resource.inputs['bucket']}" if resource.type == "nimbus:storage/bucket:Bucket" else ""


TYPES: Final = Types(
    sized={"nimbus-group": "nimbus:compute/group:Group"},
    scheduled=(),
    serving=(),
    managed={},
    stateful={"nimbus:storage/bucket:Bucket": "bucket"},
    clusters={},
    store_uri=_store_uri,
    made_by={},
    imported_by_tag=(),
    parts=(),
)
