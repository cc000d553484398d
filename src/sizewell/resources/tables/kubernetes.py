"""What stands behind objects of Kubernetes: machines, volumes and load balancers, which somebody bills.

An object costs nothing by itself. What it makes its cluster start does: where the machines of the cluster are in the
same program, they have prices of their own there; elsewhere the object is unpriced, with the reason. A kind of object
that no row of kubernetes_kinds.csv knows belongs to an operator, and what that starts only the operator knows.
"""

from __future__ import annotations

from typing import Final

from sizewell.resources.context import Context, Free, Outcome
from sizewell.resources.hidden import renders
from sizewell.resources.kubernetes import kind_of, named, nodes_of
from sizewell.resources.readers.pods import accelerators_asked, has_pods
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.values import Count, get, items, text
from sizewell.sizing.money import LineItem

_OF_CLOUDS: Final = ("alb", "gce", "azure")  # how classes of Ingress begin whose controllers make load balancers


def behind(resource: RecordedResource, context: Context) -> Outcome:
    """What an object makes its cluster start."""
    (group, kind), row = named(resource.type), kind_of(resource.type)
    if renders(resource):
        return Free("what it renders is listed by itself")
    if row is None and not has_pods(resource):
        return (
            context.unpriced(
                resource, f"custom resource {kind} of {group}", "what it makes its operator start is not in this plan"
            ),
        )
    brings = row.brings if row is not None else "pods"
    match brings:
        case "pods":
            lines = (*_machines_of_pods(resource, context), *_claimed(resource, context))
            return lines or Free("its pods run on machines of this program, which are priced by themselves")
        case "volume":
            return _volume(resource, context, resource.inputs.get("spec"))
        case "load-balancer":
            return _load_balancer(resource, context, kind)
        case "machines":
            return (context.unpriced(resource, _started(resource), "they are started as pods need them"),)
    return Free(row.reason if row is not None else "")


# -- pods -------------------------------------------------------------------------------------------------------------


def _machines_of_pods(resource: RecordedResource, context: Context) -> tuple[LineItem, ...]:
    wanted = accelerators_asked(resource, context.graph)
    asks = isinstance(wanted, Unknown) or bool(wanted)
    nodes = context.nodes
    if nodes is None:
        nodes = context.nodes = nodes_of(context.graph)
    if nodes.here(resource, context.graph):
        if not asks or nodes.accelerated:
            return ()
        why = "no machines of this program have any"
    else:
        why = "the machines of its cluster are not in this program: their bill is where they are made"
    what = f"machines with {_accelerators(wanted)} for its pods" if asks else "machines for its pods"
    if not asks:
        context.elsewhere.add(resource.urn)
    return (context.unpriced(resource, what, why),)


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


def _started(resource: RecordedResource) -> str:
    """Machines that an object makes its cluster start, with the types that it names."""
    kinds = [
        str(value)
        for requirement in _list(get(resource.inputs, "spec", "template", "spec", "requirements"))
        if get(requirement, "key") == "node.kubernetes.io/instance-type"
        for value in _list(get(requirement, "values"))
    ]
    return f"machines that it starts ({', '.join(kinds[:3])})" if kinds else "machines that it starts"


def _list(value: object) -> tuple[object, ...]:
    listed = items(value)
    return () if isinstance(listed, Unknown) else listed
