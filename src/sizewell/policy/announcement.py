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
    "gcp:container/nodePool:NodePool",
    "gcp:container/cluster:Cluster",
    "gcp:tpu/v2Vm:V2Vm",
    "gcp:tpu/v2QueuedResource:V2QueuedResource",
    "azure-native:containerservice:AgentPool",
    "azure-native:containerservice:ManagedCluster",
    "azure-native:machinelearningservices:Compute",
)
OF_WHOLE_POOLS: Final = ("idle-exposure",)
STATED: Final = "x-sizewell"  # the key of a rule in the schema of the configuration for what only the pack reads
TOTAL: Final = "cost-total"  # not a rule: the line with the bill that a plain `pulumi preview` shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A setting of a rule: its default and the JSON Schema of its values."""

    default: Any
    schema: Mapping[str, Any]
    meaning: str

    def described(self) -> dict[str, Any]:
        """Its JSON Schema with meaning and default, as editors and the engine show it."""
        return {**self.schema, "description": self.meaning, "default": self.default}

    @classmethod
    def of_schema(cls, described: Mapping[str, Any]) -> Parameter:
        """The parameter that such a schema describes."""
        schema = {key: value for key, value in described.items() if key not in ("description", "default")}
        return cls(default=described["default"], schema=schema, meaning=described["description"])


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
    debatable: bool = False  # a careful team may decide otherwise: advice in all profiles but `strict`
    firm_in: tuple[str, ...] = ()  # environments in which it is not debatable
    evaluator_only: bool = False  # needs what a policy process cannot see

    def stated(self) -> dict[str, Any]:
        """What differs from the defaults, beside name, purpose and parameters, as plain JSON."""
        entry: dict[str, Any] = {"subject": self.subject}
        if self.level != "mandatory":
            entry["level"] = self.level
        if self.levels:
            entry["levels"] = dict(self.levels)
        if self.debatable:
            entry["debatable"] = True
        if self.firm_in:
            entry["firm_in"] = list(self.firm_in)
        if self.evaluator_only:
            entry["evaluator_only"] = True
        return entry

    def defaults(self) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def level_in(self, environment: str) -> Level:
        return self.levels.get(environment, self.level)
