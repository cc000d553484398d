"""`sizewell prices refresh`: ask the sellers, check what they list, append what is new to the project's catalog."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from sizewell.cli import output, project
from sizewell.cli.answers import iso_date
from sizewell.sizing.errors import UsageError
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.clouds.calls import CloudError, Deadline
    from sizewell.clouds.prices.asking import Readings, Row
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.records import Shape
    from sizewell.sizing.catalog.refresh import Accepted, Listed, Place
    from sizewell.sizing.catalog.refresh_fees import AcceptedFees

    Question = Callable[[], Iterator[Row]]
    Builders = tuple[Callable[[str, "Scope"], dict[Place, Question]], Callable[["Scope"], Question]]

CLOUDS: Final = ("aws", "azure", "gcp")
OTHERS: Final = ("lambda", "nebius", "oci", "runpod", "vultr")  # by gpuhunt, where it is installed
FEES: Final = ("fees",)
PLANS: Final = ("reserved-1y", "reserved-3y")
KINDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {  # markets by kind of price and cloud
    "on-demand": {"aws": ("on-demand",), "azure": ("on-demand",), "gcp": ("on-demand",)},
    "spot": {"aws": ("spot",), "azure": ("spot",), "gcp": ("spot",)},
    "savings-plans": {"aws": PLANS, "azure": PLANS, "gcp": PLANS},
    "capacity-blocks": {"aws": ("capacity-block",), "gcp": ("flex-start", "calendar")},
    "fees": {"aws": FEES, "azure": FEES, "gcp": FEES},
}
WORK: Final = ".sizewell-refresh"  # beside catalog/: what was answered, until all of it is written
DEADLINE_S: Final = 3600.0
EXAMPLES_MAX: Final = 3


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cloud",
        default=",".join(CLOUDS),
        metavar="NAMES",
        help=f"{', '.join(CLOUDS)} (default: these), and by gpuhunt {', '.join(OTHERS)}",
    )
    parser.add_argument("--kind", default=",".join(KINDS), metavar="KINDS", help=f"{', '.join(KINDS)} (default: all)")
    parser.add_argument("--region", default="", metavar="NAMES", help="only these regions, separated by commas")
    parser.add_argument("--on", type=iso_date, metavar="DATE", help="the date of the rows (default: today)")
    parser.add_argument(
        "--query",
        action="store_true",
        help="read AWS's machine prices with GetProducts (needs credentials) instead of the bulk files",
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="read and check prices, but write nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from sizewell.clouds.calls import Deadline
    from sizewell.clouds.prices.asking import Journal, ask
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.loading import keep_compact
    from sizewell.sizing.catalog.overlay import FOLDER, current
    from sizewell.sizing.catalog.refresh import SOLD, accept, note_sold
    from sizewell.sizing.catalog.refresh_fees import ListedFee, accept_fees
    from sizewell.sizing.files import write_whole

    clouds = _chosen("--cloud", args.cloud, CLOUDS + OTHERS)
    kinds = _chosen("--kind", args.kind, tuple(KINDS))
    on: date = args.on or date.today()  # noqa: DTZ011 - the user's own calendar
    folder = current() or project.root() / FOLDER
    catalog = load()
    regions = tuple(word for word in args.region.split(",") if word)
    scope = Scope(
        catalog=catalog,
        kinds=kinds,
        on=on,
        deadline=Deadline(DEADLINE_S),
        downloads=folder.parent / WORK,
        query=args.query,
    )
    asked = questions(clouds, regions, scope)
    journal = Journal(folder.parent / WORK, on.isoformat())
    with output.progress("reading prices from the vendors") as tell:
        readings = ask(asked, journal, begun=tell)
    prices = [(place, rows) for place, rows in readings.rows if place.market not in (*FEES, SOLD)]
    accepted = accept(catalog, cast("list[tuple[Place, list[Listed]]]", prices), on)
    where_sold = [row for place, rows in readings.rows if place.market == SOLD for row in rows]
    note_sold(catalog, cast("list[Listed]", where_sold), accepted)
    listed_fees = [row for place, rows in readings.rows if place.market in FEES for row in rows]
    fees = accept_fees(catalog, cast("list[ListedFee]", listed_fees), on, accepted.offers)
    files = _files(folder, accepted, fees, on)
    if not args.dry_run:
        for path, text in files.items():
            write_whole(path, text)
        if files:
            keep_compact(folder)
        if not readings.failed:
            journal.close()
    written = [] if args.dry_run else list(files)
    _report(args, accepted, fees, readings, written, by_hand=_by_hand(catalog, clouds, kinds))
    if written and not args.json:
        _consequences(catalog, on)
    return 69 if readings.failed else 0


def _consequences(before: Catalog, on: date) -> None:
    """What moved, and which committed decisions would come out otherwise at the new prices."""
    from sizewell.cli.answers import is_decision, read_all, size_all
    from sizewell.cli.changes import changes
    from sizewell.cli.price_changes import print_price_changes
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.history import moves

    after = load()
    moved = moves(after, on, on, earlier=before)
    print()
    print_price_changes(moved, every=False)
    root = project.root()
    for path in project.decisions(root):
        specs = read_all(project.spec_paths(root, path.stem), after)
        was, now = (size_all(specs, catalog, stack=path.stem, on=on)[0] for catalog in (before, after))
        if is_decision(was) and is_decision(now):
            said = changes(was, now)
            if said:
                print(f"{path.stem} would change: {said[0]}" + (f", and {len(said) - 1} more" if len(said) > 1 else ""))
        elif is_decision(was) != is_decision(now):
            print(f"{path.stem}: {'nothing fits any more' if is_decision(was) else 'fits now'}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What every question of one refresh shares."""

    catalog: Catalog
    kinds: tuple[str, ...]
    on: date
    deadline: Deadline
    downloads: Path
    query: bool = False

    def markets(self, cloud: str) -> list[str]:
        """Those of a cloud that are asked for."""
        return [market for kind in self.kinds for market in KINDS[kind].get(cloud, ())]


