"""The project's settings: flags that a team would repeat on every line, in one file beside Pulumi.yaml.

That is `sizewell.toml`, or the table `[tool.sizewell]` of pyproject.toml. A flag overrides an environment variable,
which overrides the file, which overrides the default. Guardrails and policies are no settings: they judge a change, so
they stay in their own files, which a preview takes from the base.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from sizewell.cli import terminal
from sizewell.sizing.errors import ConfigError, Fault

OWN_FILE: Final = "sizewell.toml"
SHARED_FILE: Final = "pyproject.toml"
_TABLE: Final = "tool.sizewell"


@dataclass(frozen=True, slots=True)
class Setting:
    """One key: what it may be, the flag that it stands for, and the environment variable that overrides it."""

    allowed: str
    meaning: str
    commands: tuple[str, ...]  # () for all
    variable: str = ""
    example: str = ""


SETTINGS: Final[Mapping[str, Setting]] = {
    "base": Setting(
        "a git revision",
        "same as `--base`; `--base ''` compares with nothing",
        ("preview",),
        example='"origin/main"',
    ),
    "max_age": Setting("a duration", "same as `--max-age`", ("preview", "size"), example='"30d"'),
    "usage": Setting(
        "a path", "as `--usage`", ("preview", "policy"), variable="SIZEWELL_USAGE", example='"stacks/config/usage.yaml"'
    ),
    "discounts": Setting(
        "a path", "as `--discounts`", ("preview", "policy"), variable="SIZEWELL_DISCOUNTS", example='"rates.yaml"'
    ),
    "color": Setting("auto, always or never", "as `--color`", (), variable="NO_COLOR", example='"never"'),
    "quiet": Setting("true or false", "as `--quiet`", (), example="true"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project's file states; `file` is None where no file states any."""

    file: Path | None
    values: Mapping[str, Any]


NONE: Final = Settings(None, {})


def read(root: Path) -> Settings:
    """The settings of the project in a folder. Raises ConfigError with every fault of the file."""
    own, shared = (_text(root / name) for name in (OWN_FILE, SHARED_FILE))
    if own is not None:
        if shared is not None and parse(shared, SHARED_FILE):
            message = f"{OWN_FILE} and [{_TABLE}] in {SHARED_FILE} both have settings"
            raise ConfigError([Fault(path="", message=message, fix=f"move all of them to {OWN_FILE}")])
        return Settings(root / OWN_FILE, parse(own, OWN_FILE))
    if shared is not None and (values := parse(shared, SHARED_FILE)):
        return Settings(root / SHARED_FILE, values)
    return NONE


def parse(text: str, name: str) -> dict[str, Any]:
    """The settings that a file of this name states. Raises ConfigError with every fault."""
    if name == SHARED_FILE and "sizewell" not in text:
        return {}
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        mark = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        at = (int(mark[1]), int(mark[2])) if mark else (max(len(text.splitlines()), 1), 0)  # "at end of document"
        message = f"is not valid TOML: {str(error).partition(' (at ')[0]}"
        raise ConfigError([Fault(path="", message=message, at=at, file=name)], subject=name) from None
    values: Any = document
    if name == SHARED_FILE:
        tool = document.get("tool", {})
        values = tool.get("sizewell", {}) if isinstance(tool, dict) else {}
        if not isinstance(values, dict):
            raise ConfigError([Fault(path=_TABLE, found=values, allowed="a table")], subject=name)
    faults = [fault for key, value in values.items() if (fault := _fault(key, value, text, name))]
    if faults:
        raise ConfigError(faults, subject=name)
    return dict(values)


def apply(args: SimpleNamespace, command: str, settings: Settings) -> None:
    """Fill in what neither the line nor the environment says. Raises ConfigError for a file that does not exist."""
    for key, setting in SETTINGS.items():
        if setting.commands and command not in setting.commands:
            continue
        if key == "base" and (args.plan or args.base_state):  # the line compares with something else
            continue
        if getattr(args, key) not in (None, False) or (key == "color" and terminal.is_plain()):
            continue
        if setting.variable and (stated := os.environ.get(setting.variable)):
            setattr(args, key, Path(stated))
        elif settings.file is not None and key in settings.values:
            value = settings.values[key]
            if setting.allowed == "a path":
                value = settings.file.parent / value
                if not value.exists():
                    fault = Fault(path=key, message=f"{value}: no such file", at=_line(key, settings.file.read_text()))
                    raise ConfigError([fault], subject=settings.file.name)
            setattr(args, key, value)
    if getattr(args, "base", None) == "":
        args.base = None


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """What a change of the settings says otherwise, one line each."""
    return tuple(
        f"{key}: {old.get(key, 'not set')} -> {new.get(key, 'not set')}"
        for key in SETTINGS
        if old.get(key) != new.get(key)
    )


def _fault(key: str, value: Any, text: str, name: str) -> Fault | None:
    at = _line(key, text)
    if key not in SETTINGS:
        from difflib import get_close_matches

        near = get_close_matches(key, SETTINGS, 1, 0.5)
        fix = f"did you mean {near[0]}?" if near else f"settings are {', '.join(SETTINGS)}"
        return Fault(path=key, message="unknown setting", fix=fix, at=at, file=name)
    allowed = SETTINGS[key].allowed
    if key == "quiet":
        good = isinstance(value, bool)
    elif key == "color":
        good = value in terminal.COLORS
    else:
        good = isinstance(value, str) and bool(value.strip())
    if good and key == "max_age":
        from sizewell.sizing.units import UnitError, duration_s

        try:
            duration_s(value)
        except UnitError:
            good = False
    if good:
        return None
    return Fault(path=key, found=value, allowed=f"{allowed}, such as {SETTINGS[key].example}", at=at, file=name)


def _line(key: str, text: str) -> tuple[int, int] | None:
    """The line of a key; None where it is written in another way, such as in an inline table."""
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
            return number, 0
    return None


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise ConfigError([Fault(path=path.name, message=message, fix="save it as UTF-8")]) from None
