"""Write src/sizewell/sizing/validation/left_out.json: what `sizewell validate --left-out` finds, for the accuracy page.

python tools/left_out.py --date 2026-11-22
"""

from __future__ import annotations

import argparse
import json
import sys

from sizewell.sizing.validation.left_out import FILE, recorded, reports


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--date", required=True, help="date of the run, written into the file")
    chosen = parser.parse_args()
    document = {"date": chosen.date}
    for key, report in zip(("named", "unnamed"), reports(asked=(True, False)), strict=True):
        document[key] = recorded(report)
    FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
