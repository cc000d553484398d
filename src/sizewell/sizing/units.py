"""Units as people write them, to base units and back: `3d`, `80GB`, `7B`, `1..4`, `10000 USD`, `70%`, `10k/h`.

Base units are seconds, bytes, plain counts, shares (0 to 1), US dollars and events per second. A figure without its
unit is refused where a unit matters: `deadline: 3` could be hours or days. A "GB" is 10^9 bytes, a "GiB" 2^30.
Each parser raises `UnitError` with what is allowed and, where it can be guessed, the way out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

NUMBER: Final = r"(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?|\.\d+"
DURATIONS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
SIZES: Final = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMGTP", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGTP", 1)},
}
COUNTS: Final = {"": 1, "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
AMOUNTS: Final = {
    "hundred": 10**2, "thousand": 10**3, "tsd": 10**3, "lakh": 10**5, "lac": 10**5, "crore": 10**7, "million": 10**6,
    "mio": 10**6, "mln": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9, "bln": 10**9, "mrd": 10**9,
    "trillion": 10**12, "tn": 10**12,
}  # fmt: skip
"""Words of numbers, in English as it is written in business and in India, and of neighbours in commerce."""
RATES: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0}

GIB: Final = 2**30
BYTES_FROM: Final = 1_000_000  # a bare number of a size is of bytes from here on, of gigabytes below

ALLOWED_DURATION: Final = "a duration with its unit: ms, s, m, h, d or w, such as 500ms, 45m, 1h30m or 3d"
ALLOWED_SIZE: Final = "a size with its unit: kB to PB (powers of 1000) or KiB to PiB (powers of 1024), such as 80GB"
ALLOWED_COUNT: Final = "a count: a whole number, or with k, M, B (10^9) or T, such as 4096, 50k, 7B"
ALLOWED_MONEY: Final = "an amount with its currency, such as 10000 USD"
ALLOWED_SHARE: Final = "a percentage with its sign, such as 70%"
ALLOWED_RATE: Final = "requests per second, a number or with its unit: 4, 4/s, 600/min, 10k/h"

_COUNT = re.compile(rf"({NUMBER})\s*([A-Za-z]*)")
_SIZE = re.compile(rf"({NUMBER})\s*([A-Za-z]+)")
_MONEY = re.compile(rf"({NUMBER})\s*([A-Za-z]{{3}})")
_RATE = re.compile(rf"({NUMBER})\s*([kM]?)\s*(?:/|\s+per\s+)\s*([A-Za-z]+)")
_PERCENT = re.compile(rf"({NUMBER})\s*%")
_DURATION = re.compile(rf"(?:({NUMBER})\s*([A-Za-z]+)\s*)+")
_DURATION_PART = re.compile(rf"({NUMBER})\s*([A-Za-z]+)")


class UnitError(ValueError):
    """A text is not a quantity of the kind wanted; `allowed` says what is, `fix` the way out where one is known."""

    def __init__(self, allowed: str, fix: str = "") -> None:
        self.allowed = allowed
        self.fix = fix
        super().__init__(f"must be {allowed}" + (f"; {fix}" if fix else ""))


def _number(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("_", ""))


def _text(value: object, allowed: str, fix: str = "") -> str:
    if isinstance(value, str) and 0 < len(value.strip()) <= 64:
        return value.strip()
    raise UnitError(allowed, fix)


def _finite(value: object, allowed: str) -> None:
    if isinstance(value, bool):
        raise UnitError(allowed)
    if isinstance(value, float) and not math.isfinite(value):
        raise UnitError(allowed, "write a finite number")
    if isinstance(value, int | float) and value < 0:
        raise UnitError(allowed, "a negative figure makes no sense here")


def duration_s(value: object) -> float:
    """Seconds of a duration; units add up, a bare number is refused.

    >>> duration_s("1h30m"), duration_s("500ms"), duration_s("3d")
    (5400.0, 0.5, 259200.0)
    """
    _finite(value, ALLOWED_DURATION)
    if isinstance(value, int | float):
        raise UnitError(ALLOWED_DURATION, f"write {value:g}s, {value:g}m, {value:g}h or {value:g}d")
    text = _text(value, ALLOWED_DURATION)
    if not _DURATION.fullmatch(text):
        raise UnitError(ALLOWED_DURATION, _bare_number(text, "s, m, h or d"))
    total = Decimal(0)
    for amount, unit in _DURATION_PART.findall(text):
        if unit not in DURATIONS:
            days = _DAYS.get(unit.rstrip("s"))
            meant = f"write {_number(amount) * days:f}d" if days else _other_unit(unit, DURATIONS, _DURATION_WORDS)
            raise UnitError(ALLOWED_DURATION, meant)
        total += _number(amount) * Decimal(str(DURATIONS[unit]))
    return float(total)


def size_bytes(value: object) -> int:
    """Bytes of a size, rounded to whole bytes.

    >>> size_bytes("80GB"), size_bytes("4.8 TiB"), size_bytes("12TB")
    (80000000000, 5277655813325, 12000000000000)
    """
    _finite(value, ALLOWED_SIZE)
    if isinstance(value, int | float):
        # Nobody means a million gigabytes: such a number counts bytes.
        way = show_size(int(value)) if value >= BYTES_FROM else f"{value:g}GB"
        raise UnitError(ALLOWED_SIZE, f"write {way}")
    text = _text(value, ALLOWED_SIZE)
    match = _SIZE.fullmatch(text)
    if not match:
        raise UnitError(ALLOWED_SIZE, _bare_number(text, "GB or GiB"))
    amount, unit = match.groups()
    unit = {"KB": "kB"}.get(unit, unit)
    if unit not in SIZES:
        guess = next((known for known in SIZES if known.lower() in (f"{unit}b".lower(), unit.lower())), "")
        raise UnitError(ALLOWED_SIZE, f"write {amount}{guess}" if guess else f"'{unit}' is not a unit of size")
    return int((_number(amount) * SIZES[unit]).to_integral_value())


def count(value: object) -> int:
    """A whole number; k, M, B and T are 10^3, 10^6, 10^9 and 10^12.

    >>> count("7B"), count("4M"), count("1.5k"), count(8192), count("10,000")
    (7000000000, 4000000, 1500, 8192, 10000)
    """
    _finite(value, ALLOWED_COUNT)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if value.is_integer():
            return int(value)
        raise UnitError(ALLOWED_COUNT, "write a whole number")
    text = _text(value, ALLOWED_COUNT)
    match = _COUNT.fullmatch(text)
    if not match:
        if text.startswith("-"):
            raise UnitError(ALLOWED_COUNT, "a negative figure makes no sense here")
        raise UnitError(ALLOWED_COUNT, _whole(text))
    figures, unit = match.groups()
    unit = {"K": "k", "m": "M", "b": "B", "t": "T"}.get(unit, unit)
    if unit not in COUNTS:
        if unit in SIZES or unit == "KB":
            raise UnitError(ALLOWED_COUNT, f"'{unit}' measures bytes; a count has no unit but k, M, B or T")
        raise UnitError(ALLOWED_COUNT, _whole(text) or f"'{unit}' is not one of k, M, B, T")
    exact = _number(figures) * COUNTS[unit]
    if exact != exact.to_integral_value():
        raise UnitError(ALLOWED_COUNT, "write a whole number")
    return int(exact)


def amount(text: str) -> tuple[Decimal, str]:
    """The number that a text begins with, in figures or also in words, and what is said behind it; 0 where none is.

    >>> amount("50 thousand"), amount("2.5 Mio records"), amount("3 lakh per month")
    ((Decimal('50000'), ''), (Decimal('2500000.0'), 'records'), (Decimal('300000'), 'per month'))
    >>> amount("1,5 billion tokens"), amount("8xH100"), amount("many")
    ((Decimal('1500000000.0'), 'tokens'), (Decimal('8'), 'xH100'), (Decimal('0'), 'many'))
    """
    plain = text.strip()
    if match := re.match(r"(\d+),(\d{1,2})(?![\d,])\s*", plain):  # a comma where other languages have the point
        number = Decimal(f"{match[1]}.{match[2]}")
    elif match := re.match(r"(\d{1,3}(?:[ '\u00a0\u202f\u2019]\d{3})+)(?!\d)\s*", plain):
        number = Decimal(re.sub(r"\D", "", match[1]))
    elif match := re.match(rf"({NUMBER})\s*", plain):
        number = _number(match[1])
    elif match := re.match(r"(half an?|an?|one)\s+(?=[a-z])", plain, re.IGNORECASE):
        number = Decimal("0.5") if match[1].lower().startswith("half") else Decimal(1)
    else:
        return Decimal(0), plain
    rest = plain[match.end() :]
    while word := re.match(r"([A-Za-z]+)\b\.?\s*(?:of\s+)?", rest):
        factor = AMOUNTS.get(word[1]) or AMOUNTS.get(word[1].lower().removesuffix("s")) if len(word[1]) > 1 else None
        factor = factor or {"K": 10**3, "m": 10**6, "b": 10**9, "t": 10**12, "G": 10**9, **COUNTS}.get(word[1])
        if factor is None:
            break
        number, rest = number * factor, rest[word.end() :]
    return number, rest


def _whole(text: str) -> str:
    """A whole number that is written otherwise, as it is read; "" where something else stands beside it."""
    number, rest = amount(text)
    return f"write {show_count(int(number))}" if not rest and number and number == int(number) else ""


def period_s(word: str) -> float:
    """The seconds of a period of time by its name; 0 for what is none.

    >>> period_s("hours"), period_s("min"), period_s("week"), period_s("month") / 86400, period_s("page")
    (3600.0, 60.0, 604800.0, 30.0, 0.0)
    """
    plain = word.lower()
    plain = plain.removesuffix("s") or plain
    unit = _DURATION_WORDS.get(plain, plain)
    return DURATIONS.get(unit) or _DAYS.get(plain, 0) * DURATIONS["d"]


def rate_parts(text: str) -> tuple[Decimal, str, float]:
    """A number of things in a period, the things, and the period's seconds; 0 seconds for what is no rate.

    >>> rate_parts("300k invoices per month")
    (Decimal('300000'), 'invoices', 2592000.0)
    >>> rate_parts("30 rpm")
    (Decimal('30'), 'requests', 60.0)
    >>> rate_parts("5 million/d"), rate_parts("20 thousand a day"), rate_parts("4 pages")
    ((Decimal('5000000'), '', 86400.0), (Decimal('20000'), '', 86400.0), (Decimal('4'), 'pages', 0.0))
    """
    number, rest = amount(text)
    match = re.fullmatch(r"(.*?)\s*(?:/|\b(?:per|an?|each|every|in an?)\s)\s*([A-Za-z]+)\.?", rest)
    if short := re.fullmatch(r"[rq]p([smhd])", rest, re.IGNORECASE):  # rpm, qph
        return number, "requests", period_s(short[1])
    seconds = period_s(match[2]) if match else 0.0
    return (number, match[1], seconds) if match and seconds else (number, rest, 0.0)


def money_usd(value: object) -> Decimal:
    """US dollars of an amount with its currency; the catalog's prices are in USD, so no other is accepted.

    >>> money_usd("10000 USD"), money_usd("9,100.50 USD")
    (Decimal('10000'), Decimal('9100.50'))
    """
    _finite(value, ALLOWED_MONEY)
    if isinstance(value, int | float):
        raise UnitError(ALLOWED_MONEY, f"write {value:g} USD")
    text = _text(value, ALLOWED_MONEY)
    match = _MONEY.fullmatch(text)
    if not match:
        number, rest = amount(text.removeprefix("USD").lstrip("$ "))
        dollars = number and rest.lower() in ("", "usd", "$", "dollar", "dollars", "us dollars")
        raise UnitError(ALLOWED_MONEY, f"write {number.normalize():f} USD" if dollars else "")
    figures, currency = match.groups()
    if currency != "USD":
        raise UnitError(ALLOWED_MONEY, f"prices are in USD; convert {currency} and write the amount in USD")
    try:
        return _number(figures)
    except InvalidOperation:
        raise UnitError(ALLOWED_MONEY) from None


def share(value: object) -> float:
    """A share, 0 to 1, of a percentage; a bare 0.7 is refused, since 1 could be 1 % or 100 %.

    >>> share("70%"), share("5 %")
    (0.7, 0.05)
    """
    _finite(value, ALLOWED_SHARE)
    if isinstance(value, int | float):
        raise UnitError(ALLOWED_SHARE, f"write {value * 100 if value < 1 else value:g}%")
    stated = _text(value, ALLOWED_SHARE)
    match = _PERCENT.fullmatch(stated.removeprefix("-"))
    if not match:
        raise UnitError(ALLOWED_SHARE)
    if stated.startswith("-"):
        raise UnitError("a percentage from 0% to 100%")
    percent = _number(match[1])
    if percent > 100:
        raise UnitError("a percentage from 0% to 100%")
    return float(percent / 100)


def rate_per_s(value: object) -> float:
    """Events per second; a bare number counts per second.

    >>> rate_per_s(4), rate_per_s("600/min"), rate_per_s("36k/h")
    (4.0, 10.0, 10.0)
    """
    _finite(value, ALLOWED_RATE)
    if isinstance(value, int | float):
        return float(value)
    text = _text(value, ALLOWED_RATE)
    if re.fullmatch(NUMBER, text):
        return float(_number(text))
    match = _RATE.fullmatch(text)
    if not match:
        raise UnitError(ALLOWED_RATE)
    amount, factor, per = match.groups()
    per = {"m": "min", "d": "day", "sec": "s", "second": "s", "minute": "min", "hour": "h"}.get(per, per)
    if per not in RATES:
        raise UnitError(ALLOWED_RATE, f"'{per}' is not one of {', '.join(RATES)}")
    return float(_number(amount) * COUNTS[factor]) / RATES[per]


@dataclass(frozen=True, slots=True)
class Range:
    """Both ends are inclusive; `high` None means "no upper end"."""

    low: int
    high: int | None

    def __contains__(self, value: float) -> bool:
        return self.low <= value and (self.high is None or value <= self.high)


def _range(value: object, parse: Callable[[object], int], allowed: str, floor: int) -> Range:
    if isinstance(value, str) and ".." in value:
        left, _, right = value.partition("..")
        if not left.strip() and not right.strip():
            raise UnitError(allowed)
        try:
            low = parse(left) if left.strip() else floor
            high = parse(right) if right.strip() else None
        except UnitError as error:
            raise UnitError(allowed, error.fix) from None
        if high is not None and low > high:
            raise UnitError(allowed, f"the ends are reversed: write {right.strip()}..{left.strip()}")
        return Range(low, high)
    try:
        exact = parse(value)
    except UnitError as error:
        raise UnitError(allowed, error.fix) from None
    return Range(exact, exact)


def count_range(value: object) -> Range:
    """A range of counts from 1 up; one number means exactly that many.

    >>> count_range("1..8"), count_range("4.."), count_range(2)
    (Range(low=1, high=8), Range(low=4, high=None), Range(low=2, high=2))
    """
    allowed = "a count or a range of counts from 1 up, such as 4, 1..8 or 2.."
    counts = _range(value, count, allowed, 1)
    if counts.low < 1:
        raise UnitError(allowed)
    return counts


def size_range(value: object) -> Range:
    """A range of sizes in bytes; one size means "at least that much".

    >>> size_range("24GB.."), size_range("80GB")
    (Range(low=24000000000, high=None), Range(low=80000000000, high=None))
    """
    sizes = _range(value, size_bytes, "a size or a range of sizes, such as 80GB, 24GB.. or 24GB..80GB", 0)
    open_ended = isinstance(value, str) and ".." not in value
    return Range(sizes.low, None if open_ended else sizes.high)


_DURATION_WORDS = {
    "sec": "s", "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "hr": "h",
    "hrs": "h", "hour": "h", "hours": "h", "day": "d", "days": "d", "week": "w", "weeks": "w", "H": "h", "D": "d",
    "S": "s", "W": "w",
}  # fmt: skip
_DAYS = {  # periods that no unit is read for
    "night": 1, "fortnight": 14, "month": 30, "mo": 30, "mth": 30, "quarter": 91, "y": 365, "yr": 365, "year": 365,
}  # fmt: skip


def _bare_number(text: str, units: str, *, space: str = "") -> str:
    return f"add the unit: {text}{space}{units}" if re.fullmatch(NUMBER, text) else ""


def _other_unit(unit: str, units: dict[str, float], words: dict[str, str]) -> str:
    guess = words.get(unit)
    known = ", ".join(units)
    return f"write '{guess}' for '{unit}'" if guess else f"'{unit}' is not one of {known}"


# Printing. The `show_*` forms are exact and read back to the same figure; the `short_*` forms round for a table.


def show_duration(seconds: float) -> str:
    """The exact form, whole milliseconds at best.

    >>> show_duration(5400), show_duration(0.5), show_duration(259200), show_duration(0)
    ('1h30m', '500ms', '3d', '0s')
    """
    rest = round(seconds * 1000)
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts) or "0s"


def show_size(size: int) -> str:
    """The shortest exact form, of decimal and binary units.

    >>> show_size(80_000_000_000), show_size(85_899_345_920), show_size(1537)
    ('80GB', '80GiB', '1537B')
    """
    forms = [f"{size}B"]
    for unit, factor in SIZES.items():
        if size >= factor > 1:
            text = f"{(Decimal(size) / factor).normalize():f}{unit}"
            forms += [text] if size_bytes(text) == size else []
    return min(forms, key=len)


def show_count(number: int) -> str:
    """The shortest exact form.

    >>> show_count(7_000_000_000), show_count(8192), show_count(50_000), show_count(1_500_000_000)
    ('7B', '8192', '50k', '1.5B')
    """
    best = str(number)
    for unit, factor in COUNTS.items():
        if factor > 1 and number >= factor:
            text = f"{(Decimal(number) / factor).normalize():f}{unit}"
            best = text if len(text) < len(best) else best
    return best


def show_money(amount: Decimal) -> str:
    """The exact form.

    >>> show_money(Decimal("10000")), show_money(Decimal("9100.50"))
    ('10000 USD', '9100.50 USD')
    """
    return f"{amount:f} USD"


def show_share(value: float) -> str:
    """The exact form, a percentage.

    >>> show_share(0.7), show_share(0.055)
    ('70%', '5.5%')
    """
    return f"{(Decimal(str(value)) * 100).normalize():f}%"


def show_range(low: int, high: int | None, *, sizes: bool = False) -> str:
    """The exact form, both ends.

    >>> show_range(1, 8), show_range(24_000_000_000, None, sizes=True)
    ('1..8', '24GB..')
    """
    show = show_size if sizes else show_count
    return f"{show(low)}.." + ("" if high is None else show(high))


_DURATIONS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def short_duration(seconds: float) -> str:
    """At most three digits of the unit that fits, for a table.

    >>> short_duration(0.0123), short_duration(95), short_duration(5000), short_duration(260000)
    ('12.3 ms', '1.58 min', '1.39 h', '3.01 d')
    """
    for unit, size in _DURATIONS:
        if seconds >= size:
            return f"{_three(seconds / size)} {unit}"
    return f"{_three(seconds * 1000)} ms"


def distinct_figures(value: float, limit: float, digits: int = 0) -> tuple[str, str]:
    """Two figures of which one is beyond the other, with so many decimals (at least `digits`) that a reader sees it.

    >>> distinct_figures(60.2, 60.0), distinct_figures(8698.4, 2000.0), distinct_figures(36.24, 36.21, 1)
    (('60.2', '60.0'), ('8698', '2000'), ('36.24', '36.21'))
    """
    for places in range(digits, digits + 3):
        texts = f"{value:.{places}f}", f"{limit:.{places}f}"
        if value == limit or texts[0] != texts[1]:
            break
    return texts


def durations_apart(value_s: float, limit_s: float) -> tuple[str, str]:
    """Two durations of which one is beyond the other, both in the unit that fits the second.

    >>> durations_apart(795_600, 604_800), durations_apart(7250, 7200)
    (('9.2 d', '7.0 d'), ('2.01 h', '2.00 h'))
    """
    unit, size = next((pair for pair in _DURATIONS if limit_s >= pair[1]), _DURATIONS[-1])
    value, limit = distinct_figures(value_s / size, limit_s / size, 1)
    return f"{value} {unit}", f"{limit} {unit}"


def gib(size: float) -> float:
    """Bytes as GiB, for a reader.

    >>> gib(85_899_345_920)
    80.0
    """
    return size / 2**30


def short_number(value: float) -> str:
    """Three significant digits, with k, M, B, T.

    >>> short_number(1234567), short_number(42), short_number(0.5)
    ('1.23M', '42', '0.5')
    """
    for unit, factor in reversed(COUNTS.items()):
        if factor > 1 and abs(value) >= factor:
            return f"{_three(value / factor)}{unit}"
    return _three(value)


def _three(value: float) -> str:
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e" in text else text


def plural(number: int, word: str) -> str:
    """A count and its word.

    >>> plural(1, "policy"), plural(2, "policy"), plural(0, "day")
    ('1 policy', '2 policies', '0 days')
    """
    if number == 1:
        return f"1 {word}"
    many = f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeou" else f"{word}s"
    return f"{number:,} {many}"


def counted(text: str) -> tuple[str, int]:
    """A thing and how many of it, as people write that; 0 where no number stands before or behind it.

    >>> [counted(text) for text in ("8 x H100", "8xH100", "64 H100", "h100:8", "H100 x8", "h100x8")]
    [('H100', 8), ('H100', 8), ('H100', 64), ('h100', 8), ('H100', 8), ('h100', 8)]
    >>> counted("rtx4090"), counted("A100 80"), counted("mi300x")
    (('rtx4090', 0), ('A100 80', 0), ('mi300x', 0))
    """
    for mark in (":", "*", "x", "X", " "):
        before, _, thing = text.partition(mark)
        if before.strip().isdigit() and thing.strip():
            return thing.strip(), int(before)
        thing, _, behind = text.rpartition(mark)
        # The x of a name is no sign: what is counted has a number of its own before it.
        named = mark in ":*" or (mark != " " and any(character.isdigit() for character in thing))
        if named and thing.strip() and behind.strip().isdigit():
            return thing.strip(), int(behind)
    return text, 0
