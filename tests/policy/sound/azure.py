"""Azure: what careful teams run, from the provider's inputs and Microsoft's reference architectures, from memory."""

# fmt: off
from __future__ import annotations

from weak.rows import Row, azure, ref

from sound.programs import Program

SUB = "/subscriptions/00000000-0000-0000-0000-000000000001"
VNET = f"{SUB}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/main"
TAGS = {"owner": "ml-platform", "environment": "prod", "cost-center": "4711"}
IMAGE = {"id": f"{SUB}/resourceGroups/images/providers/Microsoft.Compute/galleries/acme/images/inference/versions/2026.11.1"}
BLOB_READER = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
G = {"resourceGroupName": ref("rg"), "location": "eastus"}
GROUP = azure("resources:ResourceGroup", "rg", resourceGroupName="ml", location="eastus", tags=TAGS)


def account(name: str, **more: object) -> Row:
    return azure("storage:StorageAccount", name, **G, accountName=f"acme{name}", kind="StorageV2", sku={"name": "Standard_ZRS"}, allowBlobPublicAccess=False, allowSharedKeyAccess=False, minimumTlsVersion="TLS1_2", enableHttpsTrafficOnly=True, networkRuleSet={"defaultAction": "Deny", "bypass": "AzureServices"}, publicNetworkAccess="Disabled", tags=TAGS, **more)


def kept(name: str) -> Row:
    return azure("storage:BlobServiceProperties", f"{name}-kept", resourceGroupName=ref("rg"), accountName=ref(name), blobServicesName="default", deleteRetentionPolicy={"enabled": True, "days": 30}, containerDeleteRetentionPolicy={"enabled": True, "days": 30}, isVersioningEnabled=True)


def managed_identity(name: str) -> Row:
    return azure("managedidentity:UserAssignedIdentity", name, **G, resourceName=name, tags=TAGS)


def reads(name: str, who: str, what: str) -> Row:
    return azure("authorization:RoleAssignment", name, principalId=ref(who), principalType="ServicePrincipal", roleDefinitionId=BLOB_READER, scope=ref(what))


