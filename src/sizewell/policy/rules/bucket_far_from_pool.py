from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, StackVerdicts, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.values import get


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


RULE = Rule(
    id="bucket-far-from-pool",
    area="spend",
    subject="stack",
    prevents="egress between regions on every read",
    judge=bucket_far_from_pool,
    level="advisory",
)
