"""`sizewell prices`: what the catalog says of a price, what moved, rates of one's own, new prices from the sellers."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizewell.cli import output, project, refresh
from sizewell.cli.commands import Arguments, Group
from sizewell.cli.parameters import PATH, iso_date
from sizewell.cli.price_changes import print_price_changes
from sizewell.sizing.errors import UsageError
from sizewell.sizing.files import write_whole
from sizewell.sizing.money import Priced
from sizewell.sizing.units import plural
from sizewell.sizing.versions import schema_of

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.catalog.history import Move, Quote
    from sizewell.sizing.catalog.imports import Imported
    from sizewell.sizing.catalog.rates import Rate
    from sizewell.sizing.catalog.records import Fee
    from sizewell.sizing.money import Price

JSON = (".json", ".jsonl", ".ndjson")  # what Google's pricing export is written as
DESCRIPTION = """Show prices with their source, date and age; compare dates; import your own rates.

Rows and rates of your own are in catalog/ next to Pulumi.yaml; size, preview and policies use them.
"""
EXAMPLES = """examples:
  sizewell prices show p5.48xlarge                      every region and market
  sizewell prices show g6.xlarge --region us-east-1 --market spot
  sizewell prices show ebs.gp3.gb_month --cloud aws     a fee, by its key
  sizewell prices show groq                             an API priced per token
  sizewell prices diff --since 2026-07-01               what changed since
  sizewell prices import rates.csv                      negotiated rates, into catalog/rates/
  sizewell prices import focus-export.csv --dry-run     what a bill says you pay
  sizewell prices import cloud_pricing_export.json      Google Cloud's contract prices
  sizewell prices refresh --cloud azure --region westeurope

