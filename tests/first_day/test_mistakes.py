"""Over two hundred mistakes: each is refused in words, and a line that a message tells to write is taken by the reader."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from sizewell.cli.main import SIZEWELL, main
from sizewell.sizing.aliases import CLOSED, table
from sizewell.sizing.catalog import load
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.workload.precision import known_model
from sizewell.sizing.workload.read import parse_spec
from sizewell.sizing.workload.repair import repaired
from sizewell.sizing.workload.schedule import _ABBREVIATED
from sizewell.sizing.workload.text import load_mapping
from tests.first_day.mistakes import mistakes

MISTAKES = dict(mistakes())
# What is meant, for those that letters alone would take for something else.
MEANT = {
    "model llama3": ("model", "meta-llama/Meta-Llama-3-8B-Instruct"),
    "model gpt-4o": ("model", "openai/gpt-oss-120b"),
    "model qwen2.5:14b": ("model", {"name": "Qwen/Qwen2.5-14B-Instruct", "weights": "int4"}),
    "model gpt-oss:20b": ("model", "openai/gpt-oss-20b"),
    "model llama 3 70b instruct": ("model", "meta-llama/Meta-Llama-3-70B-Instruct"),
    "model qwen2.5:72b-instruct-q4_K_M": ("model", {"name": "Qwen/Qwen2.5-72B-Instruct", "weights": "int4"}),
    "model gemma3:27b-it-qat": ("model", {"name": "google/gemma-3-27b-it", "weights": "int4"}),
    "model us.meta.llama3-3-70b-instruct-v1:0": ("model", "meta-llama/Llama-3.3-70B-Instruct"),
    "model meta.llama3-2-3b-instruct-v1:0": ("model", "meta-llama/Llama-3.2-3B-Instruct"),
    "model llama-v3p1-8b-instruct": ("model", "meta-llama/Llama-3.1-8B-Instruct"),
    "infra [azure/West Europe]": ("infra", ["azure/westeurope"]),
    "infra [aws/us-east-1/us-east-1q]": ("infra", ["aws/us-east-1/us-east-1a"]),
    "infra [aws/us-east-1a]": ("infra", ["aws/us-east-1/us-east-1a"]),
    "infra [Frankfurt]": ("infra", "aws/eu-central-1"),
    "infra [amazon]": ("infra", ["aws"]),
    "infra [Google Cloud europe-west4]": ("infra", ["gcp/europe-west4"]),
    "infra [AWS Europe (Ireland)]": ("infra", "aws/eu-west-1"),
    "infra [Amazon Web Services us-east-1]": ("infra", ["aws/us-east-1"]),
    "infra [GCP London]": ("infra", "gcp/europe-west2"),
    "resources {accelerators: H100, region: us-central1}": ("infra", ["gcp/us-central1"]),
    "resources {accelerators: H100, zone: us-central1-a}": ("infra", ["gcp/us-central1/us-central1-a"]),
    "resources {accelerators: H100, cloud: gcp}": ("infra", ["gcp"]),
    "resources {instance_type: a3-highgpu-8g, region: europe-west4}": ("infra", ["gcp/europe-west4"]),
    "weights 4bit": ("model", {"name": "meta-llama/Llama-3.1-8B", "weights": "int4"}),
    "resources {count: 64}": ("resources", {"gpus": 64}),
    "resources {accelerators: 64 H100}": ("resources", {"accelerators": {"H100": 64}}),
    "resources {gpus: 64 H100}": ("resources", {"accelerators": {"H100": 64}}),
    "resources {gpus: 8xH100}": ("resources", {"accelerators": {"H100": 8}}),
    "resources {gpus: H100:8}": ("resources", {"accelerators": {"H100": 8}}),
    "resources {gpu: RTX 4090}": ("resources", {"accelerators": ["L4", "A10", "A10G"]}),
    "resources {gpu: 2x A100-80GB}": ("resources", {"accelerators": {"A100-80GB": 2}}),
    "model 7B": ("model", {"params": "7B"}),
    "model 13b": ("model", {"params": "13B"}),
    "training {samples: 10k, epochs: 3, context: 8k}": (
        "training",
        {"samples": "10k", "epochs": 3, "sequence_length": "8k"},
    ),
    "audio in seconds": ("traffic", {"rps": 1, "audio": "30s"}),
    "images at the top": ("traffic", {"rps": 1, "images": {"resolution": 1024, "steps": 30}}),
    "a picture that is not square": ("traffic", {"rps": 1, "images": {"resolution": 1440}}),
    "model mistral-large-latest": ("model", "mistralai/Mistral-Large-Instruct-2411"),
    "model Llama 4 Maverick": ("model", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"),
    "model Llama 3 8B": ("model", "meta-llama/Meta-Llama-3-8B"),
    "infra [AWS Frankfurt, Azure West Europe, GCP Netherlands]": (
        "infra",
        ["aws/eu-central-1", "azure/westeurope", "gcp/europe-west4"],
    ),
    "ttl: 1y": ("ttl", "365d"),
    "ttl: 1 month": ("ttl", "30d"),
    "schedule: {on: weekdays 9am-5pm Europe/London}": ("schedule", {"on": "Mon-Fri 09:00-17:00 Europe/London"}),
    "resources: {instance_type: 2x p5.48xlarge}": ("resources", {"instance_type": "p5.48xlarge", "nodes": 2}),
    "region: us-east-1": ("infra", ["aws/us-east-1"]),
    "spot: true": ("spot_policy", "auto"),
    "quantization: awq": ("model", {"name": "meta-llama/Llama-3.1-8B", "weights": "int4"}),
}


def faults_of(text: str) -> tuple[Fault, ...]:
    try:
        parse_spec(text, "spec.yaml", catalog=load())
    except SpecError as error:
        return error.faults
    return ()


def leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """The values of a spec with their paths, items of lists with that of their list."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else [("", item) for item in value]:
            yield from leaves(item, f"{path}.{key}".strip("."))
    else:
        yield path, str(value)


