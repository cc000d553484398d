"""From a decision to the resources of a stack on AWS: one network per region, one node group per pool."""

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from components.aws.args import checkpoint_store_args, network_args, pool_args
from components.machines import pool_name
from components.settings import Settings
from sizing.decision import Decision, Workload


def build(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, Any]:
    """Build the pools of `workloads` that this cloud has; returns the stack's outputs."""
    from components.aws.network import Network
    from components.aws.nodes import GpuNodeGroup

    pools = [(workload, pool) for workload in workloads for pool in workload.pools if pool.cloud == "aws"]
    outputs: dict[str, Any] = {}
    for region in dict.fromkeys(pool.region for _, pool in pools):
        here = [(workload, pool) for workload, pool in pools if pool.region == region]
        options = pulumi.ResourceOptions(provider=provider(region, settings))
        place = dict(settings.network)
        if not place:
            zones = [zone for workload, pool in here for zone in pool_args(decision, workload, pool, settings)["zones"]]
            wanted = {**network_args(decision, region, zones), **account(settings)}
            network = Network(f"network-{region}", wanted, options)  # type: ignore[arg-type]
            place = {
                "vpc_id": network.vpc_id,
                "vpc_cidr": wanted.get("cidr", "10.40.0.0/16"),
                "s3_prefix_list_id": network.s3_prefix_list_id,
                "kms_key_arn": network.kms_key_arn,
            }
        for workload, pool in here:
            name = pool_name(workload, pool)
            args = {**pool_args(decision, workload, pool, settings), **account(settings)}
            if not settings.network:
                args["subnet_ids"] = subnets_of(network.subnet_ids, wanted["zones"], args["zones"])
            group = GpuNodeGroup(name, {**args, **place}, options)  # type: ignore[typeddict-item]
            outputs[name] = {"group": group.group_name, "role": group.role_arn}
    return outputs


def build_checkpoints(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, Any]:
    """Build the checkpoint stores of `workloads`; returns the stack's outputs."""
    from components.aws.checkpoints import CheckpointStore

    outputs: dict[str, Any] = {}
    providers: dict[str, pulumi.ResourceOptions] = {}
    for workload in workloads:
        region = workload.pools[0].region
        if region not in providers:
            providers[region] = pulumi.ResourceOptions(provider=provider(region, settings))
        name = workload.spec.name
        store = CheckpointStore(name, checkpoint_store_args(decision, workload, settings), providers[region])
        outputs[name] = {"bucket": store.bucket, "writerPolicy": store.writer_policy_arn}
    return outputs


def account(settings: Settings) -> dict[str, str]:
    """The account as an argument, where the configuration names exactly one."""
    return {"account": settings.accounts[0]} if len(settings.accounts) == 1 else {}


def provider(region: str, settings: Settings) -> aws.Provider:
    """The explicit provider of a region; it refuses every account that the configuration does not name."""
    return aws.Provider(region, region=region, allowed_account_ids=list(settings.accounts) or None)


def subnets_of(
    subnet_ids: pulumi.Output[list[str]], all_zones: Sequence[str], zones: Sequence[str]
) -> pulumi.Output[list[str]]:
    """The subnets of one pool's zones, out of those of all pools in the region."""
    wanted = [all_zones.index(zone) for zone in zones]
    return subnet_ids.apply(lambda ids: [ids[index] for index in wanted])
