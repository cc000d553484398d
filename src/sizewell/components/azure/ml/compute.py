"""Machines of Azure Machine Learning: a cluster that jobs start from zero, and a notebook that stops itself."""

import pulumi
from pulumi_azure_native import machinelearningservices, managedidentity

from sizewell.components.azure import parts, scale_sets
from sizewell.components.azure.ml import durations as ml_durations
from sizewell.components.azure.ml.args import IDLE_S, NOTEBOOK_IDLE_S, AmlComputeClusterArgs, AmlComputeInstanceArgs
from sizewell.components.azure.ml.checks import TIERS, check_compute, check_instance
from sizewell.components.facts import of_machines, of_pool
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned


class AmlComputeCluster(Owned):
    """GPU machines that start with a job and stop after it: scaled from zero, with no public address, login or
    password.
    """

    compute_name: pulumi.Output[str]
    """Name of the cluster in the workspace: the `compute` of a job."""
    identity_id: pulumi.Output[str]
    """Identity of the machines."""

    def __init__(self, name: str, args: AmlComputeClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_compute, name, args, cloud="azure", machine="vm_size")
        mode = args["capacity_mode"]
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args, sizes=(0, 0, args["nodes_max"])),
        )
        identity = parts.identity(self, f"{name}-nodes", args)
        self._rights(name, args, identity)
        compute = self.make(
            machinelearningservices.Compute,
            f"{name}-nodes",
            compute_name=ml_durations.compute_name(name, stack=pulumi.get_stack()),
            resource_group_name=args["resource_group"],
            location=args["region"],
            workspace_name=args["workspace"],
            identity={"type": "UserAssigned", "user_assigned_identities": [identity.id]},
            properties={
                "compute_type": "AmlCompute",
                "description": f"Machines of {name}",
                "disable_local_auth": True,
                "properties": {
                    "os_type": "Linux",
                    "vm_size": shape.instance_type,
                    "vm_priority": TIERS[mode],
                    "enable_node_public_ip": False,
                    "isolated_network": False,
                    "remote_login_port_public_access": "Disabled",
                    "scale_settings": {
                        "min_node_count": 0,
                        "max_node_count": args["nodes_max"],
                        "node_idle_time_before_scale_down": ml_durations.duration(args.get("idle_s", IDLE_S)),
                    },
                },
            },
        )
        self.compute_name = compute.name
        self.identity_id = identity.id
        self.register()

    def _rights(self, name: str, args: AmlComputeClusterArgs, identity: managedidentity.UserAssignedIdentity) -> None:
        """What jobs may: their own workspace's files and images, and the checkpoint store without deleting."""
        reached = (
            ("storage", args.get("storage_id"), ml_durations.BLOB_CONTRIBUTOR),
            ("registry", args.get("registry_id"), scale_sets.ACR_PULL),
        )
        for what, scope, role in reached:
            if scope is not None:
                parts.assign(self, f"{name}-{what}", scope=scope, principal=identity.principal_id, role=role)
        if writer := args.get("writer"):
            parts.checkpoint_access(
                self,
                f"{name}-checkpoints",
                args,
                writer=writer,
                principal=identity.principal_id,
                told_by=identity.id,
            )


class AmlComputeInstance(Owned):
    """A notebook on a GPU for one person: it stops itself, has no public address and no SSH.

    Its disk is kept, and billed, while it is stopped; Azure ML determines its size.
    """

    instance_name: pulumi.Output[str]
    """Name of the compute instance in the workspace."""

    def __init__(self, name: str, args: AmlComputeInstanceArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_instance, name, args, cloud="azure", machine="vm_size")
        super().__init__(name, args, opts, kind="notebook", **of_machines(shape), market="on-demand")
        optional: dict[str, object] = {}
        if "user" in args:
            person = {"object_id": args["user"], "tenant_id": args["user_tenant"]}
            optional["personal_compute_instance_settings"] = {"assigned_user": person}
            optional["compute_instance_authorization_type"] = "personal"
        if "schedule" in args:
            optional["schedules"] = {"compute_start_stop": ml_durations.stops(args["schedule"])}
        instance = self.make(
            machinelearningservices.Compute,
            f"{name}-notebook",
            compute_name=ml_durations.compute_name(name, stack=pulumi.get_stack()),
            resource_group_name=args["resource_group"],
            location=args["region"],
            workspace_name=args["workspace"],
            identity={"type": "SystemAssigned"},
            properties={
                "compute_type": "ComputeInstance",
                "description": f"Notebook {name}",
                "disable_local_auth": True,
                "properties": {
                    "vm_size": shape.instance_type,
                    "application_sharing_policy": "Personal",
                    "enable_node_public_ip": False,
                    "enable_sso": True,
                    "ssh_settings": {"ssh_public_access": "Disabled"},
                    "idle_time_before_shutdown": ml_durations.duration(args.get("idle_s", NOTEBOOK_IDLE_S)),
                    **optional,
                },
            },
        )
        self.instance_name = instance.name
        self.register()
