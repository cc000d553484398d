"""Hours of machines whose own schedule says when they run: scheduled actions, autoscaler windows, recurring profiles.

A schedule becomes the size of every minute of a week. Floor: the least size of each minute; expected: the wanted one;
ceiling: the largest size around the clock, because a schedule is easily switched off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.resources.readers import clocks, guards
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Count, Flag, canonical, count, flag, get, items, text
from sizewell.sizing.billing.costing import amount
from sizewell.sizing.money import HOURS_PER_MONTH, WEEKS_PER_MONTH, Interval

if TYPE_CHECKING:
    from sizewell.resources.graph import Graph
    from sizewell.resources.sizes import Size

WEEK: Final = 7 * 1440  # minutes; Monday 00:00 is 0
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CRON_DAYS: Final = ("sun", *_DAYS)  # in cron 0 and 7 are Sunday


@dataclass(frozen=True, slots=True)
class Event:
    """From this minute of the week on, sizes that are stated hold. None: unchanged."""

    minute: int
    least: int | None = None
    wanted: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """From `minute` on, for `length` minutes, at least so many machines."""

    minute: int
    length: int
    least: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What moves a size by the week. `unread` says which part of it is not understood, "" where all is; `most` is the
    largest size that such a part may reach.
    """

    events: tuple[Event, ...] = ()
    windows: tuple[Window, ...] = ()
    unread: str = ""
    most: Count = None

    def hours(self, size: Size) -> tuple[Interval, str] | None:
        """Machine-hours per month of a pool of `size` and why they are weak; None where nothing bounds them.

        Where a part is not understood, it may switch all off, so the floor is zero and the rest as without it.
        """
        bounds = [value for value in (size.most, size.wanted, size.least) if isinstance(value, int)]
        if self.unread or not bounds or UNKNOWN in (size.least, size.wanted, size.most):
            plain = size.hours()
            if plain is None or self.most is UNKNOWN:
                return None
            reach = amount((self.most if isinstance(self.most, int) else 0) * HOURS_PER_MONTH)
            why = f"not in the hours: {self.unread or 'the schedule'}"
            return Interval(Decimal(0), plain[0].expected, max(plain[0].ceiling, reach)), why
        most = size.most if isinstance(size.most, int) else max(bounds)
        lows, runs = self._sizes(size, bounds)
        ceiling = max(most, *runs, *(event.most or 0 for event in self.events))
        floor, run = _per_month(lows), _per_month(runs)
        return Interval(floor, max(floor, run), amount(ceiling * HOURS_PER_MONTH)), ""

    def _sizes(self, size: Size, bounds: list[int]) -> tuple[list[int], list[int]]:
        least = size.least if isinstance(size.least, int) else min(bounds)
        most = size.most if isinstance(size.most, int) else max(bounds)
        wanted = size.wanted if isinstance(size.wanted, int) else least
        minutes = _week(self, least, wanted, most)
        return [low for low, _ in minutes], [run for _, run in minutes]

    def raised(self, size: Size) -> Size:
        """The size of a pool with what its schedule always holds: a schedule that only starts machines leaves none."""
        bounds = [value for value in (size.most, size.wanted, size.least) if isinstance(value, int)]
        if self.unread or not bounds or UNKNOWN in (size.least, size.wanted, size.most):
            return size
        lows, runs = self._sizes(size, bounds)
        least, wanted = min(lows), min(runs)
        return replace(
            size,
            least=max(least, size.least) if isinstance(size.least, int) else size.least,
            wanted=wanted if isinstance(size.wanted, int) and wanted > size.wanted else size.wanted,
        )


def _week(schedule: Schedule, least: int, wanted: int, most: int) -> list[tuple[int, int]]:
    """(least, wanted) of each minute. The week begins as the one before it ended."""
    states: list[tuple[int, int]] = [(least, wanted)] * WEEK
    ordered = sorted(schedule.events, key=lambda event: event.minute)
    for event in [*ordered, *ordered]:  # the first pass finds the state in which a week begins
        least = event.least if event.least is not None else least
        most = event.most if event.most is not None else most
        wanted = min(max(event.wanted if event.wanted is not None else wanted, least), max(most, least))
        later = next((other.minute for other in ordered if other.minute > event.minute), None)
        end = later if later is not None else ordered[0].minute + WEEK
        for minute in range(event.minute, end):
            states[minute % WEEK] = (least, wanted)
    for window in schedule.windows:
        for minute in range(window.minute, window.minute + min(window.length, WEEK)):
            low, run = states[minute % WEEK]
            states[minute % WEEK] = (max(low, window.least), max(run, window.least))
    return states


