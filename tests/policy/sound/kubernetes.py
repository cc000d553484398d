"""Kubernetes: what careful teams run on clusters that stand, from the API's fields and the hardening guides, from memory."""

# fmt: off
from __future__ import annotations

from weak.rows import Row, k8s

from sound.programs import Program

DIGEST = "sha256:" + "b" * 64
LABELS = {"app.kubernetes.io/managed-by": "pulumi", "owner": "ml-platform"}


def secured(name: str, image: str, port: int = 8080, cpu: str = "500m", memory: str = "1Gi", gpus: int = 0, **more: object) -> dict[str, object]:
    limits: dict[str, str] = {"memory": memory}
    if gpus:
        limits["nvidia.com/gpu"] = str(gpus)
    probe = {"httpGet": {"path": "/healthz", "port": port}, "periodSeconds": 10}
    return {
        "name": name, "image": f"registry.example.com/{image}@{DIGEST}", "ports": [{"containerPort": port}],
        "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": limits},
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}},
        "readinessProbe": probe, "livenessProbe": probe, **more,
    }


def template(app: str, *containers: dict[str, object], gpu: bool = False, **more: object) -> dict[str, object]:
    spec: dict[str, object] = {"automountServiceAccountToken": False, "serviceAccountName": app, "containers": list(containers), "terminationGracePeriodSeconds": 60}
    if gpu:
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        spec["nodeSelector"] = {"nvidia.com/gpu.present": "true"}
    return {"metadata": {"labels": {"app": app, **LABELS}}, "spec": {**spec, **more}}


def deployment(app: str, pods: dict[str, object], replicas: int | None = 2, namespace: str = "apps") -> Row:
    spec: dict[str, object] = {"selector": {"matchLabels": {"app": app}}, "template": pods, "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}
    if replicas is not None:
        spec["replicas"] = replicas
    return k8s("apps/v1:Deployment", app, metadata={"name": app, "namespace": namespace, "labels": LABELS}, spec=spec)


def service(app: str, port: int = 8080, kind: str = "ClusterIP", **more: object) -> Row:
    return k8s("core/v1:Service", f"{app}-service", metadata={"name": app, "namespace": "apps", **more}, spec={"type": kind, "selector": {"app": app}, "ports": [{"port": 80, "targetPort": port}]})


def hpa(app: str, least: int, most: int, metric: dict[str, object]) -> Row:
    return k8s("autoscaling/v2:HorizontalPodAutoscaler", f"{app}-hpa", metadata={"name": app, "namespace": "apps"}, spec={"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": app}, "minReplicas": least, "maxReplicas": most, "metrics": [metric], "behavior": {"scaleDown": {"stabilizationWindowSeconds": 300}}})


CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
WAITING = {"type": "Pods", "pods": {"metric": {"name": "vllm:num_requests_waiting"}, "target": {"type": "AverageValue", "averageValue": "4"}}}


def pdb(app: str) -> Row:
    return k8s("policy/v1:PodDisruptionBudget", f"{app}-pdb", metadata={"name": app, "namespace": "apps"}, spec={"minAvailable": 1, "selector": {"matchLabels": {"app": app}}})


def only_from(app: str, *apps: str, port: int = 8080) -> Row:
    return k8s("networking.k8s.io/v1:NetworkPolicy", f"{app}-from", metadata={"name": app, "namespace": "apps"}, spec={"podSelector": {"matchLabels": {"app": app}}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": other}}} for other in apps], "ports": [{"port": port}]}]})


def account(app: str) -> Row:
    return k8s("core/v1:ServiceAccount", f"{app}-account", metadata={"name": app, "namespace": "apps"}, automountServiceAccountToken=False)


def ingress(app: str, host: str) -> Row:
    return k8s("networking.k8s.io/v1:Ingress", f"{app}-ingress", metadata={"name": app, "namespace": "apps", "annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"}}, spec={"ingressClassName": "nginx", "tls": [{"hosts": [host], "secretName": f"{app}-tls"}], "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": app, "port": {"number": 80}}}}]}}]})


