"""Which calls the identities of scheduled teardowns make: the reading one's are read off teardown's own code, the
deleting ones' off CloudFormation's schemas, which say what its own deletion of each type asks for.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from aws_policies import Call, Resource
from aws_reference import action_of, kinds, operation_of, sample_arns

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "src/sizewell/teardown"
LISTED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "teardown_calls.yaml").read_text(encoding="utf-8"))
# What looks and acts; the room `reconcile` runs for a person, with their rights.
LOOKING = ("act", "aws/reads", "aws/writes", "clients", "leftovers", "orphans")
OWN = "sizewell-x"


def calls(role: Any, words: Any) -> list[Call]:
    """Calls of one identity of the component TeardownSchedule."""
    name = role.kind[1]
    if name == "reads":
        return [*_read(role), *_files(role, writes=False)]
    if name.startswith("deletes-"):
        return [*deletions(name.removeprefix("deletes-"), role.plan.project), *_files(role, writes=True)]
    if name == "pull":
        return list(_pulled(role, words))
    return list(_started(role, words))


def deletions(environment: str, project: str) -> list[Call]:
    """What the deletion of each type of resource that a component of ours makes on AWS asks for."""
    facts = {
        "aws:ResourceTag/sizewell-project": project,
        "aws:ResourceTag/sizewell-environment": environment,
        "aws:ResourceTag/sizewell-stack": f"{environment}-aws",
    }
    found = []
    for token, actions in deleting().items():
        for action in actions:
            resources = tuple(Resource(arn=arn, facts=facts) for arn in sample_arns(action, OWN))
            if action in LISTED["final_backup"]:  # the backup has no tags yet; its file system has
                resources = tuple(
                    Resource(arn=arn, facts={} if ":backup/" in arn else facts)
                    for arn in LISTED["final_backup"][action]
                )
            spared = tuple(each for kind in kinds(action) for each in kind.dependent)
            found.append(Call(action=action, resources=resources, spared=spared, source=f"deletion of {token}"))
    return found


@functools.cache
def deleting() -> Mapping[str, tuple[str, ...]]:
    """Type of resource -> actions of its deletion; types that a destroy leaves (they are retained) have none."""
    import cloudformation
    from judged_plans import forms, stacks

    plans = [*stacks(), *forms().values()]
    of: dict[str, tuple[str, ...]] = {}
    for plan in plans:
        if plan.stack.startswith(("checkpoints-", "teardown")):
            continue
        for resource in plan.resources:
            kept = resource.protect or resource.retain_on_delete
            kind = cloudformation.type_of(resource)
            token = kind if resource.type == "aws:cloudcontrol/resource:Resource" else resource.type
            if not resource.type.startswith("aws:") or kept or token in of or token in LISTED["left"]:
                continue
            handlers = cloudformation.schema(kind).get("handlers", {}) if kind in cloudformation.schemas() else {}
            schema = handlers.get("delete", {}).get("permissions") or ()
            stated = LISTED["deletions"].get(resource.type) or [each for each in schema if not _passed_over(each)]
            assert stated or schema, f"nobody says what the deletion of {resource.type} asks for"
            of[token] = (*stated, *(LISTED["cloud_control"] if token == kind else ()))
    return of


def _passed_over(action: str) -> bool:
    """What CloudFormation asks for on its own account: patterns, tags that it sets, services that ours do not use."""
    service, _, name = action.partition(":")
    return (
        "*" in action
        or service in LISTED["passed_over"]["services"]
        or name.startswith(tuple(LISTED["passed_over"]["verbs"]))
        or action in LISTED["passed_over"]["actions"]
    )


def _code(path: Path) -> Iterator[tuple[str, str]]:
    """(service, method) of each call in a file of the form `x.call("service", region, "method", …)`, starred or not."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Tuple) and len(node.elts) == 3:  # ("fsx", "describe_file_systems", "FileSystems")
            listed = [each.value if isinstance(each, ast.Constant) else None for each in node.elts]
            if isinstance(listed[0], str) and str(listed[1]).startswith("describe_"):
                yield listed[0], str(listed[1])
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in ("call", "pages"):
            continue
        first = node.args[:3]
        if first and isinstance(first[0], ast.Starred) and isinstance(first[0].value, ast.Tuple):
            first = first[0].value.elts[:3]
        words = [each.value if isinstance(each, ast.Constant) else None for each in first]
        if len(words) == 3 and isinstance(words[0], str) and isinstance(words[2], str):
            yield words[0], words[2]


