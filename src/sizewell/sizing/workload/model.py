"""The records of a workload spec: YAML's keys are the aliases, attributes carry their unit; all frozen.

`read.py` reads, checks and digests them. Every default has its reason beside it (`why`), for `--show-spec`.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, WithJsonSchema, model_validator

from sizewell.sizing import units
from sizewell.sizing.aliases import alias
from sizewell.sizing.catalog.records import ON_PREMISES
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.registration import UNASSIGNED
from sizewell.sizing.workload.daily import ALLOWED as ALLOWED_DAILY
from sizewell.sizing.workload.daily import HOURS, PEAK_MAX, read_daily
from sizewell.sizing.workload.fields import (
    Bytes,
    Count,
    CountOrZero,
    CountRange,
    PerSecond,
    Seconds,
    SecondsOrZero,
    Share,
    ShareOrZero,
    SizeRange,
    Text,
    Usd,
    items,
    reading,
    refuse,
)
from sizewell.sizing.workload.kind_defaults import with_kind_defaults
from sizewell.sizing.workload.schedule import ALLOWED as ALLOWED_SCHEDULE
from sizewell.sizing.workload.schedule import WeeklySchedule, parse_schedule
from sizewell.sizing.workload.sections import Dimensions, Model, Section, default, model_form
from sizewell.sizing.workload.software import SOFTWARE

__all__ = ["Dimensions", "Model", "Place", "Section", "Word", "WorkloadSpec", "model_form", "place_form"]

Kind = Literal["training", "fine-tuning", "inference", "batch-inference", "notebook"]
Residency = Literal["eu", "uk", "ch", "us", "ca", "in", "jp", "au"]

NAME = r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?"
Label = Annotated[
    str, Text(r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?", "1 to 63 of a-z, 0-9, - and _, valid as a tag on every cloud")
]
Word = Annotated[str, Text(r"[A-Za-z0-9][A-Za-z0-9._:/ +-]{0,99}", "a name as the provider spells it")]


class Images(Section):
    """Images of one request (serving), sample (training) or record (batch)."""

    resolution: Count | None = default(None, "the model's own")
    per_request: Count = default(1, "one image per request")
    steps: Annotated[Count, Field(le=1000)] | None = default(None, "the model's own: 4 for distilled ones")
    guidance: bool | None = default(None, "the model's own; guidance evaluates each step twice")


class RequestLog(Section):
    """A recorded log beside the spec: rates, lengths, bursts and shared prefixes are its own."""

    file: Annotated[str, Field(min_length=1, max_length=300)]
    columns: Annotated[str, Field(max_length=300)] | None = default(None, "those of a log that is known")
    sha256: Annotated[str, Text(r"[0-9a-f]{64}", "64 of 0-9 and a-f", 64)] | None = None


class Speculative(Section):
    """Tokens that something cheaper proposes to each sequence, of which one step of the model accepts some."""

    draft: Word
    tokens: Annotated[Count, Field(le=32)] = default(5, "as vLLM's documentation proposes with a draft model")
    acceptance: ShareOrZero


class Traffic(Section):
    """Load on a service, in exactly one of the first three, or recorded; tokens are means per request.

    `burstiness` is the standard deviation of the time between arrivals over its mean: 1 is random; `input_tokens_p95`
    and `output_tokens_p95` say how far lengths spread. A load that states one of them is simulated. With
    `redundancy: n+1` one machine more than the load needs. `daily` is how the load moves around its mean. With
    `speculative` a draft model proposes tokens; how many are accepted depends on both models and on what is asked.
    """

    rps: PerSecond | None = None
    requests_per_hour: Count | None = None
    concurrent_users: Count | None = None
    requests: Annotated[RequestLog | None, BeforeValidator(lambda v: {"file": v} if isinstance(v, str) else v)] = None
    think_time_s: SecondsOrZero = default(0.0, "each user sends the next request at once", alias="think_time")
    input_tokens: CountOrZero | None = None
    output_tokens: CountOrZero | None = None
    input_tokens_p95: Count | None = None
    output_tokens_p95: Count | None = None
    images: Images | None = None
    audio_s: Seconds | None = Field(None, alias="audio")
    prefix: ShareOrZero | None = None
    burstiness: Annotated[float, Field(ge=0, le=100)] | None = None
    redundancy: Literal["n+1"] | None = None
    speculative: Speculative | None = None
    daily: (
        Annotated[
            tuple[float, ...],
            reading(read_daily),
            WithJsonSchema(
                {
                    "anyOf": [
                        {"type": "number", "minimum": 1, "maximum": PEAK_MAX},
                        *(
                            {
                                "type": "array",
                                "items": {"type": "number", "minimum": 0},
                                "minItems": hours,
                                "maxItems": hours,
                            }
                            for hours in HOURS
                        ),
                    ],
                    "description": ALLOWED_DAILY,
                }
            ),
        ]
        | None
    ) = default(None, "the same load at every hour")

    @property
    def requests_per_s(self) -> float | None:
        """Open-loop rate; None where the load is stated in concurrent users."""
        if self.rps is not None:
            return self.rps
        return None if self.requests_per_hour is None else self.requests_per_hour / 3600


class Slo(Section):
    """Upper bounds that hold at `percentile`: first token, each further token, whole answer."""

    ttft_s: Seconds | None = Field(None, alias="ttft")
    tpot_s: Seconds | None = Field(None, alias="tpot")
    latency_s: Seconds | None = Field(None, alias="latency")
    percentile: Literal["p50", "p90", "p95", "p99"] = default("p95", "what most services promise")


PROJECTIONS: Final = ("q", "k", "v", "o", "gate", "up", "down")


# Matrices of other models than Llama, by what they are parts or all of (models/*/modeling_*.py of transformers 5.24,
# Megatron Bridge's and torchtune's names for LoRA).
_NAMED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("qkv", "query_key_value", "Wqkv", "c_attn", "linear_qkv"), ("q", "k", "v")),
    **dict.fromkeys(("out", "output", "dense", "linear"), ("o",)),
    **dict.fromkeys(("gate_up", "linear_fc1"), ("gate", "up")),
    **dict.fromkeys(("dense_h_to_4h", "fc1", "fc_in", "c_fc"), ("up",)),
    **dict.fromkeys(("dense_4h_to_h", "fc2", "fc_out", "linear_fc2"), ("down",)),
}


def projections(name: str) -> tuple[str, ...]:
    """The letters of the matrices that a name stands for; () for a name that nobody knows.

    >>> projections("q_proj"), projections("query_key_value"), projections("lm_head")
    (('q',), ('q', 'k', 'v'), ())
    """
    letter = name.removesuffix("_proj")
    return (letter,) if letter in PROJECTIONS else _NAMED.get(letter, ())


def _targets(value: object) -> tuple[str, ...]:
    """Matrices that get adapters, by their letter; `q_proj` is q, `qkv_proj` q, k and v, `all-linear` all of them."""
    if value == "all-linear":
        return PROJECTIONS
    values = [value] if isinstance(value, str) else value
    stated = [projections(str(item)) for item in values] if isinstance(values, list | tuple) else []
    if not stated or not all(stated):
        from difflib import get_close_matches

        names = [f"{letter}_proj" for letter in PROJECTIONS]
        given = [str(item) for item in values] if isinstance(values, list | tuple) else []
        near = [name if projections(name) else next(iter(get_close_matches(name, names, n=1)), "") for name in given]
        fix = (
            f"write targets: [{', '.join(dict.fromkeys(near))}]" if near and all(near) else "write targets: all-linear"
        )
        raise refuse("all-linear, or a list of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj and down_proj", fix)
    return tuple(name for name in PROJECTIONS if any(name in each for each in stated))


class Lora(Section):
    """Adapter shape."""

    rank: Annotated[Count, Field(le=4096)] = default(16, "the usual rank of published recipes")
    targets: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda value: value if value == () else _targets(value)),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
    ] = default((), "the framework's default targets")


class Training(Section):
    """One run, as long as `tokens`, or `samples` x `epochs`, or `steps`.

    `global_batch` counts tokens; for a vision model, images. For dpo, orpo and reward `samples` counts pairs of
    answers, both of which are read; with `lora` adapters are trained.
    """

    tokens: Count | None = None
    samples: Count | None = None
    epochs: Count | None = None
    steps: Count | None = None
    sequence_length: Count | None = None
    global_batch: Count | None = default(
        None, "as is usual for such work, more where devices would be idle and nothing fits"
    )
    method: Literal["full", "lora", "qlora", "dpo", "orpo", "kto", "reward"] = default(
        "full", "every weight is trained"
    )
    optimizer: Literal["adamw", "adam", "adamw-8bit", "adafactor", "lion", "muon", "sgd", "lamb"] = default(
        "adamw", "used by nearly every published recipe"
    )
    lora: Lora | None = None
    activation_checkpointing: Literal["auto", "none", "selective", "full"] = default(
        "auto", "none where it fits, for speed; more where it does not"
    )
    attention: Literal["flash", "eager"] = default("flash", "current frameworks use it")
    packed: bool = default(True, "samples are packed to the sequence length")
    gradients: Literal["fp32", "bf16", "fp16"] | None = default(
        None, "as the software of the run accumulates and reduces them"
    )
    no_sync: bool | None = default(None, "gradients are reduced after every micro-batch where they are sharded")
    pipeline_schedule: Literal["1f1b", "interleaved", "gpipe"] | None = default(
        None, "1F1B, interleaved where that is faster"
    )
    images: Images | None = None
    offload: Literal["optimizer"] | None = default(None, "the optimizer steps on the accelerators")


class Batch(Section):
    """Offline inference over a set of records, to be done within a window."""

    records: Count
    tokens_per_record: Count | None = None
    output_tokens_per_record: CountOrZero = default(0, "records are classified or embedded, without output tokens")
    window_s: Seconds = Field(alias="window")
    every_s: Seconds | None = default(86_400.0, "once a day, or as often as the window allows", alias="every")
    images: Images | None = None
    audio_s: Seconds | None = Field(None, alias="audio_per_record")


class Data(Section):
    """What the workload reads, and where it may be."""

    location: (
        Annotated[
            str,
            Text(
                r"(?:(?:s3|gs|az|abfss|hf|https|file|nfs)://|/)[^\s]{1,500}",
                "a URL (s3://, gs://, az://, abfss://, https://, hf://, nfs://) or a path from /",
                600,
            ),
        ]
        | None
    ) = None
    region: str | None = None
    size_bytes: Bytes | None = Field(None, alias="size")
    residency: Residency | None = None


class Tpu(Section):
    """A TPU slice."""

    type: Annotated[str, Text(r"[a-z0-9]+", "such as v5e")]
    topology: (
        Annotated[str, Text(r"[1-9]\d*x[1-9]\d*(?:x[1-9]\d*)?", "chips along each side, such as 4x4 or 4x4x8")] | None
    ) = None


def _word(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:/ +-]{0,99}", value):
        raise refuse("a name as the provider spells it")
    return value


class Resources(Section):
    """Limits on the hardware; everything that is not said is open.

    `accelerators: {H100: 64}` is `accelerators: [H100]` with `gpus: 64`.
    """

    accelerators: Annotated[
        tuple[str, ...],
        items(_word, "a list of accelerator names such as [H100, H200], or {H100: 64} for a number of them"),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                    {"type": "object", "maxProperties": 1, "additionalProperties": {"type": ["integer", "string"]}},
                ]
            }
        ),
    ] = default((), "any that fits")
    gpus: CountRange | None = default(None, "as many as the work needs")
    instance_types: Annotated[
        tuple[str, ...],
        items(_word, "a machine type or a list of them, such as [p5.48xlarge]"),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
    ] = default((), "any that fits", alias="instance_type")
    nodes: CountRange | None = default(None, "as many as the work needs")
    gpu_memory: SizeRange | None = default(None, "as much as the model needs", alias="gpu")
    tpu: Tpu | None = None

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, data: object) -> Any:
        """`accelerators: {H100: 64}` as its two keys; both at once are left to be refused."""
        named = data.get("accelerators") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(named, dict) or len(named) != 1 or "gpus" in data:
            return data
        [(name, count)] = named.items()
        return {**data, "accelerators": [name], "gpus": count}


PLACE: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^[a-z0-9-]{1,40}(/[a-z0-9-]{1,40}){0,2}$",
    "description": "a cloud, or cloud/region, or cloud/region/zone",
    "examples": ["gcp", "aws/us-east-1"],
}


class Place(Section):
    """A cloud, or one region or zone of it."""

    cloud: str
    region: str | None = None
    zone: str | None = None

    def __str__(self) -> str:
        return "/".join(part for part in (self.cloud, self.region, self.zone) if part)


def place_written(written: str) -> str:
    """A place in the form that is read, of one that somebody wrote as a vendor shows it; "" where there is none.

    >>> [place_written(text) for text in ("azure/West Europe", "AWS", "Google Cloud/us-central1", "aws.us-east-1", "?")]
    ['azure/westeurope', 'aws', 'gcp/us-central1', 'aws/us-east-1', '']
    """
    words = re.split(r"[\s/:.,]+", written.strip())
    heads = (" ".join(words[:number]).lower() for number in range(min(len(words), 3), 0, -1))
    head = next((text for text in heads if alias("cloud", text) or text in CLOUDS), words[0].lower())
    row = alias("cloud", head)
    cloud = row.meant if row and row.meant else head
    after = re.sub(r"\W+".join(map(re.escape, head.split())), "", written.strip(), flags=re.IGNORECASE)
    console = re.sub(r"^[^/]*\((.*)\)$", r"\1", after.strip(" /:.,")).replace("N. ", "N ")  # US East (N. Virginia)
    parts = [part.strip().lower() for part in re.split(r"[/:.,]+", console) if part.strip()]
    rest = [part.replace(" ", "" if cloud == "azure" else "-") for part in parts]
    meant = "/".join([cloud, *rest])
    return meant if re.fullmatch(r"[a-z0-9-]{1,40}(?:/[a-z0-9-]{1,40}){0,2}", meant) else ""


def place_form(value: object) -> dict[str, str | None]:
    """A place as it is written, as the fields of `Place`."""
    allowed = "a cloud, or cloud/region, or cloud/region/zone, such as gcp or aws/us-east-1"
    if isinstance(value, Place):
        return value.model_dump()
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9-]{1,40}(?:/[a-z0-9-]{1,40}){0,2}", value):
        parts = [value.get(key) for key in ("cloud", "region", "zone")] if isinstance(value, dict) else []
        meant = place_written("/".join(str(part) for part in parts if part) or str(value))
        raise refuse(allowed, f"write infra: [{meant}]" if meant else "")
    cloud, region, zone = (*value.split("/"), None, None)[:3]
    return {"cloud": ON_PREMISES if cloud in ("on-prem", "onprem") else cloud, "region": region, "zone": zone}


class Block(Section):
    """A capacity block: bought once, for a window, never unless `purchase` says confirmed."""

    duration_s: Seconds = Field(alias="duration")
    start: (
        Annotated[
            str,
            Text(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?", "an ISO date or time"),
        ]
        | None
    ) = default(None, "the earliest offered")
    max_price_usd: Usd | None = Field(None, alias="max_price")
    purchase: Literal["confirmed", "unconfirmed"] = default("unconfirmed", "nothing is bought unless confirmed")
    id: Word | None = None


class FlexStart(Section):
    """Capacity that starts when there is some (Dynamic Workload Scheduler), for a bounded time."""

    max_run_s: Seconds | None = Field(None, alias="max_run")


class SavingsPlan(Section):
    """A commitment to spend, for a term."""

    term: Literal["1y", "3y"]


class Capacity(Section):
    """How the machines are got hold of: at most one of these."""

    block: Block | None = None
    reservation: Word | None = None
    flex_start: Annotated[FlexStart | None, BeforeValidator(lambda v: {} if v is True else v)] = None
    savings_plan: Annotated[SavingsPlan | None, BeforeValidator(lambda v: {"term": v} if isinstance(v, str) else v)] = (
        None
    )


def _interval(value: object) -> float | None:
    if value is None or value == "auto":
        return None
    try:
        seconds = units.duration_s(value)
    except units.UnitError as error:
        raise refuse(f"auto, or {error.allowed}", error.fix) from None
    if seconds < 1:
        raise refuse("auto, or at least 1s")
    return seconds


class Checkpoint(Section):
    """How often training state is kept; checkpoints outlive their cluster."""

    interval_s: Annotated[
        float | None,
        BeforeValidator(_interval),
        WithJsonSchema({"type": "string", "description": "auto, or " + units.ALLOWED_DURATION}),
    ] = default(None, "auto: the interval that loses least, by Young and Daly", alias="interval")
    keep: Annotated[Count, Field(le=1000)] = default(2, "one intact checkpoint while the next is written")
    on_destroy: Literal["retain"] = default("retain", "checkpoints outlive their cluster")


class Budget(Section):
    """Upper limits; over them, `sizewell size` answers with exit code 2."""

    per_run_usd: Usd | None = Field(None, alias="per_run")
    monthly_usd: Usd | None = Field(None, alias="monthly")


class Idle(Section):
    """When accelerators count as idle, and what happens then."""

    min_gpu_utilization: Share = default(0.05, "working accelerators are above it")
    window_s: Seconds = default(2700.0, "longer than loading a model or a pause between epochs", alias="window")
    grace_s: Seconds = default(3600.0, "time for a person to object", alias="grace")
    action: Literal["scale-to-zero", "notify"] = default("scale-to-zero", "idle accelerators are the largest waste")


class Schedule(Section):
    """When it may run."""

    on: Annotated[
        WeeklySchedule,
        reading(parse_schedule),
        WithJsonSchema({"type": "string", "description": ALLOWED_SCHEDULE, "examples": ["Mon-Fri 07:00-21:00 UTC"]}),
    ]


SERVERLESS: Final = ("serverless", "sagemaker-serverless")  # what people call SageMaker's serverless inference


def _managed(value: object) -> object:
    if value in SERVERLESS:
        raise refuse(
            "a service that decisions can name: SageMaker's serverless inference has no accelerators and at most 6 GB, "
            "its price has no source, and its behaviour under load is not predicted",
            "use managed: sagemaker (rare requests that may wait get an endpoint that scales to zero), or the "
            "ServerlessEndpoint component in a program of your own",
        )
    return value


if TYPE_CHECKING:
    from sizewell.sizing.workload.request_log import Log

    EngineName = str
else:
    EngineName = Literal[tuple(SOFTWARE)]


class Engine(Section):
    """The software that runs the model."""

    name: EngineName
    version: Annotated[str, Text(r"\d+(?:\.\d+){0,3}[a-z0-9.]*", "a version such as 0.11.0")] | None = default(
        None, "the newest known version"
    )


class Team(Section):
    """Who runs it; with `utilization`, what `managed: auto` goes by."""

    platform_engineers: Annotated[CountOrZero, Field(le=10_000)] = default(1, "someone operates the clusters")


class WorkloadSpec(Section):
    """What is wanted, as `read_spec` read it: base units, defaults filled in, contradictions refused."""

    model_config = ConfigDict(title="Sizewell workload spec")

    name: Annotated[str, Text(NAME, "1 to 40 characters a-z, 0-9 and -, starting with a letter")]
    kind: Kind
    model: Annotated[Model, BeforeValidator(model_form)] | None = None
    framework: Literal["pytorch", "jax", "tensorflow"] = default("pytorch", "runs on every GPU in the catalog")
    engine: Annotated[Engine | None, BeforeValidator(lambda v: {"name": v} if isinstance(v, str) else v)] = default(
        None, "vllm or triton for serving, PyTorch's FSDP or JAX for training: what is launched"
    )
    traffic: Traffic | None = None
    slo: Slo | None = None
    training: Training | None = None
    batch: Batch | None = None
    data: Data | None = None
    deadline_s: Seconds | None = Field(None, alias="deadline")
    resources: Resources = Field(default_factory=Resources)
    infra: Annotated[
        tuple[Place, ...],
        items(place_form, "a list of clouds or cloud/region, such as [aws/us-east-1, gcp]"),
        WithJsonSchema(
            {
                "anyOf": [
                    PLACE,
                    {"type": "array", "items": PLACE, "minItems": 1},
                ],
                "description": "where it may run: clouds, regions or zones",
            }
        ),
    ] = default((), "every cloud that a component can build on")
    spot_policy: Literal["spot", "on-demand", "auto"] = default("auto", "spot where interruption costs only time")
    capacity: Capacity | None = None
    checkpoint: Checkpoint | None = None
    utilization: Share | None = default(None, "what the traffic, run or schedule implies")
    managed: Annotated[
        Literal["sagemaker", "hyperpod", "vertex", "cloud-run", "azureml", "raw", "auto"],
        BeforeValidator(_managed),
    ] = default("auto", "by price and team")
    scheduler: Literal["kubernetes", "ray", "slurm", "none", "auto"] = default("auto", "by kind and number of nodes")
    budget: Budget | None = None
    idle: Idle | None = None
    schedule: Schedule | None = None
    ttl_s: Seconds | None = default(None, "the stack does not expire", alias="ttl")
    owner: Label = default(UNASSIGNED, "no owner; a policy reports that")
    cost_center: Label = default(UNASSIGNED, "none is named")
    team: Team | None = None
    objective: Literal["cost", "time", "balanced"] = default("cost", "the cheapest that meets deadline and slo")

    _given: frozenset[str] = PrivateAttr(default=frozenset())
    _origin: str = PrivateAttr(default="")
    _log: Log | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> Any:
        return with_kind_defaults(data) if isinstance(data, dict) else data

    @property
    def given(self) -> frozenset[str]:
        """Dotted keys that the file states itself; all others are defaults."""
        return self._given

    @property
    def origin(self) -> str:
        """The file (or other origin) that the spec was read from, as it was named."""
        return self._origin

    @property
    def log(self) -> Log | None:
        """The requests that `traffic.requests` names."""
        return self._log

    def digest(self) -> str:
        """sha256 of the resolved content: the same for `1h` and `60m`, other when a default changes."""
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()

    def canonical_json(self) -> str:
        """The resolved content in base units, keys sorted: what the digest is taken of."""
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        if data.get("model", {}).get("config_content") is not None:
            data["model"].pop("config", None)  # the content counts, not where the file lies
        if data.get("traffic", {}).get("requests") is not None:
            data["traffic"]["requests"].pop("file")
        return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
