"""Other predictors of serving on the same published cases: time per token and speed of batches, Sizewell beside each.

    python -m benchmarks.compare_serving --llm-viewer CHECKOUT --aiconfigurator PYTHON

CHECKOUT is a working copy of github.com/hahnyuan/LLM-Viewer, PYTHON the interpreter of an environment in which
aiconfigurator is installed; the variables SIZEWELL_LLM_VIEWER and SIZEWELL_AICONFIGURATOR do as well. Neither is part
of this project. Each is asked for the language models whose source says split and load, as far as it can describe them:
LLM-Viewer through a description of its own form (one device's shard of the matrices), on parts that it lists and, with
the data sheets that Sizewell reads, on those that it does not; aiconfigurator through a config.json.

With --left-out FILE, as `sizewell validate --left-out --no-engine --json FILE` writes it, Sizewell's error with the
source of each case left out of its fit stands beside the fitted one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from benchmarks.compare_predictors import left_out_errors
from sizewell.accuracy import cases as published
from sizewell.accuracy.asked import as_asked
from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import CannotPredictError
from sizewell.accuracy.memory_predictions import Prediction
from sizewell.accuracy.predict import SERVING, predict
from sizewell.accuracy.serving_predictions import StatedRun, stated_run
from sizewell.sizing.catalog.records import Accelerator, Architecture
from sizewell.sizing.predict.performance.serving_replica import BYTES

Latencies = tuple[float, float]  # seconds to the first token, and for each one behind it
Answers = Callable[[Sequence[tuple[Case, StatedRun]]], Sequence[Latencies | None]]

GROUPS = {
    "tpot_ms": "time per output token",
    "output_tokens_per_sec_per_device": "speed of one batch",
    "decode_tokens_per_sec_batch1": "speed of one request",
    "prefill_tokens_per_sec": "speed of reading a prompt",
    "e2e_latency_ms": "latency of one batch",
    "ttft_ms": "time to first token",
}
# Models as aiconfigurator names them, which carries their configurations: by 16 bits, and where another is in 8. Others
# are given to it as a config.json of the form of Llama's or Mixtral's.
MODELS: dict[str, tuple[str, str]] = {
    "Llama-3-70B": ("meta-llama/Meta-Llama-3.1-70B", ""),
    "Llama-3.1-8B": ("meta-llama/Meta-Llama-3.1-8B", ""),
    "Llama-3.1-70B": ("meta-llama/Meta-Llama-3.1-70B", ""),
    "Llama-3.3-70B": ("meta-llama/Meta-Llama-3.1-70B", ""),
    "Llama-3.1-405B": ("meta-llama/Meta-Llama-3.1-405B", ""),
    "Qwen3-32B": ("Qwen/Qwen3-32B", ""),
    "Qwen3-30B-A3B": ("Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-FP8"),
    "Qwen3-235B-A22B": ("Qwen/Qwen3-235B-A22B", "Qwen/Qwen3-235B-A22B-FP8"),
    "DeepSeek-V3": ("deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3"),
    "DeepSeek-R1": ("deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
    "gpt-oss-120b": ("openai/gpt-oss-120b", "openai/gpt-oss-120b"),
}
SYSTEMS = {
    "a100-80gb-sxm": "a100_sxm", "h100-sxm": "h100_sxm", "h200-sxm": "h200_sxm", "b200": "b200_sxm", "b300": "b300_sxm",
    "gb200": "gb200", "gb300": "gb300", "l40s": "l40s", "l4": "l4", "a30": "a30", "a100-80gb-pcie": "a100_pcie",
    "h100-pcie": "h100_pcie", "rtx-pro-6000-bse": "rtx_pro_6000_server",
}  # fmt: skip
H100_BUFFER = 33792e3  # bytes of registers and caches on the chip, as LLM-Viewer counts them
BACKENDS = {"tensorrt-llm": "trtllm", "sglang": "sglang", "vllm": "vllm"}
# What the interpreter with aiconfigurator runs: questions as JSON on standard input, answers on the last line. Modes of
# its data are tried in the order of its own trust in them: measured, then measured and scaled.
DRIVER = """
import json, sys
from aiconfigurator.cli.api import cli_estimate
answers = []
for question in json.load(sys.stdin):
    answer = None
    for mode in ("SILICON", "HYBRID"):
        try:
            found = cli_estimate(**question, database_mode=mode)
            answer = [found.ttft / 1e3, found.tpot / 1e3]
            break
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
    answers.append(answer)
