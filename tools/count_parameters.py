"""How many parameters each model class of Hugging Face's transformers has: the judge of what a config.json is read as.

    python tools/count_parameters.py OUT.jsonl

Builds every causal and masked language model with its default configuration on the meta device, where nothing is
allocated, counts its parameters once each (tied ones are one) and writes the configuration beside the count, without
the fields that decide no shape. Needs torch and transformers, which Sizewell does not depend on; nothing is downloaded.
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
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_MAPPING,
)

_NO_SHAPE = frozenset({
    "transformers_version", "dtype", "id2label", "label2id", "return_dict", "output_hidden_states", "output_attentions",
    "problem_type", "use_cache", "rope_parameters", "rope_scaling", "chunk_size_feed_forward", "per_layer_config",
    "bos_token_id", "eos_token_id", "pad_token_id", "activation_sparsity_pattern", "no_rope_layers",
})  # fmt: skip


def counted() -> Iterator[dict[str, Any]]:
    """A row for each class that can be built from its defaults: kind, model_type, parameters, configuration."""
    for kind, mapping in (("decoder", MODEL_FOR_CAUSAL_LM_MAPPING), ("encoder", MODEL_FOR_MASKED_LM_MAPPING)):
        for config_class in dict.fromkeys(mapping):
            try:
                named = mapping[config_class]
                named = named[0] if isinstance(named, tuple) else named
                config = config_class()
                with torch.device("meta"):  # an encoder without the head that only its own training needs
                    model = (MODEL_MAPPING[config_class] if kind == "encoder" else named)(config)
                model.tie_weights()
            except Exception as error:  # noqa: BLE001 - defaults that build no model are the library's affair
                print(f"{config_class.model_type}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            stated = json.loads(config.to_json_string(use_diff=True))
            parameters = sum({id(p): p.numel() for p in model.parameters()}.values())
            yield {
                "kind": kind,
                "model_type": config_class.model_type,
                "params": parameters,
                "config": {"model_type": config_class.model_type, "architectures": [named.__name__], **shape(stated)},
            }


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
    rows = [{"transformers": transformers.__version__, "torch": torch.__version__}, *counted()]
    Path(sys.argv[1]).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