def _read(role: Any) -> Iterator[Call]:
    """What a run calls of AWS: measuring, emptying, telling, looking for what is left; the proofs of checkpoints; its
    journal.
    """
    facts = {"aws:ResourceTag/sizewell-project": role.plan.project, "aws:ResourceTag/sizewell-stack": "dev-aws"}
    spared_calls = {
        ("eks", "update_nodegroup_config"),  # a person wakes, with rights of their own
        ("autoscaling", "resume_processes"),
        ("sts", "get_caller_identity"),  # needs no right (docs.aws.amazon.com/STS/latest/APIReference)
    }
    measuring = (ROOM / "telemetry/cloudwatch.py", ROOM / "telemetry/sagemaker.py")
    for path in (*measuring, *(ROOM / f"{name}.py" for name in LOOKING)):
        for service, method in _code(path):
            if (service, method) not in spared_calls:
                action = action_of(service, operation_of(service, method))
                resources = tuple(Resource(arn=arn, facts=facts) for arn in sample_arns(action, OWN))
                spared = tuple(each for kind in kinds(action) for each in kind.dependent)
                yield Call(action=action, resources=resources, spared=spared, source=path.name)
    encrypted = ("kms:Decrypt", "kms:GenerateDataKey")
    for action in encrypted:  # docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
        via = {**facts, "kms:ViaService": "sns.us-east-1.amazonaws.com"}
        yield Call(action=action, resources=_arns("kms", "key/topic", via), source="SNS for a topic under a key")
    for name, action in (
        ("s3:::sizewell-dev-aws-train", "s3:ListBucket"),
        ("s3:::sizewell-dev-aws-train/a", "s3:GetObject"),
    ):
        yield Call(action=action, resources=(Resource(arn=f"arn:aws:{name}"),), source="saves.py")
    via = {
        **facts,
        "aws:ResourceTag/sizewell-stack": "checkpoints-dev-aws",
        "kms:ViaService": "s3.us-east-1.amazonaws.com",
    }
    yield Call(action="kms:Decrypt", resources=_arns("kms", "key/store", via), source="S3 for saves.py")
    bucket, _, prefix = str(role.component.inputs["journal"]).removeprefix("s3://").partition("/")
    for action in ("s3:GetObject", "s3:PutObject"):
        resource = Resource(arn=f"arn:aws:s3:::{bucket}/{prefix}/journal/1.json")
        yield Call(action=action, resources=(resource,), source="journal.py")
    yield Call(action="s3:ListBucket", resources=(Resource(arn=f"arn:aws:s3:::{bucket}"),), source="journal.py")
    for environment in role.component.inputs["environments"]:
        deleter = f"arn:aws:iam::123456789012:role/sizewell-teardown-{role.component.name}-deletes-{environment}"
        yield Call(action="sts:AssumeRole", resources=(Resource(arn=deleter),), source="profiles of the task")


def _files(role: Any, *, writes: bool) -> Iterator[Call]:
    """The engine's own files in a bucket, and the key of the states' secrets."""
    bucket = str(role.component.inputs["state"]).removeprefix("s3://")
    source = LISTED["engine"]["source"]
    for action in LISTED["engine"]["writes" if writes else "reads"]:
        path = "" if action == "s3:ListBucket" else "/.pulumi/stacks/sizewell/dev-aws.json"
        yield Call(action=action, resources=(Resource(arn=f"arn:aws:s3:::{bucket}{path}"),), source=source)
    if key := role.component.inputs.get("secretsKeyArn"):
        yield Call(action="kms:Decrypt", resources=(Resource(arn=str(key)),), source=source)


def _pulled(role: Any, words: Any) -> Iterator[Call]:
    """What ECS calls before a container starts."""
    repository = Resource(arn=words.arn("ecr", "repository/sizewell/teardown"))
    stream = words.arn("logs", f"log-group:/sizewell/{role.plan.stack}/{role.component.name}:log-stream:teardown/x/1")
    for action in LISTED["task"]["calls"]:
        service = action.partition(":")[0]
        on = {"ecr": (repository,), "logs": (Resource(arn=stream),)}[service] if kinds(action) else ()
        yield Call(action=action, resources=on, source=LISTED["task"]["source"])
    if secret := role.component.inputs.get("passphraseSecretArn"):
        action = "secretsmanager:GetSecretValue"
        yield Call(action=action, resources=(Resource(arn=str(secret)),), source=LISTED["task"]["source"])


def _started(role: Any, words: Any) -> Iterator[Call]:
    """What EventBridge Scheduler calls to start the task."""
    source = LISTED["scheduler"]["source"]
    inputs = {resource.type: resource.inputs for resource in role.plan.resources}
    family = inputs["aws:ecs/taskDefinition:TaskDefinition"]["family"]
    cluster = words.arn("ecs", f"cluster/{inputs['aws:ecs/cluster:Cluster']['name']}")
    task = Resource(arn=words.arn("ecs", f"task-definition/{family}:7"), facts={"ecs:cluster": cluster})
    yield Call(action="ecs:RunTask", resources=(task,), spared=("iam:PassRole",), source=source)
    for name in ("pull", "reads"):
        passed = f"arn:aws:iam::123456789012:role/sizewell-{role.plan.stack}-{role.component.name}-{name}"
        facts = {"iam:PassedToService": "ecs-tasks.amazonaws.com"}
        yield Call(action="iam:PassRole", resources=(Resource(arn=passed),), facts=facts, source=source)
    queue = words.arn("sqs", str(inputs["aws:sqs/queue:Queue"]["name"]))
    yield Call(action="sqs:SendMessage", resources=(Resource(arn=queue),), source=source)
    yield from words.of("message-key")


def _arns(service: str, path: str, facts: Mapping[str, str]) -> tuple[Resource, ...]:
    return (Resource(arn=f"arn:aws:{service}:us-east-1:123456789012:{path}", facts=facts),)
