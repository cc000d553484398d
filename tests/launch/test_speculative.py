"""The draft of a decision in the engine's own flag, and what is not started with it."""

from __future__ import annotations

import json

import pytest

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
