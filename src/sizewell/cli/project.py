"""Where things lie: the project's root, the specs and decisions of its stacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewell.sizing.errors import ConfigError, Fault, UsageError

if TYPE_CHECKING:
    from sizewell.sizing.places import Places

STACK = re.compile(r"[a-z][a-z0-9-]{0,62}")


def root() -> Path:
    """The nearest folder, from here upwards, with a Pulumi.yaml. Raises UsageError where there is none."""
    folder = nearest()
    if folder is not None:
        return folder
    fix = "change to the folder with Pulumi.yaml, or make a project: sizewell init"
    if (Path.cwd() / "Pulumi.yml").is_file():
        fix = "rename Pulumi.yml to Pulumi.yaml, the name that sizewell reads; the engine takes both"
    raise UsageError(f"{Path.cwd()} is not in a Pulumi project\n  fix: {fix}")


def nearest() -> Path | None:
    """The nearest folder, from here upwards, with a Pulumi.yaml; None where there is none."""
    try:
        start = Path.cwd()
    except OSError:  # it was deleted
        return None
    return next((folder for folder in (start, *start.parents) if (folder / "Pulumi.yaml").is_file()), None)


def must_be_stacks(names: Iterable[str], known: Sequence[str], root: Path | None = None) -> None:
    """Raise UsageError for the first name that is no stack's; `root`: of a project where a decision makes it one."""
    for name in names:
        if name not in known:
            if root is not None and name in undecided(root):
                raise UsageError(
                    f"stack '{name}' has specs and no decision yet\n  fix: decide it: sizewell size --stack {name}"
                )
            close = get_close_matches(name, known, n=1)
            fix = f"did you mean {close[0]}?" if close else f"name one of {', '.join(known)}"
            if not known:
                fix = (
                    f"there are none yet: make it with `pulumi stack init {name}`, or log in to the backend that has it"
                )
            raise UsageError(f"no stack '{name}'\n  fix: {fix}")


def decisions(project: Path) -> list[Path]:
    """Every decision file, by name of the stack."""
    return sorted((project / "stacks/decisions").glob("*.json"))


def decided_or_not(project: Path) -> list[Path]:
    """Where the decision of every stack with a decision or with specs lies, whether it exists or not."""
    with_specs = {path.parent.name for path in (project / "stacks/specs").glob("*/*.yaml")}
    named = {path.stem for path in decisions(project)} | {name for name in with_specs if STACK.fullmatch(name)}
    return [project / "stacks/decisions" / f"{name}.json" for name in sorted(named)]


def undecided(project: Path) -> list[str]:
    """Every stack that has specs and no decision, by name."""
    return [path.stem for path in decided_or_not(project) if not path.is_file()]


def decision_path(project: Path, stack: str) -> Path:
    """Where a stack's decision lies, whether it exists or not. Raises UsageError for a name that is no stack's."""
    if not STACK.fullmatch(stack):
        raise UsageError(f"--stack: must be of a-z, 0-9 and -, such as dev-aws, got {stack!r}")
    from sizewell.sizing.records.stackname import cluster_of

    if cluster_of(stack) != stack:
        raise UsageError(
            f"--stack: {stack} uses the decision of {cluster_of(stack)}\n  fix: use --stack {cluster_of(stack)}"
        )
    return project / "stacks/decisions" / f"{stack}.json"


def spec_paths(project: Path, stack: str) -> list[Path]:
    """The specs of a stack: `stacks/specs/STACK/*.yaml`. Raises UsageError where there are none."""
    folder = project / "stacks/specs" / stack
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        known = sorted({path.parent.name for path in (project / "stacks/specs").glob("*/*.yaml")})
        others = f"; or name a stack that has some: {', '.join(known)}" if known else ""
        decision = project / f"stacks/decisions/{stack}.json"
        if decision.is_file():  # its last spec was removed
            others = f"; or remove {shown(decision)}, and first the stack, where it stands: pulumi destroy -s {stack}"
        raise UsageError(
            f"no specs for stack '{stack}': {folder.relative_to(project)} has no *.yaml files\n"
            f"  fix: write one: sizewell new chat --stack {stack}{others}"
        )
    return paths


def configuration(project: Path, stack: str) -> dict[str, Any]:
    """`sizewell:*` of the stack's configuration file, without what is encrypted there."""
    return _configured(project, stack)[0]


def _configured(project: Path, stack: str) -> tuple[dict[str, Any], Places, str]:
    """The keys of the stack's configuration file, the place of each, and how messages name the file."""
    from sizewell.sizing.places import read_yaml

    path = project / "stacks/config" / f"Pulumi.{stack}.yaml"
    if not path.exists():
        return {}, {}, shown(path)
    document = read_yaml(path, shown(path))
    stated = (document.data if isinstance(document.data, dict) else {}).get("config")
    keys = stated if isinstance(stated, dict) else {}
    return {str(key).removeprefix("sizewell:"): value for key, value in keys.items()}, document.places, shown(path)


def environment(project: Path, stack: str) -> str:
    """What the stack's configuration states as its environment, "" for nothing; ConfigError for any other word."""
    from sizewell.sizing.records.stackname import ENVIRONMENTS, normal_environment

    keys, places, file = _configured(project, stack)
    stated = str(keys.get("environment") or "")
    if stated and normal_environment(stated) not in ENVIRONMENTS:
        fault = Fault(path="sizewell:environment", found=stated, allowed=", ".join(ENVIRONMENTS))
        from sizewell.sizing.places import placed

        faults = placed([fault], places, under="config.", file=file)
        raise ConfigError(faults, subject=f"configuration of {stack}")
    return stated


def shown(path: Path) -> str:
    """A path as a person here would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def typed(path: Path | str) -> str:
    """A path as an argument of a shell, in which blanks and the like are quoted.

    >>> typed("specs/chat.yaml"), typed("my specs/chat.yaml")
    ('specs/chat.yaml', "'my specs/chat.yaml'")
    """
    return shlex.quote(shown(path) if isinstance(path, Path) else path)


def config(project: Path, stack: str) -> dict[str, Any] | None:
    """What `stacks/config/Pulumi.STACK.yaml` says, by key; None where the file is missing or is no such file."""
    import yaml

    try:
        content = yaml.safe_load((project / f"stacks/config/Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return None
    stated = (content or {}).get("config") if isinstance(content, dict | None) else None
    return stated if isinstance(stated, dict) else {}
