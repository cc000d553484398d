"""What an agent may name: files inside the project, texts of specs, and changes that are tried on a copy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sizewell.sizing.errors import SpecError, UsageError

CHANGEABLE: Final = re.compile(
    r"stacks/(?:specs/(?P<stack>[a-z][a-z0-9-]{0,62})/[\w.-]+\.yaml|config/Pulumi\.[a-z][a-z0-9-]{0,62}\.yaml)"
)
COPIED_BYTES_MAX: Final = 64 << 20
_NOT_COPIED: Final = ("node_modules", "__pycache__")
_REFERENCES: Final = ("model", "config", "requests", "file")  # keys of a spec whose text may name a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line, what it reads on standard input, whether it writes one file, and changes that are tried first."""

    words: Sequence[str]
    stdin: str = ""
    writes: bool = False  # into --folder, which is one that is taken away again: its text is the answer
    changes: Mapping[str, str] = field(default_factory=dict)


def inside(root: Path, name: str, what: str) -> Path:
    """A file of the project, by its path from the root. UsageError for one that lies elsewhere, by a link too."""
    base = root.resolve()
    path = (base / name).resolve()
    if not path.is_relative_to(base):
        by = ", by a symbolic link" if ".." not in Path(name).parts and not Path(name).is_absolute() else ""
        raise UsageError(
            f"{what}: {name} is outside of the project {base}{by}\n  fix: name a file inside it, or give its text"
        )
    return path


def spec(root: Path, stated: str, words: Sequence[str]) -> Line:
    """The command line for a spec that is stated as its text, or as a path inside the project."""
    is_text = "\n" in stated.strip() or re.search(r":(?: |$)", stated) is not None
    if is_text:
        _references(root, root, stated, "spec")
        return Line(words=[*words, "-"], stdin=stated)
    path = inside(root, stated, "spec")
    if not path.is_file():
        raise UsageError(
            f"spec: {stated}: no such file\n  fix: name a file of the project, or give the text of a spec as YAML"
        )
    from sizewell.sizing.workload.text import read_text

    _references(root, path.parent, read_text(path), stated)
    return Line(words=[*words, "--", str(path.relative_to(root.resolve()))])


def _references(root: Path, folder: Path, text: str, origin: str) -> None:
    """Refuse a spec that names a file outside of the project; what else is wrong with it, its own reader says."""
    from sizewell.sizing.workload.text import load_mapping

    try:
        data = load_mapping(text, origin)
    except SpecError:
        return
    for path, value in _texts(data):
        if path.rpartition(".")[2] in _REFERENCES and len(value) < 1_000:
            place = folder / Path(value).expanduser()
            if place.exists() and not place.resolve().is_relative_to(root.resolve()):
                fix = "copy the file into the project and name it by its path there"
                raise UsageError(f"{origin}: {path}: {value} is outside of the project {root.resolve()}\n  fix: {fix}")


def _texts(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(value, f"{path}.{key}".removeprefix("."))
    elif isinstance(data, str):
        yield path, data


def copied(root: Path, changes: Mapping[str, str], place: Path) -> tuple[str, ...]:
    """The project in another folder with changed files, an empty text takes one away; the stacks whose specs change."""
    for name, text in changes.items():
        if not CHANGEABLE.fullmatch(name):
            allowed = "stacks/specs/STACK/NAME.yaml or stacks/config/Pulumi.STACK.yaml"
            raise UsageError(f"changes: {name}: is not a file that can be tried\n  fix: name {allowed}")
        inside(root, name, "changes")
        if "/specs/" in name and text:
            _references(root, (root / name).parent, text, name)
    total = 0

    def left_out(folder: str, names: list[str]) -> list[str]:
        nonlocal total
        skipped = [
            name
            for name in names
            if name[0] == "." or name in _NOT_COPIED or (Path(folder) / name / "pyvenv.cfg").exists()
        ]
        kept = [Path(folder) / name for name in names if name not in skipped]
        total += sum(path.lstat().st_size for path in kept if path.is_file())
        if total > COPIED_BYTES_MAX:
            raise UsageError(
                f"changes: the project has more than {COPIED_BYTES_MAX >> 20} MiB, too much to be tried on a copy\n"
                "  fix: write the change into the files and ask without `changes`"
            )
        return skipped

    shutil.copytree(root, place, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    for name, text in changes.items():
        path = inside(place, name, "changes")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8") if text else path.unlink(missing_ok=True)
    matches = (CHANGEABLE.fullmatch(name) for name in changes)
    return tuple(sorted({match["stack"] for match in matches if match and match["stack"]}))


def overview(root: Path) -> dict[str, Any]:
    """What lies where in the project."""
    from importlib.metadata import version

    from sizewell.preview.pipeline import stacks_of

    def there(name: str) -> str:
        return name if (root / name).exists() else ""

    stacks = [
        {
            "stack": stack,
            "specs": [str(path.relative_to(root)) for path in sorted((root / "stacks/specs" / stack).glob("*.yaml"))],
            "decision": there(f"stacks/decisions/{stack}.json"),
            "config": there(f"stacks/config/Pulumi.{stack}.yaml"),
        }
        for stack in stacks_of(root)
    ]
    files = (
        "Pulumi.yaml",
        "policy/config.yaml",
        "stacks/config/teardown.yaml",
        "sizewell.toml",
        "catalog",
        "AGENTS.md",
    )
    return {
        "root": str(root),
        "sizewell": version("sizewell"),
        "is_project": (root / "Pulumi.yaml").is_file(),
        "stacks": stacks,
        "files": [name for name in files if there(name)],
    }
