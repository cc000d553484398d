"""What stands behind objects of Kubernetes: machines, volumes and load balancers, which somebody bills.

An object costs nothing by itself. What it makes its cluster start does: where the machines of the cluster are in the
same program, they have prices of their own there; elsewhere the object is unpriced, with the reason. What starts
machines, or belongs to an operator, is hidden and never comes here (`kinds.started_by`).
"""

from __future__ import annotations

from typing import Final

from sizewell.resources.context import Context, Free, Outcome
from sizewell.resources.hidden import renders
from sizewell.resources.kinds import kind_of, named
from sizewell.resources.kubernetes import Nodes, nodes_of
from sizewell.resources.readers import pod_machines
from sizewell.resources.readers.pods import accelerators_asked
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import Count, flag, get, items, text
from sizewell.sizing.money import LineItem

_OF_CLOUDS: Final = ("alb", "gce", "azure")  # how classes of Ingress begin whose controllers make load balancers


def behind(resource: RecordedResource, context: Context) -> Outcome:
    """What an object makes its cluster start."""
    row, (_, kind) = kind_of(resource.type), named(resource.type)
    if renders(resource):
        return Free("what it renders is listed by itself")
    match row.brings if row is not None else "pods":  # of another kind only what has pods comes here
        case "pods":
            lines = (*_machines_of_pods(resource, context), *_claimed(resource, context))
            return lines or Free("its pods run on machines of this program, which are priced by themselves")
        case "volume":
            if not _nodes(context).here(resource, context.graph):
                context.elsewhere.add(resource.urn)  # the cluster's bill, with its machines
            return _volume(resource, context, resource.inputs.get("spec"))
        case "load-balancer":
            return _load_balancer(resource, context, kind)
    return Free(row.reason if row is not None else "an object of the cluster")


# -- pods -------------------------------------------------------------------------------------------------------------


_GKE: Final = "gcp:container/cluster:Cluster"
_BY_AUTOPILOT: Final = "the cluster starts them by itself (Autopilot): no price of their accelerators is known"


def _machines_of_pods(resource: RecordedResource, context: Context) -> tuple[LineItem, ...]:
    wanted = accelerators_asked(resource, context.graph)
    asks = isinstance(wanted, Unknown) or bool(wanted)
    nodes = _nodes(context)
    if nodes.here(resource, context.graph):
        placed = pod_machines.placement(context.graph)
        if resource.urn in placed.jobs:
            component = context.graph.component(resource)
            context.outside.append(f"{component}: machines while it runs ({resource.name}): not stated, not in totals")
            return ()
        if resource.urn in placed.left and (starter := pod_machines.starters(context.graph)):
            with_some = f" with {_accelerators(wanted)}" if asks else ""
            why = f"{starter} starts them as pods need them, and which it takes is not known"
            return (context.unpriced(resource, f"machines{with_some} for its pods", why),)
        if not asks or nodes.accelerated:
            return ()
        started = any(flag(each.inputs.get("enableAutopilot")) is True for each in context.graph.of(_GKE))
        why = _BY_AUTOPILOT if started else "no machines of this program have any"
    else:
        why = "the machines of its cluster are not in this program: their bill is where they are made"
    what = f"machines with {_accelerators(wanted)} for its pods" if asks else "machines for its pods"
    if not asks:
        context.elsewhere.add(resource.urn)
    return (context.unpriced(resource, what, why),)


def _nodes(context: Context) -> Nodes:
    if context.nodes is None:
        context.nodes = nodes_of(context.graph)
    return context.nodes


def _accelerators(wanted: Count) -> str:
    return f"{wanted} accelerators" if isinstance(wanted, int) and wanted > 1 else "accelerators"


# -- volumes, load balancers, machines --------------------------------------------------------------------------------


def _claimed(resource: RecordedResource, context: Context) -> tuple[LineItem, ...]:
    """Volumes that a set makes for each of its pods."""
    templates = items(get(resource.inputs, "spec", "volumeClaimTemplates"))
    if isinstance(templates, Unknown):
        return (context.unpriced(resource, "volumes of its pods", "known only after deployment"),)
    lines: list[LineItem] = []
    for template in templates:
        made = _volume(resource, context, get(template, "spec"))
        lines += made if isinstance(made, tuple) else ()
    return tuple(lines)


def _volume(resource: RecordedResource, context: Context, spec: object) -> Outcome:
    volume, kind = get(spec, "volumeName"), get(spec, "storageClassName")
    if not isinstance(spec, Unknown) and (volume not in (None, "") or kind == ""):
        return Free("bound to storage that exists by itself")
    size = text(get(spec, "resources", "requests", "storage"))
    what = f"volume of {size}" if isinstance(size, str) and size else "volume"
    stated = f"storage class {kind}" if isinstance(kind, str) else "cluster's storage class"
    return (context.unpriced(resource, what, f"which disk it is follows from the {stated}, which no plan shows"),)


def _load_balancer(resource: RecordedResource, context: Context, kind: str) -> Outcome:
    spec = resource.inputs.get("spec")
    if kind == "Service":
        stated = text(get(spec, "type"), "ClusterIP")
        if isinstance(stated, str) and stated != "LoadBalancer":
            return Free("reached inside the cluster, or at its nodes")
    if kind == "Ingress":
        annotations = get(resource.inputs, "metadata", "annotations")
        chosen = text(get(spec, "ingressClassName", default=get(annotations, "kubernetes.io/ingress.class")))
        if isinstance(chosen, str) and chosen and not chosen.startswith(_OF_CLOUDS):
            return Free("served by a controller in the cluster")
    context.elsewhere.add(resource.urn)
    return (context.unpriced(resource, "load balancer", "which one it is follows from the cluster's controller"),)
