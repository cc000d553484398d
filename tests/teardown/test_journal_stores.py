"""Journal, lock and conditional writes against servers that we did not write: moto's S3, Azurite, fake-gcs-server.

Azurite is an npm package and fake-gcs-server a Go program; where they are not on PATH one line says so.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.frameworks

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / ".venv-train/bin/python"
# The account and key that Azurite documents.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, f"{command[0]} ended"
                time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()


def needed(*names: str) -> None:
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not on PATH: {', '.join(missing)}")


@contextmanager
def s3(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    needed()
    port = free_port()
    program = f"from moto.server import main; main(['-p', '{port}'])"
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with running([str(TRAIN), "-c", program], port):
        make = "import boto3; boto3.client('s3').create_bucket(Bucket='records')"
        subprocess.run([TRAIN, "-c", make], check=True, env={**os.environ, **settings})
        yield "s3://records/teardown", settings


@contextmanager
def azurite(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    needed("azurite-blob")
    port = free_port()
    connection = (
        f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};"
        f"BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
    )
    options = ["--blobPort", str(port), "--location", str(folder), "--silent", "--skipApiVersionCheck"]
    with running(["azurite-blob", *options], port):
        make = (
            "import os; from azure.storage.blob import BlobServiceClient as S; "
            "S.from_connection_string(os.environ['AZURE_STORAGE_CONNECTION_STRING']).create_container('records')"
        )
        settings = {"AZURE_STORAGE_CONNECTION_STRING": connection}
        subprocess.run([TRAIN, "-c", make], check=True, env={**os.environ, **settings})
        yield "az://devstoreaccount1/records/teardown", settings


@contextmanager
def gcs(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    needed("fake-gcs-server")
    port = free_port()
    host = f"http://127.0.0.1:{port}"
    options = ["-scheme", "http", "-port", str(port), "-backend", "memory", "-external-url", host]
    with running(["fake-gcs-server", *options], port):
        body = json.dumps({"name": "records"}).encode()
        made = urllib.request.Request(  # noqa: S310
            f"{host}/storage/v1/b?project=p", body, {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(made).close()  # noqa: S310
        settings = {"STORAGE_EMULATOR_HOST": host, "GOOGLE_CLOUD_PROJECT": "p"}
        yield "gs://records/teardown", settings


@contextmanager
def file(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    yield f"file://{folder}/records", {}


@pytest.mark.soak
@pytest.mark.parametrize("server", [file, s3, azurite, gcs], ids=lambda server: server.__name__)
def test_journal_and_locks_hold_at_a_real_store(tmp_path: Path, server) -> None:
    with server(tmp_path) as (uri, settings):
        python = TRAIN if TRAIN.exists() else sys.executable
        done = subprocess.run(
            [python, ROOT / "tests/teardown/journal_check.py", uri],
            env={**os.environ, "PYTHONPATH": f"{ROOT}/src", **settings},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout.splitlines()[-1])
    assert told == {
        "first": 1,
        "number": 1,
        "held": "refused",
        "after": 2,
        "fence": "refused",
        "condition": "refused",
        "winners": list(range(6)),
        "more winners": False,
        "records": sorted([f"s-{who}", str(number)] for who in range(3) for number in range(5)),
    }
