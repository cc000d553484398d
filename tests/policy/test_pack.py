"""The pack as the real process, driven over its protocol, and under the real engine in preview and up."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizewell.policy.opening import Opening
from sizewell.sdk import protocol

ROOT = Path(__file__).parents[2]
PACK = ROOT / "policy"
UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
LT, ASG = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"


class Pack:
    """A running pack and a client to it."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(PACK)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PULUMI_STACK": "dev-test", "PULUMI_PROJECT": "test", **(environment or {})},
            text=True,
        )
        assert self.process.stdout is not None
        self.port = self.process.stdout.readline().strip()
        self.seconds = time.monotonic() - started
        if self.port:
            import grpc
            from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

            self.proto: Any = analyzer_pb2
            self.stub: Any = analyzer_pb2_grpc.AnalyzerStub(grpc.insecure_channel(f"127.0.0.1:{self.port}"))

    def stop(self) -> str:
        self.process.terminate()
        return self.process.communicate(timeout=20)[1]

    def configure(self, **policies: Any) -> None:
        from google.protobuf import empty_pb2

        self.stub.ConfigureStack(self.proto.AnalyzerStackConfigureRequest(stack="dev-test", project="test"))
        self.stub.GetAnalyzerInfo(empty_pb2.Empty())
        self.stub.Configure(self.proto.ConfigureAnalyzerRequest(policyConfig=policies))

    def resource(self, kind: str, name: str, inputs: dict[str, Any], **more: Any) -> SimpleNamespace:
        return SimpleNamespace(
            kind=kind, name=name, inputs=inputs, more=more, urn=f"urn:pulumi:dev-test::t::{kind}::{name}"
        )

    def analyze(self, item: SimpleNamespace) -> list[Any]:
        request = self.proto.AnalyzeRequest(type=item.kind, name=item.name, urn=item.urn)
        request.properties.update(item.inputs)
        request.options.protect = item.more.get("protect", False)
        return list(self.stub.Analyze(request).diagnostics)

    def analyze_stack(self, *items: SimpleNamespace) -> list[Any]:
        request = self.proto.AnalyzeStackRequest()
        for item in items:
            self.analyze(item)
            message = request.resources.add(type=item.kind, name=item.name, urn=item.urn)
            # a component gives no inputs at the end, only outputs: the pack has to remember
            message.properties.update(item.more.get("outputs", {}))
            message.options.protect = item.more.get("protect", False)
            for prop, urns in item.more.get("refs", {}).items():
                message.propertyDependencies[prop].urns.extend(urns)
        return list(self.stub.AnalyzeStack(request).diagnostics)


@pytest.fixture(scope="module")
def pack() -> Iterator[Pack]:
    running = Pack()
    running.configure()
    yield running
    running.stop()


def names(diagnostics: list[Any]) -> set[str]:
    return {diagnostic.policyName for diagnostic in diagnostics}


def test_the_pack_tells_its_rules(pack: Pack) -> None:
    from google.protobuf import empty_pb2

    from sizewell.policy.rules import RULES

    info = pack.stub.GetAnalyzerInfo(empty_pb2.Empty())
    assert info.name == "sizewell"
    assert info.supportsConfig
    assert {p.name for p in info.policies} == {rule.id for rule in RULES if not rule.evaluator_only} | {"cost-total"}
    level = {p.name: p.enforcementLevel for p in info.policies}
    assert level["idle-exposure"] == pack.proto.MANDATORY
    assert level["cluster-public-endpoint"] == pack.proto.ADVISORY, "in a stack called dev-test"


def test_the_version_is_the_projects(pack: Pack) -> None:
    from google.protobuf import empty_pb2

    version = pack.stub.GetAnalyzerInfo(empty_pb2.Empty()).version
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {version}" in (PACK / "PulumiPolicy.yaml").read_text()


def test_the_total_stands_in_a_plain_preview(pack: Pack) -> None:
    box = pack.resource("aws:ec2/instance:Instance", "box", {"instanceType": "g6.xlarge", "region": "us-east-1"})
    said = [d.message for d in pack.analyze_stack(box) if d.policyName == "cost-total"]
    # 0.8048 x 730, and the public address of a machine in the default network
    assert said == ["591.15 USD a month expected (591.15 to 591.15)"]