print(json.dumps(answers))
"""


def main(argv: list[str] | None = None) -> bool:
    """Print a line per predictor and kind of figure; False, as another's error is no limit of ours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llm-viewer", default=os.environ.get("SIZEWELL_LLM_VIEWER"), metavar="CHECKOUT")
    parser.add_argument("--aiconfigurator", default=os.environ.get("SIZEWELL_AICONFIGURATOR"), metavar="PYTHON")
    parser.add_argument("--left-out", metavar="FILE", help="rows of `sizewell validate --left-out --no-engine --json`")
    arguments = parser.parse_args([] if argv is None else argv)
    unseen = left_out_errors(arguments.left_out)
    wanted = (
        ("llm-viewer", arguments.llm_viewer, llm_viewer),
        ("aiconfigurator", arguments.aiconfigurator, aiconfigurator),
    )
    runs = stated()
    for name, path, loaded in wanted:
        if path:
            report(name, runs, loaded(path)(runs), unseen)
        else:
            print(f"   {name}: not run; give --{name} or SIZEWELL_{name.upper().replace('-', '_')}")
    return False


def stated() -> list[tuple[Case, StatedRun]]:
    """The graded cases of language models that say how they are split and loaded."""
    runs = []
    for case in published.read([]):
        if case.gradeable and case.kind in SERVING and case.metric in GROUPS:
            with contextlib.suppress(CannotPredictError):
                runs.append((case, stated_run(case)))
    return runs


def report(
    name: str,
    runs: Sequence[tuple[Case, StatedRun]],
    answers: Sequence[Latencies | None],
    unseen: Mapping[str, float],
) -> None:
    """A line per kind of figure: cases answered, median errors of both; Sizewell's with its engine unnamed."""
    for metric, what in GROUPS.items():
        asked = [
            (case, figure(case, run, answer))
            for (case, run), answer in zip(runs, answers, strict=True)
            if case.metric == metric
        ]
        theirs, fitted, left_out = [], [], []
        for case, value in asked:
            ours = predict(as_asked(case)) if value is not None else None
            if value is None or not isinstance(ours, Prediction) or (unseen and case.id not in unseen):
                continue  # all medians are over the same cases
            theirs.append(100 * abs(value / case.value - 1))
            fitted.append(100 * abs(ours.value / case.value - 1))
            left_out.append(unseen.get(case.id, 0.0))
        if theirs:
            beside = f", its source left out {statistics.median(left_out):.1f} %" if unseen else ""
            print(
                f"   {name}, {what}: {len(theirs)} of {len(asked)} cases answered; median error "
                f"{statistics.median(theirs):.1f} % (Sizewell fitted {statistics.median(fitted):.1f} %{beside})"
            )
        elif asked:
            print(f"   {name}, {what}: answers none of {len(asked)} cases")


def figure(case: Case, run: StatedRun, answer: Latencies | None) -> float | None:
    """The published kind of figure, from times to the first token and for each one behind it."""
    if answer is None:
        return None
    ttft, tpot = answer
    whole = ttft + max(0.0, run.job.output_tokens - 1) * tpot
    figures = {
        "tpot_ms": tpot * 1e3,
        "ttft_ms": ttft * 1e3,
        "e2e_latency_ms": whole * 1e3,
        "decode_tokens_per_sec_batch1": 1 / tpot if tpot else 0.0,
        "prefill_tokens_per_sec": run.job.input_tokens / ttft if ttft else 0.0,
        "output_tokens_per_sec_per_device": run.batch * run.job.output_tokens / whole / (run.tensor * run.pipeline),
    }
    return figures[case.metric] or None


