"""What an alarm alone cannot stop: alarm -> EventBridge -> an automation of Systems Manager.

The rule that starts the automation does so once an hour as well, and the automation itself asks whether the alarm still
stands and looks at each machine (`idle`): a stop that was denied, throttled or cancelled is tried again as long as the
machines stay idle. A start that does not come about lies in a dead-letter queue, a run that fails is reported: both
reach the pool's receivers.
"""

import json
from collections.abc import Mapping

import pulumi
from pulumi_aws import cloudwatch, iam, sqs, ssm

from sizewell.components.aws import parts, policies
from sizewell.components.aws.fleets import documents
from sizewell.components.aws.limits import idle, notices
from sizewell.components.inputs import derive
from sizewell.components.owned import Owned

AGAIN = "rate(1 hour)"


def stop_on_alarm(
    owner: Owned,
    name: str,
    *,
    region: str,
    account: pulumi.Input[str],
    alarm: str,
    content: str,
    pool: tuple[str, pulumi.Input[str]],
    value: pulumi.Input[str],
    may: Mapping[str, pulumi.Input[str]],
    key_arn: pulumi.Input[str],
    topic_arn: pulumi.Input[str],
) -> None:
    """While the alarm of the name `alarm` stands, run the automation `content` with a role that `may`.

    `content` is one of `idle.automation`: `pool` is its parameter for the machines with what that names, `value` the
    value of the metric's dimension. `may` are the role's policies by name, beside the right to look. Who hears of a
    failure reads `topic_arn`, encrypted with `key_arn`, whose policies let EventBridge in.
    """
    inputs = {pool[0]: pool[1], "Value": value}
    document = owner.make(
        ssm.Document, f"{name}-stop", document_type="Automation", document_format="JSON", content=content
    )
    hand = parts.role(
        owner,
        f"{name}-stop",
        trust=policies.assume_role("ssm.amazonaws.com"),
        description=f"Scales {name} to zero",
        inline={
            **may,
            "look": derive(
                lambda arn: idle.look_policy(alarm_arn=arn, region=region, pool=pool[0]),
                parts.arn_of(account, region, "cloudwatch", f"alarm:{alarm}"),
            ),
        },
        region=region,
    )
    stop = owner.name_of(ssm.Document, f"{name}-stop")
    definition = parts.arn_of(account, region, "ssm", f"automation-definition/{stop}:$DEFAULT")
    automation = parts.arn_of(account, region, "ssm", f"document/{stop}")
    role_arn = parts.arn_of(account, region, "iam", f"role/{owner.name_of(iam.Role, f'{name}-stop')}")
    starter = parts.role(
        owner,
        f"{name}-stop-start",
        trust=policies.assume_role("events.amazonaws.com"),
        description=f"Starts the automation that scales {name} to zero",
        inline={"automation": derive(parts.start_policy, automation, role_arn)},
        region=region,
    )
    rule = owner.make(
        cloudwatch.EventRule,
        f"{name}-stop",
        description=f"{name} was idle for its window and grace; checked again every hour",
        schedule_expression=AGAIN,
        event_pattern=derive(documents.alarm_pattern, parts.arn_of(account, region, "cloudwatch", f"alarm:{alarm}")),
    )
    lost = notices.dead_letters(owner, f"{name}-stop-lost", key_arn=key_arn, topic_arn=topic_arn)
    rule_arn = parts.arn_of(account, region, "events", f"rule/{owner.name_of(cloudwatch.EventRule, f'{name}-stop')}")
    lost_arn = parts.arn_of(account, region, "sqs", owner.name_of(sqs.Queue, f"{name}-stop-lost"))
    owner.make(
        sqs.QueuePolicy,
        f"{name}-stop-lost",
        queue_url=lost.url,
        policy=derive(lambda queue, source: parts.queue_policy(queue=queue, rule_arns=[source]), lost_arn, rule_arn),
    )
    notices.failed_runs(owner, f"{name}-stop-failed", document=stop, topic_arn=topic_arn)
    owner.make(
        cloudwatch.EventTarget,
        f"{name}-stop",
        rule=rule.name,
        arn=definition,
        role_arn=starter.arn,
        input=pulumi.Output.all(hand.arn, *inputs.values()).apply(
            lambda known: json.dumps(
                {
                    **{key: [value] for key, value in zip(inputs, known[1:], strict=True)},
                    "Role": [known[0]],
                    "Alarm": [alarm],
                }
            )
        ),
        dead_letter_config={"arn": lost.arn},
        opts=pulumi.ResourceOptions(depends_on=[document]),
    )
