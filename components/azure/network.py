"""The resource group and private network of a stack in one region, on Azure."""

import ipaddress

import pulumi
from pulumi_azure_native import network, privatedns, resources

from components.azure.args import NetworkArgs
from components.azure.checks import check_network
from components.owned import Owned

# Where machines may go by HTTPS; everything else that leaves the network is refused.
SERVICES = ("AzureCloud", "Storage", "AzureMonitor", "AzureActiveDirectory", "AzureContainerRegistry")


class Network(Owned):
    """A virtual network with one private subnet behind a NAT gateway, and the DNS zone of private blob endpoints."""

    resource_group: pulumi.Output[str]
    """Name of the resource group."""
    subnet_id: pulumi.Output[str]
    """Private subnet."""
    security_group_id: pulumi.Output[str]
    """Network security group of the machines."""
    private_dns_zone_id: pulumi.Output[str]
    """Private DNS zone of blob storage."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        check_network(name, args)
        super().__init__(
            "sizewell-azure:index:Network",
            name,
            args,
            {"kind": "network", "name": name, "environment": args["environment"], "region": args["region"]},
            opts,
        )
        region, cidr = args["region"], args.get("cidr", "10.120.0.0/16")
        group = resources.ResourceGroup(
            f"{name}-group",
            resource_group_name=self.physical(name, 80),
            location=region,
            tags=self.tags_of(resources.ResourceGroup, f"{name}-group"),
            opts=self.child(),
        )
        place = {"resource_group_name": group.name, "location": region}
        security_group = network.NetworkSecurityGroup(
            f"{name}-rules",
            network_security_group_name=self.physical(f"{name}-rules", 80),
            security_rules=self._rules(cidr),
            tags=self.tags_of(network.NetworkSecurityGroup, f"{name}-rules"),
            opts=self.child(),
            **place,
        )
        address = network.PublicIPAddress(
            f"{name}-way-out",
            public_ip_address_name=self.physical(f"{name}-way-out", 80),
            sku={"name": "Standard"},
            public_ip_allocation_method="Static",
            tags=self.tags_of(network.PublicIPAddress, f"{name}-way-out"),
            opts=self.child(),
            **place,
        )
        gateway = network.NatGateway(
            f"{name}-way-out",
            nat_gateway_name=self.physical(f"{name}-way-out", 80),
            sku={"name": "Standard"},
            public_ip_addresses=[{"id": address.id}],
            tags=self.tags_of(network.NatGateway, f"{name}-way-out"),
            opts=self.child(),
            **place,
        )
        virtual = network.VirtualNetwork(
            f"{name}-net",
            virtual_network_name=self.physical(name, 64),
            address_space={"address_prefixes": [cidr]},
            tags=self.tags_of(network.VirtualNetwork, f"{name}-net"),
            opts=self.child(ignore_changes=["subnets"]),
            **place,
        )
        prefix = ipaddress.ip_network(cidr).prefixlen
        subnet = network.Subnet(
            f"{name}-nodes",
            resource_group_name=group.name,
            virtual_network_name=virtual.name,
            subnet_name="nodes",
            address_prefix=str(next(iter(ipaddress.ip_network(cidr).subnets(new_prefix=prefix + 2)))),
            default_outbound_access=False,
            network_security_group={"id": security_group.id},
            nat_gateway={"id": gateway.id},
            private_endpoint_network_policies="Enabled",
            opts=self.child(),
        )
        zone = privatedns.PrivateZone(
            f"{name}-blob",
            private_zone_name="privatelink.blob.core.windows.net",
            resource_group_name=group.name,
            location="global",
            tags=self.tags_of(privatedns.PrivateZone, f"{name}-blob"),
            opts=self.child(),
        )
        privatedns.VirtualNetworkLink(
            f"{name}-blob",
            virtual_network_link_name="nodes",
            private_zone_name=zone.name,
            resource_group_name=group.name,
            location="global",
            registration_enabled=False,
            virtual_network={"id": virtual.id},
            tags=self.tags_of(privatedns.VirtualNetworkLink, f"{name}-blob"),
            opts=self.child(),
        )
        self.resource_group = group.name
        self.subnet_id = subnet.id
        self.security_group_id = security_group.id
        self.private_dns_zone_id = zone.id
        self.register_outputs(
            {
                "resourceGroup": self.resource_group,
                "subnetId": self.subnet_id,
                "securityGroupId": self.security_group_id,
                "privateDnsZoneId": self.private_dns_zone_id,
            }
        )

    @staticmethod
    def _rules(cidr: str) -> list[dict[str, object]]:
        """Everything inside the network, HTTPS to Azure's services, nothing else in either direction."""
        everything = {"protocol": "*", "source_port_range": "*", "destination_port_range": "*"}
        inside = {**everything, "source_address_prefix": cidr, "destination_address_prefix": cidr, "access": "Allow"}
        nothing = {**everything, "source_address_prefix": "*", "destination_address_prefix": "*", "access": "Deny"}
        rules: list[dict[str, object]] = [
            {**inside, "name": "inside-in", "priority": 100, "direction": "Inbound"},
            {**nothing, "name": "nothing-in", "priority": 4096, "direction": "Inbound"},
            {**inside, "name": "inside-out", "priority": 100, "direction": "Outbound"},
            {**nothing, "name": "nothing-out", "priority": 4096, "direction": "Outbound"},
        ]
        for number, service in enumerate(SERVICES):
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
