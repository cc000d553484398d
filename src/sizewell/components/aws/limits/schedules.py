"""Teardown on a schedule: EventBridge Scheduler starts a Fargate task that runs `sizewell teardown run --yes`.

A task and no function: a destroy outlasts the quarter of an hour that Lambda allows. Two kinds of identities: the
task's own reads, empties and tells; one for each environment, which it becomes for a destroy, deletes what a
deployer made there. Neither can delete checkpoints.
"""

import pulumi
from pulumi_aws import cloudwatch, ecs, iam, scheduler, sqs

from sizewell.components.aws import parts, policies
from sizewell.components.aws.limits import notices, teardown_rights
from sizewell.components.aws.limits.teardown_rights import TeardownScheduleArgs, check_schedule
from sizewell.components.inputs import derive
from sizewell.components.owned import Owned

LOGGERS = ("cloudwatch.amazonaws.com",)


class TeardownSchedule(Owned):
    """`sizewell teardown run --yes` once an hour; a run that could not start is reported to the stack's topic."""

    schedule_arn: pulumi.Output[str]
    """ARN of the schedule."""
    task_role_arn: pulumi.Output[str]
    """Identity that reads and scales down."""
    deleting_roles: pulumi.Output[dict[str, str]]
    """Environment -> ARN of the identity that destroys there: the roles in stacks/config/teardown.yaml."""

    def __init__(self, name: str, args: TeardownScheduleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_schedule(name, args)
        super().__init__(name, args, opts, kind="limits")
        region, project = args["region"], pulumi.get_project()
        state, secrets_key = args["state"], args.get("secrets_key_arn", "")
        log_group = f"/sizewell/{pulumi.get_stack()}/{name}"
        pulling = parts.role(
            self,
            f"{name}-pull",
            trust=policies.assume_role("ecs-tasks.amazonaws.com"),
            description="Pulls the image of teardown and writes its log",
            inline={
                "pull": teardown_rights.pull_policy(
                    image=args["image"], region=region, logs=log_group, secret=args.get("passphrase_secret_arn", "")
                )
            },
            region=region,
        )
        account = parts.account_of(args, pulling)
        key = parts.key_arn(self, name, args, account)
        reader = self.make(
            iam.Role,
            f"{name}-reads",
            description=f"Reads the stacks of {project}, scales down idle pools, notifies owners",
            assume_role_policy=policies.assume_role("ecs-tasks.amazonaws.com"),
        )
        deleters = self._deleters(name, args, reader, account)
        arns = [
            parts.arn_of(account, region, "iam", f"role/{self.name_of(iam.Role, f'{name}-deletes-{environment}')}")
            for environment in args["environments"]
        ]
        parts.inline_policy(
            self,
            f"{name}-reads",
            reader,
            derive(
                lambda *roles: teardown_rights.reads_policy(
                    region=region,
                    project=project,
                    state=state,
                    journal=args["journal"],
                    secrets_key=secrets_key,
                    roles=roles,
                ),
                *arns,
            ),
        )
        logs = self.make(cloudwatch.LogGroup, f"{name}-log", name=log_group, kms_key_id=key, retention_in_days=365)
        cluster = self.make(
            ecs.Cluster,
            name,
            settings=[{"name": "containerInsights", "value": "enabled"}],
        )
        task = self.make(
            ecs.TaskDefinition,
            name,
            requires_compatibilities=["FARGATE"],
            network_mode="awsvpc",
            cpu=str(teardown_rights.CPU),
            memory=str(teardown_rights.MEMORY_MIB),
            runtime_platform={"operating_system_family": "LINUX", "cpu_architecture": "X86_64"},
            execution_role_arn=pulling.arn,
            task_role_arn=reader.arn,
            volumes=[{"name": volume} for volume in teardown_rights.VOLUMES],
            container_definitions=derive(
                lambda *roles: teardown_rights.container(
                    args, roles=dict(zip(args["environments"], roles, strict=True)), logs=log_group
                ),
                *arns,
            ),
            opts=pulumi.ResourceOptions(depends_on=[logs]),
        )
        schedule = self._schedule(name, args, cluster=cluster, task=task, account=account)
        self.schedule_arn = schedule.arn
        self.task_role_arn = reader.arn
        self.deleting_roles = pulumi.Output.all(**{each: role.arn for each, role in deleters.items()})
        self.register()

    def _deleters(
        self, name: str, args: TeardownScheduleArgs, reader: iam.Role, account: pulumi.Input[str]
    ) -> dict[str, iam.Role]:
        """One identity for each environment that deletes what a deployer made there.

        Whom it trusts is said by name, which a preview can judge, and IAM wants to find there.
        """
        trusted = parts.arn_of(account, args["region"], "iam", f"role/{self.name_of(iam.Role, f'{name}-reads')}")
        return {
            environment: parts.role(
                self,
                f"{name}-deletes-{environment}",
                trust=derive(teardown_rights.becomes, trusted),
                after=[reader],
                description=f"Destroys stacks of {environment}",
                inline={
                    "deletes": teardown_rights.deletes_policy(
                        region=args["region"],
                        project=pulumi.get_project(),
                        environment=environment,
                        state=args["state"],
                        secrets_key=args.get("secrets_key_arn", ""),
                    )
                },
                region=args["region"],
            )
            for environment in args["environments"]
        }

    def _schedule(
        self,
        name: str,
        args: TeardownScheduleArgs,
        *,
        cluster: ecs.Cluster,
        task: ecs.TaskDefinition,
        account: pulumi.Input[str],
    ) -> scheduler.Schedule:
        """The schedule, the identity with which it starts the task, and the report where it cannot."""
        region = args["region"]
        group = parts.closed_group(self, name, args, what="Teardown's task")
        messages = parts.service_key(
            self, f"{name}-schedule", account=account, region=region, services=("scheduler.amazonaws.com", *LOGGERS)
        )
        topic = notices.topic(
            self, f"{name}-failed", key_arn=messages.arn, region=region, account=account, publishers=LOGGERS
        )
        lost = notices.dead_letters(self, f"{name}-lost", key_arn=messages.arn, topic_arn=topic.arn)
        roles = [
            parts.arn_of(account, region, "iam", f"role/{self.name_of(iam.Role, f'{name}-{each}')}")
            for each in ("pull", "reads")
        ]
        starter = parts.role(
            self,
            f"{name}-start",
            trust=policies.assume_role("scheduler.amazonaws.com"),
            description="Starts the task of teardown",
            inline={
                "start": derive(
                    lambda task_arn, cluster_arn, queue, *own: teardown_rights.start_task_policy(
                        task=task_arn, cluster=cluster_arn, roles=own, queue=queue
                    ),
                    parts.arn_of(account, region, "ecs", f"task-definition/{self.name_of(ecs.TaskDefinition, name)}"),
                    parts.arn_of(account, region, "ecs", f"cluster/{self.name_of(ecs.Cluster, name)}"),
                    parts.arn_of(account, region, "sqs", self.name_of(sqs.Queue, f"{name}-lost")),
                    *roles,
                ),
                "key": parts.message_key_use(region),
            },
            region=region,
        )
        schedules = self.make(scheduler.ScheduleGroup, name)
        return self.make(
            scheduler.Schedule,
            name,
            group_name=schedules.name,
            description=f"Tears down idle and expired stacks of {pulumi.get_project()}",
            schedule_expression=f"rate({args.get('minutes', 60)} minutes)",
            schedule_expression_timezone="UTC",
            flexible_time_window={"mode": "OFF"},
            kms_key_arn=messages.arn,
            target={
                "arn": cluster.arn,
                "role_arn": starter.arn,
                "ecs_parameters": {
                    "task_definition_arn": task.arn,
                    "launch_type": "FARGATE",
                    "task_count": 1,
                    "network_configuration": {
                        "subnets": args["subnet_ids"],
                        "security_groups": [group.id],
                        "assign_public_ip": False,
                    },
                },
                "retry_policy": {"maximum_event_age_in_seconds": 900, "maximum_retry_attempts": 5},
                "dead_letter_config": {"arn": lost.arn},
            },
        )
