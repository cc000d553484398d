"""What a message tells to type works as it stands: names of files, blanks in paths, revisions, a broken environment."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from sizewell.cli import environment
from sizewell.cli.amounts import counted_load
from sizewell.cli.main import main
from sizewell.preview.base import must_be_a_revision
from sizewell.sizing.errors import UsageError
from tests.preview.test_run import git

SKYPILOT = "name: sgl\nresources: {cloud: aws, accelerators: 'L40S:1'}\nrun: vllm serve Qwen/Qwen3-8B\n"


def said(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main([*words])
    out = capsys.readouterr()
    return out.out + out.err


@pytest.mark.parametrize("typed", ["chat", "chat.yml", "caht.yaml", "specs/chat"])
def test_a_spec_is_found_by_its_name(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / Path(typed).parent
    folder.mkdir(exist_ok=True)
    (folder / "chat.yaml").write_text("name: chat\n", encoding="utf-8")
    assert f"did you mean {Path(typed).parent / 'chat.yaml'}?" in said("size", typed, capsys=capsys)


def test_paths_with_blanks_are_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my task.yaml").write_text(SKYPILOT, encoding="utf-8")
    (tmp_path / "a b").mkdir()
    answer = said("size", "my task.yaml", capsys=capsys)
    command = answer.partition("run: ")[2].splitlines()[0]
    assert "wrote sgl.yaml" in said(*shlex.split(command)[1:], capsys=capsys)
    answer = said("new", "chat", "--folder", "a b", capsys=capsys)
    assert shlex.split(answer.rstrip().splitlines()[-1])[1:] == ["size", "a b/chat.yaml"]


@pytest.mark.parametrize(
    ("workload", "stated", "load"),
    [
        ("batch", "50 thousand", "50k"),
        ("pretrain", "1.5 trillion tokens", "1.5T"),
        ("chat", "50k a day", "50k/d"),
        ("embed", "3M texts per month", "100000/d"),
        ("finetune", "2 lakh examples", "200k"),
    ],
)
def test_an_amount_in_words_keeps_its_size(workload: str, stated: str, load: str) -> None:
    assert counted_load(workload, stated) == load


def test_a_revision_of_a_shallow_clone_is_fetched_by_the_command_that_is_told(tmp_path: Path) -> None:
    whole, clone = tmp_path / "whole", tmp_path / "clone"
    whole.mkdir()
    git(whole, "init", "-q", "-b", "main")
    git(whole, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "one")
    git(whole, "branch", "feature")
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "feature", f"file://{whole}", str(clone))
    with pytest.raises(UsageError) as refused:
        must_be_a_revision(clone, "origin/main", "--base")
    command = str(refused.value).partition("fix: ")[2].partition(" brings it")[0]
    git(clone, *shlex.split(command)[1:])
    assert must_be_a_revision(clone, "origin/main", "--base")


BROKEN = {
    "gone": ("#!/nowhere/bin/python3\n", "version = 3.12.1\n", "which is gone"),
    "old": (f"#!{sys.executable}\n", "version = 3.8.10\n", "3.11 or later is needed"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_environment_that_cannot_run_is_said_with_what_makes_it_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, config, says = BROKEN[kind]
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n", encoding="utf-8")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/pyvenv.cfg").write_text(config, encoding="utf-8")
    program = tmp_path / ".venv/bin/sizewell"
    program.write_text(first, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(environment.HANDED, raising=False)
    why = environment.hand_over(["preview", "dev"])
    assert says in why
    assert f"fix: rm -r {tmp_path / '.venv'} && pulumi install" in why
