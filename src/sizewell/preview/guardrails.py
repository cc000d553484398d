"""Limits on what a change may cost, the exit code that follows, and when a preview stays silent.

The file (`stacks/config/guardrails.yaml`, or --guardrails FILE):

    silent_below_usd_per_month: 25
    increase: {usd_per_month: 5000, percent: 20}         # of each stack
    total_increase: {usd_per_month: 10000}               # of all stacks together
    budgets: {prod-aws: 90000 USD, total: 150000}        # per month; beside what the specs say
    judge: [expected, ceiling]                           # the figures that these hold for; both where nothing is said
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Literal

from sizewell.preview import records
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import CENT
from sizewell.sizing.places import locating, read_yaml
from sizewell.sizing.versions import content

TOTAL: Final = "all stacks"
SILENT_BELOW: Final = Decimal(0)  # a change of which nobody is told is a choice of the project

Bound = Literal["expected", "ceiling"]
Kind = Literal["absolute", "percent", "budget"]
BOUNDS: Final[tuple[Bound, ...]] = ("expected", "ceiling")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a change may cost. None: no limit of that kind. Money is US dollars per month."""

    increase_usd: Decimal | None = None
    increase_percent: Decimal | None = None
    total_increase_usd: Decimal | None = None
    total_increase_percent: Decimal | None = None
    budgets: Mapping[str, Decimal] = field(default_factory=dict)
    total_budget: Decimal | None = None
    silent_below: Decimal = SILENT_BELOW
    judged: tuple[Bound, ...] = BOUNDS


NO_LIMITS: Final = Limits()


def differences(old: Limits, new: Limits) -> tuple[str, ...]:
    """What a change of the limits says otherwise, one line each.

    >>> differences(parse_limits({"increase": {"percent": 20}}), parse_limits({"increase": {"percent": 90}}))
    ('increase.percent: 20 -> 90',)
    """
    old_budgets, new_budgets = ({**side.budgets, "total": side.total_budget} for side in (old, new))
    pairs: list[tuple[str, object, object]] = [
        ("increase.usd_per_month", old.increase_usd, new.increase_usd),
        ("increase.percent", old.increase_percent, new.increase_percent),
        ("total_increase.usd_per_month", old.total_increase_usd, new.total_increase_usd),
        ("total_increase.percent", old.total_increase_percent, new.total_increase_percent),
        *(
            (f"budgets.{name}", old_budgets.get(name), new_budgets.get(name))
            for name in sorted({*old_budgets, *new_budgets})
        ),
        ("silent_below_usd_per_month", old.silent_below, new.silent_below),
        ("judge", ", ".join(old.judged), ", ".join(new.judged)),
    ]
    return tuple(
        f"{name}: {'none' if was is None else was} -> {'none' if now is None else now}"
        for name, was, now in pairs
        if was != now
    )


def read_limits(path: Path) -> Limits:
    """Read a guardrails file; ConfigError names every fault with its line and column."""
    document = read_yaml(path)
    with locating(document.places):
        return parse_limits(document.data, str(path))


def parse_limits(data: object, origin: str = "guardrails") -> Limits:
    """Limits from what a guardrails file holds.

    >>> parse_limits({"increase": {"percent": 20}, "budgets": {"total": "9000 USD"}}).total_budget
    Decimal('9000')
    """
    faults: list[Fault] = []
    top = _mapping("", {} if data is None else content("guardrails", data, origin), _KEYS, faults)
    each = _mapping("increase", top.get("increase", {}), _INCREASE, faults)
    together = _mapping("total_increase", top.get("total_increase", {}), _INCREASE, faults)
    stated = top.get("budgets", {})
    if not isinstance(stated, Mapping):
        faults.append(Fault(path="budgets", found=stated, allowed="a mapping of stack to US dollars per month"))
        stated = {}
    budgets = {
        str(name): amount
        for name, value in stated.items()
        if (amount := _amount(f"budgets.{name}", value, faults)) is not None
    }
    limits = Limits(
        increase_usd=_amount("increase.usd_per_month", each.get("usd_per_month"), faults),
        increase_percent=_amount("increase.percent", each.get("percent"), faults),
        total_increase_usd=_amount("total_increase.usd_per_month", together.get("usd_per_month"), faults),
        total_increase_percent=_amount("total_increase.percent", together.get("percent"), faults),
        total_budget=budgets.pop("total", None),
        budgets=budgets,
        silent_below=_amount("silent_below_usd_per_month", top.get("silent_below_usd_per_month"), faults)
        or SILENT_BELOW,
        judged=_bounds(top.get("judge"), faults),
    )
    if faults:
        raise ConfigError(faults, subject=origin)
    return limits


