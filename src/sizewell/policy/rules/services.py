"""Endpoints, jobs and notebooks of managed services: who reaches them, and what they run."""

from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, StackVerdicts, Undetermined, Verdict, Violation, forbid, require, rule
from sizewell.resources.recorded import UNKNOWN, Inapplicable, RecordedResource, Unknown
from sizewell.resources.stackfacts import Job, Notebook, StackFacts, Thing
from sizewell.resources.values import Flag, contains_unknown, either, flag, get, items

_CLOUD_RUN_SERVICE: Final = "gcp:cloudrunv2/service:Service"
_AZURE_ENDPOINTS: Final = (
    "azure-native:machinelearningservices:OnlineEndpoint",
    "azure-native:machinelearningservices:Workspace",
)
_COGNITIVE_ACCOUNT: Final = "azure-native:cognitiveservices:Account"


@rule(
    "service-public",
    area="safety",
    subject="things",
    prevents="requests by outsiders at your cost",
    levels={"dev": "advisory"},
    clouds=("gcp", "azure"),
    types=(_CLOUD_RUN_SERVICE, *_AZURE_ENDPOINTS, _COGNITIVE_ACCOUNT),
)
def service_public(thing: Thing, _: Parameters) -> Verdict:
    """A model service is reachable only from inside the network: requests from outside are billed to you.

    >>> from sizewell.policy.examples import thing
    >>> service_public(thing(type="gcp:cloudrunv2/service:Service"), {}).fix
    'set ingress to INGRESS_TRAFFIC_INTERNAL_ONLY'
    """
    if thing.type == _CLOUD_RUN_SERVICE:
        if _without_accelerators(get(thing.inputs, "template", "containers")):
            return None  # a web service; whom its invokers are, `public-member` judges
        stated, closed = (
            thing.inputs.get("ingress"),
            ("INGRESS_TRAFFIC_INTERNAL_ONLY", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"),
        )
        inside, fix = stated in closed, "set ingress to INGRESS_TRAFFIC_INTERNAL_ONLY"
    else:
        access = get(thing.inputs, "properties", "publicNetworkAccess", default=thing.inputs.get("publicNetworkAccess"))
        default = get(thing.inputs, "properties", "networkAcls", "defaultAction")
        access = get(thing.inputs, "onlineEndpointProperties", "publicNetworkAccess", default=access)
        stated = UNKNOWN if UNKNOWN in (access, default) else access
        inside, fix = access == "Disabled" or default == "Deny", "set publicNetworkAccess to Disabled"
    if inside:
        return None
    if stated is UNKNOWN:
        return Undetermined("who can reach the service")
    return Violation("it is open to the internet: anyone can send requests, at your cost", fix)


def _without_accelerators(listed: Any) -> bool:
    """Whether containers are stated, and none asks for an accelerator."""
    containers = items(listed)
    if isinstance(containers, Unknown) or contains_unknown(containers):
        return False
    limits = [get(container, "resources", "limits", default={}) for container in containers]
    return bool(containers) and not any("gpu" in str(key) for limit in limits for key in limit)


_VERTEX_ENDPOINT: Final = "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment"


@rule(
    "vertex-endpoint-public",
    area="safety",
    subject="things",
    prevents="requests with a stolen token at your cost",
    levels={"dev": "advisory"},
    debatable=True,
    clouds=("gcp",),
    types=(_VERTEX_ENDPOINT,),
)
def vertex_endpoint_public(thing: Thing, _: Parameters) -> Verdict:
    """A Vertex AI endpoint has a private address: on a public one a stolen token works from anywhere.

    >>> from sizewell.policy.examples import thing
    >>> vertex_endpoint_public(thing(type=_VERTEX_ENDPOINT), {}).fix
    'set enablePrivateServiceConnect to true'
    """
    connect = get(thing.inputs, "endpointConfig", "privateServiceConnectConfig", "enablePrivateServiceConnect")
    return require(
        flag(connect),
        message="the endpoint is open to the internet for anyone with a valid token",
        fix="set enablePrivateServiceConnect to true",
        unknown="who can reach the service",
    )


_ENDPOINT_CONFIGURATION: Final = "aws:sagemaker/endpointConfiguration:EndpointConfiguration"


@rule(
    "model-isolated",
    area="safety",
    subject="stack",
    prevents="prompts and weights that are exfiltrated",
    clouds=("aws",),
)
def model_isolated(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A served model runs in a private network: its container must not send prompts anywhere.

    Serverless endpoints take neither a network nor isolation; models that only those serve are left out.

    >>> from sizewell.policy.examples import resource, stack
    >>> model_isolated(stack(resource("aws:sagemaker/model:Model", "chat")), {})[0][1].fix
    'set vpcConfig, or enableNetworkIsolation'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for model in facts.graph.of("aws:sagemaker/model:Model"):
        isolated = flag(model.inputs.get("enableNetworkIsolation"))
        private: Flag = model.inputs.get("vpcConfig") is not None
        verdict = require(
            either(isolated, private, _serverless(facts, model)),
            message="the model's container has internet access: prompts and weights can be exfiltrated",
            fix="set vpcConfig, or enableNetworkIsolation",
            unknown="the network isolation",
        )
        verdicts.append((model.urn, verdict))
    return verdicts


def _serverless(facts: StackFacts, model: RecordedResource) -> bool:
    """Whether every endpoint configuration that surely serves the model is serverless, and one does."""
    configs = facts.graph.referring(model, _ENDPOINT_CONFIGURATION, "productionVariants")
    variants = (
        () if isinstance(configs, Unknown) else [items(config.inputs.get("productionVariants")) for config in configs]
    )
    known = [entry for listed in variants if isinstance(listed, tuple) for entry in listed]
    return bool(known) and all(isinstance(get(entry, "serverlessConfig"), dict) for entry in known)


@rule(
    "job-isolated",
    area="safety",
    subject="jobs",
    prevents="training data that is exfiltrated",
    level="advisory",
    clouds=("aws",),
    types=("aws:sagemaker/trainingJob:TrainingJob", "aws:sagemaker/pipeline:Pipeline"),
)
def job_isolated(job: Job, _: Parameters) -> Verdict:
    """A training job runs without internet access, with a customer-managed key.

    >>> from sizewell.policy.examples import job
    >>> job_isolated(job(own_key=True), {}).fix
    'set enableNetworkIsolation to true'
    """
    if isinstance(job.isolated, Unknown):
        return Undetermined("the network isolation")
    if not isinstance(job.isolated, Inapplicable) and not job.isolated:
        message = "without network isolation code in the training container can send data anywhere"
        return Violation(message, "set enableNetworkIsolation to true")
    return require(
        job.own_key,
        message="the job's volumes are not encrypted with a customer-managed key",
        fix="set resourceConfig.volumeKmsKeyId",
        unknown="the volume key",
    )


_SAGEMAKER_MODEL: Final = "aws:sagemaker/model:Model"


@rule(
    "service-image-unpinned",
    area="safety",
    subject="things",
    prevents="images that change under a running service",
    level="advisory",
    clouds=("aws", "gcp"),
    types=(_SAGEMAKER_MODEL, _CLOUD_RUN_SERVICE, _VERTEX_ENDPOINT),
)
def service_image_unpinned(thing: Thing, _: Parameters) -> Verdict:
    """Containers of model services are named by digest or version: all machines then serve the same version.

    >>> from sizewell.policy.examples import thing
    >>> loose = {"primaryContainer": {"image": "vllm/vllm-openai:latest"}}
    >>> service_image_unpinned(thing(type="aws:sagemaker/model:Model", inputs=loose), {}).fix
    'name the image by digest (@sha256:...) or version'
    """
    for image in _images(thing):
        if image is UNKNOWN:
            return Undetermined("the container image")
        name = str(image or "")
        tag = name.rsplit("/", 1)[-1].partition(":")[2]
        if name and "@sha256:" not in name and tag in {"", "latest"}:
            return Violation(
                f"{name} is not pinned: its tag is mutable, and whoever can push it can read every prompt",
                "name the image by digest (@sha256:...) or version",
            )
    return None


def _images(thing: Thing) -> list[Any]:
    inputs = thing.inputs
    if thing.type == _VERTEX_ENDPOINT:
        return [get(inputs, "modelConfig", "containerSpec", "imageUri")]
    several = get(inputs, "template", "containers") if thing.type == _CLOUD_RUN_SERVICE else inputs.get("containers")
    listed = items(several)
    images = [UNKNOWN] if isinstance(listed, Unknown) else [get(container, "image") for container in listed]
    return [*images, get(inputs, "primaryContainer", "image")]


_NOTEBOOK_INSTANCE: Final = "aws:sagemaker/notebookInstance:NotebookInstance"
_CLOSED_BY: Final = {
    _NOTEBOOK_INSTANCE: "set directInternetAccess to Disabled, with subnetId and securityGroups",
    "aws:sagemaker/domain:Domain": "set appNetworkAccessType to VpcOnly",
    "gcp:workbench/instance:Instance": "set gceSetup.disablePublicIp to true, in a subnet with Private Google Access",
    "gcp:colab/runtimeTemplate:RuntimeTemplate": "set networkSpec.enableInternetAccess to false",
    "azure-native:machinelearningservices:Compute": "set enableNodePublicIp to false, with a subnet or managed network",
}


@rule(
    "notebook-public",
    area="safety",
    subject="notebooks",
    prevents="notebooks open to outsiders",
)
def notebook_public(notebook: Notebook, _: Parameters) -> Verdict:
    """A notebook has no direct internet access, in either direction.

    >>> from sizewell.policy.examples import notebook
    >>> notebook_public(notebook(public=True), {}).fix
    'put it in a private subnet without direct internet access'
    """
    if notebook.public is False and notebook.type == _NOTEBOOK_INSTANCE and notebook.inputs.get("subnetId") is None:
        return Violation(
            "internet access cannot be disabled without a subnet: AWS rejects the notebook",
            "set subnetId and securityGroups",
        )
    fix = _CLOSED_BY.get(notebook.type, "put it in a private subnet without direct internet access")
    if notebook.cloud == "aws":  # people get in through IAM: what is open is the way out
        return forbid(
            notebook.public,
            message="a notebook with the team's rights sends traffic straight to the internet: what it reads can leave",
            fix=fix,
            unknown="its network",
        )
    return forbid(
        notebook.public,
        message="a notebook with the team's rights is reachable from the internet",
        fix=fix,
        unknown="its network",
    )


@rule(
    "notebook-root",
    area="safety",
    subject="notebooks",
    prevents="users who disable safeguards",
    level="advisory",
)
def notebook_root(notebook: Notebook, _: Parameters) -> Verdict:
    """Users of a notebook are not root: root can turn the idle shutdown off and read every credential.

    >>> from sizewell.policy.examples import notebook
    >>> notebook_root(notebook(root=True), {}).fix
    'disable root access'
    """
    return forbid(
        notebook.root,
        message="root inside the notebook can turn its idle shutdown off and read its credentials",
        fix="disable root access",
        unknown="root access",
    )


@rule(
    "notebook-metadata",
    area="safety",
    subject="things",
    prevents="stolen notebook credentials",
    clouds=("aws",),
    types=(_NOTEBOOK_INSTANCE,),
)
def notebook_metadata(thing: Thing, _: Parameters) -> Verdict:
    """A notebook's metadata service requires a token: otherwise a web page can read the role's credentials.

    >>> from sizewell.policy.examples import thing
    >>> notebook_metadata(thing(type="aws:sagemaker/notebookInstance:NotebookInstance"), {}).fix
    "set instanceMetadataServiceConfiguration.minimumInstanceMetadataServiceVersion to '2'"
    """
    version = get(thing.inputs, "instanceMetadataServiceConfiguration", "minimumInstanceMetadataServiceVersion")
    if version is UNKNOWN:
        return Undetermined("the metadata service")
    if str(version) == "2":
        return None
    return Violation(
        "IMDSv2 is not required: a forged request can read the credentials of the notebook's role",
        "set instanceMetadataServiceConfiguration.minimumInstanceMetadataServiceVersion to '2'",
    )
