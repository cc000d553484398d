"""How the programs of this folder are written down: a row per resource, `ref("name")` for an output of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Ref:
    """An output of the resource of that name, unknown until it is built."""

    name: str


@dataclass(frozen=True)
class Weakness:
    """One weakness in two spellings, and a program without it."""

    name: str
    spellings: tuple[list[Row], ...]
    mended: list[Row]
    stack: str = "prod"


def ref(name: str) -> Ref:
    return Ref(name)


def aws(kind: str, name: str, /, **inputs: Any) -> Row:
    return {"type": f"aws:{_token(kind)}", "name": name, "inputs": inputs}


def gcp(kind: str, name: str, /, **inputs: Any) -> Row:
    return {"type": f"gcp:{_token(kind)}", "name": name, "inputs": inputs}


def azure(kind: str, name: str, /, **inputs: Any) -> Row:
    return {"type": f"azure-native:{kind}", "name": name, "inputs": inputs}


def k8s(kind: str, name: str, /, **inputs: Any) -> Row:
    return {"type": f"kubernetes:{kind}", "name": name, "inputs": {"metadata": {"name": name}, **inputs}}


def _token(kind: str) -> str:
    """`ec2/Instance` is `ec2/instance:Instance`."""
    module, _, name = kind.partition("/")
    return f"{module}/{name[0].lower()}{name[1:]}:{name}"
