"""Fifty-five programs of strangers more: forty with one weakness each, fifteen with none.

They were written before the rules were read, with the names of what `weak/`, `sound/` and `strangers.py` hold at hand,
so that products, spellings and purposes are other ones. Fields are from the providers' SDKs, what they do from memory
of the providers' guides.
"""

# fmt: off
from __future__ import annotations

import json

from sound.programs import Program
from strangers import NODE_ROLE, OWNER, G, may, trust
from weak import kubernetes_cases as k
from weak.rows import Row, aws, azure, gcp, k8s, ref

IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/m@sha256:" + "1" * 64
LINUX = {"computerName": "vm", "adminUsername": "ml", "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [{"path": "/home/ml/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAA"}]}}}
GKE_NODE = {"serviceAccount": ref("nodes"), "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"], "workloadMetadataConfig": {"mode": "GKE_METADATA"}, "shieldedInstanceConfig": {"enableSecureBoot": True}}
NODES = gcp("serviceaccount/Account", "nodes", accountId="nodes-robot")
GPU_LABELS = {"app": "m"}
CHART = {"chart": "vllm", "version": "0.8.1", "repositoryOpts": {"repo": "https://charts.example"}}
MASTER = {"instanceType": "m6i.xlarge"}


def task(**more: object) -> Row:
    container = {"name": "m", "image": IMAGE, "memory": 16384, "resourceRequirements": [{"type": "GPU", "value": "1"}], **more}
    return aws("ecs/TaskDefinition", "m", family="m", requiresCompatibilities=["EC2"], networkMode="awsvpc", containerDefinitions=json.dumps([container]))


def claims(name: str, *rules: dict[str, object]) -> Row:
    return k8s("rbac.authorization.k8s.io/v1:ClusterRole", name, rules=list(rules))


AWS: list[tuple[str, list[Row]]] = [
    ("a streaming fleet of graphics machines that is always on", [
        aws("appstream/Fleet", "cad", name="cad", instanceType="stream.graphics.g5.2xlarge", fleetType="ALWAYS_ON", computeCapacity={"desiredInstances": 6}, imageName="base", vpcConfig={"subnetIds": ["subnet-1"], "securityGroupIds": ["sg-1"]}, enableDefaultInternetAccess=False, maxUserDurationInSeconds=57600),
    ]),
    ("desks with a graphics card that never stop", [
        aws("workspaces/Workspace", "desk", directoryId="d-1", bundleId="wsb-1", userName="ada", rootVolumeEncryptionEnabled=True, userVolumeEncryptionEnabled=True, volumeEncryptionKey="alias/aws/workspaces", workspaceProperties={"computeTypeName": "GRAPHICSPRO_G4DN", "runningMode": "ALWAYS_ON"}),
    ]),
    ("a persistent request for a spot machine with four GPUs, in development", [
        aws("ec2/SpotInstanceRequest", "box", ami="ami-1", instanceType="g5.12xlarge", spotType="persistent", instanceInterruptionBehavior="stop", waitForFulfillment=True, metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, rootBlockDevice={"encrypted": True}, tags=OWNER),
    ]),
    ("a Beanstalk application that keeps three GPU machines", [
        aws("elasticbeanstalk/Application", "app", name="app"),
        aws("elasticbeanstalk/Environment", "app", application=ref("app"), solutionStackName="64bit Amazon Linux 2023 v4.4.0 running Docker", settings=[{"namespace": "aws:autoscaling:launchconfiguration", "name": "InstanceType", "value": "g5.2xlarge"}, {"namespace": "aws:autoscaling:asg", "name": "MinSize", "value": "3"}, {"namespace": "aws:autoscaling:asg", "name": "MaxSize", "value": "3"}]),
    ]),
    ("reserved GPU builders that wait for builds day and night", [
        aws("codebuild/Fleet", "gpu", name="gpu", baseCapacity=2, computeType="BUILD_GENERAL1_LARGE", environmentType="LINUX_GPU_CONTAINER", overflowBehavior="QUEUE"),
    ]),
    ("a service of ECS with two GPU tasks that nothing scales", [
        task(), aws("ecs/Cluster", "c", name="c", settings=[{"name": "containerInsights", "value": "enabled"}]),
        aws("ecs/Service", "m", name="m", cluster=ref("c"), taskDefinition=ref("m"), desiredCount=2, launchType="EC2", networkConfiguration={"subnets": ["subnet-1"], "securityGroups": ["sg-1"]}),
    ]),
    ("an account protected by a subscription of a year that a pull request buys", [
        aws("shield/Subscription", "shield", autoRenew="ENABLED"),
    ]),
    ("guests of an identity pool who may call the model", [
        aws("cognito/IdentityPool", "app", identityPoolName="app", allowUnauthenticatedIdentities=True),
        aws("iam/Role", "guest", assumeRolePolicy=json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Federated": "cognito-identity.amazonaws.com"}, "Action": "sts:AssumeRoleWithWebIdentity", "Condition": {"StringEquals": {"cognito-identity.amazonaws.com:aud": "us-east-1:1"}, "ForAnyValue:StringLike": {"cognito-identity.amazonaws.com:amr": "unauthenticated"}}}]})),
        aws("iam/RolePolicy", "guest", role=ref("guest"), policy=may("sagemaker:InvokeEndpoint", on="arn:aws:sagemaker:us-east-1:123456789012:endpoint/chat")),
        aws("cognito/IdentityPoolRoleAttachment", "app", identityPoolId=ref("app"), roles={"unauthenticated": ref("guest")}),
    ]),
    ("a cluster whose administrator is whoever builds in any repository", [
        aws("iam/Role", "ci", assumeRolePolicy=json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "sts:AssumeRole"}]})),
        aws("iam/UserGroupMembership", "m", user="bob", groups=["everybody"]),
        aws("iam/GroupPolicyAttachment", "all", group="everybody", policyArn="arn:aws:iam::aws:policy/AdministratorAccess"),
    ]),
    ("a token of the forge in a build's plain environment, and a password in a job of Glue", [
        aws("iam/Role", "b", assumeRolePolicy=trust("codebuild.amazonaws.com")),
        aws("codebuild/Project", "b", name="b", serviceRole=ref("b"), artifacts={"type": "NO_ARTIFACTS"}, source={"type": "GITHUB", "location": "https://git.example/team/app"}, environment={"type": "LINUX_CONTAINER", "computeType": "BUILD_GENERAL1_SMALL", "image": "aws/codebuild/amazonlinux-x86_64-standard:5.0", "environmentVariables": [{"name": "FORGE_TOKEN", "value": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "type": "PLAINTEXT"}]}),
    ]),
]

