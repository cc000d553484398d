"""Machines: who logs in, what their metadata service gives away, what they boot."""

from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameter, Parameters, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Pool, Thing
from sizewell.resources.values import Flag, count, either, flag, get

_SPOT_REQUEST: Final = "aws:ec2/spotFleetRequest:SpotFleetRequest"


@rule(
    "instance-metadata",
    area="safety",
    subject="pools",
    prevents="stolen machine credentials",
    clouds=("aws",),
    types=(
        "aws:autoscaling/group:Group",
        "aws:ec2/instance:Instance",
        "aws:ec2/fleet:Fleet",
        _SPOT_REQUEST,
        "aws:eks/nodeGroup:NodeGroup",
    ),
    parameters={
        "hops": Parameter(default=1, schema={"type": "integer", "minimum": 1}, meaning="largest hop limit; 2 for pods")
    },
)
def instance_metadata(pool: Pool, parameters: Parameters) -> Verdict:
    """Instance metadata requires a token and is not reachable from containers: it gives out the machine's rights.

    >>> from sizewell.policy.examples import pool
    >>> instance_metadata(pool(machine={}), {"hops": 1}).fix
    'set metadataOptions.httpTokens to required'
    >>> instance_metadata(pool(type="aws:ec2/spotFleetRequest:SpotFleetRequest", machine={}), {"hops": 1}).fix
    'name a launch template in launchTemplateConfigs whose metadataOptions.httpTokens is required'
    >>> safe = {"metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1}}
    >>> instance_metadata(pool(machine=safe), {"hops": 1}) is None
    True
    """
    if pool.machine is None or (pool.type == "aws:eks/nodeGroup:NodeGroup" and pool.machine == {}):
        return None
    options = get(pool.machine, "metadataOptions")
    tokens = get(options, "httpTokens")
    hops = count(get(options, "httpPutResponseHopLimit", default=1))
    if get(options, "httpEndpoint") == "disabled":
        return None
    if tokens is UNKNOWN or isinstance(hops, Unknown):
        return Undetermined("the metadata options")
    if tokens != "required":
        inline = pool.type == _SPOT_REQUEST and not get(pool.inputs, "launchTemplateConfigs")
        return Violation(
            "IMDSv2 is not required: a forged request can read the machine's credentials from the metadata service",
            # launchSpecifications have no such options
            "name a launch template in launchTemplateConfigs whose metadataOptions.httpTokens is required"
            if inline
            else "set metadataOptions.httpTokens to required",
        )
    if (hops or 1) > parameters["hops"]:
        return Violation(
            f"containers can read the machine's credentials: the hop limit is {hops}",
            f"set metadataOptions.httpPutResponseHopLimit to {parameters['hops']}",
        )
    return None


@rule(
    "node-metadata-mode",
    area="safety",
    subject="pools",
    prevents="pods that read the machine's credentials",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool",),
)
def node_metadata_mode(pool: Pool, _: Parameters) -> Verdict:
    """GKE nodes hide the machine's credentials from pods.

    >>> from sizewell.policy.examples import pool
    >>> node_metadata_mode(pool(inputs={"nodeConfig": {}}), {}).fix
    'set nodeConfig.workloadMetadataConfig.mode to GKE_METADATA'
    >>> node_metadata_mode(pool(inputs={"nodeConfig": {}}, workload_identity=True), {}) is None
    True
    """
    mode = get(pool.inputs, "nodeConfig", "workloadMetadataConfig", "mode")
    hidden: Flag = UNKNOWN if mode is UNKNOWN else mode == "GKE_METADATA"
    return require(
        pool.workload_identity if mode is None else hidden,  # the default of new pools, by the cluster
        message="every pod can read the machine's credentials from the metadata server",
        fix="set nodeConfig.workloadMetadataConfig.mode to GKE_METADATA",
        unknown="the metadata mode",
    )


