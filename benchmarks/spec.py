"""Reading specs: one of each kind, and one with as many faults as it has lines."""

from __future__ import annotations

from benchmarks.measure import ROOT, median_s, report
from sizewell.sizing.errors import SpecError
from sizewell.sizing.workload.read import parse_spec, read_spec

WRONG = """
name: Chat App
kind: inferense
model: {name: x, weights: int5}
traffic: {rps: -4, inptu_tokens: 1500, output_tokens: 300GB}
resources: {nodes: 8..1}
region: us-east-1
ttl: 3h
deadline: .nan
schedule: {on: "Mon-Fri 07:00-21:00 Mars/Phobos"}
"""


def refused() -> None:
    try:
        parse_spec(WRONG)
    except SpecError:
        return
    raise AssertionError("a wrong spec was read")


def main() -> int:
    paths = sorted((ROOT / "examples").glob("*.yaml"))
    each = median_s(lambda: [read_spec(path) for path in paths], runs=50) / len(paths)
    missed = report("reading a spec", each * 1000, 5, "ms")
    missed |= report("refusing a spec with eleven faults", median_s(refused) * 1000, 100, "ms")
    return int(missed)
