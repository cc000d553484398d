"""Outputs of resources that cost little until a program looks at them.

A resource has an output for each of its properties, sixty of them on a machine, and a program looks at two. The SDK
makes futures, tasks and callbacks for all of them; here an output keeps what it was told, and is a future from when it
is first awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import pulumi
from pulumi.output import _OutputData
from pulumi.runtime import resource as pulumi_resource
from pulumi.runtime import rpc as pulumi_rpc

Resolver = Callable[[object, bool, bool, "Collection[Any] | None", "Exception | None"], None]

_CREATE_URN: Final = pulumi_resource.create_urn


class Property(pulumi.Output[object]):
    """The output of a resource's property; `_tell` says what it is, once.

    Its names begin with an underscore because all others are taken for fields of the value.
    """

    def __init__(self, resource: object) -> None:
        self._resource = resource
        self._told: tuple[object, ...] = ()

    @cached_property
    def _data(self) -> asyncio.Future[object]:  # type: ignore[override]  # made when first asked for: that is the point
        future: asyncio.Future[object] = asyncio.Future()
        if self._told:
            self._settle(future, *self._told)
        return future

    def _tell(
        self, value: object, is_known: bool, is_secret: bool, deps: Collection[object] | None, failed: Exception | None
    ) -> None:
        """As the SDK's resolvers: the value and what is known of it, resources beside its own, or a failure."""
        self._told = (value, is_known, is_secret, deps, failed)
        future = self.__dict__.get("_data")
        if future is not None:
            self._settle(future, *self._told)

    def _settle(self, future: asyncio.Future[Any], *told: Any) -> None:
        value, is_known, is_secret, deps, failed = told
        if failed is not None:
            future.set_exception(failed)
            return
        of = {self._resource, *(deps or ())} - {None}
        future.set_result(_OutputData(resources=of, value=value, is_known=is_known, is_secret=is_secret))


def transfer_properties(resource: object, properties: Iterable[str], custom: bool) -> dict[str, Resolver]:
    """An output for each property, in the resource, and what resolves it."""
    resolvers: dict[str, Resolver] = {}
    outputs = resource.__dict__
    for name in properties:
        if name == "urn" or (name == "id" and custom):
            continue
        outputs[name] = output = Property(resource)
        resolvers[name] = output._tell  # noqa: SLF001
    return resolvers


def resolve_properties(
    resolvers: Mapping[str, Resolver],
    properties: Mapping[str, object],
    deps: Mapping[str, Collection[object]],
    custom: bool,
    _: bool = False,
) -> None:
    """As the SDK does in a preview: what came back is known, all else is not."""
    for name, resolve in resolvers.items():
        if name == "urn" or (name == "id" and custom):
            continue
        value = properties.get(name)
        if value is None:
            resolve(None, False, False, deps.get(name), None)
            continue
        secret = pulumi_rpc.is_rpc_secret(value)
        plain = pulumi_rpc.unwrap_rpc_secret(value) if secret else value
        resolve(plain, plain is not None, secret, deps.get(name), None)


def create_urn(name: Any, type_: Any, parent: Any = None, project: Any = None, stack: Any = None) -> object:
    """A URN of plain parts without the outputs of outputs that the SDK joins it from; it asks for one each resource."""
    if not (type(name) is type(type_) is type(parent) is str and project is stack is None):
        return _CREATE_URN(name, type_, parent, project, stack)
    output = Property(None)
    output._tell(f"{parent[: parent.rfind('::')]}${type_}::{name}", True, False, None, None)  # noqa: SLF001
    return output
