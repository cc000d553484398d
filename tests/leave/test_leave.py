"""`sizewell leave`: every stack of the repository, a program with all that Pulumi has, and what is refused."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizewell.cli.main import main
from sizewell.leave.leaving import leave
from sizewell.policy import engine
from sizewell.policy.config import parse_config
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts
from sizewell.resources.recorded import UNKNOWN
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import ServiceError, SizewellError, UsageError

sys.path.insert(0, str(Path(__file__).parent))
from programs import HEAD, PROGRAMS

ROOT = Path(__file__).parents[2]
SINK = Path(__file__).parent / "sink"
PREFIX = "Pulumi."
STACKS = sorted(path.stem.removeprefix(PREFIX) for path in (ROOT / "stacks/config").glob("Pulumi.*.yaml"))
EMPTY = {f"checkpoints-{name}" for name in ("dev-azure", "dev-gcp", "prod-azure", "prod-gcp")}  # they build nothing


def same(left: Any, right: Any) -> bool:
    """Whether two values are the same where both are known; what one of them knows, the other may ask for."""
    if left is UNKNOWN or right is UNKNOWN:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@pytest.mark.parametrize("stack", [name for name in STACKS if name not in EMPTY])
def test_the_new_program_of_a_stack_asks_for_the_same(stack: str, tmp_path: Path) -> None:
    left = leave(ROOT, stack, tmp_path / "plain")
    before, after = evaluate(ROOT, stack), evaluate(tmp_path / "plain", stack)
    ours, theirs = before.by_urn(), after.by_urn()
    assert ours.keys() == theirs.keys()
    for urn, one in ours.items():
        other = theirs[urn]
        assert (one.type, one.name, one.parent, one.provider) == (other.type, other.name, other.parent, other.provider)
        if not one.custom:
            continue
        for option in ("protect", "retain_on_delete", "aliases", "ignore_changes", "delete_before_replace"):
            assert getattr(one, option) == getattr(other, option), f"{urn} {option}"
        assert set(one.dependencies) == set(other.dependencies), urn
        assert same(dict(one.inputs), dict(other.inputs)), urn
    assert same(dict(before.outputs), dict(after.outputs))
    modules = {path: content for path, content in texts(tmp_path / "plain").items() if path.endswith(".py")}
    for path, content in modules.items():
        imported = [node.module or "" for node in ast.walk(ast.parse(content)) if isinstance(node, ast.ImportFrom)]
        imported += [
            each.name for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Import) for each in node.names
        ]
        assert not any(name.partition(".")[0] in ("sizewell", "components", "sizing") for name in imported), path
    lines = [content.count("\n") for content in modules.values() if content]
    assert sum(lines) / len(lines) < 300
    assert max(lines) < 300
    assert left.resources == len([one for one in ours.values() if one.type != "pulumi:pulumi:Stack"])


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_program_with_all_that_pulumi_has(tmp_path: Path) -> None:
    """Secrets, assets, answers, lookups, stack references, aliases, time-outs, providers of one's own."""
    leave(SINK, "dev", tmp_path / "plain")
    files = texts(tmp_path / "plain")
    program = "\n".join(content for path, content in files.items() if path.endswith(".py"))
    for expected in (
        'config.require("cidr")',
        'config.require_secret("password")',
        'acme_base_prod.require_output("host")',
        'aws.ec2.Vpc.get("old", "vpc-0123456789")',
        'pulumi.FileAsset("hello.txt")',
        'pulumi.CustomTimeouts(create="5m")',
        'pulumi.Alias(name="old-0")',
        'pulumi.Output.concat("net of ", caller_identity.account_id)',
        'vm.private_dns.apply(lambda value: value.split(".")[0])',
        'text("scripts/vm.sh", logs_id=logs.id)',
        "availability_zones.names[1]",
        "providers=[eu_provider]",
        "depends_on=[net]",
        "protect=True",
    ):
        assert expected in program
    assert files["scripts/vm.sh"] == "#!/bin/bash\nset -e\necho @logs_id@\nexport A=${B}\nsystemctl start x\nsleep 1\n"
    assert files["app/main.py"] == (SINK / "app/main.py").read_text()
    config = yaml.safe_load(files["Pulumi.dev.yaml"])
    assert config["encryptionsalt"] == "v1:abc:v1:def:ghi=="
    assert config["config"]["sink:password"] == {"secure": "AAAA"}
    assert config["config"]["aws:region"] == "eu-west-1"
    assert "sink:unused" not in config["config"]


