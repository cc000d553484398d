"""`sizewell stock`, `size --in-stock` and what of stock `doctor --cloud` says; the clouds' answers are in tests/clouds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sizewell.clouds.calls import CloudError
from sizewell.clouds.preflight.needs import Needs
from sizewell.clouds.stock.rows import Got, Question, Row, of, silent
from sizewell.resources.recorded import Plan
from sizewell.sizing.records.decision import Decision

from .conftest import CHAT, ROOT, Sizewell

AT = "2026-11-28T02:00:00Z"
ON = ("--on", "2026-09-20")
SAID = Got(question=Question("ec2:GetSpotPlacementScores", ("ec2:GetSpotPlacementScores",), dict), at=AT)
States = dict[str, dict[str, str]]  # machine type -> zone -> state


@pytest.fixture(autouse=True)
def _at_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Needs]]:
    """The clouds say this of their machines, "unknown" of all others in the first two zones."""

    def plan(states: States | None = None, **more: Any) -> list[Needs]:
        asked: list[Needs] = []

        def stock(needs: Needs, **_: Any) -> list[Row]:
            asked.append(needs)
            rows = []
            for each in needs.machines:
                usual = {f"{each.region}{letter}": "unknown" for letter in "ab"}
                named = (states or {}).get(each.instance_type, usual)
                for zone in each.zones or named:
                    state: Any = named.get(zone, "unknown")
                    rows.append(of(each, needs.cloud, zone, state, f"it is {state}", SAID, fix=more.get("fix", "")))
            return rows

        monkeypatch.setattr("sizewell.clouds.stock.asking.stock", stock)
        return asked

    return plan


def test_a_spec_is_asked_about_with_its_fallbacks(project: Path, sizewell: Sizewell, says) -> None:
    asked = says()
    (project / "chat.yaml").write_text(CHAT)
    done = sizewell("stock", "chat.yaml")
    assert done.code == 0, done.err
    assert done.out.startswith("chat-replicas: 1 x g")
    assert "otherwise: 1 x" in done.out
    assert "us-east-1a, us-east-1b   unknown   it is unknown" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert asked[0].machines[0].zones == ()


def test_json_is_as_its_schema_says(project: Path, sizewell: Sizewell, says) -> None:
    says()
    (project / "chat.yaml").write_text(CHAT)
    document = json.loads(sizewell("stock", "chat.yaml", "--json").out)
    schema = json.loads((ROOT / "src/sizewell/schemas/stock.schema.json").read_text())
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    assert {row["asked_at"] for row in document["rows"]} == {AT}
    assert all(row["age_s"] >= 0 for row in document["rows"])


def test_a_stack_of_two_workloads(project: Path, sizewell: Sizewell, says) -> None:
    asked = says()
    (project / "stacks/specs/dev-aws/second.yaml").write_text(CHAT.replace("name: chat", "name: second"))
    assert sizewell("size", "--stack", "dev-aws", *ON).code in (0, 3)
    done = sizewell("stock", "dev-aws", "--json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"]
    assert {row["pool"] for row in rows} == {"chat-replicas", "second-replicas"}
    assert len(asked) == 1
    assert json.loads(done.out)["stack"] == "dev-aws"


def test_a_pool_that_cannot_be_had_anywhere_is_exit_code_5(project: Path, sizewell: Sizewell, says) -> None:
    (project / "chat.yaml").write_text(CHAT)
    says()
    kind = json.loads(sizewell("size", "chat.yaml", "--json").out)["workloads"][0]["pools"][0]["instance_type"]
    says({kind: {"us-east-1a": "unavailable", "us-east-1b": "unavailable"}}, fix="raise the quota")
    done = sizewell("stock", "chat.yaml")
    assert done.code == 5
    assert "fix: raise the quota" in done.out
    says({kind: {"us-east-1a": "unavailable", "us-east-1b": "unlikely"}})
    assert sizewell("stock", "chat.yaml").code == 0


def test_what_is_neither_a_file_nor_a_stack(project: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    done = sizewell("stock", "prod-aws")
    assert (done.code, "neither a spec file nor a stack with a decision" in done.err) == (64, True)
    (project / "chat.yaml").write_text(CHAT.replace("aws/us-east-1", "gcp"))
    done = sizewell("stock", "chat.yaml")
    assert done.code == 64
    assert "fix: add --account gcp=PROJECT" in done.err
    done = sizewell("stock", "chat.yaml", "--account", "gpc=x")
    assert (done.code, "must be CLOUD=VALUE" in done.err) == (64, True)
    monkeypatch.chdir("/")
    assert "once `sizewell size --stack` decided one" in sizewell("stock", "prod-aws").err


def test_without_a_login_all_is_unknown(project: Path, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    (project / "chat.yaml").write_text(CHAT)
    done = sizewell("stock", "chat.yaml")
    assert done.code == 69
    assert done.out.startswith("unknown, all of it: not logged in")
    assert "fix: run: aws sso login" in done.out
    assert "available" not in done.out
    done = sizewell("size", "chat.yaml", "--in-stock")
    assert done.code == 69
    assert "or leave --in-stock out" in done.err
    assert done.out == ""


DENIED = Got(question=Question("ec2:x", ("ec2:x",), dict), error=CloudError("ec2", "denied", "UnauthorizedOperation"))


def test_where_every_call_is_denied_nothing_is_written(project: Path, sizewell: Sizewell, monkeypatch) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    path = project / "stacks/decisions/dev-aws.json"
    before = path.read_bytes()

    def stock(needs: Needs, **_: Any) -> list[Row]:
        return [silent(each, "aws", "", DENIED) for each in needs.machines]

    monkeypatch.setattr("sizewell.clouds.stock.asking.stock", stock)
    done = sizewell("stock", "dev-aws")
    assert done.code == 69
    assert "denied, ec2:x is missing" in done.out
    done = sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert done.code == 69
    assert "fix: let an administrator allow ec2:x; or leave --in-stock out" in done.err
    assert path.read_bytes() == before


def test_one_pool_of_which_nothing_is_answered(project: Path, sizewell: Sizewell, monkeypatch) -> None:
    (project / "stacks/specs/dev-aws/second.yaml").write_text(CHAT.replace("name: chat", "name: second"))
    sizewell("size", "--stack", "dev-aws", *ON)
    before = (project / "stacks/decisions/dev-aws.json").read_bytes()

    def stock(needs: Needs, **_: Any) -> list[Row]:
        own = [each for each in needs.machines if each.pool.startswith("second")]
        return [silent(each, "aws", "", DENIED) for each in own] + [
            of(each, "aws", "us-east-1b", "likely", "9 of 10", SAID) for each in needs.machines if each not in own
        ]

    monkeypatch.setattr("sizewell.clouds.stock.asking.stock", stock)
    assert sizewell("stock", "dev-aws").code == 69
    done = sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert (done.code, "second-replicas: denied" in done.err) == (69, True)
    assert (project / "stacks/decisions/dev-aws.json").read_bytes() == before


def test_an_account_that_is_named_twice(project: Path, sizewell: Sizewell, says) -> None:
    (project / "chat.yaml").write_text(CHAT.replace("aws/us-east-1", "gcp"))
    asked = says()
    done = sizewell("stock", "chat.yaml", "--account", "gcp=a-project1", "--account", "gcp=b-project2")
    assert (done.code, asked) == (64, [])
    assert "--account: gcp is named twice, with a-project1 and b-project2" in done.err
    assert sizewell("stock", "chat.yaml", "--account", "gcp=a-project1", "--account", "gcp=a-project1").code == 0


def test_machines_that_exist_already_are_not_asked_about(project: Path, sizewell: Sizewell, says) -> None:
    asked = says()
    spec = CHAT.replace("infra: [aws/us-east-1]", "infra: [on-premises]")
    (project / "chat.yaml").write_text(spec)
    done = sizewell("stock", "chat.yaml")
    assert asked == []
    assert done.code == 5 or "its machines already exist" in done.out


def decided(project: Path) -> Decision:
    return Decision.from_json(project / "stacks/decisions/dev-aws.json")


def test_in_stock_passes_over_what_cannot_be_had_and_says_so_in_the_decision(
    project: Path, sizewell: Sizewell, says
) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    first = decided(project).workloads[0].pools[0]
    says({first.instance_type: {"us-east-1a": "unavailable", "us-east-1b": "unlikely"}})
    done = sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert done.code in (0, 3), done.err
    after = decided(project)
    pool = after.workloads[0].pools[0]
    assert pool.instance_type != first.instance_type
    assert after.in_stock is not None
    (over,) = after.in_stock.passed_over
    assert (over.instance_type, over.market) == (first.instance_type, first.market)
    assert over.why == "unlikely in us-east-1b: it is unlikely"
    assert after.in_stock.asked_at == AT
    assert f"passes over {first.market} {first.instance_type} in us-east-1" in done.err
    assert first.instance_type not in {each.instance_type for each in pool.fallbacks}
    rejected = next(g for g in after.workloads[0].rejections if any(first.instance_type in s for s in g.shapes))
    assert rejected.cause == "market"


def test_a_check_goes_by_what_was_said_and_sizing_again_keeps_it_until_it_is_asked_anew(
    project: Path, sizewell: Sizewell, says
) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    plain = (project / "stacks/decisions/dev-aws.json").read_bytes()
    kind = decided(project).workloads[0].pools[0].instance_type
    says({kind: {"us-east-1a": "unavailable"}})
    sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    path = project / "stacks/decisions/dev-aws.json"
    kept = path.read_bytes()
    assert kept != plain
    asked = says()
    done = sizewell("size", "--check")
    assert (done.code, done.out) == (0, "dev-aws: in order\n")
    sizewell("size", "--stack", "dev-aws", *ON)
    assert path.read_bytes() == kept
    assert asked == []
    sizewell("size", "--stack", "dev-aws", "--no-in-stock", *ON)
    assert path.read_bytes() == plain
    assert sizewell("size", "--check").out == "dev-aws: in order\n"


def test_the_zone_where_it_can_be_had_becomes_the_pool_s(project: Path, sizewell: Sizewell, says) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    kind = decided(project).workloads[0].pools[0].instance_type
    says({kind: {"us-east-1a": "uncertain", "us-east-1b": "likely", "us-east-1c": "unavailable"}})
    sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    pool = decided(project).workloads[0].pools[0]
    assert (pool.instance_type, pool.zones) == (kind, ("us-east-1b",))
    assert sizewell("size", "--check").code == 0


@pytest.mark.parametrize(
    ("states", "zones"),
    [
        ({"us-east-1a": "unknown", "us-east-1b": "unknown"}, ()),  # nobody knows: as ever
        ({"us-east-1b": "unknown", "us-east-1d": "unknown"}, ("us-east-1b",)),  # the usual zone does not sell it
        ({"us-east-1a": "unlikely", "us-east-1b": "unknown"}, ("us-east-1b",)),
    ],
)
def test_a_zone_is_taken_only_for_a_reason(project: Path, sizewell: Sizewell, says, states, zones) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    says({decided(project).workloads[0].pools[0].instance_type: states})
    sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert decided(project).workloads[0].pools[0].zones == zones


def test_a_zone_that_a_spec_or_the_configuration_names_stays(project: Path, sizewell: Sizewell, says) -> None:
    (project / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT.replace("us-east-1]", "us-east-1/us-east-1a]"))
    asked = says()
    sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert asked[0].machines[0].zones == ("us-east-1a",)
    assert decided(project).workloads[0].pools[0].zones == ("us-east-1a",)
    (project / "stacks/specs/dev-aws/chat.yaml").write_text(CHAT)
    config = project / "stacks/config/Pulumi.dev-aws.yaml"
    config.write_text("config:\n  sizewell:zones: [us-east-1c]\n")
    asked = says()
    sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert asked[0].machines[0].zones == ("us-east-1c",)


def test_where_nothing_but_the_unlikely_is_left_that_is_taken(project: Path, sizewell: Sizewell, says) -> None:
    text = CHAT.replace("owner:", "resources: {instance_type: g6e.xlarge}\nowner:")
    (project / "stacks/specs/dev-aws/chat.yaml").write_text(text)
    says({"g6e.xlarge": {"us-east-1a": "unlikely"}})
    done = sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert done.code in (0, 3), done.err + done.out
    assert decided(project).workloads[0].pools[0].instance_type == "g6e.xlarge"
    assert "chat-replicas: g6e.xlarge is unlikely: it is unlikely" in done.err
    (project / "stacks/decisions/dev-aws.json").unlink()
    says({"g6e.xlarge": {"us-east-1a": "unavailable"}})
    done = sizewell("size", "--stack", "dev-aws", "--in-stock", *ON)
    assert done.code == 5
    assert "when its cloud was asked" in done.out
    assert "size --in-stock" in done.out


@pytest.mark.parametrize(
    ("state", "shown", "code"),
    [("likely", "ok", 0), ("unlikely", "note", 0), ("unknown", "note", 0), ("unavailable", "wrong", 64)],
)
def test_doctor_says_it_before_the_update(  # noqa: PLR0917 -- fixtures and a case
    project: Path, sizewell: Sizewell, says, monkeypatch: pytest.MonkeyPatch, state, shown, code
) -> None:
    sizewell("size", "--stack", "dev-aws", *ON)
    kind = decided(project).workloads[0].pools[0].instance_type
    says({kind: {"us-east-1a": state}})
    monkeypatch.setattr(
        "sizewell.recording.evaluate.evaluate", lambda *_: Plan(project="x", stack="dev-aws", resources=())
    )
    monkeypatch.setattr("sizewell.clouds.preflight.run.preflight", lambda *_, **__: [])
    done = sizewell("doctor", "dev-aws", "--cloud", "--json")
    (row,) = [each for each in json.loads(done.out) if each["about"] == "stock of chat-replicas"]
    assert (row["state"], done.code) == (shown, code)
    assert f"{kind}, on-demand: {state} in us-east-1a" in row["detail"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("--check", "--in-stock"), "cannot be combined with --check"),
        (("chat.yaml", "--show-spec", "--in-stock"), "cannot be combined with --check"),
        (("chat.yaml", "--account", "gcp=x"), "add --in-stock"),
    ],
)
def test_options_of_size_that_say_nothing_together(project: Path, sizewell: Sizewell, line, says) -> None:
    (project / "chat.yaml").write_text(CHAT)
    done = sizewell("size", *line)
    assert (done.code, says in done.err) == (64, True)


def test_several_specs_without_a_stack_are_asked_about_one_by_one(project: Path, sizewell: Sizewell, says) -> None:
    asked = says()
    names = [project / f"{name}.yaml" for name in ("one", "two")]
    for path in names:
        path.write_text(CHAT.replace("name: chat", f"name: {path.stem}"))
    done = sizewell("size", *map(str, names), "--in-stock", "--json", *ON)
    assert [answer["in_stock"]["asked_at"] for answer in json.loads(done.out)] == [AT, AT]
    assert [needs.machines[0].pool for needs in asked] == ["one-replicas", "two-replicas"]


def test_it_stops_to_look_for_something_else_and_says_what_it_took(
    project: Path, sizewell: Sizewell, says, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sizewell.cli.stock.ROUNDS", 1)
    (project / "chat.yaml").write_text(CHAT)
    first = json.loads(sizewell("size", "chat.yaml", "--json", *ON).out)["workloads"][0]["pools"][0]["instance_type"]
    everything = {shape: {"us-east-1b": "unavailable"} for shape in every_type()}
    says(everything)
    done = sizewell("size", "chat.yaml", "--in-stock", "--json", *ON)
    decision = json.loads(done.out)
    (over,) = decision["in_stock"]["passed_over"]
    pool = decision["workloads"][0]["pools"][0]
    assert (over["instance_type"], pool["instance_type"] != first) == (first, True)
    assert "zones" not in decision["in_stock"] or decision["in_stock"]["zones"] == []
    assert f"{pool['instance_type']} is unavailable" in done.err


def every_type() -> set[str]:
    from sizewell.sizing.catalog import load

    return {shape.instance_type for shape in load().shapes}
