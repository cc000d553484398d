"""The LoRA adapters of a decision in the engine's own flags, and what is not started with them."""

from __future__ import annotations

import pytest

from sizewell.launch.serving import command, engine_of, possible
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.errors import ConfigError

from .launch_cases import CHAT, ROCM, VLLM, decision, eks_target, launch_of, pool, run, serve

LLAMA = {"model": "meta-llama/Llama-3.1-8B", "weights": "bf16"}


def served(image=VLLM, machines=None, **task):
    machines = machines or pool("aws", "g6.xlarge", "l4", 1, role="replicas")
    one, machines = serve(machines=machines, task=CHAT.model_copy(update={**LLAMA, **task}))
    return launch_of(decision("dev-aws", one), one, machines, run(image), eks_target(one, machines, name="chat"))


def words(of):
    return command(of, engine_of(of))


def after(found, flag):
    return found[found.index(flag) + 1]


@pytest.mark.parametrize("amd", [False, True])
def test_the_room_that_was_sized_is_the_room_that_is_reserved(amd):
    mi300x = pool("azure", "Standard_ND96is_MI300X_v5", "mi300x", 8, nodes=(1, 1, 1), role="replicas")
    machines = {"image": ROCM, "machines": mi300x} if amd else {}
    found = words(served(**machines, adapters=20, adapters_resident=8, adapter_rank=16))
    assert "--enable-lora" in found
    assert (after(found, "--max-loras"), after(found, "--max-lora-rank")) == ("8", "16")
    assert after(found, "--max-cpu-loras") == "20"


def test_adapters_that_are_all_resident_need_no_room_on_the_host():
    found = words(served(adapters=8, adapters_resident=8, adapter_rank=64))
    assert after(found, "--max-loras") == "8"
    assert "--max-cpu-loras" not in found


def test_without_adapters_no_flag_speaks_of_them():
    assert not any("lora" in word for word in words(served()))


def test_an_engine_without_them_is_refused_by_name():
    one, machines = serve(task=CHAT.model_copy(update={**LLAMA, "adapters": 8, "adapters_resident": 8}))
    of = launch_of(
        decision("dev-aws", one),
        one,
        machines,
        run("ghcr.io/ggml-org/llama.cpp:server-cuda-b6900", engine="llama.cpp", model="org/model-GGUF:Q4_K_M"),
        eks_target(one, machines, name="chat"),
    )
    with pytest.raises(ConfigError, match=r"llama.cpp does not serve LoRA adapters, and the decision has 8"):
        possible(of)


def test_every_flag_is_known_to_the_releases_that_were_read():
    table = ENGINES["vllm"].flag_table
    assert table is not None
    for meaning in ("adapters", "adapters_resident", "adapters_cached", "adapter_rank"):
        assert table.releases_with(ENGINES["vllm"].flags[meaning].name).startswith("0.10.0")
