"""The journal, locks and conditional writes at one store, as JSON on standard output: `journal_check.py URI`.

Run in .venv-train, which has the clouds' clients, by test_journal_stores.py.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from sizewell.launch.scripts.store import TakenError
from sizewell.teardown.journal import HeldError, Journal, connect

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROUNDS = 6


def race(uri: str, start: Any, over: Any, won: Any) -> None:
    start.wait()
    for number in range(ROUNDS):
        try:
            Journal(connect(uri)).lock(f"race-{number}", NOW)
            won.put(number)
        except HeldError:
            pass
    over.wait()  # a lock of a process that has ended is nobody's any more


def write(uri: str, start: Any, who: int) -> None:
    journal = Journal(connect(uri))
    start.wait()
    for number in range(5):
        journal.write("held", NOW, stack=f"s-{who}", subject=str(number), action="empty", why="", detail="", owner="")


def main(uri: str) -> None:
    context = multiprocessing.get_context("spawn")
    journal = Journal(connect(uri)).read()
    first = journal.write("notice", NOW, stack="dev", subject="train", about="idle", action="warn", why="", owner="")
    lock = journal.lock("dev", NOW)
    told: dict[str, Any] = {"first": first, "number": lock.number}
    lock.must_hold(NOW)
    try:
        Journal(connect(uri)).lock("dev", NOW + timedelta(hours=1))
        told["held"] = "nobody was refused"
    except HeldError:
        told["held"] = "refused"
    lock.release()
    told["after"] = Journal(connect(uri)).lock("dev", NOW).number
    told["fence"] = "stands"
    try:
        lock.must_hold(NOW)
    except HeldError:
        told["fence"] = "refused"
    store = connect(uri)
    store.put("journal/000000009999.json", b"{}")
    store.put("journal/000000009999.json", b"{}")  # an answer was lost: the same bytes count as done
    try:
        store.put("journal/000000009999.json", b"[]")
        told["condition"] = "overwritten"
    except TakenError:
        told["condition"] = "refused"
    start, over, won = context.Event(), context.Barrier(4), context.Queue()
    racing = [context.Process(target=race, args=(uri, start, over, won)) for _ in range(4)]
    for process in racing:
        process.start()
    start.set()
    told["winners"] = sorted(won.get(timeout=120) for _ in range(ROUNDS))
    for process in racing:
        process.join()
    told["more winners"] = not won.empty()
    start = context.Event()
    below = f"{uri}/writers"
    writing = [context.Process(target=write, args=(below, start, who)) for who in range(3)]
    for process in writing:
        process.start()
    start.set()
    for process in writing:
        process.join()
    records = Journal(connect(below)).read().records
    told["records"] = sorted((record["stack"], record["subject"]) for record in records)
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1])
