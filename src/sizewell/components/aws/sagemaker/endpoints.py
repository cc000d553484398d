"""Serving on SageMaker: real time, asynchronous, serverless; each goes as low as its kind allows."""

from typing import Any

import pulumi
from pulumi_aws import appautoscaling, cloudcontrol, cloudwatch, iam, sagemaker, sns

from sizewell.components.aws import parts, policies
from sizewell.components.aws.sagemaker import documents as sagemaker_documents
from sizewell.components.aws.sagemaker.args import AsyncEndpointArgs, RealtimeEndpointArgs, ServerlessEndpointArgs
from sizewell.components.aws.sagemaker.checks import check_async, check_realtime, check_serverless
from sizewell.components.facts import of_pool
from sizewell.components.inputs import derive
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned
from sizewell.sizing.catalog.records import Shape

VARIANT = sagemaker_documents.VARIANT


class RealtimeEndpoint(Owned):
    """A model behind an endpoint that scales with its load, between a minimum and a maximum of machines.

    With nodes_min 0 it is an inference component, the only kind that SageMaker scales to zero: an idle endpoint has no
    machines; the first request then fails and raises an alarm, and a machine is up a few minutes later.
    """

    endpoint_name: pulumi.Output[str]
    """Name of the endpoint."""
    role_arn: pulumi.Output[str]
    """Role of the containers."""

    def __init__(self, name: str, args: RealtimeEndpointArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_realtime, name, args, cloud="aws", machine="instance_type")
        super().__init__(
            name,
            args,
            opts,
            kind="endpoint",
            **of_pool(shape, args),
        )
        role = _role(self, name, args)
        if args["nodes_min"] == 0:
            endpoint = self._to_zero(name, args, shape, role)
        else:
            endpoint = self._always_on(name, args, shape, role)
        self.endpoint_name = endpoint.name
        self.role_arn = role.arn
        self.register()

    def _always_on(self, name: str, args: RealtimeEndpointArgs, shape: Shape, role: iam.Role) -> sagemaker.Endpoint:
        variant: dict[str, object] = {
            "initial_instance_count": args["nodes_initial"],
            "container_startup_health_check_timeout_in_seconds": args.get("startup_s", sagemaker_documents.STARTUP_S),
            "routing_configs": [{"routing_strategy": "LEAST_OUTSTANDING_REQUESTS"}],
        }
        model = _model(self, name, args, role)
        endpoint = _endpoint(self, name, _config(self, name, args, shape, role=role, model=model, variant=variant))
        target = _target(
            self,
            name,
            resource_id=f"endpoint/{self.name_of(sagemaker.Endpoint, name)}/variant/{VARIANT}",
            dimension="sagemaker:variant:DesiredInstanceCount",
            bounds=(args["nodes_min"], args["nodes_max"]),
            after=endpoint,
        )
        metric = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        _follow(self, name, target, sagemaker_documents.tracking(metric, args["concurrency"], cool_in_s=600))
        return endpoint

    def _to_zero(self, name: str, args: RealtimeEndpointArgs, shape: Shape, role: iam.Role) -> sagemaker.Endpoint:
        group = parts.closed_group(self, f"{name}-containers", args, what=f"Containers of {name}")
        physical = self.name_of(sagemaker.Endpoint, name)
        config = self.name_of(sagemaker.EndpointConfiguration, f"{name}-{sagemaker_documents.content_hash(args)}")
        tags = self.tags_of(sagemaker.EndpointConfiguration, f"{name}-config")
        key = _disk_key(self, name, args, shape, role)
        made = self.make(
            cloudcontrol.Resource,
            f"{name}-config",
            type_name="AWS::SageMaker::EndpointConfig",
            desired_state=pulumi.Output.all(role.arn, args["subnet_ids"], group.id, key or "").apply(
                lambda known: sagemaker_documents.zero_config(
                    config=config,
                    args=args,
                    role_arn=known[0],
                    subnet_ids=known[1],
                    security_group_id=known[2],
                    key_arn=known[3],
                    tags=tags,
                )
            ),
        )
        endpoint = _endpoint(self, name, config, after=made)
        component = self.make(
            cloudcontrol.Resource,
            f"{name}-component",
            type_name="AWS::SageMaker::InferenceComponent",
            desired_state=sagemaker_documents.inference_component(
                component=physical,
                endpoint=physical,
                args=args,
                shape=shape,
                tags=self.tags_of(cloudcontrol.Resource, f"{name}-component"),
            ),
            opts=pulumi.ResourceOptions(depends_on=[endpoint]),
        )
        target = _target(
            self,
            name,
            resource_id=f"inference-component/{physical}",
            dimension="sagemaker:inference-component:DesiredCopyCount",
            bounds=sagemaker_documents.copies(args, shape),
            after=component,
        )
        metric = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
        _follow(self, name, target, sagemaker_documents.tracking(metric, args["concurrency"], cool_in_s=600))
        _wake(self, name, target, "NoCapacityInvocationFailures", {"InferenceComponentName": physical})
        return endpoint


