from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import flag, get

_ECR: Final = "aws:ecr/repository:Repository"
_ARTIFACTS: Final = "gcp:artifactregistry/repository:Repository"


def image_tags_mutable(thing: Thing, _: Parameters) -> Verdict:
    """Image tags are immutable: a job that resumes must not start other code under the same name.

    >>> from sizewell.policy.examples import thing
    >>> image_tags_mutable(thing(type="aws:ecr/repository:Repository"), {}).fix
    'set imageTagMutability to IMMUTABLE'
    """
    if thing.type == _ECR:
        stated = thing.inputs.get("imageTagMutability")
        fixed, fix = str(stated).startswith("IMMUTABLE"), "set imageTagMutability to IMMUTABLE"
    else:
        kind = thing.inputs.get("format")
        if kind is not UNKNOWN and str(kind).upper() != "DOCKER":
            return None
        stated = get(thing.inputs, "dockerConfig", "immutableTags", default=UNKNOWN if kind is UNKNOWN else None)
        fixed, fix = flag(stated) is True, "set dockerConfig.immutableTags to true"
    if fixed:
        return None
    if stated is UNKNOWN:
        return Undetermined("whether its tags are mutable")
    return Violation("tags are mutable: pushing the same tag again changes the code of every job that restarts", fix)


RULE = Rule(
    id="image-tags-mutable",
    area="safety",
    subject="things",
    prevents="jobs that restart with different code",
    judge=image_tags_mutable,
    level="advisory",
    clouds=("aws", "gcp"),
    types=(_ECR, _ARTIFACTS),
)
