import sys
from pathlib import Path

HERE = Path(__file__).parent
# This folder's modules, and Checkov with the plans that it judges, for the mutants that no rule of ours notices.
sys.path[:0] = [str(HERE), str(HERE.parent / "scanner")]
