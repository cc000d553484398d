"""The kinds of field that a spec has: each turns what a person writes into a base-unit figure.

A field that fails carries what is allowed and the way out in the error's context, from which the faults are made; each
says in the JSON Schema what an editor may accept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sizewell.sizing import units


def refuse(allowed: str, fix: str = "") -> PydanticCustomError:
    """The error of one field; `allowed` reads after "must be"."""
    return PydanticCustomError("unit", "must be {allowed}", {"allowed": allowed, "fix": fix})


def reading(parse: Callable[[object], Any], *, positive: bool = False) -> BeforeValidator:
    """A validator of `parse`; with `positive`, zero is refused."""

    def read(value: object) -> Any:
        if isinstance(value, units.Range):
            return value
        try:
            parsed = parse(value)
        except units.UnitError as error:
            raise refuse(error.allowed, error.fix) from None
        if positive and parsed <= 0:
            raise refuse("more than zero")
        return parsed

    return BeforeValidator(read)


def _text_schema(pattern: str, allowed: str, *examples: str, number: bool = False) -> WithJsonSchema:
    text: dict[str, object] = {"type": "string", "pattern": pattern}
    if number:
        return WithJsonSchema(
            {"anyOf": [{"type": "number", "minimum": 0}, text], "description": allowed, "examples": list(examples)}
        )
    return WithJsonSchema({**text, "description": allowed, "examples": list(examples)})


_N = r"(?:[0-9][0-9_,]*(?:\.[0-9]+)?|\.[0-9]+)"
_DURATION = rf"^\s*(?:{_N}\s*(?:ms|s|m|h|d|w)\s*)+$"
_SIZE = rf"{_N}\s*(?:[kKMGTP]?B|[KMGTP]iB)"
_COUNT = rf"{_N}\s*[kKmMbBtT]?"

Seconds = Annotated[
    float,
    reading(units.duration_s, positive=True),
    _text_schema(_DURATION, units.ALLOWED_DURATION, "45m", "8h", "3d"),
]
SecondsOrZero = Annotated[float, reading(units.duration_s), _text_schema(_DURATION, units.ALLOWED_DURATION, "0s", "5s")]
Bytes = Annotated[
    int, reading(units.size_bytes, positive=True), _text_schema(rf"^\s*{_SIZE}\s*$", units.ALLOWED_SIZE, "80GB", "12TB")
]
Count = Annotated[
    int,
    reading(units.count, positive=True),
    _text_schema(rf"^\s*{_COUNT}\s*$", units.ALLOWED_COUNT, "4096", "50k", "7B", number=True),
]
CountOrZero = Annotated[
    int, reading(units.count), _text_schema(rf"^\s*{_COUNT}\s*$", units.ALLOWED_COUNT, "0", "300", number=True)
]
Usd = Annotated[
    Decimal,
    reading(units.money_usd, positive=True),
    _text_schema(rf"^\s*{_N}\s*USD\s*$", units.ALLOWED_MONEY, "10000 USD"),
]
Share = Annotated[
    float,
    reading(units.share, positive=True),
    _text_schema(rf"^\s*{_N}\s*%\s*$", units.ALLOWED_SHARE, "70%"),
]
ShareOrZero = Annotated[float, reading(units.share), _text_schema(rf"^\s*{_N}\s*%\s*$", units.ALLOWED_SHARE, "70%")]
PerSecond = Annotated[
    float,
    reading(units.rate_per_s, positive=True),
    _text_schema(
        rf"^\s*{_N}\s*(?:[kM]?\s*(?:/|per)\s*(?:s|m|min|h|d|day|hour|minute|second))?\s*$",
        units.ALLOWED_RATE,
        "4",
        "10k/h",
        number=True,
    ),
]
CountRange = Annotated[
    units.Range,
    reading(units.count_range),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": rf"^\s*(?:{_COUNT}|{_COUNT}\s*\.\.|(?:{_COUNT})?\s*\.\.\s*{_COUNT})\s*$"},
            ],
            "description": "a count or a range of counts, both ends included",
            "examples": ["1..8", "2..", "4"],
        }
    ),
]
SizeRange = Annotated[
    units.Range,
    reading(units.size_range),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": rf"^\s*(?:{_SIZE}|{_SIZE}\s*\.\.|(?:{_SIZE})?\s*\.\.\s*{_SIZE})\s*$",
            "description": "memory of one accelerator: at least a size, or a range",
            "examples": ["24GB..", "24GB..80GB"],
        }
    ),
]


@dataclass(frozen=True)
class Text:
    """A text that matches a pattern whole, with a message of its own."""

    pattern: str
    allowed: str
    most: int = 200

    def read(self, value: object) -> str:
        if isinstance(value, str) and len(value) <= self.most and re.fullmatch(self.pattern, value):
            return value
        legal = re.sub(r"[^a-z0-9-]+", "-", str(value).lower()).strip("-")[:40].rstrip("-")
        raise refuse(self.allowed, f"write {legal}" if legal and re.fullmatch(self.pattern, legal) else "")

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "description": self.allowed}


def items(read_one: Callable[[object], object], allowed: str, *, most: int = 64) -> BeforeValidator:
    """A list of `read_one`, where one item may stand alone; not empty, nothing twice."""

    def read(value: object) -> tuple[Any, ...]:
        values = [value] if isinstance(value, str | dict) else value
        if not isinstance(values, list | tuple) or not 0 < len(values) <= most:
            raise refuse(allowed)
        parsed = tuple(read_one(item) for item in values)
        if len(set(map(repr, parsed))) < len(parsed):
            raise refuse(allowed, "remove duplicates")
        return parsed

    return BeforeValidator(read)
