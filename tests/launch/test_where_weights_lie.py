"""Where an engine reads its weights: names on the Hub, buckets, folders; and what the stack's network leads to."""

import dataclasses

import launch_cases as cases
import pytest

from sizewell.launch import images, reach, serving
from sizewell.launch.manifests import manifests
from sizewell.launch.run import read_run
from sizewell.sizing.errors import ConfigError

IMAGES = {
    "vllm": "vllm/vllm-openai:v0.11.0",
    "llama.cpp": "ghcr.io/ggml-org/llama.cpp:server-cuda-b6900",
    "text-embeddings-inference": "ghcr.io/huggingface/text-embeddings-inference:89-1.8",
    "triton": "nvcr.io/nvidia/tritonserver:25.10-py3",
}
FAMILIES = {"text-embeddings-inference": "encoder", "triton": "vision"}


def served(engine, model="", **more):
    of = cases.serve_hours()
    task = of.task.model_copy(update={"family": FAMILIES.get(engine, "decoder"), "weights": "bf16"})
    run = read_run({"image": IMAGES[engine], "engine": engine, **({"model": model} if model else {}), **more}, "run")
    return dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task), run=run)


@pytest.mark.parametrize("engine", ["llama.cpp", "text-embeddings-inference"])
@pytest.mark.parametrize("model", ["s3://bucket/model", "gs://bucket/model"])
def test_an_engine_without_a_client_for_buckets_gets_none(engine, model):
    with pytest.raises(ConfigError) as error:
        manifests(served(engine, model))
    assert f"{model}: {engine} loads from a folder or a name on the Hub, not from" in str(error.value)
    assert "set run.chat.model to a folder of the image or of a volume" in str(error.value)
    assert manifests(served(engine, "/models/weights.gguf"))


@pytest.mark.parametrize(
    ("engine", "model", "taken"),
    [
        ("vllm", "s3://bucket/model", True),
        ("vllm", "gs://bucket/model", True),
        ("vllm", "pvc://models/chat", False),
        ("triton", "s3://bucket/models", True),
        ("triton", "as://account/container/models", True),
        ("triton", "az://container/models", False),
    ],
)
def test_a_bucket_is_spelt_as_the_engine_reads_it(engine, model, taken):
    if taken:
        assert manifests(served(engine, model))
    else:
        with pytest.raises(ConfigError, match=rf"{engine} loads from"):
            manifests(served(engine, model))


def test_a_command_of_ones_own_is_taken_as_it_is():
    assert manifests(served("llama.cpp", "s3://bucket/model", command=["serve"]))


@pytest.mark.parametrize(
    ("engine", "model"),
    [
        ("llama.cpp", "bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M"),
        ("text-embeddings-inference", "BAAI/bge-m3"),
        ("vllm", "meta-llama/Llama-3.1-8B"),
        ("vllm", ""),  # the decision's own
    ],
)
def test_a_name_on_the_hub_needs_a_way_there(engine, model):
    with pytest.raises(ConfigError) as error:
        reach.check(served(engine, model), internet=False)
    assert "is a name on the Hugging Face Hub, which the stack's network cannot reach" in str(error.value)
    assert ("or to a bucket" in str(error.value)) is bool(
        serving.ENGINES[engine].reads & {"s3"}
    )  # the fix can be followed
    reach.check(served(engine, model), internet=True)
    reach.check(served(engine, model, env={"HF_ENDPOINT": "https://mirror.example"}), internet=False)
    reach.check(served(engine, "/models/weights"), internet=False)


@pytest.mark.parametrize("engine", ["vllm", "text-embeddings-inference"])
def test_a_model_that_was_sized_by_its_config_json_needs_the_place_of_its_weights(engine):
    of = served(engine, "")
    task = of.task.model_copy(update={"model": "models/config.json"})
    of = dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task))
    for variables in ({}, {"HF_ENDPOINT": "https://mirror.example"}):
        bare = dataclasses.replace(of, run=dataclasses.replace(of.run, env=tuple(variables.items())))
        with pytest.raises(ConfigError, match=r"was sized by models/config\.json, which has no weights") as error:
            reach.check(bare, internet=True)
        assert "(`--model`)" in str(error.value)
        with pytest.raises(ConfigError) as closed:
            reach.check(bare, internet=False)
        assert "a name on the Hub" in str(error.value)
        assert ("a name on the Hub" in str(closed.value)) is bool(variables)  # where nothing leads there
    reach.check(dataclasses.replace(of, run=dataclasses.replace(of.run, model="org/model")), internet=True)


@pytest.mark.parametrize(
    ("engine", "model", "lacking"),
    [
        ("vllm", "microsoft/deberta-v3-base", True),
        ("vllm", "sentence-transformers/all-mpnet-base-v2", True),
        ("vllm", "BAAI/bge-reranker-v2-m3", False),
        ("text-embeddings-inference", "sentence-transformers/all-mpnet-base-v2", False),
    ],
)
def test_a_model_that_an_engine_has_no_layers_of_is_not_launched_on_it(engine, model, lacking):
    of = served(engine, model)
    assert any("has no layers for " + model in str(each) for each in refused(of)) is lacking
    assert not refused(dataclasses.replace(of, run=dataclasses.replace(of.run, command=("python3", "serve.py"))))


