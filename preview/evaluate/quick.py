"""What of the SDK's own work an evaluation leaves out or does once: a plan is the same with it and without.

Half the time of a registration goes to what only an engine reads, and most of the rest to asyncio: five futures for
each property of each resource, and waiting for a thousand of them one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import pulumi
from pulumi.output import _OutputData
from pulumi.runtime import resource as pulumi_resource
from pulumi.runtime import rpc as pulumi_rpc
from pulumi.runtime import stack as pulumi_stack
from pulumi.runtime.proto import source_pb2

_frozen = {"modules": 0}  # how many modules were loaded when the heap was last frozen


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Without stack traces, debug messages and garbage collection: a program's objects live until it ends anyway."""
    collecting = gc.isenabled()
    gc.disable()
    earlier = [(module, name, getattr(module, name)) for module, name, _ in _INSTEAD]
    for module, name, ours in _INSTEAD:
        setattr(module, name, ours)
    try:
        yield
    finally:
        for module, name, theirs in earlier:
            setattr(module, name, theirs)
        if len(sys.modules) > _frozen["modules"] + 50:
            gc.freeze()  # provider modules are a million objects that stay: no collection need look at them again
            _frozen["modules"] = len(sys.modules)
        if collecting:
            gc.enable()


def _transfer(resource: Any, properties: Iterable[str], custom: bool) -> dict[str, Callable[..., None]]:
    """An output for each property and what resolves it: one future each, where the SDK makes four and a task."""
    resolvers: dict[str, Callable[..., None]] = {}
    for name in properties:
        if name == "urn" or (name == "id" and custom):
            continue
        future: asyncio.Future[Any] = asyncio.Future()
        resolvers[name] = _resolver(resource, future)
        resource.__dict__[name] = pulumi.Output._from_data(future)  # noqa: SLF001
    return resolvers


def _resolver(resource: Any, future: asyncio.Future[Any]) -> Callable[..., None]:
    def resolve(
        value: Any, is_known: bool, is_secret: bool, deps: Collection[Any] | None, failed: Exception | None
    ) -> None:
        if failed is not None:
            future.set_exception(failed)
            return
        of = {*(deps or ()), resource}
        future.set_result(_OutputData(resources=of, value=value, is_known=is_known, is_secret=is_secret))

    return resolve


class Unlike(Exception):  # noqa: N818 - a signal to the evaluation, which tells the cause
    """The SDK could not read what a resource answers as its outputs."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def _resolve_outputs(resource: Any, *arguments: Any, **named: Any) -> None:
    """The SDK's own, with a failure that says whose outputs they were, however far it is handed on."""
    try:
        _RESOLVE(resource, *arguments, **named)
    except (AssertionError, ValueError, TypeError) as error:
        raise Unlike(resource._name) from error  # noqa: SLF001


async def _wait(tasks: Collection[asyncio.Future[Any]], **_: Any) -> tuple[set[Any], set[Any]]:
    """Until all are done or one failed; the SDK asks for the first, puts the others back and asks again."""
    return await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)


_RESOLVE: Final = pulumi_rpc.resolve_outputs
_INSTEAD: Final[tuple[tuple[Any, str, Any], ...]] = (
    (pulumi_resource, "_get_stack_trace", source_pb2.StackTrace),
    (pulumi.log, "debug", lambda *_, **__: None),
    (pulumi_rpc, "transfer_properties", _transfer),
    (pulumi_rpc, "resolve_outputs", _resolve_outputs),
    (pulumi_stack, "asyncio", SimpleNamespace(**{**vars(asyncio), "wait": _wait})),
)
