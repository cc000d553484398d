"""What a policy process knows before its rules are loaded; the adapter fills it in, the session judges by it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sizewell.policy.announcement import Announcement
from sizewell.policy.config import Config
from sizewell.policy.decisions import read_decision
from sizewell.sizing.records.stackname import ENVIRONMENT_KEY, environment_of


@dataclass(slots=True, kw_only=True)
class Opening:
    """What is known before the rules are: what was said of them, what the engine said, and the session to come."""

    said: Sequence[Announcement]
    config: Config
    project: str = ""
    stack: str = ""
    decisions: Path | None = None  # the folder of committed decisions, where the project has one
    settings: Mapping[str, str] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)  # as they were announced
    stated: Mapping[str, Any] = field(default_factory=dict)  # the protocol's PolicyConfig by rule
    heard: threading.Event = field(default_factory=threading.Event)  # the engine has all that it waits for
    session: futures.Future[Any] = field(default_factory=futures.Future)

    def environment(self) -> str:
        """What the stack's configuration, its name or its committed decision says, in this order; "" for none."""
        stated = environment_of(self.stack, str(self.settings.get(ENVIRONMENT_KEY) or ""))
        return stated or str((read_decision(self.decisions, self.stack) or {}).get("environment", ""))
