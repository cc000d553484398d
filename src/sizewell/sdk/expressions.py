"""How a value of a program is computed: from which output of which resource, setting or answer, by which steps.

A value whose steps nobody has seen is `Lost`, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Lit:
    """A plain value of JSON."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A resource, by its URN."""

    urn: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the stack's configuration; `read` is the method of `pulumi.Config` without its get or require."""

    key: str  # with its namespace
    secret: bool
    read: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a function of a provider answers."""

    token: str
    function: str  # module:name
    arguments: tuple[tuple[str, Expr], ...]
    provider: str = ""
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Attr:
    of: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    of: Expr
    key: str | int | slice


@dataclass(frozen=True, slots=True)
class Call:
    of: Expr
    arguments: tuple[Expr, ...]
    named: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Func:
    """A function of Python's or of a parser: json.loads, base64.b64decode, yaml.safe_load, urllib.parse.quote, str."""

    name: str
    of: Expr
    named: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """Parts in a row; a part that is not a text is formatted as one."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Map:
    entries: tuple[tuple[str, Expr], ...]


class Computed(str):
    """A key of a document that is known only after deployment: equal to one that comes about in the same way."""

    __slots__ = ("of",)
    of: Expr

    def __new__(cls, of: Expr) -> Self:
        made = super().__new__(cls, repr(of))
        made.of = of
        return made


@dataclass(frozen=True, slots=True)
class Seq:
    entries: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """A text of JSON, with the arguments of `json.dumps` that write it so."""

    of: Expr
    style: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text in base64."""

    of: Expr


@dataclass(frozen=True, slots=True)
class Secret:
    of: Expr


@dataclass(frozen=True, slots=True)
class Asset:
    """A file or an archive; `kind` is the class of Pulumi's SDK."""

    kind: str
    of: Expr


@dataclass(frozen=True, slots=True)
class Lost:
    why: str


Expr = (
    Lit | Ref | Setting | Answer | Attr | Item | Call | Func | Text | Map | Seq | Json | Encoded | Secret | Asset | Lost
)


def walk(value: object, but: tuple[type, ...] = ()) -> Iterator[Expr]:
    """An expression and all in it, outermost first; nothing inside one of the kinds `but`.

    >>> [type(each).__name__ for each in walk(Text((Lit("a"), Attr(Ref("u"), "id"))))]
    ['Text', 'Lit', 'Attr', 'Ref']
    """
    if isinstance(value, tuple):
        for each in value:
            yield from walk(each, but)
    elif isinstance(value, Computed):
        yield from walk(value.of, but)
    elif isinstance(value, Expr):
        yield value
        if not isinstance(value, (Lit, *but)):
            for field in fields(value):
                yield from walk(getattr(value, field.name), but)


def is_plain(value: Expr) -> bool:
    """Whether a value is known without anybody's answer."""
    return not any(isinstance(each, Ref | Setting | Answer | Lost) for each in walk(value))
