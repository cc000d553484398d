"""What the components that run something on a cluster have in common: a provider, and their manifests as resources."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from sizewell.components.kubernetes.inside import provider_of
from sizewell.components.kubernetes.run_args import RunArgs, launch_of_args
from sizewell.components.kubernetes.run_checks import check_run, refused
from sizewell.components.owned import Owned
from sizewell.launch import images
from sizewell.launch.launch import Launch
from sizewell.launch.pods import Manifest
from sizewell.sizing.errors import ConfigError, DecisionError

FIRST = ("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "NetworkPolicy", "Service", "StorageClass")
NOT_AWAITED = ("Job", "StatefulSet", "ScaledObject", "JobSet", "LeaderWorkerSet", "RayJob", "InferenceService")
IMMUTABLE = ("Job", "JobSet", "RayJob")  # a changed one is another one
OTHERS_OWN = {"LeaderWorkerSet": ["spec.replicas"], "StatefulSet": ["spec.replicas"]}  # scaled by who watches it
PATIENCE = "40m"  # for machines to come and weights to load


def planned(
    component: str,
    name: str,
    args: Mapping[str, object],
    *,
    shape: type,
    kind: str,
    manifests: Callable[[Launch], Sequence[Manifest]],
) -> list[Manifest]:
    """The manifests of a component's arguments; ArgsError with all that is wrong with these."""
    check_run(component, name, args, shape)
    try:
        launch = launch_of_args(name, kind, pulumi.get_stack(), args)
        made = list(manifests(launch))
    except (ConfigError, DecisionError) as error:
        refused(component, name, error).done()
        raise
    for doubt in images.doubts(launch):
        pulumi.log.info(f"{component} {name}: {doubt}")
    return made


def make(owner: Owned, name: str, args: RunArgs, manifests: Sequence[Manifest]) -> pulumi.Output[list[str]]:
    """The manifests as resources of `owner` on the cluster of its own provider; what was made, as Kind/name."""
    provider = provider_of(owner, name, args, called=type(owner).__name__.lower())
    before: list[pulumi.Resource] = []
    made: list[pulumi.Resource] = []
    for manifest in sorted(manifests, key=lambda manifest: manifest["kind"] not in FIRST):
        made.append(_object(owner, manifest, provider, before))
        if manifest["kind"] in FIRST:
            before.append(made[-1])
    names = [f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in manifests]
    return pulumi.Output.all(*[resource.urn for resource in made]).apply(lambda _: names)


def _object(
    owner: Owned, manifest: Manifest, provider: kubernetes.Provider, before: Sequence[pulumi.Resource]
) -> pulumi.Resource:
    kind, metadata = manifest["kind"], dict(manifest["metadata"])
    name = f"{metadata['name']}-{kind.lower()}"
    options: dict[str, Any] = {"provider": provider, "depends_on": [] if kind in FIRST else list(before)}
    if kind in NOT_AWAITED:  # an update ends when the job is made, not when it is done
        metadata["annotations"] = {**metadata.get("annotations", {}), "pulumi.com/skipAwait": "true"}
    else:
        options["custom_timeouts"] = pulumi.CustomTimeouts(create=PATIENCE, update=PATIENCE)
    if kind in IMMUTABLE:
        options |= {"replace_on_changes": ["spec"], "delete_before_replace": True}
    if kind in OTHERS_OWN:
        options["ignore_changes"] = OTHERS_OWN[kind]
    rest = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata")}
    if kind in IMMUTABLE:
        rest["spec"] = {key: value for key, value in rest["spec"].items() if key != "ttlSecondsAfterFinished"}
        # what ends by itself and goes would be made, and run, again by the next update
    inputs: dict[str, object] = {"metadata": metadata, "opts": pulumi.ResourceOptions(**options)}
    if kind in CORE:
        return owner.make(CORE[kind], name, **inputs, **{SPELLED.get(key, key): rest[key] for key in rest})
    resource: pulumi.Resource = owner.make(
        kubernetes.apiextensions.CustomResource,
        name,
        api_version=manifest["apiVersion"],
        kind=kind,
        spec=rest["spec"],
        **inputs,
    )
    return resource


CORE: dict[str, Callable[..., pulumi.Resource]] = {
    "ServiceAccount": kubernetes.core.v1.ServiceAccount,
    "ConfigMap": kubernetes.core.v1.ConfigMap,
    "Service": kubernetes.core.v1.Service,
    "Role": kubernetes.rbac.v1.Role,
    "RoleBinding": kubernetes.rbac.v1.RoleBinding,
    "NetworkPolicy": kubernetes.networking.v1.NetworkPolicy,
    "Deployment": kubernetes.apps.v1.Deployment,
    "StatefulSet": kubernetes.apps.v1.StatefulSet,
    "PodDisruptionBudget": kubernetes.policy.v1.PodDisruptionBudget,
    "Job": kubernetes.batch.v1.Job,
    "StorageClass": kubernetes.storage.v1.StorageClass,
}
SPELLED = {
    "automountServiceAccountToken": "automount_service_account_token",
    "roleRef": "role_ref",
    "volumeBindingMode": "volume_binding_mode",
    "allowVolumeExpansion": "allow_volume_expansion",
    "reclaimPolicy": "reclaim_policy",
}
