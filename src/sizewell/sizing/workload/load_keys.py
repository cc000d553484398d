"""What a key of a load counts: so many of a thing, of another thing, in a time, at once, or of a size.

`requests_per_developer_per_day: 200` counts requests, of a developer, in a day. The words are the user's own; those
that are listed here are the ones that say a size (words, pages, minutes) or no load at all.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sizewell.sizing.catalog import load
from sizewell.sizing.predict.architecture import is_speech_recognizer
from sizewell.sizing.units import UnitError, count, period_s, show_count
from sizewell.sizing.workload.load_words import (
    COUNTED,
    TEXT,
    Text,
    in_unit,
    length_s,
    number_of,
    of_text,
    text_of,
)

_EVERY: Final = {"hourly": "hour", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month",
                 "quarterly": "quarter", "yearly": "year", "annual": "year"}  # fmt: skip
_ABBREVIATED: Final = {
    **dict.fromkeys(("rps", "req_per_sec", "req_per_s", "reqs_per_sec", "requests_per_sec", "requests_per_s"),
                    "requests_per_second"), "qps": "queries_per_second",
    "rpm": "requests_per_minute", "rpd": "requests_per_day", "fps": "frames_per_second", "ips": "images_per_second",
    "tps": "tokens_per_second", "tpm": "tokens_per_minute", "tpd": "tokens_per_day", "dau": "users_per_day",
    "mau": "users_per_month", "daily_active_users": "users_per_day", "monthly_active_users": "users_per_month",
    "weekly_active_users": "users_per_week", "wau": "users_per_week", "aht": "handle_time",
    **dict.fromkeys(("frame_rate", "sampled_fps", "sample_fps", "sampling_fps", "video_fps"), "frames_per_second"),
}  # fmt: skip
THINGS: Final = re.compile(
    r"articles|calls|chats|clips|conversations|documents|docs|emails|episodes|examples|files|frames|images|inputs|"
    r"invoices|items|messages|molecules|pages|pairs|photos|pictures|posts|prompts|proteins|queries|questions|records|"
    r"recordings|requests|reviews|rows|samples|sentences|sequences|texts|tickets|transactions|videos"
)
_OTHER: Final = re.compile(  # what a load has several of and that are no records and no requests
    r".*(?:users|workers|threads|processes|replicas|gpus|nodes|machines|cores|cpus|shards|retries|runs|steps|hours|"
    r"minutes|seconds|days|tokens|epochs|classes|labels|languages|columns|status|class|loss|dollars|costs|errors|"
    r"failures|misses|hits|bytes|deploys|rps|ops|flops)"
)
AUDIO: Final = re.compile(r"(?:(?:audio|speech)_)?(hours|minutes|seconds)(?:_of_[a-z]+|_audio|_recorded)?")
# How long one is: call_length, average_handle_time, duration_seconds, call_minutes; not how long somebody waits for it.
_LENGTH: Final = re.compile(
    r"(?:([a-z_]+)_)?(?:length|len|duration|time)(?:_(?:in_)?([a-z]+))?|"
    r"((?!per)[a-z]+)_(seconds|secs|minutes|mins|hours)"
)
_NO_LENGTH: Final = re.compile(
    r"(?:.*_)?(?:seq|sequence|max|min|think|wait|waiting|"
    r"queue|queueing|hold|start|first|cold|warm|idle|processing|run|end|window|up|down|lead|latency|token|of|over|off|"
    r"on|boot|round_trip|real)"
)
PICTURES: Final = re.compile(r"images|pictures|photos|photographs|frames|screenshots|scans|figures|diagrams|slides")
SIZE: Final = re.compile(r"(?:(?:image|picture|photo|frame|output)_)?(?:size|resolution|side)")
# What one request reads several of, where the model writes an answer to all of them; else each is read on its own.
READ_TOGETHER: Final = re.compile(
    r"(?:history|previous|past|prior|earlier|recent)_[a-z]+|(?:[a-z]+_)*(?:documents|docs|passages|candidates|pairs|chunks|snippets|paragraphs|sections|contexts|excerpts|"
    r"sources|results|hits|articles|files|chapters|sentences|examples|shots)"
)
_AT_ONCE: Final = re.compile(
    r"(?:concurrent|simultaneous|parallel|live|active)_([a-z_]+)|([a-z]+)_(?:online|at_once|in_parallel)"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A key of a load: what is counted, of which thing, in which time, or how many of it at once."""

    key: str
    what: str
    per: str = ""  # a thing, in the singular
    period: str = ""
    at_once: bool = False
    value: object = None  # as it is written
    number: float = 0.0
    guessed: bool = False  # a round number, which nobody has said


