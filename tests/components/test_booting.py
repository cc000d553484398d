"""Machines without Kubernetes start what `sizewell:run` names: through user data, a document, or custom data."""

import base64
import dataclasses
import functools
import importlib
import json
import re
import shutil
import subprocess

import pulumi
import pytest
import yaml
from aws_recording import ROOT, record

from sizewell.components import booting
from sizewell.components.settings import Settings
from sizewell.launch.run import Run, read_run
from sizewell.recording.evaluate import evaluate
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Decision

VLLM = "123456789012.dkr.ecr.us-east-1.amazonaws.com/vllm/vllm-openai:v0.11.0"
TRAIN = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:2.8"
RUNS = {
    "dev-aws": {
        "vlm-int4": Run(image=VLLM, model="/models/llava-int4"),
        "vlm-qlora": Run(image=TRAIN, command=("python3", "/opt/train/qlora.py")),
    },
    "staging-aws": {"vlm-finetune": Run(image=TRAIN, model="/models/llava")},
    "dev-azure": {"vlm-fp16": Run(image="petsnap.azurecr.io/vllm/vllm-openai:v0.11.0", model="/models/llava")},
}


@functools.cache
def built(stack):
    decision = Decision.from_json(ROOT / "stacks/decisions" / f"{stack}.json")
    cloud = stack.rsplit("-", 1)[-1]
    how = Settings(project="sizewell", stack=stack, organization="petsnap", runs=RUNS[stack])
    program = importlib.import_module(f"sizewell.components.{cloud}.program")
    return evaluate(ROOT, stack, program=lambda: program.build(decision, decision.workloads, how)).resources


def boots(stack):
    """What the machines of each pool get, by the resource's name."""
    found = {}
    for one in built(stack):
        kind = one.type.rsplit(":", 1)[-1]
        if kind == "LaunchTemplate":
            found[one.name] = base64.b64decode(one.inputs["userData"]).decode()
        if kind == "VirtualMachineScaleSet":
            found[one.name] = base64.b64decode(one.inputs["virtualMachineProfile"]["osProfile"]["customData"]).decode()
    return found


def documents(stack):
    found = [one for one in built(stack) if one.type == "aws:ssm/document:Document" and one.name.endswith("-boot")]
    return {one.inputs["name"]: one.inputs["content"] for one in found}


@pytest.mark.parametrize("stack", RUNS)
def test_every_machine_of_the_examples_starts_its_workload(stack):
    texts = boots(stack)
    assert len(texts) == len(RUNS[stack])
    kept = documents(stack)
    for name, text in texts.items():
        run = RUNS[stack][name.removesuffix("-nodes")]
        script = text
        if document := re.search(r"get-document --region \S+ --name (\S+)", text):
            script = "\n".join(json.loads(kept[document[1]])["mainSteps"][0]["inputs"]["runCommand"])
        assert "systemctl enable --now --no-block sizewell-run@0" in script
        assert f"image={run.image}" in script
        assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.parametrize("stack", RUNS)
def test_what_a_cloud_takes_at_first_boot_is_short_enough(stack):
    limit = 16_384 if stack.endswith("aws") else 65_535
    assert all(len(text) <= limit for text in boots(stack).values())
    assert all(len(content) <= 65_536 for content in documents(stack).values())
    assert bool(documents(stack)) == (stack == "staging-aws")  # entry scripts are too long for user data


def test_cloud_init_takes_the_user_data_for_a_script(tmp_path):
    if not shutil.which("cloud-init"):
        pytest.skip("cloud-init is not here: nobody but us has looked at the user data")
    program = (
        "import sys; from cloudinit import helpers, user_data\n"
        f"paths = helpers.Paths({{'cloud_dir': '{tmp_path}', 'run_dir': '{tmp_path}'}})\n"
        "found = user_data.UserDataProcessor(paths).process(sys.stdin.buffer.read())\n"
        "print(*[part.get_content_type() for part in found.walk()])"
    )
    for text in (*boots("dev-aws").values(), *boots("dev-azure").values()):
        words = ["/usr/bin/python3", "-c", program]
        said = subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout.split()
        assert said[-1] == "text/x-shellscript"


