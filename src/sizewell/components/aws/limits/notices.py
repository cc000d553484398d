"""Topics that reach somebody, and stops that are reported when they fail."""

import json
from collections.abc import Sequence

import pulumi
from pulumi_aws import cloudwatch, kms, sns, sqs

from sizewell.components.aws import parts, policies
from sizewell.components.inputs import derive
from sizewell.components.notify import hooks, receivers, with_emails
from sizewell.components.owned import Owned
from sizewell.components.tags import legal

ENDED_BADLY = ("Failed", "TimedOut", "Cancelled")  # of an automation's execution


def topic(
    owner: Owned,
    name: str,
    *,
    key_arn: pulumi.Input[str],
    region: str,
    account: pulumi.Input[str] = "",
    publishers: Sequence[str] = (),
    emails: Sequence[str] = (),
) -> sns.Topic:
    """A topic under a key, with a subscription for each receiver of the stack.

    `publishers` are services that need a policy of the topic to publish, in the name of `account`; CloudWatch's alarms
    need none where the topic has no policy of its own.
    """
    made = owner.make(sns.Topic, name, kms_master_key_id=key_arn)
    if publishers:
        _publishable(owner, name, made, region=region, account=account, publishers=publishers)
    subscribe(owner, name, made, emails=emails)
    return made


PUBLISHERS = ("cloudwatch.amazonaws.com", "events.amazonaws.com")


def topic_with_key(
    owner: Owned, name: str, *, region: str, account: pulumi.Input[str], publishers: Sequence[str] = PUBLISHERS
) -> tuple[sns.Topic, kms.Key]:
    """A topic with a key of its own, which the publishers may write with; also into queues."""
    key = parts.service_key(owner, name, account=account, region=region, services=publishers)
    made = topic(owner, name, key_arn=key.arn, region=region, account=account, publishers=publishers)
    return made, key


def topic_with_policy(
    owner: Owned,
    name: str,
    *,
    key_arn: pulumi.Input[str],
    region: str,
    account: pulumi.Input[str],
    publishers: Sequence[str],
    emails: Sequence[str] = (),
) -> tuple[sns.Topic, sns.TopicPolicy]:
    """The same, and the policy that has to stand before a publisher learns of the topic."""
    made = topic(owner, name, key_arn=key_arn, region=region, emails=emails)
    return made, _publishable(owner, name, made, region=region, account=account, publishers=publishers)


def _publishable(
    owner: Owned, name: str, made: sns.Topic, *, region: str, account: pulumi.Input[str], publishers: Sequence[str]
) -> sns.TopicPolicy:
    document = derive(
        lambda arn, number: topic_policy(topic=arn, account=number, publishers=publishers),
        parts.arn_of(account, region, "sns", owner.name_of(sns.Topic, name)),
        account,
    )
    return owner.make(sns.TopicPolicy, name, arn=made.arn, policy=document)


def subscribe(owner: Owned, name: str, made: sns.Topic, *, emails: Sequence[str] = ()) -> None:
    """A subscription of the topic for each receiver; addresses of hooks are secrets."""
    notify = with_emails(receivers(), emails)
    for email in notify["emails"]:
        owner.make(sns.TopicSubscription, f"{name}-{legal(email)}", topic=made.arn, protocol="email", endpoint=email)
    for label, address in hooks(notify).items():
        owner.make(
            sns.TopicSubscription,
            f"{name}-{label}",
            topic=made.arn,
            protocol="https",
            endpoint=pulumi.Output.secret(address),
            endpoint_auto_confirms=label.startswith("pagerduty"),
        )


def topic_policy(*, topic: str, account: str, publishers: Sequence[str]) -> str:
    """These services may publish in the name of this account."""
    return policies.policy(
        [
            {
                "Effect": "Allow",
                "Principal": {"Service": list(publishers)},
                "Action": "sns:Publish",
                "Resource": topic,
                "Condition": {"StringEquals": {"aws:SourceAccount": account}},
            }
        ]
    )


def dead_letters(owner: Owned, name: str, *, key_arn: pulumi.Input[str], topic_arn: pulumi.Input[str]) -> sqs.Queue:
    """A queue of starts that never came about, and an alarm while one lies in it."""
    made = owner.make(sqs.Queue, name, kms_master_key_id=key_arn, message_retention_seconds=14 * 86400)
    owner.make(
        cloudwatch.MetricAlarm,
        name,
        alarm_description=f"{name}: a stop could not be started; machines are still billed",
        alarm_actions=[topic_arn],
        namespace="AWS/SQS",
        metric_name="ApproximateNumberOfMessagesVisible",
        dimensions={"QueueName": made.name},
        statistic="Maximum",
        comparison_operator="GreaterThanThreshold",
        threshold=0.0,
        period=300,
        evaluation_periods=1,
        datapoints_to_alarm=1,
        treat_missing_data="notBreaching",
    )
    return made


def failed_runs(owner: Owned, name: str, *, document: str, topic_arn: pulumi.Input[str]) -> None:
    """Say into the topic that an execution of the automation `document` ended badly."""
    rule = owner.make(
        cloudwatch.EventRule,
        name,
        description=f"{name}: a stop failed; machines are still billed",
        event_pattern=failure_pattern(document),
    )
    owner.make(cloudwatch.EventTarget, name, rule=rule.name, arn=topic_arn)


def failure_pattern(document: str) -> str:
    """Executions of one automation that did not succeed
    (docs.aws.amazon.com/systems-manager/latest/userguide/monitoring-systems-manager-event-examples.html).
    """
    return json.dumps(
        {
            "source": ["aws.ssm"],
            "detail-type": ["EC2 Automation Execution Status-change Notification"],
            "detail": {"Definition": [document], "Status": list(ENDED_BADLY)},
        }
    )
