"""What people hear besides notices of what comes: what was stopped and what that saved, what failed, what is held back
or not known, each with the next step. Pure.

What an act became is read from the journal and not from the run: the next run says it where this one was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal

from sizewell.sizing.records.stackname import cluster_of
from sizewell.teardown import processes
from sizewell.teardown.planning import HOURS_PER_MONTH, Plan, Row
from sizewell.teardown.records import DAILY_S, ends_notice, unannounced
from sizewell.teardown.savings import Stop, stops

DAY: Final = timedelta(days=1)
RECENT: Final = timedelta(days=3)  # what is older is not said any more; a schedule may rest for a weekend
ENDED_AFTER: Final = timedelta(hours=3)  # an act that was begun and has no end by then: as long as its lock holds
STUCK_AFTER: Final = timedelta(hours=20)  # nearly a day, as schedules are late
FLEET: Final = ""  # what concerns no single stack
DATA: Final = "data would be destroyed"  # what `run` says of a destroy that only its owner can let happen


def without_data(stack: str, data: Sequence[str]) -> str:
    """What is said of a destroy that its stack's data holds back, with the way out."""
    way_out = f"save it, then sizewell teardown run {stack} --data {stack} --yes"
    return f"{DATA}: {', '.join(data[:5])}; {way_out}"


# What a person does about a verdict that stops nothing, by its clause.
ADVICE: Final[Mapping[str, str]] = {
    "unread": "repair what the reason names, then `sizewell teardown plan {stack}`",
    "updating": "make sure that no engine works on it, then `pulumi cancel --stack {stack}`",
    "killed": "`sizewell reconcile {stack}` lists and adopts what the update created",
    "unproved": "save a checkpoint again, or let a person judge whether it is needed",
    "unknown": "repair what the reason names, or scale it down by hand",
    "uncounted": "the next run asks again; where this stays, check that the identity that reads may list its machines; "
    "what has no metric, stop by hand",
    "gone": "`pulumi refresh --stack {stack}`, then `pulumi up` or a destroy; `sizewell reconcile {stack}`: leftovers",
    "impossible": "repair or restart the exporter on that machine",
    "latched": "look at the machine: empty it by hand, or restart its driver",
    "requests_wrong": "correct the query `requests` of the stack in stacks/config/teardown.yaml",
    "requests_uncounted": "name a counter under `prometheus: {stack}: requests` in stacks/config/teardown.yaml",
    "unseen": "repair the agent or exporter on that machine, or replace the machine",
    "powered": "repair the exporter, or correct `idle_power_w` in stacks/config/teardown.yaml",
    "contradicted": "repair the exporter that no longer reports it, or replace the machine",
    "job_running": "look at the job: it may hang; end it, and the pool is emptied once idle",
    "queued_long": "end the job, or give it the machines that it waits for",
    "queue_unasked": "name `queued` and `running` under `prometheus: {stack}` in stacks/config/teardown.yaml",
    "prepaid": "give the capacity to other work, or let it end; what was queued for and is idle, scale down by hand",
    "spared": "nothing stops it: scale it down by hand, or change what the reason names",
    "unheard": "name a receiver: `pulumi config set --path 'sizewell:notify.emails[0]' ADDRESS --stack {stack}`, and "
    "commit the file",
    "window": "wait for the hours of its environment, or stop it by hand",
}


