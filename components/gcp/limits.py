"""What a stack may cost in a month, and who hears of it: a budget over everything with the stack's label."""

import pulumi
from pulumi_gcp import billing, monitoring, pubsub

from components.gcp import service_plans
from components.gcp.service_args import BudgetAlarmsArgs
from components.gcp.service_checks import check_budget
from components.owned import Owned
from components.tags import legal


class BudgetAlarms(Owned):
    """Notices at half, four fifths and all of the month's money, and when the month is going to need more.

    Google Cloud bills hours late and a budget stops nothing: it tells, guards and queues act.
    """

    budget_name: pulumi.Output[str]
    """Name of the budget."""
    topic: pulumi.Output[str]
    """Topic of all notices."""

    def __init__(self, name: str, args: BudgetAlarmsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_budget(name, args)
        super().__init__(
            "sizewell-gcp:index:BudgetAlarms",
            name,
            args,
            {
                "kind": "limits",
                "name": name,
                "environment": args["environment"],
                "cloud": "gcp",
                "region": args["region"],
            },
            opts,
        )
        topic = pubsub.Topic(
            f"{name}-notices",
            name=self.physical(f"{name}-notices", 255),
            project=args["project"],
            labels=self.tags_of(pubsub.Topic, f"{name}-notices"),
            opts=self.child(),
        )
        channels = [
            monitoring.NotificationChannel(
                f"{name}-mail-{number}",
                display_name=f"Costs of {args['stack']}",
                project=args["project"],
                type="email",
                labels={"email_address": email},
                user_labels=self.tags_of(monitoring.NotificationChannel, f"{name}-mail-{number}"),
                opts=self.child(),
            ).id
            for number, email in enumerate(args.get("emails", []))
        ]
        told: dict[str, pulumi.Input[object]] = {"pubsub_topic": topic.id, "schema_version": "1.0"}
        if channels:
            told["monitoring_notification_channels"] = channels
        actual = [{"threshold_percent": share / 100, "spend_basis": "CURRENT_SPEND"} for share in service_plans.SHARES]
        budget = billing.Budget(
            f"{name}-month",
            billing_account=args["billing_account"],
            display_name=self.physical(name, 60),
            amount={"specified_amount": {"currency_code": "USD", "units": str(int(args["monthly_usd"]))}},
            budget_filter={
                "projects": [f"projects/{args['project']}"],
                "labels": {"sizewell-stack": legal(args["stack"])},
                "calendar_period": "MONTH",
                "credit_types_treatment": "INCLUDE_ALL_CREDITS",
            },
            threshold_rules=[*actual, {"threshold_percent": 1.0, "spend_basis": "FORECASTED_SPEND"}],
            all_updates_rule=told,
            opts=self.child(),
        )
        self.budget_name = budget.name
        self.topic = topic.id
        self.register_outputs({"budgetName": self.budget_name, "topic": self.topic})
