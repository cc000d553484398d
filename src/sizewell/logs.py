"""Steps and details logged by modules that need no `logging` otherwise; `cli/log_output.py` says where they go.

A step is what a command does and decides: one line for a stack, workload or file. A detail is why: a line for each
resource, machine type or case. Both are silent, and `logging` is not imported, until somebody asks for them. Neither
has values of a configuration in it, which may be secret.
"""

import sys


def log(room: str, text: str, *values: object) -> None:
    """Log a step, under the name of its module."""
    if "logging" in sys.modules:
        sys.modules["logging"].getLogger(room).info(text, *values)


def detail(room: str, text: str, *values: object) -> None:
    """Log a detail, under the name of its module."""
    if "logging" in sys.modules:
        sys.modules["logging"].getLogger(room).debug(text, *values)


def has_details() -> bool:
    """Whether anybody records details: to be asked before a loop that does nothing but log them."""
    logging = sys.modules.get("logging")
    return logging is not None and logging.getLogger("sizewell").isEnabledFor(logging.DEBUG)
