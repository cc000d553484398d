"""Anything that speaks Prometheus' API: the samples of accelerators by exporters, and how many jobs a queue has."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sizewell.clouds.calls import CloudError, Deadline
from sizewell.clouds.rest import Reader
from sizewell.teardown.records import Device, Series
from sizewell.teardown.telemetry.observation import number_of, series


def reader(
    url: str, deadline: Deadline, *, token_env: str = "", headers: Callable[[], Mapping[str, str]] | None = None
) -> Reader:
    """The API at a URL. CloudError (login) where the variable that should have its token is not set."""
    if headers is None and token_env:
        token = os.environ.get(token_env, "")
        if not token:
            raise CloudError("prometheus", "login", f"{token_env} is not set", fix=f"set {token_env} to a bearer token")
        return Reader(
            service="prometheus", base=url, deadline=deadline, headers=lambda: {"Authorization": f"Bearer {token}"}
        )
    return Reader(service="prometheus", base=url, deadline=deadline, headers=headers or dict)


def samples(
    api: Reader, metric: str, *, label: str, machines: Callable[[str], bool], at: datetime, seconds: float
) -> dict[Device, Series]:
    """Samples of a metric by accelerator, as they were scraped, of those machines."""
    points: dict[Device, list[tuple[float, float]]] = {}
    for answer in _result(
        api.get("api/v1/query", query=f"{_name(metric)}[{math.ceil(seconds)}s]", time=f"{at.timestamp():.3f}")
    ):
        labels = answer.get("metric") or {}
        machine = str(labels.get(label) or "")
        if not machine or not machines(machine):
            continue
        device = number_of(str(labels.get("gpu", labels.get("gpu_id", labels.get("device", "")))))
        points.setdefault((machine, device), []).extend(
            (float(at_s), float(value)) for at_s, value in answer.get("values") or []
        )
    return {device: series(each) for device, each in points.items()}


def rate(api: Reader, query: str, at: datetime, seconds: float, step_s: float) -> Series:
    """What a query had at each step of the last seconds. CloudError where it has several values at a time."""
    results = _result(
        api.get("api/v1/query", query=f"({query})[{math.ceil(seconds)}s:{step_s:g}s]", time=f"{at.timestamp():.3f}")
    )
    if len(results) > 1:
        raise CloudError("prometheus", "unanswered", f"{query!r} has {len(results)} values, not one")
    values = results[0].get("values") or [] if results else []
    return series((float(at_s), float(value)) for at_s, value in values)


def positive_since(api: Reader, query: str, at: datetime, seconds: float) -> float:
    """Since when a query has been above zero without a gap, up to now; no longer ago than so many seconds."""
    since_s = at.timestamp()
    seen = rate(api, query, at, seconds, 300.0)
    for at_s, value in zip(seen.at_s[::-1], seen.values[::-1], strict=True):
        if not value > 0:
            break
        since_s = min(since_s, float(at_s))
    return since_s


def count(api: Reader, query: str, at: datetime) -> float:
    """The one number that a query has now. CloudError where it has none or several: nothing is not zero."""
    results = _result(api.get("api/v1/query", query=query, time=f"{at.timestamp():.3f}"))
    if len(results) != 1:
        raise CloudError("prometheus", "unanswered", f"{query!r} has {len(results)} values, not one")
    value = float(results[0]["value"][1])
    if not math.isfinite(value):
        raise CloudError("prometheus", "unanswered", f"{query!r} is {value}")
    return value


def _result(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The vector or matrix of an answer. Warnings mean that a part of the stores did not respond."""
    data = answer.get("data")
    if answer.get("status") != "success" or not isinstance(data, dict) or not isinstance(data.get("result"), list):
        raise CloudError("prometheus", "unanswered", f"its answer is not a result: {str(answer)[:200]}")
    if answer.get("warnings"):
        raise CloudError("prometheus", "unanswered", f"partial data: {answer['warnings'][0]}")
    return list(data["result"])


def _name(metric: str) -> str:
    if not metric.replace("_", "a").replace(":", "a").isalnum():
        raise CloudError("prometheus", "refused", f"{metric!r} is not the name of a metric")
    return metric