def questions(clouds: tuple[str, ...], regions: tuple[str, ...], scope: Scope) -> dict[Place, Question]:
    """What to ask: a reading for each cloud, region and kind of price; without regions, all but a government's, and
    in which regions each cloud sells machines with accelerators at all.
    """
    from difflib import get_close_matches

    from sizewell.sizing.catalog.catalog import EVERYWHERE
    from sizewell.sizing.catalog.refresh import SOLD, Place

    facts = scope.catalog.region_facts
    asked: dict[Place, Question] = {}
    for region in regions:
        if not any((cloud, region) in facts for cloud in clouds) and not any(cloud in OTHERS for cloud in clouds):
            known = sorted({name for cloud, name in facts if cloud in clouds})
            near = " or ".join(get_close_matches(region, known, n=3))
            fix = f"did you mean {near}?" if near else f"name one such as {', '.join(known[:3])}"
            sellers = f"{' and '.join(clouds)} {'have' if len(clouds) > 1 else 'has'}"
            raise UsageError(f"--region: {sellers} no {region}\n  fix: {fix}")
    for cloud in clouds:
        if cloud in OTHERS:
            asked |= _other(cloud, regions, scope)
            continue
        build, sold = {"aws": _amazon, "azure": lambda: (_azure, _azure_sold), "gcp": _google}[cloud]()
        for where, region in sorted(facts):
            if where == cloud and (region in regions if regions else facts[where, region].access != "government"):
                asked |= build(region, scope)
        if not regions and "on-demand" in scope.kinds:
            asked[Place(cloud=cloud, market=SOLD, region=EVERYWHERE, whole=False)] = sold(scope)
    return asked


