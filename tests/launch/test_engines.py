"""An inference engine is a record in a file of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sizewell.sizing.catalog.engine import InferenceEngine, _table, numbers
from sizewell.sizing.catalog.engines import ENGINES, engine_for

ROOT = Path(__file__).parents[2]
FAMILIES = ("decoder", "encoder", "speech", "vision", "diffusion")
ADDED = """
from dataclasses import replace

from sizewell.sizing.catalog.engine import Flag
from sizewell.sizing.catalog.engines.vllm import ENGINE as VLLM

ENGINE = replace(
    VLLM,
    name="other",
    default_for=frozenset(),
    command=("other-serve",),
    flags={"model": Flag(name="--weights"), "port": Flag(name="--listen"), "dtype": Flag(name="--float")},
    ready="/up",
    env={},
)
"""
SIZED = """
from datetime import date

from sizewell.sizing.catalog import load
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.workload.read import parse_spec

lines = ["name: chat", "kind: inference", "model: meta-llama/Llama-3.1-8B", "engine: other", "owner: ml", "cost_center: c"]
lines += ["traffic: {rps: 1, input_tokens: 500, output_tokens: 100}", "infra: [aws/us-east-1]"]
decided = decide([parse_spec(chr(10).join(lines), "test")], load(), stack="dev-aws", on=date(2026, 11, 21))
print(parse_spec(chr(10).join(lines), "test").engine.name, decided.workloads[0].pools[0].accelerator)
"""
USED = """
import launch_cases as cases
from decisions import decision, pool

from sizewell.launch import serving
from sizewell.launch.run import read_run
from sizewell.launch.launch import launch_of
from sizewell.launch.target import eks_target

