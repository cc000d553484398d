"""The types of AWS that facts are read of."""

from __future__ import annotations

from typing import Final

from sizewell.resources import controlled
from sizewell.resources.readers import holdings, identity, network, pools_aws, services, stores
from sizewell.resources.readers.cloud import Types

TYPES: Final = Types(
    pools=pools_aws.READERS,
    stores={stores.S3: stores.s3},
    disks={
        "aws:ebs/volume:Volume": holdings.volume,
        "aws:fsx/lustreFileSystem:LustreFileSystem": holdings.file_system("kmsKeyId", by_default=True),
        "aws:efs/fileSystem:FileSystem": holdings.file_system("kmsKeyId", by_default=False),
    },
    purchases={
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation": holdings.capacity_block,
        "aws:ec2/capacityReservation:CapacityReservation": holdings.reservation,
    },
    endpoints={
        "aws:sagemaker/endpointConfiguration:EndpointConfiguration": services.sagemaker_endpoint,
        controlled.CLOUD_CONTROL: services.controlled_endpoint,
        "aws:ecs/service:Service": services.ecs_service,
    },
    notebooks={
        "aws:sagemaker/notebookInstance:NotebookInstance": services.notebook_instance,
        "aws:sagemaker/domain:Domain": services.domain,
    },
    clusters={"aws:eks/cluster:Cluster": services.eks},
    jobs={
        "aws:sagemaker/trainingJob:TrainingJob": services.training_job,
        "aws:sagemaker/pipeline:Pipeline": services.pipeline,
        "aws:batch/jobDefinition:JobDefinition": services.batch_job,
    },
    openings=network.aws,
    grants=identity.aws,
)
