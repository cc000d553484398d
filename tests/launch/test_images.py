"""Images by accelerator and release: what is refused before anything is submitted, and what is left alone."""

import dataclasses

import launch_cases as cases
import pytest

from sizewell.launch import images, slurm
from sizewell.launch.manifests import manifests
from sizewell.sizing.errors import ConfigError

DIGEST = "@sha256:" + "0" * 64


def with_image(case, image):
    of = case()
    return dataclasses.replace(of, run=dataclasses.replace(of.run, image=image))


@pytest.mark.parametrize(
    ("case", "image", "words"),
    [
        (cases.serve_shared, "vllm/vllm-openai:v0.11.0", "built for cuda, the machines have mi300x (rocm)"),
        (cases.serve_shared, "lmsysorg/sglang:v0.5.5-cu129", "built for cuda, the machines have mi300x (rocm)"),
        (cases.gke_slice, "pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime", "built for cuda"),
        (cases.serve_shared, "mirror.example/vllm/vllm-openai:v0.11.0", "a release of rocm/vllm"),
        (cases.serve_hours, "rocm/vllm:v0.11.0", "built for rocm, the machines have l4 (cuda)"),
        (cases.gke_slice, "nvcr.io/nvidia/pytorch:25.10-py3", "built for cuda, the machines have tpu-v6e (tpu)"),
        (cases.eks_neuron, "vllm/vllm-openai:v0.11.0", "(neuron)"),
        (cases.batch, "rocm/vllm:v0.11.0", "(cuda)"),
        (cases.serve_groups, "vllm/vllm-openai:v0.11.0", "is a release without --nnodes"),
    ],
)
def test_what_cannot_run_there_is_refused_with_the_way_out(case, image, words):
    with pytest.raises(ConfigError) as error:
        manifests(with_image(case, image))
    assert words in str(error.value)
    assert ".image" in str(error.value)


@pytest.mark.parametrize(
    ("case", "image", "words"),
    [
        (cases.serve_pictures, "vllm/vllm-openai:v0.11.0", "an image of vllm, and triton is to start in it"),
        (cases.serve_hours, "nvcr.io/nvidia/tritonserver:25.10-py3", "or set run.chat.engine: triton"),
        (cases.batch, "nvcr.io/nvidia/tritonserver:25.10-py3", "a release of vllm/vllm-openai"),
    ],
)
def test_an_image_of_another_engine_is_refused(case, image, words):
    with pytest.raises(ConfigError, match="is to start in it") as error:
        manifests(with_image(case, image))
    assert words in str(error.value)
    assert "engine: vllm" not in str(error.value)  # it serves no pictures
    own = with_image(case, image)  # a command of one's own is taken as it is
    assert manifests(dataclasses.replace(own, run=dataclasses.replace(own.run, command=("serve",))))


def test_speech_is_said_to_need_a_package_that_an_engine_s_own_image_lacks():
    heard = with_image(cases.serve_hours, "vllm/vllm-openai:v0.11.0")
    task = heard.task.model_copy(update={"model": "openai/whisper-large-v3", "family": "speech"})
    speech = dataclasses.replace(heard, plan=dataclasses.replace(heard.plan, task=task))
    assert ["pip install vllm[audio]" in doubt for doubt in images.doubts(speech)].count(True) == 1
    mine = dataclasses.replace(speech, run=dataclasses.replace(speech.run, image="registry.example/vllm-audio:1"))
    assert not any("audio]" in doubt for doubt in [*images.doubts(heard), *images.doubts(mine)])


def test_a_batch_of_audio_is_not_started_by_a_script_that_answers_texts():
    texts = cases.batch()
    task = texts.task.model_copy(update={"model": "openai/whisper-large-v3", "family": "speech"})
    speech = dataclasses.replace(texts, plan=dataclasses.replace(texts.plan, task=task))
    with pytest.raises(ConfigError, match=r"task\.family.*is speech(?s:.*)faster-whisper"):
        manifests(speech)
    assert manifests(dataclasses.replace(speech, run=dataclasses.replace(speech.run, command=("hear",))))


def test_slurm_refuses_it_too():
    with pytest.raises(ConfigError, match="built for rocm"):
        slurm.script(with_image(cases.eks_training, "rocm/pytorch:rocm7.0"))


@pytest.mark.parametrize(
    ("case", "image"),
    [
        (cases.serve_groups, "vllm/vllm-openai:v0.12.0"),
        (cases.serve_groups, f"vllm/vllm-openai{DIGEST}"),  # no release is named
        (cases.serve_groups, "registry.example/chat:1.0"),  # a version of somebody else's
        (cases.serve_hours, "vllm/vllm-openai:v0.11.0"),  # one machine: none of the flags in question
        (cases.serve_shared, "rocm/vllm:v0.11.0"),
        (cases.serve_shared, "lmsysorg/sglang:v0.5.5-rocm700-mi30x"),
        (cases.gke_slice, "registry.example/train:2.8.0"),
    ],
)
def test_what_may_run_there_is_taken(case, image):
    assert manifests(with_image(case, image))


def with_args(case, image, *words):
    of = with_image(case, image)
    return dataclasses.replace(of, run=dataclasses.replace(of.run, args=words))


