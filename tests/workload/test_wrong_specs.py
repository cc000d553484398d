"""Wrong specs, one row each: what the message must say. Each is also sent through the command: exit 64, nothing
written."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import pytest

from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec, read_spec

INFERENCE = """
name: chat
kind: inference
model: meta-llama/Llama-3.1-8B
traffic: {rps: 4, input_tokens: 1500, output_tokens: 300}
"""
TRAINING = """
name: run
kind: training
model: {params: 8B}
training: {tokens: 55B, sequence_length: 8192, global_batch: 4M}
"""
TUNING = """
name: tune
kind: fine-tuning
model: meta-llama/Llama-3.1-8B
training: {samples: 50k, epochs: 2, sequence_length: 4096}
"""
BATCH = """
name: nightly
kind: batch-inference
model: meta-llama/Llama-3.1-8B
batch: {records: 50M, tokens_per_record: 400, window: 8h}
"""


def having(base: str, **changes: str | None) -> str:
    """A right spec with keys set, or with None removed; the values are YAML."""
    lines = [line for line in base.strip().splitlines() if line.split(":")[0] not in changes]
    return "\n".join([*lines, *(f"{key}: {value}" for key, value in changes.items() if value is not None)]) + "\n"


# (what is wrong, the spec, what the message must contain: path, value, what is allowed, the way out)
WRONG: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    # the file
    "empty file": ("", ("is empty", "`sizewell new chat` writes a first one")),
    "only a comment": ("# nothing here\n", ("is empty",)),
    "a list": ("- name: chat\n", ("must be a mapping", "a list")),
    "a word": ("chat\n", ("must be a mapping", "'chat'")),
    "several documents": (INFERENCE + "---\n" + TRAINING, ("several documents", "one spec a file")),
    "not UTF-8": (b"name: caf\xe9\n", ("not UTF-8", "0xe9", "save it as UTF-8")),
    "a NUL byte": (b"name: a\x00b\n", ("not valid YAML",)),
    "a merge conflict": (f"<<<<<<< HEAD\n{INFERENCE}=======\n", ("spec.yaml:1:1: has a merge conflict", "keep one side")),
    "a tab": ("name: chat\ntraffic:\n\trps: 4\n", ("spec.yaml:3:1", "tab", "indent with spaces")),
    "broken YAML": ("name: [chat\nkind: inference\n", ("spec.yaml:2:5", "not valid YAML")),
    "duplicate key": (INFERENCE + "name: other\n", ("spec.yaml:6:1", "'name' is stated twice", "first in line 2", "keep one")),
    "duplicate nested key": (having(INFERENCE, traffic="{rps: 4, rps: 5}"), ("'rps' is stated twice",)),
    "a comma in a number in braces": (
        having(INFERENCE, traffic="{concurrent_users: 10,000, input_tokens: 1500, output_tokens: 300}"),
        ("spec.yaml:4:29", "concurrent_users: 10,000 is not one number in braces", "write 10000"),
    ),
    "commas in a number in braces": (
        having(BATCH, batch="{records: 1,000,000, tokens_per_record: 400, window: 8h}"),
        ("records: 1,000,000 is not one number", "write 1000000"),
    ),
    "a decimal comma in braces": (having(INFERENCE, idle="{window: 1,5h}"), ("window: 1,5h is not", "write 1.5h")),
    "a decimal comma": (having(INFERENCE, idle="\n  window: 1,5h"), ("idle.window", "write 1.5h")),
    "a comma in an amount": (having(INFERENCE, budget="{monthly: 10,000 USD}"), ("write 10000 USD",)),
    "a comma in an amount, no currency": (having(INFERENCE, budget="{monthly: $1,200}"), ("write 1200 USD",)),
    "a key without a value": (having(INFERENCE, slo=""), ("spec.yaml:5:5", "slo: has no value", "remove it")),
    "an unknown key that is null": (having(INFERENCE, budjet="null"), ("unknown key 'budjet'", "did you mean 'budget'?")),
    "an unknown key without a value": (having(INFERENCE, slos=""), ("unknown key 'slos'", "did you mean 'slo'?")),
    "a word in braces": (having(INFERENCE, traffic="{rps: 1, foo, input_tokens: 1, output_tokens: 1}"), ("unknown key 'foo'",)),
    "a number that is missing": (having(INFERENCE, resources="{accelerators: {H100: }}"), ("accelerators.H100: has no value",)),
    "alias bomb": (
        "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join((f"{new}: &{new} " f"[{','.join([f'*{old}'] * 10)}]\n") for old, new in zip("abcdefgh", "bcdefghi", strict=True)),
        ("10,000 values once aliases are expanded", "instead of anchors"),
    ),
    "alias inside its anchor": ("name: &n [*n]\n", ("inside its own anchor",)),
    "merge key": ("x: &x {rps: 4}\ntraffic: {<<: *x}\n", ("merge keys", "write the values out")),
    "a tag that builds an object": ("name: !!python/object:os.system x\n", ("tag", "not allowed")),
    "nested without end": ("a: " + "[" * 5000, ("nested more than 20 deep",)),
    "a key that is a list": ("[a, b]: 1\n", ("a key must be a word",)),
    "more than 1 MB": ("# " + "x" * 1_000_001, ("at most 1,000,000",)),
    # keys
    "no name, kind or model": ("owner: me\n", ("name: is missing", "kind: is missing", "training | fine-tuning")),
    "unknown key": (having(INFERENCE, trafic="{rps: 4}"), ("trafic: unknown key", "did you mean 'traffic'?")),
    "unknown nested key": (
        having(INFERENCE, traffic="{rps: 4, inptu_tokens: 5}"),
        ("traffic.inptu_tokens: unknown key", "input_tokens, output_tokens", "did you mean 'input_tokens'?"),
    ),
    "a key in the wrong place": (having(TRAINING, tokens="55B"), ("tokens: unknown key", "belongs under training")),
    "a key of another tool": (having(INFERENCE, use_spot="true"), ("unknown key 'use_spot'", "spot_policy: auto")),
    "unknown kind": (having(INFERENCE, kind="serving"), (("kind: must be training | " "fine-tuning | " "inference"), "'serving'")),
    "pipelines": (having(INFERENCE, kind="Kubeflow Pipelines"), ("kind: must be training", ("pipelines are not run " "by Sizewell"))),
    "pipelines by their package": (having(INFERENCE, kind="kfp"), ("pipelines are not run by Sizewell",)),
    "searches": (having(INFERENCE, kind="katib"), ("kind: must be training", "a spec for one trial")),
    "updates of devices": (having(INFERENCE, kind="ota-update"), ("not updated by Sizewell", "your device management")),
    "kind misspelt": (having(INFERENCE, kind="inferense"), ("did you mean inference?",)),
    "illegal name": (having(INFERENCE, name="My Chat!"), (("name: must be 1 to " "40 characters a-z"), "'My Chat!'", "write my-chat")),
    "a name that is a number": (having(INFERENCE, name="42"), ("name: must be 1 to 40", "42")),
    "wrong type of a section": (having(INFERENCE, traffic="4"), ("traffic: must be a mapping with rps", "got 4")),
    "a list for a section": (having(INFERENCE, slo="[500ms]"), ("slo: must be a mapping with ttft",)),
    # units
    "no unit": (having(TRAINING, deadline="3"), ("deadline: must be a duration", "got 3", "write 3s, 3m, 3h or 3d")),
    "wrong unit of time": (having(TRAINING, deadline="3 days"), (("deadline: must be a " "duration"), "write 3d")),
    "a size where a time is wanted": (having(TRAINING, deadline="3GB"), ("deadline: must be a duration", "'3GB'")),
    "a size where a count is wanted": (
        having(TRAINING, model="{params: 14GB}"),
        ("model.params: must be a count", "'14GB'", "measures bytes"),
    ),
    "a bare size": (having(TRAINING, data="{size: 12}"), ("data.size: must be a size", "write 12GB")),
    "a size with half a unit": (having(TRAINING, data="{size: 12T}"), ("data.size", "write 12TB")),
    "negative": (having(INFERENCE, traffic="{rps: -4, input_tokens: 5}"), ("traffic.rps: must be", "got -4", "negative")),
    "zero": (having(INFERENCE, traffic="{rps: 0, input_tokens: 5}"), ("traffic.rps: must be more than zero, got 0",)),
    "NaN": (having(INFERENCE, traffic="{rps: .nan, input_tokens: 5}"), ("traffic.rps", "got nan", "finite")),
    "infinite": (having(INFERENCE, traffic="{rps: .inf, input_tokens: 5}"), ("traffic.rps", "got inf", "finite")),
    "a truth value for a count": (having(TRAINING, training="{tokens: true}"), (("training.tokens: must be " "a count"), "True")),
    "money without currency": (having(TRAINING, budget="{per_run: 10000}"), ("budget.per_run", "write 10000 USD")),
    "another currency": (having(TRAINING, budget="{monthly: 900 EUR}"), ("budget.monthly", "prices are in USD", "convert EUR")),
    "a share without its sign": (having(TRAINING, utilization="0.7"), (("utilization: must be a " "percentage"), "write 70%")),
    "over 100 %": (having(TRAINING, utilization="170%"), (("utilization: must be a " "percentage " "from 0% " "to 100%"), "'170%'")),
    "a reversed range": (having(TRAINING, resources="{nodes: 8..1}"), ("resources.nodes", "'8..1'", "write 1..8")),
    "no nodes": (having(TRAINING, resources="{nodes: 0}"), ("resources.nodes: must be a count or a range", "got 0")),
    "half a node": (having(TRAINING, resources="{nodes: 1.5}"), ("resources.nodes", "1.5", "whole number")),
    "a GPU size without unit": (having(TRAINING, resources="{gpu: 80..}"), (("resources.gpu: must " "be a size"), "GB or GiB")),
    # choices
    **{
        f"precision as {written}": (
            having(TRAINING, model=f"{{params: 8B, precision: {written}}}"),
            ("spec.yaml:4:32", "model.precision", "must be bf16", way),
        )
        for written, way in {
            "bf16 (fp32 gradient accumulation)": "fix: write bf16, and training: {gradients: fp32}",
            "16 and 32": "fix: write bf16; gradients and master weights are kept",
            "16": "fix: write bf16",
            "4 bytes": "fix: write fp32",
            "MXFP4": "fix: write fp4",
            "NVFP4": "fix: write fp4",
            "half": "fix: write fp16",
            "AWQ": "leave precision out and write model: {..., weights: int4}",
            "int8": "leave precision out and write model: {..., weights: int8}",
        }.items()
    },
    **{
        f"weights as {written}": (
            having(INFERENCE, model=f"{{params: 8B, weights: {written}}}"),
            ("spec.yaml:4:30", "model.weights", "must be fp32", way),
        )
        for written, way in {
            "MXFP4": "fix: write fp4",
            "Q4_K_M": "fix: write int4",
            "w4a16": "fix: write int4",
            "fp8 (E4M3)": "fix: write fp8",
            "1 byte": "fix: write fp8",
            "2": "fix: write bf16",
        }.items()
    },
    "a size in bytes": (
        having(INFERENCE, data="{location: 's3://b', size: 80000000000}"),
        ("data.size", "got 80000000000", "fix: write 80GB"),
    ),
    "unknown precision": (having(TRAINING, model="{params: 8B, precision: bf61}"), ("model.precision", "did you mean bf16?")),
    "a step of more than all samples": (
        having(TUNING, training="{samples: 100, epochs: 2, sequence_length: 2048, global_batch: 4M}"),
        ("training.global_batch: one step of 4M is more than the whole run of 200 samples of 2048", "counts tokens"),
    ),
    "unknown optimizer": (
        having(TRAINING, training="{tokens: 1B, sequence_length: 512, optimizer: adanw}"),
        ("training.optimizer: must be adamw | adam", "'adanw'", "did you mean adamw?"),
    ),
    ("a percentile nobody " "promises"): (having(INFERENCE, slo="{percentile: p42}"), (("slo.percentile: must be " "p50 | p90"),)),
    "checkpoints that die": (having(TRAINING, checkpoint="{on_destroy: delete}"), (("checkpoint.on_destroy: must " "be retain"),)),
    "unknown time zone": (
        having(INFERENCE, schedule='{on: "Mon-Fri 07:00-21:00 Mars/Phobos"}'),
        ("schedule.on", "'Mars/Phobos' is not a time zone", "IANA"),
    ),
    "a time zone misspelt": (
        having(INFERENCE, schedule='{on: "Mon-Fri 07:00-21:00 Europe/Lodnon"}'),
        ("did you mean Europe/London?",),
    ),
    "no time zone": (having(INFERENCE, schedule='{on: "Mon-Fri 07:00-21:00"}'), ("schedule.on", "IANA time zone")),
    "no such day": (having(INFERENCE, schedule='{on: "Mon-Fry 07:00-21:00 UTC"}'), ("'Fry' is not a day",)),
    "an empty window": (having(INFERENCE, schedule='{on: "Mon 07:00-07:00 UTC"}'), ("07:00-07:00 is empty", "00:00-24:00")),
    "no such minute": (having(INFERENCE, schedule='{on: "Mon 07:00-21:75 UTC"}'), ("'21:75' is not a time of day",)),
    "a place that is none": (having(INFERENCE, infra="[us east]"), ("infra: must be a cloud, or cloud/region",)),
    "a place twice": (having(INFERENCE, infra="[aws, aws]"), ("infra", "remove duplicates")),
    "no places": (having(INFERENCE, infra="[]"), ("infra: must be a list of clouds",)),
    "a location that is none": (having(TRAINING, data="{location: petsnap}"), (("data.location: must " "be a URL"), "'petsnap'")),
    "illegal owner": (having(INFERENCE, owner="ML Platform"), ("owner: must be 1 to 63 of a-z", "write ml-platform")),
    # what a kind needs
    "inference without traffic": (having(INFERENCE, traffic=None), ("traffic: is missing", "kind: inference", "add traffic:")),
    "inference with training": (
        having(INFERENCE, training="{tokens: 1B}"),
        ("training: does not apply to kind: inference", "training, fine-tuning", "change kind"),
    ),
    "training without training": (having(TRAINING, training=None), ("training: is missing", "add training:")),
    "training with an slo": (having(TRAINING, slo="{ttft: 1s}"), (("slo: does not apply " "to kind: " "training"), "'deadline'")),
    "batch without window": (having(BATCH, batch="{records: 5}"), ("batch.window: is missing", "it has only records")),
    "a notebook sized by nothing": ("name: nb\nkind: notebook\n", ("resources: is not enough", "gpu: 24GB..")),
    "a deadline for a service": (having(INFERENCE, deadline="3d"), (("deadline: does not apply " "to kind: " "inference"), "slo")),
    "two rates": (having(INFERENCE, traffic="{rps: 4, requests_per_hour: 9}"), (("traffic: states the " "load as " "rps and"),)),
    "no rate": (having(INFERENCE, traffic="{input_tokens: 4}"), (("traffic: does not say " "how much"), "exactly one of rps")),
    "thinking without users": (
        having(INFERENCE, traffic="{rps: 4, input_tokens: 4, think_time: 5s}"),
        ("traffic.think_time", "concurrent_users"),
    ),
    "no length of the run": (having(TRAINING, training="{sequence_length: 512}"), ("training: does not say how long",)),
    "two lengths of the run": (
        having(TRAINING, training="{sequence_length: 512, tokens: 1B, steps: 500, global_batch: 1M}"),
        ("training: states the length as tokens and steps",),
    ),
    "no sequence length": (having(TRAINING, training="{tokens: 1B}"), ("training.sequence_length: is missing",)),
    # contradictions
    "spot for a service": (having(INFERENCE, spot_policy="spot"), ("spot_policy: spot contradicts", "batch-inference")),
    "a batch of less than one sequence": (
        having(TRAINING, training="{tokens: 1B, sequence_length: 8192, global_batch: 32}"),
        ("training.global_batch: 32 tokens", "8192", "counts tokens", "write 262144"),
    ),
    "a batch larger than the run": (
        having(TRAINING, training="{tokens: 1M, sequence_length: 512, global_batch: 4M}"),
        ("training.global_batch", "4M", "more than the whole run of 1M"),
    ),
    "an adapter for nothing": (
        having(TRAINING, training="{tokens: 1B, sequence_length: 512, method: lora}"),
        ("training.method: lora adapts a trained model", "kind: fine-tuning"),
    ),
    "adapters and full training": (
        having(TUNING, training="{samples: 9, sequence_length: 512, lora: {rank: 8}}"),
        ("training.lora: does not apply to method: full", "method: lora"),
    ),
    "training quantized weights in full": (
        having(TUNING, model="{name: meta-llama/Llama-3.1-8B, weights: int4}"),
        ("model.weights: int4 weights cannot be fully trained", "qlora"),
    ),
    "qlora on 16-bit weights": (
        having(TUNING, model="{name: m, weights: bf16}", training="{samples: 9, sequence_length: 9, method: qlora}"),
        ("model.weights: qlora quantizes", "bf16", "nf4"),
    ),
    "heads that do not divide": (
        having(TRAINING, model="{layers: 32, hidden: 4096, heads: 31}"),
        ("model.heads: 31 heads do not divide hidden 4096",),
    ),
    "KV heads that do not divide": (
        having(TRAINING, model="{layers: 32, hidden: 4096, heads: 32, kv_heads: 5}"),
        ("model.kv_heads: 5 KV heads do not divide 32", "divisor of 32"),
    ),
    "params of a larger model": (
        having(INFERENCE, model="{params: 70B, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256}"),
        ("spec.yaml:4:17: model.params: 70B contradicts the shape beside it: layers 32, ", "give 8.03B", "write 8.03B"),
    ),
    "params of a smaller model": (
        having(INFERENCE, model="{params: 8B, layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocab: 128256}"),
        ("model.params: 8B contradicts the shape", "give 70.6B", "write 70.6B, or correct the shape"),
    ),
    "params that no feed-forward width gives": (
        having(INFERENCE, model="{params: 70B, layers: 32, hidden: 4096}"),
        ("model.params: 70B in layers 32, hidden 4,096 need feed-forward layers 42 times as wide", "active_params or experts"),
    ),
    "params below a shape without a width": (
        having(INFERENCE, model="{params: 8B, layers: 80, hidden: 8192}"),
        ("model.params: 8B contradicts the shape", "correct the shape"),
    ),
    "active params of another mixture": (
        having(
            INFERENCE,
            model="{params: 47B, active_params: 40B, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, vocab: 32000, "
            "experts: 8, experts_per_token: 2, expert_ffn: 14336}",
        ),
        ("model.active_params: 40B contradicts the shape", "give 12.9B"),
    ),
    "experts without their width": (
        having(INFERENCE, model="{params: 47B, layers: 32, hidden: 4096, ffn: 14336, experts: 8, experts_per_token: 2}"),
        ("model.expert_ffn: is missing", "add expert_ffn"),
    ),
    "a denoiser without its FLOPs": (
        having(INFERENCE, model="{params: 14B, family: diffusion, layers: 40, hidden: 5120}", traffic="{rps: 0.01}"),
        ("model.forward_flop_per_sample: is missing", "one denoising step", "FLOPs = 2 x MACs"),
    ),
    "less than one FLOP a parameter": (
        having(INFERENCE, model="{params: 14B, family: diffusion, forward_flop_per_sample: 8.2B}", traffic="{rps: 0.01}"),
        ("forward_flop_per_sample: 8.2B FLOPs are less than one for each of the 14B parameters", "2 or more a parameter"),
    ),
    "no vocabulary": (having(TRAINING, model="{params: 8B, vocab: 0}"), ("model.vocab: must be more than zero",)),
    "a model without size": (having(TRAINING, model="{heads: 8, vocab: 32000}"), ("model: cannot be sized", "add params")),
    "name and dimensions": (having(TRAINING, model="{name: a, params: 8B}"), (("model: must be name or " "dimensions"), "remove name")),
    "an empty model": (having(TRAINING, model="{precision: bf16}"), ("model: must be a model name", "add name, config or params")),
    "a missing config.json": (having(INFERENCE, model="./nowhere/config.json"), ("model: no such file", "next to the spec")),
    "a ttl of hours": (having(INFERENCE, ttl="3h"), ("ttl: 3h is less than a day", "1d or more")),
    "an idle window that no guard holds": (having(TRAINING, idle="{window: 5m}"), ("idle.window: must be 10m to 12h, got 5m", "write 10m")),
    "a grace of days": (having(TRAINING, idle="{grace: 2d}"), ("idle.grace: must be at most 12h", "write 12h")),
    "busy machines as idle": (having(TRAINING, idle="{min_gpu_utilization: 60%}"), ("must be over 0% and at most 50%", "write 5%")),
    "a deadline after the expiry": (having(TRAINING, deadline="9d", ttl="2d"), (("deadline: the run may " "take 9d"), "after 2d")),
    "a window longer than its turn": (
        having(BATCH, batch="{records: 5, window: 30h, every: 1d}"),
        ("batch.window: a window of 1d6h every 1d overlaps the next one",),
    ),
    "checkpoints after the deadline": (
        having(TRAINING, deadline="2h", checkpoint="{interval: 3h}"),
        ("checkpoint.interval: 3h is after the deadline of 2h",),
    ),
    "a block on spot": (
        having(TRAINING, spot_policy="spot", capacity="{block: {duration: 72h}}"),
        ("capacity.block: contradicts spot_policy: spot", "auto"),
    ),
    "a block where none are sold": (
        having(TRAINING, infra="[gcp]", capacity="{block: {duration: 72h}}"),
        ("capacity.block: only aws sells it, infra has gcp",),
    ),
    "a block of hours": (having(TRAINING, capacity="{block: {duration: 5h}}"), ("capacity.block.duration: 5h", "whole days")),
    "a block of days that are sold in weeks": (
        having(TRAINING, capacity="{block: {duration: 15d}}"),
        ("capacity.block.duration: 15d: blocks of more than 14 days are sold in whole weeks", "use 21d"),
    ),
    "a block whose start nobody knows": (
        having(TRAINING, capacity="{block: {duration: 72h, id: cr-0123456789abcdef0}}"),
        ("capacity.block.start: is missing", "drained before it ends", "add start"),
    ),
    "serverless inference": (
        having(TRAINING, managed="serverless"),
        ("managed: must be a service that decisions can name", "no accelerators", "use managed: sagemaker"),
    ),
    "HyperPod without its cluster": (
        having(TRAINING, managed="hyperpod", scheduler="slurm"),
        ("scheduler: slurm contradicts managed: hyperpod", "use scheduler: auto, kubernetes or ray"),
    ),
    "two ways to capacity": (
        having(TRAINING, capacity="{reservation: cr-1, savings_plan: 1y}"),
        ("capacity: states reservation and savings_plan", "exactly one"),
    ),
    "a TPU and GPUs": (
        having(TRAINING, resources="{accelerators: [H100], tpu: {type: v6e}}"),
        ("resources.accelerators: contradicts resources.tpu",),
    ),
    "a TPU outside gcp": (
        having(TRAINING, infra="[aws, azure]", resources="{tpu: {type: v6e}}"),
        ("resources.tpu: only gcp has TPUs, infra has aws, azure",),
    ),
    "a flat topology of a deep slice": (
        having(TRAINING, resources="{tpu: {type: v5p, topology: 4x4}}"),
        ("resources.tpu.topology: 4x4 has 2 sides; v5p slices have 3",),
    ),
    "TensorFlow on Trainium": (
        having(TRAINING, framework="tensorflow", resources="{accelerators: [Trainium2]}"),
        ("framework: TensorFlow does not run on Trainium", "pytorch or jax"),
    ),
    "managed by another cloud": (
        having(TRAINING, managed="sagemaker", infra="[gcp]"),
        ("managed: sagemaker runs on aws, infra has gcp", "add aws"),
    ),
    "nowhere within the residency": (
        having(TRAINING, data="{size: 1TB, residency: eu}", infra="[aws/us-east-1, azure/uksouth]"),
        ("infra: aws/us-east-1, azure/uksouth: none is within data.residency: eu",),
    ),
    "a budget per run of a service": (having(INFERENCE, budget="{per_run: 5 USD}"), ("budget.per_run", "monthly")),
    "a first token after the answer": (having(INFERENCE, slo="{ttft: 5s, latency: 1s}"), ("slo.ttft", "5s", "1s")),
}  # fmt: skip


def _text(spec: str | bytes) -> bytes:
    return spec if isinstance(spec, bytes) else spec.encode()


@pytest.mark.parametrize("case", WRONG)
def test_message(case: str, tmp_path: Path) -> None:
    spec, wanted = WRONG[case]
    path = tmp_path / "spec.yaml"
    path.write_bytes(_text(spec))
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    message = str(caught.value)
    missing = [part for part in wanted if part not in message]
    assert not missing, f"{missing} not in:\n{message}"
    assert all(fault.message or fault.allowed for fault in caught.value.faults)


@pytest.mark.parametrize("case", WRONG)
def test_through_the_command(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 64, the message on stderr, and nothing written although a stack's decision was asked for."""
    from sizewell.cli.main import main

    (tmp_path / "Pulumi.yaml").write_text("name: test\n")
    (tmp_path / "spec.yaml").write_bytes(_text(WRONG[case][0]))
    monkeypatch.chdir(tmp_path)
    assert main(["size", "spec.yaml", "--stack", "dev-aws", "--json"]) == 64
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("sizewell: spec.yaml")
    assert "Traceback" not in shown.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Pulumi.yaml", "spec.yaml"]


