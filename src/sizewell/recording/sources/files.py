"""From the engine's files to plans; one clear message for a file that is cut short or is something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from sizewell import logs
from sizewell.recording.sources.stream import JsonStream, MalformedError
from sizewell.recording.wire import plain_json
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.sizing.errors import UsageError

BEFORE_ONLY: Final = {"delete", "delete-replaced", "discard", "discard-replaced", "remove-pending-replace"}
REPLACING: Final = {"replace", "create-replacement", "delete-replaced", "import-replacement", "read-replacement"}
_STANDS: Final = REPLACING - {"delete-replaced"}  # what such a step replaces stands now, although it is marked as going
OPERATIONS: Final = REPLACING | BEFORE_ONLY | {"same", "create", "update", "read", "refresh", "import"}
_VERSIONS: Final = range(1, 5)  # of `pulumi stack export`: the engine writes 3, or 4 where it uses newer features
_ENGINES_OWN: Final = ("__defaults", "__internal", "__meta")
_STACK: Final = "pulumi:pulumi:Stack"
_PROVIDER: Final = "pulumi:providers:"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewFile:
    """What `pulumi preview --json` says: the stack as it is and as it will be.

    `complete` is False where unchanged resources are not in the file (no `--show-sames`): differences are right then,
    totals are not. `replaced` has the URNs of resources that the engine will replace.
    """

    before: Plan
    after: Plan
    complete: bool
    replaced: frozenset[str] = frozenset()


def read_preview(path: Path) -> PreviewFile:
    """The output of `pulumi preview --json`, best with `--show-sames`. UsageError where it is not that."""
    before, after = Collector(), Collector()
    config: dict[str, str] = {}
    replaced: set[str] = set()
    summary: Mapping[str, Any] = {}
    has_steps, sames = False, 0
    with opened(path) as stream:
        for key in stream.members():
            if key == "steps" and stream.peek() == "[":
                has_steps = True
                for step in stream.items():
                    op, old, new = _step(step, path)
                    sames += op == "same"
                    if op in REPLACING:
                        replaced.add(str(step.get("urn")))
                    stands = old is not None and op not in ("create", "import")
                    kept = before.add(old, going=op in _STANDS) if stands and old is not None else None
                    if new is not None and op not in BEFORE_ONLY:
                        after.add({**new, "importID": new.get("id")} if op == "import" else new, same_as=kept)
            elif key == "config":
                config = {name: str(value) for name, value in (stream.value() or {}).items()}
            elif key == "changeSummary":
                summary = stream.value() or {}
            elif key == "diagnostics":
                _must_have_worked(stream.value(), path)
            elif key == "steps":  # null: nothing to do and nothing listed
                has_steps = stream.value() is None
            else:
                stream.value()
    if not has_steps:
        raise foreign(path, "it has no `steps`")
    project, stack = after.names or before.names or ("", "")
    complete = isinstance(summary, Mapping) and sames >= int(summary.get("same", 0) or 0)
    note = () if complete else (f"{path.name}: unchanged resources are not listed; totals need --show-sames",)
    origin = "pulumi preview --json"
    sides = (before.plan(project, stack, config, origin, note), after.plan(project, stack, config, origin, note))
    counts = [len(side.resources) for side in sides]
    logs.log(__name__, "%s: preview of %s, %d resources before and %d after", path, stack, *counts)
    return PreviewFile(
        before=sides[0],
        after=sides[1],
        complete=complete,
        replaced=frozenset(replaced),
    )


def read_state(path: Path) -> Plan:
    """The output of `pulumi stack export`: what stands now. UsageError where it is not that."""
    collector = Collector()
    for part, value in state_parts(path):
        if part == "resource":
            collector.add(value)
    project, stack = collector.names or ("", "")
    plan = collector.plan(project, stack, {}, "stack export", ())
    logs.log(__name__, "%s: state of %s, %d resources", path, stack, len(plan.resources))
    return plan


def state_parts(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parts of a stack export in its order: ("manifest" | "resource" | "operation", as the engine wrote it).

    UsageError where the file is none, or ends too early.
    """
    has_deployment = False
    with opened(path, _EXPORT) as stream:
        for key in stream.members():
            if key != "deployment" or stream.peek() != "{":
                value = stream.value()
                if key == "version" and value not in _VERSIONS:
                    raise newer(path, f"an export of version {value}")
                continue
            has_deployment = True
            for inner in stream.members():
                if inner == "resources" and stream.peek() == "[":
                    for state in stream.items():
                        _check_state(state, path)
                        yield "resource", state
                elif inner == "pending_operations" and stream.peek() == "[":
                    for operation in stream.items():
                        if not isinstance(operation, dict) or not isinstance(operation.get("type"), str):
                            raise foreign(path, f"a pending operation has no type: {str(operation)[:60]}", _EXPORT)
                        _check_state(operation.get("resource"), path)
                        yield "operation", operation
                elif inner == "manifest" and stream.peek() == "{":
                    yield "manifest", stream.value()
                else:
                    stream.value()
    if not has_deployment:
        raise foreign(path, "it has no `deployment`", _EXPORT)


