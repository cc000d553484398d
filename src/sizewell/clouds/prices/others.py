"""The other GPU clouds, by gpuhunt (dstackai/gpuhunt, MPL-2.0): its providers ask sellers, or publish what they asked.

It is installed by who wants it (`pip install gpuhunt`): it brings clients of clouds that nothing else here needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sizewell.clouds.calls import CloudError
from sizewell.sizing.catalog.catalog import EVERYWHERE
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.catalog.refresh import Listed

PROVIDERS: Final = {"lambda": "lambdalabs", "nebius": "nebius", "oci": "oci", "runpod": "runpod", "vultr": "vultr"}
"""gpuhunt's name of a seller, by ours."""
REGIONS: Final = {"nebius": ("eu-north1", "eu-north2", "eu-west1", "me-west1", "uk-south1", "us-central1")}
"""Regions of the sellers that have a price for each (gpuhunt 0.1.34, providers/nebius.py, which names
docs.nebius.com/compute/clusters/gpu); the others have one price for all of theirs.
"""


def machines(cloud: str, region: str, shapes: Iterable[Shape]) -> Iterator[Listed]:
    """What a seller lists of the machines that the catalog knows, on demand and spot. CloudError otherwise."""
    items = _items(cloud)
    known = {(shape.instance_type, shape.accelerators) for shape in shapes if shape.cloud == cloud}
    seen = False
    rows: dict[tuple[str, ...], Listed] = {}
    for item in items:
        name = str(item.instance_name).replace(" ", "_") if cloud in REGIONS else str(item.instance_name)
        seen = True
        if (name, item.gpu_count) not in known or (cloud in REGIONS and item.location != region):
            continue
        row = Listed(
            cloud=cloud,
            instance_type=name,
            region=region,
            market="spot" if item.spot else "on-demand",
            usd=f"{item.price:.6f}".rstrip("0").rstrip("."),
            currency="USD",
            unit="hour",
            since="",
            basis="list",
            source=f"gpuhunt {_version()}, {PROVIDERS[cloud]}",
        )
        rows[row.instance_type, row.market, row.usd] = row  # the same in several places is one price
    if not seen:
        raise CloudError(cloud, "unanswered", "gpuhunt lists no machines of it today")
    yield from rows.values()


def regions(cloud: str, known: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The regions to ask about, or `EVERYWHERE`; `known` has cloud and region of every price."""
    if cloud not in REGIONS:
        return (EVERYWHERE,)
    return tuple(sorted({region for where, region in known if where == cloud} | set(REGIONS[cloud])))


def _items(cloud: str) -> list[Any]:
    try:
        import gpuhunt
    except ImportError:
        raise CloudError(cloud, "refused", "gpuhunt is not installed", fix="run: pip install gpuhunt") from None
    try:
        return list(gpuhunt.query(provider=PROVIDERS[cloud], min_gpu_count=1))
    except Exception as error:  # what its providers raise is the clients' own, from requests to a cloud's SDK
        said = f"gpuhunt: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise CloudError(cloud, "unanswered", said) from error


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gpuhunt")
    except PackageNotFoundError:
        return "of an unknown version"
