from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Verdict, Violation, forbid
from sizewell.resources.stackfacts import Notebook

_INSTANCE: Final = "aws:sagemaker/notebookInstance:NotebookInstance"


def notebook_public(notebook: Notebook, _: Parameters) -> Verdict:
    """A notebook has no direct internet access, in either direction.

    >>> from sizewell.policy.examples import notebook
    >>> notebook_public(notebook(public=True), {}).fix
    'put it in a private subnet without direct internet access'
    """
    if notebook.public is False and notebook.type == _INSTANCE and notebook.inputs.get("subnetId") is None:
        return Violation(
            "internet access cannot be disabled without a subnet: AWS rejects the notebook",
            "set subnetId and securityGroups",
        )
    return forbid(
        notebook.public,
        message="a notebook with the team's rights is reachable from the internet",
        fix="put it in a private subnet without direct internet access",
        unknown="its network",
    )


RULE = Rule(
    id="notebook-public",
    area="safety",
    subject="notebooks",
    prevents="notebooks open to outsiders",
    judge=notebook_public,
)
