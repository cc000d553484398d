"""Learning from preferences is sized as what runs at once: the model that is trained, its reference, both of a pair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.sizing.choose.decide import decide
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.predict.memory import training_memories
from sizewell.sizing.predict.performance.training import training_time
from sizewell.sizing.records.jobs import Cluster, Layout
from sizewell.sizing.records.launching import beyond

from .conftest import ON, spec, with_shapes

RUN = {"samples": 10_000, "sequence_length": 2048, "global_batch": 131072}
GIVEN = {"kind": "fine-tuning", "model": "hf:meta-llama/Llama-3.1-8B", "engine": "trl"}


def job(facts, method, **more):
    return requirements(spec(**GIVEN, training={**RUN, "method": method, **more}), facts).training


def sized(facts, of, zero=3):
    device = facts.accelerators["h100-sxm"]
    layout = Layout(data=8, zero_stage=zero, micro_batch=2, checkpointing="full")
    [memory] = training_memories(of, [layout], [device])
    cluster = Cluster(accelerator=device, per_node=8, scale_up=8, link_bytes_per_s=device.link_bytes_per_s)
    return dict(memory.breakdown), training_time(of, layout, cluster)


@pytest.mark.parametrize(("method", "passes"), [("full", 0), ("orpo", 0), ("reward", 0), ("dpo", 1), ("kto", 3)])
def test_a_reference_is_held_and_asked(facts, method, passes):
    of = job(facts, method)
    parts, time = sized(facts, of)
    held = parts.get("reference model", 0)
    # TRL loads the reference as it loads the model: in fp32 unless all of it is in 16 bits.
    assert held == pytest.approx(4 * params_total(of.architecture) / 8 if passes else 0, rel=0.01)
    waterfall = dict(time.waterfall)
    alone = dict(sized(facts, job(facts, "full"))[1].waterfall)
    again = waterfall.get("passes of a reference", 0.0)
    # Full recomputation is one more pass forward of every layer, and a pass of the head is a third of its three.
    assert again == pytest.approx(passes * alone["recompute"], rel=0.15)


@pytest.mark.parametrize("method", ["dpo", "orpo", "reward"])
def test_both_answers_of_a_pair_are_read(facts, method):
    paired, single = job(facts, method), job(facts, "kto")
    assert (paired.samples, single.samples) == (20_000, 10_000)
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    chosen = decide([spec(**GIVEN, training={**RUN, "method": method})], few, stack="", on=ON).workloads[0]
    assert chosen.parallelism.micro_batch % 2 == 0
    assert next(note for note in chosen.assumptions if note.startswith(f"{method}: pairs of answers"))
    named = beyond(chosen.task, chosen.framework, chosen.parallelism)
    assert ("task.method", "TRL or Axolotl") in [(each.path, each.software) for each in named]
    odd = job(facts, method, global_batch=2048 * 5)
    assert odd.global_batch == 6


def test_beside_adapters_the_base_is_the_reference(facts):
    of = job(facts, "dpo", lora={"rank": 16})
    assert (of.method, of.reference, of.forwards) == ("lora", False, 1.0)
    assert not sized(facts, of)[0].get("reference model")


def test_a_reference_is_in_16_bits_where_all_is_or_other_software_loads_it(facts):
    of = job(facts, "dpo")
    for narrow in (replace(of, weights="bf16"), replace(of, engine="axolotl")):
        held = sized(facts, narrow)[0]["reference model"]
        assert held == pytest.approx(2 * params_total(of.architecture) / 8, rel=0.01)


@pytest.mark.parametrize(
    ("method", "engine", "tiled"),
    [
        ("full", "trl", True),
        ("dpo", "trl", True),
        ("kto", "trl", True),
        ("orpo", "trl", False),
        ("dpo", "axolotl", False),
    ],
)
def test_trl_goes_over_the_output_matrix_in_tiles(facts, method, engine, tiled):
    """16-bit tiles of 4,096 x 32,768 and fp32 sums of gradients, in place of 12 bytes for each logit."""
    of = replace(job(facts, method), engine=engine)
    device, layout = facts.accelerators["h100-sxm"], Layout(micro_batch=8, checkpointing="full")
    [memory] = training_memories(of, [layout], [device])
    logits = 8 * 2048 * of.architecture.vocab
    loss = dict(memory.breakdown).get("logits and loss", 0)
    assert loss < 0.3 * 12 * logits if tiled else loss == pytest.approx(12 * logits, rel=0.01)
    said = [note for note in memory.assumptions if note.startswith("TRL 1.15 or later")]
    assert said == (
        ["TRL 1.15 or later, whose loss never holds all logits: earlier ones take up to 23.5 GiB more"] if tiled else []
    )


def test_a_reward_model_has_no_output_matrix(facts):
    of = job(facts, "reward")
    assert params_total(of.architecture) == params_total(job(facts, "full").architecture) - 128256 * 4096


def test_a_reward_model_has_no_logits(facts):
    assert not sized(facts, job(facts, "reward"))[0].get("logits and loss")
    assert "reward: pairs of answers" in " ".join(
        requirements(spec(**GIVEN, training={**RUN, "method": "reward"}), facts).assumptions
    )


def test_it_runs_as_trl_where_nobody_names_it(facts):
    unnamed = {key: value for key, value in GIVEN.items() if key != "engine"}
    need = requirements(spec(**unnamed, training={**RUN, "method": "dpo"}), facts)
    assert need.training.engine == "trl"
    assert "run by Hugging Face TRL, as is usual for such work (engine is not stated)" in need.assumptions


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"training": {**RUN, "method": "grpo"}}, "size the policy's training and its serving"),
        ({"training": {**RUN, "method": "dpo"}, "engine": "torchtitan"}, "torchtitan has no method: dpo"),
        ({"training": {**RUN, "method": "dpo"}, "kind": "training"}, "dpo adapts a trained model"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(changed, said):
    with pytest.raises(SpecError, match=said):
        spec(**{**GIVEN, **changed})
