"""Programs of careful teams on Azure, in plain pulumi-azure-native: no rule may have anything mandatory against them."""

import pulumi
import pulumi_azure_native as az

TAGS = {"owner": "vision", "cost-center": "ml-7", "environment": "dev", "expires": "2027-01-31"}
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000"
SET = f"{SUBSCRIPTION}/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/own"


def group():
    return az.resources.ResourceGroup("team", location="eastus", tags=TAGS)


def network(within):
    closed = az.network.NetworkSecurityGroup(
        "nodes",
        resource_group_name=within.name,
        security_rules=[
            {
                "name": "ssh-from-bastion",
                "access": "Allow",
                "direction": "Inbound",
                "priority": 100,
                "protocol": "Tcp",
                "source_address_prefix": "10.0.250.0/26",
                "source_port_range": "*",
                "destination_address_prefix": "*",
                "destination_port_range": "22",
            }
        ],
        tags=TAGS,
    )
    net = az.network.VirtualNetwork(
        "net", resource_group_name=within.name, address_space={"address_prefixes": ["10.0.0.0/16"]}, tags=TAGS
    )
    return az.network.Subnet(
        "nodes",
        resource_group_name=within.name,
        virtual_network_name=net.name,
        address_prefix="10.0.0.0/22",
        network_security_group={"id": closed.id},
        default_outbound_access=False,
    )


def scale_set(within, subnet, **more):
    profile = {
        "os_profile": {
            "computer_name_prefix": "gpu",
            "admin_username": "ops",
            "linux_configuration": {
                "disable_password_authentication": True,
                "ssh": {"public_keys": [{"key_data": "ssh-ed25519 AAAA", "path": "/home/ops/.ssh/authorized_keys"}]},
            },
        },
        "storage_profile": {
            "image_reference": {
                "publisher": "microsoft-dsvm",
                "offer": "ubuntu-hpc",
                "sku": "2404",
                "version": "latest",
            },
            "os_disk": {
                "create_option": "FromImage",
                "disk_size_gb": 256,
                "managed_disk": {"storage_account_type": "Premium_LRS", "disk_encryption_set": {"id": SET}},
            },
        },
        "network_profile": {
            "network_interface_configurations": [
                {
                    "name": "nic",
                    "primary": True,
                    "enable_accelerated_networking": True,
                    "ip_configurations": [{"name": "ip", "subnet": {"id": subnet.id}}],
                }
            ]
        },
        "security_profile": {"encryption_at_host": True},
        **more,
    }
    return az.compute.VirtualMachineScaleSet(
        "gpu",
        resource_group_name=within.name,
        sku={"name": "Standard_NC24ads_A100_v4", "capacity": 0, "tier": "Standard"},
        orchestration_mode="Uniform",
        upgrade_policy={"mode": "Manual"},
        overprovision=False,
        virtual_machine_profile=profile,
        tags=TAGS,
        opts=pulumi.ResourceOptions(ignore_changes=["sku.capacity"]),
    )


def set_on_a_schedule():
    """A scale set that is there on working days only."""
    within = group()
    machines = scale_set(within, network(within))
    hours = {"time_zone": "GMT Standard Time", "days": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]}
    az.monitor.AutoscaleSetting(
        "hours",
        resource_group_name=within.name,
        target_resource_uri=machines.id,
        enabled=True,
        profiles=[
            {
                "name": "off",
                "capacity": {"minimum": "0", "maximum": "0", "default": "0"},
                "rules": [],
                "recurrence": {"frequency": "Week", "schedule": {**hours, "hours": [20], "minutes": [0]}},
            },
            {
                "name": "on",
                "capacity": {"minimum": "1", "maximum": "1", "default": "1"},
                "rules": [],
                "recurrence": {"frequency": "Week", "schedule": {**hours, "hours": [8], "minutes": [0]}},
            },
        ],
        tags=TAGS,
    )