def _azure(region: str, scope: Scope) -> dict[Place, Question]:
    """One list has all markets of a region: it is read once, and each market takes its rows."""
    from sizewell.clouds.prices import azure
    from sizewell.sizing.catalog.refresh import Place

    reader = azure.reader(scope.deadline)
    lock = threading.Lock()
    read: list[list[Listed]] = []

    def rows(market: str) -> Question:
        def take() -> Iterator[Row]:
            if market in FEES:
                return azure.fees(reader, region)
            with lock:
                if not read:
                    read.append(list(azure.machines(reader, region)))
            return (row for row in read[0] if row.market == market)

        return take

    markets = scope.markets("azure")
    return {Place(cloud="azure", market=m, region=region, whole=m == "on-demand"): rows(m) for m in markets}


def _azure_sold(scope: Scope) -> Question:
    from sizewell.clouds.prices import azure

    return lambda: azure.sold(azure.reader(scope.deadline))


def _google() -> Builders:
    """A service's list has all regions: it is read once, by the first place that asks.

    A service that the catalog does not know any more lists nothing; its fees stay as they are, and so do all others.
    """
    from sizewell.clouds.calls import CloudError
    from sizewell.clouds.prices import gcp
    from sizewell.clouds.prices.meters import COMPUTE_ENGINE, GCP, NAMED, VERTEX
    from sizewell.sizing.catalog.refresh import Place

    lock = threading.Lock()
    read: dict[str, Any] = {}

    def listed(service: str, scope: Scope) -> Any:
        with lock:
            if "reader" not in read:
                read["reader"] = gcp.reader(scope.deadline)
            if service not in read:
                try:
                    if "ids" not in read and service in NAMED:
                        read["ids"] = gcp.services(read["reader"])
                    read[service] = gcp.skus(read["reader"], service, read.get("ids"))
                except CloudError as error:  # of all regions alike: a second region need not ask
                    read[service] = [] if error.reason == "missing" and service != COMPUTE_ENGINE else error
        if isinstance(read[service], CloudError):
            raise read[service]
        return read[service]

    def parts(scope: Scope) -> gcp.Parts:
        items = listed(COMPUTE_ENGINE, scope)
        with lock:
            if "parts" not in read:
                read["parts"] = gcp.parts(items, scope.on)
        prices: gcp.Parts = read["parts"]
        return prices

    def build(region: str, scope: Scope) -> dict[Place, Question]:
        shapes = sold_in(scope.catalog, "gcp", region)

        def rows(market: str) -> Question:
            def take() -> Iterator[Row]:
                if market in FEES:
                    services = sorted({meter.service for meter in GCP} | {VERTEX})
                    return gcp.fees({service: listed(service, scope) for service in services}, region, scope.on)
                return (row for row in gcp.machines(parts(scope), shapes, region) if row.market == market)

            return take

        markets = scope.markets("gcp")
        return {Place(cloud="gcp", market=m, region=region, whole=m == "on-demand"): rows(m) for m in markets}

    def sold(scope: Scope) -> Question:
        facts = scope.catalog
        shapes = [shape for shape in facts.shapes if shape.cloud == "gcp"]

        def take() -> Iterator[Row]:
            known = {
                (shape.instance_type, region)
                for cloud, region in facts.region_facts
                if cloud == "gcp"
                for shape in sold_in(facts, "gcp", region)
            }
            return gcp.sold(parts(scope), shapes, known)

        return take

    return build, sold


def _other(cloud: str, regions: tuple[str, ...], scope: Scope) -> dict[Place, Question]:
    from sizewell.clouds.prices import others
    from sizewell.sizing.catalog.refresh import Place

    shapes = [shape for shape in scope.catalog.shapes if shape.cloud == cloud]
    known = [(offer.cloud, offer.region) for offer in scope.catalog.all_offers]
    asked: dict[Place, Question] = {}

    def rows(market: str, region: str) -> Question:
        return lambda: (row for row in others.machines(cloud, region, shapes) if row.market == market)

    for region in others.regions(cloud, known):
        if not regions or region in regions:
            for market in ("on-demand", "spot"):
                if market in scope.kinds:
                    place = Place(cloud=cloud, market=market, region=region, whole=False)
                    asked[place] = rows(market, region)
    return asked


