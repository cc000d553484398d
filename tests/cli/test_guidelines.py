"""The points of clig.dev, as docs/reference/command-line-guidelines.md lists them: its page, and what no other test has."""

from __future__ import annotations

import ast
import io
import os
import pty
import re
import socket
import sys
import time
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

import click
import pytest

from sizewell.cli import output, terminal
from sizewell.cli.main import COMMANDS, main
from sizewell.cli.reference import VARIABLES

from .conftest import ROOT, Sizewell
from .lines import parsed
from .test_every_command import LEAVES, PLAN

PAGE = ROOT / "docs/reference/command-line-guidelines.md"
# The guide's sections with points, and how many each has at least on the page.
SECTIONS = {
    "The basics": 4, "Help": 10, "Documentation": 3, "Output": 16, "Errors": 5, "Arguments and flags": 13,
    "Interactivity": 4, "Subcommands": 3, "Robustness": 8, "Future-proofing": 6, "Signals": 2, "Configuration": 4,
    "Environment variables": 6, "Naming": 1, "Distribution": 2, "Analytics": 1,
}  # fmt: skip
LETTERS = {"-h": "--help", "-V": "--version", "-q": "--quiet", "-o": "--output", "-n": "--dry-run", "-v": "--verbose"}
OPTIONS = [
    (name, option) for name, leaf in LEAVES.items() for option in leaf.params if isinstance(option, click.Option)
]


def rows() -> list[tuple[str, str, str]]:
    """Section, point and what holds it of each line of the page's tables."""
    read, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        section = line.removeprefix("## ") if line.startswith("## ") else section
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 2 and cells[0] not in ("point", "---"):
            read.append((section, cells[0], cells[1]))
    return read


def test_every_point_has_a_test_that_exists_or_says_why_not() -> None:
    for section, point, holds in rows():
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", holds)
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file}::{name}"
        assert named or len(holds.split()) >= 6, f"{section}: {point}: neither a test nor a reason"
    counted = {section: sum(row[0] == section for row in rows()) for section in SECTIONS}
    assert {section: count for section, count in counted.items() if count < SECTIONS[section]} == {}


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("size --stack", "size"),
        ("size --on someday --nope", "size"),
        ("--color never prices import rates.csv --dry-run", "prices import"),
        ("teardown", "teardown"),
        ("help teardown plan", "teardown plan"),
    ],
)
def test_help_at_the_end_of_any_line(line: str, command: str, sizewell: Sizewell) -> None:
    for flag in ("-h", "--help"):
        done = sizewell(*line.split(), flag)
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"Usage: sizewell {command} [OPTIONS]")
    assert sizewell("teardown", "pln", "-h").err.endswith("did you mean plan?\n")


def test_commands_stand_in_the_order_of_use() -> None:
    assert list(COMMANDS)[:6] == ["init", "new", "size", "preview", "policy", "docs"]


@pytest.mark.parametrize(("flags", "bold"), [((), False), (("--color", "always"), True), (("--no-color",), False)])
def test_headings_are_bold_on_a_terminal_and_plain_in_a_pipe(
    flags: tuple[str, ...], bold: bool, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = sizewell("size", *flags, "--help").out
    assert ("\x1b[1mexamples\x1b[0m:" in text) is bold
    assert ("\x1b" in text) is bold
    if not flags:
        monkeypatch.setattr(terminal, "in_color", lambda _: True)
        assert "\x1b[1mUsage\x1b[0m: sizewell size" in sizewell("size", "--help").out


def test_a_terminal_as_standard_input_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"name: x\n"))
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", typed)
    assert main(["size", "-"]) == 64
    assert capsys.readouterr().err.startswith("sizewell: reading standard input from the terminal; Ctrl-D ends it\n")
    parsed(["teardown", "replay", "-"])
    assert "Ctrl-D" in capsys.readouterr().err


def test_a_refusal_names_what_to_do(sizewell: Sizewell) -> None:
    for line in ("size nowhere.yaml", "size --nope", "keep", "prices show p5.48xlarg"):
        assert "\n  fix: " in sizewell(*line.split()).err, line


