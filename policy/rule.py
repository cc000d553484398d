"""What a rule is: a pure function from facts to a verdict, and what stands beside it.

A module in `policy/rules/` has one function that judges and one `RULE`. The function returns None (fine), a
`Violation`, or `Undetermined` when what it needs is not known yet; an undetermined rule counts as failed.
A rule of a whole stack gets `StackFacts` and returns a list of (urn, verdict).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from resources.recorded import Unknown
from resources.stackfacts import StackFacts
from resources.values import Flag

Level = Literal["mandatory", "advisory", "disabled"]
LEVELS: tuple[Level, ...] = ("mandatory", "advisory", "disabled")
Area = Literal["spend", "correctness", "safety", "ownership"]


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong, in one sentence that names the money or failure it prevents, and the line that mends it."""

    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Undetermined:
    """What has to be known before the rule can pass."""

    what: str


Verdict = Violation | Undetermined | None
Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A setting of a rule: its default and the JSON Schema of its values."""

    default: Any
    schema: Mapping[str, Any]
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule and what a reader of `sizewell policy --list` learns about it.

    `subject` is the field of `StackFacts` whose entries the rule judges one by one, or "stack" for all at once.
    """

    id: str
    area: Area
    subject: str
    prevents: str  # the money or failure, in a few words
    judge: Callable[..., Any]
    level: Level = "mandatory"
    levels: Mapping[str, Level] = field(default_factory=dict)  # by environment, where it differs
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    clouds: tuple[str, ...] = ("aws", "gcp", "azure")
    types: tuple[str, ...] = ()  # canonical type tokens, where only these are judged
    evaluator_only: bool = False  # needs what a policy process cannot see

    def defaults(self) -> dict[str, Any]:
        return {name: parameter.default for name, parameter in self.parameters.items()}

    def level_in(self, environment: str) -> Level:
        return self.levels.get(environment, self.level)


def require(condition: Flag, *, message: str, fix: str, unknown: str) -> Verdict:
    """Fine where `condition` is True, a violation where it is False, undetermined where nobody knows yet.

    >>> require(True, message="", fix="", unknown="") is None
    True
    """
    if isinstance(condition, Unknown):
        return Undetermined(unknown)
    return None if condition else Violation(message, fix)


def forbid(condition: Flag, *, message: str, fix: str, unknown: str) -> Verdict:
    """The other way round: a violation where `condition` is True.

    >>> forbid(True, message="it is open", fix="close it", unknown="the range")
    Violation(message='it is open', fix='close it')
    """
    return require(
        condition if isinstance(condition, Unknown) else not condition, message=message, fix=fix, unknown=unknown
    )


StackVerdicts = Sequence[tuple[str, Verdict]]
StackJudge = Callable[[StackFacts, Parameters], StackVerdicts]
