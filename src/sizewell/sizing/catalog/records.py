"""The kinds of fact in the catalog, one frozen record each; bytes, seconds, FLOP/s and US dollars inside.

What a machine is (`Shape`) and what it costs where and on which terms (`Offer`) are two records.
`source` and `checked` (ISO date) stand on every record; "" never means 0, absence means "not offered" or "not known".

The fields, in their order, are the columns of the tables under `data/`, and their annotations what a cell may hold
(`table`). Annotations are objects here, not texts (no `from __future__ import annotations`): to evaluate 200 texts
would take 2 ms at each start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, get_args

from sizewell.csvtables import NOT_IN_TABLE, Day, DayOrNone, Spread, Text, one_of
from sizewell.sizing.catalog.table import Source, Sources
from sizewell.sizing.money import ESTIMATE, Priced
from sizewell.sizing.providers import CLOUDS

Cloud = str  # aws | gcp | azure, else another GPU cloud ("lambda", "coreweave", ...), "on-premises" or "edge"
PROVISIONABLE: Final = CLOUDS
EDGE: Cloud = "edge"  # devices that are sized, and that nothing here provisions
ON_PREMISES: Cloud = "on-premises"

TRAITS: Mapping[str, str] = {
    "rack": "a machine of an NVLink rack: Arm, its own driver and network cards, sold as a rack",
    "virtual-gpu": "its GPU, or a part of one, comes from a hypervisor: NVIDIA's GRID driver",
    "confidential": "a confidential virtual machine",
    "announced-maintenance": "its host is serviced at announced times",
}
FAMILY_TRAITS: Mapping[str, str] = {
    "accelerated": "carries accelerators",
    "local-disk": "keeps its data on disks of its own",
    "clustered": "sold for jobs over several machines",
    "infiniband": "has InfiniBand",
    "packed-flex-start": "flex-start may place its machines together",
    "attachable": "accelerators are attached to it, and priced apart",
    "second-generation": "boots images of Azure's generation 2 alone",
    "sustained-use": "has a percentage off by itself where it runs the whole month",
    "arm": "has Arm processors",
    "templates-alone": "is started by launch templates, not by launch configurations",
    "burstable": "has its full speed for as long as its credits last",
    "own-windows-rate": "pays for Windows at a rate of its own, which the catalog does not have",
}

Market = Literal[
    "on-demand", "spot", "reserved-1y", "reserved-3y", "capacity-block", "flex-start", "calendar", "purchase"
]
Grade = Literal["high", "medium", "low", "estimate"]
MARKETS: tuple[str, ...] = get_args(Market)
PRECISIONS: Final = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")


def _by_precision(precisions: tuple[str, ...]) -> Spread:
    """A column each, empty where the figure is not known."""

    def join(cells: tuple[Any, ...]) -> dict[str, float]:
        return {name: value for name, value in zip(precisions, cells, strict=True) if value is not None}

    return Spread(before=precisions, cell=float | None, join=join, split=lambda by: tuple(map(by.get, precisions)))


FlopPerS = Annotated[Mapping[str, float], _by_precision(PRECISIONS)]
FlopPerCycle = Annotated[Mapping[str, float], _by_precision(("fp32", "int8"))]
Interruption = Annotated[str, one_of(("", "<5%", "5-10%", "10-15%", "15-20%", ">20%"))]
Unlisted = Annotated[int, NOT_IN_TABLE]  # a dimension that a model's configuration states and no row of the catalog
LowHigh = Annotated[
    tuple[int, int] | None,
    Spread(
        after=("low", "high"),
        cell=int | None,
        join=lambda ends: None if ends[0] is None else (ends[0], ends[1] or 0),
        split=lambda ends: ends or (None, None),
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator chip (or die sold as a device): datasheet facts, dense FLOP/s, never the sparse figures.

    `memory_bytes` is what the driver reports where that is known, not the name on the box.
    `link_bytes_per_s` is bidirectional per chip, over the scale-up fabric (NVLink, xGMI, ICI, NeuronLink) or PCIe.
    """

    key: str  # "h100-sxm"
    vendor: str  # nvidia | amd | google | aws | intel | ...
    name: str  # "H100 SXM5 80GB"
    family: str  # hopper | ampere | ada | blackwell | turing | volta | tpu | trainium | inferentia | cdna3 | gaudi ...
    memory_bytes: int
    memory_bytes_per_s: float
    shared_cache_bytes: int | None  # on the chip, shared by all of its units; not scratchpads that a compiler divides
    flop_per_s: FlopPerS  # dense, by precision: fp32 tf32 bf16 fp16 fp8 fp4 int8
    link: Text  # "NVLink 4", "PCIe 4.0 x16", "ICI 2D torus", ...
    link_bytes_per_s: float | None
    scale_up_max: int  # most chips in one scale-up domain; 1 where chips talk over PCIe only
    tdp_w: float | None
    year: int | None
    purchase_usd: LowHigh  # low, high
    frameworks: tuple[str, ...]  # pytorch | jax | tensorflow
    runtime: str  # cuda | rocm | tpu | neuron | gaudi | other
    processes_per_device: int  # logical cores that each run a process; 1 but on Neuron
    matrix_width: int | None  # of a TPU's matrix units
    exponentials_per_clock: int | None  # of each multiprocessor, where it is not its family's
    no_builds: Text  # why the frameworks' released builds leave it out; "" where they do not
    aliases: tuple[str, ...]  # other spellings in provider and published data
    note: Text
    source: Source
    checked: Day
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a machine type is, in one cloud; what it costs is an `Offer`."""

    cloud: Cloud
    instance_type: str
    accelerator: Text  # key of an Accelerator; "" for a CPU machine
    accelerators: int
    vcpus: int | None
    memory_bytes: int | None
    network_bytes_per_s: float | None  # all interfaces together
    fabric: Text  # "efa", "infiniband", "gpudirect-tcpx", "gpudirect-tcpxo", "gpudirect-rdma", "ici", "" (plain)
    fabric_bytes_per_s: float | None = None  # the RDMA or GPUDirect part of the network; None where there is none
    rdma_interfaces: int  # EFA interfaces, RDMA NICs
    scale_up: int  # accelerators of this machine in one fast domain; 1 where they talk over PCIe only
    local_nvme_bytes: int
    architecture: Annotated[str, one_of(("", "x86_64", "arm64"))]  # x86_64 | arm64; "" where nobody wrote it down
    network_cards: int  # cards that a network interface is stated for; more than `rdma_interfaces`: the first is for IP
    boot_disk: Text  # type that it boots from, where the cloud has several and not all fit; Google Cloud
    temporary_bytes: int  # temporary disk that can hold an ephemeral operating system disk; Azure
    cloud_accelerator: Text  # the cloud's own name of the accelerator: "nvidia-l4"; "" where its machines have none
    packing: frozenset[str]  # markets in which machines may be placed together; or "workload-policy", which does it
    traits: frozenset[str]  # see `TRAITS`
    traits_source: Sources
    runtime: Annotated[str, NOT_IN_TABLE]  # the accelerator's; "" for a CPU machine
    managed: frozenset[str]  # SageMaker's uses (training hosting notebook hyperpod ...); cloud-run
    markets: frozenset[str]  # markets the provider sells this type in, prices known or not
    quota: Mapping[str, str]  # market -> quota code or metric
    purchase_usd: LowHigh = None  # low, high for the whole machine; on-premises and edge
    power_w: float | None = None  # at full load, for the whole machine; on-premises and edge
    note: Text
    source: Source
    checked: Day
    confidence: Grade

    @property
    def carries(self) -> str:
        """What computes in it, in words: "8 x h100-sxm", "no accelerator"."""
        return f"{self.accelerators} x {self.accelerator}" if self.accelerator else "no accelerator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """The processor of machine types without accelerators, one socket of it: datasheet facts.

    Where a cloud names several for one type, the slowest: no machine with a better one is promised.
    """

    cloud: Cloud
    pattern: str  # a regular expression for the whole name of the machine types that have it
    name: str
    cores: int
    threads_per_core: int  # a vCPU is a thread
    clock_hz: float  # base clock: what wide vector units keep up on all cores
    memory_bytes_per_s: float  # all channels of the socket
    flop_per_cycle: FlopPerCycle  # of a core's vector units, by precision: fp32 int8; those of matrix units not
    instructions: tuple[str, ...]  # avx512 | vnni | amx
    source: Source
    checked: Day
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a machine type's name says of it, for programs that name types which the catalog has no row for."""

    cloud: Cloud
    pattern: str  # a regular expression for the whole name, in any case; without SageMaker's "ml."
    trait: Annotated[str, one_of(tuple(FAMILY_TRAITS))]  # see `FAMILY_TRAITS`
    source: Source
    checked: Day
    percent: int = 0  # what the trait comes to, where it is a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """One legal TPU slice."""

    generation: str  # v4 | v5e | v5p | v6e | tpu7x
    accelerator: str  # key of an Accelerator
    machine_type: str  # "ct6e-standard-4t"
    topology: str  # "4x4"
    chips: int
    chips_per_vm: int
    vms: int
    multi_host: bool
    gke_label: Text  # "tpu-v6e-slice"
    api_type: Text  # "v6e-16"
    source: Source
    checked: Day


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A price for a shape: where, in which market, since when. `usd_per_hour` is for the whole machine."""

    cloud: Cloud
    instance_type: str
    region: str  # "all" where the seller has one price
    zone: Text  # "" for the whole region
    market: Market
    usd_per_hour: Decimal
    effective_from: Day
    effective_to: DayOrNone  # "" while in force
    basis: str  # "list", "observed", "estimate: ..."
    source: Source
    confidence: Grade
    interruption: Interruption = (
        ""  # of spot, share reclaimed in a month as the vendor's advisor gives it: "<5%", "5-10%", ...
    )

    @property
    def is_estimate(self) -> bool:
        """Whether nobody lists the price or quotes it."""
        return self.basis.startswith(ESTIMATE) or self.confidence == ESTIMATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A price that some list shows but that is no offer, and why: retired, not sold that way, no spot capacity."""

    cloud: Cloud
    instance_type: str
    region: str
    zone: Text
    market: str
    listed_usd_per_hour: Decimal | None
    date: Day
    retired_on: DayOrNone  # when the machine type was retired; "" where it is withheld for another reason
    reason: str
    source: Source

    @property
    def why(self) -> str:
        """In words, with the day on which it was retired."""
        return f"retired {self.retired_on}: {self.reason}" if self.retired_on else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Sold:
    """That a machine type is sold in a region, said by a source that has no price: what may be estimated there.

    A row of the table may name several regions, separated by " | ".
    """

    cloud: Cloud
    instance_type: str
    region: str
    source: Source
    checked: Day


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Where a provider's region is and who may use it."""

    cloud: Cloud
    region: str
    area: str  # eu | europe | us | canada | latin-america | asia-pacific | middle-east | africa
    country: str  # ISO 3166 alpha-2
    access: Literal["open", "restricted", "government"]
    place: str
    zones: tuple[str, ...] = ()
    """What follows the region's name in those of its zones, on AWS also in their ids, as a or az1; on Azure their
    numbers. NO_ZONES where it has none; () where that is not known. Local zones are not among them."""
    zones_source: Sources = ""
    source: Source
    checked: Day


