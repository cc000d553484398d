"""What the stand-in says of its stock: nothing."""

from __future__ import annotations

from typing import Any, Final

from sizewell.clouds.preflight.needs import Machines, Needs
from sizewell.clouds.stock.rows import Answers, Question, Row, of

SOLD: Final = ""
SOURCES: Final[dict[str, tuple[str, ...]]] = {}


def account(needs: Needs, _client: Any) -> str:
    return needs.stack


def questions(_needs: Needs, _client: Any, _account: str) -> dict[str, Question]:
    return {}


def further(_needs: Needs, _client: Any, _account: str, _got: Answers) -> dict[str, Question]:
    return {}


def rows(machines: Machines, needs: Needs, _got: Answers) -> list[Row]:
    return [of(machines, needs.cloud, "", "unknown", "publishes no stock")]
