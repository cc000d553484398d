"""States of a backend's stacks, each exported once for as long as nobody writes it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from sizewell.recording.sources.files import read_state
from sizewell.recording.sources.state import State, read_full_state
from sizewell.resources.recorded import Plan
from sizewell.teardown.backend import Backend, Listed
from sizewell.teardown.units import clusters_of


@dataclass(frozen=True, slots=True)
class Exports:
    """The states of a backend; `cache`: a folder that keeps them, None: none does."""

    backend: Backend
    cache: Path | None = None

    def state(self, stack: Listed) -> State:
        """The state of a stack with ids, outputs and pending operations."""
        with tempfile.TemporaryDirectory(prefix="sizewell-teardown-") as folder:
            return read_full_state(self._exported(stack, Path(folder)))

    def plan(self, stack: Listed) -> Plan:
        """The resources of a stack, as they are priced."""
        with tempfile.TemporaryDirectory(prefix="sizewell-teardown-") as folder:
            return read_state(self._exported(stack, Path(folder)))

    def _exported(self, stack: Listed, folder: Path) -> Path:
        """The raw state of a stack in a file: exported again only where it was written since."""
        key = f"{stack.name}.{stack.updated.replace(':', '').replace('/', '')}.json"
        kept = self.cache / key if self.cache and stack.updated else None
        if kept is not None and kept.exists():
            return kept
        path = folder / "state.json"
        self.backend.export(stack.name, path)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            for older in kept.parent.glob(f"{stack.name}.*.json"):
                older.unlink(missing_ok=True)
            _put(path.read_bytes(), kept)
        return path


def clusters_by_stack(backend: Backend) -> dict[str, tuple[str, ...]]:
    """The Kubernetes clusters that each stack of a backend has, by stack. ServiceError where a state cannot be read."""
    named = {}
    with tempfile.TemporaryDirectory(prefix="sizewell-teardown-") as folder:
        for stack in backend.stacks():
            path = Path(folder) / "state.json"
            backend.export(stack.name, path)
            named[stack.name] = clusters_of(read_full_state(path))
    return named


def _put(data: bytes, path: Path) -> None:
    """Whole or not at all: another run reads the same cache."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)
