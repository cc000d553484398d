"""A group of equal accelerator machines on AWS: launch template, Auto Scaling group, and what guards them."""

from typing import Any

import pulumi
from pulumi_aws import autoscaling, cloudwatch, ec2, iam, sns
from pulumi_aws import vpc as rules

from components.aws import plans
from components.aws.args import GpuNodeGroupArgs
from components.aws.checks import check_pool
from components.aws.network import encryption_key
from components.machines import find_shape
from components.owned import Owned
from sizing.catalog.records import Shape


class GpuNodeGroup(Owned):
    """Equal EC2 machines in an Auto Scaling group: no public address, no SSH, encrypted, watched for idleness.

    Afterwards autoscalers, schedule and guard own the current size; Pulumi owns existence, minimum and maximum.
    """

    group_name: pulumi.Output[str]
    """Name of the Auto Scaling group."""
    role_arn: pulumi.Output[str]
    """Role of the machines."""
    security_group_id: pulumi.Output[str]
    """Security group of the machines."""
    launch_template_id: pulumi.Output[str]
    """Launch template of the machines."""

    def __init__(self, name: str, args: GpuNodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = find_shape("aws", args.get("instance_type"))
        check_pool(name, args, shape)
        assert shape is not None  # noqa: S101  (check_pool refuses an unknown type)
        super().__init__(
            "sizewell-aws:index:GpuNodeGroup",
            name,
            args,
            {
                "kind": "pool",
                "name": name,
                "environment": args["environment"],
                "cloud": "aws",
                "region": args["region"],
                "instanceType": shape.instance_type,
                "accelerator": shape.accelerator,
                "acceleratorsPerNode": shape.accelerators,
                "market": {"reservation": "on-demand"}.get(args["capacity_mode"], args["capacity_mode"]),
                "capacityMode": args["capacity_mode"],
                "nodesMin": args["nodes_min"],
                "nodesInitial": args["nodes_initial"],
                "nodesMax": args["nodes_max"],
            },
            opts,
        )
        role, profile = self._identity(name, args)
        key_arn = args.get("kms_key_arn")
        if key_arn is None:
            account = args.get("account") or role.arn.apply(plans.account_of)
            production = args["environment"] == "prod"
            key_arn = encryption_key(self, name, region=args["region"], account=account, production=production).arn
        security_group = self._security_group(name, args)
        template = self._launch_template(
            name, args, shape, security_group=security_group, profile=profile, key_arn=key_arn
        )
        group = self._group(name, args, shape, template)
        self._schedule(name, args, group)
        self._guard(name, args, shape, group, key_arn)

        self.group_name = group.name
        self.role_arn = role.arn
        self.security_group_id = security_group.id
        self.launch_template_id = template.id
        self.register_outputs(
            {
                "groupName": self.group_name,
                "roleArn": self.role_arn,
                "securityGroupId": self.security_group_id,
                "launchTemplateId": self.launch_template_id,
            }
        )

    def _identity(self, name: str, args: GpuNodeGroupArgs) -> tuple[iam.Role, iam.InstanceProfile]:
        """A role that Systems Manager, the metrics agent and the checkpoint writer need, and no more."""
        child, region = self.child(), args["region"]
        role = iam.Role(
            f"{name}-nodes",
            name=self.physical(f"{name}-nodes", 64),
            description=f"Machines of {name}",
            assume_role_policy=plans.assume_role("ec2.amazonaws.com"),
            tags=self.tags_of(iam.Role, f"{name}-nodes"),
            opts=child,
        )
        arn = f"arn:{plans.partition(region)}:iam::aws:policy"
        for suffix, managed in (
            ("ssm", "AmazonSSMManagedInstanceCore"),
            ("images", "AmazonEC2ContainerRegistryPullOnly"),
        ):
            iam.RolePolicyAttachment(f"{name}-{suffix}", role=role.name, policy_arn=f"{arn}/{managed}", opts=child)
        iam.RolePolicy(f"{name}-metrics", role=role.id, policy=plans.metrics_policy(region=region), opts=child)
        if writer := args.get("writer"):
            document = plans.writer_policy(region=region, bucket=writer["bucket"], key_alias=writer["key_alias"])
            iam.RolePolicy(f"{name}-checkpoints", role=role.id, policy=document, opts=child)
        profile = iam.InstanceProfile(
            f"{name}-nodes",
            name=self.physical(f"{name}-nodes", 128),
            role=role.name,
            tags=self.tags_of(iam.InstanceProfile, f"{name}-nodes"),
            opts=child,
        )
        return role, profile

    def _security_group(self, name: str, args: GpuNodeGroupArgs) -> ec2.SecurityGroup:
        """Among themselves the machines may say everything (EFA needs it both ways); out only HTTPS to AWS."""
        child = self.child()
        group = ec2.SecurityGroup(
            f"{name}-nodes",
            name=self.physical(f"{name}-nodes", 255),
            description=f"Machines of {name}: everything among themselves, HTTPS to AWS, nothing in",
            vpc_id=args["vpc_id"],
            tags=self.tags_of(ec2.SecurityGroup, f"{name}-nodes"),
            opts=child,
        )
        among = {"ip_protocol": "-1", "referenced_security_group_id": group.id, "security_group_id": group.id}
        https = {"ip_protocol": "tcp", "from_port": 443, "to_port": 443, "security_group_id": group.id}
        rules.SecurityGroupIngressRule(
            f"{name}-from-nodes",
            description="Everything from the machines of this group (EFA, collectives)",
            tags=self.tags_of(rules.SecurityGroupIngressRule, f"{name}-from-nodes"),
            opts=child,
            **among,
        )
        rules.SecurityGroupEgressRule(
            f"{name}-to-nodes",
            description="Everything to the machines of this group (EFA, collectives)",
            tags=self.tags_of(rules.SecurityGroupEgressRule, f"{name}-to-nodes"),
            opts=child,
            **among,
        )
        rules.SecurityGroupEgressRule(
            f"{name}-to-endpoints",
            description="HTTPS to the endpoints in the VPC",
            cidr_ipv4=args["vpc_cidr"],
            tags=self.tags_of(rules.SecurityGroupEgressRule, f"{name}-to-endpoints"),
            opts=child,
            **https,
        )
        if "s3_prefix_list_id" in args:
            rules.SecurityGroupEgressRule(
                f"{name}-to-s3",
                description="HTTPS to S3 through the gateway endpoint",
                prefix_list_id=args["s3_prefix_list_id"],
                tags=self.tags_of(rules.SecurityGroupEgressRule, f"{name}-to-s3"),
                opts=child,
                **https,
            )
        return group

    def _launch_template(
        self,
        name: str,
        args: GpuNodeGroupArgs,
        shape: Shape,
        *,
        security_group: ec2.SecurityGroup,
        profile: iam.InstanceProfile,
        key_arn: pulumi.Input[str],
    ) -> ec2.LaunchTemplate:
        gang = args.get("gang", False)
        mode = args["capacity_mode"]
        market: dict[str, Any] = {}
        if mode == "capacity-block":
            market["instance_market_options"] = {"market_type": "capacity-block"}
        if reservation := self._reservation(name, args):
            market["capacity_reservation_specification"] = {"capacity_reservation_target": reservation}
        placed = gang and shape.fabric == "efa" and mode in ("on-demand", "spot")
        if placed:  # never with a reservation: its machines stand where they were reserved
            placement = ec2.PlacementGroup(
                f"{name}-nodes",
                name=self.physical(f"{name}-nodes", 255),
                strategy="cluster",
                tags=self.tags_of(ec2.PlacementGroup, f"{name}-nodes"),
                opts=self.child(),
            )
            market["placement"] = {"group_name": placement.name}
        tags = self.tags_of(autoscaling.Group, f"{name}-nodes")
        return ec2.LaunchTemplate(
            f"{name}-nodes",
            name=self.physical(f"{name}-nodes", 128),
            update_default_version=True,
            image_id=args.get("image") or plans.image_for(shape),
            instance_type=shape.instance_type,
            iam_instance_profile={"arn": profile.arn},
            metadata_options={
                "http_endpoint": "enabled",
                "http_tokens": "required",
                "http_put_response_hop_limit": 1,
                "instance_metadata_tags": "enabled",
            },
            network_interfaces=plans.network_interfaces(shape, gang=gang, security_groups=[security_group.id]),
            block_device_mappings=[
                {
                    "device_name": "/dev/xvda",
                    "ebs": {
                        "volume_type": "gp3",
                        "volume_size": args["disk_gib"],
                        "encrypted": "true",
                        "kms_key_id": key_arn,
                        "delete_on_termination": "true",
                    },
                }
            ],
            ebs_optimized="true",
            monitoring={"enabled": True},
            instance_initiated_shutdown_behavior="terminate",
            user_data=plans.user_data(
                runtime=plans.runtime_of(shape),
                region=args["region"],
                group=self.physical(f"{name}-nodes", 255),
                start_script=args.get("start_script", ""),
            ),
            tag_specifications=[
                {"resource_type": kind, "tags": tags} for kind in ("instance", "volume", "network-interface")
            ],
            tags=self.tags_of(ec2.LaunchTemplate, f"{name}-nodes"),
            opts=self.child(),
            **market,
        )

    def _reservation(self, name: str, args: GpuNodeGroupArgs) -> dict[str, Any] | None:
        """The reservation that the machines run in; a confirmed Capacity Block without an id is bought here."""
        if args["capacity_mode"] == "reservation":
            value = args["reservation"]
            is_group = value.startswith("arn:")
            return {"capacity_reservation_resource_group_arn" if is_group else "capacity_reservation_id": value}
        if args["capacity_mode"] != "capacity-block":
            return None
        block = args["capacity_block"]
        if block.get("id"):
            return {"capacity_reservation_id": block["id"]}
        limit = float(block["max_price_usd"])
        offering = ec2.get_capacity_block_offering_output(
            instance_type=args["instance_type"],
            instance_count=args["nodes_max"],
            capacity_duration_hours=block["duration_hours"],
            start_date_range=block.get("start"),
            opts=pulumi.InvokeOptions(parent=self),
        )
        offering_id = pulumi.Output.all(offering.capacity_block_offering_id, offering.upfront_fee).apply(
            lambda found: plans.affordable(name, offering_id=found[0], fee_usd=float(found[1]), limit_usd=limit)
        )
        bought = ec2.CapacityBlockReservation(
            f"{name}-block",
            capacity_block_offering_id=offering_id,
            instance_platform="Linux/UNIX",
            tags=self.tags_of(ec2.CapacityBlockReservation, f"{name}-block"),
            opts=self.child(protect=True, retain_on_delete=True, ignore_changes=["capacityBlockOfferingId"]),
        )
        return {"capacity_reservation_id": bought.id}

    def _group(
        self, name: str, args: GpuNodeGroupArgs, shape: Shape, template: ec2.LaunchTemplate
    ) -> autoscaling.Group:
        spot = args["capacity_mode"] == "spot"
        gang = args.get("gang", False)
        version = template.latest_version.apply(str)
        machines: dict[str, Any] = {"launch_template": {"id": template.id, "version": version}}
        if spot:
            types = [shape.instance_type, *args.get("fallback_types", [])]
            machines = {
                "mixed_instances_policy": {
                    "instances_distribution": {
                        "on_demand_base_capacity": 0,
                        "on_demand_percentage_above_base_capacity": 0,
                        "spot_allocation_strategy": "price-capacity-optimized",
                    },
                    "launch_template": {
                        "launch_template_specification": {"launch_template_id": template.id, "version": version},
                        "overrides": [{"instance_type": instance_type} for instance_type in types],
                    },
                },
                "capacity_rebalance": True,
            }
        tags = {**self.tags_of(autoscaling.Group, f"{name}-nodes"), "Name": self.physical(name, 128)}
        return autoscaling.Group(
            f"{name}-nodes",
            name=self.physical(f"{name}-nodes", 255),
            min_size=args["nodes_min"],
            max_size=args["nodes_max"],
            desired_capacity=args["nodes_initial"],
            vpc_zone_identifiers=args["subnet_ids"],
            health_check_type="EC2",
            health_check_grace_period=600,
            default_instance_warmup=300,
            wait_for_capacity_timeout="0",  # a group without capacity is a state to report, not an update to fail
            suspended_processes=["AZRebalance"] if gang else [],
            termination_policies=["OldestLaunchTemplate", "Default"],
            enabled_metrics=["GroupDesiredCapacity", "GroupInServiceInstances", "GroupTotalInstances"],
            tags=[{"key": key, "value": value, "propagate_at_launch": True} for key, value in tags.items()],
            opts=self.child(ignore_changes=["desiredCapacity"]),
            **machines,
        )

    def _schedule(self, name: str, args: GpuNodeGroupArgs, group: autoscaling.Group) -> None:
        if "schedule" not in args:
            return
        sizes = {key: args[key] for key in ("nodes_min", "nodes_initial", "nodes_max")}
        for action, settings in plans.schedule_actions(args["schedule"], **sizes).items():
            autoscaling.Schedule(
                f"{name}-{action}",
                scheduled_action_name=action,
                autoscaling_group_name=group.name,
                opts=self.child(),
                **settings,
            )

    def _guard(
        self,
        name: str,
        args: GpuNodeGroupArgs,
        shape: Shape,
        group: autoscaling.Group,
        key_arn: pulumi.Input[str],
    ) -> None:
        """Two alarms on the accelerator: the first gives notice, the second, a grace later, takes the pool down."""
        guard, runtime = args.get("guard"), plans.runtime_of(shape)
        if guard is None or runtime not in plans.METRIC:
            return
        topic = sns.Topic(
            f"{name}-notices",
            name=self.physical(f"{name}-notices", 256),
            kms_master_key_id=key_arn,
            tags=self.tags_of(sns.Topic, f"{name}-notices"),
            opts=self.child(),
        )
        alarms = {"idle": (guard["window_s"], topic.arn)}
        if guard["action"] == "scale-to-zero":
            stop = autoscaling.Policy(
                f"{name}-stop",
                name=self.physical(f"{name}-stop", 255),
                autoscaling_group_name=group.name,
                policy_type="SimpleScaling",
                adjustment_type="ExactCapacity",
                scaling_adjustment=args["nodes_min"],
                cooldown=300,
                opts=self.child(),
            )
            alarms["idle-stop"] = (guard["window_s"] + guard["grace_s"], stop.arn)
        physical = self.physical(f"{name}-nodes", 255)
        for alarm, (seconds, action) in alarms.items():
            cloudwatch.MetricAlarm(
                f"{name}-{alarm}",
                name=self.physical(f"{name}-{alarm}", 255),
                alarm_description=f"{name}: under {guard['min_utilization_percent']:g} % for {seconds // 60} minutes",
                alarm_actions=[action],
                tags=self.tags_of(cloudwatch.MetricAlarm, f"{name}-{alarm}"),
                opts=self.child(),
                **plans.idle_alarm(runtime=runtime, guard=guard, group=physical, seconds=seconds),
            )