_EC2_NODE_CLASSES: Final = tuple(
    f"kubernetes:karpenter.k8s.aws/{version}:EC2NodeClass" for version in ("v1", "v1beta1")
)


@rule(
    "karpenter-metadata",
    area="safety",
    subject="things",
    prevents="pods that read the machine's credentials",
    clouds=("kubernetes",),
    types=_EC2_NODE_CLASSES,
)
def karpenter_metadata(thing: Thing, _: Parameters) -> Verdict:
    """Nodes that Karpenter starts keep the machine's credentials from pods; this is the default.

    >>> from sizewell.policy.examples import thing
    >>> kind = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
    >>> open_to_pods = {"spec": {"metadataOptions": {"httpTokens": "optional"}}}
    >>> karpenter_metadata(thing(type=kind, inputs=open_to_pods), {}).fix
    'set spec.metadataOptions.httpTokens to required, and httpPutResponseHopLimit to 1'
    """
    options = get(thing.inputs, "spec", "metadataOptions")
    tokens = get(options, "httpTokens", default="required")
    hops = count(get(options, "httpPutResponseHopLimit", default=1))
    if get(options, "httpEndpoint") == "disabled":
        return None
    if tokens == "optional" or (isinstance(hops, int) and hops > 1):
        return Violation(
            "every pod can read the machine's credentials from the metadata service",
            "set spec.metadataOptions.httpTokens to required, and httpPutResponseHopLimit to 1",
        )
    return Undetermined("the metadata options") if tokens is UNKNOWN or isinstance(hops, Unknown) else None


@rule(
    "password-login",
    area="safety",
    subject="pools",
    prevents="machines compromised by a guessed password",
    clouds=("azure",),
    types=("azure-native:compute:VirtualMachineScaleSet", "azure-native:compute:VirtualMachine"),
)
def password_login(pool: Pool, _: Parameters) -> Verdict:
    """Linux machines take keys, not passwords.

    >>> from sizewell.policy.examples import pool
    >>> opened = {"osProfile": {"linuxConfiguration": {"disablePasswordAuthentication": False}}}
    >>> password_login(pool(machine=opened), {}).fix
    'set osProfile.linuxConfiguration.disablePasswordAuthentication to true'
    """
    linux = get(pool.machine, "osProfile", "linuxConfiguration")
    return require(
        flag(get(linux, "disablePasswordAuthentication"), default=get(pool.machine, "osProfile") is None),
        message="password login is on: a guessed password gives access to the machine",
        fix="set osProfile.linuxConfiguration.disablePasswordAuthentication to true",
        unknown="the login",
    )


@rule(
    "machine-ssh-key",
    area="safety",
    subject="pools",
    prevents="logins that cannot be traced or revoked",
    level="advisory",
    clouds=("aws", "azure"),
)
def machine_ssh_key(pool: Pool, _: Parameters) -> Verdict:
    """People reach machines through a session service: a key pair does not expire, and its use is not recorded.

    >>> from sizewell.policy.examples import pool
    >>> machine_ssh_key(pool(machine={"keyName": "ops"}), {}).fix
    'drop keyName and use Session Manager'
    >>> local = {"securityProfile": {"sshAccess": "LocalUser"}}
    >>> machine_ssh_key(pool(type="azure-native:containerservice:AgentPool", cloud="azure", inputs=local), {}).fix
    'set securityProfile.sshAccess to Disabled'
    """
    if pool.type == "azure-native:containerservice:AgentPool":
        access = get(pool.inputs, "securityProfile", "sshAccess")
        if access is UNKNOWN:
            return Undetermined("who may log in")
        if access != "LocalUser":
            return None
        message = "a key pair of the cluster logs in to every machine without a trace of who used it"
        return Violation(message, "set securityProfile.sshAccess to Disabled")
    if pool.machine is None or pool.type.startswith("aws:batch/") or pool.cloud != "aws":
        return None
    name = get(pool.machine, "keyName", default=pool.inputs.get("keyName"))
    remote = get(pool.inputs, "remoteAccess", "ec2SshKey")
    name = name if remote is None else remote
    if name is UNKNOWN:
        return Undetermined("the key pair")
    if not name:
        return None
    return Violation(
        "a shared key pair gives access to every machine without a trace of who used it",
        f"drop {'keyName' if remote is None else 'remoteAccess.ec2SshKey'} and use Session Manager",
    )


