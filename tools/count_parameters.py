"""How many parameters each model class of Hugging Face's transformers has: the judge of what a config.json is read as.

    python tools/count_parameters.py OUT.jsonl [--others] [--published FILE]

Builds every causal and masked language model with its default configuration on the meta device, where nothing is
allocated, counts its parameters once each (tied ones are one) and writes the configuration beside the count, without
the fields that decide no shape. With --others it builds what is neither: models that see, hear, draw or speak, and
encoder-decoders. With --published it builds the configurations of FILE, one a line, and writes its count beside the
published one as `built`. Needs torch and transformers, which Sizewell does not depend on; nothing is downloaded.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_CTC_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_MULTIMODAL_LM_MAPPING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING,
    MODEL_MAPPING,
)

_NO_SHAPE = frozenset({
    "transformers_version", "dtype", "id2label", "label2id", "return_dict", "output_hidden_states", "output_attentions",
    "problem_type", "use_cache", "rope_parameters", "rope_scaling", "chunk_size_feed_forward", "per_layer_config",
    "bos_token_id", "eos_token_id", "pad_token_id", "activation_sparsity_pattern", "no_rope_layers",
})  # fmt: skip


_TEXT = (("decoder", MODEL_FOR_CAUSAL_LM_MAPPING), ("encoder", MODEL_FOR_MASKED_LM_MAPPING))
_OTHERS = (
    ("multimodal", MODEL_FOR_MULTIMODAL_LM_MAPPING),
    ("seq2seq", MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING),
    ("speech", MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING),
    ("ctc", MODEL_FOR_CTC_MAPPING),
    ("base", MODEL_MAPPING),
)


def counted(kinds: tuple[tuple[str, Any], ...]) -> Iterator[dict[str, Any]]:
    """A row for each class that can be built from its defaults: kind, model_type, parameters, configuration."""
    of_text = {config_class.model_type for _, mapping in _TEXT for config_class in mapping}
    built: set[tuple[str, str]] = set()
    for kind, mapping in kinds:
        for config_class in dict.fromkeys(mapping):
            model_type = config_class.model_type
            once = "others" if kinds is _OTHERS else kind
            if (once, model_type) in built or (kinds is _OTHERS and kind != "multimodal" and model_type in of_text):
                continue
            try:
                named = mapping[config_class]
                named = named[0] if isinstance(named, tuple) else named
                config = config_class()
                # An encoder without the head that only its own training needs.
                parameters = built_params(MODEL_MAPPING[config_class] if kind == "encoder" else named, config)
            except Exception as error:  # noqa: BLE001 - defaults that build no model are the library's affair
                print(f"{model_type}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            built.add((once, model_type))
            stated = shape(json.loads(config.to_json_string(use_diff=True)))
            yield {
                "kind": kind,
                "model_type": model_type,
                "params": parameters,
                "config": {"model_type": model_type, "architectures": [named.__name__], **stated},
            }


def built_params(model_class: Any, config: Any) -> int:
    """Parameters of a model that is built on no memory, each once."""
    with torch.device("meta"):
        model = model_class(config)
    model.tie_weights()
    return sum({id(p): p.numel() for p in model.parameters()}.values())


def recounted(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of published models with what the library builds; null where it has no such class."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        model_class = getattr(transformers, row["config"]["architectures"][0], None)
        try:
            row["built"] = model_class and built_params(
                model_class, model_class.config_class.from_dict(json.loads(json.dumps(row["config"])))
            )
        except Exception as error:  # noqa: BLE001 - as above
            print(f"{row['name']}: {type(error).__name__}: {error}", file=sys.stderr)
            row["built"] = None
        yield row


def shape(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a configuration that may decide how large a model is."""
    kept: dict[str, Any] = {}
    for key, value in config.items():
        if key in _NO_SHAPE or value is None or isinstance(value, float):
            continue
        kept[key] = shape(value) if isinstance(value, dict) else value
    return kept


def main() -> int:
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    out, options = Path(sys.argv[1]), sys.argv[2:]
    if options[:1] == ["--published"]:
        rows = list(recounted(Path(options[1])))
    else:
        kinds = _OTHERS if options == ["--others"] else _TEXT
        rows = [{"transformers": transformers.__version__, "torch": torch.__version__}, *counted(kinds)]
    out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
