"""AWS's prices: the price list (bulk files line by line, or by query), spot history, savings plans, capacity blocks.

Bulk files are hundreds of megabytes: they are read as a stream, and of a line only what the line before all parsing
says to be a machine on demand is parsed.
"""

from __future__ import annotations

import csv
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError, Timeouts
from sizewell.clouds.connections import http_client
from sizewell.clouds.download import download, lines
from sizewell.clouds.prices.fee_meter import Meter
from sizewell.clouds.prices.meters import AWS
from sizewell.clouds.prices.price_list import FEES, ON_DEMAND, PLANS, SPOT, Begun, PriceList, Question, Row, Scope
from sizewell.clouds.rest import Reader, base_url
from sizewell.sizing.catalog.catalog import TO_ANOTHER_REGION
from sizewell.sizing.catalog.refresh import Listed, Place
from sizewell.sizing.catalog.refresh_fees import ListedFee
from sizewell.sizing.catalog.spot import WINDOW_DAYS

BULK: Final = "offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"
SOURCE: Final = "AWS Price List, AmazonEC2"
COLUMNS: Final = (
    *("TermType", "EffectiveDate", "Unit", "PricePerUnit", "Currency", "Instance Type", "Tenancy"),
    *("Operating System", "CapacityStatus", "Pre Installed S/W", "Region Code"),
)
REGIONS: Final = "offers/v1.0/aws/AmazonEC2/current/region_index.json"
_REGION: Final = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d+")  # and no zone of one, such as us-west-2-lax-1
_IN_REGION: Final = ("", "AWS Region")
"""Location types of what a region itself has; others are "AWS Local Zone", "AWS Wavelength Zone" and "AWS Outposts"."""
_ACCELERATED: Final = ("GPU instance", "Machine Learning ASIC Instances")  # what the list calls families of machines
_MARKS: Final = ('"OnDemand"', '"Shared"', '"Linux"', '"Used"')  # every line of a machine on demand has all of them
CAPACITY_BLOCK: Final = "capacity-block"
NOT_ENABLED: Final = ("OptInRequired", "AuthFailure")
"""What EC2 answers in a region that the account has not opted in to; the second is also its answer to wrong credentials
(docs.aws.amazon.com/ec2/latest/devguide/errors-overview.html, github.com/turbot/steampipe-plugin-aws/issues/75).
"""
_PLAN_TERMS: Final = {31_536_000: "reserved-1y", 94_608_000: "reserved-3y"}  # seconds
_REGIONAL: Final = "us-east-1"  # savings plans and the price list answer for all regions from here
_FIELD: Final = re.compile(r"\{(\w+)\}")  # of a key that is filled
_PREFIX: Final = r"(?:[A-Z]{2,4}\d*-|[a-z]{2}(?:-[a-z]+)+-\d-)?"  # how a usage type names its region, or does not


def machines(listed: Iterable[str], types: frozenset[str]) -> Iterator[Listed]:
    """Linux machines on demand of a bulk file's lines. CloudError where it is no price list, or ends too early.

    `types` are the machine types that are known; of all others the rows of those with accelerators are read too.
    """
    stream = iter(listed)
    header = _header(stream)
    at = {name: header.index(name) for name in COLUMNS}
    width = len(header)
    linux, used, shared = at["Operating System"], at["CapacityStatus"], at["Tenancy"]
    kind, term, software, option = at["Instance Type"], at["TermType"], at["Pre Installed S/W"], -1
    if "MarketOption" in header:
        option = header.index("MarketOption")
    family = header.index("Instance Family") if "Instance Family" in header else -1
    location = header.index("Location Type") if "Location Type" in header else -1
    seen = False
    line = ""
    for line in stream:
        if _MARKS[0] not in line or _MARKS[1] not in line or _MARKS[2] not in line or _MARKS[3] not in line:
            continue
        cells = next(csv.reader((line,)))
        if len(cells) != width:
            raise CloudError("aws price list", "unanswered", f"a line of {len(cells)} cells, the header has {width}")
        accelerated = family >= 0 and cells[family] in _ACCELERATED
        if (
            (cells[term], cells[linux], cells[used], cells[shared]) != ("OnDemand", "Linux", "Used", "Shared")
            or cells[software] not in ("", "NA")
            or (option >= 0 and cells[option] not in ("", "OnDemand"))
        ):
            continue
        seen = True
        if cells[kind] not in types and not accelerated:
            continue
        zone = ""
        if location >= 0 and cells[location] not in _IN_REGION:
            zone = cells[at["Region Code"]]
        yield Listed(
            cloud="aws",
            instance_type=cells[kind],
            region=cells[at["Region Code"]],
            zone=zone,
            market="on-demand",
            usd=cells[at["PricePerUnit"]],
            currency=cells[at["Currency"]],
            unit=cells[at["Unit"]],
            since=cells[at["EffectiveDate"]][:10],
            basis="list",
            source=SOURCE,
            accelerated=accelerated,
        )
    if line and not line.endswith("\n"):
        raise CloudError("aws price list", "unanswered", "the file is truncated")
    if not seen:
        raise CloudError("aws price list", "unanswered", "lists no Linux machine on demand")


