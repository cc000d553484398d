"""A step logged by a module that needs no `logging` otherwise; `cli/log_output.py` says where it goes."""

import sys


def log(room: str, text: str, *values: object) -> None:
    """Log a step of a module that commands import which need no `logging` otherwise; nothing where nobody records."""
    if "logging" in sys.modules:
        sys.modules["logging"].getLogger(room).info(text, *values)
