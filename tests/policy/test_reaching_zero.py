"""What counts as something that stops idle servers and notebooks: what it does, not that it stands there."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sizewell.policy.examples import resource, stack
from sizewell.policy.rule import Undetermined, Violation
from sizewell.policy.rules.idleness import server_never_ends
from sizewell.resources.graph import Graph
from sizewell.resources.pricing import price
from sizewell.resources.readers.services import azure_endpoint, notebook_instance
from sizewell.resources.recorded import UNKNOWN, Plan
from sizewell.resources.spellings import respelled
from sizewell.sizing.catalog import load

POD = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
QUEUE = {"type": "aws-sqs-queue", "metadata": {"queueLength": "5"}}
PAUSE = "autoscaling.keda.sh"


def judged(metadata: dict[str, Any], **spec: Any) -> object:
    server = resource(
        "kubernetes:apps/v1:Deployment",
        "m",
        {"metadata": {"name": "m", "namespace": "ml"}, "spec": {"replicas": 4, "template": {"spec": POD}}},
    )
    stated = {"scaleTargetRef": {"name": "m"}, "minReplicaCount": 0, "triggers": [QUEUE], **spec}
    scaler = resource(
        "kubernetes:keda.sh/v1alpha1:ScaledObject",
        "s",
        {"metadata": {"name": "s", "namespace": "ml", **metadata}, "spec": stated},
    )
    return dict(server_never_ends(stack(server, scaler, environment="dev"), {"baseline": ["prod"]}))[server.urn]


@pytest.mark.parametrize(
    ("metadata", "spec", "verdict"),
    [
        ({}, {}, None),
        ({"annotations": {f"{PAUSE}/paused-replicas": "0"}}, {}, None),
        ({}, {"triggers": [{"type": "cpu"}, QUEUE]}, None),
        ({"annotations": {f"{PAUSE}/paused": "true"}}, {}, Violation),
        ({"annotations": {f"{PAUSE}/paused-replicas": "4"}}, {}, Violation),
        ({"annotations": {f"{PAUSE}/paused-scale-in": "true"}}, {}, Violation),
        ({"namespace": "default"}, {}, Violation),
        ({"namespace": None}, {}, Violation),
        ({"namespace": UNKNOWN}, {}, Undetermined),
        ({}, {"scaleTargetRef": {"name": "m", "kind": "StatefulSet"}}, Violation),
        ({}, {"triggers": [{"type": "cpu"}, {"type": "memory"}]}, Violation),
        ({}, {"triggers": []}, Violation),
    ],
)
def test_a_scaler_that_reaches_nothing_of_a_server(
    metadata: dict[str, Any], spec: dict[str, Any], verdict: type | None
) -> None:
    said = judged(metadata, **spec)
    assert said is None if verdict is None else isinstance(said, verdict)


CRON = '(crontab -l 2>/dev/null; echo "*/5 * * * * /usr/bin/python3 $PWD/autostop.py --time $IDLE_TIME") | crontab -'


@pytest.mark.parametrize(
    ("script", "stops"),
    [
        (f"IDLE_TIME=3600\nwget https://example.org/auto-stop-idle/autostop.py\n{CRON}", True),
        ("python3 /opt/autostop.py --time 3600", True),
        ("cat > /etc/cron.d/lab <<EOF\n*/5 * * * * root /opt/idle.sh\nEOF", True),
        ("echo 'aws sagemaker stop-notebook-instance --notebook-instance-name lab' | at now + 8 hours", True),
        ("# TODO: autostop.py (auto-stop-idle) in cron\npip install foo", False),
        (f"IDLE_TIME=3600\n# {CRON}", False),
        ("IDLE_TIME=3600\nwget https://example.org/auto-stop-idle/autostop.py && chmod +x autostop.py", False),
        ("pip install foo  # no auto-stop yet", False),
        ("pip install foo", False),
    ],
)
def test_a_start_script_stops_a_notebook_by_what_it_runs(script: str, stops: bool) -> None:
    config = resource(
        "aws:sagemaker/notebookInstanceLifecycleConfiguration:NotebookInstanceLifecycleConfiguration",
        "stop",
        {"name": "stop", "onStart": f"#!/bin/bash\nset -e\n{script}\n"},
    )
    notebook = resource(
        "aws:sagemaker/notebookInstance:NotebookInstance",
        "nb",
        {"instanceType": "ml.g5.xlarge", "lifecycleConfigName": "stop"},
    )
    facts = notebook_instance(Graph(Plan(project="p", stack="dev", resources=(config, notebook))), notebook)
    assert facts is not None
    assert facts["stops_itself"] is stops


@pytest.mark.parametrize("key", ["instance_type", "instanceType"])
def test_a_deployment_of_azure_in_either_spelling(key: str) -> None:
    deployment = resource(
        "azure-native:machinelearningservices:OnlineDeployment",
        "d",
        {"location": "westeurope", "properties": {key: "Standard_NC24ads_A100_v4"}, "sku": {"capacity": 2}},
    )
    plan = Plan(project="p", stack="dev", resources=(deployment,))
    facts = azure_endpoint(Graph(respelled(plan)), respelled(plan).resources[0])
    assert facts is not None
    assert facts["accelerated"] is True
    assert "Standard_NC24ads_A100_v4" in price(plan, load(), on=date(2026, 9, 1)).items[0].what
