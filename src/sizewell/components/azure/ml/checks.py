"""What the Azure Machine Learning components refuse, each with its sentence; all faults are raised together."""

import re
from collections.abc import Mapping

from sizewell.components.azure.checks import SECRET, check_region, check_windows_zone, is_guid
from sizewell.components.azure.ml.args import (
    AmlComputeClusterArgs,
    AmlComputeInstanceArgs,
    AmlOnlineEndpointArgs,
    AmlWorkspaceArgs,
)
from sizewell.components.faults import Faults, check_counts, check_guard, check_schedule
from sizewell.components.limits import check_emails
from sizewell.sizing.catalog.records import Shape

_HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+")
_ASSET = re.compile(r"azureml://\S+|/subscriptions/\S+/models/\S+")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.-]*\.[a-z]{2,}(/[a-z0-9._-]+)+(:[\w.-]+|@sha256:[0-9a-f]{64})")
TIERS = {"on-demand": "Dedicated", "spot": "LowPriority"}


def check_workspace(name: str, args: AmlWorkspaceArgs) -> None:
    faults = Faults.of(name, args, AmlWorkspaceArgs)
    check_region(faults, args)
    outbound = args.get("outbound", "approved")
    faults.must(outbound in ("approved", "internet"), "outbound", f"must be approved or internet, got {outbound!r}")
    hosts = args.get("outbound_hosts") or []
    faults.must(
        not hosts or outbound == "approved",
        "outbound_hosts",
        "are given, but outbound is internet: everything is reachable already",
    )
    for number, host in enumerate(hosts):
        faults.must(bool(_HOST.fullmatch(str(host))), f"outbound_hosts[{number}]", f"must be a host name, got {host!r}")
    faults.must(
        bool(args.get("salt")), "salt", "is empty: the names of storage, vault and registry are globally unique"
    )
    faults.done()


def _check_size(faults: Faults, args: Mapping[str, object], shape: Shape | None) -> bool:
    if shape is None:
        return faults.must(
            False,
            "vm_size",
            f"is not in the catalog: {args.get('vm_size')!r}",
            fix="add it (`sizewell docs add-a-machine-type`) or name a size that `sizewell size` offers",
        )
    return True


def check_compute(name: str, args: AmlComputeClusterArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the size, None where the catalog does not know it."""
    faults = Faults.of(name, args, AmlComputeClusterArgs)
    check_region(faults, args)
    least = args.get("nodes_min", 0)
    faults.must(
        least == 0,
        "nodes_min",
        f"must be 0, got {least!r}: machines above it are billed between jobs",
        fix="leave it out; jobs start the machines that they need",
    )
    mode = args.get("capacity_mode")
    faults.must(
        mode in TIERS,
        "capacity_mode",
        f"must be on-demand (dedicated) or spot (low priority), got {mode!r}: Azure ML does not support reservations",
    )
    if _check_size(faults, args, shape) and shape is not None:
        if shape.markets and mode in TIERS:
            faults.must(
                mode in shape.markets,
                "capacity_mode",
                f"{shape.instance_type} is not sold as {mode}; it is sold as {', '.join(sorted(shape.markets))}",
            )
        faults.must(
            not args.get("gang") or args.get("nodes_max", 0) < 2 or shape.fabric == "infiniband",
            "vm_size",
            f"{shape.instance_type} has no InfiniBand; machines of one job need a size with r in its name",
            fix="choose an ND...r size, or one machine",
        )
    faults.must(
        "writer" not in args or "subnet_id" in args,
        "subnet_id",
        "is missing: the writer reaches its store through a private endpoint in it",
    )
    faults.done()


def check_instance(name: str, args: AmlComputeInstanceArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the size, None where the catalog does not know it."""
    faults = Faults.of(name, args, AmlComputeInstanceArgs)
    check_region(faults, args)
    check_schedule(faults, {**args, "nodes_min": 0})
    check_windows_zone(faults, args)
    _check_size(faults, args, shape)
    for key in ("user", "user_tenant"):
        faults.must(key not in args or is_guid(args.get(key)), key, f"must be a GUID of Entra, got {args.get(key)!r}")
    faults.must(
        ("user" in args) == ("user_tenant" in args), "user_tenant", "belongs to user: Azure requires both or neither"
    )
    faults.done()


def check_endpoint(name: str, args: AmlOnlineEndpointArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the size, None where the catalog does not know it."""
    faults = Faults.of(name, args, AmlOnlineEndpointArgs)
    check_region(faults, args)
    check_guard(faults, args)
    check_schedule(faults, {**args, "nodes_min": 0})
    check_windows_zone(faults, args)
    _check_size(faults, args, shape)
    if check_counts(faults, args, highest=50):
        faults.must(
            args["nodes_min"] >= 1,
            "nodes_min",
            "must be at least 1, got 0: a managed online endpoint cannot scale to zero",
            fix="serve on AKS (scheduler: kubernetes) if it has to scale to zero",
        )
    auth = args.get("auth", "aad")
    faults.must(auth in ("aad", "token"), "auth", f"must be aad or token, got {auth!r}: keys do not expire")
    guard = args.get("guard")
    faults.must(
        guard is None or guard.get("action") == "notify",
        "guard.action",
        "must be notify: a managed online endpoint cannot scale to zero",
    )
    image, model = args.get("image"), args.get("model", "azureml://registries/x")
    faults.must(
        bool(_IMAGE.fullmatch(str(image))) and not str(image).endswith(":latest"),
        "image",
        f"must be a container in a registry with a tag (not latest) or a digest, got {image!r}",
    )
    faults.must(
        bool(_ASSET.fullmatch(str(model))),
        "model",
        f"must be azureml://registries/... or the id of a model version, got {model!r}",
    )
    for key in ("health_path", "scoring_path"):
        value = args.get(key, "/")
        faults.must(str(value).startswith("/"), key, f"must be a path as /health, got {value!r}")
    for key, value in (args.get("environment_variables") or {}).items():
        faults.must(
            not SECRET.search(f"{key}={value}"),
            f"environment_variables.{key}",
            "contains what looks like a secret; anyone who can read the endpoint can read it",
            fix="let the container read Key Vault with the endpoint's identity",
        )
    check_emails(faults, args, "notify")
    faults.done()
