"""Configuration that contradicts the decision is refused in a sentence; every decision with an end has a stack for
it."""

import pulumi
import pytest
from aws_recording import ROOT

from sizewell.recording.evaluate import evaluate
from sizewell.sizing.errors import ConfigError, DecisionError
from sizewell.sizing.records.decision import Decision
from sizewell.stacks.program import run

DECISIONS = sorted((ROOT / "stacks" / "decisions").glob("*.json"))
WRONG = {
    "a key that nobody reads": (
        "dev-aws",
        "sizewell:acounts",
        '["123456789012"]',
        "sizewell:acounts: is not a setting",
    ),
    "a near key": ("dev-aws", "sizewell:zone", "[]", "did you mean sizewell:zones?"),
    "another region's zone": ("dev-aws", "sizewell:zones", '["eu-west-1a"]', "must be zones of us-east-1"),
    "another region's zone on Google": (
        "dev-gcp",
        "sizewell:zones",
        '["europe-west4-a"]',
        "must be zones of us-central1",
    ),
    "another region": ("dev-aws", "aws:region", "eu-west-1", "is eu-west-1, the decision says us-east-1"),
    "another place": ("prod-azure", "azure-native:location", "westus", "the decision says eastus"),
    "another project's region": ("dev-gcp", "gcp:region", "asia-south1", "the decision says us-central1"),
    "no account": ("dev-aws", "sizewell:accounts", '["12345"]', "must be one of your AWS account ids of twelve digits"),
    "no subscription": ("dev-azure", "sizewell:accounts", '["nope"]', "must be one of your Azure subscription ids"),
    "no project": ("dev-gcp", "sizewell:accounts", '["No_Project"]', "must be one of your Google Cloud project ids"),
    "another project": ("dev-gcp", "gcp:project", "strangers", "is strangers, sizewell:accounts says petsnap-dev"),
    "another subscription": ("dev-azure", "azure-native:subscriptionId", "1", "is 1, sizewell:accounts says 00000000"),
    "two projects": ("dev-gcp", "sizewell:accounts", '["petsnap-dev", "petsnap-prod"]', "exactly one"),
    "an account as a number": ("dev-aws", "sizewell:accounts", "[123456789012]", "each quoted as a string"),
    "a container of no pool": (
        "dev-aws",
        "sizewell:sagemaker",
        '{"x": {"image": "y"}}',
        "sizewell:sagemaker.x: is not a pool",
    ),
    "an image of no pool": (
        "dev-aws",
        "sizewell:images",
        '{"x": "ami-1"}',
        "sizewell:images.x: is not a pool of dev-aws",
    ),
    "a run of no workload": ("dev-aws", "sizewell:run", '{"x": {"image": "y:1"}}', "sizewell:run.x: is not a workload"),
    "neither true nor false": ("dev-aws", "sizewell:deletionProtection", '"maybe"', "must be true or false"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_configuration_is_refused_in_a_sentence(what):
    stack, key, value, words = WRONG[what]
    with pytest.raises(ConfigError) as refused:
        evaluate(ROOT, stack, config={key: value})
    assert words in str(refused.value)
    assert f"configuration of {stack}: 1 fault" in str(refused.value)


def test_all_faults_of_a_configuration_come_at_once():
    wrong = {"sizewell:zone": "[]", "aws:region": "eu-west-1", "sizewell:accounts": '["1"]'}
    with pytest.raises(ConfigError, match="3 faults"):
        evaluate(ROOT, "dev-aws", config=wrong)


def test_what_a_file_states_is_named_by_file_line_and_column(tmp_path):
    (tmp_path / "stacks/config").mkdir(parents=True)
    (tmp_path / "stacks/decisions").symlink_to(ROOT / "stacks/decisions")
    (tmp_path / "Pulumi.yaml").write_text("name: sizewell\nruntime: python\nstackConfigDir: stacks/config\n")
    (tmp_path / "stacks/config/Pulumi.dev-aws.yaml").write_text(
        'config:\n  aws:region: eu-west-1\n  sizewell:accounts:\n    - "1"\n'
    )
    with pytest.raises(ConfigError) as refused:
        evaluate(tmp_path, "dev-aws", program=lambda: run(tmp_path / "stacks"))
    text = str(refused.value)
    assert "stacks/config/Pulumi.dev-aws.yaml:2:15: aws:region: is eu-west-1" in text
    assert "stacks/config/Pulumi.dev-aws.yaml:4:7: sizewell:accounts[0]: must be" in text


def test_a_stack_without_a_decision_is_told_how_to_get_one():
    with pytest.raises(DecisionError, match="--stack nope-aws` and commit the file"):
        evaluate(ROOT, "nope-aws")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_with_an_end_has_a_stack_outside_of_its_own_that_ends_it(path, monkeypatch):
    said = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_, **__: said.append(text))
    decision = Decision.from_json(path)
    made = [one.type for one in evaluate(ROOT, f"ttl-{path.stem}").resources if not one.type.startswith("pulumi:")]
    config = ROOT / "stacks" / "config" / f"Pulumi.ttl-{path.stem}.yaml"
    cloud = decision.workloads[0].pools[0].cloud
    guard = f"sizewell-{cloud}:index:TtlGuard"
    assert config.exists() == (decision.expires_at is not None)
    assert (guard in made) == (decision.expires_at is not None)
    ends = [text for text in said if "never expires" in text]
    assert bool(ends) == (decision.expires_at is None)
    # a stack of an end that nobody makes has no configuration, and no receivers
    assert not [text for text in said if "sizewell:notify is empty" in text and config.exists()]
    said.clear()
    assert guard not in {one.type for one in evaluate(ROOT, path.stem).resources}
    assert not [text for text in said if "sizewell:notify is empty" in text], "nobody is notified of idle machines"


def test_a_stack_of_checkpoints_without_any_says_so(monkeypatch):
    said = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_, **__: said.append(text))
    evaluate(ROOT, "checkpoints-dev-azure")
    assert said == ["checkpoints-dev-azure builds nothing: no workload of the decision writes checkpoints"]


@pytest.mark.parametrize("stack", ["images-dev-aws", "images-dev-gcp"])
def test_a_stack_of_images_where_every_machine_has_its_own_says_so(stack, monkeypatch):
    said = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, *_, **__: said.append(text))
    evaluate(ROOT, stack)
    assert said == [f"{stack} builds nothing: the decision has no EKS cluster in a network without internet access"]
