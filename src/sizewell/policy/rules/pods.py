"""What runs on Kubernetes: rights and limits of pods, their images and probes, servers open to the internet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sizewell.policy.rule import Parameters, StackVerdicts, Undetermined, Verdict, Violation, forbid, require, rule
from sizewell.resources.graph import Graph
from sizewell.resources.readers.network import covers_world
from sizewell.resources.readers.pods import accelerators_asked, chart_asks
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import Pods, StackFacts
from sizewell.resources.values import Flag, contains_unknown, either, flag, get, items


@rule(
    "pod-as-root",
    area="safety",
    subject="pods",
    prevents="root on the machine through a container",
    level="advisory",
    clouds=("kubernetes",),
)
def pod_as_root(pods: Pods, _: Parameters) -> Verdict:
    """Containers do not run as root: a flaw in the runtime then does not give control of the machine.

    >>> from sizewell.policy.examples import pods
    >>> pod_as_root(pods(root=True), {}).fix
    'set securityContext.runAsNonRoot to true'
    """
    return forbid(
        pods.root,
        message="the container runs as root: a vulnerability of the runtime gives root on the machine",
        fix="set securityContext.runAsNonRoot to true",
        unknown="the container's user",
    )


@rule(
    "pod-privileged",
    area="safety",
    subject="pods",
    prevents="one compromised container with control of the machine",
    level="advisory",
    clouds=("kubernetes",),
)
def pod_privileged(pods: Pods, _: Parameters) -> Verdict:
    """No pod has the rights of its machine, or shares its network, processes or folders.

    >>> from sizewell.policy.examples import pods
    >>> pod_privileged(pods(privileged=True), {}).fix
    'drop privileged, added capabilities, host namespaces and hostPath'
    """
    return forbid(
        either(pods.privileged, pods.host),
        message=(
            "a compromised container has control of the machine, with the rights and checkpoints of every job on it"
        ),
        fix="drop privileged, added capabilities, host namespaces and hostPath",
        unknown="the pod's security context",
    )


_WORKLOAD_KINDS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "Pod", "CronJob")
_RUNS: Final = ("Job", "JobSet", "RayJob", "RayCluster")  # a run may use its machine's network, for its fabric
_HOST_PATHS: Final = ("/", "/etc", "/root", "/proc", "/sys", "/var/run/docker.sock", "/run/containerd/containerd.sock",
                 "/var/run", "/var/lib/kubelet")  # fmt: skip


@rule(
    "pod-owns-machine",
    area="safety",
    subject="pods",
    prevents="one compromised server with control of the machine",
    levels={"dev": "advisory"},
    clouds=("kubernetes",),
)
def pod_owns_machine(pods: Pods, _: Parameters) -> Verdict:
    """A server does not share the machine's processes, network, root folder or container engine.

    >>> from sizewell.policy.examples import pods
    >>> host = {"spec": {"hostPID": True, "containers": []}}
    >>> pod_owns_machine(pods(type="kubernetes:apps/v1:Deployment", path="spec", inputs=host), {}).fix
    'drop privileged, host namespaces, added capabilities and hostPath'
    """
    kind = pods.type.rsplit(":", 1)[-1]
    if kind in _RUNS and pods.privileged is True:
        return _violation()
    if kind not in _WORKLOAD_KINDS:
        return None
    spec: Any = pods.inputs
    for step in pods.path.split("."):
        spec = get(spec, int(step) if step.isdigit() else step)
    if pods.privileged is True or any(flag(get(spec, key)) is True for key in ("hostNetwork", "hostPID", "hostIPC")):
        return _violation()
    volumes = items(get(spec, "volumes"))
    paths = () if isinstance(volumes, Unknown) else tuple(get(volume, "hostPath", "path") for volume in volumes)
    if any(isinstance(path, str) and path.rstrip("/") in {door.rstrip("/") for door in _HOST_PATHS} for path in paths):
        return _violation()
    open_ends = [pods.privileged, volumes, *paths, *(get(spec, key) for key in ("hostNetwork", "hostPID", "hostIPC"))]
    return Undetermined("the pod's security context") if UNKNOWN in (spec, *open_ends) else None


def _violation() -> Violation:
    return Violation(
        "a compromised server has control of the machine, with the credentials and data of every pod on it",
        "drop privileged, host namespaces, added capabilities and hostPath",
    )


@rule(
    "pod-token-unused",
    area="safety",
    subject="stack",
    prevents="cluster tokens in compromised containers",
    level="advisory",
    clouds=("kubernetes",),
)
def pod_token_unused(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A pod has a cluster token only if a role is bound to its account.

    >>> from sizewell.policy.examples import pods, stack
    >>> pod_token_unused(stack(pods=(pods(token=True),)), {})[0][1].fix
    'set automountServiceAccountToken to false'
    """
    bound: set[str] = set()
    unsure = False
    for binding in facts.graph.plan.resources:
        if binding.type.rsplit(":", 1)[-1] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        subjects = items(binding.inputs.get("subjects"))
        names = [get(subject, "name") for subject in subjects] if isinstance(subjects, tuple) else [UNKNOWN]
        unsure |= UNKNOWN in names
        bound.update(str(name) for name in names)
    verdicts: list[tuple[str, Verdict]] = []
    for pods in facts.pods:
        if pods.token is False or pods.service_account in bound:
            verdicts.append((pods.urn, None))
        elif UNKNOWN in (pods.token, pods.service_account) or unsure:
            verdicts.append((pods.urn, Undetermined("its account and what is bound to it")))
        else:
            message = "the container has a token for the cluster's API that it does not need"
            verdicts.append((pods.urn, Violation(message, "set automountServiceAccountToken to false")))
    return verdicts


