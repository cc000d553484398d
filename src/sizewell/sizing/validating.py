"""What pydantic rejects in a document, as faults with the document's own path, what is allowed, and a way out."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from sizewell.sizing.errors import Fault, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic.fields import FieldInfo

# What a value has to be, by the kind of pydantic's error; names in braces stand in the error's context.
_ALLOWED: Final[Mapping[str, str]] = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "finite_number": "a finite number",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "keys with values"),
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "string_pattern_mismatch": "of the form {pattern}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "too_short": "at least {min_length} long",
    "too_long": "at most {max_length} long",
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), "a date such as 2026-11-20"),
    **dict.fromkeys(("date_from_datetime_inexact",), "a date without a time, such as 2026-11-20"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        "a time such as 2026-11-20T12:00:00Z",
    ),
}


# Of YAML 1.1: the codes of Norway and Ontario, names such as 007.
_QUOTES: Final = (
    "put it in quotes: without them YAML reads NO and ON as false and true, and digits as a number or a date"
)


def faults_of(error: ValidationError, root: type[BaseModel], *, hidden: Container[str] = ()) -> list[Fault]:
    """Every rejection once; `hidden` are the names of a union's members, which stand in no document."""
    items = error.errors(include_url=False)
    # A list is also called too short where its only item is wrong: that item is the fault.
    above = {item["loc"][:length] for item in items for length in range(len(item["loc"]))}
    items = [item for item in items if not (item["type"] == "too_short" and item["loc"] in above)]
    faults = (fault_of(item, root, hidden=hidden) for item in items)
    return list({(fault.path, fault.message or fault.allowed): fault for fault in faults}.values())


def fault_of(item: Mapping[str, Any], root: type[BaseModel], *, hidden: Container[str] = ()) -> Fault:
    """One of pydantic's errors as a fault; `root` is the model that was read."""
    loc = [part for part in item["loc"] if isinstance(part, int) or part not in hidden]
    if loc[-1:] == ["[key]"]:  # pydantic's name for a key that is none
        loc = [*loc[:-2], str(loc[-2])]
    path, kind, context = path_of(loc) or "the document", item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        known = _keys(loc[:-1], root)
        close = get_close_matches(str(loc[-1]), known, 1)
        listed = f"one of {', '.join(known)}" if known else "remove it"
        return Fault(path=path, message="unknown key", fix=f"did you mean {close[0]}?" if close else listed)
    if kind == "missing":
        return Fault(path=path, message="is missing", fix=f"add {loc[-1]}" if isinstance(loc[-1], str) else "")
    if kind == "value_error":  # of ours, with the value in it
        return Fault(path=path, message=item["msg"].removeprefix("Value error, "))
    if kind == "string_pattern_mismatch" and (examples := _examples(loc, root)):
        return Fault(path=path, found=item["input"], allowed=f"of a form such as {' or '.join(map(str, examples))}")
    if kind == "literal_error":
        close = get_close_matches(str(item["input"]), re.findall(r"'([^']*)'", context["expected"]), 1)
        fix = f"did you mean {close[0]}?" if close else ""
        return Fault(path=path, found=item["input"], allowed=context["expected"], fix=fix)
    if kind == "string_type" and isinstance(item["input"], bool | int | float | date):
        return Fault(path=path, found=item["input"], allowed="text", fix=_QUOTES)
    if kind in _ALLOWED:
        return Fault(path=path, found=item["input"], allowed=_ALLOWED[kind].format_map(context))
    sentence = f"{item['msg'][:1].lower()}{item['msg'][1:]}"
    return Fault(path=path, message=f"{sentence}, got {json.dumps(item['input'], default=str)[:80]}")


def path_of(loc: Sequence[str | int]) -> str:
    """The way to a value as people write it.

    >>> path_of(("pools", 0, "guard", "window_s"))
    'pools[0].guard.window_s'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc).removeprefix(".")


def read_json(path: Path, fix: str) -> object:
    """The JSON document of a file that a person names; UsageError, with `fix` as the way out, where it is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file\n  fix: {fix}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8: byte at offset {error.start}\n  fix: {fix}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}\n  fix: {fix}") from None
    twice: dict[int, str] = {}  # a key that an object states twice, by the object

    def plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice[id(made)] = next(name for name in names if names.count(name) > 1)
        return made

    try:
        document = json.loads(text, object_pairs_hook=plain)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg.lower()}\n  fix: {fix}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}\n  fix: {fix}") from None
    for loc, part in _objects(document) if twice else ():
        if id(part) in twice:
            key = path_of((*loc, twice[id(part)]))
            raise UsageError(f"{path}: {key}: the key is stated twice\n  fix: keep one of them")
    return document


def _objects(part: object, loc: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Every object of a document, with the way to it."""
    if isinstance(part, dict):
        yield loc, part
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        yield from _objects(value, (*loc, key))


def _keys(loc: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    """The keys that the object at a place may have; none where the place leads to no model."""
    model, _ = _at(loc, root)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _examples(loc: Sequence[str | int], root: type[BaseModel]) -> Sequence[object]:
    """What the value at a place may look like, as its field says; none where that says nothing."""
    _, field = _at(loc, root)
    return (field.examples if field is not None else None) or ()


def _at(loc: Sequence[str | int], root: type[BaseModel]) -> tuple[type[BaseModel] | None, FieldInfo | None]:
    """The model at a place, and the last field on the way there; None where the place leads to none."""
    model: type[BaseModel] | None = root
    last: FieldInfo | None = None
    for step in loc:
        if model is None or isinstance(step, int):
            continue
        field = next((field for name, field in model.model_fields.items() if step in (name, field.alias)), None)
        if field is not None:  # else a key of the document's own, such as an account's number
            model, last = next(_models_in(field.annotation), None), field
    return model, last


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if hasattr(annotation, "model_fields"):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
