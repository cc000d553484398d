"""AWS: what careful teams run, from the provider's inputs and AWS' reference architectures, from memory."""

# fmt: off
from __future__ import annotations

import json

from weak.rows import Row, aws, ref

from sound.programs import Program

PRIVATE_SUBNETS = ["subnet-0a1", "subnet-0b2", "subnet-0c3"]
PUBLIC_SUBNETS = ["subnet-1a1", "subnet-1b2", "subnet-1c3"]
AMI = "ami-0f3c9c466bb525749"
TAGS = {"owner": "ml-platform", "environment": "prod", "cost-center": "4711"}


def doc(*statements: dict[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def service_role(name: str, service: str, *statements: dict[str, object], managed: str = "") -> list[Row]:
    trust = doc({"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"})
    rows = [aws("iam/Role", name, assumeRolePolicy=trust, tags=TAGS)]
    if managed:
        rows.append(aws("iam/RolePolicyAttachment", f"{name}-managed", role=ref(name), policyArn=f"arn:aws:iam::aws:policy/{managed}"))
    if statements:
        rows.append(aws("iam/RolePolicy", f"{name}-policy", role=ref(name), policy=doc(*statements)))
    return rows


def bucket(name: str, **more: object) -> list[Row]:
    return [
        aws("s3/BucketV2", name, bucket=f"acme-{name}", tags=TAGS, **more),
        aws("s3/BucketPublicAccessBlock", f"{name}-private", bucket=ref(name), blockPublicAcls=True, blockPublicPolicy=True, ignorePublicAcls=True, restrictPublicBuckets=True),
        aws("s3/BucketServerSideEncryptionConfigurationV2", f"{name}-encrypted", bucket=ref(name), rules=[{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}, "bucketKeyEnabled": True}]),
        aws("s3/BucketVersioningV2", f"{name}-versions", bucket=ref(name), versioningConfiguration={"status": "Enabled"}),
        aws("s3/BucketLifecycleConfigurationV2", f"{name}-lifecycle", bucket=ref(name), rules=[
            {"id": "old", "status": "Enabled", "filter": {}, "noncurrentVersionExpiration": {"noncurrentDays": 30}, "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7}},
        ]),
        aws("s3/BucketPolicy", f"{name}-tls", bucket=ref(name), policy=doc({
            "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": [f"arn:aws:s3:::acme-{name}", f"arn:aws:s3:::acme-{name}/*"], "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        })),
    ]


def inside(name: str, port: int, cidr: str = "10.20.0.0/16") -> Row:
    return aws("ec2/SecurityGroup", name, description=name, vpcId="vpc-0aa", tags=TAGS,
               ingress=[{"protocol": "tcp", "fromPort": port, "toPort": port, "cidrBlocks": [cidr], "description": "from the network"}],
               egress=[{"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["0.0.0.0/0"], "description": "APIs and images"}])


def template(name: str, kind: str, group: str, profile: str = "", **more: object) -> Row:
    stated = {
        "imageId": AMI, "instanceType": kind, "updateDefaultVersion": True, "vpcSecurityGroupIds": [ref(group)],
        "metadataOptions": {"httpTokens": "required", "httpEndpoint": "enabled", "httpPutResponseHopLimit": 1},
        "blockDeviceMappings": [{"deviceName": "/dev/sda1", "ebs": {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}}],
        "monitoring": {"enabled": True},
        "tagSpecifications": [{"resourceType": "instance", "tags": TAGS}, {"resourceType": "volume", "tags": TAGS}],
    }
    if profile:
        stated["iamInstanceProfile"] = {"arn": ref(profile)}
    return aws("ec2/LaunchTemplate", name, **{**stated, **more})


def group(name: str, lt: str, minimum: int, maximum: int, **more: object) -> Row:
    stated = {
        "minSize": minimum, "maxSize": maximum, "vpcZoneIdentifiers": PRIVATE_SUBNETS, "healthCheckGracePeriod": 600,
        "launchTemplate": {"id": ref(lt), "version": "$Latest"},
        "tags": [{"key": key, "value": value, "propagateAtLaunch": True} for key, value in TAGS.items()],
    }
    return aws("autoscaling/Group", name, **{**stated, **more})


GPU_ROLE = [
    *service_role("node", "ec2.amazonaws.com", {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::acme-models/*"]}, managed="AmazonSSMManagedInstanceCore"),
    aws("iam/InstanceProfile", "profile", role=ref("node")),
]
ALARM_TOPIC = aws("sns/Topic", "on-call", kmsMasterKeyId="alias/aws/sns", tags=TAGS)
PAGER = aws("sns/TopicSubscription", "pager", topic=ref("on-call"), protocol="https", endpoint="https://events.pager.example.com/integration/a1/enqueue")


def logs(name: str, path: str, days: int = 30) -> Row:
    return aws("cloudwatch/LogGroup", name, name=path, retentionInDays=days, tags=TAGS)


SERVING = [
    Program("a language model behind an internal load balancer, two to six machines by requests", "serving", [
        *GPU_ROLE, inside("serving-sg", 8000), inside("alb-sg", 443),
        template("serving", "g6e.2xlarge", "serving-sg", "profile"),
        aws("lb/LoadBalancer", "front", loadBalancerType="application", internal=True, subnets=PRIVATE_SUBNETS, securityGroups=[ref("alb-sg")], dropInvalidHeaderFields=True, tags=TAGS),
        aws("lb/TargetGroup", "vllm", port=8000, protocol="HTTP", vpcId="vpc-0aa", targetType="instance", healthCheck={"path": "/health", "interval": 15}, tags=TAGS),
        aws("lb/Listener", "tls", loadBalancerArn=ref("front"), port=443, protocol="HTTPS", sslPolicy="ELBSecurityPolicy-TLS13-1-2-2021-06", certificateArn="arn:aws:acm:us-east-1:123456789012:certificate/1", defaultActions=[{"type": "forward", "targetGroupArn": ref("vllm")}]),
        group("serving-group", "serving", 2, 6, targetGroupArns=[ref("vllm")], healthCheckType="ELB", enabledMetrics=["GroupInServiceInstances"]),
        aws("autoscaling/Policy", "by-requests", autoscalingGroupName=ref("serving-group"), policyType="TargetTrackingScaling", targetTrackingConfiguration={"predefinedMetricSpecification": {"predefinedMetricType": "ALBRequestCountPerTarget", "resourceLabel": ref("front")}, "targetValue": 120.0}),
        ALARM_TOPIC, PAGER,
        aws("cloudwatch/MetricAlarm", "slow", comparisonOperator="GreaterThanThreshold", evaluationPeriods=3, metricName="TargetResponseTime", namespace="AWS/ApplicationELB", period=60, extendedStatistic="p95", threshold=2.0, alarmActions=[ref("on-call")], dimensions={"LoadBalancer": ref("front")}),
    ]),
    Program("a SageMaker endpoint with one to four machines by invocations", "serving", [
        *bucket("models"),
        *service_role("sagemaker", "sagemaker.amazonaws.com", {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::acme-models", "arn:aws:s3:::acme-models/*"]}, {"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": "arn:aws:logs:us-east-1:123456789012:log-group:/aws/sagemaker/*"}),
        inside("endpoint-sg", 443),
        aws("sagemaker/Model", "ranker", executionRoleArn=ref("sagemaker"), enableNetworkIsolation=True, primaryContainer={"image": "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference@sha256:" + "3" * 64, "modelDataUrl": "s3://acme-models/ranker/1/model.tar.gz"}, vpcConfig={"subnets": PRIVATE_SUBNETS, "securityGroupIds": [ref("endpoint-sg")]}, tags=TAGS),
        aws("sagemaker/EndpointConfiguration", "ranker-config", kmsKeyArn="arn:aws:kms:us-east-1:123456789012:key/1", productionVariants=[{"variantName": "main", "modelName": ref("ranker"), "instanceType": "ml.g5.2xlarge", "initialInstanceCount": 1}], tags=TAGS),
        aws("sagemaker/Endpoint", "ranker-endpoint", name="ranker", endpointConfigName=ref("ranker-config"), tags=TAGS),
        aws("appautoscaling/Target", "ranker-target", serviceNamespace="sagemaker", scalableDimension="sagemaker:variant:DesiredInstanceCount", resourceId="endpoint/ranker/variant/main", minCapacity=1, maxCapacity=4),
        aws("appautoscaling/Policy", "ranker-policy", serviceNamespace="sagemaker", scalableDimension="sagemaker:variant:DesiredInstanceCount", resourceId="endpoint/ranker/variant/main", policyType="TargetTrackingScaling", targetTrackingScalingPolicyConfiguration={"targetValue": 400.0, "scaleInCooldown": 300, "scaleOutCooldown": 60, "predefinedMetricSpecification": {"predefinedMetricType": "SageMakerVariantInvocationsPerInstance"}}),
    ]),
    Program("transcription on ECS with a capacity provider that follows its tasks", "serving", [
        *GPU_ROLE, inside("task-sg", 9000), template("ecs-gpu", "g5.xlarge", "task-sg", "profile"),
        group("ecs-group", "ecs-gpu", 1, 5, protectFromScaleIn=True),
        aws("ecs/CapacityProvider", "gpu", autoScalingGroupProvider={"autoScalingGroupArn": ref("ecs-group"), "managedTerminationProtection": "ENABLED", "managedScaling": {"status": "ENABLED", "targetCapacity": 100}}),
        aws("ecs/Cluster", "speech", settings=[{"name": "containerInsights", "value": "enabled"}], tags=TAGS),
        aws("ecs/ClusterCapacityProviders", "providers", clusterName=ref("speech"), capacityProviders=[ref("gpu")], defaultCapacityProviderStrategies=[{"capacityProvider": ref("gpu"), "weight": 1, "base": 1}]),
        logs("speech-logs", "/ecs/speech"),
        *service_role("task-execution", "ecs-tasks.amazonaws.com", managed="service-role/AmazonECSTaskExecutionRolePolicy"),
        aws("ecs/TaskDefinition", "whisper", family="whisper", requiresCompatibilities=["EC2"], networkMode="awsvpc", executionRoleArn=ref("task-execution"), containerDefinitions=json.dumps([{
            "name": "whisper", "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/whisper@sha256:" + "4" * 64, "cpu": 3072, "memory": 12288, "resourceRequirements": [{"type": "GPU", "value": "1"}],
            "portMappings": [{"containerPort": 9000}], "secrets": [{"name": "HF_TOKEN", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:hf-AbCdEf"}],
            "logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "/ecs/speech", "awslogs-region": "us-east-1", "awslogs-stream-prefix": "whisper"}},
        }]), tags=TAGS),
        aws("ecs/Service", "whisper-service", cluster=ref("speech"), taskDefinition=ref("whisper"), desiredCount=1, capacityProviderStrategies=[{"capacityProvider": ref("gpu"), "weight": 1}], networkConfiguration={"subnets": PRIVATE_SUBNETS, "securityGroups": [ref("task-sg")]}, deploymentCircuitBreaker={"enable": True, "rollback": True}, tags=TAGS),
        aws("appautoscaling/Target", "whisper-target", serviceNamespace="ecs", scalableDimension="ecs:service:DesiredCount", resourceId="service/speech/whisper-service", minCapacity=1, maxCapacity=5),
        aws("appautoscaling/Policy", "whisper-policy", serviceNamespace="ecs", scalableDimension="ecs:service:DesiredCount", resourceId="service/speech/whisper-service", policyType="TargetTrackingScaling", targetTrackingScalingPolicyConfiguration={"targetValue": 60.0, "predefinedMetricSpecification": {"predefinedMetricType": "ECSServiceAverageCPUUtilization"}}),
    ]),
    Program("an EKS cluster with a system group and a GPU group that the cluster autoscaler empties", "serving", [
        *service_role("eks", "eks.amazonaws.com", managed="AmazonEKSClusterPolicy"),
        *service_role("eks-node", "ec2.amazonaws.com", managed="AmazonEKSWorkerNodePolicy"),
        aws("iam/RolePolicyAttachment", "cni", role=ref("eks-node"), policyArn="arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"),
        aws("iam/RolePolicyAttachment", "pull", role=ref("eks-node"), policyArn="arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"),
        aws("kms/Key", "secrets", enableKeyRotation=True, deletionWindowInDays=30, description="secrets of the cluster", tags=TAGS),
        aws("eks/Cluster", "inference", roleArn=ref("eks"), version="1.34", accessConfig={"authenticationMode": "API"}, enabledClusterLogTypes=["api", "audit", "authenticator"], encryptionConfig={"provider": {"keyArn": ref("secrets")}, "resources": ["secrets"]},
            vpcConfig={"subnetIds": PRIVATE_SUBNETS, "endpointPrivateAccess": True, "endpointPublicAccess": False}, tags=TAGS, deletionProtection=True),
        aws("eks/Addon", "vpc-cni", clusterName=ref("inference"), addonName="vpc-cni", configurationValues=json.dumps({"enableNetworkPolicy": "true"})),
        aws("eks/Addon", "dns", clusterName=ref("inference"), addonName="coredns"),
        aws("eks/NodeGroup", "system", clusterName=ref("inference"), nodeRoleArn=ref("eks-node"), subnetIds=PRIVATE_SUBNETS, instanceTypes=["m6i.large"], scalingConfig={"minSize": 2, "maxSize": 4, "desiredSize": 2}, tags=TAGS),
        aws("ec2/LaunchTemplate", "gpu-template", metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 200, "volumeType": "gp3", "encrypted": "true"}}]),
        aws("eks/NodeGroup", "gpu", clusterName=ref("inference"), nodeRoleArn=ref("eks-node"), subnetIds=PRIVATE_SUBNETS, instanceTypes=["g6.4xlarge"], amiType="AL2023_x86_64_NVIDIA", launchTemplate={"id": ref("gpu-template"), "version": "1"}, scalingConfig={"minSize": 0, "maxSize": 8, "desiredSize": 1}, taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
            tags={**TAGS, "k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/inference": "owned"}),
    ]),
]

SCHEDULED = [
    Program("a development group that works from seven to eight on weekdays", "scheduled", [
        *GPU_ROLE, inside("dev-sg", 22, "10.30.0.0/16"), template("dev-template", "g6.xlarge", "dev-sg", "profile"),
        group("dev-group", "dev-template", 0, 3, desiredCapacity=0),
        aws("autoscaling/Schedule", "morning", autoscalingGroupName=ref("dev-group"), scheduledActionName="morning", minSize=1, maxSize=3, desiredCapacity=1, recurrence="0 7 * * 1-5", timeZone="Europe/Berlin"),
        aws("autoscaling/Schedule", "evening", autoscalingGroupName=ref("dev-group"), scheduledActionName="evening", minSize=0, maxSize=3, desiredCapacity=0, recurrence="0 20 * * 1-5", timeZone="Europe/Berlin"),
    ], stack="dev"),
    Program("nightly scoring on AWS Batch from zero", "scheduled", [
        *service_role("batch", "batch.amazonaws.com", managed="service-role/AWSBatchServiceRole"), *GPU_ROLE, inside("batch-sg", 443),
        aws("batch/ComputeEnvironment", "gpu-env", type="MANAGED", serviceRole=ref("batch"), computeResources={"type": "EC2", "allocationStrategy": "BEST_FIT_PROGRESSIVE", "minVcpus": 0, "maxVcpus": 64, "instanceTypes": ["g6.4xlarge"], "subnets": PRIVATE_SUBNETS, "securityGroupIds": [ref("batch-sg")], "instanceRole": ref("profile"), "tags": TAGS}, tags=TAGS),
        aws("batch/JobQueue", "nightly", state="ENABLED", priority=1, computeEnvironmentOrders=[{"order": 1, "computeEnvironment": ref("gpu-env")}], tags=TAGS),
        aws("batch/JobDefinition", "score", type="container", timeout={"attemptDurationSeconds": 14400}, retryStrategy={"attempts": 2}, containerProperties=json.dumps({"image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/score@sha256:" + "5" * 64, "resourceRequirements": [{"type": "GPU", "value": "1"}, {"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": "30000"}]}), tags=TAGS),
        *service_role("starter", "scheduler.amazonaws.com", {"Effect": "Allow", "Action": "batch:SubmitJob", "Resource": ["arn:aws:batch:us-east-1:123456789012:job-queue/nightly", "arn:aws:batch:us-east-1:123456789012:job-definition/score:*"]}),
        aws("scheduler/Schedule", "at-two", scheduleExpression="cron(0 2 * * ? *)", flexibleTimeWindow={"mode": "OFF"}, target={"arn": "arn:aws:scheduler:::aws-sdk:batch:submitJob", "roleArn": ref("starter"), "input": json.dumps({"JobName": "score", "JobQueue": "nightly", "JobDefinition": "score"})}),
    ]),
    Program("a workstation that a scheduler starts and stops", "scheduled", [
        *GPU_ROLE, inside("desk-sg", 22, "10.30.0.0/16"),
        aws("ec2/Instance", "desk", ami=AMI, instanceType="g5.2xlarge", subnetId="subnet-0a1", vpcSecurityGroupIds=[ref("desk-sg")], iamInstanceProfile=ref("profile"), metadataOptions={"httpTokens": "required"}, rootBlockDevice={"encrypted": True, "volumeSize": 200, "volumeType": "gp3"}, tags={**TAGS, "environment": "dev"}),
        *service_role("clock", "scheduler.amazonaws.com", {"Effect": "Allow", "Action": ["ec2:StartInstances", "ec2:StopInstances"], "Resource": "arn:aws:ec2:us-east-1:123456789012:instance/*", "Condition": {"StringEquals": {"aws:ResourceTag/owner": "ml-platform"}}}),
        aws("scheduler/Schedule", "start", scheduleExpression="cron(0 8 ? * MON-FRI *)", scheduleExpressionTimezone="Europe/Berlin", flexibleTimeWindow={"mode": "OFF"}, target={"arn": "arn:aws:scheduler:::aws-sdk:ec2:startInstances", "roleArn": ref("clock"), "input": ref("desk")}),
        aws("scheduler/Schedule", "stop", scheduleExpression="cron(0 19 ? * MON-FRI *)", scheduleExpressionTimezone="Europe/Berlin", flexibleTimeWindow={"mode": "OFF"}, target={"arn": "arn:aws:scheduler:::aws-sdk:ec2:stopInstances", "roleArn": ref("clock"), "input": ref("desk")}),
    ], stack="dev"),
]

RESERVED = [
    Program("two reserved machines around the clock and bursts beside them", "reserved", [
        *GPU_ROLE, inside("base-sg", 8000),
        aws("ec2/CapacityReservation", "reserved", instanceType="p5.48xlarge", instancePlatform="Linux/UNIX", availabilityZone="us-east-1a", instanceCount=2, instanceMatchCriteria="targeted", endDateType="limited", endDate="2027-06-30T00:00:00Z", tags=TAGS),
        template("base-template", "p5.48xlarge", "base-sg", "profile", capacityReservationSpecification={"capacityReservationTarget": {"capacityReservationId": ref("reserved")}}),
        group("base", "base-template", 2, 2, vpcZoneIdentifiers=["subnet-0a1"]),
        template("burst-template", "g6e.12xlarge", "base-sg", "profile"),
        group("burst", "burst-template", 0, 4),
        aws("autoscaling/Policy", "burst-policy", autoscalingGroupName=ref("burst"), policyType="TargetTrackingScaling", targetTrackingConfiguration={"customizedMetricSpecification": {"metricName": "QueueDepthPerInstance", "namespace": "Acme/Serving", "statistic": "Average"}, "targetValue": 8.0}),
    ]),
    Program("a training run in a capacity block", "reserved", [
        *bucket("checkpoints"), *GPU_ROLE,
        aws("ec2/SecurityGroup", "fabric", description="nodes among themselves", vpcId="vpc-0aa", ingress=[{"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}], egress=[{"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}, {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["0.0.0.0/0"]}], tags=TAGS),
        template("block-template", "p5.48xlarge", "fabric", "profile", instanceMarketOptions={"marketType": "capacity-block"}, capacityReservationSpecification={"capacityReservationTarget": {"capacityReservationId": "cr-0a1b2c3d4e5f67890"}}, vpcSecurityGroupIds=None,
                 networkInterfaces=[{"deviceIndex": 0 if card == 0 else 1, "networkCardIndex": card, "interfaceType": "efa", "securityGroups": [ref("fabric")], "associatePublicIpAddress": "false"} for card in range(32)]),
        group("block", "block-template", 0, 4, vpcZoneIdentifiers=["subnet-0a1"]),
        aws("autoscaling/Schedule", "begin", autoscalingGroupName=ref("block"), scheduledActionName="begin", minSize=4, maxSize=4, desiredCapacity=4, startTime="2026-12-07T11:45:00Z"),
        aws("autoscaling/Schedule", "end", autoscalingGroupName=ref("block"), scheduledActionName="end", minSize=0, maxSize=4, desiredCapacity=0, startTime="2026-12-10T10:45:00Z"),
    ]),
]

WEB = [
    Program("a shop on Fargate with a database and a content network", "web", [
        aws("ec2/SecurityGroup", "alb", description="the public", vpcId="vpc-0aa", ingress=[{"protocol": "tcp", "fromPort": port, "toPort": port, "cidrBlocks": ["0.0.0.0/0"]} for port in (80, 443)], egress=[{"protocol": "tcp", "fromPort": 8080, "toPort": 8080, "cidrBlocks": ["10.20.0.0/16"]}], tags=TAGS),
        inside("shop-sg", 8080), inside("db-sg", 5432),
        aws("lb/LoadBalancer", "front", loadBalancerType="application", internal=False, subnets=PUBLIC_SUBNETS, securityGroups=[ref("alb")], enableDeletionProtection=True, tags=TAGS),
        aws("lb/TargetGroup", "shop-target", port=8080, protocol="HTTP", targetType="ip", vpcId="vpc-0aa", healthCheck={"path": "/healthz"}, tags=TAGS),
        aws("lb/Listener", "https", loadBalancerArn=ref("front"), port=443, protocol="HTTPS", certificateArn="arn:aws:acm:us-east-1:123456789012:certificate/2", sslPolicy="ELBSecurityPolicy-TLS13-1-2-2021-06", defaultActions=[{"type": "forward", "targetGroupArn": ref("shop-target")}]),
        aws("lb/Listener", "http", loadBalancerArn=ref("front"), port=80, protocol="HTTP", defaultActions=[{"type": "redirect", "redirect": {"port": "443", "protocol": "HTTPS", "statusCode": "HTTP_301"}}]),
        aws("ecs/Cluster", "shop", settings=[{"name": "containerInsights", "value": "enabled"}], tags=TAGS), logs("shop-logs", "/ecs/shop"),
        *service_role("shop-execution", "ecs-tasks.amazonaws.com", managed="service-role/AmazonECSTaskExecutionRolePolicy"),
        aws("ecs/TaskDefinition", "shop-task", family="shop", cpu="1024", memory="2048", requiresCompatibilities=["FARGATE"], networkMode="awsvpc", executionRoleArn=ref("shop-execution"), containerDefinitions=json.dumps([{"name": "shop", "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/shop@sha256:" + "6" * 64, "portMappings": [{"containerPort": 8080}], "environment": [{"name": "DB_HOST", "value": "db.internal"}], "secrets": [{"name": "DB_PASSWORD", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf"}]}]), tags=TAGS),
        aws("ecs/Service", "shop-service", cluster=ref("shop"), taskDefinition=ref("shop-task"), launchType="FARGATE", desiredCount=3, networkConfiguration={"subnets": PRIVATE_SUBNETS, "securityGroups": [ref("shop-sg")], "assignPublicIp": False}, loadBalancers=[{"targetGroupArn": ref("shop-target"), "containerName": "shop", "containerPort": 8080}], tags=TAGS),
        aws("rds/SubnetGroup", "db-subnets", subnetIds=PRIVATE_SUBNETS, tags=TAGS),
        aws("rds/Instance", "db", engine="postgres", engineVersion="16.4", instanceClass="db.m6g.large", allocatedStorage=100, storageType="gp3", storageEncrypted=True, multiAz=True, backupRetentionPeriod=14, deletionProtection=True, dbSubnetGroupName=ref("db-subnets"), vpcSecurityGroupIds=[ref("db-sg")], manageMasterUserPassword=True, username="shop", skipFinalSnapshot=False, finalSnapshotIdentifier="shop-final", performanceInsightsEnabled=True, tags=TAGS),
        *bucket("shop-assets"),
        aws("cloudfront/OriginAccessControl", "assets-access", originAccessControlOriginType="s3", signingBehavior="always", signingProtocol="sigv4"),
        aws("cloudfront/Distribution", "cdn", enabled=True, origins=[{"originId": "assets", "domainName": "acme-shop-assets.s3.us-east-1.amazonaws.com", "originAccessControlId": ref("assets-access")}], defaultCacheBehavior={"targetOriginId": "assets", "viewerProtocolPolicy": "redirect-to-https", "allowedMethods": ["GET", "HEAD"], "cachedMethods": ["GET", "HEAD"]}, restrictions={"geoRestriction": {"restrictionType": "none"}}, viewerCertificate={"acmCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/3", "sslSupportMethod": "sni-only", "minimumProtocolVersion": "TLSv1.2_2021"}, tags=TAGS),
    ]),
    Program("functions behind an API with users of their own", "web", [
        *service_role("api-role", "lambda.amazonaws.com", {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], "Resource": "arn:aws:dynamodb:us-east-1:123456789012:table/orders"}, managed="service-role/AWSLambdaBasicExecutionRole"),
        aws("lambda/Function", "api", runtime="python3.13", handler="app.handler", role=ref("api-role"), memorySize=512, timeout=15, s3Bucket="acme-artifacts", s3Key="api/17.zip", environment={"variables": {"TABLE": "orders", "LOG_LEVEL": "INFO"}}, tracingConfig={"mode": "Active"}, tags=TAGS),
        logs("api-logs", "/aws/lambda/api"),
        aws("cognito/UserPool", "users", mfaConfiguration="OPTIONAL", softwareTokenMfaConfiguration={"enabled": True}, passwordPolicy={"minimumLength": 12}, deletionProtection="ACTIVE", tags=TAGS),
        aws("apigatewayv2/Api", "gateway", protocolType="HTTP", corsConfiguration={"allowOrigins": ["https://app.example.com"], "allowMethods": ["GET", "POST"]}, tags=TAGS),
        aws("apigatewayv2/Authorizer", "jwt", apiId=ref("gateway"), authorizerType="JWT", identitySources=["$request.header.Authorization"], jwtConfiguration={"audiences": ["app"], "issuer": "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_a1"}),
        aws("apigatewayv2/Integration", "to-api", apiId=ref("gateway"), integrationType="AWS_PROXY", integrationUri=ref("api"), payloadFormatVersion="2.0"),
        aws("apigatewayv2/Route", "orders-route", apiId=ref("gateway"), routeKey="ANY /orders", authorizationType="JWT", authorizerId=ref("jwt"), target=ref("to-api")),
        aws("apigatewayv2/Stage", "live", apiId=ref("gateway"), name="$default", autoDeploy=True, defaultRouteSettings={"throttlingBurstLimit": 100, "throttlingRateLimit": 50}, tags=TAGS),
        aws("lambda/Permission", "from-gateway", function=ref("api"), action="lambda:InvokeFunction", principal="apigateway.amazonaws.com", sourceArn=ref("gateway")),
        aws("dynamodb/Table", "orders", name="orders", hashKey="id", attributes=[{"name": "id", "type": "S"}], billingMode="PAY_PER_REQUEST", pointInTimeRecovery={"enabled": True}, serverSideEncryption={"enabled": True}, deletionProtectionEnabled=True, tags=TAGS),
    ]),
    Program("a content system on machines with a cache and Aurora", "web", [
        inside("cms-sg", 8080), inside("cache-sg", 6379), inside("aurora-sg", 3306), *service_role("cms-role", "ec2.amazonaws.com", managed="AmazonSSMManagedInstanceCore"), aws("iam/InstanceProfile", "cms-profile", role=ref("cms-role")),
        template("cms-template", "m7g.large", "cms-sg", "cms-profile"), group("cms", "cms-template", 2, 8, healthCheckType="ELB"),
        aws("autoscaling/Policy", "cms-cpu", autoscalingGroupName=ref("cms"), policyType="TargetTrackingScaling", targetTrackingConfiguration={"predefinedMetricSpecification": {"predefinedMetricType": "ASGAverageCPUUtilization"}, "targetValue": 55.0}),
        aws("elasticache/ReplicationGroup", "cache", description="sessions", engine="redis", nodeType="cache.t4g.medium", numCacheClusters=2, automaticFailoverEnabled=True, atRestEncryptionEnabled=True, transitEncryptionEnabled=True, securityGroupIds=[ref("cache-sg")], tags=TAGS),
        aws("rds/Cluster", "aurora", engine="aurora-mysql", engineVersion="8.0.mysql_aurora.3.08.0", storageEncrypted=True, manageMasterUserPassword=True, masterUsername="cms", backupRetentionPeriod=14, deletionProtection=True, vpcSecurityGroupIds=[ref("aurora-sg")], serverlessv2ScalingConfiguration={"minCapacity": 0.5, "maxCapacity": 8}, tags=TAGS),
        aws("rds/ClusterInstance", "aurora-1", clusterIdentifier=ref("aurora"), engine="aurora-mysql", instanceClass="db.serverless", publiclyAccessible=False, tags=TAGS),
        aws("efs/FileSystem", "uploads", encrypted=True, throughputMode="elastic", lifecyclePolicies=[{"transitionToIa": "AFTER_30_DAYS"}], tags=TAGS),
        aws("efs/MountTarget", "uploads-a", fileSystemId=ref("uploads"), subnetId="subnet-0a1", securityGroups=[ref("cms-sg")]),
    ]),
]

DATA = [
    Program("a lake with Glue, Athena and Redshift Serverless", "data", [
        *bucket("lake"), *bucket("athena-results"),
        aws("glue/CatalogDatabase", "raw", name="raw"),
        *service_role("glue", "glue.amazonaws.com", {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::acme-lake", "arn:aws:s3:::acme-lake/*"]}, managed="service-role/AWSGlueServiceRole"),
        aws("glue/Crawler", "crawl", databaseName=ref("raw"), role=ref("glue"), s3Targets=[{"path": "s3://acme-lake/raw"}], schedule="cron(15 3 * * ? *)", tags=TAGS),
        aws("glue/Job", "clean", roleArn=ref("glue"), glueVersion="5.0", workerType="G.1X", numberOfWorkers=10, timeout=120, command={"scriptLocation": "s3://acme-lake/scripts/clean.py"}, executionProperty={"maxConcurrentRuns": 1}, tags=TAGS),
        aws("athena/Workgroup", "analysts", configuration={"enforceWorkgroupConfiguration": True, "bytesScannedCutoffPerQuery": 1099511627776, "resultConfiguration": {"outputLocation": "s3://acme-athena-results/", "encryptionConfiguration": {"encryptionOption": "SSE_S3"}}}, tags=TAGS),
        inside("warehouse-sg", 5439),
        aws("redshiftserverless/Namespace", "warehouse", namespaceName="warehouse", manageAdminPassword=True, logExports=["userlog", "connectionlog"], tags=TAGS),
        aws("redshiftserverless/Workgroup", "warehouse-wg", namespaceName="warehouse", workgroupName="warehouse", baseCapacity=8, maxCapacity=64, publiclyAccessible=False, subnetIds=PRIVATE_SUBNETS, securityGroupIds=[ref("warehouse-sg")], enhancedVpcRouting=True, tags=TAGS),
    ]),
    Program("events through Kafka and Firehose into search", "data", [
        *bucket("events"), inside("kafka-sg", 9094), inside("search-sg", 443), aws("kms/Key", "events-key", enableKeyRotation=True, description="events", tags=TAGS),
        aws("msk/Cluster", "bus", kafkaVersion="3.8.x", numberOfBrokerNodes=3, brokerNodeGroupInfo={"instanceType": "kafka.m7g.large", "clientSubnets": PRIVATE_SUBNETS, "securityGroups": [ref("kafka-sg")], "storageInfo": {"ebsStorageInfo": {"volumeSize": 500}}}, encryptionInfo={"encryptionAtRestKmsKeyArn": ref("events-key"), "encryptionInTransit": {"clientBroker": "TLS", "inCluster": True}}, clientAuthentication={"sasl": {"iam": True}}, tags=TAGS),
        aws("opensearch/Domain", "search", engineVersion="OpenSearch_2.17", clusterConfig={"instanceType": "r7g.large.search", "instanceCount": 3, "zoneAwarenessEnabled": True, "zoneAwarenessConfig": {"availabilityZoneCount": 3}}, ebsOptions={"ebsEnabled": True, "volumeSize": 200, "volumeType": "gp3"}, encryptAtRest={"enabled": True}, nodeToNodeEncryption={"enabled": True}, domainEndpointOptions={"enforceHttps": True, "tlsSecurityPolicy": "Policy-Min-TLS-1-2-PFS-2023-10"}, vpcOptions={"subnetIds": PRIVATE_SUBNETS, "securityGroupIds": [ref("search-sg")]}, tags=TAGS),
        *service_role("firehose", "firehose.amazonaws.com", {"Effect": "Allow", "Action": ["s3:PutObject", "s3:AbortMultipartUpload"], "Resource": "arn:aws:s3:::acme-events/*"}),
        aws("kinesis/FirehoseDeliveryStream", "archive", destination="extended_s3", extendedS3Configuration={"roleArn": ref("firehose"), "bucketArn": ref("events"), "bufferingInterval": 300, "bufferingSize": 64, "compressionFormat": "GZIP"}, serverSideEncryption={"enabled": True}, tags=TAGS),
    ]),
    Program("Airflow and EMR Serverless over a lake, with features for models", "data", [
        *bucket("airflow"), *bucket("features"), inside("airflow-sg", 443),
        *service_role("airflow-role", "airflow-env.amazonaws.com", {"Effect": "Allow", "Action": ["s3:GetObject*", "s3:List*"], "Resource": ["arn:aws:s3:::acme-airflow", "arn:aws:s3:::acme-airflow/*"]}, {"Effect": "Allow", "Action": ["emr-serverless:StartJobRun", "emr-serverless:GetJobRun"], "Resource": "arn:aws:emr-serverless:us-east-1:123456789012:/applications/*"}),
        aws("mwaa/Environment", "airflow-env", airflowVersion="2.10.3", environmentClass="mw1.small", executionRoleArn=ref("airflow-role"), dagS3Path="dags/", sourceBucketArn=ref("airflow"), webserverAccessMode="PRIVATE_ONLY", networkConfiguration={"subnetIds": PRIVATE_SUBNETS[:2], "securityGroupIds": [ref("airflow-sg")]}, tags=TAGS),
        aws("emrserverless/Application", "spark", type="SPARK", releaseLabel="emr-7.5.0", autoStopConfiguration={"enabled": True, "idleTimeoutMinutes": 15}, maximumCapacity={"cpu": "400 vCPU", "memory": "3000 GB"}, networkConfiguration={"subnetIds": PRIVATE_SUBNETS, "securityGroupIds": [ref("airflow-sg")]}, tags=TAGS),
        aws("dynamodb/Table", "online-features", hashKey="key", attributes=[{"name": "key", "type": "S"}], billingMode="PAY_PER_REQUEST", pointInTimeRecovery={"enabled": True}, tags=TAGS),
    ]),
]

PROGRAMS = [*SERVING, *SCHEDULED, *RESERVED, *WEB, *DATA]
