"""Who reaches the API of a cluster: `sizewell:access` of a stack's configuration. Pure.

A cluster whose API the runner cannot reach gets none of its in-cluster objects, and the same `up` fails half-way.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sizewell.sizing.billing.standing import ON_EKS, target_of
from sizewell.sizing.errors import Fault
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision

PATH: Final = "sizewell:access"
FORMS: Final = (
    "dns (GKE), {public: [203.0.113.0/28]} (EKS, AKS), or {private: [10.9.0.0/24]} with the addresses of your runners "
    "in an adopted network (EKS, AKS)"
)
PREFIX_MIN: Final = {"public": 16, "private": 8}  # wider is the whole internet, or everybody's private network
PRIVATE: Final = [
    ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
]


def is_private(network: ipaddress.IPv4Network) -> bool:
    """Whether a range is nobody's on the internet: that of carriers (RFC 6598), which the clouds take too, is one.

    >>> [is_private(ipaddress.IPv4Network(text)) for text in ("100.64.0.0/16", "172.31.0.0/16", "172.64.0.0/13")]
    [True, True, False]
    """
    return any(network.subnet_of(each) for each in PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One way to the API, and the IPv4 ranges that may use it; `dns` asks IAM instead and has none."""

    mode: Literal["dns", "public", "private"]
    ranges: tuple[str, ...] = ()


def read_access(value: object) -> Access | list[Fault]:
    """The setting, or every fault of it.

    >>> read_access({"public": ["203.0.113.0/28"]})
    Access(mode='public', ranges=('203.0.113.0/28',))
    >>> print(read_access({"public": ["0.0.0.0/0"]})[0])
    sizewell:access.public[0]: is wider than /16: 0.0.0.0/0 is not a list of named networks
      fix: name the addresses of your office, VPN or runners
    """
    if value == "dns":
        return Access(mode="dns")
    if not isinstance(value, dict) or len(value) != 1 or not set(value) <= {"public", "private"}:
        return [Fault(path=PATH, found=value, allowed=FORMS)]
    ((mode, ranges),) = value.items()
    if not isinstance(ranges, list) or not ranges:
        return [Fault(path=f"{PATH}.{mode}", found=ranges, allowed="a list of IPv4 ranges, at least one")]
    faults = [fault for number, given in enumerate(ranges) for fault in _range_faults(mode, number, given)]
    return faults or Access(mode=mode, ranges=tuple(str(ipaddress.ip_network(given)) for given in ranges))


def _range_faults(mode: str, number: int, given: Any) -> list[Fault]:
    path = f"{PATH}.{mode}[{number}]"
    try:
        network = ipaddress.ip_network(given)
    except (ValueError, TypeError):
        return [Fault(path=path, found=given, allowed="an IPv4 range as 203.0.113.0/28")]
    if not isinstance(network, ipaddress.IPv4Network) or network.prefixlen < PREFIX_MIN[mode]:
        message = f"is wider than /{PREFIX_MIN[mode]}: {given} is not a list of named networks"
        return [Fault(path=path, message=message, fix="name the addresses of your office, VPN or runners")]
    inside = is_private(network)
    if inside != (mode == "private"):
        kind = "a private range, which cannot be reached from the internet" if inside else "not a private range"
        return [Fault(path=path, message=f"{given} is {kind}", fix=f"allowed: {FORMS}")]
    return []


def cluster_clouds(decision: Decision) -> list[str]:
    """The clouds in which the decision's stack builds a Kubernetes cluster."""
    return sorted(
        {
            pool.cloud
            for workload in decision.workloads
            for pool in workload.pools
            if not pool.adopted
            and target_of(pool.managed, workload.scheduler, cloud=pool.cloud, fleet=pool.provision == "fleet") in ON_EKS
        }
    )


def access_faults(clusters: Sequence[str], access: Access | None, *, own_network: bool) -> list[Fault]:
    """What cannot work: a way that the cloud's clusters do not have, or runners in a network that is not there yet.

    `clusters` are the clouds in which the stack builds a Kubernetes cluster; `own_network` says whether the stack
    builds the network too.
    """
    if not clusters or access is None:
        return []
    addressed = [CLOUDS[cloud].cluster.name for cloud in clusters if CLOUDS[cloud].cluster.addressed]
    named = [CLOUDS[cloud].cluster.name for cloud in clusters if not CLOUDS[cloud].cluster.addressed]
    if access.mode == "dns" and addressed:
        message = f"is dns, which {' and '.join(addressed)} does not have"
        return [Fault(path=PATH, message=message, fix=f"allowed: {FORMS}")]
    if access.mode != "dns" and named:
        endpoint = f"{named[0]} is reached through its DNS endpoint, which checks IAM, not addresses"
        message = f"is {access.mode}: {endpoint}"
        return [Fault(path=PATH, message=message, fix=f"pulumi config set {PATH} dns")]
    if access.mode == "private" and own_network:
        message = "is private in a network that this stack builds: no runner can be in it before the first update"
        return [Fault(path=PATH, message=message, fix="name the runners' network in sizewell:network, or use public")]
    return []


def unreachable(cloud: str, access: Access | None, *, hosted: bool) -> Fault | None:
    """Why the machine that runs `pulumi up` cannot reach the API, as far as the configuration tells.

    `hosted`: it is a runner of the forge (GitHub sets RUNNER_ENVIRONMENT=github-hosted), outside of every network.
    """
    if not CLOUDS[cloud].cluster.addressed:
        return None
    name = CLOUDS[cloud].cluster.name
    if access is None:
        message = (
            f"is missing: the {name} API is private and no runner is named, so resources in the cluster "
            "cannot be created"
        )
        return Fault(path=PATH, message=message, fix=f"pulumi config set --path '{PATH}.public[0]' YOUR_RANGE")
    if hosted and access.mode == "private":
        message = f"is private, and this is a hosted runner outside the network of the {name} cluster"
        return Fault(path=PATH, message=message, fix="run on a runner in the network (runs-on: self-hosted)")
    return None
