"""Twenty programs of strangers, ten that should be stopped and ten that should not, from examples of the providers' docs.

They were written before a rule was looked at, beside what `weak/` and `sound/` hold: other products, put together as a
team puts them together that knows nothing of Sizewell.
"""

# fmt: off
from __future__ import annotations

import json

from sound.programs import Program
from weak import kubernetes_cases as k
from weak.rows import Row, aws, azure, gcp, k8s, ref

OWNER = {"owner": "research", "environment": "dev"}
G = {"resourceGroupName": "research", "location": "eastus"}


def trust(service: str) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]})


def may(*actions: str, on: str) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": on}]})


NODE_ROLE = aws("iam/Role", "node", assumeRolePolicy=trust("ec2.amazonaws.com"))
BAD: list[tuple[str, list[Row]]] = [
    ("a notebook with four GPUs and a lifecycle script that only installs packages", [
        aws("iam/Role", "nb", assumeRolePolicy=trust("sagemaker.amazonaws.com")),
        aws("sagemaker/NotebookInstanceLifecycleConfiguration", "setup", name="setup", onStart="IyEvYmluL2Jhc2gKcGlwIGluc3RhbGwgdG9yY2gK"),
        aws("sagemaker/NotebookInstance", "nb", name="nb", instanceType="ml.g5.12xlarge", roleArn=ref("nb"), subnetId="subnet-1", securityGroups=["sg-1"], directInternetAccess="Disabled", rootAccess="Disabled", kmsKeyId="k", lifecycleConfigName=ref("setup"), instanceMetadataServiceConfiguration={"minimumInstanceMetadataServiceVersion": "2"}),
    ]),
    ("an ECS cluster whose group keeps two GPU machines, with a capacity provider that does not scale", [
        NODE_ROLE, aws("iam/InstanceProfile", "node", role=ref("node")),
        aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="g6.12xlarge", iamInstanceProfile={"arn": ref("node")}, metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100, "encrypted": "true"}}], updateDefaultVersion=True),
        aws("autoscaling/Group", "gpu", minSize=0, maxSize=4, desiredCapacity=2, vpcZoneIdentifiers=["subnet-1", "subnet-2"], launchTemplate={"id": ref("lt"), "version": "$Latest"}, tags=[{"key": "owner", "value": "research", "propagateAtLaunch": True}]),
        aws("ecs/Cluster", "c", name="c", settings=[{"name": "containerInsights", "value": "enabled"}]),
        aws("ecs/CapacityProvider", "cp", name="cp", autoScalingGroupProvider={"autoScalingGroupArn": ref("gpu"), "managedScaling": {"status": "DISABLED"}}),
        aws("ecs/ClusterCapacityProviders", "ccp", clusterName=ref("c"), capacityProviders=[ref("cp")]),
    ]),
    ("a training cluster of EMR with GPU machines that waits for the next step", [
        aws("iam/Role", "emr", assumeRolePolicy=trust("elasticmapreduce.amazonaws.com")),
        aws("emr/Cluster", "train", name="train", releaseLabel="emr-7.5.0", applications=["Spark"], serviceRole=ref("emr"), keepJobFlowAliveWhenNoSteps=True, ec2Attributes={"instanceProfile": "p", "subnetId": "subnet-1"}, masterInstanceGroup={"instanceType": "m6i.xlarge"}, coreInstanceGroup={"instanceType": "g5.12xlarge", "instanceCount": 3}),
    ]),
    ("a GKE pool with at least two A100 machines over all zones, in development", [
        gcp("serviceaccount/Account", "nodes", accountId="nodes-robot"),
        gcp("container/NodePool", "a100", cluster="c", location="us-central1", nodeLocations=["us-central1-a", "us-central1-b"], autoscaling={"totalMinNodeCount": 2, "totalMaxNodeCount": 8, "locationPolicy": "ANY"}, management={"autoRepair": True, "autoUpgrade": True}, nodeConfig={"machineType": "a2-highgpu-1g", "serviceAccount": ref("nodes"), "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"], "workloadMetadataConfig": {"mode": "GKE_METADATA"}, "shieldedInstanceConfig": {"enableSecureBoot": True}, "guestAccelerators": [{"type": "nvidia-tesla-a100", "count": 1}]}),
    ]),
    ("a Workbench instance with a GPU whose idle shutdown is nine months", [
        gcp("serviceaccount/Account", "nb", accountId="nb-robot"),
        gcp("workbench/Instance", "nb", name="nb", location="us-central1-a", gceSetup={"machineType": "g2-standard-48", "acceleratorConfigs": [{"type": "NVIDIA_L4", "coreCount": "4"}], "disablePublicIp": True, "serviceAccounts": [{"email": ref("nb")}], "metadata": {"idle-timeout-seconds": "23328000"}, "networkInterfaces": [{"network": "n", "subnet": "s", "nicType": "GVNIC"}]}),
    ]),
    ("a cluster of Azure ML that keeps one node, for two people", [
        azure("machinelearningservices:Compute", "gpu", **G, workspaceName="w", computeName="gpu", identity={"type": "SystemAssigned"}, properties={"computeType": "AmlCompute", "disableLocalAuth": True, "properties": {"vmSize": "Standard_NC24ads_A100_v4", "vmPriority": "Dedicated", "enableNodePublicIp": False, "remoteLoginPortPublicAccess": "Disabled", "scaleSettings": {"minNodeCount": 1, "maxNodeCount": 4, "nodeIdleTimeBeforeScaleDown": "PT15M"}, "subnet": {"id": "/subscriptions/0/s"}}}),
    ]),
    ("a GPU pool of AKS that the cluster's autoscaler may not empty, and none of its pods", [
        azure("containerservice:AgentPool", "gpu", resourceGroupName="research", resourceName="aks", agentPoolName="gpu", mode="User", vmSize="Standard_NC48ads_A100_v4", enableAutoScaling=True, minCount=1, maxCount=3, count=1, osDiskType="Ephemeral", enableEncryptionAtHost=True, nodeTaints=["sku=gpu:NoSchedule"], tags=OWNER),
    ]),
    ("an Azure machine with a runbook that starts it every morning and nothing that stops it", [
        azure("compute:VirtualMachine", "vm", **G, vmName="vm", hardwareProfile={"vmSize": "Standard_NV36ads_A10_v5"}, securityProfile={"encryptionAtHost": True}, osProfile={"computerName": "vm", "adminUsername": "ml", "linuxConfiguration": {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [{"path": "/home/ml/.ssh/authorized_keys", "keyData": "ssh-ed25519 AAAA"}]}}}, networkProfile={"networkInterfaces": [{"id": "/subscriptions/0/nic"}]}, tags=OWNER),
        azure("automation:Schedule", "morning", resourceGroupName="research", automationAccountName="a", scheduleName="morning", name="morning", frequency="Day", interval=1, startTime="2026-11-23T07:00:00Z", timeZone="UTC"),
        azure("automation:JobSchedule", "start", resourceGroupName="research", automationAccountName="a", jobScheduleId="7c9e6679-7425-40de-944b-e07fc1f90ae7", runbook={"name": "Start-AzVM"}, schedule={"name": "morning"}, parameters={"VMName": "vm", "ResourceGroupName": "research"}),
    ]),
    ("notebooks of a hub with a GPU each that nothing culls", [
        k8s("apps/v1:StatefulSet", "m", spec={"replicas": 3, "serviceName": "notebooks", "selector": {"matchLabels": {"app": "m"}}, "template": k.pod(k.container(command=["jupyter", "lab", "--no-browser"]))}),
    ]),
    ("a workflow of Argo that trains without a longest time", [
        k8s("argoproj.io/v1alpha1:Workflow", "train", spec={"entrypoint": "train", "templates": [{"name": "train", "container": k.container(), "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}]}),
    ]),
]

HIGH = {"metricAggregationType": "Average", "adjustmentType": "ChangeInCapacity", "cooldown": 300, "stepAdjustments": [{"metricIntervalLowerBound": "0", "scalingAdjustment": 1}]}
GOOD: list[tuple[str, Program]] = [
    ("aws", Program("an asynchronous endpoint that falls to zero when its queue is empty", "serving", [
        aws("iam/Role", "ep", assumeRolePolicy=trust("sagemaker.amazonaws.com")),
        aws("iam/RolePolicy", "ep", role=ref("ep"), policy=may("s3:GetObject", "s3:PutObject", on="arn:aws:s3:::team-results/*")),
        aws("sagemaker/Model", "m", name="m", executionRoleArn=ref("ep"), enableNetworkIsolation=True, vpcConfig={"subnets": ["subnet-1"], "securityGroupIds": ["sg-1"]}, primaryContainer={"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/m@sha256:" + "1" * 64}),
        aws("sagemaker/EndpointConfiguration", "cfg", name="cfg", kmsKeyArn="arn:aws:kms:us-east-1:123456789012:key/1", productionVariants=[{"variantName": "main", "modelName": ref("m"), "instanceType": "ml.g5.12xlarge", "initialInstanceCount": 1}], asyncInferenceConfig={"outputConfig": {"s3OutputPath": "s3://team-results/out"}}),
        aws("sagemaker/Endpoint", "ep", name="scores", endpointConfigName=ref("cfg")),
        aws("appautoscaling/Target", "t", minCapacity=0, maxCapacity=2, resourceId="endpoint/scores/variant/main", scalableDimension="sagemaker:variant:DesiredInstanceCount", serviceNamespace="sagemaker"),
        aws("appautoscaling/Policy", "p", policyType="TargetTrackingScaling", serviceNamespace="sagemaker", scalableDimension="sagemaker:variant:DesiredInstanceCount", resourceId="endpoint/scores/variant/main", targetTrackingScalingPolicyConfiguration={"targetValue": 5, "scaleInCooldown": 600, "scaleOutCooldown": 120, "customizedMetricSpecification": {"metricName": "ApproximateBacklogSizePerInstance", "namespace": "AWS/SageMaker", "statistic": "Average", "dimensions": [{"name": "EndpointName", "value": "scores"}]}}),
        aws("appautoscaling/Policy", "wake", policyType="StepScaling", serviceNamespace="sagemaker", scalableDimension="sagemaker:variant:DesiredInstanceCount", resourceId="endpoint/scores/variant/main", stepScalingPolicyConfiguration=HIGH),
        aws("cloudwatch/MetricAlarm", "waiting", name="waiting", metricName="HasBacklogWithoutCapacity", namespace="AWS/SageMaker", comparisonOperator="GreaterThanOrEqualToThreshold", threshold=1, evaluationPeriods=2, period=60, statistic="Average", dimensions={"EndpointName": "scores"}, alarmActions=[ref("wake")]),
    ])),
    ("aws", Program("GPU work on spot machines of Batch that end with the queue", "scheduled", [
        aws("iam/Role", "batch", assumeRolePolicy=trust("batch.amazonaws.com")), NODE_ROLE, aws("iam/InstanceProfile", "node", role=ref("node")),
        aws("batch/ComputeEnvironment", "gpu", name="gpu", type="MANAGED", state="ENABLED", serviceRole=ref("batch"), computeResources={"type": "SPOT", "allocationStrategy": "SPOT_PRICE_CAPACITY_OPTIMIZED", "minVcpus": 0, "maxVcpus": 96, "instanceTypes": ["g5.4xlarge", "g6.4xlarge", "g5.8xlarge"], "instanceRole": ref("node"), "subnets": ["subnet-1", "subnet-2"], "securityGroupIds": ["sg-1"]}),
        aws("batch/JobQueue", "q", name="q", state="ENABLED", priority=1, computeEnvironmentOrders=[{"order": 1, "computeEnvironment": ref("gpu")}]),
        aws("batch/JobDefinition", "j", name="j", type="container", timeout={"attemptDurationSeconds": 14400}, retryStrategy={"attempts": 3}, containerProperties=json.dumps({"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/m@sha256:" + "1" * 64, "command": ["python", "score.py"], "resourceRequirements": [{"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": "32768"}, {"type": "GPU", "value": "1"}]})),
    ])),
    ("aws", Program("an interface of functions with a table", "web", [
        aws("iam/Role", "f", assumeRolePolicy=trust("lambda.amazonaws.com")),
        aws("iam/RolePolicy", "f", role=ref("f"), policy=may("dynamodb:GetItem", "dynamodb:PutItem", on="arn:aws:dynamodb:us-east-1:123456789012:table/orders")),
        aws("dynamodb/Table", "orders", name="orders", billingMode="PAY_PER_REQUEST", hashKey="id", attributes=[{"name": "id", "type": "S"}], pointInTimeRecovery={"enabled": True}, serverSideEncryption={"enabled": True}),
        aws("lambda/Function", "f", name="f", role=ref("f"), runtime="python3.12", handler="main.handle", code="app.zip", environment={"variables": {"TABLE": "orders"}}),
        aws("apigatewayv2/Api", "api", name="api", protocolType="HTTP"),
        aws("lambda/Permission", "api", function=ref("f"), action="lambda:InvokeFunction", principal="apigateway.amazonaws.com", sourceArn=ref("api")),
    ])),
    ("gcp", Program("a batch of Spark with GPUs that deletes itself", "scheduled", [
        gcp("serviceaccount/Account", "spark", accountId="spark-robot"),
        gcp("dataproc/Cluster", "spark", name="spark", region="us-central1", clusterConfig={"gceClusterConfig": {"internalIpOnly": True, "serviceAccount": ref("spark"), "zone": "us-central1-a", "shieldedInstanceConfig": {"enableSecureBoot": True}}, "masterConfig": {"numInstances": 1, "machineType": "n2-standard-4"}, "workerConfig": {"numInstances": 2, "machineType": "n1-standard-8", "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]}, "lifecycleConfig": {"idleDeleteTtl": "1800s"}, "encryptionConfig": {"kmsKeyName": "k"}}),
    ], "dev")),
    ("gcp", Program("a queue of work behind Cloud Run and Pub/Sub", "web", [
        gcp("serviceaccount/Account", "run", accountId="run-robot"),
        gcp("pubsub/Topic", "jobs", name="jobs", kmsKeyName="k"),
        gcp("cloudrunv2/Service", "s", name="s", location="us-central1", ingress="INGRESS_TRAFFIC_INTERNAL_ONLY", template={"serviceAccount": ref("run"), "scaling": {"minInstanceCount": 0, "maxInstanceCount": 10}, "containers": [{"image": "us-docker.pkg.dev/team/app/s@sha256:" + "1" * 64}]}),
        gcp("cloudrunv2/ServiceIamMember", "push", name=ref("s"), location="us-central1", role="roles/run.invoker", member="serviceAccount:push@team.iam.gserviceaccount.com"),
        gcp("pubsub/Subscription", "push", name="push", topic=ref("jobs"), ackDeadlineSeconds=60, pushConfig={"pushEndpoint": ref("s"), "oidcToken": {"serviceAccountEmail": "push@team.iam.gserviceaccount.com"}}),
    ])),
    ("azure", Program("a compute instance that stops by the clock and when idle", "scheduled", [
        azure("machinelearningservices:Compute", "ci", **G, workspaceName="w", computeName="ci", identity={"type": "SystemAssigned"}, properties={"computeType": "ComputeInstance", "disableLocalAuth": True, "properties": {"vmSize": "Standard_NC24ads_A100_v4", "applicationSharingPolicy": "Personal", "computeInstanceAuthorizationType": "personal", "enableNodePublicIp": False, "idleTimeBeforeShutdown": "PT30M", "sshSettings": {"sshPublicAccess": "Disabled"}, "subnet": {"id": "/subscriptions/0/s"}, "schedules": {"computeStartStop": [{"action": "Stop", "triggerType": "Cron", "status": "Enabled", "cron": {"expression": "0 19 * * *", "timeZone": "UTC", "startTime": "2026-11-01T00:00:00"}}]}}}),
    ], "dev")),
    ("azure", Program("a website with a database that nobody else reaches", "web", [
        azure("web:AppServicePlan", "plan", **G, name="plan", kind="linux", reserved=True, sku={"name": "P1v3", "tier": "PremiumV3"}),
        azure("web:WebApp", "site", **G, name="site", serverFarmId=ref("plan"), httpsOnly=True, identity={"type": "SystemAssigned"}, siteConfig={"minTlsVersion": "1.2", "ftpsState": "Disabled", "linuxFxVersion": "PYTHON|3.12"}),
        azure("dbforpostgresql:Server", "db", **G, serverName="db", version="16", sku={"name": "Standard_D2ds_v5", "tier": "GeneralPurpose"}, network={"publicNetworkAccess": "Disabled", "delegatedSubnetResourceId": "/subscriptions/0/s", "privateDnsZoneArmResourceId": "/subscriptions/0/z"}, storage={"storageSizeGB": 128}, authConfig={"activeDirectoryAuth": "Enabled", "passwordAuth": "Disabled"}),
    ])),
    ("kubernetes", Program("a nightly evaluation that ends after four hours", "scheduled", [
        k8s("batch/v1:CronJob", "evaluate", spec={"schedule": "0 2 * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": {"activeDeadlineSeconds": 14400, "backoffLimit": 1, "ttlSecondsAfterFinished": 3600, "template": k.pod(restartPolicy="Never")}}}),
    ], "dev")),
    ("kubernetes", Program("a model that one to four replicas serve by waiting requests", "serving", [
        k.deployment(),
        k8s("autoscaling/v2:HorizontalPodAutoscaler", "m", spec={"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "m"}, "minReplicas": 1, "maxReplicas": 4, "metrics": [{"type": "Pods", "pods": {"metric": {"name": "vllm:num_requests_waiting"}, "target": {"type": "AverageValue", "averageValue": "5"}}}]}),
        k8s("policy/v1:PodDisruptionBudget", "m", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "m"}}}),
        k8s("core/v1:Service", "m", spec={"type": "ClusterIP", "selector": {"app": "m"}, "ports": [{"port": 80, "targetPort": 8000}]}),
        k8s("networking.k8s.io/v1:NetworkPolicy", "m", spec={"podSelector": {"matchLabels": {"app": "m"}}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}], "ports": [{"port": 8000}]}]}),
    ])),
    ("kubernetes", Program("a workflow of Argo that ends after six hours", "scheduled", [
        k8s("argoproj.io/v1alpha1:Workflow", "train", spec={"entrypoint": "train", "activeDeadlineSeconds": 21600, "podGC": {"strategy": "OnPodCompletion"}, "automountServiceAccountToken": False, "templates": [{"name": "train", "container": k.container(), "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}]}),
    ], "dev")),
]