NO_ZONES: Final = ("none",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Zones:
    """The zones of a region in which a machine type is sold.

    AWS's zones are ids, as use1-az4: its names (us-east-1a) are other places in other accounts. A type that stands in
    no row may be in every zone of its regions: nobody wrote it down.
    """

    cloud: Cloud
    instance_type: str
    region: str
    zones: tuple[str, ...]
    source: Source
    checked: Day


@dataclass(frozen=True, slots=True, kw_only=True)
class Fee:
    """Anything else that bills: storage, egress, gateways, control planes, managed premiums."""

    cloud: Cloud
    key: str  # stable: "eks.control_plane", "s3.standard", "nat.hour"
    name: str
    unit: str  # "hour", "GB-month", "GB", "percent", ...
    region: str  # "all" or a region; prices of other regions are unknown, not equal
    usd: Decimal  # per unit; a percentage for unit "percent"
    from_quantity: Decimal  # lower bound of the tier this row prices; 0 for the first or only tier
    effective_from: Day
    source: Source
    confidence: Grade

    @property
    def price(self) -> Priced:
        """What the list says, before own rates."""
        return Priced(self.usd, self.source, self.effective_from, ESTIMATE if self.confidence == ESTIMATE else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """Who sells inference or machines that nothing here provisions: what it suits, and why it is not built."""

    seller: str
    name: str
    hardware: str
    sells: tuple[str, ...]  # tokens | machines | systems
    suits: str
    not_built: str
    usd_per_hour: Decimal | None  # of its smallest machine; None where no rate is published
    source: Source
    checked: Day


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrice:
    """What a seller takes for a million tokens of a model, US dollars."""

    seller: str
    model: str  # key of a model
    listed_as: str  # the seller's own name of it
    input_usd: Decimal
    output_usd: Decimal
    effective_from: Day
    source: Source
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A provider quota: its code or metric, what it counts, what it covers."""

    cloud: Cloud
    scope: str
    code: str
    name: str
    unit: str
    applies_to: str
    source: Source
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class SagemakerPremium:
    """What SageMaker adds to the EC2 price of a type, in percent."""

    instance_type: str
    percent: Decimal
    source: Source
    checked: Day
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The dimensions of a model that sizing needs. 0 or () means "has none"; `None` means "not known".

    Language models and encoders use the transformer fields; vision and diffusion models state FLOPs per sample.
    """

    key: str
    kind: Literal["decoder", "encoder", "vision", "diffusion"] = "decoder"
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    ffn: int = 0
    vocab: int = 0
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    shared_experts: int = 0
    dense_layers: int = 0  # leading layers without experts
    moe_every: Unlisted = 1  # after them, each n-th layer has experts
    kv_lora_rank: int = 0  # multi-head latent attention
    q_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    qk_nope_head_dim: int = 0
    v_head_dim: int = 0
    sliding_window: int = 0
    sliding_window_layers: int = 0  # layers that use the window where not all do; 0 = all, if there is a window
    global_attention_every: Unlisted = 0  # with a sliding window: each n-th layer sees everything; 0: no layer does
    biases: Annotated[Literal["none", "qkv", "all"], NOT_IN_TABLE] = "none"  # which linear layers have one
    traits: Annotated[tuple[str, ...], NOT_IN_TABLE] = ()  # of `lineage`: norms and products that no dimension tells
    learned_positions: Unlisted = 0  # rows of a learned position table
    resolution: int = 0
    extra_params: int = 0  # vision tower of a vision-language model, projector, ...
    image_tokens: int = 0  # tokens that one image adds to the prompt
    image_pixels: Unlisted = 0  # pixels along a side of what one of them is; 0: the model's own number for every image
    gated: bool = True  # SwiGLU and the like: three FFN matrices, not two
    tied_embeddings: bool = False
    max_sequence_length: int | None = None
    params_stated: int | None = None  # parameter count as published, where it is; else computed from dimensions
    params_active_stated: int | None = None
    forward_flop_per_sample: float | None = None  # vision, diffusion: one forward pass at `resolution`
    assumed: tuple[str, ...] = ()  # fields that were guessed because the source is silent
    aliases: tuple[str, ...] = ()
    note: Text = ""
    source: Source = ""
    checked: Day = ""
