"""A refreshed price changes nothing that stands: programs ask for no price, and where machines are sold is no price."""

import dataclasses
from pathlib import Path

import pytest

from sizewell.recording.evaluate import evaluate
from sizewell.sizing.catalog.catalog import Catalog

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.stem for path in (ROOT / "stacks" / "decisions").glob("*.json"))
OFFERS = Catalog.offers


def refuse(*_, **__):
    raise AssertionError("a program asks for a price")


def tripled(self, *args, **named):
    return tuple(dataclasses.replace(one, usd_per_hour=one.usd_per_hour * 3) for one in OFFERS(self, *args, **named))


def made(stack):
    plan = evaluate(ROOT, stack)
    return {one.urn: (one.inputs, one.protect, one.provider) for one in plan.resources}


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_is_the_same_at_any_price(stack, monkeypatch):
    before = made(stack)
    for asked in ("price", "fee", "fee_tiers"):
        monkeypatch.setattr(Catalog, asked, refuse)
    monkeypatch.setattr(Catalog, "offers", tripled)
    assert made(stack) == before
    assert len(before) > 10
