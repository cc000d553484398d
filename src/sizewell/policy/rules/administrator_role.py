from __future__ import annotations

from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.readers.identity import MADE_HERE
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Grant

_ROLES: Final = {
    "AdministratorAccess": "",
    "PowerUserAccess": "",
    "IAMFullAccess": "",
    "roles/owner": "",
    "roles/editor": "",
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
}


def administrator_role(grant: Grant, _: Parameters) -> Verdict:
    """Nothing that a stack creates has administrator rights.

    >>> from sizewell.policy.examples import grant
    >>> administrator_role(grant(role="AdministratorAccess"), {}).fix
    'grant the few actions that it needs'
    """
    if grant.role is UNKNOWN:
        return Undetermined("the role")
    role = str(grant.role)
    if role not in _ROLES:
        return None
    if _ROLES[role] == "Contributor" and _within_a_group(grant):
        return None  # it makes and deletes there, and can give nobody rights
    return Violation(
        f"it gets {_ROLES[role] or role}: a compromised machine has full control of the account",
        "grant the few actions that it needs",
    )


def _within_a_group(grant: Grant) -> bool:
    if isinstance(grant.targets, Unknown):
        return False
    return all(scope == MADE_HERE or "/resourcegroups/" in scope.lower() for scope in grant.targets)


RULE = Rule(
    id="administrator-role",
    area="safety",
    subject="grants",
    prevents="one compromised machine with control of the whole account",
    judge=administrator_role,
)
