"""Whether an image runs on the accelerators that it lands on, and knows the flags that it gets. Pure.

Judged by the image's name alone: an engine's own images are named in its record, vendors' repositories below. An image
of another name is the user's own, and is taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from sizewell.launch.launch import Launch
from sizewell.sizing.catalog import compatibility, lifetimes
from sizewell.sizing.catalog.compatibility import Verdict
from sizewell.sizing.catalog.engine import FlagTable, InferenceEngine, numbers
from sizewell.sizing.catalog.engines import ENGINES, engine_for
from sizewell.sizing.catalog.lifetimes import Release
from sizewell.sizing.catalog.own_code import own_code
from sizewell.sizing.errors import Fault
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.units import GIB
from sizewell.sizing.workload.precision import SIXTEEN_BIT, published_so, weights_of_name

# Repositories whose images are made for one kind of accelerator (catalog.ngc.nvidia.com, hub.docker.com/u/rocm,
# gallery.ecr.aws/neuron).
VENDORS: Final = {"nvcr.io/nvidia": "cuda", "rocm": "rocm", "public.ecr.aws/neuron": "neuron"}
# Repositories whose tags say for which kind (hub.docker.com, from memory).
TAGGED: Final = {
    "lmsysorg/sglang": {"cuda": r"v[\d.]+(?:post\d+)?(?:-cu\d+.*)?", "rocm": r".*-rocm.*"},
    "pytorch/pytorch": {"cuda": r".*-cuda.*"},
}
# Repositories that have builds for x86_64 alone, before a release or () for all: vllm/vllm-openai on Docker Hub as of
# 2025-08-04 (github.com/vllm-project/vllm/issues/22206; v0.10.1 is the first that followed); AMD's, whose ROCm is for
# x86_64 (rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html, from memory).
X86_ALONE: Final[dict[str, tuple[int, ...]]] = {"vllm/vllm-openai": (0, 10, 1), "rocm": ()}
CUDA_IN_TAG: Final = re.compile(
    r"(?<![a-z0-9])cu(?:da)?-?(\d{2})(?:\.(\d+)|(\d)(?!\d))?(?!\d)"
)  # cuda13.0, cu118, cuda12
CALENDAR: Final = re.compile(r"(\d\d)\.(\d\d)(?![\d.])")  # 25.10-py3: a month of NVIDIA's own images
NGC: Final = "nvcr.io/nvidia"
RELEASE: Final = re.compile(r"(?:[a-z0-9]+-)*v?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])")  # cpu-1.8: of a kind of machines
TRUST: Final = "--trust-remote-code"
BUILD: Final = re.compile(r"(?:[a-z0-9]+-)+(b\d+)")  # server-cuda-b6900


def made_for(image: str) -> frozenset[str]:
    """Runtimes of accelerators that an image is known to be made for; empty where its name does not say so.

    >>> sorted(made_for("vllm/vllm-openai:v0.11.0")), sorted(made_for("mirror.example/rocm/vllm:v0.11.0"))
    (['cuda'], ['rocm'])
    >>> [sorted(made_for(f"ghcr.io/ggml-org/llama.cpp:{tag}")) for tag in ("server", "server-cuda")]
    [['cpu'], ['cuda']]
    >>> made_for("registry.example/train:2.8")
    frozenset()
    """
    path = _repository(image)
    tag = _tag(image)
    engines = {
        runtime
        for engine in ENGINES.values()
        for runtime, name in engine.images.items()
        if _is(path, name) and (not tag or re.fullmatch(engine.tags.get(runtime, ".*"), tag))
    }
    vendors = {runtime for name, runtime in VENDORS.items() if path.startswith(f"{name}/")}
    tagged = {
        runtime
        for name, kinds in TAGGED.items()
        for runtime, pattern in kinds.items()
        if _is(path, name) and re.fullmatch(pattern, tag)
    }
    return frozenset(engines or vendors or tagged)


def for_x86_alone(image: str) -> bool:
    """Whether an image is known to have no build for processors but x86_64.

    >>> [for_x86_alone(f"vllm/vllm-openai:v0.{each}") for each in ("6.3", "10.0", "11.0")]
    [True, True, False]
    >>> for_x86_alone("docker.io/rocm/vllm:rocm6.4.1"), for_x86_alone("vllm/vllm-openai:latest"), for_x86_alone("a/b:1")
    (True, False, False)
    >>> for_x86_alone("amd64/python:3.13"), for_x86_alone("ghcr.io/a/b:1.2-amd64")
    (True, True)
    """
    path = _repository(image)
    if path.startswith("amd64/") or re.search(r"amd64|x86[_-]64", _tag(image)):
        return True
    return any(
        (path.startswith(f"{name}/") or _is(path, name)) and (not until or () < release(image) < until)
        for name, until in X86_ALONE.items()
    )


def release(image: str) -> tuple[int, ...]:
    """The release that a tag names, of two numbers where it moves with the newest of these; () where it names none.

    >>> release("ghcr.io/huggingface/text-embeddings-inference:cpu-1.8")
    (1, 8)
    >>> release("vllm/vllm-openai:v0.11.0"), release("a.b:5000/train@sha256:" + "0" * 64)
    ((0, 11, 0), ())
    >>> release("ghcr.io/ggml-org/llama.cpp:server-b6900"), release("ghcr.io/ggml-org/llama.cpp:server-cuda-v0.5.0")
    ((0, 0, 6900), (0, 5, 0))
    """
    tag = _tag(image)
    if build := BUILD.fullmatch(tag):
        return numbers(build[1])
    match = RELEASE.match(tag)
    return tuple(int(part) for part in match.groups() if part is not None) if match else ()


def cuda_of(image: str) -> tuple[str, ...]:
    """CUDA that an image has, by its tag or the table of releases: one, or the two that it lies between; () unknown.

    >>> cuda_of("pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime"), cuda_of("lmsysorg/sglang:v0.4.1-cu118")
    (('13.0',), ('11.8',))
    >>> cuda_of("nvcr.io/nvidia/pytorch:25.11-py3"), cuda_of("nvcr.io/nvidia/cuda:12.4.1-runtime-ubuntu22.04")
    (('13.0', '13.1.1'), ('12.4.1',))
    >>> cuda_of("vllm/vllm-openai:v0.6.3"), cuda_of("vllm/vllm-openai:v0.10.1"), cuda_of("vllm/vllm-openai:v0.99.0")
    (('12.4',), ('12.8', '12.9'), ())
    >>> cuda_of("vllm/vllm-openai:v0.11.0"), cuda_of("registry.example/train:1"), cuda_of("a.b/tei:cuda-1.8")
    (('12.9',), (), ())
    """
    path = _repository(image)
    tag = _tag(image)
    if match := CUDA_IN_TAG.search(tag):
        return (".".join(part for part in (match[1], match[2] or match[3]) if part),)
    if _is(path, "nvidia/cuda") and (version := re.match(r"\d+\.\d+(\.\d+)?", tag)):
        return (version[0],)
    rows = [row for row in lifetimes.load().releases if row.kind == "image" and row.cuda]
    for row in rows:
        if row.version == tag and _is(path, row.name):
            return (row.cuda,)
    if between := _cuda_between([row for row in rows if _is(path, row.name)], release(image)):
        return between
    month = CALENDAR.match(tag)
    if month is None or not (path.startswith(f"{NGC}/") or f"/{NGC}/" in path):
        return ()
    known = sorted((numbers(row.version), row.cuda) for row in rows if row.name == NGC)
    before = [cuda for release, cuda in known if release <= numbers(month[0])][-1:]
    after = [cuda for release, cuda in known if release >= numbers(month[0])][:1]
    return tuple(dict.fromkeys((*before, *after))) if before else ()


def _cuda_between(rows: Sequence[Release], wanted: tuple[int, ...]) -> tuple[str, ...]:
    """CUDA of a release that lies between two of which it is known."""
    known = sorted((release(f"{row.name}:{row.version}"), row.cuda) for row in rows)
    before = [cuda for of, cuda in known if wanted and of <= wanted][-1:]
    after = [cuda for of, cuda in known if wanted and of >= wanted][:1]
    return tuple(dict.fromkeys((*before, *after))) if before and after else ()


def cuda(launch: Launch) -> Verdict | None:
    """Whether the image's CUDA runs on the machines behind their driver; None where they have no GPU of NVIDIA's."""
    machine, image = launch.machine, launch.run.image
    if machine.runtime != "cuda":
        return None
    known = lifetimes.load()
    driver = known.driver_range(machine.accelerator, machine.family)
    branches = compatibility.branches(known, _service(launch), virtual=machine.virtual)
    verdicts = [
        compatibility.cuda_for(driver, branch, version, machine.accelerator)
        for version in cuda_of(image) or ("",)
        for branch in branches or (None,)
    ]
    between = " and ".join(cuda_of(image))
    if {"bad", "good"} <= {verdict.state for verdict in verdicts}:
        return Verdict(state="unknown", reason=f"its CUDA is between {between}, of which not all run there")
    decides = compatibility.worst(verdicts)
    if decides.state != "bad" or len(cuda_of(image)) == 1:
        return decides
    return replace(decides, reason=f"its CUDA is between {between}, and {verdicts[-1].reason.partition(', and ')[0]}")


def _service(launch: Launch) -> str:
    """The managed Kubernetes whose images have the driver; a component knows the cloud of its cluster alone."""
    if launch.target.cluster != "other":
        return launch.target.cluster
    cloud = CLOUDS.get(launch.machine.cloud)
    return cloud.cluster.name.lower() if cloud is not None else ""


def unknown(launch: Launch) -> str:
    """What nobody wrote down about the image and the machines' driver, as a sentence; "" where it is known to run."""
    verdict = cuda(launch)
    if verdict is None or verdict.state != "unknown":
        return ""
    machine, known = launch.machine, lifetimes.load()
    driver = known.driver_range(machine.accelerator, machine.family)
    branches = compatibility.branches(known, _service(launch), virtual=machine.virtual)
    takes = f"CUDA {driver.cuda_min or '?'} to {driver.cuda_max or 'the newest'}" if driver else "an unknown CUDA"
    has = f"its driver is of branch {branches[0]}" if branches else "of which branch its driver is was in no document"
    return (
        f"whether {launch.run.image} runs on {machine.accelerator} is unknown: {verdict.reason}; {machine.accelerator} "
        f"takes {takes}, and {has}"
    )


