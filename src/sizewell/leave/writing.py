"""The files of the new program, as texts by path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata, resources
from typing import Any, Final

from sizewell.leave import code
from sizewell.leave.code import Block, Code, call
from sizewell.leave.emit import HELPERS, Emitter, Module, answer_key
from sizewell.leave.layout import NOTES, cut, ordered, snake, subject, variables
from sizewell.leave.reading import Program, Resource
from sizewell.sdk import classes
from sizewell.sdk.aliases import alias_of
from sizewell.sdk.expressions import Answer, Map, Ref, Secret, walk

PACKAGE: Final = "resources"  # the folder of the program's own modules
LONGEST: Final = 230  # lines of resources in a file


class Writer:
    """One program, written anew."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.resources = program.resources
        self.answers = _answers(program)
        self._providers: dict[str, set[str]] = {}
        self.needs = {key: self._needs(key) for key in [*self.answers, *self.resources]}
        self._providers = self._inherited()
        self.needs = {key: self._needs(key) for key in [*self.answers, *self.resources]}
        named = [(key, each.name, _kind_name(each)) for key, each in self.resources.items()]
        named += [
            (key, each.function.rpartition(":")[2].removesuffix("_output").removeprefix("get_"), "Answer")
            for key, each in self.answers.items()
        ]
        self.emitter = Emitter(program.plan.project, variables(named, _taken(self.resources)), self.resources)

    # -- what depends on what -----------------------------------------------------------------------------------------

    def _needs(self, key: str) -> frozenset[str]:
        if key in self.answers:
            given = self.answers[key]
            refs = {each.urn for each in walk(given) if isinstance(each, Ref)} | {given.provider}
            return frozenset(refs & self.resources.keys())
        resource = self.resources[key]
        found = {resource.parent, resource.provider, *resource.dependencies, resource.options.get("deleted_with", "")}
        found |= set(resource.options.get("replace_with", ()))
        found |= self.uses(resource) | self._providers.get(key, set())
        found |= {
            answer_key(each) for value in resource.written.values() for each in walk(value) if isinstance(each, Answer)
        }
        return frozenset((found & (self.resources.keys() | self.answers.keys())) - {key})

    def uses(self, resource: Resource) -> set[str]:
        """The resources of which an input is, and not by way of a provider's function."""
        values = resource.written.values()
        return {each.urn for value in values for each in walk(value, but=(Answer,)) if isinstance(each, Ref)}

    def _inherited(self) -> dict[str, set[str]]:
        """The providers that a component gives all below it: one of each package, where all have the same."""
        below: dict[str, dict[str, set[str]]] = {}
        for each in self.resources.values():
            parent = each.parent
            while parent and each.custom:
                below.setdefault(parent, {}).setdefault(each.type.partition(":")[0], set()).add(each.provider)
                parent = self.resources[parent].parent
        given: dict[str, set[str]] = {}
        for key, packages in below.items():
            if not self.resources[key].custom:
                same = {
                    next(iter(found)) for package, found in packages.items() if package != "pulumi" and len(found) == 1
                }
                given[key] = {urn for urn in same - {""} if key not in self._all_needs(urn)}
        return given

    def _all_needs(self, key: str) -> set[str]:
        """What is made before something, however far."""
        found: set[str] = set()
        left = [key]
        while left:
            more = self.needs.get(left.pop(), frozenset()) - found
            found |= more
            left += more
        return found

    def _place(self, key: str) -> tuple[str, str]:
        if key in self.answers:
            users = [each for each, needs in self.needs.items() if key in needs]
            return self._place(users[0]) if users else ("", "resources")
        resource, name = self.resources[key], ""
        about = "resources" if not resource.custom or resource.type.startswith("pulumi:") else subject(resource.type)
        while resource.parent:
            resource = self.resources[resource.parent]
        if not resource.custom:
            name = resource.name
        return name, about

    # -- the files ----------------------------------------------------------------------------------------------------

    def files(self) -> dict[str, str]:
        self.packages: set[str] = {"pulumi"}
        keys = ordered([*self.answers, *self.resources], self.needs, self._place)
        blocks: dict[str, tuple[list[str], Module]] = {}
        for key in keys:
            self.emitter.module, self.emitter.stem = Module(), self.emitter.names[key].rstrip("_")
            made = self._answer(key) if key in self.answers else self._resource(self.resources[key])
            blocks[key] = (made, self.emitter.module)
            self.packages |= self.emitter.module.packages
        parts = cut(keys, {key: len(made) + 1 for key, (made, _) in blocks.items()}, self._place, LONGEST)
        where = {key: name for name, entries in parts for key in entries}
        written = {f"{PACKAGE}/{name}.py": self._module(name, entries, blocks, where) for name, entries in parts}
        written["__main__.py"] = self._main([name for name, _ in parts], where)
        written[f"{PACKAGE}/__init__.py"] = ""
        namespaces = {each for _, module in blocks.values() for each in module.settings} | self._main_settings
        if namespaces:
            lines = [
                f"{_config(each)} = pulumi.Config({code.quoted(each) if each else ''})" for each in sorted(namespaces)
            ]
            written[f"{PACKAGE}/settings.py"] = "\n".join(
                ['"""The configuration of the stack."""', "", "import pulumi", "", *lines, ""]
            )
        if any(module.helpers for _, module in blocks.values()) or self._main_helpers:
            written[f"{PACKAGE}/files.py"] = (
                resources.files("sizewell.leave").joinpath("data/files.py").read_text(encoding="utf-8")
            )
        return {**written, **self.emitter.files}

    def _module(
        self, name: str, keys: list[str], blocks: Mapping[str, tuple[list[str], Module]], where: Mapping[str, str]
    ) -> str:
        used = Module()
        body: list[str] = []
        about = ""
        for key in keys:
            lines, module = blocks[key]
            for field in ("packages", "variables", "helpers", "plain", "settings"):
                getattr(used, field).update(getattr(module, field))
            now = self._place(key)[1]
            if now != about and len({self._place(each)[1] for each in keys}) > 1:
                body += [f"# -- {NOTES[now]} {'-' * (100 - len(NOTES[now]))}", ""]
            about = now
            body += [*lines, ""]
        needs_sdk = any("pulumi." in line for line in body)
        return "\n".join([self._doc(keys), "", *self._imports(used, where, name, needs_sdk), *body])

    def _imports(self, used: Module, where: Mapping[str, str], here: str, needs_sdk: bool) -> list[str]:
        plain = [f"import {name}" for name in sorted(used.plain - {"yaml"})]
        others = ["import pulumi"] if needs_sdk else []
        others += [f"import {name} as {name.removeprefix('pulumi_')}" for name in sorted(used.packages - {"pulumi"})]
        others += ["import yaml"] if "yaml" in used.plain else []
        own: dict[str, list[str]] = {}
        for key in used.variables:
            if where[key] != here:
                own.setdefault(f"{PACKAGE}.{where[key]}", []).append(self.emitter.names[key])
        if used.helpers:
            own[f"{PACKAGE}.files"] = sorted(used.helpers)
        if used.settings:
            own[f"{PACKAGE}.settings"] = [_config(each) for each in used.settings]
        lines = [*plain, *([""] if plain else []), *others, ""]
        for module, names in sorted(own.items()):
            whole = f"from {module} import {', '.join(sorted(names))}"
            lines += (
                [whole]
                if len(whole) <= code.WIDTH
                else [f"from {module} import (", *(f"    {name}," for name in sorted(names)), ")"]
            )
        return [*lines, *([""] if own else [])]

    def _doc(self, keys: list[str]) -> str:
        component = self._place(keys[0])[0]
        kinds = Counter(
            _kind_name(self.resources[key]) for key in keys if key in self.resources and self.resources[key].custom
        )
        most = [name for name, _ in kinds.most_common(4)]
        rest = f" and {len(kinds) - 4} other kinds" if len(kinds) > 4 else ""
        about = f"{component}: " if component else ""
        return f'"""{about}{", ".join(most)}{rest}."""' if most else f'"""{component or "The stack"}."""'

    def _main(self, modules: list[str], where: Mapping[str, str]) -> str:
        module = self.emitter.module = Module()
        body: list[str] = []
        for name, value in self.program.outputs.items():
            self.emitter.stem = snake(name)
            body += code.lines(call("pulumi.export", [("", code.quoted(name)), ("", self.emitter.value(value))]))
        self._main_settings, self._main_helpers = module.settings, module.helpers
        used = {where[key] for key in module.variables}
        head = [f'"""The stack {self.program.plan.stack} of the project {self.program.plan.project}."""', ""]
        head += self._imports(module, where, "", bool(body))
        rest = [f"    {name}," for name in sorted(set(modules) - used)]
        if rest:  # before what is taken from single modules, as sorters of imports have it
            at = next((n for n, line in enumerate(head) if line.startswith("from ")), len(head) - (not body))
            head[at:at] = [
                f"from {PACKAGE} import (  # noqa: F401 - what they make",
                *rest,
                ")",
                *([""] if at == len(head) else []),
            ]
        return "\n".join([*head, *body, ""]).rstrip("\n") + "\n"

    # -- one resource -------------------------------------------------------------------------------------------------

    def _answer(self, key: str) -> list[str]:
        given = self.answers[key]
        module, _, function = given.function.partition(":")
        name = f"{function.removesuffix('_output')}_output"
        package, path = classes.named(module, name) or ("", name)
        self.emitter.module.packages.add(package)
        entries = [(f"{argument}=", self.emitter.value(value)) for argument, value in given.arguments]
        if given.provider:
            entries.append(
                ("opts=", call("pulumi.InvokeOptions", [("provider=", self.emitter.variable(given.provider))]))
            )
        return code.lines(
            call(f"{package.removeprefix('pulumi_')}.{path}", entries), before=f"{self.emitter.names[key]} = "
        )

    def _resource(self, given: Resource) -> list[str]:
        emitter = self.emitter
        entries: list[tuple[str, Code]] = [("", code.quoted(given.name))]
        lines: list[str] = []
        options = self._options(given)
        if given.is_group:
            name = "pulumi.ComponentResource"
            entries = [("", code.quoted(given.type)), *entries]
            if given.written:
                whole = Map(tuple(given.written.items()))
                entries.append(("", emitter.whole(whole, "groups")))
            if left := sorted(given.inputs.keys() - given.written.keys()):
                options["ignore_changes"] = _texts(left)
            lines = ["# Groups what is below it, which has its type in the URN, and keeps what policies read of it."]
        else:
            kind, (package, path) = classes.of_resource(given.kind) or (given.kind, ("pulumi", given.kind.__name__))
            emitter.module.packages.add(package)
            name = f"{package.removeprefix('pulumi_')}.{path}"
            if given.read and given.type != "pulumi:pulumi:StackReference":
                name, entries = f"{name}.get", [*entries, ("", emitter.value(given.inputs["id"]))]
            elif given.read:
                entries.append(("stack_name=", emitter.value(given.inputs["id"])))
            elif package == "pulumi_kubernetes" and (manifest := emitter.manifest(given)) is not None:
                if kind.__name__ == "CustomResource":
                    entries += [(f"{ours}=", emitter.value(given.inputs[key])) for ours, key in _API]
                entries.append(("", manifest))
            else:
                entries += self._inputs(given, kind)
        if options:
            entries.append(
                ("opts=", call("pulumi.ResourceOptions", [(f"{key}=", value) for key, value in options.items()]))
            )
        return [*lines, *code.lines(call(name, entries), before=f"{emitter.names[given.urn]} = ")]

    def _inputs(self, given: Resource, kind: type) -> list[tuple[str, Code]]:
        names, types = classes.argument_names(given.typed)
        entries, secrets = [], classes.own_options(kind)["secrets"]
        for key, value in given.inputs.items():
            typed = types.get(key)
            if isinstance(value, Secret) and names.get(key, key) in secrets:
                value = value.of  # noqa: PLW2901 - the class marks it by itself
            if given.type.startswith("pulumi:providers:") and not classes.is_text(typed):
                entries.append((f"{names.get(key, key)}=", self.emitter.value(_unpacked(value))))
                continue
            if (
                given.type.startswith("kubernetes:")
                and key in ("apiVersion", "kind")
                and not kind.__name__.startswith("CustomResource")
            ):
                continue
            entries.append((f"{classes.parameter(kind, names.get(key, key))}=", self.emitter.value(value, typed)))
        return entries

    def _options(self, given: Resource) -> dict[str, Code]:
        emitter, options = self.emitter, dict(given.options)
        kind = (classes.of_resource(given.kind) or (given.kind,))[0]
        release = classes.release(kind.__module__.partition(".")[0])
        for key, value in zip(("version", "plugin_download_url"), release, strict=True):
            if options.get(key) == value:
                options.pop(key)
        parent = self.resources.get(given.parent)
        made: dict[str, Code] = {}
        if given.parent:
            made["parent"] = emitter.variable(given.parent)
        made |= self._provider(given)
        if parent is not None and options.get("protect") == parent.options.get("protect"):
            options.pop("protect", None)
        own = classes.own_options(kind)
        for key in ("additional_secret_outputs", "replace_on_changes"):
            names, _ = classes.argument_names(given.typed)
            left = [each for each in options.pop(key, ()) if each not in own[key]]
            if left:
                made[key] = _texts([names.get(each, each) for each in left])
        explicit = self._depends_on(given)
        if explicit:
            made["depends_on"] = Block("[", tuple(("", emitter.variable(urn)) for urn in explicit), "]")
        for key, value in options.items():
            if key == "custom_timeouts":
                made[key] = call(
                    "pulumi.CustomTimeouts", [(f"{name}=", code.quoted(limit)) for name, limit in value.items()]
                )
            elif key == "deleted_with":
                made[key] = emitter.variable(value)
            elif key == "replace_with":
                made[key] = Block("[", tuple(("", emitter.variable(urn)) for urn in value), "]")
            elif key == "replacement_trigger":
                made[key] = emitter.value(value)
            else:
                made[key] = (
                    _texts(value)
                    if isinstance(value, tuple)
                    else repr(value)
                    if not isinstance(value, str)
                    else code.quoted(value)
                )
        types = () if given.is_group else own["aliases"]
        every = [alias_of(each, quoted=code.quoted, own=types) for each in given.aliases]
        aliases = [each for each in every if each is not None]
        if aliases:
            made["aliases"] = Block("[", tuple(("", each) for each in aliases), "]")
        return made

    def _provider(self, given: Resource) -> dict[str, Code]:
        above: set[str] = set()
        parent = given.parent
        while parent:
            above |= self._providers.get(parent, set())
            parent = self.resources[parent].parent
        if not given.is_group:
            return (
                {"provider": self.emitter.variable(given.provider)}
                if given.provider and given.provider not in above
                else {}
            )
        own = sorted(self._providers.get(given.urn, set()) - above)
        return {"providers": Block("[", tuple(("", self.emitter.variable(urn)) for urn in own), "]")} if own else {}

    def _depends_on(self, given: Resource) -> list[str]:
        """What a resource waits for beyond what its inputs name: components whole, where all below one is meant."""
        left = set(given.dependencies) - self.uses(given)
        found = []
        for urn, below in sorted(self._below.items(), key=lambda pair: -len(pair[1])):
            if len(below) > 1 and below <= set(given.dependencies) and below & left and urn != given.parent:
                found.append(urn)
                left -= below
        order = list(self.resources)
        return sorted({*found, *left}, key=order.index)

    @property
    def _below(self) -> dict[str, set[str]]:
        """All that is made below each component."""
        if not hasattr(self, "_cached_below"):
            self._cached_below: dict[str, set[str]] = {}
            for each in self.resources.values():
                parent = each.parent
                while parent and each.custom:
                    self._cached_below.setdefault(parent, set()).add(each.urn)
                    parent = self.resources[parent].parent if not self.resources[parent].custom else ""
            self._cached_below = {
                key: below for key, below in self._cached_below.items() if not self.resources[key].custom
            }
        return self._cached_below


