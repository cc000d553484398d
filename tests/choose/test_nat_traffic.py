"""What machines pull through Azure's NAT gateway stands in the decision, priced, and in no total."""

import re
from dataclasses import replace
from datetime import date

import pytest

from sizewell.sizing.choose.decide import decide, size_one
from sizewell.sizing.choose.nat_traffic import through_nat
from sizewell.sizing.records.decision import Decision
from tests.choose.conftest import chat, night, tune

ON = date(2026, 11, 20)
PULLED = re.compile(r"about ([\d,]+) GiB through the NAT gateway .*?, ([\d,.]+) USD at 0\.045 USD/GB")


def said_in(facts, spec):
    answer = decide([spec], facts, stack="", on=ON)
    assert isinstance(answer, Decision), str(answer)
    (workload,) = answer.workloads
    return workload, [said for said in workload.assumptions if "NAT gateway" in said]


def test_a_start_pulls_images_and_weights_at_the_price_of_a_gigabyte(facts):
    """Llama 3.1 8B in 16 bits: 8.03 billion parameters of two bytes are 14.96 GiB, and 12 GB of images."""
    workload, (said,) = said_in(facts, tune(infra=["azure"]))
    gigabytes, usd = PULLED.search(said).groups()
    assert (gigabytes, usd) == ("27", "1.21")
    assert said.endswith("not in the totals")
    assert not [line for line in workload.line_items if "NAT gateway" in line.what and line.unit != "hour"]
    assert sum(line.what == "NAT gateway" for line in workload.line_items) == 1


def test_a_run_that_holds_its_weights_in_32_bits_downloads_what_is_published(facts):
    """TRL trains a whole model in fp32, of a checkpoint in bf16: 14.96 GiB, not 29.9."""
    whole = tune(infra=["azure"], engine="trl", training={"method": "full", "tokens": "5M", "sequence_length": 2048})
    _, (said,) = said_in(facts, whole)
    assert "weights 15.0 GiB)" in said


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_networks_without_a_nat_gateway_have_no_such_line(facts, cloud):
    for spec in (tune(infra=[cloud]), chat(infra=[cloud]), night(infra=[cloud])):
        workload, said = said_in(facts, spec)
        assert not said
        assert not [line for line in workload.line_items if line.what == "NAT gateway"]


def test_each_pod_of_a_cluster_loads_its_own_weights_and_rocm_images_are_larger(facts):
    busy = {"infra": ["azure"], "traffic": {"rps": 400, "input_tokens": 1500, "output_tokens": 300}}
    said = {
        (option.instance_type, option.scheduler): through_nat(option)[0]
        for named in ({}, {"resources": {"accelerators": ["MI300X"]}})
        for option in size_one(chat(**busy, **named), facts, stack="", on=ON).options
        if option.managed == "raw"
    }
    assert "142 GiB" in said["Standard_ND96is_MI300X_v5", "kubernetes"]
    assert (
        "(images 22 GB, estimate; weights 8 times 15.0 GiB), 6.37 USD"
        in said["Standard_ND96is_MI300X_v5", "kubernetes"]
    )
    assert "(images 12 GB, estimate; weights 2 times 15.0 GiB)" in said["Standard_NC80adis_H100_v5", "kubernetes"]
    assert "(images 12 GB, estimate; weights 15.0 GiB)" in said["Standard_NC24ads_A100_v4", "kubernetes"]


def test_what_is_not_behind_our_gateway_has_no_line(facts):
    """Azure ML's machines stand in the service's network, an adopted cluster's in its owner's."""
    option = size_one(tune(infra=["azure"]), facts, stack="", on=ON).options[0]
    assert through_nat(option)
    assert not through_nat(replace(option, managed="azureml"))
    assert not through_nat(replace(option, candidate=replace(option.candidate, adopted=True)))


def test_data_that_a_run_reads_are_priced_once_a_pass(facts):
    need = {"data": {"location": "az://petsnap/texts", "size": "1TiB"}}
    _, (said,) = said_in(facts, tune(infra=["azure"], **need))
    assert "a run reads 1,024 GiB of data through it, 46.08 USD" in said
