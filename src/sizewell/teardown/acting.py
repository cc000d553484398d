"""What a run does with one stack: empties its pools, destroys it, asks what it left. Everything is read again before
each act; the journal has each act before it is begun and after it ended: the next run takes up what was cut off.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sizewell.sizing.errors import SizewellError
from sizewell.sizing.units import plural
from sizewell.teardown import act, processes, saves
from sizewell.teardown.backend import Listed
from sizewell.teardown.gather import StackStatus, StatusReader
from sizewell.teardown.journal import HeldError
from sizewell.teardown.leftovers import Leftover, left_over
from sizewell.teardown.news import without_data
from sizewell.teardown.outcomes import Outcome, Run, saved
from sizewell.teardown.planning import Row, StackPlan
from sizewell.teardown.records import Update
from sizewell.teardown.things import Owner
from sizewell.teardown.units import backup_of, keys_of_backups, remaining, stack_parts

WRITTEN_SINCE: Final = "its state was written after the plan was made: plan again"


def take(run: Run, stack: StackPlan, states: Mapping[Row, str]) -> set[Outcome]:
    """What became of the acts on a stack; `states`: which state of it each of them was planned for."""
    before = len(run.results)
    if not stack.accounts:
        for row in states:
            run.say(row, "held back", "sizewell:accounts is not set, so the login cannot be checked")
        return set()
    if not run.yes:
        for row, state in states.items():
            if held := held_for_data(run, stack, row):
                run.say(row, "held back", held)
            elif state == stack.updated:
                run.say(row, "would", f"{row.why}; --yes does it")
            else:
                run.say(row, "held back", WRITTEN_SINCE)
        return {"would"}
    try:
        lock = run.journal.lock(stack.stack, run.now())
    except HeldError as error:  # another run does it, and says so
        for row in states:
            run.say(row, "held back", str(error).partition("\n")[0], to="")
        return set()
    row = next(iter(states))
    try:
        for row, state in states.items():
            _act(run, row, state, lock.must_hold)
    except HeldError as error:
        run.say(row, "held back", str(error).partition("\n")[0])
    finally:
        lock.release()
    return {result.outcome for result in run.results[before:]}


def _act(run: Run, row: Row, state: str, must_hold: Callable[[datetime], None]) -> None:
    """One act, after everything was read again, on the state that it was planned for."""
    try:
        if old := run.outdated():  # somebody may have protected the stack meanwhile
            run.say(row, "held back", old)
            return
        reader = run.fresh()
        listed = {each.name: each for each in run.backend.stacks()}
        if row.stack not in listed:
            run.say(row, "done", "it is already gone")
            return
        # The plan is minutes or hours old, and may come from a file. What is acted on is read under the lock, by a
        # reader without any earlier answer: a cache here would act on what a person has taken back meanwhile.
        at = run.now()
        status = replace(reader, cache=None).one(listed, row.stack, at)
        if not status.fault and status.updated != state:
            run.say(row, "held back", WRITTEN_SINCE)
            return
        if not _still(run, row, status):
            return
        if status.parts is not None and run.cluster and run.cluster in status.parts.clusters:
            run.say(row, "held back", f"this is running in its cluster {run.cluster}: schedule it elsewhere")
            return
        must_hold(run.now())
        run.keep_timeline(status, at)  # the time of the look: later ones are in nothing that it saw
        if row.action == "empty":
            _empty(run, reader, status, row)
        else:
            _destroy(run, reader, status, row, must_hold)
    except HeldError:
        raise
    except SizewellError as error:
        run.fails(row, str(error))


def _still(run: Run, row: Row, status: StackStatus) -> bool:
    """Whether the act is due at a new look too, by the same clauses as in the plan; else it is held back."""
    verdict = _verdict(status, row.pool)
    if verdict != row.action:
        run.say(row, "held back", f"when checked again it is {verdict}: {_reason(status, row.pool)}")
    return verdict == row.action


def _empty(run: Run, reader: StatusReader, status: StackStatus, row: Row) -> None:
    unit = next(pool.unit for pool in status.pools if pool.pool.name == row.pool)
    cloud = reader.cloud(unit.cloud, status.name)
    run.record("begin", row, process=processes.this(), saves_usd_per_month=saved(row))
    detail = act.empty(cloud, unit)
    end = status.facts.expires_at if status.facts else None
    past = {"past_end": True} if end is not None and run.now().date() >= end else {}
    run.record("done", row, detail=detail, saves_usd_per_month=saved(row), **past)
    run.say(row, "done", detail)


def _destroy(
    run: Run, reader: StatusReader, status: StackStatus, row: Row, must_hold: Callable[[datetime], None]
) -> None:
    assert status.parts is not None and status.facts is not None  # noqa: S101, PT018  (it was read, and is due)
    for cloud in status.parts.clouds:  # the login is the stack's, on each of them
        reader.cloud(cloud, status.name)
    if status.parts.stateful and status.name not in run.data:
        names = [f"{what} {resource.name} ({backup_of(resource)})" for what, resource in status.parts.stateful]
        run.say(row, "held back", without_data(status.name, names))
        return
    proofs = [proof for uri in status.stores for proof in saves.prove(uri)]
    if broken := [proof for proof in proofs if proof.fault]:
        facts = replace(status.facts, unproved=f"{broken[0].uri}: {broken[0].fault}")
        _still(run, row, reader.decided(status, facts, run.now()))
        return
    if proofs and not _still(run, row, run.fresh().one(_listed(run), row.stack, run.now())):
        return  # whole checkpoints take long to read: somebody may have come back meanwhile
    if status.facts.update is not None:  # of an engine that is known to run no more, or it would not be due
        cancel(run, row, status.facts.update)
    # The fence is asked last, after everything that takes long. "begin" is written before the act and has where the
    # stack lies: once its state is empty, that record alone tells the next run where to look for leftovers.
    must_hold(run.now())
    run.record(
        "begin",
        row,
        proofs=[f"{proof.uri} step {proof.step}" for proof in proofs],
        clouds=list(status.parts.clouds),
        regions=list(status.parts.regions),
        clusters=list(status.parts.clusters),
        host=socket.gethostname(),
        process=processes.this(),
        saves_usd_per_month=saved(row),
    )
    if keys := keys_of_backups(reader.state(_listed(run)[status.name])):
        deleter = _deleter(run, reader, status)  # the one that reads does not write states
        act.protect(run.backend, status.name, [key.urn for key in keys], environment=deleter)
    export = run.exports / f"{status.name}-{run.now():%Y%m%dT%H%M%SZ}.json"
    act.destroy(
        run.backend,
        status.name,
        kept=export,
        environment=_deleter(run, reader, status),
        keep=lambda data: run.journal.keep(f"exports/{export.name}", data),
    )
    left = reader.state(_listed(run)[status.name])
    remains = [resource for resource in left.resources if resource.custom and not resource.type.startswith("pulumi:")]
    unkept = [resource.urn for resource in remains if not resource.protect]
    detail = f"its state was kept in {export}; {remaining(remains)}"
    if unkept:
        run.fails(row, f"still in its state: {plural(len(unkept), 'resource')}, such as {unkept[0]}")
        return
    run.record(
        "done",
        row,
        detail=detail,
        saves_usd_per_month=run.journal.begun_saving(row.stack, status.facts.updated_s or 0.0) or saved(row),
        left=[resource.urn for resource in remains],
    )
    run.say(row, "done", detail)
    run.gone.add(row.stack)
    _asked_after(run, reader, status.name, status.beside)


def _listed(run: Run) -> dict[str, Listed]:
    return {each.name: each for each in run.backend.stacks()}


# After a destroy ------------------------------------------------------------------------------------------------------


def after(run: Run, stack: StackPlan) -> None:
    """What stands beside a stack of which nothing stands any more: its end goes once nothing is billed, its images
    on request, its checkpoints never.
    """
    wanted = [f"ttl-{stack.stack}", *([f"images-{stack.stack}"] if stack.stack in run.images else [])]
    if not set(wanted) & set(stack.beside) or not stack.accounts:
        return
    if not run.config.open_at(stack.environment, run.now()):
        return
    if not run.config.acts(stack.environment, "destroy"):
        return
    words = [*run.journal.read().leases(stack.stack), run.config.protection(stack.stack)]
    if any(word is not None and word.until > run.now() for word in words):
        return
    if not run.yes:
        for other in sorted(set(wanted) & set(stack.beside)):
            row = replace(stack.row, stack=other, pool="", action="destroy", why=f"nothing of {stack.stack} remains")
            run.say(row, "would", f"{row.why}; --yes does it once nothing of it is billed")
        return
    try:
        lock = run.journal.lock(stack.stack, run.now())
    except HeldError as error:
        run.say(replace(stack.row, action="destroy"), "held back", str(error).partition("\n")[0])
        return
    try:
        _asked_after(run, run.fresh(), stack.stack, stack.beside)
    finally:
        lock.release()


def _asked_after(run: Run, reader: StatusReader, name: str, beside: Sequence[str]) -> None:
    """Ask the cloud what remains of a destroyed stack, report it with its price, and end the stacks beside it."""
    row = Row(stack=name, pool="", action="destroy", clause="after", why=f"the state of {name} is empty")
    begun = [
        record
        for record in run.journal.read().records
        if record["kind"] == "begin" and record["stack"] == name and "clusters" in record
    ]
    places: Mapping[str, Any] = begun[-1] if begun else {"clouds": (), "regions": (), "clusters": ()}
    try:
        left = [
            each
            for cloud in places["clouds"]
            for each in left_over(
                reader.cloud(cloud, name),
                reader.accounts(name),
                places["regions"],
                Owner(project=run.tag_of(run.project), stack=run.tag_of(name)),
                clusters=places["clusters"],
                catalog=reader.catalog,
                on=run.now().date(),
            )
        ]
    except SizewellError as error:
        why = f"it is not known what it left: {str(error).partition(chr(10))[0]}; ttl-{name} stays"
        run.say(row, "held back", why)
        return
    # The stack that ends it goes last, and not while anything of it is billed: it is the only thing left that would
    # still take the rest away. Without a record of where the stack was, no answer proves that nothing is there.
    for other in (f"ttl-{name}", f"images-{name}"):
        if other not in beside or (other.startswith("images-") and name not in run.images):
            continue
        billing = [each for each in left if each.bills]
        end = replace(row, stack=other)
        if not begun and other.startswith("ttl-"):
            run.say(
                end,
                "held back",
                f"there is no record of where {name} was deployed: make sure that nothing is billed, then destroy it",
            )
        elif billing and other.startswith("ttl-"):
            run.say(end, "held back", f"{name} left resources that are billed: {_listing(billing)}")
        else:
            _end(run, reader, end, name)
    if left:
        run.record("left", row, left=[each.words() for each in left], usd_per_month=_total(left))
        run.say(row, "left over", _listing(left), action="look")


def _end(run: Run, reader: StatusReader, row: Row, name: str) -> None:
    """Destroy a stack beside one that is gone."""
    parts = stack_parts(reader.state(_listed(run)[row.stack]), row.stack)
    if parts.going == 0:
        return
    if parts.stateful or parts.pending:
        run.say(row, "held back", f"{row.stack} holds data, or an update of it was killed: check it by hand")
        return
    run.record("begin", row, process=processes.this())
    export = run.exports / f"{row.stack}-{run.now():%Y%m%dT%H%M%SZ}.json"
    environment = run.config.deleter(reader.accounts(name), parts.environment)
    try:
        act.destroy(
            run.backend,
            row.stack,
            kept=export,
            environment=environment,
            keep=lambda data: run.journal.keep(f"exports/{export.name}", data),
        )
    except SizewellError as error:
        run.fails(row, str(error))
        return
    run.record("done", row, detail=f"its state was kept in {export}")
    run.say(row, "done", f"its state was kept in {export}")


def _deleter(run: Run, reader: StatusReader, status: StackStatus) -> Mapping[str, str]:
    """Settings of the identity that deletes in the stack's account and environment."""
    environment = status.parts.environment if status.parts else ""
    return run.config.deleter(reader.accounts(status.name), environment)


