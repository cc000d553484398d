from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pods


def pod_image_unpinned(pods: Pods, _: Parameters) -> Verdict:
    """Images are named by digest or version: a job that resumes runs the code that it began with.

    >>> from sizewell.policy.examples import pods
    >>> pod_image_unpinned(pods(pinned=False), {}).fix
    'name the image by digest (@sha256:...) or version'
    """
    return require(
        pods.pinned,
        message="a job that restarts may run other code than it began with, and nobody can say which",
        fix="name the image by digest (@sha256:...) or version",
        unknown="the image",
    )


RULE = Rule(
    id="pod-image-unpinned",
    area="safety",
    subject="pods",
    prevents="runs that nobody can repeat, and images that others replace",
    judge=pod_image_unpinned,
    level="advisory",
    clouds=("kubernetes",),
)
