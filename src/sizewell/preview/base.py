"""The base of a comparison: another git revision in a temporary worktree, which is gone afterwards whatever happens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import posixpath
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

import yaml

from sizewell import logs
from sizewell.sizing.errors import ServiceError, UsageError

_PREFIX: Final = "sizewell-base-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A checked-out revision: where the project lies in it, and what a reader calls it."""

    root: Path
    label: str  # "main@1a2b3c4"


def _git(directory: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    for key in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set inside hooks; they would win over `directory`
        environment.pop(key, None)
    logs.log(__name__, "git %s", " ".join(arguments))
    try:
        return subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", *arguments],
            cwd=directory,
            env=environment,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # a folder or a picture where a text should be is found to be none, by its first line
            check=False,
        )
    except FileNotFoundError:
        raise ServiceError(
            "git is not on PATH\n  fix: install git; without it `sizewell preview STACK --base-state FILE` compares"
        ) from None


@contextlib.contextmanager
def worktree(project: Path, ref: str) -> Iterator[Worktree]:
    """Check `ref` out beside the repository of `project` and remove it again, also on an exception or SIGTERM.

    UsageError where `project` is in no repository or has no such revision, with the way out.
    """
    top = _git(project, "rev-parse", "--show-toplevel")
    if top.returncode != 0:
        branch = ref if re.fullmatch(r"[a-z][a-z0-9]*", ref) else "main"
        raise UsageError(
            f"--base {ref}: {project} is not in a git repository\n"
            f"  fix: git init -b {branch} && git add -A && git commit -m 'Begin', to compare later changes with; "
            "or leave --base out for the whole cost"
        )
    repository = Path(top.stdout.strip())
    sha = must_be_a_revision(project, ref, "--base")
    _remove_abandoned(repository)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        place = Path(folder).resolve() / "tree"
        with _stopped_by_sigterm(), _held(place.parent):
            try:
                added = _git(repository, "worktree", "add", "--detach", "--force", str(place), sha)
                if added.returncode != 0:
                    raise ServiceError(f"--base {ref}: git cannot check it out: {_last_line(added.stderr)}")
                relative = str(project.resolve().relative_to(repository.resolve()))
                label = f"{ref}@{sha[:7]}" if not sha.startswith(ref) else ref[:7]
                moved = moved_from(project, sha)
                yield Worktree(
                    root=place / (relative if moved is None else moved),
                    label=label if moved is None else f"{label}, there in {moved or 'the top folder'}",
                )
            finally:
                _git(repository, "worktree", "remove", "--force", "--force", str(place))


