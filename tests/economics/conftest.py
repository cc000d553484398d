"""Specs that are sized once, and the work that their machines do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from sizewell.economics.ways import Work, work_of
from sizewell.sizing.catalog import Catalog, load
from sizewell.sizing.catalog.rates import Discounts, Rate
from sizewell.sizing.choose.explain import sized
from sizewell.sizing.workload.read import parse_spec

ON = date(2026, 11, 22)
SPECS = {
    "day": """name: day
kind: inference
model: meta-llama/Llama-3.1-8B
resources: {accelerators: [L4]}
infra: [aws/us-east-1]
traffic: {rps: 12, input_tokens: 1500, output_tokens: 300, daily: 3}
""",
    "train": """name: train
kind: fine-tuning
model: meta-llama/Llama-3.1-8B
training: {method: full, tokens: 500M, sequence_length: 4096}
resources: {accelerators: [H100]}
infra: [aws/us-east-1]
utilization: 40%
""",
    "notebook": """name: notebook
kind: notebook
resources: {accelerators: [L4]}
infra: [aws/us-east-1]
schedule: {on: "Mon-Fri 08:00-18:00 Europe/London"}
""",
}

SPECS["open"] = SPECS["notebook"].rpartition("schedule")[0]
SPECS["reserved"] = SPECS["notebook"] + "capacity: {reservation: cr-0123456789abcdef0}\n"
SPECS["bound"] = SPECS["notebook"] + "capacity: {savings_plan: 3y}\n"
OTHERS = {"own": SPECS["train"].replace("aws/us-east-1", "on-prem")}  # without a price but one of ones own
OTHERS["late"] = SPECS["train"] + "deadline: 4h\n"
OTHERS["away"] = SPECS["train"] + "data: {location: s3://corpus/text, region: eu-west-1, size: 2TB}\n"
OTHERS["here"] = OTHERS["away"].replace("eu-west-1", "us-east-1")
OTHERS["nightly"] = """name: nightly
kind: batch-inference
model: meta-llama/Llama-3.1-8B
resources: {instance_type: g6.xlarge}
infra: [aws/us-east-1]
batch: {records: 200k, tokens_per_record: 500, output_tokens_per_record: 50, window: 8h, every: 1d}
data: {location: "s3://bucket-west", region: us-west-2, size: 500GB}
"""
OTHERS["weeknights"] = OTHERS["nightly"].partition("data:")[0] + 'schedule: {on: "Mon-Fri 22:00-06:00 UTC"}\n'
OTHERS["used"] = SPECS["day"].replace("daily: 3", "").replace("300, }", "300}") + "utilization: 30%\n"
OTHERS["studio"] = SPECS["notebook"] + "managed: sagemaker\n"
OTHERS["redundant"] = SPECS["day"].replace("daily: 3", "redundancy: n+1")
OTHERS["abroad"] = OTHERS["nightly"].replace("s3://bucket-west", "gs://bucket").replace("us-west-2", "us-central1")
OTHERS["weekly"] = OTHERS["abroad"].replace("every: 1d", "every: 7d")
OTHERS["far"] = OTHERS["away"].replace("s3://corpus/text, region: eu-west-1", "gs://corpus/text, region: us-central1")
OTHERS["nights"] = OTHERS["nightly"].rpartition("data")[0].replace("8h", "10h") + (
    'spot_policy: on-demand\nschedule: {on: "Mon-Sun 20:00-06:00 UTC"}\n'
)
HOURS = {
    "by-day": "06:00-18:00 UTC", "by-night": "18:00-06:00 UTC", "tokyo": "06:00-18:00 Asia/Tokyo",
    "around-the-clock": "00:00-24:00 UTC",
}  # fmt: skip
OTHERS |= {
    name: SPECS["notebook"].replace("Mon-Fri 08:00-18:00 Europe/London", f"Mon-Sun {hours}")
    for name, hours in HOURS.items()
}
SPECS["tpu"] = (
    SPECS["day"].replace("L4", "V5E").replace("aws/us-east-1", "gcp/us-central1").replace("name: day", "name: tpu")
)


@cache
def option_of(name: str, rates: tuple[Rate, ...] = ()):
    catalog: Catalog = load()
    if rates:
        catalog = replace(catalog, rates=Discounts(rates=rates))
    text = {**SPECS, **OTHERS}.get(name, name)
    spec = parse_spec(text, "spec.yaml", catalog=catalog, folder=Path())
    _, option = sized(spec, catalog, stack="", on=ON)
    assert option is not None
    return spec, option


@pytest.fixture(scope="session")
def work() -> Callable[..., Work]:
    def made(name: str, *rates: Rate, months: int = 36, stated=None, utilization=None) -> Work:
        spec, option = option_of(name, rates)
        return work_of(spec, option, months, stated or {}, utilization)

    return made
