"""Engines of a project's own: `catalog/engines/NAME.yaml` changes a shipped engine, or makes another one out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.catalog.engine import InferenceEngine
from sizewell.sizing.catalog.overlay import FOLDER
from sizewell.sizing.catalog.rates import unknown_key
from sizewell.sizing.errors import CatalogError, ConfigError, Fault
from sizewell.sizing.places import placed, read_yaml

NAME: Final = "engines"
BASE: Final = "like"  # the engine whose other fields count
_WORDS: Final = ("images", "env")
_LISTS: Final = ("command", "fixed")
_SETS: Final = ("families", "default_for", "at_load", "reads")
_TEXTS: Final = ("ready", "image_example", "model_example", "source", "checked")
KEYS: Final = (BASE, *_WORDS, *_LISTS, *_SETS, *_TEXTS, "nodes_max", "hub")


def with_own(shipped: Mapping[str, InferenceEngine], folder: Path | None) -> dict[str, InferenceEngine]:
    """The shipped engines with a project's own over them. Raises CatalogError with every fault, by file and line."""
    engines = dict(shipped)
    faults: list[Fault] = []
    for path in sorted((folder / NAME).glob("*.yaml")) if folder is not None else ():
        shown = f"{FOLDER}/{NAME}/{path.name}"
        try:
            document = read_yaml(path, shown)
        except ConfigError as wrong:
            faults += wrong.faults
            continue
        data = document.data
        base = data.get(BASE, path.stem) if isinstance(data, Mapping) else path.stem
        wrong_here: list[Fault] = []
        changes = _changes(data, shown, wrong_here)
        if base not in shipped:
            wrong_here.append(Fault(path=BASE, found=base, allowed=f"one of {', '.join(shipped)}"))
        faults += placed(wrong_here, document.places, file=shown)
        if base not in shipped:
            continue
        if base != path.stem:
            changes.setdefault("default_for", frozenset())  # a new engine serves nobody who does not name it
        engines[path.stem] = replace(shipped[base], name=path.stem, **changes)
    faults += _twice_default(engines)
    if faults:
        raise CatalogError(faults, subject="catalog")
    return {name: engines[name] for name in sorted(engines)}


def _changes(data: object, shown: str, faults: list[Fault]) -> dict[str, Any]:
    """The fields of an engine that a file states; what is wrong with it goes to `faults`."""
    if not isinstance(data, Mapping):
        faults.append(Fault(path=shown, found=data, allowed=f"a mapping of {', '.join(KEYS)}"))
        return {}
    changes: dict[str, object] = {}
    for key, value in data.items():
        kind, right = _kind(key, value)
        if key not in KEYS:
            faults.append(unknown_key("", str(key), KEYS))
        elif key == BASE:
            continue
        elif not right:
            faults.append(Fault(path=str(key), found=value, allowed=kind))
        else:
            changes[key] = tuple(value) if key in _LISTS else frozenset(value) if key in _SETS else value
    return changes


def _kind(key: str, value: object) -> tuple[str, bool]:
    """What a field has to be, and whether it is."""
    if key in _WORDS:
        return "texts by name", isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values())
    if key in (*_LISTS, *_SETS):
        return "a list of texts", isinstance(value, list) and all(isinstance(v, str) for v in value)
    if key == "nodes_max":
        return "a whole number", value is None or (isinstance(value, int) and value > 0)
    if key == "hub":
        return "true or false", isinstance(value, bool)
    return "a text", isinstance(value, str)


def _twice_default(engines: Mapping[str, InferenceEngine]) -> list[Fault]:
    first: dict[str, str] = {}
    faults = []
    for engine in engines.values():
        for family in sorted(engine.default_for):
            other = first.setdefault(family, engine.name)
            if other != engine.name:
                message = f"{engine.name} and {other} are both the default for {family}"
                faults.append(Fault(path=f"{FOLDER}/{NAME}", message=message, fix="leave it to one of them"))
    return faults
