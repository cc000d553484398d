"""A pool of equal machines in a GKE cluster: GPUs, TPU slices, or machines without accelerators that serve."""

from collections.abc import Mapping

import pulumi
from pulumi_gcp import cloudscheduler, compute, container, monitoring, serviceaccount, workflows

from sizewell.components.facts import of_capacity, of_sizes
from sizewell.components.gcp import node_pools, parts
from sizewell.components.gcp.args import AcceleratorPoolArgs
from sizewell.components.gcp.checks import check_pool
from sizewell.components.gcp.gke.cluster import SCOPES
from sizewell.components.gcp.limits import workflows as size_workflows
from sizewell.components.machines import find_shape, find_slices
from sizewell.components.owned import Owned
from sizewell.launch.target import POOL_TAINT
from sizewell.sizing.catalog.records import Shape, Slice


class AcceleratorPool(Owned):
    """One node pool, or one per multi-host TPU slice: private, tainted, with its driver and an idle guard.

    Autoscaler, schedule and guard own the current size; Pulumi owns existence, minimum and maximum. A pool that the
    guard emptied, because pods held idle accelerators, stays empty until the next working hours or until somebody
    starts it: `gcloud workflows run NAME-size --data='{"size": "working"}'`.
    """

    pool_names: pulumi.Output[list[str]]
    """Names of the node pools."""

    def __init__(self, name: str, args: AcceleratorPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        machine_type = args.get("machine_type")
        shape, slices = find_shape("gcp", machine_type), find_slices(machine_type)
        check_pool(name, args, shape, slices)
        tpu_slice = next((piece for piece in slices if piece.topology == args.get("tpu_topology")), None)
        per_node = shape.accelerators if shape else slices[0].chips_per_vm
        mode = args["capacity_mode"]
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_capacity(mode),
            **of_sizes(args["nodes_min"], args["nodes_initial"], args["nodes_max"]),
            instanceType=args["machine_type"],
            accelerator=shape.accelerator if shape else slices[0].accelerator,
            acceleratorsPerNode=per_node,
            **node_pools.measured(per_node, size_workflows.DUTY),
            sizedBy="gke-node-pools",
        )
        placement = self._placement(name, args, tpu_slice)
        count = node_pools.slices_of(args, tpu_slice)
        names = [name] if count == 1 else [f"{name}-{number}" for number in range(count)]
        pools: list[container.NodePool] = []
        counts: dict[str, dict[str, object]] = {}
        for pool in names:  # one after the other: a cluster refuses two operations at a time
            sizes = counts[self.physical_pool(pool)] = node_pools.counts(args, tpu_slice, len(pools))
            pools.append(self._pool(pool, args, shape, placement=placement, sizes=sizes, after=pools[-1:]))
        self.pool_count = len(pools)
        self._writer(name, args)
        self._clocks(name, args, pools, counts, per_node=per_node)
        self._guard(name, args, pools)

        self.pool_names = pulumi.Output.all(*[pool.name for pool in pools])
        self.register()

    def _pool(
        self,
        name: str,
        args: AcceleratorPoolArgs,
        shape: Shape | None,
        *,
        placement: dict[str, object],
        sizes: dict[str, object],
        after: list[container.NodePool],
    ) -> container.NodePool:
        machine_type, mode = args["machine_type"], args["capacity_mode"]
        network: dict[str, object] = {"enable_private_nodes": True}
        if fabric := args.get("fabric_networks"):
            network["additional_node_network_configs"] = _interfaces(fabric, args.get("fabric_subnetworks", []))
        accelerators = node_pools.guest_accelerators(shape) if shape else []
        taint = {"key": node_pools.resource_of(machine_type) or POOL_TAINT, "value": "present", "effect": "NO_SCHEDULE"}
        labels = node_pools.node_labels(args)
        queued: dict[str, object] = {"queued_provisioning": {"enabled": True}} if mode == "queued" else {}
        return self.make(
            container.NodePool,
            f"{name}-nodes",
            name=self.physical_pool(name),
            cluster=args["cluster"],
            location=args["region"],
            node_locations=args["zones"],
            # machines of flex-start are neither repaired nor asked for again behind their queue
            management={"auto_repair": mode not in ("flex-start", "queued"), "auto_upgrade": True},
            network_config=network,
            node_config={
                "machine_type": machine_type,
                "disk_size_gb": args["disk_gib"],
                "disk_type": node_pools.disk_type(machine_type),
                "image_type": "COS_CONTAINERD",
                "service_account": args["service_account"],
                "oauth_scopes": SCOPES,
                "metadata": {"disable-legacy-endpoints": "true"},
                "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
                "workload_metadata_config": {"mode": "GKE_METADATA"},
                "gvnic": {"enabled": True},
                "kubelet_config": {
                    "cpu_manager_policy": "static",
                    "topology_manager": {"policy": "restricted"},
                    "insecure_kubelet_readonly_port_enabled": "FALSE",
                },
                "taints": [taint],
                "resource_labels": self.tags_of(container.NodePool, f"{name}-nodes"),
                **({"labels": labels} if labels else {}),
                **({"guest_accelerators": accelerators} if accelerators else {}),
                **({"boot_disk_kms_key": args["kms_key_name"]} if "kms_key_name" in args else {}),
                **node_pools.maintenance(args),
                **node_pools.capacity(args),
            },
            upgrade_settings=node_pools.upgrades(mode),
            opts=pulumi.ResourceOptions(
                ignore_changes=[
                    "initialNodeCount",  # after creation autoscaler, schedule and guard say how many there are;
                    "nodeCount",  # an update would start machines that were stopped
                    "nodeConfig.labels",
                    "nodeConfig.ephemeralStorageLocalSsdConfig",
                ],
                depends_on=after,
            ),
            **queued,
            **placement,
            **sizes,
        )

    def _placement(self, name: str, args: AcceleratorPoolArgs, tpu_slice: Slice | None) -> dict[str, object]:
        """How the pool's machines stand together; slices of TPU7x by a policy of their own, which all may share."""
        placement = node_pools.placement(args, tpu_slice)
        if not (policy := node_pools.workload_policy(tpu_slice)):
            return placement
        made = self.make(
            compute.ResourcePolicy,
            f"{name}-slice",
            project=args["project"],
            region=args["region"],
            description=f"Slices {policy['accelerator_topology']} of {name}",
            workload_policy=policy,
        )
        return {"placement_policy": {**placement["placement_policy"], "policy_name": made.name}}

    def physical_pool(self, name: str) -> str:
        """Pool names have at most 40 characters and live inside their cluster."""
        from sizewell.components.tags import physical_name

        return physical_name(name, limit=40)

    def _writer(self, name: str, args: AcceleratorPoolArgs) -> None:
        """The workload's Kubernetes account acts as the checkpoint store's writer; both are named, neither is made."""
        writer = args.get("writer")
        if writer is None:
            return
        subject = f"{writer['namespace']}/{writer['service_account']}"
        project = pulumi.Output.from_input(args["project"])
        self.make(
            serviceaccount.IAMMember,
            f"{name}-writer",
            service_account_id=project.apply(
                lambda value: f"projects/{value}/serviceAccounts/{writer['account']}@{value}.iam.gserviceaccount.com"
            ),
            role="roles/iam.workloadIdentityUser",
            member=project.apply(lambda value: f"serviceAccount:{value}.svc.id.goog[{subject}]"),
        )

    def _clocks(
        self,
        name: str,
        args: AcceleratorPoolArgs,
        pools: list[container.NodePool],
        counts: Mapping[str, Mapping[str, object]],
        *,
        per_node: int,
    ) -> None:
        """A workflow that fills and empties the pool, and what starts it: working hours, and a look at idleness."""
        self._channels: list[pulumi.Output[str]] = []
        guard, clocks = args.get("guard"), node_pools.hours(args["schedule"]) if "schedule" in args else {}
        if guard is not None and guard["action"] == "scale-to-zero":
            clocks["idle"] = {"schedule": size_workflows.EVERY_QUARTER, "time_zone": "Etc/UTC", "size": "idle"}
        if not clocks:
            return
        hand = parts.account(self, f"{name}-size", args, f"Sets the size of {name}", size_workflows.PERMISSIONS)
        starter = parts.account(
            self, f"{name}-clock", args, f"Starts the workflow that sizes {name}", size_workflows.START_PERMISSIONS
        )
        project = pulumi.Output.from_input(args["project"])
        source = pulumi.Output.all(project, args["cluster"]).apply(
            lambda known: size_workflows.size_workflow(
                project=known[0],
                region=args["region"],
                cluster=known[1],
                pools=counts,
                zones=len(args["zones"]),
                guard=guard,
                accelerators_per_node=per_node,
                ends=args.get("expires", ""),
            )
        )
        workflow = self.make(
            workflows.Workflow,
            f"{name}-size",
            description=f"Scales {name} up and down: size working, zero, or idle",
            project=args["project"],
            region=args["region"],
            service_account=hand.id,
            call_log_level="LOG_ERRORS_ONLY",
            deletion_protection=False,
            source_contents=source,
            opts=pulumi.ResourceOptions(depends_on=pools),
        )
        executions = (
            f"locations/{args['region']}/workflows/{self.name_of(workflows.Workflow, f'{name}-size')}/executions"
        )
        self._channels = parts.notices(self, name, args)
        parts.failed_runs(
            self,
            f"{name}-size",
            args,
            workflow=self.name_of(workflows.Workflow, f"{name}-size"),
            jobs=[self.name_of(cloudscheduler.Job, f"{name}-{clock}") for clock in clocks],
            title=f"{pulumi.get_stack()} {name}: a stop or a start failed; machines are still billed",
            channels=self._channels,
        )
        for clock, settings in clocks.items():
            self.make(
                cloudscheduler.Job,
                f"{name}-{clock}",
                description=f"Asks for {settings['size']}: {name}",
                project=args["project"],
                region=args["region"],
                schedule=settings["schedule"],
                time_zone=settings["time_zone"],
                attempt_deadline="320s",
                retry_config={"retry_count": 5, "min_backoff_duration": "60s"},
                http_target={
                    "http_method": "POST",
                    "uri": project.apply(
                        lambda known: f"https://workflowexecutions.googleapis.com/v1/projects/{known}/{executions}"
                    ),
                    "body": node_pools.execution(settings["size"]),
                    "headers": {"Content-Type": "application/json"},
                    "oauth_token": {"service_account_email": starter.email, "scope": SCOPES[0]},
                },
                opts=pulumi.ResourceOptions(depends_on=[workflow]),
            )

    def _guard(self, name: str, args: AcceleratorPoolArgs, pools: list[container.NodePool]) -> None:
        """A notice when the accelerators are idle; a grace later the pool's workflow empties it."""
        guard = args.get("guard")
        if guard is None:
            return
        condition: Mapping[str, object] = {
            "filter": pulumi.Output.all(args["cluster"], *[pool.name for pool in pools]).apply(
                lambda names: node_pools.pool_filter(size_workflows.DUTY, cluster=names[0], pools=names[1:])
            ),
            "comparison": "COMPARISON_LT",
            "threshold_value": float(guard["min_utilization_percent"]),
            "duration": f"{-(-guard['window_s'] // 60) * 60}s",
            "aggregations": [
                {"alignment_period": "300s", "per_series_aligner": "ALIGN_MAX", "cross_series_reducer": "REDUCE_MAX"}
            ],
            "evaluation_missing_data": "EVALUATION_MISSING_DATA_INACTIVE",  # no data is not idleness
        }
        self.make(
            monitoring.AlertPolicy,
            f"{name}-idle",
            display_name=f"{pulumi.get_stack()} {name} is idle",
            combiner="AND",
            severity="WARNING",
            conditions=[{"display_name": "accelerators idle", "condition_threshold": condition}],
            notification_channels=self._channels or parts.notices(self, name, args),
        )


def _interfaces(networks: object, subnetworks: object) -> object:
    """A machine's extra interfaces; once the lists are known, where one of them is an output."""
    if isinstance(networks, list) and isinstance(subnetworks, list):
        pairs = zip(networks, subnetworks, strict=True)
        return [{"network": network, "subnetwork": subnetwork} for network, subnetwork in pairs]
    return pulumi.Output.all(networks, subnetworks).apply(lambda known: _interfaces(*known))