def must_be_a_revision(project: Path, ref: str, option: str) -> str:
    """The commit of a revision; UsageError where there is none, or no repository: nothing may pass for its absence."""
    known = _git(project, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if known.returncode != 0:
        head = _git(project, "rev-parse", "--verify", "--quiet", "HEAD").stdout.strip()
        refs = ("for-each-ref", "--format=%(objectname) %(refname:short)", "--sort=-committerdate")
        listed = [line.split() for line in _git(project, *refs, "refs/heads", "refs/remotes").stdout.splitlines()]
        changed = bool(_git(project, "status", "--porcelain").stdout.strip())
        # What is checked out is no base of itself, as long as nothing in the folder differs from it.
        others = [name for sha, name in listed if sha != head or changed][:5]
        if _git(project, "rev-parse", "--show-toplevel").returncode == 0 and not (head or listed):
            way = "commit first: git add -A && git commit -m 'Begin'"
        else:
            here = f"name one that is here: {', '.join(others)}" if others else ""
            named = re.fullmatch(r"\w[\w./-]*", ref) is not None
            remotes = _git(project, "remote").stdout.split() if named else []
            in_ci = "(in CI: a checkout with fetch-depth: 0)"
            if remotes and (ref.partition("/")[0] in remotes or not here):
                way = f"{_fetch(ref, remotes)} brings it {in_ci}" + (f"; or {here}" if here else "")
            else:
                here = here or "name a commit that `git log` shows"
                fetch = f", where the remote has it: {_fetch(ref, remotes)}" if remotes else " first"
                way = f"{here}; or fetch it{fetch} {in_ci}"
        raise UsageError(f"{option} {ref}: no such revision in this repository\n  fix: {way}")
    return known.stdout.strip()


def _fetch(ref: str, remotes: Sequence[str]) -> str:
    """The command that brings a revision into a clone, also into one of a single branch.

    >>> _fetch("origin/main", ["origin"]), _fetch("main", ["origin"]), _fetch("0a1b2c3d", ["origin"])
    ('git fetch origin main:refs/remotes/origin/main', 'git fetch origin main:main', 'git fetch origin 0a1b2c3d')
    """
    remote, _, branch = ref.partition("/")
    if remote in remotes and branch:
        return f"git fetch {remote} {branch}:refs/remotes/{remote}/{branch}"
    return f"git fetch {remotes[0]} {ref}" + ("" if re.fullmatch(r"[0-9a-f]{7,40}", ref) else f":{ref}")


def moved_from(project: Path, ref: str) -> str | None:
    """The folder in which a project stood at a revision, from the repository's top; None where it stood where it is.

    A project that has moved is the one of the same name whose folder is gone: else a change that moves it would be
    compared with nothing, and judged by no limit of the base.
    """
    prefix = _git(project, "rev-parse", "--show-prefix").stdout.strip()
    listed = _git(project, "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref).stdout.split("\0")
    files = [name for name in listed if posixpath.basename(name) in _PROJECT_FILES]
    if not files or any(posixpath.dirname(name) == prefix.rstrip("/") for name in files):
        return None
    own = next((path for name in _PROJECT_FILES if (path := project / name).is_file()), None)
    name = _name_in(own.read_text(encoding="utf-8", errors="replace")) if own is not None else ""
    top = Path(_git(project, "rev-parse", "--show-toplevel").stdout.strip())
    gone = [
        posixpath.dirname(each)
        for each in files
        if not (top / each).exists() and _name_in(_git(project, "show", f"{ref}:{each}").stdout) == name
    ]
    return gone[0] if name and len(gone) == 1 else None


_PROJECT_FILES: Final = ("Pulumi.yaml", "Pulumi.yml")


def _name_in(text: str) -> str:
    """The project's name in the text of its Pulumi.yaml; "" where it cannot be read."""
    try:
        stated = yaml.safe_load(text)
    except yaml.YAMLError:
        return ""
    return str(stated.get("name") or "") if isinstance(stated, Mapping) else ""


def _there(project: Path, ref: str, path: str) -> str:
    """A path of the project as the repository has it at a revision."""
    moved = moved_from(project, ref)
    prefix = _git(project, "rev-parse", "--show-prefix").stdout.strip() if moved is None else moved
    return posixpath.normpath(posixpath.join(prefix, path))


def merged_into(project: Path) -> tuple[str, str]:
    """The branch that a change here would be merged into, and the commit that it began at; "" where none is known.

    It is what CI names, else the remote's default branch, else a local `main` or `master`.
    """
    stated = (
        os.environ.get("GITHUB_BASE_REF")
        or os.environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")
        or os.environ.get("SYSTEM_PULLREQUEST_TARGETBRANCH", "").removeprefix("refs/heads/")
        or os.environ.get("BITBUCKET_PR_DESTINATION_BRANCH", "")
    )
    named = [f"origin/{stated}", stated] if stated else ["origin/HEAD", "main", "master"]
    for branch in named:
        begun = _git(project, "merge-base", "--end-of-options", "HEAD", branch) if shutil.which("git") else None
        if begun is not None and begun.returncode == 0:
            return branch.removeprefix("origin/"), begun.stdout.strip()
    return "", ""


def file_at(project: Path, ref: str, path: str) -> str | None:
    """The text of a file of the project at a revision; None where it had none, or where there is no such revision.

    Links are followed within that revision: what they lead to now says nothing of what it was.
    """
    full = _there(project, ref, path)
    shown = _git(project, "cat-file", "--batch", "--follow-symlinks", stdin=f"{ref}:{full}\n").stdout
    head, _, text = shown.partition("\n")
    return text.removesuffix("\n") if head.split(" ")[1:2] == ["blob"] else None


def write_files_at(project: Path, ref: str, path: str, into: Path) -> None:
    """Write a file of the project at a revision, or a folder's tables and YAML files, into a folder; nothing if absent.

    It keeps its last name: `catalog` becomes `into/catalog`.
    """
    inside = Path(path).name
    text = file_at(project, ref, path)
    found = {inside: text} if text is not None else {}
    if text is None:
        full = _there(project, ref, path)
        listed = _git(project, "ls-tree", "-r", "-z", "--name-only", "--full-tree", ref, "--", f"{full}/").stdout
        for name in listed.split("\0"):
            if not name.endswith((".csv", ".yaml")):
                continue  # such as the catalog's compact form, which is made from its tables
            within = posixpath.relpath(name, full)
            text = file_at(project, ref, posixpath.join(path, within))
            if text is not None:
                found[f"{inside}/{within}"] = text
    for name, content in found.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(content, encoding="utf-8")


def changed_files(project: Path, ref: str, *paths: str) -> tuple[str, ...]:
    """Files under `paths` of the repository (from its top) that differ from a revision, its own new ones included."""
    top = _git(project, "rev-parse", "--show-toplevel").stdout.strip()
    if not top:
        return ()
    differing = _git(Path(top), "diff", "--name-only", "--end-of-options", ref, "--", *paths).stdout.splitlines()
    new = _git(Path(top), "ls-files", "--others", "--exclude-standard", "--", *paths).stdout.splitlines()
    return tuple(sorted({*differing, *new}))


def _remove_abandoned(repository: Path) -> None:
    """Worktrees of runs that were killed outright: nobody holds their lock any more."""
    listed = _git(repository, "worktree", "list", "--porcelain").stdout
    for line in listed.splitlines():
        path = Path(line.removeprefix("worktree "))
        if not line.startswith("worktree ") or not path.parent.name.startswith(_PREFIX):
            continue
        with contextlib.suppress(BlockingIOError), _held(path.parent):
            _git(repository, "worktree", "remove", "--force", "--force", str(path))
            shutil.rmtree(path.parent, ignore_errors=True)
    _git(repository, "worktree", "prune")


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a worktree's folder; BlockingIOError where another run works in it, or removes it.

    The system lets go of it when the process and what it started have ended, however they ended. A process id says
    less: it may be another process's by now.
    """
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:  # the folder is gone, what git still knows of it is pruned
        yield
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Turn SIGTERM into an exception meanwhile, so that clean-up runs; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    earlier = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"
