"""`prices refresh --cloud gcp`: machines are the sums that Google's bills and pages show, or they have no price."""

from __future__ import annotations

import csv
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from sizewell.cli.main import main
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.prices import gcp
from sizewell.clouds.prices.gcp import sold_in
from sizewell.sizing import catalog
from sizewell.sizing.catalog.refresh import NO_REGION, NO_TYPE, NOT_PROVEN
from tests.clouds import google_standin as standin
from tests.clouds.google_standin import PARTS, item, items, serve
from tests.clouds.price_standin import shipped
from tests.clouds.rest_server import Reply

DAY = date(2026, 11, 22)
KINDS = "on-demand,spot,savings-plans,capacity-blocks"
ASK = ("prices", "refresh", "--cloud", "gcp", "--region", "us-central1", "--on", DAY.isoformat(), "--kind", KINDS)
ONE = "g2-standard-8"


@pytest.fixture
def project(tmp_path, monkeypatch, server):
    monkeypatch.setattr(Timeouts, "wait_s", lambda *_, **__: 0.0)
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL_CLOUDBILLING", server.url)
    monkeypatch.setenv(gcp.KEY, "a-key")
    return tmp_path


def written(project: Path) -> dict[tuple[str, str], Decimal]:
    found = {}
    for path in sorted((project / "catalog").rglob("*.csv")):
        for row in csv.DictReader(path.read_text().splitlines()):
            found[row["instance_type"], row["market"]] = Decimal(row["usd_per_hour"])
    return found


# What others say that these machines cost: pages, bills and test data, not this reader's own sums.
PUBLISHED = {
    ("g2-standard-8", "on-demand"): "0.853608",
    ("a3-megagpu-8g", "on-demand"): "93.400713",  # with 6,000 GiB of local SSD
    ("a3-highgpu-8g", "flex-start"): "38.320038",
    ("a3-highgpu-1g", "flex-start"): "4.790005",
    ("a4-highgpu-8g", "spot"): "39.6336",
    ("g4-standard-48", "on-demand"): "4.49993",
    ("g4-standard-6", "on-demand"): "0.64688",
    ("g4-standard-12", "on-demand"): "1.29376",
    ("n2-standard-8", "on-demand"): "0.388472",
}


