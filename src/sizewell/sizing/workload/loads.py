"""Loads as newcomers count them (hours of audio, pages, pictures a day, tokens in all), as a spec counts them.

Each way out carries the number that was written. What a spec needs beside it and nobody has said (tokens of a record,
requests of a user) is a round number, and is called one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from sizewell.sizing.units import UnitError, count, show_count

_PER: Final = {"second": "", "sec": "", "s": "", "minute": "/min", "min": "/min", "hour": "/h", "day": "/d"}
_DAYS: Final = {"week": 7, "month": 30, "quarter": 91, "year": 365}  # periods that a rate is not written in
_EVERY: Final = {"hourly": "hour", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month",
                 "quarterly": "quarter", "yearly": "year", "annual": "year"}  # fmt: skip
_ABBREVIATED: Final = {
    "rpm": "requests_per_minute", "rpd": "requests_per_day", "fps": "frames_per_second", "ips": "images_per_second",
    "tps": "tokens_per_second", "tpm": "tokens_per_minute", "tpd": "tokens_per_day", "dau": "users_per_day",
    "mau": "users_per_month", "daily_active_users": "users_per_day", "monthly_active_users": "users_per_month",
}  # fmt: skip
_THINGS: Final = (
    "articles|calls|chats|clips|conversations|documents|docs|emails|examples|files|frames|images|inputs|invoices|items|"
    "messages|molecules|pages|pairs|photos|pictures|posts|prompts|proteins|queries|questions|records|recordings|"
    "requests|reviews|rows|samples|sentences|sequences|texts|tickets|transactions|videos"
)
_AUDIO: Final = re.compile(r"(?:audio_)?(hours|minutes|seconds)(?:_of_audio|_audio)?")
_PAIRS: Final = ("documents", "docs", "passages", "candidates", "pairs", "chunks")
_TOKENS: Final = ("tokens", "total_tokens", "input_tokens", "prompt_tokens")
IN_ALL: Final = 2_000_000  # more tokens than a model reads at once
RECORD_TOKENS, WRITTEN_TOKENS, ANSWER_TOKENS, ASKED_A_DAY = 1000, 100, 250, 10  # round numbers to begin with


def load_meant(where: str, key: str, value: object, given: object) -> str:
    """The line to write for a key of a section that counts otherwise; "" where it is not known what it counts.

    >>> load_meant("batch", "minutes", "600k", {}), load_meant("batch", "videos", 100, {})
    ('write records: 600k, audio_per_record: 1m', 'write records: 100')
    >>> load_meant("traffic", "images_per_day", "2M", {}), load_meant("traffic", "fps", 200, {})
    ('write rps: 2M/d', 'write rps: 200')
    """
    section = given if isinstance(given, Mapping) else {}
    number = _number(value)
    if number is None:
        return ""
    if where == "training":
        return _samples(key, value, section)
    if where == "batch":
        return _records(key, value, number, section)
    known = section.get("traffic") if where == "" else section
    line = _rate(_ABBREVIATED.get(key, key), value, number, known if isinstance(known, Mapping) else {})
    if where == "traffic" or not line:
        return line
    stated = re.fullmatch(r"write (rps: .*?)(| \(.*|, (?:if|of) .*)", line)
    return f"write traffic: {{{stated[1]}}}{stated[2]}" if where == "" and stated else ""


def _samples(key: str, value: object, section: Mapping[str, object]) -> str:
    if not re.fullmatch(_THINGS, key):
        return ""
    length = next((name for name in ("steps", "tokens", "samples") if name in section), "")
    return f"leave it out: how long the run is stands in {length}" if length else f"write samples: {value}"


def _records(key: str, value: object, number: float, section: Mapping[str, object]) -> str:
    if audio := _AUDIO.fullmatch(key):
        return "write records: {}, audio_per_record: {}".format(*_heard(audio[1], value, number))
    if key in (*_TOKENS, "output_tokens") and number > IN_ALL:
        return _in_all(key, section)
    if not re.fullmatch(_THINGS, key):
        return ""
    if "records" not in section:
        return f"write records: {value}"
    return f"write images: {{per_request: {value}}}" if key == "images" else ""


def _heard(unit: str, value: object, number: float) -> tuple[object, str]:
    """Recordings and the length of each, of audio by its length; a model hears no less than half a minute."""
    return (f"{number / 60:.0f}", "1m") if unit == "seconds" else (value, f"1{unit[0]}")


def _in_all(key: str, section: Mapping[str, object]) -> str:
    """Tokens of a whole batch as records, by the tokens of one where those are stated."""
    read = next((int(total) for name in _TOKENS if (total := _number(section.get(name)) or 0) > IN_ALL), 0)
    written = int(_number(section.get("output_tokens")) or 0)
    if read and key == "output_tokens":
        return "leave it out: it is in output_tokens_per_record"
    each = int(_number(section.get("tokens_per_record")) or RECORD_TOKENS)
    whole = max(read // each if read else written // WRITTEN_TOKENS, 1)
    records = int(_number(section.get("records")) or whole)
    parts = [f"records: {show_count(records)}"]
    parts += [f"tokens_per_record: {show_count(max(read // records, 1))}"] if read else []
    parts += [f"output_tokens_per_record: {show_count(max(written // records, 1))}"] if written else []
    all_of_it = f"{show_count(read or written)} tokens in all"
    return f"write {', '.join(parts)} ({all_of_it}; with the tokens of your own records)"


def _rate(key: str, value: object, number: float, section: Mapping[str, object]) -> str:
    if key in _PAIRS and "rps" in section:
        if section.get("output_tokens"):
            return "leave it out: input_tokens are all that a request reads"
        try:
            return f"write rps: {float(str(section['rps'])) * number:g}, the pairs of a question and a text"
        except ValueError:
            return ""
    if key == "images":
        return f"write images: {{per_request: {value}}}"
    if any(name in section for name in ("rps", "requests_per_hour", "concurrent_users")):
        return ""
    what, period = _parts(key)
    if not period:
        return ""
    if what in ("users", "active_users"):
        asked = f"rps: {show_count(round(number * ASKED_A_DAY / _DAYS.get(period, 1)))}/d"
        return f"write {asked}, if each asks {ASKED_A_DAY} times a {period}; or what all of them ask together"
    if what.endswith("tokens"):
        return _rate_of_tokens(number, period, section)
    if audio := _AUDIO.fullmatch(what):
        recordings, length = _heard(audio[1], value, number)
        return f"write {_per(recordings, number, period)}, audio: {length}"
    return f"write {_per(value, number, period)}" if re.fullmatch(_THINGS, what) else ""


def _parts(key: str) -> tuple[str, str]:
    """What is counted and for which time.

    >>> _parts("images_per_day"), _parts("monthly_requests"), _parts("rps")
    (('images', 'day'), ('requests', 'month'), ('', ''))
    """
    what, _, period = key.rpartition("_per_")
    if what:
        return (what, period) if period in (*_PER, *_DAYS) else ("", "")
    first, _, rest = key.partition("_")
    return (rest, _EVERY[first]) if rest and first in _EVERY else ("", "")


def _per(value: object, number: float, period: str) -> str:
    """The key of a rate with what was written, or with a day's share of it."""
    if period in _PER:
        return f"rps: {value}{_PER[period]}"
    day = number / _DAYS[period]
    return f"rps: {day:.0f}/d" if day >= 10 else f"rps: {day:.2g}/d"


def _rate_of_tokens(number: float, period: str, section: Mapping[str, object]) -> str:
    """Requests of a period, of all the tokens in it, by those of one."""
    read, written = (_number(section.get(key)) for key in ("input_tokens", "output_tokens"))
    each = int(read or (0 if written else RECORD_TOKENS)) + int(written or (0 if read else ANSWER_TOKENS))
    share = number / each / _DAYS.get(period, 1)
    rate = f"rps: {share:.0f}" if share >= 10 else f"rps: {share:.2g}"
    line = f"write {rate}{_PER.get(period, '/d')}"
    if read or written:
        return f"{line}, of {each:,} tokens each"
    return (
        f"{line}, input_tokens: {RECORD_TOKENS}, output_tokens: {ANSWER_TOKENS} (with the tokens of your own requests)"
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = value if isinstance(value, float) else count(value)
    except UnitError:
        return None
    return number if 0 < number < math.inf else None
