"""One name: nothing of the package is loaded under another, and what is public can be found."""

from __future__ import annotations

import graphlib
import importlib
import subprocess
import sys
from pathlib import Path

import grimp

import sizewell

ROOT = Path(__file__).parents[2]
OTHERS = ("cli", "components", "launch", "policy", "preview", "recording", "resources", "sizing", "stacks")
PUBLIC = {
    "sizewell": sizewell.__all__,
    "sizewell.stacks": ["run"],
    "sizewell.preview": ["Preview", "Request", "run"],
    "sizewell.components.aws": ["GpuNodeGroup", "SpotFleet", "EksCluster", "CheckpointStore", "TtlGuard"],
    "sizewell.components.gcp": ["GkeCluster", "AcceleratorPool", "CheckpointStore", "TtlGuard"],
    "sizewell.components.azure": ["AksCluster", "GpuScaleSet", "CheckpointStore", "TtlGuard"],
    "sizewell.components.kubernetes": ["Queueing", "ServedModel", "TrainingRun"],
}

TWICE = """
import collections, pathlib, runpy, sys
from sizewell.recording.evaluate import evaluate
from sizewell.cli.main import main
main(["size", "examples/chat.yaml", "--on", "2026-09-20", "--json"])
evaluate(pathlib.Path("."), "dev-aws")
import sizewell.policy.session, sizewell.preview.pipeline
names = collections.defaultdict(list)
for name, module in list(sys.modules.items()):
    file = getattr(module, "__file__", None)
    if file and name != "__main__":
        names[pathlib.Path(file).resolve()].append(name)
root = pathlib.Path(sys.modules["sizewell"].__file__).resolve().parent
print([sorted(found) for file, found in names.items() if len(found) > 1 and file.is_relative_to(root)], file=sys.stderr)
"""


def test_no_module_is_loaded_under_two_names() -> None:
    """From the repository's root, where `components` and `sizing` are links to folders of the package."""
    done = subprocess.run(
        [sys.executable, "-c", TWICE], cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_links_lead_into_the_package_and_hold_nothing_of_their_own() -> None:
    for name in ("components", "sizing"):
        link = ROOT / name
        if link.exists():  # an archive may leave links out; nothing needs them
            assert link.is_symlink()
            assert link.resolve() == ROOT / "src" / "sizewell" / name


def test_no_two_files_import_each_other() -> None:
    """`graphlib` names the circle, if there is one; imports for type checkers count too."""
    graph = grimp.build_graph("sizewell", include_external_packages=False)
    order = graphlib.TopologicalSorter(
        {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    )
    assert len(list(order.static_order())) > 500


def test_public_names_are_there() -> None:
    for module, names in PUBLIC.items():
        loaded = importlib.import_module(module)
        for name in names:
            assert getattr(loaded, name) is not None, f"{module}.{name}"
            assert name in loaded.__all__, f"{module}.{name}"


def test_each_cloud_s_components_are_public() -> None:
    from sizewell.components.inventory import clouds, component_classes

    for cloud in clouds():
        public = set(importlib.import_module(f"sizewell.components.{cloud}").__all__)
        assert {component.__name__ for component in component_classes(cloud)} == public


def test_old_names_are_banned(tmp_path: Path) -> None:
    wrong = "\n".join(f"import {name}" for name in OTHERS if name not in ("recording", "stacks"))
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", "--select", "TID251", "--stdin-filename", "a.py", "-"],
        input=wrong, capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.count("TID251") == wrong.count("\n") + 1, done.stdout + done.stderr
