from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.graph import Graph
from sizewell.resources.readers.network import covers_world
from sizewell.resources.readers.pods import accelerators_asked, chart_asks
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag, contains_unknown, either, flag, get, items

_SERVICE: Final = "kubernetes:core/v1:Service"
_INGRESS: Final = "kubernetes:networking.k8s.io/v1:Ingress"
_ROUTES: Final = tuple(
    f"kubernetes:gateway.networking.k8s.io/{version}:{kind}"
    for version in ("v1", "v1beta1", "v1alpha2")
    for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")
)
_GATEWAYS: Final = tuple(f"kubernetes:gateway.networking.k8s.io/{version}:Gateway" for version in ("v1", "v1beta1"))
_POOLS: Final = tuple(
    f"kubernetes:inference.networking.{group}:InferencePool" for group in ("k8s.io/v1", "x-k8s.io/v1alpha2")
)
_LOGINS: Final = ("kubernetes:cloud.google.com/v1:BackendConfig", "kubernetes:networking.gke.io/v1:GCPBackendPolicy")
_INSIDE: Final = ("internal", "Internal", "private", "vpc", "tailscale")
_LOGIN: Final = ("oauth", "auth-url", "iap")
_ALB: Final = "alb.ingress.kubernetes.io/"
# Classes that open a public load balancer themselves; whether nginx or Traefik stands on one, its own Service says.
_PUBLIC_CLASSES: Final = ("gce", "azure-application-gateway", "azure/application-gateway")
_OPEN: Final = "anyone on the internet can send requests to the model, at your cost"
_OWN_FIX: Final = "take ClusterIP behind a gateway with a login, or mark the load balancer of its service internal"
_NO_TOKEN: Final = re.compile(r"--(?:ServerApp|NotebookApp|IdentityProvider)\.token=\\*['\"]*(?:[\s,\]]|$)")
_PUBLIC_GATEWAYS: Final = ("external", "gxlb")  # in the names of GKE's classes


