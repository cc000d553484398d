"""What a first day runs into: folders of others, a merge, an expiry stack beside the stack."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import pytest

from sizewell import source
from sizewell.cli.main import main
from sizewell.sizing.errors import ConfigError, DecisionError, SpecError, UsageError
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec
from sizewell.teardown import journal
from sizewell.teardown.config import parse_config

SPEC = """name: nb
kind: notebook
resources: {gpu: 16GB.., nodes: 1}
infra: [aws/us-east-1]
ttl: 30d
"""
ON = ("--on", "2026-11-20")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: test\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    (tmp_path / "stacks/specs/dev").mkdir(parents=True)
    (tmp_path / "stacks/specs/dev/nb.yaml").write_text(SPEC)
    (tmp_path / "stacks/decisions").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written_is_no_internal_error(
    code: int, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(_self: Decision, path: Path) -> None:
        raise OSError(code, "no", str(path))

    monkeypatch.setattr(Decision, "write", denied)
    assert main(["size", "--stack", "dev", *ON]) == 64
    said = capsys.readouterr().err
    assert "stacks/decisions/dev.json: " in said
    assert "fix: change its permissions" in said


def test_a_stack_whose_last_spec_is_gone_is_not_led_in_a_circle(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["size", "--stack", "dev", *ON, "-q"]) == 0
    (project / "stacks/specs/dev/nb.yaml").unlink()
    assert main(["size", "--stack", "dev", *ON]) == 64
    said = capsys.readouterr().err
    assert "fix: write one: sizewell new chat --stack dev; or remove stacks/decisions/dev.json" in said
    (project / "stacks/decisions/dev.json").unlink()
    assert main(["size", "--stack", "dev", *ON]) == 64
    assert "name a stack" not in capsys.readouterr().err


def test_a_missing_decision_is_made_by_the_command_that_is_named(tmp_path: Path) -> None:
    with pytest.raises(DecisionError, match="fix: run `sizewell size --stack dev` and commit the file"):
        Decision.from_json(tmp_path / "dev.json")


def test_a_merge_conflict_in_a_decision_is_called_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--stack", "dev", *ON, "-q"]) == 0
    path = project / "stacks/decisions/dev.json"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first, "<<<<<<< HEAD\n", rest[0], "=======\n", rest[0], ">>>>>>> other\n", *rest[1:]]))
    main(["size", "--check", "--stack", "dev"])
    said = capsys.readouterr().out
    assert "conflict markers of a merge" in said
    assert "`sizewell size --stack dev`" in said


def test_the_stack_and_its_expiry_stack_cost_what_the_decision_says(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the cent: what `size` adds up is what the two previews add up to."""
    answers = ["--account", "123456789012", "--owner", "@acme/ml", "--notify", "a@example.com", "--forge", "none"]
    assert main(["init", "shop", "--cloud", "aws", *answers, "--offline", "--no-input", *ON]) == 0
    monkeypatch.chdir(project / "shop")
    assert main(["size", "--stack", "dev", *ON]) == 0
    assert "`sizewell preview ttl-dev`" in capsys.readouterr().out
    bill = Decision.from_json(Path("stacks/decisions/dev.json")).workloads[0].bill()
    assert main(["preview", "dev", "ttl-dev", "--format", "json", *ON]) == 0
    preview = json.loads(capsys.readouterr().out)
    months = [stack["after"]["usd_per_month"]["expected"] for stack in preview["stacks"]]
    assert len(months) == 2
    assert sum(map(float, months)) == pytest.approx(float(bill.run_rate.usd_per_month.expected), abs=0.001)


@pytest.mark.parametrize(
    ("journal", "fix"), [("my-bucket", "write s3://my-bucket/records"), ("https://x.example", "s3://BUCKET/PREFIX")]
)
def test_a_journal_is_explained_in_words(journal: str, fix: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config({"schema": "sizewell.teardown/1", "journal": journal, "environments": {"dev": {}}})
    (fault,) = refused.value.faults
    assert "where notices, acts and locks are written" in str(fault)
    assert fix in fault.fix


def test_prices_have_a_first_day(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "stacks/specs/dev/nb.yaml", "--on", "2020-01-01"]) == 64
    assert "the catalog has no price before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("uri", "module", "extra"),
    [
        ("s3://shop-journal/records", "boto3", "aws"),
        ("gs://shop-journal/records", "google.cloud.storage", "gcp"),
        ("az://shopjournal/records/x", "azure.storage.blob", "azure"),
    ],
)
def test_a_journal_without_its_client_names_what_installs_it_here(
    uri: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError) as refused:
        journal.connect(uri)
    assert "in the image" not in str(refused.value)
    assert str(refused.value).endswith(f"which is not installed\n  fix: {source.install(extra)}")


@pytest.mark.parametrize(
    ("made_by", "command"), [("uv-receipt.toml", "uv tool install "), ("pipx_metadata.json", "pipx install --force ")]
)
def test_an_extra_is_added_by_what_made_the_environment(
    made_by: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / made_by).touch()
    assert source.install("gcp").startswith(f'{command}"sizewell[gcp]')


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("config:\n  aws:region: us-east-1\n", "the configuration of a Pulumi stack"),
        ("name: shop\nruntime: python\n", "a Pulumi project"),
        ('{"schema": "sizewell.decision/1", "stack": "dev"}', "sizewell.decision/1"),
        ("schema: sizewell.teardown/1\njournal: s3://b/x\n", "sizewell.teardown/1"),
    ],
)
def test_another_file_of_the_project_is_called_what_it_is(text: str, called: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(text)
    (fault,) = refused.value.faults
    assert fault.message == f"this is {called}, not a spec"
    assert "sizewell size --stack STACK" in fault.fix


def test_the_price_of_an_hour_a_day_and_a_month_is_read_first(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the comparison names what the choice costs in it, where the total has the end of the stack."""
    assert main(["size", "stacks/specs/dev/nb.yaml", *ON, "--json"]) == 0
    workload = json.loads(capsys.readouterr().out)["workloads"][0]
    assert main(["size", "stacks/specs/dev/nb.yaml", *ON]) == 0
    said = capsys.readouterr().out
    hour = float(workload["line_items"][0]["usd_per_unit"])
    assert f"{workload['cost']['run_rate']['expected']} USD a month expected; {hour:.3g} an hour and " in said
    assert f"{hour * 24:.2f} a day with the machine on" in said
    assert f"compared with {workload['cost']['alone_usd_per_month']} USD a month" in said
