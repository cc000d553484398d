"""The manifest of a checkpoint: which parts make it, each with its size and sha256.

Two live by this file: the programs of a machine, where it lies flat beside them and Sizewell is not installed, and
teardown, which imports it as `sizewell.launch.scripts.manifest`. So it imports neither its neighbours nor the package,
and depends on Python alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Protocol

SCHEMA = "sizewell.checkpoint/1"


class CorruptError(Exception):
    """A checkpoint that cannot be used; the one before it may do."""


class Reads(Protocol):
    """Of an object store, what is asked here."""

    def get(self, name: str) -> bytes:
        """The bytes of an object; an error of the store's own where there is none."""


@dataclass(frozen=True)
class Part:
    """One file of a checkpoint."""

    name: str
    bytes: int
    sha256: str
    header: int  # bytes of its header, the length field included


@dataclass(frozen=True)
class Manifest:
    """What makes a checkpoint: all its parts, and what was said when it was made."""

    name: str
    step: int
    attempt: str
    world: int
    created: str
    parts: tuple[Part, ...]
    meta: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> bytes:
        body = {
            "schema": SCHEMA,
            "step": self.step,
            "attempt": self.attempt,
            "world": self.world,
            "created": self.created,
            "meta": self.meta,
            "parts": [[part.name, part.bytes, part.sha256, part.header] for part in self.parts],
        }
        return json.dumps(
            {**body, "sha256": digest(json.dumps(body, sort_keys=True).encode())}, sort_keys=True
        ).encode()

    @classmethod
    def from_json(cls, name: str, data: bytes) -> Manifest:
        """CorruptError where the content is cut off, altered, or of another kind."""
        try:
            body = json.loads(data)
            seal = body.pop("sha256")
            if body["schema"] != SCHEMA:
                fix = "read it with the release that wrote it, or leave it and start from an older checkpoint"
                raise CorruptError(f"{name}: is of schema {body['schema']!r}, this reads {SCHEMA!r}; {fix}")
            if seal != digest(json.dumps(body, sort_keys=True).encode()):
                raise CorruptError(f"{name}: its content does not match its sha256")
            parts = tuple(Part(*values) for values in body["parts"])
            return cls(name, body["step"], body["attempt"], body["world"], body["created"], parts, body["meta"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptError(f"{name}: cannot be read: {error!r}") from None


def manifest_name(step: int, attempt: str) -> str:
    """The name of a manifest; names sort as their steps do.

    >>> manifest_name(100, "3f9a1c02")
    'manifests/000000000100-3f9a1c02.json'
    """
    return f"manifests/{step:012d}-{attempt}.json"


def verify(store: Reads, manifest: Manifest) -> None:
    """Read every part of a checkpoint; CorruptError, or the store's MissingError, names the first that is not as it
    was written.
    """
    for part in manifest.parts:
        part_data(store, manifest, part)


def part_data(store: Reads, manifest: Manifest, part: Part) -> bytes:
    """A part's content; CorruptError where it is not what was written."""
    data = store.get(part.name)
    if len(data) != part.bytes or digest(data) != part.sha256:
        raise CorruptError(f"{manifest.name}: the content of its part {part.name} does not match its sha256")
    return data


def digest(data: bytes) -> str:
    """The sha256 of bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
