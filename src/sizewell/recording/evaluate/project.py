"""Pulumi.yaml and the stack's configuration file, as far as evaluating a program needs them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizewell.recording.wire import UNKNOWN_MARK
from sizewell.resources.recorded import Hidden
from sizewell.sizing.errors import UsageError
from sizewell.sizing.places import read_yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Where a program is and what it is configured with. `config` is as the engine passes it: strings, by full key."""

    name: str
    root: Path
    program: Path  # a directory with __main__.py, or a file
    config: Mapping[str, str]
    secret_keys: tuple[str, ...]
    hidden: tuple[Hidden, ...] = ()
    organization: str = ""  # "" where it is unknown


def read_project(root: Path, stack: str, *, program: Path | None = None) -> Project:
    """Read `root`/Pulumi.yaml and the configuration of `stack`; UsageError names the file and the way out."""
    root = root.resolve()
    path = root / "Pulumi.yaml"
    if not path.exists() and (root / "Pulumi.yml").exists():
        path = root / "Pulumi.yml"
    if not path.exists():
        if program is None:
            raise UsageError(f"{path}: not a Pulumi project\n  fix: name a directory that has a Pulumi.yaml")
        settings: dict[str, object] = {"name": root.name, "runtime": "python"}
    else:
        settings = _mapping(path)
    name = str(settings.get("name") or root.name)
    runtime = settings.get("runtime", "python")
    runtime = runtime.get("name") if isinstance(runtime, dict) else runtime
    if runtime != "python" and program is None:
        raise UsageError(
            f"{path}: runtime: only python programs are evaluated offline, this is {runtime!r}\n"
            "  fix: use --engine pulumi, with the Pulumi CLI on PATH, or --plan FILE with what `pulumi preview "
            "--json --show-sames` prints or `pulumi preview --save-plan FILE` writes"
        )
    if program is None:
        program = root / str(settings.get("main") or ".")
    config, secret_keys, hidden = _configuration(settings, root, name, stack.rpartition("/")[2])
    return Project(
        name=name,
        root=root,
        program=program.resolve(),
        config=config,
        secret_keys=secret_keys,
        hidden=hidden,
        organization=_organization(settings, stack),
    )


def _organization(settings: Mapping[str, object], stack: str) -> str:
    """The stack's organization: as its name begins, or the one that every backend but Pulumi Cloud has.

    https://github.com/pulumi/pulumi/issues/20239
    """
    if "/" in stack:
        return stack.partition("/")[0]
    stated = settings.get("backend")
    url = os.environ.get("PULUMI_BACKEND_URL") or (stated.get("url") if isinstance(stated, dict) else "") or ""
    return "organization" if url and not str(url).startswith(("http://", "https://")) else ""


def _configuration(
    settings: Mapping[str, object], root: Path, name: str, stack: str
) -> tuple[dict[str, str], tuple[str, ...], tuple[Hidden, ...]]:
    config: dict[str, str] = {}
    secret_keys: list[str] = []
    hidden: list[Hidden] = []

    def put(key: str, value: object) -> None:
        full = key if ":" in key else f"{name}:{key}"
        plain, secret = _without_secrets(value)
        config[full] = _as_text(plain)
        if secret:
            secret_keys.append(full)
        elif full in secret_keys:
            secret_keys.remove(full)

    declared = settings.get("config")
    for key, value in declared.items() if isinstance(declared, dict) else ():
        if isinstance(value, dict) and {"type", "default", "value", "description", "secret", "items"} & value.keys():
            given = value.get("value", value.get("default"))
            if given is not None:
                put(str(key), given)
        else:
            put(str(key), value)
    directory = root / str(settings.get("stackConfigDir") or (declared if isinstance(declared, str) else "."))
    path = directory / f"Pulumi.{stack}.yaml"
    if path.exists():
        file = _mapping(path)
        if file.get("environment"):
            hidden.append(
                Hidden(
                    name=path.name,
                    what="what follows from its `environment:`",
                    may_hide="other sizes, counts and machine types than the defaults that are shown",
                    shown_too=True,
                    why="environments are opened by Pulumi Cloud, and not offline",
                    fix="judge the engine's plan: --engine pulumi, or --plan FILE",
                )
            )
        values = file.get("config") or {}
        if not isinstance(values, dict):
            raise UsageError(f"{path}: config: must be a mapping, got {type(values).__name__}")
        for key, value in values.items():
            put(str(key), value)
    return config, tuple(secret_keys), tuple(hidden)


def _mapping(path: Path) -> dict[str, object]:
    data = read_yaml(path).data
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UsageError(f"{path}: must be a mapping, got {type(data).__name__}")
    return data


def _without_secrets(value: object) -> tuple[object, bool]:
    """`{secure: ciphertext}`, at any depth, becomes the unknown mark: nothing is decrypted."""
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            return UNKNOWN_MARK, True
        pairs = {str(key): _without_secrets(inner) for key, inner in value.items()}
        return {key: inner for key, (inner, _) in pairs.items()}, any(secret for _, secret in pairs.values())
    if isinstance(value, list):
        items = [_without_secrets(inner) for inner in value]
        return [inner for inner, _ in items], any(secret for _, secret in items)
    return value, False


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), default=str)
    return "" if value is None else str(value)
