"""The price list of each cloud that is built on."""

from __future__ import annotations

from typing import Final

from sizewell.clouds.prices import aws, azure, gcp
from sizewell.clouds.prices.price_list import PriceList
from sizewell.sizing.providers.cloud import PerCloud

PRICE_LISTS: Final = PerCloud[PriceList](aws=aws.PRICES, gcp=gcp.PRICES, azure=azure.PRICES)
