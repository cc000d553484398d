"""The checks of `check.py` that are about money: offers, fees, premiums."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from sizewell.sizing.catalog.catalog import EVERYWHERE, TO_ANOTHER_REGION, Catalog
from sizewell.sizing.catalog.records import Fee, Offer
from sizewell.sizing.providers import CLOUDS, cloud_of_service, clouds_where

NOT_ON_DEMAND = (
    *("p5e.48xlarge", "p6e-gb200.36xlarge", "u-p6e-gb200x72", "trn3-gen1-ultraserver", "trn3-gen2-ultraserver"),
    *("a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g", "a3-ultragpu-8g", "a4-highgpu-8g"),
)
SENTINELS = frozenset(Decimal(text) for text in ("0", "700", "999", "9999", "999999"))
FREE = ("aks.control_plane.free", "azureml")  # fees that are truly 0


def offers(catalog: Catalog) -> Iterator[str]:
    """Every offer is for a known machine, in a market that the machine is sold in; dates are in order."""
    withheld = {(w.cloud, w.instance_type, w.region, w.zone, w.market, w.date) for w in catalog.withheld}
    for o in catalog.all_offers:
        s = catalog.shapes_by_type.get((o.cloud, o.instance_type))
        if (o.cloud, o.instance_type, o.region, o.zone, o.market, o.effective_from) in withheld:
            yield f"{place(o)}: is withheld and offered at once"
        if s is None:
            yield f"{place(o)}: no such machine in shapes/"
        elif o.market not in s.markets:
            yield f"{place(o)}: {o.instance_type} is not sold in market {o.market}"
        if o.effective_to and o.effective_to <= o.effective_from:
            yield f"{place(o)}: ends {o.effective_to} before it starts {o.effective_from}"
        if o.instance_type in NOT_ON_DEMAND and o.market == "on-demand":
            yield f"{place(o)}: is not sold on demand"


def prices(catalog: Catalog) -> Iterator[str]:
    """Prices are positive, no sentinels, and plausible per accelerator."""
    for o in catalog.all_offers:
        s = catalog.shapes_by_type.get((o.cloud, o.instance_type))
        if o.usd_per_hour <= 0 or o.usd_per_hour in SENTINELS:
            yield f"{place(o)}: {o.usd_per_hour} USD is not a price"
        elif s and s.accelerators and not Decimal("0.01") <= o.usd_per_hour / s.accelerators <= 60:
            yield f"{place(o)}: {o.usd_per_hour / s.accelerators:.4f} USD per accelerator-hour is out of bounds"


def order(catalog: Catalog) -> Iterator[str]:
    """Spot is below on-demand (equal means no capacity), commitments too, three years not above one."""
    for offers in _by_region(catalog).values():
        newest = {o.market: o for o in offers if not o.zone}
        listed = newest.get("on-demand")
        for o in offers:
            if o.market == "spot" and listed and o.usd_per_hour >= listed.usd_per_hour:
                yield f"{place(o)}: spot {o.usd_per_hour} is not below on-demand {listed.usd_per_hour}"
            committed = o.market in ("reserved-1y", "reserved-3y", "flex-start")
            if committed and listed and o.usd_per_hour > listed.usd_per_hour:
                yield f"{place(o)}: {o.usd_per_hour} is above on-demand {listed.usd_per_hour}"
        one_year, three_years = newest.get("reserved-1y"), newest.get("reserved-3y")
        if one_year and three_years and three_years.usd_per_hour > one_year.usd_per_hour:
            yield f"{place(three_years)}: three years cost more than one ({one_year.usd_per_hour})"


def steady(catalog: Catalog) -> Iterator[str]:
    """A price is within a factor of three of the one it replaces, and on demand of the other open regions."""
    for key, offers in catalog.offers_by_type.items():
        last: dict[tuple[str, str, str], Offer] = {}
        for o in offers:
            before = last.get((o.region, o.market, o.zone))
            if before and not before.usd_per_hour / 3 <= o.usd_per_hour <= before.usd_per_hour * 3:
                yield f"{place(o)}: {o.usd_per_hour}, {before.usd_per_hour} before"
            last[o.region, o.market, o.zone] = o
        listed = [o.usd_per_hour for o in last.values() if o.market == "on-demand"]
        if listed and max(listed) > 3 * min(listed):
            yield (
                f"{'/'.join(key)}: on demand from {min(listed)} to {max(listed)}; is the price for one machine, "
                "or for a part of it?"
            )


def whole_tpu_machines(catalog: Catalog) -> Iterator[str]:
    """TPU prices are for the machine: n chips cost n times what one chip costs."""
    single = {
        (o.instance_type[:-2], o.region, o.market, o.effective_from): o.usd_per_hour
        for o in catalog.all_offers
        if re.fullmatch(r"(ct|tpu).*-1t", o.instance_type)
    }
    for o in catalog.all_offers:
        many = re.fullmatch(r"((?:ct|tpu).*-)(\d+)t", o.instance_type)
        chip = many and single.get((many[1], o.region, o.market, o.effective_from))
        if many and chip and o.usd_per_hour != chip * int(many[2]):
            yield f"{place(o)}: {o.usd_per_hour} is not {many[2]} x {chip}"


def hosts(catalog: Catalog) -> Iterator[str]:
    """Google bills GPU and host apart; the catalog has whole machines, so A3 Mega costs at least what A3 High does."""
    pairs = [(name, *pair) for name, cloud in CLOUDS.items() for pair in cloud.machines.costs_at_least]
    for cloud, more, less in pairs:
        for o in catalog.offers_by_type.get((cloud, more), ()):
            for other in catalog.offers(cloud, less, region=o.region, market=o.market):
                if o.market == "on-demand" and o.usd_per_hour < Decimal("0.9") * other.usd_per_hour:
                    missing = f"{o.usd_per_hour} is less than {less} ({other.usd_per_hour}); the host is missing"
                    yield f"{place(o)}: {missing}"


def doubtful_lists(catalog: Catalog) -> Iterator[str]:
    """Azure's list prices regions that cannot deploy and gives machines a second name: neither is taken at its word."""
    doubtful = clouds_where(lambda cloud: not cloud.machines.list_proves_region)
    second = {(w.cloud, w.instance_type) for w in catalog.withheld if w.market == "on-demand"}
    for o in catalog.all_offers:
        if o.cloud not in doubtful:
            continue
        if (o.cloud, o.instance_type) in second:
            yield f"{place(o)}: is withheld and offered at once"
        s = catalog.shapes_by_type.get((o.cloud, o.instance_type))
        if s and s.accelerators and o.market == "on-demand" and o.confidence == "high":
            yield f"{place(o)}: a listed price does not prove that the region can deploy it"


