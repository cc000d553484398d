"""What a preview says: one set of records for every renderer, and the published form of `--format json`.

Money is US dollars, a decimal in a string in JSON. Everything per month is a run-rate, everything `once` is paid once;
the two are never added. Floor <= expected <= ceiling holds for every interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from sizewell.sizing.money import Interval, Terms


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)


Money = Interval  # US dollars per month, or once, to the cent


# A preview of a large stack has tens of thousands of these: slots instead of a model each.
@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the bill after the change: a quantity of a unit at a price."""

    component: str
    what: str
    unit: str
    cadence: Literal["monthly", "once"]
    quantity: Interval
    usd_per_unit: Decimal | None  # None: unpriced
    usd: Money | None
    unpriced: str = ""  # why there is no price
    how: str = ""
    confidence: str = ""  # "": list price and stated usage
    source: str = ""
    date: str = ""
    terms: Terms = "list"  # who says what is paid
    list_usd_per_unit: Decimal | None = None  # the list price, where the terms make another of it and there is one
    resource: str = ""  # URN
    tags: Mapping[str, str] = field(default_factory=dict)  # those by which a bill finds the resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One component: what it costs before and after, and how that was got."""

    sign: Literal["+", "-", "~", "="]
    component: str
    kind: str  # "GpuNodeGroup", or a resource type where no component stands around it
    what: str
    was: str = ""  # what it was, where that reads differently
    how: str
    region: str = ""
    before: Money  # per month
    after: Money
    once: Money  # bought by this change
    between: tuple[Decimal, Decimal] | None = None  # the change, where it rests on a number that is not known yet
    between_before: tuple[Decimal, Decimal] | None = None  # what is expected on either side, where it does
    between_after: tuple[Decimal, Decimal] | None = None
    unpriced: tuple[str, ...] = ()
    unpriced_before: tuple[str, ...] = ()
    use_added: int = 0  # resources that are billed by a use that nobody stated, which the change brings or takes
    use_gone: int = 0
    confidence: tuple[str, ...] = ()
    resources: int = 0
    changes: tuple[str, ...] = ()  # "availabilityZone: us-east-1a -> us-east-1b", of each resource that changes
    lines: tuple[Line, ...] = ()

    @property
    def change(self) -> Decimal:
        """Expected US dollars per month, after less before."""
        return self.after.expected - self.before.expected

    @property
    def purchases_without_price(self) -> tuple[Line, ...]:
        """What this change buys at a price that is not known."""
        once = [line for line in self.lines if line.cadence == "once" and line.usd is None and self.sign != "-"]
        return tuple(line for line in once if f"{line.what}: {line.unpriced}" not in self.unpriced_before)

    @property
    def ceiling_change(self) -> Decimal:
        """US dollars per month with everything on, after less before."""
        return self.after.ceiling - self.before.ceiling


class Need(_Record):
    """Something that a person has to decide, destroyed data first."""

    kind: Literal["destroys", "replaces", "unprotects", "upgrades", "keeps", "purchases"]
    component: str
    text: str
    brief: str = ""  # the same in three or four words, for a headline
    resources: tuple[str, ...] = ()  # URNs
    data: bool = False  # something that holds data goes
    usd_once: Money | None = None
    confirmed: str = ""  # where a purchase is confirmed


class Totals(_Record):
    """Sums over all lines of one side."""

    usd_per_month: Money
    usd_once: Money
    idle_usd_per_hour: Money  # spend per hour if nothing does work and nobody notices
    idle_kept: bool = False  # whether that is what it was before: what has no price may have taken its place


class Coverage(_Record):
    """How many resources were seen and what became of them; `unknown` are types that no rule prices."""

    detected: int = 0
    estimated: int = 0
    free: int = 0
    unpriced: int = 0
    unknown: int = 0
    by_use: int = 0  # billed by a use that nobody stated
    not_judged: int = 0  # those that hide what they make, and the places at which the program does


class Budget(_Record):
    """A monthly budget and how much of it the change uses."""

    usd_per_month: Decimal
    expected_percent: Decimal
    ceiling_percent: Decimal
    over: Literal["", "expected", "ceiling"]


class Guardrail(_Record):
    """A limit that was looked at; `ok` is False where it is broken and nobody unblocked it."""

    scope: str  # a stack, or "all stacks"
    kind: Literal["absolute", "percent", "budget"]
    of: Literal["expected", "ceiling"] = "expected"
    limit: Decimal
    found: Decimal | None  # None: cannot be told, which breaks the limit
    broken: bool
    why: str = ""  # why it cannot be told
    at: str = ""  # broken at the prices of this revision alone, which the change changes
    unblocked: str = ""

    @property
    def ok(self) -> bool:
        return not self.broken or bool(self.unblocked)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFinding:
    """One policy that did not pass, in plain data: the caller translates from what evaluated it."""

    policy: str
    level: Literal["mandatory", "advisory"]
    component: str = ""
    resource: str = ""
    message: str
    fix: str = ""
    waived: str = ""  # the reason, where it is waived
    stood: bool = False  # the base has it as well, and only what is new counts


class PolicyReport(_Record):
    """What the policies say of one stack."""

    findings: tuple[PolicyFinding, ...] = ()
    passed: int = 0
    elsewhere: int = 0  # findings on what the profile does not ask about
    summary: str = ""  # what the profile asked about, in one sentence

    @property
    def failed(self) -> tuple[PolicyFinding, ...]:
        return tuple(f for f in self.findings if f.level == "mandatory" and not f.waived and not f.stood)


