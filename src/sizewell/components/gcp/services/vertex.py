"""Vertex AI: custom training jobs that a workflow starts, and endpoints for models."""

import pulumi
from pulumi_gcp import compute, projects, serviceaccount, vertex, workflows

from sizewell.components.facts import of_machines, of_pool, of_sizes
from sizewell.components.gcp import parts
from sizewell.components.gcp.limits.expiry import endpoint_mark
from sizewell.components.gcp.services import documents as service_documents
from sizewell.components.gcp.services.args import VertexEndpointArgs, VertexTrainingArgs
from sizewell.components.gcp.services.checks import check_endpoint, check_training
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned
from sizewell.components.tags import physical_name


class VertexTraining(Owned):
    """Everything that a custom job needs, and a workflow that starts one: `gcloud workflows run NAME`.

    The provider has no resource for a job: a job is a run and has no state. Nothing is billed until the workflow is
    run; the job then ends by itself.
    """

    workflow_name: pulumi.Output[str]
    """Name of the workflow that starts a job."""
    launcher: pulumi.Output[str]
    """E-mail of the account that starts jobs."""

    def __init__(self, name: str, args: VertexTrainingArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_training, name, args, cloud="gcp", machine="machine_type")
        mode = args["capacity_mode"]
        super().__init__(
            name,
            args,
            opts,
            kind="pool",
            **of_pool(shape, args, sizes=(0, 0, args["nodes"])),
            interruptible=mode == "spot",
            checkpointStore=args["bucket"],
        )
        key, users = parts.key_of(self, name, args, service="aiplatform.googleapis.com", agents=("gcp-sa-aiplatform",))
        launcher = self._launcher(name, args)
        attachment: pulumi.Input[str] = ""
        if "subnetwork" in args:
            attachment = self.make(
                compute.NetworkAttachment,
                f"{name}-job",
                project=args["project"],
                region=args["region"],
                connection_preference="ACCEPT_AUTOMATIC",
                subnetworks=[args["subnetwork"]],
            ).id
        labels = self.tags_of(workflows.Workflow, f"{name}-start")
        source = pulumi.Output.all(args["project"], key, attachment).apply(
            lambda known: service_documents.start_workflow(
                service_documents.custom_job(
                    self.physical(name, 63),
                    args,
                    shape,
                    project=known[0],
                    key=known[1],
                    attachment=known[2],
                    labels=labels,
                ),
                project=known[0],
                region=args["region"],
            )
        )
        workflow = self.make(
            workflows.Workflow,
            f"{name}-start",
            name=self.name_of(workflows.Workflow, name),
            description=f"Starts training jobs of {name}",
            project=args["project"],
            region=args["region"],
            service_account=launcher.id,
            call_log_level="LOG_ERRORS_ONLY",
            deletion_protection=False,
            source_contents=source,
            labels=labels,
            opts=pulumi.ResourceOptions(depends_on=users),
        )
        self.workflow_name = workflow.name
        self.launcher = launcher.email
        self.register()

    def _launcher(self, name: str, args: VertexTrainingArgs) -> serviceaccount.Account:
        """Who starts jobs: may create them, and act as the checkpoints' writer; nothing else."""
        account = self.make(
            serviceaccount.Account,
            f"{name}-start",
            project=args["project"],
            display_name=f"Starts training jobs of {name}",
        )
        role = self.make(
            projects.IAMCustomRole,
            f"{name}-start",
            role_id=self.physical(f"{name}-start", 60).replace("-", "_"),
            project=args["project"],
            title=f"Starts training jobs of {name}",
            permissions=["aiplatform.customJobs.create"],
        )
        self.make(projects.IAMMember, f"{name}-start", project=args["project"], role=role.name, member=account.member)
        writer = pulumi.Output.from_input(args["project"]).apply(
            lambda project: (
                f"projects/{project}/serviceAccounts/{args['writer_account']}@{project}.iam.gserviceaccount.com"
            )
        )
        self.make(
            serviceaccount.IAMMember,
            f"{name}-start",
            service_account_id=writer,
            role="roles/iam.serviceAccountUser",
            member=account.member,
        )
        return account


class VertexEndpoint(Owned):
    """A model on machines of its own behind Private Service Connect; at least one machine runs around the clock.

    The provider deploys to endpoints only through Model Garden: no customer-managed key and no labels there.
    """

    endpoint: pulumi.Output[str]
    """Id of the endpoint."""

    def __init__(self, name: str, args: VertexEndpointArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_endpoint, name, args, cloud="gcp", machine="machine_type")
        super().__init__(
            name,
            args,
            opts,
            kind="endpoint",
            **of_machines(shape),
            market="spot" if args.get("spot") else "on-demand",
            **of_sizes(args["replicas_min"], args["replicas_min"], args["replicas_max"]),
        )
        publisher = args["model"].startswith("publishers/")
        which = {"publisher_model_name" if publisher else "hugging_face_model_id": args["model"]}
        container = {"container_spec": {"image_uri": args["image"]}} if "image" in args else {}
        kind = service_documents.vertex_accelerator(shape.instance_type)
        busy = {
            "metric_name": "aiplatform.googleapis.com/prediction/online/accelerator/duty_cycle",
            "target": args.get("target_utilization_percent", 60),
        }
        made = self.make(
            vertex.AiEndpointWithModelGardenDeployment,
            f"{name}-endpoint",
            location=args["region"],
            project=args["project"],
            model_config={
                "accept_eula": args.get("accept_eula", False),
                "model_display_name": self.physical(name, 128),
                **container,
            },
            endpoint_config={
                "endpoint_display_name": physical_name(
                    self.physical(name, 119), endpoint_mark(pulumi.get_project(), pulumi.get_stack()), limit=128
                ),
                "dedicated_endpoint_enabled": False,
                "private_service_connect_config": {
                    "enable_private_service_connect": True,
                    "project_allowlists": [args["project"]],
                },
            },
            deploy_config={
                "fast_tryout_enabled": False,
                "dedicated_resources": {
                    "machine_spec": {
                        "machine_type": shape.instance_type,
                        "accelerator_type": kind,
                        "accelerator_count": shape.accelerators,
                    },
                    "min_replica_count": args["replicas_min"],
                    "max_replica_count": args["replicas_max"],
                    "required_replica_count": 1,
                    "spot": args.get("spot", False),
                    "autoscaling_metric_specs": [busy],
                },
            },
            **which,
        )
        self.endpoint = made.endpoint
        self.register()
