"""Managed services of the clouds: their titles, what kinds of work they run, in which markets they sell machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RAW: Final = "raw"
TITLES: Final = {
    "sagemaker": "SageMaker",
    "hyperpod": "SageMaker HyperPod",
    "vertex": "Vertex AI",
    "cloud-run": "Cloud Run",
    "azureml": "Azure ML",
}
ASKED_ONLY: Final = ("hyperpod",)  # its machines bill from creation to the end: taken where the spec asks for it
STANDING: Final = ("hyperpod",)  # services that keep a number of machines, whether or not they work
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "sagemaker": ("training", "fine-tuning", "inference", "notebook"),
    "hyperpod": ("training", "fine-tuning"),
    "vertex": ("training", "fine-tuning", "inference"),
    "cloud-run": ("inference",),
    "azureml": ("training", "fine-tuning", "batch-inference", "inference", "notebook"),
}
# What the catalog calls the use of a type on SageMaker.
SAGEMAKER_USE: Final = {
    "training": "training",
    "fine-tuning": "training",
    "inference": "hosting",
    "notebook": "notebook",
}
MARKETS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {  # (service, kind or "") -> markets that it sells in
    ("sagemaker", "training"): ("on-demand", "spot"),
    ("sagemaker", "fine-tuning"): ("on-demand", "spot"),
    ("vertex", "training"): ("on-demand", "spot", "flex-start"),
    ("vertex", "fine-tuning"): ("on-demand", "spot", "flex-start"),
    ("azureml", ""): ("on-demand", "spot"),
}


def markets_of(service: str, kind: str) -> tuple[str, ...]:
    """The markets in which a managed service sells machines for a kind of work.

    >>> markets_of("sagemaker", "training"), markets_of("sagemaker", "notebook"), markets_of("azureml", "notebook")
    (('on-demand', 'spot'), ('on-demand',), ('on-demand', 'spot'))
    """
    return MARKETS.get((service, kind)) or MARKETS.get((service, "")) or ("on-demand",)
