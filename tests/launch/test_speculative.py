"""The draft of a decision in the engine's own flag, and what is not started with it."""

from __future__ import annotations

import json

import pytest

from sizewell.launch import reach
from sizewell.launch.serving import command, engine_of, possible
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.errors import ConfigError

from .launch_cases import CHAT, VLLM, decision, eks_target, launch_of, pool, run, serve

NEWER = "vllm/vllm-openai:v0.15.0"
LLAMA = {"model": "meta-llama/Llama-3.1-8B", "weights": "bf16"}
ONE_B = {"draft": "meta-llama/Llama-3.2-1B", "draft_tokens": 5}


def served(image=NEWER, more=None, **task):
    machines = pool("aws", "g6.xlarge", "l4", 1, role="replicas")
    one, machines = serve(machines=machines, task=CHAT.model_copy(update={**LLAMA, **task}))
    target = eks_target(one, machines, name="chat")
    return launch_of(decision("dev-aws", one), one, machines, run(image, **(more or {})), target)


def config(of):
    words = command(of, engine_of(of))
    return json.loads(words[words.index("--speculative-config") + 1])


def test_the_draft_that_was_sized_is_the_one_that_proposes():
    """As vLLM documents it (docs.vllm.ai, features/speculative_decoding: draft_model, n_gram)."""
    assert config(served(**ONE_B)) == {
        "method": "draft_model",
        "model": "meta-llama/Llama-3.2-1B",
        "num_speculative_tokens": 5,
    }
    assert config(served(draft="ngram", draft_tokens=3)) == {"method": "ngram", "num_speculative_tokens": 3}
    assert "--speculative-config" not in command(served(), engine_of(served()))


def test_the_flag_is_known_to_the_releases_that_were_read():
    vllm = ENGINES["vllm"]
    assert vllm.flag_table is not None
    assert vllm.flag_table.releases_with(vllm.flags["speculative"].name).startswith("0.10.0")
    assert vllm.drafts_from in vllm.flag_table.releases


@pytest.mark.parametrize("image", [VLLM, "vllm/vllm-openai:v0.14.1"])
def test_a_release_that_takes_no_draft_model_is_refused(image):
    with pytest.raises(
        ConfigError, match=r"(?s)takes no draft model, and the decision has meta-llama/Llama-3.2-1B.*0\.15\.0"
    ):
        possible(served(image, **ONE_B))
    possible(served(image, draft="ngram", draft_tokens=5))
    possible(served(NEWER, **ONE_B))
    possible(served("vllm/vllm-openai:v0.33", **ONE_B))
    possible(served("registry.example/vllm:0.1.0", **ONE_B))  # the user's own, whose release nobody knows


def test_an_engine_without_it_is_refused_by_name():
    more = {"engine": "llama.cpp", "model": "org/model-GGUF:Q4_K_M"}
    of = served("ghcr.io/ggml-org/llama.cpp:server-cuda-b6900", more, **ONE_B)
    with pytest.raises(ConfigError, match=r"llama.cpp is not started with speculative decoding"):
        possible(of)


def test_a_draft_of_the_hub_needs_the_hub_as_the_model_does():
    bucket = {"model": "s3://bucket/model"}
    with pytest.raises(ConfigError) as refused:
        reach.check(served(more=bucket, **ONE_B), internet=False)
    (fault,) = refused.value.faults
    assert fault.path == "run.chat.draft"
    assert "meta-llama/Llama-3.2-1B is a name on the Hugging Face Hub" in str(refused.value)
    assert "bucket" not in fault.fix
    with pytest.raises(ConfigError) as both:
        reach.check(served(**ONE_B), internet=False)
    assert {fault.path for fault in both.value.faults} == {"run.chat.model", "run.chat.draft"}
    reach.check(served(**ONE_B), internet=True)
    reach.check(served(more=bucket, draft="ngram", draft_tokens=5), internet=False)
    reach.check(served(more={**bucket, "draft": "/models/draft"}, **ONE_B), internet=False)
    reach.check(served(more={"env": {"HF_ENDPOINT": "http://hub.internal"}}, **ONE_B), internet=False)


def test_the_run_names_where_the_draft_lies():
    assert config(served(more={"draft": "/models/draft"}, **ONE_B))["model"] == "/models/draft"
    with pytest.raises(ConfigError, match=r"run\.chat\.draft: s3://bucket/draft: that vllm loads a draft from s3://"):
        possible(served(more={"draft": "s3://bucket/draft"}, **ONE_B))
    with pytest.raises(ConfigError, match=r"run\.chat\.draft: is for a decision with a draft model"):
        possible(served(more={"draft": "/models/draft"}))


def test_a_model_that_reads_images_takes_no_draft_model_in_releases_that_refuse_it():
    vision = {"model": "google/gemma-3-27b-it", "draft": "google/gemma-2-2b-it", "draft_tokens": 5}
    for image in (NEWER, "vllm/vllm-openai:v0.20.2"):
        with pytest.raises(ConfigError, match="takes no draft model beside a model that reads images"):
            possible(served(image, **vision))
    possible(served("vllm/vllm-openai:v0.33", **vision))
    possible(served(NEWER, **{**vision, "draft": "ngram"}))


def test_a_draft_with_two_kinds_of_cache_is_refused_of_releases_that_take_one():
    gemma = {"draft": "google/gemma-3-1b-it", "draft_tokens": 5}
    for image in (NEWER, "vllm/vllm-openai:v0.15.1"):
        with pytest.raises(ConfigError, match="takes no draft with a window in some layers alone"):
            possible(served(image, **gemma))
    possible(served("vllm/vllm-openai:v0.16.0", **gemma))
    possible(served(NEWER, **ONE_B))
