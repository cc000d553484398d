from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, forbid
from sizewell.resources.stackfacts import Notebook


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


RULE = Rule(
    id="notebook-root",
    area="safety",
    subject="notebooks",
    prevents="users who disable safeguards",
    judge=notebook_root,
    level="advisory",
)
