"""Counting models: against published counts, by hand-checked formulas, and refusing shapes that cannot be."""

import math
from dataclasses import fields, replace

import pytest

from sizewell.accuracy.cases import read
from sizewell.accuracy.describe import CannotPredictError, architecture_of
from sizewell.sizing import catalog
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import (
    OPEN,
    attention_flop_per_token,
    check,
    faults,
    forward_flop_per_token,
    kv_bytes_per_token,
    local_layers,
    matmul_params,
    params_active,
    params_total,
    stage_params,
    train_flop_per_token,
)
from sizewell.sizing.predict.memory import training_memory
from sizewell.sizing.predict.performance.training import training_time
from sizewell.sizing.records.jobs import Cluster, Layout, TrainingJob
from sizewell.sizing.workload.hf_config import from_hf_config
from sizewell.sizing.workload.model_dimensions import APART, from_dimensions
from sizewell.sizing.workload.sections import Dimensions

DEEPSEEK_V3 = Architecture(
    key="deepseek-v3", layers=61, hidden=7168, heads=128, kv_heads=128, head_dim=192, ffn=18432, vocab=129280,
    experts=256, experts_per_token=8, expert_ffn=2048, shared_experts=1, dense_layers=3, kv_lora_rank=512,
    q_lora_rank=1536, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128,
)  # fmt: skip
MIXTRAL = Architecture(
    key="mixtral-8x7b", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ffn=14336, vocab=32000,
    experts=8, experts_per_token=2, expert_ffn=14336,
)  # fmt: skip


def stated_counts():
    seen = {}
    for case in read():
        model = case.model
        stated = model.get("params_total") or model.get("params_computed") or (model.get("params_b") or 0) * 1e9
        if stated and model.get("layers"):
            seen[model["name"], model["layers"], model["hidden"], stated] = case
    return [(*key, case) for key, case in sorted(seen.items(), key=str)]


def test_every_parameter_count_that_a_source_states_is_counted():
    # Counts that a source states wrong, by its own dimensions, or rounds: who says what is in the comment.
    known_to_differ = {
        "Llama-4-Maverick",  # the source counts experts in every layer; every second layer has them
        "Llama-4-Maverick-17B-128E",
        "Llama-4-Scout",  # counted without the shared experts and without the vision tower
        "Llama-4-Scout-17B-16E",
        "Llama-4-Scout-17B-16E-Instruct",
        "MPT-7B",  # variants with longer position tables
        "MPT-3B",
        "GPT-1.7B",  # rounded names
        "GPT-3.6B",
        "Gemma-3-12B",  # counted with an output matrix of its own; the model ties it
        "gemma-3-4b-it",
        "gemma-3-12b-it",
        "gemma-3-27b-it",  # without the vision tower
    }
    off = {}
    for name, _, _, stated, case in stated_counts():
        ratio = params_total(architecture_of(case)) / stated
        if name not in known_to_differ and abs(ratio - 1) > 0.015:
            off[name] = round(ratio, 3)
    assert off == {}


@pytest.mark.parametrize(
    ("architecture", "total", "active"),
    [(DEEPSEEK_V3, 671.0e9, 37.5e9), (MIXTRAL, 46.7e9, 12.9e9)],
    ids=["DeepSeek-V3", "Mixtral 8x7B"],
)
def test_mixtures_of_experts_have_their_published_size(architecture, total, active):
    assert params_total(architecture) == pytest.approx(total, rel=0.003)
    assert params_active(architecture) == pytest.approx(active, rel=0.02)


def test_stages_add_up_to_the_model(llama):
    parts = [
        sum(stage_params(llama, layers, first=layers.start == 0, last=layers.stop == 32))
        for layers in (range(11), range(11, 22), range(22, 32))
    ]
    assert sum(parts) == params_total(llama)


def test_experts_of_stages_add_up():
    parts = [stage_params(DEEPSEEK_V3, layers, first=False, last=False)[1] for layers in (range(30), range(30, 61))]
    whole = stage_params(DEEPSEEK_V3, range(61), first=False, last=False)[1]
    assert sum(parts) == whole


def test_training_takes_six_flops_per_parameter_and_the_attention(llama):
    without_attention = train_flop_per_token(llama, 1)
    assert without_attention == pytest.approx(6 * (params_total(llama) - llama.vocab * llama.hidden), rel=0.001)
    causal = attention_flop_per_token(llama, 8192)
    assert causal == pytest.approx(32 * 4 * 4096 * 8192 / 2)
    assert attention_flop_per_token(llama, 8192, causal=False) == 2 * causal


