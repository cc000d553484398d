"""A transcription service: a group of GPU machines behind an internal load balancer, and the bucket it reads from."""

import pulumi
import pulumi_aws as aws

SUBNETS = ["subnet-0a1", "subnet-0b2"]
TAGS = {"owner": "speech", "environment": "prod"}

audio = aws.s3.Bucket("audio", tags=TAGS)
aws.s3.BucketPublicAccessBlock(
    "audio-private",
    bucket=audio.id,
    block_public_acls=True,
    block_public_policy=True,
    ignore_public_acls=True,
    restrict_public_buckets=True,
)
inside = aws.ec2.SecurityGroup(
    "inside",
    vpc_id="vpc-0aa",
    ingress=[{"protocol": "tcp", "from_port": 9000, "to_port": 9000, "cidr_blocks": ["10.0.0.0/8"]}],
    tags=TAGS,
)
template = aws.ec2.LaunchTemplate(
    "whisper",
    image_id="ami-0f3c9c466bb525749",
    instance_type="g6.xlarge",
    vpc_security_group_ids=[inside.id],
    metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
    block_device_mappings=[
        {"device_name": "/dev/sda1", "ebs": {"volume_size": 100, "volume_type": "gp3", "encrypted": "true"}}
    ],
    tags=TAGS,
)
group = aws.autoscaling.Group(
    "whisper-group",
    min_size=1,
    max_size=4,
    vpc_zone_identifiers=SUBNETS,
    launch_template={"id": template.id, "version": "$Latest"},
    tags=[{"key": key, "value": value, "propagate_at_launch": True} for key, value in TAGS.items()],
)
aws.autoscaling.Policy(
    "by-load",
    autoscaling_group_name=group.name,
    policy_type="TargetTrackingScaling",
    target_tracking_configuration={
        "predefined_metric_specification": {"predefined_metric_type": "ALBRequestCountPerTarget"},
        "target_value": 40,
    },
)
pulumi.export("group", group.name)
