"""The comments and pages recorded in examples/repositories: what the change recorded beside them is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples/repositories"
ON = "2026-11-22"
COMMON = ("preview", "prod", "--on", ON, "--new-only", "--policies", "policy/config.yaml")
FORMS = {"comment.md": "markdown", "page.html": "html"}


def pages() -> dict[str, str]:
    """Path -> text. The Python program is compared with its base; of the TypeScript one the engine's plan is read."""
    plan = ("--plan", "recorded/plan.json")
    files = {_path("typescript", name): _told(FOLDER / "typescript", form, *plan) for name, form in FORMS.items()}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "transcripts"
        shutil.copytree(FOLDER / "python", work, ignore=shutil.ignore_patterns("recorded", "__pycache__"))
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "the program")):
            _git(work, *words)
        _git(work, "apply", str(FOLDER / "python/recorded/change.diff"))
        base = ("--base", "HEAD", "--usage", "usage.yaml")
        files |= {_path("python", name): _told(work, form, *base) for name, form in FORMS.items()}
    return files


def _path(example: str, name: str) -> str:
    return f"examples/repositories/{example}/recorded/{name}"


def _told(repository: Path, form: str, *more: str) -> str:
    command = [sys.executable, "-m", "sizewell.cli.main", *COMMON, *more, "--format", form]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 2}:
        sys.exit(f"{' '.join(command)} exits with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _git(repository: Path, *words: str) -> None:
    """Always the same commit, whoever runs this and when."""
    stated = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for who in ("AUTHOR", "COMMITTER"):
        stated |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@example.com", f"GIT_{who}_DATE": f"{ON}T00:00:00Z"}
    subprocess.run(["git", *words], cwd=repository, env={**os.environ, **stated}, check=True)
