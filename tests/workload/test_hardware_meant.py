"""Hardware, places and terms in people's own words: each figure is in what the fixes of one message write."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sizewell.sizing.catalog import load
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.text import load_mapping

NOTEBOOK = "name: n\nkind: notebook\n"
SERVES = "name: n\nkind: inference\nmodel: Qwen/Qwen3-8B\n"
LOAD = "traffic: {rps: 3, input_tokens: 900, output_tokens: 150}\n"
BATCH = "name: n\nkind: batch-inference\nmodel: Qwen/Qwen3-8B\n"


def mended(text: str) -> dict[str, Any]:
    """The spec after the fixes of its one message, each done once; it is read then."""
    made = copy.deepcopy(load_mapping(text, "spec"))
    with pytest.raises(SpecError) as refused:
        parse_spec(text, catalog=load())
    for fault in refused.value.faults:
        after = repaired(made, fault)
        assert after is not None, f"{fault.path}: {fault.message}: {fault.fix!r}"
        made = after
    import yaml

    parse_spec(yaml.safe_dump(made), catalog=load())
    return made


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("gpu: A10G\ngpus: 4", {"accelerators": {"A10G": 4}}),
        ("gpus: 4", {"gpus": 4, "gpu": "24GB.."}),
        ("num_gpus: 2\nresources: {gpu: 24GB..}", {"gpus": 2, "gpu": "24GB.."}),
        ("gpu: RTX 4090\ngpus: 2", {"accelerators": ["L4", "A10", "A10G"], "gpus": 2}),
        ("vram: 48 GB", {"gpu": "48GB.."}),
        ("gpu: 80GB", {"gpu": "80GB.."}),
        ("gpu_memory: 49152 MiB", {"gpu": "48GB.."}),
        ("memory_per_gpu: at least 40 GB", {"gpu": "40GB.."}),
        ("gpu: {type: A10G, count: 4}", {"accelerators": {"A10G": 4}}),
        ("accelerators: {type: A100, memory: 80}", {"accelerators": ["A100"], "gpu": "80GB.."}),
        ("resources: {gpu: A100 80GB, count: 8}", {"accelerators": ["A100 80GB"], "gpus": 8}),
        ("resources: {accelerators: A100, gpu_per_node: 4}", {"accelerators": {"A100": 4}}),
        ("resources: {accelerators: [A100, H100], num_gpus: 4}", {"accelerators": ["A100", "H100"], "gpus": 4}),
        ("resources: {accelerators: {2x: H100}}", {"accelerators": {"H100": 2}}),
        ("resources: {accelerators: H100, max_gpus: 2}", {"accelerators": "H100", "gpus": "1..2"}),
        ("resources: {accelerators: H100, min_gpus: 2, max_gpus: 8}", {"accelerators": "H100", "gpus": "2..8"}),
        ("resources: {accelerators: H100, gpus: up to 4}", {"accelerators": "H100", "gpus": "1..4"}),
        ("resources: {accelerators: H100, limits: {nvidia.com/gpu: 8, cpu: 4}}",
         {"accelerators": "H100", "gpus": 8}),
    ],
)  # fmt: skip
def test_no_number_of_accelerators_and_no_memory_is_lost(lines: str, wanted: dict[str, object]) -> None:
    assert mended(f"{NOTEBOOK}{lines}\n")["resources"] == wanted


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("provider: AWS\nregion: eu-central-1\navailability_zone: eu-central-1b",
         {"infra": ["aws/eu-central-1/eu-central-1b"]}),
        ("infra: aws/eu-central-1\nzone: eu-central-1b", {"infra": ["aws/eu-central-1/eu-central-1b"]}),
        ("cloud: azure\nlocation: West Europe\nzones: [1]", {"infra": ["azure/westeurope/1"]}),
        ("infra: Azure/Amsterdam", {"infra": "azure/westeurope"}),
        ("capacity: {reserved: 1 year}", {"capacity": {"savings_plan": "1y"}}),
        ("commitment: 36 months", {"capacity": {"savings_plan": "3y"}}),
        ("capacity: {reservation: 1 year}", {"capacity": {"savings_plan": "1y"}}),
        ("budget: {max: 5000, currency: USD}", {"budget": {"monthly": "5000 USD"}}),
        ("budget: {per_day: 100 USD}", {"budget": {"monthly": "3000 USD"}}),
    ],
)  # fmt: skip
def test_places_and_terms_are_read_whole(lines: str, wanted: dict[str, object]) -> None:
    made = mended(f"{SERVES}{LOAD}{lines}\n")
    made["capacity"] = {key: value for key, value in made.get("capacity", {}).items() if key != "reservation"}
    assert {key: made[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    ("load_section", "rate"),
    [
        ("rps: 30 rpm", "30/min"),
        ("requests: 2M per month", "66667/d"),
        ("requests: 40k/day", "40k/d"),
        ("mau: 200k, messages_per_month: 12", "80000/d"),
    ],
)
def test_a_rate_under_another_name_is_one_fault(load_section: str, rate: str) -> None:
    made = mended(f"{SERVES}traffic: {{{load_section}, input_tokens: 900, output_tokens: 150}}\n")
    assert made["traffic"]["rps"] == rate


@pytest.mark.parametrize(
    "lines",
    ["dataset_size: 12,000", "num_examples: 12,000", "dataset: {rows: 12000}", "dataset: 12000 rows"],
)
def test_the_samples_of_a_flat_spec_are_those_that_it_states(lines: str) -> None:
    made = mended(f"name: n\nkind: finetune\nmodel: Mistral 7B\n{lines}\nepochs: 3\nmethod: QLoRA\nbudget: $50\n")
    assert made["training"]["samples"] in (12000, "12000")
    assert (made["training"]["epochs"], made["budget"]) == (3, {"per_run": "50 USD"})


@pytest.mark.parametrize(
    ("lines", "window"),
    [
        ("batch: {records: 20k, tokens_per_record: 900, deadline: 6am}", "8h"),
        ("batch: {records: 20k, tokens_per_record: 900}\ndeadline: tomorrow 8am", "10h"),
    ],
)
def test_a_time_of_the_clock_is_the_window_of_a_batch(lines: str, window: str) -> None:
    made = mended(f"{BATCH}{lines}\n")
    assert made["batch"]["window"] == window
    assert "deadline" not in made


@pytest.mark.parametrize(
    ("schedule", "on"),
    [
        ('{start: "08:00", stop: "18:00", days: [Mon, Tue, Wed], timezone: CET}', "Mon,Tue,Wed 08:00-18:00 CET"),
        ("{days: Mon-Fri, hours: 9-18, tz: Europe/Paris}", "Mon-Fri 09:00-18:00 Europe/Paris"),
        ('{on: "lun-ven 9h-18h Europe/Paris"}', "Mon-Fri 09:00-18:00 Europe/Paris"),
    ],
)
def test_hours_are_those_that_were_stated(schedule: str, on: str) -> None:
    made = mended(f"{NOTEBOOK}resources: {{gpu: 24GB..}}\nschedule: {schedule}\n")
    assert made["schedule"] == {"on": on}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kind: batch\nmodel: Qwen/Qwen3-8B\ndocuments: 1.2 million\npages_per_document: 3\ndeadline: 2 weeks",
         {"batch": {"window": "2w", "records": "1.2M", "tokens_per_record": "2k"}}),
        ("kind: inference\nmodel: Qwen/Qwen3-8B\ntasks_per_day: 900\ntokens_per_task: {input: 9000, output: 400}",
         {"traffic": {"rps": "900/d", "input_tokens": 9000, "output_tokens": 400}}),
        ("kind: inference\nmodel: Qwen/Qwen3-8B\nrequests_per_day: 900\noutput: 300 tokens",
         {"traffic": {"rps": "900/d", "input_tokens": 1500, "output_tokens": 300}}),
        ("kind: image\nmodel: black-forest-labs/FLUX.1-dev\nimages_per_day: 8000\nsteps: 28\nthink_time: 10s",
         {"traffic": {"rps": "8000/d", "images": {"steps": 28}}}),
        (f"kind: inference\nmodel: Qwen/Qwen3-8B\n{LOAD}latency_p99: 2s\nregions: [us-east-1, eu-west-1]",
         {"slo": {"latency": "2s", "percentile": "p99"}, "infra": ["aws/us-east-1", "aws/eu-west-1"]}),
    ],
)  # fmt: skip
def test_a_flat_spec_is_made_whole_in_one_step(text: str, wanted: dict[str, object]) -> None:
    made = mended(f"name: n\n{text}\n")
    assert {key: made[key] for key in wanted} == wanted
