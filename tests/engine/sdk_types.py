"""What the SDK of a provider says about a resource type: its inputs, nested keys included, and its outputs.

The stand-in providers check every input against it, so a misspelt or misplaced key fails here as it would in the cloud.
"""

from __future__ import annotations

import enum
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import re
import sys
import threading
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pulumi import Archive, Asset, Input, Output, _types

MODULES = {
    "aws": "pulumi_aws",
    "gcp": "pulumi_gcp",
    "azure-native": "pulumi_azure_native",
    "kubernetes": "pulumi_kubernetes",
}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SECRET = "4dabf18193072939515e22adb298388d"  # the signature key of special values on the wire


def version(package: str) -> str:
    return importlib.metadata.version(MODULES[package].replace("_", "-"))


@functools.cache
def _classes(package: str) -> dict[str, tuple[str, str]]:
    """Token -> (module, class name), read from the SDK's own registration without importing the SDK; none without it."""
    spec = importlib.util.find_spec(MODULES[package])
    if spec is None:
        return {}
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(r'resource_modules="""\n(.*?)"""', text, re.DOTALL)
    assert found is not None
    return {
        token: (module["fqn"], name)
        for module in json.loads(found.group(1))
        for token, name in module["classes"].items()
    }


_LOADING = threading.Lock()  # the SDK's modules load themselves at first touch, and only one thread at a time


@functools.cache
def resource_class(token: str) -> type | None:
    """The SDK's class of a token; None where the SDK has none."""
    package = token.split(":", maxsplit=1)[0]
    versionless = re.sub(r"^(azure-native:[^/:]+)/v\d+[^:]*:", r"\1:", token)
    entry = _classes(package).get(token) or _classes(package).get(versionless)
    if entry is None:
        return None
    with _LOADING:
        return typing.cast("type", getattr(importlib.import_module(entry[0]), entry[1]))


@functools.cache
def args_class(token: str) -> type | None:
    """The SDK's Args class of a token."""
    cls = resource_class(token)
    if cls is None:
        return None
    module = sys.modules[cls.__module__]
    for suffix in ("InitArgs", "Args"):  # where "Args" is taken by a nested type of the module, the SDK says "InitArgs"
        found = getattr(module, cls.__name__ + suffix, None)
        if found is not None and _types.is_input_type(found):
            return typing.cast("type", found)
    return None


