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

_ZONE_LETTERS: Final = ("a", "b", "c")


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
        names = [f"{region}{letter}" for letter in _ZONE_LETTERS]
        return (
            {"names": names, "zoneIds": [MARK] * len(names), "groupNames": [region], "id": region, "region": region},
            f"availability zones assumed: {', '.join(names)}",
        )
    if function == "gcp:organizations/getClientConfig:getClientConfig":
        known = {field: config.get(f"gcp:{field}", MARK) for field in ("project", "region", "zone")}
        return {"accessToken": MARK, "defaultLabels": {}, "id": MARK, **known}, ""
    if function == "azure-native:authorization:getClientConfig":
        named = ("subscriptionId", "tenantId", "clientId")
        return {"objectId": MARK, **{field: config.get(f"azure-native:{field}", MARK) for field in named}}, ""
    if function == "gcp:compute/getZones:getZones" and config.get("gcp:region"):
        names = [f"{config['gcp:region']}-{letter}" for letter in _ZONE_LETTERS]
        return {"id": MARK, "names": names, "project": MARK}, f"zones assumed: {', '.join(names)}"
    return None, ""
