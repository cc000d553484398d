"""Documents behind SageMaker: pipeline definition, variants, scaling, roles, the notebook's auto-stop. Pure."""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sizewell.components.aws import instances, policies
from sizewell.components.aws.sagemaker.args import (
    ModelArgs,
    RealtimeEndpointArgs,
    TrainingPipelineArgs,
)
from sizewell.components.owned import GuardArgs
from sizewell.components.tags import short_hash
from sizewell.sizing.catalog.records import Shape

VARIANT = "main"
STARTUP_S = 1800
NOTEBOOK_GUARD: GuardArgs = {
    "signal": "accelerator_utilization",
    "min_utilization_percent": 5.0,
    "window_s": 3600,
    "grace_s": 0,
    "action": "scale-to-zero",
}


def ml(instance_type: str) -> str:
    """The type as SageMaker writes it.

    >>> ml("g6.xlarge")
    'ml.g6.xlarge'
    """
    return f"ml.{instance_type}"


def content_hash(args: Mapping[str, object]) -> str:
    """Eight digits over the plain arguments: models and configurations cannot change, so their names do.

    >>> content_hash({"nodes_min": 1}) == content_hash({"nodes_min": 2})
    False
    """
    kept = {key: value for key, value in args.items() if key not in ("facts", "expires")}
    return short_hash(json.dumps(kept, sort_keys=True, default=lambda _: ""))


def local_disks(shape: Shape) -> bool:
    """Whether the machine has disks of its own; SageMaker then refuses a key: the hardware encrypts them."""
    return shape.local_nvme_bytes > 0


def max_wait_s(args: TrainingPipelineArgs) -> int:
    """Run and waiting for spot together, never less than the run."""
    return max(args.get("max_wait_s", min(2 * args["max_run_s"], 28 * 86400)), args["max_run_s"])


def pipeline_definition(
    name: str,
    args: TrainingPipelineArgs,
    shape: Shape,
    *,
    role_arn: str,
    key_arn: str,
    subnet_ids: Sequence[str],
    security_group_id: str,
    tags: Mapping[str, str],
) -> str:
    """The pipeline's JSON: one training step, isolated, encrypted, with checkpoints and an end.

    Capacity errors are tried again for about seventeen hours; a failed script is not.
    """
    bucket, spot = args["writer"]["bucket"], args["capacity_mode"] == "spot"
    stop: dict[str, object] = {"MaxRuntimeInSeconds": args["max_run_s"]}
    if spot:
        stop["MaxWaitTimeInSeconds"] = max_wait_s(args)
    machines: dict[str, object] = {
        "InstanceType": ml(args["instance_type"]),
        "InstanceCount": args["nodes"],
        "VolumeSizeInGB": args["disk_gib"],
    }
    if local_disks(shape):
        machines["VolumeSizeInGB"] = min(args["disk_gib"], shape.local_nvme_bytes // 10**9)
    else:
        machines["VolumeKmsKeyId"] = key_arn
    arguments: dict[str, object] = {
        "AlgorithmSpecification": {"TrainingImage": args["image"], "TrainingInputMode": "FastFile"},
        "RoleArn": role_arn,
        "ResourceConfig": machines,
        "StoppingCondition": stop,
        "CheckpointConfig": {"S3Uri": f"s3://{bucket}/{name}/checkpoints/", "LocalPath": "/opt/ml/checkpoints"},
        "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/{name}/model/"},
        "EnableManagedSpotTraining": spot,
        "EnableNetworkIsolation": True,
        "EnableInterContainerTrafficEncryption": True,
        "VpcConfig": {"SecurityGroupIds": [security_group_id], "Subnets": list(subnet_ids)},
        "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
    }
    if args.get("hyperparameters"):
        arguments["HyperParameters"] = args["hyperparameters"]
    if args.get("environment_variables"):
        arguments["Environment"] = args["environment_variables"]
    if args.get("channels"):
        arguments["InputDataConfig"] = [
            {
                "ChannelName": channel,
                "DataSource": {
                    "S3DataSource": {
                        "S3DataType": "S3Prefix",
                        "S3Uri": location,
                        "S3DataDistributionType": "FullyReplicated",
                    }
                },
            }
            for channel, location in sorted(args["channels"].items())
        ]
    retries = [
        {
            "ExceptionType": ["SageMaker.CAPACITY_ERROR", "SageMaker.RESOURCE_LIMIT"],
            "IntervalSeconds": 60,
            "BackoffRate": 2.0,
            "MaxAttempts": 10,
        },
        {
            "ExceptionType": ["Step.SERVICE_FAULT", "Step.THROTTLING", "SageMaker.JOB_INTERNAL_ERROR"],
            "IntervalSeconds": 30,
            "BackoffRate": 2.0,
            "MaxAttempts": 5,
        },
    ]
    step = {"Name": "Train", "Type": "Training", "Arguments": arguments, "RetryPolicies": retries}
    return json.dumps({"Version": "2020-12-01", "Metadata": {}, "Parameters": [], "Steps": [step]})


