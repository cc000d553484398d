"""One sentence for every key of a spec: shown by editors (through the JSON Schema) and in docs/reference/spec.md."""

from __future__ import annotations

from typing import Any, Final

SENTENCES: Final[dict[str, str]] = {
    "schema": "Version of the format; optional",
    "name": "Name of the workload; part of the names of its resources",
    "kind": "Kind of work: it decides which other sections are needed",
    "model": "Which model: a name of the catalog, a path to a Hugging Face config.json, or a mapping",
    "model.name": "A name that the catalog knows",
    "model.config": "A path to a Hugging Face config.json, from the spec's own folder",
    "model.precision": "Precision of the computation",
    "model.weights": "How the weights are stored: int4 takes a quarter of bf16",
    "model.kv": "How the KV cache is stored; fp8 holds twice the tokens",
    "model.adapters": "LoRA adapters served beside the model, each request naming one",
    "model.adapters.count": "How many adapters there are",
    "model.adapters.rank": "The largest rank among them; the engine reserves the next of 8, 16, 32, 64, 128, 256, 512",
    "model.adapters.resident": "How many are in device memory at once; the others wait in the host's",
    "model.params": "Total parameters; enough by itself; beside config, as published, where its file leaves parts open",
    "model.active_params": "Active parameters per token of a mixture of experts",
    "model.family": "Type of the network",
    "model.layers": "Transformer layers",
    "model.hidden": "Width of the residual stream",
    "model.heads": "Attention heads",
    "model.kv_heads": "Heads of the KV cache; fewer than heads with grouped queries",
    "model.head_dim": "Width of a head; else hidden / heads",
    "model.ffn": "Width of the feed-forward layer",
    "model.gated": "Whether the feed-forward has three matrices (SwiGLU) and not two",
    "model.vocab": "Vocabulary",
    "model.tied_embeddings": "Whether input and output embeddings are the same matrix",
    "model.experts": "Experts of a layer",
    "model.experts_per_token": "Experts that one token visits",
    "model.expert_ffn": "Width of one expert",
    "model.shared_experts": "Experts that every token visits",
    "model.dense_layers": "Leading layers without experts",
    "model.kv_lora_rank": "Rank of the compressed KV cache (multi-head latent attention)",
    "model.q_lora_rank": "Rank of the compressed queries",
    "model.qk_rope_head_dim": "Rotary part of a head",
    "model.qk_nope_head_dim": "Non-rotary part of a head",
    "model.v_head_dim": "Width of a value head",
    "model.sliding_window": "Tokens in the sliding window of attention, which bounds the KV cache",
    "model.max_sequence_length": "Maximum context length of the model",
    "model.forward_flop_per_sample": "FLOPs of one forward pass (2 x multiply-adds), of a vision or diffusion model",
    "model.resolution": "Side of the image in pixels, at which the FLOPs are stated",
    "model.extra_params": "Parameters besides the language model: vision tower, projector",
    "model.image_tokens": "Tokens that one image adds to the prompt",
    "framework": "Decides what can run on TPU, Trainium and ROCm",
    "traffic": "Load on a service",
    "traffic.rps": "Mean requests per second",
    "traffic.requests_per_hour": "Mean requests per hour",
    "traffic.concurrent_users": "Concurrent users; each waits for the response, thinks, and sends the next request",
    "traffic.think_time": "Time between a response and the user's next request",
    "traffic.input_tokens": "Mean tokens of the prompt, without images",
    "traffic.output_tokens": "Mean tokens of the response",
    "traffic.images": "Images of one request",
    "training.images": "Images of one sample",
    "batch.images": "Images of one record",
    "images.resolution": "Side of the image in pixels",
    "images.per_request": "How many images",
    "images.steps": "Denoising steps of a diffusion model",
    "images.guidance": "Whether each denoising step is evaluated with and without the prompt",
    "slo": "Service level objective",
    "slo.ttft": "Time to the first token",
    "slo.tpot": "Time to each further token",
    "slo.latency": "Time to the complete response",
    "slo.percentile": "Percentile of requests for which the limits hold",
    "training": "One training run",
    "training.tokens": "Tokens of the whole run",
    "training.samples": "Samples of one epoch",
    "training.epochs": "How often the samples are seen",
    "training.steps": "Optimizer steps, instead of tokens or samples",
    "training.sequence_length": "Tokens of one sequence",
    "training.global_batch": "Tokens of one optimizer step over all devices; of a vision model, images",
    "training.method": "Train every weight, or adapters with frozen weights (16-bit or quantized)",
    "training.optimizer": "Determines the optimizer state: Adam keeps two numbers per weight",
    "training.gradients": "Format in which gradients are reduced, and accumulated where the weights kept are 16-bit",
    "training.no_sync": "Whether gradients are reduced after the last micro-batch of a step alone, whole until then",
    "training.pipeline_schedule": "Order of micro-batches where layers are split into pipeline stages",
    "training.lora": "Shape of the adapters",
    "training.lora.rank": "Rank of an adapter",
    "training.lora.targets": "Matrices with adapters: all-linear, or a list of q_proj ... down_proj",
    "training.activation_checkpointing": "Activation checkpointing: what is recomputed instead of stored",
    "training.attention": "Kernel: flash keeps no attention matrix",
    "training.packed": "Whether samples are packed into sequences instead of padded",
    "batch": "Offline inference over a set of records",
    "batch.records": "How many records",
    "batch.tokens_per_record": "Mean input tokens per record",
    "batch.output_tokens_per_record": "Output tokens per record",
    "batch.window": "How long it may take",
    "batch.every": "How often the run is repeated",
    "data": "The data that is read, and where it may be",
    "data.location": "Where it is stored; reading it from another cloud or region costs egress",
    "data.region": "The region of the location, where its name does not say",
    "data.size": "Size of the data",
    "data.residency": "The legal area that it must stay in; other regions are not considered",
    "deadline": "How long a run may take",
    "resources": "Limits on the hardware; leave it out to let the sizing choose",
    "resources.accelerators": (
        "Accelerators to choose from; a family includes all its models, cpu means machines without accelerators"
    ),
    "resources.instance_type": "Machine types to choose from",
    "resources.nodes": "Minimum and maximum number of machines",
    "resources.gpu": "Memory of one accelerator, at least or as a range, as it is sold",
    "resources.tpu": "A TPU slice",
    "resources.tpu.type": "Generation of the TPU",
    "resources.tpu.topology": "Chips along each side",
    "infra": "Where it may run: clouds, regions or zones",
    "spot_policy": "Whether spot machines may be used; auto never uses them for online serving",
    "capacity": "How capacity is obtained",
    "capacity.block": "Buy a capacity block: once, in advance, for a window",
    "capacity.block.duration": "How long: whole days, up to 182",
    "capacity.block.start": "When it starts at the earliest",
    "capacity.block.max_price": "Maximum price",
    "capacity.block.purchase": "Nothing is bought unless this says confirmed",
    "capacity.block.id": "A block that has already been purchased",
    "capacity.reservation": "Name or id of an existing reservation",
    "capacity.flex_start": "Wait for capacity, then run for a bounded time (Google's Dynamic Workload Scheduler)",
    "capacity.flex_start.max_run": "How long it may run, at most seven days",
    "capacity.savings_plan": "Commit to spend for a term: 1y or 3y",
    "capacity.savings_plan.term": "For how long",
    "checkpoint": "How often training state is kept",
    "checkpoint.interval": "Time between two checkpoints",
    "checkpoint.keep": "How many are kept",
    "checkpoint.on_destroy": "What happens to them when the cluster is destroyed",
    "utilization": "Share of the month that it is actually used: decides rent, commit or buy",
    "engine": "The software that runs the model; a name alone, or name and version",
    "engine.name": "Of serving (vllm, sglang, ...) or of training (fsdp, megatron, ...)",
    "engine.version": "Its release",
    "managed": "A managed service instead of plain machines",
    "scheduler": "What runs jobs on the machines",
    "budget": "Limits; if exceeded `sizewell size` exits with code 2",
    "budget.per_run": "Maximum cost of one run",
    "budget.monthly": "Maximum cost of a month",
    "idle": "When accelerators count as idle, and what the guard does",
    "idle.min_gpu_utilization": "Utilization below which accelerators are idle",
    "idle.window": "How long utilization must stay below it",
    "idle.grace": "Time between notice and action",
    "idle.action": "What the guard does",
    "schedule": "When it may run",
    "schedule.on": "Weekly windows and an IANA time zone",
    "ttl": "After how many days the stack expires",
    "owner": "The contact for it; a tag on every resource",
    "cost_center": "Cost center; a tag on every resource",
    "team": "Who operates it; used with utilization by managed: auto",
    "team.platform_engineers": "Number of people who operate clusters",
    "objective": "What to optimize: cost, time (of those within 5 % of the fastest the cheapest) or a balance",
}


