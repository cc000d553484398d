"""Nimbus, reading only: what it has is in a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from sizewell.clouds.calls import Deadline, Timeouts


class Nimbus:
    """Answers out of the JSON file that `NIMBUS` names."""

    cloud: Final = "nimbus"

    def __init__(self, deadline: Deadline, *, timeouts: Timeouts | None = None) -> None:
        self.deadline, self.timeouts = deadline, timeouts or Timeouts()

    def groups(self) -> dict[str, Any]:
        """Size and samples of each group, by its id."""
        groups: dict[str, Any] = json.loads(Path(os.environ["NIMBUS"]).read_text())
        return groups

    def resize(self, group: str, size: int) -> None:
        """Change the size of a group."""
        groups = self.groups()
        groups[group]["size"] = size
        Path(os.environ["NIMBUS"]).write_text(json.dumps(groups))
