"""Serving on machines without accelerators: requests in processors and memory, the engines' CPU images, their flags."""

from __future__ import annotations

from typing import Any

import launch_cases as cases
import pytest
from decisions import decision, pool

from sizewell.launch import serving
from sizewell.launch.launch import Launch, launch_of
from sizewell.launch.run import read_run
from sizewell.launch.target import aks_target, eks_target, gke_target, other_target
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.records.decision import Pool, Replicas, Task

TYPES = {"aws": "m7i.xlarge", "gcp": "n2-standard-4", "azure": "Standard_D4s_v5"}
TEI = "ghcr.io/huggingface/text-embeddings-inference:cpu-1.8"
LLAMA = "ghcr.io/ggml-org/llama.cpp:server-b6900"
GGUF = "bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M"


def of(cloud: str = "aws", *, family: str = "encoder", run: dict[str, Any] | None = None) -> Launch:
    machines: Pool = pool(cloud, TYPES[cloud], "", 0, role="replicas")
    replicas = Replicas(min=1, initial=1, max=2, devices_per_replica=1, concurrency_per_replica=3)
    task = Task(model="BAAI/bge-small-en-v1.5", family=family, weights="fp32", sequence_length=300)
    work, _ = cases.serve(machines=machines)
    work = work.model_copy(update={"replicas": replicas, "task": task, "guard": None})
    plain = read_run(run or {"image": TEI}, "run")
    targets = {
        "aws": lambda: eks_target(work, machines, name="tags"),
        "gcp": lambda: gke_target(machines, name="tags", label="tags"),
        "azure": lambda: aks_target(work, machines, name="tags"),
    }
    return launch_of(decision(f"dev-{cloud}", work), work, machines, plain, targets[cloud]())


