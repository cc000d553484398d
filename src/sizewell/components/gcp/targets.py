"""Who runs a pool on Google Cloud, in which project, and the budget of its stack."""

import pulumi
from pulumi_gcp import serviceaccount

from sizewell.components import limits
from sizewell.components.gcp.limits import expiry
from sizewell.components.settings import Settings
from sizewell.sizing.billing import standing
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.decision import Decision, Pool, Workload

Pair = tuple[Workload, Pool]


def target_of(workload: Workload, pool: Pool) -> str:
    """Who runs the pool: kubernetes, cloud-run or vertex."""
    return standing.target_of(pool.managed, workload.scheduler, cloud="gcp", fleet=False)


def armed(
    decision: Decision, region: str, project: pulumi.Input[str], options: pulumi.ResourceOptions
) -> pulumi.Input[str]:
    """The project's id, once the hard end of the stack is there; at once for a stack without an end.

    Everything that bills is told its project: without `ttl-NAME` the update ends before anything of it is made.
    """
    if decision.expires_at is None:
        return project
    ender = serviceaccount.get_account_output(
        account_id=expiry.hand(decision.stack, region),
        project=project,
        opts=pulumi.InvokeOptions(provider=options.provider),
    )
    # The project is known where the account's address is not, as in an evaluation without a login.
    return pulumi.Output.all(project, ender.email).apply(lambda known: known[0], run_with_unknowns=True)


def build_budget(decision: Decision, region: str, settings: Settings, *, options: pulumi.ResourceOptions) -> None:
    """The budget of the stack, where every workload has one and `sizewell:billingAccount` says whose bill it is on.

    Budgets belong to a billing account, which no decision knows and not everybody who builds a stack may write to.
    """
    account, args = pulumi.Config("sizewell").get("billingAccount"), limits.budget_args(decision, region)
    if account is None or args is None:
        return
    from sizewell.components.gcp.limits.guards import BudgetAlarms

    BudgetAlarms.of("budget", args, {"project": project_of(settings), "billing_account": account}, opts=options)


def project_of(settings: Settings) -> str:
    """The one project that the configuration names: a service's name is made with it."""
    if len(settings.accounts) == 1:
        return settings.accounts[0]
    named = ", ".join(settings.accounts) or "none"
    fix = "pulumi config set --path 'sizewell:accounts[0]' PROJECT"
    fault = Fault(path="sizewell:accounts", message=f"must name one project for managed services, has {named}", fix=fix)
    raise ConfigError([fault], subject=f"configuration of {pulumi.get_stack()}")
