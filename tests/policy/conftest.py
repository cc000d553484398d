import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
# Checkov and the plans that it judges, for the mutants that no rule of ours notices.
sys.path[:0] = [str(TESTS / one) for one in ("scanner", "components", "components/aws", "components/gcp")]
