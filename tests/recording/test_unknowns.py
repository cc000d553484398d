"""What a program makes of values that nobody knows before deployment: shown where it can be, named where it cannot."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import pytest

from sizewell.recording.evaluate import evaluate
from sizewell.recording.plans import completed
from sizewell.resources import price
from sizewell.resources.not_shown import hidden_of
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ServiceError, SizewellError, UsageError

aws = pytest.importorskip("pulumi_aws")

START = "import pulumi\nimport pulumi_aws as aws\n"


@pytest.fixture
def plan(tmp_path: Path):
    def run(program: str, config: str = "aws:region: us-west-2", **files: str) -> Plan:
        (tmp_path / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
        (tmp_path / "Pulumi.dev.yaml").write_text(f"config: {{{config}}}\n")
        (tmp_path / "__main__.py").write_text(START + program)
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return evaluate(tmp_path, "dev")

    return run


def named(plan: Plan) -> dict[str, RecordedResource]:
    return {resource.name: resource for resource in plan.resources}


def test_a_look_up_of_something_unknown_is_answered_and_what_it_reaches_is_unknown(plan):
    made = named(
        plan("""
subnets = aws.ec2.get_subnets(filters=[{"name": "vpc-id", "values": [aws.ec2.get_vpc(default=True).id]}])
ami = aws.ec2.get_ami(most_recent=True, owners=["amazon"])
aws.ec2.Instance("i", ami=ami.id, instance_type="t3.micro", subnet_id=subnets.ids[0], tags={"of": f"{ami.name}-x"})
aws.lb.LoadBalancer("lb", subnets=subnets.ids)
""")
    )
    assert made["i"].inputs == {
        "ami": UNKNOWN, "instanceType": "t3.micro", "subnetId": UNKNOWN, "tags": {"of": UNKNOWN},
    }  # fmt: skip
    assert made["lb"].inputs["subnets"] is UNKNOWN, "a list of unknown length is not a list of two"


def test_an_object_of_kubernetes_has_the_name_and_the_namespace_that_its_provider_gives_it(plan):
    made = named(
        plan("""
import pulumi_kubernetes as k8s
k = pulumi.ResourceOptions(provider=k8s.Provider("k", context="x", namespace="team"))
one = k8s.core.v1.ConfigMap("one", metadata={"labels": {"a": "b"}}, opts=k)
two = k8s.core.v1.Service("two", metadata={"name": "two"})
k8s.core.v1.ConfigMap("of", metadata={"namespace": one.metadata["namespace"], "labels": one.metadata["labels"]},
    data={"one": one.metadata["name"], "as": one.metadata.name, "two": two.metadata["name"], "in": two.metadata["namespace"]})
""")
    )
    data = made["of"].inputs["data"]
    assert data["one"] == data["as"]
    assert str(data["one"]).startswith("one-")
    assert (data["two"], data["in"]) == ("two", "default")
    assert made["of"].inputs["metadata"] == {"namespace": "team", "labels": {"a": "b"}}
    assert made["one"].inputs["metadata"] == {"labels": {"a": "b"}}


@pytest.mark.parametrize(
    "line",
    [
        "for number, subnet in enumerate(subnets.ids): aws.efs.MountTarget(f'm{number}', file_system_id='f', subnet_id=subnet)",
        "many = [aws.ebs.Volume(f'v-{each}', availability_zone='us-west-2a', size=1) for each in subnets.ids]",
        "made = aws.ebs.Volume('v', availability_zone='us-west-2a', size=1) if len(subnets.ids) > 1 else None",
        "made = aws.ebs.Volume('v', availability_zone='us-west-2a', size=1) if subnets.tags else None",
    ],
)
def test_a_program_that_decides_by_an_unknown_answer_is_not_judged_in_silence(plan, line):
    found = plan(f"subnets = aws.ec2.get_subnets()\n{line}\n")
    assert [(each.name, "getSubnets" in each.why) for each in found.hidden] == [("__main__.py, line 4", True)]


def test_an_answer_that_only_fills_inputs_hides_nothing(plan):
    assert (
        plan("aws.ebs.Volume('v', availability_zone=aws.ec2.get_subnet(id='s').availability_zone, size=1)").hidden == ()
    )


def test_what_is_made_of_an_unknown_output_is_recorded(plan):
    found = plan("""