def test_a_sliding_window_bounds_attention_and_cache():
    gemma = Architecture(
        key="gemma-3-12b", layers=48, hidden=3840, heads=16, kv_heads=8, head_dim=256, ffn=15360, vocab=262144,
        sliding_window=1024, global_attention_every=6,
    )  # fmt: skip
    assert local_layers(gemma) == 40
    full = replace(gemma, sliding_window=0)
    assert attention_flop_per_token(gemma, 65536) < 0.2 * attention_flop_per_token(full, 65536)
    assert kv_bytes_per_token(gemma, 2) == kv_bytes_per_token(full, 2) == 48 * 2 * 8 * 256 * 2
    long = kv_bytes_per_token(gemma, 2, context=131072)
    assert long == pytest.approx((8 + 40 * 1024 / 131072) * 2 * 8 * 256 * 2)
    assert forward_flop_per_token(gemma, 131072) < forward_flop_per_token(full, 131072)


def test_latent_attention_caches_the_latent_vector():
    assert kv_bytes_per_token(DEEPSEEK_V3, 2) == 61 * (512 + 64) * 2


def test_the_embedding_lookup_costs_nothing_and_the_head_does(llama):
    assert matmul_params(llama) == params_total(llama) - llama.vocab * llama.hidden
    tied = replace(llama, tied_embeddings=True)
    assert matmul_params(tied) == matmul_params(llama)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kv_heads": 5}, "kv_heads"),
        ({"vocab": 0}, "vocab"),
        ({"heads": 0}, "heads"),
        ({"layers": -1}, "layers"),
        ({"ffn": 0}, "ffn"),
        ({"experts": 8, "experts_per_token": 9, "expert_ffn": 1024}, "experts_per_token"),
        ({"experts": 8, "experts_per_token": 2, "expert_ffn": 0}, "expert_ffn"),
        ({"kv_lora_rank": 512}, "v_head_dim"),
    ],
)
def test_impossible_shapes_are_refused_by_name(llama, change, named):
    found = faults(replace(llama, **change))
    assert [fault.path for fault in found] == [f"model.{named}"]
    with pytest.raises(SpecError, match=named):
        check(replace(llama, **change))


LLAMA_CONFIG = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072,
    "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip


def test_a_hugging_face_config_becomes_the_same_model(llama):
    read_back = from_hf_config(LLAMA_CONFIG, "llama-8b")
    assert params_total(read_back) == params_total(llama) == 8_030_261_248
    assert read_back.assumed == ()


def test_an_unknown_architecture_is_sized_from_its_dimensions_and_says_so():
    config = {**LLAMA_CONFIG, "model_type": "brandnew"}
    read_back = from_hf_config(config, "x")
    assert params_total(read_back) == 8_030_261_248
    assert any("'brandnew' is unknown" in line for line in read_back.assumed)


@pytest.mark.parametrize("method", ["full", "lora"])
def test_what_is_predicted_of_an_unknown_architecture_has_a_lower_grade_and_a_wider_band(method):
    config = {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "vocab_size": 50000}
    device = catalog.load().accelerator("h100-sxm")
    found = []
    for kind in ("llama", "brandnew"):
        a = from_hf_config({**config, "model_type": kind, "intermediate_size": 8192}, kind)
        job = TrainingJob(
            architecture=replace(a, gated=True),
            method=method,
            engine="transformers",
            sequence_length=2048,
            global_batch=8,
        )
        time = training_time(job, Layout(micro_batch=8), Cluster(accelerator=device, per_node=1))
        memory = training_memory(job, Layout(micro_batch=8), device)
        found.append((time.grade, time.high_s / time.step_s, memory.grade, memory.high_bytes / memory.total_bytes))
    known, unknown = found
    assert (known[0], known[2]) == ("calibrated", "calibrated")
    assert (unknown[0], unknown[2]) == ("roofline", "roofline")
    assert unknown[1] == pytest.approx(known[1] ** 2)
    assert unknown[3] == pytest.approx(known[3] ** 2, rel=1e-3)


def test_other_spellings_of_the_same_dimension():
    gpt2 = {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25, "vocab_size": 50257, "n_positions": 1024}
    a = from_hf_config(gpt2, "gpt2-xl")
    assert params_total(a) == pytest.approx(1.558e9, rel=0.001)
    assert not a.gated
    assert a.tied_embeddings


def test_experts_and_latent_attention_are_read():
    config = {
        "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "kv_lora_rank": 512,
        "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "vocab_size": 129280,
        "hidden_act": "silu", "tie_word_embeddings": False,
    }  # fmt: skip
    assert params_total(from_hf_config(config, "deepseek-v3")) == params_total(DEEPSEEK_V3)


