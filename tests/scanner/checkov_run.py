"""Run Checkov once over many converted plans and read what it says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from to_arm import arm
from to_kubernetes import manifests
from to_terraform import terraform

from sizewell.resources.recorded import Plan

ROOT = Path(__file__).parents[2]
TOOL = ROOT / ".venv-checkov/bin/checkov"
SKIPS: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "skips.yaml").read_text())


@dataclass(frozen=True, slots=True, order=True)
class Failed:
    """A check that failed: of which plan, by its id, on which resource ("aws_s3_bucket.store")."""

    plan: str
    check: str
    resource: str
    says: str

    def __str__(self) -> str:
        return f"{self.plan}: {self.check} {self.resource}: {self.says}"


@dataclass(frozen=True, slots=True)
class Report:
    """What Checkov said: what failed, how many checks passed, and which types some check looked at."""

    failed: tuple[Failed, ...]
    passed: int
    judged: frozenset[str]
    unread: tuple[str, ...]


def judge(plans: Mapping[str, Plan], folder: Path) -> Report:
    """Convert the plans below `folder`, one folder for each name, and run Checkov over all of them, offline."""
    for name, plan in plans.items():
        place = folder / name
        place.mkdir(parents=True)
        for file, text in (("main.tf", terraform(plan)), ("main.json", arm(plan)), ("main.yaml", manifests(plan))):
            if text:
                (place / file).write_text(text, encoding="utf-8")
    command = [
        str(TOOL),
        "-d",
        str(folder),
        "--framework",
        "terraform",
        "arm",
        "kubernetes",
        "--skip-download",
        "--compact",
    ]
    done = subprocess.run([*command, "-o", "json"], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1), done.stderr[-2000:]
    found = json.loads(done.stdout)
    return _report(found if isinstance(found, list) else [found])


def _report(parts: Iterable[Mapping[str, Any]]) -> Report:
    failed, passed, judged, unread = [], 0, set(), []
    for part in parts:
        if "results" not in part:  # a framework that found no file
            continue
        results = part["results"]
        unread += results["parsing_errors"]
        passed += len(results["passed_checks"])
        judged |= {one["resource"].rsplit(".", 1)[0] for one in results["passed_checks"] + results["failed_checks"]}
        failed += [
            Failed(one["file_path"].strip("/").split("/")[0], one["check_id"], one["resource"], one["check_name"])
            for one in results["failed_checks"]
        ]
    return Report(tuple(sorted(failed)), passed, frozenset(judged), tuple(unread))


def skip_of(failed: Failed) -> int | None:
    """Position of the documented skip that speaks of a failed check."""
    for position, skip in enumerate(SKIPS):
        if (
            skip["check"] == failed.check
            and _fits(failed.resource, skip["scope"])
            and _fits(failed.plan.partition("--")[2] or failed.plan, skip.get("plans", "*"))
        ):
            return position
    return None


def _fits(name: str, patterns: str | list[str]) -> bool:
    return any(fnmatchcase(name, one) for one in ([patterns] if isinstance(patterns, str) else patterns))