def test_a_purchase_is_refused_before_it_is_made(pack: Pack) -> None:
    block = pack.resource(
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation", "block", {"instancePlatform": "x"}
    )
    found = pack.analyze(block)
    assert {"purchase-unconfirmed", "purchase-unprotected"} <= names(found)
    said = next(d for d in found if d.policyName == "purchase-unconfirmed")
    assert said.enforcementLevel == pack.proto.MANDATORY
    assert said.urn == block.urn
    assert "fix: tag it sizewell-purchase: confirmed, with sizewell-max-price-usd and sizewell-start" in said.message


def test_a_group_is_judged_with_its_template_at_the_end(pack: Pack) -> None:
    template = pack.resource(LT, "lt", {"instanceType": "p5.48xlarge"})
    inputs = {"minSize": 1, "maxSize": 2, "launchTemplate": {"id": UNKNOWN_STRING}}
    group = pack.resource(ASG, "gpu", inputs, refs={"launchTemplate": [template.urn]})
    assert "idle-exposure" not in names(pack.analyze(group)), "one resource alone cannot tell"
    found = [d for d in pack.analyze_stack(template, group) if d.policyName == "idle-exposure"]
    assert [d.urn for d in found] == [group.urn]
    assert found[0].enforcementLevel == pack.proto.MANDATORY


def test_an_unknown_machine_type_is_undetermined_and_fails(pack: Pack) -> None:
    group = pack.resource(ASG, "gpu", {"minSize": 1, "maxSize": 2, "launchTemplate": {"id": UNKNOWN_STRING}})
    found = [d for d in pack.analyze_stack(group) if d.policyName == "idle-exposure"]
    assert "cannot be checked before" in found[0].message
    assert found[0].enforcementLevel == pack.proto.MANDATORY


def test_what_was_told_for_one_resource_is_not_told_again(pack: Pack) -> None:
    volume = pack.resource("aws:ec2/eip:Eip", "lonely", {"domain": "vpc"})
    first = names(pack.analyze(volume))
    assert "owner-and-expiry-tags" in first
    assert not first & {
        d.policyName for d in pack.analyze_stack(volume) if d.urn == volume.urn and d.policyName in first
    }


def test_retention_is_not_asked_of_a_process_that_cannot_see_it(pack: Pack) -> None:
    bucket = pack.resource("aws:s3/bucket:Bucket", "ckpt", {}, protect=True)
    found = names(pack.analyze_stack(bucket))
    assert "checkpoint-retained" not in found
    assert "checkpoint-protected" not in found
    assert "checkpoint-versioned" in found


def test_secrets_are_read_and_never_told(pack: Pack) -> None:
    canary = "canary-9f1c"
    secret = {
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "value": f"export TOKEN='{canary}'",
    }
    box = pack.resource("aws:ec2/instance:Instance", "box", {"instanceType": "g6.xlarge", "userData": secret})
    found = pack.analyze_stack(box)
    assert "secret-in-script" in names(found)
    assert all(canary not in d.message for d in found)


def test_levels_and_parameters_from_the_engine() -> None:
    running = Pack()
    try:
        off = running.proto.PolicyConfig(enforcementLevel=running.proto.DISABLED)
        wide = running.proto.PolicyConfig(enforcementLevel=running.proto.MANDATORY)
        wide.properties.update({"keys": ["team"]})
        running.configure(**{"owner-and-expiry-tags": off, "cost-center-tag": wide})
        found = running.analyze(running.resource("aws:ec2/eip:Eip", "ip", {"tags": {"cost-center": "42"}}))
        assert "owner-and-expiry-tags" not in names(found)
        said = next(d for d in found if d.policyName == "cost-center-tag")
        assert said.enforcementLevel == running.proto.MANDATORY
        assert "fix: tag it team" in said.message
    finally:
        running.stop()


def test_only_a_missing_environment_tag_is_mended_by_itself() -> None:
    running = Pack()
    try:
        mend = running.proto.PolicyConfig(enforcementLevel=running.proto.REMEDIATE)
        running.configure(**{"environment-tag": mend})
        request = running.proto.AnalyzeRequest(type="aws:ebs/volume:Volume", name="v", urn="urn:v")
        request.properties.update({"size": 1, "tags": {"owner": "ml"}})
        mended = running.stub.Remediate(request).remediations
        assert [dict(m.properties["tags"]) for m in mended] == [{"owner": "ml", "sizewell-environment": "dev"}]
        request.properties.update({"tags": {"env": "prod"}})
        assert not running.stub.Remediate(request).remediations
    finally:
        running.stop()


