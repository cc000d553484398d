"""A client of the SDK that speaks to `sizewell mcp` over its standard input and output, as an agent's does."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

# More than a model's tokenizer makes of JSON, as a rule: up to six letters, three figures or two signs each.
TOKEN = re.compile(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]{1,2}")
TOKENS_MAX = 4_000


@dataclass(frozen=True)
class Reply:
    text: str
    failed: bool
    seconds: float

    @property
    def data(self) -> dict[str, Any]:
        return dict(json.loads(self.text))

    @property
    def tokens(self) -> int:
        return len(TOKEN.findall(self.text))


@dataclass(frozen=True)
class Client:
    portal: BlockingPortal
    session: ClientSession

    def ask(self, tool: str, **arguments: Any) -> Reply:
        begun = time.monotonic()
        result = self.portal.call(self.session.call_tool, tool, arguments)
        (content,) = result.content
        reply = Reply(content.text, bool(result.is_error), time.monotonic() - begun)
        assert reply.tokens < TOKENS_MAX, f"{tool} {arguments}: {reply.tokens} tokens"
        return reply


def _nobody() -> dict[str, str]:
    """This process's environment without logins to clouds, which other tests may have set."""
    logins = ("AWS_", "GOOGLE_", "AZURE_", "ARM_")
    return {name: value for name, value in os.environ.items() if not name.startswith(logins)}


@contextlib.asynccontextmanager
async def session(folder: Path, environment: dict[str, str]) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "sizewell", "mcp", "-q"], cwd=folder, env={**_nobody(), **environment}
    )
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as made:
        await made.initialize()
        yield made


@contextlib.contextmanager
def connected(folder: Path, environment: dict[str, str]) -> Iterator[Client]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(session(folder, environment)) as made:
        yield Client(portal, made)
