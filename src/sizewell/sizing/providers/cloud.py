"""What is true of a cloud, as far as it needs no SDK and no network: the part of a cloud that every room may ask.

What a higher room has to know of a cloud (how its machines boot, who asks its metrics) is a record of that room, one
for each cloud, in a `PerCloud` there. docs/adr/0013-one-record-per-cloud.md; docs/howto/add-a-cloud.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a cloud bills and isolates: an account, a project, a subscription."""

    noun: str  # as a question asks for it
    described: str  # what a list of them has to hold
    pattern: str  # of its id, as a regular expression
    example: str
    config_key: str  # of the Pulumi provider, where a provider works in exactly one; "" where credentials decide
    provider_input: str  # what the provider's own input is called; "" like `config_key`
    allowed_config_key: str  # of the provider, that lists the accounts it may work in; "" where none does
    billed_as: str  # what FOCUS 1.2 calls it among its examples (SubAccountType)
    budget_emails_only: bool  # its budgets notify by e-mail alone
    billing_setting: str  # of a stack's configuration, that names the account which pays; "" where none does


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Pulumi's packages for a cloud."""

    package: str  # of its provider, the first word of its types
    others: tuple[str, ...]  # packages whose types are resources of this cloud too
    modules: tuple[str, ...]  # of Python, that the extra of the cloud's name brings
    distribution: str  # on PyPI
    tag_inputs: tuple[str, ...]  # where a resource carries its tags or labels; the first that exists counts
    tag_arguments: tuple[str, ...]  # the same in Python; of several that a type has, the first are the bill's
    names_itself: bool  # the input `name` is the resource's own, so that another name is another resource
    outputs_differ: tuple[str, ...]  # inputs that come back in another form


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """How a cloud spells its places."""

    usual: str  # offered where nobody states one
    config_key: str  # of the Pulumi provider
    zone_config_key: str  # "" where the provider has none
    inputs: tuple[str, ...]  # of a resource, that say its region or zone
    group: tuple[str, str] | None  # (input that names a group whose region is the resource's too, type of the group)
    of: Callable[[str], str]  # region from a region, a zone or a display name
    zone_form: Callable[[str], str]  # region -> pattern of the zones that a spec may name in it
    zone_usual: Callable[[str], str]  # region -> a zone that nearly every region has
    zone_prefix: Callable[[str], str]  # region -> how its zones are called in zones.csv
    offer_zone_prefixes: Callable[[str], tuple[str, ...]]  # region -> how the zone of an offer may begin
    areas: tuple[tuple[str, str], ...]  # (how a region's name begins, legal area); the longest beginning counts
    asked_apart: bool  # what a stack has is asked region by region


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPool:
    """What a cluster runs beside the accelerators, around the clock: at least one small machine."""

    instance_type: str
    gigabytes_each: int
    nodes_min: int
    nodes_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cloud's own Kubernetes."""

    name: str  # EKS
    always: bool  # machines of our own are a part of a cluster in any case
    addressed: bool  # its API is reached by address; else by a DNS name that checks identities
    pulls_from_a_mirror: bool  # its machines have no internet access and take images from a registry beside them
    queues_ray: bool  # Ray waits for its machines in Kueue
    queue_name_max: int | None  # characters; None: a pool's own name fits
    annotates_identities: bool  # a pod's service account names the identity that writes its checkpoints
    owners_machines: str  # why it takes no machines of the owner's own; "" where it does
    system_pool: SystemPool
    system_pool_dev: SystemPool | None  # a smaller one for development