def engines_in(image: str) -> tuple[str, ...]:
    """The engines whose own image it is; () of an image that nobody here knows.

    >>> engines_in("vllm/vllm-openai:v0.11.0"), engines_in("registry.example/serve:1")
    (('vllm',), ())
    >>> engines_in("nvcr.io/nvidia/tritonserver:25.10-vllm-python-py3")
    ('triton', 'vllm')
    """
    path, tag = _repository(image), _tag(image)
    own = [name for name, engine in ENGINES.items() if any(_is(path, each) for each in engine.images.values())]
    return tuple(own + [name for name in ENGINES if own and name not in own and name in tag])


def doubts(launch: Launch) -> list[str]:
    """What may keep the image from doing its work, in sentences."""
    run, family = launch.run, launch.task.family or ""
    own = [ENGINES[name] for name in engines_in(run.image)]
    lacking = {package for engine in own if (package := engine.lacks.get(family))}
    said = [
        f"{run.image} is published without {package}, which {family} models need: build an image on top of it with "
        f"`pip install {package}` of the same release, and name that one"
        for package in sorted(lacking)
    ]
    said += [*_own_code(launch), *_stored(launch), *_exported(launch)]
    return [doubt for doubt in (unknown(launch), *said) if doubt]


def _stored(launch: Launch) -> list[str]:
    """What format the weights that a run names have to be in, and which release an image of no known name has to be."""
    run, task, at = launch.run, launch.task, f"run.{launch.plan.name}"
    engine = ENGINES.get(run.engine or task.engine or "") or engine_for(task.family, launch.machine.runtime)
    weights = task.weights or ""
    if launch.plan.kind not in ("inference", "batch-inference") or run.command or weights in ("", *SIXTEEN_BIT, "fp32"):
        return []
    if run.model:
        if published_so(run.model, weights) or weights_of_name(run.model) == weights:
            return []
        sized = f"was sized for weights in {weights}, and {engine.name} loads what lies there as it is"
        return [f"{at}.model {sized}: {run.model} has to hold a checkpoint in {weights}"]
    ways = [way for way in engine.conversions if way.weights == weights]
    if not ways or engine.name in engines_in(run.image) or published_so(task.model, weights):
        return []
    asked = engine.converting(weights, ())
    limit = next((way.until for way in ways if way.word == asked), "")
    other = next((way.word for way in ways if way.word != asked), "")
    said = f"which release of {engine.name} is in {run.image} is unknown: it is asked for {weights} by {asked}"
    said += f", which releases from {limit} on do not know" if limit else ""
    said += f" ({at}.args: [--quantization, {other}] asks these)" if other else ""
    held = f"{(task.loading_bytes or 0) / GIB:,.1f} GiB a device" if task.loading_bytes else ""
    return [f"{said}; before {engine.converts_by_layer} it loads all in 16 bits first, {held}" if held else said]