class AsyncEndpoint(Owned):
    """An asynchronous endpoint: requests and results are in S3, and no machine runs while the queue is empty."""

    endpoint_name: pulumi.Output[str]
    """Name of the endpoint."""
    role_arn: pulumi.Output[str]
    """Role of the containers."""
    topic_arn: pulumi.Output[str]
    """Topic of finished and failed requests."""

    def __init__(self, name: str, args: AsyncEndpointArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_async, name, args, cloud="aws", machine="instance_type")
        super().__init__(
            name,
            args,
            opts,
            kind="endpoint",
            **of_pool(shape, args, sizes=(0, 1, args["nodes_max"])),
        )
        role = _role(self, name, args)
        results, account = args["results"], parts.account_of(args, role)
        document = policies.writer_policy(
            region=args["region"], bucket=results["bucket"], key_alias=results["key_alias"]
        )
        parts.inline_policy(self, f"{name}-containers-results", role, document)
        key = parts.service_key(
            self,
            f"{name}-notices",
            account=account,
            region=args["region"],
            services=("sagemaker.amazonaws.com",),
        )
        parts.inline_policy(self, f"{name}-containers-key", role, parts.message_key_use(args["region"]))
        topic = self.make(sns.Topic, f"{name}-notices", kms_master_key_id=key.arn)
        publish = derive(
            lambda arn: policies.policy([{"Effect": "Allow", "Action": "sns:Publish", "Resource": arn}]),
            parts.arn_of(account, args["region"], "sns", self.name_of(sns.Topic, f"{name}-notices")),
        )
        parts.inline_policy(self, f"{name}-containers-notices", role, publish)
        where = f"s3://{results['bucket']}/{name}"
        queue = {
            "client_config": {"max_concurrent_invocations_per_instance": args["concurrency"]},
            "output_config": {
                "s3_output_path": f"{where}/results/",
                "s3_failure_path": f"{where}/failures/",
                "notification_config": {"success_topic": topic.arn, "error_topic": topic.arn},
            },
        }
        variant = {
            "initial_instance_count": 1,
            "container_startup_health_check_timeout_in_seconds": args.get("startup_s", sagemaker_documents.STARTUP_S),
        }
        model = _model(self, name, args, role)
        config = _config(self, name, args, shape, role=role, model=model, variant=variant, async_inference_config=queue)
        endpoint = _endpoint(self, name, config)
        physical = self.name_of(sagemaker.Endpoint, name)
        target = _target(
            self,
            name,
            resource_id=f"endpoint/{physical}/variant/{VARIANT}",
            dimension="sagemaker:variant:DesiredInstanceCount",
            bounds=(0, args["nodes_max"]),
            after=endpoint,
        )
        _follow(self, name, target, sagemaker_documents.backlog(physical, float(args["concurrency"])))
        _wake(self, name, target, "HasBacklogWithoutCapacity", {"EndpointName": physical})
        self.endpoint_name = endpoint.name
        self.role_arn = role.arn
        self.topic_arn = topic.arn
        self.register()