def regions(index: Any) -> Iterator[Listed]:
    """A row without a price for each region or zone that has a price list, by the list's own index of regions."""
    listed = index.get("regions") if isinstance(index, dict) else None
    if not isinstance(listed, dict) or not listed:
        raise CloudError("aws price list", "unanswered", "the index of regions is empty")
    for region in sorted(listed):
        zone = "" if _REGION.fullmatch(region) else region
        yield Listed(cloud="aws", instance_type="", region=region, zone=zone, market="on-demand", usd="", currency="",
                     unit="", since="", basis="list", source=SOURCE, accelerated=True)  # fmt: skip


def _header(stream: Iterator[str]) -> list[str]:
    """The names of the columns, which stand after a few lines about the file."""
    for _ in range(10):
        line = next(stream, "")
        if line.startswith('"SKU"'):
            header = next(csv.reader((line,)))
            missing = [name for name in COLUMNS if name not in header]
            if missing:
                raise CloudError("aws price list", "unanswered", f"has no column {', '.join(missing)}")
            return header
        if line.lstrip().startswith("<"):
            break
    raise CloudError("aws price list", "unanswered", "is not a price list: no header line")


def queried(aws: Aws, region: str, types: frozenset[str]) -> Iterator[Listed]:
    """The same machines by GetProducts, a few megabytes instead of a bulk file, for who has a login."""
    asked = {
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
    }
    seen = False
    for product in _products(aws, "AmazonEC2", region, asked):
        attributes = product["product"].get("attributes", {})
        name = str(attributes.get("instanceType") or "")
        wanted = all(str(attributes.get(field) or "") in (value, "") for field, value in asked.items())
        accelerated = attributes.get("instanceFamily") in _ACCELERATED
        seen = seen or bool(name and wanted)
        if (name not in types and not accelerated) or not wanted:
            continue
        zone = ""
        if str(attributes.get("locationType") or "") not in _IN_REGION:
            zone = str(attributes.get("location") or attributes["locationType"])
        for since, dimension, currency, usd in _dimensions(product):
            yield Listed(
                cloud="aws",
                instance_type=name,
                region=str(attributes.get("regionCode") or ""),
                zone=zone,
                market="on-demand",
                usd=usd,
                currency=currency,
                unit=str(dimension.get("unit") or ""),
                since=since,
                basis="list",
                source="AWS Price List, GetProducts AmazonEC2",
                accelerated=accelerated,
            )
    if not seen:
        raise CloudError("aws price list", "unanswered", f"lists no Linux machine on demand in {region}")


def fees(aws: Aws, region: str, meters: Sequence[Meter] = AWS) -> Iterator[ListedFee]:
    """What stands beside machines in a region, by GetProducts: one question for each service and product family."""
    asked: dict[tuple[str, str, str, tuple[tuple[str, str], ...]], list[Meter]] = {}
    for meter in meters:
        asked.setdefault((meter.service, meter.family, meter.place, meter.asked), []).append(meter)
    pairs: list[ListedFee] = []
    for (service, family, place, fields), group in asked.items():
        wanted = {"productFamily": family, **dict(fields)} if family else dict(fields)
        for product in _products(aws, service, region, wanted, place=place):
            attributes = product["product"].get("attributes", {})
            usage = str(attributes.get("usagetype") or "")
            for meter in group:
                said = re.fullmatch(_PREFIX + meter.name, usage)
                named = {name: str(value) for name, value in attributes.items() if value} | (
                    said.groupdict() if said else {}
                )
                if (
                    said
                    and attributes.get(place) == region
                    and str(attributes.get("locationType") or "") in _IN_REGION
                    and all(attributes.get(name) == value for name, value in (*meter.attributes, *meter.asked))
                    and all(name in named for name in _FIELD.findall(meter.key))
                ):
                    rows = list(_fee(meter, region, product, named))
                    pairs += [row for row in rows if row.key.startswith(f"{TO_ANOTHER_REGION}.")]
                    yield from rows
    yield from _to_most_regions(pairs)


