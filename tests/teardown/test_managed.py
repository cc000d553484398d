"""What a service runs machines for: notebooks, HyperPod and Azure Machine Learning, as their own APIs answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import botocore.session
import numpy as np
import pytest
from botocore.validate import ParamValidator

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import CloudError, Deadline
from sizewell.recording.sources.state import StateResource
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.records import GuardLimits
from sizewell.teardown.telemetry import azureml, sagemaker
from sizewell.teardown.telemetry.pools import UNMEASURED, limits_of
from sizewell.teardown.units import Unit
from tests.clouds.rest_server import Reply, Server
from tests.teardown.test_telemetry import QUICK, resource, server  # noqa: F401  (a fixture)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MEASURED = {
    "namespace": "ContainerInsights",
    "metric": "node_gpu_utilization",
    "per": "accelerator",
    "dimension": "ClusterName",
    "machine": "InstanceId",
}


class Account(Aws):
    """Answers as written, to questions that AWS's own model of the service takes."""

    answers: dict[str, Any]

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def call(self, service: str, region: str, operation: str, **parameters: Any) -> Any:
        model = botocore.session.get_session().get_service_model(service)
        name = "".join(word.capitalize() for word in operation.split("_"))
        report = ParamValidator().validate(parameters, model.operation_model(name).input_shape)
        assert not report.has_errors(), report.generate_report()
        answer = self.answers[operation]
        return answer(parameters) if callable(answer) else answer

    def pages(self, service: str, region: str, operation: str, items: str, **parameters: Any) -> Iterator[Any]:
        yield from self.call(service, region, operation, **parameters)[items]


# Amazon ---------------------------------------------------------------------------------------------------------------


def hyperpod(*groups: str) -> Unit:
    stated = {
        "ClusterName": "pods",
        "InstanceGroups": [{"InstanceGroupName": group} for group in groups],
        "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:us-east-1:123456789012:cluster/eks-a"}},
    }
    own = resource("aws:cloudcontrol/resource:Resource", "pods", desiredState=json.dumps(stated))
    return Unit(
        name="pods", urn="u", cloud="aws", region="us-east-1", kind="cluster", managed=(own,), measured=MEASURED,
        accelerators_per_machine=2,
    )  # fmt: skip


def nodes(*states: str) -> dict[str, Any]:
    return {
        "ClusterNodeSummaries": [
            {
                "InstanceId": f"i-{number}",
                "LaunchTime": NOW - timedelta(hours=5),
                "InstanceStatus": {"Status": state},
            }
            for number, state in enumerate(states)
        ]
    }


def insights(parameters: dict[str, Any]) -> Any:
    """Two accelerators of i-0, one of a machine of another pool of the same EKS cluster."""
    assert parameters["Dimensions"] == [{"Name": "ClusterName", "Value": "eks-a"}]
    of = [("i-0", "nvidia0"), ("i-0", "nvidia1"), ("i-other", "nvidia0")]
    return {
        "Metrics": [
            {
                "Namespace": "ContainerInsights",
                "MetricName": "node_gpu_utilization",
                "Dimensions": [
                    {"Name": "ClusterName", "Value": "eks-a"},
                    {"Name": "InstanceId", "Value": machine},
                    {"Name": "GpuDevice", "Value": device},
                ],
            }
            for machine, device in of
        ]
    }


def data(parameters: dict[str, Any]) -> Any:
    minutes = [NOW - timedelta(minutes=minute) for minute in range(5, 35)]
    return {
        "MetricDataResults": [
            {"Id": query["Id"], "Label": "", "Timestamps": minutes, "Values": [float(number)] * 30, "StatusCode": "Complete"}
            for number, query in enumerate(parameters["MetricDataQueries"])
        ]
    }  # fmt: skip


