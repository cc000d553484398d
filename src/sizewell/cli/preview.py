"""`sizewell preview`: what a change costs, buys and destroys, before it is built."""

from __future__ import annotations

import argparse
import gc
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from sizewell.cli import judging, output, project
from sizewell.cli.answers import iso_date, max_age_s
from sizewell.sizing.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sizewell.preview.records import Preview

DESCRIPTION = """Preview stacks: run-rate with floor, expected and ceiling, purchases, what is destroyed, policies.

The stack's program runs in this process against a recorder: no Pulumi CLI, no account, nothing
built. With --base the same stacks at another git revision are the "before".
"""
EXAMPLES = """examples:
  sizewell preview dev-aws                        what the stack costs
  sizewell preview --base main --format markdown  this branch as a pull-request comment
  sizewell preview dev-aws --base-state state.json  against `pulumi stack export`
  sizewell preview --plan plan.json               from `pulumi preview --json`, of any program

exit code: 0 fine, 1 a policy failed, 2 over a budget or guardrail, 3 something is unpriced,
4 prices too old (--max-age), 64 wrong usage or file, 69 a program failed
"""
FORMATS: Final = ("terminal", "markdown", "json", "html", "focus")
_PIECE: Final = 1 << 20
GUARDRAILS: Final = "stacks/config/guardrails.yaml"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("stack", nargs="*", metavar="STACK", help="stacks (default: all)")
    add("--base", metavar="REF", help="compare with this git revision")
    add("--base-state", type=Path, metavar="FILE", help="compare with the output of `pulumi stack export`")
    add("--plan", type=Path, action="append", default=[], metavar="FILE", help="read `pulumi preview --json` instead")
    add("--engine", choices=("auto", "offline", "pulumi"), default="auto", help="what evaluates the program (auto)")
    add("--format", choices=FORMATS, default="terminal", help="how to print it (terminal)")
    add("--json", action="store_const", const="json", dest="format", help="as --format json")
    add("--output", type=Path, metavar="FILE", help="write there instead of printing")
    add("--usage", type=Path, metavar="FILE", help="usage that no resource states: egress, requests, growth")
    add("--discounts", type=Path, metavar="FILE", help="own rates and commitments")
    add("--guardrails", type=Path, metavar="FILE", help=f"limits on a change ({GUARDRAILS})")
    add("--unblock", default="", metavar="REASON", help="let a broken guardrail pass, with the reason on record")
    add("--policies", type=Path, metavar="FILE", help=f"policy configuration ({judging.DEFAULT_CONFIG})")
    add("--new-only", action="store_true", help="findings that the base has as well do not fail")
    add("--max-age", metavar="AGE", help="exit 4 if the newest price is older, such as 30d")
    add("--on", type=iso_date, metavar="DATE", help="use the prices of this day (default: today)")


def run(args: argparse.Namespace) -> int:
    gc.disable()  # importing provider modules makes millions of objects that live to the end: a tenth of the time
    from sizewell.policy.config import DEFAULT_FILE
    from sizewell.preview.base import file_at
    from sizewell.preview.guardrails import NO_LIMITS, parse_limits, read_limits
    from sizewell.preview.pipeline import Request, run_preview, stacks_of

    root = Path.cwd() if args.plan else project.root()
    if not args.plan and args.base is None:
        project.must_be_stacks(args.stack, stacks_of(root))
    for flag in ("base_state", "usage", "discounts"):
        path = getattr(args, flag)
        if path is not None and not path.is_file():
            raise UsageError(f"--{flag.replace('_', '-')}: {path}: no such file")
    own = root / GUARDRAILS
    limits = read_limits(args.guardrails or own) if args.guardrails or own.exists() else NO_LIMITS
    settings = judging.config(args.policies, root)
    judge: list[str] = []
    if args.base and not args.unblock:  # who changes the judge is judged by the one that stood
        for name, stated in ((GUARDRAILS, args.guardrails), (judging.DEFAULT_CONFIG, args.policies)):
            text = None if stated else file_at(root, args.base, name)
            if stated or text == _text(root / name):
                continue
            judge.append(
                f"{name} changes here; the one of {args.base[:40]} judges until the change is approved or merged"
            )
            if name == GUARDRAILS:
                limits = NO_LIMITS if text is None else parse_limits(_yaml(text, name), f"{name} at {args.base}")
            else:
                origin = f"{name} at {args.base}"
                settings = judging.config(DEFAULT_FILE, root) if text is None else judging.config_text(text, origin)
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    with output.progress("reading the catalog") as tell:
        found = run_preview(
            Request(
                root=root,
                on=on,
                stacks=tuple(args.stack),
                base=args.base,
                base_state=args.base_state,
                plan_files=tuple(args.plan),
                engine=args.engine,
                limits=limits,
                unblocked=args.unblock,
                max_age_s=max_age_s(args.max_age),
                usage=args.usage,
                discounts=args.discounts,
                new_only=args.new_only,
                judge=tuple(judge),
                policies=judging.for_preview(settings, root, on, judging.own_prices(args.usage, args.discounts)),
                progress=tell,
            )
        )
    pieces = _rendered(found, args.format)
    if args.output is not None:
        try:
            with args.output.open("w", encoding="utf-8") as file:
                file.writelines(pieces)
        except OSError as error:
            raise UsageError(f"--output: {args.output}: {error.strerror}") from None
    else:
        sys.stdout.writelines(pieces)
    if found.exit_reason and (args.format != "terminal" or args.output is not None):  # a table ends with it
        output.note(found.exit_reason)
    return found.exit_code


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _yaml(text: str, origin: str) -> object:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{origin} at the base: cannot be read: {' '.join(str(error).split())}") from None


def _rendered(found: Preview, form: str) -> Iterable[str]:
    """The text in pieces: that of a large preview at once would take more memory than all else."""
    if form == "terminal":
        from sizewell.preview.render.terminal import render

        console = output.console()
        return [render(found, width=console.width, color=console.color_system is not None and console.is_terminal)]
    import importlib

    module = importlib.import_module(f"sizewell.preview.render.{form}")
    if form == "json":
        return cast("Iterable[str]", module.pieces(found))
    text = str(module.render(found))
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
