"""The schedule of teardowns: what it makes, what it refuses, what each of its identities cannot do."""

import json
from datetime import date

import pytest
import yaml
from aws_recording import PLACE, ROOT, check_right, golden, only, record, refusals

from sizewell.components.aws.limits.schedules import TeardownSchedule
from sizewell.policy.config import parse_config
from sizewell.policy.engine import evaluate as judge
from sizewell.recording.evaluate import evaluate
from sizewell.resources import facts, price
from sizewell.sizing.catalog import load

IMAGE = f"123456789012.dkr.ecr.us-east-1.amazonaws.com/sizewell/teardown@sha256:{'ab' * 32}"
SCHEDULE = {
    **{key: value for key, value in PLACE.items() if key != "zones"},
    "environment": "prod",
    "owner": "ml-platform",
    "account": "123456789012",
    "image": IMAGE,
    "state": "s3://petsnap-states",
    "journal": "s3://petsnap-teardown/records",
    "environments": ["dev", "staging"],
    "secrets_key_arn": "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555",
}
SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:sizewell/passphrase-AbCdEf"
BY_PASSPHRASE = {
    **{key: value for key, value in SCHEDULE.items() if key != "secrets_key_arn"},
    "passphrase_secret_arn": SECRET,
    "environment": "dev",
    "environments": ["dev"],
    "minutes": 120,
}


@pytest.mark.parametrize(("form", "args"), [("schedule-prod", SCHEDULE), ("schedule-dev", BY_PASSPHRASE)])
def test_makes_what_is_written_down(form, args):
    resources = record(lambda: TeardownSchedule("teardown", args), stack="teardown")
    check_right(resources)
    golden(form, resources)


@pytest.mark.parametrize(
    ("change", "path", "sentence"),
    [
        ({"image": "petsnap/teardown:1.0"}, "image", "must be pinned by digest, got 'petsnap/teardown:1.0'"),
        ({"image": f"petsnap/teardown@sha256:{'ab' * 16}"}, "image", "must be pinned by digest"),
        ({"image": ""}, "image", "must be pinned by digest"),
        ({"state": "file:///states"}, "state", "must be s3://BUCKET"),
        ({"journal": "s3://petsnap-states/records"}, "journal", "is in the bucket of the states"),
        ({"environments": []}, "environments", "is empty"),
        ({"environments": ["qa"]}, "environments[0]", "must be one of dev, staging, prod"),
        ({"minutes": 5}, "minutes", "15 to 1440"),
        ({"passphrase_secret_arn": SECRET}, "secrets_key_arn", "exactly one"),
        ({"expires": "2026-12-31"}, "expires", "has to outlive"),
    ],
)
def test_refuses(change, path, sentence):
    found = refusals(TeardownSchedule, {**SCHEDULE, **change})
    assert any(at == path and sentence in text for at, text in ((fault[0], fault[1]) for fault in found)), found


def test_it_starts_the_image_by_digest_once_an_hour_and_never_in_the_open():
    resources = record(lambda: TeardownSchedule("teardown", SCHEDULE), stack="teardown")
    (container,) = json.loads(only(resources, "aws:ecs/taskDefinition:TaskDefinition").inputs["containerDefinitions"])
    assert container["image"] == IMAGE
    assert container["readonlyRootFilesystem"] is True
    schedule = only(resources, "aws:scheduler/schedule:Schedule").inputs
    assert schedule["scheduleExpression"] == "rate(60 minutes)"
    network = schedule["target"]["ecsParameters"]["networkConfiguration"]
    assert network["assignPublicIp"] is False
    assert network["subnets"] == PLACE["subnet_ids"]


def test_each_environment_has_a_profile_of_its_own():
    resources = record(lambda: TeardownSchedule("teardown", SCHEDULE), stack="teardown")
    (container,) = json.loads(only(resources, "aws:ecs/taskDefinition:TaskDefinition").inputs["containerDefinitions"])
    profiles = {each["name"]: each["value"] for each in container["environment"]}["AWS_PROFILES"]
    roles = {each.inputs["name"] for each in resources if each.type == "aws:iam/role:Role"}
    for environment in ("dev", "staging"):
        role = f"sizewell-teardown-teardown-deletes-{environment}"
        assert role in roles
        assert f"[profile teardown-deletes-{environment}]\nrole_arn = arn:aws:iam::123456789012:role/{role}" in profiles


EXAMPLE = ROOT / "examples/teardown"
ON = date(2026, 11, 22)


def test_the_example_has_a_price_and_passes_the_policies():
    """Everything that is billed has a price, and nothing of it needs a waiver."""
    plan = evaluate(EXAMPLE, "teardown")
    pricing = price(plan, load(), on=ON)
    assert pricing.unpriced == ()
    tasks = [line for line in pricing.items if "scheduled Fargate task" in line.what]
    assert len(tasks) == 2
    stated = facts(plan, load(), pricing=pricing, on=ON)
    assert judge(stated, parse_config({}), on=ON).failed() == ()


def test_the_page_states_what_the_example_costs():
    """From one minute a run to always running, as the preview prints it."""
    bounds = price(evaluate(EXAMPLE, "teardown"), load(), on=ON).cost().run_rate.usd_per_month
    page = (ROOT / "docs/howto/tear-down.md").read_text(encoding="utf-8")
    assert f"in us-east-1 {bounds.floor:.2f} to {bounds.ceiling:.2f} US dollars a month for an hourly run" in page


def test_the_example_belongs_to_the_project_whose_stacks_it_ends():
    """The task may touch what has the project's tag; and no run of teardown reads a stack that names no accounts."""
    name = yaml.safe_load((EXAMPLE / "Pulumi.yaml").read_text())["name"]
    assert name == yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["name"]
    assert "sizewell:accounts" not in yaml.safe_load((EXAMPLE / "Pulumi.teardown.yaml").read_text())["config"]