def container(made: Launch) -> dict[str, Any]:
    served = next(one for one in serving.manifests(made) if one["kind"] == "Deployment")
    return served["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("cloud", TYPES)
def test_a_replica_asks_for_processors_and_memory_alone(cloud: str) -> None:
    made = of(cloud)
    wanted = container(made)["resources"]
    assert wanted["requests"] == wanted["limits"] == {"cpu": "3", "memory": "11468Mi"}
    served = next(one for one in serving.manifests(made) if one["kind"] == "Deployment")
    keys = {one["key"] for one in served["spec"]["template"]["spec"]["tolerations"]}
    assert keys == {"sizewell/pool"}


def test_an_adopted_cluster_has_its_own_taints_alone() -> None:
    target = other_target(pool("aws", "m7i.xlarge", "", 0), name="tags", selector={"class": "cpu"})
    assert target.taints == ()


def test_each_family_has_its_engine_and_its_flags() -> None:
    words = container(of())["command"]
    assert words[:3] == ["text-embeddings-router", "--model-id", "BAAI/bge-small-en-v1.5"]
    chat = container(of(family="decoder", run={"image": LLAMA, "model": GGUF}))["command"]
    assert chat[:3] == ["/app/llama-server", "--hf-repo", GGUF]
    assert chat[chat.index("--parallel") + 1] == "3"
    assert chat[chat.index("--ctx-size") + 1] == str(3 * 1024)  # the context is that of all sequences together
    assert chat[chat.index("--threads") + 1] == "2"  # cores, not their threads
    assert chat[-1] == "--metrics"
    file = container(of(family="decoder", run={"image": LLAMA, "model": "/models/a.gguf"}))["command"]
    assert file[1:3] == ["--model", "/models/a.gguf"]


def test_vllm_is_told_how_large_its_cache_is() -> None:
    made = of(family="decoder", run={"image": "vllm/vllm-openai-cpu:v0.11.0", "engine": "vllm"})
    variables = {one["name"]: one.get("value") for one in container(made)["env"]}
    assert int(variables["VLLM_CPU_KVCACHE_SPACE"]) >= 1
    assert "--gpu-memory-utilization" not in container(made)["command"]


@pytest.mark.parametrize(
    ("run", "family", "said"),
    [
        ({"image": "vllm/vllm-openai:v0.11.0", "engine": "vllm"}, "decoder", "the machines have no accelerator"),
        ({"image": "ghcr.io/ggml-org/llama.cpp:server-cuda", "model": GGUF}, "decoder", "is built for cuda"),
        ({"image": "ghcr.io/huggingface/text-embeddings-inference:89-1.8"}, "encoder", "is built for cuda"),
        ({"image": LLAMA}, "decoder", "llama.cpp needs a model to load"),
        ({"image": TEI, "engine": "text-embeddings-inference"}, "diffusion", "does not serve diffusion models"),
    ],
)
def test_what_would_not_start_is_refused_before_it_is_submitted(run: dict[str, Any], family: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        serving.manifests(of(family=family, run=run))


def test_a_cpu_image_is_refused_on_accelerators() -> None:
    machines = pool("aws", "g6.xlarge", "l4", 1, role="replicas")
    work, _ = cases.serve(machines=machines)
    run = read_run({"image": LLAMA, "engine": "llama.cpp", "model": GGUF}, "run")
    made = launch_of(decision("dev-aws", work), work, machines, run, eks_target(work, machines, name="chat"))
    with pytest.raises(ConfigError, match="is built for cpu, the machines have l4"):
        serving.manifests(made)


@pytest.mark.parametrize(
    ("tag", "flag", "words"),
    [
        ("cpu-1.8", "--served-model-name", "name release 1.9.0 or later"),
        ("cpu-1.8.3", "--max-batch-token", "did you mean --max-batch-tokens?"),
        ("cpu-1.9", "--served-model-name", ""),
        ("cpu-1.7", "--prometheus-port", ""),  # since 1.7.1: the tag is the newest 1.7's
        ("cpu-latest-grpc", "--anything", ""),  # no release is named
    ],
)
def test_a_flag_that_the_release_of_an_embeddings_server_lacks_is_refused(tag: str, flag: str, words: str) -> None:
    made = of(run={"image": f"ghcr.io/huggingface/text-embeddings-inference:{tag}", "args": [flag, "x"]})
    if not words:
        assert flag in container(made)["args"]
        return
    with pytest.raises(ConfigError, match=r"run\.\w+\.args") as caught:
        serving.manifests(made)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("tag", "word", "says"),
    [
        ("server-b6900", "--checkpoint-every-n-tokens=8", "name release b8352 to b8390 "),
        ("server-b6900", "--no-webui-mcp-proxy", "name release b8352 or later"),
        ("server-b5600", "--cpu-moe", "name release b6122 or later"),
        ("server-v0.5.0", "--defrag-thol=0.1", "is a release without --defrag-thol "),
        ("server-v0.5.0", "--ctx-sise", "did you mean --ctx-size?"),
    ],
)
def test_an_argument_that_llama_cpp_s_build_lacks_is_refused(tag: str, word: str, says: str) -> None:
    image = f"{LLAMA.partition(':')[0]}:{tag}"
    with pytest.raises(ConfigError) as error:
        serving.manifests(of(family="decoder", run={"image": image, "model": GGUF, "args": [word]}))
    assert "args" in str(error.value)
    assert says in f"{error.value} "


@pytest.mark.parametrize(
    ("tag", "word"),
    [
        ("server-b6900", "--jinja"),
        ("server-b6000", "--cpu-moe"),  # of one of the two builds beside it that were read
        ("server-b4000", "--cpu-moe"),  # older than all that were read
        ("server-v0.9.0", "--something-new"),  # newer
        ("server-v0.5.0", "--fim-qwen-1.5b-default"),  # a dot that is the flag's own
        ("server", "--something-new"),  # no release is named
    ],
)
def test_an_argument_that_llama_cpp_s_build_may_have_is_taken(tag: str, word: str) -> None:
    image = f"{LLAMA.partition(':')[0]}:{tag}"
    assert serving.manifests(of(family="decoder", run={"image": image, "model": GGUF, "args": [word]}))


@pytest.mark.parametrize("tag", ["server-cuda-v0.5.0", "server-cuda13-b9445", "server-rocm-v0.5.0"])
def test_llama_cpp_s_images_for_gpus_are_refused_by_the_new_names_of_releases_too(tag: str) -> None:
    image = f"{LLAMA.partition(':')[0]}:{tag}"
    with pytest.raises(ConfigError, match="is built for"):
        serving.manifests(of(family="decoder", run={"image": image, "model": GGUF}))
