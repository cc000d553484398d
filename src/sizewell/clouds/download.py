"""A large file over HTTPS, resumed where it broke off, whole or not there at all."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import urllib3

from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.pool import Pool

CHUNK_BYTES: Final = 1 << 20


def download(service: str, url: str, path: Path, deadline: Deadline, *, timeouts: Timeouts | None = None) -> None:
    """Bring `url` to `path`. What broke off lies beside it as `.part` and is continued, if the file is still the same.

    CloudError where it does not come whole in all attempts.
    """
    limits = timeouts or Timeouts()
    part, tag = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.etag")
    pool = Pool()
    path.parent.mkdir(parents=True, exist_ok=True)
    detail = ""
    for attempt in range(1, limits.attempts + 1):
        deadline.check(service)
        try:
            detail = _continue(pool, url, part, tag, limits)
        except urllib3.exceptions.NameResolutionError as error:  # no network: asking again only makes a person wait
            detail = f"no response from {urlsplit(url).netloc} ({type(error).__name__})"
            raise CloudError(service, "unanswered", detail, local=True) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            detail = f"broke off ({type(error).__name__})"
        if not detail:
            part.replace(path)
            tag.unlink(missing_ok=True)
            return
        if attempt < limits.attempts:
            deadline.sleep(limits.wait_s(attempt), service)
    raise CloudError(service, "unanswered", f"{url.partition('?')[0]}: {detail}, {limits.attempts} attempts")


def _continue(pool: urllib3.PoolManager, url: str, part: Path, tag: Path, limits: Timeouts) -> str:
    """One attempt; what kept the file from being whole, or ""."""
    held = part.stat().st_size if part.exists() and tag.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if held:
        headers |= {"Range": f"bytes={held}-", "If-Range": tag.read_text(encoding="utf-8")}
    answer = pool.request(
        "GET",
        url,
        headers=headers,
        preload_content=False,
        retries=False,
        redirect=False,
        timeout=urllib3.Timeout(connect=limits.connect_s, read=limits.read_s),
    )
    try:
        if answer.status not in (200, 206):
            return f"status {answer.status}"
        if answer.status == 200:
            held = 0
        named = answer.headers.get("ETag", "")
        if named:
            tag.write_text(named, encoding="utf-8")
        else:
            tag.unlink(missing_ok=True)
        length = answer.headers.get("Content-Length")
        with part.open("ab" if held else "wb") as file:
            for chunk in answer.stream(CHUNK_BYTES, decode_content=False):
                file.write(chunk)
        expected = None if length is None else held + int(length)
        size = part.stat().st_size
        return "" if expected in (None, size) else f"{size:,} of {expected:,} bytes"
    finally:
        answer.release_conn()


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
