"""What a service would cost per token, from sellers whose machines nothing here provisions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from sizewell.sizing.catalog import Catalog
from sizewell.sizing.catalog.history import fresh_days
from sizewell.sizing.catalog.rates import OWN_RATE
from sizewell.sizing.catalog.records import EDGE, ON_PREMISES, PROVISIONABLE, Offer, Seller, Shape, TokenPrice
from sizewell.sizing.money import ESTIMATE, HOURS_PER_MONTH, Priced
from sizewell.sizing.workload.model import WorkloadSpec

_VARIANTS: Final = re.compile(r"-(?:instruct|it|chat|hf|fp8|base)(?=-|$)")  # one model, tuned or packed otherwise
BY_THE_API: Final = "tokens"  # the market of an alternative that is an API
_MILLION: Final = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByTheToken:
    """One seller's price of a service's tokens: US dollars a month at the stated traffic."""

    seller: Seller
    price: TokenPrice
    input_tokens: Decimal  # a month
    output_tokens: Decimal
    usd_per_month: Decimal


def by_the_token(spec: WorkloadSpec, catalog: Catalog, on: date | None = None) -> tuple[ByTheToken, ...]:
    """Every seller of the model per token, cheapest first; () where the load has no rate, nobody sells the model, or
    it is served with adapters of one's own.

    `on` is the day whose prices count (the newest where it is None).
    A service with a schedule has its traffic in those hours alone, one with a stated utilization in so much of them.
    """
    traffic, model = spec.traffic, spec.model.name if spec.model is not None else None
    if spec.kind != "inference" or traffic is None or traffic.requests_per_s is None or model is None:
        return ()
    if spec.model is not None and spec.model.adapters is not None:
        return ()
    share = Decimal(1) if spec.schedule is None else spec.schedule.on.hours_per_week / 168
    if spec.utilization is not None:
        share = Decimal(str(spec.utilization))
    requests = Decimal(str(traffic.requests_per_s)) * 3600 * HOURS_PER_MONTH * share
    inputs, outputs = (requests * (count or 0) for count in (traffic.input_tokens, traffic.output_tokens))
    if not outputs:
        return ()
    newest: dict[tuple[str, str], TokenPrice] = {}
    for price in catalog.token_prices:  # sorted by date within a model of a seller
        if on is not None and price.effective_from > on.isoformat():
            continue
        if family(price.model) == family(model) and price.seller in catalog.sellers:
            newest[price.seller, price.listed_as] = price
    offers = [
        ByTheToken(
            seller=catalog.sellers[price.seller],
            price=price,
            input_tokens=inputs,
            output_tokens=outputs,
            usd_per_month=(inputs * price.input_usd + outputs * price.output_usd) / _MILLION,
        )
        for price in newest.values()
    ]
    return tuple(sorted(offers, key=lambda offer: (offer.usd_per_month, offer.seller.seller, offer.price.listed_as)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ByTheMachine:
    """Machines of another cloud, by the hour on demand."""

    shape: Shape
    offer: Offer
    usd_per_hour: Decimal
    is_old: bool  # its price is too old to rely on

    @property
    def is_weak(self) -> bool:
        """Whether the seller's own list does not have the price."""
        return self.offer.confidence in ("low", ESTIMATE) or self.offer.is_estimate


def by_the_machine(catalog: Catalog, like: Shape, on: date, *, joined: bool) -> tuple[ByTheMachine, ...]:
    """Machines that nothing here builds with the same accelerators, cheapest first, and old prices last.

    `joined`: several of them work on one thing, so they need a network between them that the seller states.
    """
    found = []
    for shape in catalog.shapes:
        foreign = shape.cloud not in PROVISIONABLE and shape.cloud not in (ON_PREMISES, EDGE, like.cloud)
        if not foreign or (shape.accelerator, shape.accelerators) != (like.accelerator, like.accelerators):
            continue
        if joined and not shape.fabric:
            continue
        for offer in catalog.offers(shape.cloud, shape.instance_type, market="on-demand", on=on):
            price = catalog.price(shape.cloud, shape.instance_type, offer.region, "on-demand", on)
            if isinstance(price, Priced):
                days = (on - date.fromisoformat(offer.effective_from)).days
                old = price.terms != OWN_RATE and days > fresh_days("on-demand")
                found.append(ByTheMachine(shape=shape, offer=offer, usd_per_hour=price.amount, is_old=old))
    return tuple(sorted(found, key=lambda each: (each.is_old, each.usd_per_hour, each.offer.cloud, each.offer.region)))


def family(model: str) -> str:
    """A model's name without who published it and how it was tuned or packed.

    >>> family("meta-llama/Llama-3.1-8B-Instruct") == family("Llama-3.1-8B")
    True
    >>> family("meta-llama/Llama-3.1-70B") == family("meta-llama/Llama-3.3-70B")
    False
    """
    name = model.rpartition("/")[2].lower().removeprefix("meta-")
    return _VARIANTS.sub("", name)
