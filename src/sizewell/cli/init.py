"""`sizewell init`: a Pulumi project of your own, whose stacks preview and pass the policies, from a few answers."""

from __future__ import annotations

import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizewell import source
from sizewell.cli import output
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import PATH, iso_date
from sizewell.cli.project import typed
from sizewell.sizing.errors import SizewellError, UsageError
from sizewell.sizing.units import plural

if TYPE_CHECKING:
    from sizewell.cli.questions import Answers

DESCRIPTION = """Make a Pulumi project: specs, decisions, configuration of the stacks dev and prod,
policies, the pull-request workflow, CODEOWNERS, a README that says what each file is, and an
AGENTS.md for agents.

Prompts for what no flag gives. Writes only files that are missing and overwrites none, so an
interrupted run is completed by running it again. Works without a network.
"""
EXAMPLES = """examples:
  sizewell init                                   ask, and write into this folder
  sizewell init shop                              into the folder shop
  sizewell init shop --cloud aws --account 123456789012 --owner @acme/ml-platform \\
    --notify ml@example.com --forge github        ask nothing
  pulumi new "$(sizewell init --template)"        the same template, by Pulumi; then sizewell init

exit code: 0 success, 5 nothing in the region fits, 64 an answer is missing or wrong
"""
CHECK_S = 8.0  # for asking whether the account can be reached


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("folder", type=PATH, default=Path(), help="default: this folder")
@click.option("--name", metavar="NAME", help="name of the project (default: the folder's)")
@click.option("--cloud", metavar="CLOUD", help="aws, gcp or azure")
@click.option("--account", metavar="ID", help="AWS account, Google Cloud project or Azure subscription")
@click.option("--prod-account", metavar="ID", help="account of production (default: the same)")
@click.option("--region", metavar="REGION", help="region (default: us-east-1, us-central1 or eastus)")
@click.option("--owner", metavar="NAME", help="who approves changes, such as @acme/ml-platform")
@click.option("--cost-center", metavar="NAME", help="cost-center tag of every billed resource (default: the owner)")
@click.option(
    "--access",
    metavar="ACCESS",
    help="who can reach the API of Kubernetes clusters: dns (GKE), IPv4 ranges, or none (default)",
)
@click.option("--notify", metavar="LIST", help="e-mail and https addresses that receive notices")
@click.option("--forge", metavar="FORGE", help="github, gitlab or none: whose pull-request workflow is written")
@click.option("--offline", is_flag=True, help="do not check whether the account can be reached")
@click.option("--no-input", is_flag=True, help="ask nothing: a missing answer is an error")
@click.option("--on", type=iso_date, metavar="DATE", help="use the prices of this date (default: today)")
@click.option("--json", is_flag=True, help="print what was written and kept as JSON")
@click.option("--template", is_flag=True, help="print the template folder for `pulumi new`, and exit")
def command(args: Arguments) -> int:
    from sizewell.cli import questions, scaffold

    if args.template:
        print(scaffold.template())
        return 0
    folder: Path = args.folder
    if why := scaffold.other_project(folder):
        raise UsageError(
            f"init: {folder / 'Pulumi.yaml'} {why}; nothing was written\n"
            "  fix: name a new folder: sizewell init FOLDER; or see `sizewell docs adopt-in-an-organisation`"
        )
    given = {question.key: getattr(args, question.key) for question in questions.QUESTIONS}
    person = sys.stdin.isatty() and not args.json and not args.no_input
    answers = questions.answers(given, questions.read_back(folder), ask=_ask if person else None)
    on = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    with output.progress("deciding"):
        texts = scaffold.rendered(answers, folder=folder, on=on)
    written = scaffold.write(folder, texts)
    unpriced = scaffold.unpriced(texts)
    kept = [path for path in scaffold.paths(answers, folder) if path not in written and (folder / path).exists()]
    lacking = scaffold.lacking(answers, folder)
    account = "" if args.offline or not written else _unreachable(answers)
    if args.json:
        output.print_json(
            {
                "folder": str(folder),
                "written": written,
                "kept": kept,
                "account": account,
                "unpriced": unpriced,
                "lacking": lacking,
            }
        )
        return 0
    _print(folder, written, kept, answers)
    for missing in lacking:
        output.note(missing)
    if unpriced:
        output.note(_red(unpriced, answers))
    if account:
        output.note(account)
    return 0


