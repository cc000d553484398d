"""What ages in a project: findings for `doctor`, and rows of the clouds' own versions for its `catalog/ages/`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

from sizewell.resources.ages import CONFIG, Aging, aging, kubernetes, pressing
from sizewell.resources.recorded import Plan
from sizewell.sizing.catalog import lifetimes, overlay
from sizewell.sizing.catalog.lifetimes import Accepted, KubernetesVersion, Lifetimes, Listed
from sizewell.sizing.catalog.table import cells_of, columns_of
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision

TABLE: Final = f"{overlay.AGES}/kubernetes.csv"
REFRESH: Final = "sizewell ages refresh"


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
    """What presses among the versions of a stack's resources."""
    return pressing(aging(plan.resources, lifetimes.load(), today, stack=plan.stack))


def table_age(known: Lifetimes, today: date) -> tuple[str, str]:
    """(what is wrong with the age of the table of versions, the way out); ("", "") while it is young.

    >>> table_age(lifetimes.load(), date(2026, 12, 1))
    ('', '')
    >>> table_age(lifetimes.load(), date(2027, 6, 1))[0]
    'the table of versions was last checked on 2026-11-26, 187 days ago'
    >>> table_age(lifetimes.load(), date(2026, 1, 1))[0]
    'the clock says 2026-01-01, and the table of versions was checked on 2026-11-26, after it'
    """
    checked = min(known.checked(service) for service in ("eks", "aks", "gke"))
    days = lifetimes.age_days(checked, today)
    if days < -1:
        told = f"the clock says {today.isoformat()}, and the table of versions was checked on {checked}, after it"
        return told, "correct the clock"
    if days > lifetimes.OLD_DAYS:
        return f"the table of versions was last checked on {checked}, {days} days ago", REFRESH
    return "", ""


def read(path: Path) -> Decision | None:
    """A decision, None where it cannot be read, which `doctor` says of the file itself."""
    try:
        return Decision.from_json(path)
    except SizewellError:
        return None


def file_of(folder: Path, rows: Iterable[KubernetesVersion]) -> tuple[Path, str]:
    """The project's own table with these rows in it; what an earlier run put there of other versions stays."""
    path = folder / TABLE
    columns = columns_of(KubernetesVersion)
    merged: dict[tuple[str, str], list[str]] = {}
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            merged = {(row[0], row[1]): row for row in list(csv.reader(file))[1:]}
    merged |= {(row.service, row.version): cells_of(row) for row in rows}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        row for _, row in sorted(merged.items(), key=lambda each: (each[0][0], lifetimes.number(each[0][1])))
    )
    return path, text.getvalue()


def changed(known: Lifetimes, accepted: Accepted) -> tuple[KubernetesVersion, ...]:
    """Rows that say something that the tables do not, the day of the look apart from the rest."""
    return tuple(row for row in accepted.rows if row != known.versions(row.service).get(row.version))


def listed_by(cloud: str, client: Any, *, account: str, region: str) -> list[Listed]:
    """What one cloud offers in one region."""
    from sizewell.clouds.preflight import versions

    if cloud == "aws":
        return versions.offered_by_eks(client, region)
    if cloud == "azure":
        return versions.offered_by_aks(client, account, region)
    return versions.offered_by_gke(client, account, region)
