"""What several AWS components make alike: roles, a closed security group, keys that a service may use, disks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_aws import autoscaling, ec2, iam, kms, ssm
from pulumi_aws import vpc as rules

from sizewell.components.aws import policies, user_data
from sizewell.components.aws.network import encryption_key
from sizewell.components.aws.storage import mounts
from sizewell.components.inputs import derive
from sizewell.components.owned import Owned
from sizewell.components.tags import legal


def role(
    owner: Owned,
    name: str,
    *,
    trust: pulumi.Input[str],
    description: str,
    managed: Sequence[str] = (),
    inline: Mapping[str, pulumi.Input[str]] | None = None,
    region: str,
    after: Sequence[pulumi.Resource] = (),
) -> iam.Role:
    """A role with the AWS policies `managed` and policies of its own `inline`, both by name."""
    options = {"opts": pulumi.ResourceOptions(depends_on=list(after))} if after else {}
    made = owner.make(iam.Role, name, description=description, assume_role_policy=trust, **options)
    for policy in managed:
        owner.make(
            iam.RolePolicyAttachment,
            f"{name}-{policy.rpartition('/')[2]}",
            role=made.name,
            policy_arn=f"arn:{policies.partition(region)}:iam::aws:policy/{policy}",
        )
    for suffix, document in (inline or {}).items():
        inline_policy(owner, f"{name}-{suffix}", made, document)
    return made


def machines_role(owner: Owned, name: str, args: Mapping[str, Any]) -> iam.Role:
    """A role that Systems Manager, the metrics agent and the checkpoint writer need, and no more."""
    region = args["region"]
    inline = {"metrics": policies.metrics_policy()}
    if writer := args.get("writer"):
        inline["checkpoints"] = policies.writer_policy(
            region=region, bucket=writer["bucket"], key_alias=writer["key_alias"]
        )
    return role(
        owner,
        f"{name}-nodes",
        trust=policies.assume_role("ec2.amazonaws.com"),
        description=f"Machines of {name}",
        managed=("AmazonSSMManagedInstanceCore", "AmazonEC2ContainerRegistryPullOnly"),
        inline=inline,
        region=region,
    )


def pod_trust() -> str:
    """Trust of EKS Pod Identity: pods get the role's credentials, tagged with who they are."""
    return policies.policy(
        [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
            }
        ]
    )


def account_of(args: Mapping[str, Any], role: iam.Role) -> pulumi.Input[str]:
    """The account as the caller knows it, else as AWS tells it with the first role."""
    account: pulumi.Input[str] = args.get("account") or role.arn.apply(policies.account_of)
    return account


def arn_of(account: pulumi.Input[str], region: str, service: str, path: str) -> pulumi.Input[str]:
    """The ARN of what has a name of ours.

    >>> arn_of("123456789012", "us-east-1", "sqs", "lost"), arn_of("123456789012", "us-east-1", "iam", "role/nodes")
    ('arn:aws:sqs:us-east-1:123456789012:lost', 'arn:aws:iam::123456789012:role/nodes')
    """
    place = "" if service == "iam" else region
    return derive(f"arn:{policies.partition(region)}:{service}:{place}:{{}}:{path}".format, account)


def key_arn(owner: Owned, name: str, args: Mapping[str, Any], account: pulumi.Input[str]) -> pulumi.Input[str]:
    """The key that the caller gives, else one of the component's own."""
    given: pulumi.Input[str] | None = args.get("kms_key_arn")
    if given is not None:
        return given
    production = args["environment"] == "prod"
    own: pulumi.Output[str] = encryption_key(
        owner, name, region=args["region"], account=account, production=production
    ).arn
    return own


def key_use(args: Mapping[str, Any], key: pulumi.Input[str]) -> pulumi.Input[str]:
    """A policy to use `key`. One that the component made itself is named by its stack's tag, another by its alias where
    the caller tells it: a preview knows both before the key is there.
    """
    every = f"arn:{policies.partition(args['region'])}:kms:{args['region']}:*:key/*"
    if "kms_key_arn" not in args:
        tag = {"aws:ResourceTag/sizewell-stack": legal(pulumi.get_stack())}
        return key_use_policy(every, {"StringEquals": tag})
    if alias := args.get("kms_key_alias"):
        return key_use_policy(every, {"ForAnyValue:StringEquals": {"kms:ResourceAliases": alias}})
    return derive(key_use_policy, key)


def message_key_use(region: str) -> str:
    """A policy to send into topics and queues under keys that the stack made itself, which are named by its tag."""
    return policies.policy(
        [
            {
                "Effect": "Allow",
                "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
                "Resource": f"arn:{policies.partition(region)}:kms:{region}:*:key/*",
                "Condition": {"StringEquals": {"aws:ResourceTag/sizewell-stack": legal(pulumi.get_stack())}},
            }
        ]
    )