def scale_set(name: str, size: str, count: int, **more: object) -> Row:
    stated = {
        **G, "vmScaleSetName": name, "sku": {"name": size, "capacity": count, "tier": "Standard"}, "orchestrationMode": "Uniform", "overprovision": False, "upgradePolicy": {"mode": "Rolling"}, "tags": TAGS,
        "identity": {"type": "UserAssigned", "userAssignedIdentities": [ref("worker")]}, "zones": ["1"],
        "virtualMachineProfile": {
            "osProfile": {"adminUsername": "ops", "computerNamePrefix": name, "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [{"path": "/home/ops/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ops"}]}}},
            "storageProfile": {"imageReference": IMAGE, "osDisk": {"createOption": "FromImage", "diskSizeGB": 200, "managedDisk": {"storageAccountType": "Premium_LRS"}}},
            "networkProfile": {"networkInterfaceConfigurations": [{"name": "nic", "primary": True, "networkSecurityGroup": {"id": ref("nsg")}, "ipConfigurations": [{"name": "ip", "subnet": {"id": f"{VNET}/subnets/serving"}}]}]},
            "securityProfile": {"encryptionAtHost": True, "securityType": "TrustedLaunch", "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True}},
            "extensionProfile": {"extensions": [{"name": "health", "publisher": "Microsoft.ManagedServices", "type": "ApplicationHealthLinux", "typeHandlerVersion": "1.0", "settings": {"protocol": "http", "port": 8000, "requestPath": "/health"}}]},
        },
    }
    return azure("compute:VirtualMachineScaleSet", name, **{**stated, **more})


def nsg(*ports: str) -> Row:
    return azure("network:NetworkSecurityGroup", "nsg", **G, networkSecurityGroupName="nsg", tags=TAGS, securityRules=[
        {"name": f"in-{port}", "priority": 100 + number, "direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*", "sourceAddressPrefix": "10.0.0.0/8", "destinationAddressPrefix": "*", "destinationPortRange": port}
        for number, port in enumerate(ports)
    ])


def cluster(name: str, **more: object) -> Row:
    stated = {
        **G, "resourceName": name, "dnsPrefix": name, "kubernetesVersion": "1.34", "disableLocalAccounts": True, "enableRBAC": True, "aadProfile": {"managed": True, "enableAzureRBAC": True}, "tags": TAGS,
        "apiServerAccessProfile": {"enablePrivateCluster": True}, "networkProfile": {"networkPlugin": "azure", "networkPluginMode": "overlay", "networkPolicy": "cilium", "networkDataplane": "cilium", "outboundType": "userDefinedRouting"},
        "oidcIssuerProfile": {"enabled": True}, "securityProfile": {"workloadIdentity": {"enabled": True}, "defender": {"securityMonitoring": {"enabled": True}}}, "sku": {"name": "Base", "tier": "Standard"},
        "identity": {"type": "SystemAssigned"}, "autoUpgradeProfile": {"upgradeChannel": "patch", "nodeOSUpgradeChannel": "NodeImage"}, "addonProfiles": {"omsagent": {"enabled": True}, "azurepolicy": {"enabled": True}},
        "agentPoolProfiles": [{"name": "system", "mode": "System", "vmSize": "Standard_D4ds_v5", "count": 2, "minCount": 2, "maxCount": 4, "enableAutoScaling": True, "type": "VirtualMachineScaleSets", "vnetSubnetID": f"{VNET}/subnets/nodes", "nodeTaints": ["CriticalAddonsOnly=true:NoSchedule"], "availabilityZones": ["1", "2", "3"]}],
    }
    return azure("containerservice:ManagedCluster", name, **{**stated, **more})


def agent_pool(name: str, of: str, size: str, minimum: int, maximum: int, **more: object) -> Row:
    return azure("containerservice:AgentPool", name, resourceGroupName=ref("rg"), resourceName=ref(of), agentPoolName=name, mode="User", vmSize=size, count=minimum, minCount=minimum, maxCount=maximum, enableAutoScaling=True, type="VirtualMachineScaleSets", nodeTaints=["sku=gpu:NoSchedule"], vnetSubnetID=f"{VNET}/subnets/gpu", osDiskSizeGB=200, enableEncryptionAtHost=True, tags=TAGS, **more)


def workspace(name: str) -> list[Row]:
    return [
        account("studio"), azure("keyvault:Vault", "vault", **G, vaultName="acme-vault", properties={"tenantId": "t", "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True, "enableSoftDelete": True, "enablePurgeProtection": True, "publicNetworkAccess": "Disabled", "networkAcls": {"defaultAction": "Deny", "bypass": "AzureServices"}}, tags=TAGS),
        azure("operationalinsights:Workspace", "logs", **G, workspaceName="logs", retentionInDays=30, sku={"name": "PerGB2018"}, tags=TAGS),
        azure("applicationinsights:Component", "insights", **G, resourceName="insights", kind="web", applicationType="web", ingestionMode="LogAnalytics", workspaceResourceId=ref("logs"), tags=TAGS),
        azure("machinelearningservices:Workspace", name, **G, workspaceName=name, identity={"type": "SystemAssigned"}, storageAccount=ref("studio"), keyVault=ref("vault"), applicationInsights=ref("insights"), publicNetworkAccess="Disabled", managedNetwork={"isolationMode": "AllowInternetOutbound"}, tags=TAGS),
    ]


SERVING = [
    Program("a language model on a scale set that follows its load", "serving", [
        GROUP, managed_identity("worker"), nsg("8000"), account("models"), kept("models"), reads("models-read", "worker", "models"), scale_set("serving", "Standard_NC24ads_A100_v4", 2),
        azure("insights:AutoscaleSetting", "by-load", **G, autoscaleSettingName="by-load", enabled=True, targetResourceUri=ref("serving"), tags=TAGS, profiles=[{"name": "load", "capacity": {"minimum": "1", "maximum": "6", "default": "2"}, "rules": [
            {"metricTrigger": {"metricName": "GpuUtilization", "metricNamespace": "Acme", "metricResourceUri": ref("serving"), "timeGrain": "PT1M", "statistic": "Average", "timeWindow": "PT10M", "timeAggregation": "Average", "operator": "GreaterThan", "threshold": 70}, "scaleAction": {"direction": "Increase", "type": "ChangeCount", "value": "1", "cooldown": "PT5M"}},
            {"metricTrigger": {"metricName": "GpuUtilization", "metricNamespace": "Acme", "metricResourceUri": ref("serving"), "timeGrain": "PT1M", "statistic": "Average", "timeWindow": "PT15M", "timeAggregation": "Average", "operator": "LessThan", "threshold": 25}, "scaleAction": {"direction": "Decrease", "type": "ChangeCount", "value": "1", "cooldown": "PT15M"}},
        ]}]),
    ]),
    Program("an AKS cluster with a GPU pool from zero", "serving", [
        GROUP, cluster("inference"), agent_pool("gpu", "inference", "Standard_NC40ads_H100_v5", 0, 6),
    ]),
    Program("a managed online endpoint of Azure ML", "serving", [
        GROUP, *workspace("ml"),
        azure("machinelearningservices:OnlineEndpoint", "ranker", **G, workspaceName=ref("ml"), endpointName="ranker", identity={"type": "SystemAssigned"}, onlineEndpointProperties={"authMode": "AADToken", "publicNetworkAccess": "Disabled", "traffic": {"blue": 100}}, tags=TAGS),
        azure("machinelearningservices:OnlineDeployment", "blue", **G, workspaceName=ref("ml"), endpointName=ref("ranker"), deploymentName="blue", sku={"name": "Default", "capacity": 1}, onlineDeploymentProperties={"endpointComputeType": "Managed", "instanceType": "Standard_NC24ads_A100_v4", "model": "azureml:ranker:7", "egressPublicNetworkAccess": "Disabled", "requestSettings": {"requestTimeout": "PT60S"}, "livenessProbe": {"period": "PT10S"}, "readinessProbe": {"period": "PT10S"}}, tags=TAGS),
        azure("insights:AutoscaleSetting", "ranker-scale", **G, autoscaleSettingName="ranker-scale", enabled=True, targetResourceUri=ref("blue"), tags=TAGS, profiles=[{"name": "load", "capacity": {"minimum": "1", "maximum": "3", "default": "1"}, "rules": [
            {"metricTrigger": {"metricName": "GpuUtilizationPercentage", "metricResourceUri": ref("blue"), "timeGrain": "PT1M", "statistic": "Average", "timeWindow": "PT5M", "timeAggregation": "Average", "operator": op, "threshold": limit}, "scaleAction": {"direction": direction, "type": "ChangeCount", "value": "1", "cooldown": "PT10M"}}
            for op, limit, direction in (("GreaterThan", 70, "Increase"), ("LessThan", 20, "Decrease"))
        ]}]),
    ]),
    Program("speech on Container Apps with a serverless GPU", "serving", [
        GROUP, managed_identity("worker"),
        azure("app:ManagedEnvironment", "apps", **G, environmentName="apps", vnetConfiguration={"internal": True, "infrastructureSubnetId": f"{VNET}/subnets/apps"}, workloadProfiles=[{"name": "Consumption", "workloadProfileType": "Consumption"}, {"name": "gpu", "workloadProfileType": "Consumption-GPU-NC8as-T4"}], tags=TAGS),
        azure("app:ContainerApp", "whisper", **G, containerAppName="whisper", managedEnvironmentId=ref("apps"), workloadProfileName="gpu", identity={"type": "UserAssigned", "userAssignedIdentities": [ref("worker")]}, tags=TAGS, configuration={"ingress": {"external": False, "targetPort": 9000, "transport": "auto"}, "registries": [{"server": "acme.azurecr.io", "identity": ref("worker")}]}, template={"scale": {"minReplicas": 0, "maxReplicas": 4, "rules": [{"name": "http", "http": {"metadata": {"concurrentRequests": "8"}}}]}, "containers": [{"name": "whisper", "image": "acme.azurecr.io/whisper@sha256:" + "a" * 64, "resources": {"cpu": 8, "memory": "56Gi"}}]}),
    ]),
]

SCHEDULED = [
    Program("a workstation with Azure's own shutdown", "scheduled", [
        GROUP, managed_identity("worker"), nsg("22"),
        azure("network:NetworkInterface", "nic", **G, networkInterfaceName="nic", networkSecurityGroup={"id": ref("nsg")}, ipConfigurations=[{"name": "ip", "subnet": {"id": f"{VNET}/subnets/dev"}, "privateIPAllocationMethod": "Dynamic"}], tags=TAGS),
        azure("compute:VirtualMachine", "desk", **G, vmName="desk", hardwareProfile={"vmSize": "Standard_NV36ads_A10_v5"}, identity={"type": "SystemAssigned"}, networkProfile={"networkInterfaces": [{"id": ref("nic")}]}, securityProfile={"encryptionAtHost": True, "securityType": "TrustedLaunch", "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True}}, osProfile={"adminUsername": "ada", "computerName": "desk", "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [{"path": "/home/ada/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ada"}]}}}, storageProfile={"imageReference": IMAGE, "osDisk": {"createOption": "FromImage", "deleteOption": "Delete", "managedDisk": {"storageAccountType": "Premium_LRS"}}}, tags={**TAGS, "environment": "dev"}),
        azure("devtestlab:GlobalSchedule", "off", **G, name="shutdown-computevm-desk", status="Enabled", taskType="ComputeVmShutdownTask", dailyRecurrence={"time": "1900"}, timeZoneId="GMT Standard Time", targetResourceId=ref("desk"), notificationSettings={"status": "Enabled", "timeInMinutes": 30, "emailRecipient": "ada@example.com"}, tags=TAGS),
    ], stack="dev"),
    Program("compute instances of Azure ML that stop when idle", "scheduled", [
        GROUP, *workspace("lab"),
        azure("machinelearningservices:Compute", "ada", **G, workspaceName=ref("lab"), computeName="ada", properties={"computeType": "ComputeInstance", "disableLocalAuth": True, "properties": {"vmSize": "Standard_NC4as_T4_v3", "idleTimeBeforeShutdown": "PT60M", "enableNodePublicIp": False, "subnet": {"id": f"{VNET}/subnets/dev"}, "sshSettings": {"sshPublicAccess": "Disabled"}, "schedules": {"computeStartStop": [{"action": "Stop", "triggerType": "Cron", "cron": {"expression": "0 19 * * *", "timeZone": "GMT Standard Time"}, "status": "Enabled"}]}}}, tags=TAGS),
        azure("machinelearningservices:Compute", "train", **G, workspaceName=ref("lab"), computeName="train", properties={"computeType": "AmlCompute", "disableLocalAuth": True, "properties": {"vmSize": "Standard_NC24ads_A100_v4", "vmPriority": "Dedicated", "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT10M"}, "enableNodePublicIp": False, "subnet": {"id": f"{VNET}/subnets/dev"}, "remoteLoginPortPublicAccess": "Disabled"}}, tags=TAGS),
    ], stack="dev"),
    Program("a scale set on weekdays from seven to eight", "scheduled", [
        GROUP, managed_identity("worker"), nsg("8000"), scale_set("review", "Standard_NC8as_T4_v3", 0),
        azure("insights:AutoscaleSetting", "hours", **G, autoscaleSettingName="hours", enabled=True, targetResourceUri=ref("review"), tags=TAGS, profiles=[
            {"name": "day", "capacity": {"minimum": "1", "maximum": "3", "default": "1"}, "rules": [], "recurrence": {"frequency": "Week", "schedule": {"timeZone": "W. Europe Standard Time", "days": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"], "hours": [7], "minutes": [0]}}},
            {"name": '{"name":"night","for":"day"}', "capacity": {"minimum": "0", "maximum": "0", "default": "0"}, "rules": [], "recurrence": {"frequency": "Week", "schedule": {"timeZone": "W. Europe Standard Time", "days": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"], "hours": [20], "minutes": [0]}}},
        ]),
    ], stack="dev"),
]

RESERVED = [
    Program("a reserved pair around the clock in a capacity group", "reserved", [
        GROUP, managed_identity("worker"), nsg("8000"),
        azure("compute:CapacityReservationGroup", "reserved", **G, capacityReservationGroupName="reserved", zones=["1"], tags=TAGS),
        azure("compute:CapacityReservation", "pair", **G, capacityReservationGroupName=ref("reserved"), capacityReservationName="pair", sku={"name": "Standard_ND96isr_H100_v5", "capacity": 2}, zones=["1"], tags={**TAGS, "expires": "2027-06-30"}),
        scale_set("base", "Standard_ND96isr_H100_v5", 2, virtualMachineProfile={
            "osProfile": {"adminUsername": "ops", "computerNamePrefix": "base", "linuxConfiguration": {"disablePasswordAuthentication": True}}, "storageProfile": {"imageReference": IMAGE, "osDisk": {"createOption": "FromImage"}},
            "networkProfile": {"networkInterfaceConfigurations": [{"name": "nic", "primary": True, "networkSecurityGroup": {"id": ref("nsg")}, "ipConfigurations": [{"name": "ip", "subnet": {"id": f"{VNET}/subnets/serving"}}]}]},
            "capacityReservation": {"capacityReservationGroup": {"id": ref("reserved")}}, "securityProfile": {"encryptionAtHost": True},
            "extensionProfile": {"extensions": [{"name": "health", "publisher": "Microsoft.ManagedServices", "type": "ApplicationHealthLinux", "typeHandlerVersion": "1.0", "settings": {"protocol": "http", "port": 8000, "requestPath": "/health"}}]},
        }),
    ]),
    Program("provisioned throughput of a model, reserved for the year", "reserved", [
        GROUP, managed_identity("worker"),
        azure("cognitiveservices:Account", "openai", **G, accountName="acme-openai", kind="OpenAI", sku={"name": "S0"}, identity={"type": "SystemAssigned"}, properties={"customSubDomainName": "acme-openai", "disableLocalAuth": True, "publicNetworkAccess": "Disabled", "networkAcls": {"defaultAction": "Deny"}}, tags=TAGS),
        azure("cognitiveservices:Deployment", "gpt", resourceGroupName=ref("rg"), accountName=ref("openai"), deploymentName="gpt", sku={"name": "ProvisionedManaged", "capacity": 50}, properties={"model": {"format": "OpenAI", "name": "gpt-4.1", "version": "2025-04-14"}}),
        azure("network:PrivateEndpoint", "openai-private", **G, privateEndpointName="openai", subnet={"id": f"{VNET}/subnets/private"}, privateLinkServiceConnections=[{"name": "openai", "privateLinkServiceId": ref("openai"), "groupIds": ["account"]}], tags=TAGS),
    ]),
]

WEB = [
    Program("a shop on App Service with a flexible server", "web", [
        GROUP,
        azure("web:AppServicePlan", "plan", **G, name="plan", kind="linux", reserved=True, sku={"name": "P1v3", "capacity": 2}, tags=TAGS),
        azure("web:WebApp", "shop", **G, name="acme-shop", serverFarmId=ref("plan"), httpsOnly=True, identity={"type": "SystemAssigned"}, virtualNetworkSubnetId=f"{VNET}/subnets/web", siteConfig={"linuxFxVersion": "PYTHON|3.13", "minTlsVersion": "1.2", "ftpsState": "Disabled", "http20Enabled": True, "alwaysOn": True, "healthCheckPath": "/healthz", "appSettings": [{"name": "DB_HOST", "value": "acme-db.postgres.database.azure.com"}, {"name": "DB_PASSWORD", "value": "@Microsoft.KeyVault(SecretUri=https://acme-vault.vault.azure.net/secrets/db-password/)"}]}, tags=TAGS),
        azure("dbforpostgresql:Server", "db", **G, serverName="acme-db", version="16", administratorLogin="ops", sku={"name": "Standard_D2ds_v5", "tier": "GeneralPurpose"}, storage={"storageSizeGB": 128, "autoGrow": "Enabled"}, backup={"backupRetentionDays": 14, "geoRedundantBackup": "Enabled"}, highAvailability={"mode": "ZoneRedundant"}, network={"delegatedSubnetResourceId": f"{VNET}/subnets/db", "privateDnsZoneArmResourceId": f"{SUB}/resourceGroups/net/providers/Microsoft.Network/privateDnsZones/acme.postgres.database.azure.com", "publicNetworkAccess": "Disabled"}, authConfig={"activeDirectoryAuth": "Enabled", "passwordAuth": "Disabled"}, tags=TAGS),
        azure("cdn:Profile", "front", resourceGroupName=ref("rg"), location="global", profileName="front", sku={"name": "Premium_AzureFrontDoor"}, tags=TAGS),
        azure("cdn:AFDEndpoint", "front-endpoint", resourceGroupName=ref("rg"), location="global", profileName=ref("front"), endpointName="shop", enabledState="Enabled", tags=TAGS),
    ]),
    Program("functions with Cosmos DB and Service Bus", "web", [
        GROUP, account("functions"),
        azure("web:AppServicePlan", "flex", **G, name="flex", kind="functionapp", reserved=True, sku={"name": "FC1", "tier": "FlexConsumption"}, tags=TAGS),
        azure("web:WebApp", "api", **G, name="acme-api", kind="functionapp,linux", serverFarmId=ref("flex"), httpsOnly=True, identity={"type": "SystemAssigned"}, siteConfig={"minTlsVersion": "1.2", "ftpsState": "Disabled"}, functionAppConfig={"runtime": {"name": "python", "version": "3.12"}, "scaleAndConcurrency": {"maximumInstanceCount": 40, "instanceMemoryMB": 2048}}, tags=TAGS),
        azure("cosmosdb:DatabaseAccount", "cosmos", **G, accountName="acme-cosmos", databaseAccountOfferType="Standard", kind="GlobalDocumentDB", disableLocalAuth=True, publicNetworkAccess="Disabled", minimalTlsVersion="Tls12", locations=[{"locationName": "eastus", "failoverPriority": 0}], capabilities=[{"name": "EnableServerless"}], backupPolicy={"type": "Continuous"}, tags=TAGS),
        azure("servicebus:Namespace", "bus", **G, namespaceName="acme-bus", sku={"name": "Premium", "tier": "Premium", "capacity": 1}, disableLocalAuth=True, minimumTlsVersion="1.2", publicNetworkAccess="Disabled", tags=TAGS),
    ]),
    Program("a content system behind an application gateway", "web", [
        GROUP, managed_identity("worker"), nsg("8080"),
        azure("network:PublicIPAddress", "front-ip", **G, publicIpAddressName="front", sku={"name": "Standard"}, publicIPAllocationMethod="Static", zones=["1", "2", "3"], tags=TAGS),
        azure("network:WebApplicationFirewallPolicy", "waf", **G, policyName="waf", policySettings={"mode": "Prevention", "state": "Enabled"}, managedRules={"managedRuleSets": [{"ruleSetType": "OWASP", "ruleSetVersion": "3.2"}]}, tags=TAGS),
        azure("network:ApplicationGateway", "gateway", **G, applicationGatewayName="gateway", sku={"name": "WAF_v2", "tier": "WAF_v2"}, autoscaleConfiguration={"minCapacity": 1, "maxCapacity": 5}, firewallPolicy={"id": ref("waf")}, frontendIPConfigurations=[{"name": "public", "publicIPAddress": {"id": ref("front-ip")}}], tags=TAGS),
        scale_set("cms", "Standard_D4ds_v5", 2), azure("cache:Redis", "cache", **G, name="acme-cache", sku={"name": "Premium", "family": "P", "capacity": 1}, enableNonSslPort=False, minimumTlsVersion="1.2", publicNetworkAccess="Disabled", disableAccessKeyAuthentication=True, redisConfiguration={"aadEnabled": "true"}, tags=TAGS),
    ]),
]

DATA = [
    Program("a lake with Databricks in the company's network", "data", [
        GROUP, account("lake", isHnsEnabled=True), kept("lake"),
        azure("databricks:Workspace", "spark", **G, workspaceName="spark", sku={"name": "premium"}, managedResourceGroupId=f"{SUB}/resourceGroups/spark-managed", publicNetworkAccess="Disabled", requiredNsgRules="NoAzureDatabricksRules", parameters={"enableNoPublicIp": {"value": True}, "customVirtualNetworkId": {"value": VNET}, "customPublicSubnetName": {"value": "spark-a"}, "customPrivateSubnetName": {"value": "spark-b"}}, tags=TAGS),
        azure("databricks:AccessConnector", "connector", **G, connectorName="connector", identity={"type": "SystemAssigned"}, tags=TAGS), reads("spark-reads", "connector", "lake"),
    ]),
    Program("a warehouse fed by Data Factory", "data", [
        GROUP, account("staging"),
        azure("datafactory:Factory", "factory", **G, factoryName="acme-factory", identity={"type": "SystemAssigned"}, publicNetworkAccess="Disabled", tags=TAGS),
        azure("sql:Server", "sql", **G, serverName="acme-sql", minimalTlsVersion="1.2", publicNetworkAccess="Disabled", administrators={"administratorType": "ActiveDirectory", "azureADOnlyAuthentication": True, "login": "data-admins", "sid": "s", "tenantId": "t", "principalType": "Group"}, tags=TAGS),
        azure("sql:Database", "warehouse", **G, serverName=ref("sql"), databaseName="warehouse", sku={"name": "GP_S_Gen5", "family": "Gen5", "capacity": 4}, autoPauseDelay=60, minCapacity=0.5, zoneRedundant=True, tags=TAGS),
        azure("network:PrivateEndpoint", "sql-private", **G, privateEndpointName="sql", subnet={"id": f"{VNET}/subnets/private"}, privateLinkServiceConnections=[{"name": "sql", "privateLinkServiceId": ref("sql"), "groupIds": ["sqlServer"]}], tags=TAGS),
    ]),
    Program("events through Event Hubs into Data Explorer", "data", [
        GROUP, account("capture"),
        azure("eventhub:Namespace", "events", **G, namespaceName="acme-events", sku={"name": "Standard", "tier": "Standard", "capacity": 2}, isAutoInflateEnabled=True, maximumThroughputUnits=8, disableLocalAuth=True, minimumTlsVersion="1.2", publicNetworkAccess="Disabled", tags=TAGS),
        azure("eventhub:EventHub", "clicks", resourceGroupName=ref("rg"), namespaceName=ref("events"), eventHubName="clicks", partitionCount=8, messageRetentionInDays=3),
        azure("kusto:Cluster", "explorer", **G, clusterName="acmeexplorer", sku={"name": "Standard_E4ads_v5", "tier": "Standard", "capacity": 2}, enableDiskEncryption=True, enableAutoStop=True, publicNetworkAccess="Disabled", optimizedAutoscale={"isEnabled": True, "minimum": 2, "maximum": 6, "version": 1}, tags=TAGS),
        azure("kusto:ReadWriteDatabase", "events-db", **G, clusterName=ref("explorer"), databaseName="events", kind="ReadWrite", softDeletePeriod="P365D", hotCachePeriod="P31D"),
    ]),
]

PROGRAMS = [*SERVING, *SCHEDULED, *RESERVED, *WEB, *DATA]
