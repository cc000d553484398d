"""Finding a machine in the catalog. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from sizewell.components.faults import Faults
from sizewell.sizing.catalog.records import Shape, Slice
from sizewell.sizing.errors import ArgsError, Fault
from sizewell.sizing.records.decision import Pool, Workload

A = TypeVar("A", bound=Mapping[str, Any])


def find_shape(cloud: str, instance_type: object) -> Shape | None:
    """The catalog's record of a machine type; None where it has none, which a component then refuses."""
    from sizewell.sizing import catalog

    try:
        return catalog.load().shape(cloud, str(instance_type))
    except KeyError:
        return None


def checked_shape(
    check: Callable[[str, A, Shape | None], None], name: str, args: A, *, cloud: str, machine: str
) -> Shape:
    """The machine type of a component whose arguments hold; `machine` is the argument that names it.

    `check` raises ArgsError with all faults at once, an unknown machine type among them; so it also gets what the
    catalog does not have, instead of that being refused here, alone and before everything else.
    """
    shape = find_shape(cloud, args.get(machine))
    if shape is not None and not shape.markets and "retired" in shape.note:
        message = f"is no longer sold: {shape.instance_type} ({shape.note.partition(':')[0]})"
        raise ArgsError([Fault(path=machine, message=message, fix="name another machine type")], subject=name)
    check(name, args, shape)
    assert shape is not None, check  # noqa: S101  (each check refuses an unknown type)
    return shape


def check_system_machine(faults: Faults, path: str, cloud: str, machine: object, *, spelled: str, fix: str) -> None:
    """What the system pool of a cluster runs on: any x86 machine without accelerators, in the catalog or not, as the
    catalog has few of them. `spelled` is a pattern of the cloud's names for those.
    """
    from sizewell.sizing import catalog

    shape, name = find_shape(cloud, machine), str(machine)
    if shape.accelerators if shape else catalog.load().says(cloud, name, "accelerated"):
        faults.add(path, f"must be without accelerators, got {machine!r}", fix=fix)
    elif shape is None and not re.fullmatch(spelled, name):
        faults.not_in_catalog(path, machine)
    elif catalog.load().says(cloud, name, "arm"):
        like = "name one with x86 processors"
        faults.add(path, f"has Arm processors, and the images of the system pool are for x86: {machine!r}", fix=like)


def shape_by_name(cloud: str, instance_type: str) -> Shape | None:
    """The catalog's record of a machine type of exactly that name, or None."""
    from sizewell.sizing import catalog

    return catalog.load().shapes_by_type.get((cloud, instance_type))


def least_accelerators(cloud: str, instance_types: Iterable[str]) -> int:
    """Accelerators that each machine of a pool has for certain, whichever of its types it is.

    >>> least_accelerators("aws", ["g6e.12xlarge", "g6e.xlarge"])
    1
    """
    shapes = [find_shape(cloud, instance_type) for instance_type in instance_types]
    return min((shape.accelerators for shape in shapes if shape is not None), default=0)


def pool_name(workload: Workload, pool: Pool) -> str:
    """The name of a pool's component: the workload's, and the role where the workload has several pools."""
    return workload.spec.name if len(workload.pools) == 1 else f"{workload.spec.name}-{pool.role}"


def find_slices(machine_type: object) -> tuple[Slice, ...]:
    """All legal TPU slices on a machine type; none where it is no TPU machine."""
    from sizewell.sizing import catalog

    return tuple(piece for piece in catalog.load().slices if piece.machine_type == machine_type)


def offered_elsewhere(cloud: str, instance_type: object, region: object) -> tuple[str, ...]:
    """The regions that sell a machine type, where `region` is none of them; () where it is, or nobody knows.

    >>> offered_elsewhere("gcp", "tpu7x-standard-4t", "us-east1")
    ('europe-west2', 'us-central1')
    >>> offered_elsewhere("gcp", "tpu7x-standard-4t", "us-central1")
    ()
    """
    from sizewell.sizing import catalog

    known = catalog.load()
    sold = {place.region for place in known.sold.get((cloud, str(instance_type)), ())}
    if region in sold or known.offers(cloud, str(instance_type), region=str(region)):
        return ()
    return tuple(sorted(({offer.region for offer in known.offers(cloud, str(instance_type))} | sold) - {"all"}))


def zones_with(cloud: str, instance_type: object, region: object) -> tuple[str, ...]:
    """The zones of a region that offer a machine type; () where no table says which."""
    from sizewell.sizing import catalog

    return catalog.load().zones(cloud, str(instance_type), str(region))


def find_family(shape: Shape) -> str:
    """The family of a machine's accelerator, as the tables of drivers name it."""
    from sizewell.sizing import catalog

    return catalog.load().accelerators[shape.accelerator].family


def undriven_by(service: str, shape: Shape) -> str:
    """Why none of a managed service's own images has a driver for a machine's accelerator; "" where one has, or may."""
    if shape.runtime != "cuda":
        return ""
    from sizewell.sizing.catalog import compatibility, lifetimes

    virtual = "virtual-gpu" in shape.traits
    return compatibility.undriven(lifetimes.load(), service, shape.accelerator, find_family(shape), virtual=virtual)


def undriven_plain(shape: Shape) -> str:
    """Why the public image that a cloud's plain machines start from has no driver for theirs; "" where it has, or may.

    >>> undriven_plain(find_shape("azure", "Standard_NV36ads_A10_v5"))
    'a virtual GPU needs the GRID driver, which AKS and Azure ML install: use scheduler: kubernetes'
    >>> undriven_plain(find_shape("aws", "g7.8xlarge")), undriven_plain(find_shape("aws", "g6.xlarge"))
    ('', '')
    """
    from sizewell.sizing import catalog
    from sizewell.sizing.catalog import buildable

    if shape.runtime != "cuda":
        return ""
    family = catalog.load().accelerators[shape.accelerator].family
    return buildable.refusal(shape, family=family, scheduler="none", managed="raw")