@rule(
    "pod-without-limits",
    area="correctness",
    subject="pods",
    prevents="jobs killed by another pod's memory leak",
    level="advisory",
    clouds=("kubernetes",),
)
def pod_without_limits(pods: Pods, _: Parameters) -> Verdict:
    """Pods on accelerators have a memory limit: without, one leak takes the machine and all its jobs.

    >>> from sizewell.policy.examples import pods
    >>> pod_without_limits(pods(accelerators=8, limited=False), {}).fix
    'set resources.limits.memory on every container'
    """
    if isinstance(pods.accelerators, Unknown):
        return Undetermined("the accelerators that it asks for")
    if not pods.accelerators:
        return None
    return require(
        pods.limited,
        message="without memory limits a leak in one container can kill every job on the machine",
        fix="set resources.limits.memory on every container",
        unknown="the memory limits",
    )


@rule(
    "pod-not-tolerating",
    area="correctness",
    subject="pods",
    prevents="jobs that wait while their machines are billed",
    level="advisory",
    clouds=("kubernetes",),
)
def pod_not_tolerating(pods: Pods, _: Parameters) -> Verdict:
    """A pod that requests accelerators tolerates the taint of their nodes: otherwise it waits for ever.

    >>> from sizewell.policy.examples import pods
    >>> pod_not_tolerating(pods(accelerators=1, tolerates=False), {}).fix
    'add a toleration of nvidia.com/gpu, google.com/tpu, aws.amazon.com/neuron or sku (operator: Exists)'
    """
    if isinstance(pods.accelerators, Unknown):
        return Undetermined("the accelerators that it asks for")
    if not pods.accelerators:
        return None
    return require(
        pods.tolerates,
        message=(
            "the pod tolerates no taint of accelerators: where their nodes are tainted, and nothing adds the "
            "toleration as GKE does, it never starts"
        ),
        fix="add a toleration of nvidia.com/gpu, google.com/tpu, aws.amazon.com/neuron or sku (operator: Exists)",
        unknown="the tolerations",
    )


