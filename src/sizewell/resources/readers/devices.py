"""How a pod asks for accelerators: devices by name, claims, or the machines that it has to run on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sizewell import csvtables
from sizewell.resources.graph import Graph
from sizewell.resources.readers import claims
from sizewell.resources.readers.common import is_accelerated_name
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.values import Count, count, get, items
from sizewell.sizing.providers import CLOUDS


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceName:
    """A row of device_names.csv: how the name of a device begins that pods ask for, or of a node's label.

    A device is counted, or an amount of memory or of shares of one; "other" is no accelerator. An annotation asks a
    scheduler for a part of a device; a "word" stands somewhere in a label that a cluster's owner made up.
    """

    begins: str
    names: Literal["device", "share", "other", "label", "annotation", "word"]
    source: str


_ROWS: Final = csvtables.read(DeviceName, Path(__file__).parent / "data/device_names.csv")
_LABELS: Final = tuple(row.begins for row in _ROWS if row.names == "label")
_ANNOTATIONS: Final = tuple(row.begins for row in _ROWS if row.names == "annotation")
_RESOURCES: Final = tuple(row for row in _ROWS if row.names in ("device", "share", "other"))
_MACHINE_TYPE: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_FAMILIES: Final = {  # labels of Karpenter and Auto Mode -> a machine type of the family that they name
    "karpenter.k8s.aws/instance-family": "{}.xlarge",
    "eks.amazonaws.com/instance-family": "{}.xlarge",
    "karpenter.k8s.aws/instance-category": "{}5.xlarge",
    "eks.amazonaws.com/instance-category": "{}5.xlarge",
    "karpenter.azure.com/sku-family": "Standard_{}C24ads_A100_v4",
}
_RUNTIMES: Final = ("nvidia", "habana", "gpu", "neuron")  # in the names of runtime classes
_WORDS: Final = re.compile(rf"(?<![a-z0-9])({'|'.join(row.begins for row in _ROWS if row.names == 'word')})")
_SHARED: Final = "runai"  # in the name of a scheduler
_NONE: Final = ("", "false", "none", "no", "0")  # values of a label that say that there is none


def is_device(name: str) -> bool:
    """Whether a resource that pods ask for, or the taint that keeps others off, is of an accelerator.

    >>> is_device("nvidia.com/mig-3g.40gb"), is_device("habana.ai/gaudi"), is_device("ephemeral-storage")
    (True, True, False)
    """
    return _kind(name) in ("device", "share")


def _kind(name: str) -> str:
    """What a resource that pods ask for is: of the table's rows the one that fits longest; "unknown" for what only a
    plugin can offer (a domain and a name) and no row names; "" for Kubernetes' own.
    """
    fitting = [row for row in _RESOURCES if name.startswith(row.begins)]
    row = max(fitting, key=lambda row: len(row.begins), default=None)
    if row is not None:
        return row.names
    domain, slash, _ = name.partition("/")
    return "unknown" if slash and not domain.endswith("kubernetes.io") else ""


def annotated(metadata: object) -> bool:
    """Whether a pod's annotations or labels ask a scheduler for a part of an accelerator.

    >>> annotated({"annotations": {"gpu-fraction": "0.5"}}), annotated({"annotations": {"team": "gpu"}})
    (True, False)
    """
    parts = (get(metadata, part) for part in ("annotations", "labels"))
    stated = (pair for part in parts if isinstance(part, Mapping) for pair in part.items())
    return any(key in _ANNOTATIONS and str(value) not in _NONE for key, value in stated)


def of(amounts: object) -> tuple[object, ...]:
    """What limits or requests state of accelerators; UNKNOWN for all that they may state."""
    if isinstance(amounts, Unknown):
        return (UNKNOWN,)
    stated = amounts.items() if isinstance(amounts, Mapping) else ()
    kinds = [(_kind(str(name)), value) for name, value in stated]
    asked: list[object] = [value for kind, value in kinds if kind == "device"]
    # An amount of memory or shares of a device is one device.
    asked += [value if str(value) in _NONE else 1 for kind, value in kinds if kind == "share"]
    asked += [UNKNOWN for kind, value in kinds if kind == "unknown" and str(value) not in _NONE]
    return tuple(asked)


def containers(spec: object) -> tuple[object, ...] | Unknown:
    own, before = items(get(spec, "containers")), items(get(spec, "initContainers"))
    return UNKNOWN if isinstance(own, Unknown) or isinstance(before, Unknown) else own + before


def asked(spec: object, graph: Graph, *, everywhere: bool = False) -> Count:
    """Accelerators of one pod: what its containers or claims ask for; 1 where it only has to run beside some.

    `everywhere`: its pods run on every existing machine and start none, so the machines say nothing.
    """
    own = containers(spec)
    if isinstance(own, Unknown):
        return UNKNOWN
    if get(spec, "resourceClaims") is not None:
        claimed = claims.claimed(spec, graph)
        if claimed != 0:
            return claimed
    wanted = [
        count(amount)
        for container in (*own, spec)  # a pod may state its resources as a whole
        for part in ("limits", "requests")
        for amount in of(get(container, "resources", part))
    ]
    known = [number for number in wanted if isinstance(number, int)]
    if UNKNOWN in wanted and not any(known):
        return UNKNOWN
    if not any(known) and not everywhere and placed_beside_some(spec):
        return 1
    if not any(known) and _SHARED in str(get(spec, "schedulerName", default="")).lower():
        return UNKNOWN  # it reads parts of devices from annotations
    return max(known, default=0)


def uses_unasked(spec: object) -> bool:
    """Whether a pod that asks for no device runs only on machines with some."""
    own = containers(spec)
    listed = (spec,) if isinstance(own, Unknown) else (*own, spec)
    if any(of(get(each, "resources", part)) for each in listed for part in ("limits", "requests")):
        return False
    return placed_beside_some(spec)


def shared(spec: object) -> bool:
    """Whether a pod takes a part of a device, of which several fit on one: how many, only the cluster knows.

    >>> shared({"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}]})
    True
    """
    own = containers(spec)
    listed = (spec,) if isinstance(own, Unknown) else (*own, spec)
    amounts = [get(each, "resources", part) for each in listed for part in ("limits", "requests")]
    names = [str(name) for each in amounts if isinstance(each, Mapping) for name in each]
    return any(_kind(name) == "share" or "/mig-" in name or name.endswith(".shared") for name in names)


def names_accelerators(label: str) -> bool:
    """Whether a label of machines is set where they have accelerators."""
    return label.startswith(_LABELS)


def labelled(spec: object) -> tuple[str, ...]:
    """Labels of a cluster's own that speak of accelerators, where a pod asks for none and may run only there.

    >>> labelled({"containers": [], "nodeSelector": {"example.com/pool": "gpu-a100"}})
    ('example.com/pool=gpu-a100',)
    >>> labelled({"containers": [], "nodeSelector": {"pool": "no-gpu", "disk": "ssd"}})
    ()
    """
    own = containers(spec)
    listed = (spec,) if isinstance(own, Unknown) else (*own, spec)
    if any(of(get(each, "resources", part)) for each in listed for part in ("limits", "requests")):
        return ()
    return tuple(
        f"{label}={'|'.join(map(str, values))}" if values else label
        for label, values in _required_labels(spec)
        if not label.startswith(_LABELS) and label not in _MACHINE_TYPE and _speaks(label, values)
    )


def _speaks(label: str, values: tuple[object, ...]) -> bool:
    said = [str(value).lower() for value in values if value is not UNKNOWN]
    if said and all(value in _NONE or value.startswith(("no-", "non-", "not-")) for value in said):
        return False
    return any(_WORDS.search(word) for word in (label.lower(), *said))


def placed_beside_some(spec: object) -> bool:
    """Whether a pod runs only on machines with accelerators, by their labels, their type or its runtime class."""
    runtime = str(get(spec, "runtimeClassName", default="")).lower()
    if any(word in runtime for word in _RUNTIMES):
        return True
    return any(_has_accelerators(key, values) for key, values in _required_labels(spec))


def required_of_machines(requirements: object) -> str:
    """The first requirement of a pool of Karpenter that only machines with accelerators meet; "" for none.

    >>> required_of_machines([{"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]}])
    'karpenter.k8s.aws/instance-gpu-count Gt 0'
    >>> required_of_machines([{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g5", "m5"]}])
    ''
    """
    listed = items(requirements)
    for each in () if isinstance(listed, Unknown) else listed:
        key, operator, values = (get(each, part) for part in ("key", "operator", "values"))
        stated = items(values)
        if key is UNKNOWN or isinstance(stated, Unknown) or UNKNOWN in stated:
            continue
        if _meets_only(str(key), str(operator), tuple(map(str, stated))):
            return " ".join(filter(None, (str(key), str(operator), ", ".join(map(str, stated)))))
    return ""


def _meets_only(label: str, operator: str, values: tuple[str, ...]) -> bool:
    if operator in ("Gt", "Gte", "Exists"):
        return label.startswith(_LABELS) and (operator != "Gte" or any(value not in _NONE for value in values))
    if operator != "In" or not values:
        return False
    if label.startswith(_LABELS):
        return all(value.lower() not in _NONE for value in values)
    forms = {**dict.fromkeys(_MACHINE_TYPE, "{}"), **_FAMILIES}
    return label in forms and all(
        any(is_accelerated_name(cloud, forms[label].format(value)) for cloud in CLOUDS) for value in values
    )


def _required_labels(spec: object) -> Iterator[tuple[str, tuple[object, ...]]]:
    """(label, values of which one is required; none where any will do)."""
    selector = get(spec, "nodeSelector")
    yield from ((str(key), (value,)) for key, value in selector.items()) if isinstance(selector, Mapping) else ()
    required = get(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = items(get(required, "nodeSelectorTerms"))
    for term in () if isinstance(terms, Unknown) else terms:
        stated = items(get(term, "matchExpressions"))
        for each in () if isinstance(stated, Unknown) else stated:
            values = items(get(each, "values"))
            if get(each, "operator") in ("In", "Exists", "Gt"):
                among = get(each, "operator") == "In" and isinstance(values, tuple)
                yield str(get(each, "key")), values if among and isinstance(values, tuple) else ()


def _has_accelerators(label: str, values: tuple[object, ...]) -> bool:
    if label in _MACHINE_TYPE:
        return bool(values) and all(
            isinstance(value, str) and any(is_accelerated_name(cloud, value) for cloud in CLOUDS) for value in values
        )
    said = [str(value).lower() for value in values if value is not UNKNOWN]
    return label.startswith(_LABELS) and (not said or any(value not in _NONE for value in said))
