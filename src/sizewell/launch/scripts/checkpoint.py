"""Checkpoints that a kill cannot break: parts first, the manifest last, nothing overwritten, nothing deleted.

    parts/000000000100-3f9a1c02/00003-0000.safetensors    tensors of process 3, first file; several of each process
    manifests/000000000100-3f9a1c02.json                  names, sizes, sha256 of all parts; written after them
    latest.json                                           for people, where the writer may replace (not gs://)

A checkpoint is there once its manifest is. The number is the step, the word after it is drawn anew for every save, so
two runs that race, or a run that saves the same step again, write beside each other. Readers list the manifests and
take the newest whose parts are all there with their sizes; each part is checked against its sha256 as it is read, and
one that is missing or wrong sends all processes together to the checkpoint before it. Parts without a manifest are what
a kill left: `prunable` lists them, and `prune` deletes them for a person, who alone may.

Each part is a file in the safetensors layout, whose metadata says which block of which tensor is in it. A reader asks
for blocks, whoever wrote them, so a run can go on with another number of processes or another sharding.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import numpy as np
from manifest import CorruptError, Manifest, Part, digest, manifest_name, part_data, verify
from store import MissingError, RefusedError, Store, StoreError, connect

POINTER = "sizewell.checkpoint-pointer/1"
PART_BYTES = 512 * 2**20
UPLOADS = 4  # at once, for each process; as many parts are in memory
CARRIERS = {  # the dtypes of safetensors, and the numpy type that carries their bits
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "F8_E4M3": "|u1", "F8_E5M2": "|u1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2",
    "U8": "|u1", "BOOL": "|u1",
}  # fmt: skip


class Comm(Protocol):
    """What the processes of a job say to each other while they save and load."""

    rank: int
    size: int

    def gather(self, data: bytes) -> list[bytes]:
        """What every process brought, by rank, for every process."""

    def most(self, value: int) -> int:
        """The largest value that any process brought."""


class Alone:
    """One process."""

    rank = 0
    size = 1

    def gather(self, data: bytes) -> list[bytes]:
        return [data]

    def most(self, value: int) -> int:
        return value


@dataclass(frozen=True)
class Block:
    """A block of a tensor that this process holds. `owner`: this process is the one that writes it."""

    name: str
    dtype: str  # a key of CARRIERS
    shape: tuple[int, ...]  # of the whole tensor
    offset: tuple[int, ...]
    extent: tuple[int, ...]
    read: Callable[[], np.ndarray]  # the block's bits, in the carrier's type
    write: Callable[[np.ndarray], None]
    owner: bool = True


# Saving


def save(
    store: Store, comm: Comm, step: int, blocks: Iterable[Block], meta: dict[str, Any], *, part_bytes: int = PART_BYTES
) -> Manifest:
    """Write a checkpoint; every process calls it. Returns once the manifest is there, or raises in every process.

    StoreError (or RefusedError, its kind that no repetition mends) says what the first process that failed met.
    """
    attempt = comm.gather(secrets.token_hex(4).encode())[0].decode()
    receipt: dict[str, Any] = {}
    try:
        folder = f"parts/{step:012d}-{attempt}"
        parts = _upload(store, folder, comm.rank, (b for b in blocks if b.owner), part_bytes)
        receipt["parts"] = [[part.name, part.bytes, part.sha256, part.header] for part in parts]
    except Exception as error:  # noqa: BLE001 - told to all, and raised in all of them
        receipt["error"] = _spoken(error)
    receipts = [json.loads(data) for data in comm.gather(json.dumps(receipt).encode())]
    _raise_first(receipts)
    manifest = Manifest(
        name=manifest_name(step, attempt),
        step=step,
        attempt=attempt,
        world=comm.size,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        parts=tuple(Part(*values) for each in receipts for values in each["parts"]),
        meta=meta,
    )
    outcome: dict[str, Any] = {}
    if comm.rank == 0:
        try:
            store.put(manifest.name, manifest.to_json())
        except Exception as error:  # noqa: BLE001 - as above
            outcome["error"] = _spoken(error)
    _raise_first([json.loads(data) for data in comm.gather(json.dumps(outcome).encode())])
    if comm.rank == 0 and store.overwrites:
        _point(store, manifest)
    return manifest


def _upload(store: Store, folder: str, rank: int, blocks: Iterable[Block], part_bytes: int) -> list[Part]:
    """Put a process's blocks, several files at once, each made in memory as its turn comes."""
    parts: list[Part] = []
    with ThreadPoolExecutor(UPLOADS) as pool:
        waiting: set[Future[None]] = set()
        try:
            for number, (data, header) in enumerate(_packed(blocks, part_bytes)):
                name = f"{folder}/{rank:05d}-{number:04d}.safetensors"
                parts.append(Part(name, len(data), digest(data), header))
                waiting.add(pool.submit(store.put, name, data))
                if len(waiting) >= UPLOADS:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for each in done:
                        each.result()
            for each in waiting:
                each.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return parts


