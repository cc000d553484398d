"""What a stack on Nimbus is billed beside its machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sizewell.sizing.billing.charges import Charge, monthly

if TYPE_CHECKING:
    from sizewell.sizing.billing.standing import Footing


def parts(footings: Sequence[Footing], *, ends: bool) -> tuple[Charge, ...]:
    """A key for each checkpoint store."""
    del ends
    return tuple(
        monthly(footing.name, "encryption key of checkpoints", "kms.key") for footing in footings if footing.checkpoints
    )