lb = aws.lb.LoadBalancer("lb", subnets=["a"])
lb.dns_name.apply(lambda name: aws.route53.Record("r", zone_id="z", name=name, type="A", ttl=3, records=["1.2.3.4"]))

def machines(count):
    for number in range(count):
        aws.ec2.Instance(f"gpu{number}", ami="ami-1", instance_type="p5.48xlarge")

pulumi.StackReference("org/network/dev").get_output("count").apply(machines)
""")
    made = named(found)
    assert made["r"].inputs["name"] is UNKNOWN
    assert made["gpu0"].inputs["instanceType"] == "p5.48xlarge"
    assert [each.name for each in found.hidden] == ["__main__.py, line 8"], "how many is not known; one record is"


def test_a_function_that_makes_resources_is_found_through_what_it_calls(plan, tmp_path):
    helper = (
        "import pulumi_aws as aws\n\ndef volume(size):\n    aws.ebs.Volume('v', availability_zone='a', size=size)\n"
    )
    found = plan(
        "import helper\npulumi.StackReference('o/p/dev').get_output('size').apply(lambda size: helper.volume(size))\n",
        **{"helper.py": helper},
    )
    assert named(found)["v"].inputs["size"] is UNKNOWN


def test_what_cannot_be_made_of_an_unknown_value_is_named_with_the_reason(plan):
    found = plan("""
import datetime
def until(text):
    end = datetime.date.fromisoformat(text)
    aws.ec2.Instance("i", ami="ami-1", instance_type="p5.48xlarge", tags={"until": end.isoformat()})
