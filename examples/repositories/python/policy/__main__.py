"""The policy pack as the engine starts it: `pulumi preview --policy-pack policy`."""

import gc
from pathlib import Path

gc.disable()  # what is imported stays: looking for garbage among it takes a tenth of the start

from sizewell.policy.adapter import serve  # noqa: E402

HERE = Path(__file__).resolve().parent
serve(config=HERE / "config.yaml", decisions=HERE.parent / "stacks" / "decisions")
