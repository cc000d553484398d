"""The file system that a decision puts beside its machines: its folder, and who reads from there. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sizewell.launch.launch import Launch
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Workload

DATA: Final = "/data"  # where it is mounted unless the run says another folder
LINKED: Final = "data"  # the folder in FSx for Lustre that mirrors the S3 location; the other kinds start empty


def has_files(workload: Workload) -> bool:
    """Whether a file system stands beside the workload's machines, rather than objects alone."""
    return workload.storage is not None and workload.storage.kind != "object"


def linked(workload: Workload) -> bool:
    """Whether the file system shows by itself what the decision's location names."""
    storage = workload.storage
    return storage is not None and storage.kind == "fsx-lustre" and (storage.location or "").startswith("s3://")


def with_claim(launch: Launch, workload: Workload, claim: str) -> Launch:
    """The launch with the workload's claim mounted: at the folder that its run names for it, else at `DATA`.

    ConfigError where the run mounts another claim there.
    """
    claims = dict(launch.run.claims)
    if claim not in claims:
        if taken := next((name for name, path in claims.items() if path.rstrip("/") == DATA), None):
            message = f"mounts {taken} at {DATA}, which is the mount point of the decision's file system"
            fix = f"pulumi config set --path 'sizewell:run.{workload.spec.name}.claims.{claim}' /FOLDER"
            fault = Fault(path=f"run.{workload.spec.name}.claims", message=message, fix=fix)
            raise ConfigError([fault], subject=f"run {launch.plan.name}")
        claims[claim] = DATA
    launch = replace(launch, run=replace(launch.run, claims=tuple(claims.items())))
    return reading(launch, workload, folder=claims[claim])


def reading(launch: Launch, workload: Workload, *, folder: str = DATA) -> Launch:
    """The launch of a training run that reads its data from the mounted file system, where they appear by themselves.

    Elsewhere the run goes on reading the location: an empty file system is filled by whoever knows what belongs there.
    """
    if not linked(workload) or launch.plan.kind not in ("training", "fine-tuning"):
        return launch
    return replace(launch, plan=replace(launch.plan, data=f"{folder.rstrip('/')}/{LINKED}"))