pulumi.StackReference("org/p/dev").get_output("end").apply(until)
""")
    assert [each.name for each in found.hidden] == ["__main__.py, line 5"]
    assert "ValueError" in found.hidden[0].why


GPU = "aws.ec2.Instance('gpu', ami='ami-1', instance_type='p5.48xlarge')"
NUMBERED = GPU.replace("'gpu'", "f'g{i}'")
LOOK_UPS = """
import collections, decimal, json, os, re, string, subprocess, yaml
text = aws.ssm.get_parameter(name="/x").value
group = aws.autoscaling.get_group(name="ml")
vpc = aws.ec2.get_vpc(tags={"a": "b"})
TYPES = {"small": "t3.micro", "big": "p5.48xlarge"}
"""
DECISIONS = [
    f"if vpc.default: {GPU}",
    f"if not vpc.default: {GPU}",
    f"if vpc.default == True: {GPU}",
    f"for i in range(group.desired_capacity): {NUMBERED}",
    f"for i in range(group.desired_capacity + 1): {NUMBERED}",
    f"for i in ['a'] * group.desired_capacity: {GPU}; break",
    f"if group.desired_capacity > 8: {GPU}",
    f"if group.desired_capacity == 8: {GPU}",
    f"if max(1, group.desired_capacity) > 8: {GPU}",
    f"if group.desired_capacity in (8, 16): {GPU}",
    f"if group.desired_capacity in {{8, 16}}: {GPU}",
    f"if int(text) > 5: {GPU}",
    f"if float(text) > 5: {GPU}",
    f"if int(text.strip()) > 5: {GPU}",
    f"if text in {{'on', 'yes'}}: {GPU}",
    f"if text in ('on', 'yes'): {GPU}",
    f"if text.lower() == 'on': {GPU}",
    f"if text.lower() in {{'on'}}: {GPU}",
    f"if text + 'x' == 'onx': {GPU}",
    f"if str(text) == 'on': {GPU}",
    f"if text.startswith('on'): {GPU}",
    f"if text.isdigit(): {GPU}",
    f"if text > '5': {GPU}",
    f"if 'gpu' in text.split(','): {GPU}",
    f"if len(text.split(',')) > 1: {GPU}",
    f"if json.loads(text)['gpus']: {GPU}",
    f"if yaml.safe_load(text)['gpus']: {GPU}",
    "aws.ec2.Instance('i', ami='ami-1', instance_type=TYPES.get(text, 't3.micro'))",
    "aws.ec2.Instance('i', ami='ami-1', instance_type={**TYPES, 'x': 'y'}.get(text.upper(), 't3.micro'))",
    "aws.ec2.Instance('i', ami='ami-1', instance_type='p5.48xlarge' if group.min_size else 't3.micro')",
    f"if 'SIZEWELL_GPUS' in os.environ: {GPU}",
    f"if os.environ.get('SIZEWELL_GPUS'): {GPU}",
    f"if os.getenv('SIZEWELL_GPUS', 'no') == 'yes': {GPU}",
    f"if os.environ.get('SIZEWELL_GPUS', 'no').lower() in {{'yes'}}: {GPU}",
    f"for i in range(int(os.environ.get('SIZEWELL_GPUS', '0'))): {GPU}",
    f"for i in range(int(os.getenv('SIZEWELL_GPUS', 0))): {GPU}",
    "aws.ec2.Instance('i', ami='ami-1', instance_type=os.getenv('SIZEWELL_TYPE', 't3.micro'))",
    "aws.eks.NodeGroup('n', scaling_config={'desired_size': 1, 'max_size': 1, 'min_size': 1}, cluster_name='c', subnet_ids=[], node_role_arn='r', instance_types=[os.environ.get('SIZEWELL_TYPE', 't3.micro')])",
    f"for i in range(int(dict(os.environ).get('SIZEWELL_GPUS', '0'))): {GPU}",
    f"if os.environ.copy().get('SIZEWELL_GPUS', 'no') == 'yes': {GPU}",
    f"if 'SIZEWELL_GPUS' in os.environ.copy(): {GPU}",
    f"if os.environ.copy().pop('SIZEWELL_GPUS', None): {GPU}",
    f"if {{'SIZEWELL_GPUS': '', **os.environ}}['SIZEWELL_GPUS']: {GPU}",
    f"if (os.environ | {{'A': 'b'}}).get('SIZEWELL_GPUS'): {GPU}",
    f"if ({{'SIZEWELL_GPUS': ''}} | os.environ)['SIZEWELL_GPUS']: {GPU}",
    f"if any(name == 'SIZEWELL_GPUS' for name, _ in os.environ.items()): {GPU}",
    f"if 'SIZEWELL_GPUS' in list(os.environ): {GPU}",
    f"if 'SIZEWELL_GPUS' in os.environ.keys(): {GPU}",
    f"if os.environ.setdefault('SIZEWELL_GPUS', '') == 'yes': {GPU}",
    f"if os.environ.pop('SIZEWELL_GPUS', None): {GPU}",
    f"if collections.ChainMap(os.environ, {{'SIZEWELL_GPUS': ''}})['SIZEWELL_GPUS']: {GPU}",
    f"if os.path.expandvars('$SIZEWELL_GPUS') == 'yes': {GPU}",
    f"if string.Template('$SIZEWELL_GPUS').safe_substitute(os.environ) == 'yes': {GPU}",
    f"if os.getenvb(b'SIZEWELL_GPUS', b'no') == b'yes': {GPU}",
    f"if len(os.getenv('SIZEWELL_GPUS', '')): {GPU}",
    f"if os.getenv('SIZEWELL_GPUS', '0').isdigit() and 0: {GPU}",
    f"if os.getenv('SIZEWELL_GPUS', '0').removesuffix('x') == '1': {GPU}",
    f"if json.loads(os.getenv('SIZEWELL_GPUS', '0')): {GPU}",
    f"if int(subprocess.check_output('echo ${{SIZEWELL_GPUS:-0}}', shell=True)): {GPU}",
    f"if 'yes' in subprocess.run(['echo', 'no'], capture_output=True, text=True).stdout: {GPU}",
    f"if subprocess.run(['false']).returncode == 0: {GPU}",
    f"if os.system('false') == 0: {GPU}",
    f"if os.popen('echo no').read().strip() == 'yes': {GPU}",
    f"if not pulumi.runtime.is_dry_run(): {GPU}",
    f"for i in range(1 if pulumi.runtime.settings.is_dry_run() else 30): {NUMBERED}",
]


@pytest.mark.parametrize("line", DECISIONS)
def test_whatever_a_program_decides_by_what_is_not_known_is_named_with_its_line(plan, line):
    """Whichever way it goes then: an `if` that is silent is what a reader would take for the program."""
    found = plan(f"{LOOK_UPS}{line}\n")
    assert {each.name for each in found.hidden} == {"__main__.py, line 9"}
    assert price(found, load(), on=date(2026, 11, 26)).coverage.not_judged


@pytest.mark.parametrize(
    "awaited",
    [
        "int(await reference.get_output('n').future() or 0)",
        "int((await reference.get_output_details('n')).value or 0)",
        "await reference.get_output('n').future()",
        "len((await reference.outputs.future())['machines'])",
        "1 if await reference.get_output('n').is_known() else 0",
    ],
)
def test_what_a_program_awaits_is_no_none(plan, awaited):
    found = plan(f"""
