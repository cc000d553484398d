"""A spec's text to plain data: safe YAML 1.2 scalars, bounded in bytes, depth and expansion, duplicate keys refused.

YAML 1.1, as PyYAML reads it by itself, takes `on:` for true and `1:30` for 90; here they stay text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.files import conflict_line
from sizewell.sizing.places import CONFLICT, SETTLED, mark_of

BYTES_MAX: Final = 1_000_000
NODES_MAX: Final = 10_000  # after aliases are expanded
DEPTH_MAX: Final = 20
MONEY: Final = ("monthly", "per_run")  # keys whose number has its currency beside it


class SpecLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Scalars are null, true, false, decimal numbers or text: the core schema of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own name


def _null(loader: Any, node: object) -> str | None:
    return None if loader.construct_scalar(node) else ""  # nothing was written: that is not the word null


def _int(loader: Any, node: object) -> int:
    return int(loader.construct_scalar(node).replace("_", ""))


def _float(loader: Any, node: object) -> float:
    return float(loader.construct_scalar(node).replace("_", "").replace(".inf", "inf").replace(".nan", "nan").lower())


SpecLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""])
SpecLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), ["t", "f"])
SpecLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?[0-9][0-9_]{0,30}$"), list("-+0123456789"))
SpecLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(?:(?:[0-9][0-9_]*\.[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[0-9]+e[-+]?[0-9]+|\.(?:inf|nan))$", re.IGNORECASE
    ),
    list("-+.0123456789"),
)
SpecLoader.add_constructor("tag:yaml.org,2002:null", _null)
SpecLoader.add_constructor("tag:yaml.org,2002:int", _int)
SpecLoader.add_constructor("tag:yaml.org,2002:float", _float)


def read_text(path: Path) -> str:
    """The text of a file of at most `BYTES_MAX` bytes of UTF-8; a larger one is refused before it is read."""
    origin = str(path)
    try:
        if path.is_file() and (size := path.stat().st_size) > BYTES_MAX:
            raise _refusal(origin, f"is {size:,} bytes; a spec has at most {BYTES_MAX:,}", "is this the right file?")
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        raise _refusal(origin, "no such file", "check the path; `sizewell size --help` shows an example") from None
    except IsADirectoryError:
        raise _refusal(origin, "is a folder, not a spec", f"name its files: {path}/*.yaml") from None
    except OSError as error:
        raise _refusal(origin, f"cannot be read: {error.strerror or error}", "check its permissions") from None
    if len(data) > BYTES_MAX:
        raise _refusal(origin, f"is larger than {BYTES_MAX:,} bytes", "is this the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        raise _refusal(origin, message, "save it as UTF-8") from None


def load_mapping(text: str, origin: str) -> dict[str, Any]:
    """The mapping that a one-document YAML text holds. Raises SpecError with the line of what is wrong."""
    if len(text) > BYTES_MAX:
        raise _refusal(origin, f"is larger than {BYTES_MAX:,} bytes", "is this the right file?")
    try:
        check_bounds(text, origin)
        loader = SpecLoader(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                faults: list[Fault] = []
                _check_nodes(node, origin, set(), faults)
                if faults:
                    raise SpecError(faults, subject=origin)
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _syntax(error, origin, text) from None
    except ValueError as error:
        raise _refusal(origin, f"is not valid YAML: {error}", "") from None
    if data is None:
        raise _refusal(origin, "is empty", "`sizewell new chat` writes a first one, `sizewell docs spec` has every key")
    if not isinstance(data, dict):
        if isinstance(data, str) and (fault := _unspaced(text.splitlines())):
            raise SpecError([fault], subject=origin)
        if isinstance(data, list) and any(isinstance(each, dict) and "kind" in each for each in data):
            raise _refusal(origin, SEVERAL.format(len(data)), ONE_EACH)
        if isinstance(data, str) and (line := _of_toml(text)):
            raise _refusal(origin, "is TOML, and a spec is YAML", f"write it as {line}")
        kind = "a list" if isinstance(data, list) else f"the text {str(data)[:40]!r}"
        raise _refusal(
            origin,
            f"must be a mapping of keys such as name, kind and model, got {kind}",
            "`sizewell new chat` writes a first one",
        )
    return data


def _of_toml(text: str) -> str:
    """A spec that is written in TOML as a line of YAML; "" for a text that is none."""
    import tomllib

    try:
        data = tomllib.loads(text)
        return yaml.safe_dump(data, default_flow_style=True, sort_keys=False, width=10**6).strip()
    except (tomllib.TOMLDecodeError, yaml.YAMLError):
        return ""


SEVERAL: Final = "is a list of {} workloads, and a spec describes one"
ONE_EACH: Final = "one spec a file: write each into its own, without the dash"


def check_bounds(text: str, origin: str, *, documents_max: int = 1, nodes_max: int = NODES_MAX) -> None:
    """Walk the events, building nothing: depth, documents, and the nodes there would be after expansion."""
    depth = documents = nodes = 0
    sizes: dict[str, int] = {}  # anchor -> nodes under it
    open_nodes: list[tuple[str | None, int]] = []  # anchor of an open collection, nodes before it
    for event in yaml.parse(text, Loader=SpecLoader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > documents_max:
                raise _refusal(origin, "has several documents", "one spec a file: split it at the '---' lines")
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in (anchor for anchor, _ in open_nodes):
                raise _refusal(origin, f"the alias *{event.anchor} is inside its own anchor", "write it out")
            nodes += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.ScalarEvent):
            nodes += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            open_nodes.append((event.anchor, nodes))
            nodes += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = nodes - before
        if depth > DEPTH_MAX:
            raise _refusal(origin, f"is nested more than {DEPTH_MAX} deep", "a spec needs three levels")
        if nodes > nodes_max:
            fix = "write the values out instead of anchors and aliases" if sizes else "is this the right file?"
            raise _refusal(origin, f"has more than {nodes_max:,} values once aliases are expanded", fix)


def _check_nodes(node: Any, origin: str, seen: set[int], faults: list[Fault]) -> None:
    """Refuse duplicate keys, keys that are no plain text, and tags that would build something else than plain data."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if not node.tag.startswith("tag:yaml.org,2002:") or node.tag.rsplit(":", 1)[1] not in _TAGS:
        faults.append(_fault(node, f"the tag {node.tag} is not allowed", "remove it"))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_nodes(item, origin, seen, faults)
    elif isinstance(node, yaml.MappingNode):
        keys: dict[str, int] = {}
        rests = set() if not node.flow_style else _numbers_split(node.value, faults)
        for index, (key, value) in enumerate(node.value):
            if index in rests:
                continue
            if not isinstance(key, yaml.ScalarNode):
                faults.append(_fault(key, "a key must be a word, not a list or mapping", "write it as text"))
                continue
            if key.value == "<<":
                faults.append(_fault(key, "merge keys (<<) are not allowed", "write the values out"))
            elif key.value in keys:
                message = f"the key '{key.value}' is stated twice (first in line {keys[key.value]})"
                faults.append(_fault(key, message, "keep one of them"))
            keys.setdefault(key.value, key.start_mark.line + 1)
            key.tag = "tag:yaml.org,2002:str"
            _check_nodes(value, origin, seen, faults)


