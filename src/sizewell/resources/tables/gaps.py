"""Types whose bill a row can say: by the hour or month, by what is provisioned, kept or used.

Each row names the fee that it is billed by. What the catalog has no list price of is seen, named and unpriced, never
nothing, and a team's own rate (`rates: [{fee: NAME, usd: ...}]`) prices it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_DOWN, Decimal
from pathlib import Path
from typing import Any, Final, Literal

from sizewell import csvtables
from sizewell.resources import aws_nodes
from sizewell.resources.context import Context, Free, Outcome, Pricer
from sizewell.resources.readers import task_machines
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stores import stored
from sizewell.resources.values import Text, flag, get, items, number, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, Interval, LineItem

InputPath = tuple[str | int, ...]


LENGTH: Final = "#"  # last in a path: how many items its list has
ONE_MORE: Final = "+1"  # last in a path: the number there, nothing where it is silent, and one
_SLOT: Final = re.compile(
    r"\{(?P<path>[\w.]+)(?:=(?P<default>[^}]*)|(?:/(?P<begins>\w+))?\?(?P<yes>[^}:]*):(?P<no>[^}]*))?\}"
)


def fee_key(template: str, inputs: object) -> Text | None:
    """The key of a fee with what a resource states in it, in small letters; None where it states no such thing.

    `{path}` is the value there, `{path=word}` has a default, `{path?yes:no}` is one word or the other, and
    `{path/begin?yes:no}` goes by how the value begins.

    >>> fee_key("redis.{sku.name}.{sku.ha?two:one}", {"sku": {"name": "Premium"}})
    'redis.premium.one'
    >>> fee_key("snapshot.{tier/arch?archive.:}gb_month", {"tier": "ARCHIVE"})
    'snapshot.archive.gb_month'
    >>> fee_key("pool.{type}", {"type": "types/b:0"})
    'pool.b-0'
    """
    key = template
    for slot in _SLOT.finditer(template):
        value = get(inputs, *slot["path"].split("."))
        if isinstance(value, Unknown):
            return UNKNOWN
        if slot["yes"] is not None:
            fits = str(value).lower().startswith(slot["begins"]) if slot["begins"] else flag(value)
            key = key.replace(slot[0], slot["yes"] if fits else slot["no"])
            continue
        word = str(slot["default"] or "" if value in (None, "") else value)
        if not word:
            return None
        # The last part of a path or name, with what a key may have: rates name it.
        key = key.replace(slot[0], re.sub(r"[^a-z0-9_.+-]+", "-", word.lower().rpartition("/")[2]))
    return key


def _units(inputs: object, *paths: InputPath) -> Decimal | Unknown:
    """The product of the numbers at these paths, 1 where an input is silent; a path may be a number itself."""
    units = Decimal(1)
    for path in paths:
        if path[0] in ("2", "3"):
            each: Decimal | Unknown | None = number(path[0])
        elif path[-1] == LENGTH:
            listed = items(get(inputs, *path[:-1]))
            each = UNKNOWN if isinstance(listed, Unknown) else Decimal(len(listed))
        elif path[-1] == ONE_MORE:
            more = number(get(inputs, *path[:-1], default=0))
            each = more + 1 if isinstance(more, Decimal) else more
        else:
            each = number(get(inputs, *path, default=1))
        if isinstance(each, Unknown):
            return UNKNOWN
        units *= each if isinstance(each, Decimal) else 1
    return units


def standing(what: str, key: str, *times: InputPath, unit: Literal["hour", "month"] = "hour") -> Pricer:
    """Bills around the clock, as many as the product of the numbers at these paths; `key` as `fee_key` reads it."""
    return lambda resource, context: _fee(
        resource,
        context,
        what=what,
        key=key,
        unit=unit,
        units=_units(resource.inputs, *times),
        times=HOURS_PER_MONTH if unit == "hour" else Decimal(1),
    )


def holds(what: str, key: str, size: InputPath, *times: InputPath) -> Pricer:
    """Bills by the gigabyte that an input provisions, on as many nodes as the numbers at the other paths say."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        if number(get(resource.inputs, *size)) is None:
            return (context.unpriced(resource, what, "no size is stated"),)
        units = _units(resource.inputs, size, *times)
        return _fee(resource, context, what=what, key=key, unit="GB-month", units=units)

    return price


