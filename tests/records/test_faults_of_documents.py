"""Whatever is damaged in a JSON document that a person hands over: each fault names its path, in the project's words."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sizewell.preview.render.__main__ import main as render
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.records.decision import Decision
from sizewell.teardown.timeline import read_timeline

ROOT = Path(__file__).resolve().parent.parent.parent
TIMELINE = ROOT / "examples/timelines/weekend.json"
DECISION = ROOT / "stacks/decisions/dev-aws.json"
DAMAGES: tuple[Any, ...] = ("x", -1, [], {}, None, 1e400, "absent", "another key")
LIBRARY = re.compile(r"[Ii]nput should|[Ff]ield required|inputs are not permitted|validation error|Value error|\btype=")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything inside a document; of a list, to its first item."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*path, key)
        yield from places(part, (*path, key))


def damaged(document: Any, path: tuple[Any, ...], damage: Any) -> Any:
    changed = copy.deepcopy(document)
    at = changed
    for step in path[:-1]:
        at = at[step]
    if damage == "absent":
        del at[path[-1]]
    elif damage == "another key" and isinstance(at[path[-1]], dict):
        at[path[-1]]["anothr"] = 1
    else:
        at[path[-1]] = damage
    return changed


def said(read: Any, file: Path) -> str:
    try:
        read(file)
    except SizewellError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("document", "read"), [(TIMELINE, read_timeline), (DECISION, Decision.from_json)], ids=["timeline", "decision"]
)
def test_no_fault_is_told_in_the_words_of_a_library(tmp_path, document, read):
    whole = json.loads(document.read_text(encoding="utf-8"))
    file = tmp_path / "document.json"
    messages = {}
    ways = sorted(places(whole), key=str)
    ways = ways[:: 1 + len(ways) // 150]
    for number, path in enumerate(ways):
        for damage in (DAMAGES[number % 4], DAMAGES[4 + number % 4]):
            file.write_text(json.dumps(damaged(whole, path, damage)), encoding="utf-8")
            messages[path, str(damage)] = said(read, file)
    assert sum(bool(message) for message in messages.values()) > len(ways) / 2
    assert [(where, message) for where, message in messages.items() if LIBRARY.search(message)] == []


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"polls": []}, "polls: unknown key\n  fix: did you mean pools?"),
        ({"steps": "now"}, "steps: must be a list, got 'now'"),
        ({"steps": ["soon"]}, "steps[0]: must be a time such as 2026-11-20T12:00:00Z, got 'soon'"),
    ],
)
def test_the_path_is_written_as_people_write_it(tmp_path, changed, says):
    file = tmp_path / "timeline.json"
    file.write_text(json.dumps({**json.loads(TIMELINE.read_text(encoding="utf-8")), **changed}), encoding="utf-8")
    assert says in said(read_timeline, file)


@pytest.mark.parametrize("value", [[0], [], "0", None])
def test_a_sample_of_another_form_is_one_fault(tmp_path, value):
    whole = json.loads(TIMELINE.read_text(encoding="utf-8"))
    whole["pools"][0]["utilization_percent"] = {"a/0": [value]}
    file = tmp_path / "timeline.json"
    file.write_text(json.dumps(whole), encoding="utf-8")
    message = said(read_timeline, file)
    assert "1 fault\n" in message
    assert "pools[0].utilization_percent.a/0[0]: must be [TIME, VALUE] or [FROM, UNTIL, VALUE], got" in message


def test_a_preview_that_is_none_is_one_line(tmp_path, capsys):
    file = tmp_path / "preview.json"
    schema = json.loads((ROOT / "src/sizewell/schemas/preview.schema.json").read_text(encoding="utf-8"))
    file.write_text(json.dumps({"schema": schema["properties"]["schema"]["const"]}), encoding="utf-8")
    assert render([str(file), "--html", str(tmp_path / "page.html")]) == 64
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "is missing" in line
    assert not LIBRARY.search(line)
