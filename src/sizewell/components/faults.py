"""Checking a component's arguments: every fault is collected, then all are raised at once."""

import re
from collections.abc import Collection, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any, Self
from zoneinfo import ZoneInfo

from sizewell.components.bounds import Between, Bound, OneOf, bounds_of
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.errors import ArgsError, Fault
from sizewell.sizing.records.registration import GUARD_SHARE, GUARD_WINDOW_S

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DNS = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_OUTPUT = re.compile(r"<pulumi\.output\.Output object at 0x[0-9a-f]+>")
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class Faults:
    """A list of what is wrong with the arguments of one component; `done` raises it."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.found: list[Fault] = []

    @classmethod
    def of(cls, name: str, args: Mapping[str, Any], shape: type) -> Self:
        """The faults of a component's arguments, `shape` their TypedDict, named `<component>Args`.

        What every component refuses is in it: unknown and missing arguments, and those that say whose it is.
        """
        faults = cls(f"{shape.__name__.removesuffix('Args')} {name}")
        faults.unknown_keys(args, shape)
        faults.out_of_bounds(args, shape)
        check_owned(faults, args)
        return faults

    def add(self, path: str, message: str, *, fix: str = "") -> None:
        said = _OUTPUT.sub("an output, whose value a check before the update does not have", message)
        self.found.append(Fault(path=path, message=said, fix=fix))

    def must(self, holds: bool, path: str, message: str, *, fix: str = "") -> bool:
        if not holds:
            self.add(path, message, fix=fix)
        return holds

    def whole_number(self, args: Mapping[str, object], path: str, low: int, high: int, *, fix: str = "") -> bool:
        """An int from `low` to `high`, where more than the argument's type decides what they are."""
        return self.within(path, args.get(path), Between(low, high, fix))

    def one_of(self, args: Mapping[str, object], path: str, allowed: Collection[str], *, fix: str = "") -> bool:
        """One of `allowed`, where more than the argument's type decides what they are."""
        return self.within(path, args.get(path), OneOf(tuple(allowed), fix))

    def within(self, path: str, value: object, bound: Bound) -> bool:
        """Whether a value is in its bound; a wrong word gets the nearest right one as a hint."""
        if bound.holds(value):
            return True
        words = [choice for choice in getattr(bound, "choices", ()) if isinstance(choice, str)]
        close = get_close_matches(str(value), words, n=1)
        allowed = f"{bound.allowed}; did you mean {close[0]}?" if close else bound.allowed
        message = f"must be {allowed}, got {value!r}: {bound.because}" if bound.because else ""
        self.found.append(Fault(path=path, found=value, allowed=allowed, message=message, fix=bound.fix))
        return False

    def out_of_bounds(self, args: Mapping[str, object], shape: type) -> None:
        """Arguments outside of the bounds that `shape` states in their types; what may be left out and is, holds."""
        required: frozenset[str] = getattr(shape, "__required_keys__", frozenset())
        for key, bound in bounds_of(shape).items():
            if key in args or key in required:
                self.within(key, args.get(key, bound.missing), bound)

    def holds(self, *paths: str) -> bool:
        """Whether nothing is wrong with these arguments so far, so that others may be compared with them."""
        return not any(fault.path in paths for fault in self.found)

    def not_in_catalog(self, path: str, machine: object) -> None:
        from sizewell.sizing.catalog import lifetimes, systems

        if (row := systems.retired(str(machine), lifetimes.load())) is not None:
            said = f"is retired since {row.supported_until}, as was known on {row.checked}: {machine!r}"
            self.add(path, said, fix=row.note)
            return
        word = "size" if path.endswith("vm_size") else "type"
        fix = f"add it (`sizewell docs add-a-machine-type`) or name a {word} that `sizewell size` offers"
        self.add(path, f"is not in the catalog: {machine!r}", fix=fix)

    def unknown_keys(self, args: Mapping[str, object], shape: type, path: str = "") -> None:
        """Keys that the TypedDict `shape` does not have, and those that it requires and `args` lacks."""
        known = shape.__annotations__
        at = f"{path}." if path else ""
        for key in args:
            if key not in known:
                close = get_close_matches(str(key), known, n=1)
                self.add(f"{at}{key}", f"is an unknown argument{f'; did you mean {close[0]}?' if close else ''}")
        required: frozenset[str] = getattr(shape, "__required_keys__", frozenset())
        for key in sorted(required - args.keys()):
            self.add(f"{at}{key}", "is missing")

    def done(self) -> None:
        if self.found:
            raise ArgsError(self.found, subject=self.subject)


