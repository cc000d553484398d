"""The private network of a stack in one region, on Google Cloud."""

import pulumi
from pulumi_gcp import compute

from sizewell.components.gcp.args import FABRIC_NETWORKS, NetworkArgs
from sizewell.components.gcp.checks import check_network
from sizewell.components.owned import Owned

PODS_RANGE, SERVICES_RANGE = "pods", "services"


class Network(Owned):
    """A network with one private subnetwork and flow logs, and the networks of accelerator interfaces where needed."""

    network: pulumi.Output[str]
    """Id of the network."""
    subnetwork: pulumi.Output[str]
    """Id of the nodes' subnetwork."""
    project: pulumi.Output[str]
    """Its project."""
    fabric_networks: pulumi.Output[list[str]]
    """Names of the networks of accelerator interfaces."""
    fabric_subnetworks: pulumi.Output[list[str]]
    """Names of their subnetworks, in the same order."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_network(name, args)
        super().__init__(name, args, opts, kind="network", cloud="")
        network = self.make(
            compute.Network,
            f"{name}-net",
            name=self.name_of(compute.Network, name),
            description=f"Private network of {pulumi.get_stack()}",
            auto_create_subnetworks=False,
            routing_mode="REGIONAL",
            mtu=8896,
        )
        subnetwork = self.make(
            compute.Subnetwork,
            f"{name}-nodes",
            network=network.id,
            region=args["region"],
            ip_cidr_range=args.get("cidr", "10.80.0.0/16"),
            private_ip_google_access=True,
            log_config={"aggregation_interval": "INTERVAL_10_MIN", "flow_sampling": 0.5},
            secondary_ip_ranges=[
                {"range_name": PODS_RANGE, "ip_cidr_range": args.get("pods_cidr", "10.96.0.0/12")},
                {"range_name": SERVICES_RANGE, "ip_cidr_range": args.get("services_cidr", "10.112.0.0/20")},
            ],
        )
        self._fabric = self._fabric_networks(name, args)

        self.network = network.id
        self.subnetwork = subnetwork.id
        self.project = network.project
        self.fabric_networks = pulumi.Output.all(*[interface.network for interface in self._fabric])
        self.fabric_subnetworks = pulumi.Output.all(*[interface.name for interface in self._fabric])
        self.register()

    def interfaces(self) -> tuple[list[pulumi.Output[str]], list[pulumi.Output[str]]]:
        """Networks and subnetworks of the accelerator interfaces: how many there are is known at preview."""
        return [interface.network for interface in self._fabric], [interface.name for interface in self._fabric]

    def _fabric_networks(self, name: str, args: NetworkArgs) -> list[compute.Subnetwork]:
        """One plain network per GPU interface; for RDMA one more, with a subnetwork per network card."""
        plain, rdma = FABRIC_NETWORKS.get(args.get("fabric", ""), (0, 0))
        subnetworks = []
        for number in range(plain):
            network = self.make(
                compute.Network,
                f"{name}-gpu-{number}",
                description="Accelerator interface",
                auto_create_subnetworks=False,
                mtu=8244 if args["fabric"] != "gpudirect-rdma" else 8896,
            )
            cidr = f"192.168.{number + 1}.0/24"
            subnetworks.append(self._fabric_subnetwork(f"{name}-gpu-{number}", args, network, cidr))
            self.make(
                compute.Firewall,
                f"{name}-gpu-{number}",
                description="Everything between the accelerator interfaces of this network",
                network=network.id,
                direction="INGRESS",
                source_ranges=[cidr],
                allows=[{"protocol": "tcp"}, {"protocol": "udp"}, {"protocol": "icmp"}],
            )
        if rdma:
            # The API answers with a URL of the project, which the provider takes for another profile: it would replace
            # the network, and all in it, at every second update (terraform-provider-google#23160). So the profile is
            # ignored once it is set, and the zone stands in the names: a network of another zone is another network.
            zonal = f"{name}-rdma-{args['fabric_zone']}"
            network = self.make(
                compute.Network,
                zonal,
                description="RDMA between the accelerators",
                auto_create_subnetworks=False,
                network_profile=f"global/networkProfiles/{args['fabric_zone']}-vpc-roce",
                mtu=8896,
                opts=pulumi.ResourceOptions(ignore_changes=["networkProfile"]),
            )
            for number in range(rdma):
                cidr = f"192.168.{32 + number}.0/24"
                subnetworks.append(self._fabric_subnetwork(f"{zonal}-{number}", args, network, cidr))
        return subnetworks

    def _fabric_subnetwork(
        self, name: str, args: NetworkArgs, network: compute.Network, cidr: str
    ) -> compute.Subnetwork:
        return self.make(
            compute.Subnetwork,
            name,
            network=network.name,
            region=args["region"],
            ip_cidr_range=cidr,
            private_ip_google_access=True,
        )
