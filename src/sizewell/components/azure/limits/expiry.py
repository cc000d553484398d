"""Budgets and the hard end of a stack on Azure: arguments, refusals, names. Pure."""

from collections.abc import Sequence
from datetime import date
from typing import NotRequired, TypedDict

import pulumi

from sizewell.components import limits
from sizewell.components.azure.checks import check_region, is_guid
from sizewell.components.faults import Faults
from sizewell.components.forms import BudgetArgs, EndArgs, PlaceArgs
from sizewell.components.owned import assemble
from sizewell.components.tags import physical_name
from sizewell.sizing.records.decision import Decision


class BudgetAlarmsArgs(BudgetArgs):
    """What a stack may cost in a month, and who hears of it."""

    subscription: NotRequired[str]
    """Subscription whose costs count; default the provider's."""
    starts: str
    """ISO date of the first month. At creation Azure accepts the current month or a later one."""


class TtlGuardArgs(EndArgs):
    """The hard end of another stack."""

    target: str
    """Name of the resource group whose machines it scales to zero; it need not exist yet."""
    emails: NotRequired[list[str]]
    """Receivers of failures."""


class EnderArgs(TypedDict):
    """The identity that ends the stack; it is in a stack of its own, which is deployed before this one."""

    resource_group: str
    """Its resource group."""
    identity: str
    """Its name."""


class EndRightsArgs(PlaceArgs):
    """What lets a hard end reach the machines of this stack."""

    resource_group: pulumi.Input[str]
    """Name of the resource group whose machines may be scaled to zero."""
    ender: EnderArgs
    """Identity that looks at them, or scales them to zero."""
    firm: NotRequired[bool]
    """Whether it may scale them to zero, as the TtlGuard does; default false: it may only look."""


def check_budget(name: str, args: BudgetAlarmsArgs) -> None:
    faults = Faults.of(name, args, BudgetAlarmsArgs)
    check_region(faults, args)
    limits.check_budget(faults, args, emails_max=50, takes="a budget takes 50")
    subscription = args.get("subscription")
    faults.must(
        subscription is None or is_guid(subscription),
        "subscription",
        f"must be a subscription's GUID, got {subscription!r}",
    )
    limits.check_date(faults, args, "starts")
    faults.done()


def check_ttl(name: str, args: TtlGuardArgs, *, own_stack: str) -> None:
    """`own_stack` is the stack that the guard itself stands in."""
    faults = Faults.of(name, args, TtlGuardArgs)
    check_region(faults, args)
    limits.check_end(faults, args, own_stack=own_stack)
    faults.must(bool(args.get("target")), "target", "is empty; name the resource group of the stack's machines")
    limits.check_emails(faults, args)
    faults.done()


def check_rights(name: str, args: EndRightsArgs) -> None:
    faults = Faults.of(name, args, EndRightsArgs)
    check_region(faults, args)
    ender = args.get("ender") or {}
    for key in ("resource_group", "identity"):
        faults.must(bool(ender.get(key)), f"ender.{key}", "is empty; use the names of the TtlGuard")
    faults.done()


def month_start(day: str) -> str:
    """The first day of a date's month, as Azure's budgets want it.

    >>> month_start("2026-09-22")
    '2026-09-01T00:00:00Z'
    """
    return f"{date.fromisoformat(day).replace(day=1).isoformat()}T00:00:00Z"


def notifications(*, emails: Sequence[str], group: object) -> dict[str, dict[str, object]]:
    """Half, most and all of the budget spent, and all of it foreseen."""
    told = [("Actual", share) for share in limits.SHARES] + [("Forecasted", 100)]
    return {
        f"{kind.lower()}-{share}": {
            "enabled": True,
            "operator": "GreaterThanOrEqualTo",
            "threshold": float(share),
            "threshold_type": kind,
            "contact_emails": list(emails),
            "contact_roles": ["Owner"],
            "contact_groups": [group],
        }
        for kind, share in told
    }


def ender(stack: str, region: str) -> dict[str, str]:
    """Where the identity of a stack's hard end stands, and its name: the same in both stacks, neither asks the other.

    >>> ender("dev-azure", "eastus")
    {'resource_group': 'sizewell-ttl-dev-azure-end-eastus', 'identity': 'sizewell-ttl-dev-azure-end-eastus-hand'}
    """
    own = f"ttl-{stack}"
    return {
        "resource_group": physical_name("sizewell", own, limits.guard_name(region), limit=80),
        "identity": physical_name("sizewell", own, f"{limits.guard_name(region)}-hand", limit=128),
    }


def network_group(stack: str, region: str) -> str:
    """The resource group that a stack's network makes in a region."""
    return physical_name("sizewell", stack, f"network-{region}", limit=80)


def budget_args(decision: Decision, region: str) -> BudgetAlarmsArgs | None:
    """The budget of a decision, from its first day on; None where a workload has none."""
    args = limits.budget_args(decision, region)
    return assemble(BudgetAlarmsArgs, args, {"starts": decision.decided_on.isoformat()}) if args else None
