"""What keeps a stack's bill bounded from outside of the stack on Azure: a budget with alarms, and a hard end.

Why the end stands in a stack of its own, and its rights do not
---------------------------------------------------------------
*Context*: a stack that expires stops billing even if the program that built it never runs again, the update
that built it was killed, its state is lost, or its destroy fails half-way. It is deployed before anything that is
billed, and the hand that ends it reaches that stack and no other.

*Decided*: a `TtlGuard` in the stack `ttl-NAME`, brought up before `NAME` and taken down after it: a Logic App with an
identity of its own. From the end on, every hour, a firm one stops the AKS clusters, empties the scale sets and takes
away the compute and the endpoints of Azure ML that carry the stack's tag. Azure has no rights by tag, so what the
identity may is said in `NAME` itself: `EndRights` looks the identity up (without `ttl-NAME` the update ends there,
before anything that is billed), gives it a role on the one resource group, and hands that group's name on to everything
that is built afterwards. The role has eleven actions where the end is firm, else those of them that read. Machines
therefore come after their end and go before it.

*By the calendar it only notifies*, once a day while anything runs, through the failed run: what is in use must not be
stopped because a day has come, and here nobody can ask for use, leases and pauses as teardown does. What is idle is
stopped by the guards of its pools, the rest by teardown. Where `expiry: firm` is set for the environment it takes the
machines away, in use or not.

*Rejected*: a role on the subscription (it would reach every team's machines); the guard's stack owning the resource
group (taking the end back would delete the cluster); an Automation runbook (its code has to lie at a public address, or
somebody has to upload it); a job in CI alone (it ends with the repository's plan, token or queue).

*What it does not do*: file systems, disks, registries, endpoints and gateways are billed until `pulumi destroy`; data
stays.

*To undo*: `pulumi destroy -s ttl-NAME` after `NAME`; sooner, and `NAME` runs on without an end.
"""

import pulumi
from pulumi_azure_native import authorization, consumption, logic, managedidentity, resources

from sizewell.components.azure import parts
from sizewell.components.azure.limits import expiry, workflows
from sizewell.components.azure.limits.expiry import (
    BudgetAlarmsArgs,
    EndRightsArgs,
    TtlGuardArgs,
    check_budget,
    check_rights,
    check_ttl,
)
from sizewell.components.limits import at_once
from sizewell.components.notify import receivers, with_emails
from sizewell.components.owned import Owned
from sizewell.components.tags import legal


