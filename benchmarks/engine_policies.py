"""What the policy pack adds to `pulumi preview` of a plain program of some 40 resources, under the same engine.

The program is two of the careful ones that the policies are tested on (tests/policy/good/aws.py). Stand-in providers
answer for the cloud, at once: with a real cloud's answers the preview takes longer and the pack does not. Runs with and
without the pack take turns; the median of the ratios pair by pair counts. Seen on 2026-11-21 on two cores of its own,
42 resources: 8.21 s with the policies, 7.09 s without, 1.191 x on the clock and 1.119 x of processor time.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import ROOT, report

sys.path.insert(0, str(ROOT / "tests" / "engine"))
import harness

RUNS = 7
LIMIT = 1.20
PROGRAM = "\n\nguarded_spot_group()\nweb_service()\n"


def project(folder: Path) -> harness.Engine:
    source = folder / "source"
    source.mkdir()
    (source / "Pulumi.yaml").write_text("name: team\nruntime: {name: python, options: {virtualenv: .venv}}\n")
    (source / "Pulumi.dev.yaml").write_text("config: {aws:region: us-east-1}\n")
    (source / "__main__.py").write_text((ROOT / "tests/policy/good/aws.py").read_text(encoding="utf-8") + PROGRAM)
    (source / ".venv").symlink_to(Path(sys.prefix), target_is_directory=True)
    engine = harness.Engine(
        project=source, environment=harness.environment(folder, warm=False), clouds=folder / "clouds"
    )
    engine.run("stack", "init", "dev")
    return engine


def cost(engine: harness.Engine, *more: str) -> tuple[float, float]:
    """Seconds on the clock and of processors that one preview takes with all of its processes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    engine.run("preview", "-s", "dev", *more)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the figures against their limit; 1 where it is missed."""
    if reason := harness.missing():
        print(f"   left out: {reason}")
        return 0
    pack = ("--policy-pack", str(ROOT / "policy"))
    with tempfile.TemporaryDirectory() as name:
        engine = project(Path(name))
        made = len(engine.preview("dev")["steps"])
        cost(engine, *pack)
        pairs = [(cost(engine, *pack), cost(engine)) for _ in range(RUNS)]
    clock, processor = (statistics.median(a[at] / b[at] for a, b in pairs) for at in (0, 1))
    with_it, without = (statistics.median(pair[at][0] for pair in pairs) for at in (0, 1))
    print(f"   {made} resources: {with_it:.2f} s with the policies, {without:.2f} s without")
    print(f"   processor time: {processor:.3f} x")
    return int(report("pulumi preview with the policy pack / without, on the clock", clock, LIMIT, "x"))


if __name__ == "__main__":
    sys.exit(main())