def faults(token: str, inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(property, reason) for everything in `inputs` that the SDK's types do not allow."""
    cls = args_class(token)
    if cls is None and token.startswith("kubernetes:"):
        return _custom_faults(token, inputs)
    if cls is None:
        return [("", f"the SDK has no resource type {token}")]
    return list(_object_faults(inputs, cls, ""))


def _custom_faults(token: str, inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A custom kind of Kubernetes, which the SDK does not know: judged by our own models of the definitions."""
    from sizewell.launch.kinds import KINDS, faults

    _, api, kind = token.split(":")
    if kind not in KINDS or KINDS[kind][0] != api:
        return [("", f"neither the SDK nor launch/kinds.py has a resource type {token}")]
    known = {"apiVersion", "kind", "metadata", "spec"}
    wrong = [(key, "unknown property of an object") for key in inputs if key not in known]
    found = faults({"apiVersion": api, "kind": kind, **_whole(inputs)})
    return wrong + [(path, reason.strip()) for path, _, reason in (one.partition(":") for one in found)]


def _whole(value: Any) -> Any:
    """Integers for whole floats: on the wire every number is a float."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _whole(value: Any) -> Any:
    """Numbers as the cluster gets them: between engine and provider every number is a float, in JSON 4.0 is 4."""
    if isinstance(value, Mapping):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def computed_outputs(token: str, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A value for every string, list and integer output that the inputs do not state: made up, but stable for a name."""
    cls = resource_class(token)
    if cls is None:
        return {}
    with _LOADING:
        names, types = _types.resource_py_to_pulumi_names(cls), _types.resource_types(cls)
    made_up: dict[str, Any] = {}
    for python_name, declared in types.items():
        key = names.get(python_name, python_name)
        if key in inputs or key == "id":
            continue
        kind = _types.unwrap_type(declared)
        if kind is str:
            made_up[key] = f"{key}-of-{name}"
        elif kind is int:
            made_up[key] = 1
        elif typing.get_origin(kind) in {list, Sequence} and typing.get_args(kind)[:1] == (str,):
            made_up[key] = [f"{key}-0-of-{name}", f"{key}-1-of-{name}"]
    return made_up


@functools.cache
def _properties(cls: type) -> dict[str, Any]:
    names = _types.input_type_py_to_pulumi_names(cls)
    return {names.get(key, key): declared for key, declared in _types.input_type_types(cls).items()}


@functools.cache
def _required(cls: type) -> frozenset[str]:
    names = _types.input_type_py_to_pulumi_names(cls)
    hints = getattr(cls.__init__, "__annotations__", {})
    return frozenset(
        names.get(p.name, p.name)
        for p in inspect.signature(cls.__init__).parameters.values()
        if p.name in hints and p.default is inspect.Parameter.empty and p.kind is inspect.Parameter.KEYWORD_ONLY
    )


def _object_faults(value: Mapping[str, Any], cls: type, path: str) -> Iterator[tuple[str, str]]:
    properties = _properties(cls)
    for key, item in value.items():
        if key.startswith("__"):
            continue
        where = f"{path}.{key}" if path else key
        if key not in properties:
            yield where, f"unknown property; {cls.__name__} has {', '.join(sorted(properties)[:40])}"
        else:
            yield from _faults(item, properties[key], where)
    for key in sorted(_required(cls) - set(value)):
        yield (f"{path}.{key}" if path else key), "required property is missing"


def _faults(value: Any, declared: Any, path: str) -> Iterator[tuple[str, str]]:
    if value is None or value == UNKNOWN:
        return
    if isinstance(value, dict) and SECRET in value:
        if "value" in value:
            yield from _faults(value["value"], declared, path)
        return
    choices = list(_alternatives(declared))
    if not choices:
        return
    wrong: list[tuple[str, str]] = []
    for choice in choices:
        wrong = list(_faults_of_one(value, choice, path))
        if not wrong:
            return
    yield from wrong


def _alternatives(declared: Any) -> Iterator[Any]:
    """The plain types that a declared input may have: Input, Optional and Output unwrapped, TypedDict twins left out."""
    if declared is Any:
        return
    origin = typing.get_origin(declared)
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        for part in typing.get_args(declared):
            if part is not type(None):
                yield from _alternatives(part)
    elif origin in {Input, Output} or (isinstance(origin, type) and issubclass(origin, Output)):
        if origin is Input:
            yield from _alternatives(typing.get_args(declared)[0])
    elif not typing.is_typeddict(declared) and "Awaitable" not in str(origin):
        yield declared


def _faults_of_one(value: Any, kind: Any, path: str) -> Iterator[tuple[str, str]]:
    origin = typing.get_origin(kind)
    if isinstance(kind, type) and _types.is_input_type(kind):
        if isinstance(value, dict):
            yield from _object_faults(value, kind, path)
        else:
            yield path, f"must be an object, got {value!r}"
    elif origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            yield path, f"must be a map, got {value!r}"
            return
        for key, item in value.items():
            yield from _faults(item, typing.get_args(kind)[1], f"{path}[{key!r}]")
    elif origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        if not isinstance(value, list):
            yield path, f"must be a list, got {value!r}"
            return
        for index, item in enumerate(value):
            yield from _faults(item, typing.get_args(kind)[0], f"{path}[{index}]")
    elif isinstance(kind, type):
        yield from _scalar_faults(value, kind, path)


def _scalar_faults(value: Any, kind: type, path: str) -> Iterator[tuple[str, str]]:
    if issubclass(kind, enum.Enum):
        allowed = [member.value for member in kind]
        if value not in allowed:
            yield path, f"must be one of {allowed}, got {value!r}"
        return
    fits = {
        bool: isinstance(value, bool) or value in {"true", "false"},
        str: isinstance(value, str),
        int: isinstance(value, (int, float)) and not isinstance(value, bool) and float(value).is_integer(),
        float: isinstance(value, (int, float)) and not isinstance(value, bool),
    }.get(kind, True)
    if issubclass(kind, (Asset, Archive)):
        fits = True
    if not fits:
        yield path, f"must be {kind.__name__}, got {value!r}"