def _per_month(sizes: list[int]) -> Decimal:
    """Machine-hours per month: what runs all week bills 730 hours, the rest 52/12 weeks.

    >>> _per_month([1] * (70 * 60) + [0] * (98 * 60))
    Decimal('303.3333')
    """
    always = min(sizes)
    more = Decimal(sum(sizes) - always * WEEK) / 60
    return amount(always * HOURS_PER_MONTH + more * WEEKS_PER_MONTH)


def weekly(expression: str) -> tuple[int, ...] | None:
    """The minutes of the week at which a cron expression fires; None where it does not go by the week alone.

    >>> weekly("0 7 * * MON-FRI")[:2], weekly("cron(30 19 ? * FRI *)"), weekly("0 0 1 * *")
    ((420, 1860), (6930,), None)
    """
    fields = expression.strip().removeprefix("cron(").removesuffix(")").split()
    aws = len(fields) == 6  # with a year; days of the week count from Sunday = 1
    if len(fields) not in (5, 6) or any(field not in ("*", "?") for field in (fields[2], fields[3], *fields[5:])):
        return None
    minutes, hours = _field(fields[0], 0, 59), _field(fields[1], 0, 23)
    days = _field(_numbers(fields[4], aws=aws), 0, 7)
    if minutes is None or hours is None or days is None:
        return None
    weekdays = {(day - 1) % 7 for day in days}  # Monday is 0
    return tuple(sorted({d * 1440 + h * 60 + m for d in weekdays for h in hours for m in minutes}))


def _numbers(field: str, *, aws: bool) -> str:
    """Names of days as cron's numbers; AWS's numbers, where Sunday is 1, as cron's, where it is 0."""
    if aws:
        field = re.sub(r"(?<!/)\b[1-7]\b", lambda match: str(int(match[0]) - 1), field)
    for number, name in enumerate(_CRON_DAYS):
        field = re.sub(name, str(number), field, flags=re.IGNORECASE)
    return field


def _field(field: str, low: int, high: int) -> set[int] | None:
    """The values of one field: lists, ranges, steps."""
    numbers: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span in ("*", "?"):
            first, last = str(low), str(high)
        elif step and not last:
            last = str(high)
        if not all(each.isdigit() for each in (first, last or first, step or "1")) or step == "0":
            return None
        start, end = int(first), int(last or first)
        if not low <= start <= high or not low <= end <= high:
            return None
        values = range(start, end + 1) if start <= end else [*range(start, high + 1), *range(low, end + 1)]
        numbers.update(list(values)[:: int(step or 1)])
    return numbers


def least_size(graph: Graph, resource: RecordedResource, size: Size) -> Size:
    """The size of a pool with what the schedules beside it always hold."""
    schedule = schedule_of(graph, resource)
    return size if schedule is None else schedule.raised(size)


def schedule_of(graph: Graph, resource: RecordedResource) -> Schedule | None:
    """The schedule that other resources of the plan give this one; None where there is none."""
    reader = _READERS.get(canonical(resource.type))
    own = reader(graph, resource) if reader is not None else None
    called = _called(graph, resource)
    if called is None and (by := clocks.at_other_times(graph, resource)):
        called = Schedule(unread=by)
    if own is None or called is None:
        return own or called
    reach = _largest((_reach(own), _reach(called)))
    return Schedule(unread=own.unread or called.unread or "schedules of two services", most=reach)


def _called(graph: Graph, resource: RecordedResource) -> Schedule | None:
    """What something calls by the clock: the same calls that a policy takes for a guard."""
    listed = [
        each for each in clocks.calls(graph, resource)
        if each.live is not False and each.ours is not False and each.named
    ]  # fmt: skip
    parts: list[Schedule] = []
    for call in listed:
        minutes = weekly(call.when) if isinstance(call.when, str) else None
        if not call.known or UNKNOWN in (call.live, call.ours):
            parts.append(Schedule(unread="a call by the clock, of which not all is known"))
        elif minutes is None or UNKNOWN in (call.least, call.wanted, call.most):
            parts.append(Schedule(unread=f"a call by the clock ({call.when})", most=call.most))
        else:
            sizes = [each if isinstance(each, int) else None for each in (call.least, call.wanted, call.most)]
            parts.append(Schedule(events=tuple(Event(minute, *sizes) for minute in minutes)))
    if parts and all(each.wanted == 0 or each.most == 0 for each in listed if each.known):
        parts.append(Schedule(unread="it is stopped by the clock, and when it starts again is not stated"))
    return _joined(parts, [each.zone for each in listed])


