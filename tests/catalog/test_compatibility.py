"""Versions, images and drivers of every cloud and accelerator: each pair is known good, known bad or unknown."""

from collections import Counter
from itertools import product

import pytest

from sizewell.sizing import catalog
from sizewell.sizing.catalog import buildable, lifetimes
from sizewell.sizing.catalog.compatibility import (
    cluster_drivers,
    cuda_for,
    driver_for,
    release_for,
    undriven,
    worst,
)

KNOWN = lifetimes.load()
CATALOG = catalog.load()
CLOUDS = {"aws": "eks", "azure": "aks", "gcp": "gke"}
SOLD = sorted(
    {(shape.cloud, shape.accelerator) for shape in CATALOG.shapes if shape.cloud in CLOUDS and shape.runtime == "cuda"}
)
IMAGES = sorted(
    {row.cuda for row in KNOWN.releases if row.kind == "image" and row.cuda} | {"11.8", "12.4", "12.8", "13.0"}
)


def family(accelerator):
    return CATALOG.accelerators[accelerator].family


def combinations():
    """(cloud, Kubernetes version, accelerator, driver, CUDA of an image) -> verdict, over all that is sold."""
    for cloud, accelerator in SOLD:
        service = CLOUDS[cloud]
        known = KNOWN.driver_range(accelerator, family(accelerator))
        branches = (
            {**cluster_drivers(KNOWN, service), "operator": 580}
            if cloud == "azure"
            else cluster_drivers(KNOWN, service)
        )
        for version, (image, branch), cuda in product(
            KNOWN.versions(service), branches.items() or [("", None)], IMAGES
        ):
            system = KNOWN.release("system", f"{service}/{image}", "al2023")
            parts = [driver_for(known, branch, accelerator), cuda_for(known, branch, cuda, accelerator)]
            parts += [release_for(system, version)] if system else []
            yield (cloud, version, accelerator, branch, cuda), worst(parts)


def test_each_combination_has_a_verdict_with_its_reason_and_those_that_fail_are_among_them():
    verdicts = dict(combinations())
    assert len(verdicts) > 1000
    assert all(verdict.reason for verdict in verdicts.values())
    counted = Counter(verdict.state for verdict in verdicts.values())
    assert set(counted) == {"good", "bad", "unknown"}
    assert verdicts["aws", "1.36", "rtx-pro-4500-bse", 580, "13.0"].state == "bad"  # G7 wants 595
    assert verdicts["aws", "1.36", "v100-16gb", 580, "13.0"].state == "bad"  # CUDA 13 has no Volta
    assert verdicts["aws", "1.36", "v100-16gb", 580, "12.8"].state == "good"
    assert verdicts["aws", "1.36", "b200", 580, "12.4"].state == "bad"  # Blackwell wants 12.8
    assert verdicts["azure", "1.36", "h100-nvl", 580, "13.0"].state == "good"
    assert verdicts["azure", "1.36", "a10-share-1-6", 570, "13.0"].state == "bad"  # AKS's GRID driver is 570
    assert all(
        verdict.state == "unknown"
        for (cloud, *_), verdict in verdicts.items()
        if cloud == "gcp" and verdict.state != "bad"
    )


def test_a_row_that_says_nothing_is_unknown_and_never_good():
    assert driver_for(None, 580, "x").state == "unknown"
    assert driver_for(KNOWN.driver_range("h100-sxm", "hopper"), None, "h100-sxm").state == "unknown"
    assert cuda_for(KNOWN.driver_range("h100-sxm", "hopper"), 580, "", "h100-sxm").state == "unknown"
    assert cuda_for(None, 580, "13.0", "x").state == "unknown"
    estimate = KNOWN.driver_range("b300", "blackwell")
    assert estimate.grade == "estimate"
    assert driver_for(estimate, 570, "b300").state == "unknown", "an estimate refuses nobody"


@pytest.mark.parametrize(
    "shape",
    [shape for shape in CATALOG.shapes if shape.cloud in CLOUDS and shape.runtime == "cuda"],
    ids=lambda shape: shape.instance_type,
)
def test_a_machine_that_no_image_of_a_cluster_drives_is_not_sized_for_one(shape):
    """What the component would refuse is refused when the machine is chosen."""
    reason = undriven(KNOWN, CLOUDS[shape.cloud], shape.accelerator, family(shape.accelerator))
    told = buildable.refusal(shape, family=family(shape.accelerator), scheduler="kubernetes", managed="raw")
    assert (told == reason) or (told and not reason), told
    assert bool(reason) is (shape.accelerator == "rtx-pro-4500-bse"), reason
