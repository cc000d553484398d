"""Several processes of a job as threads of the test, and a store that can be told to fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from checkpoint import CARRIERS, Alone, Block
from store import MissingError, StoreError, TakenError

SCRIPTS = Path(__file__).parents[3] / "src/sizewell/launch/scripts"
PYTHON = Path(__file__).parents[3] / ".venv-train/bin/python"


class Killed(BaseException):
    """The process is gone: nobody catches this."""


class Memory:
    """A store in memory that keeps account of every call, and dies at the n-th put of all."""

    uri = "memory://run"

    def __init__(self, *, overwrites: bool = True, dies_at: int = 10**9) -> None:
        self.objects: dict[str, bytes] = {}
        self.overwrites = overwrites
        self.dies_at = dies_at
        self.puts: list[str] = []
        self.points: list[str] = []
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes) -> None:
        with self._lock:
            if len(self.puts) >= self.dies_at:
                raise Killed(name)
            self.puts.append(name)
            if self.objects.setdefault(name, data) != data:
                raise TakenError(f"{self.uri}/{name}: is taken")

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        if name not in self.objects:
            raise MissingError(f"{self.uri}/{name}: there is no such object")
        data = self.objects[name]
        return data[start:] if length is None else data[start : start + length]

    def list(self, below: str = "") -> dict[str, int]:
        return {name: len(data) for name, data in sorted(self.objects.items()) if name.startswith(below)}

    def point(self, name: str, data: bytes) -> None:
        assert self.overwrites, "a writer that cannot replace was asked to"
        self.points.append(name)
        self.objects[name] = data


class Down(Memory):
    """A store that answers nothing from the n-th put on."""

    def put(self, name: str, data: bytes) -> None:
        try:
            super().put(name, data)
        except Killed:
            raise StoreError(f"{self.uri}/{name}: no answer") from None


class Threads:
    """`checkpoint.Comm` among threads."""

    def __init__(self, rank: int, size: int, barrier: threading.Barrier, board: list[Any]) -> None:
        self.rank, self.size, self._barrier, self._board = rank, size, barrier, board

    def gather(self, data: bytes) -> list[bytes]:
        self._board[self.rank] = data
        self._barrier.wait(20)
        found = list(self._board)
        self._barrier.wait(20)
        return found

    def most(self, value: int) -> int:
        return max(int(each) for each in self.gather(str(value).encode()))


def together(size: int, work: Callable[[Any], Any]) -> list[Any]:
    """What `work` returned, or raised, in each of `size` processes."""
    if size == 1:
        return [_outcome(work, Alone())]
    barrier, board = threading.Barrier(size), [None] * size
    outcomes: list[Any] = [None] * size

    def one(rank: int) -> None:
        outcomes[rank] = _outcome(work, Threads(rank, size, barrier, board))
        if isinstance(outcomes[rank], Killed):
            barrier.abort()  # the others meet nobody

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def _outcome(work: Callable[[Any], Any], comm: Any) -> Any:
    try:
        return work(comm)
    except BaseException as error:  # noqa: BLE001 - handed to the test
        return error


class Table:
    """Tensors of a job, split over the first dimension as FSDP does, the small ones held by all and written by the first."""

    def __init__(
        self, tensors: dict[str, tuple[str, np.ndarray]], rank: int, size: int, *, empty: bool = False
    ) -> None:
        self.parts: list[tuple[Block, np.ndarray]] = []
        for name, (dtype, whole) in tensors.items():
            held = np.zeros_like(whole) if empty else whole.copy()
            split = whole.ndim > 0 and whole.shape[0] >= 2
            rows = -(-whole.shape[0] // size) if split else 0
            low, high = (min(whole.shape[0], rank * rows), min(whole.shape[0], (rank + 1) * rows)) if split else (0, 0)
            mine = held[low:high] if split else held
            if split and low == high:
                continue
            offset = (low, *(0,) * (whole.ndim - 1)) if split else (0,) * whole.ndim
            self.parts.append((self._block(name, dtype, whole.shape, offset, mine, split or rank == 0), mine))

    @staticmethod
    def _block(  # noqa: PLR0917
        name: str, dtype: str, shape: tuple[int, ...], offset: tuple[int, ...], mine: np.ndarray, owner: bool
    ) -> Block:
        assert mine.dtype == np.dtype(CARRIERS[dtype])

        def write(values: np.ndarray) -> None:
            mine[...] = values

        return Block(name, dtype, shape, offset, mine.shape, lambda: mine, write, owner)

    @property
    def blocks(self) -> list[Block]:
        return [block for block, _ in self.parts]

    def same_as(self, tensors: dict[str, tuple[str, np.ndarray]]) -> bool:
        for block, mine in self.parts:
            where = tuple(slice(o, o + e) for o, e in zip(block.offset, block.extent, strict=True))
            if mine.tobytes() != np.ascontiguousarray(tensors[block.name][1][where]).tobytes():
                return False
        return True
