"""What a planned resource is and costs: recorded resources to line items (`price`) and to facts (`facts`). Pure."""

from __future__ import annotations

from sizewell.resources.facts import facts
from sizewell.resources.priced import Coverage, Pricing
from sizewell.resources.pricing import price
from sizewell.resources.recorded import UNKNOWN, Plan, RecordedResource, Unknown
from sizewell.resources.stackfacts import StackFacts
from sizewell.resources.usage import Usage, read_usage
from sizewell.sizing.catalog.rates import Discounts, read_discounts

__all__ = [
    "UNKNOWN",
    "Coverage",
    "Discounts",
    "Plan",
    "Pricing",
    "RecordedResource",
    "StackFacts",
    "Unknown",
    "Usage",
    "facts",
    "price",
    "read_discounts",
    "read_usage",
]
