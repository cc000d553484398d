"""`sizewell ages`: until when versions are supported, and what the clouds offer today; findings of it for `doctor`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Group
from sizewell.cli.parameters import by_cloud, iso_date
from sizewell.resources.ages import CONFIG, Aging, kubernetes
from sizewell.resources.recorded import Plan
from sizewell.sizing.catalog import lifetimes, overlay
from sizewell.sizing.catalog.lifetimes import (
    Accepted,
    KubernetesVersion,
    Lifetimes,
    Listed,
    ListedImages,
    Release,
)
from sizewell.sizing.catalog.table import cells_of, columns_of
from sizewell.sizing.errors import CatalogError, SizewellError, UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

KUBERNETES_TABLE: Final = f"{overlay.AGES}/kubernetes.csv"
RELEASES_TABLE: Final = f"{overlay.AGES}/releases.csv"
REFRESH: Final = "sizewell ages refresh"
BEHIND: Final = "the clock says"
DEADLINE_S: Final = 60.0
DESCRIPTION = """Show until when versions are supported, and read which ones the clouds offer today.

Rows of your own are in catalog/ages/ next to Pulumi.yaml; components, previews and doctor use them.
"""
EXAMPLES = """examples:
  sizewell ages show                                 Kubernetes by service, with the ends of support
  sizewell ages show --kind chart                    charts, images, systems, drivers, databases
  sizewell ages refresh --region aws=us-east-1
  sizewell ages refresh --region azure=westeurope --account azure=SUBSCRIPTION
  sizewell ages refresh --region gcp=us-central1 --account gcp=PROJECT --dry-run