def _netapp_pool(resource: RecordedResource, context: Context) -> Outcome:
    """A capacity pool, whose size is in bytes, by the gibibyte and hour (learn.microsoft.com/azure/azure-netapp-files/
    azure-netapp-files-cost-model).
    """
    size = number(resource.inputs.get("size"))
    if size is None:
        return (context.unpriced(resource, "capacity pool", "no size is stated"),)
    level, twice = text(resource.inputs.get("serviceLevel"), "Standard"), text(resource.inputs.get("encryptionType"))
    if isinstance(level, Unknown) or isinstance(twice, Unknown):
        return (context.unpriced(resource, "capacity pool", "its level is known only after deployment"),)
    if flag(resource.inputs.get("coolAccess")):
        why = "what is read from and kept in its cool tier is not stated"
        context.outside.append(f"{context.graph.component(resource)}: cool tier ({resource.name}): {why}")
    key = f"netapp.pool.{level.lower()}{'.double_encryption' if twice == 'Double' else ''}.gib_hour"
    units = size if isinstance(size, Unknown) else size / 1024**3
    return _fee(resource, context, what="capacity pool", key=key, unit="GiB-hour", units=units, times=HOURS_PER_MONTH)


def _fee(
    resource: RecordedResource,
    context: Context,
    *,
    what: str,
    key: str,
    unit: str,
    units: Decimal | Unknown,
    times: Decimal = Decimal(1),
) -> Outcome:
    named = fee_key(key, resource.inputs)
    if named is None:
        stated = " or ".join(slot["path"] for slot in _SLOT.finditer(key) if slot["default"] is None)
        return (context.unpriced(resource, what, f"its kind is not stated ({stated})"),)
    if isinstance(named, Unknown):
        return (context.unpriced(resource, what, "its kind is known only after deployment"),)
    if units == 0:
        return Free("nothing of it is ordered")
    quantity = UNKNOWN if isinstance(units, Unknown) else Interval.exactly(amount(units * times))
    kind = f", {named}" if named != key else ""
    how = "around the clock" if unit == "hour" else ""
    return (context.fee(resource, what=f"{what}{kind}", key=named, unit=unit, quantity=quantity, how=how),)


def keeps(what: str, key: str) -> Pricer:
    """Bills by what it holds, which only a usage file says; `key` as `fee_key` reads it."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        named = fee_key(key, resource.inputs)
        if not isinstance(named, str):
            return (context.unpriced(resource, what, "its kind is known only after deployment"),)
        return stored(resource, context, key=named, what=what)

    return price


def by_use(what: str, **fees: str) -> Pricer:
    """Bills by use: `fees` is measure -> fee. What nobody stated is named outside the totals, each measure of it."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        used = _used(resource, context, fees, {})
        lines = _lines_of_use(resource, context, what, fees, used)
        left = [_words(measure) for measure in fees if measure not in used] if used else [""]
        name = context.graph.component(resource)
        context.outside.extend(
            f"{name}: {what}{f', {words}' if words else ''} ({resource.name}): use not stated, not in totals"
            for words in left
        )
        return lines or Free("billed by use, which is not stated")

    return price


Sizes = Callable[[RecordedResource, "Context"], Mapping[str, Decimal]]


def unstated(what: str, why: str, sizes: Sizes | None = None, /, **fees: str) -> Pricer:
    """Bills by use, and much: unpriced, not outside the totals, where nobody stated the use.

    `sizes` says how much of each measure one instance uses in the same time, where the program says so: one measure
    that is stated gives the others. A measure that neither gives stays unpriced.
    """

    def price(resource: RecordedResource, context: Context) -> Outcome:
        used = _used(resource, context, fees, sizes(resource, context) if sizes is not None else {})
        if not used:
            return (context.unpriced(resource, what, f"{why}; put {' and '.join(fees)} in a usage file"),)
        missing = (measure for measure in fees if measure not in used)
        return (
            *_lines_of_use(resource, context, what, fees, used),
            *(
                context.unpriced(
                    resource, f"{what}, {_words(measure)}", f"{why}; put {measure} in the usage file as well"
                )
                for measure in missing
            ),
        )

    return price


_STATED: Final = "from the usage file"


def _words(measure: str) -> str:
    return measure.replace("_", " ")


