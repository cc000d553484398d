"""Machines that custom resources name: an operator starts them outside the plan, as many as the object states.

Kinds are many and spellings more, of Cluster API, Crossplane, KAITO, OpenShift and the operators of the clouds. What
tells them is the same: an input that is a machine type, and how many there are, here or in the template that is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sizewell.resources import standing
from sizewell.resources.kinds import OF_KUBERNETES, kind_of, named
from sizewell.resources.recorded import RecordedResource, Unknown
from sizewell.resources.stackfacts import Stated
from sizewell.resources.values import get, number

_TYPE: Final = re.compile(
    r"(instance|machine|vm|node|server|compute|hardware)(types?|sizes?|shapes?|skus?|flavou?rs?|class|plan)"
)
_BARE: Final = ("type", "types", "size", "sku", "skuname", "shape", "flavor", "flavour")  # of a cloud's machines alone
_ATTACHED: Final = ("guestaccelerator", "guestaccelerators", "accelerators")
_ASIDE: Final = frozenset(("status", "nodeSelector", "affinity", "tolerations", "labels", "annotations", "selector"))
_WORKS: Final = ("Job", "Run", "Task", "Build", "Execution", "Workflow")  # end with their work
_LEAST: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"


def stated(resource: RecordedResource, beside: Iterable[RecordedResource]) -> Stated | None:
    """The machines with accelerators that a custom resource of an operator names, itself or by a template beside it."""
    if not resource.type.startswith(OF_KUBERNETES):
        return None
    (_, kind), row = named(resource.type), kind_of(resource.type)
    if kind.endswith(("Template", *_WORKS)) or (row is not None and row.brings != "standing-machines"):
        return None
    own = {key: value for key, value in resource.inputs.items() if key not in ("apiVersion", "kind")}
    others = [each for each in beside if each.type.startswith(OF_KUBERNETES) and each is not resource]
    templates = [each.inputs for each in others if each.type.endswith("Template") and _calls(own, each)]
    name = next((each for inputs in (own, *templates) for each in _machines(inputs)), "")
    if not name:
        return None
    scalers = [each.inputs for each in others if _scales(each, kind, get(own, "metadata", "name"))]
    least = get(own, "metadata", "annotations", _LEAST)
    sizes = (_without_attached(own), *scalers, *([] if least is None else [{"minSize": least}]))
    return Stated(kind=name, number=standing.least(sizes), sizes=sizes)


def _machines(value: Any) -> Iterator[str]:
    """The machine types with accelerators among inputs, and the accelerators that are attached to machines."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            plain = str(key).lower().replace("_", "")
            if key in _ASIDE:
                continue
            if plain in _ATTACHED:
                listed = each if isinstance(each, list | tuple) else (each,)
                yield from (str(kind) for one in listed if isinstance(kind := get(one, "type"), str) and kind)
            elif (held := _TYPE.fullmatch(plain) is not None) or plain in _BARE:
                texts = [
                    text for text in (each if isinstance(each, list | tuple) else (each,)) if isinstance(text, str)
                ]
                yield from (text for text in texts if standing.is_accelerator(text, held=held))
            yield from _machines(each) if plain not in _ATTACHED else ()
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _machines(each)


def _without_attached(value: Any) -> Any:
    """Inputs without the accelerators of each machine, whose number is no number of machines."""
    if isinstance(value, Mapping):
        kept = {key: each for key, each in value.items() if str(key).lower().replace("_", "") not in _ATTACHED}
        return {key: _without_attached(each) for key, each in kept.items()}
    return [_without_attached(each) for each in value] if isinstance(value, list | tuple) else value


def _calls(value: Any, other: RecordedResource) -> bool:
    """Whether inputs refer to a template by kind and name."""
    if isinstance(value, Mapping):
        name = value.get("name")
        same = value.get("kind") == named(other.type)[1] and name == get(other.inputs, "metadata", "name")
        return (same and name is not None) or any(_calls(each, other) for each in value.values())
    return any(_calls(each, other) for each in value) if isinstance(value, list | tuple) else False


def _scales(scaler: RecordedResource, kind: str, name: object) -> bool:
    """Whether an autoscaler beside it moves how many there are."""
    target = get(scaler.inputs, "spec", "scaleTargetRef")
    least = number(get(scaler.inputs, "spec", "minReplicas"))
    known = least is not None and not isinstance(least, Unknown)
    return known and get(target, "kind") == kind and get(target, "name") == name
