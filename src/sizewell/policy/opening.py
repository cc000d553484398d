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