KINDS: Final = {  # by the first example that the schema gives
    "4096": "count",
    "0": "count, or 0",
    "45m": "duration",
    "0s": "duration",
    "80GB": "size",
    "10000 USD": "money",
    "70%": "percentage",
    "4": "rate, per second or `10k/h`",
}


def sentence(path: str) -> str:
    """The sentence of a dotted key; keys of images are the same in every section."""
    head, _, key = path.rpartition(".")
    return SENTENCES.get(path) or SENTENCES.get(f"{head.rpartition('.')[2]}.{key}", "")


def reference(schema: dict[str, Any]) -> str:
    """The page docs/reference/spec.md: every key in the order of the schema."""
    lines = [
        "# The workload spec",
        "",
        "Every key of a spec file. `sizewell size SPEC --show-spec` prints a spec with every default and its origin;",
        "[spec.schema.json](../../src/sizewell/schemas/spec.schema.json) is the same for editors: start a file with",
        "`# yaml-language-server: $schema=` and the path to it. The [examples](../../examples/) have the arithmetic.",
        "",
        "A duration is `500ms`, `45m`, `1h30m` or `3d`; a size `80GB` (10^9) or `80GiB` (2^30); a count `4096`, `50k`",
        "or `7B`; money `10000 USD`; a percentage `70%`. A number without its unit is rejected.",
        "",
        "| key | value | meaning | default |",
        "| --- | --- | --- | --- |",
    ]
    lines += [_row(path, definition, schema) for path, definition in _walk(schema, schema, "")]
    return "\n".join(lines) + "\n"


