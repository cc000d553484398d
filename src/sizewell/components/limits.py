"""What the budget and the end of a stack are on every cloud: their arguments, and what is refused. Pure."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from sizewell.components.facts import lasting_args, owned_args
from sizewell.components.faults import Faults
from sizewell.components.forms import BudgetArgs, EndArgs
from sizewell.components.owned import assemble
from sizewell.sizing.catalog.lifetimes import load
from sizewell.sizing.records.budget import MONTHLY, of_stack
from sizewell.sizing.records.decision import Decision

SHARES: Final = (50, 80, 100)  # percent of the budget at which somebody hears of it
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def budget_args(decision: Decision, region: str) -> BudgetArgs | None:
    """The budget of a decision: the sum of its workloads'; None where a workload has none."""
    monthly = of_stack(workload.budget.get(MONTHLY) for workload in decision.workloads)
    if monthly is None:
        return None
    budget = {"region": region, "stack": decision.stack, "monthly_usd": float(monthly)}
    return assemble(BudgetArgs, owned_args(decision), budget)


def ttl_args(decision: Decision, region: str, *, firm: bool = False) -> EndArgs | None:
    """The end of a decision's stack in one region; None for a stack without one."""
    if decision.expires_at is None:
        return None
    end = {"region": region, "stack": decision.stack, "ends": decision.expires_at.isoformat(), "firm": firm}
    return assemble(EndArgs, lasting_args(decision), end)


def guard_name(region: str) -> str:
    """The name of the hard end's component in its stack; other stacks derive from it what it is called in the cloud."""
    return f"end-{region}"


def check_budget(faults: Faults, args: Mapping[str, Any], *, emails_max: int, takes: str, least_usd: int = 0) -> None:
    """A budget names its stack and an amount; `takes` says who takes how many addresses."""
    faults.must(bool(args.get("stack")), "stack", "is empty; name the stack whose costs count")
    check_usd(faults, args, "monthly_usd", least=least_usd)
    emails = args.get("emails") or []
    faults.must(len(emails) <= emails_max, "emails", f"are {len(emails)}; {takes}")
    check_emails(faults, args)


def check_end(faults: Faults, args: Mapping[str, object], *, own_stack: str) -> None:
    """What a guard ends is another stack than its own, on a day that there is; the guard outlives it."""
    faults.must(
        "expires" not in args,
        "expires",
        "must not be set: the guard has to outlive its stack",
        fix="set the stack to end; destroy the guard's own stack last",
    )
    faults.must(
        bool(args.get("stack")) and args.get("stack") != own_stack,
        "stack",
        (
            f"must be a stack other than the guard's own ({own_stack}), got {args.get('stack')!r}: a failure of one "
            "must not affect the other"
        ),
        fix=f"build it in ttl-{args.get('stack')}",
    )
    check_date(faults, args, "ends")


def at_once(name: str, args: EndArgs) -> str:
    """What a firm end that has passed does; "" for one that lies ahead, or that stops nothing. No fault: the guard
    outlives its stack, and may be updated after the day.

    >>> at_once("x", {"stack": "dev-aws", "ends": "2026-10-01", "firm": True})
    'TtlGuard x: ends has passed (2026-10-01): dev-aws is scaled to zero as soon as this is up; a later day keeps it'
    """
    if not args.get("firm") or not load().passed(date.fromisoformat(args["ends"])):
        return ""
    return (
        f"TtlGuard {name}: ends has passed ({args['ends']}): {args['stack']} is scaled to zero as soon as this is up; "
        "a later day keeps it"
    )


def check_usd(faults: Faults, args: Mapping[str, object], key: str, *, least: int = 0) -> None:
    """An amount of money over zero, or from `least` on; one that is missing is said where all arguments are read."""
    if key not in args:
        return
    usd = args[key]
    right = isinstance(usd, int | float) and not isinstance(usd, bool) and usd > 0 and usd >= least
    faults.must(right, key, f"must be {f'{least} or more' if least else 'over 0'}, got {usd!r}")


def check_date(faults: Faults, args: Mapping[str, object], key: str) -> None:
    """An ISO date."""
    try:
        date.fromisoformat(str(args.get(key)))
    except ValueError:
        faults.add(key, f"must be an ISO date (2026-12-31), got {args.get(key)!r}")


def check_emails(faults: Faults, args: Mapping[str, Any], key: str = "emails") -> None:
    """Addresses that can be written to."""
    for number, email in enumerate(args.get(key) or []):
        faults.must(bool(_EMAIL.fullmatch(str(email))), f"{key}[{number}]", f"must be an e-mail address, got {email!r}")
