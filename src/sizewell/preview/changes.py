"""What becomes of each resource between two plans: created, updated, replaced or deleted, and by which inputs.

Where the engine says what it will replace, that holds. Else the inputs tell that no cloud changes in place: place,
project, name, and what `fixed.py` lists by type; and the options of the program do that ask for a replacement.
"""

from __future__ import annotations

import base64
import hashlib
import pickletools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from sizewell.preview.fixed import is_fixed
from sizewell.resources.graph import Graph
from sizewell.resources.readers.pods import accelerators_asked
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.values import cloud_of, get
from sizewell.sizing.providers import CLOUDS

Kind = Literal["create", "update", "replace", "delete"]
_STACK: Final = "pulumi:pulumi:Stack"
_PLACES: Final = {"region", "zone", "location", "availabilityZone"}
_PART: Final = re.compile(r'\["([^"]*)"\]|\[(\d+|\*)\]|([^.\[\]]+)')
_LONGEST: Final = 48  # characters of a value in a row

# Services that have no region: another region of the provider does not move them.
_GLOBAL: Final = (
    "aws:iam/", "aws:route53/", "aws:cloudfront/", "aws:organizations/", "aws:budgets/", "aws:savingsplans/",
    "aws:costexplorer/", "aws:identitystore/", "aws:ssoadmin/", "aws:account/", "aws:shield/",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One resource that does not stay as it is."""

    urn: str  # as it is named after the change; before it, where it is deleted
    kind: Kind
    differences: tuple[str, ...] = ()  # "instanceClass: db.t3.medium -> db.r6g.large"
    why: tuple[str, ...] = ()  # inputs that make the cloud build it anew, where they are known
    along: str = ""  # "replaced with db", where another resource's replacement is the reason


def changed(before: Plan | None, after: Plan, replaced: frozenset[str] | None = None) -> dict[str, Change]:
    """URN -> what becomes of it, of each resource that does not stay as it is; {} without a before.

    `replaced` are those of which the engine says so; None: no engine was asked. A value that is known on one side only
    is a difference where both sides were read the same way, and none where one of them is the cloud's own record.
    """
    if before is None:
        return {}
    old, new = before.by_urn(), after.by_urn()
    renamed = {alias: urn for urn, each in new.items() for alias in each.aliases if alias in old and alias not in new}
    earlier = {renamed.get(urn, urn): resource for urn, resource in old.items()}
    compared = _Comparison(before, after)
    # A component of another process counts as a resource: what it makes is not in the plan.
    remote = {each.urn for plan in (before, after) for each in plan.hidden if each.urn}
    changes: dict[str, Change] = {}
    for urn, resource in earlier.items():
        if urn not in new and (_counts(resource) or urn in remote):
            changes[urn] = Change(urn=urn, kind="delete")
    for urn, resource in new.items():
        if not _counts(resource) and urn not in remote:
            continue
        was = earlier.get(urn)
        if was is None:
            changes[urn] = Change(urn=urn, kind="replace" if replaced and urn in replaced else "create")
            continue
        differences = list(compared.differences(was, resource))
        fixed = tuple(dict.fromkeys(path for path, _, decides in differences if decides))
        is_replaced = urn in replaced if replaced is not None else bool(fixed)
        if differences or is_replaced:
            changes[urn] = Change(
                urn=urn,
                kind="replace" if is_replaced else "update",
                differences=tuple(text for _, text, _ in differences),
                why=fixed if is_replaced else (),
            )
    return changes if replaced is not None else _with_replaced(changes, earlier, new)


def parts(path: str) -> list[str]:
    """The steps of a path of properties as resource options write it.

    >>> parts('spec.pools[*].labels["a.b/c"]')
    ['spec', 'pools', '*', 'labels', 'a.b/c']
    """
    return [name or index or plain for name, index, plain in _PART.findall(path)]


def _with_replaced(
    changes: dict[str, Change], earlier: Mapping[str, RecordedResource], new: Mapping[str, RecordedResource]
) -> dict[str, Change]:
    """With what is replaced because the program says it is replaced whenever another one is."""
    pending = [urn for urn, each in new.items() if each.replace_with and urn in earlier and _counts(each)]
    while due := [
        (urn, other)
        for urn in pending
        if urn not in changes or changes[urn].kind != "replace"
        for other in new[urn].replace_with
        if other in changes and changes[other].kind == "replace"
    ]:
        for urn, other in due:
            change = changes.get(urn, Change(urn=urn, kind="update"))
            said = f"replaced with {new[other].name}"
            changes[urn] = replace(change, kind="replace", differences=(*change.differences, said), along=said)
            pending = [each for each in pending if each != urn]
    return changes


def _asked(resource: RecordedResource, path: tuple[str, ...], earlier: object, later: object) -> bool:
    """Whether the program asks for a replacement when the value at a path changes."""
    for pattern in map(parts, resource.replace_on_changes):
        if all(part in ("*", step) for part, step in zip(pattern, path, strict=False)) and (
            len(pattern) <= len(path) or any(_within(value, pattern[len(path) :]) for value in (earlier, later))
        ):
            return True
    return False


def _within(value: object, steps: list[str]) -> bool:
    """Whether a value has something at a path."""
    if not steps:
        return value is not None
    if isinstance(value, list | tuple):
        value = {str(place): each for place, each in enumerate(value)}
    if not isinstance(value, Mapping):
        return False
    return any(_within(value[key], steps[1:]) for key in (value if steps[0] == "*" else {steps[0]} & value.keys()))


def _counts(resource: RecordedResource) -> bool:
    """Whether a reader hears of it: components are told by what is in them, default providers by the configuration."""
    return resource.custom and resource.type != _STACK


class _Comparison:
    """Two plans, and what a resource of one is in the other."""

    def __init__(self, before: Plan, after: Plan) -> None:
        self._graphs = Graph(before), Graph(after)
        self._alike = before.origin.startswith("base ") or before.origin == after.origin

    def differences(self, was: RecordedResource, now: RecordedResource) -> Iterator[tuple[str, str, bool]]:
        """(path of the input, in words, whether the cloud cannot change it in place)."""
        asked = accelerators_asked(was, self._graphs[0]), accelerators_asked(now, self._graphs[1])
        if asked[0] != asked[1]:
            yield "accelerators", f"requests {_many(asked[1])}, was {_many(asked[0])}", False
        moved = False
        for path, earlier, later in self._leaves((), was.inputs, now.inputs, now):
            decides = UNKNOWN not in (earlier, later) and (
                is_fixed(now, path, earlier, later) or _asked(now, path, earlier, later)
            )
            moved |= path[-1] in _PLACES
            yield ".".join(path), f"{'.'.join(path)}: {_words(earlier, later, path, now)}", decides
        for name, earlier, later in self._scopes(was, now):
            if not (moved and name == "region"):
                yield name, f"{name}: {earlier or 'none'} -> {later or 'none'}", bool(earlier and later)
        if self._alike and _code_of(was) != _code_of(now):  # which the engine updates, and which may make anything
            yield "__provider", "the code of its provider: changed", False
        # The engine replaces nothing where a trigger is set for the first time or taken away.
        triggers = was.replacement_trigger, now.replacement_trigger
        if triggers[0] != triggers[1] and None not in triggers and UNKNOWN not in triggers:
            yield "replacementTrigger", f"replacementTrigger: {_shown(triggers[0])} -> {_shown(triggers[1])}", True
        for name, earlier, later in (
            ("protect", was.protect, now.protect),
            ("retainOnDelete", was.retain_on_delete, now.retain_on_delete),
        ):
            if earlier != later and self._alike:
                yield name, f"{name}: {_shown(earlier)} -> {_shown(later)}", False

    def _leaves(
        self, path: tuple[str, ...], earlier: object, later: object, resource: RecordedResource
    ) -> Iterator[tuple[tuple[str, ...], object, object]]:
        """Where two values differ, as deep as both are mappings or lists of one length."""
        if earlier is later or (path and path[0] in resource.ignore_changes):
            return
        if isinstance(earlier, Mapping) and isinstance(later, Mapping):
            for key in (*later, *(key for key in earlier if key not in later)):
                if not str(key).startswith("__") and (self._alike or key in later):
                    yield from self._leaves((*path, str(key)), earlier.get(key), later.get(key), resource)
        elif isinstance(earlier, list | tuple) and isinstance(later, list | tuple) and len(earlier) == len(later):
            for index, pair in enumerate(zip(earlier, later, strict=True)):
                yield from self._leaves((*path, str(index)), *pair, resource)
        elif (earlier is UNKNOWN or later is UNKNOWN) and not self._alike:
            return
        elif (earlier is UNKNOWN) != (later is UNKNOWN) or (earlier is not UNKNOWN and not _equal(earlier, later)):
            yield path or ("inputs",), earlier, later

    def _scopes(self, was: RecordedResource, now: RecordedResource) -> Iterator[tuple[str, str, str]]:
        """Region, project and subscription as the provider or the configuration decides them."""
        if now.type.startswith((*_GLOBAL, "pulumi:")):
            return
        regions = [graph.region(each) for graph, each in zip(self._graphs, (was, now), strict=True)]
        if regions[0] != regions[1] and all(isinstance(region, str) and region for region in regions):
            yield "region", str(regions[0]), str(regions[1])
        cloud = CLOUDS.get(cloud_of(now.type))
        if cloud is None or not cloud.account.provider_input:
            return
        name, key = cloud.account.provider_input, cloud.account.config_key
        pair = [self._scope(graph, each, name, (key,)) for graph, each in zip(self._graphs, (was, now), strict=True)]
        if pair[0] != pair[1] and name not in now.inputs and name not in was.inputs:
            yield name, pair[0], pair[1]

    @staticmethod
    def _scope(graph: Graph, resource: RecordedResource, name: str, keys: tuple[str, ...]) -> str:
        provider = graph.provider(resource)
        stated = None if provider is None else provider.inputs.get(name)
        stated = stated or next((graph.plan.config[key] for key in keys if key in graph.plan.config), "")
        return stated if isinstance(stated, str) else ""


DYNAMIC: Final = ("pulumi-python:dynamic", "pulumi-nodejs:dynamic")


def _code_of(resource: RecordedResource) -> str:
    """A digest of what a dynamic provider runs, wherever its files stand; "" for every other resource."""
    code = resource.inputs.get("__provider") if resource.type.startswith(DYNAMIC) else None
    if not isinstance(code, str):
        return ""
    digest = hashlib.sha256()
    try:
        for step, value, _ in pickletools.genops(base64.b64decode(code, validate=True)):
            if step.name != "FRAME" and not (
                isinstance(value, str) and value.startswith("/") and value.endswith(".py")
            ):
                digest.update(f"{step.name} {value!r}\n".encode())
    except ValueError:  # the text of a program in TypeScript
        return code
    return digest.hexdigest()


def _equal(earlier: object, later: object) -> bool:
    """2 and 2.0 and "2" are one value: engines and providers write numbers and flags as text."""
    if earlier == later or (not earlier and not later and earlier is not False and later is not False):
        return True
    plain = (str, int, float)
    return isinstance(earlier, plain) and isinstance(later, plain) and _number(earlier) == _number(later)


def _number(value: object) -> object:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return float(text)
    except ValueError:
        return text


def _words(earlier: object, later: object, path: tuple[str, ...], resource: RecordedResource) -> str:
    """`was -> is` in one line; of a secret nothing but that it changes."""
    joined = ".".join(path)
    if any(joined == secret or joined.startswith(f"{secret}.") for secret in resource.secret_paths):
        return "changed (secret)"
    shown = [_shown(value) for value in (earlier, later)]
    return " -> ".join(shown) if shown[0] != shown[1] else "changed"


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if value is UNKNOWN:
        return "known after deployment"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{len(value)} keys" if len(value) != 1 else "1 key"
    if isinstance(value, list | tuple):
        flat = ", ".join(map(str, value))
        short = all(isinstance(each, str | int | float) for each in value) and 0 < len(flat) <= _LONGEST
        return flat if short else f"{len(value)} entries" if len(value) != 1 else "1 entry"
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{len(text):,} characters"


def _many(accelerators: object) -> str:
    if accelerators is UNKNOWN:
        return "an unknown number of GPUs"
    return "1 GPU" if accelerators == 1 else f"{accelerators or 0} GPUs"


def asks(resource: RecordedResource, graph: Graph) -> str:
    """What pods ask of a cluster that somebody else pays for, "" for what asks for no accelerator."""
    wanted = accelerators_asked(resource, graph)
    if wanted is not UNKNOWN and not wanted:
        return ""
    replicas = get(resource.inputs, "spec", "replicas", default=get(resource.inputs, "spec", "parallelism", default=1))
    each = f", in {replicas} pods" if isinstance(replicas, int) and replicas > 1 else ""
    return f"requests {_many(wanted)}{each}"
