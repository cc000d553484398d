from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import get

_NOTEBOOK: Final = "aws:sagemaker/notebookInstance:NotebookInstance"


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


RULE = Rule(
    id="notebook-metadata",
    area="safety",
    subject="things",
    prevents="stolen notebook credentials",
    judge=notebook_metadata,
    clouds=("aws",),
    types=(_NOTEBOOK,),
)
