"""Programs of careful teams on AWS, in plain pulumi-aws: no rule may have anything mandatory against them."""

import json

import pulumi
import pulumi_aws as aws

TAGS = {"owner": "vision", "cost-center": "ml-7", "environment": "dev", "expires": "2027-01-31"}
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


def trust(service):
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
        }
    )


def network():
    vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, tags=TAGS)
    subnets = [
        aws.ec2.Subnet(
            f"private-{zone}",
            vpc_id=vpc.id,
            cidr_block=f"10.0.{n}.0/24",
            availability_zone=f"us-east-1{zone}",
            tags=TAGS,
        )
        for n, zone in enumerate("abc")
    ]
    table = aws.ec2.RouteTable("private", vpc_id=vpc.id, tags=TAGS)
    for n, subnet in enumerate(subnets):
        aws.ec2.RouteTableAssociation(f"private-{n}", route_table_id=table.id, subnet_id=subnet.id)
    aws.ec2.VpcEndpoint(
        "s3", vpc_id=vpc.id, service_name="com.amazonaws.us-east-1.s3", route_table_ids=[table.id], tags=TAGS
    )
    return vpc, subnets


def group_of(vpc):
    group = aws.ec2.SecurityGroup("nodes", vpc_id=vpc.id, description="training nodes", tags=TAGS)
    aws.vpc.SecurityGroupIngressRule(
        "among-nodes",
        security_group_id=group.id,
        referenced_security_group_id=group.id,
        ip_protocol="-1",
        description="nodes of the same job",
    )
    aws.vpc.SecurityGroupEgressRule(
        "https",
        security_group_id=group.id,
        cidr_ipv4="10.0.0.0/16",
        ip_protocol="tcp",
        from_port=443,
        to_port=443,
        description="endpoints",
    )
    return group


def template_of(group, instance_type, **more):
    return aws.ec2.LaunchTemplate(
        "gpu",
        image_id="ami-0123",
        instance_type=instance_type,
        metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
        block_device_mappings=[
            {
                "device_name": "/dev/xvda",
                "ebs": {
                    "volume_size": 200,
                    "volume_type": "gp3",
                    "encrypted": "true",
                    "kms_key_id": KEY,
                    "delete_on_termination": "true",
                },
            }
        ],
        network_interfaces=[{"associate_public_ip_address": "false", "security_groups": [group.id], "device_index": 0}],
        tag_specifications=[{"resource_type": kind, "tags": TAGS} for kind in ("instance", "volume")],
        tags=TAGS,
        **more,
    )


def group_on_a_schedule():
    """A training group that is there on working days only."""
    vpc, subnets = network()
    template = template_of(group_of(vpc), "g6e.12xlarge")
    group = aws.autoscaling.Group(
        "train",
        min_size=0,
        max_size=2,
        desired_capacity=0,
        vpc_zone_identifiers=[subnets[0].id],
        launch_template={"id": template.id, "version": template.latest_version},
        tags=[{"key": k, "value": v, "propagate_at_launch": True} for k, v in TAGS.items()],
        wait_for_capacity_timeout="0",
        opts=pulumi.ResourceOptions(ignore_changes=["desiredCapacity"]),
    )
    for name, when, size in (("on", "0 7 * * MON-FRI", 1), ("off", "0 21 * * MON-FRI", 0)):
        aws.autoscaling.Schedule(
            f"train-{name}",
            scheduled_action_name=name,
            autoscaling_group_name=group.name,
            recurrence=when,
            min_size=0,
            max_size=2,
            desired_capacity=size,
        )


