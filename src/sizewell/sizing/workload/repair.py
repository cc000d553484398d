"""What a fix of a fault does to the spec: so that a way out is tried by the reader before it is printed.

A fix is prose with one line to write at its beginning. Those that say which are read here; others are a person's.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import yaml

from sizewell.sizing.errors import Fault
from sizewell.sizing.workload.faults import keys_at
from sizewell.sizing.workload.other_kinds import MACHINE_ALONE
from sizewell.sizing.workload.text import SpecLoader

GUESSED: Final = (
    "model",
    "infra",
    "spot_policy",
)  # values whose ways out are guesses; others are written by hand, and tested
STEPS: Final = 6  # fixes that follow one another, until the reader takes what they make
_MISREAD: Final = ("unknown key", "is a mapping, not a number")  # each with a way out of its own
_KEY: Final = re.compile(r"did you mean '([\w.]+)'\?")
_VALUE: Final = re.compile(r"(did you mean|write|use|name):? (.+)", re.DOTALL)
_OR: Final = re.compile(r"(?<=, or )([\w./-]+)(?=, or |\?)")  # what a guess may be else
_MOVED: Final = re.compile(r"it belongs (?:under ([\w.]+)|(at the top of the spec))")
_ADDED: Final = re.compile(r"add:? (?:one of: )?(.+)", re.DOTALL)
_LEFT_OUT: Final = re.compile(r"(?:leave (?:it|\w+) out|remove it)\b")


def repaired(raw: Mapping[str, Any], fault: Fault) -> dict[str, Any] | None:
    """The spec with the fix of one fault done; None where the fix is not a line to write."""
    steps = _steps(fault.path)
    made: dict[str, Any] = copy.deepcopy(dict(raw))
    if not steps or not fault.fix:
        return None
    if match := _KEY.match(fault.fix):
        return made if _renamed(made, steps, match[1]) else None
    if _LEFT_OUT.match(fault.fix):
        _taken(made, steps)
        return made
    if match := _MOVED.match(fault.fix):
        value = _taken(made, steps)
        return _put(made, _steps(f"{match[1]}.{steps[-1]}" if match[1] else str(steps[-1])), value)
    if match := _ADDED.match(fault.fix):
        line = _line(match[1])
        own = isinstance(line, dict) and next(iter(line)) in keys_at([step for step in steps if isinstance(step, str)])
        return _merged(made, steps if own else steps[:-1], line)
    if match := _VALUE.match(fault.fix):
        written = _line(match[2].partition("? else ")[0])
        if match[1] in ("use", "name") and isinstance(written, str) and " " in written:
            return None  # a sentence
        if fault.message.startswith("unknown key") and not isinstance(written, dict):
            return None
        if isinstance(written, dict) and not match[2].startswith("{"):  # in braces it is the value itself
            home = _home(written, steps)
            if home is None:
                return None
            beside = match[1] == "use" and not fault.message.startswith("unknown key")
            if not beside and not _states(written, steps[len(home) :]):
                _taken(made, steps)
            return _merged(made, home, written)
        return None if written is None else _put(made, steps, written)
    return None


def tried(
    raw: Mapping[str, Any],
    fault: Fault,
    others: Sequence[Fault],
    faults_of: Callable[[Mapping[str, Any]], Sequence[Fault]],
) -> Fault:
    """The fault with a guess that the reader takes: its own, or what its own leads to; else without one.

    A fix that is no line to write stays as it is. `others` are the faults that were found together with it.
    """
    guessed = fault.fix.startswith(("did you mean", "it belongs")) or fault.message.startswith("unknown key")
    if not guessed and fault.path.partition("[")[0] not in GUESSED:
        return fault
    if any(_writes_again(fault, other) for other in others):
        return replace(fault, fix="")
    before, at = raw, fault
    known = {other.path for other in others} - {fault.path}
    others_meant: list[str] = []
    for step in range(STEPS):
        after = repaired(before, at)
        if after is None:
            return fault if step == 0 else replace(fault, fix="")
        changed = _changed(raw, after)
        left = [
            other
            for other in faults_of(after)
            if other.path not in known
            and not other.message.startswith(("is missing", "does not say"))
            and (_about(other, fault.path) or _under(other, changed))
        ]
        if not left:
            if step == 0:
                return fault
            line = _written(fault, at, after, changed)
            also = f", or {' or '.join(others_meant)} in its place" if others_meant and line != at.fix else ""
            return replace(fault, fix=f"{line}{also}" if line else "")
        before, at = after, left[0]
        others_meant += _OR.findall(at.fix)
    return replace(fault, fix="")


def _writes_again(fault: Fault, other: Fault) -> bool:
    """Whether a fix writes the very value that the same message refuses."""
    if other is fault or other.found is None or isinstance(other.found, dict | list) or other.path in ("", fault.path):
        return False
    match = _VALUE.match(fault.fix)
    written = _line(match[2]) if match else None
    return isinstance(written, dict) and _node(written, _steps(other.path)) == other.found


def tried_with_others(
    raw: Mapping[str, Any],
    fault: Fault,
    others: Sequence[Fault],
    faults_of: Callable[[Mapping[str, Any]], Sequence[Fault]],
) -> Fault:
    """As `tried`; a guess that the reader takes once the other unknown keys are mended stays as it is.

    The rank of adapters says no method where another key says it, and a percentile stands beside its mean.
    """
    made = tried(raw, fault, others, faults_of)
    if (
        made == fault
        or not re.match(r"(?:training|traffic|batch)\.", fault.path)
        or not fault.message.startswith("unknown")
    ):
        return made
    mended: Mapping[str, Any] = raw
    for other in others:
        if other is not fault and other.message.startswith("unknown key"):
            mended = repaired(mended, other) or mended
    return fault if mended != raw and tried(mended, fault, others, faults_of) == fault else made


def without_added(raw: Mapping[str, Any], faults: Sequence[Fault]) -> list[Fault]:
    """The faults but those of a missing key that the fix of another one writes, with the user's own value."""
    rates = [
        fault.path
        for fault in faults
        if re.fullmatch(r"traffic\.(?:rps|requests|requests_per_hour|concurrent_users)", fault.path)
    ]
    if rates:  # which say how much load there is, in other words
        faults = [fault for fault in faults if not fault.message.startswith("does not say how much load")]
    gone = [fault for fault in faults if fault.message.startswith("is missing")]
    made = [repaired(raw, fault) for fault in faults if fault not in gone]
    return [
        fault
        for fault in faults
        if fault not in gone or all(_node(each, _steps(fault.path)) is None for each in made if each is not None)
    ]


