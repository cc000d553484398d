"""The schedule of teardowns: arguments, refusals, and what each of its identities may. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired

from sizewell.components.aws import policies
from sizewell.components.aws.args import SubnetsArgs
from sizewell.components.aws.checks import check_region
from sizewell.components.bounds import Between
from sizewell.components.faults import Faults
from sizewell.components.forms import PlaceArgs
from sizewell.components.tags import legal
from sizewell.sizing.records.stackname import ENVIRONMENTS

PINNED = re.compile(r"(?P<repository>[^@\s]+)@sha256:[0-9a-f]{64}")
_ECR = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/(?P<name>[^@:\s]+)@.+"
)
_BUCKET = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<prefix>[^\s]*))?")
PROJECT, STACK, ENVIRONMENT = "sizewell-project", "sizewell-stack", "sizewell-environment"
CPU, MEMORY_MIB = (
    1024,
    4096,
)  # one vCPU; the engine and one provider of a cloud take 1 to 3 GB (a choice, not a measurement)
ROOT = "/project"  # of the image: Pulumi.yaml, stacks/


class TeardownScheduleArgs(PlaceArgs, SubnetsArgs):
    """`sizewell teardown run --yes` once an hour, in a Fargate task."""

    image: str
    """Image of Sizewell, the engine and its plugins in a registry of yours, by digest: NAME@sha256:…"""
    state: str
    """Backend of the Pulumi states: s3://BUCKET or s3://BUCKET/PREFIX."""
    journal: str
    """Journal of teardown, as in stacks/config/teardown.yaml: s3://BUCKET/PREFIX, in a different bucket."""
    environments: list[str]
    """Environments whose stacks may be destroyed, each by an identity of its own."""
    minutes: NotRequired[Annotated[int, Between(15, 1440)]]
    """Minutes between two runs; default 60."""
    passphrase_secret_arn: NotRequired[str]
    """Secret of Secrets Manager with the passphrase of the states' secrets."""
    secrets_key_arn: NotRequired[str]
    """Key of KMS that encrypts the states' secrets (awskms://), where there is no passphrase."""


def check_schedule(name: str, args: TeardownScheduleArgs) -> None:
    faults = Faults.of(name, args, TeardownScheduleArgs)
    check_region(faults, args)
    image = str(args.get("image", ""))
    faults.must(
        bool(PINNED.fullmatch(image)),
        "image",
        f"must be pinned by digest, got {image!r}: tags are mutable, and this image destroys stacks",
        fix="NAME@sha256:… as `docker buildx imagetools inspect NAME:TAG` prints it",
    )
    for key in ("state", "journal"):
        place = str(args.get(key, ""))
        faults.must(bool(_BUCKET.fullmatch(place)), key, f"must be s3://BUCKET or s3://BUCKET/PREFIX, got {place!r}")
    faults.must(
        bucket_of(str(args.get("state"))) != bucket_of(str(args.get("journal"))),
        "journal",
        "is in the bucket of the states, where the engine may delete; records must not be deleted",
        fix="give it a bucket of its own",
    )
    environments = args.get("environments") or []
    faults.must(bool(environments), "environments", "is empty: nothing would be destroyed")
    for number, environment in enumerate(environments):
        allowed = ", ".join(ENVIRONMENTS)
        message = f"must be one of {allowed}, got {environment!r}"
        faults.must(environment in ENVIRONMENTS, f"environments[{number}]", message)
    given = [key for key in ("passphrase_secret_arn", "secrets_key_arn") if args.get(key)]
    faults.must(
        len(given) == 1,
        "secrets_key_arn",
        "give exactly one of secrets_key_arn and passphrase_secret_arn: without it no stack can be destroyed",
    )
    message = "must not be set: the schedule has to outlive the stacks that it destroys"
    faults.must("expires" not in args, "expires", message, fix="leave it out")
    faults.done()


