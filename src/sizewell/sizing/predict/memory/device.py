"""What a program can really allocate on a device."""

from __future__ import annotations

from sizewell.sizing.catalog.records import Accelerator

# The CUDA runtime keeps about half a percent of what nvidia-smi lists: an H100 lists 81,559 MiB, cudaMemGetInfo says
# 79.19 GiB (vLLM 0.19 start-up logs); an A100-40GB lists 40,960 MiB and says 39.39 GiB with ECC on.
_CUDA_VISIBLE = 0.9943


def usable_bytes(accelerator: Accelerator) -> int:
    """Bytes of device memory that a process and its driver context can use together."""
    share = _CUDA_VISIBLE if accelerator.runtime == "cuda" else 1.0
    return int(accelerator.memory_bytes * share)