def check_owned(faults: Faults, args: Mapping[str, Any]) -> None:
    """The arguments that every component has: who owns it, and when it ends."""
    faults.must(bool(args.get("owner")), "owner", "is empty", fix="name the team that pays: owner in the spec")
    expires = args.get("expires")
    if expires is not None:
        try:
            date.fromisoformat(expires)
        except (TypeError, ValueError):
            faults.add("expires", f"must be an ISO date (2026-12-31), got {expires!r}")


def check_counts(faults: Faults, args: Mapping[str, Any], *, highest: int = 1000) -> bool:
    """0 <= nodes_min <= nodes_initial <= nodes_max, and at least one machine at most."""
    right = [
        faults.whole_number(args, "nodes_min", 0, highest),
        faults.whole_number(args, "nodes_initial", 0, highest),
        faults.whole_number(args, "nodes_max", 1, highest),
    ]
    if not all(right):
        return False
    low, now, high = args["nodes_min"], args["nodes_initial"], args["nodes_max"]
    return faults.must(
        low <= now <= high, "nodes_initial", f"must be between nodes_min and nodes_max, got {low} <= {now} <= {high}"
    )


def check_guard(faults: Faults, args: Mapping[str, Any]) -> None:
    """The idle guard: a share of the accelerator, a window and a grace that the cloud's alarms can hold."""
    guard = args.get("guard")
    if guard is None:
        return
    percent, window, grace = guard.get("min_utilization_percent"), guard.get("window_s"), guard.get("grace_s")
    faults.must(
        guard.get("action") in ("scale-to-zero", "notify"),
        "guard.action",
        f"must be scale-to-zero or notify, got {guard.get('action')!r}",
    )
    faults.must(
        isinstance(percent, int | float) and 0 < percent <= 100 * GUARD_SHARE,
        "guard.min_utilization_percent",
        f"must be over 0 and at most 50, got {percent!r}; above that, busy machines would count as idle",
    )
    faults.must(
        isinstance(window, int) and GUARD_WINDOW_S[0] <= window <= GUARD_WINDOW_S[1],
        "guard.window_s",
        f"must be 600 to 43200 (10 minutes to 12 hours), got {window!r}",
    )
    faults.must(
        isinstance(grace, int) and 0 <= grace <= GUARD_WINDOW_S[1],
        "guard.grace_s",
        f"must be 0 to 43200 (at most 12 hours, so that window and grace fit into a day), got {grace!r}",
    )


def check_guardable(faults: Faults, args: Mapping[str, object], *, accelerated: bool) -> None:
    """A guard watches accelerators: a pool without any has none, and nothing would ever call it idle."""
    faults.must(
        accelerated or args.get("guard") is None,
        "guard",
        "is given, but the machines have no accelerator: guards measure accelerators only",
        fix="remove it: replicas follow the requests, and schedule and expiry stop the pool",
    )


def check_schedule(faults: Faults, args: Mapping[str, Any]) -> None:
    """Working hours: an IANA time zone, days mon to sun, 24-hour times, no window over midnight."""
    schedule = args.get("schedule")
    if schedule is None:
        return
    zone = schedule.get("time_zone")
    try:
        ZoneInfo(zone)
    except Exception:  # noqa: BLE001  (ZoneInfo raises five kinds for five ways to be no zone)
        faults.add("schedule.time_zone", f"must be an IANA time zone such as Europe/London, got {zone!r}")
    windows = schedule.get("windows") or []
    faults.must(bool(windows), "schedule.windows", "is empty: machines would never start")
    for number, window in enumerate(windows):
        at = f"schedule.windows[{number}]"
        days = [part.strip() for part in str(window.get("days", "")).lower().replace(",", "-").split("-")]
        faults.must(
            bool(days) and all(day in DAYS for day in days),
            f"{at}.days",
            f"must be days mon to sun, as mon-fri or sat,sun, got {window.get('days')!r}",
        )
        start, end = _minutes(window.get("start")), _minutes(window.get("end"))
        for key, value in (("start", start), ("end", end)):
            faults.must(value is not None, f"{at}.{key}", f"must be a time as 07:00, got {window.get(key)!r}")
        if start is not None and end is not None:
            faults.must(
                start != end,
                at,
                f"must end at another time than it starts, got {window['start']} twice; all day is 00:00 to 24:00",
            )
    faults.must(
        args.get("nodes_min") == 0,
        "nodes_min",
        f"must be 0 with a schedule, got {args.get('nodes_min')!r}: nothing runs outside of its hours",
    )


