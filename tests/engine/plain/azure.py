"""A program of a team that uses none of our components: a scale set, AKS with a pool, a disk, NAT, ML compute."""

import pulumi_azure_native as azure

group = azure.resources.ResourceGroup("group", resource_group_name="group", location="eastus")
address = azure.network.PublicIPAddress(
    "nat-ip", resource_group_name=group.name, location="eastus", sku={"name": "Standard"}
)
azure.network.NatGateway(
    "nat",
    resource_group_name=group.name,
    location="eastus",
    sku={"name": "Standard"},
    public_ip_addresses=[{"id": address.id}],
)
cluster = azure.containerservice.ManagedCluster(
    "aks",
    resource_group_name=group.name,
    location="eastus",
    sku={"name": "Base", "tier": "Standard"},
    dns_prefix="aks",
    agent_pool_profiles=[{"name": "system", "mode": "System", "count": 1, "vm_size": "Standard_D4s_v5"}],
)
azure.containerservice.AgentPool(
    "gpu",
    resource_group_name=group.name,
    resource_name_=cluster.name,
    vm_size="Standard_NC24ads_A100_v4",
    enable_auto_scaling=True,
    min_count=0,
    max_count=2,
    count=1,
    os_disk_size_gb=256,
    os_disk_type="Managed",
)
azure.compute.Disk(
    "data",
    resource_group_name=group.name,
    location="eastus",
    disk_size_gb=512,
    sku={"name": "Premium_LRS"},
    creation_data={"create_option": "Empty"},
)
