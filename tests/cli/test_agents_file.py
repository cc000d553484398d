"""AGENTS.md of `sizewell init` is true for the project that it stands in: its commands, its paths, its exit codes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sizewell.cli.docs import named, pages
from sizewell.cli.main import main
from sizewell.cli.reference import EXITS

from .lines import leaves, parsed
from .test_init import flags

STACKS = ("dev", "prod")
PATH = re.compile(r"(?:\.\./)*[\w.*-]*/[\w./*-]+|\.?[\w-]+\.(?:md|ya?ml|txt|json)|\.gitignore|CODEOWNERS")


@pytest.mark.parametrize(
    ("cloud", "forge", "folder"),
    [("aws", "github", "shop"), ("gcp", "gitlab", "services/gpu"), ("azure", "none", "shop")],
)
def test_its_commands_parse_and_its_paths_are_there(cloud: str, forge: str, folder: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = tmp_path / folder
    assert main(["init", str(root), *flags(cloud, forge), "-q"]) == 0
    text = (root / "AGENTS.md").read_text()
    assert len(text.splitlines()) <= 80
    assert "$" not in text
    fenced = re.findall(r"(?s)```sh\n(.*?)```", text)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"(?s)```.*?```", "", text))
    lines = [line for block in fenced for line in block.splitlines()] + spans
    commands = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("sizewell ")]
    assert len(commands) > 12
    for words in commands:
        if words[0] == "COMMAND":
            continue
        line = [word.replace("STACK", "dev") for word in words]
        if len(words) > 1 or words[0] not in ("keep", "wake", "reconcile"):  # named as such, without what they take
            parsed([*line, *(["--reason", "a test", "--all"] if words == ["teardown", "pause"] else [])])
        else:
            assert words[0] in dict(leaves())
        if words[:1] == ["docs"] and len(words) > 1:
            assert named(words[1], pages()), words
    paths = [span for span in spans if PATH.fullmatch(span)]
    assert len(paths) > 8
    for path in paths:
        for stack in STACKS if "STACK" in path else ("",):
            assert list(root.glob(path.replace("STACK", stack))) or (root / path).exists(), path
    assert f"{cloud}/" in text
    for code, meaning in re.findall(r"(?m)^\| (\d+) \| (.+) \|$", text):
        assert EXITS[int(code)] == meaning


def test_one_that_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "AGENTS.md").write_text("mine\n")
    assert main(["init", str(tmp_path), "--name", "shop", *flags()]) == 0
    assert (tmp_path / "AGENTS.md").read_text() == "mine\n"
    assert "kept 1 existing file: AGENTS.md" in capsys.readouterr().out


def test_what_it_forbids_is_refused_or_changes_something() -> None:
    """The commands under "Never" are those that no tool of an agent runs."""
    from sizewell.agents.tools import TOOLS

    text = (Path(main.__code__.co_filename).parents[1] / "templates/answers/AGENTS.md").read_text()
    never = re.findall(r"`sizewell ([a-z]+(?: [a-z]+)?)", text.partition("## Never")[2])
    assert never
    assert not {tool.command for tool in TOOLS} & set(never)