def check_machines(
    faults: Faults, args: Mapping[str, object], *, disk_gib: tuple[int, int], disk: str, highest: int = 1000
) -> bool:
    """What machines of a pool are on every cloud: their number, guard, hours and disk. Whether the numbers hold."""
    counted = check_counts(faults, args, highest=highest)
    check_guard(faults, args)
    check_schedule(faults, args)
    faults.whole_number(args, "disk_gib", *disk_gib, fix=disk)
    return counted


def check_lasting(faults: Faults, args: Mapping[str, object]) -> None:
    """Checkpoints have no end of their own."""
    message = "must not be set: checkpoints outlive their cluster"
    faults.must("expires" not in args, "expires", message, fix="leave it out")


def check_versions(faults: Faults, args: Mapping[str, Any], locked_days: str, *, because: str) -> None:
    """Old versions of a checkpoint stay for as long as `locked_days` keeps them from being deleted, or longer."""
    if faults.holds(locked_days):
        locked, versions = args.get(locked_days, 7), args.get("versions_days", 30)
        right = isinstance(versions, int) and locked <= versions <= 3650
        message = f"must be {locked_days} ({locked}) to 3650, got {versions!r}: {because}"
        faults.must(right, "versions_days", message)


def check_no_other_way(faults: Faults, args: Mapping[str, object], key: str) -> None:
    """What belongs to another capacity mode is not given."""
    mode = key.replace("_", "-")
    faults.must(
        not args.get(key),
        key,
        f"is given, but capacity_mode is {args['capacity_mode']}: choose exactly one way to get machines",
        fix=f"set capacity_mode: {mode}, or drop the {mode.removeprefix('capacity-')}",
    )


def check_market(faults: Faults, args: Mapping[str, object], machine: str, shape: Shape | None) -> None:
    """A machine type is sold in the market that the capacity mode buys in; what is reserved stands already."""
    mode = str(args["capacity_mode"])
    market = {"queued": "flex-start", "reservation": ""}.get(mode, mode)
    if market and shape is not None and shape.markets:
        sold = ", ".join(sorted(shape.markets))
        faults.must(
            market in shape.markets, "capacity_mode", f"{args[machine]} is not sold as {market}; it is sold as {sold}"
        )


def check_labels(faults: Faults, args: Mapping[str, object], *keys: str) -> None:
    """Names in a Kubernetes cluster."""
    for key in keys:
        value = args.get(key, "default")
        faults.must(bool(DNS.fullmatch(str(value))), key, f"must be a DNS label (a-z, 0-9, -), got {value!r}")


def check_label(faults: Faults, name: object) -> None:
    """A pool's name stands on its machines as a Kubernetes label, by which pods choose them."""
    faults.must(
        isinstance(name, str) and bool(_LABEL.fullmatch(name)),
        "name",
        f"must be 1 to 63 letters, digits, -, _ and ., beginning and ending with a letter or digit, got {name!r}",
    )


def check_offered(faults: Faults, args: Mapping[str, object], machine: str, regions: Collection[str]) -> None:
    """`regions` are those that sell the machine, where the one asked for does not; a reservation may stand anywhere."""
    if args.get("capacity_mode") != "reservation" and regions:
        faults.add(
            "region",
            f"does not sell {machine}: {args.get('region')}; those that do are {', '.join(sorted(regions)[:8])}",
            fix="choose one of them, or another machine",
        )


def _minutes(text: object) -> int | None:
    if not isinstance(text, str) or len(text) != 5 or text[2] != ":" or not (text[:2] + text[3:]).isdigit():
        return None
    hours, minutes = int(text[:2]), int(text[3:])
    return hours * 60 + minutes if (hours < 24 and minutes < 60) or text == "24:00" else None
