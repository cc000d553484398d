"""A scale set of equal GPU machines on Azure, and what guards it."""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_azure_native import authorization, compute, managedidentity, monitor

from sizewell.components.azure import parts, scale_sets
from sizewell.components.azure.args import GpuScaleSetArgs, guid
from sizewell.components.azure.checks import check_pool
from sizewell.components.facts import of_pool
from sizewell.components.machines import checked_shape
from sizewell.components.notify import hooks, receivers, with_emails
from sizewell.components.owned import Owned
from sizewell.sizing.catalog.records import Shape


class GpuScaleSet(Owned):
    """Identical ND- or NC-series machines: one InfiniBand partition, no public address, no password, encrypted at host.

    Autoscale, schedule and guard own the current size between minimum and maximum; Pulumi owns the rest.
    """

    scale_set_id: pulumi.Output[str]
    """Id of the scale set."""
    scale_set_name: pulumi.Output[str]
    """Name of the scale set."""
    identity_id: pulumi.Output[str]
    """Identity of the machines."""

    def __init__(self, name: str, args: GpuScaleSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_pool, name, args, cloud="azure", machine="vm_size")
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args),
            measured={
                "source": "azure-monitor",
                "namespace": scale_sets.METRIC_NAMESPACE,
                "metric": scale_sets.METRIC,
                "per": "machine",
                "machine": scale_sets.MACHINE,
            },
            sizedBy="scale-set",
        )
        identity = self.make(
            managedidentity.UserAssignedIdentity,
            f"{name}-nodes",
            resource_group_name=args["resource_group"],
            location=args["region"],
        )
        scale_set = self._scale_set(name, args, shape, identity)
        self._metrics_role(name, scale_set, identity)
        parts.pulls(self, name, args.get("registries", []), identity.principal_id)
        self._writer(name, args, identity)
        self._autoscale(name, args, scale_set)

        self.scale_set_id = scale_set.id
        self.scale_set_name = scale_set.name
        self.identity_id = identity.id
        self.register()

    @staticmethod
    def _first_boot(args: GpuScaleSetArgs, shape: Shape) -> pulumi.Input[str]:
        """Custom data; known at preview where nothing is mounted."""

        def script(mounts: Sequence[Mapping[str, str]]) -> str:
            start = args.get("start_script", "")
            return scale_sets.custom_data(start_script=start, rocm=shape.runtime == "rocm", mounts=mounts)

        mounts = args.get("mounts")
        return pulumi.Output.all(*mounts).apply(script) if mounts else script(())

    def _scale_set(
        self, name: str, args: GpuScaleSetArgs, shape: Shape, identity: managedidentity.UserAssignedIdentity
    ) -> compute.VirtualMachineScaleSet:
        gang, mode = args.get("gang", False), args["capacity_mode"]
        market: dict[str, object] = {"priority": "Regular"}
        if mode == "spot":
            market = {"priority": "Spot", "eviction_policy": "Delete", "billing_profile": {"max_price": -1.0}}
        if mode == "reservation":
            market["capacity_reservation"] = {"capacity_reservation_group": {"id": args["reservation"]}}
        disk: dict[str, object] = {"storage_account_type": "Premium_LRS"}
        if "disk_encryption_set_id" in args:
            disk["disk_encryption_set"] = {"id": args["disk_encryption_set_id"]}
        key = {
            "key_data": args.get("ssh_public_key") or scale_sets.nobody_key(),
            "path": "/home/sizewell/.ssh/authorized_keys",
        }
        return self.make(
            compute.VirtualMachineScaleSet,
            f"{name}-nodes",
            vm_scale_set_name=self.name_of(compute.VirtualMachineScaleSet, name),
            resource_group_name=args["resource_group"],
            location=args["region"],
            zones=args["zones"] or None,
            sku={"name": shape.instance_type, "tier": "Standard", "capacity": args["nodes_initial"]},
            orchestration_mode="Uniform",
            single_placement_group=gang,
            platform_fault_domain_count=1,
            overprovision=False,  # a surplus machine of this kind costs more than the minutes it saves
            upgrade_policy={"mode": "Manual"},
            identity={"type": "UserAssigned", "user_assigned_identities": [identity.id]},
            virtual_machine_profile={
                **market,
                "security_profile": {"encryption_at_host": True},
                "os_profile": {
                    "computer_name_prefix": scale_sets.host_prefix(self.name_of(compute.VirtualMachineScaleSet, name)),
                    "admin_username": "sizewell",
                    "custom_data": self._first_boot(args, shape),
                    "linux_configuration": {
                        "disable_password_authentication": True,
                        "provision_vm_agent": True,
                        "ssh": {"public_keys": [key]},
                    },
                },
                "storage_profile": {
                    "image_reference": {"id": args["image"]} if "image" in args else scale_sets.image_for(shape),
                    "os_disk": {
                        "create_option": "FromImage",
                        "caching": "ReadWrite",
                        "delete_option": "Delete",
                        "disk_size_gb": args["disk_gib"],
                        "managed_disk": disk,
                    },
                },
                "network_profile": {
                    "network_interface_configurations": [
                        {
                            "name": "nodes",
                            "primary": True,
                            "enable_accelerated_networking": True,
                            "delete_option": "Delete",
                            "network_security_group": {"id": args["security_group_id"]},
                            "ip_configurations": [
                                {"name": "nodes", "primary": True, "subnet": {"id": args["subnet_id"]}}
                            ],
                        }
                    ]
                },
                "scheduled_events_profile": {
                    "terminate_notification_profile": {"enable": True, "not_before_timeout": "PT15M"}
                },
            },
            opts=pulumi.ResourceOptions(ignore_changes=["sku.capacity"]),
        )

    def _metrics_role(
        self, name: str, scale_set: compute.VirtualMachineScaleSet, identity: managedidentity.UserAssignedIdentity
    ) -> None:
        """The machines may publish the metric that their guard reads, on their own scale set only."""
        self.make(
            authorization.RoleAssignment,
            f"{name}-metrics",
            role_assignment_name=guid("metrics", pulumi.get_stack(), name),
            scope=scale_set.id,
            principal_id=identity.principal_id,
            principal_type="ServicePrincipal",
            role_definition_id=scale_set.id.apply(
                lambda value: scale_sets.role_id(scale_sets.subscription_of(value), scale_sets.METRICS_PUBLISHER)
            ),
        )

    def _writer(self, name: str, args: GpuScaleSetArgs, identity: managedidentity.UserAssignedIdentity) -> None:
        """A role and a private endpoint to the checkpoint store: both are named, neither asks the other stack."""
        writer = args.get("writer")
        if writer is None:
            return
        parts.checkpoint_access(
            self,
            f"{name}-checkpoints",
            args,
            writer=writer,
            principal=identity.principal_id,
            told_by=identity.id,
        )

    def _autoscale(self, name: str, args: GpuScaleSetArgs, scale_set: compute.VirtualMachineScaleSet) -> None:
        guard, schedule = args.get("guard"), args.get("schedule")
        if guard is None and schedule is None:
            return
        notify = with_emails(receivers(), args.get("notify"))
        told = parts.action_group(self, f"{name}-notices", args, args.get("notify", []))
        if guard is not None:
            self.make(
                monitor.MetricAlert,
                f"{name}-idle",
                resource_group_name=args["resource_group"],
                location="global",
                description=(
                    f"{name}: under {guard['min_utilization_percent']:g} % for {guard['window_s'] // 60} minutes"
                ),
                enabled=True,
                severity=3,
                scopes=[scale_set.id],
                **scale_sets.idle_alert(guard),
                actions=[{"action_group_id": told.id}],
                auto_mitigate=True,
            )
        setting = self.make(
            monitor.AutoscaleSetting,
            f"{name}-size",
            resource_group_name=args["resource_group"],
            location=args["region"],
            enabled=True,
            target_resource_uri=scale_set.id,
            # of every change of size that succeeded; `failed_scaling` tells of the others
            notifications=[
                {
                    "operation": "Scale",
                    "email": {"custom_emails": list(notify["emails"])},
                    "webhooks": [{"service_uri": pulumi.Output.secret(uri)} for uri in hooks(notify).values()],
                }
            ],
            profiles=scale_sets.autoscale_profiles(
                nodes_min=args["nodes_min"],
                nodes_initial=args["nodes_initial"],
                nodes_max=args["nodes_max"],
                guard=guard,
                schedule=schedule,
                scale_set_id=scale_set.id,
            ),
        )
        parts.failed_scaling(self, name, args, scopes=[scale_set.id, setting.id], told=told)
