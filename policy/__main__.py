"""The policy pack as the engine starts it: `pulumi preview --policy-pack policy`."""

import gc
import sys
from pathlib import Path

gc.disable()  # what is imported stays: looking for garbage among it takes a tenth of the start

try:
    from sizewell.policy.adapter import serve
except ModuleNotFoundError as error:
    fix = "run `pulumi install` in the project, or set SIZEWELL_PYTHON to a Python that has sizewell"
    raise SystemExit(f"policy pack sizewell: {error} ({sys.prefix})\n  fix: {fix}") from None

HERE = Path(__file__).resolve().parent
serve(config=HERE / "config.yaml", decisions=HERE.parent / "stacks" / "decisions")
