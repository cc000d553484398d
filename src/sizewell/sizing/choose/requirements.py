"""Requirements: a workload spec as jobs, limits and places, with every assumption that was needed said aloud.

`requirements(spec, catalog)` is the first step of a decision. It chooses nothing: it turns the spec's words into the
records that memory and time predictions take, and into the limits that a machine must meet to be a candidate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sizewell import csvtables
from sizewell.csvtables import Day
from sizewell.sizing.catalog.engine import NGRAM, InferenceEngine
from sizewell.sizing.catalog.engines import ENGINES, engine_for
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.errors import Fault, SpecError
from sizewell.sizing.predict.architecture import assumptions as model_assumptions
from sizewell.sizing.predict.architecture import is_speech_recognizer, params_total, served_family
from sizewell.sizing.predict.denoising import Denoising, denoising
from sizewell.sizing.predict.memory import adapter_bytes, reference_bytes
from sizewell.sizing.predict.performance.serving_level import ServiceLevel
from sizewell.sizing.predict.simulation.requests import Requests, longest_of, share_longer, spread_of
from sizewell.sizing.predict.software import as_run, kept_gradients, software_with
from sizewell.sizing.predict.usual import BUILDS, COMPILES, SHOWN, usual_training
from sizewell.sizing.providers import clouds_where
from sizewell.sizing.records.budget import MONTHLY, PER_RUN
from sizewell.sizing.records.decision import Task
from sizewell.sizing.records.jobs import Method, Pace, ServingJob, Speculation, TrainingJob
from sizewell.sizing.records.launching import beyond, entry_script
from sizewell.sizing.units import Range, plural, short_duration
from sizewell.sizing.workload.architecture import architecture_of, read_at_most
from sizewell.sizing.workload.checks import USUAL_LENGTH
from sizewell.sizing.workload.daily import Week, week
from sizewell.sizing.workload.drafts import BARS, bars
from sizewell.sizing.workload.precision import (
    Native,
    block_of,
    known_model,
    native_form,
    published_so,
    weights_of_name,
)
from sizewell.sizing.workload.schedule import runs_per_week
from sizewell.sizing.workload.software import PREFERENCES, SOFTWARE, work_of
from sizewell.sizing.workload.writing import writes_nothing

if TYPE_CHECKING:
    from sizewell.sizing.catalog import Catalog
    from sizewell.sizing.workload.model import Engine, Images
    from sizewell.sizing.workload.read import WorkloadSpec

# Where a spec is silent about its requests: a chat turn, and the bounds of MLPerf Inference's Server scenario for Llama
# 3.1 8B (github.com/mlcommons/inference, loadgen/mlperf.conf, read 2026-11-26).
INPUT_TOKENS: Final = 512
OUTPUT_TOKENS: Final = 256
HEARD_S: Final = 30.0  # of audio that Whisper hears at a time (arXiv 2212.04356, section 2.2)
TTFT_S: Final = 2.0
TPOT_S: Final = 0.1
# A whole answer where nothing is written token by token. Images: MLPerf's bound for Stable Diffusion XL (same file).
# Speech: half a minute of audio in a third of the time that it lasts, an estimate, as MLPerf runs Whisper offline only.
# Others: an estimate of what a page waits for; MLPerf's 15 to 130 ms for ResNet and BERT are those of the server alone.
SAMPLE_LATENCY_S: Final = {"encoder": 1.0, "vision": 1.0, "speech": 10.0, "diffusion": 20.0}
COLD_START_S: Final = 600.0  # a bound beyond this leaves time for a machine to start
DIMENSIONS: Final = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "vocab",
    "experts",
    "experts_per_token",
)
BESIDE: Final = 0.05  # of a model's parameters beside its layers, that a rounded count alone does not explain
NOTEBOOK_GPU_BYTES: Final = 16 * 10**9
WEEK_S: Final = 7 * 86_400
NOTEBOOK_HOURS_PER_WEEK: Final = Decimal(40)
UNSTATED: Final = "neither schedule nor utilization is stated"
FINE_TUNING_SAMPLES_PER_STEP: Final = 64
DEVICES_OF_A_MACHINE: Final = 8  # of most machines that jobs are spread over
OWN_BATCH: Final = "(training.global_batch is not stated)"
# github.com/huggingface/diffusers, examples/text_to_image: one image a device, four accumulated (from memory).
FINE_TUNING_PICTURES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Load on a service: a rate, or users who wait for their answer and think; of the busiest hour where the load of
    each is known.
    """

    requests_per_s: float | None
    users: float | None
    think_s: float
    burstiness: float | None = None  # None: arrivals at random
    input_spread: float = 0.0  # standard deviation of the logarithm of prompt lengths
    output_spread: float = 0.0  # and of answers
    spare: int = 0  # machines beyond those that the load needs
    week: Week | None = None  # None: the same load at every hour
    scale_in_s: float = 0.0  # that a machine stays after it was needed
    log: Requests | None = None  # as they came, at whatever rate
    reads: int = 0  # tokens of prompt and answer that the model reads at most; 0: not known
    cut: str = ""  # how many of the stated lengths lie beyond, and what they count as

    @property
    def load(self) -> float:
        """Requests a second, or users."""
        return self.requests_per_s if self.requests_per_s is not None else self.users or 1.0

    @property
    def follows(self) -> bool:
        """Whether the fleet follows the hours; no machine starts within a burst, so one for bursts stands."""
        return self.week is not None and not self.bursts

    @property
    def bursts(self) -> bool:
        """Whether requests come in bursts."""
        return self.burstiness is not None or self.log is not None

    @property
    def simulated(self) -> bool:
        """Whether more is known of the load than the closed form can say."""
        return self.bursts or self.input_spread > 0 or self.output_spread > 0


