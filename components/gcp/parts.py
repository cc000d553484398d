"""Resources that several Google Cloud components need: keys of their own, and who may use them."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_gcp import kms, projects

from components.gcp import plans
from components.owned import Owned


def own_key(
    owner: Owned, name: str, *, region: str, project: pulumi.Input[str], service: str, agents: tuple[str, ...]
) -> tuple[pulumi.Output[str], list[kms.CryptoKeyIAMMember]]:
    """A key of the component's own, and the grants of the service agents that encrypt with it.

    `service` is the API whose agent is made sure of; `agents` are the agents' domains, as container-engine-robot.
    Google Cloud never deletes a key ring: its name is Pulumi's, with a random end, so that a second `up` after a
    destroy does not meet the first one's.
    """
    ring = kms.KeyRing(f"{name}-key", location=region, opts=owner.child())
    key = kms.CryptoKey(
        f"{name}-key",
        name="own",
        key_ring=ring.id,
        rotation_period="7776000s",
        destroy_scheduled_duration="2592000s",
        labels=owner.tags_of(kms.CryptoKey, f"{name}-key"),
        opts=owner.child(),
    )
    identity = projects.ServiceIdentity(f"{name}-agent", project=project, service=service, opts=owner.child())
    grants = [
        kms.CryptoKeyIAMMember(
            f"{name}-{agent}",
            crypto_key_id=key.id,
            role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
            member=identity.email.apply(lambda email, agent=agent: plans.agent_member(email, agent)),
            opts=owner.child(),
        )
        for agent in agents
    ]
    return key.id, grants


def key_of(
    owner: Owned, name: str, args: Mapping[str, Any], *, service: str, agents: tuple[str, ...]
) -> tuple[pulumi.Output[str], list[pulumi.Resource]]:
    """The key that the arguments name, else one of the component's own; and what has to stand before it is used."""
    if "kms_key_name" in args:
        return pulumi.Output.from_input(args["kms_key_name"]), []
    key, grants = own_key(owner, name, region=args["region"], project=args["project"], service=service, agents=agents)
    return key, list(grants)
