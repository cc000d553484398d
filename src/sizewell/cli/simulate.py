"""`sizewell simulate SPEC`: the fleet of a decision under requests one by one, and the smallest fleet that holds."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output
from sizewell.cli.answers import read_all
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import PATH, iso_date, one_form
from sizewell.cli.project import typed
from sizewell.sizing.errors import UsageError
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.sizing.choose.pricing import Option
    from sizewell.sizing.choose.simulated import Day, Deployed, Judged, Load
    from sizewell.sizing.predict.simulation.requests import Requests

DESCRIPTION = """Run requests one by one over the fleet that `size` decides: time to the first token, between tokens and
to the whole answer, what waits and what the cache holds; then the fewest replicas that hold the service level.

Without --requests they arrive as the spec states: as its log has them, at a rate or from users.
"""
EXAMPLES = """examples:
  sizewell simulate chat.yaml
  sizewell simulate chat.yaml --burstiness 4     arrivals in bursts
  sizewell simulate chat.yaml --requests log.csv.gz
  sizewell simulate chat.yaml --requests log.csv --columns at=ts:ms,input=prompt,output=answer
  sizewell simulate chat.yaml --replicas 3 --json
  sizewell simulate chat.yaml --day              replicas over the hours of traffic.daily
  sizewell simulate chat.yaml --html page.html           plots over time

