"""Money: budgets and who is notified, costs by hour and month, missing prices, transfer between regions."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sizewell.policy.rule import Parameter, Parameters, StackVerdicts, Undetermined, Verdict, Violation, require, rule
from sizewell.resources.priced import RETIRED
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import StackFacts, Thing
from sizewell.resources.values import Flag, either, get, items, text
from sizewell.sizing.records.budget import MONTHLY, of_stack
from sizewell.sizing.units import plural


@rule(
    "monthly-budget",
    area="spend",
    subject="stack",
    prevents="a monthly bill over budget",
    parameters={
        "usd_per_month": Parameter(
            default={},
            schema={"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            meaning="US dollars per month at the expected use, by environment; budgets in specs apply as well",
        )
    },
)
def monthly_budget(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """The expected run-rate stays within the budget: the configuration's, and the one that the specs state.

    >>> from sizewell.policy.examples import stack
    >>> monthly_budget(stack(), {"usd_per_month": {"dev": 100}})[0][1]
    Undetermined(what='the price of the stack')
    """
    limits = [Decimal(str(v)) for v in [parameters["usd_per_month"].get(facts.environment)] if v is not None]
    workloads = (facts.decision or {}).get("workloads", ())
    monthly = [get(workload, "budget", MONTHLY) for workload in workloads]
    stated = of_stack(None if usd is None else Decimal(str(usd)) for usd in monthly)
    if stated is not None:
        limits.append(stated)
    if not limits:
        return [("", None)]
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    expected = facts.pricing.cost().run_rate.usd_per_month.expected
    limit = min(limits)
    if expected <= limit:
        missing = facts.pricing.cost().unpriced
        return [("", Undetermined(f"the price of {plural(len(missing), 'line')} without one") if missing else None)]
    return [
        (
            "",
            Violation(
                f"the stack is expected to cost {expected:.2f} USD a month, over its budget of {limit:.2f}",
                "size it down, use a cheaper market, or raise the budget in the spec",
            ),
        )
    ]


@rule(
    "hourly-budget",
    area="spend",
    subject="stack",
    prevents="an hourly bill beyond what the environment may cost",
    level="advisory",
    parameters={
        "usd_per_hour": Parameter(
            default={"dev": 50, "staging": 100, "prod": 1000},
            schema={"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            meaning="US dollars per hour at the ceiling, by environment",
        )
    },
)
def hourly_budget(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """With everything on, a stack costs no more per hour than its environment allows.

    >>> from sizewell.policy.examples import stack
    >>> hourly_budget(stack(environment="dev"), {"usd_per_hour": {"dev": 50}})[0][1]
    Undetermined(what='the price of the stack')
    """
    limit = parameters["usd_per_hour"].get(facts.environment)
    if limit is None:
        return [("", None)]
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    hourly = facts.pricing.cost().run_rate.usd_per_month.ceiling / 730
    if hourly <= limit:
        missing = facts.pricing.cost().unpriced
        return [("", Undetermined(f"the price of {plural(len(missing), 'line')} without one") if missing else None)]
    return [
        (
            "",
            Violation(
                f"at its ceiling the stack costs {hourly:.2f} USD an hour, limit {limit} in {facts.environment}",
                "lower the maximum sizes, or raise parameters.hourly-budget.usd_per_hour",
            ),
        )
    ]


_AWS_BUDGET: Final = "aws:budgets/budget:Budget"
_GCP_BUDGET: Final = "gcp:billing/budget:Budget"
_AZURE_BUDGET: Final = "azure-native:consumption:Budget"


@rule(
    "budget-unheard",
    area="spend",
    subject="things",
    prevents="budgets exceeded without notice",
    types=(_AWS_BUDGET, _GCP_BUDGET, _AZURE_BUDGET),
)
def budget_unheard(thing: Thing, _: Parameters) -> Verdict:
    """A budget notifies somebody before it is spent.

    >>> from sizewell.policy.examples import thing
    >>> budget_unheard(thing(type="aws:budgets/budget:Budget", inputs={"limitAmount": "900"}), {}).fix
    'add notifications with thresholds and subscribers'
    """
    inputs = thing.inputs
    if thing.type == _GCP_BUDGET:
        heard, steps = inputs.get("allUpdatesRule"), inputs.get("thresholdRules")
        fix = "add thresholdRules, and allUpdatesRule with a topic or channel"
    else:
        steps = inputs.get("notifications")
        heard = steps
        fix = "add notifications with thresholds and subscribers"
        listed = items(list(steps.values()) if thing.type == _AZURE_BUDGET and isinstance(steps, dict) else steps)
        if not isinstance(listed, Unknown):
            keys = (
                "subscriberEmailAddresses",
                "subscriberSnsTopicArns",
                "contactEmails",
                "contactGroups",
                "contactRoles",
            )
            heard = [
                notification
                for notification in listed
                if any(get(notification, key) for key in keys if get(notification, key) is not UNKNOWN)
            ]
            heard = heard or [
                notification for notification in listed if any(get(notification, key) is UNKNOWN for key in keys)
            ]
    if UNKNOWN in (heard, steps):
        return Undetermined("the receivers of the budget's notices")
    if heard and steps:
        return None
    return Violation("the budget notifies nobody when it is exceeded", fix)


@rule(
    "unpriced-resource",
    area="spend",
    subject="stack",
    prevents="costs missing from estimates",
    levels={"dev": "advisory", "staging": "advisory"},
    debatable=True,  # the preview judges what a change adds
)
def unpriced_resource(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Everything that is billed has a price; a line without one hides in every total.

    >>> from sizewell.policy.examples import stack
    >>> unpriced_resource(stack(), {})[0][1]
    Undetermined(what='the price of the stack')
    """
    if facts.pricing is None:
        return [("", Undetermined("the price of the stack"))]
    verdicts: list[tuple[str, Verdict]] = []
    for urn, kind, reason in (*facts.pricing.unpriced, *facts.pricing.unknown):
        fix = "give its usage or its price in the usage or discounts file, or waive it with a reason"
        if RETIRED in reason:
            fix = "name a machine and an accelerator that the cloud still has"
        verdicts.append((urn, Violation(f"its cost is not in the totals ({kind}): {reason}", fix)))
    return verdicts or [("", None)]


