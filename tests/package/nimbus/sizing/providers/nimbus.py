"""Nimbus as sizing knows it: machines like those of AWS, without a cluster of its own in every case."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sizewell.sizing.providers.aws import AWS
from sizewell.sizing.providers.cloud import Cloud, Provider

NIMBUS: Final[Cloud] = replace(
    AWS,
    name="nimbus",
    seller="Nimbus",
    bills_as=(),
    data_schemes=("nimbus://",),
    services=(),
    clock="https://nimbus.example",
    client="nimbus",
    account=replace(AWS.account, config_key="", allowed_config_key=""),
    provider=Provider(
        package="nimbus",
        others=(),
        modules=(),
        distribution="pulumi-nimbus",
        tag_inputs=("tags",),
        tag_arguments=("tags",),
        names_itself=False,
        outputs_differ=(),
    ),
)
