"""What a text of an input is: a document of JSON, a script in base64, or a text, with values of others in it or not."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from sizewell.sdk.expressions import Computed, Encoded, Expr, Json, Lit, Map, Seq, Text

_STYLES: Final[tuple[Mapping[str, Any], ...]] = (
    {},
    {"separators": (",", ":")},
    {"sort_keys": True},
    {"separators": (",", ":"), "sort_keys": True},
    {"indent": 1},
    {"indent": 1, "sort_keys": True},
    {"indent": 2},
    {"indent": 2, "sort_keys": True},
    {"indent": 4},
)
_SHORTEST: Final = 24  # characters of a text in base64: what is shorter may be a word


def read_text(text: str, read: Callable[[str], Expr]) -> Expr:
    """A text as the expression that a person would write; `read` knows the markers in it.

    >>> read_text('{"a": "b"}', Lit)
    Json(of=Map(entries=(('a', Lit(value='b')),)), style=())
    >>> read_text("a plain text", Lit)
    Lit(value='a plain text')
    """
    if text[:1] in "{[" and text[-1:] in "}]" and len(text) > 2:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        for style in _STYLES if value is not None else ():
            if json.dumps(value, **style) == text:
                return Json(_of_json(value, read), tuple(sorted(style.items())))
            if json.dumps(value, **style, ensure_ascii=False) == text:
                return Json(_of_json(value, read), tuple(sorted({**style, "ensure_ascii": False}.items())))
    if len(text) >= _SHORTEST and len(text) % 4 == 0:
        inner = _decoded(text)
        if inner is not None:
            return Encoded(read_text(inner, read))
    return read(text)


def _of_json(value: Any, read: Callable[[str], Expr]) -> Expr:
    if isinstance(value, str):
        return read_text(value, read)
    if isinstance(value, dict):
        return Map(tuple((_key(read(key)), _of_json(each, read)) for key, each in value.items()))
    if isinstance(value, list):
        return Seq(tuple(_of_json(each, read) for each in value))
    return Lit(value)


def _key(key: Expr) -> str:
    return str(key.value) if isinstance(key, Lit) else Computed(key)


def _decoded(text: str) -> str | None:
    """The text in base64, if that is what it is: one that can be read, with a space or a line's end in it."""
    try:
        inner = base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    if not all(each.isprintable() or each in "\n\t\r" for each in inner) or not any(each in inner for each in " \n{"):
        return None
    return inner if base64.b64encode(inner.encode()).decode() == text else None


def merged(parts: tuple[Expr, ...]) -> Expr:
    """Parts of a text, those that are plain joined."""
    joined: list[Expr] = []
    for part in parts:
        inner = part.parts if isinstance(part, Text) else (part,)
        for each in inner:
            last = joined[-1] if joined else None
            if isinstance(each, Lit) and isinstance(last, Lit):
                joined[-1] = Lit(f"{last.value}{each.value}")
            else:
                joined.append(each)
    return joined[0] if len(joined) == 1 else Text(tuple(joined))