def node_pool(name: str, families: list[str], gpus: int, **more: object) -> Row:
    stated = {
        "limits": {"nvidia.com/gpu": gpus, "cpu": 512}, "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "10m", "budgets": [{"nodes": "20%"}]},
        "template": {"metadata": {"labels": LABELS}, "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu"}, "expireAfter": "336h", "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}],
            "requirements": [{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": families}, {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}, {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}},
    }
    return k8s("karpenter.sh/v1:NodePool", name, spec={**stated, **more})


SERVING = [
    Program("a language model with an autoscaler by waiting requests", "serving", [
        account("chat"), deployment("chat", template("chat", secured("vllm", "vllm", 8000, "4", "24Gi", 1), gpu=True), None), hpa("chat", 1, 6, WAITING), pdb("chat"), service("chat", 8000), only_from("chat", "gateway", port=8000),
    ]),
    Program("embeddings that KEDA takes to zero", "serving", [
        account("embed"), deployment("embed", template("embed", secured("tei", "tei", 8080, "2", "16Gi", 1), gpu=True), None), service("embed"),
        k8s("keda.sh/v1alpha1:ScaledObject", "embed-scale", metadata={"name": "embed", "namespace": "apps"}, spec={"scaleTargetRef": {"name": "embed"}, "minReplicaCount": 0, "maxReplicaCount": 4, "cooldownPeriod": 300, "triggers": [{"type": "prometheus", "metadata": {"serverAddress": "http://prometheus.monitoring:9090", "query": 'sum(rate(requests_total{app="embed"}[2m]))', "threshold": "5"}}]}),
    ]),
    Program("KServe with zero as its minimum", "serving", [
        account("classify"),
        k8s("serving.kserve.io/v1beta1:InferenceService", "classify", metadata={"name": "classify", "namespace": "apps"}, spec={"predictor": {"minReplicas": 0, "maxReplicas": 3, "scaleTarget": 4, "serviceAccountName": "classify", "automountServiceAccountToken": False, "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}], "containers": [secured("kserve-container", "classify", 8080, "2", "12Gi", 1)]}}),
    ]),
    Program("a Karpenter pool and the model that fills it", "serving", [
        k8s("karpenter.k8s.aws/v1:EC2NodeClass", "gpu", spec={"amiSelectorTerms": [{"alias": "al2023@v20261101"}], "role": "karpenter-node", "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "inference"}}], "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "inference"}}], "metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1}, "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "200Gi", "volumeType": "gp3", "encrypted": True}}]}),
        node_pool("gpu-pool", ["g6e"], 16), account("draft"), deployment("draft", template("draft", secured("vllm", "vllm", 8000, "8", "48Gi", 1), gpu=True), None), hpa("draft", 2, 8, WAITING), service("draft", 8000), pdb("draft"),
    ]),
]

