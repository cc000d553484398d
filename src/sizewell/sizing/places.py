"""YAML that a person writes, read with the place of every key and value, so that each fault has file, line and column.

document = read_yaml(path)
with locating(document.places):
    settings = parse(document.data, str(path))     # a ConfigError from here has the places
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.files import conflict_line

if TYPE_CHECKING:
    import yaml

CONFLICT: Final = "has a merge conflict"
SETTLED: Final = "keep one side, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>"
Mark = tuple[int, int]  # line and column, from 1; column 0: only the line is known


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key stands, where its value begins, and whether that is a plain value."""

    key: Mark
    value: Mark
    scalar: bool


Places = Mapping[str, Place]  # by dotted path, such as "rates[0].usd"


@dataclass(frozen=True, slots=True)
class Document:
    """What a YAML text says, as plain data, and where."""

    data: Any
    places: Places


def read_yaml(path: Path, shown: str = "") -> Document:
    """A YAML file; `shown` is how messages name it. ConfigError where it cannot be read or is no YAML."""
    return parse_yaml(read_text(path, shown), shown or str(path))


def read_text(path: Path, shown: str = "") -> str:
    """The text of a file; ConfigError where there is none or it is not UTF-8."""
    name = shown or str(path)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError([Fault(path=name, message="no such file")]) from None
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise ConfigError([Fault(path=name, message=message, fix="save it as UTF-8")]) from None
    except OSError as error:
        raise ConfigError([Fault(path=name, message=f"cannot be read: {error.strerror or error}")]) from None


def parse_yaml(text: str, origin: str) -> Document:
    """A YAML text; `origin` is how messages name it.

    ConfigError, with line and column, where it is no YAML, and for every key that is stated twice in a mapping: PyYAML
    by itself drops the first of them without a word.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        faults = [] if node is None else list(_twice(node, origin))
        places = {} if node is None else dict(walk(node))
        data = None if node is None or faults else loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ConfigError([_syntax(error, origin, text)]) from None
    except ValueError as error:  # such as the date 2026-02-31
        raise ConfigError([_no_value(error, node, origin)]) from None
    finally:
        loader.dispose()
    if faults:
        raise ConfigError(faults)
    return Document(data, places)


@contextmanager
def locating(places: Places, *, under: str = "", within: str = "", file: str = "") -> Iterator[None]:
    """Give the faults of a ConfigError that is raised inside the places of what they are about.

    `under` is the path in the file of what faults call by `within`: `locating(places, under="config.sizewell:",
    within="sizewell:")`. `file` is the file's name, where the error's subject is not that.
    """
    try:
        yield
    except ConfigError as error:
        faults = placed(error.faults, places, under=under, within=within, file=file)
        raise ConfigError(faults, subject=error.subject) from None


def placed(
    faults: Sequence[Fault], places: Places, *, under: str = "", within: str = "", file: str = ""
) -> list[Fault]:
    """The faults in the order of the text, each with the line and column of what is wrong.

    An unknown name is marked where the key stands, a value where the value does, and what is missing where the section
    begins that it is missing from; a fault of the file as a whole has no place.
    """
    located = []
    for fault in faults:
        path = under + fault.path.removeprefix(within) if fault.path.startswith(within) else ""
        mark = fault.at or _mark_of(path, fault.message, places)
        located.append(replace(fault, at=mark, file=fault.file or file if mark else fault.file))
    return sorted(located, key=lambda fault: fault.at or (1 << 30, 0))


def _mark_of(path: str, message: str, places: Places) -> Mark | None:
    nearest = path
    while nearest and nearest not in places:
        nearest = nearest.rpartition("[")[0] if nearest.endswith("]") else nearest.rpartition(".")[0]
    if not nearest:
        return None
    place = places[nearest]
    whole = place.scalar or nearest == path.removesuffix("[0]")
    return place.value if whole and not message.startswith("unknown ") else place.key


def walk(node: Any, prefix: str = "") -> Iterator[tuple[str, Place]]:
    """The place of everything under a node, by its dotted path."""
    if node.id == "mapping":
        for key, value in node.value:
            path = f"{prefix}.{key.value}" if prefix else str(key.value)
            scalar = value.id == "scalar"
            inline = scalar or getattr(value, "flow_style", False)
            yield path, Place(_mark(key), _mark(value) if inline else _mark(key), scalar)
            yield from walk(value, path)
    elif node.id == "sequence":
        for index, item in enumerate(node.value):
            path = f"{prefix}[{index}]"
            yield path, Place(_mark(item), _mark(item), item.id == "scalar")
            yield from walk(item, path)


def _mark(node: Any) -> Mark:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _twice(node: Any, origin: str) -> Iterator[Fault]:
    """Keys that stand in a mapping for the second time."""
    for child in node.value if node.id == "sequence" else ():
        yield from _twice(child, origin)
    first: dict[str, int] = {}
    for key, value in node.value if node.id == "mapping" else ():
        name = str(key.value)
        if name in first and name != "<<":
            message = f"the key '{name}' is stated twice (first in line {first[name]})"
            yield Fault(path="", message=message, fix="keep one of them", at=_mark(key), file=origin)
        first.setdefault(name, key.start_mark.line + 1)
        yield from _twice(value, origin)


def mark_of(error: yaml.YAMLError, text: str) -> Mark | None:
    """Where a text is no YAML: what ends too early, behind its last character."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return None
    lines = text.rstrip().split("\n")
    return (mark.line + 1, mark.column + 1) if mark.line < len(lines) else (len(lines), len(lines[-1]) + 1)


def _no_value(error: ValueError, node: Any, origin: str) -> Fault:
    """A value that YAML takes for a date, a time or a number, and that is none."""
    unreadable = next(_unreadable(node), None)
    if unreadable is None:
        return Fault(path=origin, message=f"cannot be read: {error}")
    path, value = unreadable
    fix = "correct it; where it is no date or number, put it in quotes"
    return Fault(path=path, message=f"{value.value} cannot be read: {error}", fix=fix, at=_mark(value), file=origin)


def _unreadable(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and node of each value that cannot be made out of its text."""
    from yaml.constructor import SafeConstructor

    if node.id == "mapping":
        for key, value in node.value:
            yield from _unreadable(key, path)
            yield from _unreadable(value, f"{path}.{key.value}" if path else str(key.value))
    elif node.id == "sequence":
        for index, item in enumerate(node.value):
            yield from _unreadable(item, f"{path}[{index}]")
    else:
        try:
            SafeConstructor().construct_object(node)
        except ValueError:
            yield path, node


def _syntax(error: yaml.YAMLError, origin: str, text: str) -> Fault:
    problem = getattr(error, "problem", None) or " ".join(str(error).split())
    at = mark_of(error, text)
    message = f"is not valid YAML: {problem}"
    fix = "check quotes, colons and indentation; YAML is indented with spaces"
    if line := conflict_line(text):
        at, message, fix = (line, 1), CONFLICT, SETTLED
    return Fault(path="" if at else origin, message=message, fix=fix, at=at, file=origin)