def _own_code(launch: Launch) -> list[str]:
    """That a model brings code of its own, which an engine runs only where it is told to trust it."""
    run, task, at = launch.run, launch.task, f"run.{launch.plan.name}"
    engine = ENGINES.get(run.engine or task.engine or "") or engine_for(task.family, launch.machine.runtime)
    asks = launch.plan.kind == "inference" and engine.flag_table is not None and TRUST in engine.flag_table.flags
    names = (task.model or "", run.model, task.draft or "", run.draft)
    name, code = next(((name, code) for name in names if (code := own_code(name)) is not None), ("", None))
    if code is None or not asks or run.command or any(word.replace("_", "-") == TRUST for word in run.args):
        return []
    about = f"{name} has code of its own for its {code.part} ({code.source})"
    return [f"{about}: {engine.name} ends at start unless it is trusted; read it, and set {at}.args: [{TRUST}]"]


def faults(launch: Launch, *, engine: InferenceEngine | None = None, command: Sequence[str] = ()) -> list[Fault]:
    """Why the run's image cannot be: made for other accelerators, or of a release without the command's flags."""
    at, image, runtime = f"run.{launch.plan.name}.image", launch.run.image, launch.machine.runtime
    known = made_for(image)
    if known and runtime not in known:
        has = f"{launch.machine.accelerator} ({runtime})" if launch.machine.accelerator else "no accelerator"
        there = f"is built for {' and '.join(sorted(known))}, the machines have {has}"
        own = engine.images.get(runtime) if engine else None
        fix = f"set {at} to a release of {own}" if own else f"set {at} to an image for {runtime}"
        if named := _build(launch, engine):
            fix = f"set {at}: {named}"
        return [Fault(path=at, message=f"{image}: {there}", fix=fix)]
    wrong = _generation(launch)
    if (verdict := cuda(launch)) is not None and verdict.state == "bad":
        fix = f"set {at} to an image with another CUDA (a tag says it as cuda12.8 or cu128), or take other machines"
        wrong.append(Fault(path=at, message=f"{image}: {verdict.reason}", fix=fix))
    own = engine.images.get(runtime) if engine else None
    inside = engines_in(image)
    if engine and inside and engine.name not in inside and not launch.run.command:
        message = f"{image} is an image of {' and '.join(inside)}, and {engine.name} is to start in it"
        able = launch.plan.kind == "inference" and ENGINES[inside[0]].serves(launch.task.family or "decoder")
        other = f", or set run.{launch.plan.name}.engine: {inside[0]}" if able else ""
        release_of = f"a release of {own}" if own else f"one with {engine.name}"
        return [*wrong, Fault(path=at, message=message, fix=f"set {at} to {release_of}{other}")]
    version = release(image)
    if engine is not None and (said := _other_release(launch, engine)) and launch.machine.runtime not in engine.onnx_on:
        wrong.append(Fault(path=at, message=f"{said[0]}, and would end at start", fix=said[1]))
    if engine is None or own is None or not version or not _is(_repository(image), own):
        return wrong
    return [*wrong, *_flags(launch, engine, version, command)]


