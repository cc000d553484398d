"""The kinds of fact in the catalog, one frozen record each; bytes, seconds, FLOP/s and US dollars inside.

What a machine is (`Shape`) and what it costs where and on which terms (`Offer`) are two records.
`source` and `checked` (ISO date) stand on every record; "" never means 0, absence means "not offered" or "not known".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

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
}

Market = Literal[
    "on-demand", "spot", "reserved-1y", "reserved-3y", "capacity-block", "flex-start", "calendar", "purchase"
]
Grade = Literal["high", "medium", "low", "estimate"]


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
    flop_per_s: Mapping[str, float]  # dense, by precision: fp32 tf32 bf16 fp16 fp8 fp4 int8
    link: str  # "NVLink 4", "PCIe 4.0 x16", "ICI 2D torus", ...
    link_bytes_per_s: float | None
    scale_up_max: int  # most chips in one scale-up domain; 1 where chips talk over PCIe only
    tdp_w: float | None
    year: int | None
    purchase_usd: tuple[int, int] | None  # low, high
    frameworks: tuple[str, ...]  # pytorch | jax | tensorflow
    runtime: str  # cuda | rocm | tpu | neuron | gaudi | other
    processes_per_device: int  # logical cores that each run a process; 1 but on Neuron
    matrix_width: int | None  # of a TPU's matrix units
    exponentials_per_clock: int | None  # of each multiprocessor, where it is not its family's
    no_builds: str  # why the frameworks' released builds leave it out; "" where they do not
    aliases: tuple[str, ...]  # other spellings in provider and published data
    note: str
    source: str
    checked: str
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a machine type is, in one cloud; what it costs is an `Offer`."""

    cloud: Cloud
    instance_type: str
    accelerator: str  # key of an Accelerator; "" for a CPU machine
    accelerators: int
    vcpus: int | None
    memory_bytes: int | None
    network_bytes_per_s: float | None  # all interfaces together
    fabric: str  # "efa", "infiniband", "gpudirect-tcpx", "gpudirect-tcpxo", "gpudirect-rdma", "ici", "" (plain)
    rdma_interfaces: int  # EFA interfaces, RDMA NICs
    scale_up: int  # accelerators of this machine in one fast domain; 1 where they talk over PCIe only
    local_nvme_bytes: int
    architecture: str  # x86_64 | arm64; "" where nobody wrote it down
    network_cards: int  # cards that a network interface is stated for; more than `rdma_interfaces`: the first is for IP
    boot_disk: str  # type that it boots from, where the cloud has several and not all fit; Google Cloud
    temporary_bytes: int  # temporary disk that can hold an ephemeral operating system disk; Azure
    cloud_accelerator: str  # the cloud's own name of the accelerator: "nvidia-l4"; "" where its machines have none
    packing: frozenset[str]  # markets in which machines may be placed together; or "workload-policy", which does it
    traits: frozenset[str]  # see `TRAITS`
    traits_source: str
    runtime: str  # the accelerator's; "" for a CPU machine
    managed: frozenset[str]  # SageMaker's uses (training hosting notebook hyperpod ...); cloud-run
    markets: frozenset[str]  # markets the provider sells this type in, prices known or not
    quota: Mapping[str, str]  # market -> quota code or metric
    note: str
    source: str
    checked: str
    confidence: Grade
    fabric_bytes_per_s: float | None = None  # the RDMA or GPUDirect part of the network; None where there is none
    purchase_usd: tuple[int, int] | None = None  # low, high for the whole machine; on-premises and edge
    power_w: float | None = None  # at full load, for the whole machine; on-premises and edge

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
    flop_per_cycle: Mapping[str, float]  # of a core's vector units, by precision: fp32 int8; those of matrix units not
    instructions: tuple[str, ...]  # avx512 | vnni | amx
    source: str
    checked: str
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a machine type's name says of it, for programs that name types which the catalog has no row for."""

    cloud: Cloud
    pattern: str  # a regular expression for the whole name, in any case; without SageMaker's "ml."
    trait: str  # see `FAMILY_TRAITS`
    source: str
    checked: str


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
    gke_label: str  # "tpu-v6e-slice"
    api_type: str  # "v6e-16"
    source: str
    checked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A price for a shape: where, in which market, since when. `usd_per_hour` is for the whole machine."""

    cloud: Cloud
    instance_type: str
    region: str  # "all" where the seller has one price
    zone: str  # "" for the whole region
    market: Market
    usd_per_hour: Decimal
    effective_from: str
    effective_to: str  # "" while in force
    basis: str  # "list", "observed", "estimate: ..."
    source: str
    confidence: Grade
    interruption: str = ""  # of spot, share reclaimed in a month as the vendor's advisor gives it: "<5%", "5-10%", ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A price that some list shows but that is no offer, and why: retired, not sold that way, no spot capacity."""

    cloud: Cloud
    instance_type: str
    region: str
    zone: str
    market: str
    listed_usd_per_hour: Decimal | None
    date: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sold:
    """That a machine type is sold in a region, said by a source that has no price: what may be estimated there.

    A row of the table may name several regions, separated by " | ".
    """

    cloud: Cloud
    instance_type: str
    region: str
    source: str
    checked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Where a provider's region is and who may use it."""

    cloud: Cloud
    region: str
    area: str  # eu | europe | us | canada | latin-america | asia-pacific | middle-east | africa
    country: str  # ISO 3166 alpha-2
    access: Literal["open", "restricted", "government"]
    place: str
    source: str
    checked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Zones:
    """The zones of a region in which a machine type is sold; of a region's zones, any type where it names none.

    AWS's zones are ids, as use1-az4: its names (us-east-1a) are other places in other accounts. A type that stands in
    no row may be in every zone of its regions: nobody wrote it down.
    """

    cloud: Cloud
    instance_type: str  # "": the region's own zones, where they are not a, b and c
    region: str
    zones: tuple[str, ...]
    source: str
    checked: str


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
    effective_from: str
    source: str
    confidence: Grade


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
    source: str
    checked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrice:
    """What a seller takes for a million tokens of a model, US dollars."""

    seller: str
    model: str  # key of a model
    listed_as: str  # the seller's own name of it
    input_usd: Decimal
    output_usd: Decimal
    effective_from: str
    source: str
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
    source: str
    confidence: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class SagemakerPremium:
    """What SageMaker adds to the EC2 price of a type, in percent."""

    instance_type: str
    percent: Decimal
    source: str
    checked: str
    confidence: Grade = "high"


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
    gated: bool = True  # SwiGLU and the like: three FFN matrices, not two
    vocab: int = 0
    tied_embeddings: bool = False
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    shared_experts: int = 0
    dense_layers: int = 0  # leading layers without experts
    moe_every: int = 1  # after them, each n-th layer has experts
    kv_lora_rank: int = 0  # multi-head latent attention
    q_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    qk_nope_head_dim: int = 0
    v_head_dim: int = 0
    sliding_window: int = 0
    sliding_window_layers: int = 0  # layers that use the window where not all do; 0 = all, if there is a window
    global_attention_every: int = 0  # with a sliding window: each n-th layer sees everything; 0: no layer does
    biases: Literal["none", "qkv", "all"] = "none"  # which linear layers have one
    traits: tuple[str, ...] = ()  # of `lineage`: norms and products that no dimension tells
    learned_positions: int = 0  # rows of a learned position table
    max_sequence_length: int | None = None
    params_stated: int | None = None  # parameter count as published, where it is; else computed from dimensions
    params_active_stated: int | None = None
    forward_flop_per_sample: float | None = None  # vision, diffusion: one forward pass at `resolution`
    resolution: int = 0
    extra_params: int = 0  # vision tower of a vision-language model, projector, ...
    image_tokens: int = 0  # tokens that one image adds to the prompt
    assumed: tuple[str, ...] = ()  # fields that were guessed because the source is silent
    aliases: tuple[str, ...] = ()
    note: str = ""
    source: str = ""
    checked: str = ""
