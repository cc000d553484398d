"""From what is known of a resource to the lines of Python that make it, and the files that those read."""

from __future__ import annotations

import base64
import json
import pprint
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from sizewell.leave import code
from sizewell.leave.code import Block, Code, call
from sizewell.leave.layout import snake
from sizewell.leave.reading import Resource
from sizewell.sdk import classes
from sizewell.sdk.expressions import (
    Answer,
    Asset,
    Attr,
    Call,
    Computed,
    Encoded,
    Expr,
    Func,
    Item,
    Json,
    Lit,
    Map,
    Ref,
    Secret,
    Seq,
    Setting,
    Text,
    is_plain,
    walk,
)

HELPERS: Final = ("text", "document", "content", "manifest", "encoded", "secret")  # of data/files.py
LINES: Final = 4  # a text of more lines is a file
ENTRIES: Final = 24  # and so is a document of more lines


_SERIES: Final = 4  # entries that count on are a loop from here on


@dataclass(frozen=True)
class _Counted:
    """In place of a number that is one more in each entry of a list; `number` is the first."""

    number: int


def _pattern(one: Expr, two: Expr) -> Expr:
    """What two entries have in common, with what is one more in the second counted."""
    if (
        isinstance(one, Map)
        and isinstance(two, Map)
        and [key for key, _ in one.entries] == [key for key, _ in two.entries]
    ):
        pairs = zip(one.entries, two.entries, strict=True)
        return Map(tuple((key, _pattern(left, right)) for (key, left), (_, right) in pairs))
    if (
        isinstance(one, Lit)
        and isinstance(two, Lit)
        and type(one.value) is type(two.value) is int
        and two.value == one.value + 1
    ):
        return Lit(_Counted(one.value))
    return one


def _counted(pattern: Expr) -> list[_Counted]:
    return [each.value for each in walk(pattern) if isinstance(each, Lit) and isinstance(each.value, _Counted)]


def _instance(pattern: Expr, number: int) -> Expr:
    if isinstance(pattern, Map):
        return Map(tuple((key, _instance(each, number)) for key, each in pattern.entries))
    if isinstance(pattern, Lit) and isinstance(pattern.value, _Counted):
        return Lit(pattern.value.number + number)
    return pattern


@dataclass
class Module:
    """What one file uses: packages of SDKs, variables of other files, helpers."""

    packages: set[str] = field(default_factory=set)
    variables: set[str] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)  # modules of Python, and yaml
    settings: set[str] = field(default_factory=set)  # namespaces of the configuration


