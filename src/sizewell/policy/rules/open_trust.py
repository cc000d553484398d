from __future__ import annotations

import re
from typing import Any

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN, Unknown
from sizewell.resources.stackfacts import Grant


def open_trust(grant: Grant, _: Parameters) -> Verdict:
    """A role states exactly who may assume it; GitHub's tokens need a subject, or every repository may.

    >>> from sizewell.policy.examples import grant
    >>> open_trust(grant(trust=True, principal="*"), {}).fix
    'name the service or role that may assume it'
    """
    if not grant.trust or grant.effect != "Allow":
        return None
    if isinstance(grant.principal, Unknown):
        return Undetermined("the trust policy")
    conditions = grant.conditions or {}
    if "*" in [part.split(":", 1)[-1] for part in grant.principal.split(",")] and not conditions:
        return Violation("anyone in any account can assume the role", "name the service or role that may assume it")
    if "cognito-identity.amazonaws.com" in grant.principal and _lets_guests_in(conditions):
        return Violation(
            "anyone on the internet can assume the role as a guest of an identity pool, at your cost",
            "require cognito-identity.amazonaws.com:amr = authenticated, and :aud = the pool",
        )
    if "token.actions.githubusercontent.com" in grant.principal:
        subjects = [
            str(value)
            for operator in conditions.values()
            for key, values in operator.items()
            for value in (values if isinstance(values, list) else [values])
            if key.endswith("githubusercontent.com:sub")
        ]
        if not subjects or not all(_named(subject) for subject in subjects):
            return Violation(
                "any repository on GitHub can assume the role: the token's subject is not checked",
                "add StringEquals token.actions.githubusercontent.com:sub = repo:ORG/REPO:environment:NAME",
            )
    elif "oidc-provider/" in grant.principal and not _checks_subject(conditions):
        return Violation(
            "any user of the issuer can assume the role: the token's subject is not checked",
            "add StringEquals on the issuer's :sub with the project and branch",
        )
    return None


def _lets_guests_in(conditions: Any) -> bool:
    """Whether identity pools hand a role to whoever did not log in, or to users of any pool."""
    pairs = [pair for operator in conditions.values() for pair in operator.items()]
    logins = [value for key, value in pairs if str(key).endswith(":amr")]
    pools = [value for key, value in pairs if str(key).endswith(":aud")]
    return not logins or not pools or any("unauthenticated" in str(value) for value in logins)


def _checks_subject(conditions: Any) -> bool:
    """Whether a condition on some issuer's subject names at least two parts of it before a wildcard.

    >>> _checks_subject({"StringLike": {"gitlab.com:sub": "project_path:*"}})
    False
    >>> _checks_subject({"StringEquals": {"gitlab.com:sub": "project_path:team/app:ref_type:branch:ref:main"}})
    True
    """
    subjects = [
        value
        for pairs in conditions.values()
        for key, values in pairs.items()
        for value in (values if isinstance(values, list) else [values])
        if str(key).endswith(":sub")
    ]
    if UNKNOWN in subjects:
        return True
    parts = [[part for part in re.split("[:/]", str(value).partition("*")[0]) if part] for value in subjects]
    return bool(parts) and all(len(each) > 1 for each in parts)


def _named(subject: str) -> bool:
    """Whether a subject names the organization and the repository, without a wildcard in either.

    >>> _named("repo:team/app:*"), _named("repo:team*"), _named("repo:team/*")
    (True, False, False)
    """
    return re.match(r"^repo:[^/*?:]+/[^*?:]+:", subject) is not None


RULE = Rule(
    id="open-trust",
    area="safety",
    subject="grants",
    prevents="outsiders who assume your roles",
    judge=open_trust,
    clouds=("aws",),
    types=("aws:iam/role:Role",),
)