@pytest.mark.parametrize("stack", ["dev-aws", "staging-gcp", "dev-azure"])
def test_the_policies_find_the_same(stack: str, tmp_path: Path) -> None:
    leave(ROOT, stack, tmp_path / "plain")
    before, after = (findings(folder, stack) for folder in (ROOT, tmp_path / "plain"))
    assert before == after


def test_what_was_decided_is_not_asked_of_the_new_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of the policies go along; of the decision there is no file to compare with."""
    leave(ROOT, "dev-gcp", tmp_path / "plain")
    own, written = (yaml.safe_load((at / "policy/config.yaml").read_text()) for at in (ROOT, tmp_path / "plain"))
    assert written == {**own, "levels": {"decision-out-of-date": "disabled"}}
    monkeypatch.chdir(tmp_path / "plain")
    command = ["policy", "dev-gcp", "--profile", "standard"]
    assert main(command) == 0
    assert "decision" not in capsys.readouterr().out
    (tmp_path / "plain/policy/config.yaml").unlink()
    main(command)
    assert "stacks/decisions/dev-gcp.json is not here to compare with" in " ".join(capsys.readouterr().out.split())


def findings(folder: Path, stack: str) -> set[tuple[str, str, str]]:
    known = facts(evaluate(folder, stack), load(), on=date(2026, 11, 20))
    results = engine.evaluate(known, parse_config({"profile": "standard"}), on=date(2026, 11, 20)).results
    return {(each.rule, each.urn, each.message) for each in results}


def test_the_new_program_passes_the_type_checker(tmp_path: Path) -> None:
    leave(SINK, "dev", tmp_path / "sink")
    leave(ROOT, "dev-gcp", tmp_path / "gcp")
    for name in ("sink", "gcp"):
        options = ["--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache"]
        command = [sys.executable, "-m", "mypy", *options, "__main__.py", "resources"]
        done = subprocess.run(command, cwd=tmp_path / name, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_as_users_write_them(name: str, tmp_path: Path) -> None:
    """What is written is run and compared by `leave` itself, and is tidy."""
    own = PROGRAMS[name]
    for path, content in {
        "Pulumi.yaml": own.yaml,
        "Pulumi.dev.yaml": own.config,
        own.main: HEAD + own.program,
        **own.extra,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    if own.expect != "OK":
        with pytest.raises(UsageError) as refused:
            leave(tmp_path, "dev", tmp_path / "plain")
        assert own.expect in str(refused.value)
        return
    leave(tmp_path, "dev", tmp_path / "plain")
    assert evaluate(tmp_path, "dev").by_urn().keys() == evaluate(tmp_path / "plain", "dev").by_urn().keys()
    assert not any(re.search("zq7x|Zq/7", text) for text in texts(tmp_path / "plain").values()), "a marker is left"
    linted = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--line-length",
        "120",
        "__main__.py",
        "resources",
    ]
    done = subprocess.run(linted, cwd=tmp_path / "plain", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_the_cloud_adds_to_an_object_is_not_taken_for_missing(tmp_path: Path) -> None:
    program = (
        'c = aws.eks.Cluster("c", role_arn="r", vpc_config={"subnet_ids": ["a"]})\n'
        'g = c.vpc_config.apply(lambda v: getattr(v, "cluster_security_group_id", None) or "")\n'
        'aws.ec2.SecurityGroup("s", tags={"of": g, "to": c.vpc_config.subnet_ids[0]})\n'
    )
    leave(project(tmp_path, program), "dev", tmp_path / "plain")
    written = (tmp_path / "plain/resources/stack.py").read_text()
    assert 'tags={"of": c.vpc_config.cluster_security_group_id, "to": c.vpc_config.subnet_ids[0]}' in written


def test_an_exported_resource_stays_one(tmp_path: Path) -> None:
    """The SDK sends all properties of it; a component's attributes are of a class that the new program does not have."""
    program = (
        "import pulumi_kubernetes as k8s\n"
        "class C(pulumi.ComponentResource):\n    def __init__(self, name):\n        super().__init__('x:y:C', name)\n"
        "        self.bucket = aws.s3.Bucket(name, opts=pulumi.ResourceOptions(parent=self))\n        self.label = 'x'\n"
        'b = aws.s3.Bucket("b")\nk = k8s.Provider("k", context="x")\nnet = pulumi.StackReference("acme/net/dev")\n'
        'pulumi.export("c", C("c"))\npulumi.export("all", {"b": [b], "k": k, "net": pulumi.Output.from_input(net)})\n'
        'pulumi.export("urn", b.urn)'
    )
    leave(project(tmp_path, program), "dev", tmp_path / "plain")
    written = (tmp_path / "plain/__main__.py").read_text()
    assert 'pulumi.export("all", {"b": [b], "k": k_provider, "net": acme_net_dev})' in written
    assert 'pulumi.export("c", {"bucket": c_bucket, "id": None, "label": "x", "urn": c_component.urn})' in written
    assert 'pulumi.export("urn", b.urn)' in written