def _packed(blocks: Iterable[Block], part_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Files of at most `part_bytes` each (unless one row alone is larger), and the length of each one's header."""
    batch: list[tuple[Block, tuple[int, ...], np.ndarray]] = []
    size = 0
    for block in blocks:
        values = block.read()
        if values.shape != block.extent or values.dtype != np.dtype(CARRIERS[block.dtype]):
            raise RuntimeError(f"{block.name}: has {values.dtype}{values.shape}, not {block.dtype}{block.extent}")
        for offset, rows in _rows(block, values, part_bytes):
            if batch and size + rows.nbytes > part_bytes:
                yield _file(batch)
                batch, size = [], 0
            batch.append((block, offset, rows))
            size += rows.nbytes
    if batch:
        yield _file(batch)


def _rows(block: Block, values: np.ndarray, part_bytes: int) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """A block cut along its first dimension where it is too large for one file."""
    if values.nbytes <= part_bytes or not values.shape or values.shape[0] <= 1:
        yield block.offset, values
        return
    step = max(1, part_bytes // max(1, values.nbytes // values.shape[0]))
    for start in range(0, values.shape[0], step):
        yield (block.offset[0] + start, *block.offset[1:]), values[start : start + step]


def _file(batch: Sequence[tuple[Block, tuple[int, ...], np.ndarray]]) -> tuple[bytes, int]:
    tensors: dict[str, Any] = {}
    blocks: list[Any] = []
    at = 0
    for block, offset, values in batch:
        key = block.name if values.shape == block.shape else f"{block.name}@{','.join(map(str, offset))}"
        tensors[key] = {"dtype": block.dtype, "shape": values.shape, "data_offsets": [at, at + values.nbytes]}
        blocks.append([key, block.name, block.shape, offset])
        at += values.nbytes
    header = json.dumps({"__metadata__": {"blocks": json.dumps(blocks)}, **tensors}).encode()
    header += b" " * (-len(header) % 8)  # safetensors wants the data aligned
    start = len(header).to_bytes(8, "little") + header
    return b"".join([start, *(np.ascontiguousarray(values).tobytes() for _, _, values in batch)]), len(start)


def pointed(data: bytes) -> int:
    """The step that a pointer names. The first ones had no schema; StoreError where a newer release wrote it."""
    pointer = json.loads(data)
    if (said := pointer.get("schema", POINTER)) != POINTER:
        raise StoreError(f"it is of schema {said!r}, this writes {POINTER!r}; go on with the release that wrote it")
    return int(pointer["step"])


def _point(store: Store, manifest: Manifest) -> None:
    """Set the pointer, unless it is at a later step. For people and dashboards: no reader here depends on it."""
    try:
        try:
            if pointed(store.get("latest.json")) > manifest.step:
                return
        except (MissingError, ValueError, KeyError, TypeError, AttributeError):
            pass
        data = {"schema": POINTER, "manifest": manifest.name, "step": manifest.step}
        store.point("latest.json", json.dumps(data).encode())
    except StoreError as error:
        print(f"the pointer latest.json was not set: {error}", file=sys.stderr, flush=True)


# Loading


def newest(store: Store, say: Callable[[str], None] = lambda _: None) -> Iterator[Manifest]:
    """Manifests whose parts are all there, each with its size, newest first; `say` gets why others are passed over."""
    listed = store.list("manifests/")
    sizes: dict[str, int] = {}
    for name in sorted(listed, reverse=True):
        try:
            manifest = Manifest.from_json(name, store.get(name))
            sizes = sizes or store.list("parts/")
            for part in manifest.parts:
                if part.name not in sizes:
                    raise CorruptError(f"{name}: its part {part.name} is missing")
                if sizes[part.name] != part.bytes:
                    raise CorruptError(f"{name}: its part {part.name} has {sizes[part.name]} bytes, not {part.bytes}")
        except (CorruptError, MissingError) as error:
            say(f"passed over {error}")
            continue
        yield manifest


def load(
    store: Store,
    comm: Comm,
    blocks: Sequence[Block],
    say: Callable[[str], None] = lambda _: None,
    check: Callable[[Manifest], None] = lambda _: None,
) -> Manifest | None:
    """Fill the blocks from the newest checkpoint that all processes can read; None where there is no checkpoint at all.

    Every process calls it. RefusedError where there are checkpoints and none can be read (starting from nothing would
    hide it), where `check` refuses one, or where it does not have the tensors that are asked for (it is of another
    model).
    """
    before = "~"  # after every name
    while True:
        agreed = _agreed(store, comm, before, say)
        if agreed is None:
            return None
        manifest, index = agreed
        before = manifest.name
        outcome: dict[str, Any] = {}
        try:
            check(manifest)
            _fill(store, manifest, index, blocks)
        except (CorruptError, MissingError) as error:
            outcome["corrupt"] = str(error)
        except Exception as error:  # noqa: BLE001 - told to all, and raised in all of them
            outcome["error"] = _spoken(error)
        outcomes = [json.loads(data) for data in comm.gather(json.dumps(outcome).encode())]
        _raise_first(outcomes)
        bad = next((each["corrupt"] for each in outcomes if "corrupt" in each), None)
        if bad is None:
            return manifest
        say(f"passed over {bad}")


def _agreed(
    store: Store, comm: Comm, before: str, say: Callable[[str], None]
) -> tuple[Manifest, list[list[Any]]] | None:
    """Process 0 chooses a checkpoint and reads what is in it, for all."""
    chosen: dict[str, Any] = {}
    if comm.rank == 0:
        try:
            passed: list[str] = []

            def passing(text: str) -> None:
                passed.append(text)
                say(text)

            for manifest in newest(store, passing if before == "~" else lambda _: None):
                if manifest.name >= before:
                    continue
                try:
                    chosen = {"index": _index(store, manifest), "name": manifest.name}
                    chosen["manifest"] = manifest.to_json().decode()
                    break
                except (CorruptError, MissingError) as error:
                    passing(f"passed over {error}")
            if not chosen and (passed or before != "~"):
                raise RefusedError(
                    f"{store.uri}: there are checkpoints and none can be read; restore an older version of "
                    "the objects, or start under another prefix"
                )
        except Exception as error:  # noqa: BLE001 - told to all, and raised in all of them
            chosen = {"error": _spoken(error)}
    answer = json.loads(comm.gather(json.dumps(chosen).encode())[0])
    _raise_first([answer])
    if not answer:
        return None
    return Manifest.from_json(answer["name"], answer["manifest"].encode()), answer["index"]


def _index(store: Store, manifest: Manifest) -> list[list[Any]]:
    """[part, tensor, dtype, shape, offset, extent, first byte] of every block, from the parts' headers."""

    def read(part: Part) -> list[list[Any]]:
        return _header(part, store.get(part.name, 0, part.header))

    with ThreadPoolExecutor(16) as pool:
        return [entry for entries in pool.map(read, manifest.parts) for entry in entries]


def _header(part: Part, data: bytes) -> list[list[Any]]:
    try:
        length = int.from_bytes(data[:8], "little")
        if length + 8 != part.header:
            raise ValueError(f"header of {length} bytes")
        header = json.loads(data[8 : part.header])
        return [
            [part.name, name, header[key]["dtype"], shape, offset, header[key]["shape"], header[key]["data_offsets"][0]]
            for key, name, shape, offset in json.loads(header["__metadata__"]["blocks"])
        ]
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptError(f"{part.name}: its header cannot be read: {error}") from None


def _fill(store: Store, manifest: Manifest, index: list[list[Any]], blocks: Sequence[Block]) -> None:
    """Read the parts that the blocks need, each once, check them whole, and write the blocks when all is there."""
    filled = [(block, np.empty(block.extent, CARRIERS[block.dtype]), [0]) for block in blocks]
    try:
        wanted = _wanted(manifest, index, filled)
    except (RefusedError, ValueError, TypeError, LookupError):
        # Headers were read without their parts: a changed byte in one looks like another model. The parts tell.
        for part in manifest.parts:
            part_data(store, manifest, part)
        raise
    for part in manifest.parts:
        if part.name not in wanted:
            continue
        data = part_data(store, manifest, part)
        for (_, _, dtype, _, _, extent, start), buffer, (into, out_of), count in wanted[part.name]:
            values = np.frombuffer(data, CARRIERS[dtype], math.prod(extent), part.header + start).reshape(extent)
            buffer[into] = values[out_of]
            count[0] += math.prod(values[out_of].shape)
    for block, _, count in filled:
        if count[0] != math.prod(block.extent):
            raise CorruptError(f"{manifest.name}: holds {count[0]} of {math.prod(block.extent)} values of {block.name}")
    for block, buffer, _ in filled:
        block.write(buffer)


def _wanted(
    manifest: Manifest, index: list[list[Any]], filled: Sequence[tuple[Block, Any, list[int]]]
) -> dict[str, list[tuple[Any, Any, Any, Any]]]:
    """Which entries of which part each block needs, by the part's name."""
    held: dict[str, list[list[Any]]] = {}
    for entry in index:
        held.setdefault(entry[1], []).append(entry)
    wanted: dict[str, list[tuple[Any, Any, Any, Any]]] = {}
    for block, buffer, count in filled:
        entries = held.get(block.name)
        if entries is None:
            raise RefusedError(f"{manifest.name}: has no tensor {block.name}: it is of another model")
        if entries[0][2] != block.dtype or tuple(entries[0][3]) != block.shape:
            raise RefusedError(
                f"{manifest.name}: {block.name} is {entries[0][2]}{entries[0][3]} there and {block.dtype}"
                f"{list(block.shape)} here: it is of another model"
            )
        for entry in entries:
            overlap = _overlap(block.offset, block.extent, entry[4], entry[5])
            if overlap is not None:
                wanted.setdefault(entry[0], []).append((entry, buffer, overlap, count))
    return wanted


def _overlap(
    offset: Sequence[int], extent: Sequence[int], there: Sequence[int], size: Sequence[int]
) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """Where two blocks of one tensor meet: the slices in the first and in the second.

    >>> _overlap((0, 0), (4, 4), (2, 0), (4, 4))
    ((slice(2, 4, None), slice(0, 4, None)), (slice(0, 2, None), slice(0, 4, None)))
    """
    first, second = [], []
    for a, n, b, m in zip(offset, extent, there, size, strict=True):
        low, high = max(a, b), min(a + n, b + m)
        if low >= high:
            return None
        first.append(slice(low - a, high - a))
        second.append(slice(low - b, high - b))
    return tuple(first), tuple(second)


def _spoken(error: Exception) -> list[str]:
    kind = next((k.__name__ for k in (RefusedError, StoreError) if isinstance(error, k)), type(error).__name__)
    return [kind, str(error)]


def _raise_first(answers: Iterable[dict[str, Any]]) -> None:
    for rank, answer in enumerate(answers):
        if "error" in answer:
            kind, text = answer["error"]
            known = {"RefusedError": RefusedError, "StoreError": StoreError}.get(kind)
            raise known(text) if known else RuntimeError(f"process {rank}: {kind}: {text}")


# For a person


def prunable(store: Store, keep: int) -> tuple[list[str], int]:
    """Objects that no reader needs once `keep` whole checkpoints stay, and their bytes: all that a person may delete.

    Parts without a manifest are named only below the oldest kept step: those of newer steps may be under way.
    """
    whole = list(newest(store))
    kept = whole[:keep]
    if len(whole) < keep or not kept:
        return [], 0
    oldest = kept[-1].step
    needed = {manifest.name for manifest in kept} | {part.name for manifest in kept for part in manifest.parts}
    sizes = store.list("parts/") | store.list("manifests/")
    names = [name for name in sorted(sizes) if name not in needed and int(name.split("/")[1].split("-")[0]) < oldest]
    return names, sum(sizes[name] for name in names)


def leftovers(store: Store, before: datetime) -> tuple[list[str], int]:
    """Parts of saves that never ended, and files half written, last touched before a time; and the parts' bytes.

    A save that runs has no manifest yet either: the time has to be longer ago than any save takes.
    """
    complete = {name.removeprefix("manifests/").removesuffix(".json") for name in store.list("manifests/")}
    sizes = store.list("parts/")
    names = []
    for name, when in sorted(store.written().items()):
        half = name.rsplit("/", 1)[-1].startswith(".part-")
        part = name.startswith("parts/") and name.split("/")[1] not in complete
        if (half or part) and when < before:
            names.append(name)
    return names, sum(sizes.get(name, 0) for name in names)


def prune(store: Store, names: Iterable[str], say: Callable[[str], None]) -> int:
    """Delete objects, manifests before the parts that they name; the number of those that the store kept."""
    kept = 0
    for name in sorted(names, key=lambda name: (not name.startswith("manifests/"), name)):
        try:
            store.remove(name)
        except MissingError:
            continue
        except StoreError as error:
            kept += 1
            say(f"kept: {error}")
    return kept


def main(argv: Sequence[str] | None = None) -> int:
    """`checkpoint.py list|verify|prunable|prune URI`: what is there, whether it can be read, what may go.

    `prune` runs with a person's own rights: a job's identity may not delete. What a lock of the store holds stays.
    """
    parser = argparse.ArgumentParser(prog="checkpoint.py", description="Look at the checkpoints of a run.")
    parser.add_argument("do", choices=["list", "verify", "prunable", "prune"])
    parser.add_argument("uri")
    parser.add_argument("--keep", type=int, default=4, help="prunable, prune: whole checkpoints that stay (default 4)")
    hours = "prunable, prune: parts of a save without an end count as left over from this age on (default 24)"
    parser.add_argument("--hours", type=float, default=24.0, help=hours)
    given = parser.parse_args(argv)
    try:
        store = connect(given.uri)
        if given.do in ("prunable", "prune"):
            old, size = prunable(store, given.keep)
            left, more = leftovers(store, datetime.now(UTC) - timedelta(hours=given.hours))
            extra = [name for name in left if name not in old]
            size += more if len(extra) == len(left) else sum(store.list("parts/").get(name, 0) for name in extra)
            for name in (*old, *extra):
                print(name)
            what = (
                f"{len(old) + len(extra)} objects, {size / 2**30:.2f} GiB, {len(extra)} of them left by saves cut off"
            )
            if given.do == "prunable":
                print(f"{what}: no reader needs them", file=sys.stderr)
                return 0
            kept = prune(store, (*old, *extra), lambda text: print(text, file=sys.stderr))
            print(f"{what}: {kept} of them the store kept", file=sys.stderr)
            return 64 if kept else 0
        count = 0
        for manifest in newest(store, print):
            count += 1
            size = sum(part.bytes for part in manifest.parts)
            seen = "all parts there"
            if given.do == "verify":
                try:
                    verify(store, manifest)
                    seen = "every part read and right"
                except (CorruptError, MissingError) as error:
                    seen = f"BROKEN: {error}"
            print(
                f"step {manifest.step}  {manifest.created}  {size / 2**30:.2f} GiB in {len(manifest.parts)} parts, "
                f"{seen}"
            )
        print(f"{count} whole checkpoints at {store.uri}")
    except StoreError as error:
        print(error, file=sys.stderr)
        return 64 if isinstance(error, RefusedError) else 69
    return 0


if __name__ == "__main__":
    sys.exit(main())