def spot_set():
    """A spot set whose machines are deleted when they are taken, told 15 minutes before, beside a store."""
    within = group()
    store_in(within)
    machines = scale_set(
        within,
        network(within),
        priority="Spot",
        eviction_policy="Delete",
        billing_profile={"max_price": -1},
        scheduled_events_profile={"terminate_notification_profile": {"enable": True, "not_before_timeout": "PT15M"}},
    )
    az.monitor.AutoscaleSetting(
        "hours",
        resource_group_name=within.name,
        target_resource_uri=machines.id,
        enabled=True,
        profiles=[
            {
                "name": "night-off",
                "capacity": {"minimum": "0", "maximum": "0", "default": "0"},
                "rules": [],
                "recurrence": {
                    "frequency": "Week",
                    "schedule": {
                        "time_zone": "GMT Standard Time",
                        "days": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
                        "hours": [20],
                        "minutes": [0],
                    },
                },
            }
        ],
        tags=TAGS,
    )


def store_in(within):
    account = az.storage.StorageAccount(
        "store",
        account_name="teamcheckpoints",
        resource_group_name=within.name,
        kind="StorageV2",
        sku={"name": "Standard_ZRS"},
        allow_blob_public_access=False,
        allow_shared_key_access=False,
        is_local_user_enabled=False,
        minimum_tls_version="TLS1_2",
        enable_https_traffic_only=True,
        public_network_access="Disabled",
        network_rule_set={"default_action": "Deny", "bypass": "AzureServices"},
        immutable_storage_with_versioning={
            "enabled": True,
            "immutability_policy": {
                "state": "Unlocked",
                "immutability_period_since_creation_in_days": 7,
                "allow_protected_append_writes": True,
            },
        },
        encryption={
            "key_source": "Microsoft.Keyvault",
            "require_infrastructure_encryption": True,
            "key_vault_properties": {"key_name": "store", "key_vault_uri": "https://team.vault.azure.net"},
        },
        tags=TAGS,
        opts=pulumi.ResourceOptions(protect=True, retain_on_delete=True),
    )
    az.storage.BlobServiceProperties(
        "store",
        account_name=account.name,
        blob_services_name="default",
        resource_group_name=within.name,
        is_versioning_enabled=True,
        delete_retention_policy={"enabled": True, "days": 14},
        container_delete_retention_policy={"enabled": True, "days": 14},
        change_feed={"enabled": True, "retention_in_days": 30},
    )
    az.storage.BlobContainer(
        "checkpoints",
        account_name=account.name,
        container_name="checkpoints",
        resource_group_name=within.name,
        public_access="None",
        opts=pulumi.ResourceOptions(protect=True, retain_on_delete=True),
    )
    az.storage.ManagementPolicy(
        "store",
        account_name=account.name,
        management_policy_name="default",
        resource_group_name=within.name,
        policy={
            "rules": [
                {
                    "name": "old-versions",
                    "enabled": True,
                    "type": "Lifecycle",
                    "definition": {
                        "filters": {"blob_types": ["blockBlob"]},
                        "actions": {"version": {"delete": {"days_after_creation_greater_than": 30}}},
                    },
                }
            ]
        },
    )
    az.authorization.ManagementLockByScope("keep", scope=account.id, level="CanNotDelete", lock_name="keep")
    return account


def store_alone():
    """A store of checkpoints that nobody deletes by accident."""
    store_in(group())


def cluster_in(within, subnet):
    control = az.managedidentity.UserAssignedIdentity("control", resource_group_name=within.name, tags=TAGS)
    cluster = az.containerservice.ManagedCluster(
        "main",
        resource_group_name=within.name,
        dns_prefix="main",
        kubernetes_version="1.34",
        identity={"type": "UserAssigned", "user_assigned_identities": [control.id]},
        disable_local_accounts=True,
        aad_profile={"managed": True, "enable_azure_rbac": True},
        api_server_access_profile={"enable_private_cluster": True},
        auto_upgrade_profile={"upgrade_channel": "patch", "node_os_upgrade_channel": "NodeImage"},
        oidc_issuer_profile={"enabled": True},
        security_profile={"workload_identity": {"enabled": True}},
        network_profile={
            "network_plugin": "azure",
            "network_plugin_mode": "overlay",
            "network_policy": "cilium",
            "network_dataplane": "cilium",
            "service_cidr": "172.16.0.0/16",
            "dns_service_ip": "172.16.0.10",
        },
        azure_monitor_profile={"metrics": {"enabled": True}},
        disk_encryption_set_id=SET,
        sku={"name": "Base", "tier": "Standard"},
        agent_pool_profiles=[
            {
                "name": "system",
                "mode": "System",
                "vm_size": "Standard_D4s_v5",
                "os_type": "Linux",
                "type": "VirtualMachineScaleSets",
                "enable_auto_scaling": True,
                "min_count": 2,
                "max_count": 4,
                "count": 2,
                "enable_encryption_at_host": True,
                "vnet_subnet_id": subnet.id,
                "tags": TAGS,
            }
        ],
        tags=TAGS,
        opts=pulumi.ResourceOptions(ignore_changes=["agentPoolProfiles[0].count"]),
    )
    logs = az.operationalinsights.Workspace("logs", resource_group_name=within.name, retention_in_days=30, tags=TAGS)
    az.monitor.DiagnosticSetting(
        "control-plane",
        resource_uri=cluster.id,
        workspace_id=logs.id,
        logs=[{"category": "kube-audit-admin", "enabled": True}, {"category": "kube-apiserver", "enabled": True}],
    )
    return cluster