def test_machines_cost_what_bills_and_pages_say(project, server):
    serve(server)
    assert main([*ASK]) == 0
    found = written(project)
    for key, usd in PUBLISHED.items():
        row = found.get(key)
        if row is None:  # it stands in the catalog already, and recently
            row = shipped().price("gcp", key[0], "us-central1", key[1], DAY).amount
        assert abs(row / Decimal(usd) - 1) < Decimal("0.00002"), key
    assert ("a4-highgpu-8g", "on-demand") not in found
    assert not [name for name, _ in found if name.startswith("a4x-")]  # no list has its parts
    assert "key=a-key" in server.asked[0]
    assert len(server.asked) == -(-len(PARTS) // standin.PAGE)


def test_machines_cost_what_another_program_made_of_the_same_list():
    """The rows of karpenter-provider-gcp in the shipped catalog: the same API, another program, three months earlier."""
    found = {}
    for row in parts_of(items()):
        if row.market == "on-demand":
            found[row.instance_type] = Decimal(row.usd)
    compared = 0
    for name, usd in found.items():
        known = [
            o for o in shipped().offers("gcp", name, region="us-central1", market="on-demand") if o.basis[:4] == "list"
        ]
        for offer in known:
            if "-share-" in shipped().shape("gcp", name).accelerator:
                continue  # that program takes an eighth of a GPU's price; Google has a price for the slice
            assert abs(usd / offer.usd_per_hour - 1) < Decimal("0.001"), (name, usd, offer)
            compared += 1
    assert compared >= 30


def stands(name: str, market: str, usd: Decimal) -> bool:
    """Whether the catalog says it already, three months ago at the most."""
    return any(
        o.usd_per_hour == usd and o.effective_from > "2026-08-24"
        for o in shipped().offers("gcp", name, region="us-central1", market=market)
    )


def parts_of(rows):
    shapes = [shape for shape in shipped().shapes if shape.cloud == "gcp"]
    return list(gcp.machines(gcp.parts(rows, DAY), shapes, "us-central1"))


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("Nvidia H100 Mega 80GB GPU attached to DWS Defined Duration VMs running in Seoul", (("gpu", "80gb h100 mega"), "flex-start")),
        ("Commitment v1: Nvidia L4 GPU running in Iowa for 1 Year", (("gpu", "l4"), "reserved-1y")),
        ("Commitment v1: A3 Cpu in Iowa for 3 Years", (("core", "a3"), "reserved-3y")),
        ("TpuV6e attached to Spot Preemptible VMs running in Americas", (("tpu", "tpuv6e"), "spot")),
        ("SSD backed Local Storage in Frankfurt", (("ssd", ""), "on-demand")),
        ("SSD backed Local Storage attached to Spot Preemptible VMs", (("ssd", ""), "spot")),
        ("Reserved TpuV5p in Seoul in Calendar Mode", (("tpu", "tpuv5p"), "calendar")),
        ("DWS Calendar Mode A4 Nvidia B200 (1 gpu slice) in Seoul", (("slice", "b200"), "calendar")),
        ("N2D AMD Instance Ram running in Americas", (("ram", "n2d"), "on-demand")),
        ("N1 Predefined Instance Core running in Americas", (("core", "n1"), "on-demand")),
        ("Reserved Nvidia Tesla A100 GPU in Seoul", None),
        ("Reserved A2 Ram in Netherlands", None),
        ("Preemptible Custom Instance Core running globally", None),
        ("C3 Sole Tenancy Instance Core running in Americas", None),
        ("Sole Tenancy Premium for C4 Sole Tenancy Instance Core running in Americas", None),
        ("N2 Custom Instance Core running in Americas", None),
        ("Commitment v1: N4A Core in Johannesburg for 5 Years", None),
        ("Memory Optimized Upgrade Premium for Memory-optimized Instance Core running in Americas", None),
    ],
)  # fmt: skip
def test_descriptions_of_parts(description, kind):
    assert gcp.part_of(description) == kind


# --- what goes wrong: one part is spoiled, and with it the machines of it; or the list, and with it all


def spoiled(start: str, **changes):
    def listed():
        made = items()
        for row in made:
            if row["description"].startswith(start):
                info = row["pricingInfo"][0]
                expression = info["pricingExpression"]
                for key, value in changes.items():
                    if key in ("currencyCode", "units", "nanos"):
                        expression["tieredRates"][0]["unitPrice"][key] = value
                    elif key == "tiers":
                        expression["tieredRates"] = value(expression["tieredRates"])
                    elif key == "effectiveTime":
                        info[key] = value
                    elif key == "pricingInfo":
                        row[key] = value
                    else:
                        expression[key] = value
        return made

    return listed


def only(numbers, reply):
    return lambda good, count: (reply(good) if callable(reply) else reply) if count in numbers else good


