"""The catalog: what machines are, what they cost, which models are known. Loaded once, frozen, passed down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from sizewell.sizing.catalog import host, spot
from sizewell.sizing.catalog.estimates import Estimate, Ratios, estimate
from sizewell.sizing.catalog.fee_lists import FeeList
from sizewell.sizing.catalog.machine_prices import MachinePrices
from sizewell.sizing.catalog.rates import (
    OWN_RATE,
    Discounts,
)
from sizewell.sizing.catalog.records import (
    Accelerator,
    Architecture,
    Family,
    Fee,
    Offer,
    Processor,
    Quota,
    Region,
    SagemakerPremium,
    Seller,
    Shape,
    Slice,
    Sold,
    TokenPrice,
    Withheld,
    Zones,
)
from sizewell.sizing.money import ESTIMATE, Price, Priced, Unpriced
from sizewell.sizing.providers import cloud_of_service, clouds_where, machine_type

if TYPE_CHECKING:  # of records with pydantic, which a load does without
    from sizewell.sizing.catalog.in_stock import InStock

EVERYWHERE = "all"  # region of an offer or fee that has one price for all regions
TO_ANOTHER_REGION = "egress.inter_region"  # the fee to most other regions; behind a dot, to one of them
SAGEMAKER_PREMIUM = "sagemaker.premium."  # before a machine type: the percentage listed of it in a region
NOT_LISTED = ("estimate", OWN_RATE)  # how the basis of a row begins that is no list price


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Catalog:
    """All facts, read-only and sorted by key. `digest` tells two catalogs apart."""

    accelerators: Mapping[str, Accelerator]
    shapes: tuple[Shape, ...]
    slices: tuple[Slice, ...]
    families: tuple[Family, ...]
    processors: tuple[Processor, ...]  # of machine types without accelerators
    fees: Sequence[Fee]
    quotas: tuple[Quota, ...]
    models: Mapping[str, Architecture]
    owned: frozenset[tuple[str, str]]  # cloud and type of machines that a rate or price of the project's own names
    machine_prices: Mapping[str, MachinePrices]  # by cloud: of types without accelerators that have no offer
    fee_lists: tuple[FeeList, ...]  # of fees by class that have no row of their own, or an older one
    rates: Discounts  # of the project's own: `price`, `fee` and `fee_tiers` have them applied, `offers` has list prices
    withheld: tuple[Withheld, ...]
    sold: Mapping[tuple[str, str], tuple[Sold, ...]]  # cloud and type -> regions without a price that have it
    region_facts: Mapping[tuple[str, str], Region]
    zone_facts: Mapping[tuple[str, str, str], Zones]  # cloud, type and region
    sagemaker_premiums: Mapping[str, SagemakerPremium]
    sellers: Mapping[str, Seller]  # of inference and machines that nothing here provisions
    token_prices: tuple[TokenPrice, ...]
    digest: str
    as_of: str  # newest date of an accelerator machine's price that is no estimate, ISO
    all_offers: Sequence[Offer]
    offers_by_type: Mapping[tuple[str, str], tuple[Offer, ...]]
    shapes_by_type: Mapping[tuple[str, str], Shape]
    accelerator_names: Mapping[str, str]  # spelling, lower case -> key
    model_names: Mapping[str, str]
    in_stock: InStock | None = None  # what the clouds said of their stock; None: nobody asked
    memo: dict[tuple[object, ...], Any] = field(default_factory=dict, init=False)
    """Answers that follow from the facts alone and were worked out before; a catalog made of this one starts anew."""

    def accelerator(self, name: str) -> Accelerator:
        """The accelerator of that key or alias, in any case; KeyError with a did-you-mean.

        >>> from sizewell.sizing.catalog import load
        >>> load().accelerator("H100-SXM-80GB").key
        'h100-sxm'
        """
        return self.accelerators[_lookup("accelerator", name, self.accelerator_names)]

    def accelerators_named(self, name: str) -> tuple[Accelerator, ...]:
        """All whole accelerators that a person may mean: "A100" is the 40 and the 80 GB part, on SXM and on PCIe.

        Empty where nobody is meant. Shares of a GPU ("l4-share-1-8") have to be named themselves. Vendors, spaces and
        the order of what follows the name make no other device.

        >>> from sizewell.sizing.catalog import load
        >>> [[a.key for a in load().accelerators_named(name)] for name in ("h200", "NVIDIA H100 80GB SXM", "RTX4090")]
        [['h200-nvl', 'h200-sxm'], ['h100-sxm'], ['rtx-4090']]
        """
        head, *rest = name.lower().replace(" ", "-").replace("_", "-").split("-")
        keys = {
            key
            for key in self.accelerators
            if key.partition("-")[0] == head and {*rest} <= {*key.split("-")} and "-share-" not in key
        }
        exact = self.accelerator_names.get(spelling(name))
        if exact is not None:
            keys.add(exact)
        if not keys:
            if ("device names",) not in self.memo:
                self.memo["device names",] = _by_parts(self.accelerator_names, self.accelerators)
            keys = set(self.memo["device names",].get(device_parts(name), ()))
        return tuple(self.accelerators[key] for key in sorted(keys))

    def devices_on(self, clouds: Iterable[str]) -> Mapping[str, frozenset[str]]:
        """The accelerators that machines of these clouds carry whole, each with those of the clouds that have it.

        >>> from sizewell.sizing.catalog import load
        >>> sorted(load().devices_on(("aws", "gcp"))["l4"])
        ['aws', 'gcp']
        """
        asked = ("devices on", *sorted(clouds))
        if asked not in self.memo:
            pairs = {
                (s.accelerator, s.cloud) for s in self.shapes if s.cloud in asked and "-share-" not in s.accelerator
            }
            self.memo[asked] = {
                key: frozenset(cloud for each, cloud in pairs if each == key) for key, _ in pairs if key
            }
        return self.memo[asked]  # type: ignore[no-any-return]

    def device(self, shape: Shape) -> Accelerator | None:
        """What a machine type computes on: its accelerator, else its processor as one device of the runtime "cpu".

        None for a machine without accelerator whose processor is not known beforehand.

        >>> from sizewell.sizing.catalog import load
        >>> known = load()
        >>> known.device(known.shape("aws", "m7i.xlarge")).runtime, known.device(known.shape("gcp", "e2-standard-4"))
        ('cpu', None)
        """
        if shape.accelerator:
            return self.accelerators[shape.accelerator]
        asked = ("device", shape.cloud, shape.instance_type)
        if asked not in self.memo:
            self.memo[asked] = host.device(shape, self.processors)
        return self.memo[asked]  # type: ignore[no-any-return]

    def named_by(self, key: str, words: Iterable[str]) -> bool:
        """Whether an accelerator's key begins with one of the words that a person wrote for a kind of it.

        >>> from sizewell.sizing.catalog import load
        >>> load().named_by("h100-sxm", ["h100", "tpu"]), load().named_by("l4", ["h100"])
        (True, False)
        """
        return key.startswith(tuple(words))

    def says(self, cloud: str, instance_type: str, trait: str) -> bool:
        """Whether the name of a machine type says a trait of `FAMILY_TRAITS`, a row for it or not.

        >>> from sizewell.sizing.catalog import load
        >>> load().says("aws", "p9.48xlarge", "accelerated"), load().says("azure", "Standard_D4s_v5", "accelerated")
        (True, False)
        """
        asked = ("says", cloud, instance_type, trait)
        if asked not in self.memo:
            self.memo[asked] = any(self._families(cloud, instance_type, trait))
        return self.memo[asked]  # type: ignore[no-any-return]

    def sustained_use(self, cloud: str, instance_type: str) -> int:
        """Percent that the cloud takes off a machine that runs the whole month, and off what is attached to it.

        >>> from sizewell.sizing.catalog import load
        >>> [load().sustained_use("gcp", kind) for kind in ("n1-standard-4", "n2-custom-4-8192", "e2-standard-2")]
        [30, 20, 0]
        """
        return next((f.percent for f in self._families(cloud, instance_type, "sustained-use")), 0)

    def _families(self, cloud: str, instance_type: str, trait: str) -> Iterator[Family]:
        name = machine_type(cloud, instance_type)
        ours = (f for f in self.families if f.cloud == cloud and f.trait == trait)
        return (f for f in ours if re.fullmatch(f.pattern, name, re.IGNORECASE))

    def with_tpus(self, machine_types: Iterable[str]) -> Iterator[Shape]:
        """The machines of these types that are known where TPUs are sold."""
        clouds = clouds_where(lambda cloud: cloud.machines.tpus)
        named = (self.shapes_by_type.get((cloud, name)) for name in machine_types for cloud in clouds)
        return (shape for shape in named if shape is not None)

    def tpu_chips(self, machine_types: Iterable[str]) -> int:
        """TPU chips of a machine of the first of these types that has any; 0 where none has.

        >>> from sizewell.sizing.catalog import load
        >>> load().tpu_chips(["ct6e-standard-4t"]), load().tpu_chips(["g2-standard-4"])
        (4, 0)
        """
        return next((shape.accelerators for shape in self.with_tpus(machine_types) if shape.runtime == "tpu"), 0)

    def shape(self, cloud: str, instance_type: str) -> Shape:
        """The machine type of that name in that cloud; KeyError with a did-you-mean."""
        shape = self.shapes_by_type.get((cloud, instance_type))
        if shape is not None:
            return shape
        names = {shape.instance_type.lower(): shape.instance_type for shape in self.shapes if shape.cloud == cloud}
        if not names:
            clouds = sorted({shape.cloud for shape in self.shapes})
            raise KeyError(f"unknown cloud {cloud!r}; the catalog has {', '.join(clouds)}")
        return self.shapes_by_type[cloud, _lookup(f"{cloud} machine type", instance_type, names)]

    def offers(
        self,
        cloud: str,
        instance_type: str,
        *,
        region: str | None = None,
        market: str | None = None,
        on: date | None = None,
    ) -> tuple[Offer, ...]:
        """Offers in force on a day (None: the newest), by region, market and zone.

        A later row for the same region, zone and market replaces an earlier one from its date on. Without `region`,
        regions that not everybody may use (government, by request) are left out; name one to see its offers.
        """
        asked = ("offers", cloud, instance_type, region, market, on)
        if asked not in self.memo:
            self.memo[asked] = self._in_force(cloud, instance_type, region, market, on)
        return self.memo[asked]  # type: ignore[no-any-return]

    def _in_force(
        self, cloud: str, instance_type: str, region: str | None, market: str | None, on: date | None
    ) -> tuple[Offer, ...]:
        day = on.isoformat() if on is not None else "9999-12-31"
        newest: dict[tuple[str, str, str], Offer] = {}
        for offer in self.offers_by_type.get((cloud, instance_type), ()):  # sorted by date within a key
            if market is not None and offer.market != market:
                continue
            if region is None:
                fact = self.region_facts.get((cloud, offer.region))
                if fact is not None and fact.access != "open":
                    continue
            elif offer.region not in (region, EVERYWHERE):
                continue
            if offer.effective_from <= day:
                newest[offer.region, offer.market, offer.zone] = offer
        return tuple(o for _, o in sorted(newest.items()) if not o.effective_to or day < o.effective_to)

    def price(
        self, cloud: str, instance_type: str, region: str, market: str = "on-demand", on: date | None = None
    ) -> Priced | Unpriced:
        """US dollars per machine-hour; of a spot machine the usual price in the region (`spot.py`), of zones otherwise
        the cheapest, which the source then names.
        """
        listed = self._list_price(cloud, instance_type, region, market, on)
        return self.rates.machine(listed, cloud, instance_type, region, market)

    def places_of_unshaped(self, cloud: str, instance_type: str) -> frozenset[tuple[str, str]]:
        """Regions and markets with a list price of a type without accelerators, of which nothing else is known."""
        listed = self.machine_prices.get(cloud)
        known = listed is None or self.says(cloud, instance_type, "accelerated")
        return frozenset() if known or listed is None else listed.places(instance_type)

    def _list_price(
        self, cloud: str, instance_type: str, region: str, market: str, on: date | None
    ) -> Priced | Unpriced:
        if market == "spot":
            usual = self.spot(cloud, instance_type, on).get(region)
            if usual is not None:
                return Priced(usual.usd_per_hour, usual.source, usual.as_of, usual.weak)
        offers = self.offers(cloud, instance_type, region=region, market=market, on=on)
        if not offers:
            if not self.says(cloud, instance_type, "accelerated"):
                listed = self.machine_prices.get(cloud)
                day = on.isoformat() if on is not None else "9999-12-31"
                price = None if listed is None else listed.price(instance_type, region, market, day)
                if price is not None:
                    return price
            return Unpriced(self._why_unpriced(cloud, instance_type, region, market, on))
        best = min(offers, key=lambda offer: (offer.usd_per_hour, offer.zone))
        where = f" (zone {best.zone})" if best.zone else ""
        marked = f"; {best.basis}" if best.basis.startswith(ESTIMATE) else ""
        weak = ESTIMATE if best.is_estimate else ""
        return Priced(best.usd_per_hour, f"{best.source}{where}{marked}", best.effective_from, weak)

    def spot(self, cloud: str, instance_type: str, on: date | None = None) -> Mapping[str, spot.UsualSpot]:
        """What the type usually costs as spot, by region; regions without a quote or a published price are absent."""
        asked = ("spot", cloud, instance_type, on)
        if asked not in self.memo:
            day = on.isoformat() if on is not None else "9999-12-31"
            rows = self.offers_by_type.get((cloud, instance_type), ())
            listed = self._listed(cloud, instance_type, on)
            self.memo[asked] = spot.by_region(rows, day, listed, self._spot_discount(cloud, instance_type, on))
        return self.memo[asked]  # type: ignore[no-any-return]

    def _spot_discount(self, cloud: str, instance_type: str, on: date | None) -> Decimal | None:
        asked = ("spot shares", cloud, on)
        if asked not in self.memo:
            day = on.isoformat() if on is not None else "9999-12-31"
            quoted = {
                o.instance_type
                for o in self.all_offers
                if o.cloud == cloud and o.market == "spot" and o.basis.startswith(spot.QUOTED)
            }
            shares = {
                name: spot.share_of_listed(self.offers_by_type[cloud, name], self._listed(cloud, name, on), day)
                for name in sorted(quoted)
            }
            self.memo[asked] = {name: share for name, share in shares.items() if share is not None}
        return spot.usual_discount(instance_type, self.memo[asked])

    def _listed(self, cloud: str, instance_type: str, on: date | None) -> dict[str, Decimal]:
        """The on-demand price by region, estimates left out."""
        day = on.isoformat() if on is not None else "9999-12-31"
        listed: dict[str, Decimal] = {}
        for row in self.offers_by_type.get((cloud, instance_type), ()):  # sorted by date within a key
            in_force = row.effective_from <= day and (not row.effective_to or day < row.effective_to)
            if row.market == "on-demand" and not row.zone and in_force and not row.basis.startswith(NOT_LISTED):
                listed[row.region] = row.usd_per_hour
        return listed

    def estimates(self, cloud: str, instance_type: str, on: date | None = None) -> Mapping[str, Estimate]:
        """What the type probably costs on demand, by region, where it is sold and has no price; for choosing only."""
        asked = ("estimates", cloud, instance_type, on)
        if asked not in self.memo:
            known = {offer.region for offer in self.offers_by_type.get((cloud, instance_type), ())}
            places = known | {place.region for place in self.sold.get((cloud, instance_type), ())}
            shape = self.shapes_by_type.get((cloud, instance_type))
            sold = shape is not None and "on-demand" in shape.markets
            missing = sorted(places - self._listed(cloud, instance_type, on).keys() - {EVERYWHERE}) if sold else ()
            listed, ratios = self._listed_by_type(cloud, on) if missing else {}, self._ratios(cloud, on)
            guesses = {region: estimate(instance_type, region, listed, ratios) for region in missing}
            self.memo[asked] = {region: guess for region, guess in guesses.items() if guess is not None}
        return self.memo[asked]  # type: ignore[no-any-return]

    def _listed_by_type(self, cloud: str, on: date | None) -> dict[str, dict[str, Decimal]]:
        asked = ("listed", cloud, on)
        if asked not in self.memo:
            names = [name for where, name in self.offers_by_type if where == cloud]
            self.memo[asked] = {name: self._listed(cloud, name, on) for name in names}
        return self.memo[asked]  # type: ignore[no-any-return]

    def _ratios(self, cloud: str, on: date | None) -> Ratios:
        return self.memo.setdefault(("ratios", cloud, on), {})  # type: ignore[no-any-return]

    def may_be_priced(self, cloud: str, instance_type: str, region: str) -> bool:
        """False where no row and no rate gives a price on any day, so that `price` could only spell out why not."""
        asked = ("places", cloud, instance_type)
        if asked not in self.memo:
            self.memo[asked] = {offer.region for offer in self.offers_by_type.get((cloud, instance_type), ())}
        return bool(self.rates.rates) or not self.memo[asked].isdisjoint((region, EVERYWHERE))

    def _why_unpriced(self, cloud: str, instance_type: str, region: str, market: str, on: date | None) -> str:
        day = f" on {on.isoformat()}" if on is not None else ""
        reason = f"no price for {instance_type} in {region}, {market},{day or ' in the catalog'}"
        for item in self._withheld_of(cloud, instance_type):
            if item.market == market and item.region in (region, EVERYWHERE):
                return f"{reason}: {item.why}"
        shape = self.shapes_by_type.get((cloud, instance_type))
        if shape is not None and market not in shape.markets:
            sold = ", ".join(sorted(shape.markets)) or "none"
            return f"{reason}: not sold in that market (markets: {sold})"
        guess = self.estimates(cloud, instance_type, on).get(region) if market == "on-demand" else None
        return f"{reason}; {guess}" if guess is not None else reason

    def retired(self, cloud: str, instance_type: str) -> str:
        """The day on which a machine type was retired, by its withheld prices; "" where they name none.

        >>> from sizewell.sizing.catalog import load
        >>> load().retired("azure", "Standard_NC6s_v3"), load().retired("aws", "p3.2xlarge")
        ('2025-09-30', '')
        """
        days = (item.retired_on for item in self._withheld_of(cloud, instance_type))
        return next((day for day in days if day), "")

    def _withheld_of(self, cloud: str, instance_type: str) -> Sequence[Withheld]:
        by_type = self.memo.get(("withheld",))
        if by_type is None:
            by_type = self.memo["withheld",] = {}
            for item in self.withheld:
                by_type.setdefault((item.cloud, item.instance_type), []).append(item)
        rows: Sequence[Withheld] = by_type.get((cloud, instance_type), ())
        return rows

    def fee_tiers(self, cloud: str, key: str, region: str, on: date | None = None) -> tuple[Fee, ...]:
        """The tiers of a fee in force on a day, by lower bound; () where its price in that region is not known."""
        tiers = self.listed_tiers(cloud, key, region, on)
        if not self.rates.rates:
            return tiers
        return tuple(replace(tier, usd=self.own_usd(tier, region)) for tier in tiers)

    def own_usd(self, fee: Fee, region: str) -> Decimal:
        """What a tier of a fee costs in a region with the project's own rates."""
        price = self.own_price(fee, region)
        return price.amount if isinstance(price, Priced) else fee.usd

    def own_price(self, fee: Fee, region: str) -> Price:
        """The price of a listed tier in a region with the project's own rates."""
        listed = fee.price
        return self.rates.fee(listed, fee.cloud, fee.key, region, unit=fee.unit)

    def listed_tiers(self, cloud: str, key: str, region: str, on: date | None) -> tuple[Fee, ...]:
        """The same at list prices, without the project's own rates."""
        day = on.isoformat() if on is not None else "9999-12-31"
        for place in (region, EVERYWHERE):
            tiers: dict[object, Fee] = {}
            for fee in self.fees_of(cloud, key):
                if fee.region == place and fee.effective_from <= day:
                    tiers[fee.from_quantity] = fee
            if tiers:
                return self._newest(cloud, key, region, day, sorted(tiers.values(), key=lambda fee: fee.from_quantity))
        return self._newest(cloud, key, region, day, ())

    def _newest(self, cloud: str, key: str, region: str, day: str, rows: Sequence[Fee]) -> tuple[Fee, ...]:
        """The rows of a fee, or what a list says of it since."""
        since = max((row.effective_from for row in rows), default="")
        listed = (each.fee(key, region, day) for each in self.fee_lists if each.cloud == cloud)
        return next(((fee,) for fee in listed if fee is not None and fee.effective_from > since), tuple(rows))

    def every_fee(self, key: str, on: date) -> tuple[Fee, ...]:
        """The rows of a fee in all clouds and regions, and what the lists say of it."""
        rows = (fee for fee in self.fees if fee.key == key)
        return (*rows, *(fee for each in self.fee_lists for fee in each.everywhere(key, on.isoformat())))

    def fees_of(self, cloud: str, key: str) -> tuple[Fee, ...]:
        """Every row of a fee, in all regions, tiers and dates; worked out once."""
        by_key = self.memo.get(("fees",))
        if by_key is None:
            by_key = self.memo["fees",] = {}
            for fee in self.fees:
                by_key[fee.cloud, fee.key] = (*by_key.get((fee.cloud, fee.key), ()), fee)
        fees: tuple[Fee, ...] = by_key.get((cloud, key), ())
        return fees

    def fee(self, cloud: str, key: str, region: str, on: date | None = None) -> Priced | Unpriced:
        """US dollars per unit of the first tier (of a percentage: percent). A fee of another region is not guessed."""
        rows = self.fees_of(cloud, key) if self.rates.rates else ()
        unit = rows[0].unit if rows else ""
        return self.rates.fee(self._listed_fee(cloud, key, region, on), cloud, key, region, unit=unit)

    def _listed_fee(self, cloud: str, key: str, region: str, on: date | None) -> Priced | Unpriced:
        tiers = self.listed_tiers(cloud, key, region, on)
        if tiers:
            return tiers[0].price
        elsewhere = sorted({fee.region for fee in self.fees_of(cloud, key)})
        if region in elsewhere:
            first = min(fee.effective_from for fee in self.fees_of(cloud, key) if fee.region == region)
            return Unpriced(f"{cloud} {key}: no price for {region} before {first}")
        if elsewhere:
            return Unpriced(f"{cloud} {key}: no price for {region}; known for {', '.join(elsewhere)}")
        return Unpriced(f"{cloud} {key}: no price in the catalog")

    def sagemaker_premium(self, instance_type: str, region: str = "", on: date | None = None) -> Priced | Unpriced:
        """Percent that SageMaker adds to the EC2 price; the name may carry SageMaker's "ml." prefix.

        What a price list says of the region goes before what is known of the type.
        """
        name = instance_type.removeprefix("ml.")
        listed = (
            self.listed_tiers(cloud_of_service("sagemaker"), SAGEMAKER_PREMIUM + name, region, on) if region else ()
        )
        if listed:
            return listed[0].price
        premium = self.sagemaker_premiums.get(name)
        if premium is None:
            return Unpriced(f"SageMaker's premium on {instance_type} is not known")
        weak = ESTIMATE if premium.confidence == ESTIMATE else ""
        return Priced(premium.percent, premium.source, premium.checked, weak)

    def model(self, name: str) -> Architecture:
        """The model of that key or alias, in any case; KeyError with a did-you-mean."""
        return self.models[_lookup("model", name, self.model_names)]

    def tpu_generations(self) -> tuple[str, ...]:
        """Generations of TPU with slices that are sold, in the order of the accelerators: v5e and the like."""
        named = {item.accelerator: item.generation for item in self.slices}
        return tuple(named[key] for key in self.accelerators if key in named)

    def regions(self, cloud: str) -> tuple[str, ...]:
        """Regions in which the cloud offers anything, at a known price or not, sorted; () for one price everywhere."""
        asked = ("regions", cloud)
        if asked not in self.memo:
            regions = {o.region for o in self.all_offers if o.cloud == cloud and o.region != EVERYWHERE}
            regions |= {row.region for (where, _), rows in self.sold.items() if where == cloud for row in rows}
            self.memo[asked] = tuple(sorted(regions))
        return self.memo[asked]  # type: ignore[no-any-return]

    def region(self, cloud: str, region: str) -> Region | None:
        """Where a region is and who may use it; None where the catalog does not say."""
        return self.region_facts.get((cloud, region))

    def zones(self, cloud: str, instance_type: str, region: str) -> tuple[str, ...]:
        """The zones of a region that sell a machine type, by name, AWS's by id; () where the catalog does not say.

        >>> from sizewell.sizing.catalog import load
        >>> load().zones("gcp", "ct6e-standard-4t", "us-central1")
        ('us-central1-b',)
        """
        row = self.zone_facts.get((cloud, instance_type, region))
        return row.zones if row is not None else ()

    def zones_of(self, cloud: str, region: str) -> tuple[str, ...]:
        """What follows the region's name in those of its zones, NO_ZONES where it has none, () where that is unknown.

        >>> from sizewell.sizing.catalog import load
        >>> load().zones_of("gcp", "us-east1"), load().zones_of("azure", "westus"), load().zones_of("gcp", "us-west8")
        (('b', 'c', 'd'), ('none',), ())
        """
        fact = self.region_facts.get((cloud, region))
        return fact.zones if fact is not None else ()