@dataclass(frozen=True, slots=True, kw_only=True)
class Fees:
    """Which fee of the catalog prices a thing that every cloud has. Only keys: the prices are the catalog's."""

    boot_disk: str  # of a machine whose row names no other; "" where machines boot from a disk of their own
    system_disk: str  # of the machines that a cluster runs around the clock
    system_disk_noun: str
    premium_disks: bool  # disks bill by size class, whole; a machine of a cluster boots from its temporary disk
    object_storage: str
    object_storage_prod: str
    control_plane: str
    control_plane_extended: str  # of a cluster in extended support; "" where its fee stays the same
    extended_at_once: bool  # whether that fee is billed before standard support has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProvisioned:
    """Machine types that are sold and that no component brings up, unless one of these takes care of it."""

    trait: str  # of the catalog
    reason: str
    schedulers: tuple[str, ...] = ()
    services: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """What of a cloud's machines sizing decides by."""

    not_provisioned: tuple[NotProvisioned, ...]  # the first that matches is the reason
    together_only_by: str  # fabric without which machines work alone; "" where any work together
    group_max: int | None  # machines in one placement group or pool; None: no limit of its own
    fabric_max: tuple[str, int] | None  # (how a fabric's name begins, most machines on it)
    boot_disk_gib_max: int  # of those of its virtual machines and clusters, the smallest
    pods_on_local_disks: bool  # our clusters put what pods write onto a machine's own disks, where it has any
    boot_disk_by_type: bool  # which disk a machine boots from is a column of its row
    accelerator_named: bool  # a machine's row says how the cloud calls its accelerator
    tpus: bool
    costs_at_least: tuple[tuple[str, str], ...]  # (type, another that never costs more): parts are billed apart
    list_proves_region: bool  # a listed price says that the region has the machine, under that name
    service_prefix: str  # of a machine type's name where a managed service sells it
    quota_codes: bool  # quotas have codes, which a machine's row names
    fleets: bool  # a fleet looks for capacity in several types and zones


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTier:
    """One speed in which a file system is sold."""

    mb_per_s_per_tib: int  # as a component asks for it; 0 where there is one speed
    reads_mb_per_s_per_tib: int
    fee: str
    gib: Callable[[int], int]  # GiB needed -> the smallest size that is sold


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The file system that a job reads from, where object storage is too slow."""

    kind: str  # fsx-lustre | filestore | managed-lustre
    tiers: tuple[FileTier, ...]  # slowest first
    sized_by_speed: bool  # speed follows from size alone, so that a faster one is a larger one
    largest_gib: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What is sold beside on-demand and spot, and how a spec asks for it."""

    forms: tuple[str, ...]  # keys of `capacity` that only this cloud sells
    block_days_ahead: int | None  # within how many days a block of capacity starts; None where none is sold
    block_nodes_max: int | None  # machines of one such block; None where none is sold, or no number is published
    ends: str  # what people buy for a run instead of on-demand machines; "" where nothing is
    stays: str
    spot_notice_s: int  # between the word that a spot machine goes, and its end
    announced_on_machines: bool  # a machine hears of it by itself, whoever scheduled the job
    ends_when_acknowledged: bool  # a machine that has confirmed the notice need not wait, and bill, for its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """A cloud that Sizewell builds on. Every field is required: a type checker names what a new one lacks."""

    name: str  # in specs, decisions and the catalog; also of the extra that installs its SDKs
    seller: str  # who sends its bill, as FOCUS names it
    bills_as: tuple[str, ...]  # what a bill may call it instead of its name, in lower case
    data_schemes: tuple[str, ...]  # how a location in its object storage begins
    services: tuple[str, ...]  # managed services that run workloads
    clock: str  # a service that answers anybody, and says in the Date header when it did
    client: str  # how errors and variables call the client of its API
    account: Account
    provider: Provider
    regions: Regions
    cluster: Cluster
    fees: Fees
    machines: Machines
    files: Files
    capacity: Capacity


@dataclass(frozen=True, kw_only=True, eq=False)
class PerCloud(Mapping[str, T], Generic[T]):
    """One thing for each cloud. A further cloud is a further field here: mypy then lists every table that lacks it."""

    aws: T
    gcp: T
    azure: T

    def __getitem__(self, cloud: str) -> T:
        return vars(self)[cloud]  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def __contains__(self, cloud: object) -> bool:
        return cloud in vars(self)