reference = pulumi.StackReference("o/p/dev")
async def main():
    for i in range({awaited}):
        aws.ec2.Instance(f"g{{i}}", ami="ami-1", instance_type="p5.48xlarge")
pulumi.export("x", pulumi.Output.from_input(main()))
""")
    assert {each.name for each in found.hidden} == {"__main__.py, line 6"}


@pytest.mark.parametrize(
    ("declared", "line"),
    [
        (
            "n",
            "for i in range(config.require_int('n')): aws.ec2.Instance(f'g{i}', ami='a', instance_type='p5.48xlarge')",
        ),
        (
            "n",
            "config.require_secret_int('n').apply(lambda n: [aws.ebs.Volume(f'v{i}', availability_zone='a', size=1) for i in range(n)])",
        ),
        ("b", f"if config.get_bool('b'): {GPU}"),
        ("t", f"if config.get('t') == 'big': {GPU}"),
        ("o", f"if config.require_object('o')['gpu']: {GPU}"),
    ],
)
def test_a_secret_of_the_configuration_is_not_known(plan, declared, line):
    found = plan(f"config = pulumi.Config()\n{line}\n", f"demo:{declared}: {{secure: 'v1:a:b'}}, aws:region: us-west-2")
    assert [each.name for each in found.hidden] == ["__main__.py, line 4"]
    assert "the secret" in found.hidden[0].why


def test_a_number_that_only_fills_inputs_is_recorded_as_unknown_and_hides_nothing(plan):
    found = plan("""
group = aws.autoscaling.get_group(name="ml")
size = group.desired_capacity
aws.ebs.Volume("v", availability_zone="a", size=size + 1, encrypted=aws.ec2.get_vpc(id="x").default, tags={"n": f"{size}"})
aws.ssm.Parameter("p", type="String", value=__import__("json").dumps({"n": size}))
""")
    made = named(found)
    assert (made["v"].inputs["size"], made["v"].inputs["encrypted"], made["v"].inputs["tags"]) == (
        UNKNOWN,
        UNKNOWN,
        {"n": UNKNOWN},
    )
    assert made["p"].inputs["value"] is UNKNOWN
    assert found.hidden == ()


def test_an_environment_variable_that_is_set_or_only_fills_inputs_hides_nothing(plan, monkeypatch):
    monkeypatch.setenv("SIZEWELL_GPUS", "1")
    line = "import os\nif os.environ.get('SIZEWELL_GPUS', '0') == '1': aws.ebs.Volume('v', availability_zone='a', size=1)\n"
    assert plan(line).hidden == ()
    assert "v" in named(plan(line))
    plain = "import os\naws.ebs.Volume('v', availability_zone=os.getenv('SIZEWELL_ZONE', 'us-west-2a'), size=1)\n"
    assert plan(plain).hidden == ()
    assert named(plan(plain))["v"].inputs["availabilityZone"] == "us-west-2a"


def test_what_only_fills_inputs_or_goes_to_a_command_hides_nothing(plan):
    found = plan("""
import os, subprocess
tag = subprocess.check_output(["echo", "abc"], env={**os.environ, "A": "b"}, text=True).strip()
subprocess.run(["true"], env=dict(os.environ), check=True)
subprocess.run(["true"], env=os.environ.copy(), check=True)
aws.ebs.Volume("v", availability_zone="a", size=1, tags={"commit": tag, "by": os.environ.copy().get("SIZEWELL_BY", "x")})
""")
    assert named(found)["v"].inputs["tags"] == {"commit": "abc", "by": "x"}
    assert found.hidden == ()


def test_a_variable_whose_absence_a_program_catches_is_named(plan):
    found = plan(f"""
