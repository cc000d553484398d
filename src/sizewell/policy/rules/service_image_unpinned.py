from __future__ import annotations

from typing import Any, Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get, items

_MODEL: Final = "aws:sagemaker/model:Model"
_RUN: Final = "gcp:cloudrunv2/service:Service"
_VERTEX: Final = "gcp:vertex/aiEndpointWithModelGardenDeployment:AiEndpointWithModelGardenDeployment"


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
    if thing.type == _VERTEX:
        return [get(inputs, "modelConfig", "containerSpec", "imageUri")]
    several = get(inputs, "template", "containers") if thing.type == _RUN else inputs.get("containers")
    listed = items(several)
    images = [UNKNOWN] if isinstance(listed, Unknown) else [get(container, "image") for container in listed]
    return [*images, get(inputs, "primaryContainer", "image")]


RULE = Rule(
    id="service-image-unpinned",
    area="safety",
    subject="things",
    prevents="images that change under a running service",
    judge=service_image_unpinned,
    level="advisory",
    clouds=("aws", "gcp"),
    types=(_MODEL, _RUN, _VERTEX),
)
