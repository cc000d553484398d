"""What the prices of all options of a workload have in common, and how many machines an option has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from sizewell.sizing.billing.fees_compared import ComparedFees
from sizewell.sizing.choose.requirements import Requirements
from sizewell.sizing.predict.spot import checkpoint_bytes

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog

KEEP = 2


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the prices of all options of a workload have in common."""

    need: Requirements
    catalog: Catalog
    on: date
    environment: str  # dev | staging | prod
    store: str  # name of the checkpoint store
    keep: int = KEEP
    interval_s: float | None = None  # between checkpoints; None: the best one
    fees: ComparedFees

    def for_machine(self, runtime: str, count: int, *, own_program: bool = False) -> Setting:
        """The same for options on machines of `count` accelerators of one runtime: what runs the work there is theirs,
        or one's own.
        """
        need = self.need.on(runtime)
        need = replace(need, nodes=need.nodes_of(count), devices=None) if need.devices and count else need
        need = need.with_any_layout() if own_program else need
        return self if need is self.need else replace(self, need=need)

    @cached_property
    def checkpoint_bytes(self) -> int:
        """Of one checkpoint of the run; 0 where nothing is trained."""
        return _checkpoint_bytes(self.need) if self.need.training is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCounts:
    minimum: int
    initial: int
    maximum: int

    def within(self, nodes: int) -> int:
        """So many nodes as far as the autoscaler goes."""
        return min(self.maximum, max(self.minimum, nodes))


def _checkpoint_bytes(need: Requirements) -> int:
    from sizewell.sizing.predict.architecture import params_total

    job = need.training
    assert job is not None  # noqa: S101 - asked only for training
    params = float(params_total(job.architecture))
    trained = params
    if job.method in ("lora", "qlora"):
        from sizewell.sizing.predict.memory import adapter_params

        trained = float(adapter_params(job))
    return checkpoint_bytes(job.method, params, trained, job.optimizer)