@rule(
    "egress-limit",
    area="spend",
    subject="stack",
    prevents="unexpected traffic costs",
    parameters={
        "gigabytes_per_month": Parameter(
            default=5000, schema={"type": "number", "minimum": 0}, meaning="GB per month that may leave the region"
        )
    },
)
def egress_limit(facts: StackFacts, parameters: Parameters) -> StackVerdicts:
    """Data that leaves the region each month stays under a limit: egress is easily overlooked in a budget.

    >>> from sizewell.policy.examples import stack
    >>> line = {"what": "egress", "unit": "GB", "quantity": {"expected": "9000"}}
    >>> spills = {"workloads": [{"line_items": [line]}]}
    >>> egress_limit(stack(decision=spills), {"gigabytes_per_month": 5000})[0][1].fix
    'move the data or the machines, or raise parameters.egress-limit.gigabytes_per_month'
    """
    limit = Decimal(str(parameters["gigabytes_per_month"]))
    stated = Decimal(0)
    for workload in (facts.decision or {}).get("workloads", ()):
        for line in workload.get("line_items", ()):
            if "egress" in str(line.get("what", "")).lower() and line.get("unit") == "GB":
                stated += Decimal(str(get(line, "quantity", "expected", default=0)))
    for line in facts.pricing.items if facts.pricing is not None else ():
        if "egress" in line.what.lower() and line.unit == "GB":
            stated += line.quantity.expected
    if stated <= limit:
        return [("", None)]
    return [
        (
            "",
            Violation(
                f"{stated:.0f} GB leave the region each month, limit {limit:.0f}: egress is billed per GB",
                "move the data or the machines, or raise parameters.egress-limit.gigabytes_per_month",
            ),
        )
    ]


