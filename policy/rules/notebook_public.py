from __future__ import annotations

from policy.rule import Parameters, Rule, Verdict, forbid
from resources.stackfacts import Notebook


def notebook_public(notebook: Notebook, _: Parameters) -> Verdict:
    """A notebook has no direct way to and from the internet.

    >>> from policy.examples import notebook
    >>> notebook_public(notebook(public=True), {}).fix
    'put it in a private subnet without direct internet access'
    """
    return forbid(
        notebook.public,
        message="a notebook with the team's rights stands on the internet",
        fix="put it in a private subnet without direct internet access",
        unknown="its network",
    )


RULE = Rule(
    id="notebook-public",
    area="safety",
    subject="notebooks",
    prevents="notebooks that strangers reach",
    judge=notebook_public,
)