def buckets_of(locations: Sequence[str]) -> list[str]:
    """The buckets of s3:// locations, each once.

    >>> buckets_of(["s3://b/x", "s3://a", "s3://b/y"])
    ['a', 'b']
    """
    return sorted({location.removeprefix("s3://").partition("/")[0] for location in locations})


def read_policy(*, region: str, buckets: Sequence[str]) -> str:
    """Get and list in these buckets, and decrypt with whatever key S3 uses there, for these buckets alone."""
    names = [f"arn:{policies.partition(region)}:s3:::{bucket}" for bucket in buckets]
    objects = [f"{name}/*" for name in names]
    return policies.policy(
        [
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": names,
            },
            {"Effect": "Allow", "Action": "s3:GetObject", "Resource": objects},
            {
                "Effect": "Allow",
                "Action": "kms:Decrypt",
                "Resource": "*",
                "Condition": {
                    "StringEquals": {"kms:ViaService": f"s3.{region}.amazonaws.com"},
                    # the object, or its bucket where that has a bucket key
                    "StringLike": {"kms:EncryptionContext:aws:s3:arn": [*names, *objects]},
                },
            },
        ]
    )


def container_policy(*, region: str) -> str:
    """What SageMaker does with a container's role: network interfaces in the VPC, logs and metrics of its own."""
    arn = policies.partition(region)
    interface, *around = (
        f"arn:{arn}:ec2:{region}:*:{kind}/*" for kind in ("network-interface", "subnet", "security-group")
    )
    return policies.policy(
        [
            {
                "Sid": "Network",
                "Effect": "Allow",
                "Action": "ec2:CreateNetworkInterface",
                "Resource": [interface, *around],
            },
            {
                "Sid": "Interfaces",
                "Effect": "Allow",
                "Action": [
                    "ec2:CreateNetworkInterfacePermission",
                    "ec2:DeleteNetworkInterface",
                    "ec2:DeleteNetworkInterfacePermission",
                ],
                "Resource": interface,
            },
            {
                "Sid": "Look",
                "Effect": "Allow",
                "Action": [
                    "ec2:DescribeDhcpOptions",
                    "ec2:DescribeNetworkInterfaces",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DescribeSubnets",
                    "ec2:DescribeVpcs",
                ],
                "Resource": "*",
            },
            {
                "Sid": "Logs",
                "Effect": "Allow",
                "Action": [
                    "logs:CreateLogGroup",
                    "logs:CreateLogStream",
                    "logs:DescribeLogStreams",
                    "logs:PutLogEvents",
                ],
                "Resource": f"arn:{arn}:logs:{region}:*:log-group:/aws/sagemaker/*",
            },
            {
                "Sid": "Metrics",
                "Effect": "Allow",
                "Action": "cloudwatch:PutMetricData",
                "Resource": "*",
                "Condition": {"StringLike": {"cloudwatch:namespace": ["/aws/sagemaker/*", "aws/sagemaker/*"]}},
            },
        ]
    )