def llm_viewer(path: str) -> Answers:
    """The predictor of a checkout of LLM-Viewer: a roofline of one device, for dense models of equal layers.

    It knows no groups of devices, and describes models by functions: it is given those of one device's shard, and so
    times a group without what its devices tell each other. A part that it does not list enters its table with the
    figures of the data sheet, as its own rows have. Of its two forms of attention it gets the fused one, which the
    engines run and which brings it nearer to them.
    """
    stand_in = ModuleType("transformers")  # read for names of models alone, which are given as dimensions here
    for name in ("AutoTokenizer", "AutoConfig", "AutoModelForCausalLM"):
        setattr(stand_in, name, SimpleNamespace(from_pretrained=lambda *_args, **_kwargs: None))
    sys.modules.setdefault("transformers", stand_in)
    sys.path.insert(0, str(Path(path)))
    analyzer = importlib.import_module("model_analyzer").ModelAnalyzer
    parts = importlib.import_module("hardwares.hardware_params").hardware_params
    llama = importlib.import_module("configs.Llama")

    def ask(run: StatedRun) -> Latencies | None:
        a, device = run.job.architecture, run.cluster.accelerator
        if a.experts or a.kind != "decoder" or not a.heads:
            return None
        part = LISTED_PARTS.get(device.key, device.key)
        if part not in parts:
            parts[part] = _part(device)
        with contextlib.redirect_stdout(io.StringIO()):
            model = analyzer(a.key, part, config_file="configs/Llama.py")
        model.model_params, model.config = SimpleNamespace(), _shard(a, run.tensor, llama)
        bits, cache = 8 * BYTES.get(run.job.weights, 2.0), 8 if run.job.kv == "fp8" else 16
        narrow = 8 if run.job.weights in ("fp8", "int8") else 16
        stages = {"w_bit": bits, "a_bit": narrow, "kv_bit": min(cache, narrow) if narrow == 8 else cache}
        prompt, context = run.job.input_tokens, run.job.input_tokens + run.job.output_tokens / 2
        seconds = [
            model.analyze(seqlen=max(1, int(tokens)), batchsize=int(run.batch), use_flashattention=True, **stages)[
                "total_results"
            ][stage]["inference_time"]
            for tokens, stage in ((prompt, "prefill"), (context, "decode"))
        ]
        return seconds[0], seconds[1]

    return lambda runs: [ask(run) for _, run in runs]


LISTED_PARTS = {
    "a100-40gb-sxm": "nvidia_A100_40G", "a100-80gb-sxm": "nvidia_A100_80G", "a100-80gb-pcie": "nvidia_A100_80G",
    "h100-sxm": "nvidia_H100_SXM", "h100-pcie": "nvidia_H100_PCIe", "rtx-a6000": "nvidia_A6000", "a40": "nvidia_A40",
    "l40": "nvidia_L40", "v100-16gb": "nvidia_V100", "v100-32gb": "nvidia_V100",
}  # fmt: skip


def _part(device: Accelerator) -> dict[str, float]:
    """A row of LLM-Viewer's table: bytes/s, operations/s at 16 and at 8 bits, and an H100's buffer as a stand-in."""
    wide = max(device.flop_per_s.get(name, 0.0) for name in ("bf16", "fp16", "fp32"))
    narrow = max(device.flop_per_s.get(name, wide) for name in ("fp8", "int8"))
    return {"bandwidth": device.memory_bytes_per_s, "FP16": wide, "INT8": narrow, "onchip_buffer": H100_BUFFER}