@pytest.mark.parametrize(
    ("engine", "image", "model", "model_type", "since"),
    [
        ("text-embeddings-inference", "89-1.5", "/m", "modernbert", "1.7.0"),
        ("text-embeddings-inference", "89-1.6", "/m", "modernbert", "1.7.0"),
        ("text-embeddings-inference", "89-1.7", "/m", "modernbert", ""),
        ("text-embeddings-inference", "89-1.5", "/m", "mpnet", "1.6.0"),
        ("text-embeddings-inference", "89-1.6", "sentence-transformers/all-mpnet-base-v2", None, ""),
        ("text-embeddings-inference", "89-1.8", "/m", "deberta-v2", "1.9.0"),
        ("text-embeddings-inference", "89-1.2", "Qwen/Qwen3-Embedding-0.6B", None, "1.7.2"),
        ("text-embeddings-inference", "89-1.2", "/m", "qwen3", "1.7.2"),
        ("vllm", "v0.8.0", "Qwen/Qwen3-8B", None, "0.8.4"),
        ("vllm", "v0.8.4", "Qwen/Qwen3-8B", None, ""),
        ("vllm", "v0.9.2", "openai/gpt-oss-120b", None, "0.10.1"),
        ("vllm", "v0.9.2", "/m", "gpt_oss", "0.10.1"),
        ("vllm", "v0.6.0", "openai/whisper-large-v3", None, "0.7.0"),
        ("vllm", "v0.11.0", "meta-llama/Llama-3.2-11B-Vision-Instruct", None, "0.6.2 or later before 0.11.0"),
        ("vllm", "v0.6.6", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", None, ""),
    ],
)
def test_a_release_without_the_model_is_not_launched(engine, image, model, model_type, since):
    """By the type of the configuration where the spec gave one, whatever its folder is called."""
    of = served(engine, model)
    repository = IMAGES[engine].rpartition(":")[0]
    task = of.task.model_copy(update={"model_type": model_type})
    run = dataclasses.replace(of.run, image=f"{repository}:{image}")
    of = dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task), run=run)
    try:
        serving.possible(of)
        faults = []
    except ConfigError as error:
        faults = [each for each in error.faults if "is a release of" in each.message]
    assert len(faults) == bool(since)
    assert all(since in each.fix and each.path == "run.chat.image" for each in faults)
    own = dataclasses.replace(of, run=dataclasses.replace(run, command=("serve",)))
    serving.possible(own)


def test_a_type_that_no_release_has_is_refused_and_said_where_its_export_runs():
    of = served("text-embeddings-inference", "/m")
    of = dataclasses.replace(
        of, plan=dataclasses.replace(of.plan, task=of.task.model_copy(update={"model_type": "electra"}))
    )
    assert any("text-embeddings-inference has no layers for electra" in each for each in refused(of))
    machine = dataclasses.replace(of.machine, accelerator="", runtime="cpu")
    run = dataclasses.replace(of.run, image="ghcr.io/huggingface/text-embeddings-inference:cpu-1.8")
    cpu = dataclasses.replace(of, machine=machine, run=run)
    assert not any("electra" in each for each in refused(cpu))
    assert any("no layers for electra" in each and "ONNX" in each for each in images.doubts(cpu))


def refused(of):
    try:
        serving.possible(of)
    except ConfigError as error:
        return [each.message for each in error.faults]
    return []


def test_a_repository_of_models_is_no_name_on_the_hub():
    reach.check(served("triton", "models"), internet=False)


@pytest.mark.parametrize(("accelerator", "family"), [("a10g", "ampere"), ("t4", "turing")])
def test_a_cache_that_the_generation_has_no_kernels_for_is_refused(accelerator, family):
    of = served("vllm", "/models/chat")
    task = of.task.model_copy(update={"kv": "fp8"})
    of = dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task, accelerator=accelerator))
    there = dataclasses.replace(of, machine=dataclasses.replace(of.machine, accelerator=accelerator, family=family))
    with pytest.raises(ConfigError, match=f"vllm has no kernels for a cache in fp8 on {accelerator}"):
        manifests(there)
    assert manifests(of)  # on an L4


def test_whole_experts_become_a_flag():
    of = served("vllm", "/models/chat")
    task = of.task.model_copy(update={"expert_parallel": True})
    whole = dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task))
    assert "--enable-expert-parallel" in serving.command(whole, serving.ENGINES["vllm"])
    assert "--enable-expert-parallel" not in serving.command(of, serving.ENGINES["vllm"])


def landing(weights_gib, disk_gib, model="deepseek-ai/DeepSeek-V3", **more):
    of = served("vllm", model, **more)
    held = {"weights_bytes": weights_gib * 2**30, "disk_bytes": disk_gib * 2**30}
    return dataclasses.replace(of, plan=dataclasses.replace(of.plan, scheduler="none", **held))


def test_weights_that_no_disk_holds_are_not_downloaded():
    with pytest.raises(ConfigError) as error:
        reach.check(landing(625, 200, env={"HF_ENDPOINT": "https://mirror.example"}), internet=False)
    assert "the weights, 625 GiB, are downloaded to the disk of a machine, which has 200 GiB" in str(error.value)
    assert "size the spec again" in str(error.value)
    reach.check(landing(625, 900), internet=True)
    reach.check(landing(625, 0), internet=True)  # the machine's own disks, or not known
    reach.check(landing(625, 200), internet=True, adopted=True)


@pytest.mark.parametrize("model", ["s3://bucket/model", "gs://bucket/model", "/models/large"])
def test_weights_that_lie_elsewhere_need_no_disk(model):
    reach.check(landing(625, 200, model), internet=False)


def test_each_pod_of_a_machine_downloads_its_own_weights():
    of = landing(150, 200)
    machine = dataclasses.replace(of.machine, devices=8)
    replicas = of.plan.replicas.model_copy(update={"devices_per_replica": 4})
    plan = dataclasses.replace(of.plan, replicas=replicas)
    reach.check(dataclasses.replace(of, plan=plan, machine=machine), internet=True)
    pods = dataclasses.replace(of, plan=dataclasses.replace(plan, scheduler="kubernetes"), machine=machine)
    with pytest.raises(ConfigError, match="2 times 150 GiB"):
        reach.check(pods, internet=True)
