import socket
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE),
    *(str(HERE.parent / name) for name in ("components", "scanner")),
]  # launch_cases.py and others


@pytest.fixture
def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]