@dataclass(frozen=True, slots=True)
class Known:
    """What decides how a load of a model is counted, as far as the catalog or the spec's own figures say it."""

    name: str = ""
    kind: str = ""
    hears: bool = False
    sees: bool = False  # pictures beside text
    reads_at_most: int | None = None


_READS_PAGES: Final = re.compile(r"(?i)ocr|(?<![a-z])vlm?(?![a-z])|vision|llava|docling|nougat")  # by its name


def known_of(spec: Mapping[str, object]) -> Known:
    """The model of a spec by its name, or by the family that its own figures state."""
    stated = spec.get("model")
    if isinstance(stated, Mapping) and not stated.get("name"):
        own = bool(stated.get("params") or stated.get("layers"))
        family = stated.get("family") or ("decoder" if own else "")
        limit = stated.get("max_sequence_length")
        return Known(
            "", str(family), False, bool(stated.get("image_tokens")), limit if isinstance(limit, int) else None
        )
    name = str(stated.get("name") if isinstance(stated, Mapping) else stated)
    catalog = load()
    facts = catalog.models.get(catalog.model_names.get(name.lower(), ""))
    if facts is None:
        return Known(name, sees=bool(_READS_PAGES.search(name)))
    sees = facts.kind == "decoder" and bool(facts.image_tokens)
    return Known(name, facts.kind, is_speech_recognizer(facts), sees, facts.max_sequence_length)


def part_of(key: str, value: object) -> Part:
    """What a key counts.

    >>> part = part_of("requests_per_developer_per_day", "2k")
    >>> part.what, part.per, part.period, part.value, part.number
    ('requests', 'developer', 'day', '2k', 2000)
    >>> part_of("monthly_requests", 1).period, part_of("num_documents", 1).what, part_of("players_online", 1).at_once
    ('month', 'documents', True)
    """
    name = re.sub(r"^(?:number_of|no_of|num|n|total|avg|average|mean|typical|expected)_|_(?:count|in_all)$", "", key)
    name, value = in_unit(_ABBREVIATED.get(name, name), value)
    first, _, rest = name.partition("_")
    period = ""
    if rest and first in _EVERY:
        name, period = rest, _EVERY[first]
    what, *pers = name.split("_per_")
    per = ""
    for each in pers:
        if period_s(each):
            period = _period(each)
        else:
            per = singular(each)
    at_once = None if per or period else _AT_ONCE.fullmatch(what)
    if at_once:
        what = at_once[1] or at_once[2]
    return Part(key, what, per, period, at_once is not None, _shown(value), number_of(value) or 0.0)


def parts_of(section: Mapping[str, object], stands: tuple[str, ...], known: Known) -> list[Part]:
    """The keys of a section that no spec has, as far as they count or measure something; `stands`: those of a spec."""
    parts = [part_of(str(key), value) for key, value in section.items() if str(key) not in stands]
    parts = [part for part in parts if (part.number or seconds_of(part)) and not _of_hardware(part)]
    things = {thing for part in parts for thing in (part.per, "" if measures(part) else singular(part.what)) if thing}
    things |= {thing.rpartition("_")[2] for thing in things}
    writes = known.kind in ("", "decoder")
    made = [_of_a_text(part, parts, section, writes=writes) for part in parts]
    return _watched([_of_what_is_read(_of_a_thing(part, things)) for part in made], known)


def _of_what_is_read(part: Part) -> Part:
    """A length of a text of which nothing says that it is written: question_words and few_shot_tokens are of a prompt.

    >>> _of_what_is_read(part_of("outptu_tokens", 9)).what
    'outptu_tokens'
    """
    of, _, size = part.what.rpartition("_")
    plain = size in COUNTED and size != "pages" and not part.per and not part.period and not seconds_of(part)
    if not plain or not of or _NO_TEXT.search(of) or difflib.get_close_matches(of, _MISSPELT, 1, 0.75):
        return part
    return replace(part, what=f"input_{size}")


