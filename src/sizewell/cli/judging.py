"""What the policies say of a planned stack: facts from the plan, rules over the facts, plain records for a preview."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewell.sizing.errors import ConfigError

if TYPE_CHECKING:
    from sizewell.policy.config import Config, Waiver
    from sizewell.policy.engine import Report
    from sizewell.preview.base_prices import BasePrices
    from sizewell.preview.records import PolicyReport
    from sizewell.resources.recorded import Plan
    from sizewell.sizing.records.decision import Decision

DEFAULT_CONFIG = "policy/config.yaml"


def config(path: Path | None, root: Path) -> Config:
    """The named policy configuration, else the project's own, else the one that comes with the policy pack."""
    from sizewell.policy.config import DEFAULT_FILE, read_config

    own = root / DEFAULT_CONFIG
    file = path or (own if own.exists() else DEFAULT_FILE)
    try:
        return read_config(file)
    except ConfigError as error:
        raise ConfigError(error.faults, subject=str(file)) from None


def config_text(text: str, origin: str) -> Config:
    """A policy configuration from its text, as a base revision has it."""
    from sizewell.policy.config import parse_config
    from sizewell.sizing.places import locating, parse_yaml

    document = parse_yaml(text, origin)
    with locating(document.places):
        return parse_config({} if document.data is None else document.data, origin)


def differences(old: Config, new: Config) -> tuple[str, ...]:
    """What a change of the policies' configuration says otherwise, one line each."""
    lines = [] if old.profile == new.profile else [f"profile: {old.profile} -> {new.profile}"]
    for word, before, after in (
        ("level of", old.levels, new.levels),
        ("undetermined level of", old.undetermined, new.undetermined),
    ):
        for rule in sorted({*before, *after}):
            for environment in sorted({*before.get(rule, {}), *after.get(rule, {})}):
                was, now = (side.get(rule, {}).get(environment, "its own") for side in (before, after))
                if was != now:
                    lines.append(f"{word} {rule}{f' in {environment}' if environment else ''}: {was} -> {now}")
    for rule in sorted({*old.settings, *new.settings}):
        for name in sorted({*old.settings.get(rule, {}), *new.settings.get(rule, {})}):
            was, now = (side.get(rule, {}).get(name, "its default") for side in (old.settings, new.settings))
            if was != now:
                lines.append(f"{name} of {rule}: {was} -> {now}")
    lines += [f"waiver added: {_shown(waiver)}" for waiver in new.waivers if waiver not in old.waivers]
    lines += [f"waiver removed: {_shown(waiver)}" for waiver in old.waivers if waiver not in new.waivers]
    if old.waiver_days_max != new.waiver_days_max:
        lines.append(f"longest waiver: {old.waiver_days_max} -> {new.waiver_days_max} days")
    if old.expiry_days_max != new.expiry_days_max:
        lines.append(f"farthest expiry that counts: {old.expiry_days_max} -> {new.expiry_days_max} days")
    if old.expiry_reserved_days_max != new.expiry_reserved_days_max:
        was_days, now_days = old.expiry_reserved_days_max, new.expiry_reserved_days_max
        lines.append(f"farthest end of a reservation that counts: {was_days} -> {now_days} days")
    if old.expiry_tags != new.expiry_tags:
        shown = [", ".join(tags) or "none" for tags in (old.expiry_tags, new.expiry_tags)]
        lines.append(f"tags whose expiry counts: {' -> '.join(shown)}")
    return tuple(lines)


def _shown(waiver: Waiver) -> str:
    where = f" in {waiver.stack}" if waiver.stack else ""
    owner = f" ({waiver.owner})" if waiver.owner else ""
    return f"{waiver.rule} for {waiver.resource}{where} until {waiver.expires.isoformat()}: {waiver.reason}{owner}"


