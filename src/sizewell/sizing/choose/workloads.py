"""The chosen option of a workload as the record that stands in the decision."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sizewell.sizing.billing.costing import BILLED_GIGABYTE
from sizewell.sizing.catalog.compatibility import capability
from sizewell.sizing.catalog.engine import numbers
from sizewell.sizing.catalog.engines import ENGINES, engine_for
from sizewell.sizing.catalog.host import RUNTIME
from sizewell.sizing.catalog.kernels import missing
from sizewell.sizing.catalog.managed import STANDING, TITLES
from sizewell.sizing.choose import blocks, disks, orchestration, services
from sizewell.sizing.choose.assumed_level import beside_the_price
from sizewell.sizing.choose.bill import unpriced_lines
from sizewell.sizing.choose.candidates import machine_of
from sizewell.sizing.choose.choice import (
    Sizing,
    alternatives,
    doubts,
    fallbacks,
    on_several,
    performance_value,
    rejection_groups,
    significant,
)
from sizewell.sizing.choose.fleets import BATCH_EFFICIENCY, job_on, whole_experts
from sizewell.sizing.choose.nat_traffic import through_nat
from sizewell.sizing.choose.over_the_week import over_the_week
from sizewell.sizing.choose.pricing import Option, leaving_usd, zones_of
from sizewell.sizing.choose.quantized import quantized
from sizewell.sizing.choose.requirements import dimensions_of, divisible, not_built_in, type_of, unserved
from sizewell.sizing.choose.shared_storage import OBJECT_BYTES_PER_S_PER_NODE
from sizewell.sizing.choose.start_up import start_up_s
from sizewell.sizing.choose.unpriced_here import cheaper_unpriced
from sizewell.sizing.money import HOURS_PER_MONTH
from sizewell.sizing.predict.architecture import is_speech_recognizer, served_family
from sizewell.sizing.predict.memory import loading_bytes, longest_held
from sizewell.sizing.predict.memory.states import lora_targets, lora_widths
from sizewell.sizing.predict.performance.serving_replica import peak_flop_per_s
from sizewell.sizing.predict.spot import FAILURE_DEVICE_HOURS, LOST_BY_HAND, reclaimed_every_h
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import (
    Bounds,
    Capacity,
    CapacityBlock,
    Checkpoint,
    Cost,
    Guard,
    LineItemRecord,
    Memory,
    Parallelism,
    Performance,
    Pool,
    Replicas,
    Schedule,
    SpecRef,
    Storage,
    Task,
    Workload,
)
from sizewell.sizing.records.jobs import Cluster, Layout, ServingJob, TrainingJob
from sizewell.sizing.records.launching import LEAST_ROOM, beyond, beyond_batch, longest_answer, tokens_taken
from sizewell.sizing.units import GIB, durations_apart, plural, short_duration
from sizewell.sizing.workload.architecture import read_at_most
from sizewell.sizing.workload.model import PROJECTIONS
from sizewell.sizing.workload.precision import prepared

if TYPE_CHECKING:
    from sizewell.sizing.catalog.records import Accelerator
    from sizewell.sizing.workload.read import WorkloadSpec

IMPORT = "write yours into a table and run: sizewell prices import FILE"
SAVES = 0.03  # of a run's time: from here on another layout or batch is worth a sentence
AUDIO_SAMPLES_PER_HOUR = 120  # speech recognition hears half a minute at a time
ROLES = {
    "training": "workers",
    "fine-tuning": "workers",
    "inference": "replicas",
    "batch-inference": "workers",
    "notebook": "notebook",
}


def workload_record(sizing: Sizing, chosen: Option) -> Workload:
    """Everything about the choice: pool, memory, performance, lines, cost, runner-ups, rejections, assumptions."""
    spec, need, fleet = sizing.spec, sizing.need, chosen.fleet
    layout = _parallelism(fleet.layout, need.training) if fleet.layout and need.training else None
    task = _task(sizing, chosen)
    return Workload(
        spec=SpecRef(name=spec.name, digest=spec.digest()),
        kind=spec.kind,
        pools=(_pool(sizing, chosen),),
        parallelism=layout,
        replicas=_replicas(chosen) if need.arrivals is not None or need.batch is not None else None,
        memory=_memory(chosen),
        performance=performance(chosen),
        guard=_guard(spec) if chosen.candidate.shape.accelerator and chosen.candidate.provisioned else None,
        schedule=_schedule(spec),
        checkpoint=_checkpoint(chosen) if chosen.checkpoint_bytes else None,
        storage=_storage(spec, chosen),
        task=task,
        interruptible=need.interruptible,
        framework=need.framework,
        scheduler=chosen.scheduler,
        budget=dict(need.budget),
        line_items=tuple(LineItemRecord.of(item) for item in chosen.items),
        cost=_cost(chosen, beside_the_price(sizing, chosen)),
        alternatives=(*alternatives(sizing, chosen), *quantized(sizing, chosen)),
        rejections=rejection_groups(sizing.rejections),
        assumptions=(
            *assumptions(chosen),
            *_on_several(sizing, chosen),
            *(own := _launched(chosen, task, layout)),
            *(() if any(note.startswith("launched by ") for note in own) else _trained_on(spec, chosen)),
            *_batch_launched(spec, chosen, task),
            *_served_launched(spec, chosen, task),
            *_in_fp16(spec, chosen, task),
            *_block_unbought(spec, chosen),
            *_block_too_long(spec, chosen),
            *_on_hosts(chosen),
        ),
    )


def _on_several(sizing: Sizing, chosen: Option) -> tuple[str, ...]:
    """That no kernel of a notebook sees all accelerators that its spec asks for."""
    if not on_several(chosen, sizing.need):
        return ()
    each = chosen.candidate.shape.accelerators
    remedy = "for several people state resources.nodes instead, a machine for each"
    return (f"a notebook works on one machine, here with {each} of them: none that fits has resources.gpus; {remedy}",)


def _launched(chosen: Option, task: Task | None, layout: Parallelism | None) -> tuple[str, ...]:
    """What of a run its launch will ask a command of one's own for, said where the layout is chosen; or what such a
    command would save.
    """
    need, runtime = chosen.setting.need, chosen.candidate.accelerator.runtime
    more = beyond(task, need.framework, layout, runtime) if need.training is not None else ()
    if not more:
        return _saved_by_own(chosen)
    name = need.name
    causes = ", ".join(f"{each.path} {each.message.partition(':')[0].partition(',')[0]}" for each in more)
    software = "; ".join(dict.fromkeys(each.software for each in more))
    return (f"launched by run.{name}.command of your own, not by the entry scripts: {causes} ({software})",)


def _trained_on(spec: WorkloadSpec, chosen: Option) -> tuple[str, ...]:
    """What the launch of a run that an entry script does will ask for: where its data are."""
    kept = _storage(spec, chosen)
    if chosen.setting.need.training is None or (kept is not None and kept.location):
        return ()
    lacks = "data.size" if spec.data is not None and spec.data.location else "data.location"
    where = "add data: {location: s3://..., size: ...} to the spec and decide again"
    own = f"run.{spec.name}.env: {{SIZEWELL_DATA: ...}}"
    return (f"launch needs the place of the training data ({lacks} is not stated): {where}, or set {own}",)


def _on_hosts(chosen: Option) -> tuple[str, ...]:
    """What an optimizer whose state is offloaded takes of each machine's own memory."""
    job, fleet = chosen.setting.need.training, chosen.fleet
    if job is None or not job.cpu_offload or job.method in ("lora", "qlora"):
        return ()
    from sizewell.sizing.choose.fleets_training import host_bytes

    needed, has = host_bytes(job, fleet.nodes) / 2**30, chosen.candidate.shape.memory_bytes or 0
    of = f" of the {has / 2**30:,.0f} GiB that it has" if has else ""
    keeps = f"offload keeps {needed:,.0f} GiB of optimizer state, gradients and their buffers in each machine's memory"
    return (f"{keeps}{of} (DeepSpeed's own estimate)",)


