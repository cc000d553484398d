"""What an older project has to change for this version: each of its own files is read as this version reads it."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sizewell.cli import project
from sizewell.sizing.errors import SizewellError


@dataclass(frozen=True, slots=True)
class Change:
    """One file and what to do with it; `must` says that commands refuse it as it is."""

    file: str
    what: str
    fix: str
    must: bool = True


def changes(root: Path) -> Iterator[Change]:
    """Every change that this version asks of a project's files; `doctor` itself reports decisions."""
    for path, read in _readers(root):
        if change := _read(path, read, root):
            yield change
    for stack in sorted(path.name for path in (root / "stacks/config").glob("Pulumi.*.yaml")):
        yield from _keys(root, stack.removeprefix("Pulumi.").removesuffix(".yaml"))
    yield from _pack(root)
    yield from _program(root)


def _readers(root: Path) -> Iterator[tuple[Path, Callable[[Path], object]]]:
    from sizewell.policy.config import read_config
    from sizewell.preview.guardrails import read_limits
    from sizewell.sizing.catalog.rates import read_discounts
    from sizewell.sizing.workload.read import read_spec
    from sizewell.teardown.config import read_config as read_teardown

    for path in sorted((root / "stacks/specs").glob("*/*.yaml")):
        yield path, read_spec
    yield root / "policy/config.yaml", read_config
    yield root / "stacks/config/guardrails.yaml", read_limits
    yield root / "stacks/config/teardown.yaml", lambda _: read_teardown(root)
    yield root / "catalog/rates.yaml", read_discounts
    yield root / "usage.yaml", _usage


def _usage(path: Path) -> object:
    from sizewell.resources.usage import read_usage

    return read_usage(path)


def _read(path: Path, read: Callable[[Path], object], root: Path) -> Change | None:
    if not path.exists():
        return None
    name = str(path.relative_to(root))
    try:
        read(path)
    except SizewellError as error:
        faults = getattr(error, "faults", ())
        if not faults:
            sentence, _, fix = str(error).partition("\n  fix: ")
            return Change(name, sentence.partition("\n")[0], fix or "correct the file")
        first = str(faults[0]).partition("\n")[0].removeprefix(f"{path}:").strip()
        more = f", and {len(faults) - 1} more" if len(faults) > 1 else ""
        return Change(name, first + more, faults[0].fix or f"allowed: {faults[0].allowed or 'see `sizewell docs`'}")
    return None


def _keys(root: Path, stack: str) -> Iterator[Change]:
    """Keys of the configuration that this version does not read."""
    from sizewell.components.configured import KEYS

    for key in sorted(project.config(root, stack) or {}):
        space, _, name = str(key).partition(":")
        if space == "sizewell" and name not in KEYS:
            near = difflib.get_close_matches(name, KEYS, n=1)
            fix = f"rename it to sizewell:{near[0]}" if near else f"pulumi config rm {key} -s {stack}"
            yield Change(f"stacks/config/Pulumi.{stack}.yaml", f"{key} is an unknown key", fix)


def _pack(root: Path) -> Iterator[Change]:
    """A policy pack that another version wrote."""
    from sizewell.policy.pack import FILES

    if not (root / "policy/PulumiPolicy.yaml").exists():
        return
    if not (root / "policy/config.yaml").exists():
        what = "is missing: the policies judge by Sizewell's defaults, without your levels and waivers"
        yield Change("policy/config.yaml", what, "restore it from git, or run: sizewell init", must=False)
    for name, text in FILES.items():
        try:
            stands = (root / "policy" / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            stands = ""
        if stands != text:
            what = "is missing" if not stands else "was written by another version, or changed"
            yield Change(f"policy/{name}", what, "run: sizewell policy --pack policy (config.yaml stays)", must=False)


def _program(root: Path) -> Iterator[Change]:
    """A program of stacks that does not call this version's; a project without decisions has a program of its own."""
    path = root / "stacks/__main__.py"
    if not (root / "stacks/decisions").is_dir() or not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if "stacks.run(" not in text:
        yield Change(
            "stacks/__main__.py", "does not call stacks.run()", "write: from sizewell import stacks; stacks.run()"
        )