def test_a_parameter_of_ssm_is_a_secret_by_its_type(tmp_path: Path) -> None:
    """The SDK marks each value of one as secret, and does so in the new program by itself."""
    program = (
        'b = aws.s3.Bucket("b")\naws.ssm.Parameter("p", type="String", value="plain")\n'
        'aws.ssm.Parameter("q", type=aws.ssm.ParameterType.STRING_LIST, value="a,b")\n'
        'aws.ssm.Parameter("r", type="SecureString", value=b.arn)'
    )
    leave(project(tmp_path, program), "dev", tmp_path / "plain")
    written = (tmp_path / "plain/resources/stack.py").read_text()
    assert 'aws.ssm.Parameter("p", type="String", value="plain")' in written
    assert 'aws.ssm.Parameter("q", type="StringList", value="a,b")' in written
    assert 'aws.ssm.Parameter("r", type="SecureString", value=b.arn)' in written


def written(folder: Path, program: str, config: str = "config: {}\n", stack: str = "dev") -> str:
    leave(project(folder, program, config), stack, folder / "plain")
    return "\n".join(text for path, text in texts(folder / "plain").items() if path.endswith(".py"))


def test_an_output_of_another_stack_is_asked_for_as_it_was(tmp_path: Path) -> None:
    """The SDK's own method knows which of the outputs are secret, and that one which is not there is None."""
    program = (
        'net = pulumi.StackReference("acme/net/dev")\n'
        'pulumi.export("a", net.get_output("vpc"))\npulumi.export("b", net.require_output("db")["host"])\n'
        'pulumi.export("c", net.outputs["vpc"])\npulumi.export("d", pulumi.Output.format("x:{}", net.get_output("port")))\n'
        'pulumi.export("e", net.get_output("n").apply(str))\npulumi.export("f", net.get_output("n").apply(lambda n: f"{n}"))\n'
        'pulumi.export("g", net.get_output("n").apply(lambda n: "n=%s" % n))\n'
    )
    made = written(tmp_path, program)
    for expected in (
        'pulumi.export("a", acme_net_dev.get_output("vpc"))',
        'pulumi.export("b", acme_net_dev.require_output("db")["host"])',
        'pulumi.export("c", acme_net_dev.outputs["vpc"])',
        'pulumi.export("d", pulumi.Output.concat("x:", acme_net_dev.get_output("port").apply(str)))',
        'pulumi.export("e", acme_net_dev.get_output("n").apply(str))',
        'pulumi.export("f", acme_net_dev.get_output("n").apply(str))',
        'pulumi.export("g", pulumi.Output.concat("n=", acme_net_dev.get_output("n").apply(str)))',
    ):
        assert expected in made


