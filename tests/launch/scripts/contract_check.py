"""The checkpoint contract against S3 with conditional writes: writers are killed, objects damaged, answers lost.

    python contract_check.py KILLS CORRUPTIONS LOST      # prints what happened as JSON; run in .venv-train

The store is moto's server, the client is boto3. Between them stands a proxy that can let a request through and end the
connection in place of the answer. After every fault a reader has to find the newest checkpoint that a writer was told is
saved, or a newer one, with every bit as it was.
"""

# ruff: noqa: E402

from __future__ import annotations

import http.client
import http.server
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3] / "src/sizewell/launch/scripts")]

import boto3
import checkpoint
import numpy as np
from moto.server import ThreadedMotoServer
from processes import Table
from store import StoreError, connect

WRITERS = 8  # runs at once that lose answers, since each waits before it asks again
PART = 512  # bytes: several parts for each save


def state(step: int) -> dict[str, tuple[str, np.ndarray]]:
    """What a run has at a step."""
    values = np.random.default_rng(step)
    return {"w": ("F32", values.random((64, 8), dtype="<f4")), "n": ("I64", np.array(step, "<i8"))}


class Proxy(http.server.BaseHTTPRequestHandler):
    """Hands requests on to moto; loses answers of writes while `share` says so."""

    protocol_version = "HTTP/1.1"
    behind, share, lost = 0, 0.0, 0
    lock = threading.Lock()

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        server = http.client.HTTPConnection("127.0.0.1", self.behind, timeout=30)
        headers = {key: value for key, value in self.headers.items() if key.lower() != "expect"}
        server.request(self.command, self.path, body, headers)
        said = server.getresponse()
        content = said.read()
        server.close()
        with Proxy.lock:
            lose = self.command == "PUT" and random.random() < Proxy.share  # noqa: S311
            Proxy.lost += lose
        if lose:
            self.close_connection = True
            return
        self.send_response(said.status)
        for key, value in said.getheaders():
            if key.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(key, value)
        length = said.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


def read(uri: str) -> int:
    """The step that a reader finds; every tensor is compared. -1 where there is none."""
    table = Table(state(0), 0, 1, empty=True)
    manifest = checkpoint.load(connect(uri), checkpoint.Alone(), table.blocks)
    if manifest is None:
        return -1
    assert table.same_as(state(manifest.step)), f"step {manifest.step} was read with other bits"
    return manifest.step


def save(store: Any, step: int) -> None:
    checkpoint.save(store, checkpoint.Alone(), step, Table(state(step), 0, 1).blocks, {}, part_bytes=PART)


def kills(uri: str, count: int) -> Counter[str]:
    """A writer saves step after step, says so, and is killed in the middle of anything."""
    found: Counter[str] = Counter()
    said = -1
    for _ in range(count):
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            store = connect(uri)
            os.write(into, b"ready\n")
            for step in range(said + 1, said + 10_000):
                save(store, step)
                os.write(into, f"{step}\n".encode())
        os.close(into)
        with os.fdopen(out) as lines:
            assert lines.readline() == "ready\n"
            time.sleep(random.uniform(0.0, 0.4))  # noqa: S311
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            told = [int(line) for line in lines if line.endswith("\n")]
        said = max([said, *told])
        newest = read(uri)
        found["kills"] += 1
        found["complete checkpoints lost"] += newest < said
        said = max(said, newest)
    left, _ = checkpoint.leftovers(connect(uri), datetime.now(UTC) + timedelta(seconds=1))
    found["parts left by saves cut off"] = len(left)
    found["saves cut off"] = len({name.split("/")[1] for name in left})
    found["kept by the store"] = checkpoint.prune(connect(uri), left, print)
    found["parts left after pruning"] = len(checkpoint.leftovers(connect(uri), datetime.now(UTC))[0])
    found["complete checkpoints lost"] += read(uri) < said
    return found


def corruptions(uri: str, bucket: str, count: int) -> Counter[str]:
    """Of two checkpoints the newest is damaged, one object at a time: the older one is read, or the newest whole."""
    found: Counter[str] = Counter()
    s3 = boto3.client("s3")
    for number in range(count):
        at = f"{uri}/{number}"
        store = connect(at)
        save(store, 1)
        save(store, 2)
        names = [name for name in store.list() if "/000000000002-" in name]
        name = random.choice(sorted(names))  # noqa: S311
        key = f"{at.removeprefix(f's3://{bucket}/')}/{name}"
        data = bytearray(store.get(name))
        how = random.choice(("a bit", "cut off", "gone", "zeros", "longer"))  # noqa: S311
        if how == "gone":
            s3.delete_object(Bucket=bucket, Key=key)
        else:
            place = random.randrange(len(data))  # noqa: S311
            if how == "a bit":
                data[place] ^= 1 << random.randrange(8)  # noqa: S311
            data = {"cut off": data[:place], "zeros": bytearray(len(data)), "longer": data + b"x"}.get(how, data)
            s3.put_object(Bucket=bucket, Key=key, Body=bytes(data))
        found["corruptions"] += 1
        found[f"of which {how}"] += 1
        found["complete checkpoints lost"] += read(at) != 1
    return found


def lost_answers(uri: str, count: int) -> Counter[str]:
    """Writes are done and nobody hears of it: what a run was told is saved is whole, and there as often as it was told."""
    found: Counter[str] = Counter()

    def writer(number: int) -> None:
        store, step, told = connect(f"{uri}/{number}"), 0, 0
        while Proxy.lost < count:
            step += 1
            try:
                save(store, step)
            except StoreError:  # eight answers of one write were lost: an error, which a run survives
                found["saves that ended with an error"] += 1
                continue
            told += 1
        found["saves"] += told
        steps = {manifest.step for manifest in checkpoint.newest(store)}
        found["complete checkpoints lost"] += max(0, told - len(steps)) + (read(f"{uri}/{number}") < max(steps))

    Proxy.share = 0.4
    threads = [threading.Thread(target=writer, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Proxy.share = 0.0
    found["lost answers"] = Proxy.lost
    return found


def main() -> None:
    wanted = [int(word) for word in sys.argv[1:4]]
    random.seed(14)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    Proxy.behind = moto.get_host_and_port()[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # killed writers leave their connections
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    os.environ |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}", "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    boto3.client("s3").create_bucket(Bucket="ckpt")
    found = {"kills": kills("s3://ckpt/kills", wanted[0])}
    found["corruptions"] = corruptions("s3://ckpt/corruptions", "ckpt", wanted[1])
    found["lost answers"] = lost_answers("s3://ckpt/lost", wanted[2])
    print(json.dumps(found))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    main()
