"""Google Cloud Storage and Azure Blob Storage in a few lines, with the real clients before them. Run in .venv-train.

They hold their writer to what the checkpoint store's identity may do: make, get and list. Delete is refused, and so is on
Google Cloud a write over something, which needs the right to delete. A bucket or container "closed" refuses everything.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

OBJECTS: dict[str, bytes] = {}
CALLS: list[str] = []
BLOCKS: dict[str, bytes] = {}
LOCKS: dict[str, dict[str, str] | None] = {}  # of Google's objects, as their uploads state them
SESSIONS: dict[str, str] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().strip(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, data: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _ranged(self, data: bytes, asked: str | None) -> None:
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", asked or "")
        tag = {"ETag": f'"{hashlib.sha256(data).hexdigest()[:16]}"', "Last_Modified": "Sat, 21 Nov 2026 12:00:00 GMT"}
        if not found:
            self._answer(200, data, **tag, Content_Type="application/octet-stream", x_ms_blob_type="BlockBlob")
            return
        start, end = int(found[1]), min(int(found[2] or len(data) - 1), len(data) - 1)
        where = f"bytes {start}-{end}/{len(data)}"
        self._answer(206, data[start : end + 1], **tag, Content_Range=where, x_ms_blob_type="BlockBlob")


class Google(_Handler):
    """The JSON interface: simple and resumable uploads, media, list."""

    def _error(self, status: int, text: str) -> None:
        body = json.dumps({"error": {"code": status, "message": text}}).encode()
        self._answer(status, body, Content_Type="application/json")

    def _do(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = self._body()
        if session := query.get("upload_id"):
            self._make(SESSIONS.pop(session), body)
            return
        found = re.fullmatch(r"/(?:upload/|download/)?storage/v1/b/([^/]+)/o(?:/(.+))?", url.path)
        if not found:
            self._error(404, "no such method")
            return
        bucket, name = found[1], unquote(found[2] or query.get("name", ""))
        if bucket == "closed":
            self._error(403, "writer does not have storage.objects access")
        elif bucket == "nowhere":
            self._error(404, "The specified bucket does not exist.")
        elif self.command == "POST":
            kind = query["uploadType"]
            if kind == "multipart":
                boundary = self.headers["Content-Type"].split("boundary=")[1].strip("\"'").encode()
                parts = body.split(b"--" + boundary)
                stated = json.loads(parts[1].split(b"\r\n\r\n", 1)[1])
                name = stated["name"]
                LOCKS[f"gs/{bucket}/{name}"] = stated.get("retention")
                body = parts[2].split(b"\r\n\r\n", 1)[1][:-2]
            else:
                name = json.loads(body)["name"]
            key = f"gs/{bucket}/{name}"
            if key in OBJECTS:
                precondition = query.get("ifGenerationMatch") == "0"
                self._error(412 if precondition else 403, "precondition" if precondition else "storage.objects.delete")
            elif kind == "multipart":
                self._make(key, body)
            else:
                SESSIONS[str(len(SESSIONS))] = key
                host = f"http://{self.headers['Host']}{url.path}"
                self._answer(200, b"{}", Location=f"{host}?upload_id={len(SESSIONS) - 1}")
        elif self.command == "DELETE":
            self._error(403, "writer does not have storage.objects.delete")
        elif name:
            data = OBJECTS.get(f"gs/{bucket}/{name}")
            if data is None:
                self._error(404, f"No such object: {bucket}/{name}")
            else:
                self._ranged(data, self.headers.get("Range"))
        else:
            prefix = f"gs/{bucket}/{query.get('prefix', '')}"
            items = [
                {"name": key.split("/", 2)[2], "size": str(len(data)), "bucket": bucket}
                for key, data in sorted(OBJECTS.items())
                if key.startswith(prefix)
            ]
            self._answer(200, json.dumps({"items": items}).encode(), Content_Type="application/json")

    def _make(self, key: str, data: bytes) -> None:
        OBJECTS[key] = data
        CALLS.append(f"make {key}")
        _, bucket, name = key.split("/", 2)
        made = {"name": name, "bucket": bucket, "size": str(len(data)), "generation": "1", "crc32c": _crc32c(data)}
        self._answer(200, json.dumps(made).encode(), Content_Type="application/json")

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _do  # noqa: N815  (names of http.server)


def _crc32c(data: bytes) -> str:
    import google_crc32c

    return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()


class Azure(_Handler):
    """Put Blob, Put Block, Put Block List, Get Blob, List Blobs."""

    def _error(self, status: int, code: str) -> None:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        self._answer(status, body, x_ms_error_code=code, Content_Type="application/xml")

    def _do(self) -> None:
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = self._body()
        _, _, container, *rest = unquote(url.path).split("/", 3)
        key = f"az/{container}/{rest[0] if rest else ''}"
        if container == "closed":
            self._error(403, "AuthorizationPermissionMismatch")
        elif container == "nowhere":
            self._error(404, "ContainerNotFound")
        elif self.command == "PUT" and query.get("comp") == "block":
            BLOCKS[query["blockid"]] = body
            self._answer(201)
        elif self.command == "PUT":
            if self.headers.get("If-None-Match") == "*" and key in OBJECTS:
                self._error(409, "BlobAlreadyExists")
                return
            if query.get("comp") == "blocklist":
                body = b"".join(BLOCKS[each] for each in re.findall(r"<Latest>(.*?)</Latest>", body.decode()))
            OBJECTS[key] = body
            CALLS.append(f"make {key}")
            self._answer(201, ETag='"1"', Last_Modified="Sat, 21 Nov 2026 12:00:00 GMT")
        elif self.command == "DELETE":
            self._error(403, "AuthorizationPermissionMismatch")
        elif rest:
            data = OBJECTS.get(key)
            if data is None:
                self._error(404, "BlobNotFound")
            else:
                self._ranged(data, self.headers.get("x-ms-range") or self.headers.get("Range"))
        else:
            prefix = key + query.get("prefix", "")
            blobs = "".join(
                f"<Blob><Name>{escape(name.split('/', 2)[2])}</Name><Properties><Content-Length>{len(data)}</Content-Length>"
                "<BlobType>BlockBlob</BlobType></Properties></Blob>"
                for name, data in sorted(OBJECTS.items())
                if name.startswith(prefix)
            )
            xml = f"<?xml version='1.0'?><EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>"
            self._answer(200, xml.encode(), Content_Type="application/xml")

    do_GET = do_PUT = do_DELETE = do_HEAD = _do  # noqa: N815  (names of http.server)


def serve(handler: type[_Handler]) -> int:
    """Start one in the background; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return int(server.server_address[1])
