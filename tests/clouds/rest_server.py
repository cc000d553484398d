"""A local HTTP server that answers what a test tells it, and remembers what it was asked."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CONNECTIONS = 100


@dataclass
class Reply:
    """One answer: a JSON document or raw bytes, a status, headers, and a delay."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


@dataclass
class Server:
    """`answers` maps a method and a path with its query, or the path alone, to replies; the last one repeats."""

    url: str = ""
    answers: dict[str, list[Reply] | Callable[[str, Any], Reply]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def reply(self, key: str, *replies: Reply) -> None:
        self.answers[key] = list(replies)


@contextmanager
def serving() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # the body does not wait until the header is acknowledged

        def log_message(self, *_: Any) -> None:
            pass

        def _answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            key = f"{self.command} {self.path}"
            state.asked.append(key)
            state.headers.append(dict(self.headers))
            found = state.answers.get(key) or state.answers.get(key.partition("?")[0])
            if callable(found):
                reply = found(self.path, json.loads(sent or b"null"))
            elif found:
                reply = found.pop(0) if len(found) > 1 else found[0]
            else:
                reply = Reply({"error": {"code": 404, "message": f"nothing planned for {key}"}}, 404)
            time.sleep(reply.delay_s)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(data)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_HEAD = _answer  # noqa: N815

    class Listening(ThreadingHTTPServer):
        request_queue_size = 128  # of connections that are opened at once

    with Listening(("127.0.0.1", 0), Handler) as running:
        state.url = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield state
        running.shutdown()
        thread.join()
    if threading.active_count() > CONNECTIONS:  # one thread for each: clients' pools are in cycles and keep them open
        gc.collect()
