"""Asks a cloud what a stack's pools need of its stock, all at once; answers are kept for minutes."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from sizewell.clouds.calls import CloudError, Deadline, Timeouts, together
from sizewell.clouds.clients import CLIENTS
from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.clouds.stock import aws, azure, gcp
from sizewell.clouds.stock.rows import Got, Question, Row, Stock, of, silent
from sizewell.sizing.catalog.managed import RAW, TITLES
from sizewell.sizing.files import cache_folder, write_whole
from sizewell.sizing.providers.cloud import PerCloud

STOCKS: Final = PerCloud[Stock](aws=aws, gcp=gcp, azure=azure)
KEPT_S: Final = 300.0
AT_ONCE: Final = 32
_NOBODY: Final = Question("", (), dict)


@dataclass(slots=True)
class Kept:
    """Answers that are minutes old, in a file of the user's own; a file that cannot be read or written is none."""

    path: Path = field(default_factory=lambda: cache_folder() / "stock-2.json")
    old: bool = True  # whether what is there is taken
    clock: Callable[[], float] = time.time
    _rows: dict[str, tuple[float, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):  # it may hold anything
            now = self.clock()
            rows = json.loads(self.path.read_text(encoding="utf-8"))
            self._rows = {name: (at, data) for name, (at, data) in rows.items() if 0 <= now - at < KEPT_S}

    def get(self, name: str) -> tuple[float, Any] | None:
        return self._rows.get(name) if self.old else None

    def put(self, name: str, at: float, data: Any) -> None:
        self._rows[name] = (at, data)

    def write(self) -> None:
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(self.path, json.dumps(self._rows))


def stock(
    needs: Needs,
    *,
    total_s: float = 30.0,
    timeouts: Timeouts | None = None,
    kept: Kept | None = None,
    begun: Callable[[str], None] | None = None,
) -> list[Row]:
    """What the stack's cloud says of each pool in each of its zones; at least one row for each pool."""
    cloud = STOCKS[needs.cloud]
    asked = [machines for machines in needs.machines if machines.managed == RAW]
    rows = [_service(machines, needs) for machines in needs.machines if machines.managed != RAW]
    if not asked:
        return rows
    try:
        client = CLIENTS[needs.cloud](Deadline(total_s), timeouts=timeouts)
        account = cloud.account(needs, client)
    except CloudError as error:
        nobody = Got(question=_NOBODY, error=error)
        return rows + [silent(machines, needs.cloud, "", nobody) for machines in asked]
    got = _answers(cloud.questions(needs, client, account), f"{needs.cloud} {account}", kept, begun)
    got |= _answers(cloud.further(needs, client, account, got), f"{needs.cloud} {account}", kept, begun)
    if kept is not None:
        kept.write()
    return [*(row for machines in asked for row in cloud.rows(machines, needs, got)), *rows]


def _service(machines: Machines, needs: Needs) -> Row:
    title = TITLES.get(machines.managed, machines.managed)
    detail = f"{title} publishes no stock of its machines"
    fix = f"sizewell doctor {needs.stack} --cloud compares its quotas" if needs.stack else ""
    return of(machines, needs.cloud, "", "unknown", detail, fix=fix)


def _documented(question: Question) -> Any:
    """The answer to a question; CloudError where its form is not the one that the API documents."""
    try:
        return question.ask()
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        detail = f"the answer is not in the form that {question.source} documents ({type(error).__name__}: {error})"
        raise CloudError(question.source, "unanswered", detail) from error


def _answers(
    questions: Mapping[str, Question], whose: str, kept: Kept | None, begun: Callable[[str], None] | None
) -> dict[str, Got]:
    old = {name: row for name in questions if kept is not None and (row := kept.get(f"{whose} {name}"))}
    asks = {name: partial(_documented, question) for name, question in questions.items() if name not in old}
    fresh = together(asks, begun=begun, at_once=AT_ONCE)
    now = time.time() if kept is None else kept.clock()
    answers: dict[str, Got] = {}
    for name, question in questions.items():
        at, data = old[name] if name in old else (now, fresh[name])
        if isinstance(data, CloudError):
            answers[name] = Got(question=question, error=data)
            continue
        answers[name] = Got(question=question, data=data, at=f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}")
        if kept is not None:
            kept.put(f"{whose} {name}", at, data)
    return answers
