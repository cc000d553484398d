"""AWS: weaknesses in the spellings that programs use; from the provider's inputs and AWS' security guides, from memory."""

# fmt: off
from __future__ import annotations

import json

from weak.rows import Row, Weakness, aws, ref


def doc(*statements: dict[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(action: object, resource: object = "*", **more: object) -> dict[str, object]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def trust(principal: object, action: object = "sts:AssumeRole", **more: object) -> str:
    return doc({"Effect": "Allow", "Principal": principal, "Action": action, **more})


EC2 = trust({"Service": "ec2.amazonaws.com"})
BUCKET = "arn:aws:s3:::team-data/*"
OIDC = {"Federated": "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"}
WEB = "sts:AssumeRoleWithWebIdentity"
AUD = {"token.actions.githubusercontent.com:aud": "sts.amazonaws.com"}
SUB = "token.actions.githubusercontent.com:sub"


def role(**more: object) -> Row:
    return aws("iam/Role", "role", assumeRolePolicy=EC2, **more)


def group_policy(text: str) -> list[Row]:
    return [aws("s3/Bucket", "data", bucket="team-data"), aws("s3/BucketPolicy", "open", bucket="team-data", policy=text)]


PRIVATE = aws("s3/BucketPublicAccessBlock", "private", bucket=ref("b"), blockPublicAcls=True, blockPublicPolicy=True, ignorePublicAcls=True, restrictPublicBuckets=True)
BLOCKED = {**PRIVATE, "inputs": {**PRIVATE["inputs"], "bucket": ref("data")}}


def sg(*rules: dict[str, object]) -> list[Row]:
    return [aws("ec2/SecurityGroup", "web", description="web", ingress=list(rules))]


def rule(first: int, last: int, *cidrs: str, protocol: str = "tcp", **more: object) -> dict[str, object]:
    return {"protocol": protocol, "fromPort": first, "toPort": last, "cidrBlocks": list(cidrs), **more}


SECURITY = [
    Weakness("inline policy that may do everything", (
        [role(inlinePolicies=[{"name": "all", "policy": doc(allow("*"))}])],
        [role(), aws("iam/RolePolicy", "all", role=ref("role"), policy=doc(allow(["*:*"])))],
    ), [role(), aws("iam/RolePolicy", "some", role=ref("role"), policy=doc(allow(["s3:GetObject"], BUCKET)))]),
    Weakness("administrator attached", (
        [role(managedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"])],
        [role(), aws("iam/RolePolicyAttachment", "admin", role=ref("role"), policyArn="arn:aws:iam::aws:policy/AdministratorAccess")],
    ), [role(), aws("iam/RolePolicyAttachment", "read", role=ref("role"), policyArn="arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")]),
    Weakness("everything but", (
        [role(), aws("iam/RolePolicy", "but", role=ref("role"), policy=doc({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}))],
        [aws("iam/Policy", "but", policy=doc({"Effect": "Allow", "NotAction": ["organizations:*"], "Resource": ["*"]}))],
    ), [aws("iam/Policy", "some", policy=doc(allow("s3:GetObject", BUCKET)))]),
    Weakness("everybody but", (
        group_policy(doc({"Effect": "Allow", "NotPrincipal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "s3:GetObject", "Resource": BUCKET})),
        group_policy(doc({"Effect": "Allow", "NotPrincipal": {"AWS": ["arn:aws:iam::123456789012:user/bob"]}, "Action": ["s3:*"], "Resource": [BUCKET]})),
    ), group_policy(doc({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:role/reader"}, "Action": "s3:GetObject", "Resource": BUCKET},
                        {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": [BUCKET, "arn:aws:s3:::team-data"], "Condition": {"Bool": {"aws:SecureTransport": "false"}}})) + [BLOCKED]),
    Weakness("everybody under a condition that everybody meets", (
        group_policy(doc({"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": BUCKET, "Condition": {"Bool": {"aws:SecureTransport": "true"}}})),
        group_policy(doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "s3:GetObject", "Resource": BUCKET, "Condition": {"StringLike": {"aws:PrincipalArn": "*"}}})),
    ), group_policy(doc({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:role/reader"}, "Action": "s3:GetObject", "Resource": BUCKET},
                        {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": [BUCKET, "arn:aws:s3:::team-data"], "Condition": {"Bool": {"aws:SecureTransport": "false"}}})) + [BLOCKED]),
    Weakness("function called by everybody", (
        [aws("lambda/FunctionUrl", "url", functionName="f", authorizationType="NONE")],
        [aws("lambda/Permission", "open", function="f", action="lambda:InvokeFunction", principal="*")],
    ), [aws("lambda/FunctionUrl", "url", functionName="f", authorizationType="AWS_IAM")]),
    Weakness("the world in two halves", (
        sg(rule(22, 22, "0.0.0.0/1", "128.0.0.0/1")),
        sg(rule(22, 22, "0.0.0.0/2", "64.0.0.0/2"), rule(22, 22, "128.0.0.0/1")),
    ), sg(rule(22, 22, "10.0.0.0/8"))),
    Weakness("a shell for the world", (
        sg(rule(0, 1024, "0.0.0.0/0")),
        [*sg(rule(443, 443, "10.0.0.0/8")), aws("vpc/SecurityGroupIngressRule", "ssh", securityGroupId=ref("web"), ipProtocol="tcp", fromPort=22, toPort=22, cidrIpv6="::/0")],
    ), sg(rule(443, 443, "10.0.0.0/8"))),
    Weakness("every port for the world", (
        sg(rule(0, 0, "0.0.0.0/0", protocol="-1")),
        [*sg(), aws("ec2/SecurityGroupRule", "all", type="ingress", securityGroupId=ref("web"), protocol="all", fromPort=0, toPort=65535, ipv6CidrBlocks=["::/0"])],
    ), sg(rule(443, 443, "10.0.0.0/8"))),
    Weakness("a database port for the world", (
        sg(rule(5432, 5432, "0.0.0.0/0")), sg(rule(6379, 6379, "0.0.0.0/0")),
    ), sg(rule(5432, 5432, "10.0.0.0/8"))),
    Weakness("a key that lives for ever", (
        [aws("iam/User", "bot"), aws("iam/AccessKey", "key", user=ref("bot"))],
        [aws("iam/User", "bot"), aws("iam/UserLoginProfile", "login", user=ref("bot"))],
    ), [role()]),
    Weakness("any repository of the forge", (
        [aws("iam/Role", "ci", assumeRolePolicy=trust(OIDC, WEB, Condition={"StringEquals": AUD, "StringLike": {SUB: "repo:*"}}))],
        [aws("iam/Role", "ci", assumeRolePolicy=trust(OIDC, WEB, Condition={"StringEquals": AUD}))],
    ), [aws("iam/Role", "ci", assumeRolePolicy=trust(OIDC, WEB, Condition={"StringEquals": {**AUD, SUB: "repo:team/app:ref:refs/heads/main"}}))]),
    Weakness("any branch of the repository", (
        [aws("iam/Role", "ci", assumeRolePolicy=trust(OIDC, WEB, Condition={"StringEquals": AUD, "StringLike": {SUB: "repo:team*"}}))],
        [aws("iam/Role", "ci", assumeRolePolicy=trust(OIDC, [WEB], Condition={"StringLike": {**AUD, SUB: "*"}}))],
    ), [aws("iam/Role", "ci", assumeRolePolicy=trust(OIDC, WEB, Condition={"StringEquals": {**AUD, SUB: "repo:team/app:environment:prod"}}))]),
    Weakness("a role for everybody", (
        [aws("iam/Role", "r", assumeRolePolicy=trust("*"))],
        [aws("iam/Role", "r", assumeRolePolicy=trust({"AWS": ["*"]}))],
    ), [role()]),
    Weakness("a known key in a script", (
        [aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="m6i.large", metadataOptions={"httpTokens": "required"}, userData="export AWS_ACCESS_KEY_ID=AKIAQ3EGRVX4ZJ7TPLKM\nexport AWS_SECRET_ACCESS_KEY=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")],
        [aws("lambda/Function", "f", role="r", environment={"variables": {"GITHUB_TOKEN": "ghp_A7dK29sLqPzXw83mVtYb5RcNf0GhJe14UiOo"}})],
    ), [aws("lambda/Function", "f", role="r", environment={"variables": {"LOG_LEVEL": "info"}})]),
    Weakness("a password in an environment", (
        [aws("lambda/Function", "f", role="r", environment={"variables": {"DB_PASSWORD": "tR7!xQ2pLm9Zk4Vb"}})],
        [aws("ecs/TaskDefinition", "t", family="f", containerDefinitions=json.dumps([{"name": "a", "image": "a@sha256:1", "environment": [{"name": "API_KEY", "value": "9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUo"}]}]))],
    ), [aws("ecs/TaskDefinition", "t", family="f", containerDefinitions=json.dumps([{"name": "a", "image": "a@sha256:1", "environment": [{"name": "MODE", "value": "batch"}]}]))]),
    Weakness("a private key in plain text", (
        [aws("ssm/Parameter", "p", type="String", value="-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq\n-----END RSA PRIVATE KEY-----")],
        [aws("ssm/Document", "d", documentType="Command", content='{"password": "hunter2-Kq8ZpT5vR1"}')],
    ), [aws("ssm/Parameter", "p", type="String", value="eu-west-1")]),
    Weakness("a database that the world reaches", (
        [aws("rds/Instance", "db", engine="postgres", instanceClass="db.t3.medium", storageEncrypted=True, publiclyAccessible=True)],
        [aws("redshift/Cluster", "dw", nodeType="ra3.large", encrypted=True, publiclyAccessible=True)],
    ), [aws("rds/Instance", "db", engine="postgres", instanceClass="db.t3.medium", storageEncrypted=True, publiclyAccessible=False)]),
    Weakness("a bucket for everybody", (
        [aws("s3/Bucket", "b", acl="public-read")],
        [aws("s3/Bucket", "b"), aws("s3/BucketPublicAccessBlock", "o", bucket=ref("b"), blockPublicAcls=False, blockPublicPolicy=False, ignorePublicAcls=False, restrictPublicBuckets=False)],
    ), [aws("s3/Bucket", "b"), aws("s3/BucketPublicAccessBlock", "o", bucket=ref("b"), blockPublicAcls=True, blockPublicPolicy=True, ignorePublicAcls=True, restrictPublicBuckets=True)]),
    Weakness("a bucket written by everybody", (
        [aws("s3/Bucket", "b"), aws("s3/BucketAcl", "o", bucket=ref("b"), acl="public-read-write")],
        [aws("s3/Bucket", "b"), aws("s3/BucketAcl", "o", bucket=ref("b"), accessControlPolicy={"owner": {"id": "1"}, "grants": [{"permission": "WRITE", "grantee": {"type": "Group", "uri": "http://acs.amazonaws.com/groups/global/AllUsers"}}]})],
    ), [aws("s3/Bucket", "b"), PRIVATE, aws("s3/BucketAcl", "o", bucket=ref("b"), acl="private")]),
    Weakness("a key for everybody", (
        [aws("kms/Key", "k", enableKeyRotation=True, policy=doc({"Effect": "Allow", "Principal": "*", "Action": "kms:*", "Resource": "*"}))],
        [aws("kms/Key", "k", enableKeyRotation=True), aws("kms/KeyPolicy", "p", keyId=ref("k"), policy=doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:Decrypt", "Resource": "*"}))],
    ), [aws("kms/Key", "k", enableKeyRotation=True, policy=doc({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*", "Resource": "*"}))]),
    Weakness("a queue or topic for everybody", (
        [aws("sqs/Queue", "q"), aws("sqs/QueuePolicy", "p", queueUrl=ref("q"), policy=doc({"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}))],
        [aws("sns/Topic", "t"), aws("sns/TopicPolicy", "p", arn=ref("t"), policy=doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sns:*", "Resource": "*"}))],
    ), [aws("sqs/Queue", "q"), aws("sqs/QueuePolicy", "p", queueUrl=ref("q"), policy=doc({"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": "*", "Condition": {"ArnEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:123456789012:t"}}}))]),
    Weakness("images for everybody", (
        [aws("ecr/Repository", "r", imageTagMutability="IMMUTABLE"), aws("ecr/RepositoryPolicy", "p", repository=ref("r"), policy=doc({"Effect": "Allow", "Principal": "*", "Action": "ecr:BatchGetImage"}))],
        [aws("ecr/Repository", "r", imageTagMutability="IMMUTABLE"), aws("ecr/RepositoryPolicy", "p", repository=ref("r"), policy=doc({"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": ["ecr:*"]}))],
    ), [aws("ecr/Repository", "r", imageTagMutability="IMMUTABLE"), aws("ecr/RepositoryPolicy", "p", repository=ref("r"), policy=doc({"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:role/ci"}, "Action": ["ecr:BatchGetImage"]}))]),
    Weakness("a secret for everybody", (
        [aws("secretsmanager/Secret", "s", policy=doc({"Effect": "Allow", "Principal": "*", "Action": "secretsmanager:GetSecretValue", "Resource": "*"}))],
        [aws("secretsmanager/Secret", "s"), aws("secretsmanager/SecretPolicy", "p", secretArn=ref("s"), policy=doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "secretsmanager:*", "Resource": "*"}))],
    ), [aws("secretsmanager/Secret", "s")]),
    Weakness("a role that makes itself administrator", (
        [role(), aws("iam/RolePolicy", "p", role=ref("role"), policy=doc(allow(["iam:AttachRolePolicy", "iam:PutRolePolicy"])))],
        [aws("iam/Policy", "p", policy=doc(allow("iam:CreatePolicyVersion")))],
    ), [aws("iam/Policy", "p", policy=doc(allow("iam:GetRole")))]),
    Weakness("any role handed to any service", (
        [role(), aws("iam/RolePolicy", "p", role=ref("role"), policy=doc(allow("iam:PassRole")))],
        [aws("iam/Policy", "p", policy=doc(allow(["ec2:RunInstances", "iam:Pass*"])))],
    ), [aws("iam/Policy", "p", policy=doc(allow("iam:PassRole", "arn:aws:iam::123456789012:role/job", Condition={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}})))]),
    Weakness("any role of the account", (
        [role(), aws("iam/RolePolicy", "p", role=ref("role"), policy=doc(allow("sts:AssumeRole")))],
        [aws("iam/Policy", "p", policy=doc(allow(["sts:*"])))],
    ), [aws("iam/Policy", "p", policy=doc(allow("sts:AssumeRole", "arn:aws:iam::123456789012:role/reader")))]),
    Weakness("metadata without a token", (
        [aws("ec2/Instance", "box", ami="ami-1", instanceType="m6i.large", metadataOptions={"httpTokens": "optional"})],
        [aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="m6i.large", metadataOptions={"httpEndpoint": "enabled", "httpTokens": "optional"})],
    ), [aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="m6i.large", metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1})]),
    Weakness("a cluster's door for the world", (
        [aws("eks/Cluster", "c", roleArn="r", version="1.34", vpcConfig={"subnetIds": ["a", "b"], "endpointPublicAccess": True, "endpointPrivateAccess": True})],
        [aws("eks/Cluster", "c", roleArn="r", version="1.34", vpcConfig={"subnetIds": ["a", "b"], "publicAccessCidrs": ["0.0.0.0/0"]})],
    ), [aws("eks/Cluster", "c", roleArn="r", version="1.34", enabledClusterLogTypes=["api", "audit", "authenticator"], encryptionConfig={"resources": ["secrets"], "provider": {"keyArn": "k"}}, vpcConfig={"subnetIds": ["a", "b"], "endpointPublicAccess": False, "endpointPrivateAccess": True})]),
    Weakness("a search domain for everybody", (
        [aws("opensearch/Domain", "d", accessPolicies=doc({"Effect": "Allow", "Principal": "*", "Action": "es:*", "Resource": "*"}))],
        [aws("opensearch/Domain", "d"), aws("opensearch/DomainPolicy", "p", domainName="d", accessPolicies=doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "es:ESHttp*", "Resource": "*"}))],
    ), [aws("opensearch/Domain", "d", vpcOptions={"subnetIds": ["a"]})]),
    Weakness("a file system for everybody", (
        [aws("efs/FileSystem", "f", encrypted=True), aws("efs/FileSystemPolicy", "p", fileSystemId=ref("f"), policy=doc({"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "elasticfilesystem:ClientMount", "Resource": "*"}))],
        [aws("efs/FileSystem", "f", encrypted=True), aws("efs/FileSystemPolicy", "p", fileSystemId=ref("f"), policy=doc({"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"}))],
    ), [aws("efs/FileSystem", "f", encrypted=True)]),
    Weakness("disks in plain text", (
        [aws("ebs/Volume", "v", availabilityZone="us-east-1a", size=10, encrypted=False)],
        [aws("rds/Instance", "db", engine="postgres", instanceClass="db.t3.medium", storageEncrypted=False)],
    ), [aws("rds/Instance", "db", engine="postgres", instanceClass="db.t3.medium", storageEncrypted=True)]),
    Weakness("images shared with everybody", (
        [aws("ec2/AmiLaunchPermission", "p", imageId="ami-1", group="all")],
        [aws("ec2/SnapshotCreateVolumePermission", "p", snapshotId="snap-1", accountId="all")],
    ), [aws("ec2/AmiLaunchPermission", "p", imageId="ami-1", accountId="123456789012")]),
    Weakness("a plan bought by a pull request", (
        [aws("savingsplans/SavingsPlan", "p", savingsPlanOfferingId="o", commitment="10.0")],
        [aws("rds/ReservedInstance", "p", offeringId="o", instanceCount=4)],
    ), [role()]),
    Weakness("capacity held without an end", (
        [aws("ec2/CapacityReservation", "r", instanceType="g6e.12xlarge", instancePlatform="Linux/UNIX", availabilityZone="us-east-1a", instanceCount=2)],
        [aws("ec2/CapacityReservation", "r", instanceType="p5.48xlarge", instancePlatform="Linux/UNIX", availabilityZone="us-east-1a", instanceCount=1, endDateType="unlimited")],
    ), [role()]),
    Weakness("a notebook on the internet", (
        [aws("sagemaker/NotebookInstance", "n", instanceType="ml.t3.medium", roleArn="r", directInternetAccess="Enabled", lifecycleConfigName="stop", rootAccess="Disabled", instanceMetadataServiceConfiguration={"minimumInstanceMetadataServiceVersion": "2"})],
        [aws("sagemaker/Domain", "d", domainName="d", authMode="IAM", appNetworkAccessType="PublicInternetOnly", defaultUserSettings={"executionRole": "r"})],
    ), [role()]),
]

LT = aws("ec2/LaunchTemplate", "lt", imageId="ami-1", instanceType="g6e.12xlarge", metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 100, "encrypted": "true"}}])


def group(**more: object) -> Row:
    stated = {"minSize": 0, "maxSize": 2, "desiredCapacity": 1, "launchTemplate": {"id": ref("lt"), "version": "$Latest"}}
    return aws("autoscaling/Group", "gpu", name="gpu", vpcZoneIdentifiers=["s"], **{**stated, **more})


def schedule(name: str, **more: object) -> Row:
    return aws("autoscaling/Schedule", name, scheduledActionName=name, autoscalingGroupName=ref("gpu"), **more)


def alarm(**more: object) -> Row:
    stated = {
        "namespace": "CWAgent", "metricName": "nvidia_smi_utilization_gpu", "statistic": "Maximum", "period": 300,
        "evaluationPeriods": 6, "threshold": 5, "comparisonOperator": "LessThanThreshold",
        "dimensions": {"AutoScalingGroupName": ref("gpu")}, "alarmActions": [ref("down")], "treatMissingData": "notBreaching",
    }
    return aws("cloudwatch/MetricAlarm", "idle", **{**stated, **more})


DOWN = aws("autoscaling/Policy", "down", autoscalingGroupName=ref("gpu"), policyType="SimpleScaling", adjustmentType="ExactCapacity", scalingAdjustment=0)
NIGHT = [schedule("on", recurrence="0 7 * * MON-FRI", minSize=0, maxSize=2, desiredCapacity=1), schedule("off", recurrence="0 20 * * *", minSize=0, maxSize=2, desiredCapacity=0)]
CFG = aws("sagemaker/EndpointConfiguration", "cfg", name="cfg", productionVariants=[{"variantName": "a", "modelName": "m", "instanceType": "ml.g6e.12xlarge", "initialInstanceCount": 2}])
ENDPOINT = aws("sagemaker/Endpoint", "chat", name="chat", endpointConfigName=ref("cfg"))


def target(**more: object) -> Row:
    stated = {"serviceNamespace": "sagemaker", "scalableDimension": "sagemaker:variant:DesiredInstanceCount", "resourceId": "endpoint/chat/variant/a", "minCapacity": 0, "maxCapacity": 2}
    return aws("appautoscaling/Target", "t", **{**stated, **more})


TRACK = aws("appautoscaling/Policy", "p", policyType="TargetTrackingScaling", serviceNamespace="sagemaker", scalableDimension="sagemaker:variant:DesiredInstanceCount", resourceId="endpoint/chat/variant/a", targetTrackingScalingPolicyConfiguration={"targetValue": 5, "predefinedMetricSpecification": {"predefinedMetricType": "SageMakerVariantInvocationsPerInstance"}})
GUARDED = [LT, group(), *NIGHT]
SERVED = [CFG, ENDPOINT, target(), TRACK]

SPEND = [
    Weakness("a group without any guard", ([LT, group()], [LT, group(minSize=1, maxSize=1)]), GUARDED, "dev"),
    Weakness("a schedule that only starts", (
        [LT, group(), schedule("on", recurrence="0 7 * * *", minSize=0, maxSize=2, desiredCapacity=2)],
        [LT, group(), schedule("on", recurrence="0 7 * * *", minSize=2, maxSize=2), schedule("more", recurrence="0 12 * * *", minSize=2, maxSize=4)],
    ), GUARDED, "dev"),
    Weakness("one stop in the far future", (
        [LT, group(), schedule("off", startTime="2099-01-01T00:00:00Z", minSize=0, maxSize=0, desiredCapacity=0)],
        [LT, group(), schedule("off", recurrence="0 0 1 1 *", minSize=0, maxSize=2, desiredCapacity=0)],
    ), GUARDED, "dev"),
    Weakness("a schedule of another group", (
        [LT, group(), {**schedule("off", recurrence="0 20 * * *", minSize=0, maxSize=2, desiredCapacity=0), "inputs": {"scheduledActionName": "off", "autoscalingGroupName": "other", "recurrence": "0 20 * * *", "minSize": 0, "maxSize": 2, "desiredCapacity": 0}}],
        [LT, group(), aws("autoscaling/Group", "web", name="web", minSize=0, maxSize=1, vpcZoneIdentifiers=["s"]), aws("autoscaling/Schedule", "off", scheduledActionName="off", autoscalingGroupName=ref("web"), recurrence="0 20 * * *", minSize=0, maxSize=1, desiredCapacity=0)],
    ), GUARDED, "dev"),
    Weakness("an alarm on the wrong metric", (
        [LT, group(), DOWN, alarm(namespace="AWS/EC2", metricName="CPUUtilization")],
        [LT, group(), DOWN, alarm(namespace="AWS/EC2", metricName="DiskReadOps")],
    ), GUARDED, "dev"),
    Weakness("an alarm in the wrong direction", (
        [LT, group(), DOWN, alarm(comparisonOperator="GreaterThanThreshold", threshold=90)],
        [LT, group(), DOWN, alarm(comparisonOperator="GreaterThanOrEqualToThreshold")],
    ), GUARDED, "dev"),
    Weakness("an alarm that does nothing", (
        [LT, group(), DOWN, alarm(alarmActions=[])],
        [LT, group(), DOWN, alarm(actionsEnabled=False)],
    ), GUARDED, "dev"),
    Weakness("scaling that only goes out", (
        [LT, group(minSize=1), aws("autoscaling/Policy", "up", autoscalingGroupName=ref("gpu"), policyType="SimpleScaling", adjustmentType="ChangeInCapacity", scalingAdjustment=1)],
        [LT, group(), aws("autoscaling/Policy", "up", autoscalingGroupName=ref("gpu"), policyType="TargetTrackingScaling", targetTrackingConfiguration={"targetValue": 50, "disableScaleIn": True, "predefinedMetricSpecification": {"predefinedMetricType": "ASGAverageCPUUtilization"}})],
    ), GUARDED, "dev"),
    Weakness("an alarm that scales out", (
        [LT, group(), aws("autoscaling/Policy", "down", autoscalingGroupName=ref("gpu"), policyType="SimpleScaling", adjustmentType="ChangeInCapacity", scalingAdjustment=2), alarm()],
        [LT, group(), aws("autoscaling/Policy", "down", autoscalingGroupName=ref("gpu"), policyType="SimpleScaling", adjustmentType="ExactCapacity", scalingAdjustment=2), alarm()],
    ), GUARDED, "dev"),
    Weakness("a machine that nobody stops", (
        [aws("ec2/Instance", "box", ami="ami-1", instanceType="g6e.12xlarge", metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, rootBlockDevice={"encrypted": True})],
        [aws("ec2/SpotInstanceRequest", "box", ami="ami-1", instanceType="g6e.12xlarge", spotType="persistent", metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1}, rootBlockDevice={"encrypted": True})],
    ), GUARDED, "dev"),
    Weakness("a node group that cannot be empty", (
        [aws("eks/NodeGroup", "gpu", clusterName="c", nodeRoleArn="r", subnetIds=["s"], instanceTypes=["g6e.12xlarge"], scalingConfig={"minSize": 2, "desiredSize": 2, "maxSize": 4})],
        [aws("eks/NodeGroup", "gpu", clusterName="c", nodeRoleArn="r", subnetIds=["s"], launchTemplate={"id": ref("lt"), "version": "1"}, scalingConfig={"minSize": 1, "desiredSize": 1, "maxSize": 1}), LT],
    ), GUARDED, "dev"),
    Weakness("a fleet that is kept up", (
        [LT, aws("ec2/Fleet", "f", type="maintain", terminateInstances=True, launchTemplateConfigs=[{"launchTemplateSpecification": {"launchTemplateId": ref("lt"), "version": "1"}}], targetCapacitySpecification={"defaultTargetCapacityType": "on-demand", "totalTargetCapacity": 4})],
        [LT, aws("ec2/SpotFleetRequest", "f", iamFleetRole="r", fleetType="maintain", targetCapacity=4, terminateInstancesWithExpiration=True, launchTemplateConfigs=[{"launchTemplateSpecification": {"id": ref("lt"), "version": "1"}}])],
    ), GUARDED, "dev"),
    Weakness("machines chosen by what they have", (
        [aws("ec2/LaunchTemplate", "any", imageId="ami-1", instanceRequirements={"acceleratorTypes": ["gpu"], "acceleratorCount": {"min": 1}, "vcpuCount": {"min": 4}, "memoryMib": {"min": 1024}}, metadataOptions={"httpTokens": "required"}), group(launchTemplate={"id": ref("any"), "version": "1"}, minSize=1)],
        [aws("ec2/LaunchTemplate", "any", imageId="ami-1", metadataOptions={"httpTokens": "required"}), aws("autoscaling/Group", "gpu", minSize=1, maxSize=4, vpcZoneIdentifiers=["s"], mixedInstancesPolicy={"launchTemplate": {"launchTemplateSpecification": {"launchTemplateId": ref("any")}, "overrides": [{"instanceRequirements": {"acceleratorManufacturers": ["nvidia"], "acceleratorCount": {"min": 1}}}]}})],
    ), GUARDED, "dev"),
    Weakness("an endpoint that never scales", ([CFG, ENDPOINT], [CFG, ENDPOINT, target(minCapacity=2, maxCapacity=2)]), SERVED),
    Weakness("scaling of another endpoint", (
        [CFG, ENDPOINT, target(resourceId="endpoint/other/variant/a"), {**TRACK, "inputs": {**TRACK["inputs"], "resourceId": "endpoint/other/variant/a"}}],
        [CFG, ENDPOINT, target(resourceId="endpoint/chat/variant/b"), {**TRACK, "inputs": {**TRACK["inputs"], "resourceId": "endpoint/chat/variant/b"}}],
    ), SERVED),
    Weakness("an endpoint that only scales out", (
        [CFG, ENDPOINT, target(), {**TRACK, "inputs": {**TRACK["inputs"], "targetTrackingScalingPolicyConfiguration": {"targetValue": 5, "disableScaleIn": True}}}],
        [CFG, ENDPOINT, target(), aws("appautoscaling/Policy", "p", policyType="StepScaling", serviceNamespace="sagemaker", scalableDimension="sagemaker:variant:DesiredInstanceCount", resourceId="endpoint/chat/variant/a", stepScalingPolicyConfiguration={"adjustmentType": "ChangeInCapacity", "stepAdjustments": [{"scalingAdjustment": 1, "metricIntervalLowerBound": "0"}]})],
    ), SERVED),
    Weakness("a notebook that nobody stops", (
        [aws("sagemaker/NotebookInstance", "n", instanceType="ml.g6e.12xlarge", roleArn="r", directInternetAccess="Disabled", subnetId="s", rootAccess="Disabled", instanceMetadataServiceConfiguration={"minimumInstanceMetadataServiceVersion": "2"})],
        [aws("sagemaker/NotebookInstance", "n", instanceType="ml.g6e.12xlarge", roleArn="r", directInternetAccess="Disabled", subnetId="s", rootAccess="Disabled", lifecycleConfigName=ref("l"), instanceMetadataServiceConfiguration={"minimumInstanceMetadataServiceVersion": "2"}), aws("sagemaker/NotebookInstanceLifecycleConfiguration", "l", onStart="cGlwIGluc3RhbGwgdG9yY2g=")],
    ), [role()], "dev"),
    Weakness("a studio idle for a month", (
        [aws("sagemaker/Domain", "d", domainName="d", authMode="IAM", appNetworkAccessType="VpcOnly", vpcId="v", subnetIds=["s"], defaultUserSettings={"executionRole": "r", "jupyterLabAppSettings": {"appLifecycleManagement": {"idleSettings": {"lifecycleManagement": "ENABLED", "idleTimeoutInMinutes": 43200}}}}), aws("sagemaker/Space", "s", domainId=ref("d"), spaceName="s", spaceSettings={"appType": "JupyterLab", "jupyterLabAppSettings": {"defaultResourceSpec": {"instanceType": "ml.g6e.12xlarge"}}})],
        [aws("sagemaker/App", "a", domainId="d", userProfileName="u", appType="JupyterLab", appName="default", resourceSpec={"instanceType": "ml.g6e.12xlarge"})],
    ), [role()], "dev"),
    Weakness("batch machines that stay", (
        [aws("batch/ComputeEnvironment", "b", type="MANAGED", computeResources={"type": "EC2", "minVcpus": 48, "desiredVcpus": 48, "maxVcpus": 96, "instanceTypes": ["g6e.12xlarge"], "subnets": ["s"], "securityGroupIds": ["g"]})],
        [aws("batch/ComputeEnvironment", "b", type="MANAGED", computeResources={"type": "SPOT", "minVcpus": 8, "maxVcpus": 96, "instanceTypes": ["g6e"], "subnets": ["s"], "securityGroupIds": ["g"], "allocationStrategy": "SPOT_PRICE_CAPACITY_OPTIMIZED"})],
    ), [aws("batch/ComputeEnvironment", "b", type="MANAGED", computeResources={"type": "EC2", "minVcpus": 0, "maxVcpus": 96, "instanceTypes": ["g6e.12xlarge"], "subnets": ["s"], "securityGroupIds": ["g"], "allocationStrategy": "BEST_FIT_PROGRESSIVE"})], "dev"),
    Weakness("a cluster of EMR that stays", (
        [aws("emr/Cluster", "e", releaseLabel="emr-7.5.0", serviceRole="r", masterInstanceGroup={"instanceType": "m6i.xlarge"}, coreInstanceGroup={"instanceType": "g6e.12xlarge", "instanceCount": 2}, keepJobFlowAliveWhenNoSteps=True)],
        [aws("emr/Cluster", "e", releaseLabel="emr-7.5.0", serviceRole="r", masterInstanceGroup={"instanceType": "g6e.12xlarge"}, keepJobFlowAliveWhenNoSteps=True, autoTerminationPolicy={"idleTimeout": 604800})],
    ), [role()], "dev"),
]

WEAKNESSES = [*SECURITY, *SPEND]
