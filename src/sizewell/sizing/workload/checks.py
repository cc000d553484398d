"""What a spec must have for its kind, and what in it contradicts itself; no check stops at the first fault."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from typing import Any, Final

from sizewell.sizing.catalog import load, residency
from sizewell.sizing.catalog.engine import NGRAM, numbers
from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.catalog.managed import KINDS
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import is_speech_recognizer
from sizewell.sizing.predict.simulation.requests import P95_MAX
from sizewell.sizing.providers import CLOUDS, cloud_of_service, clouds_where
from sizewell.sizing.records.registration import GUARD_SHARE, GUARD_WINDOW_S
from sizewell.sizing.units import show_count, show_duration
from sizewell.sizing.workload.architecture import architecture_of
from sizewell.sizing.workload.daily import week
from sizewell.sizing.workload.model import Dimensions, Engine, Speculative, Training, WorkloadSpec
from sizewell.sizing.workload.model_dimensions import from_dimensions
from sizewell.sizing.workload.sections import Adapters
from sizewell.sizing.workload.software import SOFTWARE, named_for, staged, work_of

SECTIONS: Final = {
    # kind: (sections it needs, sections that have no meaning for it and what to write instead)
    "training": (("model", "training"), {"traffic": "training", "slo": "deadline", "batch": "training"}),
    "fine-tuning": (("model", "training"), {"traffic": "training", "slo": "deadline", "batch": "training"}),
    "inference": (("model", "traffic"), {"training": "traffic", "batch": "traffic", "deadline": "slo"}),
    "batch-inference": (("model", "batch"), {"traffic": "batch", "slo": "batch.window", "training": "batch"}),
    "notebook": (
        (),
        {"traffic": "resources", "slo": "resources", "training": "resources", "batch": "resources", "deadline": "ttl"},
    ),
}
SPECULATING: Final = ("vllm", "sglang")
FLEX_START_S: Final = 7 * 86_400  # Google's most (cloud.google.com/compute/docs/instances/about-flex-start-vms)
_LEAST: Final = {  # of each section, by the kind of model; else that of text
    "model": {"": "meta-llama/Llama-3.1-8B"},
    "training": {
        "": "{tokens: 55B, sequence_length: 8192}",
        "adapted": "{method: lora, samples: 10k, sequence_length: 2048}",
        "pictures": "{samples: 1M, epochs: 90}",
        "adapted pictures": "{method: lora, samples: 1k, epochs: 10}",
    },
    "traffic": {
        "": "{rps: 4, input_tokens: 1500, output_tokens: 300}",
        "encoder": "{rps: 50, input_tokens: 500}",
        "pictures": "{rps: 1}",
        "speech": "{rps: 2, audio: 30s}",
    },
    "batch": {
        "": "{records: 1M, tokens_per_record: 400, window: 8h}",
        "pictures": "{records: 1M, window: 8h}",
        "speech": "{records: 10k, audio_per_record: 10m, window: 8h}",
    },
}


def least(section: str, spec: WorkloadSpec) -> str:
    """A section with what it has to say at least, for the kind of work and of model: round numbers."""
    family = _family(spec)
    of = "pictures" if family in ("vision", "diffusion") else family
    named = spec.model if spec.model is not None and spec.model.name and family == "encoder" else None
    if named is not None and is_speech_recognizer(architecture_of(named, spec.name, load())):
        of = "speech"
    if section == "training" and spec.kind == "fine-tuning":
        of = "adapted pictures" if of == "pictures" else "adapted"
    known = _LEAST[section]
    return f"{section}: {known.get(of, known[''])}"


def contradictions(spec: WorkloadSpec, given: Collection[str]) -> list[Fault]:
    """Every fault that needs more than one field to see. `given` has the dotted keys that the spec itself states."""
    return [
        *_sections(spec, given),
        *_framework(spec, given),
        *_model(spec),
        *_training(spec),
        *_traffic(spec),
        *_times(spec),
        *_capacity(spec),
        *_places(spec),
        *_hardware(spec),
    ]


def _fault(path: str, message: str, fix: str, value: object = None) -> Fault:
    return Fault(path=path, found=value, message=message, fix=fix)


def _sections(spec: WorkloadSpec, given: Collection[str]) -> list[Fault]:
    needs, without = SECTIONS[spec.kind]
    faults = [
        _fault(section, f"is missing; kind: {spec.kind} needs it", f"add {least(section, spec)}")
        for section in needs
        if getattr(spec, section) is None
    ]
    for section, instead in without.items():
        if any(path == section or path.startswith(f"{section}.") for path in given):
            kinds = [kind for kind, (_, other) in SECTIONS.items() if section not in other]
            message = f"does not apply to kind: {spec.kind}; it is for {', '.join(kinds)}"
            faults.append(_fault(section, message, f"remove it, or change kind (this kind uses '{instead}')"))
    limits = spec.resources
    if spec.kind == "notebook" and not (
        spec.model or limits.accelerators or limits.instance_types or limits.gpu_memory or limits.tpu
    ):
        faults.append(_fault("resources", "is not enough to size a notebook", "add resources: {gpu: 24GB..}"))
    if spec.engine is not None and SOFTWARE[spec.engine.name].work != work_of(spec.kind):
        work = work_of(spec.kind)
        other = f"use one of {', '.join(named_for(work))}" if work else "remove it"
        faults.append(
            _fault("engine.name", f"{spec.engine.name} is software for {SOFTWARE[spec.engine.name].work}", other)
        )
    if other_release := _without_the_model(spec):
        faults.append(_fault("engine.version", *other_release, spec.engine.version if spec.engine else None))
    if spec.engine is not None and spec.training is not None:
        able = SOFTWARE[spec.engine.name].methods
        if spec.training.method not in able:
            message = f"{spec.engine.name} has no method: {spec.training.method}"
            others = [name for name in named_for("training") if spec.training.method in SOFTWARE[name].methods]
            way_out = f"use method: {' or '.join(sorted(able))}, or engine: {' or '.join(others)}"
            faults.append(_fault("engine.name", message, way_out))
    if spec.spot_policy == "spot" and spec.kind == "inference":
        message = "spot contradicts kind: inference: an interruption drops users' requests"
        faults.append(_fault("spot_policy", message, "use auto or on-demand; for offline work kind: batch-inference"))
    if spec.budget and spec.budget.per_run_usd is not None and spec.kind in ("inference", "notebook"):
        message = f"does not apply to kind: {spec.kind}, which has no runs"
        faults.append(_fault("budget.per_run", message, "use budget: {monthly: ...}"))
    return faults


_OTHERS: Final = frozenset({"maxtext", "neuron"})
_FRAMEWORKS: Final = {"maxtext": ("jax",)} | {
    name: ("pytorch",) for name in named_for("training") if name not in _OTHERS
}


def _framework(spec: WorkloadSpec, given: Collection[str]) -> list[Fault]:
    """A framework that the spec states, and software that is written in another."""
    able = _FRAMEWORKS.get(spec.engine.name, ()) if spec.engine else ()
    if not able or spec.engine is None or "framework" not in given or spec.framework in able:
        return []
    message = f"{spec.engine.name} is written in {' or '.join(able)}, not {spec.framework}"
    return [_fault("engine.name", message, f"use framework: {able[0]}, or another engine")]


def _model(spec: WorkloadSpec) -> list[Fault]:
    faults: list[Fault] = []
    if spec.model is None:
        return faults
    dims = spec.model.dimensions
    if dims is not None:
        faults += _dimensions(dims)
    trained_whole = spec.training and spec.training.method not in ("lora", "qlora") and spec.training.lora is None
    if trained_whole and spec.model.weights in ("int4", "nf4", "int8", "fp4"):
        message = f"{spec.model.weights} weights cannot be fully trained: quantized weights have no gradients"
        faults.append(_fault("model.weights", message, "use method: qlora, or weights: bf16"))
    if spec.training and spec.training.method == "qlora" and spec.model.weights not in ("int4", "nf4", "int8", "fp4"):
        message = f"qlora quantizes the base weights, but the spec says {spec.model.weights}"
        faults.append(_fault("model.weights", message, "use weights: nf4 (the default), or method: lora"))
    if spec.model.adapters is not None:
        faults += _adapters(spec, spec.model.adapters)
    if spec.kind in ("inference", "batch-inference") and spec.model.weights == "nf4":
        message = "nf4 is a format of QLoRA training; serving engines use int4"
        faults.append(_fault("model.weights", message, "use weights: int4"))
    return faults


def _adapters(spec: WorkloadSpec, adapters: Adapters) -> list[Fault]:
    faults = []
    if spec.kind != "inference":
        message = f"does not apply to kind: {spec.kind}; adapters are served beside one base model"
        trained = spec.kind in ("training", "fine-tuning")
        instead = "training: {method: lora}" if trained else "a model with its adapter merged"
        faults.append(_fault("model.adapters", message, f"use kind: inference, or {instead}"))
    if adapters.resident and adapters.resident > adapters.count:
        message = f"{adapters.resident} in memory of {adapters.count} adapters"
        faults.append(_fault("model.adapters.resident", message, "swap them, or leave resident out"))
    engine = ENGINES.get(spec.engine.name) if spec.engine else None
    if spec.kind == "inference" and spec.engine and (engine is None or not engine.adapter_ranks):
        able = ", ".join(name for name, each in ENGINES.items() if each.adapter_ranks)
        message = f"room for LoRA adapters is counted and launched for {able}, not for {spec.engine.name}"
        faults.append(_fault("engine.name", message, f"use {able}, or one model with its adapter merged into it"))
    elif engine and adapters.rank > engine.adapter_ranks[-1]:
        message = f"{adapters.rank} is more than {engine.name} reserves room for"
        faults.append(_fault("model.adapters.rank", message, f"use at most {engine.adapter_ranks[-1]}"))
    return faults


def _dimensions(dims: Dimensions) -> list[Fault]:
    faults = []
    sized = dims.params is not None or (dims.layers and dims.hidden)
    if not sized:
        has = ", ".join(key for key, value in dims if value is not None and key != "family")
        faults.append(_fault("model", f"cannot be sized from {has} alone", "add params, or layers and hidden"))
    if dims.heads and dims.hidden and dims.head_dim is None and dims.hidden % dims.heads:
        message = f"{dims.heads} heads do not divide hidden {dims.hidden}"
        faults.append(_fault("model.heads", message, "correct one of them, or state head_dim"))
    if dims.heads and dims.kv_heads and dims.heads % dims.kv_heads:
        message = f"{dims.kv_heads} KV heads do not divide {dims.heads} heads"
        faults.append(_fault("model.kv_heads", message, f"use a divisor of {dims.heads}"))
    if dims.experts_per_token and dims.experts_per_token > (dims.experts or 0):
        message = f"{dims.experts_per_token} experts per token of {dims.experts or 'no'} experts"
        faults.append(_fault("model.experts_per_token", message, "correct experts"))
    if dims.active_params and dims.params and dims.active_params > dims.params:
        faults.append(
            _fault(
                "model.active_params",
                f"{show_count(dims.active_params)} active of {show_count(dims.params)} in all",
                "swap them",
            )
        )
    if dims.family in ("vision", "diffusion") and dims.forward_flop_per_sample is None:
        sample = "an image at its resolution" if dims.family == "vision" else "an image or clip, one denoising step"
        message = f"is missing; a {dims.family} model is sized by the FLOPs of one forward pass ({sample})"
        fix = "add forward_flop_per_sample: ..., as published (FLOPs = 2 x MACs); of a transformer about "
        fix += "2 x parameters x patches, and its attention"
        faults.append(_fault("model.forward_flop_per_sample", message, fix))
    elif dims.forward_flop_per_sample and dims.forward_flop_per_sample < (dims.active_params or dims.params or 0):
        few = f"{show_count(dims.forward_flop_per_sample)} FLOPs are less than one for each of the "
        few += f"{show_count(dims.active_params or dims.params or 0)} parameters"
        fix = "state the FLOPs of a whole forward pass (2 x MACs): 2 or more a parameter, times the patches of a sample"
        faults.append(_fault("model.forward_flop_per_sample", few, fix))
    if not faults:
        try:
            from_dimensions(dims, "model")
        except SpecError as error:
            faults += error.faults
    return faults


def _training(spec: WorkloadSpec) -> list[Fault]:
    run = spec.training
    if run is None or spec.kind not in ("training", "fine-tuning"):
        return []
    faults = []
    lengths = [key for key in ("tokens", "samples", "steps") if getattr(run, key) is not None]
    if len(lengths) != 1:
        message = "does not say how long the run is" if not lengths else f"states the length as {' and '.join(lengths)}"
        faults.append(_fault("training", message, "add samples: 10k, or tokens, or steps: exactly one of them"))
    if run.epochs is not None and run.samples is None and lengths:
        message = f"epochs repeat samples, but the length is in {lengths[0]}"
        faults.append(_fault("training.epochs", message, "state samples, or remove epochs"))
    family = _family(spec)
    language = run.images is None and family not in ("vision", "diffusion")
    if run.steps is not None and run.global_batch is None:
        fix = _batch_line(spec, run, family)
        faults.append(_fault("training.global_batch", "is missing; with steps it decides the length", fix))
    if family in ("vision", "diffusion") and run.samples is not None and run.global_batch is not None:
        whole = run.samples * (run.epochs or 1)
        if run.global_batch > whole:
            message = f"one step of {show_count(run.global_batch)} is more than the whole run of {show_count(whole)}"
            fix = "correct one of them; of pictures global_batch counts samples"
            faults.append(_fault("training.global_batch", message, fix, run.global_batch))
    if language and run.tokens is not None and run.sequence_length is None:
        faults.append(
            _fault("training.sequence_length", "is missing; memory depends on it", "add sequence_length: 4096")
        )
    read = run.sequence_length if family not in ("vision", "diffusion") else None
    if run.global_batch is not None and read is not None and run.global_batch < read:
        message = f"{run.global_batch} tokens are less than a sequence of {read}; global_batch counts tokens"
        fix = f"for {run.global_batch} sequences write {run.global_batch * read}"
        faults.append(_fault("training.global_batch", message, fix, run.global_batch))
    if run.tokens is not None and run.global_batch is not None and run.global_batch > run.tokens:
        message = f"one step of {show_count(run.global_batch)} is more than the whole run of {show_count(run.tokens)}"
        faults.append(_fault("training.global_batch", message, "correct one of them"))
    if run.samples is not None and run.global_batch is not None and read is not None:
        whole = run.samples * (run.epochs or 1)
        if run.global_batch > whole * read:
            message = (
                f"one step of {show_count(run.global_batch)} is more than the whole run of {show_count(whole)} samples "
                f"of {show_count(read)}"
            )
            faults.append(_fault("training.global_batch", message, "correct one of them; global_batch counts tokens"))
    if run.tokens is not None and run.sequence_length is not None and run.tokens < run.sequence_length:
        message = f"{run.tokens} tokens are less than one sequence of {run.sequence_length}"
        faults.append(_fault("training.tokens", message, "write the whole run, such as 55B"))
    if run.method != "full" and spec.kind == "training":
        message = f"{run.method} adapts a trained model; kind: training starts from scratch"
        faults.append(_fault("training.method", message, "use kind: fine-tuning, or method: full"))
    faults += _kept(spec, run)
    if run.lora is not None and run.method == "full":
        faults.append(_fault("training.lora", "does not apply to method: full", "use method: lora, or remove it"))
    return faults


def _family(spec: WorkloadSpec) -> str:
    """What kind of model is trained; "" where that is not known."""
    if spec.model is None:
        return ""
    if spec.model.dimensions is not None:
        return spec.model.dimensions.family
    try:
        return architecture_of(spec.model, spec.name, load()).kind
    except (KeyError, SpecError):  # which is a fault of its own
        return ""


# Of one step, as a run has that does not state its batch; of pictures, as recipes of tuning have: round numbers.
_SAMPLES: Final = 64
_TOKENS_FROM_START: Final = 2**20
_PICTURES_FROM_START: Final = 1024
_PICTURES: Final = {"lora": 4, "qlora": 4}
_PICTURES_OTHERWISE: Final = 32
USUAL_LENGTH: Final = 2048


def usual_batch(kind: str, family: str, method: str, length: int | None) -> int:
    """The batch of one step that is usual for such a run, in what `global_batch` counts: tokens, of pictures samples.

    >>> usual_batch("fine-tuning", "diffusion", "lora", None), usual_batch("fine-tuning", "decoder", "lora", 4096)
    (4, 262144)
    """
    if family in ("vision", "diffusion"):
        return _PICTURES_FROM_START if kind == "training" else _PICTURES.get(method, _PICTURES_OTHERWISE)
    if kind == "training" and family == "decoder":
        return _TOKENS_FROM_START
    return _SAMPLES * (length or USUAL_LENGTH)


def _batch_line(spec: WorkloadSpec, run: Training, family: str) -> str:
    if not family:
        return "add global_batch with the tokens of one step, or where pictures are learned with their number"
    batch = usual_batch(spec.kind, family, run.method, run.sequence_length)
    if family in ("vision", "diffusion"):
        return f"add global_batch: {batch}, with the pictures of one step of yours"
    more = "" if run.sequence_length else f", sequence_length: {USUAL_LENGTH}"
    samples = batch // (run.sequence_length or USUAL_LENGTH)
    return f"add global_batch: {batch}{more} (the tokens of {samples} samples; with those of one step of yours)"


def _kept(spec: WorkloadSpec, run: Training) -> list[Fault]:
    """How gradients are kept and stages are scheduled, where the run does neither."""
    faults = []
    if run.gradients and (run.method in ("lora", "qlora") or run.lora is not None):
        message = (
            f"does not apply to method: {run.method}: the few gradients of adapters are kept as their framework does"
        )
        faults.append(_fault("training.gradients", message, "remove it, or use method: full"))
    if run.gradients and spec.model and spec.model.precision == "fp32" and run.gradients != "fp32":
        message = f"{run.gradients} gradients contradict model.precision: fp32, whose gradients are fp32"
        faults.append(_fault("training.gradients", message, "remove it, or use precision: bf16"))
    if run.no_sync and spec.framework != "pytorch":
        message = f"is PyTorch's; {spec.framework} reduces gradients when a step's program says so"
        faults.append(_fault("training.no_sync", message, "remove it, or use framework: pytorch"))
    if not run.pipeline_schedule:
        return faults
    engine = spec.engine.name if spec.engine else ""
    unstaged: str = spec.framework if spec.framework == "jax" else "qlora" if run.method == "qlora" else ""
    unstaged = unstaged or (engine if engine in SOFTWARE and not staged(engine) else "")
    if unstaged:
        message = f"{run.pipeline_schedule} orders pipeline stages, and runs of {unstaged} are not split into any"
        other = ", or use engine: megatron, nemo or torchtitan" if unstaged == engine else ""
        faults.append(_fault("training.pipeline_schedule", message, f"remove it{other}"))
    return faults


def _traffic(spec: WorkloadSpec) -> list[Fault]:
    load = spec.traffic
    faults: list[Fault] = []
    if load is None or spec.kind != "inference":
        return faults
    rates = [key for key in ("rps", "requests_per_hour", "concurrent_users") if getattr(load, key) is not None]
    if len(rates) != 1:
        message = "does not say how much load there is" if not rates else f"states the load as {' and '.join(rates)}"
        faults.append(_fault("traffic", message, "state exactly one of rps, requests_per_hour and concurrent_users"))
    if load.think_time_s and load.concurrent_users is None:
        message = "belongs to concurrent_users; with a rate it is not used"
        faults.append(_fault("traffic.think_time", message, "remove it, or state concurrent_users"))
    if load.burstiness is not None and load.concurrent_users is not None:
        message = "is of arrivals at a rate; users send when they have read"
        faults.append(_fault("traffic.burstiness", message, "remove it, or state rps in place of concurrent_users"))
    if load.daily is not None and week(load.daily, spec.schedule.on if spec.schedule else None) is None:
        message = "has no load in the hours of the schedule" if len(load.daily) > 1 else "no such peak fits into the "
        message += "" if len(load.daily) > 1 else "hours of the schedule"
        faults.append(_fault("traffic.daily", message, "state the load of each hour"))
    for key in ("input_tokens", "output_tokens"):
        mean, p95 = getattr(load, key), getattr(load, f"{key}_p95")
        if p95 is not None and not mean:
            faults.append(_fault(f"traffic.{key}_p95", f"spreads around {key}, which is not stated", f"add {key}"))
        elif p95 is not None and not mean <= p95 <= P95_MAX * mean:
            message = f"{p95:,} tokens with a mean of {mean:,}: lengths that spread log-normally have between the mean "
            message += f"and {P95_MAX * mean:,.0f}"
            fix = "state what your log says, or give the log itself: sizewell simulate SPEC --requests LOG"
            faults.append(_fault(f"traffic.{key}_p95", message, fix))
    if load.speculative is not None and spec.engine and spec.engine.name not in SPECULATING:
        message = f"speculative decoding is predicted as {' and '.join(SPECULATING)} do it, not {spec.engine.name}"
        faults.append(_fault("engine.name", message, f"use {' or '.join(SPECULATING)}, or remove traffic.speculative"))
    if load.speculative is not None and spec.engine and (old := _before_drafts(spec.engine, load.speculative)):
        faults.append(_fault("engine.version", *old, spec.engine.version))
    if load.prefix == 1:
        faults.append(_fault("traffic.prefix", "leaves nothing of a prompt to read", "state less than 100%"))
    if load.input_tokens == 0 and not load.output_tokens and load.images is None and load.audio_s is None:
        faults.append(_fault("traffic.input_tokens", "a request needs tokens or images", "state them"))
    if load.input_tokens is None and load.output_tokens is not None and load.images is None and load.audio_s is None:
        faults.append(
            _fault("traffic.input_tokens", "is missing; output_tokens alone are not enough", "add input_tokens: 1500")
        )
    slo = spec.slo
    if slo and slo.tpot_s and load.output_tokens == 0:
        message = "bounds the time between output tokens, and traffic.output_tokens is 0"
        faults.append(_fault("slo.tpot", message, "use slo: {latency: ...}"))
    if slo and slo.latency_s and slo.ttft_s and slo.ttft_s > slo.latency_s:
        message = (
            f"a first token after {show_duration(slo.ttft_s)}, a whole answer after {show_duration(slo.latency_s)}"
        )
        faults.append(_fault("slo.ttft", message, "make latency the larger one"))
    return faults


def _without_the_model(spec: WorkloadSpec) -> tuple[str, str] | None:
    """That the release of an engine has not the model, and the way out; None where it has, or nobody knows."""
    engine = ENGINES.get(spec.engine.name) if spec.engine else None
    digits = re.match(r"\d+(?:\.\d+)*", spec.engine.version or "") if spec.engine else None
    if engine is None or digits is None or spec.model is None:
        return None
    model_type = str((spec.model.config or {}).get("model_type") or "") or None
    row = engine.served(spec.model.name, model_type=model_type)
    if row is None or not row.since or row.in_release(numbers(digits[0])):
        return None
    return f"{engine.name} {digits[0]} is a release without {model_type or spec.model.name}", f"write {row.releases}"


def _before_drafts(engine: Engine, speculative: Speculative) -> tuple[str, str] | None:
    """What is wrong with a release that has no draft models yet, and the way out."""
    since = ENGINES[engine.name].drafts_from if engine.name in ENGINES else ""
    digits = re.match(r"\d+(?:\.\d+)*", engine.version or "")
    if not since or digits is None or speculative.draft == NGRAM or numbers(digits[0]) >= numbers(since):
        return None
    message = f"{engine.name} {engine.version} takes no draft model; {since} is the first of its releases that does"
    return message, f"write {since} or later, or draft: {NGRAM}"


def _times(spec: WorkloadSpec) -> list[Fault]:
    faults = []
    if spec.ttl_s is not None and spec.ttl_s < 86_400:
        message = f"{show_duration(spec.ttl_s)} is less than a day; stacks expire by date"
        faults.append(_fault("ttl", message, "use 1d or more; for hours use schedule or idle"))
    if spec.ttl_s is not None and spec.deadline_s is not None and spec.deadline_s > spec.ttl_s:
        message = (
            f"the run may take {show_duration(spec.deadline_s)}, the stack expires after {show_duration(spec.ttl_s)}"
        )
        faults.append(_fault("deadline", message, "lengthen ttl or shorten deadline"))
    if spec.batch and spec.batch.every_s and spec.batch.window_s > spec.batch.every_s:
        message = (
            f"a window of {show_duration(spec.batch.window_s)} every {show_duration(spec.batch.every_s)} "
            "overlaps the next one"
        )
        faults.append(_fault("batch.window", message, "shorten window or lengthen every"))
    if spec.batch and spec.deadline_s is not None:
        faults.append(_fault("deadline", "batch.window already says how long it may take", "remove it"))
    faults += _idle(spec)
    interval_s = spec.checkpoint.interval_s if spec.checkpoint else None
    if interval_s and spec.deadline_s and interval_s > spec.deadline_s:
        message = f"{show_duration(interval_s)} is after the deadline of {show_duration(spec.deadline_s)}"
        faults.append(_fault("checkpoint.interval", message, "use auto"))
    return faults


def _idle(spec: WorkloadSpec) -> list[Fault]:
    """What the idle guard of a cluster can hold: its window and grace fit into a day of samples."""
    idle = spec.idle
    if idle is None:
        return []
    faults = []
    if not GUARD_WINDOW_S[0] <= idle.window_s <= GUARD_WINDOW_S[1]:
        message = f"must be 10m to 12h, got {show_duration(idle.window_s)}"
        nearest = min(max(idle.window_s, GUARD_WINDOW_S[0]), GUARD_WINDOW_S[1])
        faults.append(_fault("idle.window", message, f"write {show_duration(nearest)}"))
    if idle.grace_s > GUARD_WINDOW_S[1]:
        message = f"must be at most 12h, so that window and grace fit into a day, got {show_duration(idle.grace_s)}"
        faults.append(_fault("idle.grace", message, "write 12h"))
    if not 0 < idle.min_gpu_utilization <= GUARD_SHARE:
        message = f"must be over 0% and at most 50%, got {idle.min_gpu_utilization:.0%}"
        why = "; above that, busy machines would count as idle" if idle.min_gpu_utilization else ""
        faults.append(_fault("idle.min_gpu_utilization", message + why, "write 5%"))
    return faults


def _capacity(spec: WorkloadSpec) -> list[Fault]:
    capacity = spec.capacity
    if capacity is None:
        return []
    faults = []
    ways = [key for key in ("block", "reservation", "flex_start", "savings_plan") if getattr(capacity, key) is not None]
    if len(ways) != 1:
        message = f"states {' and '.join(ways)}" if ways else "says nothing"
        faults.append(
            _fault("capacity", message, "state exactly one of block, reservation, flex_start and savings_plan")
        )
    if re.fullmatch(r"\d+ ?-?(?:y|m|years?|months?)", capacity.reservation or ""):
        years = "3y" if re.match("3", capacity.reservation or "") else "1y"
        message = f"names machines that are reserved, and {capacity.reservation} is a term"
        faults.append(_fault("capacity.reservation", message, f"write capacity: {{savings_plan: {years}}}"))
    if spec.spot_policy == "spot":
        for way in ways:
            message = (
                f"contradicts spot_policy: spot: {'bought' if way != 'flex_start' else 'queued for'} "
                "capacity is not spot"
            )
            faults.append(_fault(f"capacity.{way}", message, "use spot_policy: auto, or remove capacity"))
    clouds = {place.cloud for place in spec.infra}
    for name, cloud in CLOUDS.items():
        for way in cloud.capacity.forms:
            if way in ways and clouds and name not in clouds:
                message = f"only {name} sells it, infra has {', '.join(sorted(clouds))}"
                faults.append(_fault(f"capacity.{way}", message, f"add {name} to infra, or remove it"))
    most_s = capacity.flex_start.max_run_s if capacity.flex_start else None
    if most_s is not None and most_s > FLEX_START_S:
        message = f"must be at most seven days, after which the machines are taken away, got {show_duration(most_s)}"
        faults.append(_fault("capacity.flex_start.max_run", message, "write 7d"))
    block = capacity.block
    if block is not None:
        if block.duration_s % 86_400:
            message = f"{show_duration(block.duration_s)}: blocks are sold in whole days"
            faults.append(_fault("capacity.block.duration", message, "use 24h, 48h, 72h and so on, up to 182d"))
        if block.duration_s > 182 * 86_400:
            message = f"{show_duration(block.duration_s)}: blocks are sold for up to 182 days"
            faults.append(_fault("capacity.block.duration", message, "use 182d or less"))
        weeks = math.ceil(block.duration_s / (7 * 86_400))
        if block.id is None and block.duration_s > 14 * 86_400 and block.duration_s % (7 * 86_400) and weeks <= 26:
            message = f"{show_duration(block.duration_s)}: blocks of more than 14 days are sold in whole weeks"
            faults.append(_fault("capacity.block.duration", message, f"use {7 * weeks}d"))
        if block.id is not None and block.start is None:
            message = "is missing; machines of a purchased block start when it begins and are drained before it ends"
            faults.append(
                _fault("capacity.block.start", message, "add start: 2026-12-01T11:30Z, as stated in the purchase")
            )
        if spec.kind == "inference":
            message = "ends, but a service does not; it cannot be used for kind: inference"
            faults.append(_fault("capacity.block", message, "use savings_plan or reservation"))
    return faults


def _places(spec: WorkloadSpec) -> list[Fault]:
    faults = []
    clouds = {place.cloud for place in spec.infra}
    wanted = cloud_of_service(spec.managed)
    if wanted and clouds and wanted not in clouds:
        message = f"{spec.managed} runs on {wanted}, infra has {', '.join(sorted(clouds))}"
        faults.append(_fault("managed", message, f"add {wanted} to infra, or use managed: auto"))
    if spec.managed in KINDS and spec.kind not in KINDS[spec.managed]:
        message = (
            f"kind: {spec.kind} cannot be provisioned on {spec.managed}, which runs {', '.join(KINDS[spec.managed])}"
        )
        faults.append(_fault("managed", message, "use managed: auto"))
    if spec.managed == "hyperpod" and spec.scheduler in ("slurm", "none"):
        message = f"{spec.scheduler} contradicts managed: hyperpod, which is scheduled by an EKS cluster"
        faults.append(_fault("scheduler", message, "use scheduler: auto, kubernetes or ray, or managed: raw"))
    elif spec.managed in KINDS and spec.managed != "hyperpod" and spec.scheduler not in ("auto", "none"):
        message = f"{spec.scheduler} contradicts managed: {spec.managed}, which starts the work by itself"
        faults.append(_fault("scheduler", message, "use scheduler: auto, or managed: raw"))
    clustered = clouds_where(lambda cloud: cloud.cluster.always)
    if spec.scheduler == "slurm" and clouds and clouds.issubset(clustered):
        others = " and ".join(clouds_where(lambda cloud: not cloud.cluster.always))
        there = " and ".join(
            f"machines on {name} are in a {CLOUDS[name].cluster.name} cluster" for name in sorted(clouds)
        )
        message = f"slurm is supported on {others}; {there}"
        faults.append(_fault("scheduler", message, "use kubernetes or auto, or another cloud in infra"))
    if spec.data and spec.data.residency and spec.infra:
        area = spec.data.residency
        if all(place.region and residency.of(place.cloud, place.region) != area for place in spec.infra):
            message = f"{', '.join(map(str, spec.infra))}: none is within data.residency: {area}"
            faults.append(
                _fault("infra", message, f"add a region of {area}, or a whole cloud, or change the residency")
            )
    return faults


def _hardware(spec: WorkloadSpec) -> list[Fault]:
    faults: list[Fault] = []
    limits = spec.resources
    clouds = {place.cloud for place in spec.infra}
    if limits.tpu is not None:
        for key, has in (("accelerators", limits.accelerators), ("gpu", limits.gpu_memory)):
            if has:
                message = f"contradicts resources.tpu: a node has either {limits.tpu.type} or what {key} names"
                faults.append(_fault(f"resources.{key}", message, "keep one of them"))
        sellers = clouds_where(lambda cloud: cloud.machines.tpus)
        if clouds and clouds.isdisjoint(sellers):
            message = f"only {' and '.join(sellers)} has TPUs, infra has {', '.join(sorted(clouds))}"
            faults.append(_fault("resources.tpu", message, f"add {sellers[0]} to infra, or remove tpu"))
        known = load()
        of_type = [tpu_slice for tpu_slice in known.slices if tpu_slice.generation == limits.tpu.type]
        dimensions = max((tpu_slice.topology.count("x") + 1 for tpu_slice in of_type), default=2)
        topology: Any = limits.tpu.topology
        if of_type and topology and topology.count("x") + 1 != dimensions:
            example = "2x2x4" if dimensions == 3 else "4x4"
            message = f"{topology} has {topology.count('x') + 1} sides; {limits.tpu.type} slices have {dimensions}"
            faults.append(_fault("resources.tpu.topology", message, f"use for example {example}"))
        runs = {
            framework for tpu_slice in of_type for framework in known.accelerators[tpu_slice.accelerator].frameworks
        }
        if of_type and spec.framework == "tensorflow" and "tensorflow" not in runs:
            message = f"TensorFlow does not run on {limits.tpu.type}"
            faults.append(_fault("framework", message, "use jax, or another tpu type"))
    if spec.framework == "tensorflow" and "trainium" in _families(limits.accelerators, limits.instance_types):
        faults.append(_fault("framework", "TensorFlow does not run on Trainium", "use pytorch or jax"))
    return faults


def _families(accelerators: Collection[str], instance_types: Collection[str]) -> set[str]:
    """The families of the accelerators that a spec names, by themselves or by machine types that carry them."""
    known = load()
    families = {chip.family for name in accelerators for chip in known.accelerators_named(name)}
    shapes = (shape for shape in known.shapes if shape.instance_type in instance_types and shape.accelerator)
    return families | {known.accelerators[shape.accelerator].family for shape in shapes}
