"""What a change takes away from those who use Sizewell: `python tools/breaking.py [REVISION]`.

Compared with a revision (the last release's tag by default): the public Python names, by griffe, which are what the
package, `sizewell.stacks`, `sizewell.preview` and `sizewell.components.CLOUD` export, and the arguments of the
components; and the schemas of files, by what a document of before meets now. Exit code 1 where something breaks;
docs/reference/support.md says what follows from that.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import griffe

ROOT: Final = Path(__file__).parents[1]
SCHEMAS: Final = "src/sizewell/schemas"
PUBLIC: Final = (
    "sizewell",
    "sizewell.stacks",
    "sizewell.preview",
    *(f"sizewell.components.{cloud}" for cloud in ("aws", "azure", "gcp", "kubernetes")),
)
_BOUNDS: Final = {  # and in which direction each asks for more
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems"), 1),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems"), -1),
}


# Python ---------------------------------------------------------------------------------------------------------------


def python_breaks(old: griffe.Module, new: griffe.Module) -> list[str]:
    """Public names that went or changed, and arguments of components that are required now."""
    public = exported(old)
    found = []
    for each in griffe.find_breaking_changes(old, new):
        path = each.obj.path
        if any(path == name or path.startswith(f"{name}.") for name in public.values()) and not _private(path):
            found.append(f"{path}: {each.kind.value[:1].lower()}{each.kind.value[1:]}")
    now = exported(new)
    found += [f"{name}: is exported no more" for name in public if name not in now]
    for name, path in public.items():
        before, after = _class_at(old, path), _class_at(new, now.get(name, ""))
        if before is not None and after is not None and name.endswith("Args"):
            found += [f"{path}.{key}: an argument that is required now" for key in _required(after) - _required(before)]
    return sorted(set(found))


def exported(package: griffe.Module) -> dict[str, str]:
    """The public names, with the path of what each one is; with each component its arguments."""
    names = {}
    for module in PUBLIC:
        inside = module.removeprefix(package.path).removeprefix(".")
        if inside and inside not in package.modules and not _has(package, inside):
            continue
        holder = package[inside] if inside else package
        for name in holder.exports or ():
            target = _final(holder.members.get(str(name)))
            if target is None:
                continue
            names[f"{module}.{name}"] = target.path
            if isinstance(target, griffe.Class) and (args := _arguments(target)) is not None:
                names[f"{module}.{args.name}"] = args.path
    return names


def _has(package: griffe.Module, inside: str) -> bool:
    try:
        package[inside]
    except KeyError:
        return False
    return True


def _final(member: griffe.Object | griffe.Alias | None) -> griffe.Object | None:
    try:
        return member.final_target if isinstance(member, griffe.Alias) else member
    except (griffe.AliasResolutionError, griffe.CyclicAliasError):
        return None


def _arguments(component: griffe.Class) -> griffe.Class | None:
    """The class of a component's `args`."""
    made = component.members.get("__init__")
    if not isinstance(made, griffe.Function) or "args" not in [each.name for each in made.parameters]:
        return None
    annotation = made.parameters["args"].annotation
    named = getattr(annotation, "canonical_path", "")
    return _class_at(_top(component), named) if named else None


def _top(member: griffe.Object) -> griffe.Module:
    return member if member.parent is None and isinstance(member, griffe.Module) else _top(member.parent)  # type: ignore[arg-type]


def _class_at(package: griffe.Module, path: str) -> griffe.Class | None:
    inside = path.removeprefix(f"{package.path}.")
    if not path or inside == path:
        return None
    try:
        found = _final(package[inside])
    except KeyError:
        return None
    return found if isinstance(found, griffe.Class) else None


def _required(args: griffe.Class) -> set[str]:
    fields = {name: _final(each) for name, each in args.all_members.items()}
    stated = {name: str(each.annotation) for name, each in fields.items() if isinstance(each, griffe.Attribute)}
    return {name for name, annotation in stated.items() if not annotation.startswith("NotRequired")}


def _private(path: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in path.split("."))


# Schemas --------------------------------------------------------------------------------------------------------------


