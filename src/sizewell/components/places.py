"""Regions, zones and what stands in them, as far as a plain argument says it. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from sizewell.components.faults import Faults
from sizewell.sizing.catalog.records import NO_ZONES
from sizewell.sizing.providers.cloud import PerCloud

BEYOND: Final = PerCloud[tuple[str, ...]](
    aws=("cn-north-1", "cn-northwest-1"),
    gcp=(),
    azure=(
        *("usgovvirginia", "usgovarizona", "usgovtexas", "usdodcentral", "usdodeast", "ussecwest", "usseceast"),
        *("chinaeast", "chinaeast2", "chinaeast3", "chinanorth", "chinanorth2", "chinanorth3"),
    ),
)
"""Regions that a cloud has and the catalog has no facts of (learn.microsoft.com/azure/azure-government, docs.azure.cn,
docs.amazonaws.cn; from memory)."""


@functools.cache
def regions(cloud: str) -> tuple[str, ...]:
    """Every region of a cloud, as far as is known.

    >>> "eastus" in regions("azure"), "eastus9" in regions("azure")
    (True, False)
    """
    from sizewell.sizing import catalog

    known = catalog.load()
    named = {region for of, region in known.region_facts if of == cloud}
    return tuple(sorted({*named, *known.regions(cloud), *BEYOND[cloud]} - {"all"}))


def check_known(faults: Faults, cloud: str, region: str, called: str) -> bool:
    """That the cloud, `called` as people call it, has the region."""
    if region in regions(cloud):
        return True
    near = get_close_matches(region, regions(cloud), n=1)
    fix = f"did you mean {near[0]}?" if near else ""
    return faults.must(False, "region", f"does not exist on {called}: {region}", fix=fix)


def check_zone(faults: Faults, cloud: str, region: str, zone: str, at: str, *, short: str) -> None:
    """That a region has a zone, of which `short` is what follows the region's name; where nobody knows, it may."""
    from sizewell.sizing import catalog

    zones = catalog.load().zones_of(cloud, region)
    if not zones or short in zones:
        return
    if zones == NO_ZONES:
        message = f"is {zone}, and {region} has no availability zones, as far as is known"
        faults.add(at, message, fix="leave zones empty: its machines are regional; or choose a region with zones")
        return
    kind = [each for each in zones if each.startswith("az") == short.startswith("az")]
    shown = ", ".join(f"{zone.removesuffix(short)}{each}" for each in kind)
    faults.add(at, f"does not exist in {region}, as far as is known: {zone}", fix=f"its zones are {shown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What an argument names that stands already: its form, and where that form says its region."""

    pattern: str  # its group `region`, where it has one, has to be the component's
    allowed: str
    flags: int = re.IGNORECASE


def check_references(
    faults: Faults, args: Mapping[str, object], known: Mapping[str, Reference], region: str, at: str = ""
) -> None:
    """That plain strings name things of the right kind, in the component's region where they say one.

    An output is known when it is there.
    """
    for key, reference in known.items():
        value = args.get(key)
        several = isinstance(value, list | tuple)
        listed: Iterable[object] = value if isinstance(value, list | tuple) else (value,)
        for number, each in enumerate(listed):
            if not isinstance(each, str):
                continue
            path = f"{at}{key}[{number}]" if several else f"{at}{key}"
            match = re.fullmatch(reference.pattern, each, reference.flags)
            if match is None:
                faults.add(path, f"must be {reference.allowed}, got {each!r}")
                continue
            there = match.groupdict().get("region") or ""
            if region and there and there != region:
                faults.add(path, f"is in {there}, and everything here is in {region}: {each}")
