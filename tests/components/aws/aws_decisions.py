"""Decisions for what AWS offers beside plain machines: EKS, SageMaker, FSx; used here and under the engine."""

import json
from decimal import Decimal

from decisions import GUARD, decision, pool, serving, training, workload

from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Bounds, Storage

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.7.1-gpu-py312"
SETTINGS = Settings(project="sizewell", stack="dev-aws", organization="petsnap", accounts=("123456789012",))
DATA = Storage(kind="fsx-lustre", bytes=12 * 10**12, location="s3://petsnap/images")
KUBERNETES = decision(
    "staging-aws",
    training(
        "pretrain",
        pool("aws", "p4d.24xlarge", "a100-40gb-sxm", 8, nodes=(0, 2, 2)),
        scheduler="kubernetes",
        storage=DATA,
    ),
    serving("chat", pool("aws", "g6.xlarge", "l4", 1, role="replicas"), scheduler="kubernetes"),
)
HYPERPOD = decision(
    "dev-pretrain-aws",
    training(
        "pretrain",
        pool(
            "aws",
            "p4d.24xlarge",
            "a100-40gb-sxm",
            8,
            nodes=(2, 2, 2),
            managed="hyperpod",
            node_hours_per_month=Bounds(floor=Decimal(1460), expected=Decimal(1460), ceiling=Decimal(1460)),
        ),
        scheduler="kubernetes",
    ),
)
SAGEMAKER = decision(
    "dev-aws",
    serving("chat", pool("aws", "g6.12xlarge", "l4", 4, role="replicas", nodes=(0, 1, 2), managed="sagemaker")),
    training("tune", pool("aws", "g5.2xlarge", "a10g", 1, mode="spot", nodes=(0, 1, 1), managed="sagemaker")),
    workload("lab", "notebook", pool("aws", "g6.xlarge", "l4", 1, managed="sagemaker"), guard=GUARD),
)
CONFIG = {
    "sizewell:sagemaker": json.dumps(
        {"chat": {"image": IMAGE, "model_data": "s3://models/chat.tar.gz"}, "tune": {"image": IMAGE}}
    ),
    "sizewell:hyperpod": json.dumps(
        {"pretrain": {"chart": f"oci://{IMAGE.partition('/')[0]}/hyperpod-helm-chart", "version": "0.1.0"}}
    ),
}
MACHINES = decision(
    "prod-aws",
    training("pretrain", pool("aws", "p4d.24xlarge", "a100-40gb-sxm", 8, nodes=(0, 2, 2)), storage=DATA),
)