def sold_in(catalog: Catalog, cloud: str, region: str) -> list[Shape]:
    """The machine types that a region is known to have: a list of parts says nothing of that."""
    return [
        shape
        for shape in catalog.shapes
        if shape.cloud == cloud
        and (
            (cloud, shape.instance_type, region) in catalog.zone_facts
            or any(row.region == region for row in catalog.sold.get((cloud, shape.instance_type), ()))
            or any(row.region == region for row in catalog.offers_by_type.get((cloud, shape.instance_type), ()))
        )
    ]


def _amazon() -> Builders:
    """One client for all regions: credentials are looked for once."""
    lock = threading.Lock()
    made: list[Any] = []

    def build(region: str, scope: Scope) -> dict[Place, Question]:
        def client() -> Any:
            from sizewell.clouds.aws import Aws

            with lock:
                if not made:
                    made.append(Aws(scope.deadline))
            return made[0]

        return _aws(region, scope, client)

    return build, _aws_sold


def _aws_sold(scope: Scope) -> Question:
    def take() -> Iterator[Row]:
        from sizewell.clouds.calls import Timeouts
        from sizewell.clouds.connections import http_client
        from sizewell.clouds.prices import aws
        from sizewell.clouds.rest import Reader, base_url

        base = base_url("aws", "price_list", "https://pricing.us-east-1.amazonaws.com")
        http = http_client(connections=1)
        reader = Reader(service="aws price list", base=base, deadline=scope.deadline, timeouts=Timeouts(), http=http)
        return aws.regions(reader.get(aws.REGIONS))

    return take


def _aws(region: str, scope: Scope, client: Callable[[], Any]) -> dict[Place, Question]:
    from sizewell.clouds.prices import aws
    from sizewell.sizing.catalog.refresh import Place

    machines = [shape for shape in scope.catalog.shapes if shape.cloud == "aws"]

    def sold(market: str) -> list[str]:
        return sorted(shape.instance_type for shape in machines if market in shape.markets)

    def listed() -> Iterator[Listed]:
        from sizewell.clouds.download import download, lines
        from sizewell.clouds.rest import base_url

        path = scope.downloads / f"aws-{region}.csv"
        if not path.exists():
            base = base_url("aws", "price_list", "https://pricing.us-east-1.amazonaws.com").rstrip("/")
            download("aws price list", f"{base}/{aws.BULK.format(region=region)}", path, scope.deadline)
        try:
            yield from aws.machines(lines("aws price list", path), frozenset(sold("on-demand")))
        finally:
            path.unlink(missing_ok=True)

    asked: dict[Place, Question] = {}
    if "on-demand" in scope.kinds and scope.query:
        asked[Place(cloud="aws", market="on-demand", region=region)] = lambda: aws.queried(
            client(), region, frozenset(sold("on-demand"))
        )
    elif "on-demand" in scope.kinds:
        asked[Place(cloud="aws", market="on-demand", region=region)] = listed
    if "fees" in scope.kinds:
        asked[Place(cloud="aws", market="fees", region=region, whole=False)] = lambda: aws.fees(client(), region)
    if "spot" in scope.kinds:
        place = Place(cloud="aws", market="spot", region=region, whole=False)
        asked[place] = lambda: aws.spot(client(), region, sold("spot"), scope.on)
    if "savings-plans" in scope.kinds:
        for market in PLANS:
            place = Place(cloud="aws", market=market, region=region, whole=False)
            asked[place] = partial(_plans, client, region, sold(market), market)
    if "capacity-blocks" in scope.kinds:
        place = Place(cloud="aws", market="capacity-block", region=region, whole=False)
        asked[place] = lambda: aws.capacity_blocks(client(), region, sold("capacity-block"))
    return asked


