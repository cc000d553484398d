"""The tools over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import anyio
import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from sizewell.agents.answering import answer
from sizewell.agents.calls import Caller
from sizewell.agents.projects import Line
from sizewell.agents.tools import TOOLS, described

AT_ONCE: Final = 4
INSTRUCTIONS: Final = (
    "Sizewell sizes AI workloads, and prices and checks the Pulumi stacks that run them. None of the tools changes a "
    "cloud or a file of the project. Begin with project. From a workload to a stack: new_spec, validate_spec, size, "
    "then preview and policy with `changes` until policy passes; then write the texts into the project and run "
    "`sizewell size --stack STACK` there. A refusal names path, value and fix. What is too long is cut; `cut` has the "
    "paths to ask for."
)


def served(call: Caller, exits: Mapping[int, str]) -> Server[Any]:
    """The server of a project's tools."""
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        reads = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.what, input_schema=described(tool), annotations=reads)
                for tool in TOOLS
            ]
        )

    async def called(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        once = call.once()
        do = partial(answer, once, exits, params.name, params.arguments or {})
        try:
            done = await run_sync(do, limiter=limit, abandon_on_cancel=True)
        finally:  # when a client cancels as well
            once.end()
        return types.CallToolResult(content=[types.TextContent(type="text", text=done.text)], is_error=done.failed)

    return Server(
        "sizewell", version=version("sizewell"), instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )


def serve(call: Caller, exits: Mapping[int, str]) -> None:
    """Serve until the client closes standard input, or a signal ends it."""

    def leave(number: int, _frame: Any) -> None:
        call.leave()
        os._exit(128 + number)  # the thread that reads standard input cannot be ended

    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), leave)

    async def main() -> None:
        server = served(call, exits)
        async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
            # The first call finds everything loaded; `docs` is the smallest.
            tasks.start_soon(partial(run_sync, call, Line(words=["docs", "--json"]), abandon_on_cancel=True))
            await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    try:
        anyio.run(main)
    finally:
        call.leave()
