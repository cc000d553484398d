"""Bounds in the types of arguments: checked for each component, kept where other languages use it, printed."""

import ast
import inspect
import sys
import textwrap
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

import pytest

from sizewell.components.bounds import Between, Bound, OneOf, Pattern, bounds_of, hide_bounds
from sizewell.components.faults import Faults
from sizewell.components.forms import StorageArgs
from sizewell.components.inventory import args_type, clouds, component_classes
from sizewell.sizing.errors import Fault

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import component_reference


class DiskArgs(TypedDict):
    gib: Annotated[int, Between(30, 100, fix="it holds the driver")]
    days: NotRequired[Annotated[int, Between(7, 365)]]
    mode: NotRequired[Annotated[str, OneOf(("spot", "on-demand"))]]
    tier: NotRequired[Annotated[int, OneOf((125, 250))]]
    bucket: NotRequired[Annotated[str, Pattern(r"s3://\w+", "an s3:// location")]]


def found(args: dict[str, object], shape: type = DiskArgs) -> list[Fault]:
    faults = Faults("Disk d")
    faults.out_of_bounds(args, shape)
    return faults.found


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({"gib": 29}, "gib: must be a whole number, 30 to 100, got 29\n  fix: it holds the driver"),
        ({"gib": True}, "gib: must be a whole number, 30 to 100, got True\n  fix: it holds the driver"),
        ({}, "gib: must be a whole number, 30 to 100, got None\n  fix: it holds the driver"),
        ({"gib": 30, "days": 366}, "days: must be a whole number, 7 to 365, got 366"),
        ({"gib": 30, "days": 7.0}, "days: must be a whole number, 7 to 365, got 7.0"),
        ({"gib": 30, "mode": "sopt"}, "mode: must be one of spot, on-demand; did you mean spot?, got 'sopt'"),
        ({"gib": 30, "mode": ["spot"]}, "mode: must be one of spot, on-demand; did you mean spot?, got ['spot']"),
        ({"gib": 30, "tier": 200}, "tier: must be one of 125, 250, got 200"),
        ({"gib": 30, "bucket": "gs://b"}, "bucket: must be an s3:// location, got 'gs://b'"),
    ],
)
def test_what_is_out_of_bounds_is_refused(args, sentence):
    assert [str(fault) for fault in found(args)] == [sentence]


def test_what_may_be_left_out_and_is_holds():
    assert found({"gib": 100}) == []
    assert found({"gib": 30, "days": 365, "mode": "spot", "tier": 125, "bucket": "s3://b"}) == []


def test_bounds_outlive_the_annotations_and_bases_give_theirs():
    class MoreArgs(StorageArgs):
        days: NotRequired[Annotated[int, Between(1, 2)]]

    before = bounds_of(MoreArgs)
    assert {"bytes_needed", "environment", "days"} == set(before)
    hide_bounds(MoreArgs)
    hide_bounds(MoreArgs)
    assert bounds_of(MoreArgs) == before
    assert MoreArgs.__annotations__["days"] == NotRequired[int]
    assert found({"environment": "dev", "bytes_needed": 1, "days": 3}, MoreArgs)


def beside(bound: Bound) -> list[object]:
    """Values next to what a bound allows."""
    return [bound.low - 1, bound.high + 1] if isinstance(bound, Between) else ["no such choice"]


def within(bound: Bound) -> list[object]:
    return [bound.low, bound.high] if isinstance(bound, Between) else list(getattr(bound, "choices", ()))


@pytest.mark.parametrize("cloud", clouds())
def test_each_component_holds_to_its_bounds(cloud: str):
    for shape in map(args_type, component_classes(cloud)):
        for key, bound in bounds_of(shape).items():
            refused = [any(fault.path == key for fault in found({key: value}, shape)) for value in beside(bound)]
            allowed = [all(fault.path != key for fault in found({key: value}, shape)) for value in within(bound)]
            assert all(refused + allowed), (shape, key)


def stated(shape: type) -> set[str]:
    """Keys whose type has a bound where it is written, those of the bases included."""
    body = ast.parse(textwrap.dedent(inspect.getsource(shape))).body[0]
    assert isinstance(body, ast.ClassDef)
    bases = [getattr(sys.modules[shape.__module__], ast.unparse(base), None) for base in body.bases]
    inherited = [stated(base) for base in bases if hasattr(base, "__required_keys__")]
    fields = [node for node in body.body if isinstance(node, ast.AnnAssign)]
    own = {ast.unparse(node.target) for node in fields if "Annotated[" in ast.unparse(node.annotation)}
    return own.union(*inherited)


@pytest.mark.parametrize("cloud", clouds())
def test_none_is_lost_where_annotations_are_plain(cloud: str):
    for shape in map(args_type, component_classes(cloud)):
        assert stated(shape) == set(bounds_of(shape)), shape
        assert not any("Annotated" in str(hint) for hint in shape.__annotations__.values()), shape


def test_the_reference_prints_them():
    page = component_reference.reference()["docs/reference/components.md"]
    assert "| `max_concurrency` | integer, 1 to 200 |" in page
    assert "| `environment` | string, one of dev, staging, prod |" in page