import os
try:
    count = int(os.environ["SIZEWELL_GPUS"])
except KeyError:
    count = 0
for i in range(count):
    {NUMBERED}
""")
    assert [each.name for each in found.hidden] == ["__main__.py, line 6"]
    assert "SIZEWELL_GPUS" in found.hidden[0].why


def test_a_settings_library_that_asks_the_environment_is_named_at_the_programs_line(plan, tmp_path):
    library = tmp_path / "site-packages" / "decouple"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("import os\ndef config(name, default): return os.environ.get(name, default)\n")
    found = plan(f"""
import sys
sys.path.append({str(library.parent)!r})
from decouple import config
count = config("SIZEWELL_GPUS", 0)
""")
    sys.modules.pop("decouple", None)
    assert [each.name for each in found.hidden] == ["__main__.py, line 7"]


def test_a_function_that_only_raises_is_named(plan):
    found = plan("""
bucket = aws.s3.Bucket("b")
def fails(name):
    raise KeyError("zone")
bucket.id.apply(fails)
""")
    assert [(each.name, "raises" in each.why) for each in found.hidden] == [("__main__.py, line 5", True)]


def test_a_function_that_makes_no_resources_is_not_run_with_a_stand_in(plan, tmp_path):
    plan("""
def write(text):
    open("kubeconfig", "w").write(text)
aws.lb.LoadBalancer("lb", subnets=["a"]).dns_name.apply(write)
""")
    assert not (tmp_path / "kubeconfig").exists()


def test_a_component_of_another_provider_and_its_methods_are_named(plan):
    found = plan("""
class Vpc(pulumi.ComponentResource):
    id: pulumi.Output[str]
    def __init__(self): super().__init__("awsx:ec2:Vpc", "net", {"id": None}, None, True)