def gathered(raw: Mapping[str, Any], faults: Sequence[Fault]) -> list[Fault]:
    """The faults with one line for each section that several of them write, or that stands as a name alone.

    Two lines `model: {...}` are one too many, and one without the name that the spec has loses it.
    """
    lines = [_section_of(fault) for fault in faults]
    lines = [  # what is missing is added to what others write
        line
        if line is None
        or not fault.fix.startswith("add ")
        or any(each and each is not line and each.keys() == line.keys() for each in lines)
        else None
        for fault, line in zip(faults, lines, strict=True)
    ]
    made: dict[str, dict[str, Any]] = {}
    for each in filter(None, lines):
        [(section, value)] = each.items()
        stands = raw.get(section)
        if stands is None or (isinstance(stands, str) and section in ("model", "engine")):
            made[section] = {**made.get(section, {} if stands is None else {"name": stands}), **value}
    written: set[str] = set()
    answers = []
    places = [f for f in faults if f.fix.startswith("write infra: [") and not f.path.startswith("infra")]
    places.sort(key=lambda fault: len(fault.fix))  # the last one names its zone
    for fault, line in zip(faults, lines, strict=True):
        section = next(iter(line or {}), "")
        if fault in places:
            again = f"leave it out: it is in {_first(places[-1].fix.removeprefix('write '))}"
            answers.append(fault if fault is places[-1] else replace(fault, fix=again))
            continue
        if section not in made:
            answers.append(fault)
            continue
        text = _in_a_line({section: made[section]})
        rest = fault.fix.removeprefix("write ")
        said = rest[len(_first(rest)) :]
        again = f"leave it out: it is in {text}" if fault.path != section else f"write {text}"
        answers.append(replace(fault, fix=again if section in written else f"write {text}{said}"))
        written.add(section)
    return answers


def _section_of(fault: Fault) -> dict[str, dict[str, Any]] | None:
    """The section at the top that the fix of a key elsewhere writes; None for another fix."""
    missing = fault.fix.startswith(f"add {fault.path}: {{")
    moved = fault.message.startswith("unknown key") or fault.path == "deadline"
    if not missing and not (fault.fix.startswith("write ") and moved):
        return None
    line = _line(re.sub("^(?:write|add) ", "", fault.fix))
    if not isinstance(line, dict) or len(line) != 1:
        return None
    section, value = next(iter(line.items()))
    elsewhere = fault.path.partition(".")[0] != section
    return line if isinstance(value, dict) and section in keys_at(()) and (elsewhere or missing) else None