Alike = tuple[str, int, int]
"""What of a machine a replica depends on: its accelerator, the devices it spans, whether they are linked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What a simulation of the load says of replicas of one kind; seconds at the level's percentile."""

    replicas: int  # the fewest that hold; 0 where none do
    at_least: bool = False  # fewer do not hold, and no more was asked; the seconds are not known then
    ttft_s: float = math.inf
    tpot_s: float = math.inf
    e2e_s: float = math.inf
    requests_per_s: float = math.inf  # that users sent to each of them
    says: str = ""  # how many hold, and what fails on one fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWork:
    """Offline inference: so many samples within a window, again and again."""

    samples: float
    window_s: float
    every_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """Who runs it: what the spec asks for, and how many people look after machines."""

    managed: str = "auto"
    platform_engineers: int = 1

    @property
    def care_counts(self) -> bool:
        """Whether the time that operating machines takes counts as a cost, as no platform engineer has it."""
        return self.managed == "auto" and self.platform_engineers == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What runs the work on accelerators of one runtime: the fields of a training job that say so, and in words."""

    engine: str
    engine_assumed: bool
    compiled: bool | None
    entry_script: str  # that is launched; "": a program of one's own
    stages: bool  # whether what is named has pipelines, sequence and expert parallelism
    software: tuple[str, ...]  # the assumptions about it
    gradients: str  # the format that they are kept in, where the spec or the software has one of its own

    def of(self, job: TrainingJob) -> TrainingJob:
        return replace(
            job,
            gradients=self.gradients,
            engine=self.engine,
            engine_assumed=self.engine_assumed,
            compiled=self.compiled,
            entry_script=self.entry_script,
            stages=self.stages,
        )


_STANDS_FOR: Final = re.compile("counted as one stack|equivalent|upper bound")
"""What the catalog says of a model whose layers stand for others: encoder-decoders and hybrids."""
OTHER_RUNTIMES: Final = ("rocm", "tpu", "neuron", "gaudi")  # than CUDA, whose software a job is first made for
STABILIZATION_S: Final = 300.0  # before replicas are taken away (Kubernetes' default); the guard's window comes after
BLOCK_DRAIN_S = 2_400.0  # instances are reclaimed from 30 minutes before the end; 10 more to write the last checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What candidates are tried against: one of `training`, `arrivals` and `batch`, or none for a notebook."""

    name: str
    kind: str
    training: TrainingJob | None = None
    serving: ServingJob | None = None
    arrivals: Arrivals | None = None
    level: ServiceLevel | None = None
    simulated: Mapping[Alike, Simulated] = field(default_factory=dict)  # of a load with bursts, as far as it was tried
    level_assumed: bool = False  # the spec states no bound
    batch: BatchWork | None = None
    deadline_s: float | None = None
    framework: str = "pytorch"
    accelerators: frozenset[str] | None = None  # catalog keys, "cpu" for machines without; None: any
    accelerator_words: tuple[str, ...] = ()  # as the spec names them
    instance_types: frozenset[str] = frozenset()  # (): any
    memory_bytes_min: int = 0  # of one accelerator, as sold
    memory_bytes_max: int | None = None
    nodes: Range | None = None
    devices: Range | None = None  # accelerators of all machines together
    tpu: tuple[str, str] | None = None  # (generation, topology or "")
    places: tuple[tuple[str, str, str], ...] = ()  # (cloud, region, zone), "" for any; (): anywhere
    residency: str = ""
    interruptible: bool = False
    markets: tuple[str, ...] = ("on-demand",)
    objective: str = "cost"
    hours_per_week: Decimal = Decimal(168)
    utilization: Decimal | None = None
    block_s: float | None = None  # length of the capacity block that the spec asks for
    block_usd_max: float | None = (
        None  # the most that it may cost; None where it is bought already, or nothing is stated
    )
    budget: Mapping[str, Decimal] = field(default_factory=dict)  # usd_per_month, usd_per_run: those that are stated
    team: Team = field(default_factory=Team)
    scheduler: str = "auto"
    windows: int = 0  # of working hours in a week's schedule
    engine: str = ""  # software that the spec names
    software: tuple[str, ...] = ()  # which of the assumptions speak of software that it does not name
    market_open: bool = False  # whether spot or on-demand is ours to choose
    warm: bool = False  # an answer is promised sooner than a machine starts: one is up, but for development
    stops: bool = True  # an idle pool is taken to zero; else somebody is told
    reserved: bool = False  # capacity that is paid for already: stopping it saves nothing
    data_bytes: int = 0  # that a run reads, times `data_passes`; 0: not stated
    data_passes: int = 1
    data_cloud: str = ""  # where the data lie, where their location says it
    data_region: str = ""
    assumptions: tuple[str, ...] = ()
    elsewhere: Mapping[str, Runs] = field(default_factory=dict)  # by runtime: what else runs it than on NVIDIA's GPUs

    def on(self, runtime: str) -> Requirements:
        """The same work as it is run on such accelerators: a job assumed for GPUs says nothing of a TPU."""
        other = self.elsewhere.get(runtime)
        if other is None:
            return self
        first = min((self.assumptions.index(note) for note in self.software), default=0)
        assumptions = [note for note in self.assumptions if note not in self.software]
        assumptions[first:first] = other.software
        return replace(
            self,
            training=other.of(self.training) if self.training is not None else None,
            software=other.software,
            assumptions=tuple(assumptions),
            elsewhere={},
        )

    def at(self, pace: Pace) -> Requirements:
        """The same service as fast as it was measured to be."""
        if self.serving is None:
            return self
        slower = max(pace.steps, pace.prompts) > 1
        others = "other accelerators are taken to be as much slower" if slower else "other accelerators as predicted"
        note = f"as measured on {pace.accelerator}: {pace.said()}; {others}"
        return replace(self, serving=replace(self.serving, pace=pace), assumptions=(*self.assumptions, note))

    def with_any_layout(self) -> Requirements:
        """The same work run by a program of one's own, which may have layouts that the entry scripts have not; as it
        is where the spec names software that has no others than its entry script.
        """
        if self.training is None or not self.training.stages:
            return self
        return replace(self, training=replace(self.training, entry_script=""))

    def nodes_of(self, count: int) -> Range | None:
        """How many machines of `count` accelerators the spec allows; None for any number. High below low: none do.

        >>> Requirements(name="w", kind="training", devices=Range(64, 64)).nodes_of(8)
        Range(low=8, high=8)
        """
        if self.devices is None:
            return self.nodes
        least, most = -(-self.devices.low // count), self.devices.high // count if self.devices.high else None
        if self.nodes is None:
            return Range(max(1, least), most)
        both = [high for high in (most, self.nodes.high) if high is not None]
        return Range(max(least, self.nodes.low), min(both) if both else None)

    @property
    def architecture(self) -> Architecture | None:
        job = self.training or self.serving
        return job.architecture if job else None

    @property
    def names_hardware(self) -> bool:
        """Whether the spec names accelerators or machine types: porting to what it names is its author's wish."""
        return self.tpu is not None or self.accelerators is not None or bool(self.instance_types)


def requirements(spec: WorkloadSpec, catalog: Catalog) -> Requirements:
    """The requirements of a spec. SpecError where a name is unknown to the catalog or the model cannot exist."""
    notes: list[str] = []
    architecture = _architecture(spec, catalog)
    interruptible = spec.kind in ("training", "fine-tuning", "batch-inference")
    limits = spec.resources
    location = spec.data.location if spec.data else None
    block = spec.capacity.block if spec.capacity else None
    block_s = block.duration_s if block else None
    limit_usd = block.max_price_usd if block is not None and block.id is None else None
    base = Requirements(
        name=spec.name,
        kind=spec.kind,
        framework=spec.framework,
        accelerators=_accelerator_keys(spec, catalog),
        accelerator_words=limits.accelerators,
        instance_types=frozenset(limits.instance_types),
        memory_bytes_min=limits.gpu_memory.low if limits.gpu_memory else 0,
        memory_bytes_max=limits.gpu_memory.high if limits.gpu_memory else None,
        nodes=limits.nodes,
        devices=limits.gpus,
        tpu=(limits.tpu.type, limits.tpu.topology or "") if limits.tpu else None,
        places=tuple((place.cloud, place.region or "", place.zone or "") for place in spec.infra),
        residency=(spec.data.residency or "") if spec.data else "",
        interruptible=interruptible,
        markets=_markets(spec, interruptible=interruptible),
        objective=spec.objective,
        hours_per_week=spec.schedule.on.hours_per_week if spec.schedule else Decimal(168),
        utilization=Decimal(str(spec.utilization)) if spec.utilization is not None else None,
        deadline_s=min((end for end in (spec.deadline_s, block_s and block_s - BLOCK_DRAIN_S) if end), default=None),
        block_s=block_s,
        block_usd_max=None if limit_usd is None else float(limit_usd),
        budget=_budget(spec),
        team=Team(managed=spec.managed, platform_engineers=spec.team.platform_engineers if spec.team else 1),
        scheduler=spec.scheduler,
        windows=len(spec.schedule.on.windows) if spec.schedule else 0,
        engine=spec.engine.name if spec.engine else "",
        market_open=interruptible and spec.spot_policy == "auto" and spec.capacity is None,
        warm=_promised(spec),
        stops=spec.idle is None or spec.idle.action == "scale-to-zero",
        reserved=spec.capacity is not None and spec.capacity.reservation is not None,
        data_bytes=(spec.data.size_bytes or 0) if spec.data else 0,
        data_passes=(spec.training.epochs or 1) if spec.training else 1,
        data_cloud=next(iter(clouds_where(lambda cloud: (location or "").startswith(cloud.data_schemes))), ""),
        data_region=(spec.data.region or "") if spec.data else "",
    )
    if architecture is not None:
        notes += model_assumptions(architecture)
        if _STANDS_FOR.search(architecture.note):
            notes.append(f"the model is no plain transformer: {architecture.note}")
        notes += _as_published(spec)
        notes += _software(spec, architecture, "cuda")
        if architecture.kind == "diffusion" and spec.kind in ("inference", "batch-inference"):
            way = _denoising(spec, architecture)
            each = "once" if way.evaluations_per_step == 1 else "with and without the prompt"
            notes.append(f"{way.steps} denoising steps an image, each evaluated {each} ({way.source})")
    if spec.kind in ("training", "fine-tuning") and architecture is not None:
        job = _training_job(spec, architecture, notes)
        notes += _at_once(job)
        base = replace(base, training=job)
    elif spec.kind == "inference" and architecture is not None:
        base = _inference(base, spec, architecture, notes)
        base = _speculating(base, spec, catalog, notes)
    elif spec.kind == "batch-inference" and architecture is not None:
        base = _batch(base, spec, architecture, notes)
    else:
        base = _notebook(base, spec, architecture, notes)
    if architecture is None:
        return replace(base, assumptions=tuple(notes))
    usual = _runs(spec, architecture, "cuda")
    others = {runtime: _runs(spec, architecture, runtime) for runtime in OTHER_RUNTIMES}
    return replace(
        base,
        assumptions=tuple(notes),
        software=usual.software,
        elsewhere={runtime: runs for runtime, runs in others.items() if runs != usual},
    )


def _runs(spec: WorkloadSpec, architecture: Architecture, runtime: str) -> Runs:
    """What runs the work on such accelerators: what the spec names, else what is launched or usual there."""
    named = spec.engine
    usual = _usual_engine(spec, architecture, runtime) if work_of(spec.kind) == "training" else ""
    both_usual = named is None and architecture.kind not in ("decoder", "encoder")
    engine = SOFTWARE[named.name].predicted_as if named else usual
    stated = (spec.training.gradients if spec.training else None) or ""
    trained = spec.model is not None and work_of(spec.kind) == "training" and _method(spec) in ("pretrain", "full")
    kept = kept_gradients(engine, spec.model.precision) if spec.model is not None and trained else ""
    return Runs(
        engine=engine,
        gradients=stated or kept,
        engine_assumed=named is None,
        compiled=True if runtime in COMPILES else None if both_usual else False,
        entry_script=_entry_script(spec, architecture, runtime),
        stages=SOFTWARE[named.name].stages if named else True,
        software=tuple(_software(spec, architecture, runtime)),
    )


def _entry_script(spec: WorkloadSpec, architecture: Architecture, runtime: str) -> str:
    """The script that a training run is launched with; "" where it needs a program of its own."""
    if work_of(spec.kind) != "training" or beyond(task_of(spec, architecture), spec.framework, None, runtime):
        return ""
    return entry_script(spec.framework, runtime)


def task_of(spec: WorkloadSpec, architecture: Architecture) -> Task:
    """What a training run is, as far as it decides which software can run it."""
    model, run = spec.model, spec.training
    assert model is not None  # noqa: S101 - a training spec without a model was refused
    named = model.name or model.config_path
    return Task(
        model=named,
        dimensions=None if named else dimensions_of(architecture),
        not_built_in=(None if named else not_built_in(architecture)) or None,
        family=architecture.kind,
        experts=architecture.experts or None,
        engine=spec.engine.name if spec.engine else None,
        precision=model.precision,
        method=_preference(spec) or _method(spec),
        optimizer=run.optimizer if run else None,
        offload=run.offload if run else None,
    )


def dimensions_of(architecture: Architecture) -> dict[str, int] | None:
    """The sizes that say which model it is, where no name does."""
    return {name: size for name in DIMENSIONS if (size := getattr(architecture, name))} or None


def not_built_in(model: Architecture) -> tuple[str, ...]:
    """What of a decoder by its dimensions the entry scripts' own transformer does not have: it is gated (three
    matrices), without biases, with rotary positions, heads that see everything, and an output head of its own.

    >>> not_built_in(Architecture(key="gpt2", layers=12, hidden=768, gated=False, tied_embeddings=True))
    ('an ungated feed-forward', 'tied embeddings')
    """
    has = {
        "an ungated feed-forward": not model.gated,
        "tied embeddings": model.tied_embeddings,
        "biases": model.biases != "none",
        "a sliding window": model.sliding_window > 0,
        "latent attention": model.kv_lora_rank > 0,
        "learned positions": model.learned_positions > 0,
        "parameters beside its layers": model.extra_params > BESIDE * params_total(model),
    }
    return tuple(key for key, there in has.items() if there and model.kind == "decoder")


def _budget(spec: WorkloadSpec) -> dict[str, Decimal]:
    stated = spec.budget
    limits = {MONTHLY: stated.monthly_usd, PER_RUN: stated.per_run_usd} if stated else {}
    return {key: usd for key, usd in limits.items() if usd is not None}


def _promised(spec: WorkloadSpec) -> bool:
    """Whether a service states bounds that no machine which has to start first can keep, and allows no cold start."""
    bounds = [b for b in (spec.slo.ttft_s, spec.slo.tpot_s, spec.slo.latency_s) if b is not None] if spec.slo else []
    cold = spec.idle is not None and spec.idle.action == "scale-to-zero"
    return spec.kind == "inference" and bool(bounds) and max(bounds) < COLD_START_S and not cold


def _architecture(spec: WorkloadSpec, catalog: Catalog) -> Architecture | None:
    if spec.model is None:
        return None
    try:
        return architecture_of(spec.model, spec.name, catalog)
    except KeyError as error:
        fix = "name a model of the catalog, a config.json, or give params and layers"
        raise SpecError([Fault(path="model", message=str(error.args[0]), fix=fix)], subject=spec.name) from None


def _accelerator_keys(spec: WorkloadSpec, catalog: Catalog) -> frozenset[str] | None:
    if not spec.resources.accelerators:
        return None
    keys: set[str] = set()
    for name in spec.resources.accelerators:
        if name.lower() == RUNTIME:
            keys.add(RUNTIME)
            continue
        matching = {accelerator.key for accelerator in catalog.accelerators_named(name)}
        if not matching:
            try:
                matching = {catalog.accelerator(name).key}
            except KeyError as error:
                fault = Fault(
                    path="resources.accelerators", message=str(error.args[0]), fix="use a name of the catalog"
                )
                raise SpecError([fault], subject=spec.name) from None
        keys |= matching
    return frozenset(keys)


def _markets(spec: WorkloadSpec, *, interruptible: bool) -> tuple[str, ...]:
    """The markets that the chosen option may be bought in; others are alternatives at most."""
    capacity = spec.capacity
    if capacity is not None:
        if capacity.block is not None and capacity.block.purchase == "confirmed":
            return ("capacity-block",)
        if capacity.flex_start is not None:
            return ("flex-start",)
        if capacity.savings_plan is not None:
            return (f"reserved-{capacity.savings_plan.term}",)
        if capacity.reservation is not None:
            return ("on-demand",)
    if spec.spot_policy == "spot":
        return ("spot",)
    return ("on-demand", "spot") if interruptible and spec.spot_policy == "auto" else ("on-demand",)


def _training_job(spec: WorkloadSpec, architecture: Architecture, notes: list[str]) -> TrainingJob:
    run = spec.training
    model = spec.model
    assert run is not None and model is not None  # noqa: S101, PT018 - `workload.read` has refused the spec otherwise
    language = architecture.kind in ("decoder", "encoder")
    # Not the model's whole context: trainers cut or pack samples to a length of their own, which is seldom longer.
    sequence = (
        (run.sequence_length or min(architecture.max_sequence_length or USUAL_LENGTH, USUAL_LENGTH)) if language else 0
    )
    if language and run.sequence_length is None:
        notes.append(f"sequences of {sequence} tokens (training.sequence_length is not stated; memory depends on it)")
    per_sample = sequence if language else 1
    if run.global_batch is not None:
        exact = run.global_batch / per_sample
        batch = whole_samples(exact)
        if language and run.global_batch % 1000 == 0:  # 128k is a power of two to who writes it
            batch = divisible(batch) or batch
        if exact != int(exact):
            notes.append(
                f"{batch} samples per step: {run.global_batch:,} tokens are not divisible by the sequence length"
            )
        elif batch != exact:
            few = f"{run.global_batch:,} tokens are {exact:.0f} samples, which few numbers of devices divide"
            notes.append(f"{batch} samples per step: {few}")
    elif spec.kind == "training" and language:
        # Brown et al. 2020, table 2.1: about 1M tokens a step at 2.7B parameters, 2M at 6.7B, 3.2M at 175B.
        tokens = 2**20 if params_total(architecture) < 5e9 else 2**21 if params_total(architecture) < 3e10 else 2**22
        batch = _for_devices(max(1, tokens // per_sample), spec)
        notes.append(f"{batch * per_sample:,} tokens per step {OWN_BATCH}")
    else:
        tuned = FINE_TUNING_PICTURES if architecture.kind == "diffusion" and spec.kind == "fine-tuning" else 1024
        batch = _for_devices(FINE_TUNING_SAMPLES_PER_STEP if language else tuned, spec)
        notes.append(f"{batch} samples per step {OWN_BATCH}")
    if batch % 2 and _preference(spec) in ("dpo", "orpo", "reward"):
        batch += 1
        notes.append(f"{batch} sequences per step: they come in pairs")
    if run.tokens is not None:
        samples = run.tokens / per_sample
    elif run.samples is not None:
        answers = 2 if _preference(spec) in ("dpo", "orpo", "reward") else 1
        samples = float(run.samples) * answers * (run.epochs or 1)
    else:
        samples = float(run.steps or 0) * batch
    made = _runs(spec, architecture, "cuda").of(
        TrainingJob(
            architecture=architecture,
            method=_method(spec),
            preference=_preference(spec),
            precision=model.precision,
            weights=(model.weights or "nf4") if _method(spec) == "qlora" else "",
            unsharded_gradients=bool(run.no_sync),
            pipeline_schedule=run.pipeline_schedule or "",
            optimizer=run.optimizer,
            sequence_length=sequence,
            global_batch=batch,
            samples=samples,
            checkpointing=None if run.activation_checkpointing == "auto" else run.activation_checkpointing,
            attention=run.attention,
            packed=run.packed,
            cpu_offload=run.offload == "optimizer",
            lora_rank=run.lora.rank if run.lora else 0,
            lora_targets=run.lora.targets if run.lora else (),
            framework=spec.framework,
        )
    )
    return as_run(made)


def _for_devices(batch: int, spec: WorkloadSpec) -> int:
    """The least batch from an assumed one on that the devices which the spec counts divide, machines of eight taken;
    the least that their odd part divides where the former is more than twice the assumed one.
    """
    counted = spec.resources.gpus or spec.resources.nodes
    if counted is None or counted.low != counted.high or not counted.low:
        return batch
    devices = counted.low if spec.resources.gpus else counted.low * DEVICES_OF_A_MACHINE
    odd = devices // (devices & -devices)
    wide = -(-batch // devices) * devices
    return wide if wide <= 2 * batch else -(-batch // odd) * odd


def whole_samples(samples: float) -> int:
    """Samples per step: as stated where that is whole, else the nearest number within 5 % that divides best.

    >>> whole_samples(64.0), whole_samples(1_000_000 / 2048), whole_samples(4_000_000 / 8192)
    (64, 512, 512)
    """
    if samples == int(samples):
        return max(1, int(samples))
    for power in range(14, 0, -1):
        near = round(samples / (1 << power)) << power
        if near and abs(near - samples) <= 0.05 * samples:
            return near
    return max(1, round(samples))


def divisible(samples: int) -> int:
    """The multiple of 64 within 5 % of a stated number of samples that groups of devices hardly divide; 0 for others.

    >>> divisible(500), divisible(512), divisible(96), divisible(24)
    (512, 0, 0, 0)
    """
    better = round(samples / 64) * 64
    return better if samples % 8 and 0 < abs(better - samples) <= 0.05 * samples else 0


def _inference(base: Requirements, spec: WorkloadSpec, architecture: Architecture, notes: list[str]) -> Requirements:
    traffic = spec.traffic
    assert traffic is not None  # noqa: S101 - `workload.read` has refused the spec otherwise
    language = architecture.kind == "decoder"
    architecture = _seeing(architecture, traffic.images, "traffic", notes)
    prompt, answer = float(traffic.input_tokens or 0), float(traffic.output_tokens or 0)
    if traffic.images is not None:
        prompt += architecture.image_tokens * traffic.images.per_request
    windows = _windows(architecture, traffic.audio_s, "a request (traffic.audio", notes)
    answer /= windows
    if language and not prompt:
        prompt = float(INPUT_TOKENS)
        notes.append(f"{INPUT_TOKENS} tokens in a request (traffic.input_tokens is not stated)")
    reads_only = writes_nothing(spec.model) if language and spec.model else ""
    if language and traffic.output_tokens is None and reads_only:
        notes.append(f"no answer is written (traffic.output_tokens is not stated, and {reads_only})")
    elif language and traffic.output_tokens is None:
        answer = float(OUTPUT_TOKENS)
        notes.append(f"{OUTPUT_TOKENS} tokens in an answer (traffic.output_tokens is not stated)")
    elif language and not answer and not reads_only:
        notes.append(
            "nothing is written: traffic.output_tokens is 0, as of a classifier; a chat states what it answers"
        )
    slo = spec.slo
    percentile = float(slo.percentile[1:]) / 100 if slo else 0.95
    ttft, tpot, latency = (slo.ttft_s, slo.tpot_s, slo.latency_s) if slo else (None, None, None)
    assumed = ttft is None and tpot is None and latency is None
    latency = latency / windows if latency is not None else None
    if assumed:
        if language and answer:
            ttft, tpot = TTFT_S, TPOT_S
            notes.append(
                f"first token within {TTFT_S:g} s, each further within {TPOT_S * 1000:g} ms (slo is not stated)"
            )
        else:
            work = "speech" if is_speech_recognizer(architecture) else architecture.kind
            latency = SAMPLE_LATENCY_S.get(work, SAMPLE_LATENCY_S["encoder"])
            notes.append(f"an answer within {latency:g} s (slo is not stated)")
    come = "at random (Poisson)" if traffic.burstiness is None else "in bursts, as stated"
    if traffic.concurrent_users is not None:
        come = "of users who wait for their answers, so that each has one in flight at most"
    if traffic.requests is not None:
        come = f"as in {traffic.requests.file}"
        rate = f"{traffic.rps:.3g} requests/s of {prompt:,.0f} tokens in and {answer:,.0f} out at the mean"
        notes.append(f"load of {traffic.requests.file}: {rate}")
        notes += spec.log.remarks if spec.log else ()
    elif traffic.prefix:
        notes.append(f"{traffic.prefix:.0%} of each prompt is in the prefix cache, as stated, on whichever replica")
    recorded = "as recorded" if traffic.requests else "near their means"
    lengths = "spread as stated" if traffic.input_tokens_p95 or traffic.output_tokens_p95 else recorded
    notes.append(f"arrivals {come}, each to the replica with the fewest requests in flight; lengths {lengths}")
    if traffic.concurrent_users is not None and not traffic.think_time_s:
        notes.append("each user sends the next request at once: traffic.think_time is 0 s")
    spread = (
        spread_of(traffic.input_tokens or 0, traffic.input_tokens_p95),
        spread_of(traffic.output_tokens or 0, traffic.output_tokens_p95),
    )
    limit = read_at_most(spec.model, architecture)
    longest = _longest(spec, (prompt, answer), spread, limit, notes)
    cut = _cut((prompt, answer), spread, limit)
    notes += [cut] if cut else []
    job = replace(_serving_job(spec, architecture, prompt, answer), longest_tokens=longest)
    notes += _adapters(spec, job)
    hours = None if traffic.daily is None else week(traffic.daily, spec.schedule.on if spec.schedule else None)
    times = 1.0 if hours is None else hours.peak
    return replace(
        base,
        serving=job,
        arrivals=Arrivals(
            requests_per_s=traffic.requests_per_s * windows * times if traffic.requests_per_s is not None else None,
            users=float(traffic.concurrent_users) * times if traffic.concurrent_users is not None else None,
            week=hours,
            log=spec.log.served(limit) if spec.log else None,
            scale_in_s=STABILIZATION_S + (spec.idle.window_s if spec.idle else 0.0),
            think_s=traffic.think_time_s,
            burstiness=traffic.burstiness,
            input_spread=spread[0],
            output_spread=spread[1],
            reads=limit or 0,
            cut=cut,
            spare=1 if traffic.redundancy else 0,
        ),
        level=ServiceLevel(
            ttft_s=ttft, tpot_s=tpot, e2e_s=latency, percentile=percentile, parts=1 if assumed else windows
        ),
        level_assumed=assumed,
    )


def _cut(mean: tuple[float, float], spread: tuple[float, float], limit: int | None) -> str:
    """What of stated lengths that spread lies beyond what the model reads, in words; "" where next to nothing does."""
    share = share_longer(mean, spread, limit) if limit and any(spread) else 0.0
    if share < 0.0005:
        return ""
    return (
        f"{share:.1%} of requests whose lengths spread as stated are longer than the {limit:,} tokens that the model "
        "reads: each counts as one of that length, and the means stay as stated"
    )


def _speculating(need: Requirements, spec: WorkloadSpec, catalog: Catalog, notes: list[str]) -> Requirements:
    """The service with what its draft proposes, where the spec states one."""
    stated = spec.traffic.speculative if spec.traffic else None
    if stated is None or need.serving is None:
        return need
    draft, form, block = None, Native("bf16"), 0
    if stated.draft != NGRAM:
        try:
            draft = known_model(stated.draft, catalog)
        except KeyError as error:
            fault = Fault(
                path="traffic.speculative.draft", message=str(error.args[0]), fix="name a model of the catalog"
            )
            raise SpecError([fault], subject=spec.name) from None
        form = native_form(stated.draft) or Native(weights_of_name(stated.draft) or "bf16")
        block = block_of(stated.draft, None, form.weights)
        if form.weights != "bf16":
            notes.append(f"weights of the draft in {form.weights}, as in its published checkpoint")
        notes += _beyond_draft(need, spec, stated.draft, draft.max_sequence_length)
        engine = ENGINES.get(spec.engine.name) if spec.engine else engine_for("decoder")
        for bar in bars(draft, _architecture(spec, catalog)):
            if engine is not None and (releases := engine.undrafted.get(bar)):
                to = f" to {releases[-1]}" if len(releases) > 1 else ""
                lacks = BARS[bar].format(draft=stated.draft)
                notes.append(f"{engine.name} {releases[0]}{to} {lacks}: try whether a later release starts with it")
    speculation = Speculation(
        draft=draft,
        name=stated.draft,
        block=block,
        weights=form.weights,
        dense_weights=form.dense,
        weights_group=form.group,
        tokens=stated.tokens,
        acceptance=stated.acceptance,
    )
    return replace(need, serving=replace(need.serving, speculation=speculation))


def _beyond_draft(need: Requirements, spec: WorkloadSpec, draft: str, reads: int | None) -> list[str]:
    """How many requests are longer than the draft reads; that their mean is, is refused."""
    job, arrivals = need.serving, need.arrivals
    if not reads or job is None or arrivals is None:
        return []
    if spec.log is not None:
        share = len(spec.log.requests.longer_than(reads)) / max(1, len(spec.log.requests))
    else:
        spread = (arrivals.input_spread, arrivals.output_spread)
        share = share_longer((job.input_tokens, job.output_tokens), spread, reads) if any(spread) else 0.0
    if share < 0.0005:
        return []
    says = f"{share:.1%} of requests are longer than the {reads:,} tokens that {draft} reads"
    return [f"{says}: beyond, it proposes nothing that is right, which is not counted"]


def _longest(
    spec: WorkloadSpec,
    mean: tuple[float, float],
    spread: tuple[float, float],
    limit: int | None,
    notes: list[str],
) -> int:
    """Tokens of the longest request that has to be taken, prompt and answer together; 0 where nothing says how lengths
    spread. What the model, or its context, cannot read is not among them.
    """
    if spec.log is not None:
        recorded = spec.log.requests
        together = [sum(pair) for pair in zip(recorded.prompt_tokens, recorded.output_tokens, strict=True)]
        longest = max(together)
        if limit and longest > limit:
            over = sum(tokens > limit for tokens in together)
            notes.append(
                f"the server refuses {plural(over, 'recorded request')} of {len(together):,}: the longest has "
                f"{longest:,} tokens, the model reads {limit:,}"
            )
    elif any(spread):
        longest = math.ceil(sum(longest_of(tokens, width) for tokens, width in zip(mean, spread, strict=True)))
    else:
        return 0
    return min(longest, limit or longest)


def _batch(base: Requirements, spec: WorkloadSpec, architecture: Architecture, notes: list[str]) -> Requirements:
    work = spec.batch
    assert work is not None  # noqa: S101 - `workload.read` has refused the spec otherwise
    architecture = _seeing(architecture, work.images, "batch", notes)
    prompt = float(work.tokens_per_record or 0)
    if work.images is not None:
        prompt += architecture.image_tokens * work.images.per_request
    if architecture.kind in ("decoder", "encoder") and not prompt and not is_speech_recognizer(architecture):
        prompt = float(INPUT_TOKENS)
        notes.append(f"{INPUT_TOKENS} tokens in a record (batch.tokens_per_record is not stated)")
    images = work.images.per_request if work.images is not None and architecture.kind == "vision" else 1
    windows = _windows(architecture, work.audio_s, "a record (batch.audio_per_record", notes)
    every_s = work.every_s
    if every_s and (runs := runs_per_week(spec.schedule.on if spec.schedule else None, every_s)) < WEEK_S / every_s:
        times = plural(round(runs), "run")
        notes.append(f"{times} a week: its schedule opens no more often (batch.every: {short_duration(every_s)})")
        every_s = WEEK_S / runs
    return replace(
        base,
        serving=_serving_job(spec, architecture, prompt, float(work.output_tokens_per_record) / windows),
        batch=BatchWork(samples=float(work.records) * images * windows, window_s=work.window_s, every_s=every_s),
        deadline_s=work.window_s,
    )


def _windows(architecture: Architecture, audio_s: float | None, of: str, notes: list[str]) -> int:
    """How many half minutes a speech recogniser hears of what it is given, one after another; 1 for other models."""
    if not is_speech_recognizer(architecture):
        return 1
    if audio_s is None:
        notes.append(f"half a minute of audio in {of} is not stated)")
        return 1
    windows = math.ceil(audio_s / HEARD_S)
    if windows > 1:
        notes.append(f"{audio_s:g} s of audio are {windows} half minutes, heard in turn; each counts as a request")
    return windows


def _as_published(spec: WorkloadSpec) -> list[str]:
    """That a model is run in the form in which it is published, where the spec leaves the form open."""
    model = spec.model
    stated = {"model.weights", "model.precision"} & spec.given
    if model is None or stated or spec.kind in ("training", "fine-tuning") or model.weights in (None, model.precision):
        return []
    where = "its quantization_config" if model.config is not None else "its published checkpoint"
    return [f"weights in {model.weights}, as in {where} (model.weights is not stated)"]


def _serving_engine(engine: Engine) -> str:
    """As what a named engine is predicted: vLLM before 0.9 profiled a whole prompt."""
    name = SOFTWARE[engine.name].predicted_as
    parts = (engine.version or "").split(".")
    old = len(parts) > 1 and parts[0] == "0" and parts[1].isdigit() and int(parts[1]) < 9
    return "vllm-v0" if name == "vllm" and old else name


def _software(spec: WorkloadSpec, architecture: Architecture, runtime: str) -> list[str]:
    """Which software the figures are for on such accelerators, where the spec names none: what is launched, or what
    such work usually runs, since a training program is the user's own.
    """
    work = work_of(spec.kind)
    if work == "serving" and (stored := _other_cache(spec, architecture)):
        return [stored, *_unnamed(spec, architecture, runtime)]
    if work == "training":
        return [*_unnamed(spec, architecture, runtime), *_kept_whole(spec, architecture, runtime)]
    return _unnamed(spec, architecture, runtime)


def _kept_whole(spec: WorkloadSpec, architecture: Architecture, runtime: str) -> list[str]:
    """What Megatron-Core's switches have to be for the layouts that are searched for it."""
    named = spec.engine
    engine = SOFTWARE[named.name].predicted_as if named else _usual_engine(spec, architecture, runtime)
    trained = spec.model is not None and _method(spec) in ("pretrain", "full")
    if not trained or engine not in software_with("distributed-optimizer"):
        return []
    assert spec.model is not None  # noqa: S101 - `trained` says so
    stated = spec.training.gradients if spec.training else None
    form = stated or kept_gradients(engine, spec.model.precision) or spec.model.precision
    other = "" if stated or form != "fp32" else "; training.gradients: bf16 is its --grad-reduce-in-bf16"
    how = f"it shards the optimizer's state alone, each device keeps whole gradients in {form}{other}"
    return [f"Megatron-Core's distributed optimizer (--use-distributed-optimizer): {how}; Megatron-FSDP is not sized"]


def _other_cache(spec: WorkloadSpec, architecture: Architecture) -> str:
    """That the engine which is launched stores its KV cache in another format of the same size; "" where not."""
    engine = ENGINES.get(spec.engine.name) if spec.engine else engine_for(served_family(architecture))
    kv = spec.model.kv if spec.model else None
    flag = engine.flags.get("kv_dtype") if engine else None
    stored = flag.values.get(kv or "", "") if flag else ""
    return f"KV cache in {stored}: {engine.name} has no {kv} there" if engine and stored in ("fp8", "int8") else ""


def _unnamed(spec: WorkloadSpec, architecture: Architecture, runtime: str) -> list[str]:
    work = work_of(spec.kind)
    if spec.engine is not None or work is None:
        return []
    if work == "serving":
        engine = engine_for(served_family(architecture))
        build = BUILDS.get(runtime, "") if runtime in engine.images else ""
        script = spec.kind != "batch-inference" or served_family(architecture) == "decoder"
        how = "which is launched" if script else "as is usual for such work"
        if lacking := unserved(engine, spec):
            how = f"which has no layers for {lacking}: predicted as if it had"
        return [f"run by {engine.name}{build}, {how} (engine is not stated)"]
    usual = {"jax": "JAX", "tensorflow": "TensorFlow"}.get(spec.framework)
    usual = usual or SHOWN[_usual_engine(spec, architecture, runtime)]
    notes = [f"run by {usual}, as is usual for such work (engine is not stated)"]
    if architecture.kind in ("vision", "diffusion") and spec.framework == "pytorch" and runtime not in COMPILES:
        notes.append("kernels halfway between compiled and uncompiled, as both are common (engine is not stated)")
    return notes


def unserved(engine: InferenceEngine, spec: WorkloadSpec) -> str:
    """The model, by its configuration's type or its name, that the engine has not; "" where nothing is known."""
    return engine.without(spec.model.name if spec.model else None, model_type=type_of(spec))


def type_of(spec: WorkloadSpec) -> str | None:
    """The `model_type` of the model's config.json; None of a model that is known by its name."""
    config = (spec.model.config if spec.model else None) or {}
    return str(config.get("model_type") or "") or None


def _usual_engine(spec: WorkloadSpec, architecture: Architecture, runtime: str) -> str:
    assert spec.model is not None  # noqa: S101 - a training spec without a model was refused
    if _preference(spec) and runtime in SOFTWARE["trl"].runtimes:
        return SOFTWARE["trl"].predicted_as
    return usual_training(
        architecture,
        method=_method(spec),
        precision=spec.model.precision,
        framework=spec.framework,
        runtime=runtime,
    )


def _method(spec: WorkloadSpec) -> Method:
    run = spec.training
    if run is not None and run.method in ("lora", "qlora"):
        return run.method
    if run is not None and run.lora is not None:
        narrow = spec.model is not None and spec.model.weights in ("int4", "nf4", "int8", "fp4")
        return "qlora" if narrow else "lora"
    return "pretrain" if spec.kind == "training" else "full"


def _preference(spec: WorkloadSpec) -> str:
    """By which preferences a run learns; "" for one that learns from texts."""
    return spec.training.method if spec.training and spec.training.method in PREFERENCES else ""


_RUNS_AT_ONCE: Final[Mapping[str, str]] = {
    "dpo": "pairs of answers, both read; {reference}",
    "orpo": "pairs of answers, both read; no reference model",
    "kto": "single answers; {reference}, and one more pass of both for the divergence",
    "reward": "pairs of answers, both read; one number a sequence in place of logits",
}


def _at_once(job: TrainingJob) -> list[str]:
    """What runs beside the model that is trained, where it learns from preferences."""
    if not job.preference:
        return []
    held = "fp32, as TRL loads it" if reference_bytes(job) > 2.0 else "16 bits"
    frozen = f"a frozen reference model in {held}, sharded as the weights are"
    reference = f"{frozen if job.reference else 'the base model without its adapters is the reference'}: a pass forward"
    what = _RUNS_AT_ONCE[job.preference].format(reference=reference)
    return [f"{job.preference}: {what}; counted, not measured: no published run of it stands behind the figures"]


def _denoising(spec: WorkloadSpec, architecture: Architecture) -> Denoising:
    """Steps and guidance of a diffusion model: as the spec says, else the model's own."""
    images = (spec.traffic and spec.traffic.images) or (spec.batch and spec.batch.images)
    return denoising(
        architecture.key, steps=images.steps if images else None, guidance=images.guidance if images else None
    )


def _serving_job(spec: WorkloadSpec, architecture: Architecture, prompt: float, answer: float) -> ServingJob:
    model = spec.model
    room = _adapter_room(spec)
    passes = _denoising(spec, architecture).passes if architecture.kind == "diffusion" else 1
    weights = (model.weights or model.precision) if model else "bf16"
    native = native_form(model.name) if model and model.name else None
    as_published = native if native and native.weights == weights else Native(weights)
    return ServingJob(
        architecture=architecture,
        weights=weights,
        dense_weights=as_published.dense,
        weights_group=as_published.group,
        made_at_load=_made_at_load(spec, architecture, weights),
        block=block_of(model.name, model.config, weights) if model else 0,
        kv=(model.kv or "") if model else "",
        input_tokens=prompt,
        output_tokens=answer,
        prefix=(spec.traffic.prefix or 0.0) if spec.traffic else 0.0,
        passes_per_sample=float(passes),
        engine=_serving_engine(spec.engine) if spec.engine else "vllm",
        engine_assumed=spec.engine is None and engine_for(served_family(architecture)).predicted_as != "vllm",
        adapters=room[0],
        adapter_rank=room[1],
    )


def _made_at_load(spec: WorkloadSpec, architecture: Architecture, weights: str) -> bool:
    """Whether no checkpoint is in such weights, and the engine makes them of the published ones while it loads them."""
    engine = ENGINES.get(spec.engine.name) if spec.engine else engine_for(served_family(architecture))
    name = spec.model.name if spec.model else None
    return engine is not None and weights in engine.at_load and name is not None and not published_so(name, weights)


def _seeing(architecture: Architecture, images: Images | None, section: str, notes: list[str]) -> Architecture:
    """A language model with the tokens that a picture is in its prompts: none where requests bring no pictures.

    The part that sees is held all the same. What a picture counts as is noted, and a stated size that cannot count.
    """
    if architecture.kind != "decoder" or images is None:
        return replace(architecture, image_tokens=0) if architecture.kind == "decoder" else architecture
    pixels = architecture.image_pixels or _image_pixels(architecture.key)
    stated = images.resolution
    if stated and pixels:
        tokens = (-(-stated // pixels)) ** 2
        notes.append(f"{tokens:,} tokens an image of {stated:,} x {stated:,} pixels, one for {pixels} x {pixels}")
        return replace(architecture, image_tokens=tokens)
    unused = f"; {section}.images.resolution does not change it" if stated else ""
    tokens = architecture.image_tokens
    if not tokens:
        notes.append(f"images take no tokens here, as nothing says how many: add them to the input tokens{unused}")
    elif pixels:
        notes.append(f"{tokens:,} tokens an image (1,024 x 1,024 pixels: {section}.images.resolution is not stated)")
    else:
        notes.append(f"{tokens:,} tokens an image, whatever its size (the model's own number){unused}")
    return architecture


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePixels:
    """Of models that read a picture at its own size: the pixels along a side of what one token is."""

    model: str  # with * for any end
    pixels: int
    source: str
    checked: Day


def _image_pixels(model: str) -> int:
    rows = csvtables.read(ImagePixels, Path(__file__).parents[1] / "catalog/data/image_pixels.csv")
    return next((row.pixels for row in rows if fnmatchcase(model, row.model)), 0)


def _adapter_room(spec: WorkloadSpec) -> tuple[int, int]:
    """(LoRA adapters in device memory at once, the rank that the engine reserves for them); (0, 0) without."""
    adapters = spec.model.adapters if spec.model else None
    if adapters is None:
        return 0, 0
    ranks = ENGINES[spec.engine.name if spec.engine else engine_for("decoder").name].adapter_ranks
    return adapters.resident or adapters.count, next(rank for rank in ranks if rank >= adapters.rank)


def _adapters(spec: WorkloadSpec, job: ServingJob) -> list[str]:
    """What the room for LoRA adapters is, and which part of their cost is not predicted."""
    adapters = spec.model.adapters if spec.model else None
    if adapters is None:
        return []
    room = f"room for {job.adapters} of {adapters.count}, {adapter_bytes(job) / 2**30:.2f} GiB a replica on one device"
    counted = "their bytes and FLOPs are counted, the time of their kernels is not"
    sentences = [f"LoRA adapters of rank {job.adapter_rank}: {room}; {counted}"]
    if job.adapters < adapters.count:
        sentences.append(
            "the other adapters wait in the host's memory; loading one when a request names it is not counted"
        )
    return sentences


def _notebook(
    base: Requirements, spec: WorkloadSpec, architecture: Architecture | None, notes: list[str]
) -> Requirements:
    limits = spec.resources
    floor = base.memory_bytes_min
    if not (limits.accelerators or limits.instance_types or limits.gpu_memory or limits.tpu):
        floor = NOTEBOOK_GPU_BYTES
        notes.append("one accelerator of 16 GB or more (resources is not stated)")
    serving = _serving_job(spec, architecture, float(INPUT_TOKENS), 1.0) if architecture is not None else None
    hours = base.hours_per_week
    if spec.schedule is None and spec.utilization is None:
        hours = NOTEBOOK_HOURS_PER_WEEK
        notes.append(f"used {NOTEBOOK_HOURS_PER_WEEK} hours a week ({UNSTATED})")
    return replace(base, serving=serving, memory_bytes_min=floor, hours_per_week=hours)