_KEYS: Final = ("silent_below_usd_per_month", "increase", "total_increase", "budgets", "judge")
_INCREASE: Final = ("usd_per_month", "percent")


def _mapping(path: str, value: object, keys: Sequence[str], faults: list[Fault]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        faults.append(Fault(path=path or "file", found=value, allowed=f"a mapping with {', '.join(keys)}"))
        return {}
    for key in value:
        if key not in keys:
            close = get_close_matches(str(key), keys, n=1)
            fix = f"did you mean {close[0]}?" if close else f"one of {', '.join(keys)}"
            faults.append(Fault(path=f"{path}.{key}" if path else str(key), message="unknown key", fix=fix))
    return value


def _bounds(value: object, faults: list[Fault]) -> tuple[Bound, ...]:
    if value is None:
        return BOUNDS
    stated = value if isinstance(value, list) else [value]
    if not stated or any(each not in BOUNDS for each in stated):
        faults.append(Fault(path="judge", found=value, allowed="a list of expected, ceiling"))
        return BOUNDS
    return tuple(bound for bound in BOUNDS if bound in stated)


def _amount(path: str, value: object, faults: list[Fault]) -> Decimal | None:
    if value is None:
        return None
    text = str(value).removesuffix("USD").strip() if isinstance(value, str) else str(value)
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if isinstance(value, bool) or not amount.is_finite() or amount < 0:
        faults.append(Fault(path=path, found=value, allowed="a number of 0 or more, such as 5000 or 5000 USD"))
        return None
    return amount


def check(
    scope: str,
    before: records.Totals | None,
    after: records.Totals | None,
    *,
    increase_usd: Decimal | None,
    increase_percent: Decimal | None,
    budget: Decimal | None,
    unblocked: str,
    unknown: str = "",
    judged: Sequence[Bound] = BOUNDS,
    judged_budget: Sequence[Bound] | None = None,
) -> tuple[records.Guardrail, ...]:
    """Every limit that is set for one stack, or for all together, with what was found, expected and at the ceiling.

    An increase needs something to compare with, which for a new stack is 0. `after` is None where there is no figure,
    and `unknown` says why there is none, or none to compare with where there should be one: a limit that cannot be
    judged is broken. `unblocked` is the reason somebody gave. `judged` are the figures that count.
    """
    rails: list[records.Guardrail] = []

    def add(kind: Kind, bound: Bound, limit: Decimal | None, value: Decimal | None, why: str = "") -> None:
        if limit is not None and (value is not None or why):
            broken = value is None or value > limit
            reason = unblocked if broken else ""
            rails.append(
                records.Guardrail(
                    scope=scope, kind=kind, of=bound, limit=limit, found=value, broken=broken, unblocked=reason, why=why
                )
            )

    for bound in judged:
        was = getattr(before.usd_per_month, bound) if before else None
        now = getattr(after.usd_per_month, bound) if after else None
        change = now - was if now is not None and was is not None else None
        add("absolute", bound, increase_usd, change, unknown)
        share = (change / was * 100).quantize(CENT) if change is not None and was else None
        add("percent", bound, increase_percent, share, unknown)
    for bound in judged if judged_budget is None else judged_budget:
        add("budget", bound, budget, getattr(after.usd_per_month, bound) if after else None, "" if after else unknown)
    return _once(rails)


def _once(rails: Sequence[records.Guardrail]) -> tuple[records.Guardrail, ...]:
    """A limit that the expected figure breaks is not told again for the ceiling, nor one that cannot be judged."""
    broken = {rail.kind for rail in rails if rail.of == "expected" and rail.broken}
    return tuple(rail for rail in rails if rail.of == "expected" or rail.kind not in broken)


def guardrails_of(
    stacks: Sequence[records.Stack],
    before: records.Totals | None,
    after: records.Totals,
    limits: Limits,
    *,
    unblocked: str = "",
) -> tuple[records.Guardrail, ...]:
    """Per stack and in total."""
    rails: list[records.Guardrail] = []
    for stack in stacks:
        own = stack.stack in limits.budgets
        rails += check(
            stack.stack,
            stack.before,
            stack.after,
            increase_usd=limits.increase_usd,
            increase_percent=limits.increase_percent,
            budget=stack.budget.usd_per_month if stack.budget else limits.budgets.get(stack.stack),
            unblocked=unblocked,
            unknown=_first_line(stack.failed or stack.base_failed),
            judged=limits.judged,
            # a budget of a spec is what sizing kept the expected figure under; one of the file is a limit
            judged_budget=None if own else ("expected",),
        )
    failed = next((stack for stack in stacks if stack.after is None), None)
    missing = failed or next((stack for stack in stacks if stack.base_failed), None)
    rails += check(
        TOTAL,
        before,
        None if failed else after,
        increase_usd=limits.total_increase_usd,
        increase_percent=limits.total_increase_percent,
        budget=limits.total_budget,
        unblocked=unblocked,
        unknown=f"no price for {missing.stack}" if missing else "",
        judged=limits.judged,
    )
    return tuple(rails)


def stricter(
    rails: Sequence[records.Guardrail], others: Sequence[records.Guardrail], label: str
) -> tuple[records.Guardrail, ...]:
    """`rails`, and those of `others`, judged at the prices of `label`, that are broken where theirs is not."""
    broken = {(rail.scope, rail.kind) for rail in rails if rail.broken}
    more = [rail for rail in others if rail.broken and (rail.scope, rail.kind) not in broken]
    return (*rails, *(rail.model_copy(update={"at": label}) for rail in more))


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""


def exit_of(stacks: Iterable[records.Stack], guardrails: Iterable[records.Guardrail]) -> tuple[int, str]:
    """1 a policy failed, 2 a guardrail is broken, 3 something is unpriced, else 0; the first that holds, and why."""
    stacks = list(stacks)
    for stack in stacks:
        if stack.policies is not None and stack.policies.failed:
            first = stack.policies.failed[0]
            return 1, f"policy {first.policy} failed in {stack.stack}"
    for rail in guardrails:
        if not rail.ok:
            return 2, in_words(rail)
    for stack in stacks:
        if stack.failing:
            return 3, f"{len(stack.failing)} unpriced in {stack.stack}: {stack.failing[0]}"
    return 0, ""


def in_words(rail: records.Guardrail) -> str:
    """One guardrail as a sentence."""
    of = "run-rate" if rail.of == "expected" else "ceiling of the run-rate"
    if rail.found is None:
        unit = " %" if rail.kind == "percent" else " USD/month"
        text = f"{rail.scope}: the limit of {rail.limit:,}{unit} cannot be checked: {rail.why}"
    elif rail.kind == "percent":
        text = f"{rail.scope}: {of} up {rail.found:,} %, limit {rail.limit:,} %"
    elif rail.kind == "absolute":
        text = f"{rail.scope}: {of} up {rail.found:,} USD/month, limit {rail.limit:,}"
    else:
        which = "expected" if rail.of == "expected" else "at the ceiling"
        text = f"{rail.scope}: {rail.found:,} USD/month {which}, budget {rail.limit:,}"
    text = f"{text} at the prices of {rail.at}" if rail.at else text
    return f"{text} (unblocked: {rail.unblocked})" if rail.unblocked else text


def is_silent(stacks: Iterable[records.Stack], guardrails: Iterable[records.Guardrail], limits: Limits) -> bool:
    """Whether a reviewer would miss nothing: a small change, nothing bought, lost, failed, broken or newly unpriced."""
    return not any(rail.broken for rail in guardrails) and all(
        stack.after is not None
        and not stack.base_failed
        and (not stack.rows or _is_small(stack, limits.silent_below))
        and abs(stack.prices_moved_usd_per_month or Decimal(0)) <= limits.silent_below
        and stack.bought.ceiling == 0
        and not stack.needs
        and not (stack.policies is not None and stack.policies.failed)
        and not any(row.unpriced or row.unpriced_before or row.between for row in stack.rows)
        for stack in stacks
    )


def _is_small(stack: records.Stack, limit: Decimal) -> bool:
    return limit > max(abs(stack.change_usd_per_month), abs(stack.ceiling_change_usd_per_month))
