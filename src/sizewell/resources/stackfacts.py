"""What a plan says, in words that hold on every cloud: the facts that policies judge.

A fact's field is a value, `UNKNOWN` (known only after the cloud has answered) or None (the input is silent); flags are
True, False or UNKNOWN. `inputs` stays at hand for what only one cloud has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from sizewell.resources.expiry import NO_EXPIRY, Expiries, Expiry
from sizewell.resources.recorded import Hidden, Inapplicable, RecordedResource, Unknown
from sizewell.resources.values import Count, Flag, Text, canonical

if TYPE_CHECKING:
    from sizewell.resources.graph import Graph
    from sizewell.resources.priced import Pricing

Tags = Mapping[str, Any] | Unknown | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What every fact has. `tags` is None where the resource cannot carry any."""

    resource: RecordedResource
    cloud: str
    region: Text = ""
    environment: Text = ""  # dev | staging | prod, "" where not stated
    component: str = ""
    registration: Mapping[str, object] | None = None
    tags: Tags = None
    expiry: Expiry = NO_EXPIRY

    @property
    def urn(self) -> str:
        return self.resource.urn

    @property
    def name(self) -> str:
        return self.resource.name

    @property
    def type(self) -> str:
        return canonical(self.resource.type)

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self.resource.inputs

    @property
    def protect(self) -> bool:
        return self.resource.protect

    @property
    def retained(self) -> bool:
        return self.resource.retain_on_delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """Machines with accelerators that a custom resource names; `number` is None where it states none."""

    kind: str
    number: int | None
    sizes: tuple[Mapping[str, Any], ...]  # what says how many: the object, and what scales it

    def words(self) -> str:
        """The type, and how many where that is stated.

        >>> Stated(kind="p3.8xlarge", number=2, sizes=()).words()
        '2 x p3.8xlarge'
        """
        return self.kind if self.number is None else f"{self.number} x {self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Fact):
    """Any custom resource. `bills` is whether a price rule stands for its type."""

    bills: bool = False
    runs: bool = False  # no other fact is read of its type, and it may run something
    unread: bool = False  # the same, and nothing of its type says that it ends
    whole: Mapping[str, Any] | Unknown | None = None  # inputs of what it is a part of and ends with
    stated: Stated | None = None  # machines that a custom resource of an operator names
    decided: bool = False  # something of its stack is built from a decision, and so is what Sizewell makes beside it
    expiries: Expiries = field(default_factory=Expiries)


