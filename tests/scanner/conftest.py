import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent
# This folder's modules, and the components' forms, which their own tests write down.
sys.path[:0] = [str(one) for one in (HERE, TESTS / "components", TESTS / "components/aws", TESTS / "components/gcp")]
