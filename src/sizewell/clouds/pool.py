"""Connections over HTTP, through the proxy that the environment names."""

from __future__ import annotations

import ipaddress
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import urllib3

_METADATA: Final = "metadata.google.internal"  # answers inside a machine only


class Pool(urllib3.PoolManager):
    """As urllib3's, and HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY hold, as they do for boto3 and curl.

    Loopback and link-local addresses are asked directly: a proxy would answer for a machine of its own.
    """

    def __init__(self, maxsize: int = 16) -> None:
        super().__init__(maxsize=maxsize)
        self._maxsize = maxsize
        self._proxies: dict[str, urllib3.ProxyManager] = {}

    def urlopen(self, method: str, url: str, *arguments: Any, **options: Any) -> urllib3.BaseHTTPResponse:
        """As urllib3 has it."""
        proxy = proxy_of(url)
        if not proxy:
            return super().urlopen(method, url, *arguments, **options)
        if proxy not in self._proxies:
            self._proxies[proxy] = _manager(proxy, self._maxsize)
        return self._proxies[proxy].urlopen(method, url, *arguments, **options)

    def clear(self) -> None:
        """Close every connection."""
        super().clear()
        for manager in self._proxies.values():
            manager.clear()


def proxy_of(url: str) -> str:
    """The address of the proxy for a URL, by the environment, or the system on macOS and Windows; "" for none."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    parts = urlsplit(url)
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    host = parts.hostname or ""
    if not proxy or _is_near(host) or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_near(host: str) -> bool:
    if host in ("localhost", _METADATA):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_link_local


def _manager(proxy: str, maxsize: int) -> urllib3.ProxyManager:
    parts = urlsplit(proxy)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if parts.username else None
    return urllib3.ProxyManager(
        proxy, maxsize=maxsize, proxy_headers=urllib3.make_headers(proxy_basic_auth=login) if login else None
    )
