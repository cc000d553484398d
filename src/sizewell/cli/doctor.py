"""`sizewell doctor`: what is installed, how old the facts are, which stacks and decisions are in order."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import iso_date, stacks
from sizewell.sizing.errors import ConfigError, SizewellError, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import plural

DESCRIPTION = """Check this installation and this project; with --cloud, whether a stack can be deployed.
Changes nothing.

Sizing, previews and policies need only the Python packages; `pulumi up` needs the Pulumi engine.
--cloud queries the cloud, read-only: account, APIs and features, quotas, zones, reservations,
images, rights, receivers, keys, stock, and the Kubernetes versions that run.
"""
EXAMPLES = """example:
  sizewell doctor
  sizewell doctor --json
  sizewell doctor --report > report.md
  sizewell doctor prod-aws --cloud

exit code: 0 in order, 4 a decision is missing, edited or out of date, 64 a package, the catalog, a
configuration file or something in the account is wrong, 69 the engine or the cloud does not respond
"""
PACKAGES: Final = ("numpy", "pydantic", "PyYAML", "rich", "tzdata", "pulumi", "pulumi-policy")
SDKS: Final = {
    **{cloud.provider.distribution: name for name, cloud in CLOUDS.items()},
    "pulumi-kubernetes": "kubernetes",
}
OLD_DAYS: Final = 90
_SETTINGS: Final = (
    "SIZEWELL_",
    "PULUMI_",
    "AWS_",
    "GOOGLE_",
    "AZURE_",
    "ARM_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_COLOR",
)
CLOUD_S: Final = 60.0  # for all that is asked of a cloud
INSTALL: Final = "use Pulumi's own installer: https://www.pulumi.com/docs/install/"

if TYPE_CHECKING:
    from sizewell.clouds.preflight.findings import Finding as Answered
    from sizewell.resources.ages import Aging
    from sizewell.sizing.records.decision import Decision

State = Literal["ok", "note", "wrong"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `code` is the exit code that it asks for."""

    about: str
    state: State
    detail: str
    fix: str = ""
    code: int = 0


@click.command(cls=Command, help=DESCRIPTION, epilog=EXAMPLES)
@click.argument("stack", required=False, shell_complete=stacks, help="the stack that --cloud checks")
@click.option("--cloud", is_flag=True, help="check in the cloud whether STACK can be deployed")
@click.option("--json", is_flag=True, help="print the findings as JSON")
@click.option(
    "--report", is_flag=True, help="print them for an issue: without names of yours, accounts, addresses and paths"
)
@click.option("--on", type=iso_date, metavar="DATE", help="date from which ages are counted (default: today)")
def command(args: Arguments) -> int:
    today = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    if bool(args.stack) != args.cloud:
        missing = (
            "--cloud checks one stack: give its name"
            if args.cloud
            else f"a stack can only be checked with --cloud: {args.stack}"
        )
        raise UsageError(f"{missing}\n  fix: sizewell doctor {args.stack or 'STACK'} --cloud")
    if args.cloud:
        findings = account(args.stack, today)
    else:
        findings = [*_python(), *_packages(), *_catalog(today), *_engine(), *_pinned(), *_project(today)]
    if args.json and args.report:
        raise UsageError("--report cannot be combined with --json\n  fix: leave one of them out")
    if args.json:
        output.print_json([asdict(finding) for finding in findings])
    elif args.report:
        print(_report(findings, args.stack or ""), end="")
    else:
        _print(findings)
    return max((finding.code for finding in findings), default=0)


def _print(findings: list[Finding]) -> None:
    console = output.console()
    table = output.table("", "what", "found")
    signs = {"ok": ("ok", "green"), "note": ("note", "yellow"), "wrong": ("WRONG", "bold red")}
    for finding in findings:
        sign, style = signs[finding.state]
        from rich.text import Text

        table.add_row(Text(sign, style=style), finding.about, finding.detail)
    console.print(table)
    for finding in findings:
        if finding.fix:  # beneath the table, where a command stays in one piece
            console.print(f"\n{finding.about}\n  fix: {finding.fix}", soft_wrap=True)
    wrong = sum(finding.state == "wrong" for finding in findings)
    console.print(f"\n{wrong} of {len(findings)} checks failed" if wrong else "\neverything is in order")


