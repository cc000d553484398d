"""What ages: until when versions are supported, and which go together. Pure; a project's own rows lie over the shipped.

Three tables, each row with its source: `kubernetes.csv` (minor versions by managed service, with what follows each),
`releases.csv` (charts, add-ons, images, systems, drivers, interfaces, databases, models, machine types, runtimes of
functions, SKUs, whole services, what of both is closed to new ones, and versions of Kubernetes's APIs) and
`drivers.csv` (which branches of NVIDIA's driver and which CUDA an accelerator works with). An empty date is unknown,
never "for ever".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from sizewell.csvtables import Day, DayOrNone, Text, is_iso_day, one_of
from sizewell.sizing.catalog import overlay as overlays
from sizewell.sizing.catalog import table
from sizewell.sizing.errors import CatalogError, Fault

DATA: Final = Path(__file__).parent / overlays.AGES
SERVICES: Final = ("eks", "hyperpod", "aks", "gke")  # GKE's clusters follow a release channel and name no version
KINDS: Final = (
    "chart", "addon", "image", "system", "driver", "api", "database", "model", "machine", "runtime", "sku",
    "service", "closed", "kubernetes-api",
)  # fmt: skip
TABLES: Final = ("kubernetes", "releases", "drivers")
OLD_DAYS: Final = 90
"""A table that nobody checked for so long is said to be old where it decides."""

NEAR_DAYS: Final = 30
"""Within so many days of its end, a version is near it."""

VERSION: Final = re.compile(r"[1-9]\d*\.\d+")
FIRST: Final = "1.10"
"""Minor version with which the oldest of these services that has any record began; a smaller one lost its last zero."""
PLAUSIBLE_DAYS: Final = 5 * 365
"""No cloud supports a minor version of Kubernetes for more than three years, or states an end further ahead."""

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesVersion:
    """A minor version of Kubernetes on one managed service."""

    service: Annotated[str, one_of(SERVICES)]
    version: str
    supported_until: DayOrNone
    """Last day of standard support, or of the month that the service names; "" where it is unknown."""
    extended_until: DayOrNone
    """Last day of support that costs more or needs another plan; "" where there is none, or it is unknown."""
    built: bool
    """Whether all that components put onto it is known to run there, so that it may be a default."""
    autoscaler: Text
    """Tag of the cluster autoscaler of the same minor version; "" where the service scales itself."""
    ubuntu: Text
    """Ubuntu's release of machines with os_sku Ubuntu; "" where machines have another system."""
    note: Text
    source: table.Source
    checked: Day

    def until(self, support: Literal["standard", "extended"]) -> str:
        """Last day of that support; of the standard one where none is known to be longer. "" where it is unknown."""
        return self.extended_until or self.supported_until if support == "extended" else self.supported_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A version of something that is installed, run or called."""

    kind: Annotated[str, one_of(KINDS)]
    name: str
    version: str
    supported_until: DayOrNone
    """"" where it is unknown. Of what is closed the last day on which one could be created; "" for none any more."""
    kubernetes: Text
    """Minor versions that it is published for, as 1.33..1.36 or 1.35..; "" where it is unknown."""
    driver: int | None
    """Branch of NVIDIA's driver that it has."""
    cuda: Text
    """CUDA that it has, or that a driver runs at most."""
    note: Text
    grade: Literal["documented", "estimate", "unverified"]
    source: table.Source
    checked: Day

    @property
    def gone(self) -> bool:
        """Whether it had ended when it was looked at; an end that lay ahead then may have been postponed."""
        return bool(self.supported_until) and self.supported_until < self.checked


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRange:
    """Which branches of NVIDIA's driver and which CUDA an accelerator, or all of a family, work with."""

    accelerator: str  # key of an accelerator, or a family
    driver_min: int | None
    driver_max: int | None
    cuda_min: Text
    cuda_max: Text
    modules: Literal["", "open", "proprietary"] = ""
    """Which of NVIDIA's kernel modules alone drive it; "" where both do."""
    note: Text
    grade: Literal["documented", "estimate", "unverified"]
    source: table.Source
    checked: Day