def _ask(question: str, default: str) -> str:
    """Ask on the terminal; a default of NUL says that there is nothing to answer."""
    if default == "\0":
        print(f"  {question}", file=sys.stderr)
        return ""
    sys.stderr.write(f"{question}{f' [{default}]' if default else ''}: ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError("init: the input ended before the last answer; nothing was written")
    return line


def _print(folder: Path, written: list[str], kept: list[str], answers: Answers) -> None:
    place = "" if folder == Path() else f"{folder}/"
    for path in written:
        print(f"wrote {_shown(folder, path)}")
    if kept and written:
        print(f"kept {plural(len(kept), 'existing file')}: {', '.join(kept)}")
    if not written:
        print(f"all {len(kept)} files exist already; nothing was written")
        return
    line = source.requirement(answers.cloud)
    if "requirements.txt" in written and source.local(line):
        output.note(
            f"requirements.txt names a local file: {line.partition(' @ ')[2].partition('#')[0]}\n"
            "  fix: upload it where the workflow can fetch it, and put that URL into requirements.txt"
        )
    steps = {f"cd {typed(str(folder))}": "", "pulumi install": "makes .venv from requirements.txt"} if place else {}
    steps |= {"pulumi install": "makes .venv from requirements.txt", "sizewell preview": "what it would cost"}
    steps["sizewell policy"] = "what the policies say"
    print("\nNext:")
    for command, what in steps.items():
        print(f"  {command:<18} {what}".rstrip())
    if "README.md" in written:  # one that was there says something else
        print("README.md says what each file is.")


def _shown(folder: Path, path: str) -> str:
    """A file as it is named here; one of the repository around the folder by its own place."""
    return os.path.normpath(folder / path) if path.startswith("../") else str(folder / path)


def _red(unpriced: list[str], answers: Answers) -> str:
    """What the first workflow would fail on, said before it does."""
    from sizewell.sizing.providers import CLOUDS

    lines = "".join(f"\n  {line}" for line in unpriced)
    fetched = f"sizewell prices refresh --cloud {answers.cloud} --region {answers.region}"
    again = " && ".join(f"sizewell size --stack {stack}" for stack in ("dev", "prod"))
    return (
        f"{answers.region}: a price is missing, so `sizewell policy` fails in prod (unpriced-resource) until it is "
        f"known:{lines}\n  fix: fetch the vendor's list and decide again: {fetched} && {again}\n"
        f"  or name a region whose prices are installed: --region {CLOUDS[answers.cloud].regions.usual}"
    )


def _unreachable(answers: Answers) -> str:
    """Why the account cannot be asked now, and what to do; "" where it can. Nothing depends on it yet."""
    from sizewell.clouds.calls import Deadline, Timeouts
    from sizewell.clouds.clients import CLIENTS
    from sizewell.clouds.preflight.findings import ask
    from sizewell.clouds.preflight.needs import Machines, Needs
    from sizewell.clouds.preflight.run import CHECKS

    machines = Machines(
        pool="", region=answers.region, zones=(), instance_type="", market="on-demand", reservation="", count=0,
        vcpus=None, accelerators=0, quota="",
    )  # fmt: skip
    needs = Needs(
        stack="dev", cloud=answers.cloud, accounts=(answers.account,), machines=(machines,), types=(), resources=(),
        config={},
    )  # fmt: skip
    later = "everything else works; check the account later: sizewell doctor dev --cloud"
    try:
        limits = Timeouts(connect_s=2.0, read_s=4.0, attempts=1)
        client = CLIENTS[answers.cloud](Deadline(CHECK_S), timeouts=limits)
        findings = ask({"account": lambda: CHECKS[answers.cloud].account(needs, client)})
    except SizewellError as error:
        return f"the account could not be reached: {error}\n  {later}"
    bad = next((finding for finding in findings if finding.state != "ok"), None)
    if bad is None:
        return ""
    return (
        f"the account could not be reached: {bad.detail}" + (f"\n  fix: {bad.fix}" if bad.fix else "") + f"\n  {later}"
    )
