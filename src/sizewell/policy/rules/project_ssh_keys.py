from __future__ import annotations

from sizewell.policy.rule import Parameters, Rule, Verdict, require
from sizewell.resources.stackfacts import Pool
from sizewell.resources.values import either, flag, get


def project_ssh_keys(pool: Pool, _: Parameters) -> Verdict:
    """A machine accepts no project-wide SSH keys: whoever edits the project could log in.

    >>> from sizewell.policy.examples import pool
    >>> project_ssh_keys(pool(machine={"metadata": {}}), {}).fix
    'set metadata block-project-ssh-keys to true, or enable-oslogin'
    """
    metadata = get(pool.machine, "metadata")
    blocked = either(flag(get(metadata, "block-project-ssh-keys")), flag(get(metadata, "enable-oslogin")))
    return require(
        blocked,
        message="every SSH key in the project's metadata gives access to the machine",
        fix="set metadata block-project-ssh-keys to true, or enable-oslogin",
        unknown="the metadata",
    )


RULE = Rule(
    id="project-ssh-keys",
    area="safety",
    subject="pools",
    prevents="machines open to project-wide SSH keys",
    judge=project_ssh_keys,
    level="advisory",
    clouds=("gcp",),
    types=("gcp:compute/instance:Instance", "gcp:compute/instanceGroupManager:InstanceGroupManager"),
)
