"""What every cloud's program builds alike: pools by region, the hard end of a stack, its checkpoint stores."""

import importlib
from collections.abc import Callable, Mapping, Sequence

import pulumi

from sizewell.components.limits import guard_name, ttl_args
from sizewell.components.owned import Owned
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Pool, Workload

Pair = tuple[Workload, Pool]
Provider = Callable[[str, Settings], pulumi.ProviderResource]


def service(room: str) -> Callable[..., dict[str, object]]:
    """The `build` of the room of a managed service, such as `aws.sagemaker`: from pools that it runs to outputs.

    By name, when a decision has such a pool: whatever every stack needs does not import what few have.
    """
    program = importlib.import_module(f"sizewell.components.{room}.program")
    build: Callable[..., dict[str, object]] = program.build
    return build


def pools_of(cloud: str, workloads: Sequence[Workload]) -> list[Pair]:
    """The pools that one cloud has, with their workloads, in the order of the decision."""
    return [(workload, pool) for workload in workloads for pool in workload.pools if pool.cloud == cloud]


def by_region(pairs: Sequence[Pair]) -> dict[str, list[Pair]]:
    """The same pools by region, the region of the first one first."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair[1].region, []).append(pair)
    return found


def build_ends(
    decision: Decision,
    settings: Settings,
    *,
    cloud: str,
    provider: Provider,
    guard: type[Owned],
    place: Callable[[str], Mapping[str, object]],
    outputs: Mapping[str, str],
) -> dict[str, object]:
    """Build a `guard` in each region of the decision's stack that has an end, and nothing where it has none.

    `place` are the arguments in which the clouds differ, of a region; `outputs` names the guard's attributes that the
    stack exports. The stack is one of its own, outside of what it ends: a guard that stood in the cluster's stack
    would go with a failed update of it, and the machines would stay.
    """
    exported: dict[str, object] = {}
    for region in by_region(pools_of(cloud, decision.workloads)):
        args = ttl_args(decision, region, firm=settings.firm_end)
        if args is not None:
            options = pulumi.ResourceOptions(provider=provider(region, settings))
            made = guard.of(guard_name(region), args, place(region), opts=options)
            exported[guard_name(region)] = _of(made, outputs)
    return exported


def build_stores(
    workloads: Sequence[Workload],
    settings: Settings,
    *,
    provider: Provider,
    store: type[Owned],
    args_of: Callable[[Workload], Mapping[str, object]],
    outputs: Mapping[str, str],
) -> dict[str, object]:
    """Build the checkpoint store of each workload in the region of its first pool; `outputs` as in `build_ends`."""
    exported: dict[str, object] = {}
    options: dict[str, pulumi.ResourceOptions] = {}  # by region: a second provider of one name would be refused
    for workload in workloads:
        region = workload.pools[0].region
        if region not in options:
            options[region] = pulumi.ResourceOptions(provider=provider(region, settings))
        made = store.of(workload.spec.name, args_of(workload), opts=options[region])
        exported[workload.spec.name] = _of(made, outputs)
    return exported


def _of(made: Owned, outputs: Mapping[str, str]) -> dict[str, object]:
    return {name: getattr(made, attribute) for name, attribute in outputs.items()}