def schema_breaks(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What a document that the old schema takes may meet in the new one, by the path of the key.

    >>> one = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {}}}
    >>> schema_breaks(one, {"type": "object", "properties": {"a": {"enum": ["x"]}}, "required": ["a"]})
    ['a: required now', 'b: gone', "a: takes 'y' no more"]
    """
    return list(dict.fromkeys(_Compared(old, new).of(old, new, "")))


class _Compared:
    def __init__(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        self.old, self.new = old, new
        self.seen: set[tuple[str, str]] = set()

    def of(self, old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[str]:
        names = (str(old.get("$ref", "")), str(new.get("$ref", "")))
        if all(names):
            if names in self.seen:
                return
            self.seen.add(names)
        old, new = _resolved(self.old, old), _resolved(self.new, new)
        ways_before, ways_now = _ways(old), _ways(new)
        if len(ways_before) > 1 or len(ways_now) > 1:
            for before in ways_before:
                found = [list(_Compared(self.old, self.new).of(before, now, path)) for now in ways_now]
                yield from min(found, key=len)
            return
        yield from self._values(old, new, path or "the document")
        before, after = old.get("properties", {}), new.get("properties", {})
        for key in sorted(set(new.get("required", ())) - set(old.get("required", ()))):
            yield f"{_at(path, key)}: required now"
        for key in before:
            if key not in after and (new.get("additionalProperties") is False or after):
                yield f"{_at(path, key)}: gone"
        for key in before.keys() & after.keys():
            yield from self.of(before[key], after[key], _at(path, key))
        for key, at in (("items", f"{path}[]"), ("additionalProperties", _at(path, "*"))):
            if isinstance(old.get(key), Mapping) and isinstance(new.get(key), Mapping):
                yield from self.of(old[key], new[key], at)

    def _values(self, old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[str]:
        allowed = new.get("enum", [new["const"]] if "const" in new else None)
        stated = old.get("enum", [old["const"]] if "const" in old else None)
        if allowed is not None and stated is None:
            yield f"{path}: takes only {', '.join(map(repr, allowed))} now"
        elif allowed is not None:
            yield from (f"{path}: takes {value!r} no more" for value in stated or () if value not in allowed)
        types, were = _types(new), _types(old)
        if types and (not were or were - types):
            yield f"{path}: takes {', '.join(sorted(were - types)) or 'other types'} no more"
        for bound, sign in _BOUNDS.items():
            if bound in new and (bound not in old or sign * (new[bound] - old[bound]) > 0):
                yield f"{path}: {bound} {old.get(bound, 'none')} -> {new[bound]}"
        if "pattern" in new and new["pattern"] != old.get("pattern"):
            yield f"{path}: another pattern, {new['pattern']}"


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while isinstance(ref := schema.get("$ref"), str) and ref.startswith("#/"):
        found: Any = document
        for part in ref[2:].split("/"):
            found = found[part]
        schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _ways(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(schema.get("anyOf") or schema.get("oneOf") or [schema])


def _types(schema: Mapping[str, Any]) -> set[str]:
    stated = schema.get("type", ())
    types = {stated} if isinstance(stated, str) else set(stated)
    return types | {"integer"} if "number" in types else types


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


# The command ----------------------------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def since(revision: str) -> list[str]:
    """Everything that breaks between a revision and the working tree."""
    old = griffe.load_git("sizewell", ref=revision, repo=ROOT, search_paths=["src"], resolve_aliases=True)
    new = griffe.load("sizewell", search_paths=[ROOT / "src"], resolve_aliases=True)
    assert isinstance(old, griffe.Module)  # noqa: S101  (a package)
    assert isinstance(new, griffe.Module)  # noqa: S101
    found = python_breaks(old, new)
    for name in git("ls-tree", "--name-only", revision, f"{SCHEMAS}/").split():
        before, path = json.loads(git("show", f"{revision}:{name}")), ROOT / name
        if not path.exists():
            found.append(f"{path.name}: gone")
        else:
            after = json.loads(path.read_text(encoding="utf-8"))
            found += [f"{path.name}: {each}" for each in schema_breaks(before, after)]
    return found


def main(arguments: list[str]) -> int:
    tags = git("tag", "--list", "v*", "--sort=-version:refname", "--merged").split()
    revision = arguments[0] if arguments else next(iter(tags), "")
    if not revision:
        print("no release yet: there is nothing that could break")
        return 0
    if subprocess.run(["git", "rev-parse", "--quiet", "--verify", f"{revision}^{{commit}}"], cwd=ROOT,
                      check=False, capture_output=True).returncode:  # fmt: skip
        print(
            f"{revision} is no revision here\n  fix: name a tag or a commit, or fetch it: git fetch --tags",
            file=sys.stderr,
        )
        return 64
    found = since(revision)
    print("\n".join(found) or f"nothing that {revision} has is gone or asks for more")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if found and may_break(version, revision):
        print(f"{version} may break what {revision} has: CHANGELOG.md says what, and what to do")
        return 0
    return 1 if found else 0


def may_break(version: str, tag: str) -> bool:
    """Whether a version may break what the release of a tag has, as semver.org has it.

    >>> may_break("0.2.0", "v0.1.4"), may_break("0.1.5", "v0.1.4"), may_break("1.3.0", "v1.2.0")
    (True, False, False)
    """
    if not re.fullmatch(r"v\d+\.\d+\.\d+", tag):
        return False
    new, old = [int(part) for part in version.split(".")], [int(part) for part in tag[1:].split(".")]
    return new[: 1 if new[0] else 2] > old[: 1 if new[0] else 2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
