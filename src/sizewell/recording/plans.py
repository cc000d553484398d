"""The plan of a stack by whichever way there is: evaluated, by the engine, or out of a file that the engine wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from sizewell import logs
from sizewell.recording.contents import expanded
from sizewell.recording.sources import PreviewFile, read_plan_file, read_state
from sizewell.resources.recorded import Hidden, Plan, RecordedResource
from sizewell.sizing.errors import ServiceError, SizewellError, UsageError

Engine = Literal["auto", "offline", "pulumi"]
ENGINES: Final[tuple[Engine, ...]] = ("auto", "offline", "pulumi")
ONLY_THE_ENGINE: Final = "use --engine pulumi"  # how the evaluator ends a refusal that the engine can answer
OF_THE_ENGINE: Final = "the engine's state"


_UNLISTED: Final = Hidden(
    name="the plan",
    what="resources that do not change",
    may_hide="more, also with accelerators",
    why="the file lists changes alone",
    fix="write it with `pulumi preview --json --show-sames`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A stack as it will be; `before` and `replaced` where the engine said them as well."""

    after: Plan
    before: Plan | None = None
    replaced: frozenset[str] | None = None  # None: no engine said
    complete: bool = True  # whether resources that do not change are listed as well

    @property
    def judged(self) -> Plan:
        """What policies judge: the stack, and that something of it is not listed where that is so."""
        return self.after if self.complete else replace(self.after, hidden=(*self.after.hidden, _UNLISTED))

    @property
    def stood(self) -> Plan | None:
        """What stood before it, which lists as little of what does not change."""
        if self.before is None or self.complete:
            return self.before
        return replace(self.before, hidden=(*self.before.hidden, _UNLISTED))

    @property
    def label(self) -> str:
        """What `before` is called."""
        return OF_THE_ENGINE if self.before is not None else ""


def planned(root: Path, stack: str, *, engine: Engine = "auto", state: Plan | None = None) -> Planned:
    """Evaluate the program of `root`, or ask the engine: `auto` does that where the evaluator alone does not see all.

    Raises SizewellError: what the evaluator says, also where the engine fails after it.
    """
    from sizewell.recording.evaluate import evaluate
    from sizewell.recording.sources.engine import available

    if engine == "pulumi":
        return _by_engine(root, stack)
    refused: SizewellError | None = None
    plan: Plan | None = None
    try:
        plan = evaluate(root, stack)
        logs.log(__name__, "%s: evaluated, %d resources", stack, len(plan.resources))
    except UsageError as error:
        if ONLY_THE_ENGINE not in str(error):
            raise
        refused = error
    except SizewellError as error:
        refused = error
    asks = (
        any(each.urn and not _custom(each, plan) for each in plan.hidden) if plan else ONLY_THE_ENGINE in str(refused)
    )
    if engine == "auto" and asks and available():
        try:
            return _by_engine(root, stack)
        except SizewellError as error:
            if isinstance(refused, UsageError):  # no program of the evaluator's at all: what the engine says counts
                raise
            logs.log(__name__, "%s: the engine as well: %s", stack, error)
    if plan is None:
        raise refused or ServiceError(f"stack {stack}: no plan")
    return Planned(after=completed(plan, state))


def before_change(root: Path, stack: str, *, replaces: Path, state: Plan | None = None) -> Plan:
    """The program of another revision, checked out in `root` beside `replaces`: evaluated, or by the engine alone.

    A worktree has none of what a project installs, so only programs that cannot be evaluated at all go to the engine.
    """
    from sizewell.recording.evaluate import evaluate
    from sizewell.recording.sources.engine import available

    try:
        return completed(evaluate(root, stack, replaces=replaces), state)
    except UsageError as error:
        if ONLY_THE_ENGINE not in str(error) or not available():
            raise
    return _by_engine(root, stack).after


def _custom(hidden: Hidden, plan: Plan | None) -> bool:
    """Whether something hidden is a resource of its own, which the engine shows no more of than the evaluator."""
    resource = plan.by_urn().get(hidden.urn) if plan is not None else None
    return resource is None or resource.custom


def _by_engine(root: Path, stack: str) -> Planned:
    from sizewell.recording.sources.engine import preview_with_engine

    file = preview_with_engine(root, stack)
    return _of(file, root)


def from_file(path: Path, root: Path, state: Plan | None = None) -> Planned:
    """A plan out of a file of the engine; one of `pulumi preview --save-plan` lacks what stands, which is `state`."""
    read = read_plan_file(path, state)
    return _of(read, root) if isinstance(read, PreviewFile) else Planned(after=expanded(read, root))


def _of(file: PreviewFile, root: Path) -> Planned:
    before = expanded(file.before, root) if file.before is not None else None
    return Planned(after=expanded(file.after, root), before=before, replaced=file.replaced, complete=file.complete)


def state_of(path: Path) -> Plan:
    """What stands now, out of `pulumi stack export`."""
    return read_state(path)


def completed(plan: Plan, state: Plan | None) -> Plan:
    """An evaluated plan with what its components and unknowns made when the stack was last deployed.

    A component that has not changed since then is known from there. What a place in the program makes is shown as it
    stands, and stays open: nobody knows what it will make next.
    """
    if state is None:
        return plan
    if (state.project, state.stack) != (plan.project, plan.stack):
        raise UsageError(
            f"the state given is of the stack {state.stack} of {state.project}, not of {plan.stack} of {plan.project}\n"
            f"  fix: write it with `pulumi stack export -s {plan.stack}`"
        )
    if not plan.hidden:
        return plan
    own, stands = plan.by_urn(), state.by_urn()
    added: dict[str, RecordedResource] = {}
    hidden: list[Hidden] = []
    for each in plan.hidden:
        inner = _below(each.urn, stands) if each.urn else {}
        if inner and not _changed(own.get(each.urn), stands.get(each.urn)):
            added |= inner
        else:
            hidden.append(each)
    if any(not each.urn for each in hidden):
        added |= {urn: each for urn, each in stands.items() if urn not in own and not each.type.startswith("pulumi:")}
    added = {urn: each for urn, each in added.items() if urn not in own}
    note = (f"{len(added):,} resources are taken from the state that was last deployed",) if added else ()
    return replace(plan, resources=(*plan.resources, *added.values()), hidden=tuple(hidden), notes=(*plan.notes, *note))


def _below(urn: str, stands: Mapping[str, RecordedResource]) -> dict[str, RecordedResource]:
    """What stands below a resource, at any depth."""
    inner = {urn}
    found: dict[str, RecordedResource] = {}
    for each in stands.values():  # a state lists parents before their children
        if each.parent in inner and each.urn not in inner:
            inner.add(each.urn)
            found[each.urn] = each
    return found


def _changed(now: RecordedResource | None, then: RecordedResource | None) -> bool:
    """Whether inputs that both sides state differ."""
    if now is None or then is None:
        return True
    return any(now.inputs[key] != then.inputs[key] for key in now.inputs.keys() & then.inputs.keys())