def _block_unbought(spec: WorkloadSpec, chosen: Option) -> tuple[str, ...]:
    """That a stated capacity block is not what was chosen, as nobody has agreed to pay for it in advance."""
    block = spec.capacity.block if spec.capacity else None
    if block is None or chosen.deal.market == "capacity-block":
        return ()
    way = "state capacity: {block: {..., purchase: confirmed}} to choose it"
    return (f"capacity.block is set aside for {chosen.deal.market}: its purchase is {block.purchase}; {way}",)


def _block_too_long(spec: WorkloadSpec, chosen: Option) -> tuple[str, ...]:
    """That the run ends well within the block that is to be bought, the days that do and what they save."""
    block = spec.capacity.block if spec.capacity else None
    if block is None or block.id is not None or not block.duration_s or chosen.run_s is None:
        return ()
    bought, longest_s = math.ceil(block.duration_s / blocks.DAY_S), performance(chosen).high
    enough, text = blocks.days(longest_s), blocks.duration_text(longest_s)
    if not text or enough >= bought:
        return ()
    deals = (chosen.deal, *chosen.candidate.deals)
    sold = [deal for deal in deals if deal.market == blocks.MARKET]
    deal = next((each for each in sold if each.region == chosen.deal.region), next(iter(sold), None))
    each_day = 24 * float(deal.usd_per_hour) * chosen.fleet.nodes if deal is not None else 0.0
    saves = f", for {each_day * (bought - enough):,.0f} USD less" if each_day else ""
    takes = f"the run takes {short_duration(longest_s)} at the upper edge of its band"
    return (f"capacity.block.duration is {plural(bought, 'day')}: {takes}, duration: {text} would do{saves}",)


LISTED = "; engine: text-embeddings-inference serves the models that its documentation lists"


def _served_launched(spec: WorkloadSpec, chosen: Option, task: Task | None) -> tuple[str, ...]:
    """What the launch of a served model or of a batch will ask for: a command, or a checkpoint of one's own."""
    need, accelerator = chosen.setting.need, chosen.candidate.accelerator
    if task is None or need.serving is None or need.kind == "notebook":
        return ()
    run = f"run.{need.name}"
    engine = ENGINES.get(need.engine) if need.engine else engine_for(task.family, accelerator.runtime)
    if engine is None:
        why = f"{need.engine} has no template ({', '.join(ENGINES)} have)"
        return (f"launched by {run}.command of your own and an image with {need.engine}: {why}",)
    if lacking := unserved(engine, spec):
        other = "" if task.family != "encoder" else LISTED
        why = f"{engine.name} has no layers for {lacking}{other}"
        return (f"launched by {run}.command of your own and an image that has it: {why}",)
    if prepared(engine, task.model, task.weights):
        why = f"{engine.name} does not convert them on loading"
        return (f"weights in {task.weights} are prepared beforehand and named as {run}.model at launch: {why}",)
    if task.loading_bytes:
        has = f"{chosen.fleet.usable_bytes / GIB:,.1f} GiB usable"
        made = f"{engine.name} makes {task.weights} of 16-bit weights while it loads them, and these do not fit"
        fits = f"launch release {engine.converts_by_layer} or later, which does so layer by layer"
        fits = fits if engine.converts_by_layer else "launch a release that does so layer by layer"
        own = f"or name a checkpoint in {task.weights} as {run}.model"
        return (f"{made} ({task.loading_bytes / GIB:,.1f} GiB a device, {has}): {fits}, {own}",)
    has_cuda = accelerator.runtime == "cuda" and chosen.candidate.shape.accelerator
    build = engine.build_for(capability(accelerator.key, accelerator.family)) if has_cuda else None
    if build is not None:
        tag = f"{build.word}-VERSION" if build.word else "VERSION"
        row = engine.served(task.model, model_type=task.model_type)
        least = max((each for each in (build.since, row.since if row else "") if each), key=numbers, default="")
        since = f", of release {least} or later" if least else ""
        return (
            f"launched with the image of {engine.name} for {accelerator.name}: {engine.images['cuda']}:{tag}{since}",
        )
    return ()