def _plans(client: Callable[[], Any], region: str, types: list[str], market: str) -> Iterator[Listed]:
    from sizewell.clouds.prices import aws

    return (row for row in aws.savings_plans(client(), region, types) if row.market == market)


def _files(folder: Path, accepted: Accepted, fees: AcceptedFees, on: date) -> dict[Path, str]:
    """Files of rows of this day, one for each cloud and table; what an earlier run of the day put there stays."""
    from sizewell.sizing.catalog.records import Fee, Offer
    from sizewell.sizing.catalog.table import cells_of, columns_of

    files: dict[Path, str] = {}
    for table, record, key, records in (
        ("offers", Offer, ("cloud", "instance_type", "region", "zone", "market"), accepted.offers),
        ("fees", Fee, ("cloud", "key", "region", "from_quantity"), fees.fees),
    ):
        for cloud in sorted({each.cloud for each in records}):
            path = folder / table / f"{cloud}-{on.isoformat()}.csv"
            rows = [cells_of(each) for each in records if each.cloud == cloud]
            files[path] = _with_earlier(path, columns_of(record), key, rows)
    return files


def _with_earlier(path: Path, columns: tuple[str, ...], key: tuple[str, ...], rows: list[list[str]]) -> str:
    import csv
    import io

    at = [columns.index(name) for name in key]
    merged: dict[tuple[str, ...], list[str]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in list(csv.reader(file))[1:]:
                merged[tuple(row[index] for index in at)] = row
    merged |= {tuple(row[index] for index in at): row for row in rows}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(row for _, row in sorted(merged.items()))
    return text.getvalue()


def _by_hand(catalog: Catalog, clouds: tuple[str, ...], kinds: tuple[str, ...]) -> dict[str, str]:
    """The fees of the catalog that were not asked for, since nobody reads them, with the reason."""
    from sizewell.clouds.prices.meters import BY_HAND

    known = {(fee.cloud, fee.key) for fee in catalog.fees} if set(FEES) & set(kinds) else set()
    return {
        f"{cloud} {key}": reason
        for cloud in clouds
        for key, reason in BY_HAND.get(cloud, {}).items()
        if (cloud, key) in known
    }


def _report(
    args: argparse.Namespace,
    accepted: Accepted,
    fees: AcceptedFees,
    readings: Readings,
    written: list[Path],
    *,
    by_hand: Mapping[str, str],
) -> None:
    refused = {reason: [*accepted.refused.get(reason, ()), *fees.refused.get(reason, ())]
               for reason in sorted({*accepted.refused, *fees.refused})}  # fmt: skip
    if args.json:
        output.print_json(
            {
                "schema": schema_of("refresh"),
                "accepted": len(accepted.offers),
                "unchanged": accepted.unchanged,
                "fees": len(fees.fees),
                "fees_unchanged": fees.unchanged,
                "refused": {reason: len(rows) for reason, rows in refused.items()},
                "gone": accepted.gone,
                "by_hand": dict(by_hand),
                "uncovered": {
                    reason: {what: sorted(of) for what, of in sorted(found.items())}
                    for reason, found in sorted(accepted.uncovered.items())
                },
                "failed": {name: str(error) for name, error in readings.failed.items()},
                "not_enabled": sorted({f"{place.cloud} {place.region}" for place in readings.not_enabled}),
                "written": [project.shown(path) for path in written],
            }
        )
        return
    print(f"{plural(len(accepted.offers), 'price')} accepted, {accepted.unchanged:,} unchanged")
    if fees.fees or fees.unchanged:
        print(f"{plural(len(fees.fees), 'fee')} accepted, {fees.unchanged:,} unchanged")
    for reason, rows in refused.items():
        print(f"refused, {reason}: {len(rows):,}")
        for row in rows[:EXAMPLES_MAX]:
            print(f"  {row}")
    if accepted.gone:
        print(f"no longer listed: {len(accepted.gone):,}, such as {accepted.gone[0]}")
    for reason, things in sorted(accepted.uncovered.items()):
        _report_uncovered(reason, things)
    if by_hand:
        print(f"fees that no list is read for, kept as they are: {len(by_hand):,}")
        for reason in dict.fromkeys(by_hand.values()):
            print(f"  {', '.join(name for name, why in by_hand.items() if why == reason)}: {reason}")
    for path in written:
        print(f"wrote {project.shown(path)}: review and commit it")
    if readings.not_enabled:
        output.note(_not_enabled(readings.not_enabled))
    for message in _unanswered(readings.failed):
        output.note(message)
    if readings.failed:
        output.note("run the same command again: responses so far are cached")


def _report_uncovered(reason: str, things: Mapping[str, set[str]]) -> None:
    """What the sellers have and no row can take: nothing of it is left out without a word."""
    from sizewell.sizing.catalog.refresh import NO_REGION, NO_TYPE, NONE_KNOWN, NOT_READ

    print(f"{reason}: {len(things):,}")
    most = sorted(things, key=lambda what: (-len(things[what]), what))
    for what in most if reason in (NO_REGION, NOT_READ, NONE_KNOWN) else most[:EXAMPLES_MAX]:
        named = sorted(things[what])
        more = f" and {len(named) - EXAMPLES_MAX} more" if len(named) > EXAMPLES_MAX else ""
        print(f"  {what}" + (f" ({', '.join(named[:EXAMPLES_MAX])}{more})" if named else ""))
    if reason in (NOT_READ, NONE_KNOWN):
        return
    table = {NO_REGION: "regions.csv", NO_TYPE: "shapes.csv"}.get(reason, "sold.csv")
    print(f"  fix: add a row for it to catalog/{table}; the next refresh reads its prices")


def _not_enabled(places: Sequence[Place]) -> str:
    regions = sorted({place.region for place in places})
    kinds = " and ".join(sorted({place.market for place in places}))
    return (
        f"aws: not enabled in this account: {', '.join(regions)}; {kinds} prices there are unchanged\n"
        "  fix: nothing where you do not use them; otherwise enable the region in the account settings"
    )


def _unanswered(failed: Mapping[str, CloudError]) -> list[str]:
    """One message for each cloud and cause, with the places that it keeps from an answer."""
    from sizewell.clouds.prices.asking import UNREACHABLE_AFTER

    unknown: dict[str, list[CloudError]] = {}
    for name, error in failed.items():
        if error.local and error.reason == "unanswered":
            unknown.setdefault(name.partition(" ")[0], []).append(error)
    unreachable = {cloud: errors[0] for cloud, errors in unknown.items() if len(errors) >= UNREACHABLE_AFTER}
    places: dict[tuple[str, str, str], list[str]] = {}
    for name, error in failed.items():
        cloud, _, place = name.partition(" ")
        cause = unreachable.get(cloud, error)
        places.setdefault((cloud, cause.detail, cause.fix), []).append(place)
    messages = []
    for (cloud, detail, fix), names in places.items():
        kinds = ", ".join(dict.fromkeys(name.partition(" ")[0] for name in names))
        regions = len({name.partition(" ")[2] for name in names})
        where = names[0] if len(names) == 1 else f"{kinds} ({regions} region{'s' if regions > 1 else ''})"
        message = f"{cloud} {where}: no response, prices are unchanged: {detail}"
        messages.append(message + (f"\n  fix: {fix}" if fix else ""))
    return messages


def _chosen(flag: str, text: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    words = tuple(word for word in text.split(",") if word)
    wrong = [word for word in words if word not in allowed]
    if wrong or not words:
        raise UsageError(f"{flag}: must be of {', '.join(allowed)}, got {wrong[0] if wrong else text!r}")
    return words
