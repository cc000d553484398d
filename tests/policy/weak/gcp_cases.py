"""Google Cloud: weaknesses in the spellings that programs use; from the provider's inputs and Google's guides, from memory."""

# fmt: off
from __future__ import annotations

from weak.rows import Row, Weakness, gcp, ref

BUCKET = gcp("storage/Bucket", "b", name="team-data", location="us-central1", uniformBucketLevelAccess=True, publicAccessPrevention="inherited")
CLOSED = gcp("storage/Bucket", "b", name="team-data", location="us-central1", uniformBucketLevelAccess=True, publicAccessPrevention="enforced")
ACCOUNT = gcp("serviceaccount/Account", "sa", accountId="worker")
TEAM = "group:ml@example.com"


def firewall(*ranges: str, **more: object) -> Row:
    stated = {"network": "n", "direction": "INGRESS", "sourceRanges": list(ranges), "allows": [{"protocol": "tcp", "ports": ["22"]}]}
    return gcp("compute/Firewall", "fw", **{**stated, **more})


def cluster(**more: object) -> Row:
    stated = {
        "location": "us-central1-a", "initialNodeCount": 1, "removeDefaultNodePool": True, "deletionProtection": True,
        "releaseChannel": {"channel": "REGULAR"}, "workloadIdentityConfig": {"workloadPool": "p.svc.id.goog"},
        "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": True},
        "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "10.0.0.0/8"}]},
        "networkPolicy": {"enabled": True}, "enableShieldedNodes": True, "datapathProvider": "ADVANCED_DATAPATH",
    }
    return gcp("container/Cluster", "c", **{**stated, **more})


def provider(**more: object) -> list[Row]:
    return [
        gcp("iam/WorkloadIdentityPool", "pool", workloadIdentityPoolId="ci"),
        gcp("iam/WorkloadIdentityPoolProvider", "gh", workloadIdentityPoolId=ref("pool"), workloadIdentityPoolProviderId="gh", attributeMapping={"google.subject": "assertion.sub", "attribute.repository": "assertion.repository"}, oidc={"issuerUri": "https://token.actions.githubusercontent.com"}, **more),
    ]


def machine(**more: object) -> Row:
    stated = {
        "zone": "us-central1-a", "machineType": "n2-standard-4", "bootDisk": {"initializeParams": {"image": "debian-12"}},
        "networkInterfaces": [{"network": "n"}], "serviceAccount": {"email": ref("sa"), "scopes": ["cloud-platform"]},
        "metadata": {"enable-oslogin": "TRUE", "block-project-ssh-keys": "true"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True},
    }
    return gcp("compute/Instance", "vm", **{**stated, **more})


