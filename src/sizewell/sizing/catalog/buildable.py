"""What of a cloud's machine types the components bring up, as far as it is less than what the cloud sells."""

from __future__ import annotations

from typing import Final

from sizewell.sizing.catalog.records import Shape

RACKS_REFUSED: Final = ("aws", "azure")

NODES_MAX: Final = 2048
"""Of one job: 16,384 devices at eight a machine, as many as anybody has published a run on."""

FABRIC_NODES_MAX: Final = 252
"""On Google Cloud: addresses in the subnetwork that each accelerator interface has (components/gcp/network.py)."""

POOL_NODES_MAX: Final = {"azure": 100, "gcp": 1000}
"""Machines in a placement group, which is an InfiniBand partition (learn.microsoft.com, "Virtual Machine Scale Sets and
placement groups"); nodes in a pool of one zone (cloud.google.com/kubernetes-engine/quotas, from memory)."""


def refusal(shape: Shape, *, scheduler: str, managed: str) -> str:
    """Why no component brings a machine type up for a spec's scheduler and service; "" where one does.

    Azure's A10 sizes are virtual GPUs: their driver is NVIDIA's GRID, which AKS and Azure ML install, and no public
    image has (learn.microsoft.com/azure/virtual-machines/linux/n-series-driver-setup). AWS's parts of an L4 (g6f, gr6f)
    want it too (docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html), and none of the images that
    our components start has it; SageMaker brings its own. Google's parts of an RTX PRO 6000 (g4-standard-6, -12, -24)
    are virtual GPUs as well, on which the data centre driver finds no device (source: the catalog's traits); GKE
    installs the driver of its nodes itself and takes these types where they are named.
    """
    if "rack" in shape.traits and shape.cloud in RACKS_REFUSED:
        return "NVLink racks cannot be provisioned (driver, network cards, Arm)"
    if shape.cloud == "azure" and "confidential" in shape.traits:
        return "confidential virtual machines cannot be provisioned"
    kept = scheduler in ("kubernetes", "ray") or managed == "azureml"
    if shape.cloud == "azure" and "virtual-gpu" in shape.traits and not kept:
        return "a virtual GPU needs the GRID driver, which AKS and Azure ML install: use scheduler: kubernetes"
    if shape.cloud == "aws" and "virtual-gpu" in shape.traits and managed != "sagemaker":
        return "a fractional GPU needs the GRID driver, which is not in the images used on AWS"
    if shape.cloud == "gcp" and "virtual-gpu" in shape.traits and scheduler not in ("kubernetes", "ray"):
        return "a fractional GPU needs the GRID driver, which GKE installs: use scheduler: kubernetes"
    return ""


def together_max(shape: Shape) -> int:
    """Most machines of a type that one job runs on; Azure's without InfiniBand stand in no partition and work alone.

    >>> from sizewell.sizing.catalog import load
    >>> together_max(load().shape("azure", "Standard_NC40ads_H100_v5"))
    1
    >>> together_max(load().shape("azure", "Standard_ND96isr_H100_v5"))
    100
    """
    if shape.cloud == "azure" and shape.fabric != "infiniband":
        return 1
    if shape.cloud == "gcp" and shape.fabric.startswith("gpudirect"):
        return FABRIC_NODES_MAX
    return min(NODES_MAX, POOL_NODES_MAX.get(shape.cloud, NODES_MAX))
