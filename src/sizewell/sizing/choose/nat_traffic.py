"""What machines pull through a NAT gateway, in words beside the bill: the gateway's hours are a line of the decision.

Gigabytes are no line, because nobody states how often machines start; a preview bills them where `usage` says how
many. Which networks have a gateway follows from their standing parts (`billing.standing`): Azure's have, those on AWS
and Google Cloud have not. Machines of Azure ML stand in the service's network and an adopted cluster's in their
owner's, where nothing is known.

Sizes of images are estimates of `disks`, compressed as they are pulled.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from sizewell.sizing.billing import costing, standing
from sizewell.sizing.billing.tariff import weakness
from sizewell.sizing.choose.bill import tariff_of
from sizewell.sizing.choose.disks import copies_of_weights, image_gigabytes
from sizewell.sizing.choose.start_up import loaded_bytes
from sizewell.sizing.money import CENT, Priced

if TYPE_CHECKING:
    from sizewell.sizing.choose.pricing import Option


def through_nat(chosen: Option) -> list[str]:
    """What each start of a machine pulls through the NAT gateway, and the data of a run, in GB and US dollars.

    Images are pulled once a machine; weights by each pod, whose cache is its own, and once a machine without a
    cluster. Data in a file system come from inside the network. [] where the network has no NAT gateway.
    """
    need, footing, shape = chosen.setting.need, chosen.footing, chosen.candidate.shape
    if chosen.candidate.adopted or not chosen.candidate.provisioned or footing.target == "azureml":
        return []
    if not any(charge.fee == "nat.hour" for charge in standing.parts([footing])):
        return []
    image = image_gigabytes(shape.runtime)
    parts = [f"images {image} GB, estimate"]
    weights = Decimal(round(loaded_bytes(need.training or need.serving))) / costing.BILLED_GIGABYTE
    copies = copies_of_weights(chosen)
    if weights:
        each = f"{copies} times {weights:,.1f} GiB" if copies > 1 else f"{weights:,.1f} GiB"
        parts.append(f"weights {each}")
    pulled = image + copies * weights
    sentence = f"each start of a machine pulls about {pulled:,.0f} GiB through the NAT gateway ({'; '.join(parts)})"
    sentence += _usd(chosen, pulled)
    if need.data_bytes and chosen.storage is None and need.kind != "notebook":
        data = Decimal(need.data_bytes * need.data_passes) / costing.BILLED_GIGABYTE
        sentence += f"; a run reads {data:,.0f} GiB of data through it{_usd(chosen, data)}"
    return [f"{sentence}; less with private endpoints; not in the totals"]


def _usd(chosen: Option, gigabytes: Decimal) -> str:
    price = tariff_of(chosen).fee("nat.gb")
    if not isinstance(price, Priced):
        return f", whose price in {chosen.deal.region} is unknown"
    source = ", estimated price" if weakness(price) else ""
    return f", {(gigabytes * price.amount).quantize(CENT):,} USD at {price.amount.normalize():f} USD/GB{source}"
