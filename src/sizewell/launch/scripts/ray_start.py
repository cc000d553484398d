"""The entry point of a RayJob: the line of `SIZEWELL_LINE` on every machine of the Ray cluster, all at once.

`python ray_start.py --nodes 4`. Waits until so many machines are there, gives each a number and the first one's address
(`SIZEWELL_NODE`, `SIZEWELL_NODES`, `SIZEWELL_COORDINATOR`), and ends with the worst exit code. What a line prints
appears in the job's log.

KubeRay repeats a job that failed, whatever its exit code was, and leaves one alone that was stopped. So a line that no
repetition mends (64) or whose time is up (76, 124) stops the job; and where machines were taken away, or the lines were
told to end (75), they start again here once all machines are back, since that is nobody's failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

WRONG_INPUT, AGAIN, OVER = 64, 75, 76  # exit codes of the entry scripts (README.md)
TIMED_OUT = 124  # of a command of the user's own
PAUSE_S = 30.0  # between two starts, so that a machine with a notice has gone


def machines(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ray's nodes that carry work: alive and with CPUs, the head has none; by address, so that numbers stay.

    >>> machines([{"Alive": True, "NodeID": "h", "NodeManagerAddress": "10.0.0.1", "Resources": {}},
    ...     {"Alive": True, "NodeID": "w", "NodeManagerAddress": "10.0.0.2", "Resources": {"CPU": 8}}])[0]["NodeID"]
    'w'
    """
    able = [node for node in nodes if node["Alive"] and node["Resources"].get("CPU")]
    return sorted(able, key=lambda node: [int(part) for part in node["NodeManagerAddress"].split(".")])


def variables(number: int, nodes: int, first: str, port: int) -> dict[str, str]:
    """What one machine's line knows of the others."""
    where = {"SIZEWELL_NODE": number, "SIZEWELL_NODES": nodes, "SIZEWELL_COORDINATOR": f"{first}:{port}"}
    return {key: str(value) for key, value in where.items()}


def run(line: list[str], env: dict[str, str]) -> int:
    """The line, on the machine that Ray put this task on."""
    return subprocess.run(line, env={**os.environ, **env}, check=False).returncode


def main() -> int:
    import ray

    parser = argparse.ArgumentParser(description="start a line on every machine of the Ray cluster")
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--port", type=int, default=29500)
    parser.add_argument("--wait", type=float, default=1800.0)
    parser.add_argument("--pause", type=float, default=PAUSE_S)
    args = parser.parse_args()
    line = json.loads(os.environ["SIZEWELL_LINE"])
    ray.init(address="auto")
    while True:
        code = start(line, args.nodes, args.port, args.wait)
        if code != AGAIN:
            break
        print(f"machines went or were told to: starting again once {args.nodes} are there", flush=True)
        time.sleep(args.pause)
    if code in (WRONG_INPUT, OVER, TIMED_OUT):
        stop(code)
    return code


def start(line: list[str], nodes: int, port: int, wait_s: float) -> int:
    """The line on so many machines; the worst exit code, `AGAIN` where a machine went away below it."""
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    until = time.monotonic() + wait_s
    while len(ready := machines(ray.nodes())) < nodes:
        if time.monotonic() > until:
            print(f"{len(ready)} of {nodes} machines came", flush=True)
            return 69
        time.sleep(2)
    ready = ready[:nodes]
    first = ready[0]["NodeManagerAddress"]
    tasks = []
    for number, machine in enumerate(ready):
        place = NodeAffinitySchedulingStrategy(node_id=machine["NodeID"], soft=False)
        gpus = machine["Resources"].get("GPU", 0)
        task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0)(run).options(scheduling_strategy=place)
        tasks.append(task.remote(line, variables(number, nodes, first, port)))
    codes: list[int] = []
    while tasks:
        done, tasks = ray.wait(tasks, num_returns=1)
        try:
            codes += ray.get(done)
        except RayError as error:  # the machine, or what ran the task on it
            print(f"a machine's line is gone: {type(error).__name__}", flush=True)
            codes.append(AGAIN)
        if codes[-1] != 0:  # the others wait for a peer that will not come
            codes += ended(tasks)
            break
    return worst(codes)


def ended(tasks: list[Any]) -> list[int]:
    """Exit codes of lines that end soon after the first one did; the others are cancelled."""
    import ray
    from ray.exceptions import RayError

    codes: list[int] = []
    done, late = ray.wait(tasks, num_returns=len(tasks), timeout=10.0) if tasks else ([], [])
    for each in done:
        try:
            codes.append(ray.get(each))
        except RayError:
            codes.append(AGAIN)
    for each in late:
        ray.cancel(each, force=True)
    return codes


def worst(codes: list[int]) -> int:
    """The exit code that says most: what no repetition mends, what was told to end, then any failure.

    >>> worst([0, 1, 64]), worst([1, 75]), worst([0, 76, 75]), worst([0, 0]), worst([0, -9])
    (64, 75, 76, 0, -9)
    """
    for code in (WRONG_INPUT, OVER, TIMED_OUT, AGAIN):
        if code in codes:
            return code
    return max(codes, key=abs)


def stop(code: int) -> None:
    """End this job as stopped, so that nothing repeats it."""
    from ray.job_submission import JobSubmissionClient

    told = json.loads(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")).get("metadata", {})
    name = told.get("job_submission_id")
    print(f"exit status {code}: stopped for good, a repetition would not mend it", flush=True)
    if name:
        JobSubmissionClient().stop_job(name)
        time.sleep(60)  # until Ray ends this process; a failure that it sees first would be repeated


if __name__ == "__main__":
    sys.exit(main())