exit code: 0 success, 3 a price is not known, 64 bad input, 69 a vendor did not respond: run again
"""


command = Group("prices", help=DESCRIPTION, epilog=EXAMPLES)
_on = click.option("--on", type=iso_date, metavar="DATE", help="the date (default: today)")
_json = click.option("--json", is_flag=True, help="print JSON")


@command.command("show", help="a price: source, date, age, known history")
@click.argument("what", nargs=-1, required=True, metavar="TYPE...", help="machine types, keys of fees, or vendors")
@click.option("--cloud", metavar="NAME", help="only of this cloud")
@click.option("--region", default="", metavar="NAME", help="only in this region")
@click.option("--market", default="", metavar="NAME", help="only in this market, such as spot")
@_on
@_json
def _show(args: Arguments) -> int:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.history import quotes

    catalog, on = load(), _today(args)
    _check_where(catalog, args)
    offered: list[Quote] = []
    fees: list[dict[str, Any]] = []
    sellers: list[str] = []
    unpriced: list[str] = []
    for name in args.what:
        clouds = [cloud for cloud, kind in catalog.shapes_by_type if kind == name and args.cloud in (None, cloud)]
        if not clouds:
            asked = [cloud for cloud in catalog.machine_prices if args.cloud in (None, cloud)]
            clouds = [cloud for cloud in asked if catalog.places_of_unshaped(cloud, name)]
        priced = [
            quote
            for cloud in clouds
            for quote in quotes(catalog, cloud, name, region=args.region, market=args.market, on=on)
        ]
        offered += priced
        of_fee = _fees(catalog, name, args, on) if not clouds else []
        fees += of_fee
        places = {fee.region for fee in catalog.every_fee(name, on) if args.cloud in (None, fee.cloud)}
        if name.lower() in catalog.sellers:
            sellers.append(name.lower())
        elif not clouds and not places and not of_fee:
            raise UsageError(_unknown(catalog, name, args.cloud))
        elif not priced and not of_fee:
            places |= {offer.region for cloud in clouds for offer in catalog.offers(cloud, name, on=on)}
            unpriced.append(_unpriced(name, args, sorted(places)))
    if args.json:
        output.print_json([*(_as_json(quote, on) for quote in offered), *fees, *_sellers_json(catalog, sellers)])
    else:
        _print_quotes(offered, on)
        _print_fees(fees, on)
        for seller in sellers:
            _print_seller(catalog, seller)
    for message in unpriced:
        output.note(message)
    return 3 if unpriced or any(quote.usd_per_hour is None for quote in offered) else 0


def _check_where(catalog: Catalog, args: Arguments) -> None:
    """The cloud, region and market that a price is asked for exist: a slip is no price that nobody knows."""
    from difflib import get_close_matches

    offers_of = {cloud for cloud, _ in catalog.offers_by_type} | {fee.cloud for fee in catalog.fees}
    clouds = {cloud for cloud, _ in catalog.shapes_by_type} | offers_of
    regions = {region for cloud, region in catalog.region_facts if args.cloud in (None, cloud)}
    regions |= {offer.region for offer in catalog.all_offers if args.cloud in (None, offer.cloud)}
    regions |= {fee.region for fee in catalog.fees if args.cloud in (None, fee.cloud)}
    markets = {market for shape in catalog.shapes for market in shape.markets}
    for flag, value, known in (
        ("--cloud", args.cloud, clouds),
        ("--region", args.region, regions),
        ("--market", args.market, markets),
    ):
        if value and value not in known:
            near = get_close_matches(value.lower(), sorted(known), n=3)
            fix = f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(sorted(known))}"
            of = f" of {args.cloud}" if flag == "--region" and args.cloud else ""
            raise UsageError(f"{flag}: the catalog has no {flag[2:]} {value!r}{of}\n  fix: {fix}")


def _unpriced(name: str, args: Arguments, places: list[str]) -> str:
    """What is not known, and where it is."""
    asked = " ".join(filter(None, (args.cloud, args.region, args.market)))
    known = f"; known in {', '.join(places[:5])}" + (f" and {len(places) - 5} more" if len(places) > 5 else "")
    return f"no price of {name} is known{f' for {asked}' if asked else ''}{known if places else ''}"


def _fees(catalog: Catalog, key: str, args: Arguments, on: date) -> list[dict[str, Any]]:
    rows = [fee for fee in catalog.every_fee(key, on) if args.cloud in (None, fee.cloud)]
    places = sorted({(fee.cloud, fee.region) for fee in rows if args.region in ("", fee.region, "all")})
    return [
        _fee(tier, catalog.own_price(tier, region), region)
        for cloud, region in places
        for tier in catalog.listed_tiers(cloud, key, region, on)
    ] or [_own_fee(rate) for rate in _own_rates(catalog, key, args)]


def _fee(tier: Fee, price: Price, region: str) -> dict[str, Any]:
    """A tier of a fee as the project pays it."""
    paid = price if isinstance(price, Priced) and price.terms != "list" else None
    own = paid is not None and paid.terms == "own rate"  # in force now, and never old
    return {
        "cloud": tier.cloud,
        "fee": tier.key,
        "region": region,
        "unit": tier.unit,
        "from_quantity": tier.from_quantity,
        "usd": tier.usd if paid is None else paid.amount,
        "date": "" if own else tier.effective_from,
        "source": tier.source if paid is None else paid.source,
        "confidence": "own" if own else tier.confidence,
    }


def _own_rates(catalog: Catalog, key: str, args: Arguments) -> list[Rate]:
    """The project's own rates of a fee, one that the catalog need not have."""
    own = (rate for rate in catalog.rates.rates if rate.fee == key and rate.usd is not None)
    asked = ("", args.region) if args.region not in ("", "all") else None
    return [
        rate
        for rate in own
        if (not args.cloud or rate.cloud in ("", args.cloud)) and (asked is None or rate.region in asked)
    ]


def _own_fee(rate: Rate) -> dict[str, Any]:
    from sizewell.sizing.catalog.rates import OWN_RATE

    return {
        "cloud": rate.cloud or "any cloud",
        "fee": rate.fee,
        "region": rate.region or "all",
        "unit": "",
        "from_quantity": Decimal(0),
        "usd": rate.usd,
        "date": "",
        "source": OWN_RATE,
        "confidence": "own",
    }


def _sellers_json(catalog: Catalog, sellers: list[str]) -> list[dict[str, Any]]:
    from dataclasses import asdict

    return [
        {**asdict(catalog.sellers[name]), "tokens": [asdict(p) for p in catalog.token_prices if p.seller == name]}
        for name in sellers
    ]


