"""How the programs of this folder are written down: what they are for decides which profile they are judged under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weak.rows import Row

Purpose = Literal["serving", "scheduled", "reserved", "web", "data"]


@dataclass(frozen=True)
class Program:
    """A program as a platform team writes it that has read its cloud's guides."""

    name: str
    purpose: Purpose
    rows: list[Row]
    stack: str = "prod"
