"""Running a program on the SDK without an engine: settings, transforms and the messages of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Final

import pulumi
from pulumi.runtime import settings
from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.config import set_all_config
from pulumi.runtime.proto import engine_pb2, provider_pb2, resource_pb2
from pulumi.runtime.stack import run_in_stack

__all__ = [
    "FOLDER",
    "Callbacks",
    "calls_the_monitor",
    "configure",
    "engine_pb2",
    "provider_pb2",
    "read_answer",
    "resource_pb2",
    "run",
]

FOLDER: Final = str(Path(pulumi.__file__).parent)  # where the SDK's own lines are, in a traceback


class Callbacks(_CallbackServicer):
    """The SDK's registry of transforms without the gRPC server in front of it.

    Its own constructor starts that server, so it is not called: every attribute that the methods inherited from it
    read is set here. A release that reads another one fails the contract test.
    """

    def __init__(self, monitor: Any) -> None:
        self._callbacks: dict[str, Callable[[bytes], Awaitable[object]]] = {}
        self._transforms: dict[Any, str] = {}
        self._state_migrations: dict[Any, str] = {}
        self._monitor: Any = monitor  # has what is called of the stub
        self._target = "in-process"

    @property
    def in_use(self) -> bool:
        return bool(self._callbacks)

    def call(self, loop: asyncio.AbstractEventLoop, token: str, request: bytes) -> Any:
        """Run a callback on the program's loop, from a worker thread, and wait for it."""

        async def called() -> object:
            return await self._callbacks[token](request)

        return asyncio.run_coroutine_threadsafe(called(), loop).result()


def configure(
    *,
    project: str,
    stack: str,
    organization: str,
    root: Path,
    monitor: object,
    engine: object,
    callbacks: Callbacks,
    config: Mapping[str, str],
    secret_keys: Collection[str],
) -> None:
    """Make this thread's SDK talk to `monitor` and `engine`, as in a preview.

    The settings belong to the context of the thread: call it on a new one, so that nothing of another program is left.
    """
    settings.configure(
        settings.Settings(
            project=project,
            stack=stack,
            monitor=monitor,
            engine=engine,
            dry_run=True,
            organization=organization,
            root_directory=str(root),
        )
    )
    settings.ROOT.set(None)
    settings.SETTINGS.callbacks = callbacks  # the SDK makes its own, with a server, where there are none
    set_all_config(dict(config), list(secret_keys))


async def run(program: Callable[[], Any]) -> None:
    """The program, until everything that it registered is done."""
    await run_in_stack(program)


def calls_the_monitor(function: Callable[..., object]) -> bool:
    """Whether the SDK asks its loop to run a call of the monitor, and not something of the program's own."""
    return getattr(function, "__module__", "") == "pulumi.runtime._context"


def read_answer(urn: str, resource_id: str) -> resource_pb2.ReadResourceResponse:
    """The answer to a read of which nothing but the id is known. The field `id` came with SDK 3.271."""
    answer = resource_pb2.ReadResourceResponse(urn=urn)
    if "id" in answer.DESCRIPTOR.fields_by_name:
        answer.id = resource_id
    return answer