def _used(
    resource: RecordedResource, context: Context, fees: Mapping[str, str], sizes: Mapping[str, Decimal]
) -> dict[str, tuple[Interval, str]]:
    """How much of each measure is used: as stated, or by the sizes from one that is."""
    stated = {measure: use for measure in fees if (use := context.usage.of(resource, measure)) is not None}
    used = {measure: (use, _STATED) for measure, use in stated.items()}
    by = next((measure for measure in stated if sizes.get(measure)), None)
    if by is not None:
        for measure in fees:
            if measure not in used and measure in sizes:
                share = stated[by].times(sizes[measure] / sizes[by])
                used[measure] = share, f"from {by} of the usage file, by the sizes in the program"
    return used


def _lines_of_use(
    resource: RecordedResource,
    context: Context,
    what: str,
    fees: Mapping[str, str],
    used: Mapping[str, tuple[Interval, str]],
) -> tuple[LineItem, ...]:
    lines = []
    for measure, key in fees.items():
        if measure not in used:
            continue
        words, named = f"{what}, {_words(measure)}", fee_key(key, resource.inputs)
        if not isinstance(named, str):
            lines.append(context.unpriced(resource, words, "its kind is known only after deployment"))
            continue
        lines.append(
            context.fee(
                resource,
                what=words,
                key=named,
                unit=_words(measure),
                quantity=used[measure][0],
                how=used[measure][1],
                confidence="assumed usage",
            )
        )
    return tuple(lines)


def _no_price(what: str, why: str) -> Pricer:
    """Bills what the program states, at a price that is not known."""
    return lambda resource, context: (context.unpriced(resource, what, why),)


def _when(condition: Callable[[object], object], yes: Pricer, no: Pricer) -> Pricer:
    """One of two, by an input; unpriced where that is not known yet."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        met = condition(resource.inputs)
        if isinstance(met, Unknown):
            return (context.unpriced(resource, "usage, by which it is billed", "known only after deployment"),)
        return (yes if met else no)(resource, context)

    return price


def free(reason: str) -> Pricer:
    """Bills nothing of its own, for this reason."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        del resource, context
        return Free(reason)

    return price


def _says(path: InputPath, *words: str) -> Callable[[object], object]:
    def test(inputs: object) -> object:
        stated = text(get(inputs, *path))
        return stated if isinstance(stated, Unknown) else any(word in stated.lower() for word in words)

    return test


def _plan_is(*tiers: str) -> Callable[[object], object]:
    """Whether an App Service plan is of a tier, which its size says too: "Y1" is the dynamic tier."""

    def test(inputs: object) -> object:
        tier, size = (text(get(inputs, "sku", key)) for key in ("tier", "name"))
        if isinstance(tier, Unknown) or (tier == "" and isinstance(size, Unknown)):
            return UNKNOWN
        return (tier or _PLAN_TIERS.get(str(size).upper(), "")).lower() in tiers

    return test


_TASK: Final = "aws:ecs/taskDefinition:TaskDefinition"
_PODS: Final = {"vcpu_hours": "vcpu_hour", "memory_gigabyte_hours": "memory_gb_hour"}


def _definition(resource: RecordedResource, context: Context) -> Mapping[str, Any]:
    """The inputs of a task's definition: the resource itself, or the one that a service names; empty if unknown."""
    tasks = (resource,) if resource.type == _TASK else context.graph.referenced(resource, "taskDefinition", _TASK)
    return tasks[0].inputs if isinstance(tasks, tuple) and len(tasks) == 1 else {}


def _task_sizes(resource: RecordedResource, context: Context) -> dict[str, Decimal]:
    """What one task takes for an hour; nothing where a size is not known."""
    inputs = _definition(resource, context)
    cpu, memory = task_machines.task_size(inputs, "cpu"), task_machines.task_size(inputs, "memory")
    if not isinstance(cpu, Decimal) or not isinstance(memory, Decimal):
        return {}
    return {"vcpu_hours": cpu / 1024, "memory_gigabyte_hours": memory / 1024}


def _fargate(resource: RecordedResource, context: Context) -> Outcome:
    """Tasks by their use, at the rates of their system and processor."""
    platform = _platform(_definition(resource, context))
    fees = {measure: f"fargate.{platform}{name}" for measure, name in _PODS.items()}
    return unstated("Fargate tasks", "they are billed by their requests", _task_sizes, **fees)(resource, context)


