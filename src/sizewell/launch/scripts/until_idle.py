"""Run a command; when it ends by itself, scale the StatefulSet that this pod belongs to down to nothing.

`python until_idle.py COMMAND...` with STATEFUL_SET and NAMESPACE in the environment. A notebook server that shuts
itself down for want of work would otherwise be started again at once and hold its accelerators for ever. The pod's
account may patch the scale of this one object and nothing else. Only the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ACCOUNT = Path(os.environ.get("ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount"))


def scale_down() -> None:
    """Ask the cluster for no replicas of our own set."""
    name, namespace = os.environ["STATEFUL_SET"], os.environ["NAMESPACE"]
    host = os.environ.get("CLUSTER", "https://kubernetes.default.svc")
    request = urllib.request.Request(  # noqa: S310  (the cluster's own address)
        f"{host}/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale",
        method="PATCH",
        data=json.dumps({"spec": {"replicas": 0}}).encode(),
        headers={
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text().strip()}",
            "Content-Type": "application/merge-patch+json",
        },
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")) if host.startswith("https") else None
    with urllib.request.urlopen(request, timeout=30, context=trust) as answer:  # noqa: S310
        answer.read()


def main(command: list[str]) -> int:
    child = subprocess.Popen(command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _frame: child.send_signal(received))
    code = child.wait()
    if code != 0:
        return code if code > 0 else 128 - code
    print("nobody worked: the notebook ends, its disk stays; kubectl scale --replicas=1 brings it back", flush=True)
    for pause in (1, 5, 15, 60, 300):
        try:
            scale_down()
        except OSError as error:
            print(f"the cluster did not scale it down yet: {error}", flush=True)
            time.sleep(pause if "PATIENCE" not in os.environ else 0.05)
        else:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
