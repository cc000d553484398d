"""What is asked of Azure: its clients, the machines of a pool, what has a stack's tag, what of it is stored."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from sizewell import source
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline
from sizewell.clouds.rest import Reader, base_url
from sizewell.teardown.azure.login import LOGIN
from sizewell.teardown.reading import DEADLINE_S, Fees, Question, Reads
from sizewell.teardown.records import Device, Series
from sizewell.teardown.telemetry import azure as azure_monitor
from sizewell.teardown.telemetry import azureml, prometheus
from sizewell.teardown.telemetry.observation import Observation, shares
from sizewell.teardown.things import TAG, Stored, Thing, stored_each
from sizewell.teardown.units import Unit

DISKS: Final = "2024-03-02"
LUSTRE: Final = "2024-03-01"
_AZURE_PROMETHEUS: Final = "https://prometheus.monitor.azure.com/.default"
_PROMETHEUS_DEADLINE_S: Final = 300.0
# What an exporter publishes beside an accelerator's use by default (NVIDIA/dcgm-exporter, etc/default-counters.csv):
# watts, mebibytes, and the share of the time in which anything ran, from 0 to 1.
BESIDE: Final[Mapping[str, Mapping[str, str]]] = {
    "DCGM_FI_DEV_GPU_UTIL": {
        "power": "DCGM_FI_DEV_POWER_USAGE",
        "used": "DCGM_FI_DEV_FB_USED",
        "free": "DCGM_FI_DEV_FB_FREE",
        "activity": "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    }
}
FEES: Final = Fees(
    hourly={
        "microsoft.network/loadbalancers": "lb.standard.hour",
        "microsoft.network/publicipaddresses": "ipv4.hour",
        "microsoft.network/natgateways": "nat.hour",
        "microsoft.network/privateendpoints": "private_endpoint.hour",
        "microsoft.containerservice/managedclusters": "aks.control_plane",
    },
    monthly={"microsoft.network/privatednszones": "private_dns.zone"},
    free=frozenset(
        {
            *("microsoft.network/virtualnetworks", "microsoft.network/networksecuritygroups"),
            *("microsoft.network/networkinterfaces", "microsoft.managedidentity/userassignedidentities"),
            *("microsoft.insights/actiongroups", "microsoft.resources/resourcegroups"),
        }
    ),
)


def _client(_: Sequence[str], settings: Mapping[str, str]) -> Azure:
    return Azure(Deadline(DEADLINE_S), identity=settings.get(LOGIN.reads, ""))


def _subscription(unit: Unit) -> str:
    return (*unit.resources, *unit.serving, *unit.managed)[0].id.split("/")[2]


def _pool(azure: Azure, question: Question) -> Observation:
    """A scale set is measured by Azure Monitor; an AKS pool by the exporter that the cluster's Prometheus scrapes."""
    if question.unit.sized_by == "scale-set":
        return azure_monitor.observe(azure, question.unit, question.at, question.seconds)
    return _aks_pool(azure, question)


def _endpoint(azure: Azure, question: Question) -> Observation:
    return azureml.endpoint(azure, question.unit, question.at, question.seconds)


def _managed(azure: Azure, question: Question) -> Observation | None:
    return azureml.compute(azure, question.unit, question.at)