def advice(clause: str, action: str, stack: str, pool: str = "") -> str:
    """What a person does next about a row that stops nothing; "": nothing is to be done, or a notice says it.

    >>> advice("killed", "unknown", "dev-aws")
    '`sizewell reconcile dev-aws` lists and adopts what the update created'
    """
    if clause == "uncounted" and not pool:  # of a stack: not yet for long enough to call it empty; runs go on counting
        return ""
    return ADVICE.get(clause, "").replace("{stack}", stack) if action in ("unknown", "warn") else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One thing that the receivers of a stack hear of, once or daily."""

    stack: str  # whose receivers: that of the cluster, for the stacks beside it too; FLEET: the operators
    key: str  # what tells it from everything else of its stack
    text: str
    kind: Literal["stopped", "failed", "held back"]
    daily: bool = True  # else once
    keeps: str | None = None  # the pool that it says stays, "" the stack; None: it says no such thing


def happened(records: Sequence[Mapping[str, Any]], at: datetime) -> list[News]:
    """What acts of the last days became, by the journal."""
    said = _said(records)
    news: dict[tuple[str, str], News] = {}
    for record in records:
        if record["kind"] not in ("done", "failed") or record.get("action") not in _PAST or at - _at(record) > RECENT:
            continue
        each = _done(record) if record["kind"] == "done" else _failed(record)
        if (when := said.get((each.stack, each.key))) is None or when < _at(record):  # a failure of before is over
            news.pop((each.stack, each.key), None)  # of several the newest
            news[each.stack, each.key] = each
    for record in cut_off(records, at):
        if at - _at(record) <= RECENT:
            each = _begun(record)
            news[each.stack, each.key] = each
    for stop in stops(records):
        if stop.acted and stop.ended is not None and at - stop.ended <= RECENT:
            each = _runs_again(stop)
            news[each.stack, each.key] = each
    return list(news.values())


def cut_off(records: Iterable[Mapping[str, Any]], at: datetime) -> list[Mapping[str, Any]]:
    """Acts that were begun, and no end of them will be written any more: whoever began them was killed."""
    begun: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for record in records:
        act = (str(record["stack"]), str(record.get("subject", "")), str(record.get("action", "")))
        if record["kind"] == "begin" and act[2] in _PAST:
            begun[act] = record
        elif record["kind"] in ("done", "failed"):
            begun.pop(act, None)
    return [
        record
        for record in begun.values()
        # the process is known on the machine that it ran on
        if processes.gone(record.get("process")) or at - _at(record) >= ENDED_AFTER
    ]


def stands(plan: Plan, held: Iterable[tuple[str, str, str, str]]) -> list[News]:
    """What is not known, warned of or held back at a look: rows of the plan of which no notice speaks, and the results
    of acts and notices that were held back: (stack, pool, action, why).
    """
    news = []
    for stack in plan.stacks:
        for row in unannounced(stack.row, stack.pools):
            waits = row.next_at if row.clause == "window" else None
            text = f"{_name(row.stack, row.pool)}: {_verdict(row)}: {row.why}"
            text += f"; the next hours begin on {waits:%Y-%m-%d %H:%M} UTC" if waits else ""
            each = _stands(row.stack, row.pool, row.clause, text, row.advice)
            news.append(replace(each, keeps=row.pool if ends_notice(row) else None))
    for stack_name, pool, action, why in held:
        text = f"{_name(stack_name, pool)}: {action}: {why}"
        step = "it is tried again in each run; `sizewell teardown report` lists what was held back"
        # What its owner alone can clear does not wait for a day, whatever held it before.
        what = f"held {action} for its data" if DATA in why else f"held {action}"
        news.append(_stands(stack_name, pool, what, text, step))
    return news


def halted(plan: Plan) -> News:
    """A run that did nothing at all."""
    text = f"nothing is stopped: {plan.halted}. Next: {plan.way_out}."
    return News(stack=FLEET, key="halted", text=text, kind="failed")


def stuck(records: Sequence[Mapping[str, Any]], at: datetime) -> News | None:
    """A schedule that works and does nothing: for a day each act was held back, or its notice had no receiver."""
    if any(
        record["kind"] == "done" and at - _at(record) <= DAY and record.get("action") != "wake" for record in records
    ):
        return None
    idle = [record for record in records if at - _at(record) <= 2 * DAY and _nothing_follows(record)]
    if not idle or at - _at(idle[0]) < STUCK_AFTER or at - _at(idle[-1]) > DAY:
        return None
    names = list(dict.fromkeys(_name(str(record["stack"]), str(record.get("subject", ""))) for record in idle))
    why = dict.fromkeys(
        "nobody was notified" if record["kind"] == "notice" else str(record["detail"]) for record in reversed(idle)
    )
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    text = (
        f"for a day teardown has held back everything that was due: {', '.join(names[:5])}{more}; "
        f"{'; '.join(list(why)[:3])}. Next: `sizewell teardown report`; receivers are named by sizewell:notify, "
        "and for all stacks by `operators` in stacks/config/teardown.yaml."
    )
    return News(stack=FLEET, key="stuck", text=text, kind="held back")


def _nothing_follows(record: Mapping[str, Any]) -> bool:
    if record["kind"] == "held":
        return not record.get("asked")  # of a person, who may ask for anything
    return record["kind"] == "notice" and not record.get("heard")


def unsaid(
    news: Iterable[News], records: Iterable[Mapping[str, Any]], at: datetime
) -> Iterator[tuple[str, list[News]]]:
    """By stack, what its receivers have to hear now. Where something is to be said, everything that stands is said
    with it, so that one message a day is the rule.
    """
    said = _said(records)
    by_stack: dict[str, list[News]] = {}
    for each in news:
        by_stack.setdefault(each.stack, []).append(each)
    for stack, own in by_stack.items():
        last = {each.key: said.get((stack, each.key)) for each in own}
        new = [
            each
            for each in own
            if (when := last[each.key]) is None or (each.daily and (at - when).total_seconds() >= DAILY_S)
        ]
        if new:
            yield stack, [each for each in own if (each.daily and each.kind == "held back") or each in new]


def said_today(stack: str, key: str, records: Iterable[Mapping[str, Any]], at: datetime) -> bool:
    """Whether something of a stack was said within a day."""
    when = _said(records).get((stack, key))
    return when is not None and (at - when).total_seconds() < DAILY_S


def _said(records: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], datetime]:
    """When each thing was said last, by stack and key."""
    return {
        (str(record["stack"]), str(key)): _at(record)
        for record in records
        if record["kind"] == "message"
        for key in record["keys"]
    }


def message(news: Sequence[News], owner: str) -> str:
    """The text of one message."""
    if len(news) == 1:
        return news[0].text
    whose = f" ({owner})" if owner else ""
    head = f"{news[0].stack}{whose}: " if news[0].stack else ""
    return f"{head}{len(news)} things:\n" + "\n".join(f"- {each.text}" for each in news)


# One of each --------------------------------------------------------------------------------------------------------


def _done(record: Mapping[str, Any]) -> News:
    stack, pool, action = str(record["stack"]), str(record["subject"]), str(record["action"])
    text = f"{_name(stack, pool)} was {_PAST[action]} on {_at(record):%Y-%m-%d %H:%M} UTC: {record['why']}."
    if "saves_usd_per_month" in record:
        text += f" {_saves(record['saves_usd_per_month'])}"
    if action == "destroy":
        text += f" {str(record.get('detail', '')).rstrip('.')}. To build it again: pulumi up -s {stack}"
    else:
        first = f"sizewell keep {stack} 7d --reason TEXT, then " if record.get("past_end") else ""  # else refused
        text += f" To start it again: {first}sizewell wake {stack} {pool}"
    return News(stack=cluster_of(stack), key=f"done {record['id']}", text=text, kind="stopped", daily=False)


def _failed(record: Mapping[str, Any]) -> News:
    stack, pool, action = str(record["stack"]), str(record["subject"]), str(record["action"])
    why, _, fix = str(record["detail"]).partition("\n  fix: ")
    step = fix.partition("\n")[0] or "the next run tries it again, after everything else; `sizewell teardown report`"
    doing = {"empty": "emptying", "destroy": "destroying"}[action]
    reason = why.partition("\n")[0]
    text = f"{doing} {_name(stack, pool)} failed on {_at(record):%Y-%m-%d %H:%M} UTC: {reason}. Next: {step}"
    return News(stack=cluster_of(stack), key=f"{_subject(stack, pool)} failed {action}", text=text, kind="failed")


def _begun(record: Mapping[str, Any]) -> News:
    stack, pool, action = str(record["stack"]), str(record["subject"]), str(record["action"])
    step = f"sizewell wake {stack} {pool}" if action == "empty" else f"pulumi up -s {stack}"
    text = (
        f"{_name(stack, pool)}: a run began on {_at(record):%Y-%m-%d %H:%M} UTC and was killed before it noted that it "
        f"was {_PAST[action]}: {record['why']}. Next: see what runs with `sizewell teardown plan {stack}`; to bring it "
        f"back: {step}"
    )
    return News(stack=cluster_of(stack), key=f"begun {record['id']}", text=text, kind="failed", daily=False)


def _runs_again(stop: Stop) -> News:
    assert stop.ended is not None  # noqa: S101  (asked of those alone)
    hours = (stop.ended - stop.at).total_seconds() / 3600
    saved = "at a rate that nobody knows"
    if stop.usd_per_hour is not None:
        saved = f"which saved {stop.usd_per_hour * Decimal(hours):,.2f} USD"
    name = _name(stop.stack, stop.pool)
    text = f"{name} runs or is used again: it was {_PAST[stop.action]} for {hours:,.1f} hours, {saved}"
    return News(
        stack=cluster_of(stop.stack),
        key=f"{_subject(stop.stack, stop.pool)} again {stop.at.isoformat()}",
        text=text,
        kind="stopped",
        daily=False,
    )


def _stands(stack: str, pool: str, what: str, text: str, step: str) -> News:
    text = f"{text}. Next: {step}" if step else text
    return News(stack=cluster_of(stack), key=f"{_subject(stack, pool)} {what}", text=text, kind="held back")


_PAST: Final = {"empty": "emptied", "destroy": "destroyed"}


def _saves(usd_per_month: object) -> str:
    try:
        hourly = Decimal(str(usd_per_month)) / HOURS_PER_MONTH
    except ArithmeticError:
        return "What that saves is not known."
    if round(hourly, 2) == 0:
        return "Nothing of it that is priced was running."
    return f"That saves {hourly:,.2f} USD for each hour that it does not run."


def _verdict(row: Row) -> str:
    return "nobody can tell, so it is kept" if row.action == "unknown" else "not stopped"


def _name(stack: str, pool: str) -> str:
    return f"pool {pool} of {stack}" if pool else f"stack {stack}"


def _subject(stack: str, pool: str) -> str:
    return f"{stack}/{pool}" if pool else stack


def _at(record: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(record["at"])).astimezone(UTC)
