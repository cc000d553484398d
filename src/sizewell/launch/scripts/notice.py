"""Watch the machine's metadata for word that it will be reclaimed, and write the notice file: beside the job, one per
machine.

    python notice.py --cloud aws --file /run/sizewell/notice
    python notice.py --cloud azure --file /run/sizewell/notice --done      the work is saved: need not wait any longer

On Kubernetes a reclaim reaches the pod as SIGTERM (node termination handlers drain the node), and this is not needed.
On plain machines and under Slurm nothing else tells the job. AWS gives two minutes, Google Cloud and Azure thirty
seconds; each is asked every few seconds by its own address, which is the same on every machine of that cloud and
reachable from nowhere else.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

ADDRESS = "http://169.254.169.254"
TIMEOUT_S = 2.0
BEFORE_S = 900.0  # of a scheduled event: sooner than that the work goes on
ENDS = ("Preempt", "Terminate", "Reboot", "Redeploy")  # scheduled events of Azure that a process does not survive


def aws(address: str) -> str:
    """A spot interruption, or a scheduled stop, reboot or retirement that is near; "" while there is none (404)."""
    token = _ask(f"{address}/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, "PUT")
    if not token:
        return ""
    headers = {"X-aws-ec2-metadata-token": token}
    if said := _ask(f"{address}/latest/meta-data/spot/instance-action", headers):
        return said
    said = _ask(f"{address}/latest/meta-data/events/maintenance/scheduled", headers)
    near = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=BEFORE_S)
    for event in json.loads(said) if said else []:
        begins = dt.datetime.strptime(event["NotBefore"], "%d %b %Y %H:%M:%S %Z").replace(tzinfo=dt.UTC)
        if event.get("State") == "active" and begins <= near:
            return json.dumps(event)
    return ""


def gcp(address: str) -> str:
    said = _ask(f"{address}/computeMetadata/v1/instance/preempted", {"Metadata-Flavor": "Google"})
    return "preempted" if said.strip() == "TRUE" else ""


def azure(address: str) -> str:
    said = _ask(f"{address}/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"})
    events = json.loads(said)["Events"] if said else []
    return next((json.dumps(event) for event in events if event.get("EventType") in ENDS), "")


CLOUDS: dict[str, Callable[[str], str]] = {"aws": aws, "gcp": gcp, "azure": azure}


def approve(address: str, event: str) -> None:
    """Tell Azure that an event may start now; it would else wait, and bill, until its time
    (learn.microsoft.com/azure/virtual-machines/linux/scheduled-events#start-an-event).
    """
    data = json.dumps({"StartRequests": [{"EventId": json.loads(event)["EventId"]}]}).encode()
    _ask(f"{address}/metadata/scheduledevents?api-version=2020-07-01", {"Metadata": "true"}, "POST", data)


def _ask(url: str, headers: dict[str, str], method: str = "GET", data: bytes | None = None) -> str:
    """The answer's text; "" where there is none."""
    request = urllib.request.Request(url, headers=headers, method=method, data=data)  # noqa: S310 - a fixed http address
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
    parser.add_argument("--done", action="store_true", help="the work has ended: on Azure the event may start now")
    given = parser.parse_args(argv)
    if given.done:
        if given.cloud == "azure":
            approve(given.address, given.file.read_text(encoding="utf-8"))
        return 0
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
