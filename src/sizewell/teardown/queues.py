"""What waits for a pool or runs on it, and what it serves, as queries in Prometheus say."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from sizewell.clouds.calls import CloudError, Deadline
from sizewell.clouds.rest import Reader
from sizewell.teardown.config import Prometheus
from sizewell.teardown.records import DAY_S, Job, Queue, Series
from sizewell.teardown.telemetry import prometheus
from sizewell.teardown.telemetry.observation import series
from sizewell.teardown.units import Unit

AGE_S_MAX: Final = 2 * DAY_S  # how far back is asked since when jobs wait: longer than they are a sign of use


def queue_of(unit: Unit, stated: Prometheus | None, at: datetime) -> tuple[Queue, tuple[Job, ...]]:
    """Whether the pool's scheduler answered, and its jobs: a Kubernetes pool has one, machines alone have none
    unless `teardown.yaml` names its queries. Jobs are as old as the time for which some have waited, or run.
    """
    queries = None if stated is None else stated.queries(unit.name)
    if stated is None or queries is None or not (queries.queued or queries.running):
        return ("unanswered" if unit.scheduled else "none"), ()
    jobs: list[Job] = []
    asking: tuple[tuple[Literal["queued", "running"], str], ...] = (
        ("queued", queries.queued),
        ("running", queries.running),
    )
    try:
        api = _api(stated)
        for state, query in asking:
            number = prometheus.count(api, query, at) if query else 0.0
            if number > 0:
                name = f"{number:g} {'that wait' if state == 'queued' else 'that run'}"
                since_s = prometheus.positive_since(api, query, at, AGE_S_MAX)
                jobs.append(Job(name=name, state=state, since_s=since_s))
    except CloudError:
        return "unanswered", ()
    complete = bool(queries.queued and queries.running)
    return ("asked" if complete or not unit.scheduled else "unanswered"), tuple(jobs)


def requests_of(unit: Unit, stated: Prometheus | None, at: datetime, seconds: float) -> Series | None:
    """The requests of a pool by the query that `teardown.yaml` names for it; None where it names none. Where nobody
    answers none were counted at any time, which is not the same.
    """
    query = "" if stated is None else stated.queries(unit.name).requests
    if stated is None or not query:
        return None
    try:
        return prometheus.rate(_api(stated), query, at, seconds, 60.0)
    except CloudError:
        return series(())


def _api(stated: Prometheus) -> Reader:
    return prometheus.reader(stated.url, Deadline(60.0), token_env=stated.token_env)
