"""docs/reference/decisions.md: forty workloads of all kinds, each with choice, cost, runner-up and one sentence why."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from sizewell.sizing import catalog
from sizewell.sizing.catalog import Catalog
from sizewell.sizing.choose.choice import Sizing, alternatives, many_edge_devices, why_not
from sizewell.sizing.choose.decide import nothing_fits, size_one
from sizewell.sizing.choose.elsewhere import BY_THE_API
from sizewell.sizing.choose.pricing import Option
from sizewell.sizing.choose.workloads import workload_record
from sizewell.sizing.records.decision import Workload
from sizewell.sizing.units import gib, short_duration
from sizewell.sizing.workload.read import parse_spec

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS = ROOT / "docs/reference/workloads.yaml"
ON = date(2026, 11, 22)

NOTES = ("weights in", "scarce", "a run of", "no accelerator", "an adopted cluster")

HEAD = """# Decisions on forty workloads

What `sizewell size` answers to forty workloads of all kinds, with the catalog and prices of {as_of}, decided for {on}.
The specs stand in [workloads.yaml](workloads.yaml); what practitioners published for the same work is named where it is
known. This page is generated; a decision that an experienced engineer would not sign is a fault.
"""


def page() -> str:
    """The page as Markdown."""
    facts = catalog.load()
    text = WORKLOADS.read_text(encoding="utf-8")
    parts = [HEAD.format(as_of=facts.as_of, on=ON.isoformat())]
    for number, row in enumerate(yaml.safe_load(text), start=1):
        known = _with_rates(row["rates"]) if "rates" in row else facts
        spec = parse_spec(yaml.safe_dump({"name": f"workload-{number}", **row["spec"]}), catalog=known)
        section = _section(number, row, size_one(spec, known, stack="", on=ON))
        parts.append(
            section if "burst" not in row else section.rstrip("\n") + "\n" + _burst(number, row["burst"], known)
        )
    return "\n".join(parts)


def _with_rates(rates: list[dict[str, Any]]) -> Catalog:
    """The catalog with rates of the project's own over it."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "rates.yaml").write_text(yaml.safe_dump({"rates": rates}), encoding="utf-8")
        return catalog.load(overlay=Path(folder))


def _burst(number: int, spec: dict[str, Any], facts: Catalog) -> str:
    """The pool in a cloud of a workload whose own machines come first, and its cost at the share expected."""
    named = parse_spec(yaml.safe_dump({"name": f"workload-{number}-burst", **spec}), catalog=facts)
    sizing = size_one(named, facts, stack="", on=ON)
    chosen = sizing.best()
    if chosen is None:
        return f"- burst: nothing fits; {nothing_fits(sizing, None).relax[0]}\n"
    workload = workload_record(sizing, chosen)
    return f"- burst: {_machines(chosen)}, {_cost(workload)}; {_why(workload)}\n"


def _section(number: int, row: dict[str, Any], sizing: Sizing) -> str:
    chosen = sizing.best()
    lines = [f"## {number}. {row['ask']}", ""]
    if chosen is None:
        answer = nothing_fits(sizing, None)
        lines.append("- **Nothing that can be provisioned fits.**")
        lines += [f"- impossible: {wish}" for wish in answer.impossible]
        lines += [f"- nearest: {item.shape}: {item.reason}" for item in answer.nearest[:2]]
        if sizing.options:
            lines.append(f"- sized, and not built: {_machines(sizing.options[0])}")
            lines.append(f"- why: {_why(workload_record(sizing, sizing.options[0]))}")
        lines += [f"- way out: {way}" for way in answer.relax]
    else:
        workload = workload_record(sizing, chosen)
        lines.append(f"- **{_machines(chosen)}**, {_cost(workload)}")
        lines.append(f"- why: {_why(workload)}")
        lines += [f"- runner-up: {text}" for text in _runner_up(sizing, chosen)]
        lines += [f"- {a.nodes} x {a.instance_type}, {a.why_not}" for a in workload.alternatives if a.weights]
        lines += [f"- without an accelerator: {text}" for text in _others(workload, market="on-demand")]
        lines += [f"- priced per token: {text}" for text in _others(workload, market=BY_THE_API)]
        told = [note for note in workload.assumptions if note.startswith(NOTES)]
        lines += [f"- note: {note}" for note in told]
    if "practice" in row:
        lines.append(f"- practitioners: {row['practice']}")
    return "\n".join([*lines, ""])


def _machines(option: Option) -> str:
    shape, deal = option.candidate.shape, option.deal
    return f"{option.fleet.nodes} x {shape.instance_type} ({shape.carries}), {deal.market}, {shape.cloud} {deal.region}"


def _cost(workload: Workload) -> str:
    cost = workload.cost
    rate = workload.bill().run_rate
    said = [f"{rate.usd_per_month.expected:,.0f}{' + ?' if rate.unpriced else ''} USD a month"]
    run = workload.run()
    if run is not None:
        said = [f"{run.usd.expected:,.2f}{' + ?' if run.unpriced else ''} USD a run", *said]
    if cost.per_million_tokens_usd is not None:
        said.append(f"{cost.per_million_tokens_usd:,.2f} USD per million tokens")
    return ", ".join(said)


def _why(workload: Workload) -> str:
    memory, speed = workload.memory, workload.performance
    used = f"{gib(memory.per_device_bytes):.0f} of {gib(memory.usable_bytes):.0f} GiB used"
    figures = speed.figures
    if speed.metric == "run_time_s":
        done = f"takes {short_duration(speed.value)} ({short_duration(speed.low)} to {short_duration(speed.high)})"
    elif speed.metric == "requests_per_s_within_slo":
        done = f"takes {speed.value:.3g} requests/s within its slo, {figures['load_share']:.0%} used"
        if "ttft_s" in figures:
            done += f"; first token {figures['ttft_s'] * 1000:,.0f} ms, each further {figures['tpot_s'] * 1000:.0f} ms"
    else:
        done = "the cheapest that has the memory asked for"
    limit = f", limited by {speed.bottleneck}" if speed.bottleneck not in ("", "none") else ""
    return f"{done}{limit}; {used if memory.breakdown else 'nothing loaded yet'}, {speed.grade}"


def _others(workload: Workload, *, market: str) -> list[str]:
    """What has no accelerator of its own: the CPU machine that would do, or the API that sells the model's tokens."""
    return [
        f"{a.cloud} {a.instance_type}, {a.usd_per_month:,.0f} USD a month: {a.why_not}"
        for a in workload.alternatives
        if not a.accelerator and a.market == market and a.usd_per_month is not None
    ]


def _runner_up(sizing: Sizing, chosen: Option) -> list[str]:
    """The next with another accelerator that can be provisioned, and something that cannot where that is cheaper.

    The chosen accelerator in another machine type stands for it where there is no other accelerator.
    """
    said = []
    used = chosen.candidate.shape.accelerator
    others = [o for o in sizing.options if o.instance_type != chosen.instance_type and not many_edge_devices(o)]
    others.sort(key=lambda o: o.candidate.shape.accelerator == used)  # stable: within each part the order stands
    for kind in (True, False):
        other = next((o for o in others if o.candidate.buildable is kind), None)
        if other is not None:
            said.append(f"{_machines(other)}: {why_not(other, chosen, sizing.need)}")
    if not said:
        said = [f"{a.nodes} x {a.instance_type}: {a.why_not}" for a in alternatives(sizing, chosen)[:1]]
    return said
