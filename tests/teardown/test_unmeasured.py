"""What is billed accelerators and is not measured here is named as unknown, with what stops it; its stack is kept."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from world import Shelf, ShelfBackend, component, group

from sizewell.clouds.calls import CloudError
from sizewell.recording.sources.state import read_full_state
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.telemetry.pools import UNMEASURED
from sizewell.teardown.units import CLUSTERS_WITH_MACHINES, UNIT_KINDS, stack_parts

COMPONENTS = Path(__file__).parents[2] / "src/sizewell/components"
MODULES = sorted(
    path
    for path in COMPONENTS.rglob("*.py")
    if re.search(r"\bof_(machines|pool)\(", text := path.read_text(encoding="utf-8")) and "(Owned)" in text
)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_every_component_with_machines_is_looked_at(module: Path) -> None:
    """A component that registers machines is a unit by its kind, or is named."""
    text = module.read_text(encoding="utf-8")
    kinds = set(re.findall(r'\bkind="([a-z]+)"', text))
    named = any(f"class {name}(" in text for name in CLUSTERS_WITH_MACHINES)
    assert named or kinds & set(UNIT_KINDS), f"{module.name} registers machines as {kinds}: no plan names it"


def test_the_modules_are_found() -> None:
    assert len(MODULES) >= 8


def of_kind(kind: str) -> dict[str, Any]:
    made = component("dev-aws", "own", kind=kind, sizedBy=None, measured=None, guard=None)
    return {**made, "type": "sizewell-aws:index:HyperPodCluster"} if kind == "cluster" else made


@pytest.mark.parametrize("kind", UNMEASURED)
def test_it_is_unknown_and_says_what_stops_it(kind: str, tmp_path: Path) -> None:
    """Beside an empty pool too: a stack with a HyperPod cluster is not empty because its pool is."""
    shelf = Shelf()
    shelf.put("dev-aws", component("dev-aws", "chat"), group("dev-aws", "chat", "asg"), of_kind(kind))
    ShelfBackend(root=tmp_path, environment={}, shelf=shelf).export("dev-aws", tmp_path / "state.json")
    state = read_full_state(tmp_path / "state.json")
    units = {unit.name: unit for unit in stack_parts(state, "dev-aws").units}
    assert set(units) == {"chat", "own"}
    reader = cast("StatusReader", None)  # refused before anything is asked
    with pytest.raises(CloudError, match=re.escape(UNMEASURED[kind])):
        StatusReader.observe(reader, units["own"], "dev-aws", datetime(2026, 11, 22, tzinfo=UTC))
    assert "stop" in UNMEASURED[kind] or "to remove it" in UNMEASURED[kind]
