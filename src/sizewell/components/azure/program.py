"""From a decision to the resources of a stack on Azure: one network per region, and each pool by who runs it."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_azure_native as azure

from sizewell.components import lustre, shared_program
from sizewell.components.azure import launching, targets
from sizewell.components.azure.args import checkpoint_store_args, network_args, pool_args
from sizewell.components.azure.limits import expiry
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.records.decision import Decision, Workload

MACHINES = ("resource_group", "subnet_id", "security_group_id", "private_dns_zone_id")  # what a scale set wants to know


def build(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the pools of `workloads` that this cloud has; returns the stack's outputs."""
    from sizewell.components.azure.network import Network

    pools = shared_program.pools_of("azure", workloads)
    lustre.check_mounted(pools, target_of=targets.target_of, mounting=targets.MOUNTING, stack=decision.stack)
    targets.check_pulls(decision, pools, settings)
    outputs: dict[str, object] = {}
    for region, in_region in shared_program.by_region(pools).items():
        options = pulumi.ResourceOptions(provider=provider(region, settings))
        place = dict(settings.network)
        if not place:
            wanted = {**network_args(decision, region), **targets.network_extras(in_region)}
            network = Network.of(f"network-{region}", wanted, opts=options)
            place = {
                "resource_group": network.resource_group,
                "subnet_id": network.subnet_id,
                "security_group_id": network.security_group_id,
                "private_dns_zone_id": network.private_dns_zone_id,
                "private_dns_zone_ids": network.private_dns_zone_ids,
                "kubernetes_subnet_id": network.kubernetes_subnet_id,
                "api_subnet_id": network.api_subnet_id,
                "files_subnet_id": network.files_subnet_id,
            }
        # Whatever bills takes its group from here on from `place`, and so waits until the hard end may reach it: with
        # the network's own name it could be made first, and stay if giving the rights fails.
        place["resource_group"] = targets.armed(decision, region, place["resource_group"], settings, options)
        keys = (
            targets.build_keys(decision, region, settings, options) if targets.wants_keys(decision, in_region) else {}
        )
        outputs |= _build_here(decision, region, in_region, settings, place=place, keys=keys, options=options)
    if pools:
        targets.build_budget(decision, pools[0][1].region, settings, options)
    return outputs


def _build_here(
    decision: Decision,
    region: str,
    pools: Sequence[targets.Pair],
    settings: Settings,
    *,
    place: dict[str, object],
    keys: dict[str, Any],
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The file systems of one region, then the pools that read from them, each by who runs it."""
    from sizewell.components.azure.nodes import GpuScaleSet

    files = targets.build_storage(decision, pools, settings, place=place, keys=keys, options=options)
    outputs: dict[str, object] = {f"{name}-data": {"address": made.address} for name, made in files.items()}
    by_target: dict[str, list[targets.Pair]] = {}
    for pair in pools:
        by_target.setdefault(targets.target_of(*pair), []).append(pair)
    for workload, pool in by_target.get("machines", ()):
        name = pool_name(workload, pool)
        args = {**pool_args(decision, workload, pool, settings), **keys.get("disks", {})}
        args |= {key: place[key] for key in MACHINES if key in place}
        args |= launching.boot(decision, workload, pool, settings)
        args |= {"registries": list(settings.registries)} if settings.registries else {}
        if name in settings.images:
            args["image"] = settings.images[name]
        made = GpuScaleSet.of(name, args, targets.mounts(workload, files), opts=options)
        outputs[name] = {"scaleSet": made.scale_set_name, "identity": made.identity_id}
    if pairs := by_target.get("kubernetes"):
        there: dict[str, Any] = {"files": files, "place": place, "keys": keys, "options": options}
        outputs |= targets.build_kubernetes(decision, region, pairs, settings, **there)
    if pairs := by_target.get("azureml"):
        build = shared_program.service("azure.ml")
        outputs |= build(decision, region, pairs, settings, place=place, options=options)
    return outputs


def build_ttl(decision: Decision, settings: Settings) -> dict[str, object]:
    """Build the hard end of a decision's stack, in a stack of its own that comes up first; nothing without an end."""
    from sizewell.components.azure.limits.guards import TtlGuard

    def target(region: str) -> dict[str, str]:
        return {"target": settings.network.get("resource_group") or expiry.network_group(decision.stack, region)}

    return shared_program.build_ends(
        decision,
        settings,
        cloud="azure",
        provider=provider,
        guard=TtlGuard,
        place=target,
        outputs={"workflow": "workflow_id"},
    )


def build_checkpoints(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the checkpoint stores of `workloads`; returns the stack's outputs."""
    from sizewell.components.azure.storage.checkpoints import CheckpointStore

    return shared_program.build_stores(
        workloads,
        settings,
        provider=provider,
        store=CheckpointStore,
        args_of=lambda workload: checkpoint_store_args(decision, workload, settings),
        outputs={"account": "account_name", "writerRole": "writer_role_id"},
    )


def provider(region: str, settings: Settings) -> azure.Provider:
    """The explicit provider of a region; it works in the subscription that the configuration names."""
    subscription = settings.accounts[0] if settings.accounts else None
    return azure.Provider(region, location=region, subscription_id=subscription)