_FARGATE_SCHEDULE: Final = "aws:scheduler/schedule:Schedule"
_RATE: Final = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_MINUTES: Final = {"minute": 1, "hour": 60, "day": 1440}
# Minutes that one run of a scheduled task bills: AWS bills at least one; the middle is an assumption.
_LEAST_MINUTES, _ASSUMED_MINUTES = Decimal(1), Decimal(5)


def _task(resource: RecordedResource, context: Context) -> Outcome:
    """A Fargate task that EventBridge Scheduler starts at a rate: from one minute a run to one run after the other."""
    stated = any(context.usage.of(resource, measure) is not None for measure in _PODS)
    interval = None if stated else _minutes_between(resource, context)
    services = context.graph.referring(resource, "aws:ecs/service:Service", "taskDefinition")
    if isinstance(services, tuple) and services and not stated and interval is None:
        return Free("its tasks are billed with the service that runs them")
    cpu, memory = task_machines.task_size(resource.inputs, "cpu"), task_machines.task_size(resource.inputs, "memory")
    if interval is None or not isinstance(cpu, Decimal) or not isinstance(memory, Decimal):
        return _fargate(resource, context)
    hours = Interval(
        *(
            amount(min(minutes, interval) / interval * HOURS_PER_MONTH)
            for minutes in (_LEAST_MINUTES, _ASSUMED_MINUTES, interval)
        )
    )
    measures = " and ".join(_PODS)
    how = (
        f"a run every {interval} minutes: 1 minute each to always running, {_ASSUMED_MINUTES} assumed; "
        f"put {measures} in a usage file"
    )
    return tuple(
        context.fee(
            resource,
            what=f"scheduled Fargate task, {what}",
            key=f"fargate.{_PODS[measure]}",
            unit=unit,
            quantity=hours.times(amount(each / 1024)),
            how=how,
            confidence="assumed usage",
        )
        for measure, what, unit, each in (
            ("vcpu_hours", "CPU", "vCPU-hour", cpu),
            ("memory_gigabyte_hours", "memory", "GB-hour", memory),
        )
    )


_TASK_STORAGE_GB: Final = 20  # included in a task's price
_SCALING: Final = "aws:appautoscaling/target:Target"


def _tasks(resource: RecordedResource, context: Context) -> Outcome:
    """A service runs as many tasks as it wants around the clock; where something scales it, between its bounds."""
    tasks = context.graph.referenced(resource, "taskDefinition", _TASK)
    scaled = context.graph.referring(resource, _SCALING, "resourceId")
    stated = any(context.usage.of(resource, measure) is not None for measure in _PODS)
    inputs = tasks[0].inputs if isinstance(tasks, tuple) and len(tasks) == 1 else {}
    cpu, memory = task_machines.task_size(inputs, "cpu"), task_machines.task_size(inputs, "memory")
    wanted = number(resource.inputs.get("desiredCount", 0))  # the provider's default: none
    bounds = [wanted, wanted, wanted]
    if isinstance(scaled, tuple) and scaled:
        least, most = (number(scaled[0].inputs.get(key)) for key in ("minCapacity", "maxCapacity"))
        if isinstance(least, Decimal) and isinstance(wanted, Decimal):
            wanted = max(least, wanted)
        bounds = [least, wanted, most]
    sizes = [each for each in (*bounds, cpu, memory) if isinstance(each, Decimal)]
    if stated or isinstance(scaled, Unknown) or len(sizes) < 5 or resource.inputs.get("schedulingStrategy") == "DAEMON":
        return _fargate(resource, context)
    hours = Interval(*(amount(each * HOURS_PER_MONTH) for each in sorted(sizes[:3])))
    shares = _tasks_by_market(resource, sizes[:3])
    if shares is None:
        return (context.unpriced(resource, "Fargate tasks", "how many are on spot is known only after deployment"),)
    lines = [
        context.fee(
            resource,
            what=f"Fargate tasks{' on spot' if market else ''}, {what}",
            key=f"fargate.{market}{_platform(inputs)}{key}",
            unit=unit,
            quantity=tasks.times(amount(each / 1024)),
            how="as many tasks as the service wants, around the clock",
        )
        for market, tasks in shares.items()
        for what, key, unit, each in (
            ("CPU", "vcpu_hour", "vCPU-hour", sizes[3]),
            ("memory", "memory_gb_hour", "GB-hour", sizes[4]),
        )
    ]
    return (*lines, *_beside_tasks(resource, inputs, hours, context))