def _numbers_split(pairs: Sequence[tuple[Any, Any]], faults: list[Fault]) -> set[int]:
    """Refuse numbers with a comma in braces, where YAML ends a value at it; the entries that are the rest of one."""
    rests: set[int] = set()
    for index, (key, value) in enumerate(pairs):
        if index in rests or not isinstance(value, yaml.ScalarNode) or not re.fullmatch(r"\D{0,2}\d+", value.value):
            continue
        behind = itertools.takewhile(lambda pair: _is_rest(*pair), pairs[index + 1 :])
        if parts := [str(rest.value) for rest, _ in behind]:
            rests |= set(range(index + 1, index + 1 + len(parts)))
            thousands = all(re.match(r"\d{3}(?!\d)", part) for part in parts)
            number = f"{value.value}{'' if thousands else '.'}{''.join(parts)}"
            written = ",".join([value.value, *parts])
            message = f"{key.value}: {written} is not one number in braces, where a comma ends the value"
            if key.value in MONEY:
                number = f"{number.strip('$').removesuffix(' USD')} USD"
            faults.append(_fault(value, message, f"write {number}"))
    return rests


def _is_rest(key: Any, value: Any) -> bool:
    """Whether an entry in braces is what stood behind the comma of a number: digits, perhaps a unit, and no value."""
    named = isinstance(key, yaml.ScalarNode) and re.match(r"\d", key.value)
    return bool(named) and isinstance(value, yaml.ScalarNode) and not value.value and not value.style


_TAGS = {"null", "bool", "int", "float", "str", "seq", "map"}


def _fault(node: Any, message: str, fix: str) -> Fault:
    return Fault(path="", message=message, fix=fix, at=(node.start_mark.line + 1, node.start_mark.column + 1))


_UNSPACED: Final = re.compile(r"(\s*[a-z_]+):(?=[^\s/:])")


def _syntax(error: yaml.YAMLError, origin: str, text: str) -> SpecError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark is None:
        return _refusal(origin, f"is not valid YAML: {problem}", "check quotes, colons and indentation")
    if conflict := conflict_line(text):
        return SpecError([Fault(path="", message=CONFLICT, fix=SETTLED, at=(conflict, 1))], subject=origin)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    message, fix = f"is not valid YAML: {problem}", "check quotes, colons and indentation"
    if "\t" in line[: mark.column + 1] or "\\t" in problem:
        message, fix = "a tab where YAML needs spaces", "indent with spaces"
    elif fault := _unspaced(lines[: mark.line + 1]):
        return SpecError([fault], subject=origin)
    return SpecError([Fault(path="", message=message, fix=fix, at=mark_of(error, text))], subject=origin)


def _unspaced(lines: list[str]) -> Fault | None:
    """The one fault of lines whose keys have no space after their colon."""
    numbers = [number for number, line in enumerate(lines, 1) if _UNSPACED.match(line)]
    if not numbers:
        return None
    more = ", and a space in the other lines too" if numbers[1:] else ""
    message = f"has no space after the colon of its keys: line {', '.join(map(str, numbers))}"
    first = _UNSPACED.sub(r"\1: ", lines[numbers[0] - 1]).strip()
    return Fault(path="", message=message, fix=f"write {first}{more}", at=(numbers[0], 1))


def _refusal(where: str, message: str, fix: str) -> SpecError:
    return SpecError((Fault(path=where, message=message, fix=fix),))
