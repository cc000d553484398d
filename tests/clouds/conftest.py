"""The stand-in server of REST APIs as a fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clouds.rest_server import Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running
