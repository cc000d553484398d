"""`sizewell stock`: can it be had now? And what of it `size --in-stock` and `doctor --cloud` go by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import by_cloud, stacks
from sizewell.sizing.errors import ServiceError, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.clouds.stock.rows import Row
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.in_stock import InStock
    from sizewell.sizing.choose.decide import Answer
    from sizewell.sizing.records.decision import Decision
    from sizewell.sizing.workload.read import WorkloadSpec

DESCRIPTION = """Ask the clouds whether the machines of a spec or a stack can be had now, zone by zone.

Reads scores of spot machines, capacity blocks, reservations, restrictions and quotas; changes nothing.
What a cloud says nothing of is "unknown". Answers are kept for five minutes; `sizewell docs needs`
names the rights.
"""
EXAMPLES = """examples:
  sizewell stock chat.yaml                        what it is sized on, and its fallbacks
  sizewell stock prod-aws                         what its decision says
  sizewell stock chat.yaml --account gcp=PROJECT  Google and Azure answer for an account
  sizewell size --stack prod-aws --in-stock       choose what can be had, and the zone

exit code: 0 answered, 5 a pool cannot be had in any zone, 64 bad input, 69 a cloud did not respond
"""
ROUNDS: Final = 6  # of choosing something else
WORDS: Final = {
    "available": "green",
    "likely": "green",
    "uncertain": "yellow",
    "unknown": "yellow",
    "unlikely": "red",
    "unavailable": "bold red",
}
Ask = Callable[["Decision"], "list[Row]"]


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("what", shell_complete=stacks, help="a spec file, - for standard input, or the name of a stack")
@click.option(
    "--account", multiple=True, metavar="CLOUD=ACCOUNT", help="gcp=PROJECT or azure=SUBSCRIPTION, whose stock is asked"
)
@click.option("--fresh", is_flag=True, help="ask anew, not by answers of the last five minutes")
@click.option("--json", is_flag=True, help="print JSON")
def command(args: Arguments) -> int:
    from sizewell.cli.answers import document, is_decision, read_all, size_all
    from sizewell.sizing.catalog import load
    from sizewell.sizing.records.decision import Decision

    accounts, catalog = by_cloud("--account", args.account), load()
    config: Mapping[str, Any] = {}
    if args.what == "-" or Path(args.what).suffix in (".yaml", ".yml") or Path(args.what).is_file():
        today = date.today()  # noqa: DTZ011 - the user's own calendar
        answer = size_all(read_all([Path(args.what)], catalog), catalog, stack=None, on=today)[0]
        if not is_decision(answer):
            output.print_json(document(answer)) if args.json else print(answer)
            return 5
    else:
        root = project.nearest()
        path = project.decision_path(root, args.what) if root else None
        if root is None or path is None or not path.is_file():
            known = ", ".join(each.stem for each in project.decisions(root)) if root else ""
            stack = (
                f"a stack with a decision: {known}" if known else "a stack, once `sizewell size --stack` decided one"
            )
            raise UsageError(
                f"{args.what} is neither a spec file nor a stack with a decision\n  fix: name a file, or {stack}"
            )
        answer, config = Decision.from_json(path), project.config(root, args.what) or {}
    rows = asked(answer, catalog, config, accounts=accounts, fresh=args.fresh)
    _print(rows, answer, as_json=args.json)
    return _code(rows)


def asked(
    decision: Decision,
    catalog: Catalog,
    config: Mapping[str, Any],
    *,
    accounts: Mapping[str, str],
    fresh: bool = False,
    zones: Callable[[str, str], tuple[str, ...]] | None = None,
) -> list[Row]:
    """What the clouds of a decision say of its pools and their fallbacks. UsageError where an account is missing.

    `zones` gives those of a workload in a region that are asked about, in place of the decision's own.
    """
    from sizewell.clouds.preflight.needs import on_cloud, with_fallbacks
    from sizewell.clouds.preflight.versions import LISTINGS
    from sizewell.clouds.stock.asking import Kept, stock

    rows: list[Row] = []
    for cloud in [each for each in CLOUDS if any(p.cloud == each for w in decision.workloads for p in w.pools)]:
        stated = [accounts[cloud]] if cloud in accounts else list(config.get("sizewell:accounts") or ())
        noun = LISTINGS[cloud].account
        if noun and len(stated) != 1:
            ways = f"add --account {cloud}={noun}, or name one in sizewell:accounts of the stack"
            raise UsageError(f"--account: {cloud} answers for one {noun.lower()}, and none is named\n  fix: {ways}")
        needs = on_cloud(cloud, decision, (), catalog, {**config, "sizewell:accounts": stated})
        if zones is not None:
            named = (zones(m.pool.rpartition("-")[0], m.region) for m in needs.machines)
            pools = zip(needs.machines, named, strict=True)
            needs = replace(needs, machines=tuple(replace(m, zones=z) for m, z in pools))
        needs = with_fallbacks(needs, decision, catalog)
        kept = Kept(old=not fresh)
        with output.progress(f"asking {cloud}") as tell:
            rows += stock(needs, kept=kept, begun=lambda name, c=cloud: tell(f"asking {c}: {name[:60]}"))  # type: ignore[misc]
    return rows


def in_stock(
    specs: Sequence[WorkloadSpec], catalog: Catalog, decide: Callable[[Catalog], Answer], ask: Ask
) -> tuple[Answer, list[Row]]:
    """The best answer of what can be had, and what was said of its pools.

    Pools that cannot be had, or hardly, are passed over as long as something else fits; of what nobody knows the best
    is taken as ever. Where nothing but the unlikely is left, that is what is taken.
    """
    from sizewell.cli.answers import is_decision
    from sizewell.clouds.stock.rows import best
    from sizewell.sizing.catalog.in_stock import InStock, PassedOver

    known = InStock(asked_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    rows: list[Row] = []
    unlikely: set[PassedOver] = set()
    for number in range(ROUNDS + 1):
        answer = decide(replace(catalog, in_stock=known))
        if not is_decision(answer):
            if not unlikely:
                break
            left = tuple(each for each in known.passed_over if each not in unlikely)
            known, unlikely = known.model_copy(update={"passed_over": left}), set()
            answer = decide(replace(catalog, in_stock=known))
            rows = _answered(ask(answer)) if is_decision(answer) else rows
            break
        rows = _answered(ask(answer))
        out: dict[PassedOver, Row] = {}
        for pool in {row.pool: row for row in rows}:
            row = best([each for each in rows if each.pool == pool])
            if row.state in ("unlikely", "unavailable"):
                why = f"{row.state}{f' in {row.zone}' if row.zone else ''}: {row.detail}"
                place = {"cloud": row.cloud, "region": row.region, "instance_type": row.instance_type}
                out[PassedOver(**place, market=row.market, why=why)] = row
        if not out or number == ROUNDS:
            break
        unlikely |= {each for each, row in out.items() if row.state == "unlikely"}
        known = known.model_copy(update={"passed_over": (*known.passed_over, *out)})
    if is_decision(answer):
        stated = {spec.name: {place.zone for place in spec.infra if place.zone} for spec in specs}
        oldest = min((row.asked_at for row in rows if row.asked_at), default=known.asked_at)
        known = known.model_copy(update={"asked_at": oldest, "zones": _zones(answer, rows, stated)})
        answer = decide(replace(catalog, in_stock=known))
    return answer, rows


def _answered(rows: Sequence[Row]) -> list[Row]:
    """The rows of a decision's pools. ServiceError where no cloud answered for one of them."""
    for row in _unanswered(rows):
        raise ServiceError(f"--in-stock: {row.pool}: {row.detail}\n  fix: {row.fix}; or leave --in-stock out")
    return [row for row in rows if not row.fallback]


