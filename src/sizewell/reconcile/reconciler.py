"""What a killed update or a lost answer left is taken into the stack's state, or deleted through it.

Both go through the engine: its providers know how a thing is read and deleted, and what is imported is in the state
before anything is deleted. What meets no resource of the stack is reported, and stays.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from sizewell import logs
from sizewell.reconcile.adoption import Match, Sorted, Wanted, pending_creations, sort_out, why_kept
from sizewell.recording.sources.state import State, read_full_state
from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act
from sizewell.teardown.backend import Backend
from sizewell.teardown.orphans import unknown_to
from sizewell.teardown.things import Thing

How = Literal["adopt", "delete"]
# How the engine, and the providers' own reads, say that what is to be imported is not there; and words that say that
# nobody could look, whatever else stands in the message ("profile not found").
ABSENT: Final = re.compile(
    r"does not exist|not found|notfound|non-existent remote object|\b404\b|nosuch", re.IGNORECASE
)
UNASKED: Final = re.compile(
    r"credentials|access ?denied|not authori[sz]ed|unauthori[sz]ed|forbidden|token .*expired|expired ?token"
    r"|config profile|throttl|rate exceeded|timed? ?out|(?:status ?code|error|http)\W{0,2}(?:401|403|429|5\d\d)\b",
    re.IGNORECASE,
)


ROUNDS: Final = 5  # of adopting what depends on what the one before adopted; what is left then is listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a cloud has with the stack's tag: how much, and of it what is in no state."""

    things: int
    sorted: Sorted
    fault: str = ""  # why the program could not be asked what it would create

    @property
    def orphans(self) -> int:
        """How many things are in no state, as far as tags, names and the providers tell."""
        found = self.sorted
        return len(found.matches) + len(found.duplicates) + len(found.unmatched) + len(found.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was adopted or deleted, and what was adopted alone, with the reason."""

    done: tuple[Match, ...]
    kept: tuple[tuple[Match, str], ...] = ()


@dataclass(slots=True)
class Reconciler:
    """Looks at one stack, and takes in or deletes what is in no state."""

    backend: Backend
    stack: str
    project: str  # as Pulumi.yaml names it: a state of which nothing stands names none
    things: Callable[[State], Sequence[Thing]]  # everything with the stack's tag, in each of its clouds
    identity_of: Callable[[str, str], str]  # the tag `sizewell-id` of a resource, by its type and name
    _creations: dict[str, object] = field(default_factory=dict)
    _behind: bool = False  # adopting takes away what shows that a state was lost

    def look(self) -> Comparison:
        """Ask the cloud what has the stack's tag, the program what it would create, and the providers whether what
        carries no tag is there. ServiceError where the backend does not respond, CloudError where a cloud does not.
        """
        state = self._state()
        things = self.things(state)
        orphans = unknown_to(things, state)
        logs.log(__name__, "%s: %d resources with its tag, %d in no state", self.stack, len(things), len(orphans))
        wanted, fault = pending_creations(state), ""
        try:
            wanted += self._would_create()
        except ServiceError as error:
            fault = str(error).partition("\n")[0]
        doubtful: frozenset[str] = frozenset()
        while True:
            found = sort_out(orphans, state, wanted, self.identity_of, behind=self._behind, doubtful=doubtful)
            self._behind, asked = found.behind, self._asked(found)
            if not found.behind or doubtful >= set(asked.unseen):
                return Comparison(things=len(things), sorted=asked, fault=fault)
            doubtful |= set(asked.unseen)

    def _asked(self, orphans: Sorted) -> Sorted:
        """What the providers say is there: of what no list of tags shows, and of what one shows, as tags outlive what
        they were on.
        """
        asked = list(orphans.matches)
        unimportable = list(orphans.refused)
        gone: list[Thing] = []
        pending, unseen = list(orphans.pending), list(orphans.unseen)
        while asked:
            try:
                refused = self._refused(asked)
            except ServiceError:  # nobody could be asked: of what a list of tags shows that is enough
                refused = {match.wanted.urn: "not known" for match in asked if match.thing is None}
            for match in asked:
                why = refused.get(match.wanted.urn, "")
                logs.detail(__name__, "%s: %s", match.wanted.urn, why.partition("\n")[0] or "can be imported")
                if why and match.thing is not None:
                    gone += [match.thing] if is_absence(why) else []
                    unimportable += [] if is_absence(why) else [(match.thing, why)]
                elif match.wanted.pending and why:
                    pending.append(match.wanted.urn)
                elif why and not is_absence(why):
                    unseen.append(match.wanted.urn)
            left = [match for match in asked if match.wanted.urn not in refused]
            if not refused or len(left) == len(asked):
                break
            asked = left
        return replace(
            orphans,
            matches=tuple(asked),
            pending=tuple(pending),
            unseen=tuple(unseen),
            gone=tuple(gone),
            refused=tuple(unimportable),
        )

    def _refused(self, matches: Sequence[Match]) -> dict[str, str]:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            path = Path(folder) / "import.json"
            path.write_text(json.dumps(import_file(self._creations, matches)), encoding="utf-8")
            return self.backend.refused_imports(self.stack, path)

    def adopt(self, comparison: Comparison) -> Outcome:
        """Adopt what matches, and what depends on it and is only known once it is in the state (a bucket's policy, once
        the bucket is). ServiceError where the engine does not do it.
        """
        more: Sequence[Match] = comparison.sorted.matches
        done: tuple[Match, ...] = ()
        tried: set[str] = set()
        for _ in range(ROUNDS):
            done += self.adopt_matches(more)
            tried |= {match.wanted.urn for match in more}
            found = self.look().sorted.matches
            more = [match for match in found if match.wanted.urn not in tried and not match.by_name_alone]
            if not more:
                break
        return Outcome(done=done)

    def adopt_matches(self, matches: Sequence[Match]) -> tuple[Match, ...]:
        """Adopt these; which of them are in the state now. ServiceError where the engine does not do it."""
        if matches:
            self._import(matches)
        state = self._state()
        if state.pending_operations:
            act.forget_pending(self.backend, self.stack)
            state = self._state()
        known = {resource.urn for resource in state.resources if resource.id}
        return tuple(match for match in matches if match.wanted.urn in known)

    def _import(self, matches: Sequence[Match]) -> None:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            path = Path(folder) / "import.json"
            path.write_text(json.dumps(import_file(self._creations, matches)), encoding="utf-8")
            act.import_resources(self.backend, self.stack, path)

    def delete(self, comparison: Comparison, *, data: bool, environment: Mapping[str, str]) -> Outcome:
        """Adopt what matches and delete it, and what the state has that depends on it; where one of these is protected,
        or holds data and `data` is not set, it stays in the state. What only its name says to be the stack's is left
        as it is.
        """
        taken = self.adopt_matches([match for match in comparison.sorted.matches if not match.by_name_alone])
        state = self._state()
        reasons = [(match, why_kept(match.wanted.urn, state, data=data)) for match in taken]
        going = tuple(match for match, why in reasons if not why)
        if going:
            act.destroy_some(self.backend, self.stack, [match.wanted.urn for match in going], environment=environment)
        return Outcome(done=going, kept=tuple((match, why) for match, why in reasons if why))

    def _state(self) -> State:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            path = Path(folder) / "state.json"
            self.backend.export(self.stack, path)
            return read_full_state(path)

    def _would_create(self) -> list[Wanted]:
        with tempfile.TemporaryDirectory(prefix="sizewell-reconcile-") as folder:
            self._creations = self.backend.creations(self.stack, Path(folder) / "import.json")
        return wanted_of(self._creations, self.project, self.stack)


def is_absence(refusal: str) -> bool:
    """Whether a provider's refusal to import says that the thing is not there; anything else is not known."""
    return ABSENT.search(refusal) is not None and UNASKED.search(refusal) is None


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

    planned = creations.get("planned") or {}
    wanted = []
    for name, each in entries.items():
        if each.get("component") or str(each["type"]).startswith("pulumi:"):  # a provider stands in no cloud
            continue
        urn = urn_of(name)
        state = planned.get(urn, {})
        wanted.append(
            Wanted(
                urn=urn,
                type=str(each["type"]),
                name=str(each.get("logicalName") or name),
                inputs=state.get("inputs"),
                parent=str(state.get("parent") or ""),
                provider=str(state.get("provider") or ""),
                listed=name,
                needs=tuple(state.get("dependencies") or ()),
            )
        )
    return wanted


def import_file(creations: Mapping[str, Any], matches: Sequence[Match]) -> dict[str, object]:
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

    def provider(name: str) -> None:
        if name in entries and name not in resources:
            above(str(entries[name].get("parent") or ""))
            resources[name] = {key: value for key, value in entries[name].items() if key != "id"}

    for number, match in enumerate(matches):
        wanted = match.wanted
        if not wanted.pending:
            entry = entries[wanted.listed]
            above(str(entry.get("parent") or ""))
            provider(str(entry.get("provider") or ""))
            resources[wanted.listed] = {**entry, "id": match.identity}
            continue
        each = {"type": wanted.type, "name": f"pending-{number}", "logicalName": wanted.name, "id": match.identity}
        for key, urn in (("parent", wanted.parent), ("provider", wanted.provider.rpartition("::")[0])):
            if urn and not urn.split("::")[2].endswith("pulumi:pulumi:Stack"):
                each[key] = f"{key}-{number}"
                table[each[key]] = urn
        resources[each["name"]] = each
    return {"nameTable": table, "resources": list(resources.values())}
