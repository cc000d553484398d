"""What a reviewer reads, in twelve situations. A change shows as a diff; refresh with the command in the failure."""

import difflib
import json
import os
from pathlib import Path

import jsonschema
import pytest
from situations import SITUATIONS

from sizewell.preview.render import json as as_json
from sizewell.preview.render import markdown, terminal

GOLDENS = Path(__file__).parent / "goldens"
REFRESH = "SIZEWELL_REFRESH=1 .venv/bin/pytest -q -p no:xdist tests/preview/test_goldens.py"


def check(name, text):
    path = GOLDENS / name
    if os.environ.get("SIZEWELL_REFRESH"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    stands = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != stands:
        lines = difflib.unified_diff(stands.splitlines(), text.splitlines(), "golden", "now", lineterm="", n=1)
        pytest.fail("\n".join([*list(lines)[:60], f"refresh: {REFRESH}"]), pytrace=False)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_comment(name):
    comment = markdown.render(SITUATIONS[name]())
    assert len(comment) <= markdown.LIMIT
    assert comment.count("<details>") == comment.count("</details>")
    check(f"{name}.md", comment)


@pytest.mark.parametrize("name", ["purchase", "multi_stack", "unpriced"])
def test_the_terminal(name):
    text = terminal.render(SITUATIONS[name]())
    assert max(len(line) for line in text.splitlines()) <= 100
    check(f"{name}.txt", text)


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_json_follows_its_schema(name):
    data = json.loads(as_json.render(SITUATIONS[name]()))
    jsonschema.validate(data, as_json.preview_schema(), cls=jsonschema.Draft202012Validator)
    assert data["schema"] == "sizewell.preview/1"


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_json_comes_in_pieces_and_is_the_same_text(name):
    preview = SITUATIONS[name]()
    pieces = list(as_json.pieces(preview))
    assert "".join(pieces) == preview.to_json()
    rows = [row for stack in preview.stacks for row in (*stack.rows, *stack.unchanged.rows)]
    assert len(pieces) > 2 * len(rows), "no piece holds more than a row, a finding or what is left without them"


def test_the_published_schema_is_the_one_in_force():
    path = Path(__file__).parents[2] / "src/sizewell/schemas/preview.schema.json"
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(as_json.preview_schema()))