def _service(resource: RecordedResource, context: Context) -> Outcome:
    fargate = aws_nodes.on_fargate(context.graph, resource)
    if isinstance(fargate, Unknown):
        why = "whether its tasks run on Fargate or on machines is known only after deployment"
        return (context.unpriced(resource, "tasks", why),)
    if fargate:
        return _tasks(resource, context)
    if task_machines.brought(context.graph, resource):
        why = "ECS chooses the machines by what the tasks need, and adds a fee for managing them"
        return (context.unpriced(resource, "ECS Managed Instances", why),)
    if task_machines.elsewhere(context.graph, resource):
        return (context.unpriced(resource, "machines of its GPU tasks", "another program has them"),)
    return _ON_MACHINES(resource, context)


def _tasks_by_market(service: RecordedResource, counts: Sequence[Decimal]) -> dict[str, Interval] | None:
    """Task-hours on demand, "", and on spot, "spot.": the base of a strategy first, then by weight, with half a
    task on demand. None where the strategy is not known.

    Source, from memory: docs.aws.amazon.com/AmazonECS/latest/developerguide/capacity-providers.html.
    """
    strategies = items(service.inputs.get("capacityProviderStrategies"))
    if isinstance(strategies, Unknown):
        return None
    base, weight = {"": Decimal(0), "spot.": Decimal(0)}, {"": Decimal(0), "spot.": Decimal(0)}
    for each in strategies:
        provider = text(get(each, "capacityProvider"))
        first, share = number(get(each, "base", default=0)), number(get(each, "weight", default=0))
        if isinstance(provider, Unknown) or not isinstance(first, Decimal) or not isinstance(share, Decimal):
            return None
        market = "spot." if provider == "FARGATE_SPOT" else ""
        base[market] += first
        weight[market] += share
    whole = weight[""] + weight["spot."]
    spot = []
    for tasks in counts:
        above = max(tasks - base[""] - base["spot."], Decimal(0))
        share = (above * weight["spot."] / whole).to_integral_value(ROUND_HALF_DOWN) if whole else Decimal(0)
        spot.append(min(tasks, base["spot."]) + share)
    hours = {
        "": [each - share for each, share in zip(counts, spot, strict=True)],
        "spot.": spot,
    }
    return {
        market: Interval(*(amount(each * HOURS_PER_MONTH) for each in sorted(tasks)))
        for market, tasks in hours.items()
        if any(tasks)
    }


def _platform(task: object) -> str:
    """What the key of a task's fee has for its system and processor: nothing for Linux on x86."""
    system = str(get(task, "runtimePlatform", "operatingSystemFamily", default="LINUX")).upper()
    processor = str(get(task, "runtimePlatform", "cpuArchitecture", default="X86_64")).upper()
    return "windows." if system.startswith("WINDOWS") else "arm." if processor == "ARM64" else ""


def _beside_tasks(service: RecordedResource, task: object, hours: Interval, context: Context) -> list[LineItem]:
    """Storage of tasks above what is included, and their public addresses."""
    lines = []
    storage = number(get(task, "ephemeralStorage", "sizeInGib"))
    if isinstance(storage, Decimal) and storage > _TASK_STORAGE_GB:
        above = hours.times(storage - _TASK_STORAGE_GB)
        what = f"storage of Fargate tasks above {_TASK_STORAGE_GB} GB"
        lines.append(context.fee(service, what=what, key="fargate.storage_gb_hour", unit="GB-hour", quantity=above))
    if flag(get(service.inputs, "networkConfiguration", "assignPublicIp")) is True:
        lines.append(context.fee(service, what="public IPv4 addresses", key="ipv4.hour", unit="hour", quantity=hours))
    return lines