class BudgetAlarms(Owned):
    """A monthly budget for everything with the stack's tag: it only notifies; guards and the expiry stop machines.

    Azure's figures are hours late. What AKS creates in its own group has the tag of its cluster or pool.
    """

    budget_name: pulumi.Output[str]
    """Name of the budget."""
    action_group_id: pulumi.Output[str]
    """Action group of all notices."""

    def __init__(self, name: str, args: BudgetAlarmsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_budget(name, args)
        super().__init__(name, args, opts, kind="limits")
        group = self.make(resources.ResourceGroup, f"{name}-costs", location=args["region"])
        told = parts.action_group(self, f"{name}-costs", {"resource_group": group.name}, args.get("emails", []))
        subscription: pulumi.Input[str] = args.get("subscription") or parts.subscription(self)
        budget = self.make(
            consumption.Budget,
            f"{name}-month",
            budget_name=self.name_of(consumption.Budget, name),
            scope=pulumi.Output.concat("/subscriptions/", subscription),
            amount=float(args["monthly_usd"]),
            category="Cost",
            time_grain="Monthly",
            time_period={"start_date": expiry.month_start(args["starts"])},
            filter={"tags": {"name": "sizewell-stack", "operator": "In", "values": [legal(args["stack"])]}},
            notifications=expiry.notifications(
                emails=with_emails(receivers(), args.get("emails", []))["emails"][:50], group=told.id
            ),
            # Azure keeps the months of a budget that stands
            opts=pulumi.ResourceOptions(ignore_changes=["timePeriod"]),
        )
        self.budget_name = budget.name
        self.action_group_id = told.id
        self.register()


class TtlGuard(Owned):
    """The expiry of another stack, in a stack of its own, so that a failure of the other one does not affect it."""

    workflow_id: pulumi.Output[str]
    """Logic App that scales the stack to zero at its expiry; can be run sooner by hand."""
    identity_id: pulumi.Output[str]
    """Identity that it uses; the other stack gives it its rights."""

    def __init__(self, name: str, args: TtlGuardArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_ttl(name, args, own_stack=pulumi.get_stack())
        if said := at_once(name, args):
            pulumi.log.warn(said)
        super().__init__(name, args, opts, kind="limits")
        group = self.make(
            resources.ResourceGroup,
            f"{name}-group",
            resource_group_name=self.name_of(resources.ResourceGroup, name),
            location=args["region"],
        )
        place = {"resource_group": group.name, "region": args["region"]}
        hand = parts.identity(self, f"{name}-hand", place)
        subscription = hand.id.apply(lambda value: value.split("/")[2] if value.count("/") > 2 else value)
        firm = args.get("firm", False)
        clock = {
            "frequency": "Hour" if firm else "Day",
            "interval": 1,
            "startTime": f"{args['ends']}T00:00:00Z",
            "timeZone": "UTC",
        }
        workflow = self.make(
            logic.Workflow,
            f"{name}-end",
            resource_group_name=group.name,
            location=args["region"],
            state="Enabled",
            identity={"type": "UserAssigned", "user_assigned_identities": [hand.id]},
            definition=pulumi.Output.all(subscription, hand.id).apply(
                lambda known: workflows.definition(
                    clock,
                    (workflows.end_actions if firm else workflows.told_actions)(
                        group=f"/subscriptions/{known[0]}/resourceGroups/{args['target']}",
                        identity=known[1],
                        project=legal(pulumi.get_project()),
                        stack=legal(args["stack"]),
                    ),
                )
            ),
        )
        self._alarm(name, args, place, workflow)
        self.workflow_id = workflow.id
        self.identity_id = hand.id
        self.register()

    def _alarm(self, name: str, args: TtlGuardArgs, place: dict[str, object], workflow: logic.Workflow) -> None:
        """An end that fails has to be reported: the machines are still billed."""
        told = parts.action_group(self, f"{name}-notices", place, args.get("emails", []))
        parts.failed_runs(
            self,
            name,
            place,
            workflow=workflow,
            description=f"{args['stack']} is past its end, or its expiry failed; its machines are still billed",
            told=told,
        )


class EndRights(Owned):
    """Permits the expiry of this stack to look at its machines, and a firm one to stop them, before any is built."""

    resource_group: pulumi.Output[str]
    """Name of the resource group, known once the expiry guard has its rights there."""

    def __init__(self, name: str, args: EndRightsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_rights(name, args)
        super().__init__(name, args, opts, kind="limits")
        ender = managedidentity.get_user_assigned_identity_output(
            resource_group_name=args["ender"]["resource_group"],
            resource_name=args["ender"]["identity"],
            opts=pulumi.InvokeOptions(parent=self),
        )
        firm = args.get("firm", False)
        subscription = authorization.get_client_config_output(opts=pulumi.InvokeOptions(parent=self)).subscription_id
        group = pulumi.Output.concat("/subscriptions/", subscription, "/resourceGroups/", args["resource_group"])
        held = parts.own_role(
            self,
            f"{name}-end",
            scope=group,
            principal=ender.principal_id,
            description=f"{'Scales' if firm else 'Looks at'} machines of one stack{' to zero' if firm else ''}",
            actions=workflows.END_ACTIONS if firm else workflows.LOOKS,
        )
        self.resource_group = pulumi.Output.all(args["resource_group"], held.id).apply(lambda known: known[0])
        self.register()
