"""The spot fleet: what it makes, what it refuses, and the laws of its plans."""

import base64
import json
import subprocess

import pytest
from aws_recording import (
    GUARD,
    OWNED,
    PLACE,
    PROD,
    check_right,
    component,
    golden,
    only,
    record,
    refusals,
)
from hypothesis import given
from hypothesis import strategies as st

from sizewell.components.aws.fleets import documents as fleet_documents
from sizewell.components.aws.fleets.spot import SpotFleet

FLEET = {
    **PLACE,
    "instance_types": ["g6.xlarge", "g5.xlarge", "g6e.xlarge"],
    "nodes_initial": 4,
    "nodes_max": 8,
    "disk_gib": 100,
}
DEV = {**OWNED, **FLEET, "guard": GUARD, "writer": {"bucket": "store", "key_alias": "alias/store"}}
PRODUCTION = {**PROD, **FLEET, "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/1", "max_usd_per_hour": 12.5}


@pytest.mark.parametrize(("form", "args"), [("dev", DEV), ("prod", PRODUCTION)])
def test_makes_what_is_written_down(form, args):
    resources = record(lambda: SpotFleet("batch", args), stack=f"{form}-aws")
    check_right(resources)
    golden(f"spot-fleet-{form}", resources)


def test_a_deleted_or_expired_fleet_takes_its_machines_along():
    fleet = only(record(lambda: SpotFleet("batch", DEV)), "aws:ec2/fleet:Fleet").inputs
    assert fleet["type"] == "maintain"
    assert fleet["terminateInstances"] is True
    assert fleet["terminateInstancesWithExpiration"] is True
    assert fleet["excessCapacityTerminationPolicy"] == "termination"
    assert fleet["validUntil"] == "2026-09-22T00:00:00Z"
    assert fleet["spotOptions"]["allocationStrategy"] == "price-capacity-optimized"
    assert "capacityRebalance" in fleet["spotOptions"]["maintenanceStrategies"]


def test_every_type_stands_in_every_zone():
    fleet = only(record(lambda: SpotFleet("batch", DEV)), "aws:ec2/fleet:Fleet").inputs
    overrides = fleet["launchTemplateConfigs"][0]["overrides"]
    assert {(one["instanceType"], one["subnetId"]) for one in overrides} == {
        (instance_type, subnet) for instance_type in FLEET["instance_types"] for subnet in PLACE["subnet_ids"]
    }


def test_registers_its_market_and_counts():
    inputs = component(record(lambda: SpotFleet("batch", DEV)), "sizewell-aws:index:SpotFleet").inputs
    said = inputs["sizewell"]
    assert (said["market"], said["nodesMin"], said["nodesInitial"], said["nodesMax"]) == ("spot", 0, 4, 8)
    assert said["interruptible"] is True


@pytest.mark.parametrize(
    ("change", "path", "sentence"),
    [
        ({"zones": ["us-east-1a"]}, "zones", "must be at least two, got 1: spot capacity runs out by zone"),
        ({"instance_types": ["g6.xlarge"]}, "instance_types", "must be at least two, got 1"),
        ({"instance_types": ["g6.xlarge", "g6.xlarge"]}, "instance_types", "names a type twice"),
        ({"instance_types": ["g6.xlarge", "g6.tiny"]}, "instance_types[1]", "is not in the catalog: 'g6.tiny'"),
        ({"instance_types": ["g6.xlarge", "inf2.xlarge"]}, "instance_types", "need different images"),
        ({"instance_types": ["p5.48xlarge", "p6e-gb200.36xlarge"]}, "instance_types[1]", "is not sold as spot"),
        ({"nodes_initial": 9}, "nodes_initial", "must be at most nodes_max (8), got 9"),
        ({"nodes_max": 0}, "nodes_max", "must be a whole number, 1 to 1000, got 0"),
        ({"max_usd_per_hour": 0}, "max_usd_per_hour", "must be over 0, got 0"),
        ({"disk_gib": 10}, "disk_gib", "must be a whole number, 30 to 16384, got 10"),
        ({"start_script": "export TOKEN=abc"}, "start_script", "contains what looks like a secret"),
        ({"image": "latest"}, "image", "must be an AMI id or resolve:ssm:PARAMETER"),
        ({"fleet_size": 3}, "fleet_size", "is an unknown argument"),
    ],
)
def test_refuses(change, path, sentence):
    found = refusals(SpotFleet, {**DEV, **change})
    assert any(at == path and sentence in text for at, text in found), found


