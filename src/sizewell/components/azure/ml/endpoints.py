"""A managed online endpoint of Azure Machine Learning: a model behind Entra, with machines that follow the load."""

import pulumi
from pulumi_azure_native import machinelearningservices, monitor

from sizewell.components.azure import parts
from sizewell.components.azure.ml import durations as ml_durations
from sizewell.components.azure.ml.args import AmlOnlineEndpointArgs
from sizewell.components.azure.ml.checks import check_endpoint
from sizewell.components.facts import of_pool
from sizewell.components.machines import checked_shape
from sizewell.components.owned import Owned
from sizewell.components.tags import short_hash
from sizewell.sizing.catalog.records import Shape

AUTH = {"aad": "AADToken", "token": "AMLToken"}
DEPLOYMENT = "main"


class AmlOnlineEndpoint(Owned):
    """One deployment of a container, reached only through the workspace's private endpoint and scaled by GPU load.

    It never scales to zero. Azure accepts traffic for a deployment only once it exists, so `live` is a second step:
    until then a request has to name it (`azureml-model-deployment: main`).
    """

    endpoint_name: pulumi.Output[str]
    """Name of the endpoint."""
    scoring_uri: pulumi.Output[str]
    """Its URL."""

    def __init__(self, name: str, args: AmlOnlineEndpointArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        shape = checked_shape(check_endpoint, name, args, cloud="azure", machine="vm_size")
        super().__init__(
            name,
            args,
            opts,
            kind="endpoint",
            **of_pool(shape, args),
        )
        properties: dict[str, object] = {
            "auth_mode": AUTH[args.get("auth", "aad")],
            "public_network_access": "Disabled",
            "description": f"Serves {name}",
        }
        if args.get("live"):
            properties["traffic"] = {DEPLOYMENT: 100}
        endpoint = self.make(
            machinelearningservices.OnlineEndpoint,
            f"{name}-endpoint",
            endpoint_name=ml_durations.compute_name(name, stack=pulumi.get_stack()),
            kind="Managed",
            location=args["region"],
            identity={"type": "SystemAssigned"},
            properties=properties,
            **self._place(args),
        )
        principal = endpoint.identity.apply(lambda held: held.principal_id if held else "")
        parts.pulls(self, name, args.get("registries", []), principal)
        deployment = self._deployment(name, args, shape, endpoint, self._environment(name, args))
        told = parts.action_group(self, f"{name}-notices", args, args.get("notify", []))
        self._autoscale(name, args, deployment, told)
        self._guard(name, args, endpoint, told)
        self.endpoint_name = endpoint.name
        self.scoring_uri = endpoint.properties.apply(lambda properties: getattr(properties, "scoring_uri", None) or "")
        self.register()

    @staticmethod
    def _place(args: AmlOnlineEndpointArgs) -> dict[str, object]:
        return {"resource_group_name": args["resource_group"], "workspace_name": args["workspace"]}

    def _environment(self, name: str, args: AmlOnlineEndpointArgs) -> machinelearningservices.EnvironmentVersion:
        """The container as Azure ML knows it: a version for each image, since a version never changes."""
        container = self.make(
            machinelearningservices.EnvironmentContainer,
            f"{name}-image",
            name=self.name_of(machinelearningservices.EnvironmentContainer, name),
            properties={"description": f"Container of {name}"},
            **self._place(args),
        )
        port = args.get("port", 8000)
        health = {"path": args.get("health_path", "/health"), "port": port}
        scoring = {"path": args.get("scoring_path", "/v1/chat/completions"), "port": port}
        inference = {"liveness_route": health, "readiness_route": health, "scoring_route": scoring}
        return self.make(
            machinelearningservices.EnvironmentVersion,
            f"{name}-image",
            name=container.name,
            version=short_hash(args["image"], str(inference)),
            properties={"image": args["image"], "os_type": "Linux", "inference_config": inference},
            **self._place(args),
        )

    def _deployment(
        self,
        name: str,
        args: AmlOnlineEndpointArgs,
        shape: Shape,
        endpoint: machinelearningservices.OnlineEndpoint,
        environment: machinelearningservices.EnvironmentVersion,
    ) -> machinelearningservices.OnlineDeployment:
        probe = {"period": "PT10S", "timeout": "PT5S", "failure_threshold": 30}
        optional = {"model": args["model"], "model_mount_path": "/model"} if "model" in args else {}
        return self.make(
            machinelearningservices.OnlineDeployment,
            f"{name}-deployment",
            deployment_name=DEPLOYMENT,
            endpoint_name=endpoint.name,
            kind="Managed",
            location=args["region"],
            sku={"name": "Default", "capacity": args["nodes_initial"]},
            # what machines may reach says the workspace's own network; the deployment's egress flag is of older ones
            properties=machinelearningservices.ManagedOnlineDeploymentArgs(
                endpoint_compute_type="Managed",
                instance_type=shape.instance_type,
                environment_id=environment.id,
                environment_variables=args.get("environment_variables", {}),
                app_insights_enabled=True,
                # the number is Azure Monitor's, by the setting below
                scale_settings=machinelearningservices.DefaultScaleSettingsArgs(scale_type="Default"),
                request_settings={
                    "max_concurrent_requests_per_instance": args.get("concurrency", 4),
                    "request_timeout": "PT180S",
                },
                # weights take minutes to load: ten minutes of grace before the first look
                liveness_probe={**probe, "initial_delay": "PT600S"},
                readiness_probe={**probe, "initial_delay": "PT10S", "failure_threshold": 180},
                **optional,
            ),
            opts=pulumi.ResourceOptions(ignore_changes=["sku.capacity"]),
            **self._place(args),
        )

    def _autoscale(
        self,
        name: str,
        args: AmlOnlineEndpointArgs,
        deployment: machinelearningservices.OnlineDeployment,
        told: monitor.ActionGroup,
    ) -> None:
        setting = self.make(
            monitor.AutoscaleSetting,
            f"{name}-size",
            resource_group_name=args["resource_group"],
            location=args["region"],
            enabled=True,
            target_resource_uri=deployment.id,
            profiles=ml_durations.autoscale_profiles(
                deployment_id=deployment.id,
                nodes_min=args["nodes_min"],
                nodes_initial=args["nodes_initial"],
                nodes_max=args["nodes_max"],
                schedule=args.get("schedule"),
            ),
        )
        parts.failed_scaling(self, name, args, scopes=[deployment.id, setting.id], told=told)

    def _guard(
        self,
        name: str,
        args: AmlOnlineEndpointArgs,
        endpoint: machinelearningservices.OnlineEndpoint,
        told: monitor.ActionGroup,
    ) -> None:
        guard = args.get("guard")
        if guard is None:
            return
        self.make(
            monitor.MetricAlert,
            f"{name}-idle",
            resource_group_name=args["resource_group"],
            location="global",
            description=(
                f"{name}: no requests for {ml_durations.alert_window(guard['window_s'])}; machines are still billed"
            ),
            enabled=True,
            severity=3,
            scopes=[endpoint.id],
            evaluation_frequency="PT15M",
            window_size=ml_durations.alert_window(guard["window_s"]),
            criteria=ml_durations.idle_criteria(),
            actions=[{"action_group_id": told.id}],
            auto_mitigate=True,
        )
