"""How long a run or a replica takes to start: a machine boots, pulls its image, loads the weights, warms up.

All four are estimates from memory, none is measured by this project: a machine with accelerators joins its cluster
some four minutes after it was asked for; an image of 8 to 10 GB is pulled and unpacked in two; a machine streams
weights from object storage at about a gigabyte a second; engines compile and capture, and frameworks build their
groups, in one.
"""

from __future__ import annotations

from typing import Final

from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.records.jobs import ServingJob, TrainingJob

BOOT_S: Final = 240.0
IMAGE_S: Final = 120.0
WARM_UP_S: Final = 60.0
LOAD_BYTES_PER_S: Final = 1e9
_STORED: Final = {"fp32": 4.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5625, "int4": 0.5625}


def start_up_s(job: ServingJob | TrainingJob | None) -> float:
    """Seconds before the first step or answer, with the weights that are loaded; None where no model is.

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> a = Architecture(key="x", layers=2, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=128256)
    >>> round(start_up_s(ServingJob(architecture=a)) - start_up_s(None))
    3
    """
    return BOOT_S + IMAGE_S + WARM_UP_S + loaded_bytes(job) / LOAD_BYTES_PER_S


def loaded_bytes(job: ServingJob | TrainingJob | None) -> float:
    """Bytes of weights that a machine loads; a model that is trained from nothing has none. What is quantised while it
    is loaded is stored in 16 bits, and so is a language model that training holds in 32.
    """
    if job is None or (isinstance(job, TrainingJob) and job.method == "pretrain"):
        return 0.0
    if isinstance(job, ServingJob):
        at_load = job.made_at_load
    else:
        at_load = job.method == "qlora" or (job.weights == "fp32" and job.architecture.kind == "decoder")
    stored = "bf16" if at_load else job.weights
    own = params_total(job.architecture) * _STORED.get(stored, 2.0)
    return own + (loaded_bytes(job.drafting) if isinstance(job, ServingJob) else 0.0)
