from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import get, items


def pod_token_unused(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """A pod has a cluster token only if a role is bound to its account.

    >>> from sizewell.policy.examples import pods, stack
    >>> pod_token_unused(stack(pods=(pods(token=True),)), {})[0][1].fix
    'set automountServiceAccountToken to false'
    """
    bound: set[str] = set()
    unsure = False
    for binding in facts.graph.plan.resources:
        if binding.type.rsplit(":", 1)[-1] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        subjects = items(binding.inputs.get("subjects"))
        names = [get(subject, "name") for subject in subjects] if isinstance(subjects, tuple) else [UNKNOWN]
        unsure |= UNKNOWN in names
        bound.update(str(name) for name in names)
    verdicts: list[tuple[str, Verdict]] = []
    for pods in facts.pods:
        if pods.token is False or pods.service_account in bound:
            verdicts.append((pods.urn, None))
        elif UNKNOWN in (pods.token, pods.service_account) or unsure:
            verdicts.append((pods.urn, Undetermined("its account and what is bound to it")))
        else:
            message = "the container has a token for the cluster's API that it does not need"
            verdicts.append((pods.urn, Violation(message, "set automountServiceAccountToken to false")))
    return verdicts


RULE = Rule(
    id="pod-token-unused",
    area="safety",
    subject="stack",
    prevents="cluster tokens in compromised containers",
    judge=pod_token_unused,
    level="advisory",
    clouds=("kubernetes",),
)
