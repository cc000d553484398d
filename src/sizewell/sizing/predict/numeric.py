"""numpy, loaded when a formula of training first asks for it: services are sized without it, and sooner by its import.

Modules that a service's sizing loads as well have it from here; those of training alone import it themselves.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> object:
            value = getattr(importlib.import_module("numpy"), name)
            setattr(self, name, value)  # found there from now on
            return value

    np = _Numpy()
