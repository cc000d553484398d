"""What stands after a destroy has the catalog's price: disks and file systems of each cloud, by their kind and size."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from sizewell.clouds.aws import Aws
from sizewell.clouds.azure import Azure
from sizewell.clouds.calls import Deadline
from sizewell.clouds.gcp import Google
from sizewell.sizing.catalog import load
from sizewell.teardown import leftovers
from sizewell.teardown.things import Owner, Thing
from tests.clouds.rest_server import Reply, serving

CATALOG = load()
ON = date(2026, 11, 20)
OF = Owner(project="sizewell", stack="dev")
PLACE = "projects/p/zones/us-central1-a/disks/d"
GROUP = "/subscriptions/s/resourceGroups/g/providers"


def priced(cloud: Any, thing: Thing) -> Decimal | None:
    """Of a thing that has the stack's tag."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(leftovers, "in_cloud", lambda *_: [thing])
        (left,) = leftovers.left_over(cloud, ["p"], ["us-east-1"], OF, clusters=[], catalog=CATALOG, on=ON)
    return left.usd_per_month


def fee(cloud: str, key: str, region: str) -> Decimal:
    return CATALOG.fee(cloud, key, region, ON).amount  # type: ignore[union-attr,no-any-return]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    with serving() as running:
        for cloud in ("GOOGLE", "AZURE"):
            monkeypatch.setenv(f"{cloud}_ENDPOINT_URL", running.url)
        monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "t")
        monkeypatch.setenv("AZURE_ACCESS_TOKEN", "t")
        yield running


@pytest.mark.parametrize(
    ("disk", "key"),
    [
        ({"type": "https://x/diskTypes/pd-balanced"}, "pd.balanced"),
        ({"type": "https://x/diskTypes/pd-ssd"}, "pd.ssd"),
        ({"type": "https://x/diskTypes/hyperdisk-balanced", "provisionedIops": "3000"}, "hyperdisk.balanced"),
        ({"type": "https://x/diskTypes/hyperdisk-balanced", "provisionedIops": "9000"}, ""),
        ({"type": "https://x/diskTypes/something-new"}, ""),
    ],
)
def test_a_disk_of_google(server: Any, disk: dict[str, Any], key: str) -> None:
    server.reply(f"GET /compute/v1/{PLACE}", Reply({"sizeGb": "200", **disk}))
    thing = Thing(
        identity=f"compute.googleapis.com/{PLACE}", kind="compute.googleapis.com/Disk", region="us-central1-a"
    )
    expected = fee("gcp", key, "us-central1") * 200 if key else None
    assert priced(Google(Deadline(30)), thing) == expected


def test_file_systems_of_google(server: Any) -> None:
    for service, instance, key, size in (
        ("file", {"tier": "ZONAL", "fileShares": [{"capacityGb": "1024"}]}, "filestore.zonal", 1024),
        ("lustre", {"capacityGib": "18000", "perUnitStorageThroughput": "500"}, "lustre.500", 18000),
    ):
        name = f"projects/p/locations/us-central1-a/instances/{service}"
        server.reply(f"GET /v1/{name}", Reply(instance))
        host = f"{service}.googleapis.com"
        thing = Thing(identity=f"{host}/{name}", kind=f"{host}/Instance", region="us-central1-a")
        assert priced(Google(Deadline(30)), thing) == fee("gcp", key, "us-central1") * size


def test_disks_and_file_systems_of_azure(server: Any) -> None:
    disk, lustre = f"{GROUP}/Microsoft.Compute/disks/d", f"{GROUP}/Microsoft.StorageCache/amlFilesystems/f"
    server.reply(f"GET {disk}", Reply({"sku": {"name": "Premium_LRS"}, "properties": {"tier": "P20"}}))
    thing = Thing(identity=disk, kind="Microsoft.Compute/disks", region="eastus")
    assert priced(Azure(Deadline(30)), thing) == fee("azure", "disk.premium_lrs.p20", "eastus")
    server.reply(f"GET {disk}", Reply({"sku": {"name": "UltraSSD_LRS"}, "properties": {}}))
    assert priced(Azure(Deadline(30)), thing) is None
    answer = {"sku": {"name": "AMLFS-Durable-Premium-250"}, "properties": {"storageCapacityTiB": 16}}
    server.reply(f"GET {lustre}", Reply(answer))
    thing = Thing(identity=lustre, kind="Microsoft.StorageCache/amlFilesystems", region="eastus")
    assert priced(Azure(Deadline(30)), thing) == fee("azure", "lustre.250", "eastus") * 16 * 1024


@pytest.mark.parametrize(
    ("service", "found", "key", "number"),
    [
        (
            "fsx",
            {
                "StorageCapacity": 4800,
                "StorageType": "SSD",
                "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
            },
            "fsx.lustre.persistent2.250",
            4800,
        ),
        ("fsx", {"StorageCapacity": 300, "StorageType": "SSD", "WindowsConfiguration": {}}, "", 0),
        ("elasticfilesystem", {"SizeInBytes": {"Value": 100 * 1024**3}}, "efs.standard", 100),
    ],
)
def test_file_systems_of_amazon(
    monkeypatch: pytest.MonkeyPatch, service: str, found: Any, key: str, number: int
) -> None:
    aws = Aws(Deadline(30))
    monkeypatch.setattr(Aws, "pages", lambda *_, **__: [{"FileSystemId": "fs-1", **found}])
    arn = f"arn:aws:{service}:us-east-1:123456789012:file-system/fs-1"
    thing = Thing(identity=arn, kind=f"{service} file-system", region="us-east-1")
    assert priced(aws, thing) == (fee("aws", key, "us-east-1") * number if key else None)


def test_what_went_since_it_was_listed_has_no_price(server: Any) -> None:
    thing = Thing(
        identity=f"compute.googleapis.com/{PLACE}", kind="compute.googleapis.com/Disk", region="us-central1-a"
    )
    assert priced(Google(Deadline(30)), thing) is None
