"""An object store in four words: put once, get, list, point. file://, s3://, gs:// and az://; clients are imported
late.

`put` never overwrites: it asks the store to refuse where the name is taken, so that a writer who may not delete (which
on Google Cloud means: may not overwrite) can do all of it, and two writers cannot destroy each other's work. A `put`
whose answer was lost is tried again by the client and then meets its own object: same bytes count as done.

    RefusedError            wrong URI, no permission, no such bucket, client library missing: no repetition mends it
    MissingError            no object of that name
    TakenError              an object of that name with other bytes
    StoreError              the store did not respond, or answered with an error of its own: try again later
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import logging
import os
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

SCHEMES = {
    "file": "file:///path",
    "s3": "s3://bucket/prefix",
    "gs": "gs://bucket/prefix",
    "az": "az://account/container/prefix",
}


class StoreError(Exception):
    """The store did not do it; a later try may succeed."""


class RefusedError(StoreError):
    """A repetition does not mend it."""


class MissingError(StoreError):
    """There is no object of that name."""


class TakenError(StoreError):
    """There is another object of that name."""


class Store(Protocol):
    """Objects below one prefix; names are relative to it."""

    uri: str
    overwrites: bool  # whether the writer's identity may replace an object (the pointer)

    def put(self, name: str, data: bytes) -> None:
        """Make an object; TakenError where there is another one of that name."""

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object, or `length` of them from `start`; MissingError where there is none."""

    def list(self, below: str = "") -> dict[str, int]:
        """Names of the objects whose name starts with `below`, and their sizes in bytes."""

    def point(self, name: str, data: bytes) -> None:
        """Make or replace an object; only where `overwrites`."""

    def written(self, below: str = "") -> dict[str, datetime]:
        """When each object of `list` was last written; on a file system also those that a kill left half written."""

    def remove(self, name: str) -> None:
        """Delete an object: for a person's identity, since that of a job may not."""


def connect(uri: str, *, lock_days: int = 0) -> Store:
    """The store at a URI; RefusedError says what is wrong with it.

    `lock_days`: nothing that is put is deleted sooner. Only Google Cloud Storage needs to be told with each object: its
    buckets lock by themselves without versions only, and those of S3 and Azure have a lock for all that comes.

    >>> connect("s3:/bucket/run")
    Traceback (most recent call last):
        ...
    store.RefusedError: checkpoint URI 's3:/bucket/run': no bucket in it; write s3://bucket/prefix
    """
    parts = urlsplit(uri)
    if parts.scheme not in SCHEMES:
        forms = ", ".join(SCHEMES.values())
        raise RefusedError(f"checkpoint URI {uri!r}: scheme {parts.scheme or 'missing'!r} is none of {forms}")
    form = SCHEMES[parts.scheme]
    if parts.query or parts.fragment or parts.username:
        raise RefusedError(f"checkpoint URI {uri!r}: no ?, # or @ in it; write {form}")
    path = parts.path.strip("/")
    if parts.scheme == "file":
        if parts.netloc or not path or not uri.startswith("file:///"):
            raise RefusedError(f"checkpoint URI {uri!r}: needs an absolute path; write {form}")
        return FileStore(uri, Path("/") / path)
    if not parts.netloc:
        raise RefusedError(
            f"checkpoint URI {uri!r}: no {'account' if parts.scheme == 'az' else 'bucket'} in it; write {form}"
        )
    if parts.scheme == "az":
        container, _, path = path.partition("/")
        if not re.fullmatch(r"[a-z0-9]{3,24}", parts.netloc) or not container:
            raise RefusedError(f"checkpoint URI {uri!r}: needs an account and a container; write {form}")
        return AzureStore(uri, parts.netloc, container, path)
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", parts.netloc):
        raise RefusedError(f"checkpoint URI {uri!r}: {parts.netloc!r} is no name of a bucket; write {form}")
    if parts.scheme == "s3":
        return S3Store(uri, parts.netloc, path)
    return GoogleStore(uri, parts.netloc, path, lock_days)


class _Below:
    """Names below a prefix of a bucket."""

    overwrites = True

    def __init__(self, uri: str, prefix: str) -> None:
        self.uri = uri.rstrip("/")
        self._prefix = f"{prefix}/" if prefix else ""

    def _key(self, name: str) -> str:
        return self._prefix + name

    def _same(self, name: str, data: bytes) -> None:
        """After "is taken": fine where it is our own object, whose answer was lost."""
        if self.get(name) != data:
            raise TakenError(f"{self.uri}/{name}: is taken by other content; nothing was overwritten")

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        raise NotImplementedError