def test_a_hyperpod_cluster_is_counted_and_each_accelerator_measured() -> None:
    aws = Account(
        list_cluster_nodes=nodes("Running", "Failure", "ShuttingDown"), list_metrics=insights, get_metric_data=data
    )
    seen = sagemaker.hyperpod(aws, hyperpod("all"), NOW, 1200)
    assert seen.counted[-1].machines == {"i-0", "i-1"}  # a machine that failed bills until it is replaced
    levels = {device: set(np.unique(one.values)) for device, one in seen.utilization_percent.items()}
    assert levels == {("i-0", 0): {0.0}, ("i-0", 1): {1.0}}


def test_a_hyperpod_cluster_without_machines_has_none_and_one_of_several_groups_is_unknown() -> None:
    assert (
        sagemaker.hyperpod(Account(list_cluster_nodes=nodes()), hyperpod("a", "b"), NOW, 1200).counted[-1].machines
        == set()
    )
    with pytest.raises(CloudError, match="several groups"):
        sagemaker.hyperpod(Account(list_cluster_nodes=nodes("Running")), hyperpod("a", "b"), NOW, 1200)


def test_jobs_may_wait_for_a_hyperpod_cluster() -> None:
    """Its work comes from a queue of EKS: until that is asked, nobody says that no job waits."""
    assert hyperpod("all").scheduled


@pytest.mark.parametrize(("state", "known"), [("Stopped", True), ("InService", False), ("Stopping", False)])
def test_a_notebook_that_is_stopped_has_no_machine(state: str, *, known: bool) -> None:
    own = resource("aws:sagemaker/notebookInstance:NotebookInstance", "book", name="book")
    unit = Unit(name="book", urn="u", cloud="aws", region="us-east-1", kind="notebook", managed=(own,))
    seen = sagemaker.notebook(Account(describe_notebook_instance={"NotebookInstanceStatus": state}), unit, NOW)
    assert (seen is not None) is known
    if seen is not None:
        assert [span.machines for span in seen.counted] == [frozenset()]
        assert seen.counted[0].start_s == NOW.timestamp()  # nobody says since when


# Azure ----------------------------------------------------------------------------------------------------------------

SPACE = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/"
    "Microsoft.MachineLearningServices/workspaces/w"
)
ENDPOINT, DEPLOYMENT = f"{SPACE}/onlineEndpoints/chat", f"{SPACE}/onlineEndpoints/chat/deployments/main"
COMPUTE = f"{SPACE}/computes/book"


def azure() -> Azure:
    return Azure(Deadline(30), timeouts=QUICK)


def minutes(values: dict[int, float], name: str = "") -> dict[str, Any]:
    """A series of Azure Monitor: every minute of half an hour is there, without a value where there was no sample."""
    samples = [
        {"timeStamp": f"{NOW - timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"}
        | ({"maximum": values[minute]} if minute in values else {})
        for minute in range(30, 0, -1)
    ]
    labels = [{"name": {"value": "instanceid"}, "value": name}] if name else []
    return {"metadatavalues": labels, "data": samples}


@pytest.mark.parametrize("asked", [{}, {20: 6.0}], ids=["no requests", "some"])
def test_an_endpoint_of_azure_ml_is_measured_by_its_requests(server: Server, asked: dict[int, float]) -> None:  # noqa: F811
    server.reply(f"GET {DEPLOYMENT}", Reply({"sku": {"capacity": 2}}))
    queries: list[dict[str, list[str]]] = []

    def metrics(path: str, _: Any) -> Reply:
        queries.append(parse_qs(urlsplit(path).query))
        use = queries[-1]["metricnames"] == ["GpuUtilizationPercentage"]
        series = [minutes(dict.fromkeys(range(1, 31), 2.0), "vm-a")] if use else [minutes(asked)]
        return Reply({"value": [{"timeseries": series}]})

    for place in (DEPLOYMENT, ENDPOINT):
        server.answers[f"GET {place}/providers/Microsoft.Insights/metrics"] = metrics
    kind = "azure-native:machinelearningservices:Online"
    unit = Unit(
        name="chat", urn="u", cloud="azure", region="eastus", kind="endpoint",
        serving=(resource(f"{kind}Endpoint", ENDPOINT), resource(f"{kind}Deployment", DEPLOYMENT)),
    )  # fmt: skip
    seen = azureml.endpoint(azure(), unit, NOW, 1200)
    assert seen.counted[-1].machines == {"vm-a", "machine 2 reports nothing"}
    assert seen.requests_per_s is not None
    assert seen.requests_per_s.values.max() == (0.1 if asked else 0.0)  # 6 in a minute
    assert len(seen.requests_per_s.values) == 30  # a minute that a machine reported had none, if none is said
    assert queries[0]["$filter"] == ["instanceId eq '*'"]