def bucket_of(place: str) -> str:
    """The bucket of an s3:// URI; "" where it is none.

    >>> bucket_of("s3://petsnap-states/teams")
    'petsnap-states'
    """
    match = _BUCKET.fullmatch(place)
    return match["bucket"] if match else ""


def objects_of(place: str, region: str) -> str:
    """The ARN of every object below an s3:// URI.

    >>> objects_of("s3://petsnap-teardown/records", "us-east-1"), objects_of("s3://petsnap-states", "us-east-1")
    ('arn:aws:s3:::petsnap-teardown/records/*', 'arn:aws:s3:::petsnap-states/*')
    """
    match = _BUCKET.fullmatch(place)
    prefix = (match["prefix"] or "").strip("/") if match else ""
    return f"arn:{policies.partition(region)}:s3:::{bucket_of(place)}/{f'{prefix}/' if prefix else ''}*"


def engine_objects(state: str, region: str) -> str:
    """The ARN of every object that Pulumi's engine keeps in a bucket of states: a folder of its own.

    >>> engine_objects("s3://petsnap-states", "us-east-1")
    'arn:aws:s3:::petsnap-states/.pulumi/*'
    """
    return objects_of(f"{state.rstrip('/')}/.pulumi", region)


def container(args: TeardownScheduleArgs, *, roles: Mapping[str, str], logs: str) -> str:
    """The one container of the task, as ECS takes it: nothing of the image is written to, all that is written goes with
    the task but for the journal, which has the exports and timelines too.
    """
    environment = {
        "AWS_PROFILES": profiles(roles),
        "AWS_CONFIG_FILE": "/tmp/aws/config",  # noqa: S108  (a volume of the task's own)
        "AWS_REGION": args["region"],
        "PULUMI_BACKEND_URL": f"{args['state']}?region={args['region']}&awssdk=v2",
        "SIZEWELL_JOURNAL": args["journal"],  # the settings of today stand there
    }
    secret = args.get("passphrase_secret_arn")
    return json.dumps(
        [
            {
                "name": "teardown",
                "image": args["image"],
                "essential": True,
                "readonlyRootFilesystem": True,
                "privileged": False,
                "environment": [{"name": key, "value": value} for key, value in sorted(environment.items())],
                **({"secrets": [{"name": "PULUMI_CONFIG_PASSPHRASE", "valueFrom": secret}]} if secret else {}),
                "mountPoints": [
                    {"sourceVolume": volume, "containerPath": path, "readOnly": False}
                    for volume, path in VOLUMES.items()
                ],
                "linuxParameters": {"initProcessEnabled": True},
                "logConfiguration": {
                    "logDriver": "awslogs",
                    "options": {
                        "awslogs-group": logs,
                        "awslogs-region": args["region"],
                        "awslogs-stream-prefix": "teardown",
                    },
                },
            }
        ],
        sort_keys=True,
    )


VOLUMES = {"scratch": "/tmp", "kept": f"{ROOT}/.sizewell"}  # noqa: S108  (of the task's own)


def profiles(roles: Mapping[str, str]) -> str:
    """Profiles of the AWS SDKs, one for each identity that the task may become; `identities` of teardown.yaml names
    them (docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html).

    >>> print(profiles({"dev": "arn:aws:iam::123456789012:role/deletes-dev"}))
    [profile teardown-deletes-dev]
    role_arn = arn:aws:iam::123456789012:role/deletes-dev
    credential_source = EcsContainer
    <BLANKLINE>
    """
    return "".join(
        f"[profile teardown-deletes-{environment}]\nrole_arn = {arn}\ncredential_source = EcsContainer\n"
        for environment, arn in roles.items()
    )


# Identities -----------------------------------------------------------------------------------------------------------


