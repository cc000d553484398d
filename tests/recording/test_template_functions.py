"""Functions, conditions and loops of the template languages: what a template makes, by its parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sizewell.recording.contents import expanded
from sizewell.recording.contents.expressions import Names, Scope
from sizewell.recording.contents.intrinsics import Intrinsics
from sizewell.resources import price
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.sizing.catalog import load

STACK, DEPLOYMENT = "aws:cloudformation/stack:Stack", "azure-native:resources:Deployment"


def plan(kind: str, inputs: Mapping[str, Any], *others: RecordedResource, **more: Any) -> Plan:
    owner = RecordedResource(urn=f"urn:pulumi:dev::p::{kind}::it", type=kind, name="it", inputs=inputs, **more)
    return Plan(project="p", stack="dev", resources=(*others, owner))


def made(whole: Plan) -> dict[str, Mapping[str, Any]]:
    return {each.name: each.inputs for each in whole.resources if each.parent}


# -- CloudFormation -------------------------------------------------------------------------------------------------------

LANGUAGE: dict[str, Any] = {
    "Parameters": {
        "Kind": {"Type": "String", "Default": "g5.xlarge"},
        "Count": {"Type": "Number", "Default": 2},
        "Zones": {"Type": "CommaDelimitedList", "Default": "a, b"},
        "Gpu": {"Type": "String", "Default": True},
        "Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/aws/service/ami"},
        "Later": {"Type": "String"},
    },
    "Mappings": {"Sizes": {"us-east-1": {"small": "t3.micro", "list": ["x", "y"]}}},
    "Conditions": {
        "Two": {"Fn::Equals": [{"Ref": "Count"}, "2"]},
        "WithGpu": {"Fn::Equals": [{"Ref": "Gpu"}, "true"]},
        "Both": {"Fn::And": [{"Condition": "Two"}, {"Condition": "WithGpu"}]},
        "Neither": {"Fn::Not": [{"Fn::Or": [{"Condition": "Two"}, {"Condition": "Open"}]}]},
        "Open": {"Fn::Equals": [{"Ref": "Later"}, "yes"]},
        "Round": {"Condition": "Round"},
    },
}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"Ref": "Kind"}, "g5.xlarge"),
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Ref": "AWS::AccountId"}, UNKNOWN),
        ({"Ref": "Image"}, UNKNOWN),
        ({"Ref": "Later"}, UNKNOWN),
        ({"Ref": "Zones"}, ["a", "b"]),
        ({"a": {"Ref": "AWS::NoValue"}, "b": 1}, {"b": 1}),
        ([{"Ref": "AWS::NoValue"}, 1], [1]),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "AWS::Region"}, "small"]}, "t3.micro"),
        ({"Fn::FindInMap": ["Sizes", "eu-west-1", "small"]}, UNKNOWN),
        ({"Fn::FindInMap": ["Sizes", "eu-west-1", "small", {"DefaultValue": "m5.large"}]}, "m5.large"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Later"}, "small"]}, UNKNOWN),
        ({"Fn::If": ["Both", "p5.48xlarge", {"Ref": "Later"}]}, "p5.48xlarge"),
        ({"Fn::If": ["Neither", 1, 2]}, 2),
        ({"Fn::If": ["Open", 1, 2]}, UNKNOWN),
        ({"Fn::If": ["Open", 1, 1]}, 1),
        ({"Fn::If": ["Round", 1, 2]}, UNKNOWN),
        ({"a": {"Fn::If": ["Neither", 1, {"Ref": "AWS::NoValue"}]}}, {}),
        ({"Fn::Select": ["1", {"Ref": "Zones"}]}, "b"),
        ({"Fn::Select": [0, {"Fn::Split": ["|", "g5.xlarge|x"]}]}, "g5.xlarge"),
        ({"Fn::Select": [9, {"Ref": "Zones"}]}, UNKNOWN),
        ({"Fn::Join": [".", ["g5", {"Fn::Select": [1, ["s", "xlarge"]]}]]}, "g5.xlarge"),
        ({"Fn::Join": [".", ["g5", {"Ref": "Later"}]]}, UNKNOWN),
        ({"Fn::Sub": "${Kind}-${!Kind}-${AWS::Region}"}, "g5.xlarge-${Kind}-us-east-1"),
        ({"Fn::Sub": ["${Family}.xlarge", {"Family": "g6"}]}, "g6.xlarge"),
        ({"Fn::Sub": "${Other.Arn}"}, UNKNOWN),
        ({"Fn::Length": {"Ref": "Zones"}}, 2),
        ({"Fn::ImportValue": "x"}, UNKNOWN),
    ],
)  # fmt: skip
def test_functions_of_cloudformation_are_worked_out(written, expected):
    assert Intrinsics(LANGUAGE, {}, "us-east-1").value(written) == expected


def test_parameters_that_are_given_go_before_their_defaults():
    given = Intrinsics(LANGUAGE, {"Count": "3", "Later": "yes"})
    assert [given.condition(each) for each in ("Two", "Open", "Neither")] == [False, True, False]
    unknown = Intrinsics(LANGUAGE, UNKNOWN)
    assert unknown.condition("Two") is UNKNOWN


GROUP = """
Parameters:
  InstanceCount: {Type: Number, Default: 1}
  Gpu: {Type: String, Default: "no"}
  Family: {Type: String, Default: t3}