def guarded_spot_group():
    """A spot group over many types and zones, with a checkpoint store, an idle alarm and the agent that feeds it."""
    vpc, subnets = network()
    agent = "#!/bin/bash\namazon-cloudwatch-agent-ctl -a fetch-config -c ssm:gpu  # nvidia_gpu metrics\n"
    template = template_of(group_of(vpc), "g6.xlarge", user_data=agent)
    store = checkpoint_store()
    group = aws.autoscaling.Group(
        "batch",
        min_size=0,
        max_size=4,
        desired_capacity=0,
        capacity_rebalance=True,
        vpc_zone_identifiers=[subnet.id for subnet in subnets],
        mixed_instances_policy={
            "launch_template": {
                "launch_template_specification": {"launch_template_id": template.id},
                "overrides": [{"instance_type": kind} for kind in ("g6.xlarge", "g5.xlarge", "g6.2xlarge")],
            },
            "instances_distribution": {
                "on_demand_percentage_above_base_capacity": 0,
                "spot_allocation_strategy": "price-capacity-optimized",
            },
        },
        tags=[{"key": k, "value": v, "propagate_at_launch": True} for k, v in TAGS.items()],
        wait_for_capacity_timeout="0",
        opts=pulumi.ResourceOptions(ignore_changes=["desiredCapacity"], depends_on=[store]),
    )
    down = aws.autoscaling.Policy(
        "to-zero", autoscaling_group_name=group.name, adjustment_type="ExactCapacity", scaling_adjustment=0
    )
    aws.cloudwatch.MetricAlarm(
        "idle",
        namespace="CWAgent",
        metric_name="nvidia_smi_utilization_gpu",
        dimensions={"AutoScalingGroupName": group.name},
        statistic="Maximum",
        comparison_operator="LessThanThreshold",
        threshold=5,
        period=300,
        evaluation_periods=12,
        treat_missing_data="notBreaching",
        alarm_actions=[down.arn],
        tags=TAGS,
    )
    rule = aws.cloudwatch.EventRule(
        "notices",
        event_pattern=json.dumps({"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}),
        tags=TAGS,
    )
    aws.cloudwatch.EventTarget("notices", rule=rule.name, arn="arn:aws:sqs:us-east-1:123456789012:notices")


def checkpoint_store():
    """A bucket of checkpoints that neither a person nor a lifecycle rule empties."""
    logs = aws.s3.Bucket("logs", tags=TAGS)
    closed(logs, "logs", sse="AES256")
    bucket = aws.s3.Bucket(
        "checkpoints",
        object_lock_enabled=True,
        tags=TAGS,
        opts=pulumi.ResourceOptions(protect=True, retain_on_delete=True),
    )
    closed(bucket, "checkpoints", sse="aws:kms")
    aws.s3.BucketLogging("checkpoints", bucket=bucket.id, target_bucket=logs.id, target_prefix="checkpoints/")
    aws.s3.BucketNotification("checkpoints", bucket=bucket.id, eventbridge=True)
    aws.s3.BucketObjectLockConfiguration(
        "checkpoints", bucket=bucket.id, rule={"default_retention": {"mode": "GOVERNANCE", "days": 7}}
    )
    return bucket


def closed(bucket, name, sse):
    by_default = {"sse_algorithm": sse, **({"kms_master_key_id": KEY} if sse == "aws:kms" else {})}
    aws.s3.BucketVersioning(name, bucket=bucket.id, versioning_configuration={"status": "Enabled"})
    aws.s3.BucketServerSideEncryptionConfiguration(
        name, bucket=bucket.id, rules=[{"apply_server_side_encryption_by_default": by_default}]
    )
    aws.s3.BucketPublicAccessBlock(
        name,
        bucket=bucket.id,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
    )
    aws.s3.BucketOwnershipControls(name, bucket=bucket.id, rule={"object_ownership": "BucketOwnerEnforced"})
    aws.s3.BucketLifecycleConfiguration(
        name,
        bucket=bucket.id,
        rules=[
            {
                "id": "old",
                "status": "Enabled",
                "filter": {"prefix": ""},
                "noncurrent_version_expiration": {"noncurrent_days": 30},
                "abort_incomplete_multipart_upload": {"days_after_initiation": 7},
            }
        ],
    )
    refuse = pulumi.Output.all(bucket.arn).apply(
        lambda known: json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Deny",
                        "Principal": "*",
                        "Action": "s3:*",
                        "Resource": [known[0], f"{known[0]}/*"],
                        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                    }
                ],
            }
        )
    )
    aws.s3.BucketPolicy(name, bucket=bucket.id, policy=refuse)


def store_alone():
    checkpoint_store()


def reserved_block():
    """A capacity block that somebody bought by hand: adopted by its id."""
    vpc, subnets = network()
    template = template_of(
        group_of(vpc),
        "p5.4xlarge",
        instance_market_options={"market_type": "capacity-block"},
        capacity_reservation_specification={"capacity_reservation_target": {"capacity_reservation_id": "cr-0123"}},
    )
    group = aws.autoscaling.Group(
        "pretrain",
        min_size=0,
        max_size=2,
        desired_capacity=0,
        vpc_zone_identifiers=[subnets[0].id],
        launch_template={"id": template.id, "version": template.latest_version},
        tags=[{"key": k, "value": v, "propagate_at_launch": True} for k, v in TAGS.items()],
        wait_for_capacity_timeout="0",
        opts=pulumi.ResourceOptions(ignore_changes=["desiredCapacity"]),
    )
    aws.autoscaling.Schedule(
        "pretrain-off",
        scheduled_action_name="off",
        autoscaling_group_name=group.name,
        start_time="2027-01-10T08:00:00Z",
        min_size=0,
        max_size=2,
        desired_capacity=0,
    )