RECORDS: Final[Mapping[str, type[Any]]] = {
    "kubernetes": KubernetesVersion,
    "releases": Release,
    "drivers": DriverRange,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A minor version that a cloud says it has; "" for an end that it does not state."""

    service: str
    version: str
    supported_until: str = ""
    extended_until: str = ""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedImages:
    """A family of machine images of a managed service: for which minor versions a cloud has one today."""

    name: str  # of its rows of kind system, as "eks/AL2023_x86_64_NVIDIA"
    version: str = ""  # of the row that is meant; "" for each
    kubernetes: tuple[str, ...] = ()  # where it has one for each version of Kubernetes
    offered: bool
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What a listing changes: rows for the project's own tables, and what to say of each service."""

    rows: tuple[KubernetesVersion, ...]
    systems: tuple[Release, ...] = ()
    new: tuple[str, ...]  # "eks 1.37"
    moved: tuple[str, ...]  # "eks 1.36: supported until 2027-08-02, now 2027-09-01"
    gone: tuple[str, ...]  # in the table as supported, and older than all that are listed


def doubts(known: Lifetimes, listed: Iterable[Listed], on: date) -> list[str]:
    """What in a listing no cloud would say, so that none of it is believed.

    >>> bad = Listed(service="eks", version="1.36", supported_until="2227-08-02", source="eks")
    >>> doubts(load(), [bad], date(2026, 11, 26))
    ['eks 1.36: supported until 2227-08-02, which is not within 5 years of 2026-11-26']
    """
    wrong: list[str] = []
    seen: dict[tuple[str, str], Listed] = {}
    for each in listed:
        shown = f"{each.service} {each.version}"
        if not VERSION.fullmatch(each.version):
            wrong.append(f"{each.service} {each.version!r}: is no minor version, as 1.36")
            continue
        before = seen.setdefault((each.service, each.version), each)
        if before != each:
            wrong.append(f"{shown}: is listed twice, with different ends")
        wrong += [f"{shown}: {said}" for said in wrong_ends(each.supported_until, each.extended_until, on)]
    for service in sorted({service for service, _ in seen}):
        newest = max(number(version) for of, version in seen if of == service)
        standing = [v for v, row in known.versions(service).items() if not ended(row.supported_until, on)]
        if standing and newest < min(map(number, standing)):
            wrong.append(f"{service}: lists nothing as new as {standing[0]}, which is supported")
    return wrong


def wrong_ends(until: str, extended: str, on: date) -> list[str]:
    """What is wrong with the two ends of a version's support, as far as nothing but a mistake says such a thing."""
    wrong = []
    for word, end in (("supported", until), ("extended", extended)):
        if not end:
            continue
        if not is_iso_day(end):
            wrong.append(f"{word} until {end!r}, which is no date")
        elif abs(age_days(end, on)) > PLAUSIBLE_DAYS:
            wrong.append(f"{word} until {end}, which is not within {PLAUSIBLE_DAYS // 365} years of {on}")
    if not wrong and until and extended and extended < until:
        wrong.append(f"extended support ends on {extended}, before standard support on {until}")
    return wrong


def accept(known: Lifetimes, listed: Iterable[Listed], on: date) -> Accepted:
    """Rows as the clouds state them today: new versions, moved ends, and an end for those that are listed no longer.

    A new version is nobody's default: what follows it is not known here.
    """
    rows: list[KubernetesVersion] = []
    told: dict[str, list[str]] = {"new": [], "moved": [], "gone": []}
    by_service: dict[str, list[Listed]] = {}
    for each in listed:
        by_service.setdefault(each.service, []).append(each)
    for service, offers in by_service.items():
        have = known.versions(service)
        for offer in offers:
            row = have.get(offer.version)
            if row is None:
                told["new"].append(f"{service} {offer.version}")
                row = KubernetesVersion(
                    service=service, version=offer.version, supported_until="", extended_until="", built=False,
                    autoscaler="", ubuntu=_newest_ubuntu(have), note="", source=offer.source, checked=on.isoformat(),
                )  # fmt: skip
            until, extended = offer.supported_until or row.supported_until, offer.extended_until or row.extended_until
            if offer.version in have and until != row.supported_until:
                was = f"supported until {row.supported_until or 'an unknown day'}"
                told["moved"].append(f"{service} {offer.version}: {was}, now {until}")
            rows.append(replace(row, supported_until=until, extended_until=extended, source=offer.source,
                                checked=on.isoformat()))  # fmt: skip
        oldest = min(number(offer.version) for offer in offers)  # a newer one may come to this region yet
        there = {offer.version for offer in offers}
        for version, row in have.items():
            if version not in there and number(version) > oldest:
                rows.append(replace(row, checked=on.isoformat()))
            if number(version) < oldest and not ended(row.supported_until, on):
                told["gone"].append(f"{service} {version}")
                yesterday = (on - timedelta(days=1)).isoformat()
                note = "listed no longer"
                rows.append(replace(row, supported_until=yesterday, extended_until="", built=False, note=note,
                                    source=offers[0].source, checked=on.isoformat()))  # fmt: skip
    new, moved, gone = (tuple(told[key]) for key in ("new", "moved", "gone"))
    return Accepted(rows=tuple(rows), new=new, moved=moved, gone=gone)


def accept_images(known: Lifetimes, listed: Iterable[ListedImages], on: date) -> Accepted:
    """Rows of families of images as the clouds have them today: those that went have ended, the others go with what
    is listed.
    """
    rows: list[Release] = []
    moved: list[str] = []
    gone: list[str] = []
    for each in listed:
        for row in known.releases:
            if row.kind != "system" or row.name != each.name or each.version not in ("", row.version):
                continue
            told = replace(row, source=each.source, checked=on.isoformat(), grade="documented")
            if not each.offered:
                if not ended(row.supported_until, on):
                    gone.append(f"{row.name} {row.version}")
                    yesterday = (on - timedelta(days=1)).isoformat()
                    rows.append(replace(told, supported_until=yesterday, note="listed no longer"))
                continue
            low, _, high = row.kubernetes.partition("..")
            newest = max(each.kubernetes, key=number, default=high)
            if high and newest != high:
                moved.append(f"{row.name} {row.version}: for Kubernetes up to {high}, now up to {newest}")
                told = replace(told, kubernetes=f"{low}..{newest}")
            rows.append(told)
    return Accepted(rows=(), systems=tuple(rows), new=(), moved=tuple(moved), gone=tuple(gone))


def _newest_ubuntu(have: Mapping[str, KubernetesVersion]) -> str:
    return [row.ubuntu for row in have.values()][-1] if have else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """The three tables."""

    kubernetes: tuple[KubernetesVersion, ...]
    releases: tuple[Release, ...]
    drivers: tuple[DriverRange, ...]

    def versions(self, service: str) -> dict[str, KubernetesVersion]:
        """What is known of a service, by minor version, oldest first."""
        rows = (row for row in self.kubernetes if row.service == service)
        return {row.version: row for row in sorted(rows, key=lambda row: number(row.version))}

    def default(self, service: str) -> KubernetesVersion:
        """What a cluster gets that names no version: the newest on which everything built is known to run.

        Every newer version is supported for longer, so no other outlives more stacks.
        """
        return [row for row in self.versions(service).values() if row.built][-1]

    def release(self, kind: str, name: str, version: str) -> Release | None:
        return next((row for row in self.releases if (row.kind, row.name, row.version) == (kind, name, version)), None)

    def driver_range(self, accelerator: str, family: str) -> DriverRange | None:
        """Of the accelerator itself, else of its family."""
        by_name = {row.accelerator: row for row in self.drivers}
        return by_name.get(accelerator.partition("-share-")[0]) or by_name.get(family)

    def passed(self, day: date) -> bool:
        """Whether a day is certainly over: it lies before the one on which somebody last looked at a version.

        A component has no clock, and what it says at `pulumi up` has to be the same as at the preview.
        """
        return day < max(date.fromisoformat(row.checked) for row in self.kubernetes)

    def checked(self, service: str, on: date) -> str:
        """When the one of a service's rows that counts on a day, and was longest not looked at, was looked at."""
        rows = [row for row in self.versions(service).values() if not ended(row.supported_until, on)]
        return min(row.checked for row in rows or self.versions(service).values())


def lasting_version(rows: Iterable[KubernetesVersion], version: str, on: date) -> str | None:
    """The oldest newer version whose standard support lasts; one that ends within a month would be left again at once.

    >>> lasting_version(load().versions("eks").values(), "1.33", date(2026, 11, 28))
    '1.35'
    """
    newer = [row for row in rows if number(row.version) > number(minor(version)) and row.supported_until]
    lasting = [row.version for row in newer if -age_days(row.supported_until, on) > NEAR_DAYS]
    return min(lasting, key=number, default=None)


def number(version: str) -> tuple[int, ...]:
    """A version as it compares.

    >>> number("1.9") < number("1.36")
    True
    """
    return tuple(int(part) for part in version.lstrip("v").split(".") if part.isdigit())


def minor(version: str) -> str:
    """Without the patch release.

    >>> minor("1.35.7"), minor("1.36"), minor("v1.34.1-gke.5")
    ('1.35', '1.36', '1.34')
    """
    return ".".join(version.lstrip("v").split(".")[:2])


def age_days(checked: str, today: date) -> int:
    """How long ago a row was looked at; negative where the clock is behind it."""
    return (today - date.fromisoformat(checked)).days


def ended(until: str, on: date) -> bool:
    """Whether support is known to have ended by a day.

    >>> ended("2026-11-30", date(2026, 12, 1)), ended("", date(2099, 1, 1))
    (True, False)
    """
    return bool(until) and date.fromisoformat(until) < on


def load(overlay: Path | None = None) -> Lifetimes:
    """The shipped tables with a project's own rows over them. Raises CatalogError with every wrong cell."""
    folder = overlay if overlay is not None else overlays.current()
    return _shipped() if folder is None else _with_overlay(folder, overlays.stamp(folder))


@functools.cache
def _shipped() -> Lifetimes:
    return _read(None)


@functools.lru_cache(maxsize=4)
def _with_overlay(folder: Path, _stamp: object) -> Lifetimes:
    return _read(folder)


def _read(overlay: Path | None) -> Lifetimes:
    faults: list[Fault] = []

    def rows(name: str, record: type[_Row]) -> tuple[_Row, ...]:
        file = f"{overlays.AGES}/{name}.csv"
        shipped = _table(record, file, DATA.parent / file, faults, [])
        places: list[str] = []
        own: list[_Row] = []
        if overlay is not None and (overlay / file).is_file():
            own = _table(record, f"{overlays.FOLDER}/{file}", overlay / file, faults, places)
            faults.extend(_implausible(own, places))
        return tuple(overlays.merged(f"{overlays.AGES}/{name}", shipped, own, places, faults))

    named = (overlay / overlays.AGES).glob("*.csv") if overlay is not None else ()
    for path in named:
        if path.stem not in TABLES:
            shown = f"{overlays.FOLDER}/{overlays.AGES}/{path.name}"
            faults.append(Fault(path=shown, message="is not a table of what ages", fix=f"one of {', '.join(TABLES)}"))
    lifetimes = Lifetimes(
        kubernetes=rows("kubernetes", KubernetesVersion),
        releases=rows("releases", Release),
        drivers=rows("drivers", DriverRange),
    )
    if faults:
        raise CatalogError(faults)
    return lifetimes


def faults_in(name: str, text: str) -> list[Fault]:
    """What is wrong with the text of a project's own table, before it is written; `name` as kubernetes or releases."""
    faults: list[Fault] = []
    places: list[str] = []
    shown = f"{overlays.FOLDER}/{overlays.AGES}/{name}.csv"
    rows = table.read(RECORDS[name], shown, text, sources={}, faults=faults, at=places)
    overlays.merged(f"{overlays.AGES}/{name}", [], rows, places, faults)
    return [*faults, *_implausible(rows, places)]


def _implausible(rows: Iterable[object], places: Iterable[str]) -> Iterator[Fault]:
    """Rows whose cells are each right, and which together say what cannot be."""
    for row, place in zip(rows, places, strict=False):
        if isinstance(row, KubernetesVersion):
            if not VERSION.fullmatch(row.version):
                yield Fault(path=f"{place}: version", found=row.version, allowed="a minor version, as 1.36")
            elif number(row.version) < number(FIRST):
                yield Fault(path=f"{place}: version", found=row.version, allowed=f"{FIRST} or later",
                            fix=f"quote it: a spreadsheet makes {row.version} of {row.version}0")  # fmt: skip
            wrong = wrong_ends(row.supported_until, row.extended_until, date.fromisoformat(row.checked))
            yield from (Fault(path=place, message=f"{row.service} {row.version}: {said}") for said in wrong)


def _table(record: type[_Row], shown: str, path: Path, faults: list[Fault], places: list[str]) -> list[_Row]:
    text = path.read_text(encoding="utf-8-sig")  # a spreadsheet begins with a mark
    return table.read(record, shown, text, sources={}, faults=faults, at=places)
