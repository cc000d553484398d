"""Inference on a machine without accelerator: what a processor reaches, and as what a job runs there.

The roofline is that of the accelerators: FLOP/s and memory bandwidth times what the engines reach of both. The shares
are set by the cases below and checked against them (tests/performance/test_processors.py); there are too few to fit a
band from, so it is wide and the grade is the lowest. Matrix units (AMX) are not counted: of the engines that are
launched here nobody has published what they reach on shares of a socket.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sizewell.sizing.catalog.engines import engine_for
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.predict.architecture import is_speech_recognizer
from sizewell.sizing.records.jobs import ServingJob

COMPUTE: Final = 0.45  # of peak FLOP/s at the base clock, prompts through llama.cpp: 0.3 to 0.5 published
MEMORY: Final = 0.85  # of the share of the socket's bandwidth: llama.cpp reaches 0.8 to 1.25 of it on few cores
SAMPLES: Final = 0.50  # of peak FLOP/s at the base clock, vision models in fp32; encoders by their relative speed
ENCODERS: Final = 1.33  # their products are larger: speed relative to vision models
QUANTISED: Final = 0.55  # of that share with 8-bit integers: 0.4 to 1.0 published
BAND: Final = (0.5, 2.0)  # estimate; nine of the ten published cases lie inside
FORMATS: Final = frozenset({"fp32", "bf16", "fp16", "int8", "int4", "fp4"})  # llama.cpp's own; MXFP4 since August 2025
SAMPLE_FORMATS: Final = frozenset({"fp32", "int8"})  # what encoders and vision models are computed in


def relative(weights: str) -> float:
    """What encoders and vision models reach in a precision, relative to `SAMPLES`."""
    return QUANTISED if weights == "int8" else 1.0


def refusal(job: ServingJob) -> str:
    """Why a job does not run on a processor; "" where it does.

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> refusal(ServingJob(architecture=Architecture(key="unet", kind="diffusion")))
    'no supported engine serves diffusion models without an accelerator'
    """
    kind = job.architecture.kind
    if kind == "diffusion" or job.passes_per_sample > 1:
        return "no supported engine serves diffusion models without an accelerator"
    if is_speech_recognizer(job.architecture):
        return "no supported engine serves speech without an accelerator"
    if job.weights not in FORMATS or (kind != "decoder" and job.weights in ("int4", "fp4")):
        return f"{job.weights} weights of {kind} models have no released kernels on processors"
    return ""


def as_run(job: ServingJob, engine: str = "") -> ServingJob:
    """The job as it runs on a processor: its engine, and for encoders and vision models the precision computed in.

    >>> from sizewell.sizing.catalog.records import Architecture
    >>> run = as_run(ServingJob(architecture=Architecture(key="bert", kind="encoder"), weights="bf16"))
    >>> run.engine, run.weights
    ('text-embeddings-inference', 'fp32')
    """
    kind = job.architecture.kind
    weights = job.weights if kind == "decoder" or job.weights in SAMPLE_FORMATS else "fp32"
    return replace(job, engine=job.engine if engine else engine_for(kind, RUNTIME).predicted_as, weights=weights)
