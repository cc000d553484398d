"""The resolved spec as it would be written; each value's origin is the spec, or a default and its reason."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any, Final

from sizewell.sizing import units
from sizewell.sizing.versions import schema_of
from sizewell.sizing.workload.model import Dimensions, Place, Resources, Section, WorkloadSpec
from sizewell.sizing.workload.schedule import WeeklySchedule

SHARES: Final = ("utilization", "min_gpu_utilization")
KIND_REASONS: Final = {
    ("inference", "idle.action"): "a service for users is not stopped automatically",
    ("qlora", "model.weights"): "QLoRA keeps the base weights in 4-bit NormalFloat",
}


def resolved(spec: WorkloadSpec) -> dict[str, dict[str, object]]:
    """Dotted key -> {"value", "origin"}, where origin is "spec" or "default: reason".

    Parsing the values again gives a spec with the same digest.
    """
    rows: dict[str, dict[str, Any]] = {}
    _walk(spec, "", spec.given, spec, rows)
    return rows


def as_yaml(spec: WorkloadSpec) -> str:
    """The resolved spec as YAML, each default with its reason in a comment."""
    import yaml

    lines = [f"schema: {schema_of('spec')}"]
    open_sections: tuple[str, ...] = ()
    for path, row in resolved(spec).items():
        *parents, key = path.split(".")
        shared = 0
        while shared < min(len(parents), len(open_sections)) and parents[shared] == open_sections[shared]:
            shared += 1
        lines += [f"{'  ' * depth}{parents[depth]}:" for depth in range(shared, len(parents))]
        open_sections = tuple(parents)
        text = yaml.safe_dump(row["value"], default_flow_style=True, allow_unicode=True, width=10_000)
        text = text.removesuffix("...\n").strip()
        comment = "" if row["origin"] == "spec" else f"  # {row['origin']}"
        lines.append(f"{'  ' * len(parents)}{key}: {text}{comment}")
    return "\n".join(lines) + "\n"


def _walk(section: Section, prefix: str, given: Collection[str], spec: WorkloadSpec, rows: dict[str, Any]) -> None:
    for name, field in type(section).model_fields.items():
        key = field.alias or name
        path = f"{prefix}.{key}" if prefix else key
        value = getattr(section, name)
        if key == "config_content":
            continue
        if isinstance(value, Section) and not isinstance(value, Place):
            before = len(rows)
            _walk(value, prefix if isinstance(value, Dimensions) else path, given, spec, rows)
            if len(rows) == before and not isinstance(value, Resources):
                rows[path] = {"value": {}, "origin": "spec"}
            continue
        stated = any(path == other or path.startswith(f"{other}.") for other in given)
        extra = field.json_schema_extra
        why = str(extra.get("x-why", "")) if isinstance(extra, dict) else ""
        if value is None and not why:
            continue
        method = spec.training.method if spec.training else ""
        why = KIND_REASONS.get((spec.kind, path)) or KIND_REASONS.get((method, path)) or why
        shown = "auto" if path == "checkpoint.interval" and value is None else _shown(name, value)
        rows[path] = {"value": shown, "origin": "spec" if stated else f"default: {why}" if why else "default"}


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, units.Range):
        return units.show_range(value.low, value.high, sizes=name == "gpu_memory")
    if isinstance(value, WeeklySchedule):
        return value.text
    if isinstance(value, Decimal):
        return units.show_money(value)
    if isinstance(value, tuple):
        return [str(item) for item in value] or None
    if isinstance(value, bool) or value is None:
        return value
    if name.endswith("_s"):
        return units.show_duration(value)
    if name.endswith("_bytes"):
        return units.show_size(value)
    if name in SHARES:
        return units.show_share(value)
    if isinstance(value, int):
        text = units.show_count(value)
        return value if text == str(value) else text
    return value