def _minutes_between(task: RecordedResource, context: Context) -> Decimal | None:
    """Minutes between two runs of a task by the one schedule that starts it at a rate; None where it is not that."""
    schedules = context.graph.referring(task, _FARGATE_SCHEDULE, "target")
    if isinstance(schedules, Unknown) or len(schedules) != 1:
        return None
    inputs = schedules[0].inputs
    rate = _RATE.fullmatch(str(inputs.get("scheduleExpression")))
    count = number(get(inputs, "target", "ecsParameters", "taskCount", default=1))
    if rate is None or inputs.get("state") == "DISABLED" or count != 1:
        return None
    return Decimal(int(rate[1]) * _MINUTES[rate[2]]) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """A row of billed.csv: how one type, or one part of it, is billed, and by which fee of the catalog or one's own."""

    type: str
    billed: Literal["hourly", "monthly", "provisioned", "stored", "used", "used-unpriced", "free"]
    what: str = ""
    fee: str = ""  # as `fee_key` reads it
    when: str = ""  # path of an input without which nothing is billed; "path=word", "path!=word": by its value
    fees: tuple[tuple[str, str], ...] = ()  # by measure of a usage file, of what is billed by use
    inputs: tuple[str, ...] = ()  # paths: the size, and the numbers whose product is billed
    reason: str = ""
    source: str

    def pricer(self) -> Pricer:
        """What prices a resource of the type."""
        billed = self._pricer()
        if not self.when:
            return billed
        path, _, word = self.when.partition("=")
        keys = tuple(path.removesuffix("!").split("."))
        nothing = free("nothing of it is ordered")
        if path.endswith("!"):
            return _when(_is(keys, word), nothing, billed)
        return _when(_is(keys, word) if word else _is_set(keys), billed, nothing)

    def _pricer(self) -> Pricer:
        paths = [tuple(path.split(".")) for path in self.inputs]
        match self.billed:
            case "hourly":
                return standing(self.what, self.fee, *paths)
            case "monthly":
                return standing(self.what, self.fee, *paths, unit="month")
            case "provisioned":
                return holds(self.what, self.fee, *paths)
            case "stored":
                return keeps(self.what, self.fee)
            case "used":
                return by_use(self.what, **dict(self.fees))
            case "used-unpriced":
                return unstated(self.what, self.reason, **dict(self.fees))
            case "free":
                return free(self.reason)


def _is(path: InputPath, word: str) -> Callable[[object], object]:
    def test(inputs: object) -> object:
        stated = text(get(inputs, *path))
        return stated if isinstance(stated, Unknown) else stated.lower() == word

    return test


def _is_set(path: InputPath) -> Callable[[object], object]:
    """Whether an input states something but no."""

    def test(inputs: object) -> object:
        value = get(inputs, *path)
        return value if isinstance(value, Unknown) else value not in (None, "", 0, "0", [], False, "false")

    return test


def _names_one(path: InputPath) -> Callable[[object], object]:
    """Whether an input names another resource, of which the name may be known only after deployment."""
    return lambda inputs: get(inputs, *path) not in (None, "")


def _both(*pricers: Pricer) -> Pricer:
    """The lines of several meters of one resource."""

    def price(resource: RecordedResource, context: Context) -> Outcome:
        outcomes = [pricer(resource, context) for pricer in pricers]
        lines = tuple(line for outcome in outcomes if not isinstance(outcome, Free) for line in outcome)
        return lines or next((outcome for outcome in outcomes if isinstance(outcome, Free)), lines)

    return price


def _keeps_some(*paths: InputPath) -> Callable[[object], object]:
    """Whether a function keeps instances ready, which are billed without a request."""

    def test(inputs: object) -> object:
        least = [number(get(inputs, *path)) for path in paths]
        return UNKNOWN if UNKNOWN in least else any(least)

    return test


_PLAN_TIERS: Final = {"Y1": "Dynamic", "FC1": "FlexConsumption", "F1": "Free"}  # others bill by the hour
_CALLS: Final = by_use(
    "invocations",
    requests="functions.request",
    vcpu_hours="functions.vcpu_hour",
    memory_gigabyte_hours="functions.memory_gb_hour",
)
_READY: Final = unstated(
    "function with instances that stay ready",
    "they are billed around the clock by their CPU and memory",
    vcpu_hours="functions.vcpu_hour",
    memory_gigabyte_hours="functions.memory_gb_hour",
)
_ON_MACHINES: Final = free("runs on priced machines")


def _rows() -> dict[str, Pricer]:
    """What prices each type of billed.csv: all of its rows."""
    rows: dict[str, list[Pricer]] = {}
    for row in csvtables.read(Billed, Path(__file__).parent / "data/billed.csv"):
        rows.setdefault(row.type, []).append(row.pricer())
    return {kind: pricers[0] if len(pricers) == 1 else _both(*pricers) for kind, pricers in rows.items()}


