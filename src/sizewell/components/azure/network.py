"""The resource group and private network of a stack in one region, on Azure."""

import pulumi
from pulumi_azure_native import network, privatedns, resources

from sizewell.components.azure.args import NetworkArgs
from sizewell.components.azure.checks import check_network
from sizewell.components.azure.scale_sets import POD_CIDR, PRIVATE_ZONES, subnet_ranges
from sizewell.components.owned import Owned

# Where machines may go by HTTPS; everything else that leaves the network is refused.
SERVICES = ("AzureCloud", "Storage", "AzureMonitor", "AzureActiveDirectory", "AzureContainerRegistry")
# Microsoft's own images come through Front Door.
KUBERNETES_SERVICES = ("MicrosoftContainerRegistry", "AzureFrontDoor.FirstParty")
API_SERVER = {"name": "aks", "service_name": "Microsoft.ContainerService/managedClusters"}


class Network(Owned):
    """A virtual network with private subnets behind a NAT gateway, and the DNS zones of private endpoints."""

    resource_group: pulumi.Output[str]
    """Name of the resource group."""
    subnet_id: pulumi.Output[str]
    """Private subnet."""
    security_group_id: pulumi.Output[str]
    """Network security group of the machines."""
    private_dns_zone_id: pulumi.Output[str]
    """Private DNS zone of blob storage."""
    kubernetes_subnet_id: pulumi.Output[str]
    """Subnet of AKS machines; empty without."""
    api_subnet_id: pulumi.Output[str]
    """Subnet of the AKS API server; empty without."""
    files_subnet_id: pulumi.Output[str]
    """Subnet of Azure Managed Lustre; empty without."""
    private_dns_zone_ids: pulumi.Output[dict[str, str]]
    """Private DNS zones by service."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_network(name, args)
        super().__init__(name, args, opts, kind="network", cloud="")
        region, cidr = args["region"], args.get("cidr", "10.120.0.0/16")
        group = self.make(
            resources.ResourceGroup,
            f"{name}-group",
            resource_group_name=self.name_of(resources.ResourceGroup, name),
            location=region,
        )
        place = {"resource_group_name": group.name, "location": region}
        security_group = self.make(
            network.NetworkSecurityGroup,
            f"{name}-rules",
            security_rules=self._rules(cidr, kubernetes=args.get("kubernetes", False)),
            **place,
        )
        address = self.make(
            network.PublicIPAddress,
            f"{name}-way-out",
            sku={"name": "Standard"},
            public_ip_allocation_method="Static",
            **place,
        )
        gateway = self.make(
            network.NatGateway,
            f"{name}-way-out",
            sku={"name": "Standard"},
            public_ip_addresses=[{"id": address.id}],
            **place,
        )
        virtual = self.make(
            network.VirtualNetwork,
            f"{name}-net",
            virtual_network_name=self.name_of(network.VirtualNetwork, name),
            address_space={"address_prefixes": [cidr]},
            opts=pulumi.ResourceOptions(ignore_changes=["subnets"]),
            **place,
        )
        ranges = subnet_ranges(cidr)
        inside = {
            "default_outbound_access": False,
            "network_security_group": {"id": security_group.id},
            "private_endpoint_network_policies": "Enabled",
        }
        routed = {**inside, "nat_gateway": {"id": gateway.id}}
        made: dict[str, network.Subnet] = {}
        for wanted, settings in (
            ("nodes", routed),
            ("kubernetes", routed),
            ("kubernetes-api", {**inside, "delegations": [API_SERVER]}),
            ("files", routed),
        ):
            if wanted == "nodes" or args.get(wanted.partition("-")[0]):
                made[wanted] = self.make(
                    network.Subnet,
                    f"{name}-{wanted}",
                    resource_group_name=group.name,
                    virtual_network_name=virtual.name,
                    subnet_name=wanted,
                    address_prefix=ranges[wanted],
                    opts=pulumi.ResourceOptions(
                        depends_on=list(made.values())
                    ),  # one network takes one change at a time
                    **settings,
                )
        zones = {
            service: self._private_zone(name, service, group, virtual)
            for service in dict.fromkeys(("blob", *args.get("private_services", [])))
        }
        self.resource_group = group.name
        self.subnet_id = made["nodes"].id
        self.security_group_id = security_group.id
        self.private_dns_zone_id = zones["blob"].id
        nothing: pulumi.Output[str] = pulumi.Output.from_input("")
        self.kubernetes_subnet_id = made["kubernetes"].id if "kubernetes" in made else nothing
        self.api_subnet_id = made["kubernetes-api"].id if "kubernetes-api" in made else nothing
        self.files_subnet_id = made["files"].id if "files" in made else nothing
        self.private_dns_zone_ids = pulumi.Output.all(**{service: zone.id for service, zone in zones.items()})
        self.register()

    def _private_zone(
        self, name: str, service: str, group: resources.ResourceGroup, virtual: network.VirtualNetwork
    ) -> privatedns.PrivateZone:
        zone = self.make(
            privatedns.PrivateZone,
            f"{name}-{service}",
            private_zone_name=PRIVATE_ZONES[service],
            resource_group_name=group.name,
            location="global",
        )
        self.make(
            privatedns.VirtualNetworkLink,
            f"{name}-{service}",
            virtual_network_link_name="nodes",
            private_zone_name=zone.name,
            resource_group_name=group.name,
            location="global",
            registration_enabled=False,
            virtual_network={"id": virtual.id},
        )
        return zone

    @staticmethod
    def _rules(cidr: str, *, kubernetes: bool) -> list[dict[str, object]]:
        """Everything inside the network, HTTPS to Azure's services, packages from Azure's mirror, nothing else.

        With AKS the overlay's pods are inside too: their packets leave a machine with their own addresses
        (learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay), and its load balancers look for live ones.
        """
        everything = {"protocol": "*", "source_port_range": "*", "destination_port_range": "*"}
        inside = {**everything, "source_address_prefix": cidr, "destination_address_prefix": cidr, "access": "Allow"}
        nothing = {**everything, "source_address_prefix": "*", "destination_address_prefix": "*", "access": "Deny"}
        rules: list[dict[str, object]] = [
            {**inside, "name": "inside-in", "priority": 100, "direction": "Inbound"},
            {**nothing, "name": "nothing-in", "priority": 4096, "direction": "Inbound"},
            {**inside, "name": "inside-out", "priority": 100, "direction": "Outbound"},
            {**nothing, "name": "nothing-out", "priority": 4096, "direction": "Outbound"},
        ]
        if kubernetes:
            allowed = {**everything, "access": "Allow"}
            both = {"source_address_prefixes": [cidr, POD_CIDR], "destination_address_prefixes": [cidr, POD_CIDR]}
            balancer = {"source_address_prefix": "AzureLoadBalancer", "destination_address_prefix": "VirtualNetwork"}
            rules += [
                {**allowed, **both, "name": "pods-in", "priority": 110, "direction": "Inbound"},
                {**allowed, **balancer, "name": "balancer-in", "priority": 120, "direction": "Inbound"},
                {**allowed, **both, "name": "pods-out", "priority": 110, "direction": "Outbound"},
            ]
        rules.append(  # azure.archive.ubuntu.com, which has no HTTPS; signatures of the packages are what is trusted
            {
                "name": "packages-to-AzureCloud",
                "priority": 190,
                "direction": "Outbound",
                "access": "Allow",
                "protocol": "Tcp",
                "source_address_prefix": cidr,
                "source_port_range": "*",
                "destination_address_prefix": "AzureCloud",
                "destination_port_range": "80",
            }
        )
        for number, service in enumerate([*SERVICES, *(KUBERNETES_SERVICES if kubernetes else ())]):
            rules.append(
                {
                    "name": f"https-to-{service}",
                    "priority": 200 + number,
                    "direction": "Outbound",
                    "access": "Allow",
                    "protocol": "Tcp",
                    "source_address_prefix": cidr,
                    "source_port_range": "*",
                    "destination_address_prefix": service,
                    "destination_port_range": "443",
                }
            )
        return rules
