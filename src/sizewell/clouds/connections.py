"""The one HTTP client: through the proxy that the environment names, with the certificates of the system."""

from __future__ import annotations

import functools
import socket
import ssl
import urllib.request
from http.cookiejar import DefaultCookiePolicy
from typing import Final

import httpx

from sizewell.clouds.calls import Deadline, Timeouts

# A proxy would answer for a machine of its own: the services of a machine's metadata are inside the machine only.
NEAR: Final = ("localhost", "127.0.0.1", "[::1]", "169.254.169.254", "169.254.170.2", "metadata.google.internal")
FAILURES: Final = (httpx.HTTPError, httpx.InvalidURL)


def http_client(*, connections: int = 16) -> httpx.Client:
    """A client that keeps so many connections open. HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY hold.

    It follows no redirect, tries nothing twice and keeps no cookie: what is sent is what the caller wrote, and a token
    goes to no other host. Whoever calls decides what is worth another attempt.
    """
    made = httpx.Client(
        verify=_certificates(),
        mounts={f"all://{host}": None for host in NEAR},
        # No limit: a caller with more threads than kept connections must not wait for one and fail at the wait.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=connections),
        headers={"User-Agent": "sizewell"},
    )
    made.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return made


@functools.cache
def _certificates() -> ssl.SSLContext:
    # Not the list that httpx brings: a company whose proxy opens TLS puts its own certificate into the system's.
    return ssl.create_default_context()


def timeout(limits: Timeouts, deadline: Deadline) -> httpx.Timeout:
    """What one call may take, which is never more than what is left of the deadline."""
    left_s = deadline.left_s() or 0.001
    return httpx.Timeout(min(limits.read_s, left_s), connect=min(limits.connect_s, left_s))


def kind(error: BaseException) -> str:
    """What a message calls a failure: never its text, in which an address with its key may stand."""
    if is_of_proxy(error):
        return "no connection to the proxy of HTTPS_PROXY"
    return "unknown host" if is_name_unknown(error) else type(error).__name__


def is_of_proxy(error: BaseException) -> bool:
    """Whether there is no connection to the proxy that the environment names: no cloud has been asked."""
    if not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return False
    url, proxies = error.request.url, urllib.request.getproxies()
    near = url.host in NEAR or urllib.request.proxy_bypass(url.host)
    if near or not (url.scheme in proxies or "all" in proxies):
        return False
    return not isinstance(error.__cause__ and error.__cause__.__cause__, ssl.SSLError)  # the certificate of a cloud


def is_name_unknown(error: BaseException | None) -> bool:
    """Whether a call failed because no such host is known: without a network, asking again only makes a person wait."""
    while error is not None:
        if isinstance(error, socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False