@pytest.mark.parametrize(
    ("stack", "backend", "said"),
    [("acme/own/dev", "", "acme"), ("acme/dev", "", "acme"), ("dev", "backend: {url: 's3://b'}", "organization")],
)
def test_the_organization_is_that_of_the_stack(stack: str, backend: str, said: str, tmp_path: Path) -> None:
    program = 'o = pulumi.get_organization()\naws.sqs.Queue(f"{o}-q", name=o)\npulumi.StackReference(f"{o}/net/dev")'
    root = project(tmp_path, program)
    (root / "Pulumi.yaml").write_text(f"name: own\nruntime: python\n{backend}\n")
    leave(root, stack, root / "plain")
    made = (root / "plain/resources/stack.py").read_text()
    assert f'aws.sqs.Queue("{said}-q", name="{said}")' in made
    assert f'pulumi.StackReference("{said}/net/dev", stack_name="{said}/net/dev")' in made
    with pytest.raises(UsageError, match="the project is own\n  fix: name the stack acme/own/dev"):
        leave(root, "acme/other/dev", root / "plain2")


def test_a_setting_that_the_program_compares_in_a_text(tmp_path: Path) -> None:
    """Settings are traced where that tells nothing wrong: a text of one is compared by its value."""
    config = "config: {own:name: web, own:id: a-bucket, own:limit: 5m}\n"
    program = (
        'c = pulumi.Config()\nn = c.require("name")\nq = f"{n}-q"\n'
        'aws.sqs.Queue("q", name=n, tags={"a": "yes" if q == "web-q" else "no", "b": f"{n}-{q == \'web-q\'}"})\n'
    )
    assert 'tags={"a": "yes", "b": "web-True"}' in written(tmp_path, program, config)


def test_a_setting_in_options_is_what_it_comes_to(tmp_path: Path) -> None:
    program = (
        'c = pulumi.Config()\nn = c.require("name")\naws.sqs.Queue("q", name=n.upper(), tags={"x": f"{n[:2]}-x"}, '
        "opts=pulumi.ResourceOptions(import_=f'{n}-id', aliases=[pulumi.Alias(name=f'{n}-old')], ignore_changes=[n], "
        'custom_timeouts=pulumi.CustomTimeouts(create=c.require("limit"))))\n'
    )
    made = written(tmp_path, program, "config: {own:name: web, own:limit: 5m}\n")
    for expected in (
        'name=config.require("name").upper()',
        'pulumi.Output.concat(config.require("name")[:2], "-x")',
        'import_="web-id"',
        'ignore_changes=["web"]',
        'pulumi.CustomTimeouts(create="5m")',
        'pulumi.Alias(name="web-old")',
    ):
        assert expected in made


def test_a_resource_that_is_looked_up_stays_what_others_wait_for(tmp_path: Path) -> None:
    program = 'v = aws.ec2.Vpc.get("shared", "vpc-1")\naws.ec2.Subnet("s", vpc_id=v.id, cidr_block="10.0.0.0/24")\n'
    assert 'aws.ec2.Subnet("s", cidr_block="10.0.0.0/24", vpc_id=shared.id)' in written(tmp_path, program)


def test_the_path_of_the_project_in_a_value_is_told(tmp_path: Path) -> None:
    program = 'aws.sqs.Queue("q", tags={"at": pulumi.get_root_directory()})\n'
    left = leave(project(tmp_path, program), "dev", tmp_path / "plain")
    assert f"q: tags has the path {tmp_path} in it, and keeps it" in left.notes


# -- what is refused --------------------------------------------------------------------------------------------------


