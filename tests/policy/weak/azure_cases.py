"""Azure: weaknesses in the spellings that programs use; from the provider's inputs and Azure's guides, from memory."""

# fmt: off
from __future__ import annotations

import base64

from weak.rows import Row, Weakness, azure, ref

SUB = "/subscriptions/00000000-0000-0000-0000-000000000001"
OWNER = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
CONTRIBUTOR = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c"
ACCESS = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
READER = f"{SUB}/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
G = {"resourceGroupName": "g", "location": "eastus"}


def account(**more: object) -> Row:
    stated = {
        **G, "accountName": "team", "kind": "StorageV2", "sku": {"name": "Standard_ZRS"}, "allowBlobPublicAccess": False,
        "allowSharedKeyAccess": False, "minimumTlsVersion": "TLS1_2", "enableHttpsTrafficOnly": True,
        "networkRuleSet": {"defaultAction": "Deny"}, "publicNetworkAccess": "Disabled",
    }
    return azure("storage:StorageAccount", "a", **{**stated, **more})


def rule(**more: object) -> Row:
    stated = {"priority": 100, "direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*", "destinationAddressPrefix": "*", "sourceAddressPrefix": "10.0.0.0/8", "destinationPortRange": "22"}
    return azure("network:SecurityRule", "r", resourceGroupName="g", networkSecurityGroupName="n", **{**stated, **more})


def assignment(role: str, scope: str) -> Row:
    return azure("authorization:RoleAssignment", "ra", principalId="p", principalType="ServicePrincipal", roleDefinitionId=role, scope=scope)


def vm(**more: object) -> Row:
    stated = {
        **G, "vmName": "vm", "hardwareProfile": {"vmSize": "Standard_D4s_v5"}, "securityProfile": {"encryptionAtHost": True, "securityType": "TrustedLaunch"},
        "osProfile": {"adminUsername": "ops", "computerName": "vm", "linuxConfiguration": {"disablePasswordAuthentication": True}},
        "storageProfile": {"osDisk": {"createOption": "FromImage", "deleteOption": "Delete"}, "imageReference": {"publisher": "Canonical", "offer": "ubuntu", "sku": "s", "version": "24.04.202601010"}},
    }
    return azure("compute:VirtualMachine", "vm", **{**stated, **more})


def cluster(**more: object) -> Row:
    stated = {
        **G, "resourceName": "c", "dnsPrefix": "c", "disableLocalAccounts": True, "enableRBAC": True, "aadProfile": {"managed": True, "enableAzureRBAC": True},
        "apiServerAccessProfile": {"enablePrivateCluster": True}, "networkProfile": {"networkPolicy": "cilium", "networkPlugin": "azure", "networkDataplane": "cilium"},
        "oidcIssuerProfile": {"enabled": True}, "securityProfile": {"workloadIdentity": {"enabled": True}}, "sku": {"name": "Base", "tier": "Standard"},
        "identity": {"type": "SystemAssigned"}, "addonProfiles": {"omsagent": {"enabled": True}},
        "agentPoolProfiles": [{"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5"}],
    }
    return azure("containerservice:ManagedCluster", "c", **{**stated, **more})


