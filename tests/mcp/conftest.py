"""A project of `sizewell init` with a backend that has no stacks, and a client that is connected to its server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sizewell.cli.main import main

from .clients import Client, connected

ANSWERS = ("--cloud", "aws", "--account", "123456789012", "--owner", "@acme/ml", "--notify", "ml@example.com")
ENGINE = """#!/bin/sh
case "$*" in
  *whoami*) echo '{"url": "file:///backend"}' ;;
  *"stack ls"*) echo '[]' ;;
  *) echo "not of this test: $*" >&2; exit 1 ;;
esac
"""


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agents") / "shop"
    assert main(["init", str(folder), *ANSWERS, "--forge", "github", "--offline", "--no-input", "-q"]) == 0
    settings = folder / "stacks/config/teardown.yaml"
    journal = folder.parent / "journal"
    journal.mkdir()
    settings.write_text(re.sub(r"(?m)^journal: .*$", f"journal: file://{journal}", settings.read_text()))
    return folder


@pytest.fixture(scope="package")
def client(shop: Path) -> Iterator[Client]:
    engine = shop.parent / "bin/pulumi"
    engine.parent.mkdir()
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    environment = {"PATH": f"{engine.parent}:/usr/bin:/bin", "XDG_CACHE_HOME": str(shop.parent / "cache")}
    environment |= {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}  # nobody is logged in
    with connected(shop, environment) as made:
        yield made


@pytest.fixture
def unchanged(shop: Path) -> Iterator[None]:
    """Nothing of the project is written, whatever is asked."""
    before = _files(shop)
    yield
    assert _files(shop) == before


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
