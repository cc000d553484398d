from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.readers.network import covers_world
from sizewell.resources.readers.pods import accelerators_asked
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import contains_unknown, get, items

_SERVICE: Final = "kubernetes:core/v1:Service"
_INSIDE: Final = ("internal", "Internal", "private", "vpc", "tailscale")
_LOGIN: Final = ("oauth", "auth-url", "iap")


def model_on_the_internet(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A model server answers inside the network: each request of a stranger holds an accelerator.

    >>> from sizewell.policy.examples import resource, stack
    >>> pod = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    >>> template = {"metadata": {"labels": {"app": "m"}}, "spec": pod}
    >>> server = resource("kubernetes:apps/v1:Deployment", "m", {"spec": {"template": template}})
    >>> door = {"type": "LoadBalancer", "selector": {"app": "m"}}
    >>> service = resource("kubernetes:core/v1:Service", "s", {"spec": door})
    >>> model_on_the_internet(stack(server, service), {})[0][1].fix
    'make it ClusterIP behind a gateway with a login, mark the load balancer internal, or set loadBalancerSourceRanges'
    """
    labels = [
        _labels(resource)
        for resource in facts.graph.plan.resources
        if resource.type.startswith("kubernetes:") and accelerators_asked(resource) != 0
    ]
    return [
        (service.urn, _judged(service, labels))
        for service in facts.graph.of(_SERVICE)
        if get(service.inputs, "spec", "type") in {"LoadBalancer", UNKNOWN} and labels
    ]


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
        return Undetermined("whom the service lets in")
    if not any(all(own.get(key) == value for key, value in selector.items()) for own in labels if selector):
        return None
    texts = [f"{key}={value}" for key, value in notes.items()]
    if any(word in text for text in texts for word in (*_INSIDE, *_LOGIN)):
        return None
    if ranges and not covers_world(ranges) and not {"0.0.0.0/0", "::/0"} & set(ranges):
        return None
    return Violation(
        "everybody on the internet may send the model requests, and each one holds an accelerator on your bill",
        "make it ClusterIP behind a gateway with a login, mark the load balancer internal, or set"
        " loadBalancerSourceRanges",
    )


RULE = Rule(
    id="model-on-the-internet",
    area="safety",
    subject="stack",
    prevents="strangers' requests on your accelerators",
    judge=model_on_the_internet,
    clouds=("kubernetes",),
)