SCHEDULED = [
    Program("nightly fine-tuning with an end", "scheduled", [
        account("tune"),
        k8s("batch/v1:CronJob", "tune", metadata={"name": "tune", "namespace": "apps"}, spec={"schedule": "0 1 * * *", "timeZone": "Etc/UTC", "concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 3, "jobTemplate": {"spec": {"backoffLimit": 1, "activeDeadlineSeconds": 18000, "ttlSecondsAfterFinished": 86400, "template": template("tune", secured("tune", "tune", 8080, "8", "64Gi", 4), gpu=True, restartPolicy="Never")}}}),
    ]),
    Program("office hours by KEDA's clock", "scheduled", [
        account("lab"), deployment("lab", template("lab", secured("lab", "jupyter", 8888, "4", "32Gi", 1), gpu=True), None), service("lab", 8888),
        k8s("keda.sh/v1alpha1:ScaledObject", "lab-hours", metadata={"name": "lab", "namespace": "apps"}, spec={"scaleTargetRef": {"name": "lab"}, "minReplicaCount": 0, "maxReplicaCount": 2, "triggers": [{"type": "cron", "metadata": {"timezone": "Europe/Berlin", "start": "0 8 * * 1-5", "end": "0 19 * * 1-5", "desiredReplicas": "1"}}]}),
    ], stack="dev"),
    Program("a Ray cluster that scales its workers to zero and a job that ends it", "scheduled", [
        account("ray"),
        k8s("ray.io/v1:RayJob", "evaluate", metadata={"name": "evaluate", "namespace": "apps"}, spec={"entrypoint": "python evaluate.py", "shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": 600, "activeDeadlineSeconds": 14400, "rayClusterSpec": {"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 120}, "headGroupSpec": {"rayStartParams": {"num-gpus": "0"}, "template": template("ray", secured("head", "ray", 8265, "2", "8Gi"))}, "workerGroupSpecs": [{"groupName": "gpu", "replicas": 0, "minReplicas": 0, "maxReplicas": 4, "rayStartParams": {}, "template": template("ray", secured("worker", "ray", 8265, "8", "48Gi", 1), gpu=True)}]}}),
    ]),
]

RESERVED = [
    Program("a model with two replicas on reserved nodes, more by load", "reserved", [
        account("core"), deployment("core", template("core", secured("vllm", "vllm", 8000, "16", "200Gi", 8), gpu=True, nodeSelector={"capacity": "reserved"}), None), hpa("core", 2, 4, WAITING), pdb("core"), service("core", 8000), only_from("core", "gateway", port=8000),
    ]),
    Program("a reserved pool of Karpenter for a training queue", "reserved", [
        node_pool("reserved", ["p5"], 32, template={"spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "reserved"}, "expireAfter": "720h", "taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}], "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]}, {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["p5"]}]}}),
        k8s("batch/v1:Job", "pretrain", metadata={"name": "pretrain", "namespace": "apps"}, spec={"parallelism": 4, "completions": 4, "completionMode": "Indexed", "backoffLimit": 4, "activeDeadlineSeconds": 259200, "ttlSecondsAfterFinished": 86400, "template": template("pretrain", secured("train", "train", 8080, "90", "900Gi", 8), gpu=True, restartPolicy="Never")}), account("pretrain"),
    ]),
]

WEB = [
    Program("a shop with an ingress and an autoscaler", "web", [
        account("shop"), deployment("shop", template("shop", secured("shop", "shop")), None), hpa("shop", 2, 10, CPU), service("shop"), ingress("shop", "shop.example.com"), pdb("shop"), only_from("shop", "ingress-nginx"),
    ]),
    Program("an interface with a queue of workers and a cache", "web", [
        account("api"), account("worker"), deployment("api", template("api", secured("api", "api", envFrom=[{"secretRef": {"name": "api"}}])), 3), deployment("worker", template("worker", secured("worker", "worker")), 2), service("api"),
        k8s("apps/v1:StatefulSet", "cache", metadata={"name": "cache", "namespace": "apps"}, spec={"serviceName": "cache", "replicas": 3, "selector": {"matchLabels": {"app": "cache"}}, "template": template("cache", secured("valkey", "valkey", 6379, "250m", "2Gi")), "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}}]}),
        only_from("cache", "api", "worker", port=6379),
        k8s("rbac.authorization.k8s.io/v1:Role", "api-role", metadata={"name": "api", "namespace": "apps"}, rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "watch"], "resourceNames": ["api"]}]),
        k8s("rbac.authorization.k8s.io/v1:RoleBinding", "api-binding", metadata={"name": "api", "namespace": "apps"}, roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "api"}, subjects=[{"kind": "ServiceAccount", "name": "api", "namespace": "apps"}]),
    ]),
    Program("a site behind a public network balancer with a database of an operator", "web", [
        account("site"), deployment("site", template("site", secured("site", "site")), 2), service("site", kind="LoadBalancer", annotations={"service.beta.kubernetes.io/aws-load-balancer-scheme": "internet-facing"}),
        k8s("postgresql.cnpg.io/v1:Cluster", "db", metadata={"name": "db", "namespace": "apps"}, spec={"instances": 3, "storage": {"size": "50Gi"}, "backup": {"retentionPolicy": "14d", "barmanObjectStore": {"destinationPath": "s3://acme-backups/db"}}}),
    ]),
]

DATA = [
    Program("Spark on demand by its operator", "data", [
        account("spark"),
        k8s("sparkoperator.k8s.io/v1beta2:ScheduledSparkApplication", "daily", metadata={"name": "daily", "namespace": "apps"}, spec={"schedule": "0 3 * * *", "concurrencyPolicy": "Forbid", "template": {"type": "Python", "mode": "cluster", "image": f"registry.example.com/spark@{DIGEST}", "mainApplicationFile": "s3a://acme-jobs/daily.py", "sparkVersion": "3.5.3", "driver": {"cores": 1, "memory": "2g", "serviceAccount": "spark"}, "executor": {"cores": 4, "instances": 10, "memory": "16g"}, "timeToLiveSeconds": 3600}}),
    ]),
    Program("Airflow with a web server, a scheduler and workers", "data", [
        *(row for name, replicas in (("web", 2), ("scheduler", 2), ("triggerer", 1)) for row in (account(f"airflow-{name}"), deployment(f"airflow-{name}", template(f"airflow-{name}", secured("airflow", "airflow")), replicas))),
        k8s("core/v1:PersistentVolumeClaim", "logs", metadata={"name": "airflow-logs", "namespace": "apps"}, spec={"accessModes": ["ReadWriteMany"], "storageClassName": "efs", "resources": {"requests": {"storage": "100Gi"}}}),
        service("airflow-web"),
    ]),
    Program("a vector database and the job that fills it", "data", [
        account("qdrant"), account("fill"),
        k8s("apps/v1:StatefulSet", "qdrant", metadata={"name": "qdrant", "namespace": "apps"}, spec={"serviceName": "qdrant", "replicas": 3, "selector": {"matchLabels": {"app": "qdrant"}}, "template": template("qdrant", secured("qdrant", "qdrant", 6333, "2", "16Gi")), "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "200Gi"}}}}]}),
        service("qdrant", 6333), only_from("qdrant", "fill", "search", port=6333),
        k8s("batch/v1:CronJob", "fill", metadata={"name": "fill", "namespace": "apps"}, spec={"schedule": "30 4 * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": {"backoffLimit": 2, "activeDeadlineSeconds": 7200, "ttlSecondsAfterFinished": 86400, "template": template("fill", secured("fill", "fill"), restartPolicy="OnFailure")}}}),
    ]),
]

PROGRAMS = [*SERVING, *SCHEDULED, *RESERVED, *WEB, *DATA]
