"""What is meant by a name that is no accelerator of the catalog, and what can be had in place of one that is not sold.

A name leads to the same device, or to devices with as much memory; never to another one that is spelt alike.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sizewell import csvtables
from sizewell.sizing.catalog.catalog import device_parts
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import EDGE, PROVISIONABLE

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Slice

NAMED_MAX: Final = 3
_ALIKE: Final = 1.1  # devices with up to so many times the smallest memory that is enough are of one class


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherAccelerator:
    """A row of other_accelerators.csv: a card that the catalog does not have, by its names, as no cloud here sells it.

    Of a card that was made with several memories, the usual one; of two GPUs on a card, that of one.
    """

    names: tuple[str, ...]
    memory_gb: int
    what: str
    source: str


def not_to_be_had(name: str, catalog: Catalog) -> tuple[str, str, str] | None:
    """A card that no cloud here sells: what is wrong, accelerators with as much memory, and what to write.

    None for what can be had, and for what nobody knows.

    >>> from sizewell.sizing.catalog import load
    >>> not_to_be_had("RTX-A5000", load())[0]
    "'RTX-A5000' is a workstation card of 24 GB, which aws, azure and gcp do not sell"
    >>> not_to_be_had("RTX4090", load())[1], not_to_be_had("L4", load())
    ('L4, A10, A10G', None)
    """
    known = catalog.accelerators_named(name)
    without_size = re.sub(r"[\s_-]*\d+ ?GB\b", "", name, flags=re.IGNORECASE)
    cards = (_others().get(device_parts(each)) for each in (name, without_size))
    card = None if known else next(filter(None, cards), None)
    sellers = f"{', '.join(sorted(PROVISIONABLE)[:-1])} and {max(PROVISIONABLE)}"
    if card is not None:
        memory_bytes = card.memory_gb * 10**9
        message = f"'{name}' is {card.what} of {card.memory_gb} GB, which {sellers} do not sell"
    elif known and not any(device.key in catalog.devices_on(PROVISIONABLE) for device in known):
        memory_bytes = min(device.memory_bytes for device in known)
        message = f"'{name}' is not sold by {sellers}"
    else:
        return None
    alike = _as_large(memory_bytes, catalog)
    fix = f"write {_listed(alike)}, of as much memory"
    if any(device.key in catalog.devices_on((EDGE,)) for device in known):
        fix += f"; or add infra: [{EDGE}] for one that stands where it is used, which is sized and never built"
    return message, ", ".join(alike), fix


def device_meant(name: str, catalog: Catalog) -> str:
    """The names of the same device that are known, or those with the same figures that are spelt nearly so; else "".

    >>> from sizewell.sizing.catalog import load
    >>> [device_meant(name, load()) for name in ("V100-PCIE-16GB", "H100 SXM6", "b20O", "A600")]
    ['did you mean V100-16GB?', 'did you mean H100?', '', '']
    """
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    for length in range(len(words) - 1, 0, -1):
        head = " ".join(words[:length])
        meant = catalog.accelerators_named(head)
        if meant and (any(map(str.isdigit, head)) or len(meant) == 1):
            rest = {*words[length:]}
            shares = {device.key: len(rest & {*device.key.split("-")}) for device in meant}
            most = [key for key, share in shares.items() if share == max(shares.values())]
            return f"did you mean {_listed(key.upper() for key in most) if max(shares.values()) else head.upper()}?"
    figures = re.findall(r"\d+", name)
    alike = [known for known in catalog.accelerator_names if re.findall(r"\d+", known) == figures]
    near = difflib.get_close_matches(name.lower(), alike, NAMED_MAX, 0.8)
    keys = dict.fromkeys(catalog.accelerator_names[each].upper() for each in near)
    return f"did you mean {_listed(keys)}?" if keys else ""


def slice_meant(name: str, catalog: Catalog) -> str:
    """The slice that Google's own name is of, as a spec states it; "" for none. v5p-128 counts cores, two of a chip.

    >>> from sizewell.sizing.catalog import load
    >>> slice_meant("v5litepod-64", load()), slice_meant("tpu-v5p-128", load())
    ('tpu: {type: v5e, topology: 8x8}, 64 chips', 'tpu: {type: v5p, topology: 4x4x4}, 64 chips')
    >>> slice_meant("v6e-17", load()), slice_meant("h100-80", load()), slice_meant("5090", load())
    ('tpu: {type: v6e, topology: 4x8}, 32 chips: the next larger slice', '', '')
    """
    family, _, size = re.sub(r"[\s_]+", "-", name.strip().lower()).rpartition("-")
    if not family or not size.isdigit():
        return ""
    sizes = {
        int(item.api_type.rpartition("-")[2]): item
        for item in sorted(catalog.slices, key=lambda item: not item.multi_host)
        if family in _called(item)
    }
    number = min((each for each in sizes if each >= int(size)), default=max(sizes, default=0))
    if not number:
        return ""
    item = sizes[number]
    said = "" if number == int(size) else f": the {'next larger' if number > int(size) else 'largest'} slice"
    return f"tpu: {{type: {item.generation}, topology: {item.topology}}}, {item.chips} chips{said}"


def _called(item: Slice) -> set[str]:
    """What a family of slices is called: as Google's API, this catalog, and either with the kind of chip before it."""
    names = {item.api_type.rpartition("-")[0], item.generation}
    return {item.accelerator, *names, *(f"tpu-{name}" for name in names)}


def families(catalog: Catalog) -> list[str]:
    """What the accelerators are called, without their memory and their form."""
    return sorted({RUNTIME, *(key.partition("-")[0] for key in catalog.accelerators)})


def _as_large(memory_bytes: int, catalog: Catalog) -> list[str]:
    """The GPUs that can be had with as much memory, or the next more; those that most clouds sell first."""
    sold = catalog.devices_on(PROVISIONABLE)
    gpus = [catalog.accelerators[key] for key in sold if catalog.accelerators[key].runtime == "cuda"]
    large = [device for device in gpus if device.memory_bytes >= memory_bytes / _ALIKE] or gpus
    enough = min(device.memory_bytes for device in large) * _ALIKE
    same = [device for device in large if device.memory_bytes <= enough]
    same.sort(key=lambda device: (-len(sold[device.key]), -(device.year or 0), device.key))
    return [device.key.upper() for device in same[:NAMED_MAX]]


def _listed(names: Iterable[str]) -> str:
    *most, last = [*names][:NAMED_MAX]
    return f"{', '.join(most)} or {last}" if most else last


@cache
def _others() -> Mapping[tuple[str, ...], OtherAccelerator]:
    rows = csvtables.read(OtherAccelerator, Path(__file__).parent / "data/other_accelerators.csv")
    return {device_parts(name): row for row in rows for name in row.names}
