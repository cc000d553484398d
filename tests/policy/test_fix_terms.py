"""A way out is in the terms of the cloud whose resource it is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

TERMS = {  # words of one cloud that are no words of the others
    "aws": r"scaling target|managed instance scaling|lifecycle configuration|security groups?\b(?<!application security "
    r"groups)|Session Manager|CloudWatch|object lock|\bIAM role|launch template|instance profile|\bEKS\b|\bS3\b",
    "gcp": r"source tags|\bIAP\b|Ops Agent|object retention|idle-timeout-seconds|nodeLocations|Cloud NAT|\bGKE\b",
    "azure": r"application security group|Bastion|AutoscaleSetting|availabilityZones|PT30M|managed identity|\bAKS\b",
}
CASES = [
    case
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
]


def cloud_of(case: dict[str, Any]) -> str:
    """The one cloud that all resources of a case are of; "" for several."""
    packages = {each["type"].partition(":")[0].partition("-")[0] for each in case["bad"]} - {"sizewell", "kubernetes"}
    return packages.pop() if len(packages) == 1 else ""


@pytest.mark.parametrize("cloud", TERMS)
def test_no_fix_speaks_of_another_cloud(cloud: str) -> None:
    others = re.compile("|".join(terms for other, terms in TERMS.items() if other != cloud))
    foreign = {
        (case["rule"], match[0])
        for case in CASES
        if cloud_of(case) == cloud and (match := others.search(case.get("fix", ""))) is not None
    }
    assert foreign == set()