def loading_here(job: ServingJob, tensor: int, accelerator: Accelerator) -> float:
    """Bytes that 16-bit weights take of a device while another format is made of them, where it has less; else 0."""
    needed, has = loading_bytes(job, tensor=tensor, accelerator=accelerator)
    return needed if needed > has else 0.0


def _in_fp16(spec: WorkloadSpec, chosen: Option, task: Task | None) -> tuple[str, ...]:
    """That a served model of bf16 is computed in fp16, where the GPU has nothing else of 16 bits."""
    need, accelerator = chosen.setting.need, chosen.candidate.accelerator
    if task is None or need.serving is None or accelerator.runtime != "cuda" or accelerator.flop_per_s.get("bf16"):
        return ()
    engine = ENGINES.get(need.engine) if need.engine else engine_for(task.family, accelerator.runtime)
    if engine is None or "dtype" not in engine.flags or task.weights in ("fp16", "fp32") or unserved(engine, spec):
        return ()
    limits = "its numbers end at 65,504, where those of bf16 go on: compare some answers first"
    return (f"computed in fp16, for {accelerator.name} has no bf16 ({limits}, or name a newer accelerator)",)


def _batch_launched(spec: WorkloadSpec, chosen: Option, task: Task | None) -> tuple[str, ...]:
    """What the launch of a batch will ask for: a program of one's own, or where its records are."""
    if chosen.setting.need.batch is None or task is None:
        return ()
    own = f"run.{spec.name}.command of your own"
    for each in beyond_batch(task):
        return (f"launched by {own}, not by the batch script: {each.path} {each.message} ({each.software})",)
    if spec.batch is not None and spec.batch.images is not None:
        return (f"launched by {own}, not by the batch script: batch_infer.py sends no pictures (vLLM's LLM.chat)",)
    limit = longest_answer(task, task.request_tokens_max or 0)
    cut = (
        f"answers are cut at {limit:,} tokens (max_tokens), for the mean is {task.output_tokens:,}: their lines say so"
    )
    kept = _storage(spec, chosen)
    if kept is not None and kept.location and "://" in kept.location:
        return (cut,)
    lacks = "data.size" if spec.data is not None and spec.data.location else "data.location"
    where = "add data: {location: s3://..., size: ...} to the spec and decide again"
    return (cut, f"launch needs the place of the records ({lacks} is not stated): {where}, or {own}")


def _better_batch(chosen: Option) -> tuple[str, ...]:
    """What a batch that more numbers of devices divide would save on the chosen machines, where the stated is odd."""
    job, ours = chosen.setting.need.training, chosen.fleet.training
    batch = divisible(job.global_batch) if job is not None else 0
    if job is None or ours is None or not batch:
        return ()
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, find_all

    per_sample = job.sequence_length or 1
    odd = f"{job.global_batch} samples per step divide among few numbers of devices: training.global_batch: "
    said = f"{odd}{batch * per_sample} ({batch} samples) would divide among most"
    found = find_all(replace(job, global_batch=batch), (_cluster(chosen),), best=1)[0]
    if isinstance(found, LayoutRefusal):
        return (said,)
    saved = 1 - (found[0].step_s / batch) / (ours.step_s / job.global_batch)
    return (f"{said}, and save {saved:.0%} of the time on these machines" if saved >= SAVES else said,)


def _cluster(chosen: Option) -> Cluster:
    """The chosen machines, as layouts are searched on them."""
    shape, fleet = chosen.candidate.shape, chosen.fleet
    slices = [item for item in chosen.setting.catalog.slices if item.machine_type == shape.instance_type]
    machine = machine_of(shape, chosen.candidate.accelerator, slices, chosen.setting.need)
    return machine.cluster(fleet.nodes, fleet.topology)


def _saved_by_own(chosen: Option) -> tuple[str, ...]:
    """What the fastest layout of any program would save on the chosen machines, where the entry scripts lack it."""
    need, fleet, shape = chosen.setting.need, chosen.fleet, chosen.candidate.shape
    job, ours = need.training, fleet.training
    if job is None or ours is None or not job.entry_script or fleet.nodes * shape.accelerators < 2:
        return ()
    from sizewell.sizing.predict.layouts.search import LayoutRefusal, find_all

    free = replace(job, entry_script="")
    found = find_all(free, (_cluster(chosen),), best=1)[0]
    if isinstance(found, LayoutRefusal) or found[0].step_s > (1 - SAVES) * ours.step_s:
        return ()
    other = _parallelism(found[0].layout, free)
    needs = beyond(None, need.framework, other, chosen.candidate.accelerator.runtime)
    if not needs:
        return ()
    causes = ", ".join(f"{each.path.partition('.')[2]} {each.message.split()[1].rstrip(':')}" for each in needs)
    saved = 1 - found[0].step_s / ours.step_s
    money = f", about {saved * float(chosen.run_usd):,.2f} USD a run" if chosen.run_usd else ""
    software = f"{needs[0].software} and a command of your own"
    return (
        f"{causes} would save {saved:.0%} of the time{money}, with {software}; the entry scripts have no such layout",
    )


def _guard(spec: WorkloadSpec) -> Guard:
    return Guard(
        signal="accelerator_utilization",
        min_utilization_percent=float(Decimal(str(spec.idle.min_gpu_utilization)) * 100) if spec.idle else 5.0,
        window_s=int(spec.idle.window_s) if spec.idle else 2700,
        grace_s=int(spec.idle.grace_s) if spec.idle else 3600,
        action=spec.idle.action if spec.idle else "scale-to-zero",
    )


