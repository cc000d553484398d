"""In which legal area a region lies, for `data: {residency: ...}`.

Areas are where the regions stand by the providers' own region lists: the European Union without the United Kingdom,
Switzerland and Norway, which have laws of their own; regions of no listed area return "".
"""

from __future__ import annotations

from typing import Final

# Longest prefix wins. A region's name starts with the prefix.
AREAS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "aws": (
        ("eu-west-2", "uk"),
        ("eu-central-2", "ch"),
        ("eu-", "eu"),
        ("us-", "us"),
        ("ca-", "ca"),
        ("ap-south-", "in"),
        ("ap-northeast-1", "jp"),
        ("ap-northeast-3", "jp"),
        ("ap-southeast-2", "au"),
        ("ap-southeast-4", "au"),
    ),
    "gcp": (
        ("europe-west2", "uk"),
        ("europe-west6", "ch"),
        ("europe-", "eu"),
        ("us-", "us"),
        ("northamerica-northeast3", ""),
        ("northamerica-northeast", "ca"),
        ("asia-south1", "in"),
        ("asia-south2", "in"),
        ("asia-northeast1", "jp"),
        ("asia-northeast2", "jp"),
        ("australia-", "au"),
    ),
    "azure": (
        ("uk", "uk"),
        ("switzerland", "ch"),
        ("norway", ""),
        ("westeurope", "eu"),
        ("northeurope", "eu"),
        *((country, "eu") for country in ("france", "germany", "italy", "poland", "spain", "sweden", "austria", "belgium", "denmark")),  # noqa: E501
        *((part, "us") for part in ("eastus", "westus", "centralus", "northcentralus", "southcentralus", "westcentralus", "usgov")),  # noqa: E501
        ("canada", "ca"),
        *((part, "in") for part in ("centralindia", "southindia", "westindia", "jioindia")),
        ("japan", "jp"),
        ("australia", "au"),
    ),
}  # fmt: skip
AREAS["nebius"] = (("eu-", "eu"), ("us-", "us"))


def of(cloud: str, region: str) -> str:
    """The area of a region: eu, uk, ch, us, ca, in, jp, au, or "" for another or an unknown one.

    >>> of("aws", "eu-west-1"), of("aws", "eu-west-2"), of("azure", "norwayeast"), of("gcp", "europe-west4")
    ('eu', 'uk', '', 'eu')
    """
    matches = [(prefix, area) for prefix, area in AREAS.get(cloud, ()) if region.startswith(prefix)]
    return max(matches, key=lambda match: len(match[0]))[1] if matches else ""
