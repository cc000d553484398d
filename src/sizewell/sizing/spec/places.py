"""Where in a spec's text a key or a value stands, so that every fault has its line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import yaml

from sizewell.sizing.spec.text import SpecLoader

if TYPE_CHECKING:
    from sizewell.sizing.errors import Fault

Mark = tuple[int, int]  # line and column, from 1


def placed(faults: list[Fault], text: str) -> list[Fault]:
    """The faults in the order of the text, each with the line and column of what is wrong.

    An unknown key is marked where the key stands, a value where the value does, and what is missing where the section
    begins that it is missing from; a fault of the file as a whole has no place.
    """
    marks = _marks(text)
    located = [replace(fault, at=_at(fault, marks)) for fault in faults]
    return sorted(located, key=lambda fault: fault.at or (1 << 30, 0))


def _at(fault: Fault, marks: Mapping[str, tuple[Mark, Mark, bool]]) -> Mark | None:
    path = fault.path
    while path and path not in marks:
        path = path.rpartition("[")[0] if path.endswith("]") else path.rpartition(".")[0]
    if not path:
        return None
    key, value, scalar = marks[path]
    whole = scalar or path == fault.path.removesuffix("[0]")
    return value if whole and not fault.message.startswith("unknown key") else key


def _marks(text: str) -> dict[str, tuple[Mark, Mark, bool]]:
    """Dotted path -> (where its key stands, where its value begins, whether that is a plain value)."""
    loader = SpecLoader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError:  # its own fault says where
        return {}
    finally:
        loader.dispose()
    return dict(_walk(node, "")) if node is not None else {}


def _walk(node: yaml.Node, prefix: str) -> Iterator[tuple[str, tuple[Mark, Mark, bool]]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            path = f"{prefix}.{key.value}" if prefix else str(key.value)
            scalar = isinstance(value, yaml.ScalarNode)
            inline = scalar or getattr(value, "flow_style", False)
            yield path, (_mark(key), _mark(value) if inline else _mark(key), scalar)
            yield from _walk(value, path)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            path = f"{prefix}[{index}]"
            yield path, (_mark(item), _mark(item), isinstance(item, yaml.ScalarNode))
            yield from _walk(item, path)


def _mark(node: yaml.Node) -> Mark:
    return node.start_mark.line + 1, node.start_mark.column + 1
