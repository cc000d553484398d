"""One case, one prediction: which kind of figure it is, and who predicts it."""

from __future__ import annotations

import math

from sizewell.accuracy.cases import Case
from sizewell.accuracy.describe import CannotPredictError, engine_of
from sizewell.accuracy.memory_predictions import Prediction, predict_memory
from sizewell.accuracy.serving_predictions import predict_serving
from sizewell.accuracy.time_predictions import predict_time
from sizewell.accuracy.training_runs import beside_steps
from sizewell.sizing.errors import SizewellError
from sizewell.sizing.predict.software import measured_as

MEMORY = frozenset(
    {
        "peak_memory_per_device",
        "weights_per_device",
        "kv_cache_tokens",
        "kv_cache_per_device",
        "max_sequence_length",
        "activation_memory_per_device",
        "fits",
    }
)
SERVING = frozenset({"llm_serving", "llm_latency", "vision_infer", "encoder_infer"})


def predict(case: Case) -> Prediction | str:
    """The prediction, or why there is none. Words where figures belong (cases are other people's data) are a reason."""
    try:
        prediction = _predict(case)
    except (CannotPredictError, SizewellError) as refusal:
        return str(refusal)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return f"the case states something that cannot be read: {error}"
    return (
        prediction if math.isfinite(prediction.value) else "the case states something that gives no finite prediction"
    )


def _predict(case: Case) -> Prediction:
    if case.metric in MEMORY:
        return predict_memory(case)
    if case.kind in SERVING:
        return predict_serving(case)
    return predict_time(case)


def area(case: Case) -> str:
    """One of: training time | training memory | adapter memory | serving memory | fits | serving."""
    if case.metric == "fits":
        return "fits"
    if case.metric in MEMORY:
        if case.kind in ("finetune_lora", "finetune_qlora"):
            return "adapter memory"
        return "training memory" if case.kind in ("train", "finetune_full", "train_formula") else "serving memory"
    return "serving" if case.kind in SERVING else "training time"


_METHODS = {"finetune_full": "full fine-tuning", "finetune_lora": "LoRA", "finetune_qlora": "QLoRA"}


def trained_by(case: Case) -> str:
    """What a training case is grouped by beside its kind: quantity, method and software; "" for others."""
    quantity = {"training time": "speed", "training memory": "memory", "adapter memory": "memory"}.get(area(case))
    if quantity is None or case.metric == "max_sequence_length":
        return ""
    method = _METHODS.get(case.kind, "images" if case.kind == "vision_train" else "pre-training")
    return f"{quantity} · {method} · {measured_as(engine_of(case)) if engine_of(case) else 'not stated'}"


WHOLE_RUNS = "totals of whole runs"


def work_class(case: Case) -> str:
    """Class of a training time case: what its target is stated for."""
    if area(case) != "training time":
        return ""
    if case.metric == "time_to_train_min":
        kind = "LoRA" if case.kind == "finetune_lora" else "vision" if case.kind == "vision_train" else "pre-training"
        return f"MLPerf time to train, {kind}"
    if beside_steps(case):
        return WHOLE_RUNS
    if case.kind == "vision_train":
        return "vision"
    if case.model.get("num_experts"):
        return "mixture of experts"
    precision = str(case.workload.get("precision") or "").lower()
    narrow = any(word in precision for word in ("fp8", "float8", "fp4", "int8"))
    method = "adapters" if case.kind in ("finetune_lora", "finetune_qlora") else "dense"
    return f"{method}, 8 or 4 bits" if narrow else f"{method}, 16 bits"
