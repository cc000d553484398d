"""GPU machines of an AKS cluster: a node pool, its guard, its hours, its checkpoint writer."""

from functools import partial

import pulumi
from pulumi_azure_native import alertsmanagement, authorization, containerservice, logic, managedidentity

from sizewell.components.azure import parts
from sizewell.components.azure.aks import node_config as aks_node_config
from sizewell.components.azure.aks.args import AksGpuPoolArgs
from sizewell.components.azure.aks.checks import check_aks_pool
from sizewell.components.azure.limits import workflows
from sizewell.components.facts import of_pool
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned
from sizewell.sizing.catalog.records import Shape

POOL_ACTIONS = [f"Microsoft.ContainerService/managedClusters/agentPools/{verb}" for verb in ("read", "write")]


class AksGpuPool(Owned):
    """Identical GPU machines under AKS: tainted, scaled from zero, encrypted at host, no public address, one source of
    the driver.

    The cluster's autoscaler sets the number between minimum and maximum and removes machines that no pod requests. The
    guard goes further: a pool whose GPUs are idle although a pod holds them is stopped, and stays stopped until
    somebody starts it (`az aks nodepool start`).
    """

    pool_name: pulumi.Output[str]
    """Name of the pool in the cluster."""
    writer_client_id: pulumi.Output[str]
    """Client id for the service account of pods that write checkpoints; empty without a checkpoint store."""

    def __init__(self, name: str, args: AksGpuPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_aks_pool, name, args, cloud="azure", machine="vm_size")
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args),
            **aks_node_config.measured(shape),
            sizedBy="aks-pool",
        )
        self._runtime = aks_node_config.runtime_of(shape)
        pool = self._pool(name, args, shape)
        if "guard" in args or "schedule" in args:
            self._clocks(name, args, pool)
        self.pool_name = pool.name
        self.writer_client_id = self._writer(name, args)
        self.register()

    def _pool(self, name: str, args: AksGpuPoolArgs, shape: Shape) -> containerservice.AgentPool:
        mode = args["capacity_mode"]
        owned_by_aks = args.get("driver", aks_node_config.driver_of(shape, gang=args.get("gang", False))) == "aks"
        return self.make(
            containerservice.AgentPool,
            f"{name}-nodes",
            agent_pool_name=aks_node_config.agent_pool_name(name),
            resource_group_name=args["resource_group"],
            resource_name_=args["cluster"],
            mode="User",
            type="VirtualMachineScaleSets",
            os_type="Linux",
            os_sku="Ubuntu",  # the operators build their drivers for it
            vm_size=shape.instance_type,
            availability_zones=args["zones"],
            vnet_subnet_id=args["subnet_id"],
            count=args["nodes_initial"],
            min_count=args["nodes_min"],
            max_count=args["nodes_max"],
            enable_auto_scaling=True,
            scale_down_mode="Delete",
            gpu_profile={"driver": "Install" if owned_by_aks else "None"} if shape.accelerators else None,
            node_taints=aks_node_config.taints(shape, mode),
            node_labels=aks_node_config.labels(shape, pool=name, mode=mode, owned_by_aks=owned_by_aks),
            max_pods=110,
            enable_encryption_at_host=True,
            enable_node_public_ip=False,
            security_profile={"ssh_access": "Disabled"},
            upgrade_settings=self._upgrades(mode),
            opts=pulumi.ResourceOptions(ignore_changes=["count"]),
            **aks_node_config.os_disk(shape, disk_gib=args["disk_gib"]),
            **aks_node_config.market(mode, reservation=args.get("reservation", "")),
        )

    @staticmethod
    def _upgrades(mode: str) -> dict[str, object] | None:
        """A surge machine of this kind is seldom there to be had: one goes before one comes. Spot takes no setting."""
        return None if mode == "spot" else {"max_surge": "0", "max_unavailable": "1", "drain_timeout_in_minutes": 60}

    def _clocks(self, name: str, args: AksGpuPoolArgs, pool: containerservice.AgentPool) -> None:
        """What stops the pool by idleness, and starts and stops it by the clock: Logic Apps that reach pools."""
        hand = parts.identity(self, f"{name}-hand", args)
        self._told = parts.action_group(self, f"{name}-notices", args, args.get("notify", []))
        rights = [
            parts.own_role(
                self,
                f"{name}-hand",
                scope=pool.id.apply(lambda value: value.rsplit("/agentPools/", 1)[0]),
                principal=hand.principal_id,
                description="Stops and starts pools of one cluster",
                actions=POOL_ACTIONS,
            ),
            parts.own_role(  # whoever gives a pool back to AKS must be allowed to put machines into its subnet
                self,
                f"{name}-hand-join",
                scope=args["subnet_id"],
                principal=hand.principal_id,
                description="Joins machines to one subnet",
                actions=["Microsoft.Network/virtualNetworks/subnets/join/action"],
            ),
        ]
        for edge, recurrence in workflows.recurrences(args["schedule"]).items() if "schedule" in args else ():
            code = "Running" if edge.startswith("start") else "Stopped"
            content = pulumi.Output.all(pool.id, hand.id).apply(partial(_switch, recurrence, code))
            self._workflow(f"{name}-{edge}", args, hand, rights, content)
        self._guard(name, args, pool, hand, rights)

    def _guard(
        self,
        name: str,
        args: AksGpuPoolArgs,
        pool: containerservice.AgentPool,
        hand: managedidentity.UserAssignedIdentity,
        rights: list[authorization.RoleAssignment],
    ) -> None:
        """Notice after the window; a grace later, unless the guard only notifies, the pool stops."""
        guard, metrics = args.get("guard"), args.get("metrics")
        if guard is None or metrics is None:
            return
        within = {"pool": aks_node_config.agent_pool_name(name), "runtime": self._runtime}
        seconds = guard["window_s"]
        self.make(
            alertsmanagement.PrometheusRuleGroup,
            f"{name}-idle",
            resource_group_name=args["resource_group"],
            location=args["region"],
            cluster_name=args["cluster"],
            scopes=[metrics["workspace_id"]],
            enabled=True,
            interval="PT5M",
            rules=[
                {
                    "alert": "GpusIdle",
                    "expression": pulumi.Output.from_input(args["cluster"]).apply(
                        lambda cluster: aks_node_config.idle_query(guard, cluster=cluster, seconds=seconds, **within)
                    ),
                    "for_": "PT0M",
                    "severity": 3,
                    "enabled": True,
                    "annotations": {
                        "summary": f"{name}: under {guard['min_utilization_percent']:g} % for {seconds // 60} minutes"
                    },
                    "actions": [{"action_group_id": self._told.id}],
                }
            ],
        )
        if guard["action"] != "scale-to-zero":
            return
        reads = parts.assign(
            self,
            f"{name}-hand-metrics",
            scope=metrics["workspace_id"],
            principal=hand.principal_id,
            role=aks_node_config.MONITORING_READER,
        )
        content = pulumi.Output.all(pool.id, hand.id, metrics["query_url"], args["cluster"]).apply(
            lambda known: workflows.idle_stop(
                pool=known[0],
                identity=known[1],
                query_url=known[2],
                query=aks_node_config.idle_query(
                    guard, cluster=known[3], seconds=guard["window_s"] + guard["grace_s"], **within
                ),
            )
        )
        self._workflow(f"{name}-idle-stop", args, hand, [*rights, reads], content)

    def _workflow(
        self,
        name: str,
        args: AksGpuPoolArgs,
        hand: managedidentity.UserAssignedIdentity,
        rights: list[authorization.RoleAssignment],
        content: object,
    ) -> None:
        workflow = self.make(
            logic.Workflow,
            name,
            resource_group_name=args["resource_group"],
            location=args["region"],
            state="Enabled",
            identity={"type": "UserAssigned", "user_assigned_identities": [hand.id]},
            definition=content,
            opts=pulumi.ResourceOptions(depends_on=rights),
        )
        parts.failed_runs(
            self,
            name,
            args,
            workflow=workflow,
            description=f"{name} failed; machines are still billed",
            told=self._told,
        )

    def _writer(self, name: str, args: AksGpuPoolArgs) -> pulumi.Output[str]:
        """Pods of the workload's service account put and get checkpoints; the machines' own identity cannot."""
        writer = args.get("writer")
        if writer is None:
            return pulumi.Output.from_input("")
        who = parts.identity(self, f"{name}-writer", args)
        self.make(
            managedidentity.FederatedIdentityCredential,
            f"{name}-writer",
            federated_identity_credential_resource_name="pods",
            resource_group_name=args["resource_group"],
            resource_name_=who.name,
            issuer=args["oidc_issuer_url"],
            subject=f"system:serviceaccount:{args.get('namespace', 'default')}:{args.get('service_account', name)}",
            audiences=["api://AzureADTokenExchange"],
        )
        parts.checkpoint_access(
            self, f"{name}-checkpoints", args, writer=writer, principal=who.principal_id, told_by=who.id
        )
        client_id: pulumi.Output[str] = who.client_id
        return client_id


def _switch(recurrence: dict[str, object], code: str, pool_and_identity: list[str]) -> dict[str, object]:
    """A workflow that brings a pool to a power state at its hours."""
    pool, identity = pool_and_identity
    return workflows.definition(recurrence, workflows.pool_switch(pool=pool, identity=identity, code=code))