def held_for_data(run: Run, stack: StackPlan, row: Row) -> str:
    """What is said of a destroy, due or to come, that only its owner can let happen; "": it is none."""
    destroys = "destroy" in (row.action, row.next_step) and not row.pool
    held = destroys and stack.data and stack.stack not in run.data
    return without_data(stack.stack, stack.data) if held else ""


def cancel(run: Run, row: Row, update: Update) -> None:
    run.record("cancelled", row, detail=f"{update.by}: {update.over}")
    act.cancel(run.backend, row.stack)


def _listing(left: Sequence[Leftover]) -> str:
    """Leftovers in a line."""
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return "; ".join(each.words() for each in left[:5]) + more


def _total(left: Sequence[Leftover]) -> str:
    """US dollars per month of all; `?` where one of them has no price."""
    known = [each.usd_per_month for each in left if each.usd_per_month is not None]
    return str(sum(known)) if len(known) == len(left) else "?"


def _verdict(status: StackStatus, pool: str) -> str:
    if not pool:
        return status.verdict.action
    return next((each.verdict.action for each in status.pools if each.pool.name == pool), "gone")


def _reason(status: StackStatus, pool: str) -> str:
    if not pool:
        return status.verdict.reason
    return next((each.verdict.reason for each in status.pools if each.pool.name == pool), "it is not in the state")
