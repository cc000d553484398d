"""What a team really pays: rates and commitments of its own, read from a YAML file and applied to list prices.

The file is checked whole before anything is priced; every fault is named with its line and path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar, Final

from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.catalog.series import resources, size_units
from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.money import HOURS_PER_MONTH, Asked, Interval, LineItem, Price, Priced
from sizewell.sizing.places import Places, locating, read_yaml
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.versions import content

USD: Final = "USD"  # what is bought, as a preview names it
UNITS: Final = "units"
VCPU_HOURS: Final = "vCPU-hours"
GB_HOURS: Final = "GB-hours"
GPU_HOURS: Final = "GPU-hours"
OWN_RATE: Final = "own rate"  # the source of a price that a team states itself
PERCENT: Final = "percent"  # the unit of a fee that is a share of a machine's price


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A percentage off, or a fixed price, for machines or fees that match; blank fields match everything.

    A percentage that names no machine type, market or fee is off both; a price is of machines or of one fee.
    """

    cloud: str = ""
    instance_type: str = ""
    region: str = ""
    market: str = ""
    fee: str = ""
    percent: Decimal | None = None
    usd: Decimal | None = None

    def applied(self, listed: Price) -> Price:
        if self.usd is not None:
            if isinstance(listed, Priced):
                return replace(listed.at(self.usd, "own rate", OWN_RATE), weak="")
            return Priced(self.usd, OWN_RATE, "", terms="own rate")
        if self.percent is None or not isinstance(listed, Priced):
            return listed
        source = f"{listed.source}, own discount {self.percent.normalize():f} %"
        return listed.at(listed.amount * (100 - self.percent) / 100, "own discount", source)

    def is_of_fee(self, cloud: str, key: str, region: str) -> bool:
        """Whether it is the rate of a fee: named whole, by how it begins ("rds.*"), or by what is left blank.

        >>> [Rate(fee=fee).is_of_fee("aws", "rds.gp3.gb_month", "us-east-1") for fee in ("rds.*", "*", "rds")]
        [True, True, False]
        >>> off = Decimal(10)
        >>> rates = Rate(percent=off), Rate(percent=off, market="spot"), Rate(percent=off, region="eu-west-1")
        >>> [rate.is_of_fee("aws", "nat.hour", "us-east-1") for rate in rates]
        [True, False, False]
        """
        if self.cloud not in ("", cloud) or self.region not in ("", region):
            return False
        if not self.fee:
            return self.percent is not None and not self.instance_type and not self.market
        return self.fee == key or (self.fee.endswith("*") and key.startswith(self.fee[:-1]))

    def decides(self, asked: Asked) -> bool:
        """Whether it matches what a price was asked for."""
        if asked.fee:
            return self.is_of_fee(asked.cloud, asked.fee, asked.region)
        return self.matches(asked.cloud, asked.machine, asked.region, asked.market)

    @property
    def shown(self) -> str:
        """Which rate it is, in words.

        >>> Rate(cloud="aws", fee="nat.hour", usd=Decimal("0.04")).shown
        'aws fee nat.hour, 0.04 USD'
        """
        named = (self.cloud, self.instance_type, self.region, self.market, f"fee {self.fee}" if self.fee else "")
        terms = f"{self.usd} USD" if self.usd is not None else f"{self.percent} %"
        return f"{' '.join(filter(None, named)) or 'everything'}, {terms}"

    @property
    def scope(self) -> tuple[str, ...]:
        """What it is the rate of; two rates of one scope contradict each other."""
        return (self.cloud, self.instance_type, self.region, self.market, self.fee)

    def matches(self, cloud: str, instance_type: str, region: str, market: str) -> bool:
        """Whether it is the rate of a machine type in a market of a region."""
        return (
            self.fee == ""
            and self.cloud in ("", cloud)
            and self.instance_type in ("", instance_type)
            and self.region in ("", region)
            and self.market in ("", market)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """Capacity that is bought already: `count` machines at `usd_per_hour` from one date to another.

    With a fee in the place of a machine type it is so many hours of that fee. With `sizes`, or where it is `flexible`,
    it covers other sizes as well, each by its units: those of `sizes`, else AWS's own by the names of a family.
    """

    cloud: str
    region: str
    count: int
    usd_per_hour: Decimal
    until: date
    instance_type: str = ""
    fee: str = ""
    since: date = date.min
    sizes: tuple[tuple[str, Decimal], ...] = ()  # units of each machine type
    flexible: bool = False

    kind: ClassVar = "commitment"

    @property
    def covers(self) -> str:
        """The machines, or the fee, in words."""
        return f"{self.fee}, {self.region}" if self.fee else f"{self.instance_type}, on-demand, {self.region}"

    @property
    def is_shared_out(self) -> bool:
        """Whether it covers more than one machine type."""
        return self.flexible or bool(self.sizes)

    def units(self, asked: Asked) -> Decimal | None:
        """Units of size that a machine takes of it each hour; None where it covers none.

        >>> held = Commitment(cloud="aws", region="us-east-1", count=1, usd_per_hour=Decimal(1), until=date(2027, 1, 1),
        ...                   instance_type="m5.large", flexible=True)
        >>> [held.units(Asked("aws", "us-east-1", name)) for name in ("m5.large", "m5.4xlarge", "m5d.large")]
        [Decimal('4'), Decimal('32'), None]
        """
        if (asked.cloud, asked.region) != (self.cloud, self.region) or asked.platform:
            return None
        if self.sizes:
            return dict(self.sizes).get(asked.machine)
        same = asked.machine.partition(".")[0] == self.instance_type.partition(".")[0]
        return size_units(asked.machine) if same else None

    @property
    def bought(self) -> dict[str, Decimal]:
        """What is paid for in a month, used or not."""
        return {UNITS: self.count * self._each * HOURS_PER_MONTH}

    @property
    def usd_of(self) -> dict[str, Decimal]:
        """US dollars that each unit of it costs."""
        return {UNITS: self.usd_per_hour / self._each}

    @property
    def _each(self) -> Decimal:
        own = Asked(self.cloud, self.region, machine=self.instance_type)
        return self.units(own) or Decimal(1)

    @property
    def asked(self) -> Asked:
        """What the price of a line is asked for that it may cover."""
        if self.fee:
            return Asked(self.cloud, self.region, fee=self.fee)
        return Asked(self.cloud, self.region, machine=self.instance_type, market="on-demand")

    @property
    def shown(self) -> str:
        """Which commitment it is, in words."""
        sizes = " and other sizes" if self.is_shared_out else ""
        return f"{self.count} x {self.fee or self.instance_type}{sizes} in {self.region}"

    @property
    def title(self) -> str:
        """The same with what it is."""
        return f"commitment to {self.shown} until {self.until.isoformat()}"

    def together(self, other: Commitment) -> Commitment:
        """Both as one, where they are to the same machines: at the middle price, until the first of them ends."""
        count = self.count + other.count
        usd = (self.count * self.usd_per_hour + other.count * other.usd_per_hour) / count
        return replace(self, count=count, usd_per_hour=usd, until=min(self.until, other.until))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCommitment:
    """vCPUs and memory of a machine series in a region that are bought already, as Google Cloud sells them."""

    cloud: str
    region: str
    machines: tuple[str, ...]  # patterns of machine types
    vcpus: Decimal
    memory_gb: Decimal
    usd_per_vcpu_hour: Decimal
    usd_per_gb_hour: Decimal
    until: date
    gpus: Decimal = Decimal(0)
    usd_per_gpu_hour: Decimal = Decimal(0)
    since: date = date.min
    name: str = ""  # of a program's own, which bills what it is to itself
    gpu_fee: str = ""  # of accelerators that are attached to its machines and billed beside them

    def is_to(self, asked: Asked) -> bool:
        """Whether it is to the series of a machine."""
        here = (asked.cloud, asked.region) == (self.cloud, self.region)
        return here and any(fnmatchcase(asked.machine, pattern) for pattern in self.machines)

    kind: ClassVar = "commitment"

    @property
    def bought(self) -> dict[str, Decimal]:
        """What is paid for in a month, used or not."""
        amounts = {VCPU_HOURS: self.vcpus, GB_HOURS: self.memory_gb} | ({GPU_HOURS: self.gpus} if self.gpus else {})
        return {name: amount * HOURS_PER_MONTH for name, amount in amounts.items()}

    @property
    def usd_of(self) -> dict[str, Decimal]:
        """US dollars of an hour of each."""
        return {
            VCPU_HOURS: self.usd_per_vcpu_hour,
            GB_HOURS: self.usd_per_gb_hour,
            GPU_HOURS: self.usd_per_gpu_hour,
        }

    @property
    def shown(self) -> str:
        """Which commitment it is, in words."""
        gpus = f"{self.gpus.normalize():f} GPUs, " if self.gpus else ""
        sizes = f"{gpus}{self.vcpus.normalize():f} vCPUs and {self.memory_gb.normalize():f} GB"
        return f"{sizes} of {', '.join(self.machines)} in {self.region}"

    @property
    def title(self) -> str:
        """The same with what it is."""
        return f"commitment {self.name}" if self.name else f"commitment to {self.shown} until {self.until.isoformat()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsPlan:
    """US dollars an hour that are committed for machines on demand, at a percentage off, until a date.

    A Savings Plan of AWS or Azure, a flexible committed use discount of Google Cloud. `percents` are by pattern of the
    machine type, the first that matches: of other types the plan covers none.
    """

    cloud: str
    usd_per_hour: Decimal
    percents: tuple[tuple[str, Decimal], ...]
    until: date
    since: date = date.min
    region: str = ""

    def percent(self, cloud: str, instance_type: str, region: str) -> Decimal | None:
        """What is off the price of a machine type that it covers.

        >>> plan = SavingsPlan(cloud="aws", usd_per_hour=Decimal(1), until=date(2027, 1, 1),
        ...                    percents=(("m5.*", Decimal(37)), ("g6*", Decimal(20))))
        >>> [plan.percent("aws", name, "us-east-1") for name in ("m5.large", "g6e.xlarge", "m7i.large")]
        [Decimal('37'), Decimal('20'), None]
        """
        if cloud != self.cloud or self.region not in ("", region):
            return None
        return next((off for pattern, off in self.percents if fnmatchcase(instance_type, pattern)), None)

    kind: ClassVar = "savings plan"

    @property
    def bought(self) -> dict[str, Decimal]:
        """What is paid in a month, used or not."""
        return {USD: self.usd_per_hour * HOURS_PER_MONTH}

    @property
    def usd_of(self) -> dict[str, Decimal]:
        """US dollars of each."""
        return {USD: Decimal(1)}

    @property
    def title(self) -> str:
        """Which plan it is, in words."""
        return self.shown

    @property
    def shown(self) -> str:
        """Which plan it is, in words.

        >>> SavingsPlan(cloud="gcp", usd_per_hour=Decimal("2.5"), until=date(2027, 1, 1), percents=()).shown
        'savings plan of 2.5 USD/h on gcp until 2027-01-01'
        """
        where = f", {self.region}" if self.region else ""
        kinds = f" ({', '.join(pattern for pattern, _ in self.percents)})" if self._narrow else ""
        return f"savings plan of {self.usd_per_hour} USD/h on {self.cloud}{where}{kinds} until {self.until.isoformat()}"

    @property
    def _narrow(self) -> bool:
        return all(pattern != "*" for pattern, _ in self.percents) and bool(self.percents)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingAccount:
    """Whose bill a cloud's charges are on: the account of the contract whose rates these are."""

    cloud: str
    id: str
    name: str = ""


SharedOut = Commitment | ResourceCommitment | SavingsPlan


def covers(each: SharedOut, asked: Asked) -> bool:
    """Whether what is bought covers a machine on demand, alone or among others."""
    if isinstance(each, SavingsPlan):
        return each.percent(asked.cloud, asked.machine, asked.region) is not None
    if isinstance(each, ResourceCommitment):
        return each.is_to(asked)
    return each.units(asked) is not None if each.is_shared_out else each.asked == asked


def takes(each: SharedOut, asked: Asked, usd: Decimal, shape: Shape | None) -> dict[str, Decimal] | None:
    """What an hour of a machine at its price on demand takes of what is bought; None where it covers none of it.

    >>> plan = SavingsPlan(cloud="aws", usd_per_hour=Decimal(1), until=date(2027, 1, 1),
    ...                    percents=(("g6*", Decimal(20)),))
    >>> takes(plan, Asked("aws", "us-east-1", "g6.xlarge"), Decimal("0.80"), None)
    {'USD': Decimal('0.64')}
    """
    if isinstance(each, SavingsPlan):
        percent = each.percent(asked.cloud, asked.machine, asked.region)
        return None if percent is None else {USD: usd * (100 - percent) / 100}
    if isinstance(each, Commitment):
        units = each.units(asked)
        return None if units is None else {UNITS: units}
    return _parts_of(each, asked, shape) if each.is_to(asked) else None


def _parts_of(each: ResourceCommitment, asked: Asked, shape: Shape | None) -> dict[str, Decimal] | None:
    """The vCPUs, memory and accelerators in an hour of a machine; None where its price has more, such as local SSDs."""
    if shape is None or not shape.accelerators:
        has = resources(asked.machine)
        return None if has is None else {VCPU_HOURS: has.vcpus, GB_HOURS: has.memory_gb}
    if not each.gpus or shape.local_nvme_bytes or shape.vcpus is None or shape.memory_bytes is None:
        return None
    gigabytes = Decimal(shape.memory_bytes) / 1024**3
    return {VCPU_HOURS: Decimal(shape.vcpus), GB_HOURS: gigabytes, GPU_HOURS: Decimal(shape.accelerators)}


@dataclass(frozen=True, slots=True)
class Discounts:
    """Own rates (the first match counts), own commitments, the billing account of each cloud, and savings plans."""

    rates: tuple[Rate, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    billing_accounts: tuple[BillingAccount, ...] = ()
    savings_plans: tuple[SavingsPlan, ...] = ()
    resource_commitments: tuple[ResourceCommitment, ...] = ()

    def __bool__(self) -> bool:
        bought = self.commitments or self.savings_plans or self.resource_commitments
        return bool(self.rates or self.billing_accounts or bought)

    @property
    def bought(self) -> tuple[SharedOut, ...]:
        """Everything that is paid for already, in force or not."""
        return (*self.commitments, *self.resource_commitments, *self.savings_plans)

    def covering(self, asked: Asked) -> tuple[SharedOut, ...]:
        """What is bought that covers a machine on demand at some time, over already or not yet begun."""
        return tuple(each for each in self.bought if covers(each, asked))

    def machine(self, listed: Price, cloud: str, instance_type: str, region: str, market: str) -> Price:
        for rate in self.rates:
            if rate.matches(cloud, instance_type, region, market):
                return rate.applied(listed)
        return listed

    def fee(self, listed: Price, cloud: str, key: str, region: str, *, unit: str = "") -> Price:
        """`unit`: of a fee that is itself a percentage of a machine's price, which has the discount already."""
        for rate in self.rates:
            if rate.is_of_fee(cloud, key, region) and (rate.fee or unit != PERCENT):
                return rate.applied(listed)
        return listed

    def deciding(self, asked: Asked) -> Rate | None:
        """The rate that decides a price; None where none does."""
        return next((rate for rate in self.rates if rate.decides(asked)), None)

    def plans(self, on: date) -> tuple[SavingsPlan, ...]:
        """Savings plans in force: those of one region before others, as they are used up, else as stated."""
        return tuple(each for each in self.shared_out(on) if isinstance(each, SavingsPlan))

    def shared_out(self, on: date) -> tuple[SharedOut, ...]:
        """What is in force and covers machines of several types, in the order in which it is used."""
        return tuple(each for each in self.of_several_types if each.since <= on <= each.until)

    @property
    def of_several_types(self) -> tuple[SharedOut, ...]:
        """What covers machines of several types, at any time, in the order in which it is used.

        AWS uses reservations before savings plans, and narrow plans before wide ones
        (docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html); the others are used likewise.
        """
        flexible = (each for each in self.commitments if each.is_shared_out)
        return (*flexible, *self.resource_commitments, *sorted(self.savings_plans, key=lambda plan: not plan.region))

    def standing(self, on: date) -> dict[Asked, Commitment]:
        """Commitments in force to machines of one type, or to a fee, by what they cover; those to the same together."""
        by_machine: dict[Asked, Commitment] = {}
        for each in self.commitments:
            if not each.is_shared_out and each.since <= on <= each.until:
                other = by_machine.get(each.asked)
                by_machine[each.asked] = each if other is None else other.together(each)
        return by_machine

    def with_commitments(
        self, items: Iterable[LineItem], on: date, granted: Mapping[Asked, Decimal] | None = None
    ) -> Iterable[LineItem]:
        """On-demand machine-hours that a commitment covers become a line of their own, at the committed price.

        `granted`: hours of each commitment for these items, where others use it as well; None: all of it.
        """
        ours = self.standing(on)
        whole_hours = {what: commitment.count * HOURS_PER_MONTH for what, commitment in ours.items()}
        left = whole_hours if granted is None else {what: granted.get(what, Decimal(0)) for what in ours}
        for item in items:
            hours = left.get(item.asked, Decimal(0)) if item.asked is not None else Decimal(0)
            if item.asked is None or not item.unit.endswith("hour") or item.cadence != "monthly" or hours <= 0:
                yield item
                continue
            commitment = ours[item.asked]
            whole = item.quantity
            covered = Interval(*(min(bound, hours) for bound in (whole.floor, whole.expected, whole.ceiling)))
            rest = Interval(
                whole.floor - covered.floor, whole.expected - covered.expected, whole.ceiling - covered.ceiling
            )
            left[item.asked] = hours - covered.ceiling
            yield replace(
                item,
                quantity=covered,
                price=committed(item.price, commitment.usd_per_hour, on),
                how=f"{commitment.count} committed until {commitment.until.isoformat()}",
            )
            if rest.ceiling > 0:
                yield replace(item, quantity=rest, how=f"{item.how}; beyond the commitment")


def committed(price: Price, usd: Decimal, on: date) -> Priced:
    """What is paid under a commitment for what has a price on demand, or none."""
    if isinstance(price, Priced):
        return replace(price.at(usd, "own commitment", "own commitment"), date=on.isoformat(), weak="")
    return Priced(usd, "own commitment", on.isoformat(), terms="own commitment")


NO_DISCOUNTS: Final = Discounts()


def read_discounts(path: Path) -> Discounts:
    """A rates file: {rates: [...], commitments: [...], savings_plans: [...], billing_accounts: [...],
    resource_commitments: [...]}.

    See `Rate`, `Commitment`, `ResourceCommitment`, `SavingsPlan` and `BillingAccount` for the keys.

    Raises ConfigError with every fault, each with its line and column.
    """
    document = read_yaml(path)
    return parse_discounts(document.data, str(path), document.places)


def parse_discounts(data: object, origin: str = "discounts", places: Places | None = None) -> Discounts:
    """Discounts of what a YAML file says; `places` has the place of each entry, as "rates[0]"."""
    with locating(places or {}):
        return _discounts(data, origin, places or {})


def _discounts(data: object, origin: str, places: Places) -> Discounts:
    faults: list[Fault] = []
    data = content("rates", data, origin)
    if not isinstance(data, Mapping):
        allowed, fix = (
            f"a mapping with {', '.join(_LISTS)}",
            "rates: [{cloud: aws, percent: 12}], or leave the file out",
        )
        message = "says nothing" if data is None else ""
        raise ConfigError([Fault(path="", found=data, allowed=allowed, message=message, fix=fix)], subject=origin)
    faults.extend(unknown_key("", str(key), _LISTS) for key in data if key not in _LISTS)
    rates = [_rate(f"rates[{i}]", entry, faults) for i, entry in enumerate(entries_of(data, "rates", faults))]
    commitments = [
        _commitment(f"commitments[{i}]", entry, faults)
        for i, entry in enumerate(entries_of(data, "commitments", faults))
    ]
    accounts = [
        _billing_account(f"billing_accounts[{i}]", entry, faults)
        for i, entry in enumerate(entries_of(data, "billing_accounts", faults))
    ]
    resources = [
        _resource_commitment(f"resource_commitments[{i}]", entry, faults)
        for i, entry in enumerate(entries_of(data, "resource_commitments", faults))
    ]
    plans = [
        _savings_plan(f"savings_plans[{i}]", entry, faults)
        for i, entry in enumerate(entries_of(data, "savings_plans", faults))
    ]
    faults += _contradictions(rates, places)
    faults += _second_accounts(accounts)
    if faults:
        raise ConfigError(faults, subject=origin)
    return Discounts(
        tuple(r for r in rates if r),
        tuple(c for c in commitments if c),
        tuple(a for a in accounts if a),
        tuple(p for p in plans if p),
        tuple(r for r in resources if r),
    )


def _contradictions(rates: list[Rate | None], places: Places) -> Iterable[Fault]:
    """Two rates for the very same machines: the second would never count."""
    first: dict[tuple[str, ...], int] = {}
    for index, rate in enumerate(rates):
        if rate is None:
            continue
        before = first.setdefault(rate.scope, index)
        other = rates[before]
        if other is not None and (other.usd, other.percent) != (rate.usd, rate.percent):
            place = places.get(f"rates[{before}]")
            where = f" on line {place.key[0]}" if place else ""
            yield Fault(path=f"rates[{index}]", message=f"contradicts rates[{before}]{where}", fix="keep one of them")


def _second_accounts(accounts: list[BillingAccount | None]) -> Iterable[Fault]:
    """Two billing accounts of one cloud: nothing says which of them a charge is on."""
    first: dict[str, int] = {}
    for index, account in enumerate(accounts):
        if account is not None and first.setdefault(account.cloud, index) != index:
            before = f"billing_accounts[{first[account.cloud]}]"
            yield Fault(
                path=f"billing_accounts[{index}]",
                message=f"names another account of {account.cloud} than {before}",
                fix="keep one of them",
            )


_LISTS: Final = ("rates", "commitments", "billing_accounts", "savings_plans", "resource_commitments")
_KEYS_FIX: Final = "write keys and values, such as {cloud: aws, percent: 12}"
_RATE_TEXTS: Final = ("cloud", "instance_type", "region", "market", "fee")


def _rate(path: str, entry: object, faults: list[Fault]) -> Rate | None:
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping", fix=_KEYS_FIX))
        return None
    before = len(faults)
    faults.extend(
        unknown_key(path, str(key), (*_RATE_TEXTS, "percent", "usd"))
        for key in entry
        if key not in (*_RATE_TEXTS, "percent", "usd")
    )
    if ("percent" in entry) == ("usd" in entry):
        faults.append(Fault(path=path, message="needs exactly one of percent and usd", fix="percent: 12 or usd: 2.10"))
    percent = _bounded(f"{path}.percent", entry.get("percent"), Decimal(0), Decimal(100), faults)
    usd = _bounded(f"{path}.usd", entry.get("usd"), Decimal(0), Decimal(100_000), faults)
    if len(faults) > before:
        return None
    return Rate(percent=percent, usd=usd, **{key: str(entry.get(key, "")) for key in _RATE_TEXTS})


def _commitment(path: str, entry: object, faults: list[Fault]) -> Commitment | None:
    keys = ("cloud", "region", "count", "usd_per_hour", "until")
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping", fix=_KEYS_FIX))
        return None
    before = len(faults)
    allowed = (*keys, "instance_type", "fee", "from", "sizes", "flexible")
    faults.extend(unknown_key(path, str(key), allowed) for key in entry if key not in allowed)
    if ("instance_type" in entry) == ("fee" in entry):
        fix = "instance_type: m5.large, or the fee that bills by the hour"
        faults.append(Fault(path=path, message="needs exactly one of instance_type and fee", fix=fix))
    sizes = _sizes(path, entry, faults)
    faults.extend(
        Fault(path=f"{path}.{key}", message="is missing", fix=f"add {key}") for key in keys if key not in entry
    )
    machines = _bounded(f"{path}.count", entry.get("count"), Decimal(1), Decimal(100_000), faults)
    usd = _bounded(f"{path}.usd_per_hour", entry.get("usd_per_hour"), Decimal(0), Decimal(100_000), faults)
    since, until = _term(path, entry, faults)
    if len(faults) > before or machines is None or usd is None:
        return None
    return Commitment(
        cloud=str(entry["cloud"]),
        instance_type=str(entry.get("instance_type", "")),
        fee=str(entry.get("fee", "")),
        region=str(entry["region"]),
        count=int(machines),
        sizes=sizes,
        flexible=entry.get("flexible") is True,
        usd_per_hour=usd,
        since=since,
        until=until,
    )


def _sizes(path: str, entry: Mapping[object, object], faults: list[Fault]) -> tuple[tuple[str, Decimal], ...]:
    """The units of each type that a commitment states, or that its types have units by their names."""
    stated, kind = entry.get("sizes"), str(entry.get("instance_type", ""))
    if "flexible" in entry:
        if entry["flexible"] not in (True, False):
            faults.append(
                Fault(path=f"{path}.flexible", found=entry["flexible"], allowed="true or false", fix="flexible: true")
            )
        elif entry["flexible"] and not stated and size_units(kind) is None:
            fix = "state them: sizes: {NAME: UNITS}, as the seller lists them"
            faults.append(
                Fault(path=f"{path}.flexible", message=f"the units of {kind or 'a fee'} are not known", fix=fix)
            )
    if stated is None:
        return ()
    if not isinstance(stated, Mapping) or kind not in stated:
        allowed = f"a mapping of machine types to units, {kind or 'instance_type'} among them"
        fix = f"sizes: {{{kind or 'm5.large'}: 4}}"
        faults.append(Fault(path=f"{path}.sizes", found=stated, allowed=allowed, fix=fix))
        return ()
    least, most = Decimal("0.001"), Decimal(100_000)
    units = [(str(name), _bounded(f"{path}.sizes", each, least, most, faults)) for name, each in stated.items()]
    return tuple((name, each) for name, each in units if each is not None)


def _resource_commitment(path: str, entry: object, faults: list[Fault]) -> ResourceCommitment | None:
    needed = ("cloud", "region", "machines", "vcpus", "memory_gb", "usd_per_vcpu_hour", "usd_per_gb_hour", "until")
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping", fix=_KEYS_FIX))
        return None
    before = len(faults)
    allowed = (*needed, "from", "gpus", "usd_per_gpu_hour")
    faults.extend(unknown_key(path, str(key), allowed) for key in entry if key not in allowed)
    asked = (*needed, *(("usd_per_gpu_hour",) if "gpus" in entry else ()))
    faults.extend(
        Fault(path=f"{path}.{key}", message="is missing", fix=f"add {key}") for key in asked if key not in entry
    )
    most = Decimal(10_000_000)
    amounts = (*needed[3:7], "gpus", "usd_per_gpu_hour")
    numbers = {key: _bounded(f"{path}.{key}", entry.get(key), Decimal(0), most, faults) for key in amounts}
    since, until = _term(path, entry, faults)
    machines = entry.get("machines")
    patterns = tuple(str(each) for each in machines) if isinstance(machines, list) else (str(machines),)
    if len(faults) > before:
        return None
    return ResourceCommitment(
        cloud=str(entry["cloud"]),
        region=str(entry["region"]),
        machines=patterns,
        since=since,
        until=until,
        vcpus=numbers["vcpus"] or Decimal(0),
        memory_gb=numbers["memory_gb"] or Decimal(0),
        usd_per_vcpu_hour=numbers["usd_per_vcpu_hour"] or Decimal(0),
        usd_per_gb_hour=numbers["usd_per_gb_hour"] or Decimal(0),
        gpus=numbers["gpus"] or Decimal(0),
        usd_per_gpu_hour=numbers["usd_per_gpu_hour"] or Decimal(0),
    )


def _term(path: str, entry: Mapping[object, object], faults: list[Fault]) -> tuple[date, date]:
    """The first and the last day of a commitment; without `from` it has begun."""
    before = len(faults)
    since = _day(path, "from", entry, faults) if "from" in entry else date.min
    until = _day(path, "until", entry, faults)
    if since > until and len(faults) == before:
        fix = "until is its last day, from its first"
        faults.append(Fault(path=f"{path}.until", found=f"{until}", allowed=f"a date from {since} on", fix=fix))
    return since, until


def _day(path: str, key: str, entry: Mapping[object, object], faults: list[Fault]) -> date:
    day = entry.get(key)
    if isinstance(day, str):
        try:
            day = date.fromisoformat(day)
        except ValueError:
            day = None
    if isinstance(day, date) and not isinstance(day, datetime):
        return day
    fix = f"{key}: 2027-06-30"
    faults.append(Fault(path=f"{path}.{key}", found=entry.get(key), allowed="a date, YYYY-MM-DD", fix=fix))
    return date.max


def _savings_plan(path: str, entry: object, faults: list[Fault]) -> SavingsPlan | None:
    needed = ("cloud", "usd_per_hour", "percent", "until")
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping", fix=_KEYS_FIX))
        return None
    before = len(faults)
    allowed = (*needed, "from", "region")
    faults.extend(unknown_key(path, str(key), allowed) for key in entry if key not in allowed)
    faults.extend(
        Fault(path=f"{path}.{key}", message="is missing", fix=f"add {key}") for key in needed if key not in entry
    )
    usd = _bounded(f"{path}.usd_per_hour", entry.get("usd_per_hour"), Decimal("0.001"), Decimal(100_000), faults)
    stated = entry.get("percent")
    by_type = stated if isinstance(stated, Mapping) else {"*": stated}
    percents = [
        (str(pattern), _bounded(f"{path}.percent", off, Decimal(0), Decimal(99), faults))
        for pattern, off in by_type.items()
    ]
    if "percent" in entry and (not by_type or None in by_type.values()):
        faults.append(Fault(path=f"{path}.percent", message="is empty", fix='percent: 27, or {"m5.*": 37, "*": 27}'))
    since, until = _term(path, entry, faults)
    if len(faults) > before or usd is None:
        return None
    return SavingsPlan(
        cloud=str(entry["cloud"]),
        usd_per_hour=usd,
        percents=tuple((pattern, off) for pattern, off in percents if off is not None),
        since=since,
        until=until,
        region=str(entry.get("region", "")),
    )


def _billing_account(path: str, entry: object, faults: list[Fault]) -> BillingAccount | None:
    keys = ("cloud", "id", "name")
    if not isinstance(entry, Mapping):
        faults.append(Fault(path=path, found=entry, allowed="a mapping", fix=_KEYS_FIX))
        return None
    before = len(faults)
    faults.extend(unknown_key(path, str(key), keys) for key in entry if key not in keys)
    for key, needed in (("cloud", True), ("id", True), ("name", False)):
        value = entry.get(key)
        if key not in entry:
            if needed:
                faults.append(Fault(path=f"{path}.{key}", message="is missing", fix=f"add {key}"))
        elif not isinstance(value, str) or not value.strip():
            allowed = "a text; put digits in quotes, or leading zeros are lost"
            faults.append(Fault(path=f"{path}.{key}", found=value, allowed=allowed, fix=f"{key}: '{value or '...'}'"))
    if isinstance(entry.get("cloud"), str) and entry["cloud"] not in CLOUDS:
        allowed = f"one of {', '.join(CLOUDS)}"
        fix = f"cloud: {next(iter(CLOUDS))}"
        faults.append(Fault(path=f"{path}.cloud", found=entry["cloud"], allowed=allowed, fix=fix))
    if len(faults) > before:
        return None
    return BillingAccount(cloud=entry["cloud"], id=entry["id"], name=entry.get("name", ""))


def _bounded(path: str, value: object, low: Decimal, high: Decimal, faults: list[Fault]) -> Decimal | None:
    if value is None:
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        amount = None
    if amount is None or isinstance(value, bool) or not amount.is_finite() or not low <= amount <= high:
        allowed = f"a number from {low} to {high:,}"
        faults.append(Fault(path=path, found=value, allowed=allowed, fix=_number_fix(path, value)))
        return None
    return amount


def _number_fix(path: str, value: object) -> str:
    """How a number is written.

    >>> _number_fix("rates[0].usd", "20 EUR"), _number_fix("commitments[0].count", "2 machines")
    ('usd: 20 where it is 20 US dollars; another currency is converted to them first', 'write the number alone')
    """
    of, _, key = path.rpartition(".")
    if key.startswith("usd"):
        number = re.match(r"\s*[\d.]+", str(value))
        said = number[0].strip() if number else "2.10"
        return f"{key}: {said} where it is {said} US dollars; another currency is converted to them first"
    if key == "percent":
        above = "; a price above the list is stated as usd" if of.startswith("rates") else ""
        return f"percent: 12 takes 12 % off{above}"
    return "write the number alone"


def entries_of(data: object, key: str, faults: list[Fault]) -> list[object]:
    if not isinstance(data, Mapping):
        faults.append(Fault(path="", found=data, allowed=f"a mapping with {key}", fix=f"{key}: [...]"))
        return []
    entries = data.get(key, [])
    if not isinstance(entries, list):
        faults.append(Fault(path=key, found=entries, allowed="a list", fix=f"begin each entry of {key} with a dash"))
        return []
    return entries


def unknown_key(path: str, key: str, allowed: Iterable[str]) -> Fault:
    from difflib import get_close_matches

    names = list(allowed)
    close = get_close_matches(key, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"one of {', '.join(names)}"
    return Fault(path=f"{path}.{key}" if path else key, message="unknown key", fix=hint)
