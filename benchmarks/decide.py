"""From a spec to a decision over the whole catalog, in process: serving, batch, fine-tuning and pre-training."""

from __future__ import annotations

import sys
from datetime import date

from benchmarks.measure import ROOT, median_s, report
from sizewell.sizing import catalog
from sizewell.sizing.choose.decide import decide
from sizewell.sizing.workload.read import read_spec

ON = date(2026, 11, 20)
LIMITS = {
    "chat": 0.15,
    "petsnap-vlm-int4": 0.15,
    "petsnap-resnet50": 0.15,
    "petsnap-chat-70b": 0.25,
    "petsnap-nightly-batch": 0.15,
    "petsnap-vlm-qlora": 0.15,
    "petsnap-vlm-finetune": 0.2,
    "petsnap-pretrain-2b": 0.6,
}


def main() -> int:
    facts = catalog.load()
    missed = 0
    for name, limit in LIMITS.items():
        spec = read_spec(ROOT / "examples" / f"{name}.yaml")
        seconds = median_s(lambda spec=spec: decide([spec], facts, stack="", on=ON), runs=5)
        missed |= report(f"decide {name} over {len(facts.shapes)} shapes", seconds, limit, "s")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
