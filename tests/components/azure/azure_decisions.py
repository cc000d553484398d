"""Decisions for what Azure offers beside plain machines: AKS, Azure ML, Managed Lustre; used here and in the engine."""

import json

from decisions import GUARD, HOURS, decision, pool, serving, training, workload

from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Storage

SETTINGS = Settings(
    project="sizewell",
    stack="dev-azure",
    organization="petsnap",
    accounts=("00000000-0000-0000-0000-000000000003",),
    registries=("/subscriptions/0000/resourceGroups/images/providers/Microsoft.ContainerRegistry/registries/petsnap",),
)
DATA = Storage(kind="managed-lustre", bytes=12 * 10**12, location="az://petsnap/images")
KUBERNETES = decision(
    "staging-azure",
    training(
        "pretrain",
        pool("azure", "Standard_ND96isr_H100_v5", "h100-sxm", 8, nodes=(0, 2, 2)),
        scheduler="kubernetes",
        storage=DATA,
        budget={"usd_per_month": 90000},
    ),
    serving(
        "chat",
        pool("azure", "Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1, role="replicas", mode="spot"),
        scheduler="kubernetes",
        schedule=HOURS,
        budget={"usd_per_month": 2000},
    ),
)
RAY = decision(
    "dev-azure",
    workload(
        "sweep",
        "batch-inference",
        pool("azure", "Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1, mode="spot"),
        scheduler="ray",
        guard=GUARD,
    ),
)
ML = decision(
    "dev-azure",
    serving(
        "chat",
        pool(
            "azure",
            "Standard_NC24ads_A100_v4",
            "a100-80gb-pcie",
            1,
            role="replicas",
            nodes=(0, 1, 2),
            managed="azureml",
        ),
    ),
    training(
        "tune",
        pool("azure", "Standard_NC24ads_A100_v4", "a100-80gb-pcie", 1, mode="spot", nodes=(0, 1, 1), managed="azureml"),
    ),
    workload("lab", "notebook", pool("azure", "Standard_NC4as_T4_v3", "t4", 1, managed="azureml"), schedule=HOURS),
)
CONTAINERS = {"chat": {"image": "petsnap.azurecr.io/vllm:0.11.0"}}
CONFIG = {"sizewell:azureml": json.dumps(CONTAINERS), "sizewell:registry": "petsnap.azurecr.io/mirror"}
