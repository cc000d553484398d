"""Clients that may write: what `act` and the `writes` of each cloud call through. Those of `clouds/` refuse to."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sizewell.clouds.aws import Aws, translated
from sizewell.clouds.calls import CloudError, Reason
from sizewell.clouds.connections import FAILURES
from sizewell.clouds.rest import Reader, document_of, message_of

LOG: Final = logging.getLogger(__name__)
BUSY_TRIES: Final = 20
BUSY_WAIT_S: Final = 15.0


class Boto:
    """Clients of AWS. They are made here and nowhere else."""

    def __init__(self, aws: Aws) -> None:
        self._aws, self._clients = aws, dict[tuple[str, str], Any]()

    def call(self, service: str, region: str, operation: str, **parameters: Any) -> Mapping[str, Any]:
        key = (service, region)
        if key not in self._clients:
            self._clients[key] = self._aws.session.client(service, region_name=region)
        client = self._clients[key]
        answer: Mapping[str, Any] = translated(service, lambda: getattr(client, operation)(**parameters))
        return answer


@dataclass(frozen=True, slots=True)
class Writer:
    """Calls that change something, tried again while the service is busy with another operation."""

    reader: Reader
    sleep: Callable[[float], None] = time.sleep

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **parameters: str) -> dict[str, Any]:
        """The answer to one call; {} where it has no body. CloudError where it was refused."""
        reader = self.reader
        url = reader.url(path, parameters)
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(1, BUSY_TRIES + 1):
            reader.deadline.check(reader.service)
            try:
                answer = reader.http.request(
                    method,
                    url,
                    content=data,
                    headers={"Accept": "application/json", "Content-Type": "application/json", **reader.headers()},
                    timeout=reader.timeouts.read_s,
                )
            except FAILURES as error:  # each call sets a state, so a second one does no harm
                if attempt == BUSY_TRIES:
                    raise CloudError(reader.service, "unanswered", f"no response to {method} {path}") from error
                self._wait(attempt, f"no response to {method} {path}")
                continue
            document, code = document_of(answer.content)
            if 200 <= answer.status_code < 300:
                return document if isinstance(document, dict) else {}
            if attempt < BUSY_TRIES and _is_busy(answer.status_code, code, answer.content):
                self._wait(attempt, f"{method} {path}: status {answer.status_code}")
                continue
            reasons: dict[int, Reason] = {401: "login", 403: "denied", 404: "missing"}
            reason = reasons.get(answer.status_code, "refused" if answer.status_code < 500 else "unanswered")
            detail = f"{method} {path}: status {answer.status_code}: {message_of(document)}"
            raise CloudError(reader.service, reason, detail, code=code)
        raise AssertionError("the last attempt returns or raises")

    def _wait(self, attempt: int, why: str) -> None:
        LOG.info("%s: attempt %d of %d: %s", self.reader.service, attempt, BUSY_TRIES, why)
        self.sleep(BUSY_WAIT_S)


def _is_busy(status: int, code: str, body: bytes) -> bool:
    """Another operation of the cluster is under way (Google: 400 FAILED_PRECONDITION; Azure and Google: 409), or the
    service is.
    """
    held = status == 400 and ("FAILED_PRECONDITION" in code or b"FAILED_PRECONDITION" in body)
    return held or status in (409, 429, 500, 502, 503)
