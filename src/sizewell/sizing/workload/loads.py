"""Loads as newcomers count them (pages of a document, calls of an agent, pictures a day), as a spec counts them.

The keys of a section are read together (`load_keys.py`): so many things in a time, of each so many others, and of one
of those a size. One of these things is the request, or the record (`load_things.py`): what is counted above it is in
the rate, what is counted below it is in the size, and nothing in both. So all fixes of one message, followed together,
state the load that was written, once. What a spec needs beside it and nobody has said (tokens of a page, requests of a
user) is a round number, and is called one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final

from sizewell.sizing.aliases import alias
from sizewell.sizing.units import UnitError, amount, duration_s, period_s, rate_parts, show_count, show_duration
from sizewell.sizing.workload.kind_defaults import TRAINS
from sizewell.sizing.workload.load_keys import (
    AUDIO,
    PICTURES,
    READ_TOGETHER,
    THINGS,
    Known,
    Part,
    known_of,
    measures,
    own_of,
    part_of,
    parts_of,
    seconds_of,
    several,
    singular,
)
from sizewell.sizing.workload.load_pace import every_of, interval_s
from sizewell.sizing.workload.load_shares import (
    Share,
    corpus_tokens,
    of_share,
    pair_tokens,
    peak_over_mean,
    rate_of_speech,
    share_of_people,
)
from sizewell.sizing.workload.load_sizes import (
    cached_share,
    kept,
    picture_of,
    pictures_of,
    seen_of,
    size_lines,
    unheard,
)
from sizewell.sizing.workload.load_things import (
    ASKED_A_DAY,
    IN_ALL,
    Load,
    chain_of,
    exact,
    is_one,
    load_of,
    product,
    tokens_each,
)
from sizewell.sizing.workload.load_words import TEXT, number_of, of_text
from sizewell.sizing.workload.schedule import hours_meant, parse_schedule, time_between
from sizewell.sizing.workload.ways_out import way_out

_PER: Final = {"second": "", "minute": "/min", "hour": "/h", "day": "/d"}  # as a rate is written
_PEOPLE: Final = re.compile(r"[a-z_]+s|(?:[a-z]+_)*(?:people|staff|workforce|headcount|team|team_size|audience|crew)")
_NO_PEOPLE: Final = re.compile(r"(?:[a-z]+_)*(?:steps|epochs|retries|runs|languages|classes|labels|hours|minutes|days)")
_LIVE: Final = ("streams", "channels", "lines")
_RATES: Final = ("rps", "requests_per_hour", "concurrent_users")
HEARD_S: Final = 30  # of audio at a time by a model that recognizes speech
RECORD_TOKENS, WRITTEN_TOKENS, ANSWER_TOKENS = 1000, 100, 250  # round numbers to begin with


def load_meant(where: str, key: str, value: object, given: object, raw: Mapping[str, object] | None = None) -> str:
    """The line to write for a key of a section that counts otherwise; "" where it is not known what it counts.

    `given` is the section, `raw` the spec around it.

    >>> load_meant("batch", "minutes", "600k", {}), load_meant("batch", "videos", 100, {})
    ('write records: 600k, audio_per_record: 1m', 'write records: 100')
    >>> load_meant("batch", "words_per_email", 300, {"emails": "1M", "words_per_email": 300})
    'write tokens_per_record: 400 (4 tokens for 3 words: with the tokens of your own)'
    >>> load_meant("traffic", "images_per_day", "2M", {}), load_meant("traffic", "fps", 200, {})
    ('write rps: 2M/d', 'write rps: 200')
    >>> load_meant("traffic", "agents", 40, {"agents": 40, "calls_per_agent_per_hour": 90})
    'write rps: 3600/h'
    """
    spec: Mapping[str, object] = raw or {}
    section = {**given, key: value} if isinstance(given, Mapping) else {key: value}
    home = where or _home(spec)
    if not where:
        own = spec.get(home)
        section = {**section, **(own if isinstance(own, Mapping) else {})}
    readers = {"batch": _batch, "training": _training, "traffic": _traffic}
    if home.endswith(".images"):
        return picture_of(key, value, section, known_of(spec))
    if spec.get("kind") == "notebook" and where in ("", "resources") and (people := _seats(key, value, where)):
        return people
    if home not in readers or (key == home and not where):
        return ""
    line = readers[home](section, spec).get(key, "")
    if where or not line.startswith("write "):
        return line
    own = _line(line)
    return f"write {home}: {{{own}}}{line.removeprefix(f'write {own}')}"


_SEATS: Final = re.compile(
    r"(?:number_of_|num_|max_)?(?:users?|people|persons|seats|students|developers|researchers|engineers|analysts|"
    r"scientists|data_scientists|members|participants|team_size|team|notebooks|concurrent_users)"
)


def _seats(key: str, value: object, where: str) -> str:
    """The machines of so many people, each with a notebook of their own.

    >>> _seats("users", 6, ""), _seats("team_size", "12 people", "resources"), _seats("team", "search", "")
    ('write resources: {nodes: 6}, a machine for each', 'write nodes: 12, a machine for each', '')
    """
    number = number_of(value) or (float(amount(value)[0]) if isinstance(value, str) else 0)
    if not _SEATS.fullmatch(key) or not number or number != int(number):
        return ""
    return f"write {'' if where else 'resources: {'}nodes: {int(number)}{'' if where else '}'}, a machine for each"


def _line(fix: str) -> str:
    """What is to be written of a fix, without what is said of it."""
    return re.split(r" \(|, (?!\w+: )|; ", fix.removeprefix("write "))[0]


def _home(spec: Mapping[str, object]) -> str:
    """The section that states the load of a kind of work."""
    kind = spec.get("kind")
    return "training" if kind in TRAINS else "batch" if kind == "batch-inference" else "traffic"


def _batch(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    known = known_of(spec)
    stands = ("records", "tokens_per_record", "output_tokens_per_record", "window", "every", "audio_per_record")
    often = every_of(section)
    if often:
        return {**_batch({key: value for key, value in section.items() if key not in often}, spec), **often}
    within = _within(section)
    if (spoken := rate_of_speech(section)) and not known.hears:
        worded, renamed = _in_words(section, spoken)
        if renamed:
            lines = _batch(worded, spec)
            line = next((_line(each) for key in renamed if (each := lines.get(key, ""))), "")
            back = {renamed.get(key, key): each for key, each in lines.items()}
            return {**back, spoken[0]: f"leave it out: it is in {line}"} if line else back
    if totals := _totals(section):
        lines = _batch({totals.get(key, key): value for key, value in section.items()}, spec)
        named = {name: key for key, name in totals.items()}
        written = next((_line(line) for line in lines.values() if line.startswith("write records: ")), "records")
        made = dict.fromkeys(totals, f"leave it out: it is in {written}")
        sides_of_all = {name.partition("_")[0] for name in totals.values() if name in ("input_tokens", "output_tokens")}
        sides = {"tokens_per_record": "input", "output_tokens_per_record": "output"}
        made |= {
            key: f"write {name}: {section[key]}"
            for key, name in totals.items()
            if sides.get(name, "") not in {"", *sides_of_all}
        }
        return {**made, **{named.get(key, key): line for key, line in lines.items()}}
    several_answers = next(
        (key for key, value in section.items() if _several_of(key) and (number_of(value) or isinstance(value, list))),
        "",
    )
    stated_answers = section.get(several_answers)
    answers = exact(number_of(len(stated_answers) if isinstance(stated_answers, list) else stated_answers) or 1.0)
    section = {key: value for key, value in section.items() if key not in within and key != several_answers}
    parts = parts_of(section, stands, known)
    homes = {"input": "tokens_per_record", "output": "output_tokens_per_record", "audio": "audio_per_record"}
    counted = "records" in section
    parts = _nested(parts, number_of(section.get("records")) or 0.0)
    if counted:  # 600k pages beside 20k records are those of all of them
        short = [part for part in parts if part.what in TEXT and part.number * TEXT[part.what][0] <= _READ_AT_ONCE]
        parts = [replace(part, per="record") if part in short and _of_each(part, parts) else part for part in parts]
    own = None if counted else own_of(parts, unknown=True)
    if own is None and not counted:
        return within | _measured(parts, section, known)
    number = number_of(section.get("records")) or 0.0
    root = own or Part("records", "records", value=section["records"], number=number)
    load = load_of(root, parts, known, section, named=own is not None, splits=False)
    pictures = pictures_of(section, load, known)
    lines = within | unheard(parts, known) | _inside(load, section, "tokens_per_record")
    lines |= size_lines(load, section, homes) | pictures
    whole = "leave it out: each record of a batch is sized as read whole"
    lines |= {
        key: whole for key, value in section.items() if key not in stands and cached_share(key, value, 0) is not None
    }
    if several_answers:
        whole = f"records: {rounded(float(load.number * answers), whole=True)}"
        more = "" if own is None else _repeated(load.period, section) + seen_of(load, section, pictures, known)
        what = "answers to each" if _ANSWERS.fullmatch(several_answers) else "of them for each"
        said = f" ({show_count(round(answers))} {what} are generated as so many records)"
        if own is None:
            return {**lines, several_answers: f"write {whole}{said}"}
        lines |= {part.key: f"leave it out: it is in {whole}" for part in load.chain[1 : load.request + 1]}
        lines[several_answers] = f"leave it out: it is in {whole}"
        return {**lines, own.key: f"write {whole}{more}{said}"}
    if own is None:
        return lines
    more = _repeated(load.period, section) + seen_of(load, section, pictures, known)
    if not load.request:
        lines[own.key] = f"write records: {own.value}{more}"
        if not THINGS.fullmatch(own.what) and not any(is_one(own, part.per) for part in parts):
            lines[own.key] += ", if each is a record of its own"
        return lines
    line = f"records: {rounded(float(load.number), whole=True)}{more}"
    lines |= {part.key: f"leave it out: it is in {line}" for part in load.chain[1 : load.request + 1]}
    return {**lines, own.key: f"write {line}"}


def _nested(parts: list[Part], records: float) -> list[Part]:
    """The parts, with fewer things of which a length is known as those of each of the more beside them."""
    plain = [part for part in parts if not (part.per or part.period or part.at_once or measures(part))]
    plain = [part for part in plain if part.number and not seconds_of(part)]
    inner = [part for part in plain if any(is_one(part, each.per) and measures(each) for each in parts)]
    outer = [part for part in plain if part not in inner]
    if len(inner) != 1 or len(outer) + bool(records) != 1:
        return parts
    number, one = (records, "record") if records else (outer[0].number, singular(outer[0].what))
    return [replace(part, per=one) if part in inner and part.number < number else part for part in parts]


_READ_AT_ONCE: Final = 131_072  # tokens: longer than what most models read


def _in_words(
    section: Mapping[str, object], spoken: tuple[str, str, Fraction]
) -> tuple[dict[str, object], dict[str, str]]:
    """The section with the words of a recording in place of its length, and how its keys were called before."""
    rate, what, a_second = spoken
    made: dict[str, object] = {}
    before: dict[str, str] = {}
    for key, value in section.items():
        if key == rate:
            continue
        part = part_of(key, value)
        audio = AUDIO.fullmatch(part.what) if part.per else None
        seconds = exact(part.number) * int(period_s(audio[1])) if audio else exact(seconds_of(part))
        if not seconds or key in ("window", "every"):
            made[key] = value
            continue
        thing = key.rpartition("_per_")[2] if part.per else re.split(r"_", key)[0]
        name = f"{what}_per_{thing}"
        made[name], before[name] = round(seconds * a_second), key
    return made, before


def _totals(section: Mapping[str, object]) -> dict[str, str]:
    """Keys of tokens under the names of other tools as a load calls them: all that is written, and that of one record.

    >>> _totals({"output_tokens_total": "5B", "prompt_tokens": 400, "max_new_tokens": 1024})
    {'output_tokens_total': 'output_tokens', 'prompt_tokens': 'tokens_per_record', 'max_new_tokens': 'output_tokens_per_record'}
    """  # noqa: E501
    whole = {
        key: match[1]
        for key in section
        if (match := re.fullmatch(r"(?:total_)?((?:input|output)_tokens)(?:_total|_in_all|_overall)", key))
    }
    each = {"prompt_tokens": "tokens_per_record", "max_new_tokens": "output_tokens_per_record",
            "max_tokens": "output_tokens_per_record"}  # fmt: skip
    names = {key: name for key, name in each.items() if key in section and name not in section}
    return {**whole, **names} if whole and "records" not in section else {}


def _several_of(key: str) -> bool:
    """Whether a key says how many answers, or how many versions, are written of each record."""
    return bool(_ANSWERS.fullmatch(key) or _VERSIONS.fullmatch(key))


_VERSIONS: Final = re.compile(
    r"(?:(?:num(?:ber_of)?|n|target|output|to|into)_)*(?:languages|translations|locales|langs)(?:_per_[a-z_]+)?"
)
# Answers to one and the same prompt: each is generated on its own, as a record would be.
_ANSWERS: Final = re.compile(
    r"n|best_of|num(?:ber_of)?_(?:return_sequences|generations|completions|candidates|samples_per_prompt)|"
    r"(?:num_|n_)?(?:samples|completions|candidates|generations|answers|responses|outputs)_per_"
    r"(?:prompt|record|request|question|input|query|problem)"
)


_TIME_OF_ALL: Final = re.compile(
    r"(?:must_|should_|has_to_|to_)?(?:be_)?(?:finish|finished|done|complete|completed|ready|due|end|run)_(?:in|within)|"
    r"within|(?:time|run_?time|wall_?time|duration)_(?:limit|budget)|max(?:imum)?_(?:duration|time|run_?time|wall_?time)|"
    r"max(?:imum)?|turnaround(?:_time)?|completion_window|(?:time|batch|run)_window|wall_?time|sla|timeout|time_?out|deadline"
)


_WHEN_DONE: Final = re.compile(
    r"(?:must_|should_|has_to_|to_)?(?:be_)?(?:finish|finished|done|complete|completed|ready|due|end|start|starts|run)_"
    r"(?:by|before|at|after|until)(?:_[a-z_]+)?|(?:start|end|finish|delivery)_time|overnight|due"
)


# The times of the clock between which a batch may run, in two keys or in one.
_BEGINS: Final = re.compile(
    r"(?:[a-z]+_)?(?:start|starts|begin|begins|from|not_before|earliest|opens?|after)(?:_(?:at|time|hour|date))?"
)
_ENDS: Final = re.compile(
    r"(?:[a-z]+_)*(?:end|ends|finish|finishes|finished|stop|stops|to|until|till|not_after|latest|done|ready|due|"
    r"completed?|closes?|before|deadline)(?:_(?:at|by|before|time|hour|date))?"
)
_HOURS_OF: Final = re.compile(r"(?:[a-z]+_)?(?:hours|between|window|times?|period|slot|schedule)")


def _of_the_clock(section: Mapping[str, object]) -> dict[str, str]:
    """The window of a batch that is stated by when it begins and when it has to end.

    >>> _of_the_clock({"start": "22:00", "end": "06:30"})
    {'start': 'write window: 8h30m', 'end': 'leave it out: it is in window: 8h30m'}
    >>> _of_the_clock({"between": "1am and 5am"}), _of_the_clock({"from": "s3://b/in", "to": "s3://b/out"})
    ({'between': 'write window: 4h'}, {})
    """
    begin = next((key for key in section if _BEGINS.fullmatch(key)), "")
    end = next((key for key in section if _ENDS.fullmatch(key) and not _BEGINS.fullmatch(key)), "")
    keys = [begin, end] if begin and end else []
    span = time_between(f"{section[begin]} - {section[end]}") if keys else ""
    for key in () if span else section:
        if key != "window" and _HOURS_OF.fullmatch(key) and (span := time_between(str(section[key]))):
            keys = [key]
            break
    if not span:
        return {}
    stated = section.get("window", span)
    lines = dict.fromkeys(keys, f"leave it out: it is in window: {stated}")
    return lines if "window" in section else {**lines, keys[0]: f"write window: {span}"}


def _within(section: Mapping[str, object]) -> dict[str, str]:
    """How long a batch may take, under a name of somebody's own.

    >>> _within({"finish_in": "3 days"}), _within({"max_duration_hours": 6}), _within({"done_within": "soon"})
    ({'finish_in': 'write window: 3d'}, {'max_duration_hours': 'write window: 6h'}, {})
    """
    lines = _of_the_clock(section)
    for key, value in section.items():
        if key in lines:
            continue
        name, _, unit = key.rpartition("_")
        timed = period_s(unit) and number_of(value) and _TIME_OF_ALL.fullmatch(name)
        if not timed and not _TIME_OF_ALL.fullmatch(key):
            one_time = (_BEGINS.fullmatch(key) or _ENDS.fullmatch(key)) and time_between(f"{value} - {value}")
            if _WHEN_DONE.fullmatch(key) or one_time:
                lines[key] = "leave it out: window says how long it may take, whenever it starts"
            continue
        window = window_of(f"{value}{unit[0]}" if timed else value)
        if "window" in section:
            lines[key] = f"leave it out: how long it may take stands in window: {section['window']}"
        elif window:
            meant, line = way_out("batch.window", value), f"write {window}"
            lines[key] = f"write window: {window}{meant.removeprefix(line) if meant.startswith(line) else ''}"
    return lines


def window_of(value: object) -> str:
    """How long a batch may take, as it is read; "" for what is no length of time.

    >>> window_of("5d"), window_of("3 days"), window_of("by friday")
    ('5d', '3d', '')
    """
    meant = re.match(r"write (\w+)(?=,|$)", way_out("batch.window", value))
    try:
        duration_s(meant[1] if meant else value)
    except UnitError:
        return ""
    return meant[1] if meant else str(value)


def _measured(parts: list[Part], section: Mapping[str, object], known: Known) -> dict[str, str]:
    """A batch of which nothing is counted: all that is measured of it, as records of the stated or of a usual size."""
    homes = {"input": "tokens_per_record", "output": "output_tokens_per_record", "audio": "audio_per_record"}
    whole = [part for part in parts if not part.per and not part.period]
    tokens = [part for part in whole if of_text(part.what)[0] == "tokens" and part.number > IN_ALL]
    heard = [part for part in whole if AUDIO.fullmatch(part.what) and (known.hears or not known.kind)]
    rest = [part for part in parts if part not in tokens and part not in heard[:1]]
    load = load_of(Part("", "records"), rest, known, section, named=False, splits=False)
    lines = size_lines(load, section, homes) | pictures_of(section, load, known)
    if tokens:
        return lines | _in_all(tokens, load, section)
    for part in heard[:1]:
        each = sum((load.of_request(size) for size in load.sizes if size.of == "audio"), Fraction(0))
        records, length = _heard(str(AUDIO.fullmatch(part.what)[1]), part.value, part.number, each)  # type: ignore[index]
        said = f"leave it out: it is in audio_per_record: {length}"
        lines |= {size.part.key: said for size in load.sizes if size.of == "audio"}
        lines[part.key] = f"write records: {records}, audio_per_record: {length}"
    return lines


def _in_all(tokens: list[Part], load: Load, section: Mapping[str, object]) -> dict[str, str]:
    """Tokens of a whole batch as records, by the tokens of one where those are stated."""
    all_of = {"input": 0, "output": 0}
    for part in tokens:
        all_of[of_text(part.what)[1] or "input"] += int(part.number)
    read, written = all_of["input"], all_of["output"]
    each = tokens_each(load, section, ("tokens_per_record", "output_tokens_per_record"))
    usual = (RECORD_TOKENS, WRITTEN_TOKENS)
    records = max(round(read / (each[0] or usual[0]) if read else written / (each[1] or usual[1])), 1)
    line = f"records: {show_count(records)}"
    line += f", tokens_per_record: {show_count(max(read // records, 1))}" if read else ""
    line += f", output_tokens_per_record: {show_count(max(written // records, 1))}" if written else ""
    said = f" ({show_count(read or written)} tokens in all; with the tokens of your own records)"
    lines = {part.key: f"leave it out: it is in {line}" for part in tokens[1:]}
    lines |= {
        size.part.key: f"leave it out: it is in {line}"
        for size in load.sizes
        if (size.of == "input" and read) or (size.of == "output" and written)
    }
    return {**lines, tokens[0].key: f"write {line}{said}"}


def _repeated(period: str, section: Mapping[str, object]) -> str:
    """How often a batch of so many a period is run, where that is not each day."""
    return "" if period in ("", "day") or "every" in section else f", every: {show_duration(period_s(period))}"


def _heard(unit: str, value: object, number: float, each: Fraction) -> tuple[object, str]:
    """Recordings and the length of each, of audio by its length; a model hears no less than half a minute."""
    if each:
        return rounded(float(exact(number) * int(period_s(unit)) / each), whole=True), show_duration(float(each))
    return (f"{number / 60:.0f}", "1m") if unit == "seconds" else (value, f"1{unit[0]}")


def _training(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    known = known_of(spec)
    section = {"sequence_length" if _is_sequence_length(key) else key: value for key, value in section.items()}
    stands = ("tokens", "samples", "epochs", "steps", "sequence_length", "global_batch")
    parts = parts_of(section, stands, replace(known, sees=False))  # a video of a sample is no text
    parts = [replace(part, what="steps") if part.what == "frames" and part.per in _EPISODES else part for part in parts]
    sizes = {key: rows for key, value in section.items() if (rows := _rows(key, value))}
    size = next(iter(sizes), "")
    if size:
        lines = _training(
            {**{key: value for key, value in section.items() if key != size}, "examples": sizes[size]}, spec
        )
        return {**lines, size: lines.pop("examples", "")}
    if step := _of_a_step(section):
        return {**_training({key: value for key, value in section.items() if key not in step}, spec), **step}
    if pair := pair_tokens(section):
        return {**_training({key: value for key, value in section.items() if key not in pair}, spec), **pair}
    for key, value in section.items():
        tokens, said = corpus_tokens(key, value)
        length = next((name for name in ("tokens", "steps", "samples") if name in section), "")
        if tokens and not (length and "bytes" in said):  # which are where data lie
            rest = _training({name: each for name, each in section.items() if name != key}, spec)
            known_by = f"leave it out: how long the run is stands in {length}"
            return {**rest, key: known_by if length else f"write {_as_samples(tokens, section)} ({said})"}
    in_all = [part for part in parts if _is_all_that_is_read(part)]
    parts = [part for part in parts if part not in in_all]
    parts = _nested(parts, number_of(section.get("samples")) or 0.0)
    shown = [part for part in parts if not part.per and part.number and _EXAMPLES.fullmatch(part.what)]
    own = own_of(parts, unknown=False) or next(iter(shown), None)
    number = number_of(section.get("samples")) or 0.0
    root = own or Part("samples", "samples", value=section.get("samples"), number=number)
    load = load_of(root, parts, known, section, named=own is not None, splits=False)
    moments = [at for at, part in enumerate(load.chain) if _MOMENTS.fullmatch(part.what) and part.number]
    if moments:
        load = replace(load, request=moments[-1])
    lines = pictures_of(section, load, replace(known, kind="vision"))
    lines |= size_lines(load, section, {"input": "sequence_length", "output": "sequence_length"})
    length = next((name for name in ("steps", "tokens", "samples") if name in section), "")
    if own and length:
        lines[own.key] = f"leave it out: how long the run is stands in {length}"
    elif own:
        value = rounded(float(load.number), whole=True) if load.request else own.value
        lines |= {part.key: f"leave it out: it is in samples: {value}" for part in load.chain[1 : load.request + 1]}
        lines[own.key] = f"write samples: {value}"
    for part in in_all:
        lines[part.key] = (
            f"leave it out: how long the run is stands in {length}" if length else f"write tokens: {part.value}"
        )
    return lines


def _as_samples(tokens: int, section: Mapping[str, object]) -> str:
    """Tokens of a corpus, or the samples of which they are where it is read several times.

    >>> _as_samples(300_000_000, {"epochs": 3, "sequence_length": 4096}), _as_samples(300_000_000, {})
    ('samples: 73242', 'tokens: 300M')
    """
    if "epochs" not in section:
        return f"tokens: {show_count(tokens)}"
    stated = number_of(section.get("sequence_length"))
    each = stated or _SAMPLE_TOKENS
    line = f"samples: {show_count(max(round(tokens / each), 1))}"
    return line if stated else f"{line}, sequence_length: {_SAMPLE_TOKENS}"


_STEP: Final = re.compile(
    r"(tokens|samples|sequences|examples)_(?:per|a|in_a)_(?:global_|train_|optimizer_)?(?:step|batch|update|iteration)|"
    r"(?:global_|train_)?batch_(?:size_)?(?:in_)?(tokens)"
)


def _of_a_step(section: Mapping[str, object]) -> dict[str, str]:
    """The tokens that one step reads, which a spec calls its global batch."""
    lines: dict[str, str] = {}
    for key, value in section.items():
        match, number, length = _STEP.fullmatch(key), number_of(value), number_of(section.get("sequence_length"))
        if match is None or not number:
            continue
        of_tokens = "tokens" in (match[1], match[2])
        if "global_batch" in section or lines:
            lines[key] = f"leave it out: global_batch: {section.get('global_batch', 'its tokens')} stands beside it"
        elif of_tokens or length:
            lines[key] = f"write global_batch: {value if of_tokens else rounded(number * (length or 1), shorter=False)}"
    return lines


_SAMPLE_TOKENS: Final = 2048  # a round number to begin with
_EPISODES: Final = tuple(map(singular, ("trajectories", "episodes", "rollouts", "demonstrations", "demos")))
# What a policy is shown one by one of an episode.
_MOMENTS: Final = re.compile(r"(?:time_?)?steps|transitions|frames|observations|states|actions|moments|ticks")


# How many examples a data set has, under names that say a size.
def _rows(key: str, value: object) -> object:
    """How many samples a key of the data states, by itself or among what is said of it; None for another key.

    >>> _rows("dataset", "12000 rows"), _rows("dataset", {"rows": "25k"}), _rows("dataset", "1.2GB"), _rows("rows", 9)
    ('12000', '25k', None, 9)
    """
    if _SIZE_OF_DATA.fullmatch(key) and number_of(value):
        return value
    if not _DATA.fullmatch(key):
        return None
    if isinstance(value, Mapping):
        of = [each for name, each in value.items() if _ROWS.fullmatch(str(name)) and number_of(each)]
        return of[0] if len(of) == 1 else None
    number, things = amount(value) if isinstance(value, str) else (0, "")
    return str(value)[: -len(things)].strip() if number and things and _ROWS.fullmatch(things) else None


_DATA: Final = re.compile(r"(?:train(?:ing)?_)?(?:data_?set|data)")
_ROWS: Final = re.compile(
    r"(?:(?:num|n)_)?(?:rows|samples|examples|records|pairs|instructions|images|lines|dialogues|conversations)|"
    r"size|length|count|number"
)
_SIZE_OF_DATA: Final = re.compile(
    r"(?:train(?:ing)?_)?(?:data_?set|data|train|training|corpus)_(?:size|length|len|count|rows)|(?:num|n)_rows|rows"
)
# What a method of training is shown, as people call it, and no part of it that is kept for judging.
_EXAMPLES: Final = re.compile(
    r"(?!eval|valid|test|max|log)(?:[a-z]+_)*(?:examples|pairs|samples|comparisons|preferences|demonstrations|dialogues|"
    r"dialogs|instructions|trajectories)"
)


def _is_sequence_length(key: str) -> bool:
    """Whether a key is how long a sequence of a training is, under any of its names."""
    row = alias("key", f"training.{key}")
    return key == "sequence_length" or (row is not None and row.meant == "training.sequence_length: $")


def _is_all_that_is_read(part: Part) -> bool:
    """Tokens of a whole run, which no sequence has.

    >>> [_is_all_that_is_read(part_of(*each)) for each in (("total_tokens", "26B"), ("avg_tokens", 900))]
    [True, False]
    """
    named = re.fullmatch(r"(?:total|train|training|num|n|dataset|corpus)_tokens|tokens?_(?:budget|total)", part.key)
    bare = not part.per and not part.period and of_text(part.what)[0] == "tokens"
    return named is not None or (bool(bare) and part.number > IN_ALL)


_STANDS: Final = (
    *("think_time", "prefix", "burstiness", "redundancy", "daily", "audio", "input_tokens", "output_tokens"),
    *("input_tokens_p95", "output_tokens_p95", "requests", *_RATES),
)
_ONE_REQUEST: Final = singular("request")
_REQUEST: Final = ("request", "query", "question", "prompt", "call", "message", "input")  # what a rate counts


def _traffic(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    known = known_of(spec)
    rate = next((name for name in _RATES if name in section), "")
    several_answers = next((key for key in section if _ANSWERS.fullmatch(key) and number_of(section[key])), "")
    if several_answers and (rate or "_per_" not in several_answers):
        return _with_answers(several_answers, rate, section, spec)
    if of_peak := _of_a_peak(section, spec) or _of_percentiles(section):
        return {**of_peak, **_traffic({key: value for key, value in section.items() if key not in of_peak}, spec)}
    if peaks := peak_over_mean(section, _hours_of_a_day(spec)):
        return {**_traffic({key: value for key, value in section.items() if key not in peaks}, spec), **peaks}
    if (some := share_of_people(section)) and (lines := _of_some(some, section, spec)):
        return lines
    if paced := _of_people(section, spec):
        return paced
    if called := _as_called(section):
        lines = _traffic({called.get(key, key): value for key, value in section.items()}, spec)
        back = {name: key for key, name in called.items()}
        own = {key: f"write {name}: {section[key]}" for key, name in called.items() if name in _STANDS}
        return {back.get(key, key): line for key, line in lines.items()} | own
    if tokens := _of_both_sides(section, spec):
        return tokens
    if sources := _of_sources(section, spec):
        return sources
    parts = parts_of(section, _STANDS, known)
    if rate:
        return _beside_a_rate(rate, section, parts, known)
    at_once = _at_once(parts, section, known)
    root = at_once or _root(parts)
    load = load_of(root or Part("", "requests"), parts, known, section, named=root is not None, splits=True)
    if root and (inside := [part for part in parts if part != root and _of_each(part, parts)]):
        one = singular(load.chain[load.request].what)
        parts = [replace(part, per=one) if part in inside else part for part in parts]
        load = load_of(root, parts, known, section, named=True, splits=True)
    pictures = pictures_of(section, load, known)
    lines = unheard(parts, known) | _read_and_kept(load, section, known) | pictures
    if at_once:
        return {**lines, **_people(load, section, known)}
    if root is None:
        return {**_inside(load, section), **lines}
    if whole := _measured_rate(root, parts):
        return {**lines, **_rate_of(whole, root, parts, section, spec)}
    line = _rate(load, spec, seen_of(load, section, pictures, known))
    if not line:
        return lines
    left = {part.key: f"leave it out: it is in {_line(line)}" for part in load.chain[1 : load.request + 1]}
    return {**_inside(load, section), **lines, **left, root.key: line}


_RETRIEVED: Final = re.compile(r"(?:[a-z]+_)?(?:top_?[kn]|k|n_results|num_results)")
_SIZED: Final = re.compile(r"([a-z]+)_(?:size|length|len|tokens|words|characters|chars)|[a-z]+_per_([a-z]+)")


def _as_called(section: Mapping[str, object]) -> dict[str, str]:
    """Keys that say something else beside the others: how many texts are found, and what is new in a prompt."""
    written = any(_WROTE.fullmatch(key) for key in section)
    made = {"new_tokens": "fresh_tokens" if written else "output_tokens"} if "new_tokens" in section else {}
    counts = [key for key in section if _RETRIEVED.fullmatch(key)]
    sized = [match[1] or match[2] for key in section if (match := _SIZED.fullmatch(key))]
    texts = [each for each in sized if READ_TOGETHER.fullmatch(f"{each}s")]
    counted = any(is_one(part_of(key, 1), singular(each)) for key in section for each in texts)
    return made | ({counts[0]: f"{texts[0]}s"} if len(counts) == 1 and texts and not counted else {})


_WROTE: Final = re.compile(r"(?:[a-z]+_)*(?:output|outputs|answer|reply|response|completion|generated)(?:_[a-z]+)?")
_OURS: Final = re.compile(r"(?:[a-z]+_)?(?:replicas|gpus|nodes|instances|servers|pods|workers|threads|processes|hosts)")
_SOURCES: Final = re.compile(
    r"(?:[a-z]+_)?(?:users|machines|devices|people|customers|clients|employees|agents|players|students|developers|"
    r"patients|cameras|sensors|streams|robots)"
)


def _of_sources(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    """Things or people, beside a rate that says not whether it is of each of them or of all; {} for another load.

    Frames are of each camera. Else more than one of each is what all bring, and less is what each brings.
    """
    parts = [part for part in (part_of(*item) for item in section.items()) if part.number and not seconds_of(part)]
    rates = [part for part in parts if part.period and not part.per and not of_text(part.what)[0]]
    rates = [part for part in rates if not AUDIO.fullmatch(part.what)]
    active = [part for part in rates if part.what == "users"]  # who came in a month, of whom each asks so often in it
    if len(rates) == 2 and len(active) == 1 and rates[0].period == rates[1].period:
        rates.remove(active[0])
        parts = [replace(part, period="") if part is active[0] else part for part in parts]
    plain = [
        part for part in parts if not (part.per or part.period or part.at_once or measures(part) or part.key in _STANDS)
    ]
    plain = [part for part in plain if not any(no.fullmatch(part.what) for no in (THINGS, READ_TOGETHER, _OURS))]
    plain = [part for part in plain if several(part.what) or _SOURCES.fullmatch(part.what)]
    things = [part for part in parts if not of_text(part.what)[0] and not measures(part)]
    used = any(
        part.at_once or (part.per and part.period) or any(is_one(each, part.per) for each in plain) for part in things
    )
    if (
        len(rates) != 1
        or len(plain) != 1
        or used
        or any(name in section for name in ("concurrent_users", "think_time"))
    ):
        return {}
    [rate], [source] = rates, plain
    frames = bool(PICTURES.fullmatch(rate.what)) and rate.period == "second"
    asked = rate.what in ("requests", "queries") and rate.period == "second" and rate.number >= 1
    each = f"{rate.what}_per_{source.what}_per_{rate.period}"
    rest = {key: value for key, value in section.items() if key not in (rate.key, source.key)}
    product = _traffic({**rest, source.what: section[source.key], each: section[rate.key]}, spec)
    alone = _traffic({**rest, rate.key: section[rate.key]}, spec)
    whole, single = product.pop(source.what, ""), alone.get(rate.key, "")
    if not whole.startswith("write rps") or not single.startswith("write rps"):
        return {}
    number = f"{source.number:,.0f}"
    if not frames and (asked or rate.number >= source.number):
        said = f"{rate.key}: {section[rate.key]} is of all {number} together"
        return {**alone, source.key: f"leave it out: {said}; {_rate_alone(whole)}, if it is of each of them"}
    of_each = (
        f", if each of the {number} brings {rate.value} a {rate.period}; {_rate_alone(single)}, if all of them together"
    )
    product.pop(each, "")
    return {
        **product,
        source.key: whole + ("" if frames else of_each),
        rate.key: f"leave it out: it is in {_line(whole)}",
    }


def _of_both_sides(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    """Requests of the tokens that are read and those that are written in one period; {} for another load."""
    parts = [part_of(key, value) for key, value in section.items()]
    timed = {of_text(part.what): part for part in parts if part.period and part.number and not part.per}
    sides = [timed.get(("tokens", side)) for side in ("input", "output")]
    read, written = sides
    if read is None or written is None or len(timed) != 2 or read.period != written.period:
        return {}
    each = number_of(section.get("input_tokens")) or RECORD_TOKENS
    whole = Part(read.key, "requests", "", read.period, value="", number=read.number / each)
    made = {"input_tokens": each, "output_tokens": max(round(written.number / whole.number), 1)}
    own = ", ".join(f"{key}: {round(value)}" for key, value in made.items() if key not in section)
    line = f"write {per_period(whole, spec)[0]}, {own}".removesuffix(", ")
    rest = {key: value for key, value in section.items() if key not in (read.key, written.key)}
    left = f"leave it out: it is in {_line(line)}"
    return {
        **_traffic({**rest, "rps": 1}, spec),
        read.key: f"{line} (with the tokens of your own requests)",
        written.key: left,
    }


def _rate_alone(line: str) -> str:
    return re.split(r"[ ,]", line.removeprefix("write rps: "))[0].join(("rps: ", ""))


def _of_people(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    """People of whom each asks once in a time: those of a number, and the time as what passes between two requests.

    >>> _of_people({"players": 2000, "line_every": "20s"}, {})
    {'players': 'write concurrent_users: 2000', 'line_every': 'write think_time: 20s'}
    """
    paced = {key: seconds for key, value in section.items() if (seconds := interval_s(key, value))}
    paced.pop("think_time", None)
    paced = paced or _pace_at_once(section, known_of(spec))
    if not paced or known_of(spec).hears:
        return {}
    key, seconds = next(iter(paced.items()))
    rest = {name: value for name, value in section.items() if name != key}
    rate = next((name for name in _RATES[:2] if name in section), "")
    if rate:
        said = f"leave it out: {rate}: {section[rate]} counts each request, however often one of them asks"
        return {**_traffic(rest, spec), key: said}
    time = section.get("think_time", show_duration(seconds))
    lines = _traffic({**rest, "think_time": time}, spec)
    if "concurrent_users" not in section and not any("concurrent_users: " in line for line in lines.values()):
        alone = not any(number_of(value) for name, value in rest.items() if name not in _STANDS)
        return {key: f"write rps: {rounded(1 / seconds)}"} if alone and "think_time" not in section else {}
    stated = "think_time" in section
    return {**lines, key: f"leave it out: it is in think_time: {time}" if stated else f"write think_time: {time}"}


_EACH_ASKS: Final = re.compile(r"[a-z]+_per_[a-z]+_per_(second|minute|hour)")


def _pace_at_once(section: Mapping[str, object], known: Known) -> dict[str, float]:
    """How often each of those asks who are there at once, as what passes between two requests of one.

    >>> _pace_at_once({"concurrent_users": 400, "requests_per_user_per_minute": 3}, known_of({}))
    {'requests_per_user_per_minute': 20.0}
    """
    parts = parts_of(section, _STANDS, known)
    if "concurrent_users" not in section and _at_once(parts, section, known) is None:
        return {}
    found = [(part, _EACH_ASKS.fullmatch(part.key)) for part in parts if part.number and not measures(part)]
    seconds = {"second": 1, "minute": 60, "hour": 3600}
    return {
        part.key: float(seconds[each[1]] / part.number)
        for part, each in found
        if each and part.what not in TEXT and part.what not in ("tokens", "words", "characters")
    }


def _hours_of_a_day(spec: Mapping[str, object]) -> float:
    """The hours of a day in which a service runs."""
    hours = open_hours(spec)
    return hours[0] / hours[1] if hours else 24.0


def _of_some(share: Share, section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    """The lines of a load of which a share of the people is meant.

    >>> spec = {"agents": 200, "share_online": "60%"}
    >>> _of_some(share_of_people(spec), spec, {})
    {'agents': 'write concurrent_users: 120, 60 % of 200', 'share_online': 'leave it out: it is in concurrent_users: 120'}
    """  # noqa: E501
    made, before, people = of_share(section, share)
    lines = _traffic(made, spec)
    line = f"write {people}: {share.number}" if people == "concurrent_users" else lines.pop(people, "")
    if not line.startswith("write "):
        return {}
    kept = {before.get(key, key): each for key, each in lines.items()}
    left = f"leave it out: it is in {_line(line)}"
    if people == "concurrent_users":
        return {**kept, share.key: f"{line}, {share.said}"}
    said = "" if "at once" in line else f", {share.said}"
    return {**kept, share.people: f"{line}{said}", share.key: left}


_PEAK: Final = re.compile(r"(?:peak|max|maximum|busiest)_(.+)|(.+)_(?:peak|max)")
_PEAK_ALONE: Final = ("peak", "max", "maximum", "busiest", "busiest_hour", "peak_hour", "peak_load", "peak_traffic")
_PEAK_MAX: Final = 12  # of the busiest hour over the mean, that a spec takes


def _of_a_peak(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    """The busiest hour over the mean, of a rate at the peak beside a mean; without one the peak is the rate.

    >>> _of_a_peak({"rps": 2, "peak_rps": 9}, {}), _of_a_peak({"max_requests_per_minute": 90}, {})
    ({'peak_rps': 'write daily: 4.5'}, {'max_requests_per_minute': 'write rps: 90/min, the peak; the mean costs less'})
    >>> _of_a_peak({"rps": 0, "requests_per_day": "100k", "peak_rps": 8}, {})
    {'peak_rps': 'write daily: 6.91'}
    >>> _of_a_peak({"rps": 3, "peak": 12}, {}), _of_a_peak({"requests_per_hour": 600, "busiest_hour": 1800}, {})
    ({'peak': 'write daily: 4'}, {'busiest_hour': 'write daily: 3'})
    """
    for key, value in section.items():
        match = _PEAK.fullmatch(key)
        plain = str(match[1] or match[2]) if match and "daily" not in section else ""
        if key in _PEAK_ALONE and "daily" not in section:  # of the rate beside it
            rated = (str(name) for name, each in section.items() if (of := part_of(str(name), each)) and of.period)
            plain = next((name for name in rated if name != key), "rps")
        part = part_of(plain, value) if plain else None
        if part is None or part.per or not part.period or not part.number or part.what not in ("requests", "queries"):
            continue
        means = [part_of(str(other), stated) for other, stated in section.items() if other != key]
        alike = [each for each in means if each.what == part.what and each.period and each.number]
        rates = [each.number / period_s(each.period) for each in alike]
        rest = {name: stated for name, stated in section.items() if name != key}
        if not rates:
            lines = _traffic({**rest, plain: value}, spec)
            line = lines.pop(plain, "") or f"write rps: {value}"
            return {**lines, key: f"{line}, the peak; the mean costs less"}
        ratio = part.number / period_s(part.period) / rates[0]
        return {key: f"write daily: {ratio:.3g}"} if 1 < ratio <= _PEAK_MAX else {}
    return {}


_PERCENTILE: Final = re.compile(r"p(\d\d)_(.+)|(.+)_p(\d\d)")


def _of_percentiles(section: Mapping[str, object]) -> dict[str, str]:
    """Lengths that most prompts or answers stay within, which are no part of their means.

    >>> _of_percentiles({"p95_prompt_tokens": 2500, "completion_tokens_p99": 900, "rps": 2})
    {'p95_prompt_tokens': 'write input_tokens_p95: 2500', 'completion_tokens_p99': 'leave it out: the 95th percentile counts'}
    """  # noqa: E501
    lines: dict[str, str] = {}
    for key, value in section.items():
        match = _PERCENTILE.fullmatch(key)
        if not match or key in _STANDS or not key.replace(f"_p{match[4]}", "").endswith("tokens"):
            continue
        written = re.search(r"output|completion|answer|response|generated|written|new", key)
        line = f"{'output' if written else 'input'}_tokens_p95"
        of_95 = "95" in (match[1], match[4]) and line not in section
        lines[key] = f"write {line}: {value}" if of_95 else "leave it out: the 95th percentile counts"
    return lines


def _with_answers(key: str, rate: str, section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    """Requests that each are answered several times, as so many requests: each answer is generated on its own.

    >>> _with_answers("n", "rps", {"rps": 2, "n": 4}, {})
    {'n': 'write rps: 8 (4 answers to each are generated as so many requests)'}
    """
    answers = number_of(section[key]) or 1.0
    said = f" ({show_count(round(answers))} answers to each are generated as so many requests)"
    plain = {name: value for name, value in section.items() if name != key}
    if rate:
        number, unit = _parted(section[rate])
        whole = f"{rounded(float(exact(number) * exact(answers)), shorter=bool(unit))}{unit}"
        lines = _traffic({**plain, rate: whole}, spec)
        above = next((line for line in lines.values() if line.startswith(f"write {rate}: ")), "")
        return {**lines, key: f"leave it out: it is in {_line(above)}" if above else f"write {rate}: {whole}{said}"}
    known = known_of(spec)
    parts = parts_of(plain, _STANDS, known)
    root = _at_once(parts, plain, known) or _root(parts)
    if root is None or _measured_rate(root, parts):
        return {**_traffic(plain, spec), key: "leave it out: the tokens of all answers are counted"}
    many = rounded(float(exact(root.number) * exact(answers)), whole=True)
    lines = _traffic({**plain, root.key: many}, spec)
    line = lines.get(root.key, "")
    lines[key] = f"leave it out: it is in {_line(line)}" if line else ""
    return {**lines, root.key: f"{line}{said}"} if line else lines


_TRAFFIC: Final = {"input": "input_tokens", "output": "output_tokens", "audio": "audio"}


def _root(parts: list[Part]) -> Part | None:
    """The things of which a number is known that makes a rate: those of a time, or of which each has so many in one."""
    able: list[tuple[bool, int, Part]] = []
    for part in parts:
        if part.per or part.at_once or not part.number:
            continue
        chain = chain_of(part, parts, named=True)
        timed = any(each.period for each in chain) or any(is_one(part, each.per) and each.period for each in parts)
        able += [(measures(part) and not THINGS.fullmatch(part.what), -len(chain), part)] if timed else []
    return min(able, key=lambda each: each[:2])[2] if able else None


def _at_once(parts: list[Part], section: Mapping[str, object], known: Known) -> Part | None:
    """Those who wait for an answer or are heard at the same time."""
    for part in sorted(parts, key=lambda each: bool(THINGS.fullmatch(each.what))):  # people before what they ask
        plain = not part.per and not part.period
        alone = plain and known.hears and len(parts) == 1 and several(part.what) and not THINGS.fullmatch(part.what)
        people = _PEOPLE.fullmatch(part.what) and not _NO_PEOPLE.fullmatch(part.what)
        waits = plain and "think_time" in section and people and not measures(part)
        if part.at_once or alone or (plain and known.hears and part.what in _LIVE) or (waits and part.what not in TEXT):
            return replace(part, at_once=True)
    return None


def _people(load: Load, section: Mapping[str, object], known: Known) -> dict[str, str]:
    root = load.chain[0]
    said = "leave it out: concurrent_users are those who wait for an answer, however many each asks"
    above = {part.key: said for part in load.chain[1 : load.request + 1]}
    if not known.hears:
        return {**above, root.key: f"write concurrent_users: {root.value}"}
    sizes = [size for size in load.sizes if size.of == "audio"]
    length = float(sum((load.of_request(size) for size in sizes), Fraction(0)))
    if "audio" in section:
        length = seconds_of(part_of("length", section["audio"]))
    if not length:
        heard = f"rps: {root.number / HEARD_S:.4g}" + (f", audio: {HEARD_S}s" if "audio" not in section else "")
        way = "heard half a minute at a time"
    else:
        heard, way = f"rps: {root.number / length:.4g}", f"of {show_duration(length)} each"
    at_once = f"{root.number:g} {root.what} at once are {root.number:g} s of audio a second"
    return {**above, root.key: f"write {heard} ({at_once}, {way})"}


def _inside(load: Load, section: Mapping[str, object], home: str = "input_tokens") -> dict[str, str]:
    """What one request or record has several of, where no size of one of them says how much it reads."""
    beyond = [part for part in load.chain[load.request + 1 :] if part.key]
    if not beyond:
        return {}
    if home in section or any(size.of != "output" for size in load.sizes):
        all_of_it = home if home in section or any(size.of == "input" for size in load.sizes) else "the other sizes"
        return {part.key: f"leave it out: {all_of_it} are all that is read" for part in beyond}
    if not all(READ_TOGETHER.fullmatch(part.what) for part in beyond):
        return {}  # boxes of a record may be no text
    each = product(part.number for part in beyond) * ANSWER_TOKENS
    line = f"{home}: {show_count(max(round(each), 1))}"
    lines = {part.key: f"leave it out: it is in {line}" for part in beyond}
    lines[beyond[0].key] = f"write {line} ({ANSWER_TOKENS} for each: with the tokens of your own)"
    return lines


def _read_and_kept(load: Load, section: Mapping[str, object], known: Known) -> dict[str, str]:
    """The lines of lengths, and of what a cache has of them, which is one of them where it is a part of a prompt."""
    writes = known.kind in ("", "decoder") and "prefix" not in section
    return size_lines(load, section, _TRAFFIC, prefix=writes) | kept(section, load, known)


def _of_each(part: Part, parts: list[Part]) -> bool:
    """Whether a bare number is of what each request reads: its words, or texts of which another key says the length."""
    own = any(is_one(part, each.per) and measures(each) for each in parts)
    read = part.what in TEXT or (own and READ_TOGETHER.fullmatch(part.what))
    return bool(read) and not part.per and not part.period and not part.at_once


def _beside_a_rate(rate: str, section: Mapping[str, object], parts: list[Part], known: Known) -> dict[str, str]:
    """Keys beside the rate of requests, which are what each has: of a chat or a user they say nothing of a request."""
    of_request: list[Part] = []
    lines: dict[str, str] = {}
    for part in parts:
        plain = _of_each(part, parts) or (not part.per and not part.period and READ_TOGETHER.fullmatch(part.what))
        several_of = part.per and not part.period and not measures(part) and not seconds_of(part)
        if several_of and part.per not in map(singular, _REQUEST) and not READ_TOGETHER.fullmatch(part.what):
            lines[part.key] = f"leave it out: {rate} counts each request, whatever it is a part of"
        else:
            of_request.append(replace(part, per=_ONE_REQUEST) if plain else part)
    number, unit = _parted(section[rate])
    for part in parts:
        counted = part.number and not (part.per or part.period or part.at_once or measures(part) or seconds_of(part))
        if counted and _SOURCES.fullmatch(part.what) and rate != "concurrent_users" and number:
            each = f"{rate}: {rounded(float(exact(number) * exact(part.number)), shorter=bool(unit))}{unit}"
            said = f"{rate}: {section[rate]} is of all {part.number:,.0f} together; {each}, if it is of each of them"
            lines[part.key] = f"leave it out: {said}"
    root = Part(rate, "requests", number=number, at_once=rate == "concurrent_users")
    load = load_of(root, of_request, known, section, named=False, splits=True)
    lines |= unheard(parts, known) | _inside(load, section)
    lines |= _read_and_kept(load, section, known) | pictures_of(section, load, known)
    for part in of_request:  # of one of those of which a request may have several
        unknown = part.per and not any(is_one(each, part.per) for each in load.chain) and part.per != _ONE_REQUEST
        if (
            unknown
            and lines.get(part.key, "").startswith("write input_tokens")
            and READ_TOGETHER.fullmatch(f"{part.per}s")
        ):
            lines[part.key] += f", for one {part.per} a request; times as many as it has"
    above = load.chain[1 : load.request + 1]
    if above and number and not root.at_once:
        line = f"{rate}: {rounded(float(load.number), shorter=bool(unit))}{unit}"
        lines |= {part.key: f"leave it out: it is in {line}" for part in above}
        lines[above[0].key] = f"write {line}, the pairs of a question and a text"
    return lines


def _parted(value: object) -> tuple[float, str]:
    """A rate as its number and what is written behind it; 0 where it cannot be read.

    >>> _parted(30), _parted("4k/h"), _parted("many")
    ((30, ''), (4000, '/h'), (0.0, ''))
    """
    number, slash, unit = str(value).partition("/")
    return number_of(value) or number_of(number.strip()) or 0.0, f"{slash}{unit}" if slash else ""


def _measured_rate(root: Part, parts: list[Part]) -> Part | None:
    """Tokens or audio in a time, of all or of people of whom each brings so much; None where things are counted."""
    if measures(root) and not THINGS.fullmatch(root.what):
        return root
    for each in parts:
        if is_one(root, each.per) and each.period and measures(each) and not PICTURES.fullmatch(each.what):
            return Part(each.key, each.what, "", each.period, number=float(exact(root.number) * exact(each.number)))
    return None


def _rate_of(
    whole: Part, root: Part, parts: list[Part], section: Mapping[str, object], spec: Mapping[str, object]
) -> dict[str, str]:
    """Requests of all the tokens or all the audio of a time, by those of one request."""
    others = [part for part in parts if part.key not in (root.key, whole.key)]
    alone = load_of(Part("", "requests"), others, known_of(spec), section, named=False, splits=False)
    if audio := AUDIO.fullmatch(whole.what):
        each = sum((alone.of_request(size) for size in alone.sizes if size.of == "audio"), Fraction(0))
        recordings, heard = _heard(audio[1], whole.value or show_count(round(whole.number)), whole.number, each)
        several_of = Part(
            whole.key, "recordings", "", whole.period, value=recordings, number=number_of(recordings) or 0.0
        )
        line = f"write {per_period(several_of, spec)[0]}" + (f", audio: {heard}" if "audio" not in section else "")
    else:
        line = _rate_of_tokens(whole, tokens_each(alone, section, ("input_tokens", "output_tokens")), spec)
    if not line:
        return {}
    return {whole.key: f"leave it out: it is in {_line(line)}", root.key: line}


def _rate(load: Load, spec: Mapping[str, object], seen: str) -> str:
    """The line of a load of things in a time; `seen`: what it says of their pictures."""
    root, request, period = load.chain[0], load.chain[load.request], load.period
    if not period:
        return ""
    number = float(load.number)
    if not request.key:  # users of a time, of whom nobody has said what each asks
        days = period_s(period) / period_s("day")
        if days < 1:
            return ""
        whole = Part(root.key, "requests", "", "day", value="", number=round(number / days))
        asked = f"if each asks {ASKED_A_DAY} times a {period}; or what all of them ask together"
        return f"write {per_period(whole, spec)[0]}, {asked}"
    if not THINGS.fullmatch(request.what) and not several(request.what) and request.what != "steps":
        return ""
    value = root.value if load.request == 0 else ""
    rate, said = per_period(Part(root.key, request.what, "", period, value=value, number=number), spec)
    if (
        load.request == 0
        and not THINGS.fullmatch(root.what)
        and not any(is_one(root, size.part.per) for size in load.sizes)
    ):
        said += ", if each is a request of its own"
    return f"write {rate}{seen}{said}"


def _rate_of_tokens(part: Part, each: tuple[float, float], spec: Mapping[str, object]) -> str:
    """Requests of a period, of all the tokens in it, by those that one reads and writes."""
    factor = TEXT[part.what][0] if part.what in TEXT else Fraction(1)
    read, written = each
    usual = (read or (0 if written else RECORD_TOKENS), written or (0 if read else ANSWER_TOKENS))
    share = part.number * float(factor) / sum(usual)
    if part.period in _PER and not (part.period == "day" and open_hours(spec)):
        line = f"write rps: {rounded(share, shorter=False)}{_PER[part.period]}"
    else:
        line = f"write {per_period(Part(part.key, 'requests', '', part.period, value='', number=share), spec)[0]}"
    if read or written:
        return f"{line}, of {sum(usual):,.0f} tokens each"
    return (
        f"{line}, input_tokens: {RECORD_TOKENS}, output_tokens: {ANSWER_TOKENS} (with the tokens of your own requests)"
    )


def per_period(part: Part, spec: Mapping[str, object]) -> tuple[str, str]:
    """The rate with what was written, or with a day's share of it; of a service with hours the rate in those.

    >>> from sizewell.sizing.workload.load_keys import part_of
    >>> hours = {"schedule": {"on": "Mon-Fri 08:00-18:00 Europe/Berlin"}}
    >>> per_period(part_of("requests_per_day", "60k"), hours)
    ('rps: 6k/h', ', in the 10 hours of a day in which it runs')
    >>> per_period(part_of("requests_per_week", 7000), {}), per_period(part_of("requests_per_hour", 90), hours)
    (('rps: 1000/d', ''), ('rps: 90/h', ''))
    >>> per_period(part_of("requests_per_day", 3600), {"schedule": "weekdays 10-19 Europe/Warsaw"})
    ('rps: 400/h', ', in the 9 hours of a day in which it runs')
    """
    days = Fraction(period_s(part.period)) / 86_400
    hours = open_hours(spec) if days >= 1 else None
    if hours:
        a_week, open_days = hours
        share = part.number / (a_week / open_days) if days == 1 else part.number * 7 / float(days) / a_week
        return f"rps: {rounded(share)}/h", f", in the {a_week / open_days:.3g} hours of a day in which it runs"
    if part.period in _PER:
        plain = part.period == "second"  # which has no unit, and then no k
        return f"rps: {(not plain and part.value) or rounded(part.number, shorter=not plain)}{_PER[part.period]}", ""
    return f"rps: {rounded(part.number / float(days), shorter=False)}/d", ""


def rounded(number: float, *, shorter: bool = True, whole: bool = False) -> str:
    """A number to write: whole from a thousand on, or where it has to be, else with four figures.

    >>> rounded(12.5), rounded(0.0042), rounded(60000), rounded(60000, shorter=False), rounded(2.7, whole=True)
    ('12.5', '0.0042', '60k', '60000', '3')
    """
    if number < 1000 and not whole and number != round(number):
        return f"{number:.4g}" if number >= 0.001 else f"{number:.9f}".rstrip("0")
    return show_count(max(round(number), 1)) if shorter else f"{number:.0f}"


def open_hours(spec: Mapping[str, object]) -> tuple[float, int] | None:
    """Hours of a week and days of it in which a schedule lets a service run; None where none is stated."""
    stated = spec.get("schedule")
    stated = stated.get("on") if isinstance(stated, Mapping) else stated
    try:
        hours = parse_schedule(stated).open_hours
    except UnitError:
        meant, said = hours_meant(stated) if isinstance(stated, str) else ("", "hours")
        if "hours" in said:  # which are an example
            return None
        hours = parse_schedule(meant).open_hours
    return math.fsum(hours), sum(any(hours[day * 24 : day * 24 + 24]) for day in range(7))


def rate_meant(value: object, spec: Mapping[str, object]) -> str:
    """The line for a rate that is written in other words or for another period; "" where it cannot be read.

    >>> rate_meant("300k per month", {}), rate_meant("60 thousand requests a day", {}), rate_meant("many", {})
    ('write 10000/d', 'write 60k/d', '')
    """
    number, _, seconds = rate_parts(value) if isinstance(value, str) else (0, "", 0.0)
    period = next((name for name in (*_PER, "week", "month", "quarter", "year") if period_s(name) == seconds), "")
    if not number or not period:
        return ""
    rate, said = per_period(Part("rps", "requests", "", period, value="", number=float(number)), spec)
    return f"write {rate.removeprefix('rps: ')}{said}"