class FileStore(_Below):
    """A folder; also a file system that all machines share (Lustre, Filestore)."""

    def __init__(self, uri: str, folder: Path) -> None:
        super().__init__(uri, "")
        self._folder = folder

    @contextlib.contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise MissingError(f"{self.uri}/{name}: there is no such file") from None
        except (PermissionError, NotADirectoryError) as error:
            raise RefusedError(f"{self.uri}/{name}: {error.strerror}; use a folder that this user may write") from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StoreError(
                    f"{self.uri}/{name}: the disk or its quota is full ({error.strerror}): free some or enlarge it"
                ) from None
            known = error.errno in (errno.EROFS, errno.ENAMETOOLONG)
            raise (RefusedError if known else StoreError)(f"{self.uri}/{name}: {error.strerror}") from None

    def put(self, name: str, data: bytes) -> None:
        path = self._folder / name
        with self._translated(name):
            try:
                temporary = self._written(path, data)
            except FileNotFoundError:  # such as below /proc: it is no file that is missing
                raise PermissionError(errno.EACCES, "its folder cannot be made") from None
            try:
                os.link(temporary, path)  # refuses where the name is taken, and never shows half a file
            except FileExistsError:
                self._same(name, data)
            finally:
                temporary.unlink()
            _settle(path.parent)

    def point(self, name: str, data: bytes) -> None:
        with self._translated(name):
            path = self._folder / name
            self._written(path, data).replace(path)
            _settle(path.parent)

    def _written(self, path: Path, data: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not `tempfile`, whose files nobody else may read: who shares the folder is said by the user's umask.
        temporary = path.parent / f".part-{uuid.uuid4().hex}"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return temporary

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        if (self._folder / name).is_fifo():  # else it is waited for without an end
            raise RefusedError(f"{self.uri}/{name}: is no file")
        with self._translated(name), (self._folder / name).open("rb") as file:
            file.seek(start)
            return file.read() if length is None else file.read(length)

    def _must_be_folder(self, below: str) -> None:
        """A file, or a link to nothing, in the place of a folder is not read as an empty one."""
        for folder in (self._folder, self._folder / below.rpartition("/")[0]):
            if os.path.lexists(folder) and not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "Not a directory")

    def list(self, below: str = "") -> dict[str, int]:
        sizes = {}
        with self._translated(below):
            self._must_be_folder(below)
            for path in sorted(self._folder.glob("**/*")):
                name = path.relative_to(self._folder).as_posix()
                if path.is_file() and name.startswith(below) and not path.name.startswith(".part-"):
                    sizes[name] = path.stat().st_size
        return sizes

    def written(self, below: str = "") -> dict[str, datetime]:
        times = {}
        with self._translated(below):
            self._must_be_folder(below)
            for path in (self._folder / below.rpartition("/")[0]).glob("**/*"):
                name = path.relative_to(self._folder).as_posix()
                if name.startswith(below) and path.is_file():
                    times[name] = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return times

    def remove(self, name: str) -> None:
        with self._translated(name):
            (self._folder / name).unlink()


