from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get


def azure_spot_eviction(pool: Pool, _: Parameters) -> Verdict:
    """An evicted Azure spot machine is deleted, at the market's price: the disks of a deallocated one are still billed.

    >>> from sizewell.policy.examples import pool
    >>> evicted = pool(market="spot", cloud="azure", machine={"evictionPolicy": "Deallocate"})
    >>> azure_spot_eviction(evicted, {}).fix
    'set the eviction policy to Delete'
    """
    if pool.market is UNKNOWN:
        return Undetermined("the market")
    if pool.market != "spot":
        return None
    policy = get(pool.machine, "evictionPolicy", default=get(pool.machine, "scaleSetEvictionPolicy"))
    limit = get(pool.machine, "billingProfile", "maxPrice", default=get(pool.machine, "spotMaxPrice", default=-1))
    if UNKNOWN in (policy, limit):
        return Undetermined("eviction policy and price limit")
    if policy != "Delete":
        return Violation(
            "evicted machines are deallocated, and their disks are still billed: the eviction policy is not Delete",
            "set the eviction policy to Delete",
        )
    if float(str(limit)) != -1:
        message = (
            f"a price limit of {limit} evicts the machines when the spot price rises; the on-demand price is "
            "the upper limit anyway"
        )
        return Violation(message, "set the price limit to -1")
    return None


RULE = Rule(
    id="azure-spot-eviction",
    area="correctness",
    subject="pools",
    prevents="disks of evicted machines that are still billed",
    judge=azure_spot_eviction,
    clouds=("azure",),
    types=(
        "azure-native:compute:VirtualMachineScaleSet",
        "azure-native:compute:VirtualMachine",
        "azure-native:containerservice:AgentPool",
        "azure-native:containerservice:ManagedCluster",
    ),
)
