"""What a resource renders, where its content is at hand: read and judged; where it is not, named with the reason."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from sizewell import csvtables
from sizewell.recording.contents import expanded, kubernetes, templates
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts, price, spellings
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.sizing.catalog import load

GPU = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: serve}
spec: {replicas: 1, template: {spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def plan_of(type_: str, **inputs: object) -> Plan:
    resource = RecordedResource(urn=f"urn:pulumi:dev::p::{type_}::it", type=type_, name="it", inputs=inputs)
    return Plan(project="p", stack="dev", resources=(resource,))


def rendered(root: Path, type_: str, **inputs: object) -> dict[str, RecordedResource]:
    plan = expanded(plan_of(type_, **inputs), root)
    assert hidden_of(plan) == ()
    return {resource.name: resource for resource in plan.resources[1:]}


def reason(root: Path, type_: str, **inputs: object) -> str:
    plan = expanded(plan_of(type_, **inputs), root)
    assert len(plan.resources) == 1
    (hidden,) = hidden_of(plan)
    return hidden.why


# -- manifests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "inputs"),
    [
        ("kubernetes:yaml/v2:ConfigFile", {"file": "k/gpu.yaml"}),
        ("kubernetes:yaml/v2:ConfigGroup", {"files": ["k/*.yaml"]}),
        ("kubernetes:yaml/v2:ConfigGroup", {"yaml": f"{GPU}---\n{CONFIG}"}),
        ("kubernetes:yaml/v2:ConfigGroup", {"objs": [{"apiVersion": "v1", "kind": "List", "items": [json.loads(json.dumps(next(iter(kubernetes.decoded(GPU)))))]}]}),
        ("kubernetes:kustomize/v2:Directory", {"directory": "k"}),
    ],
)  # fmt: skip
def test_manifests_at_hand_are_read(tmp_path, monkeypatch, type_, inputs):
    monkeypatch.setenv("PATH", "")
    (tmp_path / "k").mkdir()
    (tmp_path / "k/gpu.yaml").write_text(GPU)
    (tmp_path / "k/kustomization.yaml").write_text("resources: [gpu.yaml]\n")
    if "files" in inputs:
        (tmp_path / "k/kustomization.yaml").unlink()
    made = rendered(tmp_path, type_, **inputs)
    assert made["serve/chat"].type == "kubernetes:apps/v1:Deployment"
    assert made["serve/chat"].inputs["spec"]["replicas"] == 1
    assert made["serve/chat"].parent.endswith("::it")


@pytest.mark.parametrize(
    ("type_", "inputs", "why"),
    [
        ("kubernetes:yaml/v2:ConfigFile", {"file": "https://team.example/app.yaml"}, "is not on this machine"),
        ("kubernetes:yaml/v2:ConfigFile", {"file": "gone.yaml"}, "gone.yaml: no such file"),
        ("kubernetes:yaml/v2:ConfigFile", {"file": UNKNOWN}, "the name of its file is known only after deployment"),
        ("kubernetes:yaml/v2:ConfigFile", {"file": "broken.yaml"}, "not YAML: "),
        ("kubernetes:yaml/v2:ConfigFile", {"file": "list.yaml"}, "an object is not a mapping"),
        ("kubernetes:yaml/v2:ConfigGroup", {"yaml": UNKNOWN}, "its YAML is known only after deployment"),
        ("kubernetes:yaml/v2:ConfigGroup", {"yaml": "a: b"}, "an object has no apiVersion and kind"),
        ("kubernetes:helm.sh/v3:Release", {"chart": "gone"}, "the chart gone is not on this machine"),
        ("kubernetes:helm.sh/v3:Release", {"chart": "w", "repositoryOpts": {"repo": "https://c"}}, "in a repository"),
        ("kubernetes:helm.sh/v4:Chart", {"chart": "oci://team.example/chart"}, "is not on this machine"),
        ("kubernetes:helm.sh/v4:Chart", {"chart": "chart", "values": UNKNOWN}, "`helm`, which renders it, is not on PATH"),
        ("kubernetes:helm.sh/v4:Chart", {"chart": "empty"}, "empty has no Chart.yaml"),
        ("kubernetes:helm.sh/v4:Chart", {"chart": "chart"}, "`helm`, which renders it, is not on PATH; templates/a.yaml names accelerators"),
        ("kubernetes:kustomize/v2:Directory", {"directory": "patched"}, "patches need `kustomize`"),
        ("kubernetes:kustomize/v2:Directory", {"directory": "empty"}, "empty has no kustomization.yaml"),
        ("aws:cloudformation/stack:Stack", {"templateBody": UNKNOWN}, "its template is known only after deployment"),
        ("aws:cloudformation/stack:Stack", {"templateBody": "{a"}, "its template is neither JSON nor YAML"),
        ("aws:cloudformation/stack:Stack", {"templateBody": '{"Resources": {"a": {}}}'}, "the resource a of its template has no Type"),
        ("azure-native:resources:Deployment", {"properties": {"templateLink": {"uri": "https://x"}}}, "its template is not in the program"),
        ("azure-native:resources:Deployment", {"properties": {"template": {"resources": [{}]}}}, "resource 1 of its template has no type"),
    ],
)  # fmt: skip
def test_what_is_not_at_hand_is_named_with_the_reason(tmp_path, monkeypatch, type_, inputs, why):
    monkeypatch.setenv("PATH", "")
    (tmp_path / "broken.yaml").write_text("a: [")
    (tmp_path / "list.yaml").write_text("- a\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "chart/templates").mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text("name: chart\nversion: 1.0.0\napiVersion: v2\n")
    (tmp_path / "chart/templates/a.yaml").write_text(GPU)
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched/kustomization.yaml").write_text("resources: []\npatches: []\n")
    assert why in reason(tmp_path, type_, **inputs)


def test_the_address_of_a_template_stands_in_the_name_of_what_it_may_bring(tmp_path):
    """The policy pack, which has the resource alone, says the same."""
    assert reason(tmp_path, "aws:cloudformation/stack:Stack", templateUrl="https://s3/t.json") == ""


def test_a_local_chart_is_rendered_by_helm(tmp_path, monkeypatch):
    """`helm` stands in: what is asked of it, and that what it prints is judged."""
    (tmp_path / "bin").mkdir()
    helm = tmp_path / "bin/helm"
    helm.write_text(f"#!/bin/sh\necho \"# $*\"\ncat <<'END'\n{GPU}\nEND\n")
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/bin{os.pathsep}/usr/bin")
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart/Chart.yaml").write_text("name: chart\n")
    made = rendered(tmp_path, "kubernetes:helm.sh/v3:Release", chart="./chart", namespace="serve", values={"a": 1})
    assert "serve/chat" in made
    helm.write_text("#!/bin/sh\necho 'parse error' >&2; exit 1\n")
    assert "parse error" in reason(tmp_path, "kubernetes:helm.sh/v3:Release", chart="./chart")


FIXES = [
    ("kubernetes:helm.sh/v3:Release", {"chart": "./gone"}, "correct its path"),
    ("kubernetes:helm.sh/v4:Chart", {"chart": "vllm", "version": "1.2", "repositoryOpts": {"repo": "https://charts.example"}}, "helm pull vllm --repo https://charts.example --version 1.2 --untar"),
    ("kubernetes:helm.sh/v3:Chart", {"chart": "w", "repo": "bitnami"}, "helm pull bitnami/w --untar"),
    ("kubernetes:helm.sh/v3:Release", {"chart": "oci://team.example/w"}, "helm pull oci://team.example/w --untar"),
    ("kubernetes:helm.sh/v3:Release", {"chart": "./chart"}, "install helm"),
    ("kubernetes:helm.sh/v3:Release", {"chart": "./chart", "postRenderer": {"command": "x"}}, "into a file"),
    ("kubernetes:yaml/v2:ConfigFile", {"file": "gone.yaml"}, "correct the path"),
    ("kubernetes:yaml/v2:ConfigGroup", {"files": ["gone/*.yaml"]}, "correct the path"),
    ("kubernetes:yaml/v2:ConfigFile", {"file": "https://team.example/app.yaml"}, "keep it in the project"),
    ("kubernetes:kustomize/v2:Directory", {"directory": "gone"}, "correct its path"),
    ("kubernetes:kustomize/v2:Directory", {"directory": "patched"}, "install kustomize"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "inputs", "fix"), FIXES)
def test_the_fix_is_of_what_is_missing(tmp_path, monkeypatch, type_, inputs, fix):
    monkeypatch.setenv("PATH", "")
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart/Chart.yaml").write_text("name: chart\n")
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched/kustomization.yaml").write_text("resources: []\npatches: []\n")
    (hidden,) = hidden_of(expanded(plan_of(type_, **inputs), tmp_path))
    assert fix in hidden.fix


HELM = pytest.mark.skipif(shutil.which("helm") is None, reason="needs helm on PATH")
TEMPLATE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
spec:
  replicas: {{ .Values.replicas }}
  template: {spec: {containers: [{name: c, image: "{{ .Values.image }}", resources: {limits: {nvidia.com/gpu: {{ .Values.gpus }}}}}]}}
"""