def project(folder: Path, program: str, config: str = "config: {}\n") -> Path:
    (folder / "Pulumi.yaml").write_text("name: own\nruntime: python\n")
    (folder / "Pulumi.dev.yaml").write_text(config)
    (folder / "__main__.py").write_text(f"import json\nimport pulumi\nimport pulumi_aws as aws\n{program}")
    return folder


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ('aws.ssm.Parameter("p", type="SecureString", value="hunter2")', "p (aws:ssm/parameter:Parameter): value: is a secret that the program has in clear"),
        ('aws.s3.Bucket("b")\npulumi.export("x", pulumi.Output.secret("hunter2"))', "output x: is a secret that the program has in clear"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.id.apply(lambda v: str(len(v))))', "c (aws:s3/bucket:Bucket): bucket: cannot be written: len() of what is known only after deployment"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.id.apply(lambda v: f"x{v}".split("-")[0]))', "c (aws:s3/bucket:Bucket): bucket: cannot be written: the program reads the text"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.id.apply(lambda v: "a" if v == "x" else "b"))', "__main__.py:5: decides by b.id, which is known only after deployment"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.arn.apply(lambda v: "a" if v.startswith("x") else "b"))', "__main__.py:5: decides by b.arn.startswith(), which is known only after deployment"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.id.apply(lambda v: {"x": "a"}.get(v, "b")))', "__main__.py:5: decides by b.id, which is known only after deployment"),
        ('import re\nb = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.id.apply(lambda v: "a" if re.match("x", v) else "b"))', "decides by b.id, which is known only after deployment"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.force_destroy.apply(lambda v: "a" if v else "b"))', "decides by b.force_destroy, which is known only after deployment"),
        ('b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.tags.apply(lambda v: (v or {}).get("team", "b")))', "a default for what may be absent"),
        ('pulumi.CustomResource("own:index:Thing", "t", {"size": 1})', "t (own:index:Thing): is made by pulumi.resource.CustomResource, which is no provider's SDK for Python"),
        ('aws.s3.BucketObject("o", bucket="b", source=pulumi.FileAsset("/etc/hostname"))', "o (aws:s3/bucketObject:BucketObject): source: /etc/hostname is outside of the program's folder"),
        ("", "its program makes no resources"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_told_by_path(program: str, said: str, tmp_path: Path) -> None:
    root = project(tmp_path, program)
    with pytest.raises(UsageError) as refused:
        leave(root, "dev", tmp_path / "plain")
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Pulumi.dev.yaml", "Pulumi.yaml", "__main__.py"]


def test_a_program_that_fails_writes_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, 'raise RuntimeError("no")')
    with pytest.raises(ServiceError, match=r"the program failed in __main__.py, line 4"):
        leave(root, "dev", tmp_path / "plain")
    assert not (tmp_path / "plain").exists()


@pytest.mark.parametrize(
    ("runtime", "program", "state", "fix"),
    [
        ("nodejs", "", "", "stay with this program"),
        ("{name: yaml}", "", "", "stay with this program"),
        ("python", "1 / 0", "", "correct the program or its configuration (`pulumi config set KEY VALUE`)"),
        (
            "python",
            "int(aws.get_region().region)",
            "",
            "have the program take what aws:index/getRegion:getRegion answers",
        ),
        ("python", 'aws.s3.Bucket("b")', "none", "write it with `pulumi stack export > FILE`"),
        ("python", 'aws.s3.Bucket("b")', '{"steps": []}', "write it with `pulumi stack export > FILE`"),
    ],
)
def test_no_way_out_is_an_option_of_others(runtime: str, program: str, state: str, fix: str, tmp_path: Path) -> None:
    root = project(tmp_path, program)
    (root / "Pulumi.yaml").write_text(f"name: own\nruntime: {runtime}\n")
    (root / "state.json").write_text(state)
    with pytest.raises(SizewellError) as refused:
        leave(root, "dev", root / "plain", state=root / "state.json" if state else None)
    assert f"fix: {fix}" in str(refused.value)
    assert not re.search(r"--(engine|plan|show-sames)", str(refused.value))