def _answers(program: Program) -> dict[str, Answer]:
    values = [value for each in program.resources.values() for value in each.written.values()]
    found: dict[str, Answer] = {}
    for value in [*values, *program.outputs.values()]:
        for each in reversed(list(walk(value))):
            if isinstance(each, Answer):
                found[answer_key(each)] = each
    return found


def _taken(resources: Mapping[str, Resource]) -> set[str]:
    """Names that modules of the new program import."""
    packages = {each.kind.__module__.partition(".")[0].removeprefix("pulumi_") for each in resources.values()}
    configs = {_config(each) for each in packages}
    return {*packages, *configs, *HELPERS, "json", "yaml", "base64", "urllib"}


_API: Final = (("api_version", "apiVersion"), ("kind", "kind"))


def _kind_name(given: Resource) -> str:
    if given.type.startswith("pulumi:providers:"):
        return "Provider"
    return given.type.rpartition(":")[2] if given.custom else "Component"


def _texts(values: Any) -> Block:
    return Block("[", tuple(("", code.quoted(str(each))) for each in values), "]")


def _config(namespace: str) -> str:
    return f"{snake(namespace)}_config" if namespace else "config"


def _unpacked(value: Any) -> Any:
    """An input of a provider that its class writes as JSON."""
    from sizewell.sdk.expressions import Json, Lit

    if isinstance(value, Json):
        return value.of
    if isinstance(value, Secret):
        return replace(value, of=_unpacked(value.of))
    if isinstance(value, Lit) and isinstance(value.value, str):
        import json

        try:
            return Lit(json.loads(value.value))
        except ValueError:
            return value
    return value


def requirements(modules: set[str]) -> str:
    """The packages of the program, as they are installed here."""
    names = sorted({"pulumi", "pyyaml", *(name.replace("_", "-") for name in modules)})
    return "".join(f"{name}=={metadata.version(name)}\n" for name in names)