@rule(
    "pod-image-unpinned",
    area="safety",
    subject="pods",
    prevents="runs that cannot be reproduced, and images replaced by others",
    level="advisory",
    clouds=("kubernetes",),
)
def pod_image_unpinned(pods: Pods, _: Parameters) -> Verdict:
    """Images are named by digest or version: a job that resumes runs the same code as before.

    >>> from sizewell.policy.examples import pods
    >>> pod_image_unpinned(pods(pinned=False), {}).fix
    'name the image by digest (@sha256:...) or version'
    """
    return require(
        pods.pinned,
        message="the image is not pinned: a job that restarts may run different code",
        fix="name the image by digest (@sha256:...) or version",
        unknown="the image",
    )


@rule(
    "server-unprobed",
    area="correctness",
    subject="pods",
    prevents="servers that hang and are billed, and requests that fail",
    level="advisory",
    clouds=("kubernetes",),
)
def server_unprobed(pods: Pods, _: Parameters) -> Verdict:
    """A server on accelerators has readiness and liveness probes; a job, which ends by itself, needs none.

    >>> from sizewell.policy.examples import pods
    >>> server_unprobed(pods(accelerators=1, serves=True, readiness=True), {}).fix
    'add a livenessProbe to the serving container'
    >>> server_unprobed(pods(accelerators=8, serves=False), {}) is None
    True
    """
    if pods.serves is False or pods.accelerators == 0 or (pods.readiness is True and pods.liveness is True):
        return None
    if isinstance(pods.accelerators, Unknown) or pods.serves is UNKNOWN:
        return Undetermined("its accelerators and its callers")
    if pods.readiness is False:
        return Violation(
            "no readiness probe: requests fail while weights are loading, and a bad rollout replaces good pods",
            "add a readinessProbe to the serving container, and a startupProbe for as long as it loads",
        )
    if pods.liveness is False:
        return Violation(
            "no liveness probe: a server that hangs is not restarted and is still billed",
            "add a livenessProbe to the serving container",
        )
    return Undetermined("the probes")


_SERVICE: Final = "kubernetes:core/v1:Service"
_INGRESS: Final = "kubernetes:networking.k8s.io/v1:Ingress"
_ROUTES: Final = tuple(
    f"kubernetes:gateway.networking.k8s.io/{version}:{kind}"
    for version in ("v1", "v1beta1", "v1alpha2")
    for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")
)
_GATEWAYS: Final = tuple(f"kubernetes:gateway.networking.k8s.io/{version}:Gateway" for version in ("v1", "v1beta1"))
_INFERENCE_POOLS: Final = tuple(
    f"kubernetes:inference.networking.{group}:InferencePool" for group in ("k8s.io/v1", "x-k8s.io/v1alpha2")
)
_LOGINS: Final = ("kubernetes:cloud.google.com/v1:BackendConfig", "kubernetes:networking.gke.io/v1:GCPBackendPolicy")
_INSIDE: Final = ("internal", "Internal", "private", "vpc", "tailscale")
_LOGIN: Final = ("oauth", "auth-url", "iap")
_ALB: Final = "alb.ingress.kubernetes.io/"
# Classes that open a public load balancer themselves; whether nginx or Traefik stands on one, its own Service says.
_PUBLIC_CLASSES: Final = ("gce", "azure-application-gateway", "azure/application-gateway")
_OPEN_TO_INTERNET: Final = "anyone on the internet can send requests to the model, at your cost"
_OWN_FIX: Final = "take ClusterIP behind a gateway with a login, or mark the load balancer of its service internal"
_NO_TOKEN: Final = re.compile(r"--(?:ServerApp|NotebookApp|IdentityProvider)\.token=\\*['\"]*(?:[\s,\]]|$)")
_PUBLIC_GATEWAYS: Final = ("external", "gxlb")  # in the names of GKE's classes


