"""What a spec becomes: base units, defaults with their reasons, a digest of the meaning, a schema for editors."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from sizewell import csvtables
from sizewell.sizing.errors import SpecError
from sizewell.sizing.units import ALLOWED_DURATION
from sizewell.sizing.workload import docs as spec_docs
from sizewell.sizing.workload.read import parse_spec, read_spec, spec_schema
from sizewell.sizing.workload.resolved import as_yaml, resolved
from sizewell.sizing.workload.text import load_mapping

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "stacks/specs").rglob("*.yaml")])
SCHEMA = jsonschema.Draft202012Validator(spec_schema())

FULL = """
name: pretrain
kind: training
model: {params: 8B, precision: bf16}
training: {tokens: 55B, sequence_length: 8192, global_batch: 4M}
data: {location: "s3://petsnap/images", size: 12TB, residency: eu}
deadline: 3d
resources: {accelerators: [H100, H200], nodes: 1..8, gpu: 80GB..}
infra: [aws/us-east-1, gcp, azure/westeurope]
capacity: {block: {duration: 72h, max_price: 9100 USD, purchase: confirmed}}
checkpoint: {interval: 30m, keep: 4}
utilization: 70%
budget: {per_run: 10000 USD}
schedule: {on: "Mon-Fri 07:00-21:00 Europe/London"}
ttl: 21d
team: {platform_engineers: 0}
"""


def test_units_become_base_figures() -> None:
    spec = parse_spec(FULL)
    assert spec.training is not None
    assert (spec.training.tokens, spec.training.global_batch) == (55_000_000_000, 4_000_000)
    assert spec.data is not None
    assert (spec.data.size_bytes, spec.deadline_s, spec.ttl_s) == (12 * 10**12, 259_200, 1_814_400)
    assert spec.resources.nodes is not None
    assert (spec.resources.nodes.low, spec.resources.nodes.high) == (1, 8)
    assert spec.resources.gpu_memory is not None
    assert (spec.resources.gpu_memory.low, spec.resources.gpu_memory.high) == (80 * 10**9, None)
    assert [str(place) for place in spec.infra] == ["aws/us-east-1", "gcp", "azure/westeurope"]
    assert spec.capacity is not None
    assert spec.capacity.block is not None
    assert (spec.capacity.block.duration_s, spec.capacity.block.max_price_usd) == (259_200, Decimal(9100))
    assert spec.utilization == 0.7
    assert spec.schedule is not None
    assert (spec.schedule.on.hours_per_week, spec.schedule.on.time_zone) == (70, "Europe/London")


def test_nothing_changes_after_reading() -> None:
    spec = parse_spec(FULL)
    with pytest.raises(ValidationError):
        spec.deadline_s = 1.0  # type: ignore[misc]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shipped_spec(path: Path) -> None:
    """Every shipped spec reads, fits the schema, points editors to it, and its echo means the same."""
    spec = read_spec(path)
    text = path.read_text()
    first = text.splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.partition("$schema=")[2]).resolve() == ROOT / "src/sizewell/schemas/spec.schema.json"
    SCHEMA.validate(load_mapping(text, str(path)))
    assert parse_spec(as_yaml(spec)).digest() == spec.digest()


BASE = {"name": "x", "infra": ["gcp"]}
WHOLE = {
    "model": "meta-llama/Llama-3.1-8B",
    "training": {"tokens": "55B", "sequence_length": 8192},
    "traffic": {"rps": 4, "input_tokens": 1500, "output_tokens": 300},
    "batch": {"records": "50M", "tokens_per_record": 400, "window": "8h"},
    "slo": {"latency": "8s"},
    "deadline": "3d",
}
KINDS = {
    "training": ("model", "training"),
    "fine-tuning": ("model", "training"),
    "inference": ("model", "traffic"),
    "batch-inference": ("model", "batch"),
    "notebook": ("model",),
}


def _read_says(data: dict[str, object], section: str) -> bool:
    try:
        parse_spec(json.dumps(data))
    except SpecError as error:
        return section not in {fault.path for fault in error.faults}
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("section", WHOLE)
def test_schema_and_reader_agree_on_the_sections_of_a_kind(kind: str, section: str) -> None:
    """One section more, or one less, of each kind: both take it or both refuse it."""
    minimal = {**BASE, "kind": kind, **{name: WHOLE[name] for name in KINDS[kind]}}
    assert SCHEMA.is_valid(minimal)
    parse_spec(json.dumps(minimal))
    if section in minimal:
        changed = {key: value for key, value in minimal.items() if key != section}
        if kind == "notebook":  # the schema does not say what sizes a notebook instead
            changed["resources"] = {"gpu": "24GB.."}
    else:
        changed = {**minimal, section: WHOLE[section]}
    if (kind, section) != ("batch-inference", "deadline"):  # both say how long; a contradiction, not a section
        assert SCHEMA.is_valid(changed) is _read_says(changed, section)


def test_schema_has_an_id_and_offers_the_names_of_the_catalog() -> None:
    document = spec_schema()
    assert document["$id"] == "urn:sizewell:spec:1"
    properties, parts = document["properties"], document["$defs"]
    assert "meta-llama/Llama-3.1-8B" in properties["model"]["anyOf"][0]["examples"]
    assert "h100-sxm" in parts["Resources"]["properties"]["accelerators"]["anyOf"][0]["examples"]
    offered = properties["infra"]["anyOf"][1]["items"]["examples"]
    assert {"aws", "aws/us-east-1", "azure/westeurope"} <= set(offered)
    for place in offered:  # each that is offered is taken
        assert SCHEMA.is_valid({**BASE, "kind": "notebook", "model": "x", "infra": [place]})


def test_committed_schema_is_the_generated_one() -> None:
    assert json.loads((ROOT / "src/sizewell/schemas/spec.schema.json").read_text()) == spec_schema()


@pytest.mark.parametrize(
    "change",
    [
        {"deadline": 3},
        {"name": "My Chat"},
        {"kind": "serving"},
        {"trafic": {}},
        {"model": {"nam": "x"}},
        {"budget": {"per_run": 100}},
        {"utilization": 0.7},
        {"resources": {"nodes": "8..x"}},
        {"infra": ["us east"]},
        {"training": {"tokens": "55 GB"}},
    ],
    ids=str,
)
def test_schema_marks_mistakes(change: dict[str, object]) -> None:
    data = load_mapping(FULL, "")
    SCHEMA.validate(data)
    assert list(SCHEMA.iter_errors({**data, **change}))


def test_schema_and_reader_agree_on_forms() -> None:
    data = load_mapping(FULL, "")
    for key, value in (
        ("model", "meta-llama/Llama-3.1-8B"),
        ("infra", "aws"),
        ("capacity", {"flex_start": True}),
        ("capacity", {"reservation": "cr-0123"}),
        ("capacity", {"savings_plan": "3y"}),
        ("checkpoint", {"interval": "auto"}),
        ("resources", {"nodes": 4, "instance_type": "p5.48xlarge", "gpu": "80GB"}),
    ):
        changed = {**data, key: value}
        SCHEMA.validate(changed)
        parse_spec(json.dumps(changed))


def test_digest_is_of_the_meaning() -> None:
    one = parse_spec(FULL).digest()
    assert parse_spec(FULL.replace("3d", "72h").replace("4M", "4_000_000") + "# a comment\n").digest() == one
    assert parse_spec(FULL + "objective: cost\n").digest() == one, "a default, stated"
    assert parse_spec(FULL.replace("3d", "4d")).digest() != one
    assert len(one) == 64


def test_digest_has_the_content_of_a_config_and_not_its_place(tmp_path: Path) -> None:
    digests = []
    for folder, layers in (("a", 32), ("b", 32), ("c", 40)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(json.dumps({"num_hidden_layers": layers}))
        (tmp_path / folder / "spec.yaml").write_text(
            "name: x\nkind: inference\nmodel: ./config.json\ntraffic: {rps: 1, input_tokens: 5}\n"
        )
        digests.append(read_spec(tmp_path / folder / "spec.yaml").digest())
    assert digests[0] == digests[1] != digests[2]


def test_each_default_has_its_origin() -> None:
    rows = resolved(parse_spec(FULL))
    assert rows["training.tokens"] == {"value": "55B", "origin": "spec"}
    assert rows["deadline"] == {"value": "3d", "origin": "spec"}
    assert rows["checkpoint.interval"] == {"value": "30m", "origin": "spec"}
    assert rows["training.optimizer"]["value"] == "adamw"
    assert rows["training.optimizer"]["origin"].startswith("default: ")
    bare = [path for path, row in rows.items() if row["origin"] == "default"]
    assert not bare, f"defaults without a reason: {bare}"


def test_defaults_that_follow_from_the_kind() -> None:
    service = parse_spec("name: x\nkind: inference\nmodel: m\ntraffic: {rps: 1, input_tokens: 5}\n")
    assert service.idle is not None
    assert (service.idle.action, service.checkpoint) == ("notify", None)
    run = parse_spec(FULL)
    assert run.idle is not None
    assert run.idle.action == "scale-to-zero"
    adapter = "name: x\nkind: fine-tuning\nmodel: m\ntraining: {samples: 9, sequence_length: 512, method: qlora}\n"
    tuned = parse_spec(adapter)
    assert tuned.model is not None
    assert tuned.training is not None
    assert tuned.model.weights == "nf4"
    assert tuned.training.lora is not None
    assert tuned.training.lora.rank == 16
    assert "QLoRA" in resolved(tuned)["model.weights"]["origin"]


def test_yaml_words_stay_words() -> None:
    """YAML 1.1 reads `on` as true, `1:30` as 90, `012` as 10 and dates as dates; a spec does not."""
    text = "on: off\nyes: no\ntime: 1:30\noctal: 012\nday: 2026-08-20\nexponent: 1e3\nnothing: ~\n"
    assert load_mapping(text, "") == {
        "on": "off", "yes": "no", "time": "1:30", "octal": 12, "day": "2026-08-20", "exponent": 1000.0, "nothing": None,
    }  # fmt: skip


def test_anchors_are_fine_within_bounds() -> None:
    assert load_mapping("a: &x [1, 2]\nb: *x\n", "") == {"a": [1, 2], "b": [1, 2]}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**6) | st.floats() | st.text(max_size=12)
    | st.sampled_from(["7B", "3d", "80GB", "70%", "10 USD", "auto", "1..8", "aws", "inference", "training", "qlora"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = sorted(spec_schema()["properties"])


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8), st.sampled_from(KEYS), VALUES)
def test_anything_is_a_spec_or_a_refusal(data: dict[str, object], key: str, value: object) -> None:
    """Whatever stands in the keys, the answer is a spec or a SpecError with faults; never another exception."""
    for base in ({}, load_mapping(FULL, "")):
        changed = {**copy.deepcopy(base), **({key: value} if base else data)}
        try:
            spec = parse_spec(json.dumps(changed))
        except SpecError as error:
            assert error.faults  # noqa: PT017 - a refusal has its faults
        else:
            assert parse_spec(as_yaml(spec)).digest() == spec.digest()


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200) | st.text(alphabet="abc:-[]{}&*!%@`'\"\n\t #,|>?~<=", max_size=80))
def test_any_text_is_refused_with_a_message(text: str) -> None:
    try:
        parse_spec(text)
    except SpecError as error:
        assert error.faults  # noqa: PT017 - a refusal has its faults


def test_import_stays_light() -> None:
    """Neither numpy nor a cloud SDK nor the printing library comes with the spec."""
    code = "import sys, sizewell.sizing.workload.read; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "pulumi", "grpc", "rich", "requests", "jsonschema", "boto3", "difflib"}


def test_every_key_has_its_sentence() -> None:
    """In the schema, so that editors show it, and on the reference page."""
    page = (ROOT / "docs/reference/spec.md").read_text()
    assert page == spec_docs.reference(spec_schema())
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    assert [row[1] for row in rows if not row[3].strip()] == []
    keys = {row[1].strip(" `") for row in rows}
    table = csvtables.read(spec_docs.Key, Path(spec_docs.__file__).parent / "data/keys.csv")
    assert {row.key for row in table if not row.key.startswith("images.")} <= keys, "no sentence without a key"
    described = spec_schema()["properties"]["deadline"]["description"]
    assert described == f"How long a run may take. A{ALLOWED_DURATION[1:]}"