Conditions:
  Gpus: !Equals [!Ref Gpu, "yes"]
  Big: !And [!Condition Gpus, !Not [!Equals [!Ref InstanceCount, 1]]]
Resources:
  Box: {Type: AWS::EC2::Instance, Properties: {InstanceType: !Sub "${Family}.xlarge", ImageId: ami-1}}
  One: {Type: AWS::EC2::Instance, Condition: Gpus, Properties: {InstanceType: p5.48xlarge, ImageId: ami-1}}
  Large: {Type: AWS::EC2::Instance, Condition: Big, Properties: {InstanceType: p5.48xlarge, ImageId: ami-1}}
  Fn::ForEach::Boxes:
    - Size
    - [large, xlarge]
    - Each${Size}: {Type: AWS::EC2::Instance, Properties: {InstanceType: !Sub "m7i.${Size}", ImageId: ami-1}}
"""


@pytest.mark.parametrize(
    ("parameters", "names", "why"),
    [
        ({}, {"Box"}, ""),
        ({"Gpu": "yes"}, {"Box", "One"}, ""),
        ({"Gpu": "yes", "InstanceCount": "2"}, {"Box", "One", "Large"}, ""),
        ({"Gpu": UNKNOWN, "InstanceCount": "1"}, {"Box"}, "it makes One (AWS::EC2::Instance) depends on the condition Gpus"),
        ({"Gpu": UNKNOWN, "InstanceCount": "2"}, {"Box"}, "it makes Large (AWS::EC2::Instance) depends on the condition Big"),
    ],
)  # fmt: skip
def test_a_condition_decides_what_a_stack_makes(tmp_path, parameters, names, why):
    whole = expanded(plan(STACK, {"templateBody": GROUP, "parameters": parameters}), tmp_path)
    resources = made(whole)
    assert resources.keys() - {"Eachlarge", "Eachxlarge"} == names
    assert resources["Box"]["instanceType"] == "t3.xlarge"
    assert resources["Eachlarge"]["instanceType"] == "m7i.large"
    hidden = hidden_of(whole)
    assert len(hidden) == bool(why)
    assert all(why in each.why for each in hidden)
    bill = price(whole, load(), on=date(2026, 11, 26))
    assert (bill.coverage.not_judged == 1) is bool(why)


@pytest.mark.parametrize(
    ("kind", "inputs", "provider", "config"),
    [
        (STACK, {"region": "eu-west-1"}, {}, {"aws:region": "us-east-1"}),
        ("aws-native:cloudformation:Stack", {}, {}, {"aws:region": "us-east-1", "aws-native:region": "eu-west-1"}),
        ("aws-native:cloudformation:Stack", {}, {"region": "eu-west-1"}, {"aws:region": "us-east-1"}),
        (STACK, {}, {"region": "eu-west-1"}, {"aws:region": "us-east-1"}),
    ],
)
def test_a_stack_and_what_it_makes_are_in_its_region(tmp_path, kind, inputs, provider, config):
    body = {
        "Mappings": {"ByRegion": {"eu-west-1": {"kind": "g5.xlarge"}, "us-east-1": {"kind": "t3.micro"}}},
        "Resources": {"Box": {"Type": "AWS::EC2::Instance", "Properties": {
            "InstanceType": {"Fn::FindInMap": ["ByRegion", {"Ref": "AWS::Region"}, "kind"]}}}},
    }  # fmt: skip
    package = kind.partition(":")[0]
    urn = f"urn:pulumi:dev::p::pulumi:providers:{package}::prov"
    own = RecordedResource(urn=urn, type=f"pulumi:providers:{package}", name="prov", inputs=provider)
    listed = (own,) if provider else ()
    stated = plan(kind, {"templateBody": json.dumps(body), **inputs}, *listed,
                  provider=f"{urn}::id" if provider else None)  # fmt: skip
    whole = expanded(Plan(project="p", stack="dev", resources=stated.resources, config=config), tmp_path)
    (line,) = (each for each in price(whole, load(), on=date(2026, 11, 26)).items if "g5.xlarge" in each.what)
    assert "eu-west-1" in line.what


# -- Azure's resource manager ---------------------------------------------------------------------------------------------

WRITTEN: dict[str, Any] = {
    "size": "Standard_NC40ads_H100_v5",
    "n": 3,
    "tier": {"Name": "big", "sizes": ["a", "b"]},
    "late": UNKNOWN,
}
SCOPE = Scope(
    parameters=Names({name: lambda _, value=value: value for name, value in WRITTEN.items()}),
    variables=Names({"double": lambda scope: scope.value("[mul(parameters('n'), 2)]"), "loop": lambda scope: scope.value("[variables('loop')]")}),
    places={"resourcegroup": "eastus"},
    loops={"": 1, "vms": 1},
)  # fmt: skip


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("plain", "plain"),
        ("[[kept]", "[kept]"),
        ("[parameters('SIZE')]", "Standard_NC40ads_H100_v5"),
        ("[ Variables( 'double' ) ]", 6),
        ("[variables('loop')]", UNKNOWN),
        ("[parameters('late')]", UNKNOWN),
        ("[parameters('tier').name]", "big"),
        ("[parameters('tier').sizes[sub(parameters('n'), 2)]]", "b"),
        ("[parameters('tier')['name']]", "big"),
        ("[if(equals(parameters('n'), 3), 'x', parameters('late'))]", "x"),
        ("[if(parameters('late'), 'x', 'y')]", UNKNOWN),
        ("[if(parameters('late'), 'x', 'x')]", "x"),
        ("[and(equals(1, 2), parameters('late'))]", False),
        ("[or(true(), parameters('late'))]", True),
        ("[not(equals('a', 'A'))]", True),
        ("[concat('it''s-', parameters('n'))]", "it's-3"),
        ("[concat(createArray('a'), createArray('b'))]", ["a", "b"]),
        ("[format('vm-{0:D2}-{1}', copyIndex(), 'a')]", "vm-01-a"),
        ("[copyIndex('vms', 5)]", 6),
        ("[copyIndex('other')]", UNKNOWN),
        ("[toLower('AbC')]", "abc"),
        ("[length(createArray(1, parameters('late')))]", 2),
        ("[int('12')]", 12),
        ("[string(12)]", "12"),
        ("[resourceGroup().location]", "eastus"),
        ("[resourceGroup().name]", UNKNOWN),
        ("[reference('x').y]", UNKNOWN),
        ("[uniqueString(resourceGroup().id)]", UNKNOWN),
        ("[contains(createArray('a'), 'a')]", True),
        ("[own.function('a')]", UNKNOWN),
        ("[concat('a'", UNKNOWN),
        ("[concat('a') 'b']", UNKNOWN),
        ("[div(7, 0)]", UNKNOWN),
        ({"copy": [{"name": "disks", "count": "[parameters('n')]", "input": {"lun": "[copyIndex('disks')]"}}]},
         {"disks": [{"lun": 0}, {"lun": 1}, {"lun": 2}]}),
    ],
)  # fmt: skip
def test_expressions_of_azures_templates_are_worked_out(written, expected):
    if isinstance(written, str) and not written.endswith("]") and written.startswith("["):
        written += "]"
    assert SCOPE.value(written) == expected


VM = {"type": "Microsoft.Compute/virtualMachines", "location": "[resourceGroup().location]"}
TEMPLATE: dict[str, Any] = {
    "parameters": {"gpu": {"type": "string", "defaultValue": "no"}, "n": {"type": "int", "defaultValue": 1}},
    "variables": {"size": "[variables('sizes')[parameters('gpu')]]", "sizes": {"yes": "Standard_ND96isr_H100_v5", "no": "Standard_D2s_v3"}},
    "resources": [
        {**VM, "name": "[format('vm{0}', copyIndex(1))]", "copy": {"name": "vms", "count": "[parameters('n')]", "batchSize": 1},
         "properties": {"hardwareProfile": {"vmSize": "[variables('size')]"}}},
        {**VM, "name": "extra", "condition": "[equals(parameters('gpu'), 'yes')]",
         "properties": {"hardwareProfile": {"vmSize": "Standard_D2s_v3"}}},
        {"type": "Microsoft.Resources/deployments", "name": "inner", "copy": {"name": "deep", "count": 2}, "properties": {
            "expressionEvaluationOptions": {"scope": "inner"},
            "parameters": {"size": {"value": "[variables('size')]"}, "at": {"value": "[copyIndex()]"}},
            "template": {"parameters": {"size": {"type": "string"}, "at": {"type": "int"}, "gpu": {"defaultValue": "own"}}, "resources": [
                {**VM, "name": "[format('{0}{1}', parameters('gpu'), parameters('at'))]",
                 "properties": {"hardwareProfile": {"vmSize": "[parameters('size')]"}}}]}}},
        {"type": "Microsoft.Resources/deployments", "name": "outer", "properties": {"template": {
            "parameters": {"gpu": {"defaultValue": "own"}},
            "resources": [{**VM, "name": "[concat('outer-', parameters('gpu'))]"}]}}},
    ],
}  # fmt: skip
CLASSIC = "azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment"
OLD = "azure:core/templateDeployment:TemplateDeployment"
SUBSCRIPTION = "azure:core/subscriptionTemplateDeployment:SubscriptionTemplateDeployment"


def stated(kind: str, **values: Any) -> dict[str, Any]:
    if kind == OLD:
        return {"templateBody": json.dumps(TEMPLATE), "parameters": {key: str(each) for key, each in values.items()}}
    boxed = {key: {"value": each} for key, each in values.items()}
    if kind.startswith("azure:"):
        return {"templateContent": json.dumps(TEMPLATE), "parametersContent": json.dumps(boxed)}
    if kind.endswith("DeploymentStackAtResourceGroup"):
        return {"template": TEMPLATE, "parameters": boxed}
    return {"properties": {"template": TEMPLATE, "parameters": boxed}}


@pytest.mark.parametrize(
    "kind",
    [DEPLOYMENT, CLASSIC, OLD, SUBSCRIPTION, "azure-native:resources:DeploymentAtSubscriptionScope",
     "azure-native:resources:DeploymentStackAtResourceGroup"],
)  # fmt: skip
def test_parameters_decide_how_many_and_which_machines_a_deployment_makes(tmp_path: Path, kind: str) -> None:
    few = made(expanded(plan(kind, stated(kind)), tmp_path))
    many = made(expanded(plan(kind, stated(kind, gpu="yes", n=3)), tmp_path))
    assert few.keys() == {"vm1", "own0", "own1", "outer-no"}
    assert many.keys() == {"vm1", "vm2", "vm3", "extra", "own0", "own1", "outer-yes"}
    for machines, size in ((few, "Standard_D2s_v3"), (many, "Standard_ND96isr_H100_v5")):
        assert {machines[name]["hardwareProfile"]["vmSize"] for name in ("vm1", "own0", "own1")} == {size}


@pytest.mark.parametrize(
    ("parameters", "whys"),
    [
        ({"gpu": {"value": UNKNOWN}}, ("whether it makes extra (Microsoft.Compute/virtualMachines)",)),
        ({"n": {"value": UNKNOWN}}, ("how many of virtualMachines-1 (Microsoft.Compute/virtualMachines)",)),
        (UNKNOWN, ("how many of", "whether it makes extra")),
        ({"gpu": {"reference": {"keyVault": {}, "secretName": "s"}}}, ("whether it makes extra",)),
    ],
)
def test_what_a_deployment_may_make_is_said_not_to_be_judged(tmp_path, parameters, whys):
    inputs = {"properties": {"template": TEMPLATE, "parameters": parameters}}
    whole = expanded(plan(DEPLOYMENT, inputs), tmp_path)
    (hidden,) = hidden_of(whole)
    assert all(why in hidden.why for why in whys)
    assert "own0" in made(whole)
    assert "extra" not in made(whole)
    assert price(whole, load(), on=date(2026, 11, 26)).coverage.not_judged == 1


def test_parameters_at_another_place_are_not_their_defaults(tmp_path):
    inputs = {"properties": {"template": TEMPLATE, "parametersLink": {"uri": "https://x"}}}
    whole = expanded(plan(DEPLOYMENT, inputs), tmp_path)
    assert len(hidden_of(whole)) == 1
    assert "vm1" not in made(whole)


def test_a_loop_longer_than_azure_takes_is_not_walked(tmp_path):
    inputs = {"properties": {"template": TEMPLATE, "parameters": {"n": {"value": 10**9}}}}
    whole = expanded(plan(DEPLOYMENT, inputs), tmp_path)
    assert "a loop of its template turns 1,000,000,000 times, of at most 800" in hidden_of(whole)[0].why


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        (STACK, {"templateBody": json.dumps({
            "Conditions": {"Never": {"Fn::Equals": ["a", "b"]}},
            "Resources": {"Box": {"Type": "AWS::EC2::Instance", "Condition": "Never"}},
        })}),
        (DEPLOYMENT, {"properties": {"template": {"resources": [
            {"type": "Microsoft.Network/publicIPAddresses", "name": "a", "apiVersion": "2023-09-01", "condition": False},
        ]}}}),
    ],
)  # fmt: skip
def test_a_template_that_makes_nothing_is_read_and_hides_nothing(kind: str, inputs: Mapping[str, Any]) -> None:
    whole = expanded(plan(kind, inputs), Path())
    assert made(whole) == {}
    assert hidden_of(whole) == ()
