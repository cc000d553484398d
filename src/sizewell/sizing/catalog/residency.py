"""In which legal area a region lies, for `data: {residency: ...}`.

Areas are where the regions stand by the providers' own region lists: the European Union without the United Kingdom,
Switzerland and Norway, which have laws of their own; regions of no listed area return "".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.sizing.providers import CLOUDS

# Of sellers that are compared and not built on.
ELSEWHERE: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {"nebius": (("eu-", "eu"), ("us-", "us"))}


def of(cloud: str, region: str) -> str:
    """The area of a region: eu, uk, ch, us, ca, in, jp, au, or "" for another or an unknown one.

    >>> of("aws", "eu-west-1"), of("aws", "eu-west-2"), of("azure", "norwayeast"), of("gcp", "europe-west4")
    ('eu', 'uk', '', 'eu')
    """
    areas = CLOUDS[cloud].regions.areas if cloud in CLOUDS else ELSEWHERE.get(cloud, ())
    matches = [(prefix, area) for prefix, area in areas if region.startswith(prefix)]
    return max(matches, key=lambda match: len(match[0]))[1] if matches else ""