def never_data(*, region: str, state: str = "") -> dict[str, object]:
    """No identity deletes checkpoints, what keeps them, or a copy of them; in the bucket of the states alone the engine
    replaces and deletes its own files.
    """
    spared = {"NotResource": engine_objects(state, region)} if state else {"Resource": "*"}
    return {
        "Sid": "NeverData",
        "Effect": "Deny",
        "Action": [
            "s3:DeleteObject*",
            "s3:DeleteBucket*",
            "s3:PutLifecycleConfiguration",
            "s3:PutBucketVersioning",
            "s3:PutObjectRetention",
            "s3:BypassGovernanceRetention",
            "backup:Delete*",
            "fsx:DeleteBackup",
            "ec2:DeleteSnapshot",
        ],
        **spared,
    }


def never_settings(*, region: str, journal: str) -> dict[str, object]:
    """What a run goes by (modes, protections) stands beside its journal, and no run changes it."""
    settings = objects_of(f"{journal.rstrip('/')}/settings", region)
    return {"Sid": "NeverSettings", "Effect": "Deny", "Action": "s3:PutObject*", "Resource": settings}


def never_checkpoints() -> dict[str, object]:
    """Nothing of a stack that keeps checkpoints is touched: its key least of all."""
    return {
        "Sid": "NeverCheckpoints",
        "Effect": "Deny",
        "Action": ["kms:ScheduleKeyDeletion", "kms:DisableKey", "kms:DeleteAlias", "kms:PutKeyPolicy", "iam:Delete*"],
        "Resource": "*",
        "Condition": {"StringLike": {f"aws:ResourceTag/{STACK}": "checkpoints-*"}},
    }


