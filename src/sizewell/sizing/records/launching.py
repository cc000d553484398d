"""What a run has that the entry scripts, or the script of a batch, do not do.

Read where a layout is chosen and where it is launched, so that neither promises what the other refuses. A job that an
entry script runs says so (`TrainingJob.entry_script`), and only the layouts that the script has are searched for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from sizewell.sizing.catalog.engines import ENGINES
from sizewell.sizing.records.decision import Parallelism, Task

Script = Literal["train_fsdp.py", "train_jax.py", "train_neuron.py"]
TARGET_LOAD: Final = 0.8  # of what replicas take within their service level: predictions err, traffic has peaks
TOLERANCE: Final = 0.1  # by which a count passes the autoscaler's target before anything changes (Kubernetes' default)
LOOK_S: Final = 15.0  # between two looks of the autoscaler (Kubernetes' default)
AVERAGED_S: Final = 120  # over which requests in flight are averaged: in seconds they double by chance
_SEQUENCES: Final = 256  # vLLM's default of --max-num-seqs on all but the largest devices (EngineArgs of vLLM)


def in_flight_target(concurrency: int) -> float:
    """Requests in flight on each replica of a service whose load has no hours, above which its autoscaler adds one.

    That concurrency is the mean of the replicas that were sized, which must not grow at the load that they were sized
    for. When they are full, at 1 / TARGET_LOAD of that load, there are more in flight by as much or more.

    >>> in_flight_target(40)
    50.0
    """
    return round(max(1, concurrency) / TARGET_LOAD, 1)


def sequences_at_once(concurrency: int) -> int:
    """Sequences that an engine takes at once, where so many are in flight at the mean. Taking no more than the mean it
    would be full half of the time, and the queue before it would grow without end.

    >>> sequences_at_once(40), sequences_at_once(300)
    (256, 1200)
    """
    return max(_SEQUENCES, 4 * concurrency)


LEAST_ROOM: Final = 2048  # tokens of a batch's record that are taken at least: a small mean says little of the
# longest, whose line has an error in place of an answer


def tokens_taken(mean: float, *, longest: float = 0.0, limit: int | None = None, held: float = math.inf) -> int:
    """Tokens of the longest request that an engine is told to take: what the spec says of its lengths, else twice the
    mean, in whole thousands; no more than the model reads (`limit`) and than the cache of a replica has room for
    (`held`): vLLM ends at start where it is told to take more than either. 0 where no length is known.

    >>> tokens_taken(1250), tokens_taken(1250, longest=12_126), tokens_taken(3072, limit=4096), tokens_taken(0)
    (3072, 12288, 4096, 0)
    >>> tokens_taken(100_864, limit=131_072, held=120_000.5)
    119808
    """
    if not mean:
        return 0
    wanted = -(-math.ceil(longest or 2 * mean) // 1024) * 1024
    if held < wanted:
        wanted = max(math.ceil(mean), int(held // 1024 * 1024))
    return min(wanted, limit or wanted)


def longest_answer(task: Task, longest: int) -> int:
    """Tokens at which a batch cuts an answer: twice the mean, as of whole requests, since about half pass the mean.

    >>> longest_answer(Task(output_tokens=200), 7168), longest_answer(Task(output_tokens=3000), 4096)
    (400, 4096)
    """
    wanted = 2 * (task.output_tokens or 0)
    return min(wanted, longest or wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """One thing that the entry scripts do not do, and software that does."""

    path: str
    message: str
    software: str


_KINDS: Final = {"pipeline": "Megatron-Core, NeMo or torchtitan", "context": "Megatron-Core, NeMo or torchtitan",
                 "expert": "Megatron-Core or NeMo"}  # fmt: skip
_FAMILIES: Final = {"vision": "timm under torchrun", "diffusion": "diffusers under torchrun"}
# The software that an entry script is, by the name that a spec gives it; any other name is a program of one's own.
_NAMES: Final[dict[Script, str]] = {"train_fsdp.py": "fsdp", "train_jax.py": "", "train_neuron.py": "neuron"}


def entry_script(framework: str, runtime: str) -> Script:
    """Which script trains, by framework and the accelerators' runtime.

    >>> entry_script("pytorch", "cuda"), entry_script("pytorch", "tpu")
    ('train_fsdp.py', 'train_jax.py')
    """
    if framework == "jax" or runtime == "tpu":
        return "train_jax.py"
    return "train_neuron.py" if runtime == "neuron" else "train_fsdp.py"


def beyond(task: Task | None, framework: str, layout: Parallelism | None, runtime: str = "cuda") -> tuple[Beyond, ...]:
    """What of a training run needs a program of its own, in the decision's own words; () where nothing does.

    >>> [each.path for each in beyond(Task(method="qlora"), "pytorch", Parallelism(pipeline=2))]
    ['task.method', 'parallelism.pipeline']
    """
    script = entry_script(framework, runtime)
    found = [*(_of_task(task, script) if task is not None else ())]
    if framework == "tensorflow":
        found.append(("framework", "is tensorflow, for which there is no entry script", "TensorFlow's own launcher"))
    if layout is not None:
        found += _of_layout(layout, task, script)
    return tuple(Beyond(path=path, message=message, software=software) for path, message, software in found)


_BATCHES: Final = {
    "encoder": "sentence-transformers, or vLLM's LLM.embed",
    "speech": "faster-whisper, or vLLM with audio in its prompts",
    "vision": "a program that reads images, as with PyTorch's DataLoader",
    "diffusion": "diffusers",
}


def beyond_batch(task: Task) -> tuple[Beyond, ...]:
    """What of a batch needs a program of its own: the script sends texts to vLLM and writes texts.

    >>> [each.path for each in beyond_batch(Task(family="speech"))]
    ['task.family']
    >>> [beyond_batch(Task(family="decoder", output_tokens=each)) == () for each in (None, 100)]
    [False, True]
    """
    if task.family in (None, "decoder"):
        if lacking := ENGINES["vllm"].without(task.model, model_type=task.model_type):
            message = f"is {lacking}: vLLM, which batch_infer.py runs, has no such model"
            return (Beyond(path="task.model", message=message, software="transformers' generate"),)
        if task.output_tokens:
            return ()
        message = "is 0 (batch.output_tokens_per_record): records are embedded, and batch_infer.py writes texts"
        return (Beyond(path="task.output_tokens", message=message, software="vLLM's LLM.embed or LLM.classify"),)
    message = f"is {task.family}: batch_infer.py answers texts with texts, by a language model"
    return (Beyond(path="task.family", message=message, software=_BATCHES[task.family]),)


def _of_task(task: Task, script: Script) -> Iterator[tuple[str, str, str]]:
    if task.family not in (None, "decoder"):
        software = _FAMILIES.get(task.family or "", "transformers under torchrun")
        yield "task.family", f"is {task.family}: the entry scripts train language models", software
    if task.engine and task.engine != _NAMES[script]:
        yield "task.engine", f"is {task.engine}, which is not what the entry script ({script}) is", task.engine
    if task.method in ("dpo", "orpo", "kto", "reward"):
        yield "task.method", f"is {task.method}: the entry scripts learn from texts alone", "TRL or Axolotl"
    elif task.method == "qlora":
        yield "task.method", "is qlora, which the entry scripts do not shard", "Axolotl, or TRL with FSDP-QLoRA"
    elif script == "train_jax.py" and (task.method not in (None, "pretrain") or task.model):
        message = f"is {task.method or 'pretrain'} of a given model, and train_jax.py pretrains one by its dimensions"
        yield "task.method", message, "MaxText"
    elif task.method in ("full", "lora") and task.dimensions:
        yield (
            "task.model",
            "is missing: a model by its dimensions has no weights to start from",
            "a program that knows where they are",
        )
    if task.not_built_in and task.dimensions:
        what = f"has {' and '.join(task.not_built_in)}: the entry scripts' own transformer has not"
        yield "task.dimensions", what, "a program that builds this model, as transformers' Trainer from its config.json"
    if task.experts:
        message = f"is {task.experts}: the entry scripts have no kernels for mixtures of experts"
        yield "task.experts", message, "Megatron-Core or NeMo"
    if task.precision in ("fp8", "fp4", "int8"):
        software = "Megatron-Core with Transformer Engine, or torchtitan"
        yield "task.precision", f"is {task.precision}: the entry scripts compute in bf16 or fp32", software
    elif task.precision not in (None, "bf16", "fp32"):
        software = "transformers' Trainer or Lightning"
        yield "task.precision", f"is {task.precision}: the entry scripts compute in bf16 or fp32", software
    if task.optimizer not in (None, "adamw"):
        software = "transformers' Trainer, torchtitan or Megatron-Core"
        yield "task.optimizer", f"is {task.optimizer}: the entry scripts step by AdamW", software

    if task.offload:
        yield (
            "task.offload",
            f"is {task.offload}: the entry scripts step on the accelerators",
            "DeepSpeed's ZeRO-Offload",
        )


def _of_layout(layout: Parallelism, task: Task | None, script: Script) -> Iterator[tuple[str, str, str]]:
    for kind, software in _KINDS.items():
        value = getattr(layout, kind)
        if value > 1:
            message = f"is {value}: the entry scripts support data and tensor parallelism only"
            yield f"parallelism.{kind}", message, software
    if script == "train_neuron.py":
        message = "train_neuron.py shards the optimizer's state alone (ZeRO-1)"
        if layout.tensor > 1:
            yield "parallelism.tensor", f"is {layout.tensor}: {message}", "NeuronX Distributed"
        if layout.zero_stage > 1:
            yield "parallelism.zero_stage", f"is {layout.zero_stage}: {message}", "NeuronX Distributed"
    elif layout.tensor > 1 and task is not None and task.method == "lora":
        message = f"is {layout.tensor}: the entry scripts split no matrix that has adapters"
        yield "parallelism.tensor", message, "Megatron-Core or NeMo"