def _to_most_regions(pairs: Sequence[ListedFee]) -> Iterator[ListedFee]:
    """What data to another region usually costs: the price to most of them, of two equally common ones the more
    expensive.
    """
    first = [row for row in pairs if row.from_quantity == "0"]
    counted = Counter((row.usd, row.currency, row.unit) for row in first)
    if counted:
        usual = max(counted, key=lambda listed: (counted[listed], listed))
        row = next(row for row in first if (row.usd, row.currency, row.unit) == usual)
        source = f"{row.source}, the price to {counted[usual]} of {len(first)} regions"
        yield replace(row, key=TO_ANOTHER_REGION, name="Traffic to another region", source=source)


def _fee(meter: Meter, region: str, product: dict[str, Any], named: Mapping[str, str]) -> Iterator[ListedFee]:
    for since, dimension, currency, usd in _dimensions(product):
        yield from meter.tier(
            cloud="aws",
            region=region,
            start=str(dimension.get("beginRange") or "0"),
            usd=usd,
            currency=currency,
            unit=str(dimension.get("unit") or ""),
            since=since,
            source=f"AWS Price List, GetProducts {meter.service}",
            named=named,
        )


def _products(
    aws: Aws, service: str, region: str, fields: dict[str, str], *, place: str = "regionCode"
) -> Iterator[dict[str, Any]]:
    """Every product of a service in a region, all pages; each is JSON in a text (API_pricing_GetProducts)."""
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value}
               for name, value in {place: region, **fields}.items()]  # fmt: skip
    for text in aws.pages(
        "pricing", _REGIONAL, "get_products", "PriceList", ServiceCode=service, Filters=filters, FormatVersion="aws_v1"
    ):
        try:
            product = json.loads(text)
        except (TypeError, ValueError):
            product = None
        if not isinstance(product, dict) or not isinstance(product.get("product"), dict):
            raise CloudError("aws price list", "unanswered", f"{service}: an entry that is not a product")
        yield product


def _dimensions(product: dict[str, Any]) -> Iterator[tuple[str, dict[str, object], str, str]]:
    """Since when, the price dimension, its currency and the price, of every term on demand."""
    for term in (product.get("terms", {}).get("OnDemand") or {}).values():
        since = str(term.get("effectiveDate") or "")[:10]
        for dimension in (term.get("priceDimensions") or {}).values():
            prices = dimension.get("pricePerUnit") or {"": ""}
            currency = "USD" if "USD" in prices else next(iter(prices))
            yield since, dimension, currency, str(prices[currency])


def spot(aws: Aws, region: str, types: Sequence[str], on: date) -> Iterator[Listed]:
    """The newest spot quote of each type and zone up to the end of a day, by zone id."""
    zones = {
        row["ZoneName"]: row["ZoneId"]
        for row in aws.call("ec2", region, "describe_availability_zones").get("AvailabilityZones", [])
    }
    end = datetime.combine(on + timedelta(days=1), time(), UTC)
    newest: dict[tuple[str, str], tuple[datetime, dict[str, Any]]] = {}
    rows = aws.pages(
        "ec2",
        region,
        "describe_spot_price_history",
        "SpotPriceHistory",
        InstanceTypes=list(types),
        ProductDescriptions=["Linux/UNIX"],
        StartTime=end - timedelta(days=WINDOW_DAYS),
        EndTime=end,
    )
    for row in rows:
        zone = zones.get(row["AvailabilityZone"], row["AvailabilityZone"])
        key, when = (row["InstanceType"], zone), row["Timestamp"]
        if key not in newest or when > newest[key][0]:
            newest[key] = (when, row)
    for (name, zone), (when, row) in sorted(newest.items()):
        yield Listed(
            cloud="aws",
            instance_type=name,
            region=region,
            zone=zone,
            market="spot",
            usd=str(row["SpotPrice"]),
            currency="USD",
            unit="Hrs",
            since=when.date().isoformat(),
            basis="observed",
            source="EC2 DescribeSpotPriceHistory",
        )