def _report(findings: list[Finding], stack: str) -> str:
    """The findings in Markdown, with what they ran on, for people who do not know the project."""
    import platform

    from sizewell.cli import redaction

    names = {stack: "stack"} if stack else {}
    with contextlib.suppress(SizewellError):  # outside a project
        names |= redaction.names_in(project.root())
    known = sorted(name for name in os.environ if name.startswith(_SETTINGS))
    lines = [
        f"- {platform.system()} {platform.release()}, {platform.machine()}",
        f"- set in the environment: {', '.join(known) or 'nothing of ours or of a cloud'}",
        "",
        *(
            f"- **{each.state}** {each.about}: {each.detail}" + (f" ({each.fix})" if each.fix else "")
            for each in findings
        ),
    ]
    return "".join(f"{redaction.redacted(line, names)}\n" for line in lines)


def account(stack: str, today: date) -> list[Finding]:
    """What the stack's cloud says, and which of the versions in use age."""
    from sizewell.cli import ages, judging
    from sizewell.clouds.preflight.needs import needs_of
    from sizewell.clouds.preflight.run import preflight
    from sizewell.recording.evaluate import evaluate
    from sizewell.sizing.catalog import load

    root = project.root()
    decision = judging.decision_of(root, stack)
    if decision is None or decision.stack != stack:
        known = ", ".join(path.stem for path in project.decisions(root)) or "none yet"
        raise UsageError(f"{stack} has no decision of its own\n  fix: name one of {known}")
    with output.progress(f"evaluating {stack}") as tell:
        plan = evaluate(root, stack)
        needs = needs_of(decision, plan.resources, load(), project.config(root, stack) or {})
        answers = preflight(needs, total_s=CLOUD_S, begun=lambda name: tell(f"asking {needs.cloud}: {name}"))
        if not any(answer.about == "account" and answer.state == "wrong" for answer in answers):
            tell(f"asking {needs.cloud}: stock")
            answers += _stock(decision, project.config(root, stack) or {})
    reach = _reach(project.decision_path(root, stack), root)
    aged = [_aged(age.resource, age) for age in ages.of_plan(plan, today)]
    return [*reach, *(Finding(**asdict(answer)) for answer in answers), *aged]


def _stock(decision: Decision, config: dict[str, Any]) -> Iterator[Answered]:
    """Whether each pool can be had now, in its likeliest zone; what quotas and zones say, doctor asks by itself."""
    from sizewell.cli import stock
    from sizewell.clouds.preflight.findings import Finding as Answered
    from sizewell.clouds.stock.asking import STOCKS
    from sizewell.clouds.stock.rows import best
    from sizewell.sizing.catalog import load

    rows = [row for row in stock.asked(decision, load(), config, accounts={}) if not row.fallback]
    for pool in dict.fromkeys(row.pool for row in rows):
        row = best([each for each in rows if each.pool == pool])
        if row.state == "unavailable" and row.sources in (("quotas",), (STOCKS[row.cloud].SOLD,)):
            continue
        where = f" in {row.zone or row.region}"
        detail = f"{row.machines} x {row.instance_type}, {row.market}: {row.state}{where}: {row.detail}"
        if row.state == "unavailable":
            yield Answered(f"stock of {pool}", "wrong", detail, row.fix, 64)
        else:
            state: State = "note" if row.state in ("unlikely", "unknown") else "ok"
            yield Answered(f"stock of {pool}", state, detail, row.fix)


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", "ok", f"{version}, {sys.prefix}")


def _packages() -> Iterator[Finding]:
    from importlib.metadata import PackageNotFoundError, version

    from sizewell import source

    installed, missing = [], []
    for package in ("sizewell", *PACKAGES, *SDKS):
        try:
            installed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    yield Finding("packages", "ok", ", ".join(installed))
    if lost := [package for package in missing if package not in SDKS]:
        fix = f"install Sizewell again: {source.install('all')}"
        yield Finding("packages", "wrong", f"missing: {', '.join(lost)}", fix, 64)
    needed = _clouds()
    for package in missing:
        if (extra := SDKS.get(package)) in needed:
            detail = f"{package} is missing, and decisions of this project build on {extra}"
            yield Finding("packages", "wrong", detail, source.install(str(extra)), 64)


def _clouds() -> set[str]:
    """The clouds on which the decisions of this project build."""
    from sizewell.sizing.records.decision import Decision

    clouds: set[str] = set()
    with contextlib.suppress(SizewellError):  # outside a project; an unreadable decision is reported on its own
        for path in project.decisions(project.root()):
            with contextlib.suppress(SizewellError):
                clouds |= {pool.cloud for workload in Decision.from_json(path).workloads for pool in workload.pools}
    return clouds


