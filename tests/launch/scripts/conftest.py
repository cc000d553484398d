"""The entry scripts stand on their own, as in a container: their folder is on the path, and nothing of Sizewell is needed."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in (Path(__file__).parents[3] / "src/sizewell/launch/scripts", Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
