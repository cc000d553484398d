"""`checkpoint` and `store` as a job has them: flat, beside each other on its path, with errors of their own."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parents[2] / "src/sizewell/launch/scripts")
if FOLDER not in sys.path:
    sys.path.append(FOLDER)

import checkpoint  # noqa: E402
import store  # noqa: E402

__all__ = ["checkpoint", "store"]
