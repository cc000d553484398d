"""What a stack's configuration says beyond its decision: which accounts it may touch, and an existing network."""

import re
from dataclasses import dataclass, field
from typing import Any

import pulumi

from sizewell.components.access import Access, read_access
from sizewell.components.kubernetes_versions import Support
from sizewell.components.notify import check_notify
from sizewell.launch.adopted import Adopted, read_adopted
from sizewell.launch.run import Run, read_run
from sizewell.sizing.errors import ConfigError, Fault

_REGISTRY = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.ContainerRegistry/registries/[A-Za-z0-9]{5,50}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `sizewell:*` in the stack's configuration says.

    `accounts` are AWS account ids, Google Cloud projects or Azure subscriptions; empty: whatever is logged in.
    `zones` are where machines go whose decision names no zone. `deletion_protection: false` is the first of the two
    reviewed steps that end a prod stack: set it, `pulumi up`, then `pulumi destroy`. `runs` are what runs for each
    workload; without one nothing is started. `kubeconfig` and `cluster` name a cluster that already exists: the
    stack then builds queues and jobs on it, and no machines. `images` are machine images by pool, where the vendor's
    own has not what the machines need. `access` is the way to the API of clusters that the stack builds. `registries`
    are ids of the container registries (Azure) that machines and clusters may pull from. `kubernetes_version` is that
    of the clusters that the stack builds; without one they are built with the default and keep what they have, for as
    long as `kubernetes_support` says.
    `firm_end` is no setting of the stack: its environment has `expiry: firm` in teardown.yaml.
    """

    project: str
    stack: str
    organization: str = ""
    accounts: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    deletion_protection: bool = True
    network: dict[str, Any] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    cluster: Adopted | None = None
    kubeconfig: pulumi.Output[str] | None = None
    images: dict[str, str] = field(default_factory=dict)
    access: Access | None = None
    registries: tuple[str, ...] = ()
    kubernetes_version: str = ""
    kubernetes_support: Support = "standard"
    firm_end: bool = False

    def kubernetes_args(self) -> dict[str, Any]:
        """What is stated of the clusters' version and of its support, as clusters take it."""
        version = {"version": self.kubernetes_version} if self.kubernetes_version else {}
        return {**version, "support": self.kubernetes_support} if self.kubernetes_support != "standard" else version

    def namespace(self, workload: str) -> str:
        """The Kubernetes namespace in which a workload's pods run, and whose account writes its checkpoints."""
        run = self.runs.get(workload)
        return run.namespace if run else "default"

    @property
    def internet(self) -> bool:
        """Whether what runs may reach the internet: what we build does not let it, what is adopted is taken to."""
        return self.kubeconfig is not None or bool(set(self.network) - {"cidr"})

    @property
    def salt(self) -> str:
        """What keeps our bucket names apart from everybody else's; the same for a cluster and its checkpoints."""
        return f"{self.project}/{self.organization}"


def read_settings() -> Settings:
    """Settings of the running program, from `sizewell:*` in the stack's configuration."""
    config = pulumi.Config("sizewell")
    accounts = config.get_object("accounts") or []
    network = config.get_object("network") or {}
    zones = config.get_object("zones") or []
    images = config.get_object("images") or {}
    protection = config.get_object("deletionProtection")
    faults: list[Fault] = []
    if not isinstance(accounts, list) or not all(isinstance(account, str) and account for account in accounts):
        faults.append(
            Fault(path="sizewell:accounts", found=accounts, allowed="a list of account ids, each quoted as a string")
        )
    if not isinstance(zones, list) or not all(isinstance(zone, str) and zone for zone in zones):
        faults.append(Fault(path="sizewell:zones", found=zones, allowed="a list of zones, as [us-east-1b]"))
    if protection not in (None, True, False):
        faults.append(Fault(path="sizewell:deletionProtection", found=protection, allowed="true or false"))
    if not isinstance(network, dict):
        faults.append(Fault(path="sizewell:network", found=network, allowed="a mapping of an existing network's ids"))
    faults += check_notify(config.get_object("notify") or {})
    if not isinstance(images, dict) or not all(isinstance(image, str) for image in images.values()):
        faults.append(Fault(path="sizewell:images", found=images, allowed="a mapping of pools to machine images"))
    registries = config.get_object("registries") or []
    if not isinstance(registries, list) or not all(_REGISTRY.fullmatch(str(registry)) for registry in registries):
        allowed = (
            "a list of ids as /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.ContainerRegistry/"
            "registries/NAME"
        )
        faults.append(Fault(path="sizewell:registries", found=registries, allowed=allowed))
    access = None if (stated := config.get("access")) is None else read_access(_plain(config, stated))
    if isinstance(access, list):
        faults += access
        access = None
    kubeconfig = config.get_secret("kubeconfig")
    cluster, runs = _launched(config, faults)
    if (kubeconfig is None) != (cluster is None):
        missing = "cluster" if cluster is None else "kubeconfig"
        fix = (
            "pulumi config set --secret sizewell:kubeconfig < kubeconfig; pulumi config set --path sizewell:cluster..."
        )
        faults.append(Fault(path=f"sizewell:{missing}", message="is missing: both adopt a cluster together", fix=fix))
    if faults:
        raise ConfigError(faults, subject=f"configuration of {pulumi.get_stack()}")
    return Settings(
        project=pulumi.get_project(),
        stack=pulumi.get_stack(),
        organization=config.get("organization") or "",
        accounts=tuple(accounts),
        network=network,
        zones=tuple(zones),
        deletion_protection=protection is not False,
        runs=runs,
        cluster=cluster,
        kubeconfig=kubeconfig,
        images=images,
        access=access,
        registries=tuple(map(str, registries)),
        kubernetes_version=config.get("kubernetesVersion") or "",
        kubernetes_support="extended" if config.get("kubernetesSupport") == "extended" else "standard",
    )


def _plain(config: pulumi.Config, stated: str) -> object:
    """A word as it is, anything else as the structure that it is the JSON of."""
    return stated if stated.isalpha() else config.get_object("access")


def _launched(config: pulumi.Config, faults: list[Fault]) -> tuple[Adopted | None, dict[str, Run]]:
    """`sizewell:cluster` and `sizewell:run`, their faults among the others."""
    cluster, runs = None, {}
    stated = config.get_object("run") or {}
    try:
        cluster = read_adopted(adopted) if (adopted := config.get_object("cluster")) else None
    except ConfigError as error:
        faults += error.faults
    if not isinstance(stated, dict):
        faults.append(Fault(path="sizewell:run", found=stated, allowed="a mapping of workloads"))
        return cluster, {}
    for name, run in stated.items():
        try:
            runs[name] = read_run(run, f"sizewell:run.{name}")
        except ConfigError as error:
            faults += error.faults
    return cluster, runs