def compute(kind: str, **own: Any) -> dict[str, Any]:
    return {"properties": {"computeType": kind, "properties": own}}


STOP = {"operationName": "Stop", "operationStatus": "Succeeded", "operationTime": "2026-11-10T08:00:00.123Z"}


@pytest.mark.parametrize(
    ("answer", "since"),
    [
        (compute("ComputeInstance", state="Stopped", lastOperation=STOP), datetime(2026, 11, 10, 8, tzinfo=UTC)),
        (compute("ComputeInstance", state="Stopped", lastOperation={**STOP, "operationName": "Create"}), NOW),
        (compute("ComputeInstance", state="Running"), None),
        (compute("AmlCompute", currentNodeCount=0, targetNodeCount=0), NOW),
        (compute("AmlCompute", currentNodeCount=0, targetNodeCount=1), None),
        (compute("AmlCompute", currentNodeCount=1, targetNodeCount=1), None),
        (compute("AmlCompute"), None),
    ],
)
def test_what_azure_ml_says_of_its_machines(server: Server, answer: Any, since: datetime | None) -> None:  # noqa: F811
    server.reply(f"GET {COMPUTE}", Reply(answer))
    own = resource("azure-native:machinelearningservices:Compute", COMPUTE)
    unit = Unit(name="book", urn="u", cloud="azure", region="eastus", kind="notebook", managed=(own,))
    seen = azureml.compute(azure(), unit, NOW)
    assert (seen is None) == (since is None)
    if seen is not None and since is not None:
        (span,) = seen.counted
        assert (span.machines, round(span.start_s)) == (frozenset(), round(since.timestamp()))


# Through the reader -------------------------------------------------------------------------------------------------


def gathered(monkeypatch: pytest.MonkeyPatch, cloud: Any, unit: Unit, accounts: tuple[str, ...]) -> Any:
    monkeypatch.setattr(StatusReader, "cloud", lambda *_: cloud)
    config = parse_config({"schema": "sizewell.teardown/1", "journal": "file:///journal"})
    held = StatusReader(
        backend=cast("Any", None), config=config, accounts=lambda _: accounts, catalog=cast("Any", None)
    )
    return held.observe(unit, "dev", NOW)


def test_what_runs_without_a_measure_is_unknown_and_says_what_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own: StateResource = resource("aws:sagemaker/notebookInstance:NotebookInstance", "book", name="book")
    unit = Unit(name="book", urn="u", cloud="aws", region="us-east-1", kind="notebook", managed=(own,))
    running = Account(describe_notebook_instance={"NotebookInstanceStatus": "InService"})
    with pytest.raises(CloudError) as refused:
        gathered(monkeypatch, running, unit, ("123456789012",))
    assert UNMEASURED["notebook"] in str(refused.value)


def test_compute_of_another_subscription_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    own = resource("azure-native:machinelearningservices:Compute", COMPUTE)
    unit = Unit(name="book", urn="u", cloud="azure", region="eastus", kind="notebook", managed=(own,))
    with pytest.raises(CloudError, match="not one of the stack's"):
        gathered(monkeypatch, azure(), unit, ("11111111-1111-1111-1111-111111111111",))


def test_what_no_size_is_moved_of_is_told_of_whatever_its_guard_says() -> None:
    guard = GuardLimits(action="scale-to-zero")
    assert (
        limits_of(Unit(name="chat", urn="u", cloud="aws", region="r", kind="endpoint", guard=guard)).action == "notify"
    )
    moved = Unit(name="train", urn="u", cloud="aws", region="r", guard=guard, sized_by="autoscaling-group")
    assert limits_of(moved).action == "scale-to-zero"
