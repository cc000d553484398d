"""The committed decision of a stack as rules see it: plain JSON, with its digest and whether its seal is whole.

Read without the record's own library, so that a policy process starts fast.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from sizewell.sizing.records.stackname import cluster_of


def read_decision(directory: Path | None, stack: str) -> dict[str, Any] | None:
    """The decision that `stack` follows, from `directory/<stack>.json`; None where there is none.

    A file that cannot be read as JSON counts as edited by hand.
    """
    if directory is None:
        return None
    path = directory / f"{cluster_of(stack)}.json"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return None
    try:
        data = json.loads(text)
    except ValueError:
        return {"sealed": False, "digest": ""}
    if not isinstance(data, dict):
        return {"sealed": False, "digest": ""}
    seal = data.pop("seal", "")
    digest = hashlib.sha256((json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()).hexdigest()
    return {**data, "sealed": seal == digest, "digest": digest}
