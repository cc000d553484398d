"""How large the boot disk of a machine is: what lands there, with room to spare.

Images, weights that are downloaded and what engines compile lie on it, and the shards of a training run whose entry
script copies them from object storage. Pods have a cache each; without a cluster the containers of a machine share one.
Where a cluster puts what pods write onto the machine's own disks (`Machines.pods_on_local_disks`), or a machine boots
from its temporary disk, those hold it, and nothing is paid for twice.

Estimates: an operating system with drivers takes 40 GB; an image three and a half times what is pulled, as it is kept
packed and unpacked; compiled kernels and graphs 10 GB. A seventh stays free: Kubernetes begins to remove images at 85 %
(imageGCHighThresholdPercent, kubernetes.io/docs/concepts/architecture/garbage-collection, 2026-11-28).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Protocol

from sizewell.sizing.billing import costing
from sizewell.sizing.billing.standing import WITH_CLUSTER
from sizewell.sizing.catalog.managed import RAW
from sizewell.sizing.choose.start_up import loaded_bytes
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.sizing.choose.candidates import Candidate
    from sizewell.sizing.choose.fleet import Fleet
    from sizewell.sizing.choose.setting import Setting
    from sizewell.sizing.choose.shared_storage import FileSystem

LEAST_GIGABYTES: Final = 200
STEP_GIGABYTES: Final = 100
SYSTEM_GIGABYTES: Final = 40
COMPILED_GIGABYTES: Final = 10
FULL: Final = 0.85
UNPACKED: Final = 3.5
# As they are pulled: vllm/vllm-openai is about 12 GB (vllm-project/vllm issue 27154, October 2025), rocm/vllm about
# 22 GB (ROCm/vllm issue 363, January 2025); others are taken to be like the first.
IMAGE_GIGABYTES: Final = Decimal(12)
ROCM_IMAGE_GIGABYTES: Final = Decimal(22)


class Placed(Protocol):
    """What has to be known of an option."""

    @property
    def setting(self) -> Setting: ...
    @property
    def candidate(self) -> Candidate: ...
    @property
    def fleet(self) -> Fleet: ...
    @property
    def managed(self) -> str: ...
    @property
    def scheduler(self) -> str: ...
    @property
    def storage(self) -> FileSystem | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A machine's boot disk, and what lands on the machine."""

    gigabytes: int
    weights_bytes: float  # of one copy
    copies: int
    data_bytes: float  # shards that the entry script copies
    elsewhere: bool  # the machine's own disks take what lands
    too_much: bool  # more lands than the largest disk holds; without the data it is as large as this

    @property
    def usual(self) -> bool:
        return self.gigabytes == LEAST_GIGABYTES and not self.elsewhere and not self.too_much


def image_gigabytes(runtime: str) -> Decimal:
    return ROCM_IMAGE_GIGABYTES if runtime == "rocm" else IMAGE_GIGABYTES


def copies_of_weights(option: Placed) -> int:
    """How often a machine downloads the weights: once for each of its replicas' pods, and once without a cluster."""
    if option.setting.need.serving is None or option.scheduler not in WITH_CLUSTER:
        return 1
    return max(1, option.candidate.shape.accelerators // option.fleet.devices_per_replica)


def disk_of_machine(option: Placed) -> Disk:
    """The boot disk of an option's machines."""
    need, shape = option.setting.need, option.candidate.shape
    weights, copies = loaded_bytes(need.training or need.serving), copies_of_weights(option)
    job = need.training
    data = float(need.data_bytes) if job is not None and job.entry_script and option.storage is None else 0.0
    wanted = gigabytes_for(shape.runtime, weights * copies + data)
    if shape.cloud not in CLOUDS or option.managed == "cloud-run":
        elsewhere, largest = False, wanted
    else:
        machines = CLOUDS[shape.cloud].machines
        largest = machines.boot_disk_gib_max // STEP_GIGABYTES * STEP_GIGABYTES
        pods = option.managed == RAW and option.scheduler in WITH_CLUSTER
        elsewhere = wanted > LEAST_GIGABYTES and pods and machines.pods_on_local_disks
        elsewhere = elsewhere and shape.local_nvme_bytes >= wanted * costing.BILLED_GIGABYTE
    too_much = not elsewhere and wanted > largest
    if elsewhere:
        wanted = LEAST_GIGABYTES
    elif too_much:
        wanted = min(largest, gigabytes_for(shape.runtime, weights * copies))
    return Disk(
        gigabytes=wanted,
        weights_bytes=weights,
        copies=copies,
        data_bytes=data,
        elsewhere=elsewhere,
        too_much=too_much,
    )


def gigabytes_for(runtime: str, landed_bytes: float) -> int:
    """The disk for so many bytes beside system and image.

    >>> [gigabytes_for("cuda", landed) for landed in (16e9, 141e9, 671e9)], gigabytes_for("rocm", 70e9)
    ([200, 300, 900], 300)
    """
    fixed = SYSTEM_GIGABYTES + COMPILED_GIGABYTES + UNPACKED * float(image_gigabytes(runtime))
    wanted = (fixed + landed_bytes / costing.BILLED_GIGABYTE) / FULL
    return max(LEAST_GIGABYTES, math.ceil(wanted / STEP_GIGABYTES) * STEP_GIGABYTES)


def said(option: Placed, disk: Disk) -> list[str]:
    """Why a disk is larger than usual, or what takes the weights in its place; [] where it is as usual."""
    if disk.usual:
        return []
    parts = []
    if disk.weights_bytes:
        times = f"{disk.copies} times " if disk.copies > 1 else ""
        parts.append(f"weights, {times}{_gigabytes(disk.weights_bytes)}")
    if disk.data_bytes:
        parts.append(f"data that the entry script copies, {_gigabytes(disk.data_bytes)}")
    landed = "; ".join(parts)
    if disk.elsewhere:
        local = _gigabytes(float(option.candidate.shape.local_nvme_bytes))
        return [f"the machine's own disks, {local}, hold what lands on it ({landed}); its boot disk stays as it is"]
    if disk.too_much:
        return [
            (
                f"more lands on each machine than a boot disk of this cloud holds ({landed}): mount a volume with it, "
                f"and name its folder in the run; the disk of {disk.gigabytes:,} GB is without that"
            )
        ]
    read = "weights that are streamed from a bucket or " if disk.weights_bytes else "what is "
    return [
        f"boot disks of {disk.gigabytes:,} GB hold what lands on each machine ({landed}; system and image, estimate); "
        + read
        + "read from a mounted file system would not need it"
    ]


def _gigabytes(size: float) -> str:
    """In the gigabytes that disks are sold and traffic is billed by.

    >>> _gigabytes(141.1e9)
    '131.4 GiB'
    """
    return f"{size / costing.BILLED_GIGABYTE:,.1f} GiB"
