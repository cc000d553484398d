"""What the SageMaker components refuse, each with its sentence; all faults of one component are raised together."""

import re
from collections.abc import Mapping
from typing import Any

from sizewell.components.aws.checks import SECRET, check_place, check_region, check_sold
from sizewell.components.aws.sagemaker.args import (
    DAY_S,
    AsyncEndpointArgs,
    NotebookArgs,
    RealtimeEndpointArgs,
    ServerlessEndpointArgs,
    StudioDomainArgs,
    TrainingPipelineArgs,
)
from sizewell.components.faults import Faults, check_counts, check_guard
from sizewell.sizing.catalog.records import Shape

_S3 = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\S*)?")


def check_training(name: str, args: TrainingPipelineArgs, shape: Shape | None) -> None:
    """`shape` is the catalog's record of the instance type, None where the catalog does not know it."""
    faults = Faults.of(name, args, TrainingPipelineArgs)
    check_place(faults, args)
    _check_type(faults, args, shape, use="training")
    _check_container(faults, args)
    if faults.holds("nodes") and args["nodes"] > 1:
        zones = len(args.get("zones") or [])
        faults.must(zones == 1, "zones", f"must be exactly one for machines of one job, got {zones}")
    wait = args.get("max_wait_s")
    if wait is not None:
        spot = args.get("capacity_mode") == "spot"
        faults.must(spot, "max_wait_s", "is for spot only: on demand there is no waiting", fix="drop it")
        faults.must(
            faults.holds("max_run_s") and isinstance(wait, int) and args["max_run_s"] <= wait <= 28 * DAY_S,
            "max_wait_s",
            f"must be max_run_s ({args.get('max_run_s')}) to {28 * DAY_S}, got {wait!r}: it includes the run time",
        )
    _check_bucket(faults, args.get("writer"), "writer", why="an interrupted run resumes from there")
    for channel, location in (args.get("channels") or {}).items():
        faults.must(
            bool(_S3.fullmatch(str(location))), f"channels.{channel}", f"must be an s3:// location, got {location!r}"
        )
    faults.done()


def check_realtime(name: str, args: RealtimeEndpointArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, RealtimeEndpointArgs)
    check_place(faults, args)
    _check_type(faults, args, shape, use="hosting")
    _check_container(faults, args)
    _check_zones(faults, args)
    counted = check_counts(faults, args, highest=100)
    if counted and args["nodes_min"] > 0:
        faults.must(args["nodes_initial"] >= 1, "nodes_initial", "must be at least 1 with nodes_min over 0, got 0")
    concurrency = args.get("concurrency")
    faults.must(
        isinstance(concurrency, int | float) and concurrency > 0, "concurrency", f"must be over 0, got {concurrency!r}"
    )
    if "accelerators_per_copy" in args and shape is not None:
        if shape.accelerators:
            faults.whole_number(args, "accelerators_per_copy", 1, shape.accelerators)
        else:
            faults.add("accelerators_per_copy", f"is given, but {shape.instance_type} has no accelerators")
    faults.done()


def check_async(name: str, args: AsyncEndpointArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, AsyncEndpointArgs)
    check_place(faults, args)
    _check_type(faults, args, shape, use="hosting")
    _check_container(faults, args)
    _check_zones(faults, args)
    _check_bucket(faults, args.get("results"), "results", why="there is no other way to get them")
    faults.done()


def check_serverless(name: str, args: ServerlessEndpointArgs) -> None:
    faults = Faults.of(name, args, ServerlessEndpointArgs)
    check_region(faults, args)
    _check_container(faults, args)
    faults.must(
        not args.get("accelerator"),
        "accelerator",
        f"must be empty, got {args.get('accelerator')!r}: serverless inference has no accelerators",
        fix="use an AsyncEndpoint, or a RealtimeEndpoint with nodes_min: 0",
    )
    memory = args.get("memory_mib")
    faults.must(
        isinstance(memory, int) and not isinstance(memory, bool) and 1024 <= memory <= 6144 and memory % 1024 == 0,
        "memory_mib",
        f"must be 1024 to 6144 in steps of 1024, got {memory!r}",
        fix="a larger model needs its own machines: AsyncEndpoint or RealtimeEndpoint",
    )
    faults.done()


def check_notebook(name: str, args: NotebookArgs, shape: Shape | None) -> None:
    faults = Faults.of(name, args, NotebookArgs)
    check_place(faults, args)
    check_guard(faults, args)
    _check_type(faults, args, shape, use="notebook")
    if "writer" in args:
        _check_bucket(faults, args["writer"], "writer", why="checkpoints go there")
    faults.done()


def check_studio(name: str, args: StudioDomainArgs) -> None:
    faults = Faults.of(name, args, StudioDomainArgs)
    check_place(faults, args)
    users = args.get("users") or []
    faults.must(len(set(users)) == len(users), "users", f"names a user twice: {', '.join(map(str, users))}")
    for number, user in enumerate(users):
        faults.must(
            bool(re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", str(user))),
            f"users[{number}]",
            f"must be letters, digits and -, at most 63, got {user!r}",
        )
    faults.done()


def _check_type(faults: Faults, args: Mapping[str, object], shape: Shape | None, *, use: str) -> None:
    given = str(args.get("instance_type"))
    if given.startswith("ml."):
        faults.add("instance_type", f"is written without ml., got {given!r}", fix=given.removeprefix("ml."))
    elif shape is None:
        faults.not_in_catalog("instance_type", given)
    else:
        uses = ", ".join(sorted(shape.managed)) or "nothing"
        faults.must(
            use in shape.managed,
            "instance_type",
            f"SageMaker does not offer {given} for {use}; it offers it for {uses}",
        )
        check_sold(faults, args, given)


def _check_container(faults: Faults, args: Mapping[str, Any]) -> None:
    image, region = args.get("image"), args.get("region")
    place = re.match(r"\d{12}\.dkr\.ecr\.([a-z0-9-]+)\.", image) if isinstance(image, str) else None
    faults.must(  # docs.aws.amazon.com/sagemaker/latest/APIReference/API_ContainerDefinition.html
        place is None or not isinstance(region, str) or place[1] == region,
        "image",
        f"is in {place[1] if place else ''}, and SageMaker pulls from ECR in its own region, {region}, alone: {image}",
        fix=f"name the same image in {region} (AWS's have another account in some regions)",
    )
    data = args.get("model_data")
    faults.must(
        data is None or bool(_S3.fullmatch(str(data))), "model_data", f"must be an s3:// location, got {data!r}"
    )
    for key, value in (args.get("environment_variables") or {}).items():
        faults.must(
            not SECRET.search(f"{key}={value}"),
            f"environment_variables.{key}",
            "looks like a secret; anyone who can describe the model can read it",
            fix="read it from Secrets Manager with the container's role",
        )


def _check_zones(faults: Faults, args: Mapping[str, Any]) -> None:
    zones = args.get("zones") or []
    faults.must(len(zones) >= 2, "zones", f"must be at least two, got {len(zones)}: SageMaker requires two for hosting")


def _check_bucket(faults: Faults, store: object, at: str, *, why: str) -> None:
    faults.must(
        isinstance(store, Mapping) and bool(store.get("bucket")) and bool(store.get("key_alias")),
        at,
        f"must name bucket and key_alias, got {store!r}: {why}",
    )