def endpoint_that_scales():
    """A SageMaker endpoint in a network, with a key, that scales with its traffic."""
    vpc, subnets = network()
    group = group_of(vpc)
    role = aws.iam.Role("serve", assume_role_policy=trust("sagemaker.amazonaws.com"), tags=TAGS)
    model = aws.sagemaker.Model(
        "chat",
        execution_role_arn=role.arn,
        enable_network_isolation=True,
        vpc_config={"subnets": [subnet.id for subnet in subnets], "security_group_ids": [group.id]},
        primary_container={"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/chat:1.4.2"},
        tags=TAGS,
    )
    config = aws.sagemaker.EndpointConfiguration(
        "chat",
        kms_key_arn=KEY,
        production_variants=[
            {
                "variant_name": "a",
                "model_name": model.name,
                "instance_type": "ml.g5.xlarge",
                "initial_instance_count": 1,
            }
        ],
        tags=TAGS,
    )
    endpoint = aws.sagemaker.Endpoint("chat", name="chat", endpoint_config_name=config.name, tags=TAGS)
    target = aws.appautoscaling.Target(
        "chat",
        min_capacity=1,
        max_capacity=3,
        resource_id=endpoint.name.apply(lambda name: f"endpoint/{name}/variant/a"),
        scalable_dimension="sagemaker:variant:DesiredInstanceCount",
        service_namespace="sagemaker",
        tags=TAGS,
    )
    aws.appautoscaling.Policy(
        "chat",
        policy_type="TargetTrackingScaling",
        resource_id=target.resource_id,
        scalable_dimension=target.scalable_dimension,
        service_namespace=target.service_namespace,
        target_tracking_scaling_policy_configuration={
            "predefined_metric_specification": {"predefined_metric_type": "SageMakerVariantInvocationsPerInstance"},
            "target_value": 100,
        },
    )


def notebook_that_stops():
    """A notebook behind the network, without root, that ends after an hour of nothing."""
    vpc, subnets = network()
    role = aws.iam.Role("lab", assume_role_policy=trust("sagemaker.amazonaws.com"), tags=TAGS)
    stop = aws.sagemaker.NotebookInstanceLifecycleConfiguration(
        "stop",
        on_start="IyEvYmluL2Jhc2gKcHl0aG9uMyAvb3B0L2F1dG9zdG9wLnB5IC0tdGltZSAzNjAwCg==",  # autostop.py --time 3600
        tags=TAGS,
    )
    aws.sagemaker.NotebookInstance(
        "lab",
        role_arn=role.arn,
        instance_type="ml.g5.xlarge",
        direct_internet_access="Disabled",
        root_access="Disabled",
        kms_key_id=KEY,
        subnet_id=subnets[0].id,
        security_groups=[group_of(vpc).id],
        lifecycle_config_name=stop.name,
        instance_metadata_service_configuration={"minimum_instance_metadata_service_version": "2"},
        tags=TAGS,
    )


