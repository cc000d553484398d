"""Who hears of idle machines, budgets, and stops or expiries that fail: `sizewell:notify` of a stack. Pure but for the
configuration.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NotRequired, TypedDict
from urllib.parse import urlsplit

import pulumi

from sizewell.components.tags import short_hash
from sizewell.sizing.errors import Fault
from sizewell.sizing.providers import clouds_where
from sizewell.sizing.records.budget import MONTHLY, of_stack
from sizewell.sizing.records.decision import Decision

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PAGERDUTY = re.compile(r"[0-9a-zA-Z]{20,40}")


class NotifyArgs(TypedDict):
    """Receivers of all notices of a stack; a Slack channel is an e-mail address of its own, or a webhook of a relay."""

    emails: NotRequired[list[str]]
    """E-mail addresses; on AWS each confirms once."""
    webhooks: NotRequired[list[str]]
    """HTTPS addresses that receive the cloud's own message; on AWS each confirms once."""
    pagerduty: NotRequired[list[str]]
    """Integration keys of PagerDuty services."""


def check_notify(stated: object, path: str = "sizewell:notify") -> list[Fault]:
    """What is wrong with the receivers, all at once.

    >>> print(*check_notify({"emails": ["nobody"]}))
    sizewell:notify.emails[0]: must be an e-mail address, got 'nobody'
    """
    if not isinstance(stated, Mapping):
        return [Fault(path=path, found=stated, allowed=f"a mapping with {', '.join(NotifyArgs.__annotations__)}")]
    faults = []
    checks: dict[str, tuple[Callable[[str], object], str]] = {
        "emails": (EMAIL.fullmatch, "an e-mail address"),
        "webhooks": (lambda value: urlsplit(value).scheme == "https" and urlsplit(value).netloc, "an https address"),
        "pagerduty": (_PAGERDUTY.fullmatch, "a PagerDuty integration key"),
    }
    for kind, values in stated.items():
        if kind not in checks:
            faults.append(Fault(path=f"{path}.{kind}", message=f"is unknown; one of {', '.join(checks)}"))
        elif not isinstance(values, list):
            faults.append(Fault(path=f"{path}.{kind}", found=values, allowed="a list"))
        else:
            holds, allowed = checks[kind]
            faults += [
                Fault(path=f"{path}.{kind}[{number}]", found=value, allowed=allowed)
                for number, value in enumerate(values)
                if not isinstance(value, str) or not holds(value)
            ]
    return faults


def receivers() -> NotifyArgs:
    """The receivers that the stack's configuration names."""
    stated: NotifyArgs | None = pulumi.Config("sizewell").get_object("notify")
    return stated or {}


def unheard(decision: Decision, kind: str = "") -> str:
    """What the stack would tell and nobody hears: a sentence with the way out; "" where somebody does.

    `kind` is ttl for the stack of an expiry, checkpoints or images for those, "" for the cluster's own.
    """
    if kind in ("checkpoints", "images"):
        return ""
    notify = receivers()
    budget = of_stack(workload.budget.get(MONTHLY) for workload in decision.workloads)
    if any(notify.values()):
        clouds = {pool.cloud for workload in decision.workloads for pool in workload.pools}
        emails_only = not clouds.isdisjoint(clouds_where(lambda cloud: cloud.account.budget_emails_only))
        return _unheard_budget(notify) if kind == "" and budget is not None and emails_only else ""
    told = []
    if kind == "ttl" or decision.expires_at is not None:
        told.append("an expiry that fails")
    if kind == "":
        if budget is not None:
            told.append("an exceeded budget")
        told += [f"idle machines of {w.spec.name}" for w in decision.workloads if w.guard is not None]
    if not told:
        return ""
    return (
        f"sizewell:notify is empty: there is no receiver for notices of {', '.join(told)}\n"
        "  fix: pulumi config set --path 'sizewell:notify.emails[0]' YOU@EXAMPLE.COM (or webhooks, pagerduty)"
    )


BUDGET_EMAILS_MAX: Final = 5
"""Channels that a budget of Google Cloud takes, all of them e-mail: Slack, SMS and PagerDuty are not supported
(cloud.google.com/billing/docs/reference/budget/rest/v1/billingAccounts.budgets, monitoringNotificationChannels)."""


def _unheard_budget(notify: NotifyArgs) -> str:
    """Who of the receivers does not hear of a budget on Google Cloud; "" where all do."""
    fix = "\n  fix: pulumi config set --path 'sizewell:notify.emails[0]' YOU@EXAMPLE.COM (or webhooks)"
    if not notify.get("emails") and not notify.get("webhooks"):
        sentence = "sizewell:notify has only PagerDuty, which budgets of Google Cloud do not support"
        return sentence + fix
    silent = notify.get("emails", [])[BUDGET_EMAILS_MAX:]
    if silent:
        return (
            f"a budget of Google Cloud reaches {BUDGET_EMAILS_MAX} e-mail addresses: "
            f"{', '.join(silent)} {'does' if len(silent) == 1 else 'do'} not hear of it\n"
            "  fix: name one address of a mailing list in sizewell:notify.emails"
        )
    return ""


def hooks(notify: NotifyArgs) -> dict[str, str]:
    """Addresses that a cloud posts notices to, by a name that does not tell them: webhooks, then PagerDuty's.

    PagerDuty takes the messages of CloudWatch and of Azure Monitor at one address of each integration
    (support.pagerduty.com/docs/amazon-cloudwatch-integration-guide, .../microsoft-azure-integration-guide).
    """
    addresses = {f"hook-{short_hash(address)}": address for address in notify.get("webhooks", [])}
    for key in notify.get("pagerduty", []):
        addresses[f"pagerduty-{short_hash(key)}"] = f"https://events.pagerduty.com/integration/{key}/enqueue"
    return addresses


def with_emails(notify: NotifyArgs, emails: Any) -> NotifyArgs:
    """The stack's receivers and a component's own addresses, each once."""
    return {**notify, "emails": list(dict.fromkeys([*(emails or []), *notify.get("emails", [])]))}
