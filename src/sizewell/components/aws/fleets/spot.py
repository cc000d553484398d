"""A fleet of spot machines on AWS: several types, several zones, and a warning before one is taken away."""

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter

import pulumi
from pulumi_aws import cloudwatch, ec2, iam, kms, sqs, ssm

from sizewell.components.aws import instances, parts, policies
from sizewell.components.aws.fleets import documents as fleet_documents
from sizewell.components.aws.fleets.documents import SpotFleetArgs, check_fleet
from sizewell.components.aws.limits import idle, notices, stopping
from sizewell.components.facts import of_capacity, of_machines, of_sizes
from sizewell.components.inputs import derive
from sizewell.components.machines import find_shape, least_accelerators
from sizewell.components.owned import Owned
from sizewell.components.tags import physical_name
from sizewell.sizing.catalog.records import Shape


class SpotFleet(Owned):
    """An EC2 Fleet of spot machines that work independently: replaced when reclaimed, terminated when the fleet ends.

    Pulumi owns the fleet and its machines: when it is deleted or expires, they are terminated. The expiry is the
    fleet's own `valid_until`, which AWS enforces without any other service; a new expiry therefore makes a new fleet. A
    notice reaches the job in two ways: the machine reads its own metadata every five seconds and signals the job, and
    EventBridge puts the event into a queue for a scheduler to read. The queue gets all spot events of the region, since
    EC2 does not say to which fleet a machine belongs.
    """

    fleet_id: pulumi.Output[str]
    """Id of the fleet."""
    role_arn: pulumi.Output[str]
    """Role of the machines."""
    queue_url: pulumi.Output[str]
    """Queue of interruptions and rebalance recommendations."""
    checkpoint_document: pulumi.Output[str]
    """Systems Manager command that asks the jobs for a checkpoint."""

    def __init__(self, name: str, args: SpotFleetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shapes = [find_shape("aws", instance_type) for instance_type in args.get("instance_types") or []]
        check_fleet(name, args, shapes)
        if said := fleet_documents.short_of_market(name, args):
            pulumi.log.warn(said)
        first = shapes[0]
        assert first is not None  # noqa: S101  (check_fleet refuses an unknown type)
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_machines(first),
            **of_capacity("spot"),
            **of_sizes(0, args["nodes_initial"], args["nodes_max"]),
            **instances.measured(
                first,
                dimension=fleet_documents.DIMENSION,
                value=physical_name("sizewell", pulumi.get_stack(), name, limit=128),
            ),
            sizedBy="ec2-fleet",
            interruptible=True,
            checkpointStore=args["writer"]["bucket"] if "writer" in args else "",
        )
        region = args["region"]
        role = parts.machines_role(self, name, args)
        account = parts.account_of(args, role)
        fleet = self._fleet(name, args, self._launch_template(name, args, first, role, account))
        message_key = parts.service_key(
            self,
            f"{name}-messages",
            account=account,
            region=region,
            services=("events.amazonaws.com", "cloudwatch.amazonaws.com"),
        )
        queue = self._queue(name, region, account, message_key)
        document = self._document(f"{name}-checkpoint", "Command", fleet_documents.signal_document())
        self._guard(name, args, first, fleet, account=account, key=message_key)

        self.fleet_id = fleet.id
        self.role_arn = role.arn
        self.queue_url = queue.url
        self.checkpoint_document = document.name
        self.register()

    def _launch_template(
        self, name: str, args: SpotFleetArgs, shape: Shape, role: iam.Role, account: pulumi.Input[str]
    ) -> ec2.LaunchTemplate:
        profile = self.make(iam.InstanceProfile, f"{name}-nodes", role=role.name)
        mounts = args.get("mounts")
        group = parts.closed_group(self, f"{name}-nodes", args, what=f"Machines of {name}", lustre=bool(mounts))
        tags = {**self.tags_of(ec2.Fleet, f"{name}-fleet"), "Name": self.physical(name, 128)}
        settings = parts.machine_settings(
            disk_gib=args["disk_gib"], key=parts.key_arn(self, name, args, account), tags=tags
        )
        script, documents = parts.boot_script(self, name, args)

        def first_boot(mounts: Sequence[Mapping[str, str]]) -> str:
            return fleet_documents.user_data(
                runtime=instances.runtime_of(shape),
                region=args["region"],
                fleet=self.physical(name, 128),
                start_script=script,
                mounts=mounts,
            )

        return self.make(
            ec2.LaunchTemplate,
            f"{name}-nodes",
            opts=pulumi.ResourceOptions(depends_on=documents),
            image_id=parts.image_id(self, args.get("image") or instances.image_for(shape)),
            iam_instance_profile={"arn": profile.arn},
            network_interfaces=instances.network_interfaces(shape, gang=False, security_groups=[group.id]),
            instance_initiated_shutdown_behavior="terminate",
            user_data=pulumi.Output.all(*mounts).apply(first_boot) if mounts else first_boot(()),
            **settings,
        )

    def _fleet(self, name: str, args: SpotFleetArgs, template: ec2.LaunchTemplate) -> ec2.Fleet:
        subnets = pulumi.Output.from_input(args["subnet_ids"])
        each = [subnets.apply(itemgetter(number)) for number in range(len(args["zones"]))]
        ends: dict[str, object] = {"valid_until": f"{args['expires']}T00:00:00Z"} if "expires" in args else {}
        return self.make(
            ec2.Fleet,
            f"{name}-fleet",
            type="maintain",
            launch_template_configs=[
                {
                    "launch_template_specification": {
                        "launch_template_id": template.id,
                        "version": template.latest_version.apply(str),
                    },
                    "overrides": fleet_documents.overrides(instance_types=args["instance_types"], subnet_ids=each),
                }
            ],
            target_capacity_specification={
                "default_target_capacity_type": "spot",
                "total_target_capacity": args["nodes_initial"],
            },
            spot_options=fleet_documents.spot_options(args.get("max_usd_per_hour")),
            excess_capacity_termination_policy="termination",
            replace_unhealthy_instances=True,
            terminate_instances=True,  # without it a deleted fleet leaves its machines running
            terminate_instances_with_expiration=True,
            tags={**self.tags_of(ec2.Fleet, f"{name}-fleet"), "Name": self.physical(name, 128)},
            opts=pulumi.ResourceOptions(ignore_changes=["targetCapacitySpecification.totalTargetCapacity"]),
            **ends,
        )

    def _queue(self, name: str, region: str, account: pulumi.Input[str], key: kms.Key) -> sqs.Queue:
        """Interruptions and recommendations, kept for a day; what cannot be handled is kept for two weeks."""
        encrypted = {"kms_master_key_id": key.arn, "kms_data_key_reuse_period_seconds": 300}
        lost = self.make(sqs.Queue, f"{name}-interruptions-lost", message_retention_seconds=14 * 86400, **encrypted)
        queue = self.make(
            sqs.Queue,
            f"{name}-interruptions",
            message_retention_seconds=86400,
            redrive_policy=lost.arn.apply(lambda arn: json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 5})),
            **encrypted,
        )
        rule = self.make(
            cloudwatch.EventRule,
            f"{name}-interruptions",
            description="Spot machines that are about to be reclaimed",
            event_pattern=fleet_documents.event_pattern(),
        )
        rule_arn = parts.arn_of(
            account, region, "events", f"rule/{self.name_of(cloudwatch.EventRule, f'{name}-interruptions')}"
        )
        for each, suffix in ((queue, "interruptions"), (lost, "interruptions-lost")):
            queue_arn = parts.arn_of(account, region, "sqs", self.name_of(sqs.Queue, f"{name}-{suffix}"))
            document = derive(
                lambda queue_name, source: parts.queue_policy(queue=queue_name, rule_arns=[source]), queue_arn, rule_arn
            )
            self.make(sqs.QueuePolicy, f"{name}-{suffix}", queue_url=each.url, policy=document)
        self.make(
            cloudwatch.EventTarget,
            f"{name}-interruptions",
            rule=rule.name,
            arn=queue.arn,
            dead_letter_config={"arn": lost.arn},
        )
        return queue

    def _document(self, name: str, kind: str, content: str) -> ssm.Document:
        return self.make(ssm.Document, name, document_type=kind, document_format="JSON", content=content)

    def _guard(
        self,
        name: str,
        args: SpotFleetArgs,
        shape: Shape,
        fleet: ec2.Fleet,
        *,
        account: pulumi.Input[str],
        key: kms.Key,
    ) -> None:
        """Two alarms as on a node group; an alarm cannot change a fleet, so the second starts an automation."""
        guard, runtime = args.get("guard"), instances.runtime_of(shape)
        if guard is None or runtime not in instances.METRIC:
            return
        topic = notices.topic(
            self,
            f"{name}-notices",
            key_arn=key.arn,
            region=args["region"],
            account=account,
            publishers=("cloudwatch.amazonaws.com", "events.amazonaws.com"),
        )
        alarms: dict[str, tuple[int, list[object]]] = {"idle": (guard["window_s"], [topic.arn])}
        if guard["action"] == "scale-to-zero":
            alarms["idle-stop"] = (guard["window_s"] + guard["grace_s"], [topic.arn])
        for alarm, (seconds, actions) in alarms.items():
            self.make(
                cloudwatch.MetricAlarm,
                f"{name}-{alarm}",
                alarm_description=f"{name}: under {guard['min_utilization_percent']:g} % for {seconds // 60} minutes",
                alarm_actions=actions,
                **fleet_documents.idle_alarm(
                    runtime=runtime, guard=guard, fleet=self.physical(name, 128), seconds=seconds
                ),
            )
            if alarm == "idle-stop":
                stopping.stop_on_alarm(
                    self,
                    name,
                    region=args["region"],
                    account=account,
                    alarm=self.name_of(cloudwatch.MetricAlarm, f"{name}-{alarm}"),
                    content=fleet_documents.stop_document(
                        idle.watched(
                            instances.measured(shape, dimension=fleet_documents.DIMENSION)["measured"],
                            accelerators=least_accelerators("aws", args["instance_types"]),
                            guard=guard,
                            seconds=seconds,
                        )
                    ),
                    pool=("Fleet", fleet.id),
                    value=self.physical(name, 128),
                    may={"fleet": self._may_empty(name, args["region"], account)},
                    key_arn=key.arn,
                    topic_arn=topic.arn,
                )

    def _may_empty(self, name: str, region: str, account: pulumi.Input[str]) -> pulumi.Input[str]:
        """Change this fleet and no other."""
        own = {"StringEquals": {"aws:ResourceTag/sizewell-id": self.tags_of(ec2.Fleet, f"{name}-fleet")["sizewell-id"]}}
        return derive(
            lambda arn: policies.policy(
                [{"Effect": "Allow", "Action": "ec2:ModifyFleet", "Resource": arn, "Condition": own}]
            ),
            parts.arn_of(account, region, "ec2", "fleet/*"),
        )
