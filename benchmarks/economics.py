"""All ways to pay for the work of one spec, after it was sized, in process: 150 ms at most."""

from __future__ import annotations

import sys
from datetime import date

from benchmarks.measure import ROOT, median_s, report
from sizewell.economics.compare import compare
from sizewell.economics.ways import months_of, work_of
from sizewell.sizing import catalog
from sizewell.sizing.choose.explain import sized
from sizewell.sizing.workload.read import parse_spec, read_spec

ON = date(2026, 11, 22)
LIMIT_S = 0.15
DAY = """name: day
kind: inference
model: meta-llama/Llama-3.1-8B
resources: {accelerators: [L4]}
infra: [aws/us-east-1]
traffic: {rps: 12, input_tokens: 1500, output_tokens: 300, daily: 3}
"""


def main() -> int:
    facts, missed = catalog.load(), 0
    names = ("petsnap-vlm-fp16", "petsnap-chat-70b", "pretrain")
    specs = [read_spec(ROOT / "examples" / f"{name}.yaml", facts) for name in names]
    for spec in (*specs, parse_spec(DAY, "day.yaml", catalog=facts)):
        _, option = sized(spec, facts, stack="", on=ON)
        assert option is not None
        months = months_of(spec, 36)
        seconds = median_s(lambda spec=spec, option=option, m=months: compare(work_of(spec, option, m, {})), runs=5)
        missed |= report(f"economics {spec.name}", seconds, LIMIT_S, "s")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