def test_the_command_of_a_document_is_what_first_boot_runs(tmp_path):
    (text,) = boots("staging-aws").values()
    (content,) = documents("staging-aws").values()
    (tmp_path / "aws").write_text('#!/bin/bash\ncat "$CONTENT"\n')
    (tmp_path / "aws").chmod(0o755)
    (tmp_path / "content").write_text(content)
    last = text[text.index("for pause in") :].replace("/run/", f"{tmp_path}/").replace("bash -euo pipefail", "cat")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CONTENT": str(tmp_path / "content")}
    done = subprocess.run(["bash", "-euo", "pipefail"], input=last, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == json.loads(content)["mainSteps"][0]["inputs"]["runCommand"]


def test_another_run_is_another_launch_template():
    first = boots("staging-aws")
    decision = Decision.from_json(ROOT / "stacks/decisions/staging-aws.json")
    how = Settings(
        project="sizewell",
        stack="staging-aws",
        organization="petsnap",
        runs={"vlm-finetune": Run(image="train:3", model="/models/llava")},
    )
    from sizewell.components.aws import program

    resources = record(lambda: program.build(decision, decision.workloads, how), stack="staging-aws")
    (template,) = [one for one in resources if one.type.endswith(":LaunchTemplate")]
    assert base64.b64decode(template.inputs["userData"]).decode() not in first.values()


@pytest.mark.parametrize("path", sorted((ROOT / "stacks/decisions").glob("*.json")), ids=lambda path: path.stem)
def test_machines_that_would_start_nothing_are_refused_with_the_line_to_write(path):
    """Every example: what its configuration names is enough, and without it each idle workload has its line."""
    decision = Decision.from_json(path)
    config = yaml.safe_load((ROOT / f"stacks/config/Pulumi.{path.stem}.yaml").read_text())["config"]
    runs = {name: read_run(run, name) for name, run in config.get("sizewell:run", {}).items()}
    how = Settings(project="sizewell", stack=path.stem, organization="petsnap", runs=runs)
    booting.check_started(decision, how)
    plain = [
        workload.spec.name
        for workload in decision.workloads
        if workload.scheduler == "none" and workload.pools[0].managed == "raw"
    ]
    if not plain:
        booting.check_started(decision, dataclasses.replace(how, runs={}))
        return
    with pytest.raises(ConfigError) as refused:
        booting.check_started(decision, dataclasses.replace(how, runs={}))
    for name, fault in zip(plain, refused.value.faults, strict=True):
        assert "would be billed but start nothing" in str(fault)
        assert f"pulumi config set --path 'sizewell:run.{name}.image' IMAGE" in str(fault)


def test_a_preview_of_machines_that_would_start_nothing_has_its_price_and_warns():
    whole, without = evaluate(ROOT, "dev-azure"), evaluate(ROOT, "dev-azure", config={"sizewell:run": "{}"})
    assert any("sizewell:run.vlm-fp16.image: is missing" in note for note in without.notes)
    assert {one.urn for one in without.resources if "vlm-fp16" in one.name} == {
        one.urn for one in whole.resources if "vlm-fp16" in one.name
    }


@pytest.mark.parametrize("building", [True, False])
def test_an_update_of_machines_that_would_start_nothing_ends_before_anything_is_built(monkeypatch, building):
    decision = Decision.from_json(ROOT / "stacks/decisions/dev-azure.json")
    how = Settings(project="sizewell", stack="dev-azure", organization="petsnap", runs={})
    said = []
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: not building)
    monkeypatch.setattr(pulumi.log, "warn", said.append)
    if building:
        with pytest.raises(ConfigError, match=r"sizewell:run\.vlm-fp16\.image: is missing"):
            booting.check_started(decision, how)
    else:
        booting.check_started(decision, how)
    assert len(said) == (not building)