def _pinned() -> Iterator[Finding]:
    """Whether this command, the project's environment and its requirements are the same version."""
    from importlib.metadata import version

    from sizewell.cli import environment

    try:
        root = project.root()
    except SizewellError:
        return
    own = environment.of(root)
    mine, there = version("sizewell"), environment.version_in(own)
    wanted, address = environment.pinned(root)
    about, name = "project's sizewell", own.relative_to(root) if own.is_relative_to(root) else own
    if not (wanted or address or there):
        return  # a program that uses Sizewell for its previews alone
    if unread := environment.unread_requirements(root):
        file, pin = unread.relative_to(root), os.path.relpath(root / "requirements.txt", unread.parent)
        detail = f"`pulumi install` reads {file}, which is missing: it would install nothing"
        yield Finding(about, "note", detail, f"run: echo '-r {pin}' > {file} && pulumi install")
    asked = f"requirements.txt asks for {wanted or address}"
    if why := environment.broken(own):
        yield Finding(about, "wrong", f"{name} cannot run: {why}", f"run: rm -r {name} && pulumi install", 64)
    elif not there:
        detail = f"{asked}, but {name} has none: version {mine} of this command evaluates the project"
        yield Finding(about, "note", detail, "run: pulumi install")
    elif wanted and wanted != there:
        yield Finding(about, "wrong", f"{name} has {there}, and {asked}", "run: pulumi install", 64)
    elif there != mine:
        detail = f"{name} has {there}, which evaluates this project; this command is version {mine}"
        yield Finding(
            about, "note", detail, f"install version {there} of the command as well, or change requirements.txt"
        )
    else:
        yield Finding(about, "ok", f"{there} in {name}" + (f"; {asked}" if wanted or address else ""))


def _catalog(today: date) -> Iterator[Finding]:
    from sizewell.sizing.catalog import load

    try:
        catalog = load()
    except SizewellError as error:
        yield Finding("catalog", "wrong", str(error), "correct the rows, or restore sizing/catalog/data", 64)
        return
    counts = f"{len(catalog.shapes)} machine types, {len(catalog.all_offers):,} prices, {len(catalog.models)} models"
    yield Finding("catalog", "ok", f"{counts}; digest {catalog.digest[:12]}")
    days = (today - date.fromisoformat(catalog.as_of)).days
    age = f"newest of {catalog.as_of}, {plural(days, 'day')} old"
    if days > OLD_DAYS:
        yield Finding("prices", "note", age, "see `sizewell docs refresh-prices`")
    else:
        yield Finding("prices", "ok", age)
    yield from _versions(today)


def _versions(today: date) -> Iterator[Finding]:
    """Whether the table of what ages can be read, and is itself young enough to go by."""
    from sizewell.cli import ages
    from sizewell.sizing.catalog import lifetimes

    try:
        known = lifetimes.load()
    except SizewellError as error:
        yield Finding("versions", "wrong", str(error), "correct the rows in catalog/ages/", 64)
        return
    told, fix = ages.table_age(known, today, ages.services_here() or ages.MANAGED)
    counts = f"{len(known.kubernetes)} Kubernetes versions, {len(known.releases)} of other things"
    yield Finding("versions", "note", told, fix) if told else Finding("versions", "ok", counts)


def _ages(path: Path, root: Path, today: date) -> Iterator[Finding]:
    """Whether what a stack builds is still supported, as the preview says it; its clusters also where it fails."""
    from sizewell.cli import ages
    from sizewell.recording.evaluate import evaluate
    from sizewell.resources.ages import pressing
    from sizewell.sizing.catalog import lifetimes

    decision, about = ages.read(path), f"stack {path.stem}"
    if decision is None:
        return
    found = {}
    for age in ages.of_decision(decision, project.config(root, path.stem) or {}, lifetimes.load(), today):
        found[age.what] = age
    failed = ""
    try:
        plan = evaluate(root, path.stem)
        found |= {age.what: age for age in ages.of_plan(plan, today)}
    except SizewellError as error:
        failed = str(error).partition("\n")[0]
    yield from (_aged(about, age) for age in pressing(found.values()))
    if failed:
        detail = f"charts, images and databases were not looked at: {failed}"
        yield Finding(f"versions of {path.stem}", "note", detail, f"sizewell preview {path.stem}")


def _aged(about: str, age: Aging) -> Finding:
    """A cluster whose version is supported no longer is not built any more; all else ages on."""
    if age.kind == "kubernetes" and age.when == "ended":
        return Finding(about, "wrong", age.detail, age.fix, 64)
    return Finding(about, "note", age.detail, age.fix)


