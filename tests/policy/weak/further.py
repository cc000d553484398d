"""Further weaknesses over the four providers, from the inputs in the providers' SDKs; written without sight of the rules.

Other products and spellings of the same classes as beside: guards that are none, what nothing ends, what is open to
everybody, secrets, purchases. `test_weaknesses.py` holds each type and input to the SDKs.
"""

# fmt: off
from __future__ import annotations

import json

from weak import aws_cases as a
from weak import azure_cases as z
from weak import gcp_cases as g
from weak import kubernetes_cases as k
from weak.rows import Row, Weakness, aws, azure, gcp, k8s, ref

EVERYBODY = {"Effect": "Allow", "Principal": "*"}
SSM = a.trust({"Service": "scheduler.amazonaws.com"})
BOX = aws("ec2/Instance", "box", ami="ami-1", instanceType="g6e.12xlarge", metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, rootBlockDevice={"encrypted": True})


def clock(action: str, instance: object, **more: object) -> list[Row]:
    target = {"arn": f"arn:aws:scheduler:::aws-sdk:ec2:{action}", "roleArn": ref("clock"), "input": instance}
    may = a.allow(["ec2:StartInstances", "ec2:StopInstances"], "arn:aws:ec2:us-east-1:123456789012:instance/*", Condition={"StringEquals": {"aws:ResourceTag/owner": "ml"}})
    return [
        aws("iam/Role", "clock", assumeRolePolicy=SSM), aws("iam/RolePolicy", "may", role=ref("clock"), policy=a.doc(may)),
        aws("scheduler/Schedule", "off", **{"scheduleExpression": "cron(0 20 * * ? *)", "flexibleTimeWindow": {"mode": "OFF"}, "target": target, **more}),
    ]


def task(*containers: dict[str, object]) -> Row:
    return aws("ecs/TaskDefinition", "t", family="t", containerDefinitions=json.dumps(list(containers)))


