"""What waits for a pool or runs on it, as its scheduler's queries in Prometheus say."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sizewell.clouds.calls import CloudError, Deadline
from sizewell.teardown.config import Prometheus
from sizewell.teardown.records import Job, Queue
from sizewell.teardown.telemetry import prometheus
from sizewell.teardown.units import Unit


def queue_of(unit: Unit, stated: Prometheus | None, at: datetime) -> tuple[Queue, tuple[Job, ...]]:
    """Whether the pool's scheduler answered, and its jobs: a Kubernetes pool has one, machines alone have none
    unless `teardown.yaml` names its queries.
    """
    if stated is None or not (stated.queued or stated.running):
        return ("unanswered" if unit.scheduled else "none"), ()
    jobs: list[Job] = []
    asking: tuple[tuple[Literal["queued", "running"], str], ...] = (
        ("queued", stated.queued),
        ("running", stated.running),
    )
    try:
        api = prometheus.reader(stated.url, Deadline(60.0), token_env=stated.token_env)
        for state, query in asking:
            number = prometheus.count(api, query, at) if query else 0.0
            if number > 0:
                name = f"{number:g} {'that wait' if state == 'queued' else 'that run'}"
                jobs.append(Job(name=name, state=state, since_s=at.timestamp()))
    except CloudError:
        return "unanswered", ()
    complete = bool(stated.queued and stated.running)
    return ("asked" if complete or not unit.scheduled else "unanswered"), tuple(jobs)
