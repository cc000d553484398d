"""What machines pull through a NAT gateway, in words beside the bill: the gateway's hours are a line of the decision.

Gigabytes are no line, because nobody states how often machines start; a preview bills them where `usage` says how
many. Which networks have a gateway follows from their standing parts (`billing.standing`): Azure's have, those on AWS
and Google Cloud have not. Machines of Azure ML stand in the service's network and an adopted cluster's in their
owner's, where nothing is known.

Sizes of images are estimates, compressed as they are pulled: vllm/vllm-openai is about 12 GB (vllm-project/vllm issue
27154, October 2025), rocm/vllm about 22 GB (ROCm/vllm issue 363, January 2025); others are taken to be like the first.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sizewell.sizing.billing import costing, standing
from sizewell.sizing.billing.standing import WITH_CLUSTER
from sizewell.sizing.billing.tariff import weakness
from sizewell.sizing.choose.bill import tariff_of
from sizewell.sizing.choose.start_up import loaded_bytes
from sizewell.sizing.money import CENT, Priced

if TYPE_CHECKING:
    from sizewell.sizing.choose.pricing import Option

IMAGE_GIGABYTES: Final = Decimal(12)
ROCM_IMAGE_GIGABYTES: Final = Decimal(22)


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
    image = ROCM_IMAGE_GIGABYTES if shape.runtime == "rocm" else IMAGE_GIGABYTES
    parts = [f"images {image} GB, estimate"]
    weights = Decimal(round(loaded_bytes(need.training or need.serving))) / costing.BILLED_GIGABYTE
    copies = 1
    if need.serving is not None and chosen.scheduler in WITH_CLUSTER:
        copies = max(1, shape.accelerators // chosen.fleet.devices_per_replica)
    if weights:
        each = f"{copies} times {weights:,.1f} GB" if copies > 1 else f"{weights:,.1f} GB"
        parts.append(f"weights {each}")
    pulled = image + copies * weights
    sentence = f"each start of a machine pulls about {pulled:,.0f} GB through the NAT gateway ({'; '.join(parts)})"
    sentence += _usd(chosen, pulled)
    if need.data_bytes and chosen.storage is None and need.kind != "notebook":
        data = Decimal(need.data_bytes * need.data_passes) / costing.BILLED_GIGABYTE
        sentence += f"; a run reads {data:,.0f} GB of data through it{_usd(chosen, data)}"
    return [f"{sentence}; less with private endpoints; not in the totals"]


def _usd(chosen: Option, gigabytes: Decimal) -> str:
    price = tariff_of(chosen).fee("nat.gb")
    if not isinstance(price, Priced):
        return f", whose price in {chosen.deal.region} is unknown"
    source = ", estimated price" if weakness(price) else ""
    return f", {(gigabytes * price.amount).quantize(CENT):,} USD at {price.amount.normalize():f} USD/GB{source}"
