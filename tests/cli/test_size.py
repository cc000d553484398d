"""`sizewell size`: what is printed, what is written, and the exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.places import read_yaml
from sizewell.sizing.records.decision import Decision

from .conftest import CHAT, ROOT, Sizewell

ON = ("--on", "2026-09-20")


def spec(folder: Path, text: str, name: str = "spec.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_prints_and_writes_nothing(project: Path, sizewell: Sizewell) -> None:
    path = spec(project, CHAT)
    before = files(project)
    done = sizewell("size", path, *ON)
    assert done.code in (0, 3)
    for part in ("chat  inference", "memory of one device", "weights", "free", "speed", "USD a month", "assumed"):
        assert part in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert "\x1b" not in done.out
    assert not any(line.endswith(" ") for line in done.out.splitlines())
    assert files(project) == before


def test_json_is_the_decision(project: Path, sizewell: Sizewell) -> None:
    done = sizewell("size", spec(project, CHAT), "--json", *ON)
    decision = Decision.model_validate_json(done.out)
    assert (decision.decided_on, decision.stack, decision.edited) == (date(2026, 9, 20), "", False)
    assert done.out == sizewell("size", str(project / "spec.yaml"), "--json", *ON).out, "same input, same bytes"


def test_many_specs_are_a_table(project: Path, sizewell: Sizewell) -> None:
    other = spec(project, CHAT.replace("name: chat", "name: chat-too"), "other.yaml")
    done = sizewell("size", spec(project, CHAT), other, *ON)
    assert "chat-too" in done.out
    assert "memory of one device" not in done.out
    assert done.out.splitlines()[0].startswith("workload")
    assert "memory of one device" in sizewell("size", spec(project, CHAT), other, "--details", *ON).out
    documents = json.loads(sizewell("size", spec(project, CHAT), other, "--json", *ON).out)
    assert [document["workloads"][0]["spec"]["name"] for document in documents] == ["chat", "chat-too"]


def test_stack_is_written_whole(project: Path, sizewell: Sizewell) -> None:
    done = sizewell("size", "--stack", "dev-aws", *ON)
    path = project / "stacks/decisions/dev-aws.json"
    assert "wrote stacks/decisions/dev-aws.json" in done.out
    decision = Decision.from_json(path)
    assert not decision.edited
    assert (decision.stack, decision.owner, decision.cost_center) == ("dev-aws", "search", "c-1")
    first = path.read_bytes()
    sizewell("size", "--stack", "dev-aws", *ON)
    assert path.read_bytes() == first
    assert [file.name for file in path.parent.iterdir()] == ["dev-aws.json"], "no temporary file stays"


@pytest.mark.parametrize(
    ("stack", "stated", "environment"),
    [("production-aws", "", "prod"), ("aws-prod", "", "prod"), ("main", "", "dev"), ("main", "staging", "staging")],
)
def test_the_environment_that_is_decided_is_the_one_that_is_judged(
    stack: str, stated: str, environment: str, project: Path, sizewell: Sizewell
) -> None:
    from sizewell.policy.config import Config
    from sizewell.policy.decisions import read_decision
    from sizewell.policy.opening import Opening

    (project / "stacks/specs" / stack).mkdir(parents=True)
    (project / "stacks/specs" / stack / "chat.yaml").write_text(CHAT)
    settings = {"sizewell:environment": stated} if stated else {}
    (project / f"stacks/config/Pulumi.{stack}.yaml").write_text(json.dumps({"config": settings}))
    assert sizewell("size", "--stack", stack, *ON).code == 0
    decision = read_decision(project / "stacks/decisions", f"images-{stack}")
    assert decision is not None
    assert decision["environment"] == environment
    judged = Opening(
        said=(), config=Config(), stack=stack, settings=settings, decisions=project / "stacks/decisions"
    ).environment()
    assert judged == environment
    assert sizewell("size", "--check", "--stack", stack, *ON).code == 0


def test_an_environment_of_another_name_is_refused(project: Path, sizewell: Sizewell) -> None:
    (project / "stacks/config/Pulumi.dev-aws.yaml").write_text("config: {'sizewell:environment': qa}\n")
    done = sizewell("size", "--stack", "dev-aws")
    assert done.code == 64
    assert "sizewell:environment: must be dev, staging, prod, got 'qa'" in done.err


def test_nothing_fits_leaves_the_decision(project: Path, sizewell: Sizewell) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    before = files(project)
    (project / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT + "resources: {gpu: 900GB..}\n")
    changed = files(project)
    done = sizewell("size", "--stack", "dev-aws", *ON)
    assert done.code == 5
    assert "chat: nothing fits" in done.out
    assert "nearest" in done.out
    assert "what would help" in done.out
    assert "stacks/decisions/dev-aws.json is untouched" in done.out
    assert files(project) == changed != before
    answer = json.loads(sizewell("size", "--stack", "dev-aws", "--json", *ON).out)
    assert (answer["schema"], answer["nothing_fits"]) == ("sizewell.nothing-fits/1", "chat")
    assert answer["nearest"]
    assert answer["relax"]


def test_check_sees_what_would_change(project: Path, sizewell: Sizewell) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    done = sizewell("size", "--check")
    assert (done.code, done.out) == (0, "dev-aws: in order\n")
    path = project / "stacks/decisions/dev-aws.json"
    kept = path.read_text()

    (project / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT.replace("rps: 4", "rps: 400"))
    done = sizewell("size", "--check", "--stack", "dev-aws")
    assert done.code == 4
    assert "dev-aws: would change" in done.out
    assert "chat: its spec has changed" in done.out
    assert "would become" in done.out
    assert path.read_text() == kept, "--check writes nothing"
    assert json.loads(sizewell("size", "--check", "--json").out)[0]["state"] == "would change"

    (project / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT)
    path.write_text(kept.replace('"nodes_max": ', '"nodes_max": 1'))
    done = sizewell("size", "--check")
    assert done.code == 4
    assert "edited by hand" in done.out

    path.write_text("{")
    done = sizewell("size", "--check")
    assert done.code == 4
    assert "cannot be read" in done.out


def test_check_needs_no_day_of_its_own(project: Path, sizewell: Sizewell) -> None:
    """It goes by the day of the decision: newer prices do not make an old decision wrong."""
    sizewell("size", "--stack", "dev-aws", "--on", "2026-08-05")
    assert sizewell("size", "--check", "--on", "2026-11-21").out == "dev-aws: in order\n"


def test_over_budget(project: Path, sizewell: Sizewell) -> None:
    done = sizewell("size", spec(project, CHAT + "budget: {monthly: 1 USD}\n"), *ON)
    assert done.code == 2
    assert "over by" in done.out


def test_show_spec(project: Path, sizewell: Sizewell) -> None:
    path = spec(project, CHAT)
    done = sizewell("size", path, "--show-spec")
    assert done.code == 0
    assert "rps: 4.0\n" in done.out
    assert "percentile: p95  # default: what most services promise" in done.out
    rows = json.loads(sizewell("size", path, "--show-spec", "--json").out)[0]["spec"]
    assert rows["owner"] == {"value": "search", "origin": "spec"}
    echo = spec(project, done.out, "echo.yaml")
    assert sizewell("size", echo, "--json", *ON).out == sizewell("size", path, "--json", *ON).out


def test_max_age(project: Path, sizewell: Sizewell) -> None:
    path = spec(project, CHAT)
    done = sizewell("size", path, "--json", "--max-age", "30d", "--on", "2027-06-01")
    assert done.code == 4
    assert "older than 30 days" in done.err
    assert Decision.model_validate_json(done.out).workloads
    assert sizewell("size", path, "--json", "--max-age", "30", *ON).code == 64


def test_faults_of_all_specs_together(project: Path, sizewell: Sizewell) -> None:
    one = spec(project, CHAT.replace("rps: 4", "rps: fast"), "one.yaml")
    two = spec(project, CHAT.replace("Llama-3.1-8B", "Llama-3.1-8C"), "two.yaml")
    done = sizewell("size", one, two, *ON)
    assert done.code == 64
    assert "one.yaml: 1 fault" in done.err
    assert "traffic.rps: must be" in done.err
    assert "two.yaml: 1 fault" in done.err
    assert "did you mean meta-llama/Llama-3.1-8B" in done.err
    assert done.out == ""


# Names that only the catalog knows: (change to the spec, what the message says).
UNKNOWN = {
    "model": ((("model: " "meta-llama/Llama-3.1-8B"), ("model: " "meta-lama/Llama-3.1-8B")), ("model: 'meta-lama", "did you mean")),
    "cloud": (("[aws/us-east-1]", "[awz]"), ("infra[0]: must be one of aws", "did you mean aws")),
    "region": (("aws/us-east-1", "aws/us-esat-1"), ("us-esat-1 is not a region of aws", "did you mean", "us-east-1")),
    "accelerator": (("owner:", "resources: {accelerators: [H1OO]}\nowner:"), ("'H1OO' is not an accelerator", "h100")),
    "machine type": (("owner:", "resources: {instance_type: p5.48xlagre}\nowner:"), ("p5.48xlarge",)),
    "framework": (
        ("owner:", "framework: tensorflow\nresources: {instance_type: trn2.48xlarge}\nowner:"),
        ("framework: tensorflow does not run on Trainium2", "use jax or pytorch"),
    ),
    "TPU": (
        ("infra: [aws/us-east-1]", "framework: jax\nresources: {tpu: {type: v5x}}"),
        ("resources.tpu.type: must be one of v4, v5e, v5p, v6e, tpu7x, got 'v5x'", "did you mean v5p, or v5e?"),
    ),
    "topology": (
        ("infra: [aws/us-east-1]", "framework: jax\nresources: {tpu: {type: v6e, topology: 3x5}}"),
        ("3x5 is not a slice of v6e", "4x4"),
    ),
    "context": (("input_tokens: 1500", "input_tokens: 500k"), ("traffic.input_tokens", "500300 tokens", "allows 131072")),
    "residency": (("owner:", ("data: " "{residency: eu}\nowner:")), (("infra: aws/us-east-1: " "none is " "within " "data.residency: eu"),)),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_name(case: str, project: Path, sizewell: Sizewell) -> None:
    (old, new), wanted = UNKNOWN[case]
    path = spec(project, CHAT.replace(old, new, 1))
    before = files(project)
    done = sizewell("size", path, "--stack", "dev-aws", *ON)
    assert done.code == 64
    assert [part for part in wanted if part not in done.err] == [], done.err
    assert done.out == ""
    assert files(project) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("size",), "no spec named"),
        (("size", "nowhere.yaml"), "nowhere.yaml: no such file"),
        (("size", "--stack", "Dev AWS"), "--stack: must be of a-z"),
        (("size", "--stack", "checkpoints-dev-aws"), "use --stack dev-aws"),
        (("size", "--stack", "prod-mars"), "no specs for stack 'prod-mars'"),
        (("size", "--on", "tomorrow", "x.yaml"), "must be a date such as 2026-08-20, got 'tomorrow'"),
        (("size", "--jsno", "x.yaml"), "unknown option --jsno"),
        (("size", "--check", "x.yaml"), "name a stack"),
        (("size", "--check", "--stack", "dev-gcp"), "name a stack that has some: dev-aws"),
        (("sise", "x.yaml"), "did you mean size?"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str, project: Path, sizewell: Sizewell) -> None:
    before = files(project)
    done = sizewell(*arguments)
    assert done.code == 64
    assert message in done.err + done.out
    assert "Traceback" not in done.err
    assert files(project) == before


def test_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizewell: Sizewell) -> None:
    monkeypatch.chdir(tmp_path)
    done = sizewell("size", "--stack", "dev-aws")
    assert done.code == 64
    assert "Pulumi.yaml" in done.err


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_fits(path: Path, sizewell: Sizewell) -> None:
    done = sizewell("size", str(path), *ON)
    assert done.code in (0, 2, 3), done.err
    assert max(map(len, done.out.splitlines())) <= 100


def test_explain(project: Path, sizewell: Sizewell) -> None:
    done = sizewell("explain", spec(project, CHAT), *ON)
    assert done.code == 0, done.err
    for part in ("chat   ", "memory of one device", "on half the devices", "25 % more traffic", "alternative"):
        assert part in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    data = json.loads(sizewell("explain", spec(project, CHAT), "--json", *ON).out)
    assert (data["schema"], data["workload"]) == ("sizewell.explanation/1", "chat")
    assert sum(part["value"] for part in data["memory"]) == pytest.approx(data["used_bytes"])


def test_explain_goes_by_the_decision_of_a_stack(project: Path, sizewell: Sizewell) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    decided = Decision.from_json(project / "stacks/decisions/dev-aws.json")
    done = sizewell("explain", "--stack", "dev-aws")
    assert done.code == 0
    assert decided.workloads[0].pools[0].instance_type in done.out.splitlines()[0]


def test_explain_says_why_not_that_machine(project: Path, sizewell: Sizewell) -> None:
    path = spec(project, CHAT)
    done = sizewell("explain", path, "--why", "p5.48xlarge", *ON)
    assert done.code == 0, done.err
    assert "machine types 1 the choice" in done.out
    assert "dominated" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    data = json.loads(sizewell("explain", path, "--why", "h100", "--json", *ON).out)
    assert data["schema"] == "sizewell.why/1"
    assert {item["cloud"] for item in data["why"]} >= {"aws", "gcp", "azure"}
    assert sum(data["machine_types"].values()) == len(load().shapes)
    wrong = sizewell("explain", path, "--why", "g6.xlarg", *ON)
    assert wrong.code == 64
    assert "did you mean g6.xlarge" in wrong.err


@pytest.mark.parametrize("name", ["scale", "deploy"])
def test_explain_fills_in_a_checklist(project: Path, sizewell: Sizewell, name: str) -> None:
    done = sizewell("explain", spec(project, CHAT), "--checklist", name, *ON)
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 100
    data = json.loads(sizewell("explain", spec(project, CHAT), "--checklist", name, "--json", *ON).out)
    assert (data["schema"], data["checklist"]) == ("sizewell.checklist/1", name)
    assert all(line["answer"] and line["source"] for line in data["lines"])


def test_explain_what_does_not_fit(project: Path, sizewell: Sizewell) -> None:
    path = spec(project, CHAT + "resources: {gpu: 900GB..}\n")
    done = sizewell("explain", path, *ON)
    assert done.code == 5
    assert "nothing fits" in done.out
    assert json.loads(sizewell("explain", path, "--json", *ON).out)["nothing_fits"] == "chat"
    assert sizewell("explain").code == 64


def test_a_service_is_sized_without_numpy_and_the_sdks():
    code = (
        "import sys; from sizewell.cli.main import main; code = main(['size', 'examples/chat.yaml', '--json']); "
        "print(code, *sorted({'numpy', 'pulumi', 'boto3', 'grpc'} & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "0"


ENCODER = """
name: toxicity
kind: inference
model: {params: 66M, layers: 6, hidden: 768, heads: 12, kv_heads: 12, ffn: 3072, vocab: 30522, family: encoder,
  precision: fp32}
