"""Weights in a format that no checkpoint has: which releases make it of 16-bit weights, and what these hold first."""

import dataclasses

import launch_cases as cases
import pytest

from sizewell.launch import batch, images, serving
from sizewell.launch.manifests import manifests
from sizewell.sizing.errors import ConfigError
from sizewell.sizing.units import GIB

LARGE = 66 * GIB


def served(image, weights="fp8", loading=None, **more):
    of = cases.serve_hours()
    task = cases.CHAT.model_copy(update={"weights": weights, "loading_bytes": loading})
    plan = dataclasses.replace(of.plan, task=task, accelerator="l4")
    return dataclasses.replace(of, plan=plan, run=cases.run(image, **more))


@pytest.mark.parametrize(
    ("release", "word"),
    [("v0.11.0", "fp8"), ("v0.30.0", "fp8"), ("v0.31.0", "fp8_per_tensor"), ("v0.33", "fp8_per_tensor")],
)
def test_a_release_is_asked_in_its_own_word(release, word):
    """From 0.31 on vLLM ends at start where `--quantization fp8` meets a checkpoint in 16 bits."""
    of = served(f"vllm/vllm-openai:{release}")
    command = serving.command(of, serving.engine_of(of))
    assert command[command.index("--quantization") + 1] == word
    answers = cases.batch()
    answers = dataclasses.replace(answers, run=cases.run(f"vllm/vllm-openai:{release}"))
    task = answers.task.model_copy(update={"model": "org/model", "weights": "fp8"})
    answers = dataclasses.replace(answers, plan=dataclasses.replace(answers.plan, task=task))
    assert f"quantization={word}" in batch.command(answers)


def test_a_release_that_holds_16_bit_weights_first_is_refused_where_they_do_not_fit():
    with pytest.raises(ConfigError) as error:
        manifests(served("vllm/vllm-openai:v0.15.1", loading=LARGE))
    assert "loads all weights in 16 bits before it makes fp8 of them: 66.0 GiB on each device" in str(error.value)
    assert "set run.chat.image to release 0.16.0 or later, or run.chat.model to a checkpoint in fp8" in str(error.value)
    assert manifests(served("vllm/vllm-openai:v0.16.0", loading=LARGE))
    assert manifests(served("vllm/vllm-openai:v0.15.1"))
    assert manifests(served("vllm/vllm-openai:v0.15.1", loading=LARGE, model="org/model-FP8"))


def test_a_format_that_releases_make_no_longer_is_refused():
    with pytest.raises(ConfigError, match=r"set run.chat.image to a release before 0\.28\.0"):
        manifests(served("vllm/vllm-openai:v0.28.0", "nf4"))
    assert manifests(served("vllm/vllm-openai:v0.27.1", "nf4"))


def test_weights_that_a_run_names_have_to_be_in_the_decision_s_format():
    [doubt] = [each for each in images.doubts(served(cases.VLLM, model="s3://bucket/m")) if "has to hold" in each]
    assert doubt.endswith("s3://bucket/m has to hold a checkpoint in fp8")
    for quiet in (served(cases.VLLM, model="org/m-FP8"), served(cases.VLLM, "bf16", model="s3://bucket/m")):
        assert not [each for each in images.doubts(quiet) if "has to hold" in each]


def test_an_image_of_no_known_release_is_said_to_be_asked_by_the_older_word():
    [doubt] = [each for each in images.doubts(served("registry.example/serve:1", loading=LARGE)) if "asked" in each]
    assert "releases from 0.31.0 on do not know" in doubt
    assert "run.chat.args: [--quantization, fp8_per_tensor]" in doubt
    assert "before 0.16.0 it loads all in 16 bits first, 66.0 GiB a device" in doubt
