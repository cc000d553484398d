"""From a decision to the resources of a stack on AWS: one network per region, and each pool by who runs it."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from sizewell.components import lustre, shared_program
from sizewell.components.aws import launching, targets
from sizewell.components.aws.args import checkpoint_store_args, network_args, pool_args
from sizewell.components.machines import pool_name
from sizewell.components.settings import Settings
from sizewell.sizing.billing import standing
from sizewell.sizing.records.decision import Decision, Workload


def build(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the pools of `workloads` that this cloud has; returns the stack's outputs."""
    from sizewell.components.aws.network import Network

    pools = shared_program.pools_of("aws", workloads)
    outputs: dict[str, object] = {}
    for region, in_region in shared_program.by_region(pools).items():
        options = pulumi.ResourceOptions(provider=provider(region, settings))
        zones = [
            zone for workload, pool in in_region for zone in pool_args(decision, workload, pool, settings)["zones"]
        ]
        wide = targets.network_zones(region, zones, in_region)
        place = {**settings.network, **account(settings)}
        subnets: targets.Subnets = _given
        if not settings.network:
            wanted = {**network_args(decision, region, wide), **account(settings)}
            services = targets.endpoint_services(in_region)
            if services != list(standing.MACHINE_ENDPOINTS):
                wanted["endpoint_services"] = services
            network = Network.of(f"network-{region}", wanted, opts=options)
            place |= {
                "vpc_id": network.vpc_id,
                "vpc_cidr": wanted.get("cidr", "10.40.0.0/16"),
                "s3_prefix_list_id": network.s3_prefix_list_id,
                "kms_key_arn": network.kms_key_arn,
            }
            subnets = functools.partial(subnets_of, network.zone_subnets)
        outputs |= _build_here(
            decision, region, in_region, settings, place=place, zones=wide, subnets=subnets, options=options
        )
    if pools:
        targets.build_budget(decision, pools[0][1].region, account(settings), options)
    return outputs


def _build_here(
    decision: Decision,
    region: str,
    pools: Sequence[targets.Pair],
    settings: Settings,
    *,
    place: dict[str, object],
    zones: Sequence[str],
    subnets: targets.Subnets,
    options: pulumi.ResourceOptions,
) -> dict[str, object]:
    """The file systems of one region, then the pools that read from them, each by who runs it."""
    lustre.check_mounted(pools, target_of=targets.target_of, mounting=targets.MOUNTING, stack=decision.stack)
    outputs: dict[str, object] = {}
    files: targets.Files = {}
    for workload, pool in pools:
        if targets.has_lustre(workload) and workload.spec.name not in files:
            zone = pool_args(decision, workload, pool, settings)["zones"][0]
            made = targets.build_storage(decision, workload, zone, place=place, subnets=subnets, options=options)
            files[workload.spec.name] = made
            outputs[f"{workload.spec.name}-data"] = {"files": made.dns_name, "mount": made.mount_name}
    kubernetes = [pair for pair in pools if targets.target_of(*pair) in standing.ON_EKS]
    there: dict[str, Any] = {"place": place, "zones": zones, "subnets": subnets, "options": options}
    for workload, pool in pools:
        name, target = pool_name(workload, pool), targets.target_of(workload, pool)
        if target == "machines":
            from sizewell.components.aws.nodes import GpuNodeGroup

            args = pool_args(decision, workload, pool, settings)
            boot = {**launching.boot(decision, workload, pool, settings), **targets.mounts(workload, files)}
            group = GpuNodeGroup.of(name, args, boot, place, subnets(args["zones"]), opts=options)
            outputs[name] = {"group": group.group_name, "role": group.role_arn}
        elif target == "fleet":
            outputs[name] = targets.build_fleet(
                decision, (workload, pool), settings, files=files, place=place, subnets=subnets, options=options
            )
        elif target == "sagemaker":
            outputs[name] = shared_program.service("aws.sagemaker")(decision, (workload, pool), settings, **there)
    if kubernetes:
        outputs |= targets.build_kubernetes(decision, region, kubernetes, settings, files=files, **there)
    return outputs


def build_ttl(decision: Decision, settings: Settings) -> dict[str, object]:
    """Build the hard end of a decision's stack, in a stack of its own that comes up first; nothing without an end."""
    from sizewell.components.aws.limits.guards import TtlGuard

    return shared_program.build_ends(
        decision,
        settings,
        cloud="aws",
        provider=provider,
        guard=TtlGuard,
        place=lambda _: account(settings),
        outputs={"document": "document_name"},
    )


def build_images(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the mirror of the public images of each EKS cluster whose network has no internet access; filled before
    it.
    """
    outputs: dict[str, object] = {}
    pools = shared_program.pools_of("aws", workloads)
    pools = [pair for pair in pools if targets.target_of(*pair) in standing.ON_EKS]
    if settings.network:
        return outputs
    for region, in_region in shared_program.by_region(pools).items():
        options = pulumi.ResourceOptions(provider=provider(region, settings))
        outputs |= targets.build_mirror(
            decision, region, in_region, settings=settings, account=account(settings), options=options
        )
    return outputs


def build_checkpoints(decision: Decision, workloads: Sequence[Workload], settings: Settings) -> dict[str, object]:
    """Build the checkpoint stores of `workloads`; returns the stack's outputs."""
    from sizewell.components.aws.storage.checkpoints import CheckpointStore

    return shared_program.build_stores(
        workloads,
        settings,
        provider=provider,
        store=CheckpointStore,
        args_of=lambda workload: checkpoint_store_args(decision, workload, settings),
        outputs={"bucket": "bucket", "writerPolicy": "writer_policy_arn"},
    )


def account(settings: Settings) -> dict[str, str]:
    """The account as an argument, where the configuration names exactly one."""
    return {"account": settings.accounts[0]} if len(settings.accounts) == 1 else {}


def provider(region: str, settings: Settings) -> aws.Provider:
    """The explicit provider of a region; it refuses every account that the configuration does not name."""
    return aws.Provider(region, region=region, allowed_account_ids=list(settings.accounts) or None)


def subnets_of(subnets: Mapping[str, pulumi.Output[str]], zones: Sequence[str]) -> dict[str, pulumi.Output[list[str]]]:
    """The subnets of one pool's zones, and a dependency on no other."""
    return {"subnet_ids": pulumi.Output.all(*[subnets[zone] for zone in zones])}


def _given(zones: Sequence[str]) -> dict[str, Any]:  # noqa: ARG001
    """An adopted network says its subnets itself."""
    return {}
