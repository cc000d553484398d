from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pods


def pod_image_unpinned(pods: Pods, _: Parameters) -> Verdict:
    """Images are named by digest or version: a job that resumes runs the same code as before.

    >>> from sizewell.policy.examples import pods
    >>> pod_image_unpinned(pods(pinned=False), {}).fix
    'name the image by digest (@sha256:...) or version'
    """
    return require(
        pods.pinned,
        message="the image is not pinned: a job that restarts may run different code",
        fix="name the image by digest (@sha256:...) or version",
        unknown="the image",
    )


RULE = Rule(
    id="pod-image-unpinned",
    area="safety",
    subject="pods",
    prevents="runs that cannot be reproduced, and images replaced by others",
    judge=pod_image_unpinned,
    level="advisory",
    clouds=("kubernetes",),
)
