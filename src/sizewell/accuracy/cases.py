"""Published measurements as cases: reading files of them, finding the ones that the project carries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from sizewell import csvtables
from sizewell.sizing.errors import Fault, SpecError, UsageError

Part = Literal["model", "hardware", "workload"]
CARRIED = Path(__file__).parent / "published"
_BEYOND = 1e16  # tokens of a run are the largest count that anybody states
_DEGREES = frozenset(("tp", "pp", "cp", "vp", "dp", "tp_cores", "moe_tp", "moe_ep", "attention_dp", "dcn_dp"))
_NEEDED = ("id", "kind", "metric", "value", "model", "hardware", "workload")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountField:
    """A row of counts.csv: a field that is a count wherever a source states it.

    Words in its place ("not stated") are taken as silence.
    """

    part: Part
    field: str


@cache
def _counts() -> Mapping[str, frozenset[str]]:
    rows = csvtables.read(CountField, Path(__file__).parent / "data/counts.csv")
    return {part: frozenset(row.field for row in rows if row.part == part) for part in get_args(Part)}


@dataclass(frozen=True, slots=True)
class Case:
    """One published figure: what ran on what, and what was measured; counts that are none are left out."""

    raw: Mapping[str, Any]

    def __post_init__(self) -> None:
        parts = {
            part: {key: value for key, value in stated.items() if key not in counts or _is_count(value, part)}
            for part, counts in _counts().items()
            if isinstance(stated := self.raw.get(part), Mapping)
        }
        split = self.raw.get("workload", {}).get("parallelism")
        if isinstance(split, Mapping):
            parts["workload"]["parallelism"] = {
                key: value for key, value in split.items() if key not in _DEGREES or (_is_count(value) and value >= 1)
            }
        object.__setattr__(self, "raw", {"also": {}, **self.raw, **parts})

    def without_engine(self) -> Case:
        """The same case as a user asks it: the software that ran is not stated, neither in words nor by repository."""
        workload = {key: value for key, value in self.workload.items() if key not in ("engine", "framework")}
        source = {
            k: v for k, v in dict(self.raw.get("source") or {}).items() if k not in ("repo", "title", "path", "url")
        }
        return Case(raw={**self.raw, "workload": workload, "source": source})

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def kind(self) -> str:
        return str(self.raw["kind"])

    @property
    def metric(self) -> str:
        return str(self.raw["metric"])

    @property
    def unit(self) -> str:
        return str(self.raw.get("unit", ""))

    @property
    def value(self) -> float:
        return float(self.raw["value"])

    @property
    def model(self) -> Mapping[str, Any]:
        return self.raw["model"] or {}

    @property
    def hardware(self) -> Mapping[str, Any]:
        return self.raw["hardware"] or {}

    @property
    def workload(self) -> Mapping[str, Any]:
        return self.raw["workload"] or {}

    @property
    def parallelism(self) -> Mapping[str, Any]:
        stated = self.workload.get("parallelism")
        return stated if isinstance(stated, Mapping) else {}

    @property
    def also(self) -> Mapping[str, Any]:
        return self.raw.get("also") or {}

    @property
    def repo(self) -> str:
        return str((self.raw.get("source") or {}).get("repo") or "")

    @property
    def title(self) -> str:
        return str((self.raw.get("source") or {}).get("title") or "")

    @property
    def source_family(self) -> str:
        return str(self.raw.get("source_family") or self.repo or "unknown")

    @property
    def hw_family(self) -> str:
        return str(self.raw.get("hw_family") or "unspecified")

    @property
    def core(self) -> bool:
        return bool(self.raw.get("core", True))

    @property
    def gradeable(self) -> bool:
        return bool(self.raw.get("gradeable", True))

    @property
    def weight(self) -> float:
        return float(self.raw.get("weight") or 1.0)


def _is_count(value: object, part: str = "") -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value < _BEYOND and (value > 0 or part != "hardware")


def carried_paths() -> tuple[Path, ...]:
    """The case files that the project carries; UsageError where this is no checkout of it."""
    paths = tuple(sorted(CARRIED.glob("*.json")))
    if not paths:
        raise UsageError(f"no bundled cases under {CARRIED}; name the files: sizewell validate PATH...")
    return paths


def read(paths: Iterable[str | Path] = ()) -> tuple[Case, ...]:
    """Cases of files and of the folders' JSON files, in order; all carried ones without a path.

    Files that hold something other than a list of cases (model tables, ceilings) are passed over where a folder is
    named, and refused where the file itself is.
    """
    named = [Path(path) for path in paths]
    if not named:
        return tuple(case for path in carried_paths() for case in _cases(path))
    cases: list[Case] = []
    for path in named:
        if path.is_dir():
            files = sorted(path.glob("*.json"))
            if not files:
                raise UsageError(f"{path}: no .json file in this folder")
            cases += [case for file in files for case in _cases(file, skip_others=True)]
        else:
            cases += _cases(path)
    return tuple(cases)


def _cases(path: Path, *, skip_others: bool = False) -> list[Case]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from None
    rows = document if isinstance(document, list) else None
    looks_right = (
        rows is not None and all(isinstance(row, dict) for row in rows) and any("metric" in row for row in rows)
    )
    if rows is None or not looks_right:
        if skip_others:
            return []
        raise UsageError(f"{path}: not a list of cases (each with {', '.join(_NEEDED)})")
    faults = [
        Fault(path=f"{path.name}[{index}].{field}", message="is missing")
        for index, row in enumerate(rows)
        for field in _NEEDED
        if field not in row
    ]
    if faults:
        raise SpecError(faults[:20], subject=str(path))
    return [Case(row) for row in rows]