def test_the_text_part_and_the_vision_tower_of_a_vision_language_model():
    config = {
        "model_type": "gemma3",
        "text_config": {**LLAMA_CONFIG, "model_type": "gemma3_text", "sliding_window": 1024, "sliding_window_pattern": 6},
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 16,
                          "intermediate_size": 4304, "patch_size": 14, "image_size": 896},
    }  # fmt: skip
    a = from_hf_config(config, "vlm")
    assert a.sliding_window == 1024
    assert local_layers(a) == 32 - 5
    assert a.extra_params == pytest.approx(417e6, rel=0.02)


@pytest.mark.parametrize(("outer", "inner"), [(True, False), (False, True)])
def test_a_file_that_contradicts_itself_about_its_embeddings_is_counted_with_two_and_says_so(outer, inner):
    text = {**LLAMA_CONFIG, "tie_word_embeddings": inner}
    a = from_hf_config({"model_type": "vlm", "text_config": text, "tie_word_embeddings": outer}, "vlm")
    assert not a.tied_embeddings
    assert any(f"is {str(outer).lower()} at the top level" in line for line in a.assumed)
    agreed = from_hf_config({"text_config": {**text, "tie_word_embeddings": True}, "tie_word_embeddings": True}, "vlm")
    assert agreed.tied_embeddings
    assert not any("tie_word_embeddings" in line for line in agreed.assumed)


def test_what_a_nested_part_leaves_out_is_as_its_type_has_it():
    """As llava-hf/llava-1.5-7b-hf and google/gemma-3-4b-it are published: Vicuna-7B, and 3.88B beside the tower."""
    llava = from_hf_config({"text_config": {"model_type": "llama", "vocab_size": 32064}}, "llava")
    assert params_total(llava) == 6_738_939_904
    assert any("num_hidden_layers" in line and "text_config leaves them out" in line for line in llava.assumed)
    stated = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
              "sliding_window": 1024}  # fmt: skip
    gemma = from_hf_config({"model_type": "gemma3", "text_config": stated}, "gemma")
    assert params_total(gemma) == pytest.approx(3.88e9, rel=0.002)
    with pytest.raises(SpecError, match="no layers"):
        from_hf_config({"model_type": "llama", "vocab_size": 32064}, "not nested")


@pytest.mark.parametrize("billions", [3, 7, 8, 13, 30, 34, 70, 110, 405])
def test_a_model_of_stated_size_has_heads_that_groups_of_eight_devices_divide(billions):
    a = from_dimensions(Dimensions(params=billions * 10**9), "m")
    assert a.heads % 8 == 0
    assert (a.kv_heads, a.hidden) == (8, 128 * a.heads)
    assert params_total(a) == pytest.approx(billions * 1e9, rel=0.001)


# Published mixtures by what their names say: parameters, and how many are active.
@pytest.mark.parametrize(("total", "active"), [(1000, 32), (671, 37), (235, 22), (47, 13), (30, 3)])
def test_a_mixture_of_stated_size_reads_its_active_parameters_and_holds_all(total, active):
    a = from_dimensions(Dimensions(params=total * 10**9, active_params=active * 10**9), "m")
    assert params_total(a) == pytest.approx(total * 1e9, rel=0.01)
    assert params_active(a) == pytest.approx(active * 1e9, rel=0.02)
    assert "experts" in a.assumed[0]


COUNTED = {"params", "active_params", "family", "gated", "tied_embeddings", "image_tokens"}


@pytest.mark.parametrize("left_out", [(), ("vocab",), ("vocab", "kv_heads")])
def test_the_shape_of_a_published_model_is_taken_with_its_params(left_out):
    """Gated or not, tied or not, however large its vocabulary: what a person leaves out of a shape is no contradiction."""
    seen = 0
    for key, model in catalog.load().models.items():
        if model.kind not in ("decoder", "encoder") or not model.layers or model.forward_flop_per_sample:
            continue
        if key == "mpt-1b":  # it has 1.3 B
            continue
        stated = {field: getattr(model, field) for field in Dimensions.model_fields.keys() - COUNTED - set(left_out)}
        stated = {field: value for field, value in stated.items() if value}
        params = params_total(model)
        read = from_dimensions(Dimensions(family=model.kind, params=params, **stated), key)
        assert params_total(read) == pytest.approx(params, rel=APART), key
        seen += 1
    assert seen > 300