# Words of what is no length of one text: limits, sums, statistics, what a cache has, and what a run is.
_NO_TEXT: Final = re.compile(
    r"(?:^|_)(?:max|min|limit|batch|total|all|budget|p\d\d|peak|train|training|corpus|dataset|vocab|special|cached?|"
    r"reused|eval|pad|hit|miss|kv|step|num|new|output|generated|seq|sequence|block|draft|speculative|image|video|audio)(?:_|$)"
)
_MISSPELT: Final = ("input", "output", "answer", "response", "completion", "generated", "reply")
_HARDWARE: Final = frozenset({"node", "machine", "gpu", "device", "host", "instance", "server", "nproc", "cpu"})


def _of_hardware(part: Part) -> bool:
    """Whether a part counts machines or what they have, of which no load is made."""
    return singular(part.what.rpartition("_")[2]) in _HARDWARE or part.key.rpartition("_per_")[2] in (
        "node",
        "machine",
        "host",
    )


_RATE_OF_FRAMES_PER_S: Final = 1  # a round number to begin with, where it is not stated how many frames are looked at


def _watched(parts: list[Part], known: Known) -> list[Part]:
    """The frames of a recording in place of its length, for a model that sees them; the rate of frames is in them.

    >>> eyes, parts = Known(kind="decoder", sees=True), {"videos": 9, "seconds_per_video": 30, "fps": 2}
    >>> [(part.what, part.per, part.number) for part in parts_of(parts, (), eyes)]
    [('videos', '', 9), ('frames', 'video', 60.0), ('frames', 'video', 0.0)]
    """
    length = next(filter(is_length, parts), None)
    if not known.sees or known.hears or length is None:
        return parts
    thing = length.per or length_of(length)
    if any(part.per == thing and PICTURES.fullmatch(part.what) for part in parts):
        return parts  # so many of each, however long it is
    rate = next((part for part in parts if is_rate_of_frames(part)), None)
    a_second = rate.number / period_s(rate.period) if rate else _RATE_OF_FRAMES_PER_S
    seconds = seconds_of(length) or length.number * period_s(AUDIO.fullmatch(length.what)[1])  # type: ignore[index]
    frames = max(round(seconds * a_second), 1)
    shown = Part(length.key, "frames", thing, value=frames, number=float(frames), guessed=rate is None)
    parts = [shown if part is length else part for part in parts]
    return [Part(part.key, "frames", thing) if part is rate else part for part in parts]


def is_length(part: Part) -> bool:
    """Whether a part says how long one of a thing is: seconds_per_clip, call_length."""
    return bool(seconds_of(part) or (part.per and AUDIO.fullmatch(part.what)))


def is_rate_of_frames(part: Part) -> bool:
    """Whether a part is how many frames a time has, which says something of videos where their length is known."""
    return part.what == "frames" and bool(part.period) and not part.per


def _of_a_text(part: Part, parts: list[Part], section: Mapping[str, object], *, writes: bool) -> Part:
    """A size of a text by its side of the model: answer_words and words_per_answer are words of output.

    Things that are counted themselves and of which alone a size is known are what is read: summaries may be, too.

    >>> parts = {"completions_per_hour": 6, "prompt_tokens": 9, "answer_tokens": 6}
    >>> [each.what for each in parts_of(parts, (), Known())]
    ['completions', 'input_tokens', 'output_tokens']
    >>> [each.what for each in parts_of({"summaries": 1000, "summary_tokens": 300}, (), Known())]
    ['summaries', 'tokens']
    """
    before, _, size = part.what.rpartition("_")
    if size not in COUNTED or seconds_of(part):
        return part
    if text_of(before) is Text.READ and "_" not in before.removesuffix("_text"):
        return replace(part, what=f"input_{size}")
    sides = {text_of(before), text_of(_named(part))} if writes else set()
    if sides & {Text.WRITTEN, Text.THOUGHT}:
        return replace(part, what=f"output_{size}")
    if not sides & {Text.ANSWER, Text.OFTEN_WRITTEN} or size == "pages":
        return part
    noun = before or part.per
    counted = any(singular(each.what) == singular(noun) for each in parts if each is not part)
    asked = Text.ANSWER in sides and any(each.period for each in parts)
    if counted and not asked and not _reads_other(part, parts, section):
        return part
    return replace(part, what=f"output_{size}")


def _named(part: Part) -> str:
    """The thing of a key as it is written, in the singular: words_per_summary are of a summary."""
    return part.key.rpartition("_per_")[2] if part.per else ""


def _reads_other(part: Part, parts: list[Part], section: Mapping[str, object]) -> bool:
    """Whether a section says beside a size how much is read."""
    if any(home in section for home in ("input_tokens", "tokens_per_record")):
        return True
    others = (each.what.rpartition("_") for each in parts if each is not part)
    return any(size in COUNTED and text_of(of) in (None, Text.READ) for of, _, size in others)


