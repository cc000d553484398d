"""Whether this machine's clock is right: a wrong one sees idleness and ends that are not there."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from sizewell.clouds.connections import FAILURES, http_client
from sizewell.clouds.rest import base_url
from sizewell.sizing.errors import ServiceError
from sizewell.sizing.providers import CLOUDS

LOG: Final = logging.getLogger(__name__)


def must_be_right(cloud: str, at: datetime, *, off_s_max: float, timeout_s: float = 10.0) -> float:
    """By how many seconds `at` differs from the time that a cloud tells. ServiceError where that is too much, or where
    it tells none.
    """
    url = base_url(CLOUDS[cloud].client, "clock", CLOUDS[cloud].clock)
    try:
        with http_client(connections=1) as http:
            answer = http.head(url, timeout=timeout_s)
        server = parsedate_to_datetime(str(answer.headers.get("Date")))
    except (*FAILURES, ValueError, TypeError) as error:
        raise ServiceError(f"{url} did not return the time ({type(error).__name__}); nothing is stopped") from None
    off_s = (at - server.astimezone(UTC)).total_seconds()
    LOG.debug("%s: this clock is off by %.1f s, %g s are allowed", url, off_s, off_s_max)
    if abs(off_s) > off_s_max:
        raise ServiceError(
            f"this clock is {abs(off_s):.0f} s {'fast' if off_s > 0 else 'slow'} by {url}; {off_s_max:g} s are "
            "allowed\n"
            "  fix: set the clock (chrony, systemd-timesyncd), and run again"
        )
    return off_s