class ServerlessEndpoint(Owned):
    """A small model without machines of your own. AWS offers no VPC, no isolation and no disk encryption for it."""

    endpoint_name: pulumi.Output[str]
    """Name of the endpoint."""
    role_arn: pulumi.Output[str]
    """Role of the container."""

    def __init__(self, name: str, args: ServerlessEndpointArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_serverless(name, args)
        super().__init__(name, args, opts, kind="endpoint")
        role = _role(self, name, args)
        content = sagemaker_documents.content_hash(args)
        model = self.make(
            sagemaker.Model,
            f"{name}-model",
            name=self.name_of(sagemaker.Model, f"{name}-{content}"),
            execution_role_arn=role.arn,
            primary_container=sagemaker_documents.container(args),
        )
        config = self.make(
            sagemaker.EndpointConfiguration,
            f"{name}-config",
            name=self.name_of(sagemaker.EndpointConfiguration, f"{name}-{content}"),
            production_variants=[
                {
                    "variant_name": VARIANT,
                    "model_name": model.name,
                    "serverless_config": {
                        "memory_size_in_mb": args["memory_mib"],
                        "max_concurrency": args["max_concurrency"],
                    },
                }
            ],
        )
        endpoint = _endpoint(self, name, config.name)
        self.endpoint_name = endpoint.name
        self.role_arn = role.arn
        self.register()


def _role(owner: Owned, name: str, args: Any) -> iam.Role:
    region = args["region"]
    inline = {"container": sagemaker_documents.container_policy(region=region)}
    if "model_data" in args:
        buckets = sagemaker_documents.buckets_of([args["model_data"]])
        inline["model"] = sagemaker_documents.read_policy(region=region, buckets=buckets)
    return parts.role(
        owner,
        f"{name}-containers",
        trust=policies.assume_role("sagemaker.amazonaws.com"),
        description=f"Containers of {name}",
        managed=("AmazonEC2ContainerRegistryPullOnly",),
        inline=inline,
        region=region,
    )


def _model(owner: Owned, name: str, args: Any, role: iam.Role) -> sagemaker.Model:
    """In the VPC and without a network of its own: model data comes through SageMaker."""
    group = parts.closed_group(owner, f"{name}-containers", args, what=f"Containers of {name}")
    return owner.make(
        sagemaker.Model,
        f"{name}-model",
        name=owner.name_of(sagemaker.Model, f"{name}-{sagemaker_documents.content_hash(args)}"),
        execution_role_arn=role.arn,
        primary_container=sagemaker_documents.container(args),
        enable_network_isolation=True,
        vpc_config={"subnets": args["subnet_ids"], "security_group_ids": [group.id]},
    )


def _config(
    owner: Owned,
    name: str,
    args: Any,
    shape: Shape,
    *,
    role: iam.Role,
    model: sagemaker.Model,
    variant: dict[str, Any],
    **more: object,
) -> pulumi.Output[str]:
    """One variant on machines."""
    key = _disk_key(owner, name, args, shape, role)
    if key is not None:
        more["kms_key_arn"] = key
    made = owner.make(
        sagemaker.EndpointConfiguration,
        f"{name}-config",
        name=owner.name_of(sagemaker.EndpointConfiguration, f"{name}-{sagemaker_documents.content_hash(args)}"),
        production_variants=[
            {
                "variant_name": VARIANT,
                "model_name": model.name,
                "instance_type": sagemaker_documents.ml(shape.instance_type),
                **variant,
            }
        ],
        **more,
    )
    config_name: pulumi.Output[str] = made.name
    return config_name


def _disk_key(owner: Owned, name: str, args: Any, shape: Shape, role: iam.Role) -> pulumi.Input[str] | None:
    """A key for the machines' disks; None where they have disks of their own, with which SageMaker refuses a key."""
    if sagemaker_documents.local_disks(shape):
        return None
    key = parts.key_arn(owner, name, args, parts.account_of(args, role))
    parts.inline_policy(owner, f"{name}-containers-disks", role, parts.key_use(args, key))
    return key


def _endpoint(
    owner: Owned, name: str, config: pulumi.Input[str], *, after: pulumi.Resource | None = None
) -> sagemaker.Endpoint:
    return owner.make(
        sagemaker.Endpoint,
        f"{name}-endpoint",
        name=owner.name_of(sagemaker.Endpoint, name),
        endpoint_config_name=config,
        opts=pulumi.ResourceOptions(depends_on=[after] if after else []),
    )


def _target(
    owner: Owned, name: str, *, resource_id: str, dimension: str, bounds: tuple[int, int], after: pulumi.Resource
) -> appautoscaling.Target:
    return owner.make(
        appautoscaling.Target,
        f"{name}-scaling",
        service_namespace="sagemaker",
        resource_id=resource_id,
        scalable_dimension=dimension,
        min_capacity=bounds[0],
        max_capacity=bounds[1],
        opts=pulumi.ResourceOptions(depends_on=[after]),
    )


def _follow(owner: Owned, name: str, target: appautoscaling.Target, tracking: dict[str, object]) -> None:
    owner.make(
        appautoscaling.Policy,
        f"{name}-follow",
        policy_type="TargetTrackingScaling",
        service_namespace=target.service_namespace,
        resource_id=target.resource_id,
        scalable_dimension=target.scalable_dimension,
        target_tracking_scaling_policy_configuration=tracking,
    )


def _wake(owner: Owned, name: str, target: appautoscaling.Target, metric: str, dimensions: dict[str, str]) -> None:
    """From zero to one: no metric by machine exists at zero, so an alarm on vain requests adds the first."""
    step = owner.make(
        appautoscaling.Policy,
        f"{name}-wake",
        policy_type="StepScaling",
        service_namespace=target.service_namespace,
        resource_id=target.resource_id,
        scalable_dimension=target.scalable_dimension,
        step_scaling_policy_configuration=sagemaker_documents.WAKE,
    )
    owner.make(
        cloudwatch.MetricAlarm,
        f"{name}-wake",
        alarm_description=f"{name}: requests find no running machine",
        alarm_actions=[step.arn],
        **sagemaker_documents.wake_alarm(metric, dimensions),
    )
