import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent
sys.path[:0] = [str(HERE), *(str(TESTS / room) for room in ("scanner", "components", "components/aws", "rights"))]
sys.path += [str(TESTS / "components" / cloud) for cloud in ("gcp", "azure")]
