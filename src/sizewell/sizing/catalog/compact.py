"""Prices and fees in one file that is read by machine type: beside the reviewed CSV, and only while it says the same.

`prices refresh` writes it after its rows. It holds what the tables say, and the digest of them all; where that is not
the digest of what lies there now, or any byte of the file is another one than was written, the CSV is read as if there
were none. Rates and engines of a project are no part of it: they are read at every load, and a change of them leaves it
valid.

Its rows are rows of the tables, and read as these are (`table.of_cells`); what it saves is to read those of the types
that nobody asks for. Ten times the shipped prices and fees (CPU time of a load, medians of five turns, 2026-11-24): 47
ms with it, 287 ms without, where the shipped tables alone take 37 ms. So the CSV cannot be the one quick form.

The first line has that digest and a checksum of all that follows; the second is JSON, and says where the rows of each
machine type and the fees lie in the rest.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, overload

from sizewell.sizing.catalog import table
from sizewell.sizing.catalog.records import Fee, Offer
from sizewell.sizing.files import write_whole

if TYPE_CHECKING:
    from sizewell.sizing.catalog.catalog import Catalog

NAME: Final = "prices.compact"
FORMAT: Final = "sizewell-prices-3"  # the second had rows of a form of its own, not those of the tables
_COLUMNS: Final = [*table.columns_of(Offer), *table.columns_of(Fee)]
Key = tuple[str, str]


class Offers(Mapping[Key, tuple[Offer, ...]]):
    """Offers by cloud and machine type, made when a type is asked for."""

    __slots__ = ("_body", "_made", "_sources", "_where")

    def __init__(self, body: bytes, where: Mapping[Key, tuple[int, int]], sources: Mapping[str, str]) -> None:
        self._body, self._where, self._sources = body, where, sources
        self._made: dict[Key, tuple[Offer, ...]] = {}

    def with_types(self, offers: Mapping[Key, tuple[Offer, ...]]) -> Offers:
        """The same with these offers as all that there are of their types."""
        where = dict(sorted({**self._where, **dict.fromkeys(offers, (0, 0))}.items()))
        other = Offers(self._body, where, self._sources)
        other._made |= offers
        return other

    def __getitem__(self, key: Key) -> tuple[Offer, ...]:
        if key not in self._made:
            start, end = self._where[key]
            self._made[key] = tuple(table.of_cells(Offer, json.loads(self._body[start:end]), self._sources))
        return self._made[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)


class AllOffers(Sequence[Offer]):
    """Every offer in the catalog's order; `count` is known without making them."""

    __slots__ = ("_by_type", "_count")

    def __init__(self, by_type: Mapping[Key, tuple[Offer, ...]], count: int) -> None:
        self._by_type, self._count = by_type, count

    def __iter__(self) -> Iterator[Offer]:
        for key in self._by_type:
            yield from self._by_type[key]

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Offer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Offer]: ...
    def __getitem__(self, index: int | slice) -> Offer | Sequence[Offer]:
        return tuple(self)[index]


class Fees(Sequence[Fee]):
    """Every fee in the catalog's order, made when one is asked for."""

    __slots__ = ("_body", "_made", "_sources")

    def __init__(self, body: bytes, sources: Mapping[str, str]) -> None:
        self._body, self._sources = body, sources
        self._made: tuple[Fee, ...] | None = None

    def _all(self) -> tuple[Fee, ...]:
        if self._made is None:
            self._made = tuple(table.of_cells(Fee, json.loads(self._body), self._sources))
        return self._made

    def __iter__(self) -> Iterator[Fee]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> Fee: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Fee]: ...
    def __getitem__(self, index: int | slice) -> Fee | Sequence[Fee]:
        return self._all()[index]


@dataclass(frozen=True, slots=True)
class Compact:
    """What a compact file holds; `as_of` is the newest date of an accelerator machine's price.

    `owned` are the machine types that the project's tables price, `fee_keys` cloud and key of every fee: without them
    here, the CSV would be read, or every fee made, for them.
    """

    by_type: Offers
    all_offers: AllOffers
    fees: Fees
    owned: frozenset[Key]
    fee_keys: frozenset[Key]
    as_of: str


def read(folder: Path, digest: str) -> Compact | None:
    """The compact form in a folder, where it is whole and was made of the tables with this digest; None otherwise."""
    try:
        first, _, rest = (folder / NAME).read_bytes().partition(b"\n")
        if not first.startswith(_first_line(digest)) or first != _first_line(digest, rest):
            return None  # of other tables, or damaged: nothing of it is read
        second, _, body = rest.partition(b"\n")
        stated = json.loads(second)
        if stated["columns"] != _COLUMNS:
            return None
        where = {(cloud, name): (start, end) for cloud, name, start, end in stated["types"]}
        sources = {str(number): source for number, source in enumerate(stated["sources"])}
        by_type = Offers(body, where, sources)
        all_offers = AllOffers(by_type, int(stated["count"]))
        fees = Fees(body[stated["fees"] :], sources)
        owned = frozenset((cloud, name) for cloud, name in stated["owned"])
        fee_keys = frozenset((cloud, name) for cloud, name in stated["fee_keys"])
        return Compact(by_type, all_offers, fees, owned, fee_keys, str(stated["as_of"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _first_line(digest: str, rest: bytes | None = None) -> bytes:
    return f"{FORMAT} {digest} {'' if rest is None else f'{zlib.crc32(rest):08x}'}".encode()


def write(catalog: Catalog, folder: Path) -> None:
    """The offers and fees of a catalog of tables alone (`loading.keep_compact`), for the next reading of the same."""
    sources: dict[str, int] = {}
    parts: list[bytes] = []
    types: list[list[object]] = []
    at = 0
    for cloud, name in catalog.offers_by_type:
        part = _json(catalog.offers_by_type[cloud, name], sources)
        types.append([cloud, name, at, at + len(part)])
        parts += [part, b"\n"]
        at += len(part) + 1
    parts.append(_json(catalog.fees, sources))
    body = b"".join(parts)
    head = {
        "count": len(catalog.all_offers),
        "as_of": catalog.as_of,
        "owned": sorted(catalog.owned),
        "fee_keys": sorted({(fee.cloud, fee.key) for fee in catalog.fees}),
        "columns": _COLUMNS,
        "fees": at,
        "sources": list(sources),
        "types": types,
    }
    rest = json.dumps(head).encode() + b"\n" + body
    write_whole(folder / NAME, (_first_line(catalog.digest, rest) + b"\n" + rest).decode())


def _json(records: Iterable[Offer | Fee], sources: dict[str, int]) -> bytes:
    """Rows as in the tables; `sources` are numbered in the place of the keys of sources.csv: many rows share one."""
    keyed = (replace(each, source=f"@{sources.setdefault(each.source, len(sources))}") for each in records)
    return json.dumps([table.cells_of(each) for each in keyed], separators=(",", ":")).encode()