def _print_seller(catalog: Catalog, name: str) -> None:
    """What a seller suits, its rates, and why nothing is built there."""
    seller = catalog.sellers[name]
    console = output.console()
    hourly = "" if "machines" not in seller.sells else f"; {seller.usd_per_hour or '?'} USD an hour"
    console.print(f"{seller.name}: {seller.hardware}; sells {', '.join(seller.sells)}{hourly}", style="bold")
    console.print(f"  suits {seller.suits}\n  not built: {seller.not_built}")
    prices = [price for price in catalog.token_prices if price.seller == name]
    if prices:
        made = output.table("model", "as", "USD/1M in", "out", "of", right=("USD/1M in", "out"))
        for price in prices:
            usd = (f"{price.input_usd:f}", f"{price.output_usd:f}")
            made.add_row(price.model, price.listed_as, *usd, price.effective_from)
        console.print(made)
    for source in dict.fromkeys([seller.source, *(price.source for price in prices)]):
        console.print(f"\n{source}")


def _unknown(catalog: Catalog, name: str, cloud: str | None) -> str:
    from difflib import get_close_matches

    from sizewell.sizing.catalog.machine_prices import listed_types
    from sizewell.sizing.catalog.records import PROVISIONABLE

    known = {kind for where, kind in catalog.shapes_by_type if cloud in (None, where)}
    known |= {kind for where in PROVISIONABLE if cloud in (None, where) for kind in listed_types(where)}
    known |= {fee.key for fee in catalog.fees if cloud in (None, fee.cloud)} | set(catalog.sellers)
    by_lower = {each.lower(): each for each in sorted(known)}
    near = [by_lower[each] for each in get_close_matches(name.lower(), by_lower, n=3)]
    fix = (
        f"did you mean {' or '.join(near)}?" if near else "name a machine type such as p5.48xlarge, or the key of a fee"
    )
    of = f" of {cloud}" if cloud else ""
    return f"no machine type or fee {name!r}{of} in the catalog\n  fix: {fix}"


def _as_json(quote: Quote, on: date) -> dict[str, Any]:
    return {
        "cloud": quote.cloud,
        "instance_type": quote.instance_type,
        "region": quote.region,
        "market": quote.market,
        "usd_per_hour": quote.usd_per_hour,
        "source": quote.source,
        "date": quote.date,
        "age_days": quote.age_days(on),
        "stale": quote.stale(on),
        "note": quote.note,
        "earlier": [{"date": day, "usd_per_hour": usd} for day, usd in quote.earlier],
    }


def _print_quotes(quotes: list[Quote], on: date) -> None:
    if not quotes:
        return
    console = output.console()
    made = output.table("machine", "where", "USD/hour", "of", "age", right=("USD/hour", "age"))
    sources: dict[str, list[str]] = {}
    for quote in quotes:
        age = quote.age_days(on)
        shown = "" if age is None else f"{age} d{' old' if quote.stale(on) else ''}"
        usd = "?" if quote.usd_per_hour is None else f"{quote.usd_per_hour.normalize():f}"
        where = f"{quote.cloud} {quote.region} {quote.market}"
        made.add_row(quote.instance_type, where, usd, quote.date, shown)
        remarks = [quote.source, quote.note, *(f"{usd.normalize():f} from {day}" for day, usd in quote.earlier)]
        for text in filter(None, remarks):
            sources.setdefault(text, []).append(f"{quote.region} {quote.market}")
    console.print(made)
    for text, places in sources.items():
        named = ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
        output_line = f"{named}: {text}"
        console.print(f"\n{output_line}")


def _print_fees(fees: list[dict[str, Any]], on: date) -> None:
    if not fees:
        return
    console = output.console()
    made = output.table("fee", "where", "USD", "per", "from", "of", "age", right=("USD", "from", "age"))
    for fee in fees:
        age = f"{(on - date.fromisoformat(fee['date'])).days} d" if fee["date"] else ""
        usd, least = f"{fee['usd'].normalize():f}", f"{fee['from_quantity'].normalize():f}"
        made.add_row(fee["fee"], f"{fee['cloud']} {fee['region']}", usd, fee["unit"], least, fee["date"], age)
    console.print(made)
    for source in dict.fromkeys(
        fee["source"] if fee["confidence"] == "own" else f"{fee['source']} ({fee['confidence']})" for fee in fees
    ):
        console.print(f"\n{source}")


