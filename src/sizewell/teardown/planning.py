"""A plan of what would be done: one record for a table, Markdown, JSON and a page. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, Literal

from sizewell.sizing.errors import UsageError
from sizewell.sizing.versions import content
from sizewell.teardown.records import Action

SCHEMA: Final = "sizewell.teardown-plan/1"
HOURS_PER_MONTH: Final = 730


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A piece of a timeline: the machines that were counted, None where nobody counted."""

    start: datetime
    end: datetime
    machines: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What becomes of one pool, or of a stack as a whole (`pool` is "")."""

    stack: str
    pool: str
    action: Action
    clause: str
    why: str
    source: str = ""
    window_s: float = 0.0
    samples_received: int = 0
    samples_due: int = 0
    newest_age_s: float | None = None
    machines: int | None = None
    saves_usd_per_month: Decimal | None = None  # None: not known
    next_step: str = ""
    next_at: datetime | None = None
    advice: str = ""  # what a person does next, where nothing is stopped
    about: str = ""  # the step that its owner has to know of
    tell: bool = False  # whether the owner is notified of it now
    episode: str = ""  # the time of idleness that a notice belongs to
    unwatched: tuple[str, ...] = ()  # what nothing was read of
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPlan:
    """One stack: its own row, its pools', and what is left when they are done."""

    stack: str
    owner: str
    environment: str
    row: Row
    pools: tuple[Row, ...] = ()
    updated: str = ""  # when its state was written, and what stood in it: what is planned holds for no other
    bills_on_usd_per_month: Decimal | None = None  # after what is planned; None: not known
    bills_on: tuple[str, ...] = ()  # what that is, in words
    kept: tuple[str, ...] = ()  # protected resources and stacks beside it
    data: tuple[str, ...] = ()  # what holds data and would go with a destroy
    notes: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    clouds: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()  # stacks that stand beside it: its end, its images, its checkpoints

    @property
    def rows(self) -> tuple[Row, ...]:
        return (self.row, *self.pools)

    def taken(self, named: Collection[str] = ()) -> tuple[Row, ...]:
        """Rows that take something away: a destroy takes its pools with it, but where it is held back since the stack
        holds data and is not `named`, the pools are emptied meanwhile.
        """
        rows = [row for row in self.rows if row.action in ("empty", "destroy")]
        if self.row.action != "destroy":
            return tuple(rows)
        return tuple(rows[1:]) if self.data and self.stack not in named else (self.row,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """An act of a plan that was given, and the state of its stack that the plan was made for."""

    action: str
    updated: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be done with each stack of a backend, at a time."""

    project: str
    at: datetime
    stacks: tuple[StackPlan, ...]
    missing_percent: float = 0.0  # of the pools: telemetry that is missing
    halted: str = ""  # why nothing of it is done
    way_out: str = ""  # of that
    remarks: tuple[str, ...] = ()  # what of the configuration matches nothing, or is over

    @property
    def due(self) -> tuple[Row, ...]:
        """Rows that take something away."""
        return tuple(row for stack in self.stacks for row in stack.rows if row.action in ("empty", "destroy"))

    def counted(self) -> dict[Action, int]:
        """Pools and stacks by what becomes of them."""
        order: tuple[Literal["destroy", "empty", "warn", "unknown", "keep"], ...] = (
            "destroy",
            "empty",
            "warn",
            "unknown",
            "keep",
        )
        rows = [row for stack in self.stacks for row in stack.rows]
        return {action: sum(row.action == action for row in rows) for action in order}


def to_json(plan: Plan) -> dict[str, Any]:
    """The plan as a document, sealed: `run --plan` refuses one that was changed."""
    body = {"schema": SCHEMA, **asdict(plan)}
    body = json.loads(json.dumps(body, default=_plain))
    return {**body, "sha256": _seal(body)}


def must_be_own(
    data: Any, *, project: str, at: datetime, hours_max: float, source: str = "the plan"
) -> dict[tuple[str, str], Approved]:
    """(stack, pool) -> act of what a plan takes away. UsageError where it is no plan, changed, of another project,
    or too old.
    """
    if not isinstance(data, Mapping) or not str(data.get("schema")).startswith(SCHEMA.rpartition("/")[0]):
        raise UsageError(f"{source}: is not a {SCHEMA}\n  fix: sizewell teardown plan --json > plan.json")
    content("teardown-plan", data, source)
    body = {key: value for key, value in data.items() if key != "sha256"}
    if data.get("sha256") != _seal(body):
        raise UsageError(f"{source}: was changed after it was made: its sha256 does not match\n  fix: plan again")
    if body["project"] != project:
        raise UsageError(
            f"{source}: is for project {body['project']}, but this is project {project}\n  fix: make the "
            f"plan in this project"
        )
    made = datetime.fromisoformat(body["at"])
    age_h = (at - made).total_seconds() / 3600
    if not 0 <= age_h <= hours_max:
        age = f"{age_h:.1f} hours old" if age_h >= 0.95 else f"{age_h * 60:.0f} minutes old"
        age = age if age_h > 0 else "from the future"
        raise UsageError(f"{source}: is {age}; a plan older than {hours_max:g} hours is not used\n  fix: plan again")
    return {
        (row["stack"], row["pool"]): Approved(action=row["action"], updated=str(stack.get("updated") or ""))
        for stack in body["stacks"]
        for row in (stack["row"], *stack["pools"])
        if row["action"] in ("empty", "destroy")
    }


def monthly(usd_per_hour: float | None) -> Decimal | None:
    """US dollars per month of what costs so much per hour; None for what nobody knows."""
    return None if usd_per_hour is None else round(Decimal(usd_per_hour) * HOURS_PER_MONTH, 2)


def _seal(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value)