def engine_files(*, region: str, state: str, writes: bool) -> list[dict[str, object]]:
    """The engine's own files; `writes` where it updates a stack, which also locks it and keeps its history."""
    acts = ["s3:GetObject", *(["s3:PutObject", "s3:DeleteObject"] if writes else [])]
    bucket = f"arn:{policies.partition(region)}:s3:::{bucket_of(state)}"
    return [
        {"Sid": "States", "Effect": "Allow", "Action": acts, "Resource": engine_objects(state, region)},
        {"Sid": "StatesListed", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": bucket},
    ]


def secrets_use(key: str) -> list[dict[str, object]]:
    """Read the secrets of a state under a key of KMS."""
    return [{"Sid": "Secrets", "Effect": "Allow", "Action": "kms:Decrypt", "Resource": key}] if key else []


def reads_policy(*, region: str, project: str, state: str, journal: str, secrets_key: str, roles: Sequence[str]) -> str:
    """The identity that looks, empties, tells and writes down; what it changes has the project's tags."""
    arn = f"arn:{policies.partition(region)}"
    own = {"StringEquals": {f"aws:ResourceTag/{PROJECT}": legal(project)}}
    journal_bucket = f"{arn}:s3:::{bucket_of(journal)}"
    return policies.policy(
        [
            {
                "Sid": "Look",
                "Effect": "Allow",
                "Action": [
                    "autoscaling:DescribeAutoScalingGroups",
                    "cloudwatch:GetMetricData",
                    "cloudwatch:ListMetrics",
                    "ec2:DescribeFleetHistory",
                    "ec2:DescribeFleetInstances",
                    "ec2:DescribeInstances",
                    "ec2:DescribeVolumes",
                    "elasticfilesystem:DescribeFileSystems",
                    "fsx:DescribeFileSystems",
                    "sagemaker:DescribeEndpoint",
                    "sagemaker:DescribeNotebookInstance",
                    "sagemaker:ListClusterNodes",
                    "tag:GetResources",
                ],
                "Resource": "*",
            },
            {
                # a key whose deletion is scheduled is not left over
                "Sid": "Keys",
                "Effect": "Allow",
                "Action": "kms:DescribeKey",
                "Resource": f"{arn}:kms:*:*:key/*",
                "Condition": own,
            },
            {
                "Sid": "ToMinimum",
                "Effect": "Allow",
                "Action": [
                    "autoscaling:SetDesiredCapacity",
                    "autoscaling:UpdateAutoScalingGroup",
                    "ec2:ModifyFleet",
                ],
                "Resource": "*",
                "Condition": own,
            },
            {
                "Sid": "Tell",
                "Effect": "Allow",
                "Action": ["sns:ListSubscriptionsByTopic", "sns:Publish"],
                "Resource": f"{arn}:sns:*:*:sizewell-*",
            },
            {
                "Sid": "TellEncrypted",
                "Effect": "Allow",
                "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
                "Resource": f"{arn}:kms:*:*:key/*",
                "Condition": {**own, "StringLike": {"kms:ViaService": "sns.*.amazonaws.com"}},
            },
            {
                "Sid": "Checkpoints",
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": f"{arn}:s3:::sizewell-*/*",
            },
            {
                "Sid": "CheckpointsListed",
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": f"{arn}:s3:::sizewell-*",
            },
            {
                "Sid": "CheckpointsEncrypted",
                "Effect": "Allow",
                "Action": "kms:Decrypt",
                "Resource": f"{arn}:kms:*:*:key/*",
                "Condition": {**own, "StringLike": {"kms:ViaService": "s3.*.amazonaws.com"}},
            },
            *engine_files(region=region, state=state, writes=False),
            {
                "Sid": "Journal",
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:PutObject"],
                "Resource": objects_of(journal, region),
            },
            {"Sid": "JournalListed", "Effect": "Allow", "Action": "s3:ListBucket", "Resource": journal_bucket},
            *secrets_use(secrets_key),
            {"Sid": "Become", "Effect": "Allow", "Action": "sts:AssumeRole", "Resource": list(roles)},
            never_data(region=region),
            never_settings(region=region, journal=journal),
            never_checkpoints(),
        ]
    )


TAGGED_DELETES = (
    "application-autoscaling:DeregisterScalableTarget",
    "autoscaling:DeleteAutoScalingGroup",
    "autoscaling:DeleteScheduledAction",
    "autoscaling:DeleteTags",
    "autoscaling:UpdateAutoScalingGroup",
    "ce:DeleteAnomalyMonitor",
    "ce:DeleteAnomalySubscription",
    "cloudwatch:DeleteAlarms",
    "ec2:Delete*",
    "ec2:DisassociateRouteTable",
    "ec2:RevokeSecurityGroup*",
    "ec2:TerminateInstances",
    "ecr:DeleteRepository",
    "eks:Delete*",
    "eks:DisassociateAccessPolicy",
    "events:DeleteRule",
    "events:RemoveTargets",
    "fsx:CreateBackup",
    "fsx:DeleteDataRepositoryAssociation",
    "fsx:DeleteFileSystem",
    "iam:DeleteInstanceProfile",
    "iam:DeletePolicy",
    "iam:DeleteRole",
    "iam:DeleteRolePolicy",
    "iam:DetachRolePolicy",
    "iam:RemoveRoleFromInstanceProfile",
    "kms:DeleteAlias",
    "kms:RetireGrant",
    "kms:ScheduleKeyDeletion",
    "logs:DeleteLogGroup",
    "sagemaker:Delete*",
    "sagemaker:StopNotebookInstance",
    "scheduler:DeleteScheduleGroup",
    "sns:DeleteTopic",
    "sns:SetTopicAttributes",
    "sqs:DeleteQueue",
    "sqs:SetQueueAttributes",
    "ssm:DeleteDocument",
)
"""What a deployer makes and AWS lets a policy tell by its tags."""
NAMELESS_DELETES = (
    "ce:UpdateCostAllocationTagsStatus",
    "cloudformation:DeleteResource",
    "cloudformation:GetResourceRequestStatus",
    "logs:DeleteLogDelivery",
    "sns:Unsubscribe",
)
"""What AWS authorises as a whole; Cloud Control deletes nothing for which its caller has not the right beside it."""
LOOKS = (
    "application-autoscaling:Describe*",
    "autoscaling:Describe*",
    "cloudwatch:DescribeAlarms",
    "ec2:Describe*",
    "eks:Describe*",
    "events:DescribeRule",
    "events:ListTargetsByRule",
    "fsx:Describe*",
    "iam:Get*",
    "iam:List*",
    "kms:DescribeKey",
    "logs:DescribeLogGroups",
    "sagemaker:Describe*",
    "sagemaker:ListTags",
    "scheduler:Get*",
    "sns:Get*",
    "sqs:GetQueueAttributes",
    "ssm:GetDocument",
)


def deletes_policy(*, region: str, project: str, environment: str, state: str, secrets_key: str) -> str:
    """The identity that destroys what a deployer made in one environment: by the tags that all of it carries, and by
    its name where AWS knows no tags of it.
    """
    arn = f"arn:{policies.partition(region)}"
    tags = {PROJECT: legal(project), ENVIRONMENT: legal(environment)}
    own = {"StringEquals": {f"aws:ResourceTag/{key}": value for key, value in tags.items()}}
    return policies.policy(
        [
            {"Sid": "Look", "Effect": "Allow", "Action": list(LOOKS), "Resource": "*"},
            {"Sid": "Delete", "Effect": "Allow", "Action": list(TAGGED_DELETES), "Resource": "*", "Condition": own},
            *(
                {"Effect": "Allow", "Action": action, "Resource": f"{arn}:{names}"}
                for action, names in (
                    ("budgets:ModifyBudget", "budgets::*:budget/sizewell-*"),
                    # the final backup of a file system, which has no tags before it exists
                    ("fsx:CreateBackup", "fsx:*:*:backup/*"),
                    ("fsx:TagResource", "fsx:*:*:backup/*"),
                    ("kms:DeleteAlias", "kms:*:*:alias/sizewell-*"),
                    ("scheduler:DeleteSchedule", "scheduler:*:*:schedule/sizewell-*/*"),
                )
            ),
            {"Sid": "DeleteNameless", "Effect": "Allow", "Action": list(NAMELESS_DELETES), "Resource": "*"},
            *engine_files(region=region, state=state, writes=True),
            *secrets_use(secrets_key),
            never_data(region=region, state=state),
            never_checkpoints(),
        ]
    )