def cluster_with_gpus():
    """AKS with a tainted pool of A100s from zero."""
    within = group()
    subnet = network(within)
    cluster = cluster_in(within, subnet)
    az.containerservice.AgentPool(
        "gpu",
        agent_pool_name="gpu",
        resource_group_name=within.name,
        resource_name_=cluster.name,
        vm_size="Standard_NC24ads_A100_v4",
        mode="User",
        os_type="Linux",
        enable_auto_scaling=True,
        min_count=0,
        max_count=2,
        count=0,
        enable_encryption_at_host=True,
        enable_node_public_ip=False,
        node_taints=["sku=gpu:NoSchedule"],
        vnet_subnet_id=subnet.id,
        tags=TAGS,
        opts=pulumi.ResourceOptions(ignore_changes=["count"]),
    )


def workspace_in(within):
    return az.machinelearningservices.Workspace(
        "ml",
        resource_group_name=within.name,
        identity={"type": "SystemAssigned"},
        storage_account=f"{SUBSCRIPTION}/resourceGroups/ml/providers/Microsoft.Storage/storageAccounts/ml",
        key_vault=f"{SUBSCRIPTION}/resourceGroups/ml/providers/Microsoft.KeyVault/vaults/ml",
        application_insights=f"{SUBSCRIPTION}/resourceGroups/ml/providers/Microsoft.Insights/components/ml",
        public_network_access="Disabled",
        managed_network={"isolation_mode": "AllowOnlyApprovedOutbound"},
        tags=TAGS,
    )


def compute_of_azure_ml():
    """A cluster of Azure ML that goes to zero after ten idle minutes."""
    within = group()
    az.machinelearningservices.Compute(
        "gpu",
        resource_group_name=within.name,
        workspace_name=workspace_in(within).name,
        compute_name="gpu",
        location="eastus",
        properties={
            "compute_type": "AmlCompute",
            "disable_local_auth": True,
            "properties": {
                "vm_size": "Standard_NC24ads_A100_v4",
                "vm_priority": "Dedicated",
                "scale_settings": {
                    "min_node_count": 0,
                    "max_node_count": 2,
                    "node_idle_time_before_scale_down": "PT10M",
                },
                "enable_node_public_ip": False,
                "remote_login_port_public_access": "Disabled",
            },
        },
        tags=TAGS,
    )


def notebook_of_azure_ml():
    """A compute instance that shuts down when it is left."""
    within = group()
    az.machinelearningservices.Compute(
        "lab",
        resource_group_name=within.name,
        workspace_name=workspace_in(within).name,
        compute_name="lab",
        location="eastus",
        properties=az.machinelearningservices.ComputeInstanceArgs(  # a dictionary of such names reaches the cloud as it is
            compute_type="ComputeInstance",
            disable_local_auth=True,
            properties=az.machinelearningservices.ComputeInstancePropertiesArgs(
                vm_size="Standard_NC24ads_A100_v4",
                idle_time_before_shutdown="PT60M",
                enable_node_public_ip=False,
                ssh_settings={"ssh_public_access": "Disabled"},
                application_sharing_policy="Personal",
            ),
        ),
        tags=TAGS,
    )