def model_on_the_internet(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A model server is reachable only from inside the network: outsiders' requests use accelerators.

    >>> from sizewell.policy.examples import resource, stack
    >>> pod = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    >>> template = {"metadata": {"labels": {"app": "m"}}, "spec": pod}
    >>> server = resource("kubernetes:apps/v1:Deployment", "m", {"spec": {"template": template}})
    >>> door = {"type": "LoadBalancer", "selector": {"app": "m"}}
    >>> service = resource("kubernetes:core/v1:Service", "s", {"spec": door})
    >>> model_on_the_internet(stack(server, service), {})[0][1].fix
    'make it ClusterIP behind a gateway with authentication, mark the load balancer internal, or set
    loadBalancerSourceRanges'
    """
    servers = [
        resource
        for resource in facts.graph.plan.resources
        if resource.type.startswith("kubernetes:")
        and (
            accelerators_asked(resource, facts.graph) != 0
            or chart_asks(resource) is not False
            or (resource.type.startswith("kubernetes:ray.io/") and contains_unknown(resource.inputs.get("spec")))
            or _runs_anything(resource)
        )
    ]
    if not servers:
        return []
    labels = [_labels(resource) for resource in servers if chart_asks(resource) is False]
    opened = [(server.urn, _opens(server.inputs)) for server in servers]
    verdicts: list[tuple[str, Verdict]] = [
        (urn, Undetermined("who can reach its service") if public is UNKNOWN else Violation(_OPEN, _OWN_FIX))
        for urn, public in opened
        if public is not False
    ]
    verdicts += [
        (service.urn, _judged(service, labels))
        for service in facts.graph.of(_SERVICE)
        if get(service.inputs, "spec", "type") in {"LoadBalancer", UNKNOWN}
    ]
    backends = _backends(facts.graph, labels)
    verdicts += [(ingress.urn, _ingress(facts.graph, ingress, backends)) for ingress in facts.graph.of(_INGRESS)]
    return verdicts + [(route.urn, _route(facts.graph, route, backends)) for route in facts.graph.of(*_ROUTES)]


def _opens(value: Any) -> Flag:
    """Whether a resource of an operator, or a chart's values, ask for a public load balancer of their own."""
    if isinstance(value, Mapping):
        return either(*(_opens_by(str(key).lower(), part, value) for key, part in value.items()))
    return either(*map(_opens, value)) if isinstance(value, list | tuple) else False


def _opens_by(key: str, part: Any, beside: Mapping[Any, Any]) -> Flag:
    if part is UNKNOWN:
        return (
            UNKNOWN if key in {"spec", "values", "headgroupspec", "servicetype"} or key.endswith("service") else False
        )
    kind = part if key == "servicetype" else get(part, "type") if key.endswith("service") else None
    if isinstance(kind, Unknown):
        return kind
    notes = f"{part if isinstance(part, Mapping) else beside}"
    inside = any(word in notes for word in (*_INSIDE, *_LOGIN)) or "SourceRanges" in notes
    return True if kind == "LoadBalancer" and not inside else _opens(part)


def _runs_anything(resource: RecordedResource) -> bool:
    """Whether a notebook is started that asks nobody for a token: whoever reaches it runs programs there."""
    return bool(_NO_TOKEN.search(f"{resource.inputs.get('spec')}"))


def _labels(resource: RecordedResource) -> Any:
    """The labels of the pods by which a service chooses them."""
    spec = resource.inputs.get("spec")
    if spec is UNKNOWN or get(spec, "template") is UNKNOWN:
        return UNKNOWN
    pods = get(spec, "template", default=resource.inputs)
    return get(pods, "metadata", "labels", default={})


def _judged(service: RecordedResource, labels: list[Any]) -> Verdict:
    spec = service.inputs.get("spec")
    selector = get(spec, "selector", default={})
    notes = get(service.inputs, "metadata", "annotations", default={})
    listed = items(get(spec, "loadBalancerSourceRanges"))
    ranges = [] if isinstance(listed, Unknown) else [str(each) for each in listed if each is not UNKNOWN]
    if contains_unknown([get(spec, "type"), selector, notes, labels]) or contains_unknown([listed]):
        return Undetermined("who can reach the service")
    if not any(all(own.get(key) == value for key, value in selector.items()) for own in labels if selector):
        return None
    texts = [f"{key}={value}" for key, value in notes.items()]
    if any(word in text for text in texts for word in (*_INSIDE, *_LOGIN)):
        return None
    if ranges and not covers_world(ranges) and not {"0.0.0.0/0", "::/0"} & set(ranges):
        return None
    return Violation(
        _OPEN,
        "make it ClusterIP behind a gateway with authentication, mark the load balancer internal, or set"
        " loadBalancerSourceRanges",
    )


def _backends(graph: Graph, labels: list[Any]) -> frozenset[Any] | Unknown:
    """Names of services and pools that send requests to servers with accelerators."""
    names = set()
    for backend in graph.of(_SERVICE, *_POOLS):
        selector = get(backend.inputs, "spec", "selector", default={})
        selector = get(selector, "matchLabels", default=selector)
        if contains_unknown([selector, labels]):
            return UNKNOWN
        if any(all(own.get(key) == value for key, value in selector.items()) for own in labels if selector):
            names.add(get(backend.inputs, "metadata", "name", default=backend.name))
    return frozenset(names)


def _sends_to(value: Any, backends: frozenset[Any] | Unknown) -> Flag:
    """Whether a route or an ingress names one of the backends anywhere."""
    if isinstance(backends, Unknown):
        return UNKNOWN
    named = list(_named(value))
    return True if backends & {name for name in named if isinstance(name, str)} else UNKNOWN in named


def _named(value: Any) -> Iterator[Any]:
    if isinstance(value, Unknown):
        yield UNKNOWN
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key == "service":
                yield get(part, "name")
            elif key == "backendRefs":
                listed = items(part)
                yield from [UNKNOWN] if isinstance(listed, Unknown) else [get(entry, "name") for entry in listed]
            else:
                yield from _named(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _named(part)


def _ingress(graph: Graph, ingress: RecordedResource, backends: frozenset[Any] | Unknown) -> Verdict:
    spec = ingress.inputs.get("spec")
    notes = get(ingress.inputs, "metadata", "annotations", default={})
    if contains_unknown([notes, get(spec, "ingressClassName")]):
        return Undetermined("who can pass the ingress")
    name = str(get(spec, "ingressClassName", default=notes.get("kubernetes.io/ingress.class")) or "")
    public = notes.get(f"{_ALB}scheme") == "internet-facing" or name in _PUBLIC_CLASSES
    inside = str(notes.get("appgw.ingress.kubernetes.io/use-private-ip", "")).lower() == "true"
    ranges = [part.strip() for part in str(notes.get(f"{_ALB}inbound-cidrs", "")).split(",") if part.strip()]
    few = bool(ranges) and not covers_world(ranges)
    login = notes.get(f"{_ALB}auth-type", "none") != "none" or any(word in key for key in notes for word in _LOGIN)
    if not public or inside or few or login:
        return None
    return _open(graph, spec, backends, 'set alb.ingress.kubernetes.io/scheme to "internal", or auth-type to "oidc"')


def _route(graph: Graph, route: RecordedResource, backends: frozenset[Any] | Unknown) -> Verdict:
    parents = items(get(route.inputs, "spec", "parentRefs"))
    names = [UNKNOWN] if isinstance(parents, Unknown) else [get(parent, "name") for parent in parents]
    doors = [
        get(gateway.inputs, "spec", "gatewayClassName")
        for gateway in graph.of(*_GATEWAYS)
        if get(gateway.inputs, "metadata", "name", default=gateway.name) in names or UNKNOWN in names
    ]
    if UNKNOWN in doors or (UNKNOWN in names and doors):
        return Undetermined("who can pass the gateway")
    if not any(word in str(door) for door in doors for word in _PUBLIC_GATEWAYS):
        return None
    return _open(graph, route.inputs.get("spec"), backends, "use an internal class, such as gke-l7-rilb")


def _open(graph: Graph, spec: Any, backends: frozenset[Any] | Unknown, fix: str) -> Verdict:
    """The verdict on a public way in: of no matter where it ends elsewhere, or behind a login of Google Cloud."""
    sends = _sends_to(spec, backends)
    logins = [
        flag(get(each.inputs, "spec", *path, "enabled"))
        for each in graph.of(*_LOGINS)
        for path in (("iap",), ("default", "iap"))
    ]
    if sends is False or True in logins:
        return None
    if sends is UNKNOWN or either(*logins) is UNKNOWN:
        return Undetermined("which servers it routes to, and whether they require authentication")
    return Violation(_OPEN, fix)


RULE = Rule(
    id="model-on-the-internet",
    area="safety",
    subject="stack",
    prevents="requests by outsiders on your accelerators",
    judge=model_on_the_internet,
    clouds=("kubernetes",),
)
