"""What an alarm alone cannot stop: alarm -> EventBridge -> an automation of Systems Manager."""

import json
from collections.abc import Mapping

import pulumi
from pulumi_aws import cloudwatch, iam, ssm

from sizewell.components.aws import parts, plans
from sizewell.components.aws.fleets import plans as fleet_plans
from sizewell.components.inputs import derive
from sizewell.components.owned import Owned


def stop_on_alarm(
    owner: Owned,
    name: str,
    *,
    region: str,
    account: pulumi.Input[str],
    alarm: str,
    content: str,
    may: Mapping[str, pulumi.Input[str]],
    inputs: Mapping[str, pulumi.Input[str]],
) -> None:
    """When the alarm of the name `alarm` goes off, run the automation `content` with `inputs` and a role that `may`.

    `content` takes its role as the parameter Role; `may` are the role's policies by name.
    """
    document = owner.make(
        ssm.Document, f"{name}-stop", document_type="Automation", document_format="JSON", content=content
    )
    hand = parts.role(
        owner,
        f"{name}-stop",
        trust=plans.assume_role("ssm.amazonaws.com"),
        description=f"Takes {name} to zero",
        inline=may,
        region=region,
    )
    stop = owner.name_of(ssm.Document, f"{name}-stop")
    definition = parts.arn_of(account, region, "ssm", f"automation-definition/{stop}:$DEFAULT")
    role_arn = parts.arn_of(account, region, "iam", f"role/{owner.name_of(iam.Role, f'{name}-stop')}")
    starter = parts.role(
        owner,
        f"{name}-stop-start",
        trust=plans.assume_role("events.amazonaws.com"),
        description=f"Starts the automation that takes {name} to zero",
        inline={"automation": derive(parts.start_policy, definition, role_arn)},
        region=region,
    )
    rule = owner.make(
        cloudwatch.EventRule,
        f"{name}-stop",
        description=f"{name} was idle for its window and its grace",
        event_pattern=derive(fleet_plans.alarm_pattern, parts.arn_of(account, region, "cloudwatch", f"alarm:{alarm}")),
    )
    owner.make(
        cloudwatch.EventTarget,
        f"{name}-stop",
        rule=rule.name,
        arn=definition,
        role_arn=starter.arn,
        input=pulumi.Output.all(hand.arn, *inputs.values()).apply(
            lambda known: json.dumps(
                {**{key: [value] for key, value in zip(inputs, known[1:], strict=True)}, "Role": [known[0]]}
            )
        ),
        opts=pulumi.ResourceOptions(depends_on=[document]),
    )
