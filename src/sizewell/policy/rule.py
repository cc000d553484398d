"""What a rule is: a pure function from facts to a verdict, and what stands beside it.

A rule is a function in a module of `policy/rules/`, with `@rule(...)` above it. The function returns None (fine), a
`Violation`, or `Undetermined` when what it needs is not known yet; an undetermined rule counts as failed.
A rule of a whole stack gets `StackFacts` and returns a list of (urn, verdict).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

from sizewell.policy.announcement import LEVELS, Announcement, Level, Parameter
from sizewell.resources.recorded import Inapplicable, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag
from sizewell.sizing.providers import CLOUDS

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
    "declared",
    "forbid",
    "require",
    "rule",
]

Area = Literal["spend", "correctness", "safety", "ownership"]


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong, in one sentence that names the money or failure it prevents, and the line that mends it."""

    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Undetermined:
    """What has to be known before the rule can pass; `message` and `fix` where a rule says that in its own words."""

    what: str
    message: str = field(default="", repr=False)
    fix: str = field(default="", repr=False)


Verdict = Violation | Undetermined | None
Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Announcement):
    """A rule: what it announces, and what a reader of `sizewell policy --list` learns about it."""

    area: Area
    judge: Callable[..., Any]
    clouds: tuple[str, ...] = tuple(CLOUDS)
    types: tuple[str, ...] = ()  # canonical type tokens, where only these are judged
    about_accelerators: bool = False  # it judges nothing else: the profile `accelerators` keeps all that it finds
    around_accelerators: bool = False  # it judges what surrounds accelerators, in a stack that has some
    module: str = ""  # that declares it

    @property
    def file(self) -> str:
        """Where it stands, below the package."""
        return self.module.removeprefix("sizewell.").replace(".", "/") + ".py"


Judge = TypeVar("Judge", bound=Callable[..., Any])
_DECLARED: Final[dict[str, Rule]] = {}


def rule(
    id: str,  # noqa: A002  (the rule's own field)
    *,
    area: Area,
    subject: str,
    prevents: str,
    level: Level = "mandatory",
    levels: Mapping[str, Level] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    debatable: bool = False,
    firm_in: tuple[str, ...] = (),
    evaluator_only: bool = False,
    about_accelerators: bool = False,
    around_accelerators: bool = False,
    clouds: tuple[str, ...] = tuple(CLOUDS),
    types: tuple[str, ...] = (),
) -> Callable[[Judge], Judge]:
    """Declare the function below as the rule `id`; ValueError where another one has that name.

    The function stays as it is, so that it is called, tested and read as any other: what the message and the fix say
    depends on the facts, and stays in it.
    """

    def declare(judge: Judge) -> Judge:
        if (other := _DECLARED.get(id)) is not None:
            raise ValueError(f"{id}: declared in {judge.__module__} and in {other.module}; rename one of them")
        _DECLARED[id] = Rule(
            id=id,
            subject=subject,
            prevents=prevents,
            level=level,
            levels=levels or {},
            parameters=parameters or {},
            debatable=debatable,
            firm_in=firm_in,
            evaluator_only=evaluator_only,
            area=area,
            judge=judge,
            clouds=clouds,
            types=types,
            about_accelerators=about_accelerators,
            around_accelerators=around_accelerators,
            module=judge.__module__,
        )
        return judge

    return declare


def declared(package: str) -> tuple[Rule, ...]:
    """The rules that the imported modules of `package` declare, sorted by id."""
    mine = (each for each in _DECLARED.values() if each.module.startswith(f"{package}."))
    return tuple(sorted(mine, key=lambda each: each.id))


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