@rule(
    "project-ssh-keys",
    area="safety",
    subject="pools",
    prevents="machines open to project-wide SSH keys",
    level="advisory",
    clouds=("gcp",),
    types=("gcp:compute/instance:Instance", "gcp:compute/instanceGroupManager:InstanceGroupManager"),
)
def project_ssh_keys(pool: Pool, _: Parameters) -> Verdict:
    """A machine accepts no project-wide SSH keys: whoever edits the project could log in.

    >>> from sizewell.policy.examples import pool
    >>> project_ssh_keys(pool(machine={"metadata": {}}), {}).fix
    'set metadata block-project-ssh-keys to true, or enable-oslogin'
    """
    metadata = get(pool.machine, "metadata")
    blocked = either(flag(get(metadata, "block-project-ssh-keys")), flag(get(metadata, "enable-oslogin")))
    return require(
        blocked,
        message="every SSH key in the project's metadata gives access to the machine",
        fix="set metadata block-project-ssh-keys to true, or enable-oslogin",
        unknown="the metadata",
    )


@rule(
    "shielded-nodes",
    area="safety",
    subject="pools",
    prevents="an undetected change of the boot chain",
    level="advisory",
    clouds=("gcp",),
    types=("gcp:container/nodePool:NodePool", "gcp:compute/instance:Instance"),
)
def shielded_nodes(pool: Pool, _: Parameters) -> Verdict:
    """Machines verify at boot that they were not changed.

    >>> from sizewell.policy.examples import pool
    >>> shielded_nodes(pool(machine={}), {}).fix
    'set shieldedInstanceConfig.enableIntegrityMonitoring to true'
    """
    config = get(pool.machine, "shieldedInstanceConfig")
    return require(
        flag(get(config, "enableIntegrityMonitoring"), default=config is None and False),
        message="integrity monitoring is off: a change of the boot chain is not detected",
        fix="set shieldedInstanceConfig.enableIntegrityMonitoring to true",
        unknown="the shielded instance settings",
    )


@rule(
    "machine-image-stale",
    area="safety",
    subject="pools",
    prevents="machines with known vulnerabilities",
    level="advisory",
    clouds=("azure",),
    types=("azure-native:compute:VirtualMachineScaleSet", "azure-native:compute:VirtualMachine"),
)
def machine_image_stale(pool: Pool, _: Parameters) -> Verdict:
    """Machines that are not patched start from the latest image, so that each new one has the fixes.

    >>> from sizewell.policy.examples import pool
    >>> old = {"storageProfile": {"imageReference": {"publisher": "microsoft-dsvm", "version": "22.08.11"}}}
    >>> machine_image_stale(pool(machine=old, cloud="azure"), {}).fix
    'set imageReference.version to latest'
    """
    image = get(pool.machine, "storageProfile", "imageReference")
    if image is UNKNOWN or UNKNOWN in (get(image, "id"), get(image, "sharedGalleryImageId")):
        return Undetermined("the image")
    if image is None or get(image, "id") is not None or get(image, "sharedGalleryImageId") is not None:
        return None  # an image of one's own is renewed by who builds it
    version = get(image, "version")
    latest: Flag = UNKNOWN if version is UNKNOWN else version == "latest"
    upgraded = flag(get(pool.inputs, "upgradePolicy", "automaticOSUpgradePolicy", "enableAutomaticOSUpgrade"))
    return require(
        either(latest, upgraded),
        message="the image version is fixed: vulnerabilities found since then stay open",
        fix="set imageReference.version to latest",
        unknown="the image's version",
    )
