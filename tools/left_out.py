"""Write src/sizewell/accuracy/left_out.json: what `sizewell validate --left-out` finds, for the accuracy page.

python tools/left_out.py --date 2026-11-22
"""

from __future__ import annotations

import argparse
import json
import sys

from sizewell.accuracy.left_out import FILE, margins, recorded, reports
from sizewell.accuracy.report import validate


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--date", required=True, help="date of the run, written into the file")
    chosen = parser.parse_args()
    document = {"date": chosen.date}
    for key, report in zip(("named", "unnamed"), reports(asked=(True, False)), strict=True):
        fitted = validate(engines=key == "named")
        document[key] = recorded(report) | {
            "kinds": [
                {
                    "group": margin.group,
                    "cases": margin.cases,
                    "fitted_pct": round(margin.fitted_pct, 1),
                    "left_out_pct": round(margin.left_out_pct, 1),
                }
                for margin in margins(report, fitted)
            ]
        }
    FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
