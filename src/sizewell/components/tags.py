"""Tags and physical names: pure, the same for every cloud, legal on all of them.

The strictest alphabet wins: Google Cloud labels allow lower-case letters, digits, `-` and `_`, at most 63 characters.
Names are deterministic, so that a second creation after a lost answer is refused by the cloud and not billed twice.
"""

import hashlib
import re
from typing import Final

MANAGED_BY: Final = "sizewell"
LABEL_LENGTH: Final = 63
_ILLEGAL = re.compile(r"[^a-z0-9_-]+")


def legal(value: str, *, limit: int = LABEL_LENGTH) -> str:
    """`value` in the alphabet of labels; what is cut off is replaced by a hash, so that two values stay two.

    >>> legal("ML Platform <ml@example.com>")
    'ml-platform-ml-example-com'
    >>> len(legal("x" * 200))
    63
    """
    plain = _ILLEGAL.sub("-", value.lower()).strip("-_")
    return plain if len(plain) <= limit else f"{plain[: limit - 9].rstrip('-_')}-{short_hash(value)}"


def short_hash(*parts: str, length: int = 8) -> str:
    """Hexadecimal digits of a sha256 over the parts; "a","bc" and "ab","c" differ."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:length]


def sizewell_id(*, project: str, stack: str, type_token: str, name: str) -> str:
    """The identity of one resource: a sweep finds it by this tag, a retry recognises it.

    >>> sizewell_id(project="sizewell", stack="dev-aws", type_token="aws:ec2/vpc:Vpc", name="network")
    '95b51f87f70f203f'
    """
    return short_hash(project, stack, type_token, name, length=16)


def tags(
    *,
    project: str,
    stack: str,
    type_token: str,
    name: str,
    environment: str,
    owner: str = "",
    cost_center: str = "",
    expires: str = "",
) -> dict[str, str]:
    """The tags (AWS, Azure) or labels (Google Cloud) of one resource; an empty value is left out."""
    values = {
        "managed-by": MANAGED_BY,
        "sizewell-project": legal(project),
        "sizewell-stack": legal(stack),
        "sizewell-id": sizewell_id(project=project, stack=stack, type_token=type_token, name=name),
        "sizewell-owner": legal(owner),
        "sizewell-cost-center": legal(cost_center),
        "sizewell-environment": legal(environment),
        "sizewell-expires": legal(expires),
    }
    return {key: value for key, value in values.items() if value}


def physical_name(*parts: str, limit: int) -> str:
    """A name as the cloud sees it: the parts joined by `-`, cut to `limit` with a hash where too long.

    Where letters had to be replaced the name ends in a hash too: Train_1 and Train.1 stay two.

    >>> physical_name("sizewell", "dev-aws", "chat", limit=40)
    'sizewell-dev-aws-chat'
    >>> physical_name("sizewell", "prod-aws", "a-very-long-workload-name", limit=30)
    'sizewell-prod-aws-a-v-a6651dde'
    >>> physical_name("Train_1", limit=40) == physical_name("Train.1", limit=40)
    False
    """
    whole = "-".join(part for part in parts if part)
    plain, tail = legal(whole, limit=limit).replace("_", "-"), short_hash(whole)
    if plain == whole or plain.endswith(tail):
        return plain
    return f"{plain[: limit - len(tail) - 1].rstrip('-')}-{tail}"


def store_name(*, stack: str, workload: str, salt: str, limit: int = 63, hyphens: bool = True) -> str:
    """The name of a checkpoint bucket or account: the same in the cluster's stack and in the checkpoints' stack.

    Buckets share one name space with the whole world; `salt` (project, organization, account) keeps ours apart.
    """
    stack = stack.removeprefix("checkpoints-")  # a store's name is the cluster's and its own stack's
    tail = short_hash(salt, stack, workload)
    if hyphens:
        return f"{physical_name('sizewell', stack, workload, limit=limit - len(tail) - 1)}-{tail}"
    return re.sub(r"[^a-z0-9]", "", f"sizewell{stack}{workload}".lower())[: limit - len(tail)] + tail