def pipeline_policy(*, region: str, account: str, job_role_arn: str) -> str:
    """What the pipeline does: start, watch and stop training jobs, with this role and no other."""
    arn = f"arn:{policies.partition(region)}:sagemaker:{region}:{account}"
    return policies.policy(
        [
            {
                "Effect": "Allow",
                "Action": [
                    "sagemaker:CreateTrainingJob",
                    "sagemaker:DescribeTrainingJob",
                    "sagemaker:StopTrainingJob",
                    "sagemaker:AddTags",
                ],
                "Resource": f"{arn}:training-job/*",
            },
            {
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": job_role_arn,
                "Condition": {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
            },
        ]
    )


def container(args: ModelArgs) -> dict[str, Any]:
    """Image, packed model and environment of a model's container."""
    image: dict[str, object] = {"image": args["image"], "environment": args.get("environment_variables", {})}
    return {**image, "model_data_url": args["model_data"]} if "model_data" in args else image


def zero_config(
    *,
    config: str,
    args: RealtimeEndpointArgs,
    role_arn: str,
    subnet_ids: Sequence[str],
    security_group_id: str,
    key_arn: str,
    tags: Mapping[str, str],
) -> str:
    """Endpoint configuration for inference components, as Cloud Control takes it: machines from none to the most.

    The resource type of the AWS provider has neither network nor isolation for it, so its own type is not used here.
    `key_arn` is "" where the machines have disks of their own.
    """
    variant = {
        "VariantName": VARIANT,
        "InstanceType": ml(args["instance_type"]),
        "InitialInstanceCount": max(args["nodes_initial"], 1),
        "ManagedInstanceScaling": {
            "Status": "ENABLED",
            "MinInstanceCount": args["nodes_min"],
            "MaxInstanceCount": args["nodes_max"],
        },
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "ContainerStartupHealthCheckTimeoutInSeconds": args.get("startup_s", STARTUP_S),
    }
    disks = {"KmsKeyId": key_arn} if key_arn else {}
    return json.dumps(
        {
            **disks,
            "EndpointConfigName": config,
            "ExecutionRoleArn": role_arn,
            "EnableNetworkIsolation": True,
            "VpcConfig": {"SecurityGroupIds": [security_group_id], "Subnets": list(subnet_ids)},
            "ProductionVariants": [variant],
            "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
        },
        sort_keys=True,
    )


def inference_component(
    *, component: str, endpoint: str, args: RealtimeEndpointArgs, shape: Shape, tags: Mapping[str, str]
) -> str:
    """One model with what each copy takes, as Cloud Control takes it."""
    wanted: dict[str, object] = {"MinMemoryRequiredInMb": args.get("memory_mib_per_copy", 1024)}
    if shape.accelerators:
        wanted["NumberOfAcceleratorDevicesRequired"] = args.get("accelerators_per_copy", shape.accelerators)
    held: dict[str, object] = {"Image": args["image"], "Environment": args.get("environment_variables", {})}
    if "model_data" in args:
        held["ArtifactUrl"] = args["model_data"]
    seconds = args.get("startup_s", STARTUP_S)
    return json.dumps(
        {
            "InferenceComponentName": component,
            "EndpointName": endpoint,
            "VariantName": VARIANT,
            "Specification": {
                "Container": held,
                "ComputeResourceRequirements": wanted,
                "StartupParameters": {
                    "ContainerStartupHealthCheckTimeoutInSeconds": seconds,
                    "ModelDataDownloadTimeoutInSeconds": seconds,
                },
            },
            "RuntimeConfig": {"CopyCount": 1},
            "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
        },
        sort_keys=True,
    )


def copies(args: RealtimeEndpointArgs, shape: Shape) -> tuple[int, int]:
    """Fewest and most copies of the model: as many as its machines have room for."""
    each = args.get("accelerators_per_copy", shape.accelerators) or 1
    room = max(shape.accelerators // each, 1)
    return args["nodes_min"] * room, args["nodes_max"] * room


def tracking(metric: str, target: float, *, cool_in_s: int) -> dict[str, object]:
    """Follow a metric that Application Auto Scaling knows: up at once, down after a while."""
    return {
        "target_value": target,
        "predefined_metric_specification": {"predefined_metric_type": metric},
        "scale_in_cooldown": cool_in_s,
        "scale_out_cooldown": 60,
    }


def backlog(endpoint: str, target: float) -> dict[str, object]:
    """Follow the requests that wait for each machine of an asynchronous endpoint."""
    return {
        "target_value": target,
        "customized_metric_specification": {
            "namespace": "AWS/SageMaker",
            "metric_name": "ApproximateBacklogSizePerInstance",
            "statistic": "Average",
            "dimensions": [{"name": "EndpointName", "value": endpoint}],
        },
        "scale_in_cooldown": 600,
        "scale_out_cooldown": 60,
    }


WAKE = {  # one more, as soon as somebody asks in vain
    "adjustment_type": "ChangeInCapacity",
    "metric_aggregation_type": "Maximum",
    "cooldown": 300,
    "step_adjustments": [{"metric_interval_lower_bound": "0", "scaling_adjustment": 1}],
}


def wake_alarm(metric: str, dimensions: Mapping[str, str]) -> dict[str, object]:
    """Fires when requests find nobody: the way from zero to one."""
    return {
        "namespace": "AWS/SageMaker",
        "metric_name": metric,
        "dimensions": dict(dimensions),
        "statistic": "Maximum",
        "comparison_operator": "GreaterThanOrEqualToThreshold",
        "threshold": 1.0,
        "period": 60,
        "evaluation_periods": 1,
        "datapoints_to_alarm": 1,
        "treat_missing_data": "notBreaching",
    }


def auto_stop(*, guard: GuardArgs, region: str) -> str:
    """Start script of a notebook, base64: every five minutes, stop if nothing has worked for window and grace.

    Work is a busy kernel, a cell that ran, or an accelerator above the limit. What cannot be asked counts as work.
    """
    program = AUTO_STOP.replace("IDLE_S", str(guard["window_s"] + guard["grace_s"]))
    program = program.replace("LIMIT", f"{guard['min_utilization_percent']:g}").replace("REGION", region)
    script = [
        "#!/bin/bash",
        "set -euo pipefail",
        "mkdir -p /opt/sizewell",
        "cat > /opt/sizewell/auto_stop.py <<'PROGRAM'",
        program.rstrip(),
        "PROGRAM",
        *instances.timer("sizewell-auto-stop", "/usr/bin/python3 /opt/sizewell/auto_stop.py", every="5min"),
        "",
    ]
    return base64.b64encode("\n".join(script).encode()).decode()


def studio_apps(idle_minutes: int) -> dict[str, object]:
    """Apps shut down after `idle_minutes` without work; a user may say less, never more."""
    idle = {
        "lifecycle_management": "ENABLED",
        "idle_timeout_in_minutes": idle_minutes,
        "min_idle_timeout_in_minutes": 60,
        "max_idle_timeout_in_minutes": idle_minutes,
    }
    return {"app_lifecycle_management": {"idle_settings": idle}}


AUTO_STOP = '''\
import datetime, json, pathlib, ssl, subprocess, time, urllib.request

SEEN = pathlib.Path("/run/sizewell-last-work")


def working():
    """Whether anything works right now; raises where that cannot be told."""
    context = ssl._create_unverified_context()  # Jupyter's own certificate, on this machine
    with urllib.request.urlopen("https://localhost:8443/api/sessions", timeout=20, context=context) as answer:
        kernels = [session["kernel"] for session in json.load(answer)]
    if any(kernel["execution_state"] != "idle" for kernel in kernels):
        return True
    for kernel in kernels:
        last = datetime.datetime.fromisoformat(kernel["last_activity"].replace("Z", "+00:00"))
        if time.time() - last.timestamp() < 300:
            return True
    query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout.split()
    except FileNotFoundError:
        return False
    return max(float(value) for value in found) >= LIMIT


def main():
    try:
        busy = working()
    except Exception:
        busy = True
    if busy or not SEEN.exists():
        SEEN.touch()
    if time.time() - SEEN.stat().st_mtime >= IDLE_S:
        name = json.loads(pathlib.Path("/opt/ml/metadata/resource-metadata.json").read_text())["ResourceName"]
        stop = ["aws", "sagemaker", "stop-notebook-instance", "--region", "REGION", "--notebook-instance-name", name]
        subprocess.run(stop, check=True)


main()
'''
