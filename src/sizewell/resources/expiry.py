"""When a stated expiry ends something: the date can be read, lies ahead but not too far, and something acts on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import Flag, Text, get, text

USUAL_TAGS: Final = ("sizewell-expires", "expires")  # what teams write; whether anything acts on them is another matter


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiries:
    """What makes an expiry count in one stack."""

    on: date | None = None
    days_max: int = 0  # nothing counts
    reserved_days_max: int = 0  # of reserved capacity, which is bought for longer than machines are
    tags: tuple[str, ...] = ()  # that something of the organisation's own acts on
    registered: Flag = UNKNOWN  # whether something acts on what components of Sizewell register

    def of_reserved(self) -> Expiries:
        """The same for reserved capacity."""
        return replace(self, days_max=self.reserved_days_max)

    def of(self, registration: Mapping[str, object] | None, tags: Mapping[str, Any] | Unknown | None) -> Expiry:
        """The expiry that a component registers, else that of a tag.

        >>> at = Expiries(on=date(2026, 11, 26), days_max=90, tags=("expires",))
        >>> at.of(None, {"expires": "2026-12-24"}).counts, at.of(None, {"expires": "2099-12-31"}).why_not
        (True, 'its expiry, 2099-12-31, is more than 90 days ahead')
        >>> at.of(None, {"sizewell-expires": "2026-12-24"}).why_not
        'nothing acts on its tag sizewell-expires'
        """
        if (stated := get(registration, "expires")) is not None:
            return self.judged(stated, acted=self.registered, unheeded="nothing acts on its expiry")
        if isinstance(tags, Unknown):
            return Expiry(stated=UNKNOWN, counts=UNKNOWN)
        named = {str(key).lower(): (str(key), value) for key, value in (tags or {}).items() if value not in (None, "")}
        obeyed = [tag.lower() for tag in self.tags]
        for key in (*obeyed, *USUAL_TAGS):
            if key in named:
                spelled, value = named[key]
                return self.judged(value, acted=key in obeyed, unheeded=f"nothing acts on its tag {spelled}")
        return Expiry()

    def judged(self, stated: object, *, acted: Flag = True, unheeded: str = "") -> Expiry:
        """A date that `acted` says something acts on."""
        said = text(stated)
        if isinstance(said, Unknown) or self.on is None:
            return Expiry(stated=said, counts=False if acted is False else UNKNOWN, why_not=unheeded)
        try:
            days = (date.fromisoformat(said[:10]) - self.on).days
        except ValueError:
            return Expiry(stated=said, why_not=f"its expiry, {said!r}, is not a date")
        if days <= 0:
            return Expiry(stated=said, why_not=f"its expiry, {said[:10]}, has passed")
        if days > self.days_max:
            return Expiry(stated=said, why_not=f"its expiry, {said[:10]}, is more than {self.days_max} days ahead")
        return Expiry(stated=said, counts=acted, why_not="" if acted is True else unheeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """What is stated of one resource; `counts` is whether that ends it, `why_not` why it does not."""

    stated: Text = ""
    counts: Flag = False
    why_not: str = ""

    def also(self) -> str:
        """The reason as the end of a sentence, "" where nothing is stated."""
        return f"; {self.why_not}" if self.why_not else ""


NO_EXPIRY: Final = Expiry()
