"""Things in things of which a load is made, and which of them is one request or one record.

What is counted above that one is in the rate, what is counted below it is in the size, and nothing in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from sizewell.sizing.units import period_s
from sizewell.sizing.workload.load_keys import (
    AUDIO,
    PICTURES,
    READ_TOGETHER,
    THINGS,
    Known,
    Part,
    is_length,
    is_rate_of_frames,
    length_of,
    measures,
    seconds_of,
    singular,
)
from sizewell.sizing.workload.load_words import COUNTED, TEXT, number_of, of_text

IN_ALL: Final = 2_000_000  # more tokens than a model reads at once
HEARD_IN_ALL_S: Final = 12 * 3600  # longer than what is recorded in one piece
ASKED_A_DAY: Final = 10  # a round number to begin with


@dataclass(frozen=True, slots=True)
class Size:
    """How large a thing is: tokens that are read or written of it, its pictures, its seconds of audio."""

    part: Part
    of: str  # input, output, images or audio
    each: Fraction
    said: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Things in things, from that of which a rate or a number is known, down; the request or record among them."""

    chain: tuple[Part, ...]
    request: int
    sizes: tuple[Size, ...]

    @property
    def number(self) -> Fraction:
        """Requests or records, in the period of the chain; 0 where nothing says how many there are."""
        root = self.chain[0]
        if root.at_once:
            return exact(root.number)
        return product(part.number for part in self.chain[: self.request + 1])

    @property
    def period(self) -> str:
        return next((part.period for part in reversed(self.chain[: self.request + 1]) if part.period), "")

    def of_request(self, size: Size) -> Fraction:
        """The size of one request: of what it has several of times those, of what has several of it divided by them."""
        place = self.place(size)
        if place >= self.request:
            return size.each * product(part.number for part in self.chain[self.request + 1 : place + 1])
        return size.each / product(part.number for part in self.chain[place + 1 : self.request + 1])

    def place(self, size: Size) -> int:
        """Where in the chain the thing stands that a size is of; an unknown one is the request."""
        if size.part.period and not size.part.per:
            return 0  # all of it in a time, shared out among the things of that time
        timed = max((at for at, part in enumerate(self.chain) if part.period), default=0)
        other = timed if seconds_of(size.part) else self.request  # a length without a thing is of what comes in a time
        thing = size.part.per or (length_of(size.part) if seconds_of(size.part) else "")
        return next((at for at, part in enumerate(self.chain) if is_one(part, thing)), other)


def exact(number: float) -> Fraction:
    return Fraction(str(number))


def product(numbers: Iterable[float]) -> Fraction:
    whole = Fraction(1)
    for number in numbers:
        whole *= exact(number)
    return whole


def is_one(part: Part, thing: str) -> bool:
    """Whether a part counts a thing, named in the singular; few-shot examples are examples."""
    what = singular(part.what)
    return bool(thing) and (what == thing or (what.endswith(f"_{thing}") and not of_text(part.what)[0]))


def chain_of(root: Part, parts: list[Part], *, named: bool) -> tuple[Part, ...]:
    """The things of the root, the things of each of those, and so on.

    `named`: the root is the user's own word. What a spec calls requests or records is any thing that nothing else
    counts.
    """
    chain = [root]
    while True:
        below = [part for part in parts if part.per and part not in chain and _counts(part, parts)]
        next_ones = [part for part in below if is_one(chain[-1], part.per)]
        if not next_ones and len(chain) == 1 and not named:
            counted = {singular(part.what) for part in parts}
            next_ones = [part for part in below if part.per not in counted]
        if not next_ones:
            return tuple(chain)
        # Of several, the one that itself has parts, or that comes in a time.
        next_ones.sort(key=lambda part: (not part.period, not any(is_one(part, each.per) for each in parts)))
        chain.append(next_ones[0])


def _counts(part: Part, parts: list[Part]) -> bool:
    """Whether a part is so many of a thing: what says a size does so where it has sizes of its own."""
    if seconds_of(part) or not part.number:
        return False
    own = any(is_one(part, each.per) for each in parts)
    return own or not measures(part) or bool(part.period and PICTURES.fullmatch(part.what))


def sizes_of(root: Part, parts: list[Part], known: Known) -> tuple[Size, ...]:
    """What of the parts says a size, of which thing; bare ones are of the request, or of all of it where large."""
    sizes = [size for part in parts if part is not root and (size := _size(part, parts, known))]
    texts: dict[str, Size] = {}  # of which each is counted once: input_words beside input_characters are the same text
    for size in sizes:
        texts.setdefault(_text(size.part), size)
    once = [size if size in texts.values() else replace(size, each=Fraction(0), said="") for size in sizes]
    return tuple(_of_one(size, root) for size in once)


def _text(part: Part) -> str:
    """Of which text a part is a size, whatever it is counted in."""
    return "_".join(word for word in part.key.split("_") if word not in COUNTED)


