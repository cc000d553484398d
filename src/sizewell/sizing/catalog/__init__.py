"""Facts: accelerators, machine shapes, offers, fees, quotas, models; each with source and date.

>>> load().accelerator("h100-sxm").memory_bytes
85520809984
"""

from sizewell.sizing.catalog.catalog import Catalog
from sizewell.sizing.catalog.loading import load

__all__ = ["Catalog", "load"]
