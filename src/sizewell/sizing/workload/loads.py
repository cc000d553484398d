"""Loads as newcomers count them (pages of a document, calls of an agent, pictures a day), as a spec counts them.

A key says what is counted, of which thing (pages per document) and in which time (requests per user per day); the
thing of which a section has a number is its record or its request, whatever it is called. Each way out carries the
number that was written. What a spec needs beside it and nobody has said (tokens of a page, requests of a user) is a
round number, and is called one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sizewell.sizing.catalog import load
from sizewell.sizing.predict.architecture import is_speech_recognizer
from sizewell.sizing.units import UnitError, amount, count, period_s, rate_parts, show_count, show_duration
from sizewell.sizing.workload.kind_defaults import TRAINS
from sizewell.sizing.workload.schedule import parse_schedule
from sizewell.sizing.workload.ways_out import way_out

_PER: Final = {"second": "", "minute": "/min", "hour": "/h", "day": "/d"}  # as a rate is written
_EVERY: Final = {"hourly": "hour", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month",
                 "quarterly": "quarter", "yearly": "year", "annual": "year"}  # fmt: skip
_ABBREVIATED: Final = {
    "rpm": "requests_per_minute", "rpd": "requests_per_day", "fps": "frames_per_second", "ips": "images_per_second",
    "tps": "tokens_per_second", "tpm": "tokens_per_minute", "tpd": "tokens_per_day", "dau": "users_per_day",
    "mau": "users_per_month", "daily_active_users": "users_per_day", "monthly_active_users": "users_per_month",
    "weekly_active_users": "users_per_week", "wau": "users_per_week",
}  # fmt: skip
_THINGS: Final = re.compile(
    r"articles|calls|chats|clips|conversations|documents|docs|emails|episodes|examples|files|frames|images|inputs|"
    r"invoices|items|messages|molecules|pages|pairs|photos|pictures|posts|prompts|proteins|queries|questions|records|"
    r"recordings|requests|reviews|rows|samples|sentences|sequences|texts|tickets|transactions|videos"
)
_OTHER: Final = re.compile(  # what a batch has several of and that are no records
    r".*(?:users|workers|threads|processes|replicas|gpus|nodes|machines|cores|cpus|shards|retries|runs|steps|hours|"
    r"minutes|seconds|days|tokens|epochs|classes|labels|languages|columns|status|class|loss)"
)
_AUDIO: Final = re.compile(r"(?:audio_)?(hours|minutes|seconds)(?:_of_audio|_audio)?")
_LENGTH: Final = re.compile(r"(?!seq|context|input|output|prompt|max|min)([a-z]+)_(?:length|duration)")
_PICTURES: Final = re.compile(r"images|pictures|photos|frames|screenshots|scans")
_SIZE: Final = re.compile(r"(?:(?:image|picture|photo|frame)_)?(?:size|resolution|side)")
_WRITES: Final = ("output", "completion", "answer", "response", "reply", "summary", "generated", "written")
_TOKENS_OF: Final = re.compile(rf"(?:(?:input|prompt|context|({'|'.join(_WRITES)}))_)?tokens")
# Tokens of what texts are counted in: English in the usual vocabularies, a page of 500 words (estimates); the residues
# of a protein and the bases of a genome are a token each.
_TEXT: Final = {
    "words": (Fraction(4, 3), "4 tokens for 3 words"), "pages": (Fraction(2000, 3), "a page of 500 words"),
    "characters": (Fraction(1, 4), "a token for 4 characters"), "chars": (Fraction(1, 4), "a token for 4 characters"),
    "residues": (Fraction(1), ""), "amino_acids": (Fraction(1), ""), "bases": (Fraction(1), ""),
}  # fmt: skip
_PAIRS: Final = ("documents", "docs", "passages", "candidates", "pairs", "chunks")
_AT_ONCE: Final = re.compile(
    r"(?:concurrent|simultaneous|parallel|live|active)_([a-z_]+)|([a-z]+)_(?:online|at_once|in_parallel)"
)
_LIVE: Final = ("streams", "channels", "lines")
_RATES: Final = ("rps", "requests_per_hour", "concurrent_users")
IN_ALL: Final = 2_000_000  # more tokens than a model reads at once
HEARD_S: Final = 30  # of audio at a time by a model that recognizes speech
RECORD_TOKENS, WRITTEN_TOKENS, ANSWER_TOKENS, ASKED_A_DAY = 1000, 100, 250, 10  # round numbers to begin with


@dataclass(frozen=True, slots=True)
class _Part:
    """A key of a load: what is counted, of which thing, in which time, or how many of it at once."""

    key: str
    what: str
    per: str = ""  # a thing, in the singular
    period: str = ""
    at_once: bool = False
    value: object = None  # as it is written
    number: float = 0.0


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
    if home not in readers or (key == home and not where):
        return ""
    line = readers[home](section, spec).get(key, "")
    if where or not line.startswith("write "):
        return line
    own = _line(line)
    return f"write {home}: {{{own}}}{line.removeprefix(f'write {own}')}"


def _line(fix: str) -> str:
    """What is to be written of a fix, without what is said of it."""
    return re.split(r" \(|, (?!\w+: )|; ", fix.removeprefix("write "))[0]


def _home(spec: Mapping[str, object]) -> str:
    """The section that states the load of a kind of work."""
    kind = spec.get("kind")
    return "training" if kind in TRAINS else "batch" if kind == "batch-inference" else "traffic"


def _part(key: str, value: object) -> _Part:
    """What a key counts.

    >>> _part("requests_per_developer_per_day", 200)
    _Part(key='requests_per_developer_per_day', what='requests', per='developer', period='day', at_once=False, value=200, number=200)
    >>> _part("monthly_requests", 1).period, _part("num_documents", 1).what, _part("players_online", 1).at_once
    ('month', 'documents', True)
    """  # noqa: E501
    name = re.sub(r"^(?:number_of|no_of|num|n|total|avg|average|mean|typical|expected)_|_(?:count|in_all)$", "", key)
    name = _ABBREVIATED.get(name, name)
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
            per = _singular(each)
    at_once = None if per or period else _AT_ONCE.fullmatch(what)
    if at_once:
        what = at_once[1] or at_once[2]
    return _Part(key, what, per, period, at_once is not None, _shown(value), _number(value) or 0.0)


def _period(word: str) -> str:
    """The usual name of a period: sec is a second.

    >>> _period("sec"), _period("days"), _period("h"), _period("quarter")
    ('second', 'day', 'hour', 'quarter')
    """
    known = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    return next((name for name in known if period_s(name) == period_s(word)), word)


def _singular(word: str) -> str:
    return re.sub(r"ies$", "y", word) if word.endswith("ies") else word.removesuffix("s")


def _parts(section: Mapping[str, object], known: tuple[str, ...]) -> list[_Part]:
    parts = [_part(str(key), value) for key, value in section.items() if str(key) not in known]
    return [part for part in parts if part.number or _LENGTH.fullmatch(part.what) or _SIZE.fullmatch(part.what)]


def _own(parts: list[_Part], *, unknown: bool) -> _Part | None:
    """The things of which a section has a number: its records, its people."""
    plain = [part for part in parts if not part.per and not part.at_once and part.number]
    of_others = {part.per for part in parts if part.per}
    for part in plain:
        if _singular(part.what) in of_others and part.what not in _TEXT:
            return part
    things = [part for part in plain if _THINGS.fullmatch(part.what)]
    if things or not unknown:
        return things[0] if things else None
    plural = [part for part in plain if part.what.isalpha() and re.search(r"[^s]s$", part.what) and not part.period]
    return next((part for part in plural if not _OTHER.fullmatch(part.what) and part.what not in _TEXT), None)


def _each(part: _Part, parts: list[_Part], own: str) -> float:
    """How many of what is counted one record has: 30 pages of a document of 600 tokens a page are 18,000."""
    factor, per = part.number, part.per
    for _ in parts:  # as long as there are things in things
        outer = next((each for each in parts if _singular(each.what) == per and each.per), None)
        if per == own or outer is None:
            break
        factor, per = factor * outer.number, outer.per
    return factor


def _batch(section: Mapping[str, object], _spec: Mapping[str, object]) -> dict[str, str]:
    known = ("records", "tokens_per_record", "output_tokens_per_record", "window", "every", "audio_per_record")
    parts = _parts(section, known)
    lines = _pictures(section, parts)
    counted = "records" in section
    own = None if counted else _own(parts, unknown=True)
    each = next((part for part in parts if own and part.per == _singular(own.what) and part.period), None)
    if own and each:  # what people bring in a time
        line = f"records: {_rounded(own.number * each.number)}{_repeated(each, section)}"
        return {**lines, own.key: f"write {line}", each.key: f"leave it out: it is in {line}"}
    if own:
        lines[own.key] = f"write records: {own.value}{_repeated(own, section)}"
        if not _THINGS.fullmatch(own.what) and _singular(own.what) not in {part.per for part in parts}:
            lines[own.key] += ", if each is a record of its own"
    record = _singular(own.what) if own else "record"
    lines |= _text(parts, record, {"read": "tokens_per_record", "written": "output_tokens_per_record"}, section)
    for part in parts:
        if part.key in lines:
            continue
        if heard := _heard_each(part, parts, record):
            lines[part.key] = f"write audio_per_record: {heard}"
        elif (audio := _AUDIO.fullmatch(part.what)) and not part.per and not counted:
            lines[part.key] = "write records: {}, audio_per_record: {}".format(
                *_heard(audio[1], part.value, part.number)
            )
        elif _TOKENS_OF.fullmatch(part.what) and not part.per and part.number > IN_ALL:
            lines[part.key] = _in_all(part, section)
        elif part.what == "images" and not part.per and counted:
            lines[part.key] = f"write images: {{per_request: {part.value}}}"
    return lines


def _repeated(part: _Part, section: Mapping[str, object]) -> str:
    """How often a batch of so many a period is run, where that is not each day."""
    if part.period in ("", "day") or "every" in section:
        return ""
    return f", every: {show_duration(period_s(part.period))}"


def _pictures(section: Mapping[str, object], parts: list[_Part]) -> dict[str, str]:
    """Pictures of a record or request, and their size, in one line."""
    several = next((part for part in parts if part.per and _PICTURES.fullmatch(part.what)), None)
    size = next((part for part in parts if _SIZE.fullmatch(part.what) and not part.per), None)
    stated = {"per_request": several.value} if several else {}
    if size:
        written = section[size.key]
        side = re.match(r"write (\d+)", way_out("images.resolution", written))
        stated["resolution"] = side[1] if side else size.value if size.number else ""
    if not all(map(str, stated.values())):
        return {}
    line = f"images: {{{', '.join(f'{key}: {value}' for key, value in stated.items())}}}"
    keys = [part.key for part in (several, size) if part]
    return {key: f"leave it out: it is in {line}" if index else f"write {line}" for index, key in enumerate(keys)}


def _text(parts: list[_Part], record: str, homes: Mapping[str, str], section: Mapping[str, object]) -> dict[str, str]:
    """Tokens, words and pages of a record or request, as tokens; of one that is counted twice in its smaller parts."""
    lines: dict[str, str] = {}
    things = {part.per for part in parts}
    for part in parts:
        tokens = _TOKENS_OF.fullmatch(part.what)
        factor, said = (Fraction(1), "") if tokens else _TEXT.get(part.what, (None, ""))
        single = not part.per and tokens is not None and part.number <= IN_ALL
        if factor is None or part.period or not (part.per or single):
            continue
        home = homes["written" if tokens and tokens[1] else "read"]
        if _singular(part.what) in things and part.per:
            continue  # its parts have a number of their own: they say it
        if home in section:
            lines[part.key] = f"leave it out: it is in {home}: {section[home]}"
            continue
        each = max(round(_each(part, parts, record) * factor), 1)
        tokens_each = part.value if each == part.number else show_count(each)
        lines[part.key] = f"write {home}: {tokens_each}"
        lines[part.key] += f" ({said}: with the tokens of your own)" if said else ""
        for outer in parts:
            if outer.per and _singular(outer.what) == part.per:
                lines[outer.key] = f"leave it out: it is in {home}: {tokens_each}"
    return lines


def _heard_each(part: _Part, parts: list[_Part], record: str) -> str:
    """The audio of one record or request: `minutes_per_episode: 42`, `call_length: 6m`; "" where it says nothing."""
    if part.per and not part.period and (audio := _AUDIO.fullmatch(part.what)):
        seconds = _each(part, parts, record) * period_s(audio[1])
    elif _LENGTH.fullmatch(part.what) and (figures := re.match(r"\d+(?:\.\d+)?", str(part.value).strip())):
        seconds = float(figures[0]) * period_s(str(part.value).strip()[figures.end() :].strip())
    else:
        return ""
    return show_duration(seconds) if seconds else ""


def _heard(unit: str, value: object, number: float) -> tuple[object, str]:
    """Recordings and the length of each, of audio by its length; a model hears no less than half a minute."""
    return (f"{number / 60:.0f}", "1m") if unit == "seconds" else (value, f"1{unit[0]}")


def _in_all(part: _Part, section: Mapping[str, object]) -> str:
    """Tokens of a whole batch as records, by the tokens of one where those are stated."""
    stated = {str(key): int(_number(value) or 0) for key, value in section.items()}
    written = next((stated[key] for key in stated if (of := _TOKENS_OF.fullmatch(key)) and of[1]), 0)
    totals = {re.sub(r"^total_", "", key): number for key, number in stated.items()}
    read = next((number for key, number in totals.items() if number > IN_ALL and _reads(key)), 0)
    if read and not _reads(part.what):
        return "leave it out: it is in output_tokens_per_record"
    each = stated.get("tokens_per_record") or RECORD_TOKENS
    whole = max(read // each if read else written // WRITTEN_TOKENS, 1)
    records = stated.get("records") or whole
    lines = [f"records: {show_count(records)}"]
    lines += [f"tokens_per_record: {show_count(max(read // records, 1))}"] if read else []
    lines += [f"output_tokens_per_record: {show_count(max(written // records, 1))}"] if written else []
    all_of_it = f"{show_count(read or written)} tokens in all"
    return f"write {', '.join(lines)} ({all_of_it}; with the tokens of your own records)"


def _reads(key: str) -> bool:
    tokens = _TOKENS_OF.fullmatch(key)
    return tokens is not None and not tokens[1]


def _training(section: Mapping[str, object], _spec: Mapping[str, object]) -> dict[str, str]:
    known = ("tokens", "samples", "epochs", "steps", "sequence_length", "global_batch", "images")
    parts = _parts(section, known if not isinstance(section.get("images"), int | str) else known[:-1])
    length = next((name for name in ("steps", "tokens", "samples") if name in section), "")
    lines = _pictures(section, parts) | _text(
        parts, "sample", {"read": "sequence_length", "written": "sequence_length"}, section
    )
    if own := _own(parts, unknown=False):
        stated = f"leave it out: how long the run is stands in {length}"
        lines[own.key] = stated if length else f"write samples: {own.value}"
    return lines


def _traffic(section: Mapping[str, object], spec: Mapping[str, object]) -> dict[str, str]:
    known = ("think_time", "prefix", "burstiness", "redundancy", "daily", "audio", "input_tokens", "output_tokens",
             "input_tokens_p95", "output_tokens_p95", "requests", *_RATES)  # fmt: skip
    parts = _parts(section, known)
    lines = _pictures(section, parts)
    hears = _hears(spec)
    length = next((heard for part in parts if (heard := _heard_each(part, parts, ""))), "") if hears else ""
    if any(name in section for name in _RATES):
        lines |= _beside_a_rate(section, parts)
    else:
        lines |= _rates(section, parts, spec, hears=hears, length=length)
    lines |= {
        key: line
        for key, line in _text(parts, "request", {"read": "input_tokens", "written": "output_tokens"}, section).items()
        if key not in lines
    }
    for part in parts:
        if length and part.key not in lines and _heard_each(part, parts, ""):
            lines[part.key] = f"write audio: {length}"
    return lines


def _beside_a_rate(section: Mapping[str, object], parts: list[_Part]) -> dict[str, str]:
    lines = {}
    for part in parts:
        if part.key in _PAIRS and "rps" in section:
            if section.get("output_tokens"):
                lines[part.key] = "leave it out: input_tokens are all that a request reads"
            elif rate := _number(section["rps"]):
                lines[part.key] = f"write rps: {rate * part.number:g}, the pairs of a question and a text"
        elif part.key == "images":
            lines[part.key] = f"write images: {{per_request: {part.value}}}"
    return lines


def _rates(
    section: Mapping[str, object], parts: list[_Part], spec: Mapping[str, object], *, hears: bool, length: str
) -> dict[str, str]:
    """The rate of a load that states none: of people and what each asks, of things in a time, of those at once."""
    for people in parts:
        own = (_singular(people.what), "user" if people.what.endswith("users") else "")
        each = next((part for part in parts if part.per and part.per in own and part is not people), None)
        period = each.period or people.period if each else ""
        if each and period and not people.per and not (_measures(each) and not each.period):
            what = each.what if _measures(each) else "requests"
            whole = _Part(people.key, what, "", period, value="", number=people.number * each.number)
            line = _rate(whole, section, spec, length if hears else "")
            if line:
                return {people.key: line, each.key: f"leave it out: it is in {_line(line)}"}
    for part in parts:
        waits = "think_time" in section and not part.per and not part.period and re.fullmatch(r"[a-z]+s", part.what)
        if part.at_once or (hears and part.what in _LIVE) or (waits and part.what not in _TEXT):
            if not hears:
                return {part.key: f"write concurrent_users: {part.value}"}
            said = f"{part.number:g} {part.what} at once are {part.number:g} s of audio a second"
            heard = f"rps: {part.number / HEARD_S:.3g}, audio: {HEARD_S}s"
            return {part.key: f"write {heard} ({said}, heard half a minute at a time)"}
    for part in parts:
        if not part.per and (line := _rate(part, section, spec, length if hears else "")):
            return {part.key: line}
    return {part.key: f"write images: {{per_request: {part.value}}}" for part in parts if part.key == "images"}


def _measures(part: _Part) -> bool:
    """Whether a part says how large a thing is, and not how many there are."""
    what = part.what
    return bool(what in _TEXT or _TOKENS_OF.fullmatch(what) or _AUDIO.fullmatch(what) or _PICTURES.fullmatch(what))


def _rate(part: _Part, section: Mapping[str, object], spec: Mapping[str, object], length: str) -> str:
    """A number of things in a time as requests."""
    if not part.period:
        return ""
    if part.what in ("users", "active_users"):
        days = period_s(part.period) / period_s("day")
        if days < 1:
            return ""
        whole = _Part(part.key, "requests", "", "day", value="", number=round(part.number * ASKED_A_DAY / days))
        asked = f"if each asks {ASKED_A_DAY} times a {part.period}; or what all of them ask together"
        return f"write {_per(whole, spec)[0]}, {asked}"
    if part.what.endswith("tokens"):
        return _rate_of_tokens(part, section, spec)
    if audio := _AUDIO.fullmatch(part.what):
        recordings, heard = _heard(audio[1], part.value or show_count(round(part.number)), part.number)
        several = _Part(part.key, "recordings", "", part.period, value=recordings, number=_number(recordings) or 0.0)
        return f"write {_per(several, spec)[0]}, audio: {heard}"
    if not _THINGS.fullmatch(part.what):
        return ""
    rate, said = _per(part, spec)
    return f"write {rate}{f', audio: {length}' if length and 'audio' not in section else ''}{said}"


def _per(part: _Part, spec: Mapping[str, object]) -> tuple[str, str]:
    """The rate with what was written, or with a day's share of it; of a service with hours the rate in those.

    >>> hours = {"schedule": {"on": "Mon-Fri 08:00-18:00 Europe/Berlin"}}
    >>> _per(_part("requests_per_day", "60k"), hours)
    ('rps: 6k/h', ', in the 10 hours of a day in which it runs')
    >>> _per(_part("requests_per_week", 7000), {}), _per(_part("requests_per_hour", 90), hours)
    (('rps: 1000/d', ''), ('rps: 90/h', ''))
    """
    days = Fraction(period_s(part.period)) / 86_400
    hours = _open_hours(spec) if days >= 1 else None
    if hours:
        a_week, open_days = hours
        share = part.number / (a_week / open_days) if days == 1 else part.number * 7 / float(days) / a_week
        return f"rps: {_rounded(share)}/h", f", in the {a_week / open_days:.3g} hours of a day in which it runs"
    if part.period in _PER:
        return f"rps: {part.value or _rounded(part.number)}{_PER[part.period]}", ""
    return f"rps: {_rounded(part.number / float(days), shorter=False)}/d", ""


def _rounded(number: float, *, shorter: bool = True) -> str:
    if number < 10:
        return f"{number:.2g}"
    return show_count(round(number)) if shorter else f"{number:.0f}"


def _open_hours(spec: Mapping[str, object]) -> tuple[float, int] | None:
    """Hours of a week and days of it in which a schedule lets a service run; None where none is stated."""
    stated = spec.get("schedule")
    try:
        hours = parse_schedule(stated.get("on") if isinstance(stated, Mapping) else stated).open_hours
    except UnitError:
        return None
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
    rate, said = _per(_Part("rps", "requests", "", period, value="", number=float(number)), spec)
    return f"write {rate.removeprefix('rps: ')}{said}"


def _rate_of_tokens(part: _Part, section: Mapping[str, object], spec: Mapping[str, object]) -> str:
    """Requests of a period, of all the tokens in it, by those of one."""
    read, written = (_number(section.get(key)) for key in ("input_tokens", "output_tokens"))
    each = int(read or (0 if written else RECORD_TOKENS)) + int(written or (0 if read else ANSWER_TOKENS))
    share = part.number / each
    if part.period in _PER and not (part.period == "day" and _open_hours(spec)):
        line = f"write rps: {_rounded(share, shorter=False)}{_PER[part.period]}"
    else:
        line = f"write {_per(_Part(part.key, 'requests', '', part.period, value='', number=share), spec)[0]}"
    if read or written:
        return f"{line}, of {each:,} tokens each"
    return (
        f"{line}, input_tokens: {RECORD_TOKENS}, output_tokens: {ANSWER_TOKENS} (with the tokens of your own requests)"
    )


def _hears(spec: Mapping[str, object]) -> bool:
    """Whether the model of a spec recognizes speech."""
    stated = spec.get("model")
    name = stated.get("name") if isinstance(stated, Mapping) else stated
    catalog = load()
    facts = catalog.models.get(catalog.model_names.get(str(name).lower(), ""))
    return facts is not None and is_speech_recognizer(facts)


def _shown(value: object) -> object:
    """A number as it is written where a spec reads that, else its short form."""
    try:
        count(value)
    except UnitError:
        number = _number(value)
        return value if number is None or number != round(number) else show_count(round(number))
    return value


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = value if isinstance(value, float) else count(value)
    except UnitError:
        figures, rest = amount(str(value)) if isinstance(value, str) else (0, "")
        number = float(figures) if not rest else 0.0
    return number if 0 < number < math.inf else None