def test_names_all_faults_at_once():
    found = refusals(SpotFleet, {**DEV, "zones": ["us-east-1a"], "instance_types": [], "owner": "", "nodes_max": 0})
    assert {path for path, _ in found} >= {"zones", "instance_types", "owner", "nodes_max"}


@given(
    st.lists(st.sampled_from(["g5.xlarge", "g6.xlarge", "g6e.xlarge", "g4dn.xlarge"]), min_size=2, unique=True),
    st.lists(st.sampled_from(["subnet-1", "subnet-2", "subnet-3"]), min_size=2, unique=True),
)
def test_overrides_are_each_pair_once(types, subnets):
    pairs = [
        (one["instance_type"], one["subnet_id"])
        for one in fleet_documents.overrides(instance_types=types, subnet_ids=subnets)
    ]
    assert len(pairs) == len(set(pairs)) == len(types) * len(subnets)


def test_the_machine_asks_for_notices_and_signals_the_job(tmp_path):
    script = base64.b64decode(
        fleet_documents.user_data(runtime="cuda", region="us-east-1", fleet="f", start_script="echo hello")
    ).decode()
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert "spot/instance-action" in script
    assert script.rstrip().endswith("echo hello")
    request, job, got = tmp_path / "run" / "requested", tmp_path / "job.pid", tmp_path / "got"
    worker = subprocess.Popen(
        ["bash", "-c", f"trap 'touch {got}; exit 0' USR1; touch {tmp_path}/ready; while true; do sleep 0.02; done"]
    )
    try:
        while not (tmp_path / "ready").exists():
            assert worker.poll() is None
        job.write_text(str(worker.pid))
        signal = "\n".join(fleet_documents.signal_script())
        signal = signal.replace(fleet_documents.REQUEST_FILE, str(request)).replace("/run/sizewell/job.pid", str(job))
        signal = signal.replace("/run/sizewell", str(request.parent))
        subprocess.run(["bash", "-s", "rebalance"], input=signal, text=True, check=True)
        worker.wait(timeout=10)
        assert got.exists()
        assert request.read_text() == "rebalance\n"
    finally:
        worker.kill()


def test_metrics_stand_under_the_fleets_name_where_the_alarm_looks():
    script = base64.b64decode(
        fleet_documents.user_data(runtime="cuda", region="us-east-1", fleet="my-fleet", start_script="")
    ).decode()
    agent = json.loads(script.split("<<'AGENT'\n")[1].split("\nAGENT")[0])
    collected = agent["metrics"]["metrics_collected"]["nvidia_gpu"]
    alarm = fleet_documents.idle_alarm(runtime="cuda", guard=GUARD, fleet="my-fleet", seconds=2700)
    assert alarm["dimensions"] == collected["append_dimensions"] == {"Fleet": "my-fleet"}
    assert agent["metrics"]["aggregation_dimensions"] == [["Fleet"]]
    assert alarm["treat_missing_data"] == "notBreaching"


@pytest.mark.parametrize(("limit", "warned"), [(0.05, 1), (12.5, 0)])
def test_a_limit_below_the_price_of_one_machine_is_said(limit, warned, monkeypatch):
    said = []
    monkeypatch.setattr("pulumi.log.warn", lambda text, *_, **__: said.append(text))
    record(lambda: SpotFleet("work", {**DEV, "max_usd_per_hour": limit}))
    assert len([text for text in said if "no machine starts at such a price" in text]) == warned
