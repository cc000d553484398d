import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "aws")]  # decisions.py, stacks_recording.py, aws_recording.py
