"""The rules about one tag each: everything that is billed and can be tagged has one of some keys, with a value."""

from __future__ import annotations

from collections.abc import Sequence

from sizewell.policy.rule import Parameter, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Thing


def tagged(thing: Thing, keys: Sequence[str], *, message: str) -> Verdict:
    """Fine where the thing does not bill, cannot be tagged, or has one of `keys`, in any case of letters.

    >>> from sizewell.policy.examples import thing
    >>> tagged(thing(bills=True, tags={"Team": "ml"}), ["team", "owner"], message="") is None
    True
    """
    if not thing.bills or thing.tags is None:
        return None
    if isinstance(thing.tags, Unknown):
        return Undetermined("the tags")
    stated = {key.lower() for key, value in thing.tags.items() if value not in (None, "")}
    if stated & {key.lower() for key in keys}:
        return None
    return Violation(message, f"tag it {keys[0]}")


def any_of(*keys: str, what: str) -> Parameter:
    """The setting of such a rule."""
    return Parameter(
        default=list(keys),
        schema={"type": "array", "items": {"type": "string"}},
        meaning=f"tags that name {what}; any one counts",
    )
