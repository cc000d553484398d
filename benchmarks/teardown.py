"""`teardown plan` of 1,000 stacks with 20,000 machines: states cached by their last update, a fifth of calls throttled.

The cloud is a process of its own that answers as Compute Engine, GKE and Cloud Monitoring do, a sample a minute for
each machine, and 429 to every fifth call. The backend is a folder of states: what the `pulumi` command itself needs (a
process for each export, and for each stack's tags) is not in it.

Seen on 22 November 2026 (Python 3.11, two busy cores): 34.2 s and 92 MiB with 1 % changed, 34.0 s the first time; 9.8
processor seconds, the rest are waits for throttled calls. One stack or two, refused five times in a row, are unknown.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.measure import PYTHON, ROOT, report
from sizewell.sizing.catalog import load
from sizewell.teardown.assemble import make_plan
from sizewell.teardown.backend import Backend, Listed
from sizewell.teardown.config import parse_config
from sizewell.teardown.gather import StatusReader
from sizewell.teardown.journal import Journal, connect

STACKS, MACHINES, CHANGED = 1000, 20, 10
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
POOL = "gcp:container/nodePool:NodePool"


# The cloud ------------------------------------------------------------------------------------------------------------


def answer(path: str, query: Mapping[str, list[str]]) -> dict[str, Any]:
    """What Google answers about one of the stacks; its number is in every name."""
    asked = path + str(query.get("filter", ""))
    found = re.search(r"stack-(\d+)", asked)
    name = found[0] if found else ""
    if "/nodePools/" in path:
        url = f"https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/instanceGroupManagers/{name}"
        return {"instanceGroupUrls": [url]}
    if "/instanceGroupManagers/" in path:
        return {"baseInstanceName": name, "targetSize": MACHINES}
    if path.endswith("/instances"):
        created = (AT - timedelta(days=3)).isoformat()
        return {
            "items": [
                {"name": f"{name}-{number}", "status": "RUNNING", "creationTimestamp": created}
                for number in range(MACHINES)
            ]
        }
    if "instance_group/size" in str(query.get("filter")):
        return {"timeSeries": [{"points": points(300, 24, MACHINES)}]}
    return {
        "timeSeries": [
            {
                "resource": {"labels": {"node_name": f"{name}-{number}"}},
                "metric": {"labels": {"accelerator_id": "0"}},
                "points": SAMPLES,
            }
            for number in range(MACHINES)
        ]
    }


def points(period_s: int, count: int, value: float) -> list[dict[str, Any]]:
    return [
        {
            "interval": {"endTime": f"{AT - timedelta(seconds=period_s * number):%Y-%m-%dT%H:%M:%SZ}"},
            "value": {"doubleValue": value},
        }
        for number in range(count)
    ]


SAMPLES = points(60, 30, 0.0)


class Handler(BaseHTTPRequestHandler):
    """Every fifth call is one too many."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        Handler.asked += 1
        parts = urlsplit(self.path)
        throttled = Handler.asked % 5 == 0
        body = (
            b'{"error": {"code": 429}}' if throttled else json.dumps(answer(parts.path, parse_qs(parts.query))).encode()
        )
        self.send_response(429 if throttled else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def serve() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


# The backend ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Folder(Backend):
    """States in a folder; exported is by a copy."""

    updated: Mapping[str, str]

    def stacks(self) -> list[Listed]:
        return [Listed(name=name, updated=at, resources=40) for name, at in self.updated.items()]

    def export(self, stack: str, path: Path) -> None:
        shutil.copy(self.root / f"{stack}.json", path)

    def tags(self, stack: str) -> dict[str, str]:  # noqa: ARG002
        return {}


def state(name: str) -> dict[str, Any]:
    """A stack with one pool of GKE, and what stands around such pools."""
    guard = {"signal": "accelerator_utilization", "window_s": 600, "grace_s": 600, "action": "scale-to-zero"}
    measured = {"source": "monitoring", "metric": "kubernetes.io/node/accelerator/duty_cycle", "machine": "node_name"}
    record = {
        "schema": "sizewell.registration/1", "kind": "pool", "name": "train", "cloud": "gcp", "region": "us-central1",
        "environment": "dev", "owner": "ml-platform", "instanceType": "g2-standard-8", "acceleratorsPerNode": 1,
        "nodesMax": MACHINES, "guard": guard, "measured": measured, "sizedBy": "gke-node-pools",
    }  # fmt: skip
    urn = f"urn:pulumi:{name}::sizewell::"
    parent = f"{urn}sizewell-gcp:index:AcceleratorPool::train"
    around = [
        {"urn": f"{urn}gcp:projects/iAMMember:IAMMember::m{each}", "custom": True, "id": f"m{each}",
         "type": "gcp:projects/iAMMember:IAMMember", "inputs": {"project": "p", "role": "roles/x", "member": "y" * 200}}
        for each in range(37)
    ]  # fmt: skip
    resources = [
        {"urn": f"{urn}pulumi:pulumi:Stack::sizewell-{name}", "custom": False, "type": "pulumi:pulumi:Stack"},
        {"urn": parent, "custom": False, "type": "sizewell-gcp:index:AcceleratorPool",
         "inputs": {"sizewell": record, "project": "p"}},
        {"urn": f"{urn}{POOL}::train", "custom": True, "id": f"p/us-central1-a/{name}/{name}", "type": POOL,
         "parent": parent, "inputs": {"name": name}, "outputs": {"name": name, "project": "p"}},
        *around,
    ]  # fmt: skip
    return {"version": 3, "deployment": {"manifest": {}, "resources": resources}}


def plan_once(folder: Path, changed: str) -> None:
    """One plan in this process; seconds and the most memory are printed."""
    updated = {f"stack-{number}": changed if number < CHANGED else "v1" for number in range(STACKS)}
    settings = {"schema": "sizewell.teardown/1", "journal": f"file://{folder}/journal"}
    config = parse_config(settings)
    catalog = load()
    started, before = time.perf_counter(), time.process_time()
    reader = StatusReader(
        backend=Folder(root=folder / "states", updated=updated),
        config=config,
        accounts=lambda _: ("p",),
        catalog=catalog,
        journal=Journal(connect(config.journal)).read(),
        cache=folder / "cache",
    )
    plan, _ = make_plan(reader, "sizewell", AT)
    seconds, processor_s = time.perf_counter() - started, time.process_time() - before
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    counted = {action: number for action, number in plan.counted().items() if number}
    machines = sum(row.machines or 0 for stack in plan.stacks for row in stack.pools)
    print(
        json.dumps(
            {"seconds": seconds, "processor_s": processor_s, "mib": mib, "counted": counted, "machines": machines}
        )
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "states").mkdir()
        for number in range(STACKS):
            (folder / "states" / f"stack-{number}.json").write_text(json.dumps(state(f"stack-{number}")))
        cloud = subprocess.Popen(
            [PYTHON, "-m", "benchmarks.teardown", "serve"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert cloud.stdout is not None
        url = f"http://127.0.0.1:{cloud.stdout.readline().strip()}"
        settings = {**os.environ, "GOOGLE_ENDPOINT_URL": url, "GOOGLE_OAUTH_ACCESS_TOKEN": "t"}
        missed = False
        try:
            for what, changed in (("the first time", "v1"), ("1 % changed", "v2")):
                command = [PYTHON, "-m", "benchmarks.teardown", "plan", name, changed]
                done = subprocess.run(command, cwd=ROOT, env=settings, check=True, capture_output=True, text=True)
                found = json.loads(done.stdout.splitlines()[-1])
                print(f"   {what}: {found}")
                if found["machines"] < 0.99 * STACKS * MACHINES:  # a stack whose call failed five times is unknown
                    raise AssertionError(f"{found['machines']} machines were counted")
                if changed == "v2":
                    missed |= report(f"plan of {STACKS} stacks, {what}", found["seconds"], 60.0, "s")
                    missed |= report("memory of it", found["mib"], 500.0, "MiB")
        finally:
            cloud.kill()
            cloud.wait()
        return int(missed)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        plan_once(Path(sys.argv[2]), sys.argv[3])
