"""From a stack to the folder of its new program: read, refuse or write, and try what was written before it is kept."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from sizewell.leave.checking import differences
from sizewell.leave.reading import RANDOM, Program, Resource, in_clear, lost, program_folder, read_program
from sizewell.leave.writing import Writer, requirements
from sizewell.recording.evaluate.failures import without_plans
from sizewell.recording.evaluate.project import read_project
from sizewell.recording.sources.state import State, read_full_state
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.values import get
from sizewell.sdk import classes
from sizewell.sdk.expressions import Answer, Asset, Expr, Lit, Setting, walk
from sizewell.sizing.errors import Fault, ServiceError, SizewellError, UsageError
from sizewell.sizing.places import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What was written."""

    folder: Path
    resources: int
    files: Mapping[str, int]  # lines by path
    notes: tuple[str, ...]


@without_plans()
def leave(root: Path, stack: str, folder: Path, *, state: Path | None = None) -> Left:
    """Write the program of a stack into `folder`, which has nothing in it; UsageError says what cannot be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"--to {folder}: already exists, and has content\n  fix: name a folder that is new or empty")
    if root.resolve() == folder.resolve() or folder.resolve() in root.resolve().parents:
        raise UsageError(f"--to {folder}: is the project itself\n  fix: name a folder that is new")
    _must_be_python(root)
    known = _state(state, stack) if state is not None else None
    program = _read(root, stack, _outputs(known))
    if stack.count("/") == 2 and stack.split("/")[1] != program.plan.project:
        raise UsageError(
            f"stack {stack}: the project is {program.plan.project}\n  fix: name the stack {_full(stack, program)}"
        )
    if not program.resources and not program.unsettled:
        raise UsageError(f"stack {stack}: its program makes no resources: there is nothing to write")
    if known is not None:
        _must_be_current(program, known, stack)
    _refuse(program, root, stack, stated=known is not None)
    writer = Writer(program)
    files = writer.files()
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _copy(writer.emitter.copied, program_folder(root, stack), beside)
        files |= _project_files(root, stack, program, writer)
        for path, content in files.items():
            (beside / path).parent.mkdir(parents=True, exist_ok=True)
            (beside / path).write_text(content, encoding="utf-8", newline="")
        _try(program, beside, stack, _outputs(known))
        for cache in [*beside.rglob("__pycache__")]:
            shutil.rmtree(cache)
        if folder.exists():
            folder.rmdir()
        beside.chmod(0o755)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    lines = {path: content.count("\n") for path, content in sorted(files.items())}
    notes = (*_notes(program), *_of_folder(program, root))
    return Left(folder=folder, resources=len(program.resources), files=lines, notes=notes)


# -- what is read -----------------------------------------------------------------------------------------------------


def _must_be_python(root: Path) -> None:
    path = root / "Pulumi.yaml"
    runtime = (read_yaml(path).data or {}).get("runtime", "python") if path.exists() else "python"
    name = runtime.get("name") if isinstance(runtime, dict) else runtime
    if name != "python":
        raise UsageError(
            f"{path}: runtime: must be python, got {name!r}: programs of other languages are not written anew\n"
            "  fix: stay with this program; remove what it has of Sizewell there"
        )


def _state(path: Path, stack: str) -> State:
    state = read_full_state(path)
    if state.stack and state.stack != stack.rpartition("/")[2]:
        raise UsageError(
            f"--state {path}: is of the stack {state.stack}, not of {stack}\n"
            f"  fix: pulumi stack export -s {stack} > {path}"
        )
    if state.pending_operations:
        listed = ", ".join(f"{each.type} {each.resource.name}" for each in state.pending_operations)
        raise UsageError(
            f"--state {path}: the engine was stopped while it was {listed}, and nobody knows whether the cloud did it\n"
            f"  fix: pulumi refresh -s {stack} settles it; then pulumi stack export -s {stack} > {path}"
        )
    return state


def _outputs(state: State | None) -> dict[str, dict[str, Any]]:
    """What the cloud answered, by URN, without what is secret."""
    found = {}
    for each in state.resources if state is not None else ():
        if each.custom and not each.delete and not each.type.startswith("pulumi:"):
            outputs = {
                key: value
                for key, value in each.outputs.items()
                if not key.startswith("__") and not _holds_unknown(value)
            }
            found[each.urn] = {**outputs, "id": each.id}
    return found


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_unknown(each) for each in value.values())
    if isinstance(value, list):
        return any(_holds_unknown(each) for each in value)
    return value is UNKNOWN


def _read(root: Path, stack: str, stated: Mapping[str, Mapping[str, Any]]) -> Program:
    """The program, with its settings traced where it takes them; else without."""
    try:
        program = read_program(root, stack, stated=stated)
    except SizewellError:
        return read_program(root, stack, stated=stated, settings=False)
    if program.unsettled or any(True for _ in _lost(program)):
        plain = read_program(root, stack, stated=stated, settings=False)
        return min(program, plain, key=lambda each: (len(each.unsettled), len(list(_lost(each)))))
    return program


def _must_be_current(program: Program, state: State, stack: str) -> None:
    """The new program is the same as the old one; where the old one has changes that wait, so has the new one."""
    there = {each.urn for each in state.resources if not each.delete and not each.external}
    ours = {urn for urn, each in program.resources.items() if not each.read}
    apart = sorted(
        (ours ^ there) - {urn for urn in there if "pulumi:providers:" in urn or "pulumi:pulumi:Stack" in urn}
    )
    if apart:
        names = ", ".join(urn.rpartition("::")[2] for urn in apart[:5])
        raise UsageError(
            f"stack {stack}: {len(apart)} resources are in the program or in the state alone: {names}\n"
            f"  fix: pulumi up -s {stack}, until it has nothing to do; then export the state again"
        )


# -- what cannot be written -------------------------------------------------------------------------------------------


def _lost(program: Program) -> Iterator[tuple[str, str]]:
    for each in program.resources.values():
        for key, value in each.written.items():
            yield from lost(value, f"{each.name} ({each.type}): {key}")
    for key, value in program.outputs.items():
        yield from lost(value, f"output {key}")


def _refuse(program: Program, root: Path, stack: str, *, stated: bool) -> None:
    faults = [
        Fault(path=path, message=f"cannot be written: {why}", fix=_KEEP if why == RANDOM else _WRITE)
        for path, why in _lost(program)
    ]
    for kind in program.unsettled:
        fix = "have it named by the configuration, or by what the program knows by itself"
        message = "has a name that is known only after deployment, or is another one each time the program runs"
        faults.append(Fault(path=f"a resource of the type {kind}", message=message, fix=fix))
    for about, where in program.decisions if not stated else ():
        fix = f"pulumi stack export -s {stack} > state.json, and give it with --state state.json"
        faults.append(
            Fault(
                path=_place(where, root), message=f"decides by {about}, which is known only after deployment", fix=fix
            )
        )
    for where in program.organizations if not read_project(root, stack).organization else ():
        fix = f"name it: sizewell leave {_full(stack, program)}, with ORG as in `pulumi stack ls --all`;"
        fix += " it is `organization` where the state is not in Pulumi Cloud"
        faults.append(Fault(path=_place(where, root), message="asks for the organization of the stack", fix=fix))
    for each in program.resources.values():
        faults += _of_resource(each, stack, program_folder(root, stack))
    for key, value in program.outputs.items():
        faults += _in_clear(value, f"output {key}", stack)
    if faults:
        listed = "\n".join(str(fault) for fault in dict.fromkeys(faults))
        raise UsageError(f"stack {stack}: nothing was written\n{listed}")


def _full(stack: str, program: Program) -> str:
    first, _, name = stack.rpartition("/")
    return f"{first.partition('/')[0] or 'ORG'}/{program.plan.project}/{name}"


_KEEP = "take it from the configuration, or from a resource of pulumi-random, whose value the state keeps"
_WRITE = "have the program pass the output on, or format it into a text, and do the rest where it is used"


def _place(where: str, root: Path) -> str:
    file, _, line = where.rpartition(":")
    path = Path(file)
    return f"{path.relative_to(root.resolve()) if path.is_relative_to(root.resolve()) else path}:{line}"


def _of_resource(given: Resource, stack: str, folder: Path) -> Iterator[Fault]:
    named = f"{given.name} ({given.type})"
    if given.type.startswith("pulumi-python:"):
        fix = "take a resource of a provider's SDK or of pulumi-command in its place, and update the stack"
        yield Fault(path=named, message="is a dynamic provider, whose code is in the program itself", fix=fix)
        return
    if not given.is_group and not given.type.startswith("pulumi:pulumi:") and classes.of_resource(given.kind) is None:
        kind = f"{given.kind.__module__}.{given.kind.__qualname__}"
        fix = "take the class of an SDK: `pulumi package add` makes one of any provider"
        yield Fault(path=named, message=f"is made by {kind}, which is no provider's SDK for Python", fix=fix)
    if given.options.get("hooks"):
        fix = "take the hooks out, update the stack, and put them into the new program afterwards"
        yield Fault(path=named, message="has hooks, which are code of the program", fix=fix)
    public, by, kinds = _PUBLIC.get(given.type, ("", "", ()))
    for key, value in given.written.items():
        if key != public or given.inputs.get(by) not in kinds:
            yield from _in_clear(value, f"{named}: {key}", stack)
        for each in walk(value):
            if isinstance(each, Asset) and each.kind.startswith("File") and isinstance(each.of, Lit):
                path = Path(str(each.of.value))
                if path.is_absolute() or not (folder / path).resolve().is_relative_to(folder.resolve()):
                    message = f"{path} is outside of the program's folder {folder}"
                    yield Fault(
                        path=f"{named}: {key}", message=message, fix="move it into that folder, and name it from there"
                    )
                elif not (folder / path).exists():
                    yield Fault(
                        path=f"{named}: {key}",
                        message=f"{folder / path} does not exist",
                        fix="put it there, or correct the path",
                    )


_PUBLIC: Final = {  # inputs that an SDK's class marks as secret in any case, and by which other one they are none
    # https://docs.aws.amazon.com/systems-manager/latest/userguide/systems-manager-parameter-store.html
    "aws:ssm/parameter:Parameter": ("value", "type", (Lit("String"), Lit("StringList"))),
}


def _in_clear(value: Expr, path: str, stack: str) -> Iterator[Fault]:
    if in_clear(value):
        name = "-".join(re.findall(r"[\w.]+", re.sub(r" \(.*?\)|^output ", "", path)))
        fix = f"pulumi config set --secret -s {stack} {name}, with this value"
        fix += f", and have the program read it: pulumi.Config().require_secret({name!r})"
        yield Fault(path=path, message="is a secret that the program has in clear", fix=fix)


# -- what is written beside the resources -----------------------------------------------------------------------------


def _copy(paths: Mapping[str, str], source: Path, target: Path) -> None:
    for path in paths:
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        if (source / path).is_dir():
            shutil.copytree(source / path, target / path, dirs_exist_ok=True)
        else:
            shutil.copy2(source / path, target / path)


def _project_files(root: Path, stack: str, program: Program, writer: Writer) -> dict[str, str]:
    settings = read_yaml(root / "Pulumi.yaml").data
    kept = {
        key: value
        for key, value in settings.items()
        if key in ("name", "description", "backend", "plugins", "packages", "options")
    }
    runtime = settings.get("runtime")
    options = runtime.get("options", {}) if isinstance(runtime, dict) else {}
    kept["runtime"] = {"name": "python", "options": {"toolchain": "pip", **options, "virtualenv": ".venv"}}
    name = stack.rpartition("/")[2]
    return {
        "Pulumi.yaml": yaml.safe_dump(kept, sort_keys=False),
        f"Pulumi.{name}.yaml": yaml.safe_dump(_configuration(root, stack, program), sort_keys=False),
        "requirements.txt": requirements(writer.packages),
        ".gitignore": ".venv/\n__pycache__/\n",
        "README.md": _README.format(stack=name, project=program.plan.project, on=datetime.now(UTC).date().isoformat()),
        **_policies(root, program),
    }


def _policies(root: Path, program: Program) -> dict[str, str]:
    """The settings of the policies: of a decision there is no file beside the new program, and none to compare with."""
    own = root / "policy/config.yaml"
    settings = (read_yaml(own).data or {}) if own.exists() else {}
    if any(get(each.inputs, "sizewell", "decisionDigest") is not None for each in program.plan.resources):
        settings = {**settings, "levels": {**(settings.get("levels") or {}), "decision-out-of-date": "disabled"}}
    return {"policy/config.yaml": yaml.safe_dump(settings, sort_keys=False)} if settings else {}


def _configuration(root: Path, stack: str, program: Program) -> dict[str, Any]:
    """The stack's file, with the settings that the new program and the providers read; secrets stay as they are."""
    project = read_project(root, stack)
    settings = read_yaml(root / "Pulumi.yaml").data
    declared = settings.get("config")
    folder = root / str(settings.get("stackConfigDir") or (declared if isinstance(declared, str) else "."))
    path = folder / f"Pulumi.{stack.rpartition('/')[2]}.yaml"
    file = read_yaml(path).data or {} if path.exists() else {}
    stated = {
        (key if ":" in key else f"{project.name}:{key}"): value for key, value in (file.get("config") or {}).items()
    }
    values = [value for each in program.resources.values() for value in each.written.values()]
    used = {
        each.key for value in [*values, *program.outputs.values()] for each in walk(value) if isinstance(each, Setting)
    }
    config = {}
    for key in sorted({*stated, *project.config}):
        if key in used or key.partition(":")[0] not in (project.name, "sizewell"):
            config[key] = stated.get(key, project.config.get(key))
    return {**{key: value for key, value in file.items() if key != "config"}, "config": config}


