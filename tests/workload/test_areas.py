"""Areas in `infra`: no fix drops one, and what it writes lies in them; other values that newcomers write for a section."""

from __future__ import annotations

import pytest
import yaml

from sizewell.sizing.catalog import load, residency
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired

SERVICE = "name: x\nkind: inference\nmodel: Qwen/Qwen3-8B\ntraffic: {rps: 1, input_tokens: 400, output_tokens: 20}\n"
AREAS = {
    "[EU]": {"eu"}, "eu": {"eu"}, "[eu, us]": {"eu", "us"}, "[EU, UK]": {"eu", "uk"}, "[switzerland]": {"ch"},
    "[Canada]": {"ca"}, "[aws, europe]": {"eu"}, "[us, aws/us-east-1]": {"us"}, "EU": {"eu"}, "[eu, aws, gcp]": {"eu"},
    "EU and US": {"eu", "us"}, "[eu/aws]": {"eu"},
}  # fmt: skip


def faults_of(text: str) -> tuple[Fault, ...]:
    with pytest.raises(SpecError) as refused:
        parse_spec(text, "x.yaml", catalog=load())
    return refused.value.faults


@pytest.mark.parametrize("stated", AREAS)
def test_no_area_is_dropped(stated: str) -> None:
    text = f"{SERVICE}infra: {stated}\n"
    raw = repaired(yaml.safe_load(text), faults_of(text)[0])
    assert raw is not None
    spec = parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    kept = spec.data.residency if spec.data else None
    assert (
        {kept} == AREAS[stated]
        if kept
        else {residency.of(p.cloud, p.region or "") for p in spec.infra} == AREAS[stated]
    )


def test_clouds_beside_an_area_are_kept() -> None:
    text = f"{SERVICE}infra: [aws, europe]\n"
    raw = repaired(yaml.safe_load(text), faults_of(text)[0])
    assert raw is not None
    assert (raw["infra"], raw["data"]) == (["aws"], {"residency": "eu"})


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("infra: aws, gcp", "write infra: [aws, gcp]"),
        ("infra: aws and azure/West Europe", "write infra: [aws, azure/westeurope]"),
        ("infra: [asia]", "write infra: [aws/ap-"),
        ("budget: $2k", "write budget: {monthly: 2000 USD}"),
        ("budget: 1.5k USD per month", "write budget: {monthly: 1500 USD}"),
        ("budget: 100 USD per run", "write budget: {per_run: 100 USD}"),
        ("budget: 500 EUR", "prices are in USD"),
        ("budget: 2 thousand USD", "write budget: {monthly: 2000 USD}"),
        ("budget: 700 USD per week", "write budget: {monthly: 3000 USD}"),
        ("budget: {monthly: 1.5 million USD}", "write 1500000 USD"),
        ('schedule: {on: "weekdays 9-17 CET"}', 'write "Mon-Fri 09:00-17:00 CET"'),
        ("schedule: weekdays 9-17 CET", 'write schedule: {on: "Mon-Fri 09:00-17:00 CET"}'),
        ("schedule: Mon-Fri 8am-6pm JST", 'write schedule: {on: "Mon-Fri 08:00-18:00 Asia/Tokyo"}'),
        ("schedule: weekdays 9-17", 'write schedule: {on: "Mon-Fri 09:00-17:00 UTC"}, with your time zone'),
        ("schedule: 24/7", "leave schedule out"),
        ('schedule: {on: "weekdays"}', 'write "Mon-Fri 00:00-24:00 UTC", with your time zone'),
        ('schedule: {on: "Mon-Fri UTC"}', 'write "Mon-Fri 00:00-24:00 UTC"'),
        ('schedule: {on: "weekdays Europe/London"}', 'write "Mon-Fri 00:00-24:00 Europe/London"'),
        ('schedule: {on: "24/7 UTC"}', "leave schedule out"),
    ],
)
def test_what_newcomers_write_has_a_way_out(line: str, fix: str) -> None:
    assert faults_of(f"{SERVICE}{line}\n")[0].fix.startswith(fix)


COUNTRIES = {"de": "DE", "Germany": "DE", "sweden": "SE", "Norway": "NO", "Singapore": "SG", "fr": "FR"}


@pytest.mark.parametrize("word", COUNTRIES)
def test_data_of_a_country_stays_in_it(word: str) -> None:
    text = f"{SERVICE}data: {{residency: {word}}}\n"
    [fault] = faults_of(text)
    raw = repaired(yaml.safe_load(text), fault)
    assert raw is not None
    spec = parse_spec(yaml.safe_dump(raw), "x.yaml", catalog=load())
    regions = [load().region(place.cloud, place.region or "") for place in spec.infra]
    assert {region.country for region in regions if region} == {COUNTRIES[word]}


def test_data_of_a_country_stays_on_the_clouds_that_were_named() -> None:
    [fault] = faults_of(f"{SERVICE}infra: [azure]\ndata: {{residency: de}}\n")
    assert fault.fix.startswith("write infra: [azure/germanywestcentral],")


def test_a_country_of_the_union_without_a_region_is_not_passed_off_as_the_union() -> None:
    [fault] = faults_of(f"{SERVICE}data: {{residency: greece}}\n")
    assert "no region of the clouds here lies in Greece" in fault.fix


def test_a_budget_of_a_run_is_one_of_the_run() -> None:
    run = "name: x\nkind: fine-tuning\nmodel: Qwen/Qwen3-8B\ntraining: {method: lora, samples: 10k}\nbudget: 500\n"
    assert faults_of(run)[0].fix == "write budget: {per_run: 500 USD}"
    assert faults_of(run.replace("500", "500/month"))[0].fix == "write budget: {monthly: 500 USD}"


@pytest.mark.parametrize(
    "text",
    [
        "workloads:\n  - {name: a, kind: notebook}\n  - {name: b, kind: notebook}\n",
        "- {name: a, kind: notebook}\n- {name: b, kind: notebook}\n",
    ],
)
def test_several_workloads_in_a_file_are_one_fault(text: str) -> None:
    [fault] = faults_of(text)
    assert "2 workloads" in str(fault)
    assert "one spec a file" in fault.fix


@pytest.mark.parametrize(
    ("model", "fix"),
    [
        ("openvla/openvla-7b", "name its config.json, or its own figures in place of its name"),
        ("./my-model", "name the file in it: ./my-model/config.json"),
        ("/models/my-qwen", "name the file in it: /models/my-qwen/config.json"),
        ("{name: facebook/esm2_t33_650M_UR50D, params: 650M, layers: 33, hidden: 1280}", "remove name"),
        ("{name: Qwen/Qwen3-8B, params: 650M}", "remove params; or name"),
    ],
)
def test_a_model_that_is_unknown_leads_to_no_other_and_in_no_circle(model: str, fix: str) -> None:
    [fault] = faults_of(SERVICE.replace("Qwen/Qwen3-8B", model))
    assert fault.fix.startswith(fix)
