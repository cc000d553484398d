"""The boot disk of a machine holds what lands there: in the decision, in its bill, and in what it says."""

from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.disks import disk_of_machine
from sizewell.sizing.records.decision import Decision
from sizewell.sizing.workload.read import parse_spec
from tests.choose.conftest import chat, tune

ON = date(2026, 11, 20)
GIB = 2**30
GIANT = """
name: giant
kind: inference
model: {model}
traffic: {{rps: 2, input_tokens: 2000, output_tokens: 500}}
slo: {{ttft: 3s, tpot: 80ms}}
infra: {infra}
"""
RUN = """
name: run
kind: training
model: llama-3.1-8b
training: {tokens: 20B, sequence_length: 4096, global_batch: 1048576}
data: {location: "s3://corpus/shards", size: SIZE}
resources: {accelerators: h100-sxm, gpus: 8}
infra: INFRA
"""


def decided(facts, spec):
    answer = decide([spec], facts, stack="", on=ON)
    assert isinstance(answer, Decision), str(answer)
    (workload,) = answer.workloads
    (pool,) = workload.pools
    return workload, pool, [said for said in workload.assumptions if "lands on" in said]


@pytest.mark.parametrize(
    ("model", "infra", "gib"),
    [
        ("deepseek-ai/DeepSeek-V3", "aws/us-east-1", 900),
        ("qwen3-235b-a22b", "gcp", 700),
        ("deepseek-ai/DeepSeek-V3", "azure", 900),
        ("llama-3.1-70b", "gcp", 300),
        ("llama-3.1-8b", "aws/us-east-1", 200),
    ],
)
def test_a_disk_holds_the_weights_and_is_billed_as_large_as_it_is(facts, model, infra, gib):
    workload, pool, said = decided(facts, parse_spec(GIANT.format(model=model, infra=infra)))
    assert pool.disk_bytes_per_node == gib * GIB
    assert bool(said) == (gib > 200)
    disks = [line for line in workload.line_items if " disks of " in line.what and line.component == "giant"]
    assert all(f"disks of {gib} GB" in line.what for line in disks)


def test_a_pod_has_a_cache_of_its_own_and_containers_without_a_cluster_share_one(facts):
    options = size_one(parse_spec(GIANT.format(model="llama-3.1-70b", infra="gcp")), facts, stack="", on=ON).options
    option = next(o for o in options if o.candidate.shape.accelerators == 8 and o.fleet.devices_per_replica <= 4)
    alone = disk_of_machine(replace(option, scheduler="none"))
    several = disk_of_machine(replace(option, scheduler="kubernetes"))
    assert (alone.copies, several.copies) == (1, 8 // option.fleet.devices_per_replica)
    assert alone.gigabytes < several.gigabytes


def test_where_pods_write_onto_local_disks_nothing_is_paid_for_twice(facts):
    options = size_one(
        parse_spec(GIANT.format(model="deepseek-ai/DeepSeek-V3", infra="aws/us-east-1")), facts, stack="", on=ON
    ).options
    option = next(o for o in options if o.candidate.shape.local_nvme_bytes)
    pods = disk_of_machine(replace(option, scheduler="kubernetes"))
    assert (pods.gigabytes, pods.elsewhere) == (200, True)
    assert disk_of_machine(replace(option, scheduler="none")).gigabytes == 900


@pytest.mark.parametrize(("size", "gib"), [("10GB", 200), ("1TB", 1300)])
def test_shards_that_the_entry_script_copies_land_there_too(facts, size, gib):
    _, pool, _ = decided(facts, parse_spec(RUN.replace("SIZE", size).replace("INFRA", "gcp").replace("s3:", "gs:")))
    assert pool.disk_bytes_per_node == gib * GIB


def test_more_than_any_disk_holds_is_said(facts):
    spec = RUN.replace("SIZE", "60TB").replace("INFRA", "azure").replace("s3://corpus", "az://account/corpus")
    _, pool, (said,) = decided(facts, parse_spec(spec))
    assert pool.disk_bytes_per_node == 200 * GIB
    assert "mount a volume with it" in said


def test_adapters_of_a_quantized_base_download_it_in_16_bits(facts):
    spec = tune(training={"method": "qlora", "tokens": "10M", "sequence_length": 2048, "global_batch": 8192})
    option = size_one(spec, facts, stack="", on=ON).options[0]
    assert option.disk.weights_bytes == pytest.approx(16.06e9, rel=0.01)


def test_usual_services_have_the_usual_disk(facts):
    assert decided(facts, chat())[1].disk_bytes_per_node == 200 * GIB