def _settle(folder: Path) -> None:
    """The new name itself outlives a power cut only once its folder is written."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class S3Store(_Below):
    """A bucket of Amazon S3, or of anything that speaks like it (AWS_ENDPOINT_URL_S3)."""

    def __init__(self, uri: str, bucket: str, prefix: str) -> None:
        super().__init__(uri, prefix)
        self._bucket = bucket
        boto3 = _client("boto3", "s3")
        from botocore.config import Config

        self._s3 = boto3.client(
            "s3", config=Config(retries={"mode": "adaptive", "max_attempts": 8}, connect_timeout=10, read_timeout=120)
        )

    @contextlib.contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ParamValidationError

        where = f"{self.uri}/{name}".rstrip("/")
        try:
            yield
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in ("NoSuchKey", "404", "NotFound"):
                raise MissingError(f"{where}: there is no such object") from None
            if code in ("PreconditionFailed", "412"):
                raise TakenError(f"{where}: is taken") from None
            if code == "NoSuchBucket":
                raise RefusedError(
                    f"{where}: bucket {self._bucket} does not exist (in this account and region)"
                ) from None
            if code in (
                "AccessDenied",
                "403",
                "Forbidden",
                "InvalidAccessKeyId",
                "SignatureDoesNotMatch",
                "AccountProblem",
            ):
                raise RefusedError(
                    f"{where}: {code}; the job's identity needs s3:GetObject, s3:PutObject and s3:ListBucket there, "
                    "and kms:GenerateDataKey and kms:Decrypt on the bucket's key"
                ) from None
            raise StoreError(f"{where}: {code}: {error}") from None
        except NoCredentialsError:
            raise RefusedError(
                f"{where}: no AWS credentials; give the job an identity (pod identity, instance profile)"
            ) from None
        except ParamValidationError as error:
            raise RefusedError(f"{where}: {error}") from None
        except BotoCoreError as error:
            raise StoreError(f"{where}: {error}") from None

    def put(self, name: str, data: bytes) -> None:
        try:
            self._write(name, data, IfNoneMatch="*")
        except TakenError:
            self._same(name, data)

    def point(self, name: str, data: bytes) -> None:
        self._write(name, data)

    def _write(self, name: str, data: bytes, **condition: str) -> None:
        checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
        with self._translated(name):
            self._s3.put_object(
                Bucket=self._bucket, Key=self._key(name), Body=data, ChecksumSHA256=checksum, **condition
            )

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        part = {"Range": _range(start, length)} if start or length is not None else {}
        with self._translated(name):
            return bytes(self._s3.get_object(Bucket=self._bucket, Key=self._key(name), **part)["Body"].read())

    def list(self, below: str = "") -> dict[str, int]:
        sizes = {}
        with self._translated(below):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._key(below))
            for page in pages:
                for item in page.get("Contents", ()):
                    sizes[item["Key"][len(self._prefix) :]] = item["Size"]
        return sizes

    def written(self, below: str = "") -> dict[str, datetime]:
        with self._translated(below):
            pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._key(below))
            items = [item for page in pages for item in page.get("Contents", ())]
            return {item["Key"][len(self._prefix) :]: item["LastModified"] for item in items}

    def remove(self, name: str) -> None:
        with self._translated(name):
            self._s3.delete_object(Bucket=self._bucket, Key=self._key(name))


class GoogleStore(_Below):
    """A bucket of Google Cloud Storage. The writer creates, gets and lists; it cannot replace, so no pointer."""

    overwrites = False

    def __init__(self, uri: str, bucket: str, prefix: str, lock_days: int = 0) -> None:
        super().__init__(uri, prefix)
        self._lock_days = lock_days
        storage = _client("google.cloud.storage", "gs")
        with self._translated(""):
            self._client = storage.Client()
            self._bucket = self._client.bucket(bucket)

    @contextlib.contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        from google.api_core.exceptions import Forbidden, GoogleAPIError, NotFound, PreconditionFailed, Unauthorized
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
        from requests.exceptions import RequestException

        where = f"{self.uri}/{name}".rstrip("/")
        try:
            yield
        except PreconditionFailed:
            raise TakenError(f"{where}: is taken") from None
        except NotFound as error:
            if "bucket does not exist" in str(error):
                raise RefusedError(f"{where}: the bucket does not exist") from None
            raise MissingError(f"{where}: there is no such object") from None
        except (Forbidden, Unauthorized):
            raise RefusedError(
                f"{where}: permission denied; the job's identity needs storage.objects.create, get and list there"
            ) from None
        except DefaultCredentialsError:
            raise RefusedError(
                f"{where}: no Google credentials: gcloud auth application-default login, or an identity for the job"
            ) from None
        except (GoogleAPIError, GoogleAuthError, RequestException) as error:
            raise StoreError(f"{where}: {error}") from None

    def put(self, name: str, data: bytes) -> None:
        blob = self._bucket.blob(self._key(name))
        if self._lock_days:  # unlocked: who may override a lock can lift it, the writer cannot
            lock = blob.retention
            lock.mode = "Unlocked"
            lock.retain_until_time = datetime.now(UTC) + timedelta(days=self._lock_days)
        try:
            with self._translated(name):  # generation 0: only where there is none; crc32c is checked by the store
                blob.upload_from_string(
                    data, content_type="application/octet-stream", if_generation_match=0, checksum="crc32c", timeout=120
                )
        except TakenError:
            self._same(name, data)

    def point(self, name: str, data: bytes) -> None:
        raise RefusedError(
            f"{self.uri}/{name}: on Google Cloud a writer that cannot delete cannot replace ({len(data)} bytes)"
        )

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        end = None if length is None else start + length - 1
        with self._translated(name):
            return bytes(
                self._bucket.blob(self._key(name)).download_as_bytes(start=start or None, end=end, timeout=120)
            )

    def list(self, below: str = "") -> dict[str, int]:
        with self._translated(below):
            blobs = self._client.list_blobs(self._bucket, prefix=self._key(below), timeout=120)
            return {blob.name[len(self._prefix) :]: int(blob.size) for blob in blobs}

    def written(self, below: str = "") -> dict[str, datetime]:
        with self._translated(below):
            blobs = self._client.list_blobs(self._bucket, prefix=self._key(below), timeout=120)
            return {blob.name[len(self._prefix) :]: blob.updated for blob in blobs}

    def remove(self, name: str) -> None:
        with self._translated(name):
            self._bucket.blob(self._key(name)).delete(timeout=120)


class AzureStore(_Below):
    """A container of Azure Blob Storage; AZURE_STORAGE_CONNECTION_STRING stands in for the account's public address."""

    def __init__(self, uri: str, account: str, container: str, prefix: str) -> None:
        super().__init__(uri, prefix)
        blob = _client("azure.storage.blob", "az")
        if connection := os.environ.get("AZURE_STORAGE_CONNECTION_STRING"):
            service = blob.BlobServiceClient.from_connection_string(connection)
        else:
            identity = _client("azure.identity", "az")
            for noisy in ("azure.identity", "azure.core"):  # a paragraph for each kind of login that is not there
                logging.getLogger(noisy).setLevel(logging.CRITICAL)
            # Without limits a machine without a network waits for minutes for the metadata of a machine.
            login = identity.DefaultAzureCredential(connection_timeout=10, read_timeout=20, retry_total=1)
            try:  # once: the client of the store asks four times, and waits a minute and a half meanwhile
                login.get_token("https://storage.azure.com/.default")
            except _client("azure.core.exceptions", "az").ClientAuthenticationError:
                raise StoreError(f"{uri}: no login to Azure: az login, or an identity for the job") from None
            service = blob.BlobServiceClient(f"https://{account}.blob.core.windows.net", credential=login)
        self._container = service.get_container_client(container)

    @contextlib.contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

        where = f"{self.uri}/{name}".rstrip("/")
        try:
            yield
        except HttpResponseError as error:
            code = str(getattr(error, "error_code", "") or "")
            if code in (
                "BlobAlreadyExists",
                "UnauthorizedBlobOverwrite",
                "ConditionNotMet",
                "BlobImmutableDueToPolicy",
            ):
                raise TakenError(f"{where}: is taken") from None
            if code in ("ContainerNotFound", "ResourceNotFound", "InvalidResourceName"):
                raise RefusedError(f"{where}: the container does not exist in this account") from None
            if isinstance(error, ClientAuthenticationError) or error.status_code in (401, 403):
                raise RefusedError(
                    f"{where}: {code or 'permission denied'}; the job's identity needs read and write of blobs there"
                ) from None
            if error.status_code == 404:
                raise MissingError(f"{where}: there is no such blob") from None
            raise StoreError(f"{where}: {error.message}") from None
        except AzureError as error:
            raise StoreError(f"{where}: {error}") from None

    def put(self, name: str, data: bytes) -> None:
        try:
            self._write(name, data, replace=False)
        except TakenError:
            self._same(name, data)

    def point(self, name: str, data: bytes) -> None:
        self._write(name, data, replace=True)

    def _write(self, name: str, data: bytes, *, replace: bool) -> None:
        with self._translated(name):
            self._container.upload_blob(self._key(name), data, overwrite=replace, validate_content=True, timeout=120)

    def get(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        part = {"offset": start, "length": length} if start or length is not None else {}
        with self._translated(name):
            return bytes(self._container.download_blob(self._key(name), timeout=120, **part).readall())

    def list(self, below: str = "") -> dict[str, int]:
        with self._translated(below):
            blobs = self._container.list_blobs(name_starts_with=self._key(below), timeout=120)
            return {blob.name[len(self._prefix) :]: int(blob.size) for blob in blobs}

    def written(self, below: str = "") -> dict[str, datetime]:
        with self._translated(below):
            blobs = self._container.list_blobs(name_starts_with=self._key(below), timeout=120)
            return {blob.name[len(self._prefix) :]: blob.last_modified for blob in blobs}

    def remove(self, name: str) -> None:
        with self._translated(name):
            self._container.delete_blob(self._key(name), timeout=120)


def _range(start: int, length: int | None) -> str:
    return f"bytes={start}-" if length is None else f"bytes={start}-{start + length - 1}"


def _client(module: str, scheme: str) -> Any:
    import importlib
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # Google's, of a Python that has a year to go
            return importlib.import_module(module)
    except ImportError:
        package = {"google.cloud.storage": "google-cloud-storage"}.get(module, module.replace(".", "-"))
        raise RefusedError(f"{scheme}:// needs {package} in the image: pip install {package}") from None