def key_use_policy(arn: str, condition: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """A role that may use a key, and hand it to the disks of its machines."""
    mine: dict[str, Any] = {"Condition": dict(condition)} if condition else {}
    grant = {**mine.get("Condition", {}), "Bool": {"kms:GrantIsForAWSResource": "true"}}
    use = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
    return policies.policy(
        [
            {"Effect": "Allow", "Action": use, "Resource": arn, **mine},
            {"Effect": "Allow", "Action": "kms:CreateGrant", "Resource": arn, "Condition": grant},
        ]
    )


def service_key(
    owner: Owned, name: str, *, account: pulumi.Input[str], region: str, services: Sequence[str]
) -> kms.Key:
    """A key that AWS services of this account may use to hand messages on; the account administers it."""
    made = owner.make(
        kms.Key,
        name,
        description=f"Messages of {pulumi.get_stack()} ({name})",
        enable_key_rotation=True,
        deletion_window_in_days=7,
        policy=derive(lambda number: service_key_policy(account=number, region=region, services=services), account),
    )
    owner.make(kms.Alias, name, name=f"alias/{owner.physical(name, 200)}", target_key_id=made.key_id)
    return made


def service_key_policy(*, account: str, region: str, services: Sequence[str]) -> str:
    """`services` encrypt and decrypt in this account's name only."""
    return policies.policy(
        [
            {
                "Sid": "Account",
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:{policies.partition(region)}:iam::{account}:root"},
                "Action": "kms:*",
                "Resource": "*",
            },
            {
                "Sid": "Services",
                "Effect": "Allow",
                "Principal": {"Service": list(services)},
                "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:SourceAccount": account}},
            },
        ]
    )


def closed_group(
    owner: Owned, name: str, args: Mapping[str, Any], *, what: str, lustre: bool = False
) -> ec2.SecurityGroup:
    """Among themselves the machines may say everything (EFA needs it both ways); out only HTTPS to AWS.

    `args` has vpc_id, vpc_cidr and, where S3 has a gateway endpoint, s3_prefix_list_id.
    `lustre` opens the ports of Lustre to file systems in the VPC.
    """
    group = owner.make(
        ec2.SecurityGroup,
        name,
        description=f"{what}: all traffic among themselves, HTTPS to AWS, no ingress",
        vpc_id=args["vpc_id"],
    )
    rule(owner, f"{name}-from-self", group, "Everything from machines of this group", peer=group)
    rule(owner, f"{name}-to-self", group, "Everything to machines of this group", out=True, peer=group)
    rule(owner, f"{name}-to-endpoints", group, "HTTPS to the endpoints in the VPC", out=True, cidr=args["vpc_cidr"])
    if "s3_prefix_list_id" in args:
        prefix = args["s3_prefix_list_id"]
        rule(owner, f"{name}-to-s3", group, "HTTPS to S3 through the gateway endpoint", out=True, prefix_list=prefix)
    if lustre:
        for first, last in LUSTRE_PORTS:
            purpose = f"Lustre {first} to file systems in the VPC"
            rule(
                owner,
                f"{name}-to-lustre-{first}",
                group,
                purpose,
                out=True,
                cidr=args["vpc_cidr"],
                ports=(first, last),
            )
    return group


LUSTRE_PORTS = ((988, 988), (1018, 1023))


def rule(
    owner: Owned,
    name: str,
    group: ec2.SecurityGroup,
    description: str,
    *,
    out: bool = False,
    peer: ec2.SecurityGroup | None = None,
    cidr: str | None = None,
    prefix_list: pulumi.Input[str] | None = None,
    ports: tuple[int, int] = (443, 443),
) -> None:
    """One rule of a security group: everything with the group `peer`, or TCP `ports` with a range or prefix list."""
    kind = rules.SecurityGroupEgressRule if out else rules.SecurityGroupIngressRule
    what: dict[str, object] = {"ip_protocol": "tcp", "from_port": ports[0], "to_port": ports[1]}
    if peer is not None:
        what = {"ip_protocol": "-1", "referenced_security_group_id": peer.id}
    elif cidr is not None:
        what["cidr_ipv4"] = cidr
    else:
        what["prefix_list_id"] = prefix_list
    owner.make(kind, name, security_group_id=group.id, description=description, **what)


def machine_settings(
    *, disk_gib: int, key: pulumi.Input[str], tags: Mapping[str, str], device: str = "/dev/xvda"
) -> dict[str, object]:
    """What every launch template of ours says: IMDSv2 with one hop, an encrypted disk, tags on all that is billed."""
    return {
        "update_default_version": True,
        "metadata_options": {
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": 1,
            "instance_metadata_tags": "enabled",
        },
        "block_device_mappings": [
            {
                "device_name": device,
                "ebs": {
                    "volume_type": "gp3",
                    "volume_size": disk_gib,
                    "encrypted": "true",
                    "kms_key_id": key,
                    "delete_on_termination": "true",
                },
            }
        ],
        "ebs_optimized": "true",
        "monitoring": {"enabled": True},
        "tag_specifications": [
            {"resource_type": kind, "tags": dict(tags)} for kind in ("instance", "volume", "network-interface")
        ],
    }


