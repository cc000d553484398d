"""The lines of what one request or record is of: tokens, pictures and how they are drawn, audio, what a cache has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from sizewell.sizing.predict.denoising import denoising
from sizewell.sizing.units import show_count, show_duration, show_share
from sizewell.sizing.workload.load_keys import (
    PICTURES,
    SIZE,
    Known,
    Part,
    is_length,
    is_rate_of_frames,
    length_of,
    part_of,
    singular,
)
from sizewell.sizing.workload.load_things import Load, Size, exact, is_one, tokens_each
from sizewell.sizing.workload.load_words import is_thought, number_of
from sizewell.sizing.workload.ways_out import way_out


def unheard(parts: list[Part], known: Known) -> dict[str, str]:
    """Lengths of recordings or videos, of a model that is sized by something else."""
    lines: dict[str, str] = {}
    of_video = any("video" in (part.per, length_of(part), singular(part.what)) for part in parts)
    films = of_video and not known.hears and known.kind in ("", "diffusion")
    for part in parts:
        long = is_length(part)
        if films and (long or is_rate_of_frames(part) or (part.per and part.what == "frames")):
            lines[part.key] = "leave it out: how long a video is stands in the forward_flop_per_sample of its model"
        elif long and known.kind in ("decoder", "encoder") and not known.hears:
            lines[part.key] = f"leave it out: {known.name or 'the model'} hears nothing; it is sized by tokens"
    return lines


def seen_of(load: Load, section: Mapping[str, object], pictures: Mapping[str, str], known: Known) -> str:
    """What a line of pages or photos says of their pictures, each a request of a model that also works without any."""
    request = load.chain[load.request]
    of_text = any(size.of == "input" and is_one(request, size.part.per) for size in load.sizes)
    shown = request.what == "pages" or PICTURES.fullmatch(request.what)
    return (
        ", images: {per_request: 1}"
        if known.sees and shown and not of_text and not pictures and "images" not in section
        else ""
    )


def size_lines(
    load: Load, section: Mapping[str, object], homes: Mapping[str, str], *, prefix: bool = False
) -> dict[str, str]:
    """The lines of all sizes but pictures: the first of a kind writes it, with all others of its kind in it.

    `prefix`: a model that keeps what it has read, of which the share that repeats is written too.
    """
    lines: dict[str, str] = {}
    for home in dict.fromkeys(homes.values()):
        sizes = [size for size in load.sizes if homes.get(size.of) == home]
        if not sizes:
            continue
        whole = sum((load.of_request(size) for size in sizes), Fraction(0))
        added = sum((load.of_request(size) for size in sizes if is_thought(size.part.key)), Fraction(0))
        if home in _READ:
            whole, added = read_in_all(load, section, home)
        if "audio" in home:
            shown: object = show_duration(float(whole))
        else:
            [first, *others] = sizes
            as_it_is = not others and whole == first.each == exact(first.part.number)
            shown = first.part.value if as_it_is else show_count(max(round(whole), 1))
        stated = number_of(section.get(home)) or 0
        if added and stated:
            shown, said = show_count(round(exact(stated) + added)), f" (in place of {section[home]})"
        elif home in section:
            shown, said = section[home], ""
        else:
            said = next((f" ({size.said}: with the tokens of your own)" for size in sizes if size.said), "")
            again = sum((load.of_request(size) for size in sizes if _is_again(size, load)), Fraction(0))
            if again == whole and home in _READ:
                said = " (without the question itself, whose tokens are to be added)"
            elif prefix and again and added:
                said = f", prefix: {show_share(round(float(again / whole), 3))}{said}"
        left = f"leave it out: it is in {home}: {shown}"
        for index, size in enumerate(sizes):
            lines[size.part.key] = left if index or (home in section and not added) else f"write {home}: {shown}{said}"
        for size in sizes:
            for part in load.chain[load.request + 1 : load.place(size) + 1]:
                lines.setdefault(part.key, left)
    return lines


_STEPS: Final = re.compile(r"(?:(?:inference|sampling|sampler|denoising|diffusion)_)?steps")
_GUIDED: Final = re.compile(r"(?:guidance|cfg)(?:_scale)?")


def pictures_of(section: Mapping[str, object], load: Load, known: Known) -> dict[str, str]:
    """Pictures of a record or request, their size, and how they are drawn, in one line."""
    stated: dict[str, object] = {}
    keys: list[str] = []
    sizes = [size for size in load.sizes if size.of == "images" and size.part.key not in _counted_above(load)]
    if sizes:
        keys += [size.part.key for size in sizes]
        whole = sum((load.of_request(size) for size in sizes), Fraction(0))
        as_it_is = len(sizes) == 1 and whole == exact(sizes[0].part.number)
        stated["per_request"] = sizes[0].part.value if as_it_is else show_count(max(round(whole), 1))
    paper = _paper(section) if known.sees else {}
    stated |= paper
    keys += [str(key) for key in section if paper and _PAPER.fullmatch(key)]
    for key, value in section.items():
        part = part_of(str(key), value)
        if paper and (_PAPER.fullmatch(key) or SIZE.fullmatch(part.what)):
            continue
        meant = {} if part.per or part.period or str(key) == "images" else _drawn(part.what, value, section, known)
        stated |= meant or {}
        keys += [str(key)] if meant is not None and (meant or _GUIDED.fullmatch(part.what)) else []
    if not keys:
        return {}
    beside = section.get("images")
    written = {**(beside if isinstance(beside, Mapping) else {}), **stated}
    if not stated:
        return dict.fromkeys(keys, f"leave it out: {_OWN_WAY}")
    line = f"images: {{{', '.join(f'{key}: {value}' for key, value in written.items())}}}"
    said = " (a frame a second: with as many as you look at)" if any(size.part.guessed for size in sizes) else ""
    if paper and not any(map(_DOTS.fullmatch, section)):
        said = f" (at {_DPI} dots an inch: with those of your scans)"
    elif paper and not any(_PAPER.fullmatch(key) and not _DOTS.fullmatch(key) for key in section):
        said = " (pages of A4: with the side of your own)"
    lines = {
        key: f"leave it out: it is in {line}" if index else f"write {line}{said}" for index, key in enumerate(keys)
    }
    for size in sizes:
        for part in load.chain[load.request + 1 : load.place(size) + 1]:
            lines.setdefault(part.key, f"leave it out: it is in {line}")
    return lines


_DOTS: Final = re.compile(r"(?:[a-z]+_)?(?:dpi|ppi)")
_PAPER: Final = re.compile(r"(?:[a-z]+_)?(?:dpi|ppi)|(?:page|paper|sheet|document)_(?:size|format)")
_DPI: Final = 150  # a round number to begin with, where only the paper is stated
_INCHES: Final = {"a3": (11.69, 16.54), "a4": (8.27, 11.69), "a5": (5.83, 8.27), "letter": (8.5, 11),
                  "legal": (8.5, 14), "tabloid": (11, 17)}  # fmt: skip


def _paper(section: Mapping[str, object]) -> dict[str, object]:
    """The side of a square of as many pixels as a page has, by its paper (A4 where none is stated) and the scan's dpi.

    >>> _paper({"dpi": 150}), _paper({"page_size": "letter", "scan_dpi": 300}), _paper({"page_size": "1024x1024"})
    ({'resolution': 1475}, {'resolution': 2901}, {})
    """
    dots = next((number_of(value) for key, value in section.items() if _DOTS.fullmatch(key)), None)
    sizes = [value for key, value in section.items() if _PAPER.fullmatch(key) and not _DOTS.fullmatch(key)]
    inches = _INCHES.get(re.sub(r"^(?:us|din)[ -]?", "", str(sizes[0]).strip().lower()) if sizes else "a4")
    if inches is None or not (sizes or dots):
        return {}
    return {"resolution": round((dots or _DPI) * (inches[0] * inches[1]) ** 0.5)}


def _counted_above(load: Load) -> set[str]:
    return {part.key for part in load.chain[: load.request + 1]}


def picture_of(key: str, value: object, section: Mapping[str, object], known: Known) -> str:
    """The line of a key that stands among those of pictures already."""
    meant = _drawn(part_of(key, value).what, value, section, known)
    if meant is None:
        return ""
    line = ", ".join(f"{each}: {stated}" for each, stated in meant.items())
    return f"write {line}" if line else f"leave it out: {_OWN_WAY}"


_OWN_WAY: Final = "it is the model's own way, which is what is sized"


def _drawn(what: str, value: object, section: Mapping[str, object], known: Known) -> dict[str, object] | None:
    """What a key says of the pictures themselves; None for one that says nothing of them.

    >>> _drawn("inference_steps", 30, {}, Known(kind="diffusion")), _drawn("guidance_scale", 7.5, {}, Known())
    ({'steps': 30}, {'guidance': 'true'})
    >>> _drawn("width", 1024, {"width": 1024, "height": 1024}, Known()), _drawn("size", "512x512", {}, Known())
    ({'resolution': '1024'}, {'resolution': '512'})
    """
    draws = known.kind in ("", "diffusion")
    if what in ("width", "height"):
        other = section.get("height" if what == "width" else "width", value)
        return _drawn("size", f"{value}x{other}", section, known)
    if SIZE.fullmatch(what):
        side = re.match(r"write (\d+)", way_out("images.resolution", value))
        return {"resolution": side[1] if side else value} if side or number_of(value) else None
    if _STEPS.fullmatch(what) and draws and number_of(value):
        return {"steps": value}
    if _GUIDED.fullmatch(what) and draws and isinstance(value, bool | int | float):
        guided = value is True or (not isinstance(value, bool) and value > 1)
        usual = denoising(known.name)  # where guidance is distilled into the model its scale costs nothing
        own = known.kind == "diffusion" and usual.evaluations_per_step == 1 and guided
        return {} if own else {"guidance": "true" if guided else "false"}
    return None


_READ: Final = ("input_tokens", "tokens_per_record")
# Parts of a prompt that are the same in the next request of whoever asked.
_AGAIN: Final = re.compile(
    r"(?:^|_)(?:system|prefix|shared|history|shots?|template|tools?|instructions?|persona|previous|past|prior|earlier)(?:_|$)"
)
_WHOLE: Final = re.compile(r"(?:[a-z]+_)?input_[a-z]+|[a-z]+_per_(?:request|record|call|prompt|input)|[a-z]+")


def _is_again(size: Size, load: Load) -> bool:
    place = load.place(size)
    keys = [size.part.key, *(part.key for part in load.chain[load.request + 1 : place + 1])]
    return size.of == "input" and any(map(_AGAIN.search, keys))


def read_in_all(load: Load, section: Mapping[str, object], home: str) -> tuple[Fraction, Fraction]:
    """What one request or record reads, and what parts of a prompt add to the length that is stated of all of it.

    Parts that fit in that length are in it, and add nothing.
    """
    sizes = [size for size in load.sizes if size.of == "input"]
    parts = [size for size in sizes if not _WHOLE.fullmatch(size.part.key)]
    rest = [size for size in parts if not re.fullmatch(r"prompt_[a-z]+", size.part.key)]
    if len(rest) == len(parts) or all(_is_again(size, load) for size in rest):  # else a prompt is one of the parts
        parts = rest
    stated = exact(number_of(section.get(home)) or 0.0)
    whole = stated or sum((load.of_request(size) for size in sizes if size not in parts), Fraction(0))
    part = sum((load.of_request(size) for size in parts), Fraction(0))
    return (whole, Fraction(0)) if part <= whole else (whole + part, part)


_CACHED: Final = re.compile(r"(?:.*_)?(?:cache|cached|prefix|reused|shared|system)(?:_.*)?")
_SHARE: Final = re.compile(
    r"(?:.*_)?(?:hit|hits|miss|misses|rate|ratio|share|fraction|percent|percentage|pct|cached|reused|shared|prefix)"
)


def kept(section: Mapping[str, object], load: Load, known: Known) -> dict[str, str]:
    """What of the prompts a cache has already, as a share or as tokens of one.

    >>> load = Load((Part("", "requests"),), 0, ())
    >>> kept({"cache_hit_rate": 0.9, "kv_cache_miss_rate": "20%"}, load, Known())
    {'cache_hit_rate': 'write prefix: 90%', 'kv_cache_miss_rate': 'write prefix: 80%'}
    >>> kept({"input_tokens": "30k", "cached_input_tokens": "27k"}, load, Known())
    {'cached_input_tokens': 'write prefix: 90%'}
    """
    lines: dict[str, str] = {}
    read, _ = tokens_each(load, section, ("input_tokens", "output_tokens"))
    added = read_in_all(load, section, "input_tokens")[1]
    parts = [size.part.key for size in load.sizes if size.of == "input" and added]
    for key, value in section.items():
        share = cached_share(key, value, read) if key != "prefix" else None
        if share is None or key in parts:
            continue
        lines[key] = f"write prefix: {show_share(share)}"
        if known.kind not in ("", "decoder"):
            lines[key] = "leave it out: only a model that writes keeps what it has read"
        elif "system" in key:
            lines[key] += ", if input_tokens count it too"
    return lines


def cached_share(key: str, value: object, of: float) -> float | None:
    """The share of a prompt that is read from a cache, of tokens that of those `of` a prompt; None for no such key."""
    if not _CACHED.fullmatch(key) or isinstance(value, bool):
        return None
    number = number_of(str(value).strip().removesuffix("%").strip()) or number_of(value)
    if number is None:
        return None
    if key.endswith("tokens"):
        share = round(number / of, 3) if of else 2.0
    elif _SHARE.fullmatch(key):
        percent = isinstance(value, str) and "%" in value
        share = number / 100 if percent or number > 1 else number
    else:
        return None
    share = 1 - share if "miss" in key else share
    return round(share, 4) if 0 <= share <= 1 else None
