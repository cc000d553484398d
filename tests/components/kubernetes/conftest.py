import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
sys.path[:0] = [str(HERE / "gcp"), str(HERE / "aws"), str(HERE), str(HERE.parent / "launch")]  # recordings, cases
