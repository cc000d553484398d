"""From a decision to the resources of a stack on Azure: one network per region, one scale set per pool."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_azure_native as azure

from components.azure.args import checkpoint_store_args, network_args, pool_args
from components.machines import pool_name
from components.settings import Settings
from sizing.decision import Decision, Workload


def build(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, Any]:
    """Build the pools of `workloads` that this cloud has; returns the stack's outputs."""
    from components.azure.network import Network
    from components.azure.nodes import GpuScaleSet

    pools = [(workload, pool) for workload in workloads for pool in workload.pools if pool.cloud == "azure"]
    outputs: dict[str, Any] = {}
    for region in dict.fromkeys(pool.region for _, pool in pools):
        options = pulumi.ResourceOptions(provider=provider(region, settings))
        place = dict(settings.network)
        if not place:
            network = Network(f"network-{region}", network_args(decision, region), options)  # type: ignore[arg-type]
            place = {
                "resource_group": network.resource_group,
                "subnet_id": network.subnet_id,
                "security_group_id": network.security_group_id,
                "private_dns_zone_id": network.private_dns_zone_id,
            }
        for workload, pool in pools:
            if pool.region == region:
                name = pool_name(workload, pool)
                args = {**pool_args(decision, workload, pool, settings), **place}
                made = GpuScaleSet(name, args, options)  # type: ignore[arg-type]
                outputs[name] = {"scaleSet": made.scale_set_name, "identity": made.identity_id}
    return outputs


def build_checkpoints(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, Any]:
    """Build the checkpoint stores of `workloads`; returns the stack's outputs."""
    from components.azure.checkpoints import CheckpointStore

    outputs: dict[str, Any] = {}
    providers: dict[str, pulumi.ResourceOptions] = {}
    for workload in workloads:
        region = workload.pools[0].region
        if region not in providers:
            providers[region] = pulumi.ResourceOptions(provider=provider(region, settings))
        name = workload.spec.name
        store = CheckpointStore(name, checkpoint_store_args(decision, workload, settings), providers[region])
        outputs[name] = {"account": store.account_name, "writerRole": store.writer_role_id}
    return outputs


def provider(region: str, settings: Settings) -> azure.Provider:
    """The explicit provider of a region; it works in the subscription that the configuration names."""
    subscription = settings.accounts[0] if settings.accounts else None
    return azure.Provider(region, location=region, subscription_id=subscription)
