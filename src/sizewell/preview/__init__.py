"""What a change costs, buys and destroys: `run` compares two sides of each stack, `render` writes what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell import lazy

if TYPE_CHECKING:
    from sizewell.preview.pipeline import Request
    from sizewell.preview.pipeline import run_preview as run
    from sizewell.preview.records import Preview

__all__ = ["Preview", "Request", "run"]

if not TYPE_CHECKING:  # an editor would take every name for an existing one
    __getattr__ = lazy.names(
        __name__,
        {
            "Preview": "sizewell.preview.records",
            "Request": "sizewell.preview.pipeline",
            "run": "sizewell.preview.pipeline:run_preview",
        },
    )
