"""What all components share: whose they are, and what they register about themselves."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict, TypeVar, cast

import pulumi

from sizewell.components.tags import physical_name, tags
from sizewell.sizing.records.registration import REGISTRATION_KEY, Registration


class OwnedArgs(TypedDict):
    """Arguments that every component takes."""

    environment: str
    """dev, staging or prod: prod turns the cloud's own deletion protection on."""
    owner: str
    """The team that pays."""
    cost_center: NotRequired[str]
    """The account that is charged."""
    expires: NotRequired[str]
    """ISO date after which a sweep may take it down."""
    facts: NotRequired[dict[str, Any]]
    """What the caller knows and the resources cannot say (expected hours, the decision's digest); registered as is."""


class GuardArgs(TypedDict):
    """When the pool counts as idle, and what then."""

    signal: str
    """accelerator_utilization or requests."""
    min_utilization_percent: float
    """Below this on every accelerator the pool is idle."""
    window_s: int
    """For how long."""
    grace_s: int
    """How long after the notice the machines are stopped."""
    action: str
    """scale-to-zero or notify."""


class WindowArgs(TypedDict):
    """Hours in which machines may run."""

    days: str
    """mon-fri, or sat,sun."""
    start: str
    """07:00"""
    end: str
    """21:00"""


class ScheduleArgs(TypedDict):
    """Working hours; outside of them the pool is at zero."""

    time_zone: str
    """IANA name, as Europe/London."""
    windows: list[WindowArgs]
    """Hours in which machines may run."""


A = TypeVar("A")


def assemble(shape: type[A], *parts: Mapping[str, Any]) -> A:  # noqa: ARG001  (for the type alone)
    """The arguments of one component out of what several hands know of it; of two values for a key the later counts.

    No type checker can follow keys through mappings, so the component's own check is what refuses unknown and missing
    ones, by name and with the way out.
    """
    return cast("A", {key: value for part in parts for key, value in part.items()})


class Owned(pulumi.ComponentResource):
    """A component that tags its children and registers its arguments in the plan's own camelCase spelling."""

    def __init__(
        self,
        token: str,
        name: str,
        args: OwnedArgs,
        statement: Registration,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        self._args = args
        inputs = {camel(key): _camel_keys(value) for key, value in args.items() if key != "facts"}
        super().__init__(token, name, {**inputs, REGISTRATION_KEY: registration(args, statement)}, opts)

    def tags_of(self, resource: type[pulumi.CustomResource], name: str) -> dict[str, str]:
        return tags(
            project=pulumi.get_project(),
            stack=pulumi.get_stack(),
            type_token=resource.pulumi_type,  # type: ignore[attr-defined]
            name=name,
            environment=self._args["environment"],
            owner=self._args["owner"],
            cost_center=self._args.get("cost_center", ""),
            expires=self._args.get("expires", ""),
        )

    def physical(self, name: str, limit: int) -> str:
        return physical_name("sizewell", pulumi.get_stack(), name, limit=limit)

    def child(self, **options: Any) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, **options)


def registration(args: OwnedArgs, statement: Registration) -> Registration:
    """The component's record: what it says itself, then what its caller knows beyond that; empty values left out."""
    record: dict[str, Any] = {
        **statement,
        "environment": args["environment"],
        "owner": args["owner"],
        "costCenter": args.get("cost_center", ""),
        "expires": args.get("expires", ""),
        "guard": args.get("guard"),  # as it is built: stopping prepaid capacity saves nothing, so there it notifies
        **args.get("facts", {}),
    }
    return {key: value for key, value in record.items() if value not in ("", None)}  # type: ignore[return-value]


def camel(name: str) -> str:
    """The spelling of a Python name in a plan.

    >>> camel("nodes_min")
    'nodesMin'
    """
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _camel_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {camel(key): _camel_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_camel_keys(item) for item in value]
    return value