net = Vpc()
kubeconfig = pulumi.runtime.call("eks:index:Cluster/getKubeconfig", {}, net)
aws.ec2.Instance("i", ami="ami-1", instance_type="t3.micro", subnet_id=net.id, tags={"k": kubeconfig})
""")
    assert named(found)["i"].inputs["subnetId"] is UNKNOWN
    assert [(each.name, each.what) for each in found.hidden] == [("net", "component of awsx")]


def test_an_environment_of_pulumi_cloud_is_named(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("environment: [gpu]\nconfig: {aws:region: us-west-2}\n")
    (tmp_path / "__main__.py").write_text("import pulumi\n")
    assert [each.name for each in evaluate(tmp_path, "dev").hidden] == ["Pulumi.dev.yaml"]


# -- a program that does not end as it should ---------------------------------------------------------------------------


def test_a_program_that_loops_is_stopped_with_its_place(plan, monkeypatch):
    monkeypatch.setenv("SIZEWELL_EVALUATION_SECONDS", "0.5")
    with pytest.raises(ServiceError, match=r"not done after 0\.5 s: it was in __main__\.py, line 4\n  fix: ") as caught:
        plan("import time\nwhile True: time.sleep(0.01)\n")
    assert "SIZEWELL_EVALUATION_SECONDS" in str(caught.value)


def test_a_configuration_of_the_wrong_kind_says_how_to_set_it(plan):
    with pytest.raises(ServiceError, match=r"not a valid 'int'\n  fix: .*pulumi config set"):
        plan("pulumi.Config().require_int('n')", config="demo:n: many")


@pytest.mark.parametrize("stated", ["soon", "3m"])
def test_a_limit_that_is_no_number_is_refused(plan, monkeypatch, stated):
    monkeypatch.setenv("SIZEWELL_EVALUATION_SECONDS", stated)
    with pytest.raises(UsageError, match="must be a number of seconds"):
        plan("")


def test_a_program_that_ends_the_process_ends_itself_alone(plan):
    with pytest.raises(ServiceError, match=r"the program ended its process: os\._exit\(0\)\n  fix: "):
        plan("import os\nos._exit(0)\n")


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("aws.no_such_module", "pulumi_aws [0-9.]+, which is installed, has no `no_such_module` in pulumi_aws"),
        ("from pulumi_aws import nothing_here", "has no `nothing_here` in pulumi_aws"),
        ("import pulumi_aws.not_here", "has no module `not_here`"),
        ("aws.s3.Bucket('b', acl_of_old='x')", "has no argument `acl_of_old`"),
        ("b = aws.s3.Bucket('b'); b.former_name", "has no `former_name` in Bucket"),
    ],
)
def test_what_a_provider_has_no_more_is_named_as_that_with_the_release_to_install(plan, program, says):
    with pytest.raises(SizewellError, match=says) as caught:
        plan(program, **{"requirements.txt": "pulumi-aws>=5.0.0,<6.0.0\n"})
    assert "-m pip install 'pulumi-aws>=5.0.0,<6.0.0'" in str(caught.value)


def test_a_name_that_many_modules_have_does_not_say_which_of_them_took_the_place_of_one(plan):
    with pytest.raises(SizewellError, match="has no `notebooks`") as caught:
        plan("import pulumi_gcp; pulumi_gcp.notebooks.Instance('n')")
    assert "did you mean" not in str(caught.value)


def test_a_command_of_a_component_names_the_stack_that_is_previewed(plan):
    with pytest.raises(SizewellError, match="fix: pulumi config rm -s dev shop:size") as caught:
        plan("import pulumi; raise pulumi.RunError('shop:size is wrong\\n  fix: pulumi config rm shop:size')")
    assert "pulumi config rm shop:size" not in str(caught.value)


@pytest.mark.parametrize(
    ("program", "near"),
    [
        ("aws.ec2.Instnace('w')", "Instance"),
        ("aws.ec2.InstanceState('off')", "pulumi_aws.ec2transitgateway.InstanceState"),
        ("from pulumi_aws.ec2 import Instnace", "Instance"),
        ("aws.ecr2", "ecr"),
        ("aws.ec2.Fleet('f', launch_template_config=[], target_capacity_specification={})", "launch_template_configs"),
        ("aws.ec2.InstanceRootBlockDeviceArgs(volume_sise=3)", "volume_size"),
        ("b = aws.s3.Bucket('b'); b.bukcet", "bucket"),
    ],
)
@pytest.mark.parametrize("asked", ["", "pulumi-aws>=7,<8\n"])
def test_a_misspelt_name_of_a_provider_is_answered_with_the_near_one_and_no_other_release(plan, program, near, asked):
    with pytest.raises(SizewellError, match="which is installed, has no ") as caught:
        plan(program, **{"requirements.txt": asked})
    assert f"did you mean `{near}`?" in str(caught.value)
    assert "install '" not in str(caught.value)


@pytest.mark.parametrize(
    ("program", "near"),
    [
        (
            "import pulumi_azure_native as az\naz.cache.Redis('c', resource_group_name='r')",
            "pulumi_azure_native.redis.Redis",
        ),
        (
            "import pulumi_azure_native as az\naz.insights.Component('c', resource_group_name='r')",
            "pulumi_azure_native.applicationinsights.Component",
        ),
        (
            "from pulumi_azure_native import documentdb\ndocumentdb.DatabaseAccount('c', resource_group_name='r')",
            "pulumi_azure_native.cosmosdb.DatabaseAccount",
        ),
        ("from pulumi_azure_native.cache import Redis\nRedis('c')", "pulumi_azure_native.redis.Redis"),
    ],
)
def test_of_a_module_that_is_gone_the_place_is_named_where_what_is_taken_from_it_is_now(plan, program, near):
    with pytest.raises(SizewellError, match="which is installed, has no ") as caught:
        plan(program)
    assert f"write `{near}`" in str(caught.value)


def test_a_module_with_a_similar_name_is_no_answer_where_it_lacks_what_is_taken(plan):
    with pytest.raises(SizewellError, match="it is misspelt, or the program is for another release\n"):
        plan("import pulumi_azure_native as az\naz.insights.NothingOfThisName('c')")


def test_a_name_that_is_near_to_none_may_be_misspelt_or_of_another_release(plan):
    with pytest.raises(SizewellError, match="it is misspelt, or the program is for another release\n") as caught:
        plan("aws.ec2.Quux('w')")
    assert "pulumi-aws<" not in str(caught.value)


def test_missing_packages_come_with_one_command_that_installs_all_of_them(plan):
    with pytest.raises(SizewellError) as caught:
        plan("import pulumi_nowhere\nimport not_there\n", **{"requirements.txt": "pulumi_nowhere==1.2\n"})
    assert str(caught.value).rstrip().endswith("-m pip install pulumi_nowhere==1.2 not_there")


def test_the_command_is_one_that_an_environment_without_pip_has(plan, monkeypatch):
    monkeypatch.setattr("sizewell.source.find_spec", lambda name: None)
    with pytest.raises(SizewellError) as caught:
        plan("import not_there\n")
    assert str(caught.value).rstrip().endswith(f"uv pip install --python {sys.executable} not_there")


def test_a_failure_carries_its_first_cause(plan):
    with pytest.raises(ServiceError) as caught:
        plan("""
