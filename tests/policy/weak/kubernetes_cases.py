"""Kubernetes: weaknesses in the spellings that programs use; from the API's fields and the hardening guides, from memory."""

# fmt: off
from __future__ import annotations

from weak.rows import Row, Weakness, k8s

IMAGE = "registry.example/m@sha256:1111111111111111111111111111111111111111111111111111111111111111"


def container(**more: object) -> dict[str, object]:
    stated = {
        "name": "m", "image": IMAGE, "resources": {"limits": {"memory": "8Gi", "nvidia.com/gpu": "1"}, "requests": {"memory": "8Gi"}},
        "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "readinessProbe": {"tcpSocket": {"port": 8000}}, "livenessProbe": {"tcpSocket": {"port": 8000}},
    }
    return {**stated, **more}


def pod(*containers: dict[str, object], **more: object) -> dict[str, object]:
    return {
        "metadata": {"labels": {"app": "m"}},
        "spec": {
            "automountServiceAccountToken": False, "containers": list(containers) or [container()],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}], **more,
        },
    }


PLAIN = container(resources={"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}})


def deployment(template: dict[str, object] | None = None, **more: object) -> Row:
    return k8s("apps/v1:Deployment", "m", spec={"replicas": 2, "selector": {"matchLabels": {"app": "m"}}, "template": template or pod(), **more})


SCALED = k8s("keda.sh/v1alpha1:ScaledObject", "s", spec={"scaleTargetRef": {"name": "m"}, "minReplicaCount": 0, "maxReplicaCount": 4, "triggers": [{"type": "prometheus", "metadata": {"query": "q", "threshold": "1", "serverAddress": "http://p"}}]})
GOOD = [deployment(), SCALED]
JOB = {"backoffLimit": 2, "template": pod(restartPolicy="Never")}


def claims(kind: str, *rules: dict[str, object]) -> Row:
    return k8s(f"rbac.authorization.k8s.io/v1:{kind}", "r", rules=list(rules))


def nodepool(**more: object) -> Row:
    spec = {
        "limits": {"nvidia.com/gpu": "8"}, "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
        "template": {"spec": {"requirements": [{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g6e"]}], "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], "expireAfter": "168h"}},
    }
    return k8s("karpenter.sh/v1:NodePool", "np", spec={**spec, **more})


def ray(**more: object) -> Row:
    worker = {"groupName": "gpu", "replicas": 1, "minReplicas": 0, "maxReplicas": 4, "template": pod(), **more}
    return k8s("ray.io/v1:RayCluster", "ray", spec={"enableInTreeAutoscaling": True, "autoscalerOptions": {"idleTimeoutSeconds": 300}, "headGroupSpec": {"template": pod(PLAIN)}, "workerGroupSpecs": [worker]})


GOOD_ROLE = [claims("Role", {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]})]

WEAKNESSES = [
    Weakness("servers that nothing ends", ([deployment()], [k8s("apps/v1:StatefulSet", "m", spec={"replicas": 1, "serviceName": "m", "selector": {"matchLabels": {"app": "m"}}, "template": pod()})]), GOOD, "dev"),
    Weakness("a scaler that keeps some", (
        [deployment(), {**SCALED, "inputs": {**SCALED["inputs"], "spec": {**SCALED["inputs"]["spec"], "minReplicaCount": 2}}}],
        [deployment(), k8s("autoscaling/v2:HorizontalPodAutoscaler", "h", spec={"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "m"}, "minReplicas": 2, "maxReplicas": 8})],
    ), GOOD, "dev"),
    Weakness("a scaler of another server", (
        [deployment(), {**SCALED, "inputs": {**SCALED["inputs"], "spec": {**SCALED["inputs"]["spec"], "scaleTargetRef": {"name": "other"}}}}],
        [deployment(), {**SCALED, "inputs": {**SCALED["inputs"], "metadata": {"name": "s", "annotations": {"autoscaling.keda.sh/paused": "true"}}}}],
    ), GOOD, "dev"),
    Weakness("work without a longest time", (
        [k8s("batch/v1:Job", "j", spec=JOB)],
        [k8s("batch/v1:CronJob", "j", spec={"schedule": "0 2 * * *", "jobTemplate": {"spec": JOB}})],
    ), [k8s("batch/v1:Job", "j", spec={**JOB, "activeDeadlineSeconds": 36000})], "dev"),
    Weakness("a Ray cluster that stays", ([ray(minReplicas=2, replicas=2)], [k8s("ray.io/v1:RayCluster", "ray", spec={"headGroupSpec": {"template": pod(PLAIN)}, "workerGroupSpecs": [{"groupName": "gpu", "replicas": 2, "minReplicas": 0, "maxReplicas": 2, "template": pod()}]})]), [ray()], "dev"),
    Weakness("nodes without a limit", ([nodepool(limits=None)], [nodepool(limits={})]), [nodepool()], "dev"),
    Weakness("empty nodes that stay", ([nodepool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"})], [nodepool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "720h"})]), [nodepool()], "dev"),
    Weakness("nodes that may not be disrupted", ([nodepool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m", "budgets": [{"nodes": "0"}]})], [nodepool(disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m", "budgets": [{"nodes": "0%"}]})]), [nodepool()], "dev"),
    Weakness("a pod that nothing ends", ([k8s("core/v1:Pod", "p", spec=pod()["spec"])], [k8s("apps/v1:ReplicaSet", "p", spec={"replicas": 1, "selector": {"matchLabels": {"app": "m"}}, "template": pod()})]), GOOD, "dev"),
    Weakness("accelerators held for nothing", ([deployment(pod(container(image="registry.k8s.io/pause:3.10")))], [deployment(pod(container(command=["sleep", "infinity"])))]), GOOD, "dev"),
    Weakness("administrator of the cluster", (
        [k8s("rbac.authorization.k8s.io/v1:ClusterRoleBinding", "b", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, subjects=[{"kind": "ServiceAccount", "name": "m", "namespace": "ml"}])],
        [k8s("rbac.authorization.k8s.io/v1:RoleBinding", "b", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, subjects=[{"kind": "ServiceAccount", "name": "default", "namespace": "ml"}])],
    ), GOOD_ROLE),
    Weakness("a role that may do everything", ([claims("ClusterRole", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})], [claims("Role", {"apiGroups": [""], "resources": ["*"], "verbs": ["*"]})]), GOOD_ROLE),
    Weakness("a role that makes itself administrator", ([claims("ClusterRole", {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["escalate", "bind"]})], [claims("ClusterRole", {"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]})]), GOOD_ROLE),
    Weakness("every secret of the cluster", ([claims("ClusterRole", {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]})], [claims("ClusterRole", {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]})]), GOOD_ROLE),
    Weakness("rights for everybody", (
        [k8s("rbac.authorization.k8s.io/v1:ClusterRoleBinding", "b", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, subjects=[{"kind": "Group", "name": "system:unauthenticated"}])],
        [k8s("rbac.authorization.k8s.io/v1:ClusterRoleBinding", "b", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}, subjects=[{"kind": "Group", "name": "system:authenticated"}])],
    ), GOOD_ROLE),
    Weakness("a secret in an environment", (
        [deployment(pod(container(env=[{"name": "HF_TOKEN", "value": "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"}])), replicas=1), SCALED],
        [k8s("core/v1:ConfigMap", "c", data={"config.yaml": "database:\n  password: tR7!xQ2pLm9Zk4Vb\n"})],
    ), [deployment(pod(container(env=[{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}])), replicas=1), SCALED]),
    Weakness("a model server on the internet", (
        [*GOOD, k8s("core/v1:Service", "svc", spec={"type": "LoadBalancer", "selector": {"app": "m"}, "ports": [{"port": 80, "targetPort": 8000}]})],
        [*GOOD, k8s("core/v1:Service", "svc", spec={"type": "LoadBalancer", "selector": {"app": "m"}, "loadBalancerSourceRanges": ["0.0.0.0/0"], "ports": [{"port": 8000}]})],
    ), [*GOOD, k8s("core/v1:Service", "svc", spec={"type": "ClusterIP", "selector": {"app": "m"}, "ports": [{"port": 80, "targetPort": 8000}]})]),
    Weakness("a pod with the node's rights", ([deployment(pod(container(securityContext={"privileged": True}))), SCALED], [deployment(pod(container(securityContext={"runAsNonRoot": True, "capabilities": {"add": ["SYS_ADMIN"]}}))), SCALED]), GOOD),
    Weakness("a pod in the node's house", ([deployment(pod(hostNetwork=True)), SCALED], [deployment(pod(volumes=[{"name": "h", "hostPath": {"path": "/"}}])), SCALED]), GOOD),
    Weakness("a pod that talks to the container engine", ([deployment(pod(volumes=[{"name": "h", "hostPath": {"path": "/var/run/docker.sock"}}])), SCALED], [deployment(pod(hostPID=True)), SCALED]), GOOD),
]
