"""`sizewell size SPEC --observed FILE`: what a measurement says of the machines, and what the measured load needs; or,
of measured times, how far the prediction was off and what the spec needs at the measured rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizewell.cli import output
from sizewell.cli.answers import document, exit_code, is_decision
from sizewell.sizing.errors import Fault, SpecError, UsageError
from sizewell.sizing.money import Unpriced
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.as_measured import Compared
    from sizewell.sizing.choose.decide import Answer
    from sizewell.sizing.choose.observed import RightSizing, Service
    from sizewell.sizing.workload.measured import Measured
    from sizewell.sizing.workload.read import WorkloadSpec

SAID = {
    "busy": "well used",
    "batching": "a batching problem",
    "oversized": "larger than the load needs",
    "right": "the right size",
}


FIGURES = {"ttft": "first token", "tpot": "each token", "itl": "between tokens", "e2e": "whole answer"}


def run(specs: Sequence[WorkloadSpec], files: Sequence[Path], catalog: Catalog, *, on: date, as_json: bool) -> int:
    """Print the verdict, or predicted beside measured times, and the decision for that; exit code as `size` has it."""
    from sizewell.sizing.choose.observed import read_observed, read_service, right_size
    from sizewell.sizing.workload.measured import kinds, read_all

    if len(specs) != 1:
        raise UsageError("--observed takes one workload\n  fix: name its spec alone")
    pages, others = kinds(files)
    if len(others) > 1:
        raise UsageError(
            f"--observed {others[1]} is a second file of what runs, after {others[0]}\n  fix: put it into one file"
        )
    if pages:
        service = read_service(others[0], catalog) if others else None
        if service is not None and service.workload != specs[0].name:
            message = f"the measurement is of '{service.workload}', the spec is of '{specs[0].name}'"
            raise SpecError([Fault(path="workload", message=message, fix="name the spec that runs there")])
        runs = read_all(pages, between_s=service.between_s if service else None)
        return _compare(specs[0], runs, service, catalog, on=on, as_json=as_json)
    observed = read_observed(others[0], catalog)
    with output.progress(f"sizing {specs[0].name} at the measured load"):
        sized = right_size(specs[0], observed, catalog, on=on)
    now = sized.now_usd_per_month
    if as_json:
        output.print_json(
            {
                "schema": schema_of("right-sizing"),
                "workload": sized.workload,
                "verdict": sized.verdict,
                "findings": sized.findings,
                "now_usd_per_month": None if isinstance(now, Unpriced) else now.amount,
                "saving_usd_per_month": sized.saving_usd_per_month,
                "answer": document(sized.answer),
            }
        )
    else:
        running = f"{observed.running.nodes} x {observed.running.instance_type} in {observed.running.on}"
        _print(sized, running)
    return exit_code([sized.answer])


def _print(sized: RightSizing, running: str) -> None:
    from sizewell.cli import decision_text

    console = output.console()
    now = sized.now_usd_per_month
    price = f"? ({now.reason})" if isinstance(now, Unpriced) else f"{output.dollars(now.amount)} USD a month"
    decision_text.head(console, sized.workload, f"{running}, {price} around the clock: {SAID[sized.verdict]}")
    for finding in sized.findings:
        decision_text.item(console, finding)
    saving = sized.saving_usd_per_month
    if saving is not None:
        word = f"{output.dollars(saving)} USD a month less" if saving > 0 else "nothing cheaper"
        console.print(f"\nsized for what was measured: {word}\n", style="bold")
    else:
        console.print()
    if is_decision(sized.answer):
        decision_text.workload_block(console, sized.answer.workloads[0], sized.answer)
    else:
        decision_text.nothing_fits(console, sized.answer)


def _compare(
    spec: WorkloadSpec, runs: Sequence[Measured], service: Service | None, catalog: Catalog, *, on: date, as_json: bool
) -> int:
    from sizewell.sizing.choose.as_measured import compare

    with output.progress(f"sizing {spec.name}") as tell:
        compared = compare(spec, runs, service, catalog, on=on, tell=tell)
    if as_json:
        output.print_json(_document(compared))
    else:
        _print_compared(compared)
    return exit_code([compared.answer])


def _document(compared: Compared) -> dict[str, Any]:
    pace = compared.pace
    return {
        "schema": schema_of("as-measured"),
        "workload": compared.workload,
        "running": compared.running.says,
        "measurements": [
            {
                "source": run.source,
                "replicas": replicas,
                "requests": run.requests,
                "rps": run.rate,
                "clients": run.clients or None,
                "input_tokens": run.input_tokens,
                "output_tokens": run.output_tokens,
                "prefix": run.prefix,
                "figures": [
                    {
                        "figure": row.figure,
                        "statistic": row.statistic,
                        "predicted_s": row.predicted_s,
                        "measured_s": row.measured_s,
                        "ratio": row.ratio,
                        "at_measured_rates_s": row.paced_s,
                    }
                    for row in rows
                ],
            }
            for run, replicas, rows in compared.runs
        ],
        "rates": {
            "accelerator": pace.accelerator,
            "step": pace.steps,
            "prompt": pace.prompts,
            "wait_s": pace.wait_s,
        },
        "remaining": {"least": compared.residual[0], "most": compared.residual[1]},
        "findings": compared.findings,
        "as_predicted": document(compared.as_predicted),
        "answer": document(compared.answer),
    }


def _print_compared(compared: Compared) -> None:
    from sizewell.cli import decision_text

    console = output.console()
    decision_text.head(console, compared.workload, compared.running.says)
    for run, replicas, rows in compared.runs:
        console.print(f"\n{run.source}", style="bold")
        console.print(_load(run, replicas))
        made = output.table(
            "ms", "", "predicted", "measured", "ratio", "at measured rates",
            right=("predicted", "measured", "ratio", "at measured rates"),
        )  # fmt: skip
        for row in rows:
            figures = [f"{value * 1000:,.1f}" for value in (row.predicted_s, row.measured_s, row.paced_s)]
            made.add_row(FIGURES[row.figure], row.statistic, *figures[:2], f"{row.ratio:.2f} x", figures[2])
        console.print(made)
    console.print()
    least, most = (f"{100 * (value - 1):+.0f}%" for value in compared.residual)
    decision_text.item(
        console,
        f"measured rates: {compared.pace.said()}; with them the figures are {least} to {most} off",
    )
    for finding in compared.findings:
        decision_text.item(console, finding)
    decision_text.item(console, f"as predicted: {_in_short(compared.as_predicted)}")
    decision_text.item(console, f"at the measured rates: {_in_short(compared.answer)}")
    console.print()
    if is_decision(compared.answer):
        decision_text.workload_block(console, compared.answer.workloads[0], compared.answer)
    else:
        decision_text.nothing_fits(console, compared.answer)


def _load(run: Measured, replicas: int) -> str:
    came = f"{plural(run.clients, 'client')} that wait" if run.rate is None else f"{run.rate:.3g} requests/s"
    cached = f", {run.prefix:.0%} of prompt tokens cached" if run.prefix else ""
    return (
        f"{came} on {plural(replicas, 'replica')}; prompts of {run.input_tokens:,.0f} and answers of "
        f"{run.output_tokens:,.0f} tokens at the mean{cached}"
    )


def _in_short(answer: Answer) -> str:
    if not is_decision(answer):
        return "nothing fits"
    workload = answer.workloads[0]
    machines = ", ".join(f"{pool.nodes_max} x {pool.instance_type} in {pool.region}" for pool in workload.pools)
    rate = workload.bill().run_rate
    return f"{machines}, {output.dollars(rate.usd_per_month.expected)} USD a month expected"
