"""What is asked of Google Cloud: its clients, the machines of a pool, what has a stack's label, what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from sizewell.clouds.calls import Deadline
from sizewell.clouds.gcp import Google
from sizewell.teardown.gcp.login import LOGIN
from sizewell.teardown.reading import DEADLINE_S, Fees, Question, Reads
from sizewell.teardown.telemetry import google, vertex
from sizewell.teardown.telemetry.observation import Observation
from sizewell.teardown.things import TAG, Stored, Thing, stored_each

FREE_IOPS: Final = 3000  # of a Hyperdisk Balanced: the catalog's price is of the capacity within them
# On what a cluster's controllers make: disks and rules (cloud.google.com/kubernetes-engine/docs: cluster labels).
CLUSTER_LABEL: Final = "goog-k8s-cluster-name"
FEES: Final = Fees(
    hourly={
        "compute.googleapis.com/forwardingrule": "lb.forwarding_rule.hour",
        "compute.googleapis.com/address": "ipv4.idle_hour",
        "container.googleapis.com/cluster": "gke.control_plane",
    },
    monthly={
        "cloudkms.googleapis.com/cryptokey": "kms.key",
        "cloudscheduler.googleapis.com/job": "scheduler.job",
    },
    free=frozenset(
        {
            *("compute.googleapis.com/network", "compute.googleapis.com/subnetwork"),
            *("compute.googleapis.com/firewall", "compute.googleapis.com/route"),
            *("compute.googleapis.com/instancetemplate", "iam.googleapis.com/serviceaccount"),
            *("pubsub.googleapis.com/topic", "pubsub.googleapis.com/subscription"),
            *("monitoring.googleapis.com/alertpolicy", "monitoring.googleapis.com/notificationchannel"),
        }
    ),
)


def _client(_: Sequence[str], settings: Mapping[str, str]) -> Google:
    return Google(Deadline(DEADLINE_S), impersonate=settings.get(LOGIN.reads, ""))


def _pool(client: Google, question: Question) -> Observation:
    return google.observe(client, question.unit, question.at, question.seconds)


def _endpoint(client: Google, question: Question) -> Observation:
    return vertex.observe(client, question.unit, question.at, question.seconds)


def _managed(_: Google, __: Question) -> Observation | None:
    return None


def _tagged(client: Google, accounts: Sequence[str], _: Sequence[str], tag: str) -> list[Thing]:
    return [thing for account in accounts for thing in in_google(client, account, tag)]


def _of_cluster(client: Google, accounts: Sequence[str], _: Sequence[str], cluster: str) -> list[Thing]:
    return [thing for account in accounts for thing in in_google(client, account, cluster, key=CLUSTER_LABEL)]


def _stored(client: Google, things: Sequence[Thing]) -> dict[str, Stored]:
    return stored_each(things, lambda thing: _held(client, thing))


def in_google(google: Google, project: str, tag: str, *, key: str = TAG) -> list[Thing]:
    """Everything with a stack's label in a project, by Cloud Asset Inventory."""
    rows = google.reader("cloudasset").pages(
        f"v1/projects/{project}:searchAllResources",
        items="results",
        parameter="pageToken",
        query=f"labels.{key}={tag}",
    )
    return [
        Thing(
            identity=str(each["name"]).removeprefix("//"),
            kind=str(each.get("assetType") or ""),
            region=str(each.get("location") or ""),
            tags={str(key): str(value) for key, value in (each.get("labels") or {}).items()},
        )
        for each in rows
    ]


def _held(google: Google, thing: Thing) -> Stored | None:
    """A disk of Compute Engine, an instance of Filestore or of Managed Lustre, as its own service has it."""
    host, _, path = thing.identity.partition("/")
    service = host.removesuffix(".googleapis.com")
    if thing.kind == "compute.googleapis.com/Disk":
        disk = google.reader(service).get(f"compute/v1/{path}")
        kind = str(disk.get("type") or "").rpartition("/")[2]
        free = int(disk.get("provisionedIops") or 0) <= FREE_IOPS
        key = {"hyperdisk-balanced": "hyperdisk.balanced" if free else ""}.get(kind, kind.replace("pd-", "pd."))
        return (key, Decimal(disk["sizeGb"])) if key else None
    if thing.kind == "file.googleapis.com/Instance":
        instance = google.reader(service).get(f"v1/{path}")
        size = sum((Decimal(share["capacityGb"]) for share in instance.get("fileShares") or []), Decimal(0))
        return ("filestore.zonal", size) if instance.get("tier") in ("ZONAL", "BASIC_SSD") else None
    if thing.kind == "lustre.googleapis.com/Instance":
        instance = google.reader(service).get(f"v1/{path}")
        return f"lustre.{instance.get('perUnitStorageThroughput')}", Decimal(instance["capacityGib"])
    return None


READS: Final = Reads(
    client=_client,
    place=("project", google.project_of),
    pool=_pool,
    endpoint=_endpoint,
    managed=_managed,
    tagged=_tagged,
    of_cluster=_of_cluster,
    fees=FEES,
    stored=_stored,
)