exit code: 0 success, 64 bad input, 69 a cloud did not respond
"""
KUBERNETES: Final = "kubernetes"
MANAGED: Final = ("eks", "aks", "gke")  # those that a cloud's list says something of

command = Group("ages", help=DESCRIPTION, epilog=EXAMPLES)
_on = click.option("--on", type=iso_date, metavar="DATE", help="the date (default: today)")
_json = click.option("--json", is_flag=True, help="print JSON")


@command.command("show", help="versions, until when they are supported, and where that is from")
@click.option(
    "--kind", metavar="NAME", default=KUBERNETES, help=f"{KUBERNETES} (default), {', '.join(lifetimes.KINDS)}"
)
@_on
@_json
def _show(args: Arguments) -> int:
    on, known = _today(args), lifetimes.load()
    if args.kind not in (KUBERNETES, *lifetimes.KINDS):
        raise UsageError(f"--kind: must be one of {KUBERNETES}, {', '.join(lifetimes.KINDS)}, got {args.kind!r}")
    rows = [
        (row.service, row.version, row.supported_until, row.extended_until, row.source, row.checked)
        for row in known.kubernetes
        if args.kind == KUBERNETES
    ] + [
        (row.name, row.version, row.supported_until, "", row.source, row.checked)
        for row in known.releases
        if row.kind == args.kind
    ]
    names = ("name", "version", "supported_until", "extended_until", "source", "checked")
    if args.json:
        output.print_json({"schema": schema_of("ages"), "ages": [dict(zip(names, row, strict=True)) for row in rows]})
        return 0
    table = output.table("", "version", "supported until", "extended", "checked")
    for name, version, until, extended, _, checked in rows:
        ends = [f"{day} (ended)" if lifetimes.ended(day, on) else day for day in (until, extended)]
        table.add_row(name, version, ends[0] or "unknown", ends[1], checked)
    output.console().print(table)
    wrong, fix = table_age(known, on)
    if wrong and args.on and wrong.startswith(BEHIND):
        wrong, fix = f"--on {on.isoformat()} is before the table was checked: ends that were known later are shown", ""
    if wrong and not fix:
        output.note(wrong)
    elif wrong:
        output.note(f"{wrong}\n  fix: {fix}")
    return 0


@command.command("refresh", help="read Kubernetes versions and machine images from the clouds, into catalog/ages/")
@click.option(
    "--region", multiple=True, metavar="CLOUD=REGION", help="where to ask, as aws=us-east-1; once for each cloud"
)
@click.option(
    "--account", multiple=True, metavar="CLOUD=ACCOUNT", help="azure=SUBSCRIPTION and gcp=PROJECT, which list versions"
)
@click.option("-n", "--dry-run", is_flag=True, help="read versions, but write nothing")
@_on
@_json
def _refresh(args: Arguments) -> int:
    from difflib import get_close_matches

    from sizewell.clouds.calls import CloudError, Deadline
    from sizewell.clouds.clients import CLIENTS
    from sizewell.clouds.preflight.versions import LISTINGS
    from sizewell.sizing.catalog import load as load_catalog
    from sizewell.sizing.catalog.overlay import FOLDER, current
    from sizewell.sizing.files import write_whole

    on, known = _today(args), lifetimes.load()
    regions, accounts = by_cloud("--region", args.region), by_cloud("--account", args.account)
    if not regions:
        raise UsageError(f"--region: names no cloud\n  fix: sizewell ages refresh {' '.join(_asked_here(accounts))}")
    for cloud, region in regions.items():
        if region not in (sold := load_catalog().regions(cloud)):  # it may be one without accelerators, or a new one
            near = ", ".join(get_close_matches(region, sold, n=3))
            output.note(f"--region: {region} is no region of {cloud} in the catalog" + (f"; near: {near}" * bool(near)))
        account = LISTINGS[cloud].account
        if account and cloud not in accounts:
            raise UsageError(f"--account: {cloud} is missing\n  fix: add --account {cloud}={account}")
    listed: list[Listed] = []
    images: list[ListedImages] = []
    failed: dict[str, str] = {}
    for cloud, region in regions.items():
        what = "versions"
        try:
            client = CLIENTS[cloud](Deadline(DEADLINE_S))
            own = listed_by(cloud, client, account=accounts.get(cloud, ""), region=region)
            if doubts := lifetimes.doubts(known, own, on):
                failed[f"{cloud} {what}"] = "; ".join(doubts)
                continue
            listed += own
            what = "images"
            versions = [each.version for each in own]
            images += images_by(cloud, client, account=accounts.get(cloud, ""), region=region, versions=versions)
        except CloudError as error:
            failed[f"{cloud} {what}"] = str(error)
    accepted, of_images = lifetimes.accept(known, listed, on), lifetimes.accept_images(known, images, on)
    folder = current() or project.root() / FOLDER
    files = {
        KUBERNETES_TABLE: file_of(folder / KUBERNETES_TABLE, KubernetesVersion, changed(known, accepted)),
        RELEASES_TABLE: file_of(folder / RELEASES_TABLE, Release, changed(known, of_images)),
    }
    for name, text in files.items():
        if text and (faults := lifetimes.faults_in(Path(name).stem, text)):
            raise CatalogError(faults, subject="what would be written")  # and what stands is left as it is
    written = [folder / name for name, text in files.items() if text and not args.dry_run]
    for path in written:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, files[path.relative_to(folder).as_posix()])
    if args.json:
        output.print_json(
            {
                "schema": schema_of("ages-refresh"),
                "listed": len(listed) + len(images),
                "new": list(accepted.new),
                "moved": [*accepted.moved, *of_images.moved],
                "gone": [*accepted.gone, *of_images.gone],
                "failed": failed,
                "written": [project.shown(path) for path in written],
            }
        )
        return 69 if failed else 0
    print(f"{plural(len(listed), 'version')} and {plural(len(images), 'family')} of images listed")
    told = {
        "new": accepted.new,
        "moved": accepted.moved + of_images.moved,
        "listed no longer": accepted.gone + of_images.gone,
    }
    for label, names in told.items():
        for name in names:
            print(f"{label}: {name}")
    for path in written:
        print(f"wrote {project.shown(path)}: review and commit it")
    for asked, why in failed.items():
        output.note(f"{asked}: what is known of them is unchanged: {why}")
    return 69 if failed else 0


def _asked_here(accounts: Mapping[str, str]) -> list[str]:
    """Arguments that ask the clouds on which the project builds clusters, else those that it builds on at all."""
    from sizewell.clouds.preflight.versions import LISTINGS
    from sizewell.components.access import cluster_clouds

    decisions = _decisions_here()
    pools = [pool for each in decisions for workload in each.workloads for pool in workload.pools]
    clouds = {cloud for each in decisions for cloud in cluster_clouds(each)} or {pool.cloud for pool in pools}
    words = []
    for cloud in [cloud for cloud in CLOUDS if cloud in clouds] or list(CLOUDS)[:1]:
        region = next((pool.region for pool in pools if pool.cloud == cloud), CLOUDS[cloud].regions.usual)
        words.append(f"--region {cloud}={region}")
        if account := LISTINGS[cloud].account:
            words.append(f"--account {cloud}={accounts.get(cloud, account)}")
    return words


def _decisions_here() -> list[Decision]:
    """The project's decisions that can be read; none outside of a project."""
    try:
        paths = project.decisions(project.root())
    except SizewellError:
        return []
    return [decision for path in paths if (decision := read(path)) is not None]


def _today(args: Arguments) -> date:
    return args.on or date.today()  # noqa: DTZ011 - the user's own calendar


