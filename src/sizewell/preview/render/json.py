"""The JSON form of a preview; its schema is published as sizewell/schemas/preview.schema.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pydantic import TypeAdapter

from sizewell.preview.records import PolicyFinding, Preview, Row, Stack

# Inside a string the quotes would be escaped, so these are fields wherever they stand.
_STACKS: Final = '"stacks": []'
_EMPTY: Final = re.compile(r'("rows"|"findings"): \[\]')
_ROW: Final[TypeAdapter[Row]] = TypeAdapter(Row)
_FINDING: Final[TypeAdapter[PolicyFinding]] = TypeAdapter(PolicyFinding)


def render(preview: Preview) -> str:
    """The whole preview as JSON text with a newline at the end; the same preview gives the same bytes."""
    return "".join(pieces(preview))


def pieces(preview: Preview) -> Iterator[str]:
    """The same text row by row: that of a large stack is never in memory as a whole."""
    head, tail = preview.model_copy(update={"stacks": ()}).to_json().split(_STACKS)
    yield f'{head}"stacks": '
    yield from _listed((_stack(stack) for stack in preview.stacks), "  ")
    yield tail


def _stack(stack: Stack) -> Iterator[str]:
    """A stack's text: its long lists are taken out, and put in where the rest has them empty."""
    emptied: dict[str, object] = {"rows": (), "unchanged": stack.unchanged.model_copy(update={"rows": ()})}
    long: list[tuple[Sequence[Any], TypeAdapter[Any], str]] = [
        (stack.rows, _ROW, "      "),
        (stack.unchanged.rows, _ROW, "        "),
    ]
    if stack.policies is not None:
        emptied["policies"] = stack.policies.model_copy(update={"findings": ()})
        long.append((stack.policies.findings, _FINDING, "        "))
    text = stack.model_copy(update=emptied).model_dump_json(by_alias=True, indent=2).replace("\n", "\n    ")
    first, *rest = _EMPTY.split(text)
    yield first
    for (values, adapter, indent), key, more in zip(long, rest[::2], rest[1::2], strict=True):
        yield f"{key}: "
        yield from _listed(((_one(adapter, value, indent),) for value in values), indent)
        yield more


def _one(adapter: TypeAdapter[object], value: object, indent: str) -> str:
    return adapter.dump_json(value, by_alias=True, indent=2).decode().replace("\n", f"\n{indent}  ")


def _listed(values: Iterable[Iterable[str]], indent: str) -> Iterator[str]:
    """A JSON list of texts that come in pieces; `indent` is that of the line on which the list begins."""
    between = f"[\n{indent}  "
    for value in values:
        yield between
        yield from value
        between = f",\n{indent}  "
    yield "[]" if between.startswith("[") else f"\n{indent}]"


def preview_schema() -> dict[str, object]:
    """The JSON Schema of `render`'s output."""
    schema = Preview.model_json_schema(by_alias=True, mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "sizewell preview --format json"
    return schema
