"""What a plan does not show: it is named, and never counts as fine."""

from __future__ import annotations

from collections.abc import Iterator

from sizewell.policy.rule import Parameters, StackVerdicts, Undetermined, Verdict, rule
from sizewell.resources import standing
from sizewell.resources.readers import network
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Endpoint, Job, Notebook, Pool, StackFacts


@rule(
    "not-judged",
    area="spend",
    subject="stack",
    prevents="machines behind a chart, a component or an unknown value that nobody reviewed",
    level="advisory",
)
def not_judged(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Everything that a stack makes is in its plan, with its machine types: what is not cannot be judged.

    >>> from sizewell.policy.examples import pool, stack
    >>> from sizewell.resources.recorded import UNKNOWN
    >>> not_judged(stack(pools=(pool(accelerator=UNKNOWN),)), {})[0][1].message
    'whether it has accelerators is not judged: its machine type is known only after deployment'
    """
    return [*_hidden(facts), *_unknown(facts), *_firewalls(facts)] or [("", None)]


def _hidden(facts: StackFacts) -> Iterator[tuple[str, Verdict]]:
    for each in facts.hidden:
        why = f": {each.why}" if each.why else ""
        place = "" if each.urn else f"{each.name}: "
        yield each.urn, Undetermined(each.what, f"{place}{each.what} may bring {each.may_hide}{why}", each.fix)


def _unknown(facts: StackFacts) -> Iterator[tuple[str, Verdict]]:
    machines: tuple[Pool | Endpoint | Notebook | Job, ...]
    machines = (*facts.pools, *facts.endpoints, *facts.notebooks, *facts.jobs)
    for fact in machines:
        if isinstance(fact.accelerated, Unknown):
            yield (
                fact.urn,
                Undetermined(
                    "its machine type",
                    "whether it has accelerators is not judged: its machine type is known only after deployment",
                    "state the machine type in the program or in the stack's configuration",
                ),
            )


def _firewalls(facts: StackFacts) -> Iterator[tuple[str, Verdict]]:
    """Of other clouds than are read, beside accelerators: which ports they open nobody here can say."""
    unread = [resource for resource in facts.graph.plan.resources if network.unread(resource)]
    if not unread or standing.accelerated(facts) is False:
        return
    for resource in unread:
        provider = resource.type.partition(":")[0]
        message = f"which ports it opens is not judged: firewalls of the provider {provider} are not read"
        yield (
            resource.urn,
            Undetermined("its rules", message, "name the ranges that need it, then waive it with a reason"),
        )