def savings_plans(aws: Aws, region: str, types: Sequence[str]) -> Iterator[Listed]:
    """Rates of compute savings plans without upfront payment, of one and three years."""
    token = ""
    while True:
        answer = aws.call(
            "savingsplans",
            _REGIONAL,
            "describe_savings_plans_offering_rates",
            savingsPlanPaymentOptions=["No Upfront"],
            savingsPlanTypes=["EC2Instance"],
            products=["EC2"],
            filters=[
                {"name": "region", "values": [region]},
                {"name": "instanceType", "values": list(types)},
                {"name": "productDescription", "values": ["Linux/UNIX"]},
                {"name": "tenancy", "values": ["shared"]},
            ],
            **({"nextToken": token} if token else {}),
        )
        for rate in answer.get("searchResults", []):
            offering = rate.get("savingsPlanOffering", {})
            facts = {entry.get("name"): entry.get("value") for entry in rate.get("properties", [])}
            market = _PLAN_TERMS.get(offering.get("durationSeconds", 0))
            if market and facts.get("instanceType"):
                yield Listed(
                    cloud="aws",
                    instance_type=str(facts["instanceType"]),
                    region=str(facts.get("region", "")),
                    market=market,
                    usd=str(rate.get("rate", "")),
                    currency=str(offering.get("currency", "")),
                    unit=str(rate.get("unit", "")),
                    since="",
                    basis="list; no upfront, EC2 instance savings plan",
                    source="DescribeSavingsPlansOfferingRates",
                )
        following = str(answer.get("nextToken") or "")
        if not following:
            return
        if following == token:
            raise CloudError("savingsplans", "unanswered", "sent the same page again")
        token = following


def capacity_blocks(aws: Aws, region: str, types: Sequence[str], *, hours: int = 24) -> Iterator[Listed]:
    """What a block of one machine for a day costs by the hour, the cheapest that is offered for each type."""
    for name in types:
        offers = aws.call(
            "ec2",
            region,
            "describe_capacity_block_offerings",
            InstanceType=name,
            InstanceCount=1,
            CapacityDurationHours=hours,
        ).get("CapacityBlockOfferings", [])
        hourly = [
            (
                Decimal(offer["UpfrontFee"]) / Decimal(offer["CapacityBlockDurationHours"] * offer["InstanceCount"]),
                offer,
            )
            for offer in offers
            if offer.get("CapacityBlockDurationHours") and offer.get("InstanceCount")
        ]
        if hourly:
            usd, offer = min(hourly, key=lambda pair: pair[0])
            yield Listed(
                cloud="aws",
                instance_type=name,
                region=region,
                market="capacity-block",
                usd=str(usd.quantize(Decimal("0.0001"))),
                currency=str(offer.get("CurrencyCode", "")),
                unit="Hrs",
                since="",
                basis="list",
                source="EC2 DescribeCapacityBlockOfferings",
            )


def _begin(scope: Scope) -> Begun:
    """One client for all regions: credentials are looked for once, and not where nothing asks for them."""
    lock = threading.Lock()
    made: list[Aws] = []

    def client() -> Aws:
        with lock:
            if not made:
                made.append(Aws(scope.deadline))
        return made[0]

    return Begun(places=lambda region: _places(region, scope, client), sold=lambda: _sold(scope))


def _sold(scope: Scope) -> Iterator[Row]:
    http = http_client(connections=1)
    prices = Reader(service="aws price list", base=_address(), deadline=scope.deadline, timeouts=Timeouts(), http=http)
    return regions(prices.get(REGIONS))


def _address() -> str:
    return base_url("aws", "price_list", "https://pricing.us-east-1.amazonaws.com")


def _places(region: str, scope: Scope, client: Callable[[], Aws]) -> dict[Place, Question]:
    """Each market is asked apart, by the interface that has it."""

    def types(market: str) -> list[str]:
        known = [shape for shape in scope.catalog.shapes if shape.cloud == "aws"]
        return sorted(shape.instance_type for shape in known if market in shape.markets)

    def on_demand() -> Iterator[Row]:
        if scope.query:
            return queried(client(), region, frozenset(types(ON_DEMAND)))
        return _bulk(region, scope, frozenset(types(ON_DEMAND)))

    def planned(market: str) -> Iterator[Row]:
        return (row for row in savings_plans(client(), region, types(market)) if row.market == market)

    questions: dict[str, Question] = {
        ON_DEMAND: on_demand,
        FEES: lambda: fees(client(), region),
        SPOT: lambda: spot(client(), region, types(SPOT), scope.on),
        **{market: partial(planned, market) for market in PLANS},
        CAPACITY_BLOCK: lambda: capacity_blocks(client(), region, types(CAPACITY_BLOCK)),
    }
    wanted = scope.markets(capacity=(CAPACITY_BLOCK,))
    return {
        Place(cloud="aws", market=market, region=region, whole=market == ON_DEMAND): ask
        for market, ask in questions.items()
        if market in wanted
    }


def _bulk(region: str, scope: Scope, types: frozenset[str]) -> Iterator[Listed]:
    path = scope.downloads / f"aws-{region}.csv"
    if not path.exists():
        url = f"{_address().rstrip('/')}/{BULK.format(region=region)}"
        download("aws price list", url, path, scope.deadline)
    try:
        yield from machines(lines("aws price list", path), types)
    finally:
        path.unlink(missing_ok=True)


PRICES: Final = PriceList(begin=_begin, not_enabled=NOT_ENABLED)