def of_the_machine_alone(faults: Sequence[Fault]) -> list[Fault]:
    """The faults but those of a kind of work and its load, where the one way out sizes a machine without them."""
    if not any(fault.fix.startswith(MACHINE_ALONE[:22]) for fault in faults if fault.path.startswith("model")):
        return [*faults]
    loads = ("kind", "traffic", "batch", "training", "slo", "deadline")
    return [fault for fault in faults if fault.path.partition(".")[0] not in loads]


def together(
    raw: Mapping[str, Any], faults: Sequence[Fault], faults_of: Callable[[Mapping[str, Any]], Sequence[Fault]]
) -> list[Fault]:
    """All that is wrong in one message: with what shows only once other faults are mended, without what is gone then.

    A think time beside a load that is called otherwise is no fault of its own, and a region that does not exist is one
    beside a kind that does not either. Nothing that a fix has written is judged here.
    """
    unreadable = [fault for fault in faults if fault.message.startswith(_MISREAD) or not fault.message]
    others = [fault for fault in faults if fault not in unreadable]
    mended = _all_done(raw, unreadable)
    if mended is None:
        return [*faults]
    still = faults_of(mended)
    known = {fault.path for fault in faults}
    missing = {fault.path for fault in faults if fault.message.startswith("is missing")}
    left = {(fault.path, fault.message) for fault in still}
    read = {(fault.path, fault.message) for fault in faults_of(raw)}  # else a fault of the text
    stands = left | {(fault.path, fault.message) for fault in others} - read
    kept = [f for f in others if f.message.startswith("is missing") or (f.path, f.message) in stands]
    new = [
        fault
        for fault in still
        if (fault.message.startswith("does not say") and fault.path not in known - missing)
        or (
            not any(_about(fault, path) or path.startswith(f"{fault.path}.") for path in known)
            and _node(mended, _steps(fault.path)) == _node(raw, _steps(fault.path))
        )
    ]
    return [*unreadable, *kept, *new]


def _all_done(raw: Mapping[str, Any], faults: Sequence[Fault]) -> Mapping[str, Any] | None:
    """The spec with the fix of each of these faults done, and without the keys that have none; None where none has."""
    made: Mapping[str, Any] = raw
    done = [after for fault in faults if (after := repaired(raw, fault)) is not None]
    for fault in faults if done else ():
        after = repaired(made, fault)
        if after is None:
            after = copy.deepcopy(dict(made))
            _taken(after, _steps(fault.path))
        made = after
    return made if done else None


def _written(fault: Fault, last: Fault, after: Mapping[str, Any], changed: Sequence[str]) -> str:
    """The fix that stands for several: the last one where it is about the same value, else the section as it became."""
    key = fault.path.partition("[")[0]
    several = (
        isinstance(after.get(key), list) and len(after[key]) > 1 and "[" not in fault.path
    )  # the last is one of them
    if last.path.partition("[")[0] == key and not several:
        return last.fix
    own = _steps(fault.path)[0]
    # Where the value went to, not the section that it is taken from.
    kept = {key: after[key] for key in changed if key in after and key != own}
    if not kept and own in after:
        kept = {str(own): after[str(own)]}
    kept = {key: _known_keys(key, value) for key, value in kept.items()}
    return f"write {_in_a_line(kept)}" if kept else ""


def _in_a_line(sections: Mapping[str, Any]) -> str:
    """Sections of a spec as one line of YAML; `on` is a word to the reader of specs."""
    line = yaml.safe_dump(dict(sections), default_flow_style=True, sort_keys=False, width=10**6).strip()
    return line[1:-1].replace("'on': ", "on: ")


def _known_keys(section: str, value: Any) -> Any:
    """A section without the keys that no spec has, each of which has a fix of its own."""
    known = keys_at((section,)) if isinstance(value, dict) else []
    return {key: each for key, each in value.items() if key in known} if known else value