def cluster_of_kubernetes():
    """EKS with a system group and a group of accelerators from zero, tainted, with its agents."""
    vpc, subnets = network()
    ids = [subnet.id for subnet in subnets]
    role = aws.iam.Role("control", assume_role_policy=trust("eks.amazonaws.com"), tags=TAGS)
    aws.iam.RolePolicyAttachment("control", role=role.name, policy_arn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy")
    cluster = aws.eks.Cluster(
        "main",
        role_arn=role.arn,
        version="1.34",
        enabled_cluster_log_types=["api", "audit", "authenticator", "controllerManager", "scheduler"],
        vpc_config={"subnet_ids": ids, "endpoint_private_access": True, "endpoint_public_access": False},
        encryption_config={"resources": ["secrets"], "provider": {"key_arn": KEY}},
        access_config={"authentication_mode": "API"},
        upgrade_policy={"support_type": "STANDARD"},
        deletion_protection=True,
        tags=TAGS,
    )
    node = aws.iam.Role("node", assume_role_policy=trust("ec2.amazonaws.com"), tags=TAGS)
    for name in ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"):
        aws.iam.RolePolicyAttachment(name, role=node.name, policy_arn=f"arn:aws:iam::aws:policy/{name}")
    for name in ("vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent", "amazon-cloudwatch-observability"):
        aws.eks.Addon(name, cluster_name=cluster.name, addon_name=name, tags=TAGS)
    aws.eks.NodeGroup(
        "system",
        cluster_name=cluster.name,
        node_role_arn=node.arn,
        subnet_ids=ids,
        instance_types=["m7g.large"],
        scaling_config={"min_size": 2, "max_size": 4, "desired_size": 2},
        tags=TAGS,
        opts=pulumi.ResourceOptions(ignore_changes=["scalingConfig.desiredSize"]),
    )
    template = template_of(group_of(vpc), "g6e.4xlarge")
    aws.eks.NodeGroup(
        "gpu",
        cluster_name=cluster.name,
        node_role_arn=node.arn,
        subnet_ids=ids[:1],
        ami_type="AL2023_x86_64_NVIDIA",
        launch_template={"id": template.id, "version": template.latest_version},
        scaling_config={"min_size": 0, "max_size": 4, "desired_size": 0},
        taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        node_repair_config={"enabled": True},
        tags=TAGS,
        opts=pulumi.ResourceOptions(ignore_changes=["scalingConfig.desiredSize"]),
    )


def shared_files():
    """Lustre in the zone of its machines, imported from a bucket."""
    vpc, subnets = network()
    group = group_of(vpc)
    for name, first, last in (("lustre", 988, 988), ("lustre-data", 1018, 1023)):
        for kind, cls in (("in", aws.vpc.SecurityGroupIngressRule), ("out", aws.vpc.SecurityGroupEgressRule)):
            cls(
                f"{name}-{kind}",
                security_group_id=group.id,
                referenced_security_group_id=group.id,
                ip_protocol="tcp",
                from_port=first,
                to_port=last,
                description="Lustre",
            )
    aws.fsx.LustreFileSystem(
        "scratch",
        subnet_ids=subnets[0].id,
        security_group_ids=[group.id],
        deployment_type="PERSISTENT_2",
        storage_type="SSD",
        storage_capacity=1200,
        per_unit_storage_throughput=125,
        kms_key_id=KEY,
        tags=TAGS,
    )


def web_service():
    """Nothing of AI at all: a queue, a function, a table, a log group, their role."""
    queue = aws.sqs.Queue("jobs", sqs_managed_sse_enabled=True, tags=TAGS)
    table = aws.dynamodb.Table(
        "state",
        hash_key="id",
        attributes=[{"name": "id", "type": "S"}],
        billing_mode="PAY_PER_REQUEST",
        point_in_time_recovery={"enabled": True},
        tags=TAGS,
    )
    role = aws.iam.Role("worker", assume_role_policy=trust("lambda.amazonaws.com"), tags=TAGS)
    aws.iam.RolePolicy(
        "worker",
        role=role.name,
        policy=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": ["sqs:ReceiveMessage", "sqs:DeleteMessage", "dynamodb:PutItem"],
                        "Resource": ["arn:aws:sqs:us-east-1:123456789012:jobs", "arn:aws:dynamodb:*:*:table/state"],
                    },
                    {
                        "Effect": "Allow",
                        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
                        "Resource": "arn:aws:logs:us-east-1:123456789012:log-group:/aws/lambda/worker:*",
                    },
                ],
            }
        ),
    )
    aws.cloudwatch.LogGroup("worker", name="/aws/lambda/worker", retention_in_days=30, tags=TAGS)
    aws.lambda_.Function(
        "worker",
        role=role.arn,
        runtime="python3.13",
        handler="main.handle",
        code=pulumi.AssetArchive({"main.py": pulumi.StringAsset("def handle(*_): ...")}),
        environment={"variables": {"TABLE": table.name, "QUEUE": queue.url}},
        timeout=30,
        tags=TAGS,
    )


def deployer_of_github():
    """A role that one repository's environment takes, and its budget with somebody who hears of it."""
    provider = aws.iam.OpenIdConnectProvider(
        "github", url="https://token.actions.githubusercontent.com", client_id_lists=["sts.amazonaws.com"], tags=TAGS
    )
    document = provider.arn.apply(
        lambda arn: json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Principal": {"Federated": arn},
                        "Action": "sts:AssumeRoleWithWebIdentity",
                        "Condition": {
                            "StringEquals": {
                                "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
                                "token.actions.githubusercontent.com:sub": "repo:team/clusters:environment:dev",
                            }
                        },
                    }
                ],
            }
        )
    )
    aws.iam.Role("deployer", assume_role_policy=document, max_session_duration=3600, tags=TAGS)
    aws.budgets.Budget(
        "team",
        budget_type="COST",
        limit_amount="4000",
        limit_unit="USD",
        time_unit="MONTHLY",
        notifications=[
            {
                "comparison_operator": "GREATER_THAN",
                "notification_type": "FORECASTED",
                "threshold": 80,
                "threshold_type": "PERCENTAGE",
                "subscriber_email_addresses": ["vision@example.com"],
            }
        ],
        tags=TAGS,
    )


PROGRAMS = (
    group_on_a_schedule,
    guarded_spot_group,
    store_alone,
    reserved_block,
    endpoint_that_scales,
    notebook_that_stops,
    cluster_of_kubernetes,
    shared_files,
    web_service,
    deployer_of_github,
)
