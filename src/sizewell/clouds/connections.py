"""The one HTTP client: through the proxy that the environment names, with the certificates of the system."""

from __future__ import annotations

import functools
import socket
import ssl
import urllib.request
from http.cookiejar import DefaultCookiePolicy
from typing import Final

import httpx

from sizewell.clouds.calls import Deadline, ProxyError, Timeouts

# A proxy would answer for a machine of its own: the services of a machine's metadata are inside the machine only.
NEAR: Final = ("localhost", "127.0.0.1", "[::1]", "169.254.169.254", "169.254.170.2", "metadata.google.internal")
_OPENED: Final = "sizewell_tunnel"
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
        event_hooks={"request": [_note_tunnel]},
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
    return "unknown host" if is_name_unknown(error) else type(error).__name__


def check_proxy(service: str, error: BaseException) -> None:
    """ProxyError where the proxy that the environment names gave no connection: no cloud has been asked."""
    if proxy := _failed_proxy(error):
        raise ProxyError(service, proxy, str(error) if isinstance(error, httpx.ProxyError) else "") from error


def _failed_proxy(error: BaseException) -> str:
    """Host and port of the proxy; "" where another failed."""
    if not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.ReadTimeout, httpx.ProxyError)):
        return ""
    url, proxies = error.request.url, urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or url.host in NEAR or urllib.request.proxy_bypass(url.host):
        return ""
    if isinstance(error, httpx.ReadTimeout) and error.request.extensions.get(_OPENED) != [False]:
        return ""  # the cloud behind the proxy is late
    if isinstance(error.__cause__ and error.__cause__.__cause__, ssl.SSLError):
        return ""  # the certificate of a cloud
    return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")  # without its password


def _note_tunnel(request: httpx.Request) -> None:
    """Note whether the proxy opened its tunnel: [] on a kept connection, [False] before, [False, True] after."""
    opened: list[bool] = []

    def trace(event: str, _: object) -> None:
        if event == "connection.connect_tcp.complete":
            opened.append(False)
        elif opened and event.endswith("start_tls.started"):
            opened.append(True)

    request.extensions |= {"trace": trace, _OPENED: opened}


def is_name_unknown(error: BaseException | None) -> bool:
    """Whether a call failed because no such host is known: without a network, asking again only makes a person wait."""
    while error is not None:
        if isinstance(error, socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False