def text(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


GH = "https://token.actions.githubusercontent.com"
AUD = ["api://AzureADTokenExchange"]


def federated(subject: str, **more: object) -> Row:
    return azure("managedidentity:FederatedIdentityCredential", "f", resourceGroupName="g", resourceName="i", **{"issuer": GH, "audiences": AUD, "subject": subject, **more})


SECURITY = [
    Weakness("blobs for everybody", (
        [account(allowBlobPublicAccess=True)],
        [account(), azure("storage:BlobContainer", "b", resourceGroupName="g", accountName=ref("a"), containerName="b", publicAccess="Blob")],
    ), [account(), azure("storage:BlobContainer", "b", resourceGroupName="g", accountName=ref("a"), containerName="b", publicAccess="None")]),
    Weakness("storage open to every network", (
        [account(networkRuleSet={"defaultAction": "Allow"}, publicNetworkAccess="Enabled", allowSharedKeyAccess=True)],
        [account(networkRuleSet=None, publicNetworkAccess=None, allowSharedKeyAccess=True)],
    ), [account()]),
    Weakness("storage without encryption on the way", ([account(enableHttpsTrafficOnly=False)], [account(minimumTlsVersion="TLS1_0")]), [account()]),
    Weakness("a shell for the world", (
        [rule(sourceAddressPrefix="*")],
        [azure("network:NetworkSecurityGroup", "n", **G, securityRules=[{"name": "r", "priority": 100, "direction": "Inbound", "access": "Allow", "protocol": "*", "sourcePortRange": "*", "sourceAddressPrefix": "Internet", "destinationAddressPrefix": "*", "destinationPortRange": "3389"}])],
    ), [rule()]),
    Weakness("the world in two halves", (
        [rule(sourceAddressPrefix=None, sourceAddressPrefixes=["0.0.0.0/1", "128.0.0.0/1"])],
        [rule(sourceAddressPrefix=None, sourceAddressPrefixes=["0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/1"], destinationPortRange=None, destinationPortRanges=["20-30"])],
    ), [rule()]),
    Weakness("every port for the world", ([rule(sourceAddressPrefix="0.0.0.0/0", destinationPortRange="*", protocol="*")], [rule(sourceAddressPrefix="Internet", destinationPortRange="0-65535")]), [rule()]),
    Weakness("owner of the subscription", ([assignment(OWNER, SUB)], [assignment(CONTRIBUTOR, SUB)]), [assignment(READER, f"{SUB}/resourceGroups/g")]),
    Weakness("whoever gives rights", ([assignment(ACCESS, f"{SUB}/resourceGroups/g")], [azure("authorization:RoleDefinition", "d", scope=SUB, roleName="all", permissions=[{"actions": ["*"], "notActions": []}], assignableScopes=[SUB])]), [assignment(READER, f"{SUB}/resourceGroups/g")]),
    Weakness("any branch of the forge", ([federated("repo:team/*")], [federated("repo:*:ref:refs/heads/main")]), [federated("repo:team/app:ref:refs/heads/main")]),
    Weakness("any pull request of the forge", ([federated("repo:team/app:pull_request")], [azure("managedidentity:FederatedIdentityCredential", "f", resourceGroupName="g", resourceName="i", issuer=GH, audiences=AUD, claimsMatchingExpression={"languageVersion": 1, "value": "claims['sub'] matches 'repo:*'"})]), [federated("repo:team/app:environment:prod")]),
    Weakness("a vault open to every network", (
        [azure("keyvault:Vault", "v", **G, vaultName="vault-1", properties={"tenantId": "t", "sku": {"family": "A", "name": "standard"}, "enablePurgeProtection": True, "enableSoftDelete": True, "enableRbacAuthorization": True, "publicNetworkAccess": "Enabled"})],
        [azure("keyvault:Vault", "v", **G, vaultName="vault-1", properties={"tenantId": "t", "sku": {"family": "A", "name": "standard"}, "enablePurgeProtection": True, "enableSoftDelete": True, "enableRbacAuthorization": True, "networkAcls": {"defaultAction": "Allow", "bypass": "AzureServices"}})],
    ), [azure("keyvault:Vault", "v", **G, vaultName="vault-1", properties={"tenantId": "t", "sku": {"family": "A", "name": "standard"}, "enablePurgeProtection": True, "enableSoftDelete": True, "softDeleteRetentionInDays": 90, "enableRbacAuthorization": True, "publicNetworkAccess": "Disabled", "networkAcls": {"defaultAction": "Deny", "bypass": "AzureServices"}})]),
    Weakness("a database that the world reaches", (
        [azure("sql:FirewallRule", "r", resourceGroupName="g", serverName="s", startIpAddress="0.0.0.0", endIpAddress="255.255.255.255")],
        [azure("dbforpostgresql:FirewallRule", "r", resourceGroupName="g", serverName="s", startIpAddress="0.0.0.0", endIpAddress="255.255.255.255")],
    ), [azure("sql:FirewallRule", "r", resourceGroupName="g", serverName="s", startIpAddress="203.0.113.7", endIpAddress="203.0.113.7")]),
    Weakness("a database on the internet", (
        [azure("documentdb:DatabaseAccount", "d", **G, accountName="d", databaseAccountOfferType="Standard", locations=[{"locationName": "eastus"}], publicNetworkAccess="Enabled")],
        [azure("cache:Redis", "d", **G, name="d", sku={"name": "Standard", "family": "C", "capacity": 1}, enableNonSslPort=True)],
    ), [azure("documentdb:DatabaseAccount", "d", **G, accountName="d", databaseAccountOfferType="Standard", locations=[{"locationName": "eastus"}], publicNetworkAccess="Disabled", disableLocalAuth=True)]),
    Weakness("a cluster's door for the world", (
        [cluster(apiServerAccessProfile=None)],
        [cluster(apiServerAccessProfile={"enablePrivateCluster": False, "authorizedIPRanges": ["0.0.0.0/0"]})],
    ), [cluster()]),
    Weakness("accounts of the cluster alone", ([cluster(disableLocalAccounts=False)], [cluster(disableLocalAccounts=None, aadProfile=None, enableRBAC=False)]), [cluster()]),
    Weakness("a password to log in with", (
        [vm(osProfile={"adminUsername": "ops", "adminPassword": "tR7!xQ2pLm9Zk4Vb", "computerName": "vm"})],
        [vm(osProfile={"adminUsername": "ops", "computerName": "vm", "linuxConfiguration": {"disablePasswordAuthentication": False}})],
    ), [vm()]),
    Weakness("a secret in a script", (
        [vm(osProfile={"adminUsername": "ops", "computerName": "vm", "linuxConfiguration": {"disablePasswordAuthentication": True}, "customData": text("export HF_TOKEN=hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789")})],
        [azure("compute:VirtualMachineExtension", "x", **G, vmName="vm", publisher="Microsoft.Azure.Extensions", type="CustomScript", settings={"commandToExecute": "curl -H 'Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U' https://x"})],
    ), [vm()]),
    Weakness("a secret in an environment", (
        [azure("containerinstance:ContainerGroup", "g", **G, osType="Linux", containers=[{"name": "a", "image": "a@sha256:1", "resources": {"requests": {"cpu": 1, "memoryInGB": 1}}, "environmentVariables": [{"name": "DB_PASSWORD", "value": "tR7!xQ2pLm9Zk4Vb"}]}])],
        [azure("web:WebApp", "w", **G, siteConfig={"appSettings": [{"name": "STORAGE", "value": "DefaultEndpointsProtocol=https;AccountName=team;AccountKey=9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUo9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUoT1vR5sLqAB==;EndpointSuffix=core.windows.net"}]})],
    ), [azure("containerinstance:ContainerGroup", "g", **G, osType="Linux", containers=[{"name": "a", "image": "a@sha256:1", "resources": {"requests": {"cpu": 1, "memoryInGB": 1}}, "environmentVariables": [{"name": "MODE", "value": "batch"}]}])]),
    Weakness("images for everybody", (
        [azure("containerregistry:Registry", "r", **G, registryName="registry1", sku={"name": "Premium"}, adminUserEnabled=False, anonymousPullEnabled=True)],
        [azure("containerregistry:Registry", "r", **G, registryName="registry1", sku={"name": "Premium"}, adminUserEnabled=True)],
    ), [azure("containerregistry:Registry", "r", **G, registryName="registry1", sku={"name": "Premium"}, adminUserEnabled=False, publicNetworkAccess="Disabled")]),
    Weakness("a model on the internet", (
        [azure("containerinstance:ContainerGroup", "g", **G, osType="Linux", ipAddress={"type": "Public", "ports": [{"port": 8000}]}, containers=[{"name": "a", "image": "a@sha256:1", "resources": {"requests": {"cpu": 1, "memoryInGB": 1}}}])],
        [azure("machinelearningservices:OnlineEndpoint", "e", **G, workspaceName="w", endpointName="e", onlineEndpointProperties={"authMode": "Key", "publicNetworkAccess": "Enabled"})],
    ), [azure("machinelearningservices:OnlineEndpoint", "e", **G, workspaceName="w", endpointName="e", onlineEndpointProperties={"authMode": "AADToken", "publicNetworkAccess": "Disabled"})]),
    Weakness("a term bought by a pull request", (
        [azure("billingbenefits:SavingsPlanOrderAlias", "p", savingsPlanOrderAliasName="p", term="P3Y", billingScopeId=SUB, commitment={"amount": 10, "currencyCode": "USD", "grain": "Hourly"}, sku={"name": "Compute_Savings_Plan"})],
        [azure("billingbenefits:ReservationOrderAlias", "p", reservationOrderAliasName="p", term="P1Y", quantity=2, billingScopeId=SUB, sku={"name": "Standard_ND96isr_H100_v5"}, reservedResourceType="VirtualMachines")],
    ), [account()]),
    Weakness("capacity held without an end", (
        [azure("compute:CapacityReservation", "r", **G, capacityReservationGroupName="g", sku={"name": "Standard_NC24ads_A100_v4", "capacity": 2})],
        [azure("compute:CapacityReservationGroup", "g", **G), azure("compute:CapacityReservation", "r", **G, capacityReservationGroupName=ref("g"), sku={"name": "Standard_ND96isr_H100_v5", "capacity": 1}, zones=["1"])],
    ), [account()]),
]

GPU = vm(hardwareProfile={"vmSize": "Standard_NC24ads_A100_v4"})


def shutdown(**more: object) -> Row:
    stated = {**G, "name": "shutdown-computevm-vm", "status": "Enabled", "taskType": "ComputeVmShutdownTask", "dailyRecurrence": {"time": "1900"}, "timeZoneId": "UTC", "targetResourceId": ref("vm")}
    return azure("devtestlab:GlobalSchedule", "off", **{**stated, **more})


SET = azure("compute:VirtualMachineScaleSet", "set", **G, vmScaleSetName="set", orchestrationMode="Flexible", sku={"name": "Standard_NC24ads_A100_v4", "capacity": 1}, virtualMachineProfile={"securityProfile": {"encryptionAtHost": True}, "osProfile": {"linuxConfiguration": {"disablePasswordAuthentication": True}}, "storageProfile": {"osDisk": {"createOption": "FromImage", "deleteOption": "Delete"}, "imageReference": {"publisher": "Canonical", "offer": "u", "sku": "s", "version": "24.04.202601010"}}})
CPU = {"metricName": "Percentage CPU", "metricResourceUri": ref("set"), "operator": "LessThan", "threshold": 5, "timeAggregation": "Average", "statistic": "Average", "timeGrain": "PT1M", "timeWindow": "PT30M"}


def autoscale(low: str, direction: str, profile: dict[str, object] | None = None, **more: object) -> Row:
    action = {"direction": direction, "type": "ChangeCount", "value": "1", "cooldown": "PT5M"}
    first = {"name": "p", "capacity": {"minimum": low, "maximum": "4", "default": low}, "rules": [{"metricTrigger": CPU, "scaleAction": action}]}
    return azure("monitor:AutoscaleSetting", "as", **{**G, "enabled": True, "targetResourceUri": ref("set"), "profiles": [first, *([profile] if profile else [])], **more})


NIGHT = {"name": "night", "capacity": {"minimum": "0", "maximum": "0", "default": "0"}, "rules": [], "recurrence": {"frequency": "Week", "schedule": {"days": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"], "hours": [19], "minutes": [0], "timeZone": "UTC"}}}
GOOD_SET = [SET, autoscale("0", "Decrease", NIGHT)]


def pool(**more: object) -> Row:
    return azure("containerservice:AgentPool", "gpu", resourceGroupName="g", resourceName="c", agentPoolName="gpu", **{"vmSize": "Standard_NC24ads_A100_v4", "nodeTaints": ["sku=gpu:NoSchedule"], **more})


GOOD_POOL = [pool(enableAutoScaling=True, minCount=0, maxCount=2, count=0)]


def compute(**properties: object) -> Row:
    return azure("machinelearningservices:Compute", "ml", **G, workspaceName="w", computeName="ml", properties=properties)


GOOD_COMPUTE = [compute(computeType="AmlCompute", disableLocalAuth=True, properties={"vmSize": "Standard_NC24ads_A100_v4", "vmPriority": "Dedicated", "enableNodePublicIp": False, "remoteLoginPortPublicAccess": "Disabled", "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 2, "nodeIdleTimeBeforeScaleDown": "PT15M"}})]

SPEND = [
    Weakness("a machine that nobody stops", ([GPU], [GPU, shutdown(status="Disabled")]), [GPU, shutdown()], "dev"),
    Weakness("a stop of another machine", ([GPU, shutdown(targetResourceId=f"{SUB}/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/other")], [GPU, {**GPU, "name": "b", "inputs": {**GPU["inputs"], "vmName": "b"}}, shutdown()]), [GPU, shutdown()], "dev"),
    Weakness("a stop that is none", ([GPU, shutdown(taskType="LabVmsStartupTask")], [GPU, shutdown(dailyRecurrence=None, weeklyRecurrence={"time": "1900", "weekdays": []})]), [GPU, shutdown()], "dev"),
    Weakness("a set of a fixed size", ([{**SET, "inputs": {**SET["inputs"], "sku": {"name": "Standard_NC24ads_A100_v4", "capacity": 2}}}], [SET, autoscale("2", "Decrease")]), GOOD_SET, "dev"),
    Weakness("a set that only grows", ([SET, autoscale("1", "Increase")], [SET, autoscale("0", "Increase")]), GOOD_SET, "dev"),
    Weakness("a scaler that is off", ([SET, autoscale("0", "Decrease", NIGHT, enabled=False)], [SET, autoscale("0", "Decrease", NIGHT, targetResourceUri=f"{SUB}/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/other")]), GOOD_SET, "dev"),
    Weakness("a pool of a fixed size", ([pool(count=2)], [pool(enableAutoScaling=True, minCount=1, maxCount=4, count=1)]), GOOD_POOL, "dev"),
    Weakness("a pool inside the cluster", (
        [cluster(agentPoolProfiles=[{"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5"}, {"name": "gpu", "mode": "User", "count": 2, "vmSize": "Standard_NC24ads_A100_v4"}])],
        [pool(type="VirtualMachines", vmSize=None, virtualMachinesProfile={"scale": {"manual": [{"size": "Standard_NC24ads_A100_v4", "count": 2}]}})],
    ), GOOD_POOL, "dev"),
    Weakness("computers of the ML service that stay", (
        [compute(computeType="ComputeInstance", disableLocalAuth=True, properties={"vmSize": "Standard_NC24ads_A100_v4", "enableNodePublicIp": False})],
        [compute(computeType="ComputeInstance", disableLocalAuth=True, properties={"vmSize": "Standard_NC24ads_A100_v4", "enableNodePublicIp": False, "idleTimeBeforeShutdown": "P30D"})],
    ), GOOD_COMPUTE, "dev"),
    Weakness("a cluster of the ML service that stays", (
        [compute(computeType="AmlCompute", disableLocalAuth=True, properties={"vmSize": "Standard_NC24ads_A100_v4", "enableNodePublicIp": False, "scaleSettings": {"minNodeCount": 1, "maxNodeCount": 2, "nodeIdleTimeBeforeScaleDown": "PT15M"}})],
        [compute(computeType="AmlCompute", disableLocalAuth=True, properties={"vmSize": "Standard_NC24ads_A100_v4", "enableNodePublicIp": False, "scaleSettings": {"minNodeCount": 0, "maxNodeCount": 2, "nodeIdleTimeBeforeScaleDown": "P30D"}})],
    ), GOOD_COMPUTE, "dev"),
    Weakness("an endpoint of the ML service that stays", (
        [azure("machinelearningservices:OnlineDeployment", "d", **G, workspaceName="w", endpointName="e", deploymentName="d", sku={"name": "Default", "capacity": 2}, onlineDeploymentProperties={"endpointComputeType": "Managed", "instanceType": "Standard_NC24ads_A100_v4", "scaleSettings": {"scaleType": "Default"}})],
        [azure("machinelearningservices:OnlineDeployment", "d", **G, workspaceName="w", endpointName="e", deploymentName="d", sku={"name": "Default", "capacity": 1}, onlineDeploymentProperties={"endpointComputeType": "Managed", "instanceType": "Standard_ND96isr_H100_v5"})],
    ), GOOD_COMPUTE, "dev"),
    Weakness("container apps that keep accelerators", (
        [azure("app:ContainerApp", "a", **G, workloadProfileName="gpu", configuration={"ingress": {"external": False, "targetPort": 80}}, template={"scale": {"minReplicas": 1, "maxReplicas": 2}, "containers": [{"name": "a", "image": "a@sha256:1", "resources": {"gpu": 1, "cpu": 8, "memory": "56Gi"}}]})],
        [azure("app:ManagedEnvironment", "e", **G, workloadProfiles=[{"name": "gpu", "workloadProfileType": "NC24-A100", "minimumCount": 1, "maximumCount": 2}])],
    ), GOOD_COMPUTE, "dev"),
]

WEAKNESSES = [*SECURITY, *SPEND]
