"""Google Cloud's prices: the Cloud Billing catalog lists parts (a core, a gibibyte, a GPU), and a machine is their sum.

The format is that of docs.cloud.google.com/billing/v1/how-tos/catalog-api, the names of the parts ("SKU descriptions")
those of build/mapping.csv in github.com/Cyclenerd/google-cloud-pricing-cost-calculator@dac3128 and of
pkg/providers/instanceprice in github.com/cloudpilot-ai/karpenter-provider-gcp. A machine has no price where one of its
parts has none.
"""

from __future__ import annotations

import os
import re
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.gcp import Google
from sizewell.clouds.prices.fee_meter import Meter
from sizewell.clouds.prices.meters import COMPUTE_ENGINE, GCP, NAMED, VERTEX
from sizewell.clouds.prices.price_list import FEES, ON_DEMAND, Begun, PriceList, Question, Row, Scope
from sizewell.clouds.rest import Reader
from sizewell.sizing.catalog import Catalog, billed
from sizewell.sizing.catalog.catalog import EVERYWHERE
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.catalog.refresh import PARTS, Listed, Place
from sizewell.sizing.catalog.refresh_fees import ListedFee

CLOUD: Final = "gcp"
SOURCE: Final = "Cloud Billing Catalog API"
GLOBAL: Final = "global"
KEY: Final = "GOOGLE_API_KEY"  # the catalog answers to a key as well as to a login
PAGE: Final = 5000  # the most that a page may have
_ID: Final = re.compile(r"[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}")  # of a service

# How a description says in which market a part is sold; the region at its end is said by `serviceRegions` too.
_WHERE: Final = r"(?: running)?(?: in [^:]+?)?"
_FORMS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), market)
    for pattern, market in (
        (rf"Commitment v1: (?P<part>.+?){_WHERE} for 1 Years?", "reserved-1y"),
        (rf"Commitment v1: (?P<part>.+?){_WHERE} for 3 Years?", "reserved-3y"),
        (rf"(?P<part>.+?) attached to Spot Preemptible VMs{_WHERE}", "spot"),
        (rf"Spot Preemptible (?P<part>.+?){_WHERE}", "spot"),
        (rf"(?P<part>.+?) attached to DWS Defined Duration VMs{_WHERE}", "flex-start"),
        (rf"DWS Defined Duration (?P<part>.+?){_WHERE}", "flex-start"),
        (rf"DWS Calendar Mode (?P<part>.+?){_WHERE}", "calendar"),
        (rf"Reserved (?P<part>.+?){_WHERE} in Calendar Mode", "calendar"),
        (rf"(?!Commitment|Reserved|DWS|Preemptible)(?P<part>.+?){_WHERE}", "on-demand"),
    )
)
_HOST: Final = re.compile(
    r"(?P<family>[A-Z]\d\w*)(?: AMD| Arm| Predefined)?(?: Instance)? (?P<part>Core|Cpu|Ram)", re.IGNORECASE
)
_SLICE: Final = re.compile(r"\w+ (?P<name>Nvidia \w+) \(1 gpu slice\)", re.IGNORECASE)  # its share of the host included
_SHARE: Final = re.compile(r"(?P<of>\d+/\d+) vGPU no lssd", re.IGNORECASE)  # the host included
_TPU: Final = re.compile(r"(?P<name>Tpu-?v?\d+\w*)", re.IGNORECASE)  # by the chip, the host included
_TRAINING: Final = re.compile(
    r"Vertex AI: Training/Pipelines (?P<fee>management fee )?on (?P<part>.+?)(?: running)? in .+", re.IGNORECASE
)
_LOCAL_SSD: Final = re.compile(r"(?:SSD backed Local Storage|Local SSD)", re.IGNORECASE)
_SAME_WORD: Final = {
    "plus": "mega",
    "96gb": "pro",
    "rtx6000": "6000",
}  # H100 80GB Plus is the Mega, RTX 6000 96GB the PRO
_NO_WORD: Final = frozenset({"nvidia", "tesla", "gpu"})
_UNITS: Final = {"core": ("h",), "ram": ("GiBy.h", "GBy.h"), "ssd": ("GiBy.mo",)}  # of all others: an hour
_LICENCE: Final = "workstation"  # a virtual workstation is a device's other price, and no other device
_DEVICES: Final = ("gpu", "slice", "share", "tpu")
_MARKETS: Final = ("on-demand", "spot", "flex-start", "calendar", "reserved-1y", "reserved-3y")
_HOURS: Final = 730  # by which a price of a month is divided (cloud.google.com/compute/vm-instance-pricing)
_NANO: Final = Decimal("1e-9")
_STEP: Final = Decimal("0.000001")

