"""Audio in seconds, and an optimizer on the host, as people write them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.sizing.choose.decide import NothingFits, decide, size_one
from sizewell.sizing.choose.requirements import requirements
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.names import unknown_names

from .conftest import ON, spec, tune, with_shapes

HEARD = {"kind": "inference", "model": "openai/whisper-large-v3"}


def heard(facts, audio, **traffic):
    given = {"traffic": {"rps": 2, **({"audio": audio} if audio else {}), **traffic}, "slo": {"latency": "40s"}}
    return requirements(spec(**HEARD, **given), facts)


def test_longer_audio_is_as_many_half_minutes_in_turn(facts):
    short, long = (heard(facts, audio, output_tokens=320) for audio in ("20s", "95s"))
    assert (short.arrivals.requests_per_s, long.arrivals.requests_per_s) == (2, 8)
    assert (short.serving.output_tokens, long.serving.output_tokens) == (320, 80)
    assert (short.level.e2e_s, long.level.e2e_s) == (40, 10)
    assert "95 s of audio are 4 half minutes, heard in turn; each counts as a request" in long.assumptions
    assert not [note for note in short.assumptions if "half minute" in note]


def test_audio_of_unknown_length_is_half_a_minute_and_said(facts):
    said = heard(facts, None).assumptions
    assert "half a minute of audio in a request (traffic.audio is not stated)" in said


def test_records_of_a_batch_are_counted_the_same_way(facts):
    given = {"kind": "batch-inference", "model": HEARD["model"]}
    work = {"records": 1000, "window": "4h", "output_tokens_per_record": 200, "audio_per_record": "60s"}
    need = requirements(spec(**given, batch=work), facts)
    assert (need.batch.samples, need.serving.output_tokens) == (2000, 100)


def test_a_model_that_hears_nothing_has_no_audio(facts):
    given = {"kind": "inference", "traffic": {"rps": 1, "input_tokens": 5, "output_tokens": 5, "audio": "20s"}}
    [fault] = unknown_names(spec(**given, model="meta-llama/Llama-3.1-8B"), facts)
    assert (fault.path, fault.fix.startswith("remove it")) == ("traffic.audio", True)


OFFLOADED = {"method": "full", "offload": "optimizer", "tokens": "10M", "sequence_length": 2048, "global_batch": 131072}


def test_an_offloaded_optimizer_takes_no_room_on_devices_and_some_on_hosts(facts):
    few = with_shapes(facts, {("aws", "p5.48xlarge")})
    given = {"training": OFFLOADED, "engine": "deepspeed", "infra": ["aws"]}
    [workload] = decide([tune(**given)], few, stack="", on=ON).workloads
    assert not workload.memory.breakdown.get("optimizer")
    assert [note for note in workload.assumptions if "task.offload is optimizer" in note]
    held = decide([tune(**{**given, "training": {**OFFLOADED, "offload": None}})], few, stack="", on=ON).workloads[0]
    assert held.memory.breakdown["optimizer"] > 0


def test_hosts_that_do_not_hold_it_are_refused_with_the_numbers(facts):
    [machine] = with_shapes(facts, {("aws", "p5.48xlarge")}).shapes
    for known, said in (
        (64 * 2**30, "offload needs 179 GiB of host memory on each of 1, 58 GiB usable"),
        (None, "is not known"),
    ):
        few = replace(facts, shapes=(replace(machine, memory_bytes=known),))
        given = {"training": OFFLOADED, "engine": "deepspeed", "resources": {"nodes": 1}}
        sizing = size_one(tune(**given), few, stack="", on=ON)
        assert sizing.best() is None
        assert said in sizing.rejections[0].reason
        assert isinstance(decide([tune(**given)], few, stack="", on=ON), NothingFits)


def test_a_place_that_nobody_offloads_to_is_a_fault():
    with pytest.raises(SpecError, match=r"training.offload: must be optimizer"):
        tune(training={**OFFLOADED, "offload": "disk"})
