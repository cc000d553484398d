"""`sizewell preview`: what a change costs, buys and destroys, before it is built."""

from __future__ import annotations

import gc
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from sizewell.cli import judges, judging, output, project
from sizewell.cli.answers import max_age_s
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import INPUT, PATH, Choice, iso_date, stacks
from sizewell.sizing.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sizewell.policy.config import Config
    from sizewell.preview.guardrails import Limits
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

exit code: 0 success, 1 a policy failed, 2 over a budget or guardrail, 3 no price for an accelerator
or for what the change adds (pods without accelerators on clusters of other programs aside),
4 prices too old (--max-age) or a decision missing, broken or out of date: its specs name other
workloads or cannot be read, with --check-decisions also where one would change; 64 wrong usage or
file, 69 a program failed
"""
FORMATS: Final = ("terminal", "markdown", "json", "html", "focus")
_PIECE: Final = 1 << 20
GUARDRAILS: Final = "stacks/config/guardrails.yaml"


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", nargs=-1, shell_complete=stacks, help="stacks (default: all)")
@click.option("--base", metavar="REF", help="compare with this git revision")
@click.option("--base-state", type=INPUT, metavar="FILE", help="compare with the output of `pulumi stack export`")
@click.option("--plan", multiple=True, type=INPUT, metavar="FILE", help="read `pulumi preview --json` instead")
@click.option("--state", type=INPUT, metavar="FILE", help="what stands now, for what a program does not show")
@click.option(
    "--engine", type=Choice(("auto", "offline", "pulumi")), default="auto", help="how the program is evaluated (auto)"
)
@click.option("--format", type=Choice(FORMATS), default="terminal", help="output format (terminal)")
@click.option("--json", "format", flag_value="json", help="same as --format json")
@click.option("-o", "--output", type=PATH, metavar="FILE", help="write to this file instead of printing")
@click.option("--usage", type=PATH, metavar="FILE", help="usage that resources do not state: egress, requests, storage")
@click.option("--discounts", type=PATH, metavar="FILE", help="own rates and commitments")
@click.option("--guardrails", type=PATH, metavar="FILE", help=f"limits on a change ({GUARDRAILS})")
@click.option("--unblock", metavar="REASON", default="", help="accept an exceeded limit, with the reason on record")
@click.option("--policies", type=PATH, metavar="FILE", help=f"policy configuration ({judging.DEFAULT_CONFIG})")
@click.option(
    "--judge", metavar="REF", help="take limits and policies from this git revision (default: that of --base)"
)
@click.option("--new-only", is_flag=True, help="do not fail on findings that the base has as well")
@click.option("--check-decisions", is_flag=True, help="exit 4 if a spec no longer gives its committed decision")
@click.option("--max-age", metavar="AGE", help="exit 4 if the newest accelerator price is older, such as 30d")
@click.option("--on", type=iso_date, metavar="DATE", help="use the prices of this date (default: today)")
def command(args: Arguments) -> int:
    gc.disable()  # importing provider modules makes millions of objects that live to the end: a tenth of the time
    from sizewell.preview.pipeline import Request, run_preview, stacks_of

    root = Path.cwd() if args.plan else project.root()
    if not args.plan and args.base is None:
        project.must_be_stacks(args.stack, stacks_of(root), root)
    for flag in ("base_state", "state", "usage", "discounts"):
        path = getattr(args, flag)
        if path is not None and not path.exists():
            raise UsageError(f"--{flag.replace('_', '-')}: {path}: no such file")
    limits, settings, environments, judge = _judges(args, root)
    base_prices, rows = judges.base_prices(
        root, args.judge or args.base, usage=args.usage, discounts=args.discounts, unblock=args.unblock or ""
    )
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    with output.progress("reading the catalog") as tell:
        preview = run_preview(
            Request(
                root=root,
                on=on,
                stacks=tuple(args.stack),
                base=args.base,
                base_state=args.base_state,
                state=args.state,
                plan_files=tuple(args.plan),
                engine=args.engine,
                limits=limits,
                unblocked=args.unblock,
                max_age_s=max_age_s(args.max_age),
                usage=args.usage,
                discounts=args.discounts,
                new_only=args.new_only,
                judge=(*judge, *rows),
                base_prices=base_prices,
                policies=judging.for_preview(
                    settings,
                    root,
                    on,
                    judging.at_prices(base_prices) if base_prices else judging.own_prices(args.usage, args.discounts),
                    environments,
                ),
                progress=tell,
            )
        )
    if not args.plan:
        stacks = [stack.stack for stack in preview.stacks]
        if args.check_decisions:
            from sizewell.cli.size import out_of_date

            old = out_of_date(root, stacks)
            reason = next(iter(old), "")
        else:
            from sizewell.cli.specs import out_of_step

            old, reason = out_of_step(root, stacks)
        if old:
            code = {"exit_code": 4, "exit_reason": f"decision of {reason}"} if reason and preview.exit_code == 0 else {}
            preview = preview.model_copy(update={"decisions": old, "silent": False, **code})
    pieces = _rendered(preview, args.format)
    if args.output is not None:
        output.write_file(args.output, pieces, "--output")
    else:
        sys.stdout.writelines(pieces)
    if preview.exit_reason and (args.format != "terminal" or args.output is not None):  # a table ends with it
        output.note(preview.exit_reason)
    return preview.exit_code


# Where else a repository says how it is judged; files that are about other things are left out.
_OTHER_JUDGES: Final = (".github/workflows", ".gitlab-ci.yml", "policy", "stacks/policy", "*CODEOWNERS")


def _judges(args: Arguments, root: Path) -> tuple[Limits, Config, dict[str, str], tuple[str, ...]]:
    """The limits and policies that judge, environments that are the base's, and what the change says otherwise.

    Whoever changes the judge is judged by that of the base, unless somebody lets the change pass.
    """
    from sizewell.preview import guardrails
    from sizewell.preview.base import changed_files, file_at, must_be_a_revision
    from sizewell.preview.pipeline import stacks_of
    from sizewell.sizing.places import locating, parse_yaml

    own = root / GUARDRAILS
    limits = guardrails.read_limits(args.guardrails or own) if args.guardrails or own.exists() else guardrails.NO_LIMITS
    settings = judging.config(args.policies, root)
    ref = args.judge or args.base
    if not ref:
        return limits, settings, {}, ()
    if args.judge:
        must_be_a_revision(root, args.judge, "--judge")
    rows: list[str] = []
    counts = (
        f"let pass: {args.unblock}"
        if args.unblock
        else f"the version of {ref[:40]} applies until this change is approved or merged"
    )
    name = judges.inside(root, args.guardrails or own)
    text = file_at(root, ref, name) if name else None
    if name and text is None and (root / name).is_file():  # the first limits only take away
        rows.append(f"{name}: the base has no limits, so these apply")
    elif name and text is not None and text != judges.text_of(root / name):
        document = parse_yaml(text, f"{name} at {ref}")
        with locating(document.places):
            base_limits = guardrails.parse_limits(document.data, f"{name} at {ref}")
        rows += [f"{name}: {line} ({counts})" for line in guardrails.differences(base_limits, limits)]
        limits = limits if args.unblock else base_limits
    base_settings, lines = judges.policies_at(root, ref, args.policies, settings)
    rows += [f"{line} ({counts})" for line in lines]
    settings = settings if args.unblock else base_settings
    rows += _settings(root, ref)
    base_environments, lines = judges.environments_at(root, ref, sorted({*args.stack, *stacks_of(root)}))
    rows += [f"{line} ({counts})" for line in lines]
    listed = {row.partition(":")[0] for row in rows}
    others = [path for path in changed_files(root, ref, *_OTHER_JUDGES) if path not in listed and _is_judge(root, path)]
    rows += [f"{path}: changes what runs these checks or who owns them: it needs a human review" for path in others]
    return limits, settings, {} if args.unblock else base_environments, tuple(rows)


def _settings(root: Path, ref: str) -> list[str]:
    """What a change says otherwise in the project's settings, such as the greatest age of a price."""
    from sizewell.cli import settings
    from sizewell.preview.base import file_at
    from sizewell.sizing.errors import ConfigError

    rows: list[str] = []
    for name in (settings.OWN_FILE, settings.SHARED_FILE):
        text, now = file_at(root, ref, name), judges.text_of(root / name)
        if text == now:
            continue
        try:
            before = settings.parse(text or "", name)
        except ConfigError:  # the base was wrong; this change corrects it
            before = {}
        lines = settings.differences(before, settings.parse(now or "", name))
        rows += [f"{name}: {line} (this preview uses the version in the head)" for line in lines]
    return rows


def _is_judge(root: Path, path: str) -> bool:
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    name = path.rsplit("/", 1)[-1]
    return name in ("CODEOWNERS", "PulumiPolicy.yaml") or "sizewell" in (judges.text_of(top / path) or "sizewell")


def _rendered(preview: Preview, form: str) -> Iterable[str]:
    """The text in pieces: that of a large preview at once would take more memory than all else."""
    if form == "terminal":
        from sizewell.preview.render.terminal import render

        console = output.console()
        return [render(preview, width=console.width, color=console.color_system is not None and console.is_terminal)]
    import importlib

    module = importlib.import_module(f"sizewell.preview.render.{form}")
    if form == "json":
        return cast("Iterable[str]", module.pieces(preview))
    text = str(module.render(preview))
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
