"""Which service counts and measures a pool: one function per cloud and question.

Three questions, by what a component registered: a pool whose size can be moved, an endpoint that serves, and what a
service runs by itself (notebooks, HyperPod, compute of Azure ML). None of the functions takes silence for idleness:
they raise CloudError, and the pool is unknown.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sizewell import source
from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline
from sizewell.clouds.gcp import Google
from sizewell.clouds.rest import Reader, base_url
from sizewell.sizing.providers.cloud import PerCloud
from sizewell.teardown.config import Prometheus
from sizewell.teardown.records import GuardLimits
from sizewell.teardown.telemetry import azure as azure_telemetry
from sizewell.teardown.telemetry import azureml, cloudwatch, google, prometheus, sagemaker, vertex
from sizewell.teardown.telemetry.cloudwatch import POWER
from sizewell.teardown.telemetry.observation import Observation, hangs
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
_AZURE_PROMETHEUS: Final = "https://prometheus.monitor.azure.com/.default"
_PROMETHEUS_DEADLINE_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of one pool: the `seconds` before `at`; `prometheus`: the one that teardown.yaml names, if any."""

    unit: Unit
    stack: str
    at: datetime
    seconds: float
    prometheus: Prometheus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """Who answers on one cloud; each takes a client of that cloud."""

    pool: Callable[[Any, Question], Observation]
    endpoint: Callable[[Any, Question], Observation]
    managed: Callable[[Any, Question], Observation | None]  # None: nothing there counts a unit of this kind


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
        raise CloudError("teardown", "missing", reason)


def observe(client: Aws | Google | Azure, question: Question) -> Observation:
    """The machines and samples of a unit, as its cloud knows them. CloudError where it does not."""
    unit, telemetry = question.unit, TELEMETRY[question.unit.cloud]
    if unit.serving:
        return telemetry.endpoint(client, question)
    if not unit.managed:
        return telemetry.pool(client, question)
    observation = telemetry.managed(client, question)
    if observation is None:
        raise CloudError("teardown", "missing", UNMEASURED[unit.kind])
    return observation


def _aws_pool(aws: Aws, question: Question) -> Observation:
    return cloudwatch.observe(aws, question.unit, question.at, question.seconds)


def _aws_endpoint(aws: Aws, question: Question) -> Observation:
    return sagemaker.observe(aws, question.unit, question.at, question.seconds)


def _aws_managed(aws: Aws, question: Question) -> Observation | None:
    if question.unit.kind == "cluster":
        return sagemaker.hyperpod(aws, question.unit, question.at, question.seconds)
    return sagemaker.notebook(aws, question.unit, question.at)


def _google_pool(client: Google, question: Question) -> Observation:
    return google.observe(client, question.unit, question.at, question.seconds)


def _google_endpoint(client: Google, question: Question) -> Observation:
    return vertex.observe(client, question.unit, question.at, question.seconds)


def _google_managed(_: Google, __: Question) -> Observation | None:
    return None


def _azure_pool(azure: Azure, question: Question) -> Observation:
    """A scale set is measured by Azure Monitor; an AKS pool by the exporter that the cluster's Prometheus scrapes."""
    if question.unit.sized_by == "scale-set":
        return azure_telemetry.observe(azure, question.unit, question.at, question.seconds)
    return _aks_pool(azure, question)


def _azure_endpoint(azure: Azure, question: Question) -> Observation:
    return azureml.endpoint(azure, question.unit, question.at, question.seconds)


def _azure_managed(azure: Azure, question: Question) -> Observation | None:
    return azureml.compute(azure, question.unit, question.at)


def _aks_pool(azure: Azure, question: Question) -> Observation:
    """Counted by Azure, measured in Prometheus."""
    unit, at, seconds = question.unit, question.at, question.seconds + 300
    started = azure_telemetry.machines(azure, unit)
    api, scrape_s = _prometheus(question)
    samples = {}
    metric = unit.measured.get("metric", "")
    names = {"label": unit.measured.get("machine", ""), "machines": set(started)}
    if unit.measured and started:
        samples = prometheus.samples(api, unit.measured["metric"], at=at, seconds=seconds, **names)  # type: ignore[arg-type]
    return Observation(
        source=f"Prometheus {unit.measured.get('metric', '')}",
        counted=azure_telemetry.counted(azure, unit, started, at),
        utilization_percent=samples,
        power_w=prometheus.samples(api, POWER[metric], at=at, seconds=seconds, **names)  # type: ignore[arg-type]
        if metric in POWER and hangs(samples)
        else {},
        period_s=scrape_s,
        late_s=azure_telemetry.LATE_S,
    )


def _prometheus(question: Question) -> tuple[Reader, float]:
    """The API that has a pool's samples, and the seconds between two of them."""
    deadline, stated = Deadline(_PROMETHEUS_DEADLINE_S), question.prometheus
    if stated is not None:
        return prometheus.reader(stated.url, deadline, token_env=stated.token_env), stated.scrape_s
    metrics = question.unit.arguments.get("metrics")
    url = metrics.get("queryUrl") if isinstance(metrics, Mapping) else None
    if not isinstance(url, str) or not url.startswith("http"):
        fix = f"name its API under prometheus.{question.stack} in stacks/config/teardown.yaml"
        raise CloudError("prometheus", "missing", "the pool has no Prometheus registered", fix=fix)
    address = base_url("azure", "prometheus", url)
    return prometheus.reader(address, deadline, headers=_azure_headers), 30.0


def _azure_headers() -> Mapping[str, str]:
    if token := os.environ.get("AZURE_PROMETHEUS_TOKEN") or os.environ.get("AZURE_ACCESS_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    try:
        import azure.identity
    except ImportError:
        fix = f"run: {source.install('azure')}"
        raise CloudError("azure", "login", "azure-identity is not installed", fix=fix) from None
    token = azure.identity.DefaultAzureCredential().get_token(_AZURE_PROMETHEUS).token
    return {"Authorization": f"Bearer {token}"}


TELEMETRY: Final = PerCloud[Telemetry](
    aws=Telemetry(pool=_aws_pool, endpoint=_aws_endpoint, managed=_aws_managed),
    gcp=Telemetry(pool=_google_pool, endpoint=_google_endpoint, managed=_google_managed),
    azure=Telemetry(pool=_azure_pool, endpoint=_azure_endpoint, managed=_azure_managed),
)