def _other_release(launch: Launch, engine: InferenceEngine) -> tuple[str, str] | None:
    """That the image's release of an engine has no such model, and which has; None where it has, or nobody knows."""
    run, task, version = launch.run, launch.task, release(launch.run.image)
    row = engine.served(run.model, task.model, model_type=task.model_type)
    if row is None or not row.since or not version or engine.name not in engines_in(run.image) or run.command:
        return None
    what = task.model_type or next(name for name in (run.model, task.model) if name and row.fits(name))
    at = f"run.{launch.plan.name}.image"
    fix = f"set {at} to release {row.releases}"
    return None if row.in_release(version) else (f"{run.image} is a release of {engine.name} without {what}", fix)


def _exported(launch: Launch) -> list[str]:
    """That an image for processors loads a model whose type its engine has not where it is exported to ONNX alone."""
    run, task = launch.run, launch.task
    engine = ENGINES.get(run.engine or task.engine or "") or engine_for(task.family, launch.machine.runtime)
    if launch.machine.runtime not in engine.onnx_on or run.command:
        return []
    lacking = engine.without(run.model, task.model, model_type=task.model_type)
    said = _other_release(launch, engine) or ((f"{engine.name} has no layers for {lacking}", "") if lacking else None)
    return [f"{said[0]}: it starts where {run.model or task.model} has an ONNX export (model.onnx)"] if said else []