def test_a_usage_file_prices_what_no_resource_states(tmp_path: Path) -> None:
    file = tmp_path / "usage.yaml"
    file.write_text("usage: [{resource: data, stored_gigabytes: 1000}]\n", encoding="utf-8")
    running = Pack({"SIZEWELL_USAGE": str(file)})
    try:
        running.configure()
        found = running.analyze_stack(running.resource("aws:s3/bucket:Bucket", "data", {"region": "us-east-1"}))
        assert "unpriced-resource" not in names(found)
        assert [d.message for d in found if d.policyName == "cost-total"] == [
            "23.00 USD a month expected (23.00 to 23.00)"
        ]
    finally:
        running.stop()


def test_a_waiver_holds_and_is_told(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    until = (datetime.now(UTC).date() + timedelta(days=30)).isoformat()
    waiver = f"{{rule: owner-and-expiry-tags, resource: ip, reason: moved by hand, expires: {until}}}"
    gone = f"{{rule: unused-address, resource: elsewhere, reason: moved by hand, expires: {until}}}"
    file.write_text(f"waivers: [{waiver}, {gone}]\n", encoding="utf-8")
    running = Pack({"SIZEWELL_POLICY_CONFIG": str(file)})
    try:
        running.configure()
        address = running.resource("aws:ec2/eip:Eip", "ip", {"domain": "vpc"})
        assert "owner-and-expiry-tags" not in names(running.analyze(address))
        said = {d.policyName: d for d in running.analyze_stack(address)}
        assert said["cost-total"].message.endswith(
            f"\nwaived: owner-and-expiry-tags for ip: moved by hand (until {until})"
        )
        assert said["unused-address"].message.startswith(
            "the waiver of unused-address names elsewhere, which is not in"
        )
        assert said["unused-address"].enforcementLevel == running.proto.MANDATORY
    finally:
        running.stop()


def test_a_wrong_configuration_stops_the_pack_and_says_why(tmp_path: Path) -> None:
    wrong = tmp_path / "policy.yaml"
    wrong.write_text("levels: {idle-exposur: advisory}\n", encoding="utf-8")
    running = Pack({"SIZEWELL_POLICY_CONFIG": str(wrong)})
    assert running.port == ""
    assert "did you mean idle-exposure?" in running.stop()
    assert running.process.returncode == 64


def test_a_level_for_a_rule_that_is_none_stops_the_pack_too(pack: Pack) -> None:
    import grpc

    request = pack.proto.ConfigureAnalyzerRequest(policyConfig={"idle-exposur": pack.proto.PolicyConfig()})
    with pytest.raises(grpc.RpcError) as refused:
        pack.stub.Configure(request)
    assert "idle-exposur: unknown rule\n  fix: did you mean idle-exposure?" in str(refused.value.details())


def test_what_the_rules_announced_is_what_they_are() -> None:
    from sizewell.policy.announced import announced, differing
    from sizewell.policy.rules import RULES

    assert differing(announced(), RULES) == [], "refresh: make generate"
    assert announced() != list(RULES), "the file was not read"


def test_rules_that_stand_beside_the_announced_ones_speak_for_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sizewell.policy import announced
    from sizewell.policy.config import schema
    from sizewell.policy.rules import RULES

    (tmp_path / "policy.schema.json").write_text(json.dumps(schema(RULES[1:])), encoding="utf-8")
    monkeypatch.setattr(announced, "FILE", tmp_path / "policy.schema.json")
    assert announced.announced() is RULES
    monkeypatch.setattr(announced, "FILE", tmp_path / "nothing.json")
    assert announced.announced() is RULES


class RefusedError(Exception):
    pass


class Context:
    def abort(self, code: Any, words: str) -> None:
        raise RefusedError(f"{code.name}: {words}")


def asked(prepare: Any, **changes: Any) -> str:
    """What the engine hears when it wants a judgement of a pack whose loading went as `prepare` has it."""
    from sizewell.policy import adapter
    from sizewell.policy.announced import announced
    from sizewell.policy.config import Config

    said = [replace(rule, **changes) if rule.id == "expired" else rule for rule in announced()]
    opening = Opening(said=said, config=Config())
    proto, services, plugin = protocol.modules("analyzer_pb2", "analyzer_pb2_grpc", "plugin_pb2")
    servant = adapter.servicer(opening, proto, services, plugin)
    prepare(opening)
    assert not opening.heard.is_set()
    with pytest.raises(RefusedError) as refused:
        servant.Analyze(proto.AnalyzeRequest(type="aws:ec2/eip:Eip", name="ip", urn="urn:ip"), Context())
    assert opening.heard.is_set(), "a judgement that nobody prepared is prepared when it is asked for"
    return str(refused.value)


def test_a_pack_that_cannot_be_loaded_refuses_and_says_why() -> None:
    words = asked(lambda opening: opening.session.set_exception(SyntaxError("unmatched ')' (expired.py, line 44)")))
    assert words == (
        "FAILED_PRECONDITION: policy pack sizewell: the rule pack failed, so nothing was checked (SyntaxError: "
        "unmatched ')' (expired.py, line 44))"
    )


def test_a_pack_that_announced_something_else_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    from sizewell.policy import adapter

    monkeypatch.setattr(adapter.gc, "freeze", lambda: None)
    words = asked(adapter._load, prevents="nothing")
    assert "schemas/policy.schema.json: is out of date for expired\n  fix: make generate" in words


def test_the_start_leaves_out_what_the_pack_does_not_need(tmp_path: Path) -> None:
    """The language host asks for the SDK's runner, then runs the pack inside of it: the SDK would be imported twice."""
    python, program = PACK / "start" / "bin" / "python", tmp_path / "program.py"
    program.write_text("import sys; print(sys.argv[1:], 'pulumi' in sys.modules, sys.prefix)", encoding="utf-8")

    def run(*arguments: str) -> str:
        return subprocess.run([python, *arguments], capture_output=True, text=True, check=True).stdout.strip()

    assert run("-c", "import pulumi.run.plugin") == ""
    assert run("-u", "-m", "pulumi.policy", "127.0.0.1:1", str(program)) == f"['127.0.0.1:1'] False {sys.prefix}"
    assert run("-c", "print(6 * 7)") == "42"


PROGRAM = """
from pulumi_aws import autoscaling, ec2, s3
from pulumi_gcp import container
container.NodePool("whole", cluster="c", location="us-central1-a", node_count=2, node_config={"machine_type": "g2-standard-4"})
s3.Bucket("ckpt", bucket="my-checkpoints", force_destroy=True)
template = ec2.LaunchTemplate("gpu", instance_type="p5.48xlarge", image_id="ami-1")
autoscaling.Group("gpu", min_size=1, max_size=4, desired_capacity=1, vpc_zone_identifiers=["subnet-1"],
    launch_template={"id": template.id, "version": "1"})
ec2.CapacityBlockReservation("block", capacity_block_offering_id="cbo-1", instance_platform="Linux/UNIX")
"""


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    sys.path.insert(0, str(ROOT / "tests" / "engine"))
    try:
        import harness
    finally:
        sys.path.pop(0)
    made = harness.project(tmp_path)
    shutil.rmtree(made.project / "stacks")
    (made.project / "stacks" / "config").mkdir(parents=True)
    (made.project / "stacks" / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    made.run("stack", "init", "dev-test")
    made.run("config", "set", "aws:region", "us-east-1", "-s", "dev-test")
    made.run("config", "set", "gcp:project", "p", "-s", "dev-test")
    return made


@pytest.mark.engine
@pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH")
def test_the_engine_refuses_in_preview_and_before_anything_is_built(engine: Any) -> None:
    preview = engine.run("preview", "-s", "dev-test", "--policy-pack", str(PACK), check=False)
    said = preview.stdout + preview.stderr
    assert preview.returncode != 0
    for rule in ("idle-exposure", "checkpoint-protected", "checkpoint-deletable", "purchase-unconfirmed"):
        assert f"[mandatory]  {rule}" in said, rule
    assert "fix: set forceDestroy to false" in said
    assert re.search(r"cost-total.*\n(.*\n){0,4}.*[\d,.]+ USD a month expected", said), (
        "the bill stands in a plain preview"
    )
    up = engine.run("up", "-s", "dev-test", "--yes", "--skip-preview", "--policy-pack", str(PACK), check=False)
    assert up.returncode != 0
    bought = [r for r in engine.cloud("aws").values() if "capacityBlock" in str(r)]
    assert bought == [], "the purchase was made"
    assert engine.cloud("gcp") == {}, "the pool was built before it was judged"
