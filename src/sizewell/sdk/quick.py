"""What of the SDK's own work an evaluation leaves out or does once: a plan is the same with it and without.

Half the time of a registration goes to what only an engine reads, and most of the rest to asyncio: five futures for
each property of each resource, and waiting for a thousand of them one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, Final

import pulumi
from pulumi.runtime import resource as pulumi_resource
from pulumi.runtime import rpc as pulumi_rpc
from pulumi.runtime import stack as pulumi_stack
from pulumi.runtime.proto import source_pb2

from sizewell.sdk import outputs, stand_ins

_frozen = {"modules": 0}  # how many modules were loaded when the heap was last frozen


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Without debug messages and garbage collection (a program's objects live until it ends), with short traces."""
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


async def _serialize_properties(inputs: Any, *arguments: Any, **named: Any) -> object:
    """The SDK's own, without inputs that are not stated: it serializes each of them to leave it out after that."""
    # Not `inputs.items()`: a mapping of inputs may have an input of that name.
    return await _SERIALIZE({key: inputs[key] for key in inputs if inputs[key] is not None}, *arguments, **named)


def _stack_trace() -> source_pb2.StackTrace:
    """The SDK's own without the text of the lines, and with files as they are called, not as addresses."""
    trace = source_pb2.StackTrace()
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None:
        name = frame.f_code.co_filename
        if "site-packages" not in name and not name.startswith(_STANDARD):
            trace.frames.add(pc=source_pb2.SourcePosition(uri=name, line=frame.f_lineno))
        frame = frame.f_back
    return trace


_STANDARD: Final = (str(Path(contextlib.__file__).parent), "<")


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


async def _wait(tasks: Collection[asyncio.Future[Any]], **_: object) -> tuple[set[Any], set[object]]:
    """Until all are done or one failed; the SDK asks for the first, puts the others back and asks again."""
    return await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)


_RESOLVE: Final = pulumi_rpc.resolve_outputs
_SERIALIZE: Final = pulumi_rpc.serialize_properties
_INSTEAD: Final[tuple[tuple[object, str, object], ...]] = (
    (pulumi_resource, "_get_stack_trace", _stack_trace),
    (pulumi.log, "debug", lambda *_, **__: None),
    (pulumi_resource, "create_urn", outputs.create_urn),
    (pulumi_rpc, "transfer_properties", outputs.transfer_properties),
    (pulumi_rpc, "resolve_properties", outputs.resolve_properties),
    (pulumi_rpc, "resolve_outputs", _resolve_outputs),
    (pulumi_rpc, "serialize_properties", _serialize_properties),
    *stand_ins.INSTEAD,
    (pulumi_stack, "asyncio", SimpleNamespace(**{**vars(asyncio), "wait": _wait})),
)
