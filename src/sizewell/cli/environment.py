"""The project's own environment: what is installed there evaluates, whatever `sizewell` was typed.

A tool that was installed for itself (`uv tool install`, `pipx`) hands a command of a project over to the `sizewell` of
the project's virtual environment, so that a colleague, the workflow and `pulumi up` evaluate with the same version.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ITSELF: Final = ("init", "doctor", "completion", "help")  # commands that speak of the tool, or need no project
HANDED: Final = "SIZEWELL_HANDED_OVER"  # set for the command that was handed over, so that it is handed over once
OLDEST_PYTHON: Final = (3, 11)  # as pyproject.toml requires
_VIRTUALENV: Final = re.compile(r"""^\s+virtualenv:\s*["']?([^"'\s#]+)""", re.MULTILINE)
_MAIN: Final = re.compile(r"""^main:\s*["']?([^"'\s#]+)""", re.MULTILINE)
_PINNED: Final = re.compile(r"^sizewell(?:\[[^\]]*\])?\s*==\s*([^\s;#]+)", re.MULTILINE)
_DIRECT: Final = re.compile(r"^sizewell(?:\[[^\]]*\])?\s*@\s*([^\s;]+)", re.MULTILINE)


def of(root: Path) -> Path:
    """The virtual environment that a project's Pulumi.yaml names, whether it is made or not."""
    return root / _setting(root, _VIRTUALENV, ".venv")


def unread_requirements(root: Path) -> Path | None:
    """The requirements.txt that is missing beside the program, where the project has one only in its root; else None.

    `pulumi install` makes the environment relative to the root, but looks for what goes into it in the folder of the
    program and nowhere above: a pin in the root alone leaves the environment empty, and nothing says so.
    """
    program = root / _setting(root, _MAIN, ".")
    beside = any((program / name).exists() for name in ("requirements.txt", "pyproject.toml"))
    return None if beside or not (root / "requirements.txt").exists() else program / "requirements.txt"


def _setting(root: Path, pattern: re.Pattern[str], default: str) -> str:
    try:
        match = pattern.search((root / "Pulumi.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        match = None
    return match[1] if match else default


def broken(environment: Path) -> str:
    """Why an existing virtual environment cannot run; "" where it can, or where there is none.

    One that was moved with its folder, or whose Python was removed or is too old, ends in the words of an interpreter.
    """
    if not environment.is_dir():
        return ""
    program, python = environment / "bin" / "sizewell", environment / "bin" / "python"
    if python.is_symlink() and not python.exists():
        return f"its Python is gone: {python.resolve()}"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        made = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+)\.(\d+)", (environment / "pyvenv.cfg").read_text("utf-8"))
        if made and (int(made[1]), int(made[2])) < OLDEST_PYTHON:
            return f"it has Python {made[1]}.{made[2]}, and {'.'.join(map(str, OLDEST_PYTHON))} or later is needed"
    with contextlib.suppress(OSError, UnicodeDecodeError, IndexError):
        first = program.read_bytes()[:500].splitlines()[0].decode()
        if first.startswith("#!/") and not Path(first[2:].split()[0]).exists():
            return f"its programs start {first[2:]}, which is gone: the folder was moved, or Python was"
    return ""


def hand_over(arguments: Sequence[str]) -> str:
    """Become the project's own `sizewell`, where the project has one and this is another; else return.

    What is returned says why the project's own cannot run; "" for nothing.
    """
    command = next((word for word in arguments if not word.startswith("-")), "")
    if not command or command in ITSELF or os.environ.get(HANDED):
        return ""
    try:
        folder = Path.cwd()
    except OSError:  # it was deleted
        return ""
    root = next((place for place in (folder, *folder.parents) if (place / "Pulumi.yaml").is_file()), None)
    if root is None:
        return ""
    own = of(root)
    program = own / "bin" / "sizewell"
    if not os.access(program, os.X_OK) or own.resolve() == Path(sys.prefix).resolve():
        return ""
    if why := broken(own):
        return f"{own} cannot run: {why}\n  fix: rm -r {shlex.quote(str(own))} && pulumi install"
    os.environ[HANDED] = str(Path(sys.prefix))
    try:
        os.execv(program, [str(program), *arguments])  # noqa: S606 - no shell; the project's own program
    except OSError as error:
        return f"{program} cannot run: {error.strerror}\n  fix: rm -r {shlex.quote(str(own))} && pulumi install"


def version_in(environment: Path) -> str:
    """The version of Sizewell that is installed in a virtual environment; "" for none."""
    from importlib.metadata import distributions

    paths = [str(path) for path in environment.glob("lib/python3*/site-packages")]
    return next((each.version for each in distributions(name="sizewell", path=paths)), "")


def pinned(root: Path) -> tuple[str, str]:
    """(version, address) that a project's requirements.txt asks for; "" for what it does not say."""
    try:
        text = (root / "requirements.txt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "", ""
    version, direct = _PINNED.search(text), _DIRECT.search(text)
    address = direct[1] if direct else ""
    wheel = re.search(r"/sizewell-([^-/]+)-[^/]*\.whl", address)
    return (version[1] if version else wheel[1] if wheel else ""), address