Kind = tuple[str, str]  # what a part is ("core", "ram", "gpu", "slice", "share", "tpu", "ssd") and of which name


@dataclass(frozen=True, slots=True)
class Part:
    """The price of one part as listed: text where it is checked later, US dollars or whatever `currency` says."""

    usd: Decimal | None
    currency: str
    unit: str
    since: str


Lists = Mapping[str, Sequence[Mapping[str, Any]]]
"""What the catalog lists of some services that a refresh can use, by the service's id."""
Parts = dict[tuple[Kind, str, str], list[Part]]
"""Prices by part, market and region; several where the list contradicts itself."""


def reader(deadline: Deadline, timeouts: Timeouts | None = None) -> Reader:
    """The catalog: with the key in `GOOGLE_API_KEY`, or else with Google's application default credentials."""
    google = Google(deadline, timeouts=timeouts)
    return google.reader("cloudbilling", authorized=not os.environ.get(KEY))


def services(prices: Reader) -> dict[str, str]:
    """The ids of all services by the names under which the catalog shows them."""
    listed = prices.pages("v1/services", items="services", parameter="pageToken", **_asked())
    return {str(row.get("displayName") or ""): str(row.get("serviceId") or "") for row in listed}


def _asked(**more: str) -> dict[str, str]:
    key = os.environ.get(KEY)
    return {"pageSize": str(PAGE), **more, **({"key": key} if key else {})}


def skus(prices: Reader, service: str, ids: Mapping[str, str] | None = None) -> list[Mapping[str, object]]:
    """What a service's list has of machines and fees, all regions and pages. CloudError where there is no list.

    A service that is named by its display name is looked up in `ids`; one that is not there lists nothing.
    """
    number = service if _ID.fullmatch(service) else (ids or {}).get(service, "")
    if not number:
        return []
    meters = [re.compile(meter.name) for meter in GCP if meter.service == service]
    if service == VERTEX:
        meters.append(_TRAINING)
    priced: list[Mapping[str, object]] = []
    listed = 0
    pages = prices.pages(
        f"v1/services/{number}/skus", items="skus", parameter="pageToken", **_asked(currencyCode="USD")
    )
    for item in pages:
        listed += 1
        description = str(item.get("description") or "")
        if part_of(description) is not None or any(name.fullmatch(description) for name in meters):
            priced.append(item)
    if not listed:
        raise CloudError("google prices", "unanswered", f"the list of service {service} is empty")
    return priced


def parts(items: Iterable[Mapping[str, Any]], on: date) -> Parts:
    """What machines are made of, in all regions, of Compute Engine's list."""
    prices: Parts = defaultdict(list)
    for item in items:
        named = part_of(str(item.get("description") or ""))
        if named is None:
            continue
        kind, market = named
        price = _price(item, on)
        for region in item.get("serviceRegions") or ():
            known = prices[kind, market, str(region)]
            if price not in known:
                known.append(price)
    return prices


def fees(lists: Lists, region: str, on: date, meters: Sequence[Meter] = GCP) -> Iterator[ListedFee]:
    """What stands beside machines in a region, and what is listed for all of them ("global")."""
    for meter in meters:
        for item in lists.get(meter.service, ()):
            places = item.get("serviceRegions") or ()
            if re.fullmatch(meter.name, str(item.get("description") or "")) and (region in places or GLOBAL in places):
                yield from _fee(meter, item, region if region in places else EVERYWHERE, on)
    yield from _management_fee(lists.get(VERTEX, ()), region, on)


