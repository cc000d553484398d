"""Resources that several Google Cloud components need: keys of their own, and who may use them."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_gcp import kms, monitoring, projects, pubsub, serviceaccount

from sizewell.components.gcp import plans
from sizewell.components.owned import Owned


def own_key(
    owner: Owned, name: str, *, region: str, project: pulumi.Input[str], service: str, agents: tuple[str, ...]
) -> tuple[pulumi.Output[str], list[kms.CryptoKeyIAMMember]]:
    """A key of the component's own, and the grants of the service agents that encrypt with it.

    `service` is the API whose agent is made sure of; `agents` are the agents' domains, as container-engine-robot.
    Google Cloud never deletes a key ring: its name is Pulumi's, with a random end, so that a second `up` after a
    destroy does not meet the first one's.
    """
    ring = owner.make(kms.KeyRing, f"{name}-key", location=region)
    key = owner.make(
        kms.CryptoKey,
        f"{name}-key",
        name="own",
        key_ring=ring.id,
        rotation_period="7776000s",
        destroy_scheduled_duration="2592000s",
    )
    identity = owner.make(projects.ServiceIdentity, f"{name}-agent", project=project, service=service)
    grants = [
        owner.make(
            kms.CryptoKeyIAMMember,
            f"{name}-{agent}",
            crypto_key_id=key.id,
            role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
            member=identity.email.apply(lambda email, agent=agent: plans.agent_member(email, agent)),
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


def account(
    owner: Owned, name: str, args: Mapping[str, Any], title: str, permissions: tuple[str, ...]
) -> serviceaccount.Account:
    """An account that may do this and nothing else."""
    made = owner.make(serviceaccount.Account, name, project=args["project"], display_name=title)
    role = owner.make(
        projects.IAMCustomRole,
        name,
        role_id=owner.physical(name, 60).replace("-", "_"),
        project=args["project"],
        title=title,
        permissions=list(permissions),
    )
    owner.make(projects.IAMMember, name, project=args["project"], role=role.name, member=made.member)
    return made


def notices(owner: Owned, name: str, args: Mapping[str, Any]) -> pulumi.Output[str]:
    """A channel of alerts into a topic of its own, which Cloud Monitoring may write to: else notices are lost.

    Its agent comes with a project's first channel; all agents of a project begin with the project's number.
    """
    topic = owner.make(pubsub.Topic, f"{name}-notices", project=args["project"])
    channel = owner.make(
        monitoring.NotificationChannel,
        f"{name}-notices",
        display_name=f"Notices of {name}",
        project=args["project"],
        type="pubsub",
        labels={"topic": topic.id},
    )
    known = owner.make(
        projects.ServiceIdentity, f"{name}-notices", project=args["project"], service="container.googleapis.com"
    )
    owner.make(
        pubsub.TopicIAMMember,
        f"{name}-notices",
        topic=topic.name,
        project=args["project"],
        role="roles/pubsub.publisher",
        member=known.email.apply(lambda email: plans.agent_member(email, "gcp-sa-monitoring-notification")),
        opts=pulumi.ResourceOptions(depends_on=[channel]),
    )
    channel_id: pulumi.Output[str] = channel.id
    return channel_id
