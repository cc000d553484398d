"""Names in `teardown.yaml` against what a run sees: stacks, pools, accounts, machine types. Nothing is passed over.

A protection of a stack that does not exist may be meant for one that does, so nothing is stopped until it is mended.
Every other name that matches nothing is said: without it nothing more is stopped than with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from sizewell.sizing.errors import ConfigError, Fault
from sizewell.sizing.records.stackname import cluster_of
from sizewell.sizing.units import plural
from sizewell.teardown.closed import parts_with_more
from sizewell.teardown.config import PATH, TeardownConfig, calendars
from sizewell.teardown.looks import when
from sizewell.teardown.records import until_of

if TYPE_CHECKING:
    from sizewell.teardown.gather import StackStatus, StatusReader

FAR: Final = timedelta(days=730)  # a protection that ends later likely has a wrong year


def must_match(config: TeardownConfig, stacks: Collection[str], at: datetime) -> None:
    """ConfigError for each protection in force of a stack that does not exist."""
    faults = [
        Fault(
            path=f"protected.{name}",
            message=f"no stack {name}, and nothing is stopped while it is not clear which one stays",
            fix=f"{_meant(name, stacks)}; or remove it",
        )
        for name, word in config.protected.items()
        if name not in stacks and until_of(word.until)[0] > at
    ]
    if faults:
        raise ConfigError(faults, subject=PATH)


def remarks(
    reader: StatusReader, stacks: Collection[str], statuses: Sequence[StackStatus], at: datetime, *, every: bool
) -> tuple[str, ...]:
    """What of the configuration matches nothing, or is over, in sentences with its path. `every`: whether the statuses
    are those of every stack.
    """
    config = reader.config
    found = {status.name: status for status in statuses}
    said = [*by_itself(config, at), *_production(config, stacks, found)]
    for name, stated in config.prometheus.items():
        if name not in stacks:
            said.append(f"prometheus.{name}: no stack {name}, so it is asked of none: {_meant(name, stacks)}")
        elif name in found and found[name].parts is not None:
            pools = [pool.unit.name for pool in found[name].pools]
            said += [
                f"prometheus.{name}.pools.{pool}: {name} has no pool {pool}: {_meant(pool, pools, 'pool')}"
                for pool in stated.pools
                if pool not in pools
            ]
    if every:
        accounts = {account for name in stacks for account in reader.accounts(name)}
        for account in config.identities:
            if account not in accounts:
                meant = _meant(account, sorted(accounts), "account")
                said.append(
                    f"identities.{account}: sizewell:accounts of no stack names it, so it is used for none: {meant}"
                )
    known = {shape.instance_type for shape in reader.catalog.shapes}
    known |= {pool.unit.instance_type for status in statuses for pool in status.pools}
    for machine_type in config.idle_power_w:
        if machine_type not in known:
            meant = _meant(machine_type, sorted(known), "machine type")
            said.append(f"idle_power_w.{machine_type}: no machine type {machine_type}, so it says nothing: {meant}")
    return (*(f"{PATH}: {each}" for each in said), *_new(reader), *_astray(reader, stacks, at))


def _new(reader: StatusReader) -> Iterator[str]:
    """That a journal has nothing: it is new, or was lost with what people asked for in it."""
    journal = reader.journal
    if journal is not None and not journal.records and not journal.unread:
        lost = "leases, pauses and notices of an earlier one do not count"
        yield f"{journal.store.uri}: the journal has no records: {lost}"


def _astray(reader: StatusReader, stacks: Collection[str], at: datetime) -> Iterator[str]:
    """Leases and pauses in force of a stack that does not exist: it was renamed, or its name was mistyped."""
    journal = reader.journal
    named = {(record["kind"], record["stack"]) for record in journal.records} if journal else set()
    for kind, name in sorted(named):
        held = journal.longest(kind, name, at) if journal and kind in ("lease", "pause") and name else None
        if held is not None and name not in stacks:
            until = when(until_of(str(held["until"]))[0].timestamp())
            yield f"a {kind} of {name} until {until} keeps nothing: no stack {name}: {_meant(name, stacks)}"


def by_itself(config: TeardownConfig, at: datetime) -> Iterator[str]:
    """What the configuration says that was likely not meant, whatever stacks there are."""
    yield from _protections(config, at)
    for path, calendar in calendars(config):
        parts = parts_with_more(calendar.country, at.year) if calendar.country and not calendar.subdivision else []
        if parts:
            more = f" and {len(parts) - 5} more" if len(parts) > 5 else ""
            kept = f"{calendar.country} closes the holidays of the whole country, and parts of it have others"
            fix = f"add subdivision: {parts[0]} (or {', '.join([*parts[1:5], 'nationwide'])}{more})"
            yield f"{path}.country: {kept}: {fix}"


def _protections(config: TeardownConfig, at: datetime) -> Iterator[str]:
    """Protections that are over, that likely have a wrong year, or whose time leaves something open."""
    for name, word in config.protected.items():
        until, unclear = until_of(word.until)
        if until <= at:
            days = plural((at - until).days, "day")
            over = f"{word.until} was over {days} ago, and protects nothing"
            yield f"protected.{name}.until: {over}: correct it, or remove the entry"
        elif until > at + FAR:
            yield f"protected.{name}.until: {word.until} is {(until - at).days / 365:.0f} years away: check the year"
        elif unclear:
            latest = f"{unclear}, {when(until.timestamp())}"
            yield f"protected.{name}.until: {word.until}: {latest}: add its zone, such as +01:00"


def _production(config: TeardownConfig, stacks: Collection[str], found: dict[str, StackStatus]) -> Iterator[str]:
    for number, name in enumerate(config.production):
        path = f"production[{number}]"
        facts = found[name].facts if name in found else None
        if name not in stacks:
            yield f"{path}: no stack {name}, so it lets none be stopped: {_meant(name, stacks)}"
        elif facts is not None and facts.environment != "prod":
            yield f"{path}: {name} is of {facts.environment} and no production: it is stopped as its environment says"


def _meant(name: str, known: Collection[str], what: str = "stack") -> str:
    """The way out of a name that matches nothing."""
    if what == "stack" and cluster_of(name) in known:
        return f"name {cluster_of(name)}, which it stands beside"
    close = get_close_matches(name, known, 1)
    if close:
        return f"did you mean {close[0]}?"
    listed = sorted(known)[:5]
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return f"{what}s are {', '.join(listed)}{more}" if known else f"there is no {what} yet"
