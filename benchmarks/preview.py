"""Previews: a stack against the import of its SDK modules, many stacks against as many runs, pricing, memory.

Figures are processor time but for the many stacks: other work on the machine counts less against them.

Seen on 2026-11-21 with `python -m benchmarks preview`, two cores of x86_64, Python 3.11, other work on the machine:
40 resources 1.06 to 1.15 x the import of their modules (4 runs), evaluation alone 43 to 51 ms and 2,000 resources 0.99
to 1.26 x four times 500 (4 runs), 100 stacks with base and head 15.7 and 17.7 x faster than one by one, pricing 33,000
to 37,000 resources a second, 257 MB for the file of 20,000 resources.

On 2026-11-23, the same machine under load: the run over those 100 stacks, base and head of 40 resources each with every
rule, took 7.2 and 7.35 s of processor time in one process (7.4 to 7.9 s before what it changed was compared once).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from benchmarks.measure import PYTHON, ROOT, paired, processor_s, report

SIZEWELL = str(ROOT / ".venv/bin/sizewell")
ON = date(2026, 10, 1)
PROGRAM = """
import pulumi
import pulumi_aws as aws
count = pulumi.Config().get_int("count") or 40
vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16")
bucket = aws.s3.Bucket("data", bucket="data")
group = aws.autoscaling.Group("pool", min_size=0, max_size=4, desired_capacity=1, launch_template={"id": "lt-1"})
for i in range((count - 4) // 4):
    subnet = aws.ec2.Subnet(f"s{i}", vpc_id=vpc.id, cidr_block=f"10.0.{i % 256}.0/24", availability_zone="us-east-1a")
    aws.ec2.SecurityGroup(f"g{i}", vpc_id=vpc.id, egress=[{"from_port": 0, "to_port": 0, "protocol": "-1"}])
    volume = aws.ebs.Volume(f"v{i}", availability_zone="us-east-1a", size=100 + i, tags={"of": bucket.bucket})
    aws.ec2.Instance(f"i{i}", ami="ami-1", instance_type="g6.xlarge", subnet_id=subnet.id, tags={"v": volume.id})
pulumi.export("bucket", bucket.arn)
"""
STACKS = 100
RESOURCES = 20_000


def project(folder: Path, stacks: int) -> Path:
    """A repository of one program and `stacks` stacks."""
    (folder / "stacks/config").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: bench\nruntime: python\nmain: stacks/\nstackConfigDir: stacks/config\n")
    (folder / "stacks/__main__.py").write_text(PROGRAM)
    for number in range(stacks):
        (folder / f"stacks/config/Pulumi.s{number:03}.yaml").write_text("config: {aws:region: us-east-1}\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder)]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    return folder


def preview(folder: Path, *arguments: str) -> list[str]:
    """The command in `folder`; what it returns about prices and policies is not what is measured."""
    words = " ".join([SIZEWELL, "preview", *arguments, "--on", ON.isoformat(), "--json"])
    return ["bash", "-c", f"cd {folder} && {{ {words} > /dev/null 2>&1 || test $? -le 3; }}"]


def sdk_modules(folder: Path) -> list[str]:
    """The modules of Pulumi's SDKs that evaluating the stack loads; importing them is what nobody can do without."""
    code = (
        "import sys; from sizewell.recording.evaluate import evaluate; "
        f"evaluate({str(folder)!r}, 's000'); print(*(n for n in sys.modules if n.split('.')[0].startswith('pulumi')))"
    )
    return subprocess.run([PYTHON, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def one_stack(folder: Path) -> bool:
    modules = folder.parent / "modules.txt"
    modules.write_text("\n".join(sdk_modules(folder)))
    code = f"import importlib\nfor name in open({str(modules)!r}).read().split(): importlib.import_module(name)"
    ours, theirs, ratio = paired(
        preview(folder, "s000", "--engine", "offline"), [PYTHON, "-c", code], runs=9, seconds=processor_s
    )
    print(f"   sizewell preview of 40 resources: {ours:.3f} s; bare import of its SDK modules: {theirs:.3f} s")
    return report("sizewell preview, 40 resources / bare import of its modules", ratio, 1.2, "x")


def many_stacks(folder: Path) -> bool:
    separate = sorted(_wall_s(preview(folder, "s000", "--engine", "offline")) for _ in range(5))[2] * 2 * STACKS
    together = sorted(_wall_s(preview(folder, "--base", "HEAD", "--engine", "offline")) for _ in range(3))[1]
    print(f"   {STACKS} stacks, base and head: {together:.1f} s; {2 * STACKS} runs of one stack: {separate:.1f} s")
    # Shown as how small a share of the separate runs it is: six times faster is a sixth.
    return report("100 stacks in one run / 200 separate runs", together / separate, 1 / 6, "x")


def _wall_s(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "NO_COLOR": "1"})
    return time.perf_counter() - started


def call_processor_s(call: Callable[[], object], *, runs: int) -> float:
    """Median processor seconds of this process, all threads, after one warm-up."""
    call()
    times = []
    for _ in range(runs):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return statistics.median(times)


def evaluation(folder: Path) -> bool:
    from sizewell.recording.evaluate import evaluate

    seconds = {
        count: call_processor_s(lambda n=count: evaluate(folder, "s000", config={"bench:count": str(n)}), runs=runs)
        for count, runs in ((40, 15), (500, 3), (2000, 3))
    }
    missed = report("evaluate 40 resources, modules imported", seconds[40] * 1000, 100, "ms")
    missed |= report("evaluate 2,000 / 4 x 500 resources (1: linear)", seconds[2000] / (4 * seconds[500]), 1.5, "x")
    return missed


def pricing() -> bool:
    from sizewell.resources.pricing import price
    from sizewell.resources.recorded import Plan, RecordedResource
    from sizewell.sizing.catalog import load

    kinds = (
        ("aws:ec2/instance:Instance", {"instanceType": "g6.xlarge", "availabilityZone": "us-east-1a"}),
        ("aws:ebs/volume:Volume", {"size": 100, "type": "gp3", "availabilityZone": "us-east-1a"}),
        ("aws:ec2/subnet:Subnet", {"vpcId": "vpc-1"}),
        ("aws:iam/role:Role", {"name": "r"}),
    )
    resources = tuple(
        RecordedResource(urn=f"urn:pulumi:s::p::{kind}::r{i}", type=kind, name=f"r{i}", inputs=inputs)
        for i in range(RESOURCES)
        for kind, inputs in [kinds[i % len(kinds)]]
    )
    plan = Plan(project="p", stack="s", resources=resources, config={"aws:region": "us-east-1"})
    catalog = load()
    seconds = call_processor_s(lambda: price(plan, catalog, on=ON), runs=5)
    print(f"   pricing: {RESOURCES / seconds:,.0f} resources a second")
    return report("pricing 20,000 resources", seconds, 1.0, "s")


def large_file(folder: Path) -> bool:
    """The peak memory of a whole process that reads, prices, compares and prints a preview of 20,000 resources."""
    path = folder / "large.json"
    frames = [{"sourcePosition": f"project:///node_modules/a/long/way/to/a/file/{i}.py#{i}"} for i in range(12)]

    def state(i: int) -> dict[str, object]:
        return {
            "urn": f"urn:pulumi:s::p::aws:ec2/instance:Instance::r{i}", "custom": True, "id": f"i-{i:017x}",
            "type": "aws:ec2/instance:Instance", "parent": "urn:pulumi:s::p::pulumi:pulumi:Stack::p-s",
            "inputs": {"ami": "ami-1", "instanceType": "g6.xlarge", "availabilityZone": "us-east-1a",
                       "tags": {"name": f"r{i}", "owner": "ml"}, "__defaults": []},
            "outputs": {"ami": "ami-1", "arn": f"arn:aws:ec2:us-east-1:1:instance/{i}", "instanceType": "g6.xlarge",
                        "privateIp": "10.0.0.1", "tags": {"name": f"r{i}", "owner": "ml"}},
            "stackTrace": frames,
        }  # fmt: skip

    with path.open("w") as file:
        file.write('{"config": {"aws:region": "us-east-1"}, "steps": [\n')
        for i in range(RESOURCES):
            step = {
                "op": "same" if i % 10 else "update",
                "urn": state(i)["urn"],
                "oldState": state(i),
                "newState": state(i),
            }
            file.write(("," if i else "") + json.dumps(step, indent=1) + "\n")
        file.write(f'], "changeSummary": {{"same": {RESOURCES}}}}}')
    code = (
        "import resource, sys; from sizewell.cli.main import main; "
        f"code = main(['preview', '--plan', {str(path)!r}, '--on', '{ON.isoformat()}', '--format', 'json']); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run(
        [PYTHON, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True
    )
    peak = int(done.stderr.split()[-1]) * 1024
    print(f"   the file has {path.stat().st_size / 1e6:.0f} MB")
    return report("peak memory, preview file of 20,000 resources", peak / 1e6, 400, "MB")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = project(Path(name) / "repository", STACKS)
        missed = one_stack(folder)
        missed |= evaluation(folder)
        missed |= pricing()
        missed |= large_file(Path(name))
        missed |= many_stacks(folder)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