@pytest.mark.parametrize(
    "line",
    ["size examples/chat.yaml", "explain examples/chat.yaml", f"preview --plan {PLAN}", "policy --list", "doctor"],
)
def test_no_connection_is_made(line: str, sizewell: Sizewell, monkeypatch: pytest.MonkeyPatch) -> None:
    """No server has to live on for these, and none hears of them."""
    asked: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: asked.append(address))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **_: asked.append(names) or [])
    monkeypatch.chdir(ROOT)
    sizewell(*line.split())
    assert asked == []


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal.choose()
    shown = {}
    for is_terminal in (True, False):
        reader, side = pty.openpty() if is_terminal else os.pipe()
        with os.fdopen(side, "w", encoding="utf-8") as err:
            monkeypatch.setattr("sys.stderr", err)
            with output.progress("sizing"):
                time.sleep(1.1)
            err.write("end")
            err.flush()
            shown[is_terminal] = os.read(reader, 1000)
        os.close(reader)
    monkeypatch.undo()
    assert b"sizing ... 1 s" in shown[True]
    assert shown[False] == b"end"


def test_arguments_are_of_one_sort() -> None:
    several = {
        name: [each.human_readable_name for each in leaf.params if isinstance(each, click.Argument)]
        for name, leaf in LEAVES.items()
    }
    assert {name: words for name, words in several.items() if len(words) > 1} == {
        "keep": ["STACK", "DURATION"],
        "launch": ["STACK", "WORKLOAD"],
        "wake": ["STACK", "POOL"],
    }


def test_every_flag_has_a_long_form() -> None:
    short = {flag: option.opts[-1] for _, option in OPTIONS for flag in option.opts if len(flag) == 2}
    assert {flag: LETTERS[flag] for flag in short} == short
    assert {"-h", "-q", "-o", "-n", "-v"} == short.keys()  # -V is of the command itself


def test_no_flag_has_an_optional_value() -> None:
    """`validate --json` has one, and `-` is its word for the default."""
    assert [
        (name, option.flag_value)
        for name, option in OPTIONS
        if isinstance(option.flag_value, str) and not option.is_flag
    ] == [("validate", "-")]


def test_no_flag_takes_a_secret() -> None:
    secret = re.compile(r"password|token(?!s$)|secret|credential|api-?key")  # tokens are a length of text
    assert [flag for _, option in OPTIONS for flag in option.opts if secret.search(flag)] == []


def test_no_input_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO("shop\naws\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["init", str(tmp_path / "shop"), "--no-input"]) == 64
    assert terminal.tell() == 0
    assert "--cloud" in capsys.readouterr().err


def test_a_flag_takes_the_same_everywhere() -> None:
    """The same letter or word, and a value or none; `--data` and `--cloud` name their stack or cloud where one is."""
    takes: dict[str, set[tuple[str, ...]]] = {}
    for _, option in OPTIONS:
        takes.setdefault(option.opts[-1], set()).add((*option.opts, str(option.is_flag or option.count)))
    assert {flag for flag, forms in takes.items() if len(forms) > 1} == {"--cloud", "--data", "--json", "--output"}


def test_two_levels_are_noun_and_verb() -> None:
    levels: dict[str, set[str]] = {}
    for name in LEAVES:
        noun, _, verb = name.partition(" ")
        levels.setdefault(noun, set()).add(verb)
    assert {noun for noun, verbs in levels.items() if verbs != {""}} == {"ages", "evidence", "prices", "teardown"}


def test_no_two_commands_are_alike() -> None:
    alike = {pair: SequenceMatcher(None, *pair).ratio() for pair in combinations(COMMANDS, 2)}
    assert max(alike.values()) < 0.7, max(alike, key=lambda pair: alike[pair])


@pytest.mark.parametrize(
    "line", ["siz examples/chat.yaml", "size --det examples/chat.yaml", "teardown rep x", "prices sho x"]
)
def test_nothing_is_abbreviated(line: str, sizewell: Sizewell) -> None:
    assert sizewell(*line.split()).code == 64


def test_the_cache_is_where_xdg_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sizewell.cli import teardown

    monkeypatch.setenv("HOME", "/home/jane")
    for value, folder in ((str(tmp_path), tmp_path), ("", Path("/home/jane/.cache"))):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert teardown.cache() == folder / "sizewell/states"


def test_names_of_variables_are_portable() -> None:
    names = {name for section, rows in VARIABLES.items() for name in rows if not section.startswith("In containers")}
    own = {name for name in names if name.startswith("SIZEWELL_")}
    assert len(own) >= 6
    assert [name for name in names if not re.fullmatch(r"[A-Z][A-Z0-9_]*\*?|[a-z.*_]+_env", name)] == []
