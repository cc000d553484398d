"""Training on SageMaker: a pipeline whose runs end, resume and stay inside the network."""

import pulumi
from pulumi_aws import iam, sagemaker

from sizewell.components.aws import parts, policies
from sizewell.components.aws.sagemaker import documents as sagemaker_documents
from sizewell.components.aws.sagemaker.args import TrainingPipelineArgs
from sizewell.components.aws.sagemaker.checks import check_training
from sizewell.components.facts import of_pool
from sizewell.components.inputs import derive
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned


class TrainingPipeline(Owned):
    """A SageMaker pipeline with one training step. Nothing is billed until somebody starts an execution of it."""

    pipeline_name: pulumi.Output[str]
    """Name of the pipeline: `aws sagemaker start-pipeline-execution --pipeline-name ...` starts a run."""
    pipeline_arn: pulumi.Output[str]
    """ARN of the pipeline."""
    role_arn: pulumi.Output[str]
    """Role of the training jobs."""

    def __init__(self, name: str, args: TrainingPipelineArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_training, name, args, cloud="aws", machine="instance_type")
        region = args["region"]
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args, sizes=(0, 0, args["nodes"])),
            interruptible=args["capacity_mode"] == "spot",
            checkpointStore=args["writer"]["bucket"],
        )
        writer = args["writer"]
        inline = {
            "container": sagemaker_documents.container_policy(region=region),
            "checkpoints": policies.writer_policy(
                region=region, bucket=writer["bucket"], key_alias=writer["key_alias"]
            ),
        }
        if channels := args.get("channels"):
            buckets = sagemaker_documents.buckets_of(list(channels.values()))
            inline["data"] = sagemaker_documents.read_policy(region=region, buckets=buckets)
        job = parts.role(
            self,
            f"{name}-job",
            trust=policies.assume_role("sagemaker.amazonaws.com"),
            description=f"Training jobs of {name}",
            managed=("AmazonEC2ContainerRegistryPullOnly",),
            inline=inline,
            region=region,
        )
        account = parts.account_of(args, job)
        key = parts.key_arn(self, name, args, account)
        parts.inline_policy(self, f"{name}-job-key", job, parts.key_use(args, key))
        hand = parts.role(
            self,
            f"{name}-pipeline",
            trust=policies.assume_role("sagemaker.amazonaws.com"),
            description=f"Starts training jobs of {name}",
            inline={
                "jobs": derive(
                    lambda number, role_arn: sagemaker_documents.pipeline_policy(
                        region=region, account=number, job_role_arn=role_arn
                    ),
                    account,
                    parts.arn_of(account, region, "iam", f"role/{self.name_of(iam.Role, f'{name}-job')}"),
                )
            },
            region=region,
        )
        group = parts.closed_group(self, f"{name}-job", args, what=f"Training jobs of {name}")
        job_tags = self.tags_of(sagemaker.TrainingJob, f"{name}-job")
        definition = pulumi.Output.all(job.arn, key, args["subnet_ids"], group.id).apply(
            lambda known: sagemaker_documents.pipeline_definition(
                name,
                args,
                shape,
                role_arn=known[0],
                key_arn=known[1],
                subnet_ids=known[2],
                security_group_id=known[3],
                tags=job_tags,
            )
        )
        physical = self.physical(name, 63)
        pipeline = self.make(
            sagemaker.Pipeline,
            f"{name}-pipeline",
            pipeline_name=physical,
            pipeline_display_name=physical,
            pipeline_description=f"Trains {name}; resumes from s3://{writer['bucket']}/{name}/checkpoints/",
            role_arn=hand.arn,
            parallelism_configuration={"max_parallel_execution_steps": 1},
            pipeline_definition=definition,
        )
        self.pipeline_name = pipeline.pipeline_name
        self.pipeline_arn = pipeline.arn
        self.role_arn = job.arn
        self.register()
