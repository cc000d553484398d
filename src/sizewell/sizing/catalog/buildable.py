"""What of a cloud's machine types the components bring up, as far as it is less than what the cloud sells."""

from __future__ import annotations

from typing import Final

from sizewell.sizing.catalog import lifetimes
from sizewell.sizing.catalog.compatibility import undriven
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.providers import CLOUDS

ON_CLUSTERS: Final = ("kubernetes", "ray")
NODES_MAX: Final = 2048
"""Of one job: 16,384 devices at eight a machine, as many as anybody has published a run on."""


def refusal(shape: Shape, *, family: str, scheduler: str, managed: str) -> str:
    """Why no component brings a machine type up for a spec's scheduler and service; "" where one does.

    `family` is that of its accelerator.
    """
    cloud = CLOUDS.get(shape.cloud)
    for each in cloud.machines.not_provisioned if cloud else ():
        if each.trait in shape.traits and scheduler not in each.schedulers and managed not in each.services:
            return each.reason
    if cloud and managed in ("auto", "raw") and shape.runtime == "cuda":
        service = cloud.cluster.name.lower() if scheduler in ON_CLUSTERS else shape.cloud
        virtual = "virtual-gpu" in shape.traits
        return undriven(lifetimes.load(), service, shape.accelerator, family, virtual=virtual)
    return ""


def together_max(shape: Shape) -> int:
    """Most machines of a type that one job runs on; Azure's without InfiniBand are in no partition and work alone.

    >>> from sizewell.sizing.catalog import load
    >>> together_max(load().shape("azure", "Standard_NC40ads_H100_v5"))
    1
    >>> together_max(load().shape("azure", "Standard_ND96isr_H100_v5"))
    100
    """
    if shape.cloud not in CLOUDS:
        return NODES_MAX
    machines = CLOUDS[shape.cloud].machines
    if machines.together_only_by and shape.fabric != machines.together_only_by:
        return 1
    if machines.fabric_max is not None and shape.fabric.startswith(machines.fabric_max[0]):
        return machines.fabric_max[1]
    return min(NODES_MAX, machines.group_max or NODES_MAX)