def test_a_dynamic_provider_is_code_of_the_program(tmp_path: Path) -> None:
    program = (
        "from pulumi.dynamic import Resource, ResourceProvider, CreateResult\n"
        "class P(ResourceProvider):\n    def create(self, props):\n        return CreateResult('1', {})\n"
        "class R(Resource):\n    def __init__(self, name):\n        super().__init__(P(), name, {})\n"
        "R('r')"
    )
    with pytest.raises(UsageError, match="is a dynamic provider, whose code is in the program itself"):
        leave(project(tmp_path, program), "dev", tmp_path / "plain")


def test_a_folder_with_content_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, 'aws.s3.Bucket("b")')
    monkeypatch.chdir(root)
    assert main(["leave", "dev", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["resources"] == 1
    assert {"path": "requirements.txt", "lines": 3} in document["files"]
    before = texts(root / "plain-dev")
    assert main(["leave", "dev"]) == 64
    assert (
        "plain-dev: already exists, and has content\n  fix: name a folder that is new or empty"
        in capsys.readouterr().err
    )
    assert texts(root / "plain-dev") == before
    assert main(["leave", "dev", "--to", "."]) == 64
    assert main(["leave", "dve"]) == 64
    assert "did you mean dev?" in capsys.readouterr().err


# -- with a state -----------------------------------------------------------------------------------------------------


def state(folder: Path, *resources: dict[str, Any], pending: tuple[dict[str, Any], ...] = ()) -> Path:
    path = folder / "state.json"
    stack = {"urn": "urn:pulumi:dev::own::pulumi:pulumi:Stack::own-dev", "type": "pulumi:pulumi:Stack", "custom": False}
    deployment = {"manifest": {}, "resources": [stack, *resources], "pending_operations": list(pending)}
    path.write_text(json.dumps({"version": 3, "deployment": deployment}))
    return path


def bucket(name: str, **outputs: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::own::aws:s3/bucket:Bucket::{name}"
    return {
        "urn": urn,
        "type": "aws:s3/bucket:Bucket",
        "custom": True,
        "id": f"{name}-1",
        "inputs": {},
        "outputs": outputs,
    }


DECIDES = 'b = aws.s3.Bucket("b")\naws.s3.Bucket("c", bucket=b.region.apply(lambda v: "near" if v == "eu-west-1" else "far"), tags={"of": b.arn})\n'


def test_a_state_says_what_a_program_decides_by(tmp_path: Path) -> None:
    root = project(tmp_path, DECIDES)
    with pytest.raises(UsageError, match="pulumi stack export -s dev"):
        leave(root, "dev", tmp_path / "plain")
    known = state(tmp_path, bucket("b", region="eu-west-1", arn="arn:aws:s3:::b-1"), bucket("c"))
    leave(root, "dev", tmp_path / "plain", state=known)
    written = (tmp_path / "plain/resources/stack.py").read_text()
    assert 'bucket="near"' in written
    assert 'tags={"of": b.arn}' in written


def test_a_state_with_pending_operations_or_of_another_stack_is_refused(tmp_path: Path) -> None:
    root = project(tmp_path, DECIDES)
    stopped = state(tmp_path, bucket("b"), pending=({"type": "creating", "resource": bucket("c")},))
    with pytest.raises(
        UsageError, match=r"the engine was stopped while it was creating c.*\n  fix: pulumi refresh -s dev"
    ):
        leave(root, "dev", tmp_path / "plain", state=stopped)
    with pytest.raises(
        UsageError, match="1 resources are in the program or in the state alone: c\n  fix: pulumi up -s dev"
    ):
        leave(root, "dev", tmp_path / "plain", state=state(tmp_path, bucket("b", region="eu-west-1")))
    shutil.copy(root / "Pulumi.dev.yaml", root / "Pulumi.prod.yaml")
    with pytest.raises(UsageError, match="is of the stack dev, not of prod"):
        leave(root, "prod", tmp_path / "plain", state=state(tmp_path, bucket("b"), bucket("c")))
    assert not (tmp_path / "plain").exists()
