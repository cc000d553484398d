"""Judges of manifests: the published schemas of core kinds, Kubernetes' restricted standard for pods."""

import functools
import json
from importlib import resources

import jsonschema
import referencing

KUBERNETES = "v1.34.0-local-strict"
FOLDER = resources.files("kubernetes_validate") / "kubernetes-json-schema" / KUBERNETES


@functools.cache
def validator(file):
    """A validator of one kind; the package's own function reads a megabyte of definitions for each object."""
    schema = json.loads((FOLDER / file).read_text())
    resource = referencing.Resource.from_contents(schema)
    return jsonschema.Draft202012Validator(schema, registry=resource @ definitions())


@functools.cache
def definitions():
    return referencing.Resource.from_contents(json.loads((FOLDER / "_definitions.json").read_text())) @ (
        referencing.Registry()
    )


def core_faults(manifest):
    """What the published schema of a core kind does not allow."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    name = "-".join(part for part in (manifest["kind"].lower(), group.partition(".")[0], version) if part)
    errors = validator(f"{name}.json").iter_errors(manifest)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


def as_core(manifest):
    """The core objects in a manifest: itself, or the templates inside of a custom kind as objects of their own."""
    kind, spec = manifest["kind"], manifest.get("spec", {})
    if kind == "JobSet":
        jobs = [one["template"]["spec"] for one in spec["replicatedJobs"]]
        return [
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": manifest["metadata"], "spec": job} for job in jobs
        ]
    if kind == "ScaledObject":
        return []
    if kind not in ("LeaderWorkerSet", "RayJob", "InferenceService"):
        return [manifest]
    return [{"apiVersion": "v1", "kind": "Pod", **pod} for pod in pods(manifest)]


def pods(manifest):
    """Every pod that a manifest makes, as {metadata, spec}."""
    kind, spec = manifest["kind"], manifest.get("spec", {})
    if kind in ("Deployment", "StatefulSet", "Job"):
        return [spec["template"]]
    if kind == "JobSet":
        return [one["template"]["spec"]["template"] for one in spec["replicatedJobs"]]
    if kind == "LeaderWorkerSet":
        return [spec["leaderWorkerTemplate"][key] for key in ("leaderTemplate", "workerTemplate")]
    if kind == "RayJob":
        cluster = spec["rayClusterSpec"]
        groups = [one["template"] for one in cluster["workerGroupSpecs"]]
        return [cluster["headGroupSpec"]["template"], spec["submitterPodTemplate"], *groups]
    if kind == "InferenceService":
        known = validator("podspec-v1.json").schema["properties"]
        return [{"metadata": {}, "spec": {key: item for key, item in spec["predictor"].items() if key in known}}]
    return []


def unrestricted(pod):
    """What the restricted standard for pods does not allow (kubernetes.io/docs, Pod Security Standards)."""
    spec, found = pod["spec"], []
    found += [key for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    found += [f"volume {one['name']}" for one in spec.get("volumes", ()) if not (set(one) - {"name"}) <= allowed]
    ours = spec.get("securityContext", {})
    if ours.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        found.append("seccompProfile")
    for one in spec["containers"] + spec.get("initContainers", []):
        mine = one.get("securityContext", {})
        if mine.get("privileged"):
            found.append(f"{one['name']}: privileged")
        if mine.get("allowPrivilegeEscalation") is not False:
            found.append(f"{one['name']}: allowPrivilegeEscalation")
        if "ALL" not in mine.get("capabilities", {}).get("drop", []):
            found.append(f"{one['name']}: keeps capabilities")
        found += [f"{one['name']}: adds {cap}" for cap in mine.get("capabilities", {}).get("add", [])]
        if not (mine.get("runAsNonRoot") or ours.get("runAsNonRoot")):
            found.append(f"{one['name']}: may be root")
        if any(port.get("hostPort") for port in one.get("ports", [])):
            found.append(f"{one['name']}: hostPort")
    return found
