"""Where the files of a forge stand: at the root of the repository, which alone GitHub and GitLab read."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

OWNERS: Final = {"github": (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"),
                 "gitlab": ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")}  # fmt: skip
"""Where each forge looks for the file; it reads the first of them that exists."""
_OWN: Final = {"github": ".github/CODEOWNERS", "gitlab": ".gitlab/CODEOWNERS"}
_PIPELINE: Final = ".gitlab-ci.yml"


@dataclass(frozen=True, slots=True)
class Within:
    """The way from a project's folder to the root of its repository, and back; "" where it is the root itself.

    >>> Within("../../", "services/gpu").suffix, Within().suffix
    ('-services-gpu', '')
    """

    up: str = ""
    path: str = ""

    @property
    def suffix(self) -> str:
        """What tells the names of this project's files, jobs and branches from those of others in the repository.

        A branch, a shell and YAML each refuse some characters of a folder's name, so those are left out; a checksum
        then keeps two folders apart that differ in them alone.

        >>> Within("../", "AI Shop").suffix, Within("../", "v1.lock").suffix
        ('-AI-Shop-9775', '-v1-lock-e7c3')
        """
        plain = self.path.replace("/", "-")
        name = re.sub(r"[^\w.-]+|\.{2,}|\.(?=lock$|$)", "-", plain).strip("-") if self.path else ""
        if name == plain:
            return f"-{name}" if name else ""
        return "".join(f"-{part}" for part in (name, hashlib.sha256(self.path.encode()).hexdigest()[:4]) if part)

    @property
    def typed(self) -> str:
        """The path for a shell, also one that begins with a hyphen, which is no option."""
        return shlex.quote(f"./{self.path}" if self.path.startswith("-") else self.path)

    @property
    def filtered(self) -> str:
        """The path for the filter of a GitHub workflow, in which some characters stand for others."""
        return re.sub(r"([*?+!\[\]\\])", r"\\\1", self.path)

    @property
    def owned(self) -> str:
        r"""The path for CODEOWNERS, where a blank would end it; what the forges read differently is any one character.

        >>> print(Within("../", "KI Dienste #1").owned)
        KI\ Dienste\ ?1
        """
        return re.sub(r"[\[\]!#*?\\]", "?", self.path).replace(" ", "\\ ")


def within(folder: Path) -> Within:
    """Where a folder lies in the repository around it; a home folder that is one is no repository of projects."""
    start = folder.resolve()
    for above in (start, *start.parents):
        if (above / ".git").exists():
            path = "" if above in (start, Path.home()) else start.relative_to(above).as_posix()
            return Within("../" * len(Path(path).parts), path) if path else Within()
    return Within()


def files_of(forge: str, folder: Path) -> dict[str, str]:
    """The files of a forge by their paths from the project's folder, each with its template."""
    place = within(folder)
    if forge == "github":
        name = f"{place.suffix[1:]}-" if place.path else ""
        workflows = {
            f"{place.up}.github/workflows/{name}preview.yml": "github.yml",
            f"{place.up}.github/workflows/{name}versions.yml": "github-versions.yml",
        }
        return {**workflows, owners(forge, folder): "CODEOWNERS"}
    if forge == "gitlab":
        return {pipeline(folder): "gitlab.yml", owners(forge, folder): "CODEOWNERS"}
    return {}


def owners(forge: str, folder: Path) -> str:
    """CODEOWNERS of the repository: the file that the forge reads, else the one that is written."""
    up = within(folder).up
    known = (f"{up}{path}" for path in OWNERS[forge])
    return next((path for path in known if (folder / path).is_file()), f"{up}{_OWN[forge]}")


def pipeline(folder: Path) -> str:
    """The file of the jobs: the pipeline itself, or one that a pipeline of others includes."""
    place = within(folder)
    root = folder / f"{place.up}{_PIPELINE}"
    if place.path or (root.is_file() and "cost-preview" not in root.read_text(encoding="utf-8", errors="replace")):
        return f"{place.up}.gitlab/sizewell{place.suffix}.gitlab-ci.yml"
    return _PIPELINE


def unread(folder: Path) -> dict[str, list[str]]:
    """Files of Sizewell for a forge in a folder of a repository, where it reads none; by the forge."""
    if not within(folder).path:
        return {}
    github = [*sorted(folder.glob(".github/workflows/*.y*ml")), folder / ".github/CODEOWNERS"]
    gitlab = [folder / _PIPELINE, folder / ".gitlab/CODEOWNERS"]
    there = {
        forge: [path.relative_to(folder).as_posix() for path in paths if path.is_file() and "sizewell" in _text(path)]
        for forge, paths in (("github", github), ("gitlab", gitlab))
    }
    return {forge: paths for forge, paths in there.items() if paths}


def lacking(folder: Path, texts: Mapping[str, str], forge: str) -> Iterator[str]:
    """What files that were there before do not have and the project needs, each with the lines to add.

    `texts` are all files as a project of its own would have them.
    """
    pins = folder / "requirements.txt"
    requirement = texts["requirements.txt"].splitlines()[-1]
    if pins.is_file() and not any(line.startswith("sizewell") for line in _text(pins).splitlines()):
        yield f"requirements.txt does not name sizewell, so .venv has none\n  fix: add the line: {requirement}"
    for path, template in files_of(forge, folder).items():
        there = folder / path
        if not there.is_file():
            continue
        shown = os.path.relpath(there)
        if template == "CODEOWNERS":
            wanted = [line for line in texts[path].splitlines() if line.startswith("/")]
            owned = {_pattern(line) for line in _text(there).splitlines()}
            missing = [line for line in wanted if _pattern(line) not in owned]
            if missing:
                lines = "".join(f"\n    {line}" for line in missing)
                yield f"{shown} names nobody for what costs money\n  fix: add the lines:{lines}"
        elif "sizewell" not in _text(there):
            yield f"{shown} is another workflow: pull requests have no preview\n  fix: rename it; then run this again"
    root, jobs = folder / f"{within(folder).up}{_PIPELINE}", pipeline(folder)
    if forge == "gitlab" and jobs != _PIPELINE:
        local = jobs.removeprefix(within(folder).up)
        if local not in (_text(root) if root.is_file() else ""):
            yield f"{os.path.relpath(root)} does not include {local}\n  fix: add to it: include: [{{local: {local}}}]"


def _pattern(line: str) -> str:
    """The path of a line of CODEOWNERS, in which a blank has a backslash before it."""
    found = re.match(r"\s*((?:\\.|\S)+)", line)
    return found[1] if found else ""


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
