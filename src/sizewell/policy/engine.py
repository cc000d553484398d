"""Run the rules over the facts of a stack. Pure: the day comes from the caller.

Nothing passes by accident: an unknown value is "undetermined" and counts as failed at the rule's level, a rule that
raises is reported as that rule's own fault and counts as failed, an expired or dangling waiver fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date, timedelta
from operator import itemgetter
from typing import Final, Literal

from sizewell.policy.config import Config, Waiver
from sizewell.policy.rule import Level, Rule, Undetermined, Verdict, Violation
from sizewell.policy.terms import in_own_terms
from sizewell.resources import standing
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Fact, StackFacts
from sizewell.resources.values import Flag

Outcome = Literal["violation", "undetermined", "waived", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One thing that a rule says about one resource (or about the stack: urn "")."""

    rule: str
    outcome: Outcome
    level: Level
    urn: str
    resource: str
    message: str
    fix: str
    prevents: str = ""
    reason: str = ""  # of the waiver

    def sentence(self) -> str:
        """As a person reads it: what, where, why, and the line that mends it."""
        where = f"{self.resource}: " if self.resource else ""
        return f"{where}{self.message}\n  fix: {self.fix}" if self.fix else f"{where}{self.message}"


def grouped(results: Iterable[Result]) -> list[Result]:
    """What a rule says of several resources in the same words as one result, with the first names."""
    same: dict[Result, list[str]] = {}
    for result in results:
        same.setdefault(replace(result, urn="", resource=""), []).append(result.resource)
    groups = []
    for result, resources in same.items():
        names = list(dict.fromkeys(filter(None, resources)))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        groups.append(replace(result, resource=", ".join(names[:3]) + more))
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All results that are not plain passes, and how many judgements passed."""

    results: tuple[Result, ...]
    passed: int
    rules: int
    elsewhere: tuple[Result, ...] = ()  # the profile asks about accelerators alone, and these are about other things
    accelerators: Flag = True  # whether the stack runs some or keeps their checkpoints, where the profile asks that

    def failed(self, level: Level = "mandatory") -> tuple[Result, ...]:
        """What stops a change (mandatory) or only warns (advisory)."""
        return tuple(result for result in self.results if result.outcome != "waived" and result.level == level)

    @property
    def waived(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if result.outcome == "waived")

    @property
    def not_judged(self) -> tuple[Result, ...]:
        """What the plan does not show, and nobody accepted."""
        return tuple(result for result in self.results if result.rule == NOT_JUDGED and result.outcome != "waived")

    def summary(self) -> str:
        """What the profile found nothing to ask about, and how much it left out; "" where it asks about everything."""
        parts = []
        if self.accelerators is not True:
            unsure = isinstance(self.accelerators, Unknown)
            parts.append("it is not known whether anything here runs an accelerator" if unsure else NOTHING)
        if self.elsewhere:
            count = len(self.elsewhere)
            parts.append(f"{count:,} {'finding' if count == 1 else 'findings'} beside accelerators: {ALL} lists them")
        return "; ".join(parts)

    @property
    def ok(self) -> bool:
        return not self.failed()


def evaluate(
    facts: StackFacts, config: Config, *, on: date, rules: Sequence[Rule] | None = None, evaluator: bool = True
) -> Report:
    """Judge every fact by every rule that is on in this environment.

    Args:
        facts: The stack.
        config: Levels, parameters and waivers.
        on: The day on which waivers expire.
        rules: Others than those shipped; for tests.
        evaluator: Whether the caller sees what only the evaluator sees (retain-on-delete).

    """
    if rules is None:
        from sizewell.policy.rules import RULES

        rules = RULES
    rules_by_id = {rule.id: rule for rule in rules}
    results: list[Result] = []
    passed = 0
    ran = 0
    waivers, subjects = _Waivers(config, facts, on), _Subjects(facts)
    for rule in rules:
        level = config.level(rule, facts.environment)
        if level == "disabled" or (rule.evaluator_only and not evaluator):
            continue
        ran += 1
        parameters = config.parameters(rule)
        try:
            verdicts = _verdicts(rule, subjects, parameters)
            unsure = config.level_undetermined(rule, facts.environment)
            judged, fine = _results(rule, level, unsure, facts, verdicts)
        except Exception as error:  # noqa: BLE001  (a broken rule must fail, not pass and not stop the others)
            judged = [
                Result(
                    rule=rule.id,
                    outcome="error",
                    level=level,
                    urn="",
                    resource="",
                    message=f"the rule itself failed ({type(error).__name__}: {error}), so it counts as violated",
                    fix=f"disable {rule.id} with a reason, and report it: the fault is in sizewell/{rule.file}",
                    prevents=rule.prevents,
                )
            ]
            fine = 0
        passed += fine
        results.extend(waivers.applied(result) for result in judged)
    results.extend(waivers.faults())
    if config.profile != "accelerators":
        return Report(results=tuple(results), passed=passed, rules=ran)
    holds, may = _accelerators(facts, {rule.id for rule in rules if rule.about_accelerators}, results)
    kept: list[Result] = []
    elsewhere: list[Result] = []
    for result in results:
        rule_of = rules_by_id.get(result.rule)
        if (
            holds is not True
            and rule_of is not None
            and rule_of.about_accelerators
            and result.outcome == "undetermined"
        ):
            kept.append(replace(result, level="advisory"))  # nobody knows whether there are any
        else:
            (kept if _concerns(result, rule_of, holds, may) else elsewhere).append(result)
    return Report(results=tuple(kept), passed=passed, rules=ran, elsewhere=tuple(elsewhere), accelerators=holds)


NOTHING: Final = "nothing here runs an accelerator"
ALL: Final = "`sizewell policy --profile standard`"
WITH_ACCELERATORS: Final = ("pools", "endpoints", "notebooks", "jobs", "pods", "purchases", "things")  # may have some
NOT_JUDGED: Final = "not-judged"  # the rule that names what a plan does not show
_WHATEVER_RUNS: Final = (NOT_JUDGED, "refused-by-cloud")  # rules about every stack, with accelerators or without
_OUTLIVED: Final = "exceptions that outlive their reason"
_NOW: Final = "set it in the program, or waive the rule for this resource"
_LATER: Final = "set it in the program, or let `pulumi up` check it once the cloud has answered"  # as the file allows


class _Subjects:
    """The facts of a stack by type and by cloud, so that a rule looks only at those that it judges."""

    def __init__(self, facts: StackFacts) -> None:
        self.facts = facts
        self._sorted: dict[str, tuple[dict[str, list[tuple[int, Fact]]], dict[str, list[tuple[int, Fact]]]]] = {}

    def of(self, rule: Rule) -> Iterable[Fact]:
        """In the order in which the stack has them."""
        if rule.subject not in self._sorted:
            by_type: dict[str, list[tuple[int, Fact]]] = {}
            by_cloud: dict[str, list[tuple[int, Fact]]] = {}
            for place in enumerate(getattr(self.facts, rule.subject)):
                by_type.setdefault(place[1].type, []).append(place)
                by_cloud.setdefault(place[1].cloud, []).append(place)
            self._sorted[rule.subject] = by_type, by_cloud
        by_type, by_cloud = self._sorted[rule.subject]
        groups = [by_type[each] for each in rule.types if each in by_type] if rule.types else [
            by_cloud[each] for each in rule.clouds if each in by_cloud
        ]  # fmt: skip
        places = groups[0] if len(groups) == 1 else sorted((p for group in groups for p in group), key=itemgetter(0))
        return (fact for _, fact in places)


def _verdicts(rule: Rule, subjects: _Subjects, parameters: dict[str, object]) -> Iterable[tuple[str, Verdict]]:
    if rule.subject == "stack":
        yield from rule.judge(subjects.facts, parameters)
        return
    judge = rule.judge
    for fact in subjects.of(rule):
        yield fact.urn, judge(fact, parameters)


def _results(
    rule: Rule, level: Level, unsure: Level, facts: StackFacts, verdicts: Iterable[tuple[str, Verdict]]
) -> tuple[list[Result], int]:
    results: list[Result] = []
    fine = 0
    for urn, verdict in verdicts:
        if verdict is None:
            fine += 1
            continue
        if not isinstance(verdict, (Violation, Undetermined)):
            raise TypeError(f"returned {verdict!r}, not a Violation, Undetermined or None")
        resource = facts.graph.by_urn.get(urn)
        unknown = isinstance(verdict, Undetermined)
        results.append(
            Result(
                rule=rule.id,
                outcome="undetermined" if unknown else "violation",
                level=unsure if unknown else level,
                urn=urn,
                resource=resource.name if resource is not None else "",
                message=verdict.message or f"cannot be checked before {verdict.what} {_verb(verdict.what)} known"
                if isinstance(verdict, Undetermined)
                else verdict.message,
                fix=in_own_terms(verdict.fix, resource) or (_LATER if unsure != level else _NOW)
                if isinstance(verdict, Undetermined)
                else in_own_terms(verdict.fix, resource),
                prevents=rule.prevents,
            )
        )
    return results, fine


def _verb(what: str) -> str:
    """Whether something that is not known yet is one thing or several.

    >>> _verb("the zones of the file system"), _verb("zones and upgrade strategy"), _verb("who can read its logs")
    ('are', 'are', 'is')
    """
    if _QUESTION.match(what):
        return "is"
    head = _REST.split(what)[0].rpartition(" or ")[2]
    return "are" if " and " in head or (head.endswith("s") and not head.endswith(("ss", "us", "is"))) else "is"


_QUESTION: Final = re.compile(r"(who|whom|what|which|whether|when|how|why)\b")
_REST: Final = re.compile(r",| (?:that|of|in|from|for|with|on)\b")


def _accelerators(
    facts: StackFacts, about: AbstractSet[str], results: Iterable[Result]
) -> tuple[Flag, AbstractSet[str]]:
    """Whether a stack has accelerators or their checkpoints, and which resources have some or may have some.

    `about` are the rules that judge nothing else, whatever the type of the resource.
    """
    judged: tuple[Fact, ...] = (*facts.pools, *facts.endpoints, *facts.notebooks, *facts.jobs)
    flags: list[tuple[str, Flag]] = [(fact.urn, getattr(fact, "accelerated", False)) for fact in judged]
    flags += [(pods.urn, UNKNOWN if isinstance(pods.accelerators, Unknown) else bool(pods.accelerators))
              for pods in facts.pods]  # fmt: skip
    named = [(thing.urn, standing.of(thing)) for thing in facts.things if thing.runs]
    flags += [(urn, UNKNOWN if isinstance(name, Unknown) else name != "") for urn, name in named]
    flags += [(purchase.urn, True) for purchase in facts.purchases]
    flags += [(store.urn, True) for store in (*facts.stores, *facts.stores_before) if store.checkpoints is True]
    may = {urn for urn, flag in flags if isinstance(flag, Unknown) or flag}
    told = {result.outcome for result in results if result.rule in about}
    if any(flag is True for _, flag in flags) or told - {"undetermined"}:
        return True, may
    unsure = bool(may) or bool(told) or any(each.accelerators for each in facts.hidden)
    return UNKNOWN if unsure else False, may


def _concerns(result: Result, rule: Rule | None, holds: Flag, may: AbstractSet[str]) -> bool:
    """Whether a result is about accelerators or what surrounds them, waived, or of a rule about every stack."""
    if rule is None or result.rule in _WHATEVER_RUNS or result.prevents == _OUTLIVED or result.outcome == "waived":
        return True
    if holds is not True:
        return False
    about = rule.about_accelerators or rule.around_accelerators
    return about or result.urn in may or result.urn == "" or result.outcome == "error"


class _Waivers:
    """The waivers of a configuration against one stack: which still hold, and which are faults themselves."""

    def __init__(self, config: Config, facts: StackFacts, on: date) -> None:
        self._waivers = [waiver for waiver in config.waivers if waiver.concerns(facts.stack)]
        self._latest = on + timedelta(days=config.waiver_days_max)
        self._facts = facts
        self._on = on

    def applied(self, result: Result) -> Result:
        for waiver in self._waivers:
            until = f"until {waiver.expires.isoformat()}"
            if (
                waiver.rule == result.rule
                and self._on <= waiver.expires <= self._latest
                and _matches(waiver, result.urn, result.resource)
            ):
                return Result(
                    rule=result.rule,
                    outcome="waived",
                    level=result.level,
                    urn=result.urn,
                    resource=result.resource,
                    message=result.message,
                    fix=result.fix,
                    prevents=result.prevents,
                    reason=f"{waiver.reason} ({', '.join(filter(None, (waiver.owner, until)))})",
                )
        return result

    def faults(self) -> Iterable[Result]:
        resources = self._facts.graph.plan.resources
        for waiver in self._waivers:
            if waiver.expires < self._on:
                yield _fault(
                    waiver,
                    f"the waiver of {waiver.rule} for {waiver.resource} expired on {waiver.expires.isoformat()}",
                    "fix the resource, or renew the waiver with a reason",
                )
            elif waiver.expires > self._latest:
                yield _fault(
                    waiver,
                    (
                        f"the waiver of {waiver.rule} for {waiver.resource} is valid until "
                        f"{waiver.expires.isoformat()}: the last day may be {self._latest.isoformat()} at the "
                        "latest, so the waiver does not apply"
                    ),
                    (
                        f"set a last day by {self._latest.isoformat()}, and renew the waiver then if the reason still "
                        "applies"
                    ),
                )
            elif waiver.resource != "stack" and not any(_matches(waiver, r.urn, r.name) for r in resources):
                yield _fault(
                    waiver,
                    f"the waiver of {waiver.rule} names {waiver.resource}, which is not in stack {self._facts.stack}",
                    "delete the waiver, or correct the resource's name, or give the stack it is for",
                )


def _matches(waiver: Waiver, urn: str, name: str) -> bool:
    if waiver.resource == "stack":
        return urn == ""
    return waiver.resource in (urn, name) and urn != ""


def _fault(waiver: Waiver, message: str, fix: str) -> Result:
    return Result(
        rule=waiver.rule,
        outcome="violation",
        level="mandatory",
        urn="",
        resource="",
        message=message,
        fix=fix,
        prevents=_OUTLIVED,
    )
