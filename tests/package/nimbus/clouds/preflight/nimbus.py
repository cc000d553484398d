"""What is asked of Nimbus before a stack is built."""

from __future__ import annotations

from collections.abc import Iterator

from sizewell.clouds.nimbus import Nimbus

from sizewell.clouds.preflight.findings import Finding, Question
from sizewell.clouds.preflight.needs import Needs


def account(needs: Needs, client: Nimbus, /) -> Iterator[Finding]:
    """Who is logged in."""
    del needs, client
    yield Finding("account", "ok", "logged in")


def questions(needs: Needs, client: Nimbus, /) -> dict[str, Question]:
    """Nothing else."""
    del needs, client
    return {}
