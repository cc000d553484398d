"""What the components build, judged by programs and definitions that are not in this repository's environments.

Each is found by an environment variable, and says "not judged" where it is not there.
"""

import copy
import dataclasses
import json
import os
from collections import Counter
from pathlib import Path

import pytest
import terraform_run
from azure_types import Definitions
from judged_plans import forms, stacks
from to_arm import arm

AZURE_TYPES = "SIZEWELL_AZURE_TYPES"  # the folder of github.com/Azure/bicep-types-az, which has `generated`
TERRAFORM = "SIZEWELL_TERRAFORM_PLUGINS"  # a folder for `terraform init -plugin-dir`, with hashicorp/aws in it


def say(capsys, line):
    with capsys.disabled():
        print(f"\n{line}")


@pytest.fixture(scope="module")
def plans():
    return {**forms(), **{f"stack {plan.stack}": plan for plan in stacks()}}


@pytest.mark.soak
def test_azure_s_definitions_refuse_nothing(plans, capsys):
    if not os.environ.get(AZURE_TYPES):
        say(capsys, f"Azure's definitions: not judged ({AZURE_TYPES} names no folder)")
        pytest.skip("no definitions")
    definitions = Definitions(Path(os.environ[AZURE_TYPES]))
    judged, unjudged, faults = Counter(), Counter(), set()
    for name, plan in plans.items():
        for resource in json.loads(arm(plan) or '{"resources": []}')["resources"]:
            found = definitions.faults(resource)
            (unjudged if found is None else judged)[resource["type"]] += 1
            faults |= {f"{name}: {resource['name']}: {fault}" for fault in found or ()}
    say(
        capsys,
        f"Azure's definitions: resources judged {judged.total()} of {len(judged)} types, not judged {unjudged.total()}",
    )
    assert not faults, "\n".join(sorted(faults))
    assert not unjudged, unjudged
    assert judged.total() > 250


@pytest.mark.soak
def test_azure_s_definitions_refuse_what_is_wrong(plans):
    """The judge sees a wrong name, type, choice, pattern and a missing property in what we build."""
    if not os.environ.get(AZURE_TYPES):
        pytest.skip("no definitions")
    definitions = Definitions(Path(os.environ[AZURE_TYPES]))
    resources = [row for plan in plans.values() for row in json.loads(arm(plan) or '{"resources": []}')["resources"]]
    (pool, *_) = (row for row in resources if row["type"].endswith("managedClusters/agentPools"))
    for change, told in (
        ({"vmSiz": "x"}, "properties.vmSiz: is no property"),
        ({"enableNodePublicIP": "no"}, "properties.enableNodePublicIP: must be true or false, got 'no'"),
        ({"maxPods": "many"}, "properties.maxPods: must be a number, got 'many'"),
        ({"provisioningState": "Succeeded"}, "properties.provisioningState: may only be read"),
    ):
        wrong = copy.deepcopy(pool)
        wrong["properties"] |= change
        assert any(told in fault for fault in definitions.faults(wrong)), told
    assert any("must match" in fault for fault in definitions.faults({**pool, "name": "c/1-Pool"}))
    (alert, *_) = (row for row in resources if row["type"] == "Microsoft.Insights/metricAlerts")
    less = {**alert, "properties": {key: value for key, value in alert["properties"].items() if key != "severity"}}
    assert any("properties.severity: is missing" in fault for fault in definitions.faults(less))
    assert definitions.faults({**pool, "apiVersion": "1999-01-01"}) is None


@pytest.mark.soak
def test_terraform_s_aws_provider_refuses_nothing(plans, capsys, tmp_path):
    plugins = os.environ.get(TERRAFORM)
    if not plugins or not terraform_run.present(Path(plugins)):
        say(capsys, f"Terraform's AWS provider: not judged ({TERRAFORM} names no folder with it, or no terraform)")
        pytest.skip("no Terraform")
    judged, faults = terraform_run.judge(plans, Path(plugins), tmp_path)
    say(capsys, f"Terraform's AWS provider: resources judged {judged}, refused {len(faults)}, not judged 0")
    assert not faults, "\n".join(sorted(set(faults)))
    assert judged > 400


@pytest.mark.soak
def test_terraform_s_aws_provider_refuses_what_is_wrong(plans, tmp_path):
    """The judge sees a value that is none, an argument that is missing, and one that there is not."""
    plugins = os.environ.get(TERRAFORM)
    if not plugins or not terraform_run.present(Path(plugins)):
        pytest.skip("no Terraform")
    (name,) = (name for name in plans if name == "stack dev-aws")
    alarm = next(one for one in plans[name].resources if one.type == "aws:cloudwatch/metricAlarm:MetricAlarm")
    for number, (change, told) in enumerate(
        (
            ({"comparisonOperator": "Below"}, "comparison_operator"),
            ({"comparisonOperator": None}, "comparison_operator"),
            ({"period": 7}, "period"),
        )
    ):
        inputs = {key: value for key, value in {**alarm.inputs, **change}.items() if value is not None}
        plan = dataclasses.replace(plans[name], resources=(dataclasses.replace(alarm, inputs=inputs),))
        folder = tmp_path / str(number)
        folder.mkdir()
        judged, faults = terraform_run.judge({"one": plan}, Path(plugins), folder)
        assert judged == 1
        assert told in " ".join(faults), change
