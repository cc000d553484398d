"""Everything that a manifest follows from, in one record. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sizewell.launch.plan import RunPlan
from sizewell.launch.run import MAIN, Run
from sizewell.launch.target import Machine, Target, machine_of
from sizewell.sizing.records.decision import Decision, Pool, Task, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One workload on one pool: what it is, what runs, where it runs, and under which name its objects stand."""

    plan: RunPlan
    run: Run
    target: Target
    machine: Machine
    name: str

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object of a workload."""
        return {
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/component": self.plan.kind,
            "app.kubernetes.io/managed-by": "sizewell",
            "sizewell/stack": self.plan.stack,
            "sizewell/workload": self.plan.name,
        }

    @property
    def task(self) -> Task:
        return self.plan.task or Task()

    @property
    def nodes(self) -> int:
        return self.plan.nodes

    @property
    def grace(self) -> int:
        return self.plan.grace_s

    def named(self, name: str) -> Launch:
        return replace(self, name=short(name))

    def metadata(self, name: str = "", annotations: Mapping[str, str] | None = None) -> dict[str, object]:
        made: dict[str, object] = {
            "name": name or self.name,
            "namespace": self.run.namespace,
            "labels": self.labels,
        }
        return {**made, "annotations": dict(annotations)} if annotations else made


def launch_of(decision: Decision, workload: Workload, pool: Pool, run: Run, target: Target) -> Launch:
    """The launch of one of a decision's pools, named after it, and after the run's prefix where it has one of its own.

    Two runs of a workload, or two people's notebooks, are two prefixes: their state and their objects stand apart.
    """
    made = launch_with(RunPlan.of(decision, workload, pool), run, target)
    return made if run.prefix == MAIN else made.named(f"{target.pool}-{label(run.prefix)}")


def launch_with(plan: RunPlan, run: Run, target: Target) -> Launch:
    """The launch of a plan, named after its pool. DecisionError where the catalog does not know the machines."""
    machine = machine_of(plan)
    cpus, gib = target.room
    machine = replace(machine, cpus=cpus or machine.cpus, memory_bytes=gib * 2**30 or machine.memory_bytes)
    return Launch(plan=plan, run=run, target=target, machine=machine, name=short(target.pool))


def label(prefix: str) -> str:
    """A prefix as objects may be called; with a hash where that says less than the prefix did.

    >>> label("second"), label("lr_3e-4"), label("lr.3e-4")
    ('second', 'lr-3e-4-1bd1', 'lr-3e-4-3611')
    """
    plain = re.sub(r"[^a-z0-9-]+", "-", prefix.lower()).strip("-") or "run"
    return plain if plain == prefix else f"{plain}-{hashlib.sha256(prefix.encode()).hexdigest()[:4]}"


def short(name: str, limit: int = 40) -> str:
    """`name`, cut with a hash where too long: pods add to it, and theirs ends at 63.

    >>> short("chat"), short("a-workload-with-a-name-of-forty-letters-burn-in")
    ('chat', 'a-workload-with-a-name-of-forty-47323543')
    """
    if len(name) <= limit:
        return name
    return f"{name[: limit - 9].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
