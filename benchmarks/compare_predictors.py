"""Other predictors on the same published cases: accuracy and time per prediction, Sizewell beside each.

    python -m benchmarks.compare_predictors --llm-analysis CHECKOUT --calculon CHECKOUT

CHECKOUT is a working copy of github.com/cli99/llm-analysis or github.com/calculon-ai/calculon; the variables
SIZEWELL_LLM_ANALYSIS and SIZEWELL_CALCULON do as well. Neither is part of this project. Each is asked for what it can
describe: dense language models, 16 bits, all weights trained, on parts it knows, without context parallelism. It gets
the layout that Sizewell timed, stated or completed, and the fractions of peak that it recommends.

With --left-out FILE, as `sizewell validate --left-out --json FILE` writes it, Sizewell's error with the source of each
case left out of its fit stands beside the fitted one.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from sizewell.accuracy import cases as published
from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import CannotPredictError
from sizewell.accuracy.memory_predictions import counted_bytes, unit_bytes
from sizewell.accuracy.training_cases import training_case
from sizewell.accuracy.training_runs import METRICS, in_unit, layout_of, training_run
from sizewell.sizing.catalog.records import Architecture
from sizewell.sizing.predict.architecture import params_total
from sizewell.sizing.predict.memory import training_memory
from sizewell.sizing.predict.performance.training import training_time
from sizewell.sizing.records.jobs import Cluster, Layout, TrainingJob

Answer = tuple[float, float]  # (seconds of a step, peak bytes of a device)
Predictor = Callable[[TrainingJob, Layout, Cluster], Answer]
UNUSED = ("fire", "pandas", "psutil")  # what the others import for their command lines and sweeps alone
GIB = 2**30


class NotDescribedError(Exception):
    """The predictor has no words for the case."""


@dataclass
class Tally:
    """Absolute percentage errors of one predictor and of Sizewell on the cases that it answers."""

    theirs: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    their_s: list[float] = field(default_factory=list)
    our_s: list[float] = field(default_factory=list)
    left_out: list[float] = field(default_factory=list)  # ours again, without the case's source
    declined: int = 0


def main(argv: list[str] | None = None) -> bool:
    """Print a table per predictor; False, as another's error is no limit of ours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llm-analysis", default=os.environ.get("SIZEWELL_LLM_ANALYSIS"), metavar="CHECKOUT")
    parser.add_argument("--calculon", default=os.environ.get("SIZEWELL_CALCULON"), metavar="CHECKOUT")
    parser.add_argument("--left-out", metavar="FILE", help="rows of `sizewell validate --left-out --json`")
    arguments = parser.parse_args([] if argv is None else argv)
    unseen = left_out_errors(arguments.left_out)
    wanted = (("llm-analysis", arguments.llm_analysis, llm_analysis), ("calculon", arguments.calculon, calculon))
    for name, path, loaded in wanted:
        if not path:
            print(
                f"   {name}: not run; give its checkout with --{name} or {'SIZEWELL_' + name.upper().replace('-', '_')}"
            )
            continue
        predictor = loaded(Path(path))
        for what, tally in (
            ("training time", times(predictor, unseen)),
            ("training memory", memories(predictor, unseen)),
        ):
            report(name, what, tally)
    return False


def left_out_errors(path: str | None) -> dict[str, float]:
    """Absolute percentage error by case, of the rows that `sizewell validate --left-out --json` wrote; {} for none."""
    if path is None:
        return {}
    rows = json.loads(Path(path).read_text(encoding="utf-8"))
    return {row["id"]: abs(row["error_pct"]) for row in rows if row["error_pct"] is not None}


def report(name: str, what: str, tally: Tally) -> None:
    """One line: cases answered, median errors of both, time per prediction of both."""
    if not tally.theirs:
        print(f"   {name}, {what}: answers none of {tally.declined} cases")
        return
    median = statistics.median
    beside = f", its source left out {median(tally.left_out):.1f} %" if tally.left_out else ""
    print(
        f"   {name}, {what}: {len(tally.theirs)} cases answered, {tally.declined} not described; median error "
        f"{median(tally.theirs):.1f} % (Sizewell fitted {median(tally.ours):.1f} %{beside}); per prediction "
        f"{1e3 * median(tally.their_s):.2f} ms (Sizewell {1e3 * median(tally.our_s):.2f} ms)"
    )


