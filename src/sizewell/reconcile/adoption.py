"""Which resource of a stack an orphan is, and by which identity its provider imports it: pure.

An update that was killed leaves what it had begun in the state's pending operations, with type, name and inputs; one
whose answer was lost leaves nothing there, but the program still names what it would build. Both meet what a cloud has
by the tag `sizewell-id`, which follows from project, stack, type and name. What carries no tag (rules, policies,
routes, pools of GKE) is known by the identity that its inputs make up: the provider is asked whether it is there.

Forms of identities are those that the providers document under "Import": data/identities.csv.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from sizewell import csvtables
from sizewell.recording.sources.state import State
from sizewell.recording.wire import UNKNOWN_MARK
from sizewell.teardown.orphans import PARTS, is_of, maker_of, own_tag
from sizewell.teardown.things import ID_TAG, Thing
from sizewell.teardown.units import data_of

_FOLDER: Final = Path(__file__).parent / "data"
_PLACE = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityForm:
    """A row of identities.csv: how the provider names a type on import, where it is not by the end of its ARN or path.

    `of_arn`: {0}, {1}: parts of the ARN's path, {1-}: all from the second on, {arn}: the whole. `of_inputs`: {name} is
    an input, {a.b} one within another, {a|b} the first of two that exists; {project}, {region}, {account} and
    {subscription} are the provider's where the inputs have none.
    """

    type: str
    of_arn: str = ""
    of_inputs: str = ""
    listed: bool = True  # False: it carries tags by which no cloud lists it, so it is looked up by name
    imported: bool = True  # False: its provider's own page says that it cannot be
    source: str


@cache
def identity_forms() -> Mapping[str, IdentityForm]:
    """The rows of identities.csv by type."""
    return {form.type: form for form in csvtables.read(IdentityForm, _FOLDER / "identities.csv")}


def is_listed(kind: str) -> bool:
    """Whether a cloud lists the type by its tags."""
    form = identity_forms().get(kind)
    return form is None or form.listed


def is_importable(kind: str) -> bool:
    """Whether the type's provider imports it at all."""
    form = identity_forms().get(kind)
    return form is None or form.imported


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A resource that the stack has, or would have, and whose creation nobody saw the end of."""

    urn: str
    type: str
    name: str
    inputs: Mapping[str, Any] | None = None  # None: not known
    parent: str = ""  # its URN
    provider: str = ""  # its URN::id
    listed: str = ""  # its name in the engine's file of creations, where only the program names it
    needs: tuple[str, ...] = ()  # URNs of what it depends on

    @property
    def pending(self) -> bool:
        """Whether its creation stands in the state's pending operations."""
        return not self.listed

    @property
    def tagged(self) -> bool:
        """Whether it would carry the tag by which a cloud lists it."""
        return bool(own_tag(self.inputs or {}))

    def may_be_there(self, known: Collection[str], *, behind: bool = False) -> bool:
        """Whether an update can have begun it: all that it depends on is among `known`, the URNs of the state. One that
        is `behind` may lack the component above it, which is in no cloud.
        """
        provider = self.provider.rpartition("::")[0]
        return all(urn in known for urn in (*self.needs, "" if behind else self.parent, provider) if urn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """An orphan and the resource that it is; `thing` None: no list of tags shows it."""

    wanted: Wanted
    identity: str  # as the provider imports it
    thing: Thing | None = None

    @property
    def by_name_alone(self) -> bool:
        """Whether only its name says that it is the stack's: no tag, no operation that had begun, and nothing of the
        state that it hangs on. Another owner may have made it.
        """
        return self.thing is None and not self.wanted.pending and not self.wanted.needs

    @property
    def data(self) -> str:
        """What of value it holds; "" for none."""
        return data_of(self.wanted.type, self.wanted.inputs or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Orphans by what can be done with them."""

    matches: tuple[Match, ...]
    duplicates: tuple[Thing, ...]  # a second one of what is known or matched: a person decides which of them stays
    unmatched: tuple[Thing, ...]  # no resource of the stack: of another release or decision, or made by hand
    pending: tuple[str, ...]  # URNs of creations that are in no cloud, as far as names and tags tell
    unseen: tuple[str, ...] = ()  # URNs of what may be there: it carries no tag, and its identity is not known
    refused: tuple[tuple[Thing, str], ...] = ()  # resources of the stack that no provider imports, and why
    gone: tuple[Thing, ...] = ()  # their tags are still listed
    behind: bool = False  # the state is older than the cloud, which has things whose dependencies it does not know


def pending_creations(state: State) -> list[Wanted]:
    """What an update had begun to create when it ended."""
    return [
        Wanted(
            urn=operation.resource.urn,
            type=operation.resource.type,
            name=operation.resource.name,
            inputs=operation.resource.inputs,
            parent=operation.resource.parent or "",
            provider=operation.resource.provider or "",
        )
        for operation in state.pending_operations
        if operation.type == "creating" and not operation.resource.type.startswith("pulumi:")
    ]


def sort_out(
    orphans: Sequence[Thing],
    state: State,
    wanted: Iterable[Wanted],
    identity_of: Callable[[str, str], str],
    *,
    behind: bool = False,
    doubtful: Collection[str] = (),
) -> Sorted:
    """Which resource each orphan is: by its tag, or where an operation is pending by what its inputs say.

    `identity_of` gives the tag `sizewell-id` of a resource from its type and name. Where a state was lost, or an old
    one restored, the cloud also has what depends on things that cannot be seen; after an update that was killed it
    has not. `behind` says that this is known already; `doubtful` are URNs of which nobody knows whether they stand.
    """
    known = {identity_of(resource.type, resource.name): resource.type for resource in state.resources if resource.id}
    urns = {resource.urn for resource in state.resources} | set(doubtful)
    by_tag: dict[str, list[Thing]] = {}
    for thing in orphans:
        by_tag.setdefault(str((thing.tags or {}).get(ID_TAG, "")), []).append(thing)
    matches: list[Match] = []
    twice = [
        thing for tag, things in by_tag.items() if tag in known for thing in things if is_of(thing.kind, known[tag])
    ]
    made: list[Thing] = []
    refused: list[tuple[Thing, str]] = []
    pending: list[str] = []
    unseen: list[str] = []
    done: set[str] = set()
    untagged: list[Wanted] = []
    for each in wanted:
        tag = identity_of(each.type, each.name)
        if each.urn in done or tag in known:
            continue
        done.add(each.urn)
        things, parts = _split(by_tag.get(tag, []), each.type)
        made += parts
        if len(things) > 1:
            twice += things
        elif things and not is_importable(each.type):
            urns.add(each.urn)
            refused.append((things[0], f"its provider does not import a {each.type.rpartition(':')[2]}"))
        elif things:
            identity = id_from_inputs(each, state) or import_id(each.type, things[0].identity)
            matches.append(Match(wanted=each, identity=identity, thing=things[0]))
            behind = behind or not (each.pending or each.may_be_there(urns))
        elif each.pending or not each.tagged or not is_listed(each.type):
            untagged.append(each)
    while untagged:
        # Whose identity is known can be asked about; a state that a kill cut off may lack even its component.
        near = [
            each
            for each in untagged
            if each.pending or each.may_be_there(urns, behind=behind or bool(id_from_inputs(each, state)))
        ]
        if not near:
            break
        for each in near:
            untagged.remove(each)
            identity = id_from_inputs(each, state)
            if identity and is_importable(each.type):
                matches.append(Match(wanted=each, identity=identity))
            elif each.pending:
                pending.append(each.urn)
            else:
                unseen.append(each.urn)
        if not behind:
            break
        urns |= set(unseen)
    taken = {match.thing.identity for match in matches if match.thing}
    taken |= {thing.identity for thing in (*twice, *made, *(thing for thing, _ in refused))}
    return Sorted(
        matches=tuple(matches),
        duplicates=tuple(twice),
        unmatched=tuple(thing for thing in orphans if thing.identity not in taken),
        pending=tuple(pending),
        unseen=tuple(unseen),
        refused=tuple(refused),
        behind=behind,
    )


def _split(things: Sequence[Thing], type_: str) -> tuple[list[Thing], list[Thing]]:
    """Of what carries the tag of a resource: what may be that resource, and what it made. Where a cloud does not list a
    group, the machines of it do: they name it.
    """
    alike = [thing for thing in things if is_of(thing.kind, type_)]
    if alike:
        return alike, [thing for thing in things if thing not in alike]
    makers = {maker_of(thing, type_): thing for thing in things}
    if makers.keys() - {""}:
        groups = [replace(thing, identity=maker, kind=type_) for maker, thing in makers.items() if maker]
        return groups, list(things)
    return [thing for thing in things if thing.kind not in PARTS], []


def why_kept(urn: str, state: State, *, data: bool) -> str:
    """Why a resource is not destroyed by itself: what would go with it, as it is one of its dependents, is protected
    or holds data (which `data` lets go); "" where it can go.
    """
    going = {urn}
    while True:
        more = {
            each.urn
            for each in state.resources
            if each.urn not in going
            and going & {*each.dependencies, each.parent, (each.provider or "").rpartition("::")[0], each.deleted_with}
        }
        if not more:
            break
        going |= more
    for each in state.resources:
        if each.urn not in going or each.external:
            continue
        what = "" if data or each.retain_on_delete else data_of(each.type, each.inputs)
        reason = "is protected" if each.protect else f"holds data ({what})" if what else ""
        if reason:
            return f"it {reason}" if each.urn == urn else f"{each.name} depends on it and {reason}"
    return ""


def import_id(kind: str, identity: str) -> str:
    """The identity by which a provider imports what a cloud calls `identity` (ARN, asset name, ARM id).

    >>> import_id("aws:ec2/vpc:Vpc", "arn:aws:ec2:us-east-1:123456789012:vpc/vpc-1")
    'vpc-1'
    >>> import_id("gcp:storage/bucket:Bucket", "storage.googleapis.com/petsnap")
    'petsnap'
    """
    if identity.startswith("arn:"):
        return _of_arn(kind, identity)
    host, _, path = identity.partition("/")
    if host.endswith(".googleapis.com"):
        if kind == "gcp:container/nodePool:NodePool":
            return "/".join(path.split("/")[1::2])
        return path
    return identity


def _of_arn(kind: str, arn: str) -> str:
    _, partition, service, region, account, rest = arn.split(":", 5)
    row = identity_forms().get(kind)
    if row is not None and row.of_arn:
        parts = rest.split("/")
        known = {str(place): part for place, part in enumerate(parts)}
        known |= {"region": region, "account": account, "1-": "/".join(parts[1:]), "arn": arn}
        return _PLACE.sub(lambda place: known.get(place[1], ""), row.of_arn).replace("arn:aws:", f"arn:{partition}:")
    if kind == "aws:cloudwatch/logGroup:LogGroup":  # log-group:/aws/vpc/flow
        return rest.partition(":")[2].removesuffix(":*")
    if service in ("ssm", "iam") and "/" in rest:
        return rest.rpartition("/")[2]
    for separator in (":", "/"):
        if separator in rest:
            return rest.rpartition(separator)[2] if service != "cloudwatch" else rest.partition(":")[2]
    return rest


def id_from_inputs(wanted: Wanted, state: State) -> str:
    """The identity that a resource without tags has by its inputs; "" where they do not say it."""
    row = identity_forms().get(wanted.type)
    if row is None or not row.of_inputs or wanted.inputs is None:
        return ""
    given = {**_provider_of(wanted, state), **{key: value for key, value in wanted.inputs.items() if value}}
    parts: list[str] = []
    rest = 0
    for place in _PLACE.finditer(row.of_inputs):
        values = (_at(given, name) for name in place[1].split("|"))
        value = next((value for value in values if isinstance(value, str)), None)
        if value is None or UNKNOWN_MARK in value:
            return ""
        parts += [row.of_inputs[rest : place.start()], value]
        rest = place.end()
    return "".join((*parts, row.of_inputs[rest:]))


def _at(given: Mapping[str, object], path: str) -> object:
    """What stands at a path such as `tag.key`."""
    value: object = given
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _provider_of(wanted: Wanted, state: State) -> dict[str, object]:
    """Where the provider of a resource works, in the words of `IdentityForm.of_inputs`."""
    urn = wanted.provider.rpartition("::")[0]
    provider = next((resource for resource in state.resources if resource.urn == urn), None)
    inputs = provider.inputs if provider is not None else {}
    named = {"project": inputs.get("project"), "region": inputs.get("region"), "location": inputs.get("location")}
    accounts = inputs.get("allowedAccountIds") or []
    accounts = json.loads(accounts) if isinstance(accounts, str) else accounts  # as the engine keeps a provider's lists
    own = str(accounts[0]) if len(accounts) == 1 else None
    return {**named, "subscription": inputs.get("subscriptionId"), "account": own}