def fees(catalog: Catalog) -> Iterator[str]:
    """Fees: tiers start at nothing and ascend; 0 only where something is truly free, else the row is absent."""
    tiers: dict[tuple[str, str, str], list[Decimal]] = defaultdict(list)
    for f in catalog.fees:
        name = f"{f.cloud}/{f.key}"
        tiers[f.cloud, f.key, f.region].append(f.from_quantity)
        if f.usd < 0 or f.from_quantity < 0:
            yield f"{name}: {f.usd} from {f.from_quantity}"
        if f.unit == "percent" and f.usd > 100:
            yield f"{name}: {f.usd} percent"
    for (cloud, key, region), bounds in tiers.items():
        if min(bounds) != 0:
            yield f"{cloud}/{key} {region}: no tier from 0"
    for f in catalog.fees:
        if f.usd == 0 and f.key not in FREE and len(tiers[f.cloud, f.key, f.region]) == 1:
            yield f"{f.cloud}/{f.key}: 0 is not a price; leave out a fee that is unknown"


def steady_fees(catalog: Catalog) -> Iterator[str]:
    """A fee is within a factor of three of what the cloud takes in its other regions, tier by tier.

    Traffic between regions is not: it costs 0.01 within a country and fourteen times that out of Africa.
    """
    known: dict[tuple[str, str, Decimal], list[Fee]] = defaultdict(list)
    for f in catalog.fees:
        if f.usd > 0 and not f.key.startswith(TO_ANOTHER_REGION):
            known[f.cloud, f.key, f.from_quantity].append(f)
    for (cloud, key, _), same in known.items():
        least, most = min(same, key=lambda f: f.usd), max(same, key=lambda f: f.usd)
        if most.usd > 3 * least.usd:
            yield f"{cloud}/{key}: {most.usd} in {most.region}, {least.usd} in {least.region}"


def sagemaker(catalog: Catalog) -> Iterator[str]:
    """SageMaker's premium is not flat: 40 % on .xlarge, 25 % on larger G, 15 % on P4d to P5en."""
    for p in catalog.sagemaker_premiums.values():
        expected = 15 if p.instance_type[0] == "p" else 40 if p.instance_type.endswith(".xlarge") else 25
        if p.percent != expected:
            yield f"{p.instance_type}: {p.percent} %, the rule says {expected} %"
        s = catalog.shapes_by_type.get((cloud_of_service("sagemaker"), p.instance_type))
        if s is None or not s.managed:
            yield f"{p.instance_type}: is not a SageMaker type"


def tokens(catalog: Catalog) -> Iterator[str]:
    """Token prices are of a known seller and model, positive, an answer's token not below a prompt's, within bounds."""
    for p in catalog.token_prices:
        name = f"{p.seller}/{p.model}"
        if p.seller not in catalog.sellers or "tokens" not in catalog.sellers[p.seller].sells:
            yield f"{name}: no such seller of tokens"
        if p.model not in catalog.models:
            yield f"{name}: no such model"
        if not Decimal("0.001") <= p.input_usd <= p.output_usd <= 100:
            yield f"{name}: {p.input_usd} and {p.output_usd} USD a million are not prices"


def _by_region(catalog: Catalog) -> dict[tuple[str, str, str], list[Offer]]:
    """Offers by machine and region, newest of each market and zone, in force at the end of the data."""
    newest: dict[tuple[str, str, str, str, str], Offer] = {}
    for o in catalog.all_offers:  # sorted by date within a key
        newest[o.cloud, o.instance_type, o.region, o.market, o.zone] = o
    grouped: dict[tuple[str, str, str], list[Offer]] = defaultdict(list)
    for o in newest.values():
        if not o.effective_to:
            grouped[o.cloud, o.instance_type, o.region].append(o)
    return grouped


def place(o: Offer) -> str:
    where = o.region if o.region != EVERYWHERE else "everywhere"
    return f"{o.cloud}/{o.instance_type} {where}{' ' + o.zone if o.zone else ''} {o.market} {o.effective_from}"