def _engine() -> Iterator[Finding]:
    engine = shutil.which("pulumi")
    if engine is None:
        detail = "not on PATH; only `pulumi up` and `pulumi preview` need it, Sizewell's own commands do not"
        yield Finding("pulumi engine", "note", detail, INSTALL)
        return
    version = _output([engine, "version"])
    if not version.startswith("v"):
        yield Finding("pulumi engine", "wrong", f"{engine} does not respond to `version`", INSTALL, 69)
        return
    from importlib.metadata import version as package_version

    sdk = package_version("pulumi")
    same = version.lstrip("v").split(".")[0] == sdk.split(".")[0]
    if same:
        yield Finding("pulumi engine", "ok", f"{version} at {engine}; SDK {sdk}")
    else:
        yield Finding("pulumi engine", "wrong", f"{version} with SDK {sdk}: the major versions differ", INSTALL, 69)
    home = Path(os.environ.get("PULUMI_HOME", "~/.pulumi")).expanduser() / "bin"
    places = [Path(engine).resolve().parent, home]
    host = shutil.which("pulumi-language-python") or next(
        (str(place / "pulumi-language-python") for place in places if (place / "pulumi-language-python").exists()), ""
    )
    if host:
        yield Finding("python language host", "ok", host)
    else:
        detail = "pulumi-language-python is neither on PATH nor next to the engine; Python programs cannot run"
        yield Finding("python language host", "wrong", detail, f"it comes with the engine: {INSTALL}", 69)


def _output(command: list[str]) -> str:
    environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _project(today: date) -> Iterator[Finding]:
    try:
        root = project.root()
    except SizewellError:
        yield Finding(
            "project", "note", "no Pulumi.yaml in this folder or its parents", "change to the project's folder"
        )
        return
    yield from _configs(root)
    yield _settings(root)
    from sizewell.cli import forges, upkeep

    for forge, files in forges.unread(root).items():
        detail = f"{', '.join(files)}: {forge} reads such files at the root of the repository alone, so nothing runs"
        fix = f"run: sizewell init --forge {forge} --offline, which writes them there; then remove these"
        yield Finding("pull requests", "wrong", detail, fix, 64)

    for change in upkeep.changes(root):
        yield Finding(
            change.file, "wrong" if change.must else "note", change.what, change.fix, 64 if change.must else 0
        )
    paths = project.decisions(root)
    for path in paths:
        yield _decision(path, root, today)
        yield from _ages(path, root, today)
        yield from _reach(path, root)
    decided = {path.stem for path in paths}
    folders = sorted((root / "stacks/specs").glob("*/"))
    waiting = [folder.name for folder in folders if folder.name not in decided and any(folder.glob("*.yaml"))]
    configured = [name for name in waiting if (root / f"stacks/config/Pulumi.{name}.yaml").exists()]
    for name in configured:  # preview and policy fail on these, as they are stacks already
        fix = f"run: sizewell size --stack {name}, and commit the file"
        yield Finding(f"stack {name}", "wrong", "it has specs and configuration, and no decision", fix, 4)
    if waiting := [name for name in waiting if name not in configured]:
        fix = f"run: sizewell size --stack {waiting[0]}"
        yield Finding("specs", "note", f"no decision yet for {', '.join(waiting)}", fix)


def _settings(root: Path) -> Finding:
    """Which file the project's settings are read from, and what it says."""
    from sizewell.cli import settings

    try:
        stated = settings.read(root)
    except SizewellError as error:
        what, _, fix = str(error).partition("\n  fix: ")
        return Finding("settings", "wrong", what, fix or "correct the file", 64)
    if stated.file is None:
        return Finding("settings", "ok", f"no {settings.OWN_FILE} and no [tool.sizewell] in {settings.SHARED_FILE}")
    shown = ", ".join(f"{key} = {value}" for key, value in stated.values.items())
    return Finding("settings", "ok", f"read from {project.shown(stated.file)}: {shown or 'none'}")


def _configs(root: Path) -> Iterator[Finding]:
    from sizewell.sizing.files import conflict_line
    from sizewell.sizing.places import CONFLICT, SETTLED, read_yaml

    files = [*sorted(root.glob("Pulumi.*.yaml")), *sorted((root / "stacks/config").glob("Pulumi.*.yaml"))]
    bad = 0
    for file in [root / "Pulumi.yaml", *files]:
        try:
            content = read_yaml(file, project.shown(file)).data
            wrong = [] if isinstance(content, dict) or content is None else [f"{project.shown(file)}: is not a mapping"]
        except ConfigError as error:
            wrong = [str(fault) for fault in error.faults]
        for problem in wrong:
            bad += 1
            what, _, fix = problem.partition("\n  fix: ")
            yield Finding("configuration", "wrong", what, fix or "correct the file", 64)
    requirements = root / "requirements.txt"
    if requirements.is_file() and (line := conflict_line(requirements.read_text(encoding="utf-8", errors="replace"))):
        bad += 1
        yield Finding("configuration", "wrong", f"{project.shown(requirements)}:{line}: {CONFLICT}", SETTLED, 64)
    if not bad:
        yield Finding("configuration", "ok", f"Pulumi.yaml and {plural(len(files), 'stack file')} are valid")


