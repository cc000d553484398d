"""What a killed update or a lost answer left is taken into the stack's state, or deleted through it.

Both go through the engine: its providers know how a thing is read and deleted, and what is imported is in the state
before anything is deleted. What meets no resource of the stack is reported, and stays.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sizewell.recording.sources.state import State, read_full_state
from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act
from sizewell.teardown.adoption import Match, Sorted, Wanted, pending_creations, sort_out
from sizewell.teardown.backend import Backend
from sizewell.teardown.orphans import Thing, unknown_to

How = Literal["adopt", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a cloud has with the stack's tag: how much, and of it what is in no state."""

    things: int
    sorted: Sorted
    fault: str = ""  # why the program could not be asked what it would create

    @property
    def orphans(self) -> int:
        """How many things are in no state, as far as tags tell."""
        matched = sum(match.thing is not None for match in self.sorted.matches)
        return matched + len(self.sorted.twice) + len(self.sorted.nobodys)


@dataclass(slots=True)
class Reconciler:
    """Looks at one stack, and takes in or deletes what is in no state."""

    backend: Backend
    stack: str
    things: Callable[[State], Sequence[Thing]]  # everything with the stack's tag, in each of its clouds
    identity_of: Callable[[str, str], str]  # the tag `sizewell-id` of a resource, by its type and name
    _creations: dict[str, Any] = field(default_factory=dict)
    _project: str = ""

    def look(self) -> Found:
        """Ask the cloud, and where something is in no state and not pending the program too. ServiceError where the
        backend does not answer, CloudError where a cloud does not.
        """
        state = self._state()
        self._project = state.project
        things = self.things(state)
        orphans = unknown_to(things, state)
        pending = pending_creations(state)
        found = sort_out(orphans, state, pending, self.identity_of)
        if not found.nobodys:
            return Found(things=len(things), sorted=found)
        try:
            wanted = self._would_create()
        except ServiceError as error:
            return Found(things=len(things), sorted=found, fault=str(error).partition("\n")[0])
        return Found(things=len(things), sorted=sort_out(orphans, state, [*pending, *wanted], self.identity_of))

    def take_in(self, found: Found) -> tuple[Match, ...]:
        """Adopt what matches; what is in the state now. ServiceError where the engine does not do it.

        What carries no tag may not be there at all: where the engine refuses the whole, such are asked for one by one.
        """
        sure = [match for match in found.sorted.matches if match.thing is not None]
        asked = [match for match in found.sorted.matches if match.thing is None]
        if sure:
            self._import(sure)
        if asked:
            try:
                self._import(asked)
            except ServiceError:
                known = {resource.urn for resource in self._state().resources if resource.id}
                for match in asked:
                    if match.wanted.urn not in known:
                        with suppress(ServiceError):  # it is not there: the update had not come to it
                            self._import([match])
        state = self._state()
        if state.pending_operations:
            act.forget_pending(self.backend, self.stack)
            state = self._state()
        known = {resource.urn for resource in state.resources if resource.id}
        return tuple(match for match in found.sorted.matches if match.wanted.urn in known)

    def _import(self, matches: Sequence[Match]) -> None:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            path = Path(folder) / "import.json"
            path.write_text(json.dumps(import_file(self._creations, matches)), encoding="utf-8")
            act.take_in(self.backend, self.stack, path)

    def delete(self, found: Found, *, data: bool, environment: Mapping[str, str]) -> tuple[Match, ...]:
        """Adopt what matches and delete it, and what the state has that depends on it; what holds data stays in the
        state unless `data`. What was deleted.
        """
        going = tuple(match for match in self.take_in(found) if data or not match.data)
        if going:
            act.destroy_some(self.backend, self.stack, [match.wanted.urn for match in going], environment=environment)
        return going

    def _state(self) -> State:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            path = Path(folder) / "state.json"
            self.backend.export(self.stack, path)
            return read_full_state(path)

    def _would_create(self) -> list[Wanted]:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            self._creations = self.backend.creations(self.stack, Path(folder) / "import.json")
        return wanted_of(self._creations, self._project, self.stack)


def wanted_of(creations: Mapping[str, Any], project: str, stack: str) -> list[Wanted]:
    """What the engine's file of creations names, with the URNs that it will have."""
    table = {str(name): str(urn) for name, urn in (creations.get("nameTable") or {}).items()}
    entries = {str(each["name"]): each for each in creations.get("resources") or ()}

    def urn_of(name: str) -> str:
        if name not in entries:
            return table.get(name, "")
        each = entries[name]
        above = urn_of(str(each.get("parent") or ""))
        kind = above.split("::")[2] if above else ""
        kinds = "" if not kind or kind == "pulumi:pulumi:Stack" else f"{kind}$"
        return f"urn:pulumi:{stack}::{project}::{kinds}{each['type']}::{each.get('logicalName') or name}"

    return [
        Wanted(urn=urn_of(name), type=str(each["type"]), name=str(each.get("logicalName") or name), listed=name)
        for name, each in entries.items()
        if not each.get("component")
    ]


def import_file(creations: Mapping[str, Any], matches: Sequence[Match]) -> dict[str, Any]:
    """A file for `pulumi import`: what was pending as the state had it; what only the program names as the engine's
    own file of creations has it, with the components that it hangs from.
    """
    table = dict(creations.get("nameTable") or {})
    entries = {str(each["name"]): each for each in creations.get("resources") or ()}
    resources: dict[str, dict[str, Any]] = {}

    def above(name: str) -> None:
        if name in entries and name not in resources and entries[name].get("component"):
            above(str(entries[name].get("parent") or ""))
            resources[name] = dict(entries[name])

    for number, match in enumerate(matches):
        wanted = match.wanted
        if not wanted.pending:
            above(str(entries[wanted.listed].get("parent") or ""))
            resources[wanted.listed] = {**entries[wanted.listed], "id": match.identity}
            continue
        each = {"type": wanted.type, "name": f"pending-{number}", "logicalName": wanted.name, "id": match.identity}
        for key, urn in (("parent", wanted.parent), ("provider", wanted.provider.rpartition("::")[0])):
            if urn and not urn.split("::")[2].endswith("pulumi:pulumi:Stack"):
                each[key] = f"{key}-{number}"
                table[each[key]] = urn
        resources[each["name"]] = each
    return {"nameTable": table, "resources": list(resources.values())}