@rule(
    "model-on-the-internet",
    area="safety",
    subject="stack",
    prevents="requests by outsiders on your accelerators",
    about_accelerators=True,
    clouds=("kubernetes",),
)
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
    labels = [_pod_labels(resource) for resource in servers if chart_asks(resource) is False]
    opened = [(server.urn, _asks_for_load_balancer(server.inputs)) for server in servers]
    verdicts: list[tuple[str, Verdict]] = [
        (
            urn,
            Undetermined("who can reach its service") if public is UNKNOWN else Violation(_OPEN_TO_INTERNET, _OWN_FIX),
        )
        for urn, public in opened
        if public is not False
    ]
    verdicts += [
        (service.urn, _judge_service(service, labels))
        for service in facts.graph.of(_SERVICE)
        if get(service.inputs, "spec", "type") in {"LoadBalancer", UNKNOWN}
    ]
    backends = _accelerated_backends(facts.graph, labels)
    verdicts += [(ingress.urn, _judge_ingress(facts.graph, ingress, backends)) for ingress in facts.graph.of(_INGRESS)]
    return verdicts + [(route.urn, _judge_route(facts.graph, route, backends)) for route in facts.graph.of(*_ROUTES)]


def _asks_for_load_balancer(value: Any) -> Flag:
    """Whether a resource of an operator, or a chart's values, ask for a public load balancer of their own."""
    if isinstance(value, Mapping):
        return either(*(_key_asks_for_load_balancer(str(key).lower(), part, value) for key, part in value.items()))
    return either(*map(_asks_for_load_balancer, value)) if isinstance(value, list | tuple) else False


def _key_asks_for_load_balancer(key: str, part: Any, beside: Mapping[Any, Any]) -> Flag:
    if part is UNKNOWN:
        return (
            UNKNOWN if key in {"spec", "values", "headgroupspec", "servicetype"} or key.endswith("service") else False
        )
    kind = part if key == "servicetype" else get(part, "type") if key.endswith("service") else None
    if isinstance(kind, Unknown):
        return kind
    notes = f"{part if isinstance(part, Mapping) else beside}"
    inside = any(word in notes for word in (*_INSIDE, *_LOGIN)) or "SourceRanges" in notes
    return True if kind == "LoadBalancer" and not inside else _asks_for_load_balancer(part)


def _runs_anything(resource: RecordedResource) -> bool:
    """Whether a notebook is started that asks nobody for a token: whoever reaches it runs programs there."""
    return bool(_NO_TOKEN.search(f"{resource.inputs.get('spec')}"))


def _pod_labels(resource: RecordedResource) -> Any:
    """The labels of the pods by which a service chooses them."""
    spec = resource.inputs.get("spec")
    if spec is UNKNOWN or get(spec, "template") is UNKNOWN:
        return UNKNOWN
    pods = get(spec, "template", default=resource.inputs)
    return get(pods, "metadata", "labels", default={})


def _judge_service(service: RecordedResource, labels: list[Any]) -> Verdict:
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
        _OPEN_TO_INTERNET,
        "make it ClusterIP behind a gateway with authentication, mark the load balancer internal, or set"
        " loadBalancerSourceRanges",
    )


def _accelerated_backends(graph: Graph, labels: list[Any]) -> frozenset[Any] | Unknown:
    """Names of services and pools that send requests to servers with accelerators."""
    names = set()
    for backend in graph.of(_SERVICE, *_INFERENCE_POOLS):
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
    named = list(_named_backends(value))
    return True if backends & {name for name in named if isinstance(name, str)} else UNKNOWN in named


def _named_backends(value: Any) -> Iterator[Any]:
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
                yield from _named_backends(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _named_backends(part)


def _judge_ingress(graph: Graph, ingress: RecordedResource, backends: frozenset[Any] | Unknown) -> Verdict:
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
    return _judge_public_path(
        graph, spec, backends, 'set alb.ingress.kubernetes.io/scheme to "internal", or auth-type to "oidc"'
    )


def _judge_route(graph: Graph, route: RecordedResource, backends: frozenset[Any] | Unknown) -> Verdict:
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
    return _judge_public_path(graph, route.inputs.get("spec"), backends, "use an internal class, such as gke-l7-rilb")


def _judge_public_path(graph: Graph, spec: Any, backends: frozenset[Any] | Unknown, fix: str) -> Verdict:
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
    return Violation(_OPEN_TO_INTERNET, fix)