@command.command("diff", help="which prices changed between two dates")
@click.option("--since", type=iso_date, required=True, metavar="DATE", help="the date to compare with")
@click.option("--against", type=PATH, metavar="FOLDER", help="compare with the catalog in this folder")
@click.option("--all", is_flag=True, help="print every price that changed")
@_on
@_json
def _diff(args: Arguments) -> int:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.history import moves

    on = _today(args)
    if args.against is None and args.since >= on:
        raise UsageError(f"--since: must be before {on.isoformat()}, got {args.since.isoformat()}")
    if args.against is not None and not args.against.is_dir():
        raise UsageError(f"--against: {args.against}: no such folder")
    catalog = load()
    moved = moves(catalog, args.since, on, earlier=load(args.against) if args.against else None)
    if args.json:
        output.print_json([_move_json(move) for move in moved])
        return 0
    print_price_changes(moved, every=args.all)
    if not moved:
        print(f"no price changed between {args.since.isoformat()} and {on.isoformat()}")
    return 0


def _move_json(move: Move) -> dict[str, Any]:
    return {
        "cloud": move.cloud,
        "instance_type": move.instance_type,
        "region": move.region,
        "market": move.market,
        "before": move.before,
        "after": move.after,
        "percent": None if move.percent is None else round(move.percent, 2),
        "source": move.source,
    }


@command.command("import", help="rates of your own, into catalog/rates/")
@click.argument(
    "file",
    type=PATH,
    help="rates, a table of rates, a FOCUS export, AWS's Cost and Usage Report, Azure's or Google's price sheet",
)
@click.option("-n", "--dry-run", is_flag=True, help="print the rates and write nothing")
@_json
def _import(args: Arguments) -> int:
    from sizewell.sizing.catalog import load
    from sizewell.sizing.catalog.imports import as_yaml, read_rates
    from sizewell.sizing.catalog.overlay import FOLDER, current

    imported = _sheet_of_google(args.file) if args.file.suffix in JSON else read_rates(args.file, load().shapes_by_type)
    for reason, count in imported.left_out.items():
        output.note(f"{count:,} rows left out: {reason}")
    if not imported.rates:
        raise UsageError(f"{args.file}: has no rates\n  fix: see `sizewell docs own-rates` for the forms")
    text = as_yaml(imported.rates, args.file.name)
    document = {
        "schema": schema_of("import"),
        "rates": len(imported.rates.rates),
        "commitments": len(imported.rates.commitments),
        "left_out": dict(imported.left_out),
        "text": text,
    }
    folder = current() or project.root() / FOLDER
    path = folder / "rates" / f"{args.file.stem}.yaml"
    _tried(folder, path, text)
    if args.dry_run:
        if args.json:
            output.print_json({**document, "file": None})
        else:
            print(text, end="")
        return 0
    write_whole(path, text)
    if args.json:
        output.print_json({**document, "file": project.shown(path)})
        return 0
    counts = f"{plural(len(imported.rates.rates), 'rate')}"
    if imported.rates.commitments:
        counts += f", {plural(len(imported.rates.commitments), 'commitment')}"
    print(f"wrote {project.shown(path)}: {counts}; review and commit it")
    return 0


command.add_command(refresh.command, "refresh")


def _tried(folder: Path, path: Path, text: str) -> None:
    """Read a copy of the overlay with the new file in it: what is wrong is said before anything is written."""
    from shutil import copytree
    from tempfile import TemporaryDirectory

    from sizewell.sizing.catalog import load

    with TemporaryDirectory() as place:
        trial = Path(place) / folder.name
        if folder.is_dir():
            copytree(folder, trial)
        write_whole(trial / path.relative_to(folder), text)
        load(overlay=trial)


def _sheet_of_google(path: Path) -> Imported:
    from sizewell.clouds.prices.google_sheet import read_sheet
    from sizewell.sizing.catalog import load

    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    return read_sheet(path, load(), date.today())  # noqa: DTZ011 - the user's own calendar


def _today(args: Arguments) -> date:
    return args.on or date.today()  # noqa: DTZ011 - the user's own calendar
