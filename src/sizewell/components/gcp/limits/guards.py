"""What a stack may cost in a month, and when it ends for certain.

A budget counts everything with the stack's label. The end stands in a stack of its own (`ttl-<stack>`): it comes up
before the stack that it ends, so that it is deployed before anything is billed, and nothing that goes wrong in the one
can disarm the other. The other stack looks the end's account up before it builds what is billed, and ends there
without it.
"""

import pulumi
from pulumi_gcp import billing, cloudscheduler, pubsub, workflows

from sizewell.components.gcp import parts
from sizewell.components.gcp.limits import expiry
from sizewell.components.gcp.limits.expiry import BudgetAlarmsArgs, TtlGuardArgs, check_budget, check_ttl
from sizewell.components.gcp.limits.workflows import START_PERMISSIONS
from sizewell.components.limits import SHARES, at_once
from sizewell.components.notify import BUDGET_EMAILS_MAX
from sizewell.components.owned import Owned
from sizewell.components.tags import legal


class BudgetAlarms(Owned):
    """Notices at 50, 80 and 100 % of the monthly budget, and when the forecast exceeds it.

    Google Cloud's figures are hours late, and a budget only notifies; guards and the expiry stop machines.
    """

    budget_name: pulumi.Output[str]
    """Name of the budget."""
    topic: pulumi.Output[str]
    """Topic of all notices."""

    def __init__(self, name: str, args: BudgetAlarmsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_budget(name, args)
        super().__init__(name, args, opts, kind="limits")
        topic = self.make(pubsub.Topic, f"{name}-notices", project=args["project"])
        parts.keep(self, f"{name}-notices", args, topic)
        parts.push(self, f"{name}-notices", args, topic)
        channels = parts.channels(self, name, args, emails=args.get("emails", []), mail_alone=True)
        channels = channels[:BUDGET_EMAILS_MAX]
        told: dict[str, pulumi.Input[object]] = {"pubsub_topic": topic.id, "schema_version": "1.0"}
        if channels:
            told["monitoring_notification_channels"] = channels
        actual = [{"threshold_percent": share / 100, "spend_basis": "CURRENT_SPEND"} for share in SHARES]
        budget = self.make(
            billing.Budget,
            f"{name}-month",
            billing_account=args["billing_account"],
            display_name=self.name_of(billing.Budget, name),
            amount={"specified_amount": {"currency_code": "USD", "units": str(int(args["monthly_usd"]))}},
            budget_filter={
                "projects": [f"projects/{args['project']}"],
                "labels": {"sizewell-stack": legal(args["stack"])},
                "calendar_period": "MONTH",
                "credit_types_treatment": "INCLUDE_ALL_CREDITS",
            },
            threshold_rules=[*actual, {"threshold_percent": 1.0, "spend_basis": "FORECASTED_SPEND"}],
            all_updates_rule=told,
        )
        self.budget_name = budget.name
        self.topic = topic.id
        self.register()


class TtlGuard(Owned):
    """The expiry of another stack, in a stack of its own, so that a failure of the other one does not affect it."""

    workflow_name: pulumi.Output[str]
    """Workflow that scales the stack to zero; `gcloud workflows run` after the date does so immediately."""
    job_name: pulumi.Output[str]
    """Scheduled job that runs it every hour."""

    def __init__(self, name: str, args: TtlGuardArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_ttl(name, args, own_stack=pulumi.get_stack())
        if said := at_once(name, args):
            pulumi.log.warn(said)
        region, stack, firm = args["region"], args["stack"], args.get("firm", False)
        super().__init__(name, args, opts, kind="limits")
        project = pulumi.Output.from_input(args["project"])
        does = f"Scales the machines of {stack} to zero" if firm else f"Looks at the machines of {stack}"
        hand = parts.account(self, f"{name}-end", args, does, expiry.PERMISSIONS if firm else expiry.LOOKS)
        workflow = self.make(
            workflows.Workflow,
            f"{name}-end",
            description=f"Scales {stack} to zero from {args['ends']} on; data is kept"
            if firm
            else f"Fails, and so notifies, from {args['ends']} on while {stack} runs",
            project=args["project"],
            region=region,
            service_account=hand.id,
            call_log_level="LOG_ERRORS_ONLY",
            deletion_protection=False,
            source_contents=project.apply(
                lambda known: expiry.end_workflow(
                    project=known, region=region, owner=pulumi.get_project(), stack=stack, ends=args["ends"], firm=firm
                )
            ),
        )
        starter = parts.account(
            self, f"{name}-start", args, f"Starts the workflow that scales {stack} to zero", START_PERMISSIONS
        )
        executions = f"locations/{region}/workflows/{self.name_of(workflows.Workflow, f'{name}-end')}/executions"
        job = self.make(
            cloudscheduler.Job,
            f"{name}-end",
            description=f"Every {'hour' if firm else 'day'}; does nothing before {args['ends']}",
            project=args["project"],
            region=region,
            schedule=expiry.HOURLY if firm else expiry.DAILY,
            time_zone="Etc/UTC",
            attempt_deadline="320s",
            retry_config={"retry_count": 5, "min_backoff_duration": "60s"},
            http_target={
                "http_method": "POST",
                "uri": project.apply(
                    lambda known: f"https://workflowexecutions.googleapis.com/v1/projects/{known}/{executions}"
                ),
                "oauth_token": {
                    "service_account_email": starter.email,
                    "scope": "https://www.googleapis.com/auth/cloud-platform",
                },
            },
            opts=pulumi.ResourceOptions(depends_on=[workflow]),
        )
        parts.failed_runs(
            self,
            name,
            args,
            workflow=self.name_of(workflows.Workflow, f"{name}-end"),
            jobs=[self.name_of(cloudscheduler.Job, f"{name}-end")],
            title=f"{stack} is past its end, or its expiry failed; its machines are still billed",
            channels=parts.notices(self, name, args),
        )
        self.workflow_name = workflow.name
        self.job_name = job.name
        self.register()
