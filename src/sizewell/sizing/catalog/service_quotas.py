"""How quotas of managed services name accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERTEX_GPUS: Final[Mapping[str, str]] = {
    "t4": "t4",
    "l4": "l4",
    "p4": "p4",
    "p100": "p100",
    "v100-16gb": "v100",
    "a100-40gb-sxm": "a100",
    "a100-80gb-sxm": "a100_80gb",
    "h100-sxm": "h100",
    "rtx-pro-6000-bse": "rtx_pro_6000",
}
"""In the metrics of aiplatform.googleapis.com: the tables of gcloud's own `ai model-garden models deploy`."""

CLOUD_RUN_GPUS: Final[Mapping[str, str]] = {"l4": "nvidia_l4"}
"""In the metrics of run.googleapis.com."""
