"""Arguments of Google Cloud's managed services for accelerators. Pure."""

from typing import Annotated, Final, NotRequired

import pulumi

from sizewell.components.bounds import Between, OneOf, Pattern
from sizewell.components.forms import PlaceArgs
from sizewell.components.gcp.args import ACCOUNT, ProjectArgs

STRATEGIES: Final = {"on-demand": "STANDARD", "spot": "SPOT", "flex-start": "FLEX_START"}  # of Vertex AI, by mode
IMAGE = Pattern(
    r"[a-z0-9][a-z0-9.:/_-]*@sha256:[0-9a-f]{64}",
    "an image by digest, NAME@sha256:…",
    because="tags are mutable; pin a digest",
)
MODEL = Pattern(
    r"publishers/[\w-]+/models/[\w.-]+(@[\w.-]+)?|[\w.-]+/[\w.-]+",
    "publishers/P/models/M@VERSION or OWNER/NAME of Hugging Face",
)


class CloudRunGpuArgs(PlaceArgs, ProjectArgs):
    """A container with one GPU that runs while requests come."""

    image: Annotated[str, IMAGE]
    """Container image, by digest."""
    instances_max: Annotated[int, Between(1, 100)]
    """Maximum number of instances; each has one GPU, which counts against the quota."""
    instances_min: NotRequired[int]
    """Minimum number of instances, default 0; above 0 they are billed around the clock."""
    cpus: NotRequired[int]
    """CPUs of an instance, 4 or 8; default 8."""
    memory_gib: NotRequired[Annotated[int, Between(16, 32)]]
    """Memory of an instance, 16 to 32; default 32."""
    port: NotRequired[Annotated[int, Between(1, 65535)]]
    """Port that the container listens on; default 8080."""
    requests_at_once: NotRequired[Annotated[int, Between(1, 1000)]]
    """Concurrent requests per instance; default 8."""
    timeout_s: NotRequired[Annotated[int, Between(1, 3600)]]
    """Request timeout in seconds; default 300."""
    zonal_redundancy: NotRequired[bool]
    """Whether GPUs are held in a second zone, which costs more; default false."""
    subnetwork: NotRequired[pulumi.Input[str]]
    """Subnetwork of its egress."""
    invokers: NotRequired[list[str]]
    """IAM members that may call it, as serviceAccount:app@petsnap.iam.gserviceaccount.com."""
    environment_variables: NotRequired[dict[str, str]]
    """Environment of the container; no secrets."""
    kms_key_name: NotRequired[pulumi.Input[str]]
    """Key for the image and the instances; one is made unless given."""
    deletion_protection: NotRequired[bool]
    """The cloud's own protection; default on in prod, which takes a reviewed step to remove."""


class VertexEndpointArgs(PlaceArgs, ProjectArgs):
    """A model of Model Garden or Hugging Face on machines of its own behind a private endpoint."""

    model: Annotated[str, MODEL]
    """publishers/google/models/gemma3@gemma-3-27b-it, or google/gemma-3-27b-it of Hugging Face."""
    machine_type: str
    """Machine type with GPUs that the catalog knows."""
    replicas_min: int
    """Minimum number of machines, at least 1, which is billed around the clock."""
    replicas_max: int
    """Most machines."""
    spot: NotRequired[bool]
    """Whether spot machines are used."""
    image: NotRequired[Annotated[str, IMAGE]]
    """Container image by digest; default the model's usual one."""
    accept_eula: NotRequired[bool]
    """Whether the model's licence has been accepted; default false."""
    target_utilization_percent: NotRequired[Annotated[int, Between(10, 95)]]
    """Utilization of accelerators at which a machine is added; default 60."""


class VertexTrainingArgs(PlaceArgs, ProjectArgs):
    """Custom training jobs on Vertex AI, with a workflow that starts one."""

    image: Annotated[str, IMAGE]
    """Training container, by digest."""
    machine_type: str
    """Machine type with GPUs that the catalog knows."""
    nodes: Annotated[int, Between(1, 100)]
    """Machines of one job."""
    capacity_mode: Annotated[str, OneOf(tuple(STRATEGIES))]
    """on-demand, spot or flex-start."""
    max_run_hours: Annotated[
        int, Between(1, 168, fix="a job without a maximum run time is billed until somebody notices")
    ]
    """Maximum run time of the job; at most 168."""
    bucket: Annotated[str, Pattern(r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", "the checkpoint bucket's name")]
    """Checkpoint bucket; it is in a stack of its own."""
    writer_account: Annotated[str, ACCOUNT]
    """Account id of the service account that writes checkpoints and cannot delete; the job runs as it."""
    disk_gib: NotRequired[Annotated[int, Between(100, 64000)]]
    """Boot disk of each machine; default 200."""
    command: NotRequired[list[str]]
    """Command of the container; default the image's own."""
    arguments: NotRequired[list[str]]
    """Arguments of the command."""
    environment_variables: NotRequired[dict[str, str]]
    """Environment of the container; no secrets."""
    subnetwork: NotRequired[pulumi.Input[str]]
    """Subnetwork that the job reaches private addresses through."""
    kms_key_name: NotRequired[pulumi.Input[str]]
    """Key for the job's disks and metadata; one is made unless given."""