def test_stated_params_choose_what_the_shape_leaves_open():
    bge = {"family": "encoder", "layers": 24, "hidden": 1024, "heads": 16, "ffn": 4096, "vocab": 250_002}
    assert not from_dimensions(Dimensions(params=568_000_000, **bge), "bge-m3").gated
    assert from_dimensions(Dimensions(params=660_000_000, **bge), "gated").gated
    qwen = {"layers": 24, "hidden": 896, "heads": 14, "kv_heads": 2, "ffn": 4864}
    tied = from_dimensions(Dimensions(params=494_000_000, vocab=151_936, **qwen), "qwen")
    assert (tied.gated, tied.tied_embeddings, tied.extra_params) == (True, True, pytest.approx(0, abs=1e6))
    assert from_dimensions(Dimensions(params=630_000_000, vocab=151_936, **qwen), "qwen").tied_embeddings is False
    # a stated choice stands
    assert from_dimensions(Dimensions(params=568_000_000, gated=True, **(bge | {"ffn": 3000})), "own").gated


def test_a_denoiser_has_its_stated_params_whatever_its_blocks_count():
    shape = {"layers": 40, "hidden": 5120, "heads": 40, "ffn": 13_824}  # cross-attention is in no figure of these
    read = from_dimensions(
        Dimensions(family="diffusion", params=14_000_000_000, forward_flop_per_sample=10**15, **shape), "wan"
    )
    assert params_total(read) == 14_000_000_000
    vit = Dimensions(family="vision", layers=24, hidden=1024, heads=16, forward_flop_per_sample=123 * 10**9)
    assert params_total(from_dimensions(vit, "vit-l")) == pytest.approx(304e6, rel=0.02)


def test_what_is_missing_is_named():
    broken = {key: value for key, value in LLAMA_CONFIG.items() if key not in ("num_hidden_layers", "vocab_size")}
    with pytest.raises(SpecError) as caught:
        from_hf_config(broken, "broken")
    assert "no layers" in str(caught.value)
    assert "no vocab" in str(caught.value)
    assert "num_hidden_layers" in str(caught.value)


@pytest.mark.parametrize("wrong", ["many", [1, 2], {"a": 1}, -4, 0, 10**12])
@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_dimension_that_is_none_is_refused_without_a_traceback(field, wrong):
    with pytest.raises(SpecError):
        from_hf_config({**LLAMA_CONFIG, field: wrong}, "odd")


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(SpecError, match="multiple of the 33 heads"):
        from_hf_config({**LLAMA_CONFIG, "num_attention_heads": 33, "num_key_value_heads": 33}, "odd")


def test_a_vision_transformer_has_its_published_flops():
    config = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
              "intermediate_size": 3072, "image_size": 224, "patch_size": 16}  # fmt: skip
    a = from_hf_config(config, "vit-b16")
    assert a.kind == "vision"
    assert a.forward_flop_per_sample == pytest.approx(35.1e9, rel=0.02)
    assert params_total(a) == pytest.approx(86e6, rel=0.03)


def test_an_image_network_is_as_fast_by_its_configuration_as_by_its_name():
    """ViT-B/16: as layers of a language model it would reach twice the speed, and near the device's peak."""
    config = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
              "intermediate_size": 3072, "image_size": 224, "patch_size": 16}  # fmt: skip
    facts = catalog.load()
    cluster = Cluster(accelerator=facts.accelerator("a100-80gb-sxm"), per_node=1)
    seconds = [
        training_time(
            TrainingJob(architecture=a, method="pretrain", global_batch=256), Layout(micro_batch=256), cluster
        ).step_s
        for a in (from_hf_config(config, "vit"), facts.model("vit-base-16"))
    ]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.05)


def test_the_language_model_of_qwen_vl_is_that_of_qwen():
    """7,615,616,512 parameters, biases of queries, keys and values among them (Qwen2.5-7B's model card says 7.61B)."""
    text = {"model_type": "qwen2_5_vl_text", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
            "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064}  # fmt: skip
    a = from_hf_config({"model_type": "qwen2_5_vl", "text_config": text, "tie_word_embeddings": False}, "vl")
    assert params_total(a) == 7_615_616_512
    assert a.assumed == ()


def test_a_case_without_dimensions_and_unknown_to_the_catalog_is_refused():
    case = next(case for case in read() if case.model.get("layers"))
    nameless = type(case)({**case.raw, "model": {"name": "nobody-knows-7B"}})
    with pytest.raises(CannotPredictError, match="nobody-knows-7B"):
        architecture_of(nameless)


def test_flops_do_not_depend_on_how_the_model_is_called(llama):
    assert math.isclose(train_flop_per_token(llama, 4096), train_flop_per_token(replace(llama, key="other"), 4096))


def test_every_field_that_the_catalog_leaves_open_has_a_name_in_words():
    left_open = {name for model in catalog.load().models.values() for name in model.assumed if " " not in name}
    assert left_open
    assert left_open <= set(OPEN)
    known = {field.name for field in fields(Architecture)}
    assert set(OPEN) <= known
