from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Notebook


def notebook_without_auto_stop(notebook: Notebook, _: Parameters) -> Verdict:
    """A notebook stops itself when nobody uses it.

    >>> from sizewell.policy.examples import notebook
    >>> notebook_without_auto_stop(notebook(accelerated=True), {}).message
    'nothing stops the notebook when it is idle: it is billed around the clock'
    >>> notebook_without_auto_stop(notebook(accelerated=True, stops_itself=True), {}) is None
    True
    """
    return require(
        notebook.stops_itself,
        message="nothing stops the notebook when it is idle: it is billed around the clock",
        fix="set an idle shutdown (lifecycle configuration, idle settings or idle-timeout-seconds)",
        unknown="its idle shutdown",
    )


RULE = Rule(
    id="notebook-without-auto-stop",
    area="spend",
    subject="notebooks",
    prevents="notebooks that are billed on weekends",
    judge=notebook_without_auto_stop,
)
