"""The tutorials, followed literally: their files are written, their commands run, and what those print is what stands there.

A tutorial is Markdown in docs/tutorials. A file is a fenced block after a line with its path in backquotes; a ```console block
holds commands after `$ ` and what they print. A line `...` stands for any number of lines. SIZEWELL_REFRESH=1 writes what is
printed back, keeping `...`.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs/tutorials"
FILE = re.compile(r"^`(?P<path>[\w./-]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
BETWEEN = "\x02"  # no command prints it
WRITTEN_ON = "2026-11-22"  # prices age: the pages are followed on the day on which they were written
CLOCK = Path(__file__).parent / "clock"
MARKS = {"train-and-resume.md": pytest.mark.frameworks}
PAGES = [pytest.param(page, id=page.stem, marks=MARKS.get(page.name, ())) for page in sorted(TUTORIALS.glob("*.md"))]


def steps(page: str) -> list[re.Match[str]]:
    """Files and consoles in their order."""
    return sorted([*FILE.finditer(page), *CONSOLE.finditer(page)], key=lambda block: block.start())


def commands(console: str) -> list[tuple[str, list[str]]]:
    """Each command (its continuation lines with it) and the lines that it is said to print."""
    told: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            told.append((line[2:], []))
        elif told[-1][0].endswith("\\"):
            told[-1] = (told[-1][0] + "\n" + line.removeprefix("> "), [])
        else:
            told[-1][1].append(line)
    return told


def run(script: str, folder: Path) -> list[tuple[int, list[str]]]:
    """The exit code and lines of each command of one shell, whose folder and variables last from one to the next."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONPATH": f"{CLOCK}:{os.environ.get('PYTHONPATH', '')}".rstrip(":"),
        "SIZEWELL_TEST_DAY": WRITTEN_ON,
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "REPOSITORY": str(ROOT),
        "GIT_CONFIG_NOSYSTEM": "1",
        **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "you"),
        **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "you@example.com"),
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    parts = done.stdout.split(BETWEEN)
    return [
        (int(parts[at + 1]), [line.rstrip() for line in parts[at].strip("\n").splitlines()])
        for at in range(0, len(parts) - 1, 2)
    ]


def matches(told: list[str], printed: list[str]) -> bool:
    if "..." not in told:
        return told == printed
    pattern = "\n".join(r"(?:.*\n?)*?" if line == "..." else re.escape(line) for line in told)
    pattern = pattern.replace("(?:.*\\n?)*?\n", "(?:.*\\n)*?").replace("\n(?:.*\\n?)*?", "(?:\\n.*)*?")
    return re.fullmatch(pattern, "\n".join(printed)) is not None


def kept(told: list[str], printed: list[str]) -> list[str]:
    """What is printed, cut where `...` stood: as many lines before the first and after the last of them."""
    if "..." not in told:
        return printed
    head = told.index("...")
    tail = len(told) - 1 - (len(told) - 1 - told[::-1].index("..."))
    return [*printed[:head], "...", *(printed[-tail:] if tail else [])]


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_is_true(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    script, expected = [], []
    for block in steps(text):
        if block.re is FILE:
            path = tmp_path / block["path"]
            script.append(f"mkdir -p {path.parent} && cat > {path} <<'\x03'\n{block['text']}\x03\n")
            continue
        for command, told in commands(block["text"]):
            script.append(f"{command}\nprintf '%b%d%b' '\\x02' $? '\\x02'\n")
            expected.append((command, told))
    answers = run("".join(script), tmp_path)
    assert len(answers) == len(expected) > 2, answers[-1:]
    if os.environ.get("SIZEWELL_REFRESH"):
        told_again = iter([kept(told, printed) for (_, told), (_, printed) in zip(expected, answers, strict=True)])
        page.write_text(CONSOLE.sub(lambda block: _refreshed(block, told_again), text), encoding="utf-8")
        return
    for (command, told), (code, printed) in zip(expected, answers, strict=True):
        assert code == 0, f"$ {command}\nexits with {code}:\n" + "\n".join(printed)
        assert matches(told, printed), f"$ {command}\n" + "\n".join(
            difflib.unified_diff(told, printed, "as the tutorial says", "as it is printed", lineterm="")
        )


def _refreshed(block, told_again):
    lines = [
        line
        for command, _ in commands(block["text"])
        for line in ("$ " + command.replace("\n", "\n> "), *next(told_again))
    ]
    return "```console\n" + "".join(f"{line}\n" for line in lines) + "```"


def test_a_wrong_line_is_noticed():
    assert matches(["a", "...", "c"], ["a", "b", "b", "c"])
    assert matches(["a", "..."], ["a"])
    assert matches(["...", "c"], ["b", "c"])
    assert not matches(["a", "...", "c"], ["a", "b"])
    assert not matches(["a", "b"], ["a", "c"])
    assert not matches(["a"], ["a", "b"])
