"""Plans that the engine wrote: `pulumi preview --json` and `pulumi stack export`."""

from __future__ import annotations

from preview.sources.files import PreviewFile, read_plan_file, read_preview, read_state

__all__ = ["PreviewFile", "read_plan_file", "read_preview", "read_state"]
