"""The entry point of a RayJob: the line of `SIZEWELL_LINE` on every machine of the Ray cluster, all at once.

`python ray_start.py --nodes 4`. Waits until so many machines are there, gives each a number and the first one's address
(`SIZEWELL_NODE`, `SIZEWELL_NODES`, `SIZEWELL_COORDINATOR`), and ends with the worst exit code. What a line prints
appears in the job's log.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any


def machines(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ray's nodes that carry work: alive and with CPUs, the head has none; by address, so that numbers stay.

    >>> machines([{"Alive": True, "NodeID": "h", "NodeManagerAddress": "10.0.0.1", "Resources": {}},
    ...     {"Alive": True, "NodeID": "w", "NodeManagerAddress": "10.0.0.2", "Resources": {"CPU": 8}}])[0]["NodeID"]
    'w'
    """
    able = [one for one in nodes if one["Alive"] and one["Resources"].get("CPU")]
    return sorted(able, key=lambda one: [int(part) for part in one["NodeManagerAddress"].split(".")])


def variables(number: int, nodes: int, first: str, port: int) -> dict[str, str]:
    """What one machine's line is told of the others."""
    where = {"SIZEWELL_NODE": number, "SIZEWELL_NODES": nodes, "SIZEWELL_COORDINATOR": f"{first}:{port}"}
    return {key: str(value) for key, value in where.items()}


def run(line: list[str], env: dict[str, str]) -> int:
    """The line, on the machine that Ray put this task on."""
    return subprocess.run(line, env={**os.environ, **env}, check=False).returncode


def main() -> int:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    parser = argparse.ArgumentParser(description="start a line on every machine of the Ray cluster")
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--port", type=int, default=29500)
    parser.add_argument("--wait", type=float, default=1800.0)
    args = parser.parse_args()
    line = json.loads(os.environ["SIZEWELL_LINE"])
    ray.init(address="auto")
    until = time.monotonic() + args.wait
    while len(found := machines(ray.nodes())) < args.nodes:
        if time.monotonic() > until:
            print(f"{len(found)} of {args.nodes} machines came", flush=True)
            return 69
        time.sleep(2)
    found = found[: args.nodes]
    first = found[0]["NodeManagerAddress"]
    tasks = []
    for number, one in enumerate(found):
        place = NodeAffinitySchedulingStrategy(node_id=one["NodeID"], soft=False)
        gpus = one["Resources"].get("GPU", 0)
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(run).options(scheduling_strategy=place)
        tasks.append(task.remote(line, variables(number, args.nodes, first, args.port)))
    codes: list[int] = []
    while tasks:
        done, tasks = ray.wait(tasks, num_returns=1)
        codes += ray.get(done)
        if codes[-1] != 0:  # the others wait for a peer that will not come
            for task in tasks:
                ray.cancel(task, force=True)
            break
    return max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main())
