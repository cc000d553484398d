"""The resources of a program, as far as writing it anew has to know them: run twice, with two forms of markers.

What treats a marker as if it were the value's own text does not treat both forms alike, so what comes out the same
both times is where a value comes from. What does not, is `Lost`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from google.protobuf import struct_pb2

from sizewell.leave.code import quoted
from sizewell.leave.texts import merged, read_text
from sizewell.recording.evaluate import evaluate
from sizewell.recording.evaluate.project import read_project
from sizewell.recording.evaluate.run import run
from sizewell.recording.evaluate.traced import Registration, Traced
from sizewell.recording.evaluate.urns import STACK_TYPE
from sizewell.recording.evaluate.values import plain
from sizewell.recording.wire import ARCHIVE, ASSET, RESOURCE, SECRET, SIGNATURE, UNKNOWN_MARK
from sizewell.resources.recorded import Plan
from sizewell.sdk import classes
from sizewell.sdk.expressions import (
    Answer,
    Asset,
    Attr,
    Call,
    Encoded,
    Expr,
    Func,
    Item,
    Json,
    Lit,
    Lost,
    Map,
    Ref,
    Secret,
    Seq,
    Setting,
    Text,
    is_plain,
    walk,
)
from sizewell.sdk.tracing import UNSECRET, Tracer


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource: what the engine hears of it."""

    urn: str
    type: str
    name: str
    kind: Any = field(compare=False)  # its class
    typed: Any = field(compare=False)  # the SDK's class of its inputs
    inputs: Mapping[str, Expr]
    custom: bool
    remote: bool
    read: bool = False  # it is only looked up, by its input `id`
    parent: str = ""
    provider: str = ""  # URN
    dependencies: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[Any, ...] = ()

    @property
    def is_group(self) -> bool:
        """Whether it is a component of the program itself, of which the engine only keeps what it was given."""
        return not self.custom and not self.remote

    @property
    def written(self) -> Mapping[str, Expr]:
        """What is written of its inputs: of a component, what can be; the state keeps the rest of it."""
        if not self.is_group:
            return self.inputs
        return {key: value for key, value in self.inputs.items() if not lost(value, "") and not in_clear(value)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a program asks for."""

    plan: Plan
    resources: Mapping[str, Resource]
    outputs: Mapping[str, Expr]
    decisions: tuple[tuple[str, str], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)  # what traced settings, and texts of them, come to
    organizations: tuple[str, ...] = ()  # where it asks for the stack's organization
    unsettled: tuple[str, ...] = ()  # resources that have not the same name each time that the program runs


_SCALARS: Final = {  # fields of the request: the option's name
    "protect": "protect",
    "retainOnDelete": "retain_on_delete",
    "deleteBeforeReplace": "delete_before_replace",
    "importId": "import_",
    "deletedWith": "deleted_with",
    "version": "version",
    "pluginDownloadURL": "plugin_download_url",
}
_LISTS: Final = {
    "ignoreChanges": "ignore_changes",
    "replaceOnChanges": "replace_on_changes",
    "additionalSecretOutputs": "additional_secret_outputs",
    "replace_with": "replace_with",
    "hideDiffs": "hide_diffs",
}


def read_program(
    root: Path, stack: str, *, stated: Mapping[str, Mapping[str, Any]] | None = None, settings: bool = True
) -> Program:
    """What the program of `root` asks for in a stack; `settings` says whether plain configuration is traced too."""
    plan = evaluate(root, stack)
    first, second = (_run(root, stack, form, stated or {}, settings) for form in (0, 1))
    plainly = _run(root, stack, 0, stated or {}, False) if first.settings else replace(first, resources={}, outputs={})
    again = first
    if any(each.inputs != second.resources.get(urn, each).inputs for urn, each in first.resources.items()) or (
        first.outputs != second.outputs
    ):
        again = _run(root, stack, 0, stated or {}, settings)
    resources = {}
    for urn, resource in first.resources.items():
        other = second.resources.get(urn)
        if other is None:
            continue  # its name follows from a marker, or is random
        third = again.resources.get(urn, resource)
        inputs = {
            key: _same(value, other.inputs.get(key), third.inputs.get(key)) for key, value in resource.inputs.items()
        }
        if (without := plainly.resources.get(urn)) is not None:
            inputs = {key: _agreed(value, without.inputs.get(key), first) for key, value in inputs.items()}
            resources[urn] = replace(resource, inputs=inputs, options=without.options, aliases=without.aliases)
        else:
            resources[urn] = replace(resource, inputs=inputs)
    outputs = {
        key: _same(value, second.outputs.get(key), again.outputs.get(key)) for key, value in first.outputs.items()
    }
    outputs = {key: _agreed(value, plainly.outputs.get(key), first) for key, value in outputs.items()}
    made = {urn for urn, each in first.resources.items() if each.remote}  # by a provider, with all below it
    for each in plan.resources:
        made |= {each.urn} if each.parent in made else set()
    named = {each.urn for each in plan.resources if each.type != STACK_TYPE} - made
    apart = (first.resources.keys() ^ second.resources.keys()) or (named - resources.keys())
    apart |= resources.keys() ^ plainly.resources.keys() if first.settings else set()
    unsettled = tuple(dict.fromkeys(urn.split("::")[2].rpartition("$")[2] for urn in sorted(apart)))
    return replace(first, plan=plan, resources=resources, outputs=outputs, unsettled=unsettled)


def _same(left: Expr, right: Expr | None, again: Expr | None) -> Expr:
    """What both runs say; where they differ, nobody knows what the program does with the value.

    `again` is what another run with the first form of markers says, where there was one.
    """
    if left == right:
        return left
    if (
        isinstance(left, Map)
        and isinstance(right, Map)
        and [k for k, _ in left.entries] == [k for k, _ in right.entries]
    ):
        third = dict(again.entries) if isinstance(again, Map) else {}
        pairs = zip(left.entries, right.entries, strict=True)
        return Map(tuple((k, _same(v, w, third.get(k, v))) for (k, v), (_, w) in pairs))
    if isinstance(left, Seq) and isinstance(right, Seq) and len(left.entries) == len(right.entries):
        listed = again.entries if isinstance(again, Seq) and len(again.entries) == len(left.entries) else left.entries
        return Seq(tuple(map(_same, left.entries, right.entries, listed)))
    if isinstance(left, Secret) and isinstance(right, Secret):
        return Secret(_same(left.of, right.of, again.of if isinstance(again, Secret) else left.of))
    return Lost(
        "the program reads the text of a value that is known only after deployment" if left == again else RANDOM
    )


RANDOM: Final = "it is another value each time that the program runs, by chance or by the clock"


def _agreed(value: Expr, without: Expr | None, program: Program) -> Expr:
    """A value that was made with settings traced, if it is what it is without: the program may compare their texts."""
    match value, without:
        case (_, None) | (Lost(), _):
            return value
        case (Map(left), Map(right)) if [key for key, _ in left] == [key for key, _ in right]:
            pairs = zip(left, right, strict=True)
            return Map(tuple((key, _agreed(each, other, program)) for (key, each), (_, other) in pairs))
        case (Seq(left), Seq(right)) if len(left) == len(right):
            return Seq(tuple(_agreed(each, other, program) for each, other in zip(left, right, strict=True)))
    return value if _settled(_stated(value, program)) == without else Lost("the program reads the text of a setting")


def _stated(value: Expr, program: Program) -> Expr:
    """A value with what settings come to in their place."""
    if repr(value) in program.settings:
        return Lit(program.settings[repr(value)])
    match value:
        case Map(entries):
            return Map(tuple((key, _stated(each, program)) for key, each in entries))
        case Seq(entries):
            return Seq(tuple(_stated(each, program) for each in entries))
        case Text(parts):
            return Text(tuple(_stated(each, program) for each in parts))
        case Json(of, style):
            return Json(_stated(of, program), style)
        case Encoded(of) | Secret(of):
            return type(value)(_stated(of, program))
        case Asset(kind, of):
            return Asset(kind, _stated(of, program))
    return value


def program_folder(root: Path, stack: str) -> Path:
    path = read_project(root, stack).program
    return path if path.is_dir() else path.parent


def _run(root: Path, stack: str, form: int, stated: Mapping[str, Mapping[str, Any]], settings: bool) -> Program:
    traced = Traced(Tracer(form, settings=settings), stated)
    plan = run(root, stack, program=None, config=None, answers=None, replaces=None, traced=traced)
    folder = program_folder(root, stack).resolve()
    reader = _Reader(traced.tracer, {registration.urn for registration in traced.registrations}, folder)
    resources = {each.urn: reader.resource(each) for each in traced.registrations}
    outputs = reader.fields(traced.outputs) if traced.outputs is not None else {}
    expressions = traced.tracer.expressions
    return Program(
        plan=plan,
        resources=resources,
        outputs={key: _exported(value, resources) for key, value in outputs.items()},
        decisions=tuple(dict.fromkeys(traced.tracer.decisions)),
        settings={
            repr(expressions[number][0]): sample
            for number, sample in traced.tracer.samples.items()
            if {each.secret for each in walk(expressions[number][0]) if isinstance(each, Setting)} == {False}
        },
        organizations=tuple(dict.fromkeys(traced.tracer.organizations)),
    )


def _exported(value: Expr, resources: Mapping[str, Resource]) -> Expr:
    """An output of the stack with resources in it as themselves: the SDK sends all properties of one that is exported.

    A component's attributes are of its own class, which the new program does not have: they stay, each as what it is.
    """
    match value:
        case Lit(str() as text) if text in resources:
            return Attr(Ref(text), "urn")
        case Map(entries):
            inner = dict(entries)
            urn = inner.get("urn")
            given = resources.get(str(urn.value)) if isinstance(urn, Lit) and _WHOLE in inner else None
            if given is not None and not given.is_group and (found := classes.of_resource(given.kind)) is not None:
                named = classes.outputs(found[0])
                untyped = given.type.startswith("pulumi:providers:") or not named
                if inner.keys() <= {"id", "urn", _WHOLE, *named} or (untyped and given.kind is found[0]):
                    return Ref(given.urn)
            return Map(tuple((key, _exported(each, resources)) for key, each in entries if key != _WHOLE))
        case Seq(entries):
            return Seq(tuple(_exported(each, resources) for each in entries))
    return value


_WHOLE: Final = "@isPulumiResource"  # so the SDK marks a resource among the outputs, in a preview alone


@dataclass(frozen=True)
class _Reader:
    tracer: Tracer
    urns: set[str]
    folder: Path  # of the program

    def resource(self, given: Registration) -> Resource:
        request = given.request
        options: dict[str, Any] = {}
        if not given.read:
            options = {
                ours: self.sampled(value)
                for theirs, ours in _SCALARS.items()
                if (value := getattr(request, theirs)) not in ("", False)
            }
            for theirs in ("protect", "retainOnDelete"):
                if request.HasField(theirs):
                    options[_SCALARS[theirs]] = getattr(request, theirs)
            if request.deleteBeforeReplaceDefined:
                options["delete_before_replace"] = request.deleteBeforeReplace
            options |= {
                ours: tuple(map(self.sampled, value))
                for theirs, ours in _LISTS.items()
                if (value := getattr(request, theirs, ()))
            }
            if request.HasField("customTimeouts"):
                limits = request.customTimeouts
                options["custom_timeouts"] = {
                    key: self.sampled(getattr(limits, key))
                    for key in ("create", "update", "delete")
                    if getattr(limits, key)
                }
            if plain(request.replacement_trigger) is not None:
                options["replacement_trigger"] = self.value(request.replacement_trigger)
            if request.hooks.ListFields():
                options["hooks"] = True
        return Resource(
            urn=given.urn,
            type=request.type,
            name=request.name,
            kind=given.kind,
            typed=given.inputs,
            inputs={"id": self.looked_up(request)} if given.read else self.fields(request.object),
            custom=given.read or request.custom,
            remote=not given.read and request.remote,
            read=given.read,
            parent=request.parent if request.parent in self.urns else "",
            provider=request.provider.rpartition("::")[0] if request.provider else "",
            dependencies=frozenset(request.dependencies) & frozenset(self.urns),
            options=options,
            aliases=() if given.read else tuple(map(self.alias, request.aliases)),
        )

    def sampled(self, value: Any) -> Any:
        return self.tracer.sampled(value) if isinstance(value, str) else value

    def alias(self, given: Any) -> bytes:
        alias = type(given)()
        alias.CopyFrom(given)
        for message in (alias, alias.spec) if alias.HasField("spec") else (alias,):
            for name, value in message.ListFields():
                if isinstance(value, str):
                    setattr(message, name.name, self.tracer.sampled(value))
        return bytes(alias.SerializeToString())

    def fields(self, struct: Any) -> dict[str, Expr]:
        return {self.tracer.sampled(key): self.value(value) for key, value in sorted(struct.fields.items())}

    def value(self, value: struct_pb2.Value, within: bool = False) -> Expr:
        """A value; `within` says whether it is in a secret: a setting that is one is else taken in clear."""
        kind = value.WhichOneof("kind")
        if kind == "string_value":
            text = self.text(value.string_value)
            secret = any(isinstance(each, Setting) and each.secret for each in walk(text))
            return Func(UNSECRET, text) if secret and not within else text
        if kind == "number_value":
            number = value.number_value
            return Lit(int(number) if number.is_integer() else number)
        if kind == "bool_value":
            return Lit(value.bool_value)
        if kind == "list_value":
            return Seq(tuple(self.value(each, within) for each in value.list_value.values))
        if kind == "struct_value":
            return self._struct(value.struct_value.fields, within)
        return Lit(None)

    def looked_up(self, request: Any) -> Expr:
        of_stack = request.type == "pulumi:pulumi:StackReference"  # takes the name of a stack as a plain text alone
        return self.text(self.tracer.sampled(request.id) if of_stack else request.id)

    def text(self, text: str) -> Expr:
        if UNKNOWN_MARK in text:
            return Lost("it is known only after deployment, and not from which output")
        return _settled(read_text(text, self.tracer.read))

    def _inside(self, path: Expr) -> Expr:
        """A file of the program's folder, from there."""
        if isinstance(path, Lit) and Path(str(path.value)).is_relative_to(self.folder):
            return Lit(str(Path(str(path.value)).relative_to(self.folder)))
        return path

    def _struct(self, given: Any, within: bool) -> Expr:
        signature = given[SIGNATURE].string_value if SIGNATURE in given else ""
        if not signature:
            entries = sorted(given.items())
            return Map(tuple((self.tracer.sampled(key), self.value(each, within)) for key, each in entries))
        if signature == SECRET:
            return Secret(self.value(given["value"], True))
        if signature == RESOURCE:
            return Ref(given["urn"].string_value)
        for kinds, mark in (
            (("FileAsset", "StringAsset", "RemoteAsset"), ASSET),
            (("FileArchive", "AssetArchive", "RemoteArchive"), ARCHIVE),
        ):
            if signature == mark:
                for kind, key in zip(kinds, ("path", "text" if mark == ASSET else "assets", "uri"), strict=True):
                    if key in given and given[key].WhichOneof("kind") not in (None, "null_value"):
                        return Asset(kind, self._inside(self.value(given[key], within)))
        return Lost("it is a value that only the engine can write")


def _settled(value: Expr) -> Expr:
    """An expression with its parts joined where they are plain texts, and lost where a part of it is."""
    match value:
        case Text(parts):
            return _of_a_list(merged(tuple(_settled(each) for each in parts)))
        case Json(of, style):
            return Json(_settled(of), style)
        case Encoded(of):
            return Encoded(_settled(of))
        case Call(Attr(Func("base64.b64encode", Call(Attr(of, "encode"))), "decode")):
            return Encoded(_settled(of))
        case Map(entries):
            return Map(tuple((key, _settled(each)) for key, each in entries))
        case Seq(entries):
            return Seq(tuple(_settled(each) for each in entries))
    return value


def _of_a_list(value: Expr) -> Expr:
    """The first entries of a list in a row, as the joined list that they were."""
    if not isinstance(value, Text) or len(value.parts) < 3:
        return value
    items, between = value.parts[::2], value.parts[1::2]
    first, sign = items[0], between[0]
    if not isinstance(first, Item) or not isinstance(first.of, Item) or first.of.key != slice(None, len(items)):
        return value
    if len(items) == len(between) or any(each != sign for each in between):
        return value
    if any(each != Item(first.of, number) for number, each in enumerate(items)) or not isinstance(sign, Lit):
        return value
    return Func(f"{quoted(str(sign.value))}.join", first.of)


def in_clear(value: Expr) -> bool:
    """Whether a secret is in the program itself: it would be in another one too, in clear."""
    return any(
        isinstance(each, Secret)
        and is_plain(each.of)
        and any(isinstance(part, Lit) and part.value for part in walk(each.of))
        for each in walk(value)
    )


def lost(value: Expr, path: str) -> list[tuple[str, str]]:
    """Where a value is lost, by path, and why."""
    match value:
        case Lost(why):
            return [(path, why)]
        case Map(entries):
            return [each for key, inner in entries for each in lost(inner, f"{path}.{key}")]
        case Seq(entries):
            return [each for number, inner in enumerate(entries) for each in lost(inner, f"{path}[{number}]")]
        case Text(parts):
            return [each for inner in parts for each in lost(inner, path)]
        case Attr(of) | Item(of) | Call(of) | Func(_, of) | Json(of) | Encoded(of) | Secret(of) | Asset(_, of):
            return lost(of, path)
        case Answer():
            return [each for key, inner in value.arguments for each in lost(inner, f"{path} ({value.token}: {key})")]
    return []