def _scheduled_actions(graph: Graph, group: RecordedResource) -> Schedule | None:
    actions = graph.referring(group, "aws:autoscaling/schedule:Schedule", "autoscalingGroupName")
    if isinstance(actions, Unknown):
        return Schedule(unread="a scheduled action may apply to it")
    live = [
        each
        for each in actions
        if _runs(graph, each.inputs) is not False
        and not guards.refused(each.inputs, group.inputs.get("scalingConfig", group.inputs))
    ]
    parts = [_ACTIVE_UNREAD if _runs(graph, each.inputs) is UNKNOWN else _action(each.inputs) for each in live]
    return _joined(parts, [each.inputs.get("timeZone") for each in live])


_ACTIVE_UNREAD: Final = Schedule(unread="a schedule whose first or last time is not known")


def _runs(graph: Graph, inputs: object, last: str = "endTime") -> Flag:
    """Whether a schedule goes on; what is over, or begins later than a month from now, moves nothing."""
    return guards.runs(get(inputs, "startTime"), get(inputs, last), graph.expiries.on)


def _action(inputs: Mapping[str, object]) -> Schedule:
    recurrence = inputs.get("recurrence")
    sizes = [_size(inputs.get(key)) for key in ("minSize", "desiredCapacity", "maxSize")]
    minutes = weekly(recurrence) if isinstance(recurrence, str) else None
    if minutes is None or UNKNOWN in sizes:
        when = recurrence if isinstance(recurrence, str) else "that runs once" if recurrence is None else "not known"
        return Schedule(unread=f"a scheduled action {when}", most=sizes[2])
    least, wanted, most = (each if isinstance(each, int) else None for each in sizes)
    return Schedule(events=tuple(Event(minute, least, wanted, most) for minute in minutes))


def _size(value: object) -> int | Unknown | None:
    """-1 leaves a size as it is."""
    size = count(value)
    return None if size == -1 else size


def _scaling_actions(graph: Graph, endpoint: RecordedResource) -> Schedule | None:
    """Application Auto Scaling of a SageMaker endpoint, found by the endpoint's name in what the action scales."""
    name, parts, zones = endpoint.inputs.get("name"), [], []
    for action in graph.of("aws:appautoscaling/scheduledAction:ScheduledAction"):
        target = action.inputs.get("resourceId")
        ours = isinstance(target, str) and isinstance(name, str) and target.startswith(f"endpoint/{name}/")
        if not ours and not (target is UNKNOWN and action.inputs.get("serviceNamespace") == "sagemaker"):
            continue
        if (live := _runs(graph, action.inputs)) is False:
            continue
        sizes = action.inputs.get("scalableTargetAction")
        bounds = {"minSize": get(sizes, "minCapacity"), "maxSize": get(sizes, "maxCapacity")}
        recurs = _action({**bounds, "recurrence": action.inputs.get("schedule")})
        parts.append(_ACTIVE_UNREAD if live is UNKNOWN else recurs)
        zones.append(action.inputs.get("timezone"))
    return _joined(parts, zones)


def _autoscaler_windows(graph: Graph, group: RecordedResource) -> Schedule | None:
    policies: list[object] = []
    for kind in ("gcp:compute/autoscaler:Autoscaler", "gcp:compute/regionAutoscaler:RegionAutoscaler"):
        autoscalers = graph.referring(group, kind, "target")
        if isinstance(autoscalers, Unknown):
            return Schedule(unread="an autoscaler may apply to it")
        policies += [each.inputs.get("autoscalingPolicy") for each in autoscalers]
    stated = [items(get(policy, "scalingSchedules")) for policy in policies]
    if UNKNOWN in stated:
        return Schedule(unread="the autoscaler's schedules")
    live = [
        each for entries in stated if isinstance(entries, tuple) for each in entries
        if each is UNKNOWN or flag(get(each, "disabled")) is not True
    ]  # fmt: skip
    return _joined([_window(each) for each in live], [get(each, "timeZone") for each in live])


