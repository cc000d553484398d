"""`sizewell prices refresh`: ask the sellers, check what they list, append what is new to the project's catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from sizewell.cli import output, project
from sizewell.cli.commands import Arguments, Command
from sizewell.cli.parameters import iso_date
from sizewell.clouds.prices.price_list import FEES, MARKETS, ON_DEMAND, SPOT, Question, Scope
from sizewell.sizing.errors import UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.clouds.calls import CloudError
    from sizewell.clouds.prices.asking import Readings
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.refresh import Accepted, Listed, Place
    from sizewell.sizing.catalog.refresh_fees import AcceptedFees

BUILT_ON: Final = tuple(sorted(CLOUDS))
OTHERS: Final = ("lambda", "nebius", "oci", "runpod", "vultr")  # by gpuhunt, where it is installed
WORK: Final = ".sizewell-refresh"  # beside catalog/: what was answered, until all of it is written
DEADLINE_S: Final = 3600.0
EXAMPLES_MAX: Final = 3


@click.command(cls=Command, help="new prices from the vendors, into catalog/offers/")
@click.option(
    "--cloud",
    metavar="NAMES",
    default=",".join(BUILT_ON),
    help=f"{', '.join(BUILT_ON)} (default: these), and by gpuhunt {', '.join(OTHERS)}",
)
@click.option("--kind", metavar="KINDS", default=",".join(MARKETS), help=f"{', '.join(MARKETS)} (default: all)")
@click.option("--region", metavar="NAMES", default="", help="only these regions, separated by commas")
@click.option("--on", type=iso_date, metavar="DATE", help="the date of the rows (default: today)")
@click.option(
    "--query",
    is_flag=True,
    help="read AWS's machine prices with GetProducts (needs credentials) instead of the bulk files",
)
@click.option("-n", "--dry-run", is_flag=True, help="read and check prices, but write nothing")
@click.option("--json", is_flag=True, help="print JSON")
def command(args: Arguments) -> int:
    from sizewell.clouds.calls import Deadline
    from sizewell.clouds.prices.asking import Journal, ask
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.loading import keep_compact
    from sizewell.sizing.catalog.overlay import FOLDER, current
    from sizewell.sizing.catalog.refresh import SOLD, accept, note_sold
    from sizewell.sizing.catalog.refresh_fees import ListedFee, accept_fees
    from sizewell.sizing.files import write_whole

    clouds = _chosen("--cloud", args.cloud, BUILT_ON + OTHERS)
    kinds = _chosen("--kind", args.kind, tuple(MARKETS))
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
    prices = [(place, rows) for place, rows in readings.rows if place.market not in (FEES, SOLD)]
    accepted = accept(catalog, cast("list[tuple[Place, list[Listed]]]", prices), on)
    where_sold = [row for place, rows in readings.rows if place.market == SOLD for row in rows]
    note_sold(catalog, cast("list[Listed]", where_sold), accepted)
    listed_fees = [row for place, rows in readings.rows if place.market == FEES for row in rows]
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
    from sizewell.cli.answers import as_decided, is_decision, read_all, size_all
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
        was, now = (
            size_all(specs, as_decided(catalog, path), stack=path.stem, on=on)[0] for catalog in (before, after)
        )
        if is_decision(was) and is_decision(now):
            differences = changes(was, now)
            if differences:
                print(
                    f"{path.stem} would change: {differences[0]}"
                    + (f", and {len(differences) - 1} more" if len(differences) > 1 else "")
                )
        elif is_decision(was) != is_decision(now):
            print(f"{path.stem}: {'nothing fits any more' if is_decision(was) else 'fits now'}")


def questions(clouds: tuple[str, ...], regions: tuple[str, ...], scope: Scope) -> dict[Place, Question]:
    """What to ask: a reading for each cloud, region and kind of price; without regions, all but a government's, and
    in which regions each cloud sells machines with accelerators at all.
    """
    from difflib import get_close_matches

    from sizewell.clouds.prices.price_lists import PRICE_LISTS
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
        begun = PRICE_LISTS[cloud].begin(scope)
        for where, region in sorted(facts):
            if where == cloud and (region in regions if regions else facts[where, region].access != "government"):
                asked |= begun.places(region)
        if not regions and ON_DEMAND in scope.kinds:
            asked[Place(cloud=cloud, market=SOLD, region=EVERYWHERE, whole=False)] = begun.sold
    return asked


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
            for market in (ON_DEMAND, SPOT):
                if market in scope.kinds:
                    place = Place(cloud=cloud, market=market, region=region, whole=False)
                    asked[place] = rows(market, region)
    return asked


def _files(folder: Path, accepted: Accepted, fees: AcceptedFees, on: date) -> dict[Path, str]:
    """Files of rows of this date, one for each cloud and table; what an earlier run of the day put there stays."""
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

    known = {(fee.cloud, fee.key) for fee in catalog.fees} if FEES in kinds else set()
    return {
        f"{cloud} {key}": reason
        for cloud in clouds
        for key, reason in BY_HAND.get(cloud, {}).items()
        if (cloud, key) in known
    }


def _report(
    args: Arguments,
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
    if by_hand and readings.rows:
        print(f"fees that no list is read for, kept as they are: {len(by_hand):,}")
        for reason in dict.fromkeys(by_hand.values()):
            print(f"  {', '.join(name for name, why in by_hand.items() if why == reason)}: {reason}")
    for path in written:
        print(f"wrote {project.shown(path)}: review and commit it")
    if readings.not_enabled:
        for cloud in sorted({place.cloud for place in readings.not_enabled}):
            output.note(_not_enabled(cloud, [place for place in readings.not_enabled if place.cloud == cloud]))
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


def _not_enabled(cloud: str, places: Sequence[Place]) -> str:
    regions = sorted({place.region for place in places})
    kinds = " and ".join(sorted({place.market for place in places}))
    return (
        f"{cloud}: not enabled in this account: {', '.join(regions)}; {kinds} prices there are unchanged\n"
        "  fix: nothing where you do not use them; otherwise enable the region in the account settings"
    )


def _unanswered(failed: Mapping[str, CloudError]) -> list[str]:
    """One message for each cloud and cause, with the places that it keeps from an answer."""
    from sizewell.clouds.calls import ProxyError
    from sizewell.clouds.prices.asking import UNREACHABLE_AFTER

    of_proxy = {name: e for name, e in failed.items() if isinstance(e, ProxyError) and not e.refusal}
    if of_proxy:  # every place waits for the same
        silent = next(iter(of_proxy.values()))
        count = plural(len(of_proxy), "price list")
        return [
            f"{silent.detail}: {count} not read, those prices are unchanged\n  fix: {silent.fix}",
            *_unanswered({name: error for name, error in failed.items() if name not in of_proxy}),
        ]
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
