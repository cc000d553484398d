"""A program of a team that uses none of our components: a group on a schedule, a fleet, SageMaker, storage, network."""

import pulumi_aws as aws

vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.0.0.0/24", availability_zone="us-east-1a")
address = aws.ec2.Eip("nat-ip", domain="vpc")
aws.ec2.NatGateway("nat", subnet_id=subnet.id, allocation_id=address.allocation_id)

template = aws.ec2.LaunchTemplate(
    "gpu",
    image_id="ami-1",
    instance_type="g6e.12xlarge",
    block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"volume_size": 200, "volume_type": "gp3"}}],
)
group = aws.autoscaling.Group(
    "train",
    min_size=0,
    max_size=2,
    desired_capacity=0,
    vpc_zone_identifiers=[subnet.id],
    launch_template={"id": template.id, "version": "$Latest"},
)
for name, when, size in (("on", "0 7 * * MON-FRI", 1), ("off", "0 21 * * MON-FRI", 0)):
    aws.autoscaling.Schedule(
        f"train-{name}",
        scheduled_action_name=name,
        autoscaling_group_name=group.name,
        recurrence=when,
        min_size=size,
        max_size=2,
        desired_capacity=size,
    )

role = aws.iam.Role("sagemaker", assume_role_policy="{}")
model = aws.sagemaker.Model("model", execution_role_arn=role.arn, primary_container={"image": "registry/model:1"})
config = aws.sagemaker.EndpointConfiguration(
    "chat",
    production_variants=[
        {
            "variant_name": "a",
            "model_name": model.name,
            "instance_type": "ml.g5.xlarge",
            "initial_instance_count": 2,
        }
    ],
)
aws.sagemaker.Endpoint("chat", endpoint_config_name=config.name)
aws.ebs.Volume("scratch", availability_zone="us-east-1a", size=500, type="gp3")
aws.cloudwatch.LogGroup("logs", retention_in_days=14)
