"""Runs in the copy that has the further cloud: plans and empties the pool that its program builds, and says what is left."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from sizewell.recording.evaluate import evaluate
from sizewell.sizing.catalog import load
from sizewell.teardown import act, schedules
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import Journal, connect
from sizewell.teardown.leftovers import left_over
from sizewell.teardown.run import Runner
from sizewell.teardown.things import Owner
from tests.teardown import world

ACCOUNT, GROUP = "123456789012", "group-1"


def state_of(project: Path, stack: str) -> list[dict[str, Any]]:
    """The resources that a program builds, as a state has them."""
    return [
        world.resource(
            stack, each.type, each.name, GROUP if each.custom else "", inputs=dict(each.inputs), custom=each.custom
        )
        | {"urn": each.urn, "parent": each.parent}
        for each in evaluate(project, stack).resources
        if each.type != "pulumi:pulumi:Stack"
    ]


def main(project: Path, stack: str) -> dict[str, Any]:
    """What teardown makes of an idle pool, in plain values."""
    nimbus = Path(os.environ["NIMBUS"])  # what the cloud has
    nimbus.write_text(json.dumps({GROUP: {"size": 1, "percent": 0}}))
    shelf, now, catalog = world.Shelf(), datetime.now(UTC).replace(microsecond=0), load()
    shelf.put(stack, *state_of(project, stack))
    backend = world.ShelfBackend(root=project, shelf=shelf)
    settings = {"schema": "sizewell.teardown/1", "journal": f"file://{project}/journal", "mode": "act"}
    config = parse_config(settings)
    journal = Journal(connect(config.journal)).read()

    def reader() -> StatusReader:
        return StatusReader(
            backend=backend, config=config, accounts=lambda _: (ACCOUNT,), catalog=catalog, journal=journal
        )

    first = make_plan(reader(), "shop", now)[0]
    journal.write(
        "notice", now - timedelta(days=1) + timedelta(minutes=5),
        stack=stack, subject="tune", about="idle", action="warn", why="idle", owner="", heard=["webhook 0"],
    )  # fmt: skip
    second = make_plan(reader(), "shop", now)[0]
    runner = Runner(
        backend=backend,
        config=config,
        journal=journal,
        fresh=reader,
        exports=project / "exports",
        project="shop",
        now=lambda: now,
    )
    would = [asdict(result) for result in runner.run(second)]
    client, (pool,) = reader().cloud("nimbus", stack), reader().all(now)[0].pools
    emptied, size = act.empty(client, pool.unit), json.loads(nimbus.read_text())[GROUP]["size"]
    woken = act.wake(client, pool.unit)
    nimbus.write_text(json.dumps({"group-2": {"left": True}}))
    owner = Owner(project="shop", stack=stack)
    left = left_over(client, [ACCOUNT], ["us-east-1"], owner, clusters=["c"], catalog=catalog, on=now.date())
    workflow = yaml.safe_load(schedules.workflow(f"teardown@sha256:{'0' * 64}", ["nimbus"]))
    return {
        "verdicts": [plan.stacks[0].pools[0].action for plan in (first, second)],
        "source": pool.evidence.source,
        "would": [(result["pool"], result["action"], result["outcome"]) for result in would],
        "emptied": emptied,
        "size": size,
        "woken": woken,
        "left": [each.words() for each in left],
        "workflow": workflow["jobs"]["teardown"]["steps"][0]["run"],
        "trust": yaml.safe_load(schedules.trust("shop/infra", ["nimbus"])),
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
