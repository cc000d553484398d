"""Google Cloud: what careful teams run, from the provider's inputs and Google's reference architectures, from memory."""

# fmt: off
from __future__ import annotations

from weak.rows import Row, gcp, ref

from sound.programs import Program

LABELS = {"owner": "ml-platform", "environment": "prod", "cost-center": "4711"}
DEV = {**LABELS, "environment": "dev"}
REGISTRY = "us-central1-docker.pkg.dev/team/images"


def account(name: str, *roles: str) -> list[Row]:
    return [
        gcp("serviceaccount/Account", name, accountId=f"{name}-account", displayName=name),
        *(gcp("projects/IAMMember", f"{name}-{role.rsplit('.', 1)[-1].lower()}", project="team", role=role, member=ref(name)) for role in roles),
    ]


def bucket(name: str, **more: object) -> Row:
    return gcp("storage/Bucket", name, name=f"acme-{name}", location="US-CENTRAL1", uniformBucketLevelAccess=True, publicAccessPrevention="enforced", versioning={"enabled": True}, labels=LABELS,
               softDeletePolicy={"retentionDurationSeconds": 604800}, lifecycleRules=[{"action": {"type": "Delete"}, "condition": {"numNewerVersions": 3}}, {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}}], **more)


def template(name: str, kind: str, accelerator: str = "", **more: object) -> Row:
    stated = {
        "machineType": kind, "disks": [{"sourceImage": "projects/team/global/images/inference-20261101", "boot": True, "autoDelete": True, "diskSizeGb": 200, "diskType": "pd-ssd"}],
        "networkInterfaces": [{"network": "projects/team/global/networks/main", "subnetwork": "projects/team/regions/us-central1/subnetworks/serving"}],
        "serviceAccount": {"email": ref("worker"), "scopes": ["cloud-platform"]}, "labels": LABELS,
        "metadata": {"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True},
        "scheduling": {"onHostMaintenance": "TERMINATE", "automaticRestart": True},
    }
    if accelerator:
        stated["guestAccelerators"] = [{"type": accelerator, "count": 1}]
    return gcp("compute/InstanceTemplate", name, **{**stated, **more})


def cluster(name: str, **more: object) -> Row:
    stated = {
        "location": "us-central1", "initialNodeCount": 1, "removeDefaultNodePool": True, "deletionProtection": True, "resourceLabels": LABELS,
        "releaseChannel": {"channel": "REGULAR"}, "workloadIdentityConfig": {"workloadPool": "team.svc.id.goog"}, "datapathProvider": "ADVANCED_DATAPATH",
        "privateClusterConfig": {"enablePrivateNodes": True, "enablePrivateEndpoint": True, "masterIpv4CidrBlock": "172.16.0.0/28"},
        "masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "10.0.0.0/8", "displayName": "company"}]},
        "ipAllocationPolicy": {}, "networkingMode": "VPC_NATIVE", "enableShieldedNodes": True, "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
        "maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "03:00"}}, "nodeConfig": {"serviceAccount": ref("worker")},
    }
    return gcp("container/Cluster", name, **{**stated, **more})


def pool(name: str, of: str, kind: str, autoscaling: dict[str, object] | None, accelerator: str = "", **more: object) -> Row:
    node = {
        "machineType": kind, "serviceAccount": ref("worker"), "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"], "labels": LABELS, "diskSizeGb": 200, "diskType": "pd-ssd",
        "workloadMetadataConfig": {"mode": "GKE_METADATA"}, "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True}, "metadata": {"disable-legacy-endpoints": "true"},
    }
    if accelerator:
        node["guestAccelerators"] = [{"type": accelerator, "count": 1, "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}]
        node["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    return gcp("container/NodePool", name, cluster=ref(of), location="us-central1", autoscaling=autoscaling, nodeConfig={**node, **more}, management={"autoRepair": True, "autoUpgrade": True})


WORKER = account("worker", "roles/logging.logWriter", "roles/monitoring.metricWriter", "roles/artifactregistry.reader")

SERVING = [
    Program("chat on a GKE pool that scales from one to six", "serving", [
        *WORKER, cluster("inference"), pool("system", "inference", "e2-standard-4", {"minNodeCount": 1, "maxNodeCount": 3}),
        pool("l4", "inference", "g2-standard-12", {"totalMinNodeCount": 0, "totalMaxNodeCount": 6, "locationPolicy": "ANY"}, "nvidia-l4"),
    ]),
    Program("a Vertex endpoint with one to three machines", "serving", [
        *account("predictor", "roles/aiplatform.user"), bucket("models"),
        gcp("vertex/AiEndpoint", "ranker", name="1234567890", displayName="ranker", location="us-central1", labels=LABELS, encryptionSpec={"kmsKeyName": "projects/team/locations/us-central1/keyRings/k/cryptoKeys/k"}),
        gcp("vertex/AiEndpointWithModelGardenDeployment", "gemma", location="us-central1", publisherModelName="publishers/google/models/gemma3@gemma-3-12b-it", modelConfig={"acceptEula": True}, deployConfig={"dedicatedResources": {"machineSpec": {"machineType": "g2-standard-12", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}, "minReplicaCount": 1, "maxReplicaCount": 3, "autoscalingMetricSpecs": [{"metricName": "aiplatform.googleapis.com/prediction/online/accelerator/duty_cycle", "target": 60}]}}),
    ]),
    Program("embeddings on Cloud Run with a GPU, from zero", "serving", [
        *account("embedder", "roles/storage.objectViewer"),
        gcp("cloudrunv2/Service", "embed", location="us-central1", ingress="INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER", labels=LABELS, deletionProtection=True, template={
            "serviceAccount": ref("embedder"), "scaling": {"minInstanceCount": 0, "maxInstanceCount": 4}, "nodeSelector": {"accelerator": "nvidia-l4"}, "maxInstanceRequestConcurrency": 16,
            "containers": [{"image": f"{REGISTRY}/embed@sha256:" + "7" * 64, "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}}, "startupProbe": {"httpGet": {"path": "/healthz"}, "periodSeconds": 10, "failureThreshold": 30}}],
        }),
        gcp("cloudrunv2/ServiceIamMember", "callers", name=ref("embed"), location="us-central1", role="roles/run.invoker", member="serviceAccount:search@team.iam.gserviceaccount.com"),
    ]),
    Program("vision on a managed instance group behind an internal balancer", "serving", [
        *WORKER, template("vision", "g2-standard-8"),
        gcp("compute/HealthCheck", "alive", httpHealthCheck={"port": 8000, "requestPath": "/health"}, checkIntervalSec=15, timeoutSec=5),
        gcp("compute/RegionInstanceGroupManager", "vision-group", region="us-central1", baseInstanceName="vision", versions=[{"instanceTemplate": ref("vision")}], namedPorts=[{"name": "http", "port": 8000}], autoHealingPolicies={"healthCheck": ref("alive"), "initialDelaySec": 600}, updatePolicy={"type": "PROACTIVE", "minimalAction": "REPLACE", "maxSurgeFixed": 3, "maxUnavailableFixed": 0}),
        gcp("compute/RegionAutoscaler", "vision-scaler", region="us-central1", target=ref("vision-group"), autoscalingPolicy={"minReplicas": 2, "maxReplicas": 8, "cooldownPeriod": 300, "loadBalancingUtilization": {"target": 0.7}}),
        gcp("compute/RegionBackendService", "vision-backend", region="us-central1", loadBalancingScheme="INTERNAL_MANAGED", protocol="HTTP", backends=[{"group": ref("vision-group"), "balancingMode": "UTILIZATION", "capacityScaler": 1.0}], healthChecks=ref("alive"), logConfig={"enable": True, "sampleRate": 0.1}),
        gcp("compute/Firewall", "from-balancer", network="projects/team/global/networks/main", direction="INGRESS", sourceRanges=["130.211.0.0/22", "35.191.0.0/16", "10.129.0.0/23"], allows=[{"protocol": "tcp", "ports": ["8000"]}], targetServiceAccounts=[ref("worker")], logConfig={"metadata": "INCLUDE_ALL_METADATA"}),
    ]),
]

SCHEDULED = [
    Program("a workstation with the clock of Compute Engine", "scheduled", [
        *WORKER,
        gcp("compute/ResourcePolicy", "hours", region="us-central1", instanceSchedulePolicy={"timeZone": "Europe/London", "vmStartSchedule": {"schedule": "0 8 * * 1-5"}, "vmStopSchedule": {"schedule": "0 19 * * 1-5"}}),
        gcp("compute/Instance", "desk", zone="us-central1-a", machineType="g2-standard-8", labels=DEV, resourcePolicies=ref("hours"), scheduling={"onHostMaintenance": "TERMINATE", "automaticRestart": False}, bootDisk={"initializeParams": {"image": "projects/team/global/images/desk-20261101", "size": 200}}, networkInterfaces=[{"subnetwork": "projects/team/regions/us-central1/subnetworks/dev"}], serviceAccount={"email": ref("worker"), "scopes": ["cloud-platform"]}, metadata={"enable-oslogin": "TRUE", "block-project-ssh-keys": "TRUE"}, shieldedInstanceConfig={"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True}),
    ], stack="dev"),
    Program("notebooks that stop by themselves", "scheduled", [
        *account("researcher", "roles/bigquery.jobUser"),
        gcp("workbench/Instance", "lab", location="us-central1-b", labels=DEV, disableProxyAccess=False, instanceOwners=["ada@example.com"], gceSetup={"machineType": "n1-standard-8", "acceleratorConfigs": [{"type": "NVIDIA_TESLA_T4", "coreCount": "1"}], "disablePublicIp": True, "serviceAccounts": [{"email": ref("researcher")}], "metadata": {"idle-timeout-seconds": "3600"}, "networkInterfaces": [{"network": "projects/team/global/networks/main", "subnet": "projects/team/regions/us-central1/subnetworks/dev"}], "shieldedInstanceConfig": {"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True}}),
    ], stack="dev"),
    Program("nightly scoring as a Cloud Run job with a GPU", "scheduled", [
        *account("scorer", "roles/storage.objectUser"), *account("clock"),
        gcp("cloudrunv2/Job", "score", location="us-central1", labels=LABELS, template={"taskCount": 4, "template": {"serviceAccount": ref("scorer"), "timeout": "10800s", "maxRetries": 1, "nodeSelector": {"accelerator": "nvidia-l4"}, "containers": [{"image": f"{REGISTRY}/score@sha256:" + "8" * 64, "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}}}]}}),
        gcp("cloudrunv2/JobIamMember", "may-run", name=ref("score"), location="us-central1", role="roles/run.invoker", member=ref("clock")),
        gcp("cloudscheduler/Job", "at-two", region="us-central1", schedule="0 2 * * *", timeZone="Etc/UTC", httpTarget={"httpMethod": "POST", "uri": "https://run.googleapis.com/v2/projects/team/locations/us-central1/jobs/score:run", "oauthToken": {"serviceAccountEmail": ref("clock")}}),
    ]),
]

RESERVED = [
    Program("two reserved H100 machines around the clock, bursts on demand", "reserved", [
        *WORKER,
        gcp("compute/Reservation", "h100", zone="us-central1-a", specificReservationRequired=True, deleteAtTime="2027-06-30T00:00:00Z", specificReservation={"count": 2, "instanceProperties": {"machineType": "a3-highgpu-8g"}}),
        template("base", "a3-highgpu-8g", reservationAffinity={"type": "SPECIFIC_RESERVATION", "specificReservation": {"key": "compute.googleapis.com/reservation-name", "values": ["h100"]}}),
        gcp("compute/InstanceGroupManager", "base-group", zone="us-central1-a", baseInstanceName="base", versions=[{"instanceTemplate": ref("base")}], targetSize=2),
        template("burst", "g2-standard-48"),
        gcp("compute/RegionInstanceGroupManager", "burst-group", region="us-central1", baseInstanceName="burst", versions=[{"instanceTemplate": ref("burst")}]),
        gcp("compute/RegionAutoscaler", "burst-scaler", region="us-central1", target=ref("burst-group"), autoscalingPolicy={"minReplicas": 0, "maxReplicas": 4, "metrics": [{"name": "pubsub.googleapis.com/subscription/num_undelivered_messages", "filter": "resource.type = pubsub_subscription", "singleInstanceAssignment": 20}]}),
    ]),
    Program("a GKE pool on a reservation for training", "reserved", [
        *WORKER, bucket("checkpoints"), cluster("training"), pool("system", "training", "e2-standard-4", {"minNodeCount": 1, "maxNodeCount": 2}),
        gcp("compute/Reservation", "a100", zone="us-central1-a", specificReservationRequired=True, deleteAtTime="2027-03-31T00:00:00Z", specificReservation={"count": 4, "instanceProperties": {"machineType": "a2-ultragpu-8g"}}),
        pool("a100-pool", "training", "a2-ultragpu-8g", {"totalMinNodeCount": 0, "totalMaxNodeCount": 4}, reservationAffinity={"consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name", "values": ["a100"]}, guestAccelerators=[{"type": "nvidia-a100-80gb", "count": 8, "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}}], taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]),
    ]),
]

WEB = [
    Program("a shop on Cloud Run with Cloud SQL behind a global balancer", "web", [
        *account("shop", "roles/cloudsql.client"),
        gcp("sql/DatabaseInstance", "db", databaseVersion="POSTGRES_16", region="us-central1", deletionProtection=True, settings={"tier": "db-custom-2-8192", "availabilityType": "REGIONAL", "diskAutoresize": True, "userLabels": LABELS, "ipConfiguration": {"ipv4Enabled": False, "privateNetwork": "projects/team/global/networks/main", "sslMode": "ENCRYPTED_ONLY"}, "backupConfiguration": {"enabled": True, "pointInTimeRecoveryEnabled": True}}),
        gcp("secretmanager/Secret", "db-password", secretId="db-password", replication={"auto": {}}, labels=LABELS),
        gcp("cloudrunv2/Service", "web", location="us-central1", ingress="INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER", labels=LABELS, template={"serviceAccount": ref("shop"), "scaling": {"minInstanceCount": 1, "maxInstanceCount": 20}, "containers": [{"image": f"{REGISTRY}/shop@sha256:" + "9" * 64, "envs": [{"name": "DB_PASSWORD", "valueSource": {"secretKeyRef": {"secret": "db-password", "version": "latest"}}}], "resources": {"limits": {"cpu": "1", "memory": "512Mi"}}}]}),
        gcp("compute/RegionNetworkEndpointGroup", "neg", region="us-central1", networkEndpointType="SERVERLESS", cloudRun={"service": ref("web")}),
        gcp("compute/BackendService", "backend", loadBalancingScheme="EXTERNAL_MANAGED", protocol="HTTPS", backends=[{"group": ref("neg")}], securityPolicy=ref("armor"), logConfig={"enable": True, "sampleRate": 1.0}),
        gcp("compute/SecurityPolicy", "armor", rules=[{"action": "throttle", "priority": 1000, "match": {"versionedExpr": "SRC_IPS_V1", "config": {"srcIpRanges": ["*"]}}, "rateLimitOptions": {"conformAction": "allow", "exceedAction": "deny(429)", "rateLimitThreshold": {"count": 300, "intervalSec": 60}}}, {"action": "allow", "priority": 2147483647, "match": {"versionedExpr": "SRC_IPS_V1", "config": {"srcIpRanges": ["*"]}}}]),
        gcp("compute/URLMap", "map", defaultService=ref("backend")),
        gcp("compute/ManagedSslCertificate", "cert", managed={"domains": ["shop.example.com"]}),
        gcp("compute/TargetHttpsProxy", "proxy", urlMap=ref("map"), sslCertificates=[ref("cert")]),
        gcp("compute/GlobalAddress", "address", labels=LABELS),
        gcp("compute/GlobalForwardingRule", "front", target=ref("proxy"), portRange="443", loadBalancingScheme="EXTERNAL_MANAGED", ipAddress=ref("address"), labels=LABELS),
    ]),
    Program("an interface of functions with Firestore and a queue", "web", [
        *account("api", "roles/datastore.user"),
        gcp("firestore/Database", "main", name="(default)", locationId="nam5", type="FIRESTORE_NATIVE", deleteProtectionState="DELETE_PROTECTION_ENABLED", pointInTimeRecoveryEnablement="POINT_IN_TIME_RECOVERY_ENABLED"),
        gcp("cloudfunctionsv2/Function", "orders", location="us-central1", labels=LABELS, buildConfig={"runtime": "python313", "entryPoint": "main", "source": {"storageSource": {"bucket": "acme-artifacts", "object": "orders-17.zip"}}}, serviceConfig={"serviceAccountEmail": ref("api"), "ingressSettings": "ALLOW_INTERNAL_AND_GCLB", "maxInstanceCount": 20, "availableMemory": "512M"}),
        gcp("cloudtasks/Queue", "mails", location="us-central1", rateLimits={"maxDispatchesPerSecond": 50}, retryConfig={"maxAttempts": 5}),
        gcp("apigateway/Api", "gateway", apiId="orders", labels=LABELS),
    ]),
    Program("a content system on GKE Autopilot with Memorystore", "web", [
        *account("cms", "roles/cloudsql.client"),
        gcp("container/Cluster", "autopilot", location="us-central1", enableAutopilot=True, deletionProtection=True, resourceLabels=LABELS, releaseChannel={"channel": "REGULAR"}, privateClusterConfig={"enablePrivateNodes": True, "enablePrivateEndpoint": True}, masterAuthorizedNetworksConfig={"cidrBlocks": [{"cidrBlock": "10.0.0.0/8"}]}, clusterAutoscaling={"autoProvisioningDefaults": {"serviceAccount": ref("cms")}}, ipAllocationPolicy={}),
        gcp("redis/Instance", "sessions", tier="STANDARD_HA", memorySizeGb=5, region="us-central1", redisVersion="REDIS_7_2", authEnabled=True, transitEncryptionMode="SERVER_AUTHENTICATION", authorizedNetwork="projects/team/global/networks/main", connectMode="PRIVATE_SERVICE_ACCESS", labels=LABELS),
        gcp("filestore/Instance", "uploads", tier="ZONAL", location="us-central1-a", fileShares={"name": "share", "capacityGb": 1024}, networks=[{"network": "main", "modes": ["MODE_IPV4"], "connectMode": "PRIVATE_SERVICE_ACCESS"}], labels=LABELS),
        bucket("backups"),
    ]),
]

DATA = [
    Program("a warehouse in BigQuery fed by Dataflow", "data", [
        *account("etl", "roles/bigquery.jobUser", "roles/dataflow.worker"), bucket("landing"),
        gcp("bigquery/Dataset", "events", datasetId="events", location="us-central1", defaultPartitionExpirationMs=34560000000, labels=LABELS, accesses=[{"role": "OWNER", "groupByEmail": "data@example.com"}, {"role": "READER", "groupByEmail": "analysts@example.com"}]),
        gcp("bigquery/Table", "clicks", datasetId=ref("events"), tableId="clicks", timePartitioning={"type": "DAY", "field": "at"}, clusterings=["user"], requirePartitionFilter=True, deletionProtection=True, labels=LABELS),
        gcp("bigquery/DatasetIamMember", "etl-writes", datasetId=ref("events"), role="roles/bigquery.dataEditor", member=ref("etl")),
        gcp("pubsub/Topic", "clicks-topic", messageStoragePolicy={"allowedPersistenceRegions": ["us-central1"]}, labels=LABELS),
        gcp("pubsub/Subscription", "clicks-sub", topic=ref("clicks-topic"), ackDeadlineSeconds=60, messageRetentionDuration="604800s", expirationPolicy={"ttl": ""}, labels=LABELS),
        gcp("dataflow/FlexTemplateJob", "stream", region="us-central1", containerSpecGcsPath="gs://acme-landing/templates/stream.json", maxWorkers=10, serviceAccountEmail=ref("etl"), ipConfiguration="WORKER_IP_PRIVATE", enableStreamingEngine=True, labels=LABELS),
    ]),
    Program("Composer and Dataproc clusters that delete themselves", "data", [
        *account("composer", "roles/composer.worker"), *account("spark", "roles/dataproc.worker"), bucket("staging"),
        gcp("composer/Environment", "airflow", region="us-central1", labels=LABELS, config={"softwareConfig": {"imageVersion": "composer-3-airflow-2.10.2-build.5"}, "enablePrivateEnvironment": True, "nodeConfig": {"serviceAccount": ref("composer"), "network": "projects/team/global/networks/main", "subnetwork": "projects/team/regions/us-central1/subnetworks/data"}}),
        gcp("dataproc/Cluster", "batch", region="us-central1", labels=LABELS, clusterConfig={"gceClusterConfig": {"serviceAccount": ref("spark"), "internalIpOnly": True, "subnetwork": "projects/team/regions/us-central1/subnetworks/data", "shieldedInstanceConfig": {"enableSecureBoot": True}}, "masterConfig": {"numInstances": 1, "machineType": "n2-standard-4"}, "workerConfig": {"numInstances": 2, "machineType": "n2-standard-8"}, "lifecycleConfig": {"idleDeleteTtl": "1800s"}}),
    ]),
    Program("features and pipelines for models", "data", [
        *account("pipeline", "roles/aiplatform.user"), bucket("features"),
        gcp("bigquery/Dataset", "feature-tables", datasetId="features", location="us-central1", labels=LABELS),
        gcp("vertex/AiFeatureOnlineStore", "online", region="us-central1", labels=LABELS, bigtable={"autoScaling": {"minNodeCount": 1, "maxNodeCount": 3, "cpuUtilizationTarget": 60}}),
        gcp("vertex/AiFeatureOnlineStoreFeatureview", "users", region="us-central1", featureOnlineStore=ref("online"), bigQuerySource={"uri": "bq://team.features.users", "entityIdColumns": ["id"]}, syncConfig={"cron": "0 4 * * *"}),
        gcp("artifactregistry/Repository", "images", location="us-central1", repositoryId="images", format="DOCKER", dockerConfig={"immutableTags": True}, cleanupPolicies=[{"id": "old", "action": "DELETE", "condition": {"olderThan": "7776000s", "tagState": "UNTAGGED"}}], labels=LABELS),
    ]),
]

PROGRAMS = [*SERVING, *SCHEDULED, *RESERVED, *WEB, *DATA]
