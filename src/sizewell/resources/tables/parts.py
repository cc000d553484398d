"""Types that configure what is billed elsewhere, by module: names only, as the providers spell them."""

from __future__ import annotations

import re
from typing import Final

_AWS: Final = {
    "bedrock": "AgentAgentActionGroup AgentAgentAlias AgentAgentCollaborator AgentAgentKnowledgeBaseAssociation "
    "AgentPrompt AgentcoreAgentRuntimeEndpoint AgentcoreApiKeyCredentialProvider AgentcoreBrowserProfile "
    "AgentcoreEvaluator AgentcoreGatewayRule AgentcoreGatewayTarget AgentcoreMemoryStrategy "
    "AgentcoreOauth2CredentialProvider AgentcoreOnlineEvaluationConfig AgentcorePolicy AgentcorePolicyEngine "
    "AgentcoreRegistry AgentcoreResourcePolicy AgentcoreTokenVaultCmk AgentcoreWorkloadIdentity GuardrailVersion "
    "UseCaseForModelAccess",
    "bedrockfoundation": "ModelAgreement",
    "bedrockmodel": "InvocationLoggingConfiguration",
    "autoscaling": "TrafficSourceAttachment",
    "batch": "SchedulingPolicy",
    "cloudwatch": "AlarmMuteRule EventBus EventBusPolicy EventConnection EventPermission LogAccountPolicy "
    "LogDataProtectionPolicy LogDelivery LogDeliveryDestination LogDeliverySource LogDestination LogIndexPolicy "
    "LogStream LogTransformer QueryDefinition",
    "ebs": "DefaultKmsKey EncryptionByDefault SnapshotBlockPublicAccess",
    "ec2": "AllowedImagesSettings AmiLaunchPermission DefaultCreditSpecification DefaultSubnet DefaultVpcDhcpOptions "
    "EipDomainName ImageBlockPublicAccess InternetGatewayAttachment MainRouteTableAssociation ManagedPrefixList "
    "ManagedPrefixListEntry NatGatewayEipAssociation NetworkAclAssociation NetworkInterfaceAttachment "
    "NetworkInterfaceSecurityGroupAttachment PeeringConnectionOptions SecurityGroupAssociation SerialConsoleAccess "
    "SnapshotCreateVolumePermission SpotDatafeedSubscription SubnetCidrReservation VpcBlockPublicAccessOptions "
    "VpcEndpointPolicy VpcEndpointSubnetAssociation VpcIpv6CidrBlockAssociation VpcPeeringConnectionAccepter",
    "ec2transitgateway": "Route RouteTable RouteTableAssociation RouteTablePropagation",
    "ecr": "AccountSetting PullThroughCacheRule RegistryPolicy ReplicationConfiguration RepositoryPolicy "
    "RepositoryCreationTemplate",
    "ecs": "AccountSettingDefault CapacityProvider ClusterCapacityProviders Tag",
    "efs": "ReplicationConfiguration",
    "eks": "IdentityProviderConfig",
    "emr": "BlockPublicAccessConfiguration ManagedScalingPolicy SecurityConfiguration Studio StudioSessionMapping",
    "fsx": "OntapStorageVirtualMachine OntapVolume OpenZfsVolume S3AccessPointAttachment",
    "lambda": "Alias CodeSigningConfig EventSourceMapping FunctionEventInvokeConfig FunctionRecursionConfig "
    "FunctionUrl Invocation LayerVersionPermission RuntimeManagementConfig",
    "lb": "ListenerCertificate TrustStore",
    "opensearch": "DomainPolicy DomainSamlOptions ServerlessAccessPolicy ServerlessLifecyclePolicy "
    "ServerlessSecurityConfig ServerlessSecurityPolicy ServerlessVpcEndpoint",
    "s3": "AccessPoint AnalyticsConfiguration BucketAccelerateConfiguration BucketCorsConfiguration BucketObject "
    "BucketObjectv2 BucketReplicationConfig BucketRequestPaymentConfiguration BucketWebsiteConfiguration "
    "FilesAccessPoint FilesFileSystemPolicy FilesMountTarget Inventory ObjectCopy VectorsIndex "
    "VectorsVectorBucketPolicy",
    "sagemaker": "Algorithm CodeRepository Device DeviceFleet FlowDefinition Hub HubContentReference HumanTaskUI "
    "Image ImageVersion ModelCard ModelCardExportJob ModelPackageGroupPolicy Project ServicecatalogPortfolioStatus "
    "Workforce Workteam",
}
_GCP: Final = {
    "artifactregistry": "ProjectConfig VpcscConfig",
    "cloudrun": "DomainMapping",
    "compute": "BackendBucket BackendServiceSignedUrlKey DiskAsyncReplication ExternalVpnGateway "
    "FirewallPolicyAssociation FirewallPolicyRule FirewallPolicyWithRules GlobalNetworkEndpoint "
    "GlobalNetworkEndpointGroup HttpHealthCheck HttpsHealthCheck InstanceGroup InstanceGroupMembership "
    "InstanceGroupNamedPort InstanceSettings ManagedSslCertificate NetworkEndpoint NetworkEndpointGroup "
    "NetworkEndpointList NetworkFirewallPolicyAssociation NetworkFirewallPolicyRule NetworkFirewallPolicyWithRules "
    "NetworkPeeringRoutesConfig NodeTemplate PerInstanceConfig PreviewFeature ProjectDefaultNetworkTier "
    "ProjectMetadataItem RegionBackendBucket RegionDiskResourcePolicyAttachment RegionHealthCheck "
    "RegionNetworkEndpointGroup RegionNetworkFirewallPolicy RegionNetworkFirewallPolicyAssociation "
    "RegionNetworkFirewallPolicyRule RegionPerInstanceConfig RegionResizeRequest RegionSslCertificate RegionSslPolicy "
    "RegionTargetHttpProxy RegionTargetHttpsProxy RegionTargetTcpProxy RegionUrlMap ResourcePolicyAttachment "
    "RouterInterface RouterNatAddress RouterPeer SSLCertificate SSLPolicy SecurityPolicyRule ServiceAttachment "
    "SharedVPCHostProject SharedVPCServiceProject SnapshotSettings TargetGrpcProxy TargetInstance TargetPool "
    "TargetSSLProxy TargetTCPProxy",
    "dataproc": "AutoscalingPolicy SessionTemplate WorkflowTemplate",
    "filestore": "Snapshot",
    "netapp": "ActiveDirectory BackupPolicy BackupVault HostGroup Kmsconfig VolumeQuotaRule VolumeSnapshot",
    "storage": "BucketAccessControl BucketObject DefaultObjectACL DefaultObjectAccessControl HmacKey ManagedFolder "
    "Notification ObjectACL ObjectAccessControl TransferAgentPool TransferJob",
    "vertex": "AiEvaluationMetric AiFeatureGroupFeature AiFeatureOnlineStoreFeatureview AiFeatureStoreEntityType "
    "AiFeatureStoreEntityTypeFeature AiModelGardenEnableModel AiTensorboardExperiment AiTensorboardRun",
}
_AZURE: Final = {
    "alertsmanagement": "PrometheusRuleGroup",
    "app": "Certificate ContainerAppsAuthConfig DaprComponent ManagedCertificate ManagedEnvironment "
    "ManagedEnvironmentsStorage",
    "applicationinsights": "Component Workbook",
    "batch": "Application ApplicationPackage BatchAccount",
    "cognitiveservices": "AccountCapabilityHost AccountConnection EncryptionScope OutboundRule "
    "PrivateEndpointConnection Project ProjectCapabilityHost ProjectConnection RaiBlocklist RaiBlocklistItem RaiPolicy",
    "compute": "DiskAccess Gallery GalleryApplication GalleryImage RestorePointCollection SshPublicKey "
    "VirtualMachineRunCommandByVirtualMachine VirtualMachineScaleSetVM VirtualMachineScaleSetVMExtension "
    "VirtualMachineScaleSetVMRunCommand",
    "containerservice": "AutoUpgradeProfile FleetMember FleetUpdateStrategy IdentityBinding ManagedNamespace "
    "MeshMembership Namespace PrivateEndpointConnection UpdateRun",
    "machinelearningservices": "BatchDeployment CodeContainer CodeVersion ComponentContainer ComponentVersion "
    "DataContainer DataVersion EnvironmentVersion FeaturesetContainerEntity FeaturesetVersion "
    "FeaturestoreEntityContainerEntity FeaturestoreEntityVersion LinkedService LinkedWorkspace "
    "ManagedNetworkSettingsRule MarketplaceSubscription ModelContainer ModelVersion OutboundRule "
    "PrivateEndpointConnection RaiPolicy RegistryCodeContainer RegistryCodeVersion RegistryComponentContainer "
    "RegistryComponentVersion RegistryDataContainer RegistryDataVersion RegistryEnvironmentContainer "
    "RegistryEnvironmentVersion RegistryModelContainer RegistryModelVersion Schedule WorkspaceConnection",
    "monitor": "DataCollectionEndpoint",
    "network": "ApplicationSecurityGroup FirewallPolicy FirewallPolicyRuleCollectionGroup InboundNatRule IpGroup "
    "LoadBalancerBackendAddressPool LocalNetworkGateway NetworkProfile NetworkSecurityPerimeter "
    "NetworkSecurityPerimeterAccessRule NetworkSecurityPerimeterAssociation NetworkSecurityPerimeterProfile "
    "NetworkWatcher PrivateLinkService ServiceEndpointPolicy VirtualNetworkGatewayConnection",
    "storage": "Blob BlobContainerLegalHold BlobInventoryPolicy EncryptionScope LocalUser ObjectReplicationPolicy "
    "PrivateEndpointConnection Queue StorageAccountStaticWebsite Table",
    "storagecache": "AutoExportJob AutoImportJob ImportJob StorageTarget",
}


def _tokens(cloud: str, modules: dict[str, str]) -> list[str]:
    return [
        f"{cloud}:{module}:{name}"
        if cloud == "azure-native"
        else f"{cloud}:{module}/{name[0].lower()}{name[1:]}:{name}"
        for module, names in modules.items()
        for name in names.split()
    ]


PARTS: Final = frozenset((*_tokens("aws", _AWS), *_tokens("gcp", _GCP), *_tokens("azure-native", _AZURE)))
_GCP_RIGHTS: Final = re.compile(r"^gcp:.*(Iam|IAM)(Binding|Member|Policy|AuditConfig)$")


def gives_rights(token: str) -> bool:
    """Whether a type grants or denies access to one resource of Google Cloud.

    >>> gives_rights("gcp:vertex/aiEndpointIamMember:AiEndpointIamMember"), gives_rights("gcp:vertex/aiIndex:AiIndex")
    (True, False)
    """
    return _GCP_RIGHTS.match(token) is not None