def decision_of(root: Path, stack: str) -> Decision | None:
    """The decision that a stack follows, None where it has none; a checkpoint or ttl stack follows its cluster's."""
    from sizewell.sizing.records.decision import Decision
    from sizewell.sizing.records.stackname import cluster_of

    path = root / "stacks/decisions" / f"{cluster_of(stack)}.json"
    return Decision.from_json(path) if path.exists() else None


def own_prices(usage: Path | None, discounts: Path | None) -> dict[str, Any]:
    """What the files say beside the list: arguments of `resources.price`."""
    from sizewell.resources.usage import read_usage
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.overlay import read_own_rates

    stated: dict[str, Any] = {}
    if usage is not None:
        stated["usage"] = read_usage(usage)
    if discounts is not None:
        stated["discounts"] = read_own_rates(discounts, load())
    return stated


def at_prices(base: BasePrices) -> dict[str, Any]:
    """The prices of a revision as arguments of `judge`."""
    return {"catalog": base.catalog, "usage": base.usage, "discounts": base.discounts}


def judge(
    plan: Plan,
    decision: Decision | None,
    settings: Config,
    on: date,
    changes: Mapping[str, str] | None = None,
    *,
    root: Path,
    before: Plan | None = None,
    prices: Mapping[str, Any] | None = None,
) -> Report:
    """Every rule over one stack; `changes` says what a comparison found, None where nothing is compared.

    `root` is the project, which says what acts on an expiry.

    `prices` are those of `own_prices` or `at_prices`.
    """
    from sizewell.policy.engine import evaluate
    from sizewell.policy.expiring import expiries_of
    from sizewell.resources.facts import facts
    from sizewell.resources.pricing import price
    from sizewell.resources.readers.common import plan_environment
    from sizewell.sizing.catalog import load

    own = dict(prices or {})
    catalog = own.pop("catalog", None) or load()
    stated: dict[str, Any] | None = None
    if decision is not None:
        stated = {
            **decision.model_dump(mode="json", by_alias=True),
            "digest": decision.digest(),
            "sealed": not decision.edited,
        }
    pricing = price(plan, catalog, on=on, **own)
    environment = plan_environment(plan) or str((stated or {}).get("environment") or "")
    known = facts(
        plan,
        catalog,
        pricing=pricing,
        decision=stated,
        changes=changes,
        before=before,
        on=on,
        expiries=expiries_of(settings, root, plan.stack, environment),
    )
    return evaluate(known, settings, on=on)


def in_environment(plan: Plan, environments: Mapping[str, str]) -> Plan:
    """A plan as of the environment that a base says its stack is of, where a change says otherwise."""
    from sizewell.sizing.records.stackname import ENVIRONMENT_KEY

    if plan.stack not in environments:
        return plan
    return replace(plan, config={**plan.config, ENVIRONMENT_KEY: environments[plan.stack]})


def for_preview(
    settings: Config,
    root: Path,
    on: date,
    prices: Mapping[str, Any] | None = None,
    environments: Mapping[str, str] | None = None,
) -> Callable[[Plan, Decision | None, Mapping[str, str], Plan | None], PolicyReport]:
    """The policies as a function that a preview can call.

    `environments` are those of stacks that are not judged by what their own configuration says.
    """

    def policies(
        plan: Plan, decision: Decision | None, changes: Mapping[str, str], before: Plan | None = None
    ) -> PolicyReport:
        from sizewell.preview.records import PolicyFinding, PolicyReport

        report = judge(
            in_environment(plan, environments or {}),
            decision or decision_of(root, plan.stack),
            settings,
            on,
            changes,
            root=root,
            before=before,
            prices=prices,
        )
        return PolicyReport(
            passed=report.passed,
            elsewhere=len(report.elsewhere),
            summary=report.summary(),
            findings=tuple(
                PolicyFinding(
                    policy=result.rule,
                    level="advisory" if result.level == "advisory" else "mandatory",
                    component=result.resource,
                    resource=result.urn,
                    message=result.message,
                    fix=result.fix,
                    waived=result.reason if result.outcome == "waived" else "",
                )
                for result in report.results
            ),
        )

    return policies
