"""What the sellers' bills call their charges, for rows in the columns of FOCUS 1.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sizewell.sizing.providers.cloud import PerCloud


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The words of one seller."""

    services: Mapping[str, str]  # by the module of a type; other services keep the module's name
    machines: str  # the module whose service bills machine-hours of clusters
    payer: str  # an account that pays, as FOCUS 1.2 lists it in its examples; "" where its id says
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By module and a word of the type: what is billed as another service than the rest of the module."""
    lines: Mapping[str, str] = field(default_factory=dict)  # the same by how the words of a line begin


NO_BILL: Final = Bill(services={}, machines="", payer="")
BILLS: Final = PerCloud[Bill](
    aws=Bill(
        services={
            "autoscaling": "Amazon Elastic Compute Cloud", "bedrock": "Amazon Bedrock",
            "cloudwatch": "AmazonCloudWatch",
            "dynamodb": "Amazon DynamoDB", "ebs": "Amazon Elastic Compute Cloud", "ec2": "Amazon Elastic Compute Cloud",
            "ecr": "Amazon EC2 Container Registry (ECR)", "efs": "Amazon Elastic File System",
            "eks": "Amazon Elastic Container Service for Kubernetes", "fsx": "Amazon FSx",
            "kms": "AWS Key Management Service", "lambda": "AWS Lambda", "lb": "Elastic Load Balancing",
            "s3": "Amazon Simple Storage Service", "sagemaker": "Amazon SageMaker",
            "secretsmanager": "AWS Secrets Manager",
        },
        machines="ec2",
        payer="Payer Account",
        # As the FOCUS project's sample for 1.0 has them (FOCUS-Sample-Data): NAT gateways are EC2's, addresses are not.
        parts={"ec2": dict.fromkeys(("vpcendpoint", "eip"), "Amazon Virtual Private Cloud")},
        lines={"public IPv4": "Amazon Virtual Private Cloud"},
    ),
    gcp=Bill(
        services={
            "artifactregistry": "Artifact Registry", "cloudrunv2": "Cloud Run", "cloudscheduler": "Cloud Scheduler",
            "compute": "Compute Engine", "container": "Kubernetes Engine", "filestore": "Cloud Filestore",
            "kms": "Cloud Key Management Service (KMS)", "logging": "Cloud Logging", "storage": "Cloud Storage",
            "vertex": "Vertex AI",
        },
        machines="compute",
        payer="",
    ),
    azure=Bill(
        services={
            "compute": "Virtual Machines", "containerservice": "Azure Kubernetes Service", "keyvault": "Key Vault",
            "machinelearningservices": "Azure Machine Learning", "network": "Virtual Network", "storage": "Storage",
        },
        machines="compute",
        payer="",
    ),
)  # fmt: skip
