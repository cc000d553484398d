"""Specs in, answers out: what `size`, `explain` and right-sizing share; an answer is a decision or `NothingFits`."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewell.cli import output
from sizewell.sizing.errors import SizewellError, SpecError, UsageError
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.decide import Answer
    from sizewell.sizing.records.decision import Decision, Workload
    from sizewell.sizing.workload.read import WorkloadSpec


STDIN = Path("-")


def max_age_s(text: str | None) -> float | None:
    """Seconds of `--max-age`; UsageError for what is no duration."""
    if text is None:
        return None
    from sizewell.sizing.units import UnitError, duration_s

    try:
        return duration_s(text)
    except UnitError as error:
        raise UsageError(f"--max-age: {error}") from None


def read_all(paths: Sequence[Path], catalog: Catalog | None) -> list[WorkloadSpec]:
    """Every spec, or one SpecError with the faults of all of them."""
    from sizewell.sizing.workload.read import parse_spec, read_spec

    if paths.count(STDIN) > 1:
        raise UsageError("- is standard input, which is read once\n  fix: name it once")
    specs, wrong = [], []
    for path in paths:
        try:
            if path == STDIN:
                specs.append(parse_spec(_standard_input(), "standard input", catalog=catalog, folder=Path()))
            else:
                specs.append(read_spec(path, catalog))
        except SpecError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        raise UsageError("\n".join(str(error) for error in wrong))
    return specs


def _standard_input() -> str:
    """The text of a spec that comes through a pipe, as `read_text` has that of a file."""
    from sizewell.sizing.errors import Fault
    from sizewell.sizing.workload.text import BYTES_MAX

    output.note_that_it_waits()
    data = sys.stdin.buffer.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise SpecError([Fault(path="standard input", message=f"is larger than {BYTES_MAX:,} bytes")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        raise SpecError([Fault(path="standard input", message=message, fix="save it as UTF-8")]) from None


def as_decided(catalog: Catalog, decision: Path | None) -> Catalog:
    """The catalog with what the clouds said of their stock when a stack was decided, where they were asked."""
    from sizewell.sizing.records.decision import Decision

    try:
        said = Decision.from_json(decision).in_stock if decision is not None and decision.is_file() else None
    except SizewellError:  # whoever decides anew is not kept from it by a file that cannot be read
        said = None
    return catalog if said is None else replace(catalog, in_stock=said)


def size_all(
    specs: Sequence[WorkloadSpec], catalog: Catalog, *, stack: str | None, on: date, environment: str = ""
) -> list[Answer]:
    """With a stack one answer for all specs together; without, one for each, several at a time where they are many.

    `environment` is what the stack's configuration states.
    """
    from sizewell.cli import parallel
    from sizewell.sizing.choose.decide import decide

    if on.isoformat() < catalog.as_of:
        first = min(offer.effective_from for offer in catalog.all_offers)
        if on.isoformat() < first:
            raise UsageError(f"--on {on}: the catalog has no price before {first}\n  fix: name a later day")
    if stack is not None:
        with output.progress(f"sizing {plural(len(specs), 'workload')} of {stack}"):
            return [decide(specs, catalog, stack=stack, on=on, environment=environment)]
    answers: list[Answer] = []
    with output.progress("sizing") as tell:
        if parallel.processes(len(specs)) > 1:
            started = time.monotonic()
            show = lambda done: tell(f"sizing {parallel.progress_bar(done, len(specs), time.monotonic() - started)}")  # noqa: E731
            return list(parallel.decide_all(specs, on, show))
        for number, spec in enumerate(specs, start=1):
            tell(f"sizing {spec.name}, {number} of {len(specs)}, on {len(catalog.shapes)} machine types")
            answers.append(decide([spec], catalog, stack="", on=on))
    return answers


def is_decision(answer: Answer) -> TypeIs[Decision]:
    """Whether something fits; told by its fields, so that printing needs no import of the whole of sizing."""
    return hasattr(answer, "workloads")


def exit_code(answers: Sequence[Answer], *, stale: bool = False) -> int:
    """The gravest of: 5 nothing fits, 4 out of date, 2 over budget, 3 unpriced, 0."""
    workloads = [workload for answer in answers if is_decision(answer) for workload in answer.workloads]
    if any(not is_decision(answer) for answer in answers):
        return 5
    if stale:
        return 4
    if any(over_budget(workload) for workload in workloads):
        return 2
    return 3 if any(workload.cost.unpriced for workload in workloads) else 0


def over_budget(workload: Workload) -> bool:
    """Whether the expected cost is above a limit of the spec."""
    from sizewell.sizing.records.budget import exceeded

    return exceeded(workload.budget, run_rate=workload.bill().run_rate, run=workload.run())


def document(answer: Answer) -> dict[str, Any]:
    """An answer as JSON: a decision as its file has it, or what came nearest."""
    if is_decision(answer):
        return dict(json.loads(answer.to_json()))
    from sizewell.sizing.choose.decide import NothingFits
    from sizewell.sizing.versions import schema_of

    assert isinstance(answer, NothingFits)  # noqa: S101 - the only other answer
    return {
        "schema": schema_of("nothing-fits"),
        "nothing_fits": answer.workload,
        "nearest": [
            {
                "cloud": item.cloud,
                "instance_type": item.instance_type,
                "cause": item.cause.value,
                "reason": item.reason,
                "relax": item.relax,
                "needed_over_available": item.shortfall if math.isfinite(item.shortfall) else None,
            }
            for item in answer.nearest
        ],
        "impossible": list(answer.impossible),
        "relax": list(answer.relax),
        "rejections": [group.model_dump(mode="json") for group in answer.rejections],
    }
