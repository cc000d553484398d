"""Cut a JSON document to so many characters, say what was cut, and read the part that somebody asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from sizewell.sizing.errors import UsageError

CHARACTERS: Final = 7_500  # of the answer itself; of JSON with many figures a token has two to three
CUTS: Final = 12  # that are named; the rest is counted
_STEP: Final = re.compile(r"\[(\d+)?(:)?(\d+)?\]|\[\"([^\"]*)\"\]|(?:^|\.)([^.\[\]]+)")
_ENDS: Final = 60  # room that a document needs for its own brackets and for being cut


def text(value: Any) -> str:
    """JSON without blanks.

    >>> text({"a": [1, "b"]})
    '{"a":[1,"b"]}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def joined(path: str, key: str) -> str:
    """The path of a key of an object.

    >>> joined("", "rows"), joined("rows[0]", "usd"), joined("levels", "a.b")
    ('rows', 'rows[0].usd', 'levels["a.b"]')
    """
    if re.search(r"[.\[\]]", key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def part(document: Any, path: str) -> Any:
    """What a path such as `workloads[0].rejections` or `results[20:40]` names. UsageError with the keys that are there.

    >>> part({"rows": [{"usd": 3}, {"usd": 4}]}, "rows[1].usd"), part(["a", "b", "c"], "[1:]")
    (4, ['b', 'c'])
    """
    value, at = document, 0
    while at < len(path):
        step = _STEP.match(path, at)
        before = path[:at] or "the answer"
        if step is None:
            raise UsageError(
                f"part: {path!r} cannot be read from {path[at:]!r} on\n  fix: write it as `cut` does, rows[0].lines"
            )
        index, colon, end, quoted, name = step.groups()
        key = name if quoted is None else quoted
        if key is not None:
            if not isinstance(value, dict) or key not in value:
                have = ", ".join(map(str, value)) if isinstance(value, dict) else _kind(value)
                raise UsageError(f"part: {before} has no {key!r}\n  fix: it has {have}")
            value = value[key]
        elif not isinstance(value, list | str) or (not colon and not int(index or 0) < len(value)):
            raise UsageError(f"part: {before} has no {step[0]}\n  fix: it is {_kind(value)}")
        else:
            value = value[int(index or 0) : int(end) if end else None] if colon else value[int(index or 0)]
        at = step.end()
    return value


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"an object with {', '.join(value)}" if isinstance(value, dict) else f"a value: {str(value)[:60]}"


def without(value: Any, left_out: Collection[str], path: str = "", plain: str = "") -> tuple[Any, list[str]]:
    """A document without the keys that a first answer leaves out, and without what is empty below its top; their paths.

    >>> without({"rows": [{"usd": 3, "lines": [1], "note": ""}]}, {"rows.lines"})
    ({'rows': [{'usd': 3}]}, ['rows[0].lines'])
    """
    cut: list[str] = []
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for key, each in value.items():
            here, name = joined(path, key), f"{plain}.{key}".removeprefix(".")
            if name in left_out:
                cut += [here] if each else []
                continue
            if path and (each is None or each in ([], {}, "")):
                continue
            kept[key], more = without(each, left_out, here, name)
            cut += more
        return kept, cut
    if isinstance(value, list):
        made = [without(each, left_out, f"{path}[{index}]", plain) for index, each in enumerate(value)]
        return [each for each, _ in made], [line for _, more in made for line in more]
    return value, cut


def fitted(value: Any, room: int = CHARACTERS, path: str = "") -> tuple[Any, list[str]]:
    """As much of a document as has room, from its beginning; what was cut, each by the path that asks for it.

    >>> fitted({"name": "chat", "rows": ["a" * 30] * 1000}, room=200)
    ({'name': 'chat', 'rows': ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']}, ['rows[1:]: 999 more of 1000'])
    """
    if not isinstance(value, dict | list | str) or len(text(value)) <= room:
        return value, []
    if isinstance(value, dict):
        return _object(value, room - _ENDS, path)
    if isinstance(value, list):
        return _list(value, room - _ENDS, path)
    end = max(room - _ENDS, 20)
    return value[:end], [f"{path}[{end}:]: {len(value) - end} more characters"]


def _object(value: dict[str, Any], room: int, path: str) -> tuple[dict[str, Any], list[str]]:
    """The small values whole; the others share what is left."""
    made: dict[str, Any] = {}
    cut: dict[str, list[str]] = {}
    by_size = sorted(value, key=lambda key: len(text(value[key])))
    for number, key in enumerate(by_size):
        share = room // (len(by_size) - number) - len(key) - 4
        if len(text(value[key])) > max(share, min(_ENDS, room)) and share < _ENDS:
            cut[key] = [f"{joined(path, key)}: {_kind(value[key])}"]
            continue
        made[key], cut[key] = fitted(value[key], max(share, _ENDS), joined(path, key))
        room -= len(key) + 4 + len(text(made[key]))
    return {key: made[key] for key in value if key in made}, [line for key in value for line in cut[key]]


def _list(value: list[Any], room: int, path: str) -> tuple[list[Any], list[str]]:
    kept: list[Any] = []
    for each in value:
        size = len(text(each)) + 1
        if size > room:
            break
        kept.append(each)
        room -= size
    cut: list[str] = []
    if not kept:
        first, cut = fitted(value[0], room, f"{path}[0]")
        kept = [first]
    rest = len(value) - len(kept)
    return kept, [*cut, *([f"{path}[{len(kept)}:]: {rest} more of {len(value)}"] if rest else [])]


def named(cut: Collection[str]) -> Iterator[str]:
    """The first cuts, and how many more there are."""
    for number, line in enumerate(cut):
        if number == CUTS:
            yield f"and {len(cut) - CUTS} more"
            return
        yield line
