"""A process of `sizewell evidence` on the real engine, whose clouds list what the stand-ins have: to be killed.

Words: the project, the stand-ins' folder, `go` or `down`, the stacks in the order in which they come up.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sizewell.evidence import world
from sizewell.evidence.journal import Clock, Journal, Notes, path_of, read
from sizewell.evidence.run import Run
from sizewell.sizing.catalog import load
from sizewell.teardown.backend import Backend
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.leftovers import Leftover
from sizewell.teardown.things import TAG, Thing

UNLISTED = ("aws:iam/role:Role", "aws:iam/instanceProfile:InstanceProfile", "aws:iam/policy:Policy")


class Hasty(Clock):
    """Waits for a stand-in take no half minutes."""

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.2))


def tags_of(inputs: dict[str, Any]) -> dict[str, str]:
    for key in ("tags", "userLabels", "resourceLabels", "labels"):
        held = inputs.get(key)
        if isinstance(held, dict) and "managed-by" in held:
            return held
        if isinstance(held, list):
            return {tag["key"]: tag["value"] for tag in held}
    return {}


def listed(clouds: Path, stack: str) -> list[Thing]:
    """What the clouds list with a stack's tag."""
    things = []
    for path in sorted(clouds.glob("*.json")):
        if path.name == "orders.json":
            continue
        for key, each in json.loads(path.read_text()).items():
            tags = tags_of(each["inputs"])
            if each["type"] not in UNLISTED and tags.get(TAG) == stack:
                things.append(Thing(identity=key, kind=each["type"], tags=tags))
    return things


def account(project: Path, clouds: Path, stacks: list[str], *, resumed: bool) -> Run:
    clock, path = Hasty(), path_of(project, stacks[-1])
    cloud = stacks[-1].rpartition("-")[2]
    if resumed:
        notes = read(path)
    else:
        now = clock.now_s()
        stage_s: Any = {"rights": 9, "up": 900, "reachable": 9, "guard": 9, "destroyed": 900, "inventory": 60}
        notes = Notes(
            schema="sizewell.evidence-run/1",
            stack=stacks[-1],
            stacks=stacks,
            wanted=["up", "reachable"],
            usd_limit=5,
            seconds_limit=7200,
            usd_per_hour_max=0.5,
            usd_once_max=0,
            stage_s=stage_s,
            versions={"sizewell": "0.1.0"},
            machines=[],
            clouds=[cloud],
            regions=["us-east-1"],
            started_s=now,
            seen_s=now,
        )

    def fresh() -> StatusReader:
        config = parse_config({"schema": "sizewell.teardown/1", "mode": "act", "journal": f"file://{project}/journal"})
        return StatusReader(
            backend=Backend(root=project, begun=journal.engine),
            config=config,
            accounts=lambda _: ("stand-in",),
            catalog=load(),
        )

    world.in_cloud = lambda _, __, ___, owner: listed(clouds, owner.stack)  # type: ignore[assignment]
    world.left_over = lambda _, __, ___, owner, **____: [  # type: ignore[assignment]
        Leftover(thing=thing, usd_per_month=None) for thing in listed(clouds, owner.stack)
    ]
    StatusReader.cloud = lambda *_: None  # type: ignore[assignment,method-assign]
    journal = Journal(path, notes, clock, resumed=resumed)
    own = world.Account(
        root=project,
        project="sizewell",
        journal=journal,
        clock=clock,
        fresh=fresh,
        checks=list,
        connect=lambda *_: True,
    )
    return Run(journal=journal, world=own, clock=clock, say=lambda text: print(datetime.now(UTC), text, flush=True))


def main(words: list[str]) -> int:
    project, clouds, what, *stacks = words
    exists = path_of(Path(project), stacks[-1]).exists()
    run = account(Path(project), Path(clouds), stacks, resumed=exists)
    if not exists:
        run.journal.write()
    print(what, flush=True)
    return 0 if (run.go() if what == "go" else run.down("not asked for")) else 69


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
