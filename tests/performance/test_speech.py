"""Speech recognition: an encoder that hears, a decoder that writes token by token over what was heard."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizewell.accuracy.cases import read
from sizewell.accuracy.predict import predict
from sizewell.sizing.catalog import load
from sizewell.sizing.predict.architecture import cross_attention_bytes
from sizewell.sizing.predict.performance.serving import sequences_that_fit, serving
from sizewell.sizing.records.jobs import Cluster, ServingJob

WHISPER = load().model("openai/whisper-large-v3")


def speech(device, tokens):
    cluster = Cluster(accelerator=load().accelerator(device), per_node=1, nodes=1, scale_up=1)
    return serving(ServingJob(architecture=WHISPER, weights="fp16", output_tokens=tokens), cluster)


def test_longer_answers_take_longer_and_are_bound_by_reading_what_was_heard():
    rates = [speech("h200", tokens).requests_per_s for tokens in (10, 50, 100, 200)]
    assert rates == sorted(rates, reverse=True)
    assert speech("h200", 10).bottleneck == "compute"
    assert speech("h200", 200).bottleneck == "memory bandwidth (cache)"


def test_memory_limits_how_many_samples_are_written_at_once():
    job = ServingJob(architecture=WHISPER, weights="fp16")
    small = Cluster(accelerator=load().accelerator("l4"), per_node=1, nodes=1, scale_up=1)
    assert 20 < sequences_that_fit(job, small, tensor=1) < 80
    assert sequences_that_fit(job, replace(small, accelerator=load().accelerator("h200")), tensor=1) == 256


def test_what_was_heard_is_about_1500_frames_of_32_layers():
    assert cross_attention_bytes(WHISPER) == pytest.approx(1500 * 32 * 2 * 1280 * 2, rel=0.1)


def test_published_speeds_are_met_within_a_factor_of_two_and_a_half_by_the_lowest_grade():
    cases = [case for case in read() if "whisper" in case.id]
    assert len(cases) == 4
    for case in cases:
        found = predict(case)
        assert found.grade == "roofline"
        assert 1 / 2.5 < found.value / case.value < 2.5