def _window(stated: object) -> Schedule:
    expression, seconds = get(stated, "schedule"), count(get(stated, "durationSec"))
    least = count(get(stated, "minRequiredReplicas"))
    minutes = weekly(expression) if isinstance(expression, str) else None
    if minutes is None or not isinstance(seconds, int) or not isinstance(least, int):
        return Schedule(unread="a schedule of the autoscaler", most=least)
    return Schedule(windows=tuple(Window(minute, seconds // 60, least) for minute in minutes))


def _instance_policy(graph: Graph, instance: RecordedResource) -> Schedule | None:
    kind = "gcp:compute/resourcePolicy:ResourcePolicy"
    attached = graph.referenced(instance, "resourcePolicies", kind)
    policies = [each.inputs.get("instanceSchedulePolicy") for each in attached] if isinstance(attached, tuple) else []
    live = [each for each in policies if each is not None and _runs(graph, each, "expirationTime") is not False]
    parts = []
    for policy in live:
        if _runs(graph, policy, "expirationTime") is UNKNOWN:
            parts.append(_ACTIVE_UNREAD)
            continue
        start, stop = (get(policy, key, "schedule") for key in ("vmStartSchedule", "vmStopSchedule"))
        on = weekly(start) if isinstance(start, str) else None
        off = weekly(stop) if isinstance(stop, str) else None
        if not on or not off:
            parts.append(Schedule(unread="an instance schedule that is not weekly"))
            continue
        parts.append(Schedule(events=(*(Event(m, 1, 1, 1) for m in on), *(Event(m, 0, 0, 1) for m in off))))
    return _joined(parts, [get(policy, "timeZone") for policy in live])


def _recurring_profiles(graph: Graph, scale_set: RecordedResource) -> Schedule | None:
    settings = graph.referring(scale_set, "azure-native:monitor:AutoscaleSetting", "targetResourceUri")
    if isinstance(settings, Unknown):
        return Schedule(unread="an autoscale setting may apply to it")
    switched = [(flag(each.inputs.get("enabled"), default=True), each.inputs.get("profiles")) for each in settings]
    profiles = [items(stated) for on, stated in switched if on is not False]
    if UNKNOWN in profiles or any(on is UNKNOWN for on, _ in switched):
        return Schedule(unread="the autoscale setting's profiles")
    recurring = [
        profile for entries in profiles if isinstance(entries, tuple) for profile in entries
        if get(profile, "recurrence") is not None
    ]  # fmt: skip
    zones = [get(profile, "recurrence", "schedule", "timeZone") for profile in recurring]
    return _joined([_profile(profile) for profile in recurring], zones)


def _profile(profile: object) -> Schedule:
    schedule = get(profile, "recurrence", "schedule")
    lists = [items(get(schedule, key)) for key in ("days", "hours", "minutes")]
    sizes = [count(get(profile, "capacity", key)) for key in ("minimum", "default", "maximum")]
    rules = items(get(profile, "rules"))
    if (
        isinstance(rules, Unknown)
        or UNKNOWN in lists
        or UNKNOWN in sizes
        or any(UNKNOWN in each for each in lists if isinstance(each, tuple))
    ):
        return Schedule(unread="a recurring profile")
    days, hours, minutes = (each if isinstance(each, tuple) else () for each in lists)
    names = [text(day).lower()[:3] for day in days]  # type: ignore[union-attr]
    if not names or not all(name in _DAYS for name in names) or not hours:
        return Schedule(unread="a recurring profile")
    least, wanted, most = (each if isinstance(each, int) else None for each in sizes)
    if wanted == least and rules:
        wanted = None  # Azure goes up to the default where metrics are missing, never down to it: what runs, runs on
    return Schedule(
        events=tuple(
            Event(_DAYS.index(name) * 1440 + int(hour) * 60 + int(minute), least, wanted, most)
            for name in names
            for hour in hours
            for minute in minutes or (0,)
        )
    )


def _joined(parts: Iterable[Schedule], zones: Iterable[object]) -> Schedule | None:
    """Several schedules as one; None of none. In different time zones they cannot be laid over each other."""
    parts = list(parts)
    if not parts:
        return None
    if len({str(zone) for zone in zones}) > 1:
        return Schedule(unread="schedules in different time zones", most=_largest(_reach(part) for part in parts))
    return Schedule(
        events=tuple(event for part in parts for event in part.events),
        windows=tuple(window for part in parts for window in part.windows),
        unread=next((part.unread for part in parts if part.unread), ""),
        most=_largest(part.most for part in parts),
    )


def _reach(part: Schedule) -> Count:
    """The largest size that a schedule names."""
    if part.most is UNKNOWN:
        return UNKNOWN
    sizes = [*(event.most for event in part.events), *(window.least for window in part.windows), part.most]
    return max((size for size in sizes if isinstance(size, int)), default=None)


def _largest(sizes: Iterable[Count]) -> Count:
    known = [size for size in sizes if size is not None]
    return UNKNOWN if UNKNOWN in known else max((size for size in known if isinstance(size, int)), default=None)


_READERS: Final = {
    "aws:autoscaling/group:Group": _scheduled_actions,
    "aws:eks/nodeGroup:NodeGroup": _scheduled_actions,  # by the group behind it
    "aws:sagemaker/endpoint:Endpoint": _scaling_actions,
    "gcp:compute/instanceGroupManager:InstanceGroupManager": _autoscaler_windows,
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager": _autoscaler_windows,
    "gcp:compute/instance:Instance": _instance_policy,
    "gcp:compute/instanceFromTemplate:InstanceFromTemplate": _instance_policy,
    "gcp:compute/instanceFromMachineImage:InstanceFromMachineImage": _instance_policy,
    "azure-native:compute:VirtualMachineScaleSet": _recurring_profiles,
}