class Choice(_Record):
    """The chosen hardware or a runner-up, as the reader compares them."""

    workload: str
    label: str
    cloud: str
    region: str
    nodes: int
    market: str
    managed: str = ""  # the service that runs it; "": machines of one's own
    chosen: bool
    usd_per_month: Decimal | None = None
    usd_per_run: Decimal | None = None
    performance: float | None = None
    metric: str = ""
    why_not: str = ""


class Evidence(_Record):
    """Why this hardware: the prediction, its band, what it needs in memory, unit prices."""

    workload: str
    kind: str
    metric: str
    value: float
    low: float
    high: float
    grade: str
    bottleneck: str
    memory_per_device_bytes: int
    memory_usable_bytes: int
    memory_breakdown: dict[str, int] = Field(default_factory=dict)
    usd_per_run: Decimal | None = None
    usd_per_million_tokens: Decimal | None = None
    usd_per_thousand_samples: Decimal | None = None
    assumptions: tuple[str, ...] = ()


class Guarded(_Record):
    """What watches a component for idleness, or that nothing does."""

    component: str
    signal: str
    idle_when: str
    then: str
    saves_usd_per_hour: Decimal | None = None


class End(_Record):
    """What ends of itself: a stack at its date, a purchased block, and by when work has to be saved."""

    component: str  # "" for the whole stack
    text: str


class CapacityNote(_Record):
    """How the machines of a component are got hold of."""

    component: str
    text: str


class Age(_Record):
    """A version in use whose support ended, ends within 90 days, or is not known to last."""

    component: str
    what: str  # "Kubernetes 1.36 on eks"
    until: str  # YYYY-MM-DD; "" where it is unknown
    when: Literal["ended", "in 30 days", "in 90 days", "unknown"]
    detail: str
    fix: str


class OwnershipMonth(_Record):
    """Cumulative US dollars by the end of a month, for each way to have the machines."""

    month: int
    usd: dict[str, Decimal]


class Unchanged(_Record):
    """Components that cost the same on both sides: how many, and what they cost together."""

    components: int = 0
    usd_per_month: Money
    unpriced: int = 0  # of these components: how many have a line without a price
    rows: tuple[Row, ...] = ()


class BillingAccount(_Record):
    """Whose bill the charges of a cloud are on."""

    id: str
    name: str = ""


class Stack(_Record):
    """The preview of one stack."""

    stack: str
    project: str
    regions: tuple[str, ...] = ()
    accounts: dict[str, str] = Field(default_factory=dict)  # package of the provider -> account, project, subscription
    billing_accounts: dict[str, BillingAccount] = Field(default_factory=dict)  # the same keys, where one is stated
    base: str = ""  # "", "main@1a2b3c4", "state.json"
    base_failed: str = ""  # why there is no figure for the base
    before: Totals | None
    after: Totals | None  # None: the head has no figure, `failed` says why
    change_usd_per_month: Decimal  # expected, after less before, both at the prices of the head's catalog
    bought: Money  # paid once because of this change
    prices_moved_usd_per_month: Decimal | None = None  # the base at the head's prices less at its own
    rows: tuple[Row, ...]
    unchanged: Unchanged
    needs: tuple[Need, ...] = ()
    unpriced: tuple[str, ...] = ()
    unpriced_before: tuple[str, ...] = ()  # of the base, its components by the names that they have now
    failing: tuple[str, ...] = ()  # of these what makes the command fail: accelerators, and what this change adds
    outside: tuple[str, ...] = ()
    free: dict[str, int] = Field(default_factory=dict)  # type -> count
    coverage: Coverage
    budget: Budget | None = None
    policies: PolicyReport | None = None
    choices: tuple[Choice, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    guarded: tuple[Guarded, ...] = ()
    capacity: tuple[CapacityNote, ...] = ()
    ends: tuple[End, ...] = ()
    ages: tuple[Age, ...] = ()
    ownership: tuple[OwnershipMonth, ...] = ()
    notes: tuple[str, ...] = ()
    failed: str = ""  # why there is no figure for the head
    cause: tuple[str, ...] = ()  # what led to that, line by line, the first cause last

    @property
    def ceiling_change_usd_per_month(self) -> Decimal:
        """With everything on, after less before; all of it where nothing stood before."""
        if self.after is None:
            return Decimal(0)
        return self.after.usd_per_month.ceiling - (self.before.usd_per_month.ceiling if self.before else Decimal(0))


class Provenance(_Record):
    """Which prices were used."""

    catalog_digest: str = ""
    catalog_as_of: str = ""
    age_days: int | None = None
    used_from: str = ""  # the oldest and the newest date of the list prices in these bills
    used_until: str = ""
    stale: tuple[str, ...] = ()  # in words: prices of this preview that are too old to be relied on
    discounts: str = ""  # file names of own rates and usage
    usage: str = ""
    engine: str = "offline"


class Preview(_Record):
    """All stacks of a repository, what they add up to, and what the command returns."""

    schema_id: Literal["sizewell.preview/1"] = Field(
        default="sizewell.preview/1", serialization_alias="schema", validation_alias="schema"
    )
    on: date
    stacks: tuple[Stack, ...]
    before: Totals | None
    after: Totals
    change_usd_per_month: Decimal
    bought: Money
    prices_moved_usd_per_month: Decimal | None = None
    guardrails: tuple[Guardrail, ...] = ()
    provenance: Provenance
    judge: tuple[str, ...] = ()  # what the change says otherwise of what judges it
    decisions: tuple[str, ...] = ()  # of `size --check`: those that their specs no longer lead to
    silent: bool
    exit_code: int
    exit_reason: str = ""

    def to_json(self) -> str:
        """JSON text with a newline at the end: decimals as strings, dates as ISO text."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"