def spelling(name: str) -> str:
    """The form in which names are compared: lower case, dashes for underscores."""
    return name.strip().lower().replace("_", "-")


_VENDORS: Final = re.compile(r"\b(?:nvidia|tesla|geforce|quadro|amd|instinct|radeon|intel|google|aws|gpu)\b")
_MEMORY_KIND: Final = re.compile(r"\b(?:hbm|gddr)\d\w*\b")


def device_parts(name: str) -> tuple[str, ...]:
    """The words and figures of an accelerator's name, in an order of their own: names with the same are of one device.

    >>> device_parts("NVIDIA-H100-80GB-HBM3"), device_parts("TPUv5e")
    (('100', '80', 'gb', 'h'), ('5', 'e', 'tpu', 'v'))
    """
    plain = re.sub(r"[^a-z0-9]+", " ", name.lower())
    plain = re.sub(r"\bsxm\d\b", "sxm", _MEMORY_KIND.sub(" ", _VENDORS.sub(" ", plain)))
    return tuple(sorted(re.findall(r"tpu|sxm|[a-z]+|\d+", plain)))


def _by_parts(names: Mapping[str, str], accelerators: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """The accelerators that have a name of these parts, each once; without shares of one."""
    made: dict[tuple[str, ...], list[str]] = {}
    for spelt, key in names.items():
        keys = made.setdefault(device_parts(spelt), [])
        if key in accelerators and key not in keys and "-share-" not in key:
            keys.append(key)
    made.pop((), None)
    return made


def _lookup(kind: str, name: str, names: Mapping[str, str]) -> str:
    key = names.get(spelling(name))
    if key is not None:
        return key
    import difflib

    near = [names[match] for match in difflib.get_close_matches(spelling(name), list(names), n=6, cutoff=0.5)]
    hint = f"; did you mean {' or '.join(list(dict.fromkeys(near))[:3])}?" if near else ""
    raise KeyError(f"unknown {kind} {name!r}{hint}")