@pytest.fixture
def chart_folder(tmp_path):
    chart = tmp_path / "chart"
    (chart / "templates/tests").mkdir(parents=True)
    (chart / "crds").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: chat\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("replicas: 1\ngpus: 1\nimage: x\n")
    (chart / "templates/a.yaml").write_text(TEMPLATE)
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: try, annotations: {helm.sh/hook: test}}\nspec: {containers: []}\n"
    )
    (chart / "templates/tests/t.yaml").write_text(pod)
    crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\nspec: {group: b.c}\n"
    (chart / "crds/c.yaml").write_text(crd)
    return tmp_path


@HELM
@pytest.mark.parametrize("type_", ["kubernetes:helm.sh/v3:Release", "kubernetes:helm.sh/v4:Chart"])
def test_helm_itself_renders_a_chart(chart_folder, type_):
    (chart_folder / "big.yaml").write_text("replicas: 3\n")
    made = rendered(
        chart_folder, type_, chart="./chart", namespace="serve", values={"gpus": 8},
        valueYamlFiles=[{"path": "big.yaml"}, {"text": "image: y:1"}],
    )  # fmt: skip
    spec = made["serve/it"].inputs["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert (spec["replicas"], container["resources"]["limits"]["nvidia.com/gpu"], container["image"]) == (3, 8, "y:1")
    assert set(made) == {"serve/it", "a.b.c"}, "with the definitions, and without what `helm test` starts"


@HELM
def test_values_that_are_not_known_are_rendered_and_said(chart_folder):
    chart = plan_of("kubernetes:helm.sh/v3:Release", chart="./chart", values={"gpus": UNKNOWN, "image": UNKNOWN})
    plan = expanded(chart, chart_folder)
    made = {resource.name: resource for resource in plan.resources}
    container = made["default/it"].inputs["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] is UNKNOWN
    assert [each.why for each in hidden_of(plan)] == ["some of its values are known only after deployment"]


@HELM
def test_a_chart_without_its_dependencies_says_how_to_bring_them(chart_folder):
    more = "dependencies: [{name: redis, version: 1.0.0, repository: 'https://charts.example'}]\n"
    (chart_folder / "chart/Chart.yaml").write_text(f"apiVersion: v2\nname: chat\nversion: 1.0.0\n{more}")
    (hidden,) = hidden_of(expanded(plan_of("kubernetes:helm.sh/v3:Release", chart="./chart"), chart_folder))
    assert "helm dependency build ./chart" in hidden.fix


@HELM
def test_a_chart_in_the_programs_own_process_is_rendered_by_helm(chart_folder):
    pytest.importorskip("pulumi_kubernetes")
    (chart_folder / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    (chart_folder / "Pulumi.dev.yaml").write_text("config: {}\n")
    (chart_folder / "__main__.py").write_text(
        "from pulumi_kubernetes import helm\n"
        "helm.v3.Chart('chat', helm.v3.LocalChartOpts(path='./chart', values={'gpus': 4}, namespace='serve'))\n"
        "helm.v4.Chart('more', chart='./chart', values={'gpus': 2})\n"
    )
    plan = evaluate(chart_folder, "dev")
    asked = [
        resource.inputs["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
        for resource in plan.resources
        if resource.type == "kubernetes:apps/v1:Deployment"
    ]
    assert sorted(asked) == [2, 4]
    assert hidden_of(plan) == ()


def test_what_the_programs_own_process_renders_is_answered(tmp_path):
    pytest.importorskip("pulumi_kubernetes")
    (tmp_path / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}\n")
    (tmp_path / "app.yaml").write_text(GPU)
    (tmp_path / "__main__.py").write_text(
        "import pulumi_kubernetes as k8s\n"
        "k8s.yaml.ConfigFile('file', 'app.yaml')\n"
        "k8s.helm.v3.Chart('shop', k8s.helm.v3.ChartOpts(chart='wordpress', fetch_opts=k8s.helm.v3.FetchOpts(repo='https://c')))\n"
    )
    plan = evaluate(tmp_path, "dev")
    assert "kubernetes:apps/v1:Deployment" in {resource.type for resource in plan.resources}
    assert [(each.name, each.why) for each in hidden_of(plan)] == [
        ("shop", "its chart is in a repository, and not on this machine")
    ]


# -- templates ------------------------------------------------------------------------------------------------------------


def test_cloudformation_is_read_in_pulumis_spelling(tmp_path):
    body = """
Parameters: {Kind: {Type: String, Default: p5.48xlarge}}
Resources:
  Machine:
    Type: AWS::EC2::Instance
    Properties: {InstanceType: !Ref Kind, ImageId: !GetAtt Image.Id, Tags: [{Key: owner, Value: ml}]}
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties: {LaunchTemplateData: {InstanceType: g6e.12xlarge}}
  Strange: {Type: AWS::Thing::Other}
"""
    made = rendered(tmp_path, "aws:cloudformation/stack:Stack", templateBody=body)
    assert made["Machine"].type == "aws:ec2/instance:Instance"
    assert made["Machine"].inputs == {"instanceType": "p5.48xlarge", "ami": UNKNOWN, "tags": {"owner": "ml"}}
    assert made["Template"].inputs == {"instanceType": "g6e.12xlarge"}
    assert made["Strange"].type == "aws-native:thing:Other"
    given = rendered(tmp_path, "aws:cloudformation/stack:Stack", templateBody=body, parameters={"Kind": "t3.micro"})
    assert given["Machine"].inputs["instanceType"] == "t3.micro"
    unknown = rendered(tmp_path, "aws:cloudformation/stack:Stack", templateBody=body, parameters=UNKNOWN)
    assert unknown["Machine"].inputs["instanceType"] is UNKNOWN


def test_azures_templates_are_read_in_pulumis_spelling(tmp_path):
    template = {
        "parameters": {"size": {"type": "string", "defaultValue": "Standard_ND96isr_H100_v5"}},
        "resources": [
            {
                "type": "Microsoft.Compute/virtualMachines", "apiVersion": "2024-07-01", "name": "[concat('gpu', '1')]",
                "location": "eastus", "properties": {"hardwareProfile": {"vmSize": "[parameters('size')]"}},
                "resources": [{"type": "extensions", "name": "driver", "properties": {}}],
            },
            {"type": "Microsoft.Resources/deployments", "name": "inner", "properties": {"template": {"resources": [
                {"type": "Microsoft.Storage/storageAccounts", "name": "store", "location": "eastus"}]}}},
        ],
    }  # fmt: skip
    made = rendered(tmp_path, "azure-native:resources:Deployment", properties={"template": template})
    machine = made["gpu1"]
    assert machine.type == "azure-native:compute:VirtualMachine"
    assert machine.inputs == {"hardwareProfile": {"vmSize": "Standard_ND96isr_H100_v5"}, "location": "eastus"}
    assert made["driver"].type == "azure-native:compute:VirtualMachineExtension"
    assert made["store"].type == "azure-native:storage:StorageAccount"
    classic = "azure:core/resourceGroupTemplateDeployment:ResourceGroupTemplateDeployment"
    text = rendered(
        tmp_path,
        classic,
        templateContent=json.dumps(template),
        parametersContent=json.dumps({"size": {"value": "Standard_B1s"}}),
    )
    assert text["gpu1"].inputs["hardwareProfile"]["vmSize"] == "Standard_B1s"


@pytest.mark.parametrize(
    "stated",
    ["[resourceGroup().location]", "[ResourceGroup().Location]", "[parameters('location')]", '[variables("where")]'],
)
def test_a_template_stands_where_its_resource_group_is(tmp_path, stated):
    template = {
        "parameters": {"location": {"type": "string", "defaultValue": "[resourceGroup().location]"}},
        "variables": {"where": "[parameters('location')]"},
        "resources": [{"type": "Microsoft.Compute/disks", "name": "d", "location": stated}],
    }
    group = RecordedResource(
        urn="urn:group", type="azure-native:resources:ResourceGroup", name="rg", inputs={"location": "eastus"}
    )
    inputs = {"resourceGroupName": UNKNOWN, "properties": {"template": template}}
    for behind, expected in (({"resourceGroupName": ("urn:group",)}, "eastus"), ({}, UNKNOWN)):
        deployment = RecordedResource(
            urn="urn:p::d", type="azure-native:resources:Deployment", name="deploy", inputs=inputs,
            property_dependencies=behind,
        )  # fmt: skip
        plan = expanded(Plan(project="p", stack="dev", resources=(group, deployment)), tmp_path)
        (disk,) = (each for each in plan.resources if each.type == "azure-native:compute:Disk")
        assert disk.inputs["location"] == expected


@pytest.mark.parametrize("name", ["aws", "azure", "spelled gcp", "spelled azure"])
def test_every_row_of_the_tables_is_a_type_that_the_provider_has(name):
    import inspect

    import pulumi

    cloud = name.rpartition(" ")[2]
    sdk = pytest.importorskip({"aws": "pulumi_aws", "azure": "pulumi_azure_native", "gcp": "pulumi_gcp"}[cloud])
    tables = {"aws": spellings.CLOUDFORMATION, "azure": templates._AZURE}
    spelled = [row for row in spellings.SPELLINGS.values() if row.token.startswith(cloud)]
    for row in tables[name].values() if name in tables else spelled:
        _, module, kind = row.token.split(":")
        resource = getattr(
            getattr(sdk, module.partition("/")[0] if module.partition("/")[0] != "lambda" else "lambda_"), kind
        )
        assert issubclass(resource, pulumi.CustomResource), row.token
        known = {
            getattr(each.fget, "_pulumi_name", "") for each in vars(resource).values() if isinstance(each, property)
        }
        arguments = (*vars(resource), *inspect.signature(resource._internal_init).parameters)  # type: ignore[attr-defined]
        known |= {
            f"{each[0].lower()}{''.join(part.capitalize() for part in each.split('_'))[1:]}" for each in arguments
        }
        stated = {path.partition(">")[0] for _, path in getattr(row, "moved", ())}
        # what moves into a part of the same resource first, and from there on
        stated -= {path.partition(">")[0] for path, _ in getattr(row, "moved", ())}
        for renamed in (*(new for _, new in getattr(row, "renamed", ())), *stated):
            assert renamed in known, (row.type, renamed)


def test_every_row_has_a_source():
    for module, rows in (
        (templates, templates._AZURE.values()),
        (spellings, (*spellings.CLOUDFORMATION.values(), *spellings.SPELLINGS.values())),
    ):
        known = csvtables.sources(Path(module.__file__).parent / "data").keys()
        assert {row.source for row in rows} <= known


# -- aws-native -----------------------------------------------------------------------------------------------------------


def native(*rows: tuple[str, dict[str, object]]) -> Plan:
    resources = []
    for number, (kind, inputs) in enumerate(rows):
        refs = {key: (resources[value].urn,) for key, value in inputs.items() if isinstance(value, int)}
        plain = {key: UNKNOWN if isinstance(value, int) else value for key, value in inputs.items()}
        urn = f"urn:pulumi:dev::p::{kind}::r{number}"
        resources.append(
            RecordedResource(urn=urn, type=kind, name=f"r{number}", inputs=plain, property_dependencies=refs)
        )
    return Plan(project="p", stack="dev", resources=tuple(resources), config={"aws-native:region": "us-east-1"})


@pytest.mark.parametrize(
    ("rows", "machine"),
    [
        ([("aws-native:ec2:Instance", {"instanceType": "p4d.24xlarge"})], "p4d.24xlarge"),
        (
            [
                ("aws-native:ec2:LaunchTemplate", {"launchTemplateData": {"instanceType": "g6.xlarge"}}),
                ("aws-native:autoscaling:AutoScalingGroup", {"minSize": "2", "maxSize": "2", "launchTemplate": 0}),
            ],
            "g6.xlarge",
        ),
        (
            [
                (
                    "aws-native:eks:Nodegroup",
                    {"instanceTypes": ["g5.xlarge"], "scalingConfig": {"minSize": 2, "maxSize": 2, "desiredSize": 2}},
                )
            ],
            "g5.xlarge",
        ),
        ([("aws-native:rds:DbInstance", {"dbInstanceClass": "db.t3.medium", "engine": "postgres"})], "db.t3.medium"),
    ],
)
def test_aws_native_is_read_as_aws(tmp_path, rows, machine):
    plan = expanded(native(*rows), tmp_path)
    pricing = price(plan, load(), on=date(2026, 11, 26))
    assert pricing.unknown == ()
    assert any(machine in line.what for line in pricing.items)


def test_accelerators_of_aws_native_are_seen_by_the_rules(tmp_path):
    tags = [{"key": "sizewell-owner", "value": "ml"}]
    plan = expanded(native(("aws-native:ec2:Instance", {"instanceType": "p4d.24xlarge", "tags": tags})), tmp_path)
    (pool,) = facts(plan, load()).pools
    assert str(pool.accelerator).startswith("a100")
    assert pool.tags == {"sizewell-owner": "ml"}
    other = expanded(native(("aws-native:acme:Thing", {})), tmp_path)
    assert other.resources[0].type == "aws-native:acme:Thing"


TEMPLATED = {
    "LT": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"InstanceType": "g5.xlarge", "ImageId": "ami-1"}}},
    "G": {"Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {
        "MinSize": "2", "MaxSize": "2", "DesiredCapacity": "2", "VPCZoneIdentifier": ["subnet-1"],
        "LaunchTemplate": {"LaunchTemplateId": {"Ref": "LT"}, "Version": {"Fn::GetAtt": ["LT", "LatestVersionNumber"]}}}},
}  # fmt: skip
SHORT = """
Resources:
  LT: {Type: AWS::EC2::LaunchTemplate, Properties: {LaunchTemplateData: {InstanceType: g5.xlarge, ImageId: ami-1}}}
  G:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: "2"
      MaxSize: "2"
      DesiredCapacity: "2"
      VPCZoneIdentifier: [subnet-1]
      LaunchTemplate: {LaunchTemplateId: REF, Version: !GetAtt LT.LatestVersionNumber}
"""


@pytest.mark.parametrize(
    "body",
    [json.dumps({"Resources": TEMPLATED}), SHORT.replace("REF", "!Ref LT"), SHORT.replace("REF", '!Sub "${LT}"')],
)
def test_resources_of_a_template_know_what_they_refer_to_in_it(tmp_path, body):
    plan = expanded(plan_of("aws:cloudformation/stack:Stack", templateBody=body), tmp_path)
    placed = replace(plan, config={"aws:region": "us-east-1"})
    (pool,) = facts(placed, load(), on=date(2026, 11, 26)).pools
    assert (pool.kinds, pool.nodes_min) == (("g5.xlarge",), 2)
    bill = price(placed, load(), on=date(2026, 11, 26))
    assert bill.unpriced == ()
    assert "aws:cloudformation/stack:Stack" in {kind for _, kind, _ in bill.free}
    assert bill.cost().run_rate.usd_per_month.expected > 1000
    assert not [each for each in bill.outside if "dedicated host" in each]
