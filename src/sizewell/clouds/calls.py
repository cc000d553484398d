"""What every client shares: why a call failed, trying again and for how long, and asking several things at once."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from sizewell.sizing.errors import ServiceError

T = TypeVar("T")
LOG: Final = logging.getLogger(__name__)
PROXY_FIX: Final = "unset or correct HTTPS_PROXY, then run this again"
Reason = Literal["login", "denied", "missing", "refused", "unanswered"]


class CloudError(ServiceError):
    """A call that gave no answer; `reason` says whether a person can mend it.

    login: no credentials, or expired ones; denied: the caller lacks a right; missing: nothing has that name; refused:
    the API rejects the request (a service that is switched off, a wrong value); unanswered: time-outs, throttling to
    the end, server errors, and answers that are not what the API documents. `local` says that the cause lies on this
    machine (no network, no credentials, a client that is not installed): another call would end alike.
    """

    def __init__(
        self, service: str, reason: Reason, detail: str, *, code: str = "", fix: str = "", local: bool = False
    ) -> None:
        self.service, self.reason, self.detail, self.code, self.fix = service, reason, detail, code, fix
        self.local = local
        super().__init__(f"{service}: {detail}" + (f"\n  fix: {fix}" if fix else ""))


class ProxyError(CloudError):
    """The proxy that the environment names does not respond, or it refuses (`refusal`): no cloud was asked."""

    def __init__(self, service: str, proxy: str, refusal: str = "") -> None:
        self.refusal = refusal  # may hold for one address alone; a proxy that does not respond opens none
        detail = f"the proxy {proxy} " + (f"refuses the connection: {refusal}" if refusal else "does not respond")
        super().__init__(service, "unanswered", detail, fix=PROXY_FIX, local=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long one call may take, and how often it is tried: waits are random up to `backoff_s` doubled each time."""

    connect_s: float = 5.0
    read_s: float = 20.0
    attempts: int = 5
    backoff_s: float = 0.5
    backoff_s_max: float = 20.0

    def wait_s(self, attempt: int, *, retry_after_s: float | None = None) -> float:
        """Seconds before the next attempt (`attempt` counts from 1): what the server asked for, or full jitter.

        >>> Timeouts(backoff_s=1.0).wait_s(3) <= 4.0
        True
        >>> Timeouts().wait_s(1, retry_after_s=2.5)
        2.5
        """
        if retry_after_s is not None:
            return max(retry_after_s, 0.0)
        return random.uniform(0.0, min(self.backoff_s * 2 ** (attempt - 1), self.backoff_s_max))  # noqa: S311 - jitter


@dataclass(slots=True)
class Deadline:
    """The end of everything that is asked together; calls that would begin later fail as unanswered.

    >>> Deadline(10.0, clock=lambda: 5.0).left_s()
    10.0
    """

    total_s: float
    clock: Callable[[], float] = time.monotonic
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = self.clock() + self.total_s

    def left_s(self) -> float:
        """Seconds left; 0 when it is over."""
        return max(self._end - self.clock(), 0.0)

    def check(self, service: str) -> None:
        """CloudError (unanswered) when the time is over."""
        if self.left_s() <= 0:
            raise CloudError(
                service, "unanswered", f"not called: the time limit of {self.total_s:g} s for all calls was reached"
            )

    def sleep(self, seconds: float, service: str) -> None:
        """Wait; CloudError (unanswered) at once where the wait would outlast the deadline."""
        if seconds >= self.left_s():
            detail = f"requests a wait of {seconds:.1f} s, but only {self.left_s():.1f} s are left"
            raise CloudError(service, "unanswered", detail)
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Again:
    """What an attempt returns in place of an answer: another one may have it, after a wait."""

    wait_s: float


def until_answered(attempt: Callable[[int], T | Again], wait: Callable[[float], None]) -> T:
    """The first answer of `attempt`, which is given its number, from 1, and raises where no further one is worth it.

    The loop is our own and the only one. A library's knows neither a deadline over many calls, which refuses a wait at
    its beginning, nor a budget of waits that several calls share (docs/adr/0014).
    """
    number = 1
    while isinstance(answer := attempt(number), Again):
        LOG.info("attempt %d had no answer; waiting %.1f s", number, answer.wait_s)
        wait(answer.wait_s)
        number += 1
    return answer


def together(
    questions: Mapping[str, Callable[[], T]], *, begun: Callable[[str], None] | None = None, at_once: int = 16
) -> dict[str, T | CloudError]:
    """Each question's answer, or the CloudError that it ended in, asked `at_once` at a time and in the order given.

    `begun` is called with the name of each question as it is asked. Any other exception is a bug and is raised.
    """

    def ask(name: str) -> T | CloudError:
        if begun is not None:
            begun(name)
        try:
            return questions[name]()
        except CloudError as error:
            return error

    with ThreadPoolExecutor(max_workers=max(1, min(at_once, len(questions)))) as pool:
        return dict(zip(questions, pool.map(ask, questions), strict=True))
