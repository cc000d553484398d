"""The amounts that `sizewell new --load` takes, with what they count behind them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from sizewell.sizing.errors import UsageError

# What people write behind a load, each as what `--load` counts.
_COUNTS: Final[Mapping[str, str]] = {
    "chat": "rps|requests|messages", "rag": "rps|requests|questions", "embed": "rps|texts|requests",
    "image": "images|pictures|rps|requests", "transcribe": "half minutes", "finetune": "examples|samples|rows|pairs",
    "pretrain": "tokens", "batch": "records|rows|documents|prompts|images|texts", "notebook": "",
}  # fmt: skip
_MINUTE_S, _HOUR_S, _DAY_S, _HEARD_S = 60, 3600, 86_400, 30
_LENGTHS: Final = re.compile(r"(?m)^  (?:(?:in|out)put_tokens|(?:output_)?tokens_per_record|sequence_length): (\d+)")
_AT_ONCE: Final = re.compile(
    r"(?:concurrent|simultaneous|parallel|live) ?([a-z ]*)|([a-z]+) (?:online|at once|at (?:the same|a|one) time|"
    r"in parallel|concurrently|simultaneously)"
)

_PEOPLE: Final = re.compile(
    r"(?:(?P<every>daily|weekly|monthly|yearly) )?(?:(?:unique|active|registered|paying|new|returning|different) )*"
    r"(?:(?:end |web ?site )?users?|people|persons?|visitors?|customers?|clients?|employees?|students?|members?|"
    r"guests?|subscribers?|shoppers?|players?|patients?|readers?|developers?|colleagues|callers?|au)"
    r"(?:,? (?P<after>daily|weekly|monthly))?"
)
_USERS: Final = r"(?:users?\b|people)(?!.*(?:/|\b(?:per|an?|each|every)\b))"  # of no time that cannot be read
_ACTIVE: Final = {"d": "daily", "w": "weekly", "m": "monthly"}
_EVERY: Final = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year"}


def counted_load(workload: str, stated: str, counts: str = "", template: str = "") -> str:
    """The amount that `--load` takes, of one with what it counts behind it; with its key where that is another one.

    UsageError where it counts another thing; `counts` says what it should, `template` is the spec to be written.

    >>> counted_load("finetune", "5k examples"), counted_load("batch", "10k per night")
    ('5k', '10k')
    >>> counted_load("batch", "50 thousand"), counted_load("pretrain", "1.5 trillion tokens")
    ('50k', '1.5T')
    >>> counted_load("chat", "50k a day"), counted_load("chat", "600/min")
    ('50k/d', '600/min')
    >>> counted_load("chat", "50 concurrent users"), counted_load("transcribe", "40 live streams")
    ('concurrent_users: 50', '1.33')
    >>> counted_load("notebook", "2 x L4"), counted_load("notebook", "A100-80GB"), counted_load("notebook", "24GB")
    ('accelerators: {L4: 2}', 'accelerators: {A100-80GB: 1}', '24GB')
    """
    stated = stated.strip()
    if workload == "notebook":
        return _device(stated)
    if at_once := _waiting(workload, stated):
        return at_once
    return _in_a_time(workload, stated, counts, template)


def _device(stated: str) -> str:
    """A GPU by its name, with how many of it."""
    from sizewell.sizing.catalog import load
    from sizewell.sizing.units import counted

    name, number = counted(re.sub(r"^(\d+) ?(?:[x*×] ?)?(?=[A-Za-z])", r"\1x ", stated))
    known = load().accelerators_named(name)
    return f"accelerators: {{{name}: {number or 1}}}" if known else stated


def _waiting(workload: str, stated: str) -> str:
    """Those who wait for an answer, or are heard, at the same time."""
    from sizewell.sizing.units import amount, show_count

    number, rest = amount(stated)
    if not number or number != int(number) or _AT_ONCE.fullmatch(rest.lower()) is None:
        return ""
    if workload == "transcribe":
        return f"{int(number) / _HEARD_S:.3g}"
    return f"concurrent_users: {show_count(int(number))}" if workload in ("chat", "rag", "embed", "image") else ""


def _in_a_time(workload: str, stated: str, counts: str, template: str) -> str:
    """So many of what is counted, or so many in a time."""
    from sizewell.sizing.units import UnitError, amount, count, rate_parts, show_count
    from sizewell.sizing.workload.loads import rate_meant

    number, things, seconds = rate_parts(stated)
    serves = workload in ("chat", "rag", "embed", "image", "transcribe")
    if serves and (fix := _of_people(workload, number, things, seconds)):
        raise UsageError(f"new: --load counts {counts}, got {stated!r}\n  fix: {stated} {fix}")
    if workload == "transcribe" and (fix := _of_recordings(number, things, seconds)):
        raise UsageError(f"new: --load counts {counts}, got {stated!r}\n  fix: {fix}")
    own = things == "" or re.fullmatch(rf"(?:{_COUNTS[workload]})", things.lower())
    if own and serves and seconds and not re.fullmatch(r"\S+", stated):
        return rate_meant(stated, {}).removeprefix("write ") or stated
    figures = re.match(r"\d[\d,.]*[kMBT]?(?![A-Za-z])", stated)
    if own and not seconds and number == int(number) and amount(figures[0] if figures else "")[0] != number:
        return show_count(int(number)) if number else stated
    match = re.match(r"\d[\d,.]*[kMBT]?(?![A-Za-z]*/)", stated)
    unit = stated[match.end() :].strip().lower() if match else ""
    if match is None or not unit:
        return stated
    every = "second" if serves else "night"
    bare = re.sub(rf" ?(?:(?:a|per|each) {every}|/ ?{every[0]}|nightly)$", "", unit)
    if bare == "" or re.fullmatch(rf"(?:{_COUNTS[workload]})", bare):
        return match[0]
    try:
        whole = count(match[0])
    except UnitError:
        return stated
    if every == "second" and (_PEOPLE.fullmatch(unit) or re.match(_USERS, unit)):
        share = whole / _MINUTE_S
        fix = f"who ask once a minute each are --load {share:.3g}; "
        fix += f"those who wait at the same time: --load '{whole:g} concurrent users'"
    elif workload == "transcribe" and (heard := re.match(r"(h|hours?|m|min|minutes?)\b", unit)):
        of_audio = whole * (3600 if heard[1][0] == "h" else 60)
        every_s = seconds or _DAY_S
        fix = f"{'' if seconds else 'of audio a day '}are --load {of_audio / _HEARD_S / every_s:.3g}"
    elif workload != "pretrain" and re.match(r"(?:t|tok(?:en)?s?)\b|tps|tpm", unit):
        each = sum(int(number) for number in _LENGTHS.findall(template))
        if not each:
            return stated
        fix = _of_tokens(each, whole, unit, seconds if serves else None)
    else:
        return stated
    raise UsageError(f"new: --load counts {counts}, got {stated!r}\n  fix: {stated} {fix}")


_RECORDING_S: Final = 360  # a round number to begin with
_RECORDINGS: Final = re.compile(
    r"(?:phone )?(calls?|recordings?|files?|videos?|meetings?|interviews?|episodes?|podcasts?|clips?|lectures?|"
    r"sessions?)(?: (?:of|with|à) (.+?)(?: each)?)?"
)


def _of_recordings(number: Decimal, things: str, seconds: float) -> str:
    """The load of so many recordings in a day or another time, as the half minutes of them; "" where it is none.

    >>> _of_recordings(Decimal(500), "calls of 8 minutes", 86_400.0)
    '500 calls of 8m each are --load 8000/d'
    >>> _of_recordings(Decimal(500), "calls", 86_400.0)
    '500 calls of 6m each (say how long yours are) are --load 6000/d'
    """
    from sizewell.sizing.units import show_duration
    from sizewell.sizing.workload.load_words import length_s

    named = _RECORDINGS.fullmatch(things.lower())
    if named is None or not number or not seconds:
        return ""
    each = length_s(named[2]) if named[2] else 0.0
    asked = "" if each else " (say how long yours are)"
    of_a_day = float(number) * (each or _RECORDING_S) / _HEARD_S * _DAY_S / seconds
    each_of = show_duration(each or _RECORDING_S)
    return f"{number:,.0f} {named[1]} of {each_of} each{asked} are --load {of_a_day:.0f}/d"


def _of_people(workload: str, number: Decimal, things: str, seconds: float) -> str:
    """The load of so many people in a day or another time, who are not all there at once; "" where it is none.

    >>> _of_people("chat", Decimal(5000), "users", 86_400.0)
    'are --load 50k/d, if each asks 10 times a day; or what all of them ask together'
    >>> _of_people("chat", Decimal(300), "DAU", 0.0).partition(",")[0], _of_people("chat", Decimal(9), "users", 0.0)
    ('are --load 3k/d', '')
    """
    from sizewell.sizing.units import period_s
    from sizewell.sizing.workload.load_things import ASKED_A_DAY
    from sizewell.sizing.workload.loads import load_meant

    named = re.sub(r"^([dwm])au$", lambda found: f"{_ACTIVE[found[1]]} au", things.lower())
    people = _PEOPLE.fullmatch(named)
    if people is None:
        return ""
    word = people["every"] or people["after"] or ""
    seconds = period_s(_EVERY[word]) if word else seconds
    if not seconds or not number:
        return ""
    if workload == "transcribe":
        return (
            f"are --load {float(number) * _MINUTE_S / _HEARD_S / seconds:.3g}, if each speaks for a minute in that time"
        )
    if seconds < _DAY_S:
        asked, time = (ASKED_A_DAY, "times an hour") if seconds >= _HOUR_S else (1, "time")
        load = number * asked * (_HOUR_S if seconds >= _HOUR_S else _MINUTE_S) / Decimal(seconds)
        return f"are --load {load:.0f}/{'h' if seconds >= _HOUR_S else 'min'}, if each asks {asked} {time}"
    period = next(name for name in ("day", "week", "month", "quarter", "year") if period_s(name) == seconds)
    rate = load_meant("traffic", f"users_per_{period}", float(number), {})
    return f"are --load {rate.removeprefix('write rps: ')}"


def _of_tokens(each: int, whole: int, unit: str, seconds: float | None) -> str:
    """The load of so many tokens, by those of one request or record of the spec that is written."""
    from sizewell.sizing.units import show_count

    if seconds is None:
        return f"of {each:,} each are --load {show_count(max(round(whole / each), 1))}"
    a_second = whole / (seconds or (_MINUTE_S if unit.startswith("tpm") else 1))
    rate = f"of {each:,} a request are --load {a_second / each:.3g}"
    return f"{rate}; if they are transactions: --load {whole:g}" if unit.startswith("tps") else rate