def _management_fee(items: Sequence[Mapping[str, Any]], region: str, on: date) -> Iterator[ListedFee]:
    """What Vertex AI adds to a training machine, in percent: its list has the fee of a part, and the part with it.

    A row for each percentage that the parts give: who accepts them sees a contradiction.
    """
    prices: dict[tuple[str, bool], Part] = {}
    for item in items:
        said = _TRAINING.fullmatch(str(item.get("description") or ""))
        if said and region in (item.get("serviceRegions") or ()):
            prices[said["part"].lower(), bool(said["fee"])] = _price(item, on)
    rows: dict[Decimal, ListedFee] = {}
    for (part, is_fee), fee in prices.items():
        whole = prices.get((part, False))
        if not is_fee or whole is None or fee.usd is None or whole.usd is None or whole.usd <= fee.usd:
            continue
        percent = (fee.usd / (whole.usd - fee.usd) * 100).quantize(Decimal("0.1")).normalize()
        currency = fee.currency if fee.currency != "USD" else whole.currency
        unit = "percent" if fee.unit == whole.unit else f"{fee.unit} of {whole.unit}"
        rows[percent] = ListedFee(
            cloud=CLOUD, key="vertex.training", name="Vertex AI custom training: management fee on each compute SKU",
            region=region, usd=f"{percent:f}", currency=currency, unit=unit, meter_unit="percent", from_quantity="0",
            since=max(fee.since, whole.since), source=f"{SOURCE}, Vertex AI, management fee on {part}",
            catalog_unit="percent",
        )  # fmt: skip
    yield from rows.values()


def _fee(meter: Meter, item: Mapping[str, Any], region: str, on: date) -> Iterator[ListedFee]:
    info = _info(item, on)
    expression = info.get("pricingExpression") or {}
    units = (str(expression.get("usageUnit") or ""), str(expression.get("usageUnitDescription") or ""))
    for tier in expression.get("tieredRates") or ():
        price = tier.get("unitPrice") or {}
        usd = _usd(price)
        yield from meter.tier(
            cloud=CLOUD,
            region=region,
            start=f"{tier.get('startUsageAmount') or 0:g}",
            usd="" if usd is None else str(usd),
            currency=str(price.get("currencyCode") or ""),
            unit=meter.unit if meter.unit in units else units[0],
            since=str(info.get("effectiveTime") or "")[:10],
            source=f"{SOURCE}, {item.get('skuId')}",
        )


def part_of(description: str) -> tuple[Kind, str] | None:
    """Which part a description names and in which market it is sold; None where it is no part of a machine.

    >>> part_of("Nvidia H100 80GB Plus GPU running in Americas")
    (('gpu', '80gb h100 mega'), 'on-demand')
    >>> part_of("Spot Preemptible A3 Instance Core running in Iowa")
    (('core', 'a3'), 'spot')
    """
    for form, market in _FORMS:
        said = form.fullmatch(description)
        if said is not None:
            kind = _kind(said["part"])
            return (kind, market) if kind is not None else None
    return None


def _kind(part: str) -> Kind | None:
    if host := _HOST.fullmatch(part):
        return ("ram" if host["part"].lower() == "ram" else "core", host["family"].lower())
    if gpu_slice := _SLICE.fullmatch(part):
        return ("slice", _words(gpu_slice["name"]))
    if share := _SHARE.fullmatch(part):
        return ("share", share["of"])
    if tpu := _TPU.fullmatch(part):
        return ("tpu", tpu["name"].lower().replace("-", ""))
    if _LOCAL_SSD.fullmatch(part):
        return ("ssd", "")
    if gpu := billed.GPU.fullmatch(part):
        return ("gpu", _words(gpu["name"]))
    return None


def _words(name: str) -> str:
    """The words of a GPU's name, whatever their order: "H100 80GB Mega" and "H100 Mega 80GB" are one."""
    words = name.lower().replace("-", " ").split()
    return " ".join(sorted({_SAME_WORD.get(word, word) for word in words} - _NO_WORD))


def _info(item: Mapping[str, Any], on: date) -> Mapping[str, Any]:
    """The newest entry of a SKU's timeline that holds on the day; the last one where none does."""
    timeline = [info for info in item.get("pricingInfo") or () if isinstance(info, dict)]
    past = [info for info in timeline if str(info.get("effectiveTime") or "")[:10] <= on.isoformat()]
    return (past or timeline or [{}])[-1]


def _usd(price: Mapping[str, object]) -> Decimal | None:
    try:
        return Decimal(str(price.get("units") or 0)) + Decimal(str(price.get("nanos") or 0)) * _NANO
    except InvalidOperation:
        return None


