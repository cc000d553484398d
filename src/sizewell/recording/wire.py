"""How unknown values, secrets, references and assets are written by the engine and its SDKs, and what they mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sizewell.resources.recorded import UNKNOWN

# "Not known yet". A string that contains it is unknown: it survives formatting in a program.
UNKNOWN_MARK: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
MANY: Final = f"?{UNKNOWN_MARK}?["  # of an entry of a list whose length is not known either

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
RESOURCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the mark of a secret, not one
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
ASSET: Final = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"
_HIDDEN: Final = "[secret]"  # what `pulumi preview --json` prints for a secret


def plain_json(value: object, path: str, secrets: list[str]) -> object:
    """A value as JSON has it, in plain: unknowns marked, whole numbers as int, secrets unwrapped into `secrets`.

    `path` is where the value stands (`a.b[0].c`).

    >>> secrets = []
    >>> plain_json({"size": 3.0, "key": "[secret]"}, "disk", secrets), secrets
    ({'size': 3, 'key': UNKNOWN}, ['disk.key'])
    """
    if isinstance(value, str):
        if value == _HIDDEN:
            secrets.append(path)
            return UNKNOWN
        return UNKNOWN if UNKNOWN_MARK in value else value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [plain_json(item, f"{path}[{i}]", secrets) for i, item in enumerate(value)]
    if isinstance(value, dict):
        kind = value.get(SIGNATURE)
        if kind is not None:
            return special(kind, value, path, secrets)
        return {key: plain_json(item, f"{path}.{key}", secrets) for key, item in value.items()}
    return value


def special(kind: object, value: Mapping[str, Any], path: str, secrets: list[str]) -> object:
    """A mapping with a signature: a secret, a reference to a resource, an output, an asset or an archive."""
    if kind == SECRET:
        secrets.append(path)
        if isinstance(value.get("plaintext"), str):  # state exported with --show-secrets: JSON in a string
            try:
                return plain_json(json.loads(value["plaintext"]), path, secrets)
            except ValueError:
                return UNKNOWN
        return plain_json(value["value"], path, secrets) if "value" in value else UNKNOWN
    if kind == RESOURCE:
        if "id" not in value:
            return value.get("urn")  # a component
        return UNKNOWN if not value["id"] or UNKNOWN_MARK in str(value["id"]) else value["id"]
    if kind == _OUTPUT:
        if value.get("secret"):
            secrets.append(path)
        return plain_json(value["value"], path, secrets) if "value" in value else UNKNOWN
    if kind in (ASSET, ARCHIVE):  # the hash is the engine's; what a person wrote is the rest
        return {
            key: plain_json(item, f"{path}.{key}", secrets)
            for key, item in value.items()
            if key not in {SIGNATURE, "hash"} and item not in (None, "", {})
        }
    return {key: plain_json(item, f"{path}.{key}", secrets) for key, item in value.items()}
