"""What lies in checkpoint stores: when something was written last, and whether the newest checkpoint is whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sizewell.launch.scripts.manifest import CorruptError, Manifest, verify
from sizewell.launch.scripts.store import MissingError, Store, StoreError
from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.teardown.journal import connect

MANIFESTS = "manifests/"
PARTS = "parts/"
# When manifests, and when parts, were written, in seconds since 1970.
Times = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found under one prefix of a store; `fault` is empty where its newest checkpoint is whole."""

    uri: str
    step: int | None = None  # of the newest complete checkpoint
    bytes: int = 0
    fault: str = ""


@dataclass(slots=True)
class Saves:
    """When something was saved, each store asked once: stacks share stores."""

    _known: dict[str, Times | ServiceError] = field(default_factory=dict)

    def below(self, uris: Sequence[str]) -> Times | ServiceError:
        """Of all those URIs; the error of the first that does not respond, since then nobody knows of a later save."""
        manifests: list[float] = []
        parts: list[float] = []
        for uri in uris:
            if uri not in self._known:
                try:
                    self._known[uri] = written(uri)
                except ServiceError as error:
                    self._known[uri] = error
            known = self._known[uri]
            if isinstance(known, ServiceError):
                return known
            manifests += known[0]
            parts += known[1]
        return tuple(manifests), tuple(parts)


@contextmanager
def _answered(uri: str) -> Iterator[None]:
    """Errors of a store as errors of the outside."""
    try:
        yield
    except StoreError as error:
        raise ServiceError(f"the checkpoints in {uri} cannot be read: {error}") from None


def written(uri: str) -> Times:
    """When manifests, and when parts, below a URI were written, in seconds since 1970. ServiceError where the store
    does not respond: then nobody knows whether something was saved.
    """
    manifests: list[float] = []
    parts: list[float] = []
    with _answered(uri):
        for name, at in _opened(uri).written().items():
            at_s, kind = at.timestamp(), f"/{name}"
            if f"/{MANIFESTS}" in kind:
                manifests.append(at_s)
            elif f"/{PARTS}" in kind:
                parts.append(at_s)
    return tuple(sorted(manifests)), tuple(sorted(parts))


def prove(uri: str) -> tuple[Proof, ...]:
    """Read the newest checkpoint of every prefix below a URI, each part against its sha256; prefixes in order.

    The newest manifest counts, whole or not: that an older one is whole does not make up for work that would be lost.
    ServiceError where the store does not respond.
    """
    with _answered(uri):
        names = _opened(uri).list("")
        prefixes: dict[str, str] = {}
        orphaned: set[str] = set()
        for name in names:
            before, folder, _ = f"/{name}".partition(f"/{MANIFESTS}")
            if folder and name.endswith(".json"):
                prefixes[before] = max(prefixes.get(before, ""), name)
                continue
            before, folder, _ = f"/{name}".partition(f"/{PARTS}")
            if folder:
                orphaned.add(before)
        proofs = []
        for prefix in sorted(prefixes):
            place = f"{uri.rstrip('/')}{prefix}"
            store = _opened(place)
            name = MANIFESTS + prefixes[prefix].rpartition("/")[2]
            try:
                manifest = Manifest.from_json(name, store.get(name))
                verify(store, manifest)
            except (CorruptError, MissingError) as error:
                proofs.append(Proof(uri=place, fault=str(error)))
                continue
            proofs.append(Proof(uri=place, step=manifest.step, bytes=sum(part.bytes for part in manifest.parts)))
        proofs += [
            Proof(uri=f"{uri.rstrip('/')}{prefix}")  # parts alone: no checkpoint was ever finished there
            for prefix in sorted(orphaned - prefixes.keys())
        ]
    return tuple(proofs)


def _opened(uri: str) -> Store:
    try:
        return connect(uri)
    except UsageError as error:
        raise ServiceError(f"the checkpoints in {uri} cannot be read: {error}") from None
