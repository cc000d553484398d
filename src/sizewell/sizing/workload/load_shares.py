"""Shares of people, of a day and of what was recorded: 60 % of 200 agents, three times the mean, 150 words a minute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sizewell.sizing.workload.daily import PEAK_MAX
from sizewell.sizing.workload.load_keys import THINGS, measures, part_of, singular
from sizewell.sizing.workload.load_words import number_of

_AT_ONCE: Final = (
    r"online|on_(?:a_|the_)?(?:call|phone|line)s?|talking|calling|at_once|at_the_same_time|concurrent|concurrency|"
    r"concurrently|simultaneous|simultaneously|connected|logged_in|busy|occupancy|utili[sz]ation|in_use|live|present"
)
_OF_ALL: Final = r"active|activity|adoption|participation|using|usage|penetration|engaged|who_use|awake|working"
_SHARE: Final = re.compile(rf"(?:[a-z_]+_)?(?:{_AT_ONCE}|{_OF_ALL})(?:_[a-z_]+)?")
# Words of shares of something else than people.
_OTHERS: Final = frozenset(
    [
        "cache",
        "cached",
        "prefix",
        "hit",
        "hits",
        "miss",
        "misses",
        "gpu",
        "gpus",
        "hbm",
        "mfu",
        "memory",
        "token",
        "tokens",
        "hour",
        "hours",
        "spot",
    ]
)
_ACTIVE: Final = r"(?:active|online|busy|concurrent|live|engaged)"


@dataclass(frozen=True, slots=True)
class Share:
    """So many of the people of a section, by a key of the share and one of all of them."""

    key: str
    people: str
    number: str
    said: str


def share_of(value: object) -> Fraction | None:
    """A share as it is written; None for what is none.

    >>> share_of("60%"), share_of(0.25), share_of("12 percent"), share_of(60), share_of("140%")
    (Fraction(3, 5), Fraction(1, 4), Fraction(3, 25), None, None)
    """
    text = str(value).strip()
    if match := re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:%|percent)", text):
        share = Fraction(match[1]) / 100
    elif re.fullmatch(r"0?\.\d+", text):
        share = Fraction(text)
    else:
        return None
    return share if 0 < share <= 1 else None


def share_of_people(section: Mapping[str, object]) -> Share | None:
    """The share of people who are meant, beside their number.

    >>> share_of_people({"agents": 200, "share_of_agents_on_a_call": "60%"}).number
    '120'
    >>> share_of_people({"input_tokens": 900, "cache_utilization": "60%"})
    """
    for key, value in section.items():
        share = share_of(value) if _SHARE.fullmatch(key) and not _OTHERS.intersection(key.split("_")) else None
        if share is None:
            continue
        for people, counted in section.items():
            part = part_of(people, counted)
            plain = part.number and not part.per and not part.period and not measures(part)
            of_people = people == "concurrent_users" or (part.what.endswith("s") and not THINGS.fullmatch(part.what))
            staff = re.fullmatch(r"(?:[a-z]+_)?(?:people|staff|workforce|headcount|team|team_size|audience)", people)
            if people == key or not plain or not (of_people or staff):
                continue
            number = Fraction(str(part.number)) * share
            shown = str(max(round(number), 1))
            return Share(key, people, shown, f"{float(share * 100):g} % of {part.number:,.0f}")
    return None


def of_share(section: Mapping[str, object], share: Share) -> tuple[dict[str, object], dict[str, str], str]:
    """The section with those people alone; how its keys were called before, and the key of the people in it."""
    rest: dict[str, object] = {}
    before: dict[str, str] = {}
    one = singular(share.people)
    of_each = False
    for key, value in section.items():
        if key in (share.key, share.people):
            continue
        plain = re.sub(rf"_per_{_ACTIVE}_(?=[a-z])", "_per_", key)
        before[plain] = key
        rest[plain] = value
        part = part_of(plain, value)
        of_each = of_each or part.per == one or bool(re.search(r"every|between|interval|pause|think", plain))
    people = share.people if of_each or share.people == "concurrent_users" else f"concurrent_{share.people}"
    return {**rest, people: int(share.number)}, before, people


_PEAK: Final = re.compile(
    r"(?:[a-z]+_)?(?:peak|burst|rush|busy_hour)_(?:factor|multiplier|ratio|multiple|load_factor|x)|"
    r"peak_(?:to|over|vs)_(?:average|mean|avg)(?:_ratio|_factor)?|load_factor|peakiness|peak"
)
_BUSY_HOUR: Final = re.compile(
    r"(?:busy|busiest|peak|rush)_hours?_(?:share|fraction|percent|percentage|ratio|traffic|load)|"
    r"(?:share|fraction|percent(?:age)?)_(?:of_[a-z]+_)?(?:of|in|at)_(?:the_)?(?:busy|busiest|peak|rush)_hour"
)


def peak_over_mean(section: Mapping[str, object], hours: float) -> dict[str, str]:
    """The busiest hour over the mean, as a multiple or as its share of a day of so many hours.

    >>> peak_over_mean({"peak_factor": 3}, 24), peak_over_mean({"busy_hour_share": "15%"}, 24)
    ({'peak_factor': 'write daily: 3'}, {'busy_hour_share': 'write daily: 3.6'})
    >>> peak_over_mean({"peak_to_average": "4x", "daily": 2}, 24), peak_over_mean({"peak": "9am"}, 24)
    ({'peak_to_average': 'leave it out: the busiest hour over the mean stands in daily'}, {})
    """
    lines: dict[str, str] = {}
    for key, value in section.items():
        ratio: float | None = None
        if _PEAK.fullmatch(key) and not isinstance(value, bool):
            match = re.fullmatch(r"(\d+(?:\.\d+)?) ?(x|times)?(?: the (?:mean|average))?", str(value).strip())
            ratio = float(match[1]) if match and (match[2] or key != "peak") else None
        elif _BUSY_HOUR.fullmatch(key) and (share := share_of(value)):
            ratio = float(share) * hours
        if ratio is None:
            continue
        if "daily" in section or lines:
            lines[key] = "leave it out: the busiest hour over the mean stands in daily"
        elif ratio <= 1:
            lines[key] = "leave it out: every hour is alike by default"
        elif ratio > PEAK_MAX:
            lines[key] = f"write daily: {PEAK_MAX:g}, the most that is read; or rps as it is at the peak"
        else:
            lines[key] = f"write daily: {ratio:.3g}"
    return lines


_SPOKEN: Final = re.compile(
    r"(?:wpm|(words|tokens|characters|chars)_(?:spoken_)?(?:per|a)_(second|minute|hour)(?:_[a-z_]+)?)"
)


def rate_of_speech(section: Mapping[str, object]) -> tuple[str, str, Fraction] | None:
    """The key of how fast people speak, what it counts, and how many of it a second has.

    >>> rate_of_speech({"words_per_minute": 150}), rate_of_speech({"words_per_email": 150})
    (('words_per_minute', 'words', Fraction(5, 2)), None)
    """
    seconds = {"second": 1, "minute": 60, "hour": 3600}
    for key, value in section.items():
        match, number = _SPOKEN.fullmatch(key), number_of(value)
        if match and number:
            return key, match[1] or "words", Fraction(str(number)) / seconds[match[2] or "minute"]
    return None


_OF_A_PAIR: Final = re.compile(
    r"(?:(?:max|avg|average|mean)_)?(prompt|chosen|rejected|preferred|dispreferred|accepted)_(?:tokens|length|len)(?:_max)?"
)


def pair_tokens(section: Mapping[str, object]) -> dict[str, str]:
    """The lengths of the parts of a pair as the sequence that a run reads: the prompt and the longer answer.

    >>> pair_tokens({"prompt_tokens": 300, "chosen_tokens": 500, "rejected_tokens": 450})["prompt_tokens"]
    'write sequence_length: 800 (the prompt and the longer answer)'
    """
    parts = {
        key: (match[1], number)
        for key, value in section.items()
        if (match := _OF_A_PAIR.fullmatch(key)) and (number := number_of(value))
    }
    answers = [number for part, number in parts.values() if part != "prompt"]
    if not answers:
        return {}
    whole = round(sum(number for part, number in parts.values() if part == "prompt") + max(answers))
    line = f"sequence_length: {section.get('sequence_length', whole)}"
    lines = dict.fromkeys(parts, f"leave it out: it is in {line}")
    if "sequence_length" not in section:
        lines[next(iter(parts))] = f"write {line} (the prompt and the longer answer)"
    return lines


_CORPUS: Final = re.compile(
    r"(?:(?:corpus|dataset|data|total|training|train|text|num|n|raw)_)*(words|characters|chars|pages)"
    r"(?:_(?:of_text|total|in_all|in_corpus))?"
)
_BYTES: Final = re.compile(
    r"(?:training_|train_|text_|raw_)?(?:corpus|data_?set|data|text|jsonl|files?)(?:_(?:size|volume|bytes))?"
)
_UNITS: Final = {"K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_IN_ALL: Final = 100_000  # fewer words are those of one text


def corpus_tokens(key: str, value: object) -> tuple[int, str]:
    """Tokens of a corpus by its words, characters or bytes, and how they were counted; 0 for another key.

    >>> corpus_tokens("corpus_words", "15B"), corpus_tokens("dataset_size", "1.2GB of jsonl")
    ((20000000000, '4 tokens for 3 words'), (300000000, 'a token for 4 bytes of text'))
    >>> corpus_tokens("words", 900), corpus_tokens("dataset", "s3://bucket/train")
    ((0, ''), (0, ''))
    """
    from sizewell.sizing.workload.load_words import TEXT

    match, number = _CORPUS.fullmatch(key), number_of(value)
    if match and number and number >= _IN_ALL:
        factor, said = TEXT[match[1]]
        return round(Fraction(str(number)) * factor), said
    size = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGTP])(i?)B(?: (?:of )?[\w. -]+)?", str(value).strip(), re.IGNORECASE)
    if size and _BYTES.fullmatch(key):
        base = 1024 ** (_UNITS[size[2].upper()] // 3) if size[3] else 10 ** _UNITS[size[2].upper()]
        return round(Fraction(size[1]) * base / 4), "a token for 4 bytes of text"
    return 0, ""
