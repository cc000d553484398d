"""The policy pack as the engine starts it: `pulumi preview --policy-pack policy`."""

import gc

gc.disable()  # what is imported stays: looking for garbage among it takes a tenth of the start

from policy.adapter import serve  # noqa: E402

serve()
