"""A group of equal accelerator machines on AWS: launch template, Auto Scaling group, and what guards them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_aws import (
    autoscaling,
    cloudwatch,
    ec2,
    get_availability_zone_output,
    iam,
    resourcegroupstaggingapi,
)

from sizewell.components.aws import instances, parts, policies, user_data
from sizewell.components.aws.args import GpuNodeGroupArgs
from sizewell.components.aws.checks import check_pool
from sizewell.components.aws.fleets.documents import interruption_poller
from sizewell.components.aws.limits import idle, notices, stopping
from sizewell.components.aws.storage.mounts import mount_script
from sizewell.components.facts import of_pool
from sizewell.components.machines import checked_shape, least_accelerators
from sizewell.components.owned import Owned
from sizewell.sizing.catalog.records import Shape


class GpuNodeGroup(Owned):
    """Identical EC2 machines in an Auto Scaling group: no public address, no SSH, encrypted, with an idle guard.

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
        shape = checked_shape(check_pool, name, args, cloud="aws", machine="instance_type")
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args),
            **instances.measured(shape, dimension="AutoScalingGroupName"),
            sizedBy="autoscaling-group",
        )
        role = parts.machines_role(self, name, args)
        profile = self.make(iam.InstanceProfile, f"{name}-nodes", role=role.name)
        account = parts.account_of(args, role)
        key_arn = parts.key_arn(self, name, args, account)
        mounts = bool(args.get("mounts"))
        security_group = parts.closed_group(self, f"{name}-nodes", args, what=f"Machines of {name}", lustre=mounts)
        reservation, starts, ends = self._reservation(name, args)
        template = self._launch_template(
            name, args, shape, security_group=security_group, profile=profile, key_arn=key_arn, reservation=reservation
        )
        group = self._group(name, args, shape, template, begun=starts is None)
        self._schedule(name, args, group)
        nodes = (args["nodes_initial"], args["nodes_max"])
        parts.block_actions(self, name, group.name, nodes=nodes, starts=starts, ends=ends)
        self._guard(name, args, shape, account=account, key_arn=key_arn)

        self.group_name = group.name
        self.role_arn = role.arn
        self.security_group_id = security_group.id
        self.launch_template_id = template.id
        self.register()

    def _launch_template(
        self,
        name: str,
        args: GpuNodeGroupArgs,
        shape: Shape,
        *,
        security_group: ec2.SecurityGroup,
        profile: iam.InstanceProfile,
        key_arn: pulumi.Input[str],
        reservation: dict[str, object] | None,
    ) -> ec2.LaunchTemplate:
        gang = args.get("gang", False)
        mode = args["capacity_mode"]
        market: dict[str, object] = {}
        if mode == "capacity-block":
            market["instance_market_options"] = {"market_type": "capacity-block"}
        if reservation:
            market["capacity_reservation_specification"] = {"capacity_reservation_target": reservation}
        placed = gang and shape.fabric == "efa" and mode in ("on-demand", "spot")
        if placed:  # never with a reservation: its machines stand where they were reserved
            placement = self.make(ec2.PlacementGroup, f"{name}-nodes", strategy="cluster")
            market["placement"] = {"group_name": placement.name}
        tags = self.tags_of(autoscaling.Group, f"{name}-nodes")
        script, documents = parts.boot_script(self, name, args)
        return self.make(
            ec2.LaunchTemplate,
            f"{name}-nodes",
            opts=pulumi.ResourceOptions(depends_on=documents),
            image_id=args.get("image") or instances.image_for(shape),
            instance_type=shape.instance_type,
            iam_instance_profile={"arn": profile.arn},
            network_interfaces=instances.network_interfaces(shape, gang=gang, security_groups=[security_group.id]),
            instance_initiated_shutdown_behavior="terminate",
            user_data=self._first_boot(name, args, shape, script),
            **parts.machine_settings(disk_gib=args["disk_gib"], key=key_arn, tags=tags),
            **market,
        )

    def _first_boot(self, name: str, args: GpuNodeGroupArgs, shape: Shape, start: str) -> pulumi.Input[str]:
        """User data: metrics agent, file systems, the caller's commands; known at preview where nothing is mounted."""

        def script(mounts: Sequence[Mapping[str, str]]) -> str:
            signal = interruption_poller() if args["capacity_mode"] == "spot" else ""
            commands = [mount_script(mounts), signal, start]
            return user_data.user_data(
                runtime=instances.runtime_of(shape),
                region=args["region"],
                group=self.name_of(autoscaling.Group, f"{name}-nodes"),
                start_script="\n".join(block for block in commands if block),
            )

        mounts = args.get("mounts")
        return pulumi.Output.all(*mounts).apply(script) if mounts else script(())

    def _reservation(
        self, name: str, args: GpuNodeGroupArgs
    ) -> tuple[dict[str, Any] | None, pulumi.Input[str] | None, pulumi.Input[str] | None]:
        """The reservation that the machines run in, its start and end; a confirmed Capacity Block without an id is
        bought.
        """
        if args["capacity_mode"] == "reservation":
            return parts.reservation_target(args["reservation"]), None, None
        if args["capacity_mode"] != "capacity-block":
            return None, None, None
        block = args["capacity_block"]
        if block.get("id"):
            return parts.reservation_target(block["id"]), block.get("starts"), block.get("ends")
        bought = self.make(
            ec2.CapacityBlockReservation,
            f"{name}-block",
            capacity_block_offering_id=self._offering(name, args),
            instance_platform="Linux/UNIX",
            opts=pulumi.ResourceOptions(
                protect=True, retain_on_delete=True, ignore_changes=["capacityBlockOfferingId"]
            ),
        )
        return {"capacity_reservation_id": bought.id}, bought.start_date, bought.end_date

    def _offering(self, name: str, args: GpuNodeGroupArgs) -> pulumi.Output[str]:
        """The block to buy, asked for once: where AWS has one with this resource's tag, no other is looked at.

        A later update would find none on offer, or a more expensive one, and end there. What was bought and is missing
        in the state is not bought twice: AWS refuses the words that stand in the offering's place.
        """
        block, parent = args["capacity_block"], pulumi.InvokeOptions(parent=self)
        limit, zones = float(block["max_price_usd"]), args["zones"]
        identity = self.tags_of(ec2.CapacityBlockReservation, f"{name}-block")["sizewell-id"]
        bought = resourcegroupstaggingapi.get_resources_output(
            resource_type_filters=["ec2:capacity-reservation"],
            tag_filters=[{"key": "sizewell-id", "values": [identity]}],
            region=args["region"],
            opts=parent,
        )

        def ask(rows: object) -> pulumi.Output[str]:
            if rows:
                return pulumi.Output.from_input(user_data.BOUGHT)
            offering = ec2.get_capacity_block_offering_output(
                instance_type=args["instance_type"],
                instance_count=args["nodes_max"],
                capacity_duration_hours=block["duration_hours"],
                start_date_range=block.get("start"),
                opts=parent,
            )
            names = [
                get_availability_zone_output(zone_id=zone, opts=parent).name if "-az" in zone else zone
                for zone in zones
            ]
            answers = pulumi.Output.all(
                offering.capacity_block_offering_id, offering.upfront_fee, offering.availability_zone, *names
            )
            return answers.apply(
                lambda known: policies.acceptable(
                    name,
                    offering_id=known[0],
                    fee_usd=float(known[1]),
                    limit_usd=limit,
                    zone=known[2] or "",
                    zones=known[3:],
                )
            )

        offered: pulumi.Output[str] = bought.resource_tag_mapping_lists.apply(ask)
        return offered

    def _group(
        self, name: str, args: GpuNodeGroupArgs, shape: Shape, template: ec2.LaunchTemplate, *, begun: bool
    ) -> autoscaling.Group:
        """`begun`: its machines can start at once, and not only with a capacity block."""
        spot = args["capacity_mode"] == "spot"
        gang = args.get("gang", False)
        # the number, not $Latest: a change of the template is then a change of the group, which a preview shows
        version = template.latest_version.apply(str)
        machines: dict[str, object] = {"launch_template": {"id": template.id, "version": version}}
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
        return self.make(
            autoscaling.Group,
            f"{name}-nodes",
            min_size=args["nodes_min"],
            max_size=args["nodes_max"],
            desired_capacity=args["nodes_initial"] if begun else 0,
            vpc_zone_identifiers=args["subnet_ids"],
            health_check_type="EC2",
            health_check_grace_period=600,
            default_instance_warmup=300,
            wait_for_capacity_timeout="0",  # a group that lacks capacity is a state to report, not an update to fail
            suspended_processes=["AZRebalance"] if gang else [],
            termination_policies=["OldestLaunchTemplate", "Default"],
            enabled_metrics=["GroupDesiredCapacity", "GroupInServiceInstances", "GroupTotalInstances"],
            tags=[{"key": key, "value": value, "propagate_at_launch": True} for key, value in tags.items()],
            # after creation schedule, guard and autoscaling say how many; an update would start stopped machines
            opts=pulumi.ResourceOptions(ignore_changes=["desiredCapacity"]),
            **machines,
        )

    def _schedule(self, name: str, args: GpuNodeGroupArgs, group: autoscaling.Group) -> None:
        if "schedule" not in args:
            return
        for action, settings in instances.schedule_actions(
            args["schedule"],
            nodes_min=args["nodes_min"],
            nodes_initial=args["nodes_initial"],
            nodes_max=args["nodes_max"],
        ).items():
            self.make(
                autoscaling.Schedule,
                f"{name}-{action}",
                scheduled_action_name=action,
                autoscaling_group_name=group.name,
                **settings,
            )

    def _guard(
        self,
        name: str,
        args: GpuNodeGroupArgs,
        shape: Shape,
        *,
        account: pulumi.Input[str],
        key_arn: pulumi.Input[str],
    ) -> None:
        """Two alarms on the accelerator: the first gives notice, the second, a grace later, takes the pool down."""
        guard, runtime, region = args.get("guard"), instances.runtime_of(shape), args["region"]
        if guard is None or runtime not in instances.METRIC:
            return
        topic = notices.topic(
            self, f"{name}-notices", key_arn=key_arn, region=region, account=account, publishers=notices.PUBLISHERS
        )
        alarms = {"idle": guard["window_s"]}
        if guard["action"] == "scale-to-zero":
            alarms["idle-stop"] = guard["window_s"] + guard["grace_s"]
        physical = self.name_of(autoscaling.Group, f"{name}-nodes")
        for alarm, seconds in alarms.items():
            self.make(
                cloudwatch.MetricAlarm,
                f"{name}-{alarm}",
                alarm_description=f"{name}: under {guard['min_utilization_percent']:g} % for {seconds // 60} minutes",
                alarm_actions=[topic.arn],
                **instances.idle_alarm(runtime=runtime, guard=guard, group=physical, seconds=seconds),
            )
        if "idle-stop" in alarms:
            types = [args["instance_type"], *args.get("fallback_types", [])]
            watched = idle.watched(
                instances.measured(shape, dimension="AutoScalingGroupName")["measured"],
                accelerators=least_accelerators("aws", types),
                guard=guard,
                seconds=alarms["idle-stop"],
                least=args["nodes_min"],
            )
            stopping.stop_on_alarm(
                self,
                name,
                region=region,
                account=account,
                alarm=self.name_of(cloudwatch.MetricAlarm, f"{name}-idle-stop"),
                content=idle.group_document(watched, pattern=f"^{physical}$"),
                pool=("Group", physical),
                value=physical,
                may={"group": idle.group_policy(region=region, group=physical)},
                key_arn=key_arn,
                topic_arn=topic.arn,
            )
