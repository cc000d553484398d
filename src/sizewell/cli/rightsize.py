"""`sizewell size SPEC --observed FILE`: what a measurement says of the machines, and what the measured load needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from sizewell.cli import output
from sizewell.cli.answers import document, exit_code, is_decision
from sizewell.sizing.errors import UsageError
from sizewell.sizing.money import Unpriced
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.choose.observed import RightSizing
    from sizewell.sizing.workload.read import WorkloadSpec

SAID = {
    "busy": "well used",
    "batching": "a batching problem",
    "oversized": "larger than the load needs",
    "right": "the right size",
}


def run(specs: Sequence[WorkloadSpec], measured: Path, catalog: Catalog, *, on: date, as_json: bool) -> int:
    """Print the verdict and the decision for the measured load; exit code as `size` has it."""
    from sizewell.sizing.choose.observed import read_observed, right_size

    if len(specs) != 1:
        raise UsageError("--observed takes one workload\n  fix: name its spec alone")
    observed = read_observed(measured, catalog)
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