_ROWS: Final = _rows()
_TABLE_CLASS: Final = "{tableClass/standard_infrequent?standard_ia.:}"  # each has prices of its own
_NOTHING: Final = free("nothing of it is ordered")

TABLE: Final[dict[str, Pricer]] = {
    **_ROWS,
    # What is billed depends on an input, which no row can say.
    "aws:ecs/taskDefinition:TaskDefinition": _when(
        _says(("requiresCompatibilities", 0), "fargate"), _task, _ON_MACHINES
    ),
    "aws:ecs/service:Service": _service,
    "aws:dynamodb/table:Table": _when(
        _says(("billingMode",), "pay_per_request"),
        by_use(
            "table requests",
            requests=f"dynamodb.{_TABLE_CLASS}request",
            stored_gigabytes=f"dynamodb.{_TABLE_CLASS}gb_month",
        ),
        _both(
            standing("read capacity of the table", f"dynamodb.{_TABLE_CLASS}read_unit.hour", ("readCapacity",)),
            standing("write capacity of the table", f"dynamodb.{_TABLE_CLASS}write_unit.hour", ("writeCapacity",)),
            _when(
                _is_set(("replicas",)),
                _no_price("capacity of the table's replicas", "each has the table's, at the price of its own region"),
                _NOTHING,
            ),
        ),
    ),
    "aws:elasticsearch/domain:Domain": _both(
        _ROWS["aws:elasticsearch/domain:Domain"],
        _when(
            _is_set(("elasticsearchVersion",)),
            _NOTHING,
            _no_price("extended support of an old version", "no version is stated, and the default is 1.5"),
        ),
    ),
    # Public addresses of a service are billed as every other, those of one's own range are not.
    # Source, read 2026-11-27: aws.amazon.com/blogs/networking-and-content-delivery/
    # identify-and-optimize-public-ipv4-address-usage-on-aws
    "aws:globalaccelerator/accelerator:Accelerator": _both(
        _ROWS["aws:globalaccelerator/accelerator:Accelerator"],
        _when(
            _is_set(("ipAddresses",)),
            _NOTHING,
            standing("public IPv4 addresses, two for each accelerator", "ipv4.hour", ("2",)),
        ),
    ),
    "aws:ec2/vpnConnection:VpnConnection": _both(
        _ROWS["aws:ec2/vpnConnection:VpnConnection"],
        _when(
            _names_one(("transitGatewayId",)), standing("attachment to the transit gateway", "tgw.attachment"), _NOTHING
        ),
        _when(
            _says(("outsideIpAddressType",), "private", "ipv6"),
            _NOTHING,
            standing("public IPv4 addresses, one for each of two tunnels", "ipv4.hour", ("2",)),
        ),
    ),
    "aws:msk/cluster:Cluster": _both(
        _ROWS["aws:msk/cluster:Cluster"],
        _when(
            _says(("brokerNodeGroupInfo", "connectivityInfo", "publicAccess", "type"), "service_provided"),
            standing("public IPv4 addresses, one for each broker", "ipv4.hour", ("numberOfBrokerNodes",)),
            _NOTHING,
        ),
    ),
    "gcp:cloudfunctionsv2/function:Function": _when(_keeps_some(("serviceConfig", "minInstanceCount")), _READY, _CALLS),
    "gcp:cloudfunctions/function:Function": _when(_keeps_some(("minInstances",)), _READY, _CALLS),
    "azure-native:netapp:CapacityPool": _netapp_pool,
    "azure-native:web:AppServicePlan": _when(
        _plan_is("dynamic", "flexconsumption"),
        by_use("executions of its functions", requests="functions.request", gigabyte_seconds="functions.gb_second"),
        _when(
            _plan_is("free"),
            free("the free tier"),
            _when(
                _says(("kind",), "linux"),
                standing("App Service plan", "app_service.linux.{sku.name}", ("sku", "capacity")),
                standing("App Service plan", "app_service.{reserved?linux:windows}.{sku.name}", ("sku", "capacity")),
            ),
        ),
    ),
    "azure-native:cognitiveservices:Deployment": _when(
        _says(("sku", "name"), "provisioned"),
        standing("provisioned throughput units", "openai.ptu.hour", ("sku", "capacity")),
        _ROWS["azure-native:cognitiveservices:Account"],
    ),
}
