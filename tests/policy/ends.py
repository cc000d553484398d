"""Which expiries count in the programs of these tests: a team that acts on the tag `expires`, and Sizewell's stacks."""

from __future__ import annotations

from sizewell.resources.expiry import Expiries

EXPIRIES = Expiries(days_max=90, reserved_days_max=366, tags=("expires",), registered=True)
