"""Bounds of arguments, stated in their types: `disk_gib: Annotated[int, Between(30, 16384)]`. Pure.

`Faults.of` checks them and the reference prints them, so neither a check nor a page states a number again. A bound that
another argument, the machine or the cloud decides belongs into the component's own check.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, NotRequired, get_args, get_origin


@dataclass(frozen=True, slots=True)
class Between:
    """A whole number (no bool, no float, no Output: counts must be known at preview) from `low` to `high`.

    `words` are the range as a sentence says it, where that is more than the numbers; `because` and `fix` end the
    sentence, as with the others.
    """

    low: int
    high: int
    fix: str = ""
    because: str = ""
    words: str = ""
    missing: ClassVar[None] = None  # what a refusal shows where the argument is required and missing

    def holds(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    @property
    def allowed(self) -> str:
        """What is allowed, as a sentence that refuses a value says it."""
        return self.words or f"a whole number, {self}"

    def __str__(self) -> str:
        return self.words or f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of the `choices`, which are all strings or all numbers."""

    choices: tuple[str, ...] | tuple[int, ...]
    fix: str = ""
    because: str = ""
    missing: ClassVar[None] = None

    def holds(self, value: object) -> bool:
        return isinstance(value, str | int) and value in self.choices

    @property
    def allowed(self) -> str:
        """What is allowed, as a sentence that refuses a value says it."""
        return f"one of {', '.join(map(str, self.choices))}"

    def __str__(self) -> str:
        return self.allowed


@dataclass(frozen=True, slots=True)
class Pattern:
    """A string of which all matches `pattern`; `allowed` says in words what that is."""

    pattern: str
    allowed: str
    fix: str = ""
    because: str = ""
    missing: ClassVar[str] = ""

    def holds(self, value: object) -> bool:
        return bool(re.fullmatch(self.pattern, str(value)))

    def __str__(self) -> str:
        return self.allowed


Bound = Between | OneOf | Pattern
_KNOWN: Final[dict[type, dict[str, Bound]]] = {}


def bounds_of(shape: type) -> Mapping[str, Bound]:
    """The bounds of a TypedDict's keys, those of its bases included.

    >>> from typing import TypedDict
    >>> class Args(TypedDict):
    ...     nodes: Annotated[int, Between(1, 100)]
    >>> bounds_of(Args)
    {'nodes': Between(low=1, high=100, fix='', because='', words='')}
    """
    if shape not in _KNOWN:
        metadata = {key: getattr(_required(hint), "__metadata__", ()) for key, hint in shape.__annotations__.items()}
        _KNOWN[shape] = {key: found for key, (found, *_) in ((k, m) for k, m in metadata.items() if m)}
    return _KNOWN[shape]


def plain(hint: object) -> Any:
    """A key's type without its bound; whether it may be left out stays.

    >>> plain(NotRequired[Annotated[int, Between(1, 9)]])
    typing.NotRequired[int]
    """
    inner = _required(hint)
    if get_origin(inner) is not Annotated:
        return hint
    bare = get_args(inner)[0]
    return bare if inner is hint else NotRequired[bare]


def hide_bounds(shape: type) -> None:
    """Take the bounds out of a TypedDict's annotations, and out of those that it holds; `bounds_of` keeps them.

    A TypedDict that is derived from this one later has none (before Python 3.12 it does not tell its bases), so what a
    component takes is no base of what another takes; a form that both share is.
    """
    bounds_of(shape)
    for key, hint in shape.__annotations__.items():
        shape.__annotations__[key] = plain(hint)
        for inner in typed_dicts(hint):
            hide_bounds(inner)


def typed_dicts(hint: object) -> list[type]:
    """The TypedDicts in a type, as in a list of them."""
    if isinstance(hint, type) and hasattr(hint, "__required_keys__"):
        return [hint]
    return [found for inner in getattr(hint, "__args__", ()) for found in typed_dicts(inner)]


def _required(hint: object) -> Any:
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint
