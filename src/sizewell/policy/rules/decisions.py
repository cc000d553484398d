"""Whether what is built is what was decided and reviewed, where it was decided."""

from __future__ import annotations

from datetime import date
from math import prod
from typing import Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, rule
from sizewell.resources.readers.common import plan_environment
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Endpoint, Notebook, Pool, StackFacts, Thing
from sizewell.resources.values import count, get, text
from sizewell.sizing.records.stackname import cluster_of
from sizewell.sizing.units import plural


@rule(
    "decision-out-of-date",
    area="spend",
    subject="stack",
    prevents="hardware that does not follow a reviewed decision",
    parameters={
        "days": Parameter(
            default=90,
            schema={"type": "integer", "minimum": 1},
            meaning="how old a decision may be",
        )
    },
)
def decision_out_of_date(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """What is built follows the committed decision, unedited and not too old.

    >>> from sizewell.policy.examples import stack
    >>> from datetime import date
    >>> old = {"decided_on": "2026-01-01", "sealed": True, "digest": "a"}
    >>> decision_out_of_date(stack(decision=old, on=date(2026, 11, 1)), {"days": 90})[0][1].message
    'the decision is 304 days old, limit 90: prices and capacity have changed since'
    """
    registered = {
        resource.urn: digest
        for resource in facts.graph.plan.resources
        if (digest := get(resource.inputs, "sizewell", "decisionDigest")) is not None
    }
    fix = "run `sizewell size --check`, then `sizewell size --stack NAME`, and commit the decision"
    if facts.decision is None:
        name = f"stacks/decisions/{cluster_of(facts.graph.plan.stack)}.json"
        absent = Undetermined(
            "the committed decision",
            f"built from a decision, and {name} is not here to compare with",
            f"commit {name}; for a program that follows no decision any more, set decision-out-of-date: disabled "
            "among the levels of policy/config.yaml",
        )
        return [(urn, absent) for urn in registered] or [("", None)]
    verdicts: list[tuple[str, Verdict]] = []
    if not facts.decision.get("sealed"):
        verdicts.append(("", Violation("the decision was edited by hand: it is not what sizewell size wrote", fix)))
    digest = facts.decision.get("digest")
    for urn, stated in registered.items():
        if stated is UNKNOWN:
            verdicts.append((urn, Undetermined("the decision's digest")))
        elif stated != digest:
            verdicts.append((urn, Violation("built from a decision other than the committed one", fix)))
    decided = facts.decision.get("decided_on")
    if facts.on is not None and decided:
        age = (facts.on - date.fromisoformat(str(decided))).days
        if age > parameters["days"]:
            message = (
                f"the decision is {age} days old, limit {parameters['days']}: prices and capacity have changed since"
            )
            verdicts.append(("", Violation(message, fix)))
    return verdicts or [("", None)]


@rule(
    "more-than-decided",
    area="spend",
    subject="pools",
    prevents="capacity that was not reviewed",
)
def more_than_decided(pool: Pool, _: Parameters) -> Verdict:
    """A pool has no more machines, and no other type, than the decision that was reviewed.

    >>> from sizewell.policy.examples import pool
    >>> decided = {"instanceType": "g6.xlarge", "nodesMax": 2, "nodesMin": 0, "decisionDigest": "1f"}
    >>> more_than_decided(pool(kinds=("g6.xlarge",), nodes_min=0, nodes_max=8, registration=decided), {}).message
    'up to 8 machines, but the decision says 2: up to 4 times the reviewed cost'
    >>> alone = {"instanceType": "g6.xlarge", "nodesMax": 2, "nodesMin": 0}
    >>> more_than_decided(pool(kinds=("g6.xlarge",), nodes_min=1, nodes_max=2, registration=alone), {}).message
    'at least 1 machine, but its component says 0'
    >>> more_than_decided(pool(kinds=("g6.xlarge",), nodes_min=0, nodes_max=2, registration=decided), {}) is None
    True
    """
    registered = {} if pool.registration is None else pool.registration
    declared = registered.get("instanceType")
    if declared is None or registered.get("nodesMax") is None or pool.single:
        return None
    stated = (declared, registered.get("nodesMax"), registered.get("nodesMin"))
    if isinstance(pool.kinds, Unknown) or isinstance(pool.nodes_max, Unknown) or UNKNOWN in stated:
        return Undetermined("machine type and maximum size, as decided and as built")
    who, fix = "the decision", "decide again with `sizewell size` and commit the decision, or build what it says"
    if registered.get("decisionDigest") is None:  # a component alone
        who, fix = "its component", "build what its arguments say, or change them: that is what is priced and reviewed"
    if declared not in pool.kinds:
        if registered.get("kind") is UNKNOWN and pool.accelerated is not False:
            return Undetermined("the workload of the machines")
        if registered.get("kind") == "pool" and pool.accelerated is not False:
            return Violation(f"starts {', '.join(pool.kinds)} machines, but {who} says {declared}", fix)
        return None  # a system pool beside the decided one
    most, least = count(registered.get("nodesMax")), count(registered.get("nodesMin"))
    built = max(pool.nodes_max or 0, pool.nodes_wanted if isinstance(pool.nodes_wanted, int) else 0)
    if isinstance(most, int) and built > most:
        times = built / max(most, 1)
        message = f"up to {plural(built, 'machine')}, but {who} says {most}"
        message += f": up to {times:g} times the reviewed cost"
        return Violation(message, fix)
    if isinstance(least, int) and isinstance(pool.nodes_min, int) and pool.nodes_min > least:
        return Violation(f"at least {plural(pool.nodes_min, 'machine')}, but {who} says {least}", fix)
    return None


@rule(
    "built-as-declared",
    area="spend",
    subject="pools",
    prevents="disks, machines and zones that were not sized",
)
def built_as_declared(pool: Pool, _: Parameters) -> Verdict:
    """What is built matches the component's arguments: machine type, disk of each machine, zones.

    >>> from sizewell.policy.examples import pool
    >>> built_as_declared(pool(disk_gib=2000, declared_disk_gib=200), {}).message
    'each machine gets a disk of 2000 GiB, but its component says 200: the difference is billed around the clock'
    >>> built_as_declared(pool(template_kind="p5.48xlarge", declared_kinds=("g6.xlarge",)), {}).fix
    'name g6.xlarge in the template'
    """
    told = pool.declared_disk_gib
    if told is not None and pool.disk_gib is not None:
        if isinstance(told, Unknown) or isinstance(pool.disk_gib, Unknown):
            return Undetermined("the disk's size, as declared and as built")
        if pool.disk_gib > told:
            return Violation(
                (
                    f"each machine gets a disk of {pool.disk_gib} GiB, but its component says {told}: the difference "
                    "is billed around the clock"
                ),
                f"set the disk to {told} GiB, or decide again with `sizewell size`",
            )
    kinds = pool.declared_kinds
    if pool.template_kind != "" and kinds != ():
        if isinstance(kinds, Unknown) or isinstance(pool.template_kind, Unknown):
            return Undetermined("the machine type, as declared and as built")
        if pool.template_kind not in kinds:
            message = (
                f"the template names {pool.template_kind}, which differs from its component: whatever is "
                "started from it"
            )
            return Violation(f"{message} is billed for another machine type", f"name {kinds[0]} in the template")
    if pool.declared_topology != "":
        topology = text(get(pool.inputs, "placementPolicy", "tpuTopology"))
        if isinstance(topology, Unknown) or isinstance(pool.declared_topology, Unknown):
            return Undetermined("the topology, as declared and as built")
        if topology == "" and isinstance(pool.nodes_max, Unknown):
            return Undetermined("how many machines there are")
        sides = [int(side) for side in pool.declared_topology.split("x") if side.isdecimal()]
        alone = prod(sides) <= pool.tpu_chips  # each machine is a slice by itself, and takes no placement
        if topology == "" and not alone and (pool.nodes_max or 0) != 1 and pool.accelerated is not False:
            message = (
                f"the machines do not form a slice of {pool.declared_topology}: they are billed but the job "
                f"does not start"
            )
            return Violation(message, f"set placementPolicy.tpuTopology to {pool.declared_topology}")
    if pool.declared_zones is not None and pool.zones is not None:
        if isinstance(pool.declared_zones, Unknown) or isinstance(pool.zones, Unknown):
            return Undetermined("the zones, as declared and as built")
        if pool.zones > pool.declared_zones:
            message = f"the machines are spread over {pool.zones} zones, but the component says {pool.declared_zones}"
            return Violation(f"{message}: traffic between them is billed", "give the pool the zones that were declared")
    return None


_MARKETS_THAT_COUNT_AS: Final = {
    "reserved-1y": ("on-demand",),
    "reserved-3y": ("on-demand",),
    "reservation": ("on-demand",),
    "on-demand": ("on-demand",),
    "spot": ("spot",),
    "capacity-block": ("capacity-block",),
    "flex-start": ("flex-start", "on-demand"),
    "queued": ("flex-start", "on-demand"),
}


@rule(
    "market-differs",
    area="spend",
    subject="pools",
    prevents="a market that was not decided",
)
def market_differs(pool: Pool, _: Parameters) -> Verdict:
    """What is started is what was decided: a pool that declares spot and starts on demand costs a multiple.

    >>> from sizewell.policy.examples import pool
    >>> market_differs(pool(declared_market="spot", market="on-demand"), {}).message
    'declared spot but starts on-demand machines: the cost is not the one that was decided'
    >>> market_differs(pool(declared_market="reserved-1y", market="on-demand"), {}) is None
    True
    """
    if pool.declared_market == "":
        return None
    if isinstance(pool.declared_market, Unknown) or isinstance(pool.market, Unknown):
        return Undetermined("the market")
    if pool.market in _MARKETS_THAT_COUNT_AS.get(pool.declared_market, (pool.declared_market,)):
        return None
    return Violation(
        f"declared {pool.declared_market} but starts {pool.market} machines: the cost is not the one that was decided",
        f"set the market of the machines to {pool.declared_market}, or decide again with `sizewell size`",
    )


@rule(
    "endpoint-differs",
    area="spend",
    subject="endpoints",
    prevents="endpoints on machines that were not reviewed",
)
def endpoint_differs(endpoint: Endpoint, _: Parameters) -> Verdict:
    """An endpoint serves from the machines that were decided, and no more of them.

    >>> from sizewell.policy.examples import endpoint
    >>> decided = {"instanceType": "g6.xlarge", "nodesMax": 2}
    >>> endpoint_differs(endpoint(kinds=("p5.48xlarge",), registration=decided), {}).message
    'serves from p5.48xlarge, but the decision says g6.xlarge: the cost is not the one that was reviewed'
    """
    decided = get(endpoint.registration, "instanceType")
    if decided is None or endpoint.kinds == ():
        return None
    most = count(get(endpoint.registration, "nodesMax"))
    fix = "decide again with `sizewell size` and commit the decision, or build what it says"
    least = count(get(endpoint.registration, "nodesMin"))
    if (
        UNKNOWN in (decided, most, least)
        or isinstance(endpoint.kinds, Unknown)
        or isinstance(endpoint.nodes_max, Unknown)
    ):
        return Undetermined("machine type and size, as decided and as built")
    other = [kind for kind in endpoint.kinds if kind != decided]
    if other:
        message = f"serves from {other[0]}, but the decision says {decided}: the cost is not the one that was reviewed"
        return Violation(message, fix)
    if isinstance(most, int) and endpoint.nodes_max is not None and endpoint.nodes_max > most:
        return Violation(f"up to {plural(endpoint.nodes_max, 'machine')}, but the decision says {most}", fix)
    if isinstance(least, int) and isinstance(endpoint.nodes_min, Unknown):
        return Undetermined("the minimum number of machines")
    if isinstance(least, int) and isinstance(endpoint.nodes_min, int) and endpoint.nodes_min > max(least, 1):
        return Violation(f"at least {plural(endpoint.nodes_min, 'machine')}, but the decision says {least}", fix)
    return None


@rule(
    "notebook-differs",
    area="spend",
    subject="notebooks",
    prevents="notebooks on machines that were not reviewed",
)
def notebook_differs(notebook: Notebook, _: Parameters) -> Verdict:
    """A notebook runs on the machine that was decided.

    >>> from sizewell.policy.examples import notebook
    >>> notebook_differs(notebook(kind="p5.48xlarge", registration={"instanceType": "g6.xlarge"}), {}).message
    'runs on p5.48xlarge, but the decision says g6.xlarge: the cost is not the one that was reviewed'
    """
    decided = get(notebook.registration, "instanceType")
    if decided is None or notebook.kind == "":
        return None
    if UNKNOWN in (decided, notebook.kind):
        return Undetermined("the machine type, as decided and as built")
    if notebook.kind == decided:
        return None
    return Violation(
        f"runs on {notebook.kind}, but the decision says {decided}: the cost is not the one that was reviewed",
        "decide again with `sizewell size` and commit the decision, or build what it says",
    )


@rule(
    "environment-differs",
    area="correctness",
    subject="stack",
    prevents="a production stack with the protection and retention of a development one, or the reverse",
)
def environment_differs(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """The environment that was decided and built is the one that the stack's configuration or name says.

    >>> from sizewell.policy.examples import stack
    >>> environment_differs(stack(stack="aws-prod", decision={"environment": "dev"}), {})[0][1].fix
    'run `sizewell size --stack aws-prod` and commit the decision, or state sizewell:environment in its configuration'
    """
    plan = facts.graph.plan
    decided = str((facts.decision or {}).get("environment") or "")
    expected = plan_environment(plan) or decided
    if not expected:
        return [("", None)]
    verdicts: list[tuple[str, Verdict]] = []
    wrong = "deletion protection, redundancy and retention follow the wrong environment"
    if decided and decided != expected:
        message = f"the decision was sized for {decided}, but the stack {plan.stack} is {expected}: {wrong}"
        fix = (
            f"run `sizewell size --stack {cluster_of(plan.stack)}` and commit the decision, "
            "or state sizewell:environment in its configuration"
        )
        verdicts.append(("", Violation(message, fix)))
    for resource in plan.resources:
        built = get(resource.inputs, "sizewell", "environment")
        if isinstance(built, Unknown):
            verdicts.append((resource.urn, Undetermined("the environment")))
        elif isinstance(built, str) and built not in ("", expected, decided):
            message = f"{resource.name} is built for {built}, but the stack {plan.stack} is {expected}: {wrong}"
            verdicts.append((resource.urn, Violation(message, f"set environment to {expected}")))
    return verdicts or [("", None)]


_ACCOUNT_INPUTS: Final = {
    "pulumi:providers:aws": ("allowedAccountIds", "assumeRoles"),
    "pulumi:providers:azure-native": ("subscriptionId",),
    "pulumi:providers:gcp": ("project",),
}


@rule(
    "account-pinned",
    area="correctness",
    subject="stack",
    prevents="a stack built in the wrong account",
    level="advisory",
)
def account_pinned(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """An explicit provider names its account: with the wrong credentials nothing is built in another account.

    >>> from sizewell.policy.examples import resource, stack
    >>> account_pinned(stack(resource("pulumi:providers:aws", "prod", {"region": "us-east-1"})), {})[0][1].fix
    'set allowedAccountIds on the provider'
    """
    verdicts: list[tuple[str, Verdict]] = []
    for resource in facts.graph.plan.resources:
        pins = _ACCOUNT_INPUTS.get(resource.type)
        if pins is None or resource.name.startswith("default"):
            continue
        stated = any(resource.inputs.get(pin) is not None for pin in pins)
        message = (
            "the provider is not pinned to an account: with other credentials the stack would be built and billed in "
            "the wrong one"
            ""
        )
        verdicts.append((resource.urn, None if stated else Violation(message, f"set {pins[0]} on the provider")))
    return verdicts


@rule(
    "region-not-approved",
    area="spend",
    subject="things",
    prevents="resources in forgotten or forbidden regions",
    parameters={
        "regions": Parameter(
            default={},
            schema={"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            meaning="approved regions by cloud; a cloud that is not named may use all",
        )
    },
)
def region_not_approved(thing: Thing, parameters: Parameters) -> Verdict:
    """What is billed is in a region that the team approved.

    >>> from sizewell.policy.examples import thing
    >>> approved = {"regions": {"aws": ["us-east-1"]}}
    >>> region_not_approved(thing(bills=True, region="ap-east-1"), approved).fix
    'move it to us-east-1, or add ap-east-1 to parameters.region-not-approved.regions.aws'
    >>> region_not_approved(thing(bills=True, region="us-east-1"), approved) is None
    True
    """
    approved = parameters["regions"].get(thing.cloud)
    if not thing.bills or approved is None or thing.region in ("", "global"):
        return None
    if isinstance(thing.region, Unknown):
        return Undetermined("the region")
    if thing.region in approved:
        return None
    return Violation(
        f"it is in {thing.region}, which is not an approved region",
        f"move it to {approved[0]}, or add {thing.region} to parameters.region-not-approved.regions.{thing.cloud}",
    )
