import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent
sys.path[:0] = [
    str(HERE),
    str(TESTS / "scanner"),
    str(TESTS / "judges"),
    str(TESTS / "components"),
    str(TESTS / "components" / "aws"),
]
sys.path += [str(TESTS / "components" / cloud) for cloud in ("gcp", "azure")]