GCP: list[tuple[str, list[Row]]] = [
    ("desks of developers with a GPU that never stop", [
        gcp("serviceaccount/Account", "desk", accountId="desk-robot"),
        gcp("workstations/WorkstationConfig", "gpu", workstationClusterId="c", workstationConfigId="gpu", location="us-central1", idleTimeout="0s", runningTimeout="0s", host={"gceInstance": {"machineType": "g2-standard-24", "accelerators": [{"type": "nvidia-l4", "count": 2}], "poolSize": 0, "disablePublicIpAddresses": True, "serviceAccount": ref("desk"), "shieldedInstanceConfig": {"enableSecureBoot": True}}}),
    ]),
    ("desks with a GPU of which three always run ahead", [
        gcp("serviceaccount/Account", "desk", accountId="desk-robot"),
        gcp("workstations/WorkstationConfig", "gpu", workstationClusterId="c", workstationConfigId="gpu", location="us-central1", idleTimeout="1200s", runningTimeout="43200s", host={"gceInstance": {"machineType": "g2-standard-24", "accelerators": [{"type": "nvidia-l4", "count": 2}], "poolSize": 3, "disablePublicIpAddresses": True, "serviceAccount": ref("desk"), "shieldedInstanceConfig": {"enableSecureBoot": True}}}),
    ]),
    ("a model out of the garden that keeps two machines, in development", [
        gcp("vertex/AiEndpointWithModelGardenDeployment", "chat", location="us-central1", publisherModelName="publishers/google/models/gemma3@gemma-3-27b-it", deployConfig={"dedicatedResources": {"machineSpec": {"machineType": "a3-highgpu-2g", "acceleratorType": "NVIDIA_H100_80GB", "acceleratorCount": 2}, "minReplicaCount": 2, "maxReplicaCount": 2}}, endpointConfig={"dedicatedEndpointEnabled": True}),
    ]),
    ("a stream of Dataflow with a GPU per worker that never drains", [
        gcp("serviceaccount/Account", "flow", accountId="flow-robot"),
        gcp("dataflow/FlexTemplateJob", "frames", name="frames", region="us-central1", containerSpecGcsPath="gs://team/t.json", machineType="n1-standard-8", numWorkers=4, maxWorkers=4, ipConfiguration="WORKER_IP_PRIVATE", serviceAccountEmail=ref("flow"), enableStreamingEngine=True, additionalExperiments=["worker_accelerator=type:nvidia-tesla-t4;count:1;install-nvidia-driver"], onDelete="drain"),
    ]),
    ("a node of one's own for GPU machines that nobody gives back", [
        gcp("compute/NodeTemplate", "t", name="t", region="us-central1", nodeType="g2-node-96-384", accelerators=[{"acceleratorType": "nvidia-l4", "acceleratorCount": 8}]),
        gcp("compute/NodeGroup", "g", name="g", zone="us-central1-a", nodeTemplate=ref("t"), initialSize=2),
    ]),
    ("a key of an interface that anything may use", [
        gcp("projects/ApiKey", "key", name="key", displayName="maps and models", project="team"),
    ]),
    ("a web interface behind the identity proxy that lets everybody in", [
        gcp("iap/WebIamMember", "all", project="team", role="roles/iap.httpsResourceAccessor", member="allAuthenticatedUsers"),
    ]),
    ("a database of AlloyDB that answers the world", [
        gcp("alloydb/Instance", "db", cluster="c", instanceId="db", instanceType="PRIMARY", machineConfig={"cpuCount": 4}, networkConfig={"enablePublicIp": True, "authorizedExternalNetworks": [{"cidrRange": "0.0.0.0/0"}]}),
    ]),
    ("whoever builds has every right in the folder", [
        gcp("folder/IAMMember", "ci", folder="folders/1", role="roles/editor", member="serviceAccount:123@cloudbuild.gserviceaccount.com"),
    ]),
    ("a password of a database among a trigger's substitutions", [
        gcp("serviceaccount/Account", "b", accountId="b-robot"),
        gcp("cloudbuild/Trigger", "t", name="t", location="us-central1", serviceAccount=ref("b"), filename="cloudbuild.yaml", triggerTemplate={"branchName": "main", "repoName": "app"}, substitutions={"_DB_PASSWORD": "vR7qLz93XpT2mWk8", "_REGION": "us-central1"}),
    ]),
]

