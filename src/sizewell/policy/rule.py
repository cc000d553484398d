"""What a rule is: a pure function from facts to a verdict, and what stands beside it.

A module in `policy/rules/` has one function that judges and one `RULE`. The function returns None (fine), a
`Violation`, or `Undetermined` when what it needs is not known yet; an undetermined rule counts as failed.
A rule of a whole stack gets `StackFacts` and returns a list of (urn, verdict).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sizewell.policy.announcement import LEVELS, Announcement, Level, Parameter
from sizewell.resources.recorded import Inapplicable, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag

__all__ = [
    "LEVELS",
    "Area",
    "Level",
    "Parameter",
    "Parameters",
    "Rule",
    "StackJudge",
    "StackVerdicts",
    "Undetermined",
    "Verdict",
    "Violation",
    "forbid",
    "require",
]

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
class Rule(Announcement):
    """A rule: what it announces, and what a reader of `sizewell policy --list` learns about it."""

    area: Area
    judge: Callable[..., Any]
    clouds: tuple[str, ...] = ("aws", "gcp", "azure")
    types: tuple[str, ...] = ()  # canonical type tokens, where only these are judged


def require(condition: Flag | Inapplicable, *, message: str, fix: str, unknown: str) -> Verdict:
    """Fine where `condition` is True or does not apply, a violation where it is False, undetermined where unknown.

    >>> require(True, message="", fix="", unknown="") is None
    True
    """
    if isinstance(condition, Unknown):
        return Undetermined(unknown)
    return None if isinstance(condition, Inapplicable) or condition else Violation(message, fix)


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
