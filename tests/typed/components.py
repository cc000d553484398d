"""Read by mypy alone (`make check`): an editor knows the arguments of components, and marks what is wrong with them.

Each line that is wrong says which fault mypy must find; one that it does not find is an error itself
(`warn_unused_ignores`).
"""

from __future__ import annotations

from typing import Final, assert_type

import pulumi

from sizewell.components.aws import GpuNodGroup as Mistyped  # type: ignore[attr-defined]
from sizewell.components.aws import Network
from sizewell.components.azure import AksClusterr  # type: ignore[attr-defined]
from sizewell.components.gcp import CloudRunGpu
from sizewell.components.kubernetes import Queuing  # type: ignore[attr-defined]

DIGEST: Final = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
IMAGE: Final = f"us-docker.pkg.dev/petsnap/serve/vllm@sha256:{DIGEST}"


def right() -> None:
    captions = CloudRunGpu(
        "captions",
        {
            "environment": "dev",
            "owner": "media",
            "region": "us-central1",
            "project": "petsnap",
            "image": IMAGE,
            "instances_max": 2,
        },
    )
    assert_type(captions, CloudRunGpu)
    network = Network("net", {"environment": "dev", "owner": "media", "region": "us-east-1", "zones": ["us-east-1a"]})
    assert_type(network.vpc_id, pulumi.Output[str])


def wrong() -> None:
    CloudRunGpu("captions", {"environment": "dev"})  # type: ignore[typeddict-item]
    CloudRunGpu(
        "captions",
        {  # type: ignore[typeddict-unknown-key]
            "environment": "dev",
            "owner": "media",
            "region": "us-central1",
            "project": "petsnap",
            "image": IMAGE,
            "instances_max": "two",  # type: ignore[typeddict-item]
            "instance_max": 2,
        },
    )
    network = Network("net")  # type: ignore[call-arg]
    network.vpc  # type: ignore[attr-defined]  # noqa: B018
    Mistyped()
    AksClusterr()
    Queuing()
