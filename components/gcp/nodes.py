"""A pool of equal accelerator machines in a GKE cluster: GPUs, or TPU slices."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_gcp import cloudscheduler, container, monitoring, projects, pubsub, serviceaccount

from components.gcp import plans
from components.gcp.args import AcceleratorPoolArgs
from components.gcp.checks import check_pool
from components.gcp.cluster import SCOPES
from components.machines import find_shape, find_slices
from components.owned import Owned
from sizing.catalog.records import Shape, Slice


class AcceleratorPool(Owned):
    """One node pool, or one per multi-host TPU slice: private, tainted, with its driver, watched for idleness.

    Autoscaler, schedule and guard own the current size; Pulumi owns existence, minimum and maximum.
    """

    pool_names: pulumi.Output[list[str]]
    """Names of the node pools."""

    def __init__(self, name: str, args: AcceleratorPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        machine_type = args.get("machine_type")
        shape, slices = find_shape("gcp", machine_type), find_slices(machine_type)
        check_pool(name, args, shape, slices)
        tpu_slice = next((one for one in slices if one.topology == args.get("tpu_topology")), None)
        per_node = shape.accelerators if shape else slices[0].chips_per_vm
        mode = args["capacity_mode"]
        super().__init__(
            "sizewell-gcp:index:AcceleratorPool",
            name,
            args,
            {
                "kind": "pool",
                "name": name,
                "environment": args["environment"],
                "cloud": "gcp",
                "region": args["region"],
                "instanceType": args["machine_type"],
                "accelerator": shape.accelerator if shape else slices[0].accelerator,
                "acceleratorsPerNode": per_node,
                "market": {"reservation": "on-demand", "queued": "flex-start"}.get(mode, mode),
                "capacityMode": mode,
                "nodesMin": args["nodes_min"],
                "nodesInitial": args["nodes_initial"],
                "nodesMax": args["nodes_max"],
            },
            opts,
        )
        count = plans.slices_of(args, tpu_slice)
        names = [name] if count == 1 else [f"{name}-{number}" for number in range(count)]
        pools: list[container.NodePool] = []
        for one in names:  # one after the other: a cluster refuses two operations at a time
            sizes = plans.counts(args, tpu_slice, len(pools))
            pools.append(self._pool(one, args, shape, tpu_slice, sizes=sizes, after=pools[-1:]))
        self.pool_count = len(pools)
        self._writer(name, args)
        self._schedule(name, args, pools)
        self._guard(name, args, pools)

        self.pool_names = pulumi.Output.all(*[pool.name for pool in pools])
        self.register_outputs({"poolNames": self.pool_names})

    def _pool(
        self,
        name: str,
        args: AcceleratorPoolArgs,
        shape: Shape | None,
        tpu_slice: Slice | None,
        *,
        sizes: dict[str, Any],
        after: list[container.NodePool],
    ) -> container.NodePool:
        machine_type, mode = args["machine_type"], args["capacity_mode"]
        tpu = plans.is_tpu(machine_type)
        network: dict[str, Any] = {"enable_private_nodes": True}
        if fabric := list(zip(args.get("fabric_networks", []), args.get("fabric_subnetworks", []), strict=True)):
            network["additional_node_network_configs"] = [{"network": net, "subnetwork": sub} for net, sub in fabric]
        accelerators = plans.guest_accelerators(shape) if shape else []
        taint = {"key": "google.com/tpu" if tpu else "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
        labels = plans.node_labels(args)
        queued: dict[str, Any] = {"queued_provisioning": {"enabled": True}} if mode == "queued" else {}
        surge = {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}
        return container.NodePool(
            f"{name}-nodes",
            name=self.physical_pool(name),
            cluster=args["cluster"],
            location=args["region"],
            node_locations=args["zones"],
            management={"auto_repair": mode != "flex-start", "auto_upgrade": True},
            network_config=network,
            node_config={
                "machine_type": machine_type,
                "disk_size_gb": args["disk_gib"],
                "disk_type": plans.disk_type(machine_type),
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
                **plans.maintenance(args),
                **plans.capacity(args),
            },
            upgrade_settings=surge,
            opts=self.child(
                ignore_changes=[
                    "initialNodeCount",
                    "nodeCount",
                    "nodeConfig.labels",
                    "nodeConfig.ephemeralStorageLocalSsdConfig",
                ],
                depends_on=after,
            ),
            **queued,
            **plans.placement(args, tpu_slice),
            **sizes,
        )

    def physical_pool(self, name: str) -> str:
        """Pool names have at most 40 characters and live inside their cluster."""
        from components.tags import physical_name

        return physical_name(name, limit=40)

    def _writer(self, name: str, args: AcceleratorPoolArgs) -> None:
        """The workload's Kubernetes account acts as the checkpoint store's writer; both are named, neither is made."""
        writer = args.get("writer")
        if writer is None:
            return
        subject = f"{writer['namespace']}/{writer['service_account']}"
        project = pulumi.Output.from_input(args["project"])
        serviceaccount.IAMMember(
            f"{name}-writer",
            service_account_id=project.apply(
                lambda value: f"projects/{value}/serviceAccounts/{writer['account']}@{value}.iam.gserviceaccount.com"
            ),
            role="roles/iam.workloadIdentityUser",
            member=project.apply(lambda value: f"serviceAccount:{value}.svc.id.goog[{subject}]"),
            opts=self.child(),
        )

    def _schedule(self, name: str, args: AcceleratorPoolArgs, pools: list[container.NodePool]) -> None:
        """Scheduler jobs that set the pool's size, by an account that may do nothing else."""
        if "schedule" not in args:
            return
        project = pulumi.Output.from_input(args["project"])
        account = serviceaccount.Account(
            f"{name}-hours",
            account_id=self.physical(f"{name}-hours", 30),
            display_name=f"Working hours of {name}",
            opts=self.child(),
        )
        role = projects.IAMCustomRole(
            f"{name}-hours",
            role_id=self.physical(f"{name}-hours", 60).replace("-", "_"),
            title=f"Sets the size of {name}",
            permissions=["container.clusters.get", "container.clusters.update", "container.operations.get"],
            opts=self.child(),
        )
        grant = projects.IAMMember(
            f"{name}-hours", project=project, role=role.name, member=account.member, opts=self.child()
        )
        for pool_number, pool in enumerate(pools):
            for job, settings in plans.resize_jobs(args["schedule"], nodes_initial=args["nodes_initial"]).items():
                path = pulumi.Output.format(
                    "projects/{0}/locations/{1}/clusters/{2}", project, args["region"], args["cluster"]
                )
                uri = pulumi.Output.concat("https://container.googleapis.com/v1/", path, "/nodePools/", pool.name)
                suffix = f"{job}" if len(pools) == 1 else f"{pool_number}-{job}"
                cloudscheduler.Job(
                    f"{name}-{suffix}",
                    name=self.physical(f"{name}-{suffix}", 500),
                    description=f"Working hours of {name}",
                    region=args["region"],
                    schedule=settings["schedule"],
                    time_zone=settings["time_zone"],
                    attempt_deadline="320s",
                    retry_config={"retry_count": 5, "min_backoff_duration": "60s"},
                    http_target={
                        "http_method": "POST",
                        "uri": pulumi.Output.concat(uri, ":setSize"),
                        "body": settings["body"],
                        "headers": {"Content-Type": "application/json"},
                        "oauth_token": {"service_account_email": account.email, "scope": SCOPES[0]},
                    },
                    opts=self.child(depends_on=[grant]),
                )

    def _guard(self, name: str, args: AcceleratorPoolArgs, pools: list[container.NodePool]) -> None:
        """A notice when the accelerators are idle; empty nodes the autoscaler takes away itself."""
        guard = args.get("guard")
        if guard is None:
            return
        topic = pubsub.Topic(
            f"{name}-notices",
            name=self.physical(f"{name}-notices", 255),
            labels=self.tags_of(pubsub.Topic, f"{name}-notices"),
            opts=self.child(),
        )
        channel = monitoring.NotificationChannel(
            f"{name}-notices",
            display_name=f"Notices of {name}",
            type="pubsub",
            labels={"topic": topic.id},
            user_labels=self.tags_of(monitoring.NotificationChannel, f"{name}-notices"),
            opts=self.child(),
        )
        condition: Mapping[str, Any] = {
            "filter": pulumi.Output.all(args["cluster"], *[pool.name for pool in pools]).apply(
                lambda found: plans.idle_filter(cluster=found[0], pools=found[1:])
            ),
            "comparison": "COMPARISON_LT",
            "threshold_value": float(guard["min_utilization_percent"]),
            "duration": f"{-(-guard['window_s'] // 60) * 60}s",
            "aggregations": [
                {"alignment_period": "300s", "per_series_aligner": "ALIGN_MAX", "cross_series_reducer": "REDUCE_MAX"}
            ],
            "evaluation_missing_data": "EVALUATION_MISSING_DATA_INACTIVE",  # no data is not idleness
        }
        monitoring.AlertPolicy(
            f"{name}-idle",
            display_name=f"{pulumi.get_stack()} {name} is idle",
            combiner="AND",
            severity="WARNING",
            conditions=[{"display_name": "accelerators idle", "condition_threshold": condition}],
            notification_channels=[channel.id],
            user_labels=self.tags_of(monitoring.AlertPolicy, f"{name}-idle"),
            opts=self.child(),
        )
