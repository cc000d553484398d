"""What `sizewell leave` writes, under the real engine: made by the stack's own program, nothing is left for the new one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import harness
import pytest

from sizewell.leave.leaving import leave

COMPONENTS = Path(__file__).parents[1] / "components"
sys.path.insert(0, str(COMPONENTS))
from unseen_stacks import STACKS  # noqa: E402  (of the folder above)

NAMES = sorted(path.stem.removeprefix("Pulumi.") for path in (harness.ROOT / "stacks/config").glob("Pulumi.*.yaml"))
EMPTY = {f"checkpoints-{name}" for name in ("dev-azure", "dev-gcp", "prod-azure", "prod-gcp")}  # they build nothing
FIRST = ("dev-aws", "ttl-dev-gcp")  # the others are of the same forms: `make soak` has them
PROGRAM = """import sys

sys.path.insert(0, {folder!r})
from unseen_stacks import STACKS

STACKS[{name!r}][1]()
"""
SECRETS = """import json

import pulumi
import pulumi_aws as aws

config = pulumi.Config()
aws.Provider("near", region="us-east-1", secret_key=config.require_secret("key"))
queue = aws.sqs.Queue("jobs", message_retention_seconds=config.require_int("seconds"), tags={"of": config.require("team")})
bucket = aws.s3.Bucket("b", opts=pulumi.ResourceOptions(protect=True))
policy = bucket.arn.apply(lambda arn: json.dumps({"Version": "2012-10-17", "Statement": [{"Resource": [arn, f"{arn}/*"]}]}))
aws.s3.BucketPolicy("b", bucket=bucket.id, policy=policy)
aws.ssm.Parameter("p", type="SecureString", value=pulumi.Output.concat("of ", queue.name, ": ", config.require_secret("key")))
aws.s3.BucketObject("o", bucket=bucket.id, key="o", source=pulumi.FileAsset("o.txt"))
pulumi.export("queue", queue.url)
pulumi.export("key", config.require_secret("key"))
"""


def nothing_is_left(engine: harness.Engine, stack: str, folder: Path) -> str:
    """Up by the program of the project, then a preview of the new one; what it writes."""
    engine.up(stack)
    state = folder / "state.json"
    state.write_text(engine.run("stack", "export", "-s", stack).stdout)
    new = folder / "new"
    leave(engine.project, stack, new, state=state)
    (new / ".venv").symlink_to(engine.project / ".venv")
    plain = harness.Engine(project=new, environment=engine.environment, clouds=engine.clouds)
    plan = plain.preview(stack)
    assert [(step["op"], step["urn"]) for step in plan["steps"] if step["op"] not in ("same", "read")] == []
    assert len(plan["steps"]) >= len(
        [one for one in json.loads(state.read_text())["deployment"]["resources"] if ":providers:" not in one["type"]]
    )
    plain.up(stack, "--expect-no-changes")
    hidden = {".venv", "__pycache__"}
    return "".join(path.read_text() for path in new.rglob("*") if path.is_file() and hidden.isdisjoint(path.parts))


@pytest.mark.parametrize(
    "stack",
    [pytest.param(name, marks=() if name in FIRST else pytest.mark.soak) for name in NAMES if name not in EMPTY],
)
def test_a_stack_of_the_project(engine: harness.Engine, stack: str, tmp_path: Path) -> None:
    engine.run("stack", "init", stack)
    nothing_is_left(engine, stack, tmp_path)


def own(folder: Path, stack: str, program: str, config: str) -> harness.Engine:
    work = folder / "project"
    work.mkdir()
    (work / "Pulumi.yaml").write_text("name: team\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (work / f"Pulumi.{stack}.yaml").write_text(config)
    (work / "__main__.py").write_text(program)
    (work / "o.txt").write_text("o\n")
    (work / ".venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    engine = harness.Engine(project=work, environment=harness.environment(folder), clouds=folder / "clouds")
    engine.run("stack", "init", stack)
    return engine


def test_secrets_settings_and_files(tmp_path: Path) -> None:
    engine = own(tmp_path, "dev", SECRETS, "config: {'team:seconds': '60', 'team:team': vision}\n")
    engine.run("config", "set", "-s", "dev", "--secret", "key", "hunter2")
    written = nothing_is_left(engine, "dev", tmp_path)
    assert "hunter2" not in written
    assert "secure: v1:" in written


@pytest.mark.soak
@pytest.mark.parametrize(
    "name", [name for name in STACKS if not name.startswith("kubernetes") and "mirrored" not in name]
)
def test_programs_that_others_wrote(name: str, tmp_path: Path) -> None:
    """All but those that have a kubeconfig in the program, which is a secret in clear."""
    _, _, stack = STACKS[name]
    config = "config: {azure-native:subscriptionId: 00000000-0000-0000-0000-000000000001}\n"
    engine = own(tmp_path, stack, PROGRAM.format(folder=str(COMPONENTS), name=name), config)
    nothing_is_left(engine, stack, tmp_path)
