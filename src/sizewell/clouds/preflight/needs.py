"""What a stack needs of its cloud, derived from its decision and from the resources that its program registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from sizewell.sizing.catalog import Catalog
from sizewell.sizing.errors import UsageError
from sizewell.sizing.providers import CLOUDS
from sizewell.sizing.records.decision import Decision, Pool


class Resource(Protocol):
    """A registered resource; values that are not known before the update are something else than text."""

    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Machines of one type that a pool may reach; `zones` is empty where the cloud chooses."""

    pool: str
    region: str
    zones: tuple[str, ...]
    instance_type: str
    market: str  # on-demand | spot | flex-start | ...
    reservation: str
    count: int
    vcpus: int | None
    accelerators: int
    quota: str  # code or metric; "" where none is known
    managed: str = "raw"  # raw | sagemaker | hyperpod | vertex | azureml | cloud-run
    use: str = "serving"  # notebook | training | serving
    accelerator: str = ""  # the catalog's key
    now: int = 1  # machines that it begins with, all of them where none works alone
    block_hours: int = 0  # of a capacity block that is to be bought
    block_start: str = ""  # ISO time; "": the earliest offered
    kinds: tuple[str, ...] = ()  # types that its fleet takes, its own first; (): its own alone
    fallback: bool = False  # where the pool would go if it had no capacity


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Everything that is asked about."""

    stack: str
    cloud: str
    accounts: tuple[str, ...]
    machines: tuple[Machines, ...]
    types: tuple[str, ...]  # of the resources, sorted, each once
    resources: tuple[Resource, ...]
    config: Mapping[str, Any]
    quotas: Mapping[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """By type and market, for all types of the cloud: the quota's code and the vCPU that each machine takes of it."""

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(machines.region for machines in self.machines))

    def of(self, type_: str) -> list[Resource]:
        """The resources of one type."""
        return [resource for resource in self.resources if resource.type == type_]


def needs_of(
    decision: Decision, resources: Iterable[Resource], catalog: Catalog, config: Mapping[str, object]
) -> Needs:
    """The needs of a decision's stack. UsageError where the stack stands on no cloud, or on several."""
    clouds = sorted({pool.cloud for workload in decision.workloads for pool in workload.pools})
    if len(clouds) != 1 or clouds[0] not in CLOUDS:
        *first, last = CLOUDS
        checked = f"{', '.join(first)} and {last}"
        raise UsageError(f"{decision.stack} is on {' and '.join(clouds) or 'no cloud'}: --cloud checks {checked}")
    return on_cloud(clouds[0], decision, resources, catalog, config)


def on_cloud(
    cloud: str, decision: Decision, resources: Iterable[Resource], catalog: Catalog, config: Mapping[str, object]
) -> Needs:
    """What the decision's pools on one cloud need of it."""
    custom = tuple(resource for resource in resources if ":" in resource.type)
    accounts = config.get("sizewell:accounts") or ()
    return Needs(
        stack=decision.stack,
        cloud=cloud,
        accounts=tuple(str(account) for account in accounts) if isinstance(accounts, list | tuple) else (),
        machines=tuple(
            _machines(f"{workload.spec.name}-{pool.role}", workload.kind, pool, catalog, _zones(config, pool))
            for workload in decision.workloads
            for pool in workload.pools
            if pool.cloud == cloud
        ),
        types=tuple(sorted({resource.type for resource in custom})),
        resources=custom,
        config=config,
        quotas={
            (shape.instance_type, market): (code, shape.vcpus)
            for shape in catalog.shapes
            if shape.cloud == cloud and shape.vcpus
            for market, code in shape.quota.items()
        },
    )


def _zones(config: Mapping[str, Any], pool: Pool) -> tuple[str, ...]:
    preferred = config.get("sizewell:zones") or ()
    return tuple(pool.zones) or tuple(zone for zone in preferred if isinstance(zone, str))


_USES: Final = {"notebook": "notebook", "training": "training", "fine-tuning": "training"}


def _machines(name: str, kind: str, pool: Pool, catalog: Catalog, zones: tuple[str, ...]) -> Machines:
    shape = catalog.shape(pool.cloud, pool.instance_type)
    use, block = _USES.get(kind, "serving"), pool.capacity.block
    return Machines(
        pool=name,
        region=pool.region,
        zones=zones,
        instance_type=pool.instance_type,
        market=pool.market,
        reservation=pool.capacity.reservation or (block.id if block else None) or "",
        count=pool.nodes_max,
        vcpus=shape.vcpus,
        accelerators=shape.accelerators,
        quota=shape.quota.get(pool.market) or shape.quota.get("on-demand" if pool.market != "spot" else "spot", ""),
        managed=pool.managed,
        use=use,
        accelerator=pool.accelerator,
        now=pool.nodes_max if use == "training" else max(pool.nodes_initial, 1),
        block_hours=block.duration_hours if block and not block.id else 0,
        block_start=(block.start or "") if block else "",
        kinds=() if shape.fabric == "efa" and use == "training" and pool.nodes_max > 1 else _kinds(pool),
    )


def _kinds(pool: Pool) -> tuple[str, ...]:
    """The types among which a group of spot machines looks for capacity, if it need not be of one fabric."""
    same = (each for each in pool.fallbacks if (each.region, each.market) == (pool.region, "spot"))
    if pool.market != "spot":
        return ()
    return tuple(dict.fromkeys([pool.instance_type, *(each.instance_type for each in same)]))


def with_fallbacks(needs: Needs, decision: Decision, catalog: Catalog) -> Needs:
    """The same with the places where its pools would go, of which quotas are not asked."""
    others = [
        replace(
            own, region=each.region, zones=each.zones, instance_type=each.instance_type, market=each.market,
            accelerator=catalog.shape(needs.cloud, each.instance_type).accelerator,
            accelerators=catalog.shape(needs.cloud, each.instance_type).accelerators,
            vcpus=None, quota="", kinds=(), fallback=True,
        )
        for workload in decision.workloads
        for pool in workload.pools
        for own in needs.machines
        if own.pool == f"{workload.spec.name}-{pool.role}"
        for each in pool.fallbacks
    ]  # fmt: skip
    return replace(needs, machines=(*needs.machines, *others))


def demanded(machines: Sequence[Machines], unit: str) -> dict[tuple[str, str], float]:
    """By region and quota: how many vCPUs or accelerators all pools of plain machines together may reach.

    Machines of a service take of the service's own quotas: see `service_quotas`.
    """
    sums: dict[tuple[str, str], float] = {}
    for group in machines:
        each = group.vcpus if unit == "vCPU" else group.accelerators
        if group.managed == "raw" and group.quota and each and not group.reservation:
            key = (group.region, group.quota)
            sums[key] = sums.get(key, 0) + each * group.count
    return sums
