"""A container with a GPU that scales to zero: Cloud Run."""

import pulumi
from pulumi_gcp import cloudrunv2, serviceaccount

from sizewell.components.facts import of_sizes
from sizewell.components.gcp import parts
from sizewell.components.gcp.services.args import CloudRunGpuArgs
from sizewell.components.gcp.services.checks import check_run
from sizewell.components.owned import Owned

GPU = "nvidia-l4"


class CloudRunGpu(Owned):
    """One L4 for each instance, and no instance without requests; reached from the network, by named callers."""

    service_name: pulumi.Output[str]
    """Name of the service."""
    uri: pulumi.Output[str]
    """Its URL."""
    service_account: pulumi.Output[str]
    """E-mail of its service account, which has no rights until it is given a role."""

    def __init__(self, name: str, args: CloudRunGpuArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_run(name, args)
        least = args.get("instances_min", 0)
        super().__init__(
            name,
            args,
            opts,
            kind="endpoint",
            accelerator="l4",
            acceleratorsPerNode=1,
            market="on-demand",
            **of_sizes(least, least, args["instances_max"]),
        )
        account = self.make(serviceaccount.Account, f"{name}-run", display_name=f"Service {name}")
        key, users = parts.key_of(self, name, args, service="run.googleapis.com", agents=("serverless-robot-prod",))
        service = self._service(name, args, account, key=key, after=users)
        for number, member in enumerate(args.get("invokers", [])):
            self.make(
                cloudrunv2.ServiceIamMember,
                f"{name}-invoker-{number}",
                name=service.name,
                location=args["region"],
                project=args["project"],
                role="roles/run.invoker",
                member=member,
            )
        self.service_name = service.name
        self.uri = service.uri
        self.service_account = account.email
        self.register()

    def _service(
        self,
        name: str,
        args: CloudRunGpuArgs,
        account: serviceaccount.Account,
        *,
        key: pulumi.Output[str],
        after: list[pulumi.Resource],
    ) -> cloudrunv2.Service:
        port = args.get("port", 8080)
        limits = {
            "cpu": str(args.get("cpus", 8)),
            "memory": f"{args.get('memory_gib', 32)}Gi",
            "nvidia.com/gpu": "1",
        }
        variables = sorted(args.get("environment_variables", {}).items())
        network = {}
        if "subnetwork" in args:
            interface = {"subnetwork": args["subnetwork"]}
            network["vpc_access"] = {"egress": "ALL_TRAFFIC", "network_interfaces": [interface]}
        return self.make(
            cloudrunv2.Service,
            f"{name}-service",
            name=self.name_of(cloudrunv2.Service, name),
            location=args["region"],
            project=args["project"],
            ingress="INGRESS_TRAFFIC_INTERNAL_ONLY",
            deletion_protection=args.get("deletion_protection", args["environment"] == "prod"),
            binary_authorization={"use_default": True},
            template={
                "service_account": account.email,
                "encryption_key": key,
                "execution_environment": "EXECUTION_ENVIRONMENT_GEN2",
                "node_selector": {"accelerator": GPU},
                "gpu_zonal_redundancy_disabled": not args.get("zonal_redundancy", False),
                "max_instance_request_concurrency": args.get("requests_at_once", 8),
                "timeout": f"{args.get('timeout_s', 300)}s",
                "scaling": {
                    "min_instance_count": args.get("instances_min", 0),
                    "max_instance_count": args["instances_max"],
                },
                "containers": [
                    {
                        "image": args["image"],
                        "ports": {"container_port": port},
                        "envs": [{"name": key, "value": value} for key, value in variables],
                        "resources": {"limits": limits, "cpu_idle": False, "startup_cpu_boost": True},
                        "startup_probe": {"tcp_socket": {"port": port}, "period_seconds": 10, "failure_threshold": 60},
                    }
                ],
                "labels": self.tags_of(cloudrunv2.Service, f"{name}-service"),
                **network,
            },
            opts=pulumi.ResourceOptions(depends_on=after),
        )
