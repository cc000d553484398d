"""How long data that lie elsewhere are on their way to the machines: their size over what the way carries."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sizewell.sizing.choose.pricing import Option, leaving_bytes
from sizewell.sizing.units import UnitError, show_size, size_bytes

BYTES_PER_S: Final = 625_000_000.0
"""Of a machine, 5 Gbit/s: what EC2 lets through a gateway of one with fewer than 32 vCPUs, and half of the network of
others (docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html); an estimate for all clouds."""
_BITS: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([MG])bit/s")
ALLOWED: Final = "a rate, such as 10Gbit/s or 600MB/s"


class Moving(NamedTuple):
    """Data on their way once: for a run, for the records of a batch, or to be copied."""

    size_bytes: int
    bytes_per_s: float
    is_stated: bool

    @property
    def seconds(self) -> float:
        return self.size_bytes / self.bytes_per_s

    @property
    def words(self) -> str:
        """What of it a person decides by.

        >>> Moving(2_000_000_000_000, BYTES_PER_S, False).words
        '2TB are 0.9 h on their way at 5 Gbit/s (an estimate; --bandwidth states it)'
        """
        gigabits = f"{self.bytes_per_s * 8 / 1e9:.3g} Gbit/s"
        known = "" if self.is_stated else " (an estimate; --bandwidth states it)"
        return f"{show_size(self.size_bytes)} are {self.seconds / 3600:,.1f} h on their way at {gigabits}{known}"


def moving(option: Option, stated: float | None, *, owned: bool = False) -> Moving | None:
    """To rented machines, each of which reads its part; `owned`: copied to machines that are in no cloud of theirs."""
    size = leaving_bytes(option, owned=owned)
    if not size:
        return None
    if stated is not None:
        return Moving(size, stated, is_stated=True)
    network = option.candidate.shape.network_bytes_per_s or BYTES_PER_S
    return Moving(size, BYTES_PER_S if owned else option.fleet.nodes * min(network, BYTES_PER_S), is_stated=False)


def bandwidth(text: str) -> float:
    """Bytes a second; UnitError for what is no rate.

    >>> bandwidth("10Gbit/s"), bandwidth("600MB/s")
    (1250000000.0, 600000000.0)
    """
    bits = _BITS.fullmatch(text.strip())
    if bits is not None:
        rate = float(bits[1]) * {"M": 1e6, "G": 1e9}[bits[2]] / 8
    elif text.strip().endswith("/s"):
        try:
            rate = float(size_bytes(text.strip().removesuffix("/s")))
        except UnitError:
            raise UnitError(ALLOWED) from None
    else:
        raise UnitError(ALLOWED)
    if not rate:
        raise UnitError(ALLOWED)
    return rate
