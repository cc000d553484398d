import sys
from pathlib import Path

sys.path[:0] = [
    str(Path(__file__).parent),
    str(Path(__file__).parents[1] / "aws"),
    str(Path(__file__).parents[2] / "launch"),
]  # gcp_recording.py, aws_recording.py, judging.py
