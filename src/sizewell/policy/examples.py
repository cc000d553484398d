"""Facts for the examples in the rules' docstrings: harmless unless a field says otherwise."""

from __future__ import annotations

from typing import Any

from sizewell.resources.graph import Graph
from sizewell.resources.recorded import Plan, RecordedResource
from sizewell.resources.stackfacts import (
    Cluster,
    Disk,
    Endpoint,
    Grant,
    Job,
    Notebook,
    Opening,
    Pods,
    Pool,
    Purchase,
    StackFacts,
    Store,
    Thing,
)
from sizewell.resources.values import cloud_of


def resource(
    type: str = "aws:ec2/instance:Instance",  # noqa: A002  (the token's name in a plan)
    name: str = "example",
    inputs: dict[str, Any] | None = None,
    **options: Any,
) -> RecordedResource:
    urn = options.pop("urn", f"urn:pulumi:dev::example::{type}::{name}")
    return RecordedResource(urn=urn, type=type, name=name, inputs=inputs or {}, **options)


def _fact(fields: dict[str, Any]) -> dict[str, Any]:
    of_resource = ("type", "name", "inputs", "protect", "retain_on_delete", "ignore_changes", "provider")
    inner = {key: fields.pop(key) for key in of_resource if key in fields}
    made = resource(**inner)
    return {"resource": made, "cloud": cloud_of(made.type), "region": "us-east-1", "tags": {}, **fields}


def pool(**fields: Any) -> Pool:
    return Pool(**_fact(fields))


def store(**fields: Any) -> Store:
    return Store(**_fact({"type": "aws:s3/bucket:Bucket", **fields}))


def thing(**fields: Any) -> Thing:
    return Thing(**_fact(fields))


def disk(**fields: Any) -> Disk:
    return Disk(**_fact(fields))


def opening(**fields: Any) -> Opening:
    return Opening(**_fact(fields))


def grant(**fields: Any) -> Grant:
    return Grant(**_fact(fields))


def endpoint(**fields: Any) -> Endpoint:
    return Endpoint(**_fact(fields))


def notebook(**fields: Any) -> Notebook:
    return Notebook(**_fact(fields))


def cluster(**fields: Any) -> Cluster:
    return Cluster(**_fact(fields))


def job(**fields: Any) -> Job:
    return Job(**_fact(fields))


def pods(**fields: Any) -> Pods:
    return Pods(**_fact({"type": "kubernetes:core/v1:Pod", "cloud": "kubernetes", **fields}))


def purchase(**fields: Any) -> Purchase:
    return Purchase(**_fact(fields))


def stack(*resources: RecordedResource, **fields: Any) -> StackFacts:
    plan = Plan(project="example", stack=fields.get("stack", "dev"), resources=resources)
    return StackFacts(**{"graph": Graph(plan), "project": "example", "stack": "dev", "environment": "dev", **fields})
