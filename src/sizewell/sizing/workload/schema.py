"""The JSON Schema of a spec file, so that editors complete keys and mark mistakes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sizewell.sizing.catalog import load
from sizewell.sizing.units import show_duration, show_share
from sizewell.sizing.versions import schema_of
from sizewell.sizing.workload.checks import SECTIONS
from sizewell.sizing.workload.docs import sentence
from sizewell.sizing.workload.model import PLACE, WorkloadSpec
from sizewell.sizing.workload.software import SOFTWARE


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12; the forms that `model`, `capacity` and lists accept beside the full one are included."""
    document = WorkloadSpec.model_json_schema(by_alias=True, mode="validation")
    defs = document["$defs"]
    for definition in [document, *defs.values()]:
        _tidy(definition)
    model = defs["Model"]
    dimensions = defs.pop("Dimensions")
    model["properties"] = {
        **{key: value for key, value in model["properties"].items() if key not in ("config_content", "dimensions")},
        **dimensions["properties"],
    }
    document["properties"]["model"] = {
        "description": "a name that the catalog knows, a path to a Hugging Face config.json, or a mapping",
        "anyOf": [{"type": "string"}, {"$ref": "#/$defs/Model"}],
    }
    defs.pop("Place", None)
    document["properties"]["engine"] = {"anyOf": [{"enum": list(SOFTWARE)}, {"$ref": "#/$defs/Engine"}]}
    generation = defs["Tpu"]["properties"]["type"]
    del generation["pattern"], generation["description"]
    generation["enum"] = list(load().tpu_generations())
    capacity = defs["Capacity"]["properties"]
    capacity["flex_start"] = {"anyOf": [{"const": True}, {"$ref": "#/$defs/FlexStart"}]}
    capacity["savings_plan"] = {"anyOf": [{"enum": ["1y", "3y"]}, {"$ref": "#/$defs/SavingsPlan"}]}
    document["properties"] = {"schema": {"const": schema_of("spec")}, **document["properties"]}
    _describe(document, document, "")
    _complete(document)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:" + schema_of("spec").replace(".", ":").replace("/", ":"),
        **document,
        "allOf": [_of_kind(kind, *sections) for kind, sections in SECTIONS.items()],
    }


def _of_kind(kind: str, needs: Iterable[str], without: Iterable[str]) -> dict[str, Any]:
    """What a spec of a kind must have and must not have; a key without a value says nothing."""
    then: dict[str, Any] = {"properties": dict.fromkeys(without, False)}
    if needs:
        then["required"] = list(needs)
    return {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": then}


def _complete(document: dict[str, Any]) -> None:
    """Names that the catalog knows, which an editor offers; others stay allowed, such as a config.json."""
    catalog = load()
    defs, properties = document["$defs"], document["properties"]
    models = _led_by(("meta-llama/Llama-3.1-8B", "Qwen/Qwen3-32B"), catalog.models)
    clouds = sorted({shape.cloud for shape in catalog.shapes})
    places = [*clouds, *(f"{cloud}/{region}" for cloud in clouds for region in sorted(catalog.regions(cloud)))]
    for text in (properties["model"]["anyOf"][0], defs["Model"]["properties"]["name"]):
        text["examples"] = models
    for key, names in (
        (defs["Resources"]["properties"]["accelerators"], _led_by(("h100-sxm", "l4"), catalog.accelerators)),
        (properties["infra"], _led_by(PLACE["examples"], places)),
    ):
        key["anyOf"] = [_offering(option, names) for option in key["anyOf"]]


def _led_by(first: Iterable[str], names: Iterable[str]) -> list[str]:
    """The names in order, after those that a reader knows."""
    known = set(names)
    return [*(name for name in first if name in known), *sorted(known - set(first))]


def _offering(option: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A text, or a list of texts, with examples."""
    if "items" in option:
        return {**option, "items": {**option["items"], "examples": names}}
    return {**option, "examples": names}


def _describe(definition: dict[str, Any], document: dict[str, Any], prefix: str) -> None:
    """Put the sentence of each key before what is allowed for it."""
    for key, value in definition.get("properties", {}).items():
        path = f"{prefix}.{key}" if prefix else key
        stated = value.get("description", "")
        meaning = sentence(path)
        if not stated.startswith(meaning):
            value["description"] = f"{meaning}. {stated[:1].upper()}{stated[1:]}" if stated else meaning
        for option in [value, *value.get("anyOf", [])]:
            if "$ref" in option:
                _describe(document["$defs"][option["$ref"].rpartition("/")[2]], document, path)


def _as_written(default: Any, value: dict[str, Any]) -> str:
    if isinstance(default, float):
        return show_share(default) if "%" in value.get("pattern", "") else show_duration(default)
    return str(default).lower() if isinstance(default, bool) else str(default)


def _tidy(definition: dict[str, Any]) -> None:
    """Drop titles and `null` alternatives, and say a default's reason in words."""
    definition.pop("title", None)
    for key, value in definition.get("properties", {}).items():
        value.pop("title", None)
        why = value.pop("x-why", "")
        default = value.pop("default", None)
        options = [option for option in value.get("anyOf", []) if option != {"type": "null"}]
        if "anyOf" in value:
            value.pop("anyOf")
            value.update(options[0] if len(options) == 1 else {"anyOf": options})
        if why:
            shown = "" if default in (None, [], ()) else f"{_as_written(default, value)}: "
            stated = value.get("description", "")
            value["description"] = f"{stated}{'. ' if stated else ''}Default: {shown}{why}"
        definition["properties"][key] = value