def becomes(reader: str) -> str:
    """Trust of an identity that deletes: the one that reads may become it, and nobody else."""
    return policies.policy([{"Effect": "Allow", "Principal": {"AWS": reader}, "Action": "sts:AssumeRole"}])


def pull_policy(*, image: str, region: str, logs: str, secret: str) -> str:
    """What ECS does before the container starts: pull the image, open its log, hand the secret over."""
    statements: list[dict[str, object]] = [
        {
            "Sid": "Logs",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": f"arn:{policies.partition(region)}:logs:{region}:*:log-group:{logs}:log-stream:*",
        }
    ]
    if match := _ECR.fullmatch(image):
        repository = (
            f"arn:{policies.partition(region)}:ecr:{match['region']}:{match['account']}:repository/{match['name']}"
        )
        pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        statements += [
            {"Sid": "Login", "Effect": "Allow", "Action": "ecr:GetAuthorizationToken", "Resource": "*"},
            {"Sid": "Pull", "Effect": "Allow", "Action": pull, "Resource": repository},
        ]
    if secret:
        allowed = "secretsmanager:GetSecretValue"
        statements.append({"Sid": "Secret", "Effect": "Allow", "Action": allowed, "Resource": secret})
    return policies.policy(statements)


def start_task_policy(*, task: str, cluster: str, roles: Sequence[str], queue: str) -> str:
    """Start any revision of one task in one cluster with its two roles; say into `queue` what could not be started."""
    return policies.policy(
        [
            {
                "Effect": "Allow",
                "Action": "ecs:RunTask",
                "Resource": f"{task}:*",
                "Condition": {"ArnEquals": {"ecs:cluster": cluster}},
            },
            {
                "Effect": "Allow",
                "Action": "iam:PassRole",
                "Resource": list(roles),
                "Condition": {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            },
            {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": queue},
        ]
    )