_README = """# {stack}

The stack {stack} of the project {project}, as a plain Pulumi program. `resources/` has a file for each part; what they
read is in `scripts/`, `documents/` and `manifests/`.

```
pulumi install
pulumi preview -s {stack}    # has nothing to do, before the first change
```

The groups (`pulumi.ComponentResource`) only carry the names of what is below them. To rename one, or to take a resource
out of it, give each resource below an alias with its URN of today: `pulumi stack --show-urns` lists them.

What the earlier program read from environment variables, files or the clock is written as it was read on {on}: a value
that shall follow them has to be read here again.
"""


def _try(program: Program, folder: Path, stack: str, stated: Mapping[str, Mapping[str, Any]]) -> None:
    """Run what was written, and compare what it asks for."""
    again = read_program(folder, stack, stated=stated)
    apart = differences(program, again)
    if apart:
        listed = "\n".join(f"  {line[:300]}" for line in apart[:5])
        raise ServiceError(
            f"stack {stack}: nothing was written: {len(apart)} values of the new program are not those of this one\n"
            f"{listed}\n  fix: report it, with these lines (`sizewell doctor --report`)"
        )


def _of_folder(program: Program, root: Path) -> Iterator[str]:
    """Where the path of the project's folder is in a value: it stays, though the new program is elsewhere."""
    values = [
        (f"{each.name}: {key}", value) for each in program.resources.values() for key, value in each.written.items()
    ]
    for path, value in [*values, *((f"output {key}", value) for key, value in program.outputs.items())]:
        if any(isinstance(each, Lit) and str(root.resolve()) in str(each.value) for each in walk(value)):
            yield f"{path} has the path {root.resolve()} in it, and keeps it"


def _notes(program: Program) -> Iterator[str]:
    yield from program.plan.notes
    for each in program.plan.hidden:
        if each.shown_too:
            yield f"{each.name}: {each.why}; the new program has what it came to here"
    answers = {
        each.token
        for value in program.resources.values()
        for given in value.written.values()
        for each in walk(given)
        if isinstance(each, Answer)
    }
    if answers:
        yield f"the cloud is still asked for {', '.join(sorted(answers))}"
