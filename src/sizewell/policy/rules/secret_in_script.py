from __future__ import annotations

import re
from typing import Final

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import Unknown
from sizewell.resources.stackfacts import Pool

_SECRETS: Final = (
    r"AKIA[0-9A-Z]{16}",
    r"(?i)aws_secret_access_key\s*=\s*\S+",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"\b(hf|ghp|gho|glpat|sk)[_-][A-Za-z0-9]{16,}",
    r"AccountKey=[A-Za-z0-9+/=]{40,}",
    r"(?i)\b(password|secret|token)\s*=\s*['\"][^'\"$]{8,}['\"]",
)


def secret_in_script(pool: Pool, _: Parameters) -> Verdict:
    """A start script contains no secret: anybody who may describe the machine can read it.

    >>> from sizewell.policy.examples import pool
    >>> key = "export AWS_ACCESS_KEY_ID=AKIA" + "A" * 16
    >>> secret_in_script(pool(start_script=key), {}).fix
    'read it at run time from a secret store, with the role of the machine'
    """
    if isinstance(pool.start_script, Unknown):
        return Undetermined("the start script")
    if not any(re.search(pattern, pool.start_script) for pattern in _SECRETS):
        return None
    return Violation(
        "the start script contains a secret: anyone who can describe the machine can read it",
        "read it at run time from a secret store, with the role of the machine",
    )


RULE = Rule(
    id="secret-in-script",
    area="safety",
    subject="pools",
    prevents="credentials readable in machine descriptions",
    judge=secret_in_script,
)