def _walk(definition: dict[str, Any], schema: dict[str, Any], prefix: str) -> list[tuple[str, dict[str, Any]]]:
    fields = []
    for key, value in definition.get("properties", {}).items():
        path = f"{prefix}.{key}" if prefix else key
        fields.append((path, value))
        for inner in _references(value):
            fields += _walk(schema["$defs"][inner], schema, path)
    return fields


def _references(value: dict[str, Any]) -> list[str]:
    options = [value, *value.get("anyOf", [])]
    return [option["$ref"].rpartition("/")[2] for option in options if "$ref" in option]


def _row(path: str, value: dict[str, Any], schema: dict[str, Any]) -> str:
    text = value.get("description", "")
    _, _, default = text.partition("Default: ")
    return f"| `{path}` | {_values(value, schema)} | {sentence(path)} | {default} |"


EXAMPLES_MAX: Final = 10  # examples that a cell of the table has room for


def _values(value: dict[str, Any], schema: dict[str, Any]) -> str:
    if "enum" in value or "const" in value:
        return ", ".join(f"`{option}`" for option in value.get("enum", [value.get("const")]))
    if len(value.get("examples", ())) > EXAMPLES_MAX:  # names of the catalog, for editors
        return f"text, such as {', '.join(f'`{example}`' for example in value['examples'][:2])}"
    if value.get("examples"):
        return KINDS.get(value["examples"][0], ", ".join(f"`{example}`" for example in value["examples"]))
    if _references(value):
        others = [option for option in value.get("anyOf", []) if "$ref" not in option]
        return " or ".join([*(_values(option, schema) for option in others), "mapping"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_values(option, schema) for option in value["anyOf"]))
    return {"string": "text", "boolean": "`true`, `false`", "array": "list"}.get(value.get("type", ""), "text")
