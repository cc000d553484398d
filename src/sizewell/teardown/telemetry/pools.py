"""Which service counts and measures a pool: one function of a cloud's `Reads` per question.

Three questions, by what a component registered: a pool whose size can be moved, an endpoint that serves, and what a
service runs by itself (notebooks, HyperPod, compute of Azure ML). None of the functions takes silence for idleness:
they raise CloudError, and the pool is unknown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sizewell.clouds.calls import CloudError
from sizewell.clouds.clients import Client
from sizewell.teardown.clients import READS
from sizewell.teardown.reading import Question
from sizewell.teardown.records import GuardLimits
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.units import Unit

# Why nothing is known of what has no size to measure, and what stops it instead, by kind of unit.
UNMEASURED: Final = {
    "notebook": "a notebook: its accelerators are not measured, its own idle limit stops it; to remove it, destroy it",
    "endpoint": "an endpoint whose requests are not counted here (serverless, Cloud Run): its own autoscaling scales "
    "it down; to remove it, destroy it",
    "cluster": "a HyperPod cluster: it cannot scale to zero, its guard deletes it; to remove it, destroy it",
    "pool": "a pool that registers no size: built by an older release (run `pulumi up`), or its service runs machines "
    "only for jobs and stops them itself",
}


def limits_of(unit: Unit) -> GuardLimits:
    """By which limits a unit is idle: its guard's; an endpoint without one is reported by its requests."""
    guard = unit.guard or GuardLimits(signal="requests" if unit.serving else "accelerator_utilization")
    return guard if unit.guard and unit.sized_by else replace(guard, action="notify")  # no size that is moved here


def must_be_measurable(unit: Unit) -> None:
    """CloudError where a unit that is neither an endpoint nor managed has no size that anything could count."""
    if unit.kind != "pool" or not unit.sized_by:
        raise CloudError("teardown", "missing", UNMEASURED.get(unit.kind, UNMEASURED["pool"]))
    if not unit.resources:
        reason = "the state has no resource with its size: the update was interrupted"
        raise CloudError("teardown", "missing", reason, code="404")


def observe(client: Client, question: Question) -> Observation:
    """The machines and samples of a unit, as its cloud knows them. CloudError where it does not."""
    unit, reads = question.unit, READS[question.unit.cloud]
    if unit.serving:
        return reads.endpoint(client, question)
    if not unit.managed:
        return reads.pool(client, question)
    observation = reads.managed(client, question)
    if observation is None:
        raise CloudError("teardown", "missing", UNMEASURED[unit.kind])
    return observation