def _shard(a: Architecture, tensor: int, llama: ModuleType) -> SimpleNamespace:
    """One device's share of `tensor`: its analyzer takes the width for that of all heads, so that is what is given."""
    queries, keys = a.heads * a.head_dim / tensor, max(1.0, (a.kv_heads or a.heads) / tensor) * a.head_dim
    matrices = {
        "q_proj": [a.hidden, queries], "k_proj": [a.hidden, keys], "v_proj": [a.hidden, keys],
        "out_proj": [queries, a.hidden], "up_proj": [a.hidden, a.ffn / tensor], "down_proj": [a.ffn / tensor, a.hidden],
    }  # fmt: skip
    if a.gated:
        matrices["gate_proj"] = matrices["up_proj"]
    vocabulary = SimpleNamespace(hidden_size=a.hidden, vocab_size=a.vocab / tensor)
    return SimpleNamespace(
        get_num_attention_heads=lambda _: a.heads / tensor,
        get_num_key_value_heads=lambda _: keys / a.head_dim,
        get_hidden_size=lambda _: queries,
        get_num_hidden_layers=lambda _: a.layers,
        get_norm_layers=llama.get_norm_layers,
        get_linear_layers=lambda _: matrices,
        post_process=lambda _, arguments: llama.post_process(vocabulary, arguments),
    )


def aiconfigurator(python: str) -> Answers:
    """The predictor that another interpreter has: interpolates what was measured of kernels, engine by engine."""

    def question(case: Case, run: StatedRun, folder: Path) -> dict[str, Any] | None:
        job, device = run.job, run.cluster.accelerator.key
        wide, narrow = MODELS.get(str(case.model.get("name"))) or (_described(job.architecture, folder), "")
        if not wide or device not in SYSTEMS or job.engine not in BACKENDS:
            return None
        asked: dict[str, Any] = {
            "model_path": narrow if narrow and job.weights in ("fp8", "fp4") else wide, "system_name": SYSTEMS[device],
            "backend_name": BACKENDS[job.engine], "isl": int(job.input_tokens), "osl": max(2, int(job.output_tokens)),
            "batch_size": max(1, round(run.batch)), "tp_size": run.tensor, "pp_size": run.pipeline,
            "mode": "static" if run.fixed else "agg",
        }  # fmt: skip
        if job.architecture.experts:
            ranks = int(case.parallelism.get("moe_ep") or 1)
            asked |= {"moe_ep_size": ranks, "moe_tp_size": max(1, run.tensor // ranks)}
        if job.kv == "fp8":
            asked["kvcache_quant_mode"] = "fp8"
        if job.weights == "fp8" and not narrow:
            asked["gemm_quant_mode"] = "fp8"
        if job.weights in ("int8", "int4"):
            asked["gemm_quant_mode"] = f"{job.weights}_wo"
        if job.weights == "fp4" and "gpt-oss" not in wide:
            asked |= {"gemm_quant_mode": "nvfp4", **({"moe_quant_mode": "nvfp4"} if job.architecture.experts else {})}
        return asked

    def answers(runs: Sequence[tuple[Case, StatedRun]]) -> Sequence[Latencies | None]:
        with tempfile.TemporaryDirectory() as folder:
            questions = [question(case, run, Path(folder)) for case, run in runs]
            told = subprocess.run(
                [python, "-c", DRIVER],
                input=json.dumps([asked for asked in questions if asked]),
                capture_output=True,
                text=True,
                check=True,
            )
        ready = iter(json.loads(told.stdout.strip().splitlines()[-1]))
        given = [next(ready) if asked else None for asked in questions]
        return [(answer[0], answer[1]) if answer else None for answer in given]

    return answers


def _described(a: Architecture, folder: Path) -> str:
    """A folder with a config.json of the form of Llama's or Mixtral's, which aiconfigurator reads; "" for others."""
    if a.kind != "decoder" or not a.gated or a.kv_lora_rank or a.shared_experts:
        return ""
    own = folder / a.key.replace("/", "--")
    own.mkdir(exist_ok=True)
    document: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": a.hidden, "head_dim": a.head_dim,
        "num_hidden_layers": a.layers, "num_attention_heads": a.heads, "num_key_value_heads": a.kv_heads or a.heads,
        "intermediate_size": a.ffn, "vocab_size": a.vocab, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
    }  # fmt: skip
    if a.experts:
        document |= {
            "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": a.experts,
            "num_experts_per_tok": a.experts_per_token, "intermediate_size": a.expert_ffn or a.ffn,
        }  # fmt: skip
    (own / "config.json").write_text(json.dumps(document), encoding="utf-8")
    return str(own)


if __name__ == "__main__":
    main(sys.argv[1:])
