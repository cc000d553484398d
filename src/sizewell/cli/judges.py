"""Who judges a change: the policies and the environments of the revision that it is made against."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewell.cli import judging
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.records.stackname import ENVIRONMENT_KEY

if TYPE_CHECKING:
    from sizewell.policy.config import Config
    from sizewell.preview.base_prices import BasePrices


def policies_at(root: Path, ref: str, path: Path | None, now: Config) -> tuple[Config, list[str]]:
    """The policy configuration of a revision, and what the one of now says otherwise."""
    from sizewell.policy.config import DEFAULT_FILE
    from sizewell.preview.base import file_at

    name = inside(root, path or root / judging.DEFAULT_CONFIG)
    text = file_at(root, ref, name) if name else None
    if not name or text == text_of(root / name):
        return now, []
    before = judging.config(DEFAULT_FILE, root) if text is None else judging.config_text(text, f"{name} at {ref}")
    return before, [f"{name}: {line}" for line in judging.differences(before, now)]


def said_of(root: Path, path: Path | None, now: Config, stacks: Iterable[str]) -> tuple[str, ...]:
    """What a change says otherwise of how it is judged, against the branch that it would be merged into."""
    from sizewell.preview.base import changed_files, merged_into

    branch, ref = merged_into(root)
    name = inside(root, path or root / judging.DEFAULT_CONFIG)
    places = [from_top(root, each) for each in (name, "Pulumi*.yaml", "stacks/config") if each]
    if not ref or not changed_files(root, ref, *places):
        return ()
    try:
        lines = [*policies_at(root, ref, path, now)[1], *environments_at(root, ref, stacks)[1]]
    except SizewellError:
        return (f"{name}: the version of {branch} cannot be read: this change corrects it",)
    return tuple(f"{line} (a preview with --base goes by {branch}'s)" for line in lines)


def environments_at(root: Path, ref: str, stacks: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """What the base says that a stack is (dev, prod), where a change says otherwise: it decides which rules judge."""
    from sizewell.preview.base import file_at

    def at_base(name: str) -> str | None:
        return file_at(root, ref, name)

    environments: dict[str, str] = {}
    rows: list[str] = []
    for stack in stacks:
        (was, known), (now, _) = _environment(at_base, stack), _environment(lambda name: text_of(root / name), stack)
        if known and was != now:
            environments[stack] = was
            rows.append(f"stack {stack}: {ENVIRONMENT_KEY}: {was or 'not set'} -> {now or 'not set'}")
    return environments, rows


def _environment(read: Callable[[str], str | None], stack: str) -> tuple[str, bool]:
    """(what the configuration of a stack, or of its project, says that it is; whether the stack has one)."""
    project = _mapping(read("Pulumi.yaml"))
    declared = project.get("config")
    folder = project.get("stackConfigDir") or (declared if isinstance(declared, str) else ".")
    text = read(f"{folder}/Pulumi.{stack}.yaml")
    for settings in (_mapping(text).get("config"), declared):
        value = settings.get(ENVIRONMENT_KEY) if isinstance(settings, dict) else None
        value = value.get("value", value.get("default")) if isinstance(value, dict) else value
        if value is not None:
            return str(value), True
    return "", text is not None


def _mapping(text: str | None) -> dict[str, Any]:
    from sizewell.sizing.places import parse_yaml

    try:
        data = parse_yaml(text or "", "").data
    except SizewellError:
        return {}  # the evaluation says what is wrong with it
    return data if isinstance(data, dict) else {}


def inside(root: Path, path: Path) -> str:
    """The path as the project's repository has it; "" where it lies outside, where no revision can have it.

    A link stays what it is: whoever asks for the change says where it leads.
    """
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - as `absolute`, without following links
    for start in (top.absolute(), top.resolve()):
        if whole.is_relative_to(start):
            return Path(os.path.relpath(start.resolve() / whole.relative_to(start), root.resolve())).as_posix()
    return ""


def text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None


def from_top(root: Path, name: str) -> str:
    """A path of the project as a path of its repository."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    return Path(os.path.relpath((root / name).resolve(), top.resolve())).as_posix()


def base_prices(
    root: Path, ref: str | None, *, usage: Path | None, discounts: Path | None, unblock: str = ""
) -> tuple[BasePrices | None, list[str]]:
    """The prices before the change where it changes them, and the note on that.

    The figures are at the prices of the change; limits and policies hold at those before it too, until it is accepted.
    """
    from sizewell.preview.base import changed_files
    from sizewell.preview.base_prices import prices_at
    from sizewell.sizing.catalog import overlay

    if not ref:
        return None, []
    places = {"folder": overlay.current() or root / overlay.FOLDER, "usage": usage, "discounts": discounts}
    names = {kind: inside(root, path) if path is not None else "" for kind, path in places.items()}
    changed = changed_files(root, ref, *(from_top(root, name) for name in names.values() if name))
    if not changed:
        return None, []
    label = ref[:40]
    if unblock:
        return None, [f"{name}: changes prices (let pass: {unblock})" for name in changed]
    try:
        made = prices_at(root, ref, label=label, **names)
    except SizewellError as error:
        why = str(error).splitlines()[0]
        return None, [f"{name}: changes prices; those of {label} cannot be read: {why}" for name in changed]
    later = f"limits and policies also hold at the prices of {label} until this change is approved or merged"
    return made, [f"{name}: changes prices ({later})" for name in changed]
