"""What a training decision has that the entry scripts do not do.

Read where a layout is chosen and where it is launched, so that neither promises what the other refuses.
"""

from __future__ import annotations

from dataclasses import dataclass

from sizewell.sizing.records.decision import Parallelism, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """One thing that the entry scripts do not do, and software that does."""

    path: str
    message: str
    software: str


_KINDS = {"pipeline": "Megatron-Core, NeMo or torchtitan", "context": "Megatron-Core, NeMo or torchtitan",
          "expert": "Megatron-Core or NeMo"}  # fmt: skip
_FAMILIES = {"vision": "timm under torchrun", "diffusion": "diffusers under torchrun"}


def beyond(task: Task | None, framework: str, layout: Parallelism | None) -> tuple[Beyond, ...]:
    """What of a training run needs a program of its own, in the decision's own words; () where nothing does.

    >>> [each.path for each in beyond(Task(method="qlora"), "pytorch", Parallelism(pipeline=2))]
    ['task.method', 'parallelism.pipeline']
    """
    found = []
    if task is not None and task.family not in (None, "decoder"):
        software = _FAMILIES.get(task.family or "", "transformers under torchrun")
        found.append(("task.family", f"is {task.family}: the entry scripts train language models", software))
    if task is not None and task.method == "qlora":
        message = "is qlora, which the entry scripts do not shard"
        found.append(("task.method", message, "Axolotl, or TRL with FSDP-QLoRA"))
    if framework == "tensorflow":
        found.append(("framework", "is tensorflow, for which there is no entry script", "TensorFlow's own launcher"))
    for kind, software in _KINDS.items():
        value = getattr(layout, kind, 1)
        if value > 1:
            message = f"is {value}: the entry scripts support data and tensor parallelism only"
            found.append((f"parallelism.{kind}", message, software))
    return tuple(Beyond(path=path, message=message, software=software) for path, message, software in found)
