"""What components that run something on a cluster refuse; what the manifests refuse is among it."""

import re
from collections.abc import Mapping
from typing import Any, get_args

from sizewell.components.faults import Faults, check_guard, check_owned
from sizewell.components.kubernetes import run_args as to
from sizewell.components.machines import find_shape
from sizewell.launch import gpudirect
from sizewell.launch.run import read_run
from sizewell.sizing.errors import ConfigError, DecisionError
from sizewell.sizing.records.decision import Capacity

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_URI = re.compile(r"(s3|gs|az|file)://[^\s]+")
MODES = get_args(Capacity.model_fields["mode"].annotation)


def check_run(component: str, name: str, args: Mapping[str, Any], shape: type) -> None:
    """All faults of the arguments, raised together."""
    faults = Faults(f"{component} {name}")
    faults.unknown_keys(args, shape)
    faults.out_of_bounds(args, shape)
    check_owned(faults, args)
    faults.must(bool(_NAME.fullmatch(name)), "name", f"must be a name of a-z, 0-9 and -, got {name!r}")
    parts = {"machines": to.MachinesArgs, "container": to.ContainerArgs, "identity": to.IdentityArgs}
    parts |= {"task": to.TaskArgs, "parallelism": to.ParallelismArgs, "replicas": to.ReplicasArgs}
    for key, part in parts.items():
        if key in args:
            faults.unknown_keys(args[key], part, key)
    if "container" in args:
        try:
            read_run(args["container"], "container")
        except ConfigError as error:
            known = {str(fault.path) for fault in faults.found}
            faults.found += [fault for fault in error.faults if fault.path not in known]
    if "machines" in args:
        _check_machines(faults, args["machines"])
    for key in ("store",):
        if key in args:
            faults.must(
                bool(_URI.fullmatch(str(args[key]))), key, f"must be a URI (s3://, gs://, az://), got {args[key]!r}"
            )
    replicas = args.get("replicas")
    if replicas is not None and not faults.found:
        low, now, high = replicas["min"], replicas["initial"], replicas["max"]
        faults.must(
            0 <= low <= high and now <= high,
            "replicas",
            f"must satisfy 0 <= min <= max and initial <= max, got {low}, {now}, {high}",
        )
    check_guard(faults, args)
    faults.done()


def _check_machines(faults: Faults, machines: Mapping[str, object]) -> None:
    at = "machines"
    placed = bool(machines.get("placed") and machines.get("queue"))
    faults.must(
        bool(machines.get("selector")) != placed,
        f"{at}.selector",
        "contradicts placed: the queue selects the machines"
        if placed
        else "is empty: pods could be scheduled on any machine",
    )
    nodes: Any = machines.get("nodes")
    whole = isinstance(nodes, int) and not isinstance(nodes, bool) and nodes >= 1
    faults.must(whole, f"{at}.nodes", f"must be a whole number from 1 on, got {nodes!r}")
    most: object = machines.get("nodes_max", nodes)
    fits = not whole or (isinstance(most, int) and most >= nodes)
    faults.must(fits, f"{at}.nodes", f"is {nodes}, and the pool has at most {most} machines")
    mode = machines.get("capacity_mode", "on-demand")
    faults.must(mode in MODES, f"{at}.capacity_mode", f"must be one of {', '.join(MODES)}, got {mode!r}")
    if {"cloud", "instance_type"} <= machines.keys():
        key = to.accelerator_of(machines)
        named = f"{machines['cloud']} {machines['instance_type']}"
        faults.must(bool(key), f"{at}.instance_type", f"is not in the catalog with an accelerator: {named}")
    if fabric := machines.get("fabric"):
        shape = find_shape(str(machines.get("cloud")), str(machines.get("instance_type")))
        has = shape.fabric if shape is not None and shape.fabric in gpudirect.INTERFACES else ""
        faults.must(
            fabric == has,
            f"{at}.fabric",
            f"must be the machines' own ({has or 'they have no GPUDirect'}), got {fabric!r}",
        )
        faults.must(not machines.get("rdma_resource"), f"{at}.rdma_resource", "is not used with fabric")
    if machines.get("rdma_resource"):
        faults.must(
            isinstance(machines.get("rdma_count"), int), f"{at}.rdma_count", "is missing: how many of rdma_resource"
        )


def refused(component: str, name: str, error: ConfigError | DecisionError) -> Faults:
    """What the manifests refuse, as faults of the component's arguments."""
    faults = Faults(f"{component} {name}")
    if isinstance(error, ConfigError):
        faults.found += list(error.faults)
    else:
        faults.add("machines", str(error))
    return faults
