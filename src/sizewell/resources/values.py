"""Reading recorded inputs: plain JSON in which any value, at any depth, may be `UNKNOWN`.

Every reader returns `UNKNOWN` when what it was asked for, or anything on the way there, is not known yet; `None` (or
the default) means that the input does not say. Neither is ever turned into the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, TypeGuard, TypeVar

from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.sizing.providers import CLOUDS

T = TypeVar("T")
Flag = bool | Unknown
Count = int | Unknown | None
Text = str | Unknown


def get(value: Any, *path: str | int, default: Any = None) -> Any:
    """The value at a path of keys and positions.

    >>> get({"scaling": [{"min": 1}]}, "scaling", 0, "min")
    1
    >>> get({"scaling": UNKNOWN}, "scaling", 0, "min")
    UNKNOWN
    >>> get({}, "scaling", default="none")
    'none'
    """
    for step in path:
        if type(value) is dict:  # nearly always: the checks below are for what remains
            if step not in value:
                return default
            value = value[step]
            continue
        if value is None:
            return default
        if isinstance(value, Unknown):
            return UNKNOWN
        if isinstance(step, int):
            if not isinstance(value, Sequence) or isinstance(value, str) or len(value) <= step:
                return default
            value = value[step]
        else:
            if not isinstance(value, Mapping) or step not in value:
                return default
            value = value[step]
    return default if value is None else value


def number(value: object) -> Decimal | Unknown | None:
    """A number, also from a string ("100"); None where there is none or the text is no number."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if value is None or isinstance(value, bool):
        return None
    try:
        result = Decimal(str(value))
    except InvalidOperation:
        return None
    return result if result.is_finite() else None


def count(value: object) -> Count:
    """A whole number, or UNKNOWN, or None where the input is silent."""
    result = number(value)
    return int(result) if isinstance(result, Decimal) else result


def flag(value: object, *, default: bool = False) -> Flag:
    """True, False or UNKNOWN; also from the strings that Terraform-born providers use ("true").

    >>> flag("true"), flag(None), flag(UNKNOWN)
    (True, False, UNKNOWN)
    """
    if isinstance(value, Unknown):
        return UNKNOWN
    if value is None:
        return default
    if isinstance(value, str):
        return value.strip().lower() in {"true", "enabled", "yes", "1"}
    return bool(value)


def text(value: object, default: str = "") -> Text:
    if isinstance(value, Unknown):
        return UNKNOWN
    return default if value is None else str(value)


def items(value: Any) -> tuple[Any, ...] | Unknown:
    """A list as a tuple; one mapping counts as a list of one, nothing as the empty list."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if value is None:
        return ()
    if isinstance(value, (str, Mapping)):
        return (value,)
    return tuple(value)


def known(value: T | Unknown) -> TypeGuard[T]:
    return value is not UNKNOWN


def either(*flags: Flag) -> Flag:
    """Three-valued or.

    >>> either(False, UNKNOWN), either(UNKNOWN, True), either(False, False)
    (UNKNOWN, True, False)
    """
    answer: Flag = False
    for value in flags:
        if value is True:
            return True
        if value is UNKNOWN:
            answer = UNKNOWN
    return answer


def every(*flags: Flag) -> Flag:
    """Three-valued and.

    >>> every(True, UNKNOWN), every(UNKNOWN, False), every()
    (UNKNOWN, False, True)
    """
    answer: Flag = True
    for value in flags:
        if value is False:
            return False
        if value is UNKNOWN:
            answer = UNKNOWN
    return answer


def negated(value: Flag) -> Flag:
    return UNKNOWN if value is UNKNOWN else not value


_PLAIN: Final = frozenset((str, bool, int, float, type(None)))


def contains_unknown(value: object) -> bool:
    """Whether anything inside is not known yet."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, Unknown):
        return True
    if isinstance(value, Mapping):
        return any(contains_unknown(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(contains_unknown(v) for v in value)
    return False


# What version 2 of the Azure provider had in its module `insights` and version 3 has in `monitor`.
_MONITOR = (
    "ActionGroup",
    "ActivityLogAlert",
    "AutoscaleSetting",
    "DiagnosticSetting",
    "MetricAlert",
    "ScheduledQueryRule",
)
_AZURE_VERSION = re.compile(r"/v\d{8}(preview)?:")
_GOOGLE_VERSION = re.compile(r"^(google-native:\w+)/\w+:")
_LOCATION = re.compile(r"/(?:locations|zones)/([^/]+)/")
_AWS_S3_V2 = re.compile(r"^aws:s3/(\w+)V2:(\w+)V2$")


@lru_cache(maxsize=4096)
def canonical(token: str) -> str:
    """One spelling for the type tokens of one thing: without an API version, without the V2 of old S3 resources.

    >>> canonical("azure-native:compute/v20240701:VirtualMachineScaleSet")
    'azure-native:compute:VirtualMachineScaleSet'
    >>> canonical("azure-native:insights:AutoscaleSetting")
    'azure-native:monitor:AutoscaleSetting'
    >>> canonical("aws:s3/bucketVersioningV2:BucketVersioningV2")
    'aws:s3/bucketVersioning:BucketVersioning'
    """
    token = _GOOGLE_VERSION.sub(r"\1:", _AZURE_VERSION.sub(":", token))
    if token.startswith("azure-native:insights:") and token.rsplit(":", 1)[-1] in _MONITOR:
        token = token.replace(":insights:", ":monitor:")
    match = _AWS_S3_V2.match(token)
    return f"aws:s3/{match[1]}:{match[2]}" if match else token


def declared_type(resource: RecordedResource) -> str:
    """The type that a program declares, as its URN has it: readers may know the resource by another one.

    >>> urn = "urn:pulumi:dev::p::my:index:Part$aws-native:ec2:Instance::box"
    >>> declared_type(RecordedResource(urn=urn, type="aws:ec2/instance:Instance", name="box", inputs={}))
    'aws-native:ec2:Instance'
    """
    parts = resource.urn.split("::")
    return parts[2].rsplit("$", 1)[-1] if len(parts) > 3 else resource.type


def place_in(path: object) -> str | None:
    """The region or zone that a path of Google's names.

    >>> place_in("projects/p/locations/us-central1/clusters/c"), place_in("c")
    ('us-central1', None)
    """
    found = _LOCATION.search(path) if isinstance(path, str) else None
    return found[1] if found else None


def cloud_of(token: str) -> str:
    """aws, gcp, azure, kubernetes or "" for a type token, components of ours included.

    >>> cloud_of("sizewell-gcp:index:GkeCluster"), cloud_of("azure-native:compute:Disk"), cloud_of("random:index:X")
    ('gcp', 'azure', '')
    """
    package = token.split(":", 1)[0]
    return _CLOUDS.get(package, "")


_CLOUDS: Final = {
    "kubernetes": "kubernetes",
    **{
        package: name
        for name, cloud in CLOUDS.items()
        for package in (cloud.provider.package, *cloud.provider.others, f"sizewell-{name}")
    },
}