def _unanswered(rows: Sequence[Row]) -> list[Row]:
    """A row of each pool of which nothing was answered."""
    own = [row for row in rows if not row.fallback]
    answered = {row.pool for row in own if not row.failed}
    return list({row.pool: row for row in own if row.pool not in answered}.values())


def _zones(decision: Decision, rows: Sequence[Row], stated: Mapping[str, set[str]]) -> tuple[Any, ...]:
    """The zones that pools take from what was said; those that a spec names stay, and what nobody knows."""
    from sizewell.clouds.stock.rows import BEST_FIRST
    from sizewell.sizing.catalog.in_stock import Zoned

    taken: dict[tuple[str, ...], Zoned] = {}
    for workload in decision.workloads:
        for pool in workload.pools:
            name = f"{workload.spec.name}-{pool.role}"
            kind = (pool.region, pool.instance_type, pool.market)
            own = [r for r in rows if r.pool == name and r.zone and (r.region, r.instance_type, r.market) == kind]
            usable = [row for row in own if row.state not in ("unlikely", "unavailable")]
            usual = CLOUDS[pool.cloud].regions.zone_usual(pool.region) if pool.cloud in CLOUDS else ""
            silent = all(row.state == "unknown" for row in usable) and usual in {row.zone for row in usable}
            if not usable or silent or any(row.failed for row in usable) or stated[workload.spec.name]:
                continue
            several = pool.market == "spot" and workload.kind not in ("training", "fine-tuning")
            number = 2 if several and CLOUDS[pool.cloud].machines.fleets else 1
            ranked = sorted(usable, key=lambda row: (BEST_FIRST.index(row.state), row.zone))
            zones = tuple(row.zone for row in ranked if row.state == ranked[0].state)[:number]
            place = {"cloud": pool.cloud, "region": pool.region, "instance_type": pool.instance_type}
            taken.setdefault((*place.values(), pool.market), Zoned(**place, market=pool.market, zones=zones))
    return tuple(taken.values())


