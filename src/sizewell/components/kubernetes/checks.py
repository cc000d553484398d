"""What components on any Kubernetes cluster refuse, each with its sentence; all faults are raised together."""

import re

from sizewell.components.faults import Faults, check_counts
from sizewell.components.kubernetes import objects
from sizewell.components.kubernetes.args import AdoptedPoolArgs, FlavorArgs, OperatorsArgs, QueueingArgs
from sizewell.launch import kinds
from sizewell.sizing.catalog.records import EDGE, PROVISIONABLE, Shape

RESOURCES = ("nvidia.com/gpu", "google.com/tpu", "amd.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neurondevice")
_QUANTITY = re.compile(r"[1-9][0-9]*([KMG]i)?")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def check_queueing(name: str, args: QueueingArgs) -> None:
    faults = Faults.of(name, args, QueueingArgs)
    _check_names(faults, args.get("operators", []))
    namespaces = args.get("namespaces", ["default"])
    faults.must(bool(namespaces), "namespaces", "is empty: no job could use a queue")
    for number, namespace in enumerate(namespaces):
        at = f"namespaces[{number}]"
        faults.must(bool(_NAME.fullmatch(str(namespace))), at, f"must be a namespace, got {namespace!r}")
        faults.must(not str(namespace).startswith("kube-"), at, f"belongs to the cluster itself: {namespace}")
    flavors = args.get("flavors") or []
    faults.must(bool(flavors), "flavors", "is empty: a queue without machines cannot admit jobs")
    names = [flavor.get("name") for flavor in flavors]
    faults.must(len(set(names)) == len(names), "flavors", f"has a name twice: {', '.join(map(str, names))}")
    labels = [tuple(sorted((flavor.get("node_labels") or {}).items())) for flavor in flavors]
    faults.must(
        len(set(labels)) == len(labels), "flavors", "has the same node_labels twice: machines would count for both"
    )
    for number, flavor in enumerate(flavors):
        _check_flavor(faults, flavor, f"flavors[{number}]")
    if not faults.found:
        for manifest in objects.manifests(args):
            for wrong in kinds.faults(manifest):
                faults.add("flavors", f"makes a {manifest['kind']} that Kueue rejects: {wrong}")
    faults.done()


def check_adopted_pool(name: str, args: AdoptedPoolArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the type, None where the catalog does not know it."""
    faults = Faults.of(name, args, AdoptedPoolArgs)
    place = args.get("place")
    faults.must(
        bool(place) and place not in (*PROVISIONABLE, EDGE),
        "place",
        f"must be a location that Sizewell does not provision, such as on-premises, got {place!r}",
        fix="edge devices are not in a cluster; machines of aws, gcp and azure have their own pools",
    )
    if shape is None:
        faults.not_in_catalog("instance_type", args.get("instance_type"))
    check_counts(faults, args)
    faults.done()


def check_operators(name: str, args: OperatorsArgs) -> None:
    faults = Faults.of(name, args, OperatorsArgs)
    faults.must(bool(args.get("operators")), "operators", "is empty: there is nothing to install")
    _check_names(faults, args.get("operators") or [])
    faults.done()


def _check_names(faults: Faults, operators: list[str]) -> None:
    known = [operator for operator in objects.OPERATORS if operator != "kueue"]
    for number, operator in enumerate(operators):
        at = f"operators[{number}]"
        faults.must(operator in known, at, f"must be one of {', '.join(known)}, got {operator!r}")
    faults.must(len(set(operators)) == len(operators), "operators", f"has one twice: {', '.join(map(str, operators))}")


def _check_flavor(faults: Faults, flavor: FlavorArgs, at: str) -> None:
    faults.unknown_keys(flavor, FlavorArgs, at)
    name: object = flavor.get("name")
    faults.must(bool(_NAME.fullmatch(str(name))), f"{at}.name", f"must be a name of a-z, 0-9 and -, got {name!r}")
    queue: object = flavor.get("queue", name)
    faults.must(bool(_NAME.fullmatch(str(queue))), f"{at}.queue", f"must be a name of a-z, 0-9 and -, got {queue!r}")
    faults.must(bool(flavor.get("node_labels")), f"{at}.node_labels", "is empty: the queue would include every machine")
    faults.must(
        flavor.get("resource") in ("", *RESOURCES),
        f"{at}.resource",
        f"must be one of {', '.join(RESOURCES)}, or empty for machines without, got {flavor.get('resource')!r}",
    )
    for key in ("accelerators_per_machine", "cpus_per_machine", "memory_gib_per_machine", "machines"):
        value: object = flavor.get(key)
        least = 0 if key == "accelerators_per_machine" and flavor.get("resource") == "" else 1
        faults.must(
            isinstance(value, int) and not isinstance(value, bool) and value >= least,
            f"{at}.{key}",
            f"must be a whole number from {least} on, got {value!r}",
        )
    faults.must(
        "tpu_topology" not in flavor or flavor.get("resource") == "google.com/tpu",
        f"{at}.tpu_topology",
        f"is only for google.com/tpu, the resource is {flavor.get('resource')}",
    )
    for key, value in flavor.get("beside_per_machine", {}).items():
        faults.must(
            bool(_QUANTITY.fullmatch(str(value))),
            f"{at}.beside_per_machine.{key}",
            f"must be a whole number with or without Ki, Mi or Gi, got {value!r}",
        )
    levels = flavor.get("topology_levels", [])
    faults.must(
        not levels or levels[-1] == "kubernetes.io/hostname",
        f"{at}.topology_levels",
        f"must end with kubernetes.io/hostname, got {levels[-1] if levels else ''!r}: jobs are placed on machines",
    )