ALWAYS = range(1, 1000)
L4 = "Nvidia L4 GPU"
MISBEHAVIOURS = {
    "a GPU in another currency": (spoiled(L4, currencyCode="EUR"), None, "one"),
    "a GPU by the month": (spoiled(L4, usageUnit="mo"), None, "one"),
    "memory in another unit": (spoiled("G2 Instance Ram", usageUnit="By.s"), None, "one"),
    "a GPU at nothing": (spoiled(L4, units="0", nanos=0), None, "one"),
    "a GPU below nothing": (spoiled(L4, units="0", nanos=-1), None, "one"),
    "a price that is text": (spoiled(L4, units="n/a"), None, "one"),
    "no price": (spoiled(L4, pricingInfo=[]), None, "one"),
    "no tier": (spoiled(L4, tiers=lambda _: []), None, "one"),
    "two tiers": (spoiled(L4, tiers=lambda tiers: tiers * 2), None, "one"),
    "a price to come": (spoiled(L4, effectiveTime="2030-01-01T00:00:00Z"), None, "one"),
    "ten times the price": (spoiled(L4, units="30"), None, "one"),
    "a part at two prices": (lambda: [*items(), item("Nvidia L4 GPU running in Iowa", "h", "0.57")], None, "one"),
    "a part twice": (lambda: [*items(), item("Nvidia L4 GPU running in Iowa", "h", "0.56004")], None, "none"),
    "a part that is missing": (lambda: items(part for part in PARTS if part[0] != "Nvidia L4 GPU running in Americas"), None, "all"),
    "an empty list": (list, None, "all"),
    "an error page with status 200": (items, only(ALWAYS, Reply(b"<html></html>")), "all"),
    "an error object with status 200": (items, only(ALWAYS, Reply({"error": {"code": 500}})), "all"),
    "the same page again and again": (items, only(ALWAYS, lambda r: Reply({**r.body, "nextPageToken": "9"})), "all"),
    "throttled twice": (items, only({1, 2}, Reply({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}, 429)), "none"),
    "a key that is refused": (items, only(ALWAYS, Reply({"error": {"code": 400, "message": "API key not valid"}}, 400)), "all"),
    "the list ends after its first page": (items, only({1}, lambda r: Reply({"skus": r.body["skus"]})), "all"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_what_the_catalog_does_wrong_ends_in_the_right_price_or_in_none(project, server, name):
    right = {(row.instance_type, row.market): Decimal(row.usd) for row in parts_of(items())}
    right = {
        key: usd
        for key, usd in right.items()
        if key[1] == "on-demand"
        and (
            ("gcp", key[0], "us-central1") in shipped().zone_facts
            or any(o.region == "us-central1" for o in shipped().offers("gcp", key[0]))
        )
        and not stands(*key, usd)
    }
    assert any(key[0].startswith("g2-") for key in right)
    listed, change, what = MISBEHAVIOURS[name]
    serve(server, listed, change)
    main([*ASK, "--kind", "on-demand", "--json"])
    expected = {} if what == "all" else right
    if what == "one":
        expected = {key: usd for key, usd in right.items() if not key[0].startswith("g2-")}
    assert written(project) == expected
    assert catalog.load().price("gcp", ONE, "us-central1", "on-demand", DAY).amount > Decimal("0.8")


def test_parts_make_only_the_machines_that_a_region_is_known_to_have():
    """Parts are listed for more regions than machines: a price there would be an offer of what cannot be had."""
    from sizewell.clouds.prices.gcp import sold_in

    names = {shape.instance_type for shape in sold_in(shipped(), "europe-west2")}
    assert "e2-standard-4" in names
    assert not {"a4-highgpu-8g", "a2-megagpu-16g"} & names


def test_an_empty_list_is_no_answer(server, project):
    serve(server, list)
    with pytest.raises(CloudError, match="is empty"):
        gcp.skus(gcp.reader(Deadline(60)), "6F81-5844-456A")


def test_what_google_lists_and_no_row_can_take_is_said(project, server, capsys):
    """A region that is not known, a device of no known machine, and parts where the type is not known to be sold."""
    here = "us-central1"

    def listed():
        new = {**standin.items()[0], "description": "Nvidia Q1000 GPU running in Americas", "serviceRegions": [here]}
        return [*({**sku, "serviceRegions": [here, "europe-west12", "moon-west1"]} for sku in standin.items()), new]

    serve(server, listed)
    ask = ["prices", "refresh", "--cloud", "gcp", "--on", DAY.isoformat(), "--kind", "on-demand", "--dry-run"]
    assert main([*ask, "--json"]) == 0
    uncovered = json.loads(capsys.readouterr().out)["uncovered"]
    known = {shape.instance_type for shape in sold_in(shipped(), "europe-west12")}
    assert "g2-standard-8" not in known
    assert list(uncovered[NO_REGION]) == ["gcp moon-west1"]
    assert "g2-standard-8" in uncovered[NO_REGION]["gcp moon-west1"]
    assert uncovered[NO_TYPE] == {"gcp with q1000": [here]}
    assert uncovered[NOT_PROVEN]["gcp g2-standard-8"] == ["europe-west12"]
    assert main(ask) == 0
    assert "gcp moon-west1 (a2-highgpu-1g, a2-highgpu-2g, a2-highgpu-4g and " in capsys.readouterr().out
