"""Components that work on a Kubernetes cluster of any origin. Each class below is public; the modules are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizewell import lazy

if TYPE_CHECKING:
    from sizewell.components.kubernetes.adopted import AdoptedPool
    from sizewell.components.kubernetes.burn_in import BurnIn
    from sizewell.components.kubernetes.notebook import NotebookServer
    from sizewell.components.kubernetes.operators import Operators
    from sizewell.components.kubernetes.queueing import Queueing
    from sizewell.components.kubernetes.serving import ServedModel
    from sizewell.components.kubernetes.training import BatchRun, TrainingRun

__all__ = [
    "AdoptedPool",
    "BatchRun",
    "BurnIn",
    "NotebookServer",
    "Operators",
    "Queueing",
    "ServedModel",
    "TrainingRun",
]

if not TYPE_CHECKING:  # an editor would take every name for an existing one
    __getattr__ = lazy.names(
        __name__,
        {
            "AdoptedPool": "sizewell.components.kubernetes.adopted",
            "BatchRun": "sizewell.components.kubernetes.training",
            "BurnIn": "sizewell.components.kubernetes.burn_in",
            "NotebookServer": "sizewell.components.kubernetes.notebook",
            "Operators": "sizewell.components.kubernetes.operators",
            "Queueing": "sizewell.components.kubernetes.queueing",
            "ServedModel": "sizewell.components.kubernetes.serving",
            "TrainingRun": "sizewell.components.kubernetes.training",
        },
    )
