"""The decision: the lock file of a stack, `stacks/decisions/<stack>.json`. Reading, writing and its JSON form.

It is written by `sizewell size SPEC... --stack NAME`, committed and reviewed; `pulumi up` builds what it says and
chooses nothing. The same input, date and catalog give the same bytes. Money is a decimal in a string.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sizewell.sizing import money
from sizewell.sizing.catalog.in_stock import InStock
from sizewell.sizing.catalog.records import PROVISIONABLE
from sizewell.sizing.errors import DecisionError
from sizewell.sizing.files import conflict_line, write_whole
from sizewell.sizing.money import Interval, LineItem, Priced, Unpriced
from sizewell.sizing.versions import refusal

SCHEMA: Literal["sizewell.decision/1"] = "sizewell.decision/1"


# What a decision's file is told otherwise than other documents: no person writes it.
_TOLD = {"unknown key": "is an unknown key: another version or a person wrote it"}


def _version_refused(text: str) -> tuple[str, str] | None:
    """Why this release does not read a decision's version, and the way out; None where it does, or nobody can tell."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict) or "schema" not in data:
        return None
    wrong = refusal("decision", data["schema"])
    return wrong if wrong[0] else None


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)


def _canonical(data: dict[str, object]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class Bounds(_Record):
    """Floor <= expected <= ceiling, of a quantity or of US dollars."""

    floor: Decimal
    expected: Decimal
    ceiling: Decimal

    @classmethod
    def of(cls, interval: Interval) -> Bounds:
        return cls(floor=interval.floor, expected=interval.expected, ceiling=interval.ceiling)

    @classmethod
    def of_known(cls, cost: Interval | Unpriced) -> Bounds | None:
        """None for what nobody knows."""
        return None if isinstance(cost, Unpriced) else cls.of(cost)

    def interval(self) -> Interval:
        return Interval(self.floor, self.expected, self.ceiling)


class SpecRef(_Record):
    """Which spec a workload was sized from: its name and the sha256 of the resolved spec."""

    name: str
    digest: str


class CapacityBlock(_Record):
    """A purchase of capacity for a window: never bought unless `purchase` says "confirmed"."""

    duration_hours: int
    start: str | None = None  # ISO time; None: the earliest offered
    max_price_usd: Decimal | None = None
    purchase: Literal["confirmed", "unconfirmed"] = "unconfirmed"
    id: str | None = None  # of a block that is bought already


class Capacity(_Record):
    """How the machines are got hold of: exactly one mode."""

    mode: Literal["on-demand", "spot", "reservation", "capacity-block", "flex-start", "queued"]
    reservation: str | None = None
    block: CapacityBlock | None = None


class Fallback(_Record):
    """Where to go when the first choice has no capacity."""

    instance_type: str
    region: str
    zones: tuple[str, ...] = ()
    market: str


class Pool(_Record):
    """A group of equal machines."""

    @property
    def adopted(self) -> bool:
        """Whether its machines already exist: no component makes them, a stack adopts their cluster."""
        return self.cloud not in PROVISIONABLE

    role: str  # "workers", "replicas", "notebook", ...
    cloud: str  # aws | gcp | azure, else where an adopted cluster stands: on-premises, coreweave, ...
    region: str  # "all" where the machines have no region
    zones: tuple[str, ...] = ()
    instance_type: str
    accelerator: str  # catalog key; "" for CPU machines
    accelerators_per_node: int
    tpu_topology: str | None = None
    market: Literal["on-demand", "spot", "reserved-1y", "reserved-3y", "capacity-block", "flex-start", "purchase"]
    capacity: Capacity
    nodes_min: int
    nodes_initial: int
    nodes_max: int
    fallbacks: tuple[Fallback, ...] = ()
    node_hours_per_month: Bounds
    disk_bytes_per_node: int
    managed: Literal["raw", "sagemaker", "hyperpod", "vertex", "azureml", "cloud-run"] = "raw"
    served: Literal["async"] | None = None  # requests wait in a queue, and no machine stands while it is empty
    provision: Literal["fleet"] | None = None  # spot machines of several types; None: a group of one type


class Parallelism(_Record):
    """How training is split over the devices; see `sizing.jobs.Layout`."""

    tensor: int = 1
    pipeline: int = 1
    virtual_pipeline: int = 1
    context: int = 1
    data: int = 1
    expert: int = 1
    zero_stage: int = 0
    shard_group: int = 0
    micro_batch: int = 1
    gradient_accumulation: int = 1
    checkpointing: str = "none"


class Replicas(_Record):
    """Copies of the served model, and how many devices each takes."""

    min: int
    initial: int
    max: int
    devices_per_replica: int
    concurrency_per_replica: int | None = None
    in_flight_target: float | None = None  # on each, above which the autoscaler adds one; None: by the concurrency
    spare: int | None = None  # of these, beyond those that the requests in flight ask for


class Memory(_Record):
    """Peak bytes on the fullest device against what is usable there."""

    per_device_bytes: int
    usable_bytes: int
    low_bytes: int
    high_bytes: int
    grade: str
    breakdown: dict[str, int]


class Performance(_Record):
    """The figure that the choice rests on, its grade and 80 % band, and what else is known about the run."""

    metric: str  # "run_time_s", "requests_per_s", ...
    value: float
    low: float
    high: float
    grade: str
    bottleneck: str
    figures: dict[str, float]  # unit last in the name: step_s, tokens_per_s, ttft_s, tpot_s, mfu, ...
    waterfall: dict[str, float] = Field(default_factory=dict)  # seconds of one step


class Guard(_Record):
    """When the pool counts as idle and what happens then."""

    signal: str  # "accelerator_utilization", "requests"
    min_utilization_percent: float
    window_s: int
    grace_s: int
    action: str  # scale-to-zero | notify


class Schedule(_Record):
    """Hours in which the pool may run, in an IANA time zone."""

    text: str
    hours_per_week: Decimal
    time_zone: str
    windows: tuple[tuple[str, str, str], ...] = ()  # (days "mon-fri", start "07:00", end "21:00")


class Checkpoint(_Record):
    """Where training state goes and how often."""

    store: str  # name of the store, "<stack>-<workload>"
    interval_s: float
    keep: int
    on_destroy: Literal["retain"] = "retain"
    bytes_each: int


class Storage(_Record):
    """Data the workload reads."""

    kind: str  # "fsx-lustre", "filestore", "managed-lustre", "object"
    bytes: int
    location: str | None = None
    gib: int | None = None  # of the file system, as it is sold
    mb_per_s_per_tib: int | None = None  # its throughput tier, where there are several
    bytes_per_s: float | None = None  # what the job reads, over all machines


class Task(_Record):
    """What the machines are to do, as the spec says it and a job's template needs it; None: does not apply."""

    model: str | None = None  # a name of the catalog, or the path of a config.json; None: by its dimensions
    model_type: str | None = None  # of a config.json, as an engine looks for its layers
    dimensions: dict[str, int] | None = None  # where no name says them: layers, hidden, heads, ...
    not_built_in: tuple[str, ...] | None = None  # what the entry scripts' own transformer lacks of it
    engine: str | None = None  # software that the spec names; None: what is launched by default
    engine_version: str | None = None
    family: str | None = None  # decoder | encoder | speech | vision | diffusion
    experts: int | None = None  # of a mixture that is trained: routed experts of a layer
    resolution: int | None = None  # of images: pixels along a side
    precision: str | None = None  # of the computation
    weights: str | None = None  # as they are stored: bf16 | fp8 | int4 | nf4 | ...
    loading_bytes: int | None = (
        None  # of 16-bit weights on a device, where they do not fit: made so layer by layer alone
    )
    kv: str | None = None  # of the KV cache; None: 16 bits
    adapters: int | None = None  # LoRA adapters that are served on the model
    adapters_resident: int | None = None  # of them in device memory at once
    adapter_rank: int | None = None  # that room is reserved for
    expert_parallel: bool | None = None  # served over several devices, each with whole experts
    draft: str | None = None  # model that proposes tokens in speculative decoding, or ngram
    draft_tokens: int | None = None  # that it proposes before each step
    method: str | None = None  # pretrain | full | lora | qlora
    optimizer: str | None = None
    offload: str | None = None  # optimizer: its state and its step are the host's
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | None = None  # all-linear, or q_proj and its like: as Llama names its matrices
    no_sync: bool | None = None  # gradients are reduced after the last micro-batch of a step alone
    sequence_length: int | None = None  # training: of a sample; serving: of a mean request, prompt and answer together
    request_tokens_max: int | None = None  # serving: of the longest request that the engine takes
    samples_per_step: int | None = None
    steps: int | None = None
    records: int | None = None  # of a batch
    input_tokens: int | None = None
    output_tokens: int | None = None
    users: int | None = None  # who wait for their answer before they ask again
    ttft_s: float | None = None  # upper bounds at the percentile
    tpot_s: float | None = None
    latency_s: float | None = None
    percentile: float | None = None  # 0.95
    deadline_s: float | None = None


class LineItemRecord(_Record):
    """A `sizing.money.LineItem` as JSON."""

    component: str
    what: str
    unit: str
    cadence: Literal["monthly", "once"]
    quantity: Bounds
    usd_per_unit: Decimal | None = None
    source: str = ""
    date: str = ""
    unpriced: str | None = None
    how: str = ""
    confidence: str = ""

    @classmethod
    def of(cls, item: LineItem) -> LineItemRecord:
        price: dict[str, Any] = (
            {"unpriced": item.price.reason}
            if isinstance(item.price, Unpriced)
            else {"usd_per_unit": item.price.amount, "source": item.price.source, "date": item.price.date}
        )
        return cls(
            component=item.component,
            what=item.what,
            unit=item.unit,
            cadence=item.cadence,
            quantity=Bounds.of(item.quantity),
            how=item.how,
            confidence=item.confidence,
            **price,
        )

    def item(self) -> LineItem:
        price: Priced | Unpriced
        if self.usd_per_unit is None:
            price = Unpriced(self.unpriced or "no price in the decision")
        else:
            price = Priced(self.usd_per_unit, self.source, self.date)
        return LineItem(
            component=self.component,
            what=self.what,
            unit=self.unit,
            cadence=self.cadence,
            quantity=self.quantity.interval(),
            price=price,
            how=self.how,
            confidence=self.confidence,
        )


class Cost(_Record):
    """Sums of the line items; run-rate in US dollars per month, one-off in US dollars, never added together.

    A sum is None where one of its lines has no price; `unpriced` names those, `Workload.bill` has what is priced.
    """

    run_rate: Bounds | None = None
    one_off: Bounds | None = None
    unpriced: tuple[str, ...] = ()
    alone_usd_per_month: Decimal | None = None  # expected, with all that a stack has once: as alternatives are priced
    per_run_usd: Decimal | None = None
    per_million_tokens_usd: Decimal | None = None
    per_thousand_samples_usd: Decimal | None = None
    per_audio_hour_usd: Decimal | None = None  # of speech recognition: a sample is half a minute
    assumed_level: str | None = None  # where slo is not stated: what is assumed, and the price at other levels


class Alternative(_Record):
    """A runner-up, and why it lost. May be something that cannot be provisioned (another cloud, on-premises, edge)."""

    cloud: str
    region: str
    instance_type: str
    accelerator: str
    nodes: int
    market: str
    managed: str | None = None  # the service that would run it; None: we ourselves
    weights: str | None = None  # stored in fewer bits than the choice; None: as the choice
    usd_per_month: Decimal | None = None
    usd_per_run: Decimal | None = None
    performance: float | None = None  # in the metric of the chosen option
    why_not: str


class RejectionGroup(_Record):
    """Shapes that do not serve, grouped by cause; `example` has the numbers of one of them."""

    cause: str
    count: int
    example: str
    shapes: tuple[str, ...]


class Workload(_Record):
    """What was chosen for one spec, and why."""

    spec: SpecRef
    kind: Literal["training", "fine-tuning", "inference", "batch-inference", "notebook"]
    pools: tuple[Pool, ...]
    parallelism: Parallelism | None = None
    replicas: Replicas | None = None
    memory: Memory
    performance: Performance
    guard: Guard | None = None
    schedule: Schedule | None = None
    checkpoint: Checkpoint | None = None
    storage: Storage | None = None
    task: Task | None = None
    interruptible: bool = False
    framework: str = "pytorch"
    scheduler: str = "none"
    budget: dict[str, Decimal] = Field(default_factory=dict)  # usd_per_month, usd_per_run
    line_items: tuple[LineItemRecord, ...]
    cost: Cost
    alternatives: tuple[Alternative, ...] = ()
    rejections: tuple[RejectionGroup, ...] = ()
    assumptions: tuple[str, ...] = ()

    def bill(self) -> money.Cost:
        """The sums of the line items, by the arithmetic of previews and policies."""
        return money.total(record.item() for record in self.line_items)

    def run(self) -> money.OneOff | None:
        """The machines of one run; its unpriced lines are the workload's own, not those of a network it shares.

        None where the work does not end, or the machines have no price.
        """
        usd = self.cost.per_run_usd
        if usd is None:
            return None
        cost = money.total(r.item() for r in self.line_items if r.component == self.spec.name)
        return money.OneOff(Interval.exactly(usd), cost.run_rate.unpriced + cost.one_off.unpriced)


class CatalogRef(_Record):
    """Which facts the decision rests on: sha256 over the shipped catalog, and the newest date of its prices."""

    digest: str
    as_of: str


class Decision(_Record):
    """What a stack is to be; see the module's docstring."""

    schema_: Literal["sizewell.decision/1"] = Field(SCHEMA, alias="schema")
    stack: str
    environment: str
    decided_on: date
    expires_at: date | None = None
    owner: str
    cost_center: str
    catalog: CatalogRef
    in_stock: InStock | None = None  # what the clouds said of their stock, where they were asked
    workloads: tuple[Workload, ...]
    seal: str = ""  # sha256 over the rest, set by `to_json`; a file that was edited by hand does not carry its own

    def digest(self) -> str:
        """sha256 of the content without the seal: what components register as `decisionDigest`."""
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"seal"})
        return hashlib.sha256(_canonical(data).encode()).hexdigest()

    @property
    def edited(self) -> bool:
        """Whether the file was changed after it was written (its seal does not match its content)."""
        return self.seal != self.digest()

    def to_json(self) -> str:
        """Canonical JSON: declaration order, two spaces, a newline at the end; `None` fields left out; sealed."""
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"seal"})
        return _canonical({**data, "seal": hashlib.sha256(_canonical(data).encode()).hexdigest()})

    @classmethod
    def from_json(cls, path: Path) -> Decision:
        """Read a decision file; DecisionError names the file, the field and what to do."""
        way_out = f"run `sizewell size --stack {path.stem}` and commit the file"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise DecisionError(f"{path}: no such decision\n  fix: {way_out}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DecisionError(f"{path}: cannot be read: {error}\n  fix: {way_out}") from None
        if conflict_line(text):
            raise DecisionError(
                f"{path}: has the conflict markers of a merge (<<<<<<<, >>>>>>>): two branches decided the stack\n"
                f"  fix: keep the specs of both, then decide again: `sizewell size --stack {path.stem}`; commit it"
            )
        if wrong := _version_refused(text):
            raise DecisionError(f"{path}: schema: {wrong[0]}\n  fix: {wrong[1]}, or {way_out}")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            from sizewell.sizing.validating import faults_of

            found = [
                replace(fault, fix="", message=_TOLD.get(fault.message, fault.message))
                for fault in faults_of(error, cls)
            ]
            lines = "\n".join(f"{path}: {fault}" for fault in found[:5])
            raise DecisionError(f"{lines}\n  fix: {way_out}") from None

    def write(self, path: Path) -> None:
        """Write whole or not at all."""
        write_whole(path, self.to_json())
