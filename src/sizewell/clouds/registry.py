"""Whether an image or a chart can be pulled: its manifest or its line in an index, asked of the registry itself.

Reading only, without a login: what asks for one is said to be not known. `REGISTRY_ENDPOINT_URL` sets the address of
all registries (a proxy, a replay); the image's own registry then stands in the path.
"""

from __future__ import annotations

import json
import logging
import os
import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlencode, urlsplit

import httpx

from sizewell.clouds.calls import Again, CloudError, Deadline, Timeouts, until_answered
from sizewell.clouds.connections import FAILURES, check_proxy, kind, timeout

LOG: Final = logging.getLogger(__name__)
Pull = Literal["there", "missing", "login"]
_OCI, _DOCKER = "application/vnd.oci.image", "application/vnd.docker.distribution"
_TYPES: Final = (
    f"{_OCI}.index.v1+json, {_OCI}.manifest.v1+json, {_DOCKER}.manifest.list.v2+json, {_DOCKER}.manifest.v2+json"
)
_REFERENCE: Final = re.compile(
    r"(?:(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?)/)?(?P<name>[a-z0-9._/-]+?)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True, slots=True)
class Image:
    """A reference taken apart; images without a registry are Docker Hub's."""

    host: str
    name: str
    reference: str


def image_of(text: str) -> Image | None:
    """The image that a reference names; None where it is none, or names no version.

    >>> image_of("nvcr.io/nvidia/gpu-operator:v26.7.0")
    Image(host='nvcr.io', name='nvidia/gpu-operator', reference='v26.7.0')
    >>> image_of("busybox:1.36").name, image_of("https://example.com/x:1")
    ('library/busybox', None)
    """
    match = _REFERENCE.fullmatch(text)
    if match is None or not (match["tag"] or match["digest"]):
        return None
    host, name = match["host"] or "docker.io", match["name"]
    name = f"library/{name}" if host == "docker.io" and "/" not in name else name
    return Image(host, name, match["digest"] or match["tag"])


@dataclass(frozen=True, kw_only=True)
class Registries:
    """Asks registries by the protocol that all of them share (github.com/opencontainers/distribution-spec)."""

    deadline: Deadline
    http: httpx.Client
    timeouts: Timeouts

    def pull(self, image: Image) -> Pull:
        """Whether the manifest is there. CloudError where the registry gives no answer."""
        host = "registry-1.docker.io" if image.host == "docker.io" else image.host
        path = f"/v2/{image.name}/manifests/{image.reference}"
        answer = self._head(host, path, "")
        if answer.status_code == 401 and (token := self._token(host, answer.headers.get("WWW-Authenticate", ""))):
            answer = self._head(host, path, token)
        return self._meaning(host, answer.status_code)

    def chart(self, repository: str, name: str, version: str) -> Pull:
        """Whether a chart's version is in a repository's index, or its manifest in a registry (oci://)."""
        if repository.startswith("oci://"):
            parts = urlsplit(repository)
            return self.pull(Image(parts.netloc, parts.path.strip("/"), version))
        parts = urlsplit(repository)
        answer = self._ask("GET", parts.netloc, f"{parts.path.rstrip('/')}/index.yaml", {})
        meaning = self._meaning(parts.netloc, answer.status_code)
        if meaning != "there":
            return meaning
        text = answer.content.decode(errors="replace")
        listed = re.search(rf"^  {re.escape(name)}:\n(.*?)(?=^  [^\s-]|\Z)", text, re.MULTILINE | re.DOTALL)
        version_line = listed and re.search(
            rf"version: [\"']?v?{re.escape(version.removeprefix('v'))}[\"']?\s", listed[1]
        )
        return "there" if version_line else "missing"

    def _head(self, host: str, path: str, token: str) -> httpx.Response:
        headers = {"Accept": _TYPES, **({"Authorization": f"Bearer {token}"} if token else {})}
        return self._ask("HEAD", host, path, headers)

    def _token(self, host: str, challenge: str) -> str:
        """The token for everybody, from where the registry says that it is given out; "" where it says none."""
        stated = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        realm = urlsplit(stated.pop("realm", ""))
        if realm.scheme != "https" and not os.environ.get("REGISTRY_ENDPOINT_URL"):
            return ""
        answer = self._ask("GET", realm.netloc or host, f"{realm.path}?{urlencode(stated)}", {})
        try:
            document = json.loads(answer.content)
        except ValueError:
            return ""
        return str(document.get("token") or document.get("access_token") or "")

    def _ask(self, method: str, host: str, path: str, headers: dict[str, str]) -> httpx.Response:
        base = os.environ.get("REGISTRY_ENDPOINT_URL")
        url = f"{base.rstrip('/')}/{host}{path}" if base else f"https://{host}{path}"

        def attempt(number: int) -> httpx.Response | Again:
            self.deadline.check(host)
            last = number == self.timeouts.attempts
            limit = timeout(self.timeouts, self.deadline)
            try:
                answer = self.http.request(method, url, headers=headers, timeout=limit)
            except FAILURES as error:
                check_proxy(host, error)
                if last:
                    raise CloudError(host, "unanswered", f"no response ({kind(error)})") from error
                return Again(self.timeouts.wait_s(number))
            LOG.info("%s %s%s: %d", method, host, path.partition("?")[0], answer.status_code)
            again = not last and answer.status_code in (429, 500, 502, 503, 504)
            return Again(self.timeouts.wait_s(number)) if again else answer

        return until_answered(attempt, lambda seconds: self.deadline.sleep(seconds, host))

    def _meaning(self, host: str, status: int) -> Pull:
        if status == 200:
            return "there"
        if status in (401, 403):
            return "login"
        if status == 404:
            return "missing"
        raise CloudError(host, "unanswered", f"status {status}")
