"""What can be answered offline when a program calls a function of a provider, from the stack's configuration.

A string that only the cloud knows is answered with the unknown mark: it can be formatted into other strings, and every
input that it reaches is recorded as unknown. All other calls have no answer here (see `sdk.stand_ins`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sizewell.recording.wire import UNKNOWN_MARK

# Not equal to the mark itself: the SDK would turn that into None, and a program into the text "None".
MARK: Final = f"?{UNKNOWN_MARK}?"

_USUAL: Final = ("a", "b", "c")  # of a region whose zones the catalog does not say


def offline_answer(function: str, config: Mapping[str, str]) -> tuple[dict[str, object] | None, str]:
    """The answer to a call, or None for unknown, and a note where the answer is an assumption.

    >>> offline_answer("aws:index/getRegion:getRegion", {"aws:region": "eu-west-1"})[0]["region"]
    'eu-west-1'
    >>> config = {"azure-native:subscriptionId": "0000-1"}
    >>> offline_answer("azure-native:authorization:getClientConfig", config)[0]["subscriptionId"]
    '0000-1'
    >>> offline_answer("aws:rds/getEngineVersion:getEngineVersion", {})
    (None, '')
    """
    region = config.get("aws:region", "")
    if function == "aws:index/getRegion:getRegion" and region:
        return {"description": MARK, "endpoint": MARK, "id": region, "name": region, "region": region}, ""
    if function == "aws:index/getPartition:getPartition":
        partition = "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"
        suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
        reverse = ".".join(reversed(suffix.split(".")))
        return {"dnsSuffix": suffix, "id": partition, "partition": partition, "reverseDnsPrefix": reverse}, ""
    if function == "aws:index/getAvailabilityZones:getAvailabilityZones" and region:
        names, note = _zones("aws", region, "")
        answer = {"names": names, "zoneIds": [MARK] * len(names), "groupNames": [region], "id": region}
        return {**answer, "region": region}, note
    if function == "gcp:organizations/getClientConfig:getClientConfig":
        known = {field: config.get(f"gcp:{field}", MARK) for field in ("project", "region", "zone")}
        return {"accessToken": MARK, "defaultLabels": {}, "id": MARK, **known}, ""
    if function == "azure-native:authorization:getClientConfig":
        named = ("subscriptionId", "tenantId", "clientId")
        return {"objectId": MARK, **{field: config.get(f"azure-native:{field}", MARK) for field in named}}, ""
    if function == "gcp:compute/getZones:getZones" and config.get("gcp:region"):
        names, note = _zones("gcp", config["gcp:region"], "-")
        return {"id": MARK, "names": names, "project": MARK}, note
    return None, ""


def _zones(cloud: str, region: str, between: str) -> tuple[list[str], str]:
    """The names of a region's zones, and that an account may see others."""
    from sizewell.sizing.catalog import load

    known = [zone for zone in load().zones_of(cloud, region) if len(zone) == 1]  # not the ids
    names = [f"{region}{between}{letter}" for letter in known or _USUAL]
    if known:
        return names, f"zones as the catalog has them for {region}: {', '.join(names)}; an account may see fewer"
    return names, f"zones assumed, the catalog does not have them for {region}: {', '.join(names)}"