machines = pool("aws", "g6.xlarge", "l4", 1, role="replicas")
work, _ = cases.serve(machines=machines)
run = read_run({"image": "me/other:1", "engine": "other", "model": "org/weights"}, "run")
of = launch_of(decision("dev-aws", work), work, machines, run, eks_target(work, machines, name="chat"))
print(serving.command(of, serving.engine_of(of)))
served = next(made for made in serving.manifests(of) if made["kind"] == "Deployment")
print(served["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["httpGet"]["path"])
"""


def test_one_engine_serves_each_family_unless_told() -> None:
    for family in FAMILIES:
        named = [engine.name for engine in ENGINES.values() if family in engine.default_for]
        assert named == [engine_for(family).name]


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_an_engine_is_sound(engine: InferenceEngine) -> None:
    assert engine.default_for <= engine.families <= set(FAMILIES)
    assert set(engine.images) <= {"cuda", "rocm", "tpu", "neuron", "cpu"}
    assert engine.ready.startswith("/")
    assert engine.in_flight.format('pod="x"').count('{pod="x"}') >= 1
    assert {"model", "port"} <= set(engine.flags)
    assert not engine.at_load or "quantization" in engine.flags
    assert engine.source
    assert engine.checked


@pytest.mark.parametrize(
    "engine", [engine for engine in ENGINES.values() if engine.package], ids=lambda each: each.name
)
def test_every_flag_that_we_write_is_in_the_source_of_the_newest_release(engine: InferenceEngine) -> None:
    table = engine.flag_table
    assert table is not None
    newest = numbers(table.releases[-1])
    ours = {flag.name for flag in engine.flags.values() if flag.name}
    ours |= {word for word in engine.fixed if word.startswith("--")}
    assert {flag for flag in ours if not table.knows(flag, newest)} == set()


def test_the_table_says_what_vllm_said_of_itself() -> None:
    """`vllm serve --help` of 0.11.0, and the change that brought several machines (github.com/vllm-project/vllm/pull/23691)."""
    table = ENGINES["vllm"].flag_table
    assert table is not None
    assert table.knows("--headless", (0, 11, 0))
    assert table.knows("--host", (0, 11, 0)), "a field of a class, not a call"
    assert not table.knows("--nnodes", (0, 11, 0))
    assert table.knows("--nnodes", (0, 12, 0))
    assert table.knows("--nnodes", (0, 9, 0)) is None, "nobody has read that release"


def test_sglang_s_table_has_what_its_pages_name() -> None:
    """docs.sglang.ai/advanced_features/server_arguments (from memory), in both ways in which its releases make flags."""
    table = _table("sglang")
    for release in ("0.5.5", "0.5.23"):
        for flag in ("--model-path", "--host", "--port", "--tp-size", "--nnodes", "--node-rank", "--dist-init-addr"):
            assert table.knows(flag, numbers(release)), (flag, release)


def test_the_table_says_what_text_embeddings_inference_prints_as_its_help() -> None:
    """`text-embeddings-router --help` as README.md of v1.5.0 and v1.9.3 have it, which no part of the table comes from."""
    table = _table("text-embeddings-inference")
    printed = {
        "1.5.0": """
            api-key auto-truncate cors-allow-origin default-prompt default-prompt-name dtype
            hf-api-token hostname huggingface-hub-cache json-output max-batch-requests
            max-batch-tokens max-client-batch-size max-concurrent-requests model-id otlp-endpoint
            otlp-service-name payload-limit pooling port revision tokenization-workers uds-path
        """,
        "1.9.3": """
            api-key auto-truncate cors-allow-origin default-prompt default-prompt-name dense-path
            disable-spans dtype hf-token hostname huggingface-hub-cache json-output
            max-batch-requests max-batch-tokens max-client-batch-size max-concurrent-requests
            model-id otlp-endpoint otlp-service-name payload-limit pooling port prometheus-port
            revision served-model-name tokenization-workers uds-path
        """,
    }
    hidden = {"1.5.0": set(), "1.9.3": {"--hf-api-token"}}  # known, and no longer shown
    for release, names in printed.items():
        known = {flag for flag in table.flags if table.knows(flag, numbers(release))}
        assert known == {f"--{name}" for name in names.split()} | {"--help", "--version"} | hidden[release]
    assert not table.knows("--served-model-name", (1, 8, 3))
    assert table.knows("--prometheus-port", (1, 7, 1))
    assert not table.knows("--prometheus-port", (1, 7, 0))


def test_the_table_says_what_tritonserver_prints_as_its_help() -> None:
    """`tritonserver --help`, as somebody's public notes on TensorRT-LLM 0.10 have it, whose image was that of 24.05."""
    table = _table("triton")
    printed = (Path(__file__).parent / "tritonserver_flags.txt").read_text(encoding="utf-8").split("\n", 1)[1].split()
    assert {flag for flag in table.flags if table.knows(flag, (24, 5))} == {f"--{name}" for name in printed}
    assert table.releases_with("--enable-peer-access") == "24.06 or later"


def test_llama_cpp_s_table_has_what_its_server_prints_as_its_options() -> None:
    table = _table("llama.cpp")
    printed = (Path(__file__).parent / "llama_server_flags.txt").read_text(encoding="utf-8").split("\n", 1)[1].split()
    assert {flag for flag in table.flags if table.knows(flag, (0, 5, 0))} == {f"--{name}" for name in printed}
    assert table.releases_with("--cpu-moe") == "b6122 or later"
    assert table.knows("--cpu-moe", numbers("b6000")), "built between two that were read, one of which has it"
    assert not table.knows("--cpu-moe", numbers("b5600"))
    assert table.knows("--cpu-moe", numbers("b4000")) is None, "older than all that were read"


def test_another_engine_is_one_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src/sizewell", tmp_path / "sizewell", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sizewell/sizing/catalog/engines/other.py").write_text(ADDED)
    paths = os.pathsep.join(map(str, (tmp_path, ROOT / "tests/launch", ROOT / "tests/components", ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-c", USED + SIZED],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    command, ready, sized = done.stdout.splitlines()
    assert sized.startswith("other ")
    assert command.startswith("['other-serve', '--weights', 'org/weights'"), command
    assert "'--listen', '8000'" in command
    assert ready == "/up"


def test_one_engine_serves_each_family_on_machines_without_accelerators() -> None:
    """Diffusion and speech have none: they are refused before anything is launched."""
    named = {f: [engine.name for engine in ENGINES.values() if f in engine.default_on_cpu] for f in FAMILIES}
    assert named == {
        "decoder": ["llama.cpp"],
        "encoder": ["text-embeddings-inference"],
        "vision": ["triton"],
        "diffusion": [],
        "speech": [],
    }
    for engine in ENGINES.values():
        assert not engine.default_on_cpu or "cpu" in engine.images
        assert set(engine.tags) <= set(engine.images)