def _price(item: Mapping[str, Any], on: date) -> Part:
    """`usd` is None where the list has no one price above zero: no part of a machine is free."""
    info = _info(item, on)
    expression = info.get("pricingExpression") or {}
    rates = [tier.get("unitPrice") or {} for tier in expression.get("tieredRates") or () if isinstance(tier, dict)]
    unit, since = str(expression.get("usageUnit") or ""), str(info.get("effectiveTime") or "")[:10]
    if len(rates) != 1:
        return Part(None, "USD" if rates else "", unit, since)
    usd = _usd(rates[0])
    return Part(usd if usd is not None and usd > 0 else None, str(rates[0].get("currencyCode") or ""), unit, since)


def machines(listed: Parts, shapes: Iterable[Shape], region: str) -> Iterator[Listed]:
    """The machines of a region whose parts are all listed there, in every market that has them all.

    A part that is listed at two prices makes two rows of a machine: who accepts them sees the contradiction.
    """
    for shape in shapes:
        for market in _MARKETS:
            if market not in shape.markets:
                continue
            needed = _needed(shape, listed, market, region)
            if needed is None:
                continue
            choices = [
                (quantity, kind[0], sorted(listed[kind, market, region], key=_order)) for kind, quantity in needed
            ]
            yield _listed(shape, region, market, [(quantity, what, prices[0]) for quantity, what, prices in choices])
            if any(len(prices) > 1 for _, _, prices in choices):
                yield _listed(
                    shape, region, market, [(quantity, what, prices[-1]) for quantity, what, prices in choices]
                )


def sold(listed: Parts, shapes: Sequence[Shape], known: Collection[tuple[str, str]]) -> Iterator[Listed]:
    """Machines with accelerators whose parts are listed on demand where `known` (type and region) does not have them,
    and accelerators that are a part of no known machine.
    """
    regions = sorted({region for kind, market, region in listed if kind[0] in _DEVICES and market == "on-demand"})
    devices = [shape for shape in shapes if shape.accelerators and "on-demand" in shape.markets]
    for region in regions:
        for shape in devices:
            if (shape.instance_type, region) not in known and _needed(shape, listed, "on-demand", region):
                yield _uncovered(shape.instance_type, region)
    needed = {kind for shape in shapes for kind in _kinds(shape)}
    for kind, market, region in sorted(listed):
        if kind[0] in _DEVICES and market == "on-demand" and kind not in needed and _LICENCE not in kind[1]:
            yield _uncovered(f"with {kind[1]}", region)


def _uncovered(name: str, region: str) -> Listed:
    return Listed(cloud=CLOUD, instance_type=name, region=region, market="on-demand", usd="", currency="", unit="",
                  since="", basis=PARTS, source=SOURCE, accelerated=True)  # fmt: skip


def _kinds(shape: Shape) -> tuple[Kind, ...]:
    """As which parts a machine's accelerators may be listed."""
    name = _words(shape.cloud_accelerator)
    return ("gpu", name), ("slice", name), ("share", "1/8"), ("tpu", shape.accelerator.replace("-", ""))


def _order(part: Part) -> tuple[bool, Decimal, str, str]:
    return (part.usd is None, part.usd or Decimal(0), part.currency, part.unit)


def _needed(shape: Shape, listed: Parts, market: str, region: str) -> list[tuple[Kind, Decimal]] | None:
    """The parts of a machine and how many of each; None where the list lacks one."""
    count = Decimal(shape.accelerators)
    whole: list[tuple[Kind, Decimal]] = []
    if shape.runtime == "tpu":
        whole = [(("tpu", shape.accelerator.replace("-", "")), count)]
    elif billed.eighths(shape):
        whole = [(("share", "1/8"), billed.eighths(shape) * count)]
    elif shape.accelerators:
        whole = [(("slice", _words(shape.cloud_accelerator)), count)]
    if whole and all((kind, market, region) in listed for kind, _ in whole):
        return whole
    if shape.runtime == "tpu" or billed.eighths(shape) or shape.vcpus is None or shape.memory_bytes is None:
        return None
    family = billed.series(shape)
    parted: list[tuple[Kind, Decimal]] = [
        (("core", family), Decimal(shape.vcpus)),
        (("ram", family), Decimal(shape.memory_bytes) / 2**30),
    ]
    if shape.accelerators:
        parted.append((("gpu", _words(shape.cloud_accelerator)), count))
    if shape.local_nvme_bytes:
        parted.append((("ssd", ""), Decimal(shape.local_nvme_bytes) / 10**9))  # disks of "375 GB" are gibibytes
    return parted if all((kind, market, region) in listed for kind, _ in parted) else None


