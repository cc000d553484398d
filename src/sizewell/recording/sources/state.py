"""A stack export with all that the engine keeps, for those who act on what stands and not on what a program says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sizewell.recording.sources.files import state_parts
from sizewell.recording.wire import plain_json


@dataclass(frozen=True, slots=True, kw_only=True)
class StateResource:
    """One entry of a state. A URN may stand in several: one that lives, and others that wait for their deletion.

    `inputs` and `outputs` are plain JSON values in the provider's spelling; `resources.recorded.UNKNOWN` stands for a
    secret that is not shown, whose paths are in `secret_paths` (`inputs.password`).
    """

    urn: str
    type: str
    name: str
    id: str = ""  # the provider's; "" for a component, and for what was never built
    custom: bool = True
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    parent: str | None = None
    provider: str | None = None  # URN::id, default providers included
    dependencies: tuple[str, ...] = ()
    deleted_with: str | None = None  # URN of what takes this along when it goes
    protect: bool = False
    retain_on_delete: bool = False
    delete: bool = False  # replaced by an update that did not get to delete it: it still stands and bills
    external: bool = False  # read by the program, and somebody else's
    pending_replacement: bool = False  # gone, and to be built again
    created: datetime | None = None
    modified: datetime | None = None
    init_errors: tuple[str, ...] = ()  # built, and not in order
    secret_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOperation:
    """What the engine had begun when it was stopped: nobody knows whether the cloud did it."""

    type: str  # "creating", "updating", "deleting", "reading", "importing"
    resource: StateResource


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything in a stack export."""

    project: str
    stack: str
    resources: tuple[StateResource, ...]
    pending_operations: tuple[PendingOperation, ...] = ()
    saved: datetime | None = None
    engine: str = ""  # version of the engine that wrote it


def read_full_state(path: Path) -> State:
    """The output of `pulumi stack export`, nothing left out. UsageError where it is not that."""
    resources: list[StateResource] = []
    pending: list[PendingOperation] = []
    manifest: Mapping[str, object] = {}
    for part, value in state_parts(path):
        if part == "resource":
            resources.append(_entry(value))
        elif part == "operation":
            pending.append(PendingOperation(type=str(value["type"]), resource=_entry(value["resource"])))
        else:
            manifest = value
    entries = resources or [operation.resource for operation in pending]
    project, stack = "", ""
    if entries:
        stack, _, rest = entries[0].urn.removeprefix("urn:pulumi:").partition("::")
        project = rest.partition("::")[0]
    return State(
        project=project,
        stack=stack,
        resources=tuple(resources),
        pending_operations=tuple(pending),
        saved=_time(manifest.get("time")),
        engine=str(manifest.get("version") or ""),
    )


def _entry(state: Mapping[str, Any]) -> StateResource:
    secrets: list[str] = []
    urn = str(state["urn"])
    return StateResource(
        urn=urn,
        type=str(state["type"]),
        name=urn.split("::", 3)[3],
        id=str(state.get("id") or ""),
        custom=bool(state.get("custom", False)),
        inputs={key: plain_json(value, f"inputs.{key}", secrets) for key, value in (state.get("inputs") or {}).items()},
        outputs={
            key: plain_json(value, f"outputs.{key}", secrets) for key, value in (state.get("outputs") or {}).items()
        },
        parent=state.get("parent") or None,
        provider=state.get("provider") or None,
        dependencies=tuple(state.get("dependencies") or ()),
        deleted_with=state.get("deletedWith") or None,
        protect=bool(state.get("protect")),
        retain_on_delete=bool(state.get("retainOnDelete")),
        delete=bool(state.get("delete")),
        external=bool(state.get("external")),
        pending_replacement=bool(state.get("pendingReplacement")),
        created=_time(state.get("created")),
        modified=_time(state.get("modified")),
        init_errors=tuple(str(error) for error in state.get("initErrors") or ()),
        secret_paths=tuple(secrets),
    )


def _time(value: object) -> datetime | None:
    """An RFC 3339 time in UTC; None where the engine has written none (the year 1 stands for it)."""
    if not isinstance(value, str) or value.startswith("0001-"):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