AWS = [
    Weakness("a stop that is switched off", (
        [BOX, *clock("stopInstances", ref("box"), state="DISABLED")],
        [BOX, *clock("stopInstances", ref("box"), endDate="2020-01-01T00:00:00Z")],
    ), [BOX, *clock("stopInstances", ref("box"))], "dev"),
    Weakness("a clock that starts, or stops another machine", (
        [BOX, *clock("startInstances", ref("box"))],
        [BOX, *clock("stopInstances", json.dumps({"InstanceIds": ["i-0123456789abcdef0"]}))],
    ), [BOX, *clock("stopInstances", ref("box"))], "dev"),
    Weakness("a group that does not do what its guard says", (
        [a.LT, a.group(suspendedProcesses=["Terminate"]), *a.NIGHT],
        [a.LT, a.group(suspendedProcesses=["ScheduledActions", "AlarmNotification"]), *a.NIGHT],
    ), a.GUARDED, "dev"),
    Weakness("machines that stand beside the group", (
        [a.LT, a.group(warmPool={"poolState": "Running", "minSize": 2}), *a.NIGHT],
        [a.LT, a.group(protectFromScaleIn=True), *a.NIGHT],
    ), a.GUARDED, "dev"),
    Weakness("a data service that the world reaches", (
        [aws("redshiftserverless/Workgroup", "w", namespaceName="n", workgroupName="w", publiclyAccessible=True)],
        [aws("dms/ReplicationInstance", "r", replicationInstanceClass="dms.r6i.large", replicationInstanceId="r", publiclyAccessible=True)],
    ), [aws("redshiftserverless/Workgroup", "w", namespaceName="n", workgroupName="w", publiclyAccessible=False)]),
    Weakness("a broker that the world reaches", (
        [aws("mq/Broker", "b", brokerName="b", engineType="RabbitMQ", engineVersion="3.13", hostInstanceType="mq.m5.large", users=[], publiclyAccessible=True)],
        [aws("msk/Cluster", "b", clusterName="b", kafkaVersion="3.8.x", numberOfBrokerNodes=3, brokerNodeGroupInfo={"instanceType": "kafka.m7g.large", "clientSubnets": ["s"], "securityGroups": ["g"], "connectivityInfo": {"publicAccess": {"type": "SERVICE_PROVIDED_EIPS"}}})],
    ), [aws("mq/Broker", "b", brokerName="b", engineType="RabbitMQ", engineVersion="3.13", hostInstanceType="mq.m5.large", users=[], publiclyAccessible=False)]),
    Weakness("a door of a bucket for everybody", (
        [aws("s3/AccessPoint", "p", bucket="team-data", policy=a.doc({**EVERYBODY, "Action": "s3:GetObject", "Resource": "*"}))],
        [aws("s3control/AccessPointPolicy", "p", accessPointArn="arn:aws:s3:us-east-1:123456789012:accesspoint/p", policy=a.doc({**EVERYBODY, "Action": ["s3:GetObject"], "Resource": "*"}))],
    ), [aws("s3/AccessPoint", "p", bucket="team-data", vpcConfiguration={"vpcId": "v"})]),
    Weakness("streams and backups for everybody", (
        [aws("kinesis/ResourcePolicy", "p", resourceArn="arn:aws:kinesis:us-east-1:123456789012:stream/s", policy=a.doc({**EVERYBODY, "Action": "kinesis:GetRecords", "Resource": "*"}))],
        [aws("backup/VaultPolicy", "p", backupVaultName="v", policy=a.doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "backup:CopyFromBackupVault", "Resource": "*"}))],
    ), [aws("kinesis/ResourcePolicy", "p", resourceArn="arn:aws:kinesis:us-east-1:123456789012:stream/s", policy=a.doc({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:role/reader"}, "Action": "kinesis:GetRecords", "Resource": "arn:aws:kinesis:us-east-1:123456789012:stream/s"}))]),
    Weakness("snapshots and layers for everybody", (
        [aws("rds/Snapshot", "s", dbInstanceIdentifier="d", dbSnapshotIdentifier="s", sharedAccounts=["all"])],
        [aws("lambda/LayerVersionPermission", "l", layerName="l", versionNumber=1, principal="*", action="lambda:GetLayerVersion", statementId="s")],
    ), [aws("rds/Snapshot", "s", dbInstanceIdentifier="d", dbSnapshotIdentifier="s")]),
    Weakness("keys that live for ever, of other services", (
        [aws("iam/ServiceSpecificCredential", "k", serviceName="bedrock.amazonaws.com", userName="bot")],
        [aws("lightsail/BucketAccessKey", "k", bucketName="b")],
    ), [a.role()]),
    Weakness("a term bought beside machines", (
        [aws("bedrock/ProvisionedModelThroughput", "p", modelArn="m", modelUnits=1, provisionedModelName="p", commitmentDuration="SixMonths")],
        [aws("rds/ReservedInstance", "p", offeringId="438012d3-4052-4cc7-b2e3-8d3372e0e706", instanceCount=2)],
    ), [a.role()]),
    Weakness("model units that nothing ends", (
        [aws("bedrock/ProvisionedModelThroughput", "p", modelArn="m", modelUnits=2, provisionedModelName="p")],
        [aws("appstream/Fleet", "f", name="f", instanceType="stream.graphics.g5.12xlarge", fleetType="ALWAYS_ON", computeCapacity={"desiredInstances": 2})],
    ), [a.role()], "dev"),
    Weakness("a training job that may run for a month", (
        [aws("sagemaker/TrainingJob", "j", trainingJobName="j", roleArn="r", resourceConfig={"instanceType": "ml.p5.48xlarge", "instanceCount": 2, "volumeSizeInGb": 100}, stoppingCondition={"maxRuntimeInSeconds": 2419200})],
        [aws("sagemaker/TrainingJob", "j", trainingJobName="j", roleArn="r", resourceConfig={"instanceType": "ml.g6e.12xlarge", "instanceCount": 1, "volumeSizeInGb": 100})],
    ), [a.role()], "dev"),
    Weakness("secrets in other texts", (
        [aws("ssm/Parameter", "p", type="String", name="/app/token", value="ghp_9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUoT1vR")],
        [aws("codebuild/Project", "p", name="p", serviceRole="r", artifacts={"type": "NO_ARTIFACTS"}, source={"type": "NO_SOURCE"}, environment={"computeType": "BUILD_GENERAL1_SMALL", "image": "i", "type": "LINUX_CONTAINER", "environmentVariables": [{"name": "DB_PASSWORD", "value": "tR7!xQ2pLm9Zk4Vb", "type": "PLAINTEXT"}]})],
    ), [aws("ssm/Parameter", "p", type="String", name="/app/log-level", value="info")]),
    Weakness("secrets in other containers", (
        [aws("apprunner/Service", "s", serviceName="s", sourceConfiguration={"autoDeploymentsEnabled": False, "imageRepository": {"imageIdentifier": "i", "imageRepositoryType": "ECR", "imageConfiguration": {"runtimeEnvironmentVariables": {"OPENAI_API_KEY": "sk-proj-9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUoT1vR5sLq"}}}})],
        [aws("batch/JobDefinition", "d", name="d", type="container", containerProperties=json.dumps({"image": "i", "environment": [{"name": "HF_TOKEN", "value": "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"}]}))],
    ), [a.role()]),
    Weakness("a shell for the world in another spelling", (
        [aws("ec2/ManagedPrefixList", "all", name="all", addressFamily="IPv4", maxEntries=1, entries=[{"cidr": "0.0.0.0/0"}]), aws("ec2/SecurityGroup", "web", description="web", ingress=[{"protocol": "tcp", "fromPort": 22, "toPort": 22, "prefixListIds": [ref("all")]}])],
        a.sg({"protocol": "tcp", "fromPort": 22, "toPort": 22, "ipv6CidrBlocks": ["2000::/3"]}),
    ), a.sg(a.rule(22, 22, "10.0.0.0/8"))),
    Weakness("any project of another forge", (
        [aws("iam/Role", "ci", assumeRolePolicy=a.trust({"Federated": "arn:aws:iam::123456789012:oidc-provider/gitlab.com"}, a.WEB, Condition={"StringLike": {"gitlab.com:sub": "project_path:*"}}))],
        [aws("iam/Role", "ci", assumeRolePolicy=a.trust({"Federated": "arn:aws:iam::123456789012:oidc-provider/app.terraform.io"}, a.WEB, Condition={"StringEquals": {"app.terraform.io:aud": "aws.workload.identity"}}))],
    ), [aws("iam/Role", "ci", assumeRolePolicy=a.trust({"Federated": "arn:aws:iam::123456789012:oidc-provider/gitlab.com"}, a.WEB, Condition={"StringEquals": {"gitlab.com:sub": "project_path:team/app:ref_type:branch:ref:main", "gitlab.com:aud": "https://gitlab.com"}}))]),
]

GOOGLE = [
    Weakness("a clock that is paused, or starts", (
        [g.ACCOUNT, g.GPU_VM, gcp("cloudscheduler/Job", "off", region="us-central1", schedule="0 20 * * *", timeZone="Etc/UTC", paused=True, httpTarget={"httpMethod": "POST", "uri": "https://compute.googleapis.com/compute/v1/projects/team/zones/us-central1-a/instances/vm/stop", "oauthToken": {"serviceAccountEmail": ref("sa")}})],
        [g.ACCOUNT, g.GPU_VM, gcp("cloudscheduler/Job", "on", region="us-central1", schedule="0 8 * * *", timeZone="Etc/UTC", httpTarget={"httpMethod": "POST", "uri": "https://compute.googleapis.com/compute/v1/projects/team/zones/us-central1-a/instances/vm/start", "oauthToken": {"serviceAccountEmail": ref("sa")}})],
    ), g.GOOD_VM, "dev"),
    Weakness("queues and gates for everybody", (
        [gcp("cloudtasks/QueueIamMember", "m", location="us-central1", name="q", role="roles/cloudtasks.enqueuer", member="allUsers")],
        [gcp("iap/WebIamMember", "m", project="team", role="roles/iap.httpsResourceAccessor", member="allAuthenticatedUsers")],
    ), [gcp("iap/WebIamMember", "m", project="team", role="roles/iap.httpsResourceAccessor", member=g.TEAM)]),
    Weakness("owner above the project", (
        [g.ACCOUNT, gcp("folder/IAMMember", "m", folder="folders/1", role="roles/owner", member=ref("sa"))],
        [g.ACCOUNT, gcp("organizations/IAMPolicy", "m", orgId="1", policyData=json.dumps({"bindings": [{"role": "roles/owner", "members": ["serviceAccount:worker@p.iam.gserviceaccount.com"]}]}))],
    ), [g.ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/monitoring.metricWriter", member=ref("sa"))]),
    Weakness("TPUs by other resources", (
        [gcp("tpu/V2QueuedResource", "t", zone="us-central1-a", tpu={"nodeSpecs": [{"parent": "projects/team/locations/us-central1-a", "nodeId": "n", "node": {"acceleratorType": "v5litepod-8", "runtimeVersion": "v2-alpha-tpuv5-lite"}}]})],
        [g.pool(nodeCount=2, nodeConfig={"machineType": "ct5lp-hightpu-4t", "serviceAccount": "w@p.iam.gserviceaccount.com", "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"], "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True}, "workloadMetadataConfig": {"mode": "GKE_METADATA"}})],
    ), g.GOOD_POOL, "dev"),
    Weakness("a place for models that is never empty", (
        [gcp("vertex/AiDeploymentResourcePool", "p", name="p", region="us-central1", dedicatedResources={"machineSpec": {"machineType": "g2-standard-48", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 4}, "minReplicaCount": 1, "maxReplicaCount": 4})],
        [gcp("vertex/AiPersistentResource", "p", location="us-central1", resourcePools=[{"machineSpec": {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}, "replicaCount": 2}])],
    ), g.GOOD_POOL, "dev"),
    Weakness("a notebook of the browser that stays", (
        [gcp("colab/RuntimeTemplate", "t", displayName="t", location="us-central1", machineSpec={"machineType": "g2-standard-48", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 4}, networkSpec={"enableInternetAccess": False}, idleShutdownConfig={"idleTimeout": "86400s"})],
        [gcp("colab/RuntimeTemplate", "t", displayName="t", location="us-central1", machineSpec={"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}, networkSpec={"enableInternetAccess": False}, idleShutdownConfig={"idleTimeout": "0s"})],
    ), [gcp("colab/RuntimeTemplate", "t", displayName="t", location="us-central1", machineSpec={"machineType": "g2-standard-48", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 4}, networkSpec={"enableInternetAccess": False}, idleShutdownConfig={"idleTimeout": "3600s"})], "dev"),
    Weakness("a shell for the world by a firewall's policy", (
        [gcp("compute/NetworkFirewallPolicyRule", "r", firewallPolicy="p", action="allow", direction="INGRESS", priority=100, match={"srcIpRanges": ["0.0.0.0/0"], "layer4Configs": [{"ipProtocol": "tcp", "ports": ["22"]}]})],
        [gcp("compute/FirewallPolicyRule", "r", firewallPolicy="p", action="allow", direction="INGRESS", priority=100, match={"srcIpRanges": ["0.0.0.0/1", "128.0.0.0/1"], "layer4Configs": [{"ipProtocol": "all"}]})],
    ), [gcp("compute/NetworkFirewallPolicyRule", "r", firewallPolicy="p", action="allow", direction="INGRESS", priority=100, match={"srcIpRanges": ["10.0.0.0/8"], "layer4Configs": [{"ipProtocol": "tcp", "ports": ["22"]}]})]),
    Weakness("any project of another forge", (
        [g.provider()[0], gcp("iam/WorkloadIdentityPoolProvider", "gl", workloadIdentityPoolId=ref("pool"), workloadIdentityPoolProviderId="gl", attributeMapping={"google.subject": "assertion.sub"}, oidc={"issuerUri": "https://gitlab.com"})],
        [g.provider()[0], gcp("iam/WorkloadIdentityPoolProvider", "tf", workloadIdentityPoolId=ref("pool"), workloadIdentityPoolProviderId="tf", attributeMapping={"google.subject": "assertion.sub"}, oidc={"issuerUri": "https://app.terraform.io"}, attributeCondition="assertion.sub != ''")],
    ), g.provider(attributeCondition="assertion.repository == 'team/app'")),
    Weakness("secrets in other texts", (
        [gcp("cloudfunctionsv2/Function", "f", location="us-central1", name="f", serviceConfig={"ingressSettings": "ALLOW_INTERNAL_ONLY", "serviceAccountEmail": "w@p.iam.gserviceaccount.com", "environmentVariables": {"DB_PASSWORD": "tR7!xQ2pLm9Zk4Vb"}})],
        [gcp("cloudbuild/Trigger", "t", location="us-central1", filename="cloudbuild.yaml", substitutions={"_TOKEN": "ghp_9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUoT1vR"})],
    ), [gcp("cloudbuild/Trigger", "t", location="us-central1", filename="cloudbuild.yaml", substitutions={"_REGION": "us-central1"})]),
    Weakness("terms of other kinds", (
        [gcp("bigquery/CapacityCommitment", "c", plan="ANNUAL", slotCount=500, location="us")],
        [gcp("compute/FutureReservation", "f", name="f", zone="us-central1-a", specificSkuProperties={"totalCount": "8", "instanceProperties": {"machineType": "a3-highgpu-8g"}}, timeWindow={"startTime": "2027-01-01T00:00:00Z", "endTime": "2027-02-01T00:00:00Z"}, planningStatus="SUBMITTED")],
    ), [g.ACCOUNT]),
    Weakness("a region's group of a fixed size", (
        [gcp("compute/RegionInstanceTemplate", "it", region="us-central1", machineType="g2-standard-48", disks=[{"sourceImage": "debian-12"}], networkInterfaces=[{"network": "n"}], serviceAccount={"email": "w@p.iam.gserviceaccount.com", "scopes": ["cloud-platform"]}, shieldedInstanceConfig={"enableSecureBoot": True}), gcp("compute/RegionInstanceGroupManager", "mig", region="us-central1", baseInstanceName="w", versions=[{"instanceTemplate": ref("it")}], targetSize=2)],
        [g.ACCOUNT, g.TEMPLATE, gcp("compute/InstanceFromTemplate", "vm", zone="us-central1-a", sourceInstanceTemplate=ref("it"))],
    ), g.GOOD_POOL, "dev"),
    Weakness("a database on the internet", (
        [gcp("alloydb/Instance", "i", cluster="c", instanceId="i", instanceType="PRIMARY", networkConfig={"enablePublicIp": True, "authorizedExternalNetworks": [{"cidrRange": "0.0.0.0/0"}]})],
        [gcp("alloydb/Instance", "i", cluster="c", instanceId="i", instanceType="PRIMARY", networkConfig={"enablePublicIp": True, "authorizedExternalNetworks": [{"cidrRange": "0.0.0.0/1"}, {"cidrRange": "128.0.0.0/1"}]})],
    ), [gcp("alloydb/Instance", "i", cluster="c", instanceId="i", instanceType="PRIMARY", networkConfig={"enablePublicIp": False})]),
]

AZURE = [
    Weakness("a fleet that is kept up", (
        [azure("azurefleet:Fleet", "f", **z.G, fleetName="f", vmSizesProfile=[{"name": "Standard_NC24ads_A100_v4"}], computeProfile={"baseVirtualMachineProfile": {}}, regularPriorityProfile={"capacity": 2})],
        [azure("azurefleet:Fleet", "f", **z.G, fleetName="f", vmSizesProfile=[{"name": "Standard_NC24ads_A100_v4"}, {"name": "Standard_NC48ads_A100_v4"}], computeProfile={"baseVirtualMachineProfile": {}}, spotPriorityProfile={"capacity": 4, "maintain": True})],
    ), z.GOOD_POOL, "dev"),
    Weakness("machines that stand by", (
        [azure("standbypool:StandbyVirtualMachinePool", "p", **z.G, standbyVirtualMachinePoolName="p", attachedVirtualMachineScaleSetId=ref("set"), elasticityProfile={"maxReadyCapacity": 4, "minReadyCapacity": 2}, virtualMachineState="Running"), *z.GOOD_SET],
        [azure("batch:Pool", "p", resourceGroupName="g", accountName="b", poolName="p", vmSize="Standard_NC24ads_A100_v4", scaleSettings={"fixedScale": {"targetDedicatedNodes": 2}})],
    ), z.GOOD_SET, "dev"),
    Weakness("a pool of Spark that stays", (
        [azure("synapse:BigDataPool", "p", **z.G, workspaceName="w", bigDataPoolName="p", nodeSizeFamily="HardwareAcceleratedGPU", nodeSize="Large", nodeCount=3, autoPause={"enabled": False})],
        [azure("synapse:BigDataPool", "p", **z.G, workspaceName="w", bigDataPoolName="p", nodeSizeFamily="HardwareAcceleratedGPU", nodeSize="XLarge", autoScale={"enabled": True, "minNodeCount": 3, "maxNodeCount": 9}, autoPause={"enabled": True, "delayInMinutes": 10080})],
    ), [azure("synapse:BigDataPool", "p", **z.G, workspaceName="w", bigDataPoolName="p", nodeSizeFamily="HardwareAcceleratedGPU", nodeSize="Large", nodeCount=3, autoPause={"enabled": True, "delayInMinutes": 15})], "dev"),
    Weakness("throughput that is billed by the hour", (
        [azure("cognitiveservices:Deployment", "d", resourceGroupName="g", accountName="ai", deploymentName="d", sku={"name": "ProvisionedManaged", "capacity": 100}, properties={"model": {"format": "OpenAI", "name": "gpt-4o", "version": "2024-11-20"}})],
        [azure("cognitiveservices:Deployment", "d", resourceGroupName="g", accountName="ai", deploymentName="d", sku={"name": "GlobalProvisionedManaged", "capacity": 50}, properties={"model": {"format": "OpenAI", "name": "gpt-4o", "version": "2024-11-20"}})],
    ), [azure("cognitiveservices:Deployment", "d", resourceGroupName="g", accountName="ai", deploymentName="d", sku={"name": "Standard", "capacity": 10}, properties={"model": {"format": "OpenAI", "name": "gpt-4o", "version": "2024-11-20"}})], "dev"),
    Weakness("a role of one's own that may do everything", (
        [azure("authorization:RoleDefinition", "r", roleName="all", scope=z.SUB, assignableScopes=[z.SUB], permissions=[{"actions": ["*"], "notActions": []}])],
        [azure("authorization:RoleDefinition", "r", roleName="all", scope=z.SUB, assignableScopes=[z.SUB], permissions=[{"actions": ["Microsoft.Authorization/*"], "notActions": []}])],
    ), [azure("authorization:RoleDefinition", "r", roleName="some", scope=z.SUB, assignableScopes=[z.SUB], permissions=[{"actions": ["Microsoft.Compute/virtualMachines/read"], "notActions": []}])]),
    Weakness("a shell for the world in another spelling", (
        [z.rule(sourceAddressPrefix="Internet", destinationPortRange="20-30")],
        [azure("network:NetworkSecurityGroup", "n", **z.G, networkSecurityGroupName="n", securityRules=[{"name": "s", "priority": 100, "direction": "Inbound", "access": "Allow", "protocol": "*", "sourcePortRange": "*", "destinationAddressPrefix": "*", "sourceAddressPrefixes": ["0.0.0.0/1", "128.0.0.0/1"], "destinationPortRanges": ["22", "443"]}])],
    ), [z.rule()]),
    Weakness("a data service open to every network", (
        [azure("synapse:IpFirewallRule", "f", resourceGroupName="g", workspaceName="w", ruleName="all", startIpAddress="0.0.0.0", endIpAddress="255.255.255.255")],
        [azure("sql:FirewallRule", "f", resourceGroupName="g", serverName="s", firewallRuleName="half", startIpAddress="0.0.0.0", endIpAddress="223.255.255.255")],
    ), [azure("sql:FirewallRule", "f", resourceGroupName="g", serverName="s", firewallRuleName="office", startIpAddress="198.51.100.7", endIpAddress="198.51.100.7")]),
]


def custom(kind: str, name: str, spec: dict[str, object]) -> Row:
    return k8s(kind, name, spec=spec)


ROLE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
INGRESS = {"rules": [{"host": "m.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "svc", "port": {"number": 80}}}}]}}]}
SERVICE = k8s("core/v1:Service", "svc", spec={"type": "ClusterIP", "selector": {"app": "m"}, "ports": [{"port": 80, "targetPort": 8000}]})


def asks(resource: str) -> dict[str, object]:
    return k.container(resources={"limits": {"memory": "8Gi", resource: "4"}, "requests": {"memory": "8Gi"}})


def scaled(**more: object) -> Row:
    return {**k.SCALED, "inputs": {**k.SCALED["inputs"], "spec": {**k.SCALED["inputs"]["spec"], **more}}}


KUBERNETES = [
    Weakness("servers of other operators that stay", (
        [custom("leaderworkerset.x-k8s.io/v1:LeaderWorkerSet", "l", {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": k.pod()}})],
        [custom("serving.kserve.io/v1beta1:InferenceService", "i", {"predictor": {"minReplicas": 1, "maxReplicas": 2, "model": {"modelFormat": {"name": "huggingface"}, "resources": {"limits": {"nvidia.com/gpu": "1"}}}}})],
    ), k.GOOD, "dev"),
    Weakness("accelerators of other makers", ([k.deployment(k.pod(asks("amd.com/gpu")))], [k.deployment(k.pod(asks("google.com/tpu")))]), k.GOOD, "dev"),
    Weakness("accelerators by a claim or a set of every node", (
        [k8s("apps/v1:DaemonSet", "d", spec={"selector": {"matchLabels": {"app": "m"}}, "template": k.pod()})],
        [k.deployment(k.pod(k.container(resources={"limits": {"memory": "8Gi"}, "requests": {"memory": "8Gi"}, "claims": [{"name": "gpu"}]}), resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}])),
         k8s("resource.k8s.io/v1:ResourceClaimTemplate", "one-gpu", spec={"spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}})],
    ), k.GOOD, "dev"),
    Weakness("Ray that stays after its work", (
        [custom("ray.io/v1:RayService", "r", {"rayClusterConfig": {"headGroupSpec": {"template": k.pod(k.PLAIN)}, "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "minReplicas": 2, "maxReplicas": 4, "template": k.pod()}]}})],
        [custom("ray.io/v1:RayJob", "r", {"entrypoint": "python t.py", "shutdownAfterJobFinishes": False, "rayClusterSpec": {"headGroupSpec": {"template": k.pod(k.PLAIN)}, "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "template": k.pod()}]}})],
    ), [custom("ray.io/v1:RayJob", "r", {"entrypoint": "python t.py", "shutdownAfterJobFinishes": True, "activeDeadlineSeconds": 36000, "backoffLimit": 0, "rayClusterSpec": {"headGroupSpec": {"template": k.pod(k.PLAIN)}, "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "minReplicas": 2, "maxReplicas": 2, "template": k.pod()}]}})], "dev"),
    Weakness("training of operators without a longest time", (
        [custom("kubeflow.org/v1:PyTorchJob", "p", {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": k.pod()}}})],
        [custom("jobset.x-k8s.io/v1alpha2:JobSet", "s", {"replicatedJobs": [{"name": "w", "replicas": 1, "template": {"spec": {"parallelism": 2, "completions": 2, "template": k.pod(restartPolicy="Never")}}}]})],
    ), [custom("kubeflow.org/v1:PyTorchJob", "p", {"runPolicy": {"activeDeadlineSeconds": 36000, "cleanPodPolicy": "All"}, "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": k.pod()}}})], "dev"),
    Weakness("a model server on the internet in another spelling", (
        [*k.GOOD, {**SERVICE, "inputs": {**SERVICE["inputs"], "spec": {**SERVICE["inputs"]["spec"], "type": "LoadBalancer", "loadBalancerSourceRanges": ["0.0.0.0/1", "128.0.0.0/1"]}}}],
        [*k.GOOD, SERVICE, {"type": "kubernetes:networking.k8s.io/v1:Ingress", "name": "i", "inputs": {"metadata": {"name": "i", "annotations": {"alb.ingress.kubernetes.io/scheme": "internet-facing"}}, "spec": {"ingressClassName": "alb", **INGRESS}}}],
    ), [*k.GOOD, SERVICE]),
    Weakness("a role that becomes somebody else", (
        [k.claims("ClusterRole", {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]})],
        [k.claims("ClusterRole", {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]})],
    ), [k.claims("Role", ROLE)]),
    Weakness("secrets in other texts", (
        [k.deployment(k.pod(k.container(args=["--api-key", "sk-proj-9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUoT1vR5sLq"]))), k.SCALED],
        [k8s("core/v1:Secret", "s", stringData={"password": "tR7!xQ2pLm9Zk4Vb"})],
    ), [k.claims("Role", ROLE)]),
    Weakness("a scaler that never sleeps", (
        [k.deployment(), scaled(cooldownPeriod=2592000)],
        [k.deployment(), scaled(triggers=[{"type": "cron", "metadata": {"timezone": "UTC", "start": "0 0 * * *", "end": "59 23 * * *", "desiredReplicas": "2"}}])],
    ), k.GOOD, "dev"),
]

CASES = {"aws": AWS, "gcp": GOOGLE, "azure": AZURE, "kubernetes": KUBERNETES}
