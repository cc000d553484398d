"""Plans that the engine wrote: `pulumi preview --json` and `pulumi stack export`."""

from __future__ import annotations

from sizewell.recording.sources.files import PreviewFile, read_plan_file, read_preview, read_state
from sizewell.recording.sources.state import PendingOperation, State, StateResource, read_full_state

__all__ = [
    "PendingOperation",
    "PreviewFile",
    "State",
    "StateResource",
    "read_full_state",
    "read_plan_file",
    "read_preview",
    "read_state",
]