def test_table_is_long_enough() -> None:
    assert len(WRONG) >= 45


def test_right_specs_are_right() -> None:
    for text in (INFERENCE, TRAINING, TUNING, BATCH):
        parse_spec(text)


def test_a_precision_that_nobody_knows_is_one_fault() -> None:
    """The weights, which follow the precision where nobody says, are not refused beside it."""
    with pytest.raises(SpecError) as caught:
        parse_spec(having(TRAINING, model="{params: 8B, precision: 16 and 32}"), "spec.yaml")
    assert [fault.path for fault in caught.value.faults] == ["model.precision"]


def test_faults_of_fields_and_contradictions_come_together() -> None:
    """One round, not two: a wrong unit does not hide the contradiction beside it."""
    with pytest.raises(SpecError) as caught:
        parse_spec(having(INFERENCE, ttl="3h", slo="{ttft: 5}", spot_policy="spot", regoin="x"))
    assert {fault.path for fault in caught.value.faults} == {"slo.ttft", "spot_policy", "ttl", "regoin"}


def test_missing_section_is_not_blamed_for_its_own_fault() -> None:
    """`traffic` is there but wrong: the message is about what is wrong, not that it is missing."""
    with pytest.raises(SpecError) as caught:
        parse_spec(having(INFERENCE, traffic="{rps: fast}"))
    assert [fault.path for fault in caught.value.faults] == ["traffic.rps"]


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(10_000_000)
    with pytest.raises(SpecError, match="10,000,000 bytes; a spec has at most 1,000,000"):
        read_spec(path)


