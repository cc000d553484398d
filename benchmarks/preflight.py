"""`sizewell doctor STACK --cloud` against stand-ins that take 100 ms a call: a stack is asked about in under 15 s.

The whole command is timed, program and all. The stand-ins are those of the tests: servers for Google Cloud, Azure and
registries, botocore's calls answered in the process for AWS.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT

LIMIT_S, DELAY_S, RUNS = 15.0, 0.1, 3
DISABLED = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}
TOKENS = {"GOOGLE_OAUTH_ACCESS_TOKEN": "token", "AZURE_ACCESS_TOKEN": "token"}
ON_AWS = f"""
import sys, time
import botocore.client
from botocore.exceptions import ClientError
from sizewell.cli.main import main
from tests.clouds.test_preflight_aws import healthy

answers = healthy()

def answer(client, operation, asked):
    time.sleep({DELAY_S})
    found = answers.get((client.meta.service_model.service_name, operation))
    if found is None:
        raise ClientError({{"Error": {{"Code": "AccessDenied", "Message": "not planned"}}}}, operation)
    return found(asked) if callable(found) else found

botocore.client.BaseClient._make_api_call = answer
sys.exit(main(sys.argv[1:]))
"""
PLAIN = "import sys; from sizewell.cli.main import main; sys.exit(main(sys.argv[1:]))"
STACKS = ("prod-aws", "prod-gcp", "prod-azure")


def seconds(stack: str, addresses: dict[str, str]) -> tuple[float, int]:
    """How long one run takes, and its exit code: 64 and 69 are answers."""
    started = time.perf_counter()
    environment = {**os.environ, "NO_COLOR": "1", **DISABLED, **TOKENS, **addresses}
    command = ["-c", ON_AWS if stack.endswith("aws") else PLAIN]
    done = subprocess.run(
        [sys.executable, *command, "doctor", stack, "--cloud"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    if done.returncode not in (0, 64, 69):
        raise subprocess.CalledProcessError(done.returncode, "sizewell doctor")
    return time.perf_counter() - started, done.returncode


def main() -> int:
    sys.path.insert(0, str(Path(ROOT)))
    from sizewell.cli.project import config
    from tests.clouds import test_preflight_azure, test_preflight_gcp
    from tests.clouds.rest_server import Reply, serving

    def slow(reply: Any) -> Any:
        if callable(reply):
            return lambda path, sent: slow(reply(path, sent))
        return Reply(reply.body, reply.status, dict(reply.headers), DELAY_S)

    worst = 0.0
    with serving() as server:
        for key, reply in {**test_preflight_gcp.HEALTHY, **test_preflight_azure.HEALTHY}.items():
            for stack in STACKS[1:]:
                (account,) = (config(ROOT, stack) or {})["sizewell:accounts"]
                named = key.replace(test_preflight_gcp.PROJECT, account)
                named = named.replace(test_preflight_azure.SUBSCRIPTION, account)
                answer = slow(reply)
                server.answers[named] = answer if callable(answer) else [answer]
        addresses = {
            "GOOGLE_ENDPOINT_URL": server.url,
            "AZURE_ENDPOINT_URL": server.url,
            "REGISTRY_ENDPOINT_URL": server.url,
        }
        for stack in STACKS:
            runs = [seconds(stack, addresses) for _ in range(RUNS)]
            took = statistics.median(run for run, _ in runs)
            worst = max(worst, took)
            print(f"  {stack:12} {took:5.1f} s (exit {runs[0][1]}; {RUNS} runs; {DELAY_S * 1000:.0f} ms a call)")
    print(f"  limit {LIMIT_S:.0f} s: {'held' if worst < LIMIT_S else 'missed'}")
    return int(worst >= LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