traffic: {rps: 5, input_tokens: 200, output_tokens: 1}
slo: {latency: 500ms}
owner: trust
cost_center: c-1
infra: [aws/us-east-1]
resources: {accelerators: [cpu]}
"""


def test_a_machine_without_accelerator_is_asked_for_by_name(project: Path, sizewell: Sizewell) -> None:
    """As docs/howto/serve-a-model.md writes it."""
    done = sizewell("size", spec(project, ENCODER), "--json", *ON)
    assert done.code == 0, done.err
    pools = json.loads(done.out)["workloads"][0]["pools"]
    assert {pool["accelerator"] for pool in pools} == {""}


def test_a_total_with_a_line_without_a_price_is_open_in_every_form(project: Path, sizewell: Sizewell) -> None:
    chat = CHAT.replace("us-east-1", "eu-west-1") + "resources: {instance_type: [p4d.24xlarge]}\n"
    (project / "a.yaml").write_text(f"{chat}budget: {{monthly: 5000 USD}}\n")
    (project / "b.yaml").write_text(CHAT.replace("name: chat", "name: other"))
    card, table = sizewell("size", "a.yaml", *ON), sizewell("size", "a.yaml", "b.yaml", *ON)
    assert (card.code, table.code) == (3, 3)
    [month] = [line for line in card.out.splitlines() if line.startswith("USD a month")]
    assert month.count(" + ?") == 3
    assert "budget monthly 5,000.00 USD: unknown, a price is missing" in card.out
    assert [line.endswith(" + ?") for line in table.out.splitlines() if "req/s" in line] == [True, False]
    cost = json.loads(sizewell("size", "a.yaml", "--json", *ON).out)["workloads"][0]["cost"]
    assert "run_rate" not in cost
    assert "no price for p4d.24xlarge" in cost["unpriced"][0]
    page = sizewell("explain", "a.yaml", "--html", "-", *ON).out
    assert page.count(" + ?") == 6  # a card with one figure, a card with two, and three bounds
    unpriced = [line for line in table.out.splitlines() if line.startswith("  ? ")]
    assert unpriced[0].startswith("  ? chat: p4d.24xlarge, on-demand, eu-west-1: no price")
    assert len(unpriced) == len(cost["unpriced"])
    assert "Whether the budget of 5,000.00 USD a month is kept is unknown: a price is missing" in page


def test_a_budget_that_the_priced_lines_exceed_is_exceeded_by_at_least_that(project: Path, sizewell: Sizewell) -> None:
    chat = CHAT.replace("us-east-1", "eu-west-1") + "resources: {instance_type: [p4d.24xlarge]}\n"
    (project / "a.yaml").write_text(f"{chat}budget: {{monthly: 1 USD}}\n")
    (project / "b.yaml").write_text(CHAT.replace("name: chat", "name: other"))
    card, table = sizewell("size", "a.yaml", *ON), sizewell("size", "a.yaml", "b.yaml", *ON)
    assert (card.code, table.code) == (2, 2)
    [over] = [line for line in card.out.splitlines() if "over by" in line]
    assert over.startswith("  budget monthly 1.00 USD: over by at least ")
    assert f"  chat: {over.strip()}" in table.out.splitlines()
    assert "Over the budget of 1.00 USD a month by at least " in sizewell("explain", "a.yaml", "--html", "-", *ON).out


TUNING = """
name: tune
kind: fine-tuning
model: meta-llama/Llama-3.1-8B
training: {samples: 10k, epochs: 1, sequence_length: 2048, method: lora}
deadline: 3d
infra: azure/brazilsouth
resources: {accelerators: a100}
spot_policy: on-demand
budget: {per_run: 1000 USD}
"""  # the disks of its machines have no price there, the machines have


def test_a_run_with_a_line_without_a_price_is_open_too(project: Path, sizewell: Sizewell) -> None:
    (project / "tune.yaml").write_text(TUNING)
    card, page = sizewell("size", "tune.yaml", *ON), sizewell("explain", "tune.yaml", "--html", "-", *ON).out
    assert card.code == 3
    [run] = [line for line in card.out.splitlines() if line.endswith(" USD a run")]
    assert run.endswith(" + ? USD a run")
    assert "budget per run 1,000.00 USD: unknown, a price is missing" in card.out
    assert "Whether the budget of 1,000.00 USD a run is kept is unknown: a price is missing" in page


SETTINGS = """config:
  sizewell:accounts: ["123456789012"]
  sizewell:organization: acme
  sizewell:notify: {emails: [a@example.com], pagerduty: [{secure: v1:abc}]}
  sizewell:run: {chat: {image: i}}