def _listed(shape: Shape, region: str, market: str, chosen: list[tuple[Decimal, str, Part]]) -> Listed:
    """The sum; what is wrong with one part is wrong with the machine, and stands in the row as it was sent."""
    usd: Decimal | None = Decimal(0)
    currency, unit, since = "USD", "hour", ""
    for quantity, kind, part in chosen:
        if part.currency != "USD":
            currency = part.currency
        if part.unit not in _UNITS.get(kind, ("h",)):
            unit = part.unit or "no unit"
        each = part.usd
        if each is not None and part.unit == "GiBy.mo":
            each = each / _HOURS
        elif each is not None and part.unit == "GBy.h":
            each = each * 2**30 / 10**9
        usd = None if usd is None or each is None else usd + quantity * each
        since = max(since, part.since)
    return Listed(
        cloud=CLOUD,
        instance_type=shape.instance_type,
        region=region,
        market=market,
        usd="" if usd is None else str(usd.quantize(_STEP)),
        currency=currency,
        unit=unit,
        since=since,
        basis="list",
        source=SOURCE,
    )


def sold_in(catalog: Catalog, region: str) -> list[Shape]:
    """The machine types that a region is known to have: a list of parts says nothing of that."""
    return [
        shape
        for shape in catalog.shapes
        if shape.cloud == CLOUD
        and (
            (CLOUD, shape.instance_type, region) in catalog.zone_facts
            or any(row.region == region for row in catalog.sold.get((CLOUD, shape.instance_type), ()))
            or any(row.region == region for row in catalog.offers_by_type.get((CLOUD, shape.instance_type), ()))
        )
    ]


class _ServiceLists:
    """The lists of the services, each with all regions: read once, by the first place that asks.

    A service that the catalog does not know any more lists nothing; its fees stay as they are, and so do all others.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._lock = threading.Lock()
        self._reader: Reader | None = None
        self._ids: dict[str, str] | None = None
        self._read: dict[str, list[Mapping[str, object]] | CloudError] = {}
        self._parts: Parts | None = None

    def of(self, service: str) -> list[Mapping[str, Any]]:
        """What a service lists. CloudError, the same each time, where it could not be read."""
        with self._lock:
            if self._reader is None:
                self._reader = reader(self._scope.deadline)
            if service not in self._read:
                try:
                    self._read[service] = self._ask(self._reader, service)
                except CloudError as error:  # of all regions alike: a second region need not ask
                    gone = error.reason == "missing" and service != COMPUTE_ENGINE
                    self._read[service] = [] if gone else error
            answer = self._read[service]
        if isinstance(answer, CloudError):
            raise answer
        return answer

    def parts(self) -> Parts:
        """The parts of machines."""
        items = self.of(COMPUTE_ENGINE)
        with self._lock:
            if self._parts is None:
                self._parts = parts(items, self._scope.on)
            return self._parts

    def _ask(self, prices: Reader, service: str) -> list[Mapping[str, object]]:
        if self._ids is None and service in NAMED:
            self._ids = services(prices)
        return skus(prices, service, self._ids)


def _begin(scope: Scope) -> Begun:
    lists, catalog = _ServiceLists(scope), scope.catalog

    def take_sold() -> Iterator[Row]:
        regions = [region for cloud, region in catalog.region_facts if cloud == CLOUD]
        known = {(shape.instance_type, region) for region in regions for shape in sold_in(catalog, region)}
        return sold(lists.parts(), [shape for shape in catalog.shapes if shape.cloud == CLOUD], known)

    return Begun(places=lambda region: _places(lists, region, scope), sold=take_sold)


def _places(lists: _ServiceLists, region: str, scope: Scope) -> dict[Place, Question]:
    shapes = sold_in(scope.catalog, region)

    def rows(market: str) -> Question:
        def take() -> Iterator[Row]:
            if market == FEES:
                asked = sorted({meter.service for meter in GCP} | {VERTEX})
                return fees({service: lists.of(service) for service in asked}, region, scope.on)
            return (row for row in machines(lists.parts(), shapes, region) if row.market == market)

        return take

    return {
        Place(cloud=CLOUD, market=market, region=region, whole=market == ON_DEMAND): rows(market)
        for market in scope.markets(capacity=("flex-start", "calendar"))
    }


PRICES: Final = PriceList(begin=_begin, not_enabled=())