def _changed(raw: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys at the top whose value a fix has added or altered."""
    return [key for key, value in after.items() if raw.get(key) != value]


def _under(other: Fault, keys: Sequence[str]) -> bool:
    """Whether a fault is one of a section that a fix has written."""
    return any(re.match(rf"{re.escape(key)}(?:[.\[]|$)", other.path) for key in keys)


def _about(other: Fault, path: str) -> bool:
    """Whether a fault is still the same one, or one inside the value that replaced it."""
    one, two = other.path.partition("[")[0], path.partition("[")[0]
    return one == two or (one.startswith(f"{two}.") and other.found is not None)


def _steps(path: str) -> list[str | int]:
    return [int(part[1:]) if part.startswith("[") else part for part in re.findall(r"\[\d+|[^.\[\]]+", path)]


def _line(text: str) -> Any:
    """The value or the line that prose begins with, as YAML reads it; None where it is none.

    >>> _line("infra: [aws/us-east-1]"), _line("p95"), _line("s2, or s3?"), _line("model: {name: ..., weights: int4}")
    ({'infra': ['aws/us-east-1']}, 'p95', 's2', None)
    """
    text = _first(text)
    if "..." in text or text.startswith("its "):
        return None
    for each in (text, f"{{{text}}}" if re.match(r"\w+: ", text) else None):  # input_tokens: 1000, output_tokens: 250
        try:
            line = yaml.load(each, SpecLoader) if each else None  # noqa: S506 - a subclass of SafeLoader
        except yaml.YAMLError:
            continue
        return line if _in_words(line) else None
    return None


def _in_words(line: Any) -> bool:
    """Whether all keys are words: the rest of a number behind its comma is none."""
    return not isinstance(line, dict) or all(isinstance(key, str) and _in_words(each) for key, each in line.items())


_ENDS: Final = re.compile(r"; |\. |(?<!\.)\.?$|\?$| \(| or | else |, (?!\w+: )")


def _first(text: str) -> str:
    """The first of several ways, without what is said of it; what stands in brackets or quotes is left whole.

    >>> _first("infra: [aws, gcp], or leave it out"), _first("vllm or sglang"), _first("input: 1, output: 2, or more")
    ('infra: [aws, gcp]', 'vllm', 'input: 1, output: 2')
    >>> _first("gpu: 24GB.."), _first("8h.")
    ('gpu: 24GB..', '8h')
    """
    depth, quoted = 0, ""
    for index, sign in enumerate(text):
        if quoted or sign in "'\"":
            quoted = "" if sign == quoted else quoted or sign
            continue
        depth += (sign in "[{") - (sign in "]}")
        if depth == 0 and _ENDS.match(text, index):
            return text[:index].strip()
    return text.strip()


def _home(written: Mapping[str, Any], steps: Sequence[str | int]) -> list[str | int] | None:
    """Where a line belongs: beside the fault where that section has the key, else at the top."""
    key = next(iter(written))
    for depth in range(len(steps) - 1, -1, -1):
        place = list(steps[:depth])
        if key in keys_at([step for step in place if isinstance(step, str)]):
            return place
    return None


def _states(written: Any, steps: Sequence[str | int]) -> bool:
    """Whether a line states the very value that is at fault."""
    for step in steps:
        if not isinstance(written, dict) or step not in written:
            return isinstance(step, int) and isinstance(written, list)
        written = written[step]
    return True


def _node(made: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        listed = isinstance(made, list) and isinstance(step, int) and step < len(made)
        if not listed and not (isinstance(made, dict) and step in made):
            return None
        made = made[step]
    return made


def _renamed(made: dict[str, Any], steps: Sequence[str | int], key: str) -> bool:
    section = _node(made, steps[:-1])
    if not isinstance(section, dict) or steps[-1] not in section:
        return False
    section[key] = section.pop(steps[-1])
    return True


def _taken(made: dict[str, Any], steps: Sequence[str | int]) -> Any:
    section = _node(made, steps[:-1])
    if isinstance(section, dict):
        return section.pop(steps[-1], None)
    if isinstance(section, list) and isinstance(steps[-1], int) and len(section) > 1:
        return section.pop(steps[-1])
    return _taken(made, steps[:-1]) if len(steps) > 1 and section is not None else None


def _put(made: dict[str, Any], steps: Sequence[str | int], value: Any) -> dict[str, Any] | None:
    section: Any = made
    for step in steps[:-1]:
        below = _node(section, [step])
        if below is None:
            if not isinstance(section, dict):
                return None
            below = section[step] = {}
        elif not isinstance(below, dict | list):
            if not isinstance(section, dict):
                return None
            if isinstance(steps[-1], int):  # one item that stands without its list
                section[step] = value
                return made
            below = section[step] = {"name": below} if step in ("model", "engine") else {}
        section = below
    if isinstance(section, list) and (not isinstance(steps[-1], int) or steps[-1] >= len(section)):
        return None
    section[steps[-1]] = value
    return made


def _merged(made: dict[str, Any], home: Sequence[str | int], written: Any) -> dict[str, Any] | None:
    if not isinstance(written, dict):
        return None
    for key, value in written.items():
        below = _node(made, [*home, key])
        if isinstance(value, dict) and isinstance(below, str) and key == "model":
            below = {"name": below}
            _put(made, [*home, key], below)
        inside = isinstance(value, dict) and isinstance(below, dict) and key != "accelerators"  # whose keys are names
        if (_merged(made, [*home, key], value) if inside else _put(made, [*home, key], value)) is None:
            return None
    return made
