"""`make breaking` finds what a change takes away from users, and nothing else."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import griffe
import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("breaking", ROOT / "tools/breaking.py")
assert SPEC is not None
assert SPEC.loader is not None
breaking = importlib.util.module_from_spec(SPEC)
sys.modules["breaking"] = breaking
SPEC.loader.exec_module(breaking)

PACKAGE = {
    "__init__.py": """
from sizewell.sizes import size
__all__ = ["size"]
""",
    "sizes.py": """
def size(specs, *, on, stack=""): ...
def other(a): ...
""",
    "components/__init__.py": "",
    "components/aws/__init__.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from sizewell.components.aws.cluster import Cluster
__all__ = ["Cluster"]
""",
    "components/aws/cluster.py": """
from typing import NotRequired, TypedDict
class PlaceArgs(TypedDict):
    region: str
class ClusterArgs(PlaceArgs):
    zones: NotRequired[list[str]]
class Cluster:
    def __init__(self, name: str, args: ClusterArgs, opts=None): ...
    def _own(self, a): ...
""",
}


def package(folder: Path, **changed: tuple[str, str]) -> griffe.Module:
    """The package with one text in place of another in each of the named files."""
    for name, text in PACKAGE.items():
        key = name.removesuffix(".py").replace("/", "_")
        old, new = changed.get(key, ("", ""))
        assert old in text
        (folder / "sizewell" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "sizewell" / name).write_text(text.replace(old, new) if old else text)
    found = griffe.load("sizewell", search_paths=[folder], resolve_aliases=True)
    assert isinstance(found, griffe.Module)
    return found


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("sizes", 'on, stack=""', 'on, stack="", dry=False', []),
        ("sizes", "def other(a)", "def another(b)", []),  # not public
        ("components_aws_cluster", "def _own(self, a)", "def _own(self)", []),
        ("components_aws_cluster", "    zones:", "    more: NotRequired[str]\n    zones:", []),
        ("sizes", 'on, stack=""', "on", ["sizewell.sizes.size: parameter was removed"]),
        ("sizes", "*, on", "*, on, by", ["sizewell.sizes.size: parameter was added as required"]),
        ("__init__", '["size"]', "[]", ["sizewell.size: is exported no more"]),
        (
            "components_aws_cluster",
            "    zones:",
            "    more: str\n    zones:",
            ["sizewell.components.aws.cluster.ClusterArgs.more: an argument that is required now"],
        ),
        (
            "components_aws_cluster",
            "    region: str",
            "    region: str\n    account: str",
            ["sizewell.components.aws.cluster.ClusterArgs.account: an argument that is required now"],
        ),
        (
            "components_aws_cluster",
            "    zones: NotRequired[list[str]]",
            "    pass",
            ["sizewell.components.aws.cluster.ClusterArgs.zones: public object was removed"],
        ),
    ],
)
def test_public_names_that_go_or_ask_for_more_are_found(
    tmp_path: Path, file: str, old: str, new: str, says: list[str]
) -> None:
    before, after = package(tmp_path / "before"), package(tmp_path / "after", **{file: (old, new)})
    assert breaking.python_breaks(before, after) == says


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "kind": {"enum": ["batch", "inference"]},
        "traffic": {"anyOf": [{"$ref": "#/$defs/Traffic"}, {"type": "null"}]},
        "zones": {"type": "array", "items": {"type": "string", "pattern": "[a-z]+"}},
    },
    "$defs": {"Traffic": {"type": "object", "properties": {"rps": {"type": "number"}, "users": {"type": "integer"}}}},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    made = json.loads(json.dumps(SCHEMA))
    *way, last = path.split("/")
    at = made
    for part in way:
        at = at[int(part)] if part.isdigit() else at[part]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return made  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("properties/more", {"type": "string"}, []),
        ("properties/kind/enum", ["batch", "inference", "notebook"], []),
        ("properties/name/maxLength", 60, []),
        ("properties/traffic/anyOf", [{"$ref": "#/$defs/Traffic"}, {"type": "null"}, {"type": "string"}], []),
        ("$defs/Traffic/properties/users/type", "number", []),
        ("properties/kind", None, ["kind: gone"]),
        ("required", ["name", "kind"], ["kind: required now"]),
        ("properties/kind/enum", ["batch"], ["kind: takes 'inference' no more"]),
        ("properties/name/maxLength", 20, ["name: maxLength 40 -> 20"]),
        ("properties/name/minLength", 1, ["name: minLength none -> 1"]),
        ("properties/zones/items/pattern", "[a-z]", ["zones[]: another pattern, [a-z]"]),
        ("properties/zones/type", "string", ["zones: takes array no more"]),
        ("properties/traffic/anyOf", [{"$ref": "#/$defs/Traffic"}], ["traffic: takes null no more"]),
        ("$defs/Traffic/properties/rps/type", "integer", ["traffic.rps: takes number no more"]),
        ("$defs/Traffic/required", ["rps"], ["traffic.rps: required now"]),
    ],
)
def test_what_a_document_of_before_meets_in_a_schema_is_found(path: str, value: Any, says: list[str]) -> None:
    assert breaking.schema_breaks(SCHEMA, changed(path, value)) == says


def test_each_schema_takes_what_it_took() -> None:
    for path in (ROOT / "src/sizewell/schemas").glob("*.schema.json"):
        schema = json.loads(path.read_text())
        assert breaking.schema_breaks(schema, schema) == []


def test_a_revision_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert breaking.main(["no-such-tag"]) == 64
    assert "no-such-tag is no revision here\n  fix: name a tag" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("version", "tag", "may"),
    [("0.2.0", "v0.1.9", True), ("0.1.1", "v0.1.0", False), ("1.0.0", "v0.9.0", True), ("1.1.0", "v1.0.0", False)],
)
def test_only_a_version_in_which_things_may_break_breaks_them(version: str, tag: str, may: bool) -> None:
    assert breaking.may_break(version, tag) is may
