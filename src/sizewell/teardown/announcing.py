"""Whom a run tells of what comes, and of what was done, failed or stands."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sizewell.sizing.errors import ServiceError
from sizewell.teardown import news
from sizewell.teardown.notices import Notice, post
from sizewell.teardown.outcomes import Outcome, Run
from sizewell.teardown.planning import Plan, Row, StackPlan
from sizewell.teardown.records import DAY_S, machines_of
from sizewell.teardown.telling import Channels

LOG: Final = logging.getLogger(__name__)


def send_notices(run: Run, plan: Plan) -> None:
    """Tell owners what comes, where `decide` says that they were not notified of it."""
    for stack in plan.stacks:
        goes = stack.row in stack.taken(run.data) and run.config.acts(stack.environment, stack.row.action)
        for row in stack.rows if not goes else ():  # its pools go with it, without one
            if row.tell and run.yes:
                _tell(run, stack, row, plan.at)
            elif row.tell:
                run.say(row, "would", f"tell {stack.owner or 'its owner'}: {row.why}")


def _due(run: Run, stack: StackPlan, row: Row, at: datetime) -> datetime | None:
    """When what a notice announces is due: its grace runs from the notice, which is sent after the look."""
    rules = run.config.limits().rules(stack.environment)
    if row.next_at is None or rules is None:
        return row.next_at
    if rules.opens(row.next_at - timedelta(seconds=1)) == row.next_at:  # it waits for its hours, not for its grace
        return max(row.next_at, run.now())
    return rules.opens(row.next_at + (run.now() - at)) or row.next_at


def _tell(run: Run, stack: StackPlan, row: Row, at: datetime) -> None:
    row = replace(row, next_at=_due(run, stack, row, at))
    acts = run.config.acts(stack.environment, row.next_step)
    text = notice(stack, row, acts=acts, named=stack.stack in run.data)
    observed = {"observed": row.next_step} if row.next_step and not acts else {}
    try:
        if not _channels(run).receivers(stack.stack).count:
            _unheard(run, row, text)
            return
    except ServiceError as error:
        run.say(row, "failed", f"no notice was delivered: {str(error).partition(chr(10))[0]}", action="notice")
        return
    step = Notice(stack=row.stack, pool=row.pool, about=row.about, text=text)
    heard, failed = _channels(run).to_owner(stack.stack, step)
    if not heard:
        run.say(row, "failed", f"no notice was delivered: {failed[0]}", action="notice")
        return
    status = next((each for each in run.statuses if each.name == row.stack), None)
    run.keep_timeline(status, at)
    due = {"due": row.next_at.isoformat()} if row.next_at is not None else {}
    pools = [each.pool for each in status.pools if row.pool in ("", each.pool.name)] if status else []
    machines = machines_of(pools, at.timestamp())
    there = {} if machines is None else {"machines": sorted(machines)}
    about = {"about": row.about, "episode": row.episode, **observed, **due, **there}
    run.record("notice", row, **about, heard=heard, unheard=failed, text=text)
    run.say(row, "told", "; ".join([text, *(f"not told: {each}" for each in failed)]), action="notice")


def _channels(run: Run) -> Channels:
    return Channels(backend=run.backend, config=run.config, fresh=run.fresh, send=run.send or post)


def _unheard(run: Run, row: Row, text: str) -> None:
    """A notice for which there is nobody: it counts for nothing, and is said once a day."""
    day_ago_s = run.now().timestamp() - DAY_S
    told = run.journal.told(row.stack, row.pool)
    if any(not notice.heard and notice.about == row.about and notice.at_s > day_ago_s for notice in told):
        return
    run.record("notice", row, about=row.about, episode=row.episode, heard=[], unheard=[], text=text)
    why = f"sizewell:notify names no receiver, so nothing follows: {text}"
    run.say(row, "unheard", f"{why}. Next: {news.advice('unheard', 'warn', row.stack)}", action="notice")


# Messages of what was done, failed or stands --------------------------------------------------------------------------


def hear_of_acts(run: Run) -> None:
    """Say what acts became, of this run and of earlier ones that did not live to say it."""
    if run.yes:
        hear(run, news.happened(run.journal.read().records, run.now()))


def hear_of_what_stands(run: Run, plan: Plan) -> None:
    """Say what is not known, warned of and held back."""
    if not run.yes:
        return
    held = [
        (each.stack, each.pool, each.action, f"{each.outcome}: {each.detail}")
        for each in run.results
        if each.outcome in ("held back", "left over", "unheard")
        and each.action != "message"
        and (each.stack, each.pool) not in run.answered
    ]
    hear(run, news.stands(plan, held))
    if (stuck := news.stuck(run.journal.read().records, run.now())) is not None:
        hear(run, [stuck])


def hear(run: Run, what: Sequence[news.News]) -> None:
    """Tell what was not told yet, or not since yesterday. It is noted after it was sent: a run that is killed
    between the two says it twice, and none leaves it out.
    """
    fresh = [
        each
        for each in what
        if (each.stack, each.key) not in run.undelivered and (not run.only or not each.stack or each.stack in run.only)
    ]
    for stack, own in news.unsaid(fresh, run.journal.records, run.now()):
        kinds = {each.kind for each in own}
        about = next(kind for kind in ("failed", "held back", "stopped") if kind in kinds)
        text = news.message(own, run.owners.get(stack, ""))
        calm = about == "stopped"
        heard, failed = _channels(run).to_anybody(Notice(stack=stack, pool="", about=about, text=text, calm=calm))
        row = Row(stack=stack, pool="", action="keep", clause="message", why=about)
        if not heard and (failed or not stack):
            # A stack that was destroyed took its topic with it: no route to its addresses is left, which is no
            # fault of this run. It is tried in each run for some days.
            why = "; ".join(failed) or "teardown.yaml names no operators"
            outcome: Outcome = "unheard" if calm or stack in run.gone else "failed"
            tried = f"tried {own[0].key}"
            if not news.said_today(stack, tried, run.journal.records, run.now()):
                run.say(row, outcome, f"{why}; nobody heard: {text}", action="message")
                if stack:  # it is printed daily, and tried in each run
                    run.record("message", row, keys=[tried], heard=[], unheard=failed, text="")
            if stack:
                run.undelivered |= {(each.stack, each.key) for each in own}
                continue
        elif not heard and not any(each.stack == stack and each.outcome == "unheard" for each in run.results):
            nobody = f"neither sizewell:notify of {stack} nor teardown.yaml names a receiver"
            run.say(row, "unheard", f"{nobody}; nobody heard: {text}", action="message")
        LOG.info("%s: %s; %s", stack or "the operators", text, f"told {', '.join(heard)}" if heard else "unheard")
        keys, keeps = [each.key for each in own], [each.keeps for each in own if each.keeps is not None]
        run.record("message", row, keys=keys, keeps=keeps, heard=heard, unheard=failed, text=text)


def notice(stack: StackPlan, row: Row, *, acts: bool = True, named: bool = False) -> str:
    """The text for an owner, with the command that objects; `acts`: whether the step is taken, or only noted. `named`:
    whether the stack goes with its data, which holds it back otherwise.
    """
    what = f"pool {row.pool} of {row.stack}" if row.pool else f"stack {row.stack}"
    due = f" from {row.next_at:%Y-%m-%d %H:%M} UTC" if row.next_at else ""
    due += " once nothing holds it any more" if row.next_step and not row.next_at else ""
    done = {"empty": "emptied", "destroy": "destroyed"}.get(row.next_step, "")
    held = goes = ""
    if row.next_step == "destroy" and stack.data and not row.pool:
        goes = f"; in a run with --data its data goes too: {', '.join(stack.data[:5])}" if named else ""
        held = "" if named else f"; {news.without_data(stack.stack, stack.data)}"
    if done and not stack.accounts:  # nothing is done before, whatever is due
        held, due = f"{held}; sizewell:accounts is not set, so the login cannot be checked", ""
    verb = "" if not done else f" would be {done}" if held or not acts else f" is {done}"
    object_ = f"sizewell keep {row.stack} 24h --reason TEXT"
    whose = f" ({stack.owner})" if stack.owner else ""
    observed = "" if acts or not done else " This is only observed, and not done: say if it is wrong."
    purpose = "object" if verb else "postpone its end"
    return f"{what}{whose}{verb}{due}: {row.why}{held}{goes}.{observed} To {purpose}: {object_}"