@pytest.mark.parametrize(
    ("image", "word", "says"),
    [
        ("v0.11.0", "--max-num-seq", "did you mean --max-num-seqs?"),
        ("v0.11.0", "--master-port=29501", "name release 0.11.1 or later"),
        ("v0.33.0", "--swap-space=4", "name release 0.10.0 to 0.17.1"),
        ("v0.33.0", "--use_v2_block_manager", "a release without --use-v2-block-manager"),
    ],
)
def test_an_argument_that_the_release_lacks_is_refused_before_anything_is_submitted(image, word, says):
    with pytest.raises(ConfigError) as error:
        manifests(with_args(cases.serve_hours, f"vllm/vllm-openai:{image}", word))
    assert "run.chat.args" in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("image", "word"),
    [
        ("v0.11.0", "--max_num_seqs=8"),  # it reads both spellings
        ("v0.11.0", "--no-enable-prefix-caching"),
        ("v0.11.0", "--compilation-config.level=3"),
        ("v0.5.0", "--use-v2-block-manager"),  # a release that nobody has read
        ("v0.27.1", "-tp=2"),
    ],
)
def test_an_argument_that_it_may_know_is_taken(image, word):
    assert manifests(with_args(cases.serve_hours, f"vllm/vllm-openai:{image}", word))


def test_triton_s_arguments_are_those_of_the_image_s_month():
    image = "nvcr.io/nvidia/tritonserver:{}-py3"
    with pytest.raises(ConfigError, match=r"a release without --model-config-name .*\n.*name release 24\.05"):
        manifests(with_args(cases.serve_pictures, image.format("24.01"), "--model-config-name=h100"))
    assert manifests(with_args(cases.serve_pictures, image.format("25.10"), "--model-config-name=h100"))


def test_a_release_is_read_from_tags_alone():
    assert images.release("vllm/vllm-openai:v0.11.2-cu130") == (0, 11, 2)
    assert images.release("nvcr.io/nvidia/tritonserver:25.10-py3") == (25, 10)
    assert images.release("registry.example/train:nightly") == ()


TEI = "ghcr.io/huggingface/text-embeddings-inference"


def embedding(accelerator, family, image, **changes):
    """A model that embeds, on one of NVIDIA's GPUs."""
    of = with_image(cases.serve_hours, image)
    task = of.task.model_copy(update={"model": "BAAI/bge-large-en-v1.5", "family": "encoder", "weights": "fp16"})
    return dataclasses.replace(
        of,
        plan=dataclasses.replace(of.plan, task=task.model_copy(update={"output_tokens": None})),
        run=dataclasses.replace(of.run, engine="text-embeddings-inference", **changes),
        machine=dataclasses.replace(of.machine, accelerator=accelerator, family=family),
    )


@pytest.mark.parametrize(
    ("accelerator", "family", "tag", "instead"),
    [
        ("t4", "turing", "89-1.8", "turing-1.8"),
        ("t4", "turing", "1.8", "turing-1.8"),
        ("t4", "turing", "cpu-1.8", "turing-1.8"),
        ("l4", "ada", "hopper-1.8", "89-1.8"),
        ("a10g", "ampere", "89-1.8", "86-1.8"),
        ("a100-80gb-sxm", "ampere", "86-1.8.2", "1.8.2"),
        ("h100-sxm", "hopper", "1.8", "hopper-1.8"),
        ("rtx-pro-6000-bse", "blackwell", "1.8", "120-1.9"),
        ("rtx-pro-6000-bse", "blackwell", "89-1.9.2", "120-1.9.2"),
        ("rtx-pro-6000-bse", "blackwell", "120-1.8", "120-1.9"),
        ("rtx-pro-6000-bse", "blackwell", "cuda-1.8", "120-1.9"),
        ("b200", "blackwell", "hopper-1.9", "100-1.9"),
    ],
)
def test_an_image_for_another_generation_of_gpus_is_refused_and_the_right_one_named(accelerator, family, tag, instead):
    with pytest.raises(ConfigError) as error:
        manifests(embedding(accelerator, family, f"mirror.example/{TEI}:{tag}"))
    assert f"set run.chat.image: mirror.example/{TEI}:{instead}\n" in f"{error.value}\n"
    assert manifests(embedding(accelerator, family, f"{TEI}:{instead}"))


@pytest.mark.parametrize("tag", ["1.8", "86-1.8", "89-1.8", "cuda-1.9"])  # what runs there, and what is not known
def test_an_image_that_runs_on_the_generation_is_taken(tag):
    assert manifests(embedding("l4", "ada", f"{TEI}:{tag}"))


def test_code_that_a_model_brings_is_said_once_it_is_not_trusted():
    of = with_image(cases.serve_hours, "vllm/vllm-openai:v0.11.0")
    task = of.task.model_copy(update={"model": "moonshotai/Kimi-K2-Instruct"})
    kimi = dataclasses.replace(of, plan=dataclasses.replace(of.plan, task=task))
    said = [doubt for doubt in images.doubts(kimi) if "code of its own" in doubt]
    assert len(said) == 1
    assert "set run.chat.args: [--trust-remote-code]" in said[0]
    trusted = dataclasses.replace(kimi, run=dataclasses.replace(kimi.run, args=("--trust-remote-code",)))
    assert not any("code of its own" in doubt for doubt in [*images.doubts(trusted), *images.doubts(of)])
