"""Burn-in of a file system: reads what lies in a folder with many readers, timed, against what the job has to read.

`python3 read_files.py --folder /data --least 1e9`. Files are read in a random order, each once, from the file system
and not from the machine's memory (their pages are dropped before), until enough bytes or seconds have passed. In a
folder without files it writes some of its own first, and takes them away again. Prints one line of JSON.
Exit code 0: as fast as asked for; 1: too slow; 2: nothing to read, and nothing may be written.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import threading
import time
import uuid
from pathlib import Path

CHUNK = 2**22
OURS = ".burn-in-"


def files_of(folder: Path, enough: int) -> list[Path]:
    """Files with `enough` bytes in all, or all files."""
    files, size = [], 0
    for root, _, names in os.walk(folder):
        for name in names:
            if name.startswith(OURS):  # of another machine, which takes it away
                continue
            path = Path(root) / name
            files.append(path)
            size += path.stat().st_size
            if size >= enough:
                return files
    return files


def write(paths: list[Path], each: int) -> None:
    """`each` bytes into every file, on disk and not only in memory."""
    block = os.urandom(min(CHUNK, each))
    for path in paths:
        with path.open("wb") as file:
            left = each
            while left > 0:
                left -= file.write(block[: min(left, len(block))])
            file.flush()
            os.fsync(file.fileno())


def read(paths: list[Path], *, readers: int, enough: int, seconds_max: float) -> tuple[int, float]:
    """(bytes, seconds) of reading `paths`, each once, with `readers` at a time."""
    waiting, lock, done = list(paths), threading.Lock(), [0]
    ends = time.monotonic() + seconds_max

    def work() -> None:
        while True:
            with lock:
                if not waiting or done[0] >= enough or time.monotonic() >= ends:
                    return
                path = waiting.pop()
            number = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
                while chunk := os.read(number, CHUNK):
                    with lock:
                        done[0] += len(chunk)
                    if done[0] >= enough or time.monotonic() >= ends:
                        break
            finally:
                os.close(number)

    start = time.monotonic()
    threads = [threading.Thread(target=work) for _ in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done[0], max(time.monotonic() - start, 1e-9)


def verdict(*, size: int, seconds: float, least: float, files: int) -> dict[str, object]:
    rate = size / seconds
    return {
        "bytes": size,
        "files": files,
        "seconds": seconds,
        "bytes_per_s": rate,
        "least_bytes_per_s": least,
        "passed": size > 0 and rate >= least,
    }


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="reads a folder, timed")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--least", type=float, default=0.0, help="bytes per second that pass")
    parser.add_argument("--bytes", type=int, default=2**36, help="to read at the most")
    parser.add_argument("--seconds", type=float, default=120.0, help="to read at the longest")
    parser.add_argument("--readers", type=int, default=32)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    args = arguments(words)
    paths, ours = files_of(args.folder, args.bytes), []
    try:
        if not paths:
            paths = ours = [args.folder / f"{OURS}{uuid.uuid4().hex}" for _ in range(args.readers)]
            try:
                write(ours, max(1, min(2**28, args.bytes // args.readers)))
            except OSError as error:
                print(json.dumps({"passed": False, "error": f"{args.folder} is empty and takes nothing: {error}"}))
                return 2
        random.shuffle(paths)
        size, seconds = read(paths, readers=args.readers, enough=args.bytes, seconds_max=args.seconds)
    finally:
        for path in ours:
            path.unlink(missing_ok=True)
    outcome = verdict(size=size, seconds=seconds, least=args.least, files=len(paths))
    print(json.dumps(outcome), flush=True)
    return 0 if outcome["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
