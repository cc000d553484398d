"""Engine tests run where `pulumi` and its Python language host are on PATH; elsewhere one line says why not."""

from __future__ import annotations

from pathlib import Path

import harness
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = harness.missing()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.engine)
            if reason:
                item.add_marker(pytest.mark.skip(reason=f"engine tests left out: {reason}"))


@pytest.fixture
def engine(tmp_path: Path) -> harness.Engine:
    """The project's own stacks under the real engine."""
    return harness.project(tmp_path)
