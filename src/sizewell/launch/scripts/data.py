"""Samples by number: sample 17 is the same whoever asks, whenever, with however many processes.

So the position in the data is one number, which a checkpoint holds; nothing is skipped or read twice after a resume.
The order of an epoch is a permutation that is computed, not stored: a keyed Feistel network over the numbers of the
samples.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from bisect import bisect_right
from pathlib import Path
from typing import Protocol

import numpy as np
from run import WrongInputError
from store import connect


class Samples(Protocol):
    """Token sequences by number."""

    def batch(self, numbers: range) -> np.ndarray:
        """Samples as int32 of [len(numbers), sequence_length + 1]: inputs are all but the last, targets all but the
        first.
        """

    def describe(self) -> dict[str, object]:
        """What must be the same for sample 17 to be the same."""


def open_samples(where: str, *, sequence_length: int, vocab: int, seed: int, cache: str = "") -> Samples:
    """Samples of a folder of token shards, or synthetic ones; WrongInputError where there are none."""
    if where == "synthetic":
        return Synthetic(sequence_length, vocab, seed)
    if "://" in where and not where.startswith("file://"):
        folder = _fetched(where, Path(cache or tempfile.gettempdir()))
    else:
        folder = Path(where.removeprefix("file://"))
    paths = sorted(path for kind in ("*.bin", "*.npy") for path in folder.glob(kind))
    if not paths:
        raise WrongInputError(f"data {where!r}: no token shards (*.bin with 16-bit tokens, or *.npy) in it")
    return Shards(paths, sequence_length, vocab, seed)


class Synthetic:
    """Sequences that count up in steps of 1 to 4 from anywhere, one token in twenty at random: soon learnt."""

    def __init__(self, sequence_length: int, vocab: int, seed: int) -> None:
        self._length, self._vocab, self._seed = sequence_length + 1, vocab, seed

    def batch(self, numbers: range) -> np.ndarray:
        return np.stack([self._sample(number) for number in numbers])

    def _sample(self, number: int) -> np.ndarray:
        random = np.random.default_rng([self._seed, number])
        tokens = random.integers(self._vocab) + random.integers(1, 5) * np.arange(self._length)
        noise = random.random(self._length) < 0.05
        tokens[noise] = random.integers(self._vocab, size=int(noise.sum()))
        return (tokens % self._vocab).astype(np.int32)

    def describe(self) -> dict[str, object]:
        return {"data_samples": 0}


class Shards:
    """Windows of token files that lie one after another; a window never spans two files. Mapped, not read."""

    def __init__(self, paths: list[Path], sequence_length: int, vocab: int, seed: int) -> None:
        self._length, self._vocab, self._seed = sequence_length, vocab, seed
        self._paths = paths
        self._shards = [np.load(p, mmap_mode="r") if p.suffix == ".npy" else np.memmap(p, "<u2", "r") for p in paths]
        for path, shard in zip(paths, self._shards, strict=True):
            if shard.ndim != 1 or shard.dtype.kind not in "iu":
                raise WrongInputError(f"{path}: must hold one row of whole numbers, holds {shard.dtype}{shard.shape}")
        self._ends: list[int] = []
        for shard in self._shards:
            self._ends.append((self._ends[-1] if self._ends else 0) + max(0, len(shard) - 1) // sequence_length)
        self.count = self._ends[-1]
        if not self.count:
            raise WrongInputError(
                f"{paths[0].parent}: its shards are shorter than one sample of {sequence_length} + 1 tokens"
            )

    def batch(self, numbers: range) -> np.ndarray:
        return np.stack([self._sample(number) for number in numbers])

    def _sample(self, number: int) -> np.ndarray:
        epoch, place = divmod(number, self.count)
        window = shuffled(place, self.count, key=f"{self._seed}/{epoch}")
        shard = bisect_right(self._ends, window)
        start = (window - (self._ends[shard - 1] if shard else 0)) * self._length
        tokens = self._shards[shard][start : start + self._length + 1].astype(np.int32)
        if not 0 <= int(tokens.min()) <= int(tokens.max()) < self._vocab:
            raise WrongInputError(
                f"{self._paths[shard]}: token {tokens.max()} at {start}, and the model knows {self._vocab}: "
                "another tokenizer's?"
            )
        return tokens

    def describe(self) -> dict[str, object]:
        return {"data_samples": self.count}


def shuffled(place: int, count: int, key: str) -> int:
    """Where a permutation of 0..count-1, named by `key`, takes `place`. No table, whatever the count.

    >>> sorted(shuffled(place, 10, "a") for place in range(10)) == list(range(10))
    True
    """
    half = max(1, ((count - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for turn in range(4):
            mixed = hashlib.blake2b(f"{key}/{turn}/{right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(mixed, "little") & mask)
        place = left << half | right
        if place < count:  # a number beyond the end is sent on until it falls inside
            return place


def _fetched(uri: str, cache: Path) -> Path:
    """Shards of a store, copied once per machine by its first process; the others wait for them."""
    store = connect(uri)
    shards = {name: size for name, size in store.list().items() if name.endswith((".bin", ".npy")) and "/" not in name}
    folder = cache / f"shards-{hashlib.sha256(uri.encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in shards.items():
        path = folder / name
        while not (path.exists() and path.stat().st_size == size):
            if os.environ.get("LOCAL_RANK", "0") != "0":
                time.sleep(0.2)
                continue
            temporary = path.with_suffix(".part")
            temporary.write_bytes(store.get(name))
            temporary.replace(path)
    return folder
