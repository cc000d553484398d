"""A process of a run whose `up` is an engine: to be told to end."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sizewell.cli import evidence
from sizewell.evidence.journal import Clock, Journal, path_of, read
from sizewell.evidence.run import Run
from sizewell.teardown.backend import Backend

from .pretend import Pretend, notes


@dataclass
class Engine(Pretend):
    """A World whose `up` and `take_down` are those of `pulumi` on PATH."""

    backend: Backend = field(default_factory=lambda: Backend(root=Path()))

    def up(self, seconds: float) -> Any:
        return {"resources": len(self.backend.up("trial", timeout_s=seconds))}


def main(words: list[str]) -> int:
    folder, what = Path(words[0]), words[1]
    path, clock = path_of(folder, "trial"), Clock()
    own = read(path) if path.exists() else notes(clock, wanted=["up"])
    journal = Journal(path, own, clock, resumed=path.exists())
    world = Engine(backend=Backend(root=folder, begun=journal.engine))
    run = Run(journal=journal, world=world, clock=clock)
    journal.write()
    return evidence._went(run, run.go if what == "go" else run.down, as_json=True)


if __name__ == "__main__":
    from sizewell.cli import main as cli

    cli._run = main  # type: ignore[assignment]  # what `sizewell` does about an interruption, and this in its place
    sys.exit(cli.main(sys.argv[1:]))
