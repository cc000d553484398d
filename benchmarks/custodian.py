"""Cloud Custodian on the labelled timelines of tests/teardown: what its own metrics filter would stop.

    PYTHON -m pip install c7n pyyaml
    PYTHON benchmarks/custodian.py

PYTHON is one of an environment of its own: Custodian is no part of this project. Its filter `metrics` is asked as its
documentation shows for idle machines, over the guard's window and grace (105 minutes), with the guard's limit of 5 %,
for the average over a machine's accelerators as the agent publishes it, and for the maximum; with `missing-value: 0` as
in its example, and without. CloudWatch's answer is worked out from the timeline. A pool counts as stopped where one of
its machines is; live are those that the labels keep or call unknown while they have machines that work, load, save or
that somebody spoke for.

Seen on 22 November 2026 with c7n 0.9.53: it finds all of the 12 idle pools, and stops 24 to 27 of the 39 that are kept;
Sizewell finds the 12 and stops none (tests/teardown/test_decide.py).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "teardown"))

MINUTES = 105
# (statistic, missing-value) -> pools that it stops though the label keeps them, idle pools that it finds.
FIGURES: dict[tuple[str, int | None], tuple[int, int]] = {
    ("Average", 0): (27, 12),
    ("Average", None): (26, 12),
    ("Maximum", 0): (25, 12),
    ("Maximum", None): (24, 12),
}


def points(case: dict[str, Any], machine: str) -> list[float]:
    """The samples of a machine's accelerators within the window."""
    from timelines import NOON, document

    pool = document(case)["pools"][0]
    start = NOON - timedelta(minutes=MINUTES)
    values: list[float] = []
    for device, runs in pool["utilization_percent"].items():
        if device.partition("/")[0] != machine:
            continue
        for run in runs:
            first = datetime.fromisoformat(run[0])
            last = datetime.fromisoformat(run[1]) if len(run) == 3 else first + timedelta(minutes=1)
            overlap = (min(last, NOON) - max(first, start)).total_seconds() / 60
            values += [float(run[-1])] * max(0, round(overlap))
    return values


class CloudWatch:
    """`get_metric_statistics` about one timeline."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case

    def get_metric_statistics(self, **asked: Any) -> dict[str, Any]:
        machine = next(each["Value"] for each in asked["Dimensions"] if each["Name"] == "InstanceId")
        values = points(self.case, machine)
        if not values:
            return {"Datapoints": []}
        statistic = asked["Statistics"][0]
        value = max(values) if statistic == "Maximum" else sum(values) / len(values)
        return {"Datapoints": [{"Timestamp": asked["StartTime"], statistic: value}]}


def stops(case: dict[str, Any], statistic: str, missing: int | None) -> bool:
    """Whether Custodian's filter takes one of the machines that stand at noon."""
    from c7n.filters import metrics

    machines = case.get("counted", [[-480, 0, ["a", "b"]]])[-1][2]
    data = {"type": "metrics", "name": "nvidia_smi_utilization_gpu", "namespace": "Sizewell", "days": MINUTES / 1440}
    data |= {"statistics": statistic, "value": 5, "op": "less-than"}
    data |= {} if missing is None else {"missing-value": missing}
    session = SimpleNamespace(client=lambda _: CloudWatch(case))
    model = SimpleNamespace(dimension="InstanceId", service="ec2")
    manager = SimpleNamespace(session_factory=lambda: session, get_model=lambda: model)
    asked = metrics.MetricsFilter(data, manager)
    metrics.local_session = lambda _: session
    return bool(asked.process([{"InstanceId": machine} for machine in machines]))


def labelled() -> Iterator[dict[str, Any]]:
    from timelines import CASES

    return (case for case in CASES if "label" in case)


def main() -> int:
    try:
        from c7n.executor import MainThreadExecutor
        from c7n.filters import metrics
        from c7n.version import version
    except ImportError:
        print("   left out: c7n is not installed here; see benchmarks/custodian.py")
        return 0
    metrics.MetricsFilter.executor_factory = MainThreadExecutor
    cases = list(labelled())
    idle = [case for case in cases if case["label"] == "empty"]
    kept = [case for case in cases if case["label"] in ("keep", "unknown")]
    print(f"c7n {version}: {len(idle)} idle pools, {len(kept)} that are kept; {len(cases)} in all")
    differs = False
    for statistic in ("Average", "Maximum"):
        for missing in (0, None):
            wrong = [case["name"] for case in kept if stops(case, statistic, missing)]
            found = [case["name"] for case in idle if stops(case, statistic, missing)]
            print(f"  {statistic}, missing-value {missing}: stops {len(wrong)} of {len(kept)} that are kept, "
                  f"finds {len(found)} of {len(idle)} idle")  # fmt: skip
            for name in wrong:
                print(f"    stops: {name}")
            differs |= FIGURES.get((statistic, missing), (len(wrong), len(found))) != (len(wrong), len(found))
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
