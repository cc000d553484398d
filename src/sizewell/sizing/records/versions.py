"""Which versions of its records this release writes and reads: each carries `schema: sizewell.<record>/N`.

An older version is read, or refused with the way out; one file of each version is kept under `tests/records/versions/`.
A file without a version is of the time before there were any, which is version 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

WRITTEN: Final[Mapping[str, int]] = {
    "calibration": 1,
    "checkpoint": 1,
    "decision": 1,
    "preview": 1,
    "registration": 1,
    "spec": 1,
    "teardown": 1,
    "timeline": 1,
}
OLDEST_READ: Final[Mapping[str, int]] = {**WRITTEN, "registration": 0, "spec": 0}  # both had no version at first
_SCHEMA: Final = re.compile(r"sizewell\.([a-z]+)/(\d+)")


def schema_of(record: str) -> str:
    """What this release writes.

    >>> schema_of("spec")
    'sizewell.spec/1'
    """
    return f"sizewell.{record}/{WRITTEN[record]}"


def refusal(record: str, stated: object) -> tuple[str, str]:
    """(why a record of that `schema` is not read, the way out); ("", "") where it is. None and "" are version 0.

    >>> refusal("registration", None), refusal("spec", "sizewell.spec/1")
    (('', ''), ('', ''))
    >>> refusal("spec", "sizewell.spec/9")[0]
    "is 'sizewell.spec/9'; this release reads sizewell.spec/1 and older ones"
    """
    match = _SCHEMA.fullmatch(str(stated)) if stated else None
    reads = f"this release reads {schema_of(record)}"
    if OLDEST_READ[record] < WRITTEN[record]:
        reads += " and older ones"
    if stated and (match is None or match[1] != record):
        return f"is {stated!r}; {reads}", f"write {schema_of(record)}, or leave schema out"
    version = int(match[2]) if match else 0
    if version > WRITTEN[record]:
        return f"is {stated!r}; {reads}", "upgrade Sizewell to the release that wrote it, or to a newer one"
    if version < OLDEST_READ[record]:
        what = f"is {stated!r}" if stated else "is missing"
        return f"{what}; {reads}", "write it anew with this release"
    return "", ""