def account_of_models():
    """An account of Azure OpenAI behind the network, billed by token."""
    within = group()
    account = az.cognitiveservices.Account(
        "chat",
        resource_group_name=within.name,
        kind="OpenAI",
        sku={"name": "S0"},
        properties={
            "custom_sub_domain_name": "team-chat",
            "disable_local_auth": True,
            "public_network_access": "Disabled",
            "network_acls": {"default_action": "Deny"},
        },
        tags=TAGS,
    )
    az.cognitiveservices.Deployment(
        "chat",
        resource_group_name=within.name,
        account_name=account.name,
        deployment_name="chat",
        sku={"name": "Standard", "capacity": 10},
        properties={"model": {"format": "OpenAI", "name": "gpt-4o-mini", "version": "2024-07-18"}},
    )


def vault_and_key():
    """A vault that cannot be purged and a key that is renewed."""
    within = group()
    vault = az.keyvault.Vault(
        "keys",
        resource_group_name=within.name,
        properties={
            "tenant_id": "00000000-0000-0000-0000-000000000000",
            "sku": {"family": "A", "name": "premium"},
            "enable_rbac_authorization": True,
            "enable_soft_delete": True,
            "enable_purge_protection": True,
            "soft_delete_retention_in_days": 90,
            "public_network_access": "Disabled",
            "network_acls": {"default_action": "Deny", "bypass": "AzureServices"},
        },
        tags=TAGS,
    )
    az.keyvault.Key(
        "disks",
        resource_group_name=within.name,
        vault_name=vault.name,
        properties={
            "kty": "RSA-HSM",
            "key_size": 3072,
            "rotation_policy": {
                "attributes": {"expiry_time": "P2Y"},
                "lifetime_actions": [{"action": {"type": "rotate"}, "trigger": {"time_after_create": "P1Y"}}],
            },
        },
        tags=TAGS,
        opts=pulumi.ResourceOptions(protect=True),
    )


def registry_and_deployer():
    """A registry of images, and a repository's environment that deploys one group's resources."""
    within = group()
    az.containerregistry.Registry(
        "images",
        registry_name="teamimages",
        resource_group_name=within.name,
        sku={"name": "Premium"},
        admin_user_enabled=False,
        anonymous_pull_enabled=False,
        public_network_access="Disabled",
        zone_redundancy="Enabled",
        tags=TAGS,
    )
    deployer = az.managedidentity.UserAssignedIdentity("deployer", resource_group_name=within.name, tags=TAGS)
    az.managedidentity.FederatedIdentityCredential(
        "github",
        resource_group_name=within.name,
        resource_name_=deployer.name,
        issuer="https://token.actions.githubusercontent.com",
        subject="repo:team/clusters:environment:dev",
        audiences=["api://AzureADTokenExchange"],
    )
    az.authorization.RoleAssignment(
        "deployer",
        scope=within.id,
        principal_id=deployer.principal_id,
        principal_type="ServicePrincipal",
        role_definition_id=f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/"
        "b24988ac-6180-42a0-ab88-20f7382dd24c",
    )


def web_application():
    """Nothing of AI at all: a plan, a web application, a queue."""
    within = group()
    plan = az.web.AppServicePlan(
        "plan",
        resource_group_name=within.name,
        kind="linux",
        reserved=True,
        sku={"name": "B1", "tier": "Basic"},
        tags=TAGS,
    )
    az.web.WebApp(
        "shop",
        resource_group_name=within.name,
        server_farm_id=plan.id,
        https_only=True,
        site_config={"min_tls_version": "1.2", "ftps_state": "Disabled"},
        tags=TAGS,
    )
    space = az.servicebus.Namespace(
        "orders", resource_group_name=within.name, sku={"name": "Standard"}, disable_local_auth=True, tags=TAGS
    )
    az.servicebus.Queue("orders", resource_group_name=within.name, namespace_name=space.name)


PROGRAMS = (
    set_on_a_schedule,
    spot_set,
    store_alone,
    cluster_with_gpus,
    compute_of_azure_ml,
    notebook_of_azure_ml,
    account_of_models,
    vault_and_key,
    registry_and_deployer,
    web_application,
)
