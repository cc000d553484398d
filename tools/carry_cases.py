"""Carry published cases into the project: compact, one per line, with their sources.

    python tools/carry_cases.py FOLDER    reads FOLDER/*.json (lists of cases), writes them compact

Figures, models, hardware, workloads and sources are kept as published; addresses that follow from repository, commit
and path are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "src/sizewell/accuracy/published"
_DROPPED = frozenset({"split", "unseen_source", "verify"})


def compact(case: dict[str, Any]) -> dict[str, Any]:
    """The case without what is empty or follows from the rest."""
    kept = {key: value for key, value in case.items() if key not in _DROPPED and value is not None}
    for part in ("model", "hardware", "workload", "also"):
        if part in kept:
            kept[part] = {key: value for key, value in kept[part].items() if value is not None}
    source = dict(kept["source"])
    source.pop("verify", None)
    if source.get("repo") and source.get("path") and source.get("commit"):
        source.pop("url", None)
    kept["source"] = {key: value for key, value in source.items() if value is not None}
    return kept


def main(folder: str) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for path in sorted(Path(folder).glob("*.json")):
        rows = json.loads(path.read_text(encoding="utf-8"))
        if not (isinstance(rows, list) and rows and "metric" in rows[0]):
            continue
        lines = [json.dumps(compact(row), ensure_ascii=False, separators=(",", ":")) for row in rows]
        target = OUT / path.name.replace("_truth", "")
        target.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
        print(f"{target.relative_to(ROOT)}: {len(rows)} cases")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/carry_cases.py FOLDER")
    main(sys.argv[1])
