"""Accelerator machines of an EKS cluster: a managed node group, its network cards, its guard, its checkpoint writer."""

import pulumi
from pulumi_aws import autoscaling, cloudwatch, ec2, eks

from sizewell.components.aws import instances, parts, policies
from sizewell.components.aws.eks import node_config as eks_node_config
from sizewell.components.aws.eks import parts as eks_parts
from sizewell.components.aws.eks import scaling as eks_scaling
from sizewell.components.aws.eks.args import EksNodeGroupArgs
from sizewell.components.aws.eks.checks import check_eks_pool
from sizewell.components.aws.eks.cluster import NODE_POLICIES
from sizewell.components.aws.limits import idle, notices, stopping
from sizewell.components.facts import of_pool
from sizewell.components.machines import checked_shape, least_accelerators
from sizewell.components.owned import Owned
from sizewell.sizing.catalog.records import Shape


class EksNodeGroup(Owned):
    """Identical machines with accelerators under EKS: tainted, auto-repaired, encrypted, no public address, no SSH.

    Afterwards autoscalers, schedule and guard own the current size; Pulumi owns existence, minimum and maximum.
    """

    node_group_name: pulumi.Output[str]
    """Name of the managed node group."""
    role_arn: pulumi.Output[str]
    """Role of the machines; pods have their own roles."""
    writer_role_arn: pulumi.Output[str]
    """Role of the pods that write checkpoints; empty without a checkpoint store."""

    def __init__(self, name: str, args: EksNodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_eks_pool, name, args, cloud="aws", machine="instance_type")
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args),
            **eks_node_config.measured(shape),
            sizedBy="eks-node-group",
        )
        role = parts.role(
            self,
            f"{name}-nodes",
            trust=policies.assume_role("ec2.amazonaws.com"),
            description=f"Machines of {name}",
            managed=NODE_POLICIES,
            region=args["region"],
        )
        account = parts.account_of(args, role)
        key = parts.key_arn(self, name, args, account)
        group = self._group(name, args, shape, role_arn=role.arn, template=self._template(name, args, shape, key))
        scaled = group.resources.apply(eks_node_config.group_of)
        self._group_tags(name, args, shape, scaled)
        self._schedule(name, args, scaled)
        block, nodes = args.get("capacity_block", {}), (args["nodes_initial"], args["nodes_max"])
        parts.block_actions(self, name, scaled, nodes=nodes, starts=block.get("starts"), ends=block.get("ends"))
        self._guard(name, args, shape, scaled, account)

        self.node_group_name = group.node_group_name
        self.role_arn = role.arn
        self.writer_role_arn = eks_parts.pod_writer(self, name, args, args["cluster"])
        self.register()

    def _template(self, name: str, args: EksNodeGroupArgs, shape: Shape, key: pulumi.Input[str]) -> ec2.LaunchTemplate:
        gang, mode = args.get("gang", False), args["capacity_mode"]
        own = parts.closed_group(
            self, f"{name}-nodes", args, what=f"Machines of {name}", lustre=args.get("lustre", False)
        )
        market: dict[str, object] = {}
        if mode == "capacity-block":
            market["instance_market_options"] = {"market_type": "capacity-block"}
            target = parts.reservation_target(args["capacity_block"]["id"])
            market["capacity_reservation_specification"] = {"capacity_reservation_target": target}
        elif mode == "reservation":
            target = parts.reservation_target(args["reservation"])
            market["capacity_reservation_specification"] = {"capacity_reservation_target": target}
        elif eks_node_config.has_efa(
            shape, gang=gang
        ):  # never with a reservation: its machines stand where they were reserved
            placement = self.make(ec2.PlacementGroup, f"{name}-nodes", strategy="cluster")
            market["placement"] = {"group_name": placement.name}
        if mode != "spot":  # a spot pool may have several types, which stand in the node group
            market["instance_type"] = shape.instance_type
        market["user_data"] = eks_node_config.first_boot(shape, efa=eks_node_config.has_efa(shape, gang=gang))
        tags = {**self.tags_of(eks.NodeGroup, f"{name}-nodes"), "Name": self.physical(name, 128)}
        return self.make(
            ec2.LaunchTemplate,
            f"{name}-nodes",
            network_interfaces=instances.network_interfaces(
                shape, gang=gang, security_groups=[args["cluster_security_group_id"], own.id]
            ),
            **parts.machine_settings(disk_gib=args["disk_gib"], key=key, tags=tags),
            **market,
        )

    def _group(
        self,
        name: str,
        args: EksNodeGroupArgs,
        shape: Shape,
        *,
        role_arn: pulumi.Output[str],
        template: ec2.LaunchTemplate,
    ) -> eks.NodeGroup:
        mode, efa = args["capacity_mode"], eks_node_config.has_efa(shape, gang=args.get("gang", False))
        types: dict[str, object] = {}
        if mode == "spot":
            types["instance_types"] = [shape.instance_type, *args.get("fallback_types", [])]
        return self.make(
            eks.NodeGroup,
            f"{name}-nodes",
            cluster_name=args["cluster"],
            node_group_name=self.name_of(eks.NodeGroup, name),
            node_role_arn=role_arn,
            subnet_ids=args["subnet_ids"],
            ami_type=eks_node_config.image_type(shape),
            capacity_type=eks_node_config.CAPACITY_TYPES[mode],
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={
                "min_size": args["nodes_min"],
                "desired_size": 0 if "starts" in args.get("capacity_block", {}) else args["nodes_initial"],
                "max_size": args["nodes_max"],
            },
            update_config=eks_node_config.REPLACED,
            node_repair_config={"enabled": True},
            labels=eks_node_config.labels(shape, pool=name, efa=efa),
            taints=eks_node_config.taints(shape),
            opts=pulumi.ResourceOptions(ignore_changes=["scalingConfig.desiredSize"]),
            **types,
        )

    def _group_tags(self, name: str, args: EksNodeGroupArgs, shape: Shape, scaled: pulumi.Output[str]) -> None:
        """EKS hands a node group's tags on to nothing: the autoscaler and the hard end find the group by these."""
        tags = eks_scaling.group_tags(
            shape,
            pool=name,
            project=pulumi.get_project(),
            stack=pulumi.get_stack(),
            cluster=args["cluster"],
            mode=args["capacity_mode"],
            efa=eks_node_config.has_efa(shape, gang=args.get("gang", False)),
            disk_gib=args["disk_gib"],
            guard=args.get("guard"),
        )
        for key, value in tags.items():
            self.make(
                autoscaling.Tag,
                f"{name}-{eks_scaling.tag_name(key)}",
                autoscaling_group_name=scaled,
                tag={"key": key, "value": value, "propagate_at_launch": False},
            )

    def _schedule(self, name: str, args: EksNodeGroupArgs, scaled: pulumi.Output[str]) -> None:
        if "schedule" not in args:
            return
        sizes = {key: args[key] for key in ("nodes_min", "nodes_initial", "nodes_max")}
        for action, settings in instances.schedule_actions(args["schedule"], **sizes, closed=True).items():
            self.make(
                autoscaling.Schedule,
                f"{name}-{action}",
                scheduled_action_name=action,
                autoscaling_group_name=scaled,
                **settings,
            )

    def _guard(
        self,
        name: str,
        args: EksNodeGroupArgs,
        shape: Shape,
        scaled: pulumi.Output[str],
        account: pulumi.Input[str],
    ) -> None:
        """Two alarms: the first gives notice, the second, a grace later, takes the pool down.

        A pool that may be empty stays so, whoever still waits for a machine of it: the most that it may have becomes
        none, which the autoscaler cannot change, until its working hours or a person say otherwise. A pool that keeps
        machines goes down to those; more come as soon as a pod waits for one.
        """
        guard, runtime = args.get("guard"), instances.runtime_of(shape)
        if guard is None or runtime not in eks_node_config.METRICS:
            return
        topic, key = notices.topic_with_key(self, f"{name}-notices", region=args["region"], account=account)
        alarms = {"idle": guard["window_s"]}
        if guard["action"] == "scale-to-zero":
            alarms["idle-stop"] = guard["window_s"] + guard["grace_s"]
        for alarm, seconds in alarms.items():
            eks_parts.idle_alarm(
                self,
                name,
                alarm=alarm,
                action=topic.arn,
                seconds=seconds,
                guard=guard,
                runtime=runtime,
                cluster=args["cluster"],
            )
        if guard["action"] == "scale-to-zero":
            types = [args["instance_type"], *args.get("fallback_types", [])]
            watched = idle.watched(
                eks_node_config.measured(shape)["measured"],
                accelerators=least_accelerators("aws", types),
                guard=guard,
                seconds=alarms["idle-stop"],
                least=args["nodes_min"],
            )
            group = eks_scaling.managed_group(self.name_of(eks.NodeGroup, name))
            stopping.stop_on_alarm(
                self,
                name,
                region=args["region"],
                account=account,
                alarm=self.name_of(cloudwatch.MetricAlarm, f"{name}-idle-stop"),
                content=idle.group_document(watched, pattern=eks_scaling.GROUP_NAME, held=not args["nodes_min"]),
                pool=("Group", scaled),
                value=args["cluster"],
                may={"group": idle.group_policy(region=args["region"], group=group)},
                key_arn=key.arn,
                topic_arn=topic.arn,
            )
