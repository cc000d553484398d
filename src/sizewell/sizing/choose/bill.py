"""The line items of an option: what the decision states and the preview of its stack repeats, to the cent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol

from sizewell.sizing.billing import charges, costing, standing
from sizewell.sizing.billing.charges import Charge
from sizewell.sizing.billing.standing import WITH_CLUSTER, Footing
from sizewell.sizing.billing.tariff import Tariff
from sizewell.sizing.catalog.managed import RAW, TITLES
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.choose import services
from sizewell.sizing.choose.candidates import Candidate, Deal
from sizewell.sizing.choose.disks import LEAST_GIGABYTES, Disk
from sizewell.sizing.choose.setting import Setting
from sizewell.sizing.choose.shared_storage import FileSystem
from sizewell.sizing.money import Interval, LineItem, Unpriced
from sizewell.sizing.providers import CLOUDS

RUN_KEYS: Final = ("cloudrun.gpu.l4.second", "cloudrun.cpu.second", "cloudrun.memory.gib_second")
NOTEBOOK_DISK: Final = "ebs.gp2.gb_month"  # what SageMaker notebooks stand on


class Billed(Protocol):
    """What a bill has to know of an option."""

    @property
    def setting(self) -> Setting: ...
    @property
    def candidate(self) -> Candidate: ...
    @property
    def deal(self) -> Deal: ...
    @property
    def managed(self) -> str: ...
    @property
    def scheduler(self) -> str: ...
    @property
    def hours(self) -> Interval: ...
    @property
    def checkpoint_bytes(self) -> int: ...
    @property
    def storage(self) -> FileSystem | None: ...
    @property
    def shared(self) -> tuple[LineItem, ...] | None: ...
    @property
    def disk(self) -> Disk: ...
    @property
    def prepaid(self) -> bool: ...
    @property
    def footing(self) -> Footing: ...


def line_items(option: Billed) -> tuple[LineItem, ...]:
    """Everything that the option bills and that some resource stands for: of its stack, or of its checkpoints' stack.

    Of several workloads in one stack the first has the lines of what all of them share.
    """
    tariff = tariff_of(option)
    bought, listed = option.deal.market, services.listed_market(option.managed, option.deal.market)
    items = tuple(_as_listed(tariff.line(charge), bought, listed) for charge in _machines(option))
    if not option.candidate.provisioned:
        return items
    items += tuple(tariff.line(charge) for charge in _stored(option))
    return (*items, *(option.shared if option.shared is not None else standing_items([option])))


def tariff_of(option: Billed) -> Tariff:
    """The prices of the region in which an option is."""
    setting = option.setting
    return Tariff(setting.catalog, option.candidate.shape.cloud, option.deal.region, setting.on)


def standing_items(options: Sequence[Billed], *, ends: bool = False) -> tuple[LineItem, ...]:
    """The standing lines that options in one region have together."""
    tariff = tariff_of(options[0])
    named = [replace(option.footing, name=option.setting.need.name) for option in options]
    return tuple(tariff.line(charge) for charge in standing.parts(named, ends=ends))


def _machines(option: Billed) -> tuple[Charge, ...]:
    if option.managed == "cloud-run":
        return _run_seconds(option)
    name, instance_type = option.setting.need.name, option.candidate.shape.instance_type
    if option.managed == RAW:
        return (charges.machines(name, instance_type, option.hours, market=option.deal.market),)
    market = services.listed_market(option.managed, option.deal.market)
    hours = charges.machines(name, instance_type, option.hours, market=market)
    return (hours._replace(service=option.managed, premium=f"{TITLES[option.managed]} premium"),)


def _as_listed(line: LineItem, bought: str, listed: str) -> LineItem:
    """The line of a market that has no list price of its own and counts as another, which is never too little."""
    if bought == listed:
        return line
    return replace(
        line, how=f"{line.how}; {bought} has no list price and is counted as {listed}", confidence="spot costs less"
    )


def _run_seconds(option: Billed) -> tuple[Charge, ...]:
    """Cloud Run bills the GPU, the CPUs and the memory of an instance by the second."""
    shape = option.candidate.shape
    cpus, gib = shape.vcpus or 0, services.run_gib(shape)
    whats = (
        ("Cloud Run GPU, nvidia-l4", "GPU-second", 1),
        (f"Cloud Run CPU, {cpus} with the GPU", "vCPU-second", cpus),
        (f"Cloud Run memory, {gib} GiB with the GPU", "GiB-second", gib),
    )
    return tuple(
        Charge(
            component=option.setting.need.name,
            what=what,
            fee=key,
            unit=unit,
            quantity=option.hours.times(Decimal(count * 3600)),
            how=charges.BY_INSTANCES,
            confidence="assumed usage",
        )
        for key, (what, unit, count) in zip(RUN_KEYS, whats, strict=True)
    )


def _stored(option: Billed) -> Iterator[Charge]:
    """Disks, checkpoints and a file system."""
    setting, shape, need = option.setting, option.candidate.shape, option.setting.need
    gigabytes = Decimal(option.disk.gigabytes)
    disk, _ = disk_of(shape, option.managed, need.kind, option.scheduler, gigabytes=gigabytes)
    if disk == NOTEBOOK_DISK:
        yield charges.storage(need.name, "notebook disk", gigabytes, disk)
    elif disk.startswith(costing.PREMIUM_DISK):
        yield charges.disks(need.name, gigabytes, costing.PREMIUM_DISK, option.hours, what="OS disks")
    elif disk:
        yield charges.disks(need.name, gigabytes, disk, option.hours)
    if option.checkpoint_bytes:
        key = costing.object_key(shape.cloud, setting.environment)
        yield charges.stored(
            need.name, f"object storage, {key}", stored_gigabytes(option.checkpoint_bytes, setting.keep), key
        )
    if option.storage is not None:
        files = option.storage
        yield charges.storage(f"{need.name}-data", "file system", Decimal(files.gib), files.fee_key)


def disk_of(
    shape: Shape, managed: str, kind: str, scheduler: str, *, gigabytes: Decimal = Decimal(LEAST_GIGABYTES)
) -> tuple[str, Decimal]:
    """The fee of the disk beside each machine and how many of its units; ("", 0) where none is billed apart.

    In AKS a machine boots from its own temporary disk where that holds what lands on it.
    """
    if managed == "sagemaker" and kind == "notebook":
        return NOTEBOOK_DISK, gigabytes
    if managed not in (RAW, "hyperpod"):
        return "", Decimal(0)
    if shape.cloud in CLOUDS and CLOUDS[shape.cloud].fees.premium_disks:
        if scheduler in WITH_CLUSTER and shape.temporary_bytes // 2**30 >= gigabytes:
            return "", Decimal(0)
        return costing.classed_disk(costing.PREMIUM_DISK, gigabytes), Decimal(1)
    return costing.boot_disk(shape), gigabytes


def stored_gigabytes(bytes_each: int, keep: int) -> Interval:
    """What a checkpoint store holds: nothing yet, `keep` checkpoints, and those with one more being written."""
    each = Decimal(bytes_each) / costing.BILLED_GIGABYTE
    return Interval(Decimal(0), costing.amount(each * keep), costing.amount(each * (keep + 1)))


def unpriced_lines(items: Iterable[LineItem]) -> tuple[str, ...]:
    """The lines without a price, with the reason."""
    return tuple(f"{item.what}: {item.price.reason}" for item in items if isinstance(item.price, Unpriced))
