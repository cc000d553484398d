"""What a rule says of itself to the engine and to a configuration, before the rule itself is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Level = Literal["mandatory", "advisory", "disabled"]
LEVELS: Final[tuple[Level, ...]] = ("mandatory", "advisory", "disabled")
ALONE: Final = ("things", "purchases", "grants", "openings", "jobs")  # subjects that one resource makes up
# Resources that show a pool whole, its size, what moves it and its end: nothing that stands beside them stops it. Where
# no component registers more, these rules judge them before they are built, as `pulumi up --skip-preview` needs.
WHOLE_POOLS: Final = (
    "aws:eks/nodeGroup:NodeGroup",
    "gcp:container/nodePool:NodePool",
    "gcp:container/cluster:Cluster",
    "gcp:tpu/v2Vm:V2Vm",
    "gcp:tpu/v2QueuedResource:V2QueuedResource",
    "azure-native:containerservice:AgentPool",
    "azure-native:containerservice:ManagedCluster",
    "azure-native:machinelearningservices:Compute",
)
OF_WHOLE_POOLS: Final = ("idle-exposure",)
TOTAL: Final = "cost-total"  # not a rule: the line with the bill that a plain `pulumi preview` shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A setting of a rule: its default and the JSON Schema of its values."""

    default: Any
    schema: Mapping[str, Any]
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What the engine and a configuration ask of a rule: its name, levels and parameters, and what it prevents.

    `subject` is the field of `StackFacts` whose entries the rule judges one by one, or "stack" for all at once.
    """

    id: str
    subject: str
    prevents: str  # the money or failure, in a few words
    level: Level = "mandatory"
    levels: Mapping[str, Level] = field(default_factory=dict)  # by environment, where it differs
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    evaluator_only: bool = False  # needs what a policy process cannot see

    def defaults(self) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def level_in(self, environment: str) -> Level:
        return self.levels.get(environment, self.level)