POOL = {"virtualMachineConfiguration": {"imageReference": {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}}
AZURE: list[tuple[str, list[Row]]] = [
    ("a pool of Batch whose formula always says two", [
        azure("batch:Pool", "gpu", resourceGroupName="research", accountName="b", poolName="gpu", vmSize="STANDARD_NC24ADS_A100_V4", deploymentConfiguration=POOL, scaleSettings={"autoScale": {"formula": "$TargetDedicatedNodes = 2;", "evaluationInterval": "PT5M"}}, networkConfiguration={"subnetId": "/subscriptions/0/s", "publicIPAddressConfiguration": {"provision": "NoPublicIPAddresses"}}),
    ]),
    ("a lab with a graphics card per student that nothing shuts down", [
        azure("labservices:Lab", "course", **G, labName="course", title="Vision", autoShutdownProfile={"shutdownOnDisconnect": "Disabled", "shutdownOnIdle": "None", "shutdownWhenNotConnected": "Disabled"}, connectionProfile={"clientSshAccess": "Public", "clientRdpAccess": "None", "webSshAccess": "None", "webRdpAccess": "None"}, securityProfile={"openAccess": "Disabled"}, virtualMachineProfile={"createOption": "TemplateVM", "imageReference": {"offer": "dsvm", "publisher": "microsoft-dsvm", "sku": "2204", "version": "latest"}, "sku": {"name": "Standard_NV12ads_A10_v5", "capacity": 20}, "usageQuota": "PT10H", "useSharedPassword": "Disabled", "adminUser": {"username": "student"}}),
    ]),
    ("a machine of a test lab with two A100s and no shutdown", [
        azure("devtestlab:VirtualMachine", "vm", **G, labName="lab", name="vm", size="Standard_NC48ads_A100_v4", isAuthenticationWithSshKey=True, userName="ml", sshKey="ssh-ed25519 AAAA", disallowPublicIpAddress=True, labSubnetName="s", labVirtualNetworkId="/subscriptions/0/n", galleryImageReference={"offer": "ubuntu-24_04-lts", "publisher": "canonical", "sku": "server", "osType": "Linux", "version": "latest"}),
    ]),
    ("containers with a V100 each that start again whenever they end", [
        azure("containerinstance:ContainerGroup", "train", **G, containerGroupName="train", osType="Linux", restartPolicy="Always", sku="Standard", subnetIds=[{"id": "/subscriptions/0/s"}], containers=[{"name": "t", "image": "team.azurecr.io/t@sha256:" + "1" * 64, "command": ["python", "train.py"], "resources": {"requests": {"cpu": 6, "memoryInGB": 56, "gpu": {"count": 1, "sku": "V100"}}}}]),
    ]),
    ("a place for container apps with an A100 machine that is never given back", [
        azure("app:ManagedEnvironment", "env", **G, environmentName="env", zoneRedundant=False, vnetConfiguration={"internal": True, "infrastructureSubnetId": "/subscriptions/0/s"}, workloadProfiles=[{"name": "gpu", "workloadProfileType": "NC24-A100", "minimumCount": 1, "maximumCount": 2}]),
    ]),
    ("a host of one's own for GPU machines", [
        azure("compute:DedicatedHost", "h", **G, hostGroupName="hg", hostName="h", sku={"name": "NVASv4-Type1"}, platformFaultDomain=0, autoReplaceOnFailure=True),
    ]),
    ("an analysis workspace that every address reaches", [
        azure("synapse:IpFirewallRule", "all", resourceGroupName="research", workspaceName="w", ruleName="all", startIpAddress="0.0.0.0", endIpAddress="255.255.255.255"),  # noqa: S104
    ]),
    ("another tenant that owns the subscription by delegation", [
        azure("managedservices:RegistrationDefinition", "partner", scope="subscriptions/0", properties={"managedByTenantId": "11111111-1111-1111-1111-111111111111", "registrationDefinitionName": "partner", "authorizations": [{"principalId": "22222222-2222-2222-2222-222222222222", "roleDefinitionId": "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9", "delegatedRoleDefinitionIds": ["8e3af657-a8ff-443c-a75c-2fe8c4bcb635"]}]}),
    ]),
    ("a password in an automation account's variable that is not encrypted", [
        azure("automation:Variable", "pw", resourceGroupName="research", automationAccountName="a", variableName="SqlPassword", name="SqlPassword", value='"vR7qLz93XpT2mWk8"', isEncrypted=False),
    ]),
    ("a run command whose script carries a storage key", [
        azure("compute:VirtualMachineRunCommandByVirtualMachine", "mount", **G, vmName="vm", runCommandName="mount", source={"script": "az storage blob download-batch --account-name team --account-key 'eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==' -s models -d /models"}),
    ]),
]

KUBERNETES: list[tuple[str, list[Row]]] = [
    ("a chart that serves a model with two GPUs whose replicas nothing scales", [
        k8s("helm.sh/v3:Release", "vllm", **CHART, values={"replicaCount": 2, "resources": {"limits": {"nvidia.com/gpu": 2}}, "autoscaling": {"enabled": False}, "service": {"type": "ClusterIP"}}),
    ]),
    ("a Kubeflow notebook with a GPU that nobody culls", [
        k8s("kubeflow.org/v1:Notebook", "ada", spec={"template": k.pod(k.container(name="ada", command=["jupyter", "lab", "--no-browser"]))}),
    ]),
    ("a job of Volcano with eight workers and no end", [
        k8s("batch.volcano.sh/v1alpha1:Job", "train", spec={"minAvailable": 8, "schedulerName": "volcano", "tasks": [{"name": "worker", "replicas": 8, "template": k.pod(restartPolicy="Never")}]}),
    ]),
    ("a clock that starts a GPU job every five minutes beside the last one", [
        k8s("batch/v1:CronJob", "score", spec={"schedule": "*/5 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"backoffLimit": 2, "template": k.pod(restartPolicy="Never")}}}),
    ]),
    ("a board of Ray's jobs on the internet", [
        k8s("ray.io/v1:RayCluster", "ray", spec={"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 300}, "headGroupSpec": {"serviceType": "LoadBalancer", "rayStartParams": {"dashboard-host": "0.0.0.0"}, "template": k.pod(k.PLAIN)}, "workerGroupSpecs": [{"groupName": "gpu", "replicas": 0, "minReplicas": 0, "maxReplicas": 4, "template": k.pod()}]}),  # noqa: S104
    ]),
    ("a notebook without a token behind a public balancer", [
        k8s("apps/v1:Deployment", "nb", spec={"replicas": 1, "selector": {"matchLabels": GPU_LABELS}, "template": k.pod(k.container(resources={"limits": {"memory": "8Gi"}, "requests": {"memory": "8Gi"}}, command=["jupyter", "lab", "--ip=0.0.0.0", "--ServerApp.token=''", "--ServerApp.password=''"]))}),
        k8s("core/v1:Service", "nb", spec={"type": "LoadBalancer", "selector": GPU_LABELS, "ports": [{"port": 80, "targetPort": 8888}]}),
    ]),
    ("a role that runs commands on every node", [claims("node-shell", {"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get", "create"]})]),
    ("a role that makes tokens of any account", [claims("tokens", {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]})]),
    ("a key of the cloud in a config map", [
        k8s("core/v1:ConfigMap", "env", data={"AWS_ACCESS_KEY_ID": "AKIAQ3EGRT5KLM7XWZ2P", "AWS_SECRET_ACCESS_KEY": "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", "REGION": "us-east-1"}),
    ]),
    ("nodes of Karpenter that answer any pod's question for their rights", [
        k.nodepool(),
        k8s("karpenter.k8s.aws/v1:EC2NodeClass", "gpu", spec={"amiSelectorTerms": [{"alias": "al2023@v20260101"}], "role": "node", "subnetSelectorTerms": [{"tags": {"team": "ml"}}], "securityGroupSelectorTerms": [{"tags": {"team": "ml"}}], "metadataOptions": {"httpEndpoint": "enabled", "httpTokens": "optional", "httpPutResponseHopLimit": 2}, "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "200Gi", "encrypted": True}}]}),
    ]),
]
BAD = [(cloud, name, rows) for cloud, programs in (("aws", AWS), ("gcp", GCP), ("azure", AZURE), ("kubernetes", KUBERNETES)) for name, rows in programs]

WEB_GROUP = aws("ec2/SecurityGroup", "web", description="web", ingress=[{"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["0.0.0.0/0"], "description": "the shop"}])
GOOD: list[tuple[str, Program]] = [
    ("aws", Program("a static site with a certificate behind a content network", "web", [
        aws("s3/Bucket", "site", bucket="team-site"),
        aws("s3/BucketPublicAccessBlock", "site", bucket=ref("site"), blockPublicAcls=True, blockPublicPolicy=True, ignorePublicAcls=True, restrictPublicBuckets=True),
        aws("cloudfront/OriginAccessControl", "oac", name="site", originAccessControlOriginType="s3", signingBehavior="always", signingProtocol="sigv4"),
        aws("cloudfront/Distribution", "cdn", enabled=True, defaultRootObject="index.html", origins=[{"originId": "s3", "domainName": ref("site"), "originAccessControlId": ref("oac")}], defaultCacheBehavior={"targetOriginId": "s3", "viewerProtocolPolicy": "redirect-to-https", "allowedMethods": ["GET", "HEAD"], "cachedMethods": ["GET", "HEAD"], "cachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}, restrictions={"geoRestriction": {"restrictionType": "none"}}, viewerCertificate={"acmCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/1", "sslSupportMethod": "sni-only", "minimumProtocolVersion": "TLSv1.2_2021"}),
        aws("s3/BucketPolicy", "site", bucket=ref("site"), policy=json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "cloudfront.amazonaws.com"}, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::team-site/*", "Condition": {"StringEquals": {"AWS:SourceArn": "arn:aws:cloudfront::123456789012:distribution/E1"}}}]})),
    ])),
    ("aws", Program("a site of App Runner that reads its password from the secrets manager", "web", [
        aws("iam/Role", "run", assumeRolePolicy=trust("tasks.apprunner.amazonaws.com")),
        aws("iam/RolePolicy", "run", role=ref("run"), policy=may("secretsmanager:GetSecretValue", on="arn:aws:secretsmanager:us-east-1:123456789012:secret:shop-db-AbCdEf")),
        aws("apprunner/Service", "shop", serviceName="shop", sourceConfiguration={"imageRepository": {"imageIdentifier": IMAGE, "imageRepositoryType": "ECR", "imageConfiguration": {"port": "8000", "runtimeEnvironmentVariables": {"LOG_LEVEL": "info", "DB_SECRET_NAME": "shop-db"}, "runtimeEnvironmentSecrets": {"DB_PASSWORD": "arn:aws:secretsmanager:us-east-1:123456789012:secret:shop-db-AbCdEf"}}}, "authenticationConfiguration": {"accessRoleArn": "arn:aws:iam::123456789012:role/pull"}}, instanceConfiguration={"cpu": "1024", "memory": "2048", "instanceRoleArn": ref("run")}),
    ])),
    ("aws", Program("a data platform of state machines, Glue and Lake Formation", "data", [
        aws("s3/Bucket", "lake", bucket="team-lake"),
        aws("s3/BucketPublicAccessBlock", "lake", bucket=ref("lake"), blockPublicAcls=True, blockPublicPolicy=True, ignorePublicAcls=True, restrictPublicBuckets=True),
        aws("iam/Role", "glue", assumeRolePolicy=trust("glue.amazonaws.com"), managedPolicyArns=["arn:aws:iam::aws:policy/service-role/AWSGlueServiceRole"]),
        aws("iam/RolePolicy", "glue", role=ref("glue"), policy=may("s3:GetObject", "s3:PutObject", on="arn:aws:s3:::team-lake/*")),
        aws("glue/CatalogDatabase", "sales", name="sales"),
        aws("glue/Job", "clean", name="clean", roleArn=ref("glue"), glueVersion="5.0", workerType="G.1X", numberOfWorkers=4, timeout=60, command={"scriptLocation": "s3://team-code/clean.py"}, defaultArguments={"--job-bookmark-option": "job-bookmark-enable", "--TempDir": "s3://team-code/tmp"}),
        aws("iam/Role", "flow", assumeRolePolicy=trust("states.amazonaws.com")),
        aws("iam/RolePolicy", "flow", role=ref("flow"), policy=may("glue:StartJobRun", "glue:GetJobRun", on="arn:aws:glue:us-east-1:123456789012:job/clean")),
        aws("sfn/StateMachine", "nightly", name="nightly", roleArn=ref("flow"), definition=json.dumps({"StartAt": "clean", "States": {"clean": {"Type": "Task", "Resource": "arn:aws:states:::glue:startJobRun.sync", "Parameters": {"JobName": "clean"}, "End": True}}})),
    ])),
    ("aws", Program("speech served by ECS on a GPU whose tasks follow their load", "serving", [
        NODE_ROLE, aws("iam/InstanceProfile", "node", role=ref("node")), task(),
        aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="g6.2xlarge", iamInstanceProfile={"arn": ref("node")}, metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100, "encrypted": "true"}}], updateDefaultVersion=True),
        aws("autoscaling/Group", "gpu", minSize=0, maxSize=4, vpcZoneIdentifiers=["subnet-1", "subnet-2"], launchTemplate={"id": ref("lt"), "version": "$Latest"}, protectFromScaleIn=False, tags=[{"key": "owner", "value": "research", "propagateAtLaunch": True}]),
        aws("ecs/Cluster", "c", name="c", settings=[{"name": "containerInsights", "value": "enabled"}]),
        aws("ecs/CapacityProvider", "cp", name="cp", autoScalingGroupProvider={"autoScalingGroupArn": ref("gpu"), "managedScaling": {"status": "ENABLED", "targetCapacity": 100}, "managedTerminationProtection": "DISABLED"}),
        aws("ecs/ClusterCapacityProviders", "ccp", clusterName=ref("c"), capacityProviders=[ref("cp")], defaultCapacityProviderStrategies=[{"capacityProvider": ref("cp"), "weight": 1}]),
        aws("ecs/Service", "speech", name="speech", cluster=ref("c"), taskDefinition=ref("m"), desiredCount=1, capacityProviderStrategies=[{"capacityProvider": ref("cp"), "weight": 1}], networkConfiguration={"subnets": ["subnet-1"], "securityGroups": ["sg-1"]}),
        aws("appautoscaling/Target", "t", minCapacity=1, maxCapacity=4, resourceId="service/c/speech", scalableDimension="ecs:service:DesiredCount", serviceNamespace="ecs"),
        aws("appautoscaling/Policy", "p", policyType="TargetTrackingScaling", serviceNamespace="ecs", scalableDimension="ecs:service:DesiredCount", resourceId="service/c/speech", targetTrackingScalingPolicyConfiguration={"targetValue": 60, "predefinedMetricSpecification": {"predefinedMetricType": "ECSServiceAverageCPUUtilization"}}),
    ])),
    ("gcp", Program("a magazine on App Engine with Firestore", "web", [
        gcp("appengine/Application", "app", project="team", locationId="us-central", databaseType="CLOUD_FIRESTORE"),
        gcp("serviceaccount/Account", "web", accountId="web-robot"),
        gcp("appengine/StandardAppVersion", "v1", service="default", versionId="v1", runtime="python312", serviceAccount=ref("web"), entrypoint={"shell": "gunicorn main:app"}, deployment={"zip": {"sourceUrl": "https://storage.googleapis.com/team-code/app.zip"}}, envVariables={"LOG_LEVEL": "info"}, automaticScaling={"maxConcurrentRequests": 20, "minIdleInstances": 0, "maxIdleInstances": 2}),
        gcp("projects/IAMMember", "web", project="team", role="roles/datastore.user", member="serviceAccount:web@team.iam.gserviceaccount.com"),
    ])),
    ("gcp", Program("a public site on Cloud Run that everybody may read", "web", [
        gcp("serviceaccount/Account", "web", accountId="web-robot"),
        gcp("cloudrunv2/Service", "web", name="web", location="us-central1", ingress="INGRESS_TRAFFIC_ALL", template={"serviceAccount": ref("web"), "scaling": {"minInstanceCount": 0, "maxInstanceCount": 20}, "containers": [{"image": "us-docker.pkg.dev/team/app/web@sha256:" + "1" * 64, "envs": [{"name": "DB_PASSWORD", "valueSource": {"secretKeyRef": {"secret": "db", "version": "latest"}}}]}]}),
        gcp("cloudrunv2/ServiceIamMember", "web", name=ref("web"), location="us-central1", role="roles/run.invoker", member="serviceAccount:front@team.iam.gserviceaccount.com"),
    ])),
    ("gcp", Program("a lake of events in Bigtable and BigQuery with a schema registry", "data", [
        gcp("bigtable/Instance", "events", name="events", clusters=[{"clusterId": "c", "zone": "us-central1-b", "storageType": "SSD", "autoscalingConfig": {"minNodes": 1, "maxNodes": 5, "cpuTarget": 50}, "kmsKeyName": "k"}], deletionProtection=True),
        gcp("pubsub/Schema", "event", name="event", type="AVRO", definition=json.dumps({"type": "record", "name": "Event", "fields": [{"name": "id", "type": "string"}]})),
        gcp("pubsub/Topic", "events", name="events", kmsKeyName="k", schemaSettings={"schema": ref("event"), "encoding": "JSON"}),
        gcp("bigquery/Dataset", "events", datasetId="events", location="US", defaultEncryptionConfiguration={"kmsKeyName": "k"}, deleteContentsOnDestroy=False),
        gcp("bigquery/Table", "events", datasetId=ref("events"), tableId="events", deletionProtection=True, timePartitioning={"type": "DAY"}, schema=json.dumps([{"name": "id", "type": "STRING"}])),
        gcp("pubsub/Subscription", "sink", name="sink", topic=ref("events"), bigqueryConfig={"table": ref("events"), "useTopicSchema": True}),
    ])),
    ("gcp", Program("pictures on a GKE pool of L4 machines, one to six by their load", "serving", [
        NODES,
        gcp("container/NodePool", "l4", cluster="c", location="us-central1", nodeLocations=["us-central1-a", "us-central1-b"], autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": 6, "locationPolicy": "ANY"}, management={"autoRepair": True, "autoUpgrade": True}, nodeConfig={**GKE_NODE, "machineType": "g2-standard-12", "guestAccelerators": [{"type": "nvidia-l4", "count": 1, "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}], "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]}),
    ])),
    ("azure", Program("a static web app with functions behind it", "web", [
        azure("web:StaticSite", "site", resourceGroupName="research", location="eastus2", name="site", sku={"name": "Standard", "tier": "Standard"}, identity={"type": "SystemAssigned"}, stagingEnvironmentPolicy="Enabled"),
        azure("keyvault:Vault", "kv", **G, vaultName="kv-site", properties={"tenantId": "11111111-1111-1111-1111-111111111111", "sku": {"family": "A", "name": "standard"}, "enableRbacAuthorization": True, "enablePurgeProtection": True, "publicNetworkAccess": "Disabled", "networkAcls": {"defaultAction": "Deny", "bypass": "AzureServices"}}),
        azure("web:AppServicePlan", "plan", **G, name="plan", sku={"name": "FC1", "tier": "FlexConsumption"}, reserved=True),
        azure("web:WebApp", "f", **G, name="f", kind="functionapp,linux", serverFarmId=ref("plan"), httpsOnly=True, identity={"type": "SystemAssigned"}, siteConfig={"minTlsVersion": "1.2", "appSettings": [{"name": "DB_PASSWORD", "value": "@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/db/)"}, {"name": "AzureWebJobsStorage__accountName", "value": "teamfunctions"}]}),
    ])),
    ("azure", Program("a data platform of Fabric capacity, a lake and a registry", "data", [
        azure("storage:StorageAccount", "lake", **G, accountName="teamlake", kind="StorageV2", sku={"name": "Standard_ZRS"}, isHnsEnabled=True, allowBlobPublicAccess=False, allowSharedKeyAccess=False, enableHttpsTrafficOnly=True, minimumTlsVersion="TLS1_2", publicNetworkAccess="Disabled", networkRuleSet={"defaultAction": "Deny", "bypass": "AzureServices"}),
        azure("storage:BlobContainer", "raw", resourceGroupName="research", accountName=ref("lake"), containerName="raw", publicAccess="None"),
        azure("eventhub:Namespace", "in", **G, namespaceName="in", sku={"name": "Standard", "tier": "Standard", "capacity": 2}, isAutoInflateEnabled=True, maximumThroughputUnits=6, disableLocalAuth=True, minimumTlsVersion="1.2", publicNetworkAccess="Disabled"),
        azure("containerregistry:Registry", "r", **G, registryName="teamr", sku={"name": "Premium"}, adminUserEnabled=False, publicNetworkAccess="Disabled"),
        azure("authorization:RoleAssignment", "read", scope=ref("lake"), roleAssignmentName="33333333-3333-3333-3333-333333333333", principalId="44444444-4444-4444-4444-444444444444", principalType="ServicePrincipal", roleDefinitionId="/subscriptions/0/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"),
    ])),
    ("azure", Program("rendering in a pool of Batch that follows its waiting tasks", "scheduled", [
        azure("batch:Pool", "gpu", resourceGroupName="research", accountName="b", poolName="gpu", vmSize="STANDARD_NV36ADS_A10_V5", deploymentConfiguration=POOL, identity={"type": "UserAssigned", "userAssignedIdentities": ["/subscriptions/0/i"]}, scaleSettings={"autoScale": {"formula": "$samples = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 15);\n$tasks = $samples < 70 ? max(0, $PendingTasks.GetSample(1)) : max($PendingTasks.GetSample(1), avg($PendingTasks.GetSample(TimeInterval_Minute * 15)));\n$TargetDedicatedNodes = max(0, min($tasks, 4));\n$NodeDeallocationOption = taskcompletion;", "evaluationInterval": "PT5M"}}, networkConfiguration={"subnetId": "/subscriptions/0/s", "publicIPAddressConfiguration": {"provision": "NoPublicIPAddresses"}}),
    ])),
    ("kubernetes", Program("a shop whose pages an ingress with a certificate answers", "web", [
        k8s("core/v1:Namespace", "shop"),
        k8s("apps/v1:Deployment", "shop", spec={"replicas": 3, "selector": {"matchLabels": {"app": "m"}}, "template": k.pod(k.container(resources={"limits": {"memory": "512Mi", "cpu": "1"}, "requests": {"memory": "512Mi", "cpu": "250m"}}, env=[{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}, {"name": "TOKEN_LIFETIME", "value": "3600"}]), tolerations=[])}),
        k8s("core/v1:Service", "shop", spec={"type": "ClusterIP", "selector": {"app": "m"}, "ports": [{"port": 80, "targetPort": 8000}]}),
        k8s("cert-manager.io/v1:Certificate", "shop", spec={"secretName": "shop-tls", "dnsNames": ["shop.example"], "issuerRef": {"name": "acme", "kind": "ClusterIssuer"}}),
        k8s("networking.k8s.io/v1:Ingress", "shop", spec={"ingressClassName": "nginx", "tls": [{"hosts": ["shop.example"], "secretName": "shop-tls"}], "rules": [{"host": "shop.example", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "shop", "port": {"number": 80}}}}]}}]}),
    ])),
    ("kubernetes", Program("Kafka, Flink and Postgres by their operators", "data", [
        k8s("kafka.strimzi.io/v1beta2:Kafka", "k", spec={"kafka": {"version": "4.0.0", "listeners": [{"name": "tls", "port": 9093, "type": "internal", "tls": True, "authentication": {"type": "tls"}}], "authorization": {"type": "simple"}}, "entityOperator": {"topicOperator": {}, "userOperator": {}}}),
        k8s("flink.apache.org/v1beta1:FlinkDeployment", "f", spec={"image": "registry.example/flink@sha256:" + "1" * 64, "flinkVersion": "v2_0", "serviceAccount": "flink", "jobManager": {"resource": {"memory": "2048m", "cpu": 1}}, "taskManager": {"resource": {"memory": "4096m", "cpu": 2}}, "job": {"jarURI": "local:///opt/job.jar", "parallelism": 4, "upgradeMode": "savepoint"}}),
        k8s("postgresql.cnpg.io/v1:Cluster", "db", spec={"instances": 3, "storage": {"size": "50Gi"}, "superuserSecret": {"name": "db"}}),
        k8s("rbac.authorization.k8s.io/v1:Role", "flink", rules=[{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}, {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}]),
    ])),
    ("kubernetes", Program("a job of Volcano that ends after a day", "scheduled", [
        k8s("batch.volcano.sh/v1alpha1:Job", "train", spec={"minAvailable": 4, "schedulerName": "volcano", "ttlSecondsAfterFinished": 600, "tasks": [{"name": "worker", "replicas": 4, "template": k.pod(restartPolicy="Never", activeDeadlineSeconds=86400)}]}),
    ], "dev")),
    ("kubernetes", Program("a Knative service of a model that falls to zero", "serving", [
        k8s("serving.knative.dev/v1:Service", "m", spec={"template": {"metadata": {"annotations": {"autoscaling.knative.dev/min-scale": "0", "autoscaling.knative.dev/max-scale": "4"}}, "spec": {"automountServiceAccountToken": False, "containers": [k.container()], "containerConcurrency": 8, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}}}),
    ])),
]
