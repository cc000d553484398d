"""Which versions of its records this release writes and reads: each carries `schema: sizewell.<record>/N`.

An older version is read, or refused with the way out; one file of each version is kept under `tests/records/versions/`.
A file without a version is of the time before there were any, which is version 0. In a table of a project's `catalog/`,
which is CSV, the version stands in the first line: `# schema: sizewell.catalog/1`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sizewell.sizing.errors import ConfigError, Fault

WRITTEN: Final[Mapping[str, int]] = {
    "calibration": 1,  # fitted constants: training, serving and memory
    "catalog": 1,  # tables of a project's own
    "checkpoint": 1,
    "checkpoint-pointer": 1,  # latest.json
    "decision": 1,
    "evidence": 1,  # the record of a run in an account
    "evidence-run": 1,  # the journal of one
    "guardrails": 1,
    "own-hardware": 1,  # figures of servers, for `economics --hardware`
    "observed": 1,  # a measurement, for `size --observed`
    "pool-usage": 1,  # how busy pools were, kept beside the journal of teardown
    "policy": 1,  # configuration of the rules, waivers among it
    "preview": 1,
    "rates": 1,
    "refresh-answers": 1,  # of one seller's price list, in the journal of `prices refresh`
    "registration": 1,
    "spec": 1,
    "teardown": 1,  # stacks/config/teardown.yaml
    "teardown-lock": 1,  # who holds a stack
    "teardown-plan": 1,
    "teardown-record": 1,  # of its journal
    "teardown-settings": 1,  # what scheduled runs go by, beside the journal
    "timeline": 1,
    "usage": 1,
}
# For people and programs of others, nothing here reads it again: JSON objects that commands print, and a run's first.
PRINTED: Final[Mapping[str, int]] = {
    "ages": 1,
    "ages-refresh": 1,
    "as-measured": 1,  # `size --observed` of measured times
    "checklist": 1,
    "commitments": 1,  # `economics` of stacks
    "economics": 1,
    "evidence-filed": 1,
    "evidence-plan": 1,
    "explanation": 1,
    "forecast": 1,
    "import": 1,
    "keep": 1,
    "launch": 1,
    "leave": 1,
    "nothing-fits": 1,
    "policy-pack": 1,
    "policy-report": 1,
    "reconciliation": 1,
    "refresh": 1,
    "right-sizing": 1,
    "run-start": 1,  # runs/*.json in a checkpoint store
    "schedule": 1,
    "simulation": 1,
    "stock": 1,
    "teardown-status": 1,
    "wake": 1,
    "tools": 1,
    "why": 1,
}
# Those that had no version at first.
UNVERSIONED: Final = (
    *("catalog", "checkpoint-pointer", "guardrails", "observed", "own-hardware", "policy", "rates", "refresh-answers"),
    *("registration", "spec", "teardown-lock", "usage"),
)
OLDEST_READ: Final[Mapping[str, int]] = {**WRITTEN, **dict.fromkeys(UNVERSIONED, 0)}
_SCHEMA: Final = re.compile(r"sizewell\.([a-z-]+)/(\d+)")


def schema_of(record: str) -> str:
    """What this release writes.

    >>> schema_of("spec")
    'sizewell.spec/1'
    """
    return f"sizewell.{record}/{WRITTEN[record] if record in WRITTEN else PRINTED[record]}"


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
        without = "" if OLDEST_READ[record] else ", or leave schema out"
        return f"is {stated!r}; {reads}", f"write {schema_of(record)}{without}"
    version = int(match[2]) if match else 0
    if version > WRITTEN[record]:
        return f"is {stated!r}; {reads}", "upgrade Sizewell to the release that wrote it, or to a newer one"
    if version < OLDEST_READ[record]:
        if stated:
            return f"is {stated!r}; {reads}", "write it again with this release"
        return f"is missing; {reads}", f"add schema: {schema_of(record)}, or write it again with this release"
    return "", ""


def content(record: str, data: object, subject: str) -> Any:
    """What a file holds, without its `schema`; ConfigError, with the way out, where its version is not read.

    >>> content("usage", {"schema": "sizewell.usage/1", "usage": []}, "usage.yaml")
    {'usage': []}
    """
    if not isinstance(data, Mapping):
        return data
    wrong, fix = refusal(record, data.get("schema"))
    if wrong:
        raise ConfigError([Fault(path="schema", message=wrong, fix=fix)], subject=subject)
    return {key: value for key, value in data.items() if key != "schema"}
