"""A local stand-in of the parts of GitHub's API that the comment step calls: comments in memory, limits on order."""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

LIMIT = 65_536


class StandIn:
    def __init__(self):
        self.comments = {}
        self.calls = []
        self.answers = []  # (status, headers, body) given to the next writes, before anything is done
        self.token = "token-of-the-job"
        self.limit = LIMIT
        self.read_only = False
        self.viewer = "github-actions[bot]"  # whose the token is
        self.permissions = {"ann": "write", "bo": "admin"}  # of the collaborators
        self._next = 1

    def put(self, body, login="github-actions[bot]", *, edited=False):
        number, self._next = self._next, self._next + 1
        self.comments[number] = {
            "id": number, "node_id": f"IC_{number}", "body": body, "user": {"login": login},
            "minimized": False, "created_at": "2026-10-01T10:00:00Z",
            "updated_at": "2026-10-01T11:00:00Z" if edited else "2026-10-01T10:00:00Z",
        }  # fmt: skip
        return number

    def handle(self, method, path, data, headers):
        self.calls.append((method, urlparse(path).path))
        if headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {}, {"message": "Bad credentials"}
        if self.answers:
            return self.answers.pop(0)
        route = urlparse(path)
        if method == "GET" and re.fullmatch(r"/repos/o/r/issues/7/comments", route.path):
            query = parse_qs(route.query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            everything = [self.comments[key] for key in sorted(self.comments)]
            return 200, {}, everything[(page - 1) * size : page * size]
        found = re.fullmatch(r"/repos/o/r/collaborators/(\w+)/permission", route.path)
        if method == "GET" and found:
            return 200, {}, {"permission": self.permissions.get(found[1], "read")}
        if route.path == "/graphql" and "viewer" in data["query"]:
            return 200, {}, {"data": {"viewer": {"login": self.viewer}}}
        if self.read_only:
            return 403, {}, {"message": "Resource not accessible by integration"}
        if method in ("POST", "PATCH") and isinstance(data, dict) and len(data.get("body", "")) > self.limit:
            return 422, {}, {"message": "Validation Failed: body is too long (maximum is 65536 characters)"}
        if method == "POST" and route.path == "/repos/o/r/issues/7/comments":
            return 201, {}, self.comments[self.put(data["body"], login=self.viewer)]
        if method == "POST" and route.path == "/graphql":
            node = data["variables"]["id"]
            for comment in self.comments.values():
                if comment["node_id"] == node:
                    comment["minimized"] = "unminimizeComment" not in data["query"]
                    return 200, {}, {"data": {}}
            return 200, {}, {"errors": [{"message": "Could not resolve to a node"}]}
        found = re.fullmatch(r"/repos/o/r/issues/comments/(\d+)", route.path)
        if found and int(found[1]) in self.comments:
            if method == "PATCH":
                self.comments[int(found[1])]["body"] = data["body"]
                return 200, {}, self.comments[int(found[1])]
            if method == "DELETE":
                del self.comments[int(found[1])]
                return 204, {}, None
        return 404, {}, {"message": "Not Found"}


@contextmanager
def served(standin):
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True

        def answer(self):
            length = int(self.headers.get("Content-Length") or 0)
            data = json.loads(self.rfile.read(length)) if length else None
            status, headers, body = standin.handle(self.command, self.path, data, self.headers)
            text = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