PAID: Final = "training-plan"  # a market: its machines are paid before they start, and end with what was bought


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool(Fact):
    """Machines that are started together: a group, node pool, fleet, scale set, instance or TPU slice."""

    kinds: tuple[str, ...] | Unknown = ()  # machine types
    accelerator: Text = ""  # "" for machines without one
    accelerators: Count = None  # per machine
    traits: frozenset[str] = frozenset()  # what the names of its machine types say, as `FAMILY_TRAITS` of the catalog
    tpu_chips: int = 0  # of a machine; 0 where it has no TPU
    efa_cards: int = 0  # network cards of a machine that carry EFA
    first_card_apart: bool = False  # the first network card carries IP alone
    market: Text = "on-demand"
    declared_market: Text = ""
    nodes_min: Count = None
    nodes_wanted: Count = None
    nodes_max: Count = None
    keeps_one: str = ""  # the way out where its service refuses a minimum of 0
    scales: Flag = False  # something moves the size, down to the minimum, by load
    autoscaler_elsewhere: bool = False  # it scales only where another program brings its cluster's autoscaler
    moved: Flag = False  # something moves the size in some direction, whether or not it ever takes machines away
    scheduled: Flag = False
    guarded: Flag = False
    metrics: Flag = False  # an agent reports what the accelerators do
    interruptible: Flag = False
    workload_kind: Text = ""
    checkpoints: Flag = False  # a checkpoint store is declared or stands in the stack
    machine: Any = None  # launch template, node config, VM profile
    public_address: Flag = False
    disks_encrypted: Flag = True
    own_key: Flag = False
    start_script: Text = ""
    default_identity: Flag = False
    workload_identity: Flag = False  # its cluster, in this plan, gives pods identities of their own
    reserved: Text = ""  # the reservation or block it runs in
    placement: Flag = False  # a placement group or compact placement
    zones: int | Unknown | None = None
    gang: Flag = False  # the machines work on one job together
    single: bool = False  # one machine, not a group that could change its size
    disk_gib: Count = None  # boot disk of each machine
    template_kind: Text = ""  # machine type that the template names, whatever overrides say
    declared_kinds: tuple[str, ...] | Unknown = ()  # arguments of the component: machine types, disk and zones
    declared_disk_gib: Count = None
    declared_zones: Count = None
    declared_topology: Text = ""  # of a TPU slice

    @property
    def paid(self) -> bool:
        """Whether stopping it saves nothing, and it ends by itself."""
        return self.market == PAID

    @property
    def accelerated(self) -> Flag:
        return self.accelerator if isinstance(self.accelerator, Unknown) else self.accelerator != ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Fact):
    """A bucket or storage account with everything that configures it."""

    checkpoints: Flag = False
    logs: bool = False
    versioned: Flag = False
    own_key: Flag = False
    private: Flag = False  # no public access can be granted
    encrypted_transport: Flag = False
    deletable: Flag = False  # force_destroy: deletes its objects with it
    expires_current: Flag = False  # a lifecycle rule deletes current objects
    soft_delete_days: Count = None
    locked: Flag = False  # object lock, retention policy or immutability
    logged: Flag = False
    uniform: Flag = False  # access by policy alone, no object ACLs, no account keys
    cleans_versions: Flag = False
    cleans_uploads: Flag = False
    gigabytes_expected: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk(Fact):
    """A disk or file system that stands by itself."""

    kind: str = "disk"  # disk | file-system
    encrypted: Flag = True
    own_key: Flag = False
    attached: Flag = False
    zone: Text = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening(Fact):
    """One direction of one firewall rule. `world` is whether it covers the whole internet."""

    direction: str = "ingress"
    world: Flag = False
    self_reference: Flag = False
    ports: Text = ""  # "22", "0-65535", "all"
    protocol: Text = ""
    group: str = ""  # URN of the group or network it belongs to
    described: Flag = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(Fact):
    """One statement of who may do what. AWS statements, Google Cloud roles and Azure assignments look alike here."""

    effect: str = "Allow"
    actions: tuple[str, ...] | Unknown = ()
    targets: tuple[str, ...] | Unknown = ()
    role: Text = ""
    principal: Text = ""
    conditions: Any = None
    trust: bool = False  # says who may assume the role
    key_policy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Fact):
    """A managed model endpoint, or a service of containers, and its smallest and largest size."""

    what: str = "model endpoint"
    accelerated: Flag = False
    scales: Flag = False
    nodes_min: Count = None
    nodes_max: Count = None
    keeps_one: str = ""  # the way out where a minimum of 0 is refused, or is not what its service has
    kinds: tuple[str, ...] | Unknown = ()  # machine types, as their machines are called outside of the service


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook(Fact):
    """A managed notebook or workstation."""

    accelerated: Flag = False
    kind: Text = ""  # machine type, as the machine is called outside of the service
    stops_itself: Flag = False
    public: Flag = False
    root: Flag = False
    own_key: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster(Fact):
    """A Kubernetes control plane."""

    public_endpoint: Flag = True
    secrets_encrypted: Flag = False
    logged: Flag = False
    workload_identity: Flag | Inapplicable = False
    local_accounts: Flag = False
    deletion_protection: Flag | Inapplicable = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods(Fact):
    """What a Kubernetes resource starts: a pod, or all pods of a template in it."""

    path: str = ""  # where the pods' specification stands in the resource
    accelerators: Count = 0  # of one pod
    tolerates: Flag = False  # the taint of accelerator nodes
    privileged: Flag = False
    host: Flag = False  # shares the machine's network, processes or folders
    root: Flag = True
    limited: Flag = False  # every container has a memory limit
    pinned: Flag = False  # every image by a digest or a tag that is not "latest"
    token: Flag = True  # the service account's token is mounted
    service_account: Text = "default"
    serves: Flag = False  # runs until somebody stops it, and answers: a port is named, or a service chooses it
    readiness: Flag = False  # some container says when it is ready
    liveness: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Fact):
    """A managed training or batch job."""

    accelerated: Flag = False
    run_seconds_max: Count = None
    wait_seconds_max: Count = None
    spot: Flag = False
    checkpoint: Flag | Inapplicable = False  # a place that it resumes from; of managed training
    isolated: Flag | Inapplicable = False  # no way to the internet; of services that offer it on the job itself
    own_key: Flag | Inapplicable = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase(Fact):
    """A commitment of money by `up`: a Capacity Block, a reservation."""

    refundable: bool = False
    confirmed: Flag = False
    price_stated: Flag = False
    date_stated: Flag = False
    ends: Expiry = NO_EXPIRY  # by a date of its own, which the cloud acts on, or its expiry


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Something that a cloud refuses of a resource."""

    urn: str
    what: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFacts:
    """All facts of one stack. `pricing`, `decision` and `changes` are there when the caller has them."""

    graph: Graph
    project: str
    stack: str
    environment: str
    things: tuple[Thing, ...] = ()
    pools: tuple[Pool, ...] = ()
    stores: tuple[Store, ...] = ()
    disks: tuple[Disk, ...] = ()
    openings: tuple[Opening, ...] = ()
    grants: tuple[Grant, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    notebooks: tuple[Notebook, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    jobs: tuple[Job, ...] = ()
    pods: tuple[Pods, ...] = ()
    purchases: tuple[Purchase, ...] = ()
    stores_before: tuple[Store, ...] = ()  # of what stands, where something is compared
    hidden: tuple[Hidden, ...] = ()  # what the plan does not show
    refused: tuple[Refused, ...] = ()  # for certain
    pricing: Pricing | None = None
    decision: Mapping[str, Any] | None = None  # the committed decision as JSON, with "sealed" (bool) beside it
    changes: Mapping[str, str] = field(default_factory=dict)  # URN -> create | update | replace | delete
    on: date | None = None
    retention_visible: bool = True  # False in a policy process: the engine does not tell it retain-on-delete
