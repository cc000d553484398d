"""A large file over HTTPS, resumed where it broke off, whole or not there at all."""

from __future__ import annotations

import gzip
import io
import logging
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx

from sizewell.clouds.calls import Again, CloudError, Deadline, Timeouts, until_answered
from sizewell.clouds.connections import FAILURES, check_proxy, http_client, is_name_unknown, kind, timeout

LOG: Final = logging.getLogger(__name__)


def download(service: str, url: str, path: Path, deadline: Deadline, *, timeouts: Timeouts | None = None) -> None:
    """Bring `url` to `path`. What broke off lies beside it as `.part` and is continued, if the file is still the same.

    CloudError where it does not come whole in all attempts.
    """
    limits = timeouts or Timeouts()
    part, tag = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.etag")
    path.parent.mkdir(parents=True, exist_ok=True)

    def attempt(number: int) -> Again | None:
        deadline.check(service)
        try:
            detail = _continue(http, url, part, tag, timeout(limits, deadline))
        except (*FAILURES, OSError) as error:
            check_proxy(service, error)
            if is_name_unknown(error):
                detail = f"no response from {urlsplit(url).netloc} ({kind(error)})"
                raise CloudError(service, "unanswered", detail, local=True) from error
            detail = f"broke off ({kind(error)})"
        if detail and number == limits.attempts:
            raise CloudError(service, "unanswered", f"{url.partition('?')[0]}: {detail}, {number} attempts")
        return Again(limits.wait_s(number)) if detail else None

    with http_client(connections=1) as http:
        until_answered(attempt, lambda seconds: deadline.sleep(seconds, service))
    part.replace(path)
    tag.unlink(missing_ok=True)
    LOG.info("%s: %d bytes in %s", service, path.stat().st_size, path)


def _continue(http: httpx.Client, url: str, part: Path, tag: Path, limit: httpx.Timeout) -> str:
    """One attempt; what kept the file from being whole, or ""."""
    held = part.stat().st_size if part.exists() and tag.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if held:
        headers |= {"Range": f"bytes={held}-", "If-Range": tag.read_text(encoding="utf-8")}
    with http.stream("GET", url, headers=headers, timeout=limit) as answer:
        if answer.status_code not in (200, 206):
            return f"status {answer.status_code}"
        if answer.status_code == 200:
            held = 0
        named = answer.headers.get("ETag", "")
        if named:
            tag.write_text(named, encoding="utf-8")
        else:
            tag.unlink(missing_ok=True)
        length = answer.headers.get("Content-Length")
        with part.open("ab" if held else "wb") as file:
            for chunk in answer.iter_raw():  # of no stated size: one that breaks off would lose its part of it
                file.write(chunk)
    expected = None if length is None else held + int(length)
    size = part.stat().st_size
    return "" if expected in (None, size) else f"{size:,} of {expected:,} bytes"


def lines(service: str, path: Path) -> Iterator[str]:
    """The lines of a file as text, unpacked where it is gzip. CloudError where it is cut off or not UTF-8."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as content:
            yield from io.TextIOWrapper(content, encoding="utf-8", newline="")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CloudError(service, "unanswered", f"the packed file is damaged or cut off: {error}") from error
    except UnicodeDecodeError as error:
        raise CloudError(service, "unanswered", "is not UTF-8") from error