class Collector:
    """Resources of one side, by URN; default providers become configuration, as they are in a program."""

    def __init__(self) -> None:
        self._resources: dict[str, RecordedResource] = {}
        self._config: dict[str, str] = {}
        self._outputs: Mapping[str, object] = {}
        self._pending: set[tuple[str, str]] = set()  # URN and id of what an earlier update left to delete
        self._going: set[tuple[str, str]] = set()  # and of what this very preview replaces
        self.names: tuple[str, str] | None = None

    def add(
        self, state: Mapping[str, Any], same_as: RecordedResource | None = None, *, going: bool = False
    ) -> RecordedResource | None:
        if state.get("external"):
            return None  # another owner pays for it
        if going:
            self._going.add((str(state["urn"]), str(state.get("id"))))
        elif state.get("delete"):
            self._pending.add((str(state["urn"]), str(state.get("id"))))
            return None
        resource = _recorded(state)
        if self.names is None:
            stack, _, rest = resource.urn.removeprefix("urn:pulumi:").partition("::")
            self.names = (rest.partition("::")[0], stack)
        if resource.type.startswith(_PROVIDER) and resource.name.startswith("default"):
            package = resource.type.removeprefix(_PROVIDER)
            for key, value in resource.inputs.items():
                if key != "version" and isinstance(value, str):
                    self._config.setdefault(f"{package}:{key}", value)
            return None
        if resource.type.startswith(_PROVIDER):  # the version is the lock file's business, not the program's
            plain = {key: value for key, value in resource.inputs.items() if key != "version"}
            resource = replace(resource, inputs=plain)
        if resource.type == _STACK:
            self._outputs = resource.outputs
        if same_as is not None and replace(same_as, outputs={}) == replace(resource, outputs={}):
            resource = same_as  # most steps of a large preview are "same": keep one copy
        self._resources[resource.urn] = resource
        return resource

    def plan(self, project: str, stack: str, config: Mapping[str, str], origin: str, notes: tuple[str, ...]) -> Plan:
        pending = len(self._pending - self._going)
        if pending:
            several = "1 resource is" if pending == 1 else f"{pending:,} resources are"
            notes += (f"{several} pending deletion: still billed, but not in the figures",)
        return Plan(
            project=project,
            stack=stack,
            resources=tuple(self._resources.values()),
            outputs=self._outputs,
            config={**self._config, **config},
            origin=origin,
            notes=notes,
        )