def times(predictor: Predictor, unseen: Mapping[str, float]) -> Tally:
    """Training time: every graded case whose job the predictor can describe, in the published unit."""
    tally = Tally()
    for case in published.read([]):
        if not (case.gradeable and case.metric in METRICS and case.kind in ("pretrain", "finetune_full")):
            continue
        try:
            run = training_run(case)
            layout = layout_of(run)
            started = time.perf_counter()
            theirs = predictor(run.job, layout, run.cluster)[0]
            between = time.perf_counter()
            ours = training_time(run.job, layout, run.cluster).step_s
            done = time.perf_counter()
            figures = [in_unit(run, layout, seconds) for seconds in (theirs, ours)]
        except (NotDescribedError, CannotPredictError):
            tally.declined += 1
            continue
        _add(tally, case, figures, (between - started, done - between), unseen)
    return tally


def memories(predictor: Predictor, unseen: Mapping[str, float]) -> Tally:
    """Training memory: every graded peak of pre-training and full fine-tuning."""
    tally = Tally()
    for case in published.read([]):
        if not (case.gradeable and case.metric == "peak_memory_per_device" and case.kind in ("train", "finetune_full")):
            continue
        described = training_case(case)
        device, layout = described.accelerator, described.layout
        if layout is None:
            tally.declined += 1
            continue
        cluster = Cluster(accelerator=device, per_node=min(8, layout.devices), nodes=math.ceil(layout.devices / 8))
        try:
            started = time.perf_counter()
            theirs = predictor(described.job, layout, cluster)[1]
            between = time.perf_counter()
            ours = counted_bytes(training_memory(described.job, layout, device), described.measure)
            done = time.perf_counter()
        except NotDescribedError:
            tally.declined += 1
            continue
        figures = [size / unit_bytes(case) for size in (theirs, ours)]
        _add(tally, case, figures, (between - started, done - between), unseen)
    return tally


def _add(
    tally: Tally, case: Case, figures: list[float], seconds: tuple[float, float], unseen: Mapping[str, float]
) -> None:
    if unseen and case.id not in unseen:
        return  # all medians are over the same cases
    tally.theirs.append(100 * abs(figures[0] / case.value - 1))
    tally.ours.append(100 * abs(figures[1] / case.value - 1))
    tally.their_s.append(seconds[0])
    tally.our_s.append(seconds[1])
    if unseen:
        tally.left_out.append(unseen[case.id])


def _describable(job: TrainingJob, layout: Layout) -> None:
    a = job.architecture
    if a.kind != "decoder" or a.experts or not a.layers:
        raise NotDescribedError("dense language models only")
    if job.precision not in ("bf16", "fp16") or job.method not in ("pretrain", "full"):
        raise NotDescribedError("16 bits, all weights trained")
    if layout.context > 1 or a.layers % layout.pipeline:
        raise NotDescribedError("no context parallelism, stages of equal length")


def _import(path: Path, package: str) -> ModuleType:
    for name in UNUSED:
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            sys.modules[name] = ModuleType(name)
    sys.path.insert(0, str(path))
    return importlib.import_module(package)


def llm_analysis(path: Path) -> Predictor:
    """The predictor of a checkout of llm-analysis, at half of the peak, which its constants call Megatron-LM's."""
    analysis = _import(path, "llm_analysis.analysis")
    config = importlib.import_module("llm_analysis.config")
    logging.getLogger("__name__").setLevel(logging.ERROR)
    gpus = {
        "a100-40gb-sxm": "a100-sxm-40gb",
        "a100-80gb-sxm": "a100-sxm-80gb",
        "h100-sxm": "h100-sxm-80gb",
        "v100-16gb": "v100-sxm-16gb",
        "v100-32gb": "v100-sxm-32gb",
    }
    recompute = analysis.ActivationRecomputation
    modes = {"none": recompute.NONE, "selective": recompute.ATTN_COMPUTE, "full": recompute.FULL}

    def predict(job: TrainingJob, layout: Layout, cluster: Cluster) -> Answer:
        _describable(job, layout)
        a = job.architecture
        if cluster.accelerator.key not in gpus:
            raise NotDescribedError("no such part")
        shard = layout.shard_group or layout.data
        sharded = layout.data if layout.zero_stage < 3 else min(shard, layout.data)
        model = analysis.LLMAnalysis(
            config.ModelConfig(
                name=a.key, num_layers=a.layers, n_head=a.heads, hidden_dim=a.hidden, vocab_size=a.vocab,
                max_seq_len=job.sequence_length, num_key_value_heads=a.kv_heads or a.heads, ffn_embed_dim=a.ffn,
                mlp_gated_linear_units=a.gated,
            ),
            config.get_gpu_config_by_name(gpus[cluster.accelerator.key]),
            config.DtypeConfig(),
            config.ParallelismConfig(
                tp_size=layout.tensor, pp_size=layout.pipeline, dp_size=sharded, rdp_size=layout.data // sharded,
                sp_size=layout.tensor if layout.sequence_parallel else 1,
            ),
            flops_efficiency=0.5,
        )  # fmt: skip
        try:
            found = model.training(
                batch_size_per_gpu=layout.micro_batch, global_batch_size=job.global_batch, seq_len=job.sequence_length,
                activation_recomputation=modes[job.checkpointing or layout.checkpointing],
                ds_zero=analysis.DSZeRO(layout.zero_stage), flash_attn=job.attention == "flash",
            )  # fmt: skip
        except (AssertionError, ValueError, StopIteration) as error:
            raise NotDescribedError(str(error)) from error
        return float(found["latency_per_iter"]), float(found["estimated_peak_memory_per_gpu"])

    return predict


