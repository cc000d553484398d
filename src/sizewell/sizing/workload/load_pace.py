"""How often people ask and batches run, as people say it: a line every 20 s, a pause of 15 s, twice a week."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sizewell.sizing.units import period_s, show_duration
from sizewell.sizing.workload.load_words import length_s, number_of

_UNIT: Final = r"(?:ms|milliseconds|s|secs?|seconds?|m|mins?|minutes?|h|hours?)"
_WAITS: Final = (
    r"(?:think|thinking|pause|pauses|wait|waiting|gap|idle|reading|delay|sleep|break)(?:_?times?)?"
    r"(?:_(?:between|after|before|per|of)_[a-z_]+)?|(?:time|interval|duration)_between_[a-z_]+|"
    r"(?:[a-z]+_)*(?:every|interval|cadence|spacing)(?:_[a-z]+)?"
)
_INTERVAL: Final = re.compile(rf"(?:avg_|average_|mean_|typical_)?(?:{_WAITS})")
_COUNTED: Final = re.compile(rf"(?:(?P<before>{_UNIT})_between_[a-z_]+|(?:[a-z]+_)+(?:in_)?(?P<after>{_UNIT}))")


def interval_s(key: str, value: object) -> float:
    """Seconds from one request of a person to the next one, by the words of a key; 0 where it says none.

    >>> [interval_s(*each) for each in (("line_every", "20s"), ("seconds_between_requests", 5), ("pause", "15 s"))]
    [20.0, 5.0, 15.0]
    >>> interval_s("question_interval_minutes", 2), interval_s("input_tokens", 5), interval_s("every", "often")
    (120.0, 0.0, 0.0)
    """
    unit = _COUNTED.fullmatch(key)
    number = None if re.fullmatch(rf"[\d.]+ *{_UNIT}", str(value)) else number_of(value)  # 2m are minutes, not millions
    if unit and unit["before"]:
        return (number or 0.0) * period_s(unit["before"]) if number else length_s(value)
    plain = key.removesuffix(f"_{unit['after']}").removesuffix("_in") if unit else key
    if not _INTERVAL.fullmatch(plain):
        return 0.0
    if number:  # without its unit it says nothing, unless the key has it
        return number * period_s(unit["after"]) if unit else 0.0
    return length_s(re.sub(r"^(?:every|each|once (?:every|an?|per)) ", "", str(value).strip()))


_OFTEN: Final = re.compile(
    r"repeats?|repeated|repeat_every|repetition|frequency|cadence|interval|recurrence|recurring|how_often|run_every|"
    r"runs?|schedule|period|periodicity|freq|every_time|refresh"
)
_RUNS: Final = re.compile(r"(?:(?:runs?|times|jobs|batches|executions|repeats)_)?(?:per|a|each)_([a-z]+)")
_ADVERBS: Final = {
    **dict.fromkeys(("hourly", "hour"), 3600.0), **dict.fromkeys(("daily", "nightly", "day", "night"), 86_400.0),
    **dict.fromkeys(("weekly", "week"), 604_800.0),
    **dict.fromkeys(("fortnightly", "biweekly", "bi-weekly", "fortnight", "other week", "second week"), 1_209_600.0),
    **dict.fromkeys(("other day", "second day"), 172_800.0),
    **dict.fromkeys(("monthly", "month"), period_s("month")),
    **dict.fromkeys(("quarterly", "quarter"), period_s("quarter")),
    **dict.fromkeys(("yearly", "annually", "annual", "year"), period_s("year")),
}  # fmt: skip
_TIMES: Final = {"once": 1, "twice": 2, "thrice": 3, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def often_s(value: object) -> float:
    """Seconds from one run of a batch to the next one, as people say it; 0 for what says none.

    >>> [often_s(each) / 86_400 for each in ("quarterly", "twice a week", "every 3 days", "4 times per month")]
    [91.0, 3.5, 3.0, 7.5]
    >>> often_s("once a day"), often_s("every other week") / 86_400, often_s("often"), often_s("0 2 * * *")
    (86400.0, 14.0, 0.0, 86400.0)
    """
    text = re.sub(r"\s+", " ", str(value).strip().lower().replace("_", " "))
    if several := re.fullmatch(
        rf"(\d+|{'|'.join(_TIMES)})(?: ?x| times?| runs?)?(?: ?/ ?|,? (?:an?|per|each|every) | )([a-z]+)", text
    ):
        number = _TIMES.get(several[1]) or number_of(several[1]) or 0
        period = _ADVERBS.get(several[2]) or (period_s(several[2]) if len(several[2]) > 1 else 0.0)
        counted = several[1] in _TIMES or not re.fullmatch(r"\d+ \w+", text)
        if number and period and counted:
            return period / number
    plain = re.sub(r"^(?:every|each|on|once (?:every|an?|per)|an?) ", "", text)
    if re.fullmatch(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?", plain):
        return _ADVERBS["week"]
    if cron := re.fullmatch(r"\d+ \d+ (\d+|\*) \* (\d|[a-z]{3}|\*)", plain):  # at one time of a day
        return _ADVERBS["week" if cron[2] != "*" else "month" if cron[1] != "*" else "day"]
    return _ADVERBS.get(plain, 0.0) or length_s(plain)


def every_of(section: Mapping[str, object]) -> dict[str, str]:
    """How often a batch is run, under a name of somebody's own.

    >>> every_of({"repeat": "quarterly"}), every_of({"runs_per_month": 4}), every_of({"frequency": "twice a week"})
    ({'repeat': 'write every: 91d'}, {'runs_per_month': 'write every: 7d12h'}, {'frequency': 'write every: 3d12h'})
    >>> every_of({"runs": 4}), every_of({"every": "1d", "cadence": "daily"})
    ({}, {'cadence': 'leave it out: how often it runs stands in every: 1d'})
    """
    lines: dict[str, str] = {}
    for key, value in section.items():
        counted = _RUNS.fullmatch(key)
        period = period_s(counted[1]) if counted else 0.0
        number = number_of(value)
        seconds = period / number if period and number else 0.0
        if _OFTEN.fullmatch(key) and not number:
            seconds = often_s(value)
        if seconds >= 1:
            stated = section.get("every")
            lines[key] = (
                f"leave it out: how often it runs stands in every: {stated}"
                if stated is not None
                else f"write every: {show_duration(round(seconds))}"
            )
    return lines
