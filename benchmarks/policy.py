"""Policies and prices: all rules over 2,000 resources, the start of the pack's process, 20,000 resources priced."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from datetime import date

from benchmarks.measure import PYTHON, ROOT, median_s, report

ON = date(2026, 11, 21)
RULES_CODE = """
import resource, time
from benchmarks.policy import many, judge
plan = many(2000)
judge(plan)
times = []
for _ in range(3):
    started = time.perf_counter()
    count = judge(plan)
    times.append(time.perf_counter() - started)
print(min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, count)
"""


def many(count: int) -> object:
    """A plan of `count` resources in the mix of a real one: groups with templates, buckets, rules, roles, pools."""
    from sizewell.resources import UNKNOWN, Plan, RecordedResource

    lt, asg = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
    made: list[RecordedResource] = []

    def add(kind: str, name: str, inputs: dict[str, object], **options: object) -> str:
        urn = f"urn:pulumi:dev::bench::{kind}::{name}"
        made.append(RecordedResource(urn=urn, type=kind, name=name, inputs=inputs, **options))  # type: ignore[arg-type]
        return urn

    tags = {"owner": "ml", "sizewell-expires": "2027-01-01", "environment": "dev"}
    index = 0
    while len(made) < count:
        index += 1
        template = add(
            lt,
            f"lt{index}",
            {
                "instanceType": "g6.xlarge",
                "blockDeviceMappings": [{"ebs": {"volumeSize": 100, "encrypted": "true", "kmsKeyId": "k"}}],
                "tags": tags,
            },
        )
        add(
            asg,
            f"g{index}",
            {
                "minSize": 0,
                "maxSize": 4,
                "launchTemplate": {"id": UNKNOWN},
                "tags": [{"key": k, "value": v} for k, v in tags.items()],
            },
            property_dependencies={"launchTemplate": (template,)},
        )
        bucket = add("aws:s3/bucket:Bucket", f"ckpt{index}", {"tags": tags})
        for side in ("BucketVersioning", "BucketPublicAccessBlock", "BucketLifecycleConfiguration"):
            add(
                f"aws:s3/{side[0].lower()}{side[1:]}:{side}",
                f"{side}{index}",
                {"bucket": UNKNOWN},
                property_dependencies={"bucket": (bucket,)},
            )
        add(
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            f"in{index}",
            {"cidrIpv4": "10.0.0.0/8", "fromPort": 443, "toPort": 443, "ipProtocol": "tcp", "securityGroupId": "sg"},
        )
        add(
            "aws:iam/rolePolicy:RolePolicy",
            f"rp{index}",
            {"policy": '{"Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::x/*"}]}'},
        )
        add(
            "gcp:container/nodePool:NodePool",
            f"np{index}",
            {
                "location": "us-central1-a",
                "autoscaling": {"maxNodeCount": 3},
                "nodeConfig": {"machineType": "g2-standard-4", "spot": True},
            },
        )
        add(
            "azure-native:compute:VirtualMachineScaleSet",
            f"vm{index}",
            {"location": "eastus", "tags": tags, "sku": {"name": "Standard_NC24ads_A100_v4", "capacity": 1}},
        )
    return Plan(project="bench", stack="dev", resources=tuple(made[:count]), config={"aws:region": "us-east-1"})


def judge(plan: object) -> int:
    """Facts, prices and every rule, as a policy run does it; the number of rules."""
    from sizewell.policy.config import Config
    from sizewell.policy.engine import evaluate
    from sizewell.resources import facts, price
    from sizewell.sizing.catalog import load

    pricing = price(plan, load(), on=ON)  # type: ignore[arg-type]
    return evaluate(facts(plan, load(), pricing=pricing, on=ON), Config(), on=ON).rules  # type: ignore[arg-type]


def start_s() -> float:
    """Seconds until the pack's process says its port."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-u", "policy"], cwd=ROOT, stdout=subprocess.PIPE, env={**os.environ, "PULUMI_STACK": "dev"}
    )
    assert process.stdout is not None
    process.stdout.readline()
    seconds = time.perf_counter() - started
    process.terminate()
    process.wait(timeout=20)
    return seconds


def main() -> int:
    """Print the figures against their limits; 1 where one is missed."""
    done = subprocess.run([PYTHON, "-c", RULES_CODE], cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
    seconds, mebibytes, rules = done.stdout.split()
    missed = report(f"{rules} rules over 2,000 resources, facts and prices included", float(seconds), 2.0, "s")
    missed |= report("peak memory of that process", float(mebibytes), 250, "MiB")
    start_s()
    missed |= report(
        "start of the pack's process, median of 5", statistics.median(start_s() for _ in range(5)), 1.0, "s"
    )

    from sizewell.resources import price
    from sizewell.sizing.catalog import load

    plan, catalog = many(20000), load()
    seconds_each = median_s(lambda: price(plan, catalog, on=ON), runs=3)  # type: ignore[arg-type]
    missed |= report("pricing 20,000 resources", seconds_each, 1.0, "s")
    return int(missed)