def of_decision(decision: Decision, config: dict[str, Any], known: Lifetimes, today: date) -> Iterator[Aging]:
    """The Kubernetes version with which each of a decision's clusters is built: the stated one, or the default."""
    from sizewell.components.access import cluster_clouds

    pools = [pool for workload in decision.workloads for pool in workload.pools]
    for cloud in cluster_clouds(decision):
        service = CLOUDS[cloud].cluster.name.lower()
        if service == "eks" and any(pool.managed == "hyperpod" for pool in pools):
            service = "hyperpod"
        if any(row.built for row in known.versions(service).values()):  # GKE names no version
            version = str(config.get(CONFIG) or known.default(service).version)
            yield kubernetes(
                service, version, known, today, stack=decision.stack, resource=f"cluster of {decision.stack}"
            )


def of_plan(plan: Plan, today: date) -> tuple[Aging, ...]:
    """What presses in a sized stack: versions, and what does not fit, as its preview says it."""
    from sizewell.preview.reasons import what_presses
    from sizewell.sizing.catalog import load

    return what_presses(plan, load(), today, sized=True)


def table_age(known: Lifetimes, today: date, services: Iterable[str] = MANAGED) -> tuple[str, str]:
    """(what is wrong with the age of the services' rows, the way out); ("", "") while they are young.

    >>> table_age(lifetimes.load(), date(2026, 12, 1))
    ('', '')
    >>> table_age(lifetimes.load(), date(2027, 3, 1))[0]
    'the table of versions was last checked on 2026-11-26, 95 days ago (aks, eks, gke)'
    >>> table_age(lifetimes.load(), date(2026, 1, 1))[0]
    'the clock says 2026-01-01, and the table of versions was checked on 2026-11-26, after it (aks, eks, gke)'
    """
    by_day: dict[str, list[str]] = {}
    for service in sorted(services):
        by_day.setdefault(known.checked(service, today), []).append(service)
    for checked, of in sorted(by_day.items()):
        days, which = lifetimes.age_days(checked, today), ", ".join(of)
        if days < -1:
            told = f"{BEHIND} {today.isoformat()}, and the table of versions was checked on {checked}, after it"
            return f"{told} ({which})", "correct the clock, or the day in catalog/ages/kubernetes.csv"
        if days > lifetimes.OLD_DAYS:
            return f"the table of versions was last checked on {checked}, {days} days ago ({which})", REFRESH
    return "", ""


def services_here() -> set[str]:
    """The managed services that the project's decisions build clusters on, of those that list versions."""
    from sizewell.components.access import cluster_clouds

    return {CLOUDS[cloud].cluster.name.lower() for each in _decisions_here() for cloud in cluster_clouds(each)}


def read(path: Path) -> Decision | None:
    """A decision, None where it cannot be read, which `doctor` says of the file itself."""
    try:
        return Decision.from_json(path)
    except SizewellError:
        return None


def file_of(path: Path, record: type[KubernetesVersion | Release], rows: Sequence[KubernetesVersion | Release]) -> str:
    """The project's own table with these rows in it, "" without any; what an earlier run put there of others stays."""
    if not rows:
        return ""
    columns = columns_of(record)
    until = columns.index("version") + 1  # the columns that tell rows apart
    cells: list[list[str]] = []
    if path.is_file():
        with path.open(encoding="utf-8-sig", newline="") as file:
            cells = list(csv.reader(file))[1:]
    merged = {tuple(row[:until]): row for row in [*cells, *(cells_of(row) for row in rows)]}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        row for _, row in sorted(merged.items(), key=lambda each: (each[0][:-1], lifetimes.number(each[0][-1])))
    )
    return text.getvalue()


def changed(known: Lifetimes, accepted: Accepted) -> tuple[KubernetesVersion | Release, ...]:
    """Rows that say something that the tables do not, the day of the look apart from the rest."""
    versions = (row for row in accepted.rows if row != known.versions(row.service).get(row.version))
    systems = (row for row in accepted.systems if row != known.release(row.kind, row.name, row.version))
    return (*versions, *systems)


def listed_by(cloud: str, client: Any, *, account: str, region: str) -> list[Listed]:
    """What one cloud offers in one region."""
    from sizewell.clouds.preflight.versions import LISTINGS

    return LISTINGS[cloud].offered(client, account, region)


def images_by(cloud: str, client: Any, *, account: str, region: str, versions: Sequence[str]) -> list[ListedImages]:
    """Which families of machine images one cloud has in one region."""
    from sizewell.clouds.preflight.versions import LISTINGS

    return LISTINGS[cloud].images(client, account, region, versions)
