"""JSON over HTTPS, reading only: what Google's and Azure's APIs and the public price lists have in common."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

import httpx

from sizewell.clouds.calls import Again, CloudError, Deadline, Reason, Timeouts, until_answered
from sizewell.clouds.connections import FAILURES, check_proxy, http_client, is_name_unknown, kind, timeout

LOG: Final = logging.getLogger(__name__)
_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_PAGES_MAX: Final = 10_000
# Google answers 403 for a rate limit too; only its reason tells (Cloud APIs, "Errors").
_LIMITED: Final = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"})


def base_url(cloud: str, service: str, default: str) -> str:
    """A service's address: `CLOUD_ENDPOINT_URL_SERVICE`, `CLOUD_ENDPOINT_URL`, or the default.

    The same names that boto3 reads (`AWS_ENDPOINT_URL_EC2`), so that a proxy or a replay serves all three clouds.
    """
    prefix = f"{cloud.upper()}_ENDPOINT_URL"
    return os.environ.get(f"{prefix}_{service.upper()}") or os.environ.get(prefix) or default


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One API: `get`, `query` (a POST that only reads) and `pages`.

    `headers` gives those of each call, such as a bearer token that expires. Paths are joined to `base`; a link to a
    next page is followed on `base`'s host only, so that a token never leaves it.
    """

    service: str
    base: str
    deadline: Deadline
    headers: Callable[[], Mapping[str, str]] = dict
    timeouts: Timeouts = field(default_factory=Timeouts)
    http: httpx.Client = field(default_factory=http_client)

    def get(self, path: str, **parameters: str | int) -> dict[str, Any]:
        """The JSON object at `path`. CloudError where there is none."""
        return self._call("GET", self.url(path, parameters), None)

    def query(self, path: str, body: Mapping[str, object], **parameters: str | int) -> dict[str, Any]:
        """The answer to a POST that changes nothing, such as `:testIamPermissions`. CloudError where there is none."""
        return self._call("POST", self.url(path, parameters), json.dumps(body).encode())

    def pages(
        self, path: str, *, items: str, link: str = "nextLink", parameter: str = "", **parameters: str | int
    ) -> Iterator[dict[str, Any]]:
        """Every item of all pages: the next one by its `link`, or by `nextPageToken` in the `parameter` named.

        CloudError where a page comes a second time or the items are no list of objects. An absent list is empty where
        pages are asked for by a `parameter`, as Google leaves out what is empty.
        """
        url = self.url(path, parameters)
        seen = {url}
        for _ in range(_PAGES_MAX):
            page = self._call("GET", url, None)
            rows = page.get(items, [] if parameter else None)
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise CloudError(self.service, "unanswered", f"{items!r} is not a list of objects at {path}")
            yield from rows
            following = page.get("nextPageToken") if parameter else page.get(link)
            if not following:
                return
            url = self.url(path, {**parameters, parameter: following}) if parameter else self._own(str(following))
            if url in seen:
                raise CloudError(self.service, "unanswered", f"sent the same page again at {path}")
            seen.add(url)
        raise CloudError(self.service, "unanswered", f"more than {_PAGES_MAX:,} pages at {path}")

    def url(self, path: str, parameters: Mapping[str, str | int]) -> str:
        given = urlencode(parameters, safe="$,/:'()")
        url = self.base.rstrip("/") + "/" + path.lstrip("/")
        return f"{url}{'&' if '?' in url else '?'}{given}" if given else url

    def _own(self, link: str) -> str:
        """A link on the host of `base`: the path and query of what was sent, wherever it points."""
        parts = urlsplit(urljoin(self.base, link))
        root = urlsplit(self.base)
        return f"{root.scheme}://{root.netloc}{parts.path}" + (f"?{parts.query}" if parts.query else "")

    def _call(self, method: str, url: str, body: bytes | None) -> dict[str, Any]:
        return until_answered(
            lambda number: self._attempt(number, method, url, body),
            lambda seconds: self.deadline.sleep(seconds, self.service),
        )

    def _attempt(self, number: int, method: str, url: str, body: bytes | None) -> dict[str, object] | Again:
        last = number == self.timeouts.attempts
        self.deadline.check(self.service)
        parts = urlsplit(url)
        try:
            answer = self.http.request(
                method,
                url,
                content=body,
                headers={"Accept": "application/json", "Content-Type": "application/json", **self.headers()},
                timeout=timeout(self.timeouts, self.deadline),
            )
        except FAILURES as error:
            LOG.info("%s %s%s: %s", method, parts.netloc, parts.path, kind(error))
            if number > 1 or isinstance(error, (httpx.ConnectError, httpx.ReadTimeout)):
                check_proxy(self.service, error)  # a connection or a busy proxy may mend itself once
            unknown = is_name_unknown(error)
            if last or unknown:
                detail = f"no response from {parts.netloc} ({kind(error)}), attempt {number}"
                raise CloudError(self.service, "unanswered", detail, local=unknown) from error
            return Again(self.timeouts.wait_s(number))
        # Without the query: a key of an API may be in it.
        LOG.info("%s %s%s: %d, %d bytes", method, parts.netloc, parts.path, answer.status_code, len(answer.content))
        document, code = document_of(answer.content)
        limited = answer.status_code in _AGAIN or code in _LIMITED
        if limited and not last:
            return Again(self.timeouts.wait_s(number, retry_after_s=_seconds(answer.headers.get("Retry-After"))))
        return self._answered(answer.status_code, document, code, limited=limited)

    def _answered(self, status: int, document: object, code: str, *, limited: bool) -> dict[str, object]:
        if status == 200 and isinstance(document, dict) and "error" not in document:
            return document
        message = message_of(document)
        if status == 200:
            detail = f"status 200 with {message or 'something that is not a JSON object'}"
            raise CloudError(self.service, "unanswered", detail, code=code)
        reasons: dict[int, Reason] = {401: "login", 403: "denied", 404: "missing"}
        reason = "unanswered" if limited or status >= 500 or status < 400 else reasons.get(status, "refused")
        raise CloudError(self.service, reason, f"status {status}" + (f": {message}" if message else ""), code=code)


def document_of(data: bytes) -> tuple[object, str]:
    """The parsed body (None where it is no JSON) and the code or reason of an error in it."""
    try:
        document = json.loads(data)
    except ValueError:
        return None, ""
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return document, ""
    for detail in error.get("details") or []:  # Google's ErrorInfo
        if isinstance(detail, dict) and isinstance(detail.get("reason"), str):
            return document, detail["reason"]
    for each in error.get("errors") or []:  # Google's older form
        if isinstance(each, dict) and isinstance(each.get("reason"), str):
            return document, each["reason"]
    return document, str(error.get("status") or error.get("code") or "")


def message_of(document: object) -> str:
    error = document.get("error") if isinstance(document, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(text or "").split())[:300]


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isdigit() else None