@dataclass
class Emitter:
    """Writes expressions; `names` are the variables of resources and answers, by URN or key."""

    project: str
    names: Mapping[str, str]
    resources: Mapping[str, Resource]
    files: dict[str, str] = field(default_factory=dict)  # path -> content
    copied: dict[str, str] = field(default_factory=dict)  # paths of the project that are copied, with their kind
    module: Module = field(default_factory=Module)
    stem: str = ""  # of files that are written now

    # -- values -------------------------------------------------------------------------------------------------------

    def value(self, given: Expr, typed: Any = None) -> Code:
        match given:
            case Lit(str() as text):
                return self._long(given) if text.count("\n") >= LINES else code.text(text)
            case Lit(_Counted()):
                return "number"
            case Lit(plain):
                return repr(plain)
            case Map(entries):
                names, types = classes.argument_names(typed)
                inner = classes.inner(typed)
                if not names and _long(given, 2 * ENTRIES):
                    return self._content(given)
                return Block(
                    "{",
                    tuple(
                        (f"{code.quoted(names.get(key, key))}: ", self.value(each, types.get(key, inner)))
                        for key, each in entries
                    ),
                    "}",
                )
            case Seq(entries):
                return self._list(entries, classes.inner(typed))
            case Secret(of):
                if any(isinstance(each, Setting) and each.secret for each in walk(of)):
                    return self.value(of, typed)
                self.module.helpers.add("secret")
                return call("secret", [("", self.value(of, typed))])
            case Func("pulumi.Output.unsecret" as name, of):
                return call(name, [("", self.value(of, typed))])
            case Json(of, style):
                return self._json(given, of, dict(style))
            case Encoded(of):
                self.module.helpers.add("encoded")
                return call("encoded", [("", self.value(of))])
            case Text(parts):
                if sum(str(each.value).count("\n") for each in parts if isinstance(each, Lit)) >= LINES:
                    return self._long(given)
                return call("pulumi.Output.concat", [("", self.value(each)) for each in parts])
            case Asset(kind, of):
                if kind in ("FileAsset", "FileArchive") and isinstance(of, Lit):
                    self.copied[str(of.value)] = kind
                return call(f"pulumi.{kind}", [("", self.value(of))])
            case Ref(urn):
                return self.variable(urn)
        return self._computed(given)

    def _list(self, entries: tuple[Expr, ...], typed: Any) -> Code:
        """A list; entries that are the same but for a number that counts on are a loop."""
        for first in (0, 1):
            series = entries[first:]
            if len(series) < _SERIES or not isinstance(series[0], Map):
                break
            pattern = _pattern(series[0], series[1])
            numbers = [each.number for each in _counted(pattern)]
            if len(set(numbers)) == 1 and all(_instance(pattern, n) == each for n, each in enumerate(series)):
                loop = f"for number in range({numbers[0]}, {numbers[0] + len(series)})"
                whole = Block("*(", (("", self.value(pattern, typed)), ("", loop)), ")", comma="")
                return Block("[", (*(("", self.value(each, typed)) for each in entries[:first]), ("", whole)), "]")
        return Block("[", tuple(("", self.value(each, typed)) for each in entries), "]")

    def variable(self, key: str) -> str:
        name = self.names[key]
        self.module.variables.add(key)
        return name

    def _setting(self, given: Setting) -> str:
        namespace, _, key = given.key.rpartition(":")
        own = namespace == self.project
        self.module.settings.add("" if own else namespace)
        of = "config" if own else f"{snake(namespace)}_config"
        method = "_".join(["require", *(["secret"] if given.secret else []), *([given.read] if given.read else [])])
        return f'{of}.{method}("{key}")'

    def _computed(self, given: Expr) -> Code:
        """A value of an output: looked up in it where the SDK passes that on, else by a function of it."""
        steps: list[Expr] = []
        while isinstance(given, Attr | Item | Call | Func):
            steps.append(given)
            given = given.of
        steps.reverse()
        text = True
        first, second = (*steps, None, None)[:2]
        if isinstance(given, Ref) and isinstance(first, Attr) and isinstance(second, Call):  # the resource's own method
            base = self._step(second, f"{self.variable(given.urn)}.{first.name}")
            text, given, steps = False, second, steps[2:]
        elif isinstance(given, Ref):
            base = self.variable(given.urn)
        elif isinstance(given, Answer):
            base = self.variable(answer_key(given))
        elif isinstance(given, Setting):
            base = self._setting(given)
            if not given.secret:  # a plain text
                for step in steps:
                    base = self._step(step, base)
                return base
        else:
            whole = _flat(self.value(given))
            base = whole if whole.startswith(("pulumi.", "secret(")) else f"pulumi.Output.from_input({whole})"
        if isinstance(given, Ref) and steps and isinstance(steps[0], Attr):
            text = classes.output_is_text(self.resources[given.urn].kind, steps[0].name)
        taken = 0
        for step, following in zip(steps, [*steps[1:], None], strict=False):
            if (
                isinstance(step, Attr)
                and not isinstance(following, Call)
                and ((taken == 0 and not isinstance(given, Call)) or classes.lifts(step.name))
            ):
                base = f"{base}.{step.name}"
            elif isinstance(step, Item) and not isinstance(step.key, slice):
                base = f"{base}[{_key(step.key)}]"
            else:
                break
            taken += 1
        if taken == len(steps):
            return base
        match steps[taken:]:
            case [Func("int" | "float" | "str" as name)]:
                return f"{base}.apply({name})"
        body = "value" if text or taken > 1 else "known[0]"
        for step in steps[taken:]:
            body = self._step(step, body)
        if not text and taken <= 1:
            return f"pulumi.Output.all({base}).apply(lambda known: {body})"
        return f"{base}.apply(lambda value: {body})"

    def _step(self, step: Expr, body: str) -> str:
        match step:
            case Attr(_, name):
                return f"{body}.{name}"
            case Item(_, slice() as key):
                ends = ["" if each is None else str(each) for each in (key.start, key.stop, key.step)]
                return f"{body}[{':'.join(ends if key.step is not None else ends[:2])}]"
            case Item(_, key):
                return f"{body}[{_key(key)}]"
            case Call(_, arguments, named):
                given = [_flat(self.value(each)) for each in arguments]
                return f"{body}({', '.join([*given, *(f'{key}={_flat(self.value(each))}' for key, each in named)])})"
            case Func(name, _, named):
                if "." in name and name.partition(".")[0].isidentifier():
                    self.module.plain.add(name.rpartition(".")[0])
                more = "".join(
                    f", {key}={_flat(code.text(each) if isinstance(each, str) else repr(each))}" for key, each in named
                )
                return f"{name}({body}{more})"
        raise AssertionError(step)

    # -- documents and scripts ----------------------------------------------------------------------------------------

    def whole(self, given: Expr, folder: str) -> Code:
        """A mapping of which nobody knows the names, in a file where it is long."""
        return self._content(given, folder) if _long(given, 4) else self.value(given)

    def _content(self, given: Expr, folder: str = "documents") -> Code:
        values = _Values(given)
        plain = _placeholders(given, values)
        path = self._file(f"{folder}/{self.stem}", ".json", json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
        self.module.helpers.add("content")
        return call("content", [("", code.quoted(path)), *self._filled(values)])

    def _json(self, whole: Expr, of: Expr, style: Mapping[str, Any]) -> Code:
        more = [(f"{key}=", repr(value)) for key, value in style.items()]
        keyed = any(isinstance(key, Computed) for each in walk(of) if isinstance(each, Map) for key, _ in each.entries)
        if keyed or _long(of, ENTRIES):
            values = _Values(of)
            plain = _placeholders(of, values)
            path = self._file(f"documents/{self.stem}", ".json", json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
            self.module.helpers.add("document")
            return call("document", [("", code.quoted(path)), *self._filled(values), *more])
        if is_plain(whole):
            self.module.plain.add("json")
            return call("json.dumps", [("", self.value(of)), *more])
        return call("pulumi.Output.json_dumps", [("", self.value(of)), *more])

    def _long(self, given: Expr) -> Code:
        values = _Values(given)
        content = str(_placeholders(given, values))
        folder, ending = _kind_of(content)
        path = self._file(f"{folder}/{self.stem}", ending, content)
        self.module.helpers.add("text")
        return call("text", [("", code.quoted(path)), *self._filled(values)])

    def _filled(self, values: Mapping[str, Expr]) -> list[tuple[str, Code]]:
        return [(f"{name}=", self.value(each)) for name, each in values.items()]

    def manifest(self, given: Resource) -> Code | None:
        """The inputs of an object of Kubernetes, where they are long enough for a file."""
        whole = Map(tuple(given.inputs.items()))
        names, _ = classes.argument_names(given.typed)
        if "apiVersion" not in given.inputs or any(
            names.get(key, key) != key for key in given.inputs.keys() - {"apiVersion"}
        ):
            return None
        if not _long(whole, ENTRIES):
            return None
        values = _Values(whole)
        plain = _placeholders(whole, values)
        first = {key: plain[key] for key in ("apiVersion", "kind", "metadata") if key in plain}
        content = yaml.dump({**first, **plain}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
        path = self._file(f"manifests/{self.stem}", ".yaml", content)
        self.module.helpers.add("manifest")
        return call("**manifest", [("", code.quoted(path)), *self._filled(values)])

    def _file(self, stem: str, ending: str, content: str) -> str:
        number, path = 1, f"{stem}{ending}"
        while self.files.get(path, content) != content:
            number += 1
            path = f"{stem}_{number}{ending}"
        self.files[path] = content
        return path


def answer_key(given: Answer) -> str:
    return f"answer {given!r}"


def _key(key: object) -> str:
    return code.quoted(key) if isinstance(key, str) else str(key)


def _flat(given: Code) -> str:
    """A piece of code in one line, however long."""
    if isinstance(given, str):
        return given
    between = ", " if given.comma else " "
    return f"{given.start}{between.join(f'{before}{_flat(each)}' for before, each in given.entries)}{given.end}"


def _shape(given: Expr) -> Any:
    match given:
        case Lit(value):
            return value
        case Map(entries):
            return {key: _shape(each) for key, each in entries}
        case Seq(entries):
            return [_shape(each) for each in entries]
        case Json(of) | Encoded(of):
            return _shape(of)
    return "..."


def _long(given: Expr, most: int) -> bool:
    """Whether a document is long enough for a file, and can be one: a secret cannot, nor a text within a text."""
    hard = any(
        isinstance(each, Secret | Asset) or (isinstance(each, Json | Encoded) and not is_plain(each))
        for each in walk(given)
    )
    return not hard and len(pprint.pformat(_shape(given), width=100).splitlines()) > most


class _Values(dict[str, Expr]):
    """What stands in a document under a name, and the document's own text, in which no such name may stand."""

    def __init__(self, whole: Expr) -> None:
        super().__init__()
        self.literal = "\n".join(str(each.value) for each in walk(whole) if isinstance(each, Lit))


def _placeholders(given: Expr, values: _Values) -> Any:
    """A document with a name, `@cluster_arn@`, for each value that is known only after deployment."""
    match given:
        case Lit(value):
            return value
        case Map(entries):
            return {
                _placeholders(key.of, values) if isinstance(key, Computed) else key: _placeholders(each, values)
                for key, each in entries
            }
        case Seq(entries):
            return [_placeholders(each, values) for each in entries]
        case Text(parts):
            return "".join(str(each.value) if isinstance(each, Lit) else _place(each, values) for each in parts)
        case Json(of, style) if is_plain(given):
            return json.dumps(_placeholders(of, values), **dict(style))
        case Encoded(of) if is_plain(given):
            return base64.b64encode(str(_placeholders(of, values)).encode()).decode()
    return _place(given, values)


def _place(given: Expr, values: _Values) -> str:
    name = next((key for key, each in values.items() if each == given), "")
    if not name:
        words = [
            each.name
            for each in walk(given)
            if isinstance(each, Attr) and not each.name.startswith(("split", "rsplit"))
        ]
        roots = [each.urn.rpartition("::")[2] for each in walk(given) if isinstance(each, Ref)]
        base = snake("_".join([*roots[:1], *reversed(words[:2])]) or "value")
        number, name = 1, base
        while name in values or f"@{name}@" in values.literal:
            number += 1
            name = f"{base}_{number}"
        values[name] = given
    return f"@{name}@"


def _kind_of(content: str) -> tuple[str, str]:
    """The folder and the ending of a text's file, by how it begins."""
    first = content.partition("\n")[0]
    if first.startswith("#!"):
        return "scripts", ".py" if "python" in first else ".sh"
    if re.match(r"(import|from) \w+|\"\"\"", content):
        return "scripts", ".py"
    if re.match(r"(apiVersion|kind|[\w-]+):( |$)", first) and not first.startswith("MIME"):
        return "documents", ".yaml"
    return "scripts" if "\n#!" in content or "set -e" in content else "documents", ".txt"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _as_block(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _as_block)