def _size(part: Part, parts: list[Part], known: Known) -> Size | None:
    what = part.what
    if seconds := seconds_of(part):
        return Size(part, "audio", exact(seconds)) if known.hears or not known.kind else None
    if part.period and part.per:
        return None
    (of, side), own = of_text(what), any(is_one(part, each.per) for each in parts)
    if of == "tokens":
        return Size(part, side or "input", exact(part.number))
    if audio := AUDIO.fullmatch(what):
        heard = known.hears or (not known.kind and part.per != "video")
        return Size(part, "audio", exact(part.number) * int(period_s(audio[1]))) if heard else None
    made_of = known.kind == "diffusion" or (not known.kind and is_rate_of_frames(part) and any(map(is_length, parts)))
    if what == "frames" and made_of:
        return None  # of a video that a model makes
    read = any(is_one(part, each.per) and (_reads(each) or PICTURES.fullmatch(each.what)) for each in parts)
    if PICTURES.fullmatch(what) or (what == "pages" and known.sees and part.per and not read):
        return Size(part, "images", exact(part.number)) if part.per or part.period or not own else None
    if of and (side or (not own and (part.per or part.period))):  # else so many pages
        factor, said = TEXT[of]
        return Size(part, side or "input", exact(part.number) * factor, said)
    return None


def _reads(part: Part) -> bool:
    """Whether a part says how much text is read of a thing."""
    of, side = of_text(part.what)
    return bool(of) and side != "output"


def _of_one(size: Size, root: Part) -> Size:
    """A size that stands without its thing, of one: all tokens of a day shared out among the requests of a day."""
    part = size.part
    if part.per or not root.number:
        return size
    if part.period and root.period:
        share = Fraction(int(period_s(root.period)), int(period_s(part.period))) if period_s(part.period) >= 1 else 1
        return replace(size, each=size.each * share / exact(root.number))
    large = {"input": IN_ALL, "output": IN_ALL, "audio": HEARD_IN_ALL_S, "images": root.number - 1}[size.of]
    if size.each > large and not seconds_of(part) and not root.period and not root.at_once:
        return replace(size, part=replace(part, period="run"), each=size.each / exact(root.number))
    return size


def load_of(
    root: Part, parts: list[Part], known: Known, section: Mapping[str, object], *, named: bool = True, splits: bool
) -> Load:
    """The load of a section; `splits` says that a request is the smallest thing that is read on its own."""
    sizes = sizes_of(root, parts, known)
    chain = chain_of(root, parts, named=named)
    if root.what in ("users", "active_users") and root.period and len(chain) == 1:
        chain = (root, Part("", "requests", "user", number=ASKED_A_DAY))
    inside = {size.part.key for size in sizes if size.of == "images"}
    first = max((at for at, part in enumerate(chain) if part.period), default=0)
    people = len(chain) > 1 and not THINGS.fullmatch(root.what) and THINGS.fullmatch(chain[1].what)
    if not splits and not first and people and chain[1].what not in TEXT and chain[1].key not in inside:
        first = 1
    writes = _writes(section, sizes, known)
    request = first
    if splits:
        while request + 1 < len(chain) and not _together(chain[request + 1], inside, writes=writes):
            request += 1
    load = Load(chain, request, sizes)
    while request + 1 < len(chain) and chain[request + 1].key not in inside and _too_long(load, known):
        request += 1
        load = replace(load, request=request)
    for size in sizes:  # three pictures of a session of two turns are no whole number of a turn
        while first <= load.place(size) < load.request and not _whole(load.of_request(size), size):
            load = replace(load, request=load.request - 1)
    return load


def _together(part: Part, inside: Iterable[str], *, writes: bool) -> bool:
    """Whether a request has several of a thing, and is none of them."""
    return part.key in inside or part.what in TEXT or (writes and bool(READ_TOGETHER.fullmatch(part.what)))


def _writes(section: Mapping[str, object], sizes: tuple[Size, ...], known: Known) -> bool:
    stated = section.get("output_tokens", section.get("output_tokens_per_record"))
    if stated is not None:
        return stated != 0
    return known.kind == "decoder" or any(size.of == "output" for size in sizes)


def _too_long(load: Load, known: Known) -> bool:
    read = sum((load.of_request(size) for size in load.sizes if size.of == "input"), Fraction(0))
    return known.reads_at_most is not None and read > known.reads_at_most


def _whole(number: Fraction, size: Size) -> bool:
    """Whether a size can be written as it is, to the fiftieth part of it."""
    if size.of == "audio":
        return True
    return number.denominator == 1 if size.of == "images" else abs(round(number) - number) * 50 <= number


def tokens_each(load: Load, section: Mapping[str, object], homes: tuple[str, str]) -> tuple[float, float]:
    """Tokens that one request or record reads and writes, as stated or as the sizes say; 0 where nothing says it."""
    said = [
        sum((load.of_request(size) for size in load.sizes if size.of == of), Fraction(0)) for of in ("input", "output")
    ]
    stated = [number_of(section.get(home)) for home in homes]
    return stated[0] or float(said[0]), stated[1] or float(said[1])
