"""What one engine run has told so far, and the judgements that follow. Loaded while the engine starts the program.

Knows the protocol's messages and nothing of how they are sent. The clock is read here, because this is the edge.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from sizewell.policy.announced import FILE, differing
from sizewell.policy.announcement import ALONE, OF_WHOLE_POOLS, TOTAL, WHOLE_POOLS, Level
from sizewell.policy.config import Waiver
from sizewell.policy.decisions import read_decision
from sizewell.policy.engine import Report, Result, evaluate
from sizewell.policy.expiring import expiries_of
from sizewell.policy.rule import Rule
from sizewell.policy.rules import RULES
from sizewell.resources.expiry import Expiries
from sizewell.resources.facts import facts
from sizewell.resources.priced import Pricing
from sizewell.resources.pricing import price
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource
from sizewell.resources.usage import read_usage
from sizewell.resources.values import canonical
from sizewell.sizing.catalog import load
from sizewell.sizing.catalog.overlay import folder_of, read_own_rates
from sizewell.sizing.errors import ConfigError, Fault

if TYPE_CHECKING:
    from sizewell.policy.opening import Opening

_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  (a marker of the protocol)
_UNKNOWNS: Final = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)


class Session:
    """One engine run: what the engine reported of its resources, what was said about them, what the stack costs."""

    def __init__(self, opening: Opening, *, rules: tuple[Rule, ...] = RULES) -> None:
        if wrong := differing(opening.said, rules):
            fault = f"is out of date for {', '.join(wrong[:3])}"
            raise ConfigError([Fault(path=f"schemas/{FILE.name}", message=fault, fix="make generate")])
        self.remediated: set[str] = set()
        self.total = True
        self.bill = ""
        self._opening = opening
        self._rules = rules
        self._alone = tuple(rule for rule in rules if rule.subject in ALONE)
        self._early = (*self._alone, *(rule for rule in rules if rule.id in OF_WHOLE_POOLS))
        self._seen: dict[str, RecordedResource] = {}
        self._told: set[tuple[str, str, str]] = set()
        own = folder_of(opening.decisions.parent.parent) if opening.decisions is not None else None
        self._catalog = load(overlay=own)
        self._prices = _own_prices()
        self.configure()

    def configure(self) -> None:
        """The file's configuration with what `--policy-pack-config` says over it.

        The engine repeats the announced level of every rule that nobody configured; only another level is a statement.
        """
        opening = self._opening
        levels: dict[str, Mapping[str, Level]] = dict(opening.config.levels)
        settings = dict(opening.config.settings)
        for rule, entry in opening.stated.items():
            level = _LEVELS[entry.enforcementLevel]
            if rule == TOTAL:
                self.total = level != "disabled"
                continue
            if level == "remediate":
                self.remediated.add(rule)
                levels[rule] = {"": "mandatory"}
                continue
            if level != opening.levels.get(rule):
                levels[rule] = {"": level}
            changes = decode_struct(entry.properties)
            if changes:
                settings[rule] = {**settings.get(rule, {}), **changes}
        self._config = replace(opening.config, levels=levels, settings=settings)

    def one(self, message: Any) -> tuple[Result, ...]:
        """Definite violations of this resource alone, or of a pool that it shows whole; all else waits for the end."""
        resource = recorded(message)
        self._seen[resource.urn] = resource
        chain = [resource]
        while (parent := chain[-1].parent) and parent in self._seen and self._seen[parent] not in chain:
            chain.append(self._seen[parent])
        provider = (resource.provider or "").rsplit("::", 1)[0]
        if provider in self._seen and provider != resource.urn:
            chain.append(self._seen[provider])
        today = _today()
        known = tuple(reversed(chain))
        config = replace(self._config, waivers=_applicable(self._config.waivers, known, today))
        # a component of ours registers what ends its pools only after they are made
        whole = canonical(resource.type) in WHOLE_POOLS and not any(each.type.startswith("sizewell-") for each in chain)
        stated = facts(
            self._plan(known),
            self._catalog if whole else None,
            environment=self._opening.environment(),
            on=today,
            expiries=self._expiries(),
            retention_visible=False,
        )
        report = evaluate(stated, config, on=today, rules=self._early if whole else self._alone, evaluator=False)
        violations = tuple(r for r in report.results if r.outcome == "violation" and r.urn == resource.urn)
        self._told.update((result.rule, result.urn, result.message) for result in violations)
        return violations

    def whole(self, messages: Any) -> Report:
        """Everything else, over all resources; inputs that were seen before replace the engine's outputs."""
        plan = self._plan(tuple(self._merged(recorded(message, outputs=True)) for message in messages))
        today = _today()
        pricing = price(plan, self._catalog, on=today, **self._prices)
        self.bill = bill(pricing)
        stated = facts(
            plan,
            self._catalog,
            pricing=pricing,
            decision=read_decision(self._opening.decisions, self._opening.stack),
            on=today,
            expiries=self._expiries(),
            retention_visible=False,
        )
        report = evaluate(stated, self._config, on=today, rules=self._rules, evaluator=False)
        fresh = tuple(r for r in report.results if (r.rule, r.urn, r.message) not in self._told)
        return replace(report, results=fresh)

    def _merged(self, resource: RecordedResource) -> RecordedResource:
        seen = self._seen.get(resource.urn)
        if seen is None:
            return resource
        return replace(
            seen,
            parent=resource.parent or seen.parent,
            dependencies=resource.dependencies,
            property_dependencies=resource.property_dependencies,
            outputs=resource.outputs,
        )

    def _expiries(self) -> Expiries:
        decisions = self._opening.decisions
        root = None if decisions is None else decisions.parent.parent
        return expiries_of(self._config, root, self._opening.stack, self._opening.environment())

    def _plan(self, resources: tuple[RecordedResource, ...]) -> Plan:
        run = self._opening
        return Plan(project=run.project, stack=run.stack, resources=resources, config=run.settings, origin="engine")