def _generation(launch: Launch) -> list[Fault]:
    """An engine's image that is made for another generation of GPUs, by the first word of its tag."""
    machine, image, at = launch.machine, launch.run.image, f"run.{launch.plan.name}.image"
    engine = next((ENGINES[name] for name in engines_in(image) if ENGINES[name].builds), None)
    word, _, numbered = _tag(image).rpartition("-") if release(image) else ("", "", "")
    builds = [build for build in engine.builds if build.word == word] if engine and numbered else []
    has = compatibility.capability(machine.accelerator, machine.family)
    if not builds or not has or machine.runtime != "cuda" or any(each.runs_on(has, release(image)) for each in builds):
        return []
    spans = sorted({(each.least, each.most) for each in builds if each.runs_on(each.least, release(image))})
    made = " and ".join(f"{a // 10}.{a % 10}" + (f" to {b // 10}.{b % 10}" if b != a else "") for a, b in spans)
    built = f"is built for compute capability {made}" if made else f"is of a release before {builds[0].since}"
    message = f"{image}: {built}, {machine.accelerator} has {has // 10}.{has % 10}: it ends at start"
    other = engine_for(launch.task.family, machine.runtime).name
    fix = f"set {at}: {named}" if (named := _build(launch, engine)) else f"use engine: {other}, with an image of it"
    return [Fault(path=at, message=message, fix=fix)]


def _build(launch: Launch, engine: InferenceEngine | None) -> str:
    """The engine's image of the same release for the machines' generation of GPUs; "" where none is known."""
    machine, image = launch.machine, launch.run.image
    own = engine.images.get(machine.runtime) if engine and machine.runtime == "cuda" else None
    has = compatibility.capability(machine.accelerator, machine.family)
    build = engine.build_for(has) if engine and has else None
    version = release(image)
    if own is None or build is None or not version or not _is(_repository(image), own):
        return ""
    newer = build.since and numbers(build.since) > version
    named = build.since if newer else ".".join(map(str, version))
    tag = f"{build.word}-{named}" if build.word else named
    return f"{image.partition('@')[0].removesuffix(':' + _tag(image))}:{tag}"


def _tag(image: str) -> str:
    """The tag; "" without one."""
    return image.partition("@")[0].rsplit("/", 1)[-1].partition(":")[2]


def _flags(launch: Launch, engine: InferenceEngine, version: tuple[int, ...], command: Sequence[str]) -> list[Fault]:
    """Flags of the command, and of the arguments that the run adds to it, which the image's release does not know."""
    table = engine.flag_table
    if table is None:
        return []
    if len(version) == 2:  # the newest of its minor version, as far as it has been read
        minor = [numbers(each) for each in table.releases if numbers(each)[:2] == version]
        version = max(minor, default=(*version, 0))
    at, image, wrong = f"run.{launch.plan.name}", launch.run.image, []
    for key, words in (("image", command), ("args", launch.run.args)):
        for flag in dict.fromkeys(_flag(word, table) for word in words if word.startswith("--")):
            if table.knows(flag, version) is not False:
                continue
            message = f"{image} is a release without {flag} ({table.source})"
            if having := table.releases_with(flag):
                wrong.append(Fault(path=f"{at}.{key}", message=message, fix=f"name release {having}"))
                continue
            close = get_close_matches(flag, [each for each in table.flags if table.knows(each, version)], n=1)
            way_out = f"did you mean {close[0]}?" if close else "leave it out"
            wrong.append(Fault(path=f"{at}.{key}", message=message, fix=way_out))
    return wrong


def _flag(word: str, table: FlagTable) -> str:
    """The flag of a word of a command line, spelled as the table has it.

    An engine reads `--max_num_seqs` as `--max-num-seqs`, a switch's opposite begins with `--no-`, and a dot leads to a
    key of a flag that takes JSON.
    """
    whole = word.partition("=")[0].replace("_", "-")
    flag = whole if whole in table.flags else whole.partition(".")[0]  # llama.cpp has --fim-qwen-1.5b-default
    opposite = f"--{flag.removeprefix('--no-')}"
    return opposite if flag.startswith("--no-") and flag not in table.flags and opposite in table.flags else flag


def _repository(image: str) -> str:
    """The image without digest, tag, and the host of the default registry."""
    path = image.partition("@")[0]
    head, _, last = path.rpartition("/")
    path = f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]
    return path.removeprefix("docker.io/")


def _is(path: str, name: str) -> bool:
    """Whether a repository is that one, or its copy in a mirror."""
    return path == name or path.endswith(f"/{name}")
