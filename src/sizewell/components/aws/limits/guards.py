"""What keeps a stack's bill bounded from outside of the stack: a budget with alarms, and a hard end.

Why the end stands in a stack of its own
----------------------------------------
*Context*: a stack that expires stops billing even if the program that built it never runs again, the update
that built it was killed, its state is lost, or its destroy fails half-way. It is deployed before anything that is
billed.

*Decided*: a `TtlGuard` in the stack `ttl-NAME`, brought up before `NAME` and taken down after it. EventBridge
Scheduler starts, at the end and then every day, an automation of Systems Manager that finds what the stack left by its
tag; a firm one takes its size to zero, and is started every hour. It runs in AWS with a role that cannot touch data,
and needs no runner, no state file and no token. Hourly, since one attempt may be throttled; an attempt that finds
nothing does nothing.

*By the calendar it only notifies*, once a day while anything runs, through the failed run: what is in use must not be
stopped because a day has come, and here nobody can ask for use, leases and pauses as teardown does. What is idle is
stopped by the guards of its pools, the rest by teardown. Where `expiry: firm` is set for the environment it scales to
zero, in use or not.

*Rejected*: a schedule inside the stack (an update that is killed before the schedule stands leaves machines without
an end, and a half-way destroy may take the schedule first); a job in CI alone (it ends with the repository's plan,
token or queue; it stays the polite way, which destroys the stack properly, and this is what holds if it does not);
`valid_until` alone (only fleets have it); a Lambda function (a package and a runtime to keep, for no more).

*What it does not do*: it moves sizes, and deletes SageMaker endpoints and HyperPod clusters, which have no size zero
that holds, and nothing else.
File systems, disks, addresses and control planes are billed until `pulumi destroy`; its report lists the data that it
kept.

*To undo*: `pulumi destroy -s ttl-NAME`; nothing else refers to it.
"""

import json

import pulumi
from pulumi_aws import budgets, costexplorer, get_caller_identity_output, iam, scheduler, sqs, ssm

from sizewell.components.aws import parts, policies
from sizewell.components.aws.limits import expiry, notices
from sizewell.components.aws.limits.expiry import BudgetAlarmsArgs, TtlGuardArgs, check_budget, check_ttl
from sizewell.components.inputs import derive
from sizewell.components.limits import at_once
from sizewell.components.notify import receivers, with_emails
from sizewell.components.owned import Owned
from sizewell.components.tags import legal

BILLING = ("budgets.amazonaws.com", "costalerts.amazonaws.com")