def written(raw: dict[str, object]) -> str:
    import yaml

    return yaml.safe_dump(raw)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_line_that_a_message_tells_to_write_is_taken(name: str) -> None:
    text = MISTAKES[name]
    faults = faults_of(text)
    assert faults, "it is no mistake any more: take it out of the list"
    for fault in faults:
        raw = load_mapping(text, "spec.yaml")
        changed = repaired(raw, fault)
        if changed is None:
            assert fault.fix or fault.allowed or "allowed keys" in fault.message, f"{fault} leads nowhere"
            continue
        same = [
            other for other in faults_of(written(changed)) if (other.path, other.found) == (fault.path, fault.found)
        ]
        assert same == [], fault
        section = fault.path.partition("[")[0]
        others = {value for path, value in leaves(raw) if not section.startswith(path) and not path.startswith(section)}
        if name != "Name: x":  # beside name: one of them can stay
            assert others <= {value for _, value in leaves(changed)}, f"{fault} loses a value"


@pytest.mark.parametrize("place", [place for place in MISTAKES if place.startswith("infra ")])
def test_the_way_out_of_a_place_is_the_same_beside_another_fault(place: str) -> None:
    (alone,) = faults_of(MISTAKES[place])
    beside = [fault for fault in faults_of(f"{MISTAKES[place]}foo: 1\n") if fault.path != "foo"]
    assert [(fault.path, fault.fix) for fault in beside] == [(alone.path, alone.fix)]


def test_a_place_of_several_keys_is_one_and_a_city_is_one_of_each_cloud() -> None:
    three = faults_of(MISTAKES['resources {accelerators: "A100-80GB:8", cloud: GCP, region: europe-west4}'])
    assert [fault.fix for fault in three if fault.path != "resources.accelerators"] == [
        "leave it out: it is in infra: [gcp/europe-west4]",
        "write infra: [gcp/europe-west4]",
    ]
    zoned = faults_of(MISTAKES["resources {accelerators: H100, region: us-east-1, zone: us-east-1a}"])
    line = "infra: [aws/us-east-1/us-east-1a]"
    assert {fault.fix for fault in zoned} == {f"write {line}", f"leave it out: it is in {line}"}
    (city,) = faults_of(MISTAKES["infra [London]"])
    assert city.fix == "write aws/eu-west-2, or gcp/europe-west2, or azure/uksouth"


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_and_not_what_is_spelt_alike(name: str) -> None:
    text = MISTAKES[name]
    (fault,) = faults_of(text)
    changed = repaired(load_mapping(text, "spec.yaml"), fault)
    assert changed is not None, fault
    key, value = MEANT[name]
    assert changed.get(key) == value
    assert faults_of(written(changed)) == ()


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        (
            "traffic {daily_active_users: 30000, messages_per_user: 5, input_tokens: 100, output_tokens: 100}",
            ["write rps: 150k/d", "leave it out: it is in rps: 150k/d"],
        ),
        ("audio at the top", ["write batch: {records: 500, audio_per_record: 1h, window: 8h}, with your own window"]),
        ("batch {audio: 500 hours a day, window: 8h}", ["write records: 500, audio_per_record: 1h"]),
        ("a name beside params", ["remove name"]),
        ("resources {gpus: 8x80GB}", [""]),  # a size is no accelerator
    ],
)
def test_the_ways_out_of_what_is_more_than_one_line(name: str, ways: list[str]) -> None:
    assert [fault.fix for fault in faults_of(MISTAKES[name])] == ways


