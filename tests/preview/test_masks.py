"""Unknown values everywhere: each input of a priced plan is hidden in turn, and no figure becomes a silent zero."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from sizewell.preview.assemble import assemble
from sizewell.preview.diff import Side, compare
from sizewell.preview.records import Provenance
from sizewell.preview.render import markdown
from sizewell.resources.pricing import price
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.sizing.catalog import load

ON = date(2026, 10, 1)
AWS = [
    ("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "availabilityZone": "us-east-1a", "ami": "ami-1",
                                   "rootBlockDevice": {"volumeSize": 100, "volumeType": "gp3"}}),
    ("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "availabilityZone": "us-east-1a",
                                   "instanceMarketOptions": {"marketType": "spot"}}),
    ("aws:ebs/volume:Volume", {"size": 500, "type": "gp3", "availabilityZone": "us-east-1a"}),
    ("aws:ec2/natGateway:NatGateway", {"subnetId": "subnet-1"}),
    ("aws:fsx/lustreFileSystem:LustreFileSystem", {"storageCapacity": 4800, "deploymentType": "PERSISTENT_2",
                                                   "perUnitStorageThroughput": 250, "subnetIds": "subnet-1"}),
    ("aws:sagemaker/notebookInstance:NotebookInstance", {"instanceType": "ml.g5.xlarge", "volumeSize": 50}),
    ("aws:eks/cluster:Cluster", {"version": "1.33", "vpcConfig": {"subnetIds": ["a", "b"]}}),
    ("aws:eks/nodeGroup:NodeGroup", {"instanceTypes": ["g6.xlarge"], "capacityType": "ON_DEMAND",
                                     "scalingConfig": {"minSize": 1, "desiredSize": 2, "maxSize": 4}, "diskSize": 100}),
    ("aws:autoscaling/group:Group", {"minSize": 1, "desiredCapacity": 2, "maxSize": 4, "mixedInstancesPolicy": {
        "launchTemplate": {"overrides": [{"instanceType": "g6.xlarge"}]}}}),
]  # fmt: skip
GCP = [
    ("gcp:compute/instance:Instance", {"machineType": "g2-standard-4", "zone": "us-central1-a",
                                       "bootDisk": {"initializeParams": {"size": 100, "type": "pd-balanced"}}}),
    ("gcp:compute/disk:Disk", {"size": 200, "type": "pd-balanced", "zone": "us-central1-a"}),
    ("gcp:container/nodePool:NodePool", {"nodeConfig": {"machineType": "g2-standard-4", "diskSizeGb": 100},
                                         "location": "us-central1", "nodeCount": 2,
                                         "autoscaling": {"minNodeCount": 1, "maxNodeCount": 3}}),
]  # fmt: skip
AZURE = [
    ("azure-native:compute:VirtualMachine", {"location": "eastus", "hardwareProfile": {"vmSize": "Standard_NC24ads_A100_v4"},
                                             "storageProfile": {"osDisk": {"diskSizeGB": 128}}}),
    ("azure-native:compute:VirtualMachineScaleSet", {"location": "eastus", "sku": {"name": "Standard_NC24ads_A100_v4",
                                                                                  "capacity": 2}}),
]  # fmt: skip
CASES = [*AWS, *GCP, *AZURE]
CONFIG = {"aws:region": "us-east-1", "gcp:region": "us-central1", "azure-native:location": "eastus"}


def plan(type_, inputs, config=CONFIG):
    urn = f"urn:pulumi:dev::p::{type_}::r"
    return Plan(
        project="p", stack="dev", resources=(RecordedResource(urn=urn, type=type_, name="r", inputs=inputs),),
        config=config,
    )  # fmt: skip


def paths(value, path=()):
    """Every place in nested inputs, the containers included."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*path, key))


def masked(value, path):
    if not path:
        return UNKNOWN
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = masked(value[path[0]], path[1:])
    return copy


def figure(of):
    pricing = price(of, load(), on=ON)
    stack = compare("dev", None, Side(plan=of, pricing=pricing))
    return stack, pricing


@pytest.mark.parametrize(("type_", "inputs"), CASES, ids=[f"{i}-{t.split(':')[1]}" for i, (t, _) in enumerate(CASES)])
def test_each_input_masked_in_turn(type_, inputs):
    known, pricing = figure(plan(type_, inputs))
    expected = known.after.usd_per_month.expected
    assert expected > 0 or known.unpriced, "the case itself has a figure"
    for path in paths(inputs):
        stack, pricing = figure(plan(type_, masked(inputs, path)))
        spend = stack.after.usd_per_month
        assert spend.floor <= spend.expected <= spend.ceiling
        assert spend.ceiling > 0 or stack.unpriced or pricing.outside, f"{path} unknown became a silent zero"
        if spend.expected == 0 and expected > 0:
            comment = markdown.render(assemble([stack], on=ON, provenance=Provenance()))
            assert "?" in comment or "outside the totals" in comment


@pytest.mark.parametrize(("type_", "inputs"), CASES, ids=[f"{i}-{t.split(':')[1]}" for i, (t, _) in enumerate(CASES)])
def test_everything_masked_at_once(type_, inputs):
    blind = plan(type_, dict.fromkeys(inputs, UNKNOWN), config={})
    stack, _ = figure(blind)
    assert stack.unpriced
    assert stack.after.usd_per_month.floor >= 0


def test_a_name_that_is_unknown_is_no_component_of_its_own():
    registered = {"kind": "pool", "name": UNKNOWN, "nodesMin": UNKNOWN, "instanceType": UNKNOWN}
    whole = plan("aws:ebs/volume:Volume", {"size": 10, "type": "gp3", "availabilityZone": "us-east-1a"})
    component = RecordedResource(
        urn="urn:pulumi:dev::p::sizewell-aws:index:GpuNodeGroup::g", type="sizewell-aws:index:GpuNodeGroup", name="g",
        custom=False, inputs={"sizewell": registered},
    )  # fmt: skip
    child = replace(whole.resources[0], parent=component.urn)
    stack, _ = figure(replace(whole, resources=(component, child)))
    assert stack.after.usd_per_month.expected == Decimal("0.80")
    assert [row.component for row in stack.rows] == ["g"]
