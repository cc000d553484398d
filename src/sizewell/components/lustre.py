"""Lustre on machines without Kubernetes, whatever the cloud, and the refusal of file systems that nothing mounts."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from sizewell.components.faults import Faults
from sizewell.launch.volumes import has_files
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Pool, Workload

F = TypeVar("F")  # what a cloud made of a file system
OPTIONS = "defaults,noatime,flock,_netdev,x-systemd.automount,x-systemd.requires=network-online.target"


def fstab(source: str, path: str) -> list[str]:
    """Shell commands that enter a file system, as ADDRESS@tcp:/NAME, to be mounted at `path` at every boot."""
    return [f"mkdir -p {path}", f"echo '{source} {path} lustre {OPTIONS} 0 0' >> /etc/fstab"]


def check_mounts(faults: Faults, mounts: Sequence[Mapping[str, object]], *, needs: Sequence[str]) -> None:
    """Every mount has a place of its own below the root, and all that `needs` names of its file system."""
    paths = [str(mount.get("path", "")) for mount in mounts]
    for number, path in enumerate(paths):
        faults.must(
            bool(re.fullmatch(r"(/[\w-]+)+", path)) and path.split("/")[1] not in ("etc", "usr", "var", "opt", "dev"),
            f"mounts[{number}].path",
            f"must be a folder of its own such as /data, got {path!r}",
        )
    faults.must(len(set(paths)) == len(paths), "mounts", f"name a path twice: {', '.join(paths)}")
    for number, mount in enumerate(mounts):
        for key in needs:
            faults.must(bool(key in mount), f"mounts[{number}].{key}", "is missing", fix="an output of SharedStorage")


def stored(pairs: Sequence[tuple[Workload, Pool]], files: Mapping[str, F]) -> list[tuple[Workload, F]]:
    """The workloads of `pairs` that have a file system in `files` (by workload), each once, and that file system."""
    workloads = {workload.spec.name: workload for workload, _ in pairs}
    return [(workload, files[name]) for name, workload in workloads.items() if name in files]


def check_mounted(
    pairs: Sequence[tuple[Workload, Pool]],
    *,
    target_of: Callable[[Workload, Pool], str],
    mounting: Collection[str],
    stack: str,
) -> None:
    """ConfigError with every workload whose file system would bill without anything that mounts it.

    `mounting` are the targets whose machines or pods do.
    """
    faults = [
        Fault(
            path=f"{workload.spec.name}.storage",
            message=(
                f"is a file system ({workload.storage.kind}) that would be billed but not mounted: "
                f"{target_of(workload, pool)} runs this workload on its own machines"
            ),
            fix="decide again without managed:, or with storage of kind object",
        )
        for workload, pool in pairs
        if workload.storage is not None and has_files(workload) and target_of(workload, pool) not in mounting
    ]
    if faults:
        raise ConfigError(faults, subject=f"decision of {stack}")