def _aks_pool(azure: Azure, question: Question) -> Observation:
    """Counted by Azure, measured in Prometheus."""
    unit, at, seconds = question.unit, question.at, question.seconds + 300
    started = azure_monitor.machines(azure, unit)
    api, scrape_s = _prometheus(question)
    metric, label = unit.measured.get("metric", ""), unit.measured.get("machine", "")
    # Nodes of a pool are named after it: those that left, and those that Azure does not count, belong to it too. Of
    # other pools, which the same exporter watches, none may be taken for one of this.
    named = f"aks-{unit.resources[0].id.rpartition('/')[2]}-"

    def own(machine: str) -> bool:
        return machine in started or machine.startswith(named)

    def read(name: str) -> dict[Device, Series]:
        return prometheus.samples(api, name, label=label, machines=own, at=at, seconds=seconds) if name else {}

    beside = BESIDE.get(metric, {})
    used, free, active = (read(beside.get(what, "")) for what in ("used", "free", "activity"))
    whole = {
        device: Series(at_s=each.at_s, values=each.values + free[device].values[-1])
        for device, each in used.items()
        if device in free
    }
    return Observation(
        source=f"Prometheus {metric}",
        counted=azure_monitor.counted(azure, unit, started, at),
        utilization_percent=read(metric),
        power_w=read(beside.get("power", "")),
        memory_percent=shares(used, whole),
        sm_percent={device: Series(at_s=each.at_s, values=100 * each.values) for device, each in active.items()},
        period_s=scrape_s,
        late_s=azure_monitor.LATE_S,
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
    return prometheus.reader(address, deadline, headers=_headers), 30.0


def _headers() -> Mapping[str, str]:
    if token := os.environ.get("AZURE_PROMETHEUS_TOKEN") or os.environ.get("AZURE_ACCESS_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    try:
        import azure.identity
    except ImportError:
        fix = f"run: {source.install('azure')}"
        raise CloudError("azure", "login", "azure-identity is not installed", fix=fix) from None
    token = azure.identity.DefaultAzureCredential().get_token(_AZURE_PROMETHEUS).token
    return {"Authorization": f"Bearer {token}"}


def _tagged(client: Azure, accounts: Sequence[str], _: Sequence[str], tag: str) -> list[Thing]:
    return [thing for account in accounts for thing in in_azure(client, account, tag)]


def _of_cluster(_: Azure, __: Sequence[str], ___: Sequence[str], ____: str) -> list[Thing]:
    return []  # they lie in the cluster's own resource group, which goes with it


def _stored(client: Azure, things: Sequence[Thing]) -> dict[str, Stored]:
    return stored_each(things, lambda thing: _held(client, thing))


def in_azure(azure: Azure, subscription: str, tag: str) -> list[Thing]:
    """Everything with a stack's tag in a subscription: its resources, and the groups that they are in."""
    reader = azure.reader()
    wanted = {"api-version": "2021-04-01", "$filter": f"tagName eq '{TAG}' and tagValue eq '{tag}'"}
    rows = [
        row
        for listed in ("resources", "resourcegroups")
        for row in reader.pages(f"/subscriptions/{subscription}/{listed}", items="value", **wanted)
    ]
    return [
        Thing(
            identity=str(each["id"]),
            kind=str(each.get("type") or ""),
            region=str(each.get("location") or ""),
            tags={str(key): str(value) for key, value in (each.get("tags") or {}).items()},
        )
        for each in rows
    ]


def _held(azure: Azure, thing: Thing) -> Stored | None:
    """A managed disk, whose premium classes bill whole, or a file system of Managed Lustre."""
    if thing.kind.lower() == "microsoft.compute/disks":
        disk = azure.reader().get(thing.identity, **{"api-version": DISKS})
        kind, tier = str((disk.get("sku") or {}).get("name")), str((disk.get("properties") or {}).get("tier") or "")
        return (f"disk.premium_lrs.{tier.lower()}", Decimal(1)) if kind == "Premium_LRS" and tier else None
    if thing.kind.lower() == "microsoft.storagecache/amlfilesystems":
        found = azure.reader().get(thing.identity, **{"api-version": LUSTRE})
        speed = str((found.get("sku") or {}).get("name")).rpartition("-")[2]
        return f"lustre.{speed}", Decimal(str(found["properties"]["storageCapacityTiB"])) * 1024
    return None


READS: Final = Reads(
    client=_client,
    place=("subscription", _subscription),
    pool=_pool,
    endpoint=_endpoint,
    managed=_managed,
    tagged=_tagged,
    of_cluster=_of_cluster,
    fees=FEES,
    stored=_stored,
)
