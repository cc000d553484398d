"""How the specs of a stack differ from those that its decision was made of; decides nothing again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sizewell.cli import project
from sizewell.sizing.errors import SizewellError, SpecError

if TYPE_CHECKING:
    from sizewell.sizing.records.decision import Decision


@dataclass(frozen=True, slots=True)
class Differences:
    """Names of workloads, and for specs that cannot be read what is wrong with them."""

    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def out_of_date(self) -> bool:
        """Whether the decision is of other workloads than the specs name, or nobody can tell; not for an edited one."""
        return bool(self.new or self.gone or self.broken)

    def sentence(self, stack: str) -> str:
        """What differs and what to do; "" for nothing."""
        kinds = (
            (self.new, "not decided yet"),
            (self.gone, "without a spec"),
            (self.changed, "edited since it was decided"),
        )
        parts = [f"{', '.join(names)} {words}" for names, words in kinds if names]
        parts += [f"a spec cannot be read: {what}" for what in self.broken]
        way = f"decide with `sizewell size --stack {stack}` and commit it"
        return f"{stack}: {'; '.join(parts)}; {'correct the spec, then ' if self.broken else ''}{way}" if parts else ""


def differences(root: Path, stack: str, decision: Decision) -> Differences:
    """What differs between a decision's specs and those in `stacks/specs/STACK`; nothing where there is no folder."""
    from sizewell.sizing.workload.read import read_spec

    folder = root / "stacks/specs" / stack
    if not folder.is_dir():
        return Differences()
    decided = {workload.spec.name: workload.spec.digest for workload in decision.workloads}
    now: dict[str, str] = {}
    broken = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            spec = read_spec(path)
            now[spec.name] = spec.digest()
        except SpecError as error:
            broken.append(str(error.faults[0]).partition("\n")[0].replace(str(path), project.shown(path)))
    return Differences(
        new=tuple(sorted(now.keys() - decided.keys())),
        gone=() if broken else tuple(sorted(decided.keys() - now.keys())),
        changed=tuple(name for name in sorted(now.keys() & decided.keys()) if now[name] != decided[name]),
        broken=tuple(broken),
    )


def out_of_step(root: Path, stacks: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """What differs, in one sentence a stack, and the first stack whose decision is out of date; "" for none."""
    from sizewell.sizing.records.decision import Decision

    sentences, first = [], ""
    for stack in stacks:
        path = root / "stacks/decisions" / f"{stack}.json"
        if not path.exists():
            continue
        try:
            found = differences(root, stack, Decision.from_json(path))
        except SizewellError:
            continue  # whoever reads the decision for its own sake says what is wrong
        if sentence := found.sentence(stack):
            sentences.append(sentence)
            first = first or (sentence if found.out_of_date else "")
    return tuple(sentences), first
