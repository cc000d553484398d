"""`sizewell evidence` as it is typed, on the real engine, whose clouds list what the stand-ins have."""

from __future__ import annotations

import sys
from pathlib import Path

from evidence_run import Hasty, listed

from sizewell.cli.main import main
from sizewell.evidence import journal, world
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.leftovers import Leftover

if __name__ == "__main__":
    clouds, *words = sys.argv[1:]
    world.in_cloud = lambda _, __, ___, owner: listed(Path(clouds), owner.stack)  # type: ignore[assignment]
    world.left_over = lambda _, __, ___, owner, **____: [  # type: ignore[assignment]
        Leftover(thing=thing, usd_per_month=None) for thing in listed(Path(clouds), owner.stack)
    ]
    world.connects = lambda *_: True  # type: ignore[assignment]
    StatusReader.cloud = lambda *_: None  # type: ignore[assignment,method-assign]
    journal.Clock.sleep = Hasty.sleep  # type: ignore[method-assign]
    sys.exit(main(["evidence", *words]))