@pytest.mark.parametrize(("path", "message"), [("nowhere.yaml", "no such file"), (".", "is a folder")])
def test_no_file(path: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=message):
        read_spec(tmp_path / path)


def test_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(SpecError, match="larger than"):
        read_spec("/dev/zero")


def test_config_json_is_bounded_and_checked(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(having(INFERENCE, model="config.json"))
    for content, message in (("[1]", "not a JSON object"), ("{", "not JSON"), ("[" * 100_000, "not JSON")):
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(SpecError, match=message):
            read_spec(spec)


def test_message_reads_well() -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(having(INFERENCE, traffic="{rps: 4, inptu_tokens: 5}", deadline="3"), "specs/chat.yaml")
    assert str(caught.value) == textwrap.dedent("""\
        specs/chat.yaml: 2 faults
        specs/chat.yaml:4:19: traffic.inptu_tokens: unknown key 'inptu_tokens'; allowed keys: rps, requests_per_hour, concurrent_users, requests, think_time, input_tokens, output_tokens, input_tokens_p95, output_tokens_p95, images, audio, prefix, burstiness, redundancy, speculative, daily
          fix: did you mean 'input_tokens'?
        specs/chat.yaml:5:11: deadline: must be a duration with its unit: ms, s, m, h, d or w, such as 500ms, 45m, 1h30m or 3d, got 3
          fix: write 3s, 3m, 3h or 3d""")


def test_a_file_of_thousands_of_keys_is_answered_at_once() -> None:
    """What each key may mean was asked beside all others: a file of 3,000 took minutes."""
    began = time.process_time()
    with pytest.raises(SpecError) as raised:
        parse_spec("name: many\n" + "".join(f"k{number}: 1\n" for number in range(3000)))
    assert time.process_time() - began < 15
    *_, last = raised.value.faults
    assert "more faults are not listed" in str(last)
    assert len(raised.value.faults) < 200
