"""Resources that several Google Cloud components need: keys of their own, and who may use them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_gcp import kms, monitoring, projects, pubsub, serviceaccount

from sizewell.components.gcp import node_pools
from sizewell.components.notify import receivers, with_emails
from sizewell.components.owned import Owned
from sizewell.components.tags import legal, short_hash


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
            member=identity.email.apply(lambda email, agent=agent: node_pools.agent_member(email, agent)),
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


def notices(owner: Owned, name: str, args: Mapping[str, object]) -> list[pulumi.Output[str]]:
    """Channels of alerts: one for each receiver of the stack, and one into a topic of its own, which keeps notices for
    a week for whoever reads its subscription.

    Cloud Monitoring may write to the topic: else notices are lost. Its agent comes with a
    project's first channel; all agents of a project begin with the project's number.
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
        member=known.email.apply(lambda email: node_pools.agent_member(email, "gcp-sa-monitoring-notification")),
        opts=pulumi.ResourceOptions(depends_on=[channel]),
    )
    keep(owner, f"{name}-notices", args, topic)
    return [channel.id, *channels(owner, name, args)]


def keep(owner: Owned, name: str, args: Mapping[str, object], topic: pubsub.Topic) -> None:
    """A subscription that keeps a topic's messages for a week: without one they are gone at once."""
    owner.make(
        pubsub.Subscription,
        name,
        name=owner.physical(name, 255),
        project=args["project"],
        topic=topic.id,
        message_retention_duration="604800s",
        expiration_policy={"ttl": ""},  # without it a subscription that nobody reads is gone after a month
    )


def push(owner: Owned, name: str, args: Mapping[str, object], topic: pubsub.Topic) -> None:
    """Each webhook of the stack gets a topic's messages as they are: a budget tells channels of e-mail alone."""
    for address in receivers().get("webhooks", []):
        label = f"{name}-hook-{short_hash(address)}"
        owner.make(
            pubsub.Subscription,
            label,
            name=owner.physical(label, 255),
            project=args["project"],
            topic=topic.id,
            push_config={
                "push_endpoint": pulumi.Output.secret(address),
                "no_wrapper": {"write_metadata": True},
            },
            ack_deadline_seconds=30,
            retry_policy={"minimum_backoff": "10s", "maximum_backoff": "600s"},
            expiration_policy={"ttl": ""},
        )


def failed_runs(
    owner: Owned,
    name: str,
    args: Mapping[str, object],
    *,
    workflow: str,
    jobs: Sequence[str],
    title: str,
    channels: Sequence[pulumi.Input[str]],
) -> None:
    """Says that a workflow's run failed, or that a scheduled job could not start one: what should stop bills on."""
    conditions = {"runs failed": node_pools.failed_runs(workflow)}
    conditions["starts failed"] = node_pools.failed_starts(jobs)
    owner.make(
        monitoring.AlertPolicy,
        f"{name}-failed",
        display_name=title,
        project=args["project"],
        combiner="OR",
        severity="CRITICAL",
        conditions=[
            {
                "display_name": what,
                "condition_threshold": {
                    "filter": selected,
                    "comparison": "COMPARISON_GT",
                    "threshold_value": 0.0,
                    "duration": "0s",
                    "aggregations": [
                        {
                            "alignment_period": "3600s",
                            "per_series_aligner": "ALIGN_SUM",
                            "cross_series_reducer": "REDUCE_SUM",
                        }
                    ],
                },
            }
            for what, selected in conditions.items()
        ],
        notification_channels=list(channels),
    )


def channels(
    owner: Owned, name: str, args: Mapping[str, object], *, emails: Sequence[str] = (), mail_alone: bool = False
) -> list[pulumi.Output[str]]:
    """A channel of Cloud Monitoring for each receiver of the stack and each of `emails`.

    `mail_alone` leaves the others out: budgets take e-mail channels only
    (cloud.google.com/billing/docs/how-to/budgets-notification-recipients).
    """
    notify = with_emails(receivers(), emails)
    wanted: dict[str, dict[str, object]] = {
        f"mail-{legal(email)}": {"type": "email", "labels": {"email_address": email}} for email in notify["emails"]
    }
    if not mail_alone:
        for address in notify.get("webhooks", []):
            labels = {"url": pulumi.Output.secret(address)}
            wanted[f"hook-{short_hash(address)}"] = {"type": "webhook_tokenauth", "labels": labels}
        for key in notify.get("pagerduty", []):
            secret = {"service_key": pulumi.Output.secret(key)}
            wanted[f"pagerduty-{short_hash(key)}"] = {"type": "pagerduty", "sensitive_labels": secret}
    return [
        owner.make(
            monitoring.NotificationChannel,
            f"{name}-{label}",
            display_name=f"{label.partition('-')[0]} for {name}",
            project=args["project"],
            **settings,
        ).id
        for label, settings in wanted.items()
    ]
