"""Build the documentation site into build/site, and fail on a link that leads nowhere.

The pages are those of docs/, which read well on a forge too. There a link may lead to a source file or an example
outside of docs/; the site shows such a file as a page of its own under source/, so that it needs no forge beside it.
Run by `make docs`, and by `make check`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from sizewell.policy.reference import rule_page, sections
from sizewell.policy.rules import RULES as POLICIES

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ROOT / "build" / "pages"
SCHEMAS = ROOT / "src" / "sizewell" / "schemas"
SITE = ROOT / "build" / "site"
LINK = re.compile(r"(?<=\]\()(?P<target>\.\.?/[^)#\s]*)(?P<anchor>#[^)\s]*)?(?=\))")
RULES = re.compile(r"^<!-- rules: .* -->$", re.MULTILINE)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def main() -> int:
    absent = sorted({str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - set(_listed()))
    if absent:
        print("\n".join(f"mkdocs.yml: nav does not list {name}" for name in absent))
        return 1
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES)
    for page in sorted(PAGES.rglob("*.md")):
        folder = DOCS / page.relative_to(PAGES).parent
        text = page.read_text(encoding="utf-8")
        page.write_text(LINK.sub(partial(_within, folder=folder, page=page), text), encoding="utf-8")
    rules = PAGES / "reference" / "policies.md"
    rules.write_text(RULES.sub(lambda _: sections(), rules.read_text(encoding="utf-8")), encoding="utf-8")
    _write_rules(PAGES / "reference" / "policies")
    done = subprocess.run(
        [
            Path(sys.executable).parent / "zensical",
            "build",
            "--clean",
            "--strict",
            "--config-file",
            ROOT / "mkdocs.yml",
        ],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr))
        return 1
    print(f"built {len(list(SITE.rglob('index.html')))} pages: {(SITE / 'index.html').relative_to(ROOT)}")
    return 0


def _write_rules(folder: Path) -> None:
    """A page for each rule, with the first of its cases: it violates and is mended, as the tests judge it."""
    cases: dict[str, dict[str, Any]] = {}
    for path in sorted((ROOT / "tests/policy/cases").glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            cases.setdefault(case["rule"], case)
    folder.mkdir(exist_ok=True)
    for rule in POLICIES:
        (folder / f"{rule.id}.md").write_text(rule_page(rule, cases[rule.id]), encoding="utf-8")


def _listed() -> Iterator[str]:
    """The pages that the navigation lists."""
    pending = [yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            yield entry
        else:
            pending.extend(entry.values() if isinstance(entry, dict) else entry)


def _within(link: re.Match[str], folder: Path, page: Path) -> str:
    """The link as the site needs it: what lies outside of docs/ gets a page under source/."""
    target = (folder / link["target"]).resolve()
    if target.is_relative_to(DOCS):
        return link[0]
    name = target.relative_to(ROOT)
    if target.parent == SCHEMAS:  # as a file, which editors can take from the site
        shown = PAGES / "reference" / target.name
        shutil.copy(target, shown)
        return os.path.relpath(shown, page.parent)
    parts = [part.lstrip(".") for part in name.parts]  # a hidden folder has no page
    shown = PAGES.joinpath("source", *parts[:-1], f"{parts[-1]}.md")
    shown.parent.mkdir(parents=True, exist_ok=True)
    shown.write_text(_listing(target) if target.is_dir() else _source(target), encoding="utf-8")
    return os.path.relpath(shown, page.parent)


def _listing(folder: Path) -> str:
    names = sorted(entry.name + "/" * entry.is_dir() for entry in folder.iterdir() if not entry.name.startswith("__"))
    return f"# {folder.relative_to(ROOT)}/\n\n" + "".join(f"- `{name}`\n" for name in names)


def _source(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    title = f"# {file.relative_to(ROOT)}\n\n"
    if file.suffix == ".md":
        return title + re.sub(r"\]\((?!https?:)[^)]*\)", "]", text)  # its own links are relative to where it stands
    return f"{title}~~~~{LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n~~~~\n"


if __name__ == "__main__":
    sys.exit(main())
