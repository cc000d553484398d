from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Undetermined, Verdict, Violation
from sizewell.resources.recorded import UNKNOWN
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import get


def machine_ssh_key(pool: Pool, _: Parameters) -> Verdict:
    """People reach machines through a session service: a key pair does not expire, and its use is not recorded.

    >>> from sizewell.policy.examples import pool
    >>> machine_ssh_key(pool(machine={"keyName": "ops"}), {}).fix
    'drop keyName and use Session Manager'
    """
    if pool.machine is None or pool.type.startswith("aws:batch/"):
        return None
    name = get(pool.machine, "keyName", default=pool.inputs.get("keyName"))
    name = get(pool.inputs, "remoteAccess", "ec2SshKey", default=name)
    if name is UNKNOWN:
        return Undetermined("the key pair")
    if not name:
        return None
    return Violation(
        "a shared key pair gives access to every machine without a trace of who used it",
        "drop keyName and use Session Manager",
    )


RULE = Rule(
    id="machine-ssh-key",
    area="safety",
    subject="pools",
    prevents="logins that cannot be traced or revoked",
    judge=machine_ssh_key,
    level="advisory",
    clouds=("aws",),
)