SECURITY = [
    Weakness("a bucket for everybody", (
        [BUCKET, gcp("storage/BucketIAMMember", "m", bucket=ref("b"), role="roles/storage.objectViewer", member="allUsers")],
        [BUCKET, gcp("storage/BucketIAMBinding", "m", bucket=ref("b"), role="roles/storage.objectViewer", members=["allAuthenticatedUsers"])],
    ), [CLOSED, gcp("storage/BucketIAMMember", "m", bucket=ref("b"), role="roles/storage.objectViewer", member=TEAM)]),
    Weakness("objects for everybody", (
        [gcp("storage/Bucket", "b", name="team-data", location="US"), gcp("storage/BucketAccessControl", "m", bucket=ref("b"), entity="allUsers", role="READER")],
        [gcp("storage/Bucket", "b", name="team-data", location="US"), gcp("storage/DefaultObjectACL", "m", bucket=ref("b"), roleEntities=["READER:allUsers"])],
    ), [CLOSED]),
    Weakness("a bucket policy for everybody", (
        [BUCKET, gcp("storage/BucketIAMPolicy", "m", bucket=ref("b"), policyData='{"bindings":[{"role":"roles/storage.objectViewer","members":["allUsers"]}]}')],
        [BUCKET, gcp("storage/BucketACL", "m", bucket=ref("b"), predefinedAcl="publicRead")],
    ), [CLOSED]),
    Weakness("a service called by everybody", (
        [gcp("cloudrunv2/Service", "s", location="us-central1", ingress="INGRESS_TRAFFIC_ALL", template={"containers": [{"image": "a@sha256:1"}]}), gcp("cloudrunv2/ServiceIamMember", "m", name=ref("s"), location="us-central1", role="roles/run.invoker", member="allUsers")],
        [gcp("cloudrun/IamBinding", "m", service="s", location="us-central1", role="roles/run.invoker", members=["allUsers"])],
    ), [gcp("cloudrunv2/ServiceIamMember", "m", name="s", location="us-central1", role="roles/run.invoker", member=TEAM)]),
    Weakness("a function called by everybody", (
        [gcp("cloudfunctions/FunctionIamMember", "m", cloudFunction="f", role="roles/cloudfunctions.invoker", member="allUsers")],
        [gcp("cloudfunctionsv2/FunctionIamBinding", "m", cloudFunction="f", role="roles/cloudfunctions.invoker", members=["allAuthenticatedUsers"])],
    ), [gcp("cloudfunctions/FunctionIamMember", "m", cloudFunction="f", role="roles/cloudfunctions.invoker", member=TEAM)]),
    Weakness("messages of everybody", (
        [gcp("pubsub/Topic", "t"), gcp("pubsub/TopicIAMMember", "m", topic=ref("t"), role="roles/pubsub.publisher", member="allUsers")],
        [gcp("pubsub/SubscriptionIAMBinding", "m", subscription="s", role="roles/pubsub.subscriber", members=["allAuthenticatedUsers"])],
    ), [gcp("pubsub/Topic", "t"), gcp("pubsub/TopicIAMMember", "m", topic=ref("t"), role="roles/pubsub.publisher", member=TEAM)]),
    Weakness("a key or secret for everybody", (
        [gcp("kms/CryptoKeyIAMMember", "m", cryptoKeyId="k", role="roles/cloudkms.cryptoKeyDecrypter", member="allUsers")],
        [gcp("secretmanager/SecretIamMember", "m", secretId="s", role="roles/secretmanager.secretAccessor", member="allAuthenticatedUsers")],
    ), [gcp("secretmanager/SecretIamMember", "m", secretId="s", role="roles/secretmanager.secretAccessor", member=TEAM)]),
    Weakness("tables for everybody", (
        [gcp("bigquery/Dataset", "d", datasetId="d", location="US", accesses=[{"role": "READER", "specialGroup": "allAuthenticatedUsers"}])],
        [gcp("bigquery/DatasetIamMember", "m", datasetId="d", role="roles/bigquery.dataViewer", member="allUsers")],
    ), [gcp("bigquery/DatasetIamMember", "m", datasetId="d", role="roles/bigquery.dataViewer", member=TEAM)]),
    Weakness("images for everybody", (
        [gcp("artifactregistry/RepositoryIamMember", "m", repository="r", location="us-central1", role="roles/artifactregistry.reader", member="allUsers")],
        [gcp("artifactregistry/RepositoryIamBinding", "m", repository="r", location="us-central1", role="roles/artifactregistry.writer", members=["allAuthenticatedUsers"])],
    ), [gcp("artifactregistry/RepositoryIamMember", "m", repository="r", location="us-central1", role="roles/artifactregistry.reader", member=TEAM)]),
    Weakness("owner of the project", (
        [ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/owner", member=ref("sa"))],
        [ACCOUNT, gcp("projects/IAMBinding", "m", project="p", role="roles/editor", members=["serviceAccount:worker@p.iam.gserviceaccount.com"])],
    ), [ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/logging.logWriter", member=ref("sa"))]),
    Weakness("tokens of every account", (
        [ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/iam.serviceAccountTokenCreator", member=ref("sa"))],
        [ACCOUNT, gcp("projects/IAMBinding", "m", project="p", role="roles/iam.serviceAccountUser", members=["serviceAccount:worker@p.iam.gserviceaccount.com"])],
    ), [ACCOUNT, gcp("serviceaccount/IAMMember", "m", serviceAccountId=ref("sa"), role="roles/iam.serviceAccountUser", member=TEAM)]),
    Weakness("an account for everybody", (
        [ACCOUNT, gcp("serviceaccount/IAMMember", "m", serviceAccountId=ref("sa"), role="roles/iam.serviceAccountTokenCreator", member="allAuthenticatedUsers")],
        [ACCOUNT, gcp("serviceaccount/IAMBinding", "m", serviceAccountId=ref("sa"), role="roles/iam.workloadIdentityUser", members=["allUsers"])],
    ), [ACCOUNT, gcp("serviceaccount/IAMMember", "m", serviceAccountId=ref("sa"), role="roles/iam.serviceAccountUser", member=TEAM)]),
    Weakness("an administrator of rights", (
        [ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/resourcemanager.projectIamAdmin", member=ref("sa"))],
        [ACCOUNT, gcp("organizations/IAMMember", "m", orgId="1", role="roles/iam.securityAdmin", member=ref("sa"))],
    ), [ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/monitoring.metricWriter", member=ref("sa"))]),
    Weakness("a key that lives for ever", (
        [ACCOUNT, gcp("serviceaccount/Key", "k", serviceAccountId=ref("sa"))],
        [gcp("storage/HmacKey", "k", serviceAccountEmail="worker@p.iam.gserviceaccount.com")],
    ), [ACCOUNT]),
    Weakness("any repository of the forge", (
        provider(), provider(attributeCondition="true"),
    ), provider(attributeCondition="assertion.repository == 'team/app'")),
    Weakness("everybody in the pool", (
        [ACCOUNT, *provider(attributeCondition="assertion.repository_owner == 'team'"), gcp("serviceaccount/IAMMember", "m", serviceAccountId=ref("sa"), role="roles/iam.workloadIdentityUser", member="principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/*")],
        [ACCOUNT, gcp("projects/IAMMember", "m", project="p", role="roles/editor", member="principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/*")],
    ), [ACCOUNT, gcp("serviceaccount/IAMMember", "m", serviceAccountId=ref("sa"), role="roles/iam.workloadIdentityUser", member="principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/attribute.repository/team/app")]),
    Weakness("a shell for the world", ([firewall("0.0.0.0/0")], [firewall("::/0", allows=[{"protocol": "tcp"}])]), [firewall("35.235.240.0/20")]),
    Weakness("the world in two halves", ([firewall("0.0.0.0/1", "128.0.0.0/1")], [firewall("0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2")]), [firewall("10.0.0.0/8")]),
    Weakness("every port for the world", ([firewall("0.0.0.0/0", allows=[{"protocol": "all"}])], [firewall(allows=[{"protocol": "all"}], sourceRanges=["0.0.0.0/0"])]), [firewall("10.0.0.0/8", allows=[{"protocol": "all"}])]),
    Weakness("a cluster's door for the world", (
        [cluster(privateClusterConfig=None, masterAuthorizedNetworksConfig=None)],
        [cluster(privateClusterConfig={"enablePrivateNodes": True, "enablePrivateEndpoint": False}, masterAuthorizedNetworksConfig={"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]})],
    ), [cluster()]),
    Weakness("old rights in a cluster", ([cluster(enableLegacyAbac=True)], [cluster(masterAuth={"clientCertificateConfig": {"issueClientCertificate": True}})]), [cluster()]),
    Weakness("a database that the world reaches", (
        [gcp("sql/DatabaseInstance", "db", databaseVersion="POSTGRES_15", region="us-central1", settings={"tier": "db-f1-micro", "ipConfiguration": {"ipv4Enabled": True, "authorizedNetworks": [{"value": "0.0.0.0/0"}]}})],
        [gcp("sql/DatabaseInstance", "db", databaseVersion="MYSQL_8_0", region="us-central1", settings={"tier": "db-f1-micro", "ipConfiguration": {"ipv4Enabled": True, "authorizedNetworks": [{"value": "0.0.0.0/1"}, {"value": "128.0.0.0/1"}]}})],
    ), [gcp("sql/DatabaseInstance", "db", databaseVersion="POSTGRES_15", region="us-central1", deletionProtection=True, settings={"tier": "db-f1-micro", "ipConfiguration": {"ipv4Enabled": False, "privateNetwork": "n", "sslMode": "ENCRYPTED_ONLY"}})]),
    Weakness("a secret in a script", (
        [ACCOUNT, machine(metadataStartupScript="export OPENAI_API_KEY=sk-proj-9fK2mXv7QpLr4TzWn8YbHs3DcJg6AeUoT1vR5sLq")],
        [gcp("cloudrunv2/Service", "s", location="us-central1", ingress="INGRESS_TRAFFIC_INTERNAL_ONLY", template={"containers": [{"image": "a@sha256:1", "envs": [{"name": "DB_PASSWORD", "value": "tR7!xQ2pLm9Zk4Vb"}]}]})],
    ), [ACCOUNT, machine(metadataStartupScript="apt-get update")]),
    Weakness("the default account with every right", (
        [machine(serviceAccount={"scopes": ["cloud-platform"]})],
        [machine(serviceAccount={"email": "1-compute@developer.gserviceaccount.com", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]})],
    ), [ACCOUNT, machine()]),
    Weakness("a commitment bought by a pull request", (
        [gcp("compute/RegionCommitment", "c", region="us-central1", plan="THIRTY_SIX_MONTH", type="GENERAL_PURPOSE", resources=[{"type": "VCPU", "amount": "64"}])],
        [gcp("compute/RegionCommitment", "c", region="us-central1", plan="TWELVE_MONTH", autoRenew=True, resources=[{"type": "ACCELERATOR", "amount": "8", "acceleratorType": "nvidia-l4"}])],
    ), [ACCOUNT]),
    Weakness("capacity held without an end", (
        [gcp("compute/Reservation", "r", zone="us-central1-a", specificReservation={"count": 2, "instanceProperties": {"machineType": "g2-standard-48"}})],
        [gcp("compute/Reservation", "r", zone="us-central1-a", specificReservation={"count": 1, "instanceProperties": {"machineType": "n1-standard-8", "guestAccelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 4}]}})],
    ), [ACCOUNT]),
]

GPU_VM = machine(machineType="g2-standard-48", scheduling={"onHostMaintenance": "TERMINATE"})
STOPPED = gcp("compute/ResourcePolicy", "hours", region="us-central1", instanceSchedulePolicy={"timeZone": "UTC", "vmStartSchedule": {"schedule": "0 7 * * *"}, "vmStopSchedule": {"schedule": "0 20 * * *"}})
GOOD_VM = [ACCOUNT, STOPPED, {**GPU_VM, "inputs": {**GPU_VM["inputs"], "resourcePolicies": ref("hours")}}]


def pool(**more: object) -> Row:
    stated = {
        "cluster": "c", "location": "us-central1-a", "management": {"autoRepair": True, "autoUpgrade": True},
        "nodeConfig": {"machineType": "g2-standard-48", "serviceAccount": "w@p.iam.gserviceaccount.com", "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"], "workloadMetadataConfig": {"mode": "GKE_METADATA"}, "shieldedInstanceConfig": {"enableSecureBoot": True}, "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]},
    }
    return gcp("container/NodePool", "gpu", **{**stated, **more})


GOOD_POOL = [pool(initialNodeCount=0, autoscaling={"minNodeCount": 0, "maxNodeCount": 2})]
TEMPLATE = gcp("compute/InstanceTemplate", "it", machineType="g2-standard-48", disks=[{"sourceImage": "debian-12"}], networkInterfaces=[{"network": "n"}], serviceAccount={"email": "w@p.iam.gserviceaccount.com", "scopes": ["cloud-platform"]}, metadata={"block-project-ssh-keys": "true"}, shieldedInstanceConfig={"enableSecureBoot": True})
MIG = gcp("compute/InstanceGroupManager", "mig", zone="us-central1-a", baseInstanceName="w", versions=[{"instanceTemplate": ref("it")}])


def scaler(**policy: object) -> Row:
    return gcp("compute/Autoscaler", "as", zone="us-central1-a", target=ref("mig"), autoscalingPolicy={"maxReplicas": 4, **policy})


SPEND = [
    Weakness("a pool of a fixed size", ([pool(nodeCount=2)], [pool(initialNodeCount=2)]), GOOD_POOL, "dev"),
    Weakness("a pool that cannot be empty", ([pool(autoscaling={"minNodeCount": 2, "maxNodeCount": 4})], [pool(autoscaling={"totalMinNodeCount": 1, "totalMaxNodeCount": 4})]), GOOD_POOL, "dev"),
    Weakness("accelerators hung on a machine", (
        [ACCOUNT, machine(guestAccelerators=[{"type": "nvidia-tesla-t4", "count": 4}], machineType="n1-standard-16", scheduling={"onHostMaintenance": "TERMINATE"})],
        [ACCOUNT, GPU_VM],
    ), GOOD_VM, "dev"),
    Weakness("a schedule that only starts", (
        [ACCOUNT, gcp("compute/ResourcePolicy", "hours", region="us-central1", instanceSchedulePolicy={"timeZone": "UTC", "vmStartSchedule": {"schedule": "0 7 * * *"}}), GOOD_VM[2]],
        [ACCOUNT, gcp("compute/ResourcePolicy", "hours", region="us-central1", snapshotSchedulePolicy={"schedule": {"dailySchedule": {"daysInCycle": 1, "startTime": "04:00"}}}), GOOD_VM[2]],
    ), GOOD_VM, "dev"),
    Weakness("a stop in the far future", (
        [ACCOUNT, gcp("compute/ResourcePolicy", "hours", region="us-central1", instanceSchedulePolicy={"timeZone": "UTC", "startTime": "2099-01-01T00:00:00Z", "vmStopSchedule": {"schedule": "0 20 * * *"}}), GOOD_VM[2]],
        [ACCOUNT, machine(machineType="g2-standard-48", scheduling={"onHostMaintenance": "TERMINATE", "maxRunDuration": {"seconds": 31536000}, "instanceTerminationAction": "STOP"})],
    ), GOOD_VM, "dev"),
    Weakness("a group of a fixed size", ([TEMPLATE, {**MIG, "inputs": {**MIG["inputs"], "targetSize": 2}}], [TEMPLATE, MIG, scaler(minReplicas=2, cpuUtilization={"target": 0.6})]), [TEMPLATE, MIG, scaler(minReplicas=0, scalingSchedules=[{"name": "day", "schedule": "0 8 * * MON-FRI", "durationSec": 36000, "minRequiredReplicas": 1}], cpuUtilization={"target": 0.6})], "dev"),
    Weakness("a group that only grows", (
        [TEMPLATE, MIG, scaler(minReplicas=0, mode="ONLY_SCALE_OUT", cpuUtilization={"target": 0.6})],
        [TEMPLATE, MIG, scaler(minReplicas=0, mode="OFF", cpuUtilization={"target": 0.6})],
    ), [TEMPLATE, MIG, scaler(minReplicas=0, scalingSchedules=[{"name": "day", "schedule": "0 8 * * MON-FRI", "durationSec": 36000, "minRequiredReplicas": 1}], cpuUtilization={"target": 0.6})], "dev"),
    Weakness("TPUs that nobody stops", (
        [gcp("tpu/V2Vm", "t", zone="us-central1-a", runtimeVersion="v2-alpha-tpuv5-lite", acceleratorType="v5litepod-8", serviceAccount={"email": "w@p.iam.gserviceaccount.com"})],
        [gcp("tpu/V2Vm", "t", zone="us-central1-a", runtimeVersion="v2-alpha-tpuv6e", acceleratorConfig={"type": "V6E", "topology": "2x4"})],
    ), GOOD_POOL, "dev"),
    Weakness("an endpoint that cannot be empty", (
        [gcp("vertex/AiEndpointWithModelGardenDeployment", "e", location="us-central1", publisherModelName="m", deployConfig={"dedicatedResources": {"machineSpec": {"machineType": "g2-standard-48"}, "minReplicaCount": 2, "maxReplicaCount": 2}})],
        [gcp("vertex/AiEndpointWithModelGardenDeployment", "e", location="us-central1", huggingFaceModelId="a/b", deployConfig={"dedicatedResources": {"machineSpec": {"machineType": "a2-highgpu-1g", "acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 1}, "minReplicaCount": 1}})],
    ), GOOD_POOL, "dev"),
    Weakness("a workbench that nobody stops", (
        [gcp("workbench/Instance", "w", location="us-central1-a", gceSetup={"machineType": "g2-standard-48", "disablePublicIp": True, "metadata": {"idle-timeout-seconds": "2592000"}})],
        [gcp("workbench/Instance", "w", location="us-central1-a", gceSetup={"machineType": "n1-standard-8", "acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4", "coreCount": "1"}], "disablePublicIp": True})],
    ), [gcp("workbench/Instance", "w", location="us-central1-a", gceSetup={"machineType": "g2-standard-8", "disablePublicIp": True, "serviceAccounts": [{"email": "w@p.iam.gserviceaccount.com"}], "metadata": {"idle-timeout-seconds": "3600", "block-project-ssh-keys": "true"}, "shieldedInstanceConfig": {"enableSecureBoot": True}})], "dev"),
    Weakness("a service that keeps accelerators", (
        [gcp("cloudrunv2/Service", "s", location="us-central1", ingress="INGRESS_TRAFFIC_INTERNAL_ONLY", template={"scaling": {"minInstanceCount": 1}, "nodeSelector": {"accelerator": "nvidia-l4"}, "containers": [{"image": "a@sha256:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]})],
        [gcp("cloudrunv2/Service", "s", location="us-central1", ingress="INGRESS_TRAFFIC_INTERNAL_ONLY", scaling={"minInstanceCount": 2}, template={"nodeSelector": {"accelerator": "nvidia-l4"}, "containers": [{"image": "a@sha256:1", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]})],
    ), GOOD_POOL, "dev"),
    Weakness("a data cluster with accelerators that stays", (
        [gcp("dataproc/Cluster", "d", region="us-central1", clusterConfig={"workerConfig": {"numInstances": 2, "machineType": "n1-standard-8", "accelerators": [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}]}})],
        [gcp("dataproc/Cluster", "d", region="us-central1", clusterConfig={"masterConfig": {"machineType": "g2-standard-48"}, "lifecycleConfig": {"idleDeleteTtl": "2592000s"}})],
    ), GOOD_POOL, "dev"),
    Weakness("accelerators that the cluster makes by itself", (
        [cluster(clusterAutoscaling={"enabled": True, "resourceLimits": [{"resourceType": "cpu", "maximum": 1000}, {"resourceType": "memory", "maximum": 4000}, {"resourceType": "nvidia-l4", "minimum": 4, "maximum": 64}]})],
        [cluster(clusterAutoscaling={"enabled": True, "resourceLimits": [{"resourceType": "cpu", "maximum": 1000}, {"resourceType": "memory", "maximum": 4000}, {"resourceType": "nvidia-tesla-a100", "minimum": 8, "maximum": 8}]})],
    ), [cluster()], "dev"),
    Weakness("a pool inside the cluster", (
        [cluster(removeDefaultNodePool=False, initialNodeCount=2, nodeConfig={"machineType": "g2-standard-48"})],
        [cluster(removeDefaultNodePool=None, initialNodeCount=None, nodePools=[{"name": "gpu", "nodeCount": 2, "nodeConfig": {"machineType": "a2-highgpu-1g"}}])],
    ), [cluster()], "dev"),
]

WEAKNESSES = [*SECURITY, *SPEND]
