"""`prices refresh --cloud vultr`: what gpuhunt lists, and nothing where it is not there."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import pytest

from sizewell.cli.main import main
from sizewell.clouds.calls import CloudError
from sizewell.clouds.prices import others
from sizewell.sizing import catalog
from tests.clouds.price_standin import shipped

DAY = date(2026, 11, 22)
SHAPES = shipped().shapes


@dataclass
class Item:
    """The fields of gpuhunt.CatalogItem that are read (gpuhunt 0.1.34)."""

    instance_name: str
    price: float
    gpu_count: int = 1
    location: str = "ewr"
    spot: bool = False


@pytest.fixture
def gpuhunt(monkeypatch):
    module = types.ModuleType("gpuhunt")
    module.items = []
    module.query = lambda *, provider, min_gpu_count: (
        list(module.items) if provider in others.PROVIDERS.values() else []
    )
    monkeypatch.setitem(sys.modules, "gpuhunt", module)
    return module


def test_a_price_of_several_places_is_one_and_another_number_of_gpus_is_another_machine(gpuhunt):
    name = "vcg-l40s-16c-180g-48vram"
    gpuhunt.items = [Item(name, 1.671), Item(name, 1.671, location="ord"), Item(name, 13.4, gpu_count=8)]
    (row,) = others.machines("vultr", "all", SHAPES)
    assert (row.instance_type, row.region, row.usd, row.market) == (name, "all", "1.671", "on-demand")


def test_nebius_has_prices_by_region_and_writes_names_with_a_space(gpuhunt):
    gpuhunt.items = [
        Item("gpu-h200-sxm 8gpu-128vcpu-1600gb", 28.0, 8, "eu-north1"),
        Item("gpu-h200-sxm 8gpu-128vcpu-1600gb", 26.0, 8, "us-central1", spot=True),
    ]
    (row,) = others.machines("nebius", "us-central1", SHAPES)
    assert (row.usd, row.market, row.region) == ("26", "spot", "us-central1")
    known = [(offer.cloud, offer.region) for offer in shipped().all_offers]
    assert others.regions("nebius", known) == others.REGIONS["nebius"]
    assert others.regions("nebius", [*known, ("nebius", "ap-west9")])[0] == "ap-west9"
    assert others.regions("vultr", known) == ("all",)


def test_a_refresh_by_gpuhunt_is_checked_like_any_other(gpuhunt, tmp_path, monkeypatch, capsys):
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    gpuhunt.items = [
        Item("vcg-l40s-16c-180g-48vram", 1.55),
        Item("vcg-l40s-32c-375g-96vram", 99.0, 2),
        Item("vcg-l40s-64c-750g-192vram", 6.6, 4),
        Item("vcg-l40s-64c-750g-192vram", 6.9, 4, location="ord"),
    ]
    assert main(["prices", "refresh", "--cloud", "vultr", "--kind", "on-demand", "--on", DAY.isoformat()]) == 0
    out = capsys.readouterr().out
    assert "1 price accepted" in out
    assert "listed twice at different prices" in out
    assert "more than 3 times" in out
    price = catalog.load().price("vultr", "vcg-l40s-16c-180g-48vram", "all", "on-demand", DAY)
    assert price.amount == Decimal("1.55")


def test_without_gpuhunt_the_seller_gave_no_answer(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    assert main(["prices", "refresh", "--cloud", "vultr", "--kind", "on-demand"]) == 69
    assert "pip install gpuhunt" in capsys.readouterr().err


def test_what_gpuhunt_raises_is_no_answer(gpuhunt):
    def broken(**_):
        raise ConnectionError("no route")

    gpuhunt.query = broken
    with pytest.raises(CloudError, match="no route"):
        list(others.machines("vultr", "all", SHAPES))
    gpuhunt.query = lambda **_: []
    with pytest.raises(CloudError, match="no machines of it today"):
        list(others.machines("vultr", "all", SHAPES))
