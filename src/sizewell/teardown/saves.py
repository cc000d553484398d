"""What lies in checkpoint stores: when something was written last, and whether the newest checkpoint is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.teardown.journal import Store, connect, script

MANIFESTS = "manifests/"
PARTS = "parts/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was found under one prefix of a store; `fault` is empty where its newest checkpoint is whole."""

    uri: str
    step: int | None = None  # of the newest whole checkpoint
    bytes: int = 0
    fault: str = ""


@contextmanager
def _answered(uri: str) -> Iterator[None]:
    """Errors of a store as errors of the outside."""
    store = script("store")
    try:
        yield
    except store.StoreError as error:
        raise ServiceError(f"the checkpoints in {uri} cannot be read: {error}") from None


def written(uri: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """When manifests, and when parts, below a URI were written, in seconds since 1970. ServiceError where the store
    does not answer: then nobody knows whether something was saved.
    """
    manifests: list[float] = []
    parts: list[float] = []
    with _answered(uri):
        for name, at_s in _times(_opened(uri)):
            kind = f"/{name}"
            if f"/{MANIFESTS}" in kind:
                manifests.append(at_s)
            elif f"/{PARTS}" in kind:
                parts.append(at_s)
    return tuple(sorted(manifests)), tuple(sorted(parts))


def prove(uri: str) -> tuple[Proof, ...]:
    """Read the newest checkpoint of every prefix below a URI, each part against its sha256; prefixes in order.

    The newest manifest counts, whole or not: that an older one is whole does not make up for work that would be lost.
    ServiceError where the store does not answer.
    """
    checkpoint, store_script = script("checkpoint"), script("store")
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
                manifest = checkpoint.Manifest.from_json(name, store.get(name))
                checkpoint.verify(store, manifest)
            except (checkpoint.CorruptError, store_script.MissingError) as error:
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


def _times(store: Any) -> Iterator[tuple[str, float]]:
    """Each object and when it was written: what the stores list besides sizes, through their own clients."""
    scheme = urlsplit(store.uri).scheme
    with store._translated(""):  # noqa: SLF001  (the script has four words, and none for this)
        if scheme == "file":
            folder = Path("/") / urlsplit(store.uri).path.strip("/")
            for path in folder.glob("**/*"):
                if path.is_file() and not path.name.startswith(".part-"):
                    yield path.relative_to(folder).as_posix(), path.stat().st_mtime
        elif scheme == "s3":
            pages = store._s3.get_paginator("list_objects_v2")  # noqa: SLF001
            for page in pages.paginate(Bucket=store._bucket, Prefix=store._prefix):  # noqa: SLF001
                for item in page.get("Contents", ()):
                    yield item["Key"].removeprefix(store._prefix), item["LastModified"].timestamp()  # noqa: SLF001
        elif scheme == "gs":
            for blob in store._client.list_blobs(store._bucket, prefix=store._prefix):  # noqa: SLF001
                yield blob.name.removeprefix(store._prefix), blob.updated.timestamp()  # noqa: SLF001
        else:
            for blob in store._container.list_blobs(name_starts_with=store._prefix):  # noqa: SLF001
                yield blob.name.removeprefix(store._prefix), blob.last_modified.timestamp()  # noqa: SLF001
