"""The clouds that Sizewell builds on. Other sellers are rows of the catalog: sized, priced and compared, never built.

>>> [CLOUDS[name].cluster.name for name in CLOUDS]
['EKS', 'GKE', 'AKS']
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sizewell.sizing.providers.aws import AWS
from sizewell.sizing.providers.azure import AZURE
from sizewell.sizing.providers.cloud import Cloud, PerCloud
from sizewell.sizing.providers.gcp import GCP

CLOUDS: Final = PerCloud[Cloud](aws=AWS, gcp=GCP, azure=AZURE)


def clouds_where(holds: Callable[[Cloud], bool]) -> tuple[str, ...]:
    """Names of the clouds of which something holds.

    >>> clouds_where(lambda cloud: cloud.machines.tpus)
    ('gcp',)
    """
    return tuple(name for name, cloud in CLOUDS.items() if holds(cloud))


def cloud_of_service(service: str) -> str:
    """The cloud that runs a managed service; "" for none of them.

    >>> cloud_of_service("vertex"), cloud_of_service("raw")
    ('gcp', '')
    """
    return next(iter(clouds_where(lambda cloud: service in cloud.services)), "")


FORMS: Final = {"capacity-block": "block", "flex-start": "flex_start"}  # markets that a cloud may lack, by their keys


def market_sold(cloud: str, market: str) -> bool:
    """Whether a cloud sells machines in a market at all.

    >>> market_sold("aws", "capacity-block"), market_sold("gcp", "capacity-block"), market_sold("gcp", "spot")
    (True, False, True)
    """
    return market not in FORMS or FORMS[market] in CLOUDS[cloud].capacity.forms


def machine_type(cloud: str, name: str) -> str:
    """A machine type by the name under which a managed service may sell it.

    >>> machine_type("aws", "ml.g5.xlarge"), machine_type("lambda", "gpu_1x_a10")
    ('g5.xlarge', 'gpu_1x_a10')
    """
    known = CLOUDS.get(cloud)
    return name.removeprefix(known.machines.service_prefix) if known else name
