"""Write every generated file, or with --check say which of them are out of date.

Generated are JSON Schemas, tables in docs/reference, the accuracy report, and output blocks in Markdown files: those
stand between `<!-- output: COMMAND -->` and `<!-- /output -->` and hold what COMMAND prints in the repository's root.
Run by `make generate`; `make check` runs it with --check.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?P<open><!-- output: (?P<command>.+?) -->\n)(?P<body>.*?)(?P<close><!-- /output -->)", re.DOTALL)
Files = dict[str, str]


def _published(name: str, document: dict[str, Any]) -> Files:
    """A schema, which stands once: in the package. The documentation links there, and its site shows it as its own."""
    return {f"src/sizewell/schemas/{name}.schema.json": json.dumps(document, indent=2, ensure_ascii=False) + "\n"}


def spec_schema() -> Files:
    from sizewell.sizing.workload.docs import reference
    from sizewell.sizing.workload.read import spec_schema

    document = spec_schema()
    return {**_published("spec", document), "docs/reference/spec.md": reference(document)}


def decision_schema() -> Files:
    from sizewell.sizing.records.decision import Decision

    return _published("decision", Decision.model_json_schema(by_alias=True))


def preview_schema() -> Files:
    from sizewell.preview.render.json import preview_schema

    return _published("preview", preview_schema())


def stock_schema() -> Files:
    from sizewell.cli.stock import schema

    return _published("stock", schema())


def evidence_files() -> Files:
    from sizewell.evidence.page import page
    from sizewell.evidence.record import read, schema
    from sizewell.sizing.catalog import load

    paths = sorted((ROOT / "evidence").glob("*.json"))
    records = [read(path.read_text(encoding="utf-8"), str(path), load()) for path in paths]
    return {**_published("evidence", schema()), "docs/reference/evidence.md": page(records)}


def timeline_schema() -> Files:
    from sizewell.teardown.timeline import Timeline

    return _published("timeline", Timeline.model_json_schema(by_alias=True))


def teardown_schema() -> Files:
    from sizewell.teardown.config import TeardownConfig

    return _published("teardown", TeardownConfig.model_json_schema(by_alias=True))


def accuracy() -> Files:
    from sizewell.accuracy.page import accuracy_report

    return accuracy_report()


def policy_schema() -> Files:
    from sizewell.policy.config import schema

    return _published("policy", schema())


def component_reference() -> Files:
    from component_reference import reference

    return reference()


def decisions_page() -> Files:
    from decisions_page import page

    return {"docs/reference/decisions.md": page()}


def command_line_page() -> Files:
    from command_line_page import page

    return {"docs/reference/command-line.md": page()}


def counted_page() -> Files:
    from counted_page import page

    return {"docs/reference/counted.md": page()}


def price_coverage_page() -> Files:
    from price_coverage_page import page

    return {"docs/reference/price-coverage.md": page()}


def needs_page() -> Files:
    from needs_page import page

    return {"docs/reference/needs.md": page()}


def judged_page() -> Files:
    from judged_page import page

    return {"docs/reference/judged.md": page()}


def example_repositories() -> Files:
    from example_repositories import pages

    return pages()


def markdown_outputs() -> Files:
    """What the commands in Markdown print, put back where it stands."""
    files: Files = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        if BLOCK.search(text):
            files[str(path.relative_to(ROOT))] = BLOCK.sub(_filled, text)
    return files


def _filled(block: re.Match[str]) -> str:
    command = block["command"]
    environment = {
        **os.environ,
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode not in {0, 1, 2, 3, 5}:
        sys.exit(f"`{command}` exits with {done.returncode}:\n{done.stderr}")
    body = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    return f"{block['open']}```text\n{body}\n```\n{block['close']}"


GENERATORS: tuple[Callable[[], Files], ...] = (
    spec_schema,
    decision_schema,
    preview_schema,
    stock_schema,
    evidence_files,
    timeline_schema,
    teardown_schema,
    policy_schema,
    accuracy,
    component_reference,
    decisions_page,
    command_line_page,
    judged_page,
    counted_page,
    needs_page,
    price_coverage_page,
    example_repositories,
    markdown_outputs,
)


def _differences(files: Files) -> Iterator[str]:
    for name, wanted in files.items():
        path = ROOT / name
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if found != wanted:
            yield from difflib.unified_diff(
                found.splitlines(),
                wanted.splitlines(),
                f"{name} (as it stands)",
                f"{name} (generated)",
                lineterm="",
                n=1,
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; fail when a file is out of date")
    check = parser.parse_args().check
    stale = False
    for generator in GENERATORS:
        files = generator()
        if check:
            lines = list(_differences(files))
            if lines:
                stale = True
                print("\n".join(lines[:40]))
            continue
        for name, content in files.items():
            path = ROOT / name
            if not path.exists() or path.read_text(encoding="utf-8") != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
                print(f"wrote {name}")
    if stale:
        print("generated files are out of date; run: make generate")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