exit code: 0 the fleet holds, 5 it does not, or nothing fits, 64 a spec, a log or the line is wrong
"""
WAITS = (("first token", "ttft_s"), ("between tokens", "tpot_s"), ("whole answer", "e2e_s"))


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("spec", type=PATH, help="spec file of a service, - for standard input")
@click.option("--requests", type=PATH, metavar="FILE", help="a recorded log: CSV or JSON lines, also .gz")
@click.option("--columns", metavar="NAMES", help="names of its columns: at=NAME,input=NAME,output=NAME")
@click.option("--replicas", type=click.IntRange(1, 1024), metavar="N", help="instead of as many as are decided")
@click.option(
    "--burstiness",
    type=click.FloatRange(0, 100),
    metavar="CV",
    help="deviation of the time between arrivals over its mean; 1 is random, 0 a fixed pace (default: spec's, or 1)",
)
@click.option(
    "--cached",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="SHARE",
    help="share of each prompt that the prefix cache holds (default: the spec's, else 0)",
)
@click.option("--day", is_flag=True, help="also the busiest day of traffic.daily, with the autoscaler")
@click.option("--on", type=iso_date, metavar="DATE", help="decide on this date (default: today)")
@click.option("--json", is_flag=True, help="print JSON")
@click.option("--html", type=PATH, metavar="FILE", help="write a page with plots over time; - prints it")
def command(args: Arguments) -> int:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.choose.explain import sized
    from sizewell.sizing.choose.simulated import (
        Load,
        busiest_day,
        deployed,
        fewest,
        judged,
        over_the_day,
        sent_per_s,
        stated_load,
    )
    from sizewell.sizing.workload.architecture import read_at_most

    if args.columns and not args.requests:
        raise UsageError("--columns names the columns of a log\n  fix: give the log with --requests FILE")
    stated = [name for name in ("burstiness", "cached") if getattr(args, name) is not None]
    one_form(html=args.html, json=args.json)
    if args.requests and stated:
        raise UsageError(f"--{stated[0]} is of a generated load; a log has its own\n  fix: leave --{stated[0]} out")
    if args.day and (args.requests or args.replicas):
        other = "requests" if args.requests else "replicas"
        raise UsageError(f"--day is of the spec's own hours and replicas\n  fix: leave --{other} out")
    catalog = load()
    (spec,) = read_all([args.spec], catalog)
    if spec.log is not None and stated:
        raise UsageError(
            f"--{stated[0]} is of a generated load; traffic.requests has its own\n  fix: leave --{stated[0]} out"
        )
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    if spec.kind != "inference":
        raise UsageError(f"{spec.name} is {spec.kind}: requests arrive at services\n  fix: name a spec of inference")
    log = spec.log
    if args.requests:
        from sizewell.sizing.workload.request_log import columns_of, read_log

        with output.progress(f"reading {args.requests}"):
            log = read_log(args.requests, columns_of(args.columns) if args.columns else None)
    with output.progress(f"sizing {spec.name}"):
        _, option = sized(spec, catalog, stack="", on=on)
    if option is None:
        raise NothingToSimulateError(
            f"{spec.name}: nothing fits\n  fix: `sizewell size {typed(str(args.spec))}` says why"
        )
    of = deployed(option)
    if of is None:
        raise UsageError(
            f"{spec.name} answers each request in one go: only services that generate text are simulated\n"
            f"  fix: `sizewell size {typed(str(args.spec))}` sizes it by its closed form"
        )
    if of.arrivals.requests_per_s is None and args.burstiness is not None:
        raise UsageError(
            "--burstiness is of arrivals at a rate; users send when they have read\n  fix: state traffic.rps, or leave "
            "it out"
        )
    if args.day and of.arrivals.week is None:
        raise UsageError("--day needs a load that moves over the day\n  fix: state traffic: {rps: 4, daily: 2.5, ...}")
    day, bursts = None, 1.0
    with output.progress("simulating") as tell:
        refused, remarks = 0, list(log.remarks) if log else []
        if log is not None:
            limit = read_at_most(spec.model, of.job.architecture)
            refused, says = log.refused(limit)
            if refused == len(log.requests):
                raise UsageError(f"{args.requests}: {says}\n  fix: name a model that reads more")
            what, remarks = Load(requests=log.served(limit)), [*remarks, *([says] if says else [])]
        else:
            remarks += [of.arrivals.cut] if of.arrivals.cut else []
            stated_burstiness = of.arrivals.burstiness if args.burstiness is None else args.burstiness
            bursts = 1.0 if stated_burstiness is None else stated_burstiness
            what = stated_load(of, burstiness=bursts, cached=args.cached)
        asked = judged(of, what, args.replicas or of.replicas)
        if args.day:
            rate = sent_per_s(of, asked.e2e_mean_s)
            day = over_the_day(of, busiest_day(of, rate=rate, burstiness=bursts, cached=args.cached))
        holds, fails = fewest(of, what, asked, lambda count: tell(f"simulating {plural(count, 'replica')}"))
        if fails is not None and fails.served.broken is not None:
            fails = judged(of, what, fails.replicas)  # to the last request: by how much it misses
    told = _Told(spec.name, option, of, what, asked, holds, fails, tuple(remarks), refused, day)
    if args.html is not None:
        _write_page(args.html, told)
    elif args.json:
        output.print_json(_document(told))
    else:
        _print(told)
    return 0 if asked.holds and (day is None or day.judged.holds) else 5


@dataclass(frozen=True, slots=True)
class _Told:
    """What the command says."""

    name: str
    option: Option
    of: Deployed
    load: Load
    asked: Judged
    holds: Judged | None
    fails: Judged | None
    remarks: tuple[str, ...]
    refused: int  # of a log, that are longer than the model reads
    day: Day | None = None


class NothingToSimulateError(UsageError):
    """No machine serves the spec at all."""

    exit_code = 5


def _described(requests: Requests) -> dict[str, float | None]:
    """What a load is like: the figures that decide how many replicas it takes; None of too few requests."""
    mean = (requests.seconds - requests.at_s[0]) / max(1, len(requests) - 1)
    spread = math.fsum((b - a - mean) ** 2 for a, b in itertools.pairwise(requests.at_s)) / max(1, len(requests) - 1)
    by_second: dict[int, int] = {}
    for at in requests.at_s:
        by_second[int(at)] = by_second.get(int(at), 0) + 1
    return {
        "requests": len(requests),
        "seconds": requests.seconds,
        "per_s": len(requests) / requests.seconds if requests.seconds else None,
        "peak_per_s": max(by_second.values()),
        "burstiness": math.sqrt(spread) / mean if mean else None,
        "prompt_tokens": statistics.fmean(requests.prompt_tokens),
        "output_tokens": statistics.fmean(requests.output_tokens),
    }


def _nodes(of: Deployed, replicas: int) -> int:
    return math.ceil(replicas / of.per_node)


def _sentence(of: Deployed, holds: Judged | None, fails: Judged | None) -> str:
    if holds is None:
        assert fails is not None  # noqa: S101 - something was tried
        return f"no fleet holds, tried up to {plural(fails.replicas, 'replica')}: {'; '.join(fails.missed)}"
    machines = plural(_nodes(of, holds.replicas), "machine")
    fewer = ""
    if fails is not None:
        fewer = f"; with {fails.replicas}: {'; '.join(fails.missed)}"
    return f"the fewest that hold: {plural(holds.replicas, 'replica')} on {machines}{fewer}"


def _document(told: _Told) -> dict[str, Any]:
    of, load, option, level = told.of, told.load, told.option, told.of.level
    return {
        "schema": schema_of("simulation"),
        "workload": told.name,
        "machine": {"cloud": option.cloud, "region": option.deal.region, "instance_type": option.instance_type},
        "devices_per_replica": of.tensor,
        "decided_replicas": _decided(told),
        "refused": told.refused,
        "load": {"clients": load.clients, "think_s": load.think_s} if load.clients else _described(load.requests),
        "remarks": told.remarks,
        "slo": {
            "percentile": level.percentile,
            "ttft_s": level.ttft_s,
            "tpot_s": level.tpot_s,
            "latency_s": level.e2e_s,
        },
        "result": _result(of, told.asked),
        "fewest": None if told.holds is None else _result(of, told.holds),
        **({"day": _day_document(told, told.day)} if told.day else {}),
        "most_that_fail": None if told.fails is None else _result(of, told.fails),
    }


def _day_document(told: _Told, day: Day) -> dict[str, Any]:
    return {
        **_result(told.of, day.judged),
        "machine_hours": day.machine_hours,
        "machines_by_hour": [max(day.machines[at : at + 60]) for at in range(0, len(day.machines), 60)],
        "ttft_s_by_hour": [None if math.isnan(value) else value for value in day.at_s],
        "machines_usd": day.machine_hours * told.option.usd_per_hour,
        "always_at_peak_usd": day.open_hours * _nodes(told.of, _decided(told)) * told.option.usd_per_hour,
    }


def _day_lines(told: _Told, day: Day) -> list[str]:
    from sizewell.sizing.choose.simulated import sent_per_s

    of, usd = told.of, told.option.usd_per_hour
    peak = _nodes(of, _decided(told))
    most = max((value, hour) for hour, value in enumerate(day.at_s) if not math.isnan(value))
    at = f"p{round(of.level.percentile * 100)}"
    verdict = "holds" if day.judged.holds else f"does not hold: {'; '.join(day.judged.missed)}"
    least, high = min(filter(None, day.machines), default=0), max(day.machines)
    on = f"{f'{least} to ' if least < high else ''}{plural(high, 'machine')}"
    cost = f"{day.machine_hours:,.0f} machine-hours for {day.machine_hours * usd:,.2f} USD"
    every = "every hour" if day.open_hours == 24 else f"each of the {day.open_hours:g} hours of its schedule"
    cost += f" ({day.open_hours * peak * usd:,.2f} with {peak} in {every})"
    whole, worst = _ms(day.judged.ttft_s[of.level.percentile]), f"{most[1]:02d}:00, {_ms(most[0])} ms"
    came = plural(len(day.judged.served.end_s), "request")
    users = []
    if of.arrivals.requests_per_s is None:
        rate = sent_per_s(of, told.asked.e2e_mean_s)
        who = plural(round(of.arrivals.load), "user")
        sent = f"{who} of the busiest hour send {rate:.3g} requests/s, by what they think and wait"
        users = [f"{sent}; the day is simulated at such rates"]
    return [
        *users,
        f"the busiest day, with the autoscaler: {came} on {on}, {cost}",
        f"first token after {whole} ms at {at} of the day; in its worst hour, from {worst}",
        f"the day {verdict}",
    ]


def _result(of: Deployed, of_count: Judged) -> dict[str, Any]:
    served = of_count.served
    return {
        "replicas": of_count.replicas,
        "machines": _nodes(of, of_count.replicas),
        "holds": of_count.holds,
        "missed": of_count.missed,
        **{
            key: {f"p{round(share * 100)}": value for share, value in getattr(of_count, key).items()}
            for _, key in WAITS
        },
        "in_flight_max": served.in_flight_max,
        "waiting_max": served.waiting_max,
        "cache_max": served.cache_max,
        "preempted": served.preempted,
        "refused": served.refused,
        "prefix_hits": served.hit_tokens,
        "busy": served.busy_s / served.seconds / of_count.replicas if served.seconds else 0.0,
    }


def _write_page(file: Path, told: _Told) -> None:
    from sizewell.cli.simulation_page import page
    from sizewell.sizing.predict.performance import serving_load
    from sizewell.sizing.predict.performance.serving import sequences_that_fit

    of = told.of
    closed = None
    if of.arrivals.requests_per_s is not None:
        closed = serving_load.arriving(
            of.replica,
            of.job,
            rate=of.arrivals.requests_per_s / told.asked.replicas,
            fit=sequences_that_fit(of.job, of.cluster, tensor=of.tensor),
            percentile=of.level.percentile,
            pool=told.asked.replicas,
        )
    text = page(
        name=told.name,
        machines=_machines(told),
        load=_load(told),
        remarks=told.remarks,
        of=of,
        asked=told.asked,
        rows=WAITS,
        tried=[each for each in (told.holds, told.fails) if each is not None],
        closed=closed,
    )
    if str(file) == "-":
        print(text, end="")
    else:
        output.write_file(file, [text], "--html")


def _decided(told: _Told) -> int:
    """Replicas of all machines that are decided, the one more for one that is gone among them."""
    of = told.of
    return max(of.replicas, told.option.fleet.nodes * of.per_node) if of.arrivals.spare else of.replicas


def _machines(told: _Told) -> str:
    of, option, asked = told.of, told.option, told.asked
    where = f"{option.instance_type} in {option.cloud} {option.deal.region}"
    decided, spare = _decided(told), of.arrivals.spare
    said = (
        "as decided" if asked.replicas == decided else f"{plural(decided, 'replica')} on {_nodes(of, decided)} decided"
    )
    if spare and asked.replicas == of.replicas:
        said += f", and {'one is' if spare == 1 else f'{spare} are'} gone"
    machines = plural(_nodes(of, asked.replicas), "machine")
    return f"{plural(asked.replicas, 'replica')} of {plural(of.tensor, 'device')} on {machines} {where} ({said})"


def _load(told: _Told) -> str:
    load = told.load
    if load.clients:
        thinks = "thinks" if load.clients == 1 else "think"
        thinking = f" that {thinks} for {load.think_s:g} s at the mean" if load.think_s else ""
        return f"{plural(load.clients, 'user')}{thinking}, {len(load.requests):,} requests{_busiest(told)}"
    made = _described(load.requests)
    minutes = load.requests.seconds / 60
    lasting = f"{minutes:.3g} min" if minutes < 600 else f"{minutes / 60:,.0f} h"
    parts = [f"{plural(len(load.requests), 'request')} in {lasting}{_busiest(told)}"]
    if made["per_s"] is not None:
        parts.append(f"{made['per_s']:.3g}/s, peak second {made['peak_per_s']}")
    if made["burstiness"] is not None:
        parts.append(f"burstiness {made['burstiness']:.1f}")
    return (
        f"{', '.join(parts)}; prompts of {made['prompt_tokens']:,.0f} and answers of {made['output_tokens']:,.0f} "
        "tokens at the mean"
    )


def _busiest(told: _Told) -> str:
    """That a load is that of one hour: `traffic` states the mean of all."""
    arrivals, recorded = told.of.arrivals, told.load.warm_up == 0.0
    return (
        ""
        if arrivals.week is None or recorded
        else f" as in the busiest hour ({arrivals.week.peak:.3g} times the mean)"
    )


def _print(told: _Told) -> None:
    from sizewell.sizing.choose.simulated import PERCENTILES

    console = output.console()
    of, load, asked = told.of, told.load, told.asked
    console.print(f"{told.name}: {_machines(told)}")
    console.print(f"load: {_load(told)}")
    for remark in told.remarks:
        console.print(f"  {remark}", style="yellow")
    level = of.level
    allowed = {"ttft_s": level.ttft_s, "tpot_s": level.tpot_s, "e2e_s": level.e2e_s}
    percentile = f"allowed at p{round(level.percentile * 100)}"
    made_table = output.table(
        "ms", "p50", "p90", "p95", "p99", percentile, right=("p50", "p90", "p95", "p99", percentile)
    )
    for title, key in WAITS:
        figures = getattr(asked, key)
        most = allowed[key]
        late = most is not None and figures and figures[level.percentile] > most
        made_table.add_row(
            title,
            *(_ms(figures[share]) if share in figures else "-" for share in PERCENTILES),
            "-" if most is None else _ms(most),
            style="bold red" if late else "",
        )
    console.print(made_table)
    served = asked.served
    console.print(
        f"at most {served.in_flight_max} in flight on a replica, {served.cache_max:.0%} of its cache, "
        f"{served.waiting_max:,} waiting over all; {served.preempted:,} preempted"
    )
    if load.requests.block_tokens or any(load.requests.cached_tokens[:1]):
        share = served.hit_tokens / sum(load.requests.prompt_tokens)
        console.print(f"{share:.0%} of all prompt tokens were in the prefix cache")
    verdict = "holds" if asked.holds else f"does not hold: {'; '.join(asked.missed)}"
    console.print(f"{plural(asked.replicas, 'replica')}: {verdict}", style="bold" if asked.holds else "bold red")
    console.print(_sentence(of, told.holds, told.fails))
    if told.day is not None:
        for line in _day_lines(told, told.day):
            console.print(line)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.3g}" if seconds < 1 else f"{seconds * 1000:,.0f}"