def read():
    return {}["key"]
try:
    read()
except KeyError as error:
    raise ValueError("no zone") from error
""")
    cause = caught.value.cause
    assert cause[0] == "ValueError: no zone"
    assert cause[-2:] == ("__main__.py, line 7: read()", '__main__.py, line 5: return {}["key"]')


# -- the state that was last deployed -----------------------------------------------------------------------------------


def _state(*resources: RecordedResource, stack: str = "dev") -> Plan:
    return Plan(project="demo", stack=stack, resources=resources)


def _resource(type_: str, name: str, parent: str | None = None, **inputs: object) -> RecordedResource:
    urn = f"urn:pulumi:dev::demo::{type_}::{name}"
    return RecordedResource(urn=urn, type=type_, name=name, inputs=inputs, parent=parent)


REMOTE = """
class Vpc(pulumi.ComponentResource):
    def __init__(self, size): super().__init__("awsx:ec2:Vpc", "net", {"size": size}, None, True)
Vpc(1)
"""


def test_a_component_that_did_not_change_is_known_from_the_state(plan):
    evaluated = plan(REMOTE)
    component = _resource("awsx:ec2:Vpc", "net", size=1)
    gateway = _resource("aws:ec2/natGateway:NatGateway", "net-0", component.urn)
    whole = completed(evaluated, _state(component, gateway))
    assert "net-0" in named(whole)
    assert hidden_of(whole) == ()
    changed = completed(evaluated, _state(_resource("awsx:ec2:Vpc", "net", size=2), gateway))
    assert [each.name for each in hidden_of(changed)] == ["net"]


def test_what_a_place_made_is_shown_as_it_stands_and_stays_open(plan):
    evaluated = plan("""
import json
def from_text(text):
    for each in json.loads(text): aws.ec2.Instance(each, ami="ami-1", instance_type="p5.48xlarge")
pulumi.StackReference("org/p/dev").get_output("machines").apply(from_text)
""")
    whole = completed(evaluated, _state(_resource("aws:ec2/instance:Instance", "a", instanceType="p5.48xlarge")))
    assert "a" in named(whole)
    assert len(whole.hidden) == 1


def test_the_state_of_another_stack_is_refused(plan):
    with pytest.raises(UsageError, match=r"the state given is of the stack prod of demo, not of dev of demo\n  fix: "):
        completed(plan(REMOTE), _state(stack="prod"))


# -- what it costs --------------------------------------------------------------------------------------------------------


def test_what_is_hidden_is_never_free_and_all_counts_add_up(plan):
    found = plan(REMOTE + "\naws.iam.User('u')\naws.ec2.get_subnets().ids and aws.iam.User('v')\n")
    pricing = price(found, load(), on=date(2026, 11, 21))
    counts = pricing.coverage
    assert counts.not_judged == 2
    assert counts.detected == counts.estimated + counts.free + counts.unpriced + counts.unknown + counts.not_judged
    assert [line.what for line in pricing.items if "not judged" in str(line.price)] == [
        "component of awsx", "what the program makes there",
    ]  # fmt: skip
