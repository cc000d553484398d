from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sizewell.policy.rule import Parameter, Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.readers.guards import LONGEST_IDLE_MINUTES
from sizewell.resources.readers.pods import accelerators_asked, chart_asks
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import Flag, canonical, contains_unknown, count, either, flag, get, items

_SERVERS: Final = (
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "Pod",
    "DaemonSet",
    "RayCluster",
    "RayService",
    "RayJob",
    "LeaderWorkerSet",
    "InferenceService",
    "Notebook",
)
_RAY: Final[dict[str, tuple[str, ...]]] = {
    "RayCluster": (),
    "RayService": ("rayClusterConfig",),
    "RayJob": ("rayClusterSpec",),
}
_KEEPERS: Final = ("pause", "sleep infinity", "tail -f /dev/null", "sleep inf")


def server_never_ends(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """Pods that hold accelerators until somebody deletes them need a scaler that reaches zero, or an expiry.

    >>> from sizewell.policy.examples import resource, stack
    >>> pod = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    >>> server = resource("kubernetes:apps/v1:Deployment", "m", {"spec": {"replicas": 1, "template": {"spec": pod}}})
    >>> server_never_ends(stack(server, environment="dev"), {"environments": ["dev"]})[0][1].fix
    'add a KEDA ScaledObject with minReplicaCount 0, or the label sizewell-expires with a date'
    """
    if facts.environment not in parameters["environments"]:
        return []
    charts = [
        (resource.urn, _chart(resource)) for resource in facts.graph.plan.resources if chart_asks(resource) is not False
    ]
    servers = [
        (resource.urn, _judged(facts, resource))
        for resource in facts.graph.plan.resources
        if resource.custom
        and resource.type.startswith("kubernetes:")
        and resource.type.rsplit(":", 1)[-1] in _SERVERS
        and (contains_unknown(resource.inputs.get("spec")) or accelerators_asked(resource, facts.graph) != 0)
    ]
    return charts + servers


def _judged(facts: StackFacts, resource: RecordedResource) -> Verdict:
    spec = resource.inputs.get("spec")
    if spec is UNKNOWN:
        return Undetermined("what it starts")
    labels = {**_mapping(resource, "labels"), **_mapping(resource, "annotations")}
    if any(str(key).endswith("expires") for key in labels):
        return None
    kind = canonical(resource.type).rsplit(":", 1)[-1]
    if kind in _RAY:
        ends = _ray(get(spec, *_RAY[kind]) if _RAY[kind] else spec)
        if kind == "RayJob":
            ends = either(ends, flag(get(spec, "shutdownAfterJobFinishes")))
    elif kind == "Pod" and get(spec, "activeDeadlineSeconds") is not None:
        ends = True
    elif kind == "InferenceService":
        least = count(get(spec, "predictor", "minReplicas", default=1))
        ends = UNKNOWN if least is UNKNOWN else least == 0
    else:
        ends = either(
            count(get(spec, "replicas")) == 0, *(_scales(other, resource) for other in facts.graph.plan.resources)
        )
    if ends is True and not any(word in f"{_commands(spec)}" for word in _KEEPERS):
        return None
    if ends is UNKNOWN or accelerators_asked(resource, facts.graph) in (UNKNOWN, 0):
        return Undetermined("what scales it, and its minimum")
    return Violation(
        "its pods hold accelerators around the clock, with or without requests",
        "add a KEDA ScaledObject with minReplicaCount 0, or the label sizewell-expires with a date",
    )


def _chart(release: RecordedResource) -> Verdict:
    """A release whose values ask for accelerators says in its values as well that something brings them to zero."""
    values = release.inputs.get("values")
    if chart_asks(release) is UNKNOWN:
        return Undetermined("what the chart starts")
    if any(str(key).endswith("expires") for key in _keys(values)) or _reaches_zero(values):
        return None
    return Violation(
        "its pods hold accelerators around the clock, with or without requests",
        "set the least replicas of the chart's autoscaler to 0, or add the label sizewell-expires with a date",
    )


_LEAST: Final = ("minReplicas", "minReplicaCount", "replicaCount", "replicas", "minScale")


def _keys(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [*map(str, value), *(key for part in value.values() for key in _keys(part))]
    return [key for part in value for key in _keys(part)] if isinstance(value, list | tuple) else []


def _reaches_zero(value: Any) -> bool:
    """Whether values state a least number of zero, of an autoscaler that is not switched off."""
    if isinstance(value, Mapping):
        if value.get("enabled") is False:
            return False
        stated = [value[key] for key in _LEAST if key in value]
        return any(str(least) == "0" for least in stated) or any(map(_reaches_zero, value.values()))
    return isinstance(value, list | tuple) and any(map(_reaches_zero, value))


def _mapping(resource: RecordedResource, key: str) -> dict[str, Any]:
    stated = get(resource.inputs, "metadata", key)
    return dict(stated) if isinstance(stated, dict) else {}


def _commands(spec: Any) -> list[str]:
    """Images, commands and arguments of the containers, each as one text."""
    if isinstance(spec, dict):
        own = [spec[key] for key in ("command", "args") if isinstance(spec.get(key), list)]
        joined = [" ".join(map(str, part)) for part in own]
        image = str(spec.get("image", "")).partition("@")[0].partition(":")[0].rsplit("/", 1)[-1]
        return [*joined, *(["pause"] if image == "pause" else []), *(t for v in spec.values() for t in _commands(v))]
    return [text for part in spec for text in _commands(part)] if isinstance(spec, list | tuple) else []


def _scales(scaler: RecordedResource, server: RecordedResource) -> Flag:
    """Whether a KEDA scaler brings this server to nothing; other scalers keep one at least."""
    if not canonical(scaler.type).startswith("kubernetes:keda.sh/") or not scaler.type.endswith(":ScaledObject"):
        return False
    spec = scaler.inputs.get("spec")
    named, own = get(spec, "scaleTargetRef", "name"), get(server.inputs, "metadata", "name", default=server.name)
    paused = get(scaler.inputs, "metadata", "annotations", "autoscaling.keda.sh/paused")
    least = count(get(spec, "minReplicaCount", default=0))
    wait, triggers = count(get(spec, "cooldownPeriod", default=300)), items(get(spec, "triggers"))
    if UNKNOWN in (named, own, paused, least, wait) or isinstance(triggers, Unknown):
        return UNKNOWN
    sleeps = isinstance(wait, int) and wait <= LONGEST_IDLE_MINUTES * 60 and not any(map(_always, triggers))
    return named == own and least == 0 and sleeps and str(paused).lower() != "true"


def _always(trigger: Any) -> bool:
    """Whether a trigger by the clock holds servers from the first minute of every day to the last."""
    start, end = (str(get(trigger, "metadata", key)).split() for key in ("start", "end"))
    days = [fields[2:] for fields in (start, end) if len(fields) == 5]
    return start[:2] == ["0", "0"] and end[:2] in (["59", "23"], ["0", "0"]) and days == [["*", "*", "*"]] * 2


def _ray(spec: Any) -> Flag:
    groups = items(get(spec, "workerGroupSpecs"))
    scaled = flag(get(spec, "enableInTreeAutoscaling"))
    if isinstance(groups, Unknown) or UNKNOWN in groups:
        return UNKNOWN
    least = [count(get(group, "minReplicas", default=0)) for group in groups]
    return UNKNOWN if UNKNOWN in (scaled, *least) else scaled is True and not any(least)


RULE = Rule(
    id="server-never-ends",
    area="spend",
    subject="stack",
    prevents="pods that hold accelerators without requests",
    judge=server_never_ends,
    clouds=("kubernetes",),
    parameters={
        "environments": Parameter(
            default=["dev"],
            schema={"type": "array", "items": {"type": "string"}},
            meaning="environments whose servers must be able to reach zero",
        )
    },
)
