"""What the components of managed services refuse, each with its sentence; all faults are raised together."""

import re
from collections.abc import Mapping
from typing import Any

from sizewell.components.faults import Faults
from sizewell.components.gcp.checks import check_region
from sizewell.components.gcp.services import documents as service_documents
from sizewell.components.gcp.services.args import CloudRunGpuArgs, VertexEndpointArgs, VertexTrainingArgs
from sizewell.sizing.catalog.records import Shape

_SECRET = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|\"private_key\"|AIza[\w-]{30,}|hf_[A-Za-z0-9]{30,}")
# Artifact Registry, and public images of Docker Hub and GitHub (docs.cloud.google.com/run/docs/deploying).
_OF_GOOGLE = re.compile(r"[\w-]+-docker\.pkg\.dev|([\w-]+\.)?gcr\.io")
_OF_RUN = re.compile(rf"{_OF_GOOGLE.pattern}|(index\.)?docker\.io|ghcr\.io")
_COPY = "copy it to Artifact Registry, or reach it through a remote repository there"
GIB_OF_4 = 16  # cloud.google.com/run/docs/configuring/services/memory-limits: above that 6 CPUs, above 24 GiB 8
_SECRET_NAME = re.compile(r"(?i)(password|secret|token|api_?key)$")


def check_run(name: str, args: CloudRunGpuArgs) -> None:
    faults = Faults.of(name, args, CloudRunGpuArgs)
    region = check_region(faults, args)
    faults.must(
        not region or region in service_documents.RUN_REGIONS,
        "region",
        f"has no Cloud Run GPUs: {region}; those that have are {', '.join(service_documents.RUN_REGIONS)}",
    )
    if faults.holds("image"):
        host = _host(args["image"])
        faults.must(
            not host or _OF_RUN.fullmatch(host) is not None,
            "image",
            f"is on {host}, from which Cloud Run takes no images",
            fix=_COPY,
        )
    low, high = args.get("instances_min", 0), args.get("instances_max")
    if faults.holds("instances_max"):
        faults.must(
            isinstance(low, int) and 0 <= low <= high,
            "instances_min",
            f"must be 0 to instances_max, got {low!r}; above 0 a GPU is billed around the clock",
        )
    if "cpus" in args:
        faults.must(args["cpus"] in (4, 8), "cpus", f"must be 4 or 8 with an L4, got {args['cpus']!r}")
    cpus, memory = args.get("cpus", 8), args.get("memory_gib", 32)
    faults.must(
        cpus != 4 or not isinstance(memory, int) or memory <= GIB_OF_4,
        "memory_gib",
        f"must be at most {GIB_OF_4} with 4 CPUs, got {memory}: Cloud Run gives more to 8",
        fix=f"state memory_gib: {GIB_OF_4}, or cpus: 8",
    )
    for number, member in enumerate(args.get("invokers", [])):
        at = f"invokers[{number}]"
        faults.must(
            member not in ("allUsers", "allAuthenticatedUsers"),
            at,
            f"must not be {member}: anyone could use the models at your cost",
        )
        faults.must(":" in member or member.startswith("all"), at, f"must be an IAM member, got {member!r}")
    _check_variables(faults, args)
    faults.done()


def _host(image: object) -> str:
    """The registry of an image; "" where it names none, and Docker Hub is meant, or it is not known yet."""
    host, slash, _ = str(image).partition("/")
    return host if slash and isinstance(image, str) and re.search(r"[.:]|^localhost$", host) else ""


def check_endpoint(name: str, args: VertexEndpointArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, VertexEndpointArgs)
    check_region(faults, args)
    image = args.get("image")
    if faults.holds("image") and isinstance(image, str):
        host = _host(image)
        faults.must(  # `imageUri` of the API's ModelContainerSpec: "must identify an image in Artifact Registry"
            _OF_GOOGLE.fullmatch(host) is not None,
            "image",
            f"is on {host or 'Docker Hub'}, and Vertex AI takes images of Artifact Registry alone",
            fix=_COPY,
        )
    _check_machine(faults, args, shape, "on-demand" if not args.get("spot") else "spot")
    low, high = args.get("replicas_min"), args.get("replicas_max")
    faults.must(
        low != 0,
        "replicas_min",
        "must not be 0: Vertex AI keeps at least one machine of an endpoint",
        fix="use CloudRunGpu if there are often no requests, or take the endpoint down outside of working hours",
    )
    if low != 0 and faults.whole_number(args, "replicas_min", 1, 100):
        faults.whole_number(args, "replicas_max", 1, 100)
        faults.must(
            not isinstance(high, int) or high >= low,
            "replicas_max",
            f"must be at least replicas_min, got {high} and {low}",
        )
    faults.done()


def check_training(name: str, args: VertexTrainingArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, VertexTrainingArgs)
    check_region(faults, args)
    if faults.holds("capacity_mode"):
        _check_machine(faults, args, shape, args["capacity_mode"])
    _check_variables(faults, args)
    faults.done()


def _check_machine(faults: Faults, args: Mapping[str, object], shape: Shape | None, market: str) -> None:
    machine_type = args.get("machine_type")
    if shape is None:
        faults.add("machine_type", f"is not in the catalog: {machine_type!r}")
    elif service_documents.vertex_accelerator(shape.instance_type) is None:
        faults.add("machine_type", f"has no GPU that Vertex AI offers: {machine_type}")
    elif shape.markets:
        faults.must(
            market in shape.markets,
            "machine_type",
            f"{machine_type} is not sold as {market}; it is sold as {', '.join(sorted(shape.markets))}",
        )


def _check_variables(faults: Faults, args: Mapping[str, Any]) -> None:
    for key, value in (args.get("environment_variables") or {}).items():
        faults.must(
            not _SECRET.search(str(value)) and not _SECRET_NAME.search(key),
            f"environment_variables.{key}",
            "looks like a secret; anyone who can describe the service can read it",
            fix="keep it in Secret Manager and read it at start",
        )
