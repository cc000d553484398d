"""A key that nobody knows and that no rule places: what it may say of the load, by the kind of its value; and an echo
of what a spec says once every fix is done.

A number is never dropped in silence: where it could multiply or divide an amount of its section, both ways are said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sizewell.sizing.units import UnitError, duration_s, show_count, show_duration
from sizewell.sizing.workload.load_keys import several
from sizewell.sizing.workload.load_shares import share_of
from sizewell.sizing.workload.load_words import number_of

if TYPE_CHECKING:
    from sizewell.sizing.workload.model import WorkloadSpec

_AMOUNTS: Final = {
    "traffic": ("rps", "requests_per_hour", "concurrent_users"), "batch": ("records",),
    "training": ("samples", "tokens", "steps"),
}  # fmt: skip
_ONE: Final = {"traffic": "request", "batch": "record", "training": "sample"}
_JUDGED: Final = re.compile(r"(?:eval|evaluation|valid|validation|val|test|dev|held?_?out|holdout)(?:_|$)")
_OF_THE_DATA: Final = re.compile(r"share|fraction|portion|percent|subset|part|data|tokens|words|samples|per_")
_TIMES: Final = {"traffic": "think_time or slo", "batch": "window or every", "training": "deadline"}
_SAYS: Final = {
    "traffic": "how much comes stands in rps or concurrent_users, how long texts are in input_tokens and output_tokens",
    "batch": "how many there are stands in records, how long in tokens_per_record and output_tokens_per_record",
    "training": "how much is read stands in samples, tokens or steps, how long a sample is in sequence_length",
}


def unplaced(path: str, value: object, given: object, meant: Callable[[str, object], str]) -> str:
    """The ways out of a key of a load that no rule places; "" for a key of another section.

    `meant` is the fix of another key of the section, which may write the amount that this one multiplies.

    >>> unplaced("batch.boxes", 5, {"records": 4000}, lambda key, value: "")
    'if there are 5 of them for each record: records: 20k; else leave it out'
    >>> unplaced("traffic.sparkle", "60%", {"concurrent_users": 200}, lambda key, value: "")
    'if only 60% of it comes: concurrent_users: 120; else leave it out'
    >>> unplaced("batch.color", "blue", {"records": 4000}, lambda key, value: "").partition(":")[0]
    'leave it out'
    >>> unplaced("training.dropout", 0.1, {"samples": 4000}, lambda key, value: "")
    'leave it out: nothing of the size is read from it; it is your script that takes it'
    """
    where, _, key = path.rpartition(".")
    if where not in _AMOUNTS:
        return ""
    if where == "training" and _JUDGED.match(key):
        return "leave it out: what is held back or evaluated is not sized; samples are those that are trained on"
    if where == "training" and not _OF_THE_DATA.search(key) and not several(key):
        return "leave it out: nothing of the size is read from it; it is your script that takes it"
    if not isinstance(value, bool) and (share := share_of(value)):
        name, number, unit = _amount(where, given, meant)
        some = f"{name}: {_shown(number * float(share))}{unit}" if name else f"that share of {_AMOUNTS[where][0]}"
        return f"if only {value} of it comes: {some}; else leave it out"
    if number_of(value) and not isinstance(value, bool):
        each = number_of(value) or 1.0
        name, number, unit = _amount(where, given, meant)
        one = _ONE[where]
        whole = f"{name}: {_shown(number * each)}{unit}"
        if not name:
            ways = ", ".join(f"{key}: {value}" for key in _AMOUNTS[where])
            return f"say what it counts, as one of: {ways}; else leave it out"
        said = whole
        return f"if there are {value} of them for each {one}: {said}; else leave it out"
    if isinstance(value, str) and _is_time(value):
        return f"leave it out, or say it as {_TIMES[where]}, the times of a load"
    return f"leave it out: {_SAYS[where]}"


def _is_time(value: str) -> bool:
    try:
        return duration_s(value) > 0
    except UnitError:
        return False


def _shown(number: float) -> str:
    return show_count(round(number)) if number >= 1 and number == round(number) else f"{number:.4g}"


def _amount(where: str, given: object, meant: Callable[[str, object], str]) -> tuple[str, float, str]:
    """The amount that a section states, or that the fix of another key of it writes, with its unit."""
    section = given if isinstance(given, Mapping) else {}
    for name in _AMOUNTS[where]:
        stated = section.get(name)
        lines = (
            [f"write {name}: {stated}"] if stated is not None else [meant(key, each) for key, each in section.items()]
        )
        for line in lines:
            match = re.match(rf"write {name}: ([\d.]+[kMBT]?)(/\w+)?(?![\w.])", line)
            if match and (number := number_of(match[1]) or number_of(float(match[1]) if "." in match[1] else None)):
                return name, number, match[2] or ""
    return "", 0.0, ""


def said_of(spec: WorkloadSpec) -> str:
    r"""The load of a spec in a few words; "" where it states none.

    >>> from sizewell.sizing.workload.read import parse_spec
    >>> head = "name: n\nkind: batch-inference\nmodel: Qwen/Qwen3-8B\n"
    >>> said_of(parse_spec(head + "batch: {records: 4000, tokens_per_record: 900, window: 6h}"))
    '4,000 records of 900 tokens in and 0 out (output_tokens_per_record says how much is written), within 6h'
    """
    if (work := spec.batch) is not None:
        each = f"{work.tokens_per_record or 0:,} tokens in and {work.output_tokens_per_record:,} out"
        if work.audio_s:
            each = f"{show_duration(work.audio_s)} of audio"
        elif not work.output_tokens_per_record:
            each += " (output_tokens_per_record says how much is written)"
        seen = f" and {work.images.per_request} images" if work.images and work.tokens_per_record else ""
        many = f"{work.records:,} records of {each}{seen}, within {show_duration(work.window_s)}"
        often = work.every_s
        return f"{many}, every {show_duration(often)}" if often and often != 86_400.0 else many
    if (load := spec.traffic) is not None:
        rate = (
            f"{load.concurrent_users:,} users at once"
            if load.concurrent_users
            else f"{load.rps:.4g} requests a second"
            if load.rps
            else ""
        )
        if not rate:
            return ""
        tokens = f" of {load.input_tokens:,} tokens in and {load.output_tokens or 0:,} out" if load.input_tokens else ""
        return f"{rate}{tokens}"
    if (run := spec.training) is not None:
        much = (
            f"{run.samples:,} samples"
            if run.samples
            else f"{run.tokens:,} tokens"
            if run.tokens
            else f"{run.steps:,} steps"
            if run.steps
            else ""
        )
        length = f" of {run.sequence_length:,} tokens" if run.sequence_length and run.samples else ""
        again = f", {run.epochs:g} times" if run.samples and run.epochs and run.epochs != 1 else ""
        return f"{much}{length}{again}"
    return ""


def several_of_load(paths: Sequence[str]) -> bool:
    """Whether so many keys of a load are mended together that what they make is worth saying."""
    return sum(re.match(r"(?:traffic|batch|training)\.", path) is not None for path in paths) > 1