def _pool(sizing: Sizing, chosen: Option) -> Pool:
    shape, deal, fleet = chosen.candidate.shape, chosen.deal, chosen.fleet
    return Pool(
        role=ROLES[sizing.need.kind],
        cloud=shape.cloud,
        region=deal.region,
        zones=zones_of(chosen),
        instance_type=shape.instance_type,
        accelerator=shape.accelerator,
        accelerators_per_node=shape.accelerators,
        tpu_topology=fleet.topology or None,
        market=deal.market,  # type: ignore[arg-type]
        capacity=_capacity(sizing.spec, chosen),
        nodes_min=chosen.counts.minimum,
        nodes_initial=chosen.counts.initial,
        nodes_max=chosen.counts.maximum,
        fallbacks=fallbacks(sizing, chosen),
        node_hours_per_month=Bounds.of(chosen.hours),
        disk_bytes_per_node=chosen.disk.gigabytes * BILLED_GIGABYTE,
        managed=chosen.managed,  # type: ignore[arg-type]
        served=chosen.served or None,  # type: ignore[arg-type]
        provision=chosen.provision or None,  # type: ignore[arg-type]
    )


def _storage(spec: WorkloadSpec, chosen: Option) -> Storage | None:
    """Where the workload reads its data from, and how fast it has to."""
    data, files, reads = spec.data, chosen.storage, chosen.reads
    if data is None or data.size_bytes is None:
        return None
    return Storage(
        kind=files.kind if files else "object",
        bytes=data.size_bytes,
        location=data.location,
        gib=files.gib if files else None,
        mb_per_s_per_tib=(files.mb_per_s_per_tib or None) if files else None,
        bytes_per_s=significant(reads.bytes_per_s) if reads else None,
    )


def _capacity(spec: WorkloadSpec, chosen: Option) -> Capacity:
    market = chosen.deal.market
    if market == "capacity-block":
        block = spec.capacity.block if spec.capacity else None
        return Capacity(
            mode="capacity-block",
            block=CapacityBlock(
                duration_hours=int(chosen.hours.expected / chosen.fleet.nodes),
                start=block.start if block else None,
                max_price_usd=block.max_price_usd if block else None,
                purchase=block.purchase if block else "unconfirmed",
                id=block.id if block else None,
            ),
        )
    if spec.capacity is not None and spec.capacity.reservation is not None:
        return Capacity(mode="reservation", reservation=spec.capacity.reservation)
    if market in ("spot", "flex-start"):
        return Capacity(mode=market)  # type: ignore[arg-type]
    return Capacity(mode="on-demand")


