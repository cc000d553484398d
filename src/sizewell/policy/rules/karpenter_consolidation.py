from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Thing
from sizewell.resources.values import contains_unknown, get, items


def karpenter_consolidation(thing: Thing, _: Parameters) -> Verdict:
    """Karpenter must not consolidate reserved machines: they are prepaid, and may not be available again.

    >>> from sizewell.policy.examples import thing
    >>> needs = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]}]
    >>> spec = {"template": {"spec": {"requirements": needs}}}
    >>> pool = thing(type="kubernetes:karpenter.sh/v1:NodePool", cloud="kubernetes", inputs={"spec": spec})
    >>> karpenter_consolidation(pool, {}).fix
    'set disruption.consolidateAfter to Never, or disruption.budgets with nodes: "0"'
    """
    spec = thing.inputs.get("spec")
    if spec is UNKNOWN:
        return Undetermined("the node pool's spec")
    needs = items(get(spec, "template", "spec", "requirements"))
    if isinstance(needs, Unknown):
        return Undetermined("the requirements")
    kinds = [get(need, "values") for need in needs if get(need, "key") == "karpenter.sh/capacity-type"]
    if not any(isinstance(values, list) and "reserved" in values for values in kinds):
        return Undetermined("the requirements") if contains_unknown(needs) else None
    disruption = get(spec, "disruption")
    budgets = items(get(disruption, "budgets"))
    quiet = get(disruption, "consolidateAfter") == "Never" or (
        isinstance(budgets, tuple) and any(str(get(budget, "nodes")) in {"0", "0%"} for budget in budgets)
    )
    if quiet:
        return None
    return Violation(
        "Karpenter may remove prepaid machines in the middle of a job, which saves nothing",
        'set disruption.consolidateAfter to Never, or disruption.budgets with nodes: "0"',
    )


RULE = Rule(
    id="karpenter-consolidation",
    area="correctness",
    subject="things",
    prevents="jobs killed to save prepaid money",
    judge=karpenter_consolidation,
    clouds=("kubernetes",),
    types=("kubernetes:karpenter.sh/v1:NodePool",),
)
