"""KEDA's scalers: whether one brings a server to nothing while nobody asks it."""

from __future__ import annotations

from typing import Any, Final

from sizewell.resources.readers.guards import LONGEST_IDLE_MINUTES
from sizewell.resources.recorded import UNKNOWN, RecordedResource, Unknown
from sizewell.resources.values import Flag, canonical, count, get, items


def keda_scales(scaler: RecordedResource, server: RecordedResource) -> Flag:
    """Whether a KEDA scaler brings this server to nothing; other scalers keep one at least."""
    if not canonical(scaler.type).startswith("kubernetes:keda.sh/") or not scaler.type.endswith(":ScaledObject"):
        return False
    spec, aimed = scaler.inputs.get("spec"), aims_at(scaler, server)
    notes = [get(scaler.inputs, "metadata", "annotations", f"autoscaling.keda.sh/{each}") for each in _PAUSES]
    least = count(get(spec, "minReplicaCount", default=0))
    wait, triggers = count(get(spec, "cooldownPeriod", default=300)), items(get(spec, "triggers"))
    if aimed is False:
        return False
    if UNKNOWN in (least, wait, *notes) or isinstance(triggers, Unknown):
        return UNKNOWN
    held = str(notes[0]).lower() == "true" or notes[1] not in (None, "0", 0) or str(notes[2]).lower() == "true"
    # KEDA goes to nothing by a trigger that is active or not: the load of pods that are gone is not.
    wakes = any(get(trigger, "type") not in ("cpu", "memory") for trigger in triggers)
    sleeps = isinstance(wait, int) and wait <= LONGEST_IDLE_MINUTES * 60 and not any(map(_covers_every_day, triggers))
    if least != 0 or held or not wakes or not sleeps:
        return False
    return aimed


def aims_at(scaler: RecordedResource, server: RecordedResource) -> Flag:
    """Whether an autoscaler of pods names this server: by its name, or by what the engine says it is made of."""
    target = get(scaler.inputs, "spec", "scaleTargetRef")
    named, kind = get(target, "name"), get(target, "kind", default="Deployment")
    own = get(server.inputs, "metadata", "name", default=server.name)
    if kind is not UNKNOWN and kind != canonical(server.type).rsplit(":", 1)[-1]:
        return False
    if named is UNKNOWN and (sources := scaler.property_dependencies.get("spec", ())):
        return server.urn in sources and (UNKNOWN if kind is UNKNOWN else True)
    if UNKNOWN in (named, own, kind):
        return UNKNOWN
    return _same_namespace(scaler, server) if named == own else False


_PAUSES: Final = ("paused", "paused-replicas", "paused-scale-in")


def _same_namespace(scaler: RecordedResource, server: RecordedResource) -> Flag:
    """Whether a scaler is where its target is; where one of them names none, its provider may."""
    places = [get(each.inputs, "metadata", "namespace") for each in (scaler, server)]
    if places[0] is UNKNOWN and places[1] is UNKNOWN:
        return True  # made in the same program, as far as can be known
    if UNKNOWN in places:
        return UNKNOWN
    if None in places and places[0] != places[1] and (scaler.provider or server.provider):
        return UNKNOWN
    return (places[0] or "default") == (places[1] or "default")


def _covers_every_day(trigger: Any) -> bool:
    """Whether a trigger by the clock holds servers from the first minute of every day to the last."""
    start, end = (str(get(trigger, "metadata", key)).split() for key in ("start", "end"))
    days = [fields[2:] for fields in (start, end) if len(fields) == 5]
    return start[:2] == ["0", "0"] and end[:2] in (["59", "23"], ["0", "0"]) and days == [["*", "*", "*"]] * 2
