"""The line items of an option: what the decision states and the preview of its stack repeats, to the cent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, Protocol

from sizewell.sizing.billing import costing, standing
from sizewell.sizing.billing.standing import WITH_CLUSTER, Footing
from sizewell.sizing.catalog.managed import RAW, TITLES
from sizewell.sizing.catalog.records import Shape
from sizewell.sizing.choose import services
from sizewell.sizing.choose.candidates import Candidate, Deal
from sizewell.sizing.choose.setting import Setting
from sizewell.sizing.choose.shared_storage import FileSystem
from sizewell.sizing.money import Interval, LineItem, Unpriced

DISK_BYTES: Final = 200 * costing.BILLED_GIGABYTE  # image, container and a cache of the weights
DISK_GIGABYTES: Final = Decimal(DISK_BYTES // costing.BILLED_GIGABYTE)
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
    def prepaid(self) -> bool: ...
    @property
    def footing(self) -> Footing: ...


def line_items(option: Billed) -> tuple[LineItem, ...]:
    """Everything that the option bills and that some resource stands for: of its stack, or of its checkpoints' stack.

    Of several workloads in one stack the first has the lines of what all of them share.
    """
    setting, shape, deal = option.setting, option.candidate.shape, option.deal
    need, catalog, on = setting.need, setting.catalog, setting.on
    items = _machines(option)
    if not option.candidate.buildable:
        return items
    items += _disks(option)
    if option.checkpoint_bytes:
        items += (
            costing.object_storage(
                catalog,
                component=need.name,
                cloud=shape.cloud,
                region=deal.region,
                on=on,
                gigabytes=stored_gigabytes(option.checkpoint_bytes, setting.keep),
                key=costing.object_key(shape.cloud, setting.environment),
            ),
        )
    if option.storage is not None:
        files = option.storage
        items += (
            costing.fee(
                catalog,
                component=f"{need.name}-data",
                what=f"file system, {files.gib} GB, {files.fee_key}",
                cloud=shape.cloud,
                key=files.fee_key,
                region=deal.region,
                on=on,
                unit="GB-month",
                quantity=Interval.exactly(costing.amount(Decimal(files.gib))),
                how="bills also at zero machines",
            ),
        )
    if option.shared is not None:
        return (*items, *option.shared)
    return (*items, *standing_items([option]))


def standing_items(options: Sequence[Billed], *, ends: bool = False) -> tuple[LineItem, ...]:
    """The standing lines that options in one region have together."""
    first = options[0]
    named = [replace(option.footing, name=option.setting.need.name) for option in options]
    found = standing.parts(named, ends=ends)
    setting = first.setting
    return standing.lines(
        found, setting.catalog, cloud=first.candidate.shape.cloud, region=first.deal.region, on=setting.on
    )


def _machines(option: Billed) -> tuple[LineItem, ...]:
    setting, shape, deal = option.setting, option.candidate.shape, option.deal
    if option.managed == "cloud-run":
        return _run_seconds(option)
    if option.managed == RAW:
        return (
            costing.machine_hours(
                setting.catalog,
                component=setting.need.name,
                cloud=shape.cloud,
                instance_type=shape.instance_type,
                region=deal.region,
                market=deal.market,
                on=setting.on,
                hours=option.hours,
                cadence="once" if option.prepaid else "monthly",
            ),
        )
    market = services.listed_market(option.managed, deal.market)
    rate = setting.catalog.price(shape.cloud, shape.instance_type, deal.region, market, setting.on)
    percent = services.premium_percent(setting.catalog, option.managed, shape.instance_type, deal.region, setting.on)
    price = services.with_premium(rate, percent)
    title, how = TITLES[option.managed], costing.hours_in_words(option.hours, price)
    if not isinstance(percent, Unpriced):
        how += f", {percent.amount.normalize():f} % {title} premium included"
    if market != deal.market:
        how += f"; {deal.market} has no list price and counts as {market}"
    return (
        LineItem(
            component=setting.need.name,
            what=f"{shape.instance_type}, {market}, {deal.region}, {option.managed}",
            unit="machine-hour",
            quantity=option.hours,
            price=price,
            how=how,
            confidence="" if market == deal.market else "spot costs less",
        ),
    )


def _run_seconds(option: Billed) -> tuple[LineItem, ...]:
    """Cloud Run bills the GPU, the CPUs and the memory of an instance by the second."""
    setting, shape, region = option.setting, option.candidate.shape, option.deal.region
    cpus, gib = shape.vcpus or 0, services.run_gib(shape)
    whats = (
        ("Cloud Run GPU, nvidia-l4", "GPU-second", 1),
        (f"Cloud Run CPU, {cpus} beside the GPU", "vCPU-second", cpus),
        (f"Cloud Run memory, {gib} GiB beside the GPU", "GiB-second", gib),
    )
    return tuple(
        costing.fee(
            setting.catalog,
            component=setting.need.name,
            what=what,
            cloud="gcp",
            key=key,
            region=region,
            on=setting.on,
            unit=unit,
            quantity=option.hours.times(Decimal(count * 3600)),
            how="from the smallest to the largest number of instances",
            confidence="assumed usage",
        )
        for key, (what, unit, count) in zip(RUN_KEYS, whats, strict=True)
    )


def disk_of(shape: Shape, managed: str, kind: str, scheduler: str) -> tuple[str, Decimal]:
    """The fee of the disk beside each machine and how many of its units; ("", 0) where none is billed apart.

    In AKS a machine boots from its own temporary disk where that holds the image.
    """
    if managed == "sagemaker" and kind == "notebook":
        return NOTEBOOK_DISK, DISK_GIGABYTES
    if managed not in (RAW, "hyperpod"):
        return "", Decimal(0)
    if shape.cloud == "azure":
        if scheduler in WITH_CLUSTER and shape.temporary_bytes // 2**30 >= DISK_GIGABYTES:
            return "", Decimal(0)
        return costing.premium_disk(DISK_GIGABYTES), Decimal(1)
    return costing.boot_disk(shape), DISK_GIGABYTES


def _disks(option: Billed) -> tuple[LineItem, ...]:
    setting, shape, deal = option.setting, option.candidate.shape, option.deal
    key, units = disk_of(shape, option.managed, setting.need.kind, option.scheduler)
    if not key:
        return ()
    if units == 1:
        what, unit = f"OS disks of {DISK_GIGABYTES} GB, premium SSD {key.rpartition('.')[2].upper()}", "disk-month"
        quantity = costing.gigabyte_months(Decimal(1), option.hours)
        how = "by size class, for as long as the machine is there"
    elif option.managed == "sagemaker":
        what, unit = f"notebook disk, {DISK_GIGABYTES} GB, {key}", "GB-month"
        quantity, how = Interval.exactly(costing.amount(DISK_GIGABYTES)), "bills also at zero machines"
    else:
        return (
            costing.disks(
                setting.catalog,
                component=setting.need.name,
                cloud=shape.cloud,
                region=deal.region,
                on=setting.on,
                gigabytes_each=DISK_GIGABYTES,
                hours=option.hours,
                key=key,
            ),
        )
    return (
        costing.fee(
            setting.catalog,
            component=setting.need.name,
            what=what,
            cloud=shape.cloud,
            key=key,
            region=deal.region,
            on=setting.on,
            unit=unit,
            quantity=quantity,
            how=how,
        ),
    )


def stored_gigabytes(bytes_each: int, keep: int) -> Interval:
    """What a checkpoint store holds: nothing yet, `keep` checkpoints, and those with one more being written."""
    each = Decimal(bytes_each) / costing.BILLED_GIGABYTE
    return Interval(Decimal(0), costing.amount(each * keep), costing.amount(each * (keep + 1)))


def unpriced_lines(items: Iterable[LineItem]) -> tuple[str, ...]:
    """The lines that nobody can price, with the reason."""
    return tuple(f"{item.what}: {item.price.reason}" for item in items if isinstance(item.price, Unpriced))