def _recorded(state: Mapping[str, Any]) -> RecordedResource:
    secrets: list[str] = []
    inputs = {
        key: plain_json(value, key, secrets)
        for key, value in (state.get("inputs") or {}).items()
        if key not in _ENGINES_OWN
    }
    custom = bool(state.get("custom", True))
    outputs = {} if custom else {k: plain_json(v, k, []) for k, v in (state.get("outputs") or {}).items()}
    provider = state.get("provider") or None
    if provider is not None and provider.split("::")[-2].startswith("default"):
        provider = None
    urn = str(state["urn"])
    return RecordedResource(
        urn=urn,
        type=str(state["type"]),
        name=urn.split("::", 3)[3],
        inputs=inputs,
        outputs=outputs,
        parent=state.get("parent") or None,
        custom=custom,
        protect=bool(state.get("protect")),
        retain_on_delete=bool(state.get("retainOnDelete")),
        aliases=tuple(state.get("aliases") or ()),
        dependencies=tuple(state.get("dependencies") or ()),
        property_dependencies={
            key: tuple(urns) for key, urns in (state.get("propertyDependencies") or {}).items() if urns
        },
        provider=provider,
        ignore_changes=tuple(state.get("ignoreChanges") or ()),
        replace_on_changes=tuple(state.get("replaceOnChanges") or ()),
        replacement_trigger=plain_json(state.get("replacementTrigger"), "", []),
        replace_with=tuple(state.get("replaceWith") or ()),
        secret_paths=tuple(secrets),
        imported=bool(state.get("importID")),
    )


def _step(step: object, path: Path) -> tuple[str, Mapping[str, Any] | None, Mapping[str, Any] | None]:
    if not isinstance(step, dict) or not isinstance(step.get("op"), str):
        raise foreign(path, "a step has no `op`")
    if step["op"] not in OPERATIONS:
        raise newer(path, f"a step is of the kind {step['op']!r}")
    for side in ("oldState", "newState"):
        if step.get(side) is not None:
            _check_state(step[side], path)
    return step["op"], step.get("oldState"), step.get("newState")


def _must_have_worked(diagnostics: Any, path: Path) -> None:
    """The engine writes what it has when a program fails; half a plan would look like savings."""
    errors = [each for each in diagnostics or () if isinstance(each, dict) and each.get("severity") == "error"]
    if errors:
        lines = [line for line in str(errors[0].get("message", "")).splitlines() if line.strip()]
        raise UsageError(
            f"{path}: the preview that wrote it failed: {lines[0].strip()[:200] if lines else 'no reason given'}\n"
            "  fix: make `pulumi preview` succeed, then write the file again"
        )


def _check_state(state: object, path: Path) -> None:
    if not isinstance(state, dict):
        raise foreign(path, f"a resource is not an object but {type(state).__name__}")
    urn = state.get("urn")
    if not isinstance(urn, str) or urn.count("::") < 3 or not isinstance(state.get("type"), str):
        raise foreign(path, f"a resource has no URN and type: {str(state)[:60]}")
    if not isinstance(state.get("inputs") or {}, dict) or not isinstance(state.get("outputs") or {}, dict):
        raise foreign(path, f"the inputs of {urn} are not an object")


_EXPORT: Final = "`pulumi stack export > FILE`"
_HOW: Final = f"`pulumi preview --json --show-sames > FILE` or {_EXPORT}"


@contextmanager
def opened(path: Path, how: str = _HOW) -> Iterator[JsonStream]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            stream = JsonStream(file)
            if not stream.peek():
                raise foreign(path, "it is empty", how)
            if stream.peek() != "{":
                raise foreign(path, f"it begins with {stream.peek()!r}", how)
            yield stream
    except MalformedError as error:
        raise UsageError(f"{path}: cut short or not JSON: {error}\n  fix: write it again, with {how}") from None
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file\n  fix: write it with {how}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text\n  fix: write it with {how}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def newer(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path}: of a version of Pulumi that this release does not know: {why}\n"
        "  fix: update Sizewell, or write the file with the Pulumi that the project is built with"
    )


def foreign(path: Path, why: str, how: str = _HOW) -> UsageError:
    by = (
        "`pulumi stack export`" if how == _EXPORT else "`pulumi preview` (--json, --save-plan) or `pulumi stack export`"
    )
    return UsageError(f"{path}: not what {by} writes: {why}\n  fix: write it with {how}")
