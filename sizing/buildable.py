"""What of a cloud's machine types the components bring up, as far as it is less than what the cloud sells."""

from __future__ import annotations

from typing import Final

from sizing.catalog.records import Shape

RACKS: Final = ("gb200", "gb300")  # chips whose machines are parts of an NVLink rack
RACKS_REFUSED: Final = ("aws", "azure")


def refusal(shape: Shape) -> str:
    """Why no component brings a machine type up; "" where one does."""
    if shape.accelerator in RACKS and shape.cloud in RACKS_REFUSED:
        return "no component brings up machines of an NVLink rack (driver, network cards, Arm)"
    return ""


def works_alone(shape: Shape) -> bool:
    """Whether several of these machines cannot work on one job: Azure's without InfiniBand stand in no partition.

    >>> from sizing.catalog import load
    >>> works_alone(load().shape("azure", "Standard_NC40ads_H100_v5")), works_alone(load().shape("aws", "g6e.xlarge"))
    (True, False)
    """
    return shape.cloud == "azure" and shape.fabric != "infiniband"