class BudgetAlarms(Owned):
    """A monthly budget for everything with the stack's tag, and detection of unexpected costs.

    Both read the bill, which is hours late: they only notify; guards and the expiry stop machines.
    """

    budget_name: pulumi.Output[str]
    """Name of the budget."""
    topic_arn: pulumi.Output[str]
    """Topic of all notices."""

    def __init__(self, name: str, args: BudgetAlarmsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_budget(name, args)
        super().__init__(name, args, opts, kind="limits")
        account = args.get("account") or get_caller_identity_output(opts=pulumi.InvokeOptions(parent=self)).account_id
        key = parts.service_key(
            self,
            f"{name}-costs",
            account=account,
            region=args["region"],
            services=BILLING,
        )
        emails = args.get("emails", [])
        topic, published = notices.topic_with_policy(
            self,
            f"{name}-costs",
            key_arn=key.arn,
            region=args["region"],
            account=account,
            publishers=BILLING,
            emails=emails,
        )
        if args.get("activate_tag"):
            self.make(costexplorer.CostAllocationTag, f"{name}-tag", tag_key=expiry.STACK_TAG, status="Active")
        budget = self.make(
            budgets.Budget,
            f"{name}-budget",
            name=self.name_of(budgets.Budget, name),
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{args['monthly_usd']:.2f}",
            limit_unit="USD",
            cost_filters=[{"name": "TagKeyValue", "values": [f"user:{expiry.STACK_TAG}${legal(args['stack'])}"]}],
            notifications=expiry.notifications(topic.arn, with_emails(receivers(), emails)["emails"][:10]),
            opts=pulumi.ResourceOptions(depends_on=[published]),
        )
        monitor = self.make(
            costexplorer.AnomalyMonitor,
            f"{name}-anomalies",
            monitor_type="CUSTOM",
            monitor_specification=expiry.monitor_specification(args["stack"]),
        )
        least = args.get("anomaly_usd", max(args["monthly_usd"] / 10, 1))
        self.make(
            costexplorer.AnomalySubscription,
            f"{name}-anomalies",
            frequency="IMMEDIATE",
            monitor_arn_lists=[monitor.arn],
            subscribers=[{"type": "SNS", "address": topic.arn}],
            threshold_expression={
                "dimension": {
                    "key": "ANOMALY_TOTAL_IMPACT_ABSOLUTE",
                    "match_options": ["GREATER_THAN_OR_EQUAL"],
                    "values": [f"{least:.2f}"],
                }
            },
            opts=pulumi.ResourceOptions(depends_on=[published]),
        )
        self.budget_name = budget.name
        self.topic_arn = topic.arn
        self.register()


class TtlGuard(Owned):
    """The expiry of another stack, in a stack of its own, so that a failure of the other one does not affect it."""

    schedule_arn: pulumi.Output[str]
    """ARN of the schedule."""
    document_name: pulumi.Output[str]
    """Automation that scales the stack to zero at its expiry; can be started sooner by hand."""

    def __init__(self, name: str, args: TtlGuardArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_ttl(name, args, own_stack=pulumi.get_stack())
        if said := at_once(name, args):
            pulumi.log.warn(said)
        region, stack, firm = args["region"], args["stack"], args.get("firm", False)
        super().__init__(name, args, opts, kind="limits")
        document = self.make(
            ssm.Document,
            f"{name}-end",
            document_type="Automation",
            document_format="JSON",
            content=expiry.end_document(firm=firm),
        )
        hand = parts.role(
            self,
            f"{name}-end",
            trust=policies.assume_role("ssm.amazonaws.com"),
            description=f"Scales the machines of {stack} to zero" if firm else f"Looks at the machines of {stack}",
            inline={"machines": expiry.end_policy(region=region, project=pulumi.get_project(), stack=stack, firm=firm)},
            region=region,
        )
        account = parts.account_of(args, hand)
        publishers = ("cloudwatch.amazonaws.com", "events.amazonaws.com")
        key = parts.service_key(
            self,
            f"{name}-schedule",
            account=account,
            region=region,
            services=("scheduler.amazonaws.com", *publishers),
        )
        topic = notices.topic(
            self, f"{name}-failed", key_arn=key.arn, region=region, account=account, publishers=publishers
        )
        lost = notices.dead_letters(self, f"{name}-lost", key_arn=key.arn, topic_arn=topic.arn)
        end = self.name_of(ssm.Document, f"{name}-end")
        notices.failed_runs(self, f"{name}-failed", document=end, topic_arn=topic.arn)
        automation = parts.arn_of(account, region, "ssm", f"document/{end}")
        role_arn = parts.arn_of(account, region, "iam", f"role/{self.name_of(iam.Role, f'{name}-end')}")
        lost_arn = parts.arn_of(account, region, "sqs", self.name_of(sqs.Queue, f"{name}-lost"))
        starter = parts.role(
            self,
            f"{name}-start",
            trust=policies.assume_role("scheduler.amazonaws.com"),
            description=f"Starts the automation that scales {stack} to zero",
            inline={
                "start": derive(parts.start_policy, automation, role_arn, lost_arn),
                "key": parts.message_key_use(region),
            },
            region=region,
        )
        group = self.make(scheduler.ScheduleGroup, f"{name}-end")
        schedule = self.make(
            scheduler.Schedule,
            f"{name}-end",
            group_name=group.name,
            description=f"Scales {stack} to zero on {args['ends']} and every hour after it"
            if firm
            else f"Notifies once a day from {args['ends']} on while {stack} runs",
            schedule_expression="rate(1 hours)" if firm else "rate(1 days)",
            schedule_expression_timezone="UTC",
            start_date=f"{args['ends']}T00:00:00Z",
            flexible_time_window={"mode": "OFF"},
            kms_key_arn=key.arn,
            target={
                "arn": f"arn:{policies.partition(region)}:scheduler:::aws-sdk:ssm:startAutomationExecution",
                "role_arn": starter.arn,
                "input": pulumi.Output.all(document.name, hand.arn).apply(
                    lambda known: json.dumps(
                        {
                            "DocumentName": known[0],
                            "Parameters": {
                                "Role": [known[1]],
                                "Project": [legal(pulumi.get_project())],
                                "Stack": [legal(stack)],
                            },
                        }
                    )
                ),
                "retry_policy": {"maximum_event_age_in_seconds": 3600, "maximum_retry_attempts": 20},
                "dead_letter_config": {"arn": lost.arn},
            },
        )
        self.schedule_arn = schedule.arn
        self.document_name = document.name
        self.register()
