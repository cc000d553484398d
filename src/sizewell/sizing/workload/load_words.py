"""The words of a load that say what is measured: texts that a model reads or writes, their sizes, and amounts.

Everything that says whether a text is read or written asks `text_of`, whatever form the key has: answer_words,
words_per_answer, answer_length, or the answer alone with its number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Final

from sizewell.sizing.units import NUMBER, UnitError, amount, count, duration_s, period_s


class Text(Enum):
    """Which side of a model a text is on, by what it is called."""

    READ = "read"
    WRITTEN = "written"
    THOUGHT = "thought"  # written, beside the answer
    ANSWER = "answer"  # written by whoever is asked
    OFTEN_WRITTEN = "often written"  # for somebody, where something else is read


_TEXTS: Final[Mapping[Text, str]] = {
    Text.READ: "input prompt context source original instruction history background",
    Text.WRITTEN: "output generated generation written decode decoded translated target produced assistant "
    "assistant_message assistant_reply assistant_turn bot_message bot_reply",
    Text.THOUGHT: "reasoning thinking thought thoughts cot chain_of_thought",
    Text.ANSWER: "completion answer response reply",
    Text.OFTEN_WRITTEN: "summary report translation caption verdict description explanation rationale draft abstract "
    "headline rewrite conclusion diagnosis assessment suggestion recommendation extract extraction label",
}  # fmt: skip
_SIDES: Final = {word: side for side, words in _TEXTS.items() for word in words.split()}
# Those that say it without a size, too: response: 80.
_ALONE: Final = frozenset({
    "prompt", "context", "input", "output", "completion", "answer", "response", "reply", "reasoning", "thinking",
})  # fmt: skip
SIDES: Final = ("input", "output")  # as a spec calls them
_LIMIT: Final = ("max", "min")  # how much is allowed says nothing of how much there is
SIZES: Final = {"tokens": "tokens", "token": "tokens", "tok": "tokens", "words": "words", "word": "words",
                "characters": "characters", "character": "characters", "chars": "characters", "pages": "pages",
                "page": "pages"}  # fmt: skip
# Tokens of what texts are counted in: English in the usual vocabularies, a page of 500 words (estimates); the residues
# of a protein and the bases of a genome are a token each.
TEXT: Final = {
    "words": (Fraction(4, 3), "4 tokens for 3 words"), "pages": (Fraction(2000, 3), "a page of 500 words"),
    "characters": (Fraction(1, 4), "a token for 4 characters"), "chars": (Fraction(1, 4), "a token for 4 characters"),
    "residues": (Fraction(1), ""), "amino_acids": (Fraction(1), ""), "bases": (Fraction(1), ""),
}  # fmt: skip
COUNTED: Final = ("tokens", *TEXT)


def text_of(name: str) -> Text | None:
    """The side of a text by the last words of its name; None for what says none, or a limit.

    >>> [side and side.value for side in map(text_of, ("short_summary", "chain_of_thought", "prompt", "outputs"))]
    ['often written', 'thought', 'read', 'written']
    >>> text_of("max_output"), text_of("ticket"), text_of("prompts")
    (None, None, None)
    """
    words = name.split("_")
    if words[0] in _LIMIT:
        return None
    last = words[-1] if words[-1] != "text" else "_".join(words[-2:-1])
    side = _SIDES.get("_".join(words[-3:])) or _SIDES.get(last)
    return side or (Text.WRITTEN if last == "outputs" else None)


def is_thought(key: str) -> bool:
    """Whether a key is of what a model writes before its answer."""
    words = key.split("_")
    return any(_SIDES.get(word) is Text.THOUGHT for word in words) or "chain_of_thought" in key


def of_text(what: str) -> tuple[str, str]:
    """What is counted of a text, and the side that its name states: input or output, or neither.

    >>> of_text("output_words"), of_text("words"), of_text("tokens_of")
    (('words', 'output'), ('words', ''), ('', ''))
    """
    side, _, size = what.rpartition("_")
    whole = what if what in COUNTED else size
    return (whole, side if whole != what else "") if whole in COUNTED and (whole == what or side in SIDES) else ("", "")


def in_unit(name: str, value: object) -> tuple[str, object]:
    """A key and its value with the unit in the key, where the value or what a length is of says which.

    >>> in_unit("caption_length", "120 tokens"), in_unit("answer", "300 words"), in_unit("response", 80)
    (('caption_tokens', '120'), ('answer_words', '300'), ('response_tokens', 80))
    >>> in_unit("call_length", "6m"), in_unit("words_per_email", "300 words"), in_unit("answer_words", 90)
    (('call_length', '6m'), ('words_per_email', '300'), ('answer_words', 90))
    """
    name = re.sub(
        rf"^({'|'.join(SIZES)})_(in|out)$", r"\2put_\1", re.sub(rf"^(in|out)_({'|'.join(SIZES)})$", r"\1put_\2", name)
    )
    of = re.sub(r"_(?:length|len|size)$", "", name)
    number, unit = amount(value) if isinstance(value, str) else (0, "")
    size = SIZES.get(unit.lower())
    if number and size:
        plain = str(value).strip().removesuffix(unit).strip()
        named = set(re.split(r"_", name)) & SIZES.keys()
        return (name if named else f"{of}_{size}"), plain
    alone = of in _ALONE or ("_per_" not in of and of.rpartition("_")[2] in _ALONE and text_of(of) is Text.READ)
    if (alone or of != name) and text_of(of) and number_of(value):
        return f"{of}_tokens", value
    return name, value


def number_of(value: object) -> float | None:
    """The number that a value is, also in words; None for what is none, or no load."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = value if isinstance(value, float) else count(value)
    except UnitError:
        figures, rest = amount(str(value)) if isinstance(value, str) else (0, "")
        number = float(figures) if not rest else 0.0
    return number if 0 < number < math.inf else None


def length_s(value: object) -> float:
    """Seconds of a length as people write it; 0 for what is none.

    >>> length_s("6m30s"), length_s("6:30"), length_s("4min 30s"), length_s("1 hour and 5 minutes"), length_s("long")
    (390.0, 390.0, 270.0, 3900.0, 0.0)
    """
    text = str(value).strip()
    if clock := re.fullmatch(r"(?:(\d+):)?(\d+):([0-5]\d)", text):
        return int(clock[1] or 0) * 3600.0 + int(clock[2]) * 60.0 + int(clock[3])
    try:
        return duration_s(value)
    except UnitError:
        pass
    parts = re.findall(_LENGTH_PART, text)
    if parts and not re.sub(rf"{_LENGTH_PART}|,|\band\b|\s|\.", "", text):
        return math.fsum(float(number) * period_s(unit) for number, unit in parts if period_s(unit))
    number, unit = amount(text)  # also in words
    return float(number) * period_s(unit.strip())


_LENGTH_PART: Final = rf"({NUMBER})\s*([A-Za-z]+)"
