"""`make demo`: the main job on the example workloads: no cloud account, no login, no Pulumi CLI.

Sizes the examples, evaluates the real programs of the stacks that follow from the committed decisions, and prints what
they would build, what that costs and what the policies say. Prices are those of the decisions' own date, so that the
figures are the committed ones. Ends with a project of one's own, in a temporary folder; nothing else is written.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from sizewell.cli import judging, main, output, project
from sizewell.sizing.providers import CLOUDS

if TYPE_CHECKING:
    from sizewell.preview.records import Preview, Stack
    from sizewell.resources.recorded import Plan

NEXT = """Next:
  sizewell init shop                            a project of your own: specs, decisions, policies, workflow
  sizewell size examples/chat.yaml              one workload in full: memory, speed, cost, what was rejected and why
  sizewell preview dev-aws                      one stack in full: every component, policy and unpriced line
  sizewell size my.yaml --stack dev-aws         write a decision from a spec of your own; commit it
  pulumi up -s dev-aws                          build it (needs the Pulumi CLI and an account)
"""


def run() -> int:
    from sizewell.preview.pipeline import Request, run_preview, stacks_of

    root = project.root()
    decided_on = max(
        (d.decided_on for s in stacks_of(root) if (d := judging.decision_of(root, s))),
        default=date.today(),  # noqa: DTZ011
    )
    print(f"1. Size the example workloads, at the prices of {decided_on}\n")
    sys.stdout.flush()
    examples = sorted(str(path.relative_to(Path.cwd())) for path in (root / "examples").glob("petsnap-*.yaml"))
    code = main.main(["size", *examples, "--on", decided_on.isoformat()])
    if code not in {0, 2, 3}:
        return code

    plans: dict[str, Plan] = {}
    judge = judging.for_preview(judging.config(None, root), root, decided_on)

    def policies(plan: Plan, decision: object, changes: object, before: Plan | None) -> object:
        plans[plan.stack] = plan
        return judge(plan, decision, changes, before)  # type: ignore[arg-type]

    print("\n2. Evaluate the Pulumi programs of the stacks that follow from the committed decisions\n")
    with output.progress("evaluating the stacks") as tell:
        preview = run_preview(
            Request(root=root, on=decided_on, policies=policies, progress=tell)  # type: ignore[arg-type]
        )
    _print_stacks(preview, plans)
    _print_findings(preview)
    print(
        "\n3. Make a project of your own, in a temporary folder: sizewell init shop --cloud aws ..., sizewell policy\n"
    )
    sys.stdout.flush()
    own = _own_project(decided_on)
    print(f"\n{NEXT}", end="")
    return int(any(stack.failed for stack in preview.stacks)) or own


def _own_project(on: date) -> int:
    """`sizewell init` and the policies of what it made; the exit code of the first that fails."""
    before = Path.cwd()
    day = ["--on", on.isoformat()]
    answers = ["--account", "123456789012", "--owner", "@acme/ml-platform", "--notify", "ml@example.com"]
    with tempfile.TemporaryDirectory(prefix="sizewell-demo-") as folder:
        try:
            os.chdir(folder)
            code = main.main(
                ["init", "shop", "--cloud", next(iter(CLOUDS)), *answers, "--forge", "github", "--offline", *day]
            )
            os.chdir("shop")
            return code or main.main(["policy", *day])
        finally:
            os.chdir(before)


def _print_stacks(preview: Preview, plans: dict[str, Plan]) -> None:
    table = output.table("stack", "would build", "USD/month", "to", "policies", right=("stack", "USD/month", "to"))
    table.columns[0].justify = "left"
    for stack in preview.stacks:
        if stack.stack in plans and not any(resource.custom for resource in plans[stack.stack].resources):
            continue  # a checkpoint stack whose workloads keep no checkpoints
        if stack.failed or stack.after is None:
            table.add_row(stack.stack, stack.failed, "?", "?", "")
            continue
        month = stack.after.usd_per_month
        sign = " + ?" if stack.unpriced else ""
        table.add_row(
            stack.stack,
            _built(plans[stack.stack], stack.coverage.detected),
            f"{month.expected:,.2f}{sign}",
            f"{month.ceiling:,.2f}{sign}",
            _verdict(stack),
        )
    output.console().print(table)
    print("\nUSD/month is the expected run-rate, 'to' the ceiling: all on, all hours; ? where a price is not known.")


def _built(plan: Plan, resources: int) -> str:
    """The components of a plan, and how many resources the preview counts."""
    kinds = Counter(r.type.rsplit(":", 1)[-1] for r in plan.resources if r.type.startswith("sizewell-"))
    names = ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in sorted(kinds.items()))
    return f"{names} ({resources} resources)"


def _verdict(stack: Stack) -> str:
    if stack.policies is None:
        return "not judged"
    failed = sum(1 for f in stack.policies.findings if f.level == "mandatory" and not f.waived)
    advice = sum(1 for f in stack.policies.findings if f.level == "advisory" and not f.waived)
    return f"{stack.policies.passed} pass, {advice} advise" + (f", {failed} FAIL" if failed else "")


def _print_findings(preview: Preview) -> None:
    failed = [
        f"  {stack.stack}: {f.policy}: {f.component}: {f.message}\n    fix: {f.fix}"
        for stack in preview.stacks
        if stack.policies
        for f in stack.policies.findings
        if f.level == "mandatory" and not f.waived
    ]
    if failed:
        print("\nPolicies that failed:")
        print("\n".join(failed))


if __name__ == "__main__":
    sys.exit(run())