_LEVELS: Final[tuple[Level | Literal["remediate"], ...]] = (
    "advisory",
    "mandatory",
    "disabled",
    "remediate",
)  # as the protocol numbers them


def _own_prices() -> dict[str, Any]:
    """What the files that the environment names say beside the list."""
    options: dict[str, Any] = {}
    if usage := os.environ.get("SIZEWELL_USAGE"):
        options["usage"] = read_usage(Path(usage))
    if discounts := os.environ.get("SIZEWELL_DISCOUNTS"):
        options["discounts"] = read_own_rates(Path(discounts), load())
    return options


def _today() -> Any:
    return datetime.now(UTC).date()


def _applicable(waivers: tuple[Waiver, ...], resources: tuple[RecordedResource, ...], today: Any) -> tuple[Waiver, ...]:
    """Waivers for one resource; whether the others dangle is known only at the end."""
    names = {name for resource in resources for name in (resource.urn, resource.name)}
    return tuple(waiver for waiver in waivers if waiver.resource in names and waiver.expires >= today)


def bill(pricing: Pricing) -> str:
    """The stack's cost in one sentence."""
    cost = pricing.cost()
    monthly, once = cost.run_rate.usd_per_month, cost.one_off.usd
    text = f"{monthly.expected:,.2f} USD a month expected ({monthly.floor:,.2f} to {monthly.ceiling:,.2f})"
    if once.ceiling:
        text += f", {once.expected:,.2f} USD once"
    return f"{text}; {len(cost.unpriced)} without a price" if cost.unpriced else text


def recorded(message: Any, *, outputs: bool = False) -> RecordedResource:
    """A resource as the engine tells it: with its inputs before it is made, with its outputs at the end."""
    options = message.options
    values = decode_struct(message.properties)
    parent = getattr(message, "parent", "") or options.parent
    return RecordedResource(
        urn=message.urn,
        type=message.type,
        name=message.name,
        inputs=values,
        outputs=values if outputs else {},
        parent=parent or None,
        custom=not message.type.startswith("sizewell-") and message.type != "pulumi:pulumi:Stack",
        protect=options.protect,
        ignore_changes=tuple(options.ignoreChanges),
        delete_before_replace=options.deleteBeforeReplace,
        aliases=tuple(options.aliases),
        dependencies=tuple(getattr(message, "dependencies", ())),
        property_dependencies={
            key: tuple(value.urns) for key, value in getattr(message, "propertyDependencies", {}).items()
        },
        provider=message.provider.urn or None,
    )


def decode(value: Any) -> Any:
    """A protobuf value as plain JSON: sentinels become UNKNOWN, secrets are unwrapped, assets stay mappings."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text in _UNKNOWNS else text
    if kind == "struct_value":
        return decode_struct(value.struct_value)
    if kind == "list_value":
        return [decode(entry) for entry in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    return None


def decode_struct(struct: Any) -> Any:
    fields = struct.fields
    if _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET:
        return decode(fields["value"]) if "value" in fields else UNKNOWN
    return {key: decode(entry) for key, entry in fields.items()}