@rule(
    "bucket-far-from-pool",
    area="spend",
    subject="stack",
    prevents="egress between regions on every read",
    level="advisory",
)
def bucket_far_from_pool(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Buckets are in the region of the machines that read them: otherwise egress is billed and machines wait.

    >>> from sizewell.policy.examples import pool, stack, store
    >>> near, far = pool(accelerator="l4", region="us-east-1"), store(region="eu-west-1")
    >>> bucket_far_from_pool(stack(pools=(near,), stores=(far,)), {})[0][1].fix
    'create the bucket in us-east-1'
    """
    machines = [pool for pool in facts.pools if pool.accelerated is not False]
    unsure = any(isinstance(pool.region, Unknown) or pool.accelerated is UNKNOWN for pool in machines)
    regions = {pool.region for pool in machines if isinstance(pool.region, str) and pool.region}
    clouds = {pool.cloud for pool in machines}
    verdicts: list[tuple[str, Verdict]] = []
    for store in facts.stores:
        declared = get(store.registration, "region")
        if isinstance(declared, Unknown) or (declared and isinstance(store.region, Unknown)):
            verdicts.append((store.urn, Undetermined("its region, as declared and as built")))
            continue
        if isinstance(declared, str) and isinstance(store.region, str) and store.region not in ("", declared):
            message = f"it is in {store.region} but its component says {declared}: every read crosses regions"
            verdicts.append((store.urn, Violation(message, f"create the bucket in {declared}")))
            continue
        if not (regions or unsure) or store.cloud not in clouds or store.logs or store.region == "":
            continue
        if isinstance(store.region, Unknown):
            verdicts.append((store.urn, Undetermined("its region")))
        elif store.region in regions or store.region in {"us", "eu", "asia"}:
            verdicts.append((store.urn, None))
        elif unsure:
            verdicts.append((store.urn, Undetermined("the region of its readers")))
        else:
            message = (
                f"data in {store.region} is read by machines in {', '.join(sorted(regions))}: egress on every epoch"
            )
            verdicts.append((store.urn, Violation(message, f"create the bucket in {min(regions)}")))
    return verdicts


@rule(
    "gateway-endpoint-missing",
    area="spend",
    subject="stack",
    prevents="NAT charges on every dataset and checkpoint",
    level="advisory",
    clouds=("aws",),
)
def gateway_endpoint_missing(facts: StackFacts, _: Parameters) -> StackVerdicts:
    """Where machines reach S3 through a NAT gateway, every gigabyte is billed; a gateway endpoint is free.

    >>> from sizewell.policy.examples import resource, stack
    >>> gateway_endpoint_missing(stack(resource("aws:ec2/natGateway:NatGateway", "nat")), {})[0][1].fix
    'add a gateway endpoint for S3 to the route tables of the private subnets'
    """
    gateways = facts.graph.of("aws:ec2/natGateway:NatGateway")
    if not gateways:
        return []
    free: Flag = False
    for endpoint in facts.graph.of("aws:ec2/vpcEndpoint:VpcEndpoint"):
        service = text(endpoint.inputs.get("serviceName"))
        kind = text(endpoint.inputs.get("vpcEndpointType"), "Gateway")
        if isinstance(service, Unknown) or isinstance(kind, Unknown):
            free = either(free, UNKNOWN)
        else:
            free = either(free, service.endswith(".s3") and kind == "Gateway")
    verdict = require(
        free,
        message="traffic between the machines and S3 goes through the NAT gateway and is billed per GB",
        fix="add a gateway endpoint for S3 to the route tables of the private subnets",
        unknown="the service of the endpoint",
    )
    return [(gateways[0].urn, verdict)]
