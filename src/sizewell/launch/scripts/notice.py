"""Watch the machine's metadata for word that it will be reclaimed, and write the notice file: beside the job, one per
machine.

    python notice.py --cloud aws --file /run/sizewell/notice

On Kubernetes a reclaim reaches the pod as SIGTERM (node termination handlers drain the node), and this is not needed.
On plain machines and under Slurm nothing else tells the job. AWS gives two minutes, Google Cloud and Azure thirty
seconds; each is asked every few seconds by its own address, which is the same on every machine of that cloud and
reachable from nowhere else.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

ADDRESS = "http://169.254.169.254"
TIMEOUT_S = 2.0


def aws(address: str) -> str:
    """A spot interruption or a rebalance recommendation's later end; "" while there is none (404)."""
    token = _ask(f"{address}/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, "PUT")
    return (
        _ask(f"{address}/latest/meta-data/spot/instance-action", {"X-aws-ec2-metadata-token": token}) if token else ""
    )


def gcp(address: str) -> str:
    said = _ask(f"{address}/computeMetadata/v1/instance/preempted", {"Metadata-Flavor": "Google"})
    return "preempted" if said.strip() == "TRUE" else ""


def azure(address: str) -> str:
    said = _ask(f"{address}/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"})
    events = json.loads(said)["Events"] if said else []
    return next((json.dumps(event) for event in events if event.get("EventType") in ("Preempt", "Terminate")), "")


CLOUDS: dict[str, Callable[[str], str]] = {"aws": aws, "gcp": gcp, "azure": azure}


def _ask(url: str, headers: dict[str, str], method: str = "GET") -> str:
    """The answer's text; "" where there is none."""
    request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - a fixed http address
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=TIMEOUT_S) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError:
        return ""


def main(argv: Sequence[str] | None = None) -> int:
    """Ask until there is a notice, write it, end. Errors of the metadata service are said once and asked past."""
    parser = argparse.ArgumentParser(prog="notice.py", description="Write a file once this machine is to be reclaimed.")
    parser.add_argument("--cloud", choices=sorted(CLOUDS), required=True)
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--every-s", type=float, default=5.0)
    parser.add_argument("--address", default=ADDRESS)
    given = parser.parse_args(argv)
    said = ""
    while True:
        try:
            notice = CLOUDS[given.cloud](given.address)
        except (OSError, ValueError, KeyError) as error:
            notice = ""
            if str(error) != said:
                said = str(error)
                print(f"notice.py: {given.address}: {error}", file=sys.stderr, flush=True)
        if notice:
            given.file.parent.mkdir(parents=True, exist_ok=True)
            given.file.write_text(notice + "\n", encoding="utf-8")
            print(f"notice.py: {notice}", flush=True)
            return 0
        time.sleep(given.every_s)


if __name__ == "__main__":
    sys.exit(main())