@pytest.mark.parametrize("zone", ["IST", "CST", "UTC+2", "GMT+1", "XYZ", "ACST"])
def test_a_time_zone_is_never_guessed_by_letters(zone: str) -> None:
    (fault,) = faults_of(MISTAKES["schedule: {on: 24/7}"].replace("24/7", f"Mon-Fri 09:00-17:00 {zone}"))
    assert "did you mean" not in fault.fix
    assert all(place in fault.fix for place in _ABBREVIATED.get(zone, ("Europe/",)))


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("traffic:\nrps: 4\ninput_tokens: 500\noutput_tokens: 100\n", "indent by two spaces the lines of rps"),
        ("traffic:\n  rps:4\n  input_tokens:500\n", "write traffic: {rps: 4, input_tokens: 500}"),
        ("traffic: {rps:4, prompt_tokens: 500, output_tokens: 50}\n", "write rps: 4"),
        ("traffic: {rps: 1, prompt_tokens: 8000, completion_tokens: 50}\n", "write input_tokens: 8000"),
    ],
)
def test_what_is_written_wrong_is_no_missing_key_with_a_number_of_nobodys(text: str, way: str) -> None:
    faults = faults_of(f"name: chat\nkind: inference\nmodel: Qwen/Qwen3-8B\n{text}")
    assert faults[0].fix.startswith(way)
    assert not any("is missing" in fault.message or "1000" in fault.fix for fault in faults)


@pytest.mark.parametrize("traffic", ["traffic:\n  rps:1\n", "traffic: {rps: 1}\n", ""])
def test_a_whole_file_without_spaces_after_its_colons_is_one_fault(traffic: str) -> None:
    with pytest.raises(SpecError) as error:
        load_mapping(f"name:chat\nkind:inference\nmodel:hf:Qwen/Qwen3-8B\n{traffic}", "spec.yaml")
    (fault,) = error.value.faults
    assert (fault.at, fault.fix) == ((1, 1), "write name: chat, and a space in the other lines too")
    assert "no space after the colon of its keys: line 1, 2, 3" in fault.message


@pytest.mark.parametrize("command", ["size", "explain", "simulate", "preview"])
@pytest.mark.parametrize("option", ["--file", "--fil", "--log", "--logfile", "--out", "--outputs", "--htm"])
def test_no_option_that_writes_is_guessed(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, option, "chat.yaml"]) == 64
    said = capsys.readouterr().err
    assert not any(f"did you mean {name}" in said for name in ("--log-file", "--output", "--html")), said


@pytest.mark.parametrize(
    ("command", "way"),
    [
        ("upgrade", "requirements.txt and run `pulumi install`"),
        ("train", "sizewell new pretrain (or finetune)"),
        ("cancel", "pulumi cancel -s STACK"),
        ("size chat.yaml --spot", "write it in the spec: `spot_policy: spot`"),
        ("delete", "pulumi destroy -s STACK"),
        ("rm", "pulumi destroy -s STACK"),
        ("stack", "pulumi stack ls; sizewell teardown status"),
    ],
)
def test_a_command_is_known_by_what_it_means(command: str, way: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 64
    assert way in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "codestral",
        "command-r-plus",
        "pixtral-12b",
        "mxbai-embed-large",
        "nomic-embed-text",
        "distil-whisper",
        "ministral-8b",
    ],
)
def test_models_that_newcomers_name_are_in_the_catalog(name: str) -> None:
    assert known_model(name, load())


def test_an_unknown_model_is_said_beside_what_else_is_wrong() -> None:
    text = "name: x\nkind: finetune\nmodel: Llama 3 8B\ntraining: {samples: 2 million, sequence_length: 2k}\n"
    assert [fault.path for fault in faults_of(text)] == ["kind", "model", "training.samples"]


def test_every_model_of_the_table_is_one_of_the_catalog_and_no_word_is_known_already() -> None:
    catalog = load()
    for row in table()["model"].values():
        known_model(row.meant, catalog)
        if row.why != CLOSED:
            with pytest.raises(KeyError):
                known_model(row.written, catalog)


def test_every_command_of_the_table_is_one_that_the_line_takes() -> None:
    context = click.Context(SIZEWELL)
    for row in table()["command"].values():
        assert SIZEWELL.get_command(context, row.written) is None, row.written
        words = row.meant.split()
        assert bool(words) != bool(row.why and not row.meant), row
        if words and not words[1].startswith("-"):
            group = SIZEWELL.get_command(context, words[1])
            assert group is not None, row
            if isinstance(group, click.Group) and len(words) > 2:
                assert group.get_command(context, words[2]) is not None, row


def test_keys_of_the_table_lead_to_keys_of_a_spec() -> None:
    from sizewell.sizing.workload.faults import keys_at

    for row in table()["key"].values():
        *home, key = row.meant.partition(":")[0].split(".")
        if row.meant:
            assert key in keys_at(home), row
