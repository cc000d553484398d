"""Start one process per device of this machine: `python spawn.py --processes 8 train_fsdp.py --steps 1000`.

Sets the variables that torchrun sets. SIGTERM goes on to the processes, which save and end; this waits for them as long
as the machine allows (SIZEWELL_GRACE_S), where torchrun kills after 30 s. As soon as one process fails, the others are
ended: they would wait for it for ever. The exit code is that of the first that failed, 75 where any was told to end, 76
where its time is up.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

WRONG_INPUT, AGAIN, OVER = 64, 75, 76


def main(argv: Sequence[str] | None = None) -> int:
    """Start the processes, wait, and say how it ended."""
    parser = argparse.ArgumentParser(prog="spawn.py", description="Start one process per device of this machine.")
    parser.add_argument("--processes", type=int, default=int(os.environ.get("SIZEWELL_PROCESSES", "1")))
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(argv)
    variables = dict(os.environ)
    nodes = int(variables.get("SIZEWELL_NODES", "1"))
    node = int(
        variables.get("SIZEWELL_NODE") or variables.get("JOB_COMPLETION_INDEX") or variables.get("SLURM_NODEID") or "0"
    )
    host, _, port = variables.get("SIZEWELL_COORDINATOR", "127.0.0.1:29500").rpartition(":")
    if given.processes < 1 or not 0 <= node < nodes or not host or not port.isdigit():
        print(
            f"spawn.py: {given.processes} processes on machine {node} of {nodes}, coordinator {host}:{port}: cannot be",
            file=sys.stderr,
        )
        return WRONG_INPUT
    grace_s = float(variables.get("SIZEWELL_GRACE_S", "30"))
    processes = []
    for local in range(given.processes):
        env = variables | {
            "RANK": str(node * given.processes + local),
            "WORLD_SIZE": str(nodes * given.processes),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(given.processes),
            "MASTER_ADDR": host,
            "MASTER_PORT": port,
        }
        processes.append(subprocess.Popen([sys.executable, given.script, *given.arguments], env=env))

    told: list[float] = []

    def tell(*_: object) -> None:
        told.append(time.monotonic())
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)

    signal.signal(signal.SIGTERM, tell)
    signal.signal(signal.SIGINT, tell)
    ended: list[int] = []
    while len(ended) < len(processes):
        ended = [code for code in (process.poll() for process in processes) if code is not None]
        if any(code not in (0, AGAIN, OVER) for code in ended) or (told and time.monotonic() - told[0] > grace_s):
            break
        time.sleep(0.1)
    failed = next((code for code in ended if code not in (0, AGAIN, OVER)), None)
    _end([process for process in processes if process.poll() is None])
    if failed is not None:
        return failed if failed > 0 else 128 - failed
    if OVER in ended:
        return OVER
    return AGAIN if told or AGAIN in ended else 0


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End what is left: asked once, then killed. A process that waits for a lost peer hears neither."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + 2
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