"""


def test_what_stands_beside_the_cluster_is_configured_and_passes_the_policies(
    project: Path, sizewell: Sizewell
) -> None:
    """A service of several machines that ends: an expiry stack, and the registry from which its cluster pulls."""
    spec = project / "stacks/specs/dev-aws/chat.yaml"
    spec.write_text(spec.read_text().replace("rps: 4", "rps: 60") + "ttl: 30d\n")
    config = project / "stacks/config"
    (config / "Pulumi.dev-aws.yaml").write_text(SETTINGS)
    (config / "Pulumi.ttl-dev-aws.yaml").write_text("config: {}\n")
    done = sizewell("size", "--stack", "dev-aws", "--on", "2026-11-20")
    assert (config / "Pulumi.ttl-dev-aws.yaml").read_text() == "config: {}\n"
    stated = read_yaml(config / "Pulumi.images-dev-aws.yaml").data["config"]
    assert stated == {"sizewell:accounts": ["123456789012"], "sizewell:organization": "acme"}
    assert not (config / "Pulumi.checkpoints-dev-aws.yaml").exists()
    lines = done.out.splitlines()
    assert "  pulumi stack init ttl-dev-aws --no-select && pulumi up -s ttl-dev-aws" in lines
    assert "  pulumi stack output -s images-dev-aws --json | jq -r '.[].copies[]' | xargs -n 2 crane copy" in lines
    assert any("123456789012.dkr.ecr.us-east-1.amazonaws.com" in line for line in lines)
    (project / "stacks/__main__.py").write_text((ROOT / "stacks/__main__.py").read_text())
    judged = sizewell("policy", "images-dev-aws", "--on", "2026-11-20")
    assert "images-dev-aws: 0 failed" in judged.out, judged.out


def test_a_network_with_its_own_way_to_images_needs_no_registry(project: Path, sizewell: Sizewell) -> None:
    spec = project / "stacks/specs/dev-aws/chat.yaml"
    spec.write_text(spec.read_text().replace("rps: 4", "rps: 60"))
    config = project / "stacks/config"
    (config / "Pulumi.dev-aws.yaml").write_text("config: {'sizewell:registry': 'r.example.com/mirror'}\n")
    assert "images-dev-aws" not in sizewell("size", "--stack", "dev-aws", "--on", "2026-11-20").out
    assert [path.name for path in config.iterdir()] == ["Pulumi.dev-aws.yaml"]


def test_what_is_encrypted_is_not_copied(project: Path, sizewell: Sizewell) -> None:
    spec = project / "stacks/specs/dev-aws/chat.yaml"
    spec.write_text(spec.read_text() + "ttl: 30d\n")
    config = project / "stacks/config"
    (config / "Pulumi.dev-aws.yaml").write_text(SETTINGS)
    assert sizewell("size", "--stack", "dev-aws", "--on", "2026-11-20").code == 0
    made = config / "Pulumi.ttl-dev-aws.yaml"
    assert "sizewell:notify" not in read_yaml(made).data["config"]
    assert "sizewell:notify is encrypted there: set it here as well" in made.read_text()
