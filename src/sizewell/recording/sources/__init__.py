"""Plans that the engine wrote: `pulumi preview --json`, `pulumi preview --save-plan` and `pulumi stack export`."""

from __future__ import annotations

from pathlib import Path

from sizewell.recording.sources.files import PreviewFile, foreign, opened, read_preview, read_state
from sizewell.recording.sources.state import PendingOperation, State, StateResource, read_full_state
from sizewell.recording.sources.update_plan import read_update_plan
from sizewell.resources.recorded import Plan

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


def read_plan_file(path: Path, state: Plan | None = None) -> PreviewFile | Plan:
    """Any of the three kinds of file, told apart by what is in it; `state` is what stands, which one of them lacks."""
    seen = set()
    with opened(path) as stream:
        for key in stream.members():
            if key in {"steps", "diagnostics"}:  # a preview that failed has no steps
                return read_preview(path)
            if key == "deployment":
                return read_state(path)
            if key == "resourcePlans":
                return read_update_plan(path, state)
            seen.add(key)
            stream.value()
    terraform = seen & {"terraform_version", "planned_values", "resource_changes"}
    raise foreign(path, "it is Terraform's" if terraform else "it has no `steps`, `deployment` or `resourcePlans`")