def boot_script(owner: Owned, name: str, args: Mapping[str, Any]) -> tuple[str, list[pulumi.Resource]]:
    """The start script as user data takes it, and what has to be there before: a document, where it is long."""
    script = args.get("start_script", "")
    if len(script) <= user_data.USER_DATA_SCRIPT:
        return script, []
    document = owner.make(
        ssm.Document,
        f"{name}-boot",
        document_type="Command",
        document_format="JSON",
        content=user_data.boot_document(script),
    )
    physical = owner.name_of(ssm.Document, f"{name}-boot")
    return user_data.boot_from_document(physical, script, region=args["region"]), [document]


def image_id(owner: Owned, image: str) -> pulumi.Input[str]:
    """The id behind `image`: an EC2 Fleet that keeps its size takes no `resolve:ssm:`, fleets of type instant alone do
    (docs.aws.amazon.com/AWSEC2/latest/UserGuide/create-launch-template.html), so that it is asked for at each update.
    """
    if not image.startswith(RESOLVED):
        return image
    options = pulumi.InvokeOptions(parent=owner)
    image_name: pulumi.Output[str] = ssm.get_parameter_output(name=image.removeprefix(RESOLVED), opts=options).value
    return image_name


RESOLVED = "resolve:ssm:"


def reservation_target(reservation: str) -> dict[str, str]:
    """What a launch template says of a capacity reservation, by id or by the ARN of a resource group.

    >>> reservation_target("cr-0123456789abcdef0")
    {'capacity_reservation_id': 'cr-0123456789abcdef0'}
    """
    is_group = reservation.startswith("arn:")
    return {"capacity_reservation_resource_group_arn" if is_group else "capacity_reservation_id": reservation}


def block_actions(
    owner: Owned,
    name: str,
    group: pulumi.Input[str],
    *,
    nodes: tuple[int, int],
    starts: pulumi.Input[str] | None,
    ends: pulumi.Input[str] | None,
) -> None:
    """A block's machines come when it begins, and go in good order before its end: a job has been told and has saved.

    `nodes`: how many at first and at most.
    """
    edges = {
        "begin": ("block-begins", starts, mounts.begin_at, nodes[0]),
        "drain": ("block-ends", ends, mounts.drain_at, 0),
    }
    for edge, (action, when, moment, size) in edges.items():
        if when is not None:
            owner.make(
                autoscaling.Schedule,
                f"{name}-{edge}",
                scheduled_action_name=action,
                autoscaling_group_name=group,
                start_time=derive(moment, when),
                min_size=0,
                desired_capacity=size,
                max_size=nodes[1],
            )


def queue_policy(*, queue: str, rule_arns: Sequence[str]) -> str:
    """Events of these rules may enter; nobody without TLS."""
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "Events",
                    "Effect": "Allow",
                    "Principal": {"Service": "events.amazonaws.com"},
                    "Action": "sqs:SendMessage",
                    "Resource": queue,
                    "Condition": {"ArnEquals": {"aws:SourceArn": list(rule_arns)}},
                },
                {
                    "Sid": "TlsOnly",
                    "Effect": "Deny",
                    "Principal": "*",
                    "Action": "sqs:*",
                    "Resource": queue,
                    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                },
            ],
        },
        sort_keys=True,
    )


def inline_policy(owner: Owned, name: str, role: iam.Role, document: pulumi.Input[str]) -> None:
    """One more policy of a role's own."""
    owner.make(iam.RolePolicy, name, role=role.id, policy=document)


def start_policy(automation: str, role_arn: str, *queues: str) -> str:
    """Start one automation of Systems Manager with one role; say into `queues` what could not be started.

    `automation` is the ARN of its document. AWS authorises the start on the document, on the execution that it makes,
    whose id nobody knows before, and, for callers that name it so, on the definition
    (docs.aws.amazon.com/service-authorization/latest/reference/list_awssystemsmanager.html).
    """
    place, _, document = automation.partition(":document/")
    started = [
        automation,
        f"{place}:automation-definition/{document}:*",
        f"{place}:automation-execution/*",
    ]
    statements: list[dict[str, object]] = [
        {"Effect": "Allow", "Action": "ssm:StartAutomationExecution", "Resource": started},
        {
            "Effect": "Allow",
            "Action": "iam:PassRole",
            "Resource": role_arn,
            "Condition": {"StringEquals": {"iam:PassedToService": "ssm.amazonaws.com"}},
        },
    ]
    if queues:
        statements.append({"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": list(queues)})
    return policies.policy(statements)