def _parallelism(layout: Layout, job: TrainingJob) -> Parallelism:
    return Parallelism(
        tensor=layout.tensor,
        pipeline=layout.pipeline,
        virtual_pipeline=layout.virtual_pipeline,
        context=layout.context,
        data=layout.data,
        expert=layout.expert,
        zero_stage=layout.zero_stage,
        shard_group=layout.shard_group,
        micro_batch=layout.micro_batch,
        gradient_accumulation=max(1, job.global_batch // max(1, layout.micro_batch * layout.data)),
        checkpointing=layout.checkpointing,
    )


def _replicas(chosen: Option) -> Replicas:
    fleet, need = chosen.fleet, chosen.setting.need
    per_node = max(1, chosen.candidate.shape.accelerators // fleet.devices_per_replica)
    spare = need.arrivals.spare * per_node if need.arrivals else 0
    return Replicas(
        min=chosen.counts.minimum * per_node,
        initial=fleet.replicas + spare if fleet.replicas else chosen.counts.initial * per_node,
        max=chosen.counts.maximum * per_node,
        devices_per_replica=fleet.devices_per_replica,
        concurrency_per_replica=max(1, round(fleet.serving.batch)) if fleet.serving else None,
        in_flight_target=fleet.in_flight_target,
        spare=spare or None,
    )


def _memory(chosen: Option) -> Memory:
    memory = chosen.fleet.memory
    return Memory(
        per_device_bytes=memory.total_bytes,
        usable_bytes=chosen.fleet.usable_bytes,
        low_bytes=memory.low_bytes,
        high_bytes=memory.high_bytes,
        grade=memory.grade,
        breakdown=dict(memory.breakdown),
    )


def performance(chosen: Option) -> Performance:
    """What an option does, with the band of the prediction."""
    need, fleet = chosen.setting.need, chosen.fleet
    value = performance_value(chosen)
    if fleet.training is not None and chosen.run_s is not None:
        time = fleet.training
        sequences = need.training is not None and need.training.sequence_length
        figures = {
            "step_s": time.step_s,
            "tokens_per_s" if sequences else "samples_per_s": time.tokens_per_s,
            "mfu": time.mfu,
            "run_time_without_interruptions_s": fleet.run_s or 0.0,
        }
        if chosen.interruptions is not None:
            figures["goodput"] = chosen.interruptions.goodput
            figures["checkpoint_write_s"] = chosen.interruptions.checkpoint_s
            figures["interruptions_expected"] = chosen.interruptions.expected
        return Performance(
            metric="run_time_s",
            value=value or 0.0,
            low=significant(chosen.run_s * time.low_s / time.step_s),
            high=significant(chosen.run_s * time.high_s / time.step_s),
            grade=time.grade,
            bottleneck=time.bottleneck,
            figures=_rounded(figures),
            waterfall=_rounded(dict(time.waterfall)),
        )
    served = fleet.serving
    if served is None:
        return Performance(
            metric="memory_bytes_per_accelerator",
            value=float(fleet.usable_bytes),
            low=float(fleet.usable_bytes),
            high=float(fleet.usable_bytes),
            grade="roofline",
            bottleneck="none",
            figures={},
        )
    low, high = served.low / served.requests_per_s, served.high / served.requests_per_s
    if chosen.run_s is not None:
        answers = served.requests_per_s * fleet.replicas
        return Performance(
            metric="run_time_s",
            value=value or 0.0,
            low=significant(chosen.run_s / high),
            high=significant(chosen.run_s / low),
            grade=served.grade,
            bottleneck=served.bottleneck,
            figures=_rounded(
                {
                    "samples_per_s": answers,
                    **({"tokens_per_s": answers * _tokens(chosen)} if _tokens(chosen) else {}),
                    "batch": served.batch,
                }
            ),
        )
    capacity = fleet.replica_rate * fleet.replicas
    load = served.requests_per_s * fleet.replicas
    figures = {
        "requests_per_s": load,
        "load_share": load / capacity if capacity else 0.0,
        "e2e_s": served.e2e_s,
        "cold_start_s": start_up_s(need.serving),
    }
    if need.serving is not None and need.serving.output_tokens:
        figures |= {
            "ttft_s": served.ttft_s,
            "tpot_s": served.tpot_s,
            "output_tokens_per_s": served.output_tokens_per_s * fleet.replicas,
            "sequences_per_replica": served.batch,
        }
    return Performance(
        metric="requests_per_s_within_slo",
        value=value or 0.0,
        low=significant(capacity * low),
        high=significant(capacity * high),
        grade=served.grade,
        bottleneck=served.bottleneck,
        figures=_rounded(figures),
    )


def _tokens(chosen: Option) -> float:
    job = chosen.setting.need.serving
    return job.input_tokens + job.output_tokens if job else 0.0


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: significant(value) for name, value in figures.items()}


def _schedule(spec: WorkloadSpec) -> Schedule | None:
    if spec.schedule is None:
        return None
    plan = spec.schedule.on
    return Schedule(
        text=plan.text,
        hours_per_week=plan.hours_per_week,
        time_zone=plan.time_zone,
        windows=tuple(window.shown() for window in plan.windows),
    )


def _task(sizing: Sizing, chosen: Option) -> Task | None:
    """What a job's template needs of the spec; None for a notebook without a model."""
    need, model, run, served = sizing.need, sizing.spec.model, sizing.need.training, sizing.need.serving
    if model is None or need.architecture is None:
        return None
    made = need.architecture
    named = model.name or model.config_path
    fields: dict[str, Any] = {
        "model": named,
        "model_type": type_of(sizing.spec),
        "dimensions": None if named else dimensions_of(made),
        "not_built_in": (None if named else not_built_in(made)) or None,
        "family": served_family(made),
        "resolution": made.resolution or None,
        "deadline_s": need.deadline_s,
        "engine": sizing.spec.engine.name if sizing.spec.engine else None,
        "engine_version": sizing.spec.engine.version if sizing.spec.engine else None,
    }
    if run is not None:
        fields |= {
            "precision": run.precision,
            "weights": run.weights or None,
            "method": run.preference or run.method,
            "optimizer": run.optimizer,
            "offload": "optimizer" if run.cpu_offload else None,
            "experts": made.experts or None,
            "lora_rank": run.lora_rank or None,
            "lora_targets": adapted(run) or None,
            "no_sync": run.unsharded_gradients or None,
            "sequence_length": run.sequence_length or None,
            "samples_per_step": run.global_batch,
            "steps": math.ceil(run.samples / run.global_batch) if run.samples else None,
        }
    elif served is not None:
        device, replica = chosen.candidate.accelerator, chosen.fleet.devices_per_replica
        here = job_on(device, served, need.engine)
        mean = math.ceil(served.input_tokens + served.output_tokens)
        stated = sizing.spec.traffic.speculative if sizing.spec.traffic else None
        fields |= {
            "precision": model.precision,
            "weights": here.weights,
            "loading_bytes": round(loading) if (loading := loading_here(here, replica, device)) else None,
            "kv": served.kv or None,
            "expert_parallel": whole_experts(here, replica) or None,
            "adapters": model.adapters.count if model.adapters else None,
            "adapters_resident": served.adapters or None,
            "adapter_rank": served.adapter_rank or None,
            "draft": stated.draft if stated else None,
            "draft_tokens": stated.tokens if stated else None,
            "sequence_length": mean or None,
            "request_tokens_max": tokens_taken(
                mean,
                longest=max(2 * mean, LEAST_ROOM) if need.batch else served.longest_tokens,
                limit=read_at_most(sizing.spec.model, made),
                held=longest_held(here, tensor=replica, accelerator=device),
            )
            or None,
            "records": round(need.batch.samples) if need.batch else None,
            "input_tokens": math.ceil(served.input_tokens) or None,
            "output_tokens": math.ceil(served.output_tokens) or None,
        }
    if need.arrivals is not None and need.arrivals.users:
        fields["users"] = round(need.arrivals.users)
    if level := need.level:
        fields |= {"ttft_s": level.ttft_s, "tpot_s": level.tpot_s, "latency_s": level.e2e_s}
        fields["percentile"] = level.percentile
    return Task(**fields)


def adapted(run: TrainingJob) -> tuple[str, ...]:
    """The matrices that get adapters, as they are sized: by the names that Llama has for them, all-linear where these
    are all that the model has; () where none is trained.
    """
    if run.method not in ("lora", "qlora"):
        return ()
    there = [key for key, width in lora_widths(run.architecture, experts=1).items() if width]
    matrices = there or PROJECTIONS  # of a model whose dimensions nobody knows
    chosen = [key for key in matrices if key in lora_targets(run)]
    return ("all-linear",) if len(chosen) == len(matrices) else tuple(f"{key}_proj" for key in chosen)


def _checkpoint(chosen: Option) -> Checkpoint:
    broken = chosen.interruptions
    return Checkpoint(
        store=chosen.setting.store,
        interval_s=float(round(broken.interval_s)) if broken else 3600.0,
        keep=chosen.setting.keep,
        bytes_each=chosen.checkpoint_bytes,
    )


def _cost(chosen: Option, assumed_level: str | None) -> Cost:
    cost, need = chosen.cost, chosen.setting.need
    million: Decimal | None = None
    thousand: Decimal | None = None
    audio_hour: Decimal | None = None
    units = _units(chosen)
    usd = chosen.run_usd if need.arrivals is None else cost.run_rate.usd_per_month.expected
    if units > 0 and usd is not None and not cost.unpriced:
        if _counts_tokens(chosen):
            million = _usd_of(usd, units, 1_000_000)
        else:
            thousand = _usd_of(usd, units, 1_000)
            if thousand and _transcribes(chosen):
                audio_hour = _usd_of(usd, units, AUDIO_SAMPLES_PER_HOUR)
    alone = None
    if chosen.shared is not None and not chosen.prepaid and not cost.unpriced:
        alone = replace(chosen, shared=None).cost.run_rate.usd_per_month.expected
    return Cost(
        run_rate=Bounds.of_known(cost.run_rate.whole),
        one_off=Bounds.of_known(cost.one_off.whole),
        unpriced=cost.unpriced,
        alone_usd_per_month=alone,
        per_run_usd=chosen.run_usd if need.arrivals is None else None,
        per_million_tokens_usd=million,
        per_thousand_samples_usd=thousand,
        per_audio_hour_usd=audio_hour,
        assumed_level=assumed_level,
    )


def _transcribes(chosen: Option) -> bool:
    architecture = chosen.setting.need.architecture
    return architecture is not None and is_speech_recognizer(architecture)


def tokens_of(chosen: Option) -> float | None:
    """Tokens of a run's work, or that a service answers with in a month; None where no tokens are counted."""
    return (_units(chosen) or None) if _counts_tokens(chosen) else None


def _units(chosen: Option) -> float:
    """Tokens or samples of a run, or of a month of service."""
    need, fleet = chosen.setting.need, chosen.fleet
    if need.training is not None:
        return (need.training.samples or 0.0) * max(1, need.training.sequence_length)
    if need.batch is not None:
        return need.batch.samples * (_tokens(chosen) if _counts_tokens(chosen) else 1.0)
    if need.arrivals is not None and fleet.serving is not None and need.serving is not None:
        week = need.arrivals.week
        nodes = chosen.nodes_mean if week else max(1, fleet.nodes)
        hours = float(chosen.hours.expected) / nodes * (week.mean if week else 1.0)
        answers = fleet.serving.requests_per_s * fleet.replicas * hours * 3600
        return answers * (need.serving.output_tokens if _counts_tokens(chosen) else 1.0)
    return 0.0


def _counts_tokens(chosen: Option) -> bool:
    need = chosen.setting.need
    if need.training is not None:
        return need.training.sequence_length > 0
    return need.serving is not None and need.serving.architecture.kind == "decoder" and _tokens(chosen) > 0


def _usd_of(usd: Decimal, units: float, count: int) -> Decimal:
    value = usd * count / Decimal(repr(units))
    return value.quantize(Decimal("0.0001")) if value >= 1 else Decimal(f"{value:.4g}")


def assumptions(chosen: Option) -> tuple[str, ...]:
    """What the figures rest on that nobody stated, each once."""
    need, fleet = chosen.setting.need, chosen.fleet
    accelerated = bool(chosen.candidate.shape.accelerator)
    sentences: list[str] = [note for note in need.assumptions if accelerated or not note.startswith("run by ")]
    sentences += list(fleet.memory.assumptions)
    if fleet.training is not None:
        sentences += [*fleet.training.assumptions, *_better_batch(chosen)]
        if need.utilization is None:
            sentences.append("one run a month")
    if fleet.serving is not None:
        sentences += list(fleet.serving.assumptions)
    if need.batch is not None and need.batch.every_s:
        runs = float(HOURS_PER_MONTH) * 3600 / need.batch.every_s
        sentences.append(f"{runs:.1f} runs a month")
    if need.batch is not None:
        sentences.append(
            f"{BATCH_EFFICIENCY:.0%} of the predicted speed: stragglers and scheduling take the rest (estimate)"
        )
    if need.arrivals is not None:
        sentences += over_the_week(chosen)
        if chosen.counts.maximum > chosen.counts.initial:
            sentences.append("sized for up to 1.5 times the stated traffic")
        if need.serving is not None and need.serving.output_tokens:
            sentences.append("price per million tokens counts output tokens at the stated traffic")
    sentences += [
        *_by_core(chosen),
        *_without_accelerator(chosen),
        *_expanded(chosen),
        *_decoding(chosen),
        *choices(chosen),
    ]
    if chosen.deal.market == "spot":
        hours = reclaimed_every_h(accelerators=chosen.candidate.shape.accelerators, advisor=chosen.deal.advisor)
        sentences.append(f"a spot machine is reclaimed every {hours:.0f} h on average (estimate)")
        price = chosen.items[0].price
        if getattr(price, "source", "").find("estimate") >= 0:
            sentences.append("the spot price is an estimate, not an observed one")
    sentences += late(chosen)
    sentences += _interrupted(chosen)
    if chosen.careful > 1.0:
        sentences.append(f"compared at {chosen.careful:.2f} times the cost of its machines, as {doubts(chosen)}")
    sentences += scarce(chosen)
    sentences += _endless(chosen)
    if chosen.deal.unknown:
        shape, where = chosen.candidate.shape, chosen.deal.region
        sold = ", ".join(sorted(shape.markets)) if chosen.candidate.provisioned else ""
        only = f", sold {sold}" if sold and chosen.deal.market not in shape.markets else ""
        place = f"; whether {where} has it is not known" if chosen.candidate.provisioned else ""
        why = "it was chosen by its speed, and every cost of it is open"
        if unpriced_lines(chosen.items[:1]):
            sentences.append(f"no price of {shape.instance_type} is known{only}{place}: {why}; {IMPORT}")
        else:  # a cluster's own rate is not the list price of the cloud that it stands in
            why = "chosen by speed and billed at the list price"
            sentences.append(f"what you pay for {shape.instance_type} is not known: {why}; {IMPORT}")
    elif chosen.deal.estimate:
        sentences.append(
            f"the price of {chosen.instance_type} in {chosen.deal.region} is unknown: chosen by an estimate, "
            f"{chosen.deal.estimate}"
        )
    sentences += [f"{note}; {IMPORT}" for note in cheaper_unpriced(chosen)]
    if [line for line in unpriced_lines(chosen.items) if not (chosen.deal.estimate and chosen.instance_type in line)]:
        sentences.append(f"types without a price in {chosen.deal.region} were compared at twice their price elsewhere")
    if chosen.run_s is not None:
        minutes = start_up_s(need.training or need.serving) / 60
        sentences.append(f"{minutes:.0f} minutes to start a machine and load the weights (estimate)")
    if chosen.candidate.provisioned:
        sentences += disks.said(chosen, chosen.disk)
    sentences += through_nat(chosen)
    return tuple(dict.fromkeys(sentences))


def _by_core(chosen: Option) -> list[str]:
    """That a training process has one core of an accelerator and its part of the memory, where that is so."""
    accelerator, fleet = chosen.candidate.accelerator, chosen.fleet
    if fleet.training is None or accelerator.processes_per_device == 1:
        return []
    cores = accelerator.processes_per_device * chosen.candidate.shape.accelerators
    each = f"{fleet.usable_bytes / 2**30:,.0f} GiB each"
    return [f"one process a core: a machine has {cores}, {each}; split and memory are those of cores"]


def _without_accelerator(chosen: Option) -> list[str]:
    """What a service on processors alone rests on: engine, precision, and that nothing watches for idleness."""
    need, shape = chosen.setting.need, chosen.candidate.shape
    if shape.accelerator or need.serving is None:
        return []
    run, kind = job_on(chosen.candidate.accelerator, need.serving, need.engine), need.serving.architecture.kind
    engine = need.engine or engine_for(kind, RUNTIME).name
    sentences = [
        f"no accelerator: {engine} on {chosen.candidate.accelerator.name}, {shape.vcpus} vCPU, weights in {run.weights}"
    ]
    sentences.append(
        "no idle guard: it measures accelerators; replicas follow the requests, and schedule and expiry stop the pool"
    )
    return sentences


def _expanded(chosen: Option) -> list[str]:
    """That weights are stored in a format that the device does not compute in: it saves memory alone."""
    served, accelerator = chosen.setting.need.serving, chosen.candidate.accelerator
    if served is None or not chosen.candidate.shape.accelerator:
        return []
    need = chosen.setting.need
    weights = job_on(accelerator, served, need.engine).weights
    architecture = need.architecture
    engine = need.engine or (engine_for(served_family(architecture), accelerator.runtime).name if architecture else "")
    row = missing(engine, weights, accelerator.family)
    if row is not None and row.only:
        return [f"{engine} has kernels for {weights} weights on {accelerator.name} in {row.only} form alone"]
    if weights not in ("fp8", "fp4", "int8") or accelerator.flop_per_s.get(weights):
        return []
    peak = peak_flop_per_s(accelerator, weights)
    instead = next((name for name in ("fp8", "bf16", "fp16", "fp32") if accelerator.flop_per_s.get(name) == peak), "")
    return [f"{accelerator.name} has no {weights} units: weights are stored in {weights} and computed in {instead}"]


def _decoding(chosen: Option) -> list[str]:
    """How many processors of each machine decode the images of a run, which its accelerators would wait for else."""
    need, fleet, vcpus = chosen.setting.need, chosen.fleet, chosen.candidate.shape.vcpus
    architecture = need.architecture
    per_s = 0.0
    if need.training is not None and fleet.training is not None:
        per_s = need.training.global_batch / fleet.training.step_s
    elif need.batch is not None and fleet.serving is not None:
        per_s = fleet.serving.requests_per_s * fleet.replicas
    if architecture is None or not per_s:
        return []
    from sizewell.sizing.predict.performance.training_rows import input_facts

    busy = per_s * input_facts(architecture, 0.0)["decode_s"] / fleet.nodes
    if busy < 1:
        return []
    limited = fleet.training or fleet.serving
    waits = limited is not None and limited.bottleneck in ("input", "host decoding")
    wait = ", and its accelerators wait for them" if waits else ""
    of = f"of the {vcpus} vCPUs" if vcpus else "vCPUs, whose number is not known,"
    return [f"decoding {per_s:,.0f} images a second takes about {busy:,.0f} {of} of each machine{wait} (estimate)"]


WHY_SCARCE = {
    "spot": "clouds seldom have {machines} left over to sell as spot, so the request may wait for hours or days",
    "on-demand": "clouds seldom have {machines} free at once, so an on-demand request may fail for days",
}


def scarce(chosen: Option) -> list[str]:
    """What people do who need many large machines: no seller hands them out when they are asked for.

    With the quota to ask for.
    """
    shape, market, nodes = chosen.candidate.shape, chosen.deal.market, chosen.fleet.nodes
    if not chosen.scarce:
        return []
    code = shape.quota.get(market, "")
    unit = next((quota.unit for quota in chosen.setting.catalog.quotas if quota.code == code), "")
    amount = nodes * ((shape.vcpus or 0) if unit == "vCPU" else shape.accelerators)
    asked = f"; request a quota of {amount:,} {unit} of {code}" if code and unit and amount else ""
    capacity = CLOUDS[shape.cloud].capacity if shape.cloud in CLOUDS else None
    ends, stays = (capacity.ends, capacity.stays) if capacity else ("", "a reservation")  # a service outlasts `ends`
    lasting = f"{stays} (capacity: {{reservation: ID}})"
    duration = blocks.duration_text(performance(chosen).high) if chosen.run_s is not None else ""
    most = blocks.nodes_max(blocks.MARKET, shape.cloud) or nodes
    sold = "{duration}" not in ends or (duration and nodes <= most)
    ends = ends.format(duration=duration) if sold else ""
    instead = f"{ends}, or {lasting}" if ends and chosen.setting.need.kind != "inference" else lasting
    if nodes > most and chosen.setting.need.training is not None:
        instead += f" (a capacity block has at most {most} machines)"
    block = chosen.setting.need.block_s is not None
    instead = "the block that capacity.block asks for, once its purchase is confirmed" if block else instead
    why = WHY_SCARCE[market].format(machines=f"{nodes} x {shape.instance_type}")
    return [f"scarce: {why} (estimate; no cloud publishes it); what is usual instead: {instead}{asked}"]


def _interrupted(chosen: Option) -> list[str]:
    """How often a run is interrupted that is at all; for training what that costs, and what it rests on."""
    broken = chosen.interruptions
    if broken is None or chosen.run_s is None or broken.expected < 0.1:
        return []
    how_often = f"a run of {short_duration(chosen.run_s)} is interrupted about {broken.expected:.1f} times (estimate"
    if chosen.setting.need.training is None:
        return [f"{how_often})"]
    low, high = LOST_BY_HAND
    spot = " and reclaimed spot machines" if chosen.deal.market == "spot" else ""
    rate = f"one failure in {FAILURE_DEVICE_HOURS:,.0f} accelerator-hours, as Llama 3 had{spot}"
    loss = f"loses {1 - broken.goodput:.1%} of its time: a checkpoint every {short_duration(broken.interval_s)}"
    restart = f"{short_duration(broken.restart_s)} to restart by itself; restarted by hand, {low:.0%} to {high:.0%}"
    return [f"{how_often}: {rate}) and {loss}, {restart} was lost elsewhere"]


def late(chosen: Option) -> list[str]:
    """That a run may end too late: what is predicted ends in time, the upper edge of its band does not."""
    need, speed = chosen.setting.need, performance(chosen)
    if need.deadline_s is None or speed.metric != "run_time_s" or speed.high <= need.deadline_s:
        return []
    longest, allowed = durations_apart(speed.high, need.deadline_s)
    limit = "window" if need.batch is not None else "deadline"
    measure = "measure some steps" if need.training is not None else "measure some records"
    remedy = f"{measure} first, or state a shorter {limit} to have a margin"
    return [f"may end after its {limit}: its 80 % band reaches {longest}, {allowed} are allowed; {remedy}"]


LONG_RUN_S = 30 * 86_400.0  # a month: longer than most teams wait for a run that nobody gave a deadline


def _endless(chosen: Option) -> list[str]:
    """That the cheapest way takes months, where no deadline says how long a run may take."""
    need, run_s = chosen.setting.need, chosen.run_s or 0.0
    if need.training is None or need.deadline_s is not None or need.objective != "cost" or run_s <= LONG_RUN_S:
        return []
    return [
        f"the cheapest way takes {run_s / 86_400:.0f} days (deadline is not stated); deadline: 30d asks for a faster"
    ]


def choices(chosen: Option) -> list[str]:
    """Why it is run, started and read the way it is: a sentence for each choice that the spec left open."""
    need, sentences = chosen.setting.need, list[str]()
    if chosen.candidate.adopted:
        at = f": {chosen.cloud} cannot be provisioned" if chosen.deal.unknown else ", at the project's own rate"
        sentences.append(f"an adopted cluster ({chosen.cloud}){at}; existing machines have no guard")
        return sentences
    title = TITLES.get(chosen.managed, "")
    if need.team.managed == "auto" and title:
        if chosen.managed == "cloud-run":
            sentences.append(
                "Cloud Run: an L4 that is billed only while it serves requests, without a cluster, costs less here"
            )
        else:
            worth = services.care_usd_per_month(need)
            hours = services.CARE_HOURS_PER_MONTH[need.kind]
            sentences.append(
                f"{title}: no platform engineers, and its premium is less than {worth:,.0f} USD a month for "
                f"{hours} h of operating your own machines (estimate)"
            )
    elif need.team.care_counts:
        sentences.append("own machines: the service's premium would cost more than operating them")
    if chosen.managed in STANDING:
        sentences.append(
            f"{title}: failed machines are replaced; machines are billed from creation until the stack is destroyed"
        )
    if chosen.served == "async":
        sentences.append("requests are rare and may wait until a machine has started")
    started = orchestration.reason(
        need,
        cloud=chosen.cloud,
        managed=chosen.managed,
        scheduler=chosen.scheduler,
        nodes_max=chosen.counts.maximum,
        accelerated=bool(chosen.candidate.shape.accelerator),
    )
    sentences += [started] if started else []
    reads = chosen.reads
    if reads is not None:
        rate, limit = reads.bytes_per_s / reads.nodes / 1e6, OBJECT_BYTES_PER_S_PER_NODE / 1e6
        kept = "object storage is fast enough" if reads.streams else "more than object storage is assumed to deliver"
        if not reads.streams and chosen.storage is None:
            kept = (
                "object storage may be too slow for its accelerators: no file system is provisioned with these machines"
            )
        sentences.append(f"reads {rate:,.0f} MB/s a machine, {kept} ({limit:,.0f} MB/s, estimate)")
    if usd := leaving_usd(chosen):
        per = "a month" if need.batch is not None else "a run"
        sentences.append(
            f"its data leaves {need.data_cloud} {need.data_region}".rstrip()
            + f": about {usd:,.2f} USD {per}, billed to that account and not included here"
        )
    if chosen.provision == "fleet":
        sentences.append("spot machines come from a fleet: several types in two zones, working independently")
    return sentences
