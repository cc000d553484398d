from __future__ import annotations

from sizewell.policy.rule import Parameter, Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Store
from sizewell.sizing.units import plural


def soft_delete(store: Store, parameters: Parameters) -> Verdict:
    """What was deleted by mistake can be restored for some days.

    >>> from sizewell.policy.examples import store
    >>> soft_delete(store(soft_delete_days=0), {"days": 7}).fix
    'keep deleted objects for at least 7 days'
    >>> soft_delete(store(soft_delete_days=7), {"days": 7}) is None
    True
    """
    if store.logs:
        return None
    if isinstance(store.soft_delete_days, Unknown):
        return Undetermined("the soft delete policy")
    if (store.soft_delete_days or 0) >= parameters["days"]:
        return None
    return Violation(
        f"what is deleted by mistake cannot be restored after {plural(store.soft_delete_days or 0, 'day')}",
        f"keep deleted objects for at least {parameters['days']} days",
    )


RULE = Rule(
    id="soft-delete",
    area="safety",
    subject="stores",
    prevents="deletions that cannot be undone",
    judge=soft_delete,
    clouds=("gcp", "azure"),
    types=("gcp:storage/bucket:Bucket", "azure-native:storage:StorageAccount"),
    parameters={
        "days": Parameter(default=7, schema={"type": "integer", "minimum": 1}, meaning="least days of soft delete")
    },
)