def calculon(path: Path) -> Predictor:
    """The predictor of a checkout of calculon, with its own descriptions of systems; memory is made to suffice.

    It knows two matrices in a feed-forward block and equal numbers of query and key heads, so blocks are given the
    width that makes their parameters, and a system larger memory than it has, as the runs were real.
    """
    package = _import(path, "calculon")
    llm = importlib.import_module("calculon.llm.llm").Llm
    logger = logging.getLogger("calculon-silenced")
    files = {"a100-80gb-sxm": "a100_80g.json", "a100-40gb-sxm": "a100_80g.json", "h100-sxm": "h100_80g_nvl8.json"}
    systems: dict[str, Any] = {}
    for key, name in files.items():
        text = json.loads((path / "systems" / name).read_text(encoding="utf-8"))
        text["mem1"]["GiB"] *= 1000
        for network in text["networks"]:
            network["must_be_filled"] = False
        systems[key] = package.System(text)
    modes = {"none": "none", "selective": "attn_only", "full": "full"}

    def predict(job: TrainingJob, layout: Layout, cluster: Cluster) -> Answer:
        _describable(job, layout)
        a = job.architecture
        if cluster.accelerator.key not in systems:
            raise NotDescribedError("no such part")
        inside = layout.tensor * layout.pipeline <= 8
        execution = dict.fromkeys(llm.Execution.fields(), False)
        execution |= {
            "num_procs": layout.devices, "tensor_par": layout.tensor, "pipeline_par": layout.pipeline,
            "data_par": layout.data, "tensor_par_net": 0, "pipeline_par_net": 0 if inside else 1,
            "data_par_net": 0 if layout.devices <= 8 else 1, "batch_size": job.global_batch,
            "microbatch_size": layout.micro_batch, "datatype": "float16", "fused_activation": True,
            "attention_type": "multihead", "activation_recompute": modes[job.checkpointing or layout.checkpointing],
            "pipeline_interleaving": layout.virtual_pipeline,
            "optimizer_sharding": layout.zero_stage > 0 and layout.data > 1,
            "tensor_par_comm_type": "rs_ag" if layout.sequence_parallel else "ar", "tensor_par_overlap": "none",
            "data_par_overlap": layout.data > 1, "training": True,
        }  # fmt: skip
        try:
            model = llm(llm.Application(_application(a, job.sequence_length)), logger)
            system = systems[cluster.accelerator.key]
            model.compile(system, llm.Execution.from_json(execution))
            model.run(system)
            return float(model.get_total_time()), float(model.get_mem_tier1_cap_req())
        except (llm.Error, AssertionError, ZeroDivisionError) as error:
            raise NotDescribedError(str(error)) from error

    return predict


def _application(a: Architecture, seq: int) -> dict[str, int]:
    """Two matrices in place of three, and of the width that makes up for narrower keys and values."""
    rest = params_total(a) - a.vocab * a.hidden * (1 if a.tied_embeddings else 2)
    attention = 4 * a.hidden * a.heads * a.head_dim
    width = (rest / a.layers - attention) / (2 * a.hidden)
    feedforward = max(a.hidden, round(width / 1024) * 1024)
    return {
        "hidden": a.hidden, "feedforward": feedforward, "seq_size": seq, "attn_heads": a.heads,
        "attn_size": a.head_dim, "num_blocks": a.layers,
    }  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