def _decision(path: Path, root: Path, today: date) -> Finding:
    from sizewell.cli.specs import differences
    from sizewell.sizing.billing.standing import pulls_from_a_mirror
    from sizewell.sizing.records.decision import Decision

    about = f"stack {path.stem}"
    again = f"run: sizewell size --stack {path.stem}, and commit the file"
    try:
        decision = Decision.from_json(path)
    except SizewellError as error:
        return Finding(about, "wrong", str(error).partition("\n")[0], again, 4)
    if decision.edited:
        return Finding(about, "wrong", "the decision was edited by hand: its checksum does not match", again, 4)
    if decision.stack != path.stem:
        return Finding(about, "wrong", f"the file is the decision of {decision.stack}", again, 4)
    found = differences(root, path.stem, decision)
    if found.broken:
        detail = f"a spec of it cannot be read: {found.broken[0]}"
        return Finding(about, "wrong", detail, f"correct the spec, then {again}", 4)
    kinds = ((found.changed, "changed"), (found.new, "new"), (found.gone, "gone"))
    if stale := "; ".join(f"{', '.join(names)} {how}" for names, how in kinds if names):
        return Finding(about, "wrong", f"decided before its specs changed: {stale}", again, 4)
    if not (root / f"stacks/config/Pulumi.{path.stem}.yaml").exists():
        return Finding(about, "note", "has no stacks/config file", f"create it: pulumi stack init {path.stem}")
    if decision.expires_at and not (root / f"stacks/config/Pulumi.ttl-{path.stem}.yaml").exists():
        detail = f"expires on {decision.expires_at}, but there is no expiry stack ttl-{path.stem}"
        return Finding(
            about,
            "note",
            detail,
            f"run: sizewell size --stack {path.stem}, which writes its configuration; deploy it first",
        )
    if pulls_from_a_mirror(decision) and not (root / f"stacks/config/Pulumi.images-{path.stem}.yaml").exists():
        detail = (
            f"its EKS cluster has no internet access, and there is no stack images-{path.stem} for the images "
            "that it pulls"
        )
        return Finding(
            about,
            "note",
            detail,
            f"run: sizewell size --stack {path.stem}, which writes its configuration and prints how it is filled",
        )
    nodes = sum(pool.nodes_max for workload in decision.workloads for pool in workload.pools)
    workloads = len(decision.workloads)
    counts = f"{workloads} workload{'s' * (workloads != 1)}, up to {nodes} machine{'s' * (nodes != 1)}"
    detail = f"{counts}, decided on {decision.decided_on}, checksum valid"
    if decision.expires_at and decision.expires_at <= today:  # it ends at 00:00 UTC of that day
        return Finding(
            about, "note", f"{detail}; expired on {decision.expires_at}", "destroy the stack, or decide again"
        )
    return Finding(about, "ok", detail + (f"; expires on {decision.expires_at}" if decision.expires_at else ""))


def _reach(path: Path, root: Path) -> Iterator[Finding]:
    """Whether this machine could build what stands inside the stack's cluster, as far as the configuration tells."""
    from sizewell.components.access import Access, access_faults, cluster_clouds, read_access, unreachable
    from sizewell.sizing.records.decision import Decision

    try:
        clouds = cluster_clouds(Decision.from_json(path))
    except SizewellError:
        return  # said of the decision itself
    config = project.config(root, path.stem)
    if not clouds or config is None or "sizewell:kubeconfig" in config:
        return
    access = None if (stated := config.get("sizewell:access")) is None else read_access(stated)
    hosted = os.environ.get("RUNNER_ENVIRONMENT") == "github-hosted"
    if isinstance(access, Access | None):
        wrong = access_faults(clouds, access, own_network=not config.get("sizewell:network"))
        wrong = wrong or [fault for cloud in clouds if (fault := unreachable(cloud, access, hosted=hosted))]
    else:
        wrong = access
    for fault in wrong:
        sentence = str(fault).partition("\n")[0]
        yield Finding(f"stack {path.stem}", "wrong", sentence, fault.fix or "see `sizewell docs run-a-stack`", 64)
