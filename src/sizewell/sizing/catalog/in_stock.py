"""What clouds said of their stock when a stack was sized: kept in its decision, so that the same comes out again."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Place(BaseModel):
    """A machine type in one region and market."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    cloud: str
    region: str
    instance_type: str
    market: str

    def is_at(self, cloud: str, region: str, instance_type: str, market: str) -> bool:
        return (self.cloud, self.region, self.instance_type, self.market) == (cloud, region, instance_type, market)


class PassedOver(Place):
    """One that could not be had, or hardly; not chosen until the cloud is asked again."""

    why: str


class Zoned(Place):
    """The zones of a pool where it could be had most likely."""

    zones: tuple[str, ...]


class InStock(BaseModel):
    """Answers of one time, as far as sizing goes by them.

    >>> place = {"cloud": "aws", "region": "us-east-1", "instance_type": "g6.xlarge", "market": "spot"}
    >>> said = InStock(asked_at="2026-11-28T02:00:00Z", zones=(Zoned(**place, zones=("us-east-1b",)),))
    >>> said.zones_of(**place), said.refusal(**place)
    (('us-east-1b',), '')
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    asked_at: str  # ISO time in UTC
    passed_over: tuple[PassedOver, ...] = ()
    zones: tuple[Zoned, ...] = ()

    def refusal(self, cloud: str, region: str, instance_type: str, market: str) -> str:
        """Why a machine is passed over; "" where it is not."""
        named = (each.why for each in self.passed_over if each.is_at(cloud, region, instance_type, market))
        return next(named, "")

    def zones_of(self, cloud: str, region: str, instance_type: str, market: str) -> tuple[str, ...]:
        """The zones that a pool takes; () where nothing was said."""
        named = (each.zones for each in self.zones if each.is_at(cloud, region, instance_type, market))
        return next(named, ())
