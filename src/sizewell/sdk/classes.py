"""How a program of a person names the classes, functions and inputs of a provider's SDK."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, get_args, get_origin

import pulumi
from pulumi import _types


@cache
def named(module: str, name: str) -> tuple[str, str] | None:
    """The package to import, and the name below it, by which a class or function is public; None where it is not.

    >>> named("pulumi.stack_reference", "StackReference")
    ('pulumi', 'StackReference')
    """
    parts = module.split(".")
    if not parts[0].startswith("pulumi"):
        return None
    try:
        own = getattr(import_module(module), name, None)
    except ImportError:  # a module of the program itself, which is not loaded any more
        return None
    if own is None:
        return None
    for length in range(1, len(parts) + 1):
        try:
            package = import_module(".".join(parts[:length]))
        except ImportError:
            return None
        if getattr(package, name, None) is own:
            return parts[0], ".".join([*parts[1:length], name])
    return None


def of_resource(kind: type) -> tuple[type, tuple[str, str]] | None:
    """The class of a provider's SDK that a resource is of, or that its own class is derived from."""
    for each in kind.__mro__:
        if each in (pulumi.CustomResource, pulumi.Resource, pulumi.ComponentResource, pulumi.ProviderResource):
            return None
        if (found := named(each.__module__, each.__name__)) is not None:
            return each, found
    return None


def argument_names(typed: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """The names of inputs in Python, and their types, by the provider's own spelling."""
    typed = _types.unwrap_type(typed) if typed is not None else None
    if isinstance(typed, type) and _types.is_input_type(typed):
        names = {wire: name for name, wire in _types.input_type_py_to_pulumi_names(typed).items()}
        return names, _types.input_type_types(typed)
    return {}, {}


def outputs(kind: type) -> Mapping[str, str]:
    """The outputs that a class has: the names in Python, with the provider's own spelling."""
    return _types.resource_py_to_pulumi_names(kind)


def parameter(kind: type, name: str) -> str:
    """The parameter of a class's constructor for an input: one that is called as another parameter ends in _."""
    method = getattr(kind, "_internal_init", None)
    known = inspect.signature(method).parameters if method is not None else {}
    return f"{name}_" if f"{name}_" in known else name


def inner(typed: Any) -> Any:
    """The type of what is in a list or mapping."""
    typed = _types.unwrap_type(typed) if typed is not None else None
    origin = get_origin(typed)
    if isinstance(origin, type) and issubclass(origin, Sequence | Mapping):
        return get_args(typed)[-1]
    return None


def is_text(typed: Any) -> bool:
    """Whether an input is a text, as the SDK annotates it; a provider takes some others as text of JSON."""
    typed = _types.unwrap_type(typed) if typed is not None else None
    origin = get_origin(typed)  # of a union, unlike a list or a mapping of texts
    of_one = isinstance(origin, type) and issubclass(origin, Sequence | Mapping)
    return typed is str or (not of_one and any(each is str for each in get_args(typed)))


def output_is_text(kind: type, name: str) -> bool:
    """Whether an output is a text, never missing."""
    if name in ("id", "urn"):
        return True
    wire = _types.resource_py_to_pulumi_names(kind).get(name, name)
    found = next((each for each in kind.__mro__ if name in vars(each)), None)
    annotated = (
        inspect.get_annotations(vars(found)[name].fget).get("return", "")
        if found is not None and isinstance(vars(found)[name], property)
        else ""
    )
    return _types.resource_types(kind).get(wire) is str and "Optional" not in str(annotated)


def lifts(name: str) -> bool:
    """Whether an output passes an attribute of its value on under this name."""
    return not hasattr(pulumi.Output, name) and not name.startswith("_")


@cache
def own_options(kind: type) -> Mapping[str, tuple[str, ...]]:
    """The options that a class gives each resource by itself, and the inputs that it marks as secret, by its source."""
    method = getattr(kind, "_internal_init", None)
    try:
        source = inspect.getsource(method) if method is not None else ""
    except OSError:
        source = ""
    found = {}
    for option in ("additional_secret_outputs", "replace_on_changes"):
        match = re.search(rf"{option}=\[(.*?)\]", source, re.DOTALL)
        found[option] = tuple(re.findall(r'"([^"]+)"', match.group(1))) if match else ()
    found["secrets"] = tuple(
        re.findall(r'__dict__\["(\w+)"\] = None if \w+ is None else pulumi\.Output\.secret', source)
    )
    match = re.search(r"aliases=\[(.*?)\]", source, re.DOTALL)
    found["aliases"] = tuple(re.findall(r'type_="([^"]+)"', match.group(1))) if match else ()
    return found


@cache
def release(package: str) -> tuple[str, str]:
    """The version of its plugin that an SDK asks the engine for, and where it is from."""
    try:
        own = import_module(f"{package}._utilities")
    except ImportError:
        return "", ""
    return str(getattr(own, "get_version", str)() or ""), str(getattr(own, "get_plugin_download_url", str)() or "")
