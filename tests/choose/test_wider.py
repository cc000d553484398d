"""Where the spec itself excludes all machines: the places and machines that are advised do the work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sizewell.sizing import catalog
from sizewell.sizing.choose.decide import Decision, NothingFits, decide, nothing_fits, size_one

from .conftest import ON, spec

LORA = {
    "kind": "fine-tuning",
    "model": "mistralai/Mistral-7B-v0.3",
    "engine": "transformers",
    "training": {"method": "lora", "samples": 10000, "epochs": 1, "sequence_length": 1024},
    "deadline": "2d",
}
CHAT = {
    "kind": "inference",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "traffic": {"rps": 1, "input_tokens": 500, "output_tokens": 200},
    "slo": {"ttft": "2s", "tpot": "100ms"},
}


def followed(given, way):
    """The spec with one line of advice followed."""
    if match := re.fullmatch(r"use resources: \{accelerators: \{(\S+): (\d+)\}\} \(\S+ on \w+\)", way):
        return {**given, "resources": {"accelerators": {match[1]: int(match[2])}}}
    if match := re.fullmatch(r"add (\S+) to infra(?: \(\S+\))?", way):
        return {**given, "infra": [*given["infra"], match[1]]}
    if match := re.fullmatch(r"use (\S+), which is outside data.residency: \w+", way):
        return {**given, "infra": [match[1]], "data": {}}
    if match := re.fullmatch(r"widen resources, such as resources: \{instance_type: (\S+)\} on (\w+)", way):
        return {**given, "resources": {"instance_type": match[1]}}
    if way == "use scheduler: kubernetes":
        return {**given, "scheduler": "kubernetes"}
    raise AssertionError(way)


@pytest.mark.parametrize("work", [LORA, CHAT])
@pytest.mark.parametrize(
    ("fields", "about"),
    [
        ({"infra": ["aws/us-east-1"], "resources": {"instance_type": "p3.2xlarge"}}, "aws/p3.2xlarge"),
        ({"infra": ["aws"], "resources": {"instance_type": "p3dn.24xlarge"}}, "aws/p3dn.24xlarge"),
        ({"infra": ["aws/us-east-1", "azure"], "resources": {"instance_type": "p3.2xlarge"}}, "aws/p3.2xlarge"),
        ({"infra": ["aws/ap-south-2"], "resources": {"instance_type": "p5e.48xlarge"}}, "aws/p5e.48xlarge"),
        ({"infra": ["aws/eu-west-3"], "resources": {"instance_type": "p4de.24xlarge"}}, "aws/p4de.24xlarge"),
        ({"infra": ["aws"], "data": {"residency": "uk"}, "resources": {"instance_type": "p4de.24xlarge"}}, ""),
    ],
)
def test_what_is_advised_does_the_work(facts, work, fields, about):
    given = {**work, **fields}
    refused = decide([spec(**given)], facts, stack="", on=ON)
    assert isinstance(refused, NothingFits)
    if about:
        assert {rejection.shape for rejection in refused.nearest} == {about}
    assert refused.relax
    for way in refused.relax:
        taken = decide([spec(**followed(given, way))], facts, stack="", on=ON)
        assert isinstance(taken, Decision), f"{way}: {taken}"


def test_a_number_of_accelerators_that_a_cloud_sells_on_spot_alone_has_ways_out(facts):
    given = {**CHAT, "model": {"name": "meta-llama/Llama-3.1-70B-Instruct", "weights": "fp8"},
             "infra": ["gcp"], "resources": {"accelerators": {"H100": 2}}}  # fmt: skip
    refused = decide([spec(**given)], facts, stack="", on=ON)
    ways = refused.relax[0].split(", or ")
    assert [way.partition(" ")[0] for way in ways] == ["use", "add", "widen"]
    for way in ways:
        taken = decide([spec(**followed(given, way))], facts, stack="", on=ON)
        assert isinstance(taken, Decision), f"{way}: {taken}"


def test_a_machine_of_ones_own_is_a_row_of_few_columns_and_a_rate(tmp_path):
    page = (Path(__file__).parents[2] / "docs/howto/own-rates.md").read_text()
    row = re.search(r"```csv\n(cloud,instance_type,accelerator.*?)```", page, re.DOTALL)[1]
    (tmp_path / "shapes.csv").write_text(row)
    (tmp_path / "rates.yaml").write_text("rates:\n  - {cloud: on-premises, instance_type: dgx-a100, usd: 12}\n")
    own = catalog.load(overlay=tmp_path)
    given = {**LORA, "infra": ["on-prem"], "resources": {"accelerators": ["a100-40gb"]}}
    decision = decide([spec(**given)], own, stack="", on=ON)
    assert isinstance(decision, Decision)
    pool = decision.workloads[0].pools[0]
    assert (pool.cloud, pool.instance_type) == ("on-premises", "dgx-a100")


@pytest.mark.parametrize(
    "work",
    [
        {
            "kind": "inference",
            "model": {"name": "meta-llama/Llama-2-7b-chat-hf", "precision": "fp16"},
            "traffic": {"rps": 0.2, "input_tokens": 800, "output_tokens": 200},
        },
        {"kind": "notebook"},
    ],
)
def test_a_driver_that_only_a_cluster_has_is_advised_by_its_scheduler(facts, work):
    """NVIDIA's last branch for V100 is 580: nodes of EKS have it, AWS's images of plain machines have a later one."""
    asked = {**work, "resources": {"accelerators": ["v100"]}, "infra": ["aws"]}
    told = nothing_fits(size_one(spec(**asked), facts, stack="", on=ON), None)
    assert told.relax == ("use scheduler: kubernetes",)
    assert all("last branch of NVIDIA's driver" in each.reason for each in told.nearest)
    followed = size_one(spec(**asked, scheduler="kubernetes"), facts, stack="", on=ON).best()
    assert followed.instance_type.startswith("p3")


def test_a_retired_series_is_not_decided_for_want_of_its_price(facts):
    work = {
        "kind": "inference",
        "model": {"name": "meta-llama/Llama-2-7b-chat-hf", "precision": "fp16"},
        "traffic": {"rps": 0.2, "input_tokens": 800, "output_tokens": 200},
    }
    series = "Standard_NC12s_v3"
    asked = {**work, "resources": {"instance_type": series}, "infra": ["azure"]}
    told = nothing_fits(size_one(spec(**asked), facts, stack="", on=ON), None)
    assert [each.reason.partition(": ")[2] for each in told.nearest] == ["retired 2025-09-30"]
    assert told.relax
