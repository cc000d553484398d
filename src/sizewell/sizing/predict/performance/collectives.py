"""Time of collective operations by size, group and link: alpha-beta, hierarchical over the scale-up domain.

Every function takes floats or arrays and broadcasts. `payload_bytes` is what one device ends up holding (all-gather),
starts with (reduce-scatter, all-reduce) or sends in all (all-to-all). Devices of a group stand `stride` apart: a group
of data-parallel replicas over tensor-parallel sets of 8 has stride 8, so none of its members share a domain of 8.

Inside a domain (NVLink, xGMI, NeuronLink, PCIe) a device sends at `inner_bytes_per_s`; between domains it has its own
share of the network, `outer_bytes_per_s`. Both stages run at once in pipelined rings, so the slower one decides
(Thakur et al. 2005; NCCL's hierarchical rings). On a torus a group that spans some of the axes has their links only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sizewell.sizing.predict.numeric import np

Values = Any  # a numpy array of float64 or a scalar: operators of numpy lose the type, so it is not claimed
Number = Any  # a float or `Values`; every function here broadcasts


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """What a device can send, one direction, as achieved: inside its scale-up domain and out of it."""

    inner_bytes_per_s: Number
    host_bytes_per_s: Number  # devices of one machine that share no fast link: over PCIe
    outer_bytes_per_s: Number
    inner_latency_s: Number
    outer_latency_s: Number
    fast: Number  # devices that the fast link joins; 1 where there is none
    domain: Number  # devices in one scale-up domain or one machine, whichever is more
    axes: Number  # torus dimensions; 1 for a switch or full mesh
    mesh: Number  # 1 where each pair has a link of its own (xGMI, Gaudi), so a small group has few of them; else 0


def inside(group: Number, stride: Number, fabric: Fabric) -> Values:
    """How many members of a group share one scale-up domain.

    >>> f = Fabric(inner_bytes_per_s=3e11, host_bytes_per_s=2e10, outer_bytes_per_s=4e10, inner_latency_s=0,
    ...     outer_latency_s=0, fast=8, domain=8, axes=1, mesh=0)
    >>> float(inside(16, 1, f)), float(inside(16, 8, f)), float(inside(4, 2, f))
    (8.0, 1.0, 4.0)
    """
    return np.minimum(group, np.maximum(1.0, np.asarray(fabric.domain, float) / stride))


def _inner_bandwidth(group: Number, stride: Number, fabric: Fabric) -> Values:
    """The fast link where it joins the whole group, else PCIe.

    On a torus of `axes` dimensions a group spans as many of them as its share of the domain, at least one; in a full
    mesh it has the links between its own members.
    """
    domain = np.maximum(2.0, np.asarray(fabric.domain, float))
    axes = np.log(np.maximum(2.0, group)) / np.log(domain)
    share = np.minimum(np.maximum(axes, 1.0 / np.asarray(fabric.axes, float)), 1.0)
    links = np.minimum(np.maximum((np.asarray(group, float) - 1) / (domain - 1), 1.0 / domain), 1.0)
    share = np.where(np.asarray(fabric.axes) > 1, share, np.where(np.asarray(fabric.mesh) > 0, links, 1.0))
    fast = share * fabric.inner_bytes_per_s
    return np.where(np.asarray(group) * stride <= fabric.fast, fast, np.minimum(fast, fabric.host_bytes_per_s))


def _links_crossed(group: Values, fabric: Fabric) -> Values:
    """Links that a byte crosses on its way to a member of the group drawn at random, itself included.

    Behind a switch or in a mesh one, on a torus a quarter of each axis' length: an all-to-all is bounded by the
    bisection, and takes a quarter of an all-gather's time on one axis (Austin et al. 2025, How to Scale Your Model).
    """
    group, axes = np.asarray(group, float), np.asarray(fabric.axes, float)
    direct = (group - 1) / group
    spanned = np.minimum(np.maximum(axes * np.log(group) / np.log(np.maximum(2.0, fabric.domain)), 1.0), axes)
    return np.where((axes > 1) & (group > 1), np.maximum(direct, spanned * group ** (1 / spanned) / 4), direct)


def _latency(local: Values, remote: Values, fabric: Fabric) -> Values:
    """Tree depth times the latency of a hop, inside and between domains."""
    return np.log2(local) * fabric.inner_latency_s + np.log2(np.maximum(1.0, remote)) * fabric.outer_latency_s


def all_gather(payload_bytes: Number, group: Number, stride: Number, fabric: Fabric) -> Values:
    """Seconds until each device of the group holds all `payload_bytes`.

    >>> f = Fabric(inner_bytes_per_s=3e11, host_bytes_per_s=2e10, outer_bytes_per_s=4e10, inner_latency_s=0,
    ...     outer_latency_s=0, fast=8, domain=8, axes=1, mesh=0)
    >>> [round(float(all_gather(8e9, group, 1, f)), 6) for group in (1, 8, 16)]
    [0.0, 0.023333, 0.023333]
    """
    local = inside(group, stride, fabric)
    remote = np.asarray(group, float) / local
    within = payload_bytes * (local - 1) / local / _inner_bandwidth(local, stride, fabric)
    between = payload_bytes / local * (remote - 1) / remote / fabric.outer_bytes_per_s
    return np.maximum(within, between) + _latency(local, remote, fabric)


reduce_scatter = all_gather  # the same traffic the other way round


def all_reduce(payload_bytes: Number, group: Number, stride: Number, fabric: Fabric) -> Values:
    """Seconds of a reduce-scatter followed by an all-gather."""
    return 2 * all_gather(payload_bytes, group, stride, fabric)


def all_to_all(payload_bytes: Number, group: Number, stride: Number, fabric: Fabric, copies: Number = 1.0) -> Values:
    """Seconds until each device has sent `payload_bytes`, spread evenly, to the others of its group.

    With `copies` > 1 the payload is each token that many times (once per expert it visits). Between domains a token
    travels once to each that it needs and is copied there, as in DeepSeek-V3's dispatch (arXiv 2412.19437, 3.2.2).
    """
    local = inside(group, stride, fabric)
    remote = np.asarray(group, float) / local
    within = payload_bytes * _links_crossed(local, fabric) * local / group / _inner_bandwidth(local, stride, fabric)
    visited = (remote - 1) * (1 - (1 - 1 / remote) ** copies)
    between = payload_bytes / copies * visited / fabric.outer_bytes_per_s
    return np.maximum(within, between) + _latency(local, remote, fabric)


def send(payload_bytes: Number, stride: Number, fabric: Fabric) -> Values:
    """Seconds to hand `payload_bytes` to the device `stride` further on, inside the domain if it lies there."""
    near = np.asarray(stride, float) < fabric.domain
    return np.where(
        near,
        payload_bytes / _inner_bandwidth(np.asarray(2.0), stride, fabric) + fabric.inner_latency_s,
        payload_bytes / fabric.outer_bytes_per_s + fabric.outer_latency_s,
    )
