"""Google Cloud, Azure and Prometheus as they answer by their references, at a local server: machines and samples in,
calls that change something out. CloudWatch's paging by botocore's stubber, which moto never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.gcp import Google
from sizewell.recording.sources.state import StateResource
from sizewell.sizing.errors import ServiceError
from sizewell.teardown import act, writing
from sizewell.teardown.clients import must_be_own
from sizewell.teardown.clock import must_be_right
from sizewell.teardown.config import Prometheus
from sizewell.teardown.queues import queue_of, requests_of
from sizewell.teardown.telemetry import azure as azure_telemetry
from sizewell.teardown.telemetry import cloudwatch, google, prometheus, vertex
from sizewell.teardown.telemetry.observation import counted_before, history
from sizewell.teardown.units import Unit
from tests.clouds.rest_server import Reply, Server, serving

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
POOL = "projects/petsnap/locations/us-central1/clusters/training/nodePools/train"
SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/sizewell-dev"
SET = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/train"
AGENTS = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/c/agentPools/train"
QUICK = Timeouts(attempts=1, read_s=5.0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as running:
        for cloud in ("GOOGLE", "AZURE"):
            monkeypatch.setenv(f"{cloud}_ENDPOINT_URL", running.url)
        monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "t")
        monkeypatch.setenv("AZURE_ACCESS_TOKEN", "t")
        yield running


def resource(kind: str, identity: str, **inputs: Any) -> StateResource:
    return StateResource(urn="urn", type=kind, name="n", id=identity, inputs=inputs, outputs=inputs)


def gke(**more: Any) -> Unit:
    pool = resource(
        "gcp:container/nodePool:NodePool",
        POOL,
        nodeLocations=["us-central1-a", "us-central1-b"],
        initialNodeCount=2,
        autoscaling={"totalMinNodeCount": 1, "totalMaxNodeCount": 6, "locationPolicy": "ANY"},
    )
    measured = {"metric": "kubernetes.io/node/accelerator/duty_cycle", "machine": "node_name", "per": "accelerator"}
    return Unit(
        name="train", urn="u", cloud="gcp", region="us-central1", measured=measured, sized_by="gke-node-pools",
        resources=(pool,), arguments={"project": "petsnap"}, nodes_min=1, nodes_initial=2, nodes_max=6, **more,
    )  # fmt: skip


def scale_set() -> Unit:
    measured = {"metric": "GpuUtilization", "namespace": "Sizewell", "machine": "machine", "per": "machine"}
    own = resource("azure-native:compute:VirtualMachineScaleSet", SET, sku={"name": "Standard_NC24ads_A100_v4"})
    return Unit(
        name="train", urn="u", cloud="azure", region="eastus", measured=measured, sized_by="scale-set", resources=(own,),
        nodes_initial=1, nodes_max=2,
    )  # fmt: skip


def agent_pool() -> Unit:
    own = resource("azure-native:containerservice:AgentPool", AGENTS)
    return Unit(name="train", urn="u", cloud="azure", region="eastus", sized_by="aks-pool", resources=(own,))


def points(values: list[float], ends: datetime = NOW) -> list[dict[str, Any]]:
    """Newest first, as Monitoring sends them."""
    return [
        {
            "interval": {"endTime": f"{ends - timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"},
            "value": {"int64Value": str(value)},
        }
        for minute, value in enumerate(values)
    ]


def machines_of_gke(server: Server, names: list[str], *, wants: int | None = None) -> None:
    groups = (
        "https://www.googleapis.com/compute/v1/projects/petsnap/zones/us-central1-a/instanceGroupManagers/gke-g-grp"
    )
    server.reply(f"GET /v1/{POOL}", Reply({"instanceGroupUrls": [groups]}))
    place = "/compute/v1/projects/petsnap/zones/us-central1-a"
    manager = {"baseInstanceName": "gke-g", "targetSize": len(names) if wants is None else wants}
    server.reply(f"GET {place}/instanceGroupManagers/gke-g-grp", Reply(manager))
    created = "2026-11-20T02:00:00.000-07:00"
    listed = [{"name": name, "status": "RUNNING", "creationTimestamp": created} for name in names]
    server.reply(f"GET {place}/instances", Reply({"items": [*listed, {"name": "x", "status": "TERMINATED"}]}))


def series_of_gke(server: Server, duty: dict[tuple[str, str], list[float]], sizes: list[float]) -> None:
    def answer(path: str, _: Any) -> Reply:
        asked = parse_qs(urlsplit(path).query)
        if "instance_group/size" in asked["filter"][0]:
            assert asked["aggregation.perSeriesAligner"] == ["ALIGN_MAX"]
            return Reply({"timeSeries": [{"points": points(sizes)}]})
        if "pageToken" not in asked:
            return Reply({"nextPageToken": "2"})  # an empty page with a token is no end
        return Reply(
            {
                "timeSeries": [
                    {
                        "metric": {"labels": {"accelerator_id": accelerator}},
                        "resource": {"labels": {"node_name": machine}},
                        "points": points(values),
                    }
                    for (machine, accelerator), values in duty.items()
                ]
            }
        )

    server.answers["GET /v3/projects/petsnap/timeSeries"] = answer


def test_gke_counts_machines_and_tells_accelerators_apart(server: Server) -> None:
    machines_of_gke(server, ["gke-g-1", "gke-g-2"])
    uuid = {("gke-g-1", "GPU-aa"): [0.0, 0.0], ("gke-g-1", "GPU-bb"): [7.0, 0.0], ("gone", "0"): [99.0]}
    series_of_gke(server, uuid, [2.0])
    seen = google.observe(Google(Deadline(30), timeouts=QUICK), gke(), NOW, 1200)
    assert seen.counted[-1].machines == {"gke-g-1", "gke-g-2"}
    assert datetime.fromtimestamp(seen.counted[-1].start_s, UTC) == datetime(2026, 11, 20, 9, tzinfo=UTC)
    assert {device: list(one.values) for device, one in seen.utilization_percent.items()} == {
        ("gke-g-1", 0): [0.0, 0.0],
        ("gke-g-1", 1): [0.0, 7.0],
        ("gone", 0): [99.0],  # what a machine that left worked on, its successor loads
    }
    asked = unquote(next(path for path in server.asked if "duty_cycle" in path))
    assert 'resource.labels.cluster_name="training"' in asked.replace("+", " ")


def test_gke_that_wants_machines_and_lists_none_is_not_empty(server: Server) -> None:
    machines_of_gke(server, [], wants=2)
    series_of_gke(server, {}, [])
    with pytest.raises(CloudError, match="should have 2 machines"):
        google.observe(Google(Deadline(30), timeouts=QUICK), gke(), NOW, 1200)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_cloud_that_refuses_or_fails_is_an_error_and_never_nothing(server: Server, status: int) -> None:
    machines_of_gke(server, ["gke-g-1"])
    server.reply("GET /v3/projects/petsnap/timeSeries", Reply({"error": {"message": "no"}}, status))
    with pytest.raises(CloudError):
        google.observe(Google(Deadline(30), timeouts=QUICK), gke(), NOW, 1200)


def bodies(server: Server, *keys: str) -> list[tuple[str, Any]]:
    """What was sent to some addresses, in order."""
    sent: list[tuple[str, Any]] = []

    def keep(path: str, body: Any) -> Reply:
        sent.append((urlsplit(path).path, body))
        return Reply({"name": "operation-1"})

    for key in keys:
        server.answers[key] = keep
    return sent


def test_gke_is_emptied_and_woken_as_its_workflow_does_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BUSY_WAIT_S", 0.0)
    sent = bodies(server, f"POST /v1/{POOL}:setAutoscaling", f"POST /v1/{POOL}:setSize")
    client = Google(Deadline(30), timeouts=QUICK)
    act.empty(client, gke())
    assert sent == [
        (f"/v1/{POOL}:setAutoscaling", {"autoscaling": {"enabled": False}}),
        (f"/v1/{POOL}:setSize", {"nodeCount": 1}),  # in each of two zones: at least the total of one
    ]
    sent.clear()
    machines_of_gke(server, [], wants=0)
    act.wake(client, gke())
    scaling = {"enabled": True, "totalMinNodeCount": 1, "totalMaxNodeCount": 6, "locationPolicy": "ANY"}
    assert [body for _, body in sent] == [{"nodeCount": 2}, {"autoscaling": scaling}]
    sent.clear()
    machines_of_gke(server, [], wants=4)  # somebody has scaled it up meanwhile: none of them goes
    act.wake(client, gke())
    assert sent[0][1] == {"nodeCount": 4}


def test_a_busy_cluster_is_asked_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BUSY_WAIT_S", 0.0)
    busy = Reply({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "operation is in progress"}}, 400)
    server.reply(f"POST /v1/{POOL}:setAutoscaling", busy, busy, Reply({}))
    server.reply(f"POST /v1/{POOL}:setSize", Reply({}))
    act.empty(Google(Deadline(30), timeouts=QUICK), gke())
    assert sum("setAutoscaling" in asked for asked in server.asked) == 3
    server.reply(f"POST /v1/{POOL}:setSize", Reply({"error": {"code": 403, "message": "no right"}}, 403))
    with pytest.raises(CloudError, match="no right"):
        act.empty(Google(Deadline(30), timeouts=QUICK), gke())


# Azure ----------------------------------------------------------------------------------------------------------------


def test_a_scale_set_is_counted_and_each_machine_measured(server: Server) -> None:
    names = ["train_0", "train_1"]
    listed = [{"name": name, "properties": {"timeCreated": "2026-11-20T09:00:00.1234567+00:00"}} for name in names]
    server.reply(f"GET {SET}/virtualMachines", Reply({"value": listed}))
    data = [{"timeStamp": "2026-11-20T11:50:00Z", "maximum": 3.0}, {"timeStamp": "2026-11-20T11:51:00Z"}]
    own = {"metadatavalues": [{"name": {"value": "machine"}, "value": "train_1"}], "data": data}
    server.reply(f"GET {SET}/providers/Microsoft.Insights/metrics", Reply({"value": [{"timeseries": [own]}]}))
    seen = azure_telemetry.observe(Azure(Deadline(30), timeouts=QUICK), scale_set(), NOW, 1200)
    assert seen.counted[-1].machines == set(names)
    assert {device: list(one.values) for device, one in seen.utilization_percent.items()} == {("train_1", 0): [3.0]}
    assert len(seen.counted) == 1


ACTIVITY = f"GET /subscriptions/{SUBSCRIPTION}/providers/Microsoft.Insights/eventtypes/management/values"


@pytest.mark.parametrize(
    ("events", "since"),
    [
        ([], NOW - timedelta(days=15)),
        ([("Microsoft.Compute/virtualMachineScaleSets/write", "2026-11-19T10:00:00.1234567Z")], NOW - timedelta(hours=26)),
        ([("Microsoft.Compute/virtualMachineScaleSets/delete/action", "2026-11-20T11:59:00Z")], NOW - timedelta(minutes=1)),
        ([("Microsoft.Authorization/policies/audit/action", "2026-11-20T11:59:00Z")], NOW - timedelta(days=15)),
    ],
)  # fmt: skip
def test_an_empty_scale_set_was_so_since_something_was_done_to_it(server: Server, events: Any, since: datetime) -> None:
    """No metric counts machines; the activity log keeps what changes their number."""
    asked: list[str] = []

    def answer(path: str, _: Any) -> Reply:
        asked.append(parse_qs(urlsplit(path).query)["$filter"][0])
        first, *rest = [{"eventTimestamp": at, "operationName": {"value": name}} for name, at in events] or [None]
        return Reply({"value": [] if first is None else [first, *rest]})

    server.reply(f"GET {SET}/virtualMachines", Reply({"value": []}))
    server.answers[ACTIVITY] = answer
    (span,) = azure_telemetry.observe(Azure(Deadline(30), timeouts=QUICK), scale_set(), NOW, 1200).counted
    assert span.machines == frozenset()
    assert abs(span.start_s - since.timestamp()) < 1
    assert span.end_s == NOW.timestamp()
    assert f"resourceUri eq '{SET}'" in asked[0]


class Fleets:
    """EC2 as a fleet is asked for: its machines, and what it says came or went, a page at a time."""

    def __init__(self, *pages: list[datetime]) -> None:
        self.history, self.asked = list(pages), []  # type: ignore[var-annotated]

    def pages(self, *_: Any, **__: Any) -> list[Any]:
        return []

    def call(self, _: str, __: str, operation: str, **asked: Any) -> dict[str, Any]:
        self.asked.append({"operation": operation, **asked})
        number = int(asked.get("NextToken", 0))
        records = [{"EventType": "instance-change", "Timestamp": at} for at in self.history[number]]
        more = {"NextToken": str(number + 1)} if number + 1 < len(self.history) else {}
        return {"HistoryRecords": records, **more}


@pytest.mark.parametrize(
    ("pages", "since"),
    [
        ([[]], NOW - timedelta(hours=47)),
        ([[NOW - timedelta(hours=30)], [NOW - timedelta(hours=2)]], NOW - timedelta(hours=2)),
    ],
)
def test_an_empty_fleet_was_so_since_a_machine_came_or_went(pages: Any, since: datetime) -> None:
    own = resource("aws:ec2/fleet:Fleet", "fleet-1")
    unit = Unit(name="batch", urn="u", cloud="aws", region="us-east-1", sized_by="ec2-fleet", resources=(own,))
    fleets = Fleets(*pages)
    (span,) = cloudwatch.observe(fleets, unit, NOW, 1200).counted  # type: ignore[arg-type]
    assert (span.machines, span.start_s, span.end_s) == (frozenset(), since.timestamp(), NOW.timestamp())
    assert {asked["EventType"] for asked in fleets.asked} == {"instance-change"}
    assert len(fleets.asked) == len(pages)


def test_an_aks_pool_is_counted_in_the_scale_set_that_aks_made(server: Server) -> None:
    cluster = AGENTS.partition("/agentPools")[0]
    nodes = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/MC_x/providers/Microsoft.Compute/virtualMachineScaleSets"
    server.reply(f"GET {cluster}", Reply({"properties": {"nodeResourceGroup": "MC_x"}}))
    sets = [{"id": f"{nodes}/{pool}", "tags": {"aks-managed-poolName": pool}} for pool in ("system", "train")]
    server.reply(f"GET {nodes}", Reply({"value": sets}))
    machine = {"timeCreated": "2026-11-20T09:00:00Z", "osProfile": {"computerName": "aks-train-1-vmss000000"}}
    server.reply(f"GET {nodes}/train/virtualMachines", Reply({"value": [{"name": "aks_0", "properties": machine}]}))
    assert list(azure_telemetry.machines(Azure(Deadline(30), timeouts=QUICK), agent_pool())) == [
        "aks-train-1-vmss000000"
    ]
    server.reply(f"GET {nodes}", Reply({"value": sets[:1]}))
    with pytest.raises(CloudError, match="no scale set of pool train"):
        azure_telemetry.machines(Azure(Deadline(30), timeouts=QUICK), agent_pool())


def test_azure_is_emptied_and_woken(server: Server) -> None:
    client = Azure(Deadline(30), timeouts=QUICK)
    sent = bodies(server, f"PATCH {SET}")
    act.empty(client, scale_set())
    assert sent == [(SET, {"sku": {"name": "Standard_NC24ads_A100_v4", "capacity": 0}})]
    setting = f"{GROUP}/providers/Microsoft.Insights/autoscaleSettings/train"
    off = {"id": setting, "properties": {"enabled": False, "targetResourceUri": SET.upper()}}
    server.reply(f"GET {setting.rpartition('/')[0]}", Reply({"value": [off]}))
    switched = bodies(server, f"PATCH {setting}")
    sent.clear()
    server.reply(f"GET {SET}", Reply({"sku": {"capacity": 0}}))
    act.wake(client, scale_set())
    assert switched == [(setting, {"properties": {"enabled": True}})]
    assert sent[0][1]["sku"]["capacity"] == 1
    server.reply(f"GET {SET}", Reply({"sku": {"capacity": 2}}))
    act.wake(client, scale_set())
    assert sent[-1][1]["sku"]["capacity"] == 2


def test_an_aks_pool_is_stopped_and_started_whole(server: Server) -> None:
    client = Azure(Deadline(30), timeouts=QUICK)
    cluster = AGENTS.partition("/agentPools")[0]
    held = {"id": AGENTS, "properties": {"count": 2, "powerState": {"code": "Running"}}}
    server.reply(f"GET {AGENTS}", Reply(held))
    sent = bodies(server, f"PUT {AGENTS}", f"POST {cluster}/start")
    act.empty(client, agent_pool())
    assert sent == [(AGENTS, {**held, "properties": {"count": 2, "powerState": {"code": "Stopped"}}})]
    sent.clear()
    server.reply(f"GET {AGENTS}", Reply({**held, "properties": {"powerState": {"code": "Stopped"}}}))
    server.reply(f"GET {cluster}", Reply({"properties": {"powerState": {"code": "Stopped"}}}))
    act.wake(client, agent_pool())
    assert [path for path, _ in sent] == [f"{cluster}/start", AGENTS]


@pytest.mark.parametrize("unit", [gke(), scale_set()], ids=["gcp", "azure"])
def test_a_project_or_subscription_of_others_is_refused(unit: Unit) -> None:
    with pytest.raises(CloudError, match="is not one of the stack's"):
        must_be_own(unit, ["somebody-else"])
    must_be_own(unit, ["petsnap", SUBSCRIPTION])


# Prometheus -----------------------------------------------------------------------------------------------------------


def test_prometheus_has_samples_and_queues(server: Server) -> None:
    api = prometheus.reader(server.url, Deadline(30))
    values = [[NOW.timestamp() - 30, "0"], [NOW.timestamp(), "12.5"]]
    of = {"metric": {"Hostname": "a", "gpu": "3"}, "values": values}
    other = {"metric": {"Hostname": "not of the pool", "gpu": "0"}, "values": values}
    server.reply("GET /api/v1/query", Reply({"status": "success", "data": {"result": [of, other]}}))
    found = prometheus.samples(api, "DCGM_FI_DEV_GPU_UTIL", label="Hostname", machines="a".__eq__, at=NOW, seconds=60)
    assert {device: list(one.values) for device, one in found.items()} == {("a", 3): [0.0, 12.5]}
    server.reply("GET /api/v1/query", Reply({"status": "success", "data": {"result": [{"value": [0, "4"]}]}}))
    assert prometheus.count(api, "sum(kueue_pending_workloads)", NOW) == 4


def test_jobs_are_as_old_as_the_time_for_which_some_have_waited(server: Server) -> None:
    """A count has no age: what has been above zero without a gap has one, and a gap begins it anew."""
    api = prometheus.reader(server.url, Deadline(30))
    ages = [900, 600, 300, 0]
    values = [[NOW.timestamp() - age, count] for age, count in zip(ages, ["2", "0", "1", "3"], strict=True)]
    server.reply("GET /api/v1/query", Reply({"status": "success", "data": {"result": [{"values": values}]}}))
    assert prometheus.positive_since(api, "sum(pending)", NOW, 86_400) == NOW.timestamp() - 300
    asked = parse_qs(urlsplit(server.asked[-1].partition(" ")[2]).query)
    assert asked["query"] == ["(sum(pending))[86400s:300s]"]
    server.reply("GET /api/v1/query", Reply({"status": "success", "data": {"result": []}}))
    assert prometheus.positive_since(api, "sum(pending)", NOW, 86_400) == NOW.timestamp()


def test_a_pool_is_asked_for_its_own_queue_and_its_requests_without_probes(server: Server) -> None:
    def answer(path: str, _: Any) -> Reply:
        query = parse_qs(urlsplit(path).query)["query"][0]
        if query.endswith("s]"):
            values = [[NOW.timestamp() - 60, "0.5" if "success" in query else "1"], [NOW.timestamp(), "0"]]
            return Reply({"status": "success", "data": {"result": [{"values": values}]}})
        value = "1" if 'cluster_queue="busy"' in query and "pending" in query else "0"
        return Reply({"status": "success", "data": {"result": [{"value": [0, value]}]}})

    server.answers["GET /api/v1/query"] = answer
    queues = {
        name: {
            "queued": f'sum(kueue_pending_workloads{{cluster_queue="{name}"}})',
            "running": f'sum(kueue_admitted_active_workloads{{cluster_queue="{name}"}})',
        }
        for name in ("busy", "idle")
    }
    queues["idle"]["requests"] = "sum(rate(vllm:request_success_total[1m]))"
    stated = Prometheus.model_validate({"url": server.url, "pools": queues})
    of = {name: Unit(name=name, urn="u", cloud="gcp", region="r", sized_by="gke-node-pools") for name in queues}
    assert [job.state for job in queue_of(of["busy"], stated, NOW)[1]] == ["queued"]
    assert queue_of(of["idle"], stated, NOW) == ("asked", ())
    served = requests_of(of["idle"], stated, NOW, 600)
    assert served is not None
    assert list(served.values) == [0.5, 0.0]
    assert requests_of(of["busy"], stated, NOW, 600) is None
    server.reply("GET /api/v1/query", Reply({}, 500))
    refused = requests_of(of["idle"], stated, NOW, 600)
    assert refused is not None  # asked for and not answered: not the same as not asked
    assert not len(refused.values)


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "success", "data": {"result": []}},
        {"status": "success", "data": {"result": [{"value": [0, "NaN"]}]}},
        {"status": "success", "data": {"result": [{"value": [0, "1"]}, {"value": [0, "2"]}]}},
        {"status": "success", "warnings": ["a store did not respond"], "data": {"result": [{"value": [0, "0"]}]}},
        {"status": "error", "errorType": "bad_data"},
        {},
    ],
)
def test_a_queue_that_does_not_say_a_number_has_none(server: Server, answer: dict[str, Any]) -> None:
    server.reply("GET /api/v1/query", Reply(answer))
    with pytest.raises(CloudError):
        prometheus.count(prometheus.reader(server.url, Deadline(30)), "sum(x)", NOW)


# CloudWatch -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Aws, Any]]:
    from botocore.stub import Stubber

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    aws = Aws(Deadline(30), timeouts=QUICK)
    with Stubber(aws.client("cloudwatch", "us-east-1")) as stub:
        yield aws, stub


def result(status: str, *values: float) -> dict[str, Any]:
    times = [NOW - timedelta(minutes=minute) for minute in range(len(values))]
    return {"Id": "m0", "Label": "x", "Timestamps": times, "Values": list(values), "StatusCode": status}


def test_partial_data_are_read_to_their_end(stubbed: tuple[Aws, Any]) -> None:
    aws, stub = stubbed
    stub.add_response("get_metric_data", {"MetricDataResults": [result("PartialData", 0.0)], "NextToken": "2"})
    stub.add_response("get_metric_data", {"MetricDataResults": [result("Complete", 0.0, 90.0)]})
    samples = cloudwatch.data_of(aws, "us-east-1", [{"Id": "m0"}], NOW, 600)["m0"]
    assert max(value for _, value in samples) == 90.0


@pytest.mark.parametrize(
    "pages",
    [
        [{"MetricDataResults": [result("PartialData", 0.0)]}],
        [{"MetricDataResults": [result("InternalError")]}],
        [{"MetricDataResults": [], "NextToken": "2"}, {"MetricDataResults": [], "NextToken": "2"}],
    ],
    ids=["partial", "internal error", "the same page"],
)
def test_what_stays_partial_is_no_answer(stubbed: tuple[Aws, Any], pages: list[dict[str, Any]]) -> None:
    aws, stub = stubbed
    for page in pages:
        stub.add_response("get_metric_data", page)
    with pytest.raises(CloudError):
        cloudwatch.data_of(aws, "us-east-1", [{"Id": "m0"}], NOW, 600)


# Sizes, clocks --------------------------------------------------------------------------------------------------------


def test_gaps_in_sizes_are_not_counted() -> None:
    spans = counted_before([(0, 0), (300, 0), (900, 0), (3000, 0), (3300, 2)], 300, 4000)
    assert [(span.start_s, span.end_s, len(span.machines)) for span in spans] == [
        (0, 1200, 0),
        (3000, 3300, 0),
        (3300, 3600, 1),
    ]
    whole = history([(0, 0), (300, 0)], 300, {}, 1000, late_s=300)
    assert [(span.start_s, span.end_s) for span in whole] == [(0, 1000), (1000, 1000)]


@pytest.mark.parametrize("off_s", [-3600, 3600, 301])
def test_a_wrong_clock_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch, off_s: float) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_CLOCK", server.url)
    server.reply("HEAD /", Reply({}))  # with the Date of now, as every server's
    now = datetime.now(UTC)
    assert abs(must_be_right("aws", now, off_s_max=300)) < 10
    with pytest.raises(ServiceError, match="this clock is"):
        must_be_right("aws", now + timedelta(seconds=off_s), off_s_max=290)


def test_a_clock_that_nobody_tells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_CLOCK", "http://127.0.0.1:9")
    with pytest.raises(ServiceError, match="did not return the time"):
        must_be_right("aws", NOW, off_s_max=300)


# Vertex AI --------------------------------------------------------------------------------------------------------


def vertex_endpoint() -> Unit:
    kind = "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment"
    own = resource(kind, "i", endpoint="projects/petsnap/locations/us-central1/endpoints/77", project="petsnap")
    return Unit(
        name="chat", urn="u", cloud="gcp", region="us-central1", kind="endpoint", serving=(own,),
        accelerators_per_machine=4,
    )  # fmt: skip


def fractions(values: list[float]) -> list[dict[str, Any]]:
    return [{**point, "value": {"doubleValue": value}} for point, value in zip(points(values), values, strict=True)]


@pytest.mark.parametrize(
    ("replicas", "counters", "earlier", "rates"),
    [
        (1, {}, [], None),  # nothing ever counted a request: who knows whether anything would
        (1, {}, [5.0], [0.0, 0.0, 0.0]),
        (1, {"private/response_count": [0.0, 120.0, 0.0]}, [], [0.0, 2.0, 0.0]),
        (1, {"prediction_count": [60.0, 0.0, 0.0], "response_count": [60.0, 0.0, 0.0]}, [], [0.0, 0.0, 2.0]),
        (2, {}, [5.0], [0.0, 0.0, 0.0]),
    ],
)
def test_requests_of_a_vertex_endpoint(
    server: Server, replicas: int, counters: dict[str, list[float]], earlier: list[float], rates: list[float] | None
) -> None:
    def answer(path: str, _: Any) -> Reply:
        asked = parse_qs(urlsplit(path).query)
        chosen = asked["filter"][0]
        assert 'resource.labels.endpoint_id="77"' in chosen
        metric = chosen.split('"')[1].removeprefix("aiplatform.googleapis.com/prediction/online/")
        if metric == "replicas":
            return Reply({"timeSeries": [{"points": points([replicas] * 3)}]})
        if metric == "accelerator/duty_cycle":
            labels = {"metric": {"labels": {"replica_id": "r1"}}}
            return Reply({"timeSeries": [{**labels, "points": fractions([0.0, 0.01, 0.5])}]})
        if "aggregation.alignmentPeriod" in asked:
            return Reply({"timeSeries": [{"points": points(earlier)}] if metric == "prediction_count" else []})
        return Reply({"timeSeries": [{"points": points(counters[metric])}] if metric in counters else []})

    server.answers["GET /v3/projects/petsnap/timeSeries"] = answer
    seen = vertex.observe(Google(Deadline(30), timeouts=QUICK), vertex_endpoint(), NOW, 1200)
    assert list(seen.utilization_percent["r1", 0].values) == [100.0, 4.0, 0.0]  # one accelerator of four may do it all
    assert (None if seen.requests_per_s is None else list(seen.requests_per_s.values)) == rates
    assert len(seen.counted[-1].machines) == replicas  # one that reports nothing is a machine too


def test_a_vertex_endpoint_whose_replicas_nobody_counts_is_unknown(server: Server) -> None:
    server.reply("GET /v3/projects/petsnap/timeSeries", Reply({}))
    with pytest.raises(CloudError, match="replicas are not counted of chat"):
        vertex.observe(Google(Deadline(30), timeouts=QUICK), vertex_endpoint(), NOW, 1200)