def doubts(rows: Sequence[Row]) -> list[str]:
    """What was chosen although it is not known to be there, one line for each pool."""
    from sizewell.clouds.stock.rows import best

    rows_best = [best([row for row in rows if row.pool == pool]) for pool in dict.fromkeys(row.pool for row in rows)]
    doubtful = [row for row in rows_best if row.state in ("unknown", "unlikely", "unavailable")]
    return [f"{row.pool}: {row.instance_type} is {row.state}: {row.detail}" for row in doubtful]


def said(known: InStock, decision: Decision) -> str:
    """In one line what a decision has from its clouds."""
    over = [f"passes over {e.market} {e.instance_type} in {e.region} ({e.why})" for e in known.passed_over]
    pools = [p for w in decision.workloads for p in w.pools]
    here = [e for e in known.zones if any(e.is_at(p.cloud, p.region, p.instance_type, p.market) for p in pools)]
    zones = [f"{', '.join(e.zones)} for {e.instance_type}" for e in here]
    what = "; ".join([*over, *(f"takes {each}" for each in zones)]) or "the choice is as it would be without"
    return f"{decision.stack or 'this'}, as the clouds said at {known.asked_at}: {what}"


def _code(rows: Sequence[Row]) -> int:
    by_pool = [[row for row in rows if row.pool == pool and not row.fallback] for pool in {row.pool for row in rows}]
    if any(pool and all(row.state == "unavailable" for row in pool) for pool in by_pool):
        return 5
    return 69 if _unanswered(rows) else 0


def _age_s(row: Row) -> int | None:
    if not row.asked_at:
        return None
    return max(round((datetime.now(UTC) - datetime.fromisoformat(row.asked_at)).total_seconds()), 0)


def schema() -> dict[str, Any]:
    """The JSON Schema of `sizewell stock --json`."""
    from pydantic import TypeAdapter

    from sizewell.clouds.stock.rows import Row

    row = TypeAdapter(Row).json_schema()
    row["properties"]["age_s"] = {"type": ["integer", "null"], "description": "seconds since asked_at"}
    row |= {"required": list(row["properties"]), "additionalProperties": False}
    whole = {"schema": {"const": schema_of("stock")}, "stack": {"type": "string", "description": "empty: a spec"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sizewell stock --json",
        "type": "object",
        "properties": {**whole, "rows": {"type": "array", "items": row}},
        "required": ["schema", "stack", "rows"],
        "additionalProperties": False,
    }


def _print(rows: Sequence[Row], decision: Decision, *, as_json: bool) -> None:
    if as_json:
        documents = [{**asdict(row), "age_s": _age_s(row)} for row in rows]
        output.print_json({"schema": schema_of("stock"), "stack": decision.stack, "rows": documents})
        return
    from rich.text import Text

    console = output.console()
    if not rows:
        console.print("its machines already exist: no cloud is asked")
    told = {row.detail for row in rows}
    if rows and len(told) == 1 and all(row.failed for row in rows):
        console.print(f"unknown, all of it: {told.pop()}", soft_wrap=True)
        rows_shown: Sequence[Row] = ()
    else:
        rows_shown = rows
    for (pool, fallback, kind, market, region), group in groupby(
        rows_shown, key=lambda row: (row.pool, row.fallback, row.instance_type, row.market, row.region)
    ):
        own = list(group)
        number = f"{own[0].machines} x {kind}, {market}, {own[0].cloud} {region}"
        console.print(f"{'otherwise' if fallback else pool}: {number}")
        table = output.table("zones", "now", "what is said", "age")
        alike: dict[tuple[str, str, str], list[str]] = {}
        for row in own:
            age = _age_s(row)
            when = "" if age is None else f"{age} s" if age < 120 else f"{age // 60} min"
            alike.setdefault((row.state, row.detail, when), []).append(row.zone or "region")
        for (state, detail, when), zones in alike.items():
            table.add_row(", ".join(zones), Text(state, style=WORDS[state]), detail, when)
        console.print(table)
        sources = dict.fromkeys(source for row in own for source in row.sources)
        console.print(f"  by {', '.join(sources)}\n" if sources else "", soft_wrap=True)
    for fix in dict.fromkeys(row.fix for row in rows if row.fix):
        console.print(f"  fix: {fix}", soft_wrap=True)