def _of_a_thing(part: Part, things: set[str]) -> Part:
    """A size that has its thing before it: passage_tokens and chunk_size are of a passage and of a chunk.

    >>> _of_a_thing(part_of("passage_tokens", 200), {"passag"}).what
    'tokens'
    >>> _of_a_thing(part_of("chunk_size", 512), {"chunk"}).per
    'chunk'
    """
    thing, _, size = part.what.rpartition("_")
    if part.per or part.period or singular(thing) not in things or SIZE.fullmatch(part.what):
        return part
    if size in ("size", "length", "len") and part.number and not seconds_of(part):
        return replace(part, what="tokens", per=singular(thing))
    if size in TEXT or size == "tokens" or PICTURES.fullmatch(size):
        return replace(part, what=size, per=singular(thing))
    return part


def own_of(parts: list[Part], *, unknown: bool) -> Part | None:
    """The things of which a section has a number: its records, its people."""
    plain = [part for part in parts if not part.per and not part.at_once and part.number]
    of_others = {part.per for part in parts if part.per}
    for part in plain:
        if singular(part.what) in of_others and part.what not in TEXT:
            return part
    things = [part for part in plain if THINGS.fullmatch(part.what)]
    things.sort(key=lambda part: bool(part.what in TEXT or PICTURES.fullmatch(part.what)))  # which may be of another's
    if things or not unknown:
        return things[0] if things else None
    return next((part for part in plain if not part.period and several(part.what)), None)


def several(what: str) -> bool:
    """Whether a word of the user's own is one of things, and none of a size or of something else.

    >>> several("claims"), several("gpus"), several("words"), several("status"), several("rate")
    (True, False, False, False, False)
    """
    plural = re.fullmatch(r"[a-z_]*[^s]s", what)
    return bool(plural) and not _OTHER.fullmatch(what) and not of_text(what)[0]


def singular(word: str) -> str:
    """A thing as one of it, for comparison alone: a query and queries are the same, and so are a case and cases.

    >>> [singular(word) for word in ("queries", "query", "boxes", "box", "class", "cases", "case", "movies", "movie")]
    ['query', 'query', 'box', 'box', 'class', 'cas', 'cas', 'movy', 'movy']
    """
    one = word if word.endswith("ss") else word.removesuffix("s")
    return re.sub(r"ie$", "y", one) if one.endswith("ie") else one.removesuffix("e")


def seconds_of(part: Part) -> float:
    """How long one thing is, by the words of a key; 0 where it says no length.

    >>> [seconds_of(part_of(*each)) for each in (("call_length", "6m"), ("average_handle_time", "6m30s"), ("aht", "6:30"))]
    [360.0, 390.0, 390.0]
    >>> [seconds_of(part_of(*each)) for each in (("avg_duration_seconds", 240), ("call_minutes", 4), ("think_time", "9s"))]
    [240.0, 240.0, 0.0]
    """  # noqa: E501
    match = _LENGTH.fullmatch(part.what) if not part.per and not part.period else None
    of = (match[1] or match[3] or "") if match else ""
    if match is None or _NO_LENGTH.fullmatch(of) or text_of(of):
        return 0.0
    unit = match[2] or match[4] or ""
    if unit and not period_s(unit):
        return 0.0
    if unit:
        return part.number * period_s(unit)
    return length_s(part.value)


def length_of(part: Part) -> str:
    """The thing that a key of a length is of, in the singular: call_length is of a call; "" where it names none."""
    match = _LENGTH.fullmatch(part.what)
    return singular(str(match[1] or match[3] or "").rpartition("_")[2]) if match else ""


def measures(part: Part) -> bool:
    """Whether a part says how large a thing is, and not how many there are."""
    what = part.what
    return bool(of_text(what)[0] or AUDIO.fullmatch(what) or PICTURES.fullmatch(what))


def _period(word: str) -> str:
    """The usual name of a period: sec is a second.

    >>> _period("sec"), _period("days"), _period("h"), _period("quarter")
    ('second', 'day', 'hour', 'quarter')
    """
    known = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    return next((name for name in known if period_s(name) == period_s(word)), word)


def _shown(value: object) -> object:
    """A number as it is written where a spec reads that, else its short form."""
    try:
        count(value)
    except UnitError:
        number = number_of(value)
        return value if number is None or number != round(number) else show_count(round(number))
    return value
